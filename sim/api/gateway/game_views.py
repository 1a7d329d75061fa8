"""A game on an event of the gateway: score, period, clock and scores by period (§2.11)."""

from __future__ import annotations

from sim.contract.messages.gateway_v1 import Event, EventState, PeriodScore, PeriodScore_Type
from sim.core.model.games import Game
from sim.kernel.instants import NS_PER_S, Instant, format_instant

# Names of regular periods: quarters, halves, sets, maps, thirds, innings, rounds.
_REGULAR = ("Q", "H", "S", "M", "P", "I", "R")


def whole_seconds(at: Instant) -> Instant:
    """Return an instant with the precision of reference data."""
    return at // NS_PER_S * NS_PER_S


def show_game(view: Event, game: Game) -> None:
    """Write the state of a game into its event."""
    for name in ("live", "ended", "period", "elapsed"):
        if (value := getattr(game, name)) is not None:
            setattr(view, name, value)
    view.live, view.ended = bool(view.live), bool(view.ended)
    text = ""
    if game.home_score is not None or game.away_score is not None:
        home, away = game.home_score or 0, game.away_score or 0
        view.score, text = {"home": home, "away": away}, f"{home}-{away}"
    if view.ended and game.at:
        view.finished_timestamp = whole_seconds(game.at)
    if game.at:
        state = "ended" if view.ended else "live" if view.live else "scheduled"
        updated = format_instant(whole_seconds(game.at))
        view.metadata = {"gameState": state, "latestGameUpdate": updated}
    scores = (_period_score(name, score) for name, score in _periods(game).items())
    view.event_state = EventState(
        id=f"{view.id}",
        event_id=f"{view.id}",
        game_id=view.game_id,
        type=view.subcategory,
        score=text,
        elapsed=view.elapsed,
        period=view.period,
        live=view.live,
        ended=view.ended,
        period_scores=sorted(scores, key=lambda part: (part.type, part.number)),
    )


def _periods(game: Game) -> dict[str, tuple[int, int]]:
    """Return the score (home, away) of each period, and of halves if the goals are known."""
    if game.periods or game.goals is None:
        return game.periods
    halves = {
        name: [goal.team for goal in game.goals if first <= goal.minute <= last]
        for name, first, last in (("1H", 1, 45), ("2H", 46, 90))
    }
    return {name: (teams.count("home"), teams.count("away")) for name, teams in halves.items()}


def _period_score(name: str, score: tuple[int, int]) -> PeriodScore:
    """Q1, 2H, S3, M1, P2 and I9 are regular, anything else (OT1, ET2, X10) is overtime."""
    number = "".join(filter(str.isdecimal, name))
    regular = name.strip("0123456789") in _REGULAR
    kind = PeriodScore_Type.REGULATION if regular else PeriodScore_Type.OVERTIME
    return PeriodScore(type=kind, number=int(number or 0), score=f"{score[0]}-{score[1]}")
