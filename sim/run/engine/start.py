"""The start of a run, under the seed of its engine and under others.

In most scenarios, only the identifiers of the first orders, reports and deposits depend on the seed
at the start. The start under another seed is then the same except for these names, and renaming
costs a fraction of listing the instruments and placing the orders again.

`Start.follows_from_the_seed` decides whether that is so: randomness by name (`kernel/entropy.py`)
tells what a start has used, so no comparison is necessary. A scenario whose participants draw
random numbers, or whose start creates identifiers of a kind that is not renamed here, is always
started without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from sim.core.history import ExchangeHistory, FirstRows
from sim.core.model.events import CashMoved
from sim.core.model.orders import Execution, Order
from sim.kernel.entropy import Entropy
from sim.kernel.identifiers import Identifiers
from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.run.engine.engine import Engine
from sim.run.engine.run import Run
from sim.run.engine.snapshots import Snapshot
from sim.world.format.scenario import Scenario

T = TypeVar("T")
_NAMES = ("order", "execution", "cash")
_UUIDS = ("funding",)
_COUNTS = ("fault", "maintenance")  # names such as f1, which are the same under any seed
_RENAMED = frozenset((*_NAMES, *_UUIDS, *_COUNTS))


class Start:
    """The start of a run, as the state of an engine that must not be moved."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._snapshot = engine.snapshots.start
        self._counts = engine.exchange.ctx.ids.save()
        self._names = self._identifiers(engine.run.seed)
        # The state is JSON, in which every string is between two quotation marks.
        self._strings = self._snapshot.state.split(b'"')
        names_by_bytes = {name.encode(): name for name in self._names}
        self._places = [
            (index, names_by_bytes[string])
            for index, string in enumerate(self._strings)
            if string in names_by_bytes
        ]

    def follows_from_the_seed(self) -> bool:
        """Whether only identifiers that can be renamed here depend on the seed."""
        used = self.engine.exchange.ctx.entropy.used()
        return not (
            _RENAMED.issuperset(self._counts) and all(name.startswith("id.") for name in used)
        )

    def under(self, seed: int) -> Snapshot:
        """Return the state at the start under a seed.

        A seed other than the engine's is allowed only if nothing but identifiers depends on it.
        """
        if seed == self.engine.run.seed:
            return self._snapshot
        names = dict(zip(self._names, self._identifiers(seed), strict=True))
        strings = self._strings[:]
        for index, name in self._places:
            strings[index] = names[name].encode()
        history = _renamed(self._snapshot.history, names)
        return self._snapshot._replace(state=b'"'.join(strings), history=history)

    def _identifiers(self, seed: int) -> list[str]:
        """Return all identifiers that a start creates under a seed, in the order of purposes."""
        ids, counts = Identifiers(Entropy(seed)), self._counts
        names = (ids.sequence(purpose).first(counts.get(purpose, 0)) for purpose in _NAMES)
        uuids = (ids.first_uuids(purpose, counts.get(purpose, 0)) for purpose in _UUIDS)
        return list(chain.from_iterable(chain(names, uuids)))


def _renamed(history: ExchangeHistory, names: dict[str, str]) -> ExchangeHistory:
    def order(row: Order) -> Order:
        return replace(row, id=names[row.id])

    def execution(row: Execution) -> Execution:
        return replace(row, id=names[row.id], order=order(row.order))

    def cash(row: CashMoved) -> CashMoved:
        return replace(row, id=names[row.id], reference=names.get(row.reference, row.reference))

    return history._replace(
        orders=_all(order, history.orders),
        executions=_all(execution, history.executions),
        cash=_all(cash, history.cash),
        live={seq: order(row) for seq, row in history.live.items()},
    )


def _all(change: Callable[[T], T], rows: FirstRows[T]) -> FirstRows[T]:
    return FirstRows([change(row) for row in rows.own()], rows.number)


# ---- starts that are kept


_ANY_SEED = -1


class _RunKind(NamedTuple):
    """What determines the start, except the parts of a scenario that the journal omits."""

    scenario_digest: str
    seed: int
    start: Instant
    settings: tuple[tuple[str, Any], ...]


class _KindEntry(NamedTuple):
    """The scenario of the last run of a kind and the number of runs.

    From the second run on, also the start, or a note that each seed is a kind of its own.
    """

    scenario: Scenario
    runs: int = 0
    start: Start | None = None
    by_seed: bool = False


class PreparedStarts:
    """The starts of runs: at most `kept`, the most recently used ones.

    Building a world, listing instruments and placing standing orders costs ten times as much as
    loading the resulting state, and a sweep or a test suite begins the same scenario hundreds of
    times. The second run of a kind therefore begins twice: once for itself, and once in an engine
    that never moves. Every later run is copied from that engine, like a fork. The first run costs
    nothing extra, because most commands begin only one.

    Runs of one kind may have different seeds if only identifiers depend on the seed at the start.
    Otherwise each seed is a kind of its own.
    """

    def __init__(self, kept: int = 8) -> None:
        self._kept = kept
        self._entries: dict[_RunKind, _KindEntry] = {}  # the most recently used last

    def of(self, run: Run, header: Header, begin: Callable[[], Engine]) -> Start | None:
        """Return a start for a run, possibly of another seed; None for the first run of a kind.

        `begin` builds an engine without using a cached start.
        """
        settings = tuple(run.settings.recorded().items())
        kind = _RunKind(header.scenario_digest, _ANY_SEED, run.start, settings)
        entry = self._count_run(kind, run.scenario)
        if entry.by_seed:
            kind = kind._replace(seed=run.seed)
            entry = self._count_run(kind, run.scenario)
        if entry.start is None and entry.runs > 1:
            entry = self._add_start(kind, entry, begin())
        return entry.start

    def _count_run(self, kind: _RunKind, scenario: Scenario) -> _KindEntry:
        """Count one more run of a kind and return its entry."""
        entry = self._entries.pop(kind, None)
        if entry is None or entry.scenario != scenario:
            entry = _KindEntry(scenario)
        entry = self._entries[kind] = entry._replace(runs=entry.runs + 1)
        if len(self._entries) > self._kept:
            del self._entries[next(iter(self._entries))]
        return entry

    def _add_start(self, kind: _RunKind, entry: _KindEntry, engine: Engine) -> _KindEntry:
        start = Start(engine)
        if kind.seed == _ANY_SEED and start.follows_from_the_seed():
            self._entries[kind] = entry._replace(by_seed=True)
            kind = kind._replace(seed=engine.run.seed)
        entry = self._entries[kind] = entry._replace(start=start)
        return entry
