"""Value types of scalars: each reads a node of a scenario into a typed value, writes the value back
as plain JSON, and describes itself as JSON schema.

The format itself is the Structs of `scenario.py`, `world_entries.py` and `steps.py`;
`struct_types.py` reads those, and the collections. Reading goes on after a problem, so that one run
of `sim check` reports all of them: `read` adds each problem with its position to a list and returns
`INVALID`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Values
from datetime import date
from enum import IntEnum
from typing import Any, TypeAlias

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
from sim.scenario.suggestions import suggestion
from sim.scenario.yaml_tree import Mapping, Node, Position, Problem, Scalar, problem

INVALID: Any = object()
# Reading goes on after a problem, but nobody reads more than this many: the work that a problem
# costs, a search for the nearest name above all, is bounded.
PROBLEMS_MAX = 100
_SUGGESTIONS_MAX = 20  # the nearest name is looked for only while there are fewer problems
_DIGITS, _NUMBER = 18, re.compile(r"[-+]?[0-9]+(\.[0-9]+)?", re.ASCII)
Schema: TypeAlias = dict[str, Any]


class ValueType(ABC):
    """A type of value. `expected` names it in a message about a value that is not of this type."""

    expected = "a value"

    @abstractmethod
    def read(self, node: Node, problems: list[Problem]) -> Any:
        """The typed value of a node, or INVALID after adding what is wrong to `problems`."""

    def write(self, value: Any) -> Any:
        """Plain JSON that `read` takes back."""
        return value

    @abstractmethod
    def schema(self) -> Schema:
        """JSON schema of what a file may hold here."""


def report(node: Node, message: str, problems: list[Problem]) -> Any:
    """Add a problem at a node; return INVALID."""
    add_problem(node.at, message, problems)
    return INVALID


def add_problem(at: Position, message: str, problems: list[Problem]) -> None:
    """Add a problem. In place of the one after `PROBLEMS_MAX` the list says that there are more."""
    if len(problems) < PROBLEMS_MAX:
        problems.append(problem(at, message))
    elif len(problems) == PROBLEMS_MAX:
        problems.append(problem(at, f"more than {PROBLEMS_MAX} problems: the rest is not listed"))


def quoted(node: Node) -> str:
    """A node as a message shows it: its text, or what kind of collection it is."""
    if isinstance(node, Scalar):
        return repr(node.text[:80])
    return "a mapping" if isinstance(node, Mapping) else "a list"


class Text(ValueType):
    """Text that `parse` reads; a ValueError from it is the problem. `back` is its inverse."""

    def __init__(
        self,
        expected: str = "text",
        parse: Callable[[str], Any] = str,
        back: Callable[[Any], Any] = lambda value: value,
        schema: Schema | None = None,
        meant: Sequence[Callable[[str], str]] = (),
    ) -> None:
        self.expected = expected
        self._meant = meant
        self._parse = parse
        self._back = back
        self._schema: Schema = schema or {"type": "string"}

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return report(node, f"expected {self.expected}, not {quoted(node)}", problems)
        try:
            return self._parse(node.text)
        except ValueError as error:
            message = self._message(node.text, str(error))
            return report(node, f"{message}{self.suggestion(node.text)}", problems)

    def _message(self, text: str, said: str) -> str:
        """What is wrong, once: many errors say again what is expected, or quote the text."""
        wrong = f"not {text[:80]!r}"
        if ": from " in said:
            return f"{said}, {wrong}"  # an edge of a bound
        if said.startswith(self.expected):
            return said
        if said.startswith("write ") and wrong in said:
            return f"expected {self.expected}: {said}"
        if len(text) > _DIGITS and said.startswith("not ") and _NUMBER.fullmatch(text):
            return f"expected {self.expected}, in at most {_DIGITS} digits, {wrong}"
        reason = said.removeprefix(text).removeprefix(" is ").removeprefix("not ")
        if (
            said.startswith(("not ", "a negative ", "Invalid ", "Month "))
            or reason in self.expected
        ):
            return f"expected {self.expected}, {wrong}"
        return f"expected {self.expected}: {said}"

    def suggestion(self, text: str) -> str:
        """`, did you mean 'x'?` where one of the usual slips makes the text right."""
        for slip in self._meant:
            try:
                self._parse(meant := slip(text))
            except ValueError:
                continue
            return f", did you mean {meant!r}?"
        return ""

    def write(self, value: Any) -> Any:
        return self._back(value)

    def schema(self) -> Schema:
        return self._schema


def _decimal(text: str) -> str:
    scaled(text, 10**18)  # refuses what is no plain decimal
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
    """An instant from which the world derives others."""
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
            raise ValueError(f"not a distance: {text[:40]!r}")
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
    """A duration with its unit as one letter, seconds if it has none: "5 minutes", "5"."""
    match = _UNITS.fullmatch(text)
    return f"{match[1]}{match[2].lower()}" if match else f"{text}s"


def _with_offset(text: str) -> str:
    """An instant without offset or seconds in UTC: "2026-09-08 18:00"."""
    whole = text.strip().replace(" ", "T", 1)
    return (whole if whole.count(":") == 2 else f"{whole}:00") + "Z"


_UNIT_OF_MONEY = re.compile(r"\s*(\$|USD|dollars?|contracts?)\s*", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)


def _plain_decimal(text: str) -> str:
    """A decimal without a unit, thousands and a comma for its point: "$1,000", "0,45"."""
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
    'an instant, or "+30s" after the step before',
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
    """Text of the form that a regular expression describes; `hint` says what to write."""

    def parse(text: str) -> str:
        if not regex.fullmatch(text):
            raise ValueError(f"{hint}, not {text[:70]!r}")
        return text

    schema: Schema = {"type": "string", "pattern": f"^({regex.pattern})$"}
    return Text(expected, parse, schema=schema | ({"examples": [*examples]} if examples else {}))


def bounded_count(expected: str, bound: Bound) -> Text:
    """An integer between the edges of a bound."""
    edges = {"minimum": bound.low, "maximum": bound.high}
    digits = max(18, len(str(bound.high)))
    return Text(
        expected, lambda text: bound.check(_integer(text, digits)), schema=_INTEGER_SCHEMA | edges
    )


def span_within(expected: str, low: Span, high: Span, bounds: str, *examples: str) -> Text:
    """A duration between two bounds, which `bounds` says in words."""

    def parse(text: str) -> Span:
        span = parse_span(text)
        if not low <= span <= high:
            raise ValueError(bounds)
        return span

    return Text(expected, parse, format_span, {"type": "string", "examples": [*examples]})


def wants_suggestion(problems: list[Problem]) -> bool:
    """Whether one more search for a nearest name is worth its work."""
    return len(problems) < _SUGGESTIONS_MAX


class Choice(ValueType):
    """One of a few words; a mapping gives each word its value.

    Case does not matter, nor does the `prefix` that the wire puts before the word.
    """

    def __init__(self, words: Values[str, Any] | Iterable[str], prefix: str = "") -> None:
        values = words if isinstance(words, Values) else {word: word for word in words}
        self._prefix = prefix.lower()
        self._values = {word.lower(): value for word, value in values.items()}
        self._spellings = list(values)
        self._names: dict[Any, str] = {}
        for word, value in values.items():
            self._names.setdefault(value, word)
        self.expected = "one of " + ", ".join(self._names.values())

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return report(node, f"expected {self.expected}, not {quoted(node)}", problems)
        word = node.text.lower().removeprefix(self._prefix)
        if word not in self._values:
            near = suggestion(word, self._spellings) if wants_suggestion(problems) else ""
            return report(node, f"expected {self.expected}, not {quoted(node)}{near}", problems)
        return self._values[word]

    def write(self, value: Any) -> Any:
        return self._names[value]

    def schema(self) -> Schema:
        names = list(self._names.values())
        # Editors compare case, so both usual spellings are listed.
        return {"enum": list(dict.fromkeys((*names, *(name.lower() for name in names))))}


def choice_of(enumeration: type[IntEnum], prefix: str = "") -> Choice:
    """The names of an enumeration's members as words."""
    return Choice({member.name: member for member in enumeration}, prefix)
