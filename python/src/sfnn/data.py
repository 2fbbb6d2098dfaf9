"""Examples to train and to test on."""

import os
from typing import Any, Optional, Union


from . import _engine
from ._arrays import numbers
from ._config import AnyConfig, config_of

INPUTS = ("numbers", "grey")
PARTS = ("train", "valid", "test")


def grey_of(input: str) -> bool:
    """Whether uint8 inputs are grey values."""
    if input not in INPUTS:
        raise ValueError(f"input '{input}' is not known: use numbers or grey")
    return input == "grey"


class Data:
    """Examples: x, what a network is given, and y, what it is to say of it. They never change."""

    def __init__(self, data: _engine.Data) -> None:
        self._data = data

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        y: Any,
        *,
        output: str = "bernoulli",
        classes: Optional[int] = None,
        test: Optional[tuple[Any, Any]] = None,
        valid: Optional[tuple[Any, Any]] = None,
        center: bool = False,
        standardize: str = "none",
        input: str = "numbers",
        target: str = "numbers",
    ) -> "Data":
        """Examples out of arrays.

        Arrays of float32, uint8 or bool with rows one after another are used where they lie, and must not change as long
        as the data are in use; others are converted with one copy.

        Parameters
        ----------
        x, y : array_like
            One example per row; of NumPy, or anything with DLPack in the CPU's memory, as tensors of PyTorch are. Softmax:
            y has one class per example, from 0.
        output : {"bernoulli", "softmax", "gaussian", "poisson"}
            Distribution of y.
        classes : int, optional
            How many there are; without it, as many as y needs.
        test, valid : (x, y), optional
            More examples. A run in a directory needs some for its test.
        center : bool
            Take the mean of the training inputs off x.
        standardize : {"none", "x", "y", "both"}
            What the network sees with means of 0 and standard deviations of 1.
        input, target : {"numbers", "grey"}
            Meaning of uint8: numbers, or grey values of which 255 is 1.

        Raises
        ------
        ValueError
            If the values are none that the output can have, or none at all; DataError is one.
        """
        grey_x, grey_y = grey_of(input), grey_of(target)
        arrays: list[Any] = []
        for part, pair in zip(PARTS, ((x, y), valid, test)):
            if pair is None:
                arrays += [None, None]
                continue
            of = "" if part == "train" else f" of {part}"
            a, b = numbers(pair[0], f"x{of}", grey=grey_x), numbers(pair[1], f"y{of}", grey=grey_y)
            if len(a) != len(b):
                raise ValueError(f"x and y{of} have {len(a)} and {len(b)} rows")
            arrays += [a, b]
        x, y, x_valid, y_valid, x_test, y_test = arrays
        outputs = y.shape[1]
        if output == "softmax":
            outputs = classes if classes is not None else int(y.max(initial=0)) + 1
        return cls(
            _engine.Data.from_arrays(
                x, y, output, outputs, x.shape[1], center, standardize, grey_x, grey_y, x_test, y_test, x_valid, y_valid
            )
        )

    @classmethod
    def load(cls, config: AnyConfig, root: Union[str, "os.PathLike[str]"] = "") -> "Data":
        """The data that a config names, from `root` or the program's search path."""
        return cls(_engine.Data.load(config_of(config)._config, os.fspath(root)))

    @property
    def name(self) -> str:
        """What they are, for people."""
        return self._data.name

    @property
    def output(self) -> str:
        """Distribution of y."""
        return self._data.output

    @property
    def inputs(self) -> int:
        """Numbers of an x."""
        return self._data.inputs

    @property
    def outputs(self) -> int:
        """Numbers of a y; softmax: classes."""
        return self._data.outputs

    @property
    def has_pictures(self) -> bool:
        """Whether the targets are pictures."""
        return self._data.has_pictures

    def examples(self, part: str = "train") -> int:
        """Number of examples of a part: train, valid or test."""
        return self._data.examples(part)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.examples(part)} {part}" for part in PARTS)
        return f"<sfnn.Data: {self.name}, {self.inputs} -> {self.outputs} {self.output}; {counts}>"


