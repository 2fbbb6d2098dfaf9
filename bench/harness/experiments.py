"""What there is to run: the rows of experiments.toml, and the jobs that a row still needs, given what is known."""

import dataclasses
import functools
import hashlib
import json
import math
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    key: str  # table1
    title: str
    config: str  # a file, its path from the root of the repository
    figures: dict  # of a run: from the name in its line to the name in the document
    chosen_by: str  # the figure of the validation examples that chooses the rate, unless a row names another: lower is better
    valid: int  # examples set aside while the rate is chosen
    epochs: int
    short_epochs: int  # in the first round of the search, and in a quick run
    seeds: int = 3  # runs of each row that does not say otherwise
    searches_whole: bool = True  # the rate is chosen by whole runs after the short ones, not by the short ones alone
    draws: int = 0  # of one more test at the end of a run, if not 0
    other_data: str = ""  # what the paper had in place of our data
    on_request: bool = False  # run only if asked for by name: not everyone has the data
    claims: tuple = ()  # of the paper: a sentence, and the rows that are better and worse


@dataclasses.dataclass(frozen=True)
class Experiment:
    table: Table
    key: str  # g3-m20
    name: str
    settings: dict
    start: float
    epochs: int
    seeds: int
    chosen_by: str
    paper: dict = dataclasses.field(default_factory=dict)  # figure to [value] or [value, two standard deviations]
    of: "Experiment | None" = None  # the row of which this one changes a choice

    @property
    def id(self):
        return f"{self.table.key}/{self.key}"

    @property
    def rounds(self):
        """The lengths of the runs that choose its rate."""
        return (self.table.short_epochs, self.epochs) if self.table.searches_whole else (self.table.short_epochs,)

    @property
    def particles(self):
        units = self.settings.get("net.hidden", "200s").replace("+", ",").split(",")
        return self.settings.get("train.particles", 20) if any(unit[-1] != "d" for unit in units) else 1


@dataclasses.dataclass(frozen=True)
class Job:
    """One training run: with validation examples if it is part of a search, else with the test at its end."""

    experiment: Experiment
    rate: float
    epochs: int
    seed: int = 1
    search: bool = False

    @property
    def name(self):
        kind = "search" if self.search else f"seed {self.seed}"
        return f"{self.experiment.id} rate {self.rate:g}, {self.epochs} epochs, {kind}"

    @property
    def directory(self):
        """Where it runs, below the folder of all runs: another config runs elsewhere."""
        kind = "search" if self.search else f"seed{self.seed}"
        return pathlib.Path(self.experiment.id) / f"{kind}-rate{self.rate:g}-{self.config_sha256[:8]}"

    @functools.cached_property
    def config_sha256(self):
        """Of every value that sfnn is given, in the config file or over it: what makes two runs the same."""
        values = config_values(self.experiment.table.config) | self.settings
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    @property
    def settings(self):
        table = self.experiment.table
        settings = {
            "seed": self.seed,
            "train.epochs": self.epochs,
            "train.learning_rate": self.rate,
            "train.save_every": max(1, self.epochs // 10),
            "data.valid": 0,
            **self.experiment.settings,
        }
        if self.search:  # the test examples are not looked at
            settings |= {"data.valid": table.valid, "data.test_limit": 1, "eval.every": self.epochs}
        return settings

    def arguments(self):
        """The arguments of sfnn train, except for its directory and its name."""
        text = {key: str(value).lower() if isinstance(value, bool) else value for key, value in self.settings.items()}
        return " ".join([f"--config {self.experiment.table.config}",
                         *(f"--set {key}={value}" for key, value in text.items())])

    @property
    def cost(self):
        """In units of one particle's step, roughly: good enough to guess the time left."""
        return self.epochs / self.experiment.table.epochs * (self.experiment.particles + 4)


@functools.cache
def config_values(name):
    """Of a config file, its keys as --set has them: train.epochs."""
    with open(ROOT / name, "rb") as file:
        sections = tomllib.load(file)
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}


def load(path):
    """(rates, experiments), in the order of the file. A table may name another whose rows and claims it shares."""
    with open(path, "rb") as file:
        content = tomllib.load(file)
    rates = content.pop("rates")
    rows = {key: fields.pop("rows") for key, fields in content.items()}
    claims = {key: tuple(fields.pop("claims", ())) for key, fields in content.items()}
    experiments = []
    for key, fields in content.items():
        source = rows[key] if isinstance(rows[key], str) else key
        table = Table(key=key, claims=claims[source], **fields)
        for row, values in rows[source].items():
            of = next((e for e in experiments if e.id == values.get("of")), None)
            values = {"epochs": table.epochs, "seeds": table.seeds, "chosen_by": table.chosen_by, **values, "of": of}
            settings = (of.settings if of else {}) | values.pop("set")
            experiments.append(Experiment(table=table, key=row, settings=settings, **values))
    return rates, experiments


class Search:
    """The learning rate of one experiment. Rates are on a grid, a figure belongs to each that has been tried.

    From one rate on to both sides, until the best has a worse one on either side: with short runs from where the row
    says, then with whole ones from the best of the short (unless the table leaves those out).
    """

    def __init__(self, rates, experiment, known):
        self.rates, self.experiment = rates, experiment
        self.known = known  # (rate, epochs) to the figure; inf: the run did not train

    def outcome(self):
        """(rate, jobs): the rate chosen, or None and what must be run to know more; neither if no rate trains."""
        best = self.rates.index(self.experiment.start)
        for epochs in self.experiment.rounds:
            best, missing = self._climb(best, epochs)
            if missing:
                return None, [Job(self.experiment, self.rates[i], epochs, search=True) for i in missing]
            if math.isinf(self._figure(best, epochs)):
                return None, []
        return self.rates[best], []

    def _climb(self, start, epochs):
        """(best, missing): the best so far, and what must be tried before it is known to be."""
        tried = [i for i in range(len(self.rates)) if self._figure(i, epochs) is not None]
        if start not in tried:
            return start, [start]
        best = min(tried, key=lambda i: self._figure(i, epochs))
        beside = [i for i in (best - 1, best + 1) if 0 <= i < len(self.rates) and i not in tried]
        return best, [i for i in beside if i < best or not self._diverges(i)]

    def _figure(self, index, epochs):
        return self.known.get((self.rates[index], epochs))

    def _diverges(self, index):
        """Whether this rate or a lower one has, in runs of any length."""
        return any(math.isinf(figure) and rate <= self.rates[index] for (rate, _), figure in self.known.items())
