"""Sports, leagues, teams, players, series and tags: reference data that games do not change.

Rows of `fixtures/world/leagues.json` and `teams.json` are fields of the contract's messages and are
refused otherwise. Values that follow from a row (icons, safe names, tags of leagues) are added
here. Events and markets are in `reference.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from sim.contract.messages import Message
from sim.contract.messages import gateway_v1 as wire
from sim.contract.messages.gateway_v1 import League, Series, Sport, Subject, Tag, Team
from sim.kernel import resources
from sim.kernel.instants import Instant, Span, parse_instant
from sim.world.reference.dated_names import begins, dated

M = TypeVar("M", bound=Message)

LISTED: Instant = parse_instant("2026-01-15T12:00:00-05:00")
ASSETS = "https://static.sandbox.test"
# sports whose teams are persons
_SOLO = frozenset(("tennis", "mma", "table-tennis", "boxing", "darts", "golf"))


class Leagues:
    """Sports, leagues, teams, players, series and tags, in order of listing and by name."""

    def __init__(self, *, empty: bool = False, shift: Span = 0) -> None:
        """`empty` leaves out teams and players, for a world without games. `shift` is the time by
        which the world begins later than its rows; the seasons follow it.
        """
        rows = fixture("leagues.json")
        teams = fixture("teams.json")
        self.sports = messages(rows["sports"], Sport)
        self.leagues = messages(rows["leagues"], League)
        self.series = messages(rows["series"], Series)
        for series in self.series:
            series.slug = dated(series.slug, begins(shift))
            series.title = dated(series.title, begins(shift))
        self.teams = [] if empty else messages(teams["teams"], Team)
        self.subjects = [] if empty else messages(teams["subjects"], Subject)
        self.tags: list[Tag] = []
        self._complete(messages(rows["topics"], Tag))
        self.sport_by_id = {sport.id: sport for sport in self.sports}
        self.league_by_slug = {league.slug: league for league in self.leagues}
        self.tag_by_slug = {tag.slug: tag for tag in self.tags}
        self._series_by_id = {series.id: series for series in self.series}
        self.series_by_slug = {series.slug: series for series in self.series}
        self.team_by_name = {(team.league, team.display_abbreviation): team for team in self.teams}
        self.subject_by_name = {subject.display_name: subject for subject in self.subjects}

    def sport_of(self, league: League) -> Sport:
        """Return the sport of a league."""
        return self.sport_by_id[league.sport_id]

    def series_of(self, league: League) -> Series | None:
        """Return the present series of a league, or None."""
        return self._series_by_id.get(str(league.active_series_id))

    def team(self, league: str, name: str) -> Team:
        """Return a team by abbreviation, or raise KeyError. `epl:LIV` names another league's."""
        other, colon, abbreviation = name.partition(":")
        return self.team_by_name[(other, abbreviation) if colon else (league, name)]

    def players_of(self, teams: Iterable[Team]) -> list[Subject]:
        """Return the players of some teams with markets."""
        names = {f"{team.league}:{team.display_abbreviation}" for team in teams}
        return [subject for subject in self.subjects if subject.description in names]

    def tags_of(self, *slugs: str) -> list[Tag]:
        """Return tags by slug; slugs without a tag are skipped."""
        return [self.tag_by_slug[slug] for slug in slugs if slug in self.tag_by_slug]

    def add_series(self, series: Series) -> None:
        """Add one more series."""
        self.series.append(series)
        self._series_by_id[series.id] = self.series_by_slug[series.slug] = series

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
            tag = by_sport[sport.id] = _tag(sport.tag_id, sport.name, sport, sports_tag)
            tag.sport = sport
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
        tag = _tag(league.tag_id, league.abbreviation, league, parent)
        tag.league = msgspec.structs.replace(league, automatic_resolution=league.is_operational)
        return tag

    def _complete_team(self, team: Team) -> None:
        league = next(league for league in self.leagues if league.slug == team.league)
        sport = next(sport for sport in self.sports if sport.id == league.sport_id)
        stem = f"{ASSETS}/teams/{team.league}/{team.abbreviation.lower()}"
        spelled = team.name.lower().replace(" & ", "-and-").replace(".", "")
        team.safe_name = spelled.replace(" ", "-")
        team.display_abbreviation = team.abbreviation
        team.abbreviation = team.abbreviation.lower()
        team.logo = f"{stem}.png"
        team.home_icon, team.away_icon = f"{stem}-home.png", f"{stem}-away.png"
        team.long_icon, team.short_icon = f"{stem}-long.png", f"{stem}-short.png"
        team.long_icon_dark = f"{stem}-long-dark.png"
        team.short_icon_dark = f"{stem}-short-dark.png"
        team.color = wire.ResolvedColor(light=team.color_primary, dark=team.color_primary)
        team.ordering = league.ordering
        team.provider_id = 40_000 + team.id
        vendors = (
            (wire.Provider.PROVIDER_SPORTRADAR, f"sr:competitor:{team.provider_id}"),
            (wire.Provider.PROVIDER_SPORTSDATAIO, str(7_000 + team.id)),
        )
        team.provider_ids = [
            wire.TeamProvider(provider=vendor, provider_id=name) for vendor, name in vendors
        ]
        kinds = wire.ImageDisplayType
        headshot, logo = kinds.IMAGE_DISPLAY_TYPE_HEADSHOT, kinds.IMAGE_DISPLAY_TYPE_LOGO
        team.image_display_type = headshot if sport.slug in _SOLO else logo


def _tag(number: int, label: str, named: Sport | League, parent: Tag) -> Tag:
    tag = Tag(id=str(number), label=label, slug=named.slug, parent_id=int(parent.id))
    tag.created_at = tag.updated_at = LISTED
    tag.image, tag.tradable = named.image, True
    return tag


def fixture(name: str) -> Any:
    """Return the content of a JSON file of `fixtures/world`."""
    return msgspec.json.decode(resources.path("fixtures", f"world/{name}").read_bytes())


def messages(rows: list[dict[str, Any]], kind: type[M]) -> list[M]:
    """Return rows as messages; ValueError for a row with a field that the message lacks."""
    fields = frozenset(kind.__struct_fields__)
    for row in rows:
        if unknown := sorted(set(row) - fields):
            raise ValueError(f"{kind.__name__} has no field {unknown}")
    return msgspec.convert(rows, list[kind])  # type: ignore[valid-type]
