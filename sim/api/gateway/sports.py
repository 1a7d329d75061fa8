"""Sports, teams and players."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from sim.api.gateway.leagues import require_sport, with_leagues
from sim.api.gateway.list_query import arranged, check_order, page
from sim.api.pipeline.handler import handles
from sim.contract.messages import Message
from sim.contract.messages import gateway_v1 as wire
from sim.contract.messages.exchange_v1 import GetSportsTeamsForProviderRequest, TeamsFilters
from sim.core.exchange import Exchange

_KEYS = ("id", "name", "abbreviation", "league", "ordering")
_TEAM_KEYS: dict[str, Any] = {name: attrgetter(name) for name in _KEYS}


@handles("GatewaySportsAPI.ListSports")
def list_sports(exchange: Exchange, request: wire.ListSportsRequest) -> wire.ListSportsResponse:
    """List sports with their leagues."""
    sports = [with_leagues(exchange, sport) for sport in exchange.reference.sports]
    return wire.ListSportsResponse(sports=sports)


@handles("GatewaySportsAPI.GetSport")
def get_sport(exchange: Exchange, request: wire.GetSportRequest) -> wire.GetSportResponse:
    """One sport."""
    return wire.GetSportResponse(sport=require_sport(exchange, request.slug))


@handles("GatewaySportsAPI.ListSportListings")
def list_sport_listings(
    exchange: Exchange, request: wire.ListSportListingsRequest
) -> wire.ListSportListingsResponse:
    """List one entry for each league; the older interface called a league a sport."""
    sports = [_listing(exchange, league) for league in exchange.reference.leagues]
    return wire.ListSportListingsResponse(sports=sports)


@handles("GatewaySportsAPI.ListTeams")
def list_teams(exchange: Exchange, request: wire.ListTeamsRequest) -> wire.ListTeamsResponse:
    """List teams that pass every filter: league slug, name, abbreviation, number."""
    order, direction = request.order_by, request.order_direction
    is_ascending = check_order(exchange, _TEAM_KEYS, wire.Team, order, direction)
    teams = teams_where(exchange, request.filters or wire.TeamFilters())
    ordered = arranged(teams, _TEAM_KEYS, order, is_ascending)
    return wire.ListTeamsResponse(teams=page(ordered, request.limit, request.offset))


@handles("GatewaySportsAPI.ListProviderTeams")
def list_provider_teams(
    exchange: Exchange, request: wire.ListProviderTeamsRequest
) -> wire.ListProviderTeamsResponse:
    """List teams by their ids at a data vendor: at every vendor if none is named, and all teams if
    no id is named.
    """
    rows = teams_of_provider(exchange, request)
    teams = {provider.provider_id: _sports_team(team) for team, provider in rows}
    return wire.ListProviderTeamsResponse(teams=teams)


@handles("GatewaySportsAPI.ListPlayers")
def list_players(exchange: Exchange, request: wire.ListPlayersRequest) -> wire.ListPlayersResponse:
    """Players that markets are about."""
    filters = request.filters or wire.PlayerFilters()
    every = (_player(exchange, subject) for subject in exchange.reference.subjects)
    players = [player for player in every if _passes(player, filters)]
    return wire.ListPlayersResponse(players=page(players, request.limit, request.offset))


def teams_where(exchange: Exchange, filters: wire.TeamFilters | TeamsFilters) -> list[wire.Team]:
    """Return the teams that pass every filter that is set."""
    return [team for team in exchange.reference.teams if _passes(team, filters)]


def _passes(row: Message, filters: Message) -> bool:
    """Return whether each field of a row is among the values that the filters list for it."""
    return all(
        not (values := getattr(filters, name))
        or getattr(row, name) in values
        or (name == "abbreviation" and getattr(row, f"display_{name}") in values)
        for name in filters.__struct_fields__
    )


def teams_of_provider(
    exchange: Exchange, request: wire.ListProviderTeamsRequest | GetSportsTeamsForProviderRequest
) -> Iterator[tuple[wire.Team, wire.TeamProvider]]:
    """Yield each team of a request by vendor ids, with its id at the vendor."""
    for team in exchange.reference.teams:
        if request.league in ("", team.league):
            for provider in team.provider_ids:
                if request.provider in (0, provider.provider) and (
                    not request.team_ids or provider.provider_id in request.team_ids
                ):
                    yield team, provider


def league_facts(exchange: Exchange, league: wire.League) -> dict[str, Any]:
    """Return what both APIs tell of a league where they call it a sport, by field."""
    return {
        "sport": league.slug,
        "image": league.image,
        "resolution": league.resolution,
        "ordering": league.ordering,
        "tags": f"{exchange.reference.sport_of(league).tag_id},{league.tag_id}",
        "series": str(league.active_series_id),
        "is_operational": league.is_operational,
        "automatic_resolution": league.is_operational,
    }


def _listing(exchange: Exchange, league: wire.League) -> wire.SportListing:
    return wire.SportListing(
        id=str(league.id),
        name=league.name,
        slug=league.slug,
        leagues=[wire.LeagueListing(id=str(league.id), name=league.name, slug=league.slug)],
        default_jersey_image=exchange.reference.sport_of(league).default_jersey_image,
        **league_facts(exchange, league),
    )


def _sports_team(team: wire.Team) -> wire.SportsTeam:
    providers = [
        wire.SportsTeamProvider(provider=row.provider, id=row.provider_id)
        for row in team.provider_ids
    ]
    return replace(convert(team, wire.SportsTeam, from_attributes=True), provider_ids=providers)


def _player(exchange: Exchange, subject: wire.Subject) -> wire.Player:
    """A subject as a player; its description names its team, `wnba:LVA`."""
    league, _, abbreviation = subject.description.partition(":")
    team = exchange.reference.team_by_name.get((league, abbreviation))
    return wire.Player(
        id=subject.id,
        name=subject.display_name,
        league=league,
        team_id=team.id if team else 0,
        image=subject.image,
    )
