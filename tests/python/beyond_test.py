"""The experiments of bench/beyond: what is measured, how settings are chosen, and that the page says what the results say.
The harness itself, which bench/paper shares, is tested by paper_test.py.

usage: beyond_test.py SFNN
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BEYOND = pathlib.Path(__file__).resolve().parents[2] / "bench" / "beyond"
sys.path.insert(0, str(BEYOND))

import beyond  # noqa: E402  # first: it knows where the others are
import document  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402
from experiments import Job, load  # noqa: E402
from results import Results, append_line, read_lines  # noqa: E402

RATES, EXPERIMENTS = load(beyond.SUITE.list)
COMMITTED = Results(BEYOND, RATES)
MOST_SECONDS = 3600  # of one core

LIST = """
rates = [0.003, 0.01]
[toy]
title = "A toy"
config = "bench/paper/configs/mnist-halves.toml"
figures = { test_nll = "by P", test_nll_proposal = "by R", test_nll_proposal_30 = "by 30 draws of R" }
chosen_by = "valid_nll_proposal"
valid = 50
epochs = 300
short_epochs = 2
searches_whole = false
draws = 30
[toy.rows.r]
name = "R"
set = { "data.set" = "glyphs", "data.limit" = 300, "data.test_limit" = 50, "net.hidden" = "6n+12d", "train.particles" = 4, "proposal.on" = true, "eval.particles" = 3 }
start = 0.01
seeds = 2
"""


def experiment(name):
    return next(e for e in EXPERIMENTS if e.id == name)


class TheList(unittest.TestCase):
    def test_rates_are_chosen_by_validation_and_by_the_figure_of_the_row(self):
        for row in EXPERIMENTS:
            self.assertIn(row.start, RATES)
            has_R = row.table.key != "halves"
            self.assertEqual(row.chosen_by, "valid_nll_proposal" if has_R else "valid_nll", row.id)
            search = Job(row, row.start, row.rounds[-1], search=True)
            self.assertEqual((search.settings["data.valid"], search.settings["data.test_limit"]), (10000, 1))
            self.assertEqual(Job(row, row.start, row.epochs).settings["data.valid"], 0)
            self.assertEqual(row.rounds, (row.table.short_epochs,))

    def test_has_three_seeds_of_whatever_a_headline_may_show(self):
        for headline in document.HEADLINES:
            for name in headline.rows:
                self.assertEqual(experiment(name).seeds, 3)

    def test_networks_are_no_larger_than_the_headlines_say(self):
        for name in document.HEADLINES[0].rows + document.HEADLINES[2].rows:
            layers = experiment(name).settings.get("net.hidden", "200s,200s").split(",")
            self.assertLessEqual(len(layers), 3)
            for layer in layers:
                self.assertLessEqual(sum(int(part[:-1]) for part in layer.split("+")), 240)


class TheResults(unittest.TestCase):
    def test_committed_ones_are_of_jobs_of_today_and_within_an_hour_of_one_core(self):
        for path in (*(BEYOND / "results").glob("*.jsonl"), *(BEYOND / "search").glob("*.jsonl")):
            search = path.parent.name == "search"
            for line in read_lines(path):
                row = experiment(line["experiment"])
                job = Job(row, line["learning_rate"], line["epochs"], line["seed"], search)
                self.assertEqual(line["config_sha256"], job.config_sha256)
                if not search:
                    self.assertIn(line, COMMITTED.of(row))
                    self.assertLess(line["core_seconds"] or 0, MOST_SECONDS)
                    self.assertEqual([key for key in row.table.figures if line[key] is None], [])


class TheDocument(unittest.TestCase):
    def test_says_what_the_results_say(self):
        self.assertEqual(document.DOCUMENT.read_text(), document.text(EXPERIMENTS, COMMITTED),
                         "docs/beyond.md is not that of the results: ./run beyond --document writes it")
        self.assertEqual(document.SUMMARY.findall(document.OVERVIEW.read_text()), [document.summary(EXPERIMENTS, COMMITTED)],
                         "nor is the table of README.md")

    def test_the_test_has_no_say_in_what_a_headline_shows(self):
        headline = document.Headline("", ("halves/d2", "halves/d3", "halves/g3"), "test_nll", "", 48.0)
        valid = {"d2": 52.0, "d3": 51.0}  # g3 has not been searched
        test = {"d2": [{"test_nll": 40.0}], "d3": [{"test_nll": 47.0}, {"test_nll": 47.2}], "g3": [{"test_nll": 30.0}]}
        made_up = unittest.mock.Mock(
            rate=lambda row: (0.1, []) if row.key in valid else (None, []),
            tried=lambda row: {(0.1, 5): valid[row.key]}, of=lambda row: test[row.key])
        cells = document.headline_cells(headline, EXPERIMENTS, made_up)
        self.assertEqual(cells, [experiment("halves/d3").name, "47.10 ± 0.28, 2 seeds", "yes"])
        test["d3"] = [{"test_nll": 48.5}]
        self.assertEqual(document.headline_cells(headline, EXPERIMENTS, made_up)[1:], ["48.50, 1 seed", "**no**, one seed"])
        test["d3"] = []
        self.assertEqual(document.headline_cells(headline, EXPERIMENTS, made_up)[1:], ["not run yet", ""])

    def test_names_what_is_missing(self):
        made_up = unittest.mock.Mock(of=lambda row: [{}] * (1 if row.id == "generate/s2" else row.seeds))
        self.assertEqual(document.missing_list(EXPERIMENTS, made_up), "Still to be run:\n\n- generate/s2: 1 of 3 seeds")

    def test_shows_every_estimator_at_every_point(self):
        def line(estimator, epoch, bias):
            return {"weights": "V", "estimator": estimator, "epoch": epoch, "bias": bias, "variance": 2.5, "cosine": 0.125,
                    "seconds_per_draw": 0.001 * epoch}

        lines = [line("G3", 1, 0.5), line("G3", 5, None), line("darn", 1, 0.25), line("darn", 5, 4.0)]
        with unittest.mock.patch.object(figures, "microscope", lambda: lines):
            shown = document.microscope_tables().splitlines()
        self.assertEqual(shown[2], "|  | epoch 1 | epoch 5 | ms per draw |")
        self.assertEqual(shown[4:], ["| G3 | 0.5 / 2.5 / 0.12 | ? / 2.5 / 0.12 | 1.0 |", "| darn | 0.25 / 2.5 / 0.12 | 4 / 2.5 / 0.12 | 1.0 |"])


class ARun(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "list.toml").write_text(LIST)

    def test_is_searched_short_trained_whole_and_tested_twice(self):
        result = subprocess.run([sys.executable, BEYOND / "beyond.py", "--sfnn", sys.argv[1], "--runs", self.folder / "runs",
                                 "--experiments", self.folder / "list.toml", "--results", self.folder],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        searches = read_lines(self.folder / "search" / "toy.jsonl")
        self.assertEqual({(line["learning_rate"], line["epochs"]) for line in searches}, {(0.01, 2), (0.003, 2)})
        runs = read_lines(self.folder / "results" / "toy.jsonl")
        self.assertEqual(sorted(run["seed"] for run in runs), [1, 2])
        best = min(searches, key=lambda line: line["valid_nll_proposal"])
        for run in runs:
            self.assertEqual((run["learning_rate"], run["epochs"]), (best["learning_rate"], 300))
            # More draws are a tighter bound: 30 at the end against the 3 of the run's own test.
            self.assertLess(run["test_nll_proposal_30"], run["test_nll_proposal"])
            self.assertGreater(run["core_seconds"], 0)
        self.assertIn("by 30 draws of R", result.stdout)

    def test_the_cost_is_that_of_all_sessions_or_unknown(self):
        running = harness.Running.__new__(harness.Running)
        running.out = self.folder
        append_line(self.folder / "sessions.jsonl", {"version": "9"})
        append_line(self.folder / "cost.jsonl", {"core_seconds": 1.25})
        self.assertEqual(running.core_seconds(), 1.2)
        append_line(self.folder / "sessions.jsonl", {"version": "9"})  # and its harness was killed
        self.assertIsNone(running.core_seconds())
        append_line(self.folder / "cost.jsonl", {"core_seconds": 2})
        self.assertEqual(running.core_seconds(), 3.2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
