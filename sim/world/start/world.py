"""The world in which a scenario begins: the default world with the changes of the scenario, or only
the entries of the scenario.

Additions of one simulation go into its own lists (`Reference.fork`), so worlds are independent.
`populate.py` puts a world into an exchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

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
    IncentiveEntry,
    InstrumentEntry,
    OrderEntry,
)
from sim.world.reference.market_pair import Facts, PairSide, new_event
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
from sim.world.start.event_overrides import change_events

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario, WorldSection

_UNPRICED = "0.5"


class World:
    """Everything that exists at the start, and the reference data of the gateway."""

    def __init__(
        self,
        *,
        parties: OpeningParties,
        reference: Reference,
        instruments: tuple[Instrument, ...],
        assets: tuple[Asset, ...],
        periods: tuple[Period, ...],
        rewards: tuple[Reward, ...],
        books: tuple[BookEntry, ...],
        orders: tuple[OrderEntry, ...],
        now: Instant,
    ) -> None:
        self.parties = parties
        self.reference = reference
        self.dormant: DormantInstruments = reference.generated
        self.results = Results(reference, instruments, now)
        self.instruments = instruments
        self._terms = {terms.symbol: terms for terms in instruments}
        self.assets = assets
        self.periods = periods
        self.rewards = rewards
        self.books = books
        self.orders = orders

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
        now=now,
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
    periods, rewards = [], []
    for entry in section.incentives:
        periods += [_period(entry, number) for number in range(len(entry.periods))]
        rewards += [
            Reward(
                account=reward.account,
                symbol=entry.symbol,
                date=reward.date,
                amount=scaled(reward.reward, CASH_SCALE),
                program_type=reward.program_type,
                status=reward.status,
            )
            for reward in entry.rewards
        ]
    return periods, rewards


def _period(entry: IncentiveEntry, number: int) -> Period:
    period = entry.periods[number]
    return Period(
        program_id=period.program_id,
        symbol=entry.symbol,
        start=period.start,
        end=period.end,
        created=period.created if period.created is not None else period.start,
        reward_pool=scaled(period.reward_pool, CASH_SCALE),
        program_type=period.program_type,
        period=period.period,
        discount_factor=period.discount_factor,
        target_size=period.target_size,
        max_spread=period.max_spread,
        min_taker_notional=period.min_taker_notional,
    )
