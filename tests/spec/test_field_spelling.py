"""A refusal of the retail API names a field as the client spelled it: bodies and frames in
lowerCamelCase, queries in snake_case (preamble of the specification).

Wrong values are planted into every field of good requests of all retail operations and sockets,
and into every parameter of their queries.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from sim.contract.contract import load_contract
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import fields_of
from sim.world.format.scenario import DEFAULT_START
from tests.kit import Desk, unlimited
from tests.spec.tour import Request, begun, operation_of, requests, walk_fields
from tests.spec.tour import clients as clients_of

WRONG: tuple[Any, ...] = (
    "",
    "nonsense",
    "-1",
    "1e400",
    0,
    -1,
    10**20,
    True,
    [],
    {},
    ["x"],
    {"a": 1},
)
# Good requests but for what they name, of operations that the tour of the examples leaves out.
OTHERS = (
    ("key", "POST", "/v1/orders/open/cancel", {"slugs": ["rain"]}),
    ("key", "PUT", "/v1/rfqs/none/quotes/none/accept", {"acceptedSide": "SIDE_BUY"}),
    ("key", "PUT", "/v1/rfqs/none/quotes/none/confirm", {}),
)
FRAMES = ("SUBSCRIPTION_TYPE_ORDER", "SUBSCRIPTION_TYPE_RFQ", "SUBSCRIPTION_TYPE_MARKET_DATA")
# A recording shows this text of the service as it stands.
RECORDED = "cash_order_qty is required for market order"
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[a-z0-9]+)*")


@pytest.fixture(scope="module")
def world() -> Desk:
    world = begun()
    unlimited(world.simulation)
    return world


@pytest.fixture(scope="module")
def good(world: Desk) -> list[Request]:
    """The good retail requests with a body, each sent once."""
    return [
        request
        for request in requests(world)
        if request[0] in ("key", "other") and request[3] and request[1].isupper()
    ]


def _planted(cls: type[Message], body: Any) -> Iterator[tuple[str, Any]]:
    """(field, body) with each wrong value in the place of each field, and without it."""
    for way, *_ in walk_fields(cls, body):
        for value in WRONG:
            changed = holder = copy.deepcopy(body)
            for step in way[:-1]:
                holder = holder[step]
            holder[way[-1]] = value
            yield ".".join(map(str, way)), changed


def _spellings(cls: type[Message], observed: set[type[Message]]) -> Iterator[tuple[str, str]]:
    """(snake_case, lowerCamelCase) of the fields that a request may have, where they differ."""
    if cls in observed:
        return
    observed.add(cls)
    for field in fields_of(cls):
        if field.name != field.json_name:
            yield field.name, field.json_name
        if field.kind == "message":
            yield from _spellings(find_message(field.type_name), observed)


def _all_spellings() -> dict[str, str]:
    observed: set[type[Message]] = set()
    return {
        snake: camel
        for operation in load_contract().operations
        if "retail" in operation.planes
        for snake, camel in _spellings(operation.request, observed)
    }


def test_a_refused_body_is_told_with_its_fields_in_camel_case(
    world: Desk, good: list[Request]
) -> None:
    clients, snake = clients_of(world), _all_spellings()
    wrong, refused = [], set()
    for caller, verb, path, body in (*good, *OTHERS):
        operation = operation_of(caller, verb, path)
        empty = [("nothing", {})]
        for field, planted in (*_planted(operation.request, body), *empty):
            answer = clients[caller].request(verb, path, json=planted)
            assert answer.status < 500, (path, planted, answer)
            if answer.status >= 400:
                refused.add(operation.name)
                output = answer.json()["message"].replace(RECORDED, "")
                if names := [word for word in WORD.findall(output) if word in snake]:
                    wrong.append(f"{operation.name} {field}: {names} in {output!r}")
    assert not wrong, "\n".join(sorted(set(wrong)))
    takers = {
        operation.name
        for operation in load_contract().operations
        if "retail" in operation.planes and operation.exists_at(DEFAULT_START)
        for verb, _, has_body in operation.bindings
        if has_body and verb != "GET" and fields_of(operation.request)
    }
    assert refused >= takers


def test_a_refused_query_is_told_with_its_parameters_as_they_were_sent(world: Desk) -> None:
    client, camel = (
        clients_of(world)["key"],
        {item: two for two, item in _all_spellings().items()},
    )
    wrong, refused = [], 0
    for operation in load_contract().operations:
        for verb, path, _ in operation.bindings:
            if "retail" not in operation.planes or verb != "GET" or "gateway" in operation.planes:
                continue
            filled = re.sub(r"\{[^}]*\}", "rain", path)
            for field in fields_of(operation.request):
                for value in ("nonsense", "-1", "99999999999999999999"):
                    answer = client.get(f"{filled}?{urlencode({field.name: value})}")
                    assert answer.status < 500, (filled, field.name, answer)
                    if answer.status == 400:
                        refused += 1
                        message = answer.json()["message"]
                        if names := [word for word in WORD.findall(message) if word in camel]:
                            wrong.append(f"{operation.name} {field.name}: {names} in {message!r}")
    assert not wrong, "\n".join(wrong)
    assert refused > 15


@pytest.mark.parametrize("path", ["/v1/ws/private", "/v1/ws/markets"])
def test_a_refused_frame_is_told_with_its_fields_in_camel_case(world: Desk, path: str) -> None:
    key, snake = world.simulation.world.parties.api_keys[0], _all_spellings()
    operation = operation_of("key", "socket", path)
    wrong, refused = [], 0
    for kind in FRAMES:
        total = {
            "requestId": "a",
            "subscriptionType": kind,
            "marketSlugs": ["rain"],
            "responsesDebounced": True,
        }
        for frame in ({"subscribe": total}, {"unsubscribe": {"requestId": "none"}}):
            for field, planted in _planted(operation.request, frame):
                socket = world.web_socket(key, path)
                socket.send(json.dumps(planted).encode())
                for error in [each["error"] for each in socket.frames if "error" in each]:
                    refused += 1
                    if names := [word for word in WORD.findall(error) if word in snake]:
                        wrong.append(f"{field}: {names} in {error!r}")
                socket.close()
    assert not wrong, "\n".join(sorted(set(wrong)))
    assert refused > 50
