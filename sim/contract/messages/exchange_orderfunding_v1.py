# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum

from sim.contract.messages import Message, exchange_v1


class VendorOrderStatus(IntEnum):
    """Outcome of a partner order. The numbers are unpublished."""

    VENDOR_ORDER_STATUS_UNSPECIFIED = 0
    VENDOR_ORDER_STATUS_ACCEPTED = 1
    VENDOR_ORDER_STATUS_REJECTED = 2
    VENDOR_ORDER_STATUS_PENDING = 3


class MoneyAmount(Message, kw_only=True):
    """An amount of money."""

    value: str = ""  # decimal text
    currency: str = ""  # USD

    __full_name__ = "exchange.orderfunding.v1.MoneyAmount"
    __wire__ = (
        (1001, "value", "value", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "currency", "currency", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class CreateVendorOrderRequest(Message, kw_only=True):
    """The order, the fee and the key."""

    order: exchange_v1.InsertOrderRequest | None = None  # LIMIT and FILL_OR_KILL only
    vendor_fee: MoneyAmount | None = None  # declared, in USD
    idempotency_key: str = ""  # one effect per key

    __full_name__ = "exchange.orderfunding.v1.CreateVendorOrderRequest"
    __wire__ = (
        (1, "order", "order", "message", "", "exchange.v1.InsertOrderRequest", (("required", True),)),
        (2, "vendor_fee", "vendorFee", "message", "", "exchange.orderfunding.v1.MoneyAmount", (("required", True),)),
        (3, "idempotency_key", "idempotencyKey", "string", "", "", (("required", True),)),
    )


class CreateVendorOrderResponse(Message, kw_only=True):
    """What became of the order."""

    funding_request_id: str = ""
    id: str = ""  # order id; may be empty
    status: int = 0
    correlation: FundingCorrelation | None = None

    __full_name__ = "exchange.orderfunding.v1.CreateVendorOrderResponse"
    __wire__ = (
        (1001, "funding_request_id", "fundingRequestId", "string", "", "", (("unpublished", True),)),
        (1002, "id", "id", "string", "", "", (("unpublished", True),)),
        (1003, "status", "status", "enum", "", "exchange.orderfunding.v1.VendorOrderStatus", (("unpublished", True),)),
        (1004, "correlation", "correlation", "message", "", "exchange.orderfunding.v1.FundingCorrelation", (("unpublished", True),)),
    )


class FundingCorrelation(Message, kw_only=True):
    """Ids to find an attempt again."""

    idempotency_key: str = ""  # as sent
    funding_request_id: str = ""
    request_id: str = ""  # new on every attempt
    clord_id: str = ""

    __full_name__ = "exchange.orderfunding.v1.FundingCorrelation"
    __wire__ = (
        (1001, "idempotency_key", "idempotencyKey", "string", "", "", (("unpublished", True),)),
        (1002, "funding_request_id", "fundingRequestId", "string", "", "", (("unpublished", True),)),
        (1003, "request_id", "requestId", "string", "", "", (("unpublished", True),)),
        (1004, "clord_id", "clordId", "string", "", "", (("unpublished", True),)),
    )


class CreateFundedOrderRequest(Message, kw_only=True):
    """The order, the fee and the key."""

    order: exchange_v1.InsertOrderRequest | None = None
    vendor_fee: MoneyAmount | None = None  # declared, in USD
    idempotency_key: str = ""  # one effect per key

    __full_name__ = "exchange.orderfunding.v1.CreateFundedOrderRequest"
    __wire__ = (
        (1001, "order", "order", "message", "", "exchange.v1.InsertOrderRequest", (("unpublished", True), ("required", True),)),
        (1002, "vendor_fee", "vendorFee", "message", "", "exchange.orderfunding.v1.MoneyAmount", (("unpublished", True), ("required", True),)),
        (1003, "idempotency_key", "idempotencyKey", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class CreateFundedOrderResponse(Message, kw_only=True):
    """The order as placed."""

    order: FundedOrder | None = None

    __full_name__ = "exchange.orderfunding.v1.CreateFundedOrderResponse"
    __wire__ = (
        (1001, "order", "order", "message", "", "exchange.orderfunding.v1.FundedOrder", (("unpublished", True),)),
    )


class GetFundedOrderRequest(Message, kw_only=True):
    """Which order."""

    funding_request_id: str = ""

    __full_name__ = "exchange.orderfunding.v1.GetFundedOrderRequest"
    __wire__ = (
        (1001, "funding_request_id", "fundingRequestId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetFundedOrderResponse(Message, kw_only=True):
    """The order."""

    order: FundedOrder | None = None

    __full_name__ = "exchange.orderfunding.v1.GetFundedOrderResponse"
    __wire__ = (
        (1001, "order", "order", "message", "", "exchange.orderfunding.v1.FundedOrder", (("unpublished", True),)),
    )


class CancelFundedOrderRequest(Message, kw_only=True):
    """Which order."""

    funding_request_id: str = ""

    __full_name__ = "exchange.orderfunding.v1.CancelFundedOrderRequest"
    __wire__ = (
        (1001, "funding_request_id", "fundingRequestId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class CancelFundedOrderResponse(Message, kw_only=True):
    """The order after the cancel."""

    order: FundedOrder | None = None

    __full_name__ = "exchange.orderfunding.v1.CancelFundedOrderResponse"
    __wire__ = (
        (1001, "order", "order", "message", "", "exchange.orderfunding.v1.FundedOrder", (("unpublished", True),)),
    )


class FundedOrder(Message, kw_only=True):
    """An order placed together with its funds."""

    funding_request_id: str = ""
    id: str = ""  # order id; may be empty
    status: int = 0
    idempotency_key: str = ""  # as sent
    clord_id: str = ""

    __full_name__ = "exchange.orderfunding.v1.FundedOrder"
    __wire__ = (
        (1001, "funding_request_id", "fundingRequestId", "string", "", "", (("unpublished", True),)),
        (1002, "id", "id", "string", "", "", (("unpublished", True),)),
        (1003, "status", "status", "enum", "", "exchange.orderfunding.v1.VendorOrderStatus", (("unpublished", True),)),
        (1004, "idempotency_key", "idempotencyKey", "string", "", "", (("unpublished", True),)),
        (1005, "clord_id", "clordId", "string", "", "", (("unpublished", True),)),
    )
