"""The exchange plane through its two doors, REST and gRPC, on the bundled world."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.contract.messages import exchange_v1 as wire
from sim.core.incentives.incentives import Reward
from sim.core.model.enums import InstrumentState, LedgerEntryType
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import format_instant, minutes, parse_instant
from sim.run.client.client import Connection, Http, RpcError, connect
from tests import journeys
from tests.journeys import (
    PERSON,
    account,
    firm,
    in_state,
    order,
    poor_firm,
    quiet,
    rpc_trader,
    trader,
)
from tests.kit.streams import place


def trade(world: Connection, instrument: Instrument, cents: int = 50, contracts: int = 10) -> str:
    """The first participant buys from the second; id of the buying order."""
    place(world, instrument, "sell", cents, contracts, user=1)
    return place(world, instrument, "buy", cents, contracts)


# ---- orders


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_new_order_and_its_report_say_that_nothing_has_happened_yet(
    world: Connection, side: str
) -> None:
    instrument = quiet(world.simulation)
    place(world, instrument, side, 40, 2)
    (report,) = (
        trader(world)
        .post("/v1/report/executions/search", json={"symbol": instrument.symbol})
        .json()["executions"]
    )
    zero = ("cumQty", "avgPx", "stopPrice", "minQty", "cashOrderQty")
    assert {report["order"][name] for name in zero} == {"0"}
    assert report["order"]["commissionNotionalTotalCollected"] == "0"
    undefined = {report["order"][name] for name in ("orderCapacity", "manualOrderIndicator")}
    assert undefined == {"ORDER_CAPACITY_UNDEFINED", "MANUAL_ORDER_INDICATOR_UNDEFINED"}
    assert report["order"]["priceToQuantityFilled"] == {}
    zero = ("lastShares", "lastPx", "commissionNotionalCollected", "commissionSpreadPx")
    assert {report[name] for name in zero} == {"0"}
    assert (report["aggressor"], report["tradeId"], report["text"]) == (False, "", "")


# ---- identity


@pytest.mark.spec("S4.3-16", "S5.1-6")
def test_a_firm_learns_who_it_is_and_for_whom_it_may_act(world: Connection) -> None:
    client = world.exchange(firm(world.simulation))
    users = client.get("/v1/users").json()["users"]
    assert users == [user.name for user in firm(world.simulation).users if user.tradable]
    assert client.get("/v1/whoami").json()["firm"] == firm(world.simulation).id
    assert (
        world.exchange(firm(world.simulation), users[0]).get("/v1/whoami").json()["user"]
        == users[0]
    )
    assert rpc_trader(world).call("UsersAPI.ListUsers", wire.ListUsersRequest()).users == users


@pytest.mark.spec("S5.1-5", "S7.1-3")
def test_account_scoped_calls_need_a_participant_of_the_calling_firm(world: Connection) -> None:
    mine = firm(world.simulation)
    other = next(
        found
        for found in world.simulation.exchange.firms.all()
        if found.name != mine.name and found.users
    )
    for participant in (None, "nonsense", other.users[0].name):
        answer = world.exchange(mine, participant).get("/v1/trading/orders/open")
        assert (answer.status, answer.json()["code"]) == (403, 7)
        with pytest.raises(RpcError) as refused:
            world.rpc(mine, participant).call(
                "OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest()
            )
        assert refused.value.code == 7


# ---- market data


@pytest.mark.spec("S2.5-1", "S2.5-2", "S4.3-1", "S4.3-2", "S5.1-7")
def test_book_and_bbo_need_no_participant_and_agree_with_each_other(world: Connection) -> None:
    instrument = quiet(world.simulation)
    for step in range(12):
        place(world, instrument, "buy", 20 + step, 1)
        place(world, instrument, "sell", 60 + step, 2, user=1)
    client = world.exchange(firm(world.simulation))
    book = client.get(f"/v1/orderbook/{instrument.symbol}").json()
    assert len(book["bids"]) == len(book["offers"]) == 3
    assert [int(entry["px"]) for entry in book["bids"]] == sorted(
        (int(entry["px"]) for entry in book["bids"]), reverse=True
    )
    assert [int(entry["px"]) for entry in book["offers"]] == sorted(
        int(entry["px"]) for entry in book["offers"]
    )
    assert isinstance(book["bids"][0]["qty"], str) and book["state"] == "INSTRUMENT_STATE_OPEN"
    for depth, shown in ((1, 1), (10, 10), (11, 10)):
        assert (
            len(
                client.get(f"/v1/orderbook/{instrument.symbol}", params={"depth": depth}).json()[
                    "bids"
                ]
            )
            == shown
        )
    bbo = client.get(f"/v1/orderbook/{instrument.symbol}/bbo").json()
    assert (bbo["bestBid"]["px"], bbo["bestOffer"]["px"]) == (
        book["bids"][0]["px"],
        book["offers"][0]["px"],
    )
    assert int(bbo["spread"]) == int(bbo["bestOffer"]["px"]) - int(bbo["bestBid"]["px"])
    assert int(bbo["midPrice"]) == (int(bbo["bestOffer"]["px"]) + int(bbo["bestBid"]["px"])) // 2
    found = world.rpc(firm(world.simulation)).call(
        "OrderBookAPI.GetBBO", wire.GetBBORequest(symbol=instrument.symbol)
    )
    assert (found.spread, found.mid_price) == (int(bbo["spread"]), int(bbo["midPrice"]))


@pytest.mark.spec("S2.5-2")
def test_a_mid_price_between_two_units_is_rounded_as_asked_in_the_same_instant_too(
    world: Connection,
) -> None:
    client, symbol = world.exchange(firm(world.simulation)), "between"
    world.simulation.control(
        "instrument.create", "", {"symbol": symbol, "tick_size": "0.01", "state": "OPEN"}
    )
    limit = {"type": "ORDER_TYPE_LIMIT", "symbol": symbol, "orderQty": "100"}
    shown = []
    for bid, offer in (("40", "56"), ("41", "56"), ("43", "56"), ("45", "56"), ("47", "56")):
        trader(world).post("/v1/trading/orders", json={**limit, "side": "SIDE_BUY", "price": bid})
        trader(world, 1).post(
            "/v1/trading/orders", json={**limit, "side": "SIDE_SELL", "price": offer}
        )
        for rounding in ("down", "up", "even"):
            world.simulation.control(
                "assumption.set", "book.mid_price_rounding", {"value": rounding}
            )
            bbo = client.get(f"/v1/orderbook/{symbol}/bbo").json()
            shown.append((bbo["spread"], bbo["midPrice"]))
    assert shown == [
        *[("16", "48")] * 3,
        *(("15", "48"), ("15", "49"), ("15", "48")),
        *(("13", "49"), ("13", "50"), ("13", "50")),
        *(("11", "50"), ("11", "51"), ("11", "50")),
        *(("9", "51"), ("9", "52"), ("9", "52")),
    ]


@pytest.mark.spec("S2.5-3")
def test_the_latest_trade_shows_its_quantity_in_book_and_bbo(world: Connection) -> None:
    instrument = quiet(world.simulation)
    trade(world, instrument, 50, 10)
    client = world.exchange(firm(world.simulation))
    for path in ("", "/bbo"):
        stats = client.get(f"/v1/orderbook/{instrument.symbol}{path}").json()["stats"]
        assert (
            stats["lastTradeQty"] == str(10 * instrument.qty_scale)
            and stats.get("settlementSetTime") is None
        )
    world.simulation.exchange.trading.listings.settle(instrument.symbol, instrument.price_scale)
    for path in ("", "/bbo"):
        stats = client.get(f"/v1/orderbook/{instrument.symbol}{path}").json()["stats"]
        assert stats["settlementSetTime"] == format_instant(world.simulation.now)


@pytest.mark.spec("S2.4-1", "S2.4-2", "S2.4-3", "S4.3-3", "S5.1-7")
def test_trade_statistics_split_the_window_into_equal_bars_of_text_numbers(
    world: Connection,
) -> None:
    instrument = quiet(world.simulation)
    start = world.simulation.now
    trade(world, instrument, 50, 10)
    client = world.exchange(firm(world.simulation))
    asked = {
        "symbol": instrument.symbol,
        "startTime": format_instant(start),
        "endTime": format_instant(start + minutes(6)),
        "bars": 6,
    }
    found = client.post("/v1/report/trades/stats", json=asked).json()
    assert len(found["bars"]) == len(found["barStartTime"]) == len(found["barEndTime"]) == 6
    assert set(found["bars"][3].values()) == {"0"} and len(found["bars"][3]) == 10
    assert (found["stats"]["totalTradeCount"], found["stats"]["clearedTradeCount"]) == ("1", "0")
    assert found["bars"][0]["notional"] == str(
        50 * instrument.price_scale // 100 * 10 * instrument.qty_scale
    )
    world.advance("2m")
    assert (
        client.post("/v1/report/trades/stats", json=asked).json()["stats"]["clearedTradeCount"]
        == "1"
    )
    mixed = {**asked, "startTradeDate": {"year": 2026, "month": 9, "day": 8}}
    assert client.post("/v1/report/trades/stats", json=mixed).status == 400


# ---- reference data


@pytest.mark.spec("S4.3-13", "S2.6-1", "S2.6-3")
def test_instruments_are_listed_with_scales_that_differ_inside_one_product(
    world: Connection,
) -> None:
    """M3."""
    client = world.exchange(firm(world.simulation))
    symbols = client.post("/v1/refdata/symbols", json={}).json()["symbols"]
    assert symbols == [instrument.symbol for instrument in world.simulation.exchange.instruments]
    listed: list[dict[str, Any]] = []
    token = ""
    while True:
        page = client.post(
            "/v1/refdata/instruments", json={"pageSize": 1000, "pageToken": token}
        ).json()
        listed += page["instruments"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert [found["symbol"] for found in listed] == symbols and page["eof"] is True
    assert {0.01, 0.005, 0.0025} <= {found["tickSize"] for found in listed}
    by_product: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for found in listed:
        by_product.setdefault(
            (found["productId"], found["metadata"].get("market_type", "")), set()
        ).add((found["priceScale"], found["fractionalQtyScale"]))
    assert any(len(scales) > 1 for scales in by_product.values())
    one = client.get(f"/v1/refdata/instruments/{symbols[0]}").json()["instrument"]
    assert one == listed[0]
    asked = {"filter": {"whereClause": f"symbol = '{symbols[1]}'"}}
    assert [
        found["symbol"]
        for found in client.post("/v1/refdata/instruments/search", json=asked).json()["instruments"]
    ] == [symbols[1]]
    assert client.get("/v1/refdata/instruments/no-such").status == 404


# ---- orders


@pytest.mark.spec("S4.3-12", "S2.7-1", "S2.7-2", "S2.7-3", "S4.3-15")
def test_an_order_entered_over_either_door_is_seen_through_both(world: Connection) -> None:
    instrument = quiet(world.simulation)
    by_rest = place(world, instrument, "buy", 40, 3, clordId="by-rest")
    price, qty = 41 * instrument.price_scale // 100, 2 * instrument.qty_scale
    request = wire.InsertOrderRequest(
        type=2,
        side=1,
        order_qty=qty,
        symbol=instrument.symbol,
        price=price,
        clord_id="by-rpc",
        time_in_force=2,
    )
    by_rpc = rpc_trader(world).call("OrderEntryAPI.InsertOrder", request).order_id
    found = (
        trader(world)
        .get("/v1/trading/orders/open", params={"symbols": instrument.symbol})
        .json()["orders"]
    )
    assert [(one["id"], one["clordId"], one["orderQty"]) for one in found] == [
        (by_rest, "by-rest", str(3 * instrument.qty_scale)),
        (by_rpc, "by-rpc", str(2 * instrument.qty_scale)),
    ]
    assert found[0]["fractionalQuantityScale"] == str(instrument.qty_scale)
    orders = (
        rpc_trader(world)
        .call("OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest(symbols=[instrument.symbol]))
        .orders
    )
    assert [one.id for one in orders] == [by_rest, by_rpc]


@pytest.mark.spec("S7.1-1", "S7.1-4", "S7.1-5", "S7.1-7")
def test_each_way_of_being_refused_has_its_status(world: Connection) -> None:
    instrument = quiet(world.simulation)
    mine = trader(world)
    order_id = place(world, instrument, "buy", 40, 1, clordId="twice")
    cases = {
        409: order(instrument, "buy", 40, 1, clordId="twice"),
        422: order(instrument, "buy", 40, 10_000_000),
        400: order(instrument, "buy", 40, 1, timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME"),
        404: {**order(instrument, "buy", 40, 1), "symbol": "no-such"},
        403: order(instrument, "buy", 40, 1, account=account(world, 1)),
    }
    for status, body in cases.items():
        assert mine.post("/v1/trading/orders", json=body).status == status
    suspended = in_state(world.simulation, InstrumentState.SUSPENDED)
    assert mine.post("/v1/trading/orders", json=order(suspended, "buy", 40, 1)).status == 422
    assert mine.post("/v1/trading/orders/cancel", json={"orderId": order_id}).json() == {}
    assert mine.post("/v1/trading/orders/cancel", json={"orderId": order_id}).status == 409
    assert mine.post("/v1/trading/orders/cancel", json={"orderId": "NOSUCHORDER1"}).status == 404


# ---- reports


@pytest.mark.spec("S4.3-8", "S4.3-9", "S4.3-10", "S4.3-11", "S2.6-2", "S2.7-4", "S7.2-9")
def test_orders_and_executions_are_found_by_search_and_by_id(world: Connection) -> None:
    instrument = quiet(world.simulation)
    order_id = trade(world, instrument)
    mine = trader(world)
    found = mine.post("/v1/report/orders/search", json={"symbol": instrument.symbol}).json()
    assert [one["id"] for one in found["order"]] == [order_id] and "nextPageToken" not in found
    assert mine.get(f"/v1/report/orders/{order_id}").json()["order"] == found["order"][0]
    executions = mine.post("/v1/report/executions/search", json={"orderId": order_id}).json()
    assert [one["type"] for one in executions["executions"]] == [
        "EXECUTION_TYPE_NEW",
        "EXECUTION_TYPE_FILL",
    ] and executions["eof"] is True
    fill = executions["executions"][1]
    assert (
        fill["tradeId"]
        and fill["traceId"]
        and fill["transactTradeDate"] == {"year": 2026, "month": 9, "day": 8}
    )
    entries = mine.get(
        "/v1/funding/balance-ledger",
        params={"account": account(world), "symbol": instrument.symbol},
    ).json()["entries"]
    dollars = int(fill["commissionNotionalCollected"]) / (
        instrument.price_scale * instrument.qty_scale
    )
    assert float(entries[0]["beforeBalance"]) - float(entries[0]["afterBalance"]) == pytest.approx(
        5 + dollars
    )
    assert mine.get(f"/v1/report/executions/{fill['id']}").json()["execution"] == fill
    assert mine.get("/v1/report/executions/NOSUCHEXEC12").status == 404


@pytest.mark.spec("S4.3-4", "S4.3-5", "S4.3-6", "S4.3-7")
def test_a_trade_search_by_symbol_is_fast_and_pages_by_offset(world: Connection) -> None:
    instrument = quiet(world.simulation)
    for cents in (50, 51, 52):
        trade(world, instrument, cents, 1)
    mine = trader(world)
    asked: dict[str, Any] = {"where_clause": f"symbol = '{instrument.symbol}'", "page_size": 2}
    first = mine.post("/v1/report/trades/search", json=asked)
    assert first.reply.ready_at - world.simulation.now == 130_000_000
    second = mine.post(
        "/v1/report/trades/search", json={**asked, "page_token": first.json()["nextPageToken"]}
    ).json()
    assert (
        len(first.json()["trade"]) == 2
        and len(second["trade"]) == 1
        and "nextPageToken" not in second
    )
    refused = mine.post(
        "/v1/report/trades/search",
        json={
            "fieldFilter": [
                {"field": "update_time", "operator": "FILTER_OPERATOR_GT", "stringValue": "x"}
            ]
        },
    )
    assert (refused.status, refused.json()["code"], refused.json()["message"]) == (
        400,
        3,
        "field not allowed",
    )
    world.simulation.exchange.ctx.quirks.change("unfiltered_search_times_out", "always")
    died = mine.post("/v1/report/trades/search", json={})
    assert (died.status, died.reply.ready_at - world.simulation.now) == (504, 30_000_000_000)
    for wrong in ({"where_clause": "luck = 1"}, {"pageToken": "!"}, {"pageSize": -1}):
        refused = mine.post("/v1/report/trades/search", json=wrong)
        assert (refused.status, refused.reply.ready_at) == (400, world.simulation.now), wrong


# ---- money


@pytest.mark.spec("S4.3-14", "S7.2-4")
def test_a_balance_is_told_and_that_of_a_clearing_account_is_not(world: Connection) -> None:
    """P26."""
    mine = trader(world)
    found = mine.post(
        "/v1/positions/balance", json={"name": account(world), "currency": "USD"}
    ).json()
    assert float(found["balance"]) > 0 and found["buyingPower"] == found["balance"]
    refused = mine.post(
        "/v1/positions/balance",
        json={"name": firm(world.simulation).clearing_account, "currency": "USD"},
    )
    assert (refused.status, refused.json()["code"], refused.json()["message"]) == (
        400,
        3,
        "invalid account",
    )
    pool = world.rpc(firm(world.simulation)).call(
        "CashMovementService.GetFundingAccountBalance",
        cash.GetFundingAccountBalanceRequest(currency="USD"),
    )
    assert pool.funding_account_id == firm(world.simulation).clearing_account


@pytest.mark.spec("S4.3-17", "S4.3-18", "S4.3-19")
def test_both_ledgers_tell_the_same_story_in_pages_and_as_csv(world: Connection) -> None:
    instrument = quiet(world.simulation)
    trade(world, instrument)
    client = world.exchange(firm(world.simulation))
    for path in ("/v1/positions/ledger", "/v1/funding/balance-ledger"):
        asked = {
            "account": account(world),
            "symbol": instrument.symbol,
            "startTime": "2026-01-01T00:00:00Z",
        }
        entries = client.get(path, params=asked).json()["entries"]
        download = client.get(f"{path}/download", params=asked)
        assert download.reply.content_type.startswith("text/csv")
        assert (
            [row["id"] for row in csv.DictReader(io.StringIO(download.body.decode()))]
            == [entry["id"] for entry in entries]
            != []
        )
        assert client.get(path, params={**asked, "pageSize": 1001}).status == 400
        assert client.get(path).status == 400
    assert entries[0]["afterBalance"]
    early = {"account": account(world), "endTime": "2026-04-30T23:59:59Z"}
    assert client.get("/v1/funding/balance-ledger", params=early).json()["entries"] == []


@pytest.mark.spec("S4.3-20")
@pytest.mark.parametrize("kind", ["NETTING", "GIVE_UP", "INTEREST", "SETTLEMENT_FEE"])
def test_an_internal_entry_type_is_aborted_over_rest_and_grpc(world: Connection, kind: str) -> None:
    """P18."""
    client = world.exchange(firm(world.simulation))
    refused = client.get(
        "/v1/funding/balance-ledger",
        params={"account": account(world), "entryTypes": f"LEDGER_ENTRY_TYPE_{kind}"},
    )
    assert (refused.status, refused.json()["code"]) == (409, 10)
    with pytest.raises(RpcError) as aborted:
        request = wire.GetAccountBalanceLedgerRequest(
            account=account(world), entry_types=[LedgerEntryType[kind]]
        )
        world.rpc(firm(world.simulation)).call("FundingAPI.GetAccountBalanceLedger", request)
    assert aborted.value.code == 10


@pytest.mark.spec("S4.3-15", "S8-6", "S7.2-3")
def test_a_transfer_has_two_decimals_one_effect_a_key_and_a_known_account(
    world: Connection,
) -> None:
    """P25."""
    rpc = world.rpc(firm(world.simulation))

    def move(amount: str, key: str = "k", to: str = "") -> cash.CashMovement:
        transfer = cash.Transfer(
            reason=1,
            participant_account_id=to or account(world),
            amount=amount,
            currency="USD",
            external_reference="r",
        )
        found = rpc.call(
            "CashMovementService.CreateCashMovement",
            cash.CreateCashMovementRequest(idempotency_key=key, transfer=transfer),
        ).cash_movement
        assert found is not None
        return found

    first = move("1.25")
    assert move("1.25").workflow_id == first.workflow_id
    for amount, key, to, code in (
        ("1.26", "k", "", 6),
        ("1.255", "k2", "", 3),
        ("1.25", "k3", "firms/nobody/accounts/x", 5),
    ):
        with pytest.raises(RpcError) as refused:
            move(amount, key, to)
        assert refused.value.code == code


@pytest.mark.spec("S4.3-15", "S2.7-3")
def test_a_partner_order_honours_its_idempotency_key(world: Connection) -> None:
    """M25."""
    instrument = quiet(world.simulation)
    place(world, instrument, "sell", 50, 1, user=1)
    request = funding.CreateVendorOrderRequest(
        order=wire.InsertOrderRequest(
            type=2,
            side=1,
            order_qty=instrument.qty_scale,
            symbol=instrument.symbol,
            price=50 * instrument.price_scale // 100,
            time_in_force=5,
            clord_id="vendor-1",
            account=account(world),
            manual_order_indicator=2,
        ),
        vendor_fee=funding.MoneyAmount(value="0.05", currency="USD"),
        idempotency_key="vendor-key",
    )
    rpc = world.rpc(firm(world.simulation))
    first = rpc.call("OrderFundingService.CreateVendorOrder", request)
    again = rpc.call("OrderFundingService.CreateVendorOrder", request)
    assert (first.funding_request_id, first.id) == (again.funding_request_id, again.id)
    found = trader(world).get(f"/v1/report/orders/{first.id}").json()["order"]
    assert (found["state"], found["clordId"]) == ("ORDER_STATE_FILLED", "vendor-1")


@pytest.mark.spec("S5.1-9")
def test_a_missing_scope_is_named(world: Connection) -> None:
    lacking = poor_firm(world.simulation)
    answer = world.exchange(lacking).post(
        "/v1/kyc/webhook", json={"webhookUrl": "https://127.0.0.1:9/hook"}
    )
    assert (answer.status, answer.json()["message"]) == (
        403,
        "permission denied: missing required scope write:kyc",
    )


# ---- verification


@pytest.mark.spec("S4.3-21", "S3.5-1", "S3.5-2", "S3.5-6", "S6.1-1")
def test_a_person_is_verified_provisioned_and_announced_and_may_then_trade(
    world: Connection,
) -> None:
    client = world.exchange(firm(world.simulation))
    registered = client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    assert (registered.status, registered.json()["validated"]) == (200, True)
    started = client.post("/v1/kyc/start", json=PERSON).json()
    assert (started["decision"], started["status"]["status"], started["participantId"]) == (
        "ACCEPT",
        "CLOSED",
        "",
    )
    world.advance("27m")
    assert len(world.webhooks) == 2
    found = client.get("/v1/kyc/status", params={"external_id": "surface-1"}).json()
    assert found["participantId"] in client.get("/v1/users").json()["users"]
    assert (
        world.exchange(firm(world.simulation), found["participantId"])
        .get("/v1/trading/orders/open")
        .json()["orders"]
        == []
    )


@pytest.mark.spec("S4.3-21")
def test_a_webhook_that_does_not_acknowledge_is_not_registered(world: Connection) -> None:
    world.receive = lambda post: 500
    answer = world.exchange(firm(world.simulation)).post(
        "/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"}
    )
    assert (answer.status, answer.json()["validated"]) == (200, False)


@pytest.mark.spec("S4.3-22")
def test_verification_is_unknown_over_grpc(world: Connection) -> None:
    """K7."""
    reply = world.rpc(firm(world.simulation)).raw("/exchange.kyc.v1.KYCAPI/GetKYCStatus", b"")
    assert reply.code == 12


@pytest.mark.spec("S9-3", "S9-4")
@pytest.mark.parametrize(
    ("start", "codes"),
    [
        ("2026-08-05T23:59:59-04:00", {"Create": 3, "Get": 5, "Cancel": 5}),
        ("2026-08-06T00:00:00-04:00", {"Create": 12, "Get": 12, "Cancel": 12}),
    ],
)
def test_three_calls_of_funded_orders_exist_until_the_sixth_of_august(
    start: str, codes: dict[str, int]
) -> None:
    scenario = load_scenario("quickstart")
    world = connect(
        Simulation(replace(scenario, clock=replace(scenario.clock, start=parse_instant(start))))
    )
    rpc = world.rpc(firm(world.simulation))
    for name, code in codes.items():
        request = getattr(funding, f"{name}FundedOrderRequest")()
        with pytest.raises(RpcError) as refused:
            rpc.call(f"OrderFundingService.{name}FundedOrder", request)
        assert refused.value.code == code
    with pytest.raises(RpcError) as malformed:
        rpc.call("OrderFundingService.CreateVendorOrder", funding.CreateVendorOrderRequest())
    assert malformed.value.code == 3


# ---- incentives and sports on this host


def test_incentives_are_the_retail_apis_seen_from_this_host(world: Connection) -> None:
    public = world.simulation.rest(
        "exchange", "GET", "/v1/incentives", "page_size=5", {}, b""
    ).reply
    assert public is not None and public.status == 200
    retail = (
        world.retail(journeys.key(world.simulation))
        .get("/v1/incentives", params={"page_size": 5})
        .json()
    )
    mine = trader(world).get("/v1/incentives", params={"pageSize": 5}).json()
    assert mine["programs"] == retail["programs"]
    assert mine["programs"][0]["timePeriods"][0]["programId"]
    found = rpc_trader(world).call(
        "IncentivesAPI.GetIncentives", wire.GetIncentivesRequest(page_size=5)
    )
    assert [program.market_slug for program in found.programs] == [
        program["marketSlug"] for program in mine["programs"]
    ]
    assert trader(world).get("/v1/incentives/earnings").json() == {"rewards": []}
    assert world.exchange(poor_firm(world.simulation)).get("/v1/incentives/earnings").status == 403


@pytest.mark.spec("S2.3-3", "S5.1-6")
def test_earnings_are_the_participants_where_one_is_named_and_the_firms_where_none_is(
    world: Connection,
) -> None:
    sim = world.simulation
    symbol = sim.exchange.instruments.require(quiet(sim).symbol).symbol
    for user, amount in zip(firm(sim).users[:2], (1, 2), strict=True):
        sim.exchange.incentives.grant(
            Reward(
                account=user.account,
                symbol=symbol,
                date="2026-09-07",
                amount=amount * DOLLAR,
                status="PAID",
            )
        )

    def earned(client: Http) -> list[float]:
        return [
            reward["reward"] for reward in client.get("/v1/incentives/earnings").json()["rewards"]
        ]

    assert (
        earned(trader(world, 0)),
        earned(trader(world, 1)),
        earned(world.exchange(firm(sim))),
    ) == ([1], [2], [3])


def test_sports_and_teams_agree_with_the_gateway(world: Connection) -> None:
    client = world.exchange(firm(world.simulation))
    sports = client.get("/v1/refdata/sports").json()["sports"]
    leagues = world.gateway.get("/v2/leagues").json()["leagues"]
    assert [sport["sport"] for sport in sports][: len(leagues)] == [
        league["slug"] for league in leagues
    ]
    teams = client.get(
        "/v1/refdata/sports/teams", params={"filters.league": "nfl", "limit": 3, "orderBy": "name"}
    ).json()["teams"]
    assert len(teams) == 3 and teams == sorted(teams, key=lambda team: team["name"])
    ref = teams[0]["providerRefs"][0]
    found = client.get(
        "/v1/refdata/sports/teams/provider", params={"teamIds": ref["providerTeamId"]}
    ).json()["teams"]
    assert found[ref["providerTeamId"]]["name"] == teams[0]["name"]
    assert client.get("/v1/refdata/sports/teams", params={"orderBy": "nonsense"}).status == 400


def test_referral_codes_are_made_listed_counted_checked_and_survive_a_rewind(
    world: Connection,
) -> None:
    client = world.exchange(firm(world.simulation))
    path = "/v1/kyc/referral-codes"
    for code, category in (("ADA-1", "friends"), ("ADA-2", None), ("BOB-1", "friends")):
        made = client.post(
            path,
            json={"user_id": code[:3], "referral_code": code}
            | ({"category": category} if category else {}),
        )
        assert (made.status, made.json()) == (200, {})
    assert client.post(path, json={"user_id": "x", "referral_code": "ADA-1"}).status == 409
    assert (
        "user_id"
        in client.post(path, json={"user_id": " ", "referral_code": "NEW"}).json()["message"]
    )
    assert client.post("/v1/kyc/start", json=PERSON | {"referral_code": "ADA-2"}).status == 200

    first = client.get(path, params={"limit": "2"}).json()
    rest = client.get(path, params={"limit": "2", "cursor": first["nextCursor"]}).json()
    assert (first["eof"], rest["eof"], "nextCursor" in rest) == (False, True, False)
    rows = first["referralCodes"] + rest["referralCodes"]
    assert [(row["referralCode"], row["usedCount"]) for row in rows] == [
        ("ADA-1", "0"),
        ("ADA-2", "1"),
        ("BOB-1", "0"),
    ]
    chosen = client.get(path, params={"user_id": "ADA", "category": "friends"}).json()[
        "referralCodes"
    ]
    assert [row["referralCode"] for row in chosen] == ["ADA-1"]
    assert client.get(path, params={"limit": "-1"}).status == 400
    assert client.get(path, params={"cursor": "nonsense"}).status == 400

    checked = client.get(f"{path}/BOB-1").json()
    assert (checked["isValid"], checked["userId"]) == (True, "BOB")
    assert client.get(f"{path}/NEW").json()["isValid"] is False
    world.simulation.snapshot("before")
    client.post(path, json={"user_id": "EVE", "referral_code": "EVE-1"})
    world.simulation.restore("before")
    assert client.get(f"{path}/EVE-1").json()["isValid"] is False
    assert client.get(f"{path}/ADA-1").json()["isValid"] is True
    assert world.exchange(poor_firm(world.simulation)).get(f"{path}/ADA-1").status == 403
