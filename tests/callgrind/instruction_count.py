"""Compares the instructions of some training steps with the stored figure: a slow-down shows, however busy the machine.

Usage: instruction_count.py PROGRAM FIGURES [--expect-slower ARGUMENT]

FIGURES is a JSON file: counts by compiler, on which they depend. With --expect-slower the program is given
ARGUMENT, and the test fails unless more instructions than allowed are seen: it shows that the test can fail.
Exits with 77 where valgrind is absent or nobody has counted with this compiler.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOM = 0.05


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def count(program, *arguments):
    """What the program says that its count depends on, and the instructions spent inside Trainer::train_step."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--collect-atstart=no",
        "--toggle-collect=sfnn::Trainer::train_step(bool)",
        program,
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected or int(collected[1]) == 0:
        sys.exit(f"callgrind counted nothing:\n{done.stderr}")
    return done.stdout.strip(), int(collected[1])


def main():
    program, figures = sys.argv[1], pathlib.Path(sys.argv[2])
    slower = sys.argv[4] if sys.argv[3:4] == ["--expect-slower"] else None
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    toolchain, instructions = count(program, *([slower] if slower else []))
    stored = json.loads(figures.read_text()).get(toolchain)
    if stored is None:
        skip(f"no figure is stored for {toolchain}; here it is {instructions}")
    change = instructions / stored - 1
    print(f"{instructions} instructions with {toolchain}; stored: {stored}; {100 * change:+.2f} %")
    if slower:
        sys.exit(0 if change > ROOM else f"a slow-down by {slower} was not seen")
    if change > ROOM:
        sys.exit(f"more than {100 * ROOM:.0f} % above the stored figure: a slow-down, or a reason to change {figures.name}")
    if change < -ROOM:
        print(f"faster: store the new figure in {figures.name}, or it will hide slow-downs to come")


main()
