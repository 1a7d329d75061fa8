"""Order book and best bid and offer as answers."""

from __future__ import annotations

import json

import pytest
from small_exchange import NOW, WHOLE, advance, small_exchange

from sim.api.codecs.codecs import dialect_at
from sim.api.exchange.market_data import get_bbo, get_order_book
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.kernel.instants import seconds


def book(exchange: Exchange, depth: int = 0, symbol: str = WHOLE) -> wire.GetOrderBookResponse:
    return exchange.acme.ask(get_order_book, symbol=symbol, depth=depth).message


def bbo(exchange: Exchange) -> wire.GetBBOResponse:
    return exchange.acme.ask(get_bbo, symbol=WHOLE).message


@pytest.fixture
def exchange() -> Exchange:
    """Bids at 1 to 12 cents, offers at 60 to 71."""
    exchange = small_exchange()
    for step in range(12):
        exchange.ann.buy(1 + step, 10 + step)
        exchange.eve.sell(60 + step, 20 + step)
    return exchange


def test_a_book_shows_the_best_levels_first_to_the_depth_asked_for(exchange: Exchange) -> None:
    result = book(exchange)
    assert [(entry.px, entry.qty) for entry in result.bids] == [(12, 21), (11, 20), (10, 19)]
    assert [(entry.px, entry.qty) for entry in result.offers] == [(60, 20), (61, 21), (62, 22)]
    assert result.state == InstrumentState.OPEN and result.transact_time == NOW
    assert len(book(exchange, 1).bids) == 1
    assert len(book(exchange, 10).bids) == 10


def test_a_depth_above_ten_is_ten_or_an_error_as_the_assumption_says(exchange: Exchange) -> None:
    assert len(book(exchange, 11).bids) == 10
    exchange.ctx.assumptions.change("book.depth_above_maximum", "refuse")
    with pytest.raises(InvalidRequest):
        book(exchange, 11)
    with pytest.raises(InvalidRequest):
        book(exchange, -1)


def test_the_bbo_has_spread_and_mid_of_the_best_prices(exchange: Exchange) -> None:
    result = bbo(exchange)
    assert (
        result.best_bid is not None and result.best_offer is not None and result.stats is not None
    )
    assert (result.best_bid.px, result.best_offer.px, result.spread, result.mid_price) == (
        12,
        60,
        48,
        36,
    )


def test_a_side_that_is_empty_has_no_best_price_and_no_spread() -> None:
    exchange = small_exchange()
    exchange.ann.buy(12, 1)
    result = bbo(exchange)
    assert result.best_bid is not None and result.best_offer is None
    assert (result.spread, result.mid_price) == (0, 0)


def test_an_unchanged_book_is_the_same_answer_and_a_changed_one_is_not(exchange: Exchange) -> None:
    request = wire.GetOrderBookRequest(symbol=WHOLE)
    first = exchange.ann.send(get_order_book, request)
    assert exchange.ann.send(get_order_book, request) is first
    exchange.eve.sell(12, 5)
    result = book(exchange)
    assert result.bids[0].qty == 16
    assert result.stats is not None and (
        result.stats.last_trade_px,
        result.stats.last_trade_qty,
    ) == (12, 5)
    advance(exchange, NOW + seconds(1))
    assert book(exchange).transact_time == NOW + seconds(1)


def test_two_exchanges_never_share_an_answer(exchange: Exchange) -> None:
    assert book(exchange).bids
    assert not book(small_exchange()).bids


def test_the_same_state_gives_the_same_bytes_whether_or_not_an_answer_was_kept(
    exchange: Exchange,
) -> None:
    dialect = dialect_at("exchange", NOW)
    request = wire.GetOrderBookRequest(symbol=WHOLE)
    advance(exchange, NOW + seconds(5))
    kept = exchange.ann.send(get_order_book, request).json(dialect)
    exchange.load(exchange.save())
    assert exchange.ann.send(get_order_book, request).json(dialect) == kept
    assert json.loads(kept)["bids"][0] == {"px": "12", "qty": "21"}


def test_books_of_pending_and_terminated_instruments_are_not_there_or_empty_as_the_assumption_says(
    exchange: Exchange,
) -> None:
    for state in (InstrumentState.CLOSED, InstrumentState.EXPIRED, InstrumentState.TERMINATED):
        exchange.trading.listings.change_state(WHOLE, state)
        if state is not InstrumentState.TERMINATED:
            assert book(exchange).state == state
    for read in (book, bbo):
        with pytest.raises(NotFound):
            read(exchange)
    exchange.ctx.assumptions.change("book.pending_and_terminated", "empty")
    assert not book(exchange).bids
    with pytest.raises(NotFound):
        book(exchange, symbol="no-such")
