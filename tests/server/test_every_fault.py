"""Every kind of fault on every plane that it can affect (design D6), against a third-party client.

The first attempt fails as documented for that kind. After the documented wait (§7.1: one second)
the second attempt succeeds, and the conformance check reports nothing. The cases come from the
catalogue, so a kind cannot be added without a client.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import pytest
import requests
from polymarket_us.errors import APIConnectionError, APIStatusError, APITimeoutError
from standardwebhooks import Webhook, WebhookVerificationError
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_web_socket

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages.exchange_v1 import (
    CreateMarketDataSubscriptionRequest,
    CreateMarketDataSubscriptionResponse,
    GetOrderBookRequest,
)
from sim.core.service.fault_spec import CALLS, KINDS
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.bodies import APPLICATION, retail_order
from tests.kit.clients import place, sdk, served_exchange, signed, subscription, web_socket_url
from tests.server.stock_oauth import metadata
from tests.server.stock_oauth import session as oauth_session

VALUES: dict[str, Any] = {
    "status": 503,
    "code": "UNAVAILABLE",
    "delay": "2s",
    "patch": "unknown-enum",
    "timestamp": "-10m",
}
# A patch that fits the answer of the caller.
ADDED = [{"op": "add", "path": "/sandbox", "value": [1]}]
TIMEOUT_S = 0.4  # timeout of clients whose call hangs
LATE, BROKEN, TIMED_OUT = "answered late", "connection broken", "timed out"
SYMBOL = "every-fault"


class Seen(NamedTuple):
    """The result of one attempt for a client: a status or a word. `elapsed` is the virtual time
    until the answer.
    """

    kind: object
    elapsed: str = ""


OK = Seen(200)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    listed = f"{{symbol: {SYMBOL}, tick_size: '0.01', state: OPEN}}"
    text = f"name: every-fault\nextends: quickstart\nworld: {{games: 0, instruments: [{listed}]}}\n"
    yield from served_exchange(tmp_path_factory, text)


@pytest.fixture
def at(served):
    """The exchange at its start."""
    served.reset()
    return served


def by_requests(answer: Callable[[], requests.Response]) -> Seen:
    """Make one attempt with a requests session."""
    try:
        result = answer()
    except requests.Timeout:
        return Seen(TIMED_OUT)
    except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
        return Seen(BROKEN)
    return Seen(result.status_code, result.headers.get("x-sim-elapsed", ""))


def by_sdk(call: Callable[[], object]) -> Seen:
    """Make one attempt with the official SDK, which hides headers."""
    try:
        call()
    except APITimeoutError:
        return Seen(TIMED_OUT)
    except APIConnectionError:
        return Seen(BROKEN)
    except APIStatusError as refused:
        return Seen(refused.status_code)
    return OK


def caller(at: ServedExchange, plane: str) -> tuple[str, Callable[[], Seen]]:
    """Return (operation, attempt) of a plane's client."""
    session, fetch = oauth_session(at, timeout=TIMEOUT_S)
    if plane == "auth":
        kept: list[requests.Response] = []
        session.register_compliance_hook(
            "access_token_response", lambda response: (kept.append(response), response)[1]
        )

        def token() -> requests.Response:
            try:
                fetch()
            except requests.HTTPError as refused:
                return refused.response
            return kept[-1]

        return "IssueToken", lambda: by_requests(token)
    if plane in ("gateway", "retail"):
        client = sdk(at, timeout=TIMEOUT_S, max_retries=0)
        if plane == "gateway":
            return "GetBook", lambda: by_sdk(lambda: client.markets.book(SYMBOL))
        return "ListOpenOrders", lambda: by_sdk(lambda: client.orders.list())
    fetch()
    if plane == "exchange":
        return "GetWhoAmI", lambda: by_requests(
            lambda: session.get(f"{at.exchange}/v1/whoami", timeout=TIMEOUT_S)
        )
    channel = grpc.insecure_channel(at.grpc)
    method = channel.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
    sent = (("authorization", f"Bearer {session.token['access_token']}"),)
    request = protobuf_encoder(GetOrderBookRequest)(GetOrderBookRequest(symbol=SYMBOL))

    def call() -> Seen:
        try:
            done = method.with_call(request, metadata=sent, timeout=2 * TIMEOUT_S)[1]
        except grpc.RpcError as failed:
            codes = grpc.StatusCode
            words = {codes.DEADLINE_EXCEEDED: TIMED_OUT, codes.UNAVAILABLE: 503}
            return Seen(words.get(failed.code(), failed.code()))
        return Seen(200, dict(map(tuple, done.trailing_metadata())).get("x-sim-elapsed", ""))

    return "GetOrderBook", call


# A gRPC client reports a broken connection as UNAVAILABLE.
EXPECTED = {
    "status": {503}, "code": {503}, "delay": {200}, "slow_body": {200}, "hang": {TIMED_OUT},
    "close": {BROKEN}, "reset": {BROKEN, 503}, "refuse": {BROKEN, 503}, "half_close": {BROKEN, 503}, "patch": {200},
}  # fmt: skip


@pytest.mark.spec("S7.1-9")
@pytest.mark.parametrize(
    ("kind", "plane"),
    [(kind.name, plane) for kind in KINDS for plane in kind.planes if plane in CALLS],
)
def test_a_call_fails_as_documented_and_the_documented_wait_recovers(at, kind, plane):
    operation, attempt = caller(at, plane)
    value = ADDED if kind == "patch" and plane != "grpc" else VALUES.get(kind, True)
    at.fault(operation, plane=plane, times=1, **{kind: value})
    first = attempt()
    assert first.kind in EXPECTED[kind]
    if first.kind in (BROKEN, 503) and kind in ("close", "reset", "refuse", "half_close"):
        assert (first.kind == 503) is (plane == "grpc")
    if kind == "delay" and plane in ("auth", "exchange", "grpc"):
        assert first.elapsed == "2"
    at.clock.advance("1s")
    second = attempt()
    assert (second.kind, second.elapsed) == (200, "")
    (fault,) = at.control("GET", "/faults")["faults"]
    assert (fault["affected"], fault["over"]) == (1, True)
    rows = at.requests(operation=operation)
    assert [row["fault"] for row in rows[-2:]] == [fault["id"], ""]
    report = at.conformance()
    assert report.ok, "\n".join(report.lines())


# ---- streams


class Follower:
    """A client that follows one book: the quantity bid at two cents in each frame, in order, and
    how the stream ended.
    """

    def __init__(self, at: ServedExchange) -> None:
        self.at = at
        self.open()

    def open(self) -> None:
        raise NotImplementedError

    def next(self) -> object:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class OfGrpc(Follower):
    operation = "CreateMarketDataSubscription"
    ends = dict.fromkeys(("status", "code", "reset"), "UNAVAILABLE") | {"revoke": "INTERNAL"}

    def open(self) -> None:
        self.channel = grpc.insecure_channel(self.at.grpc)
        request = protobuf_encoder(CreateMarketDataSubscriptionRequest)(
            CreateMarketDataSubscriptionRequest(symbols=[SYMBOL])
        )
        method = self.channel.unary_stream(
            "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"
        )
        self.call = method(request, metadata=metadata(self.at), timeout=20)

    def next(self) -> object:
        try:
            update = protobuf_decoder(CreateMarketDataSubscriptionResponse)(next(self.call)).update
        except grpc.RpcError as ended:
            return ended.code().name
        return next((level.qty for level in update.bids if level.px == 2), 0)

    def close(self) -> None:
        self.channel.close()


class OfWebSocket(Follower):
    operation = "MarketsStream"
    ends = {
        "status": 1013,
        "code": 1013,
        "revoke": 1011,
        "reset": "no close frame",
        "close": "no close frame",
    }

    def open(self) -> None:
        url = web_socket_url(self.at)
        self.managed = connect_web_socket(url, additional_headers=signed(self.at))
        self.socket = self.managed.__enter__()
        self.socket.send(subscription(SYMBOL))

    def next(self) -> object:
        try:
            frame = json.loads(self.socket.recv(timeout=10))
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd is not None else "no close frame"
        bids = frame["marketData"]["bids"]
        return next(
            (int(float(level["qty"])) for level in bids if float(level["px"]["value"]) == 0.02), 0
        )

    def close(self) -> None:
        self.managed.__exit__(None, None, None)


@pytest.mark.spec("S6.2-5", "S7.1-9")
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if "stream" in kind.planes])
@pytest.mark.parametrize("follower", [OfGrpc, OfWebSocket])
def test_a_stream_is_disturbed_as_documented_and_the_book_is_right_again(at, follower, kind):
    if (follower, kind) == (OfGrpc, "close"):
        pytest.skip("grpcio does not close one connection")
    client = follower(at)
    assert client.next() == 0  # the snapshot
    at.fault(client.operation, plane="stream", times=1, **{kind: VALUES.get(kind, True)})  # type: ignore[attr-defined]

    def bid(qty: int) -> None:
        place(at, SYMBOL, "buy", "0.02", str(qty))

    bid(1)
    if kind in client.ends:  # type: ignore[attr-defined]
        assert client.next() == client.ends[kind]  # type: ignore[attr-defined]
        at.clock.advance("1s")
        client.close()
        client.open()
        assert client.next() == 1  # a new stream begins with a snapshot
    elif kind == "duplicate":
        assert [client.next(), client.next()] == [1, 1]
    elif kind in ("delay", "patch"):
        at.clock.advance("2s")
        assert client.next() == 1
    bid(2)
    for quantity in (3, 1) if kind == "reorder" else (3,):
        assert client.next() == quantity
    bid(4)
    # each frame has the whole book, so the next frame repairs a loss or a wrong order
    assert client.next() == 7
    client.close()
    report = at.conformance()
    assert report.ok, "\n".join(report.lines())


# ---- webhooks


@pytest.mark.spec("S6.1-6")
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if "webhook" in kind.planes])
def test_a_delivery_is_disturbed_as_documented_and_a_careful_receiver_knows_in_the_end(at, kind):
    session, fetch = oauth_session(at, timeout=TIMEOUT_S)
    secret = "whsec_" + "c2VjcmV0LW9mLXRoaXMtdGVzdC1hbG9uZQ=="
    before = len(at.webhooks.received)

    def call(verb: str, path: str, **value: Any) -> Any:
        fetch()
        return session.request(verb, f"{at.exchange}{path}", timeout=5, **value).json()

    receiver = {"webhook_url": at.webhooks.url, "signing_secret": secret}
    assert call("POST", "/v1/kyc/webhook", json=receiver)["validated"]
    value = "extra-field" if kind == "patch" else VALUES.get(kind, True)
    at.fault("kyc.approved", plane="webhook", times=1, **{kind: value})
    call("POST", "/v1/kyc/start", json=APPLICATION)
    at.clock.advance("30m")
    received = at.webhooks.received[before + 1 :]
    if kind == "timestamp":  # older than a receiver may accept
        with pytest.raises(WebhookVerificationError, match="too old"):
            Webhook(secret).verify(received[0].body, received[0].headers)
        return
    got = [Webhook(secret).verify(item.body, item.headers) for item in received]
    reported = [row for row in at.webhooks.deliveries if row["type"] == "kyc.approved"]
    attempts = [(row["attempt"], row["outcome"]) for row in reported]
    assert len({event["event_id"] for event in got}) == (kind != "drop")
    assert attempts == {
        "drop": [(0, "lost")],
        "duplicate": [(1, "delivered"), (1, "delivered")],
        "delay": [(1, "delivered")],
        "patch": [(1, "delivered")],
        "timestamp": [(1, "delivered")],
    }.get(kind, [(1, "failed"), (2, "delivered")])
    if kind == "drop":  # §3.5: polling shows the decision too
        named = {"external_id": APPLICATION["external_id"]}
        assert call("GET", "/v1/kyc/status", params=named)["participantId"]
    else:
        assert ("sandboxExtra" in got[0]) is (kind == "patch")
        assert got[0]["participant_id"] and len(got) == (2 if kind == "duplicate" else 1)


# ---- the engine


@pytest.mark.spec("S7.2-1")
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if "engine" in kind.planes])
def test_a_slow_engine_keeps_an_order_pending_and_the_sdk_sees_it_taken_in_the_end(at, kind):
    client = sdk(at, max_retries=0)
    at.fault("place", plane="engine", times=1, **{kind: VALUES.get(kind, True)})
    order = client.orders.create(retail_order(SYMBOL, "BUY_LONG", 2))["id"]
    assert client.orders.retrieve(order)["order"]["state"] == "ORDER_STATE_PENDING_NEW"
    at.clock.advance("2s")
    assert client.orders.retrieve(order)["order"]["state"] == "ORDER_STATE_NEW"


def test_every_kind_and_plane_of_the_catalogue_has_a_client_here():
    planes = {plane for kind in KINDS for plane in kind.planes}
    assert planes == {*CALLS, "stream", "webhook", "engine"}
