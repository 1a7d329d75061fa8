"""Every kind of fault (design D6), met by a real client over real sockets: it fails as documented,
and the documented backoff recovers (§7.1).
"""

from __future__ import annotations

import functools
import http.client
import json
import socket

import grpc
import pytest
from polymarket_us import APIConnectionError, APIStatusError, InternalServerError

from sim import Simulation, load_scenario
from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages.exchange_v1 import (
    CreateMarketDataSubscriptionRequest,
    CreateMarketDataSubscriptionResponse,
    GetOrderBookRequest,
    InsertOrderRequest,
)
from sim.core.service.fault_spec import KINDS, PLANES
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import connect
from sim.testing.control import ControlError
from tests.kit.bodies import retail_order
from tests.kit.clients import bearer, place, sdk
from tests.kit.http import call

# §7.1: at once, then waits of 1, 2, 4 and 8 seconds, at most 5 attempts. 429 waits for Retry-After
# instead.
BACKOFF_S = (1, 2, 4, 8)


@functools.cache
def entire():
    """Open instruments that trade in whole contracts and cents, so that 2 is a price and 1 a
    contract.
    """
    rows = read_view(Simulation(load_scenario("quickstart")).engine, "instruments")["instruments"]
    return [
        row["symbol"]
        for row in rows
        if (row["state"], row["price_scale"], row["fractional_qty_scale"]) == ("OPEN", 100, 1)
    ]


def book(exchange, timeout=10):
    """(status, headers, body) of a public book, as a plain client gets it."""
    answer = call(f"{exchange.gateway}/v1/markets/{entire()[0]}/book", timeout=timeout)
    return answer.status, answer.headers, answer.json()


def patient(exchange, call):
    """The documented retry loop on the exchange's own clock: (answer of the last attempt, attempts
    made).
    """
    for attempt in range(len(BACKOFF_S) + 1):
        if attempt:
            exchange.clock.advance(f"{BACKOFF_S[attempt - 1]}s")
        status, headers, body = call()
        if status not in (429, 500, 502, 503, 504):
            return (status, body), attempt + 1
        if status == 429:
            exchange.clock.advance(f"{headers['Retry-After']}s")
    return (status, body), attempt + 1


@pytest.mark.spec("S7.1-9")
@pytest.mark.parametrize(("status", "code"), [(500, 13), (502, 14), (503, 14), (504, 4)])
def test_an_injected_error_is_answered_until_the_documented_backoff_recovers(
    exchange, status, code
):
    exchange.fault("GetBook", status=status, times=3)
    assert book(exchange)[0] == status
    (last, body), attempts = patient(exchange, lambda: book(exchange))
    assert (last, attempts) == (200, 3)
    assert body["marketData"]["marketSlug"] == entire()[0]
    refused = exchange.requests(operation="GetBook", status=status)
    assert [row["code"] for row in refused] == [code] * 3


@pytest.mark.spec("S7.1-9")
def test_a_fault_with_a_time_to_live_ends_by_the_clock(exchange):
    exchange.fault("GetBook", status=503, ttl="6s")
    (last, _), attempts = patient(exchange, lambda: book(exchange))
    assert (last, attempts) == (200, 4)  # at 0, 1, 3 and 7 s
    (row,) = exchange.control("GET", "/faults")["faults"]
    assert (row["over"], row["matched"], row["affected"]) == (True, 3, 3)


@pytest.mark.spec("S7.1-8")
def test_an_injected_429_carries_its_retry_after(exchange):
    exchange.fault("GetBook", status=429, retry_after="7s", times=1)
    exchange.fault("GetBook", status=429, times=1)
    for wait in ("7", "1"):  # a second where the fault does not say: no 429 comes without (§7.1)
        status, headers, body = book(exchange)
        assert (status, headers["Retry-After"], body["status"]) == (429, wait, 429)


def test_a_delay_is_told_in_virtual_time(exchange):
    exchange.fault("GetBook", delay="1500ms", times=1)
    status, headers, _ = book(exchange)
    assert (status, headers["x-sim-elapsed"]) == (200, "1.5")
    assert "x-sim-elapsed" not in book(exchange)[1]


def test_a_slow_body_arrives_whole_in_several_pieces(exchange):
    host, _, port = exchange.gateway.removeprefix("http://").partition(":")
    want = book(exchange)[2]
    exchange.fault("GetBook", slow_body=True, times=1)
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(
            f"GET /v1/markets/{entire()[0]}/book HTTP/1.1\r\nHost: x\r\nConnection:"
            " close\r\n\r\n".encode()
        )
        pieces = list(iter(lambda: plain.recv(65536), b""))
    assert len(pieces) > 3
    got = json.loads(b"".join(pieces).partition(b"\r\n\r\n")[2])
    got["marketData"]["transactTime"] = want["marketData"]["transactTime"]
    assert got == want


@pytest.fixture
def retail(exchange):
    with sdk(exchange, timeout=5.0) as client:
        yield client


def resting(symbol=""):
    return retail_order(symbol or entire()[0], "BUY_LONG", 2)


@pytest.mark.spec("S7.2-8")
@pytest.mark.parametrize(
    ("act", "error"),
    [
        ({"status": 504}, InternalServerError),
        ({"status": 502}, InternalServerError),
        ({"reset": True}, APIConnectionError),
    ],
)
@pytest.mark.parametrize("handled", [False, True])
def test_a_lost_answer_leaves_the_order_a_refused_call_does_not(
    exchange, retail, act, error, handled
):
    """What a client must look up after a 504 or a reset: whether its order is there."""
    with exchange.fault("CreateOrder", handled=handled, **act), pytest.raises(error) as failed:
        retail.orders.create(resting())
    assert getattr(failed.value, "status_code", None) == act.get("status")
    (row,) = exchange.requests(operation="CreateOrder")
    assert row["fault"] == "f1"
    assert len(retail.orders.list()["orders"]) == int(handled)


@pytest.mark.parametrize("act", [{"half_close": True}, {"reset": True, "handled": True}])
def test_a_connection_cut_in_the_answer_has_traded_all_the_same(exchange, retail, act):
    exchange.fault("CreateOrder", times=1, **act)
    with pytest.raises(APIConnectionError):
        retail.orders.create(resting())
    assert retail.orders.create(resting())["id"]
    assert len(retail.orders.list()["orders"]) == 2


def test_the_fault_is_named_in_header_log_metrics_list_and_explanation(exchange):
    exchange.fault("GetBook", status=503)
    _, headers, _ = book(exchange)
    assert headers["x-sim-fault"] == "f1"
    (row,) = exchange.requests(operation="GetBook")
    assert row["fault"] == "f1"
    why = exchange.explain(row["explain"])
    assert (why["rule"], why["facts"], why["stage"]) == ("T2", {"fault": "f1"}, "fault")
    assert "DELETE /_sim/v1/faults/f1" in why["remedy"]
    assert 'sim_fault_affected_total{fault="f1"} 1' in exchange.control("GET", "/metrics")


# ---- gRPC


def insert(exchange, symbol):
    """A resting order by gRPC: the call."""
    order = InsertOrderRequest(type=2, side=1, symbol=symbol, order_qty=1, price=2)
    return protobuf_encoder(InsertOrderRequest)(order)


def read_book(exchange, channel):
    method = channel.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
    request = protobuf_encoder(GetOrderBookRequest)(GetOrderBookRequest(symbol=entire()[0]))
    return method.with_call(request, metadata=bearer(exchange), timeout=10)[1]


@pytest.mark.spec("S7.1-9")
@pytest.mark.parametrize(
    ("act", "code"),
    [
        ({"code": "INTERNAL"}, grpc.StatusCode.INTERNAL),
        ({"code": 4}, grpc.StatusCode.DEADLINE_EXCEEDED),
    ],
)
def test_grpc_calls_fail_with_the_code_and_the_next_one_succeeds(exchange, channel, act, code):
    exchange.fault("GetOrderBook", plane="grpc", times=1, **act)
    with pytest.raises(grpc.RpcError) as failed:
        read_book(exchange, channel)
    assert failed.value.code() == code
    assert read_book(exchange, channel).code() == grpc.StatusCode.OK


def test_a_symbol_is_found_in_path_query_and_body_on_every_protocol(exchange, channel, retail):
    struck, spared = entire()[:2]
    exchange.fault(symbol=struck, status=503)
    metadata = bearer(exchange)
    order_entry = channel.unary_unary("/exchange.v1.OrderEntryAPI/InsertOrder")
    with pytest.raises(grpc.RpcError) as failed:
        order_entry(insert(exchange, struck), metadata=metadata)
    assert failed.value.code() == grpc.StatusCode.UNAVAILABLE
    done = order_entry.with_call(insert(exchange, spared), metadata=metadata)[1]
    assert done.code() == grpc.StatusCode.OK
    with pytest.raises(APIStatusError) as refused:
        retail.orders.create(resting())
    assert refused.value.status_code == 503
    assert retail.orders.create(resting(spared))["id"]
    assert book(exchange)[0] == 503
    assert retail.orders.list({"slugs": [spared]})["orders"]
    with pytest.raises(APIStatusError) as refused:
        retail.orders.list({"slugs": [struck]})
    assert refused.value.status_code == 503


# ---- streams


@pytest.fixture
def market_data(exchange, channel):
    """Frames of one instrument's market data after the snapshot, and a way to make one: an order
    that changes the book.
    """
    symbol = entire()[0]
    request = protobuf_encoder(CreateMarketDataSubscriptionRequest)(
        CreateMarketDataSubscriptionRequest(symbols=[symbol])
    )
    call = channel.unary_stream(
        "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"
    )(request, metadata=bearer(exchange), timeout=20)
    next(call)
    quantities = iter(range(101, 200))

    def change():
        """Bid more at 0.02; what the stream should tell."""
        qty = next(quantities)
        place(exchange, symbol, "buy", "0.02", str(qty))

    def notices():
        """Quantity at 0.02 in the next frame about the book."""
        update = protobuf_decoder(CreateMarketDataSubscriptionResponse)(next(call)).update
        return next((level.qty for level in update.bids if level.px == 2), 0)

    return change, notices, call


OP = "CreateMarketDataSubscription"


def test_a_late_frame_comes_by_the_clock_and_holds_up_those_behind_it(exchange, market_data):
    change, reported, _ = market_data
    exchange.fault(OP, plane="stream", delay="3s", times=1)
    change()
    change()
    assert "stream.late 1" in exchange.clock.advance("2s") + exchange.clock.advance("1s")
    assert [reported(), reported()] == [101, 203]


@pytest.mark.parametrize(
    ("act", "code"),
    [
        ({"revoke": True}, grpc.StatusCode.INTERNAL),
        ({"status": 503}, grpc.StatusCode.UNAVAILABLE),
        ({"code": "RESOURCE_EXHAUSTED"}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        ({"reset": True}, grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_a_stream_ends_with_the_code_and_frames_that_waited_come_first(
    exchange, market_data, act, code
):
    change, reported, call = market_data
    exchange.fault(OP, plane="stream", delay="1h", times=1)
    change()
    exchange.fault(OP, plane="stream", **act)
    change()
    assert reported() == 101
    with pytest.raises(grpc.RpcError) as ended:
        list(call)
    assert ended.value.code() == code


# ---- the catalogue


VALUES = {
    "status": 503,
    "code": "UNAVAILABLE",
    "delay": "1s",
    "patch": "unknown-enum",
    "timestamp": "-10m",
}


def test_the_catalogue_of_faults_says_what_can_happen_where(exchange):
    rows = {
        row["act"]: row["matches"].split(", ")
        for row in exchange.control("GET", "/catalogue/faults")["faults"]
    }
    assert list(rows) == [kind.name for kind in KINDS]
    for kind in KINDS:
        for plane in PLANES:
            value = VALUES.get(kind.name, True)
            body = {"match": {"plane": plane, "operation": "nothing-*"}, "act": {kind.name: value}}
            try:
                exchange.control("POST", "/faults", body)
                possible = True
            except ControlError as refused:
                assert (refused.status, "is possible on" in str(refused)) == (400, True)
                possible = False
            assert possible is (plane in rows[kind.name]), (kind.name, plane)


# ---- presets


@pytest.mark.long
def test_a_hostile_exchange_fails_often_in_many_ways_and_a_patient_client_gets_through(exchange):
    exchange.control("PUT", "/preset", {"name": "hostile"})
    exchange.control("DELETE", "/faults/hostile.gateway.hang")
    observed = {}
    for _ in range(120):
        try:
            status = book(exchange, timeout=1)[0]
        except (OSError, http.client.HTTPException) as broken:
            status = type(broken).__name__
        observed[status] = observed.get(status, 0) + 1
        exchange.clock.advance("1s")
    assert 60 < observed[200] < 110
    assert len(observed) >= 5
    exchange.control("PUT", "/preset", {"name": "ideal"})
    assert exchange.control("GET", "/faults")["faults"] == []
    assert {book(exchange)[0] for _ in range(10)} == {200}
    quirks = exchange.control("GET", "/catalogue/quirks")["quirks"]
    assert {row["quirk"]: row["value"] for row in quirks}["session_revocation"] == "never"


def test_a_preset_leaves_faults_of_the_tester_and_their_luck_alone():
    def struck(preset):
        world = connect(Simulation(load_scenario("quickstart")))
        world.simulation.control(
            "fault.add",
            "",
            {"match": {"operation": "ListLeagues", "probability": "1/3"}, "act": {"status": 418}},
        )
        if preset:
            world.simulation.control("preset.set", "", {"name": preset})
        for _ in range(60):
            world.gateway.get("/v2/leagues")
        (fault,) = [fault for fault in world.simulation.exchange.faults.all() if fault.id == "f1"]
        return fault.affected

    assert struck("") == struck("realistic") == struck("hostile")
