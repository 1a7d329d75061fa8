"""Automated crypto windows as the world shows them: instruments, events and markets of products
that recur on the clock (`core/windows.py` says which exist).

Everything about a window follows from its product and the instant at which it begins, numbers too;
what its index says is the caller's. So nothing is kept of windows but what was asked for last.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from sim.core.model.index_conditions import IndexCondition, IndexObservation
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.core.recurring.markets import EPOCH, Series, Slot, SlotNames, start_text
from sim.kernel.instants import (
    EASTERN,
    HOUR,
    MINUTE,
    NS_PER_S,
    Instant,
    Span,
    format_span,
    to_datetime,
)
from sim.messages.gateway_v1 import (
    AssetClass,
    AssetId,
    AssetPriceDirection,
    AssetPriceMarketType,
    AssetPriceTerms,
    Event,
    Market,
)
from sim.messages.gateway_v1 import Series as SeriesMessage
from sim.reference.leagues import LISTED, Leagues
from sim.reference.market_pair import (
    Facts,
    Side,
    eastern_day,
    market_of,
    metadata_of,
    metadata_time,
    price_text,
)
from sim.scenario.instrument_terms import scales_of
from sim.scenario.recurring_entries import WindowsEntry

FIRST_NUMBER = 100_000_000  # of events and of markets; each product has NUMBERS of them
NUMBERS = 40_000_000  # minutes of 76 years
PRODUCTS_MAX = 50  # so that numbers fit 32 bits
_FIRST_SERIES = 10_101
_LEAD, _EXPIRES, _TERMINATES = 90 * NS_PER_S, 30 * MINUTE, 2 * HOUR
_TICK, _QTY_SCALE = "0.01", 100
_UP, _DOWN = Side("Up"), Side("Down")
_UNREAD = IndexObservation()


class Terms(Struct, frozen=True, kw_only=True):
    """What the windows of a product trade on, and what people call its asset."""

    title: str
    price_scale: int
    tick: int
    qty_scale: int


class RecurringEvents:
    """The products of a world, by number; the gateway's reference data of their windows."""

    def __init__(self, entries: list[WindowsEntry], leagues: Leagues) -> None:
        """Adds the series of the products to the reference data. ValueError says which product
        cannot be.
        """
        if len(entries) > PRODUCTS_MAX:
            raise ValueError(f"at most {PRODUCTS_MAX} products of windows, not {len(entries)}")
        self.products = tuple(map(product_of, entries))
        self._terms = tuple(map(_terms_of, entries))
        self._names = SlotNames(self.products)
        self._tags = tuple(
            tuple(leagues.tags_of("crypto", terms.title.lower())) for terms in self._terms
        )
        self._series = tuple(map(self._series_of, range(len(entries))))
        for series in self._series:
            leagues.add_series(series)
        self.event = lru_cache(maxsize=512)(self._event)

    # ---- which

    def slot_of_symbol(self, symbol: str) -> Slot | None:
        """The window a symbol spells, listed or not."""
        return self._names.of_symbol(symbol)

    def event_named(self, slug: str) -> Event | None:
        """The event with a slug."""
        slot = self._names.of_event(slug)
        return None if slot is None else self.event(slot)

    def numbered(self, number: int) -> Event | None:
        """The event with a number, which is its market's too."""
        product, index = divmod(number - FIRST_NUMBER, NUMBERS)
        if not 0 <= product < len(self.products):
            return None
        slot = self._names.slot(product, EPOCH + index * self.products[product].every)
        return None if slot is None else self.event(slot)

    def market(self, symbol: str) -> Market | None:
        """The market of a symbol."""
        slot = self.slot_of_symbol(symbol)
        return None if slot is None else self.event(slot).markets[0]

    def event_of(self, symbol: str) -> Event | None:
        """The event of a symbol."""
        slot = self.slot_of_symbol(symbol)
        return None if slot is None else self.event(slot)

    # ---- what they are

    def instrument(
        self, slot: Slot, reading: IndexObservation = _UNREAD, settled: bool = False
    ) -> Instrument:
        """The instrument of a window, its metadata with what the index says by now."""
        product, terms = self.products[slot.series], self._terms[slot.series]
        ends = slot.begins + product.every
        facts = self._facts(slot)
        instrument = Instrument(
            symbol=f"{product.prefix}-{start_text(slot.begins)}",
            description=(
                f"Up if the {product.asset} index at {_clock(ends)} is not below its price at"
                f" {_clock(slot.begins)}, else Down."
            ),
            product_id=product.product_id,
            price_scale=terms.price_scale,
            qty_scale=terms.qty_scale,
            tick=terms.tick,
            price_low=terms.tick,
            price_high=terms.price_scale - terms.tick,
            created=slot.begins - product.lead,
            start=slot.begins - product.lead,
            closes=ends,
            expiration=ends + product.expires,
            termination=ends + product.expires + product.terminates,
            event=f"{product.name}-{start_text(slot.begins)}",
            category="crypto",
            subcategory=product.asset.partition(":")[2],
            series=product.name,
            index_condition=IndexCondition(asset=product.asset, begins=slot.begins, ends=ends),
        )
        metadata = metadata_of(instrument, facts, self.number(slot)) | {
            "event_series": product.name,
            "instrument_rules": instrument.description,
            "crypto_market_type": "updown",
            "crypto_horizon": horizon(product.every),
            "interval_start": metadata_time(slot.begins),
            "interval_end": metadata_time(ends),
        }
        if reading.to_beat is not None:
            metadata["price_to_beat"] = price_text(reading.to_beat)
        if settled and reading.at_end is not None:
            metadata["crypto_settlement_price"] = price_text(reading.at_end)
        return replace(instrument, metadata=metadata)

    def number(self, slot: Slot) -> int:
        """The number of a window's event and market."""
        return (
            FIRST_NUMBER
            + slot.series * NUMBERS
            + (slot.begins - EPOCH) // self.products[slot.series].every
        )

    def _facts(self, slot: Slot) -> Facts:
        title = self._title(slot)
        asset = self.products[slot.series].asset.partition(":")[2]
        return Facts(
            question=title,
            long=_UP,
            short=_DOWN,
            game_start=slot.begins,
            tags=self._tags[slot.series],
            asset=AssetPriceTerms(
                asset=AssetId(asset_class=AssetClass.ASSET_CLASS_CRYPTO, symbol=asset),
                market_type=AssetPriceMarketType.ASSET_PRICE_MARKET_TYPE_UP_DOWN,
                direction=AssetPriceDirection.ASSET_PRICE_DIRECTION_UP,
            ),
        )

    def _event(self, slot: Slot) -> Event:
        product, instrument = self.products[slot.series], self.instrument(slot)
        number, tags, series = (
            self.number(slot),
            self._tags[slot.series],
            self._series[slot.series],
        )
        market = replace(
            market_of(number, instrument, self._facts(slot), slot.begins),
            end_date=instrument.closes,
            game_start_time=None,
        )
        return Event(
            id=number,
            slug=instrument.event,
            title=self._title(slot),
            description=instrument.description,
            category="crypto",
            subcategory=instrument.subcategory,
            series_slug=product.name,
            series=None,
            active=True,
            markets=[market],
            start_date=instrument.start,
            end_date=instrument.closes,
            start_time=slot.begins,
            creation_date=instrument.created,
            created_at=instrument.created,
            updated_at=instrument.created,
            event_date=eastern_day(slot.begins),
            image=series.image,
            tags=list(tags),
            primary_tag=tags[-1] if tags else None,
        )

    def _title(self, slot: Slot) -> str:
        ends = slot.begins + self.products[slot.series].every
        day = to_datetime(slot.begins, EASTERN)
        return (
            f"{self._terms[slot.series].title} Up or Down - {day:%B} {day.day},"
            f" {_hour(slot.begins)}-{_hour(ends)} ET"
        )

    def _series_of(self, number: int) -> SeriesMessage:
        product, title = self.products[number], self._terms[number].title
        return SeriesMessage(
            id=str(_FIRST_SERIES + number),
            slug=product.name,
            title=f"{title} Up or Down, every {horizon(product.every)}",
            recurrence=horizon(product.every),
            active=True,
            image=f"https://static.sandbox.test/series/{product.name}.png",
            created_at=LISTED,
            updated_at=LISTED,
        )


def incomplete(entry: WindowsEntry) -> str:
    """What an entry lacks, or how its terms clash; empty when it is a product."""
    if entry.asset is None or entry.every is None:
        return f"{entry.name}: say asset and every, no windows of the world are called so"
    scale, qty_scale = (
        scales_of(entry.tick_size or _TICK)[0],
        entry.fractional_qty_scale or _QTY_SCALE,
    )
    if CASH_SCALE % (scale * qty_scale):
        return (
            f"{entry.name}: price scale {scale} times fractional_qty_scale {qty_scale} must divide"
            f" {CASH_SCALE}"
        )
    return ""


def product_of(entry: WindowsEntry) -> Series:
    """What recurs, from an entry. ValueError says what cannot be."""
    if (lacking := incomplete(entry)) or entry.asset is None or entry.every is None:
        raise ValueError(lacking)
    return Series(
        name=entry.name,
        asset=entry.asset,
        every=entry.every,
        lead=_LEAD if entry.lead is None else entry.lead,
        expires=_EXPIRES if entry.expires is None else entry.expires,
        terminates=_TERMINATES if entry.terminates is None else entry.terminates,
    )


def _terms_of(entry: WindowsEntry) -> Terms:
    scale, tick = scales_of(entry.tick_size or _TICK)
    asset = (entry.asset or "").partition(":")[2]
    return Terms(
        title=entry.title or asset.upper(),
        price_scale=scale,
        tick=tick,
        qty_scale=entry.fractional_qty_scale or _QTY_SCALE,
    )


def horizon(every: Span) -> str:
    """5m, 1h."""
    return format_span(every)


def _clock(at: Instant) -> str:
    return f"{to_datetime(at, EASTERN):%Y-%m-%d %H:%M} ET"


def _hour(at: Instant) -> str:
    return f"{to_datetime(at, EASTERN):%I:%M%p}".lstrip("0")
