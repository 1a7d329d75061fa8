"""Net positions by account and symbol, and the position ledger (rules P9, P10, P23).

The rows of the ledger are deltas: replaying them reconstructs the positions. `cost` is signed (buys
add, sells subtract), in notional units, without fees. Opening adds to it. Closing removes the
average cost and books the difference as `realized`; a fill that crosses zero does both in one row.
The net positions of all accounts in an instrument sum to zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sim.core.model.context import Context
from sim.core.model.events import PositionChanged
from sim.core.model.quantities import Notional, Price, Qty, divide_half_even
from sim.core.model.why import Why
from sim.kernel.indexes.restore_rows import restore
from sim.kernel.instants import Instant, same_trade_date

# Description of a row that a trade wrote. Only these add to the quantities bought and sold.
FILL = "Fill"
_FILLED, _BUSTED, _RESOLVED, _CORRECTED = Why("P9"), Why("M42"), Why("P22"), Why("L27")


class Position(Struct, gc=False):
    """The position of one account in one instrument.

    `bod_net` is the net at the beginning of the trade date of the last change; read it through
    `bod`. `fees` are commissions paid less rebates; `fees_exact` is the same before rounding
    to cents, in the units of `fees.py`. `settled` is the instant at which a settlement closed
    it, or 0.
    """

    account: str
    symbol: str
    net: Qty = 0
    cost: Notional = 0
    realized: Notional = 0
    qty_bought: Qty = 0
    qty_sold: Qty = 0
    bod_net: Qty = 0
    changed: Instant = 0
    fees: Notional = 0
    settled: Instant = 0
    fees_exact: int = 0

    def bod(self, now: Instant) -> Qty:
        """Return the net at the beginning of the current trade date, 17:00 Eastern."""
        return self.bod_net if same_trade_date(self.changed, now) else self.net


def position_after(row: PositionChanged) -> Position:
    """Return the position right after a row of its ledger.

    The row of a settlement closes the position, or corrects what closing it paid.
    """
    return Position(
        account=row.account,
        symbol=row.symbol,
        net=row.net,
        cost=row.cost,
        realized=row.realized,
        qty_bought=row.bought,
        qty_sold=row.sold,
        bod_net=row.bod,
        changed=row.at,
        fees=row.fees,
        settled=row.at if row.settlement is not None else 0,
        fees_exact=row.fees_exact,
    )


class PositionsState(Struct):
    """The saved state of positions."""

    positions: list[Position]
    rows: list[PositionChanged]


class Positions:
    """All past and present positions, and their ledger."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._ids = ctx.ids.sequence("position")
        self._by_account: dict[str, dict[str, Position]] = {}
        self._by_symbol: dict[str, dict[str, Position]] = {}
        self._all: list[Position] = []
        self._rows: list[PositionChanged] = []
        self._rows_of: dict[str, list[PositionChanged]] = {}
        self.open_interest: dict[str, Qty] = {}

    def get(self, account: str, symbol: str) -> Position | None:
        """Return the position; None if the account has never had one."""
        mine = self._by_account.get(account)
        return mine.get(symbol) if mine is not None else None

    def net(self, account: str, symbol: str) -> Qty:
        """Return the signed net number of contracts."""
        position = self.get(account, symbol)
        return position.net if position is not None else 0

    def of(self, account: str) -> list[Position]:
        """Return the positions of an account, including flat ones, in order of first trade."""
        return list(self._by_account.get(account, {}).values())

    def in_symbol(self, symbol: str) -> list[Position]:
        """Return the positions in an instrument, in order of first trade."""
        return list(self._by_symbol.get(symbol, {}).values())

    def rows(self, account: str) -> Sequence[PositionChanged]:
        """Return the position ledger of an account, oldest first."""
        return self._rows_of.get(account, ())

    def fill(
        self,
        account: str,
        symbol: str,
        qty: Qty,
        price: Price,
        trade_id: str,
        fee: Notional = 0,
        fee_exact: int = 0,
    ) -> tuple[Qty, Qty]:
        """Buy `qty` (sell when negative) at a price. Return the net before and after."""
        position = self._touch(account, symbol)
        if qty > 0:
            position.qty_bought += qty
        else:
            position.qty_sold -= qty
        position.fees_exact += fee_exact
        return self._move(position, qty, price, FILL, _FILLED, trade_id, fee, fee_exact)

    def reverse(
        self, account: str, symbol: str, qty: Qty, price: Price, trade_id: str, fee: Notional = 0
    ) -> tuple[Qty, Qty]:
        """Undo a fill (rule M42).

        The quantities bought and sold never decrease, so they stay (P10).
        """
        position = self._touch(account, symbol)
        filled = (row for row in reversed(self.rows(account)) if row.trade_id == trade_id)
        exact = next((row.fee_exact for row in filled if row.symbol == symbol), 0)
        position.fees_exact -= exact
        return self._move(position, -qty, price, "Correction", _BUSTED, trade_id, -fee, -exact)

    def resolve(self, position: Position, price: Price) -> tuple[Qty, Qty]:
        """Close a position at its settlement price (rule P22)."""
        self._touch(position.account, position.symbol)
        position.settled = self._ctx.now
        return self._move(position, -position.net, price, "Expiry", _RESOLVED, "", 0, 0, price)

    def correct(self, account: str, symbol: str, realized: Notional, price: Price) -> None:
        """Book the difference between two settlement prices after a correction (rule L27)."""
        position = self._touch(account, symbol)
        position.realized += realized
        self._write(position, 0, 0, realized, "Correction", _CORRECTED, "", 0, 0, price)

    @property
    def count(self) -> int:
        """Return the number of rows of the position ledger."""
        return len(self._rows)

    def all(self) -> Iterator[Position]:
        """Yield every position, in order of first trade."""
        return iter(self._all)

    def save(self) -> PositionsState:
        """Return positions and ledger rows."""
        return PositionsState(self._all, self._rows)

    def load(self, state: PositionsState) -> None:
        """Restore saved positions and rebuild the indexes."""
        for index in (self._by_account, self._by_symbol, self.open_interest):
            index.clear()
        self._all = []
        for position in state.positions:
            self._index(position)
            longs = self.open_interest.get(position.symbol, 0) + max(position.net, 0)
            self.open_interest[position.symbol] = longs
        restore(self._rows_of, self._rows, state.rows)
        self._rows = state.rows

    def _index(self, position: Position) -> None:
        self._all.append(position)
        self._by_account.setdefault(position.account, {})[position.symbol] = position
        self._by_symbol.setdefault(position.symbol, {})[position.account] = position

    def _touch(self, account: str, symbol: str) -> Position:
        now = self._ctx.now
        try:
            position = self._by_account[account][symbol]
        except KeyError:
            position = Position(account, symbol, changed=now)
            self._index(position)
            return position
        if position.changed != now and not same_trade_date(position.changed, now):
            position.bod_net = position.net
        position.changed = now
        return position

    def _move(
        self,
        position: Position,
        qty: Qty,
        price: Price,
        description: str,
        why: Why,
        trade_id: str,
        fee: Notional,
        fee_exact: int,
        settlement: Price | None = None,
    ) -> tuple[Qty, Qty]:
        net = position.net
        after = net + qty
        if net == 0 or (net > 0) == (qty > 0):
            cost_change, realized_change = qty * price, 0
        else:
            closed = -qty if abs(qty) <= abs(net) else net
            removed = position.cost
            if closed != net:
                removed = divide_half_even(position.cost * abs(closed), abs(net))
            realized_change = closed * price - removed
            cost_change = (qty + closed) * price - removed
        position.net = after
        position.cost += cost_change
        position.realized += realized_change
        longs = (after if after > 0 else 0) - (net if net > 0 else 0)
        if longs:
            self.open_interest[position.symbol] = self.open_interest.get(position.symbol, 0) + longs
        position.fees += fee
        self._write(
            position,
            qty,
            cost_change,
            realized_change,
            description,
            why,
            trade_id,
            fee,
            fee_exact,
            settlement,
        )
        return net, after

    def _write(
        self,
        position: Position,
        qty: Qty,
        cost: Notional,
        realized: Notional,
        description: str,
        why: Why,
        trade_id: str,
        fee: Notional,
        fee_exact: int,
        settlement: Price | None,
    ) -> None:
        ctx = self._ctx
        account = position.account
        row = PositionChanged(  # positional, because a Struct looks up each keyword
            self._ids.next(),
            account,
            position.symbol,
            qty,
            cost,
            realized,
            position.net,
            position.cost,
            position.realized,
            ctx.now,
            description,
            trade_id,
            settlement,
            position.qty_bought,
            position.qty_sold,
            position.bod_net,
            fee,
            position.fees,
            fee_exact,
            position.fees_exact,
            why.rule,
            why.facts,
        )
        self._rows.append(row)
        try:
            self._rows_of[account].append(row)
        except KeyError:
            self._rows_of[account] = [row]
        ctx.events.append(row)
