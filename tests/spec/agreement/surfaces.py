"""One exchange and all its surfaces: two participants of two firms with every stream open, and the
streams of the watched markets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any

from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.identity.firms import ApiKey, Firm
from sim.kernel.instants import trade_date
from sim.run.client.client import Http, Rpc, Stream
from tests.kit import Desk, unlimited
from tests.spec.agreement.doors import answers
from tests.spec.agreement.frames import market_frame, own_message, private_frame, shared_message
from tests.spec.agreement.records import records
from tests.spec.agreement.rows import Row

SCENARIO = """
name: truth
extends: quickstart
preset: ideal
assumptions: {funding.step: 10s, reports.bulk_export: served}
world:
  games: 0
  api_keys:
    - key_id: mara
      account: firms/atlas-fcm/accounts/8f3a61c4
      participant: firms/atlas/users/mara-voss
    - key_id: ines
      account: firms/borealis-fcm/accounts/4be19d07
      participant: firms/borealis/users/ines-duarte
"""
# A frame about an event has the state right after it. No frame follows when only time changes it.
_PASSING = ("private socket", "position changes", "markets socket trades")
_CHANGING = ("position", "balance", "market")


# Streams about a participant that are asked for nothing more.
OWN_STREAMS = {
    "order stream": "OrderEntryAPI.CreateOrderSubscription",
    "drop copy": "DropCopyAPI.CreateDropCopySubscription",
    "trade capture": "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "position changes": "DropCopyAPI.CreatePositionChangeSubscription",
    "funding stream": "FundingAPI.CreateFundingTransactionSubscription",
    "RFQ stream": "RFQAPI.StreamRFQEvents",
}


def opened(rpc: Rpc, operation: str, **fields: Any) -> Stream:
    """A stream whose request has these fields."""
    request = getattr(wire, f"{operation.partition('.')[2]}Request")
    return rpc.stream(operation, request(**fields))


class Person:
    """A participant with a retail key for the same account, and all streams about it."""

    def __init__(self, world: Desk, name: str) -> None:
        firms = world.simulation.exchange.firms
        self.world = world
        self.key: ApiKey = next(key for key in firms.api_keys() if key.key_id == name)
        self.account, self.user = self.key.account, self.key.participant
        self.firm: Firm = next(
            firm for firm in firms.all() if any(u.name == self.user for u in firm.users)
        )
        self.retail: Http = world.retail(self.key)
        self.exchange: Http = world.exchange(self.firm, self.user)
        self.rpc: Rpc = world.rpc(self.firm, self.user)
        self.streams: dict[str, Stream] = {}

    def follow(self) -> None:
        """Open all streams of the person that are not open."""
        opens: dict[str, Callable[[], Stream]] = {
            name: partial(opened, self.rpc, operation) for name, operation in OWN_STREAMS.items()
        }
        opens |= {
            "position stream": lambda: opened(
                self.rpc, "PositionAPI.CreatePositionSubscription", accounts=[self.account]
            ),
            "balance ledger stream": lambda: opened(
                self.rpc, "FundingAPI.CreateBalanceLedgerSubscription", account=self.account
            ),
            "private socket": self._private,
        }
        for name, begin in opens.items():
            if name not in self.streams or self.streams[name].end is not None:
                self.streams[name] = begin()

    def _private(self) -> Stream:
        socket = self.world.web_socket(self.key, "/v1/ws/private")
        for type in ("ORDER", "POSITION", "ACCOUNT_BALANCE", "RFQ"):
            subscribe(socket, type)
        return socket


def subscribe(socket: Stream, type: str, **more: Any) -> None:
    """Subscribe to a type of data on a WebSocket."""
    body = {"requestId": type, "subscriptionType": f"SUBSCRIPTION_TYPE_{type}", **more}
    socket.send(json.dumps({"subscribe": body}).encode())


class Surfaces:
    """All surfaces of one exchange; `rows` reads them."""

    def __init__(self, reading: str, symbols: list[str]) -> None:
        scenario = replace(load_scenario(SCENARIO), reading=reading)
        self.journal = BytesIO()
        self.world = Desk(Simulation(scenario, journal=self.journal))
        self.simulation = self.world.simulation
        unlimited(self.simulation)
        self.people = [Person(self.world, name) for name in ("mara", "ines")]
        self.symbols = symbols
        self.events: list[str] = []
        self.streams: dict[str, Stream] = {}
        self.partner: Rpc = self.world.rpc(self.people[0].firm)
        # partner orders, each repeated with its idempotency key, and transfer ids
        self.partner_orders: list[Callable[[], Any]] = []
        self.transfers: list[str] = []
        # last frame of each stream that sends states, by stream and subject
        self.notices: dict[tuple[str, str, str], Row] = {}
        self.today = trade_date(self.simulation.now)
        self.follow()

    def control(self, name: str, subject: str, body: dict[str, Any]) -> Any:
        """A call of the control plane."""
        outcome = self.simulation.control(name, subject, body)
        self.world.absorb(outcome)
        return outcome.value

    def hang_up(self) -> None:
        """Close all streams; `follow` opens them again."""
        for streams in (self.streams, *(person.streams for person in self.people)):
            for stream in streams.values():
                stream.close()
            streams.clear()

    def happened(self) -> set[str]:
        """Return the types of the events in the journal."""
        lines = map(json.loads, self.journal.getvalue().splitlines()[1:])
        return {event["event"] for line in lines for event in line["out"].get("events", ())}

    def watch(self, symbol: str) -> None:
        """Watch another market from now on."""
        self.symbols.append(symbol)
        for stream in self.streams.values():
            stream.close()
        self.streams.clear()
        self.follow()

    def follow(self) -> None:
        """Open the streams that are not open. During maintenance no stream can be open."""
        if self.simulation.exchange.maintenance.active:
            self.notices.clear()
            return
        results = [self.streams, *(person.streams for person in self.people)]
        if not self.streams or any(
            stream.end for streams in results for stream in streams.values()
        ):
            self.notices.clear()  # frames of a stream that has ended are stale
        for person in self.people:
            person.follow()
        symbols, rpc = self.symbols, self.people[0].rpc
        opens: dict[str, Callable[[], Stream]] = {
            "book stream": lambda: opened(
                rpc, "MarketDataSubscriptionAPI.CreateMarketDataSubscription", symbols=symbols
            ),
            "talking book stream": self._talking,
            "instrument stream": lambda: opened(
                rpc, "DropCopyAPI.CreateInstrumentStateChangeSubscription", symbols=symbols
            ),
            "markets socket": self._markets,
        }
        for name, begin in opens.items():
            if name not in self.streams or self.streams[name].end is not None:
                self.streams[name] = begin()

    def _talking(self) -> Stream:
        stream = self.people[0].rpc.stream(
            "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
        )
        begin = wire.BiDirectionalStreamMarketDataRequest(
            subscribe=wire.SubscribeCommand(symbols=self.symbols)
        )
        stream.send(protobuf_encoder(wire.BiDirectionalStreamMarketDataRequest)(begin))
        return stream

    def _markets(self) -> Stream:
        socket = self.world.web_socket(self.people[0].key, "/v1/ws/markets")
        for type in ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE"):
            subscribe(socket, type, marketSlugs=self.symbols)
        return socket

    # ---- reading the surfaces

    def rows(self) -> Iterator[Row]:
        """Return the rows of every surface now. A stream of states counts with its last frame."""
        fresh: set[tuple[str, str, str]] = set()
        passing: dict[tuple[str, str, str], Row] = {}
        for row in self._streamed():
            kept = passing if row.surface in _PASSING and row.kind in _CHANGING else self.notices
            kept[row.surface, row.kind, row.subject] = row
            fresh.add((row.surface, row.kind, row.subject))
        self._forget(fresh)
        yield from self.notices.values()
        yield from passing.values()
        yield from answers(self)
        yield from records(self)

    def as_json(self, message: Any) -> Any:
        """Return a gRPC message in the JSON form of the exchange's REST API."""
        dialect = dialect_at("exchange", self.simulation.now)
        return json.loads(json_encoder(type(message), dialect)(message))

    # ---- new frames since the last read

    def _streamed(self) -> Iterator[Row]:
        for name, stream in self.streams.items():
            for frame in stream.take():
                if name == "markets socket":
                    yield from market_frame(frame)
                else:
                    yield from shared_message(name, self.as_json(frame))
        for person in self.people:
            for name, stream in person.streams.items():
                for frame in stream.take():
                    if name == "private socket":
                        yield from private_frame(person.account, frame)
                    else:
                        yield from own_message(name, person.account, self.as_json(frame))

    def _forget(self, fresh: set[tuple[str, str, str]]) -> None:
        """Remove positions of the day before; mark index values of former states as earlier."""
        for key, row in self.notices.items():
            if key[0] == "instrument stream" and key not in fresh:
                row.value["metadata"]["said"] = "earlier"
        today = trade_date(self.simulation.now)
        if today != self.today:
            self.today = today
            for row in self.notices.values():
                row.value.pop("bodPosition", None)
