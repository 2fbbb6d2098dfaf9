"""The lines that runs leave: JSON objects, one a line, appended as runs end."""

import dataclasses
import json
import math
import os
import pathlib

from experiments import Job, Search


def read_lines(path):
    """The objects of a file. A last line cut off by a kill is none."""
    if not path.exists():
        return []
    lines = []
    for line in path.read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return lines


def append_line(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with open(path, "a") as file:
        file.write(("\n" if cut_off else "") + json.dumps(values) + "\n")
        file.flush()
        os.fsync(file.fileno())


class Results:
    """What is known of all experiments: runs on all training examples, and searches for the rate.

    A line counts where its config is that of the job it would be today: who changes a config runs anew.
    """

    def __init__(self, folder, rates, quick=False):
        self.folder, self.rates, self.quick = pathlib.Path(folder), rates, quick
        self.runs, self.searches = {}, {}  # table to its lines
        for kind, lines in (("results", self.runs), ("search", self.searches)):
            for path in sorted((self.folder / kind).glob("*.jsonl")):
                lines[path.stem] = read_lines(path)

    def add(self, job, line):
        kind, lines = ("search", self.searches) if job.search else ("results", self.runs)
        table = job.experiment.table.key
        lines.setdefault(table, []).append(line)
        append_line(self.folder / kind / f"{table}.jsonl", line)

    def tried(self, experiment):
        """(rate, epochs) to the figure that chooses; inf where the run failed."""
        figure, tried = experiment.chosen_by, {}
        for line in self.searches.get(experiment.table.key, []):
            job = Job(experiment, line["learning_rate"], line["epochs"], search=True)
            if is_of(job, line):
                tried[job.rate, job.epochs] = math.inf if line[figure] is None else line[figure]
        return tried

    def rate(self, experiment):
        """(rate, jobs): the rate of its runs, or None and what must be run to choose one. Quick runs search none."""
        if self.quick:
            return experiment.start, []
        return Search(self.rates, experiment, self.tried(experiment)).outcome()

    def job(self, experiment, seed):
        """Its run of this seed, or None while its rate is not known."""
        rate, _ = self.rate(experiment)
        epochs = experiment.table.short_epochs if self.quick else experiment.epochs
        return None if rate is None else Job(experiment, rate, epochs, seed)

    def of(self, experiment):
        """Its runs at its rate, by seed, the newest of each."""
        first = self.job(experiment, 1)
        lines = self.runs.get(experiment.table.key, []) if first else []
        runs = {line["seed"]: line for line in lines if is_of(dataclasses.replace(first, seed=line["seed"]), line)}
        return [runs[seed] for seed in sorted(runs)]


def is_of(job, line):
    return line["experiment"] == job.experiment.id and line["config_sha256"] == job.config_sha256
