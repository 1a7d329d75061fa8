"""Slips in the requests of steps: names that an operation does not have, and misspelt words.

The exchange ignores unknown names, as the service does, so a misspelt one would have no effect and
would go unnoticed. Nor do its answers suggest a name or a word: they are the service's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, json

from sim.api.codecs.codecs import BadInput, json_decoder
from sim.contract.contract import Operation
from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import BadField, Field, alternatives, fields_of
from sim.core.model.refusals import InvalidRequest
from sim.world.format.suggestions import known_names, suggestion

_NAME = re.compile(r"[^.\[\]]*[^.\[\]\d][^.\[\]]*")  # a part of a path that is not an index


def ignored_names(operation: Operation | None, paths: Iterable[str]) -> list[str]:
    """What is wrong with the names that the exchange ignored in a call, as one sentence or none."""
    if operation is None or operation.content == "form":
        return []
    return list(filter(None, [_unknown_names(operation.request, paths)]))


def misspelt_in_call(operation: Operation | None, content: Any) -> str:
    """`; did you mean 'SIDE_BUY'?` if a word makes the body of a call unreadable, or ""."""
    if operation is None or operation.content == "form" or content is UNSET:
        return ""
    return _misspelt_word(operation.request, content)


def read_request(request: type[Message], content: Any, *, strict: bool) -> Message:
    """A request from JSON content; `strict` accepts no unknown names. InvalidRequest says what is
    wrong, with the name or word that was probably meant.
    """
    ignored: list[str] = []
    try:
        message: Message = json_decoder(request)(json.encode(content, order="sorted"), ignored)
    except BadInput as error:
        slip = f"{error}{_misspelt_word(request, content)}"
    else:
        slip = _unknown_names(request, ignored) if strict else ""
        if not slip:
            return message
    raise InvalidRequest(f"this is not a valid {_short_name(request)}: {slip}", rule="T1")


def fits(request: type[Message], content: Any) -> bool:
    """Whether JSON content can be read as a request, and has no unknown names."""
    try:
        read_request(request, content, strict=True)
    except InvalidRequest:
        return False
    return True


def _unknown_names(request: type[Message], paths: Iterable[str]) -> str:
    """What a request lacks among these names: `InsertOrderRequest has no 'qty'; did you mean
    'orderQty'?`, or `subscribe has no …` for a message in it. Empty if it has all of them.
    """
    slips = []
    for path in dict.fromkeys(paths):
        *way, name = _NAME.findall(path) or [path]
        within = _message_at(request, way)
        if within is None or not path.endswith(name):  # the name itself has a dot or a bracket
            within, name = request, path
        if _field(within, name) is None:
            subject = path.removesuffix(name).rstrip(".") or _short_name(request)
            slips.append(f"{subject} has no {name!r}{_nearest_field(within, name)}")
    return "; ".join(slips)


def _misspelt_word(request: type[Message], content: Any) -> str:
    """`; did you mean 'SIDE_BUY'?` if a word of an enumeration makes content unreadable, or ""."""
    try:
        json_decoder(request)(json.encode(content, order="sorted"), [])
    except BadField as error:
        return _nearest_word(request, content, error.path)
    except BadInput:
        pass
    return ""


def _short_name(message: type[Message]) -> str:
    return message.__full_name__.rpartition(".")[2]


def _spellings(field: Field) -> tuple[str, ...]:
    return tuple(filter(None, (field.name, field.json_name, field.vendor_json)))


def _field(message: type[Message], name: str) -> Field | None:
    return next((row for row in fields_of(message) if name in _spellings(row)), None)


def _message_at(request: type[Message], way: Iterable[str]) -> type[Message] | None:
    """The message below a request at a path of field names; None if there is none."""
    message = request
    for name in way:
        field = _field(message, name)
        if field is None or field.kind != "message":
            return None
        message = find_message(field.type_name)
    return message


def _nearest_field(message: type[Message], name: str) -> str:
    """A suggestion of a field, with or without underscores as the name has them: a field that the
    message needs and that ends like the name, or the nearest one.
    """
    spelled = {
        field.name: field.name if "_" in name else field.json_name for field in fields_of(message)
    }
    needs = {field.name for field in fields_of(message) if field.required}
    needs.update(key for choice in message.__needs__ for way in alternatives(choice) for key in way)
    ends = [text for key, text in spelled.items() if key in needs and _ends(text, name)]
    return f"; did you mean {ends[0]!r}?" if ends else known_names(name, spelled.values())


def _ends(name: str, end: str) -> bool:
    return len(end) > 2 and name.lower().endswith(end.lower())


def _nearest_word(request: type[Message], content: Any, path: str) -> str:
    """A suggestion of the word of an enumeration that was probably meant at a path of content."""
    *way, name = _NAME.findall(path) or [""]
    message = _message_at(request, way)
    field = _field(message, name) if message is not None else None
    if field is None or field.kind != "enum":
        return ""
    value = content
    for part in re.findall(r"[^.\[\]]+", path):
        value = value[int(part)] if isinstance(value, list) else _value_of(value, part, field)
    if not isinstance(value, str):
        return ""
    words = [member.name for member in find(field.type_name)]  # type: ignore[attr-defined]
    complete = [word for word in words if word.endswith(f"_{value.upper()}")]
    return f"; did you mean {min(complete, key=len)!r}?" if complete else suggestion(value, words)


def _value_of(content: Any, part: str, field: Field) -> Any:
    """The value of a field in JSON content, which may spell its name in either way."""
    names = _spellings(field) if part in _spellings(field) else (part,)
    return next((content[name] for name in names if name in content), None)
