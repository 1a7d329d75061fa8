"""Garbage collection of a process that does nothing but serve.

A process that only has a server in a thread, as tests do, collects as its owner likes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (20_000, 20, 50)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Exclude the world, which stays, from garbage collection, and collect rarely, because there
    are few cycles. A program that runs a command of ours may go on: in the end all is as before.
    """
    before = gc.get_threshold()
    if gc.isenabled():
        gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()
    gc.callbacks.append(_freeze_survivors)
    try:
        yield
    finally:
        release()
        gc.callbacks.remove(_freeze_survivors)
        gc.set_threshold(*before)


def release() -> None:
    """Include everything again, once: many objects become garbage now."""
    if _freeze_survivors in gc.callbacks:
        gc.unfreeze()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    """Exclude what a full collection has left from later ones, which would take longer and longer
    as the run grows.
    """
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
