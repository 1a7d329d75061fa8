"""Checks of the ledgers of cash and of positions: each by itself, against what reads show, and
against the fills and busts that it books.

The entries of a page, and of a stream, follow one another: nothing is between them. What is between
entries that were shown apart is not known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable
from decimal import Decimal
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import (
    CashChange,
    HoldingChange,
    ReportedBalance,
    ReportedExecution,
    ReportedPosition,
    ReportedTrade,
)
from sim.evidence.witness.observation import ClientObservation, ObservedStream, Seen

_FLOOR = "2026-05-01"  # entries before it cannot be had (§4.3)
_END = "~"  # sorts after every instant
_instant = attrgetter("at")


class _LedgerEntry(NamedTuple):
    """A change from one value to another. `amount` is what a fill moves, or its bust moves back."""

    at: Any
    id: str
    before: Any
    after: Any
    amount: Any
    line: int


class _Claim(NamedTuple):
    """Something that the entries from `low` to `high` show, once all of them are known.

    Each of `ways` is a list of values, and one way must be found whole: values that were read among
    the balances before and after each entry, values that were booked among the amounts.
    """

    low: Any
    high: Any
    ways: list[list[Any]]
    text: str
    observed: ClientObservation
    is_read: bool = False


class _Ledger(Struct):
    """What is known of a ledger.

    `before` has the entry that precedes another ("" for none), the stream that showed it and, if
    none precedes since the stream began, when that was. `ends` has the latest page, or the frame of
    a run, on which an entry was the last of all.
    """

    entries: dict[str, _LedgerEntry] = field(default_factory=dict)
    before: dict[str, tuple[str, ObservedStream | None, Seen]] = field(default_factory=dict)
    ends: dict[str, ClientObservation] = field(default_factory=dict)
    claims: dict[Hashable, _Claim] = field(default_factory=dict)


class _LedgerCheck(WitnessCheck):
    """What holds for both ledgers. A request for some of the entries by `_NARROWING` shows gaps."""

    _NARROWING: ClassVar[tuple[str, ...]] = ("newestFirst",)

    def __init__(self) -> None:
        super().__init__()
        self._ledgers: dict[Hashable, _Ledger] = defaultdict(_Ledger)
        self._on_chain = set[Hashable]()

    def _booking(self, fill: ReportedExecution) -> tuple[Hashable, list[list[Any]]]:
        """The ledger that books a fill, and the ways to do that: in an entry, or in several."""
        raise NotImplementedError

    def _add(
        self, key: Hashable, entry: _LedgerEntry, content: object, observed: ClientObservation
    ) -> None:
        """Add an entry as one answer or stream shows it. Its content is equal everywhere."""
        if (first := self.other_content(entry.id, content, entry.line)) is not None:
            text = f"entry {entry.id} of the {self.name} has two different contents"
            self.contradict(text, [first[1], entry.line])
        ledger, stream, request = self._ledgers[key], observed.stream, observed.request
        chain = key, observed.subscription or observed.n
        if any(request.get(name) for name in self._NARROWING):
            self.cannot_tell += 1
            return
        if (chain, entry.id) in self._on_chain:
            return  # its frame came twice
        self._on_chain.add((chain, entry.id))
        ledger.entries.setdefault(entry.id, entry)
        before, line = self.previous(chain, entry, entry.line)
        if before is not None:
            self.applied += 1
            ledger.before.setdefault(entry.id, (before.id, stream, None))
            if before.after != entry.before:
                text = f"{entry.id} starts from {_text(entry.before)}"
                text = f"the {self.name} went to {_text(before.after)}, but entry {text}"
                self.contradict(text, [line, entry.line], stream)
        elif not any(request.get(name) for name in ("pageToken", "startTime", "resumeTime")):
            live = observed.subscription.live if observed.subscription else None
            ledger.before.setdefault(entry.id, ("", stream, live))
        pages = request.get("endTime") or observed.body.get("nextPageToken")
        if not pages and (stream is None or stream.prompt):
            ledger.ends[entry.id] = observed

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        if fact.is_fill:
            self._book(fact, observed, is_bust=False)

    def trade(self, fact: ReportedTrade, observed: ClientObservation) -> None:
        if fact.state == "TRADE_STATE_BUSTED":
            for side in (fact.aggressor, fact.passive):
                if side is not None:
                    self._book(side, observed, is_bust=True)

    def _book(self, fill: ReportedExecution, observed: ClientObservation, *, is_bust: bool) -> None:
        if not fill.order.account or not fill.order.qty_scale or fill.leg_prices:
            return
        key, ways = self._booking(fill)
        [amount], high, subject = ways[0], fill.at, f"execution {fill.id}"
        if is_bust:  # later than the fill
            amount = tuple(-part for part in amount)
            ways, high, subject = [[amount]], _END, f"the bust of {subject}"
        text = f"the {self.name} has no entry of {_text(amount)} for {subject}"
        claim = _Claim(fill.at, high, ways, text, observed)
        self._ledgers[key].claims.setdefault((fill.id, is_bust), claim)

    def _read(
        self, key: Hashable, low: Any, high: Any, value: Any, observed: ClientObservation
    ) -> None:
        text = f"{observed.source} shows {_text(value)}, which the {self.name} does not"
        claims = self._ledgers[key].claims
        claims[len(claims)] = _Claim(low, high, [[value]], text, observed, is_read=True)

    def finish(self) -> None:
        super().finish()
        for ledger in self._ledgers.values():
            entries = sorted(ledger.entries.values(), key=_instant)
            for claim in ledger.claims.values() if entries else ():
                self._judge(ledger, entries, claim)

    def _judge(self, ledger: _Ledger, entries: list[_LedgerEntry], claim: _Claim) -> None:
        first = bisect_left(entries, claim.low, key=_instant)
        last = bisect_right(entries, claim.high, key=_instant)
        values = [entry.after for entry in entries[first:last]]
        if not first:
            values.append(entries[0].before)
        elif not values or claim.low != claim.high:
            values.append(entries[first - 1].after)
        amounts = [entry.amount for entry in entries[first:last]]
        held = {*(values if claim.is_read else amounts)}
        holds = any(held.issuperset(way) for way in claim.ways)
        if not holds and not _is_complete(ledger, entries, first, last, claim):
            self.cannot_tell += 1
            return
        self.applied += 1
        if not holds:
            near = entries[max(first - 1, 0) : last + 1]
            self.contradict(claim.text, [claim.observed.n, *(entry.line for entry in near)])


def _is_complete(
    ledger: _Ledger, entries: list[_LedgerEntry], first: int, last: int, claim: _Claim
) -> bool:
    """Whether every entry is known from the one before `first` to that after `last`, as far as
    they existed when it was claimed.
    """
    observed = claim.observed
    if last == len(entries):
        end = ledger.ends.get(entries[-1].id)
        if end is None or end.on_disturbed_stream:
            return False
        until = end.subscription.ended if end.subscription is not None else end.began
        if until is not None and observed.ended >= until:
            return False
    for number in range(first, min(last + 1, len(entries))):
        name, stream, live = ledger.before.get(entries[number].id, (None, None, None))
        if name != (entries[number - 1].id if number else "") or (stream and stream.disturbed):
            return False
        if live is not None and (observed.began < live or not claim.is_read):
            return False  # a fill may be older than the stream, what was read is not
    return bool(first) or observed.now >= _FLOOR


class PositionLedger(_LedgerCheck):
    """Each entry of the position ledger starts from the position after the entry before it; reads
    and streams show what the ledger shows; a fill and its bust are booked, and cancel out.

    The entries of one answer or stream are compared in their order. A position is compared with
    the entries of its `updateTime`, a fill with those of its own instant, and the bust of a trade
    with all later ones, if the ledger was shown without a gap there. A bust moves the quantity back
    at the price of the trade.
    """

    name = "position ledger"
    depends_on = "§2.8, §4.3: an entry shows the position right after it; rule M42"

    def holding(self, fact: HoldingChange, observed: ClientObservation) -> None:
        after = fact.net_position, fact.cost, fact.realized
        changes = fact.quantity_change, fact.cost_change, fact.realized_change
        before = tuple(value - change for value, change in zip(after, changes, strict=True))
        amount = fact.quantity_change, fact.cost_change - fact.realized_change
        entry = _LedgerEntry(fact.at, fact.id, before, after, amount, observed.n)
        self._add((fact.account, fact.symbol), entry, fact, observed)

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        if fact.at and fact.dialect == "exchange":
            value = fact.net_position, fact.cost, fact.realized
            self._read((fact.account, fact.symbol), fact.at, fact.at, value, observed)

    def _booking(self, fill: ReportedExecution) -> tuple[Hashable, list[list[Any]]]:
        signed = fill.last_shares if fill.order.side.endswith("BUY") else -fill.last_shares
        return (fill.order.account, fill.order.symbol), [[(signed, signed * fill.last_px)]]


class BalanceLedger(_LedgerCheck):
    """Each entry of a balance ledger starts from the balance after the entry before it, and has
    the same content wherever it is shown; balances are what the ledger shows; a fill and its bust
    are booked, and cancel out.

    Entries are compared within one answer, and along a stream, if no type of entry was filtered
    out. An entry that a stream repeats (frames may come twice) keeps its first place. A balance is
    compared with the entries of its `updateTime` or, where it has none, with those until the
    instant of the answer, if the ledger was shown without a gap there.
    """

    name = "balance ledger"
    depends_on = "§4.3, §4.4: before_balance and after_balance of each entry; rule M42"

    _NARROWING = ("entryTypes", "symbol", "description", "newestFirst")

    def cash(self, fact: CashChange, observed: ClientObservation) -> None:
        if fact.id:
            # An account may have several keys, and retail entries do not always name the account.
            is_retail = fact.dialect == "retail"
            content = replace(fact, account="") if is_retail else fact
            is_prompt = observed.stream is not None and observed.stream.prompt
            at = observed.ended if is_retail and is_prompt else fact.at
            before, after = Decimal(fact.before_balance), Decimal(fact.after_balance)
            entry = _LedgerEntry(at, fact.id, before, after, (after - before,), observed.n)
            self._add(_cash_key(fact, observed), entry, content, observed)

    def balance(self, fact: ReportedBalance, observed: ClientObservation) -> None:
        low = high = fact.at
        if fact.dialect == "retail":
            low = high = observed.ended
            if not isinstance(low, int):  # of a recording, whose clock is not the service's
                low, high = observed.now, f"{observed.now}~"  # in whole seconds
        self._read(_cash_key(fact, observed), low, high, fact.balance, observed)

    def _booking(self, fill: ReportedExecution) -> tuple[Hashable, list[list[Any]]]:
        order, paid = fill.order, Decimal(fill.last_shares) * fill.last_px
        unit = Decimal(order.price_scale) * order.qty_scale
        principal = (-paid if order.side.endswith("BUY") else paid) / unit
        commission = -Decimal(fill.commission or 0) / unit
        key = order.dialect, order.account, "USD"
        return key, [[(principal + commission,)], [(principal,), (commission,)]]


def _cash_key(fact: CashChange | ReportedBalance, observed: ClientObservation) -> Hashable:
    currency = fact.currency or observed.request.get("currency") or "USD"
    if fact.dialect == "retail":
        return fact.dialect, observed.client, currency
    return fact.dialect, fact.account or observed.request.get("name", ""), currency


def _text(value: Any) -> str:
    return " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)
