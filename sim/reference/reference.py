"""The gateway's reference data as the contract's own messages: sports, leagues, series, tags,
teams, and the events and markets the world adds.

Rows of `fixtures/world/leagues.json` and `teams.json` are fields of the messages and are refused
when they are not; what follows from a row (icons, safe names, tags of leagues) is filled in here,
so that a row says each thing once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sim.kernel import resources
from sim.kernel.instants import Instant, parse_instant
from sim.messages import Message
from sim.messages.gateway_v1 import (
    Event,
    ImageDisplayType,
    League,
    Market,
    Provider,
    ResolvedColor,
    Series,
    Sport,
    Subject,
    Tag,
    Team,
    TeamProvider,
)

if TYPE_CHECKING:
    from sim.reference.recurring_markets import Recurring
    from sim.reference.season import Season

M = TypeVar("M", bound=Message)

LISTED: Instant = parse_instant("2026-01-15T12:00:00-05:00")
ASSETS = "https://static.sandbox.test"
# sports whose teams are persons
_SOLO = frozenset(("tennis", "mma", "table-tennis", "boxing", "darts", "golf"))


class Reference:
    """Reference data with its indexes. Lists are in order of listing; events hold the very market
    objects of `markets`.

    `events` and `markets` are those listed one by one, of which the first `base` and `base_markets`
    are the world's beginning; `season` has the rest of that beginning and makes it when asked.
    `windows` has those that come and go with the clock; it makes them whether they are listed or
    not.
    """

    def __init__(self, *, empty: bool = False) -> None:
        self.season: Season | None = None
        self.windows: Recurring | None = None
        self.base = self.base_markets = 0
        self.grown: dict[int, Event] = {}
        rows = fixture("leagues.json")
        teams = fixture("teams.json")
        self.sports = messages(rows["sports"], Sport)
        self.leagues = messages(rows["leagues"], League)
        self.series = messages(rows["series"], Series)
        self.teams = [] if empty else messages(teams["teams"], Team)
        self.subjects = [] if empty else messages(teams["subjects"], Subject)
        self.tags: list[Tag] = []
        self.events: list[Event] = []
        self.markets: list[Market] = []
        self._complete(messages(rows["topics"], Tag))
        self.sport_by_id = {sport.id: sport for sport in self.sports}
        self.league_by_slug = {league.slug: league for league in self.leagues}
        self.tag_by_slug = {tag.slug: tag for tag in self.tags}
        self._series_by_id = {series.id: series for series in self.series}
        self.series_by_slug = {series.slug: series for series in self.series}
        self.team_by_name = {(team.league, team.abbreviation): team for team in self.teams}
        self.subject_by_name = {subject.display_name: subject for subject in self.subjects}
        self.event_by_slug: dict[str, Event] = {}
        self.event_by_id: dict[int, Event] = {}
        self.market_by_slug: dict[str, Market] = {}
        self.market_by_id: dict[str, Market] = {}
        # (partner's key, its id of the event) → slug
        self.partner_events: dict[tuple[str, str], str] = {}
        self._event_of_market: dict[str, Event] = {}

    def fork(self) -> Reference:
        """Reference data that starts as this and grows by itself: lists and indexes are its own,
        the messages in them are shared until an event grows.
        """
        made = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict):
                setattr(made, name, value.copy())
        return made

    def begin(self) -> None:
        """What is listed so far is the world's beginning."""
        self.base, self.base_markets = len(self.events), len(self.markets)

    def market(self, slug: str) -> Market | None:
        """The market of an instrument, or None."""
        found = self.market_by_slug.get(slug) or (
            self.season.market(slug) if self.season is not None else None
        )
        return self.windows.market(slug) if found is None and self.windows is not None else found

    def market_numbered(self, number: int) -> Market | None:
        """A market by its number, or None."""
        found = self.market_by_id.get(str(number)) or (
            self.season.market_numbered(number) if self.season is not None else None
        )
        if found is None and self.windows is not None:
            event = self.windows.numbered(number)
            return None if event is None else event.markets[0]
        return found

    def event_of(self, slug: str) -> Event | None:
        """The event of a market, or None."""
        event = self._event_of_market.get(slug)
        if event is not None:
            return event
        number = self.season.event_of(slug) if self.season is not None else None
        if number is not None and self.season is not None and self.season.market(slug) is not None:
            return self.of_season(number)
        return self.windows.event_of(slug) if self.windows is not None else None

    def event_named(self, slug: str) -> Event | None:
        """An event by slug, or None."""
        number = self.season.number(slug) if self.season is not None else None
        if number is not None:
            return self.of_season(number)
        found = self.event_by_slug.get(slug)
        return (
            self.windows.event_named(slug) if found is None and self.windows is not None else found
        )

    def event_numbered(self, number: int) -> Event | None:
        """An event by its number, or None."""
        place = self.season.numbered(number) if self.season is not None else None
        if place is not None:
            return self.of_season(place)
        found = self.event_by_id.get(number)
        return (
            self.windows.numbered(number) if found is None and self.windows is not None else found
        )

    def event_called(self, name: str) -> Event | None:
        """An event by slug or number, or None."""
        found = self.event_named(name)
        return (
            self.event_numbered(int(name))
            if found is None and name.isascii() and name.isdecimal() and len(name) < 18
            else found
        )

    def holds(self, event: Event, words: list[str]) -> bool:
        """Whether every word, in lower case, occurs in the texts of an event or of its markets."""
        whole = "\n".join(
            (
                *texts_of(event),
                *(text for market in event.markets for text in (market.question, market.slug)),
            )
        ).lower()
        return all(word in whole for word in words)

    def of_season(self, number: int) -> Event:
        """An event of the season, with what was added to it by hand."""
        if self.season is None:
            raise LookupError("there is no season")
        return self.grown.get(number) or self.season.event(number)

    def sport_of(self, league: League) -> Sport:
        """The sport of a league."""
        return self.sport_by_id[league.sport_id]

    def series_of(self, league: League) -> Series | None:
        """The series a league is in now, or None."""
        return self._series_by_id.get(str(league.active_series_id))

    def team(self, league: str, name: str) -> Team:
        """A team by abbreviation; `epl:LIV` names one of another league. KeyError when there is
        none.
        """
        other, colon, abbreviation = name.partition(":")
        return self.team_by_name[(other, abbreviation) if colon else (league, name)]

    def tags_of(self, *slugs: str) -> list[Tag]:
        """Tags by slug; slugs without a tag are passed over."""
        return [self.tag_by_slug[slug] for slug in slugs if slug in self.tag_by_slug]

    def add_series(self, series: Series) -> None:
        """One more series."""
        self.series.append(series)
        self._series_by_id[series.id] = self.series_by_slug[series.slug] = series

    def next_event_id(self) -> int:
        """A number for one more event."""
        return 20_001 + len(self.events)

    def next_market_id(self) -> int:
        """A number for one more market."""
        return 500_001 + len(self.markets)

    def add_event(self, event: Event) -> None:
        """One more event."""
        self.events.append(event)
        self.event_by_slug[event.slug] = event
        self.event_by_id[event.id] = event

    def is_told(self, slug: str) -> bool:
        """Whether an event is a game that came after the default world's own."""
        found = self.event_by_slug.get(slug)
        return (
            found is not None
            and bool(found.game_id)
            and any(event.slug == slug for event in self.events[self.base :])
        )

    def owned(self, event: Event) -> Event:
        """An event of these lists alone, so that one more market on it is seen by nobody else who
        shares the default world.
        """
        mine = msgspec.structs.replace(event, markets=list(event.markets))
        number = self.season.number(event.slug) if self.season is not None else None
        if number is None:
            self.events[self.events.index(event)] = mine
            self.event_by_slug[mine.slug] = self.event_by_id[mine.id] = mine
        else:
            self.grown[number] = mine
        self._event_of_market.update((market.slug, mine) for market in mine.markets)
        return mine

    def add_market(self, market: Market, event: Event) -> None:
        """One more market of an event."""
        self.markets.append(market)
        self.market_by_slug[market.slug] = market
        self.market_by_id[market.id] = market
        self._event_of_market[market.slug] = event
        event.markets.append(market)

    def _complete(self, topics: list[Tag]) -> None:
        sports_tag = next(tag for tag in topics if tag.slug == "sports")
        for tag in topics:
            tag.created_at = tag.updated_at = LISTED
            tag.image = f"{ASSETS}/tags/{tag.slug}.png"
            tag.subtags = [other for other in topics if other.parent_id == int(tag.id)]
        by_sport: dict[int, Tag] = {}
        for sport in self.sports:
            sport.created_at = LISTED
            sport.image = f"{ASSETS}/sports/{sport.slug}.png"
            sport.default_jersey_image = f"{ASSETS}/sports/{sport.slug}-jersey.png"
            tag = Tag(
                id=str(sport.tag_id),
                label=sport.name,
                slug=sport.slug,
                parent_id=int(sports_tag.id),
                sport=sport,
            )
            by_sport[sport.id] = _listed(tag, sport.image)
        leagues = [self._league_tag(league, by_sport[league.sport_id]) for league in self.leagues]
        for series in self.series:
            series.created_at = series.updated_at = LISTED
            series.image = f"{ASSETS}/series/{series.slug}.png"
        for team in self.teams:
            self._complete_team(team)
        for subject in self.subjects:
            subject.created_at = subject.updated_at = LISTED
            subject.image = f"{ASSETS}/players/{subject.slug}.png"
            subject.color, subject.dark_color = "#1F2937", "#E5E7EB"
        self.tags = [*topics, *by_sport.values(), *leagues]

    def _league_tag(self, league: League, parent: Tag) -> Tag:
        league.created_at = LISTED
        league.image = f"{ASSETS}/leagues/{league.slug}.png"
        league.resolution = f"https://official.sandbox.test/{league.slug}"
        embedded = msgspec.structs.replace(league, automatic_resolution=league.is_operational)
        tag = Tag(
            id=str(league.tag_id),
            label=league.abbreviation,
            slug=league.slug,
            parent_id=int(parent.id),
            league=embedded,
        )
        return _listed(tag, league.image)

    def _complete_team(self, team: Team) -> None:
        league = next(league for league in self.leagues if league.slug == team.league)
        sport = next(sport for sport in self.sports if sport.id == league.sport_id)
        solo = sport.slug in _SOLO
        stem = f"{ASSETS}/teams/{team.league}/{team.abbreviation.lower()}"
        team.safe_name = (
            team.name.lower().replace(" & ", "-and-").replace(".", "").replace(" ", "-")
        )
        team.display_abbreviation = team.abbreviation
        team.logo, team.home_icon, team.away_icon = (
            f"{stem}.png",
            f"{stem}-home.png",
            f"{stem}-away.png",
        )
        team.long_icon, team.short_icon = f"{stem}-long.png", f"{stem}-short.png"
        team.long_icon_dark, team.short_icon_dark = (
            f"{stem}-long-dark.png",
            f"{stem}-short-dark.png",
        )
        team.color = ResolvedColor(light=team.color_primary, dark=team.color_primary)
        team.ordering = league.ordering
        team.provider_id = 40_000 + team.id
        team.provider_ids = [
            TeamProvider(
                provider=Provider.PROVIDER_SPORTRADAR,
                provider_id=f"sr:competitor:{40_000 + team.id}",
            ),
            TeamProvider(provider=Provider.PROVIDER_SPORTSDATAIO, provider_id=str(7_000 + team.id)),
        ]
        team.image_display_type = (
            ImageDisplayType.IMAGE_DISPLAY_TYPE_HEADSHOT
            if solo
            else ImageDisplayType.IMAGE_DISPLAY_TYPE_LOGO
        )


def texts_of(event: Event) -> Iterator[str]:
    """What a search looks at in an event, its markets apart."""
    yield from (
        event.title,
        event.slug,
        event.subtitle,
        event.description,
        event.category,
        event.subcategory,
    )
    for team in event.teams:
        yield team.name
        yield team.abbreviation


def _listed(tag: Tag, image: str) -> Tag:
    tag.created_at = tag.updated_at = LISTED
    tag.image = image
    tag.tradable = True
    return tag


def fixture(name: str) -> Any:
    """Content of a JSON file of `fixtures/world`."""
    return msgspec.json.decode(resources.path("fixtures", f"world/{name}").read_bytes())


def messages(rows: list[dict[str, Any]], kind: type[M]) -> list[M]:
    """Rows as messages of the contract. ValueError for a row with a field the message has not."""
    known = frozenset(kind.__struct_fields__)
    for row in rows:
        if not known.issuperset(row):
            raise ValueError(
                f"{kind.__name__} has no field {sorted(known.symmetric_difference(row) - known)}"
            )
    return msgspec.convert(rows, list[kind])  # type: ignore[valid-type]
