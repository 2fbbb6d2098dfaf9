"""Devices, made once per process and kind."""

import os
from typing import Union

from . import _engine

AnyDevice = Union[_engine.Device, str]
_made: dict[tuple[int, str, int], _engine.Device] = {}


def device_of(device: AnyDevice = "auto", threads: int = 0) -> _engine.Device:
    """A device by name: auto, cpu, cuda, cuda:1. A forked process makes its own."""
    if isinstance(device, _engine.Device):
        return device
    key = (os.getpid(), device, threads)
    if key not in _made:
        _made[key] = _engine.Device(device, threads)
    return _made[key]
