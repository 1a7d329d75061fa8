"""Order book, best bid and offer, and final settlement over REST and gRPC (§2.5, §4.3).

An encoded answer is reused until the book or the clock changes.
"""

from __future__ import annotations

from typing import Any

from sim.api.pipeline.answer_cache import AnswerCache, PreencodedResponse
from sim.api.pipeline.handler import handles
from sim.api.rendering.exchange_books import levels_message, stats_message
from sim.api.rendering.retention import retained_stats
from sim.contract.messages import exchange_settlement_v1 as settlement
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import DEAD_BOOK, DEPTH_ABOVE_MAXIMUM, MID_PRICE_ROUNDING
from sim.core.exchange import Exchange
from sim.core.lifecycle.states import DATA_STATES
from sim.core.matching.book import Book
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.refusals import InvalidRequest, NotFound

DEPTH_DEFAULT, DEPTH_MAX = 3, 10


# An answer depends on the version of its book and on the instant, which is its transact time.
_answers: AnswerCache[PreencodedResponse[Any]] = AnswerCache()


@handles("OrderBookAPI.GetOrderBook")
def get_order_book(
    exchange: Exchange, request: wire.GetOrderBookRequest
) -> PreencodedResponse[wire.GetOrderBookResponse]:
    """Return the levels of both sides, best first.

    Depth 0 means 3. For more than 10, see the assumption `book.depth_above_maximum`.
    """
    return _answer(exchange, request.symbol, _depth(exchange, request.depth))


@handles("OrderBookAPI.GetBBO")
def get_bbo(
    exchange: Exchange, request: wire.GetBBORequest
) -> PreencodedResponse[wire.GetBBOResponse]:
    """Return the top of the book. Spread and mid price are 0 while a side is empty."""
    return _answer(exchange, request.symbol, exchange.ctx.assumptions.text(MID_PRICE_ROUNDING))


def _depth(exchange: Exchange, depth: int) -> int:
    if 0 <= depth <= DEPTH_MAX:
        return depth or DEPTH_DEFAULT
    if depth < 0 or exchange.ctx.assumptions.text(DEPTH_ABOVE_MAXIMUM) == "refuse":
        raise InvalidRequest(
            f"depth must be between 1 and {DEPTH_MAX}",
            rule="S4.3-1",
            remedy=f"omit depth for {DEPTH_DEFAULT} levels",
        )
    return DEPTH_MAX


def _answer(exchange: Exchange, symbol: str, view: int | str) -> PreencodedResponse[Any]:
    """Return an answer about a book, from the cache while book and instant are unchanged.

    `view` is a number of levels, or for the BBO the rounding of its mid price.
    """
    book = exchange.trading.book(symbol)
    state = exchange.trading.state(symbol)
    if state not in DATA_STATES and exchange.ctx.assumptions.text(DEAD_BOOK) == "not_found":
        raise NotFound(
            f"no book for {symbol}",
            rule="S3.1-1" if state is InstrumentState.PENDING else "S3.1-4",
            facts={"state": state.name},
            remedy="the instrument is PENDING or TERMINATED; ListInstruments shows its state",
        )

    def answer() -> PreencodedResponse[Any]:
        if isinstance(view, str):
            return PreencodedResponse(_bbo(exchange, book, state, view))
        return PreencodedResponse(_book(exchange, book, state, view))

    return _answers.get(exchange, (symbol, view), (book.version, exchange.now), answer)


def _book(
    exchange: Exchange, book: Book, state: InstrumentState, depth: int
) -> wire.GetOrderBookResponse:
    visible = 0 if book.hidden else depth
    return wire.GetOrderBookResponse(
        symbol=book.symbol,
        bids=levels_message(book.levels(Side.BUY, visible)),
        offers=levels_message(book.levels(Side.SELL, visible)),
        state=state,
        stats=stats_message(retained_stats(exchange, book.symbol)),
        transact_time=exchange.now,
    )


def _bbo(
    exchange: Exchange, book: Book, state: InstrumentState, rounding: str
) -> wire.GetBBOResponse:
    visible = 0 if book.hidden else 1
    bids = levels_message(book.levels(Side.BUY, visible))
    offers = levels_message(book.levels(Side.SELL, visible))
    both = bool(bids and offers)
    return wire.GetBBOResponse(
        symbol=book.symbol,
        best_bid=bids[0] if bids else None,
        best_offer=offers[0] if offers else None,
        spread=offers[0].px - bids[0].px if both else 0,
        mid_price=_half(bids[0].px + offers[0].px, rounding) if both else 0,
        state=state,
        transact_time=exchange.now,
        stats=stats_message(retained_stats(exchange, book.symbol)),
    )


class _WithHalf(int):
    """A whole number for protobuf, and the exact mean in JSON: 57 and "57.5"."""

    def __str__(self) -> str:
        return f"{int(self)}.5"


def _half(both: int, rounding: str) -> int:
    """Return half of the sum of two prices, "exact" or rounded to whole price units."""
    half, odd = divmod(both, 2)
    if odd and rounding == "exact":
        return _WithHalf(half)
    return half + (odd if rounding == "up" or (rounding == "even" and half % 2) else 0)


# ---- settlement


@handles("SettlementService.GetInstrumentSettlement")
def get_instrument_settlement(
    exchange: Exchange, request: settlement.GetInstrumentSettlementRequest
) -> settlement.GetInstrumentSettlementResponse:
    """Return the settlement, scaled by `price_scale`; `stats` is unset until it is final.

    The symbol must be exact: an empty one, "/…" and "!…" are refused.
    """
    if not request.symbol or request.symbol[0] in "/!":
        raise InvalidRequest(
            "symbol is required, exactly as it is listed", remedy="ListSymbols gives the symbols"
        )
    instrument = exchange.instruments.require(request.symbol)
    final = exchange.trading.settlements.final(instrument.symbol)
    return settlement.GetInstrumentSettlementResponse(
        symbol=instrument.symbol,
        stats=stats_message(exchange.trading.stats(instrument.symbol)) if final else None,
        price_scale=instrument.price_scale,
    )
