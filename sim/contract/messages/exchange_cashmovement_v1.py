# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from sim.contract.messages import FieldRule, Message, Timestamp


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

    idempotency_key: Annotated[str, FieldRule(required=True)] = ""  # one effect per key
    transfer: Annotated[Transfer | None, FieldRule(oneof="intent", required=True)] = None


class Transfer(Message, kw_only=True):
    """Money between the pool and a participant."""

    # decides the direction
    reason: Annotated[Annotated[int, TransferReason], FieldRule(required=True)] = 0
    participant_account_id: Annotated[str, FieldRule(required=True)] = ""
    amount: Annotated[str, FieldRule(required=True)] = ""  # decimal text, at most 2 decimals
    currency: Annotated[str, FieldRule(required=True)] = ""  # USD
    external_reference: Annotated[str, FieldRule(required=True)] = ""  # the caller's own
    memo: str = ""


class CreateCashMovementResponse(Message, kw_only=True):
    """The movement."""

    cash_movement: CashMovement | None = None


class CashMovement(Message, kw_only=True):
    """A movement and its state."""

    workflow_id: str = ""
    idempotency_key: str = ""  # as sent
    intent_type: str = ""  # "transfer"
    status: Annotated[int, CashMovementStatus] = 0
    amount: str = ""  # decimal text
    currency: str = ""  # USD
    source_account_id: str = ""
    destination_account_id: str = ""
    dco_transfer_id: str = ""
    rejection_reason: str = ""
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    reason: Annotated[int, TransferReason] = 0


class GetCashMovementRequest(Message, kw_only=True):
    """Which movement."""

    workflow_id: Annotated[str, FieldRule(required=True)] = ""


class GetCashMovementResponse(Message, kw_only=True):
    """The movement."""

    cash_movement: CashMovement | None = None


class GetFundingAccountBalanceRequest(Message, kw_only=True):
    """In which currency."""

    currency: Annotated[str, FieldRule(required=True)] = ""  # USD, any case


class GetFundingAccountBalanceResponse(Message, kw_only=True):
    """Balance of the pool."""

    funding_account_id: str = ""
    balance: str = ""  # decimal text
    currency: str = ""  # USD
    as_of: Timestamp | None = None
