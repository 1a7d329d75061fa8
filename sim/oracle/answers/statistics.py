"""Trade statistics over a window and its equal slices (S2.4-*, S4.3-3, rule R11)."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

from sim.kernel.instants import Instant, days, eastern, format_instant
from sim.oracle.answers.history import CLEARED, MARKET_DATA_KEPT, NaiveTrade
from sim.oracle.answers.reading import Reading, comparisons, instant, integer, pairs, words
from sim.oracle.state import Document

_NAMES = words(
    "first last high low totalTradeCount clearedTradeCount volume clearedVolume notional"
    " clearedNotional"
)


def sums(trades: list[NaiveTrade], *, all_cleared: bool) -> Document:
    """Return the statistics of trades, oldest first; all zero of none (S2.4-1 to S2.4-3)."""
    prices = [trade.price for trade in trades] or [0]
    cleared = [trade for trade in trades if all_cleared or trade.state == CLEARED]
    numbers = [prices[0], prices[-1], max(prices), min(prices), len(trades), len(cleared)]
    for weight in (lambda trade: trade.qty, lambda trade: trade.qty * trade.price):
        numbers += [sum(map(weight, trades)), sum(map(weight, cleared))]
    return {name: str(number) for name, number in zip(_NAMES, numbers, strict=True)}


class StatisticsRules(Reading):
    """The part of the law about trade statistics."""

    answers = pairs("ReportAPI.GetTradeStats:_stats")

    def _stats(self, answer: Document) -> None:
        """Judge the window and each slice: an edge belongs to the later slice (rule R11)."""
        request, assumed = self._request, self._exchange.assumed
        symbol = self._symbol(request)
        if not symbol:
            self._unknown_filter()
            return
        start, end = self._window(symbol, request)
        bars = integer(request.get("bars"))
        bars = max(0, bars - 1) if assumed("report.bars") == "edges" else bars
        borders = [start + (end - start) * index // bars for index in range(bars)] + [end]
        slices = list(pairwise(borders))
        starts, ends = ([format_instant(each[side]) for each in slices] for side in (0, 1))
        if not (
            self._agree("R11", f"slices of {symbol}: barStartTime", starts, answer["barStartTime"])
            and self._agree("R11", f"slices of {symbol}: barEndTime", ends, answer["barEndTime"])
        ):
            return
        market_data = assumed("retention.trade_stats") == "market_data"
        since = self._history.kept_since(MARKET_DATA_KEPT) if market_data else 0
        trades = [trade for trade in self._history.of_symbol(symbol) if trade.at >= since]
        all_cleared = not self._hearing.quirk("cleared_fields_lag")
        for (first, last), answered in zip(
            [*slices, (start, end)], [*answer["bars"], answer["stats"]], strict=True
        ):
            closes = last == end and "endTradeDate" not in request
            counted = [each for each in trades if first <= each.at < last + closes]
            expected = sums(counted, all_cleared=all_cleared)
            self._compare("R11", f"statistics of {symbol} from {first}", expected, answered)

    def _symbol(self, request: Document) -> str:
        """Return the instrument that a request names; "" if it has other filters."""
        clauses = comparisons(request.get("whereClause")) or []
        names = [values[0] for column, _, values in clauses if column == "symbol"]
        filtered = "fieldFilter" in request or "filter" in request or len(names) < len(clauses)
        return "" if filtered else str(request.get("symbol") or (*names, "")[0])

    def _window(self, symbol: str, request: Document) -> tuple[Instant, Instant]:
        """Return the window: times, or trade dates from 17:00 to 17:00 Eastern (rule L11).

        Without a start it begins with the listing, without an end it ends now (rule R11).
        """
        start, end = instant(request.get("startTime")), instant(request.get("endTime"))
        first, last = request.get("startTradeDate"), request.get("endTradeDate")
        start = _roll(first) - days(1) if first else start
        end = _roll(last) if last else self._hearing.observed.at if end is None else end
        if start is None:
            terms = self._exchange.market(symbol).terms
            listed = terms["created"] or terms["start"]
            start = listed if listed < end else end - days(1)
        return start, end


def _roll(day: Document) -> Instant:
    return eastern(date(int(day["year"]), int(day["month"]), int(day["day"])), 17)
