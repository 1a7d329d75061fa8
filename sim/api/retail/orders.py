"""Order entry for retail accounts (§4.2).

Status 200 with an id means that the order was forwarded; its executions report the outcome. With
the assumption `retail.sync_reject`, business rejects become errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import DeferredResponse, handles, require
from sim.api.retail.messages import retail_execution, retail_order
from sim.api.retail.order_request import (
    check_batch,
    closing_command,
    deferred,
    market_of,
    place_command,
    replace_command,
)
from sim.api.retail.read_lag import open_orders_read, order_read
from sim.contract.messages import Message
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import BATCH_SYNCHRONOUS, PREVIEW_MARKET
from sim.core.catalogue.quirks import CONNECTION_REFUSED
from sim.core.exchange import Exchange
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.orders import Order
from sim.core.model.refusals import (
    AnswerTooLate,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    Refusal,
    cut,
)
from sim.core.trading.synchronous import Kind, PendingAnswer
from sim.kernel.instants import Span

C = TypeVar("C")
CONNECTION_TEXT = "Your connection looks like a VPN"

# The answers of the calls that place one order, by kind.
_ANSWERS = {"order": wire.CreateOrderResponse, "close": wire.ClosePositionResponse}


@handles("RetailOrdersAPI.CreateOrder")
def create_order(
    exchange: Exchange, caller: Caller, request: wire.CreateOrderRequest
) -> Message | DeferredResponse:
    """Place an order.

    A synchronous call is answered with the executions so far, once the engine has processed the
    order or the block time has passed.
    """
    span = exchange.awaited.block_time(request.max_block_time)
    command = place_command(exchange, caller, request, defer=deferred(exchange))
    return _entered(exchange, "order", command, span if request.synchronous_execution else None)


@handles("RetailOrdersAPI.ClosePosition")
def close_position(
    exchange: Exchange, caller: Caller, request: wire.ClosePositionRequest
) -> Message | DeferredResponse:
    """Close the whole position in a market with a market order. Answers like `create_order`."""
    span = exchange.awaited.block_time(request.max_block_time)
    command = closing_command(exchange, caller, request)
    return _entered(exchange, "close", command, span if request.synchronous_execution else None)


def _entered(
    exchange: Exchange, kind: Kind, command: PlaceOrder, span: Span | None
) -> Message | DeferredResponse:
    """Enter an order. A synchronous call, one with a `span`, waits while there is cause to."""
    _check_connection(exchange)
    order = exchange.trading.order_service.enter(command)
    if span is None:
        return _ANSWERS[kind](id=order.id, executions=[])
    if span and exchange.awaited.must_wait(order):
        wait = exchange.awaited.wait_for(kind, (order.id,), (order.id,), span)
        return DeferredResponse(wait.name, wait.until)
    return _ANSWERS[kind](id=order.id, executions=_executions(exchange, order))


def _check_connection(exchange: Exchange) -> None:
    """Refuse new orders from a data centre, where the quirk occurs."""
    if exchange.ctx.quirks.applies(CONNECTION_REFUSED):
        remedy = "try from another network; reads and cancels go on"
        raise PermissionDenied(CONNECTION_TEXT, rule="S7.1-3", remedy=remedy)


@handles("RetailOrdersAPI.PreviewOrder")
def preview_order(
    exchange: Exchange, caller: Caller, request: wire.PreviewOrderRequest
) -> wire.PreviewOrderResponse:
    """Apply the checks of `create_order` and return the order that would result: PENDING_NEW or
    REJECTED.

    Nothing is placed, so the order has no id.
    """
    order = require(request.request, "request", remedy='wrap the order: {"request": {...}}')
    exchange.awaited.block_time(order.max_block_time)
    needs_cash = order.type == wire.OrderType.ORDER_TYPE_MARKET and (
        exchange.ctx.assumptions.text(PREVIEW_MARKET) == "cash"
    )
    lacks_size = order.cash_order_qty is None and order.quantity is None
    command = (
        None if lacks_size and needs_cash else place_command(exchange, caller, order, defer=True)
    )
    if command is None or (needs_cash and not command.cash_qty):
        remedy = "send cashOrderQty: the preview shows how much it would buy"
        raise InvalidRequest("cash_order_qty is required for market order", remedy=remedy)
    message = retail_order(exchange, exchange.trading.order_service.preview(command))
    if message.state != wire.OrderState.ORDER_STATE_REJECTED:
        message.state, message.last_transact_time = wire.OrderState.ORDER_STATE_PENDING_NEW, None
    message.id = ""
    return wire.PreviewOrderResponse(order=message)


@handles("RetailOrdersAPI.ListOpenOrders")
def list_open_orders(
    exchange: Exchange, caller: Caller, request: wire.ListOpenOrdersRequest
) -> wire.ListOpenOrdersResponse:
    """List open orders, oldest first, optionally restricted to the markets given by slug."""
    orders = open_orders_read(exchange, caller.accounts, request.slugs)
    return wire.ListOpenOrdersResponse(orders=[retail_order(exchange, order) for order in orders])


@handles("RetailOrdersAPI.GetOrder")
def get_order(
    exchange: Exchange, caller: Caller, request: wire.GetOrderRequest
) -> wire.GetOrderResponse:
    """Return one of the caller's orders, open or finished."""
    order = exchange.trading.orders.get(request.order_id)
    if order is None or order.account not in caller.accounts:
        raise NotFound(
            f"unknown order: {cut(request.order_id)}", remedy="use the id of one of your own orders"
        )
    visible = order_read(exchange, order)
    if visible is None:
        raise NotFound(
            f"unknown order: {cut(request.order_id)}",
            rule="M45",
            remedy="asynchronous orders show up in reads after a short delay: try again",
        )
    return wire.GetOrderResponse(order=retail_order(exchange, visible))


@handles("RetailOrdersAPI.CancelOrder")
def cancel_order(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderRequest
) -> wire.CancelOrderResponse:
    """Cancel one order."""
    exchange.trading.order_service.cancel(_cancel_command(exchange, caller, request))
    return wire.CancelOrderResponse()


@handles("RetailOrdersAPI.CancelOpenOrders")
def cancel_open_orders(
    exchange: Exchange, caller: Caller, request: wire.CancelOpenOrdersRequest
) -> wire.CancelOpenOrdersResponse:
    """Cancel every open order, optionally restricted to some markets.

    The answer lists every order that it tried to cancel. Orders in a halted market stay open.
    """
    accounts = caller.accounts
    ids = [order.id for order in exchange.trading.orders.open_of(accounts, request.slugs)]
    _each(
        exchange.trading.order_service.cancel,
        [CancelOrder(accounts=accounts, order_id=order_id) for order_id in ids],
    )
    return wire.CancelOpenOrdersResponse(canceled_order_ids=ids)


@handles("RetailOrdersAPI.ModifyOrder")
def modify_order(
    exchange: Exchange, caller: Caller, request: wire.ModifyOrderRequest
) -> wire.ModifyOrderResponse:
    """Change an open order in place."""
    command = replace_command(exchange, caller, request, defer=deferred(exchange))
    exchange.trading.order_service.replace(command)
    return wire.ModifyOrderResponse()


@handles("RetailOrdersAPI.CreateOrders")
def create_orders(
    exchange: Exchange, caller: Caller, request: wire.CreateOrdersRequest
) -> wire.CreateOrdersResponse | DeferredResponse:
    """Place 1 to 20 orders (rule M38).

    All entries are checked for form first, then placed one by one. The answer waits for
    the synchronous ones.
    """
    check_batch(len(request.orders))
    _check_connection(exchange)
    awaited = exchange.awaited
    spans = [awaited.block_time(order.max_block_time) for order in request.orders]
    commands = [place_command(exchange, caller, order, defer=True) for order in request.orders]
    for command in commands:
        exchange.trading.order_service.preview(command)
    placed = [exchange.trading.order_service.enter(command) for command in commands]
    ids = [order.id for order in placed]
    if exchange.ctx.assumptions.flag(BATCH_SYNCHRONOUS):
        pending = {
            order.id: span
            for order, span, entry in zip(placed, spans, request.orders, strict=True)
            if entry.synchronous_execution and span and awaited.must_wait(order)
        }
        if pending:
            wait = awaited.wait_for("batch", ids, pending, max(pending.values()))
            return DeferredResponse(wait.name, wait.until)
    return wire.CreateOrdersResponse(created_order_ids=ids)


@handles("RetailOrdersAPI.CancelOrders")
def cancel_orders(
    exchange: Exchange, caller: Caller, request: wire.CancelOrdersRequest
) -> wire.CancelOrdersResponse:
    """Cancel 1 to 20 orders.

    Unknown and finished orders are skipped: the answer names those that are canceled.
    """
    check_batch(len(request.orders))
    commands = [_cancel_command(exchange, caller, order) for order in request.orders]
    ids = _each(exchange.trading.order_service.cancel, commands)
    return wire.CancelOrdersResponse(canceled_order_ids=ids)


@handles("RetailOrdersAPI.ModifyOrders")
def modify_orders(
    exchange: Exchange, caller: Caller, request: wire.ModifyOrdersRequest
) -> wire.ModifyOrdersResponse:
    """Change 1 to 20 orders.

    Unknown and finished orders are skipped: the answer names those that are changed.
    """
    check_batch(len(request.orders))
    commands = [replace_command(exchange, caller, order, defer=True) for order in request.orders]
    ids = _each(exchange.trading.order_service.replace, commands)
    return wire.ModifyOrdersResponse(modified_order_ids=ids)


def synchronous_answer(exchange: Exchange, wait: PendingAnswer) -> Message | Refusal:
    """Answer a synchronous call with its executions so far, or refuse if the edge timed out.

    The list of executions is empty while the order waits in the engine's queue.
    """
    if wait.timed_out:
        return AnswerTooLate(
            0,
            rule="S7.1-9",
            remedy=(
                "look for the orders before trying again, for they were taken; or ask for a"
                " maxBlockTime below 30 s"
            ),
        )
    if wait.kind == "batch":
        exchange.awaited.note_answered(wait.orders)
        return wire.CreateOrdersResponse(created_order_ids=wait.orders)
    (order_id,) = wait.orders
    executions = _executions(exchange, exchange.trading.orders.require(order_id))
    return _ANSWERS[wait.kind](id=order_id, executions=executions)


def _executions(exchange: Exchange, order: Order) -> list[wire.Execution]:
    """Return the executions of an order, oldest first, and make the order visible to reads."""
    exchange.awaited.note_answered((order.id,))
    log = exchange.trading.execution_log
    seqs = reversed(list(log.of_order(order)))
    return [retail_execution(exchange, log.executions.rows[seq]) for seq in seqs]


def _cancel_command(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderRequest
) -> CancelOrder:
    require(request.order_id, "orderId")
    return CancelOrder(
        accounts=caller.accounts,
        order_id=request.order_id,
        symbol=market_of(exchange, request.market_slug).symbol,
    )


def _each(act: Callable[[C], Order], commands: Sequence[C]) -> list[str]:
    """Execute each command, skipping those that are refused. Returns the ids of the orders."""
    ids = []
    for command in commands:
        with suppress(Refusal):
            ids.append(act(command).id)
    return ids
