"""Order entry on the retail API, through its HTTP surface."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retail_world import (
    BUY_NO,
    BUY_YES,
    FINE,
    FOK,
    IOC,
    SELL_NO,
    SELL_YES,
    WHOLE,
    RetailWorld,
    types,
    usd,
)


@pytest.mark.spec("S4.2-10", "S2.8-6", "S7.2-9")
def test_a_limit_order_rests_and_is_told_in_every_field(retail: RetailWorld) -> None:
    answer = retail.order(retail.ann, price="0.45", tif="TIME_IN_FORCE_DAY")
    assert answer.status == 200
    (execution,) = answer.json()["executions"]
    order = execution["order"]
    assert execution["type"] == "EXECUTION_TYPE_NEW"
    # the zero member: no reject
    assert execution["orderRejectReason"] == "ORD_REJECT_REASON_EXCHANGE_OPTION"
    assert execution["lastShares"] == "0"
    assert execution["lastPx"] is None
    assert execution["traceId"]
    assert execution["id"]
    assert order["id"] == answer.json()["id"]
    assert (order["state"], order["tif"]) == ("ORDER_STATE_NEW", "TIME_IN_FORCE_DAY")
    assert (order["intent"], order["outcomeSide"], order["action"], order["side"]) == (
        BUY_YES,
        "OUTCOME_SIDE_YES",
        "ORDER_ACTION_BUY",
        "ORDER_SIDE_BUY",
    )
    assert (order["price"], order["quantity"], order["leavesQuantity"], order["cumQuantity"]) == (
        usd("0.45"),
        10,
        10,
        0,
    )


@pytest.mark.spec("S2.8-2")
@pytest.mark.parametrize(
    ("intent", "outcome", "action", "side"),
    [
        (BUY_YES, "YES", "BUY", "BUY"),
        (SELL_YES, "YES", "SELL", "SELL"),
        (BUY_NO, "NO", "BUY", "SELL"),
        (SELL_NO, "NO", "SELL", "BUY"),
    ],
)
def test_intent_and_pair_mean_the_same_and_may_not_contradict_each_other(
    retail: RetailWorld, intent: str, outcome: str, action: str, side: str
) -> None:
    pair = {"outcomeSide": f"OUTCOME_SIDE_{outcome}", "action": f"ORDER_ACTION_{action}"}
    for other in {BUY_YES, SELL_YES, BUY_NO, SELL_NO} - {intent}:
        assert retail.order(retail.ann, intent=other, **pair).status == 400
    for name, opposite in (
        ("outcomeSide", f"OUTCOME_SIDE_{'NO' if outcome == 'YES' else 'YES'}"),
        ("action", f"ORDER_ACTION_{'BUY' if action == 'SELL' else 'SELL'}"),
    ):
        assert retail.order(retail.ann, intent=intent, **{name: opposite}).status == 400
    for fields in ({"intent": intent}, {"intent": None, **pair}, {"intent": intent, **pair}):
        (execution,) = retail.order(
            retail.ann, price="0.40" if side == "BUY" else "0.60", **fields
        ).json()["executions"]
        assert execution["order"]["intent"] == intent
        assert execution["order"]["side"] == f"ORDER_SIDE_{side}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"intent": None},
        {"intent": None, "outcomeSide": "OUTCOME_SIDE_YES"},
        {"price": None, "type": "ORDER_TYPE_LIMIT", "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL"},
        {"quantity": None},
        {"quantity": -1},
        {"price": {"value": "half", "currency": "USD"}},
        {"price": {"value": "0.5", "currency": "EUR"}},
        {"cashOrderQty": {"value": "5", "currency": "USD"}},
        {"tif": "TIME_IN_FORCE_GOOD_TILL_DATE"},
        {"tif": "TIME_IN_FORCE_GOOD_TILL_DATE", "goodTillTime": "2026-09-08T17:59:59Z"},
        {"tif": "TIME_IN_FORCE_GOOD_TILL_DATE", "goodTillTime": "2026-09-08T18:00:00Z"},
        {"tif": "TIME_IN_FORCE_FOREVER"},
        {"tif": IOC, "participateDontInitiate": True},
        {"marketSlug": ""},
    ],
)
def test_malformed_orders_are_refused_at_once_and_leave_nothing(
    retail: RetailWorld, wrong: dict[str, object]
) -> None:
    body = {
        "marketSlug": WHOLE,
        "intent": BUY_YES,
        "type": "ORDER_TYPE_LIMIT",
        "price": usd("0.50"),
        "quantity": 10,
        **wrong,
    }
    answer = retail.ann.post(
        "/v1/orders", json={key: value for key, value in body.items() if value is not None}
    )
    assert answer.status == 400
    assert answer.json()["code"] == 3
    assert retail.ann.read("/v1/orders/open") == {"orders": []}


@pytest.mark.parametrize("outcome", ["Yes", "No"])
def test_an_order_is_described_as_its_event_its_market_and_the_side_that_it_takes(
    retail: RetailWorld, outcome: str
) -> None:
    """In a game, a market without teams, and one that was made by hand."""
    result = retail.gateway.read("/v1/events", live="true", limit=1)
    game = next(item["slug"] for item in result["events"][0]["markets"] if item["active"])
    decision = retail.gateway.read("/v1/events/slug/fed-decision-september-2026", "event")
    teams = []
    for slug in (game, decision["markets"][0]["slug"], WHOLE):
        body = {"marketSlug": slug, "intent": BUY_YES if outcome == "Yes" else BUY_NO}
        body |= {"type": "ORDER_TYPE_LIMIT", "price": usd("0.50"), "quantity": 1}
        preview = retail.ann.send("/v1/order/preview", {"request": body}, "order")
        market = retail.gateway.read(f"/v1/market/slug/{slug}", "market")
        market_metadata = preview["marketMetadata"]
        event = retail.gateway.read(f"/v1/events/slug/{market_metadata['eventSlug']}", "event")
        assert slug in [item["slug"] for item in event["markets"]]
        assert (market_metadata["slug"], market_metadata["outcome"], market_metadata["icon"]) == (
            slug,
            outcome,
            market["image"],
        )
        assert (market_metadata["title"], market_metadata["eventId"]) == (
            event["title"],
            str(event["id"]),
        )
        assert market_metadata["subject"]["name"] == (market["titleShort"] or market["title"]) != ""
        (side,) = (
            market_side
            for market_side in market["marketSides"]
            if market_side["long"] is (outcome == "Yes")
        )
        teams.append(market_metadata.get("team"))
        assert (market_metadata.get("team"), market_metadata.get("teamId")) == (
            side.get("team"),
            side["teamId"] if side.get("team") else None,
        )
    assert [bool(team) for team in teams] == [True, False, False]


def test_an_unknown_market_is_not_found(retail: RetailWorld) -> None:
    assert retail.order(retail.ann, symbol="aec-nobody").status == 404


@pytest.mark.spec("S4.2-16", "S2.8-1")
def test_precision_beyond_the_market_is_cut_and_quantities_are_numbers(retail: RetailWorld) -> None:
    answer = retail.order(retail.ann, FINE, price="0.5539", quantity=10.019)
    order = answer.json()["executions"][0]["order"]
    assert order["price"] == usd("0.55")
    assert order["quantity"] == 10.01
    assert b'"quantity":10.01,' in answer.body
    filled = retail.order(retail.bob, FINE, SELL_YES, price="0.55", quantity=0.57)
    fill = filled.json()["executions"][-1]
    assert fill["lastShares"] == "0.5700"
    assert fill["order"]["cumQuantity"] == 0.57
    assert retail.ann.read("/v1/orders/open", "orders", 0, "leavesQuantity") == 9.44


@pytest.mark.parametrize(
    ("more", "reason", "text"),
    [
        ({"price": "1.50"}, "PRICE_OUT_OF_BOUNDS", "price limit"),
        ({"price": "0.99", "quantity": 100_000}, "EXCHANGE_OPTION", "available"),
        ({"price": None}, "NO_LIQUIDITY", "No liquidity"),
    ],
)
def test_a_business_reject_is_an_execution_behind_a_200(
    retail: RetailWorld, more: dict[str, object], reason: str, text: str
) -> None:
    answer = retail.order(retail.ann, **more)  # type: ignore[arg-type]
    assert answer.status == 200
    (execution,) = answer.json()["executions"]
    assert execution["type"] == "EXECUTION_TYPE_REJECTED"
    assert execution["orderRejectReason"] == f"ORD_REJECT_REASON_{reason}"
    assert text in execution["text"]
    assert execution["order"]["state"] == "ORDER_STATE_REJECTED"
    assert (
        retail.ann.read(f"/v1/order/{answer.json()['id']}", "order", "state")
        == "ORDER_STATE_REJECTED"
    )


def test_a_closed_market_rejects_by_execution_and_the_switch_makes_it_an_error(
    retail: RetailWorld,
) -> None:
    retail.operate("instrument.state", WHOLE, state="SUSPENDED")
    (execution,) = retail.order(retail.ann).json()["executions"]
    assert execution["orderRejectReason"] == "ORD_REJECT_REASON_EXCHANGE_CLOSED"
    retail.operate("assumption.set", "retail.sync_reject", value="spec")
    assert retail.order(retail.ann).status == 422


def test_an_asynchronous_order_answers_with_its_id_only(retail: RetailWorld) -> None:
    answer = retail.order(retail.ann, synchronousExecution=None)
    assert answer.json()["executions"] == []
    assert (
        retail.ann.read(f"/v1/order/{answer.json()['id']}", "order", "state") == "ORDER_STATE_NEW"
    )


def test_a_no_order_posts_the_rest_of_the_dollar(retail: RetailWorld) -> None:
    retail.order(retail.bob, intent=BUY_YES, price="0.70")
    before = retail.balance(retail.ann)["buyingPower"]
    fill = retail.order(retail.ann, intent=BUY_NO, price="0.70").json()["executions"][-1]
    assert (fill["type"], fill["lastPx"], fill["aggressor"]) == (
        "EXECUTION_TYPE_FILL",
        usd("0.7000"),
        True,
    )
    paid = before - retail.balance(retail.ann)["buyingPower"]
    assert paid == pytest.approx(10 * 0.30 + float(fill["commissionNotionalCollected"]["value"]))


@pytest.mark.parametrize(("tif", "left"), [(IOC, ["NEW", "FILL"]), (FOK, ["NEW", "FILL"])])
def test_what_trades_at_once_ends_filled(retail: RetailWorld, tif: str, left: list[str]) -> None:
    retail.order(retail.bob, intent=SELL_YES, price="0.50", quantity=10)
    assert types(retail.order(retail.ann, price="0.50", quantity=10, tif=tif)) == left


@pytest.mark.parametrize(
    ("tif", "reported"), [(IOC, ["NEW", "PARTIAL_FILL", "EXPIRED"]), (FOK, ["NEW", "EXPIRED"])]
)
def test_what_cannot_trade_at_once_expires(
    retail: RetailWorld, tif: str, reported: list[str]
) -> None:
    retail.order(retail.bob, intent=SELL_YES, price="0.50", quantity=4)
    assert types(retail.order(retail.ann, price="0.50", quantity=10, tif=tif)) == reported


def test_post_only_and_own_crossing_orders_are_rejected(retail: RetailWorld) -> None:
    retail.order(retail.bob, intent=SELL_YES, price="0.50")
    assert types(retail.order(retail.ann, price="0.50", participateDontInitiate=True)) == [
        "REJECTED"
    ]
    retail.order(retail.ann, intent=BUY_YES, price="0.40")
    own = retail.order(retail.ann, intent=BUY_NO, price="0.40")
    assert types(own) == ["REJECTED"]
    assert own.json()["executions"][0]["text"] == "Self Match Prevention"


def test_a_market_order_sweeps_within_its_slippage_tolerance(retail: RetailWorld) -> None:
    retail.order(retail.bob, intent=SELL_YES, price="0.50", quantity=4)
    retail.order(retail.bob, intent=SELL_YES, price="0.53", quantity=4)
    market = {
        "price": None,
        "quantity": 10,
        "slippageTolerance": {"currentPrice": usd("0.50"), "ticks": 2, "bips": 5000},
    }
    first = retail.order(retail.ann, **market)  # type: ignore[arg-type]
    assert types(first) == ["NEW", "PARTIAL_FILL", "EXPIRED"]
    assert first.json()["executions"][-1]["order"]["cumQuantity"] == 4
    assert types(retail.order(retail.ann, **market)) == ["REJECTED"]  # type: ignore[arg-type]
    by_bips = {**market, "slippageTolerance": {"currentPrice": usd("0.50"), "bips": 600}}
    assert types(retail.order(retail.ann, **by_bips)) == ["NEW", "PARTIAL_FILL", "EXPIRED"]  # type: ignore[arg-type]


@given(
    symbol=st.sampled_from([WHOLE, FINE]),
    intent=st.sampled_from([BUY_YES, SELL_YES]),
    current=st.decimals("0.30", "0.70", places=3),
    room=st.sampled_from(
        [{"ticks": n} for n in (0, 1, 4)] + [{"bips": n} for n in (1, 150, 333, 1000, 9999)]
    ),
)
@settings(max_examples=25)
def test_slippage_is_counted_in_whole_ticks_from_the_price_that_the_client_saw(
    symbol: str, intent: str, current: Decimal, room: dict[str, int]
) -> None:
    """M13: the levels that a market order reaches, and none beyond."""
    retail = RetailWorld()
    tick = Decimal("0.01") if symbol == WHOLE else Decimal("0.005")
    levels = [Decimal("0.05") * step for step in range(1, 20)]  # 0.05 to 0.95
    buys = intent == BUY_YES
    for level in levels:
        retail.order(retail.bob, symbol, SELL_YES if buys else BUY_YES, str(level), 1)
    observed = current // Decimal("0.001" if symbol == FINE else "0.01")
    observed *= Decimal("0.001" if symbol == FINE else "0.01")
    span = tick * room["ticks"] if "ticks" in room else observed * room["bips"] / 10_000
    reached = [
        level
        for level in levels
        if (level <= observed + span if buys else level >= observed - span)
    ]
    tolerance = {"currentPrice": usd(str(current)), **room}
    answer = retail.order(
        retail.ann, symbol, intent, price=None, quantity=19, slippageTolerance=tolerance
    )
    last = answer.json()["executions"][-1]["order"]
    assert last["cumQuantity"] == len(reached)


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        ({"ticks": 1}, "slippageTolerance.currentPrice is required"),
        ({"currentPrice": usd("0.50"), "ticks": -1}, "ticks and bips must not be negative"),
        ({"currentPrice": usd("0.50"), "bips": -1}, "ticks and bips must not be negative"),
    ],
)
def test_a_slippage_tolerance_that_makes_no_sense_is_refused(
    retail: RetailWorld, tolerance: dict[str, Any], text: str
) -> None:
    answer = retail.order(retail.ann, price=None, slippageTolerance=tolerance)
    assert (answer.status, text in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("indicator", ["MANUAL", "AUTOMATIC"])
def test_an_order_says_who_entered_it(retail: RetailWorld, indicator: str) -> None:
    name = f"MANUAL_ORDER_INDICATOR_{indicator}"
    placed = retail.order(retail.ann, manualOrderIndicator=name)
    assert placed.json()["executions"][0]["order"]["manualOrderIndicator"] == name
    order = retail.ann.read(f"/v1/order/{placed.json()['id']}", "order")
    assert order["manualOrderIndicator"] == name


def test_a_cash_order_spends_on_its_own_side_of_the_dollar(retail: RetailWorld) -> None:
    retail.order(retail.bob, FINE, SELL_YES, price="0.40", quantity=100)
    spent = retail.order(
        retail.ann, FINE, price=None, quantity=None, cashOrderQty=usd("10")
    ).json()["executions"][-1]["order"]
    assert spent["cumQuantity"] == 25
    assert spent["cashOrderQty"] == usd("10.0000")
    retail.order(retail.bob, FINE, BUY_YES, price="0.30", quantity=100)
    short = retail.order(retail.ann, FINE, BUY_NO, price=None, quantity=None, cashOrderQty=usd("7"))
    assert short.json()["executions"][-1]["order"]["cumQuantity"] == 10


@pytest.mark.parametrize(
    "until",
    [
        "2026-09-08T18:05:00Z",
        "2026-09-08t14:05:00.000-04:00",
        "2026-09-09T08:05:00+14:00",
        "2026-09-08T07:35:00-10:30",
    ],
)
def test_a_good_till_date_order_expires_when_its_time_comes(
    retail: RetailWorld, until: str
) -> None:
    order_id = retail.order(
        retail.ann, tif="TIME_IN_FORCE_GOOD_TILL_DATE", goodTillTime=until
    ).json()["id"]
    retail.advance("4m59s")
    assert [order["id"] for order in retail.ann.read("/v1/orders/open", "orders")] == [order_id]
    retail.advance("1s")
    order = retail.ann.read(f"/v1/order/{order_id}", "order")
    assert (order["state"], order["tif"], order["leavesQuantity"]) == (
        "ORDER_STATE_EXPIRED",
        "TIME_IN_FORCE_GOOD_TILL_DATE",
        0,
    )


@pytest.mark.spec("S4.2-4", "S0-3")
def test_open_orders_are_the_callers_own_and_can_be_narrowed(retail: RetailWorld) -> None:
    mine = [retail.order(retail.ann, symbol, price="0.40").json()["id"] for symbol in (WHOLE, FINE)]
    reference = retail.order(retail.bob, price="0.40").json()["id"]
    assert [order["id"] for order in retail.ann.read("/v1/orders/open", "orders")] == mine
    assert [
        order["id"] for order in retail.ann.read("/v1/orders/open", "orders", slugs=[FINE])
    ] == mine[1:]
    assert retail.ann.get(f"/v1/order/{reference}").status == 404


@pytest.mark.spec("S4.2-11")
def test_a_preview_is_checked_like_an_order_and_changes_nothing(retail: RetailWorld) -> None:
    digest = retail.balance(retail.ann)
    body = {
        "marketSlug": WHOLE,
        "intent": BUY_YES,
        "type": "ORDER_TYPE_LIMIT",
        "price": usd("0.50"),
        "quantity": 10,
    }
    order = retail.ann.send("/v1/order/preview", {"request": body}, "order")
    assert (order["id"], order["state"], order["lastTransactTime"]) == (
        "",
        "ORDER_STATE_PENDING_NEW",
        None,
    )
    dear = retail.ann.send(
        "/v1/order/preview", {"request": {**body, "quantity": 1_000_000}}, "order"
    )
    assert dear["state"] == "ORDER_STATE_REJECTED"
    assert retail.ann.post("/v1/order/preview", json={}).status == 400
    assert retail.ann.read("/v1/orders/open", "orders") == []
    assert retail.balance(retail.ann) == digest


@pytest.mark.spec("S4.2-12")
def test_a_modified_order_keeps_its_id_and_what_was_left_out(retail: RetailWorld) -> None:
    order_id = retail.order(retail.ann, price="0.40", quantity=10).json()["id"]
    answer = retail.ann.post(
        f"/v1/order/{order_id}/modify", json={"marketSlug": WHOLE, "price": usd("0.42")}
    )
    assert (answer.status, answer.json()) == (200, {})
    order = retail.ann.read(f"/v1/order/{order_id}", "order")
    assert (order["price"], order["quantity"], order["state"]) == (
        usd("0.42"),
        10,
        "ORDER_STATE_REPLACED",
    )
    assert (
        retail.ann.post(f"/v1/order/{order_id}/modify", json={"price": usd("0.42")}).status == 400
    )
    assert (
        retail.bob.post(
            f"/v1/order/{order_id}/modify", json={"marketSlug": WHOLE, "quantity": 5}
        ).status
        == 404
    )


def test_a_cancel_takes_the_order_out_once(retail: RetailWorld) -> None:
    order_id = retail.order(retail.ann).json()["id"]
    path, body = f"/v1/order/{order_id}/cancel", {"marketSlug": WHOLE}
    assert retail.bob.post(path, json=body).status == 404
    assert (retail.ann.post(path, json=body).status, retail.ann.read("/v1/orders/open")) == (
        200,
        {"orders": []},
    )
    assert retail.ann.read(f"/v1/order/{order_id}", "order", "state") == "ORDER_STATE_CANCELED"
    assert retail.ann.post(path, json=body).status == 409
    assert retail.ann.post("/v1/order/NOSUCHORDER1/cancel", json=body).status == 404


def test_cancel_all_narrows_by_slug_and_names_what_it_asked_for(retail: RetailWorld) -> None:
    total, fine = (
        retail.order(retail.ann, symbol, price="0.40").json()["id"] for symbol in (WHOLE, FINE)
    )
    other = retail.order(retail.bob, price="0.40").json()["id"]
    assert retail.ann.send("/v1/orders/open/cancel", {"slugs": [FINE]}) == {
        "canceledOrderIds": [fine]
    }
    assert retail.ann.send("/v1/orders/open/cancel", {}) == {"canceledOrderIds": [total]}
    assert [order["id"] for order in retail.bob.read("/v1/orders/open", "orders")] == [other]


@pytest.mark.spec("S4.2-13")
def test_batches_create_modify_and_cancel_up_to_twenty(retail: RetailWorld) -> None:
    """M38."""

    def entry(price: str) -> dict[str, object]:
        return {
            "marketSlug": WHOLE,
            "intent": BUY_YES,
            "type": "ORDER_TYPE_LIMIT",
            "price": usd(price),
            "quantity": 1,
            "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }

    ids = retail.ann.send(
        "/v1/orders/batched",
        {"orders": [entry("0.10"), entry("1.50"), entry("0.12")]},
        "createdOrderIds",
    )
    assert len(ids) == 3
    assert [order["id"] for order in retail.ann.read("/v1/orders/open", "orders")] == [
        ids[0],
        ids[2],
    ]
    assert retail.ann.read(f"/v1/order/{ids[1]}", "order", "state") == "ORDER_STATE_REJECTED"
    changes = [
        {"orderId": item, "marketSlug": WHOLE, "quantity": 3}
        for item in (ids[0], "NOSUCHORDER1", ids[1])
    ]
    assert retail.ann.send("/v1/orders/batched/modify", {"orders": changes}) == {
        "modifiedOrderIds": [ids[0]]
    }
    assert {
        order["id"]: order["quantity"] for order in retail.ann.read("/v1/orders/open", "orders")
    } == {ids[0]: 3, ids[2]: 1}
    ends = [{"orderId": item, "marketSlug": WHOLE} for item in (ids[2], "NOSUCHORDER1")]
    assert retail.ann.send("/v1/orders/batched/cancel", {"orders": ends}) == {
        "canceledOrderIds": [ids[2]]
    }
    assert [order["id"] for order in retail.ann.read("/v1/orders/open", "orders")] == [ids[0]]


@pytest.mark.parametrize(
    "path", ["/v1/orders/batched", "/v1/orders/batched/cancel", "/v1/orders/batched/modify"]
)
def test_a_batch_with_anything_malformed_does_nothing(retail: RetailWorld, path: str) -> None:
    good: dict[str, object] = {
        "marketSlug": WHOLE, "intent": BUY_YES, "type": "ORDER_TYPE_LIMIT", "price": usd("0.10"), "quantity": 1,
    }  # fmt: skip
    order_id = retail.order(retail.ann, price="0.30").json()["id"]
    good["orderId"] = order_id
    for orders in ([], [good] * 21, [good, {**good, "marketSlug": ""}]):
        assert retail.ann.post(path, json={"orders": orders}).status == 400
    (order,) = retail.ann.read("/v1/orders/open", "orders")
    assert (order["id"], order["price"]) == (order_id, usd("0.30"))


@pytest.mark.parametrize(
    ("opened", "rest", "closed"), [(BUY_YES, SELL_YES, SELL_YES), (SELL_YES, BUY_YES, SELL_NO)]
)
def test_closing_a_position_trades_all_of_it_away(
    retail: RetailWorld, opened: str, rest: str, closed: str
) -> None:
    retail.order(retail.bob, FINE, rest, price="0.50", quantity=7.25)
    retail.order(retail.ann, FINE, opened, price="0.50", quantity=7.25)
    retail.order(retail.bob, FINE, opened, price="0.50", quantity=50)
    answer = retail.ann.post(
        "/v1/order/close-position", json={"marketSlug": FINE, "synchronousExecution": True}
    )
    last = answer.json()["executions"][-1]
    assert (last["type"], last["lastShares"], last["order"]["intent"]) == (
        "EXECUTION_TYPE_FILL",
        "7.2500",
        closed,
    )
    assert retail.ann.read("/v1/portfolio/positions", "positions") == {}
    assert retail.ann.post("/v1/order/close-position", json={"marketSlug": FINE}).status == 404


@pytest.mark.parametrize("number", [2, 3, -1, 2**31 - 1])
def test_a_type_is_limit_or_market_by_number_too(retail: RetailWorld, number: int) -> None:
    refused = retail.order(retail.ann, type=number)
    assert (refused.status, refused.json()["message"]) == (
        400,
        "type must be ORDER_TYPE_LIMIT or ORDER_TYPE_MARKET",
    )
    assert retail.order(retail.ann, type=0).status == 200


@pytest.mark.spec("S4.2-16")
@pytest.mark.parametrize("mode", ["in_favour", "refuse", "floor"])
@pytest.mark.parametrize(
    ("intent", "sent", "favoured", "floored"),
    [
        (BUY_YES, "0.309", "0.30", "0.30"),
        (SELL_NO, "0.309", "0.30", "0.30"),
        (SELL_YES, "0.309", "0.31", "0.30"),
        (BUY_NO, "0.309", "0.31", "0.30"),
        (BUY_NO, "0.29999999999999999", "0.30", "0.29"),
        (BUY_NO, "0.3000000000001", "0.31", "0.30"),
        (BUY_NO, "0.300", "0.30", "0.30"),
    ],
)
def test_a_price_off_the_tick_is_never_normalised_to_one_worse_than_the_limit(
    retail: RetailWorld, intent: str, sent: str, favoured: str, floored: str, mode: str
) -> None:
    """§4.2: extra precision may be normalised; a new order, a change and a preview alike."""
    retail.assume("retail.off_tick", mode)
    answer = retail.order(retail.ann, intent=intent, price=sent)
    body = {"marketSlug": WHOLE, "intent": intent, "price": usd(sent), "quantity": 10}
    preview = retail.ann.post("/v1/order/preview", json={"request": body})
    if mode == "refuse" and sent != "0.300":
        assert (answer.status, preview.status) == (400, 400)
        return
    expected = {"in_favour": favoured, "refuse": favoured, "floor": floored}[mode]
    resting = retail.ann.read("/v1/orders/open", "orders", 0)
    assert float(resting["price"]["value"]) == float(expected)
    assert float(preview.json()["order"]["price"]["value"]) == float(expected)
    change = {"marketSlug": WHOLE, "price": usd("0.40"), "quantity": 10}
    for changed in (change, change | {"price": usd(sent)}):
        assert retail.ann.post(f"/v1/order/{resting['id']}/modify", json=changed).status == 200
    (resting,) = retail.ann.read("/v1/orders/open", "orders")
    assert float(resting["price"]["value"]) == float(expected)
