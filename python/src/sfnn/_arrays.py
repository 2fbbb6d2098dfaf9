"""Arrays as the engine reads them: float32 or uint8, rows one after another, in the CPU's memory.

What is so already is used where it lies. Everything else is converted with one copy, or refused in a sentence.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CPU = 1  # kDLCPU


def _as_numpy(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    if values.__dlpack_device__()[0] != _CPU:
        raise TypeError(f"{name} lies on another device: bring it to the CPU first, as by {name}.cpu()")
    if getattr(values, "requires_grad", False):
        values = values.detach()
    return np.from_dlpack(values)


def numbers(values: Any, name: str, *, grey: bool = False) -> NDArray[Any]:
    """Rows of numbers, [rows, cols], as float32 or, if they were bytes or bools, uint8.

    A single column may be given with one dimension, and pictures with any number of them.
    """
    array = _as_numpy(values, name)
    if array.ndim == 0:
        raise ValueError(f"{name} is a single number: rows of them are needed")
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} is of {array.dtype}")
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} is of {array.dtype}, and numbers are needed")
    if grey and array.dtype != np.uint8:
        raise ValueError(f"{name} is of {array.dtype}, and grey values are uint8")
    rows = len(array)
    array = array.reshape(rows, -1) if array.size else array.reshape(rows, int(np.prod(array.shape[1:])))
    if array.dtype == np.bool_:
        array = array.view(np.uint8) if array.flags.c_contiguous else array.astype(np.uint8)
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    return _as_float32(array, name)


def floats(values: Any, name: str, *, grey: bool = False) -> NDArray[np.float32]:
    """The same as float32: inputs of a network that is not trained on them."""
    array = numbers(values, name, grey=grey)
    if array.dtype == np.uint8:
        array = array.astype(np.float32)
        if grey:
            array *= np.float32(1) / np.float32(255)
    return array


def _from_objects(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} holds objects that are no numbers: {error}") from None


def _as_float32(array: NDArray[Any], name: str) -> NDArray[np.float32]:
    usable = array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned
    if not usable:
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(array, dtype=np.float32)
            array = np.require(array, requirements=["C", "A"])
    if not np.isfinite(array.sum(dtype=np.float64)):  # without an array of bools
        _refuse(array, name)
    return array


def _refuse(array: NDArray[np.float32], name: str) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        row, col = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} has NaN, infinity or a number too large for float32 in row {row}, column {col}")
