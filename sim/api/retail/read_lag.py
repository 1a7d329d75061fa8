"""Orders and positions as reads with a delay show them (assumption `retail.read_lag`).

Without a delay, reads show the current state. With one, they show the state of that time ago,
reconstructed from executions and the position ledger. No read shows an order older than the last
synchronous answer about it did. Streams, ledgers, balances and the exchange API have no delay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from msgspec.structs import replace

from sim.core.accounts.positions import Position, position_after
from sim.core.catalogue.assumptions import READ_LAG
from sim.core.exchange import Exchange
from sim.core.model.enums import OrderState
from sim.core.model.events import PositionChanged
from sim.core.model.orders import Order
from sim.kernel.instants import Instant


def order_read(exchange: Exchange, order: Order) -> Order | None:
    """Return an order as a read shows it; None if it is too recent to be visible."""
    lag = exchange.ctx.assumptions.number(READ_LAG)
    return order if not lag else _order_at(exchange, order, exchange.now - lag)


def open_orders_read(
    exchange: Exchange, accounts: Iterable[str], slugs: Iterable[str]
) -> list[Order]:
    """Return the working orders as a read shows them, oldest first."""
    trading, lag = exchange.trading, exchange.ctx.assumptions.number(READ_LAG)
    accounts, symbols = tuple(accounts), frozenset(slugs)
    working = trading.orders.open_of(accounts, symbols)
    if not lag:
        return working
    moment, executions = exchange.now - lag, trading.executions
    orders = {order.id: order for order in working}
    for account in accounts:
        newest_first = map(executions.rows.__getitem__, reversed(executions.of_account(account)))
        for row in takewhile(lambda row: row.at > moment, newest_first):
            if not symbols or row.order.symbol in symbols:
                orders[row.order.id] = trading.orders.require(row.order.id)
    by_age = sorted(orders.values(), key=lambda order: order.seq)
    past = (_order_at(exchange, order, moment) for order in by_age)
    return [order for order in past if order is not None and order.live]


def positions_read(exchange: Exchange, account: str) -> list[Position]:
    """Return the positions as a read shows them."""
    positions, lag = exchange.trading.positions, exchange.ctx.assumptions.number(READ_LAG)
    held = positions.of(account)
    if not lag:
        return held
    moment, rows = exchange.now - lag, positions.rows(account)
    changed = {row.symbol for row in takewhile(lambda row: row.at > moment, reversed(rows))}
    past = (
        _position_at(rows, position.symbol, moment) if position.symbol in changed else position
        for position in held
    )
    return [position for position in past if position is not None]


def _position_at(rows: Sequence[PositionChanged], symbol: str, moment: Instant) -> Position | None:
    for row in reversed(rows):
        if row.symbol == symbol and row.at <= moment:
            return position_after(row)
    return None


def _order_at(exchange: Exchange, order: Order, moment: Instant) -> Order | None:
    moment = max(moment, exchange.awaited.reported_at(order.id))
    executions = exchange.trading.executions
    later: Order | None = None
    for seq in exchange.trading.execution_log.of_order(order):
        execution = executions.rows[seq]
        if execution.at <= moment:
            return execution.order if later is not None else order
        later = execution.order
    if order.created > moment:
        return None
    if later is None:
        return order
    # The order existed at that moment, but was still waiting in the engine's queue. Its first
    # execution says that it is new or rejected: nothing was filled yet.
    return replace(later, state=OrderState.PENDING_NEW, leaves_qty=later.qty)
