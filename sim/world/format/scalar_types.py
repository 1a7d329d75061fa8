"""Scalars of a scenario: names, decimals, counts, durations, instants.

Each has a parser, and corrections of common mistakes (a comma, no unit, no offset). If a correction
makes the text valid, the message suggests it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from sim.core.catalogue.bounds import COUNT as COUNTS
from sim.core.catalogue.bounds import INDEX_PRICE, MONEY, YEAR, Bound, OutOfBounds
from sim.core.catalogue.bounds import NAME as NAME_LENGTH
from sim.core.catalogue.quirks import parse_chance
from sim.core.model.quantities import CASH_SCALE, NotADecimal, scaled
from sim.kernel.instants import (
    Instant,
    Span,
    format_instant,
    format_span,
    parse_instant,
    parse_span,
)
from sim.world.format.value_types import Schema, Text


def _decimal(text: str) -> str:
    scaled(text, 10**18)  # raises an error for anything but a plain decimal
    return text


def _positive_decimal(text: str) -> str:
    if scaled(text, 10**18) <= 0:
        raise NotADecimal(f"{text} is not above zero")
    return text


def _amount(text: str) -> str:
    if scaled(text, 10**18) < 0:
        raise NotADecimal(f"{text} is below zero")
    return text


def _integer(text: str, digits: int = 18) -> int:
    if not re.fullmatch(rf"-?[0-9]{{1,{digits}}}", text, re.ASCII):
        raise ValueError(f"not an integer: {text[:40]!r}")
    return int(text)


def _integer_from(least: int, in_words: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _integer(text)
        if number < least:
            raise ValueError(f"{number} is below {in_words}")
        return COUNTS.check(number)

    return parse


def _name(text: str) -> str:
    if not NAME_LENGTH.low <= len(text) <= NAME_LENGTH.high:
        raise OutOfBounds(f"{NAME_LENGTH.text()}, not {len(text)}")
    if not all(letter.isprintable() for letter in text):
        raise ValueError(f"a name is one line of printable characters, not {text[:40]!r}")
    return text


def _dollars(bound: Bound) -> Callable[[str], str]:
    def parse(text: str) -> str:
        bound.check(scaled(text, CASH_SCALE), CASH_SCALE)
        return text

    return parse


def _index_price(text: str) -> str:
    return _positive_decimal(_dollars(INDEX_PRICE)(text))


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"write true or false, not {text[:40]!r}")
    return text == "true"


def _span(text: str) -> Span:
    span = parse_span(text)
    if span < 0:
        raise ValueError("a negative duration")
    return span


def _dated(text: str) -> Instant:
    """An instant from which the world derives other instants."""
    at = parse_instant(text)
    YEAR.check(int(text[:4]))
    return at


def _world_moment(text: str) -> Instant | str:
    return _moment(text) if text.startswith("+") else _dated(text)


def _date(text: str) -> str:
    if date.fromisoformat(text).isoformat() != text:
        raise ValueError(f"write YYYY-MM-DD, not {text[:40]!r}")
    YEAR.check(int(text[:4]))
    return text


def _moment(text: str) -> Instant | str:
    if text.startswith("+"):
        if text[1:2] in ("+", "-"):
            raise ValueError(f"not a duration: {text[:40]!r}")
        return "+" + format_span(_span(text[1:]))
    return parse_instant(text)


def _format_moment(value: Instant | str) -> str:
    return value if isinstance(value, str) else format_instant(value)


_DECIMAL_SCHEMA: Schema = {"type": ["string", "number"], "pattern": r"^[+-]?\d+(\.\d+)?$"}
_INTEGER_SCHEMA: Schema = {"type": ["integer", "string"], "pattern": r"^-?\d+$"}
_SPAN_SCHEMA: Schema = {"type": "string", "examples": ["30s", "5m", "1h30m", "PT5M"]}
_INSTANT_SCHEMA: Schema = {
    "type": "string",
    "examples": ["2026-09-08T14:00:00-04:00", "2026-09-08"],
}

_UNITS = re.compile(r"\s*([0-9]+)\s*(s|m|h|d)[a-z]*\s*", re.ASCII | re.IGNORECASE)


def _with_unit(text: str) -> str:
    """A duration with a one-letter unit, seconds if it has none: "5 minutes", "5"."""
    match = _UNITS.fullmatch(text)
    return f"{match[1]}{match[2].lower()}" if match else f"{text}s"


def _with_offset(text: str) -> str:
    """An instant without an offset or seconds, read as UTC: "2026-09-08 18:00"."""
    text_of_instant = text.strip().replace(" ", "T", 1)
    return (text_of_instant if text_of_instant.count(":") == 2 else f"{text_of_instant}:00") + "Z"


_UNIT_OF_MONEY = re.compile(r"\s*(\$|USD|dollars?|contracts?)\s*", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)


def _plain_decimal(text: str) -> str:
    """A decimal without unit and thousands separators, with a point: "$1,000", "0,45"."""
    number = _UNIT_OF_MONEY.sub("", text)
    return number.replace(",", "" if _THOUSANDS.fullmatch(number) else ".")


_SPAN_SLIPS, _INSTANT_SLIPS, _DECIMAL_SLIPS = (_with_unit,), (_with_offset,), (_plain_decimal,)
_MOMENT_SLIPS = (
    lambda text: f"+{text.lstrip('+')}",
    lambda text: f"+{_with_unit(text.lstrip('+'))}",
    _with_offset,
)
STRING = Text()
NAME = Text("a name", _name, schema={"type": "string", "minLength": 1, "maxLength": 200})
MONEY_TEXT = Text("dollars, zero or more", _dollars(MONEY), schema=_DECIMAL_SCHEMA)
INDEX_PRICE_TEXT = Text("a price above zero", _index_price, schema=_DECIMAL_SCHEMA)
DECIMAL = Text('a decimal such as "0.45"', _decimal, schema=_DECIMAL_SCHEMA, meant=_DECIMAL_SLIPS)
POSITIVE = Text("a decimal above zero", _positive_decimal, str, _DECIMAL_SCHEMA, _DECIMAL_SLIPS)
AMOUNT = Text("a decimal from zero", _amount, schema=_DECIMAL_SCHEMA, meant=_DECIMAL_SLIPS)
INTEGER = Text("an integer", _integer, schema=_INTEGER_SCHEMA)
COUNT = Text(
    "a whole number from 0", _integer_from(0, "zero"), schema=_INTEGER_SCHEMA | {"minimum": 0}
)
ORDINAL = Text("a number from 1", _integer_from(1, "one"), schema=_INTEGER_SCHEMA | {"minimum": 1})
BOOLEAN = Text("true or false", _boolean, schema={"type": "boolean"})
INSTANT = Text(
    "an instant such as 2026-09-08T14:00:00-04:00",
    parse_instant,
    format_instant,
    _INSTANT_SCHEMA,
    _INSTANT_SLIPS,
)
WORLD_INSTANT = Text(INSTANT.expected, _dated, format_instant, _INSTANT_SCHEMA, _INSTANT_SLIPS)
DATE = Text("a date such as 2026-09-08", _date, schema={"type": "string", "format": "date"})
SPAN = Text('a duration such as "60s"', _span, format_span, _SPAN_SCHEMA, _SPAN_SLIPS)
CHANCE = Text(
    "a chance",
    lambda text: str(parse_chance(text)),
    schema={
        "type": ["string", "boolean", "number"],
        "examples": ["always", "never", "2/3", "0.25"],
    },
)
_MOMENT_SCHEMA: Schema = {"type": "string", "examples": ["+30s", "2026-09-08T14:00:30-04:00"]}


MOMENT = Text(
    'an instant, or "+30s" after the previous step',
    _moment,
    _format_moment,
    _MOMENT_SCHEMA,
    _MOMENT_SLIPS,
)
WORLD_MOMENT = Text(
    'an instant, or "+30m" from now', _world_moment, _format_moment, _MOMENT_SCHEMA, _MOMENT_SLIPS
)
SINCE_START = Text(
    'an instant, or "+30s" after the start', _moment, _format_moment, _MOMENT_SCHEMA, _MOMENT_SLIPS
)


def form(expected: str, regex: re.Pattern[str], hint: str, *examples: str) -> Text:
    """Text that matches a regular expression; `hint` says what to write."""

    def parse(text: str) -> str:
        if not regex.fullmatch(text):
            raise ValueError(f"{hint}, not {text[:70]!r}")
        return text

    schema: Schema = {"type": "string", "pattern": f"^({regex.pattern})$"}
    return Text(expected, parse, schema=schema | ({"examples": [*examples]} if examples else {}))


def bounded_count(expected: str, bound: Bound) -> Text:
    """An integer within a bound."""
    edges = {"minimum": bound.low, "maximum": bound.high}
    digits = max(18, len(str(bound.high)))
    return Text(
        expected, lambda text: bound.check(_integer(text, digits)), schema=_INTEGER_SCHEMA | edges
    )


def span_within(expected: str, low: Span, high: Span, bounds: str, *examples: str) -> Text:
    """A duration between two bounds, which `bounds` describes."""

    def parse(text: str) -> Span:
        span = parse_span(text)
        if not low <= span <= high:
            raise ValueError(bounds)
        return span

    return Text(expected, parse, format_span, {"type": "string", "examples": [*examples]})
