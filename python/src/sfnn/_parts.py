"""A network taken apart, for those who build it again elsewhere: PyTorch, ONNX."""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .network import Network

Array = NDArray[np.float32]

MAX_LOG_RATE = 20.0  # rates of counts: exp(o) up to here, then a straight line
SIGMA_FLOOR = 0.001  # a free sigma is floor + (1 - floor) exp(rho)


@dataclass
class Layer:
    """z becomes s = u <= sigma(z W_s + b_s), then d = f(z W_d + s U + b_d); it hands on d, or s if there is no d."""

    n_s: int
    n_d: int
    fixed: bool  # p of s is 1/2
    activation: str  # f: d (sigmoid), tanh, relu
    W_s: Optional[Array] = None
    b_s: Optional[Array] = None
    W_d: Optional[Array] = None
    U: Optional[Array] = None
    b_d: Optional[Array] = None

    def tensors(self) -> dict[str, Array]:
        """Those that it has, by the names of a checkpoint."""
        every = {"W_s": self.W_s, "b_s": self.b_s, "W_d": self.W_d, "U": self.U, "b_d": self.b_d}
        return {name: values for name, values in every.items() if values is not None}


@dataclass
class Parts:
    """All that a network computes with, as it predicts."""

    inputs: int
    outputs: int
    output: str  # as Network.output
    sigma: float  # of "gaussian", in the targets' own units
    layers: list[Layer]
    V: Array
    c: Array
    rho: Optional[Array]
    x_mean: Array
    x_scale: Array
    y_mean: Array
    y_scale: Array


def _read(checkpoint: bytes) -> tuple[dict[str, Array], dict[str, Any]]:
    """Tensors and network of a checkpoint: a safetensors file."""
    start = 8 + int.from_bytes(checkpoint[:8], "little")
    header = json.loads(checkpoint[8:start])
    network = json.loads(header.pop("__metadata__")["sfnn.checkpoint"])["network"]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "F32":
            values = np.frombuffer(checkpoint[start + begin : start + end], np.float32)
            tensors[name] = values.reshape(entry["shape"]).copy()
    return tensors, network


def _layer(text: str, tensors: dict[str, Array], as_stochastic: bool) -> Layer:
    stochastic = re.match(r"(\d+)([sn])", text)
    deterministic = re.search(r"(\d+)(d|tanh|relu)$", text)
    layer = Layer(
        n_s=int(stochastic[1]) if stochastic else 0,
        n_d=int(deterministic[1]) if deterministic else 0,
        fixed=bool(stochastic and stochastic[2] == "n"),
        activation=deterministic[2] if deterministic else "d",
        **tensors,
    )
    if as_stochastic:  # what was trained as deterministic is read as probabilities
        layer = Layer(layer.n_d, 0, False, "d", W_s=layer.W_d, b_s=layer.b_d)
    return layer


def parts_of(network: "Network") -> Parts:
    """The network's parts, with the weights and units that it predicts with."""
    tensors, spec = _read(network.to_bytes())
    weights, as_stochastic = network.weights(), network.config["eval.as_stochastic"] == "true"
    layers = []
    for number, text in enumerate(network.hidden, 1):
        prefix = f"layer{number}."
        own = {name[len(prefix) :]: values for name, values in weights.items() if name.startswith(prefix)}
        layers.append(_layer(text, own, as_stochastic))
    inputs, outputs = network.inputs, network.outputs
    ones, zeros = np.ones, np.zeros
    return Parts(
        inputs=inputs,
        outputs=outputs,
        output=network.output,
        sigma=float(spec.get("sigma", 1)),
        layers=layers,
        V=weights["V"],
        c=weights["c"],
        rho=weights.get("rho"),
        x_mean=tensors.get("x_mean", zeros(inputs, np.float32)),
        x_scale=tensors.get("x_scale", ones(inputs, np.float32)),
        y_mean=tensors.get("y_mean", zeros(outputs, np.float32)),
        y_scale=tensors.get("y_scale", ones(outputs, np.float32)),
    )
