"""What reads of orders and positions show while they trail what happened (retail facts §0,
assumption `retail.read_lag`).

Without a lag everything is read as it is. With one, a read shows the state of that long ago, put
together from executions and rows of the position ledger; what a synchronous answer has told already
is not taken back. Streams, ledgers, balances and the exchange API never trail.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from msgspec.structs import replace

from sim.core.accounts.positions import Position, position_after
from sim.core.catalogue.assumptions import READ_LAG
from sim.core.exchange import Exchange
from sim.core.model.enums import OrderState
from sim.core.model.orders import Order
from sim.kernel.instants import Instant


def order_read(exchange: Exchange, order: Order) -> Order | None:
    """An order as a read shows it; None while it is not there yet."""
    lag = exchange.ctx.assumptions.number(READ_LAG)
    return order if not lag else _order_at(exchange, order, exchange.now - lag)


def open_orders_read(
    exchange: Exchange, accounts: Iterable[str], slugs: Iterable[str]
) -> list[Order]:
    """Working orders as a read shows them, oldest first."""
    trading, lag = exchange.trading, exchange.ctx.assumptions.number(READ_LAG)
    accounts, wanted = tuple(accounts), frozenset(slugs)
    found = trading.orders.open_of(accounts, wanted)
    if not lag:
        return found
    moment, executions = exchange.now - lag, trading.executions
    orders = {order.id: order for order in found}
    for account in accounts:
        recent = takewhile(
            lambda row: row.at > moment,
            (executions.rows[seq] for seq in reversed(executions.of_account(account))),
        )
        orders |= {
            row.order.id: trading.orders.require(row.order.id)
            for row in recent
            if not wanted or row.order.symbol in wanted
        }
    read = (
        _order_at(exchange, order, moment)
        for order in sorted(orders.values(), key=lambda order: order.seq)
    )
    return [order for order in read if order is not None and order.live]


def positions_read(exchange: Exchange, account: str) -> list[Position]:
    """Positions as a read shows them."""
    positions, lag = exchange.trading.positions, exchange.ctx.assumptions.number(READ_LAG)
    held = positions.of(account)
    if not lag:
        return held
    moment = exchange.now - lag
    newer = {
        row.symbol
        for row in takewhile(lambda row: row.at > moment, reversed(positions.rows(account)))
    }
    return [
        found
        for one in held
        if (
            found := (
                _position_at(exchange, account, one.symbol, moment) if one.symbol in newer else one
            )
        )
        is not None
    ]


def _position_at(exchange: Exchange, account: str, symbol: str, moment: Instant) -> Position | None:
    rows = (
        row
        for row in reversed(exchange.trading.positions.rows(account))
        if row.symbol == symbol and row.at <= moment
    )
    last = next(rows, None)
    return None if last is None else position_after(last)


def _order_at(exchange: Exchange, order: Order, moment: Instant) -> Order | None:
    if exchange.awaited.was_reported(order.id):
        return order
    executions = exchange.trading.executions
    later: Order | None = None
    for seq in exchange.trading.execution_log.of_order(order):
        execution = executions.rows[seq]
        if execution.at <= moment:
            return execution.order if later is not None else order
        later = execution.order
    if order.created > moment:
        return None
    # It was there already, and the engine had it still.
    return (
        order
        if later is None
        else replace(
            later,
            state=OrderState.PENDING_NEW,
            leaves_qty=later.qty,
            cum_qty=0,
            avg_px=0,
            filled_at={},
            commission=0,
        )
    )
