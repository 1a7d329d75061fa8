"""Trade statistics of an instrument over a window, in total and in equal bars (§4.3, R11)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.retention import MARKET_DATA_KEPT, purged_before
from sim.api.rendering.exchange import trade_stats_message
from sim.api.reports.columns import TRADE_COLUMNS
from sim.api.reports.filters import conditions_of
from sim.api.reports.trade_dates import trade_days
from sim.api.reports.where_clause import predicate, values_of
from sim.core.catalogue.assumptions import STATS_BARS, STATS_KEPT, STATS_REQUIRE_PARTICIPANT
from sim.core.catalogue.quirks import CLEARED_FIELDS_LAG
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import trade_stats
from sim.core.model.enums import TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.kernel.instants import DAY, Instant
from sim.messages import exchange_v1 as wire

BARS_MAX = 10_000


@handles("ReportAPI.GetTradeStats")
def get_trade_stats(
    exchange: Exchange, caller: Caller, request: wire.GetTradeStatsRequest
) -> wire.GetTradeStatsResponse:
    """Statistics from start to end; `bars` is the number of equal slices, 0 gives totals only.
    Needs no participant.

    A trade on an edge belongs to the later bar, one at the very end to the last: on a clock that
    stands still that is where the newest trades are. The end of a trade date begins the next date,
    so there the end is not part of the window.
    """
    assumptions = exchange.ctx.assumptions
    if caller.participant is None and assumptions.flag(STATS_REQUIRE_PARTICIPANT):
        raise PermissionDenied(
            rule="R11",
            remedy=(
                "send x-participant-id: firms/<firm>/users/<user>; this environment asks for it"
                " here too"
            ),
        )
    conditions = conditions_of(request)
    named = (request.symbol,) if request.symbol else values_of(conditions, "symbol")
    if named is None or len(named) != 1:
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
    instrument = exchange.instruments.require(named[0])
    start, end = _window(exchange, instrument, request)
    between, test = exchange.trading.execution_log.between, predicate(conditions, TRADE_COLUMNS)
    bars = max(0, request.bars - 1) if assumptions.text(STATS_BARS) == "edges" else request.bars
    lag = exchange.ctx.quirks.strikes(CLEARED_FIELDS_LAG)
    since = (
        purged_before(exchange, MARKET_DATA_KEPT)
        if assumptions.text(STATS_KEPT) == "market_data"
        else start
    )
    whole, parts, starts, ends = trade_stats(
        filter(test, between(instrument.symbol, max(start, since), end)), start, end, bars, lag
    )
    closing = end if request.end_trade_date is None else end - 1
    for trade in filter(test, between(instrument.symbol, end, closing + 1)):
        if trade.state is not TradeState.BUSTED:
            for part in (whole, *parts[-1:]):
                part.take(trade, trade.state is TradeState.CLEARED or not lag)
    return wire.GetTradeStatsResponse(
        stats=trade_stats_message(whole),
        bars=[trade_stats_message(bar) for bar in parts],
        bar_start_time=list(starts),
        bar_end_time=list(ends),
    )


def _window(
    exchange: Exchange, instrument: Instrument, request: wire.GetTradeStatsRequest
) -> tuple[Instant, Instant]:
    """Window of the request, given as times or as trade dates; from the listing until now where it
    is open, from a day before where that is no time at all.
    """
    by_time = request.start_time is not None or request.end_time is not None
    by_date = request.start_trade_date is not None or request.end_trade_date is not None
    if by_time and by_date:
        raise InvalidRequest(
            "start_time and end_time exclude start_trade_date and end_trade_date",
            rule="R11",
            remedy="send times or trade dates",
        )
    start, end = request.start_time, request.end_time
    if by_date:
        start, last = trade_days(
            request.start_trade_date, request.end_trade_date, name="trade_date"
        )
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
