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
from typing import TypeVar

from msgspec.structs import replace

from sim.core.history import ExchangeHistory, FirstRows
from sim.core.model.events import CashMoved
from sim.core.model.orders import Execution, Order
from sim.kernel.entropy import Entropy
from sim.kernel.identifiers import Identifiers
from sim.run.engine.engine import Engine
from sim.run.engine.snapshots import Snapshot

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
