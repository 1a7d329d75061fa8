"""Statements about endpoints and streams (§4, §6.2), tested independently of the tests of their
components.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import NS_PER_S
from sim.run.client.client import RpcError
from tests.kit import Desk, begin, retail_order, streams

# ---- public trades


def texts(value: object) -> set[str]:
    """Return every string in a document."""
    if isinstance(value, dict):
        return {text for each in value.values() for text in texts(each)}
    if isinstance(value, list):
        return {text for each in value for text in texts(each)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.spec("S4.2-19")
def test_nothing_that_everybody_sees_of_a_trade_says_who_traded(world: Desk) -> None:
    """Trades on the socket, both forms of market data, book, best prices, and the market itself."""
    instrument, socket = world.quiet(), streams.socket(world, streams.MARKETS, 1)
    for kind in ("TRADE", "MARKET_DATA", "MARKET_DATA_LITE"):
        streams.subscribe(socket, kind, kind, [instrument.symbol])
    world.place(instrument, "sell", 40, 2)
    world.retail_place(instrument, "BUY_LONG", 40, 2)
    world.advance("1s")
    frames = socket.take()
    assert any("trade" in frame for frame in frames)
    observed, slug = texts(frames), instrument.symbol
    for path in (f"markets/{slug}/book", f"markets/{slug}/bbo", f"market/slug/{slug}"):
        observed |= texts(world.gateway.get(f"/v1/{path}").json())
    seller, api_key = world.user(), world.keys[0]
    for name in (seller.name, seller.account, api_key.account, api_key.participant, api_key.key_id):
        assert not [text for text in observed if name and name in text], name


# ---- reports


@pytest.mark.spec("S4.3-5", "S4.3-7", "S4.3-8")
def test_a_row_repeats_or_is_skipped_when_rows_come_or_go_during_a_sweep(world: Desk) -> None:
    """Each page counts its offset from the newest row at that time."""
    instrument, client = world.quiet(), world.trader()
    placed = [world.place(instrument, "buy", 30 + number) for number in range(5)]
    placed.reverse()

    def page(token: str = "") -> tuple[list[str], str]:
        asked = {
            "symbol": instrument.symbol,
            "orderStateFilter": "ORDER_STATE_FILTER_OPEN",
            "pageSize": 2,
            "pageToken": token,
        }
        result = client.post("/v1/report/orders/search", json=asked).json()
        return [row["id"] for row in result["order"]], result.get("nextPageToken", "")

    first, token = page()
    second, last = page(token)
    assert (first + second, page(last)) == (placed[:4], (placed[4:], ""))
    newest = world.place(instrument, "buy", 40)
    assert page(token)[0] == placed[1:3]  # placed[1] was on the first page already
    for gone in (newest, *first):
        world.cancel(gone)
    assert page(token) == (placed[4:], "")  # no page had placed[2] and placed[3]
    for bad in ("!", "eyJvZmZzZXQiOi0xfQ==", token[:-2]):
        asked = {"symbol": instrument.symbol, "pageToken": bad}
        assert client.post("/v1/report/orders/search", json=asked).status == 400


@pytest.mark.spec("S4.3-6")
def test_an_unfiltered_trade_search_fails_about_two_times_in_three_and_a_filtered_one_never() -> (
    None
):
    """§4.3: 504 after 30 s "about two thirds of the time"; filtered by symbol, about 130 ms."""
    world = begin(limits=False)
    client = world.trader()
    symbol = world.quiet().symbol
    failed = 0
    for _ in range(150):
        begun = world.now
        answer = client.post("/v1/report/trades/search", json={})
        assert answer.status in (200, 504)
        if answer.status == 504:
            failed += 1
            assert answer.reply.ready_at - begun == 30 * NS_PER_S
        narrow = client.post("/v1/report/trades/search", json={"symbol": symbol})
        assert (narrow.status, narrow.reply.ready_at - world.now) == (200, 130_000_000)
    assert 85 <= failed <= 115  # two thirds of 150 is 100; four deviations are 23


@pytest.mark.spec("S4.3-12", "S4.3-9")
def test_open_orders_are_those_that_work_and_the_callers_own(world: Desk) -> None:
    instrument = world.quiet()
    rests = world.place(instrument, "buy", 30, 2)
    partly = world.place(instrument, "buy", 35, 4)
    world.place(instrument, "sell", 35, 1, user=1)
    gone = world.place(instrument, "buy", 31, 1)
    world.cancel(gone)
    params = {"symbols": instrument.symbol}

    def rows(user: int = 0) -> list[dict[str, Any]]:
        answer = world.trader(user).get("/v1/trading/orders/open", params=params)
        return list(answer.json()["orders"])

    assert [row["id"] for row in rows()] == [rests, partly]
    assert [world.reported(row["id"]) for row in rows()] == rows()
    assert rows()[1]["leavesQty"] == str(3 * instrument.qty_scale)
    assert rows(1) == []
    over_grpc = world.rpc_trader().call(
        "OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest(symbols=[instrument.symbol])
    )
    assert [order.id for order in over_grpc.orders] == [rests, partly]
    foreign = {"accounts": world.account(1)}
    asked = world.trader().get("/v1/trading/orders/open", params=foreign)
    assert asked.status == 403 or asked.json()["orders"] == []
    assert world.partner.get("/v1/trading/orders/open").status == 403


# ---- ledgers


@pytest.mark.spec("S4.3-17", "S4.3-18", "S4.3-19")
def test_entries_of_april_are_nowhere_and_those_of_may_everywhere() -> None:
    """The floor is the first instant of May 2026 in UTC, on pages, in files and on the stream."""
    world = begin(start="2026-04-30T23:58:00Z", limits=False)
    instrument = world.quiet()
    world.trade(instrument, 40)
    world.advance_to("2026-05-01T00:00:00Z")
    world.trade(instrument, 41)
    mine = world.account()
    client = world.trader()
    for path in ("/v1/positions/ledger", "/v1/funding/balance-ledger"):
        for since in ({}, {"startTime": "2026-01-01T00:00:00Z"}):
            params = {"account": mine, "symbol": instrument.symbol, **since}
            entries = client.get(path, params=params).json()["entries"]
            assert [entry["updateTime"] for entry in entries] == ["2026-05-01T00:00:00Z"]
            file = client.get(f"{path}/download", params=params).body.decode()
            assert [row["id"] for row in csv.DictReader(io.StringIO(file))] == [entries[0]["id"]]
        before = {"account": mine, "endTime": "2026-04-30T23:59:59Z"}
        assert client.get(path, params=before).json()["entries"] == []
    request = wire.CreateBalanceLedgerSubscriptionRequest(
        account=mine, resume_time=world.simulation.start
    )
    stream = world.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)
    reported = [entry for frame in stream.take() for entry in frame.entries]
    assert [entry.symbol for entry in reported] == [instrument.symbol]
    # The cumulative state is not that of May alone.
    last = world.ledger("positions")[0]
    assert last["netPosition"] == str(2 * instrument.qty_scale)


# ---- position changes


@pytest.mark.spec("S4.4-2", "S6.2-2")
def test_position_changes_follow_trades_and_end_with_the_settlement_of_the_market(
    world: Desk,
) -> None:
    instrument = world.quiet()
    stream = streams.position_changes(world)
    mine = world.account()

    def notices() -> list[Any]:
        return [
            change
            for frame in stream.take()
            for change in frame.position_changes
            if change.position.account == mine
        ]

    world.trade(instrument, 40, 3)
    world.trade(instrument, 50, 1, buyer=1, seller=0)
    qty = instrument.qty_scale
    changes = notices()
    assert [item.position.net_position for item in changes] == [3 * qty, 2 * qty]
    assert not any(item.position.expired for item in changes)
    (displayed,) = world.positions(symbol=instrument.symbol)
    assert displayed["netPosition"] == str(2 * qty)
    world.settle(instrument, "1")
    (settled,) = notices()
    assert settled.position.net_position == 0
    with pytest.raises(RpcError) as refused:
        world.rpc_partner.stream(
            "DropCopyAPI.CreatePositionChangeSubscription",
            wire.CreatePositionChangeSubscriptionRequest(),
        )
    assert refused.value.code == 7  # no participant is named


# ---- versions of paths


@pytest.mark.spec("S9-1", "S4.1-8")
def test_a_path_without_its_version_or_with_another_is_unknown(world: Desk) -> None:
    clients = {
        "/v2/leagues": world.gateway,
        "/v1/events": world.gateway,
        "/v1/orders/open": world.customer(),
        "/v1/whoami": world.partner,
    }
    for path, client in clients.items():
        assert client.get(path).status == 200
        version, rest = path[1:3], path[3:]
        others = ["", *(f"/v{number}" for number in (0, 1, 2, 3) if f"v{number}" != version)]
        for other in others:
            assert client.get(f"{other}{rest}").status == 404, other + rest


@pytest.mark.spec("S7.2-9")
def test_every_order_trade_and_answer_can_be_logged_by_its_ids(world: Desk) -> None:
    instrument = world.quiet()
    copies = streams.drop_copy(world)
    world.place(instrument, "sell", 40, 1, user=1)
    body = retail_order(instrument, "BUY_LONG", 40, 1, synchronousExecution=True)
    placed = world.customer().post("/v1/orders", json=body).json()
    fill = placed["executions"][-1]
    assert all((fill["id"], fill["tradeId"], fill["traceId"]))
    assert fill["order"]["id"] == placed["id"]
    (copy,) = [stream for stream in streams.executions_on(copies) if stream.trade_id]
    assert copy.trade_id == fill["tradeId"]  # both sides of a trade have it
    assert all((copy.id, copy.trace_id, copy.order.id)) and copy.id != fill["id"]
    assert copy.order.account == world.account(1)
    (trade,) = world.search("trades", 1, symbol=instrument.symbol)
    assert trade["id"] == fill["tradeId"]
    refused = world.enter(instrument, "buy", 40, 0)
    assert refused.status == 400
    assert refused.headers["x-request-id"]


@pytest.mark.spec("S4.2-17", "S9-3", "S7.1-4")
def test_subjects_are_listed_found_and_linked_to_markets_and_unknown_after_their_day() -> None:
    """On the gateway, and with a key on the retail API, each in the form of its plane."""
    before = begin(start="2026-06-28T12:00:00-04:00", limits=False)
    after = begin(start="2026-06-29T00:00:00-04:00", limits=False)

    def clients(world: Desk) -> tuple[Any, Any]:
        return world.gateway, world.customer()

    for client in clients(before):
        listed = client.get("/v1/subjects", params={"limit": 3}).json()["subjects"]
        assert len(listed) == 3
        rest = client.get("/v1/subjects", params={"limit": 2, "offset": 1}).json()["subjects"]
        assert rest == listed[1:]
        for subject in listed:
            by_number, by_slug = (
                f"/v1/subjects/{subject['id']}",
                f"/v1/subjects/slug/{subject['slug']}",
            )
            for path in (by_number, by_slug):
                assert client.get(path).json()["subject"] == subject
            markets = client.get(f"{by_number}/markets").json()["markets"]
            assert client.get(f"{by_slug}/markets").json()["markets"] == markets
            assert {market["subjectId"] for market in markets} <= {subject["id"]}
        for unknown in ("/v1/subjects/0", "/v1/subjects/slug/nobody", "/v1/subjects/0/markets"):
            assert client.get(unknown).status == 404
        assert client.post("/v1/subjects", json={}).status == 405
    gateway, retail = clients(after)
    for path in ("/v1/subjects", by_number, by_slug, f"{by_number}/markets", f"{by_slug}/markets"):
        assert (gateway.get(path).status, gateway.get(path).json()["code"]) == (404, 5)
        assert (retail.get(path).status, retail.get(path).json()["code"]) == (404, 5)
