#!/usr/bin/env python3
"""Runs the experiments of the paper: what is missing of them, as many at a time as there are cores.

    ./run paper                          the learning rates, then a run of each row and seed, then the document
    ./run paper --quick                  all rows in a tenth of the epochs, one seed, at the rates where searches begin
    ./run paper --only table1/g3-m20     that row; may be repeated; a prefix such as table1 stands for its rows

Results are JSON lines below bench/paper/results, those of the searches below bench/paper/search. A run that was killed
goes on from its checkpoint, and one that is in the results is not run again.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import document
import figures
from experiments import HERE, ROOT, Job, Search, load
from results import Results, read_lines

FAILED, HOPELESS = 1, "train.learning_rate"  # how sfnn ends, and what it names, where a rate does not train


class Running:
    """A job and its process."""

    def __init__(self, job, sfnn, folder):
        self.job, self.out = job, folder / job.directory
        command = [sfnn, "train", *job.arguments().split(), "--out", self.out]
        command += ["--resume", "--threads", "1", "--device", "cpu", "--quiet"]
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / "log.txt", "w")
        self.done_before = self.share()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=ROOT)

    def share(self):
        """The part of the job that is done, 0 to 1."""
        lines = read_lines(self.out / "metrics.jsonl")
        return lines[-1]["epoch"] / self.job.epochs if lines else 0.0

    def line(self):
        """What goes into the results. A search's run that did not train has null for its figure."""
        job, table = self.job, self.job.experiment.table
        code = self.process.returncode
        self.log.close()
        message = (self.out / "log.txt").read_text().strip()
        if code != 0 and not (job.search and code == FAILED and HOPELESS in message):
            raise RuntimeError(f"{job.name}: sfnn ended with {code}: {message}")
        config = (self.out / "config.toml").read_bytes()
        line = {
            "experiment": job.experiment.id,
            "seed": job.seed,
            "learning_rate": job.rate,
            "epochs": job.epochs,
            "config_sha256": hashlib.sha256(config).hexdigest(),
        }
        figures = [table.chosen_by] if job.search else table.figures
        last = read_lines(self.out / "metrics.jsonl")[-1] if code == 0 else {}
        for figure in figures:
            line[figure] = last.get(figure)
        if code == 0:
            line["seconds"] = round(last["seconds"], 1)
        return line


class Harness:
    """Knows what is missing and runs it, `slots` jobs at a time."""

    def __init__(self, options, rates, experiments, results):
        self.options, self.rates, self.experiments, self.results = options, rates, experiments, results
        self.running, self.given_up = [], []
        self.started, self.cost_done = time.monotonic(), 0.0

    def missing(self):
        """The jobs that can be run now, the most wanted first: every row has its first seed before any its second."""
        jobs = []
        for experiment in self.experiments:
            if self.options.quick:
                wanted = [Job(experiment, experiment.start, experiment.table.short_epochs)]
            else:
                rate, wanted = Search(self.rates, experiment, self.results.tried(experiment)).outcome()
                if rate is not None:
                    seeds = range(1, self._seeds(experiment) + 1)
                    wanted = [Job(experiment, rate, experiment.epochs, seed) for seed in seeds]
            jobs += [job for job in wanted if job.search or not self._is_known(job)]
        return sorted(jobs, key=lambda job: job.seed)

    def _seeds(self, experiment):
        return self.options.seeds or experiment.table.seeds

    def _is_known(self, job):
        return job.seed in [run["seed"] for run in self.results.of(job.experiment, job.rate)]

    def run(self):
        while True:
            busy = [running.job for running in self.running]
            free = [job for job in self.missing() if job not in busy and job not in self.given_up]
            while free and len(self.running) < self.options.jobs:
                self.running.append(Running(free.pop(0), self.options.sfnn, self.options.runs))
            if not self.running:
                return
            self.wait_for_one()

    def wait_for_one(self):
        shown = 0.0
        while all(running.process.poll() is None for running in self.running):
            if time.monotonic() - shown > (2 if sys.stderr.isatty() else 300):
                self.show()
                shown = time.monotonic()
            time.sleep(0.2)
        for running in [r for r in self.running if r.process.returncode is not None]:
            self.running.remove(running)
            self.take(running)

    def take(self, running):
        job = running.job
        try:
            line = running.line()
        except RuntimeError as error:
            self.given_up.append(job)
            return say(f"paper: {error}")
        self.results.add(job, line)
        self.cost_done += job.cost * (1 - running.done_before)
        figures = {key: line[key] for key in line if key.startswith(("test_", "valid_"))}
        say(f"{job.name}: " + ", ".join(f"{key} {show_number(value)}" for key, value in figures.items()))
        if job.search:
            shutil.rmtree(running.out)

    def cost_left(self):
        """Of what is known to be missing. A search that has not ended counts for its runs and those after it."""
        cost = 0.0
        for job in self.missing():
            cost += job.cost
        if not self.options.quick:
            for experiment in self.experiments:
                rate, _ = Search(self.rates, experiment, self.results.tried(experiment)).outcome()
                if rate is None:
                    cost += self._seeds(experiment) * Job(experiment, experiment.start, experiment.epochs).cost
        return cost

    def show(self):
        done = self.cost_done + sum(r.job.cost * (r.share() - r.done_before) for r in self.running)
        left = self.cost_left() - sum(r.job.cost * r.share() for r in self.running)
        elapsed = time.monotonic() - self.started
        time_left = f"about {left * elapsed / done / 60:.0f} minutes left" if done > 0.2 else "time left unknown yet"
        parts = [f"{running.job.name} {100 * running.share():.0f} %" for running in self.running]
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{'; '.join(parts)}; {time_left}\033[K" if end == "\r" else f"{'; '.join(parts)}; {time_left}",
              end=end, file=sys.stderr, flush=True)

    def stop(self):
        """Every run saves its state."""
        for running in self.running:
            running.process.send_signal(signal.SIGTERM)
        for running in self.running:
            running.process.wait()


def say(text):
    clear = "\033[K" if sys.stderr.isatty() else ""
    print(f"{text}{clear}", file=sys.stderr, flush=True)


def show_number(value):
    return "not finite" if value is None else f"{value:.4g}"


def chosen(experiments, only, quick):
    """Those asked for. A quick look is at the paper's own rows, unless others are asked for."""
    if not only:
        return [e for e in experiments if not (quick and e.of)]
    picked = [e for e in experiments if any(e.id == name or e.table.key == name for name in only)]
    unknown = [name for name in only if not any(name in (e.id, e.table.key) for e in experiments)]
    if unknown:
        sys.exit(f"paper: no experiment {unknown[0]}; there are: {', '.join(e.id for e in experiments)}")
    return picked


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./run paper", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the epochs, one seed, no search")
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each row (3, of other choices 1)")
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="such as table1/g3-m20, or table1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="runs at a time (one a core)")
    parser.add_argument("--experiments", type=pathlib.Path, default=HERE / "experiments.toml", metavar="FILE",
                        help="another list of experiments")
    parser.add_argument("--results", type=pathlib.Path, default=HERE, metavar="FOLDER",
                        help="where its results are kept")
    parser.add_argument("--document", action="store_true", help="run nothing: write the document and figures anew")
    parser.add_argument("--sfnn", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if (options.seeds is not None and options.seeds < 1) or options.jobs < 1:
        parser.error("--seeds and --jobs must be at least 1")
    if options.quick and options.results == HERE:
        options.results = options.runs / "quick"
    return options


def main(arguments):
    options = parse(arguments)
    rates, experiments = load(options.experiments)
    picked = chosen(experiments, options.only, options.quick)
    results = Results(options.results, options.quick)
    harness = Harness(options, rates, picked, results)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if not options.document:
            harness.run()
    except KeyboardInterrupt:
        sys.exit("paper: stopped; the same command goes on")
    finally:
        harness.stop()
    if options.results == HERE:
        document.DOCUMENT.write_text(document.text(rates, experiments, results))
        say(f"wrote {document.DOCUMENT}")
        figures.measure(options.sfnn, options.runs, experiments, results)
        figures.draw()
    else:
        for table in dict.fromkeys(experiment.table for experiment in picked):
            epochs = table.short_epochs if options.quick else table.epochs
            print(f"{table.title}, {epochs} epochs\n\n{document.figures_table(table.key, picked, results)}\n")
    sys.exit(FAILED if harness.given_up else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
