"""Everything that trading by request for quotes refuses, through the retail API: status, sentence,
and that nothing changed.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.testing.client import Connection, Response
from tests.api import test_retail_rfqs as rfqs
from tests.api.test_retail_rfqs import ASKS, OTHER, QUOTES

three = rfqs.world


@pytest.fixture
def world(three: Connection) -> Connection:
    """Three users, and no rate limit that many looks would run into."""
    three.simulation.exchange.rate_limits.replace("retail", "off")
    return three


def shown(world: Connection) -> list[Any]:
    """What each of the three users sees of requests and quotes."""
    return [
        rfqs.user(world, index).get(path).json()
        for index in (ASKS, QUOTES, OTHER)
        for path in ("/v1/rfqs", "/v1/rfqs/quotes", "/v1/rfqs/trades")
    ]


def check(world: Connection, call: Any, status: int, text: str) -> None:
    """The call is refused with a status and a sentence, and changes nothing."""
    before = shown(world)
    answer: Response = call()
    assert (answer.status, text in answer.json()["message"]) == (status, True), answer
    assert shown(world) == before


def move(world: Connection, symbol: str, state: str) -> None:
    world.absorb(world.simulation.control("instrument.state", symbol, {"state": state}))


def delete(world: Connection, path: str, index: int) -> Response:
    return rfqs.user(world, index).request("DELETE", f"/v1/rfqs/{path}")


def test_an_instrument_that_is_not_open_takes_no_request_and_no_quote(world: Connection) -> None:
    symbol = rfqs.combo(world)["id"]
    rfq = rfqs.ask(world, symbol).json()["rfqId"]
    move(world, symbol, "SUSPENDED")
    check(world, lambda: rfqs.ask(world, symbol), 422, "is not open")
    check(world, lambda: rfqs.quote(world, rfq), 422, "is not open")
    move(world, symbol, "OPEN")
    assert rfqs.quote(world, rfq).status == 200


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"buyPrice": "", "sellPrice": ""}, "buyPrice or sellPrice is required"),
        ({"buyPrice": "0.30", "sellPrice": "0.30"}, "buyPrice must be below sellPrice"),
        ({"buyPrice": "0.31", "sellPrice": "0.30"}, "buyPrice must be below sellPrice"),
    ],
)
def test_prices_of_a_quote_are_there_and_the_right_way_round(
    world: Connection, fields: dict[str, str], text: str
) -> None:
    rfq = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
    check(world, lambda: rfqs.quote(world, rfq, **fields), 400, text)
    assert rfqs.quote(world, rfq, buyPrice="0.29", sellPrice="0.30").status == 200


def test_only_an_active_quote_of_an_open_request_is_accepted_and_one_at_a_time(
    world: Connection,
) -> None:
    _, rfq, first = rfqs.under_way(world)
    second = rfqs.quote(world, rfq, OTHER).json()["quoteId"]
    assert rfqs.accept(world, first).status == 200
    check(world, lambda: rfqs.accept(world, first), 409, "not active")
    check(world, lambda: rfqs.accept(world, second), 409, "another one is accepted")
    # Whom it does not concern is not told that the quote exists.
    check(world, lambda: rfqs.accept(world, first, index=OTHER), 404, "unknown quote")
    check(world, lambda: rfqs.confirm(world, first, OTHER), 404, "unknown quote")
    assert delete(world, f"quotes/{first}", QUOTES).status == 200
    check(world, lambda: rfqs.accept(world, first), 409, "not active")
    assert rfqs.accept(world, second).status == 200


@pytest.mark.parametrize("side", ["SIDE_BUY", "SIDE_SELL"])
def test_a_side_that_is_not_quoted_is_not_accepted(world: Connection, side: str) -> None:
    world.simulation.control("assumption.set", "rfq.accepted_side", {"value": "quote"})
    rfq = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
    one_side = {"buyPrice": ""} if side == "SIDE_BUY" else {"sellPrice": ""}
    quote = rfqs.quote(world, rfq, **one_side).json()["quoteId"]
    check(world, lambda: rfqs.accept(world, quote, side), 400, "acceptedSide is not quoted")
    other = "SIDE_SELL" if side == "SIDE_BUY" else "SIDE_BUY"
    assert rfqs.accept(world, quote, other).status == 200


def test_dollars_that_buy_less_than_one_unit_accept_nothing(world: Connection) -> None:
    world.simulation.control("assumption.set", "rfq.accepted_side", {"value": "quote"})
    symbol = rfqs.combo(world)["id"]
    rfq = rfqs.ask(world, symbol, cashOrderQty="0.001").json()["rfqId"]
    quote = rfqs.quote(world, rfq).json()["quoteId"]
    check(world, lambda: rfqs.accept(world, quote), 422, "buys less than one unit")
    assert rfqs.net(world, ASKS, symbol) == 0


def test_a_quote_is_confirmed_once_and_only_after_it_was_accepted(world: Connection) -> None:
    _, _, quote = rfqs.under_way(world)
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is active")
    rfqs.accept(world, quote)
    assert rfqs.confirm(world, quote).status == 200
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is confirmed")
    world.advance("1s")
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is executed")


def test_what_is_about_to_trade_or_has_traded_is_not_taken_back(world: Connection) -> None:
    _, rfq, quote = rfqs.under_way(world)
    rfqs.accept(world, quote)
    rfqs.confirm(world, quote)
    check(world, lambda: delete(world, rfq, ASKS), 409, "a confirmed quote is about to trade")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the quote is confirmed")
    world.advance("1s")
    check(world, lambda: delete(world, rfq, ASKS), 409, "the rfq is closed")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the quote is executed")
    check(world, lambda: rfqs.quote(world, rfq), 409, "the rfq is closed")


def test_a_withdrawn_request_takes_its_quotes_along(world: Connection) -> None:
    _, rfq, quote = rfqs.under_way(world)
    assert delete(world, rfq, ASKS).status == 200
    assert rfqs.statuses(world) == ["DELETED"]
    check(world, lambda: delete(world, rfq, ASKS), 409, "the rfq is closed")
    check(world, lambda: rfqs.accept(world, quote), 409, "not active")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the quote is deleted")
