"""Fields of messages for the codecs, from the annotations of their Structs; input errors."""

from __future__ import annotations

import re
import sys
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec.structs import asdict, replace

from sim.contract.messages import FieldRule, Message, find_message, proto_name
from sim.kernel.instants import EARLIEST, LATEST, NS_PER_S, Instant, Span, parse_instant

INTEGER_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
# JSON strings, because a JavaScript number cannot hold them
LONG_INTEGERS = frozenset(("int64", "uint64"))
# kinds that Python has a type for; the others are annotated
PLAIN_KINDS = {str: "string", bool: "bool", float: "double", bytes: "bytes"}
SCALARS = frozenset((*PLAIN_KINDS.values(), *INTEGER_RANGES, "enum"))
# A text can hold their values: a parameter of a query, a variable of a path.
TEXTUAL = SCALARS | {"timestamp", "duration"}

# protobuf's Duration: about 10 000 years
SPAN_MAX: Span = 315_576_000_000 * NS_PER_S + NS_PER_S - 1

_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_DURATION = re.compile(r"(-?)(\d{1,12})(?:\.(\d{1,9}))?s", re.ASCII)


class BadInput(ValueError):
    """A request that does not fit its message."""


class BadField(BadInput):
    """One field does not fit. `path` is spelled as in JSON: "requests[0].orderQty"."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason

    def under(self, parent: str) -> BadField:
        """Return the same error with the path of the field that contains this one."""
        dot = "" if not self.path or self.path.startswith("[") else "."
        return BadField(f"{parent}{dot}{self.path}", self.reason)


class BadBody(BadInput):
    """The body as a whole cannot be read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Field(FieldRule, frozen=True, kw_only=True):
    """A field of a message, as its annotation says it.

    For a map, `kind` is that of its values. `key_kind` and `type_name` are "" if they do not apply.
    """

    attribute: str
    name: str
    kind: str
    repeated: bool
    key_kind: str
    type_name: str  # proto name of the message or enumeration
    nullable: bool  # None means unset

    def active(self, at: Instant, switches: frozenset[str] = frozenset()) -> bool:
        """Whether JSON answers have it at an instant, with some switches on."""
        begun = self.since is None or self.since <= at
        return begun and (self.until is None or at < self.until or self.kept_by in switches)


@cache
def fields_of(cls: type[Message]) -> tuple[Field, ...]:
    """Return the fields of a message, in the order of its proto file."""
    return tuple(
        _named(_unnamed(text, cls.__module__), attribute)
        for attribute, text in cls.__annotations__.items()
    )


def _named(field: Field, attribute: str) -> Field:
    json_name = field.json_name or lower_camel(attribute)
    name = attribute.removesuffix("_")
    return replace(field, attribute=attribute, name=name, json_name=json_name)


@cache
def _unnamed(annotation: str, module: str) -> Field:
    """What an annotation says, as a field without names: hundreds of fields share theirs."""
    hint = eval(annotation, vars(sys.modules[module]))
    plain, notes = _peeled(hint)
    rule = notes[-1] if notes and isinstance(notes[-1], FieldRule) else _NO_RULE
    container = None if notes and isinstance(notes[0], str) else get_origin(plain)
    parts = get_args(plain)
    kind, type_name = _kind(parts[container is dict] if container else hint)
    nullable = container in (Union, UnionType) or plain is Any
    presence = rule.presence or bool(rule.oneof) or (nullable and kind in SCALARS)
    return Field(
        attribute="",
        name="",
        kind=kind,
        repeated=container is list,
        key_kind=_kind(parts[0])[0] if container is dict else "",
        type_name=type_name,
        nullable=nullable,
        **asdict(rule) | {"presence": presence},
    )


_NO_RULE = FieldRule()


def _kind(hint: Any) -> tuple[str, str]:
    """Return the kind of one value, and the name of its message or enumeration."""
    plain, notes = _peeled(hint)
    if notes and isinstance(notes[0], str):
        return notes[0], ""
    if notes and isinstance(notes[0], type):
        return "enum", proto_name(notes[0])
    return (PLAIN_KINDS[plain], "") if plain in PLAIN_KINDS else ("message", proto_name(plain))


def _peeled(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its annotations, and these."""
    return (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


def always_written(
    cls: type[Message], field: Field, switches: frozenset[str] = frozenset()
) -> bool:
    """Whether every answer contains the field, set or not, while `switches` are on."""
    if field.written_by in switches:
        return True
    omitted = field.omit_empty or field.omit_by in switches
    return not (field.presence or omitted or cls.__omit_unset__)


def lower_camel(name: str) -> str:
    """Return the JSON name that protobuf gives a field: "order_qty" becomes "orderQty"."""
    head, *words = name.split("_")
    return head + "".join([word[:1].upper() + word[1:] for word in words])


def alternatives(choice: str) -> list[list[str]]:
    """The alternatives of one of a message's `__needs__`, as names of fields: "a | b, c" is
    satisfied by a, or by b with c.
    """
    return [[name.strip() for name in way.split(",")] for way in choice.split("|")]


def needs_of(
    cls: type[Message], *, json: bool = True, in_path: str = "", under: str = ""
) -> list[str]:
    """The required fields of a request and of its parts: "requests[].side", "orderQty or
    cashOrderQty". In JSON or proto spelling; without the `{variables}` of a path.
    """
    fields = fields_of(cls)
    spelled = {field.name: under + (field.json_name if json else field.name) for field in fields}
    needs = []
    for field in fields:
        if field.required and f"{{{field.name}}}" not in in_path:
            name = spelled[field.name] + ("[]" if field.repeated else "")
            needs.append(name)
            if field.kind == "message":
                inner = find_message(field.type_name)
                needs += needs_of(inner, json=json, under=f"{name}.")
    for choice in cls.__needs__:
        ways = (" and ".join(spelled[name] for name in way) for way in alternatives(choice))
        needs.append(" or ".join(ways))
    return needs


def read_moment(text: str) -> Instant:
    """Parse RFC 3339 text in the form of protobuf's JSON: seconds and offset are required.

    ValueError otherwise.
    """
    if not _MOMENT.fullmatch(text):
        raise ValueError("not an RFC 3339 timestamp")
    try:
        at = parse_instant(text)
    except (ValueError, OverflowError):
        raise ValueError("not an RFC 3339 timestamp") from None
    if not EARLIEST <= at <= LATEST:
        raise ValueError("timestamp out of range")
    return at


def read_duration(text: str) -> Span:
    """Parse "1.5s". ValueError otherwise."""
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError('not a duration (write "1.5s")')
    length = int(match[2]) * NS_PER_S + int((match[3] or "").ljust(9, "0"))
    if length > SPAN_MAX:
        raise ValueError("duration out of range")
    return -length if match[1] else length


def write_duration(span: Span) -> str:
    """Write "1.5s" like protobuf: seconds with 0, 3, 6 or 9 decimals."""
    seconds, fraction = divmod(abs(span), NS_PER_S)
    digits = f"{fraction:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{'-' if span < 0 else ''}{seconds}{'.' + digits if digits else ''}s"
