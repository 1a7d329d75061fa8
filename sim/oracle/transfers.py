"""Cash that moves without a fill (rules P6, P16, P20, P25)."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import NamedTuple

from msgspec import json

from sim.kernel.instants import Instant, eastern_date
from sim.oracle.hearing import Hearing
from sim.oracle.money import buying_power, largest_reserve, returns_collateral
from sim.oracle.state import CASH, Document, NaiveAccount
from sim.read.observed import ObservedInput

DEPOSIT, WITHDRAWAL, ADJUSTMENT, REJECTION, REQUESTED = 1, 2, 7, 16, 22
TRANSFERS = "CashMovementService.CreateCashMovement"
# States of a transaction through a bank before it is completed, and before it is canceled (P25)
STEPS = {"COMPLETE": 3, "CANCEL": 2}


class DueEntry(NamedTuple):
    """An entry that has to come, at an instant."""

    at: Instant
    account: str
    type: int
    amount: int


class TransferRules:
    """Knows the transactions through banks that are under way, and the keys of transfers."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._under_way: list[DueEntry] = []
        self._due: list[DueEntry] = []  # with this input
        self._begun = -1
        self._keys: dict[tuple[str, str], Document] = {}
        self._fee_days: dict[str, date] = {}  # when vendor fees of an account were last collected

    # ---- entries

    def moved(self, event: Document) -> None:
        """Judge an entry that nothing made necessary, before it happens."""
        self._begin()
        account, before = event["account"], self._hearing.exchange.account(event["account"]).cash
        if event["before"] != before:
            self._disagree("P20", account, f"from {before}", f"from {event['before']}")
        amount = event["after"] - event["before"]
        for due in (*self._due, *self._under_way):
            if due[1:] == (account, event["type"], amount) and due.at == event["at"]:
                (self._due if due in self._due else self._under_way).remove(due)
                return
        action = self._hearing.observed.input.get("action")
        exchange = self._hearing.exchange
        longest = max(STEPS.values()) * exchange.assumed("funding.step")
        by_time = self._hearing.observed.input["type"] == "advance"
        early = event["at"] <= exchange.beginning.now + longest
        if by_time and early and event["type"] in (DEPOSIT, REJECTION):
            self._hearing.undecided("a transfer from before")
        elif by_time and event["type"] == ADJUSTMENT:
            self._hearing.undecided("rewards by score and volume")
        elif action == "funding.decide":
            self._hearing.undecided("a bank's decision")
        elif not self._hearing.doubt:
            self._disagree("P20", account, "nothing", f"{event['description']} of {amount}")

    def _begin(self) -> None:
        """Take over what this input asks for, as the accounts stand before it."""
        observed = self._hearing.observed
        if self._begun == observed.seq:
            return
        self._begun, self._due = observed.seq, []
        if observed.input.get("action") == "account.fund" and "message" not in observed.out:
            self._fund(observed)
        elif observed.operation == TRANSFERS and isinstance(observed.answer, dict):
            self._transfer(observed)

    def _fund(self, observed: ObservedInput) -> None:
        """Expect what an operator pays in or out, at once or through a bank (rules T1, P25)."""
        wish = json.decode(observed.input.get("arguments", "{}"))
        holder = self._holder(observed.input["subject"])
        amount, now = int(Fraction(wish["amount"]) * CASH), observed.at
        if holder is None or not amount:
            return
        if not wish.get("source"):
            adjusts = wish.get("purpose", "DEPOSIT").upper() not in ("DEPOSIT", "TRANSFER")
            kind = ADJUSTMENT if adjusts else DEPOSIT if amount > 0 else WITHDRAWAL
            self._due.append(DueEntry(now, holder.name, kind, amount))
            return
        script = wish.get("script", "COMPLETE").upper()
        end = now + STEPS.get(script, 0) * self._hearing.exchange.assumed("funding.step")
        if amount < 0:
            self._due.append(DueEntry(now, holder.name, REQUESTED, amount))
        if amount > 0 and script == "COMPLETE":
            self._under_way.append(DueEntry(end, holder.name, DEPOSIT, amount))
        elif amount < 0 and script == "CANCEL":
            self._under_way.append(DueEntry(end, holder.name, REJECTION, -amount))

    def _transfer(self, observed: ObservedInput) -> None:
        """Expect both legs of a partner's transfer, once for a key (rule P25)."""
        wish, row = observed.request["transfer"], observed.answer["cashMovement"]
        key = str(row["sourceAccountId"] + row["destinationAccountId"]), row["idempotencyKey"]
        if self._keys.setdefault(key, row) is not row:
            if self._keys[key] != row:
                self._disagree("P25", key[1], "the same answer", "another")
            return
        amount = int(Fraction(wish["amount"]) * CASH)
        source = self._hearing.exchange.account(row["sourceAccountId"])
        rejected = row["status"].endswith("_REJECTED")
        limit, today = self.withdrawable(source), eastern_date(observed.at)
        is_fee = "VENDOR_FEES" in str(wish.get("reason"))
        again = is_fee and self._fee_days.get(source.name) == today
        if limit is not None and rejected != (amount > limit or again):
            expected, reported = ("CONFIRMED", "REJECTED")[:: 1 if rejected else -1]
            self._disagree("P25", source.name, expected, reported)
        if is_fee and not rejected:
            self._fee_days[source.name] = today
        if not rejected:
            self._due.append(DueEntry(observed.at, source.name, WITHDRAWAL, -amount))
            target = row["destinationAccountId"]
            self._due.append(DueEntry(observed.at, target, DEPOSIT, amount))

    def withdrawable(self, account: NaiveAccount) -> int | None:
        """Return what may leave an account: the largest reserve stays (rule P6).

        None where related shorts need less margin, which rule P8 does not settle.
        """
        exchange = self._hearing.exchange
        if returns_collateral(exchange, account):
            return None
        return buying_power(exchange, account) - largest_reserve(exchange, account)

    def _holder(self, name: str) -> NaiveAccount | None:
        """Return the account of a name or of its last part, or of a participant."""
        accounts, beginning = self._hearing.exchange.accounts, self._hearing.exchange.beginning
        for user in (user for firm in beginning.firms for user in firm["users"]):
            if name in (user["name"], user["name"].rpartition("/")[2]):
                return accounts.get(user["account"])
        if "/accounts/" in name:  # verification opens accounts during a run
            return self._hearing.exchange.account(name)
        full = (each for each in accounts.values() if each.name.endswith(f"/accounts/{name}"))
        return accounts.get(name) or next(full, None)

    # ---- what is owed

    def after_input(self, observed: ObservedInput) -> None:
        """Judge that every entry came that had to, and that refusals were right (P6, P25)."""
        self._begin()
        overdue = [each for each in self._under_way if each.at < observed.now]
        self._under_way = [each for each in self._under_way if each.at >= observed.now]
        for due in (*self._due, *overdue):
            self._disagree("P25", due.account, f"{due.amount} at {due.at}", "nothing")
        self._due = []
        if observed.input.get("action") == "account.fund" and observed.rule == "P6":
            wish = json.decode(observed.input.get("arguments", "{}"))
            holder = self._holder(observed.input["subject"])
            limit = None if holder is None else self.withdrawable(holder)
            if limit is not None and -Fraction(wish["amount"]) * CASH <= limit:
                self._disagree("P6", observed.input["subject"], "taken out", "refused")

    def _disagree(self, rule: str, account: str, expected: str, observed: str) -> None:
        sentence = f"cash of {account}: {observed}, not {expected}"
        self._hearing.disagree(rule, expected, observed, sentence)
