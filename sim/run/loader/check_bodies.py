"""Checks of the bodies and queries that steps send: names, words, types and missing fields.

The exchange ignores unknown names, as the service does, so a misspelt name would have no effect and
nobody would notice. Steps that may expect a refusal are not checked, because they may send
anything. The value of a `${name}` that a step saves is known only during the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl

from sim.api.codecs.codecs import BadInput, json_decoder, query_decoder
from sim.api.codecs.query import Casing
from sim.contract.contract import Operation
from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import Field, alternatives, fields_of
from sim.run.loader.check_calls import operation_called, operation_subscribed
from sim.run.loader.nodes import items_of, node_at, text_at
from sim.world.format.steps import VERBS
from sim.world.format.suggestions import known_names, suggestion
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Position,
    Problem,
    Scalar,
    Sequence,
    problem,
    value_of,
)


def subscribed(steps: Iterable[Mapping]) -> dict[str, Operation]:
    """The operations of the streams that steps open, by the name of the stream."""
    parts = (node_at(step, "subscribe") for step in steps)
    return {
        name.text: operation
        for part in parts
        if (name := text_at(part, "name")) and (operation := operation_subscribed(part))
    }


def body_problems(step: Mapping, streams: dict[str, Operation]) -> Iterator[Problem]:
    """Problems of the request or of the frames that a step sends; `streams` as in `subscribed`."""
    if _may_be_refused(node_at(step, "expect")):
        return
    yield from _frames(step, streams)
    called = operation_called(step)
    if called is None or called[0].kind == "bidi":
        return
    operation, plane, part = called
    if "headers" in part.items or operation.content == "form":
        return  # the headers may declare another content type
    body = part.items.get("json", part.items.get("body"))
    verb = next((verb for verb in VERBS if verb in part.items), "")
    if plane == "grpc" or _reads_body(operation, verb):
        yield from _sent(operation, part, body, verb)
    else:
        yield from _query(operation, part, verb, body)


def _may_be_refused(expect: Node | None) -> bool:
    """Whether a step expects a refusal, or something that may be one."""
    if not isinstance(expect, Mapping):
        return False
    status, code, refused = (expect.items.get(key) for key in ("status", "code", "refused"))
    if isinstance(status, Scalar):
        return not status.text.startswith("2")
    if isinstance(code, Scalar):
        return code.text != "0"
    if isinstance(refused, Scalar):
        return refused.text != "false"
    return "json" in expect.items or "header" in expect.items


def _reads_body(operation: Operation, verb: str) -> bool:
    return any(body for method, _, body in operation.bindings if method == verb.upper())


def _in_path(operation: Operation, verb: str) -> str:
    return " ".join(path for method, path, _ in operation.bindings if method == verb.upper())


# ---- bodies


def _sent(operation: Operation, part: Mapping, body: Node | None, verb: str) -> Iterator[Problem]:
    """Problems of the request of a call."""
    in_path = frozenset(
        field.name
        for field in fields_of(operation.request)
        if f"{{{field.name}" in _in_path(operation, verb)
    )
    if body is None:
        body = Mapping(part.at, {}, {})
    yield from _message(operation.request, body, "", in_path)


def _frames(step: Mapping, streams: dict[str, Operation]) -> Iterator[Problem]:
    """Problems of the frames that a step sends on a stream."""
    for key, stream, frames in (("subscribe", "name", "send"), ("send", "stream", "frames")):
        name = text_at(step, key, stream)
        operation = streams.get(name.text) if name is not None else None
        if operation is None:
            continue
        for frame in items_of(step, key, frames):
            yield from _message(operation.request, frame, "", frozenset())


def _message(
    cls: type[Message], node: Node, under: str, in_path: frozenset[str]
) -> Iterator[Problem]:
    """Problems of one message: names, words, types and missing fields."""
    if isinstance(node, Scalar) and "${" in node.text:
        return
    what = under or cls.__full_name__.rpartition(".")[2]
    if not isinstance(node, Mapping):
        yield problem(node.at, f"{what} must be a mapping")
        return
    fields = {name: each for each in fields_of(cls) for name in _spellings(each)}
    for name, value in node.items.items():
        field = fields.get(name)
        if field is None:
            near = _suggested_field(name, cls)
            yield problem(node.keys[name], f"{what} has no {name!r}{near}")
        else:
            yield from _value(cls, field, value, f"{under}.{name}" if under else name)
    yield from _missing_fields(cls, node, what, in_path)


def _value(cls: type[Message], field: Field, node: Node, way: str) -> Iterator[Problem]:
    if isinstance(node, Scalar) and ("${" in node.text or (node.plain and value_of(node) is None)):
        return
    if field.kind != "message" or field.key_kind:
        parts: Iterable[Node] = [node]
        if field.repeated and isinstance(node, Sequence):
            parts = node.items
        for part in parts:
            yield from _leaf(cls, field, part, way, listed=part is not node)
    elif not field.repeated:
        yield from _message(find_message(field.type_name), node, way, frozenset())
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            inner = find_message(field.type_name)
            yield from _message(inner, item, f"{way}[{index}]", frozenset())
    else:
        yield problem(node.at, f"{way}: expected a list")


def _leaf(
    cls: type[Message], field: Field, node: Node, way: str, *, listed: bool
) -> Iterator[Problem]:
    """Problems that the exchange's own reader has with a value."""
    if isinstance(node, Scalar) and "${" in node.text:
        return
    value = value_of(node)
    try:
        json_decoder(cls)({field.json_name: [value] if listed else value})
    except BadInput as refused:
        reason = str(refused).partition(": ")[2]
        yield problem(node.at, f"{way}: {reason}{_nearest_word(field, node)}")


def _nearest_word(field: Field, node: Node) -> str:
    """A suggestion of the word of an enumeration that was probably meant."""
    if field.kind != "enum" or not isinstance(node, Scalar):
        return ""
    words = [member.name for member in find(field.type_name)]  # type: ignore[attr-defined]
    whole = [word for word in words if word.endswith(f"_{node.text.upper()}")]
    return f"; did you mean {min(whole, key=len)!r}?" if whole else suggestion(node.text, words)


def _missing_fields(
    cls: type[Message], node: Mapping, what: str, in_path: frozenset[str]
) -> Iterator[Problem]:
    """The required fields that a request lacks."""
    names = {one.name: one.json_name for one in fields_of(cls)}
    has = {
        one.name for one in fields_of(cls) if any(name in node.items for name in _spellings(one))
    } | in_path
    lacking = [one.json_name for one in fields_of(cls) if one.required and one.name not in has]
    for choice in cls.__needs__:
        ways = alternatives(choice)
        if not any(has.issuperset(way) for way in ways):
            lacking.append(" or ".join(" and ".join(names[one] for one in way) for way in ways))
    if lacking:
        refused = "(to test a refusal, add `expect: {refused: true}`)"
        yield problem(node.at, f"{what} needs {', '.join(lacking)} {refused}")


# ---- queries


def _query(operation: Operation, part: Mapping, verb: str, body: Node | None) -> Iterator[Problem]:
    """Problems of the parameters of a query."""
    if body is not None:
        key = "json" if "json" in part.items else "body"
        text = f"{operation.name} takes parameters instead of a body: use `query`"
        yield problem(part.keys[key], text)
    path = text_at(part, verb)
    if path is None:
        return
    has: list[str] = []
    for name, text in parse_qsl(path.text.partition("?")[2]):
        has.append(name)
        yield from _parameter(operation, name, [text], path.at, path.at)
    query = node_at(part, "query")
    if isinstance(query, Mapping):
        for name, value in query.items.items():
            values = value.items if isinstance(value, Sequence) else [value]
            texts = [each.text for each in values if isinstance(each, Scalar)]
            has.append(name)
            yield from _parameter(operation, name, texts, query.keys[name], value.at)
    lacking = [
        one.json_name
        for one in fields_of(operation.request)
        if one.required
        and f"{{{one.name}" not in _in_path(operation, verb)
        and not {one.name, one.json_name} & set(has)
    ]
    if lacking:
        refused = "(to test a refusal, add `expect: {refused: true}`)"
        yield problem(path.at, f"the query needs {', '.join(lacking)} {refused}")


def _parameter(
    operation: Operation, name: str, texts: list[str], key: Position, at: Position
) -> Iterator[Problem]:
    unknown: list[str] = []
    pairs = [(name, text) for text in texts if "${" not in text]
    try:
        query_decoder(operation.request, Casing.CAMEL_OR_SNAKE)(pairs or [(name, "")], unknown)
    except BadInput as refused:
        if pairs:
            yield problem(at, str(refused))
        return
    if unknown:
        near = _suggested_field(name, operation.request)
        yield problem(key, f"{operation.name} has no parameter {name!r}{near}")


def _spellings(field: Field) -> tuple[str, ...]:
    return (field.name, field.json_name, field.vendor_json)


def _suggested_field(name: str, cls: type[Message]) -> str:
    """A suggestion of the field that was probably meant, with or without underscores as the name
    has them: a required field that ends like the name, or the nearest one.
    """
    spelled = {one.name: one.name if "_" in name else one.json_name for one in fields_of(cls)}
    needs = {one.name for one in fields_of(cls) if one.required}
    needs.update(key for choice in cls.__needs__ for way in alternatives(choice) for key in way)
    ends = [one for key, one in spelled.items() if key in needs and _ends(one, name)]
    return f"; did you mean {ends[0]!r}?" if ends else known_names(name, spelled.values())


def _ends(name: str, end: str) -> bool:
    return len(end) > 2 and name.lower().endswith(end.lower())
