"""Retail answers have the keys, types, decimals, nulls and absences that recordings of the service
show, on REST and on both sockets, in both readings.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.core.catalogue.observations import READINGS
from sim.run.client.client import Http, Stream
from tests.kit import Desk, retail_order, streams, usd
from tests.surfaces.shapes import (
    ABSENT,
    ANY,
    CENTS,
    FOUR,
    ID,
    MIDNIGHT,
    MOMENT,
    PLAIN,
    QTY,
    Amount,
    misfits,
)

SUBJECT = {"id": int, "name": r".+", "subjectType": ""}
METADATA = {
    **dict.fromkeys(("slug", "icon", "title", "eventSlug", "eventId"), r".+"),
    "outcome": "Yes|No",
    "teamId": int,
    "team": dict,
    "subject": SUBJECT,
}
TEAMLESS = {key: shape for key, shape in METADATA.items() if key not in ("team", "teamId")}
ORDER = {
    "id": ID,
    "marketSlug": r".+",
    **{key: rf"{prefix}_\w+" for key, prefix in (("side", "ORDER_SIDE"), ("type", "ORDER_TYPE"))},
    **dict.fromkeys(("tif", "intent", "outcomeSide", "action", "state"), r"[A-Z_]+"),
    "price": Amount(r"0\.\d+"),
    **dict.fromkeys(("quantity", "cumQuantity", "leavesQuantity"), float),
    "avgPx": FOUR,
    "cashOrderQty": Amount(r"0\.0000"),
    "goodTillTime": None,
    "insertTime": MOMENT,
    "createTime": MOMENT,
    "commissionNotionalTotalCollected": FOUR,
    "commissionsBasisPoints": "0",
    "makerCommissionsBasisPoints": "0",
    "marketMetadata": METADATA,
    "lastTransactTime": MOMENT,
    "manualOrderIndicator": r"MANUAL_ORDER_INDICATOR_\w+",
}
NEW_ORDER = {**ORDER, "avgPx": Amount(r"0\.0000")}
EXECUTION = {
    "id": ID,
    "order": ORDER,
    "lastShares": "0",
    "lastPx": None,
    **dict.fromkeys(("type", "orderRejectReason", "unsolicitedCancelReason"), r"[A-Z_]+"),
    "text": "",
    "transactTime": MOMENT,
    "transactTradeDate": MIDNIGHT,
    "legPrices": [],
    "tradeId": "",
    "aggressor": bool,
    "commissionNotionalCollected": None,
    "commissionSpreadPx": None,
    "traceId": r"[0-9a-f]+",
}
FILL = {
    **EXECUTION,
    "lastShares": QTY,
    "lastPx": FOUR,
    "tradeId": ID,
    "commissionNotionalCollected": FOUR,
    "commissionSpreadPx": FOUR,
}
POSITION = {
    **dict.fromkeys(("netPosition", "qtyBought", "qtySold", "bodPosition"), r"-?\d+"),
    "qtyAvailable": r"-?\d+",
    **{
        f"{name}Decimal": QTY
        for name in ("netPosition", "qtyBought", "qtySold", "bodPosition", "qtyAvailable")
    },
    **dict.fromkeys(("cost", "realized", "cashValue", "avgPx", "fees", "baseCost"), FOUR),
    "costPerShare": None,
    "expired": False,
    "updateTime": MOMENT,
    "marketMetadata": METADATA,
    "comboLegDetails": [],
    "positionId": r".+:(LONG|SHORT):.+",
}
RESOLVED = {
    **POSITION,
    **dict.fromkeys(("avgPx", "fees", "baseCost", "costPerShare"), None),
    "expired": True,
    "marketMetadata": {**METADATA, "outcome": "None"},
}
TRADE = {
    "id": ID,
    "marketSlug": r".+",
    "state": r"TRADE_STATE_\w+",
    "createTime": MOMENT,
    "updateTime": MOMENT,
    "price": FOUR,
    "qty": r"\d+",
    "qtyDecimal": QTY,
    "isAggressor": bool,
    "costBasis": CENTS,
    "realizedPnl": CENTS,
    "aggressorExecution": {**FILL, "aggressor": True},
    "passiveExecution": {**FILL, "aggressor": False},
    "aggressor": ORDER,
    "passive": ORDER,
    "cost": PLAIN,
    "market": dict,
    "reportingCounterparty": "",
    "createTradeDate": MIDNIGHT,
    "updateTradeDate": MIDNIGHT,
    "tradeLinkId": ID,
    "comboLegDetails": [],
}
RESOLUTION = {
    "marketSlug": r".+",
    "beforePosition": POSITION,
    "afterPosition": RESOLVED,
    "updateTime": MOMENT,
    "tradeId": "",
    "side": r"POSITION_RESOLUTION_SIDE_LONG",
    "market": dict,
    "comboLegDetails": [],
}
TRANSACTION = {
    "transactionId": ID,
    "status": r"ACCOUNT_BALANCE_CHANGE_STATUS_\w+",
    "amount": PLAIN,
    "updateTime": MOMENT,
    "createTime": MOMENT,
    "description": str,
    "externalId": "",
    "paymentMethod": None,
    "metadata": {},
    "failureReason": "",
    "failureCode": "",
    "failureAction": None,
}
BALANCE_CHANGE = {**TRANSACTION, "transactions": [TRANSACTION]}
LITE = {
    "marketSlug": r".+",
    "currentPx": FOUR,
    "lastTradePx": FOUR,
    "settlementPx": None,
    "bestBid": FOUR,
    "bestAsk": FOUR,
    "longQuote": FOUR,
    "shortQuote": PLAIN,
    "sharesTraded": QTY,
    "openInterest": QTY,
    "bidDepth": int,
    "askDepth": int,
    "state": r"MARKET_STATE_\w+",
}
LITE_FRAME = {**LITE, "bidShares": r"\d+(\.\d+)?", "askShares": r"\d+(\.\d+)?"}
EMPTY_LITE = {
    **LITE,
    **dict.fromkeys(("currentPx", "lastTradePx", "bestBid", "bestAsk"), None),
    **dict.fromkeys(("longQuote", "shortQuote"), ABSENT),
    **dict.fromkeys(("sharesTraded", "openInterest"), ""),
}
STATS = {
    **{f"{name}Px": FOUR for name in ("open", "high", "low", "lastTrade", "current")},
    "notionalTraded": CENTS,
    **dict.fromkeys(("sharesTraded", "lastTradeQty", "openInterest"), QTY),
    **{
        f"{name}SetTime": MOMENT
        for name in ("open", "high", "low", "lastTrade", "notional", "openInterest")
    },
}
MARKED = {
    **STATS,
    "settlementPx": FOUR,
    "settlementPriceCalculationMethod": r"SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_3",
}
SETTLED = {
    **STATS,
    "openInterest": ABSENT,
    "openInterestSetTime": ABSENT,
    "closePx": FOUR,
    "closeSetTime": MOMENT,
    "settlementPx": FOUR,
    "settlementPreliminaryFlag": False,
    "settlementPriceCalculationMethod": r"SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_1",
    "settlementSetTime": MOMENT,
}
LEVEL = {"px": FOUR, "qty": QTY}
BOOK = {
    "marketSlug": r".+",
    "bids": [LEVEL],
    "offers": [LEVEL],
    "state": r"MARKET_STATE_\w+",
    "stats": STATS,
    "transactTime": MOMENT,
}
SAMPLE = {"longPx": FOUR, "shortPx": FOUR, "ts": MOMENT}
BALANCE = {
    **dict.fromkeys(
        (
            *("currentBalance", "buyingPower", "assetNotional", "assetAvailable", "pendingCredit"),
            *("openOrders", "unsettledFunds", "marginRequirement", "availableToWithdraw"),
            *("balanceReservation", "depositReservation", "bonusReservation", "displayedBonus"),
            *("displayedAvailableSoon", "displayedCash"),
        ),
        float,
    ),
    "currency": "USD",
    "lastUpdated": None,
    "pendingWithdrawals": [],
}


class Traded:
    """Two accounts that traded 19 contracts at 0.05, with a book around it; sockets that listen."""

    def __init__(self, reading: str) -> None:
        self.reading = reading
        self.world = Desk(Simulation(replace(load_scenario("quickstart"), reading=reading)))
        self.sim = self.world.simulation
        self.taker, self.maker = self.world.customer(0), self.world.customer(1)
        self.slug = self.world.quiet().symbol
        self.empty = self.data("bbo"), self.data("book")
        self.sockets = {
            kind: self._listen(path, kind)
            for path, kinds in (
                (streams.PRIVATE, ("ORDER", "POSITION")),
                (streams.MARKETS, ("MARKET_DATA", "MARKET_DATA_LITE")),
            )
            for kind in kinds
        }
        self.resting = self.order(self.maker, "BUY_SHORT", "0.05", 24)
        self.filled = self.order(self.taker, "BUY_LONG", "0.05", 19)
        self.order(self.maker, "BUY_LONG", "0.02", 3)

    def _listen(self, path: str, kind: str) -> Stream:
        socket = streams.socket(self.world, path)
        socket.frames = streams.subscribe(socket, "1", kind, [self.slug])
        return socket

    def frames(self, kind: str, key: str) -> list[Any]:
        """Payloads that a socket got since the last call."""
        return [frame[key] for frame in self.sockets[kind].take() if key in frame]

    def order(self, client: Http, intent: str, price: str, quantity: float) -> list[Any]:
        """Executions of a synchronous order."""
        terms = {"price": usd(price), "synchronousExecution": True}
        body = retail_order(self.world.instrument(self.slug), intent, 0, quantity, **terms)
        return list(client.post("/v1/orders", json=body).json()["executions"])

    def data(self, kind: str) -> Any:
        """Market data of the market on REST."""
        return self.taker.get(f"/v1/markets/{self.slug}/{kind}").json()["marketData"]

    def position(self, client: Http) -> Any:
        """The position of a client in the market."""
        return client.get("/v1/portfolio/positions").json()["positions"][self.slug]

    def activities(self, kind: str, client: Http | None = None) -> list[Any]:
        """Payloads of a kind of activity."""
        params = {"types": f"ACTIVITY_TYPE_{kind}"}
        answer = (client or self.taker).get("/v1/portfolio/activities", params=params).json()
        return [list(activity.values())[1] for activity in answer["activities"]]

    def check(self, result: Any, shape: Any) -> None:
        """Hold a value against its shape, with what the reading adds to market data."""
        assert list(misfits(result, shape)) == []

    def book(self, stats: dict[str, Any], sample: Any) -> dict[str, Any]:
        """The shape of a book, whose statistics carry the sample."""
        return {**BOOK, "stats": self.with_sample(stats, sample)}

    def with_sample(self, shape: dict[str, Any], sample: Any) -> dict[str, Any]:
        """Market data carry the last price sample in the reading `observed` only."""
        return {**shape, "lastPriceSample": sample if self.reading == "observed" else ABSENT}


@pytest.fixture(params=list(READINGS))
def traded(request: pytest.FixtureRequest) -> Traded:
    return Traded(request.param)


# ---- shapes


@pytest.mark.spec("S4.2-5", "S2.8-3")
@pytest.mark.observed("positions.cost")
def test_positions(traded: Traded) -> None:
    for client in (traded.taker, traded.maker):
        traded.check(traded.position(client), POSITION)
    (frame,) = traded.frames("POSITION", "positionSubscription")
    traded.check(frame["afterPosition"], POSITION)
    assert frame["beforePosition"] is None and misfits(frame["updateTradeDate"], MIDNIGHT)


@pytest.mark.spec("S4.2-10", "S2.8-1")
@pytest.mark.observed(
    "orders.money", "orders.commissions", "orders.trade_date", "orders.executions"
)
def test_orders_and_executions(traded: Traded) -> None:
    new, fill = traded.filled
    traded.check(new, {**EXECUTION, "order": NEW_ORDER})
    traded.check(fill, FILL)
    assert fill["commissionSpreadPx"]["value"] == "0.0500"  # a YES contract's own price
    assert [*map(json.dumps, traded.filled)] == [
        json.dumps(frame["execution"])
        for frame in traded.frames("ORDER", "orderSubscriptionUpdate")
    ]
    for order in traded.maker.get("/v1/orders/open").json()["orders"]:
        traded.check(order, {**ORDER, "marketMetadata": ANY})


@pytest.mark.spec("S4.2-6", "S2.8-4")
@pytest.mark.observed("activities.trades")
def test_trade_activities(traded: Traded) -> None:
    (trade,) = traded.activities("TRADE")
    traded.check(trade, TRADE)
    (passive,) = traded.activities("TRADE", traded.maker)
    assert (trade["isAggressor"], passive["isAggressor"]) == (True, False)
    assert passive["passiveExecution"]["commissionSpreadPx"]["value"] == "0.9500"  # a NO contract


@pytest.mark.spec("S4.2-6")
@pytest.mark.observed("activities.balance_changes")
def test_balance_changes_are_flat_and_have_transactions(traded: Traded) -> None:
    for change in traded.activities("ACCOUNT_DEPOSIT"):
        traded.check(change, BALANCE_CHANGE)
        assert (
            change["transactions"] == [{**change, "transactions": ABSENT}]
            or {key: value for key, value in change.items() if key != "transactions"}
            == change["transactions"][0]
        )


@pytest.mark.spec("S4.2-8", "S4.2-9", "S4.2-15", "S4.2-18")
@pytest.mark.observed(
    "market_data.best_prices",
    "statistics.keys",
    "statistics.notional_traded",
    "market_data.last_price_sample",
    "sockets.market_data",
)
def test_market_data(traded: Traded) -> None:
    before_lite, before_book = traded.empty
    traded.check(before_lite, traded.with_sample(EMPTY_LITE, None))
    traded.check(before_book, traded.book({}, None))
    traded.check(traded.data("bbo"), traded.with_sample(LITE, SAMPLE))
    traded.check(traded.data("book"), traded.book(STATS, SAMPLE))
    lite = traded.frames("MARKET_DATA_LITE", "marketDataLite")[-1]
    traded.check(lite, traded.with_sample(LITE_FRAME, SAMPLE))
    book = traded.frames("MARKET_DATA", "marketData")[-1]
    traded.check(book, traded.book(STATS, SAMPLE))
    # Recordings of REST show a hundred times as much in markets of price scale 100.
    hundredfold = {"documented": "0.95", "observed": "95.00"}[traded.reading]
    assert traded.data("book")["stats"]["notionalTraded"]["value"] == hundredfold
    assert book["stats"]["notionalTraded"]["value"] == "0.95"


@pytest.mark.spec("S4.2-7")
@pytest.mark.observed("balances.keys")
def test_balances(traded: Traded) -> None:
    (balance,) = traded.taker.get("/v1/account/balances").json()["balances"]
    traded.check(balance, BALANCE)


@pytest.mark.long
@pytest.mark.observed("orders.market_metadata", "orders.preview_envelope")
def test_metadata_of_a_market_without_teams(traded: Traded) -> None:
    slug = "fed-september-2026-cut-25"
    slugs = [
        market["slug"]
        for event in traded.world.gateway.get("/v1/events", params={"limit": 500}).json()["events"]
        for market in event["markets"]
        if not event["teams"] and market["active"] and not market["marketSides"][0].get("team")
    ]
    slug = slugs[0]
    body = retail_order(traded.world.instrument(slug), "BUY_SHORT", 50)
    preview = traded.taker.post("/v1/order/preview", json={"request": body}).json()["order"]
    traded.check(preview["marketMetadata"], {**TEAMLESS, "icon": str, "outcome": "No"})


@pytest.mark.observed("statistics.daily_mark", "positions.resolved")
def test_an_open_market_is_marked_each_day_and_a_settled_one_has_a_settlement(
    traded: Traded,
) -> None:
    traded.world.advance_to("2026-09-08T17:00:00-04:00")
    stats = traded.data("book")["stats"]
    traded.check(stats, traded.with_sample(MARKED, SAMPLE))
    assert stats["settlementPx"]["value"] == "0.0500"
    assert traded.data("bbo")["settlementPx"]["value"] == "0.0500"
    for kind in traded.sockets:
        traded.sockets[kind].take()
    settle = {"price": "1"}
    traded.world.absorb(traded.sim.control("instrument.settle", traded.slug, settle))
    traded.check(traded.data("book")["stats"], traded.with_sample(SETTLED, SAMPLE))
    (resolution,) = traded.activities("POSITION_RESOLUTION")
    traded.check(resolution, RESOLUTION)
    before, after = resolution["beforePosition"], resolution["afterPosition"]
    assert before["updateTime"] == "2026-09-08T18:00:00Z" < resolution["updateTime"]
    assert (after["qtyBoughtDecimal"], after["qtySoldDecimal"]) == ("19.0000", "19.0000")
    (frame,) = traded.frames("POSITION", "positionSubscription")
    traded.check(frame["afterPosition"], RESOLVED)
    traded.check(traded.position(traded.taker), RESOLVED)
    traded.check(traded.position(traded.maker), RESOLVED)


# ---- what a client's author would compute


def amount(value: Any) -> float:
    return float(value["value"])


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("positions.cash_value")
def test_a_dashboard_shows_the_profit_of_every_position(reading: str) -> None:
    """Value of the holding less what it cost: a loss of the fees alone at an unchanged price."""
    traded = Traded(reading)
    for client, fee in ((traded.taker, 0.05), (traded.maker, -0.01)):
        held = traded.position(client)
        assert amount(held["cost"]) == pytest.approx(amount(held["baseCost"]) + fee, abs=1e-9)
    held = traded.position(traded.taker)
    assert held["cashValue"]["value"] == "0.5700"  # 19 at the middle of 0.02 and 0.05, cut
    profit = {
        traded.position(client)["positionId"].split(":")[1]: amount(
            traded.position(client)["cashValue"]
        )
        - amount(traded.position(client)["cost"])
        for client in (traded.taker, traded.maker)
    }
    assert profit == {
        "LONG": pytest.approx(0.57 - 0.95 - 0.05),
        "SHORT": pytest.approx(19 * 0.97 - 19 * 0.95 + 0.01),
    }


@pytest.mark.parametrize("reading", READINGS)
def test_a_trade_history_knows_who_bought_and_who_sold(reading: str) -> None:
    """The side of a trade is that of the own order: the aggressor's, or the passive one."""
    traded = Traded(reading)
    for client, intent, side in (
        (traded.taker, "ORDER_INTENT_BUY_LONG", "ORDER_SIDE_BUY"),
        (traded.maker, "ORDER_INTENT_BUY_SHORT", "ORDER_SIDE_SELL"),
    ):
        (trade,) = traded.activities("TRADE", client)
        own = trade["aggressor" if trade["isAggressor"] else "passive"]
        execution = trade[f"{'aggressor' if trade['isAggressor'] else 'passive'}Execution"]
        assert (own["side"], own["intent"]) == (side, intent)
        assert execution["order"] == own and execution["tradeId"] == trade["id"]
        assert amount(trade["cost"]) == pytest.approx(
            0.95 + amount(execution["commissionNotionalCollected"])
        )


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("market_data.current_price")
def test_a_market_maker_quotes_around_the_price_that_it_reads(reading: str) -> None:
    """Quotes a cent below and above the current price are not inverted, nor cross the book."""
    traded = Traded(reading)
    best = traded.data("bbo")
    assert amount(best["bestBid"]) < amount(best["currentPx"]) < amount(best["bestAsk"])
    assert amount(best["longQuote"]) + amount(best["shortQuote"]) == pytest.approx(1.03)
    current = amount(best["currentPx"])
    for intent, price in (("BUY_LONG", current), ("BUY_SHORT", current + 0.01)):
        (execution,) = traded.order(traded.maker, intent, f"{price:.2f}", 1)
        assert execution["type"] == "EXECUTION_TYPE_NEW"
    quoted = traded.data("bbo")
    assert amount(quoted["bestBid"]) == pytest.approx(current)
    assert amount(quoted["bestAsk"]) == pytest.approx(current + 0.01)


# ---- switches


@pytest.mark.observed("market_data.halted_book")
def test_a_halted_market_can_show_an_empty_book() -> None:
    traded = Traded("observed")
    traded.world.absorb(traded.sim.control("instrument.state", traded.slug, {"state": "HALTED"}))
    assert traded.data("book")["bids"] and traded.data("book")["offers"]
    traded.sim.control("assumption.set", "market_data.halted_book", {"value": "empty"})
    book, best = traded.data("book"), traded.data("bbo")
    assert (book["bids"], book["offers"], best["bestBid"], best["askDepth"]) == ([], [], None, 0)


@pytest.mark.observed("orders.preview", "orders.preview_market")
def test_a_preview_of_a_market_order_needs_cash_unless_switched() -> None:
    traded = Traded("documented")
    body = {
        "marketSlug": traded.slug,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_MARKET",
        "quantity": 1,
    }

    def preview() -> Any:
        return traded.taker.post("/v1/order/preview", json={"request": body})

    assert preview().status == 400
    assert preview().json()["message"] == "cash_order_qty is required for market order"
    traded.sim.control("assumption.set", "retail.preview_market", {"value": "any"})
    order = preview().json()["order"]
    assert (order["state"], order["lastTransactTime"]) == ("ORDER_STATE_PENDING_NEW", None)


@pytest.mark.spec("S7.1-5", "S7.2-8")
@pytest.mark.parametrize("reported", ["working", "told"])
def test_a_refused_change_of_a_filled_order_is_told_by_its_answer_alone(reported: str) -> None:
    traded = Traded("documented")
    traded.sim.control("assumption.set", "retail.change_rejects", {"value": reported})
    filled = traded.filled[0]["order"]["id"]
    traded.sockets["ORDER"].take()
    named = {"marketSlug": traded.slug, "orderId": filled}
    assert traded.taker.post(f"/v1/order/{filled}/cancel", json=named).status == 409
    assert traded.taker.post("/v1/orders/batched/cancel", json={"orders": [named]}).status == 200
    change = {**named, "price": usd("0.04")}
    assert traded.taker.post(f"/v1/order/{filled}/modify", json=change).status in (200, 409)
    frames = traded.frames("ORDER", "orderSubscriptionUpdate")
    states = {
        (frame["execution"]["type"], frame["execution"]["order"]["state"]) for frame in frames
    }
    rejected = {("EXECUTION_TYPE_REJECTED", "ORDER_STATE_FILLED")}
    assert states == (rejected if reported == "told" else set())


@pytest.mark.observed("orders.money")
def test_a_price_is_repeated_as_it_was_sent() -> None:
    traded = Traded("documented")
    for sent, displayed in (("0.3", "0.3"), ("0.300", "0.300"), ("0.305", "0.30")):
        (execution,) = traded.order(traded.taker, "BUY_LONG", sent, 1)[:1]
        assert execution["order"]["price"]["value"] == displayed
        traded.taker.post("/v1/orders/open/cancel", json={})
