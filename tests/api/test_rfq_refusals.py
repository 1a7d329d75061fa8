"""Everything that trading by request for quotes refuses, through the retail API: status, sentence,
and that nothing changed.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.run.client.client import Response
from tests.api import test_retail_rfqs as rfqs
from tests.api.test_retail_rfqs import ASKS, OTHER, QUOTES
from tests.kit import Desk, unlimited

three = rfqs.world


@pytest.fixture
def world(three: Desk) -> Desk:
    """Three users, and no rate limit that many looks would run into."""
    unlimited(three.simulation)
    return three


def view(world: Desk) -> list[Any]:
    """What each of the three users sees of requests and quotes."""
    return [
        observed
        for index in (ASKS, QUOTES, OTHER)
        for observed in (
            world.customer(index).read("/v1/rfqs"),
            rfqs.quotes(world, index),
            world.customer(index).read("/v1/rfqs/trades"),
        )
    ]


def check(world: Desk, call: Any, status: int, text: str) -> None:
    """The call is refused with a status and a sentence, and changes nothing."""
    before = view(world)
    answer: Response = call()
    assert (answer.status, text in answer.json()["message"]) == (status, True), answer
    assert view(world) == before


def move(world: Desk, symbol: str, state: str) -> None:
    world.operate("instrument.state", symbol, state=state)


def delete(world: Desk, path: str, index: int) -> Response:
    return world.customer(index).request("DELETE", f"/v1/rfqs/{path}")


def test_an_instrument_that_is_not_open_takes_no_request_and_no_quote(world: Desk) -> None:
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
        ({"buyPrice": ""}, "buyPrice is required"),
        ({"sellPrice": ""}, "sellPrice is required"),
        ({"buyPrice": "0", "sellPrice": "0"}, "buyPrice or sellPrice must be above zero"),
        ({"buyPrice": "0.29", "sellPrice": "0.30"}, "buyPrice must not be below sellPrice"),
        ({"restRemainder": None}, "restRemainder is required"),
    ],
)
def test_prices_of_a_quote_are_there_and_the_right_way_round(
    world: Desk, fields: dict[str, str], text: str
) -> None:
    rfq = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
    check(world, lambda: rfqs.quote(world, rfq, **fields), 400, text)
    assert rfqs.quote(world, rfq, buyPrice="0.30", sellPrice="0.30").status == 200


def test_only_an_active_quote_of_an_open_request_is_accepted_and_one_at_a_time(world: Desk) -> None:
    _, rfq, first = rfqs.under_way(world)
    second = rfqs.quote(world, rfq, OTHER).json()["quoteId"]
    assert rfqs.accept(world, first).status == 200
    check(world, lambda: rfqs.accept(world, first), 409, "the rfq is closed")
    check(world, lambda: rfqs.accept(world, second), 409, "the rfq is closed")
    # Whom it does not concern is not told that the quote exists.
    check(world, lambda: rfqs.accept(world, first, index=OTHER), 404, "unknown quote")
    check(world, lambda: rfqs.confirm(world, first, OTHER), 404, "unknown quote")
    check(world, lambda: delete(world, f"quotes/{second}", OTHER), 409, "the rfq is closed")
    assert delete(world, f"quotes/{first}", QUOTES).status == 200
    check(world, lambda: rfqs.accept(world, first), 409, "the rfq is closed")
    other = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
    third = rfqs.quote(world, other).json()["quoteId"]
    assert delete(world, f"quotes/{third}", QUOTES).status == 200
    check(world, lambda: rfqs.accept(world, third), 409, "the quote is deleted")


@pytest.mark.parametrize("side", ["SIDE_BUY", "SIDE_SELL"])
def test_a_side_that_is_not_quoted_is_not_accepted(world: Desk, side: str) -> None:
    rfq = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
    one_side = {"buyPrice": "0"} if side == "SIDE_BUY" else {"sellPrice": "0"}
    quote = rfqs.quote(world, rfq, **one_side).json()["quoteId"]
    check(world, lambda: rfqs.accept(world, quote, side), 400, "acceptedSide is not quoted")
    other = "SIDE_SELL" if side == "SIDE_BUY" else "SIDE_BUY"
    assert rfqs.accept(world, quote, other).status == 200


def test_dollars_that_buy_less_than_the_minimum_take_no_quote(world: Desk) -> None:
    symbol = rfqs.combo(world)["id"]
    rfq = rfqs.ask(world, symbol, cashOrderQty="0.001").json()["rfqId"]
    check(world, lambda: rfqs.quote(world, rfq), 400, "below the minimum quantity")


def test_a_quote_is_confirmed_once_and_only_after_it_was_accepted(world: Desk) -> None:
    _, _, quote = rfqs.under_way(world)
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is active")
    rfqs.accept(world, quote)
    assert rfqs.confirm(world, quote).status == 200
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is confirmed")
    world.advance("1s")
    check(world, lambda: rfqs.confirm(world, quote), 409, "the quote is executed")


def test_what_is_about_to_trade_or_has_traded_is_not_taken_back(world: Desk) -> None:
    _, rfq, quote = rfqs.under_way(world)
    rfqs.accept(world, quote)
    rfqs.confirm(world, quote)
    check(world, lambda: delete(world, rfq, ASKS), 409, "the rfq is closed")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the quote is confirmed")
    world.advance("1s")
    check(world, lambda: delete(world, rfq, ASKS), 409, "the rfq is closed")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the quote is executed")
    check(world, lambda: rfqs.quote(world, rfq), 409, "the rfq is closed")


def test_a_withdrawn_request_leaves_quotes_that_nobody_can_accept(world: Desk) -> None:
    _, rfq, quote = rfqs.under_way(world)
    assert delete(world, rfq, ASKS).status == 200
    assert rfqs.statuses(world) == ["ACTIVE"]
    check(world, lambda: delete(world, rfq, ASKS), 409, "the rfq is closed")
    check(world, lambda: rfqs.accept(world, quote), 409, "the rfq is closed")
    check(world, lambda: delete(world, f"quotes/{quote}", QUOTES), 409, "the rfq is closed")
    world.assume("rfq.left_quotes", "deleted")
    _, rfq, _ = rfqs.under_way(world)
    assert delete(world, rfq, ASKS).status == 200
    assert rfqs.statuses(world) == ["ACTIVE", "DELETED"]


@pytest.mark.parametrize("fields", [{"buyPrice": "1"}, {"buyPrice": "1", "sellPrice": "1"}])
def test_a_quote_on_a_combo_lies_between_nothing_and_a_dollar(
    world: Desk, fields: dict[str, str]
) -> None:
    symbol = rfqs.combo(world)["id"]
    rfq = rfqs.ask(world, symbol).json()["rfqId"]
    check(world, lambda: rfqs.quote(world, rfq, **fields), 422, "outside the limits")
    check(world, lambda: rfqs.quote(world, rfq, buyPrice="0.99995"), 400, "buyPrice")
    edges = {"buyPrice": "0.999", "sellPrice": "0.001"}
    assert rfqs.quote(world, rfq, **edges).status == 200
