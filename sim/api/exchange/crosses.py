"""Crosses on the exchange: one request places both sides of a trade."""

from __future__ import annotations

from msgspec.structs import replace

from sim.api.exchange.orders import member, place_command, refusal_of_entry
from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import CROSS_ACCOUNTS, EXCHANGE_REJECTS
from sim.core.exchange import Exchange
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Side
from sim.core.model.refusals import InvalidRequest, PermissionDenied


@handles("OrderEntryAPI.InsertOrderCross")
def insert_order_cross(
    exchange: Exchange, caller: Caller, request: wire.InsertOrderCrossRequest
) -> wire.InsertOrderCrossResponse:
    """Place both sides and return their receipts in the same order.

    A reject of one side rejects both.
    """
    if len(request.requests) != 2:
        raise InvalidRequest(
            f"requests: a cross has two sides, not {len(request.requests)}", rule="cross"
        )
    if request.cross_type != wire.CrossType.CROSS_TYPE_ALL_OR_NONE:
        raise InvalidRequest("cross_type must be CROSS_TYPE_ALL_OR_NONE", rule="cross")
    priority = member(Side, request.cross_prioritized_side, "cross_prioritized_side")
    first, second = (
        _command(exchange, caller, index, side) for index, side in enumerate(request.requests)
    )
    if first.account == second.account and exchange.ctx.assumptions.text(CROSS_ACCOUNTS) == "firm":
        raise InvalidRequest(
            "requests: the two sides of a cross must be for different accounts",
            rule="cross",
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
