"""Every data format as others write it: what they wrote is what we read.

Usage: formats_test.py PEER, where PEER is the formats_peer program. Exits with 77 where NumPy is absent.
"""

import csv
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}; point SFNN_PYTHON at a Python with numpy")
    sys.exit(77)

DTYPES = "b1 u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8".split()


def arrays():
    for dtype in DTYPES:
        for order in "<>":
            yield (np.arange(24).reshape(2, 3, 4) % 7).astype(order + dtype)
    yield np.array([[0.1, -1e-7], [65504, 6e-8]], np.float16)
    yield np.array([[-(2**63)], [2**63 - 1]], np.int64)
    yield np.array([[0.1], [-1e300]], np.float64)


def check_npy(peer, folder):
    for array in arrays():
        for version in ((1, 0), (2, 0)):
            with open(folder / "a.npy", "wb") as file:
                np.lib.format.write_array(file, array, version=version)
            check_read(peer, folder / "a.npy", array)


def check_idx(peer, folder):
    codes = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}
    for dtype, code in codes.items():
        array = (np.arange(24).reshape(2, 3, 4) % 5 - (dtype != "u1")).astype(">" + dtype)
        data = bytes([0, 0, code, 3]) + struct.pack(">3I", 2, 3, 4) + array.tobytes()
        (folder / "a.idx").write_bytes(data)
        check_read(peer, folder / "a.idx", array)
        (folder / "a.gz").write_bytes(gzip.compress(data))
        check_read(peer, folder / "a.gz", array)


def check_npz(peer, folder):
    for array in arrays():
        for save in (np.savez, np.savez_compressed):
            save(folder / "a.npz", x=array)
            check_read(peer, folder / "a.npz", array)
    np.savez(folder / "two.npz", x=array, y=array)
    refused = subprocess.run([peer, "read", folder / "two.npz", folder / "out.npy"], capture_output=True, text=True)
    assert refused.returncode == 1 and "holds 2 arrays (x, y)" in refused.stderr, refused


def check_csv(peer, folder):
    whole = np.arange(12).reshape(4, 3) - 5
    real = np.array([[0.1, -2.5e-7], [1e30, 3]])
    for separator in ",;\t":
        for header in ("", separator.join("abc")):
            np.savetxt(folder / "a.csv", whole, fmt="%d", delimiter=separator, header=header, comments="")
            check_read(peer, folder / "a.csv", whole)
        np.savetxt(folder / "b.csv", real, delimiter=separator)
        check_read(peer, folder / "b.csv", real)
    with open(folder / "c.csv", "w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)  # "\r\n" at the end of a line
        writer.writerow(["a, the first", "b"])
        writer.writerows(real.tolist())
    check_read(peer, folder / "c.csv", real)


def check_png(peer, folder):
    try:
        from PIL import Image
    except ImportError as missing:
        print(f"png is not checked: {missing}")
        return
    random = np.random.default_rng(1)
    for shape in ((3, 5, 7), (3, 5, 7, 3)):
        array = random.integers(0, 256, shape, np.uint8)
        pictures = folder / f"pictures{len(shape)}"
        pictures.mkdir()
        for n, pixels in enumerate(array):
            Image.fromarray(pixels).save(pictures / f"{n}.png")
        check_read(peer, pictures, array)
        check_read(peer, pictures / "1.png", array[1:2])
    bits = random.integers(0, 2, (4, 9)).astype(bool)
    Image.fromarray(bits).save(folder / "bits.png")
    check_read(peer, folder / "bits.png", 255 * bits[None].astype(np.uint8))
    Image.fromarray(array[0]).quantize(16).save(folder / "palette.png")
    with Image.open(folder / "palette.png") as picture:
        check_read(peer, folder / "palette.png", np.asarray(picture.convert("RGB"))[None])


WRITERS = {"npy": check_npy, "npz": check_npz, "png": check_png, "idx": check_idx, "csv": check_csv}


def check_read(peer, path, array):
    out = path.with_name("read.npy")
    said = subprocess.run([peer, "read", path, out], check=True, capture_output=True, text=True).stdout
    assert said.strip() == array.dtype.newbyteorder("=").name, (said, array.dtype)
    with np.errstate(over="ignore"):
        wanted = array.astype(np.float32)
    back = np.load(out)
    assert back.shape == wanted.shape and back.tobytes() == wanted.tobytes(), (path, array.dtype)


def main():
    peer = sys.argv[1]
    formats = subprocess.run([peer, "list"], check=True, capture_output=True, text=True).stdout.split()
    assert set(formats) == set(WRITERS), f"a writer is missing, or too many: {set(formats) ^ set(WRITERS)}"
    for name in formats:
        with tempfile.TemporaryDirectory() as folder:
            WRITERS[name](peer, pathlib.Path(folder))


main()
