"""The default world's events, one for each compact row of `fixtures/world/slate.json`: futures and
event contracts, with a market for each outcome, and games.

The row of a game names two teams, a start and the sets of markets that are listed on it.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sim.contract.messages import gateway_v1 as wire
from sim.core.market_data.assets import PRICE_SCALE
from sim.core.model.collateral import EventOutcome, Related
from sim.core.model.enums import InstrumentState
from sim.core.model.index_conditions import Family, IndexCondition
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import scaled
from sim.kernel.instants import DAY, HOUR, Instant, Span, eastern_date, parse_instant
from sim.world.reference import market_pair
from sim.world.reference.dated_names import begins, dated
from sim.world.reference.games import (
    EXPIRES_AFTER,
    ScheduledGame,
    game_event,
    game_markets,
    mid_of,
    on_terms,
)
from sim.world.reference.index_markets import asset_terms, index_metadata
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import Facts, PairSide, eastern_day, new_event
from sim.world.reference.market_templates import ordered, sets_at
from sim.world.reference.reference import Reference


def add_future(
    row: dict[str, Any], reference: Reference, now: Instant, shift: Span
) -> list[Instrument]:
    """Add an event about who wins a competition, with a market for each contender.

    Futures have no home and away team (§2.6).
    """
    league = reference.league_by_slug[row["league"]]
    sport = reference.sport_of(league)
    event = _event(row, reference, shift, "sports", ("sports", "futures", sport.slug, league.slug))
    event.subcategory = league.slug
    outcomes = {}
    for name in row["teams"]:
        team = reference.team(league.slug, name)
        mid = f"0.{4 + len(name) * 3 + len(team.name) % 9:02d}"
        facts = _facts(event, PairSide(team.name, team), mid)
        outcomes[name.lower()] = replace(
            facts, sports_market_type="futures", tournament=league.name
        )
    return _add_markets(row, event, reference, now, outcomes)


def add_topic(
    row: dict[str, Any], reference: Reference, now: Instant, shift: Span
) -> list[Instrument]:
    """Add an event contract: economics, politics, crypto, weather."""
    event = _event(row, reference, shift, row["category"], tuple(row["tags"]))
    event.series_slug = dated(row["series"], begins(shift))
    outcomes = {tail: _facts(event, PairSide(name), mid) for tail, name, mid in row["outcomes"]}
    return _add_markets(row, event, reference, now, outcomes)


def _facts(event: wire.Event, long: PairSide, mid: str) -> Facts:
    """Return the facts of the market of an outcome; `mid` is its price in dollars or ""."""
    question = f"{event.title}: {long.name}?"
    return Facts(
        question=question, long=long, short=PairSide("No"), mid=mid, tags=tuple(event.tags)
    )


def _event(
    row: dict[str, Any], reference: Reference, shift: Span, category: str, tags: tuple[str, ...]
) -> wire.Event:
    created = parse_instant(row["created"]) + 12 * HOUR + shift
    end = parse_instant(row["end"]) + shift
    about = eastern_date(parse_instant(row["about"]) + 12 * HOUR + shift if "about" in row else end)
    title = dated(row["title"], about)
    tag_ids = reference.tags_of(*tags)
    event = new_event(
        created,
        tag_ids,
        id=reference.next_event_id(),
        slug=dated(row["slug"], about),
        title=title,
        description=f"{title}. Resolves from official sources.",
        category=category,
        start_time=end,  # the instant of the event in question
        end_date=end,
        event_date=market_pair.eastern_day(end),
        featured=row.get("quoted", False),
    )
    event.primary_tag = tag_ids[0] if tag_ids else None
    reference.add_event(event)
    return event


def _add_markets(
    row: dict[str, Any],
    event: wire.Event,
    reference: Reference,
    now: Instant,
    outcomes: dict[str, Facts],
) -> list[Instrument]:
    """Add a market for each outcome of an event, by the end of its symbol."""
    created, end = event.created_at or 0, event.end_date or 0
    ladder = EventOutcome.DIRECTIONAL if row.get("ladder") else EventOutcome.MUTUALLY_EXCLUSIVE
    market_type = row.get("market_type", "futures")
    instruments = []
    for rank, (tail, facts) in enumerate(outcomes.items()):
        symbol = f"{row['product']}-{event.slug}-{tail}"
        facts = replace(facts, mid=facts.mid or mid_of(symbol))
        instrument = Instrument(
            symbol=symbol,
            description=facts.question,
            product_id=row["product"],
            created=created,
            start=created,
            expiration=end,
            termination=end + 7 * DAY,
            event=event.slug,
            market_type=market_type,
            category=event.category,
            subcategory=event.subcategory,
            series=event.series_slug,
            related=Related(f"{event.slug}/{market_type}", ladder, rank),
        )
        if "asset" in row:
            instrument, facts = _on_index(instrument, facts, row, rank)
        instruments.append(reference.list_market(on_terms(instrument, now), facts, event, now))
    return instruments


def _on_index(
    instrument: Instrument, facts: Facts, row: dict[str, Any], rank: int
) -> tuple[Instrument, Facts]:
    """Return a market on an asset's index, which pays by the index at its expiration."""
    levels, family = _levels(row, rank), Family(row["family"])
    condition = IndexCondition(
        asset=row["asset"],
        family=family,
        begins=instrument.created if family is Family.HIT else 0,
        ends=instrument.expiration,
        strike=levels.get("strike", 0),
        lower=levels.get("lower", 0),
        upper=levels.get("upper", 0),
    )
    on_index = replace(instrument, index_condition=condition)
    metadata = index_metadata(on_index, row["horizon"])
    terms = asset_terms(condition, row["horizon"])
    return replace(on_index, metadata=metadata), replace(facts, asset=terms)


def _levels(row: dict[str, Any], rank: int) -> dict[str, int]:
    """Return the levels of a market: a strike, or the bounds of a range."""
    level = row["levels"][rank]
    bounds = ("strike",) if isinstance(level, str) else ("lower", "upper")
    named = zip(bounds, [level] if isinstance(level, str) else level, strict=True)
    return {name: scaled(bound, PRICE_SCALE) for name, bound in named if bound}


def game_of(row: dict[str, Any], leagues: Leagues, now: Instant, shift: Span) -> ScheduledGame:
    """Return a row as a game, `shift` later than in the row."""
    league, start = row["league"], parse_instant(row["start"]) + shift
    home, away = leagues.team(league, row["home"]), leagues.team(league, row["away"])
    first, second = (team.abbreviation for team in ordered(league, home, away))
    created = parse_instant(row["created"]) + 12 * HOUR + shift
    state = InstrumentState[row["state"]] if "state" in row else None
    return ScheduledGame(
        league=league,
        home=home,
        away=away,
        stem=f"{league}-{first}-{second}-{eastern_day(start)}",
        start=start,
        created=created,
        opens=start - 2 * DAY if state is InstrumentState.PENDING else created,
        sets=sets_at(tuple(row["sets"]), now),
        fee_class=row.get("fee_class", "standard"),
        state=state,
    )


def add_game(
    row: dict[str, Any], reference: Reference, now: Instant, shift: Span
) -> list[Instrument]:
    """Add a game's event and markets to the reference data and return its instruments."""
    game = game_of(row, reference, now, shift)
    event = game_event(game, reference, reference.next_event_id())
    event.ended = event.closed = row.get("ended", False)
    event.active = not event.ended
    event.live = "live" in row and game.start < now < game.start + EXPIRES_AFTER
    event.period = row["live"] if event.live else "FT" if event.ended else "NS"
    event.featured = row.get("quoted", False)
    if (score := row.get("score")) and (event.live or event.ended):
        event.score = {"home": score[0], "away": score[1]}
    reference.add_event(event)
    pairs = game_markets(game, event, reference, now)
    return [reference.list_market(terms, facts, event, now) for terms, facts in pairs]
