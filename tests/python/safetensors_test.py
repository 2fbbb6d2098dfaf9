"""Our safetensors files and those of Python's safetensors package are each other's.

Usage: safetensors_test.py PEER, where PEER is the safetensors_peer program. Exits with 77 where the package is absent.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}; point SFNN_PYTHON at a Python with safetensors and numpy")
    sys.exit(77)

KNOWN = {
    "layer1.W_s": np.array([[0, 1, 2], [0.1, -1e-45, 3e38]], np.float32),
    "layer1.b_s": np.array([-1, -2, -3], np.float32),
    "nothing": np.zeros((0, 3), np.float32),
}
METADATA = {"note": 'caf\u00e9 "quoted"\n'}


def check_ours(path):
    tensors = load_file(path)
    assert tensors.keys() == KNOWN.keys(), tensors.keys()
    for name, expected in KNOWN.items():
        assert tensors[name].dtype == np.float32 and tensors[name].shape == expected.shape, name
        assert tensors[name].tobytes() == expected.tobytes(), name
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
    assert metadata["note"] == METADATA["note"], metadata
    for name, expected in KNOWN.items():
        assert metadata[f"sfnn.crc32.{name}"] == f"{zlib.crc32(expected.tobytes()):08x}", name


def check_header_crc(path):
    bytes_ = path.read_bytes()
    header = bytes_[8 : 8 + int.from_bytes(bytes_[:8], "little")]
    stated = json.loads(header)["__metadata__"]["sfnn.crc32"]
    zeroed = header.replace(f'"sfnn.crc32":"{stated}"'.encode(), b'"sfnn.crc32":"00000000"')
    assert stated == f"{zlib.crc32(zeroed):08x}", stated


def main():
    peer = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = pathlib.Path(directory, "ours"), pathlib.Path(directory, "theirs")
        subprocess.run([peer, "write", ours], check=True)
        check_ours(ours)
        check_header_crc(ours)
        save_file(KNOWN, theirs, metadata=METADATA)
        subprocess.run([peer, "read", theirs], check=True)
    print("read each other's files")


main()
