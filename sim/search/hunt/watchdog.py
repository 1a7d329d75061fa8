"""Limits the processor time of one input, so that an endless loop ends the input and not the hunt.

There is no limit where a process cannot interrupt itself: in threads of a cluster, and on Windows.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 5.0  # of processor time; the most expensive input takes less than one


class InputTimeout(Exception):
    """An input used more processor time than SECONDS."""


class Watchdog:
    """Watches a run. `current` returns the number of the current input, or 0 between two."""

    def __init__(self, current: Callable[[], int]) -> None:
        self._current = current
        self._before = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raise InputTimeout in an input that has used SECONDS of processor time, or up to twice
        that.

        A timer compares input numbers every SECONDS, so inputs have no overhead.
        """
        if not hasattr(signal, "setitimer") or not _is_main():
            yield
            return
        before = signal.signal(signal.SIGPROF, self._check)
        signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _check(self, number: int, frame: FrameType | None) -> None:
        before, self._before = self._before, self._current()
        if self._before and self._before == before:
            raise InputTimeout(f"not over after {SECONDS:g} s of processor time")


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
