"""The lines that runs leave: JSON objects, one a line, appended as runs end."""

import json
import math
import os
import pathlib


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
    """What is known of all experiments: runs on all training examples, and searches for the rate."""

    def __init__(self, folder, quick=False):
        self.folder, self.quick = pathlib.Path(folder), quick
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
        figure = experiment.table.chosen_by
        return {
            (line["learning_rate"], line["epochs"]): math.inf if line[figure] is None else line[figure]
            for line in self.searches.get(experiment.table.key, [])
            if line["experiment"] == experiment.id
        }

    def of(self, experiment, rate=None):
        """Its runs, by seed, the newest of each; those of `rate` where one is given."""
        table = experiment.table
        epochs = table.short_epochs if self.quick else experiment.epochs
        runs = {
            line["seed"]: line
            for line in self.runs.get(table.key, [])
            if line["experiment"] == experiment.id
            and line["epochs"] == epochs
            and rate in (None, line["learning_rate"])
        }
        return [runs[seed] for seed in sorted(runs)]
