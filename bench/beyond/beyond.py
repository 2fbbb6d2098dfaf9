#!/usr/bin/env python3
"""Runs the experiments beyond the paper: what is missing of them, as many at a time as there are cores."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import document  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402

EPILOG = """
First the learning rates, by short runs with validation examples, then a run of each row and seed, at most an hour each:
hours in all, less with --quick. Stop it at any time: the same command continues where it stopped.

  ./run beyond                         all of it, and docs/beyond.md
  ./run beyond --quick                 all rows in a tenth of the epochs or less, at the rates where searches begin
  ./run beyond --only halves-r/s2      that row; may be repeated; halves-r stands for all of its rows
  ./run beyond --document              docs/beyond.md from the results alone

Data sets are looked for as sfnn train does: `./run sfnn train --help`. Results are JSON lines, below
bench/beyond/results those of runs and below bench/beyond/search those of searches; of --quick below build/beyond/quick.

Exit codes: 0 done; 1 a run or a figure failed, or no rate trains; 2 usage, or a data set that is not there; 129, 130 or
143 stopped by a signal, the runs saved."""

SUITE = harness.Suite("beyond", HERE, __doc__, EPILOG, document, figures)

if __name__ == "__main__":
    harness.main(SUITE, sys.argv[1:])
