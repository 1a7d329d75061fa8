"""Every call walks the same stages in the same order; what would fail at two of them is refused by
the earlier one, and the refusal can be explained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sim.api.registry import handlers
from sim.read.explain import explain
from sim.run.client.client import Response
from tests.journeys import firm, order, quiet
from tests.kit import Desk

Prepare = Callable[[Desk], None]


def _fault(world: Desk) -> None:
    world.operate("fault.add", match={"operation": "InsertOrder"}, act={"status": 502})


def _maintenance(world: Desk) -> None:
    world.operate("maintenance.add", length="1h")
    world.advance("1s")


def _call(world: Desk, **value: Any) -> Response:
    result = value.pop("client", None) or world.trader()
    return result.request(
        value.pop("verb", "POST"), value.pop("path", "/v1/trading/orders"), **value
    )


# Stage, what makes the exchange refuse there, what of the call does, the status.
STAGES: list[tuple[str, Prepare | None, dict[str, Any], int]] = [
    ("fault", _fault, {}, 502),
    ("maintenance", _maintenance, {}, 503),
    ("route", None, {"path": "/v1/trading/nowhere"}, 404),
    ("size", None, {"body": b"[" * (1 << 20) + b"["}, 413),
    ("authenticate", None, {"headers": {"authorization": "Bearer a.b.c"}}, 401),
]


def explained(world: Desk, answer: Response) -> dict[str, Any]:
    """Why a call was refused, by the id in its answer."""
    result = explain(world.simulation, answer.reply.request_id)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("stage", "prepare", "call", "status"), STAGES, ids=[row[0] for row in STAGES]
)
def test_each_stage_refuses_with_its_own_status_and_says_so(
    world: Desk, stage: str, prepare: Prepare | None, call: dict[str, Any], status: int
) -> None:
    if prepare is not None:
        prepare(world)
    answer = _call(world, **call)
    assert answer.status == status
    assert explained(world, answer)["stage"] == stage


@pytest.mark.parametrize("index", range(len(STAGES) - 1))
def test_of_two_reasons_the_earlier_stage_decides(world: Desk, index: int) -> None:
    stage, prepare, call, status = STAGES[index]
    later = STAGES[index + 1]
    for each in (prepare, later[1]):
        if each is not None:
            each(world)
    answer = _call(world, **{**later[2], **call})
    assert (answer.status, explained(world, answer)["stage"]) == (status, stage)


@pytest.mark.spec("S7.1-3", "S5.1-9")
def test_a_missing_scope_comes_before_a_missing_participant_and_both_before_the_body(
    world: Desk,
) -> None:
    poor, rich = world.poor_firm, world.firm
    answer = _call(world, client=world.exchange(poor), body=b"{not json")
    assert (
        answer.status == 403 and "missing required scope write:orders" in answer.json()["message"]
    )
    answer = _call(world, client=world.exchange(rich), body=b"{not json")
    assert (answer.status, answer.json()["message"]) == (403, "permission denied")
    assert _call(world, body=b"{not json").status == 400


@pytest.mark.spec("S7.1-8", "S7.2-2", "S8-2")
def test_the_rate_limit_comes_before_the_body_is_read(world: Desk) -> None:
    user = world.trader()
    observed = [user.post("/v1/report/trades/stats", body=b"{not json").status for _ in range(61)]
    assert observed == [400] * 60 + [429]
    refused = user.post("/v1/report/trades/stats", body=b"{not json")
    assert refused.json()["code"] == 8
    assert (
        "GetTradeStats" in refused.json()["message"]
        and "endpoint" in refused.json()["message"]
        and "retry after" in refused.json()["message"]
    )
    assert int(refused.headers["retry-after"]) >= 1


def test_every_call_is_journalled_and_logged_refused_ones_too(world: Desk) -> None:
    sim = world.simulation
    world.bearer(firm(sim))
    before = sim.seq
    instrument = quiet(sim)
    _call(world, json=order(instrument, "buy", 50, 1))
    _call(world, path="/nowhere")
    _call(world, verb="DELETE")
    assert sim.seq == before + 3
    rows = sim.requests(since=before)
    assert [(row["operation"], row["status"]) for row in rows] == [
        ("OrderEntryAPI.InsertOrder", 200),
        ("", 404),
        ("", 405),
    ]
    assert [bool(row["explain"]) for row in rows] == [False, True, True]


def test_the_log_tells_what_came_after_an_input_and_nothing_twice(world: Desk) -> None:
    reported: list[int] = []
    start = world.simulation.seq
    for path in ("/v1/whoami", "/v1/users", "/v1/nothing"):
        before = world.simulation.seq
        world.trader().get(path)
        reported += [entry.seq for entry in world.simulation.log.since(before)]
    assert len(reported) >= 3
    assert reported == [row["seq"] for row in world.simulation.requests(since=start)]


def test_unknown_fields_are_ignored_and_reported(world: Desk) -> None:
    instrument = world.quiet()
    assert _call(world, json=order(instrument, "buy", 50, 1, favouriteColour="blue")).status == 200
    assert world.simulation.requests(operation="InsertOrder")[-1]["ignored"] == ["favouriteColour"]


def test_what_is_in_the_contract_and_not_built_says_so(
    world: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(handlers(), "HealthAPI.HealthCheck")
    answer = world.partner.get("/v1/health")
    assert answer.status == 501
    assert "HealthAPI.HealthCheck" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/v1/ws/markets", "/v1/ws/private"])
def test_a_web_socket_asked_for_without_an_upgrade_is_a_bad_request(world: Desk, path: str) -> None:
    answer = world.customer().get(path)
    assert (answer.status, answer.json()["message"]) == (400, "this path is a WebSocket")


@pytest.mark.parametrize(
    ("act", "symbol", "status"),
    [
        ({"status": 503}, "", 503),
        ({"status": 503, "handled": True}, "", 503),
        ({"delay": "1s"}, "", 200),
        ({"delay": "1s"}, "no-such", 404),  # refused for another reason, and late by the fault
    ],
)
def test_an_answer_that_a_fault_struck_names_it_whatever_it_says(
    world: Desk, act: dict[str, object], symbol: str, status: int
) -> None:
    path = f"/v1/orderbook/{symbol or world.quiet().symbol}"
    fault = {"match": {"operation": "GetOrderBook"}, "act": act, "times": 1}
    world.simulation.control("fault.add", "", fault)
    struck, spared = (world.trader().get(path) for _ in range(2))
    assert (struck.status, struck.headers["x-sim-fault"]) == (status, "f1")
    assert "x-sim-fault" not in spared.headers
