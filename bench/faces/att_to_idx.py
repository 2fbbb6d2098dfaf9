#!/usr/bin/env python3
"""The AT&T (Olivetti, ORL) Database of Faces as the IDX pair that sfnn reads.

    att_to_idx.py orl_faces ~/.cache/sfnn/faces/att

takes the original tree (s1/1.pgm .. s40/10.pgm, each 92 wide and 112 high) and writes images-idx3-ubyte.gz and
subjects-idx1-ubyte.gz: 48 x 48 grey images ordered by subject and number. The square window is all 92 columns and the
rows 20 to 111, which leaves the face; a pixel of the result is the exact mean of the area it covers. Then:

    sfnn train --config bench/paper/faces.toml

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
    with Image.open(path) as image:
        if image.size != (WINDOW, FIRST_ROW + WINDOW):
            raise SystemExit(f"{path}: {image.size[0]} x {image.size[1]} pixels, and 92 x 112 are expected")
        return area_mean(np.asarray(image.convert("L"))[FIRST_ROW:], SIDE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path, help="the folder that has s1, s2, ...")
    parser.add_argument("out", type=pathlib.Path, help="the folder for the two IDX files")
    arguments = parser.parse_args()
    faces = sorted((int(p.parent.name[1:]), int(p.stem), p) for p in arguments.tree.glob("s[0-9]*/[0-9]*.pgm"))
    if not faces:
        raise SystemExit(f"{arguments.tree}: no s1/1.pgm and so on are in it")
    write_idx(arguments.out / "images-idx3-ubyte.gz", np.stack([read_face(path) for _, _, path in faces]))
    write_idx(arguments.out / "subjects-idx1-ubyte.gz", np.array([subject for subject, _, _ in faces], np.uint8))
    print(f"{len(faces)} faces of {len({subject for subject, _, _ in faces})} subjects in {arguments.out}")


main()
