"""A client of the exchange like that of a partner, and the bugs that can be planted in it. It does
not know the sandbox: addresses and credentials are arguments.
"""

from __future__ import annotations

import base64
import itertools
import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CREDENTIALS = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class DeskClient:
    """Trades over REST. `bug` is the name of what is wrong with it; "" is the mended client. `now`
    is the exchange's time in seconds.
    """

    _numbers = itertools.count(1)

    def __init__(self, at: dict[str, str], key: dict[str, str], firm: dict[str, Any], bug: str):
        self.at, self.key, self.firm, self.bug = at, key, firm, bug
        self.now = 0.0
        self._token, self._until = "", 0.0
        self.observed: list[tuple[int, Any]] = []

    def request(
        self, plane: str, verb: str, path: str, headers: dict[str, str], body: bytes = b""
    ) -> tuple[int, Any]:
        with closing(HTTPConnection(urlsplit(self.at[plane]).netloc, timeout=10)) as connection:
            connection.request(verb, path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
        is_json = (answer.headers.get_content_type() or "").endswith("json")
        self.observed.append((answer.status, json.loads(content) if is_json else content.decode()))
        return self.observed[-1]

    # ---- retail

    def balance(self) -> tuple[int, Any]:
        path = "/v1/portfolio/positions?limit=5"
        signed = path if self.bug == "signs the query" else path.partition("?")[0]
        stamp = str(int(self.now * (1 if self.bug == "stamps seconds" else 1000)))
        secret = base64.b64decode(self.key["secret_key"])[:32]
        signature = Ed25519PrivateKey.from_private_bytes(secret).sign(
            f"{stamp}GET{signed}".encode()
        )
        headers = {
            "X-PM-Access-Key": self.key["key_id"],
            "X-PM-Timestamp": stamp,
            "X-PM-Signature": base64.b64encode(signature).decode(),
        }
        return self.request("retail", "GET", path, headers)

    # ---- exchange

    def token(self) -> str:
        if self._token and (self.now < self._until or self.bug == "keeps its token"):
            return self._token
        client = self.firm["client_id"]
        audience = self.at["auth"] if self.bug == "names the issuer" else self.firm["audience"]
        claims = {"iss": client, "sub": client, "aud": audience, "iat": int(self.now)}
        lasts = 3_600 if self.bug == "signs for an hour" else 240
        claims |= {"exp": int(self.now) + lasts, "jti": f"{id(self)}-{next(self._numbers)}"}
        key = Path(self.firm["private_key_path"]).read_text()
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_assertion_type": CREDENTIALS,
            "client_assertion": jwt.encode(claims, key, algorithm="RS256"),
            "audience": audience,
        }
        content = {"content-type": "application/x-www-form-urlencoded"}
        status, body = self.request(
            "auth", "POST", "/oauth/token", content, urlencode(form).encode()
        )
        if status == 200:
            self._token, self._until = body["access_token"], self.now + body["expires_in"] - 30
        return self._token

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {self.token()}", "content-type": "application/json"}
        if self.bug != "names nobody":
            headers["x-participant-id"] = self.firm["users"][0]
        return self.request("exchange", "POST", path, headers, json.dumps(body).encode())

    def buy(self, symbol: str, cents: int, contracts: int, scale: int) -> tuple[int, Any]:
        """Buy at a limit; retries once if the exchange is unavailable."""
        if self.bug == "never sends":
            return 0, None
        price = cents if self.bug == "forgets the scale" else cents * scale // 100
        price += self.bug == "quotes off the tick"
        body = {
            "symbol": symbol,
            "side": "SIDE_SELL" if self.bug == "mixes up sides" else "SIDE_BUY",
            "type": "ORDER_TYPE_LIMIT",
            "orderQty": str(contracts * (1_000_000 if self.bug == "buys too much" else 1)),
            "price": str(price),
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            "clordId": f"desk-{id(self)}-1",
        }
        status, answer = self.post("/v1/trading/orders", body)
        if status in (503, 504):
            if self.bug == "orders twice":
                body.pop("clordId")  # a new order, although the first one may be there
            status, answer = self.post("/v1/trading/orders", body)
        return status, answer

    def cancel(self, order_id: str, symbol: str) -> tuple[int, Any]:
        wrong = self.bug == "cancels by its own id"
        number = f"desk-{id(self)}-1" if wrong else order_id
        return self.post("/v1/trading/orders/cancel", {"orderId": number, "symbol": symbol})
