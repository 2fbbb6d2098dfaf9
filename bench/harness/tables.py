"""Tables of a document, in Markdown, and the document itself: a text with a table in place of each line {{name}}."""

import math
import re
import statistics

import pictures
from experiments import Job

NOT_YET = "not run yet"


def number(figure, value):
    return f"{100 * value:.2f} %" if figure.endswith("_error") else f"{value:.2f}"


def margin(values):
    """Two standard deviations, if there are several."""
    return 2 * statistics.stdev(values) if len(values) > 1 else 0.0


def with_margin(figure, values):
    text = number(figure, statistics.fmean(values))
    return f"{text} ± {number(figure, margin(values))}" if len(values) > 1 else text


def ours(figure, runs):
    return with_margin(figure, [run[figure] for run in runs]) if runs else NOT_YET


def seeds_and_rate(runs):
    return [str(len(runs)), f"{runs[0]['learning_rate']:g}" if runs else ""]


def doubt(difference, *samples):
    """What is to be added to a verdict on a difference of means: less than two standard errors may be chance."""
    if any(len(values) < 2 for values in samples):
        return ", one seed"
    squared_error = sum(statistics.variance(values) / len(values) for values in samples)
    return ", within the noise" if difference**2 < 4 * squared_error else ""


def grid(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rows_of(table, experiments):
    return [experiment for experiment in experiments if experiment.table.key == table]


def search_table(table, experiments, results):
    """Every rate that was tried: the short runs, and below them the whole ones."""
    lines = []
    for experiment in rows_of(table, experiments):
        tried = results.tried(experiment)
        chosen, _ = results.rate(experiment)
        for epochs in experiment.rounds:
            if not any(key[1] == epochs for key in tried):
                continue
            cells = []
            for rate in results.rates:
                value = tried.get((rate, epochs))
                cell = "" if value is None else "diverged" if math.isinf(value) else number(experiment.chosen_by, value)
                cells.append(f"**{cell}**" if rate == chosen and epochs == experiment.rounds[-1] else cell)
            lines.append([experiment.key, str(epochs), *cells])
    return grid(["row", "epochs", *(f"{rate:g}" for rate in results.rates)], lines) if lines else ""


def commands(table, experiments, results):
    """The line behind each figure: its first seed."""
    lines = []
    for experiment in rows_of(table, experiments):
        runs = results.of(experiment)
        if runs:
            job = Job(experiment, runs[0]["learning_rate"], runs[0]["epochs"], runs[0]["seed"])
            lines.append(f"# {experiment.id}: {experiment.name}\n./run sfnn train {job.arguments()} --device cpu")
    return shell(lines) if lines else f"*{table}: {NOT_YET}*"


def figure_commands(made, runs, experiments, results):
    """The line behind each picture, or behind the measurements that it is drawn from."""
    return shell([pictures.command(each, results.job(each.experiment(experiments), 1), runs) for each in made])


def shell(lines):
    return "```sh\n" + "\n".join(lines) + "\n```"


def filled(template, parts, folder):
    """The template with its parts, and {{file: what it shows}} for each picture of the folder that has been drawn."""

    def picture(match):
        name, alt = match.groups()
        return f"![{alt}]({folder.name}/{name})" if (folder / name).exists() else f"*{alt}: {NOT_YET}*"

    for name, part in parts.items():
        template = template.replace("{{" + name + "}}", part)
    template = re.sub(r"\{\{([\w.-]+): (.*?)\}\}", picture, template)
    return re.sub(r"\n{3,}", "\n\n", template)


def replace(path, content):
    """A file whole or as it was, whenever we are killed."""
    if not path.exists() or path.read_text() != content:
        new = path.with_name(path.name + ".new")
        new.write_text(content)
        new.replace(path)
