"""Recurring markets: series of short markets on an index that follow the clock (rules L6, L7, W7).

A series repeats the same question: "will the index end this quarter of an hour no lower than it
began?". Each repetition is a slot. The market of a slot is listed `ahead` of the slot as PENDING,
opens `lead` before it begins, trades until it ends, then expires and terminates. A slot that would
overlap maintenance known by then is never listed.

Which slots are listed, and in which state their markets are, is computed from the series and
virtual now on demand. A market that nobody uses therefore costs nothing: no object, no timer, no
event. The first order (or a subscription to its symbol) materialises it (`Lifecycle.materialise`);
from then on it is an instrument like any other. `feed.py` sends the events of the dormant ones to
streams that follow every instrument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.resolution import Resolution
from sim.core.model.index_conditions import IndexObservation
from sim.core.model.instrument import Instrument
from sim.core.service.maintenance_calendar import MaintenanceCalendar
from sim.kernel.instants import DAY, Instant, Span, format_instant, parse_instant

# Slots are numbered from 2020-01-01T00:00:00Z. There are none from 2100-01-01T00:00:00Z on.
EPOCH: Instant = 1_577_836_800 * 1_000_000_000
HORIZON: Instant = 4_102_444_800 * 1_000_000_000
_CACHE_MAX = 4096
_NEVER = 0, 0, -1  # from, until, version of the calendar


class Series(Struct, frozen=True, kw_only=True):
    """A market that recurs every `every`, which divides a day. The first slot of a day begins at
    00:00 UTC.

    The market is listed `ahead` and opens `lead` before its slot begins, expires `expires`
    after the slot ends and terminates `terminates` after it expired. Slugs of its events begin
    with `name`: btc-updown-15m.
    """

    name: str
    asset: str
    every: Span
    ahead: Span
    lead: Span
    expires: Span
    terminates: Span
    product_id: str = "cpc"

    @property
    def prefix(self) -> str:
        """The common prefix of the symbols of this series."""
        return f"{self.product_id}-{self.name}"

    @property
    def lifetime(self) -> Span:
        """The time from the beginning of a slot to the termination of its market."""
        return self.every + self.expires + self.terminates


class Slot(NamedTuple):
    """One repetition: the number of its series and the instant at which it begins."""

    series: int
    begins: Instant


# Makes the instrument of a slot, given what the index says about it and whether that has settled
# it.
MakeInstrument = Callable[[Slot, IndexObservation, bool], Instrument]


class SlotNames:
    """Finds the slot for a symbol or an event's slug, whether it is listed or not."""

    def __init__(self, series: tuple[Series, ...]) -> None:
        self._series = series
        self._by_prefix = {each.prefix: number for number, each in enumerate(series)}
        self._by_name = {each.name: number for number, each in enumerate(series)}

    def of_symbol(self, symbol: str) -> Slot | None:
        """Return the slot for a symbol, or None."""
        prefix, begins = split_name(symbol)
        return self.slot(self._by_prefix.get(prefix), begins)

    def of_event(self, slug: str) -> Slot | None:
        """Return the slot whose event has this slug, or None."""
        name, begins = split_name(slug)
        return self.slot(self._by_name.get(name), begins)

    def slot(self, series: int | None, begins: Instant | None) -> Slot | None:
        """Return the slot of a series that begins at an instant; None if there is none."""
        if series is None or begins is None or not EPOCH <= begins < HORIZON:
            return None
        return None if begins % self._series[series].every else Slot(series, begins)


class RecurringMarkets:
    """The slots of every series, and the instruments of those that are listed."""

    def __init__(
        self, calendar: MaintenanceCalendar, lifecycle: Lifecycle, resolution: Resolution
    ) -> None:
        self._calendar = calendar
        self._lifecycle = lifecycle
        self._resolution = resolution
        self._make: MakeInstrument | None = None
        self.series: tuple[Series, ...] = ()
        self._names = SlotNames(())
        self._instruments: dict[Slot, tuple[tuple[bool, bool, bool, int], Instrument]] = {}
        self._plans: dict[Slot, tuple[Instant, Instant] | None] = {}
        self._indexed: list[Instant] = []
        self._travelled = True
        self._calendar_version = 0
        self._shown: list[Slot] = []
        self._shown_for = _NEVER

    def begin(self, series: tuple[Series, ...], make: MakeInstrument | None) -> None:
        """Set the series of the world. `make` builds the instrument of a slot."""
        self.series, self._make = series, make
        self._names = SlotNames(series)
        self.clear()

    def begin_as(self, other: RecurringMarkets) -> None:
        """Share the series of another exchange."""
        self.begin(other.series, other._make)

    # ---- slots

    def __bool__(self) -> bool:
        return bool(self.series)

    def slot_of_symbol(self, symbol: str) -> Slot | None:
        """Return the slot for a symbol, listed or not."""
        return self._names.of_symbol(symbol) if self.series else None

    def slot_of_event(self, slug: str) -> Slot | None:
        """Return the slot whose event has this slug, listed or not."""
        return self._names.of_event(slug) if self.series else None

    def symbol(self, slot: Slot) -> str:
        """Return the symbol of a slot's market."""
        return f"{self.series[slot.series].prefix}-{start_text(slot.begins)}"

    def lists(self, slot: Slot) -> Instant | None:
        """Return when the market of a slot is listed; None for a slot that is never listed."""
        plan = self._plan(slot)
        return None if plan is None else plan[0]

    def opens(self, slot: Slot) -> Instant | None:
        """Return when the market of a slot opens; None for a slot that is never listed."""
        plan = self._plan(slot)
        return None if plan is None else plan[1]

    def _plan(self, slot: Slot) -> tuple[Instant, Instant] | None:
        """Return when the market of a slot is listed and when it opens; None for never.

        Results are cached until the maintenance calendar changes, or another moment has other
        beginnings of indexes.
        """
        version = self._calendar.version
        if self._travelled:
            self._travelled = False
            indexed = [self._resolution.indexed_from(series.asset) for series in self.series]
            if indexed != self._indexed:
                self._indexed = indexed
                self._plans.clear()
        if self._calendar_version != version or len(self._plans) >= _CACHE_MAX:
            self._calendar_version = version
            self._plans.clear()
        try:
            return self._plans[slot]
        except KeyError:
            plan = self._plans[slot] = self._compute_plan(slot)
            return plan

    def _compute_plan(self, slot: Slot) -> tuple[Instant, Instant] | None:
        """Compute `_plan`.

        None if the slot overlaps maintenance that is known when it would be listed (rule W7), or
        begins before its asset has an index.
        """
        series, calendar = self.series[slot.series], self._calendar
        planned, ends = slot.begins - series.ahead, slot.begins + series.every
        if slot.begins < self._resolution.indexed_from(series.asset):
            return None
        if calendar.overlaps(slot.begins, ends, planned):
            return None
        lists = calendar.free_from(planned)
        return lists, max(calendar.free_from(slot.begins - series.lead), lists)

    def listed(self, slot: Slot) -> bool:
        """Return whether the market of a slot is or was listed."""
        return self._listed_by(slot, self._lifecycle.followed_to)

    def _listed_by(self, slot: Slot, now: Instant) -> bool:
        if slot.begins - self.series[slot.series].ahead <= now:
            plan = self._plan(slot)
            if plan is not None and plan[0] <= now:
                return True
        return self._lifecycle.is_materialised(self.symbol(slot))

    def listed_slots(self) -> Sequence[Slot]:
        """Return the slots whose markets are listed and not terminated, by series, then by time.

        The result is cached until another market is listed or terminates, or the calendar changes.
        """
        now, version = self._lifecycle.followed_to, self._calendar.version
        since, until, shown_from = self._shown_for
        if version != shown_from or not since <= now < until:
            self._shown_for = now, min(self._listing_edges(now), default=now + DAY), version
            self._shown = [slot for slot in self._slots_at(now) if self._listed_by(slot, now)]
        return self._shown

    def _slots_at(self, now: Instant) -> list[Slot]:
        """Return the slots that are planned to be listed at an instant, by series, then by time."""
        slots: list[Slot] = []
        for number, series in enumerate(self.series):
            first = (now - series.lifetime) // series.every + 1
            last = (now + series.ahead) // series.every
            slots += [Slot(number, index * series.every) for index in range(first, last + 1)]
        return slots

    def _listing_edges(self, now: Instant) -> Iterator[Instant]:
        """Yield when the next market of each series is listed, and when the next one terminates."""
        for series in self.series:
            for after in (-series.ahead, series.lifetime):
                yield ((now - after) // series.every + 1) * series.every + after

    def most_listed(self) -> int:
        """Return an upper bound of the number of slots listed at the same time."""
        return sum((series.ahead + series.lifetime) // series.every + 2 for series in self.series)

    def edges(self, slot: Slot) -> tuple[Instant, ...]:
        """Return when state or settlement of a slot's market change after its listing."""
        series = self.series[slot.series]
        opens = self.opens(slot) or slot.begins - series.lead
        closes = slot.begins + series.every
        expires = closes + series.expires
        terminates = expires + series.terminates
        settles = self._lifecycle.dates.settlement_times_of(closes, terminates)
        return opens, closes, expires, terminates, *settles

    # ---- instruments

    def find(self, symbol: str) -> Instrument | None:
        """Return the listed instrument with a symbol, or None."""
        slot = self.slot_of_symbol(symbol)
        return None if slot is None or not self.listed(slot) else self.instrument(slot)

    def instrument(self, slot: Slot) -> Instrument:
        """Return the instrument of a listed slot, with what its index says by now."""
        cached = self._instruments.get(slot)
        if cached is not None and cached[0] == self._stage(cached[1]):
            return cached[1]
        if self._make is None:
            raise LookupError("this world has no recurring markets")
        if len(self._instruments) >= _CACHE_MAX:
            self._instruments.clear()
        terms = self._make(slot, IndexObservation(), False)
        stage = self._stage(terms)
        instrument = self._make(slot, self._resolution.reading(terms), stage[2])
        self._instruments[slot] = (stage, instrument)
        return instrument

    def _stage(self, terms: Instrument) -> tuple[bool, bool, bool, int]:
        """Return what decides an instrument's metadata: begun, over, settled, and how many prices
        of the asset were set by hand.
        """
        measure, now = terms.index_condition, self._lifecycle.followed_to
        if measure is None:
            return False, False, False, 0
        over = now >= measure.ends
        settled = over and now >= self._lifecycle.dates.settlement_times(terms)[0]
        return now >= measure.begins, over, settled, self._resolution.set_by_hand(measure)

    def symbols(self) -> Iterator[str]:
        """Yield the symbols of the listed markets."""
        return map(self.symbol, self.listed_slots())

    def of_event(self, event: str) -> Iterable[Instrument]:
        """Return the instrument of an event, if the event belongs to a listed slot."""
        slot = self.slot_of_event(event)
        return () if slot is None or not self.listed(slot) else (self.instrument(slot),)

    def materialise(self, symbol: str) -> None:
        """Give a recurring market a state and timers of its own. Ignores other symbols."""
        if self.slot_of_symbol(symbol) is not None:
            self._lifecycle.materialise(symbol)

    def clear(self) -> None:
        """Clear the caches after time travel, but for plans that still hold."""
        self._instruments.clear()
        self._shown_for = _NEVER
        self._travelled = True


@lru_cache(maxsize=_CACHE_MAX)
def start_text(begins: Instant) -> str:
    """Return the beginning of a slot as names spell it, in minutes of UTC: 2026-09-08-1815z."""
    text = format_instant(begins)
    return f"{text[:10]}-{text[11:13]}{text[14:16]}z"


def split_name(name: str) -> tuple[str, Instant | None]:
    """Split a symbol or slug into its prefix and the beginning of a slot; None if it has none."""
    prefix, sign, start = name[:-17], name[-17:-16], name[-16:]
    return prefix, _start(start) if sign == "-" and start[-1:] == "z" else None


@lru_cache(maxsize=_CACHE_MAX)
def _start(text: str) -> Instant | None:
    try:
        begins = parse_instant(f"{text[:10]}T{text[11:13]}:{text[13:15]}:00Z")
    except ValueError:
        return None
    return begins if start_text(begins) == text else None
