"""Events that a scenario adds or changes: their data on the gateway (§2.11).

The state of their games is reported once there is an exchange (`populate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.contract.messages.gateway_v1 import Event
from sim.kernel.instants import Instant
from sim.world.format.world_entries import EventEntry
from sim.world.reference.games import FIRST_GAME
from sim.world.reference.market_pair import eastern_day, new_event
from sim.world.reference.reference import Reference

# keys that only a game can have
FACTS = ("home_score", "away_score", "period", "live", "ended")


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
