"""Books, best prices and statistics of instruments in answers.

Realises rules L3, L15, L21, L25, M42, R10 and statements S2.5-*, S3.1-1, S3.1-4, S4.2-8, S4.2-9,
S4.3-1 and S4.3-2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sim.kernel.instants import format_instant
from sim.oracle import state
from sim.oracle.answers.history import MARKET_DATA_KEPT, NaiveHistory, TradingSession
from sim.oracle.answers.reading import Reading, integer, pairs
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import BUY, CLOSED, PENDING, SELL, STATES, Document, Market

DEPTH, DEPTH_MAX = 3, 10
SETTLED = (CLOSED, state.EXPIRED, state.TERMINATED)
Levels = list[tuple[int, int]]


def levels(market: Market, side: int) -> Levels:
    """Return prices and total quantities of a side, best first (S2.5-1)."""
    total: dict[int, int] = {}
    for order in market.side(side):
        total[order.price] = total.get(order.price, 0) + order.leaves_qty
    return list(total.items())


def may_be_hidden(market: Market) -> bool:
    """Return whether a schedule hides the book at some time of the week (rule L3)."""
    return any(segment["hide_market_data"] for segment in market.terms["schedule"])


def market_numbers(
    exchange: NaiveExchange, history: NaiveHistory, market: Market
) -> dict[str, int | None]:
    """Return prices and sums of the session, the last trade, and open interest (S2.5-3).

    Busted trades never count (M42), and prices that are too old are gone (R10). A settlement
    price is published in CLOSED, EXPIRED and TERMINATED (L25).
    """
    symbol = market.symbol
    held = [account.positions.get(symbol) for account in exchange.accounts.values()]
    settlement = history.settled.get(symbol, market.settlement) or {}
    published = market.state in SETTLED
    numbers: dict[str, int | None] = {}
    numbers |= {"openInterest": sum(max(each.net, 0) for each in held if each is not None)}
    if not published or "price" in settlement:  # a dormant market settles without an event
        numbers["settlementPx"] = settlement.get("price") if published else None
    trades, session = history.of_symbol(symbol), history.sessions.get(symbol, TradingSession())
    gone = trades and trades[-1].at < history.kept_since(MARKET_DATA_KEPT)
    if gone or not session.complete:
        return numbers
    counted = [trade for trade in session.trades if trade in trades]
    prices = [trade.price for trade in counted]
    return numbers | {
        "openPx": next(iter(prices), None),
        "highPx": max(prices, default=None),
        "lowPx": min(prices, default=None),
        "lastTradePx": trades[-1].price if trades else None,
        "lastTradeQty": trades[-1].qty if trades else None,
        "sharesTraded": sum(trade.qty for trade in counted),
        "notionalTraded": sum(trade.qty * trade.price for trade in counted),
    }


class BookRules(Reading):
    """The part of the law about books that are read."""

    answers = pairs(
        "OrderBookAPI.GetOrderBook:_book OrderBookAPI.GetBBO:_bbo"
        " RetailMarketDataAPI.GetBook:_retail_book RetailMarketDataAPI.GetBBO:_retail_bbo"
        " SettlementService.GetInstrumentSettlement:_settlement"
    )

    def has_book(self, symbol: str) -> bool:
        """Return whether an instrument has a book: not before it opens, or at its end (S3.1-1)."""
        if symbol not in self._exchange.beginning.instruments:
            return False
        dead = self._exchange.market(symbol).state in (PENDING, state.TERMINATED)
        return not dead or self._exchange.assumed("book.pending_and_terminated") != "not_found"

    def _market(self, symbol: str) -> Market:
        asked = self._request.get("symbol") or self._request.get("slug")
        self._agree("S2.5-1", "the instrument", asked, symbol)
        return self._exchange.market(symbol)

    def _sides(self, market: Market, *answered: Any) -> list[Levels]:
        """Return both sides; nothing if the answer shows nothing and may hide them.

        By a schedule (rule L3), or on the retail API by an assumption about halts.
        """
        halted = self._exchange.assumed("market_data.halted_book") == "empty"
        hidden = may_be_hidden(market) or (market.state == state.HALTED and halted)
        empty = hidden and not any(answered)
        return [[], []] if empty else [levels(market, BUY), levels(market, SELL)]

    # ---- the exchange API

    def _book(self, answer: Document) -> None:
        """Judge levels, depth, state and statistics of a book (S2.5-1, S4.3-1)."""
        market = self._market(answer["symbol"])
        depth = min(integer(self._request.get("depth")) or DEPTH, DEPTH_MAX)
        sides = self._sides(market, answer["bids"], answer["offers"])
        entries = [[{"px": str(px), "qty": str(qty)} for px, qty in side[:depth]] for side in sides]
        self._state(market, answer, {"bids": entries[0], "offers": entries[1]})

    def _bbo(self, answer: Document) -> None:
        """Judge the best prices, their difference and their mean (S2.5-2)."""
        market = self._market(answer["symbol"])
        sides = self._sides(market, answer["bestBid"], answer["bestOffer"])
        best = [{"px": str(side[0][0]), "qty": str(side[0][1])} if side else None for side in sides]
        bid, offer = [side[0][0] for side in sides] if all(sides) else [0, 0]
        mode, total = self._exchange.assumed("book.mid_price_rounding"), bid + offer
        rounded = {"up": -(-total // 2), "even": round(Fraction(total, 2))}
        mean: object = rounded.get(mode, total // 2)
        if mode == "exact" and total % 2 and self._hearing.observed.input["type"] == "rest":
            mean = f"{total // 2}.5"
        expected: Document = {"bestBid": best[0], "bestOffer": best[1]}
        expected |= {"spread": str(offer - bid), "midPrice": str(mean)}
        self._state(market, answer, expected)

    def _state(self, market: Market, answer: Document, expected: Document) -> None:
        """Judge an answer with the state of its instrument, and the instant (S2.5-1)."""
        expected["state"] = f"INSTRUMENT_STATE_{STATES[market.state]}"
        expected["transactTime"] = format_instant(self._hearing.observed.at)
        if self._compare("S2.5-1", market.symbol, expected, answer):
            self._stats(market, answer.get("stats") or {})

    def _settlement(self, answer: Document) -> None:
        market = self._market(answer["symbol"])
        if answer.get("stats"):
            self._stats(market, answer["stats"])

    # ---- statistics

    def _stats(self, market: Market, answer: Document) -> None:
        numbers = market_numbers(self._exchange, self._history, market).items()
        expected = {name: None if number is None else str(number) for name, number in numbers}
        if "lastTradeQty" not in answer:  # dates remove it
            expected.pop("lastTradeQty", None)
        observed = {name: answer.get(name) for name in expected}
        self._compare("S2.5-3", f"statistics of {market.symbol}", expected, observed)
        early = market.state not in SETTLED and bool(answer.get("settlementSetTime"))
        self._agree("S2.5-3", f"an early settlement time of {market.symbol}", False, early)

    # ---- the retail API

    def _retail_state(self, market: Market) -> str:
        """Return the state of a market by its retail name (rule L15)."""
        if market.state in (CLOSED, PENDING):
            return str(self._exchange.assumed("retail.closed_state_name"))
        return f"MARKET_STATE_{STATES[market.state]}"

    def _retail_book(self, answer: Document) -> None:
        """Judge a book with decimal prices and quantities (S4.2-9)."""
        book = answer["marketData"]
        market = self._market(book["marketSlug"])
        scales = market.price_scale, market.qty_scale
        sides = self._sides(market, book["bids"], book["offers"])
        for name, side in zip(("bids", "offers"), sides, strict=True):
            due = [(Fraction(px, scales[0]), Fraction(qty, scales[1])) for px, qty in side]
            answered = [(Fraction(row["px"]["value"]), Fraction(row["qty"])) for row in book[name]]
            self._agree("S4.2-9", f"{name} of {market.symbol}", due, answered)
        self._compare("L15", market.symbol, {"state": self._retail_state(market)}, book)
        self._retail_stats(market, book.get("stats") or {})

    def _retail_bbo(self, answer: Document) -> None:
        """Judge the best prices, the quotes of both sides and the depth of a market (S4.2-8)."""
        best = answer["marketData"]
        market = self._market(best["marketSlug"])
        sides = self._sides(market, best["bestBid"], best["bestAsk"])
        bid, ask = (Fraction(side[0][0], market.price_scale) if side else None for side in sides)
        expected: Document = {"bestBid": bid, "bestAsk": ask, "state": self._retail_state(market)}
        expected |= {"bidDepth": len(sides[0]), "askDepth": len(sides[1])}
        if bid is not None and ask is not None:
            expected |= {"longQuote": ask, "shortQuote": 1 - bid}
        self._compare("S4.2-8", f"best prices of {market.symbol}", expected, best)
        self._retail_stats(market, best)

    def _retail_stats(self, market: Market, answer: Document) -> None:
        """Judge statistics in dollars and contracts; nothing and "" are zero."""
        for name, number in market_numbers(self._exchange, self._history, market).items():
            scale = market.price_scale if name.endswith("Px") else market.qty_scale
            if name in answer and name not in ("notionalTraded", "settlementPx"):
                exact = Fraction(number or 0, scale)
                self._agree("S2.5-3", f"{name} of {market.symbol}", exact, answer[name] or 0)
