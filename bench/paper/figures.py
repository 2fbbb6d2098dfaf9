"""The paper's figures. What they show is measured on finished runs and kept beside the results; pictures are drawn from
that alone.

    figures/curve-ROW.csv       C_hat_M against M, of table 1's G3 and G5 (Figure 1, right)
    figures/norms.jsonl         the norm of G5's gradient against c M (Figure 1, left)
    figures/sources.json        the config_sha256 of the run that each was measured on
    docs/reproduction/*.svg     the two halves of Figure 1
    docs/reproduction/*.png     samples (Figure 2)
"""

import csv
import dataclasses
import json
import pathlib
import shlex
import subprocess

from experiments import HERE, ROOT
from results import read_lines

MEASURED, PICTURES = HERE / "figures", ROOT / "docs" / "reproduction"
SOURCES = MEASURED / "sources.json"
CURVES = {"g3-m20": "G3", "g5-m20": "G5"}
NORM_EPOCHS = (1, 7, 50)
BLUE, ORANGE, GREY = "#2166ac", "#d6604d", "#666666"


@dataclasses.dataclass(frozen=True)
class Made:
    """A file that sfnn makes of the first seed of a row."""

    path: pathlib.Path
    row: str
    arguments: str  # for sfnn: {run} is the run's directory

    def experiment(self, experiments):
        return next(e for e in experiments if e.id == self.row)


MADE = [
    *(Made(MEASURED / f"curve-{row}.csv", f"table1/{row}", "eval {run} --curve") for row in CURVES),
    Made(MEASURED / "norms.jsonl", "table2/g5-m20",
         "estimators " + " ".join(f"{{run}}/checkpoints/step-{600 * epoch:08}.safetensors" for epoch in NORM_EPOCHS)
         + " --sweep-c 0:2:0.1 --out"),
    Made(PICTURES / "samples-g3-m20.png", "table1/g3-m20", "sample {run} --samples 10 --out"),
    Made(PICTURES / "samples-g5-m20.png", "table1/g5-m20", "sample {run} --samples 10 --out"),
    Made(PICTURES / "samples-a.png", "table1/a", "sample {run} --samples 1 --out"),
]


def command(made, job, sfnn="./run sfnn", runs="build/paper"):
    """As one would type it at the root of the repository."""
    run = f"{runs}/{job.directory}" if job else "RUN"
    return f"{sfnn} {made.arguments.format(run=run)} {made.path.relative_to(ROOT)} --device cpu"


def measure(sfnn, runs, experiments, results, say):
    """Whatever was not made of the run that is its row's first today, and whose run is on this machine. Returns (file,
    exit code, what sfnn said) of those that it could not make; their old ones stay."""
    for folder in (MEASURED, PICTURES):
        folder.mkdir(parents=True, exist_ok=True)
    sources = json.loads(SOURCES.read_text()) if SOURCES.exists() else {}
    failures = []
    for made in MADE:
        experiment = made.experiment(experiments)
        job = results.job(experiment, 1)
        is_done = any(run["seed"] == 1 for run in results.of(experiment))
        is_there = is_done and (runs / job.directory / "checkpoints" / "latest").exists()
        if not is_there or (made.path.exists() and sources.get(made.path.name) == job.config_sha256):
            continue
        say(f"making {made.path.relative_to(ROOT)}")
        new = dataclasses.replace(made, path=made.path.with_stem(made.path.stem + "-new"))
        new.path.unlink(missing_ok=True)
        process = subprocess.run(shlex.split(command(new, job, shlex.quote(str(sfnn)), shlex.quote(str(runs)))), cwd=ROOT,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode != 0:
            failures.append((made.path.name, process.returncode, process.stderr.strip()))
            continue
        new.path.replace(made.path)
        sources[made.path.name] = job.config_sha256
        SOURCES.write_text(json.dumps(sources, indent=2) + "\n")
    return failures


def draw():
    import matplotlib  # only who draws needs it

    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
        "svg.hashsalt": "sfnn", "svg.fonttype": "none",
    })
    draw_curves()
    draw_norms()


def save(figure, name):
    figure.savefig(PICTURES / name, bbox_inches="tight", metadata={"Date": None, "Creator": None})


def curve(row):
    """[(M, test NLL)] as measured; empty if it has not been."""
    path = MEASURED / f"curve-{row}.csv"
    if not path.exists():
        return []
    with open(path) as file:
        return [(int(line["M"]), -float(line["C_hat"])) for line in csv.DictReader(file)]


def draw_curves():
    from matplotlib import pyplot

    curves = {row: points for row in CURVES if (points := curve(row))}
    if not curves:
        return
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    for (row, points), colour in zip(curves.items(), (BLUE, ORANGE)):
        axes.plot(*zip(*points), color=colour)
        axes.annotate(CURVES[row], points[-1], xytext=(5, -3), textcoords="offset points", color=colour)
    axes.set(xlabel="particles M at test time", ylabel="test NLL, nats", xlim=(0, 100))
    save(figure, "figure1-right.svg")


def draw_norms():
    from matplotlib import pyplot

    lines = read_lines(MEASURED / "norms.jsonl")
    if not lines:
        return
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    for epoch, colour in zip(NORM_EPOCHS, (GREY, ORANGE, BLUE)):
        cm, norm = zip(*((line["cM"], line["norm"]) for line in lines if line["epoch"] == epoch))
        axes.plot(cm, norm, color=colour)
        axes.annotate(f"after {epoch} epochs" if epoch > 1 else "after 1 epoch", (cm[-1], norm[-1]), xytext=(5, -3),
                      textcoords="offset points", color=colour)
    axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlabel="c M", ylabel="norm of the gradient, first layer")
    save(figure, "figure1-left.svg")
