"""A busy virtual day, and a crowd: `python -m benchmarks participants`.

Two makers, two takers and noise trade on each of several instruments around the clock. Events are
orders, executions and trades. The floor is the bare book on a flow of its own (`matching.py`), in
operations and fills. The idle year is in `state.py`.

The crowd is a thousand participants in 500 markets: a maker in each, a taker in every other, noise
in the others. Its floor is its own beginning: an action must not cost more later on.
"""

from __future__ import annotations

import gc
import tempfile
from time import thread_time

from benchmarks.areas.matching import run_ladder
from benchmarks.figures import Figure, Goal
from benchmarks.flows import mixed
from sim import Simulation, load_scenario
from sim.kernel.instants import DAY, HOUR, MINUTE

INSTRUMENTS = 2
STEP = HOUR // 4  # one advance
CROWDED = 500
SPAN = 4 * MINUTE

BUSY = """
name: busy
world: {{base: empty, instruments: [{instruments}]}}
participants:
  makers:
    - {{name: deep, symbols: "b*", balance: "1000000"}}
    - name: fast
      symbols: "b*"
      every: 2s
      spread: "0.01"
      sizes: ["50"]
      balance: "1000000"
  takers:
    - {{name: crowd, symbols: "b*", rate: 12/m, balance: "1000000"}}
    - {{name: sharp, symbols: "b*", rate: 6/m, edge: "0.005", balance: "1000000"}}
  noise: [{{name: fog, symbols: "b*", rate: 12/m, balance: "1000000"}}]
"""


def listed(instruments: int) -> str:
    """The instruments of a scenario, all open."""
    return ", ".join(
        f'{{symbol: b-{number}, tick_size: "0.01", state: OPEN}}' for number in range(instruments)
    )


def busy(instruments: int = INSTRUMENTS) -> Simulation:
    """Return a simulation with this many busy instruments."""
    scenario = load_scenario(BUSY.format(instruments=listed(instruments)))
    return Simulation(scenario, journal=tempfile.TemporaryFile())


def crowd(instruments: int = CROWDED) -> Simulation:
    """Return a simulation with two participants on each instrument."""

    def entries(kind: str, numbers: range) -> str:
        return ", ".join(
            f'{{name: {kind}-{number}, symbols: "b-{number}", balance: "1000000"}}'
            for number in numbers
        )

    scenario = load_scenario(
        f"name: crowd\nworld: {{base: empty, instruments: [{listed(instruments)}]}}\n"
        f"participants:\n  makers: [{entries('maker', range(instruments))}]\n"
        f"  takers: [{entries('taker', range(0, instruments, 2))}]\n"
        f"  noise: [{entries('noise', range(1, instruments, 2))}]\n"
    )
    return Simulation(scenario, journal=tempfile.TemporaryFile())


def event_count(sim: Simulation) -> int:
    """Orders, executions and trades so far."""
    trading = sim.exchange.trading
    return len(trading.orders) + len(trading.executions) + len(trading.trades)


def action_rate(sim: Simulation) -> float:
    """What participants do per second of processor time while a span of virtual time passes."""
    gc.collect()
    began = thread_time()
    return len(sim.advance_to(sim.now + SPAN).fired) / (thread_time() - began)


def crowd_rates() -> tuple[float, float]:
    """Actions per second of a crowd after half an hour, and after its first minute of quoting."""
    sim = crowd()
    sim.advance_to(sim.now + MINUTE)
    first = action_rate(sim)
    sim.advance_to(sim.now + HOUR // 2)
    return action_rate(sim), first


def busy_day(span: int = DAY) -> tuple[float, int]:
    """Seconds and events of a busy day."""
    sim = busy()
    gc.collect()
    began, end = thread_time(), sim.now + span
    while sim.now < end:
        sim.advance_to(min(end, sim.now + STEP))
    return thread_time() - began, event_count(sim)


def bare_rate() -> float:
    """Events per second of a book that does nothing else: an order or a cancel is one, a fill
    another.
    """
    ops = mixed(2, 1)
    gc.collect()
    began = thread_time()
    fills = run_ladder(ops)
    return (len(ops) + fills) / (thread_time() - began)


def figures(rounds: int) -> list[Figure]:
    """The busy day as events per second. A day takes a while, so it is measured in at most two
    rounds.
    """
    days, floors, events = [], [], 0
    for _ in range(min(rounds, 2)):
        floors.append(bare_rate())
        took, events = busy_day()
        days.append(events / took)
    note = f"{events:,} events on {INSTRUMENTS} instruments, journalled"
    late, first = zip(*(crowd_rates() for _ in range(min(rounds, 2))), strict=True)
    return [
        Figure(
            "1,000 participants in 500 markets, half an hour later",
            "actions/s",
            [*late],
            [*first],
            "actions/s at first",
            Goal(0.8),
        ),
        Figure(
            "busy virtual day, scripted participants",
            "events/s",
            days,
            floors,
            "events/s bare book",
            note=note,
        ),
    ]
