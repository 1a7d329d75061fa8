"""`sim compare FILE --scenario S`: a recorded session replayed, values, order and causality too."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest

from sim.cli.main import main
from sim.run.client.client import Http
from tests.evidence.conftest import differences
from tests.evidence.in_process import record
from tests.evidence.lines import Change, Line, called, frames, in_report, lines, put
from tests.evidence.session import recorded
from tests.evidence.test_compare_contract import CHANGES, LEDGER
from tests.journeys import firm, key, trader
from tests.reading import CHOSEN

QUICKSTART = ("--scenario", "quickstart")
STREAM = "OrderEntryAPI.CreateOrderSubscription"
DIVERGENT = {
    "a fault": "faults: [{match: {operation: GetOrder}, act: {status: 503}}]",
    "another reading": "reading: observed",
    "a frame is lost": ("faults: [{match: {operation: PrivateStream, nth: 2}, act: {drop: true}}]"),
}


@pytest.mark.parametrize("seed", [7, 12345])
def test_another_seed_differs_in_nothing(seed, session, compare):
    code, result = compare(session, *QUICKSTART, "--seed", str(seed))
    assert (code, differences(result)) == (0, [])
    assert result["totals"]["agree"] == result["totals"]["seen"] > 30
    assert result["scenario"] == "quickstart"


@pytest.mark.parametrize("change", [*CHANGES][::2])
def test_what_the_contract_finds_has_the_same_culprit_here(change, spoil, compare):
    change = CHANGES[change]
    code, result = compare(spoil(change.make), *QUICKSTART)
    reported = [
        (name, item["where"], item["kind"], item["culprit"]) for name, item in differences(result)
    ]
    assert (change.operation, change.where, change.kind, "recording") in reported
    assert code == 1
    assert result["operations"][change.operation]["differ"] == 1


def other_order(rows: list[Line]) -> None:
    """The answer about one order names another that the client has seen."""
    placed = called(rows, "/v1/trading/orders", 200)["answer"]["body"]["orderId"]
    put(called(rows, "/v1/order/", 200), "answer.body.order.id", placed)


def swapped(rows: list[Line]) -> None:
    """Two executions of a stream change places."""
    first, second, *_ = frames(rows, "update")
    first["frame"], second["frame"] = second["frame"], first["frame"]


POSITIONS = "/v1/positions/ledger/download"
VALUES = {
    "a decimal is moved": Change("/v1/order/", "answer.body.order.price.value", "value", "4.00"),
    "a number is another": Change("/v1/order/", "answer.body.order.quantity", "value", 6),
    "another member of the enumeration": Change(
        "/v1/order/", "answer.body.order.state", "value", "ORDER_STATE_FILLED"
    ),
    "an hour late": Change(
        "/v1/order/", "answer.body.order.createTime", "value", "2026-09-08T19:00:02Z"
    ),
    "a price level is gone": Change("/v1/orderbook/", "answer.body.bids[1]", "value"),
    "a number in a line of CSV": Change(
        POSITIONS, "answer.body[0].netPosition", "value", in_report(",0,-200,", ",0,-300,")
    ),
    "an amount of the ledger": Change(
        LEDGER, "answer.body[0].description", "value", in_report("opening", "closing")
    ),
    "a value in a frame": Change(
        "update", "frame.body.update.executions[0].order.price", "value", "36"
    ),
}


@pytest.mark.parametrize("change", [*VALUES, "another order"])
def test_a_value_that_every_document_allows_is_nobodys(change, spoil, compare):
    expected = VALUES.get(change, Change("/v1/order/", "answer.body.order.id", "value"))
    make = expected.make if change in VALUES else other_order
    code, result = compare(spoil(make), *QUICKSTART)
    reported = [
        (name, item["where"], item["culprit"])
        for name, item in differences(result)
        if item["kind"] in ("value", "format")
    ]
    assert (code, reported) == (1, [(expected.operation, expected.where, "unknown")])


def test_a_dropped_frame_is_found_at_its_place(spoil, session, compare):
    _, dropped, following, *_ = frames(lines(session), "orderSubscriptionUpdate")
    file = spoil(lambda answer: answer.remove(dropped))
    code, result = compare(file, *QUICKSTART)
    ((name, item),) = differences(result)
    assert code == 1
    assert (name, item["kind"], item["culprit"]) == (
        "RetailStreamsAPI.PrivateStream",
        "missing frame",
        "recording",
    )
    assert item["n"] == following["n"]
    assert "orderSubscriptionUpdate" in item["ours"]


def heartbeats(rows: list[Line], opened: str) -> list[Line]:
    """The heartbeats of the stream that was opened so."""
    stream = next(row["stream"] for row in rows if opened in str(row.get("opened")))
    return [row for row in frames(rows, "heartbeat") if row["stream"] == stream]


@pytest.mark.parametrize("kind", ["CreateOrderSubscription", "/v1/ws/private"])
def test_a_dropped_heartbeat_is_found(kind, spoil, session, compare):
    """Which one it was, nobody can tell: heartbeats do not say when they were sent."""
    beats = heartbeats(lines(session), kind)
    file = spoil(lambda answer: answer.remove(beats[len(beats) // 2]))
    code, result = compare(file, *QUICKSTART)
    ((name, item),) = differences(result)
    assert code == 1 and name.endswith(("CreateOrderSubscription", "PrivateStream"))
    assert (item["kind"], item["culprit"], item["ours"]) == (
        "missing frame",
        "recording",
        "a heartbeat",
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", ["CreateOrderSubscription", "/v1/ws/private"])
def test_heartbeats_that_we_do_not_send_are_found(kind, spoil, session, compare):
    """One may be ours that comes a moment later."""

    def change(answer: list[Line]) -> None:
        beats = heartbeats(answer, kind)
        where = answer.index(beats[0])
        answer[where:where] = [beats[0]] * 4

    code, result = compare(spoil(change), *QUICKSTART)
    reported = [item for _, item in differences(result)]
    assert code == 1 and 3 <= len(reported) <= 4
    assert {(item["kind"], item["recorded"]) for item in reported} == {
        ("extra frame", "a heartbeat")
    }


def test_a_frame_too_many_is_found_at_its_place(spoil, session, compare):
    def change(answer: list[Line]) -> None:
        reported = frames(answer, "update")[0]
        answer.insert(answer.index(reported), reported)

    _, result = compare(spoil(change), *QUICKSTART)
    ((name, item),) = differences(result)
    assert (name, item["kind"], item["culprit"]) == (STREAM, "extra frame", "unknown")


def test_frames_in_another_order_are_found(spoil, compare):
    code, result = compare(spoil(swapped), *QUICKSTART)
    assert code == 1
    assert {name for name, _ in differences(result)} == {STREAM}


@pytest.mark.reading("documented")
@pytest.mark.parametrize("divergent", DIVERGENT)
def test_a_sandbox_that_diverges_is_caught(divergent, session, tmp_path, compare):
    if CHOSEN != "documented":  # the session was recorded in that reading
        session = recorded(tmp_path / "documented.ndjson")
    scenario = tmp_path / "divergent.yaml"
    scenario.write_text(f"extends: quickstart\nname: divergent\n{DIVERGENT[divergent]}\n")
    code, result = compare(session, "--scenario", str(scenario))
    assert code == 1
    assert differences(result)


def test_identities_are_matched_by_kind(tmp_path, compare):
    """A firm whose client id the scenario does not know is the first one."""
    scenario = tmp_path / "renamed.yaml"
    session = recorded(tmp_path / "session.ndjson", seed=3)
    asked = called(lines(session), "/oauth/token", 200)["request"]
    client_id = parse_qs(asked["body"])["client_id"][0]
    session.write_text(session.read_text().replace(client_id, "somebody-else"))
    scenario.write_text("extends: quickstart\nname: renamed\n")
    assert compare(session, "--scenario", str(scenario))[0] == 0


def test_whoever_was_only_refused_stands_for_nobody_of_the_scenario(tmp_path, compare):
    """Any number of wrong tokens, keys, clients and participants, beside those that are right."""
    session = tmp_path / "session.ndjson"
    world = record(session)
    right = {"authorization": world.bearer(firm(world.simulation))["authorization"]}
    signed = world.retail_headers(key(world.simulation), "GET", "/v1/orders/open")
    for number in range(9):
        wrong = {"authorization": f"Bearer wrong-{number}", "x-participant-id": "firms/x/users/y"}
        stranger = right | {"x-participant-id": f"firms/x/users/{number}"}
        spoilt = signed | {"x-pm-access-key": f"key-{number}"}
        for plane, headers, status in (
            ("exchange", wrong, 401),
            ("exchange", stranger, 403),
            ("retail", spoilt, 401),
        ):
            path = "/v1/orders/open" if plane == "retail" else "/v1/trading/orders/open"
            client = Http(world, plane, lambda verb, path, sent=headers: sent)
            assert client.get(path).status == status
        form = {"grant_type": "client_credentials", "client_id": f"client-{number}"}
        assert world.auth.post("/oauth/token", form=form).status == 400
    assert trader(world).get("/v1/trading/orders/open").status == 200
    assert world.gateway.request("HEAD", "/v1/health").status == 405
    code, result = compare(session, *QUICKSTART)
    assert (code, differences(result)) == (0, [])


def test_addresses_of_the_service_are_its_own(tmp_path, compare):
    """A service that stands elsewhere names itself by other addresses in its answers."""
    session = tmp_path / "session.ndjson"
    world = record(session)
    assert trader(world).get("/v1/whoami").json()["audience"] == world.audience
    assert world.auth.get("/.well-known/openid-configuration").status == 200
    elsewhere = session.read_text()
    for name in ("api.sandbox.test", "auth.sandbox.test"):
        assert name in elsewhere
        for slashes in ("//", "%2F%2F"):  # the latter in a form
            elsewhere = elsewhere.replace(f"https:{slashes}{name}", f"http:{slashes}127.0.0.1:4711")
    session.write_text(elsewhere)
    code, result = compare(session, *QUICKSTART)
    assert (code, differences(result)) == (0, [])
    assert result["totals"]["seen"] >= 3


@pytest.mark.soak
def test_odd_sessions_end_in_a_verdict(spoil, compare):
    def change(result: list[Line]) -> None:
        for number, line in enumerate(result[1:]):
            if "request" in line:
                line["request"]["body"] = [None, 5, "text", {"a": [1]}, {"unreadable": 1}][
                    number % 5
                ]
            elif "frame" in line and line["frame"]["from"] == "client":
                line["frame"]["body"] = {"subscribe": 7}
            elif "closed" in line:
                line["closed"] = {}

    code, _ = compare(spoil(change), *QUICKSTART)
    assert code == 1


def test_a_seed_needs_a_scenario(session, capsys):
    assert main(["compare", str(session), "--seed", "3"]) == 2
    assert "--scenario" in capsys.readouterr().err


def test_a_recording_without_lines_has_no_evidence(tmp_path, compare, capsys):
    empty = tmp_path / "empty.ndjson"
    empty.write_text(json.dumps({"recording": 1}) + "\n")
    code, result = compare(empty, *QUICKSTART)
    assert code == 0
    assert "nothing could be compared" in capsys.readouterr().out
    assert result["totals"]["seen"] == 0
    assert len(result["not_seen"]) > 150


def test_a_call_of_a_sockets_address_is_no_handshake(tmp_path, compare):
    world = record(tmp_path / "plain.ndjson", "quickstart", 7)
    assert world.retail(key(world.simulation)).get("/v1/ws/private").status == 400
    code, result = compare(tmp_path / "plain.ndjson", *QUICKSTART)
    assert (code, differences(result), result["totals"]["agree"]) == (0, [], 1)
