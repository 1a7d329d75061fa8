"""The cash ledger, in double entry (rules P17-P22).

Every movement has an equal and opposite movement on a house account, so that all balances always
sum to zero. House accounts represent the world outside the participants: banks, the clearing house,
the exchange's fees. They have a balance but no rows, because these would mirror the rows of all
other accounts. The balance of the clearing house returns to zero with every trade and settlement,
which proves that they are zero-sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sim.core.catalogue.assumptions import LEDGER_COMMISSION
from sim.core.catalogue.bounds import MONEY, REBATES
from sim.core.model.context import Context
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved
from sim.core.model.quantities import CASH_SCALE, Cash, cash_text
from sim.core.model.refusals import AlreadyExists, Conflict, NotFound, cut
from sim.core.model.why import Why
from sim.kernel.indexes.restore_rows import restore
from sim.kernel.instants import Instant

HOUSE_FUNDING = "house/funding"
HOUSE_CLEARING = "house/clearing"
HOUSE_FEES = "house/fees"
HOUSES = (HOUSE_FUNDING, HOUSE_CLEARING, HOUSE_FEES)
_EXECUTION = LedgerEntryType.ORDER_EXECUTION
# The rule of a row, by its type, unless the caller has a more specific one.
_RULES = {
    LedgerEntryType.ORDER_EXECUTION: Why("P21"),
    LedgerEntryType.COMMISSION: Why("P21"),
    LedgerEntryType.RESOLUTION: Why("P22"),
    LedgerEntryType.CORRECTION: Why("L27"),
}
_TRANSFERRED, _FILLED, _BUSTED = Why("P25"), _RULES[_EXECUTION], Why("M42")
_MONEY_MAX, _REBATES_MAX = MONEY.high * CASH_SCALE, REBATES.high * CASH_SCALE
TRADING, CLEARING, HOUSE = "trading", "clearing", "house"


class Account(Struct):
    """One account.

    Trading accounts trade, clearing accounts only hold cash (rule P26), house accounts are the
    contra side. With `collateral_return`, related short positions need less margin (rule P8).
    """

    name: str
    kind: str = TRADING
    balance: Cash = 0
    collateral_return: bool = False
    opened: Instant = 0


class LedgerState(Struct):
    """The saved state of the ledger."""

    accounts: list[Account]
    rows: list[CashMoved]


class Ledger:
    """Accounts, balances and rows."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._ids = ctx.ids.sequence("cash")
        self._rows: list[CashMoved] = []
        self._rows_of: dict[str, list[CashMoved]] = {}
        self._accounts: dict[str, Account] = {}
        for house in HOUSES:
            self.open(house, HOUSE)
        self._clearing = self._accounts[HOUSE_CLEARING]
        self._fees = self._accounts[HOUSE_FEES]

    def __contains__(self, account: str) -> bool:
        return account in self._accounts

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts.values())

    def open(self, name: str, kind: str = TRADING, *, collateral_return: bool = False) -> Account:
        """Open an empty account. Refuses a name that is taken."""
        if name in self._accounts:
            raise AlreadyExists(f"account {cut(name)} already exists")
        account = Account(name, kind, 0, collateral_return, self._ctx.now)
        self._accounts[name] = account
        return account

    def get(self, account: str) -> Account | None:
        """Return the account, or None."""
        return self._accounts.get(account)

    def require(self, account: str) -> Account:
        """Return the account. Refuses an unknown name as not found."""
        entry = self._accounts.get(account)
        if entry is None:
            raise NotFound(f"unknown account: {cut(account)}")
        return entry

    def balance(self, account: str) -> Cash:
        """Return the cash of an account."""
        return self.require(account).balance

    def entries(self, account: str) -> Sequence[CashMoved]:
        """Return the cash rows of an account, oldest first."""
        return self._rows_of.get(account, ())

    def total(self) -> Cash:
        """Return the sum of all balances, which is always zero."""
        return sum(account.balance for account in self._accounts.values())

    def check_room(self, amount: Cash, pending: Cash = 0) -> None:
        """Refuse an amount from outside (to it when negative) that would exceed the range of money.

        `pending` is money in transit that may still arrive. Debts do not make room for more.
        """
        total = sum(max(0, account.balance) for account in self if account.kind != HOUSE)
        paid_in = pending - self.balance(HOUSE_FUNDING) + amount
        if (
            not -_MONEY_MAX <= paid_in <= _MONEY_MAX
            or total + pending + max(amount, 0) > _MONEY_MAX
        ):
            raise Conflict(
                f"more money than the exchange holds; {MONEY.text()}",
                rule="T3",
                remedy=f"it holds {cash_text(total)}; pay some out, or reset the exchange",
            )

    def check_debts(self, amount: Cash) -> None:
        """Refuse a correction that could leave more debts than the range of money allows."""
        debts = -sum(min(0, account.balance) for account in self if account.kind != HOUSE)
        if debts + amount > _MONEY_MAX:
            remedy = f"accounts owe {cash_text(debts)} already; reset the exchange"
            raise Conflict(f"too large a correction; {MONEY.text()}", rule="T3", remedy=remedy)

    @property
    def rebates_spent(self) -> bool:
        """Whether rebates less fees have reached their bound (`REBATES`)."""
        return self._fees.balance <= -_REBATES_MAX

    def move(
        self,
        account: str,
        amount: Cash,
        type: LedgerEntryType,
        description: str,
        *,
        contra: str = HOUSE_FUNDING,
        symbol: str = "",
        reference: str = "",
        why: Why | None = None,
    ) -> CashMoved:
        """Move an amount to an account (from it when negative) against a house account.

        `why` defaults to the rule of the type; that of deposits, withdrawals and transfers is P25.
        """
        why = why or _RULES.get(type, _TRANSFERRED)
        self.require(contra).balance -= amount
        return self._write(self.require(account), amount, type, description, symbol, reference, why)

    def fill(
        self, account: str, principal: Cash, commission: Cash, symbol: str, trade_id: str
    ) -> None:
        """Book one side of a trade: principal (signed) less commission (negative for a rebate).

        This writes one row, or two if the assumption says so (rule P21).
        """
        self._clearing.balance -= principal
        self._fees.balance += commission
        mine = self._accounts[account]
        if commission and self._ctx.assumptions.text(LEDGER_COMMISSION) == "separate":
            self._write(mine, principal, _EXECUTION, "Fill", symbol, trade_id, _FILLED)
            type = LedgerEntryType.COMMISSION
            self._write(mine, -commission, type, "Commission", symbol, trade_id, _FILLED)
        else:
            amount = principal - commission
            self._write(mine, amount, _EXECUTION, "Fill", symbol, trade_id, _FILLED)

    def reverse(
        self, account: str, principal: Cash, commission: Cash, symbol: str, trade_id: str
    ) -> None:
        """Reverse the cash movements of a busted trade, including its fee (rule M42)."""
        self._clearing.balance += principal
        self._fees.balance -= commission
        mine, type = self._accounts[account], LedgerEntryType.CORRECTION
        self._write(mine, commission - principal, type, "Correction", symbol, trade_id, _BUSTED)

    def pay_out(self, account: str, amount: Cash, type: LedgerEntryType, symbol: str) -> None:
        """Pay a settlement or its correction (rules P22, L27). An amount of 0 writes no row."""
        if amount:
            text = "Settlement" if type is LedgerEntryType.RESOLUTION else "Correction"
            self.move(account, amount, type, text, contra=HOUSE_CLEARING, symbol=symbol)

    def save(self) -> LedgerState:
        """Return accounts and rows."""
        return LedgerState(list(self._accounts.values()), self._rows)

    def load(self, state: LedgerState) -> None:
        """Restore saved accounts and rows."""
        self._accounts = {account.name: account for account in state.accounts}
        self._clearing = self._accounts[HOUSE_CLEARING]
        self._fees = self._accounts[HOUSE_FEES]
        restore(self._rows_of, self._rows, state.rows)
        self._rows = state.rows

    def _write(
        self,
        account: Account,
        amount: Cash,
        type: LedgerEntryType,
        description: str,
        symbol: str,
        reference: str,
        why: Why,
    ) -> CashMoved:
        ctx = self._ctx
        name, before = account.name, account.balance
        account.balance = after = before + amount
        row = CashMoved(
            self._ids.next(),
            name,
            type,
            before,
            after,
            description,
            ctx.now,
            symbol,
            reference,
            why.rule,
            why.facts,
        )
        self._rows.append(row)
        try:
            self._rows_of[name].append(row)
        except KeyError:
            self._rows_of[name] = [row]
        ctx.events.append(row)
        return row
