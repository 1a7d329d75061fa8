"""Filters over rows: where clauses and structured filters, compiled to one test (§4.3, rule R9).

    state = 'OPEN' AND symbol LIKE 'aec-%' AND price >= 45 AND account IN ('a', 'b')

The caller provides the columns: a mapping of names to `ReportColumn`s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from sim.contract.messages.exchange_v1 import FieldFilter, FilterOperator
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import parse_instant

if TYPE_CHECKING:
    from lark import Lark

R = TypeVar("R")
Value: TypeAlias = str | int
_Op = FilterOperator

_NARROWING = (_Op.FILTER_OPERATOR_EQ, _Op.FILTER_OPERATOR_IN)

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
# How a clause writes an operator, and what it compares by.
_COMPARISONS: dict[FilterOperator, tuple[str, Callable[[Any, Any], Any]]] = {
    _Op.FILTER_OPERATOR_EQ: ("=", eq),
    _Op.FILTER_OPERATOR_NE: ("!=", ne),
    _Op.FILTER_OPERATOR_LT: ("<", lt),
    _Op.FILTER_OPERATOR_LE: ("<=", le),
    _Op.FILTER_OPERATOR_GT: (">", gt),
    _Op.FILTER_OPERATOR_GE: (">=", ge),
}
_OPERATORS = {text: operator for operator, (text, _) in _COMPARISONS.items()}
_OPERATORS["<>"] = _Op.FILTER_OPERATOR_NE


class Condition(NamedTuple):
    """One comparison as it was asked for."""

    column: str
    operator: FilterOperator
    values: tuple[str, ...]


class ReportColumn(NamedTuple, Generic[R]):
    """One column. `read` returns the value of a row.

    `parse` returns the value that a text stands for, or raises ValueError.
    """

    read: Callable[[R], Value]
    parse: Callable[[str], Value]


def text(read: Callable[[R], str]) -> ReportColumn[R]:
    """Return a column of texts, compared as they are."""
    return ReportColumn(read, str)


def number(read: Callable[[R], int]) -> ReportColumn[R]:
    """Return a column of integers."""
    return ReportColumn(read, int)


def moment(read: Callable[[R], int]) -> ReportColumn[R]:
    """Return a column of instants, compared with RFC 3339 text."""
    return ReportColumn(read, parse_instant)


def member(enum: type[IntEnum], prefix: str, read: Callable[[R], int]) -> ReportColumn[R]:
    """Return a column of enum numbers; a value is a member, with or without prefix, or a number."""

    def parse(value: str) -> int:
        name = value.upper()
        member = enum.__members__.get(name if name.startswith(prefix) else prefix + name)
        return int(value if member is None else member)

    return ReportColumn(read, parse)


# ---- reading


def parse_clause(clause: str) -> list[Condition]:
    """Return the conditions of a where_clause; none for empty text."""
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
    """Return the conditions of structured filters, which may name only some columns (§4.3)."""
    conditions = []
    for field_filter in filters:
        if field_filter.field not in allowed:
            raise InvalidRequest(
                "field not allowed",
                rule="R9",
                remedy="field_filter takes " + ", ".join(allowed) + "; where_clause takes more",
            )
        if (
            field_filter.operator not in FilterOperator.__members__.values()
            or not field_filter.operator
        ):
            raise InvalidRequest(
                f"field_filter {field_filter.field}: operator is required", rule="R9"
            )
        operator = FilterOperator(field_filter.operator)
        values: tuple[str, ...] = (_value_of(field_filter),)
        if (
            operator in (_Op.FILTER_OPERATOR_IN, _Op.FILTER_OPERATOR_NOT_IN)
            and field_filter.string_list
        ):
            values = tuple(field_filter.string_list.values)
        conditions.append(Condition(field_filter.field, operator, values))
    return conditions


def values_of(conditions: Sequence[Condition], column: str) -> tuple[str, ...] | None:
    """Return the values that equality or IN leaves for a column; None without such a condition."""
    for condition in conditions:
        if condition.column == column and condition.operator in _NARROWING:
            return condition.values
    return None


def predicate(
    conditions: Sequence[Condition], columns: Mapping[str, ReportColumn[R]]
) -> Callable[[R], bool]:
    """Return the test for every condition. Refuses unknown columns and unfit values."""
    tests = [_test(condition, columns) for condition in conditions]
    return lambda row: all(test(row) for test in tests)


# ---- compiling


def _test(condition: Condition, columns: Mapping[str, ReportColumn[R]]) -> Callable[[R], bool]:
    column = columns.get(condition.column)
    if column is None:
        raise InvalidRequest(
            f"unknown column {condition.column[:40]!r}",
            rule="R9",
            remedy="columns: " + ", ".join(columns),
        )
    read, operator = column.read, condition.operator
    if operator is _Op.FILTER_OPERATOR_LIKE:
        like = _like(condition.values[0])
        return lambda row: like.fullmatch(str(read(row))) is not None
    try:
        values = tuple(column.parse(value) for value in condition.values)
    except ValueError:
        raise InvalidRequest(
            f"{condition.column}: {condition.values[0][:40]!r} is not a value of this column",
            rule="R9",
        ) from None
    if operator is _Op.FILTER_OPERATOR_IN:
        return lambda row: read(row) in values
    if operator is _Op.FILTER_OPERATOR_NOT_IN:
        return lambda row: read(row) not in values
    return _comparison(operator, read, values[0])


def _comparison(
    operator: FilterOperator, read: Callable[[R], Any], value: Any
) -> Callable[[R], bool]:
    _, compare = _COMPARISONS[operator]
    return lambda row: bool(compare(read(row), value))


@lru_cache(maxsize=256)
def _like(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("%")), re.DOTALL)


def _value_of(filter: FieldFilter) -> str:
    if filter.string_value:
        return filter.string_value
    if filter.double_value:
        return repr(filter.double_value).removesuffix(".0")
    return str(filter.int_value) if filter.int_value else ""


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
