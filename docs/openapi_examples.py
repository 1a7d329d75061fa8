"""Writes `fixtures/openapi-examples.json`: examples of bodies and answers for the OpenAPI
documents, taken from real runs. `make docs` runs it.

The bundled scenarios are run, the calls of `openapi_tour.py` are made, and every GET of the
contract is called with names that exist there. The first good answer of each operation on
each plane is its example, or the first that a call with a body got; long lists are cut to their
first entries, and long texts to their beginning.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from openapi_tour import tour

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import RestCall, recorded_input
from sim.contract.contract import load_contract
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import fields_of
from sim.kernel.journal_reader import read_journal, read_line
from sim.read.headless_run import run_scenario
from sim.run.client.client import Connection, connect

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "fixtures" / "openapi-examples.json"
SCENARIOS = (
    "kyc-approval-window",
    "webhook-trouble",
    "reacting-to-events",
    "money-through-a-bank",
    "combo-by-quote",
    "day-orders-at-the-close",
    "halt-and-suspension",
    "settlement-and-payout",
    "maintenance-window",
    "price-time-priority",
    "injected-faults",
)
_VARIABLE = re.compile(r"\{([a-z0-9_.]+)[^}]*\}")
# Queries without which an operation finds nothing or refuses, by rpc.
_QUERIES = {
    "GetAssetPriceHistory": ("?symbol=crypto:btc", "?asset=crypto:btc"),
    "ListTeams": ("?league=nfl", ""),
    "ListPlayers": ("?league=nfl", ""),
    "ListProviderTeams": ("?provider=sportradar&league=nfl", "?league=nfl"),
}
_ITEMS_MAX, _TEXT_MAX, _DEPTH_MAX = 1, 200, 3
Examples = dict[str, dict[str, dict[str, Any]]]  # plane, operation: request and answer


def examples() -> Examples:
    """Examples by plane and operation, sorted."""
    result: Examples = {}
    for name in SCENARIOS:
        for plane, operation, body, answer in _of_scenario(name):
            _keep(result, plane, operation, body, answer)
    for plane, operation, body, answer in tour():
        _keep(result, plane, operation, body, answer)
    for plane, operation, answer in _of_walk():
        _keep(result, plane, operation, None, answer)
    return {plane: dict(sorted(rows.items())) for plane, rows in sorted(result.items())}


def _keep(examples: Examples, plane: str, operation: str, body: Any, answer: Any) -> None:
    rows = examples.setdefault(plane, {})
    row = rows.get(operation, {})
    if answer is None or (row and ("body" in row or body is None)):
        return
    if body is not None:
        body = _spelled(load_contract().by_name(operation).request, body)
    rows[operation] = {"answer": _short(answer)} | ({"body": body} if body is not None else {})


def _spelled(cls: type[Message], body: Any) -> Any:
    """A body in the spelling that its schema shows; the exchange takes names of the proto too."""
    if not isinstance(body, dict):
        return body
    fields = {name: each for each in fields_of(cls) for name in (each.name, each.json_name)}
    spelled = {}
    for name, value in body.items():
        assert name in fields, f"{cls.__full_name__} has no field {name}"
        field = fields[name]
        if field.kind == "message":
            inner = find_message(field.type_name)
            many = isinstance(value, list)
            value = [_spelled(inner, each) for each in value] if many else _spelled(inner, value)
        spelled[field.json_name] = value
    return spelled


def _of_scenario(name: str) -> Iterator[tuple[str, str, Any, Any]]:
    """(plane, operation, body, answer) of each good REST call of a bundled scenario."""
    written = io.BytesIO()
    scenario = load_scenario(name)
    run_scenario(scenario, simulation=Simulation(scenario, journal=written), check_invariants=False)
    written.seek(0)
    _, lines = read_journal(written)
    for _, raw in lines:
        line = read_line(raw)
        value, out = recorded_input(line), msgspec.json.decode(line.out)
        if isinstance(value, RestCall) and out.get("status") == 200 and out.get("body") is not None:
            body = json.loads(value.body) if value.body and not value.form else None
            yield value.plane, out["operation"], body, out["body"]


def _of_walk() -> Iterator[tuple[str, str, Any]]:
    """(plane, operation, answer) of each GET that the quickstart answers with JSON."""
    world = connect(Simulation(load_scenario("quickstart")))
    firm = next(item for item in world.simulation.world.parties.firms if item.name == "firms/atlas")
    clients = {
        "gateway": world.gateway,
        "retail": world.retail(world.simulation.world.parties.api_keys[0]),
        "exchange": world.exchange(firm, firm.users[0].name),
    }
    names = _names(world)
    for plane, client in clients.items():
        for route in load_contract().routes(plane):  # type: ignore[arg-type]
            operation = route.operation
            if route.verb != "GET" or operation.content != "json":
                continue
            for query in _QUERIES.get(operation.rpc, ("",)):
                world.advance("1s")  # within the limits of every plane
                answer = client.get(
                    _VARIABLE.sub(partial(_value, names, operation.rpc), route.template) + query
                )
                if answer.status == 200:
                    yield plane, operation.name, answer.json()
                    break


def _value(names: dict[str, str], rpc: str, variable: re.Match[str]) -> str:
    """What stands for a variable of a path: what the operation is about, or its general name."""
    return names.get(f"{rpc}.{variable[1]}") or names.get(variable[1], "1")


def _names(world: Connection) -> dict[str, str]:
    """Values of path variables that exist in the quickstart; `Rpc.variable` for one operation."""
    event = world.gateway.get("/v1/events?limit=1").json()["events"][0]
    market = world.gateway.get("/v1/markets?limit=1").json()["markets"][0]
    user = world.simulation.world.parties.user("firms/atlas/users/mara-voss")
    assert user is not None
    symbol = next(
        instrument.symbol
        for instrument in world.simulation.world.instruments
        if world.gateway.get(f"/v1/markets/{instrument.symbol}/book").status == 200
    )
    return {
        "symbol": symbol,
        "slug": symbol,
        "asset": "crypto:btc",
        "account": user.account,
        "GetEvent.id": str(event["id"]),
        "GetEventBySlug.slug": event["slug"],
        "GetMarketById.id": str(market["id"]),
        "GetLeague.slug": "nfl",
        "ListLeagueEvents.slug": "nfl",
        "GetSport.slug": "football",
        "ListSportEvents.slug": "football",
    }


def _short(value: Any, depth: int = 0) -> Any:
    """An answer with lists cut to their first entries, those far inside to none, and text cut."""
    if isinstance(value, dict):
        return {key: _short(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        kept = value[:_ITEMS_MAX] if depth < _DEPTH_MAX else []
        return [_short(each, depth + 1) for each in kept]
    return value[:_TEXT_MAX] if isinstance(value, str) else value


def text() -> str:
    """The file's text."""
    planes = [
        f"{json.dumps(plane)}: {{\n"
        + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}"
            for name, row in rows.items()
        )
        + "}"
        for plane, rows in examples().items()
    ]
    return "{" + ",\n".join(planes) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(text())
    print(TARGET.relative_to(ROOT))
    sys.exit(0)
