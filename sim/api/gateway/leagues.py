"""Leagues and sports with their events and tags (§2.9, §4.1)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sim.api.gateway.event_filters import EventFilters, event_keys, event_page, events_numbered
from sim.api.gateway.list_query import page
from sim.api.gateway.market_columns import CLOSED
from sim.api.gateway.market_index import market_index
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest, NotFound, cut
from sim.kernel.indexes.ordered_index import neither

LEAGUES_MAX = 50
_TYPES = {"sport": "Games", "futures": "Futures"}
_SECTIONS = {"general": "All", "trending": "Trending"}


@handles("GatewayLeaguesAPI.ListLeagues")
def list_leagues(exchange: Exchange, request: wire.ListLeaguesRequest) -> wire.ListLeaguesResponse:
    """List leagues in listing order, 50 on a page."""
    limit = min(request.limit or LEAGUES_MAX, LEAGUES_MAX)
    leagues = page(exchange.reference.leagues, limit, request.offset)
    return wire.ListLeaguesResponse(leagues=leagues)


@handles("GatewayLeaguesAPI.GetLeague")
def get_league(exchange: Exchange, request: wire.GetLeagueRequest) -> wire.GetLeagueResponse:
    """Return a league."""
    return wire.GetLeagueResponse(league=_league(exchange, request.slug))


@handles("GatewayLeaguesAPI.ListLeagueEvents")
def list_league_events(
    exchange: Exchange, request: wire.ListLeagueEventsRequest
) -> wire.ListLeagueEventsResponse:
    """List the events of a league."""
    league = _league(exchange, request.slug)
    section = _section(exchange, [league.slug], request)
    return wire.ListLeagueEventsResponse(**section, league=league)


@handles("GatewaySportsAPI.ListSportEvents")
def list_sport_events(
    exchange: Exchange, request: wire.ListSportEventsRequest
) -> wire.ListSportEventsResponse:
    """List the events of all leagues of a sport."""
    sport = require_sport(exchange, request.slug)
    slugs = [league.slug for league in exchange.reference.leagues if league.sport_id == sport.id]
    return wire.ListSportEventsResponse(**_section(exchange, slugs, request), sport=sport)


def require_sport(exchange: Exchange, slug: str) -> wire.Sport:
    """Return the sport of a slug, with its leagues."""
    sport = next((sport for sport in exchange.reference.sports if sport.slug == slug), None)
    if sport is None:
        raise NotFound(f"sport not found: {cut(slug)}", remedy="GET /v2/sports lists the sports")
    return sport


def with_leagues(exchange: Exchange, sport: wire.Sport) -> wire.Sport:
    """Return a sport with its leagues, as in the list of sports."""
    return replace(
        sport,
        leagues=[league for league in exchange.reference.leagues if league.sport_id == sport.id],
    )


def _league(exchange: Exchange, slug: str) -> wire.League:
    league = exchange.reference.league_by_slug.get(slug)
    if league is None:
        raise NotFound(f"league not found: {cut(slug)}", remedy="GET /v2/leagues lists the leagues")
    return league


def _section(
    exchange: Exchange,
    leagues: list[str],
    request: wire.ListLeagueEventsRequest | wire.ListSportEventsRequest,
) -> dict[str, Any]:
    """Fields of the answer about a page of leagues: games, or futures; in listing order, or the
    busiest first. Finished events are left out.
    """
    kind = request.type or "sport"
    section = request.section or "general"
    if kind not in _TYPES or section not in _SECTIONS:
        raise InvalidRequest("type is sport or futures, section is general or trending")
    index = market_index(exchange)
    games = kind == "sport"
    excluded = events_numbered(index, request.exclude_event_id)

    def belongs(event: wire.Event) -> bool:
        return event.subcategory in leagues and bool(event.game_id) == games

    filters = EventFilters([belongs], [neither(excluded), index.of(CLOSED).events.among(False)])
    order = event_keys(index, ("volume",) if section == "trending" else ()), True
    return {
        "type": kind,
        "type_title": _TYPES[kind],
        "section": section,
        "section_title": _SECTIONS[section],
        "events": event_page(index, filters.select(index), order, request),
    }
