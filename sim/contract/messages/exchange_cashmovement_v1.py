# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum

from sim.contract.messages import Message


class TransferReason(IntEnum):
    """Why money is transferred; it decides the direction."""

    TRANSFER_REASON_UNSPECIFIED = 0
    TRANSFER_REASON_DEPOSIT = 1
    TRANSFER_REASON_WITHDRAWAL = 2
    TRANSFER_REASON_VENDOR_FEES = 3


class CashMovementStatus(IntEnum):
    """Where a transfer is. Names are published without prefix, numbers not at all."""

    CASH_MOVEMENT_STATUS_UNSPECIFIED = 0
    CASH_MOVEMENT_STATUS_PENDING = 1
    CASH_MOVEMENT_STATUS_CONFIRMED = 2
    CASH_MOVEMENT_STATUS_REJECTED = 3
    CASH_MOVEMENT_STATUS_AMBIGUOUS = 4


class CreateCashMovementRequest(Message, kw_only=True):
    """What to move."""

    idempotency_key: str = ""  # one effect per key
    transfer: Transfer | None = None

    __full_name__ = "exchange.cashmovement.v1.CreateCashMovementRequest"
    __wire__ = (
        (1001, "idempotency_key", "idempotencyKey", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "transfer", "transfer", "message", "oneof:intent", "exchange.cashmovement.v1.Transfer", (("unpublished", True), ("required", True),)),
    )


class Transfer(Message, kw_only=True):
    """Money between the pool and a participant."""

    reason: int = 0  # decides the direction
    participant_account_id: str = ""
    amount: str = ""  # decimal text, at most 2 decimals
    currency: str = ""  # USD
    external_reference: str = ""  # the caller's own
    memo: str = ""

    __full_name__ = "exchange.cashmovement.v1.Transfer"
    __wire__ = (
        (1001, "reason", "reason", "enum", "", "exchange.cashmovement.v1.TransferReason", (("unpublished", True), ("required", True),)),
        (1002, "participant_account_id", "participantAccountId", "string", "", "", (("unpublished", True), ("required", True),)),
        (1003, "amount", "amount", "string", "", "", (("unpublished", True), ("required", True),)),
        (1004, "currency", "currency", "string", "", "", (("unpublished", True), ("required", True),)),
        (1005, "external_reference", "externalReference", "string", "", "", (("unpublished", True), ("required", True),)),
        (1006, "memo", "memo", "string", "", "", (("unpublished", True),)),
    )


class CreateCashMovementResponse(Message, kw_only=True):
    """The movement."""

    cash_movement: CashMovement | None = None

    __full_name__ = "exchange.cashmovement.v1.CreateCashMovementResponse"
    __wire__ = (
        (1001, "cash_movement", "cashMovement", "message", "", "exchange.cashmovement.v1.CashMovement", (("unpublished", True),)),
    )


class CashMovement(Message, kw_only=True):
    """A movement and its state."""

    workflow_id: str = ""
    idempotency_key: str = ""  # as sent
    intent_type: str = ""  # "transfer"
    status: int = 0
    amount: str = ""  # decimal text
    currency: str = ""  # USD
    source_account_id: str = ""
    destination_account_id: str = ""
    dco_transfer_id: str = ""
    rejection_reason: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    reason: int = 0

    __full_name__ = "exchange.cashmovement.v1.CashMovement"
    __wire__ = (
        (1001, "workflow_id", "workflowId", "string", "", "", (("unpublished", True),)),
        (1002, "idempotency_key", "idempotencyKey", "string", "", "", (("unpublished", True),)),
        (1003, "intent_type", "intentType", "string", "", "", (("unpublished", True),)),
        (1004, "status", "status", "enum", "", "exchange.cashmovement.v1.CashMovementStatus", (("unpublished", True),)),
        (1005, "amount", "amount", "string", "", "", (("unpublished", True),)),
        (1006, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1007, "source_account_id", "sourceAccountId", "string", "", "", (("unpublished", True),)),
        (1008, "destination_account_id", "destinationAccountId", "string", "", "", (("unpublished", True),)),
        (1009, "dco_transfer_id", "dcoTransferId", "string", "", "", (("unpublished", True),)),
        (1010, "rejection_reason", "rejectionReason", "string", "", "", (("unpublished", True),)),
        (1011, "created_at", "createdAt", "timestamp", "", "", (("unpublished", True),)),
        (1012, "updated_at", "updatedAt", "timestamp", "", "", (("unpublished", True),)),
        (1013, "reason", "reason", "enum", "", "exchange.cashmovement.v1.TransferReason", (("unpublished", True),)),
    )


class GetCashMovementRequest(Message, kw_only=True):
    """Which movement."""

    workflow_id: str = ""

    __full_name__ = "exchange.cashmovement.v1.GetCashMovementRequest"
    __wire__ = (
        (1001, "workflow_id", "workflowId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetCashMovementResponse(Message, kw_only=True):
    """The movement."""

    cash_movement: CashMovement | None = None

    __full_name__ = "exchange.cashmovement.v1.GetCashMovementResponse"
    __wire__ = (
        (1001, "cash_movement", "cashMovement", "message", "", "exchange.cashmovement.v1.CashMovement", (("unpublished", True),)),
    )


class GetFundingAccountBalanceRequest(Message, kw_only=True):
    """In which currency."""

    currency: str = ""  # USD, any case

    __full_name__ = "exchange.cashmovement.v1.GetFundingAccountBalanceRequest"
    __wire__ = (
        (1001, "currency", "currency", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetFundingAccountBalanceResponse(Message, kw_only=True):
    """Balance of the pool."""

    funding_account_id: str = ""
    balance: str = ""  # decimal text
    currency: str = ""  # USD
    as_of: int | None = None

    __full_name__ = "exchange.cashmovement.v1.GetFundingAccountBalanceResponse"
    __wire__ = (
        (1001, "funding_account_id", "fundingAccountId", "string", "", "", (("unpublished", True),)),
        (1002, "balance", "balance", "string", "", "", (("unpublished", True),)),
        (1003, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1004, "as_of", "asOf", "timestamp", "", "", (("unpublished", True),)),
    )
