"""Trade statistics of an instrument over a window, in total and in equal bars (§4.3, R11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sim.api.pipeline.account_access import participant_required
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.rendering.exchange_orders import trade_stats_message
from sim.api.rendering.retention import MARKET_DATA_RETENTION, purged_before
from sim.api.reports.columns import TRADE_COLUMNS
from sim.api.reports.filters import conditions_of
from sim.api.reports.trade_dates import trade_days
from sim.api.reports.where_clause import Condition, predicate, values_of
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import STATS_BARS, STATS_KEPT, STATS_REQUIRE_PARTICIPANT
from sim.core.catalogue.quirks import CLEARED_FIELDS_LAG
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import trade_stats
from sim.core.model.enums import TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Trade
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import DAY, Instant

BARS_MAX = 1_000


@handles("ReportAPI.GetTradeStats")
def get_trade_stats(
    exchange: Exchange, caller: Caller, request: wire.GetTradeStatsRequest
) -> wire.GetTradeStatsResponse:
    """Return the statistics of a window in total and for `bars` equal slices of it.

    Needs no participant. A trade on an edge belongs to the later bar. A trade exactly at the end
    belongs to the last bar, because the newest trades carry the current instant while the clock
    stands still. If the window ends with a trade date, its end is exclusive.
    """
    assumptions = exchange.ctx.assumptions
    if caller.participant is None and assumptions.flag(STATS_REQUIRE_PARTICIPANT):
        raise participant_required("R11")
    conditions = conditions_of(request)
    instrument = _instrument(exchange, request, conditions)
    start, end = _window(exchange, instrument, request)
    test = predicate(conditions, TRADE_COLUMNS)

    def trades(since: Instant, until: Instant) -> Iterator[Trade]:
        return filter(test, exchange.trading.execution_log.between(instrument.symbol, since, until))

    bars = max(0, request.bars - 1) if assumptions.text(STATS_BARS) == "edges" else request.bars
    lag = exchange.ctx.quirks.applies(CLEARED_FIELDS_LAG)
    purges = assumptions.text(STATS_KEPT) == "market_data"
    since = max(start, purged_before(exchange, MARKET_DATA_RETENTION)) if purges else start
    total, parts, starts, ends = trade_stats(trades(since, end), start, end, bars, lag)
    closing = end if request.end_trade_date is None else end - 1
    for trade in trades(end, closing + 1):
        if trade.state is not TradeState.BUSTED:
            for part in (total, *parts[-1:]):
                part.add(trade, trade.state is TradeState.CLEARED or not lag)
    return wire.GetTradeStatsResponse(
        stats=trade_stats_message(total),
        bars=[trade_stats_message(bar) for bar in parts],
        bar_start_time=list(starts),
        bar_end_time=list(ends),
    )


def _instrument(
    exchange: Exchange, request: wire.GetTradeStatsRequest, conditions: Sequence[Condition]
) -> Instrument:
    """Return the instrument that a request names. Refuses an invalid number of bars."""
    symbols = (request.symbol,) if request.symbol else values_of(conditions, "symbol")
    if symbols is None or len(symbols) != 1:
        raise InvalidRequest(
            "symbol is required",
            rule="R11",
            remedy="send symbol, or where_clause: symbol = '<symbol>'",
        )
    if not 0 <= request.bars <= BARS_MAX:
        raise InvalidRequest(
            f"bars must be between 0 and {BARS_MAX}",
            rule="R11",
            remedy="for daily bars, send the number of days",
        )
    return exchange.instruments.require(symbols[0])


def _window(
    exchange: Exchange, instrument: Instrument, request: wire.GetTradeStatsRequest
) -> tuple[Instant, Instant]:
    """Return the window of a request, which gives times or trade dates.

    By default it runs from the listing until now, or over the last day if that would be empty.
    """
    by_time = request.start_time is not None or request.end_time is not None
    by_date = request.start_trade_date is not None or request.end_trade_date is not None
    if by_time and by_date:
        raise InvalidRequest(
            "start_time and end_time cannot be combined with start_trade_date and end_trade_date",
            rule="R11",
            remedy="send times or trade dates",
        )
    start, end = request.start_time, request.end_time
    if by_date:
        days = request.start_trade_date, request.end_trade_date
        start, last = trade_days(*days, name="trade_date")
        end = None if last is None else last + 1
    end = exchange.now if end is None else end
    if start is None:
        listed = instrument.created or instrument.start
        start = listed if listed < end else end - DAY
    if end <= start:
        raise InvalidRequest(
            "end must be after start", rule="R11", remedy="send a window with start before end"
        )
    return start, end
