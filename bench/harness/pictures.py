"""Files that sfnn makes of finished runs: measurements, which are kept beside the results, and pictures of samples."""

import dataclasses
import json
import pathlib
import shlex
import subprocess

from experiments import ROOT

BLUE, ORANGE, GREY = "#2166ac", "#d6604d", "#666666"


@dataclasses.dataclass(frozen=True)
class Made:
    """A file that sfnn makes of the first seed of a row."""

    path: pathlib.Path
    row: str
    arguments: str  # for sfnn: {run} is the run's directory

    def experiment(self, experiments):
        return next(e for e in experiments if e.id == self.row)


def command(made, job, runs, sfnn="./run sfnn"):
    """As one would type it at the root of the repository."""
    run = f"{runs}/{job.directory}" if job else "RUN"
    return f"{sfnn} {made.arguments.format(run=run)} {made.path.relative_to(ROOT)} --device cpu"


def measure(figures, options, experiments, results, say):
    """Whatever was not made of the run that is its row's first today, and whose run is on this machine. Returns (file,
    exit code, what sfnn said) of those that it could not make; their old ones stay."""
    sources = json.loads(figures.SOURCES.read_text()) if figures.SOURCES.exists() else {}
    failures = []
    for made in figures.MADE:
        experiment = made.experiment(experiments)
        job = results.job(experiment, 1)
        is_done = any(run["seed"] == 1 for run in results.of(experiment))
        is_there = is_done and (options.runs / job.directory / "checkpoints" / "latest").exists()
        if not is_there or (made.path.exists() and sources.get(made.path.name) == job.config_sha256):
            continue
        say(f"making {made.path.relative_to(ROOT)}")
        made.path.parent.mkdir(parents=True, exist_ok=True)
        new = dataclasses.replace(made, path=made.path.with_stem(made.path.stem + "-new"))
        new.path.unlink(missing_ok=True)
        typed = command(new, job, shlex.quote(str(options.runs)), shlex.quote(str(options.sfnn)))
        process = subprocess.run(shlex.split(typed), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode != 0:
            failures.append((made.path.name, process.returncode, process.stderr.strip()))
            continue
        new.path.replace(made.path)
        sources[made.path.name] = job.config_sha256
        figures.SOURCES.parent.mkdir(parents=True, exist_ok=True)
        figures.SOURCES.write_text(json.dumps(sources, indent=2) + "\n")
    return failures


def use_our_style():
    import matplotlib  # only who draws needs it

    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
        "svg.hashsalt": "sfnn", "svg.fonttype": "none",
    })


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
