"""A step of another framework at the end of a pipe: the benchmark asks, so that their rounds interleave with ours.

Usage: peer.py torch-autograd|torch-by-hand|jax THREADS. Each line of input is one question, each line of output its answer:

    load FOLDER   ready: reads a case that the benchmark wrote, see Case
    check         the largest relative error of a gradient (training) or of C_hat, with the case's own draws
    time COUNT wall|cpu
                  milliseconds of the fastest of COUNT steps with draws of their own, by the clock that the benchmark reads
"""

import json
import os
import pathlib
import sys
import time

import numpy as np


class Case:
    """Weights, a batch and hidden units as the engine drew them, with the gradient that it found for them."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        about = json.loads((folder / "case.json").read_text())
        self.output = about["output"]  # softmax, bernoulli or gaussian
        self.estimator = about["estimator"]  # G3 or G5
        self.M = about["particles"]
        self.evaluation = about["evaluation"]
        self.depth = about["depth"]

        def load(name):
            return np.load(folder / f"{name}.npy")

        self.x, self.y, self.C_hat = load("x"), load("y"), load("C_hat")
        # W_1, b_1, ..., V, c
        self.params = [load(f"param{i}") for i in range(2 * self.depth + 2)]
        self.gradient = None if self.evaluation else [load(f"gradient{i}") for i in range(2 * self.depth + 2)]
        self.h = [load(f"h{layer}").reshape(len(self.C_hat), self.M, -1) for layer in range(self.depth)]


def relative_error(ours, theirs):
    return float(np.linalg.norm(ours - theirs) / max(np.linalg.norm(ours), 1e-30))


def check(case, step):
    C_hat, gradient = step.check()
    errors = [relative_error(case.C_hat, np.asarray(C_hat))]
    if not case.evaluation:
        errors += [relative_error(ours, np.asarray(theirs)) for ours, theirs in zip(case.gradient, gradient)]
    return float(np.max(errors))  # which is NaN if any is; Python's max may pass it over


def fastest(step, count, clock):
    best = float("inf")
    for _ in range(count):
        start = clock()
        step.run()
        best = min(best, clock() - start)
    return 1e3 * best


def main():
    kind, threads = sys.argv[1], int(sys.argv[2])
    # Before a framework counts the cores; JAX has no other setting that works.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    if kind == "jax":
        from jax_step import Step
    elif kind == "torch-autograd":
        from torch_autograd import Step
    else:
        from torch_by_hand import Step
    answers, sys.stdout = sys.stdout, sys.stderr  # what a framework prints is no answer
    case = step = None
    for line in sys.stdin:
        question, *rest = line.split(maxsplit=1)
        if question == "load":
            case = Case(rest[0].strip())
            step = Step(case, threads)
            answer = "ready"
        elif question == "check":
            answer = check(case, step)
        else:
            count, clock = rest[0].split()
            answer = fastest(step, int(count), time.process_time if clock == "cpu" else time.perf_counter)
        print(answer, file=answers, flush=True)


main()
