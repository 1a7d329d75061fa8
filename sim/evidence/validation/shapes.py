"""Checks JSON against a message of the contract: whether our own encoder could have written it.

The rules are those of `sim/api/codecs/json_writer.py`, read from the same fields: which names exist
at an instant, which are always written, which may be null, how each kind of value is written. A
shape is compiled once per message and dialect. A value that fits costs one look-up per field.

In the JSON form of gRPC messages no field is mandatory, and switches and dates do not apply.
Fingerprints of secrets stand for any text.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sim.api.codecs.codecs import Dialect
from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import (
    INTEGER_RANGES,
    LONG_INTEGERS,
    SCALARS,
    Field,
    always_written,
    fields_of,
    read_duration,
    read_moment,
    write_duration,
)
from sim.evidence.validation.difference import ABSENT, SECRET, Kind, Misfit
from sim.kernel.instants import format_instant

Found: TypeAlias = list[Misfit]
Check: TypeAlias = Callable[[Any], "Found | None"]

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class Member(Struct, frozen=True):
    """One field of a message. `check` reads its value if that is neither null nor empty."""

    check: Check
    null: bool  # whether null is written
    empty: bool  # whether an empty value is written
    expected: str  # the expected value in words


class Shape(Struct):
    """A message's fields by JSON name.

    `gone` holds those of other dates, with the switch that keeps them; `always` those that
    are always written.
    """

    members: dict[str, Member] = {}
    gone: dict[str, str] = {}
    always: tuple[tuple[str, str, str], ...] = ()  # name, its other spelling, what keeps it

    def check(self, value: Any) -> Found | None:
        """Return what does not fit; None if everything does."""
        if type(value) is not dict:
            return _misfit(value, "an object", "type")
        misfits: Found = []
        members = self.members
        for name, inner in value.items():
            member = members.get(name)
            if member is None:
                misfits.append(self._unknown(name, inner))
            elif inner is None:
                if not member.null:
                    misfits.append(Misfit(name, None, ABSENT, "null"))
            elif not member.empty and not inner and type(inner) is not dict:
                misfits.append(Misfit(name, inner, ABSENT, "null"))
            elif wrong := member.check(inner):
                misfits += [misfit.under(name) for misfit in wrong]
        for name, other, switch in self.always:
            if name not in value and other not in value:
                expected = members[name].expected
                misfits.append(Misfit(name, ABSENT, expected, "missing name", switch))
        return misfits or None

    def _unknown(self, name: str, value: Any) -> Misfit:
        switch = self.gone.get(name)
        kind: Kind = "unknown name" if switch is None else "date"
        return Misfit(name, value, ABSENT, kind, switch or "")


def shape_of(cls: type[Message], dialect: Dialect | None) -> Shape:
    """Return the shape of a message; without a dialect, that of the JSON form in gRPC."""
    return _shapes(dialect).of(cls)


@lru_cache(maxsize=256)
def _shapes(dialect: Dialect | None) -> _Shapes:
    return _Shapes(dialect)


class _Shapes:
    """Compiles the shapes of one dialect."""

    def __init__(self, dialect: Dialect | None) -> None:
        self._dialect = dialect
        self._switches = dialect.switches if dialect else frozenset[str]()
        self._known: dict[type[Message], Shape] = {}

    def of(self, cls: type[Message]) -> Shape:
        shape = self._known.get(cls)
        if shape is None:
            # Registered before it is filled, because a message may contain itself.
            shape = self._known[cls] = Shape({}, {})
            self._fill(shape, cls)
        return shape

    def _fill(self, shape: Shape, cls: type[Message]) -> None:
        always: list[tuple[str, str, str]] = []
        dialect = self._dialect
        for field in fields_of(cls):
            # A service writes its own prefix, and we write a neutral one by default. Both are
            # known.
            other = field.vendor_json or field.json_name
            names = {field.json_name, other}
            if dialect is not None and not field.active(dialect.since, self._switches):
                shape.gone.update(dict.fromkeys(names, field.kept_by))
                continue
            written = dialect is not None and always_written(cls, field, self._switches)
            check, digits = self._value(field), DIGITS.get((cls.__name__, field.json_name))
            if digits is not None and cls.__module__.endswith(("retail_v1", "gateway_v1")):
                check = _with_digits(check, digits)
            member = Member(
                check=check,
                null=(written or bool(field.omit_by)) and field.nullable,
                empty=written or field.presence or dialect is None or bool(field.omit_by),
                expected=self._words(field),
            )
            shape.members.update(dict.fromkeys(names, member))
            if written:
                kept = dialect is not None and not field.active(dialect.since)
                always.append((field.json_name, other, field.kept_by if kept else field.omit_by))
        shape.always = tuple(always)

    # ---- values

    def _value(self, field: Field) -> Check:
        element = self._element(field)
        if field.key_kind:
            return lambda value: _each(element, value, dict)
        if field.repeated:
            return lambda value: _each(element, value, list)
        return element

    def _element(self, field: Field) -> Check:
        if field.kind == "message":
            return self.of(find_message(field.type_name)).check
        if field.kind == "enum":
            return self._enum(field)
        if self._dialect is not None and field.text_by:
            as_text = field.text_by in self._switches
            return _text_or_number(field.text_by, as_text=as_text, integer=field.kind != "double")
        if field.kind in INTEGER_RANGES:
            span = INTEGER_RANGES[field.kind]
            number = field.as_number and self._dialect is not None
            if field.kind in LONG_INTEGERS and not number:
                integer = _written_as(partial(_quoted_integer, *span), _WORDS["int64"])
                return _or_with_half(integer) if field.halves else integer
            return partial(_integer, *span)
        return _CHECKS[field.kind]

    def _enum(self, field: Field) -> Check:
        members: Any = find(field.type_name)
        bare = field.bare_enum if self._dialect is not None else ""
        names = frozenset(member.name.removeprefix(bare) for member in members)
        expected = f"one of {', '.join(sorted(names))}"

        def check(value: Any) -> Found | None:
            if type(value) is str and value in names:
                return None
            return _misfit(value, expected, "enum" if type(value) is str else "type")

        return check

    def _words(self, field: Field) -> str:
        if field.key_kind:
            return "an object"
        if field.repeated:
            return "a list"
        null = "" if field.kind in SCALARS else " or null"
        return _WORDS.get(field.kind, "a whole number") + null


_WORDS = {
    "message": "an object",
    "struct": "an object",
    "value": "a value",
    "list_value": "a list",
    "enum": "a name of its enumeration",
    "string": "text",
    "bool": "true or false",
    "double": "a number",
    "bytes": "base64",
    "timestamp": "an RFC 3339 instant in UTC",
    "duration": 'a duration ("1.5s")',
    "int64": "a whole number as text",
    "uint64": "a whole number as text",
}


def _misfit(value: Any, expected: str, kind: Kind, switch: str = "") -> Found:
    return [Misfit("", value, expected, kind, switch)]


def _with_digits(check: Check, digits: Digits) -> Check:
    """Return a check that also requires the number of decimals seen in recordings, of a decimal or
    of the value of an amount object.
    """

    def checked(value: Any) -> Found | None:
        if misfits := check(value):
            return misfits
        where, text = ("value", value.get("value")) if isinstance(value, dict) else ("", value)
        if not isinstance(text, str) or not text or text.startswith(SECRET):
            return None
        if digits.pattern.fullmatch(text):
            return None
        words = "no zero in front" if _LEADING_ZERO.match(text) else digits.words
        return [Misfit(where, text, words, "format")]

    return checked


def _each(element: Check, values: Any, kind: Any) -> Found | None:
    """Check the elements of a list or of an object."""
    if not isinstance(values, kind):
        return _misfit(values, "a list" if kind is list else "an object", "type")
    misfits: Found = []
    for number, key in enumerate(values):
        if wrong := element(values[key] if kind is dict else key):
            path = key if kind is dict else f"[{number}]"
            misfits += [misfit.under(path) for misfit in wrong]
    return misfits or None


def _integer(lowest: int, highest: int, value: Any) -> Found | None:
    if type(value) is not int:
        return _misfit(value, "a whole number", "format" if isinstance(value, Decimal) else "type")
    if lowest <= value <= highest:
        return None
    return _misfit(value, f"a number from {lowest} to {highest}", "format")


def _quoted_integer(lowest: int, highest: int, text: str) -> str:
    """Return the text of a whole number, or the range that it is beyond. ValueError for others."""
    if not _INTEGER.fullmatch(text):
        raise ValueError
    return text if lowest <= int(text) <= highest else f"a number from {lowest} to {highest}"


def _or_with_half(check: Check) -> Check:
    """Return the check of a whole number as text, or of one and a half."""
    return lambda value: check(value.removesuffix(".5") if isinstance(value, str) else value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal | float) and type(value) is not bool


def _text_or_number(switch: str, *, as_text: bool, integer: bool) -> Check:
    """Return the check of a number that a switch turns into text.

    The other spelling names the switch.
    """
    pattern, words = (_INTEGER if integer else _DECIMAL), "a number as text"

    def check(value: Any) -> Found | None:
        text = isinstance(value, str)
        decimal = text and _DECIMAL.fullmatch(value)
        if text and pattern.fullmatch(value) if as_text else _is_number(value):
            return None
        other = not text if as_text else decimal
        return _misfit(value, words if as_text else "a number", "type", switch if other else "")

    return check


def _of_type(kind: type, expected: str) -> Check:
    return lambda value: None if type(value) is kind else _misfit(value, expected, "type")


def _double(value: Any) -> Found | None:
    if _is_number(value) or value in ("NaN", "Infinity", "-Infinity"):
        return None
    return _misfit(value, "a number", "type")


def _base64(text: str) -> str:
    a2b_base64(text, strict_mode=True)
    return text


@lru_cache(maxsize=8192)
def _moment(text: str) -> str:
    return format_instant(read_moment(text))


@lru_cache(maxsize=1024)
def _span(text: str) -> str:
    return write_duration(read_duration(text))


def _written_as(write: Callable[[str], str], expected: str) -> Check:
    """Return the check of a text that `write` reads and writes again; ValueError if it cannot."""

    def check(value: Any) -> Found | None:
        if type(value) is not str:
            return _misfit(value, expected, "type")
        try:
            canonical = write(value)
        except ValueError:
            return None if value.startswith(SECRET) else _misfit(value, expected, "format")
        return None if canonical == value else _misfit(value, canonical, "format")

    return check


_CHECKS: dict[str, Check] = {
    "string": _of_type(str, "text"),
    "bool": _of_type(bool, "true or false"),
    "double": _double,
    "bytes": _written_as(_base64, "base64"),
    "timestamp": _written_as(_moment, _WORDS["timestamp"]),
    "duration": _written_as(_span, _WORDS["duration"]),
    "struct": _of_type(dict, "an object"),
    "value": lambda value: None,
    "list_value": _of_type(list, "a list"),
}


class Digits(NamedTuple):
    """The form of a decimal, as a pattern and in words."""

    pattern: re.Pattern[str]
    words: str


FOUR = Digits(re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{4}"), "four decimals")
CENTS = Digits(re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{2,}"), "at least two decimals")
PLAIN = Digits(re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?"), "no zeros at the end")
EITHER = Digits(
    re.compile(f"{FOUR.pattern.pattern}|{PLAIN.pattern.pattern}"),
    "four decimals or no zeros at the end",
)
_LEADING_ZERO = re.compile(r"-?0[0-9]")
_FIELDS = (
    ("BookLevel", FOUR, "px qty"),
    ("MarketStats", FOUR, "openPx closePx lowPx highPx lastTradePx indicativeOpenPx settlementPx"),
    ("MarketStats", FOUR, "currentPx sharesTraded lastTradeQty openInterest"),
    ("MarketStats", CENTS, "notionalTraded"),
    ("PriceSample", FOUR, "longPrice shortPrice"),
    ("MarketLite", FOUR, "currentPx lastTradePx settlementPx bestBid bestAsk longQuote"),
    ("MarketLite", FOUR, "sharesTraded openInterest"),
    ("MarketLite", PLAIN, "shortQuote"),
    ("Order", FOUR, "avgPx cashOrderQty commissionNotionalTotalCollected"),
    ("Execution", CENTS, "lastPx"),
    ("Execution", FOUR, "commissionNotionalCollected commissionSpreadPx"),
    ("UserPosition", FOUR, "cost realized avgPx fees baseCost netPositionDecimal"),
    ("UserPosition", EITHER, "cashValue"),
    ("UserPosition", FOUR, "qtyBoughtDecimal qtySoldDecimal bodPositionDecimal"),
    ("UserPosition", FOUR, "qtyAvailableDecimal"),
    ("TradeActivity", CENTS, "price costBasis realizedPnl"),
    ("TradeActivity", PLAIN, "cost"),
    ("BalanceTransaction", PLAIN, "amount"),
    ("AccountBalanceChange", PLAIN, "amount"),
)
DIGITS = {(message, name): digits for message, digits, names in _FIELDS for name in names.split()}
