#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: corpus/TARGET/NAME. They are committed; run it when a format changes."""

import gzip
import io
import json
import pathlib
import struct
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent


def write(target, seeds):
    folder = ROOT / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


# --- IDX and gzip


def idx(dims, values, kind=0x08):
    return bytes([0, 0, kind, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + values


def pack(data, level=9):
    return gzip.compress(data, level, mtime=0)


IMAGES = idx([3, 2, 2], bytes(range(0, 240, 20)))
write("idx", {
    "images": IMAGES,
    "labels": idx([5], b"\0\1\2\3\x09"),
    "int8": idx([3], b"\x01\x80\xff", 0x09),
    "int16": idx([2], b"\x01\x02\xff\xff", 0x0B),
    "int32": idx([1, 2], b"\0\0\1\0\xff\xff\xff\xfe", 0x0C),
    "float32": idx([1, 3], struct.pack(">3f", 0.1, float("nan"), float("-inf")), 0x0D),
    "float64": idx([2], struct.pack(">2d", -0.0, 1e300), 0x0E),
    "images.gz": pack(IMAGES),
    "two_members.gz": pack(IMAGES[:9]) + pack(IMAGES[9:]),
    "zero_dimension": idx([0, 2, 2], b""),
    "negative_dimension": idx([0xFFFFFFFF, 1], b"x"),
    "product_wraps": idx([1 << 22, 1 << 21, 1 << 21], b""),
    "trailing_byte": IMAGES + b"x",
    "bomb.gz": pack(idx([6], bytes(100_000))),
})
write("gzip", {
    "text": b"not packed at all",
    "empty.gz": pack(b""),
    "text.gz": pack(b"the quick brown fox jumps over the lazy dog " * 3),
    "stored.gz": pack(b"stored", 0),
    "two_members.gz": pack(b"one") + pack(b"two", 1),
    "trailing.gz": pack(b"one") + b"two",
    "truncated.gz": pack(b"truncated" * 5)[:-6],
    "named.gz": b"\x1f\x8b\x08\x08\0\0\0\0\0\x03../name\0" + pack(b"named")[10:],
    "zeros.gz": pack(bytes(200_000)),
})

# --- .npy


def npy(descr, shape, values, version=1, order="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + values


write("npy", {
    "u1": npy("|u1", "(2, 3)", bytes(range(6))),
    "b1": npy("|b1", "(3,)", b"\0\1\2"),
    "i4": npy("<i4", "(2,)", struct.pack("<ii", -1, 7)),
    "i8": npy("<i8", "()", struct.pack("<q", -5)),
    "f4": npy("<f4", "(2, 2)", struct.pack("<4f", 0, -0.0, float("nan"), float("inf"))),
    "f8": npy("<f8", "(1, 1, 1)", struct.pack("<d", 0.1)),
    "i1": npy("|i1", "(3,)", b"\x80\xff\x01"),
    "u2": npy("<u2", "(2,)", struct.pack("<2H", 0, 65535)),
    "i2_big": npy(">i2", "(2,)", struct.pack(">2h", -1, 300)),
    "u4": npy("<u4", "(1,)", struct.pack("<I", 2**32 - 1)),
    "u8": npy("<u8", "(1,)", struct.pack("<Q", 2**64 - 1)),
    "f2": npy("<f2", "(2, 2)", bytes.fromhex("003c0100007c007e")),
    "f4_big": npy(">f4", "(1,)", struct.pack(">f", 0.1)),
    "version_2": npy("<f4", "(1,)", bytes(4), version=2),
    "no_values": npy("<f4", "(0, 7)", b""),
    "fortran": npy("<f4", "(1,)", bytes(4), order="True"),
    "negative": npy("<f4", "(-1,)", bytes(4)),
    "huge": npy("<f8", "(9223372036854775807, 9223372036854775807)", b""),
    "trailing": npy("|u1", "(1,)", b"xy"),
    "object": npy("|O", "(1,)", b"\x80\x04N."),
})

# --- .npz, CSV, PNG


def npz(arrays, method=zipfile.ZIP_STORED):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as file:
        for name, data in arrays.items():
            with file.open(zipfile.ZipInfo(name + ".npy"), "w", force_zip64=True) as member:  # as NumPy does
                member.write(data)
    return archive.getvalue()


def deflated(name, data):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        info = zipfile.ZipInfo(name + ".npy")
        info.compress_type = zipfile.ZIP_DEFLATED
        file.writestr(info, data)
    return archive.getvalue()


MATRIX = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4))
write("npz", {
    "one": npz({"x": MATRIX}),
    "two": npz({"train_x": MATRIX, "train_y": npy("<i8", "(2,)", struct.pack("<2q", 0, 1))}),
    "deflated": deflated("x", MATRIX),
    "bomb": deflated("x", npy("|u1", "(100000,)", bytes(100_000))),
    "empty": npz({}),
    "truncated": npz({"x": MATRIX})[:-30],
    "no_npy": npz({"x": b"text"}),
    "bad_crc": deflated("x", MATRIX).replace(struct.pack("<I", zlib.crc32(MATRIX)), bytes(4)),
})
write("csv", {
    "header": "a,b,species\n1,2.5,0\n-3,1e-3,1\n",
    "none": "1,2\n3,4\n",
    "semicolons": '"a";"b"\r\n1;2\r\n',
    "tabs": "a\tb\n1\t2\n\n",
    "bom": "\ufeffa\n1\n",
    "text": "a,b\n1,setosa\n",
    "missing": "a,b\n1,\n",
    "ragged": "a,b\n1\n",
    "quotes": '"a,b",c\n"1", 2 \n',
    "not_finite": "a\nnan\ninf\n",
    "no_numbers": "a,b\n",
})


def png(width, height, rows, color=0, depth=8):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


write("png", {
    "grey": png(2, 2, b"\0\x00\xff\0\x80\x40"),
    "colour": png(1, 1, b"\0\x01\x02\x03", color=2),
    "alpha": png(1, 1, b"\0\xff\xff\xff\x00", color=6),
    "bits": png(8, 1, b"\0\xaa", depth=1),
    "deep": png(1, 1, b"\0\x12\x34", depth=16),
    "lying": png(30000, 30000, b"\0"),
    "truncated": png(2, 2, b"\0\x00\xff\0\x80\x40")[:-20],
    "no_rows": png(1, 1, b""),
})

# --- safetensors


def safetensors(tensors, metadata=None, data=None, checksums=False):
    """tensors: name -> (shape, values), or a description to be written as it is."""
    described, blob = {}, b""
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            shape, values = tensor
            packed = struct.pack(f"<{len(values)}f", *values)
            tensor = {"dtype": "F32", "shape": shape, "data_offsets": [len(blob), len(blob) + len(packed)]}
            if checksums:
                metadata = {**(metadata or {}), f"sfnn.crc32.{name}": f"{zlib.crc32(packed):08x}"}
            blob += packed
        described[name] = tensor
    if checksums:
        metadata = {**metadata, "sfnn.crc32": "00000000"}
    header = {"__metadata__": metadata} if metadata is not None else {}
    text = json.dumps({**header, **described}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if checksums:
        text = text.replace(b'"sfnn.crc32":"00000000"', b'"sfnn.crc32":"%08x"' % zlib.crc32(text))
    return struct.pack("<Q", len(text)) + text + (blob if data is None else data)


def entry(begin, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


write("safetensors", {
    "none": safetensors({}),
    "matrix": safetensors({"W": ([2, 2], [1, 2, 3, 4]), "b": ([2], [0.5, -1]), "c": ([], [7])}, {"k": "v"}),
    "checksums": safetensors({"W": ([1, 2], [1, 2]), "b": ([0], [])}, {}, checksums=True),
    "not_finite": safetensors({"W": ([2], [float("nan"), float("inf")])}),
    "path": safetensors({"../../outside": ([1], [1]), "/etc/passwd": ([1], [2])}),
    "overlap": safetensors({"a": entry(0, 8, [2]), "b": entry(4, 8, [1])}, data=bytes(8)),
    "hole": safetensors({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, data=bytes(12)),
    "trailing": safetensors({"a": ([1], [1])}, data=bytes(5)),
    "wraps": safetensors({"a": entry(0, 4, [4294967296, 4294967296, 1])}, data=bytes(4)),
    "f64": safetensors({"a": entry(0, 8, [1], "F64")}, data=bytes(8)),
    "duplicate": struct.pack("<Q", 16) + b'{"a":{},"a":{}} ',
    "long_header": struct.pack("<Q", 2**63) + b"{}",
})

# --- configs

write("toml", {
    "empty": "",
    "data": '[data]\nset = "files"\ntrain_x = "x.npy"\ntrain_y = "y.npy"\ntest_x = "tx.npy"\ntest_y = "ty.npy"\n'
            'target = "a,b"\nbytes = "number"\noutput = "softmax"\ntask = "auto"\nbinarize = "epoch"\ncenter = true\nnoise = 0.5\nlimit = 10\n'
            'valid = 2\ntest_limit = 3\ntest_subjects = 4\nseed = 9\n',
    "settings": 'seed = 7 # comment\n[net]\nhidden = ["40s+160d", "40n+160d"]\ninit_scale = 1e-1\ninit_from = ""\n'
                '[train]\nestimator = "G5"\nparticles = 20\nepochs = 3\nbatch = 100\nlearning_rate = 0.1\n'
                'warmup_epochs = "auto"\nmomentum = 0.9\nbaseline_decay = 0.99\nc = 0.05\ndrop_below = 0\n'
                'tile = 0\nparts = 0\n[eval]\nparticles = 100\nas_stochastic = false\n',
    "dotted": 'train.epochs = 3\ntrain.batch = 0x10\ndata.set = "files"\ndata.train_x = \'C:\\x.npy\'\ndata.center = true\n',
    "unknown": "[train]\nepoch = 3\n",
    "wrong_type": 'seed = "one"\n',
    "out_of_range": "[train]\nmomentum = 1.0\nbatch = -1\n",
    "not_finite": "[train]\nlearning_rate = nan\n",
    "dates": "seed = 1979-05-27T07:32:00Z\n[[train]]\n[net]\nhidden = [[1], {a.b = 2}]\n",
    "text": 'data.set = """a\\u001b[31m\n"""\n',
})

# --- what a checkpoint says of its run

ABOUT = {
    "version": 1,
    "network": {"D_in": 5, "hidden": ["3s", "2s+2d", "2n+3d"], "D_out": 4, "output": "gaussian"},
    "state": {"epoch": 3, "step": 1801, "seconds": 0.3, "best_valid_nll": 56.7, "best_epoch": 2, "examples": 100,
              "c_hat_sum": -0.25, "effective_particles_sum": 1e-300},
    "tiling": {"tile": 10, "parts": 2},
}
CONFIG = '[net]\nhidden = ["3s", "2s+2d", "2n+3d"]\n[train]\nestimator = "G1"\n'


def about(config=CONFIG, **changes):
    merged = {key: {**value, **changes.get(key, {})} if isinstance(value, dict) else changes.get(key, value)
              for key, value in ABOUT.items()}
    return json.dumps(merged, separators=(",", ":")) + "\0" + config


write("checkpoint", {
    "sound": about(),
    "no_best": about(state={"best_valid_nll": None}),
    "other_version": about(version=3),
    "negative_step": about(state={"step": -1}),
    "huge_step": about(state={"step": 2**30}),
    "huge_count": about(state={"epoch": 2**64 - 1}),
    "infinite": about(state={"seconds": 0}).replace('"seconds":0', '"seconds":1e999'),
    "huge_input": about(network={"D_in": 2**24}),
    "too_wide": about(network={"D_out": 2**62}),
    "hidden_is_text": about(network={"hidden": "3s"}),
    "other_output": about(network={"output": "../../tanh"}),
    "empty_tiling": about(tiling={"tile": 0}),
    "other_config": about('[net]\nhidden = ["3s"]\n'),
    "bad_config": about("[train]\nepoch = 1"),
    "no_config": json.dumps(ABOUT),
    "deep": "[" * 200 + "\0",
})

# --- metrics.jsonl

write("metrics", {
    "two_epochs": '{"epoch":1,"step":600,"train_c_hat":-60.5,"valid_nll":null,"seconds":1.5}\n'
                  '{"epoch":2,"step":1200,"train_c_hat":-58.25,"valid_nll":57.125,"seconds":3.0}\n',
    "torn": '{"epoch":1}\n{"epoch":2,"tr',
    "session": '{"started":"2026-01-31 12:30 UTC","device":"cpu \\u001b[31m","step":0}\n',
    "search": '{"learning_rate":0.1,"end":"finished","valid_nll":[3.5,null,3.25],"config":"ab"}\n',
    "not_an_object": "[1]\n",
    "epoch_is_text": '{"epoch":"<b>"}\n',
    "negative_epoch": '{"epoch":-1}\n',
    "empty_line": '{"epoch":1}\n\n',
    "nested": '{"a":"[\\"[","b":' + "[" * 15 + "]" * 15 + "}\n",
})
