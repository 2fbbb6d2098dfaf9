"""Train binary stochastic feedforward networks, and draw from them.

`train` and `Run` have the engine's manners: configs, run directories, checkpoints. `SFNNClassifier`, `SFNNRegressor` and
`SFNN` have scikit-learn's, and need it. docs/python.md shows both.
"""

from typing import TYPE_CHECKING, Any

from ._config import Config
from ._engine import (
    ConfigError,
    DataError,
    Error,
    Evaluation,
    Progress,
    RunResult,
    SaveError,
    ShapeError,
    library_version,
    list_devices,
)
from .data import Data
from .network import Network
from .run import Run, report, train

if TYPE_CHECKING:
    from .estimators import SFNN, SFNNClassifier, SFNNRegressor

__version__: str = library_version()
__all__ = [
    "Config",
    "ConfigError",
    "Data",
    "DataError",
    "Error",
    "Evaluation",
    "Network",
    "Progress",
    "Run",
    "RunResult",
    "SFNN",
    "SFNNClassifier",
    "SFNNRegressor",
    "SaveError",
    "ShapeError",
    "list_devices",
    "report",
    "train",
]

_ESTIMATORS = ("SFNN", "SFNNClassifier", "SFNNRegressor")


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and not everybody has it.
    if name in _ESTIMATORS:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'sfnn' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
