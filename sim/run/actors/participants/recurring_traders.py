"""Simulated traders on recurring markets: a trader that names a series trades each of its
instruments, from a moment after its listing until it has ended.

There is one timer for each named series, due at the next listing. An instrument with a trader is
materialised, as when anybody else trades it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.recurring.markets import Slot
from sim.kernel.instants import DAY, NS_PER_MS, Span
from sim.world.format.participant_entries import Trader

LISTED_TIMER = "participant.listed"
# After a listing, so that subscribers to all instruments get it first.
_AFTER_LISTING: Span = NS_PER_MS
# How far ahead the next listing is searched, for long maintenance.
_SEARCHED = 3 * DAY


class RecurringTraders:
    """The participants on each series, and the instants of the next listings."""

    def __init__(self, exchange: Exchange, entries: Sequence[Trader]) -> None:
        self._exchange = exchange
        self._by_series: dict[int, list[Trader]] = {}
        for number, series in enumerate(exchange.recurring.series):
            interested = [entry for entry in entries if named(series.name, entry.windows)]
            if interested:
                self._by_series[number] = interested

    def __bool__(self) -> bool:
        return bool(self._by_series)

    def begin(self) -> None:
        """Set a timer for the next listing of each series. `open` has the instruments that
        are already listed.
        """
        for number in self._by_series:
            self._wait(number)

    def fire(self, subject: str) -> Iterator[tuple[Trader, str]]:
        """Handle a listing: return the participants and symbols of its series that trade now."""
        number = int(subject)
        self._wait(number)
        return self.open(number)

    def open(self, only: int | None = None) -> Iterator[tuple[Trader, str]]:
        """Participants and symbols that trade now, of all series or of one."""
        recurring, lifecycle = self._exchange.recurring, self._exchange.trading.lifecycle
        for slot in recurring.listed_slots():
            if only in (None, slot.series) and slot.series in self._by_series:
                symbol = recurring.symbol(slot)
                if lifecycle.state(symbol) is InstrumentState.OPEN:
                    yield from ((entry, symbol) for entry in self._by_series[slot.series])

    def has_ended(self, symbol: str) -> bool:
        """Whether a symbol belongs to a recurring market that no longer trades."""
        recurring = self._exchange.recurring
        slot = recurring.slot_of_symbol(symbol)
        if slot is None:
            return False
        return self._exchange.now >= slot.begins + recurring.series[slot.series].every

    def _wait(self, number: int) -> None:
        ctx, recurring = self._exchange.ctx, self._exchange.recurring
        series = recurring.series[number]
        first = (ctx.now + series.lead) // series.every
        instants = (
            recurring.opens(Slot(number, index * series.every))
            for index in range(first, first + _SEARCHED // series.every)
        )
        listings = (at + _AFTER_LISTING for at in instants if at is not None)
        due = next((at for at in listings if at > ctx.now), ctx.now + _SEARCHED)
        ctx.timers.schedule(due, LISTED_TIMER, str(number))


def named(name: str, patterns: Sequence[str]) -> bool:
    """Whether a series is named or matches a pattern."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
