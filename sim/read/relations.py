"""Relations between fields of one message, which hold in every answer and frame that has them all.

A relation is a row: its formula over JSON names of a message's fields, and where it comes from.
Recordings, answers of the sandbox and the oracle are held against the same rows. A number may be
written as text, as an amount or as a JSON number. `long` and `short` are the sides of a market.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct

from sim.contract.contract import Operation, load_contract
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import fields_of

SPECIFIED = "specification"
_HALF = Fraction(1, 20_000)  # of the fourth decimal, the last that answers show
_BALANCE = ("RetailAccountAPI.GetBalances",)
_POSITION = ("RetailPortfolioAPI.ListPositions",)
_LISTS = (
    *("GatewayEventsAPI.ListEvents", "GatewaySearchAPI.SearchEvents"),
    "GatewayMarketsAPI.ListMarkets",
)
_SINGLE = ("GatewayMarketsAPI.GetMarketBySlug", "GatewayMarketsAPI.GetMarketById")
_LITE = ("RetailMarketDataAPI.GetBBO",)


class Relation(Struct, frozen=True):
    """A row. `source` is an observation's name, or a statement's id of the specification.

    `when` is a formula that limits the relation to some messages; `rule` is the rule or statement
    that the oracle cites; `slack` multiplies the rounding that the formula may show.
    """

    name: str
    type_name: str
    formula: str
    operations: tuple[str, ...]
    source: str
    when: str = ""
    rule: str = "S4.2-7"
    slack: str = "1"


RELATIONS: dict[str, Relation] = {
    row.name: row
    for row in (
        Relation(
            "balance-reservation",
            "UserBalance",
            "balanceReservation = bonusReservation + depositReservation",
            _BALANCE,
            "balances.relations",
        ),
        Relation(
            "displayed-cash",
            "UserBalance",
            "displayedCash = buyingPower - balanceReservation",
            _BALANCE,
            "balances.relations",
        ),
        Relation(
            "available-to-withdraw",
            "UserBalance",
            "availableToWithdraw = currentBalance - marginRequirement - balanceReservation",
            _BALANCE,
            "balances.relations",
        ),
        Relation(
            "position-cost",
            "UserPosition",
            "cost = baseCost + fees",
            _POSITION,
            "positions.cost",
            rule="P9",
        ),
        Relation(
            "position-average",
            "UserPosition",
            "avgPx * abs(netPositionDecimal) = baseCost",
            _POSITION,
            "positions.short_average",
            when="netPositionDecimal != 0",
            rule="P9",
            slack="1 + abs(netPositionDecimal)",
        ),
        Relation(
            "quote-long",
            "Market",
            "long.quote = bestAskQuote",
            (*_LISTS, *_SINGLE),
            "markets.side_prices",
            when="closed != 1",
            rule="S2.10-1",
        ),
        Relation(
            "quote-short",
            "Market",
            "short.quote = 1 - bestBidQuote",
            (*_LISTS, *_SINGLE),
            "markets.side_prices",
            when="closed != 1",
            rule="S2.10-1",
        ),
        Relation(
            "listed-price-long",
            "Market",
            "long.price = bestBidQuote",
            _LISTS,
            "markets.side_prices",
            when="closed != 1",
            rule="S2.10-1",
        ),
        Relation(
            "listed-price-short",
            "Market",
            "short.price = bestAskQuote",
            _LISTS,
            "markets.side_prices",
            when="closed != 1",
            rule="S2.10-1",
        ),
        Relation(
            "single-price-short",
            "Market",
            "short.price = 1 - bestBidQuote",
            _SINGLE,
            "markets.side_prices",
            when="closed != 1",
            rule="S2.10-1",
        ),
        Relation(
            "best-quote-long",
            "MarketLite",
            "longQuote = bestAsk",
            _LITE,
            "market_data.best_prices",
            rule="S4.2-8",
        ),
        Relation(
            "best-quote-short",
            "MarketLite",
            "shortQuote = 1 - bestBid",
            _LITE,
            "market_data.best_prices",
            rule="S4.2-8",
        ),
        Relation(
            "sample-price",
            "MarketLite",
            "lastPriceSample.longPx = currentPx",
            _LITE,
            "market_data.last_price_sample",
            rule="S4.2-8",
        ),
        Relation(
            "sample-sides",
            "PriceSample",
            "longPx + shortPx = 1",
            (*_LITE, "RetailMarketDataAPI.GetBook"),
            "market_data.last_price_sample",
            rule="S4.2-8",
        ),
        Relation(
            "leaves",
            "Order",
            "leavesQuantity = quantity - cumQuantity",
            ("RetailOrdersAPI.ListOpenOrders",),
            "S2.8-1",
            rule="S2.8-1",
        ),
        Relation(
            "spread",
            "GetBBOResponse",
            "spread = bestOffer.px - bestBid.px",
            ("OrderBookAPI.GetBBO",),
            "S2.5-2",
            rule="S2.5-2",
        ),
    )
}


class Applied(NamedTuple):
    """A relation at one message of an answer: the path of the message, and whether it holds."""

    relation: Relation
    path: str
    left: Fraction
    right: Fraction
    holds: bool


def applied(operation: str, body: Any) -> Iterator[Applied]:
    """Yield the relations of an operation at each message of an answer that has their fields."""
    rows = _rows(operation)
    if rows:
        contract = load_contract()
        for kind, path, document in _messages(contract.by_name(operation), body):
            for row in rows:
                if row.type_name == kind and (result := _apply(row, path, document)):
                    yield result


@cache
def _rows(operation: str) -> tuple[Relation, ...]:
    return tuple(row for row in RELATIONS.values() if operation in row.operations)


def _apply(row: Relation, path: str, document: dict[str, Any]) -> Applied | None:
    left, _, right = row.formula.partition(" = ")
    try:
        if row.when and not evaluated(row.when, document):
            return None
        values = evaluated(left, document), evaluated(right, document)
        slack = _HALF * evaluated(row.slack, document)
    except _Missing:
        return None
    return Applied(row, path, *values, abs(values[0] - values[1]) <= slack)


def _messages(operation: Operation, body: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every message in an answer: its type's name, its path, and its JSON."""
    left: list[tuple[type[Message], str, Any]] = [(operation.response, "", body)]
    while left:
        cls, path, value = left.pop()
        if not isinstance(value, dict):
            continue
        yield cls.__name__, path, value
        for field in fields_of(cls):
            inner = value.get(field.json_name)
            if field.kind != "message" or inner is None:
                continue
            below, name = find_message(field.type_name), f"{path}.{field.json_name}".lstrip(".")
            if field.key_kind and isinstance(inner, dict):
                left += ((below, f"{name}.{key}", each) for key, each in inner.items())
            elif isinstance(inner, list):
                left += ((below, f"{name}[{index}]", each) for index, each in enumerate(inner))
            else:
                left.append((below, name, inner))


# ---- formulas


class _Missing(Exception):
    """A message has no number under a name of a formula."""


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.NotEq: operator.ne,
}


def evaluated(formula: str, document: dict[str, Any]) -> Fraction:
    """Return the value of a formula over the fields of a message."""
    value: Fraction = _value(_parsed(formula), document)
    return value


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(node: ast.expr, document: dict[str, Any]) -> Any:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, document), _value(right, document))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](_value(left, document), _value(right, document))
        case ast.Call(func=ast.Name(id="abs"), args=[inner]):
            return abs(_value(inner, document))
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case _:
            return _number(_field(node, document))


def _field(node: ast.expr, document: dict[str, Any]) -> Any:
    if isinstance(node, ast.Attribute):
        inner = _field(node.value, document)
        return inner.get(node.attr) if isinstance(inner, dict) else None
    assert isinstance(node, ast.Name)
    if node.id in ("long", "short"):
        sides = document.get("marketSides") or ()
        return next((side for side in sides if side.get("long") is (node.id == "long")), None)
    return document.get(node.id)


def _number(value: Any) -> Fraction:
    if isinstance(value, dict):
        value = value.get("value")
    if not isinstance(value, int | float | str | Decimal):
        raise _Missing
    try:
        return Fraction(str(int(value) if isinstance(value, bool) else value))
    except ValueError:
        raise _Missing from None
