"""Faults of webhook attempts and scripted receivers: how a scenario can disturb the delivery of
webhooks, and where the effects are visible.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.core.model.instrument import Instrument
from sim.read.explain import explain
from sim.read.headless_run import run_scenario
from sim.run.actors.operator.metrics import metrics
from sim.run.actors.operator.views import deliveries, view
from sim.server.telemetry.prometheus import prometheus_text
from sim.testing.exchange_fixture import ServedExchange
from sim.world.format.scenario import Scenario
from tests.kit import PERSON, Desk, retail_order

URL = "https://hooks.receiver.invalid/"
REJECTED = PERSON | {"external_id": "person-1", "email": "reject@example.com"}


def call(verb: str, path: str, body: Any = None) -> dict[str, Any]:
    """A call of the partner in a step."""
    request = {"plane": "exchange", verb: path, "as": "firms/atlas"}
    return request | ({"json": body} if body else {})


START = call("post", "/v1/kyc/start", REJECTED)
REGISTER = call("post", "/v1/kyc/webhook", {"webhook_url": URL})


def scenario(
    answers: list[dict[str, Any]] | None = None,
    faults: list[dict[str, Any]] | None = None,
    steps: list[dict[str, Any]] | None = None,
    firm: str = "firms/atlas",
) -> Scenario:
    """Return a scenario of a firm with a scripted webhook receiver and a rejected verification."""
    receiver = {"name": "hooks", "firm": firm, "answers": answers or []}
    document = {
        "name": "hooked",
        "extends": "quickstart",
        "world": {"games": 0, "receivers": [receiver]},
        "faults": faults or [],
        "steps": [{"call": START}, *(steps or [])],
    }
    return load_scenario(json.dumps(document, indent=1))


def after(span: str, text: Scenario) -> Simulation:
    """Return a simulation of a scenario after a time."""
    sim = Simulation(text)
    connection = Desk(sim)
    connection.advance(span)
    return sim


def attempts(sim: Simulation, kind: str = "kyc.rejected") -> list[tuple[int, str, str]]:
    """Return number, outcome and fault of each attempt so far, from the control plane."""
    rows = deliveries(sim.exchange)
    return [(row["attempt"], row["outcome"], row["fault"]) for row in rows if row["type"] == kind]


# ---- the attempts that a fault affects


@pytest.mark.spec("S6.1-6")
@pytest.mark.parametrize("act", [{"status": 500}, {"reset": True}, {"hang": True}, {"code": 14}])
@pytest.mark.parametrize(
    ("which", "struck"),
    [("", 4), ("1", 1), ("2", 0), ("1..3", 3), ("2..", 0), ("1..", 4), ("3..9", 0)],
)
def test_a_fault_strikes_the_attempts_that_it_names(
    act: dict[str, Any], which: str, struck: int
) -> None:
    """Attempts that match the fault fail; the receiver acknowledges all others."""
    match = {"plane": "webhook", "operation": "kyc.rejected"} | (
        {"attempts": which} if which else {}
    )
    text = scenario(faults=[{"match": match, "act": act}])
    sim = after("55s", text)
    observed = attempts(sim)[:4]
    expected = [(number, "failed", "f1") for number in range(1, struck + 1)]
    assert observed[:struck] == expected
    if struck < 4:
        assert observed[struck:] == [(struck + 1, "delivered", "")]


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        ({"operation": "kyc.rejected"}, True),
        ({"operation": "kyc.approved"}, False),
        ({"caller": "firms/atlas"}, True),
        ({"caller": "firms/borealis"}, False),
        ({"operation": "kyc.rejected", "caller": "firms/atlas"}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("act", ["drop", "duplicate"])
def test_a_fault_of_a_whole_delivery_is_chosen_by_kind_and_firm(
    match: dict[str, str], hit: bool, act: str
) -> None:
    fault = {"match": {"plane": "webhook", **match}, "act": {act: True}}
    observed = attempts(after("1m", scenario(faults=[fault])))
    delivered = sum(outcome == "delivered" for _, outcome, _ in observed)
    assert delivered == (1 if not hit else 0 if act == "drop" else 2)


@pytest.mark.parametrize("which", ["2", "2..3"])
def test_a_later_attempt_is_struck_when_the_receiver_failed_the_first(which: str) -> None:
    fault = {"match": {"plane": "webhook", "attempts": which}, "act": {"status": 503}}
    sim = after("2m", scenario([{"status": 500}, {}], faults=[fault]))
    failed = [(1, "failed", ""), (2, "failed", "f1")]
    failed += [(3, "failed", "f1")] if which == "2..3" else []
    assert attempts(sim) == [*failed, (len(failed) + 1, "delivered", "")]


@pytest.mark.spec("S6.1-6")
def test_a_fault_opens_the_circuit_breaker_and_its_end_closes_it() -> None:
    fault = {"match": {"plane": "webhook"}, "act": {"status": 500}, "times": 5}
    step = {"at": "+1m", "expect": {"breaker": {"firm": "atlas", "state": "open"}}}
    closed = {
        "at": "+2m",
        "expect": {
            "breaker": {"firm": "atlas", "state": "closed"},
            "webhook": {"outcome": "delivered", "attempt": 6},
            "fault": {"id": "f1", "affected": 5},
        },
    }
    report = run_scenario(scenario(faults=[fault], steps=[step, closed]))
    assert report.ok, report


@pytest.mark.spec("S6.1-6")
def test_a_fault_that_goes_on_opens_the_breaker_again_with_what_is_parked() -> None:
    """The first probe after a cooldown fails at once, and the other deliveries stay parked."""
    people = [REJECTED | {"external_id": f"p-{n}", "ssn": f"90011224{n}"} for n in range(4)]
    starts = [{"at": "+1s", "call": START | {"json": person}} for person in people]
    still = {"at": "+10m", "expect": {"breaker": {"firm": "atlas", "state": "open"}}}
    fault = {"match": {"plane": "webhook"}, "act": {"status": 500}}
    report = run_scenario(scenario(faults=[fault], steps=[*starts, still]))
    assert report.ok, report


def test_a_delay_holds_up_the_attempt_that_it_names_and_one_with_a_status_fails_it_then() -> None:
    late = {"match": {"plane": "webhook", "attempts": "1"}, "act": {"delay": "30s"}}
    sim = after("29s", scenario(faults=[late]))
    assert attempts(sim) == []
    Desk(sim).advance("1s")
    assert attempts(sim) == [(1, "delivered", "f1")]
    lost = {"match": {"plane": "webhook", "attempts": "1"}, "act": {"delay": "30s", "status": 500}}
    sim = after("30s", scenario(faults=[lost]))
    assert attempts(sim) == [(1, "failed", "f1")]


def test_the_second_of_two_deliveries_may_come_late() -> None:
    fault = {"match": {"plane": "webhook"}, "act": {"duplicate": True, "delay": "20s"}}
    sim = after("19s", scenario(faults=[fault]))
    assert attempts(sim) == [(1, "delivered", "")]
    Desk(sim).advance("1s")
    assert attempts(sim) == [(1, "delivered", "")] * 2


@pytest.mark.parametrize(
    ("act", "text"),
    [
        ({"status": 500}, "HTTP 500"),
        ({"reset": True}, "fault f1"),
        ({"hang": True}, "no answer within 5s"),
        ({"delay": "3s", "status": 503}, "HTTP 503"),
    ],
)
def test_the_test_delivery_of_a_registration_can_fail(act: dict[str, Any], text: str) -> None:
    fault = {"match": {"plane": "webhook", "operation": "webhook.test"}, "act": act, "times": 1}
    expect = {
        "status": 200,
        "json": {"validated": False, "message": f"test delivery failed: {text}"},
    }
    again = {"call": REGISTER, "at": "+1m", "expect": {"json": {"validated": True}}}
    steps = [{"call": REGISTER, "expect": expect}, again]
    report = run_scenario(scenario(faults=[fault], steps=steps, firm=""))
    assert report.ok, report


FAIL = {"status": 500}


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"match": {"attempts": "0"}, "act": FAIL}, "attempts must be a number such as"),
        ({"match": {"attempts": "3..1"}, "act": FAIL}, "attempts must be a number such as"),
        ({"match": {"attempts": "first"}, "act": FAIL}, "attempts must be a number such as"),
        ({"match": {"attempts": "1"}, "act": {"drop": True}}, "use `hang` to make an attempt fail"),
        (
            {"match": {"plane": "retail", "attempts": "1"}, "act": {"status": 500}},
            "which only webhook deliveries have",
        ),
        (
            {"match": {"plane": "webhook", "operation": "webhook.test"}, "act": {"drop": True}},
            "drop and duplicate are not possible on webhook.test",
        ),
    ],
)
def test_a_fault_without_effect_is_refused_in_a_file_and_on_the_control_plane(
    fault: dict[str, Any], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps({"name": "bad", "extends": "quickstart", "faults": [fault]}))
    assert main(["check", str(file)]) == 2
    assert problem in capsys.readouterr().err
    with pytest.raises(Exception, match=problem.replace(".", r"\.")):
        Simulation(load_scenario("quickstart")).control("fault.add", "", fault)


# ---- scripted receivers


ANSWERS = st.builds(
    dict,
    status=st.sampled_from([200, 204, 302, 404, 500, 503]),
    times=st.integers(1, 3),
    delay=st.sampled_from(["0s", "1s", "4s", "6s"]),
) | st.builds(dict, st.sampled_from([{"hang": True}, {"reset": True}]), times=st.integers(1, 2))


@pytest.mark.long
@pytest.mark.spec("S6.1-6")
@given(st.lists(ANSWERS, max_size=4))
def test_attempts_end_as_the_receiver_was_told_to_answer(answers: list[dict[str, Any]]) -> None:
    """The model is the list of answers: the n-th attempt gets the n-th answer, and the first 2xx in
    time ends the delivery.
    """
    reported = [answer for answer in answers for _ in range(answer["times"])] or [{}]
    sim = after("4h", scenario(answers))
    expected: list[tuple[int, str, str]] = []
    for number in range(1, 9):
        answer = reported[min(number, len(reported)) - 1]
        in_time = answer.get("delay", "0s") != "6s"
        lost = answer.get("hang") or answer.get("reset") or not in_time
        delivered = not lost and answer.get("status", 200) < 300
        expected.append((number, "delivered" if delivered else "failed", ""))
        if delivered:
            break
    assert attempts(sim) == expected
    (row,) = _view(sim, "receivers")
    assert row["received"] == len(expected)


def _view(sim: Simulation, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = view(sim.engine, name)[name]
    return rows


def test_a_retry_after_of_the_receiver_replaces_the_wait() -> None:
    sim = after("10m", scenario([{"status": 429, "retry_after": "7m"}, {}]))
    first, second = (row["at"] for row in deliveries(sim.exchange))
    assert (first, second) == ("2026-09-08T18:00:00Z", "2026-09-08T18:07:00Z")


def test_a_step_and_a_control_call_change_what_a_receiver_answers() -> None:
    sim = after("6s", scenario([{"status": 500}]))
    assert _view(sim, "receivers")[0]["next"] == {"status": 500}
    sim.control("receiver.change", "hooks", {"answers": []})
    Desk(sim).advance("1m")
    assert attempts(sim)[-1][1] == "delivered"
    with pytest.raises(Exception, match="no receiver is called hoks"):
        sim.control("receiver.change", "hoks", {})


def test_a_run_with_a_receiver_replays_forks_and_rewinds() -> None:
    text = scenario([{"status": 500, "delay": "1s"}, {"hang": True}, {"delay": "2s"}])
    sim = Simulation(text)
    connection = Desk(sim)
    connection.advance("500ms")  # a request waits for its answer
    seq, forked = sim.seq, sim.fork()
    for item in (sim, forked):
        Desk(item).advance("1m")
    assert (
        attempts(sim)
        == attempts(forked)
        == [(1, "failed", ""), (2, "failed", ""), (3, "delivered", "")]
    )
    digest = sim.digest
    assert forked.digest == digest
    sim.rewind(seq=seq)
    Desk(sim).advance("1m")
    assert sim.digest == digest
    sim.reset()
    assert attempts(sim) == []


@pytest.mark.parametrize(
    ("receiver", "problem"),
    [
        ({"name": "hooks", "firm": "firms/atlsa"}, "did you mean 'firms/atlas'"),
        ({"name": "hooks", "url": "ftp://x"}, "url: url must be an https URL"),
        ({"name": "hooks", "answers": [{"status": 500, "hang": True}]}, "either status or hang"),
        ({"name": "hooks", "answers": [{"status": 99}]}, "from 200 to 599, not '99'"),
    ],
)
def test_a_receiver_that_makes_no_sense_is_refused(
    receiver: dict[str, Any], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    document = {"name": "bad", "extends": "quickstart", "world": {"receivers": [receiver]}}
    file.write_text(json.dumps(document))
    assert main(["check", str(file)]) == 2
    assert problem in capsys.readouterr().err


# ---- where the effect of a fault is visible


SEEN = {
    "exchange": ({"operation": "GetWhoAmI"}, {"status": 503}, "affected GetWhoAmI"),
    "gateway": ({"operation": "GetGatewayHealth"}, {"delay": "2s"}, "affected GetGatewayHealth"),
    "stream": (
        {"operation": "CreateMarketDataSubscription"},
        {"drop": True},
        "affected a frame of",
    ),
    "webhook": ({"attempts": "1"}, {"status": 500}, "affected attempt 1 of kyc.rejected"),
    "engine": ({"operation": "place"}, {"delay": "2s"}, "affected place (mine)"),
}


@pytest.mark.parametrize("plane", SEEN)
def test_what_a_fault_affected_is_seen_in_timeline_explanation_counts_and_metrics(
    plane: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    match, act, words = SEEN[plane]
    listed = [{"symbol": "mine", "tick_size": "0.01", "state": "OPEN"}]
    bid = {"plane": "retail", "post": "/v1/orders", "as": _a_key()}
    bid["json"] = retail_order(Instrument(symbol="mine"), "BUY_LONG", 2)
    stream = {"name": "books", "as": "firms/atlas", "json": {"symbols": ["mine"]}}
    stream["rpc"] = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
    text = {
        "name": "seen",
        "extends": "quickstart",
        "world": {
            "games": 0,
            "instruments": listed,
            "receivers": [{"name": "hooks", "firm": "atlas"}],
        },
        "faults": [{"match": {"plane": plane, **match}, "act": act, "times": 1}],
        "steps": [
            {"subscribe": stream},
            {"call": call("get", "/v1/whoami"), "expect": {"refused": "maybe"}},
            {"call": {"plane": "gateway", "get": "/v1/health"}},
            {"call": START},
            {"call": bid},
            {"at": "+1m", "expect": {"fault": {"id": "f1", "affected": 1}}},
        ],
    }
    file = tmp_path / "seen.yaml"
    file.write_text(json.dumps(text))
    assert main(["run", str(file), "--journal", str(tmp_path)]) == 0, capsys.readouterr().out
    assert main(["timeline", str(tmp_path / "seen-7.ndjson")]) == 0
    displayed = [
        line for line in capsys.readouterr().out.splitlines() if f"└ fault f1 {words}" in line
    ]
    assert len(displayed) == 1
    assert main(["explain", str(tmp_path / "seen-7.ndjson"), "fault/f1"]) == 0
    assert f"fault f1 {words}" in capsys.readouterr().out
    sim = after("2m", load_scenario(json.dumps(text, indent=1)))
    explanation = explain(sim, "fault/f1")
    assert explanation is not None and len(explanation["chain"]) == 1
    (row,) = _view(sim, "faults")
    assert (row["affected"], row["over"]) == (1, True)
    text = prometheus_text(metrics(sim.engine)).decode()
    assert 'sim_fault_affected_total{fault="f1"} 1.0' in text.splitlines()
    if plane == "stream":
        assert "affected a frame" in str(explain(sim, "stream/1"))
    if plane == "engine":
        (order,) = [item["id"] for item in _view(sim, "orders") if item["symbol"] == "mine"]
        assert "affected place" in str(explain(sim, order))


def _a_key() -> str:
    keys = Simulation(load_scenario("quickstart")).world.parties.api_keys
    return str(keys[0].key_id)


def test_the_fixture_takes_attempts(exchange: ServedExchange) -> None:
    exchange.fault("kyc.approved", plane="webhook", attempts="1..2", hang=True, times=4)
    (fault,) = exchange.control("GET", "/faults")["faults"]
    match = {"plane": "webhook", "operation": "kyc.approved", "attempts": "1..2"}
    assert (fault["match"], fault["act"], fault["times"]) == (match, {"hang": True}, 4)


# ---- orders of steps


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        (
            None,
            "its order was rejected (Book is SUSPENDED); if this is intended, add `expect: {order: {state: REJECTED}}`",
        ),
        ({"open_orders": {"symbol": "mine", "count": 0}}, "its order was rejected (Book is"),
        ({"order": {"state": "REJECTED"}}, ""),
        ({"order": {"reason": "SUSPENDED"}}, ""),
        ({"refused": "maybe"}, ""),
    ],
)
def test_a_step_whose_order_is_rejected_fails_unless_it_expects_that(
    expect: dict[str, Any] | None, text: str
) -> None:
    order = {"as": "maker", "symbol": "mine", "side": "buy", "price": "0.40", "qty": "1"}
    # at an absolute instant, so that `sim check` cannot know the state by then
    bid = {"name": "bid", "at": "2026-09-08T14:00:01-04:00", "order": order}
    step = bid | ({"expect": expect} if expect else {})
    document = {
        "name": "suspended",
        "world": {
            "base": "empty",
            "instruments": [{"symbol": "mine", "tick_size": "0.01", "state": "SUSPENDED"}],
        },
        "steps": [step],
    }
    report = run_scenario(load_scenario(json.dumps(document, indent=1)))
    assert report.ok is not bool(text)
    assert text in report.first_failure
