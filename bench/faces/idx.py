"""IDX, the file format of MNIST, written from NumPy arrays."""

import gzip

import numpy as np

TYPES = {np.dtype(np.uint8): 0x08, np.dtype(np.int32): 0x0C}


def write_idx(path, array):
    """As gzip, without a time, so that the same faces give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = bytes([0, 0, TYPES[array.dtype], array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + array.astype(array.dtype.newbyteorder(">")).tobytes(), mtime=0))
