"""Draws requests from the contract: an example if there is one, with values that exist now, and
usually with at most one mistake.
"""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any
from urllib.parse import urlencode

from msgspec import json

from sim.contract.contract import Operation
from sim.contract.messages import Message, find, find_message
from sim.contract.operation import VARIABLE
from sim.contract.wire_fields import Field, fields_of
from sim.kernel import resources
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import Span, days, format_instant, hours, minutes
from sim.search.hunt.live_view import LiveView, snake
from sim.search.moves.view import PEOPLE, address, query_fields

DEPTH_MAX = 3
_NUMBERS = (0, 1, 1, 2, 3, 5, 10, 41, 45, 48, 50, 50, 52, 55, 100, 500, 1_000, -1, 2**31 - 1)
_DECIMALS = ("0", "0.45", "0.48", "0.50", "0.5", "0.52", "1", "5", "10.00", "0.001", "-1", "1e3")
_SPANS: tuple[Span, ...] = (0, minutes(1), hours(1), days(1), days(8), days(50), days(100))
# Names with few values, so that sessions replace each other and a second call finds the first.
_FEW: dict[str, tuple[Any, ...]] = {
    "clord_id": tuple(f"order-{n}" for n in range(6)),
    "idempotency_key": tuple(f"key-{n}" for n in range(4)),
    "external_reference": tuple(f"key-{n}" for n in range(4)),
    "external_id": tuple(f"person-{n}" for n in range(PEOPLE)),
    "cross_id": tuple(f"cross-{n}" for n in range(4)),
    "ssn": tuple(f"9001122{n:02}" for n in range(5)),
    "date_of_birth": (
        *("1988-04-12", "1988-04-12", "1985-09-02", "1985-09-05", "1985-09-25", "1985-10-02"),
        *("1985-09-04", "1985-03-30", "2020-01-01", "1985-02-30"),
    ),
    "webhook_url": ("http://127.0.0.1:9/kyc", "https://127.0.0.1:9443/kyc", "http://10.0.0.1/x"),
    "otp": ("123456", "1234", "000000", ""),
    "referral_code": ("FRIEND1", "FRIEND2", "x"),
    "currency": ("USD", "USD", "USD", "EUR"),
    "where_clause": ("side = 'SIDE_BUY'", "state = 'FILLED'", "price > '40'", "nope = '1'", "side"),
    "order_by": ("created_time desc", "update_time", "volume", "nope"),
    "field_filter": ("id,symbol", "nope"),
    "page_size": (0, 1, 2, 50, 1_000, 1_001, -1),
    "limit": (0, 1, 2, 50, 200, 10_000),
    "offset": (0, 1, 20, 10_000),
    "bars": (1, 4, 100, 0),
    "depth": (0, 1, 3, 11),
}
# Names of identifiers. Other texts of an example are not replaced.
_IDENTIFIES = re.compile(r"(^id|^name|_id|_ids|symbols?|slugs?|accounts?|user|token|cursor)$")
_TIMES = re.compile(r"(time|_at|date|from|to|since|until|start|end)$")


@cache
def _examples() -> dict[str, Any]:
    """Return the bodies of examples by operation."""
    planes = json.decode(resources.path("fixtures", "openapi-examples.json").read_bytes())
    return {
        name: example["body"]
        for examples in planes.values()
        for name, example in examples.items()
        if "body" in example
    }


class Requests:
    """Draws the requests of one episode's clients."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._vocabulary = view.vocabulary

    def document(self, choices: RandomStream, operation: Operation) -> dict[str, Any]:
        """Return a request as JSON."""
        request, name = operation.request, operation.name
        example = _examples().get(name)
        if example is None or choices.chance(1, 12):
            return self._message(choices, request, name, DEPTH_MAX)
        body: dict[str, Any] = self._refreshed(choices, copy.deepcopy(example), "", name)
        if choices.chance(2, 5):
            self._mutate(choices, body, request, name)
        return body

    def complete(self, choices: RandomStream, operation: Operation) -> dict[str, Any]:
        """Return a request with every name in its path, and nothing that a query cannot express."""
        body = self.document(choices, operation)
        for _, template, takes_body in operation.bindings:
            for name in VARIABLE.findall(template):
                if name not in map(snake, body):
                    body[name] = self._variable(choices, operation, name)
            if not takes_body:
                body = {
                    name: value
                    for name, value in body.items()
                    if not isinstance(value, dict)
                    and not (isinstance(value, list) and (not value or isinstance(value[0], dict)))
                }
        return body

    def _refreshed(self, choices: RandomStream, value: Any, key: str, operation: str) -> Any:
        """Return an example with values that exist now."""
        if isinstance(value, dict):
            return {
                name: self._refreshed(choices, inner, name, operation)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._refreshed(choices, inner, key, operation) for inner in value]
        name = snake(key)
        if name in _FEW:
            return choices.choice(_FEW[name]) if choices.chance(3, 4) else value
        if isinstance(value, str) and _IDENTIFIES.search(name) and self._vocabulary.values(name):
            return self._vocabulary.draw(choices, name, operation)
        return value

    def _mutate(
        self, choices: RandomStream, body: dict[str, Any], request: type[Message], operation: str
    ) -> None:
        """Change, add or remove one field, at any depth."""
        fields = fields_of(request)
        if not fields:
            return
        field = choices.choice(fields)
        key = field.json_name if field.json_name in body else field.name
        inner = body.get(key)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            if choices.chance(1, 4):
                body[key] = inner * choices.choice((2, 20, 21))
                return
            inner = choices.choice(inner)
        if isinstance(inner, dict) and field.kind == "message" and choices.chance(4, 5):
            self._mutate(choices, inner, find_message(field.type_name), operation)
        elif key in body and choices.chance(1, 4):
            del body[key]
        else:
            name = key if key in body else field.json_name
            body[name] = self._field(choices, field, operation, DEPTH_MAX)

    def _message(
        self, choices: RandomStream, cls: type[Message], operation: str, depth: int
    ) -> dict[str, Any]:
        """Return a message with some of its fields; of long messages, only a few."""
        fields = fields_of(cls)
        most = 4 if len(fields) <= 6 else len(fields)
        return {
            field.json_name: self._field(choices, field, operation, depth - 1)
            for field in fields
            if choices.chance(3, most) and (depth > 0 or field.kind != "message")
        }

    def _field(self, choices: RandomStream, field: Field, operation: str, depth: int) -> Any:
        if field.key_kind:
            return {"a": self._value(choices, field, operation, depth)}
        if field.repeated:
            count = choices.choice((1, 1, 1, 2, 3, 0))
            return [self._value(choices, field, operation, depth) for _ in range(count)]
        return self._value(choices, field, operation, depth)

    def _value(self, choices: RandomStream, field: Field, operation: str, depth: int) -> Any:
        name = field.name
        if name in _FEW:
            return choices.choice(_FEW[name])
        match field.kind:
            case "string":
                return self._text(choices, name, operation)
            case "bool":
                return choices.chance(1, 2)
            case "enum":
                members = list(find(field.type_name).__members__)  # type: ignore[attr-defined]
                return choices.choice(members)
            case "timestamp":
                return self._time(choices)
            case "duration":
                return f"{choices.choice((0, 1, 60, 3600))}s"
            case "double":
                return choices.choice((0.0, 0.5, 1.0, -1.0, 1e9))
            case "bytes":
                return self._bytes(choices, name, operation)
            case "message":
                return self._message(choices, find_message(field.type_name), operation, depth)
            case "struct" | "value" | "list_value":
                return {} if field.kind == "struct" else []
        return self._number(choices, name)

    def _number(self, choices: RandomStream, name: str) -> int:
        values = [value for value in self._vocabulary.values(name) if isinstance(value, int)]
        if values and choices.chance(1, 2):
            return int(choices.choice(values))
        if _TIMES.search(name):
            return (self._view.now - choices.choice(_SPANS)) // 1_000_000_000
        return choices.choice(_NUMBERS)

    def _text(self, choices: RandomStream, name: str, operation: str) -> str:
        if name.endswith(("price", "amount", "value", "qty", "decimal", "px")):
            return choices.choice(_DECIMALS)
        if _TIMES.search(name) and choices.chance(3, 4):
            return self._time(choices)
        return str(self._vocabulary.draw(choices, name, operation))

    def _time(self, choices: RandomStream) -> str:
        span = choices.choice(_SPANS)
        return format_instant(self._view.now + (span if choices.chance(1, 3) else -span))

    def _bytes(self, choices: RandomStream, name: str, operation: str) -> str:
        values = self._vocabulary.values(name)
        return str(choices.choice(values)) if values and choices.chance(5, 6) else "AAAA"

    # ---- addresses

    def address(
        self, choices: RandomStream, operation: Operation, body: dict[str, Any]
    ) -> tuple[str, str, str, bytes]:
        """Return verb, path, query and body of a request over HTTP."""
        verb, path, fields, takes_body = address(
            choices, operation, body, lambda name: self._variable(choices, operation, name)
        )
        if operation.content == "form":
            return verb, path, "", urlencode(query_fields(fields)).encode()
        if takes_body:
            return verb, path, "", json.encode(fields)
        return verb, path, urlencode(query_fields(fields), doseq=True), b""

    def _variable(self, choices: RandomStream, operation: Operation, name: str) -> Any:
        if name in _FEW:
            return choices.choice(_FEW[name])
        return self._vocabulary.draw(choices, name.rpartition(".")[2], operation.name)
