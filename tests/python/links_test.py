"""Links between the pages of the documentation lead somewhere, and no page is left out.

Usage: links_test.py ROOT. In every *.md at the root and in docs/: a relative link or picture exists, with its heading, if it
names one; docs/README.md links to every other page in docs/.
"""

import pathlib
import re
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")


def text_of(page):
    """Without what stands in fences and code spans."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def targets(page):
    return [link or picture for link, picture in LINK.findall(text_of(page))]


def anchors(page):
    """The names that GitHub gives to headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def errors_of(page):
    for target in targets(page):
        if re.match(r"\w+:", target):
            continue
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page}: there is no {target}"
        elif heading and heading not in anchors(file):
            yield f"{page}: {target}: no such heading"


def main(root):
    pages = sorted([*root.glob("*.md"), *root.glob("docs/*.md")])
    errors = [error for page in pages for error in errors_of(page)]
    index = set(targets(root / "docs/README.md"))
    errors += [f"docs/README.md has no link to {page.name}" for page in root.glob("docs/*.md")
               if page.name not in index | {"README.md"}]
    print(f"{len(pages)} pages", *errors, sep="\n")
    return 1 if errors or len(pages) < 15 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
