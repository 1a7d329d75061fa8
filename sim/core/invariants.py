"""Invariants: statements that hold after every input, whatever clients, faults and time do.
`INVARIANTS` lists them.

The checks recompute every sum from accounts, positions and open orders, and compare it with the
stored one. They change nothing and visit each row once. They can be restricted to what changed
(`ChangeSet`), so that a run may check after every input (`analysis/invariant_checks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import NamedTuple

from sim.core.accounts.ledger import HOUSE_CLEARING
from sim.core.accounts.risk import unit_cost
from sim.core.model.collateral import EventOutcome, Holding, returned
from sim.core.model.enums import BUY, SELL, InstrumentState
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR, Cash, Qty
from sim.core.trading.trading import Trading


class Violation(NamedTuple):
    """A violation of an invariant: its name, and the numbers that contradict it."""

    invariant: str
    contradiction: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.contradiction}"


class ChangeSet(NamedTuple):
    """What may have changed since the last check: orders and books of some instruments, and whether
    any position has.

    Balances are few, so all of them are checked every time.
    """

    symbols: Set[str]
    positions: bool


class CheckedPosition(NamedTuple):
    """The point in the history of an exchange at which it was checked."""

    books: int
    position_rows: int


def moment(trading: Trading) -> CheckedPosition:
    """Return the current point in the history of an exchange."""
    return CheckedPosition(trading.books.version, trading.positions.count)


def changes(trading: Trading, before: CheckedPosition) -> ChangeSet | None:
    """Return what changed since a point; None for everything, if a state was loaded in between."""
    if before.books < trading.books.loaded:
        return None
    return ChangeSet(
        frozenset(trading.books.symbols.since(before.books)),
        positions=trading.positions.count != before.position_rows,
    )


def _money(trading: Trading, _: ChangeSet | None) -> Iterator[str]:
    if total := trading.ledger.total():
        yield f"all balances sum to {total}, not to zero"
    if kept := trading.ledger.balance(HOUSE_CLEARING):
        yield f"the clearing house holds {kept}, not zero"
    for account in trading.ledger:
        rows = trading.ledger.entries(account.name)
        if rows and rows[-1].after != account.balance:
            yield f"{account.name} has {account.balance}, its last ledger row says {rows[-1].after}"


def _positions(trading: Trading, changed: ChangeSet | None) -> Iterator[str]:
    if changed is not None and not changed.positions:
        return
    nets: dict[str, Qty] = {}
    longs: dict[str, Qty] = {}
    for position in trading.positions.all():
        nets[position.symbol] = nets.get(position.symbol, 0) + position.net
        if position.net > 0:
            longs[position.symbol] = longs.get(position.symbol, 0) + position.net
    for symbol, net in nets.items():
        if net:
            yield f"positions in {symbol} net to {net}, not to zero"
        interest, kept = trading.positions.open_interest.get(symbol, 0), longs.get(symbol, 0)
        if kept != interest:
            yield f"open interest of {symbol} is {interest}, its long positions sum to {kept}"
    for account, needed in _margins(trading).items():
        margin = trading.margin_requirement(account)
        if needed != margin:
            yield f"margin of {account} is {margin}, its short positions require {needed}"


def _margins(trading: Trading) -> dict[str, Cash]:
    """Return the margin per account: a dollar for every short contract, less collateral returns
    (rules P2, P8).
    """
    margins: dict[str, Cash] = {}
    groups: dict[tuple[str, str, EventOutcome], list[Holding]] = {}
    for position in trading.positions.all():
        instrument = trading.instruments.require(position.symbol)
        worth = position.net * (DOLLAR // instrument.qty_scale)
        margins[position.account] = margins.get(position.account, 0) + max(-worth, 0)
        related = instrument.related
        if related is not None and trading.ledger.require(position.account).collateral_return:
            key = position.account, related.group, related.kind
            groups.setdefault(key, []).append(Holding(related.rank, worth))
    for (account, _, kind), holdings in groups.items():
        margins[account] -= returned(kind, holdings)
    return margins


def _orders(trading: Trading, changed: ChangeSet | None) -> Iterator[str]:
    symbols = None if changed is None else changed.symbols
    if symbols is not None and not symbols:
        return
    working: dict[tuple[str, str], list[Order]] = {}
    for order in trading.orders.open(symbols):
        if order.leaves_qty + order.cum_qty != order.qty:
            leaves, filled = order.leaves_qty, order.cum_qty
            yield f"order {order.id}: {leaves} remaining and {filled} filled of {order.qty}"
        if sum(order.filled_at.values()) != order.cum_qty:
            yield f"order {order.id}: fills by price are {order.filled_at}, filled {order.cum_qty}"
        if not order.received:
            working.setdefault((order.account, order.symbol), []).append(order)
    for (account, symbol), orders in working.items():
        for side in (BUY, SELL):
            qty = sum(order.leaves_qty for order in orders if order.side is side)
            kept = trading.risk.working(account, symbol, side)
            if kept != qty:
                where = f"the {side.name} side of {symbol}"
                yield f"{account} reserves for {kept} on {where}, {qty} work"
    for account, symbol, cash in trading.risk.reservations(symbols):
        cost = _cost(trading, account, symbol, working.get((account, symbol), []))
        if cash != cost:
            yield f"{account} reserves {cash} in {symbol}, but its open orders could cost {cost}"


def reserved(trading: Trading, account: str, symbol: str) -> Cash:
    """Return the possible cost of an account's open orders in an instrument, counted one by
    one (rule P3).
    """
    open_orders = trading.orders.open_of((account,), (symbol,))
    working = [order for order in open_orders if not order.received]
    return _cost(trading, account, symbol, working)


def _cost(trading: Trading, account: str, symbol: str, working: list[Order]) -> Cash:
    if not working:
        return 0
    instrument, net = trading.instruments.require(symbol), trading.positions.net(account, symbol)
    costs = {BUY: 0, SELL: 0}
    closable = {BUY: max(-net, 0), SELL: max(net, 0)}
    if net:  # the most expensive orders close first
        working = sorted(working, key=lambda order: (-unit_cost(order, instrument), order.seq))
    for order in working:
        closing = min(order.leaves_qty, closable[order.side])
        closable[order.side] -= closing
        costs[order.side] += (order.leaves_qty - closing) * unit_cost(order, instrument)
    return max(costs.values()) * instrument.cash_per_notional


def _books(trading: Trading, changed: ChangeSet | None) -> Iterator[str]:
    symbols = None if changed is None else changed.symbols
    touched = map(trading.books.touched, sorted(symbols or ()))
    for book in trading.books if symbols is None else filter(None, touched):
        if book.crossed and trading.state(book.symbol) is InstrumentState.OPEN:
            if not any(order.strict_limit for order in book.working()):
                bid, offer = book.bids.best, book.offers.best
                yield f"{book.symbol} is open and crossed: bid {bid}, offer {offer}"
        for side in (BUY, SELL):
            for level in book.ladder(side).walk():
                live = [order for order in level.queue if order.leaves_qty]
                qty = sum([order.leaves_qty for order in live])
                if qty != level.qty:
                    yield (
                        f"level {level.price} of {book.symbol} shows {level.qty}, its orders sum to"
                        f" {qty}"
                    )
                if len(live) > 1 and (queue := [order.priority for order in live]) != sorted(queue):
                    yield (f"level {level.price} of {book.symbol} is not in order of time: {queue}")


class Invariant(NamedTuple):
    """A statement that always holds, and the function that looks for contradictions."""

    statement: str
    check: Callable[[Trading, ChangeSet | None], Iterator[str]]


INVARIANTS: dict[str, Invariant] = {
    "money": Invariant(
        "All balances sum to zero, the clearing house holds nothing, and every balance equals that "
        "of the account's last ledger row.",
        _money,
    ),
    "positions": Invariant(
        "The positions of an instrument net to zero, its open interest is the sum of its longs, "
        "and an account's margin is what its short positions require.",
        _positions,
    ),
    "orders": Invariant(
        "Filled plus remaining quantity is the order's size, and an account reserves what its open "
        "orders could cost.",
        _orders,
    ),
    "books": Invariant(
        "An open book is not crossed, a level shows what its orders leave, and its queue is in "
        "order of time.",
        _books,
    ),
}


def violations(trading: Trading, changed: ChangeSet | None = None) -> list[Violation]:
    """Return every violation of an invariant now, in the order of the table.

    With `changed`, check only that part.
    """
    return [
        Violation(name, contradiction)
        for name, invariant in INVARIANTS.items()
        for contradiction in invariant.check(trading, changed)
    ]
