"""docs/architecture.md names files and functions that exist.

Usage: architecture_test.py ROOT. Every path in `...` exists below ROOT (one with a * matches something). In a row of a table
that ends with files, each name in `...` occurs in one of them: in the first cell, if that begins with a name, else the second.
"""

import pathlib
import re
import sys

PATH = re.compile(r"[\w.-]+(?:/[\w.*-]+)+\.(?:hpp|cpp|cuh|cu|cmake|txt|md|py|toml)|README\.md")
NAME = re.compile(r"(?:[A-Za-z]\w*::)*~?([A-Za-z_]\w*)")


def codes(text):
    return re.findall(r"`([^`]+)`", text)


def is_found(root, path):
    return path.startswith("host/app/NAME") or any(root.glob(path))


def main(root):
    document = (root / "docs/architecture.md").read_text()
    errors, paths, names = [], 0, 0
    for number, line in enumerate(document.splitlines(), 1):
        for code in codes(line):
            if PATH.fullmatch(code):
                paths += 1
                if not is_found(root, code):
                    errors.append(f"docs/architecture.md:{number}: there is no {code}")
        cells = [cell for cell in line.split("|")[1:-1]]
        files = [root / code for code in codes(cells[-1]) if PATH.fullmatch(code)] if len(cells) > 2 else []
        if not files:
            continue
        text = "\n".join(file.read_text() for file in files if file.exists())
        asked = codes(cells[0]) if cells[0].strip().startswith("`") else codes(cells[1])
        for code in asked:
            match = NAME.fullmatch(code)
            if match:
                names += 1
                if not re.search(rf"\b{match.group(1)}\b", text):
                    errors.append(f"docs/architecture.md:{number}: {code} is not in {cells[-1].strip()}")
    print(f"{paths} paths, {names} names")
    if paths < 50 or names < 30:
        errors.append("the test has lost sight of the document")
    print(*errors, sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
