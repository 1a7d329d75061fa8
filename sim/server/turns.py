"""Long work in the event loop, in turns with everybody else."""

from __future__ import annotations

import asyncio
import time

from sim.analysis.history.work import T, Work

# How long it may go on before others get their turn.
_TURN_S = 0.004


async def in_turns(work: Work[T]) -> T:
    """What the work answers. A caller who goes away ends it between two of its steps."""
    try:
        until = time.perf_counter() + _TURN_S
        while True:
            next(work)
            if time.perf_counter() > until:
                await asyncio.sleep(0)
                until = time.perf_counter() + _TURN_S
    except StopIteration as end:
        answer: T = end.value
        return answer
    finally:
        work.close()
