"""Independent runs in several processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], jobs: Sequence[T], processes: int) -> Iterator[R]:
    """`work` of every job, in the order of the jobs. Fresh interpreters, so that no run sees another's state."""
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, jobs)
