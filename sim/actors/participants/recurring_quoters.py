"""Scripted participants in automated windows: who names a product takes a seat on each of its
windows a moment after its listing, and leaves when it is over.

One timer for each product that is named, to the next listing; none in a scenario that names none. A
window with a seat leaves the shelf, as when anybody trades it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.recurring.markets import Slot
from sim.kernel.instants import DAY, NS_PER_MS, Span
from sim.scenario.participant_entries import Trader

LISTED_TIMER = "participant.listed"
# after a listing, so that whoever follows all instruments has heard of it first
MOMENT: Span = NS_PER_MS
_SEARCHED = 3 * DAY  # how far ahead a listing is looked for, when maintenance is long


class RecurringTraders:
    """Which windows somebody wants a seat on, and when the next ones are listed."""

    def __init__(self, exchange: Exchange, traders: Sequence[Trader]) -> None:
        self._exchange = exchange
        self._by_product: dict[int, list[Trader]] = {}
        for number, product in enumerate(exchange.recurring.series):
            wanting = [trader for trader in traders if named(product.name, trader.windows)]
            if wanting:
                self._by_product[number] = wanting

    def __bool__(self) -> bool:
        return bool(self._by_product)

    def begin(self) -> None:
        """Wait for the next listing of each product; those that are listed already are taken in
        `open`.
        """
        for number in self._by_product:
            self._wait(number)

    def fire(self, subject: str) -> Iterator[tuple[Trader, str]]:
        """A listing has come: the seats to take on the windows of its product that trade."""
        number = int(subject)
        self._wait(number)
        return self.open(number)

    def open(self, only: int | None = None) -> Iterator[tuple[Trader, str]]:
        """Traders and symbols of the windows that trade now, of all products or one."""
        windows, lifecycle = self._exchange.recurring, self._exchange.trading.lifecycle
        for slot in windows.listed_slots():
            wanting = self._by_product.get(slot.series) if only in (None, slot.series) else None
            if wanting and lifecycle.state(symbol := windows.symbol(slot)) is InstrumentState.OPEN:
                yield from ((trader, symbol) for trader in wanting)

    def over(self, symbol: str) -> bool:
        """Whether a window trades no more, or a symbol is none of them."""
        slot = self._exchange.recurring.slot_of_symbol(symbol)
        return (
            slot is not None
            and self._exchange.now
            >= slot.begins + self._exchange.recurring.series[slot.series].every
        )

    def _wait(self, number: int) -> None:
        ctx, windows, product = (
            self._exchange.ctx,
            self._exchange.recurring,
            self._exchange.recurring.series[number],
        )
        first = (ctx.now + product.lead) // product.every
        opens = (
            windows.opens(Slot(number, index * product.every))
            for index in range(first, first + _SEARCHED // product.every)
        )
        due = next(
            (at + MOMENT for at in opens if at is not None and at + MOMENT > ctx.now),
            ctx.now + _SEARCHED,
        )
        ctx.timers.schedule(due, LISTED_TIMER, str(number))


def named(name: str, patterns: Sequence[str]) -> bool:
    """Whether a product is named or fits a pattern."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
