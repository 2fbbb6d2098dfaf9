"""docs/reproduction.md from the results: reproduction.md.in with a table in place of each line {{name}}."""

import math
import re
import statistics

from experiments import HERE, Job, Search

DOCUMENT = HERE.parent.parent / "docs" / "reproduction.md"
NOT_YET = "not run yet"


def number(figure, value):
    return f"{100 * value:.2f} %" if figure.endswith("_error") else f"{value:.2f}"


def with_margin(figure, values):
    """The mean, and two standard deviations where there are several."""
    text = number(figure, statistics.fmean(values))
    if len(values) > 1:
        text += f" ± {number(figure, 2 * statistics.stdev(values))}"
    return text


def ours(figure, runs):
    return with_margin(figure, [run[figure] for run in runs]) if runs else NOT_YET


def seeds_and_rate(runs):
    return [str(len(runs)), f"{runs[0]['learning_rate']:g}" if runs else ""]


def is_reached(figure, runs, paper):
    """At the paper's figure or better, its own margin allowed."""
    return statistics.fmean([run[figure] for run in runs]) <= sum(paper)


def grid(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rows_of(table, experiments):
    return [experiment for experiment in experiments if experiment.table.key == table]


def figures_table(table, experiments, results):
    varies = any(experiment.of for experiment in rows_of(table, experiments))
    return (choices_table if varies else papers_table)(table, experiments, results)


def papers_table(table, experiments, results):
    """Our figures beside the paper's."""
    rows = rows_of(table, experiments)
    figures = rows[0].table.figures
    foreign = rows[0].table.other_data
    header = ["row", *figures.values(), f"paper ({foreign})" if foreign else "paper", "seeds", "rate"]
    if not foreign:
        header.insert(-2, "as good")
    lines = []
    for experiment in rows:
        runs = results.of(experiment)
        (figure, paper), = experiment.paper.items()
        printed = " ± ".join(number(figure, value) for value in paper)
        line = [experiment.name, *(ours(f, runs) for f in figures), f"<sub>{printed}</sub>" if foreign else printed]
        if not foreign:
            line.append("" if not runs else "yes" if is_reached(figure, runs, paper) else "**no**")
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
    figure = next(iter(next(iter(rows.values())).table.figures))

    def mean(key):
        runs = results.of(rows[key])
        return statistics.fmean([run[figure] for run in runs]) if runs else math.nan

    lines = []
    for claim in next(iter(rows.values())).table.claims:
        better, worse = max(map(mean, claim["better"])), min(map(mean, claim["worse"]))
        known = not any(math.isnan(mean(key)) for key in claim["better"] + claim["worse"])
        verdict = NOT_YET if not known else "holds" if better <= worse else "**does not hold**"
        lines.append([claim["says"], f"{number(figure, better)} against {number(figure, worse)}" if known else "", verdict])
    return grid(["the paper says", "the worst of these, the best of those", "here"], lines)


def search_table(table, experiments, results, rates):
    """Every rate that was tried: the short runs, and below them the whole ones."""
    rows = rows_of(table, experiments)
    figure = rows[0].table.chosen_by
    lines = []
    for experiment in rows:
        tried = results.tried(experiment)
        chosen, _ = Search(rates, experiment, tried).outcome()
        for epochs in (experiment.table.short_epochs, experiment.epochs):
            if not any(key[1] == epochs for key in tried):
                continue
            cells = []
            for rate in rates:
                value = tried.get((rate, epochs))
                text = "" if value is None else "diverged" if math.isinf(value) else number(figure, value)
                cells.append(f"**{text}**" if rate == chosen and epochs == experiment.epochs else text)
            lines.append([experiment.key, str(epochs), *cells])
    return grid(["row", "epochs", *(f"{rate:g}" for rate in rates)], lines)


def commands(table, experiments, results):
    """The line behind each figure: its first seed."""
    lines = []
    for experiment in rows_of(table, experiments):
        runs = results.of(experiment)
        if runs:
            job = Job(experiment, runs[0]["learning_rate"], runs[0]["epochs"], runs[0]["seed"])
            lines.append(f"# {experiment.id}: {experiment.name}\nsfnn train {job.arguments()}")
    return "```sh\n" + "\n".join(lines) + "\n```" if lines else f"*{table}: {NOT_YET}*"


def theorem1():
    """The toy of the theorem: y is a fair coin whatever x, P(y|h) = 0.9 where y = h, and P(h = 1) = p is free."""

    def criteria(p, M):
        """E[C_hat_M] by enumeration of how many of M particles are 1, for either y."""
        total = 0.0
        for y in (0, 1):
            for ones in range(M + 1):
                chance = math.comb(M, ones) * p**ones * (1 - p) ** (M - ones)
                right = ones if y else M - ones
                total += 0.5 * chance * math.log((0.9 * right + 0.1 * (M - right)) / M)
        return total

    counts, ps = (1, 2, 5, 20, 100), (0.0, 0.1, 0.25, 0.5)
    lines = [[f"{p:g}", *(f"{criteria(p, M):.4f}" for M in counts), f"{limit(p):.4f}"] for p in ps]
    return grid(["P(h = 1)", *(f"M = {M}" for M in counts), "C"], lines)


def limit(p):
    """E[C], the criterion that M particles approach."""
    return 0.5 * math.log(0.9 * p + 0.1 * (1 - p)) + 0.5 * math.log(0.1 * p + 0.9 * (1 - p))


def text(rates, experiments, results):
    """The whole document."""
    parts = {"theorem1": theorem1()}
    for table in dict.fromkeys(experiment.table.key for experiment in experiments):
        parts[table] = figures_table(table, experiments, results)
        parts[f"{table}-claims"] = claims_table(table, experiments, results)
        parts[f"{table}-search"] = search_table(table, experiments, results, rates)
        parts[f"{table}-commands"] = commands(table, experiments, results)
    document = (HERE / "reproduction.md.in").read_text()
    for name, part in parts.items():
        document = document.replace("{{" + name + "}}", part)
    return re.sub(r"\{\{([\w.-]+): (.*)\}\}", picture, document)


def picture(match):
    """{{file: what it shows}}, where it has been drawn."""
    name, alt = match.groups()
    return f"![{alt}](reproduction/{name})" if (DOCUMENT.parent / "reproduction" / name).exists() else f"*{alt}: {NOT_YET}*"
