"""A report opens in a browser: it renders, asks nobody for anything, and violates no policy of its own.

Usage: report_test.py PROGRAM, where PROGRAM is sfnn. Exits with 77 where there is no Chromium.
"""

import html.parser
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import chromium as tab

SMALL = """data.limit=300 data.valid=100 data.test_limit=40 net.hidden=16s,8s train.particles=4
    train.epochs=3 eval.particles=10""".split()
TITLES = ["Training criterion", "Training criterion within epochs", "Validation", "Gradient", "Learning rate", "C_hat against M",
          "Effective particles in training", "Hidden layer 1", "Hidden layer 2"]
HOSTILE = "g5 <b onclick='x'>&amp;"  # a directory may be called so


class Page(html.parser.HTMLParser):
    """What of the browser's own document matters here."""

    def __init__(self, text):
        super().__init__()
        self.charts, self.pictures, self.bold, self.text = [], 0, 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "svg" and attributes.get("class") == "chart":
            self.charts.append(attributes["aria-label"])
        self.pictures += tag == "img" and attributes["src"].startswith("data:image/png;base64,")
        self.bold += tag == "b"

    def handle_data(self, data):
        self.text.append(data)


def opened(chromium, folder, page, *arguments):
    """What Chromium prints, and the addresses that it asked for."""
    log = folder / "net.json"
    result = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
         f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", "--virtual-time-budget=3000",
         *arguments, page.as_uri()],
        capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    for complaint in ("Content Security Policy", "Uncaught", "violates"):
        assert complaint not in result.stderr, result.stderr
    return result.stdout, addresses(log)


def addresses(log):
    """What pages asked for; the browser's own errands have no origin."""
    text = log.read_text().rstrip().rstrip(",")
    try:
        events = json.loads(text)["events"]
    except json.JSONDecodeError:  # cut off when the browser was closed
        events = json.loads(text + "]}")["events"]
    starts = [event["params"] for event in events if "initiator" in (event.get("params") or {})]
    return {start["url"] for start in starts if start["initiator"] != "not an origin"}


def fits_a_phone(browser, page):
    """The main figure of every run is on the screen, whatever the run is called."""
    for dark in (False, True):
        browser.screen(390, 844, dark=dark, phone=True)
        browser.open(page)
        assert browser.run("document.documentElement.scrollWidth") <= 390, "it must not scroll sideways"
        ends = browser.run("[...document.querySelectorAll('table')].find(t => t.textContent.includes('test NLL'))"
                           ".querySelectorAll('tbody tr td:nth-child(2)').values()"
                           ".map(c => c.getBoundingClientRect().right).toArray()")
        assert ends and max(ends) <= 390, ends
        assert not browser.complaints, browser.complaints


def reloads_while_it_trains(browser, program, folder):
    """Nobody touches the browser: the page of a run under way shows one epoch after the other, and then rests."""
    run = folder / "living"
    settings = [word for setting in SMALL for word in ("--set", setting)]
    trains = subprocess.Popen([program, "train", "--quiet", *settings, "--set", "train.epochs=100000", "--report",
                               "--out", run])
    try:
        page = run / "report.html"
        end = time.monotonic() + 120
        while not page.exists():
            assert time.monotonic() < end and trains.poll() is None, "no page"
            time.sleep(0.05)
        browser.screen(1280, 900)
        browser.open(page)
        done = "Number(/In training: (\\d+) of/.exec(document.body?.textContent)?.[1] ?? -1)"
        first = browser.run(done)
        assert first >= 0, "it must say that the run is in training"
        for _ in range(2):
            browser.wait_for(f"document.readyState === 'complete' && {done} > {first}")
            first = browser.run(done)
        trains.terminate()
        assert trains.wait(120) == 3
        browser.wait_for("document.readyState === 'complete' && document.querySelector('svg.chart') && "
                         f"!document.querySelector('meta[http-equiv=refresh]') && {done} < 0")
        assert not browser.complaints, browser.complaints
        assert all(url == page.as_uri() or url.startswith("data:") for url in browser.asked), browser.asked
    finally:
        if trains.poll() is None:
            trains.kill()


def main():
    program, chromium = sys.argv[1], tab.find()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        settings = [word for setting in SMALL for word in ("--set", setting)]
        runs = [folder / "g3", folder / HOSTILE]
        for run, estimator in zip(runs, ("G3", "G5")):
            subprocess.run([program, "train", "--quiet", *settings, "--set", f"train.estimator={estimator}",
                            "--out", run], check=True)
        page = folder / "page.html"
        subprocess.run([program, "report", *runs, "--out", page], check=True)

        control = folder / "control.html"
        control.write_text('<img src="http://127.0.0.1:9/asked.png">')
        _, asked = opened(chromium, folder, control, "--dump-dom")
        assert asked == {"http://127.0.0.1:9/asked.png"}, f"a request must not go unseen: {asked}"
        document, asked = opened(chromium, folder, page, "--dump-dom")
        assert not asked, asked
        seen = Page(document)
        assert seen.charts == TITLES, seen.charts
        assert seen.pictures == 2 and seen.bold == 0, (seen.pictures, seen.bold)
        assert HOSTILE in "".join(seen.text), "the run's name must be shown as it is"

        for width in (400, 1280):
            picture = folder / f"{width}.png"
            opened(chromium, folder, page, f"--screenshot={picture}", f"--window-size={width},3000")
            data = picture.read_bytes()
            assert struct.unpack(">II", data[16:24]) == (width, 3000)
            assert len(data) > 30_000, "an empty page packs better than that"

        long_names = [folder / ("a-name-as-sweeps-give-them-train.estimator=G3_seed=" + str(k)) for k in (1, 2)]
        for seed, run in enumerate(long_names):
            subprocess.run([program, "train", "--quiet", *settings, "--set", f"seed={seed}", "--set",
                            f"train.learning_rate=0.0{seed + 1}", "--out", run], check=True)
        subprocess.run([program, "report", *long_names, "--out", page], check=True)
        with tab.Browser(folder / "tab") as browser:
            fits_a_phone(browser, page)
            reloads_while_it_trains(browser, program, folder)


main()
