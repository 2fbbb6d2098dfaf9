"""The files that the pages of the documentation take for yours."""

import struct
import zlib

import numpy as np


def arrays(folder, count, random):
    for x, y, rows in (("x", "y", count), ("tx", "ty", count // 4)):
        np.save(folder / f"{x}.npy", random.uniform(0, 2, (rows, 3)).astype("f4"))
        np.save(folder / f"{y}.npy", random.normal(size=(rows, 2)).astype("f4"))


def tables(folder, count, random):
    """train.csv and test.csv, whose column species is the target; table.npz of whole numbers from 0 to 20 as uint8."""
    table = {}
    for part, rows in (("train", count), ("test", count // 4)):
        species = random.integers(0, 3, rows)
        columns = species * 3 + random.normal(6, 2, rows), 9 - species * 2 + random.normal(0, 1.5, rows), species
        lines = [f"{width:.1f},{height:.1f},{kind}" for width, height, kind in zip(*columns)]
        (folder / f"{part}.csv").write_text("\n".join(["width,height,species", *lines]) + "\n")
        y = random.integers(0, 3, rows)
        x = random.integers(0, 21, (rows, 4))
        x[np.arange(rows), y] = random.integers(10, 21, rows)
        table |= {f"{part}_x": x.astype("u1"), f"{part}_y": y}
    np.savez(folder / "table.npz", **table)


def pictures(folder, count, random):
    """balls/*.png, in colour."""
    (folder / "balls").mkdir()
    y, x = np.mgrid[:16, :16]
    for number in range(count):
        centre = random.integers(4, 12, 2)
        ball = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 < 12
        pixels = (ball[..., None] * random.choice([0, 255], 3)).astype("u1")
        (folder / "balls" / f"{number:04}.png").write_bytes(png(pixels))


def png(pixels):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, red, green and blue
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make(folder, count):
    random = np.random.default_rng(1)
    for kind in (arrays, tables, pictures):
        kind(folder, count, random)
