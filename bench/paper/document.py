"""docs/reproduction.md from the results: reproduction.md.in with a table in place of each line {{name}}. The summary in
docs/networks.md, too."""

import math
import pathlib
import re
import statistics

import figures
from experiments import ROOT
from tables import (NOT_YET, commands, doubt, figure_commands, filled, grid, number, ours, replace, rows_of,
                    search_table, seeds_and_rate)

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT, OVERVIEW = ROOT / "docs" / "reproduction.md", ROOT / "docs" / "networks.md"
SUMMARY = re.compile(r"(?<=<!-- by ./run paper -->\n\n).*?(?=\n\n<!-- to here -->)", re.DOTALL)  # its place in OVERVIEW
WRITTEN = f"{DOCUMENT} and the table of {OVERVIEW}"


def as_printed(figure, values):
    """The paper's own, with its digits."""
    return " ± ".join(number(figure, value) if figure.endswith("_error") else str(value) for value in values)


def as_good(figure, runs, paper):
    """Whether our mean is at the paper's figure or better, its own margin allowed."""
    values = [run[figure] for run in runs]
    difference = statistics.fmean(values) - sum(paper)
    return ("yes" if difference <= 0 else "**no**") + doubt(difference, values)


def figures_table(table, experiments, results):
    varies = any(experiment.of for experiment in rows_of(table, experiments))
    return (choices_table if varies else papers_table)(table, experiments, results)


def papers_table(table, experiments, results):
    """Our figures beside the paper's. Short runs are not judged, nor those on other data, whose column is grey."""
    rows = rows_of(table, experiments)
    titles = rows[0].table.figures
    foreign = rows[0].table.other_data
    judged = not foreign and not results.quick
    header = ["row", *titles.values(), f"paper ({foreign})" if foreign else "paper", "seeds", "rate"]
    if judged:
        header.insert(-2, "as good")
    lines = []
    for experiment in rows:
        runs = results.of(experiment)
        (figure, paper), = experiment.paper.items()
        printed = as_printed(figure, paper)
        if foreign and not results.quick:
            printed = f'<span style="color: grey"><i>{printed}</i></span>'  # not everyone shows the colour
        line = [experiment.name, *(ours(f, runs) for f in titles), printed]
        if judged:
            line.append(as_good(figure, runs, paper) if runs else "")
        lines.append([*line, *seeds_and_rate(runs)])
    return grid(header, lines)


def choices_table(table, experiments, results):
    """Rows that change one choice each, beside the row that they change."""
    (figure, title), = rows_of(table, experiments)[0].table.figures.items()
    lines = []
    for experiment in rows_of(table, experiments):
        runs = results.of(experiment)
        lines.append([experiment.of.name, experiment.name, ours(figure, runs),
                      ours(figure, results.of(experiment.of)), *seeds_and_rate(runs)])
    return grid(["row", "changed", title, "as chosen", "seeds", "rate"], lines)


def claims_table(table, experiments, results):
    """What the paper says of the order of the rows, and whether our means agree."""
    rows = {experiment.key: experiment for experiment in rows_of(table, experiments)}
    shown = next(iter(rows.values())).table
    figure = next(iter(shown.figures))
    values = {key: [run[figure] for run in results.of(row)] for key, row in rows.items()}

    def mean(key):
        return statistics.fmean(values[key])

    lines = []
    for claim in shown.claims:
        if not all(values[key] for key in claim["better"] + claim["worse"]):
            lines.append([claim["says"], "", NOT_YET])
            continue
        better, worse = max(claim["better"], key=mean), min(claim["worse"], key=mean)
        difference = mean(better) - mean(worse)
        verdict = "holds" if difference <= 0 else "**does not hold**"
        verdict += doubt(difference, values[better], values[worse])
        pair = " against ".join(f"{rows[key].name}: {number(figure, mean(key))}" for key in (better, worse))
        lines.append([claim["says"], pair, verdict])
    return grid(["the paper says", "its closest pair, here", "here"], lines) if lines else ""


def theorem1(q):
    """The toy of the theorem: P(y = 1) = q whatever x, P(y|h) = 0.9 if y = h, and P(h = 1) = p is free."""
    counts, ps = (1, 2, 5, 20, 100), (0.0, 0.25, 0.5, 0.75, 1.0)
    columns = [[criterion(p, q, M) for p in ps] for M in counts] + [[limit(p, q) for p in ps]]

    def cell(value, column):
        return f"**{value:.4f}**" if value > max(column) - 1e-9 else f"{value:.4f}"

    lines = [[f"{p:g}", *(cell(column[i], column) for column in columns)] for i, p in enumerate(ps)]
    return grid(["P(h = 1)", *(f"M = {M}" for M in counts), "C"], lines)


def criterion(p, q, M):
    """E[C_hat_M] by enumeration of how many of M particles are 1, for either y."""
    total = 0.0
    for y, chance_of_y in ((0, 1 - q), (1, q)):
        for ones in range(M + 1):
            chance = math.comb(M, ones) * p**ones * (1 - p) ** (M - ones)
            right = ones if y else M - ones
            total += chance_of_y * chance * math.log((0.9 * right + 0.1 * (M - right)) / M)
    return total


def limit(p, q):
    """E[C], the criterion that M particles approach."""
    return q * math.log(0.9 * p + 0.1 * (1 - p)) + (1 - q) * math.log(0.1 * p + 0.9 * (1 - p))


def curve_numbers():
    """Some points of Figure 1, right, as a sentence has them."""
    parts = []
    for row, name in figures.CURVES.items():
        nll = dict(figures.curve(row))
        if nll:
            parts.append(f"{name} {', '.join(f'{nll[M]:.2f}' for M in (20, 40, 100))}")
    return "; ".join(parts) or NOT_YET


def text(experiments, results):
    """The whole document."""
    parts = {"theorem1-fair": theorem1(0.5), "theorem1-uneven": theorem1(0.7), "curve-numbers": curve_numbers(),
             "figure-commands": figure_commands(figures.MADE, "build/paper", experiments, results)}
    for table in dict.fromkeys(experiment.table for experiment in experiments):
        left_out = table.on_request and not results.runs.get(table.key)
        for part, make in PARTS.items():
            parts[table.key + part] = "" if left_out else make(table.key, experiments, results)
    return filled((HERE / "reproduction.md.in").read_text(), parts, DOCUMENT.with_suffix(""))


def tables(experiments, picked, results):
    """As the document has them: what was picked, and of whole tables what the paper says of their rows."""
    for table in dict.fromkeys(experiment.table for experiment in picked):
        length = f", {table.short_epochs} epochs" if results.quick else ""
        yield f"{table.title}{length}\n\n{figures_table(table.key, picked, results)}"
        if table.claims and not results.quick and all(e in picked for e in experiments if e.table is table):
            yield claims_table(table.key, picked, results)


PARTS = {"": figures_table, "-claims": claims_table, "-search": search_table, "-commands": commands}


def summary(experiments, results):
    """Both MNIST tables in one: that of the classes has every row."""

    def cells(row):
        if row is None:
            return ["", ""]
        (figure, paper), = row.paper.items()
        return [ours(figure, results.of(row)), as_printed(figure, paper)]

    halves = {row.key: row for row in rows_of("table1", experiments)}
    lines = [[row.name, *cells(halves.get(row.key)), *cells(row)] for row in rows_of("table2", experiments)]
    return grid(["", "lower halves: test NLL", "paper", "classes: test error", "paper"], lines)


def write(experiments, results):
    replace(DOCUMENT, text(experiments, results))
    replace(OVERVIEW, SUMMARY.sub(lambda _: summary(experiments, results), OVERVIEW.read_text()))
