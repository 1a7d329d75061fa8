"""Books and best prices, served on the retail API and on the gateway (§4.2, retail facts §2.4)."""

from __future__ import annotations

from sim.api.pipeline.answer_cache import AnswerCache
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.preencoded import PreencodedResponse
from sim.api.rendering.retail_books import book_message, lite_message
from sim.core.catalogue.assumptions import DEAD_BOOK
from sim.core.exchange import Exchange
from sim.core.lifecycle.states import DATA_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import NotFound
from sim.messages import retail_v1 as wire

_books: AnswerCache[PreencodedResponse[wire.GetBookResponse]] = AnswerCache()
_bests: AnswerCache[PreencodedResponse[wire.GetBBOResponse]] = AnswerCache()


@handles("RetailMarketDataAPI.GetBook")
def get_book(
    exchange: Exchange, caller: Caller, request: wire.GetBookRequest
) -> PreencodedResponse[wire.GetBookResponse]:
    """The whole book, encoded once while it and the clock stand still."""
    symbol = with_book(exchange, request.slug)
    seen = version(exchange, symbol), exchange.now
    return _books.get(
        exchange,
        symbol,
        seen,
        lambda: PreencodedResponse(
            wire.GetBookResponse(market_data=book_message(exchange, symbol))
        ),
    )


@handles("RetailMarketDataAPI.GetBBO")
def get_bbo(
    exchange: Exchange, caller: Caller, request: wire.GetBBORequest
) -> PreencodedResponse[wire.GetBBOResponse]:
    """Best prices, encoded once per change of the book."""
    symbol = with_book(exchange, request.slug)
    return _bests.get(
        exchange,
        symbol,
        version(exchange, symbol),
        lambda: PreencodedResponse(wire.GetBBOResponse(market_data=lite_message(exchange, symbol))),
    )


def version(exchange: Exchange, symbol: str) -> tuple[int, InstrumentState]:
    """What an answer about a market's book stays true for."""
    return exchange.trading.book(symbol).version, exchange.trading.state(symbol)


def with_book(exchange: Exchange, slug: str) -> str:
    """The symbol of a market that shows a book. PENDING never appears and TERMINATED is gone: both
    are unknown here (`book.pending_and_terminated`).
    """
    if slug not in exchange.instruments:
        raise NotFound(
            f"unknown market: {slug[:80]}",
            rule="M2",
            remedy="GET /v1/markets on the gateway lists the markets",
        )
    if (
        exchange.trading.state(slug) not in DATA_STATES
        and exchange.ctx.assumptions.text(DEAD_BOOK) == "not_found"
    ):
        raise NotFound(
            f"no book for {slug[:80]}",
            rule="U26",
            remedy="books exist from the first opening until termination",
        )
    return slug
