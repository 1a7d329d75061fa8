"""A served exchange under the load of clients that place orders, and what its journal holds of them
afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Protocol

import grpc
import requests
from authlib.integrations.requests_client import OAuth2Session
from polymarket_us import PolymarketUS

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages.exchange_v1 import InsertOrderRequest, InsertOrderResponse
from sim.read.replay import replay_file
from tests.server.stock_oauth import FiveMinutes

ROOT = Path(__file__).parents[2]
CLIENTS = 3
PATIENCE_S = 60.0


class Client(Protocol):
    """A client of a surface."""

    def place(self) -> str:
        """Place an order that rests; return its id when it is acknowledged."""


class Retail:
    """The official SDK."""

    def __init__(self, ready: dict[str, Any], symbol: str) -> None:
        key = ready["api_keys"][0]
        self._symbol = symbol
        self._client = PolymarketUS(
            key_id=key["key_id"],
            secret_key=key["secret_key"],
            api_base_url=ready["retail"],
            gateway_base_url=ready["gateway"],
            max_retries=0,
            timeout=5,
        )

    def place(self) -> str:
        order = {
            "marketSlug": self._symbol,
            "intent": "ORDER_INTENT_BUY_LONG",
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": "0.02", "currency": "USD"},
            "quantity": 1,
            "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }
        return str(self._client.orders.create(order)["id"])


def token_of(ready: dict[str, Any]) -> tuple[str, str]:
    """Return a token of the first partner, fetched by authlib, and one of its participants."""
    firm, endpoint = ready["firms"][0], f"{ready['auth']}/oauth/token"
    key = Path(firm["private_key_path"]).read_text()
    session = OAuth2Session(
        firm["client_id"], key, token_endpoint_auth_method=FiveMinutes(endpoint, alg="RS256")
    )
    return (
        session.fetch_token(
            endpoint,
            grant_type="client_credentials",
            client_id=firm["client_id"],
            audience=firm["audience"],
        )["access_token"],
        firm["users"][0],
    )


class Rest:
    """A partner over REST, by requests."""

    def __init__(self, ready: dict[str, Any], symbol: str) -> None:
        token, user = token_of(ready)
        self._at, self._symbol = ready["exchange"], symbol
        self._session = requests.Session()
        self._session.headers.update({"Authorization": f"Bearer {token}", "x-participant-id": user})

    def place(self) -> str:
        order = {
            "type": "ORDER_TYPE_LIMIT",
            "side": "SIDE_BUY",
            "symbol": self._symbol,
            "orderQty": "1",
            "price": "2",
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }
        answer = self._session.post(f"{self._at}/v1/trading/orders", json=order, timeout=5)
        answer.raise_for_status()
        return str(answer.json()["orderId"])


class Grpc:
    """A partner over gRPC."""

    def __init__(self, ready: dict[str, Any], symbol: str) -> None:
        token, user = token_of(ready)
        self._metadata = (("authorization", f"Bearer {token}"), ("x-participant-id", user))
        self._call = grpc.insecure_channel(ready["grpc"]).unary_unary(
            "/exchange.v1.OrderEntryAPI/InsertOrder"
        )
        order = InsertOrderRequest(
            type=2, side=1, symbol=symbol, order_qty=1, price=2, time_in_force=2
        )
        self._message = protobuf_encoder(InsertOrderRequest)(order)

    def place(self) -> str:
        answer = self._call(self._message, metadata=self._metadata, timeout=5)
        return str(protobuf_decoder(InsertOrderResponse)(answer).order_id)


SURFACES: dict[str, Callable[[dict[str, Any], str], Client]] = {
    "retail REST": Retail,
    "exchange REST": Rest,
    "gRPC": Grpc,
}


def symbol_of(ready: dict[str, Any]) -> str:
    """Return an open instrument that trades in whole cents and contracts."""
    with urllib.request.urlopen(f"{ready['control']}/_sim/v1/state/instruments") as answer:
        rows = json.load(answer)["instruments"]
    return next(
        row["symbol"]
        for row in rows
        if (row["state"], row["price_scale"], row["fractional_qty_scale"]) == ("OPEN", 100, 1)
    )


class Server:
    """A process that serves an exchange, with its journal."""

    def __init__(self, folder: Path, *program: str) -> None:
        """Start `program`, the command line itself if there is none."""
        self.journal, ready = folder / "journal.ndjson", folder / "ready.json"
        command = [
            *(sys.executable, *(program or ("-m", "sim")), "serve", "--quiet"),
            *("--port-base", "0", "--clock", "paced:20", "--journal", str(self.journal)),
            *("--ready-file", str(ready)),
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        assert self.process.stdout is not None
        if not any(line.startswith(b"try:") for line in self.process.stdout):
            raise AssertionError("the server did not start")
        self.ready: dict[str, Any] = json.loads(ready.read_text())

    @property
    def over(self) -> bool:
        """Return whether the process has ended."""
        return self.process.poll() is not None


class Load:
    """Three clients that place orders until `stop`."""

    def __init__(self, server: Server, surface: str) -> None:
        self._server, self._surface = server, surface
        self._symbol = symbol_of(server.ready)
        self.acknowledged: list[str] = []
        self.ending = False
        self._more = threading.Condition()
        self._threads = [threading.Thread(target=self._trade) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _trade(self) -> None:
        client = None
        while not self.ending and not self._server.over:
            try:
                client = client or SURFACES[self._surface](self._server.ready, self._symbol)
                placed = client.place()
            except Exception:  # a rate limit, no resources, or the server has ended
                client = None if self._server.over else client
                continue
            with self._more:
                self.acknowledged.append(placed)
                self._more.notify_all()

    def wait(self, count: int, seconds: float = PATIENCE_S) -> bool:
        """Return whether a number of further orders is acknowledged before a timeout or the end."""
        until, most = len(self.acknowledged) + count, time.monotonic() + seconds
        with self._more:
            while len(self.acknowledged) < until:
                if self._server.over or time.monotonic() > most:
                    return False
                self._more.wait(0.2)
        return True

    def stop(self) -> None:
        """Stop the clients."""
        self.ending = True
        for thread in self._threads:
            thread.join(PATIENCE_S)


def lost_orders(journal: Path, acknowledged: Collection[str]) -> tuple[set[str], int]:
    """Return the acknowledged orders that a journal does not hold, and its inputs.

    Raises Divergence if the journal does not replay.
    """
    replayed = replay_file(journal)
    held = {order.id for order in replayed.simulation.exchange.trading.orders.open()}
    return set(acknowledged) - held, replayed.inputs
