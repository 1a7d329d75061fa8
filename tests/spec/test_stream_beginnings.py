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
from sim.run.client.client import Stream
from tests.kit import Desk, begin, streams

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "streams.md"
TABLE = dict(re.findall(r"^\| (`[^|]*) \| ([^|]*) \| [^|]* \| [^|]* \|$", PAGE.read_text(), re.M))

Open = Callable[[Desk, Instrument], Stream]


def _rpc(operation: str, **fields: Any) -> Open:
    request = getattr(wire, f"{operation.partition('.')[2]}Request")
    return lambda desk, instrument: desk.rpc_trader().stream(operation, request(**fields))


def _socket(path: str, kind: str, *, market: bool = True) -> Open:
    def opened(desk: Desk, instrument: Instrument) -> Stream:
        stream = streams.socket(desk, path)
        slugs = [instrument.symbol] if market else []
        stream.frames = streams.subscribe(stream, "r", kind, slugs)
        return stream

    return opened


def _bidirectional(desk: Desk, instrument: Instrument) -> Stream:
    stream = desk.rpc_partner.stream(streams.BIDIRECTIONAL)
    command = wire.SubscribeCommand(symbols=[instrument.symbol])
    stream.frames = streams.talk(stream, subscribe=command)
    return stream


def _ledger(desk: Desk, instrument: Instrument) -> Stream:
    request = wire.CreateBalanceLedgerSubscriptionRequest(
        account=desk.account(), resume_time=desk.simulation.start
    )
    return desk.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)


# Stream: how it is opened, and what in its first frames is the state that the page speaks of, for
# those that begin with one.
ROWS: dict[str, tuple[Open, Callable[[list[Any]], object] | None]] = {
    "`CreateOrderSubscription`": (
        lambda desk, instrument: streams.orders(desk, symbols=[instrument.symbol]),
        lambda frames: frames[0].snapshot.orders,
    ),
    "`CreatePositionSubscription`": (
        _rpc("PositionAPI.CreatePositionSubscription"),
        lambda frames: frames[0].snapshot.positions,
    ),
    "`CreateInstrumentStateChangeSubscription`": (
        lambda desk, instrument: streams.instruments(desk, instrument.symbol),
        lambda frames: frames[0].instruments,
    ),
    "`CreateMarketDataSubscription`": (
        lambda desk, instrument: streams.books(desk, instrument.symbol),
        lambda frames: frames[0].update.bids,
    ),
    "`BiDirectionalStreamMarketData`": (
        _bidirectional,
        lambda frames: frames[0].subscription_ack and frames[1].update.bids,
    ),
    "`CreateBalanceLedgerSubscription`": (_ledger, lambda frames: frames[0].entries),
    "`CreateDropCopySubscription`": (_rpc("DropCopyAPI.CreateDropCopySubscription"), None),
    "`CreateTradeCaptureReportSubscription`": (
        _rpc("DropCopyAPI.CreateTradeCaptureReportSubscription"),
        None,
    ),
    "`CreatePositionChangeSubscription`": (
        _rpc("DropCopyAPI.CreatePositionChangeSubscription"),
        None,
    ),
    "`CreateFundingTransactionSubscription`": (
        _rpc("FundingAPI.CreateFundingTransactionSubscription"),
        None,
    ),
    "`StreamRFQEvents`": (_rpc("RFQAPI.StreamRFQEvents"), None),
    "`/v1/ws/private` ORDER_SNAPSHOT": (
        _socket(streams.PRIVATE, "ORDER_SNAPSHOT"),
        lambda frames: (
            frames[-1]["orderSubscriptionSnapshot"]["eof"]
            and frames[0]["orderSubscriptionSnapshot"]["orders"]
        ),
    ),
    "`/v1/ws/private` ORDER": (_socket(streams.PRIVATE, "ORDER"), None),
    "`/v1/ws/private` POSITION": (_socket(streams.PRIVATE, "POSITION"), None),
    "`/v1/ws/private` ACCOUNT_BALANCE": (
        _socket(streams.PRIVATE, "ACCOUNT_BALANCE", market=False),
        lambda frames: frames[0]["accountBalancesSnapshot"]["balances"],
    ),
    "`/v1/ws/private` RFQ": (_socket(streams.PRIVATE, "RFQ", market=False), None),
    "`/v1/ws/markets` MARKET_DATA": (
        _socket(streams.MARKETS, "MARKET_DATA"),
        lambda frames: frames[0]["marketData"]["bids"],
    ),
    "`/v1/ws/markets` MARKET_DATA_LITE": (
        _socket(streams.MARKETS, "MARKET_DATA_LITE"),
        lambda frames: frames[0]["marketDataLite"]["longQuote"],
    ),
    "`/v1/ws/markets` TRADE": (_socket(streams.MARKETS, "TRADE"), None),
}


@pytest.fixture(scope="module")
def busy() -> tuple[Desk, Instrument]:
    """A firm and a retail account each with a trade, a position and an open order."""
    world = begin(limits=False)
    instrument = world.quiet()
    world.trade(instrument, 50, 4)
    world.place(instrument, "sell", 60, 2, user=1)
    for cents in (60, 31):
        world.retail_place(instrument, "BUY_LONG", cents, 2)
    world.place(instrument, "buy", 30, 1)
    world.place(instrument, "sell", 70, 1, user=1)
    world.advance("1s")
    return world, instrument


def test_the_page_and_the_table_above_have_the_same_streams(busy: tuple[Desk, Instrument]) -> None:
    assert set(TABLE) == set(ROWS)
    operations = busy[0].simulation.contract.operations
    served = {
        f"`{operation.rpc}`"
        for operation in operations
        if operation.kind != "unary" and operation.grpc
    }
    downloads = {name for name in served if name.startswith("`Download")}
    assert served - downloads == {name for name in ROWS if "/" not in name}


@pytest.mark.spec("S6.2-1", "S6.2-2", "S6.2-3", "S6.2-4", "S6.2-5", "S6.2-6", "S6.2-8")
@pytest.mark.parametrize("name", ROWS)
def test_a_stream_begins_as_the_page_says(busy: tuple[Desk, Instrument], name: str) -> None:
    world, instrument = busy
    opened, state = ROWS[name]
    stream = opened(world, instrument)
    if state is None:
        assert TABLE[name].startswith("nothing")
        assert stream.take() == []
    else:
        assert re.search("snapshot|replay", TABLE[name])
        assert state(stream.take())
    stream.close()
