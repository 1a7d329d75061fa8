"""Reference data of recurring crypto markets: their instruments, events and markets.

`core/recurring/markets.py` decides which of them exist. All properties of a market, including its
number, follow from its slot: the series and the instant at which it begins; callers pass the
observations of its index. So only the most recently used events are cached.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from sim.contract.messages import gateway_v1 as wire
from sim.core.model.index_conditions import Family, IndexCondition, IndexObservation
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.core.recurring.markets import EPOCH, Series, Slot, SlotNames, start_text
from sim.kernel.instants import (
    DAY,
    EASTERN,
    HOUR,
    MINUTE,
    NS_PER_S,
    Instant,
    Span,
    format_span,
    to_datetime,
)
from sim.world.format.instrument_terms import scales_of
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.reference import market_pair
from sim.world.reference.games import PARTIAL_CONTRACTS
from sim.world.reference.index_markets import asset_terms, index_metadata, read_metadata
from sim.world.reference.leagues import ASSETS, LISTED, Leagues
from sim.world.reference.market_pair import Facts, PairSide, new_event

FIRST_NUMBER = 100_000_000  # of events and of markets; each series has NUMBERS of them
NUMBERS = 40_000_000  # minutes of 76 years
SERIES_MAX = 50  # so that numbers fit into 32 bits
_FIRST_SERIES = 10_101
_AHEAD = 48  # intervals, at most a day
_LEAD, _EXPIRES, _TERMINATES = 90 * NS_PER_S, 30 * MINUTE, 2 * HOUR
_TICK, _QTY_SCALE = "0.01", 100
_UP, _DOWN = PairSide("Up"), PairSide("Down")
_UNREAD = IndexObservation()
_KEPT = 512  # events


class RecurringTerms(Struct, frozen=True, kw_only=True):
    """Trading terms of the markets of a series, and the name of its asset."""

    title: str
    price_scale: int
    tick: int
    qty_scale: int


class RecurringEvents:
    """The series of a world, by number, and the reference data of their markets."""

    def __init__(self, entries: list[WindowsEntry], leagues: Leagues) -> None:
        """`leagues` has the tags. ValueError names an invalid series."""
        if len(entries) > SERIES_MAX:
            raise ValueError(
                f"at most {SERIES_MAX} recurring markets are possible, not {len(entries)}"
            )
        self.series = tuple(map(series_of, entries))
        self._terms = tuple(map(_terms_of, entries))
        self._names = SlotNames(self.series)
        self._tags = [leagues.tags_of("crypto", terms.title.lower()) for terms in self._terms]
        self.messages = tuple(map(self._series_message, range(len(entries))))
        self.event = lru_cache(maxsize=_KEPT)(self._event)
        self._unread = lru_cache(maxsize=_KEPT)(self._make_unread)

    # ---- look-ups, whether a market is listed or not

    def slot_of_symbol(self, symbol: str) -> Slot | None:
        """Return the slot of a symbol, or None."""
        return self._names.of_symbol(symbol)

    def event_named(self, slug: str) -> wire.Event | None:
        """Return the event with a slug, or None."""
        slot = self._names.of_event(slug)
        return None if slot is None else self.event(slot)

    def numbered(self, number: int) -> wire.Event | None:
        """Return the event with a number, which is also its market's, or None."""
        series, index = divmod(number - FIRST_NUMBER, NUMBERS)
        if not 0 <= series < len(self.series):
            return None
        slot = self._names.slot(series, EPOCH + index * self.series[series].every)
        return None if slot is None else self.event(slot)

    def event_of(self, symbol: str) -> wire.Event | None:
        """Return the event of a market, or None."""
        slot = self.slot_of_symbol(symbol)
        return None if slot is None else self.event(slot)

    def market(self, symbol: str) -> wire.Market | None:
        """Return the market of a symbol, or None."""
        event = self.event_of(symbol)
        return None if event is None else event.markets[0]

    # ---- instruments and events

    def instrument(
        self, slot: Slot, reading: IndexObservation = _UNREAD, settled: bool = False
    ) -> Instrument:
        """Return the instrument of a slot, with the observations of the index so far
        in its metadata.
        """
        unread = self._unread(slot)
        fields = read_metadata(reading, settled)
        return replace(unread, metadata={**unread.metadata, **fields}) if fields else unread

    def _make_unread(self, slot: Slot) -> Instrument:
        """Create the instrument of a slot, without observations of the index."""
        series, terms = self.series[slot.series], self._terms[slot.series]
        begins, start = slot.begins, start_text(slot.begins)
        ends, listed = begins + series.every, begins - series.ahead
        instrument = Instrument(
            symbol=f"{series.prefix}-{start}",
            description=(
                f"Up if the {series.asset} index at {_clock(ends)} is not below its price at"
                f" {_clock(begins)}, else Down."
            ),
            question=self._title(slot),
            product_id=series.product_id,
            price_scale=terms.price_scale,
            qty_scale=terms.qty_scale if PARTIAL_CONTRACTS.at(listed) else 1,
            tick=terms.tick,
            price_low=terms.tick,
            price_high=terms.price_scale - terms.tick,
            created=listed,
            start=begins - series.lead,
            closes=ends,
            expiration=ends + series.expires,
            termination=ends + series.expires + series.terminates,
            event=f"{series.name}-{start}",
            category="crypto",
            subcategory=series.asset.partition(":")[2],
            series=series.name,
            index_condition=self._condition(slot),
        )
        metadata = {
            **market_pair.metadata_of(instrument, self._facts(slot), self.number(slot)),
            **index_metadata(instrument, format_span(series.every)),
            "instrument_rules": instrument.description,
        }
        return replace(instrument, metadata=metadata)

    def _condition(self, slot: Slot) -> IndexCondition:
        series = self.series[slot.series]
        ends = slot.begins + series.every
        return IndexCondition(
            asset=series.asset, family=Family.UPDOWN, begins=slot.begins, ends=ends
        )

    def number(self, slot: Slot) -> int:
        """Return the number of a slot's event and market."""
        index = (slot.begins - EPOCH) // self.series[slot.series].every
        return FIRST_NUMBER + slot.series * NUMBERS + index

    def _facts(self, slot: Slot) -> Facts:
        terms = asset_terms(self._condition(slot), format_span(self.series[slot.series].every))
        title, tags = self._title(slot), tuple(self._tags[slot.series])
        return Facts(
            question=title, long=_UP, short=_DOWN, game_start=slot.begins, tags=tags, asset=terms
        )

    def _event(self, slot: Slot) -> wire.Event:
        instrument, number, tags = self.instrument(slot), self.number(slot), self._tags[slot.series]
        market = market_pair.market_of(number, instrument, self._facts(slot), slot.begins)
        market.end_date, market.game_start_time = instrument.closes, None
        return new_event(
            instrument.created,
            list(tags),
            id=number,
            slug=instrument.event,
            title=self._title(slot),
            description=instrument.description,
            category="crypto",
            subcategory=instrument.subcategory,
            series_slug=instrument.series,
            markets=[market],
            end_date=instrument.closes,
            start_time=slot.begins,
            event_date=market_pair.eastern_day(slot.begins),
            image=_image(instrument.series),
        )

    def _title(self, slot: Slot) -> str:
        begins, ends = slot.begins, slot.begins + self.series[slot.series].every
        day, title = to_datetime(begins, EASTERN), self._terms[slot.series].title
        return f"{title} Up or Down - {day:%B} {day.day}, {_hour(begins)}-{_hour(ends)} ET"

    def _series_message(self, number: int) -> wire.Series:
        series, title = self.series[number], self._terms[number].title
        every = format_span(series.every)
        return wire.Series(
            id=str(_FIRST_SERIES + number),
            slug=series.name,
            title=f"{title} Up or Down, every {every}",
            recurrence=every,
            active=True,
            image=_image(series.name),
            created_at=LISTED,
            updated_at=LISTED,
        )


def incomplete(entry: WindowsEntry) -> str:
    """Return the problem of an entry: missing or conflicting terms; "" if it is complete."""
    if entry.asset is None or entry.every is None:
        return f"{entry.name}: a new recurring market needs `asset` and `every`"
    scale = scales_of(entry.tick_size or _TICK)[0]
    qty_scale = entry.fractional_qty_scale or _QTY_SCALE
    ahead = _listed_ahead(entry.every) if entry.ahead is None else entry.ahead
    if ahead < (lead := _LEAD if entry.lead is None else entry.lead):
        return (
            f"{entry.name}: lead {format_span(lead)} is longer than ahead {format_span(ahead)},"
            " but a market opens after it was listed"
        )
    if CASH_SCALE % (scale * qty_scale):
        return (
            f"{entry.name}: price scale {scale} times fractional_qty_scale {qty_scale} must divide"
            f" {CASH_SCALE}"
        )
    return ""


def series_of(entry: WindowsEntry) -> Series:
    """Return the series of an entry, or raise ValueError."""
    if (lacking := incomplete(entry)) or entry.asset is None or entry.every is None:
        raise ValueError(lacking)
    return Series(
        name=entry.name,
        asset=entry.asset,
        every=entry.every,
        ahead=_listed_ahead(entry.every) if entry.ahead is None else entry.ahead,
        lead=_LEAD if entry.lead is None else entry.lead,
        expires=_EXPIRES if entry.expires is None else entry.expires,
        terminates=_TERMINATES if entry.terminates is None else entry.terminates,
    )


def _listed_ahead(every: Span) -> Span:
    return min(_AHEAD * every, DAY)


def _terms_of(entry: WindowsEntry) -> RecurringTerms:
    scale, tick = scales_of(entry.tick_size or _TICK)
    asset = (entry.asset or "").partition(":")[2]
    return RecurringTerms(
        title=entry.title or asset.upper(),
        price_scale=scale,
        tick=tick,
        qty_scale=entry.fractional_qty_scale or _QTY_SCALE,
    )


def _image(series: str) -> str:
    return f"{ASSETS}/series/{series}.png"


def _clock(at: Instant) -> str:
    return f"{to_datetime(at, EASTERN):%Y-%m-%d %H:%M} ET"


def _hour(at: Instant) -> str:
    return f"{to_datetime(at, EASTERN):%I:%M%p}".lstrip("0")
