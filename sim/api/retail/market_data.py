"""Order books and best prices, served by the retail API and the gateway (§4.2)."""

from __future__ import annotations

from sim.api.pipeline.answer_cache import AnswerCache, PreencodedResponse
from sim.api.pipeline.handler import handles
from sim.api.rendering.retail_books import book_message, lite_message
from sim.api.retail.order_request import unknown_market
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import DEAD_BOOK
from sim.core.exchange import Exchange
from sim.core.lifecycle.states import DATA_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import NotFound, cut
from sim.kernel.instants import last_trade_day_roll

_books: AnswerCache[PreencodedResponse[wire.GetBookResponse]] = AnswerCache()
_bests: AnswerCache[PreencodedResponse[wire.GetBBOResponse]] = AnswerCache()


@handles("RetailMarketDataAPI.GetBook")
def get_book(
    exchange: Exchange, request: wire.GetBookRequest
) -> PreencodedResponse[wire.GetBookResponse]:
    """Return the whole book, encoded once per version of the book and instant."""
    symbol = with_book(exchange, request.slug)

    def answer() -> PreencodedResponse[wire.GetBookResponse]:
        book = book_message(exchange, symbol)
        return PreencodedResponse(wire.GetBookResponse(market_data=book))

    return _books.get(exchange, symbol, (version(exchange, symbol), exchange.now), answer)


@handles("RetailMarketDataAPI.GetBBO")
def get_bbo(
    exchange: Exchange, request: wire.GetBBORequest
) -> PreencodedResponse[wire.GetBBOResponse]:
    """Return the best prices, encoded once per change of the book."""
    symbol = with_book(exchange, request.slug)

    def answer() -> PreencodedResponse[wire.GetBBOResponse]:
        best = lite_message(exchange, symbol)
        return PreencodedResponse(wire.GetBBOResponse(market_data=best))

    return _bests.get(exchange, symbol, version(exchange, symbol), answer)


def version(exchange: Exchange, symbol: str) -> tuple[int, ...]:
    """Return everything that an answer about a market depends on: the state of its book, the trade
    date and the assumptions in force.
    """
    trading = exchange.trading
    rolled = last_trade_day_roll(exchange.now)
    changes = exchange.ctx.assumptions.changes
    return trading.book(symbol).version, trading.state(symbol), rolled, changes


def with_book(exchange: Exchange, slug: str) -> str:
    """Return the symbol of a market that has a book.

    Refuses a PENDING or TERMINATED market as not found (assumption `book.pending_and_terminated`).
    """
    if slug not in exchange.instruments:
        raise unknown_market(slug)
    state, dead_book = exchange.trading.state(slug), exchange.ctx.assumptions.text(DEAD_BOOK)
    if state not in DATA_STATES and dead_book == "not_found":
        raise NotFound(
            f"no book for {cut(slug)}",
            rule="S3.1-1" if state is InstrumentState.PENDING else "S3.1-4",
            facts={"state": state.name},
            remedy="books exist from the first opening until termination",
        )
    return slug
