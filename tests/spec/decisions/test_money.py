"""Decisions about collateral, cash, positions, reports and quotes: each rule that can be met, in one
situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import Side
from sim.run.client.client import RpcError
from tests.api import test_exchange_rfqs as rfqs
from tests.api.test_funding_refusals import SOURCES
from tests.kit import Desk, begin
from tests.spec import test_money as money
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

SEARCH = "POST /v1/report/orders/search"
LEDGER = "GET /v1/funding/balance-ledger"

# ---- collateral and cash


@decides
def test_p4_an_order_whose_price_is_covered_and_whose_fee_is_not_is_refused() -> Decided:
    desk, market = with_market()
    trading, account = desk.trading, desk.account()
    cents = trading.buying_power(account) // 10**6
    desk.operate("account.fund", account, amount=f"-{(cents - 5000) / 100:.2f}")
    assert desk.enter(market, "buy", 50, 100).status == 422
    refused = refusal(desk)
    assert {"available", "needed"} <= refused.facts.keys()
    return refused


@decides
def test_p5_an_order_that_the_account_can_no_longer_pay_for_is_canceled() -> Decided:
    desk = few_games()
    first, second = desk.listed("first"), desk.listed("second")
    trading, account = desk.trading, desk.account()
    dollars = trading.buying_power(account) // 10**8
    desk.operate("account.fund", account, amount=f"-{dollars - 100}")
    resting = desk.place(second, "buy", 50, 180)
    desk.place(first, "buy", 50, 180)
    assert not trading.book("first").levels(Side.SELL, 1)
    desk.operate(
        "order.place", symbol="first", side="sell", price="0.50", qty="180", **{"as": "taker"}
    )
    return report(desk, resting)


@decides
def test_p6_a_withdrawal_of_what_orders_reserve_is_refused() -> Decided:
    desk = begin(SOURCES)
    market, account = desk.listed(), desk.account()
    desk.place(market, "buy", 50, 1000)
    dollars = desk.trading.buying_power(account) // 10**8
    return refused_action(desk, "account.fund", account, amount=f"-{dollars - 100}", source="open")


@decides
def test_p9_a_fill_opens_a_position_at_its_cost() -> Decided:
    desk, market = with_market()
    account = desk.account()
    desk.place(market, "sell", 50, 10, user=1)
    desk.place(market, "buy", 50, 10)
    return event(desk, "PositionChanged", ask=account, symbol="market", account=account)


@decides
def test_p16_part_of_the_weeks_taker_fees_is_paid_back() -> Decided:
    desk = money.busy("250000")
    money.pay_fees(desk)
    desk.advance_to("2026-09-14T00:00:00-04:00")
    return event(desk, "CashMoved", ask=money.TAKER, account=money.TAKER)


@decides
def test_p18_an_entry_type_that_the_ledger_never_shows_is_refused() -> Decided:
    desk = few_games()
    hidden = wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING
    request = wire.GetAccountBalanceLedgerRequest(account=desk.account(), entry_types=[hidden])
    with pytest.raises(RpcError) as refused:
        desk.rpc_trader().call("FundingAPI.GetAccountBalanceLedger", request)
    assert refused.value.code == 10
    return refusal(desk)


@decides
def test_p21_a_fill_is_one_entry_of_the_cash_ledger() -> Decided:
    desk, market = with_market()
    account = desk.account()
    desk.place(market, "sell", 50, 10, user=1)
    desk.place(market, "buy", 50, 10)
    return event(desk, "CashMoved", ask=account, account=account)


@decides
def test_p24_the_ledger_of_another_firms_account_is_closed() -> Decided:
    desk = few_games()
    foreign = next(
        user.account
        for other in desk.core.firms.all()
        if other.clearing_firm != desk.firm.clearing_firm
        for user in other.users
    )
    answer = desk.trader().get("/v1/funding/balance-ledger", params={"account": foreign})
    assert answer.status == 403
    return refusal(desk)


@decides
def test_p25_a_transfer_has_at_most_two_decimals() -> Decided:
    desk = few_games()
    with pytest.raises(RpcError):
        desk.transfer("12.505")
    return refusal(desk)


@decides
def test_p25_one_idempotency_key_has_one_effect() -> Decided:
    desk = few_games()
    desk.transfer("12.50")
    with pytest.raises(RpcError):
        desk.transfer("13.50")
    return refusal(desk)


@decides
def test_p25_a_transfer_moves_the_cash_of_the_participant() -> Decided:
    desk = few_games()
    desk.transfer("12.50")
    account = desk.account()
    return event(desk, "CashMoved", ask=account, account=account)


# ---- combos and quotes


def _ideal() -> Desk:
    desk = begin("quickstart")
    desk.operate("preset.set", name="ideal")
    return desk


@decides
def test_l13_the_orders_of_a_quote_follow_our_own_rule() -> Decided:
    desk = _ideal()
    rfq = rfqs.ask(desk, rfqs.combo(desk))
    rfqs.quote(desk, rfq)
    return event(desk, "RfqChanged")


@decides
def test_m46_a_quote_that_buys_below_its_sale_is_refused() -> Decided:
    desk = _ideal()
    rfq = rfqs.ask(desk, rfqs.combo(desk))
    with pytest.raises(RpcError):
        rfqs.quote(desk, rfq, buy="0.40", sell="0.60")
    return refusal(desk)


# ---- reports


@decides
def test_r6_a_trade_search_without_a_symbol_times_out() -> Decided:
    desk = few_games()
    desk.quirk("unfiltered_search_times_out", "always")
    answer = desk.trader().post("/v1/report/trades/search", json={})
    assert answer.status == 504
    return refusal(desk)


@decides
def test_r8_the_order_of_another_firms_account_is_not_found() -> Decided:
    desk, market = with_market()
    desk.operate("order.place", symbol="market", side="buy", price="0.40", qty="1")
    foreign = next(row.id for row in desk.trading.orders.all() if row.symbol == "market")
    assert market.symbol == "market"
    assert desk.trader().get(f"/v1/report/orders/{foreign}").status == 404
    return refusal(desk)


@decides
def test_r10_an_execution_older_than_a_week_is_gone() -> Decided:
    desk = few_games()
    placed = desk.place(desk.listed(), "buy", 40)
    (row,) = (
        desk.trader()
        .post("/v1/report/executions/search", json={"orderId": placed})
        .json()["executions"]
    )
    desk.advance("11d")
    assert desk.trader().get(f"/v1/report/executions/{row['id']}").status == 404
    return refusal(desk)


@decides
def test_r15_the_retail_api_ignores_a_parameter_in_camel_case() -> Decided:
    desk = few_games()
    client = desk.customer()
    assert client.get("/v1/portfolio/activities?sortOrder=SORT_ORDER_ASCENDING").status == 200
    return event(desk, "RuleApplied")


# What a participant asks for in vain: the rule, the path, and the body or the query.
REFUSED: dict[str, tuple[Any, ...]] = {
    "a page of a ledger above a thousand rows": ("P24", LEDGER, {"pageSize": 1001}),
    "the balance of a clearing account": (
        "P26", "POST /v1/positions/balance", {"name": "CLEARING", "currency": "USD"},
    ),
    "a page token that is no offset": ("R7", SEARCH, {"pageToken": "nonsense"}),
    "a where clause that is no condition": ("R9", SEARCH, {"whereClause": "price like"}),
    "a negative number of slices": ("R11", "POST /v1/report/trades/stats", {"bars": -1}),
}  # fmt: skip


@situations(REFUSED)
def test_a_read_is_refused_by_the_rule_that_it_breaks(call: str, asked: dict[str, Any]) -> Decided:
    """P24, P26, R7, R9, R11."""
    desk, market = with_market()
    verb, path = call.split()
    if "name" in asked:
        asked = asked | {"name": desk.firm.clearing_account}
    else:
        asked = {"symbol": market.symbol, "account": desk.account()} | asked
    how = {"json": asked} if verb == "POST" else {"params": asked}
    assert desk.trader().request(verb, path, **how).status == 400
    return refusal(desk)


# ---- limits by name

STATS = "POST /v1/report/trades/stats"
FILE = "GET /v1/funding/balance-ledger/download"
# How many calls are too many, by rule; with an "x" where further limits are switched on.
LIMITS: dict[str, tuple[Any, ...]] = {
    "a book, with further limits": ("R1", 13, "GET /v1/orderbook/market", "x"),
    "a ledger file, with further limits": ("R2", 2, FILE, "x"),
    "a firm's calls in a minute": ("R16", 6001, "GET /v1/whoami"),
    "a key's calls in a second": ("R17", 21, "retail /v1/account/balances"),
    "an address's calls in a second": ("R18", 21, "gateway /v2/leagues"),
    "incentives in a second": ("R19", 6, "GET /v1/incentives"),
    "searches of trades in a minute": ("R20", 13, "POST /v1/report/trades/search"),
    "statistics in a minute": ("R21", 61, STATS),
    "lists of symbols in a minute": ("R22", 7, "POST /v1/refdata/symbols"),
    "ledger files in a minute": ("R23", 6, FILE),
}


@situations(LIMITS)
def test_the_call_that_is_too_many_is_refused_by_the_rule_of_its_limit(
    count: int, call: str, extra: str = ""
) -> Decided:
    """R1, R2, R16-R23."""
    desk, market = with_market()
    if extra:
        desk.assume("limits.extra", "true")
    verb, path = call.split()
    planes = {"retail": desk.customer(), "gateway": desk.gateway}
    client, asked = planes.get(verb, desk.trader()), {"symbol": market.symbol}
    for number in range(1, count + 1):
        if verb == "POST":
            answer = client.post(path, json=asked)
        else:
            answer = client.get(path, params={"account": desk.account()} if path in FILE else {})
        assert (answer.status == 429) is (number == count), number
    return refusal(desk)
