"""Select the orders, executions and trades of a report (rules R7-R10).

Rows are found by id if the request names one, else by account or symbol within the time window.
Then the filters of the request are applied row by row. Results are iterators: a page reads no
further than its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sim.api.pipeline.retention import EXECUTIONS_KEPT, ORDERS_KEPT, order_kept, purged_before
from sim.api.reports.columns import EXECUTION_COLUMNS, FIELD_FILTERS, ORDER_COLUMNS, trade_columns
from sim.api.reports.trade_dates import in_order, trade_days
from sim.api.reports.where_clause import (
    Condition,
    field_conditions,
    parse_clause,
    predicate,
    values_of,
)
from sim.core.exchange import Exchange
from sim.core.model.enums import DONE_STATES, OrderState
from sim.core.model.orders import Execution, Order, Trade
from sim.indexes.indexed_log import IndexedLog, LogView
from sim.kernel.instants import Instant, parse_instant
from sim.messages import exchange_v1 as wire

_Op = wire.FilterOperator
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

# Fields that find rows by an index of their own, with the attribute of a row. Sides, types and
# states are scanned for, newest first, within account and window.
_ORDER_WORDS = {
    "clord_id": "clord_id",
    "client_account_id": "client_account_id",
    "client_participant_id": "client_participant_id",
    "cross_id": "cross_id",
    "host_cross_id": "host_cross_id",
    "parent_order_id": "parent_id",
}
_EXECUTION_WORDS = {
    name: f"order.{_ORDER_WORDS[name]}"
    for name in ("clord_id", "client_account_id", "client_participant_id", "parent_order_id")
}

# What makes a search a narrow one (rule R6): fields of requests, columns of filters.
_NARROW_FIELDS = (
    "symbol",
    "order_id",
    "clord_id",
    "trade_id",
    "exec_id",
    "exec_ids",
    "trade_link_id",
)
_NARROW_COLUMNS = ("symbol", "order_id", "clord_id", "trade_id", "exec_id")

Report: TypeAlias = (
    wire.SearchOrdersRequest
    | wire.SearchExecutionsRequest
    | wire.SearchTradesRequest
    | wire.GetTradeStatsRequest
)
R = TypeVar("R")
Test = Callable[[R], bool]


class Window(NamedTuple):
    """Instants from start to end, both included; None does not bind."""

    start: Instant | None
    end: Instant | None

    def within(self, other: Window) -> Window:
        """What lies in both."""
        starts = [start for start in (self.start, other.start) if start is not None]
        ends = [end for end in (self.end, other.end) if end is not None]
        return Window(max(starts, default=None), min(ends, default=None))

    def __contains__(self, at: object) -> bool:
        return (
            isinstance(at, int)
            and (self.start is None or at >= self.start)
            and (self.end is None or at <= self.end)
        )


def conditions_of(request: Report) -> list[Condition]:
    """Conditions of both kinds of filter, wherever the request has them."""
    found = parse_clause(request.where_clause) + field_conditions(
        request.field_filter, FIELD_FILTERS
    )
    if request.filter is not None:
        found += parse_clause(request.filter.where_clause) + field_conditions(
            request.filter.field_filters, FIELD_FILTERS
        )
    return found


def narrowed(request: Report, conditions: Sequence[Condition]) -> bool:
    """Whether a search names an instrument, a trade, an order or an execution."""
    return any(getattr(request, name, None) for name in _NARROW_FIELDS) or any(
        values_of(conditions, column) is not None for column in _NARROW_COLUMNS
    )


# ---- orders


def orders_found(
    exchange: Exchange,
    accounts: Sequence[str],
    request: wire.SearchOrdersRequest,
    then: Callable[[Order], Order] | None = None,
) -> Iterator[Order]:
    """Orders of accounts that meet every filter, newest first; each as `then` gives it."""
    conditions = conditions_of(request)
    boundary = purged_before(exchange, ORDERS_KEPT)
    tests = _equal(
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
            ("parent_order_id", lambda order: order.parent_id),
        ),
    )
    tests.append(lambda order: order_kept(order, boundary))
    if (states := _STATES.get(request.order_state_filter)) is not None:
        tests.append(lambda order: order.state in states)
    changed = _days(exchange, request)
    if changed != Window(None, None):
        tests.append(lambda order: order.changed in changed)
    if conditions:
        tests.append(predicate(conditions, ORDER_COLUMNS))
    window = _window(exchange, request, conditions, "create_time")
    ids = _ids(request.order_id, conditions, "order_id")
    orders = exchange.trading.orders
    if ids is not None:
        some = [order for order in map(orders.get, ids) if order is not None]
    elif states is not None and states.isdisjoint(DONE_STATES):
        # an account's open orders are few, whatever it has done before
        some = orders.open_of(accounts)
    else:
        some = None
    if some is None:
        found = _select(orders.rows, accounts, request, conditions, window, _ORDER_WORDS)
    else:
        tests.append(lambda order: order.created in window)
        found = orders.rows.some((order.seq - 1 for order in some), accounts)
    return _meeting(reversed(found) if then is None else map(then, reversed(found)), tests)


# ---- executions


def executions_found(
    exchange: Exchange, accounts: Sequence[str], request: wire.SearchExecutionsRequest
) -> Iterator[Execution]:
    """Executions of accounts that meet every filter, oldest first unless asked otherwise."""
    conditions = conditions_of(request)
    tests = _equal(
        request,
        (
            ("order_id", lambda execution: execution.order.id),
            ("clord_id", lambda execution: execution.order.clord_id),
            ("symbol", lambda execution: execution.order.symbol),
            ("client_account_id", lambda execution: execution.order.client_account_id),
            ("client_participant_id", lambda execution: execution.order.client_participant_id),
            ("parent_order_id", lambda execution: execution.order.parent_id),
        ),
    )
    if request.types:
        types = frozenset(request.types)
        tests.append(lambda execution: execution.type in types)
    if request.exec_ids:
        wanted = frozenset(request.exec_ids)
        tests.append(lambda execution: execution.id in wanted)
    if conditions:
        tests.append(predicate(conditions, EXECUTION_COLUMNS))
    window = _window(
        exchange, request, conditions, "create_time", "update_time", "transact_time"
    ).within(_days(exchange, request))
    window = window.within(Window(purged_before(exchange, EXECUTIONS_KEPT), None))
    record = exchange.trading.executions
    seqs = _execution_seqs(exchange, request, conditions)
    if seqs is None:
        found = _select(record, accounts, request, conditions, window, _EXECUTION_WORDS)
    else:
        tests.append(lambda execution: execution.at in window)
        found = record.some(seqs, accounts)
    return _meeting(reversed(found) if request.newest_first else iter(found), tests)


def _execution_seqs(
    exchange: Exchange, request: wire.SearchExecutionsRequest, conditions: Sequence[Condition]
) -> list[int] | None:
    """Seqs of the executions of an id, or of an order; None when the request names neither."""
    ids = tuple(request.exec_ids) or _ids("", conditions, "exec_id")
    if ids is not None:
        return [seq for seq in map(exchange.trading.executions.seq, ids) if seq is not None]
    orders = _ids(request.order_id, conditions, "order_id")
    return None if orders is None else _of_orders(exchange, orders)


def _of_orders(exchange: Exchange, ids: Iterable[str]) -> list[int]:
    """Seqs of the executions of orders."""
    trading = exchange.trading
    return [
        seq
        for order in map(trading.orders.get, ids)
        if order is not None
        for seq in trading.execution_log.of_order(order)
    ]


# ---- trades


def trades_found(
    exchange: Exchange,
    accounts: Sequence[str],
    request: wire.SearchTradesRequest,
    conditions: Sequence[Condition],
) -> Iterator[Trade]:
    """Trades with a side of these accounts that meet every filter, newest first."""
    tests = _equal(
        request,
        (
            ("trade_id", lambda trade: trade.id),
            ("symbol", lambda trade: trade.symbol),
            ("trade_link_id", lambda trade: trade.id),
        ),
    )
    if request.states:
        states = frozenset(request.states)
        tests.append(lambda trade: trade.state in states)
    if request.order_id:
        tests.append(
            lambda trade: request.order_id in (trade.aggressor.order.id, trade.passive.order.id)
        )
    if request.exec_id:
        tests.append(lambda trade: request.exec_id in (trade.aggressor.id, trade.passive.id))
    if conditions:
        tests.append(predicate(conditions, trade_columns(accounts)))
    window = _window(exchange, request, conditions, "create_time", "transact_time")
    record = exchange.trading.trades
    seqs = _trade_seqs(exchange, request, conditions)
    if seqs is None:
        found = _select(record, accounts, request, conditions, window)
    else:
        tests.append(lambda trade: trade.at in window)
        found = record.some(seqs, accounts)
    return _meeting(reversed(found), tests)


def _trade_seqs(
    exchange: Exchange, request: wire.SearchTradesRequest, conditions: Sequence[Condition]
) -> list[int] | None:
    """Seqs of the trades of an id, of an execution or of an order; None when the request names none
    of them.
    """
    executions, trades = exchange.trading.executions, exchange.trading.trades
    ids = _ids(request.trade_id or request.trade_link_id, conditions, "trade_id")
    if ids is None:
        found = _ids(request.exec_id, conditions, "exec_id")
        seqs = (
            [seq for seq in map(executions.seq, found) if seq is not None]
            if found is not None
            else None
        )
        if seqs is None and (orders := _ids(request.order_id, conditions, "order_id")) is not None:
            seqs = _of_orders(exchange, orders)
        if seqs is None:
            return None
        ids = tuple(executions[seq].trade_id for seq in seqs)
    return [seq for seq in map(trades.seq, ids) if seq is not None]


# ---- tools


def _select(
    rows: IndexedLog[R],
    accounts: Sequence[str],
    request: Any,
    conditions: Sequence[Condition],
    window: Window,
    words: Mapping[str, str] = MappingProxyType({}),
) -> LogView[R]:
    """Rows of accounts in a window, by the shortest index. `words`: fields of the request that are
    one, with the attribute of a row.
    """
    named = (
        (attribute, getattr(request, field) or _single(conditions, field))
        for field, attribute in words.items()
    )
    symbol = request.symbol or _single(conditions, "symbol")
    return rows.select(
        accounts,
        symbol,
        window.start,
        window.end,
        [(attribute, word) for attribute, word in named if word],
    )


def _meeting(rows: Iterator[R], tests: Sequence[Test[R]]) -> Iterator[R]:
    """Rows that meet every test."""
    for test in tests:
        rows = filter(test, rows)
    return rows


def _equal(request: Any, fields: Iterable[tuple[str, Callable[[Any], Any]]]) -> list[Test[Any]]:
    """A test for each of the fields that are set."""

    def test(of: Callable[[Any], Any], wanted: Any) -> Test[Any]:
        return lambda row: bool(of(row) == wanted)

    return [test(of, getattr(request, name)) for name, of in fields if getattr(request, name)]


def _ids(named: str, conditions: Sequence[Condition], column: str) -> tuple[str, ...] | None:
    """Ids that rows must have one of, by a field of the request or by a condition; None when
    neither narrows it.
    """
    return (named,) if named else values_of(conditions, column)


def _single(conditions: Sequence[Condition], column: str) -> str:
    values = values_of(conditions, column)
    return values[0] if values is not None and len(values) == 1 else ""


def _window(
    exchange: Exchange, request: Any, conditions: Sequence[Condition], *columns: str
) -> Window:
    """The window of a request, narrowed by conditions on columns that hold a row's instant. Those
    conditions are tested all the same.
    """
    in_order(exchange, request.start_time, request.end_time)
    window = Window(request.start_time, request.end_time)
    for condition in conditions:
        if condition.column in columns:
            window = window.within(_bounds(condition))
    return window


def _bounds(condition: Condition) -> Window:
    match condition.operator:
        case _Op.FILTER_OPERATOR_EQ:
            at = parse_instant(condition.values[0])
            return Window(at, at)
        case _Op.FILTER_OPERATOR_GT | _Op.FILTER_OPERATOR_GE:
            return Window(parse_instant(condition.values[0]), None)
        case _Op.FILTER_OPERATOR_LT | _Op.FILTER_OPERATOR_LE:
            return Window(None, parse_instant(condition.values[0]))
        case _:
            return Window(None, None)


def _days(
    exchange: Exchange, request: wire.SearchOrdersRequest | wire.SearchExecutionsRequest
) -> Window:
    days = Window(*trade_days(request.start_transact_trade_date, request.end_transact_trade_date))
    in_order(exchange, *days)
    return days
