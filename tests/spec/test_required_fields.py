"""The schema declares which fields a request needs, by `google.api.field_behavior = REQUIRED` and
by `needs` of the contract. These tests compare it with the exchange: a field is removed from a
valid request, and the exchange must refuse exactly the declared fields.

If a field is required in some requests only, such as the price of a limit order, its comment must
say in which.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sim.contract.contract import Operation, load_contract
from sim.contract.messages import Message, find_message
from sim.contract.openapi import openapi_document
from sim.contract.openapi_schemas import note_of
from sim.contract.wire_fields import Field, fields_of
from sim.run.client.client import RpcError
from sim.world.format.scenario import DEFAULT_START
from tests.kit import Desk
from tests.spec.tour import MARA, begun, clients, operation_of, requests, walk_fields
from tests.surfaces.callers import caller, path_of, routes, unlimited_world

ROOT = Path(__file__).resolve().parents[2]
# Refused for another reason: an unfiltered search times out (§4.3), and a market order without its
# type is a limit order without a price.
NOT_THEIRS = {("ReportAPI.SearchTrades", "symbol"), ("RetailOrdersAPI.CreateOrder", "type")}


class Taken(NamedTuple):
    """A request without one of its fields, and whether it was refused."""

    operation: Operation
    path: str
    message: type[Message]
    field: Field
    refused: bool


@pytest.fixture(scope="module")
def taken() -> list[Taken]:
    """Remove each field of each valid request in turn."""
    world = begun()
    return [taken for request in requests(world) for taken in _taken_from(world, *request)]


def _taken_from(world: Desk, caller: str, verb: str, path: str, body: Any) -> Iterator[Taken]:
    """Remove each field of a request in turn, each in a new copy of the exchange."""
    address, _, query = path.partition("?")
    pairs = [pair.partition("=")[::2] for pair in query.split("&") if pair]
    content = dict(pairs) if pairs else body
    operation = operation_of(caller, verb, address)
    assert not _refused(world, caller, verb, path, body), (verb, path)
    for way, cls, field in walk_fields(operation.request, content):
        rest = _without(content, way)
        if pairs:
            text = "&".join(f"{name}={value}" for name, value in rest.items())
            refused = _refused(world, caller, verb, f"{address}?{text}", None)
        else:
            refused = _refused(world, caller, verb, path, rest)
        yield Taken(operation, ".".join(map(str, way)), cls, field, refused)


def _without(value: Any, way: tuple[str | int, ...]) -> Any:
    rest = holder = copy.deepcopy(value)
    for step in way[:-1]:
        holder = holder[step]
    del holder[way[-1]]
    return rest


def _refused(world: Desk, caller: str, verb: str, path: str, body: Any) -> bool:
    """Return whether a copy of the exchange refuses a request."""
    there = Desk(world.simulation.fork())
    there._tokens, there._epoch = dict(world._tokens), there.simulation.epoch
    there._assertions = world._assertions + 1000
    there.advance("1s")
    firm = next(item for item in there.simulation.world.parties.firms if item.name == "firms/atlas")
    if verb.isupper():
        return clients(there)[caller].request(verb, path, json=body).status >= 400
    if verb == "socket":
        socket = there.web_socket(there.simulation.world.parties.api_keys[0], path)
        if "unsubscribe" in body:
            socket.send(b'{"subscribe": {"requestId": "a", "subscriptionType": 1}}')
        socket.send(json.dumps(body).encode())
        return any("error" in frame for frame in socket.frames)
    if verb == "token":
        facts = {
            "grant_type": "client_credentials",
            "client_id": firm.client_id,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": there.assertion(firm),
            "audience": there.audience,
        }
        form = {name: value for name, value in facts.items() if name in body}
        return there.auth.post(path, form=form).status >= 400
    operation = load_contract().by_name(path)
    request = _decoded(operation.request, body)
    try:
        rpc = there.rpc(firm)
        (rpc.call if verb == "rpc" else rpc.stream)(path, request)
    except RpcError:
        return True
    return False


def _decoded(cls: type[Message], body: Any) -> Any:
    from sim.api.codecs.codecs import json_decoder

    return json_decoder(cls)(json.dumps(body).encode())


def _alternatives(cls: type[Message]) -> set[str]:
    """Return fields that are alternatives: the request needs one of them."""
    words = " ".join(cls.__needs__).replace("|", " ").replace(",", " ")
    return set(words.split())


def test_a_field_is_listed_as_required_if_and_only_if_a_request_without_it_is_refused(
    taken: list[Taken],
) -> None:
    wrong = [
        f"{item.operation.name} without {item.path}: {'refused' if item.refused else 'accepted'}"
        for item in taken
        if item.refused != item.field.required
        and not (item.refused and _says_when(item))
        and (item.operation.name, item.path) not in NOT_THEIRS
    ]
    assert not wrong, "\n".join(wrong)


def _says_when(taken: Taken) -> bool:
    """Return whether the contract says in which requests a field is required."""
    notes = note_of(f"{taken.message.__full_name__}.{taken.field.name}")
    notes += f" {taken.operation.summary} {taken.operation.description}"
    return taken.field.name in _alternatives(taken.message) or "required" in notes


def test_every_field_that_is_listed_as_required_was_taken_from_a_request(
    taken: list[Taken],
) -> None:
    tried = {(item.message.__full_name__, item.field.name) for item in taken}
    lacking = set()
    for operation in load_contract().operations:
        if not operation.exists_at(DEFAULT_START):
            continue
        if operation.grpc and sum(item.required for item in fields_of(operation.request)) == 1:
            continue  # the test of empty requests covers it
        for cls, field in _reached(operation.request, set()):
            in_path = any(f"{{{field.name}" in path for _, path, _ in operation.bindings)
            if field.required and not in_path:
                lacking.add((cls.__full_name__, field.name))
    assert lacking - tried == set()


def _reached(
    cls: type[Message], observed: set[type[Message]]
) -> Iterator[tuple[type[Message], Field]]:
    if cls in observed:
        return
    observed.add(cls)
    for field in fields_of(cls):
        yield cls, field
        if field.kind == "message":
            yield from _reached(find_message(field.type_name), observed)


def _says_so(operation: Operation) -> bool:
    """Return whether the contract says that a request needs a field."""
    request = operation.request
    listed = any(field.required for field in fields_of(request)) or bool(request.__needs__)
    return listed or "required" in f"{operation.summary} {operation.description}"


def test_an_empty_request_is_refused_over_grpc_where_something_is_required() -> None:
    world = unlimited_world()
    firm = next(item for item in world.simulation.world.parties.firms if item.name == "firms/atlas")
    rpc = world.rpc(firm, MARA)
    wrong = []
    for operation in load_contract().operations:
        if operation.grpc and operation.kind == "unary" and operation.exists_at(DEFAULT_START):
            reply = rpc.raw(operation.full_methods[0], b"")
            if any(field.required for field in fields_of(operation.request)) and not reply.code:
                wrong.append(operation.name)
            if not _says_so(operation) and reply.code == 3:
                wrong.append(f"{operation.name}: {reply.message}")
    assert not wrong, "\n".join(wrong)


def test_a_get_without_a_query_is_refused_only_where_something_of_it_is_required() -> None:
    world = unlimited_world()
    silent = []
    for plane, operation, binding in routes():
        if binding[0] == "GET" and plane != "auth":
            answer = caller(world, plane).get(path_of(world, binding))
            if answer.status == 400 and not _says_so(operation):
                silent.append(f"{plane} {binding[1]}: {answer.body!r}")
    assert not silent, "\n".join(silent)


def _schema(document: dict[str, Any], path: str, verb: str) -> dict[str, Any]:
    content = document["paths"][path][verb]["requestBody"]["content"]
    schema: dict[str, Any] = content["application/json"]["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


@pytest.mark.parametrize(
    ("plane", "verb", "path", "required", "ways"),
    [
        ("exchange", "post", "/v1/trading/orders", {"type", "side", "symbol"}, 1),
        ("exchange", "post", "/v1/kyc/webhook", {"webhookUrl"}, 0),
        ("exchange", "post", "/v1/trading/orders/cancel", set(), 1),
        ("retail", "post", "/v1/orders", {"marketSlug"}, 2),
        ("retail", "post", "/v1/order/{order_id}/cancel", {"marketSlug"}, 0),
        ("retail", "put", "/v1/rfqs/{rfq_id}/quotes/{quote_id}/accept", {"acceptedSide"}, 0),
    ],
)
def test_openapi_lists_what_a_body_needs_without_what_the_path_says(
    plane: Any, verb: str, path: str, required: set[str], ways: int
) -> None:
    document = openapi_document(load_contract(), plane, DEFAULT_START)
    schema = _schema(document, path, verb)
    assert set(schema.get("required", ())) == required
    assert len(schema.get("allOf", ())) == ways
    assert document["paths"][path][verb]["requestBody"].get("required") is True


def test_openapi_lists_what_a_query_needs() -> None:
    document = openapi_document(load_contract(), "gateway", DEFAULT_START)
    parameters = document["paths"]["/v1/asset-prices/history"]["get"]["parameters"]
    required = {parameter["name"] for parameter in parameters if parameter["required"]}
    assert required == {"assets", "from", "bucket"}
