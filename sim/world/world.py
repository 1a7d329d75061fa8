"""The world a scenario begins with: the default one from `fixtures/world`, changed by what the
scenario says, or only that.

The default world is spread out once for each starting instant and then shared: instruments, teams
and texts never change. What one simulation adds by hand goes into its own lists, so worlds do not
see each other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import structs

from sim.core.identity.firms import SANDBOX
from sim.core.incentives.incentives import Period, Reward
from sim.core.market_data.assets import Asset
from sim.core.model.dormant import DormantInstruments
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE, scaled
from sim.kernel.instants import DAY, NS_PER_S, Instant, parse_instant
from sim.messages.gateway_v1 import Event
from sim.reference.default_games import add_game
from sim.reference.futures import add_future, add_topic
from sim.reference.games import mid_of
from sim.reference.generated_games import GeneratedGames
from sim.reference.incentive_programs import programs
from sim.reference.leagues import fixture
from sim.reference.market_pair import Facts, Side, market_of, with_metadata
from sim.reference.recurring_markets import RecurringEvents
from sim.reference.reference import Reference
from sim.reference.results import Results
from sim.scenario.instrument_terms import list_instrument
from sim.scenario.recurring_entries import WindowsEntry
from sim.scenario.struct_types import record
from sim.scenario.world_entries import (
    AccountEntry,
    ApiKeyEntry,
    AssetEntry,
    BookEntry,
    FirmEntry,
    IncentiveEntry,
    InstrumentEntry,
    OrderEntry,
)
from sim.scenario.yaml_tree import tree_of
from sim.world.accounts import Parties, credentials_of, gather, with_traders
from sim.world.event_overrides import tell_events

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario, WorldSection

_UNPRICED = "0.5"
# the instant that the rows of fixtures/world are written for
DEFAULT_START: Instant = parse_instant("2026-09-08T14:00:00-04:00")


class World:
    """Everybody and everything at the start, and the reference data that the gateway shows."""

    def __init__(
        self,
        *,
        parties: Parties,
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
        self.shelf: DormantInstruments = reference.generated
        self.results = Results(reference, instruments, now)
        self.instruments = instruments
        self._symbols = frozenset(terms.symbol for terms in instruments)
        self.assets = assets
        self.periods = periods
        self.rewards = rewards
        self.books = books
        self.orders = orders

    def has(self, symbol: str) -> bool:
        """Whether the world begins with an instrument of this symbol, or it spells a window, which
        is listed in its time.
        """
        return (
            symbol in self._symbols
            or self.shelf.find(symbol) is not None
            or self.reference.recurring.slot_of_symbol(symbol) is not None
        )

    def add(self, instrument: Instrument, entry: InstrumentEntry, now: Instant) -> Instrument:
        """Put an instrument made by hand on the gateway too; the instrument with its metadata.

        The reference data before it stay as they are, for snapshots and forks that hold them.
        """
        self.reference = self.reference.fork()
        return add_by_hand(self.reference, instrument, entry, now)


def add_by_hand(
    reference: Reference, instrument: Instrument, entry: InstrumentEntry, now: Instant
) -> Instrument:
    """A market for an instrument, under its event, which is made when there is none."""
    slug = instrument.event or instrument.symbol
    event = reference.event_named(slug)
    if event is None:
        event = Event(
            id=reference.next_event_id(),
            slug=slug,
            title=entry.question or instrument.description,
            category=instrument.category or "other",
            subcategory=instrument.subcategory,
            active=True,
            start_date=instrument.start,
            end_date=instrument.expiration,
            start_time=instrument.start,
            creation_date=now,
            created_at=now,
            updated_at=now,
        )
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
        long=Side("Yes"),
        short=Side("No"),
        sports_market_type=entry.sports_market_type or "",
        line=entry.line,
        mid=_UNPRICED,
        tags=tuple(event.tags),
    )
    listed = with_metadata(structs.replace(instrument, event=slug), facts, event)
    if reference.market(instrument.symbol) is None:
        reference.add_market(market_of(reference.next_market_id(), listed, facts, now), event)
    return listed


# ---- the default world


class _Default:
    """The default world at a starting instant. A scenario that begins in another week finds the
    same games and markets that many weeks away, so that the world is alive whenever it begins;
    symbols stay as they are.
    """

    def __init__(self, now: Instant) -> None:
        rows = fixture("slate.json")
        weeks = abs(now - DEFAULT_START) // (7 * DAY)
        shift = weeks * 7 * DAY if now >= DEFAULT_START else -weeks * 7 * DAY
        self.reference = Reference()
        self.books: list[BookEntry] = []
        found: list[Instrument] = []
        for kind, add in (("games", add_game), ("futures", add_future), ("topics", add_topic)):
            for row in rows[kind]:
                made = add(row, self.reference, now, shift)
                found += made
                if row.get("quoted"):
                    self.books += [_book(terms) for terms in made[:3]]
        self.reference.begin()
        self.instruments = tuple(found)
        self.shift = shift
        assets = _read(AssetEntry, rows["assets"])
        self.assets = [
            structs.replace(
                asset,
                since=asset.since + min(0, shift),
                price_at=None if asset.price_at is None else asset.price_at + shift,
            )
            for asset in assets
        ]
        self.periods, self.rewards = programs(self.instruments, self.reference, now)


@lru_cache(maxsize=8)
def _default(now: Instant) -> _Default:
    return _Default(now)


@lru_cache(maxsize=8)
def _generated(games: int, now: Instant) -> GeneratedGames:
    default = _default(now)
    taken = default.reference.event_by_slug
    return GeneratedGames(default.reference, games, now, default.shift, taken)


@lru_cache(maxsize=1)
def _default_parties() -> tuple[list[FirmEntry], list[AccountEntry], list[ApiKeyEntry]]:
    rows = fixture("parties.json")
    from sim.kernel import resources

    keys = tree_value(resources.path("fixtures", "keys/retail.json").read_bytes())
    return (
        _read(FirmEntry, rows["firms"]),
        _read(AccountEntry, rows["accounts"]),
        _read(ApiKeyEntry, keys),
    )


def tree_value(raw: bytes) -> Any:
    """JSON of a fixture."""
    from msgspec import json

    return json.decode(raw)


def _read(kind: Any, rows: list[dict[str, Any]]) -> list[Any]:
    """Fixture rows as entries; a row that is none is a mistake of ours."""
    problems: list[Any] = []
    found = [record(kind).read(tree_of(row, "fixtures"), problems) for row in rows]
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    return found


def _book(terms: Instrument) -> BookEntry:
    cents = int(mid_of(terms.symbol)[2:])
    return BookEntry(
        symbol=terms.symbol,
        mid=f"0.{cents:02d}",
        spread="0.02",
        sizes=("100", "250", "500", "1000"),
    )


# ---- a scenario's world


def build_world(scenario: Scenario, start: Instant | None = None) -> World:
    """The world of a scenario at its start. ListingError, ValueError for entries that cannot be."""
    section = scenario.world
    now = scenario.clock.start if start is None else start
    empty = section.base == "empty"
    default = None if empty else _default(now)
    reference = Reference(empty=True) if default is None else default.reference.fork()
    if default is not None:
        reference.generated = _generated(section.games, now)
    shelf = reference.generated
    terms = {
        instrument.symbol: instrument for instrument in (default.instruments if default else ())
    }
    tell_events(reference, section.events, now)
    for entry in section.instruments:
        terms[entry.symbol] = _listed(
            reference, entry, terms.get(entry.symbol) or shelf.find(entry.symbol), now
        )
    firms, accounts, keys = _default_parties()
    if scenario.environment != SANDBOX:
        firms, keys = credentials_of(scenario.environment, firms, keys)
    if empty:
        firms, accounts, keys = firms[:1], [], []
    changed = tuple(
        (
            structs.replace(entry, price_at=0)
            if entry.price is not None and entry.price_at is None
            else entry
        )
        for entry in section.assets
    )
    assets = _by(lambda entry: entry.id, default.assets if default else [], changed)
    windows = windows_of(section)
    reference.recurring = RecurringEvents(windows, reference)
    periods, rewards = _incentives(section)
    return World(
        parties=gather(
            with_traders(
                _by(lambda entry: entry.name, firms, section.firms), scenario.participants.traders
            ),
            _by(lambda entry: entry.name, accounts, section.accounts),
            _by(lambda entry: entry.key_id, keys, section.api_keys),
            scenario.environment,
        ),
        reference=reference,
        instruments=tuple(terms.values()),
        assets=tuple(_asset(entry) for entry in assets),
        periods=(*(default.periods if default else ()), *periods),
        rewards=(*(default.rewards if default else ()), *rewards),
        books=_books(default, section),
        orders=section.orders,
        now=now,
    )


def windows_of(section: WorldSection) -> list[WindowsEntry]:
    """The windows of a world: those of the default one, changed and joined by what the section
    says.
    """
    base = [] if section.base == "empty" or not section.automated_windows else _default_windows()
    return _by(lambda entry: entry.name, base, section.windows)


@lru_cache(maxsize=1)
def _default_windows() -> list[WindowsEntry]:
    return _read(WindowsEntry, fixture("slate.json")["windows"])


def _books(default: _Default | None, section: WorldSection) -> tuple[BookEntry, ...]:
    standing = default.books if default is not None and section.standing_orders else []
    # who changes an instrument of the default world wants its book to himself
    named = {entry.symbol for entry in section.instruments}
    return (*(entry for entry in standing if entry.symbol not in named), *section.books)


def _listed(
    reference: Reference, entry: InstrumentEntry, known: Instrument | None, now: Instant
) -> Instrument:
    instrument = list_instrument(entry, now, known)
    return instrument if known is not None else add_by_hand(reference, instrument, entry, now)


def _by(name: Any, base: list[Any], changes: tuple[Any, ...]) -> list[Any]:
    """Entries by name: a change replaces the fields it gives (those that are not None) and leaves
    the rest.
    """
    found = {name(entry): entry for entry in base}
    for change in changes:
        known = found.get(name(change))
        if known is not None:
            given = {
                field: value
                for field in change.__struct_fields__
                if (value := getattr(change, field)) not in (None, (), {}, "")
            }
            change = structs.replace(known, **given)
        found[name(change)] = change
    return list(found.values())


def _asset(entry: AssetEntry) -> Asset:
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
    given = entry.periods[number]
    return Period(
        program_id=given.program_id,
        symbol=entry.symbol,
        start=given.start,
        end=given.end,
        created=given.created if given.created is not None else given.start,
        reward_pool=scaled(given.reward_pool, CASH_SCALE),
        program_type=given.program_type,
        period=given.period,
        discount_factor=given.discount_factor,
        target_size=given.target_size,
        max_spread=given.max_spread,
        min_taker_notional=given.min_taker_notional,
    )
