"""Events of the season that nobody has traded in: how they stand follows from the states of their markets and the facts of the game; no market is made for it.

After weeks of virtual time most of a season has moved by its dates alone. Looking at such an event costs one comparison of versions until something happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sim.api.gateway_views import ACTIVE, CLOSED, how_it_stands, play, season_moved, season_state, whole_seconds
from sim.api.memo import Memo
from sim.core.exchange import Exchange
from sim.core.games import NOTHING
from sim.kernel.instants import Instant
from sim.messages.gateway_v1 import Event

if TYPE_CHECKING:
    from sim.scenario.season import Season


class Calm(NamedTuple):
    """How all markets of an event stand alike. `changed` is when the last of them moved or was settled, in whole seconds."""

    active: bool
    closed: bool
    changed: Instant


_calm: Memo[Calm | None] = Memo()
_standing: Memo[Event] = Memo()


def calm(exchange: Exchange, season: Season, number: int) -> Calm | None:
    """How an event's markets stand; None where they differ, where somebody quoted or traded, or where markets were added by hand."""
    if number in exchange.reference.grown:
        return None
    version = (exchange.trading.books.version_of(season.slug(number)), season_state(exchange, season, number), exchange.trading.lifecycle.shelf_moved)
    return _calm.get(exchange, number, version, lambda: _look(exchange, season, number))


def calm_event(exchange: Exchange, season: Season, number: int, how: Calm) -> Event:
    """The event as lists look at it, without its markets."""
    game = how_it_stands(exchange, season.bare(number))

    def make() -> Event:
        bare = season.standing(number, active=how.active, closed=how.closed)
        found = replace(bare, updated_at=max(bare.updated_at or 0, how.changed, whole_seconds(game.at)))
        if game is not NOTHING:
            play(found, game)
        return found

    return _standing.get(exchange, number, (how, game), make)


def _look(exchange: Exchange, season: Season, number: int) -> Calm | None:
    trading = exchange.trading
    lifecycle, resting = trading.lifecycle, season_state(exchange, season, number)
    since = season_moved(exchange, season, number, resting)
    found: Calm | None = None
    for symbol in season.symbols_of(number):
        if trading.books.touched(symbol) is not None or trading.trades.of_symbol(symbol):
            return None
        owned = lifecycle.owns(symbol)
        state = lifecycle.state(symbol) if owned else resting
        settled = trading.settlements.get(symbol) if owned else None
        closed = state in CLOSED or (settled is not None and not settled.preliminary)
        changed = max(lifecycle.version(symbol) if owned else since, settled.set_at if settled is not None and state in CLOSED else 0)
        mine = Calm(state in ACTIVE and not closed, closed, whole_seconds(changed))
        if found is not None and mine != found:
            return None
        found = mine
    return found
