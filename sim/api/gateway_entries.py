"""Events and markets as lists look at them: what never changes of each at hand, what trading changes only where something has happened.

An event of the season (`scenario/season.py`) is looked at without making its markets: its dates say how it stands until somebody touches it. Indexes by number,
slug, league, day and team say which events of the season a request can mean at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from sim.api.gateway_calm import calm, calm_event
from sim.api.gateway_lists import PAGE_DEFAULT, check_page
from sim.api.gateway_views import ACTIVE, CLOSED, event_view, moved, season_moved, season_state, table
from sim.core.exchange import Exchange
from sim.messages import gateway_v1 as wire

if TYPE_CHECKING:
    from sim.scenario.reference import Reference
    from sim.scenario.season import Kind, Season

T = TypeVar("T")


class Entry(NamedTuple):
    """An event in a list. `number` is its place in the season, None for one listed by itself."""

    event: wire.Event
    number: int | None = None


class Wanted(NamedTuple):
    """What a request says that an index of the season can answer: None asks for nothing, an empty collection for what no event has.

    `places` are such an answer already, ascending; `numbers` are the events' own.
    """

    places: Sequence[int] | None = None
    numbers: Collection[int] | None = None
    slugs: Collection[str] | None = None
    leagues: Collection[str] | None = None
    day: str = ""
    team: int = 0


ANY = Wanted()


def entries(exchange: Exchange, wanted: Wanted = ANY) -> Iterator[Entry]:
    """Events in order of listing; of those of the season only such as can be wanted."""
    reference = exchange.reference
    season = reference.season
    yield from map(Entry, reference.events[: reference.base])
    if season is not None:
        for number in numbers(season, wanted):
            yield Entry(reference.grown.get(number) or season.bare(number), number)
    if reference.windows is not None:
        yield from map(Entry, map(reference.windows.event, exchange.windows.shown()))
    yield from map(Entry, reference.events[reference.base :])


def kinds(exchange: Exchange, entry: Entry) -> Sequence[wire.Market | Kind]:
    """The markets of an entry, or what is known of them unmade."""
    season = exchange.reference.season
    if entry.number is None or season is None or entry.number in exchange.reference.grown:
        return entry.event.markets
    return season.kinds(entry.number)


def numbers(season: Season, wanted: Wanted) -> Iterable[int]:
    """Places of the events that the narrowest index leaves, ascending."""
    if wanted.places is not None:
        return wanted.places
    if wanted.numbers is not None:
        return sorted(number for number in map(season.numbered, dict.fromkeys(wanted.numbers)) if number is not None)
    if wanted.slugs is not None:
        return sorted(number for number in map(season.number, dict.fromkeys(wanted.slugs)) if number is not None)
    found: list[Sequence[int]] = []
    if wanted.day:
        found.append(season.index.by_day.get(wanted.day, ()))
    if wanted.team:
        found.append(season.index.by_team.get(wanted.team, ()))
    if wanted.leagues is not None:
        lists = [season.index.by_league[league] for league in dict.fromkeys(wanted.leagues) if league in season.index.by_league]
        found.append(lists[0] if len(lists) == 1 else sorted(number for league in lists for number in league))
    narrowest: Sequence[int] = range(season.games)
    for places in found:
        narrowest = places if len(places) < len(narrowest) else narrowest
    return narrowest


class Standings:
    """How events stand, for the length of one request: which of the season something has happened to is looked up once."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._season = season = exchange.reference.season
        self._moved = moved(exchange)
        if season is not None:
            self._moved.update(season.playing(exchange.now))
        self._known: dict[int, wire.Event] = {} if season is None else table(exchange, season, "events")

    def of(self, entry: Entry) -> wire.Event:
        """An event with its markets where somebody traded in them, else with what its dates and its game say and no markets."""
        season, number = self._season, entry.number
        if number is None or season is None:
            return event_view(self._exchange, shown(self._exchange, entry))
        if number in self._moved:
            how = calm(self._exchange, season, number)
            return event_view(self._exchange, shown(self._exchange, entry)) if how is None else calm_event(self._exchange, season, number, how)
        found = self._known.get(number)
        if found is None:
            state = season_state(self._exchange, season, number)
            found = season.standing(number, active=state in ACTIVE, closed=state in CLOSED)
            changed = season_moved(self._exchange, season, number, state)
            if changed > (found.updated_at or 0):
                found = replace(found, updated_at=changed)
            self._known[number] = found
        return found


def shown(exchange: Exchange, entry: Entry) -> wire.Event:
    """The event of an entry with its markets, as reference data."""
    return entry.event if entry.number is None else exchange.reference.of_season(entry.number)


def views(exchange: Exchange, found: Iterable[Entry]) -> list[wire.Event]:
    """Events as they are now, with their markets."""
    return [event_view(exchange, shown(exchange, entry)) for entry in found]


def leagues_of(reference: Reference, *, tags: Collection[str] = (), tag_ids: Collection[int] = (), series_ids: Collection[int] = ()) -> list[str] | None:
    """Leagues whose games carry one of the tags, by slug or number, or belong to one of the series; None when neither is asked for."""
    if not tags and not tag_ids and not series_ids:
        return None
    found = []
    for league in reference.leagues:
        sport = reference.sport_of(league)
        slugs, numbers = {"sports", sport.slug, league.slug}, {league.tag_id, sport.tag_id, *(int(tag.id) for tag in reference.tags_of("sports"))}
        if not slugs.isdisjoint(tags) or not numbers.isdisjoint(tag_ids) or league.active_series_id in series_ids:
            found.append(league.slug)
    return found


def tag_ids(tags: Iterable[wire.Tag], *, related: bool) -> set[int]:
    """Numbers of tags; `related`: of those above them too, so that what carries a tag is found by the tag above it."""
    return {int(tag.id) for tag in tags} | ({tag.parent_id for tag in tags} if related else set())


def cut(found: Iterable[T], limit: int, offset: int, default: int = PAGE_DEFAULT) -> list[T]:
    """The rows of a page; nothing after it is looked at."""
    size = check_page(limit, offset) or default
    page = []
    for place, row in enumerate(found):
        if place >= offset + size:
            break
        if place >= offset:
            page.append(row)
    return page
