"""What there is to run: the rows of experiments.toml, and the jobs that a row still needs, given what is known."""

import dataclasses
import math
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    key: str  # table1
    title: str
    config: str  # a file beside this one
    figures: dict  # of a run: the name in metrics.jsonl to what people call it
    chosen_by: str  # the figure of the validation examples that chooses the rate: lower is better
    valid: int  # examples set aside while the rate is chosen
    epochs: int
    short_epochs: int  # of the first round of the search, and of a quick run
    seeds: int = 3  # runs of each row
    other_data: str = ""  # what the paper had in place of our data
    claims: tuple = ()  # of the paper: says, and the rows that are better and worse


@dataclasses.dataclass(frozen=True)
class Experiment:
    table: Table
    key: str  # g3-m20
    name: str
    settings: dict
    start: float
    epochs: int
    paper: dict = dataclasses.field(default_factory=dict)  # figure to [value] or [value, two standard deviations]
    of: "Experiment | None" = None  # the row of which this one changes a choice

    @property
    def id(self):
        return f"{self.table.key}/{self.key}"

    @property
    def particles(self):
        deterministic = self.settings.get("net.hidden") == "200d,200d"
        return 1 if deterministic else self.settings.get("train.particles", 20)


@dataclasses.dataclass(frozen=True)
class Job:
    """One training run: with validation examples where it is part of a search, else with the test at its end."""

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
        kind = "search" if self.search else f"seed{self.seed}"
        return pathlib.Path(self.experiment.id) / f"{kind}-rate{self.rate:g}-epochs{self.epochs}"

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
        """What sfnn train is given, but for where to run and what to call it."""
        text = {key: str(value).lower() if isinstance(value, bool) else value for key, value in self.settings.items()}
        return " ".join([f"--config bench/paper/{self.experiment.table.config}",
                         *(f"--set {key}={value}" for key, value in text.items())])

    @property
    def cost(self):
        """In units of one particle's step, roughly: good enough to guess the time left."""
        return self.epochs / self.experiment.table.epochs * (self.experiment.particles + 4)


def load(path=HERE / "experiments.toml"):
    """(rates, experiments), in the order of the file."""
    with open(path, "rb") as file:
        content = tomllib.load(file)
    rates = content.pop("rates")
    experiments = []
    for key, fields in content.items():
        rows = fields.pop("rows")
        table = Table(key=key, claims=tuple(fields.pop("claims", ())), **fields)
        for row, values in rows.items():
            settings = values.pop("set")
            if "of" in values:
                values["of"] = next(e for e in experiments if e.id == values["of"])
                settings = values["of"].settings | settings
            values.setdefault("epochs", table.epochs)
            experiments.append(Experiment(table=table, key=row, settings=settings, **values))
    return rates, experiments


class Search:
    """The learning rate of one experiment. Rates are on a grid, a figure belongs to each that has been tried.

    Short runs first: from where the row says, on to both sides, until the best has a worse one on either side. Then
    whole runs: the best of the short ones and the next lower rate, and on downwards while that is better, because a
    longer run overfits sooner and never needed a higher rate.
    """

    def __init__(self, rates, experiment, known):
        self.rates, self.experiment = rates, experiment
        self.known = known  # (rate, epochs) to the figure; inf: the run did not train

    def figure(self, index, epochs):
        return self.known.get((self.rates[index], epochs))

    def _short_best(self):
        """(index, missing): the best so far, and what must be tried before it is the best."""
        epochs = self.experiment.table.short_epochs
        tried = [i for i in range(len(self.rates)) if self.figure(i, epochs) is not None]
        if not tried:
            return None, [self.rates.index(self.experiment.start)]
        best = min(tried, key=lambda i: self.figure(i, epochs))
        return best, [i for i in (best - 1, best + 1) if 0 <= i < len(self.rates) and i not in tried]

    def outcome(self):
        """(rate, jobs): the rate chosen, or None and what must be run to know more."""
        epochs = self.experiment.epochs
        best, missing = self._short_best()
        if missing:
            return None, [self._job(i, self.experiment.table.short_epochs) for i in missing]
        while True:
            below = max(0, best - 1)
            missing = [i for i in {best, below} if self.figure(i, epochs) is None]
            if missing:
                return None, [self._job(i, epochs) for i in sorted(missing, reverse=True)]
            if below == best or self.figure(below, epochs) >= self.figure(best, epochs):
                if math.isinf(self.figure(best, epochs)):
                    raise RuntimeError(f"{self.experiment.id}: no rate trains")
                return self.rates[best], []
            best = below

    def _job(self, index, epochs):
        return Job(self.experiment, self.rates[index], epochs, search=True)
