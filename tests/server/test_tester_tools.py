"""The tester's tools on a real world over real sockets: what the control plane promises, connection
faults, dropped streams, the docs listener.
"""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from urllib.parse import urlsplit

import grpc
import pytest

from sim.testing.control import ControlError
from tests.kit import http as kit_http
from tests.kit.clients import bearer, place

ORDERS = "/exchange.v1.OrderEntryAPI/CreateOrderSubscription"


@pytest.fixture
def open_symbol(exchange):
    return exchange.symbols["open"][0]


def refused(exchange, status, verb, path, body=None):
    """The message of a control call that must be refused."""
    with pytest.raises(ControlError) as error:
        exchange.control(verb, path, body)
    assert error.value.status == status, error.value
    return error.value.body["message"]


# ---- control plane


def test_an_instrument_made_by_hand_trades_settles_and_pays(exchange):
    terms = {"symbol": "by-hand", "tick_size": "0.005", "state": "OPEN"}
    created = exchange.control("POST", "/instruments", terms)
    assert (created["symbol"], created["state"], created["tick_size"]) == (
        "by-hand",
        "OPEN",
        "0.005",
    )
    rests = place(exchange, "by-hand", "buy", "0.45", "10")
    fills = place(exchange, "by-hand", "sell", "0.45", "4", trader="taker")
    assert (rests["filled"], fills["filled"]) == ("0", "4")
    books = {book["symbol"]: book for book in exchange.control("GET", "/state/books")["books"]}
    assert [(level["px"], level["qty"]) for level in books["by-hand"]["bids"]] == [("0.45", "6")]
    paid = exchange.control("POST", "/instruments/by-hand/settle", {"price": "1"})
    assert paid == {"symbol": "by-hand", "price": "1", "paid": 2}
    accounts = exchange.control("GET", "/state/accounts")["accounts"]
    assert sum(Decimal(account["balance"]) for account in accounts) == 0


def test_states_change_along_legal_edges_only_and_back_to_the_schedule(exchange, open_symbol):
    path = f"/instruments/{open_symbol}/state"
    changed = exchange.control("POST", path, {"state": "SUSPENDED"})
    assert changed == {"symbol": open_symbol, "state": "SUSPENDED", "was": "OPEN"}
    message = refused(exchange, 409, "POST", path, {"state": "TERMINATED"})
    assert "cannot become TERMINATED" in message
    assert "did you mean 'HALTED'" in refused(exchange, 400, "POST", path, {"state": "HALTD"})
    assert exchange.control("POST", path, {"state": "SCHEDULE"})["state"] == "OPEN"


def test_unknown_keys_and_names_are_refused_with_the_nearest(exchange):
    fault = {"match": {"operaton": "x"}, "act": {"status": 503}}
    for status, verb, path, body, meant in (
        (400, "POST", "/instruments", {"symbl": "x"}, "symbol"),
        (400, "POST", "/faults", fault, "operation"),
        (404, "PUT", "/assumptions/clearing.dely", {"value": "60s"}, "clearing.delay"),
        (404, "PUT", "/quirks/cleared_field_lag", {"value": "never"}, "cleared_fields_lag"),
    ):
        assert f"did you mean '{meant}'" in refused(exchange, status, verb, path, body)
    refused(exchange, 404, "GET", "/state/nonsense")
    refused(exchange, 404, "DELETE", "/streams/99")
    refused(exchange, 404, "DELETE", "/faults/f99")
    refused(exchange, 409, "POST", "/webhooks/atlas/redeliver", {})


def test_switches_answer_with_their_value_and_default(exchange):
    for kind, name, sent, value, default in (
        ("quirks", "cleared_fields_lag", "never", "never", "always"),
        ("assumptions", "clearing.delay", "PT2M", "2m", "30s"),
    ):
        answer = exchange.control("PUT", f"/{kind}/{name}", {"value": sent})
        assert answer == {"name": name, "value": value, "default": default}


def test_a_snapshot_a_rewind_and_a_reset_come_back_to_the_same_digest(exchange):
    start = exchange.control("GET", "/digest")
    exchange.control("POST", "/prices/crypto:btc", {"price": "63000.5"})
    kept = exchange.control("GET", "/digest")
    exchange.control("POST", "/snapshots/here", {})
    exchange.control("POST", "/clock/advance", {"by": "2h"})
    assert exchange.control("POST", "/rewind", {"seq": kept["seq"]})["branch"] == "branch-1"
    assert exchange.control("GET", "/digest") == kept
    exchange.control("POST", "/clock/advance", {"by": "3h"})
    assert exchange.control("POST", "/snapshots/here/restore", {})["now"] == "2026-09-08T18:00:00Z"
    assert exchange.control("GET", "/digest") == kept
    refused(exchange, 409, "POST", "/rewind", {"to": "2020-01-01T00:00:00Z"})
    refused(exchange, 409, "POST", "/rewind", {"to": "2030-01-01T00:00:00Z"})
    refused(exchange, 409, "POST", "/rewind", {"seq": kept["seq"] + 1})
    refused(exchange, 404, "POST", "/snapshots/nowhere/restore", {})
    assert exchange.control("POST", "/reset", {}) == {"now": "2026-09-08T18:00:00Z", "seed": 7}
    assert exchange.control("GET", "/digest") == start


@pytest.mark.parametrize(
    "view", ["books", "orders", "accounts", "sessions", "limits", "breakers", "instruments"]
)
def test_views_are_complete_stable_and_no_inputs(exchange, view):
    before = exchange.digest
    first, second = (exchange.control("GET", f"/state/{view}") for _ in range(2))
    assert isinstance(first[view], list)
    assert first == second
    assert exchange.digest == before


def test_reads_and_refused_calls_of_clients_are_journalled_and_those_of_testers_are_not(exchange):
    exchange.control("GET", "/requests")
    assert exchange.control("GET", "/journal?since=0") == ""
    assert kit_http.call(f"{exchange.gateway}/v1/nothing").status == 404
    lines = exchange.control("GET", "/journal?since=0").splitlines()
    assert [json.loads(line)["input"]["path"] for line in lines] == ["/v1/nothing"]


def test_a_stream_is_listed_and_ended_by_a_tester(exchange, channel):
    firm = exchange.firms[0]
    call = channel.unary_stream(ORDERS)(b"", metadata=bearer(exchange, firm), timeout=20)
    next(call)
    (row,) = exchange.control("GET", "/streams")["streams"]
    assert {"id", "rpc", "firm", "participant", "since", "sent"} <= set(row)
    assert (row["firm"], row["participant"]) == (firm["firm"], firm["users"][0])
    exchange.clock.advance("1m")
    frames = exchange.control("GET", f"/streams/{row['id']}/frames")["frames"]
    assert "snapshot" in frames[0]["body"] and "heartbeat" in frames[1]["body"]
    assert frames[0]["seq"] < frames[1]["seq"] and frames[-1]["at"] == "2026-09-08T18:01:00Z"
    assert len(frames) <= 8
    refused(exchange, 404, "GET", "/streams/99/frames")
    then = f"/history/{frames[-1]['seq']}/streams/{row['id']}/frames"
    past = exchange.control("GET", then)
    assert past == {"frames": frames, "after": 0, "open": True}
    opened = f"/history/{frames[0]['seq']}/streams/{row['id']}/frames"
    assert exchange.control("GET", opened)["frames"] == frames[:1]
    refused(exchange, 404, "GET", then.replace(f"/streams/{row['id']}/", "/streams/99/"))
    exchange.control("DELETE", f"/streams/{row['id']}")
    seq = exchange.control("GET", "/digest")["seq"]
    ended_past = exchange.control("GET", f"/history/{seq}/streams/{row['id']}/frames")
    assert (ended_past["frames"], ended_past["open"]) == (frames, False)
    with pytest.raises(grpc.RpcError) as ended:
        list(call)
    assert ended.value.code() == grpc.StatusCode.UNAVAILABLE
    assert exchange.control("GET", "/streams")["streams"] == []


@pytest.mark.spec("S6.2-1")
def test_a_stream_that_is_all_there_is_hears_its_heartbeats_on_a_paced_clock(exchange, channel):
    exchange.control("PUT", "/clock", {"mode": "paced:120"})
    call = channel.unary_stream(ORDERS)(b"", metadata=bearer(exchange), timeout=10)
    # a snapshot, then two heartbeats
    assert [next(call)[:1] for _ in range(3)] == [b"\x12", b"\x0a", b"\x0a"]
    call.cancel()


BOOKS = "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"


def everything_that_came(call):
    """Messages of a stream until it ends, and how it ended."""
    frames = []
    try:
        for frame in call:
            frames.append(frame)
    except grpc.RpcError as ended:
        return frames, ended.code(), ended.details()
    return frames, grpc.StatusCode.OK, ""


@pytest.mark.long
def test_time_moved_by_command_waits_for_those_who_read(exchange):
    """A clock that is moved far at once makes messages faster than anybody reads; that does not
    make a slow consumer (rule S12).
    """
    exchange.control("PUT", "/assumptions/stream.buffer_messages", {"value": "40"})
    with grpc.insecure_channel(exchange.grpc) as channel, ThreadPoolExecutor(1) as pool:
        call = channel.unary_stream(BOOKS)(b"", metadata=bearer(exchange))
        next(call)
        reading = pool.submit(everything_that_came, call)
        exchange.clock.advance("20m")
        (stream,) = exchange.control("GET", "/streams")["streams"]
        exchange.control("DELETE", f"/streams/{stream['id']}")
        frames, code, _ = reading.result()
    assert code == grpc.StatusCode.UNAVAILABLE
    assert len(frames) + 1 == stream["sent"] > 400


@pytest.mark.long
def test_who_does_not_read_at_all_is_a_slow_consumer(exchange, channel, monkeypatch):
    """Rule S12: code 8."""
    monkeypatch.setattr("sim.server.open_streams._READER_S", 0.01)
    exchange.control("PUT", "/assumptions/stream.buffer_messages", {"value": "40"})
    call = channel.unary_stream(BOOKS)(b"", metadata=bearer(exchange))
    next(call)
    exchange.clock.advance("24h")
    assert exchange.control("GET", "/streams")["streams"] == []
    ended = everything_that_came(call)[1:]
    assert ended == (grpc.StatusCode.RESOURCE_EXHAUSTED, "slow consumer")
    rows = exchange.control("GET", "/history?kind=stream")["rows"]
    explained = exchange.control("GET", f"/explain/{rows[-1]['subject']}")
    assert (explained["end"]["code"], explained["retry"]) == (8, True)
    assert explained["chain"][-1]["rule"] == "S12"


@pytest.mark.spec("S7.2-6")
def test_a_reset_drops_streams_with_unavailable_and_refuses_earlier_tokens(exchange, channel):
    firm = exchange.firms[0]
    metadata = bearer(exchange, firm)
    call = channel.unary_stream(ORDERS)(b"", metadata=metadata, timeout=20)
    next(call)
    exchange.reset()
    with pytest.raises(grpc.RpcError) as ended:
        list(call)
    assert ended.value.code() == grpc.StatusCode.UNAVAILABLE
    again = channel.unary_stream(ORDERS)(b"", metadata=metadata, timeout=20)
    assert again.code() == grpc.StatusCode.UNAUTHENTICATED


# ---- what the exchange says before, beside and instead of an answer


@pytest.mark.spec("S7.2-8")
@pytest.mark.parametrize(
    ("effect", "observed"),
    [
        ("reset", ConnectionResetError),
        ("refuse", ConnectionResetError),
        ("half_close", http.client.IncompleteRead),
    ],
)
def test_connection_faults_come_before_any_status_or_in_the_middle_of_the_body(
    exchange, effect, observed
):
    connection = http.client.HTTPConnection(urlsplit(exchange.gateway).netloc)
    with exchange.fault("ListLeagues", **{effect: True}), pytest.raises(observed):
        connection.request("GET", "/v2/leagues")
        connection.getresponse().read()
    connection.close()
    connection.request("GET", "/v2/leagues")
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.spec("S7.2-8")
def test_over_grpc_a_connection_fault_is_unavailable(exchange, channel):
    method = channel.unary_unary("/exchange.v1.AccountsAPI/GetWhoAmI")
    metadata = bearer(exchange)
    assert method.with_call(b"", metadata=metadata)[1].code() == grpc.StatusCode.OK
    with exchange.fault("GetWhoAmI", reset=True), pytest.raises(grpc.RpcError) as failed:
        method(b"", metadata=metadata)
    assert failed.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.spec("S7.2-5")
def test_reflection_is_denied_and_unknown_services_are_unimplemented(exchange, channel):
    denied = (grpc.StatusCode.PERMISSION_DENIED, "permission denied")
    unknown = (grpc.StatusCode.UNIMPLEMENTED, "unknown service")
    for method, (code, message) in (
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", denied),
        ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", denied),
        ("/no.such.Service/Method", unknown),
    ):
        call = channel.stream_stream(method)(iter([b""]), timeout=20)
        assert call.code() == code
        assert call.details().startswith(message)


def test_the_docs_listener_has_the_openapi_documents(exchange):
    for plane in ("gateway", "retail", "exchange", "auth"):
        assert kit_http.call(f"{exchange.docs}/openapi/{plane}.json").json()["paths"]
