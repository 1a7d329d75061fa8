"""Where facts stand in messages, and how they are read there.

A message is searched only where its type, by `proto/`, can hold a type that states a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from sim.contract.messages import Message, exchange_v1, find_message, retail_v1
from sim.contract.wire_fields import fields_of
from sim.evidence.witness.facts import (
    Book,
    Cash,
    Execution,
    Fact,
    Holding,
    Instrument,
    Level,
    Order,
    Position,
    Settlement,
    Trade,
    moment,
    number,
)

Reads: TypeAlias = Callable[[dict[str, Any], str], Iterator[tuple[str, Fact]]]
# What is asked about an order that does not exist.
_IMAGINED = frozenset(("PreviewOrder",))


# ---- orders


def _order(value: dict[str, Any]) -> Order:
    get = value.get
    if "marketSlug" in value:
        return Order(
            id=get("id", ""),
            dialect="retail",
            symbol=value["marketSlug"],
            side=get("side", ""),
            account="",
            state=get("state") or "ORDER_STATE_NEW",
            type=get("type", ""),
            qty=number(get("quantity")),
            cum=number(get("cumQuantity")),
            leaves=number(get("leavesQuantity")),
            price=number(get("price")),
            average=number(get("avgPx")),
            cash=number(get("cashOrderQty")) != 0,
            at=moment(get("lastTransactTime")),
        )
    return Order(
        id=get("id", ""),
        dialect="exchange",
        symbol=get("symbol", ""),
        side=get("side", ""),
        account=get("account", ""),
        state=get("state") or "ORDER_STATE_NEW",
        type=get("type", ""),
        qty=number(get("orderQty")),
        cum=number(get("cumQty")),
        leaves=number(get("leavesQty")),
        price=number(get("price")),
        average=number(get("avgPx")),
        cash=number(get("cashOrderQty")) != 0,
        at=moment(get("lastTransactTime")),
    )


def _execution(value: dict[str, Any]) -> Execution | None:
    """None where the service shows no order with it."""
    order = value.get("order")
    if not isinstance(order, dict) or not value.get("id") or not order.get("id"):
        return None
    get = value.get
    return Execution(
        id=value["id"],
        type=get("type") or "EXECUTION_TYPE_NEW",
        order=_order(order),
        qty=number(get("lastShares")),
        price=number(get("lastPx")),
        trade=get("tradeId", ""),
        aggressor=bool(get("aggressor")),
        legs=bool(get("legPrices")),
        at=moment(get("transactTime")),
    )


def _orders(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    if value.get("id"):
        yield "order", _order(value)


def _executions(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    execution = _execution(value)
    if execution is not None:
        yield "past_order", execution.order
        yield "execution", execution


def _trades(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    sides = [value.get(name) for name in ("aggressor", "passive")]
    yield from _both(value, sides, "exchange")


def _retail_trades(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    sides = [value.get(name) for name in ("aggressorExecution", "passiveExecution")]
    yield from _both(value, sides, "retail")


def _both(value: dict[str, Any], sides: list[Any], dialect: str) -> Iterator[tuple[str, Fact]]:
    aggressor, passive = (_execution(side) if isinstance(side, dict) else None for side in sides)
    state = value.get("state") or ""
    yield "trade", Trade(value.get("id", ""), dialect, state, aggressor, passive)
    for side in (aggressor, passive):
        if side is not None:
            yield "past_order", side.order
            yield "execution", side


# ---- markets


def _books(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    retail = "marketSlug" in value
    symbol = value["marketSlug"] if retail else value.get("symbol", "")
    dialect = "retail" if retail else "exchange"
    bids, offers = (
        tuple(Level(number(level.get("px")), number(level.get("qty"))) for level in levels)
        for levels in (value.get("bids") or (), value.get("offers") or ())
    )
    at, hidden = moment(value.get("transactTime")), bool(value.get("bookHidden"))
    # closed is number zero, which gRPC leaves out
    state = value.get("state") or ("MARKET_STATE_CLOSED" if retail else "INSTRUMENT_STATE_CLOSED")
    yield "book", Book(symbol, dialect, state, bids, offers, hidden, at)
    stats = value.get("stats") or {}
    preliminary = "settlementPreliminaryFlag" if retail else "settlementPreliminary"
    if "settlementPx" in stats and stats.get(preliminary) is False:
        yield "settlement", Settlement(symbol, dialect, number(stats["settlementPx"]))


def _instruments(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    if value.get("symbol") and value.get("state"):
        yield "instrument", Instrument(value["symbol"], value["state"])


def _settlements(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    if value.get("settlementPx") is not None and value.get("resolved"):
        symbol = (value.get("position") or {}).get("symbol", "")
        yield "settlement", Settlement(symbol, "exchange", number(value["settlementPx"]))
    if isinstance(value.get("position"), dict):
        yield from _positions(value["position"], client)


# ---- money and holdings


def _positions(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    get = value.get
    yield (
        "position",
        Position(
            account=get("account", ""),
            symbol=get("symbol", ""),
            dialect="exchange",
            net=number(get("netPosition")),
            bought=number(get("qtyBought")),
            sold=number(get("qtySold")),
            expired=bool(get("expired")),
            at=moment(get("updateTime")),
        ),
    )


def _retail_positions(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    get, about = value.get, value.get("marketMetadata") or {}
    yield (
        "position",
        Position(
            account=client,
            symbol=about.get("slug", ""),
            dialect="retail",
            net=number(get("netPositionDecimal")),
            bought=number(get("qtyBoughtDecimal")),
            sold=number(get("qtySoldDecimal")),
            expired=bool(get("expired")),
            at=moment(get("updateTime")),
        ),
    )


def _cash(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    get = value.get
    yield (
        "cash",
        Cash(
            id=get("id", ""),
            account=get("account", ""),
            currency=get("currency", ""),
            dialect="exchange",
            before=Decimal(number(get("beforeBalance"))),
            after=Decimal(number(get("afterBalance"))),
            type=_entry_type(value),
            symbol=get("symbol", ""),
            at=moment(get("updateTime")),
        ),
    )


def _retail_cash(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    before, after = value.get("beforeBalance") or {}, value.get("afterBalance") or {}
    yield (
        "cash",
        Cash(
            id=value.get("id", ""),
            account=value.get("accountName") or client,  # an account may have several keys
            currency=after.get("currency", ""),
            dialect="retail",
            before=Decimal(number(before.get("currentBalance"))),
            after=Decimal(number(after.get("currentBalance"))),
            type=_entry_type(value),
            symbol="",
            at=moment(value.get("updateTime")),
        ),
    )


def _entry_type(value: dict[str, Any]) -> str:
    """The type of an entry. Retail and gRPC spell it with a prefix, exchange REST without, and gRPC
    leaves out the one with number zero.
    """
    return (value.get("entryType") or "UNDEFINED").removeprefix("LEDGER_ENTRY_TYPE_")


def _holdings(value: dict[str, Any], client: str) -> Iterator[tuple[str, Fact]]:
    get = value.get
    change, net = number(get("quantityChange")), number(get("netPosition"))
    account, symbol = get("account", ""), get("symbol", "")
    yield (
        "holding",
        Holding(get("id", ""), account, symbol, change, net, moment(get("updateTime"))),
    )


_READS: dict[type[Message], Reads] = {
    exchange_v1.Order: _orders,
    exchange_v1.Execution: _executions,
    exchange_v1.Trade: _trades,
    exchange_v1.MarketDataUpdate: _books,
    exchange_v1.GetOrderBookResponse: _books,
    exchange_v1.Instrument: _instruments,
    exchange_v1.Position: _positions,
    exchange_v1.PositionChange: _settlements,
    exchange_v1.BalanceLedgerEntry: _cash,
    exchange_v1.PositionLedgerEntry: _holdings,
    retail_v1.Order: _orders,
    retail_v1.Execution: _executions,
    retail_v1.TradeActivity: _retail_trades,
    retail_v1.MarketBook: _books,
    retail_v1.UserPosition: _retail_positions,
    retail_v1.BalanceChange: _retail_cash,
}


# ---- where they stand


class _Place(NamedTuple):
    """A field that holds facts: `reads` what is there, or there are places further inside."""

    name: str
    inside: tuple[_Place, ...]
    reads: Reads | None
    is_map: bool


@cache
def _places(
    kind: type[Message], seen: frozenset[type[Message]] = frozenset()
) -> tuple[_Place, ...]:
    places = []
    for field in fields_of(kind):
        if field.kind != "message":
            continue
        inner = find_message(field.type_name)
        if inner in _READS:
            places.append(_Place(field.json_name, (), _READS[inner], bool(field.key_kind)))
        elif inner not in seen and (inside := _places(inner, seen | {kind})):
            places.append(_Place(field.json_name, inside, None, bool(field.key_kind)))
    return tuple(places)


@cache
def _start(rpc: str, kind: type[Message]) -> tuple[Reads | None, tuple[_Place, ...]]:
    if rpc in _IMAGINED:
        return None, ()
    return _READS.get(kind), _places(kind)


def facts(rpc: str, kind: type[Message], body: Any, client: str) -> Iterator[tuple[str, Fact]]:
    """Each (kind, fact) that a message of a type states, in its JSON form."""
    if not isinstance(body, dict):
        return
    reads, places = _start(rpc, kind)
    if reads is not None:
        yield from reads(body, client)
    elif places:
        yield from _inside(places, body, client)


def _inside(
    places: tuple[_Place, ...], body: dict[str, Any], client: str
) -> Iterator[tuple[str, Fact]]:
    for name, inside, reads, is_map in places:
        value = body.get(name)
        if not value:
            continue
        values = value if isinstance(value, list) else value.values() if is_map else (value,)
        for one in values:
            if not isinstance(one, dict):
                continue
            yield from reads(one, client) if reads is not None else _inside(inside, one, client)
