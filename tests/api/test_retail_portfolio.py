"""Positions, activity and balances on the retail API, through its HTTP surface."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from retail_world import BUY_NO, BUY_YES, FINE, SELL_YES, WHOLE, RetailWorld, usd

from sim.core.incentives.incentives import REBATE, Reward
from sim.core.model.quantities import DOLLAR


def trade(retail: RetailWorld, quantity: float, price: str = "0.50", symbol: str = FINE) -> None:
    """Ann buys YES of bob."""
    retail.order(retail.bob, symbol, SELL_YES, price=price, quantity=quantity)
    retail.order(retail.ann, symbol, BUY_YES, price=price, quantity=quantity)


@pytest.mark.spec("S4.2-5", "S2.8-3")
def test_positions_are_a_map_with_exact_decimals_beside_rounded_integers(
    retail: RetailWorld,
) -> None:
    trade(retail, 19.6)
    answer = retail.ann.read("/v1/portfolio/positions")
    assert (list(answer["positions"]), answer["nextCursor"], answer["eof"]) == ([FINE], "", True)
    mine = answer["positions"][FINE]
    assert (mine["netPosition"], mine["netPositionDecimal"]) == ("20", "19.6000")
    assert (mine["qtyBought"], mine["qtyBoughtDecimal"], mine["qtySoldDecimal"]) == (
        "20",
        "19.6000",
        "0.0000",
    )
    assert (mine["bodPosition"], mine["bodPositionDecimal"], mine["qtyAvailableDecimal"]) == (
        "0",
        "0.0000",
        "19.6000",
    )
    assert (mine["baseCost"], mine["fees"], mine["cost"]) == (
        usd("9.8000"),
        usd("0.2900"),
        usd("10.0900"),
    )
    assert (mine["avgPx"], mine["costPerShare"], mine["expired"]) == (usd("0.5000"), None, False)
    reference = retail.bob.read("/v1/portfolio/positions", "positions")[FINE]
    assert (
        reference["netPosition"],
        reference["netPositionDecimal"],
        reference["qtySoldDecimal"],
    ) == ("-20", "-19.6000", "19.6000")
    assert reference["positionId"].endswith(f":SHORT:{FINE}")


def test_working_orders_on_the_closing_side_are_not_available(retail: RetailWorld) -> None:
    trade(retail, 10)
    retail.order(retail.ann, FINE, SELL_YES, price="0.90", quantity=4)
    mine = retail.ann.read("/v1/portfolio/positions", "positions", market=FINE)[FINE]
    assert mine["qtyAvailableDecimal"] == "6.0000"
    assert retail.ann.read("/v1/portfolio/positions", "positions", market=WHOLE) == {}


def test_positions_come_in_pages(retail: RetailWorld) -> None:
    """R14."""
    trade(retail, 1, symbol=FINE)
    trade(retail, 1, symbol=WHOLE)
    first = retail.ann.read("/v1/portfolio/positions", limit=1)
    assert (list(first["positions"]), first["eof"]) == ([FINE], False)
    second = retail.ann.read("/v1/portfolio/positions", limit=1, cursor=first["nextCursor"])
    assert (list(second["positions"]), second["eof"], second["nextCursor"]) == ([WHOLE], True, "")
    assert retail.ann.get("/v1/portfolio/positions", params={"cursor": "no cursor"}).status == 400
    assert retail.ann.get("/v1/portfolio/positions", params={"limit": -1}).status == 400


@pytest.mark.spec("S4.2-6", "S2.8-4")
def test_trades_show_their_exact_quantity_and_what_they_earned(retail: RetailWorld) -> None:
    trade(retail, 0.01, "0.40")
    retail.advance("1m")
    retail.order(retail.bob, FINE, BUY_YES, price="0.60", quantity=0.01)
    retail.order(retail.ann, FINE, SELL_YES, price="0.60", quantity=0.01)
    sold, bought = retail.ann.read(
        "/v1/portfolio/activities", "activities", types="ACTIVITY_TYPE_TRADE"
    )
    assert set(sold) == {"type", "trade"}
    assert (bought["trade"]["qty"], bought["trade"]["qtyDecimal"], bought["trade"]["price"]) == (
        "0",
        "0.0100",
        usd("0.4000"),
    )
    assert (bought["trade"]["state"], sold["trade"]["state"]) == (
        "TRADE_STATE_CLEARED",
        "TRADE_STATE_NEW",
    )
    assert (bought["trade"]["realizedPnl"], sold["trade"]["realizedPnl"]) == (
        usd("0.00"),
        usd("0.002"),
    )
    assert sold["trade"]["costBasis"] == usd("0.004")
    assert sold["trade"]["isAggressor"] is True


def test_a_settlement_is_an_activity_and_expires_the_position(retail: RetailWorld) -> None:
    trade(retail, 10, "0.60")
    was = retail.ann.read("/v1/portfolio/positions", "positions")[FINE]
    retail.operate("instrument.settle", FINE, price="1")
    (won,) = retail.ann.read(
        "/v1/portfolio/activities", "activities", types="ACTIVITY_TYPE_POSITION_RESOLUTION"
    )
    resolution = won["positionResolution"]
    assert resolution["beforePosition"] == {**was, "updateTime": resolution["updateTime"]}
    assert (
        resolution["afterPosition"] == retail.ann.read("/v1/portfolio/positions", "positions")[FINE]
    )
    assert (resolution["marketSlug"], resolution["side"]) == (FINE, "POSITION_RESOLUTION_SIDE_LONG")
    assert (
        resolution["beforePosition"]["netPositionDecimal"],
        resolution["afterPosition"]["netPositionDecimal"],
    ) == ("10.0000", "0.0000")
    held = retail.ann.read("/v1/portfolio/positions", "positions")[FINE]
    assert (held["expired"], held["netPositionDecimal"], held["realized"]) == (
        True,
        "0.0000",
        usd("4.0000"),
    )


@pytest.mark.parametrize(
    ("price", "side", "ann", "bob"),
    [("1", "LONG", 4, -4), ("0", "SHORT", -6, 6), ("0.5", "NEUTRAL", -1, 1)],
)
def test_a_resolution_names_the_side_that_was_paid_and_what_each_side_made(
    retail: RetailWorld, price: str, side: str, ann: int, bob: int
) -> None:
    trade(retail, 10, "0.60")
    retail.operate("instrument.settle", FINE, price=price)
    for client, net, created in ((retail.ann, "10.0000", ann), (retail.bob, "-10.0000", bob)):
        (activity,) = client.read(
            "/v1/portfolio/activities", "activities", types="ACTIVITY_TYPE_POSITION_RESOLUTION"
        )
        resolution = activity["positionResolution"]
        assert resolution["side"] == f"POSITION_RESOLUTION_SIDE_{side}"
        assert resolution["beforePosition"]["netPositionDecimal"] == net
        assert float(resolution["afterPosition"]["realized"]["value"]) == created


def test_a_trade_says_what_it_added_to_the_cost_or_took_from_it_and_made(
    retail: RetailWorld,
) -> None:
    trade(retail, 10, "0.60")
    retail.order(retail.ann, FINE, SELL_YES, price="0.75", quantity=4)
    retail.order(retail.bob, FINE, BUY_YES, price="0.75", quantity=4)
    for client, took, gains in (
        (retail.ann, [True, False], [0, 0.6]),
        (retail.bob, [False, True], [0, -0.6]),
    ):
        result = client.read(
            "/v1/portfolio/activities",
            "activities",
            types="ACTIVITY_TYPE_TRADE",
            sort_order="SORT_ORDER_ASCENDING",
        )
        rows = [item["trade"] for item in result]
        assert [row["isAggressor"] for row in rows] == took
        assert [float(row["realizedPnl"]["value"]) for row in rows] == gains
        assert [float(row["costBasis"]["value"]) for row in rows] == [6, 2.4]
        assert [float(row["price"]["value"]) for row in rows] == [0.6, 0.75]


@pytest.mark.parametrize(("side", "intent"), [("sell", BUY_YES), ("buy", BUY_NO)])
def test_an_order_of_the_exchange_is_told_as_one_on_the_yes_side(
    retail: RetailWorld, side: str, intent: str
) -> None:
    body = {"as": "maker", "symbol": WHOLE, "side": side, "price": "0.40", "qty": "1"}
    retail.operate("order.place", "", **body)
    retail.order(retail.ann, WHOLE, intent, price="0.40", quantity=1)
    (activity, *_) = retail.ann.read("/v1/portfolio/activities", "activities")
    passive = activity["trade"]["passive"]
    assert (passive["intent"], passive["outcomeSide"], passive["action"]) == (
        f"ORDER_INTENT_{side.upper()}_LONG",
        "OUTCOME_SIDE_YES",
        f"ORDER_ACTION_{side.upper()}",
    )


def test_a_page_of_activities_has_a_hundred_rows_at_most_and_where_nothing_is_asked(
    retail: RetailWorld,
) -> None:
    def page(**params: int) -> tuple[int, bool]:
        result = retail.ann.read(
            "/v1/portfolio/activities", **{"types": "ACTIVITY_TYPE_ACCOUNT_DEPOSIT", **params}
        )
        return len(result["activities"]), result["eof"]

    def fund(times: int) -> None:
        for _ in range(times):
            retail.operate("account.fund", retail.keys[0].account, amount="1")

    fund(100 - page()[0])
    assert page() == page(limit=100) == page(limit=101) == (100, True)
    fund(1)
    assert page() == page(limit=0) == page(limit=100) == page(limit=101) == (100, False)
    assert page(limit=99) == (99, False)


@pytest.mark.reading("documented")
@pytest.mark.spec("S0-4")
def test_activities_can_be_filtered_by_snake_case_parameters_only(retail: RetailWorld) -> None:
    """R15."""
    trade(retail, 1, symbol=FINE)
    retail.advance("1m")
    trade(retail, 1, symbol=WHOLE)

    def slugs(**params: object) -> list[str]:
        result = retail.ann.read(
            "/v1/portfolio/activities", "activities", **{"types": "ACTIVITY_TYPE_TRADE", **params}
        )
        return [activity["trade"]["marketSlug"] for activity in result]

    assert slugs() == [WHOLE, FINE]
    assert slugs(market_slug=FINE) == [FINE]
    assert slugs(marketSlug=FINE) == [WHOLE, FINE]
    assert slugs(sort_order="SORT_ORDER_ASCENDING") == [FINE, WHOLE]
    assert slugs(sortOrder="SORT_ORDER_ASCENDING") == [WHOLE, FINE]
    assert slugs(start_time="2026-09-08T18:00:30Z") == [WHOLE]
    assert slugs(end_time="2026-09-08T18:01:00Z") == [FINE]


@pytest.mark.parametrize("order", ["SORT_ORDER_DESCENDING", "SORT_ORDER_ASCENDING"])
def test_pages_of_activities_join_to_the_whole_while_new_ones_arrive(
    retail: RetailWorld, order: str
) -> None:
    for _ in range(4):
        trade(retail, 1)
        retail.advance("10s")
    total = retail.ann.read("/v1/portfolio/activities", "activities", sort_order=order)
    pages, cursor = [], ""
    while True:
        page = retail.ann.read(
            "/v1/portfolio/activities",
            **{"sort_order": order, "limit": 2, **({"cursor": cursor} if cursor else {})},
        )
        pages += page["activities"]
        cursor = page["nextCursor"]
        if page["eof"]:
            break
        if order.endswith("DESCENDING"):
            trade(retail, 1)
    for activity in (*pages, *total):
        activity.get("trade", {}).pop("market", None)  # as it is now, so trading changes it
    assert pages == total
    assert cursor == ""
    assert retail.ann.get("/v1/portfolio/activities", params={"cursor": "AAAA"}).status == 400


def test_a_feed_that_was_read_shows_after_a_restore_what_happens_instead(
    retail: RetailWorld,
) -> None:
    def settle() -> None:
        retail.operate("instrument.settle", FINE, price="1")

    def buy() -> None:
        trade(retail, 1, symbol=WHOLE)

    def fund() -> None:
        retail.operate("account.fund", retail.keys[0].account, amount="1")

    def feed(*deeds: Callable[[], None]) -> list[str]:
        """The types of activities after some deeds, oldest first."""
        for move in deeds:
            retail.advance("1s")
            move()
        params = {"sort_order": "SORT_ORDER_ASCENDING"}
        result = retail.ann.read("/v1/portfolio/activities", "activities", **params)
        return [item["type"].removeprefix("ACTIVITY_TYPE_") for item in result]

    trade(retail, 10)
    before = feed()
    retail.simulation.snapshot("held")
    reported = {settle: "POSITION_RESOLUTION", buy: "TRADE", fund: "ACCOUNT_DEPOSIT"}
    for deeds in ((settle, buy, fund), (fund, fund, buy, settle), (), (buy, settle, fund, fund)):
        assert feed(*deeds) == [*before, *(reported[move] for move in deeds)]
        retail.deliver(retail.simulation.restore("held"))


@pytest.mark.spec("S2.8-5")
@pytest.mark.parametrize(
    ("program", "kind"), [("liquidityProgram", "LIQUIDITY_PROGRAM"), (REBATE, "TAKER_FEE_REBATE")]
)
def test_rewards_and_rebates_are_balance_changes_once_they_are_paid(
    retail: RetailWorld, program: str, kind: str
) -> None:
    """P16."""
    account = retail.keys[0].account
    retail.core.incentives.grant(
        Reward(
            account=account, symbol=FINE, date="2026-09-08", amount=5 * DOLLAR, program_type=program
        )
    )
    params = {"types": f"ACTIVITY_TYPE_{kind}"}
    assert retail.ann.read("/v1/portfolio/activities", "activities", **params) == []
    before = retail.balance(retail.ann)["currentBalance"]
    retail.advance_to("2026-09-09T00:00:00-04:00")
    (activity,) = retail.ann.read("/v1/portfolio/activities", "activities", **params)
    change = activity["accountBalanceChange"]
    assert set(activity) == {"type", "accountBalanceChange"}
    assert (change["amount"], change["status"]) == (
        usd("5"),
        "ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED",
    )
    assert retail.balance(retail.ann)["currentBalance"] == before + 5


@pytest.mark.spec("S4.2-7")
def test_balances_are_plain_numbers_that_add_up(retail: RetailWorld) -> None:
    opening = retail.balance(retail.ann)["currentBalance"]
    retail.order(retail.bob, intent=BUY_YES, price="0.70")
    retail.order(retail.ann, intent=BUY_NO, price="0.70")
    retail.order(retail.ann, FINE, price="0.40", quantity=2.5)
    money = retail.balance(retail.ann)
    assert money["currency"] == "USD"
    assert money["marginRequirement"] == 10
    assert money["openOrders"] == 1
    assert money["buyingPower"] == pytest.approx(
        money["currentBalance"]
        + money["assetAvailable"]
        - money["openOrders"]
        - money["marginRequirement"]
    )
    assert money["currentBalance"] == retail.cash(0) == pytest.approx(opening + 7 - 0.13)
    assert money["pendingWithdrawals"] == []
    assert "bonusHold" not in money


def test_an_account_without_a_signature_sees_nothing(retail: RetailWorld) -> None:
    for path in (
        "/v1/portfolio/positions",
        "/v1/portfolio/activities",
        "/v1/account/balances",
        "/v1/orders/open",
    ):
        outcome = retail.simulation.rest("retail", "GET", path, "", {}, b"")
        assert outcome.reply is not None
        assert outcome.reply.status == 401
