"""Decisions about orders that are in the book, and about trades: self-match prevention, changes,
cancels, the engine, lists, busts and crosses; each rule in one situation, and what the journal and
`explain` name as its reason.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tests.kit import Desk, order, retail_order
from tests.spec.decisions.decided import (
    Decided,
    decides,
    event,
    few_games,
    refusal,
    report,
    with_market,
)

Fields: TypeAlias = dict[str, Any]
MINE: Fields = {"selfMatchPreventionId": "mine"}


def _mode(name: str) -> Fields:
    return {**MINE, "selfMatchPreventionInstruction": f"SELF_MATCH_PREVENTION_INSTRUCTION_{name}"}


def _against_itself(desk: Desk, mode: str) -> tuple[str, str]:
    """A resting sale and a purchase of one participant under one prevention id; both ids."""
    market = desk.listed()
    resting = desk.place(market, "sell", 50, 5, **MINE)
    incoming = desk.enter(market, "buy", 50, 5, **_mode(mode))
    return resting, incoming.json().get("orderId", "")


# ---- self-match prevention


@decides
def test_m26_the_two_sides_of_a_cross_share_participant_and_prevention_id() -> Decided:
    desk = few_games()
    desk.assume("orders.cross_accounts", "participant")
    market = desk.listed()
    requests = [order(market, side, 50, 10, account="", **MINE) for side in ("buy", "sell")]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    assert desk.trader().post("/v1/trading/orders/cross", json=body).status == 422
    return refusal(desk)


@decides
def test_m27_the_incoming_order_is_refused() -> Decided:
    desk = few_games()
    resting, incoming = _against_itself(desk, "REJECT_AGGRESSOR")
    assert report(desk, resting).rule == "M9"
    return report(desk, incoming) if incoming else refusal(desk)


@decides
def test_m28_the_resting_order_is_canceled() -> Decided:
    desk = few_games()
    resting, incoming = _against_itself(desk, "CANCEL_RESTING")
    assert report(desk, incoming).rule == "M9"
    return report(desk, resting)


@decides
def test_m29_both_orders_are_removed() -> Decided:
    desk = few_games()
    resting, incoming = _against_itself(desk, "REMOVE_BOTH")
    assert report(desk, resting).rule == "M29"
    return report(desk, incoming)


@decides
def test_m30_a_retail_account_does_not_buy_yes_against_its_own_no() -> Decided:
    desk, market = with_market()
    ids = [desk.retail_place(market, intent, 50, 5) for intent in ("BUY_SHORT", "BUY_LONG")]
    rules = [report(desk, each) for each in ids]
    return next(decided for decided in rules if decided.rule != "M9")


# ---- changes and cancels


@decides
def test_m31_a_smaller_quantity_keeps_the_order_and_its_place() -> Decided:
    desk = few_games()
    resting = desk.place(desk.listed(), "buy", 40, 5)
    body = {"orderId": resting, "price": "40", "orderQty": "3"}
    assert desk.trader().post("/v1/trading/orders/replace", json=body).status == 200
    return report(desk, resting)


@decides
def test_m32_a_replaced_order_whose_new_price_crosses_trades_at_once() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50, 1, user=1)
    resting = desk.place(market, "buy", 40, 5)
    body = {"orderId": resting, "price": "50", "orderQty": "5"}
    assert desk.trader().post("/v1/trading/orders/replace", json=body).status == 200
    return event(desk, "Traded", symbol="market")


@decides
def test_m34_an_order_that_is_done_cannot_be_canceled() -> Decided:
    desk = few_games()
    resting = desk.place(desk.listed(), "buy", 40)
    for status in (200, 409):
        answer = desk.trader().post("/v1/trading/orders/cancel", json={"orderId": resting})
        assert answer.status == status
    return refusal(desk)


@decides
def test_m43_a_granted_cancel_ends_what_is_left() -> Decided:
    desk = few_games()
    resting = desk.place(desk.listed(), "buy", 40)
    desk.trader().post("/v1/trading/orders/cancel", json={"orderId": resting})
    return report(desk, resting)


@decides
def test_m43_a_cancel_is_granted_where_trading_is_suspended() -> Decided:
    desk = few_games()
    resting = desk.place(desk.listed(), "buy", 40)
    desk.move("market", "SUSPENDED")
    desk.trader().post("/v1/trading/orders/cancel", json={"orderId": resting})
    return report(desk, resting)


# ---- the engine, lists, sessions


@decides
def test_m36_an_order_is_pending_while_the_engine_is_late() -> Decided:
    desk = few_games()
    desk.assume("engine.latency", "1s")
    waiting = desk.place(desk.listed(), "buy", 40)
    return event(desk, "RuleApplied", subject=f"order/{waiting}")


@decides
def test_m37_a_retail_order_that_waited_too_long_for_the_engine_is_rejected() -> Decided:
    desk = few_games()
    desk.assume("engine.latency", "6s")
    body = retail_order(desk.listed(), "BUY_LONG", 40, 1)
    waiting = desk.customer().post("/v1/orders", json=body).json()["id"]
    desk.advance("7s")
    return report(desk, waiting)


@decides
def test_m38_a_list_has_at_most_twenty_entries() -> Decided:
    desk, market = with_market()
    body = {"requests": [order(market, "buy", 40, 1)] * 21}
    assert desk.trader().post("/v1/trading/orders/list", json=body).status == 400
    return refusal(desk)


@decides
def test_m45_a_retail_order_cannot_be_read_before_reads_show_it() -> Decided:
    desk = few_games()
    desk.assume("retail.read_lag", "5s")
    client = desk.customer()
    body = retail_order(desk.listed(), "BUY_LONG", 40, 1)
    placed = client.post("/v1/orders", json=body).json()["id"]
    assert client.get(f"/v1/order/{placed}").status == 404
    return refusal(desk)


# ---- trades


@decides
def test_m42_a_trade_is_cleared() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50, user=1)
    desk.place(market, "buy", 50)
    desk.advance("1m")
    return event(desk, "Traded", symbol="market")


@decides
def test_m42_a_bust_reverses_the_trade() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50, user=1)
    desk.place(market, "buy", 50)
    desk.operate("trade.bust", desk.trading.trades[-1].id)
    account = desk.account()
    for kind, fields in (
        ("PositionChanged", {"symbol": "market", "account": account}),
        ("CashMoved", {"account": account}),
    ):
        assert event(desk, kind, ask=account, **fields).rule == "M42"
    return event(desk, "Traded", symbol="market")


@decides
def test_m44_a_cross_trades_both_sides_at_once() -> Decided:
    desk, market = with_market()
    requests = [
        order(market, "buy", 50, 10, account=desk.account()),
        order(market, "sell", 50, 10, account=desk.account(1)),
    ]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    answer = desk.trader().post("/v1/trading/orders/cross", json=body)
    assert answer.status == 200, answer
    for row in answer.json()["responses"]:
        assert report(desk, row["orderId"]).rule == "M44"
    return event(desk, "Traded", symbol="market")


@decides
def test_m44_a_cross_needs_two_sides_of_one_quantity() -> Decided:
    desk, market = with_market()
    requests = [
        order(market, "buy", 50, 10, account=desk.account()),
        order(market, "sell", 50, 9, account=desk.account(1)),
    ]
    body = {"requests": requests, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "x"}
    assert desk.trader().post("/v1/trading/orders/cross", json=body).status == 400
    return refusal(desk)
