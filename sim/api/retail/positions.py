"""Positions as messages of the retail API: as they are, or around a ledger row."""

from __future__ import annotations

from msgspec.structs import replace

from sim.api.rendering.retail_books import market_price
from sim.api.rendering.retail_numbers import PLACES, fixed, fixed_amount, fixed_notional, nearest
from sim.api.retail.metadata import leg_details, market_metadata
from sim.contract.messages import retail_v1 as wire
from sim.contract.messages.retail_v1 import Amount
from sim.core.accounts.positions import FILL, Position, position_after
from sim.core.exchange import Exchange
from sim.core.model.events import PositionChanged
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CURRENCY, Qty, divide_half_even
from sim.kernel.instants import Instant

_UNIT = 10**PLACES  # units of money per dollar
_NOTHING = Amount(value="0.0000", currency=CURRENCY)


def was_paid(position: Position) -> bool:
    """Return whether a settlement closed the position and no trade has reopened it."""
    return position.net == 0 and position.settled != 0


def holdings_around(exchange: Exchange, row: PositionChanged) -> tuple[Position | None, Position]:
    """Return the position before and after a row of its ledger; None as the first if the row opened
    it.

    The position before a resolution carries the instant of its last trade.
    """
    after = position_after(row)
    traded = row.qty_change if row.description == FILL else 0
    before = replace(
        after,
        net=row.net - row.qty_change,
        cost=row.cost - row.cost_change,
        realized=row.realized - row.realized_change,
        qty_bought=row.bought - max(traded, 0),
        qty_sold=row.sold + min(traded, 0),
        fees=row.fees - row.fee,
        # a correction finds the position already settled
        settled=0 if row.qty_change else after.settled,
    )
    if row.settlement is not None:
        before.changed = _last_trade(exchange, row)
    return (before if before.qty_bought or before.qty_sold else None), after


def _last_trade(exchange: Exchange, row: PositionChanged) -> Instant:
    """Return the instant of the last fill before a settlement's row of a position ledger."""
    rows = exchange.trading.positions.rows(row.account)
    fills = (
        change
        for change in reversed(rows)
        if change.symbol == row.symbol and change.description == FILL
    )
    return next((change.at for change in fills), row.at)  # after a settlement nobody trades


def position_message(
    exchange: Exchange,
    position: Position,
    at: Instant,
    *,
    available: Qty | None = None,
    expired: bool | None = None,
) -> wire.UserPosition:
    """Return a position at an instant.

    `available` defaults to what the working orders leave free, `expired` to the current state of
    the instrument. Contracts closed by a settlement count as sold for a long position and as bought
    for a short one.
    """
    instrument = exchange.instruments.require(position.symbol)
    scale = instrument.qty_scale
    free = exchange.trading.risk.closable(position) if available is None else available
    start, resolved = position.bod(at), was_paid(position)
    settled = _settled(exchange, position) if resolved else 0
    bought, sold = position.qty_bought + max(-settled, 0), position.qty_sold + max(settled, 0)
    # A settled position keeps the side on which it was held.
    long = (position.net or settled or position.qty_bought - position.qty_sold) >= 0
    metadata = market_metadata(exchange, position.symbol, long=long, resolved=resolved)
    message = wire.UserPosition(
        net_position=nearest(position.net, scale),
        qty_bought=nearest(bought, scale),
        qty_sold=nearest(sold, scale),
        bod_position=nearest(start, scale),
        qty_available=nearest(free, scale),
        net_position_decimal=fixed(position.net, scale),
        qty_bought_decimal=fixed(bought, scale),
        qty_sold_decimal=fixed(sold, scale),
        bod_position_decimal=fixed(start, scale),
        qty_available_decimal=fixed(free, scale),
        realized=fixed_notional(position.realized, instrument.price_scale, scale),
        cash_value=_cash_value(exchange, position, instrument),
        expired=exchange.trading.is_over(position.symbol) if expired is None else expired,
        update_time=position.changed,
        market_metadata=metadata,
        combo_leg_details=leg_details(exchange, position.symbol),
        position_id=f"{position.account}:{'LONG' if long else 'SHORT'}:{position.symbol}",
    )
    _write_cost(message, position, instrument, resolved=resolved)
    return message


def _settled(exchange: Exchange, position: Position) -> Qty:
    """Return how many contracts a settlement closed; positive for a long position."""
    settlement = exchange.trading.settlements.get(position.symbol)
    assert settlement is not None  # it closed the position
    return settlement.resolved[position.account]


def _write_cost(
    message: wire.UserPosition, position: Position, instrument: Instrument, *, resolved: bool
) -> None:
    """Write the cost of a position: cost = base cost + fees, each with four decimals.

    A contract held short costs a dollar less the price at which it was sold, and its average price
    is what it cost. The fees are what was collected for all fills so far.
    """
    scale = instrument.price_scale
    if resolved:
        message.cost = _NOTHING
        return
    base = position.cost + max(-position.net, 0) * scale
    base_units, fee_units = (
        divide_half_even(notional * _UNIT, instrument.notional_scale)
        for notional in (base, position.fees)
    )
    message.base_cost = fixed_amount(base_units, _UNIT)
    message.fees = fixed_amount(fee_units, _UNIT)
    message.cost = fixed_amount(base_units + fee_units, _UNIT)
    if position.net:
        message.avg_px = fixed_amount(base, abs(position.net) * scale)


def _cash_value(
    exchange: Exchange, position: Position, instrument: Instrument
) -> wire.Amount | None:
    """Return the value of a position at the current price; None while the price is unknown."""
    price = market_price(exchange, position.symbol)
    if price is None:
        return None if position.net else _NOTHING
    value = position.net * price + max(-position.net, 0) * instrument.price_scale
    return fixed_notional(value, instrument.price_scale, instrument.qty_scale)


def position_entry_type(row: PositionChanged) -> wire.LedgerEntryType:
    """Return the reason for a change of position as a ledger entry type."""
    if row.settlement is not None and row.qty_change:
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION
    if row.description == "Correction":
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION
    return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION
