"""Positions in the shape of the retail API: as they are now, and around a row of their ledger."""

from __future__ import annotations

from msgspec.structs import replace

from sim.api.rendering.amounts import CURRENCY, fixed, nearest, notional_amount
from sim.api.retail.legs import leg_details
from sim.api.retail.metadata import market_metadata
from sim.core.accounts.positions import FILL, Position, position_after
from sim.core.exchange import Exchange
from sim.core.model.events import PositionChanged
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Qty, decimal_fixed
from sim.kernel.instants import Instant
from sim.messages import retail_v1 as wire


def expired(position: Position) -> bool:
    """Whether a settlement closed the position, and nothing has opened it since."""
    return position.net == 0 and position.settled > 0


def holdings_around(row: PositionChanged) -> tuple[Position | None, Position]:
    """Return the position before and after a row of its ledger; None before the first row.

    The instant of the change before is not known, so both carry the row's instant.
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
        settled=0,
    )
    return (before if before.qty_bought or before.qty_sold else None), after


def position_message(
    exchange: Exchange, held: Position, at: Instant, *, available: Qty | None = None
) -> wire.UserPosition:
    """Return a position at an instant. Without `available` it follows from the working orders."""
    instrument = exchange.instruments.require(held.symbol)
    scale = instrument.qty_scale
    free = exchange.trading.risk.closable(held) if available is None else available
    start = held.bod(at)
    average = _per_contract(held, instrument)
    # what was settled stays on the side on which it was held
    long = (held.net or held.qty_bought - held.qty_sold) >= 0
    return wire.UserPosition(
        net_position=nearest(held.net, scale),
        qty_bought=nearest(held.qty_bought, scale),
        qty_sold=nearest(held.qty_sold, scale),
        bod_position=nearest(start, scale),
        qty_available=nearest(free, scale),
        net_position_decimal=fixed(held.net, scale),
        qty_bought_decimal=fixed(held.qty_bought, scale),
        qty_sold_decimal=fixed(held.qty_sold, scale),
        bod_position_decimal=fixed(start, scale),
        qty_available_decimal=fixed(free, scale),
        cost=notional_amount(held.cost, instrument.price_scale, scale),
        realized=notional_amount(held.realized, instrument.price_scale, scale),
        cash_value=_unrealized(exchange, held, instrument),
        avg_px=average,
        fees=notional_amount(held.fees, instrument.price_scale, scale),
        base_cost=notional_amount(held.cost, instrument.price_scale, scale),
        cost_per_share=average,
        expired=expired(held),
        update_time=held.changed,
        market_metadata=market_metadata(exchange, held.symbol, long=long),
        combo_leg_details=leg_details(exchange, held.symbol),
        position_id=f"{held.account}:{'LONG' if long else 'SHORT'}:{held.symbol}",
    )


def _per_contract(held: Position, instrument: Instrument) -> wire.Amount | None:
    if not held.net:
        return None
    average = decimal_fixed(abs(held.cost), abs(held.net) * instrument.price_scale, 4)
    return wire.Amount(value=average, currency=CURRENCY)


def _unrealized(exchange: Exchange, held: Position, instrument: Instrument) -> wire.Amount | None:
    """Return what closing at the last traded price would realize; None without a trade."""
    mark = exchange.trading.stats(held.symbol).last_trade_px
    if mark is None:
        return None
    profit = held.net * mark - held.cost
    return notional_amount(profit, instrument.price_scale, instrument.qty_scale)


def position_entry_type(row: PositionChanged) -> wire.LedgerEntryType:
    """Why a position changed."""
    if row.settlement is not None and row.qty_change:
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION
    if row.description == "Correction":
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION
    return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION
