"""Figures of docs/beyond.md. What they show is measured on finished runs and kept beside the results; pictures are drawn
from that alone.

    figures/estimators.jsonl    every estimator along the run of halves/g3
    figures/curve-ROW.csv       C_hat_M against M, by draws of P and of R
    figures/sources.json        the config_sha256 of the run that each was measured on
    docs/beyond/*.svg           the curves
    docs/beyond/*.png           samples: prior against posterior, and digits without an input
"""

import csv
import pathlib

from experiments import ROOT
from pictures import BLUE, ORANGE, Made, save, use_our_style
from results import read_lines

MEASURED, PICTURES = pathlib.Path(__file__).resolve().parent / "figures", ROOT / "docs" / "beyond"
SOURCES = MEASURED / "sources.json"
MICROSCOPE_EPOCHS = (1, 5, 20, 50)
STEPS_PER_EPOCH = 600
MICROSCOPE, CURVE = MEASURED / "estimators.jsonl", MEASURED / "curve-s2.csv"
AMBIGUOUS = "--first 0 --rows 10 --samples 10"
MADE = [
    Made(PICTURES / "prior.png", "halves-r/s2", f"sample {{run}} {AMBIGUOUS} --out"),
    Made(PICTURES / "posterior.png", "halves-r/s2", f"sample {{run}} {AMBIGUOUS} --posterior --out"),
    Made(CURVE, "halves-r/s2", "eval {run} --set eval.particles=1000 --set data.test_limit=2000 --curve"),
    Made(MICROSCOPE, "halves/g3",
         "estimators " + " ".join(f"{{run}}/checkpoints/step-{STEPS_PER_EPOCH * epoch:08}.safetensors"
                                  for epoch in MICROSCOPE_EPOCHS) + " --out"),
    Made(PICTURES / "generated.png", "generate/s2", "sample {run} --samples 20 --draw-pixels --out"),
]


def microscope():
    return read_lines(MICROSCOPE)


def draw():
    use_our_style()
    draw_curve()


def draw_curve():
    from matplotlib import pyplot

    if not CURVE.exists():
        return
    with open(CURVE) as file:
        lines = list(csv.DictReader(file))
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    for key, name, colour in (("C_hat", "draws of P", ORANGE), ("C_hat_by_R", "draws of R", BLUE)):
        axes.plot([int(line["M"]) for line in lines], [-float(line[key]) for line in lines], color=colour)
        axes.annotate(name, (int(lines[-1]["M"]), -float(lines[-1][key])), xytext=(5, -3), textcoords="offset points",
                      color=colour)
    axes.set(xlabel="draws M at test time", ylabel="NLL bound, nats", xscale="log")
    save(figure, PICTURES / "curve.svg")
