"""Funding: every deposit, withdrawal, transfer and reward is a transaction.

Without a funding source the cash moves at once and the transaction is COMPLETED from the start.
With one it goes PENDING → PROCESSING → ACKNOWLEDGED → COMPLETED, one step a timer. A deposit is
credited when it completes; a withdrawal leaves the account when it begins and comes back when it is
canceled. So cash is never in two places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, convert, field
from msgspec.structs import replace

from sim.core.catalogue.assumptions import FUNDING_STEP, FUNDING_TRANSFERS
from sim.core.identity.firms import Firm
from sim.core.model.context import Context
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved
from sim.core.model.funding_records import (
    AccountNotes,
    FundingChange,
    FundingScript,
    FundingSource,
    FundingState,
    FundingTransaction,
    FundingType,
    Review,
)
from sim.core.model.quantities import Cash, cash_text
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

STEP_TIMER = "funding.step"

_S = FundingState
_NEXT = {_S.PENDING: _S.PROCESSING, _S.PROCESSING: _S.ACKNOWLEDGED, _S.ACKNOWLEDGED: _S.COMPLETED}
_UNDER_WAY = frozenset(_NEXT)
_RETURNABLE = frozenset((_S.COMPLETED, _S.PARTIALLY_REFUNDED))


class FundingLog(Struct):
    """What is saved: every change in order, and what firms noted on accounts."""

    changes: list[FundingChange] = field(default_factory=list)
    notes: dict[str, AccountNotes] = field(default_factory=dict)


class Funding:
    """All funding transactions. Everything is read from the record of `changes`."""

    def __init__(self, ctx: Context, trading: Trading) -> None:
        self._ctx = ctx
        self._trading = trading
        self._index(FundingLog())

    # ---- reading

    @property
    def changes(self) -> Sequence[FundingChange]:
        """Every change, in order."""
        return self._state.changes

    def get(self, transaction_id: str) -> FundingTransaction | None:
        """A transaction in its present state, or None."""
        return self._by_id.get(transaction_id)

    def of(self, accounts: Sequence[str]) -> Iterator[FundingTransaction]:
        """Transactions of accounts in their present state, account by account, oldest first."""
        return (
            self._by_id[found] for account in accounts for found in self._ids_of.get(account, ())
        )

    def notes(self, account: str) -> AccountNotes:
        """What the firm noted on an account."""
        return self._state.notes.get(account) or AccountNotes()

    def note(self, account: str, notes: AccountNotes) -> None:
        """Replace a firm's notes on an account."""
        self._state.notes[account] = notes

    # ---- at once

    def move(
        self,
        account: str,
        amount: Cash,
        type: FundingType,
        entry: LedgerEntryType,
        description: str,
        *,
        symbol: str = "",
        reference: str = "",
        parent: str = "",
    ) -> FundingTransaction:
        """Credit an account (debit when negative) now; the caller checks that it can afford it."""
        row = self._trading.move_cash(
            account, amount, entry, description, symbol=symbol, reference=reference
        )
        if (
            type is FundingType.TRANSFER
            and self._ctx.assumptions.text(FUNDING_TRANSFERS) == "direction"
        ):
            type = FundingType.DEPOSIT if amount >= 0 else FundingType.WITHDRAWAL
        made = self._new(account, amount, type, FundingState.COMPLETED, description)
        return self._enter(_moved(replace(made, reference=reference, parent=parent), row))

    def pay_incentive(
        self, account: str, amount: Cash, description: str, symbol: str, reference: str
    ) -> FundingTransaction:
        """Pay what a program owes to an account (rule P16)."""
        return self.move(
            account,
            amount,
            FundingType.INCENTIVE,
            LedgerEntryType.MANUAL_ADJUSTMENT,
            description,
            symbol=symbol,
            reference=reference,
        )

    # ---- through a source

    def begin(
        self, account: str, amount: Cash, source: FundingSource, course: FundingScript
    ) -> FundingTransaction:
        """Begin a deposit from a source, or a withdrawal to it when negative.

        Conflict when the source is disabled or limited, or the account lacks the money.
        """
        if not amount:
            raise InvalidRequest("amount must not be zero", rule="control")
        if source.disabled:
            raise Conflict(f"funding source {source.id} is disabled", rule="control")
        if source.max_deposit and amount > source.max_deposit:
            raise Conflict(
                f"at most {cash_text(source.max_deposit)} at a time from {source.id}",
                rule="control",
            )
        available = self._trading.withdrawable(account)
        if amount < 0 and available < -amount:
            raise Conflict(f"{account} has only {cash_text(available)} to pay out", rule="P6")
        type = FundingType.DEPOSIT if amount >= 0 else FundingType.WITHDRAWAL
        made = replace(
            self._new(account, amount, type, FundingState.PENDING, type.name.capitalize()),
            source=source.id,
            source_type=source.type,
            review=Review.SKIPPED,
            course=course,
        )
        if amount < 0:
            row = self._trading.move_cash(
                account,
                amount,
                LedgerEntryType.PENDING_WITHDRAWAL_CREATION,
                "Withdrawal requested",
                reference=made.id,
            )
            made = _moved(made, row)
        self._wait(made)
        return self._enter(made)

    def decide(self, transaction_id: str, state: FundingState) -> FundingTransaction:
        """Complete or cancel a transaction by hand. Conflict when it is over."""
        found = self._require(transaction_id)
        if found.state not in _UNDER_WAY:
            raise Conflict(f"the transaction is {found.state.name} already", rule="control")
        found = replace(
            found,
            course=FundingScript.COMPLETE,
            review=Review.APPROVED if state is FundingState.COMPLETED else Review.REJECTED,
        )
        while found.state is not state:
            found = self._cancel(found) if state is FundingState.CANCELLED else self._step(found)
        return found

    def refund(self, transaction_id: str, amount: Cash | None) -> FundingTransaction:
        """Return a transaction through a source, all of it when `amount` is None.

        A second transaction of type RETURN moves the cash; the first one notes the refund.
        """
        found = self._require(transaction_id)
        if not found.source or found.state not in _RETURNABLE:
            raise Conflict(
                "only a completed transaction through a source can be refunded", rule="control"
            )
        left = found.amount - found.refunded
        amount = left if amount is None else amount
        if not 0 < amount <= left:
            raise InvalidRequest(
                f"amount: above zero and at most {cash_text(left)}", rule="control"
            )
        if found.credit and self._trading.withdrawable(found.account) < amount:
            raise Conflict(
                f"{found.account} has only {cash_text(self._trading.withdrawable(found.account))}"
                " to pay out",
                rule="P6",
            )
        signed, entry = (
            (-amount, LedgerEntryType.WITHDRAWAL)
            if found.credit
            else (amount, LedgerEntryType.DEPOSIT)
        )
        self.move(
            found.account,
            signed,
            FundingType.RETURN,
            entry,
            "Refund",
            reference=found.id,
            parent=found.id,
        )
        state = FundingState.REFUNDED if amount == left else FundingState.PARTIALLY_REFUNDED
        return self._change(found, state, refunded=found.refunded + amount)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {STEP_TIMER: self._step_due}

    def _step_due(self, timer: Timer) -> None:
        found = self._by_id[timer.subject]
        if found.state in _UNDER_WAY and found.review is not Review.PENDING:
            cancels = (
                found.state is FundingState.PROCESSING and found.course is FundingScript.CANCEL
            )
            found = self._cancel(found) if cancels else self._step(found)
            if found.state in _UNDER_WAY and found.review is not Review.PENDING:
                self._wait(found)

    def _step(self, found: FundingTransaction) -> FundingTransaction:
        state = _NEXT[found.state]
        if state is FundingState.COMPLETED and found.credit:
            found = _moved(
                found,
                self._trading.move_cash(
                    found.account,
                    found.amount,
                    LedgerEntryType.DEPOSIT,
                    "Deposit",
                    reference=found.id,
                ),
            )
        if state is FundingState.PROCESSING and found.course is FundingScript.HOLD:
            return self._change(found, state, review=Review.PENDING, message="held for review")
        return self._change(found, state, message="")

    def _cancel(self, found: FundingTransaction) -> FundingTransaction:
        if not found.credit:
            self._trading.move_cash(
                found.account,
                found.amount,
                LedgerEntryType.WITHDRAWAL_REJECTION,
                "Withdrawal rejected",
                reference=found.id,
            )
        return self._change(found, FundingState.CANCELLED, message="cancelled")

    def _wait(self, found: FundingTransaction) -> None:
        ctx = self._ctx
        ctx.timers.schedule(ctx.now + ctx.assumptions.number(FUNDING_STEP), STEP_TIMER, found.id)

    # ---- the record

    def _new(
        self, account: str, amount: Cash, type: FundingType, state: FundingState, description: str
    ) -> FundingTransaction:
        return FundingTransaction(
            id=self._ctx.ids.uuid("funding"),
            account=account,
            amount=abs(amount),
            credit=amount >= 0,
            type=type,
            state=state,
            description=description,
            created=self._ctx.now,
            changed=self._ctx.now,
        )

    def _enter(self, made: FundingTransaction) -> FundingTransaction:
        made = replace(made, seq=len(self._state.changes))
        self._state.changes.append(FundingChange(made, FundingState.PENDING, self._ctx.now))
        self._remember(made)
        return made

    def _change(
        self, found: FundingTransaction, state: FundingState, **changes: object
    ) -> FundingTransaction:
        changed = replace(
            found, state=state, changed=self._ctx.now, seq=len(self._state.changes), **changes
        )
        self._state.changes.append(FundingChange(changed, found.state, self._ctx.now))
        self._by_id[changed.id] = changed
        return changed

    def _remember(self, made: FundingTransaction) -> None:
        if made.id not in self._by_id:
            self._ids_of.setdefault(made.account, []).append(made.id)
        self._by_id[made.id] = made

    def _require(self, transaction_id: str) -> FundingTransaction:
        found = self._by_id.get(transaction_id)
        if found is None:
            raise NotFound(f"unknown funding transaction: {transaction_id[:80]}", rule="control")
        return found

    def save(self) -> FundingLog:
        """Every change."""
        return self._state

    def load(self, state: object) -> None:
        """Take over saved changes and rebuild the indexes."""
        self._index(convert(state, FundingLog))

    def _index(self, state: FundingLog) -> None:
        self._state = state
        self._by_id: dict[str, FundingTransaction] = {}
        self._ids_of: dict[str, list[str]] = {}
        for change in state.changes:
            self._remember(change.transaction)


def sources_of(firm: Firm) -> tuple[FundingSource, ...]:
    """A firm's sources: those of the scenario, else one bank account."""
    return firm.funding_sources or (FundingSource(id=f"{firm.id}-bank"),)


def _moved(made: FundingTransaction, row: CashMoved) -> FundingTransaction:
    return replace(made, before=row.before, after=row.after, entry=row.id)
