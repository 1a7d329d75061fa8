"""Partner services over gRPC: transfers, the pool's balance, orders for participants (M25, P25).

The account in a request identifies the customer; the x-participant-id header is not used.
"""

from __future__ import annotations

import re

from msgspec import json
from msgspec.structs import replace

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.funding.partners import Movement, TransferReason, VendorOrder
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import OrderState, OrderType, Side, TimeInForce
from sim.core.model.quantities import CENT, CURRENCY, Cash, NotADecimal, cash_text, scaled
from sim.core.model.refusals import InvalidRequest

KEY_MAX = 128
CENTS = 100

_CLORD_ID = re.compile(r"[!-~]{1,64}", re.ASCII)
_TRANSFERS = frozenset(
    {TransferReason.DEPOSIT, TransferReason.WITHDRAWAL, TransferReason.VENDOR_FEES}
)
# The few fields of an order that a partner may set.
_ALLOWED = frozenset(
    {
        "type",
        "side",
        "order_qty",
        "symbol",
        "price",
        "time_in_force",
        "clord_id",
        "account",
        "cash_order_qty",
        "manual_order_indicator",
    }
)
_UNSET_ORDER = wire.InsertOrderRequest()
_FUNDED_TIMES = frozenset(TimeInForce) - {TimeInForce.GOOD_TILL_TIME}


# ---- transfers


@handles("CashMovementService.CreateCashMovement")
def create_cash_movement(
    exchange: Exchange, caller: Caller, request: cash.CreateCashMovementRequest
) -> cash.CreateCashMovementResponse:
    """Transfer money between the pool and a participant; the reason determines the direction.

    Without sufficient funds the movement is REJECTED.
    """
    firm = firm_of(exchange, caller)
    key = _key(request.idempotency_key)
    transfer, amount = _checked_transfer(request.transfer)
    movement = exchange.partners.transfer(
        firm,
        key,
        json.encode(transfer),
        reason=TransferReason(transfer.reason),
        account=transfer.participant_account_id,
        amount=amount,
    )
    return cash.CreateCashMovementResponse(cash_movement=_movement_message(movement))


def _checked_transfer(transfer: cash.Transfer | None) -> tuple[cash.Transfer, Cash]:
    """Return a transfer and its amount. Refuses a malformed one."""
    transfer = require(transfer, "transfer", rule="P25")
    if transfer.reason not in _TRANSFERS:
        raise InvalidRequest(
            "transfer.reason must be DEPOSIT, WITHDRAWAL or VENDOR_FEES", rule="P25"
        )
    for name in ("participant_account_id", "external_reference"):
        require(getattr(transfer, name), f"transfer.{name}", rule="P25")
    _check_currency(transfer.currency, "transfer.currency")
    amount = _amount(transfer.amount, "transfer.amount")
    if amount <= 0:
        raise InvalidRequest("transfer.amount must be above zero", rule="P25")
    return transfer, amount


@handles("CashMovementService.GetCashMovement")
def get_cash_movement(
    exchange: Exchange, caller: Caller, request: cash.GetCashMovementRequest
) -> cash.GetCashMovementResponse:
    """Return a transfer of the calling firm."""
    movement = exchange.partners.movement(firm_of(exchange, caller), request.workflow_id)
    return cash.GetCashMovementResponse(cash_movement=_movement_message(movement))


@handles("CashMovementService.GetFundingAccountBalance")
def get_funding_account_balance(
    exchange: Exchange, caller: Caller, request: cash.GetFundingAccountBalanceRequest
) -> cash.GetFundingAccountBalanceResponse:
    """Return the balance of the pool."""
    _check_currency(request.currency, "currency")
    pool = exchange.partners.pool(firm_of(exchange, caller))
    return cash.GetFundingAccountBalanceResponse(
        funding_account_id=pool,
        balance=cash_text(exchange.trading.ledger.balance(pool)),
        currency=CURRENCY,
        as_of=exchange.now,
    )


def _movement_message(movement: Movement) -> cash.CashMovement:
    statuses, rejected = cash.CashMovementStatus, bool(movement.rejection)
    status = statuses.CASH_MOVEMENT_STATUS_CONFIRMED
    if rejected:
        status = statuses.CASH_MOVEMENT_STATUS_REJECTED
    return cash.CashMovement(
        workflow_id=movement.id,
        idempotency_key=movement.key,
        intent_type="transfer",
        status=status,
        amount=cash_text(movement.amount),
        currency=CURRENCY,
        source_account_id=movement.source,
        destination_account_id=movement.destination,
        dco_transfer_id=movement.transfer_id,
        rejection_reason=movement.rejection,
        created_at=movement.at,
        updated_at=movement.at,
        reason=movement.reason,
    )


# ---- orders


@handles("OrderFundingService.CreateVendorOrder")
def create_vendor_order(
    exchange: Exchange, caller: Caller, request: funding.CreateVendorOrderRequest
) -> funding.CreateVendorOrderResponse:
    """Place a fill-or-kill limit order for a participant.

    The declared fee moves no money; the partner collects it with a transfer.
    """
    key = _key(request.idempotency_key)
    _check_fee(request.vendor_fee)
    firm, command = firm_of(exchange, caller), _vendor_command(request.order)
    order = exchange.partners.order(firm, key, json.encode(request), command)
    return funding.CreateVendorOrderResponse(
        funding_request_id=order.id,
        id=order.order_id,
        status=_status(exchange, order),
        correlation=funding.FundingCorrelation(
            idempotency_key=key,
            funding_request_id=order.id,
            request_id=exchange.ctx.ids.uuid("vendor.attempt"),
            clord_id=order.clord_id,
        ),
    )


def _vendor_command(order: wire.InsertOrderRequest | None) -> PlaceOrder:
    """Return the command of a partner's order. Refuses any field that partners may not set."""
    order = require(order, "order", rule="M25")
    for name in order.__struct_fields__:
        if name not in _ALLOWED and getattr(order, name) != getattr(_UNSET_ORDER, name):
            raise InvalidRequest(
                f"order.{name} is not allowed here", rule="M25", remedy="leave it unset"
            )
    required = {"type": OrderType.LIMIT, "time_in_force": TimeInForce.FILL_OR_KILL}
    for name, value in required.items():
        if getattr(order, name) != value:
            raise InvalidRequest(f"order.{name} must be {value.name}", rule="M25")
    if order.side not in (Side.BUY, Side.SELL):
        raise InvalidRequest("order.side is required", rule="M25")
    for name in ("symbol", "account", "manual_order_indicator"):
        require(getattr(order, name), f"order.{name}", rule="M25")
    if order.price <= 0:
        raise InvalidRequest("order.price must be above zero", rule="M25")
    if bool(order.order_qty) == bool(order.cash_order_qty):
        raise InvalidRequest(
            "exactly one of order.order_qty and order.cash_order_qty is required", rule="M25"
        )
    if not _CLORD_ID.fullmatch(order.clord_id):
        raise InvalidRequest("order.clord_id: 1 to 64 visible ASCII characters", rule="M25")
    command = _limit_command(order)
    cash_qty, indicator = order.cash_order_qty, order.manual_order_indicator
    return replace(command, cash_qty=cash_qty, manual_indicator=indicator)


def _limit_command(order: wire.InsertOrderRequest) -> PlaceOrder:
    """Return the command of a limit order for a participant, whom the account identifies."""
    return PlaceOrder(
        symbol=order.symbol,
        account=order.account,
        participant="",
        side=Side(order.side),
        qty=order.order_qty,
        price=order.price,
        tif=TimeInForce(order.time_in_force),
        clord_id=order.clord_id,
    )


# ---- orders together with their funds, withdrawn on 2026-08-06 (§9)


@handles("OrderFundingService.CreateFundedOrder")
def create_funded_order(
    exchange: Exchange, caller: Caller, request: funding.CreateFundedOrderRequest
) -> funding.CreateFundedOrderResponse:
    """Move the cost of a limit order to the participant and place the order.

    The order is REJECTED if the pool cannot pay or the exchange refuses it.
    """
    key = _key(request.idempotency_key)
    _check_fee(request.vendor_fee)
    firm, command = firm_of(exchange, caller), _funded_command(request.order)
    order = exchange.partners.funded_order(firm, key, json.encode(request), command)
    return funding.CreateFundedOrderResponse(order=_funded_message(exchange, order))


@handles("OrderFundingService.GetFundedOrder")
def get_funded_order(
    exchange: Exchange, caller: Caller, request: funding.GetFundedOrderRequest
) -> funding.GetFundedOrderResponse:
    """Return the status of a funded order."""
    order = exchange.partners.find_funded(firm_of(exchange, caller), request.funding_request_id)
    return funding.GetFundedOrderResponse(order=_funded_message(exchange, order))


@handles("OrderFundingService.CancelFundedOrder")
def cancel_funded_order(
    exchange: Exchange, caller: Caller, request: funding.CancelFundedOrderRequest
) -> funding.CancelFundedOrderResponse:
    """Cancel a funded order that is still working. Unspent money returns to the pool."""
    order = exchange.partners.cancel_funded(firm_of(exchange, caller), request.funding_request_id)
    return funding.CancelFundedOrderResponse(order=_funded_message(exchange, order))


def _funded_command(order: wire.InsertOrderRequest | None) -> PlaceOrder:
    """Return the command of a funded order: a limit order without an expiry date."""
    order = require(order, "order", rule="S9-4")
    if (
        order.type != OrderType.LIMIT
        or order.price <= 0
        or order.order_qty <= 0
        or order.side not in (Side.BUY, Side.SELL)
    ):
        raise InvalidRequest(
            "order: must be a limit order with side, price and order_qty", rule="S9-4"
        )
    if order.time_in_force not in _FUNDED_TIMES:
        raise InvalidRequest(
            "order.time_in_force must be DAY, GOOD_TILL_CANCEL, IMMEDIATE_OR_CANCEL or"
            " FILL_OR_KILL",
            rule="S9-4",
        )
    return _limit_command(order)


def _funded_message(exchange: Exchange, order: VendorOrder) -> funding.FundedOrder:
    return funding.FundedOrder(
        funding_request_id=order.id,
        id=order.order_id,
        status=_status(exchange, order),
        idempotency_key=order.key,
        clord_id=order.clord_id,
    )


# ---- helpers


def _status(exchange: Exchange, order: VendorOrder) -> funding.VendorOrderStatus:
    statuses = funding.VendorOrderStatus
    match exchange.partners.outcome(order):
        case OrderState.PENDING_NEW:
            return statuses.VENDOR_ORDER_STATUS_PENDING
        case OrderState.REJECTED:
            return statuses.VENDOR_ORDER_STATUS_REJECTED
        case _:
            return statuses.VENDOR_ORDER_STATUS_ACCEPTED


def _check_fee(fee: funding.MoneyAmount | None) -> None:
    fee = require(fee, "vendor_fee", rule="M25", remedy="send a fee of 0 if there is none")
    _check_currency(fee.currency, "vendor_fee.currency")
    if _amount(fee.value, "vendor_fee.value") < 0:
        raise InvalidRequest("vendor_fee.value must not be negative", rule="M25")


def _key(key: str) -> str:
    if not 0 < len(key) <= KEY_MAX:
        raise InvalidRequest(
            f"idempotency_key: 1 to {KEY_MAX} characters",
            rule="P25",
            remedy="use a new key for each new request",
        )
    return key


def _check_currency(currency: str, name: str) -> None:
    if currency.upper() != CURRENCY:
        raise InvalidRequest(f"{name} must be {CURRENCY}", rule="P25", remedy=f"send {CURRENCY}")


def _amount(text: str, name: str) -> Cash:
    """Return an amount of dollars. Refuses text with more than two decimals."""
    try:
        return scaled(text, CENTS) * CENT
    except NotADecimal as error:
        raise InvalidRequest(
            f"{name}: {error}",
            rule="P25",
            remedy='send decimal text with at most two decimals, such as "12.50"',
        ) from None
