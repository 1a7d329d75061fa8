"""Filters over rows: `where_clause` text and structured field filters, compiled to one predicate
(§4.3, rule R9).

    state = 'OPEN' AND symbol LIKE 'aec-%' AND price >= 45 AND account IN ('a', 'b')

The caller provides the columns: a mapping of names to `Column`s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import parse_instant
from sim.messages.exchange_v1 import FieldFilter, FilterOperator

if TYPE_CHECKING:
    from lark import Lark

R = TypeVar("R")
Value: TypeAlias = str | int
_Op = FilterOperator

CLAUSE_MAX = 4096

_GRAMMAR = r"""
    start: comparison (_AND comparison)*
    comparison: NAME OPERATOR value         -> compare
              | NAME _LIKE value            -> like
              | NAME _IN list               -> contained
              | NAME _NOT _IN list          -> excluded
    list: "(" value ("," value)* ")"
    value: STRING | NUMBER
    _AND: /AND(?![A-Za-z0-9_])/i
    _LIKE: /LIKE(?![A-Za-z0-9_])/i
    _IN: /IN(?![A-Za-z0-9_])/i
    _NOT: /NOT(?![A-Za-z0-9_])/i
    NAME: /(?!(?:AND|LIKE|IN|NOT)(?![A-Za-z0-9_]))[A-Za-z_][A-Za-z0-9_.]*/i
    OPERATOR: "!=" | "<>" | ">=" | "<=" | "=" | ">" | "<"
    STRING: /'(?:[^']|'')*'/ | /"(?:[^"]|"")*"/
    NUMBER: /-?\d+(\.\d+)?/
    %ignore /\s+/
"""
_OPERATORS = {
    "=": _Op(1),
    "!=": _Op(2),
    "<>": _Op(2),
    "<": _Op(3),
    "<=": _Op(4),
    ">": _Op(5),
    ">=": _Op(6),
}


class Condition(NamedTuple):
    """One comparison as it was asked for."""

    column: str
    operator: FilterOperator
    values: tuple[str, ...]


class Column(NamedTuple, Generic[R]):
    """How a column reads: `of` gives a row's value, `parse` the value that a text stands for
    (ValueError when it cannot).
    """

    of: Callable[[R], Value]
    parse: Callable[[str], Value]


def text(of: Callable[[R], str]) -> Column[R]:
    """A column of texts, compared as they are."""
    return Column(of, str)


def number(of: Callable[[R], int]) -> Column[R]:
    """A column of integers."""
    return Column(of, int)


def moment(of: Callable[[R], int]) -> Column[R]:
    """A column of instants, asked for as RFC 3339 text."""
    return Column(of, parse_instant)


def member(enum: type[IntEnum], prefix: str, of: Callable[[R], int]) -> Column[R]:
    """Return a column of enum numbers; a value is a member, with or without prefix, or a number."""

    def parse(given: str) -> int:
        name = given.upper()
        found = enum.__members__.get(name if name.startswith(prefix) else prefix + name)
        return int(found) if found is not None else int(given)

    return Column(of, parse)


# ---- reading


def parse_clause(clause: str) -> list[Condition]:
    """Conditions of a where_clause; none for empty text."""
    if not clause.strip():
        return []
    if len(clause) > CLAUSE_MAX:
        raise _malformed(f"longer than {CLAUSE_MAX} characters")
    from lark.exceptions import UnexpectedInput

    try:
        tree: Any = _parser().parse(clause)
    except UnexpectedInput as wrong:
        raise _malformed(f"cannot be read from column {wrong.column} on") from None
    return [_condition(comparison) for comparison in tree.children]


def field_conditions(filters: Sequence[FieldFilter], allowed: Sequence[str]) -> list[Condition]:
    """Conditions of structured filters. Only some columns may be filtered this way (§4.3)."""
    found = []
    for one in filters:
        if one.field not in allowed:
            raise InvalidRequest(
                "field not allowed",
                rule="R9",
                remedy="field_filter takes " + ", ".join(allowed) + "; where_clause takes more",
            )
        if one.operator not in FilterOperator.__members__.values() or not one.operator:
            raise InvalidRequest(f"field_filter {one.field}: operator is required", rule="R9")
        operator = FilterOperator(one.operator)
        listed = operator in (_Op.FILTER_OPERATOR_IN, _Op.FILTER_OPERATOR_NOT_IN)
        found.append(
            Condition(
                one.field,
                operator,
                tuple(one.string_list.values) if listed and one.string_list else (_single(one),),
            )
        )
    return found


def values_of(conditions: Sequence[Condition], column: str) -> tuple[str, ...] | None:
    """The values that equality or IN leaves for a column; None when it is not narrowed."""
    for condition in conditions:
        if condition.column == column and condition.operator in (
            _Op.FILTER_OPERATOR_EQ,
            _Op.FILTER_OPERATOR_IN,
        ):
            return condition.values
    return None


def predicate(
    conditions: Sequence[Condition], columns: Mapping[str, Column[R]]
) -> Callable[[R], bool]:
    """Return the test for every condition. Refuses unknown columns and unfit values."""
    tests = [_test(condition, columns) for condition in conditions]
    return lambda row: all(test(row) for test in tests)


# ---- the inside


def _test(condition: Condition, columns: Mapping[str, Column[R]]) -> Callable[[R], bool]:
    column = columns.get(condition.column)
    if column is None:
        raise InvalidRequest(
            f"unknown column {condition.column[:40]!r}",
            rule="R9",
            remedy="columns: " + ", ".join(columns),
        )
    of = column.of
    operator = condition.operator
    if operator is _Op.FILTER_OPERATOR_LIKE:
        like = _like(condition.values[0])
        return lambda row: like.fullmatch(str(of(row))) is not None
    try:
        values = tuple(column.parse(value) for value in condition.values)
    except ValueError:
        raise InvalidRequest(
            f"{condition.column}: {condition.values[0][:40]!r} is no value of this column",
            rule="R9",
        ) from None
    if operator is _Op.FILTER_OPERATOR_IN:
        return lambda row: of(row) in values
    if operator is _Op.FILTER_OPERATOR_NOT_IN:
        return lambda row: of(row) not in values
    return _comparison(operator, of, values[0])


def _comparison(
    operator: FilterOperator, of: Callable[[R], Any], value: Any
) -> Callable[[R], bool]:
    tests: dict[FilterOperator, Callable[[R], bool]] = {
        _Op.FILTER_OPERATOR_EQ: lambda row: bool(of(row) == value),
        _Op.FILTER_OPERATOR_NE: lambda row: bool(of(row) != value),
        _Op.FILTER_OPERATOR_LT: lambda row: bool(of(row) < value),
        _Op.FILTER_OPERATOR_LE: lambda row: bool(of(row) <= value),
        _Op.FILTER_OPERATOR_GT: lambda row: bool(of(row) > value),
        _Op.FILTER_OPERATOR_GE: lambda row: bool(of(row) >= value),
    }
    return tests[operator]


@lru_cache(maxsize=256)
def _like(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("%")), re.DOTALL)


def _single(given: FieldFilter) -> str:
    if given.string_value:
        return given.string_value
    if given.double_value:
        return repr(given.double_value).removesuffix(".0")
    return str(given.int_value) if given.int_value else ""


def _condition(tree: Any) -> Condition:
    column, *rest = tree.children
    if tree.data == "compare":
        operator, value = rest
        return Condition(str(column), _OPERATORS[str(operator)], (_plain(value),))
    if tree.data == "like":
        return Condition(str(column), _Op.FILTER_OPERATOR_LIKE, (_plain(rest[0]),))
    kind = _Op.FILTER_OPERATOR_IN if tree.data == "contained" else _Op.FILTER_OPERATOR_NOT_IN
    return Condition(str(column), kind, tuple(_plain(value) for value in rest[0].children))


def _plain(value: Any) -> str:
    token = str(value.children[0])
    if token[0] in "'\"":
        return token[1:-1].replace(token[0] * 2, token[0])
    return token


def _malformed(why: str) -> InvalidRequest:
    return InvalidRequest(
        f"where_clause: {why}",
        rule="R9",
        remedy="write column = 'value', joined by AND; operators = != < <= > >= LIKE IN",
    )


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", cache=False)
