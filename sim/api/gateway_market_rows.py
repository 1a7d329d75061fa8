"""Markets as lists filter and sort them.

The markets of an event of the season that nobody has touched agree in all that filters and keys ask for but their kind, number and slug, so they stand in a
list as one row, which is taken apart when a page comes to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from sim.api.gateway_calm import calm
from sim.api.gateway_entries import Wanted, leagues_of, numbers, tag_ids
from sim.api.gateway_lists import check_page, of_sport, within
from sim.api.gateway_views import ACTIVE, CLOSED, is_quiet, listed, market_view, moved, season_moved, season_state, table
from sim.core.exchange import Exchange
from sim.messages import gateway_v1 as wire

if TYPE_CHECKING:
    from sim.scenario.season import Kind, Season


class Quiet(Struct, frozen=True, kw_only=True):
    """What untouched markets of one event have in common."""

    start_date: int
    end_date: int | None
    created_at: int | None
    updated_at: int | None
    active: bool
    closed: bool
    archived: bool = False
    volume: float = 0.0
    volume_24hr: float = 0.0
    volume_1wk: float = 0.0
    volume_1mo: float = 0.0
    volume_1yr: float = 0.0


class Row(NamedTuple):
    """One market as it is now, or the markets at some places of a quiet event of the season."""

    market: wire.Market | None
    number: int = -1
    places: Sequence[int] = (0,)


def rows(exchange: Exchange, request: wire.ListMarketsRequest) -> Iterator[Row]:
    """Markets that pass every filter on what never changes, in order of listing."""
    reference = exchange.reference
    season = reference.season
    yield from _by_itself(exchange, reference.markets[: reference.base_markets], request)
    if season is not None:
        yield from _of_season(exchange, season, request)
    if reference.windows is not None:
        yield from _by_itself(exchange, (reference.windows.event(place).markets[0] for place in exchange.windows.shown()), request)
    yield from _by_itself(exchange, reference.markets[reference.base_markets :], request)


def _by_itself(exchange: Exchange, markets: Iterable[wire.Market], request: wire.ListMarketsRequest) -> Iterator[Row]:
    for market in markets:
        if listed(exchange, market) and _fits(exchange, market, request):
            yield Row(market_view(exchange, market))


def standing(exchange: Exchange, row: Row) -> wire.Market | Quiet:
    """What filters and keys look at in a row."""
    season = exchange.reference.season
    if row.market is not None or season is None:
        return row.market or wire.Market()
    how = None if is_quiet(exchange, row.number, season.slug(row.number)) else calm(exchange, season, row.number)
    known = table(exchange, season, "markets", how)
    found: Quiet | None = known.get(row.number)
    if found is None:
        event = season.bare(row.number)
        state = season_state(exchange, season, row.number)
        found = known[row.number] = Quiet(
            start_date=season.opens(row.number),
            end_date=event.end_date,
            created_at=event.created_at,
            updated_at=max(event.updated_at or 0, season_moved(exchange, season, row.number, state) if how is None else how.changed),
            active=state in ACTIVE if how is None else how.active,
            closed=state in CLOSED if how is None else how.closed,
        )
    return found


def id_of(exchange: Exchange, row: Row) -> int:
    """The number of the first market of a row."""
    season = exchange.reference.season
    if row.market is not None or season is None:
        return int(row.market.id) if row.market is not None else 0
    return season.market_id(row.number, row.places[0])


def sort_order_of(exchange: Exchange, row: Row) -> int:
    """The sort order of the first market of a row."""
    season = exchange.reference.season
    if row.market is not None or season is None:
        return row.market.sort_order if row.market is not None else 0
    return season.sort_order(row.number, row.places[0])


def slug_of(exchange: Exchange, row: Row) -> str:
    """The slug of the first market of a row."""
    season = exchange.reference.season
    if row.market is not None or season is None:
        return row.market.slug if row.market is not None else ""
    return season.symbols_of(row.number)[row.places[0]]


def unfolded(found: Iterable[Row]) -> Iterator[Row]:
    """Every market a row of its own: for keys in which markets of one event differ."""
    return (Row(row.market, row.number, (place,)) for row in found for place in row.places)


def by_slug(exchange: Exchange, found: Iterable[Row], *, falling: bool) -> Iterator[Row]:
    """Every market a row of its own, in alphabetical order of slugs, along the season's index."""
    season = exchange.reference.season
    single: list[tuple[str, Row]] = []
    wanted: dict[int, Sequence[int]] = {}
    for row in found:
        if row.market is not None:
            single.append((row.market.slug, row))
        else:
            wanted[row.number] = row.places
    single.sort(key=lambda pair: pair[0], reverse=falling)
    index = [] if season is None else reversed(season.index.by_slug) if falling else season.index.by_slug
    of_season = ((symbol, Row(None, number, (place,))) for symbol, number, place in index if place in wanted.get(number, ()))
    return (row for _, row in merge(single, of_season, key=lambda pair: pair[0], reverse=falling))


def by_sort_order(exchange: Exchange, found: Iterable[Row], *, falling: bool) -> Iterator[Row]:
    """Every market a row of its own, by sort order, of which there are few; equals in order of listing."""
    season = exchange.reference.season
    drawers: dict[int, list[tuple[Row, int]]] = {}
    for row in found:
        if row.market is not None or season is None:
            drawers.setdefault(row.market.sort_order if row.market is not None else 0, []).append((row, 0))
            continue
        first = season.sort_order(row.number, 0)
        for place in row.places:
            drawers.setdefault(first + place, []).append((row, place))
    for order in sorted(drawers, reverse=falling):
        yield from (row if row.market is not None else Row(None, row.number, (place,)) for row, place in drawers[order])


def page_of(exchange: Exchange, found: Iterable[Row], limit: int, offset: int, default: int) -> list[wire.Market]:
    """The markets of a page as they are now; no row after it is looked at."""
    left = check_page(limit, offset) or default
    shown: list[wire.Market] = []
    for row in found:
        if offset >= len(row.places):
            offset -= len(row.places)
            continue
        places, offset = row.places[offset : offset + left], 0
        if row.market is None:
            markets = exchange.reference.of_season(row.number).markets
            shown += [market_view(exchange, markets[place]) for place in places]
        else:
            shown.append(row.market)
        left -= len(places)
        if not left:
            break
    return shown


def _wanted(exchange: Exchange, season: Season, request: wire.ListMarketsRequest) -> Wanted:
    """What the season's indexes know of a request."""
    slugs: set[str] | None = set(request.event_slug) if request.event_slug else None
    for given in ([season.event_of(slug) for slug in request.slug], [season.event_of_market(market_id) for market_id in request.id]):
        if given:
            named = {season.slug(number) for number in given if number is not None}
            slugs = named if slugs is None else slugs & named
    if request.question_ids or request.cyom or (request.categories and "sports" not in request.categories):
        slugs = set()
    game = season.numbered_game(request.game_id) if request.game_id else None
    if request.game_id:
        slugs = {season.slug(game)} if game is not None and (slugs is None or season.slug(game) in slugs) else set()
    return Wanted(slugs=slugs, leagues=None if request.related_tags else leagues_of(exchange.reference, tag_ids=_tags(request)))


def _tags(request: wire.ListMarketsRequest) -> set[int]:
    """The tags asked for."""
    return {*request.tag_ids, *([request.tag_id] if request.tag_id else [])}


def _of_season(exchange: Exchange, season: Season, request: wire.ListMarketsRequest) -> Iterator[Row]:
    disturbed = moved(exchange)
    dated = any(bound is not None for bound in (request.start_date_min, request.start_date_max, request.end_date_min, request.end_date_max))
    related = _tags(request) if request.related_tags else None
    places: dict[tuple[object, ...], Sequence[int]] = {}
    for number in numbers(season, _wanted(exchange, season, request)):
        if number in disturbed and calm(exchange, season, number) is None:
            yield from _by_itself(exchange, season.event(number).markets, request)
            continue
        if dated and not _dated(season, number, request):
            continue
        if related and related.isdisjoint(tag_ids(season.bare(number).tags, related=True)):
            continue
        key = season.kind_keys[number]
        found = places.get(key)
        if found is None:
            found = places[key] = _places(season.kinds(number), request)
        if request.id:
            found = [place for place in found if season.market_id(number, place) in request.id]
        if request.slug:
            symbols = season.symbols_of(number)
            found = [place for place in found if symbols[place] in request.slug]
        if found:
            yield Row(None, number, found)


def _dated(season: Season, number: int, request: wire.ListMarketsRequest) -> bool:
    starts, ends = season.opens(number), season.bare(number).end_date
    return within(starts, request.start_date_min, request.start_date_max) and within(ends, request.end_date_min, request.end_date_max)


def _places(kinds: Sequence[Kind], request: wire.ListMarketsRequest) -> Sequence[int]:
    """Places of the markets of the kinds that are asked for."""
    if not request.market_types and not request.sports_market_types:
        return range(len(kinds))
    return [
        place
        for place, kind in enumerate(kinds)
        if (not request.market_types or kind.market_type in request.market_types)
        and (not request.sports_market_types or of_sport(kind, request.sports_market_types))
    ]


def _fits(exchange: Exchange, market: wire.Market, request: wire.ListMarketsRequest) -> bool:
    """Filters on what never changes, of one market."""
    event = exchange.reference.event_of(market.slug)
    tags = _tags(request)
    return (
        (not request.id or int(market.id) in request.id)
        and (not request.slug or market.slug in request.slug)
        and (not request.event_slug or (event is not None and event.slug in request.event_slug))
        and (not request.categories or market.category in request.categories)
        and (not request.market_types or market.market_type in request.market_types)
        and (not request.sports_market_types or of_sport(market, request.sports_market_types))
        and (not request.game_id or (event is not None and event.game_id == request.game_id))
        and (not tags or not tags.isdisjoint(tag_ids(market.tags, related=request.related_tags)))
        and (request.include_hidden or not market.hidden)
        and within(market.start_date, request.start_date_min, request.start_date_max)
        and within(market.end_date, request.end_date_min, request.end_date_max)
        and not request.question_ids
        and request.cyom is not True
    )
