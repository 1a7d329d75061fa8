"""Order entry on the exchange: insert, cancel, replace, preview, cross, open orders (§4.3,
rules M2-M38).

The core validates commands. This module refuses requests that cannot become one: unknown
enumeration numbers, accounts of other participants, lists of the wrong length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import json
from msgspec.structs import replace

from sim.api.pipeline.account_access import trading_account, visible_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.api.rendering.exchange_orders import order_message
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import CROSS_ACCOUNTS, EXCHANGE_REJECTS, ORDER_PARENT
from sim.core.exchange import Exchange
from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.enums import OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.refusals import InvalidRequest, NotFound, PermissionDenied, Refusal

LIST_MAX = 20
_ENTRY_KEY = "entry"  # kind of the idempotency keys of participants' orders

E = TypeVar("E", bound=IntEnum)
R = TypeVar("R")


# ---- insert


@handles("OrderEntryAPI.InsertOrder")
def insert_order(
    exchange: Exchange, caller: Caller, request: wire.InsertOrderRequest
) -> wire.InsertOrderResponse:
    """Place an order and return a receipt.

    The assumption `orders.sync_reject` decides whether a business reject is a refusal or a later
    execution (rule M7).
    """
    deferred = exchange.ctx.assumptions.text(EXCHANGE_REJECTS) == "async"
    command = place_command(caller, request, deferred=deferred)
    exchange.order_sessions.check(command.session_id, command.account)
    return wire.InsertOrderResponse(order_id=_enter_once(exchange, request, command))


def _enter_once(exchange: Exchange, request: wire.InsertOrderRequest, command: PlaceOrder) -> str:
    """Place an order and return its id.

    S2.7-3: an idempotency key that the participant used before has its order already.
    """
    key, owner = request.idempotency_key, command.participant
    earlier = _earlier_order(exchange, owner, request)
    if earlier:
        return earlier
    order = exchange.trading.order_service.enter(command)
    if key:
        exchange.partners.remember(_ENTRY_KEY, owner, key, json.encode(request), order.id)
    return order.id


def _earlier_order(exchange: Exchange, owner: str, request: wire.InsertOrderRequest) -> str:
    """Return the id of the order of an idempotency key; "" for a new one or none.

    Refused as AlreadyExists if the key was used for another order.
    """
    if not request.idempotency_key:
        return ""
    key, body = request.idempotency_key, json.encode(request)
    return exchange.partners.earlier_result(_ENTRY_KEY, owner, key, body, "S2.7-3")


@handles("OrderEntryAPI.InsertOrderList")
def insert_order_list(
    exchange: Exchange, caller: Caller, request: wire.InsertOrderListRequest
) -> wire.InsertOrderListResponse:
    """Place a list of orders and return a receipt for each.

    One malformed entry refuses the whole list before anything is placed. A business reject becomes
    a REJECTED execution (rule M38).
    """
    entries = _entries(request.requests)
    commands = [_entry_command(exchange, caller, *each) for each in enumerate(entries)]
    ids = [_enter_once(exchange, entries[0], commands[0])]
    parent = ids[0] if exchange.ctx.assumptions.text(ORDER_PARENT) == "list" else ""
    for entry, command in zip(entries[1:], commands[1:], strict=True):
        ids.append(_enter_once(exchange, entry, replace(command, parent_id=parent)))
    return wire.InsertOrderListResponse(
        responses=[wire.InsertOrderResponse(order_id=order_id) for order_id in ids]
    )


@handles("OrderEntryAPI.PreviewOrder")
def preview_order(
    exchange: Exchange, caller: Caller, request: wire.PreviewOrderRequest
) -> wire.PreviewOrderResponse:
    """Return the order that would be accepted, as PENDING_NEW, without placing it."""
    remedy = "send the order to preview as request"
    command = place_command(caller, require(request.request, "request", rule="M2", remedy=remedy))
    exchange.order_sessions.check(command.session_id, command.account)
    order = exchange.trading.order_service.preview(command)
    message = order_message(exchange, order)
    message.state = wire.OrderState.ORDER_STATE_PENDING_NEW
    return wire.PreviewOrderResponse(preview_order=message)


def place_command(
    caller: Caller, request: wire.InsertOrderRequest, *, deferred: bool = False
) -> PlaceOrder:
    """Return the command of a request, for the calling participant."""
    account = trading_account(caller, request.account)
    if request.user and request.user != caller.participant:
        raise PermissionDenied(
            rule="S5.1-6", remedy="user must equal the participant of x-participant-id"
        )
    if request.quote:
        raise InvalidRequest(
            "quote: unknown quote",
            rule="L13",
            remedy="omit quote; a confirmed quote trades without an order",
        )
    command = PlaceOrder(
        symbol=request.symbol,
        account=account,
        participant=caller.participant or "",
        side=member(Side, request.side, "side"),
        qty=request.order_qty,
        price=request.price,
        type=member(OrderType, request.type, "type"),
        tif=member(TimeInForce, request.time_in_force, "time_in_force"),
        clord_id=request.clord_id,
        deferred=deferred,
    )
    terms, prevention = _rare_terms(request), request.self_match_prevention_instruction
    if not any(terms) and request.good_till_time is None and not prevention:
        return command
    smp = member(SelfMatchPrevention, prevention, "self_match_prevention_instruction")
    member(wire.OrderCapacity, request.order_capacity, "order_capacity")
    member(wire.ManualOrderIndicator, request.manual_order_indicator, "manual_order_indicator")
    changes = {name: value for name, value in zip(_RARE_TERMS, terms, strict=True) if value}
    return replace(command, good_till=request.good_till_time, smp=smp, **changes)


# Rarely used terms, by their names in the command and in the request. All are read in one call, so
# that an order without any of them is cheap.
_RARE_TERMS = {
    "stop_price": "stop_price",
    "min_qty": "min_qty",
    "cash_qty": "cash_order_qty",
    "all_or_none": "all_or_none",
    "post_only": "participate_dont_initiate",
    "strict_limit": "strict_limit",
    "best_limit": "best_limit",
    "immediately_executable_limit": "immediately_executable_limit",
    "ignore_price_checks": "ignore_price_validity_checks",
    "smp_id": "self_match_prevention_id",
    "order_capacity": "order_capacity",
    "manual_indicator": "manual_order_indicator",
    "client_account_id": "client_account_id",
    "client_participant_id": "client_participant_id",
    "session_id": "session_id",
}
_rare_terms = attrgetter(*_RARE_TERMS.values())


def _entry_command(
    exchange: Exchange, caller: Caller, index: int, request: wire.InsertOrderRequest
) -> PlaceOrder:
    """Return the command of one entry.

    It is previewed, so that an invalid entry refuses the list.
    """
    try:
        command = place_command(caller, request, deferred=True)
        exchange.order_sessions.check(command.session_id, command.account)
        if not _earlier_order(exchange, command.participant, request):
            exchange.trading.order_service.preview(command)
    except InvalidRequest as error:
        raise refusal_of_entry(index, error) from error
    except NotFound as error:
        message = f"requests[{index}]: {error.message}"
        raise NotFound(message, rule=error.rule, remedy=error.remedy) from error
    return command


def refusal_of_entry(index: int, error: InvalidRequest) -> InvalidRequest:
    """Return a refusal that names the entry of the request that caused it."""
    message = f"requests[{index}].{error.message}"
    return InvalidRequest(message, rule=error.rule, remedy=error.remedy)


# ---- cancel


@handles("OrderEntryAPI.CancelOrder")
def cancel_order(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderRequest
) -> wire.CancelOrderResponse:
    """Cancel an order. An unknown order is 404, a finished one 409 (rule M34)."""
    exchange.trading.order_service.cancel(_cancel_command(caller, request, report_unknown=True))
    return wire.CancelOrderResponse()


@handles("OrderEntryAPI.CancelOrderList")
def cancel_order_list(
    exchange: Exchange, caller: Caller, request: wire.CancelOrderListRequest
) -> wire.CancelOrderListResponse:
    """Cancel orders. Entries that cannot be canceled are skipped silently (rule M38)."""
    commands = [_cancel_command(caller, entry) for entry in _entries(request.requests)]
    _each(exchange.trading.order_service.cancel, commands)
    return wire.CancelOrderListResponse(responses=[wire.CancelOrderResponse() for _ in commands])


def _cancel_command(
    caller: Caller, request: wire.CancelOrderRequest, *, report_unknown: bool = False
) -> CancelOrder:
    return CancelOrder(**_target(caller, request), report_unknown=report_unknown)


# ---- replace


@handles("OrderEntryAPI.CancelReplaceOrder")
def cancel_replace_order(
    exchange: Exchange, caller: Caller, request: wire.CancelReplaceOrderRequest
) -> wire.CancelReplaceOrderResponse:
    """Change an order in place; omitted fields keep their values (rules M31-M33)."""
    deferred = exchange.ctx.assumptions.text(EXCHANGE_REJECTS) == "async"
    command = _replace_command(caller, request, deferred=deferred, report_unknown=True)
    exchange.trading.order_service.replace(command)
    return wire.CancelReplaceOrderResponse()


@handles("OrderEntryAPI.CancelReplaceOrderList")
def cancel_replace_order_list(
    exchange: Exchange, caller: Caller, request: wire.CancelReplaceOrderListRequest
) -> wire.CancelReplaceOrderListResponse:
    """Change orders in place. Entries that cannot be changed are skipped (rule M38)."""
    entries = _entries(request.requests)
    commands = [_replace_command(caller, entry, deferred=True) for entry in entries]
    _each(exchange.trading.order_service.replace, commands)
    responses = [wire.CancelReplaceOrderResponse() for _ in commands]
    return wire.CancelReplaceOrderListResponse(responses=responses)


def _replace_command(
    caller: Caller,
    request: wire.CancelReplaceOrderRequest,
    *,
    deferred: bool,
    report_unknown: bool = False,
) -> ReplaceOrder:
    return ReplaceOrder(
        **_target(caller, request),
        price=request.price,
        qty=request.order_qty,
        tif=member(TimeInForce, request.time_in_force, "time_in_force"),
        stop_price=request.stop_price,
        min_qty=request.min_qty,
        good_till=request.good_till_time,
        post_only=request.participate_dont_initiate or None,
        all_or_none=request.all_or_none or None,
        strict_limit=request.strict_limit,
        best_limit=request.best_limit,
        immediately_executable_limit=request.immediately_executable_limit,
        report_unknown=report_unknown,
        deferred=deferred,
    )


# ---- reading


@handles("OrderEntryAPI.GetOpenOrders")
def get_open_orders(
    exchange: Exchange, caller: Caller, request: wire.GetOpenOrdersRequest
) -> wire.GetOpenOrdersResponse:
    """List the working orders, oldest first."""
    accounts = visible_accounts(caller, request.accounts)
    orders = exchange.trading.orders.open_of(accounts, request.symbols)
    return wire.GetOpenOrdersResponse(orders=[order_message(exchange, order) for order in orders])


# ---- helpers


def member(enum: type[E], number: int, name: str) -> E:
    """Return the member with a number. Refuses a number from a later version of the contract."""
    value: E | None = _members(enum).get(number)
    if value is None:
        raise InvalidRequest(f"{name}: {number} is not a valid {enum.__name__}", rule="M2")
    return value


@cache
def _members(enum: type[E]) -> dict[int, E]:
    """Return the members by number. Looking one up through its class takes four times as long."""
    return {int(each): each for each in enum}


def _target(
    caller: Caller, request: wire.CancelOrderRequest | wire.CancelReplaceOrderRequest
) -> dict[str, Any]:
    """Return the fields of a command that say whose order is meant, and which."""
    if not request.order_id and not request.clord_id:
        raise InvalidRequest(
            "order_id or clord_id is required",
            rule="M34",
            remedy="send the order_id from the receipt or your clord_id",
        )
    return {
        "accounts": (trading_account(caller, ""),),
        "participant": caller.participant or "",
        "order_id": request.order_id,
        "clord_id": request.clord_id,
        "symbol": request.symbol,
    }


def _entries(requests: Sequence[R]) -> Sequence[R]:
    if not 0 < len(requests) <= LIST_MAX:
        raise InvalidRequest(
            f"requests: 1 to {LIST_MAX} entries, not {len(requests)}",
            rule="M38",
            remedy="split the list",
        )
    return requests


def _each(act: Callable[[R], object], commands: Sequence[R]) -> None:
    """Execute each command, skipping those that are refused."""
    for command in commands:
        with suppress(Refusal):
            act(command)


# ---- crosses


@handles("OrderEntryAPI.InsertOrderCross")
def insert_order_cross(
    exchange: Exchange, caller: Caller, request: wire.InsertOrderCrossRequest
) -> wire.InsertOrderCrossResponse:
    """Place both sides and return their receipts in the same order.

    A reject of one side rejects both.
    """
    if len(request.requests) != 2:
        raise InvalidRequest(
            f"requests: a cross has two sides, not {len(request.requests)}", rule="M44"
        )
    if request.cross_type != wire.CrossType.CROSS_TYPE_ALL_OR_NONE:
        raise InvalidRequest("cross_type must be CROSS_TYPE_ALL_OR_NONE", rule="M44")
    priority = member(Side, request.cross_prioritized_side, "cross_prioritized_side")
    first, second = (
        _command(exchange, caller, index, side) for index, side in enumerate(request.requests)
    )
    if first.account == second.account and exchange.ctx.assumptions.text(CROSS_ACCOUNTS) == "firm":
        raise InvalidRequest(
            "requests: the two sides of a cross must be for different accounts",
            rule="M44",
            remedy="name an account in each request",
        )
    orders = exchange.trading.order_service.cross(
        (first, second), cross_id=request.cross_id, priority=priority
    )
    return wire.InsertOrderCrossResponse(
        responses=[wire.InsertOrderResponse(order_id=order.id) for order in orders]
    )


def _command(
    exchange: Exchange, caller: Caller, index: int, request: wire.InsertOrderRequest
) -> PlaceOrder:
    deferred = exchange.ctx.assumptions.text(EXCHANGE_REJECTS) == "async"
    acting = _caller_of_side(exchange, caller, request.account)
    try:
        command = place_command(acting, request, deferred=deferred)
        exchange.order_sessions.check(command.session_id, command.account)
    except InvalidRequest as error:
        raise refusal_of_entry(index, error) from error
    return command if acting is caller else replace(command, submitter=caller.participant or "")


def _caller_of_side(exchange: Exchange, caller: Caller, account: str) -> Caller:
    """Return the caller for one side: the participant of the header, or another one of the firm.

    The account of the side decides which. Its holder must be permitted to trade.
    """
    own = exchange.ctx.assumptions.text(CROSS_ACCOUNTS) == "participant"
    if own or account in ("", caller.account):
        trading_account(caller, account)
        return caller
    holder = exchange.firms.holder(account)
    if holder is None or not holder.tradable or account not in caller.accounts:
        raise PermissionDenied(
            rule="S5.1-6", remedy="GET /v1/accounts lists the accounts this firm may trade on"
        )
    return replace(caller, participant=holder.name, account=holder.account)
