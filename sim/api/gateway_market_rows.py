"""Markets as lists filter and sort them.

The markets of an event of the season that nobody has touched agree in all that filters and keys ask for but their kind, number and slug, so they stand in a
list as one row, which is taken apart when a page comes to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from sim.api.gateway_entries import Entry, Wanted, entries, leagues_of
from sim.api.gateway_lists import check_page, within
from sim.api.gateway_views import ACTIVE, CLOSED, is_quiet, listed, market_view, season_state
from sim.core.exchange import Exchange
from sim.messages import gateway_v1 as wire

if TYPE_CHECKING:
    from sim.scenario.season import Season


class Quiet(Struct, frozen=True, kw_only=True):
    """What untouched markets of one event have in common. `id` is that of the first."""

    id: int
    start_date: int
    end_date: int | None
    created_at: int | None
    updated_at: int | None
    active: bool
    closed: bool
    archived: bool = False
    slug: str = ""
    sort_order: int = 0
    volume: float = 0.0
    volume_24hr: float = 0.0
    volume_1wk: float = 0.0
    volume_1mo: float = 0.0


class Row(NamedTuple):
    """One market, or the markets at some places of an event of the season."""

    standing: wire.Market | Quiet
    number: int = -1
    places: Sequence[int] = (0,)


def rows(exchange: Exchange, request: wire.ListMarketsRequest) -> Iterator[Row]:
    """Markets that pass every filter on what never changes, in order of listing."""
    reference = exchange.reference
    season = reference.season
    yield from _by_itself(exchange, reference.markets[: reference.base_markets], request)
    if season is not None:
        for entry in entries(exchange, _wanted(exchange, season, request)):
            if entry.number is not None:
                yield from _of_season(exchange, season, entry, request)
    yield from _by_itself(exchange, reference.markets[reference.base_markets :], request)


def _by_itself(exchange: Exchange, markets: Iterable[wire.Market], request: wire.ListMarketsRequest) -> Iterator[Row]:
    for market in markets:
        if listed(exchange, market) and _fits(exchange, market, request):
            yield Row(market_view(exchange, market))


def unfolded(exchange: Exchange, found: Iterable[Row]) -> Iterator[Row]:
    """Every market a row of its own, with its slug: for the keys in which markets of one event differ."""
    season = exchange.reference.season
    for row in found:
        if row.number < 0 or season is None:
            yield row
            continue
        symbols = season.symbols_of(row.number)
        for place in row.places:
            number = season.market_id(row.number, place)
            yield Row(_with(row.standing, number, symbols[place]), row.number, (place,))


def page_of(exchange: Exchange, found: Iterable[Row], limit: int, offset: int, default: int) -> list[wire.Market]:
    """The markets of a page as they are now; no row after it is looked at."""
    left = check_page(limit, offset) or default
    shown: list[wire.Market] = []
    for row in found:
        if offset >= len(row.places):
            offset -= len(row.places)
            continue
        places, offset = row.places[offset : offset + left], 0
        if isinstance(row.standing, Quiet):
            markets = exchange.reference.of_season(row.number).markets
            shown += [market_view(exchange, markets[place]) for place in places]
        else:
            shown.append(row.standing)
        left -= len(places)
        if not left:
            break
    return shown


def _with(standing: wire.Market | Quiet, number: int, slug: str) -> Quiet:
    return Quiet(
        id=number,
        slug=slug,
        sort_order=number % 1_000,
        start_date=standing.start_date or 0,
        end_date=standing.end_date,
        created_at=standing.created_at,
        updated_at=standing.updated_at,
        active=standing.active,
        closed=standing.closed,
    )


def _wanted(exchange: Exchange, season: Season, request: wire.ListMarketsRequest) -> Wanted:
    """What the season's indexes know of a request."""
    slugs: set[str] | None = set(request.event_slug) if request.event_slug else None
    for given in ([season.event_of(slug) for slug in request.slug], [season.event_of_market(number) for number in request.id]):
        if given:
            named = {season.slug(number) for number in given if number is not None}
            slugs = named if slugs is None else slugs & named
    if request.question_ids or request.cyom or (request.categories and "sports" not in request.categories):
        slugs = set()
    game = season.numbered_game(request.game_id) if request.game_id else None
    if request.game_id:
        slugs = {season.slug(game)} if game is not None and (slugs is None or season.slug(game) in slugs) else set()
    tags = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return Wanted(slugs=slugs, leagues=leagues_of(exchange.reference, tag_ids=tags))


def _of_season(exchange: Exchange, season: Season, entry: Entry, request: wire.ListMarketsRequest) -> Iterator[Row]:
    number, event = entry.number, entry.event
    if number is None:
        return
    if not is_quiet(exchange, number, event.slug):
        yield from _by_itself(exchange, season.event(number).markets, request)
        return
    opens = season.opens(number)
    if not within(opens, request.start_date_min, request.start_date_max) or not within(event.end_date, request.end_date_min, request.end_date_max):
        return
    places: Sequence[int] = range(len(entry.kinds))
    if request.market_types:
        places = [place for place in places if entry.kinds[place].market_type in request.market_types]
    if request.sports_market_types:
        places = [place for place in places if entry.kinds[place].sports_market_type_v2 in request.sports_market_types]
    if request.id:
        places = [place for place in places if season.market_id(number, place) in request.id]
    if request.slug:
        symbols = season.symbols_of(number)
        places = [place for place in places if symbols[place] in request.slug]
    if places:
        state = season_state(exchange, season, number)
        standing = Quiet(
            id=season.market_id(number, 0),
            start_date=opens,
            end_date=event.end_date,
            created_at=event.created_at,
            updated_at=event.updated_at,
            active=state in ACTIVE,
            closed=state in CLOSED,
        )
        yield Row(standing, number, places)


def _fits(exchange: Exchange, market: wire.Market, request: wire.ListMarketsRequest) -> bool:
    """Filters on what never changes, of one market."""
    event = exchange.reference.event_of(market.slug)
    tags = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return (
        (not request.id or int(market.id) in request.id)
        and (not request.slug or market.slug in request.slug)
        and (not request.event_slug or (event is not None and event.slug in request.event_slug))
        and (not request.categories or market.category in request.categories)
        and (not request.market_types or market.market_type in request.market_types)
        and (not request.sports_market_types or market.sports_market_type_v2 in request.sports_market_types)
        and (not request.game_id or (event is not None and event.game_id == request.game_id))
        and (not tags or any(int(tag.id) in tags for tag in market.tags))
        and (request.include_hidden or not market.hidden)
        and within(market.start_date, request.start_date_min, request.start_date_max)
        and within(market.end_date, request.end_date_min, request.end_date_max)
        and not request.question_ids
        and request.cyom is not True
    )
