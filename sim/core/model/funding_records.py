"""What is known of money on its way: sources, transactions and what became of them. Enumerations
carry the wire's numbers.
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
    """What a transaction is for; those that this exchange never makes are left out."""

    DEPOSIT = 1
    WITHDRAWAL = 2
    TRANSFER = 3
    RETURN = 10
    INCENTIVE = 11


class FundingState(IntEnum):
    """Where a transaction is: PENDING → PROCESSING → ACKNOWLEDGED → COMPLETED, or CANCELLED before;
    refunds come after COMPLETED.
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


class GameClock(IntEnum):
    """How a transaction with a source ends by itself; HOLD waits in PROCESSING for a decision by
    hand.
    """

    COMPLETE = 0
    CANCEL = 1
    HOLD = 2


class Purpose(IntEnum):
    """What money that comes at once is: a deposit (a withdrawal, when negative), or what retail
    activities tell under a name of its own (§2.8).
    """

    DEPOSIT = 0
    TRANSFER = 1
    REFERRAL_BONUS = 2
    TAKER_FEE_REBATE = 3
    LIQUIDITY_PROGRAM = 4


class FundingSource(Struct, frozen=True, kw_only=True):
    """Where a firm's money comes from or goes to. `max_deposit` bounds one deposit; 0 does not."""

    id: str
    type: SourceType = SourceType.BANK_ACCOUNT
    disabled: bool = False
    max_deposit: Cash = 0


class FundingTransaction(Struct, frozen=True, kw_only=True):
    """One movement of money as it stands. `amount` is never negative, `credit` says which way it
    goes.

    `before` and `after` are the account's balance around the cash row `entry`; None while no cash
    has moved. `reference` is the id other records know it by, `refunded` what went back of it,
    `parent` the transaction that this one returns. `seq` is the number of its last change among all
    there were.
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
    course: GameClock = GameClock.COMPLETE
    refunded: Cash = 0
    message: str = ""
    seq: int = 0


class FundingChange(Struct, frozen=True):
    """A transaction as a change left it, and its state before. A transaction that begins comes from
    PENDING.
    """

    transaction: FundingTransaction
    previous: FundingState
    at: Instant


class AccountNotes(Struct, frozen=True, kw_only=True):
    """What a firm wrote on a funding account; None where it wrote nothing."""

    name: str | None = None
    sources: tuple[str, ...] | None = None
    destination: str | None = None
    aliases: dict[str, str] | None = None
