"""One game: its event, and each of its markets as an instrument and as a gateway message.

The teams and market sets of a game come from the rows of the default world (`slate.py`) or
from the plan of a season (`season_plan.py`). The terms of a market follow from its symbol: two
markets of one product and type may have different ticks and scales (§2.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from msgspec import structs

from sim.contract.messages.gateway_v1 import Event, EventParticipant, Team
from sim.core.lifecycle.states import EXPIRED_STATES
from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import GameCondition, Instrument
from sim.core.model.reference_data import MarketDates
from sim.kernel.dated import Dated
from sim.kernel.instants import DAY, HOUR, Instant
from sim.world.format.instrument_terms import related_to
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import Facts, PairSide, eastern_day, new_event
from sim.world.reference.market_templates import (
    MarketTemplate,
    Player,
    era_of,
    filled,
    ordered,
    symbols,
)
from sim.world.reference.market_templates import templates as templates_of

# (price scale, tick, quantity scale, minimum): cent, half-cent and quarter-cent ticks, whole and
# fractional contracts. The quantity scale of sports is 100; only totals differ among themselves,
# because one instrument product may have several scales (§2.6).
_MIXED_PRODUCT = "tsc"
TERMS = (
    (100, 1, 100, 100),
    (1000, 5, 100, 1),
    (10_000, 25, 100, 1),
    (100, 1, 100, 1),
    (1000, 5, 100, 100),
    (100, 1, 100, 10),
    (400, 1, 100, 1),
)
MIXED_TERMS = (
    (100, 1, 1, 1),
    (1000, 5, 100, 1),
    (10_000, 25, 100, 1),
    (100, 1, 100, 1),
    (1000, 5, 1, 1),
    (100, 1, 1000, 10),
    (400, 1, 1000, 1),
)
CENT_TERMS = ((100, 1, 100, 100), (100, 1, 100, 1))
WHOLE_TERMS = ((100, 1, 1, 1),)
PARTIAL_CONTRACTS = Dated(
    False,
    ("2026-05-11", True),
    name="markets.partial_contracts",
    section="§9",
    title="worlds that begin from then on have markets of partial contracts and finer ticks",
)
EXPIRES_AFTER = 6 * HOUR  # from the start of a game to the expiration of its markets
TERMINATES_AFTER = 7 * DAY  # from the expiration to the termination
FIRST_GAME = 880_000  # the difference of the numbers of a game and of its event
_EXCLUSIVE = (
    "drawable_outcome",
    "soccer_game_first_half_first_team_to_score",
    "soccer_game_second_half_first_team_to_score",
)
_OUTCOMES = dict.fromkeys(_EXCLUSIVE, EventOutcome.MUTUALLY_EXCLUSIVE) | dict.fromkeys(
    ("totals", "basketball_team_full_game_total"), EventOutcome.DIRECTIONAL
)


class ScheduledGame(NamedTuple):
    """A game and its markets. `stem` is league, teams and date as in symbols.

    `opens` is when its markets open; `state` is their initial state, None if the dates decide.
    """

    league: str
    home: Team
    away: Team
    stem: str
    start: Instant
    created: Instant
    opens: Instant
    sets: tuple[str, ...]
    fee_class: str = "standard"
    state: InstrumentState | None = None

    @property
    def teams(self) -> tuple[Team, Team]:
        """The teams in the order of the symbol."""
        return ordered(self.league, self.home, self.away)

    @property
    def short_names(self) -> tuple[str, str]:
        """The teams' abbreviations in lower case, in the order of the symbol."""
        first, second = self.teams
        return first.abbreviation.lower(), second.abbreviation.lower()

    @property
    def dates(self) -> MarketDates:
        """The dates at which the game's markets are listed, open, expire and terminate."""
        expiration = self.start + EXPIRES_AFTER
        terminated = expiration + TERMINATES_AFTER
        return MarketDates(self.created, self.opens, expiration, terminated, self.start)

    @property
    def templates(self) -> tuple[MarketTemplate, ...]:
        """The templates of the game's markets, in order, without those of players."""
        return templates_of(self.league, self.sets, era_of(self.created))

    @property
    def symbols(self) -> list[str]:
        """The symbols of those markets."""
        return symbols(self.templates, self.stem, self.short_names)


def terms_of(symbol: str, now: Instant, *, cents: bool = False) -> tuple[int, int, int, int]:
    """Return price scale, tick, quantity scale and minimum quantity that follow from a symbol, in a
    world that begins at an instant.
    """
    choices: tuple[tuple[int, int, int, int], ...] = CENT_TERMS if cents else TERMS
    if symbol.startswith(_MIXED_PRODUCT):
        choices = MIXED_TERMS
    if not PARTIAL_CONTRACTS.at(now):
        choices = WHOLE_TERMS
    return choices[crc32(symbol.encode()) % len(choices)]


def on_terms(instrument: Instrument, now: Instant, *, cents: bool = False) -> Instrument:
    """Return the instrument with the scales, tick, minimum and band that follow from its symbol."""
    scale, tick, qty_scale, minimum = terms_of(instrument.symbol, now, cents=cents)
    return structs.replace(
        instrument,
        price_scale=scale,
        tick=tick,
        qty_scale=qty_scale,
        min_qty=minimum,
        price_low=tick,
        price_high=scale - tick,
    )


def mid_of(symbol: str) -> str:
    """Return a plausible price of a symbol, between 0.20 and 0.80, in whole cents."""
    return f"0.{20 + crc32(symbol.encode()[::-1]) % 61:02d}"


def game_markets(
    game: ScheduledGame, event: Event, leagues: Leagues, now: Instant
) -> Iterator[tuple[Instrument, Facts]]:
    """Yield the markets of a game: each instrument without metadata, and its facts."""
    subjects = leagues.players_of(game.teams) if "props" in game.sets else ()
    players = tuple(Player(subject.display_name, subject.slug) for subject in subjects)
    for template in templates_of(game.league, game.sets, era_of(game.created), players):
        yield _game_market(game, template, event, leagues, now)


def _game_market(
    game: ScheduledGame, template: MarketTemplate, event: Event, leagues: Leagues, now: Instant
) -> tuple[Instrument, Facts]:
    first, second = game.teams
    sides = {"first": PairSide(first.name, first), "second": PairSide(second.name, second)}
    long, short = (sides.get(name) or PairSide(name) for name in template.sides)
    symbol = template.symbol(game.stem, game.short_names)
    facts = Facts(
        question=filled(template.question, {name: side.name for name, side in sides.items()}),
        long=long,
        short=short,
        sports_market_type=template.sports_type,
        line=template.line,
        mid=mid_of(symbol),
        home=game.home,
        away=game.away,
        tournament=leagues.league_by_slug[game.league].name,
        game_start=game.start,
        tags=tuple(event.tags),
        subject=leagues.subject_by_name.get(template.player),
    )
    instrument = _instrument(game, template, event, now)
    named = structs.replace(instrument, symbol=symbol, description=facts.question)
    return on_terms(named, now, cents=template.cents), facts


def _instrument(
    game: ScheduledGame, template: MarketTemplate, event: Event, now: Instant
) -> Instrument:
    """Return an instrument with dates and condition, without symbol and terms."""
    kind = template.sports_type
    sides = dict(zip(("first", "second"), ordered(game.league, "home", "away"), strict=True))
    outcome = _OUTCOMES.get(kind, EventOutcome.INDEPENDENT)
    expiration = game.start + EXPIRES_AFTER
    if game.state in EXPIRED_STATES:
        expiration = min(now, expiration)
    terminated = game.state is InstrumentState.TERMINATED
    return Instrument(
        symbol="",
        product_id=template.product,
        created=game.created,
        start=game.opens,
        expiration=expiration,
        termination=expiration if terminated else expiration + TERMINATES_AFTER,
        opening_state=game.state,
        event=event.slug,
        fee_class=game.fee_class,
        market_type=template.type,
        category="sports",
        subcategory=game.league,
        series=event.series_slug,
        game_condition=GameCondition(
            kind=kind,
            long=sides.get(template.pick, sides["first"]),
            line=template.line or "",
            player=template.player,
            pick=sides.get(template.pick, template.pick),
        ),
        related=related_to(event.slug, kind, outcome, template.line),
    )


def game_event(game: ScheduledGame, leagues: Leagues, number: int) -> Event:
    """Return the event of a game before its start, without its markets."""
    league = leagues.league_by_slug[game.league]
    series = leagues.series_of(league)
    tags = leagues.tags_of("sports", leagues.sport_of(league).slug, league.slug)
    teams = game.teams
    return new_event(
        game.created,
        tags,
        id=number,
        slug=game.stem,
        title=f"{teams[0].name} vs. {teams[1].name}",
        description=f"{league.name}: {teams[0].name} against {teams[1].name}.",
        category="sports",
        subcategory=league.slug,
        series_slug=series.slug if series else "",
        game_id=str(FIRST_GAME + number),
        period="NS",
        participants=[
            EventParticipant(id=str(team.id), name=team.name, team=team) for team in teams
        ],
        teams=list(teams),
        end_date=game.start + EXPIRES_AFTER,
        start_time=game.start,
        event_date=eastern_day(game.start),
        image=league.image,
    )
