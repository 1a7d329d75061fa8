"""Decisions about collateral, cash, positions, reports and quotes: each rule that can be met, in one
situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import Side
from sim.core.model.refusals import Refusal
from sim.run.client.client import Connection, RpcError
from tests.api import test_exchange_rfqs as rfqs
from tests.api.test_funding_refusals import SOURCES
from tests.journeys import firm, key, rpc_trader, trader
from tests.kit import begin
from tests.rules import test_money as money
from tests.rules.decided import (
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

# ---- collateral and cash


@decides
def test_p4_an_order_that_the_account_cannot_pay_for_is_refused() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "buy", 40, 10_000_000).status == 422
    refused = refusal(world)
    assert {"available", "needed"} <= refused.facts.keys()
    return refused


@decides
def test_p4_an_order_whose_price_is_covered_and_whose_fee_is_not_is_refused() -> Decided:
    world = world_of()
    market = listed(world)
    trading, account = world.simulation.exchange.trading, account_of(world)
    cents = trading.buying_power(account) // 10**6
    operate(world, "account.fund", account, amount=f"-{(cents - 5000) / 100:.2f}")
    assert enter(world, market, "buy", 50, 100).status == 422
    return refusal(world)


@decides
def test_p5_an_order_that_the_account_can_no_longer_pay_for_is_canceled() -> Decided:
    world = world_of()
    first, second = listed(world, "first"), listed(world, "second")
    trading, account = world.simulation.exchange.trading, account_of(world)
    dollars = trading.buying_power(account) // 10**8
    operate(world, "account.fund", account, amount=f"-{dollars - 100}")
    resting = entered(world, second, "buy", 50, 180)
    entered(world, first, "buy", 50, 180)
    assert not trading.book("first").levels(Side.SELL, 1)
    operate(
        world,
        "order.place",
        symbol="first",
        side="sell",
        price="0.50",
        qty="180",
        **{"as": "taker"},
    )
    return report(world, resting)


@decides
def test_p6_a_withdrawal_of_what_orders_reserve_is_refused() -> Decided:
    world = begin(SOURCES)
    market, account = listed(world), account_of(world)
    entered(world, market, "buy", 50, 1000)
    dollars = world.simulation.exchange.trading.buying_power(account) // 10**8
    with suppress(Refusal):
        operate(world, "account.fund", account, amount=f"-{dollars - 100}", source="open")
    return refused_action(world)


@decides
def test_p9_a_fill_opens_a_position_at_its_cost() -> Decided:
    world = world_of()
    market, account = listed(world), account_of(world)
    entered(world, market, "sell", 50, 10, user=1)
    entered(world, market, "buy", 50, 10)
    return event(world, "PositionChanged", ask=account, symbol="market", account=account)


@decides
def test_p16_part_of_the_weeks_taker_fees_is_paid_back() -> Decided:
    world = money.busy("250000")
    money.pay_fees(world)
    world.advance_to("2026-09-14T00:00:00-04:00")
    return event(world, "CashMoved", ask=money.TAKER, account=money.TAKER)


@decides
def test_p18_an_entry_type_that_the_ledger_never_shows_is_refused() -> Decided:
    world = world_of()
    hidden = wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING
    request = wire.GetAccountBalanceLedgerRequest(account=account_of(world), entry_types=[hidden])
    with pytest.raises(RpcError) as refused:
        rpc_trader(world).call("FundingAPI.GetAccountBalanceLedger", request)
    assert refused.value.code == 10
    return refusal(world)


@decides
def test_p21_a_fill_is_one_entry_of_the_cash_ledger() -> Decided:
    world = world_of()
    market, account = listed(world), account_of(world)
    entered(world, market, "sell", 50, 10, user=1)
    entered(world, market, "buy", 50, 10)
    return event(world, "CashMoved", ask=account, account=account)


@decides
def test_p24_the_ledger_of_another_firms_account_is_closed() -> Decided:
    world = world_of()
    foreign = next(
        user.account
        for other in world.simulation.exchange.firms.all()
        if other.clearing_firm != firm(world.simulation).clearing_firm
        for user in other.users
    )
    answer = trader(world).get("/v1/funding/balance-ledger", params={"account": foreign})
    assert answer.status == 403
    return refusal(world)


@decides
def test_p24_a_page_of_a_ledger_has_at_most_a_thousand_rows() -> Decided:
    world = world_of()
    params = {"account": account_of(world), "pageSize": 1001}
    assert trader(world).get("/v1/funding/balance-ledger", params=params).status == 400
    return refusal(world)


def _transfer(world: Connection, amount: str, idempotency_key: str = "k") -> cash.CashMovement:
    request = cash.CreateCashMovementRequest(
        idempotency_key=idempotency_key,
        transfer=cash.Transfer(
            reason=cash.TransferReason(1),
            participant_account_id=account_of(world),
            amount=amount,
            currency="USD",
            external_reference="r",
        ),
    )
    rpc = world.rpc(firm(world.simulation))
    movement: cash.CashMovement = rpc.call(
        "CashMovementService.CreateCashMovement", request
    ).cash_movement
    return movement


@decides
def test_p25_a_transfer_has_at_most_two_decimals() -> Decided:
    world = world_of()
    with pytest.raises(RpcError):
        _transfer(world, "12.505")
    return refusal(world)


@decides
def test_p25_one_idempotency_key_has_one_effect() -> Decided:
    world = world_of()
    _transfer(world, "12.50")
    with pytest.raises(RpcError):
        _transfer(world, "13.50")
    return refusal(world)


@decides
def test_p25_a_transfer_moves_the_cash_of_the_participant() -> Decided:
    world = world_of()
    _transfer(world, "12.50")
    account = account_of(world)
    return event(world, "CashMoved", ask=account, account=account)


@decides
def test_p26_a_clearing_account_has_no_balance_to_ask_for() -> Decided:
    world = world_of()
    body = {"name": firm(world.simulation).clearing_account, "currency": "USD"}
    assert trader(world).post("/v1/positions/balance", json=body).status == 400
    return refusal(world)


# ---- combos and quotes


def _ideal() -> Connection:
    world = begin()
    operate(world, "preset.set", name="ideal")
    return world


@decides
def test_l13_the_orders_of_a_quote_follow_our_own_rule() -> Decided:
    world = _ideal()
    rfq = rfqs.ask(world, rfqs.combo(world))
    rfqs.quote(world, rfq)
    return event(world, "RfqChanged")


@decides
def test_m46_a_quote_that_buys_below_its_sale_is_refused() -> Decided:
    world = _ideal()
    rfq = rfqs.ask(world, rfqs.combo(world))
    with pytest.raises(RpcError):
        rfqs.quote(world, rfq, buy="0.40", sell="0.60")
    return refusal(world)


# ---- reports


@decides
def test_r6_a_trade_search_without_a_symbol_times_out() -> Decided:
    world = world_of()
    operate(world, "quirk.set", "unfiltered_search_times_out", value="always")
    answer = trader(world).post("/v1/report/trades/search", json={})
    assert answer.status == 504
    return refusal(world)


@decides
def test_r7_a_page_token_that_is_no_offset_is_refused() -> Decided:
    world = world_of()
    body = {"symbol": listed(world).symbol, "pageToken": "nonsense"}
    assert trader(world).post("/v1/report/orders/search", json=body).status == 400
    return refusal(world)


@decides
def test_r8_the_order_of_another_firms_account_is_not_found() -> Decided:
    world = world_of()
    market = listed(world)
    operate(world, "order.place", symbol="market", side="buy", price="0.40", qty="1")
    foreign = next(
        row.id for row in world.simulation.exchange.trading.orders.all() if row.symbol == "market"
    )
    assert market.symbol == "market"
    assert trader(world).get(f"/v1/report/orders/{foreign}").status == 404
    return refusal(world)


@decides
def test_r9_a_where_clause_that_is_no_condition_is_refused() -> Decided:
    world = world_of()
    body = {"symbol": listed(world).symbol, "whereClause": "price like"}
    assert trader(world).post("/v1/report/orders/search", json=body).status == 400
    return refusal(world)


@decides
def test_r10_an_execution_older_than_a_week_is_gone() -> Decided:
    world = world_of()
    placed = entered(world, listed(world), "buy", 40)
    (row,) = (
        trader(world)
        .post("/v1/report/executions/search", json={"orderId": placed})
        .json()["executions"]
    )
    world.advance("11d")
    assert trader(world).get(f"/v1/report/executions/{row['id']}").status == 404
    return refusal(world)


@decides
def test_r11_statistics_have_no_negative_number_of_slices() -> Decided:
    world = world_of()
    body = {"symbol": listed(world).symbol, "bars": -1}
    assert trader(world).post("/v1/report/trades/stats", json=body).status == 400
    return refusal(world)


@decides
def test_r15_the_retail_api_ignores_a_parameter_in_camel_case() -> Decided:
    world = world_of()
    client = world.retail(key(world.simulation))
    assert client.get("/v1/portfolio/activities?sortOrder=SORT_ORDER_ASCENDING").status == 200
    return event(world, "RuleApplied")


# ---- limits by name


def _until_refused(call: Callable[[], int], most: int = 7000) -> None:
    for _ in range(most):
        if call() == 429:
            return
    raise AssertionError(f"{most} calls were not too many")


@decides
def test_r1_a_limit_that_is_off_by_default_refuses_once_it_is_on() -> Decided:
    world = world_of()
    assume(world, "limits.extra", "true")
    user, symbol = trader(world), listed(world).symbol
    _until_refused(lambda: user.get(f"/v1/orderbook/{symbol}").status, 20)
    return refusal(world)


@decides
def test_r2_with_extra_limits_a_ledger_file_takes_twelve_seconds() -> Decided:
    world = world_of()
    assume(world, "limits.extra", "true")
    user, params = trader(world), {"account": account_of(world)}
    path = "/v1/funding/balance-ledger/download"
    _until_refused(lambda: user.get(path, params=params).status, 3)
    return refusal(world)


@decides
def test_r16_a_firm_makes_a_hundred_calls_a_second_over_a_minute() -> Decided:
    world = world_of()
    user = trader(world)
    _until_refused(lambda: user.get("/v1/whoami").status)
    return refusal(world)


@decides
def test_r17_a_retail_key_makes_twenty_calls_a_second() -> Decided:
    world = world_of()
    client = world.retail(key(world.simulation))
    _until_refused(lambda: client.get("/v1/account/balances").status, 21)
    return refusal(world)


@decides
def test_r18_an_address_makes_twenty_calls_a_second() -> Decided:
    world = world_of()
    _until_refused(lambda: world.gateway.get("/v2/leagues").status, 21)
    return refusal(world)


@decides
def test_r19_incentives_are_read_five_times_a_second() -> Decided:
    world = world_of()
    user = trader(world)
    _until_refused(lambda: user.get("/v1/incentives").status, 6)
    return refusal(world)


@decides
def test_r20_trades_are_searched_twelve_times_a_minute() -> Decided:
    world = world_of()
    user, body = trader(world), {"symbol": listed(world).symbol}
    _until_refused(lambda: user.post("/v1/report/trades/search", json=body).status, 13)
    return refusal(world)


@decides
def test_r21_statistics_are_read_sixty_times_a_minute() -> Decided:
    world = world_of()
    user, body = trader(world), {"symbol": listed(world).symbol}
    _until_refused(lambda: user.post("/v1/report/trades/stats", json=body).status, 61)
    return refusal(world)


@decides
def test_r22_symbols_are_listed_six_times_a_minute() -> Decided:
    world = world_of()
    user = trader(world)
    _until_refused(lambda: user.post("/v1/refdata/symbols", json={}).status, 7)
    return refusal(world)


@decides
def test_r23_a_firm_downloads_five_ledger_files_a_minute() -> Decided:
    world = world_of()
    user, params = trader(world), {"account": account_of(world)}
    path = "/v1/funding/balance-ledger/download"
    _until_refused(lambda: user.get(path, params=params).status, 6)
    return refusal(world)
