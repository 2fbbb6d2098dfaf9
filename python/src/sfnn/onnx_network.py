"""A network as a graph of ONNX. Imported by `Network.to_onnx`.

Bits are made by comparing a uniform with p. The operator Bernoulli is not used: its own definition compares the other way
round, and onnxruntime draws 1 with probability 1 - p.
"""

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from ._parts import MAX_LOG_RATE, Layer, Parts

_OPSET, _IR_VERSION = 17, 9  # old enough for runtimes of the last years
_ACTIVATIONS = {"d": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, name: str = "") -> str:
        name = name or f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name


def _affine(graph: _Graph, z: str, layer: Layer, prefix: str, kind: str) -> str:
    tensors = layer.tensors()
    product = graph.node("MatMul", z, graph.constant(tensors[f"W_{kind}"], f"{prefix}.W_{kind}"))
    return graph.node("Add", product, graph.constant(tensors[f"b_{kind}"], f"{prefix}.b_{kind}"))


def _bits(graph: _Graph, z: str, layer: Layer, prefix: str) -> str:
    if layer.fixed:  # p = 1/2 for each row and particle
        rows = graph.node("Slice", graph.node("Shape", z), graph.constant([0]), graph.constant([2]))
        shape = graph.node("Concat", rows, graph.constant([layer.n_s]), axis=0)
        half = numpy_helper.from_array(np.array([0.5], np.float32))
        p = graph.node("ConstantOfShape", shape, value=half)
    else:
        p = graph.node("Sigmoid", _affine(graph, z, layer, prefix, "s"))
    u = graph.node("RandomUniformLike", p, low=0.0, high=1.0)  # in [0, 1): hence <, and the engine's u <= p
    return graph.node("Cast", graph.node("Less", u, p), name=f"{prefix}.h", to=TensorProto.FLOAT)


def _layer(graph: _Graph, z: str, layer: Layer, prefix: str) -> str:
    s = _bits(graph, z, layer, prefix) if layer.n_s else ""
    if not layer.n_d:
        return s
    a = _affine(graph, z, layer, prefix, "d")
    if s:
        assert layer.U is not None
        a = graph.node("Add", a, graph.node("MatMul", s, graph.constant(layer.U, f"{prefix}.U")))
    return graph.node(_ACTIVATIONS[layer.activation], a)


def _means(graph: _Graph, o: str, parts: Parts) -> str:
    name = "draws"
    if parts.output == "softmax":
        return graph.node("Softmax", o, name=name, axis=-1)
    if parts.output == "bernoulli":
        return graph.node("Sigmoid", o, name=name)
    if parts.output == "poisson":
        most = graph.constant(np.float32(MAX_LOG_RATE))
        base = graph.node("Exp", graph.node("Min", o, most))
        beyond = graph.node("Relu", graph.node("Sub", o, most))
        return graph.node("Mul", base, graph.node("Add", beyond, graph.constant(np.float32(1))), name=name)
    first = [graph.constant([value]) for value in (0, parts.outputs, 2)]
    scaled = graph.node("Mul", graph.node("Slice", o, *first), graph.constant(parts.y_scale, "y_scale"))
    return graph.node("Add", scaled, graph.constant(parts.y_mean, "y_mean"), name=name)


def model_of(parts: Parts, particles: int) -> ModelProto:
    """x [rows, inputs] to mean [rows, outputs], draws [particles, rows, outputs] and the bits of each layer."""
    graph = _Graph()
    shape = graph.node("Concat", graph.constant([particles]), graph.node("Shape", "x"), axis=0)
    centred = graph.node("Sub", "x", graph.constant(parts.x_mean, "x_mean"))
    z = graph.node("Expand", graph.node("Div", centred, graph.constant(parts.x_scale, "x_scale")), shape)
    for number, layer in enumerate(parts.layers, 1):
        z = _layer(graph, z, layer, f"layer{number}")
    o = graph.node("Add", graph.node("MatMul", z, graph.constant(parts.V, "V")), graph.constant(parts.c, "c"))
    draws = _means(graph, o, parts)
    graph.node("ReduceMean", draws, name="mean", axes=[0], keepdims=0)

    def value(name: str, *shape: Any) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))

    outputs = [value("mean", "rows", parts.outputs), value("draws", particles, "rows", parts.outputs)]
    for number, layer in enumerate(parts.layers, 1):
        if layer.n_s:
            outputs.append(value(f"layer{number}.h", particles, "rows", layer.n_s))
    made = helper.make_graph(graph.nodes, "sfnn", [value("x", "rows", parts.inputs)], outputs, graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="sfnn")
    model.ir_version = _IR_VERSION
    checker.check_model(model)
    return model
