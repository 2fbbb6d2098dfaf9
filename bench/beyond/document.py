"""docs/beyond.md from the results: beyond.md.in with a table in place of each line {{name}}. The headlines in README.md, too."""

import dataclasses
import pathlib
import re
import statistics

import figures
from experiments import ROOT
from tables import (NOT_YET, commands, doubt, figure_commands, filled, grid, number, ours, replace, rows_of, search_table,
                    seeds_and_rate)

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT, OVERVIEW = ROOT / "docs" / "beyond.md", ROOT / "README.md"
WRITTEN = f"{DOCUMENT} and the table of {OVERVIEW}"
SUMMARY = re.compile(r"(?<=<!-- by ./run beyond -->\n\n).*?(?=\n\n<!-- to here -->)", re.DOTALL)  # its place in OVERVIEW
BY_P, BY_R = "test_nll", "test_nll_proposal_1000"


@dataclasses.dataclass(frozen=True)
class Headline:
    """What was to be reached: by the row, among these, that validation prefers."""

    what: str
    rows: tuple
    figure: str
    published: str
    goal: float  # below it

    def row(self, experiments, results):
        """The row with the lowest figure of the validation examples; None while none of them has one. Its runs may be
        missing all the same: the test has no say in the choice."""
        tried = []
        for experiment in experiments:
            rate, _ = results.rate(experiment) if experiment.id in self.rows else (None, [])
            if rate is not None:
                tried.append((results.tried(experiment)[rate, experiment.rounds[-1]], experiment))
        return min(tried, key=lambda pair: pair[0])[1] if tried else None


HEADLINES = (
    Headline("lower halves, C_100 with h ~ P, at most three layers of 240 units",
             ("halves/g3", "halves/darn", "halves/vimco", "halves/vimco-adam", "halves/c2", "halves/d2", "halves/d3",
              "halves/d3-m100"), BY_P, "50.2 (VIMCO, M = 50) †", 48.0),
    Headline("lower halves, NLL bound by 1000 draws of R, 392-200-200-392 stochastic", ("halves-r/s2",), BY_R, "none", 47.5),
    Headline("the same, at most three layers of 240 units", ("halves-r/s2", "halves-r/c2", "halves-r/d2", "halves-r/d3"), BY_R,
             "none", 45.0),
    Headline("MNIST without an input, NLL bound by 1000 draws of R, 200-200", ("generate/s2",), BY_R, "93.4 (RWS) †", 94.0),
)


def cost(runs):
    """Of a run, in seconds of one core."""
    known = [run["core_seconds"] for run in runs if run["core_seconds"] is not None]
    return f"{statistics.fmean(known):.0f}" if known else ""


def figures_table(table, experiments, results):
    rows = rows_of(table, experiments)
    titles = rows[0].table.figures
    lines = [[experiment.name, *(ours(figure, runs) for figure in titles), *seeds_and_rate(runs), cost(runs)]
             for experiment in rows for runs in [results.of(experiment)]]
    return grid(["network; training", *titles.values(), "seeds", "rate", "core-seconds"], lines)


def headline_cells(headline, experiments, results):
    """(row, ours, whether it is reached)"""
    row = headline.row(experiments, results)
    runs = results.of(row) if row else []
    if not runs:
        return [row.name if row else "", NOT_YET, ""]
    values = [run[headline.figure] for run in runs]
    difference = statistics.fmean(values) - headline.goal
    verdict = ("yes" if difference < 0 else "**no**") + doubt(difference, values)
    seeds = f", {len(runs)} seed{'s' if len(runs) > 1 else ''}"
    return [row.name, ours(headline.figure, runs) + seeds, verdict]


def headlines_table(experiments, results):
    lines = [[headline.what, headline.published, f"below {headline.goal:g}", *headline_cells(headline, experiments, results)]
             for headline in HEADLINES]
    return grid(["", "published", "to reach", "row, chosen by validation", "here", "reached"], lines)


def missing_list(experiments, results):
    """What the tables lack of what they promise."""
    lines = []
    for experiment in experiments:
        known = len(results.of(experiment))
        if known < experiment.seeds:
            lines.append(f"- {experiment.id}: {known} of {experiment.seeds} seeds")
    return "Still to be run:\n\n" + "\n".join(lines) if lines else "Every run of the list is in the tables."


def microscope_tables():
    """One table per weight matrix: a line per estimator, at each point of the run its bias, variance and cosine."""
    lines = figures.microscope()
    if not lines:
        return f"*Bias, variance and cosine: {NOT_YET}*"
    epochs = sorted({line["epoch"] for line in lines})
    parts = []
    for weights in dict.fromkeys(line["weights"] for line in lines):
        rows = []
        for estimator in dict.fromkeys(line["estimator"] for line in lines):
            at = {line["epoch"]: line for line in lines if (line["weights"], line["estimator"]) == (weights, estimator)}
            rows.append([estimator, *(microscope_cell(at[epoch]) for epoch in epochs), f"{1000 * cheapest(at):.1f}"])
        header = ["", *(f"epoch {epoch}" for epoch in epochs), "ms per draw"]
        parts.append(f"`{weights}`: bias / variance / cosine\n\n{grid(header, rows)}")
    return "\n\n".join(parts)


def microscope_cell(line):
    def show(value):
        return "?" if value is None else f"{value:.2g}"

    return " / ".join(show(line[key]) for key in ("bias", "variance", "cosine"))


def cheapest(at):
    """Of the points: the machine may have been busy at some of them."""
    return min(line["seconds_per_draw"] for line in at.values())


def search_tables(experiments, results):
    tables = [search_table(key, experiments, results) for key in dict.fromkeys(e.table.key for e in experiments)]
    return "\n\n".join(table for table in tables if table)


def summary(experiments, results):
    """The first two headlines, for README."""
    lines = [[headline.what, headline.published.removesuffix(" †"), *headline_cells(headline, experiments, results)[:2]]
             for headline in HEADLINES[:2]]
    return grid(["MNIST, test NLL in nats", "published", "network", "here"], lines)


def text(experiments, results):
    """The whole document."""
    parts = {
        "headlines": headlines_table(experiments, results),
        "missing": missing_list(experiments, results),
        "microscope": microscope_tables(),
        "search": search_tables(experiments, results),
        "figure-commands": figure_commands(figures.MADE, "build/beyond", experiments, results),
    }
    for key in dict.fromkeys(experiment.table.key for experiment in experiments):
        parts[key] = figures_table(key, experiments, results)
        parts[f"{key}-commands"] = commands(key, experiments, results)
    return filled((HERE / "beyond.md.in").read_text(), parts, figures.PICTURES)


def tables(experiments, picked, results):
    """As the document has them."""
    for table in dict.fromkeys(experiment.table for experiment in picked):
        length = f", {table.short_epochs} epochs" if results.quick else ""
        yield f"{table.title}{length}\n\n{figures_table(table.key, picked, results)}"


def write(experiments, results):
    replace(DOCUMENT, text(experiments, results))
    replace(OVERVIEW, SUMMARY.sub(lambda _: summary(experiments, results), OVERVIEW.read_text()))
