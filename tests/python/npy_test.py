"""What NumPy saves we read, and what we write NumPy loads, bit for bit.

Usage: npy_test.py PEER, where PEER is the npy_peer program. Exits with 77 where NumPy is absent.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}; point SFNN_PYTHON at a Python with numpy")
    sys.exit(77)

ARRAYS = [
    np.array([[0, 1, 2], [0.1, -1e-45, 3e38]], np.float32),
    np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7,
    np.arange(256, dtype=np.uint8),
    np.array([-1, 2**31 - 1], np.int32),
    np.array([[-(2**63)], [5]], np.int64),
    np.array(3.5),
    np.zeros((0, 5), np.float32),
]


def copied(peer, folder, array, version=None):
    """The array after a way through NumPy's writer, our reader, our writer and NumPy's reader."""
    before, after = folder / "before.npy", folder / "after.npy"
    with open(before, "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    subprocess.run([peer, "copy", before, after], check=True)
    return np.load(after, allow_pickle=False)


def check_refused(peer, folder, array, reason):
    path = folder / "refused.npy"
    np.save(path, array)
    result = subprocess.run([peer, "copy", path, folder / "out.npy"], capture_output=True, text=True)
    assert result.returncode == 1 and reason in result.stderr, result
    assert not (folder / "out.npy").exists()


def main():
    peer = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for array in ARRAYS:
            for version in (None, (1, 0), (2, 0)):
                back = copied(peer, folder, array, version)
                assert back.dtype == array.dtype and back.shape == array.shape, array
                assert back.tobytes() == array.tobytes(), array
        bits = np.array([True, False])
        assert copied(peer, folder, bits).tolist() == [1, 0]
        check_refused(peer, folder, np.asfortranarray(np.ones((2, 3))), "ascontiguousarray")
        check_refused(peer, folder, np.ones(3, np.complex64), "<c8 is not a number")
        check_refused(peer, folder, np.ones(3, [("a", "<f4"), ("b", "<f4")]), "records")


main()
