"""Every REST operation as a request to a new exchange, for collections of API clients.

The requests are made once in process, in their order, on the scenario that will be served. So each
has names that exist there, and its expected status. `collection_requests.yaml` has the bodies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import yaml
from msgspec import Struct, json, structs

from sim.contract.contract import Plane, load_contract
from sim.contract.operation import VARIABLE
from sim.core.identity.firms import User
from sim.kernel import resources
from sim.run.client.client import Connection, Http, connect
from sim.run.simulation import Simulation

FOLDERS: tuple[Plane, ...] = ("gateway", "retail", "exchange")
# Orders that other requests read, amend and cancel: the first request, and the key of its id.
_FIRST = {
    "RetailOrdersAPI.CreateOrder": ("retail_order", "id"),
    "OrderEntryAPI.InsertOrder": ("exchange_order", "orderId"),
}
_LAST = re.compile(r"Cancel(?!Replace)|Delete|Close|Remove")


class Request(Struct, frozen=True, kw_only=True):
    """A request. `{{name}}` in path and body is a variable; `keeps` is the variable that gets the
    value of the answer's key. `status` is the status of the answer of a new exchange.
    """

    plane: Plane
    name: str
    summary: str
    verb: str
    path: str
    body: str = ""
    status: int = 0
    keeps: tuple[str, str] | None = None


def requests(simulation: Simulation) -> list[Request]:
    """A request for every REST operation, in the order in which they must be sent."""
    world = connect(simulation)
    parties = simulation.world.parties
    firm = next(
        firm for firm in parties.firms if firm.client_id in parties.key_files and firm.users
    )
    clients = {
        "gateway": world.gateway,
        "retail": world.retail(parties.api_keys[0]),
        "exchange": world.exchange(firm, firm.users[0].name),
    }
    names = _names(world, firm.users[0])
    variables: dict[str, str] = {}
    listed = []
    for plane in FOLDERS:
        for draft in _drafts(plane, names):
            world.advance("200ms")  # within the limits of every plane
            listed.append(_with_status(draft, clients[plane], variables))
    return listed


def _with_status(draft: Request, client: Http, variables: dict[str, str]) -> Request:
    """The request with its status. `variables` then has the value that it keeps."""

    def filled(text: str) -> str:
        return re.sub(r"\{\{(\w+)\}\}", lambda match: variables.get(match[1], "1"), text)

    answer = client.request(
        draft.verb, filled(draft.path), body=filled(draft.body).encode() or None
    )
    if draft.keeps is not None and answer.status == 200:
        variables[draft.keeps[0]] = str(answer.json()[draft.keeps[1]])
    _ = answer.body  # a download ends
    return structs.replace(draft, status=answer.status)


def _drafts(plane: Plane, names: dict[str, str]) -> Iterator[Request]:
    """Requests without their status, those first that others need."""
    examples, own = _examples(plane), _own_requests()
    order = "{{exchange_order}}" if plane == "exchange" else "{{retail_order}}"
    used_names: set[str] = set()
    routes = []
    for route in load_contract().routes(plane):
        if route.operation.name not in used_names and route.operation.content != "web_socket":
            used_names.add(route.operation.name)
            routes.append(route)
    routes.sort(
        key=lambda route: (route.operation.name not in _FIRST, _is_last(route.operation.rpc))
    )
    for route in routes:
        operation = route.operation
        path = VARIABLE.sub(partial(_value, names, operation.rpc, order), route.template)
        if route.verb == "GET":
            query = Template(own["queries"].get(operation.rpc, ""))
            path += query.substitute({name: quote(text) for name, text in names.items()})
        body = ""
        if route.body:
            example = examples.get(operation.name, {}).get("body", {})
            content = json.encode(own["bodies"].get(operation.name, example)).decode()
            body = Template(content).safe_substitute(names, order=order)
        yield Request(
            plane=plane,
            name=operation.name,
            summary=operation.summary,
            verb=route.verb,
            path=path,
            body=body,
            keeps=_FIRST.get(operation.name),
        )


def _examples(plane: Plane) -> dict[str, Any]:
    """The examples of a plane's operations, from real runs."""
    content = resources.path("fixtures", "openapi-examples.json").read_bytes()
    examples: dict[str, Any] = json.decode(content).get(plane, {})
    return examples


def _own_requests() -> dict[str, dict[str, Any]]:
    """The queries by rpc and the bodies by operation that must fit the world."""
    path = Path(__file__).with_suffix(".yaml")
    requests: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return requests


def _is_last(rpc: str) -> int:
    return len(_LAST.findall(rpc)) + ("Open" in rpc)


def _value(names: dict[str, str], rpc: str, order: str, variable: re.Match[str]) -> str:
    """The value of a path variable: the object of the operation, or its general name."""
    if variable[1] in ("order_id", "orderId"):
        return order
    return names.get(f"{rpc}.{variable[1]}") or names.get(variable[1], "1")


def _names(world: Connection, user: User) -> dict[str, str]:
    """Values of path variables that exist in the world; `Rpc.variable` for one operation."""
    events = world.gateway.get("/v1/events?limit=1").json()["events"] or [{"id": 1, "slug": "1"}]
    markets = world.gateway.get("/v1/markets?limit=1").json()["markets"] or [{"id": 1}]
    listed = world.simulation.exchange.instruments.listed()
    symbol, price = "none", "1"
    for instrument in listed:
        if world.gateway.get(f"/v1/markets/{instrument.symbol}/book").status == 200:
            symbol, price = instrument.symbol, str(instrument.price_scale // 20)
            break
        world.advance("200ms")
    return {
        "symbol": symbol,
        "slug": symbol,
        "price": price,
        "asset": "crypto:btc",
        "account": user.account,
        "user": user.name.rpartition("/")[2],
        "GetEvent.id": str(events[0]["id"]),
        "GetEventBySlug.slug": str(events[0]["slug"]),
        "GetMarketById.id": str(markets[0]["id"]),
        "GetLeague.slug": "nfl",
        "ListLeagueEvents.slug": "nfl",
        "GetSport.slug": "football",
        "ListSportEvents.slug": "football",
    }
