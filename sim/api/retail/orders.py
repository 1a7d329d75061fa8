"""Order entry of retail accounts (§4.2, retail facts §2.1 and §5).

A 200 with an id says that an order was passed on; what became of it is in the executions.
`retail.sync_reject` turns business rejects into errors instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.deferred import DeferredResponse
from sim.api.pipeline.handler import handles
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
from sim.core.catalogue.assumptions import BATCH_SYNCHRONOUS
from sim.core.exchange import Exchange
from sim.core.model.commands import CancelOrder
from sim.core.model.orders import Order
from sim.core.model.refusals import AnswerTooLate, InvalidRequest, NotFound, Refusal
from sim.core.trading.synchronous import Kind, PendingAnswer
from sim.kernel.instants import Span
from sim.messages import Message
from sim.messages import retail_v1 as wire


@handles("RetailOrdersAPI.CreateOrder")
def create_order(
    exchange: Exchange, caller: Caller, request: wire.CreateOrderRequest
) -> wire.CreateOrderResponse | DeferredResponse:
    """Place an order. A synchronous one is answered with what has become of it, once the engine has
    taken it or the block time is over.
    """
    span = exchange.awaited.block_time(request.max_block_time)
    order = exchange.trading.order_service.place(
        place_command(exchange, caller, request, defer=deferred(exchange))
    )
    if not request.synchronous_execution:
        return wire.CreateOrderResponse(id=order.id, executions=[])
    return _held(exchange, "order", order, span) or wire.CreateOrderResponse(
        id=order.id, executions=_executions(exchange, order)
    )


@handles("RetailOrdersAPI.ClosePosition")
def close_position(
    exchange: Exchange, caller: Caller, request: wire.ClosePositionRequest
) -> wire.ClosePositionResponse | DeferredResponse:
    """Take the whole position in a market back to nothing with a market order, answered as
    `create_order` is.
    """
    span = exchange.awaited.block_time(request.max_block_time)
    order = exchange.trading.order_service.place(closing_command(exchange, caller, request))
    if not request.synchronous_execution:
        return wire.ClosePositionResponse(id=order.id, executions=[])
    return _held(exchange, "close", order, span) or wire.ClosePositionResponse(
        id=order.id, executions=_executions(exchange, order)
    )


@handles("RetailOrdersAPI.PreviewOrder")
def preview_order(
    exchange: Exchange, caller: Caller, request: wire.PreviewOrderRequest
) -> wire.PreviewOrderResponse:
    """The order as it would be after the same checks, possibly REJECTED; nothing is placed, so it
    has no id.
    """
    if request.request is None:
        raise InvalidRequest("request is required", remedy='wrap the order: {"request": {...}}')
    exchange.awaited.block_time(request.request.max_block_time)
    order = exchange.trading.order_service.preview(
        place_command(exchange, caller, request.request, defer=True)
    )
    message = retail_order(exchange, order)
    message.id = ""
    return wire.PreviewOrderResponse(order=message)


@handles("RetailOrdersAPI.ListOpenOrders")
def list_open_orders(
    exchange: Exchange, caller: Caller, request: wire.ListOpenOrdersRequest
) -> wire.ListOpenOrdersResponse:
    """Open orders, oldest first; of some markets when slugs are given."""
    orders = open_orders_read(exchange, caller.accounts, request.slugs)
    return wire.ListOpenOrdersResponse(orders=[retail_order(exchange, order) for order in orders])


@handles("RetailOrdersAPI.GetOrder")
def get_order(
    exchange: Exchange, caller: Caller, request: wire.GetOrderRequest
) -> wire.GetOrderResponse:
    """One of the caller's orders, open or done."""
    order = exchange.trading.orders.get(request.order_id)
    if order is None or order.account not in caller.accounts:
        raise NotFound(
            f"unknown order: {request.order_id[:80]}", remedy="an account sees its own orders only"
        )
    shown = order_read(exchange, order)
    if shown is None:
        raise NotFound(
            f"unknown order: {request.order_id[:80]}",
            rule="retail.read_lag",
            remedy="reads trail asynchronous orders for a moment: ask again",
        )
    return wire.GetOrderResponse(order=retail_order(exchange, shown))


@handles("RetailOrdersAPI.CancelOrder")
def cancel_order(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderRequest
) -> wire.CancelOrderResponse:
    """Take one order out."""
    exchange.trading.order_service.cancel(_cancel_command(exchange, caller, request))
    return wire.CancelOrderResponse()


@handles("RetailOrdersAPI.CancelOpenOrders")
def cancel_open_orders(
    exchange: Exchange, caller: Caller, request: wire.CancelOpenOrdersRequest
) -> wire.CancelOpenOrdersResponse:
    """Take out every open order, or those of some markets. The answer names what was asked for; a
    halted market keeps its orders.
    """
    asked = [order.id for order in exchange.trading.orders.open_of(caller.accounts, request.slugs)]
    _cancel_each(
        exchange, [CancelOrder(accounts=caller.accounts, order_id=order_id) for order_id in asked]
    )
    return wire.CancelOpenOrdersResponse(canceled_order_ids=asked)


@handles("RetailOrdersAPI.ModifyOrder")
def modify_order(
    exchange: Exchange, caller: Caller, request: wire.ModifyOrderRequest
) -> wire.ModifyOrderResponse:
    """Change an open order in place."""
    exchange.trading.order_service.replace(
        replace_command(exchange, caller, request, defer=deferred(exchange))
    )
    return wire.ModifyOrderResponse()


@handles("RetailOrdersAPI.CreateOrders")
def create_orders(
    exchange: Exchange, caller: Caller, request: wire.CreateOrdersRequest
) -> wire.CreateOrdersResponse | DeferredResponse:
    """Place 1 to 20 orders: all are checked for form first, then each runs on its own (rule M38).
    The answer waits for the synchronous ones.
    """
    check_batch(len(request.orders))
    awaited = exchange.awaited
    spans = [awaited.block_time(order.max_block_time) for order in request.orders]
    commands = [place_command(exchange, caller, order, defer=True) for order in request.orders]
    for command in commands:
        exchange.trading.order_service.preview(command)
    placed = [exchange.trading.order_service.place(command) for command in commands]
    if exchange.ctx.assumptions.flag(BATCH_SYNCHRONOUS):
        asked = zip(placed, spans, request.orders, strict=True)
        open = {
            order.id: span
            for order, span, entry in asked
            if entry.synchronous_execution and span and awaited.must_wait(order)
        }
        if open:
            wait = awaited.wait_for(
                "batch", [order.id for order in placed], open, max(open.values())
            )
            return DeferredResponse(wait.name, wait.until)
    return wire.CreateOrdersResponse(created_order_ids=[order.id for order in placed])


@handles("RetailOrdersAPI.CancelOrders")
def cancel_orders(
    exchange: Exchange, caller: Caller, request: wire.CancelOrdersRequest
) -> wire.CancelOrdersResponse:
    """Cancel 1 to 20 orders; unknown and finished ones are skipped, and all are echoed."""
    check_batch(len(request.orders))
    _cancel_each(exchange, [_cancel_command(exchange, caller, order) for order in request.orders])
    return wire.CancelOrdersResponse(
        canceled_order_ids=[order.order_id for order in request.orders]
    )


@handles("RetailOrdersAPI.ModifyOrders")
def modify_orders(
    exchange: Exchange, caller: Caller, request: wire.ModifyOrdersRequest
) -> wire.ModifyOrdersResponse:
    """Change 1 to 20 orders; unknown and finished ones are skipped, and all are echoed."""
    check_batch(len(request.orders))
    commands = [replace_command(exchange, caller, order, defer=True) for order in request.orders]
    for command in commands:
        try:
            exchange.trading.order_service.replace(command)
        except Refusal:
            continue
    return wire.ModifyOrdersResponse(
        modified_order_ids=[order.order_id for order in request.orders]
    )


def synchronous_answer(exchange: Exchange, wait: PendingAnswer) -> Message | Refusal:
    """Answer a synchronous call: its orders' executions so far, or a refusal when the edge gave up.

    The list of executions is empty while the engine still has the order in its queue.
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
    if wait.kind == "close":
        return wire.ClosePositionResponse(id=order_id, executions=executions)
    return wire.CreateOrderResponse(id=order_id, executions=executions)


def _held(exchange: Exchange, kind: Kind, order: Order, span: Span) -> DeferredResponse | None:
    """The wait for an order's outcome; None where there is nothing to wait for."""
    if not span or not exchange.awaited.must_wait(order):
        return None
    wait = exchange.awaited.wait_for(kind, (order.id,), (order.id,), span)
    return DeferredResponse(wait.name, wait.until)


def _executions(exchange: Exchange, order: Order) -> list[wire.Execution]:
    """Everything that has happened to an order, in order; whoever is told that may read it too."""
    exchange.awaited.note_answered((order.id,))
    execution_log = exchange.trading.execution_log
    return [
        retail_execution(exchange, execution_log.executions.rows[seq])
        for seq in reversed(list(execution_log.of_order(order)))
    ]


def _cancel_command(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderRequest
) -> CancelOrder:
    if not request.order_id:
        raise InvalidRequest("orderId is required")
    return CancelOrder(
        accounts=caller.accounts,
        order_id=request.order_id,
        symbol=market_of(exchange, request.market_slug).symbol,
    )


def _cancel_each(exchange: Exchange, commands: Sequence[CancelOrder]) -> None:
    for command in commands:
        try:
            exchange.trading.order_service.cancel(command)
        except Refusal:
            continue
