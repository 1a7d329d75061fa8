"""Decisions about orders that are in the book, and about trades: self-match prevention, changes,
cancels, the engine, lists, busts and crosses; each rule in one situation, and what the journal and
`explain` name as its reason.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sim.run.client.client import Connection
from tests.journeys import key, order, retail_order, trader
from tests.spec.decisions.decided import (
    Decided,
    account_of,
    assume,
    decides,
    enter,
    entered,
    event,
    listed,
    operate,
    refusal,
    report,
    world_of,
)

Fields: TypeAlias = dict[str, Any]
MINE: Fields = {"selfMatchPreventionId": "mine"}


def _mode(name: str) -> Fields:
    return {**MINE, "selfMatchPreventionInstruction": f"SELF_MATCH_PREVENTION_INSTRUCTION_{name}"}


def _against_itself(world: Connection, mode: str) -> tuple[str, str]:
    """A resting sale and a purchase of one participant under one prevention id; both ids."""
    market = listed(world)
    resting = entered(world, market, "sell", 50, 5, **MINE)
    incoming = enter(world, market, "buy", 50, 5, **_mode(mode))
    return resting, incoming.json().get("orderId", "")


# ---- self-match prevention


@decides
def test_m26_the_two_sides_of_a_cross_share_participant_and_prevention_id() -> Decided:
    world = world_of()
    assume(world, "orders.cross_accounts", "participant")
    market = listed(world)
    requests = [order(market, side, 50, 10, account="", **MINE) for side in ("buy", "sell")]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    assert trader(world).post("/v1/trading/orders/cross", json=body).status == 422
    return refusal(world)


@decides
def test_m27_the_incoming_order_is_refused() -> Decided:
    world = world_of()
    resting, incoming = _against_itself(world, "REJECT_AGGRESSOR")
    assert report(world, resting).rule == "M9"
    return report(world, incoming) if incoming else refusal(world)


@decides
def test_m28_the_resting_order_is_canceled() -> Decided:
    world = world_of()
    resting, incoming = _against_itself(world, "CANCEL_RESTING")
    assert report(world, incoming).rule == "M9"
    return report(world, resting)


@decides
def test_m29_both_orders_are_removed() -> Decided:
    world = world_of()
    resting, incoming = _against_itself(world, "REMOVE_BOTH")
    assert report(world, resting).rule == "M29"
    return report(world, incoming)


@decides
def test_m30_a_retail_account_does_not_buy_yes_against_its_own_no() -> Decided:
    world = world_of()
    market = listed(world)
    client = world.retail(key(world.simulation))
    ids = [
        client.post("/v1/orders", json=retail_order(market, intent, 50, 5)).json()["id"]
        for intent in ("BUY_SHORT", "BUY_LONG")
    ]
    rules = [report(world, each) for each in ids]
    return next(decided for decided in rules if decided.rule != "M9")


# ---- changes and cancels


@decides
def test_m31_a_smaller_quantity_keeps_the_order_and_its_place() -> Decided:
    world = world_of()
    resting = entered(world, listed(world), "buy", 40, 5)
    body = {"orderId": resting, "price": "40", "orderQty": "3"}
    assert trader(world).post("/v1/trading/orders/replace", json=body).status == 200
    return report(world, resting)


@decides
def test_m32_a_replaced_order_whose_new_price_crosses_trades_at_once() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, 1, user=1)
    resting = entered(world, market, "buy", 40, 5)
    body = {"orderId": resting, "price": "50", "orderQty": "5"}
    assert trader(world).post("/v1/trading/orders/replace", json=body).status == 200
    return event(world, "Traded", symbol="market")


@decides
def test_m34_an_order_that_is_done_cannot_be_canceled() -> Decided:
    world = world_of()
    resting = entered(world, listed(world), "buy", 40)
    for status in (200, 409):
        answer = trader(world).post("/v1/trading/orders/cancel", json={"orderId": resting})
        assert answer.status == status
    return refusal(world)


@decides
def test_m43_a_granted_cancel_ends_what_is_left() -> Decided:
    world = world_of()
    resting = entered(world, listed(world), "buy", 40)
    trader(world).post("/v1/trading/orders/cancel", json={"orderId": resting})
    return report(world, resting)


@decides
def test_m43_a_cancel_is_granted_where_trading_is_suspended() -> Decided:
    world = world_of()
    resting = entered(world, listed(world), "buy", 40)
    operate(world, "instrument.state", "market", state="SUSPENDED")
    trader(world).post("/v1/trading/orders/cancel", json={"orderId": resting})
    return report(world, resting)


# ---- the engine, lists, sessions


@decides
def test_m36_an_order_is_pending_while_the_engine_is_late() -> Decided:
    world = world_of()
    assume(world, "engine.latency", "1s")
    waiting = entered(world, listed(world), "buy", 40)
    return event(world, "RuleApplied", subject=f"order/{waiting}")


@decides
def test_m37_a_retail_order_that_waited_too_long_for_the_engine_is_rejected() -> Decided:
    world = world_of()
    assume(world, "engine.latency", "6s")
    body = retail_order(listed(world), "BUY_LONG", 40, 1)
    waiting = world.retail(key(world.simulation)).post("/v1/orders", json=body).json()["id"]
    world.advance("7s")
    return report(world, waiting)


@decides
def test_m38_a_list_has_at_most_twenty_entries() -> Decided:
    world = world_of()
    market = listed(world)
    body = {"requests": [order(market, "buy", 40, 1)] * 21}
    assert trader(world).post("/v1/trading/orders/list", json=body).status == 400
    return refusal(world)


@decides
def test_m45_a_retail_order_cannot_be_read_before_reads_show_it() -> Decided:
    world = world_of()
    assume(world, "retail.read_lag", "5s")
    client = world.retail(key(world.simulation))
    body = retail_order(listed(world), "BUY_LONG", 40, 1)
    placed = client.post("/v1/orders", json=body).json()["id"]
    assert client.get(f"/v1/order/{placed}").status == 404
    return refusal(world)


# ---- trades


@decides
def test_m42_a_trade_is_cleared() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    entered(world, market, "buy", 50)
    world.advance("1m")
    return event(world, "Traded", symbol="market")


@decides
def test_m42_a_bust_reverses_the_trade() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    entered(world, market, "buy", 50)
    operate(world, "trade.bust", world.simulation.exchange.trading.trades[-1].id)
    account = account_of(world)
    for kind, fields in (
        ("PositionChanged", {"symbol": "market", "account": account}),
        ("CashMoved", {"account": account}),
    ):
        assert event(world, kind, ask=account, **fields).rule == "M42"
    return event(world, "Traded", symbol="market")


@decides
def test_m44_a_cross_trades_both_sides_at_once() -> Decided:
    world = world_of()
    market = listed(world)
    requests = [
        order(market, "buy", 50, 10, account=account_of(world, 0)),
        order(market, "sell", 50, 10, account=account_of(world, 1)),
    ]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    answer = trader(world).post("/v1/trading/orders/cross", json=body)
    assert answer.status == 200, answer
    for row in answer.json()["responses"]:
        assert report(world, row["orderId"]).rule == "M44"
    return event(world, "Traded", symbol="market")


@decides
def test_m44_a_cross_needs_two_sides_of_one_quantity() -> Decided:
    world = world_of()
    market = listed(world)
    requests = [
        order(market, "buy", 50, 10, account=account_of(world, 0)),
        order(market, "sell", 50, 9, account=account_of(world, 1)),
    ]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    assert trader(world).post("/v1/trading/orders/cross", json=body).status == 400
    return refusal(world)
