"""Requests for quotes against a naive model: what each account sees, what is refused, and when each
quote changes its state.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack, structs

from sim.core.model.enums import Channel, InstrumentState, OrderState, Side, TimeInForce
from sim.core.model.events import RfqChanged
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import Refusal
from sim.core.rfq.rfqs import Party
from sim.kernel.instants import Instant, seconds
from tests.api.small_exchange import (
    ANN,
    ANN_ACCOUNT,
    BOB,
    BOB_ACCOUNT,
    EVE,
    EVE_ACCOUNT,
    FINE,
    WHOLE,
    advance,
    small_exchange,
)
from tests.sessions import SESSIONS

PEOPLE = {ANN_ACCOUNT: ANN, BOB_ACCOUNT: BOB, EVE_ACCOUNT: EVE}
ACCOUNTS = tuple(PEOPLE)
# By symbol: tick, price limits, price scale, minimum quantity, and units of a contract.
TERMS = {WHOLE: (1, 1, 99, 100, 1, 1), FINE: (5, 10, 990, 1000, 10, 100)}
SWITCHES: tuple[tuple[str, object], ...] = (
    ("rfq.left_quotes", "deleted"),
    ("rfq.confirm_within", "1s"),
    ("rfq.execute_after", "2s"),
    ("rfq.execute_after", "0s"),
    ("rfq.pair_window", "5s"),
)
OPERATIONS = (
    *("request", "request", "quote", "quote", "quote", "accept", "accept", "confirm", "confirm"),
    *("delete", "withdraw", "wait", "wait", "state", "restore"),
)
MISSING = "00000000-0000-0000-0000-000000000000"


class Refused(NamedTuple):
    """A refusal; `text` is the beginning of its message."""

    kind: str
    text: str


class Model:
    """Requests and quotes as dictionaries, in order of creation."""

    def __init__(self, now: Instant, switches: dict[str, object]) -> None:
        self.now = now
        self.rfqs: dict[str, dict[str, Any]] = {}
        self.quotes: dict[str, dict[str, Any]] = {}
        self.open = dict.fromkeys(TERMS, True)
        self.due: list[tuple[Instant, int, str, str]] = []
        self.numbered = 0
        self.reported: list[tuple[str, str, str]] = []
        self.positions: dict[tuple[str, str], int] = {}
        spans = {"rfq.confirm_within": "3s", "rfq.execute_after": "1s", "rfq.pair_window": "1s"}
        for name, span in spans.items():
            text = str(switches.get(name, span))
            spans[name] = text.removesuffix("s")
        self.spans = {name: seconds(int(text)) for name, text in spans.items()}
        self.deletes = switches.get("rfq.left_quotes") == "deleted"

    def mine(self, account: str) -> list[str]:
        """The requests that an account may see."""
        return [
            name
            for name, rfq in self.rfqs.items()
            if rfq["status"] == "OPEN"
            or rfq["account"] == account
            or any(q["rfq"] == name and q["account"] == account for q in self.quotes.values())
        ]

    def observed(self, account: str) -> list[str]:
        """The quotes that an account may see."""
        return [name for name, q in self.quotes.items() if account in (q["account"], self.of(q))]

    def of(self, quote: dict[str, Any]) -> str:
        """Return the account that requested a quote."""
        return str(self.rfqs[quote["rfq"]]["account"])

    # ---- reasons to refuse an operation, in order

    def request(self, account: str, symbol: str, qty: int, cash: int) -> Refused | None:
        if not self.open[symbol]:
            return Refused("OrderRefused", f"{symbol} is not open")
        if qty and qty < TERMS[symbol][4]:
            return Refused("InvalidRequest", "qtyDecimal is below the minimum")
        return None

    def quote(self, account: str, rfq_id: str, buy: int, sell: int) -> Refused | None:
        rfq = self.rfqs.get(rfq_id)
        if rfq is None:
            return Refused("NotFound", f"unknown rfq: {rfq_id}")
        if rfq["account"] == account:
            return Refused("PermissionDenied", "permission denied")
        if rfq["status"] == "CLOSED":
            return Refused("Conflict", "the rfq is closed")
        tick, low, high, _, least, _ = TERMS[rfq["symbol"]]
        if not buy and not sell:
            return Refused("InvalidRequest", "buyPrice or sellPrice must be above zero")
        if 0 < buy < sell:
            return Refused("InvalidRequest", "buyPrice must not be below sellPrice")
        if not self.open[rfq["symbol"]]:
            return Refused("OrderRefused", f"{rfq['symbol']} is not open")
        if any(price and (price % tick or not low <= price <= high) for price in (buy, sell)):
            return Refused("OrderRefused", "Price is off the tick or outside the limits")
        if any(price and self.size(rfq, price) < least for price in (buy, sell)):
            return Refused("InvalidRequest", "cashOrderQty at this price is below the minimum")
        return None

    def size(self, rfq: dict[str, Any], price: int) -> int:
        """Return the units of a side: the quantity requested, or what the cash quantity buys."""
        _, _, _, scale, _, contract = TERMS[rfq["symbol"]]
        return int(rfq["qty"] or rfq["cash"] * scale * contract // (price * DOLLAR))

    def visible(self, account: str, quote_id: str, rfq_id: str) -> Refused | None:
        quote = self.quotes.get(quote_id)
        if (
            quote is None
            or quote_id not in self.observed(account)
            or rfq_id not in ("", quote["rfq"])
        ):
            return Refused("NotFound", f"unknown quote: {quote_id}")
        return None

    def act(
        self, kind: str, account: str, quote_id: str, rfq_id: str, side: Side
    ) -> Refused | None:
        """Return why a quote cannot be accepted, confirmed or deleted."""
        if refused := self.visible(account, quote_id, rfq_id):
            return refused
        quote = self.quotes[quote_id]
        closed = self.rfqs[quote["rfq"]]["status"] == "CLOSED"
        if account != (self.of(quote) if kind == "accept" else quote["account"]):
            return Refused("PermissionDenied", "permission denied")
        expected = {"accept": "ACTIVE", "confirm": "ACCEPTED"}.get(kind, "ACCEPTED")
        if (kind == "accept" or (kind == "delete" and quote["status"] == "ACTIVE")) and closed:
            return Refused("Conflict", "the rfq is closed")
        if quote["status"] != expected and not (kind == "delete" and quote["status"] == "ACTIVE"):
            return Refused("Conflict", f"the quote is {quote['status'].lower()}")
        if kind == "accept" and not quote["buy" if side is Side.BUY else "sell"]:
            return Refused("InvalidRequest", "acceptedSide is not quoted")
        return None

    # ---- effects of operations

    def tell(self, kind: str, rfq_id: str, quote_id: str = "") -> None:
        self.reported.append((kind, rfq_id, quote_id))

    def set(self, quote_id: str, status: str, **more: Any) -> None:
        self.quotes[quote_id] |= {"status": status, "updated": self.now, **more}
        self.tell(f"quote_{status.lower()}", self.quotes[quote_id]["rfq"], quote_id)

    def close(self, rfq_id: str, kept: str = "") -> None:
        self.rfqs[rfq_id] |= {"status": "CLOSED", "updated": self.now}
        self.tell("rfq_closed", rfq_id)
        for name, quote in self.quotes.items():
            if self.deletes and quote["rfq"] == rfq_id and name != kept:
                if quote["status"] == "ACTIVE":
                    self.set(name, "DELETED")

    def replaced(self, account: str, rfq_id: str, *, keeps: bool) -> str:
        """Return the quote whose id is kept (`keeps`), or delete former quotes of the account."""
        former = [
            name
            for name, quote in self.quotes.items()
            if (quote["rfq"], quote["account"]) == (rfq_id, account)
        ]
        if keeps:
            return former[-1] if former else ""
        for name in former:
            if self.quotes[name]["status"] == "ACTIVE":
                self.set(name, "DELETED")
        return ""

    def later(self, name: str, kind: str, quote_id: str) -> Instant:
        due = self.now + self.spans[name]
        self.numbered += 1
        self.due.append((due, self.numbered, kind, quote_id))
        return due

    def wait(self, span: int) -> None:
        """Process everything that is due by an instant, in order."""
        until = self.now + span
        while due := sorted(item for item in self.due if item[0] <= until):
            at, _, kind, quote_id = first = due[0]
            self.due.remove(first)
            self.now, quote = at, self.quotes[quote_id]
            if kind == "execute":
                self.execute(quote_id, quote)
            elif quote["status"] == "ACCEPTED":
                self.set(quote_id, "DELETED")
        self.now = until

    def execute(self, quote_id: str, quote: dict[str, Any]) -> None:
        if not self.open[quote["symbol"]]:
            self.set(quote_id, "DELETED")
            return
        self.set(quote_id, "EXECUTED", executed_at=self.now)
        bought = quote["accepted"] is Side.BUY
        qty = quote["buy_qty" if bought else "sell_qty"] * (1 if bought else -1)
        for account, change in ((self.of(quote), qty), (quote["account"], -qty)):
            at = account, quote["symbol"]
            self.positions[at] = self.positions.get(at, 0) + change


class Both:
    """The exchange and the model; every operation is applied to both."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.exchange = small_exchange(balance=1_000_000)
        chosen = dict(rng.sample(SWITCHES, rng.randint(0, 2)))
        for name, value in chosen.items():
            self.exchange.ctx.assumptions.change(name, value)
        self.model = Model(self.exchange.now, chosen)
        self.exchange.ctx.events.clear()

    def do(self) -> None:
        """Perform one operation of an account."""
        kind = self.rng.choice(OPERATIONS)
        getattr(self, f"_{kind}")()
        assert self.reported() == self.model.reported
        self.model.reported.clear()

    def reported(self) -> list[tuple[str, str, str]]:
        """Return kind, request and quote of each event since the last call."""
        events, self.exchange.ctx.events = self.exchange.ctx.events, []
        changes = [event for event in events if isinstance(event, RfqChanged)]
        assert all(change.at <= self.model.now for change in changes)
        return [(item.kind, item.rfq.id, item.quote.id if item.quote else "") for item in changes]

    def _account(self, likely: str = "") -> str:
        return likely if likely and self.rng.random() < 0.8 else self.rng.choice(ACCOUNTS)

    def _one(self, names: dict[str, Any]) -> str:
        recent = list(names)[-3:]
        return self.rng.choice([*recent * 4, MISSING])

    def _party(self, account: str) -> Party:
        channel = Channel.RETAIL if account == EVE_ACCOUNT else Channel.EXCHANGE
        return Party(account, PEOPLE[account], channel)

    def _request(self) -> None:
        account, symbol = self._account(ANN_ACCOUNT), self.rng.choice((WHOLE, FINE))
        qty = self.rng.choice((0, 1, 9, 10, 25, 100))
        cash = 0 if qty else self.rng.choice((DOLLAR // 10, DOLLAR // 2, 3 * DOLLAR))
        rests = self.rng.random() < 0.5
        expected = self.model.request(account, symbol, qty, cash)
        instrument = self.exchange.instruments.require(symbol)
        created = attempt(
            lambda: self.exchange.rfqs.request(
                self._party(account), instrument, qty=qty, cash=cash, rest_remainder=rests
            ),
            expected,
        )
        if expected is None:
            self.model.rfqs[created.id] = {
                "account": account,
                "symbol": symbol,
                "qty": qty,
                "cash": cash,
                "rests": rests,
                "status": "OPEN",
                "created": self.model.now,
                "updated": self.model.now,
            }
            self.model.tell("rfq_created", created.id)

    def _quote(self) -> None:
        rfq_id = self._one(self.model.rfqs)
        account = self._account(self.rng.choice((BOB_ACCOUNT, EVE_ACCOUNT)))
        symbol = self.model.rfqs.get(rfq_id, {"symbol": WHOLE})["symbol"]
        scale, edges = TERMS[symbol][3] // 100, (0,) * 16 + (5, 3)
        buy, sell = (
            self.rng.choice((0, 1, 20, 30, 30, 40, 99, 100)) * scale + self.rng.choice(edges)
            for _ in "bs"
        )
        if self.rng.random() < 0.7:
            buy, sell = max(buy, sell), min(buy, sell)
        rests, posts, keeps = (self.rng.random() < 0.5 for _ in range(3))
        expected = self.model.quote(account, rfq_id, buy, sell)
        built = attempt(
            lambda: self.exchange.rfqs.quote(
                self._party(account),
                rfq_id,
                buy_price=buy,
                sell_price=sell,
                rest_remainder=rests,
                post_only=posts,
                keep_id=keeps,
            ),
            expected,
        )
        if expected is None:
            former = self.model.replaced(account, rfq_id, keeps=keeps)
            assert (built.id == former) or (not former and built.id not in self.model.quotes)
            rfq, existing = self.model.rfqs[rfq_id], self.model.quotes
            created = existing[former]["created"] if former else self.model.now
            existing[built.id] = {
                "rfq": rfq_id,
                "account": account,
                "symbol": rfq["symbol"],
                "buy": buy,
                "sell": sell,
                "buy_qty": self.model.size(rfq, buy) if buy else 0,
                "sell_qty": self.model.size(rfq, sell) if sell else 0,
                "rests": rests,
                "posts": posts,
                "status": "ACTIVE",
                "created": created,
                "updated": self.model.now,
            }
            self.model.tell("quote_created", rfq_id, built.id)

    def _act(self, kind: str) -> None:
        quote_id = self._one(self.model.quotes)
        quote = self.model.quotes.get(quote_id)
        likely = "" if quote is None else quote["account"]
        account = self._account(self.model.of(quote) if quote and kind == "accept" else likely)
        rfq_id = self.rng.choice(("", "", MISSING))
        if rfq_id and quote_id in self.model.quotes and self.rng.random() < 0.8:
            rfq_id = self.model.quotes[quote_id]["rfq"]
        side = self.rng.choice((Side.BUY, Side.SELL))
        rfqs, model = self.exchange.rfqs, self.model
        expected = model.act(kind, account, quote_id, rfq_id, side)
        if kind == "accept":
            attempt(lambda: rfqs.accept(account, quote_id, side, rfq_id), expected)
        elif kind == "confirm":
            attempt(lambda: rfqs.confirm(account, quote_id, rfq_id), expected)
        else:
            attempt(lambda: rfqs.delete_quote(account, quote_id, rfq_id), expected)
        if expected is not None:
            return
        if kind == "accept":
            by = model.later("rfq.confirm_within", "confirm", quote_id)
            model.close(model.quotes[quote_id]["rfq"], quote_id)
            at = {"accepted": side, "accepted_at": model.now, "confirm_by": by}
            model.set(quote_id, "ACCEPTED", **at)
        elif kind == "confirm":
            by = model.later("rfq.execute_after", "execute", quote_id)
            model.set(quote_id, "CONFIRMED", confirmed_at=model.now, execute_by=by)
        else:
            model.set(quote_id, "DELETED")

    def _accept(self) -> None:
        self._act("accept")

    def _confirm(self) -> None:
        self._act("confirm")

    def _delete(self) -> None:
        self._act("delete")

    def _withdraw(self) -> None:
        account, rfq_id = self._account(ANN_ACCOUNT), self._one(self.model.rfqs)
        rfq = self.model.rfqs.get(rfq_id)
        expected = None
        if rfq is None:
            expected = Refused("NotFound", f"unknown rfq: {rfq_id}")
        elif rfq["account"] != account:
            expected = Refused("PermissionDenied", "permission denied")
        elif rfq["status"] == "CLOSED":
            expected = Refused("Conflict", "the rfq is closed")
        attempt(lambda: self.exchange.rfqs.withdraw(account, rfq_id), expected)
        if expected is None:
            self.model.close(rfq_id)

    def _wait(self) -> None:
        span = self.rng.choice((1, seconds(1) - 1, seconds(1), seconds(2), seconds(3)))
        advance(self.exchange, self.exchange.now + span)
        self.model.wait(span)

    def _state(self) -> None:
        symbol = self.rng.choice((WHOLE, FINE))
        is_open = self.model.open[symbol] = self.rng.random() < 0.8
        state = InstrumentState.OPEN if is_open else InstrumentState.SUSPENDED
        if self.exchange.trading.state(symbol) is not state:
            self.exchange.trading.listings.change_state(symbol, state)

    def _restore(self) -> None:
        rfqs = self.exchange.rfqs
        rfqs.load(msgpack.decode(msgpack.encode(rfqs.save())))

    def check(self) -> None:
        """Check that every record equals the model's, and that each account sees its own only."""
        rfqs, model = self.exchange.rfqs, self.model
        for account in ACCOUNTS:
            displayed = list(rfqs.rfqs(account))
            assert [rfq.id for _, rfq in displayed] == model.mine(account)
            quotes = list(rfqs.quotes(account))
            assert [quote.id for _, quote in quotes] == model.observed(account)
            assert [at for at, _ in displayed] == [
                list(model.rfqs).index(r.id) for _, r in displayed
            ]
            assert [at for at, _ in quotes] == [list(model.quotes).index(q.id) for _, q in quotes]
        for name, expected in model.rfqs.items():
            record = renamed(rfqs.rfq(name))
            assert {key: record[key] for key in expected} == expected
            assert record["participant"] == PEOPLE[expected["account"]]
        for name, expected in model.quotes.items():
            record = renamed(rfqs.save().quotes[name])
            assert {key: record[key] for key in expected} == expected
            unset = {"accepted_at", "confirmed_at", "confirm_by", "execute_by", "executed_at"}
            assert all(record[key] is None for key in unset - set(expected))
            self.check_orders(record)
        held = self.exchange.trading.positions.all()
        nets = {(item.account, item.symbol): item.net for item in held if item.net}
        assert nets == {at: net for at, net in model.positions.items() if net}

    def check_orders(self, quote: dict[str, Any]) -> None:
        """Check the orders of an executed quote, the maker's first; other quotes have none."""
        ids = quote["quote_order_id"], quote["rfq_order_id"]
        if quote["status"] != "EXECUTED":
            assert ids == ("", "")
            return
        rfq = self.model.rfqs[quote["rfq"]]
        maker, requester = (self.exchange.trading.orders.require(name) for name in ids)
        bought = quote["accepted"] is Side.BUY
        price, qty = (quote["buy" + end if bought else "sell" + end] for end in ("", "_qty"))
        rests, until = TimeInForce.GOOD_TILL_CANCEL, TimeInForce.GOOD_TILL_TIME
        at_once, window = TimeInForce.IMMEDIATE_OR_CANCEL, self.model.spans["rfq.pair_window"]
        for order, account, side, tif in (
            (maker, quote["account"], 3 - quote["accepted"], rests if quote["rests"] else until),
            (requester, rfq["account"], quote["accepted"], rests if rfq["rests"] else at_once),
        ):
            displayed = order.account, order.participant, order.side, order.tif, order.quote_id
            assert displayed == (account, PEOPLE[account], side, tif, quote["id"])
            assert (order.price, order.qty, order.state) == (price, qty, OrderState.FILLED)
            assert order.channel is self._party(account).channel
        assert maker.post_only == quote["posts"] and maker.seq < requester.seq
        ends = None if quote["rests"] else quote["executed_at"] + window
        assert (maker.good_till, requester.good_till) == (ends, None)


def renamed(record: Any) -> dict[str, Any]:
    """Return a record with the field names of the model."""
    names = {"rfq_id": "rfq", "buy_price": "buy", "sell_price": "sell"}
    names |= {"rest_remainder": "rests", "post_only": "posts"}
    fields = structs.asdict(record)
    return {names.get(name, name): value for name, value in fields.items()} | {
        "status": record.status.name
    }


def attempt(call: Any, expected: Refused | None) -> Any:
    """Return the result of a call, or check that it is refused as expected."""
    if expected is None:
        return call()
    with pytest.raises(Refusal) as raised:
        call()
    assert type(raised.value).__name__ == expected.kind
    assert raised.value.message.startswith(expected.text)
    return None


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_requests_and_quotes_fare_as_in_the_model(seed: int) -> None:
    both = Both(Random(seed))
    for number in range(120):
        both.do()
        if number % 8 == 7:
            both.check()
