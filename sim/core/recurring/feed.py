"""News of automated windows that nobody has touched, for those who follow every instrument: a timer
to the next edge, as long as somebody does.

Without followers there is no timer and no event: what nobody hears of costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from sim.core.catalogue.assumptions import SETTLEMENT_AUTO_EXPIRE
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.settlement import Settlements
from sim.core.lifecycle.states import Lifecycle
from sim.core.matching.books import Books
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.events import Settled, StateChanged
from sim.core.recurring.markets import Place, Product, RecurringMarkets
from sim.kernel.instants import DAY, Instant, Span
from sim.kernel.timers import Timer

WINDOWS_TIMER = "windows.edge"  # the next edge of a window that nobody touched


class _Kind(NamedTuple):
    """An edge that every window of a product takes so long after its beginning."""

    after: Span
    was: InstrumentState
    state: InstrumentState


class WindowNewsState(Struct):
    """What is saved: streams that follow all of them, up to when these have heard of edges, and the
    timer of the next.
    """

    followers: int = 0
    told: Instant = 0
    timer: int = 0


class WindowNews:
    """Tells of the edges and settlements of windows."""

    def __init__(
        self,
        ctx: Context,
        windows: RecurringMarkets,
        lifecycle: Lifecycle,
        resolution: Resolution,
        settlements: Settlements,
        books: Books,
    ) -> None:
        self._ctx = ctx
        self._windows = windows
        self._lifecycle = lifecycle
        self._resolution = resolution
        self._settlements = settlements
        self._books = books
        self._now = WindowNewsState()

    def follow(self) -> None:
        """Somebody follows every instrument from now on."""
        self._now.followers += 1
        if self._now.followers == 1:
            self._now.told = self._ctx.now
            self._wait()

    def leave(self) -> None:
        """Somebody does not any more."""
        self._now.followers -= 1
        if not self._now.followers and self._now.timer:
            self._ctx.timers.cancel(self._now.timer)
            self._now.timer = 0

    def fire(self, timer: Timer) -> bool:
        """Tell of what has moved since the last time, in order of time; False for timers of others."""
        if timer.kind != WINDOWS_TIMER:
            return False
        since, self._now.told = self._now.told, self._ctx.now
        for _, place, kind in self._edges(since, self._ctx.now):
            symbol = self._windows.symbol(place)
            if self._lifecycle.owns(symbol):
                continue
            was, state = self._lifecycle.on_shelf(kind.was), self._lifecycle.on_shelf(kind.state)
            if state is InstrumentState.SUSPENDED:
                continue  # it opens with all others when maintenance lets go
            if was is not state:
                self._ctx.emit(StateChanged(symbol, was, state, self._ctx.now))
            elif (settled := self._settlements.get(symbol)) is not None:
                self._ctx.emit(
                    Settled(symbol, settled.price, settled.preliminary, settled.text, self._ctx.now)
                )
            self._books.state_changed(symbol)
        self._wait()
        return True

    def _wait(self) -> None:
        dues = (
            self._next(number, kind)
            for number, product in enumerate(self._windows.products)
            for kind in self._kinds(product)
        )
        due = min((due for due in dues if due is not None), default=self._ctx.now + DAY)
        self._now.timer = self._ctx.timers.schedule(due, WINDOWS_TIMER, "") if self._windows else 0

    def _kinds(self, product: Product) -> list[_Kind]:
        """The edges of a product's windows. Where a settlement is set the states are the same."""
        state = InstrumentState
        delay, preliminary = self._resolution.delays()
        settled = [
            product.every + delay,
            *([product.every + delay + preliminary] if preliminary else []),
        ]
        expires = product.every + product.expires
        terminates = expires + product.terminates
        if self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            expires = min(expires, settled[-1])
        found = [
            _Kind(-product.lead, state.PENDING, state.OPEN),
            _Kind(product.every, state.OPEN, state.CLOSED),
        ]
        found += [
            _Kind(at, *([state.CLOSED if at <= expires else state.EXPIRED] * 2))
            for at in settled
            if at < terminates
        ]
        return [
            *found,
            _Kind(expires, state.CLOSED, state.EXPIRED),
            _Kind(terminates, state.EXPIRED, state.TERMINATED),
        ]

    def _next(self, number: int, kind: _Kind) -> Instant | None:
        """When the next edge of a kind comes; None when maintenance leaves no window for days."""
        every, now = self._windows.products[number].every, self._ctx.now
        first = (now - kind.after) // every + (0 if kind.state is InstrumentState.OPEN else 1)
        for index in range(first, first + 3 * DAY // every):
            at = self._at(Place(number, index * every), kind)
            if at is not None and at > now:
                return at
        return None

    def _at(self, place: Place, kind: _Kind) -> Instant | None:
        """When a window takes an edge; None for one that is never listed. It opens later than
        planned where maintenance is in the way.
        """
        opens = self._windows.known_opens(place)
        return (
            opens
            if opens is None or kind.state is InstrumentState.OPEN
            else place.begins + kind.after
        )

    def _edges(self, after: Instant, until: Instant) -> list[tuple[Instant, Place, _Kind]]:
        """What moves after the one instant and up to the other, in order of time, then of products."""
        found = []
        for number, product in enumerate(self._windows.products):
            for kind in self._kinds(product):
                late = product.lead if kind.state is InstrumentState.OPEN else 0
                for index in range(
                    (after - late - kind.after) // product.every,
                    (until - kind.after) // product.every + 1,
                ):
                    place = Place(number, index * product.every)
                    at = self._at(place, kind)
                    if at is not None and after < at <= until:
                        found.append((at, place, kind))
        return sorted(found, key=lambda edge: edge[0])

    # ---- state

    def save(self) -> WindowNewsState:
        """Who follows, and the timer."""
        return self._now

    def load(self, state: WindowNewsState) -> None:
        """Take a saved state. Followers are connections to somebody and no state: whoever travels
        has none.
        """
        if state.timer:
            self._ctx.timers.cancel(state.timer)
        self._now = WindowNewsState()
        self._windows.clear()
