"""Price history of a market: the last trade price of either side, at even steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from sim.api.pipeline.handler import handles, require
from sim.api.rendering.retention import MARKET_DATA_RETENTION, purged_before
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import DAY, HOUR, MINUTE, NS_PER_S, Instant, Span

POINTS_MAX = 10_000
_REACH: dict[int, Span] = {
    wire.PriceInterval.INTERVAL_1H: HOUR,
    wire.PriceInterval.INTERVAL_6H: 6 * HOUR,
    wire.PriceInterval.INTERVAL_1D: DAY,
    wire.PriceInterval.INTERVAL_1W: 7 * DAY,
    wire.PriceInterval.INTERVAL_1M: 30 * DAY,
}


@handles("GatewayPriceHistoryAPI.GetPriceHistory")
def get_price_history(
    exchange: Exchange, request: wire.GetPriceHistoryRequest
) -> wire.GetPriceHistoryResponse:
    """Return points from the first trade on, `fidelity` minutes apart; empty for
    an unknown symbol.
    """
    require(request.symbol, "symbol")
    if request.fidelity < 1:
        remedy = "minutes between two points, at least 1"
        raise InvalidRequest("fidelity is required", remedy=remedy)
    if (request.fixed_interval == 0) is (request.timestamp is None):
        raise InvalidRequest(
            "give either fixedInterval or timestamp.startTimestamp and timestamp.endTimestamp"
        )
    instrument = exchange.instruments.get(request.symbol)
    if instrument is None:
        return wire.GetPriceHistoryResponse()
    start, end = _window(exchange, instrument, request)
    start = max(start, purged_before(exchange, MARKET_DATA_RETENTION))
    step = request.fidelity * MINUTE
    instants = range(-(-start // step) * step, end + 1, step)
    if len(instants) > POINTS_MAX:
        remedy = "ask for fewer, further apart"
        raise InvalidRequest(f"more than {POINTS_MAX} points", remedy=remedy)
    return wire.GetPriceHistoryResponse(history=_points(exchange, instrument, instants))


def _window(
    exchange: Exchange, instrument: Instrument, request: wire.GetPriceHistoryRequest
) -> tuple[Instant, Instant]:
    """First and last instant of the history. ALL begins at the listing, LIVE at the start of the
    event, or an hour ago if it has none.
    """
    now = exchange.now
    if request.timestamp is not None:
        start = request.timestamp.start_timestamp * NS_PER_S
        end = min(request.timestamp.end_timestamp * NS_PER_S, now)
        if start < 0 or start > end:
            raise InvalidRequest(
                "timestamp.startTimestamp must lie before timestamp.endTimestamp and before now"
            )
        return start, end
    if request.fixed_interval == wire.PriceInterval.INTERVAL_ALL:
        return min(instrument.created, now), now
    event = exchange.reference.event_of(instrument.symbol)
    begun = None if event is None else event.start_time
    live = request.fixed_interval == wire.PriceInterval.INTERVAL_LIVE
    if live and begun is not None and begun < now:
        return begun, now
    return now - _REACH.get(request.fixed_interval, HOUR), now


def _points(
    exchange: Exchange, instrument: Instrument, instants: Iterable[Instant]
) -> list[wire.PricePoint]:
    trades = exchange.trading.trades
    seqs = trades.of_symbol(instrument.symbol)
    if exchange.trading.statistics.busts(instrument.symbol):
        seqs = [seq for seq in seqs if trades[seq].state is not TradeState.BUSTED]
    scale = instrument.price_scale
    points = []
    before = 0
    for at in instants:
        before = bisect_right(seqs, at, before, key=lambda seq: trades[seq].at)
        if before:
            price = trades[seqs[before - 1]].price
            long, short = price / scale, (scale - price) / scale
            seconds = at // NS_PER_S
            points.append(wire.PricePoint(timestamp=seconds, long_price=long, short_price=short))
    return points
