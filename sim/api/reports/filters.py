"""Selects the orders, executions and trades of a report (rules R7-R10).

A search has two steps. First an index yields candidates: the rows with the ids in the request if it
has any, else the rows of the accounts, symbol, indexed fields and time window. Then every filter of
the request is applied to each candidate, including those for which the index was used. Results are
iterators: a page does not read beyond its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sim.api.rendering.retention import (
    EXECUTION_RETENTION,
    ORDER_RETENTION,
    is_order_retained,
    purged_before,
)
from sim.api.reports.columns import EXECUTION_COLUMNS, FIELD_FILTERS, ORDER_COLUMNS, trade_columns
from sim.api.reports.trade_dates import in_order, trade_days
from sim.api.reports.where_clause import (
    Condition,
    field_conditions,
    parse_clause,
    predicate,
    values_of,
)
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import DONE_STATES, OrderState
from sim.core.model.orders import Execution, Order, Trade
from sim.kernel.indexes.indexed_log import IndexedLog, LogView
from sim.kernel.instants import Instant, parse_instant

_Op = wire.FilterOperator
_Filter = wire.OrderStateFilter
_STATES: dict[int, frozenset[OrderState]] = {
    _Filter.ORDER_STATE_FILTER_OPEN: frozenset(OrderState) - DONE_STATES,
    _Filter.ORDER_STATE_FILTER_CLOSED: DONE_STATES,
    **{
        member: frozenset({OrderState[name]})
        for member in _Filter
        if (name := member.name.removeprefix("ORDER_STATE_FILTER_")) in OrderState.__members__
    },
}

# Fields of requests that filter by equality, with the attribute of a row that must be equal.
_ORDER_FIELDS = {
    "order_id": "id",
    "clord_id": "clord_id",
    "symbol": "symbol",
    "side": "side",
    "type": "type",
    "client_account_id": "client_account_id",
    "client_participant_id": "client_participant_id",
    "cross_id": "cross_id",
    "host_cross_id": "host_cross_id",
    "parent_order_id": "parent_id",
}
_CLIENT_FIELDS = ("clord_id", "client_account_id", "client_participant_id", "parent_order_id")
_EXECUTION_FIELDS = {
    name: f"order.{_ORDER_FIELDS[name]}" for name in ("order_id", "symbol", *_CLIENT_FIELDS)
}
_TRADE_FIELDS = {"trade_id": "id", "symbol": "symbol", "trade_link_id": "id"}

# Those of them that have an index. Rows with a side, type or state are searched among
# the rows of the accounts in the window.
_ORDER_INDEXES = {
    name: _ORDER_FIELDS[name] for name in (*_CLIENT_FIELDS, "cross_id", "host_cross_id")
}
_EXECUTION_INDEXES = {name: _EXECUTION_FIELDS[name] for name in _CLIENT_FIELDS}

# A search with one of these is narrow (rule R6): columns of filters, fields of requests.
_NARROW_COLUMNS = ("symbol", "order_id", "clord_id", "trade_id", "exec_id")
_NARROW_FIELDS = (*_NARROW_COLUMNS, "exec_ids", "trade_link_id")

Report: TypeAlias = (
    wire.SearchOrdersRequest
    | wire.SearchExecutionsRequest
    | wire.SearchTradesRequest
    | wire.GetTradeStatsRequest
)
R = TypeVar("R")
Test = Callable[[R], bool]


class InstantRange(NamedTuple):
    """Instants from start to end, both included; None means no bound."""

    start: Instant | None
    end: Instant | None

    def intersect(self, other: InstantRange) -> InstantRange:
        """Return the intersection of two windows."""
        starts = [start for start in (self.start, other.start) if start is not None]
        ends = [end for end in (self.end, other.end) if end is not None]
        return InstantRange(max(starts, default=None), min(ends, default=None))

    def __contains__(self, at: object) -> bool:
        return (
            isinstance(at, int)
            and (self.start is None or at >= self.start)
            and (self.end is None or at <= self.end)
        )


def conditions_of(request: Report) -> list[Condition]:
    """Return the conditions of all filters of a request: clauses, and structured filters."""
    conditions = parse_clause(request.where_clause)
    conditions += field_conditions(request.field_filter, FIELD_FILTERS)
    if request.filter is not None:
        conditions += parse_clause(request.filter.where_clause)
        conditions += field_conditions(request.filter.field_filters, FIELD_FILTERS)
    return conditions


def is_narrow(request: Report, conditions: Sequence[Condition]) -> bool:
    """Whether a search names an instrument, a trade, an order or an execution."""
    return any(getattr(request, name, None) for name in _NARROW_FIELDS) or any(
        values_of(conditions, column) is not None for column in _NARROW_COLUMNS
    )


class _Search:
    """One search: its request, the conditions of its filters, and the accounts that it covers."""

    def __init__(
        self,
        exchange: Exchange,
        accounts: Sequence[str],
        request: Any,
        conditions: Sequence[Condition],
    ) -> None:
        self.exchange = exchange
        self.accounts = accounts
        self.request = request
        self.conditions = conditions

    def equality_tests(self, fields: Mapping[str, str]) -> list[Test[Any]]:
        """Return a test for each of the fields that the request sets."""

        def test(attribute: str, value: Any) -> Test[Any]:
            read = attrgetter(attribute)
            return lambda row: bool(read(row) == value)

        values = [(attribute, getattr(self.request, name)) for name, attribute in fields.items()]
        return [test(attribute, value) for attribute, value in values if value]

    def ids(self, id: str, column: str) -> tuple[str, ...] | None:
        """Return the ids of which a row must have one, from a field or a condition; None if there
        is no such filter.
        """
        return (id,) if id else values_of(self.conditions, column)

    def window(self, *columns: str) -> InstantRange:
        """Return the window of the request, narrowed by conditions on the instant of a row.

        InvalidRequest for a reversed window, unless the assumption treats it as empty.
        """
        window = InstantRange(self.request.start_time, self.request.end_time)
        in_order(self.exchange, *window)
        for condition in self.conditions:
            if condition.column in columns:
                window = window.intersect(_window_of(condition))
        return window

    def trade_days(self) -> InstantRange:
        """Return the window of the request's trade dates."""
        first = self.request.start_transact_trade_date
        window = InstantRange(*trade_days(first, self.request.end_transact_trade_date))
        in_order(self.exchange, *window)
        return window

    def select(
        self,
        rows: IndexedLog[R],
        window: InstantRange,
        indexes: Mapping[str, str] = MappingProxyType({}),
    ) -> LogView[R]:
        """Return the rows of the accounts in a window, read from the shortest index.

        `indexes`: fields of the request that have an index, with the attribute of a row.
        """
        values = [(attribute, self._value(name)) for name, attribute in indexes.items()]
        texts = [(attribute, text) for attribute, text in values if text]
        return rows.select(self.accounts, self._value("symbol"), window.start, window.end, texts)

    def _value(self, name: str) -> str:
        """Return the only value that a field, or a condition on it, allows; else ""."""
        value: str = getattr(self.request, name)
        if value:
            return value
        values = values_of(self.conditions, name)
        return values[0] if values is not None and len(values) == 1 else ""


def select_orders(
    exchange: Exchange,
    accounts: Sequence[str],
    request: wire.SearchOrdersRequest,
    as_of: Callable[[Order], Order] | None = None,
) -> Iterator[Order]:
    """Yield the orders of accounts that pass every filter, newest first.

    `as_of` replaces each order by an earlier state of it, before the filters.
    """
    search = _Search(exchange, accounts, request, conditions_of(request))
    boundary = purged_before(exchange, ORDER_RETENTION)
    tests = search.equality_tests(_ORDER_FIELDS)
    tests.append(lambda order: is_order_retained(order, boundary))
    states = _STATES.get(request.order_state_filter)
    if states is not None:
        tests.append(lambda order: order.state in states)
    changed = search.trade_days()
    if changed != InstantRange(None, None):
        tests.append(lambda order: order.changed in changed)
    if search.conditions:
        tests.append(predicate(search.conditions, ORDER_COLUMNS))
    window = search.window("create_time")
    ids = search.ids(request.order_id, "order_id")
    orders = exchange.trading.orders
    if ids is None and (states is None or not states.isdisjoint(DONE_STATES)):
        selected = search.select(orders.rows, window, _ORDER_INDEXES)
    else:
        candidates: Iterable[Order] = filter(None, map(orders.get, ids or ()))
        if ids is None:
            # Open orders are few, even if the account has had many
            candidates = orders.open_of(accounts)
        tests.append(lambda order: order.created in window)
        selected = orders.rows.some((order.seq - 1 for order in candidates), accounts)
    newest_first = reversed(selected)
    return _passing(newest_first if as_of is None else map(as_of, newest_first), tests)


def select_executions(
    exchange: Exchange, accounts: Sequence[str], request: wire.SearchExecutionsRequest
) -> Iterator[Execution]:
    """Yield the executions of accounts that pass every filter, oldest or newest first."""
    search = _Search(exchange, accounts, request, conditions_of(request))
    tests = search.equality_tests(_EXECUTION_FIELDS)
    if request.types:
        types = frozenset(request.types)
        tests.append(lambda execution: execution.type in types)
    if request.exec_ids:
        exec_ids = frozenset(request.exec_ids)
        tests.append(lambda execution: execution.id in exec_ids)
    if search.conditions:
        tests.append(predicate(search.conditions, EXECUTION_COLUMNS))
    window = search.window("create_time", "update_time", "transact_time")
    window = window.intersect(search.trade_days())
    window = window.intersect(InstantRange(purged_before(exchange, EXECUTION_RETENTION), None))
    executions = exchange.trading.executions
    seqs = _execution_seqs(search, request.exec_ids)
    if seqs is None:
        selected = search.select(executions, window, _EXECUTION_INDEXES)
    else:
        tests.append(lambda execution: execution.at in window)
        selected = executions.some(seqs, accounts)
    return _passing(reversed(selected) if request.newest_first else iter(selected), tests)


def select_trades(
    exchange: Exchange,
    accounts: Sequence[str],
    request: wire.SearchTradesRequest,
    conditions: Sequence[Condition],
) -> Iterator[Trade]:
    """Yield the trades with a side of these accounts that pass every filter, newest first."""
    search = _Search(exchange, accounts, request, conditions)
    order_id, exec_id = request.order_id, request.exec_id
    tests = search.equality_tests(_TRADE_FIELDS)
    if request.states:
        states = frozenset(request.states)
        tests.append(lambda trade: trade.state in states)
    if order_id:
        tests.append(lambda trade: order_id in (trade.aggressor.order.id, trade.passive.order.id))
    if exec_id:
        tests.append(lambda trade: exec_id in (trade.aggressor.id, trade.passive.id))
    if conditions:
        tests.append(predicate(conditions, trade_columns(accounts)))
    window = search.window("create_time", "transact_time")
    trades = exchange.trading.trades
    seqs = _trade_seqs(search)
    if seqs is None:
        selected = search.select(trades, window)
    else:
        tests.append(lambda trade: trade.at in window)
        selected = trades.some(seqs, accounts)
    return _passing(reversed(selected), tests)


def _execution_seqs(search: _Search, exec_ids: Sequence[str]) -> list[int] | None:
    """Return the seqs of executions by their ids, or else by their orders' ids.

    None when the search names neither.
    """
    trading = search.exchange.trading
    ids = tuple(exec_ids) or values_of(search.conditions, "exec_id")
    if ids is not None:
        return [seq for seq in map(trading.executions.seq, ids) if seq is not None]
    order_ids = search.ids(search.request.order_id, "order_id")
    if order_ids is None:
        return None
    orders = filter(None, map(trading.orders.get, order_ids))
    return [seq for order in orders for seq in trading.execution_log.of_order(order)]


def _trade_seqs(search: _Search) -> list[int] | None:
    """Return the seqs of trades by their ids, or else by their executions' or orders' ids.

    None when the search names none of them.
    """
    request: wire.SearchTradesRequest = search.request
    executions, trades = search.exchange.trading.executions, search.exchange.trading.trades
    ids = search.ids(request.trade_id or request.trade_link_id, "trade_id")
    if ids is None:
        seqs = _execution_seqs(search, [request.exec_id] if request.exec_id else [])
        if seqs is None:
            return None
        ids = tuple(executions[seq].trade_id for seq in seqs)
    return [seq for seq in map(trades.seq, ids) if seq is not None]


def _passing(rows: Iterator[R], tests: Iterable[Test[R]]) -> Iterator[R]:
    """Yield the rows that pass every test."""
    for test in tests:
        rows = filter(test, rows)
    return rows


def _window_of(condition: Condition) -> InstantRange:
    """Return the window that satisfies a condition on an instant."""
    match condition.operator:
        case _Op.FILTER_OPERATOR_EQ:
            at = parse_instant(condition.values[0])
            return InstantRange(at, at)
        case _Op.FILTER_OPERATOR_GT | _Op.FILTER_OPERATOR_GE:
            return InstantRange(parse_instant(condition.values[0]), None)
        case _Op.FILTER_OPERATOR_LT | _Op.FILTER_OPERATOR_LE:
            return InstantRange(None, parse_instant(condition.values[0]))
        case _:
            return InstantRange(None, None)
