"""Checks of positions, balances and settlements, against fills and against earlier values."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable
from itertools import accumulate, pairwise
from typing import TypeAlias

from msgspec import Struct

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import (
    CashChange,
    Number,
    ReportedExecution,
    ReportedPosition,
    ReportedSettlement,
)
from sim.evidence.witness.observation import ClientObservation

_Figures: TypeAlias = tuple[Number, Number, Number]  # net, bought, sold


class PositionSum(WitnessCheck):
    """A change that trades moves a net position by what it buys or sells.

    A bust changes the net position, but not the quantity bought, and there may have been busts that
    nobody saw. So what is judged is one change, on a stream that shows each of them. What follows a
    frame that comes again is not judged.
    """

    name = "position sum"
    depends_on = "§2.8: net_position, qty_bought, qty_sold; §6.2: position deltas"

    def __init__(self) -> None:
        super().__init__()
        self._shown = set[Hashable]()
        self._latest_figures: dict[Hashable, tuple[_Figures, int]] = {}

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        shows_all = fact.dialect == "retail"
        shows_all |= observed.operation.rpc == "CreatePositionChangeSubscription"
        if observed.stream is None or not shows_all:
            return
        key = observed.subscription, fact.account, fact.symbol
        figures = fact.net_position, fact.qty_bought, fact.qty_sold
        latest = self._latest_figures.pop(key, None)
        if (key, figures) in self._shown:
            return  # a frame that comes again, or busts that led back
        self._shown.add((key, figures))
        self._latest_figures[key] = figures, observed.n
        if latest is not None:
            self.applied += 1
            before, line = latest
            net, bought, sold = (new - old for new, old in zip(figures, before, strict=True))
            if (bought or sold) and net != bought - sold:
                text = f"changes by {net}, but {bought} were bought and {sold} sold"
                lines = [line, observed.n]
                self.contradict(f"the position in {fact.symbol} {text}", lines, observed.stream)


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
            if len(ordered) < 2:
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
                    f"{other.at}Z, but its position grew by {grown}",
                    [line, *(fill[3] for fill in fills[first:last][:3]), later],
                )


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
        first = self.other_content((fact.dialect, fact.symbol), fact.price, observed.n)
        if first is not None:
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
            narrowed = any(observed.request.get(name) for name in ("entryTypes", "description"))
            complete = observed.stream is None and not narrowed
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
