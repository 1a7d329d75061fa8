"""Sports and teams on the exchange host, converted from those of the gateway."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from sim.api.gateway.list_query import arranged, ascending, page
from sim.api.gateway.sports import league_facts, teams_of_provider, teams_where
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages import gateway_v1 as gateway
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest

_TEAM_KEYS = {name: attrgetter(name) for name in ("id", "name", "abbreviation", "league")}
_TEAM_FIELDS = (*_TEAM_KEYS, "record", "logo", "alias", "safe_name")
_TEAM_EXTRAS = (
    *("home_icon", "away_icon", "long_icon", "short_icon", "long_icon_dark", "short_icon_dark"),
    *("color_primary", "display_abbreviation", "conference"),
)
# The data vendors that the exchange's contract knows; other vendors of the gateway are omitted.
_VENDORS = frozenset(int(member) for member in wire.SportsDataProvider)


@handles("RefDataSportsAPI.GetSports")
def get_sports(exchange: Exchange, request: wire.GetSportsRequest) -> wire.GetSportsResponse:
    """List the sports, one entry per league."""
    return wire.GetSportsResponse(
        sports=[_sport(exchange, league) for league in exchange.reference.leagues]
    )


@handles("RefDataSportsAPI.GetSportsTeams")
def get_sports_teams(
    exchange: Exchange, request: wire.GetSportsTeamsRequest
) -> wire.GetSportsTeamsResponse:
    """List the teams that pass every filter, ordered by id by default."""
    order = request.order_by or "id"
    if order not in _TEAM_KEYS:
        raise InvalidRequest(
            f"order_by must be one of {', '.join(_TEAM_KEYS)}", remedy="omit it to sort by id"
        )
    teams = teams_where(exchange, request.filters or wire.TeamsFilters())
    ordered = arranged(teams, _TEAM_KEYS, (order,), ascending(request.order_direction or "asc"))
    teams = page(ordered, request.limit or 0, request.offset or 0)
    return wire.GetSportsTeamsResponse(teams=[_team(team) for team in teams])


@handles("RefDataSportsAPI.GetSportsTeamsForProvider")
def get_sports_teams_for_provider(
    exchange: Exchange, request: wire.GetSportsTeamsForProviderRequest
) -> wire.GetSportsTeamsForProviderResponse:
    """Return teams by their ids at a data vendor.

    Without a vendor, ids of all vendors match; without ids, every team does.
    """
    teams = {
        ref.provider_id: _team(team)
        for team, ref in teams_of_provider(exchange, request)
        if ref.provider in _VENDORS
    }
    return wire.GetSportsTeamsForProviderResponse(teams=teams)


def _sport(exchange: Exchange, league: gateway.League) -> wire.Sport:
    sport = exchange.reference.sport_of(league)
    return wire.Sport(
        lsport=wire.LSport(
            id=sport.id,
            name=league.name,
            sport=sport.slug,
            abbreviation=league.abbreviation,
            league_id=league.id,
            home_away=league.ordering == "home",
            enabled=league.is_operational,
        ),
        **league_facts(exchange, league),
    )


def _team(team: gateway.Team) -> wire.Team:
    """Return a team; what it does not have is unset here and empty on the gateway."""
    extras: dict[str, Any] = {name: getattr(team, name) or None for name in _TEAM_EXTRAS}
    return wire.Team(
        ranking=int(team.ranking) if team.ranking.isdecimal() else None,
        provider_refs=[
            wire.TeamProviderRef(provider=row.provider, provider_team_id=row.provider_id)
            for row in team.provider_ids
            if row.provider in _VENDORS
        ],
        **{name: getattr(team, name) for name in _TEAM_FIELDS},
        **extras,
    )
