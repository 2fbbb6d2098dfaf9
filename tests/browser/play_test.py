"""`sfnn play` in a browser: real strokes on the input, and the answers are those of `sfnn predict`.

Usage: play_test.py PROGRAM [FOLDER], where PROGRAM is sfnn; screenshots are left in FOLDER. Exits with 77 where
there is no Chromium.
"""

import csv
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import chromium

TOLERANCE = 1e-5
SMALL = """data.limit=200 data.test_limit=30 train.epochs=1 train.particles=5 eval.particles=30 train.batch=20
    train.learning_rate=0.01""".split()
DIAGONAL = [(0.1, 0.1), (0.5, 0.6), (0.9, 0.7)]


def write_npy(path, shape, values, kind="f"):
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    assert math.prod(shape) == len(values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}{kind}", *values))


class Case:
    """A run, its page, and what predict says of the inputs that the page has."""

    def __init__(self, program, folder, name, settings):
        self.program, self.folder, self.name, self.run = program, folder, name, folder / name
        words = [word for setting in (*SMALL, *settings) for word in ("--set", setting)]
        self.call("train", "--quiet", *words, "--data", folder, "--out", self.run)
        self.call("play", self.run, "--data", folder)
        self.page = self.run / "play.html"

    def call(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def predict(self, x, *arguments):
        """Rows of numbers: one, or one per sample."""
        write_npy(self.folder / "x.npy", (1, len(x)), x)
        out = self.folder / "said.csv"
        self.call("predict", self.run, "--input", self.folder / "x.npy", "--out", out, *arguments)
        with out.open() as file:
            rows = list(csv.reader(file))
        first = 2 if rows[0][1] == "sample" else 1
        return [[float(word) for word in row[first:]] for row in rows[1:]]


def near(ours, theirs):
    """Rows of numbers; predict has floats, and those of large targets are coarser."""
    largest = max(1, *(abs(value) for row in theirs for value in row))
    for our_row, their_row in zip(ours, theirs, strict=True):
        for a, b in zip(our_row, their_row, strict=True):
            assert abs(a - b) <= TOLERANCE * largest, (a, b)


def compare(browser, case):
    """Mean, E[y|h] of ten draws, and y itself, for the input that the page has now."""
    browser.wait_for("play.is_done()")
    x = browser.run("Array.from(play.x)")
    near([browser.run("play.mean()")], case.predict(x))
    draws = browser.run("Array.from({length: 10}, (_, m) => play.draw(m)).map(d => [Array.from(d.mean), [d.y].flat()"
                        ".flatMap(y => typeof y === 'number' ? [y] : Array.from(y))])")
    for k, arguments in enumerate((["--expected"], [])):
        near([draw[k] for draw in draws], case.predict(x, "--samples", 10, *arguments))
    assert not browser.complaints, browser.complaints
    assert all(url.startswith("file:") or url.startswith("data:") for url in browser.asked), browser.asked
    return x


def draws_and_erases(browser, case):
    browser.screen(1280, 900)
    browser.open(case.page)
    before = compare(browser, case)
    browser.click("#clear")
    assert sum(compare(browser, case)) == 0
    browser.stroke("#input", DIAGONAL)
    drawn = compare(browser, case)
    assert sum(drawn) > 10 and drawn != before, "a stroke must draw"
    browser.click("#erase")
    browser.stroke("#input", DIAGONAL[1:])
    assert 0 < sum(compare(browser, case)) < sum(drawn), "a stroke must erase"
    browser.screen(390, 844, phone=True)
    browser.click("#draw")
    browser.finger("#input", [(0.1, 0.9), (0.9, 0.9)])
    last_row = compare(browser, case)[-28:]
    assert sum(last_row) > 15, "a finger must draw"
    mean = browser.run("play.mean()")
    browser.click("#resample")
    browser.wait_for("play.is_done()")
    assert browser.run("play.mean()") != mean, "other draws, another mean"


def shows_hidden_units(browser, case):
    browser.open(case.page)
    browser.wait_for("play.is_done()")
    assert not browser.run("document.querySelector('#hidden-panel').checkVisibility()")
    browser.click("#show-hidden")
    captions = browser.run("Array.from(document.querySelectorAll('figcaption'), c => c.textContent)")
    assert captions[0].endswith("of 16 stochastic units are still random for this input"), captions
    decided = 0.05
    random_units = browser.run(f"Array.from(play.shown[0].layers[0].p).filter(p => p > {decided} && p < 1 - {decided}).length")
    assert captions[0].startswith(f"Layer 1: {random_units} of 16"), (captions, random_units)


def fits_a_phone(browser, case, width=390):
    for dark in (False, True):
        browser.screen(width, 844, dark=dark, phone=True)
        browser.open(case.page)
        browser.wait_for("play.is_done()")
        assert browser.run("document.documentElement.scrollWidth") <= width, "it must not scroll sideways"
        browser.picture(case.folder / f"{case.name}-phone-{'dark' if dark else 'light'}.png")
        browser.screen(1280, 900, dark=dark)
        browser.picture(case.folder / f"{case.name}-desktop-{'dark' if dark else 'light'}.png")


def slides(browser, case):
    browser.screen(1280, 900)
    browser.open(case.page)
    before = compare(browser, case)
    assert browser.run("document.querySelector('h1').textContent") == case.name, "shown as it is"
    for share in (0.1, 0.8):
        browser.stroke(".sliders label:first-child input", [(share, 0.5)])
        after = compare(browser, case)
        assert after[0] != before[0] and after[1:] == before[1:], (before, after)


def write_own_data(folder):
    draw = random.Random(1)
    numbers = [[draw.gauss(2, 3) for _ in range(3)] for _ in range(230)]
    targets = [[10 * draw.choice((-1, 1)) * x[0], 0.1 * x[1] + draw.gauss(5, 0.1)] for x in numbers]
    write_npy(folder / "x.npy.in", (230, 3), sum(numbers, []))
    write_npy(folder / "y.npy.in", (230, 2), sum(targets, []))
    write_npy(folder / "counts.npy.in", (230, 2), [float(draw.randrange(9)) for _ in range(460)])
    write_npy(folder / "bits.npy.in", (230, 4), [float(draw.randrange(2)) for _ in range(920)])
    write_npy(folder / "pixels.npy.in", (230, 6, 5), [draw.random() for _ in range(230 * 30)])
    write_npy(folder / "color.npy.in", (230, 5, 4, 3), [draw.random() for _ in range(230 * 60)])
    write_npy(folder / "wide.npy.in", (230, 100), [draw.random() for _ in range(23000)])
    write_npy(folder / "classes.npy.in", (230,), [draw.randrange(3) for _ in range(230)], "i")
    for file in folder.glob("*.in"):
        file.rename(folder / ("own_" + file.stem))


def own(x, y, output, *settings):
    files = [f"data.{part}_{axis}=own_{name}.npy" for part in ("train", "test") for axis, name in (("x", x), ("y", y))]
    return ["data.set=files", f"data.output={output}", *files, *settings]


OWN = {  # name: settings
    "given": own("x", "y", "gaussian", "net.hidden=6s", "net.sigma=0.5"),
    "learnt": own("x", "y", "gaussian", "net.hidden=6n+10d", "net.sigma=learnt", "data.standardize=both"),
    "each": own("x", "y", "gaussian", "net.hidden=4s+6relu,5s", "net.sigma=learnt-each", "data.standardize=both"),
    "predicted <b>&amp;": own("x", "y", "gaussian", "net.hidden=9tanh,5s", "net.sigma=predicted", "data.standardize=y"),
    "poisson": own("x", "counts", "poisson", "net.hidden=10s", "data.standardize=x"),
    "bits": own("x", "bits", "bernoulli", "net.hidden=10d"),
    "as-stochastic": own("x", "bits", "bernoulli", "net.hidden=10d", "eval.as_stochastic=true"),
}
DRAWN = {
    "classes": ["data.task=classes", "net.hidden=12s+20tanh"],
    "pixels": own("pixels", "classes", "softmax", "net.hidden=8s", "data.center=true"),
    "color": own("color", "color", "gaussian", "net.hidden=8relu,6s"),
}


def main():
    program = sys.argv[1]
    chromium.find()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else name)
        write_own_data(folder)
        with chromium.Browser(pathlib.Path(name) / "profile") as browser:
            halves = Case(program, folder, "halves", ["data.center=true", "net.hidden=16s,8s", "seed=5000000000"])
            draws_and_erases(browser, halves)
            shows_hidden_units(browser, halves)
            fits_a_phone(browser, halves)
            for name, settings in OWN.items():
                case = Case(program, folder, name, settings)
                slides(browser, case)
                fits_a_phone(browser, case)
            for name, settings in DRAWN.items():
                case = Case(program, folder, name, settings)
                browser.screen(1280, 900)
                browser.open(case.page)
                before = compare(browser, case)
                browser.stroke("#input", DIAGONAL)
                assert compare(browser, case) != before
                fits_a_phone(browser, case)
            case = Case(program, folder, "generate", ["data.task=generate", "net.hidden=8s,16d"])
            fits_a_phone(browser, case)
            mean = browser.run("play.mean()")
            assert len(mean) == 784 and all(0 <= p <= 1 for p in mean)
            browser.click("#resample")
            browser.wait_for("play.is_done()")
            assert browser.run("play.mean()") != mean and not browser.complaints, browser.complaints
        words = [word for setting in (*SMALL, *own("wide", "bits", "bernoulli")) for word in ("--set", setting)]
        subprocess.run([program, "train", "--quiet", *words, "--data", folder, "--out", folder / "wide"], check=True)
        refused = subprocess.run([program, "play", folder / "wide", "--data", folder], capture_output=True, text=True)
        assert refused.returncode == 2 and "too many for sliders (at most 64)" in refused.stderr, refused
        assert refused.stderr.count("\n") == 1 and not (folder / "wide" / "play.html").exists()


main()
