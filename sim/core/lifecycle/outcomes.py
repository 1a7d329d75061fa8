"""The outcome of a market, computed from the facts of its game (§2.10), with one rule per kind of
market.

A rule answers yes, no, a tie (which pays 0.50), or None while the facts do not decide. Periods are
called Q1 to Q4, 1H and 2H, S1 to S5, M1 to M5. Any other period (OT1, ET1, …) is extra time: it
counts for the whole game, but not for any part of it. Goals of soccer in extra time never count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from sim.core.model.games import Game, Goal
from sim.core.model.instrument import GameCondition


class MarketOutcome(Enum):
    """How a market resolved, for its long side."""

    YES = Fraction(1)
    NO = Fraction(0)
    TIE = Fraction(1, 2)

    @property
    def worth(self) -> tuple[Fraction, str]:
        """What the market pays: dollars, and the reason in words."""
        return self.value, self.name.title()


Rule = Callable[[GameCondition, Game], MarketOutcome | None]
Score = tuple[int, int]  # home, away
Ask = Callable[[GameCondition, Score | None], MarketOutcome | None]

_HALVES = {"first": ("Q1", "Q2"), "second": ("Q3", "Q4")}
_DOUBLE_STATS = ("points", "rebounds", "assists", "steals", "blocks")
_PLAYER_STATISTICS = ("points", "assists", "rebounds", "threes", "steals", "blocks")


def outcome_of(condition: GameCondition, game: Game) -> MarketOutcome | None:
    """Return the outcome of a market.

    None while the facts do not decide it, or if no rule knows its kind. A game without a result
    ties every market.
    """
    if game.result == "no_result":
        return MarketOutcome.TIE
    rule = _rule(condition.kind)
    return None if rule is None else rule(condition, game)


@lru_cache(maxsize=256)
def _rule(kind: str) -> Rule | None:
    """Return the rule for a kind of market."""
    return next((rule for pattern, rule in _RULES if pattern.fullmatch(kind)), None)


# ---- scores


def _final_score(game: Game) -> Score | None:
    """Return the final score, including extra time: the sum of the periods or goals, unless a later
    report gave the score.
    """
    reported = _reported(game)
    if game.score_is_last and reported is not None:
        return reported
    if game.periods:
        return _sum(game.periods.values())
    if game.goals is not None:
        return _goals(game.goals)
    return reported


def _reported(game: Game) -> Score | None:
    home, away = game.home_score, game.away_score
    return None if home is None or away is None else (home, away)


def _part(game: Game, names: tuple[str, ...]) -> Score | None:
    """Return the score of some periods; None unless all are known."""
    if not all(name in game.periods for name in names):
        return None
    return _sum(game.periods[name] for name in names)


def _regulation(game: Game) -> Score | None:
    """Return the goals of the ninety minutes, including stoppage time.

    A reported score counts as theirs, unless periods of extra time are known.
    """
    extra = game.periods.keys() - {"1H", "2H"}
    if game.score_is_last and not extra:
        return _reported(game)
    if game.goals is not None:
        return _goals(goal for goal in game.goals if goal.minute <= 90)
    return _part(game, ("1H", "2H")) if game.periods else _final_score(game)


def _half_goals(game: Game, half: str) -> list[Goal] | None:
    """Return the goals of a half, in order, including stoppage time."""
    if game.goals is None:
        return None
    minutes = range(46) if half == "first" else range(46, 91)
    goals = [goal for goal in game.goals if goal.minute in minutes]
    return sorted(goals, key=lambda goal: (goal.minute, goal.stoppage))


def _sum(scores: Iterable[Score]) -> Score:
    home, away = zip(*scores, strict=True)
    return sum(home), sum(away)


def _goals(goals: Iterable[Goal]) -> Score:
    teams = [goal.team for goal in goals]
    return teams.count("home"), teams.count("away")


# ---- rules


def _for_long(condition: GameCondition, score: Score) -> tuple[int, int]:
    return score if condition.long == "home" else (score[1], score[0])


def _winner(condition: GameCondition, score: Score | None) -> MarketOutcome | None:
    if score is None:
        return None
    long, short = _for_long(condition, score)
    return (
        MarketOutcome.TIE
        if long == short
        else MarketOutcome.YES
        if long > short
        else MarketOutcome.NO
    )


def _spread(condition: GameCondition, score: Score | None) -> MarketOutcome | None:
    """The line is added to the score of the long side."""
    if score is None:
        return None
    long, short = _for_long(condition, score)
    return _sign(long + Fraction(condition.line or "0") - short)


def _total(condition: GameCondition, score: Score | None) -> MarketOutcome | None:
    return None if score is None else _sign(sum(score) - Fraction(condition.line or "0"))


def _sign(margin: Fraction) -> MarketOutcome:
    return (
        MarketOutcome.TIE if margin == 0 else MarketOutcome.YES if margin > 0 else MarketOutcome.NO
    )


def _yes(answer: bool | None) -> MarketOutcome | None:
    return None if answer is None else MarketOutcome.YES if answer else MarketOutcome.NO


def _player(condition: GameCondition, game: Game) -> MarketOutcome | None:
    stats = game.players.get(condition.player)
    stat = condition.kind.removeprefix("basketball_player_")
    if stats is None or stat not in stats:
        return None
    return _sign(stats[stat] - Fraction(condition.line or "0"))


def _doubles(condition: GameCondition, game: Game) -> MarketOutcome | None:
    """Decide a double- or triple-double: ten or more in two or three of five figures."""
    stats = game.players.get(condition.player)
    if stats is None:
        return None
    tens = sum(stats.get(name, 0) >= 10 for name in _DOUBLE_STATS)
    return _yes(tens >= (2 if "double_double" in condition.kind else 3))


def _of(ask: Ask, score: Callable[[Game], Score | None]) -> Rule:
    """Return a rule about a score of the game."""
    return lambda condition, game: ask(condition, score(game))


def _half_score_rule(ask: Ask) -> Rule:
    """Return a rule about the half that the condition names."""

    def rule(condition: GameCondition, game: Game) -> MarketOutcome | None:
        half = "first" if "first_half" in condition.kind else "second"
        return ask(condition, _part(game, _HALVES[half]))

    return rule


def _inning_total(condition: GameCondition, game: Game) -> MarketOutcome | None:
    """Decide the runs of the inning that the condition names."""
    return _total(condition, _part(game, (f"I{condition.kind[len('baseball_team_inning')]}",)))


def _both_score(condition: GameCondition, game: Game) -> MarketOutcome | None:
    goals = _half_goals(game, "first" if "first_half" in condition.kind else "second")
    return None if goals is None else _yes({goal.team for goal in goals} == {"home", "away"})


def _first_to_score(condition: GameCondition, game: Game) -> MarketOutcome | None:
    """Decide who scored first; None if nobody scored in the half."""
    goals = _half_goals(game, "first" if "first_half" in condition.kind else "second")
    if goals is None:
        return None
    first = goals[0].team if goals else "none"
    return _yes(first == (condition.pick or condition.long))


def _three_way(condition: GameCondition, game: Game) -> MarketOutcome | None:
    score = _regulation(game)
    if score is None:
        return None
    result = "draw" if score[0] == score[1] else "home" if score[0] > score[1] else "away"
    return _yes(result == (condition.pick or condition.long))


def _advance(condition: GameCondition, game: Game) -> MarketOutcome | None:
    return _yes(game.advances == condition.long) if game.advances else None


def _numbered(prefix: str) -> Rule:
    """Return a rule about the n-th map, game or set.

    One that a finished match did not reach ties.
    """

    def rule(condition: GameCondition, game: Game) -> MarketOutcome | None:
        number = re.search(r"_(\d)(_|$)", condition.kind)
        if number is None or not game.periods:
            return None
        score = game.periods.get(f"{prefix}{number[1]}")
        return (
            (MarketOutcome.TIE if game.ended else None)
            if score is None
            else _winner(condition, score)
        )

    return rule


def _sets(game: Game) -> list[Score]:
    return [score for name, score in game.periods.items() if re.fullmatch(r"[SM]\d", name)]


def _sets_won(game: Game) -> Score | None:
    if not _sets(game):
        return None
    if game.score_is_last:
        return _reported(game)
    winners = [home > away for home, away in _sets(game) if home != away]
    return winners.count(True), winners.count(False)


def has_sets(game: Game) -> bool:
    """Return whether scores of sets or maps of a game are known."""
    return bool(_sets(game))


def match_score(game: Game) -> Score | None:
    """Return the score by which a game is won: sets or maps won, else points or goals."""
    return _sets_won(game) or _final_score(game)


def _games_won(game: Game) -> Score | None:
    sets = _sets(game)
    return _sum(sets) if sets else None


def _match_winner(condition: GameCondition, game: Game) -> MarketOutcome | None:
    return _winner(condition, match_score(game))


def _total_sets(condition: GameCondition, game: Game) -> MarketOutcome | None:
    if game.score_is_last:
        return _total(condition, _sets_won(game))
    return _total(condition, (len(_sets(game)), 0)) if _sets(game) else None


def _exact_score(condition: GameCondition, game: Game) -> MarketOutcome | None:
    score = _sets_won(game)
    if score is None:
        return None
    return _yes("{}-{}".format(*_for_long(condition, score)) == condition.pick)


_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"basketball_player_(double_double|triple_double)", _doubles),
        (rf"basketball_player_({'|'.join(_PLAYER_STATISTICS)})", _player),
        (r"basketball_team_(first|second)_half_winner", _half_score_rule(_winner)),
        (r"basketball_team_(first|second)_half_spread", _half_score_rule(_spread)),
        (r"basketball_team_(first|second)_half_total", _half_score_rule(_total)),
        (r"baseball_team_inning[1-9]_total", _inning_total),
        (r"soccer_game_(first|second)_half_btts", _both_score),
        (r"soccer_game_(first|second)_half_first_team_to_score", _first_to_score),
        (r"soccer_game_to_advance", _advance),
        (r"drawable_outcome", _three_way),
        (r"esports_(map|game)_winner_\d", _numbered("M")),
        (r"tennis_set_\d_winner", _numbered("S")),
        (r"tennis_match_games_spread", _of(_spread, _games_won)),
        (r"tennis_match_sets_spread", _of(_spread, _sets_won)),
        (r"tennis_match_total_games", _of(_total, _games_won)),
        (r"tennis_match_total_sets", _total_sets),
        (r"tennis_match_exact_score", _exact_score),
        (r"(tennis|esports|table_tennis)_match_winner|ufc_fight_winner", _match_winner),
        (r"moneyline|.*_full_game_winner", _of(_winner, _final_score)),
        (r"spreads|.*_full_game_spread", _of(_spread, _final_score)),
        (r"totals|.*_full_game_total", _of(_total, _final_score)),
    )
)
