"""The state after every input of a run: for each view its initial rows, and all changes with their
positions.

Reading every view after every input would be too expensive. Of long views, only the rows that the
events of an input name are read; short views are read completely. After each time travel and after
a number of inputs all of them are read completely, so that a change that no event names is not
missed for long. A test compares every moment of runs with the history.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sim.core.accounts.ledger import HOUSES
from sim.core.model.events import CashMoved, DormantInstrumentsMoved, Executed, MaintenanceChanged
from sim.read.report.packing import PackedSeries, Parts
from sim.run.actors.operator.answers import (
    instrument_answer,
    ledger_answer,
    order_answer,
    trade_answer,
)
from sim.run.actors.operator.views import ViewFilter, view
from sim.run.engine.engine import Engine
from sim.run.engine.journal_record import RecordedEvent, RecordedTrade

_WHOLE_EVERY = 1_000  # inputs
# Short views, with the kinds of rows after which they may differ; () means all kinds.
_SHORT: dict[str, tuple[str, ...]] = {
    "assumptions": ("control", "step"),
    "breakers": (),
    "deliveries": (),
    "faults": (),
    "limits": (),
    "maintenance": (),
    "quirks": ("control", "step"),
    "sessions": (),
    "timers": (),
    "verifications": (),
}

# Rows of a view with their keys; None if there is no longer a row with that key.
Pairs: TypeAlias = "Iterable[tuple[Key, Row | None]]"


class NamedKeys(NamedTuple):
    """What the events of an input name."""

    orders: set[str]
    trades: set[str]
    accounts: set[str]
    symbols: set[str]
    moves: dict[str, int]  # cash rows by account
    every_instrument: bool


class SeenRows(Struct):
    """What has been written so far: the instruments, the number of orders, and the orders that a
    command was waiting for.
    """

    symbols: set[str]
    orders: int = 0
    queued: set[str] = set()


def keys_named_by(events: Iterable[RecordedEvent]) -> NamedKeys:
    """Return what some events of the journal name."""
    orders, trades, accounts, symbols = set[str](), set[str](), set[str](), set[str]()
    moves, every = dict[str, int](), False
    for event in events:
        match event:
            case Executed():
                orders.add(event.execution.order.id)
            case RecordedTrade():
                trades.add(event.id)
            case CashMoved():
                moves[event.account] = moves.get(event.account, 0) + 1
            case DormantInstrumentsMoved() | MaintenanceChanged():
                every = True
        about = event.execution.order if isinstance(event, Executed) else event
        accounts.add(getattr(about, "account", ""))
        symbols.add(getattr(about, "symbol", ""))
    return NamedKeys(orders, trades, accounts - {""}, symbols - {""}, moves, every)


# ---- long views: the rows that an input touched, or all rows if that is None


def _orders(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    """Yield orders. A command in the engine's queue has no events yet, so new orders are counted,
    and those that a command waits for, or waited for before, are read again.
    """
    orders, queued = engine.exchange.trading.orders, engine.exchange.trading.queued_orders
    before, previous.orders = previous.orders, len(orders)
    waiting, previous.queued = queued | previous.queued, queued
    if changed is None:
        some = list(orders.all())
    else:
        some = [orders.rows[index] for index in range(before, len(orders))]
        some += map(orders.require, sorted(changed.orders | waiting))
    return [((order.seq,), order_answer(order)) for order in some]


def _trades(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    trades = engine.exchange.trading.trades
    if changed is None:
        return [((seq,), trade_answer(trade)) for seq, trade in enumerate(trades)]
    seqs = sorted(seq for trade in changed.trades if (seq := trades.seq(trade)) is not None)
    return [((seq,), trade_answer(trades[seq])) for seq in seqs]


def _ledger(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    ledger = engine.exchange.trading.ledger
    if changed is None:
        names, first = sorted(account.name for account in ledger), dict[str, int]()
    else:
        names, first = sorted(changed.moves), changed.moves
    pairs = []
    for name in names:
        rows = ledger.entries(name)
        begin = max(0, len(rows) - first[name]) if first else 0
        pairs += [
            ((row.at, name, number), ledger_answer(row))
            for number, row in enumerate(rows[begin:], start=begin)
        ]
    return pairs


def _accounts(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    if changed is None:
        return [((row["account"],), row) for row in view(engine, "accounts")["accounts"]]
    names = changed.accounts.union(HOUSES)  # the contra sides of movements have no events
    return [
        ((name,), view(engine, "accounts", ViewFilter(account=name))["accounts"][0])
        for name in sorted(names)
        if name in engine.exchange.trading.ledger
    ]


def _books(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    if changed is None:
        return [((row["symbol"],), row) for row in view(engine, "books")["books"]]
    pairs: list[tuple[Key, Row | None]] = []
    listed = engine.exchange.instruments
    # The cancel of an unknown order names whatever its client wrote.
    for symbol in sorted(symbol for symbol in changed.symbols if symbol in listed):
        rows = view(engine, "books", ViewFilter(symbol=symbol))["books"]
        pairs.append(((symbol,), rows[0] if rows else None))
    return pairs


def _instruments(engine: Engine, changed: NamedKeys | None, previous: SeenRows) -> Pairs:
    if changed is None:
        previous.symbols |= {row["symbol"] for row in view(engine, "books")["books"]}
    else:
        previous.symbols |= changed.symbols
    every = changed is None or changed.every_instrument
    listed = engine.exchange.instruments
    return [
        ((symbol,), instrument_answer(engine.exchange, listed.require(symbol)))
        for symbol in sorted(previous.symbols if every or changed is None else changed.symbols)
        if symbol in listed
    ]


_Rows: TypeAlias = "Callable[[Engine, NamedKeys | None, SeenRows], Pairs]"
_LONG: dict[str, _Rows] = {
    "accounts": _accounts,
    "books": _books,
    "instruments": _instruments,
    "ledger": _ledger,
    "orders": _orders,
    "trades": _trades,
}


class States:
    """Writes the states of an engine.

    `symbols` are the instruments whose terms it has; instruments with a book at the start and those
    to which something happens are added.
    """

    def __init__(self, parts: Parts, symbols: Iterable[str]) -> None:
        self._known = SeenRows(set(symbols))
        self._long = {name: Keyed() for name in _LONG}
        self._short: dict[str, list[Row]] = {name: [] for name in _SHORT}
        self._series = {name: PackedSeries(parts) for name in (*_LONG, *_SHORT)}
        self._timers = (0, 0, 0)  # version of the timers written last
        self._inputs = 0

    def at(
        self, position: int, engine: Engine, kind: str = "", changed: NamedKeys | None = None
    ) -> None:
        """Write what differs at a position, right after an input of a kind that touched certain
        things.

        After time travel everything is read.
        """
        self._inputs += 1
        if self._inputs % _WHOLE_EVERY == 0:
            changed, kind = None, ""
        for name, read in _LONG.items():
            keyed, pairs = self._long[name], read(engine, changed, self._known)
            if changed is None:
                changes = keyed.replace([(key, row) for key, row in pairs if row is not None])
            else:
                changes = [splice for key, row in pairs for splice in keyed.put(key, row)]
            self._write(name, position, changes, keyed.rows)
        for name, kinds in _SHORT.items():
            if name == "timers" and kind and not self._timers_changed(engine):
                continue
            if not kind or not kinds or kind in kinds:
                rows = view(engine, name)[name]
                changes = splices(self._short[name], rows)
                self._short[name] = rows
                self._write(name, position, changes, rows)

    def _timers_changed(self, engine: Engine) -> bool:
        before, self._timers = self._timers, engine.exchange.ctx.timers.version
        return before != self._timers

    def _write(self, name: str, position: int, changes: list[Splice], rows: list[Row]) -> None:
        """Write changes. A part begins with all rows, so that each part can be read separately."""
        series = self._series[name]
        if changes or not series.begun:
            series.add(position, (position, 1, rows) if series.empty else (position, 0, changes))

    def end(self) -> dict[str, list[tuple[int, int]]]:
        """Write the rest. Return the positions at which the parts of each view begin."""
        for series in self._series.values():
            series.end()
        return {name: series.index for name, series in self._series.items()}


# ---- differences of tables
#
# The changes in a table of rows from one moment to the next are a list of splices
# `[index, removed, rows]`, to be applied in order: each removes `removed` rows at an index and
# inserts `rows` there. The page applies them in JavaScript, in `recorded.js` of the room.


Row: TypeAlias = "dict[str, Any]"
Splice: TypeAlias = "tuple[int, int, list[Row]]"
Key: TypeAlias = "tuple[Any, ...]"


def splices(before: list[Row], after: list[Row]) -> list[Splice]:
    """Return the splices that turn one table into another.

    They are few if rows were changed in place, or inserted or removed at one place.
    """
    most = min(len(before), len(after))
    start = next((n for n in range(most) if before[n] != after[n]), most)
    end = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    if len(removed) != len(added):
        return [(start, len(removed), added)]
    return [
        (start + index, 1, [row])
        for index, (old, row) in enumerate(zip(removed, added, strict=True))
        if old != row
    ]


class Keyed:
    """A table in the order of its rows' keys, for long views of which few rows change."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self.rows: list[Row] = []

    def put(self, key: Key, row: Row | None) -> list[Splice]:
        """Set or remove the row of a key. Return the splices."""
        index = bisect_left(self._keys, key)
        unchanged = index < len(self._keys) and self._keys[index] == key
        if unchanged and row is None:
            del self._keys[index], self.rows[index]
            return [(index, 1, [])]
        if row is None or (unchanged and self.rows[index] == row):
            return []
        if unchanged:
            self.rows[index] = row
            return [(index, 1, [row])]
        self._keys.insert(index, key)
        self.rows.insert(index, row)
        return [(index, 0, [row])]

    def replace(self, keyed: list[tuple[Key, Row]]) -> list[Splice]:
        """Replace all rows by these, in the order of their keys. Return the splices."""
        keyed.sort(key=lambda pair: pair[0])
        rows = [row for _, row in keyed]
        changes = splices(self.rows, rows)
        self._keys, self.rows = [key for key, _ in keyed], rows
        return changes
