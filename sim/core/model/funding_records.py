"""Records of funding: sources, transactions and their changes.

Enumerations have the numbers of the wire format.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from sim.core.model.quantities import Cash
from sim.kernel.instants import Instant


class SourceType(IntEnum):
    """Kind of a funding source."""

    UNDEFINED = 0
    BANK_ACCOUNT = 1
    AEROPAY_BANK_ACCOUNT = 2
    CHECKOUT_CARD = 3
    APPLE_PAY = 4


class FundingType(IntEnum):
    """Type of a transaction. Types that this exchange never creates are omitted."""

    DEPOSIT = 1
    WITHDRAWAL = 2
    TRANSFER = 3
    RETURN = 10
    INCENTIVE = 11


class FundingState(IntEnum):
    """State of a transaction: PENDING → PROCESSING → ACKNOWLEDGED → COMPLETED.

    It may be CANCELLED before it is COMPLETED, and refunded afterwards.
    """

    PENDING = 0
    ACKNOWLEDGED = 1
    COMPLETED = 2
    CANCELLED = 3
    PARTIALLY_REFUNDED = 5
    REFUNDED = 6
    PROCESSING = 9


class Review(IntEnum):
    """Manual review of a transaction."""

    UNDEFINED = 0
    PENDING = 1
    APPROVED = 2
    REJECTED = 3
    SKIPPED = 4


class FundingScript(IntEnum):
    """How a transaction with a source ends; HOLD waits in PROCESSING for an operator."""

    COMPLETE = 0
    CANCEL = 1
    HOLD = 2


class Purpose(IntEnum):
    """The purpose of an immediate credit: a deposit (a withdrawal when negative), or one of the
    kinds that retail activities show under a name of their own (§2.8).
    """

    DEPOSIT = 0
    TRANSFER = 1
    REFERRAL_BONUS = 2
    TAKER_FEE_REBATE = 3
    LIQUIDITY_PROGRAM = 4


class FundingSource(Struct, frozen=True, kw_only=True):
    """An external account from which a firm's money comes or to which it goes.

    `max_deposit` limits a single deposit; 0 means no limit.
    """

    id: str
    type: SourceType = SourceType.BANK_ACCOUNT
    disabled: bool = False
    max_deposit: Cash = 0


class FundingTransaction(Struct, frozen=True, kw_only=True):
    """One movement of money in its current state.

    | Field | Meaning |
    |---|---|
    | `amount`, `credit` | never negative; whether it is credited to the account |
    | `before`, `after` | the account's balance around the cash row `entry`; None: not moved yet |
    | `reference` | the id by which other records know it |
    | `refunded`, `parent` | how much of it was returned; the transaction that this one returns |
    | `course` | how it ends |
    | `seq` | the number of its last change among all changes |
    """

    id: str
    account: str
    amount: Cash
    credit: bool
    type: FundingType
    state: FundingState
    description: str
    created: Instant
    changed: Instant
    before: Cash | None = None
    after: Cash | None = None
    entry: str = ""
    reference: str = ""
    parent: str = ""
    source: str = ""
    source_type: SourceType = SourceType.UNDEFINED
    review: Review = Review.UNDEFINED
    course: FundingScript = FundingScript.COMPLETE
    refunded: Cash = 0
    message: str = ""
    seq: int = 0


class FundingChange(Struct, frozen=True):
    """A transaction right after a change, and its state before. A new one comes from PENDING."""

    transaction: FundingTransaction
    previous: FundingState
    at: Instant


class AccountNotes(Struct, frozen=True, kw_only=True):
    """A firm's notes on a funding account. None means no note."""

    name: str | None = None
    sources: tuple[str, ...] | None = None
    destination: str | None = None
    aliases: dict[str, str] | None = None
