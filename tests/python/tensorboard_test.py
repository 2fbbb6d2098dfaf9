"""Event files as TensorBoard itself reads them: its reader, and its server. Argument: the program sfnn."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    import numpy as np
except ImportError:
    print("skipped: tensorboard is not installed: it is for ./run test --all, or PyPI was not reachable")
    sys.exit(77)

GROUPS = ("train", "valid", "test", "average", "best")
SMALL = "data.limit=200 data.test_limit=20 data.valid=50 net.hidden=6s,5s train.particles=3 eval.particles=5"


def sfnn(*arguments):
    subprocess.run([sys.argv[1], *map(str, arguments)], check=True, capture_output=True, text=True)


def train(out, *arguments, **settings):
    given = [f"{key}={value}" for key, value in settings.items()]
    sets = [word for setting in SMALL.split() + given for word in ("--set", setting)]
    return [sys.argv[1], "train", "--quiet", "--out", str(out), *sets, *map(str, arguments)]


def tag(key):
    group, _, rest = key.partition("_")
    return f"{group}/{rest}" if rest and group in GROUPS else f"train/{key}"


def wanted(run):
    """{(tag, step): value} of every number in metrics.jsonl."""
    values = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = record.pop("step")
        for key, value in record.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values[tag(key), step] = np.float32(value)
    return values


def reader(run):
    events = EventAccumulator(str(run), size_guidance={"scalars": 0, "histograms": 0, "images": 0})
    events.Reload()
    return events


def shown(events):
    return {(t, e.step): np.float32(e.value) for t in events.Tags()["scalars"] for e in events.Scalars(t)}


class EventFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runs = Path(folder.name)

    def assert_steps_rise(self, events, epochs):
        times = events.Scalars("train/c_hat")
        self.assertEqual(len(times), epochs)
        for before, after in zip(times, times[1:]):
            self.assertLess(before.step, after.step)
            self.assertLessEqual(before.wall_time, after.wall_time)

    def test_every_number_of_a_live_run_with_histograms_and_pictures(self):
        before = time.time()
        subprocess.run(train(self.runs / "a", "--tensorboard", **{"train.epochs": 5, "train.ema": 0.9}), check=True)
        events = reader(self.runs / "a")
        self.assertEqual(shown(events), wanted(self.runs / "a"))
        self.assertTrue(before - 1 <= events.Scalars("valid/nll")[0].wall_time <= time.time())
        for name in ("train/learning_rate", "train/gradient_norm", "train/effective_particles"):
            self.assertIn(name, events.Tags()["scalars"])
        self.assertEqual(events.Tags()["histograms"], ["p/layer1", "p/layer2"])
        histogram = events.Histograms("p/layer1")[-1].histogram_value
        self.assertAlmostEqual(sum(histogram.bucket), 6)  # units
        self.assertEqual((histogram.min, histogram.max), (0, 1))
        self.assertEqual([image.step for image in events.Images("samples")], [2, 4, 8, 10])  # epochs 1, 2, 4, 5
        self.assertEqual(events.Images("samples")[-1].encoded_image_string, (self.runs / "a/samples.png").read_bytes())

    def test_an_old_run_is_converted(self):
        subprocess.run(train(self.runs / "old", **{"train.epochs": 4}), check=True)
        sfnn("tensorboard", self.runs / "old")
        events = reader(self.runs / "old")
        self.assertEqual(shown(events), wanted(self.runs / "old"))
        self.assert_steps_rise(events, 4)
        self.assertEqual(len(events.Images("samples")), 1)
        again = (self.runs / "old/events.out.tfevents.0.sfnn").read_bytes()
        sfnn("tensorboard", self.runs / "old")
        self.assertEqual((self.runs / "old/events.out.tfevents.0.sfnn").read_bytes(), again)

    # Killed at some moment, again and again: whatever lies there can be read, and in the end every step is there once.
    def test_killed_and_resumed_steps_rise_strictly(self):
        run, epochs = self.runs / "killed", 60
        command = train(run, "--tensorboard", **{"train.epochs": epochs, "train.save_every": 7})
        for kill in range(6):
            process = subprocess.Popen(command + ["--resume"])
            time.sleep(0.15 + 0.11 * kill)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (run / "events.out.tfevents.0.sfnn").exists():
                events = reader(run)
                steps = [e.step for e in events.Scalars("train/c_hat")] if events.Tags()["scalars"] else []
                self.assertEqual(steps, sorted(set(steps)))
        subprocess.run(command + ["--resume"], check=True)
        events = reader(run)
        self.assert_steps_rise(events, epochs)
        self.assertEqual(shown(events), wanted(run))

    def test_the_server_shows_them(self):
        subprocess.run(train(self.runs / "served", "--tensorboard", **{"train.epochs": 3}), check=True)
        server = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", self.runs, "--port", "0", "--host", "127.0.0.1"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        try:
            for line in server.stderr:
                if "http://" in line:
                    address = next(word for word in line.split() if word.startswith("http://")).rstrip("/")
                    break
            else:
                self.fail("TensorBoard did not start")
            values = {}
            for (name, step), value in wanted(self.runs / "served").items():
                values.setdefault(name, {})[step] = value
            for name, by_step in values.items():
                self.assertEqual(self.asked(f"{address}/data/plugin/scalars/scalars?run=served&tag={name}"), by_step)
        finally:
            server.terminate()
            server.wait()
            server.stderr.close()

    def asked(self, url):
        for _ in range(100):  # it reads the files in the background
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return {step: np.float32(value) for _, step, value in json.load(answer)}
            except urllib.error.HTTPError:
                time.sleep(0.2)
        self.fail(f"{url} was not answered")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
