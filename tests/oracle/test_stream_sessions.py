"""Random sessions of streams: what each begins with, sends, repeats, and ends with."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import RpcError, Stream
from tests.kit.streams import BIDIRECTIONAL, MARKETS, PRIVATE
from tests.oracle.session import NAMES, SYMBOLS, Session

SUBSCRIPTIONS: dict[str, type] = {
    "OrderEntryAPI.CreateOrderSubscription": wire.CreateOrderSubscriptionRequest,
    "DropCopyAPI.CreateDropCopySubscription": wire.CreateDropCopySubscriptionRequest,
    "DropCopyAPI.CreateTradeCaptureReportSubscription": (
        wire.CreateTradeCaptureReportSubscriptionRequest
    ),
    "DropCopyAPI.CreatePositionChangeSubscription": wire.CreatePositionChangeSubscriptionRequest,
    "DropCopyAPI.CreateInstrumentStateChangeSubscription": (
        wire.CreateInstrumentStateChangeSubscriptionRequest
    ),
    "PositionAPI.CreatePositionSubscription": wire.CreatePositionSubscriptionRequest,
    "FundingAPI.CreateBalanceLedgerSubscription": wire.CreateBalanceLedgerSubscriptionRequest,
    "FundingAPI.CreateFundingTransactionSubscription": (
        wire.CreateFundingTransactionSubscriptionRequest
    ),
    "MarketDataSubscriptionAPI.CreateMarketDataSubscription": (
        wire.CreateMarketDataSubscriptionRequest
    ),
}
MARKET_TYPES = ("MARKET_DATA", "MARKET_DATA", "MARKET_DATA_LITE", "TRADE")
PRIVATE_TYPES = ("ORDER", "POSITION", "ACCOUNT_BALANCE", "ORDER_SNAPSHOT")
# Periods that streams keep to, from the moment at which they are opened.
PERIODS = {
    "stream.heartbeat": ("0s", "700ms", "1s", "1500ms", "7s", "30s"),
    "edge.idle_timeout": ("1700ms", "5s", "40s", "1d"),
    "edge.bidi_idle_timeout": ("70s", "200s"),
    "md.refresh": ("25s", "60s"),
    "md.refresh_everything": (True, False),
    "stream.revocation_scope": ("rpc", "identity"),
    "stream.symbols_spare": ("order_stream", "all"),
    "funding.stream_poll": ("15s", "4s"),
}


class StreamSession(Session):
    """A session of clients that open, use and leave streams of every kind."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        chosen = {name: rng.choice(values) for name, values in PERIODS.items()}
        super().__init__(seed, f"assumptions: {json.dumps(chosen)}\n")
        self.streams: list[Stream] = []
        self.talks: list[Stream] = []
        self.sockets: list[Stream] = []

    def symbols(self) -> list[str]:
        """Return a few symbols, which may stand for all, repeat, or not exist."""
        names = self.rng.choices(SYMBOLS, k=self.choice(0, 1, 1, 2, 3))
        return names + (["nope"] if self.rng.random() < 0.05 else [])

    def options(self) -> dict[str, Any]:
        """Return options of market data."""
        return {
            "depth": self.choice(0, 0, 1, 2, -1),
            "unaggregated": self.rng.random() < 0.3,
            "snapshot_only": self.rng.random() < 0.15,
            "slow_consumer_skip_to_head": self.rng.random() < 0.5,
        }

    def open(self) -> None:
        """Open a stream over gRPC."""
        operation, request = self.choice(*SUBSCRIPTIONS.items())
        user = self.choice(0, 0, 1, 2, None)
        fields: dict[str, Any] = {"symbols": self.symbols(), **self.options()}
        account = f"firms/atlas/accounts/{NAMES[user or 0]}"
        fields |= {"account": account, "accounts": [account][: self.choice(0, 0, 1)]}
        fields = {name: fields[name] for name in request.__struct_fields__ if name in fields}
        with suppress(RpcError):
            self.streams.append(self.rpc(user).stream(operation, request(**fields)))

    def open_talk(self) -> None:
        """Open a market data stream on which the client speaks."""
        self.talks.append(self.rpc().stream(BIDIRECTIONAL))

    def talk(self) -> None:
        """Subscribe, unsubscribe, keep alive, or send nothing of these."""
        if not (live := [stream for stream in self.talks if stream.end is None]):
            return
        command = self.options()
        match self.choice(*"ssssuuuk-"):
            case "s":
                command["subscribe"] = wire.SubscribeCommand(symbols=self.symbols())
            case "u":
                command["unsubscribe"] = wire.UnsubscribeCommand(symbols=self.symbols())
            case "k":
                command["keepalive"] = wire.KeepAliveCommand()
        message = wire.BiDirectionalStreamMarketDataRequest(**command)
        self.rng.choice(live).send(protobuf_encoder(type(message))(message))

    def open_socket(self) -> None:
        """Open a retail socket."""
        key = self.desk.keys[self.rng.randrange(3)]
        self.sockets.append(self.desk.web_socket(key, self.choice(MARKETS, PRIVATE)))

    def frame(self) -> None:
        """Subscribe on a socket, unsubscribe, or send nothing of these."""
        if not (live := [socket for socket in self.sockets if socket.end is None]):
            return
        request: dict[str, Any] = {"requestId": f"r{self.rng.randrange(12)}"}
        if self.rng.random() < 0.15:
            frame = self.choice({"unsubscribe": request}, {"unsubscribe": request}, {})
        else:
            kind = self.choice(*MARKET_TYPES, *PRIVATE_TYPES)
            request |= {"subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
            if self.rng.random() < 0.8:
                request["marketSlugs"] = self.symbols() or [SYMBOLS[0]]
            if self.rng.random() < 0.03:
                request["marketSlugs"] = [SYMBOLS[0]] * self.choice(100, 101)
            if self.rng.random() < 0.3:
                request["responsesDebounced"] = True
            if self.rng.random() < 0.08:
                del request[self.choice("requestId", "subscriptionType")]
            frame = {"subscribe": request}
        self.rng.choice(live).send(json.dumps(frame).encode())

    def close(self) -> None:
        """Leave a stream."""
        every = self.streams + self.talks + self.sockets
        if live := [stream for stream in every if stream.end is None]:
            self.rng.choice(live).close()


@pytest.mark.parametrize("seed", range(8))
def test_streams_of_every_kind_keep_the_law(seed: int) -> None:
    """S1, S2, S5-S13, S15-S18."""
    session = StreamSession(seed)
    session.play(
        150,
        (session.open, 4),
        (session.open_talk, 1),
        (session.talk, 5),
        (session.open_socket, 1),
        (session.frame, 5),
        (session.close, 0.7),
        (session.trade, 7),
        (session.replace, 1),
        (session.wait, 3),
        (session.change_state, 0.2),
        (session.reopen, 0.4),
    )
