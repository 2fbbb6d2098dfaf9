"""The harness of bench/paper: what it decides to run, and that the document says what the results say.

usage: paper_test.py SFNN
"""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PAPER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "paper"
sys.path.insert(0, str(PAPER))

import document  # noqa: E402
from experiments import Search, load  # noqa: E402
from results import Results, append_line, read_lines  # noqa: E402

RATES, EXPERIMENTS = load()
TABLE1 = {"g3-m1", "g3-m20", "g4-m20", "g5-m20", "a", "b", "c-m20", "d-m1", "d-m20"}


SMALL = """
rates = [0.01, 0.03, 0.1]
[toy]
title = "A toy"
config = "mnist-halves.toml"
figures = { test_nll = "test NLL" }
chosen_by = "valid_nll"
valid = 50
epochs = 2
short_epochs = 1
[toy.rows.g3]
name = "G3"
set = { "data.set" = "glyphs", "data.limit" = 300, "data.test_limit" = 50, "net.hidden" = "20s,10s", "train.particles" = 4 }
start = 0.03
paper = { test_nll = [50] }
[toy.rows.a]
name = "A"
set = { "data.set" = "glyphs", "data.limit" = 300, "data.test_limit" = 50, "net.hidden" = "20d,10d" }
start = 0.03
paper = { test_nll = [50] }
"""


def rows(table):
    return {e.key for e in EXPERIMENTS if e.table.key == table}


class TheList(unittest.TestCase):
    def test_has_every_row_of_the_paper(self):
        self.assertEqual(rows("table1"), TABLE1)
        self.assertEqual(rows("faces"), TABLE1)
        self.assertEqual(rows("table2"), TABLE1 | {"g1-m1", "g1-m20", "g2-m1", "g2-m20"})
        self.assertEqual(RATES, [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])

    def test_searches_begin_on_the_grid(self):
        for experiment in EXPERIMENTS:
            self.assertIn(experiment.start, RATES)


    def test_runs_three_seeds_of_the_papers_rows_and_one_of_other_choices(self):
        for experiment in EXPERIMENTS:
            self.assertEqual(experiment.table.seeds, 1 if experiment.of else 3)


class TheSearch(unittest.TestCase):
    """On a made-up curve: the figure of a rate is how far its index is from the best one's."""

    def search(self, short_best, long_best, diverges_from=99):
        experiment = next(e for e in EXPERIMENTS if e.id == "table1/g3-m20")
        known, ran = {}, []
        while True:
            rate, jobs = Search(RATES, experiment, known).outcome()
            if rate is not None:
                return RATES.index(rate), ran
            self.assertTrue(jobs)
            for job in jobs:
                index = RATES.index(job.rate)
                best = short_best if job.epochs == 5 else long_best
                self.assertNotIn((job.rate, job.epochs), known)
                self.assertTrue(job.search)
                known[job.rate, job.epochs] = float("inf") if index >= diverges_from else abs(index - best)
                ran.append((index, job.epochs))

    def test_finds_the_best_of_whole_runs_at_or_below_that_of_short_ones(self):
        for short in range(9):
            for whole in range(short + 1):
                self.assertEqual(self.search(short, whole)[0], whole)

    def test_tries_no_more_than_it_must(self):
        _, ran = self.search(6, 6)  # it begins at 6
        self.assertEqual(sorted(ran), [(5, 5), (5, 50), (6, 5), (6, 50), (7, 5)])

    def test_walks_away_from_rates_that_diverge(self):
        self.assertEqual(self.search(3, 3, diverges_from=5)[0], 3)


class TheResults(unittest.TestCase):
    def test_a_line_cut_off_by_a_kill_is_passed_over_and_the_next_stands_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines.jsonl"
            append_line(path, {"a": 1})
            with open(path, "a") as file:
                file.write('{"a": ')
            append_line(path, {"a": 2})
            self.assertEqual(read_lines(path), [{"a": 1}, {"a": 2}])

    def test_committed_ones_have_what_readers_need(self):
        names = {e.id: e for e in EXPERIMENTS}
        for path in (PAPER / "results").glob("*.jsonl"):
            for line in read_lines(path):
                figures = names[line["experiment"]].table.figures
                for key in ("seed", "learning_rate", "epochs", "config_sha256", *figures):
                    self.assertIn(key, line)
                self.assertIn(line["learning_rate"], RATES)


class TheDocument(unittest.TestCase):
    def test_says_what_the_results_say(self):
        self.assertEqual(document.DOCUMENT.read_text(), document.text(RATES, EXPERIMENTS, Results(PAPER)),
                         "docs/reproduction.md is not that of the results: ./run paper --document writes it")

    def test_shows_mean_and_two_standard_deviations(self):
        self.assertEqual(document.with_margin("test_nll", [53.0, 54.0]), "53.50 ± 1.41")
        self.assertEqual(document.with_margin("test_error", [0.0142]), "1.42 %")

    def test_judges_by_the_papers_margin(self):
        run = [{"test_nll": 53.9}]
        self.assertTrue(document.is_reached("test_nll", run, [53.8, 0.2]))
        self.assertFalse(document.is_reached("test_nll", run, [53.8]))

    def test_shows_a_choice_beside_the_row_it_changes(self):
        lines = document.figures_table("choices", EXPERIMENTS, Results(PAPER)).splitlines()
        self.assertIn("| row | changed | test NLL | as chosen |", lines[0])
        row = next(e for e in EXPERIMENTS if e.id == "choices/a-anew")
        self.assertEqual(row.settings, {"net.hidden": "200d,200d", "data.binarize": "epoch"})
        ours = document.with_margin("test_nll", [run["test_nll"] for run in Results(PAPER).of(row.of)])
        self.assertIn(f"| {row.of.name} | {row.name} |", lines[2])
        self.assertIn(f"| {ours} |", lines[2])

    def test_theorem_1(self):
        table = document.theorem1()
        self.assertIn("| 0 | -1.2040 | -1.2040 |", table)
        self.assertIn("-0.6931 |", table.splitlines()[-1])


class TheCommand(unittest.TestCase):
    def paper(self, folder, *arguments):
        return subprocess.run([sys.executable, PAPER / "paper.py", "--sfnn", sys.argv[1], "--runs", folder, *arguments],
                              capture_output=True, text=True)

    def test_names_the_rows_there_are_when_asked_for_another(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.paper(folder, "--only", "table1/g9")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("table1/g3-m20", result.stderr)

    def test_goes_on_where_it_was_killed_and_runs_nothing_twice(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "list.toml").write_text(SMALL)
            arguments = [f"--experiments={folder}/list.toml", f"--results={folder}", "--seeds=2"]
            command = [sys.executable, PAPER / "paper.py", "--sfnn", sys.argv[1], "--runs", folder / "runs", *arguments]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
                while not read_lines(folder / "search" / "toy.jsonl"):
                    self.assertIsNone(first.poll())
                    time.sleep(0.01)
                first.kill()
            result = self.paper(folder / "runs", *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            runs, tried = read_lines(folder / "results" / "toy.jsonl"), read_lines(folder / "search" / "toy.jsonl")
            self.assertEqual(sorted((run["experiment"], run["seed"]) for run in runs),
                             [("toy/a", 1), ("toy/a", 2), ("toy/g3", 1), ("toy/g3", 2)])
            self.assertEqual(len({(line["experiment"], line["learning_rate"], line["epochs"]) for line in tried}), len(tried))
            self.assertIn("| G3 | ", result.stdout)
            again = self.paper(folder / "runs", *arguments)
            self.assertEqual(again.stdout, result.stdout)
            self.assertEqual(read_lines(folder / "results" / "toy.jsonl"), runs)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
