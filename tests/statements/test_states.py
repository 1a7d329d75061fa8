"""Statements about states (§2.10, §3): instruments, auctions and verification, tested end to end
and independently of the tests of their components.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.run.client.client import Connection, RpcError
from tests.journeys import (
    PERSON,
    enter,
    firm,
    key,
    operate,
    order,
    retail_order,
    rpc_trader,
    trader,
)
from tests.kit import streams
from tests.oracles.worlds import world_of

SYMBOL = "stated"


@pytest.fixture
def world() -> Connection:
    found = world_of()
    made = {"symbol": SYMBOL, "tick_size": "0.01", "state": "OPEN"}
    found.simulation.control("instrument.create", "", made)
    return found


def instrument(world: Connection) -> Any:
    return world.simulation.exchange.instruments.require(SYMBOL)


def move(world: Connection, *states: str) -> None:
    for state in states:
        operate(world, "instrument.state", SYMBOL, state=state)


def fills(stream: Any) -> list[tuple[int, int]]:
    """Return (price, quantity) of fills on a drop copy stream, once for each trade."""
    seen = {
        one.trade_id: (one.last_px, one.last_shares)
        for frame in stream.take()
        for one in frame.executions
        if one.trade_id
    }
    return list(seen.values())


# ---- what a state permits, through retail and gRPC

# §3.1: state, then entry, modify, cancel. For PREOPEN, cancels are not specified.
PERMITS = [
    ("OPEN", True, True, True),
    ("PREOPEN", True, True, None),
    ("SUSPENDED", False, False, True),
    ("HALTED", False, False, False),
    ("CLOSED", False, False, False),
    ("EXPIRED", False, False, False),
]
ROUTES = {"PREOPEN": ("CLOSED", "PREOPEN"), "EXPIRED": ("CLOSED", "EXPIRED"), "OPEN": ()}


@pytest.mark.spec("S3.1-7", "S3.1-8", "S3.1-9", "S3.1-10", "S3.1-11", "S3.1-12", "S7.1-7", "S7.1-5")
@pytest.mark.parametrize(("state", "entry", "modify", "cancel"), PERMITS)
def test_retail_and_grpc_permit_in_a_state_what_rest_permits(
    world: Connection, state: str, entry: bool, modify: bool, cancel: bool | None
) -> None:
    found, rpc = instrument(world), rpc_trader(world)
    retail = world.retail(key(world.simulation))
    first, second = (
        retail.post("/v1/orders", json=retail_order(found, "BUY_LONG", cents, 5)).json()["id"]
        for cents in (40, 39)
    )
    third = streams.place(world, found, "buy", 38, 5)
    move(world, *ROUTES.get(state, (state,)))
    told = streams.drop_copy(world)

    asked = retail_order(found, "BUY_LONG", 30, 1, synchronousExecution=True)
    types = [one["type"] for one in retail.post("/v1/orders", json=asked).json()["executions"]]
    assert types == ["EXECUTION_TYPE_NEW" if entry else "EXECUTION_TYPE_REJECTED"]
    change = {"marketSlug": SYMBOL, "price": {"value": "0.41", "currency": "USD"}, "quantity": 5}
    retail.post(f"/v1/order/{first}/modify", json=change)
    shown = retail.get(f"/v1/order/{first}").json()["order"]
    assert (shown["price"]["value"] == "0.41") is modify, shown
    answer = retail.post(f"/v1/order/{second}/cancel", json={"marketSlug": SYMBOL})
    state_of_second = retail.get(f"/v1/order/{second}").json()["order"]["state"]
    if state == "EXPIRED":
        assert state_of_second == "ORDER_STATE_EXPIRED"
    elif cancel is not None:
        assert (state_of_second == "ORDER_STATE_CANCELED") is cancel, answer

    replace = wire.CancelReplaceOrderRequest(
        order_id=third, symbol=SYMBOL, price=37, order_qty=5 * found.qty_scale
    )
    for allowed, operation, request in (
        (
            entry,
            "OrderEntryAPI.InsertOrder",
            wire.InsertOrderRequest(
                type=2, side=1, symbol=SYMBOL, order_qty=found.qty_scale, price=20, time_in_force=2
            ),
        ),
        (modify, "OrderEntryAPI.CancelReplaceOrder", replace),
        (
            cancel,
            "OrderEntryAPI.CancelOrder",
            wire.CancelOrderRequest(order_id=third, symbol=SYMBOL),
        ),
    ):
        if allowed is None:
            continue
        if allowed:
            rpc.call(operation, request)
        else:
            with pytest.raises(RpcError) as refused:
                rpc.call(operation, request)
            assert refused.value.code == 9
    assert fills(told) == []


@pytest.mark.spec("S3.1-8", "S3.1-9", "S3.1-10", "S3.1-11", "S3.1-12")
@pytest.mark.parametrize("state", ["PREOPEN", "SUSPENDED", "HALTED", "CLOSED"])
def test_nothing_matches_where_matching_stands_still_whatever_tries(
    world: Connection, state: str
) -> None:
    """After the change of state, crossing orders, replaces and waits produce no fill."""
    found = instrument(world)
    resting = streams.place(world, found, "sell", 50, 5, user=1)
    bid = streams.place(world, found, "buy", 45, 5)
    told = streams.drop_copy(world)
    move(world, *ROUTES.get(state, (state,)))
    for _ in range(2):
        enter(world, found, "buy", 60, 2)
        replace = {"orderId": bid, "symbol": SYMBOL, "price": "55"}
        trader(world).post("/v1/trading/orders/replace", json=replace)
        retail = retail_order(found, "BUY_LONG", 60, 1)
        world.retail(key(world.simulation)).post("/v1/orders", json=retail)
        world.advance("1m")
    assert fills(told) == []
    asked = {"symbol": SYMBOL}
    trades = trader(world).post("/v1/report/trades/search", json=asked).json()
    assert trades.get("trade", []) == []
    row = trader(world, 1).get(f"/v1/report/orders/{resting}").json()["order"]
    assert (row["cumQty"], row["leavesQty"]) == ("0", str(5 * found.qty_scale))


@pytest.mark.spec("S3.1-7")
def test_an_open_market_matches_continuously_at_the_price_of_the_resting_order(
    world: Connection,
) -> None:
    found = instrument(world)
    told = streams.drop_copy(world)
    scale = found.price_scale // 100
    for cents in (50, 52):
        streams.place(world, found, "sell", cents, 2, user=1)
    bid = streams.place(world, found, "buy", 51, 3)
    assert fills(told) == [(50 * scale, 2 * found.qty_scale)]
    replace = {"orderId": bid, "symbol": SYMBOL, "price": str(52 * scale)}
    assert trader(world).post("/v1/trading/orders/replace", json=replace).status == 200
    assert fills(told) == [(52 * scale, found.qty_scale)]


@pytest.mark.spec("S3.1-5", "S3.1-11")
@pytest.mark.parametrize("state", ["CLOSED", "SUSPENDED", "HALTED"])
def test_orders_of_a_pre_open_that_never_opens_do_not_match(world: Connection, state: str) -> None:
    found = instrument(world)
    move(world, "CLOSED", "PREOPEN")
    streams.place(world, found, "buy", 60, 3)
    streams.place(world, found, "sell", 50, 3, user=1)
    told = streams.drop_copy(world)
    move(world, state)
    assert fills(told) == []


@pytest.mark.spec("S3.1-6")
@pytest.mark.parametrize(
    "target", ["OPEN", "PREOPEN", "CLOSED", "SUSPENDED", "HALTED", "EXPIRED", "TERMINATED"]
)
def test_a_closing_auction_trades_at_one_price_on_its_way_to_every_state(
    world: Connection, target: str
) -> None:
    found = instrument(world)
    move(world, "MATCH_AND_CLOSE_AUCTION")
    told = streams.drop_copy(world)
    for cents, contracts in ((55, 2), (52, 4)):
        streams.place(world, found, "buy", cents, contracts)
    for cents, contracts in ((48, 3), (51, 2), (58, 9)):
        streams.place(world, found, "sell", cents, contracts, user=1)
    assert fills(told) == []
    move(world, target)
    traded = fills(told)
    assert sum(qty for _, qty in traded) == 5 * found.qty_scale  # 51 or 52 has the largest volume
    (price,) = {price for price, _ in traded}
    assert 51 <= price * 100 // found.price_scale <= 52


# ---- games


@pytest.mark.long
@pytest.mark.spec("S1-1", "S2.6-4", "S2.6-5", "S2.10-6")
def test_sides_of_a_matchup_are_named_from_their_date_and_a_future_has_a_tournament_only() -> None:
    """§2.6: instruments created after 2026-07-20; long and short do not mean home and away."""
    world, rows, token = world_of(), [], ""
    while True:
        asked = {"pageSize": 1000, "pageToken": token}
        page = trader(world).post("/v1/refdata/instruments", json=asked).json()
        rows += page["instruments"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    kinds = {row["metadata"].get("instrument_product") for row in rows}
    assert {"futures", "moneyline"} <= kinds
    categories = {row["metadata"].get("event_category") for row in rows}
    assert len(categories) > 1  # sports, and event contracts
    for row in rows:
        meta = row["metadata"]
        named = {"home_team_name", "away_team_name", "tournament_name"} & meta.keys()
        if meta.get("event_category") != "SPR" or row["createTime"] < "2026-07-21T04:00:00Z":
            assert not named, row["symbol"]
        elif meta.get("instrument_product") == "futures":
            assert named == {"tournament_name"}, row["symbol"]
        else:
            assert len(named) == 3, row["symbol"]
            sides = {meta["home_team_name"], meta["away_team_name"]}
            if meta.get("participant_type") == "team" and meta.get("long_participant_name"):
                names = {meta["long_participant_name"], meta.get("short_participant_name")}
                assert names & sides or meta["instrument_product"] != "moneyline"
    assert not any(row["state"] == "PENDING" for row in rows)


@pytest.mark.spec("S2.10-3", "S9-6")
def test_a_market_type_that_nobody_knows_comes_from_a_scenario_to_every_surface() -> None:
    entry = (
        "{symbol: novel, tick_size: '0.01', state: OPEN, sports_market_type: curling_end_winner}"
    )
    world = world_of(f"world: {{instruments: [{entry}]}}\n")
    market = world.gateway.get("/v1/market/slug/novel").json()["market"]
    assert market["sportsMarketType"] == "curling_end_winner"
    listed = trader(world).get("/v1/refdata/instruments/novel").json()["instrument"]
    assert listed["metadata"]["market_sport_type"] == "curling_end_winner"
    params = {"sportsMarketTypes": "curling_end_winner"}
    found = world.gateway.get("/v1/markets", params=params).json()["markets"]
    assert [one["slug"] for one in found] == ["novel"]


# ---- verification


def started(world: Connection, **changes: Any) -> dict[str, Any]:
    client = world.exchange(firm(world.simulation))
    found: dict[str, Any] = client.post("/v1/kyc/start", json=PERSON | changes).json()
    return found


def status(world: Connection) -> dict[str, Any]:
    client = world.exchange(firm(world.simulation))
    params = {"external_id": PERSON["external_id"]}
    found: dict[str, Any] = client.get("/v1/kyc/status", params=params).json()
    return found


@pytest.mark.spec("S3.5-1", "S3.5-2", "S4.3-21")
def test_nobody_trades_in_the_window_between_approval_and_webhook(world: Connection) -> None:
    """Neither by the name in the later webhook nor by the account; both work right after it."""
    other = world_of()  # a run with the same seed has the same name
    started(other)
    other.advance("26m")
    participant = status(other)["participantId"]
    account = status(other)["provisionedAccount"]
    assert participant
    mine = firm(world.simulation)
    client = world.exchange(mine)
    client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    assert started(world)["participantId"] == ""
    body = order(instrument(world), "buy", 40, 1)

    def tried() -> list[int]:
        own = world.exchange(mine, mine.users[0].name)
        return [
            world.exchange(mine, participant).post("/v1/trading/orders", json=body).status,
            own.post("/v1/trading/orders", json=body | {"account": account}).status,
            world.exchange(mine, participant).get("/v1/trading/orders/open").status,
        ]

    while len(world.webhooks) < 2:
        found = status(world)
        shown = found["status"]
        assert (shown["decision"], shown["status"]) == ("ACCEPT", "CLOSED")
        assert found["participantId"] == ""
        assert tried() == [403, 403, 403]
        assert participant not in client.get("/v1/users").json()["users"]
        with pytest.raises(RpcError) as refused:
            request = wire.GetOpenOrdersRequest()
            world.rpc(mine, participant).call("OrderEntryAPI.GetOpenOrders", request)
        assert refused.value.code == 7
        due = world.simulation.next_due()
        assert due is not None
        world.advance_to(max(due, world.simulation.now + 10_000_000_000))
    event = json.loads(world.webhooks[-1].body)
    assert (event["type"], event["participant_id"]) == ("kyc.approved", participant)
    fund = {"amount": "10"}
    operate(world, "account.fund", account, **fund)
    assert world.exchange(mine, participant).post("/v1/trading/orders", json=body).status == 200
    assert participant in client.get("/v1/users").json()["users"]


@pytest.mark.spec("S3.5-4", "S3.5-5", "S3.5-6")
@pytest.mark.parametrize("eligible", [True, False])
def test_a_document_is_asked_for_only_where_the_application_says_that_one_can_be_shown(
    world: Connection, eligible: bool
) -> None:
    client = world.exchange(firm(world.simulation))
    client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    case = started(world, date_of_birth="1985-09-02", docv_eligible=eligible)
    shown = case["status"]
    assert case["participantId"] == ""
    if eligible:
        assert shown["subStatus"] == "docv_required"
        assert case["docv"]["docvTransactionToken"]
        assert status(world)["docv"] == case["docv"]
    else:
        assert (shown["decision"], case.get("docv")) == ("REVIEW", None)
        # Tuesday evening and night are not business hours; no webhook is sent until they are over.
        world.advance("5h")
        assert status(world)["status"]["decision"] == "REVIEW"
    assert len(world.webhooks) == 1


@pytest.mark.spec("S3.5-3")
def test_a_rejection_says_nothing_of_its_reason_anywhere(world: Connection) -> None:
    client = world.exchange(firm(world.simulation))
    client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    case = started(world, email="reject@example.com")
    world.advance("1m")
    event = json.loads(world.webhooks[-1].body)
    assert event["type"] == "kyc.rejected"
    for body in (case, status(world), event):
        text = json.dumps(body).lower()
        assert "reason" not in text
        assert "decline" not in text
    assert status(world)["participantId"] == ""


# ---- instrument states on streams


@pytest.mark.spec("S4.4-4", "S3.1-1", "S6.2-4")
def test_every_change_of_state_is_an_instrument_on_the_stream_without_a_resume_token(
    world: Connection,
) -> None:
    stream = streams.instruments(world, SYMBOL)
    (first,) = stream.take()
    listed = trader(world).get(f"/v1/refdata/instruments/{SYMBOL}").json()["instrument"]
    assert first.instruments[0].symbol == listed["symbol"]
    seen = []
    for state in ("SUSPENDED", "OPEN", "HALTED", "CLOSED", "EXPIRED", "TERMINATED"):
        move(world, state)
        for frame in stream.take():
            assert frame.resume_token == b""
            seen += [InstrumentState(one.state).name for one in frame.instruments]
            assert all(one.price_scale == int(listed["priceScale"]) for one in frame.instruments)
    assert seen == ["SUSPENDED", "OPEN", "HALTED", "CLOSED", "EXPIRED", "TERMINATED"]
