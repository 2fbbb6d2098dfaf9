"""A trained network: what it says of inputs, what it is worth, its weights."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _engine
from ._arrays import floats
from ._config import Config
from ._devices import AnyDevice, device_of
from ._parts import parts_of
from .data import Data, grey_of

if TYPE_CHECKING:
    from .torch_network import TorchNetwork

AnyPath = Union[str, "os.PathLike[str]"]


class Network:
    """A network with its weights on a device. Pickles as its checkpoint, which loads on any device."""

    def __init__(self, network: _engine.Network) -> None:
        self._network = network

    @classmethod
    def load(cls, path: AnyPath, *, best: bool = False, device: AnyDevice = "auto", threads: int = 0) -> "Network":
        """Read a checkpoint, or the newest one of a run directory.

        Parameters
        ----------
        path : path
            Of either.
        best : bool
            The checkpoint of lowest validation NLL instead of the newest.
        device, threads
            Where its weights go: auto, cpu, cuda, cuda:1; 0 threads are as many as there are cores.
        """
        return cls(_engine.Network.load(device_of(device, threads), os.fspath(path), best))

    @classmethod
    def from_bytes(cls, data: bytes, *, device: AnyDevice = "auto", threads: int = 0) -> "Network":
        """What `to_bytes` made."""
        return cls(_engine.Network.from_bytes(device_of(device, threads), data))

    def to_bytes(self) -> bytes:
        """A checkpoint as bytes, the same as `save` writes."""
        return self._network.to_bytes()

    def save(self, path: AnyPath) -> None:
        """Write a checkpoint (safetensors) that the program reads, too; atomically."""
        self._network.save(os.fspath(path))

    def _inputs(self, x: Any, input: str) -> NDArray[np.float32]:
        array = floats(x, "x", grey=grey_of(input))
        if array.shape[1] != self.inputs:
            raise _engine.ShapeError(f"x has {array.shape[1]} columns, and the network reads {self.inputs}")
        return array

    def predict(
        self, x: Any, *, particles: int = 100, seed: int = 1, same_draws: bool = True, input: str = "numbers"
    ) -> NDArray[np.float32]:
        """Mean of y: probabilities of classes or bits, rates, or means.

        Parameters
        ----------
        x : array_like, shape (rows, inputs)
            In the units of the training examples.
        particles : int
            Draws of the hidden units that the mean is over.
        seed : int
            Of those draws.
        same_draws : bool
            Every row has the same draws: what is said of it depends neither on its place nor on the other rows.
        input : {"numbers", "grey"}
            Meaning of uint8.

        Returns
        -------
        ndarray, shape (rows, outputs)
        """
        return self._network.predict(self._inputs(x, input), particles, seed, same_draws)

    def sample(
        self,
        x: Any,
        samples: int = 1,
        *,
        seed: int = 1,
        same_draws: bool = False,
        expected: bool = False,
        input: str = "numbers",
    ) -> NDArray[np.float32]:
        """Draws of y: bits, values, counts, or classes.

        Parameters
        ----------
        x : array_like, shape (rows, inputs)
        samples : int
            Per row.
        seed : int
        same_draws : bool
            Draws of a row do not depend on its place; rows are then not independent.
        expected : bool
            The mean of y given each draw of the hidden units, not y itself.
        input : {"numbers", "grey"}
            Meaning of uint8.

        Returns
        -------
        ndarray, shape (rows, samples, outputs)
            For classes (rows, samples), unless `expected`.
        """
        return self._network.sample(self._inputs(x, input), samples, seed, same_draws, expected)

    def evaluate(
        self, data: Data, part: str = "test", *, particles: int = 100, seed: int = 1, draws: int = 1
    ) -> _engine.Evaluation:
        """NLL and other figures on a part of the data, as `sfnn eval` has them."""
        return self._network.evaluate(data._data, part, particles, seed, draws, False, True)

    def log_likelihood(
        self, x: Any, y: Any, *, particles: int = 100, seed: int = 1, input: str = "numbers", target: str = "numbers"
    ) -> NDArray[np.float64]:
        """Estimate of log P(y|x) of each row, from below.

        The mean over `particles` draws of the hidden units is taken inside of the logarithm. Every row has the same draws,
        so that its figure does not depend on the other rows.

        Returns
        -------
        ndarray, shape (rows,)
        """
        family = self.output.split("-")[0]
        classes = self.outputs if family == "softmax" else None
        data = Data.from_arrays(x, y, output=family, classes=classes, input=input, target=target)
        return self._network.evaluate(data._data, "train", particles, seed, 1, True, False).log_p

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """A copy of the weights that it predicts with, by tensor name: "layer1.W_s" is [inputs, units], "layer1.b_s" [units], ..., "V", "c"."""
        return self._network.weights()

    def set_weights(self, weights: dict[str, Any]) -> None:
        """Change those that are listed."""
        self._network.set_weights({name: np.ascontiguousarray(w, dtype=np.float32) for name, w in weights.items()})

    def to_torch(self) -> "TorchNetwork":
        """The same network as a module of PyTorch, with a copy of the weights.

        Returns
        -------
        TorchNetwork
            An `nn.Module` with `predict`, `sample` and `log_likelihood`; its `state_dict` has the names of `weights`.
        """
        from .torch_network import TorchNetwork

        return TorchNetwork(parts_of(self))

    def to_onnx(self, path: Optional[AnyPath] = None, *, particles: int = 100) -> Any:
        """The same network as a model of ONNX, which draws its hidden units itself.

        Parameters
        ----------
        path : path, optional
            File to write.
        particles : int
            Draws of the hidden units for each row.

        Returns
        -------
        onnx.ModelProto
            Input x [rows, inputs]; outputs mean [rows, outputs], draws [particles, rows, outputs], the mean of y given
            each draw of the hidden units, and the draws themselves: "layer1.h" [particles, rows, units], ...
        """
        from .onnx_network import model_of

        if particles < 1:
            raise ValueError("particles must be at least 1")
        model = model_of(parts_of(self), particles)
        if path is not None:
            Path(path).write_bytes(model.SerializeToString())
        return model

    @property
    def config(self) -> Config:
        """What it was trained with."""
        return Config._of(self._network.config)

    @property
    def output(self) -> str:
        """Distribution of y."""
        return self._network.output

    @property
    def inputs(self) -> int:
        """Numbers of an x."""
        return self._network.inputs

    @property
    def outputs(self) -> int:
        """Numbers of a y; softmax: classes."""
        return self._network.outputs

    @property
    def hidden(self) -> list[str]:
        """Hidden layers: "200s" stochastic, "200d" deterministic, ..."""
        return self._network.hidden

    @property
    def parameter_count(self) -> int:
        """Numbers that were trained."""
        return self._network.parameter_count

    @property
    def step(self) -> int:
        """Steps that it was trained."""
        return self._network.step

    @property
    def device(self) -> _engine.Device:
        """Where it lies."""
        return self._network.device

    def __repr__(self) -> str:
        return f"<sfnn.Network: {self._network.description}, {self.parameter_count} parameters, step {self.step}>"

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Network.from_bytes, (self.to_bytes(),)


