"""Combos and requests for quotes over the retail API and its private WebSocket."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

import msgspec
import pytest

from sim.contract.messages import exchange_v1 as exchange_wire
from sim.core.model.enums import InstrumentState
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import format_instant, hours, to_datetime
from sim.run.client.client import Response, Stream
from tests.kit import Desk, begin, retail_order, unlimited

ASKS, QUOTES, OTHER = 0, 1, 2
CONFLICT = 409


@pytest.fixture
def world() -> Desk:
    third = (
        "world:\n  api_keys: [{key_id: 7a1f0f5e-0000-4000-a000-000000000003, account:"
        " firms/retail/accounts/third}]"
    )
    result = begin(f"name: three\nextends: quickstart\n{third}\n")
    result.preset("ideal")
    return result


def account(world: Desk, index: int = ASKS) -> str:
    return world.keys[index].account


def symbols(world: Desk, count: int = 3) -> list[str]:
    return [result.symbol for result in islice(world.in_state(), count)]


def legs(world: Desk, sides: str = "BBS") -> list[dict[str, str]]:
    words = {"B": "SIDE_BUY", "S": "SIDE_SELL"}
    return [
        {"symbol": symbol, "side": words[side]}
        for symbol, side in zip(symbols(world, len(sides)), sides, strict=True)
    ]


def combo(world: Desk, sides: str = "BBS") -> dict[str, Any]:
    answer = world.customer().post("/v1/combos", json={"legs": legs(world, sides)})
    assert answer.status == 200, answer
    return answer.json()["combo"]


def settle(world: Desk, symbol: str, price: str) -> None:
    world.settle(symbol, price)


# ---- combos


def test_the_same_legs_are_the_same_combo_for_everybody_in_any_order(world: Desk) -> None:
    created = combo(world)
    assert (
        created["id"].startswith("caoc-")
        and created["state"] == "INSTRUMENT_STATE_OPEN"
        and created["tickSize"] == 0.001
    )
    again = world.customer(QUOTES).send("/v1/combos", {"legs": legs(world)[::-1]}, "combo")
    assert again == created
    assert combo(world, "BBB")["id"] != created["id"]
    assert [
        row["id"] for row in world.customer().read("/v1/combos", "combos", symbol=created["id"])
    ] == [created["id"]]
    nothing = world.customer(QUOTES).get("/v1/combos", params={"symbol": "caoc-none"})
    assert nothing.json() == {"combos": []} and world.customer().get("/v1/combos").status == 400
    refdata = world.partner.get(f"/v1/refdata/instruments/{created['id']}")
    assert refdata.status == 200, refdata


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda result: result[:1], "legs: 2 to 10"),
        (lambda result: result * 4, "legs: 2 to 10"),
        (lambda result: [result[0], result[0]], "once only"),
        (lambda result: [result[0], result[1] | {"side": "SIDE_UNDEFINED"}], "legs[1].side"),
        (lambda result: [result[0], {"side": "SIDE_BUY"}], "legs[1].symbol"),
    ],
)
def test_what_is_no_combo_is_refused(world: Desk, change: Any, text: str) -> None:
    answer = world.customer().post("/v1/combos", json={"legs": change(legs(world))})
    assert (answer.status, text in answer.json()["message"]) == (400, True), answer
    assert world.core.combos.all() == []


def test_legs_must_exist_trade_and_be_no_combos(world: Desk) -> None:
    item = legs(world)[0]
    created = combo(world)["id"]
    over = next(world.in_state(InstrumentState.CLOSED)).symbol
    for symbol, status in (("nope", 404), (created, 400), (over, 422)):
        answer = world.customer().post(
            "/v1/combos", json={"legs": [item, {"symbol": symbol, "side": "SIDE_BUY"}]}
        )
        assert answer.status == status, answer
    assert [entry.symbol for entry in world.core.combos.all()] == [created]


def test_new_combos_are_counted_by_the_week_that_begins_on_monday_in_utc(world: Desk) -> None:
    world.assume("combos.per_week", 2)
    for sides in ("BB", "BS"):
        combo(world, sides)
    refused = world.customer().post("/v1/combos", json={"legs": legs(world, "SB")})
    assert refused.status == 429
    now = to_datetime(world.core.now)
    monday = (now + timedelta(days=7 - now.weekday())).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    left = monday - now
    assert abs(int(refused.headers["retry-after"]) - left.total_seconds()) <= 1
    # known already
    assert world.customer().post("/v1/combos", json={"legs": legs(world, "BB")}).status == 200
    assert world.customer(QUOTES).post("/v1/combos", json={"legs": legs(world, "SB")}).status == 200
    world.advance(f"{int(left.total_seconds()) - 1}s")
    assert world.customer().post("/v1/combos", json={"legs": legs(world, "SS")}).status == 429
    world.advance("2s")
    assert world.customer().post("/v1/combos", json={"legs": legs(world, "SS")}).status == 200


def test_a_combo_of_the_first_instant_of_a_week_counts_in_it(world: Desk) -> None:
    world.assume("combos.per_week", 1)
    now = to_datetime(world.core.now)
    left = timedelta(days=7 - now.weekday()) - (now - now.replace(hour=0, minute=0, second=0))
    world.advance(f"{left.days * 86_400 + left.seconds}s")
    monday = to_datetime(world.core.now)
    assert (monday.weekday(), monday.hour, monday.minute, monday.second) == (0, 0, 0, 0)
    assert monday.microsecond == 0
    statuses = [
        world.customer().post("/v1/combos", json={"legs": legs(world, sides)}).status
        for sides in ("BB", "BS")
    ]
    assert statuses == [200, 429]


@pytest.mark.parametrize(
    ("prices", "payout", "paid"),
    [
        (("1", "1", "0"), "product", "1"),
        (("1", "0"), "product", "0"),  # one lost leg decides, the third is not waited for
        (("1", "0.5", "0"), "product", "0.5"),
        (("1", "0.5", "0"), "all_or_nothing", "0"),
        (("1", "1", "0"), "all_or_nothing", "1"),
        (("1", "0"), "all_or_nothing", "0"),
        (("1", "1"), "product", None),
    ],
)
def test_a_combo_settles_with_its_legs(
    world: Desk, prices: tuple[str, ...], payout: str, paid: str | None
) -> None:
    world.assume("combos.payout", payout)
    created = combo(world)
    rfq = ask(world, created["id"]).json()["rfqId"]
    for leg, price in zip(created["legs"], prices, strict=False):
        settle(world, leg["symbol"], price)
    displayed = world.customer().read("/v1/combos", "combos", 0, symbol=created["id"])
    reported = world.customer().read("/v1/rfqs", "rfqs", 0, "comboLegs", rfq_id=rfq)
    assert [leg.get("settlementPrice") for leg in reported][: len(prices)] == list(prices)
    assert all("settlementPrice" not in leg for leg in reported[len(prices) :])
    result = world.trading.settlements.get(created["id"])
    assert (None if result is None else result.price) == (
        None if paid is None else int(float(paid) * 1000)
    )
    assert displayed["state"] == (
        "INSTRUMENT_STATE_OPEN" if paid is None else "INSTRUMENT_STATE_CLOSED"
    )


def trade(world: Desk, symbol: str, price: str, contracts: float) -> list[dict[str, Any]]:
    """The executions of a purchase of a combo from somebody else."""

    instrument, cents = world.instrument(symbol), round(float(price) * 100)
    terms = {"tif": "TIME_IN_FORCE_DAY", "synchronousExecution": True}
    maker = retail_order(instrument, "BUY_SHORT", cents, contracts, **terms)
    taker = retail_order(instrument, "BUY_LONG", cents, contracts, **terms)
    assert world.customer(QUOTES).post("/v1/orders", json=maker).status == 200
    return world.customer().send("/v1/orders", taker, "executions")


def test_a_combo_whose_legs_end_with_it_without_an_outcome_is_paid_once(world: Desk) -> None:
    names = ("aa-leg", "zz-leg")
    for name in names:
        terms = {"expiration": format_instant(world.now + hours(1)), "tick_size": "0.01"}
        terms["termination"] = format_instant(world.now + hours(2))
        world.operate("instrument.create", symbol=name, **terms)
    pair = [{"symbol": name, "side": "SIDE_BUY"} for name in names]
    combo_id = world.customer().send("/v1/combos", {"legs": pair}, "combo")["id"]
    world.trade(world.instrument("aa-leg"), 50)  # the other leg has no price, and pays nothing
    trade(world, combo_id, "0.30", 2)
    read, before = world.customer(ASKS), cash(world, ASKS)
    world.advance("2h")
    assert [world.trading.settlements.get(each).price for each in names] == [50, 0]
    assert world.trading.settlements.get(combo_id).price == 0
    kinds = [row["type"] for row in read.read("/v1/portfolio/activities", "activities")]
    assert kinds.count("ACTIVITY_TYPE_POSITION_RESOLUTION") == 1 and cash(world, ASKS) == before


@pytest.mark.spec("S2.8-1")
def test_a_fill_of_a_combo_names_its_legs_with_decimal_quantities(world: Desk) -> None:
    created = combo(world)
    new, fill = trade(world, created["id"], "0.20", 2.5)
    assert (new["type"], new["legPrices"]) == ("EXECUTION_TYPE_NEW", [])
    reported = [
        (leg["marketSlug"], leg["side"], leg["qty"], leg["anchor"]) for leg in fill["legPrices"]
    ]
    assert reported == [
        (leg["symbol"], f"ORDER_{leg['side']}", "2.5", number == 0)
        for number, leg in enumerate(created["legs"])
    ]
    for leg in fill["legPrices"]:
        market = world.customer().read(f"/v1/markets/{leg['marketSlug']}/bbo", "marketData")
        scale = world.instrument(leg["marketSlug"]).price_scale
        assert (
            float(leg["px"]["value"])
            == float(market["currentPx"]["value"])
            == int(leg["referencePx"]) / scale
        )
    world.assume("combos.leg_prices", "none")
    assert trade(world, created["id"], "0.20", 1)[-1]["legPrices"] == []


@pytest.mark.spec("S4.2-5")
def test_a_position_in_a_combo_says_how_its_legs_stand(world: Desk) -> None:
    created = combo(world, "BSBB")
    trade(world, created["id"], "0.20", 1)

    def details() -> list[dict[str, Any]]:
        return world.customer().read("/v1/portfolio/positions", "positions")[created["id"]][
            "comboLegDetails"
        ]

    sides = {"SIDE_BUY": "OUTCOME_SIDE_YES", "SIDE_SELL": "OUTCOME_SIDE_NO"}
    assert [(leg["slug"], leg["outcomeSide"]) for leg in details()] == [
        (leg["symbol"], sides[leg["side"]]) for leg in created["legs"]
    ]
    assert {(leg["state"], leg["settlement"]) for leg in details()} == {
        ("COMBO_LEG_STATE_PENDING", None)
    }
    for leg, price in zip(created["legs"], ("1", "0", "0.5"), strict=False):
        if leg["side"] == "SIDE_SELL":
            price = {"1": "0", "0": "1"}.get(price, price)
        settle(world, leg["symbol"], price)
    states = [leg["state"].removeprefix("COMBO_LEG_STATE_") for leg in details()]
    assert states == ["WON", "LOST", "INDETERMINATE", "PENDING"]
    assert all(
        leg["settlement"]["settlementSetTime"] and leg["settlement"]["settlementPrice"]["value"]
        for leg in details()[:3]
    )
    plain = world.instrument(created["legs"][3]["symbol"])
    assert trade(world, plain.symbol, "0.98", 1)[-1]["legPrices"] == []
    assert (
        world.customer().read("/v1/portfolio/positions", "positions")[plain.symbol][
            "comboLegDetails"
        ]
        == []
    )


@pytest.mark.spec("S4.2-5")
def test_a_leg_is_described_as_its_market_and_its_event_are() -> None:
    """A game under way, one to come, a market without a game, and one that a scenario lists."""
    bare = "world: {instruments: [{symbol: bare, tick_size: '0.01', state: OPEN}]}"
    world = begin(f"name: bare\nextends: quickstart\n{bare}\n")
    world.preset("ideal")
    chosen = [
        next(
            (event["slug"], market["slug"])
            for event in world.gateway.read("/v1/events", "events", **query)
            for market in event["markets"]
            if market["active"]
        )
        for query in (
            {"live": "true", "limit": 1},
            {"live": "false", "active": "true", "categories": "sports", "limit": 5},
            {"slug": "fed-decision-september-2026"},
        )
    ]
    asked = [
        {"symbol": symbol, "side": side}
        for symbol, side in zip(
            ["bare", *(market for _, market in chosen)],
            ("SIDE_SELL", "SIDE_BUY", "SIDE_SELL", "SIDE_SELL"),
            strict=True,
        )
    ]
    created = world.customer().send("/v1/combos", {"legs": asked}, "combo")
    fill = trade(world, created["id"], "0.20", 1)[-1]
    assert {leg["marketSlug"]: leg["referencePx"] for leg in fill["legPrices"]}["bare"] == "0"
    events = {market: event for event, market in chosen}
    for game in ({}, {"live": True}, {"live": False}):
        for slug, _ in chosen[:2] if game else ():
            world.simulation.control("event.update", slug, game)
        held = world.customer().read("/v1/portfolio/positions", "positions")[created["id"]]
        for leg in held["comboLegDetails"]:
            described(world, leg, events.get(leg["slug"], "bare"))


def described(world: Desk, leg: dict[str, Any], slug: str) -> None:
    """Hold the details of a leg against its market's own order and the gateway's event."""
    yes = leg["outcomeSide"] == "OUTCOME_SIDE_YES"
    body = {
        "marketSlug": leg["slug"],
        "intent": f"ORDER_INTENT_BUY_{'LONG' if yes else 'SHORT'}",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.50", "currency": "USD"},
        "quantity": 1,
    }
    preview = world.customer().send("/v1/order/preview", {"request": body}, "order")
    market_metadata = preview["marketMetadata"]
    for name in ("icon", "title", "outcome", "eventSlug", "eventId", "teamId", "team", "subject"):
        assert leg.get(name) == market_metadata.get(name), name
    assert leg["outcome"] == ("Yes" if yes else "No")
    displayed = (leg["eventGroupTitle"], leg["eventStartTime"], leg["live"])
    event = world.gateway.read(f"/v1/events/slug/{slug}", "event")
    assert displayed == (event["title"], event.get("startTime"), event.get("live", False))


# ---- requests and quotes


def ask(world: Desk, combo_id: str, index: int = ASKS, **fields: Any) -> Response:
    size = {} if "cashOrderQty" in fields else {"qtyDecimal": "10"}
    return world.customer(index).post(
        "/v1/rfqs", json={"symbol": combo_id, "restRemainder": False, **size, **fields}
    )


def quote(world: Desk, rfq: str, index: int = QUOTES, **fields: Any) -> Response:
    return world.customer(index).post(
        "/v1/rfqs/quotes",
        json={
            "rfqId": rfq,
            "buyPrice": "0.30",
            "sellPrice": "0.20",
            "restRemainder": False,
            **fields,
        },
    )


def path_of(world: Desk, quote_id: str) -> str:
    """The path of a quote, below its request."""
    existing = world.core.rfqs.save().quotes.get(quote_id)
    return f"/v1/rfqs/{existing.rfq_id if existing else 'nope'}/quotes/{quote_id}"


def accept(world: Desk, quote_id: str, side: str = "SIDE_BUY", index: int = ASKS) -> Response:
    return world.customer(index).request(
        "PUT", f"{path_of(world, quote_id)}/accept", json={"acceptedSide": side}
    )


def confirm(world: Desk, quote_id: str, index: int = QUOTES) -> Response:
    return world.customer(index).request("PUT", f"{path_of(world, quote_id)}/confirm", json={})


def quotes(world: Desk, index: int = ASKS) -> list[dict[str, Any]]:
    """The quotes that a user was made, or, without any, those that it made."""
    results: list[dict[str, Any]] = []
    for name in ("rfq_user_filter", "user_filter"):
        params = {name: "USER_FILTER_SELF"}
        results += world.customer(index).read("/v1/rfqs/quotes", "quotes", **params)
    return results


def under_way(world: Desk, **fields: Any) -> tuple[str, str, str]:
    """(combo, rfq, quote)"""
    symbol = combo(world)["id"]
    rfq = ask(world, symbol, **fields).json()["rfqId"]
    return symbol, rfq, quote(world, rfq).json()["quoteId"]


def statuses(world: Desk, index: int = ASKS) -> list[str]:
    return [row["status"].removeprefix("QUOTE_STATUS_") for row in quotes(world, index)]


def net(world: Desk, index: int, symbol: str) -> int:
    result = world.trading.positions.get(account(world, index), symbol)
    return result.net if result is not None else 0


@pytest.mark.parametrize(
    ("side", "price", "bought"), [("SIDE_BUY", "0.30", 1000), ("SIDE_SELL", "0.20", -1000)]
)
@pytest.mark.observed("rfqs.prices")
def test_the_requester_buys_at_the_buying_price_and_sells_at_the_selling_price(
    world: Desk, side: str, price: str, bought: int
) -> None:
    symbol, rfq, quote_id = under_way(world)
    spare = quote(world, rfq, OTHER).json()["quoteId"]
    assert accept(world, quote_id, side).status == 200
    assert accept(world, spare, side).status == CONFLICT
    assert confirm(world, quote_id).status == 200
    assert world.customer().read("/v1/rfqs/trades", "trades") == []
    world.advance("1s")
    assert statuses(world) == ["EXECUTED", "ACTIVE"]
    assert (net(world, ASKS, symbol), net(world, QUOTES, symbol)) == (bought, -bought)
    assert world.trading.ledger.total() == 0
    (trade,) = world.customer(QUOTES).read("/v1/rfqs/trades", "trades", symbol=symbol)
    assert (trade["price"], trade["qtyDecimal"], trade["symbol"]) == (price, "10", symbol)
    assert trade["aggressorSide"] == side
    assert world.trading.execution_log.trades[-1].type.name == "REQUEST_FOR_QUOTE"
    row = world.customer().read("/v1/rfqs/quotes", "quotes", 0, rfq_id=rfq)
    assert row["acceptedSide"] == side
    for index, order in ((ASKS, row["rfqCreatorOrderId"]), (QUOTES, row["creatorOrderId"])):
        result = world.customer(index).read(f"/v1/order/{order}", "order")
        assert result["state"] == "ORDER_STATE_FILLED"
        assert (result["side"] == f"ORDER_{side}") == (index == ASKS)
    (closed,) = world.customer().read("/v1/rfqs", "rfqs")
    assert closed["status"] == "RFQ_STATUS_CLOSED" and len(closed["comboLegs"]) == 3
    assert world.customer(QUOTES).read("/v1/rfqs", "rfqs") == [closed]


def position(world: Desk, index: int, symbol: str) -> float:
    held = world.customer(index).read("/v1/portfolio/positions", "positions")
    return float(held[symbol]["netPositionDecimal"]) if symbol in held else 0.0


def cash(world: Desk, index: int) -> float:
    (balance,) = world.customer(index).read("/v1/account/balances", "balances")
    return float(balance["currentBalance"])


@pytest.mark.parametrize("side", ["SIDE_BUY", "SIDE_SELL"])
def test_what_a_maker_and_a_requester_compute_from_their_quotes_is_what_they_are_told(
    world: Desk, side: str
) -> None:
    """The maker books a sale at its buyPrice and a purchase at its sellPrice, with every field
    taken from answers; positions, cash and side of the two orders agree with its books.
    """
    symbol, rfq, quote_id = under_way(world)
    before = [cash(world, index) for index in (ASKS, QUOTES)]
    accept(world, quote_id, side)
    confirm(world, quote_id)
    world.advance("1s")
    (row,) = world.customer(QUOTES).read("/v1/rfqs/quotes", "quotes", rfq_id=rfq)
    assert float(row["buyPrice"]) > float(row["sellPrice"])
    bought = row["acceptedSide"] == "SIDE_BUY"
    price = float(row["buyPrice"] if bought else row["sellPrice"])
    qty = float(row["buyQtyDecimal"] if bought else row["sellQtyDecimal"])
    signed = qty if bought else -qty
    assert (position(world, ASKS, symbol), position(world, QUOTES, symbol)) == (signed, -signed)
    for index, order_id, change, held in (
        (ASKS, row["rfqCreatorOrderId"], -signed * price, signed),
        (QUOTES, row["creatorOrderId"], signed * price, -signed),
    ):
        order = world.customer(index).read(f"/v1/order/{order_id}", "order")
        assert order["side"] == ("ORDER_SIDE_BUY" if held > 0 else "ORDER_SIDE_SELL")
        assert float(order["avgPx"]["value"]) == price and float(order["cumQuantity"]) == qty
        fee = float(order["commissionNotionalTotalCollected"]["value"])
        paid = cash(world, index) - before[index == QUOTES]
        assert paid + fee == pytest.approx(change, abs=0.005), (index, order)


@pytest.mark.observed("rfqs.prices")
def test_a_side_that_is_zero_is_not_offered_and_shows_as_zero(world: Desk) -> None:
    rfq = ask(world, combo(world)["id"]).json()["rfqId"]
    quote_id = quote(world, rfq, sellPrice="0").json()["quoteId"]
    (row,) = quotes(world)
    assert (row["buyPrice"], row["sellPrice"], row["sellQtyDecimal"]) == ("0.30", "0", "0")
    assert accept(world, quote_id, "SIDE_SELL").status == 400
    assert accept(world, quote_id, "SIDE_BUY").status == 200


@pytest.mark.observed("rfqs.paths")
def test_the_paths_of_quotes_without_their_request_are_the_same_calls(world: Desk) -> None:
    _, _, created = under_way(world)
    asker, maker = world.customer(), world.customer(QUOTES)
    old = f"/v1/rfqs/quotes/{created}"
    for wrong in ("nope", ask(world, combo(world, "BB")["id"]).json()["rfqId"]):
        other = f"/v1/rfqs/{wrong}/quotes/{created}"
        assert asker.request(
            "PUT", f"{other}/accept", json={"acceptedSide": "SIDE_BUY"}
        ).status == (404)
        assert maker.request("DELETE", other).status == 404
    assert (
        asker.request("PUT", f"{old}/accept", json={"acceptedSide": "SIDE_BUY"}).status
        == maker.request("PUT", f"{old}/confirm", json={}).status
        == 200
    )
    assert maker.request("DELETE", old).status == CONFLICT


def test_a_further_quote_replaces_the_former_under_a_new_id(world: Desk) -> None:
    _, rfq, first = under_way(world)
    socket = follow(world, ASKS)
    second = quote(world, rfq, buyPrice="0.28").json()["quoteId"]
    assert second != first
    assert [(row["id"], row["status"], row["buyPrice"]) for row in quotes(world)] == [
        (first, "QUOTE_STATUS_DELETED", "0.30"),
        (second, "QUOTE_STATUS_ACTIVE", "0.28"),
    ]
    assert notices(socket) == ["quoteDeleted", "quoteCreated"]
    assert accept(world, first).status == CONFLICT
    assert accept(world, second).status == 200


def test_orders_of_a_quote_meet_the_book_first(world: Desk) -> None:
    """Somebody offers 4 at 0.25: the requester takes them, then 6 of the maker's at 0.30. What the
    maker's order keeps rests if the quote says so, else it expires.
    """
    for rests in (False, True):
        symbol, rfq, _ = under_way(world)
        third = world.customer(OTHER).post(
            "/v1/orders",
            json={
                "marketSlug": symbol,
                "intent": "ORDER_INTENT_BUY_SHORT",
                "type": "ORDER_TYPE_LIMIT",
                "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
                "price": {"value": "0.25", "currency": "USD"},
                "quantity": 4,
            },
        )
        assert third.status == 200
        quote_id = quote(world, rfq, restRemainder=rests).json()["quoteId"]
        accept(world, quote_id)
        confirm(world, quote_id)
        world.advance("1s")
        row = next(row for row in quotes(world) if row["id"] == quote_id)
        trades = world.customer().read("/v1/rfqs/trades", "trades", symbol=symbol)
        assert [(trade["price"], trade["qtyDecimal"]) for trade in trades][:2] == [
            ("0.30", "6"),
            ("0.25", "4"),
        ]
        world.advance("2s")
        left = world.customer(QUOTES).read(f"/v1/order/{row['creatorOrderId']}", "order")
        kept = "ORDER_STATE_PARTIALLY_FILLED" if rests else "ORDER_STATE_EXPIRED"
        assert (left["state"], left["cumQuantity"]) == (kept, 6)


def test_dollars_buy_what_the_price_allows(world: Desk) -> None:
    symbol, _, quote_id = under_way(world, cashOrderQty="10.00")
    row = quotes(world)[0]
    assert (row["buyQtyDecimal"], row["sellQtyDecimal"], row["rfqCashOrderQty"]) == (
        "33.33",
        "50",
        "10.0000",
    )
    accept(world, quote_id)
    confirm(world, quote_id)
    world.advance("1s")
    assert net(world, ASKS, symbol) == 3333


@pytest.mark.parametrize(
    ("start", "cents", "fee"),
    [("2026-09-26", 10, 888), ("2026-09-26", 50, 1862), ("2026-09-08", 50, 1500)],
)
def test_takers_of_combos_pay_their_own_fee_since_september(
    start: str, cents: int, fee: int
) -> None:
    text = f"name: later\nextends: quickstart\nclock: {{start: {start}T12:00:00-04:00}}\n"
    world = begin(text)
    rfq = ask(world, combo(world, "BB")["id"], qtyDecimal="1000").json()["rfqId"]
    quote_id = quote(world, rfq, buyPrice=f"0.{cents}", sellPrice="0").json()["quoteId"]
    accept(world, quote_id)
    confirm(world, quote_id)
    world.advance("1s")
    trade = world.trading.execution_log.trades[-1]
    assert (
        trade.aggressor.commission * 100
        == fee * trade.aggressor.order.price_scale * trade.aggressor.order.qty_scale
    )


def test_who_does_not_confirm_in_time_or_declines_has_no_quote_and_the_request_is_closed(
    world: Desk,
) -> None:
    for declines in (False, True):
        _, rfq, quote_id = under_way(world)
        accept(world, quote_id)
        world.advance("2999ms")
        assert statuses(world)[-1] == "ACCEPTED"
        if declines:
            deleted = world.customer(QUOTES).request("DELETE", path_of(world, quote_id))
            assert deleted.status == 200
        world.advance("1ms")
        assert statuses(world)[-1] == "DELETED"
        assert confirm(world, quote_id).status == CONFLICT
        (row,) = world.customer().read("/v1/rfqs", "rfqs", rfq_id=rfq)
        assert row["status"] == "RFQ_STATUS_CLOSED"
        assert quote(world, rfq).status == CONFLICT


def test_a_trade_that_cannot_be_paid_changes_nothing_and_ends_the_quote(world: Desk) -> None:
    symbol, _, quote_id = under_way(world)
    accept(world, quote_id)
    confirm(world, quote_id)
    trading = world.trading
    world.operate(
        "account.fund", account(world), amount=f"-{trading.buying_power(account(world)) // DOLLAR}"
    )
    world.advance("1s")
    assert statuses(world) == ["DELETED"]
    assert net(world, ASKS, symbol) == net(world, QUOTES, symbol) == 0
    assert world.customer().read("/v1/orders/open", "orders") == []


@pytest.mark.parametrize(("latency", "trades"), [("2s", True), ("5s", True), ("6s", False)])
def test_a_slow_engine_holds_the_orders_of_a_quote_like_any_retail_order(
    world: Desk, latency: str, trades: bool
) -> None:
    """M36, M37: beyond five seconds the stopgap rejects both orders; the quote is EXECUTED, which
    says that they were sent, not that they traded.
    """
    symbol, _, quote_id = under_way(world)
    world.assume("rfq.pair_window", "10s")
    world.assume("engine.latency", latency)
    accept(world, quote_id)
    confirm(world, quote_id)
    world.advance("1s")
    pending = [world.customer(index).read("/v1/orders/open", "orders") for index in (ASKS, QUOTES)]
    assert [row["state"] for (row,) in pending] == ["ORDER_STATE_PENDING_NEW"] * 2
    assert statuses(world) == ["EXECUTED"] and net(world, ASKS, symbol) == 0
    world.advance(latency)
    states = [
        world.customer(index).read(f"/v1/order/{row['id']}", "order", "state")
        for index, (row,) in enumerate(pending)
    ]
    if trades:
        assert states == ["ORDER_STATE_FILLED"] * 2 and net(world, ASKS, symbol) == 1000
    else:
        assert states == ["ORDER_STATE_REJECTED"] * 2 and net(world, ASKS, symbol) == 0


def test_everybody_keeps_to_their_own(world: Desk) -> None:
    _symbol, rfq, quote_id = under_way(world)
    assert quote(world, rfq, ASKS).status == 403
    assert accept(world, quote_id, index=QUOTES).status == 403
    assert world.customer(QUOTES).request("DELETE", f"/v1/rfqs/{rfq}").status == 403
    assert accept(world, quote_id).status == 200
    assert confirm(world, quote_id, ASKS).status == 403
    assert world.customer(ASKS).request("DELETE", path_of(world, quote_id)).status == 403
    assert confirm(world, "nope").status == accept(world, "nope").status == 404
    assert (
        world.customer().request("DELETE", "/v1/rfqs/nope").status
        == quote(world, "nope").status
        == 404
    )
    names = [
        world.customer(index).read("/v1/rfqs/user-id", "rfqUserId") for index in (ASKS, QUOTES)
    ]
    row = quotes(world)[0]
    assert [row["rfqCreatorUserId"], row["creatorRfqUserId"]] == names and names[0] != names[1]
    displayed = msgspec.json.encode([row, world.customer().read("/v1/rfqs")])
    assert (
        account(world).encode() not in displayed
        and account(world, QUOTES).encode() not in displayed
    )
    assert world.customer(QUOTES).request("DELETE", path_of(world, quote_id)).status == 200
    assert world.customer().request("DELETE", f"/v1/rfqs/{rfq}").status == CONFLICT
    assert statuses(world) == ["DELETED"] and quote(world, rfq).status == CONFLICT


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"qtyDecimal": "", "restRemainder": False}, "exactly one"),
        ({"cashOrderQty": "5", "qtyDecimal": "5"}, "exactly one"),
        ({"qtyDecimal": "0"}, "qtyDecimal"),
        ({"qtyDecimal": "-1"}, "qtyDecimal"),
        ({"qtyDecimal": "0.001"}, "qtyDecimal"),
        ({"qtyDecimal": "much"}, "qtyDecimal"),
        ({"restRemainder": None}, "restRemainder"),
        ({"symbol": ""}, "symbol"),
        ({"symbol": "nope"}, "symbol"),
        ({"cashOrderQty": "1.00001"}, "cashOrderQty"),
    ],
)
def test_bad_requests_are_refused(world: Desk, fields: dict[str, Any], text: str) -> None:
    answer = ask(world, combo(world)["id"], **fields)
    assert (answer.status, text in answer.json()["message"]) == (400, True), answer


@pytest.mark.parametrize(
    "fields",
    [
        {"buyPrice": "", "sellPrice": ""},
        {"buyPrice": "0", "sellPrice": "0"},
        {"sellPrice": ""},
        {"buyPrice": "0.19"},
        {"buyPrice": "0.2001"},
        {"buyPrice": "1.5"},
        {"sellPrice": "x"},
        {"sellPrice": "-0.1"},
        {"restRemainder": None},
    ],
)
def test_bad_quotes_are_refused(world: Desk, fields: dict[str, Any]) -> None:
    rfq = ask(world, combo(world)["id"]).json()["rfqId"]
    assert quote(world, rfq, **fields).status in (400, 422)
    assert statuses(world) == []


def test_trades_are_paged_newest_first(world: Desk) -> None:
    for _ in range(3):
        _, _, quote_id = under_way(world)
        accept(world, quote_id)
        confirm(world, quote_id)
        world.advance("2s")
    everything = world.customer().read("/v1/rfqs/trades", "trades")
    assert [row["executedTime"] for row in everything] == sorted(
        (row["executedTime"] for row in everything), reverse=True
    )
    first = world.customer().read("/v1/rfqs/trades", limit=2)
    rest = world.customer().read("/v1/rfqs/trades", limit=2, cursor=first["cursor"])
    assert (
        first["trades"] + rest["trades"] == everything
        and len(everything) == 3
        and rest["cursor"] == ""
    )
    assert world.customer().read("/v1/rfqs/trades", "trades", limit=0) == everything
    cursor = first["cursor"]
    now = everything[0]["executedTime"]
    for wrong in (
        {"limit": -1},
        {"limit": 101},
        {"cursor": "nonsense"},
        {"limit": 3, "cursor": cursor},
        {"limit": 2, "cursor": cursor, "symbol": everything[0]["symbol"]},
        {"start_time": now, "end_time": now},
    ):
        assert world.customer().get("/v1/rfqs/trades", params=wrong).status == 400, wrong
    assert (
        world.customer(QUOTES).get("/v1/rfqs/trades", params={"limit": 2, "cursor": cursor}).status
        == 400
    )
    until = world.customer().read("/v1/rfqs/trades", "trades", end_time=now)
    since = world.customer().read("/v1/rfqs/trades", "trades", start_time=now)
    assert (until, since) == (everything[1:], everything[:1])


@pytest.mark.observed("rfqs.lists")
def test_lists_are_filtered_and_paged(world: Desk) -> None:
    unlimited(world.simulation)
    created = []
    for number in range(5):
        symbol, rfq, quote_id = under_way(world)
        created.append((symbol, rfq, quote_id))
        if number % 2:
            accept(world, quote_id)

    def rfqs(index: int = ASKS, **params: object) -> Any:
        answer = world.customer(index).get("/v1/rfqs", params=params)
        return answer.json() if answer.status == 200 else answer.status

    def rows(index: int = ASKS, **params: object) -> Any:
        answer = world.customer(index).get("/v1/rfqs/quotes", params=params)
        return answer.json() if answer.status == 200 else answer.status

    def ids(page: Any, name: str = "rfqs") -> list[str]:
        return [row["id"] for row in page[name]]

    assert ids(rfqs()) == [rfq for _, rfq, _ in created] and rfqs()["cursor"] == ""
    assert ids(rfqs(status="RFQ_STATUS_CLOSED")) == [created[1][1], created[3][1]]
    assert ids(rfqs(OTHER)) == [created[index][1] for index in (0, 2, 4)]
    assert ids(rfqs(QUOTES, user_filter="USER_FILTER_SELF")) == []
    assert ids(rfqs(rfq_id=created[2][1])) == [created[2][1]] and ids(rfqs(rfq_id="nope")) == []
    assert ids(rfqs(symbol=created[0][0])) == [rfq for _, rfq, _ in created]
    first = rfqs(limit=2)
    # What is asked or closes meanwhile neither repeats nor loses a row.
    later = ask(world, created[0][0]).json()["rfqId"]
    world.customer().request("DELETE", f"/v1/rfqs/{created[0][1]}")
    rest = rfqs(cursor=first["cursor"])
    assert ids(first) + ids(rest) == [rfq for _, rfq, _ in created] + [later]
    mine = {"user_filter": "USER_FILTER_SELF"}
    asked = {"rfq_user_filter": "USER_FILTER_SELF"}
    assert ids(rows(**asked), "quotes") == ids(rows(QUOTES, **mine), "quotes")
    assert ids(rows(**mine), "quotes") == ids(rows(OTHER, **mine), "quotes") == []
    assert ids(rows(status="QUOTE_STATUS_ACCEPTED", **asked), "quotes") == [
        created[1][2],
        created[3][2],
    ]
    assert ids(rows(rfq_id=created[0][1], quote_id=created[0][2]), "quotes") == [created[0][2]]
    assert ids(rows(rfq_id=created[0][1], quote_id=created[1][2]), "quotes") == []
    assert ids(rows(OTHER, rfq_id=created[0][1]), "quotes") == []
    page = rows(limit=3, **asked)
    following = rows(limit=3, cursor=page["cursor"], **asked)
    assert ids(page, "quotes") + ids(following, "quotes") == [
        quote_id for _, _, quote_id in created
    ]
    for refused in (
        rows(),
        rows(**mine, **asked),
        rows(quote_id=created[0][2], **asked),
        rows(limit=101, **asked),
        rows(cursor=page["cursor"], **mine),
        rows(QUOTES, cursor=page["cursor"], **asked),
        rfqs(rfq_id=created[0][1], cursor=first["cursor"]),
        rfqs(cursor=first["cursor"], status="RFQ_STATUS_OPEN"),
        rfqs(limit=-1),
    ):
        assert refused == 400


def test_a_rewind_goes_back_to_where_quotes_stood(world: Desk) -> None:
    symbol, _, quote_id = under_way(world)
    accept(world, quote_id)
    confirm(world, quote_id)
    world.simulation.snapshot("confirmed")
    world.advance("1s")
    done = quotes(world)
    world.simulation.restore("confirmed")
    assert statuses(world) == ["CONFIRMED"] and net(world, ASKS, symbol) == 0
    world.advance("1s")
    assert quotes(world) == done


# ---- the socket


def follow(world: Desk, index: int) -> Stream:
    socket = world.web_socket(world.keys[index], "/v1/ws/private")
    socket.send(
        msgspec.json.encode(
            {"subscribe": {"requestId": "q", "subscriptionType": "SUBSCRIPTION_TYPE_RFQ"}}
        )
    )
    socket.take()
    return socket


def notices(socket: Stream) -> list[str]:
    return [next(iter(frame["rfqEvent"])) for frame in socket.take() if "rfqEvent" in frame]


def test_the_private_socket_tells_both_sides_what_happens_and_others_only_what_is_public(
    world: Desk,
) -> None:
    sockets, other = [follow(world, index) for index in (ASKS, QUOTES)], follow(world, OTHER)
    symbol, _rfq, quote_id = under_way(world)
    assert [notices(socket) for socket in sockets] == [["rfqCreated", "quoteCreated"]] * 2
    accept(world, quote_id)
    confirm(world, quote_id)
    world.advance("1s")
    frames = [socket.frames[:] for socket in sockets]
    assert [notices(socket) for socket in sockets] == [
        ["rfqClosed", "quoteAccepted", "quoteConfirmed", "rfqTrade", "quoteExecuted"]
    ] * 2
    executed = [
        next(
            frame["rfqEvent"]["quoteExecuted"]
            for frame in mine
            if "quoteExecuted" in frame.get("rfqEvent", {})
        )
        for mine in frames
    ]
    row = quotes(world)[0]
    assert [result["orderId"] for result in executed] == [
        row["rfqCreatorOrderId"],
        row["creatorOrderId"],
    ]
    second = ask(world, symbol).json()["rfqId"]
    world.customer().request("DELETE", f"/v1/rfqs/{second}")
    assert [notices(socket) for socket in sockets] == [["rfqCreated", "rfqClosed"]] * 2
    assert notices(other) == ["rfqCreated", "rfqClosed", "rfqTrade", "rfqCreated", "rfqClosed"]
    assert quotes(world, OTHER) == []
    assert accept(world, quote_id, index=OTHER).status == 404


def test_a_request_that_only_others_could_hear_of_is_told_to_nobody(world: Desk) -> None:
    """Somebody listens to something else, nobody to the private socket."""
    symbol = symbols(world)[0]
    stream = world.rpc_partner.stream(
        "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
        exchange_wire.CreateMarketDataSubscriptionRequest(symbols=[symbol]),
    )
    _, rfq, _ = under_way(world)
    assert [row["id"] for row in world.customer().read("/v1/rfqs", "rfqs")] == [rfq]
    assert stream.end is None
