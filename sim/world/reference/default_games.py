"""The default world's games, one for each compact row of `fixtures/world/slate.json`.

A row names two teams, a start and the sets of markets that are listed on the game.
"""

from __future__ import annotations

from typing import Any

from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.kernel.instants import DAY, HOUR, Instant, Span, parse_instant
from sim.world.reference.games import EXPIRES_AFTER, ScheduledGame, game_event, game_markets
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import eastern_day
from sim.world.reference.market_templates import ordered
from sim.world.reference.reference import Reference


def game_of(row: dict[str, Any], leagues: Leagues, shift: Span) -> ScheduledGame:
    """Return a row as a game, `shift` later than in the row."""
    league, start = row["league"], parse_instant(row["start"]) + shift
    home, away = leagues.team(league, row["home"]), leagues.team(league, row["away"])
    first, second = (team.abbreviation.lower() for team in ordered(league, home, away))
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
        sets=tuple(row["sets"]),
        fee_class=row.get("fee_class", "standard"),
        state=state,
    )


def add_game(
    row: dict[str, Any], reference: Reference, now: Instant, shift: Span
) -> list[Instrument]:
    """Add a game's event and markets to the reference data and return its instruments."""
    game = game_of(row, reference, shift)
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
