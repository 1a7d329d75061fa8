"""Probe the service: safe reads on every plane that there are keys for, and with --trade one order
that nobody fills and that is canceled again.

Addresses come from the ready file of `sim record`, keys from the environment; no key is printed.

    RETAIL_KEY_ID, RETAIL_SECRET                an API key of the retail API
    EXCHANGE_CLIENT_ID, EXCHANGE_PRIVATE_KEY    a firm's client id, and its private key (PEM)
    EXCHANGE_PARTICIPANT                        a participant of the firm, for reads that need one

Exit code: 0 everything was answered as expected, 1 something was not, 2 the script was called
wrongly.
"""

import argparse
import base64
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

WAIT_S = 20  # for an order to show, and to be canceled


class Plane:
    """Calls to one plane. `failures` counts answers that were not expected."""

    failures = 0

    def __init__(self, name, address, headers=lambda method, path: {}):
        self.name, self.address, self.headers = name, address, headers

    def call(self, method, path, body=None, expected=(200,)):
        """The JSON of an answer; None where it is no JSON or was not expected."""
        data = None if body is None else json.dumps(body).encode()
        headers = dict(self.headers(method, path.partition("?")[0]))
        if data:
            headers["Content-Type"] = "application/json"
        status, text = send(self.address + path, data, headers, method)
        if status not in expected:
            Plane.failures += 1
        print(f"{self.name:<8} {method:<4} {path}  {status}{'' if status in expected else '  !'}")
        try:
            return json.loads(text) if status in expected else None
        except ValueError:
            return None

    def get(self, path, **query):
        return self.call("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""))


def send(url, data, headers, method):
    """Status and text of an answer; status 0 where none came."""
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode(errors="replace")
    except OSError as broken:
        return 0, str(broken)


def signed(key_id, secret):
    """Headers of a retail call: an Ed25519 signature over timestamp, method and path."""
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret)[:32])

    def headers(method, path):
        timestamp = str(int(time.time() * 1000))
        signature = key.sign(f"{timestamp}{method}{path}".encode())
        return {
            "X-PM-Access-Key": key_id,
            "X-PM-Timestamp": timestamp,
            "X-PM-Signature": base64.b64encode(signature).decode(),
        }

    return headers


def access_token(address, audience, client_id, private_key):
    """An access token by private_key_jwt; "" where none was issued."""
    now = int(time.time())
    claims = {"iss": client_id, "sub": client_id, "aud": audience, "iat": now, "exp": now + 240}
    form = {
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(
            claims | {"jti": str(uuid.uuid4())}, private_key, algorithm="RS256"
        ),
        "audience": audience,
    }
    data = urllib.parse.urlencode(form).encode()
    status, text = send(f"{address}/oauth/token", data, {}, "POST")
    print(f"auth     POST /oauth/token  {status}{'' if status == 200 else '  !'}")
    Plane.failures += status != 200
    return json.loads(text)["access_token"] if status == 200 else ""


# ---- what is read


def read_gateway(gateway, slug):
    """The public catalogue; the slug of a market that is open, for what comes next."""
    listed = gateway.get("/v1/markets", limit=5, active="true") or {"markets": []}
    if not slug:
        slug = next((market["slug"] for market in listed["markets"] if market.get("active")), "")
    gateway.get("/v1/events", limit=2)
    gateway.get("/v2/leagues")
    gateway.get("/v1/health")
    if slug:
        gateway.get(f"/v1/market/slug/{slug}")
        gateway.get(f"/v1/markets/{slug}/book")
        gateway.get(f"/v1/markets/{slug}/bbo")
    return slug


def read_retail(retail):
    for path in (
        "/v1/account/balances",
        "/v1/portfolio/positions",
        "/v1/portfolio/activities",
        "/v1/orders/open",
    ):
        retail.get(path)


def read_exchange(exchange, slug):
    exchange.get("/v1/whoami")
    exchange.get("/v1/accounts")
    exchange.call("POST", "/v1/refdata/symbols", {})
    if slug:
        exchange.get(f"/v1/orderbook/{slug}", depth=3)
        exchange.get(f"/v1/orderbook/{slug}/bbo")
    exchange.get("/v1/trading/orders/open")


# ---- one order


def round_trip(retail, slug, price):
    """Place one contract at a price that nobody sells at, read it, cancel it, read it again."""
    placed = retail.call(
        "POST",
        "/v1/orders",
        {
            "marketSlug": slug,
            "intent": "ORDER_INTENT_BUY_LONG",
            "type": "ORDER_TYPE_LIMIT",
            "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            "price": {"value": price, "currency": "USD"},
            "quantity": 1,
        },
    )
    if placed is None:
        return
    order = placed["id"]
    try:
        until(retail, order, "ORDER_STATE_NEW")
    finally:
        retail.call("POST", f"/v1/order/{order}/cancel", {"marketSlug": slug})
    if not until(retail, order, "ORDER_STATE_CANCELED"):
        print(f"order {order} may still be open: cancel it yourself", file=sys.stderr)


def until(retail, order, state):
    """Whether an order is in a state, within WAIT_S. Reads may trail an order by seconds."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        displayed = retail.call("GET", f"/v1/order/{order}", expected=(200, 404))
        result = (displayed or {}).get("order", {}).get("state")
        if result == state:
            return True
        time.sleep(0.5)
    Plane.failures += 1
    print(f"order {order} did not become {state}  !")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("ready_file", help="ready file of sim record")
    parser.add_argument("--market", default="", help="its slug; else the first that is active")
    parser.add_argument("--trade", action="store_true", help="place one order and cancel it")
    parser.add_argument("--price", default="0.01", help="of that order, in dollars")
    options = parser.parse_args()
    with open(options.ready_file, encoding="utf-8") as file:
        addresses = json.load(file)
    environment = os.environ.get
    key_id, secret = environment("RETAIL_KEY_ID"), environment("RETAIL_SECRET")
    if options.trade and not (key_id and secret and addresses["retail"]):
        parser.error("--trade needs RETAIL_KEY_ID, RETAIL_SECRET and a recorder with --retail")

    slug = options.market
    if addresses["gateway"]:
        slug = read_gateway(Plane("gateway", addresses["gateway"]), slug)
    if addresses["retail"] and key_id and secret:
        retail = Plane("retail", addresses["retail"], signed(key_id, secret))
        read_retail(retail)
        if options.trade:
            if not slug:
                parser.error("--trade needs --market, or a recorder with --gateway to find one")
            round_trip(retail, slug, options.price)
    client_id, private_key = environment("EXCHANGE_CLIENT_ID"), environment("EXCHANGE_PRIVATE_KEY")
    if addresses["exchange"] and addresses["auth"] and client_id and private_key:
        token = access_token(addresses["auth"], addresses["audience"], client_id, private_key)
        bearer = {"Authorization": f"Bearer {token}"}
        participant = environment("EXCHANGE_PARTICIPANT")
        if participant:
            bearer["X-Participant-Id"] = participant
        read_exchange(Plane("exchange", addresses["exchange"], lambda *_: bearer), slug)
    if Plane.failures:
        print(f"{Plane.failures} answers were not as expected (marked !)", file=sys.stderr)
    return 1 if Plane.failures else 0


if __name__ == "__main__":
    sys.exit(main())
