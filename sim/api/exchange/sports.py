"""Sports and teams on the exchange host: what the gateway knows of them, in the exchange's
messages.
"""

from __future__ import annotations

from sim.api.gateway.list_query import arranged, cut
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest
from sim.messages import exchange_v1 as wire
from sim.messages import gateway_v1 as gateway

_KEYS = {
    "id": lambda team: team.id,
    "name": lambda team: team.name,
    "abbreviation": lambda team: team.abbreviation,
    "league": lambda team: team.league,
}
# The exchange's contract knows these vendors of the gateway's; the others are left out.
_VENDORS = frozenset(int(member) for member in wire.SportsDataProvider)


@handles("RefDataSportsAPI.GetSports")
def get_sports(
    exchange: Exchange, caller: Caller, request: wire.GetSportsRequest
) -> wire.GetSportsResponse:
    """One entry for each league."""
    return wire.GetSportsResponse(
        sports=[_sport(exchange, league) for league in exchange.reference.leagues]
    )


@handles("RefDataSportsAPI.GetSportsTeams")
def get_sports_teams(
    exchange: Exchange, caller: Caller, request: wire.GetSportsTeamsRequest
) -> wire.GetSportsTeamsResponse:
    """Teams that pass every filter, by number unless ordered otherwise."""
    wanted = request.filters or wire.TeamsFilters()
    found = [
        team
        for team in exchange.reference.teams
        if (not wanted.league or team.league in wanted.league)
        and (not wanted.name or team.name in wanted.name)
        and (not wanted.abbreviation or team.abbreviation in wanted.abbreviation)
        and (not wanted.id or team.id in wanted.id)
    ]
    if min(request.limit or 0, request.offset or 0) < 0:
        raise InvalidRequest("limit and offset must not be negative")
    if request.order_by and request.order_by not in _KEYS:
        raise InvalidRequest(
            f"order_by must be one of {', '.join(_KEYS)}", remedy="leave it out for id"
        )
    ordered = arranged(found, _KEYS, (request.order_by or "id",), request.order_direction or "asc")
    return wire.GetSportsTeamsResponse(
        teams=[_team(team) for team in cut(ordered, request.limit or 0, request.offset or 0)]
    )


@handles("RefDataSportsAPI.GetSportsTeamsForProvider")
def get_sports_teams_for_provider(
    exchange: Exchange, caller: Caller, request: wire.GetSportsTeamsForProviderRequest
) -> wire.GetSportsTeamsForProviderResponse:
    """Teams by their ids at a data vendor; of every vendor where none is named, all teams where no
    id is.
    """
    found: dict[str, wire.Team] = {}
    for team in exchange.reference.teams:
        for ref in _team(team).provider_refs if request.league in ("", team.league) else ():
            if request.provider in (0, ref.provider) and (
                not request.team_ids or ref.provider_team_id in request.team_ids
            ):
                found[ref.provider_team_id] = _team(team)
    return wire.GetSportsTeamsForProviderResponse(teams=found)


def _sport(exchange: Exchange, league: gateway.League) -> wire.Sport:
    sport = exchange.reference.sport_of(league)
    return wire.Sport(
        sport=league.slug,
        image=league.image,
        resolution=league.resolution,
        ordering=league.ordering,
        tags=f"{sport.tag_id},{league.tag_id}",
        series=str(league.active_series_id),
        lsport=wire.LSport(
            id=sport.id,
            name=league.name,
            sport=sport.slug,
            abbreviation=league.abbreviation,
            league_id=league.id,
            home_away=league.ordering == "home",
            enabled=league.is_operational,
        ),
        is_operational=league.is_operational,
        automatic_resolution=league.is_operational,
    )


def _team(team: gateway.Team) -> wire.Team:
    return wire.Team(
        id=team.id,
        name=team.name,
        abbreviation=team.abbreviation,
        league=team.league,
        record=team.record,
        logo=team.logo,
        alias=team.alias,
        home_icon=team.home_icon or None,
        away_icon=team.away_icon or None,
        color_primary=team.color_primary or None,
        safe_name=team.safe_name,
        long_icon=team.long_icon or None,
        short_icon=team.short_icon or None,
        display_abbreviation=team.display_abbreviation or None,
        ranking=int(team.ranking) if team.ranking.isdecimal() else None,
        conference=team.conference or None,
        provider_refs=[
            wire.TeamProviderRef(provider=one.provider, provider_team_id=one.provider_id)
            for one in team.provider_ids
            if one.provider in _VENDORS
        ],
        long_icon_dark=team.long_icon_dark or None,
        short_icon_dark=team.short_icon_dark or None,
    )
