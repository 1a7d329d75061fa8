"""Decisions about orders: each rule of matching that can be met, in one situation, and what the
journal and `explain` name as its reason.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import RpcError
from tests.kit import partner_order, retail_order
from tests.spec.decisions.decided import (
    Decided,
    decides,
    event,
    few_games,
    refusal,
    refused_action,
    report,
    situations,
    with_market,
)

Fields: TypeAlias = dict[str, Any]
IOC: Fields = {"timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
FOK: Fields = {"timeInForce": "TIME_IN_FORCE_FILL_OR_KILL"}
GTT: Fields = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"}
CASH: Fields = {"orderQty": None}
MARKET_TO_LIMIT: Fields = {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "price": None}

# ---- entry

# What a buyer of one contract at 0.40 also asks for: the rule that refuses it, its status, what the
# order says, and an assumption.
REFUSED: dict[str, tuple[Any, ...]] = {
    "a price between two ticks": ("M4", 422, {"price": "405"}),
    "a price beyond the band": ("M5", 422, {"price": "1000"}),
    "nothing to trade with": ("M10", 422, MARKET_TO_LIMIT),
    "no reference price": ("M11", 422, MARKET_TO_LIMIT, "risk.require_reference_price", "true"),
    "an end in the past": ("M18", 400, GTT | {"goodTillTime": "2026-09-08T17:59:59Z"}),
    "an empty side": ("M21", 422, {"price": None, "immediatelyExecutableLimit": True}),
    "no price checks": ("M23", 400, {"ignorePriceValidityChecks": True}),
    "cash and a limit": (
        "M24",
        400,
        CASH | {"cashOrderQty": "1000"},
        "cash_qty.allow_limit",
        "false",
    ),
    "a session that is no stream": ("M39", 400, {"sessionId": "nonsense"}),
    "more than can be paid": ("P4", 422, {"orderQty": "10000000"}),
    "more than can be counted": ("T3", 400, {"orderQty": str(2**62)}),
}


@situations(REFUSED)
def test_an_order_is_refused_by_the_rule_that_it_breaks(
    status: int, fields: Fields, assumption: str = "", value: str = ""
) -> Decided:
    """M4, M5, M10, M11, M18, M21, M23, M24, M39, P4, T3."""
    desk, market = with_market(price_scale=1000)
    if assumption:
        desk.assume(assumption, value)
    assert desk.enter(market, "buy", 40, **fields).status == status
    return refusal(desk)


# A contract is on offer at 0.50: what a buyer of three at 0.50 asks for, and which rule ends it.
ENDED: dict[str, tuple[Any, ...]] = {
    "what is left of immediate or cancel": ("M16", 200, IOC),
    "fill or kill": ("M17", 200, FOK),
    "all or none": ("M17", 200, IOC | {"allOrNone": True}),
    "a minimum quantity": ("M19", 200, {"minQty": "3"}),
    "post only": ("M20", 422, {"participateDontInitiate": True}),
    "a strict limit": (
        "M22",
        200,
        {"strictLimit": True, "price": "55"},
        "strict_limit.mode",
        "expire",
    ),
    "cash for less than a contract": ("M24", 422, CASH | MARKET_TO_LIMIT | {"cashOrderQty": "10"}),
}


@situations(ENDED)
def test_an_order_that_cannot_trade_as_it_asks_to_ends_by_a_rule(
    status: int, fields: Fields, assumption: str = "", value: str = ""
) -> Decided:
    """M16, M17, M19, M20, M22, M24."""
    desk, market = with_market()
    if assumption:
        desk.assume(assumption, value)
    desk.place(market, "sell", 50, 1, user=1)
    answer = desk.enter(market, "buy", 50, 3, **fields)
    assert answer.status == status
    return report(desk, answer.json()["orderId"]) if status == 200 else refusal(desk)


@decides
def test_m9_a_limit_order_without_anything_to_trade_with_rests() -> Decided:
    desk, market = with_market()
    return report(desk, desk.place(market, "buy", 40))


@decides
def test_m1_an_order_trades_at_the_better_price_that_was_there_first() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50, user=1)
    taker = desk.place(market, "buy", 55)
    assert report(desk, taker).rule == "M1"
    return event(desk, "Traded", symbol="market", price=50)


@decides
def test_m2_the_first_of_two_failures_decides_and_shape_comes_before_the_state() -> Decided:
    desk, market = with_market()
    desk.move("market", "SUSPENDED")
    assert desk.enter(market, "buy", 40, orderQty="-1").status == 400
    return refusal(desk)


@decides
def test_m3_half_a_contract_of_a_market_in_whole_contracts_has_no_integer() -> Decided:
    desk = few_games()
    desk.listed()
    return refused_action(desk, "order.place", symbol="market", side="buy", price="0.40", qty="0.5")


@decides
def test_m6_a_client_order_id_of_an_open_order_is_taken() -> Decided:
    desk, market = with_market()
    desk.place(market, "buy", 40, clordId="c")
    assert desk.enter(market, "buy", 41, clordId="c").status == 409
    return refusal(desk)


@decides
def test_m12_a_trade_at_its_price_makes_a_stop_order_active() -> Decided:
    desk, market = with_market()
    stop = desk.place(market, "buy", 52, user=2, type="ORDER_TYPE_STOP_LIMIT", stopPrice="55")
    assert report(desk, stop).rule == "M12"
    desk.place(market, "sell", 55, user=1)
    desk.place(market, "buy", 55)
    return report(desk, stop)


@decides
def test_m13_a_retail_market_order_trades_within_its_slippage() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50)
    body = retail_order(market, "BUY_LONG", 0, 1, type="ORDER_TYPE_MARKET")
    body["tif"] = "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"
    del body["price"]
    answer = desk.customer().post("/v1/orders", json=body)
    assert answer.status == 200, answer
    return report(desk, answer.json()["id"], 0)


@decides
def test_m20_a_change_that_makes_a_post_only_order_trade_is_rejected() -> Decided:
    desk, market = with_market()
    desk.place(market, "sell", 50, user=1)
    resting = desk.place(market, "buy", 40, participateDontInitiate=True)
    body = {"orderId": resting, "price": "50", "orderQty": "1"}
    desk.trader().post("/v1/trading/orders/replace", json=body)
    return event(desk, "CancelRejected", ask=f"order/{resting}", order_id=resting)


@decides
def test_m25_a_partners_order_that_is_not_fill_or_kill_is_refused() -> Decided:
    desk, market = with_market()
    order = {"time_in_force": wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL}
    request = partner_order(market, desk.account(), **order)
    with pytest.raises(RpcError):
        desk.rpc_partner.call("OrderFundingService.CreateVendorOrder", request)
    return refusal(desk)
