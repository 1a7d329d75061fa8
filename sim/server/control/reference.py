"""The calls of the control plane as rows, for pages, programs and agents."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import json

from sim.kernel import resources
from sim.run.actors.operator.action import Action
from sim.server.control.call import Endpoint


@cache
def described(endpoints: tuple[Endpoint, ...]) -> list[dict[str, Any]]:
    """Each call with its description and parameters, and the step of a scenario that
    does the same.
    """
    text = resources.path("fixtures", "control-reference.json").read_bytes()
    reference: dict[str, dict[str, Any]] = json.decode(text)
    rows = []
    for endpoint in endpoints:
        about = reference[endpoint.call]
        row = {"call": endpoint.call, "does": about["does"], "query": list(endpoint.query)}
        rows.append(row | {"keys": list(endpoint.keys), **_body(about), **_step(endpoint.body)})
    return rows


def _body(about: dict[str, Any]) -> dict[str, Any]:
    return {"body": about["body"]} if "body" in about else {}


def _step(body: object) -> dict[str, str]:
    if not isinstance(body, Action) or not body.step:
        return {}
    return {"step": body.step, "subject": body.subject, "form": body.step_form}
