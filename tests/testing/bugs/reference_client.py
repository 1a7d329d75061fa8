"""A small client with switches: each is a mistake that clients of exchanges are known to make.

`test_client_bugs.py` explores it with faults. It imports nothing of the sandbox.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MEMBERS = {
    *("ORDER_STATE_NEW", "ORDER_STATE_PARTIALLY_FILLED", "ORDER_STATE_FILLED"),
    *("ORDER_SIDE_BUY", "ORDER_SIDE_SELL", "ORDER_TYPE_LIMIT", "ORDER_TYPE_MARKET"),
    *("ORDER_INTENT_BUY_LONG", "ORDER_INTENT_SELL_LONG", "ORDER_ACTION_BUY", "ORDER_ACTION_SELL"),
    *("TIME_IN_FORCE_GOOD_TILL_CANCEL", "TIME_IN_FORCE_DAY"),
}
FIELDS = {"orders", "nextCursor", "cursor", "eof"}
READS = [
    *("no timeout", "no retry", "no retry after reset", "no retry after timeout"),
    *("no retry after half an answer", "no retry after 5xx", "no retry after 429"),
    *("Retry-After is an integer", "status is ignored", "only 503 is tried again"),
    *("unknown member stops", "unknown field stops", "every field is there", "no field is null"),
    *("numbers are numbers", "a short list is believed", "one retry in all"),
]
WRITES = [
    *("write again blindly", "lost write is done", "lost write is not done", "write has an id"),
    *("write again after reset", "write again after timeout", "write again after half an answer"),
    *("write again after 504", "id is not null", "write has no timeout", "429 is final"),
]
PAGES = ["cursor is new", "empty page is the end", "page is complete", "pages have no timeout"]
HOOKS = [
    *("event comes once", "event comes", "age is no matter", "bytes are written again"),
    *("type is known", "fields are fixed", "participant is there", "null is a participant"),
]
BUGS = {"read": READS, "write": WRITES, "page": PAGES, "hook": HOOKS}
TRIES = 4
SYMBOLS = ("bugs", "bugs-2", "bugs-3", "bugs-4", "bugs-5")


class Failed(Exception):
    """The client gave up."""


class Client:
    """A client of the retail API with the mistakes in `bugs`."""

    def __init__(self, exchange: Any, bug: str = "") -> None:
        self.bug = bug
        self.base, key = exchange.retail, exchange.api_keys[0]
        self.exchange = exchange
        self._key_id = key["key_id"]
        seed = base64.b64decode(key["secret_key"])[:32]
        self._private = Ed25519PrivateKey.from_private_bytes(seed)

    def _headers(self, verb: str, path: str) -> dict[str, str]:
        now = self.exchange.clock.now
        stamp = str(int(now.timestamp() * 1000))
        signed = self._private.sign(f"{stamp}{verb}{path}".encode())
        return {
            "X-PM-Access-Key": self._key_id,
            "X-PM-Timestamp": stamp,
            "X-PM-Signature": base64.b64encode(signed).decode(),
        }

    def send(self, verb: str, path: str, body: Any = None, query: str = "") -> requests.Response:
        """One attempt."""
        unlimited = {"no timeout": "GET", "write has no timeout": "POST"}.get(self.bug) == verb
        headers = self._headers(verb, path)
        limit = None if unlimited else 0.4
        return requests.request(
            verb, f"{self.base}{path}{query}", json=body, headers=headers, timeout=limit
        )

    # ---- reading

    def read(self, path: str, query: str = "") -> Any:
        """A read, tried again."""
        tries = {"no retry": 1, "one retry in all": 2}.get(self.bug, TRIES)
        for _ in range(tries):
            try:
                answer = self.send("GET", path, query=query)
            except requests.Timeout:
                if self.bug == "no retry after timeout":
                    raise
                continue
            except requests.exceptions.ChunkedEncodingError:
                if self.bug == "no retry after half an answer":
                    raise
                continue
            except requests.ConnectionError:
                if self.bug == "no retry after reset":
                    raise
                continue
            if answer.status_code == 200 or self.bug == "status is ignored":
                return answer.json()
            self._judge(answer)
        raise Failed("no answer")

    def _judge(self, answer: requests.Response) -> None:
        """Whether another attempt makes sense."""
        if answer.status_code == 429:
            if self.bug == "no retry after 429":
                raise Failed("429")
            text = answer.headers.get("Retry-After", "1")
            if self.bug == "Retry-After is an integer":
                int(text)
        elif self.bug == "no retry after 5xx" or (
            self.bug == "only 503 is tried again" and answer.status_code != 503
        ):
            raise Failed(str(answer.status_code))

    def orders(self, symbol: str) -> list[dict[str, Any]]:
        """Open orders, with what is usable of each."""
        page = self.read("/v1/orders/open", f"?slugs={symbol}")
        if self.bug == "unknown field stops" and set(page) - FIELDS:
            raise Failed("unknown field")
        return [self._order(order) for order in page.get("orders") or ()]

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        members = {value for value in order.values() if str(value).startswith(("ORDER_", "TIME_"))}
        if self.bug == "unknown member stops" and members - MEMBERS:
            raise Failed("unknown member")
        if self.bug == "every field is there":
            order["id"], order["marketSlug"]
        if self.bug == "no field is null":
            order["id"].upper()
        quantity = order.get("quantity", 1)
        if self.bug == "numbers are numbers":
            sum(value for name, value in order.items() if name in ("quantity", "cumQuantity"))
        return {"id": order.get("id"), "quantity": float(quantity or 1)}

    def count(self, symbol: str) -> int:
        """How many orders are open: the most that two reads show, since one may be short."""
        reads = 1 if self.bug in ("a short list is believed", "status is ignored") else 2
        return max(len(self.orders(symbol)) for _ in range(reads))

    # ---- writing

    def place(self, order: dict[str, Any]) -> None:
        """Place an order once, whatever happens to the answer."""
        for _ in range(TRIES):
            try:
                answer = self.send("POST", "/v1/orders", order)
                body = answer.json() if answer.status_code == 200 else {}
            except requests.Timeout:
                if self.bug == "write again after timeout":
                    continue
            except requests.exceptions.ChunkedEncodingError:
                if self.bug == "write again after half an answer":
                    continue
            except requests.ConnectionError:
                if self.bug == "write again after reset":
                    continue
            else:
                if answer.status_code == 200 and (body.get("id") or self._needs(body)):
                    return
                if self.bug == "write again after 504" and answer.status_code == 504:
                    continue
                if self.bug == "429 is final" and answer.status_code == 429:
                    return
            if self.bug == "write again blindly":
                continue
            if self.bug == "lost write is done":
                return
            if self.bug == "lost write is not done":
                raise Failed("not placed")
            if self.count(order["marketSlug"]):
                return
        raise Failed("not placed")

    def _needs(self, body: dict[str, Any]) -> bool:
        if self.bug == "write has an id":
            body["id"]
        if self.bug == "id is not null":
            body.get("id", "").upper()
        return False

    # ---- pages

    def pages(self, token: str) -> list[str]:
        """Every instrument of the exchange plane, a page at a time."""
        rows: dict[str, None] = {}
        page, before = "", {""}
        for _ in range(40):
            answer = self._page(token, page)
            symbols = [each.get("symbol") for each in answer.get("instruments") or ()]
            names = [name for name in symbols if isinstance(name, str)]
            rows |= dict.fromkeys(names)
            page = answer.get("nextPageToken") or ""
            if self.bug == "empty page is the end" and not names:
                break
            if self.bug != "cursor is new" and page in before:
                if page:  # the page named itself: from the start
                    page, before = "", {""}
                    continue
                break
            if not page:
                break
            before.add(page)
        else:
            raise Failed("too many pages")
        return sorted(rows)

    def _page(self, token: str, page: str) -> Any:
        sizes: dict[str, Any] = {"pageSize": 2, "symbols": list(SYMBOLS)}
        url = f"{self.exchange.exchange}/v1/refdata/instruments"
        for _ in range(TRIES):
            try:
                answer = requests.post(
                    url,
                    json=sizes | ({"pageToken": page} if page else {}),
                    headers={"authorization": f"Bearer {token}"},
                    timeout=None if self.bug == "pages have no timeout" else 0.4,
                )
                if answer.status_code == 200:
                    return answer.json()
            except (
                requests.Timeout,
                requests.ConnectionError,
                requests.exceptions.ChunkedEncodingError,
            ):
                pass
        raise Failed("no page")


class Receiver:
    """A receiver of webhooks: the participants that it has enrolled, in order."""

    def __init__(self, secret: str, bug: str = "") -> None:
        self.bug, self._key = bug, base64.b64decode(secret.removeprefix("whsec_"))
        self.enrolled: list[str] = []
        self._events: set[str] = set()

    def receive(self, body: bytes, headers: dict[str, str], now: float) -> None:
        """Handle a delivery. What is not genuine is ignored, and what is not understood is left to
        polling.
        """
        headers = {name.lower(): value for name, value in headers.items()}
        stamp = headers["webhook-timestamp"]
        if self.bug != "age is no matter" and abs(now - int(stamp)) > 300:
            return
        if self.bug == "bytes are written again":
            body = json.dumps(json.loads(body), separators=(",", ":")).encode()
        signed = f"{headers['webhook-id']}.{stamp}.".encode() + body
        digest = base64.b64encode(hmac.new(self._key, signed, hashlib.sha256).digest()).decode()
        if digest not in headers["webhook-signature"]:
            raise Failed("signature")
        event = json.loads(body)
        if self.bug == "type is known" and event["type"] not in ("kyc.approved", "webhook.test"):
            raise Failed("unknown type")
        if self.bug == "fields are fixed" and "sandboxExtra" in event:
            raise Failed("unknown field")
        if self.bug == "an odd event is refused" and len(event) != 4:
            raise Failed("odd")
        if event.get("type") != "kyc.approved":
            return
        name = (
            event["participant_id"]
            if self.bug == "participant is there"
            else event.get("participant_id")
        )
        if headers["webhook-id"] in self._events and self.bug != "event comes once":
            return
        self._events.add(headers["webhook-id"])
        if name:
            self.enrolled.append(name)
