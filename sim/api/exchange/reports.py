"""Searches, single records and downloads of orders, executions and trades (§4.3, rules R6-R10).

Every page reads the rows anew, so a client that pages through changing rows may miss
or repeat some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.api.pipeline.paging import R, paged
from sim.api.rendering.exchange_orders import execution_message, order_message, trade_message
from sim.api.rendering.retention import (
    EXECUTION_RETENTION,
    ORDER_RETENTION,
    is_execution_retained,
    is_order_retained,
    purged_before,
)
from sim.api.reports.csv_writer import csv_chunks
from sim.api.reports.filters import (
    conditions_of,
    is_narrow,
    select_executions,
    select_orders,
    select_trades,
)
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import SEARCH_PAGE_SIZE
from sim.core.catalogue.quirks import UNFILTERED_REPORTS_TIME_OUT, UNFILTERED_SEARCH_TIMES_OUT
from sim.core.exchange import Exchange
from sim.core.model.orders import Execution, Order
from sim.core.model.refusals import EdgeTimeout, NotFound, TooManyRecords, cut
from sim.core.trading.synchronous import EDGE_TIMEOUT
from sim.kernel.instants import NS_PER_MS, Span, seconds

NARROW_SEARCH: Span = 130 * NS_PER_MS
# How long an unfiltered search takes when it succeeds, as a third of them do. The specification
# does not state it; it has to be below the timeout of the edge.
WIDE_SEARCH: Span = seconds(12)

_NARROWER = "narrow the search by symbol; do not retry"

Window: TypeAlias = (
    wire.DownloadOrdersRequest | wire.DownloadExecutionsRequest | wire.DownloadTradesRequest
)


# ---- orders


@handles("ReportAPI.SearchOrders")
def search_orders(
    exchange: Exchange, caller: Caller, request: wire.SearchOrdersRequest
) -> wire.SearchOrdersResponse:
    """Search orders in their current state, newest first."""
    orders = select_orders(exchange, visible_accounts(caller, request.accounts), request)
    page, following = searched(exchange, orders, request)
    _check_edge_timeout(exchange, request)
    with_last = page if request.with_last_execution else []
    return wire.SearchOrdersResponse(
        order=[order_message(exchange, order) for order in page],
        next_page_token=following["next_page_token"],
        last_executions=[_last_execution(exchange, order) for order in with_last],
    )


@handles("ReportAPI.GetOrder")
def get_order(
    exchange: Exchange, caller: Caller, request: wire.GetOrderRequest
) -> wire.GetOrderResponse:
    """Return an order of the accounts that a search covers; a participant sees its own (R8)."""
    require(request.order_id, "order_id", rule="R8")
    order = exchange.trading.orders.get(request.order_id)
    if (
        order is None
        or order.account not in visible_accounts(caller)
        or not is_order_retained(order, purged_before(exchange, ORDER_RETENTION))
    ):
        raise NotFound(
            f"unknown order: {cut(request.order_id)}",
            rule="R8",
            remedy="orders of other participants or older than 90 days are hidden",
        )
    return wire.GetOrderResponse(order=order_message(exchange, order))


@handles("ReportAPI.DownloadOrders")
def download_orders(
    exchange: Exchange, caller: Caller, request: wire.DownloadOrdersRequest
) -> Iterator[wire.DownloadOrdersResponse]:
    """Return the orders created in a window as CSV, newest first.

    The text is written later than the request, but shows the orders as they were at the request.
    """
    accounts = visible_accounts(caller, request.accounts)
    search = wire.SearchOrdersRequest(start_time=request.start_time, end_time=request.end_time)
    orders = select_orders(exchange, accounts, search, exchange.trading.execution_log.as_of_now())
    rows = (order_message(exchange, order) for order in orders)
    chunks = csv_chunks(wire.Order, rows)
    return (wire.DownloadOrdersResponse(filechunk=chunk.decode()) for chunk in chunks)


def _check_edge_timeout(
    exchange: Exchange, request: wire.SearchOrdersRequest | wire.SearchExecutionsRequest
) -> None:
    """Raise the timeout that an unfiltered search may run into (§7.1, rule R6).

    The specification does not say how often searches of orders and executions time out, so the
    quirk is off by default.
    """
    quirks = exchange.ctx.quirks
    if (
        quirks.possible(UNFILTERED_REPORTS_TIME_OUT)
        and not is_narrow(request, conditions_of(request))
        and quirks.applies(UNFILTERED_REPORTS_TIME_OUT)
    ):
        raise EdgeTimeout(EDGE_TIMEOUT, rule="R6", remedy=_NARROWER)


def _last_execution(exchange: Exchange, order: Order) -> wire.Execution:
    seq = next(exchange.trading.execution_log.of_order(order), None)
    if seq is None:
        return wire.Execution(order=order_message(exchange, order))
    return execution_message(exchange, exchange.trading.executions[seq])


# ---- executions


@handles("ReportAPI.SearchExecutions")
def search_executions(
    exchange: Exchange, caller: Caller, request: wire.SearchExecutionsRequest
) -> wire.SearchExecutionsResponse:
    """Search executions, oldest first unless `newest_first`.

    A window before the retention boundary is empty, not an error (rule R10).
    """
    rows = select_executions(exchange, visible_accounts(caller, request.accounts), request)
    page, following = searched(exchange, rows, request)
    _check_edge_timeout(exchange, request)
    return wire.SearchExecutionsResponse(
        executions=[execution_message(exchange, execution) for execution in page], **following
    )


@handles("ReportAPI.GetExecution")
def get_execution(
    exchange: Exchange, caller: Caller, request: wire.GetExecutionRequest
) -> wire.GetExecutionResponse:
    """Return an execution of the accounts that a search covers; a participant sees its own (R8)."""
    require(request.exec_id, "exec_id", rule="R8")
    execution: Execution | None = exchange.trading.executions.get(request.exec_id)
    if (
        execution is None
        or execution.order.account not in visible_accounts(caller)
        or not is_execution_retained(execution, purged_before(exchange, EXECUTION_RETENTION))
    ):
        raise NotFound(
            f"unknown execution: {cut(request.exec_id)}",
            rule="R10",
            remedy="executions of other participants or older than 7 days are hidden",
        )
    return wire.GetExecutionResponse(execution=execution_message(exchange, execution))


@handles("ReportAPI.DownloadExecutions")
def download_executions(
    exchange: Exchange, caller: Caller, request: wire.DownloadExecutionsRequest
) -> Iterator[wire.DownloadExecutionsResponse]:
    """Return the executions of a window as CSV, oldest first."""
    accounts = visible_accounts(caller, request.accounts)
    search = wire.SearchExecutionsRequest(start_time=request.start_time, end_time=request.end_time)
    executions = select_executions(exchange, accounts, search)
    rows = (execution_message(exchange, execution) for execution in executions)
    chunks = csv_chunks(wire.Execution, rows)
    return (wire.DownloadExecutionsResponse(filechunk=chunk.decode()) for chunk in chunks)


def searched(
    exchange: Exchange, rows: Iterable[R], request: Any
) -> tuple[Sequence[R], dict[str, Any]]:
    """Return the page of a search, as `paged` does. A page size may be required."""
    required = exchange.ctx.assumptions.text(SEARCH_PAGE_SIZE) == "required"
    if required and not request.page_size:
        raise TooManyRecords(remedy="send pageSize")
    return paged(rows, request)


# ---- trades


@handles("ReportAPI.SearchTrades")
def search_trades(
    exchange: Exchange, caller: Caller, request: wire.SearchTradesRequest
) -> wire.SearchTradesResponse:
    """Search trades in which the caller has a side, newest first.

    An unfiltered search usually times out at the edge (rule R6). An invalid request is
    refused at once.
    """
    accounts = visible_accounts(caller, request.accounts)
    conditions = conditions_of(request)
    trades = select_trades(exchange, accounts, request, conditions)
    page, following = searched(exchange, trades, request)
    narrow = is_narrow(request, conditions)
    if not narrow and exchange.ctx.quirks.applies(UNFILTERED_SEARCH_TIMES_OUT):
        raise EdgeTimeout(EDGE_TIMEOUT, rule="R6", remedy=_NARROWER)
    exchange.add_service_time(NARROW_SEARCH if narrow else WIDE_SEARCH)
    return wire.SearchTradesResponse(
        trade=[trade_message(exchange, trade, caller.accounts) for trade in page],
        next_page_token=following["next_page_token"],
    )


@handles("ReportAPI.DownloadTrades")
def download_trades(
    exchange: Exchange, caller: Caller, request: wire.DownloadTradesRequest
) -> Iterator[wire.DownloadTradesResponse]:
    """Return the trades of a window as CSV, newest first.

    The clearing state of a trade is read when its line is written.
    """
    accounts = visible_accounts(caller, request.accounts)
    search = wire.SearchTradesRequest(start_time=request.start_time, end_time=request.end_time)
    trades = select_trades(exchange, accounts, search, [])
    rows = (trade_message(exchange, trade, caller.accounts) for trade in trades)
    chunks = csv_chunks(wire.Trade, rows)
    return (wire.DownloadTradesResponse(filechunk=chunk.decode()) for chunk in chunks)
