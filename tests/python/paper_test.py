"""The harness of bench/paper: what it decides to run, and that the document says what the results say.

usage: paper_test.py SFNN
"""

import csv
import dataclasses
import io
import itertools
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

PAPER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "paper"
sys.path.insert(0, str(PAPER))

import paper  # noqa: E402  # first: it knows where the others are
import document  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402
import pictures  # noqa: E402
import tables  # noqa: E402
from experiments import Job, Search, load  # noqa: E402
from results import Results, append_line, read_lines  # noqa: E402

RATES, EXPERIMENTS = load(paper.SUITE.list)
COMMITTED = Results(PAPER, RATES)
TABLE1 = {"g3-m1", "g3-m20", "g4-m20", "g5-m20", "a", "b", "c-m20", "d-m1", "d-m20"}


LIST = """
rates = [0.01, 0.03, 0.1]
[toy]
title = "A toy"
config = "bench/paper/configs/mnist-halves.toml"
figures = { test_nll = "test NLL" }
chosen_by = "valid_nll"
valid = 50
epochs = 20
short_epochs = 2
[toy.rows.g3]
name = "G3"
set = { %s "data.set" = "glyphs", "data.limit" = 300, "data.test_limit" = 50, "net.hidden" = "20s,10s" }
start = 0.03
paper = { test_nll = [50] }
[toy.rows.a]
name = "A"
set = { %s "data.set" = "glyphs", "data.limit" = 300, "data.test_limit" = 50, "net.hidden" = "20d,10d" }
start = 0.03
paper = { test_nll = [50] }
"""

# An sfnn that trains nothing: it writes down when it ran and how it was called, and what it finds depends on the rate.
# train.momentum is its exit code, data.limit what it says; with "once" it finds its folder in use, the first time.
STUB = """#!{python}
import json, pathlib, sys, time
arguments = sys.argv[1:]
values = dict(a.split("=", 1) for a in arguments if "=" in a)
out = pathlib.Path(arguments[arguments.index("--out") + 1])
begin = time.time()
time.sleep(0.3)
figure = 50 + abs(float(values["train.learning_rate"]) - 0.03) + 0.25 * (int(values["seed"]) - 1)
line = dict(epoch=int(values["train.epochs"]), seconds=1, valid_nll=figure, test_nll=figure)
(out / "metrics.jsonl").write_text(json.dumps(line) + "\\n")
(out / "sessions.jsonl").write_text(json.dumps(dict(version="9", device="stub")) + "\\n")
is_first = not (pathlib.Path(__file__).parent / "calls.jsonl").exists()
with open(pathlib.Path(__file__).parent / "calls.jsonl", "a") as calls:
    calls.write(json.dumps(dict(values=values, begin=begin, end=time.time())) + "\\n")
if values.get("train.momentum") == "once":
    if is_first: print("runs/toy is in use by process 1")
    sys.exit(2 if is_first else 0)
print(values.get("data.limit", "").replace("-", " "))
sys.exit(int(values.get("train.momentum", 0)))
"""


def rows(table):
    return {e.key for e in EXPERIMENTS if e.table.key == table}


def hear_ctrl_c():
    """As at a terminal, also where these tests run in the background of a shell, which ignores it for them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def experiment(name):
    return next(e for e in EXPERIMENTS if e.id == name)


class TheList(unittest.TestCase):
    def test_has_every_row_of_the_paper(self):
        self.assertEqual(rows("table1"), TABLE1)
        self.assertEqual(rows("faces"), TABLE1)
        self.assertEqual(rows("tfd"), TABLE1)
        self.assertEqual(rows("table2"), TABLE1 | {"g1-m1", "g1-m20", "g2-m1", "g2-m20"})
        self.assertEqual(RATES, [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])

    def test_searches_begin_on_the_grid(self):
        for row in EXPERIMENTS:
            self.assertIn(row.start, RATES)

    def test_runs_three_seeds_of_the_papers_rows_unless_it_says_otherwise(self):
        for row in EXPERIMENTS:
            self.assertGreaterEqual(row.seeds, 3 if row.table.key in ("table1", "table2") else 1)
        self.assertEqual(experiment("table1/g3-m20").seeds, 3)
        self.assertEqual(experiment("table1/g3-m1").seeds, 10)
        self.assertEqual(experiment("choices/a-anew").seeds, 1)

    def test_what_is_run(self):
        def ids(only=(), quick=False):
            return {row.id for row in harness.chosen(paper.SUITE, EXPERIMENTS, only, quick)}

        def of_tables(*tables):
            return {f"{table}/{row}" for table in tables for row in rows(table)}

        own = of_tables("table1", "table2", "faces")
        self.assertEqual(ids(), own | of_tables("choices", "class-choices"))  # tfd must be asked for
        self.assertEqual(ids(quick=True), own)
        self.assertEqual(ids(["tfd", "table1/a"]), of_tables("tfd") | {"table1/a"})

    def test_a_search_does_not_look_at_the_test_examples(self):
        job = Job(experiment("table1/g3-m20"), 0.1, 5, search=True)
        self.assertEqual((job.settings["data.valid"], job.settings["data.test_limit"]), (10000, 1))
        self.assertEqual(Job(experiment("table1/g3-m20"), 0.1, 50).settings["data.valid"], 0)


class TheSearch(unittest.TestCase):
    """On a made-up curve: the figure of a rate is how far its index is from the best one's."""

    def search(self, short_best, long_best, diverges_from=99):
        known, ran = {}, []
        while True:
            rate, jobs = Search(RATES, experiment("table1/g3-m20"), known).outcome()
            if rate is not None or not jobs:
                return rate and RATES.index(rate), ran
            for job in jobs:
                index = RATES.index(job.rate)
                best = short_best if job.epochs == 5 else long_best
                self.assertNotIn((job.rate, job.epochs), known)
                self.assertTrue(job.search)
                known[job.rate, job.epochs] = float("inf") if index >= diverges_from else abs(index - best)
                ran.append((index, job.epochs))

    def test_finds_the_best_of_whole_runs(self):
        for short in range(9):
            for whole in range(9):
                self.assertEqual(self.search(short, whole)[0], whole)

    def test_tries_no_more_than_it_must(self):
        _, ran = self.search(6, 6)  # it begins at 6
        self.assertEqual(sorted(ran), [(5, 5), (5, 50), (6, 5), (6, 50), (7, 5), (7, 50)])

    def test_walks_away_from_rates_that_diverge(self):
        best, ran = self.search(8, 8, diverges_from=4)
        self.assertEqual(best, 3)
        self.assertEqual(sorted(ran), [(2, 5), (2, 50), (3, 5), (3, 50), (4, 5), (5, 5), (6, 5)])

    def test_ends_where_no_rate_trains(self):
        best, ran = self.search(3, 3, diverges_from=0)
        self.assertIsNone(best)
        self.assertEqual(sorted(ran), [(index, 5) for index in range(7)])


class TheResults(unittest.TestCase):
    def test_a_line_cut_off_by_a_kill_is_passed_over_and_the_next_stands_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines.jsonl"
            append_line(path, {"a": 1})
            with open(path, "a") as file:
                file.write('{"a": ')
            append_line(path, {"a": 2})
            self.assertEqual(read_lines(path), [{"a": 1}, {"a": 2}])

    def test_committed_ones_have_what_readers_need_and_are_of_jobs_of_today(self):
        names = {e.id: e for e in EXPERIMENTS}
        for path in (*(PAPER / "results").glob("*.jsonl"), *(PAPER / "search").glob("*.jsonl")):
            search = path.parent.name == "search"
            for line in read_lines(path):
                row = names[line["experiment"]]
                found = [row.chosen_by] if search else [*row.table.figures, "version", "device"]
                for key in ("seed", "learning_rate", "epochs", *found):
                    self.assertIn(key, line)
                job = Job(row, line["learning_rate"], line["epochs"], line["seed"], search)
                self.assertEqual(line["config_sha256"], job.config_sha256)
                if not search:
                    self.assertIn(line, COMMITTED.of(row))

    def test_count_only_where_rate_and_config_are_those_of_today(self):
        row = experiment("table1/g3-m20")
        with tempfile.TemporaryDirectory() as folder:
            results = Results(folder, RATES)

            def run(figure, row=row, rate=0.1, seed=1, search=False, epochs=50):
                job = Job(row, rate, epochs, seed, search)
                results.add(job, {"experiment": job.experiment.id, "seed": seed, "learning_rate": rate, "epochs": epochs,
                                  "config_sha256": job.config_sha256, "valid_nll": figure, "test_nll": figure})

            for epochs in (5, 50):
                for rate, figure in ((0.03, 3), (0.1, 2), (0.3, 3)):
                    run(figure, rate=rate, search=True, epochs=epochs)
            run(59, seed=1)
            run(60, seed=1)  # the newest of a seed counts
            run(61, seed=2)
            run(50, rate=0.03, seed=1)
            run(70, row=dataclasses.replace(row, settings={"train.momentum": 0.5}), seed=2)
            for known in (results, Results(folder, RATES)):  # as added, and as read from the files
                self.assertEqual([line["test_nll"] for line in known.of(row)], [60, 61])
                self.assertEqual(known.rate(row), (0.1, []))
            run(1, rate=0.03, search=True)
            self.assertEqual(results.rate(row)[0], None)  # 0.01 must be tried now
            self.assertEqual(results.of(row), [])


class TheDocument(unittest.TestCase):
    def test_says_what_the_results_say(self):
        self.assertEqual(document.DOCUMENT.read_text(), document.text(EXPERIMENTS, COMMITTED),
                         "docs/reproduction.md is not that of the results: ./run paper --document writes it")
        self.assertEqual(document.SUMMARY.findall(document.OVERVIEW.read_text()), [document.summary(EXPERIMENTS, COMMITTED)],
                         "nor is the summary of docs/networks.md")

    def test_shows_mean_and_two_standard_deviations(self):
        self.assertEqual(tables.with_margin("test_nll", [53.0, 54.0, 56.5]), "54.50 ± 3.61")
        self.assertEqual(tables.with_margin("test_error", [0.0142]), "1.42 %")

    def test_judges_by_the_papers_margin_and_our_standard_error(self):
        runs = [{"test_nll": 53.8}, {"test_nll": 54.0}]  # 53.9, standard error 0.1
        self.assertEqual(document.as_good("test_nll", runs, [53.8, 0.4]), "yes")
        self.assertEqual(document.as_good("test_nll", runs, [53.8, 0.2]), "yes, within the noise")
        self.assertEqual(document.as_good("test_nll", runs, [53.8]), "**no**, within the noise")
        self.assertEqual(document.as_good("test_nll", runs, [53.6]), "**no**")
        self.assertEqual(document.as_good("test_nll", runs[1:], [53.8]), "**no**, one seed")

    def test_says_of_the_closest_pair_whether_a_claim_holds(self):
        values = {"g3-m1": [60.0, 60.2], "g3-m20": [53.4, 53.6], "g4-m20": [59.5, 59.7], "g5-m20": [59.4, 59.7],
                  "a": [67.0, 67.2], "b": [57.0, 57.2], "c-m20": [53.0, 53.1], "d-m1": [66.0, 66.2], "d-m20": [51.0]}
        made_up = unittest.mock.Mock(of=lambda row: [{"test_nll": value} for value in values[row.key]])
        lines = document.claims_table("table1", EXPERIMENTS, made_up).splitlines()[2:]
        self.assertIn("| G3, M = 20: 53.50 against hybrid (C), M = 20: 53.05 | **does not hold** |", lines[0])
        self.assertIn("| G3, M = 20: 53.50 against G3, M = 1: 60.10 | holds |", lines[1])
        self.assertIn("| G5, M = 20: 59.55 against G4, M = 20: 59.60 | holds, within the noise |", lines[2])
        self.assertIn("51.00 against hybrid (C), M = 20: 53.05 | holds, one seed |", lines[3])
        values["d-m1"] = []
        self.assertIn("| not run yet |", document.claims_table("table1", EXPERIMENTS, made_up).splitlines()[-1])

    def test_replaces_the_summary_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            page, overview = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "networks.md"
            overview.write_text("before\n<!-- by ./run paper -->\n\nold\n\n<!-- to here -->\nafter\n")
            with unittest.mock.patch.multiple(document, DOCUMENT=page, OVERVIEW=overview):
                document.write(EXPERIMENTS, COMMITTED)
            table = document.summary(EXPERIMENTS, COMMITTED)
            self.assertEqual(overview.read_text(),
                             f"before\n<!-- by ./run paper -->\n\n{table}\n\n<!-- to here -->\nafter\n")
            self.assertIn("# The paper, reproduced", page.read_text())
            self.assertEqual(len(list(page.parent.iterdir())), 2)
        halves, classes = (tables.ours(figure, COMMITTED.of(experiment(f"{name}/a")))
                           for name, figure in (("table1", "test_nll"), ("table2", "test_error")))
        self.assertIn(f"| deterministic (A) | {halves} | 68.4 ± 0.1 | {classes} | 1.51 % |", table)

    def test_shows_a_choice_beside_the_row_it_changes(self):
        lines = document.figures_table("choices", EXPERIMENTS, COMMITTED).splitlines()
        self.assertIn("| row | changed | test NLL | as chosen |", lines[0])
        row = experiment("choices/a-anew")
        self.assertEqual(row.settings, {"net.hidden": "200d,200d", "data.binarize": "epoch"})
        ours = tables.with_margin("test_nll", [run["test_nll"] for run in COMMITTED.of(row.of)])
        self.assertIn(f"| {row.of.name} | {row.name} |", lines[2])
        self.assertIn(f"| {ours} |", lines[2])

    def test_figures_are_of_the_runs_that_the_tables_show(self):
        for row in figures.CURVES:
            with open(figures.MEASURED / f"curve-{row}.csv") as file:
                last = list(csv.DictReader(file))[-1]
            self.assertEqual(last["M"], "100")
            self.assertAlmostEqual(-float(last["C_hat"]), COMMITTED.of(experiment(f"table1/{row}"))[0]["test_nll"], 4)
            self.assertEqual(figures.curve(row)[-1], (100, -float(last["C_hat"])))
        norms = read_lines(figures.MEASURED / "norms.jsonl")
        self.assertEqual({line["epoch"] for line in norms}, set(figures.NORM_EPOCHS))
        least = [min((line["norm"], line["cM"]) for line in norms if line["epoch"] == epoch) for epoch in (1, 7, 50)]
        self.assertEqual([cM for _, cM in least], [1, 1, 1])  # as the page says
        self.assertEqual(least, sorted(least, reverse=True))
        sources = json.loads(figures.SOURCES.read_text())
        for made in figures.MADE:
            self.assertEqual(sources[made.path.name], COMMITTED.job(made.experiment(EXPERIMENTS), 1).config_sha256)

    def test_a_figure_that_cannot_be_made_is_told_and_leaves_the_old_one(self):
        made = pictures.Made(figures.MEASURED / "curve-g3-m20.csv", "table1/g3-m20", "eval {run} --curve")
        before = made.path.read_bytes(), figures.SOURCES.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            latest = pathlib.Path(folder) / COMMITTED.job(experiment(made.row), 1).directory / "checkpoints" / "latest"
            latest.parent.mkdir(parents=True)
            latest.touch()
            with unittest.mock.patch.object(figures, "MADE", [made]), \
                    unittest.mock.patch.object(pictures.json, "loads", lambda _: {}):  # made of no run that is known
                options = unittest.mock.Mock(sfnn="false", runs=pathlib.Path(folder))
                failure, = pictures.measure(figures, options, EXPERIMENTS, COMMITTED, lambda _: None)
        self.assertEqual(failure, ("curve-g3-m20.csv", 1, ""))
        self.assertEqual((made.path.read_bytes(), figures.SOURCES.read_bytes()), before)

    def test_theorem_1(self):
        for p, q, M in itertools.product((0.0, 0.25, 0.5, 1.0), (0.5, 0.7), (1, 2, 5)):
            expected = 0.0  # over all y and h^1, ..., h^M
            for y, *h in itertools.product((0, 1), repeat=M + 1):
                chance = (q if y else 1 - q) * math.prod(p if bit else 1 - p for bit in h)
                expected += chance * math.log(sum(0.9 if bit == y else 0.1 for bit in h) / M)
            self.assertAlmostEqual(document.criterion(p, q, M), expected)
            self.assertAlmostEqual(document.criterion(p, q, 500), document.limit(p, q), 2)
        self.assertIn("| 0.5 | **-1.2040** | **-0.9486** |", document.theorem1(0.5))
        self.assertIn("| **-0.6931** |", document.theorem1(0.5))
        one_particle = [line.split(" | ")[1] for line in document.theorem1(0.7).splitlines()[2:]]
        self.assertEqual(["**" in cell for cell in one_particle], 4 * [False] + [True])  # a deterministic h


class TheCommand(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.stub = self.folder / "sfnn"
        self.stub.write_text(STUB.format(python=sys.executable))
        self.stub.chmod(0o755)
        self.write_list()

    def write_list(self, g3="", a=""):
        (self.folder / "list.toml").write_text(LIST % (g3, a))

    def command(self, sfnn, *arguments):
        return [sys.executable, PAPER / "paper.py", "--sfnn", sfnn, "--runs", self.folder / "runs",
                "--experiments", self.folder / "list.toml", "--results", self.folder, *arguments]

    def paper(self, *arguments, sfnn=None, **environment):
        return subprocess.run(self.command(sfnn or self.stub, *arguments), capture_output=True, text=True, timeout=120,
                              env=os.environ | environment)

    def calls(self):
        return read_lines(self.folder / "calls.jsonl")

    def runs(self):
        return read_lines(self.folder / "results" / "toy.jsonl")

    def checkpoints(self):
        return {path.name for path in self.folder.glob("runs/**/step-*.safetensors")}

    def test_names_the_rows_there_are_when_asked_for_another(self):
        result = self.paper("--only", "toy/g9")
        self.assertEqual(result.returncode, 2)
        self.assertIn("toy/g3, toy/a", result.stderr)

    def test_searches_then_runs_every_seed_two_at_a_time_and_nothing_twice(self):
        result = self.paper("--seeds=2", "--jobs=2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted((run["experiment"], run["seed"], run["learning_rate"]) for run in self.runs()),
                         [("toy/a", 1, 0.03), ("toy/a", 2, 0.03), ("toy/g3", 1, 0.03), ("toy/g3", 2, 0.03)])
        self.assertEqual({(run["test_nll"], run["version"], run["device"]) for run in self.runs()},
                         {(50, "9", "stub"), (50.25, "9", "stub")})
        self.assertIn("| G3 | 50.12 ± 0.35 |", result.stdout)
        self.assertEqual(len(self.calls()), 2 * (3 + 3 + 2))  # short and whole ones at three rates, two seeds
        begins, ends = ([call[key] for call in self.calls()] for key in ("begin", "end"))
        together = [sum(b <= begin < e for b, e in zip(begins, ends)) for begin in begins]
        self.assertEqual(max(together), 2)
        self.assertEqual(list(self.folder.glob("runs/**/search-*")), [])
        self.assertEqual(self.paper("--seeds=2").stdout, result.stdout)
        self.assertEqual(len(self.calls()), 16)

    def test_quick_runs_what_is_asked_for_once_and_short(self):
        result = self.paper("--quick", "--only", "toy/a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([(run["experiment"], run["seed"], run["epochs"]) for run in self.runs()], [("toy/a", 1, 2)])
        self.assertIn("A toy, 2 epochs", result.stdout)

    def test_a_config_that_has_changed_is_run_anew(self):
        self.paper("--quick")
        self.write_list(a='"train.batch" = 50,')
        self.paper("--quick")
        self.assertEqual([call["values"].get("train.batch") for call in self.calls()][2:], ["50"])

    def test_goes_on_with_the_others_where_one_fails_and_says_so(self):
        self.write_list(g3='"train.momentum" = 1,')
        result = self.paper("--quick")
        self.assertEqual(result.returncode, 1)
        self.assertIn("toy/g3 rate 0.03, 2 epochs, seed 1: sfnn ended with 1: 300", result.stderr)
        self.assertEqual([run["experiment"] for run in self.runs()], ["toy/a"])

    def test_refuses_what_another_is_at_work_on_and_lists_that_would_mix_with_ours(self):
        self.begin_long_run()
        result = self.paper()
        self.assertEqual(result.returncode, 2)
        self.assertIn("another ./run paper is at work", result.stderr)
        for folder in (PAPER, os.path.relpath(PAPER)):
            result = self.paper("--results", folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn("another list needs another folder", result.stderr)

    def test_refuses_bad_input_in_a_sentence(self):
        (self.folder / "broken.toml").write_text("rates = [")
        for arguments, said in ((("--experiments", self.folder / "none.toml"), "none.toml: No such file"),
                                (("--experiments", self.folder / "broken.toml"), "broken.toml: Invalid"),
                                (("--results", self.stub), "File exists"),
                                (("--seeds", "0"), "at least 1"),
                                (("--quick", "--seeds", "2"), "--quick runs one seed")):
            result = self.paper(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr.splitlines()[-1])

    def test_passes_over_a_table_whose_data_are_not_there(self):
        text = (self.folder / "list.toml").read_text().replace("glyphs", "faces/att")
        (self.folder / "list.toml").write_text(text)
        nowhere = str(self.folder / "nowhere")
        result = self.paper("--jobs=1", sfnn=sys.argv[1], SFNN_DATA=nowhere, HOME=nowhere)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("found no faces/att"), 1)
        self.assertEqual(len(list(self.folder.glob("runs/toy/*"))), 1)

    def test_says_what_runs_how_far_it_is_and_how_long_it_takes(self):
        row, options = experiment("table1/g3-m20"), unittest.mock.Mock(quick=True)
        shows = harness.Harness(paper.SUITE, options, [row], Results(self.folder, RATES, quick=True), publish=None)
        shows.running = [unittest.mock.Mock(job=Job(row, row.start, 5), share=lambda: 0.25, done_before=0.0)]
        shows.started -= 60
        with unittest.mock.patch("sys.stderr", io.StringIO()) as shown:
            shows.show()
        self.assertEqual(shown.getvalue(), "table1/g3-m20 rate 0.1, 5 epochs, seed 1 25 %; about 3 minutes left\n")

    def test_names_the_signal_that_killed_a_run(self):
        self.stub.write_text("#!/bin/sh\nkill -KILL $$\n")
        self.assertIn("sfnn was killed by SIGKILL", self.paper("--quick").stderr)

    def test_waits_for_a_run_that_another_program_has(self):
        self.write_list(a='"train.momentum" = "once",')
        result = self.paper("--quick", "--only", "toy/a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((len(self.calls()), len(self.runs())), (2, 1))

    def test_says_where_no_rate_trains(self):
        text = (self.folder / "list.toml").read_text().replace('"data.limit" = 300', '"data.limit" = "no-longer-finite"')
        (self.folder / "list.toml").write_text(text.replace("set = {", 'set = { "train.momentum" = 1,'))
        result = self.paper()
        self.assertEqual(result.returncode, 1)
        self.assertIn("paper: toy/g3: no rate trains\npaper: toy/a: no rate trains", result.stderr)
        self.assertEqual({call["values"]["train.learning_rate"] for call in self.calls()}, {"0.01", "0.03"})

    def test_writes_down_what_the_program_found(self):
        self.assertEqual(self.paper("--quick", sfnn=sys.argv[1]).returncode, 0)
        for run in self.runs():
            metrics, = self.folder.glob(f"runs/{run['experiment']}/*{run['config_sha256'][:8]}/metrics.jsonl")
            last = read_lines(metrics)[-1]
            self.assertEqual((run["test_nll"], run["epochs"]), (last["test_nll"], last["epoch"]))
            self.assertGreater(run["test_nll"], 1)

    def begin_long_run(self):
        """Two runs of the program that would last for hours, one of them some epochs on, in a session of its own."""
        self.write_list(*2 * ['"train.save_every" = 1000000,'])
        text = (self.folder / "list.toml").read_text()
        (self.folder / "list.toml").write_text(text.replace("short_epochs = 2", "short_epochs = 1000000"))
        harness = subprocess.Popen(self.command(sys.argv[1], "--quick", "--jobs=2"), start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=hear_ctrl_c)
        self.addCleanup(harness.wait)
        self.addCleanup(harness.terminate)
        self.wait_until(lambda: all(read_lines(run / "metrics.jsonl") for run in self.run_folders()))
        return harness

    def run_folders(self):
        folders = list(self.folder.glob("runs/toy/*/seed1-*"))
        return folders if len(folders) == 2 else [pathlib.Path("not yet")]

    def wait_until(self, is_so):
        deadline = time.monotonic() + 60  # a loaded machine may take long
        while not is_so() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(is_so())

    def both_have_saved(self):
        return len(list(self.folder.glob("runs/**/latest"))) == 2

    def both_are_resumed(self):
        return all(len(read_lines(run / "sessions.jsonl")) == 2 for run in self.run_folders())

    def test_every_run_saves_when_it_is_stopped(self):
        for number, to_all in ((signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGINT, True)):
            with self.subTest(signal=number.name):
                harness = self.begin_long_run()
                self.assertEqual(self.checkpoints(), set())
                # A terminal's Ctrl-C goes to the whole group: no run may take it for a second one, which ends it at once.
                (os.killpg if to_all else os.kill)(harness.pid, number)
                if to_all:  # again, while it saves or after
                    time.sleep(0.05)
                    os.killpg(harness.pid, number)
                self.assertEqual(harness.wait(timeout=60), 128 + number)
                self.assertTrue(self.both_have_saved())
                shutil.rmtree(self.folder / "runs")

    def test_a_killed_one_leaves_no_run_behind_and_the_next_goes_on(self):
        harness = self.begin_long_run()
        harness.kill()
        harness.wait()
        again = self.begin_long_run()
        self.wait_until(self.both_have_saved)
        self.wait_until(self.both_are_resumed)
        again.terminate()
        again.wait()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
