# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from sim.contract.messages import FieldRule, Message, exchange_v1


class VendorOrderStatus(IntEnum):
    """Outcome of a partner order. The numbers are unpublished."""

    VENDOR_ORDER_STATUS_UNSPECIFIED = 0
    VENDOR_ORDER_STATUS_ACCEPTED = 1
    VENDOR_ORDER_STATUS_REJECTED = 2
    VENDOR_ORDER_STATUS_PENDING = 3


class MoneyAmount(Message, kw_only=True):
    """An amount of money."""

    value: Annotated[str, FieldRule(required=True)] = ""  # decimal text
    currency: Annotated[str, FieldRule(required=True)] = ""  # USD


class CreateVendorOrderRequest(Message, kw_only=True):
    """The order, the fee and the key."""

    # LIMIT and FILL_OR_KILL only
    order: Annotated[exchange_v1.InsertOrderRequest | None, FieldRule(required=True)] = None
    vendor_fee: Annotated[MoneyAmount | None, FieldRule(required=True)] = None  # declared, in USD
    idempotency_key: Annotated[str, FieldRule(required=True)] = ""  # one effect per key


class CreateVendorOrderResponse(Message, kw_only=True):
    """What became of the order."""

    funding_request_id: str = ""
    id: str = ""  # order id; may be empty
    status: Annotated[int, VendorOrderStatus] = 0
    correlation: FundingCorrelation | None = None


class FundingCorrelation(Message, kw_only=True):
    """Ids to find an attempt again."""

    idempotency_key: str = ""  # as sent
    funding_request_id: str = ""
    request_id: str = ""  # new on every attempt
    clord_id: str = ""


class CreateFundedOrderRequest(Message, kw_only=True):
    """The order, the fee and the key."""

    order: Annotated[exchange_v1.InsertOrderRequest | None, FieldRule(required=True)] = None
    vendor_fee: Annotated[MoneyAmount | None, FieldRule(required=True)] = None  # declared, in USD
    idempotency_key: Annotated[str, FieldRule(required=True)] = ""  # one effect per key


class CreateFundedOrderResponse(Message, kw_only=True):
    """The order as placed."""

    order: FundedOrder | None = None


class GetFundedOrderRequest(Message, kw_only=True):
    """Which order."""

    funding_request_id: Annotated[str, FieldRule(required=True)] = ""


class GetFundedOrderResponse(Message, kw_only=True):
    """The order."""

    order: FundedOrder | None = None


class CancelFundedOrderRequest(Message, kw_only=True):
    """Which order."""

    funding_request_id: Annotated[str, FieldRule(required=True)] = ""


class CancelFundedOrderResponse(Message, kw_only=True):
    """The order after the cancel."""

    order: FundedOrder | None = None


class FundedOrder(Message, kw_only=True):
    """An order placed together with its funds."""

    funding_request_id: str = ""
    id: str = ""  # order id; may be empty
    status: Annotated[int, VendorOrderStatus] = 0
    idempotency_key: str = ""  # as sent
    clord_id: str = ""
