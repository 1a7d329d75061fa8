"""Helpers for tests of streams: opening each stream as a firm's participant, sockets with JSON
frames, and trades to stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.identity.firms import Firm
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, Rpc, Stream
from tests.journeys import enter, firm, key, rpc_trader
from tests.kit.desk import Desk, begin

BIDIRECTIONAL = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
MARKETS, PRIVATE = "/v1/ws/markets", "/v1/ws/private"


def another_firm(world: Connection) -> Firm:
    """A partner with its own users and every scope that streams need."""
    first = firm(world.simulation)
    return next(
        result
        for result in world.simulation.exchange.firms.all()
        if result.client_id and result is not first and len(result.scopes) > 4
    )


TWINS = """\
name: twins
world:
  base: empty
  instruments: [{symbol: one, state: OPEN}]
  firms:
    - name: firms/twin
      key: atlas
      users:
        - {name: ann, account: firms/twin/accounts/one, balance: "100"}
        - {name: bob, account: firms/twin/accounts/one, balance: "100"}
"""


def twins(more: str = "") -> Desk:
    """A world in which the users of the second firm share an account; `more` lines of scenario."""
    return begin(TWINS + more)


def place(
    world: Connection,
    instrument: Instrument,
    side: str,
    cents: int,
    contracts: int = 1,
    *,
    user: int = 0,
    **fields: object,
) -> str:
    """Place an order as a participant of the first partner; return its id."""
    answer = enter(world, instrument, side, cents, contracts, user=user, **fields)
    assert answer.status == 200, answer
    return str(answer.json()["orderId"])


def trade(
    world: Connection,
    instrument: Instrument,
    cents: int = 40,
    contracts: int = 1,
    *,
    buyer: int = 0,
    seller: int = 1,
) -> None:
    """Two participants of the first partner trade; the seller rests."""
    place(world, instrument, "sell", cents, contracts, user=seller)
    place(world, instrument, "buy", cents, contracts, user=buyer)


def orders(world: Connection, user: int = 0, **fields: Any) -> Stream:
    """An order stream."""
    return rpc_trader(world, user).stream(
        "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest(**fields)
    )


def drop_copy(world: Connection, user: int = 0, **fields: Any) -> Stream:
    """A drop copy stream."""
    return rpc_trader(world, user).stream(
        "DropCopyAPI.CreateDropCopySubscription", wire.CreateDropCopySubscriptionRequest(**fields)
    )


def trades(world: Connection, user: int = 0, **fields: Any) -> Stream:
    """A trade capture stream."""
    request = wire.CreateTradeCaptureReportSubscriptionRequest(**fields)
    return rpc_trader(world, user).stream(
        "DropCopyAPI.CreateTradeCaptureReportSubscription", request
    )


def position_changes(world: Connection, user: int = 0, **fields: Any) -> Stream:
    """A position change stream."""
    return rpc_trader(world, user).stream(
        "DropCopyAPI.CreatePositionChangeSubscription",
        wire.CreatePositionChangeSubscriptionRequest(**fields),
    )


def books(world: Connection, *symbols: str, client: Rpc | None = None, **fields: Any) -> Stream:
    """A market data stream of the first partner, which needs no participant."""
    result = client or world.rpc(firm(world.simulation))
    request = wire.CreateMarketDataSubscriptionRequest(symbols=list(symbols), **fields)
    return result.stream("MarketDataSubscriptionAPI.CreateMarketDataSubscription", request)


def instruments(world: Connection, *symbols: str, **fields: Any) -> Stream:
    """An instrument state stream."""
    request = wire.CreateInstrumentStateChangeSubscriptionRequest(symbols=list(symbols), **fields)
    return world.rpc(firm(world.simulation)).stream(
        "DropCopyAPI.CreateInstrumentStateChangeSubscription", request
    )


def talk(stream: Stream, **command: Any) -> list[Any]:
    """Send a frame on a bidirectional market data stream; return the answer."""
    stream.send(
        protobuf_encoder(wire.BiDirectionalStreamMarketDataRequest)(
            wire.BiDirectionalStreamMarketDataRequest(**command)
        )
    )
    return stream.take()


def socket(world: Connection, path: str, index: int = 0) -> Stream:
    """A retail WebSocket."""
    return world.web_socket(key(world.simulation, index), path)


def ask(stream: Stream, frame: object) -> list[Any]:
    """Send a JSON frame; return the answer."""
    stream.send(frame if isinstance(frame, bytes) else json.dumps(frame).encode())
    return stream.take()


def subscribe(
    stream: Stream, request_id: str, type: str, slugs: Iterable[str] = (), **fields: object
) -> list[Any]:
    """Subscribe on a socket as the public client does; return the answer."""
    body = {"requestId": request_id, "subscriptionType": f"SUBSCRIPTION_TYPE_{type}", **fields}
    result = list(slugs)
    return ask(stream, {"subscribe": {**body, "marketSlugs": result} if result else body})


# ---- what came on a stream


def states_on(stream: Stream) -> list[tuple[str, str]]:
    """(symbol, state) of the instruments on an instrument state stream."""
    return [
        (row.symbol, wire.InstrumentState(row.state).name.removeprefix("INSTRUMENT_STATE_"))
        for frame in stream.take()
        for row in frame.instruments
    ]


def executions_on(stream: Stream) -> list[wire.Execution]:
    """The executions on a drop copy or an order stream."""
    updates = [getattr(frame, "update", frame) for frame in stream.take()]
    return [row for update in updates if update is not None for row in update.executions]


def kinds_on(stream: Stream) -> list[tuple[str, str, int]]:
    """(client order id, type, quantity filled by it) of the executions on such a stream."""
    return [(row.order.clord_id, kind_of(row), row.last_shares) for row in executions_on(stream)]


def fills_on(stream: Stream) -> list[tuple[int, int]]:
    """(price, quantity) of the trades on such a stream, each once."""
    fills = {row.trade_id: (row.last_px, row.last_shares) for row in executions_on(stream)}
    return [fill for trade, fill in fills.items() if trade]


def kind_of(execution: wire.Execution) -> str:
    """The type of an execution, such as "FILL"."""
    return wire.ExecutionType(execution.type).name.removeprefix("EXECUTION_TYPE_")
