"""Snapshot first, then deltas (§6.2): the first frames of every stream agree with the table of
docs/reference/streams.md. The streams are opened on a world with events of all kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, Stream
from tests.journeys import firm, key, quiet, retail_order, rpc_trader
from tests.kit import streams
from tests.oracles.worlds import world_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "streams.md"
TABLE = dict(re.findall(r"^\| (`[^|]*) \| ([^|]*) \| [^|]* \| [^|]* \|$", PAGE.read_text(), re.M))

Open = Callable[[Connection, Instrument], Stream]


def _rpc(operation: str, request: Callable[[Connection, str], Any]) -> Open:
    return lambda world, instrument: rpc_trader(world).stream(
        operation, request(world, instrument.symbol)
    )


def _socket(path: str, kind: str, *, market: bool = True) -> Open:
    def opened(world: Connection, instrument: Instrument) -> Stream:
        stream = streams.socket(world, path)
        slugs = [instrument.symbol] if market else []
        stream.frames = streams.subscribe(stream, "r", kind, slugs)
        return stream

    return opened


def _bidirectional(world: Connection, instrument: Instrument) -> Stream:
    stream = world.rpc(firm(world.simulation)).stream(streams.BIDIRECTIONAL)
    command = wire.SubscribeCommand(symbols=[instrument.symbol])
    stream.frames = streams.talk(stream, subscribe=command)
    return stream


# Stream: how it is opened, and what in its first frames is the state that the page speaks of.
ROWS: dict[str, tuple[Open, Callable[[list[Any]], object]]] = {
    "`CreateOrderSubscription`": (
        _rpc(
            "OrderEntryAPI.CreateOrderSubscription",
            lambda world, symbol: wire.CreateOrderSubscriptionRequest(symbols=[symbol]),
        ),
        lambda frames: frames[0].snapshot.orders,
    ),
    "`CreatePositionSubscription`": (
        _rpc(
            "PositionAPI.CreatePositionSubscription",
            lambda world, symbol: wire.CreatePositionSubscriptionRequest(),
        ),
        lambda frames: frames[0].snapshot.positions,
    ),
    "`CreateInstrumentStateChangeSubscription`": (
        _rpc(
            "DropCopyAPI.CreateInstrumentStateChangeSubscription",
            lambda world, symbol: wire.CreateInstrumentStateChangeSubscriptionRequest(
                symbols=[symbol]
            ),
        ),
        lambda frames: frames[0].instruments,
    ),
    "`CreateMarketDataSubscription`": (
        _rpc(
            "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
            lambda world, symbol: wire.CreateMarketDataSubscriptionRequest(symbols=[symbol]),
        ),
        lambda frames: frames[0].update.bids,
    ),
    "`BiDirectionalStreamMarketData`": (
        _bidirectional,
        lambda frames: frames[0].subscription_ack and frames[1].update.bids,
    ),
    "`CreateBalanceLedgerSubscription`": (
        _rpc(
            "FundingAPI.CreateBalanceLedgerSubscription",
            lambda world, symbol: wire.CreateBalanceLedgerSubscriptionRequest(
                account=firm(world.simulation).users[0].account, resume_time=world.simulation.start
            ),
        ),
        lambda frames: frames[0].entries,
    ),
    "`CreateDropCopySubscription`": (
        _rpc(
            "DropCopyAPI.CreateDropCopySubscription",
            lambda world, symbol: wire.CreateDropCopySubscriptionRequest(),
        ),
        lambda frames: frames,
    ),
    "`CreateTradeCaptureReportSubscription`": (
        _rpc(
            "DropCopyAPI.CreateTradeCaptureReportSubscription",
            lambda world, symbol: wire.CreateTradeCaptureReportSubscriptionRequest(),
        ),
        lambda frames: frames,
    ),
    "`CreatePositionChangeSubscription`": (
        _rpc(
            "DropCopyAPI.CreatePositionChangeSubscription",
            lambda world, symbol: wire.CreatePositionChangeSubscriptionRequest(),
        ),
        lambda frames: frames,
    ),
    "`CreateFundingTransactionSubscription`": (
        _rpc(
            "FundingAPI.CreateFundingTransactionSubscription",
            lambda world, symbol: wire.CreateFundingTransactionSubscriptionRequest(),
        ),
        lambda frames: frames,
    ),
    "`StreamRFQEvents`": (
        _rpc("RFQAPI.StreamRFQEvents", lambda world, symbol: wire.StreamRFQEventsRequest()),
        lambda frames: frames,
    ),
    "`/v1/ws/private` ORDER_SNAPSHOT": (
        _socket(streams.PRIVATE, "ORDER_SNAPSHOT"),
        lambda frames: (
            frames[-1]["orderSubscriptionSnapshot"]["eof"]
            and frames[0]["orderSubscriptionSnapshot"]["orders"]
        ),
    ),
    "`/v1/ws/private` ORDER": (_socket(streams.PRIVATE, "ORDER"), lambda frames: frames),
    "`/v1/ws/private` POSITION": (_socket(streams.PRIVATE, "POSITION"), lambda frames: frames),
    "`/v1/ws/private` ACCOUNT_BALANCE": (
        _socket(streams.PRIVATE, "ACCOUNT_BALANCE", market=False),
        lambda frames: frames[0]["accountBalancesSnapshot"]["balances"],
    ),
    "`/v1/ws/private` RFQ": (_socket(streams.PRIVATE, "RFQ", market=False), lambda frames: frames),
    "`/v1/ws/markets` MARKET_DATA": (
        _socket(streams.MARKETS, "MARKET_DATA"),
        lambda frames: frames[0]["marketData"]["bids"],
    ),
    "`/v1/ws/markets` MARKET_DATA_LITE": (
        _socket(streams.MARKETS, "MARKET_DATA_LITE"),
        lambda frames: frames[0]["marketDataLite"]["longQuote"],
    ),
    "`/v1/ws/markets` TRADE": (_socket(streams.MARKETS, "TRADE"), lambda frames: frames),
}


@pytest.fixture(scope="module")
def busy() -> tuple[Connection, Instrument]:
    """A firm and a retail account each with a trade, a position and an open order."""
    world = world_of()
    instrument = quiet(world.simulation)
    streams.trade(world, instrument, 50, 4)
    retail = world.retail(key(world.simulation))
    for intent, cents in (("BUY_LONG", 60), ("BUY_LONG", 31)):
        if cents == 60:
            streams.place(world, instrument, "sell", 60, 2, user=1)
        body = retail_order(instrument, intent, cents, 2)
        assert retail.post("/v1/orders", json=body).status == 200
    streams.place(world, instrument, "buy", 30, 1)
    streams.place(world, instrument, "sell", 70, 1, user=1)
    world.advance("1s")
    return world, instrument


def test_the_page_and_the_table_above_have_the_same_streams(
    busy: tuple[Connection, Instrument],
) -> None:
    assert set(TABLE) == set(ROWS)
    operations = busy[0].simulation.contract.operations
    served = {f"`{one.rpc}`" for one in operations if one.kind != "unary" and one.grpc}
    downloads = {name for name in served if name.startswith("`Download")}
    assert served - downloads == {name for name in ROWS if "/" not in name}


@pytest.mark.spec("S6.2-1", "S6.2-2", "S6.2-3", "S6.2-4", "S6.2-5", "S6.2-6", "S6.2-8")
@pytest.mark.parametrize("name", ROWS)
def test_a_stream_begins_as_the_page_says(busy: tuple[Connection, Instrument], name: str) -> None:
    world, instrument = busy
    opened, state = ROWS[name]
    stream = opened(world, instrument)
    if TABLE[name].startswith("nothing"):
        assert stream.take() == []
    else:
        assert re.search("snapshot|replay", TABLE[name])
        assert state(stream.take())
    stream.close()


@pytest.mark.spec("S6.2-2", "S6.2-6")
def test_position_changes_begin_with_the_positions_where_that_is_wanted(
    busy: tuple[Connection, Instrument],
) -> None:
    world, instrument = busy
    world.simulation.control("assumption.set", "stream.position_change_snapshot", {"value": True})
    (frame,) = ROWS["`CreatePositionChangeSubscription`"][0](world, instrument).take()
    held = [change.position for change in frame.position_changes]
    account = firm(world.simulation).users[0].account
    rows = {row.symbol: row.net_position for row in held if row.account == account}
    assert rows[instrument.symbol] == 4 * instrument.qty_scale
    world.simulation.control("assumption.set", "stream.position_change_snapshot", {"value": False})
