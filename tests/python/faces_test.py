"""The scripts in bench/paper/faces on small inputs of the original layouts, and the program on what they write.

Usage: faces_test.py SCRIPTS SFNN. Exits with 77 where scipy or Pillow is absent.
"""

import gzip
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import scipy.io
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}; point SFNN_PYTHON at a Python with numpy, scipy and Pillow")
    sys.exit(77)

SCRIPTS, SFNN = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)


def read_idx(path):
    data = gzip.decompress(path.read_bytes())
    kind, rank = data[2], data[3]
    shape = np.frombuffer(data, ">u4", rank, 4)
    return np.frombuffer(data, {8: ">u1", 12: ">i4"}[kind], offset=4 + 4 * rank).reshape(shape)


class Faces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(1)

    def run_script(self, name, *arguments, code=0):
        command = [sys.executable, SCRIPTS / name, *arguments]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, code, result.stdout)
        return result.stdout

    def train(self, name, test_subjects):
        settings = [f"data.set=faces/{name}", f"data.test_subjects={test_subjects}", "net.hidden=4s", "train.epochs=1"]
        command = [SFNN, "train", "--data", self.folder, "--out", self.folder / "run", "--quiet"]
        subprocess.run([*command, *(word for setting in settings for word in ("--set", setting))], check=True)

    def att_tree(self, subjects, faces):
        pixels = self.random.integers(0, 256, (subjects, faces, 112, 92), np.uint8)
        for s in range(subjects):
            (self.folder / f"orl/s{s + 1}").mkdir(parents=True)
            for f in range(faces):
                Image.fromarray(pixels[s, f]).save(self.folder / f"orl/s{s + 1}/{f + 1}.pgm")
        return pixels

    def test_att(self):
        pixels = self.att_tree(subjects=12, faces=10)  # s10 and 10.pgm sort as numbers, not as text
        self.assertIn("120 faces of 12 subjects", self.run_script("att_to_idx.py", self.folder / "orl", self.folder / "faces/att"))
        images = read_idx(self.folder / "faces/att/images-idx3-ubyte.gz")
        self.assertEqual(images.shape, (120, 48, 48))
        self.assertEqual(read_idx(self.folder / "faces/att/subjects-idx1-ubyte.gz").tolist(), sorted(list(range(1, 13)) * 10))
        # 48 copies of each pixel make the area mean a plain one: 92 * 48 = 48 * 92.
        window = pixels.reshape(120, 112, 92)[:, 20:].astype(float)
        fine = np.repeat(np.repeat(window[7], 48, 0), 48, 1).reshape(48, 92, 48, 92).mean((1, 3))
        np.testing.assert_array_equal(images[7], np.floor(fine + 0.5))
        self.train("att", test_subjects=3)

    def test_att_refuses_other_sizes(self):
        (self.folder / "orl/s1").mkdir(parents=True)
        Image.new("L", (48, 48)).save(self.folder / "orl/s1/1.pgm")
        self.assertIn("92 x 112", self.run_script("att_to_idx.py", self.folder / "orl", self.folder / "out", code=1))
        self.assertIn("no s1/1.pgm", self.run_script("att_to_idx.py", self.folder, self.folder / "out", code=1))

    def refused(self, says, *arguments):
        """In one line, and nothing is left."""
        before = sorted(self.folder.rglob("*"))
        text = self.run_script(*arguments, code=1)
        self.assertIn(says, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_att_refuses_damaged_trees(self):
        self.att_tree(subjects=1, faces=2)
        tree, out = self.folder / "orl", self.folder / "out"
        face = tree / "s1/2.pgm"
        good = face.read_bytes()
        for junk in (b"", b"junk", good[:300], b"P5\n92 112\n", b"P5\n99999999 99999999\n255\n" + good):
            face.write_bytes(junk)
            self.refused("s1/2.pgm: cannot be read as a picture", "att_to_idx.py", tree, out)
        face.write_bytes(good)
        for name, says in (("s1/1a.pgm", "are called s1/1.pgm"), ("s2b/1.pgm", "are called s1/1.pgm"),
                           ("s300/1.pgm", "up to 255")):
            (tree / name).parent.mkdir(exist_ok=True)
            face.rename(tree / name)
            self.refused(f"{name}: ", "att_to_idx.py", tree, out)
            self.refused(says, "att_to_idx.py", tree, out)
            (tree / name).rename(face)
        out.write_text("a file")
        self.refused("out: cannot be written", "att_to_idx.py", tree, out)

    def test_a_pair_is_replaced_as_one(self):
        self.att_tree(subjects=1, faces=2)
        out = self.folder / "out"
        (out / "subjects-idx1-ubyte.gz").mkdir(parents=True)  # cannot be replaced by a file
        (out / ".subjects-idx1-ubyte.gz.part").mkdir()  # nor written before
        (out / "images-idx3-ubyte.gz").write_text("of before")
        self.refused("out: cannot be written", "att_to_idx.py", self.folder / "orl", out)
        self.assertEqual((out / "images-idx3-ubyte.gz").read_text(), "of before")

    def mat(self, **changes):
        n = 60
        content = {
            "images": self.random.integers(0, 256, (n, 48, 48), np.uint8),
            "labs_ex": np.array([[-1 if i % 12 == 11 else i % 7 + 1] for i in range(n)], np.int16),
            "labs_id": np.array([[-1 if i >= 48 else 300 + 100 * (i % 4)] for i in range(n)], np.int16),
            "folds": np.ones((n, 5), np.uint8),
        }
        content |= changes
        path = self.folder / "tfd.mat"
        scipy.io.savemat(path, {name: value for name, value in content.items() if value is not None})
        return path, content

    def test_tfd(self):
        path, content = self.mat()
        expression, person = content["labs_ex"].ravel(), content["labs_id"].ravel()
        self.run_script("tfd_to_idx.py", path, self.folder / "faces/tfd")
        subjects = read_idx(self.folder / "faces/tfd/subjects-idx1-int.gz")
        images = read_idx(self.folder / "faces/tfd/images-idx3-ubyte.gz")
        # Person 600 has 12 faces less the 4 without an expression: too few.
        self.assertEqual(sorted(set(subjects.tolist())), [300, 400, 500])
        for p in (300, 400, 500):
            np.testing.assert_array_equal(images[subjects == p], content["images"][(person == p) & (expression >= 0)])
        self.train("tfd", test_subjects=1)

    def test_tfd_refuses_what_is_not_it(self):
        for changes, says in [
            ({"labs_id": None}, "labs_id"),
            ({"images": np.zeros((60, 32, 32), np.uint8)}, "(60, 32, 32)"),
            ({"labs_ex": np.ones((59, 1))}, "differ in number"),
            ({"labs_ex": -np.ones((60, 1))}, "no person"),
            ({"labs_id": np.array(["anna"] * 60)}, "arrays of numbers"),
        ]:
            path, _ = self.mat(**changes)
            self.refused(says, "tfd_to_idx.py", path, self.folder / "out")
        path, _ = self.mat()
        good = path.read_bytes()
        for size in (0, 100, 128, 136, 1000, len(good) - 5):
            path.write_bytes(good[:size])
            self.refused("tfd.mat: ", "tfd_to_idx.py", path, self.folder / "out")


unittest.main(verbosity=2)
