"""A crowd on a cluster: `python -m benchmarks.crowd --participants 10000 --workers 2`.

Many participants trade in markets that know nothing of each other, so the crowd is split: each run
has fifty markets with a maker and a taker or noise trader in each, as many runs as it takes, on
Dask with so many workers on this machine. 10,000 participants are a hundredth of a million. Every
run keeps a journal on disk, and no check is left out.

It prints what the participants did, what that cost, and how much memory an operation leaves behind:
an order, an execution or a trade. Memory is that of the second half of the first run of each
worker: before, what building the world left free is used, and later runs use its memory again.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from functools import partial
from statistics import mean
from typing import NamedTuple

from benchmarks.areas.memory import resident
from benchmarks.areas.participants import crowd, event_count
from sim import Simulation
from sim.kernel.instants import MINUTE, Span
from sim.search.workers import cluster_of

MARKETS = 50  # of one run
EACH = 2 * MARKETS  # participants of one run
_BEGUN: list[int] = []  # runs of this process


class Ran(NamedTuple):
    """What the participants of one run did, in how many seconds of processor time; and the bytes
    that each operation left, where this was the first run of its process.
    """

    actions: int
    operations: int
    seconds: float
    bytes_each: float | None


def run(span: Span, number: int) -> Ran:
    """One run of a hundred participants: building its world counts as well."""
    first, began = not _BEGUN, time.thread_time()
    _BEGUN.append(number)
    simulation = crowd(MARKETS)
    actions = _advanced(simulation, span // 2)
    half, before = event_count(simulation), resident() if first else 0
    actions += _advanced(simulation, span - span // 2)
    operations, seconds = event_count(simulation), time.thread_time() - began
    kept = (resident() - before) / (operations - half) if first else None
    del simulation
    gc.collect()
    return Ran(actions, operations, seconds, kept)


def _advanced(simulation: Simulation, span: Span) -> int:
    """Let time pass; the number of actions."""
    end, actions = simulation.now + span, 0
    while simulation.now < end:
        actions += len(simulation.advance_to(min(end, simulation.now + MINUTE)).fired)
    return actions


def report(result: list[Ran], workers: int, wall: float, span: Span) -> str:
    """What was measured, as text."""
    actions, seconds = sum(item.actions for item in result), sum(item.seconds for item in result)
    operations = sum(item.operations for item in result)
    kept = [item.bytes_each for item in result if item.bytes_each is not None]
    lines = (
        f"{len(result) * EACH:,} participants in {len(result) * MARKETS:,} markets, "
        f"{span // MINUTE} virtual minutes, {len(result)} runs on {workers} workers",
        f"{actions:,} actions and {operations:,} orders, executions and trades in {wall:.0f} s",
        f"{actions / wall / workers:,.0f} actions a second of a worker",
        f"{seconds / actions * 1e6:.0f} µs of processor time for an action",
        f"{mean(kept):,.0f} bytes kept of an operation",
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crowd",
        description="Participants in many independent markets, on Dask on this machine.",
    )
    parser.add_argument("--participants", type=int, default=10_000, help="default 10,000")
    parser.add_argument("--minutes", type=int, default=5, help="virtual minutes (default 5)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    args = parser.parse_args()
    try:
        from distributed import LocalCluster
    except ImportError:
        raise SystemExit("this needs Dask: pip install 'sandbox-exchange[cluster]'") from None
    span, runs = args.minutes * MINUTE, range(max(1, -(-args.participants // EACH)))
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=args.workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        cluster_of(cluster.scheduler_address) as mapper,
    ):
        began = time.monotonic()
        result = list(mapper(partial(run, span), runs))
        wall = time.monotonic() - began
    print(report(result, args.workers, wall, span))
    return 0


if __name__ == "__main__":
    sys.exit(main())
