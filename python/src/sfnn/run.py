"""Runs on disk: the directories of `sfnn train --out`."""

import os
import warnings
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _engine
from ._config import AnyConfig, Config, config_of
from ._devices import AnyDevice, device_of
from .data import Data
from .network import AnyPath, Network
from .progress import Bar, all_of


def _warn(line: str) -> None:
    warnings.warn(line, RuntimeWarning, stacklevel=4)


def train(
    config: Union[AnyConfig, None] = None,
    out: Optional[AnyPath] = None,
    *,
    data: Optional[Data] = None,
    data_root: AnyPath = "",
    search: Optional[tuple[float, float]] = None,
    device: AnyDevice = "auto",
    threads: int = 0,
    progress: bool = False,
    callbacks: Any = None,
) -> Union["Run", Network]:
    """Train a network, as `sfnn train` does, to the same weights, bit for bit.

    Ctrl-C, and whatever a callback raises, stop after the step that is under way: a run has its state saved, and
    `Run.resume` continues it.

    Parameters
    ----------
    config : mapping, Config or path of a TOML file
        What differs from the defaults.
    out : path, optional
        Directory of the run, which must not hold one yet. Without it nothing is written.
    data : Data, optional
        Examples in place of those that the config names. They are not stored with the run.
    data_root : path
        Where to look for data that the config names, before the program's search path.
    search : (low, high), optional
        With `out`: try the learning rates 1 and 3 x 10^k in this range on the validation examples, take the best.
    device, threads
        auto, cpu, cuda, cuda:1; 0 threads are as many as there are cores.
    progress : bool
        Show a bar.
    callbacks : callable or list of them, optional
        Called with a `Progress` after each epoch; True stops the training.

    Returns
    -------
    Run or Network
        A run if `out` is given, else the trained network.
    """
    wanted, on, callback = config_of(config), device_of(device, threads), all_of(callbacks)
    if out is None:
        if search is not None:
            raise ValueError("a search for the learning rate needs a directory: give out=")
        examples = data if data is not None else Data.load(wanted, data_root)
        training = _engine.Training(on, examples._data, wanted._config)
        with Bar(progress) as bar:
            training.run(**bar.listeners(callback))
        return Network(training.network())
    with Bar(progress) as bar:
        _engine.train_run(
            on,
            os.fspath(out),
            wanted._config,
            data=data._data if data is not None else None,
            data_root=os.fspath(data_root),
            search=search,
            warning=_warn,
            **bar.listeners(callback),
        )
    return Run(out)


class Run:
    """A run on disk, by its files, which are read when they are asked for.

    Parameters
    ----------
    directory : path
        As given to `train(out=...)` or `sfnn train --out`.
    """

    def __init__(self, directory: AnyPath) -> None:
        self._run = _engine.SavedRun(os.fspath(directory))

    @property
    def directory(self) -> Path:
        """Where it lies."""
        return Path(self._run.directory)

    @property
    def config(self) -> Config:
        """What it was asked to do."""
        return Config._of(self._run.config)

    @property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """The numbers of metrics.jsonl by key, one per epoch; NaN if there is none."""
        return self._run.metrics()

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """When, on what and from which step it was started or resumed."""
        return self._run.sessions()

    @property
    def checkpoints(self) -> list[Path]:
        """All that are kept, newest first."""
        return [Path(path) for path in self._run.checkpoints()]

    @property
    def best(self) -> Optional[Path]:
        """The checkpoint of lowest validation NLL."""
        path = self._run.best()
        return None if path is None else Path(path)

    def network(self, *, best: bool = False, device: AnyDevice = "auto", threads: int = 0) -> Network:
        """Its weights: the newest, or the best."""
        return Network.load(self.directory, best=best, device=device, threads=threads)

    def data(self, root: AnyPath = "") -> Data:
        """The data that its config names."""
        return Data(self._run.data(os.fspath(root)))

    def resume(
        self,
        *,
        epochs: Optional[int] = None,
        data: Optional[Data] = None,
        data_root: AnyPath = "",
        device: AnyDevice = "auto",
        threads: int = 0,
        progress: bool = False,
        callbacks: Any = None,
    ) -> _engine.RunResult:
        """Continue to its end, or to `epochs`, as if it had never stopped.

        Parameters are those of `train`. A run that was trained on arrays needs them again, as `data`.
        """
        with Bar(progress) as bar:
            return _engine.resume_run(
                device_of(device, threads),
                os.fspath(self.directory),
                data=data._data if data is not None else None,
                data_root=os.fspath(data_root),
                epochs=epochs,
                warning=_warn,
                **bar.listeners(all_of(callbacks)),
            )

    def report(self, path: Optional[AnyPath] = None, *, best: bool = False, data_root: AnyPath = "") -> str:
        """One HTML page about the run, also written to `path` if that is given."""
        return report([self.directory], path, best=best, data_root=data_root)

    def study(
        self, data: Optional[Data] = None, *, particles: Optional[int] = None, draws: int = 50
    ) -> list[dict[str, Any]]:
        """Bias, variance and direction of each estimator at the run's weights, as `sfnn estimators` has them.

        Returns
        -------
        list of dict
            One per estimator and weight matrix, ready for ``pandas.DataFrame``.
        """
        examples = data if data is not None else self.data()
        return _engine.study_estimators(self.network()._network, examples._data, particles, draws)

    def sample_png(
        self,
        data: Optional[Data] = None,
        *,
        rows: int = 10,
        samples: int = 10,
        first: int = 0,
        draw_pixels: bool = False,
        best: bool = False,
    ) -> bytes:
        """Test pictures, what the network was given of them and what it makes of that, as a PNG file."""
        examples = data if data is not None else self.data()
        return _engine.sample_png(self.network(best=best)._network, examples._data, rows, samples, first, draw_pixels)

    def __repr__(self) -> str:
        return f"<sfnn.Run: {self.directory}, {len(self.metrics.get('epoch', ()))} epochs>"


def report(runs: list[Any], path: Optional[AnyPath] = None, *, best: bool = False, data_root: AnyPath = "") -> str:
    """One HTML page that shows a run, or compares several: `Run` objects or directories."""
    folders = [os.fspath(run.directory if isinstance(run, Run) else run) for run in runs]
    page = _engine.report_html(device_of(), folders, best, os.fspath(data_root))
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page
