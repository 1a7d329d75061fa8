"""A client in a container of its own: it knows the exchange by its ready file and by name.

Token, order on the exchange API, the same book on the public gateway, a signed retail call, and a
move of the clock. Exit code 0 when all of it went well.
"""

import base64
import json
import sys
import time
import urllib.request
import uuid
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def call(method, url, body=None, headers=()):
    """The JSON of an answer; an HTTP error ends the journey."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, dict(headers), method=method)
    if data and not isinstance(body, bytes):
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as answer:
        print(f"{method:<4} {url}  {answer.status}")
        return json.loads(answer.read() or b"null")


def token(ready, firm):
    """An access token by private_key_jwt."""
    now = int(time.time())
    claims = {"iss": firm["client_id"], "sub": firm["client_id"], "aud": firm["audience"]}
    claims |= {"iat": now, "exp": now + 240, "jti": str(uuid.uuid4())}
    form = {
        "grant_type": "client_credentials",
        "client_id": firm["client_id"],
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(claims, firm["private_key_pem"], algorithm="RS256"),
        "audience": firm["audience"],
    }
    return call("POST", f"{ready['auth']}/oauth/token", urlencode(form).encode())["access_token"]


def signed(key, method, path):
    """Headers of a retail call."""
    timestamp = str(int(time.time() * 1000))
    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    signature = base64.b64encode(signer.sign(f"{timestamp}{method}{path}".encode())).decode()
    names = "X-PM-Access-Key", "X-PM-Timestamp", "X-PM-Signature"
    return dict(zip(names, (key["key_id"], timestamp, signature), strict=True))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        ready = json.load(file)
    firm, key, symbol = ready["firms"][0], ready["api_keys"][0], ready["symbols"]["open"][0]
    bearer = {"Authorization": f"Bearer {token(ready, firm)}"}
    bearer["X-Participant-Id"] = firm["users"][0]
    order = {
        "clordId": "journey-1",
        "symbol": symbol,
        "side": "SIDE_BUY",
        "type": "ORDER_TYPE_LIMIT",
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        "price": "10",
        "orderQty": "1000",
    }
    call("POST", f"{ready['exchange']}/v1/trading/orders", order, bearer)
    orders = call("GET", f"{ready['exchange']}/v1/trading/orders/open", headers=bearer)
    assert "journey-1" in json.dumps(orders), orders
    book = call("GET", f"{ready['gateway']}/v1/markets/{symbol}/book")
    assert book["marketData"]["bids"], book
    path = "/v1/account/balances"
    assert call("GET", ready["retail"] + path, headers=signed(key, "GET", path))["balances"]
    # Only a server on loopback alone has a control plane without a token.
    control = {"Authorization": f"Bearer {ready.get('control_token', '')}"}
    address = f"{ready['control']}/_sim/v1/clock/advance"
    clock = call("POST", address, {"by": "5m"}, control)
    print(f"the journey is over at {clock['now']}")


if __name__ == "__main__":
    main()
