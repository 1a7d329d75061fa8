"""Search, single records and downloads of orders, executions and trades (§4.3, rules R6-R10). Pages
re-read the rows, so a sweep drifts as they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.pipeline.retention import (
    EXECUTIONS_KEPT,
    ORDERS_KEPT,
    execution_kept,
    order_kept,
    purged_before,
)
from sim.api.rendering.exchange import execution_message, order_message, trade_message
from sim.api.reports.csv_writer import csv_chunks
from sim.api.reports.filters import (
    conditions_of,
    executions_found,
    narrowed,
    orders_found,
    trades_found,
)
from sim.core.catalogue.quirks import UNFILTERED_REPORTS_TIME_OUT, UNFILTERED_SEARCH_TIMES_OUT
from sim.core.exchange import Exchange
from sim.core.model.orders import Execution, Order
from sim.core.model.refusals import EdgeTimeout, InvalidRequest, NotFound
from sim.core.trading.synchronous import EDGE_TIMEOUT
from sim.kernel.instants import NS_PER_MS, Span, seconds
from sim.messages import exchange_v1 as wire

PAGE_DEFAULT = 100
NARROW_SEARCH: Span = 130 * NS_PER_MS
# the third of the unfiltered searches that makes it; not stated anywhere, but below the edge's
# limit
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
    """Orders as they are now, newest first."""
    found = orders_found(exchange, visible_accounts(caller, request.accounts), request)
    page, token = page_of(found, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    _meet_the_edge(exchange, request)
    last = (
        [_last_execution(exchange, order) for order in page] if request.with_last_execution else []
    )
    return wire.SearchOrdersResponse(
        order=[order_message(exchange, order) for order in page],
        next_page_token=token,
        last_executions=last,
    )


@handles("ReportAPI.GetOrder")
def get_order(
    exchange: Exchange, caller: Caller, request: wire.GetOrderRequest
) -> wire.GetOrderResponse:
    """One order of the accounts that a search covers: the participant's, where one is named (rule
    R8).
    """
    if not request.order_id:
        raise InvalidRequest("order_id is required", rule="R8")
    order = exchange.trading.orders.get(request.order_id)
    if (
        order is None
        or order.account not in visible_accounts(caller)
        or not order_kept(order, purged_before(exchange, ORDERS_KEPT))
    ):
        raise NotFound(
            f"unknown order: {request.order_id[:80]}",
            rule="R8",
            remedy="those of other participants, or older than 90 days, are not shown",
        )
    return wire.GetOrderResponse(order=order_message(exchange, order))


@handles("ReportAPI.DownloadOrders")
def download_orders(
    exchange: Exchange, caller: Caller, request: wire.DownloadOrdersRequest
) -> Iterator[wire.DownloadOrdersResponse]:
    """Orders created in a window as CSV, newest first, as they are now: the text is read later,
    when they may have moved on.
    """
    search = wire.SearchOrdersRequest(start_time=request.start_time, end_time=request.end_time)
    found = orders_found(
        exchange,
        visible_accounts(caller, request.accounts),
        search,
        exchange.trading.execution_log.past(),
    )
    rows = (order_message(exchange, order) for order in found)
    return (
        wire.DownloadOrdersResponse(filechunk=chunk.decode())
        for chunk in csv_chunks(wire.Order, rows)
    )


def _meet_the_edge(
    exchange: Exchange, request: wire.SearchOrdersRequest | wire.SearchExecutionsRequest
) -> None:
    """Unfiltered report queries may take too long (§7.1); for orders and executions nobody says how
    often, so never unless wanted (rule R6).
    """
    quirks = exchange.ctx.quirks
    if (
        quirks.possible(UNFILTERED_REPORTS_TIME_OUT)
        and not narrowed(request, conditions_of(request))
        and quirks.strikes(UNFILTERED_REPORTS_TIME_OUT)
    ):
        raise EdgeTimeout(EDGE_TIMEOUT, rule="R6", remedy=_NARROWER)


def _last_execution(exchange: Exchange, order: Order) -> wire.Execution:
    last = next(exchange.trading.execution_log.of_order(order), None)
    return (
        wire.Execution(order=order_message(exchange, order))
        if last is None
        else execution_message(exchange, exchange.trading.executions[last])
    )


# ---- executions


@handles("ReportAPI.SearchExecutions")
def search_executions(
    exchange: Exchange, caller: Caller, request: wire.SearchExecutionsRequest
) -> wire.SearchExecutionsResponse:
    """Executions, oldest first unless `newest_first`. What lies before the retention boundary is
    empty, not an error (rule R10).
    """
    found = executions_found(exchange, visible_accounts(caller, request.accounts), request)
    page, token = page_of(found, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    _meet_the_edge(exchange, request)
    return wire.SearchExecutionsResponse(
        executions=[execution_message(exchange, execution) for execution in page],
        next_page_token=token,
        eof=not token,
    )


@handles("ReportAPI.GetExecution")
def get_execution(
    exchange: Exchange, caller: Caller, request: wire.GetExecutionRequest
) -> wire.GetExecutionResponse:
    """One execution of the accounts that a search covers: the participant's, where one is named
    (rule R8).
    """
    if not request.exec_id:
        raise InvalidRequest("exec_id is required", rule="R8")
    found: Execution | None = exchange.trading.executions.get(request.exec_id)
    if (
        found is None
        or found.order.account not in visible_accounts(caller)
        or not execution_kept(found, purged_before(exchange, EXECUTIONS_KEPT))
    ):
        raise NotFound(
            f"unknown execution: {request.exec_id[:80]}",
            rule="R10",
            remedy="those of other participants, or older than 7 days, are not shown",
        )
    return wire.GetExecutionResponse(execution=execution_message(exchange, found))


@handles("ReportAPI.DownloadExecutions")
def download_executions(
    exchange: Exchange, caller: Caller, request: wire.DownloadExecutionsRequest
) -> Iterator[wire.DownloadExecutionsResponse]:
    """Executions of a window as CSV, oldest first."""
    search = wire.SearchExecutionsRequest(start_time=request.start_time, end_time=request.end_time)
    found = executions_found(exchange, visible_accounts(caller, request.accounts), search)
    rows = (execution_message(exchange, row) for row in found)
    return (
        wire.DownloadExecutionsResponse(filechunk=chunk.decode())
        for chunk in csv_chunks(wire.Execution, rows)
    )


# ---- trades


@handles("ReportAPI.SearchTrades")
def search_trades(
    exchange: Exchange, caller: Caller, request: wire.SearchTradesRequest
) -> wire.SearchTradesResponse:
    """Trades with a side of the caller's, newest first. One that is not narrowed usually dies at
    the edge (rule R6).
    """
    accounts = visible_accounts(caller, request.accounts)
    conditions = conditions_of(request)
    found = trades_found(exchange, accounts, request, conditions)
    # what is wrong with a request is found at once
    page, token = page_of(found, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    narrow = narrowed(request, conditions)
    if not narrow and exchange.ctx.quirks.strikes(UNFILTERED_SEARCH_TIMES_OUT):
        raise EdgeTimeout(EDGE_TIMEOUT, rule="R6", remedy=_NARROWER)
    exchange.add_service_time(NARROW_SEARCH if narrow else WIDE_SEARCH)
    return wire.SearchTradesResponse(
        trade=[trade_message(exchange, trade, caller.accounts) for trade in page],
        next_page_token=token,
    )


@handles("ReportAPI.DownloadTrades")
def download_trades(
    exchange: Exchange, caller: Caller, request: wire.DownloadTradesRequest
) -> Iterator[wire.DownloadTradesResponse]:
    """Trades of a window as CSV, newest first. How far one has cleared is read when its line is
    written.
    """
    accounts = visible_accounts(caller, request.accounts)
    search = wire.SearchTradesRequest(start_time=request.start_time, end_time=request.end_time)
    rows = (
        trade_message(exchange, trade, caller.accounts)
        for trade in trades_found(exchange, accounts, search, [])
    )
    return (
        wire.DownloadTradesResponse(filechunk=chunk.decode())
        for chunk in csv_chunks(wire.Trade, rows)
    )
