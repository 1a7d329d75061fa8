"""Positions in the shape of the retail API: as they are now, and around a row of their ledger."""

from __future__ import annotations

from typing import NamedTuple

from sim.api.retail_metadata import market_metadata
from sim.api.retail_numbers import CURRENCY, fixed, nearest, notional_amount
from sim.core.events import PositionChanged
from sim.core.exchange import Exchange
from sim.core.instruments import Instrument
from sim.core.quantities import Notional, Qty, decimal_fixed
from sim.core.vocabulary import Side
from sim.kernel.instants import Instant
from sim.messages import retail_v1 as wire


class Holding(NamedTuple):
    """What a position message is made from: a position, or one at a point of its ledger, where only net, cost and result are known."""

    account: str
    symbol: str
    net: Qty
    cost: Notional
    realized: Notional
    at: Instant
    expired: bool = False
    bought: Qty | None = None
    sold: Qty | None = None
    at_day_start: Qty | None = None
    fees: Notional | None = None


def holdings(exchange: Exchange, account: str) -> list[Holding]:
    """Every position an account ever had, as it is now, in order of first touch."""
    trading = exchange.trading
    settled = {row.symbol: row.at for row in trading.positions.rows(account) if row.settlement is not None and row.qty_change}
    fees: dict[str, Notional] = {}
    for seq in trading.executions.of_account(account):
        execution = trading.executions[seq]
        if execution.commission:
            fees[execution.order.symbol] = fees.get(execution.order.symbol, 0) + execution.commission
    return [
        Holding(
            account=account,
            symbol=position.symbol,
            net=position.net,
            cost=position.cost,
            realized=position.realized,
            at=max(position.changed, settled.get(position.symbol, 0)),
            expired=position.net == 0 and position.symbol in settled,
            bought=position.qty_bought,
            sold=position.qty_sold,
            at_day_start=position.bod(exchange.now),
            fees=fees.get(position.symbol, 0),
        )
        for position in trading.positions.of(account)
    ]


def holdings_around(row: PositionChanged) -> tuple[Holding | None, Holding]:
    """The position before and after a row of its ledger; None before the first."""
    before = Holding(row.account, row.symbol, row.net - row.qty_change, row.cost - row.cost_change, row.realized - row.realized_change, row.at)
    after = Holding(row.account, row.symbol, row.net, row.cost, row.realized, row.at, row.settlement is not None)
    fresh = not (before.net or before.cost or before.realized)
    return (None if fresh else before), after


def position_message(exchange: Exchange, held: Holding) -> wire.UserPosition:
    """A position. Quantities that are not known at that point are empty, as stream frames may have them."""
    instrument = exchange.instruments.require(held.symbol)
    scale = instrument.qty_scale
    available = held.net - _closing(exchange, held) if held.bought is not None else None
    average = _per_contract(held, instrument)
    return wire.UserPosition(
        net_position=nearest(held.net, scale),
        qty_bought=nearest(held.bought or 0, scale),
        qty_sold=nearest(held.sold or 0, scale),
        bod_position=nearest(held.at_day_start or 0, scale),
        qty_available=None if available is None else nearest(available, scale),
        net_position_decimal=fixed(held.net, scale),
        qty_bought_decimal=_known(held.bought, scale),
        qty_sold_decimal=_known(held.sold, scale),
        bod_position_decimal=_known(held.at_day_start, scale),
        qty_available_decimal=_known(available, scale),
        cost=notional_amount(held.cost, instrument.price_scale, scale),
        realized=notional_amount(held.realized, instrument.price_scale, scale),
        cash_value=_unrealized(exchange, held, instrument),
        avg_px=average,
        fees=None if held.fees is None else notional_amount(held.fees, instrument.price_scale, scale),
        base_cost=notional_amount(held.cost, instrument.price_scale, scale),
        cost_per_share=average,
        expired=held.expired,
        update_time=held.at,
        market_metadata=market_metadata(exchange, held.symbol, long=held.net >= 0),
        position_id=f"{held.account}:{'LONG' if held.net >= 0 else 'SHORT'}:{held.symbol}",
    )


def _known(qty: Qty | None, scale: int) -> str:
    return "" if qty is None else fixed(qty, scale)


def _closing(exchange: Exchange, held: Holding) -> Qty:
    """Signed quantity that working orders would take off the position, never more than all of it."""
    closing = Side.SELL if held.net > 0 else Side.BUY
    orders = exchange.trading.orders.of_account(held.account)
    working = sum(order.leaves_qty for order in orders if order.symbol == held.symbol and order.side is closing)
    return min(working, held.net) if held.net > 0 else max(-working, held.net)


def _per_contract(held: Holding, instrument: Instrument) -> wire.Amount | None:
    if not held.net:
        return None
    return wire.Amount(value=decimal_fixed(abs(held.cost), abs(held.net) * instrument.price_scale, 4), currency=CURRENCY)


def _unrealized(exchange: Exchange, held: Holding, instrument: Instrument) -> wire.Amount | None:
    """What closing at the last traded price would add to the realized result; None where nothing has traded."""
    mark = exchange.trading.stats(held.symbol).last_trade_px
    if mark is None:
        return None
    return notional_amount(held.net * mark - held.cost, instrument.price_scale, instrument.qty_scale)


def position_entry_type(row: PositionChanged) -> wire.LedgerEntryType:
    """Why a position changed."""
    if row.settlement is not None and row.qty_change:
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION
    if row.description == "Correction":
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION
    return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION
