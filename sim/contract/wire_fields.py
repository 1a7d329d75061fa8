"""Fields of messages for the codecs, from the generated wire tables; input errors."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from sim.contract.messages import Message, find_message
from sim.kernel.instants import EARLIEST, LATEST, NS_PER_S, Instant, Span, parse_instant

INTEGER_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
# JSON strings, because a JavaScript number cannot hold them
LONG_INTEGERS = frozenset(("int64", "uint64"))
SCALARS = frozenset((*INTEGER_RANGES, "string", "bool", "double", "bytes", "enum"))

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


class Field(Struct, frozen=True):
    """One row of a `__wire__` table.

    For a map, `kind` is that of its values. `key_kind` and `oneof` are "" if they do not apply.
    """

    attribute: str
    number: int
    name: str
    json_name: str
    kind: str
    repeated: bool
    key_kind: str
    oneof: str
    presence: bool  # proto3 optional, or member of a oneof; None means unset
    type_name: str
    since: Instant | None
    until: Instant | None
    omit_empty: bool
    as_number: bool
    vendor_json: str
    bare_enum: str  # prefix of member names, which answers leave out
    other_prefix: str
    secret: bool
    kept_by: str  # switch that keeps the field after `until`
    text_by: str  # switch that makes JSON write the number as text
    address: bool  # an address of this machine, which differs between runs
    required: bool  # required in requests

    def active(self, at: Instant, switches: frozenset[str] = frozenset()) -> bool:
        """Whether JSON answers have it at an instant, with some switches on."""
        begun = self.since is None or self.since <= at
        return begun and (self.until is None or at < self.until or self.kept_by in switches)


@cache
def fields_of(cls: type[Message]) -> tuple[Field, ...]:
    """Return the fields of a message, in the order of its proto file."""
    return tuple(
        _field(attribute, row)
        for attribute, row in zip(cls.__struct_fields__, cls.__wire__, strict=True)
    )


def _field(
    attribute: str, row: tuple[int, str, str, str, str, str, tuple[tuple[str, int | str], ...]]
) -> Field:
    number, name, json_name, kind, label, type_name, pairs = row
    rules = dict(pairs)
    role, _, detail = label.partition(":")
    since, until = rules.get("since"), rules.get("until")
    return Field(
        attribute=attribute,
        number=number,
        name=name,
        json_name=json_name,
        kind=kind,
        repeated=role == "repeated",
        key_kind=detail if role == "map" else "",
        oneof=detail if role == "oneof" else "",
        presence=role in ("optional", "oneof"),
        type_name=type_name,
        since=since if isinstance(since, int) else None,
        until=until if isinstance(until, int) else None,
        omit_empty=bool(rules.get("omit_empty")),
        as_number=bool(rules.get("number")),
        vendor_json=str(rules.get("vendor_json", "")),
        bare_enum=str(rules.get("bare_enum", "")),
        other_prefix=str(rules.get("other_prefix", "")),
        secret=bool(rules.get("secret")),
        kept_by=str(rules.get("kept_by", "")),
        text_by=str(rules.get("text_by", "")),
        address=bool(rules.get("address")),
        required=bool(rules.get("required")),
    )


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
    spelled = {one.name: under + (one.json_name if json else one.name) for one in fields_of(cls)}
    needs = []
    for field in fields_of(cls):
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
    whole, fraction = divmod(abs(span), NS_PER_S)
    digits = f"{fraction:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{'-' if span < 0 else ''}{whole}{'.' + digits if digits else ''}s"
