"""Which orders, executions and trades a report is about: indexes first, then the filters of the request (rules R7-R10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from sim.api.retention import EXECUTIONS_KEPT, ORDERS_KEPT, execution_kept, order_kept, purged_before
from sim.api.where_clause import Column, Condition, field_conditions, member, moment, number, parse_clause, predicate, text, values_of
from sim.core.exchange import Exchange
from sim.core.orders import Execution, Order, Trade
from sim.core.tape import Record
from sim.core.vocabulary import DONE_STATES, ExecutionType, OrderState
from sim.kernel.instants import Instant, trade_date
from sim.messages import exchange_v1 as wire

# §4.3: structured filters know fewer columns than clauses; times are not among them.
FIELD_FILTERS = ("symbol", "account", "state", "trade_date", "order_id", "clord_id", "trade_id", "exec_id", "side", "type", "price", "qty")

_Filter = wire.OrderStateFilter
_STATES: dict[int, frozenset[OrderState]] = {
    _Filter.ORDER_STATE_FILTER_OPEN: frozenset(OrderState) - DONE_STATES,
    _Filter.ORDER_STATE_FILTER_CLOSED: DONE_STATES,
    _Filter.ORDER_STATE_FILTER_NEW: frozenset({OrderState.NEW}),
    _Filter.ORDER_STATE_FILTER_PARTIALLY_FILLED: frozenset({OrderState.PARTIALLY_FILLED}),
    _Filter.ORDER_STATE_FILTER_FILLED: frozenset({OrderState.FILLED}),
    _Filter.ORDER_STATE_FILTER_CANCELED: frozenset({OrderState.CANCELED}),
    _Filter.ORDER_STATE_FILTER_REPLACED: frozenset({OrderState.REPLACED}),
    _Filter.ORDER_STATE_FILTER_REJECTED: frozenset({OrderState.REJECTED}),
    _Filter.ORDER_STATE_FILTER_EXPIRED: frozenset({OrderState.EXPIRED}),
    _Filter.ORDER_STATE_FILTER_PENDING_RISK: frozenset({OrderState.PENDING_RISK}),
}
_ENTRIES = frozenset({ExecutionType.NEW, ExecutionType.REJECTED})

R = TypeVar("R")


def conditions_of(clause: str, filters: Sequence[wire.FieldFilter]) -> list[Condition]:
    """Conditions of both kinds of filter."""
    return parse_clause(clause) + field_conditions(filters, FIELD_FILTERS)


# ---- orders


def orders_found(exchange: Exchange, accounts: Sequence[str], request: wire.SearchOrdersRequest) -> list[Order]:
    """Orders of accounts that meet every filter, newest first."""
    conditions = conditions_of(request.where_clause, request.field_filter)
    test = predicate(conditions, _ORDER_COLUMNS)
    boundary = purged_before(exchange, ORDERS_KEPT)
    states = _STATES.get(request.order_state_filter)
    equals = _wanted(
        request,
        (
            ("order_id", lambda order: order.id),
            ("clord_id", lambda order: order.clord_id),
            ("symbol", lambda order: order.symbol),
            ("side", lambda order: order.side),
            ("type", lambda order: order.type),
            ("client_account_id", lambda order: order.client_account_id),
            ("client_participant_id", lambda order: order.client_participant_id),
            ("cross_id", lambda order: order.cross_id),
            ("host_cross_id", lambda order: order.host_cross_id),
            ("parent_order_id", _never),
        ),
    )
    within = _within(request.start_time, request.end_time)
    on_dates = _on_dates(request.start_transact_trade_date, request.end_transact_trade_date)
    found = [
        order
        for order in _orders_of(exchange, accounts, request.symbol or _single(conditions, "symbol"))
        if order_kept(order, boundary)
        and (states is None or order.state in states)
        and within(order.created)
        and on_dates(order.changed)
        and all(of(order) == wanted for of, wanted in equals)
        and test(order)
    ]
    found.reverse()
    return found


def _orders_of(exchange: Exchange, accounts: Sequence[str], symbol: str) -> list[Order]:
    """Orders ever entered by accounts, oldest first: each left an execution when it came in."""
    orders = exchange.trading.orders
    entries = dict.fromkeys(
        execution.order.id for execution in _rows_of(exchange.trading.executions, accounts, symbol, _account_of) if execution.type in _ENTRIES
    )
    return [order for order in map(orders.get, entries) if order is not None]


# ---- executions


def executions_found(exchange: Exchange, accounts: Sequence[str], request: wire.SearchExecutionsRequest) -> list[Execution]:
    """Executions of accounts that meet every filter, oldest first unless asked otherwise."""
    conditions = conditions_of(request.where_clause, request.field_filter)
    test = predicate(conditions, _EXECUTION_COLUMNS)
    boundary = purged_before(exchange, EXECUTIONS_KEPT)
    types, ids = frozenset(request.types), frozenset(request.exec_ids)
    equals = _wanted(
        request,
        (
            ("order_id", lambda execution: execution.order.id),
            ("clord_id", lambda execution: execution.order.clord_id),
            ("symbol", lambda execution: execution.order.symbol),
            ("client_account_id", lambda execution: execution.order.client_account_id),
            ("client_participant_id", lambda execution: execution.order.client_participant_id),
            ("parent_order_id", _never),
        ),
    )
    within = _within(request.start_time, request.end_time)
    on_dates = _on_dates(request.start_transact_trade_date, request.end_transact_trade_date)
    found = [
        execution
        for execution in _rows_of(exchange.trading.executions, accounts, request.symbol or _single(conditions, "symbol"), _account_of)
        if execution_kept(execution, boundary)
        and (not types or execution.type in types)
        and (not ids or execution.id in ids)
        and within(execution.at)
        and on_dates(execution.at)
        and all(of(execution) == wanted for of, wanted in equals)
        and test(execution)
    ]
    if request.newest_first:
        found.reverse()
    return found


def _account_of(execution: Execution) -> tuple[str, ...]:
    return (execution.order.account,)


# ---- trades


def trades_found(exchange: Exchange, accounts: Sequence[str], request: wire.SearchTradesRequest, conditions: Sequence[Condition]) -> list[Trade]:
    """Trades with a side of these accounts that meet every filter, newest first."""
    test = predicate(conditions, _trade_columns(accounts))
    states = frozenset(request.states)
    equals = _wanted(request, (("trade_id", lambda trade: trade.id), ("symbol", lambda trade: trade.symbol), ("trade_link_id", lambda trade: trade.id)))
    within = _within(request.start_time, request.end_time)
    found = [
        trade
        for trade in _rows_of(exchange.trading.trades, accounts, request.symbol or _single(conditions, "symbol"), _sides_of)
        if (not states or trade.state in states)
        and within(trade.at)
        and (not request.order_id or request.order_id in (trade.aggressor.order.id, trade.passive.order.id))
        and (not request.exec_id or request.exec_id in (trade.aggressor.id, trade.passive.id))
        and all(of(trade) == wanted for of, wanted in equals)
        and test(trade)
    ]
    found.reverse()
    return found


def _sides_of(trade: Trade) -> tuple[str, ...]:
    return trade.aggressor.order.account, trade.passive.order.account


# ---- columns


_ORDER_COLUMNS: dict[str, Column[Order]] = {
    "symbol": text(lambda order: order.symbol),
    "account": text(lambda order: order.account),
    "state": member(wire.OrderState, "ORDER_STATE_", lambda order: order.state),
    "side": member(wire.Side, "SIDE_", lambda order: order.side),
    "type": member(wire.OrderType, "ORDER_TYPE_", lambda order: order.type),
    "order_id": text(lambda order: order.id),
    "clord_id": text(lambda order: order.clord_id),
    "price": number(lambda order: order.price),
    "qty": number(lambda order: order.qty),
    "trade_date": text(lambda order: trade_date(order.changed).isoformat()),
    "create_time": moment(lambda order: order.created),
    "update_time": moment(lambda order: order.changed),
    "transact_time": moment(lambda order: order.changed),
}
_EXECUTION_COLUMNS: dict[str, Column[Execution]] = {
    "symbol": text(lambda execution: execution.order.symbol),
    "account": text(lambda execution: execution.order.account),
    "state": member(wire.OrderState, "ORDER_STATE_", lambda execution: execution.order.state),
    "side": member(wire.Side, "SIDE_", lambda execution: execution.order.side),
    "type": member(wire.ExecutionType, "EXECUTION_TYPE_", lambda execution: execution.type),
    "exec_id": text(lambda execution: execution.id),
    "order_id": text(lambda execution: execution.order.id),
    "clord_id": text(lambda execution: execution.order.clord_id),
    "trade_id": text(lambda execution: execution.trade_id),
    "price": number(lambda execution: execution.last_px),
    "qty": number(lambda execution: execution.last_qty),
    "trade_date": text(lambda execution: trade_date(execution.at).isoformat()),
    "create_time": moment(lambda execution: execution.at),
    "update_time": moment(lambda execution: execution.at),
    "transact_time": moment(lambda execution: execution.at),
}
# What anybody may ask about a trade: nothing about who made it.
TRADE_COLUMNS: dict[str, Column[Trade]] = {
    "symbol": text(lambda trade: trade.symbol),
    "state": member(wire.TradeState, "TRADE_STATE_", lambda trade: trade.state),
    "trade_id": text(lambda trade: trade.id),
    "price": number(lambda trade: trade.price),
    "qty": number(lambda trade: trade.qty),
    "trade_date": text(lambda trade: trade_date(trade.at).isoformat()),
    "create_time": moment(lambda trade: trade.at),
    "update_time": moment(lambda trade: trade.state_at),
    "transact_time": moment(lambda trade: trade.at),
}


def _trade_columns(accounts: Sequence[str]) -> dict[str, Column[Trade]]:
    """Columns of trades for one of their sides: the aggressor's where both are the caller's."""
    mine = frozenset(accounts)

    def side(trade: Trade) -> Execution:
        return trade.aggressor if trade.aggressor.order.account in mine else trade.passive

    return {
        **TRADE_COLUMNS,
        "account": text(lambda trade: side(trade).order.account),
        "side": member(wire.Side, "SIDE_", lambda trade: side(trade).order.side),
        "order_id": text(lambda trade: side(trade).order.id),
        "clord_id": text(lambda trade: side(trade).order.clord_id),
        "exec_id": text(lambda trade: side(trade).id),
    }


# ---- tools


def _rows_of(record: Record[Any], accounts: Sequence[str], symbol: str, owners: Callable[[Any], tuple[str, ...]]) -> list[Any]:
    """Rows of accounts in order of happening, by whichever index is shorter."""
    per_account = [record.of_account(account) for account in accounts]
    if symbol:
        per_symbol = record.of_symbol(symbol)
        if len(per_symbol) < sum(map(len, per_account)):
            mine = frozenset(accounts)
            return [row for row in map(record.__getitem__, per_symbol) if not mine.isdisjoint(owners(row))]
    if len(per_account) == 1:
        return [record[seq] for seq in per_account[0]]
    return [record[seq] for seq in sorted(dict.fromkeys(seq for seqs in per_account for seq in seqs))]


def _wanted(request: Any, fields: Iterable[tuple[str, Callable[[Any], Any]]]) -> list[tuple[Callable[[Any], Any], Any]]:
    """(reader, value) of the fields that are set."""
    return [(of, getattr(request, name)) for name, of in fields if getattr(request, name)]


def _never(row: object) -> None:
    """No order is the child of another here."""


def _single(conditions: Sequence[Condition], column: str) -> str:
    values = values_of(conditions, column)
    return values[0] if values is not None and len(values) == 1 else ""


def _within(start: Instant | None, end: Instant | None) -> Callable[[Instant], bool]:
    """Whether an instant lies in a window, both ends included; an end that is not set does not bind."""
    return lambda at: (start is None or at >= start) and (end is None or at <= end)


def _on_dates(first: wire.Date | None, last: wire.Date | None) -> Callable[[Instant], bool]:
    """Whether an instant's trade date lies between two, both included."""
    if first is None and last is None:
        return lambda at: True
    low = (first.year, first.month, first.day) if first else (0, 0, 0)
    high = (last.year, last.month, last.day) if last else (9999, 12, 31)

    def test(at: Instant) -> bool:
        day = trade_date(at)
        return low <= (day.year, day.month, day.day) <= high

    return test
