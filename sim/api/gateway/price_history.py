"""Price history of a market: the last trade price of either side, at even steps."""

from __future__ import annotations

from bisect import bisect_right

from sim.api.pipeline.handler import handles, require
from sim.api.rendering.retention import MARKET_DATA_RETENTION, purged_before
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import DAY, HOUR, MINUTE, NS_PER_S, Instant, Span

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
    """Return a point for each step of `fidelity` minutes in which something was traded; empty for
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
    return wire.GetPriceHistoryResponse(history=_points(exchange, instrument, start, end, step))


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
    exchange: Exchange, instrument: Instrument, start: Instant, end: Instant, step: Span
) -> list[wire.PricePoint]:
    """Return the last trade of each step at the end of the step, if that lies in the window.

    Steps without a trade are left out, so there are never more points than trades.
    """
    trades = exchange.trading.trades
    seqs = trades.of_symbol(instrument.symbol)
    start, end = -(-start // step) * step - step, end // step * step  # exclusive, inclusive
    first = bisect_right(seqs, start, key=lambda seq: trades[seq].at)
    last = bisect_right(seqs, end, first, key=lambda seq: trades[seq].at)
    prices: dict[int, Price] = {}
    for seq in seqs[first:last]:
        trade = trades[seq]
        if trade.state is not TradeState.BUSTED:
            prices[-(-trade.at // step) * step // NS_PER_S] = trade.price
    scale = instrument.price_scale
    return [
        wire.PricePoint(timestamp=at, long_price=price / scale, short_price=(scale - price) / scale)
        for at, price in prices.items()
    ]
