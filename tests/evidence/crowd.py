"""Random clients that trade and read everything, as a recording and as a journal."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from sim import load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.evidence.recording.files import RecordingFile
from sim.evidence.recording.writer import RecordingWriter
from sim.run.client.client import RpcError, Stream
from tests.evidence.in_process import RecordedConnection, RecordedSimulation
from tests.journeys import firm, key, order, quiet, retail_order

STREAMS = (
    ("OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()),
    ("DropCopyAPI.CreateDropCopySubscription", wire.CreateDropCopySubscriptionRequest()),
    (
        "DropCopyAPI.CreateTradeCaptureReportSubscription",
        wire.CreateTradeCaptureReportSubscriptionRequest(),
    ),
    (
        "DropCopyAPI.CreatePositionChangeSubscription",
        wire.CreatePositionChangeSubscriptionRequest(),
    ),
    ("PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()),
)
SOCKETS = (
    ("/v1/ws/private", ("ORDER", "POSITION", "ACCOUNT_BALANCE")),
    ("/v1/ws/markets", ("MARKET_DATA", "TRADE")),
)


class Crowd:
    """Two participants of a firm and a retail trader, in one market of a scenario."""

    def __init__(self, file: Path, seed: int, preset: str = "ideal", more: str = "") -> None:
        self.draw = random.Random(seed)
        scenario = load_scenario(f"name: crowd\nextends: quickstart\npreset: {preset}\n{more}")
        self.simulation = RecordedSimulation(scenario, seed=seed, journal=BytesIO())
        self.simulation.writer = RecordingWriter(
            RecordingFile(file, {"exchange": "http://in-process"})
        )
        self.simulation.open_streams, self.simulation.held = {}, {}
        self.world = world = RecordedConnection(self.simulation)
        self.market = self.simulation.exchange.instruments.require(quiet(self.simulation).symbol)
        partner = firm(self.simulation)
        self.users = [user.name for user in partner.users[:2]]
        self.rest = [world.exchange(partner, user) for user in self.users]
        self.rpc = [world.rpc(partner, user) for user in self.users]
        self.retail = world.retail(key(self.simulation))
        self.mine: list[list[str]] = [[] for _ in self.users]
        self.theirs: list[str] = []
        self.streams: list[Stream] = []
        self.copy: Stream | None = None
        self.follow()

    def follow(self) -> None:
        """Open every stream."""
        for rpc in self.rpc:
            for operation, request in STREAMS:
                self._try(lambda rpc=rpc, o=operation, r=request: self._open(rpc, o, r))
        books = wire.CreateMarketDataSubscriptionRequest(symbols=[self.market.symbol])
        operation = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
        self._try(lambda: self._open(self.rpc[0], operation, books))
        for path, kinds in SOCKETS:
            socket = self.world.web_socket(key(self.simulation), path)
            for kind in kinds:
                asked: dict[str, Any] = {
                    "requestId": kind,
                    "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}",
                }
                if kind != "ACCOUNT_BALANCE":
                    asked["marketSlugs"] = [self.market.symbol]
                if socket.end is None:
                    socket.send(json.dumps({"subscribe": asked}).encode())

    def _open(self, rpc: Any, operation: str, request: Any) -> None:
        stream = rpc.stream(operation, request)
        self.streams.append(stream)
        if "CreateDropCopySubscription" in operation and rpc is self.rpc[0]:
            self.copy = stream

    def _try(self, act: Callable[[], object]) -> None:
        with contextlib.suppress(RpcError, Refusal):
            act()

    # ---- one thing after the other

    def go(self, steps: int) -> None:
        """Perform a number of random actions."""
        acts = (
            *(self.place,) * 6,
            *(self.trade_retail,) * 4,
            *(self.cancel, self.replace, self.cancel_retail),
            *(self.look,) * 4,
            *(self.wait,) * 5,
            self.resume,
        )
        for _ in range(steps):
            self._try(self.draw.choice(acts))

    def wait(self) -> None:
        self.world.advance(self.draw.choice(("10ms", "100ms", "1s", "3s", "1m")))

    def place(self) -> None:
        who, side = self.draw.randrange(2), self.draw.choice(("buy", "sell"))
        cents, contracts = self.draw.randint(45, 55), self.draw.randint(1, 9)
        body = order(self.market, side, cents, contracts)
        answer = self.rest[who].post("/v1/trading/orders", json=body)
        if answer.status == 200:
            self.mine[who].append(answer.json()["orderId"])

    def trade_retail(self) -> None:
        intent = self.draw.choice(("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT"))
        cents, contracts = self.draw.randint(45, 55), self.draw.randint(1, 5)
        body = retail_order(self.market, intent, cents, contracts)
        answer = self.retail.post("/v1/orders", json=body)
        if answer.status == 200:
            self.theirs.append(answer.json()["id"])

    def cancel(self) -> None:
        who = self.draw.randrange(2)
        if self.mine[who]:
            body = {"orderId": self.draw.choice(self.mine[who]), "symbol": self.market.symbol}
            self.rest[who].post("/v1/trading/orders/cancel", json=body)

    def replace(self) -> None:
        who = self.draw.randrange(2)
        if self.mine[who]:
            body = {
                "orderId": self.draw.choice(self.mine[who]),
                "symbol": self.market.symbol,
                "price": str(self.draw.randint(45, 55) * self.market.price_scale // 100),
                "orderQty": str(self.draw.randint(1, 12) * self.market.qty_scale),
            }
            self.rest[who].post("/v1/trading/orders/replace", json=body)

    def cancel_retail(self) -> None:
        if self.theirs:
            path = f"/v1/order/{self.draw.choice(self.theirs)}/cancel"
            self.retail.post(path, json={"marketSlug": self.market.symbol})

    def look(self) -> None:
        """Read something at random."""
        who, symbol = self.draw.randrange(2), self.market.symbol
        rest = self.rest[who]
        account = self.simulation.world.parties.user(self.users[who]).account  # type: ignore[union-attr]
        questions: tuple[Callable[[], object], ...] = (
            lambda: rest.get("/v1/trading/orders/open"),
            lambda: rest.get(f"/v1/orderbook/{symbol}"),
            lambda: rest.get("/v1/positions", params={"name": account}),
            lambda: rest.get("/v1/positions/ledger", params={"account": account}),
            lambda: rest.get("/v1/funding/balance-ledger", params={"account": account}),
            lambda: rest.post("/v1/report/orders/search", json={"symbol": symbol}),
            lambda: rest.post("/v1/report/executions/search", json={"symbol": symbol}),
            lambda: rest.post("/v1/report/trades/search", json={"symbol": symbol}),
            lambda: self.retail.get("/v1/orders/open"),
            lambda: self.retail.get(f"/v1/markets/{symbol}/book"),
            lambda: self.retail.get("/v1/portfolio/positions"),
            lambda: self.retail.get("/v1/portfolio/activities"),
        )
        self.draw.choice(questions)()

    def resume(self) -> None:
        """Close the drop copy and resume it."""
        copy = self.copy
        if copy is None or copy.end is not None:
            return
        token = next((one.resume_token for one in reversed(copy.frames) if one.resume_token), b"")
        copy.close()
        request = wire.CreateDropCopySubscriptionRequest(resume_token=token)
        self.wait()
        self.copy = self.rpc[0].stream("DropCopyAPI.CreateDropCopySubscription", request)
