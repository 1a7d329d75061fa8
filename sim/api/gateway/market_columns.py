"""Aspects: values of markets and events that trading, games and the clock change.

An aspect has functions for its value: that of a market with a state of its own, that of an
event's dormant markets, which are identical, and that of an event, from those of its markets.
They are the functions that views use (`live_views.py`, `event_views.py`). `market_index.py`
decides when to compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from sim.api.gateway import event_views, live_views
from sim.api.gateway.game_views import whole_seconds
from sim.api.gateway.volume import volumes
from sim.contract.messages.gateway_v1 import Event
from sim.core.exchange import Exchange
from sim.core.lifecycle.states import OVER_STATES, SESSION_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.games import UNKNOWN_GAME, Game
from sim.core.model.reference_data import MarketRow
from sim.kernel.indexes.ordered_index import MISSING, Codes, KeyIndex
from sim.kernel.instants import Instant

NOWHERE = 255  # the code of a market without an instrument
LISTED = tuple(InstrumentState)


class Aspect(Struct, frozen=True, kw_only=True, eq=False):
    """Functions that compute an aspect.

    `market` is None for an aspect of games alone. `absent` is the value of a missing market; an
    event never sees it. `hourly` values change with the hour where something was traded. `index`
    holds the values: `Codes` to filter by them alone.
    """

    event: Callable[[Exchange, Event, list[Any]], Any]
    market: Callable[[Exchange, MarketRow], Any] | None = None
    dormant: Callable[[Exchange, Event], Any] = lambda exchange, event: 0
    absent: Any = 0
    hourly: bool = False
    index: Callable[[Iterable[Any]], Any] = KeyIndex


# ---- states


def _state(exchange: Exchange, row: MarketRow) -> InstrumentState:
    return exchange.trading.lifecycle.state(row.slug)


def _dormant_state(exchange: Exchange, event: Event) -> InstrumentState:
    state = event_views.dormant_state(exchange, event.slug)
    return exchange.trading.lifecycle.unless_suspended(state)


def _paid(exchange: Exchange, row: MarketRow) -> bool:
    return exchange.trading.settlements.final(row.slug)


def _is_active(exchange: Exchange, row: MarketRow) -> bool:
    return live_views.is_active(_state(exchange, row), lambda: _paid(exchange, row))


def _is_closed(exchange: Exchange, row: MarketRow) -> bool:
    return live_views.is_closed(_state(exchange, row), lambda: _paid(exchange, row))


STATE = Aspect(
    event=lambda *_: 0, market=_state, dormant=_dormant_state, absent=NOWHERE, index=Codes
)
ACTIVE = Aspect(
    event=lambda exchange, event, markets: any(markets) if markets else event.active,
    market=_is_active,
    dormant=lambda exchange, event: _dormant_state(exchange, event) in SESSION_STATES,
    absent=NOWHERE,
    index=Codes,
)
CLOSED = Aspect(
    event=lambda exchange, event, markets: all(markets) if markets else event.closed,
    market=_is_closed,
    dormant=lambda exchange, event: _dormant_state(exchange, event) in OVER_STATES,
    absent=NOWHERE,
    index=Codes,
)


# ---- changes


def _last_change(exchange: Exchange, row: MarketRow) -> Instant:
    over = _state(exchange, row) in OVER_STATES
    settled = exchange.trading.settlements.get(row.slug) if over else None
    return live_views.last_change(exchange, row.slug, row.created_at, settled)


def _dormant_change(exchange: Exchange, event: Event) -> Instant:
    return event_views.dormant_change(exchange, event.slug)


def _event_change(exchange: Exchange, event: Event, markets: list[Instant]) -> Any:
    reported = whole_seconds(event_views.how_it_stands(exchange, event).at)
    changes = (event.updated_at, reported, *markets)
    return max((at for at in changes if at), default=MISSING)


UPDATED = Aspect(event=_event_change, market=_last_change, dormant=_dormant_change, absent=MISSING)


# ---- amounts


def _amount(market: Callable[[Exchange, str], float], *, hourly: bool = False) -> Aspect:
    return Aspect(
        event=lambda exchange, event, markets: sum(markets),
        market=lambda exchange, row: market(exchange, row.slug),
        hourly=hourly,
    )


def _volume(name: str) -> Aspect:
    def volume(exchange: Exchange, symbol: str) -> float:
        amounts = volumes(exchange, exchange.instruments.require(symbol))
        return float(getattr(amounts, name))

    return _amount(volume, hourly=True)


VOLUME = _volume("total")
RESTING = _amount(live_views.liquidity)


# ---- games


def _game(exchange: Exchange, event: Event) -> Game:
    return event_views.how_it_stands(exchange, event) if event.game_id else UNKNOWN_GAME


def _columns(name: str) -> Callable[[Exchange, Event, list[Any]], Any]:
    """Return an aspect that an event shows unless its game has another value."""

    def value(exchange: Exchange, event: Event, markets: list[Any]) -> Any:
        of_game = getattr(_game(exchange, event), name)
        result = getattr(event, name) if of_game is None else of_game
        return False if result is None else result  # an event without a game is never live

    return value


def _finished(exchange: Exchange, event: Event, markets: list[Any]) -> Any:
    game = _game(exchange, event)
    ended = event.ended if game.ended is None else game.ended
    at = whole_seconds(game.at) if ended and game.at else event.finished_timestamp
    return MISSING if at is None else at


LIVE = Aspect(event=_columns("live"), index=Codes)
ENDED = Aspect(event=_columns("ended"), index=Codes)
PERIOD = Aspect(event=_columns("period"))
FINISHED = Aspect(event=_finished)

# The keys by which lists can be sorted.
SORTED_BY: Mapping[str, Aspect] = {
    "volume": VOLUME,
    "volumenum": VOLUME,
    "volume24hr": _volume("day"),
    "volume1wk": _volume("week"),
    "volume1mo": _volume("month"),
    "volume1yr": _volume("year"),
    "updatedat": UPDATED,
    "liquidity": RESTING,
    "openinterest": _amount(live_views.open_interest),
}
