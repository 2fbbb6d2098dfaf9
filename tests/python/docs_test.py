"""The commands of a page work and print what it says, but for numbers, which here come of less data.

Usage: docs_test.py PROGRAM PAGE, where PROGRAM is sfnn. Exits with 77 where NumPy is absent.
In the page, ```sh is run in one folder, block by block, and a plain ``` after it is what it prints (... stands for lines left out,
^C for Ctrl-C); ```python and ```toml are files, by the name in their first line. Other fences, ```console among them, are only
shown: they need root, a network, a GPU or hours.
"""

import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

LESS = {'("train", 6000), ("test", 1000)': '("train", 600), ("test", 100)', "valid = 500": "valid = 100",
        "particles = 100": "particles = 10", "epochs = 24": "epochs = 60", "data.valid=500": "data.valid=60",
        "train.epochs=200": "train.epochs=30", "./run sfnn": "sfnn"}

# sfnn, with less data where the page does not say how many.
WRAPPER = """#!/bin/bash
more=()
if [[ $1 == train ]]; then
  for setting in data.limit=300 data.test_limit=40 eval.particles=5; do
    [[ " $*" == *" ${{setting%=*}}="* ]] || more+=(--set "$setting")
  done
fi
exec '{program}' "$@" "${{more[@]}}"
"""


def blocks(document):
    """Language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)


def shape(line):
    """A line without what differs from run to run and from machine to machine."""
    line = re.sub(r"cpu \(.*?\)|\((AVX|SSE|NEON|EMU)[^)]*\)|\d+ min (?=\d+ s)|, the (highest|lowest) tried: .*", "", line)
    line = re.sub(r"^(build|system|processor|backend|products|gpu|driver)  .*", r"\1", line)
    line = re.sub(r"[.#]{14}", "FACE", line)
    return " ".join(re.sub(r"-?\d[\d.e+-]*", "N", line).split())


def run(commands, folder, environment, stop_when=None):
    """What the commands print. With stop_when, Ctrl-C is pressed as soon as a line begins so."""
    process = subprocess.Popen(["bash", "-ec", commands], cwd=folder, env=environment, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # also in the background
    lines = []
    for line in process.stdout:
        lines.append(line)
        if stop_when and line.startswith(stop_when):
            os.killpg(process.pid, signal.SIGINT)
    expected = 3 if stop_when else 0
    assert process.wait() == expected, f"{commands}{''.join(lines)}exit code {process.returncode}"
    return lines


def shrunk(text):
    for given, less in LESS.items():
        text = text.replace(given, less)
    return text


def follow(page, folder, environment):
    """Runs the page's blocks; how many of them were commands, and how many lines of output were found."""
    printed, commands, found = None, 0, 0
    parts = blocks(page)
    for (language, text), (_, output) in zip(parts, parts[1:] + [("", "")]):
        if language in ("python", "toml") and re.match(r"# \S+\.\w+\n", text):
            (folder / text.split()[1]).write_text(shrunk(text))
        elif language == "sh":
            printed = run(shrunk(text), folder, environment, "epoch  1/" if "^C" in output else None)
            commands += 1
        elif not language and printed is not None:
            shapes = {shape(line) for line in printed}
            for line in text.splitlines():
                assert line in ("...", "^C") or shape(line) in shapes, f"not printed: {line}\n{''.join(printed)}"
                found += 1
            printed = None
        else:
            printed = None
    return commands, found


def main():
    if not importlib.util.find_spec("numpy"):
        print("skipped: no NumPy here; see tests/python/requirements.txt")
        sys.exit(77)
    program, page = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    python = pathlib.Path(sys.executable).parent  # the one that has NumPy
    with tempfile.TemporaryDirectory() as name:
        folder, bin_folder = pathlib.Path(name) / "work", pathlib.Path(name) / "bin"
        folder.mkdir()
        bin_folder.mkdir()
        if page.name == "walkthrough.md":  # brings its data, and less of it
            (bin_folder / "sfnn").symlink_to(program)
        else:
            import own_data  # needs NumPy

            own_data.make(folder, 400)
            (bin_folder / "sfnn").write_text(WRAPPER.format(program=program))
            (bin_folder / "sfnn").chmod(0o755)
        environment = {**os.environ, "PATH": f"{bin_folder}:{python}:{os.environ['PATH']}"}
        environment.pop("SFNN_DATA", None)
        commands, found = follow(page.read_text(), folder, environment)
        print(f"{page.name}: {commands} blocks of commands, {found} lines of output")
        assert commands > 0, "no commands in this page"
        if page.name == "walkthrough.md":
            for file in ("report.html", "samples.png", "faces.npy", "runs/dice/checkpoints/best.safetensors"):
                assert (folder / file).stat().st_size > 0, file


main()
