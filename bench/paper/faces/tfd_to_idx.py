#!/usr/bin/env python3
"""The Toronto Face Database as the IDX pair that sfnn reads.

    tfd_to_idx.py TFD_48x48.mat ~/.cache/sfnn/faces/tfd

takes the file that its owners give on request (MAT 5: images [n, 48, 48], labs_ex the expression or -1, labs_id the
person or -1, folds [n, 5]) and writes images-idx3-ubyte.gz and subjects-idx1-int.gz: as in the paper, the images of
labelled expression of those persons who have at least --least of them. Then, with as many persons held out as there:

    ./run paper --only tfd                              the paper's table
    ./run sfnn train --config bench/paper/configs/tfd.toml      one network of it
"""

import argparse
import collections
import pathlib

import numpy as np
import scipy.io

from idx import write_idx

SIDE = 48


def load(path):
    if not path.is_file():
        raise SystemExit(f"{path}: there is no such file")
    try:
        mat = scipy.io.loadmat(path, variable_names=["images", "labs_ex", "labs_id", "folds"])
    except Exception as error:  # scipy raises almost anything if a file is damaged
        raise SystemExit(f"{path}: cannot be read as a MAT 5 file: {error}")
    missing = {"images", "labs_ex", "labs_id", "folds"} - mat.keys()
    if missing:
        raise SystemExit(f"{path}: {', '.join(sorted(missing))} are not in it: is it the Toronto Face Database?")
    if not all(isinstance(mat[name], np.ndarray) and mat[name].dtype.kind in "iuf" for name in mat if name[0] != "_"):
        raise SystemExit(f"{path}: images and labels must be arrays of numbers")
    images, expression, person = mat["images"], mat["labs_ex"].ravel(), mat["labs_id"].ravel()
    if images.ndim != 3 or images.shape[1:] != (SIDE, SIDE) or images.dtype != np.uint8:
        raise SystemExit(f"{path}: images are {images.dtype} {images.shape}, and uint8 (n, 48, 48) are expected")
    if not len(images) == len(expression) == len(person) == len(mat["folds"]):
        raise SystemExit(f"{path}: images and labels differ in number")
    return images, expression.astype(np.int64), person.astype(np.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mat", type=pathlib.Path, help="TFD_48x48.mat")
    parser.add_argument("out", type=pathlib.Path, help="the folder for the two IDX files")
    parser.add_argument("--least", type=int, default=10, help="images a person needs (default: %(default)s)")
    arguments = parser.parse_args()
    images, expression, person = load(arguments.mat)
    labelled = (expression >= 0) & (person >= 0)
    faces_of = collections.Counter(person[labelled].tolist())
    kept = labelled & np.array([faces_of[p] >= arguments.least for p in person.tolist()])
    if not kept.any():
        raise SystemExit(f"{arguments.mat}: no person has {arguments.least} images of labelled expression")
    order = np.flatnonzero(kept)[np.argsort(person[kept], kind="stable")]
    write_idx(arguments.out, {"images-idx3-ubyte.gz": images[order],
                              "subjects-idx1-int.gz": person[order].astype(np.int32)})
    print(f"{len(order)} faces of {len(set(person[order].tolist()))} subjects in {arguments.out}")


main()
