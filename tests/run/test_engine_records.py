"""What the journal says of an outcome, field by field, and which bodies it holds in full."""

from __future__ import annotations

import io
import json
import zlib
from hashlib import sha256
from typing import Any

import pytest
from msgspec import json as wire

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import Close, Fired, Outcome, Post, Reply, Resolve, Send, StepResult
from sim.api.pipeline.request_log import LoggedCall
from sim.core.model.refusals import Conflict
from sim.kernel.release import RELEASE
from sim.run.client.client import connect
from sim.run.engine.journal_record import library_versions, record_of
from tests.journeys import enter, order, quiet, trader

NOW = 1_000


def recorded(outcome: Outcome, entry: LoggedCall | None = None) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(wire.encode(record_of(outcome, entry, NOW)))
    return result


def test_an_outcome_of_nothing_has_an_empty_record() -> None:
    assert recorded(Outcome(seq=1)) == {}


def test_an_answer_is_recorded_with_its_call_status_and_time() -> None:
    names = ("OrderBookAPI.GetBBO", "firms/atlas")
    entry = LoggedCall(1, NOW, "exchange", *names, 404, 5, "/x", (), None)
    reply = Reply(status=404, code=5, message="not there", body=b'{"a":1}', ready_at=NOW + 5)
    assert recorded(Outcome(seq=1, reply=reply, stream=3), entry) == {
        "operation": "OrderBookAPI.GetBBO",
        "caller": "firms/atlas",
        "status": 404,
        "code": 5,
        "message": "not there",
        "body": {"a": 1},
        "elapsed": 5,
        "stream": 3,
    }


def test_what_is_nothing_is_left_out_of_a_record() -> None:
    assert recorded(Outcome(seq=1, reply=Reply(status=0))) == {}
    assert recorded(Outcome(seq=1, reply=Reply(status=1, code=1), stream=1)) == {
        "status": 1,
        "code": 1,
        "stream": 1,
    }
    reply = Reply(body=b"")
    assert recorded(Outcome(seq=1, reply=reply)) == {"status": 200}


def test_trades_are_only_named_because_their_executions_are_events_too() -> None:
    world = connect(Simulation(load_scenario("quickstart")))
    instrument = quiet(world.simulation)
    for user, side in ((0, "buy"), (1, "sell")):
        enter(world, instrument, side, 50, 2, user=user)
    last = json.loads([*world.simulation.journal_lines()][-1])["out"]["events"]
    (trade,) = world.simulation.exchange.trading.trades
    assert [event for event in last if event["event"] == "Traded"] == [
        {
            "event": "Traded",
            "id": trade.id,
            "symbol": instrument.symbol,
            "price": 50 * instrument.price_scale // 100,
            "qty": 2 * instrument.qty_scale,
            "state": last[[event["event"] for event in last].index("Traded")]["state"],
            "rule": "M1",
        }
    ]
    assert sum(event["event"] == "Executed" for event in last) >= 2


@pytest.mark.parametrize(("ready_at", "elapsed"), [(NOW - 1, 0), (NOW, 0), (NOW + 1, 1)])
def test_an_answer_that_is_ready_took_no_time(ready_at: int, elapsed: int) -> None:
    result = recorded(Outcome(seq=1, reply=Reply(ready_at=ready_at)))
    assert result.get("elapsed", 0) == elapsed


@pytest.mark.parametrize(("shared", "most"), [(False, 4096), (True, 1024)])
def test_a_long_body_is_recorded_by_its_size_and_digest(shared: bool, most: int) -> None:
    for size in (most, most + 1, 1 << 18, (1 << 18) + 1):
        body = json.dumps("x" * (size - 2)).encode()
        assert len(body) == size
        for _ in range(2):  # the second time its digest is remembered
            result = recorded(Outcome(seq=1, reply=Reply(body=body, shared=shared)))
            if size > most:
                digest = sha256(body).hexdigest()
                assert result == {"status": 200, "body_size": size, "body_sha256": digest}
            else:
                assert result == {"status": 200, "body": json.loads(body)}


def test_a_body_that_is_no_json_is_recorded_as_text_of_its_bytes() -> None:
    plain = Reply(body=b"no", content_type="text/plain")
    assert recorded(Outcome(seq=1, reply=plain))["body"] == json.loads(wire.encode(b"no"))


def test_a_secret_of_a_body_stands_in_no_record() -> None:
    reply = Reply(body=b'{"token":"abc"}', journal=b'{"token":"*"}')
    assert recorded(Outcome(seq=1, reply=reply))["body"] == {"token": "*"}
    assert "body" not in recorded(Outcome(seq=1, reply=Reply(body=b"{}", journal=b"")))


def test_the_refusal_of_an_action_is_its_message_and_its_reason() -> None:
    refusal = Conflict("too late", rule="M42", facts={"state": "CLOSED"})
    assert recorded(Outcome(seq=1, value=refusal)) == {
        "message": "too late",
        "rule": "M42",
        "facts": {"state": "CLOSED"},
    }
    assert recorded(Outcome(seq=1, value="done")) == {}


def test_effects_are_recorded_in_their_kinds() -> None:
    frame, twin = bytes(bytearray(b"frame")), bytes(bytearray(b"frame"))
    reply = Reply(status=201, body=b'{"id":1}')
    effects = [
        Send(1, frame),
        Send(2, frame),
        Send(3, twin),
        Close(1, 14, "over"),
        Send(2, b"last"),
        Resolve("answer/1", reply),
        Post("attempt/1", "https://a.test/x?y=1", "evt", b"body"),
    ]
    result = recorded(
        Outcome(
            seq=1,
            effects=list(effects),
            fired=[Fired(5, "kind", "subject")],
            steps=[StepResult(2, "name", 7)],
        )
    )
    chain = zlib.crc32(b"last", zlib.crc32(twin, zlib.crc32(frame)))
    assert result == {
        "frames": 4,
        "frames_crc": chain,
        "closed": [
            {
                "type": "close",
                "stream": 1,
                "code": 14,
                "message": "over",
                "web_socket_code": 1000,
                "rule": "",
            }
        ],
        "resolved": [["answer/1", 201, {"id": 1}, ""]],
        "posts": [f"attempt/1 evt https://a.test/x?y=1 {zlib.crc32(b'body'):08x}"],
        "fired": [{"at": 5, "timer": "kind", "subject": "subject"}],
        "steps": [{"step": 2, "name": "name", "at": 7}],
    }


def test_the_header_names_the_versions_that_may_change_a_digest() -> None:
    result = library_versions()
    assert list(result) == ["sandbox-exchange", "msgspec", "protobuf", "tzdata"]
    assert result["sandbox-exchange"] == RELEASE
    assert all(result.values())


def test_a_book_is_the_same_for_every_caller_and_recorded_by_its_size_from_a_kilobyte_on() -> None:
    journal = io.BytesIO()
    world = connect(Simulation(load_scenario("quickstart"), journal=journal))
    market, client = quiet(world.simulation), trader(world)
    kept = []
    for cents in range(5, 40):
        assert client.post("/v1/trading/orders", json=order(market, "buy", cents, 1)).status == 200
        world.advance("1s")
        book = world.gateway.get(f"/v1/markets/{market.symbol}/book").body
        out = json.loads(journal.getvalue().splitlines()[-1])["out"]
        assert out.get("body_size", len(book)) == len(book)
        kept.append((len(book), "body" in out))
    assert kept[0][0] < 1_024 < kept[-1][0] < 4_096
    assert all(total == (size <= 1_024) for size, total in kept)
