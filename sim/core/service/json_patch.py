"""JSON Patch (RFC 6902) on plain data, and ready patches by name.

Three operations: add, remove, replace. A patch is applied whole or not at all; a copy is changed,
never the document itself. A ready patch looks for the first value in the message that it can alter,
so the same message is always altered in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, DecodeError, Struct, UnsetType, json

from sim.contract.messages import PACKAGES

CURSORS = ("nextPageToken", "nextCursor", "next_page_token", "next_cursor")
_ABSENT: Any = object()
_EVENT_TYPE = re.compile("[a-z]+[.][a-z]+")  # of a webhook


class PatchOperation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One operation of a patch."""

    op: str
    """add, remove or replace"""
    path: str
    """JSON Pointer (RFC 6901) of the value, such as /order/state; `-` is the end of a list"""
    value: Any | UnsetType = UNSET
    """the new value; not for remove"""


Patch: TypeAlias = "str | tuple[PatchOperation, ...]"
Operations: TypeAlias = tuple[PatchOperation, ...]


def check_patch(patch: Patch) -> None:
    """Raise ValueError for an unknown name, or an operation that RFC 6902 does not have."""
    if isinstance(patch, str):
        if patch not in READY:
            raise ValueError(f"patch: no ready patch is called {patch!r}; {', '.join(READY)}")
        return
    for operation in patch:
        if operation.op not in ("add", "remove", "replace"):
            raise ValueError(f"patch: op is add, remove or replace, not {operation.op!r}")
        if operation.path and not operation.path.startswith("/"):
            raise ValueError(f"patch: a path begins with /, not {operation.path!r}")
        if (operation.op == "remove") is not (operation.value is UNSET):
            raise ValueError("patch: add and replace have a value, remove has none")
        if not operation.path and operation.op == "remove":
            raise ValueError("patch: the whole message cannot be removed")


def applied(patch: Patch, document: Any, cursor: str = "") -> Any | None:
    """Return a patched copy of a document, None if a path is not there. `cursor` is the one that
    the request named.
    """
    operations = READY[patch].find(document, cursor) if isinstance(patch, str) else patch
    for operation in operations:
        document = _apply(document, operation, _steps(operation.path))
        if document is _ABSENT:
            return None
    return document if operations else None


def patched_json(patch: Patch, body: bytes, cursor: str = "") -> bytes | None:
    """Return a patched JSON text, None if it is no JSON or a path is not there."""
    try:
        document = applied(patch, json.decode(body), cursor)
    except DecodeError:
        return None
    return None if document is None else json.encode(document)


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _apply(node: Any, operation: PatchOperation, steps: list[str]) -> Any:
    """Return a copy of a node with an operation applied below it; _ABSENT if that is impossible."""
    if not steps:
        return operation.value
    step, rest = steps[0], steps[1:]
    copy = node.copy() if isinstance(node, dict | list) else None
    if isinstance(copy, list):
        key: Any = len(copy) if step == "-" else int(step) if _is_index(step) else _ABSENT
        exists = key is not _ABSENT and key < len(copy)
        fits = exists or key == len(copy)
    else:
        key, exists, fits = step, copy is not None and step in copy, True
    if copy is None or not (exists or (operation.op == "add" and not rest and fits)):
        return _ABSENT
    if rest:
        copy[key] = _apply(copy[key], operation, rest)
        return copy if copy[key] is not _ABSENT else _ABSENT
    if operation.op == "remove":
        del copy[key]
    elif operation.op == "add" and isinstance(copy, list):
        copy.insert(key, operation.value)
    else:
        copy[key] = operation.value
    return copy


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and (step == "0" or step[0] != "0")


# ---- ready patches


class ReadyPatch(NamedTuple):
    """A patch by name. `find` returns its operations on a message; none where it cannot act."""

    does: str
    find: Callable[[Any, str], Operations]


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each scalar, in the order of the document."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        below = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, dict | list):
            yield from _leaves(value, below)
        elif key not in CURSORS:
            yield below, value


def _first(op: str, change: Callable[[Any], Any]) -> Any:
    """Find the first scalar for which `change` returns a new value."""

    def find(document: Any, cursor: str) -> Operations:
        if isinstance(document, dict | list):
            for path, value in _leaves(document):
                if (new := change(value)) is not _ABSENT:
                    return (PatchOperation(op, path, new),)
        return ()

    return find


def _lists(document: Any) -> Iterator[tuple[str, list[Any]]]:
    for key, value in document.items() if isinstance(document, dict) else ():
        if isinstance(value, list) and value:
            yield f"/{key}", value


def _cursor_of(document: Any) -> str:
    names = CURSORS if isinstance(document, dict) else ()
    return next((name for name in names if document.get(name)), "")


def _repeated(document: Any, cursor: str) -> Operations:
    names = CURSORS if cursor and isinstance(document, dict) else ()
    return tuple(
        PatchOperation("replace", f"/{name}", cursor) for name in names if name in document
    )


def _emptied(document: Any, cursor: str) -> Operations:
    if not _cursor_of(document):
        return ()
    return tuple(PatchOperation("replace", path, []) for path, _ in _lists(document))


def _truncated(document: Any, cursor: str) -> Operations:
    for path, rows in _lists(document):
        return (PatchOperation("replace", path, rows[: len(rows) // 2]),)
    return ()


def _extra(document: Any, cursor: str) -> Operations:
    """In the message and in the first message within it."""
    if not isinstance(document, dict):
        return ()
    parts = (
        (key, part[0] if isinstance(part, list) and part else part, isinstance(part, list))
        for key, part in document.items()
    )
    inner = [f"/{key}{'/0' * in_list}" for key, part, in_list in parts if isinstance(part, dict)]
    return tuple(PatchOperation("add", f"{path}/sandboxExtra", "new") for path in ("", *inner[:1]))


def _unknown_code(document: Any, cursor: str) -> Operations:
    names = ("code", "error", "status") if isinstance(document, dict) else ()
    errors = [name for name in names if name in document and {"message", "error"} & {*document}]
    values = {"code": 4242, "error": "sandbox_unknown", "status": 542}
    return tuple(PatchOperation("replace", f"/{name}", values[name]) for name in errors[:1])


def _unknown_member(value: Any) -> Any:
    if not isinstance(value, str):
        return _ABSENT
    if value not in _enum_members() and not _EVENT_TYPE.fullmatch(value):
        return _ABSENT
    mark = "." if "." in value else "_"
    head = value.rpartition(mark)[0]
    new = "sandbox" if value.islower() else "SANDBOX"
    return f"{head}{mark}{new}" if head else new


@cache
def _enum_members() -> frozenset[str]:
    """The members of every enumeration, in full and without the prefix that they share."""
    members: set[str] = set()
    for name in dict.fromkeys(PACKAGES.values()):
        for kind in vars(import_module(name)).values():
            if isinstance(kind, type) and issubclass(kind, IntEnum) and len(kind) > 1:
                names = list(kind.__members__)
                shared = names[0].removesuffix("UNSPECIFIED").removesuffix("UNDEFINED")
                members |= {*names, *(each.removeprefix(shared) for each in names)}
    return frozenset(members - {""})


def _as_text(value: Any) -> Any:
    """The number as text, or the text as a number; other values are left alone."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return _ABSENT


READY = {
    "unknown-enum": ReadyPatch(
        "replaces the first member of an enumeration by one that no document names",
        _first("replace", _unknown_member),
    ),
    "extra-field": ReadyPatch(
        "adds the field sandboxExtra to the message and to the first message within it", _extra
    ),
    "missing-field": ReadyPatch(
        "removes the first field that has a plain value", _first("remove", lambda value: UNSET)
    ),
    "null-field": ReadyPatch(
        "sets the first field that has a plain value to null",
        _first("replace", lambda value: _ABSENT if value is None else None),
    ),
    "number-as-text": ReadyPatch(
        "writes the first number as text, or the first text of digits as a number",
        _first("replace", _as_text),
    ),
    "repeated-cursor": ReadyPatch("answers with the cursor of the request", _repeated),
    "empty-page": ReadyPatch("empties the lists of a page that has a next page", _emptied),
    "truncated-list": ReadyPatch("leaves out the second half of the first list", _truncated),
    "unknown-error-code": ReadyPatch(
        "replaces the code of an error by one that no document names", _unknown_code
    ),
}
