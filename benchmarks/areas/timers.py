"""Virtual timers, scheduled at random instants and then fired in order.

The floors are a bare heap of the same tuples, and simpy and looptime where they are installed
(`python -m benchmarks.peers`).
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from heapq import heappop, heappush
from time import thread_time

from benchmarks.figures import Figure, Goal
from sim.kernel.timers import TimerQueue

COUNTS = (10_000, 100_000, 1_000_000)
LOOPTIME_MAX = 10_000  # an event loop goes round for every timer: more would take minutes
FAR = 10**15


def figures(rounds: int) -> list[Figure]:
    """Timers a second, scheduled and fired, over three decades."""
    return [
        row
        for count in COUNTS
        for row in _rows(count, max(3, rounds // 2) if count == COUNTS[-1] else rounds)
    ]


def _rows(count: int, rounds: int) -> list[Figure]:
    rng = random.Random(count)
    dues = [rng.randrange(FAR) for _ in range(count)]
    contenders: dict[str, Callable[[list[int]], None]] = {"ours": _ours, "bare heap": _heap}
    if (with_simpy := _simpy()) is not None:
        contenders["simpy"] = with_simpy
    if count <= LOOPTIME_MAX and (with_looptime := _looptime()) is not None:
        contenders["looptime"] = with_looptime
    result: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            gc.collect()
            start = thread_time()
            run(dues)
            result[name].append(count / (thread_time() - start))
    last = count == COUNTS[-1]
    rows = [
        Figure(
            f"{count:,} timers, scheduled and fired",
            "/s",
            result["ours"],
            result["bare heap"],
            "/s bare heap",
            Goal(0.75) if last else None,
        )
    ]
    if "simpy" in result:
        rows.append(
            Figure(
                f"{count:,} timers, scheduled and fired",
                "/s",
                result["ours"],
                result["simpy"],
                "/s simpy",
                Goal(1.2) if last else None,
            )
        )
    if "looptime" in result:
        goal = Goal(1.4) if count == LOOPTIME_MAX else None
        rows.append(
            Figure(
                f"{count:,} timers, scheduled and fired",
                "/s",
                result["ours"],
                result["looptime"],
                "/s looptime",
                goal,
            )
        )
    return rows


def _ours(dues: list[int]) -> None:
    queue = TimerQueue()
    for due in dues:
        queue.schedule(due, "bench", "")
    while queue.pop_due(FAR) is not None:
        pass


def _heap(dues: list[int]) -> None:
    heap: list[tuple[int, int, str, str]] = []
    for seq, due in enumerate(dues):
        heappush(heap, (due, seq, "bench", ""))
    while heap:
        heappop(heap)


def _simpy() -> Callable[[list[int]], None] | None:
    try:
        import simpy
    except ImportError:
        return None

    def run(dues: list[int]) -> None:
        environment = simpy.Environment()
        for due in dues:
            environment.timeout(due)
        environment.run()

    return run


def _looptime() -> Callable[[list[int]], None] | None:
    try:
        import looptime
    except ImportError:
        return None

    def run(dues: list[int]) -> None:
        # as quick as it goes: by default it goes round 42 times before time moves
        loop = looptime.new_event_loop(start=0, noop_cycles=0)
        for due in dues:
            loop.call_at(due / 1e9, _nothing)
        loop.call_at(FAR / 1e9 + 1, loop.stop)
        loop.run_forever()
        loop.close()

    return run


def _nothing() -> None:
    pass
