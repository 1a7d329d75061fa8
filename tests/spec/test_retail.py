"""Clauses of statements about the retail API that the tests of its components leave out."""

from __future__ import annotations

from typing import Any

import pytest

from sim.run.client.client import Http
from tests.api.retail_world import BUY_YES, FINE, SELL_YES, RetailWorld, usd
from tests.kit import Desk, begin, retail_order, streams

# ---- §2.8, positions of the retail API


@pytest.mark.spec("S2.8-3", "S4.2-5")
def test_what_is_on_offer_is_not_available_and_a_trade_day_begins_with_what_is_held() -> None:
    """Each figure, its rounded twin, and the deprecated list beside them."""
    retail = RetailWorld()
    retail.order(retail.bob, FINE, SELL_YES, price="0.50", quantity=19.5)
    retail.order(retail.ann, FINE, BUY_YES, price="0.50", quantity=19.5)
    retail.order(retail.ann, FINE, SELL_YES, price="0.60", quantity=5.25)

    def figures(client: Http) -> tuple[dict[str, str], list[str]]:
        answer = client.get("/v1/portfolio/positions").json()
        held = answer["positions"][FINE]
        names = ("netPosition", "qtyBought", "qtySold", "bodPosition", "qtyAvailable")
        for name in names:
            exact, rounded = float(held[f"{name}Decimal"]), held[name]
            assert rounded == str(round(exact)), name
        displayed = {name: held[f"{name}Decimal"] for name in names}
        return displayed, answer["availablePositions"]

    mine, available = figures(retail.ann)
    bought = {"netPosition": "19.5000", "qtyBought": "19.5000", "qtyAvailable": "14.2500"}
    assert mine == bought | {"qtySold": "0.0000", "bodPosition": "0.0000"}
    assert available == ["14"]
    retail.order(retail.bob, FINE, BUY_YES, price="0.60", quantity=1.25)
    mine, available = figures(retail.ann)
    sold = {"netPosition": "18.2500", "qtySold": "1.2500", "qtyAvailable": "14.2500"}
    assert mine == mine | sold
    retail.advance("1d")
    mine, _ = figures(retail.ann)
    reference, _ = figures(retail.bob)
    assert (mine["bodPosition"], reference["bodPosition"]) == ("18.2500", "-18.2500")


@pytest.mark.spec("S2.8-3", "S4.2-5")
@pytest.mark.parametrize(("price", "won"), [("1", "1.5000"), ("0", "-1.5000")])
def test_a_settled_position_keeps_its_side_and_is_worth_nothing_more(price: str, won: str) -> None:
    retail = RetailWorld()
    retail.order(retail.bob, FINE, SELL_YES, price="0.50", quantity=3)
    retail.order(retail.ann, FINE, BUY_YES, price="0.50", quantity=3)
    retail.settle(FINE, price)
    lost = won[1:] if won.startswith("-") else f"-{won}"
    for client, side, realized in ((retail.ann, "LONG", won), (retail.bob, "SHORT", lost)):
        (held,) = client.get("/v1/portfolio/positions").json()["positions"].values()
        figures = {name: value for name, value in held.items() if name.endswith("Decimal")}
        nothing = dict.fromkeys(("netPosition", "bodPosition", "qtyAvailable"), "0.0000")
        traded = dict.fromkeys(("qtyBought", "qtySold"), "3.0000")
        assert figures == {f"{name}Decimal": qty for name, qty in (nothing | traded).items()}
        amounts = [held[name] for name in ("cost", "cashValue", "realized")]
        assert amounts == [usd("0.0000"), usd("0.0000"), usd(realized)]
        assert [held[name] for name in ("avgPx", "fees", "baseCost")] == [None] * 3
        assert held["expired"] is True
        assert held["positionId"].endswith(f":{side}:{FINE}")


@pytest.mark.spec("S2.8-3", "S4.2-14")
def test_a_position_that_was_closed_is_told_once_more_and_listed_no_longer() -> None:
    retail = RetailWorld()
    socket = streams.socket(retail, streams.PRIVATE)
    streams.subscribe(socket, "p", "POSITION")
    for maker, taker, price in ((SELL_YES, BUY_YES, "0.50"), (BUY_YES, SELL_YES, "0.60")):
        retail.order(retail.bob, FINE, maker, price=price, quantity=3)
        retail.order(retail.ann, FINE, taker, price=price, quantity=3)
    opened, closed = (
        frame["positionSubscription"] for frame in socket.take() if "positionSubscription" in frame
    )
    assert opened["afterPosition"]["netPositionDecimal"] == "3.0000"
    flat = closed["afterPosition"]
    assert (flat["netPositionDecimal"], flat["expired"], flat["avgPx"]) == ("0.0000", False, None)
    assert (flat["cashValue"], flat["realized"]) == (usd("0.0000"), usd("0.3000"))
    assert flat["positionId"].endswith(f":LONG:{FINE}")
    assert {opened["entryType"], closed["entryType"]} == {"LEDGER_ENTRY_TYPE_ORDER_EXECUTION"}
    assert retail.ann.get("/v1/portfolio/positions").json()["positions"] == {}


@pytest.mark.spec("S4.2-7")
def test_a_balance_says_what_holdings_cost_what_they_tie_up_and_what_can_be_spent() -> None:
    """Of who is long, of who is short, and of a working order; nothing where there is nothing."""
    retail = RetailWorld()
    names = ("assetNotional", "marginRequirement", "openOrders", "buyingPower")
    opening = [retail.balance(client) for client in (retail.ann, retail.bob)]
    for before in opening:
        assert [before[name] for name in names] == [0, 0, 0, before["currentBalance"]]
    retail.order(retail.bob, FINE, SELL_YES, price="0.40", quantity=3)
    retail.order(retail.ann, FINE, BUY_YES, price="0.40", quantity=3)
    retail.order(retail.ann, FINE, BUY_YES, price="0.10", quantity=2.5)
    # 0.06 x 3 x 0.24 of the taker, 0.0125 of the maker's side back, each to the cent
    moved = (-1.2 - 0.04, 1.2 + 0.01)
    ties = ((1.2, 0, 0.25), (0, 3, 0))
    for client, before, cash, (assets, margin, working) in zip(
        (retail.ann, retail.bob), opening, moved, ties, strict=True
    ):
        balance = retail.balance(client)
        current = round(before["currentBalance"] + cash, 2)
        spendable = round(current - margin - working, 2)
        assert [balance[name] for name in ("currentBalance", *names)] == [
            current,
            assets,
            margin,
            working,
            spendable,
        ]
        assert balance["availableToWithdraw"] == pytest.approx(current - margin)


# ---- §4.2, the retail API


REWARDS = """
world:
  instruments: [{symbol: first, state: OPEN}, {symbol: second, state: OPEN}]
  incentives:
    - symbol: first
      periods: []
      rewards:
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-04, reward: "1"}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-03, reward: "2", program_type: volumeProgram}
    - {symbol: second, periods: [], rewards: [{account: firms/retail/accounts/5c1e90d2, date: 2026-09-02, reward: "3"}]}
"""


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.2-3", "S2.3-3")
@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({}, ["09-04", "09-03", "09-02"]),
        ({"start_date": "2026-09-03"}, ["09-04", "09-03"]),
        ({"end_date": "2026-09-03"}, ["09-03", "09-02"]),
        ({"start_date": "2026-09-03", "end_date": "2026-09-03"}, ["09-03"]),
        ({"program_type": "volumeProgram"}, ["09-03"]),
        ({"programType": "volumeProgram"}, ["09-04", "09-03", "09-02"]),
        ({"program_type": "none"}, []),
        ({"market_slug": "second"}, ["09-02"]),
        ({"market_slug": "second", "program_type": "volumeProgram"}, []),
        ({"start_date": "2026-09-04", "end_date": "2026-09-03"}, None),
        ({"start_date": "2026-9-4"}, None),
        ({"end_date": "2026-13-01"}, None),
        ({"end_date": "today"}, None),
    ],
)
def test_rewards_are_narrowed_by_dates_market_and_program(
    params: dict[str, str], result: list[str] | None
) -> None:
    world = begin(more=REWARDS, limits=False)
    client = world.customer()
    answer = client.get("/v1/incentives/earnings", params=params)
    if result is None:
        assert (answer.status, answer.json()["code"]) == (400, 3)
        return
    rows = answer.json()["rewards"]
    assert [row["date"] for row in rows] == [f"2026-{day}" for day in result]
    for row in rows:
        assert row["marketSlug"] == ("second" if row["date"] == "2026-09-02" else "first")
        volume = row["date"] == "2026-09-03"
        assert row["programType"] == ("volumeProgram" if volume else "liquidityProgram")


@pytest.mark.spec("S2.8-2", "S7.1-1")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"intent": 99}, "unknown intent 99"),
        ({"intent": "ORDER_INTENT_HOLD"}, "intent"),
        ({}, "intent is required"),
        ({"outcomeSide": "OUTCOME_SIDE_YES"}, "belong together"),
        ({"action": "ORDER_ACTION_SELL"}, "belong together"),
        ({"intent": "ORDER_INTENT_BUY_LONG", "tif": 99}, "unknown tif 99"),
        ({"intent": "ORDER_INTENT_BUY_LONG", "manualOrderIndicator": 99}, "unknown manual"),
    ],
)
def test_an_order_that_does_not_say_what_it_means_is_refused(
    world: Desk, fields: dict[str, Any], words: str
) -> None:
    client = world.customer()
    body = retail_order(world.quiet(), "BUY_LONG", 10, 1)
    del body["intent"]
    for path, sent in (("/v1/orders", body | fields), ("/v1/order/preview", body | fields)):
        value = {"request": sent} if "preview" in path else sent
        refused = client.post(path, json=value)
        assert (refused.status, refused.json()["code"]) == (400, 3)
        assert words in refused.json()["message"]
    assert client.get("/v1/orders/open").json()["orders"] == []


@pytest.mark.spec("S4.2-13", "S7.1-1")
@pytest.mark.parametrize("kind", ["", "/modify", "/cancel"])
def test_a_batch_that_cannot_be_read_is_refused_whole(world: Desk, kind: str) -> None:
    """Too many, none, one without a market, one of an unknown market: nothing is done."""
    instrument, client = world.quiet(), world.customer()
    placed = retail_order(instrument, "BUY_LONG", 10, 1)
    resting = client.post("/v1/orders", json=placed).json()["id"]
    named = {"orderId": resting, "marketSlug": instrument.symbol}
    good = {"": placed, "/modify": {**named, "quantity": 2}, "/cancel": named}[kind]
    without = {name: value for name, value in good.items() if name != "marketSlug"}
    before = client.get("/v1/orders/open").json()
    for orders in ([], [good] * 21, [good, without]):
        refused = client.post(f"/v1/orders/batched{kind}", json={"orders": orders})
        assert (refused.status, refused.json()["code"]) == (400, 3)
    unknown = [good, {**good, "marketSlug": "no-such-market"}]
    if not kind:
        assert client.post("/v1/orders/batched", json={"orders": unknown}).status == 404
    assert client.get("/v1/orders/open").json() == before


@pytest.mark.spec("S7.2-7", "S4.2-13")
def test_the_stopgap_meets_orders_of_batches_and_changes_in_them_and_no_cancel(world: Desk) -> None:
    instrument, client = world.quiet(), world.customer()

    def placed(cents: int) -> str:
        body = retail_order(instrument, "BUY_LONG", cents, 1)
        return str(client.post("/v1/orders", json=body).json()["id"])

    changed, canceled = placed(20), placed(21)
    world.assume("engine.latency", "6s")
    created_order_ids = client.post(
        "/v1/orders/batched", json={"orders": [retail_order(instrument, "BUY_LONG", 10, 1)] * 2}
    ).json()["createdOrderIds"]
    named = {"marketSlug": instrument.symbol}
    change = {**named, "orderId": changed, "quantity": 5}
    client.post("/v1/orders/batched/modify", json={"orders": [change]})
    client.post("/v1/orders/batched/cancel", json={"orders": [{**named, "orderId": canceled}]})
    world.advance("6s")
    results = [world.retail_read(item) for item in (*created_order_ids, changed, canceled)]
    assert [(item["state"].removeprefix("ORDER_STATE_"), item["quantity"]) for item in results] == [
        ("REJECTED", 1),
        ("REJECTED", 1),
        ("NEW", 1),
        ("CANCELED", 1),
    ]
