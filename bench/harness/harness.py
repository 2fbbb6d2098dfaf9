"""Runs a list of experiments: what is missing of them, as many at a time as there are cores."""

import argparse
import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import types

import pictures
from experiments import ROOT, Job, load
from results import Results, append_line, read_lines

FAILED, BAD_INPUT = 1, 2  # how sfnn ends
HOPELESS, BUSY, NO_DATA = "no longer finite", "is in use by", "SFNN_DATA at the folder"  # and what it says then
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Suite:
    """A list of experiments, and the page that is written of their results."""

    name: str  # of the command: ./run paper
    folder: pathlib.Path  # of the list, the results and the searches
    help: str
    epilog: str
    document: types.ModuleType  # write(experiments, results), tables(experiments, picked, results), WRITTEN
    figures: types.ModuleType  # SOURCES, MADE, draw()

    @property
    def list(self):
        return self.folder / "experiments.toml"

    def say(self, text):
        say(f"{self.name}: {text}")

    def stop_with(self, text):
        self.say(text)
        sys.exit(BAD_INPUT)


def end_with_parent():
    """However the harness ends, its runs save and end as well: the next one must find them free."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Running:
    """A job and its process, in a group of its own: a Ctrl-C is for the harness, which stops each run once. After the
    training comes one more test, if the table asks for it."""

    def __init__(self, job, sfnn, folder):
        self.job, self.sfnn, self.out = job, sfnn, folder / job.directory
        self.out.mkdir(parents=True, exist_ok=True)
        self.done_before = self.share()
        self.tests = False
        self.start("log.txt", "train", *job.arguments().split(), "--out", self.out, "--resume", "--quiet")

    def start(self, output, *arguments):
        self.output = self.out / output
        self.errors = self.out / "log.txt"
        with open(self.output, "w") as standard, open(self.errors, "a" if self.output != self.errors else "w") as errors:
            self.process = subprocess.Popen([self.sfnn, *arguments, "--threads", "1", "--device", "cpu"], stdout=standard,
                                            stderr=errors, cwd=ROOT, process_group=0, preexec_fn=end_with_parent)

    def has_ended(self, wait=False):
        """Also keeps the processor time, which a loaded machine does not change as it does the clock's."""
        if self.process.returncode is not None:
            return True
        pid, status, usage = os.wait4(self.process.pid, 0 if wait else os.WNOHANG)
        if not pid:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if not self.tests:
            append_line(self.out / "cost.jsonl", {"core_seconds": usage.ru_utime + usage.ru_stime})
        return not self.begins_test()

    def begins_test(self):
        draws = self.job.experiment.table.draws
        if self.tests or not draws or self.job.search or self.process.returncode != 0:
            return False
        self.tests = True
        self.start("test.json", "eval", self.out, "--set", f"eval.particles={draws}", "--json")
        return True

    def share(self):
        """The part of the job that is done, 0 to 1."""
        lines = read_lines(self.out / "metrics.jsonl")
        return lines[-1]["epoch"] / self.job.epochs if lines else 0.0

    def outcome(self):
        """(exit code, what it said)"""
        return self.process.returncode, self.errors.read_text().strip()

    def core_seconds(self):
        """Of all sessions that trained it; None if one of them ended with a harness that was killed."""
        costs = read_lines(self.out / "cost.jsonl")
        all_known = len(costs) >= len(read_lines(self.out / "sessions.jsonl"))
        return round(sum(cost["core_seconds"] for cost in costs), 1) if all_known else None

    def line(self):
        """What goes into the results. A search's run that did not train has null for its figure."""
        job, table = self.job, self.job.experiment.table
        trained = self.process.returncode == 0
        session = read_lines(self.out / "sessions.jsonl")[-1]
        last = read_lines(self.out / "metrics.jsonl")[-1] if trained else {}
        if self.tests:
            test = json.loads(self.output.read_text())["test"]
            last |= {f"test_{key}_{table.draws}": test[key] for key in test if "nll" in key or "effective" in key}
        line = {
            "experiment": job.experiment.id,
            "seed": job.seed,
            "learning_rate": job.rate,
            "epochs": job.epochs,
            "config_sha256": job.config_sha256,
        }
        for figure in [job.experiment.chosen_by] if job.search else table.figures:
            line[figure] = last.get(figure) if trained else None
        if trained:
            line |= {"seconds": round(last["seconds"], 1), "core_seconds": self.core_seconds()}
        return line | {"version": session["version"], "device": session["device"]}


class Harness:
    """Knows what is missing and runs it, `jobs` at a time."""

    def __init__(self, suite, options, experiments, results, publish):
        self.suite, self.options, self.experiments, self.results = suite, options, experiments, results
        self.publish = publish
        self.running, self.given_up, self.not_made = [], [], []
        self.no_data = set()  # tables whose data set is not there
        self.told = []  # jobs that wait for another program
        self.started, self.cost_done = time.monotonic(), 0.0

    def missing(self):
        """The jobs that can be run now, the most wanted first: a table's own rows before other choices, and every row has
        its first seed before any its second."""
        jobs = []
        for experiment in self.experiments:
            rate, searching = self.results.rate(experiment)
            jobs += searching if rate is None else self.missing_runs(experiment)
        jobs = [job for job in jobs if job.experiment.table.key not in self.no_data and job not in self.given_up]
        return sorted(jobs, key=lambda job: (job.experiment.of is not None, job.seed))

    def missing_runs(self, experiment):
        known = [run["seed"] for run in self.results.of(experiment)]
        return [self.results.job(experiment, seed) for seed in self.seeds(experiment) if seed not in known]

    def seeds(self, experiment):
        return range(1, 1 + (1 if self.options.quick else self.options.seeds or experiment.seeds))

    def run(self):
        while True:
            busy = [running.job for running in self.running]
            free = [job for job in self.missing() if job not in busy]
            while free and len(self.running) < self.options.jobs:
                self.running.append(Running(free.pop(0), self.options.sfnn, self.options.runs))
            if not self.running:
                return
            self.wait_for_one()

    def wait_for_one(self):
        shown = 0.0
        while not (ended := [running for running in self.running if running.has_ended()]):
            if time.monotonic() - shown > (2 if sys.stderr.isatty() else 300):
                self.show()
                shown = time.monotonic()
            time.sleep(0.2)
        for running in ended:
            self.running.remove(running)
            self.take(running)

    def take(self, running):
        job = running.job
        code, message = running.outcome()
        if code == BAD_INPUT and BUSY in message:  # it is still missing, and so tried again
            self.wait_for_another(job, message)
        elif code != 0 and NO_DATA in message:  # the table's others would end in the same way
            if job.experiment.table.key not in self.no_data:
                self.suite.say(message)
            self.no_data.add(job.experiment.table.key)
        elif code != 0 and not (job.search and code == FAILED and HOPELESS in message):
            self.given_up.append(job)
            self.suite.say(f"{job.name}: {ended(code, message)}")
        else:
            self.keep(running)

    def wait_for_another(self, job, message):
        if job not in self.told:
            self.suite.say(f"{job.name} waits: {message}")
            self.told.append(job)
        time.sleep(1)

    def keep(self, running):
        job, line = running.job, running.line()
        self.results.add(job, line)
        self.publish()
        self.cost_done += job.cost * (1 - running.done_before)
        shown = {key: line[key] for key in line if key.startswith(("test_", "valid_", "average_"))}
        say(f"{job.name}: " + ", ".join(f"{key} {show_number(value)}" for key, value in shown.items()))
        if job.search:
            shutil.rmtree(running.out)

    def cost_left(self):
        """Of what is known to be missing, and of the whole runs that a search has still to make, three for most, with
        those of the seeds after it."""
        cost = sum(job.cost for job in self.missing())
        for experiment in self.experiments:
            rate, jobs = self.results.rate(experiment)
            if rate is None and experiment.table.key not in self.no_data:
                known = [epochs for _, epochs in self.results.tried(experiment)] + [job.epochs for job in jobs]
                whole = max(0, 3 - known.count(experiment.epochs)) if experiment.table.searches_whole else 0
                cost += (len(self.seeds(experiment)) + whole) * Job(experiment, experiment.start, experiment.epochs).cost
        return cost

    def show(self):
        done = self.cost_done + sum(r.job.cost * (r.share() - r.done_before) for r in self.running)
        left = self.cost_left() - sum(r.job.cost * r.share() for r in self.running)
        elapsed = time.monotonic() - self.started
        time_left = f"about {left * elapsed / done / 60:.0f} minutes left" if done > 0.2 else "time left unknown yet"
        parts = [f"{running.job.name} {100 * running.share():.0f} %" for running in self.running]
        if sys.stderr.isatty():  # the time left first: a narrow terminal shows no more than fits
            say("; ".join([time_left, *parts])[:shutil.get_terminal_size().columns - 1], end="\r")
        else:
            say("; ".join([*parts, time_left]))

    def stop(self):
        """Every run saves its state."""
        for running in self.running:
            running.process.send_signal(signal.SIGTERM)
        for running in self.running:
            running.has_ended(wait=True)

    def exit_code(self):
        """Says what has not been said of it yet."""
        untold = [f"{e.id}: no rate trains" for e in self.experiments if self.results.rate(e) == (None, [])]
        untold += self.not_made
        for failure in untold:
            self.suite.say(failure)
        return BAD_INPUT if self.no_data else FAILED if untold or self.given_up else 0


def say(text, end="\n"):
    clear = "\033[K" if sys.stderr.isatty() else ""
    print(f"{text}{clear}", end=end, file=sys.stderr, flush=True)


def show_number(value):
    return "not finite" if value is None else f"{value:.4g}"


def ended(code, message):
    """How sfnn did, in words."""
    return f"sfnn was killed by {signal.Signals(-code).name}" if code < 0 else f"sfnn ended with {code}: {message}"


def stop_on_signals(suite):
    """The first signal ends the work; those after it find it being saved, which nothing may cut short."""

    def stop(number, _):
        for each in STOPS:
            signal.signal(each, signal.SIG_IGN)
        suite.say("stopped; run the same command again to continue")
        sys.exit(128 + number)

    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)


def lock(suite, folder):
    """For as long as we live: two at once would run the same and write over each other's document."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        suite.stop_with(f"another ./run {suite.name} is at work on {folder}")
    except OSError as error:
        suite.stop_with(f"{folder}: {error.strerror}")


def chosen(suite, experiments, only, quick):
    """Those asked for, else all but what must be asked for. A quick look is at a table's own rows."""
    if not only:
        return [e for e in experiments if not e.table.on_request and not (quick and e.of)]
    unknown = [name for name in only if not any(name in (e.id, e.table.key) for e in experiments)]
    if unknown:
        suite.stop_with(f"no experiment {unknown[0]}; there are: {', '.join(e.id for e in experiments)}")
    return [e for e in experiments if e.id in only or e.table.key in only]


def parse(suite, arguments):
    own = suite.folder.relative_to(ROOT)
    parser = argparse.ArgumentParser(prog=f"./run {suite.name}", description=suite.help, epilog=suite.epilog,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the epochs, one seed, no search")
    parser.add_argument("--seeds", type=int, metavar="N", help="runs per row (default: as in experiments.toml)")
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="such as table1/g3-m20, or table1")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="runs at a time (one per core)")
    parser.add_argument("--experiments", type=pathlib.Path, default=suite.list, metavar="FILE",
                        help="another list of experiments")
    parser.add_argument("--results", type=pathlib.Path, default=suite.folder, metavar="FOLDER",
                        help=f"folder for results instead of {own}: tables are printed, no document is written")
    parser.add_argument("--document", action="store_true", help="run nothing: only write the document and figures again")
    parser.add_argument("--sfnn", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if (options.seeds is not None and options.seeds < 1) or options.jobs < 1:
        parser.error("--seeds and --jobs must be at least 1")
    if options.quick and (options.seeds or options.document):
        parser.error("--quick runs one seed and writes no document: it goes with neither --seeds nor --document")
    for name in ("sfnn", "runs", "experiments", "results"):
        setattr(options, name, getattr(options, name).resolve())
    if options.results == suite.folder and options.experiments != suite.list:
        parser.error("another list needs another folder for its results: --results FOLDER")
    if options.quick and options.results == suite.folder:
        options.results = options.runs / "quick"
    return options


def load_list(suite, path):
    try:
        return load(path)
    except OSError as error:
        suite.stop_with(f"{path}: {error.strerror}")
    except tomllib.TOMLDecodeError as error:
        suite.stop_with(f"{path}: {error}")


def main(suite, arguments):
    options = parse(suite, arguments)
    if "SFNN_DATA" in os.environ:  # it may be relative to this folder, and runs are started elsewhere
        os.environ["SFNN_DATA"] = os.path.abspath(os.environ["SFNN_DATA"])
    rates, experiments = load_list(suite, options.experiments)
    picked = chosen(suite, experiments, options.only, options.quick)
    lock(suite, options.results)
    results = Results(options.results, rates, options.quick)
    is_ours = options.results == suite.folder

    def publish():
        if is_ours:
            suite.document.write(experiments, results)

    harness = Harness(suite, options, picked, results, publish)
    stop_on_signals(suite)
    try:
        if not options.document:
            harness.run()
            if is_ours:
                made = pictures.measure(suite.figures, options, experiments, results, say)
                harness.not_made += [f"{name}: {ended(code, message)}" for name, code, message in made]
    finally:
        harness.stop()
    if is_ours:
        try:
            suite.figures.draw()
        except ModuleNotFoundError as error:
            harness.not_made.append(f"figures are left as they are: {error}")
        publish()
        say(f"wrote {suite.document.WRITTEN}")
    else:
        for table in suite.document.tables(experiments, picked, results):
            print(f"{table}\n")
    sys.exit(harness.exit_code())
