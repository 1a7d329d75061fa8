"""kill -9 in the middle of load: the journal left behind replays, and holds everything that was
acknowledged (design D5).
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session
from polymarket_us import PolymarketUS

from sim.analysis.replay import replay, simulation_at
from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.messages.exchange_v1 import InsertOrderRequest, InsertOrderResponse
from tests.server.stock_oauth import FiveMinutes


@pytest.fixture
def served(tmp_path: Path):
    """A server process with a journal: (process, ready file's content, journal)."""
    ready, journal = tmp_path / "ready.json", tmp_path / "journal.ndjson"
    command = [
        sys.executable,
        "-m",
        "sim",
        "serve",
        "--port-base",
        "0",
        "--clock",
        "paced:20",
        "--journal",
        str(journal),
        "--ready-file",
        str(ready),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(b"try:"):
            break
    yield process, json.loads(ready.read_text()), journal
    process.kill()
    process.wait()


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
    """A bearer token of the first partner, by authlib, and a participant of it."""
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


@pytest.mark.parametrize("surface", [Retail, Rest, Grpc])
def test_orders_taken_on_a_surface_survive_the_kill(served, surface) -> None:
    """Three clients at once until the process is gone: what was answered is in the journal, and the
    exchange it replays to still has it.
    """
    process, ready, journal = served
    rows = json.load(urllib.request.urlopen(f"{ready['control']}/_sim/v1/state/instruments"))[
        "instruments"
    ]
    symbol = next(
        row["symbol"]
        for row in rows
        if (row["state"], row["price_scale"], row["fractional_qty_scale"]) == ("OPEN", 100, 1)
    )
    acknowledged: list[str] = []
    enough = threading.Event()

    def trade() -> None:
        client = surface(ready, symbol)
        while True:
            try:
                acknowledged.append(client.place())
            except Exception:  # a limit, or the server is gone
                if process.poll() is not None:
                    return
            if len(acknowledged) > 60:
                enough.set()

    threads = [threading.Thread(target=trade) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    os.kill(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    found = simulation_at(journal)
    assert len(acknowledged) > 60
    assert {order.id for order in found.exchange.trading.orders.open()} >= set(acknowledged)


def test_what_was_acknowledged_before_the_kill_is_in_the_journal_and_it_replays(served) -> None:
    process, addresses, journal = served
    acknowledged: list[tuple[str, str]] = []
    enough = threading.Event()

    def trade(symbol: str) -> None:
        """Place orders by the control plane and read the public book, until the server is gone."""
        number = 0
        while True:
            number += 1
            order = {
                "as": "maker",
                "symbol": symbol,
                "side": "buy",
                "price": "0.02",
                "qty": str(number),
            }
            try:
                request = urllib.request.Request(
                    f"{addresses['control']}/_sim/v1/orders", json.dumps(order).encode()
                )
                with urllib.request.urlopen(request, timeout=5) as answer:
                    acknowledged.append(("order", json.load(answer)["order_id"]))
                with urllib.request.urlopen(
                    f"{addresses['gateway']}/v1/health", timeout=5
                ) as answer:
                    acknowledged.append(("call", answer.headers["x-request-id"]))
            except urllib.error.HTTPError as refused:
                # a rate limit is an answer like any other
                acknowledged.append(("call", refused.headers["x-request-id"]))
            except OSError:
                return
            if len(acknowledged) > 150:
                enough.set()

    threads = [
        threading.Thread(target=trade, args=(symbol,))
        for symbol in addresses["symbols"]["open"][:3]
    ]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    os.kill(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    out = io.StringIO()
    assert replay(str(journal), None, out) == 0, out.getvalue()
    lines = [json.loads(line) for line in journal.read_bytes().split(b"\n")[1:-1]]
    placed = {
        event["execution"]["order"]["id"]
        for line in lines
        for event in line["out"].get("events", ())
        if "execution" in event
    }
    assert {name for kind, name in acknowledged if kind == "order"} <= placed
    assert {int(name, 16) for kind, name in acknowledged if kind == "call"} <= {
        line["seq"] for line in lines if line["input"]["type"] == "rest"
    }
