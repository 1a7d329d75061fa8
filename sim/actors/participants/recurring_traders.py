"""Scripted participants on recurring markets: a participant that names a series trades on each of
its instruments from a moment after its listing until it is over.

One timer for each series that is named, due at the next listing; none in a scenario that names
none. An instrument with a trader is materialised, as when anybody trades it.
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
# After a listing, so that whoever follows all instruments has heard of it first.
_AFTER_LISTING: Span = NS_PER_MS
# How far ahead a listing is looked for, when maintenance is long.
_SEARCHED = 3 * DAY


class RecurringTraders:
    """Which participants trade on which series, and when the next instruments are listed."""

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
        """Wait for the next listing of each series; `open` has what is listed already."""
        for number in self._by_series:
            self._wait(number)

    def fire(self, subject: str) -> Iterator[tuple[Trader, str]]:
        """Take a listing: participants and symbols of its series that trade now."""
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
        """Whether a symbol is of a recurring market and trades no more."""
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
    """Whether a series is named or fits a pattern."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
