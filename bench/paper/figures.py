"""The paper's figures. What they show is measured on finished runs and kept beside the results; pictures are drawn from
that alone.

    figures/curve-ROW.csv       C_hat_M against M, of table 1's G3 and G5 (Figure 1, right)
    figures/norms.jsonl         the norm of G5's gradient against c M (Figure 1, left)
    docs/reproduction/*.svg     the two halves of Figure 1
    docs/reproduction/*.png     samples (Figure 2)
"""

import csv
import subprocess

from experiments import HERE, ROOT, Job
from results import read_lines

MEASURED, PICTURES = HERE / "figures", ROOT / "docs" / "reproduction"
CURVES = {"g3-m20": "G3", "g5-m20": "G5"}
SAMPLES = {"g3-m20": 10, "g5-m20": 10, "a": 1}  # rows of table 1 to samples per example
NORM_EPOCHS, STEPS_AN_EPOCH = (1, 7, 50), 600
BLUE, ORANGE, GREY = "#2166ac", "#d6604d", "#666666"


def measure(sfnn, runs, experiments, results):
    """Whatever is missing and whose run is there: the first seed of a row, in the folder of its job."""
    MEASURED.mkdir(exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    table1 = {experiment.key: experiment for experiment in experiments if experiment.table.key == "table1"}
    for row in CURVES:
        path = MEASURED / f"curve-{row}.csv"
        if (run := run_of(runs, table1[row], results)) and not path.exists():
            subprocess.run([sfnn, "eval", run, "--curve", path], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    path, g5 = MEASURED / "norms.jsonl", next(e for e in experiments if e.id == "table2/g5-m20")
    if (run := run_of(runs, g5, results)) and not path.exists():
        checkpoints = [run / "checkpoints" / f"step-{STEPS_AN_EPOCH * epoch:08}.safetensors" for epoch in NORM_EPOCHS]
        subprocess.run([sfnn, "estimators", *checkpoints, "--sweep-c", "0:2:0.1", "--out", path], check=True, cwd=ROOT,
                       stdout=subprocess.DEVNULL)
    for row, samples in SAMPLES.items():
        path = PICTURES / f"samples-{row}.png"
        if (run := run_of(runs, table1[row], results)) and not path.exists():
            subprocess.run([sfnn, "sample", run, "--samples", str(samples), "--out", path], check=True, cwd=ROOT,
                           stdout=subprocess.DEVNULL)


def run_of(runs, experiment, results):
    """The run directory of its first seed, where it is on this machine."""
    for line in results.of(experiment):
        folder = runs / Job(experiment, line["learning_rate"], line["epochs"], line["seed"]).directory
        if folder.exists():
            return folder
    return None


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
    figure.savefig(PICTURES / name, bbox_inches="tight", metadata={"Date": None})


def draw_curves():
    from matplotlib import pyplot

    paths = {row: MEASURED / f"curve-{row}.csv" for row in CURVES}
    if not any(path.exists() for path in paths.values()):
        return
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    for (row, path), colour in zip(paths.items(), (BLUE, ORANGE)):
        if not path.exists():
            continue
        with open(path) as file:
            lines = list(csv.DictReader(file))
        m, nll = zip(*((int(line["M"]), -float(line["C_hat"])) for line in lines))
        axes.plot(m, nll, color=colour)
        axes.annotate(CURVES[row], (m[-1], nll[-1]), xytext=(5, -3), textcoords="offset points", color=colour)
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
