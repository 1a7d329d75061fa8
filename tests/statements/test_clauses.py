"""Clauses of statements that the tests of their components leave out: what a field says at its
edge, what stands beside it, and how each is refused.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from sim.contract.contract import load_contract
from sim.messages import exchange_v1 as wire
from sim.testing.client import Connection, Http, RpcError
from tests.api import stream_clients as streams
from tests.api.retail_world import BUY_YES, FINE, SELL_YES, RetailWorld
from tests.journeys import firm, key, quiet, retail_order, rpc_trader, trader
from tests.oracles.worlds import world_of

HISTORY = "/v1/asset-prices/history"


@pytest.fixture
def world() -> Connection:
    return world_of()


# ---- §2.2 and §5.3, the gateway


@pytest.mark.spec("S2.2-3", "S4.1-5")
def test_a_series_is_empty_before_the_first_tick_of_its_asset(world: Connection) -> None:
    world.simulation.control("price.tick", "crypto:silent", {"price": "5"})
    now = world.simulation.now // 1_000_000_000
    params = {"assets": "crypto:silent", "bucket": "ASSET_PRICE_BUCKET_1M"}
    for window, candles in (({"from": now}, 1), ({"from": now - 120, "to": now - 60}, 0)):
        (series,) = world.gateway.get(HISTORY, params=params | window).json()["series"]
        assert len(series["candles"]) == candles
        assert series["asset"] == {"assetClass": "ASSET_CLASS_CRYPTO", "symbol": "silent"}


@pytest.mark.spec("S5.3-1")
@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer nonsense"},
        {"x-pm-access-key": "nobody", "x-pm-timestamp": "1", "x-pm-signature": "none"},
        {"x-participant-id": "firms/nobody/users/nobody"},
    ],
    ids=["token", "key", "participant"],
)
def test_the_gateway_asks_nobody_who_they_are(world: Connection, headers: dict[str, str]) -> None:
    """On any of its paths, whatever credentials come along, right or wrong."""
    asked = 0
    for operation in load_contract().operations:
        for verb, path, _ in operation.bindings:
            if "gateway" not in operation.planes or verb != "GET":
                continue
            address = re.sub(r"\{[^}]*\}", "1", path)
            reply = world.simulation.rest("gateway", verb, address, "", headers, b"").reply
            assert reply is not None
            assert reply.status in (200, 400, 404), (address, reply.status)
            asked += 1
    assert asked > 20


# ---- §2.5, book and best prices


@pytest.mark.spec("S2.5-1", "S4.3-1")
def test_a_level_holds_the_orders_of_everybody_at_its_price_at_the_time_of_asking(
    world: Connection,
) -> None:
    instrument = quiet(world.simulation)
    for user, contracts in ((0, 2), (1, 3)):
        streams.place(world, instrument, "buy", 40, contracts, user=user)
    world.advance("90s")
    book = trader(world).get(f"/v1/orderbook/{instrument.symbol}").json()
    price = str(40 * instrument.price_scale // 100)
    assert book["bids"] == [{"px": price, "qty": str(5 * instrument.qty_scale)}]
    assert (book["symbol"], book["offers"], book["transactTime"]) == (
        instrument.symbol,
        [],
        "2026-09-08T18:01:30Z",
    )


@pytest.mark.spec("S4.3-1")
@pytest.mark.parametrize("depth", ["-1", "1.5", "x", "2147483648"])
def test_a_depth_that_is_no_number_of_levels_is_refused(world: Connection, depth: str) -> None:
    client, symbol = world.exchange(firm(world.simulation)), quiet(world.simulation).symbol
    refused = client.get(f"/v1/orderbook/{symbol}", params={"depth": depth})
    assert (refused.status, refused.json()["code"]) == (400, 3)
    assert "depth" in refused.json()["message"]


@pytest.mark.spec("S2.5-2", "S4.3-2")
@pytest.mark.parametrize("sides", [(), ("buy",), ("sell",)], ids=["none", "bid", "offer"])
def test_best_prices_without_a_side_have_no_spread_and_no_middle(
    world: Connection, sides: tuple[str, ...]
) -> None:
    instrument = quiet(world.simulation)
    for side in sides:
        streams.place(world, instrument, side, 40, 1)
    for client in (world.exchange(firm(world.simulation)), trader(world)):
        bbo = client.get(f"/v1/orderbook/{instrument.symbol}/bbo").json()
        assert (bbo["spread"], bbo["midPrice"]) == ("0", "0")
        price = str(40 * instrument.price_scale // 100)
        for name, side in (("bestBid", "buy"), ("bestOffer", "sell")):
            shown = bbo[name] and bbo[name]["px"]
            assert shown == (price if side in sides else None)


@pytest.mark.spec("S2.5-3")
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_stream_has_the_last_quantity_in_field_14_and_the_settlement_in_field_15(
    world: Connection, bidirectional: bool
) -> None:
    instrument = quiet(world.simulation)
    if bidirectional:
        stream: Any = world.rpc(firm(world.simulation)).stream(streams.BIDIRECTIONAL)
        streams.talk(stream, subscribe=wire.SubscribeCommand(symbols=[instrument.symbol]))
    else:
        stream = streams.books(world, instrument.symbol)
        stream.take()

    def statistics() -> wire.InstrumentStats:
        (update,) = [frame.update for frame in stream.take() if frame.update is not None]
        assert update.stats is not None
        return wire.InstrumentStats(
            **{
                name: getattr(update.stats, name)
                for name in ("last_trade_qty", "settlement_set_time")
            }
        )

    streams.place(world, instrument, "sell", 40, 7, user=1)
    assert statistics() == wire.InstrumentStats()
    streams.place(world, instrument, "buy", 40, 4)
    assert statistics().last_trade_qty == 4 * instrument.qty_scale
    world.advance("5s")
    world.absorb(world.simulation.control("instrument.settle", instrument.symbol, {"price": "1"}))
    settled = statistics()
    assert (settled.last_trade_qty, settled.settlement_set_time) == (
        4 * instrument.qty_scale,
        world.simulation.now,
    )


# ---- §2.8, positions of the retail API


@pytest.mark.spec("S2.8-3", "S4.2-5")
def test_what_is_on_offer_is_not_available_and_a_trade_day_begins_with_what_is_held() -> None:
    """Each figure, its rounded twin, and the deprecated list beside them."""
    retail = RetailWorld()
    retail.order(retail.bob, FINE, SELL_YES, price="0.50", quantity=19.5)
    retail.order(retail.ann, FINE, BUY_YES, price="0.50", quantity=19.5)
    retail.order(retail.ann, FINE, SELL_YES, price="0.60", quantity=5.25)

    def figures(client: Http) -> tuple[dict[str, str], list[str]]:
        answer = client.get("/v1/portfolio/positions").json()
        held = answer["positions"][FINE]
        names = ("netPosition", "qtyBought", "qtySold", "bodPosition", "qtyAvailable")
        for name in names:
            exact, rounded = float(held[f"{name}Decimal"]), held[name]
            assert rounded == str(round(exact)), name
        shown = {name: held[f"{name}Decimal"] for name in names}
        return shown, answer["availablePositions"]

    mine, available = figures(retail.ann)
    assert mine == {
        "netPosition": "19.5000",
        "qtyBought": "19.5000",
        "qtySold": "0.0000",
        "bodPosition": "0.0000",
        "qtyAvailable": "14.2500",
    }
    assert available == ["14"]
    retail.order(retail.bob, FINE, BUY_YES, price="0.60", quantity=1.25)
    mine, available = figures(retail.ann)
    assert (mine["netPosition"], mine["qtySold"], mine["qtyAvailable"]) == (
        "18.2500",
        "1.2500",
        "14.2500",
    )
    retail.world.advance("1d")
    mine, _ = figures(retail.ann)
    theirs, _ = figures(retail.bob)
    assert (mine["bodPosition"], theirs["bodPosition"]) == ("18.2500", "-18.2500")


# ---- §4.2, the retail API


REWARDS = """
world:
  instruments: [{symbol: first, state: OPEN}, {symbol: second, state: OPEN}]
  incentives:
    - symbol: first
      periods: []
      rewards:
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-04, reward: "1"}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-03, reward: "2", program_type: volumeProgram}
    - {symbol: second, periods: [], rewards: [{account: firms/retail/accounts/5c1e90d2, date: 2026-09-02, reward: "3"}]}
"""


@pytest.mark.spec("S4.2-3", "S2.3-3")
@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, ["09-04", "09-03", "09-02"]),
        ({"start_date": "2026-09-03"}, ["09-04", "09-03"]),
        ({"end_date": "2026-09-03"}, ["09-03", "09-02"]),
        ({"start_date": "2026-09-03", "end_date": "2026-09-03"}, ["09-03"]),
        ({"program_type": "volumeProgram"}, ["09-03"]),
        ({"programType": "volumeProgram"}, ["09-04", "09-03", "09-02"]),
        ({"program_type": "none"}, []),
        ({"market_slug": "second"}, ["09-02"]),
        ({"market_slug": "second", "program_type": "volumeProgram"}, []),
        ({"start_date": "2026-09-04", "end_date": "2026-09-03"}, None),
        ({"start_date": "2026-9-4"}, None),
        ({"end_date": "2026-13-01"}, None),
        ({"end_date": "today"}, None),
    ],
)
def test_rewards_are_narrowed_by_dates_market_and_program(
    params: dict[str, str], found: list[str] | None
) -> None:
    world = world_of(REWARDS)
    client = world.retail(key(world.simulation))
    answer = client.get("/v1/incentives/earnings", params=params)
    if found is None:
        assert (answer.status, answer.json()["status"]) == (400, 400)
        return
    rows = answer.json()["rewards"]
    assert [row["date"] for row in rows] == [f"2026-{day}" for day in found]
    for row in rows:
        assert row["marketSlug"] == ("second" if row["date"] == "2026-09-02" else "first")
        volume = row["date"] == "2026-09-03"
        assert row["programType"] == ("volumeProgram" if volume else "liquidityProgram")


@pytest.mark.spec("S4.2-13", "S7.1-1")
@pytest.mark.parametrize("what", ["", "/modify", "/cancel"])
def test_a_batch_that_cannot_be_read_is_refused_whole(world: Connection, what: str) -> None:
    """Too many, none, one without a market, one of an unknown market: nothing is done."""
    instrument, client = quiet(world.simulation), world.retail(key(world.simulation))
    placed = retail_order(instrument, "BUY_LONG", 10, 1)
    resting = client.post("/v1/orders", json=placed).json()["id"]
    named = {"orderId": resting, "marketSlug": instrument.symbol}
    good = {"": placed, "/modify": {**named, "quantity": 2}, "/cancel": named}[what]
    without = {name: value for name, value in good.items() if name != "marketSlug"}
    before = client.get("/v1/orders/open").json()
    for orders in ([], [good] * 21, [good, without]):
        refused = client.post(f"/v1/orders/batched{what}", json={"orders": orders})
        assert (refused.status, refused.json()["status"]) == (400, 400)
    unknown = [good, {**good, "marketSlug": "no-such-market"}]
    if not what:
        assert client.post("/v1/orders/batched", json={"orders": unknown}).status == 404
    assert client.get("/v1/orders/open").json() == before


@pytest.mark.spec("S7.2-7", "S4.2-13")
def test_the_stopgap_meets_orders_of_batches_and_changes_in_them_and_no_cancel(
    world: Connection,
) -> None:
    instrument, client = quiet(world.simulation), world.retail(key(world.simulation))

    def placed(cents: int) -> str:
        body = retail_order(instrument, "BUY_LONG", cents, 1)
        return str(client.post("/v1/orders", json=body).json()["id"])

    changed, canceled = placed(20), placed(21)
    world.simulation.control("assumption.set", "engine.latency", {"value": "6s"})
    made = client.post(
        "/v1/orders/batched", json={"orders": [retail_order(instrument, "BUY_LONG", 10, 1)] * 2}
    ).json()["createdOrderIds"]
    named = {"marketSlug": instrument.symbol}
    change = {**named, "orderId": changed, "quantity": 5}
    client.post("/v1/orders/batched/modify", json={"orders": [change]})
    client.post("/v1/orders/batched/cancel", json={"orders": [{**named, "orderId": canceled}]})
    world.advance("6s")
    found = [client.get(f"/v1/order/{one}").json()["order"] for one in (*made, changed, canceled)]
    assert [(one["state"].removeprefix("ORDER_STATE_"), one["quantity"]) for one in found] == [
        ("REJECTED", 1),
        ("REJECTED", 1),
        ("NEW", 1),
        ("CANCELED", 1),
    ]


# ---- §3.4, §4.3 and §4.4, the exchange


@pytest.mark.spec("S3.4-1")
def test_an_expired_order_leaves_nothing_behind_but_word_of_its_end(world: Connection) -> None:
    """On both APIs: no quantity in any execution, no trade, no row of a ledger, no position."""
    instrument, client = quiet(world.simulation), trader(world)
    account = firm(world.simulation).users[0].account
    ending = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-09-08T18:01:00Z"}
    placed = streams.place(world, instrument, "buy", 40, 2, **ending)
    retail = world.retail(key(world.simulation))
    body = retail_order(instrument, "BUY_LONG", 40, 2, tif="TIME_IN_FORCE_GOOD_TILL_DATE")
    mine = retail.post("/v1/orders", json=body | {"goodTillTime": ending["goodTillTime"]})
    assert mine.status == 200, mine.body

    def left() -> list[Any]:
        query = {"account": account}
        return [
            client.get("/v1/positions/ledger", params=query).json()["entries"],
            client.get("/v1/funding/balance-ledger", params=query).json()["entries"],
            client.get("/v1/positions", params={"name": account}).json()["positions"],
            client.post("/v1/report/trades/search", json={"symbol": instrument.symbol}).json(),
            retail.get("/v1/portfolio/positions").json(),
            retail.get("/v1/portfolio/activities").json(),
        ]

    before = left()
    world.advance("1m")
    assert left() == before
    row = client.get(f"/v1/report/orders/{placed}").json()["order"]
    assert (row["state"], row["cumQty"], row["leavesQty"]) == ("ORDER_STATE_EXPIRED", "0", "0")
    told = client.post("/v1/report/executions/search", json={"orderId": placed}).json()
    assert [(one["type"], one["lastShares"]) for one in told["executions"]] == [
        ("EXECUTION_TYPE_NEW", "0"),
        ("EXECUTION_TYPE_EXPIRED", "0"),
    ]
    shown = retail.get(f"/v1/order/{mine.json()['id']}").json()["order"]
    assert (shown["state"], shown["cumQuantity"]) == ("ORDER_STATE_EXPIRED", 0)


@pytest.mark.spec("S4.3-20", "S4.4-3")
def test_an_internal_entry_type_is_aborted_in_downloads_and_streams_too(world: Connection) -> None:
    account = firm(world.simulation).users[0].account
    params = {"account": account, "entryTypes": ["DEPOSIT", "NETTING"]}
    refused = trader(world).get("/v1/funding/balance-ledger/download", params=params)
    assert (refused.status, refused.json()["code"]) == (409, 10)
    request = wire.CreateBalanceLedgerSubscriptionRequest(
        account=account, entry_types=[wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING]
    )
    with pytest.raises(RpcError) as aborted:
        rpc_trader(world).stream("FundingAPI.CreateBalanceLedgerSubscription", request)
    assert aborted.value.code == 10


@pytest.mark.spec("S4.4-3")
@pytest.mark.parametrize("whose", ["", "firms/nobody/accounts/none", "another firm's"])
def test_a_ledger_is_streamed_for_one_account_of_the_firm(world: Connection, whose: str) -> None:
    if whose.startswith("another"):
        whose = streams.another_firm(world).users[0].account
    request = wire.CreateBalanceLedgerSubscriptionRequest(account=whose)
    with pytest.raises(RpcError) as refused:
        rpc_trader(world).stream("FundingAPI.CreateBalanceLedgerSubscription", request)
    assert refused.value.code == (7 if whose else 3)
    stream = rpc_trader(world).stream(
        "FundingAPI.CreateBalanceLedgerSubscription",
        wire.CreateBalanceLedgerSubscriptionRequest(
            account=firm(world.simulation).users[1].account
        ),
    )
    stream.take()
    instrument = quiet(world.simulation)
    streams.trade(world, instrument, 40, 1, buyer=0, seller=2)
    assert [frame for frame in stream.take() if frame.entries] == []  # of other accounts
    streams.trade(world, instrument, 40, 1, buyer=1, seller=2)
    assert [frame for frame in stream.take() if frame.entries] != []


@pytest.mark.spec("S6.2-7")
def test_a_session_is_its_subjects_whatever_token_it_comes_with(world: Connection) -> None:
    first = streams.orders(world)
    world.advance("150s")
    world.forget_tokens()
    second = streams.orders(world)
    assert (first.end, second.end) == ((13, "Subscription manager revoked session"), None)
