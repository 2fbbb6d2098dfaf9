"""Networks with scikit-learn's manners."""

import json
import numbers as kinds
from pathlib import Path
from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _engine
from ._config import Config
from ._devices import device_of
from .data import Data
from .network import AnyPath, Network
from .progress import Bar, all_of

_PARAMETERS = """
    Parameters
    ----------
    hidden : str or list of str
        Hidden layers: "100s" stochastic, "100d" deterministic, "20s+80d" both; "200s,200s" are two.
    particles : int
        Draws of the hidden units per example and step.
    gradient : str
        Gradient estimator of stochastic units (``train.estimator`` of a config): G1 to G5 and others.
    epochs : int
        Passes over the training examples.
    batch_size : int
        Examples per step.
    learning_rate : float
        Its peak.
    optimizer : {{"adam", "adamw", "sgd", "nesterov"}}
    schedule : {{"cosine", "paper", "constant"}}
        How the rate falls; `partial_fit` keeps it constant.
    standardize : bool
        {standardize}
    input : {{"numbers", "grey"}}
        Meaning of uint8 in X: numbers, or grey values of which 255 is 1.{more}
    predict_particles : int
        Draws of the hidden units behind predictions and likelihoods.
    config : dict, optional
        Any other option of a config, by its key: ``{{"train.clip_norm": 1}}``.
    random_state : int, RandomState or None
        Seed of weights and draws. The same seed gives the same bits.
    device : str
        auto, cpu, cuda, cuda:1.
    threads : int
        Of the CPU; 0: as many as there are cores. Their number does not change results.
    verbose : bool
        Show progress.
    callbacks : callable or list of them, optional
        Called with a `Progress` after each epoch; True stops the training.

    Attributes
    ----------
    network_ : Network
        What was trained.
    n_features_in_ : int
        Columns of X."""


def _documented(standardize: str, more: str = "") -> Any:
    def put(kind: type) -> type:
        assert kind.__doc__
        kind.__doc__ = kind.__doc__.rstrip() + "\n" + _PARAMETERS.format(standardize=standardize, more=more) + "\n    "
        return kind

    return put


class _Estimator(BaseEstimator):
    """What the three have in common: X and y become `Data`, parameters a config, and the engine trains."""

    _output = "softmax"  # distribution of the targets
    _shape: tuple[int, ...]  # of a row's target
    network_: Network
    n_features_in_: int

    def __init__(
        self,
        hidden: Any = "100s",
        *,
        particles: int = 20,
        gradient: str = "G3",
        epochs: int = 100,
        batch_size: int = 100,
        learning_rate: float = 0.01,
        optimizer: str = "adam",
        schedule: str = "cosine",
        standardize: bool = True,
        input: str = "numbers",
        predict_particles: int = 100,
        config: Optional[dict[str, Any]] = None,
        random_state: Any = None,
        device: str = "auto",
        threads: int = 0,
        verbose: bool = False,
        callbacks: Any = None,
    ) -> None:
        self.hidden = hidden
        self.particles = particles
        self.gradient = gradient
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.schedule = schedule
        self.standardize = standardize
        self.input = input
        self.predict_particles = predict_particles
        self.config = config
        self.random_state = random_state
        self.device = device
        self.threads = threads
        self.verbose = verbose
        self.callbacks = callbacks

    # --- what differs

    def _targets(self, y: np.ndarray, *, first: bool) -> np.ndarray:
        """y as the engine reads it; first: its classes are taken down."""
        return y

    def _outputs(self) -> Optional[int]:
        """Number of classes."""
        return None

    def _more_config(self) -> dict[str, Any]:
        return {}

    # --- training

    def _seed(self) -> int:
        if isinstance(self.random_state, kinds.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _config(self, **changes: Any) -> Config:
        return Config(
            {
                "net.hidden": self.hidden,
                "train.particles": self.particles,
                "train.estimator": self.gradient,
                "train.epochs": self.epochs,
                "train.batch": self.batch_size,
                "train.learning_rate": float(self.learning_rate),
                "train.optimizer": self.optimizer,
                "train.schedule": self.schedule,
                "eval.particles": self.predict_particles,
                **self._more_config(),
                **(self.config or {}),
                **changes,
            }
        )

    def _validated(self, X: Any, y: Any = None, *, first: bool = False) -> Any:
        if y is None and not first:
            return validate_data(self, _flat(X), dtype="numeric", reset=False)
        X, flat_y = validate_data(
            self, _flat(X), _flat(y), dtype="numeric", reset=first, multi_output=self._output != "softmax"
        )
        if first:
            self._shape = tuple(y.shape[1:]) if getattr(y, "ndim", 0) > 2 else flat_y.shape[1:]
        return X, flat_y

    def _data(self, X: Any, y: np.ndarray) -> Data:
        units = ("both" if self._output == "gaussian" else "x") if self.standardize else "none"
        return Data.from_arrays(
            X,
            y,
            output=self._output,
            classes=self._outputs(),
            standardize=units,
            input=self.input,
            target=getattr(self, "target", "numbers"),
        )

    def _run(self, training: _engine.Training) -> None:
        # Whatever ends it, Ctrl-C as well, what was learnt until then is kept.
        try:
            with Bar(bool(self.verbose)) as bar:
                training.run(**bar.listeners(all_of(self.callbacks)))
        finally:
            self.network_ = Network(training.network())

    def fit(self, X: Any, y: Any) -> Any:
        """Train from the beginning.

        Parameters
        ----------
        X : array_like, shape (rows, features)
        y : array_like
            A target per row.

        Returns
        -------
        self
        """
        X, y = self._validated(X, y, first=True)
        config = self._config(seed=self._seed())
        data = self._data(X, self._targets(y, first=True))
        self._run(_engine.Training(device_of(self.device, self.threads), data._data, config._config))
        return self

    def _partial_fit(self, X: Any, y: Any) -> Any:
        first = not hasattr(self, "network_")
        X, y = self._validated(X, y, first=first)
        data = self._data(X, self._targets(y, first=first))
        changes = {"train.epochs": 1, "train.schedule": "constant", "train.warmup_epochs": 0}
        seed = self._seed() if first else self.network_.config["seed"]
        config = self._config(seed=seed, **changes)._config
        if first:
            training = _engine.Training(device_of(self.device, self.threads), data._data, config)
        else:
            training = _engine.Training.extend(self.network_._network, data._data, config)
        self._run(training)
        return self

    # --- what a network says

    def _means(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._validated(X)
        return self.network_.predict(X, particles=self.predict_particles, input=self.input).astype(np.float64)

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw targets.

        Parameters
        ----------
        X : array_like, shape (rows, features)
        n : int
            Draws per row.
        random_state : int, RandomState or None

        Returns
        -------
        ndarray, shape (rows, n) or (rows, n, outputs)
        """
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self._drawn(self.network_.sample(self._validated(X), n, seed=seed, input=self.input))

    def _drawn(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)

    def log_likelihood(self, X: Any, y: Any, particles: Optional[int] = None) -> np.ndarray:
        """Estimate of log P(y|x) of each row, from below; closer with more particles.

        Returns
        -------
        ndarray, shape (rows,)
        """
        check_is_fitted(self)
        X, y = self._validated(X, y)
        return self.network_.log_likelihood(
            X,
            self._targets(y, first=False),
            particles=particles or self.predict_particles,
            input=self.input,
            target=getattr(self, "target", "numbers"),
        )

    # --- files

    def _kept(self) -> dict[str, Any]:
        """What a checkpoint does not know of an estimator."""
        plain = {name: value for name, value in self.get_params(deep=False).items() if _is_plain(value)}
        return {"estimator": type(self).__name__, "parameters": plain}

    def _restore(self, kept: dict[str, Any]) -> None:
        self.n_features_in_ = self.network_.inputs

    def save(self, path: AnyPath) -> None:
        """Write a checkpoint that `sfnn` reads, too, and beside it, as .json, the parameters and class labels."""
        check_is_fitted(self)
        kept = json.dumps(self._kept(), indent=1)
        self.network_.save(path)
        Path(path).with_suffix(".json").write_text(kept + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: AnyPath, *, device: str = "auto", threads: int = 0) -> Any:
        """Read what `save` wrote, or any checkpoint or run directory of `sfnn` with targets of this kind."""
        beside = Path(path).with_suffix(".json")
        kept = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
        estimator = cls(**{**kept.get("parameters", {}), "device": device, "threads": threads})
        estimator.network_ = Network.load(path, device=device, threads=threads)
        family = estimator.network_.output.split("-")[0]
        if not estimator._takes(family):
            raise ValueError(f"{path} holds a network with {family} targets: {cls.__name__} has others")
        estimator._restore(kept)
        return estimator

    def _takes(self, family: str) -> bool:
        return family == self._output


def _flat(values: Any) -> Any:
    """Pictures as rows."""
    return values.reshape(len(values), -1) if getattr(values, "ndim", 0) > 2 else values


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


@_documented("Let the network see features with means of 0 and standard deviations of 1.")
class SFNNClassifier(ClassifierMixin, _Estimator):
    """Classifier by a stochastic feedforward network."""

    classes_: np.ndarray
    _classes_to_come: Any = None

    def _targets(self, y: np.ndarray, *, first: bool) -> np.ndarray:
        if first:
            check_classification_targets(y)
            self.classes_ = np.unique(y if self._classes_to_come is None else self._classes_to_come)
        places = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if np.any(self.classes_[places] != y):
            raise ValueError(f"y has classes that are not among the known ones: {list(self.classes_)}")
        return places.astype(np.float32)

    def _outputs(self) -> int:
        return max(2, len(self.classes_))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "SFNNClassifier":
        """Train one epoch at a constant rate, from where the last call left off.

        Parameters
        ----------
        X : array_like, shape (rows, features)
        y : array_like, shape (rows,)
        classes : array_like, optional
            All that will ever come. Read by the first call, which takes those of `y` without it.

        Returns
        -------
        self
        """
        self._classes_to_come = classes
        try:
            return self._partial_fit(X, y)
        finally:
            del self._classes_to_come

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        p = self._means(X)
        p = p[:, : len(self.classes_)]
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def _drawn(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[np.minimum(y.astype(np.int64), len(self.classes_) - 1)]

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "classes": self.classes_.tolist()}

    def _restore(self, kept: dict[str, Any]) -> None:
        super()._restore(kept)
        self.classes_ = np.array(kept.get("classes", range(self.network_.outputs)))


class _MeanPredictor(_Estimator):
    """Targets are numbers, one per row or several."""

    def _more_config(self) -> dict[str, Any]:
        return {"net.sigma": "learnt"} if self._output == "gaussian" else {}

    def partial_fit(self, X: Any, y: Any) -> Any:
        """Train one epoch at a constant rate, from where the last call left off.

        Parameters
        ----------
        X : array_like, shape (rows, features)
        y : array_like
            A target per row.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        """Mean of each row's target, in its shape."""
        return self._drawn(self._means(X))

    def _drawn(self, y: np.ndarray) -> np.ndarray:
        return y.reshape(y.shape[:-1] + self._shape).astype(np.float64, copy=False)

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "shape": self._shape}

    def _restore(self, kept: dict[str, Any]) -> None:
        super()._restore(kept)
        outputs = self.network_.outputs
        self._shape = tuple(kept.get("shape", () if outputs == 1 else (outputs,)))


@_documented("Let the network see features and targets with means of 0 and standard deviations of 1.")
class SFNNRegressor(RegressorMixin, _MeanPredictor):
    """Regressor by a stochastic feedforward network, whose targets may have several modes.

    `predict` gives the mean; `sample` and `log_likelihood` have the whole distribution. The standard deviation around each
    mode is learnt; ``config={"net.sigma": "predicted"}`` and others change that.
    """

    _output = "gaussian"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@_documented(
    "Let the network see features, and Gaussian targets, with means of 0 and standard deviations of 1.",
    """
    output : {"bernoulli", "gaussian", "poisson"}
        Distribution of the targets: bits or numbers in 0 .. 1, any numbers, or counts.
    target : {"numbers", "grey"}
        Meaning of uint8 in y.""",
)
class SFNN(_MeanPredictor):
    """Structured targets, whose parts depend on each other: bits, pictures, counts or numbers, in any shape."""

    def __init__(
        self,
        hidden: Any = "100s",
        *,
        output: str = "bernoulli",
        particles: int = 20,
        gradient: str = "G3",
        epochs: int = 100,
        batch_size: int = 100,
        learning_rate: float = 0.01,
        optimizer: str = "adam",
        schedule: str = "cosine",
        standardize: bool = True,
        input: str = "numbers",
        target: str = "numbers",
        predict_particles: int = 100,
        config: Optional[dict[str, Any]] = None,
        random_state: Any = None,
        device: str = "auto",
        threads: int = 0,
        verbose: bool = False,
        callbacks: Any = None,
    ) -> None:
        super().__init__(
            hidden,
            particles=particles,
            gradient=gradient,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            optimizer=optimizer,
            schedule=schedule,
            standardize=standardize,
            input=input,
            predict_particles=predict_particles,
            config=config,
            random_state=random_state,
            device=device,
            threads=threads,
            verbose=verbose,
            callbacks=callbacks,
        )
        self.output = output
        self.target = target

    @property
    def _output(self) -> str:  # type: ignore[override]
        return self.output

    def _takes(self, family: str) -> bool:
        self.output = family
        return family != "softmax"

    def score(self, X: Any, y: Any) -> float:
        """Mean of `log_likelihood`."""
        return float(self.log_likelihood(X, y).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
