"""Clauses of statements that the tests of their components omit: boundary values of fields, related
fields, and the refusals of each.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from sim.contract.contract import load_contract
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.run.client.client import RpcError
from tests.kit import Desk, retail_order, streams

HISTORY = "/v1/asset-prices/history"


# ---- §2.2 and §5.3, the gateway


@pytest.mark.spec("S2.2-3", "S4.1-5")
def test_a_series_is_empty_before_the_first_tick_of_its_asset(world: Desk) -> None:
    world.operate("price.tick", "crypto:silent", price="5")
    now = world.now // 1_000_000_000
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
def test_the_gateway_asks_nobody_who_they_are(world: Desk, headers: dict[str, str]) -> None:
    """On any of its paths, whatever credentials come along, right or wrong."""
    asked = 0
    for operation in load_contract().operations:
        for verb, path, _ in operation.bindings:
            if "gateway" not in operation.planes or verb != "GET":
                continue
            address = re.sub(r"\{[^}]*\}", "1", path)
            status = world.raw("gateway", verb, address, headers).status
            assert status in (200, 400, 404), (address, status)
            asked += 1
    assert asked > 20


# ---- §2.5, book and best prices


@pytest.mark.spec("S2.5-1", "S4.3-1")
def test_a_level_holds_the_orders_of_everybody_at_its_price_at_the_time_of_asking(
    world: Desk,
) -> None:
    instrument = world.quiet()
    for user, contracts in ((0, 2), (1, 3)):
        world.place(instrument, "buy", 40, contracts, user=user)
    world.advance("90s")
    book = world.book(instrument)
    price = str(40 * instrument.price_scale // 100)
    assert book["bids"] == [{"px": price, "qty": str(5 * instrument.qty_scale)}]
    assert (book["symbol"], book["offers"], book["transactTime"]) == (
        instrument.symbol,
        [],
        "2026-09-08T18:01:30Z",
    )


@pytest.mark.spec("S4.3-1")
@pytest.mark.parametrize("depth", ["-1", "1.5", "x", "2147483648"])
def test_a_depth_that_is_no_number_of_levels_is_refused(world: Desk, depth: str) -> None:
    client, symbol = world.partner, world.quiet().symbol
    refused = client.get(f"/v1/orderbook/{symbol}", params={"depth": depth})
    assert (refused.status, refused.json()["code"]) == (400, 3)
    assert "depth" in refused.json()["message"]


@pytest.mark.spec("S2.5-2", "S4.3-2")
@pytest.mark.parametrize("sides", [(), ("buy",), ("sell",)], ids=["none", "bid", "offer"])
def test_best_prices_without_a_side_have_no_spread_and_no_middle(
    world: Desk, sides: tuple[str, ...]
) -> None:
    instrument = world.quiet()
    for side in sides:
        world.place(instrument, side, 40, 1)
    for client in (world.partner, world.trader()):
        bbo = client.get(f"/v1/orderbook/{instrument.symbol}/bbo").json()
        assert (bbo["spread"], bbo["midPrice"]) == ("0", "0")
        price = str(40 * instrument.price_scale // 100)
        for name, side in (("bestBid", "buy"), ("bestOffer", "sell")):
            displayed = bbo[name] and bbo[name]["px"]
            assert displayed == (price if side in sides else None)


@pytest.mark.spec("S2.5-3")
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_stream_has_the_last_quantity_in_field_14_and_the_settlement_in_field_15(
    world: Desk, instrument: Instrument, bidirectional: bool
) -> None:
    if bidirectional:
        stream = world.rpc_partner.stream(streams.BIDIRECTIONAL)
        streams.talk(stream, subscribe=wire.SubscribeCommand(symbols=[instrument.symbol]))
    else:
        stream = streams.books(world, instrument.symbol)
        stream.take()

    def statistics() -> tuple[int | None, int | None]:
        (update,) = [frame.update for frame in stream.take() if frame.update is not None]
        return update.stats.last_trade_qty, update.stats.settlement_set_time

    world.place(instrument, "sell", 40, 7, user=1)
    assert statistics() == (None, None)
    world.place(instrument, "buy", 40, 4)
    assert statistics()[0] == 4 * instrument.qty_scale
    world.advance("5s")
    world.settle(instrument)
    assert statistics() == (4 * instrument.qty_scale, world.now)


# ---- §3.4, §4.3 and §4.4, the exchange


@pytest.mark.spec("S3.4-1")
def test_an_expired_order_leaves_nothing_behind_but_word_of_its_end(world: Desk) -> None:
    """On both APIs: no quantity in any execution, no trade, no row of a ledger, no position."""
    instrument, client = world.quiet(), world.trader()
    account = world.account()
    ending = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-09-08T18:01:00Z"}
    placed = world.place(instrument, "buy", 40, 2, **ending)
    retail = world.customer()
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
    row = world.reported(placed)
    assert (row["state"], row["cumQty"], row["leavesQty"]) == ("ORDER_STATE_EXPIRED", "0", "0")
    message = client.post("/v1/report/executions/search", json={"orderId": placed}).json()
    assert [
        (execution["type"], execution["lastShares"]) for execution in message["executions"]
    ] == [("EXECUTION_TYPE_NEW", "0"), ("EXECUTION_TYPE_EXPIRED", "0")]
    displayed = world.retail_read(mine.json()["id"])
    assert (displayed["state"], displayed["cumQuantity"]) == ("ORDER_STATE_EXPIRED", 0)


@pytest.mark.spec("S4.3-20", "S4.4-3")
def test_an_internal_entry_type_is_aborted_in_downloads_and_streams_too(world: Desk) -> None:
    account = world.account()
    params = {"account": account, "entryTypes": ["DEPOSIT", "NETTING"]}
    refused = world.trader().get("/v1/funding/balance-ledger/download", params=params)
    assert (refused.status, refused.json()["code"]) == (409, 10)
    request = wire.CreateBalanceLedgerSubscriptionRequest(
        account=account, entry_types=[wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING]
    )
    with pytest.raises(RpcError) as aborted:
        world.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)
    assert aborted.value.code == 10


@pytest.mark.spec("S4.4-3")
@pytest.mark.parametrize("whose", ["", "firms/nobody/accounts/none", "another firm's"])
def test_a_ledger_is_streamed_for_one_account_of_the_firm(world: Desk, whose: str) -> None:
    if whose.startswith("another"):
        whose = streams.another_firm(world).users[0].account
    request = wire.CreateBalanceLedgerSubscriptionRequest(account=whose)
    with pytest.raises(RpcError) as refused:
        world.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)
    assert refused.value.code == (7 if whose else 3)
    stream = world.rpc_trader().stream(
        "FundingAPI.CreateBalanceLedgerSubscription",
        wire.CreateBalanceLedgerSubscriptionRequest(account=world.account(1)),
    )
    stream.take()
    instrument = world.quiet()
    world.trade(instrument, 40, 1, buyer=0, seller=2)
    assert [frame for frame in stream.take() if frame.entries] == []  # of other accounts
    world.trade(instrument, 40, 1, buyer=1, seller=2)
    assert [frame for frame in stream.take() if frame.entries] != []


@pytest.mark.spec("S6.2-7")
def test_a_session_is_its_subjects_whatever_token_it_comes_with(world: Desk) -> None:
    first = streams.orders(world)
    world.advance("150s")
    world.forget_tokens()
    second = streams.orders(world)
    assert (first.end, second.end) == ((13, "Subscription manager revoked session"), None)
