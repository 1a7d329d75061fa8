"""Deposits, withdrawals, decisions and refunds against a naive model of every transaction: what is
refused, who has how much when, and what the funding calls show, across restores too.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.core.model.refusals import Refusal
from sim.kernel.instants import format_instant, parse_instant, parse_span
from sim.run.client.client import Connection, connect
from tests.journeys import firm, operate
from tests.sessions import SESSIONS

SCENARIO = """
name: funds
world:
  base: empty
  firms:
    - name: firms/atlas
      key: atlas
      users: [{name: ann, balance: "1000"}, {name: bob, balance: "250"}]
      funding_sources: [{id: open}, {id: limited, max_deposit: "100"}, {id: shut, disabled: true}]
limits: {exchange_rest: "off"}
maintenance: []
"""
MOST = Decimal(40_000_000_000)
NEXT = {"PENDING": "PROCESSING", "PROCESSING": "ACKNOWLEDGED", "ACKNOWLEDGED": "COMPLETED"}
AMOUNTS = ("10", "10", "0.01", "20", "100", "100.01", "-5", "-10", "-0.01", "-250", "-1250", "0")
LARGE = ("9999998000", "15000000000", "39999998750", "-9999998000", "40000000000")


class Model:
    """Balances by account, and transactions by id in the order in which they began."""

    def __init__(self, balances: dict[str, Decimal], others: Decimal, step: int, now: int) -> None:
        self.balances = balances
        self.others = others
        self.step, self.now = step, now
        self.rows: dict[str, dict[str, Any]] = {}
        self.due: list[tuple[int, int, str]] = []
        self.numbered = 0

    def copy(self) -> Model:
        model = Model(dict(self.balances), self.others, self.step, self.now)
        model.rows = {name: dict(row) for name, row in self.rows.items()}
        model.due, model.numbered = list(self.due), self.numbered
        return model

    # ---- what is refused

    def room(self, amount: Decimal) -> str:
        """Money in transit counts as if it were there."""
        pending = sum((r["amount"] for r in self.rows.values() if r["state"] in NEXT), Decimal(0))
        held = sum(self.balances.values()) + self.others + pending
        if held + max(amount, Decimal(0)) > MOST or held + amount > MOST:
            return "more money than the exchange holds"
        return ""

    def spare(self, account: str, amount: Decimal) -> str:
        available = self.balances[account]
        return f"{account} has only {available:.2f} available" if available < amount else ""

    def refuses(self, account: str, amount: Decimal, source: str) -> str:
        if source and not amount:
            return "amount must not be zero"
        if source == "shut":
            return "funding source shut is disabled"
        if source == "limited" and amount > 100:
            return "limited accepts at most 100.00 at a time"
        if amount < 0 and (text := self.spare(account, -amount)):
            return text
        return self.room(amount)

    def refuses_refund(self, name: str, amount: Decimal | None) -> str:
        row = self.rows[name]
        if not row["source"] or row["state"] not in ("COMPLETED", "PARTIALLY_REFUNDED"):
            return "only a completed transaction through a source can be refunded"
        left = row["amount"] - row["refunded"]
        amount = left if amount is None else amount
        if not 0 < amount <= left:
            return f"amount must be above zero and at most {left:.2f}"
        if text := self.room(-amount if row["credit"] else amount):
            return text
        return self.spare(row["account"], amount) if row["credit"] else ""

    # ---- what it does

    def begin(self, name: str, account: str, amount: Decimal, source: str, script: str) -> None:
        credit = amount >= 0
        kind = "DEPOSIT" if credit else "WITHDRAWAL"
        self.rows[name] = {
            "account": account,
            "amount": abs(amount),
            "credit": credit,
            "type": kind,
            "state": "PENDING" if source else "COMPLETED",
            "source": source,
            "script": script,
            "review": "SKIPPED" if source else "UNDEFINED",
            "message": "",
            "refunded": Decimal(0),
            "parent": "",
            "description": kind.capitalize() if source else "by hand",
            "created": self.now,
            "changed": self.now,
            "before": "",
            "after": "",
        }
        if not source or not credit:
            self.pay(self.rows[name], amount, shows=True)
        if source:
            self.later(name)

    def pay(self, row: dict[str, Any], amount: Decimal, *, shows: bool) -> None:
        before = self.balances[row["account"]]
        self.balances[row["account"]] = after = before + amount
        if shows:
            row["before"], row["after"] = f"{before:.2f}", f"{after:.2f}"

    def later(self, name: str) -> None:
        self.numbered += 1
        self.due.append((self.now + self.step, self.numbered, name))

    def change(self, row: dict[str, Any], state: str, message: str = "") -> None:
        row |= {"state": state, "message": message, "changed": self.now}

    def advance(self, row: dict[str, Any]) -> None:
        state = NEXT[row["state"]]
        if state == "COMPLETED" and row["credit"]:
            self.pay(row, row["amount"], shows=True)
        held = state == "PROCESSING" and row["script"] == "hold"
        self.change(row, state, "held for review" if held else "")
        if held:
            row["review"] = "PENDING"

    def cancel(self, row: dict[str, Any]) -> None:
        if not row["credit"]:
            self.pay(row, row["amount"], shows=False)
        self.change(row, "CANCELLED", "cancelled")

    def wait(self, span: int) -> None:
        until = self.now + span
        while due := sorted(item for item in self.due if item[0] <= until):
            self.due.remove(due[0])
            self.now, _, name = due[0]
            row = self.rows[name]
            if row["state"] in NEXT and row["review"] != "PENDING":
                cancels = row["script"] == "cancel" and row["state"] == "PROCESSING"
                (self.cancel if cancels else self.advance)(row)
                if row["state"] in NEXT and row["review"] != "PENDING":
                    self.later(name)
        self.now = until

    def decide(self, name: str, state: str) -> None:
        row = self.rows[name]
        row["script"], row["review"] = "complete", "REJECTED"
        if state == "CANCELLED":
            self.cancel(row)
            return
        row["review"] = "APPROVED"
        while row["state"] != "COMPLETED":
            self.advance(row)

    def refund(self, name: str, new: str, amount: Decimal | None) -> None:
        row = self.rows[name]
        left = row["amount"] - row["refunded"]
        amount = left if amount is None else amount
        self.begin(new, row["account"], -amount if row["credit"] else amount, "", "")
        self.rows[new] |= {"type": "RETURN", "parent": name, "description": "Refund"}
        row["refunded"] += amount
        self.change(row, "REFUNDED" if amount == left else "PARTIALLY_REFUNDED", row["message"])


class Both:
    """The exchange through its control plane and REST calls, and the model."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.world: Connection = connect(Simulation(load_scenario(SCENARIO)))
        step = rng.choice(("30s", "1s"))
        self.world.simulation.control("assumption.set", "funding.step", {"value": step})
        ledger = self.world.simulation.exchange.trading.ledger
        self.accounts = [user.account for user in firm(self.world.simulation, 1).users]
        balances = {name: Decimal(ledger.balance(name)) / 10**8 for name in self.accounts}
        held = Decimal(-ledger.balance("house/funding")) / 10**8
        others = held - sum(balances.values())
        self.model = Model(balances, others, parse_span(step), self.world.simulation.now)
        self.kept: Model | None = None
        if rng.random() < 0.6:
            self.fill()

    def fill(self) -> None:
        """Leave room for little more money, so that what is in transit counts."""
        held = sum(self.model.balances.values()) + self.model.others
        account, amount = self.accounts[0], MOST - held - self.rng.choice((10, 30, 110, 111, 220))
        created = self.control("account.fund", account, {"amount": str(amount)}, "")
        self.model.begin(created["transaction"], account, amount, "", "")

    def control(self, action: str, subject: str, body: dict[str, object], expected: str) -> Any:
        """The answer of the control plane, or None after a refusal as expected."""
        try:
            value = operate(self.world, action, subject, **body).value
        except Refusal as refusal:
            assert expected and refusal.message.startswith(expected), (refusal.message, expected)
            return None
        assert not expected, (expected, value)
        return value

    def fund(self) -> None:
        rng = self.rng
        account, source = rng.choice(self.accounts), rng.choice(("", "open", "open", "limited"))
        source = "shut" if rng.random() < 0.05 else source
        text = rng.choice(AMOUNTS + (LARGE if rng.random() < 0.1 else ()))
        if rng.random() < 0.15:
            text = f"-{self.model.balances[account]:.2f}"  # all that there is
        script = rng.choice(("complete", "complete", "cancel", "hold"))
        body: dict[str, object] = {"amount": text}
        if source:
            body |= {"source": source, "script": script}
        expected = self.model.refuses(account, Decimal(text), source)
        created = self.control("account.fund", account, body, expected)
        if created is not None:
            name = created["transaction"]
            self.model.begin(name, account, Decimal(text), source, script)
            assert created["balance"] == f"{self.model.balances[account]:.2f}"

    def decide(self) -> None:
        name, state = self.single(), self.rng.choice(("COMPLETED", "CANCELLED"))
        if not name:
            return
        was = self.model.rows[name]["state"]
        expected = "" if was in NEXT else f"the transaction is already {was}"
        if self.control("funding.decide", name, {"state": state}, expected) is not None:
            self.model.decide(name, state)

    def refund(self) -> None:
        name = self.single()
        if not name:
            return
        rows = self.model.rows
        done = [
            n for n, r in rows.items() if r["source"] and r["state"] not in ("CANCELLED", *NEXT)
        ]
        name = self.rng.choice(done) if done and self.rng.random() < 0.8 else name
        row, text = rows[name], self.rng.choice((None, "0.01", "3", "10", "100.01"))
        left = row["amount"] - row["refunded"]
        if left and self.rng.random() < 0.3:
            text = str(self.rng.choice((left, left + Decimal("0.01"))))
        body: dict[str, object] = {"state": "REFUNDED"} | ({"amount": text} if text else {})
        expected = self.model.refuses_refund(name, Decimal(text) if text else None)
        if self.control("funding.decide", name, body, expected) is not None:
            new = self.world.simulation.exchange.funding.changes[-2].transaction.id
            self.model.refund(name, new, Decimal(text) if text else None)
        assert row["refunded"] <= row["amount"]

    def single(self) -> str:
        """A transaction, the latest ones most of the time."""
        names = list(self.model.rows)
        return self.rng.choice(names[-4:] * 3 + names) if names else ""

    def wait(self) -> None:
        span = self.rng.choice((1, 10**9, 30 * 10**9, 45 * 10**9, 100 * 10**9))
        self.world.advance_to(self.world.simulation.now + span)
        self.model.wait(span)

    def travel(self) -> None:
        """Keep a moment, or go back to the one that was kept."""
        if self.kept is None or self.rng.random() < 0.5:
            self.world.simulation.snapshot("kept")
            self.kept = self.model.copy()
        else:
            self.world.simulation.restore("kept")
            self.model = self.kept.copy()

    def check(self) -> None:
        """Balances, and every transaction of both accounts, ordered by their last changes."""
        result = firm(self.world.simulation, 1)
        ledger = self.world.simulation.exchange.trading.ledger
        for user in result.users:
            assert (
                Decimal(ledger.balance(user.account)) / 10**8 == self.model.balances[user.account]
            )
            client = self.world.exchange(result, user.name)
            rows = client.get("/v1/funding/transactions", params={"pageSize": 1000}).json()
            rows = [row for row in rows["transactions"] if row["transactionId"] in self.model.rows]
            displayed = {row["transactionId"]: row for row in rows}
            mine = {n: r for n, r in self.model.rows.items() if r["account"] == user.account}
            assert set(displayed) == set(mine)
            for name, row in mine.items():
                assert summary(displayed[name]) == expected(row), name
            times = [parse_instant(row["transactTime"]) for row in rows]
            assert times == sorted(times)


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """A transaction as REST shows it, without prefixes."""

    def word(name: str) -> str:
        return (
            str(row[name]).rpartition("STATE_")[2].rpartition("TYPE_")[2].rpartition("STATUS_")[2]
        )

    return {
        "account": row["accountId"],
        "amount": row["amount"],
        "credit": word("ledgerEntryType") == "CREDIT",
        "type": word("transactionType"),
        "state": word("transactionState"),
        "source": row["fundingSourceId"],
        "review": word("reviewStatus"),
        "message": row["statusMessage"],
        "parent": row["parentTransactionId"],
        "description": row["description"],
        "created": row["createTime"],
        "changed": row["transactTime"],
        "before": row["beforeBalance"],
        "after": row["afterBalance"],
        "reserved": row["balanceReservation"],
        "entry": bool(row["riskTransactionId"]),
    }


def expected(row: dict[str, Any]) -> dict[str, Any]:
    names = ("account", "credit", "type", "state", "source", "review", "message", "parent")
    amount = f"{row['amount']:.2f}"
    reserved = amount if not row["credit"] and row["state"] in NEXT else ""
    return {name: row[name] for name in (*names, "description", "before", "after")} | {
        "amount": amount,
        "created": format_instant(row["created"]),
        "changed": format_instant(row["changed"]),
        "reserved": reserved,
        "entry": bool(row["before"]),
    }


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_money_through_sources_fares_as_in_the_model(seed: int) -> None:
    both = Both(Random(seed))
    for number in range(45):
        kind = both.rng.choice(
            ("fund", "fund", "fund", "wait", "wait", "decide", "refund", "travel")
        )
        getattr(both, kind)()
        if number % 9 == 8:
            both.check()


def test_a_withdrawal_comes_back_only_while_the_exchange_has_room_for_it() -> None:
    both = Both(Random(1))
    world, account = both.world, both.accounts[0]

    def fund(amount: Decimal | str, **how: str) -> str:
        body = {"amount": str(amount), **how}
        created = operate(world, "account.fund", account, **body).value
        return str(created["transaction"])

    paid = fund("-10", source="open")
    world.advance("5m")
    held = Decimal(-world.simulation.exchange.trading.ledger.balance("house/funding")) / 10**8
    fund(MOST - held - Decimal("9.99"))
    refused = "more money than the exchange holds"
    body: dict[str, object] = {"state": "REFUNDED"}
    assert both.control("funding.decide", paid, body, refused) is None
    fund("-0.01")
    assert both.control("funding.decide", paid, body, "")["state"] == "REFUNDED"
