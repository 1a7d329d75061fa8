"""Where facts stand in messages, and how they are read there.

The contract's table of fields says where a message can hold a fact, which member of an enumeration
an absent field stands for, and which fields are instants. A message is searched only where its type
can hold a type that states a fact. Only the fields of a fact are read, so that a message with
another mistake still counts as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias, get_args

from msgspec.structs import fields, replace

from sim.contract.messages import Message, exchange_v1, find, find_message, retail_v1
from sim.contract.wire_fields import Field, fields_of
from sim.evidence.witness.facts import (
    CashChange,
    Fact,
    HoldingChange,
    ReportedBalance,
    ReportedBook,
    ReportedExecution,
    ReportedInstrument,
    ReportedLevel,
    ReportedOrder,
    ReportedPosition,
    ReportedSettlement,
    ReportedTick,
    ReportedTrade,
    moment,
    number,
)

Stated: TypeAlias = Iterator[tuple[str, Fact]]
KINDS = (
    *("order", "past_order", "execution", "trade", "tick", "book", "instrument"),
    *("position", "settlement", "balance", "cash", "holding"),
)
Reads: TypeAlias = Callable[[type[Message], dict[str, Any], str], Stated]
# What is asked about an order that does not exist.
_IMAGINED = frozenset(("PreviewOrder",))
_FACTS: dict[type[Message], Any] = {
    exchange_v1.Order: ReportedOrder,
    exchange_v1.Execution: ReportedExecution,
    exchange_v1.Trade: ReportedTrade,
    exchange_v1.MarketDataUpdate: ReportedBook,
    exchange_v1.GetOrderBookResponse: ReportedBook,
    exchange_v1.Instrument: ReportedInstrument,
    exchange_v1.Position: ReportedPosition,
    exchange_v1.PositionChange: ReportedSettlement,
    exchange_v1.GetAccountBalanceResponse: ReportedBalance,
    exchange_v1.BalanceLedgerEntry: CashChange,
    exchange_v1.PositionLedgerEntry: HoldingChange,
    retail_v1.Order: ReportedOrder,
    retail_v1.Execution: ReportedExecution,
    retail_v1.TradeActivity: ReportedTrade,
    retail_v1.MarketBook: ReportedBook,
    retail_v1.TradeTick: ReportedTick,
    retail_v1.UserPosition: ReportedPosition,
    retail_v1.UserBalance: ReportedBalance,
    retail_v1.BalanceChange: CashChange,
}
# Where messages have other words for the attributes of a fact, those of the retail API first.
_WORDS = {
    "symbol": ("symbol", "marketSlug", "modifiedSecurityId"),
    "qty": ("quantity",),
    "account": ("accountName",),
    "order_qty": ("quantity",),
    "cum_qty": ("cumQuantity",),
    "leaves_qty": ("leavesQuantity",),
    "net_position": ("netPositionDecimal",),
    "qty_bought": ("qtyBoughtDecimal",),
    "qty_sold": ("qtySoldDecimal",),
    "aggressor": ("aggressorExecution",),
    "passive": ("passiveExecution",),
    "balance": ("currentBalance",),
    "commission": ("commissionNotionalCollected", "commissionNotionalTotalCollected"),
    "qty_scale": ("fractionalQuantityScale",),
    "unsolicited": ("unsolicitedCancelReason",),
}
# The first of them that a message has.
_INSTANTS = ("lastTransactTime", "transactTime", "updateTime", "tradeTime", "lastUpdated")
_ABSENT: dict[Any, Any] = {str: "", bool: False}
# Retail and gRPC spell the types of ledger entries with this prefix, exchange REST without.
_ENTRY_TYPE = "LEDGER_ENTRY_TYPE_"


# ---- reading a fact


@cache
def _reader(message_type: type[Message]) -> Callable[[dict[str, Any]], Any]:
    """Return the function that reads the fact in a message's JSON form."""
    fact, wire = _FACTS[message_type], {field.json_name: field for field in fields_of(message_type)}
    columns: list[tuple[str, Callable[[Any], Any]]] = []
    dialect = _dialect(message_type)
    scale = int(dialect == "retail")  # whose figures are dollars and contracts
    by_name = {"dialect": dialect, "price_scale": scale, "qty_scale": scale}
    for attribute in fields(fact):
        words = attribute.name.split("_")
        plain = words[0] + "".join(map(str.capitalize, words[1:]))
        names = _INSTANTS if plain == "at" else (*_WORDS.get(attribute.name, ()), plain)
        name = next((name for name in names if name in wire), "")
        if name:
            columns.append((name, _read(attribute.type, wire[name])))
        else:
            absent = by_name.get(attribute.name, _ABSENT.get(attribute.type, 0))
            columns.append((name, _constant(absent)))
    return lambda value: fact(*[read(value.get(name)) for name, read in columns])


def _constant(value: object) -> Callable[[Any], Any]:
    return lambda _: value


def _dialect(message: type[Message]) -> str:
    return message.__module__.rpartition(".")[2].removesuffix("_v1")


def _read(kind: Any, field: Field) -> Callable[[Any], Any]:
    """Return the function that reads a field as the type of an attribute."""
    if kind is bool:
        return bool
    if field.kind == "timestamp":
        return moment
    if field.kind == "enum":
        members: Any = find(field.type_name)
        zero = members(0).name  # gRPC leaves it out
        return lambda value: str(value or zero).removeprefix(_ENTRY_TYPE)
    if field.kind == "message":
        message = find_message(field.type_name)
        if field.repeated:
            return _levels
        if _FACTS.get(message) is ReportedExecution:
            return lambda value: _execution(message, value)
        if message in _FACTS and kind is _FACTS[message]:
            return _reader(message)
    if type(None) in get_args(kind):
        return lambda value: None if value is None else number(value)
    return number if kind is not str else lambda value: value or ""


def _levels(levels: Any) -> tuple[ReportedLevel, ...]:
    return tuple(
        ReportedLevel(number(level.get("px")), number(level.get("qty"))) for level in levels or ()
    )


def _execution(message: type[Message], value: Any) -> ReportedExecution | None:
    """Return an execution; None where the service shows no order with it."""
    order = value.get("order") if isinstance(value, dict) else None
    if not isinstance(order, dict) or not value.get("id") or not order.get("id"):
        return None
    execution: ReportedExecution = _reader(message)(value)
    return execution


# ---- the facts of a message


def _stated(kind: str, *needed: str) -> Reads:
    """Return what reads a message that states one fact, if it has some fields."""

    def read(message: type[Message], value: dict[str, Any], client: str) -> Stated:
        if all(value.get(name) for name in needed):
            yield kind, _reader(message)(value)

    return read


def _executed(execution: ReportedExecution | None) -> Stated:
    if execution is not None:
        yield "past_order", execution.order
        yield "execution", execution


def _executions(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    return _executed(_execution(message, value))


def _trades(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    trade: ReportedTrade = _reader(message)(value)
    yield "trade", trade
    yield from _executed(trade.aggressor)
    yield from _executed(trade.passive)


def _books(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    book: ReportedBook = _reader(message)(value)
    yield "book", book
    stats = value.get("stats") or {}
    preliminary = stats.get("settlementPreliminary", stats.get("settlementPreliminaryFlag"))
    if "settlementPx" in stats and preliminary is False:
        price = number(stats["settlementPx"])
        yield "settlement", ReportedSettlement(book.symbol, book.dialect, price)


def _settlements(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    position = value.get("position")
    if value.get("settlementPx") is not None and value.get("resolved"):
        symbol = (position or {}).get("symbol", "")
        yield "settlement", ReportedSettlement(symbol, "exchange", number(value["settlementPx"]))
    if isinstance(position, dict):
        yield from _positions(exchange_v1.Position, position, client)


def _positions(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    position: ReportedPosition = _reader(message)(value)
    if position.dialect == "retail":
        symbol = (value.get("marketMetadata") or {}).get("slug", "")
        position = replace(position, account=client, symbol=symbol)
    if position.symbol:  # markets without a name cannot be told apart
        yield "position", position


def _cash(message: type[Message], value: dict[str, Any], client: str) -> Stated:
    entry: CashChange = _reader(message)(value)
    if entry.dialect == "retail":
        currency = (value.get("afterBalance") or {}).get("currency", "")
        # an account may have several keys
        entry = replace(entry, account=entry.account or client, currency=currency)
    yield "cash", entry


_READS: dict[type[Fact], Reads] = {
    ReportedOrder: _stated("order", "id"),
    ReportedExecution: _executions,
    ReportedTrade: _trades,
    ReportedBook: _books,
    ReportedInstrument: _stated("instrument", "symbol", "state"),
    ReportedPosition: _positions,
    ReportedBalance: _stated("balance"),
    ReportedSettlement: _settlements,
    ReportedTick: _stated("tick", "tradeTime"),
    CashChange: _cash,
    HoldingChange: _stated("holding"),
}


# ---- where they stand


class _Place(NamedTuple):
    """A field that holds facts of `message`; `inside` are places further inside, if it is none."""

    name: str
    inside: tuple[_Place, ...]
    message: type[Message]
    is_map: bool


@cache
def _places(
    kind: type[Message], outer: frozenset[type[Message]] = frozenset()
) -> tuple[_Place, ...]:
    places = []
    for field in fields_of(kind):
        if field.kind == "message" and (message := find_message(field.type_name)) not in outer:
            inside = () if message in _FACTS else _places(message, outer | {kind})
            if inside or message in _FACTS:
                places.append(_Place(field.json_name, inside, message, bool(field.key_kind)))
    return tuple(places)


def facts(rpc: str, kind: type[Message], body: Any, client: str) -> Stated:
    """Each (kind, fact) that a message of a type states, in its JSON form."""
    if isinstance(body, dict) and rpc not in _IMAGINED:
        yield from _inside(kind, () if kind in _FACTS else _places(kind), body, client)


def _inside(
    kind: type[Message], places: tuple[_Place, ...], body: dict[str, Any], client: str
) -> Stated:
    if not places:
        if kind in _FACTS:
            yield from _READS[_FACTS[kind]](kind, body, client)
        return
    for name, inside, message, is_map in places:
        # A position before a change is none of the instant that it bears.
        if not (value := body.get(name)) or name == "beforePosition":
            continue
        for element in value if isinstance(value, list) else value.values() if is_map else (value,):
            if isinstance(element, dict):
                yield from _inside(message, inside, element, client)
