#!/usr/bin/env python3
"""Runs the experiments of the paper: what is missing of them, as many at a time as there are cores."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import document  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402

EPILOG = """
First the learning rates, by runs with validation examples, then a run of each row and seed: hours in all, minutes with
--quick. Stop it at any time: the same command continues where it stopped.

  ./run paper                          all of it, and docs/reproduction.md
  ./run paper --quick                  all rows in a tenth of the epochs, at the rates where searches begin
  ./run paper --only table1/g3-m20     that row; may be repeated; table1 stands for all of its rows
  ./run paper --only tfd               the paper's own faces, for those who have them (bench/paper/faces/tfd_to_idx.py)
  ./run paper --results mine           all of it from nothing, with none of the results that come with the sources

Data sets are looked for as sfnn train does: `./run sfnn train --help`. Results are JSON lines, below
bench/paper/results those of runs and below bench/paper/search those of searches; of --quick below build/paper/quick.
The document and the table of docs/networks.md are written from those of bench/paper alone.

Exit codes: 0 done; 1 a run or a figure failed, or no rate trains; 2 usage, or a data set that is not there; 129, 130 or
143 stopped by a signal, the runs saved."""

SUITE = harness.Suite("paper", HERE, __doc__, EPILOG, document, figures)

if __name__ == "__main__":
    harness.main(SUITE, sys.argv[1:])
