"""Draws the pictures of docs/performance.md and of README.md from what the benchmarks write.

Usage: plots.py shares  SHARES.json [TABLE.json] OUT.svg     (time_shares --json, step_bench --json)
       plots.py scaling SCALING.json... OUT.svg              (scaling --json; series of several files)
       plots.py peers   docs/performance.md OUT.svg          (its table of other frameworks, one thread)
"""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# What a reader asks for, and the ops behind it.
PARTS = {
    "forward products": ["multiply", "multiply_bits"],
    "draws": ["sample_hidden", "activate"],
    "log-likelihood, weights": ["output_log_prob", "particle_weights", "select_rows", "output_grad"],
    "products back": ["multiply_transposed"],
    "weight gradients": ["accumulate_outer", "accumulate_outer_bits"],
    "estimator": ["hidden_grad", "deterministic_grad", "sum_particles", "accumulate_column_sums", "accumulate_baseline"],
    "update, data": ["update", "update_baseline", "fill_zero", "gather", "shuffle", "accumulate_metrics"],
}
COLOURS = ["#2a6f97", "#61a5c2", "#a9d6e5", "#c1121f", "#e07a5f", "#f2cc8f", "#adb5bd"]


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def finish(figure, path):
    plt.rcParams["svg.hashsalt"] = "sfnn"  # the same figures give the same file
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def draw_shares(shares, floors, path):
    """One bar per workload, in units of F if its time is known, cut into parts."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    names = [row["workload"] for row in shares]
    left = [0.0] * len(shares)
    for (part, ops), colour in zip(PARTS.items(), COLOURS):
        widths = []
        for row in shares:
            whole = sum(row["ms"].values())
            scale = floors.get(row["workload"], 1.0) / whole
            widths.append(scale * sum(row["ms"].get(op, 0.0) for op in ops))
        axes.barh(names, widths, left=left, color=colour, label=part, edgecolor="white", linewidth=0.5)
        left = [a + b for a, b in zip(left, widths)]
    axes.invert_yaxis()
    axes.set_xlabel("time of a step in units of F, its dense products in the fastest library (one thread)" if floors else "share of a step's time")
    axes.set_xlim(0, 1)
    axes.legend(fontsize=8, loc="center right", frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    finish(figure, path)


def draw_scaling(series, path):
    panels = [
        ("particles", "ms", "particles M", "ms a step"),
        ("particles", "megabytes", "particles M", "workspace, MB"),
        ("width", "ms", "units a layer", "ms a step"),
        ("depth", "ms", "hidden layers", "ms a step"),
        ("threads", "ms", "threads", "ms a step"),
    ]
    panels = [panel for panel in panels if panel[0] in series]
    figure, grid = plt.subplots(2, 3, figsize=(9, 5))
    for axes, (what, figure_of, x_label, y_label) in zip(grid.flat, panels):
        values = [point["value"] for point in series[what]]
        axes.plot(values, [point[figure_of] for point in series[what]], "o-", color=COLOURS[3 if figure_of == "megabytes" else 0])
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        if what in ("particles", "width"):
            axes.set_xscale("log")
        else:
            axes.set_xticks(values)
        if what in ("particles", "width") and figure_of == "ms":
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, max(20, axes.get_ylim()[1]) if figure_of == "megabytes" else None)
        axes.grid(alpha=0.3)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    finish(figure, path)


def peer_rows(page):
    """Workload to the times of ours, PyTorch by autograd, PyTorch by hand and JAX; one thread, in units of F."""
    rows = re.findall(r"^\| (w\d) \| 1 \| \*\*([\d.]+)\*\* \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    return {name: [float(time) for time in times] for name, *times in rows}


def draw_peers(rows, path):
    """Bars: a step's time in units of ours."""
    names = {"w1": "halves of digits", "w2": "the same, G5", "w3": "classes of digits", "w4": "faces", "w5": "3 x 1024 units, M = 50"}
    kinds = ["sfnn", "PyTorch, autograd", "PyTorch, gradients by hand, in place", "JAX, jit"]
    figure, axes = plt.subplots(figsize=(8, 4))
    height = 0.2
    for k, (kind, colour) in enumerate(zip(kinds, [COLOURS[3], COLOURS[0], COLOURS[1], COLOURS[6]])):
        places = [i + (k - 1.5) * height for i in range(len(names))]
        widths = [rows[name][k] / rows[name][0] for name in names]
        axes.barh(places, widths, height, color=colour, label=kind)
        for place, width in zip(places, widths):
            axes.text(width + 0.05, place, f"{width:.1f}", va="center", fontsize=7)
    axes.set_yticks(range(len(names)), [f"{text} ({name})" for name, text in names.items()])
    axes.invert_yaxis()
    axes.set_xlabel("time of a training step, sfnn = 1 (one thread of a Zen 4)")
    axes.legend(fontsize=8, loc="lower center", frameon=False, bbox_to_anchor=(0.4, 1), ncols=4)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(0, 8)
    finish(figure, path)


def main():
    kind, *files, out = sys.argv[1:]
    if kind == "shares":
        table = read(files[1]) if len(files) > 1 else []
        floors = {row["workload"]: row["ratio"] for row in table if row["threads"] == 1}
        draw_shares(read(files[0]), floors, out)
    elif kind == "scaling":
        draw_scaling({what: points for file in files for what, points in read(file).items()}, out)
    elif kind == "peers":
        draw_peers(peer_rows(pathlib.Path(files[0]).read_text()), out)
    else:
        sys.exit(__doc__)


main()
