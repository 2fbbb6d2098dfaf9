"""The paper's figures. What they show is measured on finished runs and kept beside the results; pictures are drawn from
that alone.

    figures/curve-ROW.csv       C_hat_M against M, of table 1's G3 and G5 (Figure 1, right)
    figures/norms.jsonl         the norm of G5's gradient against c M (Figure 1, left)
    figures/sources.json        the config_sha256 of the run that each was measured on
    docs/reproduction/*.svg     the two halves of Figure 1
    docs/reproduction/*.png     samples (Figure 2)
"""

import csv
import pathlib

from experiments import ROOT
from pictures import BLUE, GREY, ORANGE, Made, save, use_our_style
from results import read_lines

MEASURED, PICTURES = pathlib.Path(__file__).resolve().parent / "figures", ROOT / "docs" / "reproduction"
SOURCES = MEASURED / "sources.json"
CURVES = {"g3-m20": "G3", "g5-m20": "G5"}
NORM_EPOCHS = (1, 7, 50)
MADE = [
    *(Made(MEASURED / f"curve-{row}.csv", f"table1/{row}", "eval {run} --curve") for row in CURVES),
    Made(MEASURED / "norms.jsonl", "table2/g5-m20",
         "estimators " + " ".join(f"{{run}}/checkpoints/step-{600 * epoch:08}.safetensors" for epoch in NORM_EPOCHS)
         + " --sweep-c 0:2:0.1 --out"),
    Made(PICTURES / "samples-g3-m20.png", "table1/g3-m20", "sample {run} --samples 10 --out"),
    Made(PICTURES / "samples-g5-m20.png", "table1/g5-m20", "sample {run} --samples 10 --out"),
    Made(PICTURES / "samples-a.png", "table1/a", "sample {run} --samples 1 --out"),
]


def draw():
    use_our_style()
    draw_curves()
    draw_norms()


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
    save(figure, PICTURES / "figure1-right.svg")


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
    save(figure, PICTURES / "figure1-left.svg")
