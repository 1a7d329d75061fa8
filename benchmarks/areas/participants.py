"""A busy virtual day: `python -m benchmarks participants`.

Two makers, two takers and noise trade on each of several instruments around the clock. Events are
orders, executions and trades. The floor is the bare book on a flow of its own (`matching.py`), in
operations and fills. The idle year is in `state.py`.
"""

from __future__ import annotations

import gc
import tempfile
from time import thread_time

from benchmarks.areas.matching import run_ladder
from benchmarks.figures import Figure
from benchmarks.flows import mixed
from sim import Simulation, load_scenario
from sim.kernel.instants import DAY, HOUR

INSTRUMENTS = 2
STEP = HOUR // 4  # one input of the journal

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


def busy(instruments: int = INSTRUMENTS) -> Simulation:
    """Return a simulation with this many busy instruments."""
    listed = ", ".join(
        f'{{symbol: b-{number}, tick_size: "0.01", state: OPEN}}' for number in range(instruments)
    )
    return Simulation(
        load_scenario(BUSY.format(instruments=listed)), journal=tempfile.TemporaryFile()
    )


def busy_day(span: int = DAY) -> tuple[float, int]:
    """Seconds and events of a busy day."""
    sim = busy()
    gc.collect()
    began, end = thread_time(), sim.now + span
    while sim.now < end:
        sim.advance_to(min(end, sim.now + STEP))
    took = thread_time() - began
    trading = sim.exchange.trading
    return took, len(trading.orders) + len(trading.executions) + len(trading.trades)


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
    return [
        Figure(
            "busy virtual day, scripted participants",
            "events/s",
            days,
            floors,
            "events/s bare book",
            note=note,
        )
    ]
