"""Progress in terminals and notebooks."""

import sys
from types import TracebackType
from typing import Any, Callable, Optional, Union

from ._engine import Progress

Callback = Callable[[Progress], Any]


def _figures(progress: Progress) -> str:
    shown = [f"C_hat {progress.C_hat:.3f}"]
    if progress.valid_nll is not None:
        shown.append(f"valid NLL {progress.valid_nll:.3f}")
    if progress.valid_nll_proposal is not None:
        shown.append(f"by R {progress.valid_nll_proposal:.3f}")
    if progress.valid_error is not None:
        shown.append(f"valid error {100 * progress.valid_error:.2f} %")
    return ", ".join(shown)


class Bar:
    """A bar over the steps by tqdm, or, if that is not installed, a line per epoch. Shown while the `with` lasts."""

    def __init__(self, show: bool) -> None:
        self._show = show
        self._bar: Any = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def _open(self, progress: Progress) -> Any:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(total=progress.total_steps, unit="step", dynamic_ncols=True)

    def step(self, progress: Progress) -> None:
        """After a step."""
        self._bar = self._bar or self._open(progress)
        if self._bar is not None:
            self._bar.update(progress.step - self._bar.n)

    def epoch(self, progress: Progress) -> None:
        """After an epoch."""
        if self._bar is None:
            print(f"epoch {progress.epoch}/{progress.epochs}  {_figures(progress)}", file=sys.stderr)
        else:
            self._bar.set_postfix_str(_figures(progress))

    def listeners(self, callback: Union[Callback, None]) -> dict[str, Union[Callback, None]]:
        """What the engine calls: the bar, if it is shown, and a callback of the user's, which may stop by True."""
        if not self._show:
            return {"step": None, "epoch": callback}

        def epoch(progress: Progress) -> Any:
            self.epoch(progress)
            return callback(progress) if callback is not None else None

        return {"step": self.step, "epoch": epoch}


def all_of(callbacks: Any) -> Union[Callback, None]:
    """One callback out of none, one or several; all are called, and any may stop."""
    if callbacks is None or callable(callbacks):
        return callbacks
    several = list(callbacks)

    def call(progress: Progress) -> bool:
        return any([callback(progress) is True for callback in several])

    return call
