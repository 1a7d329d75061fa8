"""Random clients that trade and read everything while every stream is open: as a recording and as
a journal.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.run.client.client import RpcError, Stream
from tests.evidence import fresh_session as fresh
from tests.evidence.clients import BOOKS, POSITIONS, Clients, ask
from tests.evidence.in_process import record
from tests.journeys import account

DROP_COPY = "DropCopyAPI.CreateDropCopySubscription"
STREAMS = (
    ("OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()),
    (
        "DropCopyAPI.CreateTradeCaptureReportSubscription",
        wire.CreateTradeCaptureReportSubscriptionRequest(),
    ),
    (POSITIONS, wire.CreatePositionChangeSubscriptionRequest()),
    ("PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()),
)
SOCKETS = (
    ("/v1/ws/private", ("ORDER", "POSITION", "ACCOUNT_BALANCE")),
    ("/v1/ws/markets", ("MARKET_DATA", "TRADE")),
)


class Crowd(fresh.Fresh):
    """Two participants of a firm and a retail trader, in one market of a scenario."""

    def __init__(self, file: Path, seed: int, preset: str = "ideal") -> None:
        scenario = f"name: crowd\nextends: quickstart\npreset: {preset}\n"
        super().__init__(Clients(record(file, scenario, seed)), Random(seed))
        self.simulation = self.clients.world.simulation
        self.copy: Stream | None = None
        self.sockets: list[Stream] = []
        self.follow()

    def follow(self) -> None:
        """Open every stream."""
        symbols = [self.clients.market.symbol]
        books = wire.CreateMarketDataSubscriptionRequest(symbols=symbols)
        for operation, request in (*STREAMS, (BOOKS, books)):
            self.opened(lambda o=operation, r=request: self.clients.rpc.stream(o, r))
        self.resume()
        world = self.clients.world
        for path, kinds in SOCKETS:
            socket = self.opened(lambda p=path: world.web_socket(self.clients.key, p))
            self.sockets += [socket] if socket is not None else []
            for kind in kinds:
                slugs = {} if kind == "ACCOUNT_BALANCE" else {"marketSlugs": symbols}
                if socket is not None and socket.end is None:
                    ask(socket, kind, kind, **slugs)

    def resume(self) -> None:
        """Open the drop copy, or close it and resume it."""
        copy, frames = self.copy, self.copy.frames if self.copy else []
        token = next((frame.resume_token for frame in reversed(frames) if frame.resume_token), b"")
        if copy is not None and copy.end is None:
            copy.close()
        self.wait("1s", "1m")
        request = wire.CreateDropCopySubscriptionRequest(resume_token=token)
        self.copy = self.opened(lambda: self.clients.rpc.stream(DROP_COPY, request))

    def go(self, steps: int) -> None:
        """Perform a number of random actions."""
        acts = (*(fresh.orders, fresh.retail, change) * 2, fresh.crosses, fresh.money, read)
        for _ in range(steps):
            with suppress(RpcError, Refusal):
                self.draw.choice(acts)(self)
            if self.draw.random() < 0.2:
                self.resume()
            self.wait("10ms", "100ms", "1s", "3s", "1m")


def change(crowd: fresh.Fresh) -> None:
    """An order that is replaced, and perhaps canceled."""
    clients, draw, market = crowd.clients, crowd.draw, crowd.clients.market
    named = {"symbol": market.symbol}
    for client, side in ((clients.buyer, "buy"), (clients.seller, "sell")):
        named["orderId"] = clients.order(client, side, draw.randint(45, 55), draw.randint(1, 9))
        price, size = draw.randint(45, 55) * market.price_scale // 100, draw.randint(1, 12)
        terms = {"price": str(price), "orderQty": str(size * market.qty_scale)}
        client.post("/v1/trading/orders/replace", json=named | terms)
        if draw.random() < 0.5:
            client.post("/v1/trading/orders/cancel", json=named)


def read(crowd: fresh.Fresh) -> None:
    """Ledgers and reports."""
    clients, symbol = crowd.clients, {"symbol": crowd.clients.market.symbol}
    for kind in ("orders", "executions", "trades"):
        clients.buyer.post(f"/v1/report/{kind}/search", json=symbol)
    clients.buyer.get("/v1/positions/ledger", params={"account": account(clients.world)})
    clients.retail.get(f"/v1/markets/{clients.market.symbol}/book")
