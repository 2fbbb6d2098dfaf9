"""The package's own manners: arrays, runs, callbacks, Ctrl-C, and the program's bits."""

import ctypes
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import redirect_stderr
from pathlib import Path

from package_support import import_package, main, program, weights_hash

import_package("numpy")

import numpy as np  # noqa: E402
import sfnn  # noqa: E402
from sfnn import _arrays  # noqa: E402

SMALL = {"net.hidden": "8s,6s", "train.epochs": 3, "train.batch": 20, "train.particles": 5, "eval.particles": 10}


def numbers(rows=120, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 4)).astype(np.float32)
    return x, (random.random((rows, 3)) < 0.5).astype(np.uint8)


def small_data(**options):
    return sfnn.Data.from_arrays(*numbers(), test=numbers(40, 1), valid=numbers(30, 2), **options)


def train_small(**options):
    return sfnn.train(SMALL, data=small_data(), device="cpu", **options)


class Tensor:
    """What another library's array shows of itself: DLPack, and whether it wants gradients."""

    def __init__(self, array, device=(1, 0), requires_grad=False):
        self.array, self.device, self.requires_grad = array, device, requires_grad

    def detach(self):
        return Tensor(self.array, self.device)

    def __dlpack__(self, **options):
        assert not self.requires_grad, "PyTorch refuses this"
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Arrays(unittest.TestCase):
    def test_what_fits_is_not_copied(self):
        floats, bits = np.ones((3, 2), np.float32), np.ones((3, 2), bool)
        self.assertTrue(np.shares_memory(_arrays.numbers(floats, "x"), floats))
        self.assertTrue(np.shares_memory(_arrays.numbers(bits, "x"), bits))
        floats.setflags(write=False)
        self.assertTrue(np.shares_memory(_arrays.numbers(floats, "x"), floats))

    def test_tensors_of_others_are_read_where_they_lie(self):
        floats = np.ones((3, 2), np.float32)
        for tensor in (Tensor(floats), Tensor(floats, requires_grad=True)):
            self.assertTrue(np.shares_memory(_arrays.numbers(tensor, "x"), floats))
        with self.assertRaisesRegex(TypeError, "x lies on another device"):
            _arrays.numbers(Tensor(floats, device=(2, 0)), "x")

    def test_the_engine_reads_where_the_array_lies(self):
        x, y = np.zeros((50, 1), np.float32), np.zeros((50, 1), np.float32)
        data = sfnn.Data.from_arrays(x, y)
        before = sfnn.train(SMALL, data=data, device="cpu").weights()["c"]
        x[:], y[:] = 1, 1  # nobody should; a copy would not see it
        after = sfnn.train(SMALL, data=data, device="cpu").weights()["c"]
        self.assertGreater(after[0], before[0])

    def test_data_keep_their_arrays(self):
        data = sfnn.Data.from_arrays(*numbers())
        _ = [np.full((120, 4), np.nan, np.float32) for _ in range(50)]  # would take their place
        self.assertEqual(weights_hash(sfnn.train(SMALL, data=data)), weights_hash(sfnn.train(SMALL, data=small_data())))

    def test_others_are_converted(self):
        x, y = numbers()
        expected = weights_hash(sfnn.train(SMALL, data=sfnn.Data.from_arrays(x, y)))
        odd = np.zeros(120 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(120, 4)
        odd[:] = x
        for same in (x.astype(np.float64), np.asfortranarray(x), x.astype(">f4"), x.tolist(), odd):
            for bits in (y, y.astype(bool), y.astype(np.int64), y.astype(np.float32)):
                self.assertEqual(weights_hash(sfnn.train(SMALL, data=sfnn.Data.from_arrays(same, bits))), expected)

    def test_bytes_are_numbers_unless_grey(self):
        random = np.random.default_rng(0)
        x, y = random.integers(0, 256, (60, 3), np.uint8), numbers(60)[1]
        grey = x.astype(np.float32) * (np.float32(1) / np.float32(255))
        for given, same, input in ((x, x.astype(np.float32), "numbers"), (x, grey, "grey")):
            network = sfnn.train(SMALL, data=sfnn.Data.from_arrays(given, y, input=input))
            other = sfnn.train(SMALL, data=sfnn.Data.from_arrays(same, y))
            self.assertEqual(weights_hash(network), weights_hash(other))
            self.assertTrue((network.predict(given, input=input) == network.predict(same)).all())

    def test_the_rest_is_refused_in_a_sentence(self):
        x, y = numbers()
        for bad, why in (
            (x.astype(complex), "Complex data not supported: x is of complex128"),
            (np.full((120, 4), "a"), "x is of <U1, and numbers are needed"),
            (np.full((120, 4), 1e39), "too large for float32 in row 0, column 0"),
            (np.where(np.arange(480).reshape(120, 4) == 9, np.nan, x), "NaN, .* in row 2, column 1"),
            (x[:50], "x and y have 50 and 120 rows"),
            (np.float32(1), "a single number"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                sfnn.Data.from_arrays(bad, y)
        with self.assertRaisesRegex(sfnn.DataError, "target number 0 is 2"):
            sfnn.Data.from_arrays(x, y + 2)
        with self.assertRaisesRegex(ValueError, "grey values are uint8"):
            sfnn.Data.from_arrays(x, y, input="grey")
        with self.assertRaisesRegex(sfnn.ShapeError, "x has 3 columns, and the network reads 4"):
            train_small().predict(x[:, :3])


class Configs(unittest.TestCase):
    def test_values_of_python_become_texts(self):
        config = sfnn.Config({"net.hidden": ["200s", "200s"], "train": {"epochs": 5, "c": None}, "data.center": True})
        self.assertEqual((config["net.hidden"], config["train.epochs"]), ("200s,200s", "5"))
        self.assertEqual((config["train.c"], config["data.center"]), ("auto", "true"))
        self.assertEqual(pickle.loads(pickle.dumps(config)), config)
        self.assertEqual(sfnn.Config.from_toml(config.to_toml()), config)
        self.assertNotEqual(config, sfnn.Config())
        del config["train.epochs"]
        self.assertEqual(config["train.epochs"], "20")

    def test_errors_are_built_in_ones_too(self):
        with self.assertRaisesRegex(sfnn.ConfigError, "train.epoch"):
            sfnn.Config({"train.epoch": 5})
        self.assertTrue(issubclass(sfnn.ConfigError, ValueError) and issubclass(sfnn.SaveError, OSError))
        with self.assertRaises(KeyError):
            sfnn.Config()["train.epoch"]


class Networks(InFolder):
    def test_a_row_has_no_place(self):
        network, x = train_small(), numbers(500, 3)[0]
        y = numbers(500, 3)[1]
        means, log_p = network.predict(x), network.log_likelihood(x, y)
        for rows in (slice(7, 8), slice(0, 33), slice(100, 400), slice(None, None, -1)):
            self.assertTrue((network.predict(x[rows]) == means[rows]).all())
            self.assertTrue((network.log_likelihood(x[rows], y[rows]) == log_p[rows]).all())

    def test_samples(self):
        network, x = train_small(), numbers()[0]
        y = network.sample(x, 200, seed=3)
        self.assertEqual(y.shape, (120, 200, 3))
        self.assertTrue(np.isin(y, (0, 1)).all())
        self.assertLess(np.abs(y.mean(axis=1) - network.predict(x, particles=2000)).max(), 0.2)
        self.assertEqual(network.sample(x, 2, expected=True).shape, (120, 2, 3))

    def test_pickle_save_and_weights(self):
        network = train_small()
        network.save(self.folder / "n.safetensors")
        for same in (pickle.loads(pickle.dumps(network)), sfnn.Network.load(self.folder / "n.safetensors")):
            self.assertEqual(weights_hash(same), weights_hash(network))
        self.assertEqual(Path(self.folder / "n.safetensors").read_bytes(), network.to_bytes())
        network.set_weights({"c": [1, 2, 3]})
        self.assertEqual(network.weights()["c"].tolist(), [1, 2, 3])
        with self.assertRaises(sfnn.DataError):
            sfnn.Network.from_bytes(network.to_bytes()[:-1])


class Runs(InFolder):
    def test_a_run_is_the_programs(self):
        (x, y), (x_test, y_test) = numbers(), numbers(40, 1)
        for name, array in (("x", x), ("y", y), ("tx", x_test), ("ty", y_test)):
            np.save(self.folder / f"{name}.npy", array)
        settings = [f"{key}={value}" for key, value in SMALL.items()]
        settings += ["data.set=files", "data.train_x=x.npy", "data.train_y=y.npy", "data.test_x=tx.npy",
                     "data.test_y=ty.npy", "data.standardize=x"]  # fmt: skip
        arguments = [word for setting in settings for word in ("--set", setting)]
        program("train", "--data", self.folder, "--out", self.folder / "a", "--device", "cpu", *arguments)
        data = sfnn.Data.from_arrays(x, y, test=(x_test, y_test), standardize="x")
        ours = sfnn.train(SMALL, out=self.folder / "b", data=data, device="cpu")
        theirs = sfnn.Run(self.folder / "a")
        in_memory = sfnn.train(SMALL, data=data, device="cpu", threads=1)
        self.assertEqual(weights_hash(ours.network()), weights_hash(theirs.network()))
        self.assertEqual(weights_hash(ours.network()), weights_hash(in_memory))
        self.assertEqual(ours.metrics["test_nll"].tolist()[-1], theirs.metrics["test_nll"].tolist()[-1])

    def test_metrics_report_and_files(self):
        run = sfnn.train(SMALL, out=self.folder / "run", data=small_data(), device="cpu")
        self.assertEqual(run.metrics["epoch"].tolist(), [1, 2, 3])
        self.assertTrue(np.isfinite(run.metrics["valid_nll"]).all())
        self.assertTrue(np.isnan(run.metrics["test_nll"][:2]).all())
        self.assertTrue(run.checkpoints and run.best and run.sessions)
        self.assertEqual(run.config["train.epochs"], "3")
        self.assertIn("</html>", run.report(self.folder / "page.html"))
        self.assertTrue((self.folder / "page.html").exists())
        with self.assertRaisesRegex(sfnn.ConfigError, "holds a run already"):
            sfnn.train(SMALL, out=self.folder / "run", data=small_data())
        with self.assertRaisesRegex(sfnn.ConfigError, "not a run directory"):
            sfnn.Run(self.folder)

    def test_pictures_and_study(self):
        config = {**SMALL, "data.limit": 60, "data.valid": 20, "data.test_limit": 16}
        run = sfnn.train(config, out=self.folder / "glyphs", device="cpu", search=(0.1, 0.3))
        self.assertTrue(run.sample_png(rows=2, samples=2).startswith(b"\x89PNG"))
        study = run.study(particles=4, draws=10)
        self.assertIn("G3", {row["estimator"] for row in study})

    def test_a_callback_stops_and_resume_continues(self):
        whole = sfnn.train(SMALL, out=self.folder / "whole", data=small_data(), device="cpu")
        part = sfnn.train(
            SMALL, out=self.folder / "part", data=small_data(), device="cpu", callbacks=lambda p: p.epoch == 1
        )
        self.assertEqual(len(part.metrics["epoch"]), 1)
        self.assertTrue(part.resume(data=small_data(), device="cpu").finished)
        self.assertEqual(weights_hash(part.network()), weights_hash(whole.network()))

    def test_a_proposal_has_figures_of_its_own(self):
        data, seen = small_data(), []
        run = sfnn.train(
            {**SMALL, "proposal.on": True},
            out=self.folder / "run",
            data=data,
            device="cpu",
            callbacks=lambda progress: seen.append(progress.valid_nll_proposal),
        )
        self.assertIsNotNone(seen[-1])
        figures = run.network().evaluate(data)
        self.assertNotEqual(figures.nll_proposal, figures.nll)
        self.assertGreater(figures.nll_proposal_se, 0)
        self.assertGreaterEqual(figures.effective_particles_proposal, 1)
        self.assertIsNone(train_small().evaluate(data).nll_proposal)

    def test_what_a_callback_raises_is_raised_and_the_state_kept(self):
        def fail(progress):
            raise LookupError("of mine")

        with self.assertRaisesRegex(LookupError, "of mine"):
            sfnn.train(SMALL, out=self.folder / "run", data=small_data(), device="cpu", callbacks=fail)
        self.assertTrue(sfnn.Run(self.folder / "run").resume(data=small_data(), device="cpu").finished)

    def test_progress(self):
        shown = io.StringIO()
        with redirect_stderr(shown):
            train_small(progress=True)
        self.assertIn("C_hat", shown.getvalue())


class Manners(InFolder):
    def test_nothing_is_printed(self):
        code = f"import sys; sys.path.insert(0, {sys.argv[1]!r}); sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        code += "import sfnn; sfnn.train({'data.limit': 40, 'net.hidden': '5s', 'train.epochs': 1}, device='cpu')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_other_threads_run_meanwhile(self):
        counted = []

        def count():
            while not done.is_set():
                counted.append(time.monotonic())
                time.sleep(0.001)

        done = threading.Event()
        counter = threading.Thread(target=count)
        counter.start()
        begin = time.monotonic()
        sfnn.train({**SMALL, "train.epochs": 200}, data=small_data(), device="cpu", threads=1)
        end = time.monotonic()
        done.set()
        counter.join()
        during = [t for t in counted if begin < t < end]
        self.assertGreater(len(during), 5)

    def test_threads_take_turns_on_a_device(self):
        network, x = train_small(), numbers()[0]
        expected, found = network.predict(x), []
        threads = [threading.Thread(target=lambda: found.append(network.predict(x))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(len(found) == 8 and all((f == expected).all() for f in found))

    def test_ctrl_c_stops_at_the_next_step_with_the_state_kept(self):
        run = self.folder / "run"
        code = f"import sys; sys.path.insert(0, {sys.argv[1]!r})\nimport sfnn\n"
        code += "config = {'data.limit': 400, 'net.hidden': '50s', 'train.epochs': 100000}\n"
        code += f"try: sfnn.train(config, out={str(run)!r}, device='cpu', callbacks=lambda p: print(p.epoch, flush=True))\n"
        code += f"except KeyboardInterrupt: print('stopped', sfnn.Run({str(run)!r}).network().step)"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=60)[0].split()
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(rest[-2], "stopped")
        self.assertGreater(int(rest[-1]), 0)

    def test_a_forked_process_is_told(self):
        network, x = train_small(), numbers()[0]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                network.predict(x)
                os.write(write, b"no error")
            except ValueError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        self.assertIn(b"before the process was forked", os.read(read, 1000))

    def test_memory_stays_flat(self):
        data = small_data()

        def resident():
            ctypes.CDLL(None).malloc_trim(0)
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        config = {**SMALL, "train.epochs": 1}
        for _ in range(50):
            sfnn.train(config, data=data, device="cpu")
        before = resident()
        for _ in range(1000):
            sfnn.train(config, data=data, device="cpu")
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    main()
