"""Instruments, markets and lists of the gateway in answers.

Realises S1-2, S2.6-1, S2.10-1, S4.1-8 to S4.1-11, S4.3-13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sim.oracle.answers.books import levels, may_be_hidden
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.answers.reading import PAGE, PAGE_MAX, Reading, integer, pairs
from sim.oracle.hearing import Hearing
from sim.oracle.state import BUY, SELL, STATES, Document


def markets_in(document: Any) -> Iterator[Document]:
    """Yield every market in an answer, whatever it is embedded in (S2.10-1)."""
    if isinstance(document, list):
        for each in document:
            yield from markets_in(each)
    elif isinstance(document, dict):
        if "exchangeStatus" in document:
            yield document
        for each in document.values():
            yield from markets_in(each)


class CatalogueRules(Reading):
    """The part of the law about instruments and markets that are read.

    `pages` has the ids of lists by row, as they were read since something happened.
    """

    answers = pairs(
        "RefDataAPI.GetInstrument:_single_instrument RefDataAPI.ListSymbols:_symbols"
        " RefDataAPI.ListInstruments:_instruments RefDataAPI.SearchInstruments:_instruments"
        " GatewayMarketsAPI.ListMarkets:_list GatewayEventsAPI.ListEvents:_list"
        " GatewayLeaguesAPI.ListLeagues:_list GatewayTagsAPI.ListTags:_list"
        " GatewaySportsAPI.ListTeams:_list GatewaySportsAPI.ListSports:_list"
        " GatewaySportsAPI.ListSportListings:_list GatewaySeriesAPI.ListSeries:_list"
        " GatewayMarketsAPI.GetMarketBySlug:_markets GatewayMarketsAPI.GetMarketById:_markets"
        " GatewayEventsAPI.GetEvent:_markets GatewayEventsAPI.GetEventBySlug:_markets"
        " GatewaySearchAPI.SearchEvents:_markets GatewayTagsAPI.ListTagEvents:_markets"
        " GatewaySportsAPI.ListSeriesEvents:_markets GatewaySportsAPI.ListSportEvents:_markets"
        " GatewayLeaguesAPI.ListLeagueEvents:_markets"
    )

    def __init__(self, hearing: Hearing, history: NaiveHistory) -> None:
        super().__init__(hearing, history)
        self.pages: dict[str, dict[int, Any]] = {}

    def _distinct(self, ids: list[Any]) -> None:
        twice = [each for each, count in Counter(ids).items() if count > 1]
        self._agree("S4.3-13", "what is listed twice", [], twice)

    # ---- instruments

    def _symbols(self, answer: Document) -> None:
        self._distinct(answer["symbols"])

    def _single_instrument(self, answer: Document) -> None:
        asked, document = self._request.get("symbol"), answer["instrument"]
        self._agree("S4.3-13", "the instrument", asked, document["symbol"])
        self._instrument(document)

    def _instrument(self, document: Document) -> None:
        """Judge scales, tick, smallest quantity and state of an instrument (S1-2, S2.6-1)."""
        market = self._exchange.market(document["symbol"])
        terms = market.terms
        scales = pairs(
            "priceScale:price_scale fractionalQtyScale:qty_scale minimumTradeQty:min_qty"
        )
        expected: Document = {name: str(terms[field]) for name, field in scales.items()}
        expected["tickSize"] = float(Fraction(terms["tick"], terms["price_scale"]))
        expected["state"] = f"INSTRUMENT_STATE_{STATES[market.state]}"
        self._compare("S2.6-1", market.symbol, expected, document)

    def _instruments(self, answer: Document) -> None:
        """Judge a page of instruments: distinct ones, as they are now (S4.3-13, R7)."""
        rows = answer["instruments"]
        self._distinct([row["symbol"] for row in rows])
        for row in rows:
            self._instrument(row)
        size = min(integer(self._request.get("pageSize")) or PAGE, PAGE_MAX)
        due = (
            size
            if answer.get("nextPageToken") and "pageSize" in self._request
            else min(size, len(rows))
        )
        self._agree("R7", "the length of a page", due, len(rows))

    # ---- the gateway

    def _markets(self, answer: Document) -> None:
        """Judge every market: its state, its precision and its best prices (S2.10-1)."""
        for document in markets_in(answer):
            market = self._exchange.market(document["slug"])
            terms, scale = market.terms, market.price_scale
            expected: Document = {
                "exchangeStatus": STATES[market.state],
                "orderPriceMinTickSize": float(Fraction(terms["tick"], scale)),
                "minimumTradeQty": float(Fraction(terms["min_qty"], terms["qty_scale"])),
            }
            self._compare("S2.10-1", market.symbol, expected, document)
            for name, side in (("bestBidQuote", BUY), ("bestAskQuote", SELL)):
                if name in document and not may_be_hidden(market):
                    best = [Fraction(price, scale) for price, _ in levels(market, side)[:1]]
                    answered = [Fraction(str(document[name]["value"]))] if document[name] else []
                    self._agree("S2.10-1", f"{name} of {market.symbol}", best, answered)

    def _list(self, answer: Document) -> None:
        """Judge a list: distinct rows that pass, no more than asked for, and the same on each page.

        Row n is the same on every page until something happens (S4.1-10, S4.1-11).
        """
        self._markets(answer)
        observed = self._hearing.observed
        request = observed.request
        rows = next(value for value in answer.values() if isinstance(value, list))
        ids = [row["id"] for row in rows]
        self._distinct(ids)
        limit = integer(request.get("limit"))
        self._agree("S4.1-10", "more rows than asked for", 0 < limit < len(rows), False)
        for name in ("active", "closed"):
            if request.get(name) in ("true", "false"):
                asked = request[name] == "true"
                wrong = [row["id"] for row in rows if row.get(name, asked) is not asked]
                self._agree("S4.1-10", f"rows that are not {name}={asked}", [], wrong)
        filters = sorted((k, str(v)) for k, v in request.items() if k not in ("limit", "offset"))
        pages = self.pages.setdefault(f"{observed.operation} {filters}", {})
        for number, id in enumerate(ids, integer(request.get("offset"))):
            if not self._agree("S4.1-10", f"row {number}", pages.setdefault(number, id), id):
                return
