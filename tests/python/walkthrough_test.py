"""The commands of docs/walkthrough.md work and print what it says, but for numbers, which here come of less data.

Usage: walkthrough_test.py PROGRAM DOCUMENT, where PROGRAM is sfnn. Exits with 77 where NumPy is absent.
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
        "particles = 100": "particles = 10", "epochs = 24": "epochs = 60"}


def blocks(document):
    """Language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)


def shape(line):
    """A line without what differs from run to run and from machine to machine."""
    line = re.sub(r"cpu \(.*?\)|\d+ min (?=\d+ s)|, the (highest|lowest) tried: .*", "", line)
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


def main():
    if not importlib.util.find_spec("numpy"):
        print("skipped: no NumPy here; see tests/python/requirements.txt")
        sys.exit(77)
    program, document = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    python = pathlib.Path(sys.executable).parent  # the one that has NumPy
    environment = {**os.environ, "PATH": f"{program.parent}:{python}:{os.environ['PATH']}"}
    environment.pop("SFNN_DATA", None)
    with tempfile.TemporaryDirectory() as name:
        folder, printed = pathlib.Path(name), []
        parts = blocks(document.read_text())
        for (language, text), (_, output) in zip(parts, parts[1:] + [("", "")]):
            if language in ("python", "toml"):
                for given, less in LESS.items():
                    text = text.replace(given, less)
                (folder / text.split()[1]).write_text(text)
            elif language == "sh":
                printed = run(text, folder, environment, "epoch  1/" if "^C" in output else None)
            else:  # what the commands before it printed
                shapes = {shape(line) for line in printed}
                for line in text.splitlines():
                    assert line in ("...", "^C") or shape(line) in shapes, f"not printed: {line}\n{''.join(printed)}"
        for file in ("report.html", "samples.png", "faces.npy", "runs/dice/checkpoints/best.safetensors"):
            assert (folder / file).stat().st_size > 0, file


main()
