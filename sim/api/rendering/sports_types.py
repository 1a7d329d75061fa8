"""Names of the types of sports markets, some of which changed on a date."""

from __future__ import annotations

from sim.core.exchange import Exchange
from sim.kernel.dated import Dated

WHOLE_GAME_TYPES = Dated(
    False,
    ("2026-09-29", True),
    name="markets.whole_game_types",
    section="recordings",
    title="sportsMarketType of whole games names the sport: football_team_full_game_winner",
)
_WHOLE_GAME = {"moneyline": "winner", "spreads": "spread", "totals": "total"}
_SPORTS = ("football", "basketball", "hockey")


def sports_market_type(exchange: Exchange, kind: str, symbol: str) -> str:
    """Return the present name of a type; the league stands second in the symbol of a game."""
    league = exchange.reference.league_by_slug.get(symbol.partition("-")[2].partition("-")[0])
    if league is None or not WHOLE_GAME_TYPES.at(exchange.now):
        return kind
    if kind == "drawable_outcome":
        return "soccer_team_full_time_winner"
    sport = exchange.reference.sport_of(league).slug
    if kind in _WHOLE_GAME and sport in _SPORTS:
        return f"{sport}_team_full_game_{_WHOLE_GAME[kind]}"
    return kind
