#!/usr/bin/env python3
"""The AT&T (Olivetti, ORL) Database of Faces as the IDX pair that sfnn reads.

    att_to_idx.py orl_faces ~/.cache/sfnn/faces/att

takes the original tree (s1/1.pgm .. s40/10.pgm, each 92 wide and 112 high) and writes images-idx3-ubyte.gz and
subjects-idx1-ubyte.gz: 48 x 48 grey images ordered by subject and number. The square window is all 92 columns and the
rows 20 to 111, which leaves the face; a pixel of the result is the exact mean of the area it covers. Then:

    sfnn train --config bench/paper/configs/faces.toml

When using these images, please give credit to Olivetti Research Laboratory: F. Samaria and A. Harter,
"Parameterisation of a stochastic model for human face identification", 2nd IEEE Workshop on Applications of Computer
Vision, December 1994, Sarasota (Florida).
"""

import argparse
import pathlib

import numpy as np
from PIL import Image

from idx import write_idx

SIDE = 48
FIRST_ROW, WINDOW = 20, 92


def area_mean(pixels, side):
    """[n, n] to [side, side]: each pixel of the result is the mean of the (n / side)^2 it covers, fractions weighed."""
    n = len(pixels)
    edges = np.arange(side + 1) * n  # in units of 1 / side of a pixel, so that all is exact
    starts = np.arange(n) * side
    cover = np.clip(np.minimum(edges[1:, None], starts + side) - np.maximum(edges[:-1, None], starts), 0, None)
    total = cover @ pixels.astype(np.int64) @ cover.T
    return ((2 * total + n * n) // (2 * n * n)).astype(np.uint8)  # to the nearest


def read_face(path):
    try:
        with Image.open(path) as image:
            size, pixels = image.size, np.asarray(image.convert("L"))
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise SystemExit(f"{path}: cannot be read as a picture: {error}")
    if size != (WINDOW, FIRST_ROW + WINDOW):
        raise SystemExit(f"{path}: {size[0]} x {size[1]} pixels, and 92 x 112 are expected")
    return area_mean(pixels[FIRST_ROW:], SIDE)


def faces_of(tree):
    """(subject, number, path) of every face, in order."""
    faces = []
    for path in tree.glob("s[0-9]*/[0-9]*.pgm"):
        if not (path.parent.name[1:].isdecimal() and path.stem.isdecimal()):
            raise SystemExit(f"{path}: faces are called s1/1.pgm and so on")
        if int(path.parent.name[1:]) > 255:
            raise SystemExit(f"{path}: subjects are numbered up to 255")
        faces.append((int(path.parent.name[1:]), int(path.stem), path))
    if not faces:
        raise SystemExit(f"{tree}: no s1/1.pgm and so on are in it")
    return sorted(faces)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path, help="the folder that has s1, s2, ...")
    parser.add_argument("out", type=pathlib.Path, help="the folder for the two IDX files")
    arguments = parser.parse_args()
    faces = faces_of(arguments.tree)
    subjects = [subject for subject, _, _ in faces]
    write_idx(arguments.out, {"images-idx3-ubyte.gz": np.stack([read_face(path) for _, _, path in faces]),
                              "subjects-idx1-ubyte.gz": np.array(subjects, np.uint8)})
    print(f"{len(faces)} faces of {len(set(subjects))} subjects in {arguments.out}")


main()
