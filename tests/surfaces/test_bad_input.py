"""Bad input on every operation of every surface: the documented refusal in the shape of the plane,
no traceback, nothing changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.api.codecs.codecs import Field, fields_of
from sim.api.codecs.protobuf import descriptor_pool
from sim.contract.contract import Binding, Operation, Plane
from sim.contract.messages import Message, find_message
from tests.kit import Desk
from tests.surfaces.callers import (
    SERVED,
    caller,
    check_refusal,
    kept,
    path_of,
    routes,
    unlimited_world,
)

ROUTES = routes()
WITH_BODY = [route for route in ROUTES if route[2][2] and route[0] != "auth"]
# unknown enum text in their filters is the zero member
LENIENT = {"RefDataAPI", "RefDataSportsAPI"}


@pytest.fixture(scope="module")
def world() -> Desk:
    return unlimited_world()


Route: TypeAlias = tuple[Plane, Operation, Binding]


def each(routes: list[Route]) -> pytest.MarkDecorator:
    """A test of each of these routes."""
    ids = [
        f"{plane} {binding[0]} {binding[1]} {operation.rpc}" for plane, operation, binding in routes
    ]
    return pytest.mark.parametrize("route", routes, ids=ids)


NO_OBJECT = {
    "cut off": b'{"a":',
    "a list": b"[1]",
    "a number": b"7",
    "text": b'"x"',
    "two objects": b"{} {}",
    "no UTF-8": b'{"a":"\xff\xfe"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "NaN": b'{"quantity": NaN}',
    "Infinity": b'{"price": -Infinity}',
    "single quotes": b"{'a': 1}",
    "a comment": b"{} // x",
    "too deep": b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a control character": b'{"a":"\x01"}',
}


@pytest.mark.spec("S7.1-1")
@each(WITH_BODY)
def test_a_body_that_is_no_json_object_is_refused(world: Desk, route: Route) -> None:
    plane, _, binding = route
    client, path, before = caller(world, plane), path_of(world, binding), kept(world)
    for body in NO_OBJECT.values():
        check_refusal(plane, client.request(binding[0], path, body=body), 400)
    assert kept(world) == before


def wrong_values(field: Field) -> Iterator[Any]:
    """JSON that a field cannot hold."""
    if field.repeated:
        yield from ({"a": 1}, "x", 7)
        return
    if field.key_kind:
        yield from ([1], "x", 7)
        return
    wrong: dict[str, tuple[Any, ...]] = {
        "string": (7, {}, [], True),
        "bool": ("yes", 2, {}),
        "double": ("abc", {}, True, "1e400x"),
        "bytes": (7, {}, "*"),
        "enum": ("NO_SUCH_MEMBER", {}, True, 1.5),
        "message": ("x", 7, [1]),
        "timestamp": ("yesterday", 7, "2026-13-45T00:00:00Z", {}),
        "duration": ("5 minutes", 7, {}),
        "struct": ("x", [1]),
        "list_value": ("x", {}),
    }
    if field.kind.startswith(("int", "uint")):
        yield from ("x", 1.5, 10**40, {}, [1], True, "1.5", "", -(10**30), "٣")
    else:
        yield from wrong.get(field.kind, ())


def bodies(
    cls: type[Message], operation: Operation, inside: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """(field, body) with one wrong value each, down into the messages of a request."""
    for field in fields_of(cls):
        for value in wrong_values(field):
            if not (
                field.kind == "enum"
                and operation.service.name in LENIENT
                and isinstance(value, str)
            ):
                yield field.json_name, {field.json_name: value}
        if field.kind == "message" and depth and not field.key_kind:
            for name, body in bodies(
                find_message(field.type_name), operation, field.json_name, depth - 1
            ):
                yield name, {field.json_name: [body] if field.repeated else body}


@pytest.mark.spec("S7.1-1")
@each(WITH_BODY)
def test_a_value_of_the_wrong_type_is_refused_and_the_field_is_named(
    world: Desk, route: Route
) -> None:
    plane, operation, binding = route
    client, path, before = caller(world, plane), path_of(world, binding), kept(world)
    in_path = {
        part.strip("{}").partition("=")[0] for part in binding[1].split("/") if part.startswith("{")
    }
    for name, body in bodies(operation.request, operation):
        answer = client.request(binding[0], path, body=json.dumps(body).encode())
        if name in in_path and len(body) == 1 and name in body:
            continue  # the path says it, whatever the body does
        check_refusal(plane, answer, 400)
        assert name in answer.json()["message"], (body, answer.json())
    assert kept(world) == before


ODD_KEYS = ["", "[", "[0]", ".", "a.b", "__class__", "\u0000", "ü" * 50]


@each(WITH_BODY)
def test_fields_nobody_knows_are_ignored_wherever_they_stand(world: Desk, route: Route) -> None:
    """Public clients send some (design §3); however they are called, they never make a call fail
    inside.
    """
    plane, operation, binding = route
    client, path = caller(world, plane), path_of(world, binding)
    unknown: dict[str, Any] = {name: {name: [1, None, {name: 1}]} for name in ODD_KEYS}
    inside = {
        field.json_name: [unknown] if field.repeated else unknown
        for field in fields_of(operation.request)
        if field.kind == "message" and not field.key_kind
    }
    for body in (unknown, inside, {**unknown, **inside}):
        answer = client.request(binding[0], path, body=json.dumps(body).encode())
        assert answer.status < 500, (body, answer.body[:200])


@each([route for route in ROUTES if not route[2][2]])
def test_a_query_of_the_wrong_type_is_refused_or_ignored_never_a_failure(
    world: Desk, route: Route
) -> None:
    plane, operation, binding = route
    client, path, before = caller(world, plane), path_of(world, binding), kept(world)
    for field in fields_of(operation.request):
        for value in (
            "abc",
            "1e999",
            "-1",
            "999999999999999999999999",
            "\x00",
            "%ff",
            "ü",
            "",
            "true",
            "[]",
            "9" * 5000,
        ):
            answer = client.request(binding[0], path, params={field.name: value})
            if answer.status >= 400:
                check_refusal(plane, answer, 400, 403, 404, 409, 422)
            if field.kind.startswith(("int", "uint")) and not field.repeated and value == "abc":
                assert answer.status == 400, (field.name, answer.body[:200])
    for raw in ("%", "%zz=1", "&&&", "=", "a=%ff%fe", "a" * 8000):
        assert world.raw(plane, binding[0], path, query=raw).status < 500
    assert kept(world) == before


ODD_PATHS = [
    "%ff%fe",
    "..%2f..%2fetc",
    "%00",
    "a" * 3000,
    "ünïcode",
    "{symbol}",
    "-1",
    "9" * 400,
    "' OR 1=1 --",
    "<script>",
]


@each([route for route in ROUTES if "{" in route[2][1]])
def test_odd_names_in_a_path_are_not_found_or_refused(world: Desk, route: Route) -> None:
    plane, _, binding = route
    client, before = caller(world, plane), kept(world)
    for odd in ODD_PATHS:
        path = re.sub(
            r"\{[^}]*\}", lambda _, odd=odd: "x" if odd == "{symbol}" else odd, binding[1]
        )
        answer = client.request(binding[0], path, json={} if binding[2] else None)
        if answer.status != 200:
            check_refusal(plane, answer, 400, 403, 404, 405, 409, 422)
    assert kept(world) == before


@pytest.mark.spec("S7.1-6")
@each(WITH_BODY)
def test_a_body_over_the_limit_is_refused_by_its_size(world: Desk, route: Route) -> None:
    plane, _, binding = route
    before = kept(world)
    body = b'{"a":"' + b"x" * (1 << 20) + b'"}'
    check_refusal(
        plane, caller(world, plane).request(binding[0], path_of(world, binding), body=body), 413
    )
    assert kept(world) == before


# ---- who calls


GUARDED = [
    route
    for route in ROUTES
    if route[0] in ("retail", "exchange") and route[1].credential != "none"
]


@pytest.mark.spec("S7.1-2")
@each(GUARDED)
def test_whoever_is_not_known_is_refused_with_401(world: Desk, route: Route) -> None:
    plane, operation, binding = route
    path, before = path_of(world, binding), kept(world)
    if plane == "exchange":
        good = world.bearer(world.firm)["authorization"].removeprefix("Bearer ")
        head, payload, signature = good.split(".")
        tokens = [
            "",
            "Bearer",
            "Bearer x",
            f"Basic {good}",
            f"Bearer {good}x",
            f"Bearer {head}.{payload}.",
            f"Bearer {head}.{payload[:-2]}AA.{signature}",
        ]
        attempts = [{}, *({"authorization": text} for text in tokens)]
    else:
        good_headers = world.retail_headers(world.keys[0], binding[0], path)
        attempts = [
            {},
            good_headers | {"x-pm-signature": "AAAA"},
            good_headers | {"x-pm-signature": good_headers["x-pm-signature"][:-4] + "AAA="},
            good_headers | {"x-pm-timestamp": "soon"},
            good_headers | {"x-pm-timestamp": "1"},
            good_headers | {"x-pm-access-key": "nobody"},
            {name: value for name, value in good_headers.items() if name != "x-pm-access-key"},
        ]
    for headers in attempts:
        headers = {"content-type": "application/json", **headers}
        answer = world.raw(plane, binding[0], path, headers, body=b"{}")
        bare = len(headers) == 1
        if operation.credential == "optional" and bare:
            continue
        if plane == "retail" and bare:  # asked for before anything else, as plain text
            assert (answer.status, answer.body) == (401, b"Missing required API key headers")
            continue
        check_refusal(plane, answer, 401)
    assert kept(world) == before


@pytest.mark.spec("S5.1-5", "S7.1-3")
@each([route for route in GUARDED if route[1].participant == "required"])
def test_a_missing_malformed_or_foreign_participant_is_refused_with_403(
    world: Desk, route: Route
) -> None:
    plane, _, binding = route
    result, before = world.firm, kept(world)
    path, body = path_of(world, binding), {} if binding[2] else None
    foreign = next(
        other for other in world.core.firms.all() if other.client_id and other.name != result.name
    )
    for participant in (
        None,
        "",
        "mara",
        "firms/atlas",
        "firms/atlas/users/",
        "firms/atlas/users/nobody",
        foreign.users[0].name,
        "firms/atlas/users/\x00",
    ):
        check_refusal(
            plane, world.exchange(result, participant).request(binding[0], path, json=body), 403
        )
    assert kept(world) == before


# ---- routes


@pytest.mark.spec("S7.1-4", "S7.1-5")
@pytest.mark.parametrize("plane", ["gateway", "retail", "exchange", "auth"])
def test_unknown_paths_and_wrong_methods_are_told_apart(world: Desk, plane: Plane) -> None:
    """E1."""
    client = caller(world, plane)
    for path in (
        "/",
        "/v1",
        "/v1/nothing",
        "//",
        "/v9/markets",
        "/v1/../v1/markets",
        "/favicon.ico",
    ):
        check_refusal(plane, client.get(path), 404)
    for other, _, binding in ROUTES:
        if other == plane:
            for verb in ("TRACE", "PUT"):
                if verb != binding[0]:
                    answer = client.request(verb, path_of(world, binding))
                    check_refusal(plane, answer, 405)
                    assert binding[0] in answer.headers["allow"]


# ---- gRPC

RPCS = [operation for operation in SERVED if operation.grpc and operation.kind == "unary"]


@pytest.mark.parametrize("operation", RPCS, ids=lambda operation: operation.name)
def test_bytes_that_are_no_message_are_invalid(world: Desk, operation: Operation) -> None:
    client, before = world.rpc_trader(), kept(world)
    for message in (b"\xff" * 8, b"\x0a\xff\xff\xff\xff\x0f", b"\x00", b"\x07", b"\x0f\x01"):
        reply = client.raw(operation.full_methods[0], message)
        assert reply.code == 3, (message, reply.message)
    for field in descriptor_pool().FindMessageTypeByName(operation.request_name).fields:
        if field.type == field.TYPE_STRING:
            message = _varint(field.number << 3 | 2) + b"\x02\xff\xfe"
            assert client.raw(operation.full_methods[0], message).code == 3, field.name
    assert kept(world) == before


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    return bytes((*result, number))


@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.parametrize("operation", RPCS, ids=lambda operation: operation.name)
def test_random_bytes_never_fail_inside(operation: Operation, data: st.DataObject) -> None:
    world = _shared()
    reply = world.rpc_trader().raw(operation.full_methods[0], data.draw(st.binary(max_size=40)))
    assert reply.code not in (2, 13), reply.message
    assert reply.code != 13


_shared = cache(unlimited_world)


@pytest.mark.parametrize(
    "operation",
    [operation for operation in RPCS if operation.credential != "none"],
    ids=lambda operation: operation.name,
)
def test_over_grpc_the_unknown_the_poor_and_the_foreign_are_refused(
    world: Desk, operation: Operation
) -> None:
    before = kept(world)
    assert world.rpc(None).raw(operation.full_methods[0], b"").code == 16
    poor, result = world.poor_firm, world.firm
    if operation.participant == "required":
        for participant in (None, "mara", poor.users[0].name):
            assert world.rpc(result, participant).raw(operation.full_methods[0], b"").code == 7
    assert kept(world) == before
