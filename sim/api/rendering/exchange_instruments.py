"""Instruments as messages of the exchange contract, for handlers and streams.

Dates and times of day are Eastern.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from msgspec.structs import replace

from sim.api.rendering.sports_types import sports_market_type
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import ALWAYS_OPEN, Instrument, Segment
from sim.core.model.quantities import CURRENCY
from sim.kernel.instants import (
    EASTERN,
    HOUR,
    MINUTE,
    NS_PER_S,
    Instant,
    Span,
    eastern_date,
    to_datetime,
    trade_date,
)

CLEARING_HOUSE = "SANDBOX"
_SPORT_TYPE = "market_sport_type"


def current_instrument_message(exchange: Exchange, instrument: Instrument) -> wire.Instrument:
    """Return an instrument in its current state, with the instant of its last change.

    Changes of state count, and so do changes of the metadata that report its index.
    """
    lifecycle, measure = exchange.trading.lifecycle, instrument.index_condition
    changed = lifecycle.last_change(instrument)
    if measure is not None and measure.begins:
        read = (measure.begins, lifecycle.dates.settlement_times(instrument)[0])
        changed = max(changed, *(at for at in read if at <= lifecycle.followed_to), 0)
    return instrument_message(exchange, instrument, lifecycle.state(instrument.symbol), changed)


def instrument_message(
    exchange: Exchange, instrument: Instrument, state: InstrumentState, changed: Instant
) -> wire.Instrument:
    """Return the terms of an instrument with its state and the instant of its last change.

    Dates and times of day are Eastern.
    """
    return wire.Instrument(
        symbol=instrument.symbol,
        tick_size=instrument.tick / instrument.price_scale,
        base_currency=CURRENCY,
        multiplier=1.0,
        minimum_trade_qty=instrument.min_qty,
        start_date=_day(instrument.start),
        expiration_date=_day(instrument.expiration),
        termination_date=_day(instrument.termination),
        trading_schedule=[_segment_message(segment) for segment in _schedule(instrument)],
        description=instrument.description,
        clearing_house=CLEARING_HOUSE,
        product_id=instrument.product_id,
        price_limit=wire.PriceLimit(
            low=instrument.price_low, high=instrument.price_high, low_set=True, high_set=True
        ),
        order_size_limit=_order_size_limit(instrument),
        expiration_time=_time_of_expiration(instrument.expiration),
        state=state,
        price_scale=instrument.price_scale,
        fractional_qty_scale=instrument.qty_scale,
        settlement_currency=CURRENCY,
        settlement_price_scale=instrument.price_scale,
        metadata=_metadata(exchange, instrument),
        event_attributes=_event_attributes(instrument),
        create_time=instrument.created or None,
        update_time=changed or None,
    )


def _metadata(exchange: Exchange, instrument: Instrument) -> dict[str, str]:
    """Return the metadata of an instrument, with the present name of its type."""
    metadata = instrument.metadata
    written = metadata.get(_SPORT_TYPE)
    kind = sports_market_type(exchange, written or "", instrument.symbol)
    return metadata if kind == written or not written else metadata | {_SPORT_TYPE: kind}


def _order_size_limit(instrument: Instrument) -> wire.OrderSizeLimit:
    return wire.OrderSizeLimit(
        low=instrument.size_low or 0,
        high=instrument.size_high or 0,
        low_set=instrument.size_low is not None,
        high_set=instrument.size_high is not None,
        total_notional_low=instrument.notional_low or 0,
        total_notional_high=instrument.notional_high or 0,
        total_notional_low_set=instrument.notional_low is not None,
        total_notional_high_set=instrument.notional_high is not None,
    )


def _event_attributes(instrument: Instrument) -> wire.EventAttributes:
    related = instrument.related
    return wire.EventAttributes(
        question=instrument.question or instrument.description,
        payout_value="1.00",
        event_id=instrument.event,
        strike_value=instrument.metadata.get("outcome_strike", ""),
        time_specifier=_day(instrument.expiration),
        event_outcome=EventOutcome.INDEPENDENT if related is None else related.kind,
    )


def _schedule(instrument: Instrument) -> tuple[Segment, ...]:
    """Return the trading schedule of an instrument.

    An instrument that trades around the clock shows the hour of its opening as the start of a day
    if it is listed before it opens (rule L6).
    """
    if instrument.schedule != ALWAYS_OPEN or instrument.start <= instrument.created:
        return instrument.schedule
    opens = to_datetime(instrument.start, EASTERN)
    since_midnight = opens.hour * HOUR + opens.minute * MINUTE + opens.second * NS_PER_S
    return (replace(ALWAYS_OPEN[0], start=since_midnight),)


def _segment_message(segment: Segment) -> wire.TradingHours:
    return wire.TradingHours(
        days_of_week=[day + 1 for day in segment.days],
        time_of_day=_time_of_day(segment.start),
        duration=segment.length,
        state=segment.state,
        hide_market_data=segment.hide_market_data,
        expire_all_orders=segment.expire_all_orders,
    )


def _time_of_day(since_midnight: Span) -> wire.TimeOfDay:
    return wire.TimeOfDay(
        hours=since_midnight // HOUR,
        minutes=since_midnight % HOUR // MINUTE,
        seconds=since_midnight % MINUTE // NS_PER_S,
    )


def _time_of_expiration(at: Instant) -> wire.TimeOfDay | None:
    if not at:
        return None
    moment = to_datetime(at, EASTERN)
    return wire.TimeOfDay(hours=moment.hour, minutes=moment.minute, seconds=moment.second)


def _day(at: Instant) -> wire.Date | None:
    return date_message(eastern_date(at)) if at else None


@lru_cache(maxsize=1024)
def date_message(day: date) -> wire.Date:
    """Return a calendar day as a message."""
    return wire.Date(year=day.year, month=day.month, day=day.day)


def trade_date_message(at: Instant) -> wire.Date:
    """Return the trade date of an instant as a message."""
    return date_message(trade_date(at))
