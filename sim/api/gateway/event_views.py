"""Views of events: reference data with the state of their games and sums over their markets.

They are cached like views of markets (`live_views.py`), until their inputs change. The version of a
generated event has one state for all of its markets that are dormant, because they are identical.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import repeat

from msgspec.structs import replace

from sim.api.gateway.game_views import show_game, whole_seconds
from sim.api.gateway.live_views import (
    MarketVersion,
    liquidity,
    listed,
    market_version,
    market_view,
    open_interest,
)
from sim.api.pipeline.answer_cache import AnswerCache
from sim.contract.messages.gateway_v1 import Event, EventCombos, ImageDisplayType, Market
from sim.core.catalogue.assumptions import EVENTS_DEPRECATED, MARKETS_QUOTES
from sim.core.exchange import Exchange
from sim.core.lifecycle.outcomes import has_sets, match_score
from sim.core.lifecycle.states import OVER_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.games import Game
from sim.core.model.reference_data import MarketDates
from sim.kernel.instants import HOUR, Instant

_S = InstrumentState
_ARTWORK = ImageDisplayType.IMAGE_DISPLAY_TYPE_ARTWORK
_VOLUMES = ("volume", "volume_24hr", "volume_1wk", "volume_1mo", "volume_1yr")
_events: AnswerCache[Event] = AnswerCache(512)  # an event of a large world has some twenty markets


def exists(exchange: Exchange, event: Event) -> bool:
    """Return whether an event exists now; a recurring one exists from its listing on."""
    recurring = exchange.recurring.slot_of_event(event.slug) is not None
    return not recurring or listed(exchange, event.markets[0])


def dormant_state(exchange: Exchange, slug: str) -> InstrumentState:
    """Return the state of the dormant markets of a generated event, maintenance apart."""
    lifecycle, dates = exchange.trading.lifecycle, _generated(exchange, slug)
    at = lifecycle.followed_to
    dated_state = dates.state(at)
    if dated_state in OVER_STATES or at < dates.game:
        return dated_state
    return lifecycle.dates.dormant_state(
        dated_state, exchange.games.event_end(slug), dates.termination, at
    )


def dormant_change(exchange: Exchange, slug: str) -> Instant:
    """Return when the dormant markets of a generated event last changed or settled,
    in whole seconds.
    """
    lifecycle, dates = exchange.trading.lifecycle, _generated(exchange, slug)
    state = lifecycle.unless_suspended(dormant_state(exchange, slug))
    ends = exchange.games.event_end(slug)
    changes = [lifecycle.last_change_by_dates(dates.created, dates[1:4], ends, state)]
    if ends and state in OVER_STATES:
        settled = lifecycle.dates.settlement_times_of(ends, dates.termination)
        changes += (at for at in settled if at <= lifecycle.followed_to)
    return whole_seconds(max(changes))


def _generated(exchange: Exchange, slug: str) -> MarketDates:
    dates = exchange.reference.generated_dates(slug)
    if dates is None:
        raise LookupError(f"not a generated event: {slug}")
    return dates


def event_view(exchange: Exchange, event: Event) -> Event:
    """Return an event as it is now, with its markets."""
    game = how_it_stands(exchange, event)
    version: tuple[object, ...]
    versions: Iterable[MarketVersion | None] = repeat(None)
    if exchange.reference.generated_dates(event.slug) is None:
        versions = [market_version(exchange, market) for market in _listed(exchange, event)]
        version = tuple(versions)
    else:
        version = _generated_version(exchange, event)

    def build() -> Event:
        markets = list(map(partial(market_view, exchange), _listed(exchange, event), versions))
        return _event(exchange, event, markets, game)

    texts = map(exchange.ctx.assumptions.text, (EVENTS_DEPRECATED, MARKETS_QUOTES))
    return _events.get(exchange, event.id, (*texts, game, *version), build)


def _generated_version(exchange: Exchange, event: Event) -> tuple[object, ...]:
    """Return the version of the markets of a generated event, without reading each of them."""
    trading, slug = exchange.trading, event.slug
    state = trading.lifecycle.unless_suspended(dormant_state(exchange, slug))
    return (
        len(event.markets),
        trading.books.version_of(slug),
        trading.lifecycle.dormant_changed_at,
        trading.fees.era(),
        exchange.now // HOUR,
        state,
        state is _S.CLOSED and trading.settlements.final(event.markets[0].slug),
    )


def _listed(exchange: Exchange, event: Event) -> list[Market]:
    return [market for market in event.markets if listed(exchange, market)]


def how_it_stands(exchange: Exchange, event: Event) -> Game:
    """Return the state of an event's game: as reported, else by the game clock, else its final
    state.

    A reported game has the score by which its markets are paid (rule L29), whether periods, goals
    or the score itself was reported. A set or map counts for it once the game is over.
    """
    games, slug = exchange.games, event.slug
    game = games.simulated_game(slug) or _planned_result(exchange, event) or games.get(slug)
    if games.is_reported(slug) and not game.simulated:
        score = match_score(game) if game.ended or not has_sets(game) else None
        if score is not None:
            game = replace(game, home_score=score[0], away_score=score[1])
    if game.ended and game.period in (None, "", "NS"):
        game = replace(game, period="FT")
    return game


def _planned_result(exchange: Exchange, event: Event) -> Game | None:
    """Return the result of an unreported game, or None before its markets expire."""
    followed = exchange.trading.lifecycle.followed_to
    if not event.game_id or event.end_date is None or followed < event.end_date:
        return None
    final = exchange.games.planned_final(event.slug)
    return None if final is None else replace(final, at=event.end_date)


def _event(exchange: Exchange, event: Event, markets: list[Market], game: Game) -> Event:
    changes = (event.updated_at, whole_seconds(game.at), *(market.updated_at for market in markets))
    view = replace(
        event,
        markets=markets,
        active=any(market.active for market in markets) if markets else event.active,
        closed=all(market.closed for market in markets) if markets else event.closed,
        updated_at=max((at for at in changes if at), default=None),
        open_interest=sum(open_interest(exchange, market.slug) for market in markets),
        liquidity=sum(liquidity(exchange, market.slug) for market in markets),
        combos=_combos(markets),
        image_display_type=event.teams[0].image_display_type if event.teams else _ARTWORK,
    )
    if markets:
        for name in _VOLUMES:
            setattr(view, name, sum(getattr(market, name) for market in markets))
    if exchange.ctx.assumptions.text(EVENTS_DEPRECATED) == "shown":
        view.participants = []  # as recordings show the field after its removal
    if event.game_id:
        show_game(view, game)
    return view


def _combos(markets: list[Market]) -> EventCombos:
    """Return the number of an event's markets that can be legs of a combo."""
    combinable = [market for market in markets if market.combo_enabled]
    lines = sum(market.market_type in ("spreads", "totals") for market in combinable)
    return EventCombos(
        enabled=bool(combinable), num_markets=len(combinable), num_spreads_and_totals_markets=lines
    )
