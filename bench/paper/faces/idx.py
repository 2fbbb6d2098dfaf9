"""IDX, the file format of MNIST, written from NumPy arrays."""

import gzip
import os

import numpy as np

TYPES = {np.dtype(np.uint8): 0x08, np.dtype(np.int32): 0x0C}


def packed(array):
    """As gzip, without a time, so that the same faces give the same file."""
    header = bytes([0, 0, TYPES[array.dtype], array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.astype(array.dtype.newbyteorder(">")).tobytes(), mtime=0)


def write_idx(folder, arrays):
    """The arrays by the names of their files: all are written before the first gets its own name."""
    parts = {folder / f".{name}.part": folder / name for name in arrays}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, array in zip(parts, arrays.values()):
            part.write_bytes(packed(array))
        for part, path in parts.items():
            os.replace(part, path)
    except OSError as error:
        raise SystemExit(f"{folder}: cannot be written: {error.strerror}")
    finally:
        for part in parts:
            try:
                part.unlink(missing_ok=True)
            except OSError:  # there is nothing that could be removed
                pass
