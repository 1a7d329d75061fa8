"""The default world's games, spread out from the compact rows of `fixtures/world/slate.json`.

A game row names two teams, a start and sets of markets (`slots.py`); this module knows which terms
those trade on. Terms follow from the symbol: two markets of one product and type may have other
ticks and scales (§2.6).
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from msgspec import structs

from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import GameCondition, Instrument
from sim.kernel.instants import DAY, HOUR, Instant, Span, parse_instant
from sim.messages.gateway_v1 import Event, EventParticipant
from sim.reference.market_layout import Game, Slot, ordered, slots_of
from sim.reference.market_pair import Facts, eastern_day, market_of, with_metadata
from sim.reference.reference import Reference
from sim.scenario.instrument_terms import related_to

# (price scale, tick, quantity scale, minimum): cent, half-cent and quarter-cent ticks, whole and
# fractional contracts.
TERMS = (
    (100, 1, 1, 1),
    (1000, 5, 100, 1),
    (10_000, 25, 100, 1),
    (100, 1, 100, 1),
    (1000, 5, 1, 1),
    (100, 1, 1000, 10),
    (400, 1, 1000, 1),
)
CENT_TERMS = ((100, 1, 1, 1), (100, 1, 100, 1))
PLAYED_FOR = 6 * HOUR  # from the start of a game to the expiration of its markets
FIRST_GAME = 880_000  # the number of a game less that of its event

_OUTCOMES = {
    "drawable_outcome": EventOutcome.MUTUALLY_EXCLUSIVE,
    "soccer_game_first_half_first_team_to_score": EventOutcome.MUTUALLY_EXCLUSIVE,
    "soccer_game_second_half_first_team_to_score": EventOutcome.MUTUALLY_EXCLUSIVE,
    "totals": EventOutcome.DIRECTIONAL,
    "basketball_team_full_game_total": EventOutcome.DIRECTIONAL,
}


def terms_of(symbol: str, *, cents: bool = False) -> tuple[int, int, int, int]:
    """Price scale, tick, quantity scale and minimum quantity that a symbol's spelling leads to."""
    choices = CENT_TERMS if cents else TERMS
    return choices[crc32(symbol.encode()) % len(choices)]


def on_terms(instrument: Instrument, *, cents: bool = False) -> Instrument:
    """The instrument with its scales, tick, minimum and band, which follow from the spelling of its
    symbol alone.
    """
    scale, tick, qty_scale, minimum = terms_of(instrument.symbol, cents=cents)
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
    """A believable price of a symbol, between 0.20 and 0.80, in whole cents."""
    return f"0.{20 + crc32(symbol.encode()[::-1]) % 61:02d}"


def game_of(row: dict[str, Any], reference: Reference, shift: Span) -> Game:
    """A row as a game, `shift` later than the row says. Symbols keep the row's date."""
    league = row["league"]
    home, away = reference.team(league, row["home"]), reference.team(league, row["away"])
    first, second = ordered(league, home, away)
    start = parse_instant(row["start"])
    state = InstrumentState[row["state"]] if "state" in row else None
    return Game(
        league=league,
        home=home,
        away=away,
        first=first,
        second=second,
        stem=f"{league}-{first.abbreviation.lower()}-{second.abbreviation.lower()}-{eastern_day(start)}",
        start=start + shift,
        created=parse_instant(row["created"]) + 12 * HOUR + shift,
        sets=tuple(row["sets"]),
        fee_class=row.get("fee_class", "standard"),
        state=state,
        opens=start + shift - 2 * DAY if state is InstrumentState.PENDING else None,
    )


def add_game(
    row: dict[str, Any], reference: Reference, now: Instant, shift: Span
) -> list[Instrument]:
    """Add a game's event and markets to the reference data; its instruments."""
    game = game_of(row, reference, shift)
    event = game_event(game, reference, reference.next_event_id())
    event.ended = event.closed = row.get("ended", False)
    event.active = not event.ended
    event.live = "live" in row and game.start < now < game.start + PLAYED_FOR
    event.period = row["live"] if event.live else "FT" if event.ended else "NS"
    event.featured = row.get("quoted", False)
    if (score := row.get("score")) and (event.live or event.ended):
        event.score = {"home": score[0], "away": score[1]}
    reference.add_event(event)
    found = []
    for slot in slots_of(game, reference.subjects):
        terms, facts = game_market(game, slot, event, reference, now)
        instrument = with_metadata(terms, facts, event)
        reference.add_market(market_of(reference.next_market_id(), instrument, facts, now), event)
        found.append(instrument)
    return found


def game_market(
    game: Game, slot: Slot, event: Event, reference: Reference, now: Instant
) -> tuple[Instrument, Facts]:
    """One market of a game: its instrument, metadata apart, and what the gateway says of it."""
    symbol = f"{slot.product}-{game.stem}{slot.tail}"
    facts = Facts(
        question=slot.question,
        long=slot.long,
        short=slot.short,
        sports_market_type=slot.sports_type,
        line=slot.line,
        mid=mid_of(symbol),
        home=game.home,
        away=game.away,
        tournament=reference.league_by_slug[game.league].name,
        game_start=game.start,
        tags=tuple(event.tags),
        subject=reference.subject_by_name.get(slot.subject),
    )
    gone = game.state in (InstrumentState.EXPIRED, InstrumentState.TERMINATED)
    expiration = min(now, game.start + PLAYED_FOR) if gone else game.start + PLAYED_FOR
    instrument = Instrument(
        symbol=symbol,
        description=slot.question,
        product_id=slot.product,
        created=game.created,
        start=game.created if game.opens is None else game.opens,
        expiration=expiration,
        termination=(
            expiration if game.state is InstrumentState.TERMINATED else expiration + 7 * DAY
        ),
        opening_state=game.state,
        event=event.slug,
        fee_class=game.fee_class,
        market_type=slot.market_type,
        category="sports",
        subcategory=game.league,
        series=event.series_slug,
        game_condition=GameCondition(
            kind=slot.sports_type,
            long=slot.pick if slot.pick in ("home", "away") else game.side_of(game.first),
            line=slot.line or "",
            player=slot.subject,
            pick=slot.pick,
        ),
        related=related_to(
            event.slug,
            slot.sports_type,
            _OUTCOMES.get(slot.sports_type, EventOutcome.INDEPENDENT),
            slot.line,
        ),
    )
    return on_terms(instrument, cents=slot.cents), facts


def title_of(first: str, second: str) -> str:
    """The title of a game between teams of these names."""
    return f"{first} vs. {second}"


def game_event(game: Game, reference: Reference, number: int) -> Event:
    """The event of a game that has not begun, without its markets."""
    league = reference.league_by_slug[game.league]
    series = reference.series_of(league)
    tags = reference.tags_of("sports", reference.sport_of(league).slug, league.slug)
    return Event(
        id=number,
        slug=game.stem,
        title=title_of(game.first.name, game.second.name),
        description=f"{league.name}: {game.first.name} against {game.second.name}.",
        category="sports",
        subcategory=league.slug,
        series_slug=series.slug if series else "",
        active=True,
        game_id=str(FIRST_GAME + number),
        period="NS",
        participants=[
            EventParticipant(id=str(team.id), name=team.name, team=team)
            for team in (game.first, game.second)
        ],
        teams=[game.first, game.second],
        start_date=game.created,
        end_date=game.start + PLAYED_FOR,
        start_time=game.start,
        creation_date=game.created,
        created_at=game.created,
        updated_at=game.created,
        event_date=eastern_day(game.start),
        image=league.image,
        tags=tags,
        primary_tag=tags[-1] if tags else None,
    )
