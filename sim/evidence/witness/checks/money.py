"""Checks of positions, balances and settlements, against fills and against earlier values."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import (
    CashChange,
    HoldingChange,
    Number,
    ReportedExecution,
    ReportedPosition,
    ReportedSettlement,
    ReportedTrade,
)
from sim.evidence.witness.observation import ClientObservation, ObservedStream, Seen


class PositionSum(WitnessCheck):
    """Until a market settles, a net position equals quantity bought minus quantity sold.

    A bust changes the net position, but not the quantity bought. A position is therefore judged
    only while the same client follows its trades on a stream and has seen no bust.
    """

    name = "position sum"
    depends_on = "§2.8: net_position, qty_bought, qty_sold"

    def __init__(self) -> None:
        super().__init__()
        self._followed: dict[str, tuple[Seen, ObservedStream]] = {}  # by client: since when
        self._busted: set[tuple[str, str]] = set()
        self._wrong: list[tuple[str, str, str, int]] = []

    def observation(self, observed: ClientObservation) -> None:
        """Note who follows trades."""
        stream = observed.stream
        if stream is None or stream.operation.rpc != "CreateTradeCaptureReportSubscription":
            return
        if observed.kind == "ended":
            self._followed.pop(observed.client, None)
        elif not stream.request.get("symbols"):
            self._followed.setdefault(observed.client, (observed.ended, stream))

    def trade(self, fact: ReportedTrade, observed: ClientObservation) -> None:
        side = fact.aggressor or fact.passive
        if fact.state == "TRADE_STATE_BUSTED" and side is not None:
            self._busted.add((observed.client, side.order.symbol))

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        followed = self._followed.get(observed.client)
        if fact.expired or followed is None or followed[0] >= observed.began or not fact.at:
            self.cannot_tell += 1
            return
        self.applied += 1
        if fact.qty_bought - fact.qty_sold != fact.net_position:
            text = (
                f"{observed.source} shows a net position of {fact.net_position} in {fact.symbol}, "
                f"but {fact.qty_bought} bought and {fact.qty_sold} sold"
            )
            self._wrong.append((observed.client, fact.symbol, text, observed.n))

    def finish(self) -> None:
        for client, symbol, text, line in self._wrong:
            if (client, symbol) in self._busted:
                self.cannot_tell += 1
            else:
                self.contradict(text, [line])


class PositionFills(WitnessCheck):
    """Between two views, a position grows by at least the fills that the client saw.

    The fills of the account strictly between the `updateTime` of the two views count. There may be
    fills that the client did not see, so the position may have grown more.
    """

    name = "position fills"
    depends_on = "§2.8: fills increase qty_bought and qty_sold, and nothing decreases them"

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[tuple[str, str], dict[str, tuple[ReportedPosition, int]]] = defaultdict(
            dict
        )
        self._fills: dict[tuple[str, str], dict[str, tuple[str, bool, Number, int]]] = defaultdict(
            dict
        )

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        if fact.at and fact.account and not fact.expired:
            self._views[fact.account, fact.symbol].setdefault(fact.at, (fact, observed.n))

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        account = fact.order.account
        if fact.is_fill and account and not fact.leg_prices:
            buying = fact.order.side.endswith("BUY")
            fill = fact.at, buying, fact.last_shares, observed.n
            self._fills[account, fact.order.symbol].setdefault(fact.id, fill)

    def finish(self) -> None:
        for key, views in self._views.items():
            fills = sorted(self._fills.get(key, {}).values())
            ordered = [views[at] for at in sorted(views)]
            if not fills or len(ordered) < 2:
                self.cannot_tell += 1
                continue
            for buying in (True, False):
                self._judge(ordered, [fill for fill in fills if fill[1] is buying], buying)

    def _judge(
        self,
        views: list[tuple[ReportedPosition, int]],
        fills: list[tuple[str, bool, Number, int]],
        buying: bool,
    ) -> None:
        sums = [0, *accumulate(fill[2] for fill in fills)]
        for (view, line), (other, later) in pairwise(views):
            first = bisect_left(fills, view.at + "~", key=lambda fill: fill[0])
            last = bisect_left(fills, other.at, key=lambda fill: fill[0])
            earlier = sums[last] - sums[first] if last > first else 0
            grown = other.qty_bought - view.qty_bought if buying else other.qty_sold - view.qty_sold
            self.applied += 1
            if grown < earlier:
                word = "bought" if buying else "sold"
                self.contradict(
                    f"{view.account} {word} {earlier} of {view.symbol} between {view.at}Z and "
                    f"{other.at}Z, but its position shows {grown}",
                    [line, *(fill[3] for fill in fills[first:last][:3]), later],
                )


class HoldingChain(WitnessCheck):
    """Each entry of the position ledger starts from the position after the entry before it.

    The entries of one answer or stream are compared in their order; entries of one instant may
    have any order.
    """

    name = "position ledger"
    depends_on = "§4.3: an entry shows the position right after it"

    def holding(self, fact: HoldingChange, observed: ClientObservation) -> None:
        earlier, line = self.first(fact.id, fact, observed.n)
        if earlier != fact:
            text = f"entry {fact.id} of the position ledger has two different contents"
            self.contradict(text, [line, observed.n])
        before, _ = self.previous((fact.account, fact.symbol, observed.n), fact, observed.n)
        if before is None or observed.request.get("newestFirst") or before.at == fact.at:
            return
        self.applied += 1
        if before.net_position + fact.quantity_change != fact.net_position:
            self.contradict(
                f"entry {fact.id}: the position in {fact.symbol} was {before.net_position}, "
                f"changed by {fact.quantity_change}, and is now {fact.net_position}",
                [observed.n],
            )


class CashChain(WitnessCheck):
    """Each entry of a balance ledger starts from the balance after the entry before it, and has the
    same content wherever it is shown.

    The check applies within one answer, and along a stream, if no type of entry was filtered out.
    An entry that a stream repeats (frames may come twice) keeps its first place.
    """

    name = "balance ledger"
    depends_on = "§4.3, §4.4: before_balance and after_balance of each entry"

    _NARROWING = ("entryTypes", "symbol", "description", "newestFirst")

    def __init__(self) -> None:
        super().__init__()
        self._reported: dict[int, set[str]] = defaultdict(set)  # by stream

    def cash(self, fact: CashChange, observed: ClientObservation) -> None:
        if fact.id:
            earlier, line = self.first((fact.dialect, fact.id), fact, observed.n)
            self.applied += line != observed.n
            if earlier != fact and _content(earlier) != _content(fact):
                text = f"entry {fact.id} of the balance ledger has two different contents"
                self.contradict(text, [line, observed.n])
        if any(observed.request.get(name) for name in self._NARROWING):
            self.cannot_tell += 1
            return
        stream = observed.stream
        if stream is not None and fact.id:
            if fact.id in self._reported[stream.number]:
                return
            self._reported[stream.number].add(fact.id)
        # each answer is a chain of its own, and so is each stream
        chain = stream.number if stream is not None else -observed.n
        before, line = self.previous((fact.account, fact.currency, chain), fact, observed.n)
        if before is None or before.id == fact.id:
            return
        self.applied += 1
        if before.after_balance != fact.before_balance:
            next_ = f"the next entry starts from {fact.before_balance}"
            text = f"balance was {before.after_balance}, but {next_}"
            self.contradict(text, [line, observed.n], stream)


class _Page(Struct):
    """A page of an account's balance ledger: when it shows settlements paid, by symbol, and the
    last instant on it. `whole` is one on which no type of entry was left out.
    """

    line: int
    account: str
    complete: bool
    paid: dict[str, str] = {}
    last: str = ""


class SettledOnce(WitnessCheck):
    """An instrument pays each account once, and only a correction changes its final settlement
    price.

    A correction (rule L27) replaces the price and pays the difference. Two prices alone are no
    proof of a mistake. They are one if a page of a ledger shows the payout and an entry after the
    second price, but no correction between them.
    """

    name = "settled once"
    depends_on = "§3.2: a settlement price is final once it is not preliminary; rule L27"

    def __init__(self) -> None:
        super().__init__()
        self._paid: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self._corrected: set[str] = set()
        self._changed: dict[tuple[str, Number], tuple[str, str, list[int]]] = {}
        self._pages: dict[str, list[_Page]] = defaultdict(list)
        self._page = _Page(-1, "", complete=False)

    def settlement(self, fact: ReportedSettlement, observed: ClientObservation) -> None:
        first = self.first_content((fact.dialect, fact.symbol), fact.price, observed.n)
        if first is not None and first[0] != fact.price:
            text = f"{fact.symbol} was settled at {first[0]} and again at {fact.price}"
            change = text, observed.now, [first[1], observed.n]
            self._changed.setdefault((fact.symbol, fact.price), change)

    def cash(self, fact: CashChange, observed: ClientObservation) -> None:
        self._follow_page(fact, observed)
        if not fact.symbol or not fact.id:
            return
        if fact.entry_type == "CORRECTION":
            self._corrected.add(fact.symbol)
        elif fact.entry_type == "RESOLUTION":
            self._paid[fact.account, fact.symbol].setdefault(fact.id, observed.n)

    def _follow_page(self, fact: CashChange, observed: ClientObservation) -> None:
        """Note which payouts and instants one page of an account's ledger shows."""
        page = self._page
        if (page.line, page.account) != (observed.n, fact.account):
            complete = observed.stream is None and "entryTypes" not in observed.request
            page = self._page = _Page(observed.n, fact.account, complete)
        page.last = max(page.last, fact.at)
        if fact.entry_type == "RESOLUTION" and fact.symbol and fact.symbol not in page.paid:
            page.paid[fact.symbol] = fact.at
            self._pages[fact.symbol].append(page)

    def finish(self) -> None:
        for (symbol, _), (text, at, lines) in self._changed.items():
            pages = [page for page in self._pages[symbol] if page.complete]
            proof = [page for page in pages if page.paid[symbol] < at < page.last]
            if symbol in self._corrected or not proof:
                self.cannot_tell += 1
            else:
                self.contradict(
                    f"{text}, without a correction in the ledger", [*lines, proof[0].line]
                )
        for key, entries in self._paid.items():
            if key[1] in self._corrected:
                self.cannot_tell += 1
                continue
            self.applied += 1
            if len(entries) > 1:
                text = f"{key[1]} paid {key[0]} {len(entries)} times: {', '.join(entries)}"
                self.contradict(text, entries.values())


def _content(fact: CashChange) -> CashChange:
    """The content that must be equal everywhere. Retail entries do not always name the account."""
    return fact if fact.dialect == "exchange" else replace(fact, account="")
