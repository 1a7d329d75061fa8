"""Core records as messages of the exchange contract, for handlers and streams.

There is one function per record. Numbers pass through, because the core counts in the contract's
scaled integers and its enumerations have the contract's numbers. Money of accounts becomes decimal
text. Nobody changes a message that is built here, so messages may share parts.
"""

from __future__ import annotations

from collections.abc import Container
from datetime import date
from functools import lru_cache
from itertools import islice

from msgspec import convert
from msgspec.structs import replace

from sim.core.accounts.positions import Position
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import SymbolStats, TradeStats
from sim.core.matching.book import Book
from sim.core.model import orders as core
from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import ExecutionType, InstrumentState, Side, TradeState
from sim.core.model.events import CancelRejected, CashMoved, PositionChanged
from sim.core.model.instrument import ALWAYS_OPEN, Instrument, Segment
from sim.core.model.quantities import Price, Qty, cash_text
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
from sim.messages import exchange_v1 as wire

CURRENCY = "USD"
CLEARING_HOUSE = "SANDBOX"

# What an order says about who stands behind it; the other side of a trade never shows these.
_ANONYMOUS = {
    "account": "",
    "participant": "",
    "clord_id": "",
    "submitting_participant": "",
    "client_account_id": "",
    "client_participant_id": "",
    "cross_id": "",
}


# ---- orders, executions, trades


def order_message(exchange: Exchange, order: core.Order) -> wire.Order:
    """An order as it is now (§2.7), with the fee coefficients that were in force when it was
    created, as on the retail API.
    """
    taker, maker = exchange.trading.fees.basis_points(
        exchange.instruments.require(order.symbol), order.created
    )
    return wire.Order(
        id=order.id,
        type=order.type,
        side=order.side,
        order_qty=order.qty,
        symbol=order.symbol,
        clord_id=order.clord_id,
        time_in_force=order.tif,
        account=order.account,
        cum_qty=order.cum_qty,
        avg_px=order.avg_px,
        leaves_qty=order.leaves_qty,
        state=order.state,
        participant=order.participant,
        price=order.price,
        insert_time=order.inserted,
        stop_price=order.stop_price,
        min_qty=order.min_qty,
        create_time=order.created,
        all_or_none=order.all_or_none,
        cross_id=order.cross_id,
        host_cross_id=order.host_cross_id,
        submitting_participant=order.submitter,
        client_account_id=order.client_account_id,
        client_participant_id=order.client_participant_id,
        parent_order_id=order.parent_id,
        participate_dont_initiate=order.post_only,
        cash_order_qty=order.cash_qty,
        strict_limit=order.strict_limit,
        good_till_time=order.good_till,
        best_limit=order.best_limit,
        immediately_executable_limit=order.immediately_executable_limit,
        last_trade_id=order.last_trade_id,
        price_to_quantity_filled=order.filled_at,
        commission_notional_total_collected=order.commission,
        commissions_basis_points=taker,
        maker_commissions_basis_points=maker,
        self_match_prevention_instruction=order.smp,
        order_capacity=order.order_capacity,
        ignore_price_validity_checks=order.ignore_price_checks,
        last_transact_time=order.changed or order.created,
        price_scale=order.price_scale,
        fractional_quantity_scale=order.qty_scale,
        manual_order_indicator=order.manual_indicator,
    )


def execution_message(exchange: Exchange, execution: core.Execution) -> wire.Execution:
    """An execution with the order as it was right after it (rule M41).

    Commissions are collected in notional, never as a spread, so a fill's price that includes its
    spread commission (§2.7) is its price.
    """
    filled = execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL)
    return wire.Execution(
        id=execution.id,
        order=order_message(exchange, execution.order),
        last_shares=execution.last_qty,
        last_px=execution.last_px,
        type=execution.type,
        text=execution.text,
        order_reject_reason=execution.reject_reason,
        transact_time=execution.at,
        trade_id=execution.trade_id,
        aggressor=execution.aggressor,
        commission_notional_collected=execution.commission,
        unsolicited_cancel_reason=execution.unsolicited,
        trace_id=execution.trace_id,
        commission_spread_px=execution.last_px if filled else 0,
        transact_trade_date=trade_date_message(execution.at),
    )


def cancel_reject_message(rejected: CancelRejected) -> wire.CancelReject:
    """A cancel or replace that was refused."""
    return wire.CancelReject(
        order_id=rejected.order_id,
        reject_reason=rejected.reason,
        text=rejected.text,
        is_replace=rejected.is_replace,
        clord_id=rejected.clord_id,
        transact_time=rejected.at,
    )


def trade_message(
    exchange: Exchange,
    trade: core.Trade,
    accounts: Container[str] | None = None,
    state: TradeState | None = None,
) -> wire.Trade:
    """A trade in a clearing state, its present one when none is given. With `accounts`, a side of
    another account keeps its numbers and loses its names.
    """
    return wire.Trade(
        id=trade.id,
        aggressor=_side_message(exchange, trade.aggressor, accounts),
        passive=_side_message(exchange, trade.passive, accounts),
        trade_type=trade.type,
        state=trade.state if state is None else state,
        trade_link_id=trade.id,
    )


def _side_message(
    exchange: Exchange, execution: core.Execution, accounts: Container[str] | None
) -> wire.Execution:
    message = execution_message(exchange, execution)
    other = accounts is not None and execution.order.account not in accounts
    if other and message.order is not None:
        message.order = replace(message.order, **_ANONYMOUS)
    return message


def trade_stats_message(stats: TradeStats) -> wire.TradeStats:
    """Trade statistics of one span (§2.4)."""
    return convert(stats, wire.TradeStats, from_attributes=True)


# ---- books


def levels_message(levels: list[tuple[Price, Qty, int]]) -> list[wire.BookEntry]:
    """Price levels, best first."""
    return [wire.BookEntry(px=price, qty=qty) for price, qty, _ in levels]


def book_message(
    book: Book,
    state: InstrumentState,
    stats: SymbolStats,
    at: Instant,
    *,
    depth: int | None = None,
    unaggregated: bool = False,
    scales: bool = False,
) -> wire.MarketDataUpdate:
    """A whole book as the market data streams show it: `depth` entries a side, single orders when
    unaggregated, scales only when asked for.

    A hidden book shows no entries (rule L3).
    """
    instrument = book.instrument
    return wire.MarketDataUpdate(
        symbol=book.symbol,
        bids=_entries(book, Side.BUY, depth, unaggregated),
        offers=_entries(book, Side.SELL, depth, unaggregated),
        state=state,
        stats=stats_message(stats),
        transact_time=at,
        book_hidden=book.hidden,
        price_scale=instrument.price_scale if scales else None,
        quantity_scale=instrument.qty_scale if scales else None,
    )


def unmade_book_message(
    state: InstrumentState, at: Instant, price_scale: int, qty_scale: int
) -> wire.MarketDataUpdate:
    """The empty book of an instrument that nothing has happened to, with scales and without its
    symbol.
    """
    return wire.MarketDataUpdate(
        state=state,
        stats=stats_message(SymbolStats(open_interest=0)),
        transact_time=at,
        price_scale=price_scale,
        quantity_scale=qty_scale,
    )


def _entries(book: Book, side: Side, depth: int | None, unaggregated: bool) -> list[wire.BookEntry]:
    if book.hidden:
        return []
    if not unaggregated:
        return levels_message(book.levels(side, depth))
    orders = islice(book.orders(side), depth)
    return [wire.BookEntry(px=order.price, qty=order.leaves_qty) for order in orders]


def stats_message(stats: SymbolStats) -> wire.InstrumentStats:
    """Statistics of an instrument; unset where there is nothing to say (§2.5)."""
    return wire.InstrumentStats(
        open_px=stats.open_px,
        close_px=stats.close_px,
        low_px=stats.low_px,
        high_px=stats.high_px,
        last_trade_px=stats.last_trade_px,
        indicative_open_px=stats.indicative_open_px,
        settlement_px=stats.settlement_px,
        shares_traded=stats.shares_traded,
        notional_traded=stats.notional_traded,
        open_interest=stats.open_interest,
        settlement_preliminary=stats.settlement_preliminary,
        settlement_price_calculation_method=stats.settlement_method,
        settlement_price_calculation_text=stats.settlement_text,
        last_trade_qty=stats.last_trade_qty,
        settlement_set_time=stats.settlement_set_time,
    )


# ---- instruments


def instrument_as_it_is(exchange: Exchange, instrument: Instrument) -> wire.Instrument:
    """Return an instrument as it is now, with the instant of its last change.

    A change is one of its state, or of the metadata that report its index.
    """
    lifecycle, measure = exchange.trading.lifecycle, instrument.index_condition
    changed = lifecycle.last_change(instrument)
    if measure is not None and measure.begins:
        read = (measure.begins, lifecycle.settlement_times(instrument)[0])
        changed = max(changed, *(at for at in read if at <= lifecycle.followed_to), 0)
    return instrument_message(instrument, lifecycle.state(instrument.symbol), changed)


def instrument_message(
    instrument: Instrument, state: InstrumentState, changed: Instant
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
        metadata=instrument.metadata,
        event_attributes=_event_attributes(instrument),
        create_time=instrument.created or None,
        update_time=changed or None,
    )


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
    """Return the schedule of an instrument. Where trading goes on day and night, a day begins at
    the hour at which an instrument that waits for its start opens (rule L6).
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
    """A calendar day."""
    return wire.Date(year=day.year, month=day.month, day=day.day)


def trade_date_message(at: Instant) -> wire.Date:
    """The trade date of an instant."""
    return date_message(trade_date(at))


# ---- positions and ledgers


def position_message(position: Position, now: Instant, *, expired: bool = False) -> wire.Position:
    """What an account holds of one instrument. `expired`: the instrument is past its expiration."""
    return wire.Position(
        account=position.account,
        symbol=position.symbol,
        net_position=position.net,
        qty_bought=position.qty_bought,
        qty_sold=position.qty_sold,
        cost=position.cost,
        realized=position.realized,
        bod_position=position.bod(now),
        expired=expired,
        update_time=position.changed,
    )


def ledger_entry_message(moved: CashMoved) -> wire.BalanceLedgerEntry:
    """One change of a cash balance (rule P20)."""
    return wire.BalanceLedgerEntry(
        id=f"bl_{moved.id}",
        account=moved.account,
        currency=CURRENCY,
        before_balance=cash_text(moved.before),
        after_balance=cash_text(moved.after),
        description=moved.description,
        update_time=moved.at,
        modified_security_id=moved.symbol,
        entry_type=moved.type,
        symbol=moved.symbol,
        update_business_date=trade_date(moved.at).isoformat(),
    )


def position_entry_message(changed: PositionChanged) -> wire.PositionLedgerEntry:
    """One change of a position, with the state right after it (rule P23)."""
    return wire.PositionLedgerEntry(
        id=f"pl_{changed.id}",
        account=changed.account,
        symbol=changed.symbol,
        quantity_change=changed.qty_change,
        cost_change=changed.cost_change,
        realized_change=changed.realized_change,
        net_position=changed.net,
        cost=changed.cost,
        realized=changed.realized,
        update_time=changed.at,
        update_business_date=trade_date(changed.at).isoformat(),
        description=changed.description,
    )
