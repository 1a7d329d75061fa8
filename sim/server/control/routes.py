"""The table of all calls of the control plane (paths below `/_sim/v1`).

Calls that change the exchange are operator actions: their rows come from
`actors/operator/actions.py`, and they are inputs. The other rows are in this file: they read, or
move time, and are not inputs themselves. `fixtures/control-reference.json` describes every row.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from msgspec import json

from sim.kernel import resources
from sim.run.actors.operator.action import Action
from sim.run.actors.operator.actions import ACTIONS
from sim.server.control import clock_calls, history_calls, instance_calls, read_calls
from sim.server.control.call import ControlCall, Endpoint
from sim.server.host import Host

VIEW_FILTERS = ("symbol", "account", "last")


async def _read_routes(host: Host, call: ControlCall) -> object:
    return {"calls": _described()}


_OWN = (
    Endpoint("GET /clock", clock_calls.read_clock),
    Endpoint("PUT /clock", clock_calls.set_clock, clock_calls.ModeBody),
    Endpoint("POST /clock/advance", clock_calls.advance_clock, clock_calls.AdvanceBody),
    Endpoint("POST /reset", clock_calls.reset, clock_calls.ResetBody),
    Endpoint("POST /rewind", clock_calls.rewind, clock_calls.RewindBody),
    Endpoint("POST /snapshots/{name}", clock_calls.take_snapshot),
    Endpoint("POST /snapshots/{name}/restore", clock_calls.restore_snapshot),
    Endpoint("POST /fork", instance_calls.fork_instance, instance_calls.ForkBody),
    Endpoint("GET /worlds", instance_calls.list_instances),
    Endpoint(
        "POST /worlds", instance_calls.start_instance, instance_calls.InstanceBody, large=True
    ),
    Endpoint("DELETE /worlds/{name}", instance_calls.stop_instance),
    Endpoint("GET /journal", read_calls.read_journal, query=("since",)),
    Endpoint("GET /scenario", read_calls.read_scenario),
    Endpoint("GET /digest", read_calls.read_digest),
    Endpoint(
        "GET /history",
        history_calls.read_history,
        query=("after", "limit", "subject", "caller", "branch"),
        many=("kind",),
    ),
    Endpoint("GET /history/{seq}", history_calls.read_record, query=("branch",)),
    Endpoint(
        "GET /history/{seq}/state/{view}", history_calls.read_past, query=("branch", *VIEW_FILTERS)
    ),
    Endpoint(
        "GET /history/{seq}/state",
        history_calls.read_past_views,
        query=("branch", *VIEW_FILTERS),
        many=("view",),
    ),
    Endpoint(
        "GET /history/{seq}/streams/{id}/frames", history_calls.read_past_frames, query=("branch",)
    ),
    Endpoint("GET /branches", history_calls.read_branches),
    Endpoint("GET /live", history_calls.live),
    Endpoint(
        "GET /requests", read_calls.read_requests, query=("operation", "status", "caller", "since")
    ),
    Endpoint("GET /script", read_calls.read_script),
    Endpoint("GET /explain/{subject*}", read_calls.explain),
    Endpoint("GET /conformance", read_calls.conformance, query=("caller", "rules", "form")),
    Endpoint("GET /faults", read_calls.read_faults),
    Endpoint("GET /webhooks/deliveries", read_calls.read_deliveries),
    Endpoint("GET /streams", read_calls.read_streams),
    Endpoint("GET /streams/{id}/frames", read_calls.read_frames),
    Endpoint("GET /state/{view}", read_calls.read_state, query=VIEW_FILTERS),
    Endpoint("GET /state", read_calls.read_views, query=VIEW_FILTERS, many=("view",)),
    Endpoint("GET /instruments", read_calls.find_instruments, query=("text", "limit")),
    Endpoint("GET /catalogue", read_calls.read_catalogue),
    Endpoint("GET /catalogue/{kind}", read_calls.read_catalogue_of),
    Endpoint("GET /metrics", read_calls.read_metrics),
    Endpoint("GET /health", read_calls.health),
    Endpoint("GET /calls", _read_routes),
)


def _perform(action: Action) -> Callable[[Host, ControlCall], Awaitable[object]]:
    async def respond(host: Host, call: ControlCall) -> object:
        subject = call.path.get(action.subject, "")
        return await host.control(action.name, subject, call.body) or {}

    return respond


ROUTES: tuple[Endpoint, ...] = (
    *_OWN,
    *(
        Endpoint(action.call, _perform(action), action)
        for action in ACTIONS.values()
        if action.call
    ),
)


@cache
def reference() -> dict[str, dict[str, Any]]:
    """What each call does, with examples of its body and its answer, by call."""
    text = resources.path("fixtures", "control-reference.json").read_bytes()
    described: dict[str, dict[str, Any]] = json.decode(text)
    return described


@cache
def _described() -> list[dict[str, Any]]:
    """Each call with its description and parameters, and the step of a scenario that does the same,
    for pages, programs and agents.
    """
    rows = []
    for endpoint in ROUTES:
        about, action = reference()[endpoint.call], endpoint.body
        row = {"call": endpoint.call, "does": about["does"], "query": list(endpoint.query)}
        row["keys"] = list(endpoint.keys)
        if "body" in about:
            row["body"] = about["body"]
        if isinstance(action, Action) and action.step:
            row |= {"step": action.step, "subject": action.subject, "form": action.step_form}
        rows.append(row)
    return rows
