"""A config as Python has it."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Union

from . import _engine


def _text(value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    if isinstance(value, float):
        return repr(float(value))  # the shortest digits that read back as the same number
    return str(value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


class Config(MutableMapping[str, str]):
    """Every option of a run, by its key, as `sfnn train --help` lists them.

    Parameters
    ----------
    values : mapping, optional
        Values that differ from the defaults: ``{"net.hidden": "200s,200s", "train.epochs": 5}``, or in tables,
        ``{"train": {"epochs": 5}}``. Lists, bools and numbers may be given as such; None stands for ``auto``.

    Raises
    ------
    ConfigError
        If a key is not known or a value is not allowed.
    """

    def __init__(self, values: Union[Mapping[str, Any], None] = None, **tables: Mapping[str, Any]) -> None:
        self._config = _engine.RunConfig()
        for key, value in _flat({**(values or {}), **tables}):
            self[key] = value

    @classmethod
    def _of(cls, config: _engine.RunConfig) -> "Config":
        made = cls()
        made._config = config
        return made

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "Config":
        """Read a TOML file."""
        return cls._of(_engine.RunConfig.from_file(os.fspath(path)))

    @classmethod
    def from_toml(cls, text: str) -> "Config":
        """Read TOML."""
        return cls._of(_engine.RunConfig.from_toml(text))

    def to_toml(self) -> str:
        """Every option with its help, as a run directory has it."""
        return self._config.to_toml()

    def validate(self) -> None:
        """Check what concerns several keys."""
        self._config.validate()

    @staticmethod
    def options() -> list[_engine.ConfigOption]:
        """All keys there are, with default, help and choices."""
        return _engine.RunConfig.options()

    def __getitem__(self, key: str) -> str:
        try:
            return self._config.get(key)
        except _engine.ConfigError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Any) -> None:
        self._config.set(key, _text(value))

    def __delitem__(self, key: str) -> None:
        """Back to the default."""
        self[key] = _engine.RunConfig().get(key)

    def __iter__(self) -> Iterator[str]:
        return (option.key for option in self.options())

    def __len__(self) -> int:
        return len(self.options())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._config == other._config

    def __repr__(self) -> str:
        changed = {option.key: self[option.key] for option in self.options() if self[option.key] != option.default}
        return f"Config({changed})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Config.from_toml, (self.to_toml(),)

    def copy(self) -> "Config":
        """A config of its own."""
        return Config._of(_engine.RunConfig(self._config))


AnyConfig = Union[Config, Mapping[str, Any], str, "os.PathLike[str]"]


def config_of(config: Union[AnyConfig, None]) -> Config:
    """A config of one's own out of what callers give: a mapping, or the path of a TOML file."""
    if isinstance(config, Config):
        return config.copy()
    if config is None or isinstance(config, Mapping):
        return Config(config)
    return Config.from_file(config)
