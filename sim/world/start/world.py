"""The world in which a scenario begins: the default world with the changes of the scenario, or only
the entries of the scenario.

Additions of one simulation go into its own lists (`Reference.fork`), so worlds are independent.
`populate.py` puts a world into an exchange.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from sim.contract.messages.gateway_v1 import Event
from sim.core.identity.firms import SANDBOX
from sim.core.incentives.incentives import Period, Reward
from sim.core.market_data.assets import Asset
from sim.core.model.dormant import DormantInstruments
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE, scaled
from sim.kernel.instants import NS_PER_S, Instant, parse_instant
from sim.world.format.instrument_terms import list_instrument
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.format.world_entries import (
    AssetEntry,
    BookEntry,
    EventEntry,
    IncentiveEntry,
    InstrumentEntry,
    OrderEntry,
    PeriodEntry,
)
from sim.world.reference.games import FIRST_GAME
from sim.world.reference.market_pair import Facts, PairSide, eastern_day, new_event
from sim.world.reference.recurring_markets import RecurringEvents
from sim.world.reference.reference import Reference
from sim.world.reference.results import Results
from sim.world.start import accounts
from sim.world.start.accounts import OpeningParties, credentials_of, with_traders
from sim.world.start.default_world import (
    DefaultWorld,
    default_parties,
    default_windows,
    default_world,
    generated_games,
)

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario, WorldSection

_UNPRICED = "0.5"
# keys that only a game can have
FACTS = ("home_score", "away_score", "period", "live", "ended")


@dataclass(eq=False)
class World:
    """Everything that exists at the start, and the reference data of the gateway."""

    parties: OpeningParties
    reference: Reference
    instruments: tuple[Instrument, ...]
    assets: tuple[Asset, ...]
    periods: tuple[Period, ...]
    rewards: tuple[Reward, ...]
    books: tuple[BookEntry, ...]
    orders: tuple[OrderEntry, ...]
    results: Results

    @property
    def dormant(self) -> DormantInstruments:
        """The instruments that are created on first access."""
        return self.reference.generated

    @cached_property
    def _terms(self) -> dict[str, Instrument]:
        return {terms.symbol: terms for terms in self.instruments}

    def has(self, symbol: str) -> bool:
        """Return whether an instrument exists at the start, or will be listed later."""
        return self.terms(symbol) is not None

    def terms(self, symbol: str) -> Instrument | None:
        """Return the terms of an instrument that exists at the start, or will be listed
        later; else None.
        """
        terms = self._terms.get(symbol) or self.dormant.find(symbol)
        if terms is not None:
            return terms
        recurring = self.reference.recurring
        slot = recurring.slot_of_symbol(symbol)
        return None if slot is None else recurring.instrument(slot)

    def add(self, instrument: Instrument, entry: InstrumentEntry, now: Instant) -> Instrument:
        """List an instrument on the gateway too, and return it with its metadata.

        Earlier reference data do not change, because snapshots and forks refer to them.
        """
        self.reference = self.reference.fork()
        return add_by_hand(self.reference, instrument, entry, now)


def add_by_hand(
    reference: Reference, instrument: Instrument, entry: InstrumentEntry, now: Instant
) -> Instrument:
    """Add a market for an instrument to its event, which is created if it does not exist."""
    slug = instrument.event or instrument.symbol
    event = reference.event_named(slug)
    if event is None:
        event = new_event(
            now,
            [],
            id=reference.next_event_id(),
            slug=slug,
            title=entry.question or instrument.description,
            category=instrument.category or "other",
            subcategory=instrument.subcategory,
            end_date=instrument.expiration,
            start_time=instrument.start,
        )
        event.start_date = instrument.start
        reference.add_event(event)
    else:
        event = reference.own(event)
        instrument = structs.replace(
            instrument,
            category=instrument.category or event.category,
            subcategory=instrument.subcategory or event.subcategory,
            series=instrument.series or event.series_slug,
        )
    facts = Facts(
        question=entry.question or instrument.description or instrument.symbol,
        long=PairSide("Yes"),
        short=PairSide("No"),
        sports_market_type=entry.sports_market_type or "",
        line=entry.line,
        mid=_UNPRICED,
        tags=tuple(event.tags),
    )
    return reference.list_market(structs.replace(instrument, event=slug), facts, event, now)


# ---- events of the gateway (§2.11); `populate.py` reports the state of their games


def change_events(reference: Reference, entries: Iterable[EventEntry], now: Instant) -> None:
    """Add and change events, before the instruments that belong to them are listed.

    ValueError for a league that does not exist.
    """
    for entry in entries:
        existing = reference.event_named(entry.slug)
        if existing is None:
            number, slug = reference.next_event_id(), entry.slug
            event = new_event(now, [], id=number, slug=slug, title=slug, category="other")
            reference.add_event(event)
        elif _changes(entry):
            event = reference.own(existing)
        else:
            continue
        _apply(reference, event, entry)


def _changes(entry: EventEntry) -> bool:
    """Return whether an entry changes more than the state of a game and the ids of partners."""
    fields = (entry.title, entry.description, entry.category, entry.league, entry.start, entry.end)
    return any(value is not None for value in fields)


def _apply(reference: Reference, event: Event, entry: EventEntry) -> None:
    if entry.league is not None:
        league = reference.league_by_slug.get(entry.league)
        if league is None:
            raise ValueError(f"there is no league {entry.league!r}")
        series = reference.series_of(league)
        event.category, event.subcategory, event.image = "sports", league.slug, league.image
        event.series_slug = series.slug if series is not None else ""
        event.tags = reference.tags_of("sports", reference.sport_of(league).slug, league.slug)
        event.primary_tag = event.tags[-1] if event.tags else None
    if not event.game_id and (
        entry.league is not None or any(getattr(entry, name) is not None for name in FACTS)
    ):
        event.game_id, event.period = str(FIRST_GAME + event.id), "NS"
    for name in ("title", "description", "category"):
        if (text := getattr(entry, name)) is not None:
            setattr(event, name, text)
    if entry.start is not None:
        event.start_time, event.event_date = entry.start, eastern_day(entry.start)
    if entry.end is not None:
        event.end_date = entry.end


# ---- building a world


def build_world(scenario: Scenario, start: Instant | None = None) -> World:
    """Return the world of a scenario at its start.

    ListingError and ValueError name invalid entries.
    """
    section = scenario.world
    now = scenario.clock.start if start is None else start
    default = None if section.base == "empty" else default_world(now)
    reference = Reference(empty=True) if default is None else default.reference.fork()
    if default is not None:
        reference.generated = generated_games(section.games, now)
    change_events(reference, section.events, now)
    instruments = _instruments(default, reference, section, now)
    windows = windows_of(section)
    if default is not None and windows == default_windows():
        reference.set_recurring(default.recurring)
    else:
        reference.set_recurring(RecurringEvents(windows, reference))
    periods, rewards = _incentives(section)
    return World(
        parties=_parties(scenario),
        reference=reference,
        instruments=instruments,
        assets=_assets(default, section),
        periods=(*(default.periods if default else ()), *periods),
        rewards=(*(default.rewards if default else ()), *rewards),
        books=_books(default, section),
        orders=section.orders,
        results=Results(reference, instruments, now),
    )


def _instruments(
    default: DefaultWorld | None, reference: Reference, section: WorldSection, now: Instant
) -> tuple[Instrument, ...]:
    """Return the instruments that are listed one by one, new ones with markets."""
    terms = {
        instrument.symbol: instrument for instrument in (default.instruments if default else ())
    }
    for entry in section.instruments:
        existing = terms.get(entry.symbol) or reference.generated.find(entry.symbol)
        instrument = list_instrument(entry, now, existing)
        if existing is None:
            instrument = add_by_hand(reference, instrument, entry, now)
        terms[entry.symbol] = instrument
    return tuple(terms.values())


def _parties(scenario: Scenario) -> OpeningParties:
    """Return the parties of the world."""
    section = scenario.world
    firms, account_entries, keys = default_parties()
    if scenario.environment != SANDBOX:
        firms, keys = credentials_of(scenario.environment, firms, keys)
    if section.base == "empty":
        firms, account_entries, keys = firms[:1], [], []
    firms = _changed_by(lambda entry: entry.name, firms, section.firms)
    return accounts.build(
        with_traders(firms, scenario.participants.traders),
        _changed_by(lambda entry: entry.name, account_entries, section.accounts),
        _changed_by(lambda entry: entry.key_id, keys, section.api_keys),
        scenario.environment,
    )


def _assets(default: DefaultWorld | None, section: WorldSection) -> tuple[Asset, ...]:
    """Return the assets. A price without an instant is the price at the first tick."""
    changes = tuple(
        structs.replace(entry, price_at=0)
        if entry.price is not None and not entry.price_at
        else entry
        for entry in section.assets
    )
    entries = _changed_by(lambda entry: entry.id, default.assets if default else [], changes)
    return tuple(map(asset_of, entries))


def windows_of(section: WorldSection) -> list[WindowsEntry]:
    """Return the recurring markets of a world: the default ones with the changes and additions
    of the scenario.
    """
    base = [] if section.base == "empty" or not section.automated_windows else default_windows()
    return _changed_by(lambda entry: entry.name, base, section.windows)


def _books(default: DefaultWorld | None, section: WorldSection) -> tuple[BookEntry, ...]:
    standing = default.books if default is not None and section.standing_orders else []
    # An instrument of the default world that the scenario changes begins with an empty book.
    named = {entry.symbol for entry in section.instruments}
    return (*(entry for entry in standing if entry.symbol not in named), *section.books)


def _changed_by(name: Any, base: list[Any], changes: tuple[Any, ...]) -> list[Any]:
    """Return entries by name, each with the fields that a change sets."""
    entries = {name(entry): entry for entry in base}
    for change in changes:
        existing = entries.get(name(change))
        if existing is not None:
            fields = ((field, getattr(change, field)) for field in change.__struct_fields__)
            changed = {field: value for field, value in fields if value not in (None, (), {}, "")}
            change = structs.replace(existing, **changed)
        entries[name(change)] = change
    return list(entries.values())


def asset_of(entry: AssetEntry) -> Asset:
    """The asset of an entry. ValueError if its terms are invalid."""
    asset = Asset(
        id=entry.id,
        price=scaled(entry.price, 100_000_000) if entry.price is not None else None,
        since=(entry.since if entry.since is not None else parse_instant("2026-01-01T00:00:00Z"))
        // NS_PER_S,
        price_at=(entry.price_at or 0) // NS_PER_S,
        every=(entry.every or NS_PER_S) // NS_PER_S,
        volatility=scaled(entry.volatility or "0.004", 1_000_000),
        places=2 if entry.places is None else entry.places,
        outages=tuple(
            (outage.from_ // NS_PER_S, outage.to // NS_PER_S) for outage in entry.outages or ()
        ),
    )
    if unsound := asset.problems():
        raise ValueError(f"{entry.id}: {'; '.join(unsound)}")
    return asset


def _incentives(section: WorldSection) -> tuple[list[Period], list[Reward]]:
    periods = [_period(entry, period) for entry in section.incentives for period in entry.periods]
    rewards = [
        Reward(
            account=reward.account,
            symbol=entry.symbol,
            date=reward.date,
            amount=scaled(reward.reward, CASH_SCALE),
            program_type=reward.program_type,
            status=reward.status,
        )
        for entry in section.incentives
        for reward in entry.rewards
    ]
    return periods, rewards


def _period(program: IncentiveEntry, entry: PeriodEntry) -> Period:
    terms = structs.asdict(entry)
    terms["reward_pool"] = scaled(entry.reward_pool, CASH_SCALE)
    terms["created"] = entry.start if entry.created is None else entry.created
    return Period(symbol=program.symbol, **terms)
