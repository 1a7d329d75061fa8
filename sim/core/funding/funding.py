"""Funding: every deposit, withdrawal, transfer and reward is a transaction.

Without a funding source the cash moves at once, and the transaction is COMPLETED from the start.
With a source it goes PENDING → PROCESSING → ACKNOWLEDGED → COMPLETED, one step per timer. A deposit
is credited when it completes. A withdrawal is debited when it begins and credited back if it is
canceled, so cash is never in two places.
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
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound, cut
from sim.core.model.why import Why
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

STEP_TIMER = "funding.step"
_REWARDED = Why("P16")

_S = FundingState
_NEXT = {_S.PENDING: _S.PROCESSING, _S.PROCESSING: _S.ACKNOWLEDGED, _S.ACKNOWLEDGED: _S.COMPLETED}
_PENDING_STATES = frozenset(_NEXT)
_RETURNABLE = frozenset((_S.COMPLETED, _S.PARTIALLY_REFUNDED))


class FundingLog(Struct):
    """The saved state: every change in order, and the notes of firms on accounts."""

    changes: list[FundingChange] = field(default_factory=list)
    notes: dict[str, AccountNotes] = field(default_factory=dict)


class Funding:
    """All funding transactions, derived from the record of `changes`."""

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
        """Return a transaction in its current state, or None."""
        return self._by_id.get(transaction_id)

    def of(self, accounts: Sequence[str]) -> Iterator[FundingTransaction]:
        """Yield the transactions of accounts in their current state, by account, oldest first."""
        for account in accounts:
            yield from map(self._by_id.__getitem__, self._ids_of.get(account, ()))

    def notes(self, account: str) -> AccountNotes:
        """Return the firm's notes on an account."""
        return self._state.notes.get(account) or AccountNotes()

    def note(self, account: str, notes: AccountNotes) -> None:
        """Replace a firm's notes on an account."""
        self._state.notes[account] = notes

    # ---- immediate movements

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
        why: Why | None = None,
    ) -> FundingTransaction:
        """Credit an account (debit when negative) at once.

        The caller checks that it can afford it.
        """
        row = self._trading.move_cash(
            account, amount, entry, description, symbol=symbol, reference=reference, why=why
        )
        transfers = self._ctx.assumptions.text(FUNDING_TRANSFERS)
        if type is FundingType.TRANSFER and transfers == "direction":
            type = _direction(amount)
        transaction = self._new(account, amount, type, FundingState.COMPLETED, description)
        transaction = replace(transaction, reference=reference, parent=parent)
        return self._record_new(_with_row(transaction, row))

    def check_room(self, amount: Cash) -> None:
        """Refuse a deposit or withdrawal that could take a balance beyond the bounds of `MONEY`.

        Pending amounts count: scheduled deposits, and withdrawals that may be returned.
        """
        self._trading.ledger.check_room(amount, self._pending_amount)

    def pay_incentive(
        self, account: str, amount: Cash, description: str, symbol: str, reference: str
    ) -> FundingTransaction:
        """Pay a program's reward to an account (rule P16). Refuses an amount beyond `MONEY`."""
        self.check_room(amount)
        return self.move(
            account,
            amount,
            FundingType.INCENTIVE,
            LedgerEntryType.MANUAL_ADJUSTMENT,
            description,
            symbol=symbol,
            reference=reference,
            why=_REWARDED,
        )

    # ---- movements through a source

    def begin(
        self, account: str, amount: Cash, source: FundingSource, script: FundingScript
    ) -> FundingTransaction:
        """Begin a deposit from a source, or a withdrawal to it when negative.

        Refused as Conflict if the source is disabled or limited, or the account lacks the money.
        """
        if not amount:
            raise InvalidRequest("amount must not be zero", rule="T1")
        if source.disabled:
            raise Conflict(f"funding source {source.id} is disabled", rule="T1")
        if source.max_deposit and amount > source.max_deposit:
            limit = cash_text(source.max_deposit)
            raise Conflict(f"{source.id} accepts at most {limit} at a time", rule="T1")
        if amount < 0:
            self._check_withdrawable(account, -amount)
        self.check_room(amount)
        type = _direction(amount)
        transaction = replace(
            self._new(account, amount, type, FundingState.PENDING, type.name.capitalize()),
            source=source.id,
            source_type=source.type,
            review=Review.SKIPPED,
            course=script,
        )
        if amount < 0:
            entry = LedgerEntryType.PENDING_WITHDRAWAL_CREATION
            row = self._move_cash(transaction, amount, entry, "Withdrawal requested")
            transaction = _with_row(transaction, row)
        self._schedule_step(transaction)
        return self._record_new(transaction)

    def decide(self, transaction_id: str, state: FundingState) -> FundingTransaction:
        """Complete or cancel a transaction at an operator's request. Refused if it has ended."""
        transaction = self._require(transaction_id)
        if transaction.state not in _PENDING_STATES:
            raise Conflict(f"the transaction is already {transaction.state.name}", rule="T1")
        review = Review.APPROVED if state is FundingState.COMPLETED else Review.REJECTED
        transaction = replace(transaction, course=FundingScript.COMPLETE, review=review)
        cancels = state is FundingState.CANCELLED
        while transaction.state is not state:
            transaction = self._cancel(transaction) if cancels else self._step(transaction)
        return transaction

    def refund(self, transaction_id: str, amount: Cash | None) -> FundingTransaction:
        """Return a transaction through a source; all of it when `amount` is None.

        A second transaction, of type RETURN, moves the cash. The first one records the refund.
        """
        original = self._require(transaction_id)
        if not original.source or original.state not in _RETURNABLE:
            text = "only a completed transaction through a source can be refunded"
            raise Conflict(text, rule="T1")
        left = original.amount - original.refunded
        amount = left if amount is None else amount
        if not 0 < amount <= left:
            text = f"amount must be above zero and at most {cash_text(left)}"
            raise InvalidRequest(text, rule="T1")
        account, id = original.account, original.id
        signed, entry = amount, LedgerEntryType.DEPOSIT
        self.check_room(-amount if original.credit else amount)
        if original.credit:
            self._check_withdrawable(account, amount)
            signed, entry = -amount, LedgerEntryType.WITHDRAWAL
        self.move(account, signed, FundingType.RETURN, entry, "Refund", reference=id, parent=id)
        state = FundingState.REFUNDED if amount == left else FundingState.PARTIALLY_REFUNDED
        return self._change(original, state, refunded=original.refunded + amount)

    def _check_withdrawable(self, account: str, amount: Cash) -> None:
        available = self._trading.withdrawable(account)
        if available < amount:
            raise Conflict(f"{account} has only {cash_text(available)} available", rule="P6")

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {STEP_TIMER: self._step_due}

    def _step_due(self, timer: Timer) -> None:
        transaction = self._by_id[timer.subject]
        if not _advances_by_itself(transaction):
            return
        processing = transaction.state is FundingState.PROCESSING
        cancels = processing and transaction.course is FundingScript.CANCEL
        transaction = self._cancel(transaction) if cancels else self._step(transaction)
        if _advances_by_itself(transaction):
            self._schedule_step(transaction)

    def _step(self, transaction: FundingTransaction) -> FundingTransaction:
        state = _NEXT[transaction.state]
        if state is FundingState.COMPLETED and transaction.credit:
            amount, entry = transaction.amount, LedgerEntryType.DEPOSIT
            row = self._move_cash(transaction, amount, entry, "Deposit")
            transaction = _with_row(transaction, row)
        if state is FundingState.PROCESSING and transaction.course is FundingScript.HOLD:
            text = "held for review"
            return self._change(transaction, state, review=Review.PENDING, message=text)
        return self._change(transaction, state, message="")

    def _cancel(self, transaction: FundingTransaction) -> FundingTransaction:
        if not transaction.credit:
            entry = LedgerEntryType.WITHDRAWAL_REJECTION
            self._move_cash(transaction, transaction.amount, entry, "Withdrawal rejected")
        return self._change(transaction, FundingState.CANCELLED, message="cancelled")

    def _schedule_step(self, transaction: FundingTransaction) -> None:
        ctx = self._ctx
        due = ctx.now + ctx.assumptions.number(FUNDING_STEP)
        ctx.timers.schedule(due, STEP_TIMER, transaction.id)

    def _move_cash(
        self, transaction: FundingTransaction, amount: Cash, entry: LedgerEntryType, text: str
    ) -> CashMoved:
        account, reference = transaction.account, transaction.id
        return self._trading.move_cash(account, amount, entry, text, reference=reference)

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

    def _record_new(self, transaction: FundingTransaction) -> FundingTransaction:
        transaction = replace(transaction, seq=len(self._state.changes))
        self._count_pending(transaction, 1)
        self._state.changes.append(FundingChange(transaction, FundingState.PENDING, self._ctx.now))
        self._add_to_indexes(transaction)
        return transaction

    def _change(
        self, transaction: FundingTransaction, state: FundingState, **changes: object
    ) -> FundingTransaction:
        now, seq = self._ctx.now, len(self._state.changes)
        changed = replace(transaction, state=state, changed=now, seq=seq, **changes)
        self._count_pending(transaction, -1)
        self._count_pending(changed, 1)
        self._state.changes.append(FundingChange(changed, transaction.state, now))
        self._by_id[changed.id] = changed
        return changed

    def _add_to_indexes(self, transaction: FundingTransaction) -> None:
        if transaction.id not in self._by_id:
            self._ids_of.setdefault(transaction.account, []).append(transaction.id)
        self._by_id[transaction.id] = transaction

    def _count_pending(self, transaction: FundingTransaction, sign: int) -> None:
        if transaction.state in _PENDING_STATES:
            self._pending_amount += sign * transaction.amount

    def _require(self, transaction_id: str) -> FundingTransaction:
        transaction = self._by_id.get(transaction_id)
        if transaction is None:
            raise NotFound(f"unknown funding transaction: {cut(transaction_id)}", rule="T1")
        return transaction

    def save(self) -> FundingLog:
        """Return every change."""
        return self._state

    def load(self, state: object) -> None:
        """Restore saved changes and rebuild the indexes."""
        self._index(convert(state, FundingLog))

    def _index(self, state: FundingLog) -> None:
        self._state = state
        self._by_id: dict[str, FundingTransaction] = {}
        self._ids_of: dict[str, list[str]] = {}
        self._pending_amount: Cash = 0
        for change in state.changes:
            self._add_to_indexes(change.transaction)
        for transaction in self._by_id.values():
            self._count_pending(transaction, 1)


def sources_of(firm: Firm) -> tuple[FundingSource, ...]:
    """Return a firm's sources: those of the scenario, or one bank account by default."""
    return firm.funding_sources or (FundingSource(id=f"{firm.id}-bank"),)


def _direction(amount: Cash) -> FundingType:
    return FundingType.DEPOSIT if amount >= 0 else FundingType.WITHDRAWAL


def _advances_by_itself(transaction: FundingTransaction) -> bool:
    """Return whether a transaction takes its next step without an operator's decision."""
    return transaction.state in _PENDING_STATES and transaction.review is not Review.PENDING


def _with_row(transaction: FundingTransaction, row: CashMoved) -> FundingTransaction:
    return replace(transaction, before=row.before, after=row.after, entry=row.id)
