"""Long work in the event loop that yields to other tasks."""

from __future__ import annotations

import asyncio
import time

from sim.read.history.work import T, Work

# Longest time without yielding.
_SLICE_S = 0.004


async def in_slices(work: Work[T]) -> T:
    """The result of the work. If the caller is cancelled, the work ends between two
    of its steps.
    """
    try:
        until = time.perf_counter() + _SLICE_S
        while True:
            next(work)
            if time.perf_counter() > until:
                await asyncio.sleep(0)
                until = time.perf_counter() + _SLICE_S
    except StopIteration as end:
        answer: T = end.value
        return answer
    finally:
        work.close()
