"""Kill a server under load, repeatedly: `python -m tools.soak.kills --rounds 100` (`make soak`).

In a round three clients of one surface place orders until their server is killed, after a number of
answers that the seed determines. Then the journal must replay, line by line, to an exchange that
holds every order that was acknowledged (design D5). The surfaces take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

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
_PATIENCE_S = 60.0


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
            "marketSlug": self._symbol, "intent": "ORDER_INTENT_BUY_LONG", "type": "ORDER_TYPE_LIMIT", "price": {"value": "0.02", "currency": "USD"},
            "quantity": 1, "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }  # fmt: skip
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
            "type": "ORDER_TYPE_LIMIT", "side": "SIDE_BUY", "symbol": self._symbol, "orderQty": "1", "price": "2",
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }  # fmt: skip
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


class Round(NamedTuple):
    """The result of a round: acknowledged orders, those of them that are lost, and replayed
    inputs.
    """

    acknowledged: int
    lost: set[str]
    replayed: int


def kill_round(surface: str, folder: Path, answers: int) -> Round:
    """Kill a server after some answers. Raises Divergence if its journal does not replay."""
    ready_file, journal = folder / "ready.json", folder / "journal.ndjson"
    command = [
        *(sys.executable, "-m", "sim", "serve", "--quiet", "--port-base", "0"),
        *("--clock", "paced:20", "--journal", str(journal), "--ready-file", str(ready_file)),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            started = any(line.startswith(b"try:") for line in process.stdout)
            assert started, "the server did not start"
            acknowledged = _load(surface, json.loads(ready_file.read_text()), process, answers)
        finally:
            process.kill()
    found = replay_file(journal)
    held = {order.id for order in found.simulation.exchange.trading.orders.open()}
    return Round(len(acknowledged), set(acknowledged) - held, found.inputs)


def _load(
    surface: str, ready: dict[str, Any], process: subprocess.Popen[bytes], answers: int
) -> list[str]:
    """Place orders with several clients at once; kill the server meanwhile."""
    symbol = symbol_of(ready)
    acknowledged: list[str] = []
    enough = threading.Event()

    def trade() -> None:
        client: Client | None = None
        while process.poll() is None:
            try:
                client = client or SURFACES[surface](ready, symbol)
                acknowledged.append(client.place())
            except Exception:  # a rate limit, or the server has ended
                continue
            if len(acknowledged) >= answers:
                enough.set()

    threads = [threading.Thread(target=trade) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        assert enough.wait(_PATIENCE_S), f"{surface}: {len(acknowledged)} answers only"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join(_PATIENCE_S)
    return acknowledged


def symbol_of(ready: dict[str, Any]) -> str:
    """Return an open instrument that trades in whole cents and contracts."""
    with urllib.request.urlopen(f"{ready['control']}/_sim/v1/state/instruments") as answer:
        rows = json.load(answer)["instruments"]
    return next(
        row["symbol"]
        for row in rows
        if (row["state"], row["price_scale"], row["fractional_qty_scale"]) == ("OPEN", 100, 1)
    )


def main() -> int:
    """Run the rounds; return 1 if an acknowledged order is lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    random, total, lost = Random(args.seed), 0, 0
    for number in range(args.rounds):
        surface = tuple(SURFACES)[number % len(SURFACES)]
        with TemporaryDirectory(prefix="sim-kill-") as folder:
            done = kill_round(surface, Path(folder), random.randint(1, 120))
        total, lost = total + done.acknowledged, lost + len(done.lost)
        print(
            f"round {number + 1}, {surface}: {done.acknowledged} acknowledged, {len(done.lost)}"
            f" lost, {done.replayed} inputs replayed",
            flush=True,
        )
    print(f"{args.rounds} kills, {total} acknowledged orders, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
