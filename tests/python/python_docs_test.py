"""Runs the Python of docs/python.md, block after block, in an empty folder, and looks at what it leaves."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

from package_support import import_package, main

import_package("numpy", "sklearn")

import numpy as np  # noqa: E402

DOCS = Path(sys.argv[3]).read_text()
BLOCKS = [part.split("```")[0] for part in DOCS.split("```python\n")[1:]]


class Docs(unittest.TestCase):
    def test_the_blocks_run(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                names = {}
                for block in BLOCKS:
                    exec(compile(block, "docs/python.md", "exec"), names)
                self.check(names)
            finally:
                os.chdir(before)

    def check(self, names):
        samples, mean = names["samples"], names["mean"]
        self.assertTrue((samples > 2).any() and (samples < -2).any() and abs(mean[0]) < 1.5)
        self.assertEqual(len(names["run"].metrics["epoch"]), 5)
        self.assertTrue(Path("glyphs.html").exists() and names["png"].startswith(b"\x89PNG"))
        # The forward pass of the docs against ours: means over 20000 draws.
        network, random = names["network"], np.random.default_rng(0)
        x = random.integers(0, 2, (1, network.inputs)).astype(np.float32)
        drawn = names["draw"](np.repeat(x, 20000, axis=0), names["weights"], random)
        self.assertLess(np.abs(drawn.mean(axis=0) - network.predict(x, particles=20000)).max(), 0.02)


if __name__ == "__main__":
    main()
