"""Decisions about orders: each rule of matching that can be met, in one situation, and what the
journal and `explain` name as its reason.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import pytest

from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.run.client.client import RpcError
from tests.journeys import firm, key, retail_order, trader
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
    refused_action,
    report,
    world_of,
)

Fields: TypeAlias = dict[str, Any]
IOC: Fields = {"timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
FOK: Fields = {"timeInForce": "TIME_IN_FORCE_FILL_OR_KILL"}
GTT: Fields = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"}
MARKET_TO_LIMIT: Fields = {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "price": None}

# ---- entry


@decides
def test_m1_an_order_trades_at_the_better_price_that_was_there_first() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    taker = entered(world, market, "buy", 55)
    assert report(world, taker).rule == "M1"
    return event(world, "Traded", symbol="market", price=50)


@decides
def test_m2_the_first_of_two_failures_decides_and_shape_comes_before_the_state() -> Decided:
    world = world_of()
    market = listed(world)
    operate(world, "instrument.state", "market", state="SUSPENDED")
    assert enter(world, market, "buy", 40, orderQty="-1").status == 400
    return refusal(world)


@decides
def test_m3_half_a_contract_of_a_market_in_whole_contracts_has_no_integer() -> Decided:
    world = world_of()
    listed(world)
    with suppress(Refusal):
        operate(world, "order.place", symbol="market", side="buy", price="0.40", qty="0.5")
    return refused_action(world)


@decides
def test_m4_a_price_between_two_ticks_is_refused() -> Decided:
    world = world_of()
    market = listed(world, price_scale=1000)
    assert enter(world, market, "buy", 40, price="405").status >= 400
    return refusal(world)


@decides
def test_m5_a_price_beyond_the_band_is_refused() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "buy", 100).status >= 400
    return refusal(world)


@decides
def test_m6_a_client_order_id_of_an_open_order_is_taken() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "buy", 40, clordId="c")
    assert enter(world, market, "buy", 41, clordId="c").status == 409
    return refusal(world)


@decides
def test_m9_a_limit_order_without_anything_to_trade_with_rests() -> Decided:
    world = world_of()
    return report(world, entered(world, listed(world), "buy", 40))


@decides
def test_m10_a_market_to_limit_order_with_nothing_to_trade_with_is_rejected() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "buy", 40, **MARKET_TO_LIMIT).status == 422
    return refusal(world)


@decides
def test_m11_a_market_to_limit_order_needs_a_reference_price() -> Decided:
    world = world_of()
    assume(world, "risk.require_reference_price", "true")
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    assert enter(world, market, "buy", 40, **MARKET_TO_LIMIT).status == 422
    return refusal(world)


@decides
def test_m12_a_trade_at_its_price_makes_a_stop_order_active() -> Decided:
    world = world_of()
    market = listed(world)
    stop = entered(world, market, "buy", 52, user=2, type="ORDER_TYPE_STOP_LIMIT", stopPrice="55")
    assert report(world, stop).rule == "M12"
    entered(world, market, "sell", 55, user=1)
    entered(world, market, "buy", 55)
    return report(world, stop)


@decides
def test_m13_a_retail_market_order_trades_within_its_slippage() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50)
    body = retail_order(market, "BUY_LONG", 0, 1, type="ORDER_TYPE_MARKET")
    body["tif"] = "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"
    del body["price"]
    answer = world.retail(key(world.simulation)).post("/v1/orders", json=body)
    assert answer.status == 200, answer
    return report(world, answer.json()["id"], 0)


@decides
def test_m16_what_is_left_of_an_immediate_or_cancel_order_expires() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, 1, user=1)
    return report(world, entered(world, market, "buy", 50, 3, **IOC))


@decides
def test_m17_a_fill_or_kill_order_that_cannot_trade_completely_ends() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, 1, user=1)
    return report(world, entered(world, market, "buy", 50, 3, **FOK))


@decides
def test_m17_an_all_or_none_order_that_cannot_trade_completely_ends() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, 1, user=1)
    return report(world, entered(world, market, "buy", 50, 3, allOrNone=True, **IOC))


@decides
def test_m18_a_good_till_time_in_the_past_is_refused() -> Decided:
    world = world_of()
    fields: Fields = {**GTT, "goodTillTime": "2026-09-08T17:59:59Z"}
    assert enter(world, listed(world), "buy", 40, **fields).status == 400
    return refusal(world)


@decides
def test_m19_an_order_that_cannot_trade_its_minimum_quantity_ends() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, 1, user=1)
    answer = enter(world, market, "buy", 50, 5, minQty="3")
    return report(world, answer.json()["orderId"]) if answer.status == 200 else refusal(world)


@decides
def test_m20_a_post_only_order_that_would_trade_is_rejected() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    assert enter(world, market, "buy", 50, participateDontInitiate=True).status == 422
    return refusal(world)


@decides
def test_m20_a_change_that_makes_a_post_only_order_trade_is_rejected() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    resting = entered(world, market, "buy", 40, participateDontInitiate=True)
    body = {"orderId": resting, "price": "50", "orderQty": "1"}
    trader(world).post("/v1/trading/orders/replace", json=body)
    return event(world, "CancelRejected", ask=f"order/{resting}", order_id=resting)


@decides
def test_m21_a_derived_limit_has_nothing_to_take_from_an_empty_side() -> Decided:
    world = world_of()
    market = listed(world)
    fields: Fields = {"price": None, "immediatelyExecutableLimit": True}
    assert enter(world, market, "buy", 40, **fields).status == 422
    return refusal(world)


@decides
def test_m22_a_strict_limit_that_could_only_trade_better_is_removed() -> Decided:
    world = world_of()
    assume(world, "strict_limit.mode", "expire")
    market = listed(world)
    entered(world, market, "sell", 45, user=1)
    return report(world, entered(world, market, "buy", 50, strictLimit=True))


@decides
def test_m23_a_limit_order_may_not_skip_the_price_checks() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "sell", 40, ignorePriceValidityChecks=True).status == 400
    return refusal(world)


@decides
def test_m24_a_cash_quantity_with_a_limit_is_refused_where_that_is_switched_off() -> Decided:
    world = world_of()
    assume(world, "cash_qty.allow_limit", "false")
    fields: Fields = {"orderQty": None, "cashOrderQty": "1000"}
    assert enter(world, listed(world), "buy", 40, **fields).status == 400
    return refusal(world)


@decides
def test_m24_a_cash_quantity_below_the_price_of_one_contract_buys_nothing() -> Decided:
    world = world_of()
    market = listed(world)
    entered(world, market, "sell", 50, user=1)
    fields: Fields = {"orderQty": None, "cashOrderQty": "10", **MARKET_TO_LIMIT}
    answer = enter(world, market, "buy", 40, **fields)
    return report(world, answer.json()["orderId"]) if answer.status == 200 else refusal(world)


@decides
def test_m25_a_partners_order_that_is_not_fill_or_kill_is_refused() -> Decided:
    world = world_of()
    market = listed(world)
    request = funding.CreateVendorOrderRequest(
        order=wire.InsertOrderRequest(
            type=wire.OrderType.ORDER_TYPE_LIMIT,
            side=wire.Side.SIDE_BUY,
            price=40,
            order_qty=1,
            symbol=market.symbol,
            time_in_force=wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL,
            clord_id="v",
            account=account_of(world),
            manual_order_indicator=wire.ManualOrderIndicator.MANUAL_ORDER_INDICATOR_AUTOMATED,
        ),
        vendor_fee=funding.MoneyAmount(value="0.10", currency="USD"),
        idempotency_key="k",
    )
    with pytest.raises(RpcError):
        world.rpc(firm(world.simulation)).call("OrderFundingService.CreateVendorOrder", request)
    return refusal(world)
