"""Clients of a served exchange, as partners and retail users write them: tokens, signatures, the
official SDK, identity verification, and a tester's orders. `at` is the fixture, or anything else
with its addresses and credentials; a ready file is one by `Facts`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from polymarket_us import PolymarketUS
from polymarket_us.auth import create_auth_headers

from sim import load_scenario
from sim.run.client.credentials import private_key
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.bodies import APPLICATION
from tests.kit.http import Answer, call

MARKETS = "/v1/ws/markets"
Metadata = tuple[tuple[str, str], ...]


class Facts(SimpleNamespace):
    """The content of a ready file by its keys."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(**facts)


def served_exchange(
    folders: pytest.TempPathFactory, scenario: str = "quickstart"
) -> Iterator[ServedExchange]:
    """For a fixture: an exchange that serves several tests."""
    journal = folders.mktemp("served") / "journal.ndjson"
    exchange = ServedExchange(load_scenario(scenario), journal=journal)
    yield exchange
    exchange.close()


def sdk(at: Any, key: int | dict[str, str] = 0, kind: type = PolymarketUS, **settings: Any) -> Any:
    """The official client with a retail key, or with the key of a number."""
    result = at.api_keys[key] if isinstance(key, int) else key
    return kind(
        key_id=result["key_id"],
        secret_key=result["secret_key"],
        api_base_url=at.retail,
        gateway_base_url=at.gateway,
        **settings,
    )


def signed(at: Any, path: str = MARKETS, verb: str = "GET") -> dict[str, str]:
    """Headers of a call that is signed by the first retail key, at the machine's time."""
    key = at.api_keys[0]
    headers: dict[str, str] = create_auth_headers(key["key_id"], key["secret_key"], verb, path)
    return headers


def web_socket_url(at: Any, path: str = MARKETS) -> str:
    """The address of a WebSocket of the retail API."""
    return f"{at.retail.replace('http', 'ws', 1)}{path}"


def subscription(*symbols: str, kind: str = "MARKET_DATA") -> str:
    """The frame that subscribes to the data of markets."""
    request = {"requestId": "1", "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
    return json.dumps({"subscribe": request | {"marketSlugs": list(symbols)}})


def bearer(at: Any, firm: dict[str, Any] | None = None, audience: str = "") -> Metadata:
    """Metadata of a firm, the first one by default, with a token got as a client gets it; `audience`
    is the issuer signed for if not the one that is asked.
    """
    firm = firm or at.firms[0]
    now = int(time.time())
    claims = {
        "iss": firm["client_id"],
        "sub": firm["client_id"],
        "aud": f"{audience or at.auth}/oauth/token",
        "jti": str(time.time_ns()),
        "iat": now,
        "exp": now + 240,
    }
    private = private_key(Path(firm["private_key_path"]).read_bytes())
    form = {
        "grant_type": "client_credentials",
        "client_id": firm["client_id"],
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(claims, private, algorithm="RS256"),
        "audience": firm["audience"],
    }
    token = call(f"{at.auth}/oauth/token", urlencode(form).encode()).json()["access_token"]
    return (("authorization", f"Bearer {token}"), ("x-participant-id", firm["users"][0]))


def list_market(at: Any, symbol: str, **terms: Any) -> dict[str, Any]:
    """List an open market whose contracts and cents are divisible; its terms."""
    terms = {"state": "OPEN", "tick_size": "0.005", "fractional_qty_scale": 100, **terms}
    listed: dict[str, Any] = at.control("POST", "/instruments", {"symbol": symbol, **terms})
    return listed


def accounts_keys(at: Any, count: int = 2) -> list[dict[str, str]]:
    """A retail key of each of the first accounts."""
    return list({key["account"]: key for key in at.api_keys}.values())[:count]


def place(
    at: Any, symbol: str, side: str, price: str, qty: str = "1", trader: str = "maker", **more: Any
) -> dict[str, Any]:
    """The control plane's answer to an order of one of the tester's own participants."""
    body = {"as": trader, "symbol": symbol, "side": side, "price": price, "qty": qty, **more}
    answer: dict[str, Any] = at.control("POST", "/orders", body)
    return answer


class Partner:
    """The first partner's own small client."""

    def __init__(self, at: Any) -> None:
        self.at = at

    def ask(self, path: str, body: object = None, verb: str | None = None) -> Answer:
        """The answer to a call with a fresh token."""
        return call(f"{self.at.exchange}{path}", body, verb=verb, headers=dict(bearer(self.at)))

    def call(self, verb: str, path: str, body: object = None) -> tuple[int, Any]:
        """(status, decoded body)."""
        answer = self.ask(path, body, verb)
        return answer.status, answer.json()

    def register(self, url: str, signing_secret: str | None = None) -> tuple[int, Any]:
        """Name the receiver of the firm's webhooks."""
        body = {"webhook_url": url} | ({"signing_secret": signing_secret} if signing_secret else {})
        return self.call("POST", "/v1/kyc/webhook", body)

    def start(self, **changes: Any) -> Any:
        """Start the verification of a person who is approved, unless changes say otherwise."""
        status, body = self.call("POST", "/v1/kyc/start", APPLICATION | changes)
        assert status == 200, body
        return body

    def verified(self, url: str, signing_secret: str | None = None, **changes: Any) -> Any:
        """Name a receiver and verify a person, until both know the outcome; the first answer."""
        self.register(url, signing_secret)
        started = self.start(**changes)
        self.at.clock.advance("26m")
        return started

    def status(self, external_id: str = "c-1") -> Any:
        """The state of a verification."""
        return self.call("GET", f"/v1/kyc/status?external_id={external_id}")[1]
