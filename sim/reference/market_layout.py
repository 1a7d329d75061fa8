"""What markets a game has: sets of them by the names that rows use, and how their symbols are
spelled (product, league, teams, date, outcome).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from sim.core.model.enums import InstrumentState
from sim.kernel.instants import Instant, parse_instant
from sim.messages.gateway_v1 import Subject, Team
from sim.reference.market_pair import Side

# From when one instrument has a team on each side (§2.10): the quarter-finals of 2026-07-05, and
# the night of 2026-07-03.
TWO_SIDED_SOCCER = parse_instant("2026-07-05T00:00:00-04:00")
TWO_SIDED_SETS = parse_instant("2026-07-03T20:00:00-04:00")

# The first team of a symbol is the long side; which of the two comes first is a habit of the league
# (§2.6).
_HOME_FIRST = frozenset(
    ("epl", "efl-cup", "lal", "sea", "bun", "ucl", "mls", "lib", "fwc", "atp", "wta", "lol", "cs2")
)
_PLAYER_PROPS = (
    "points",
    "assists",
    "rebounds",
    "threes",
    "steals",
    "blocks",
    "double_double",
    "triple_double",
)
_PROP_LINES = {
    "points": "22.5",
    "assists": "6.5",
    "rebounds": "8.5",
    "threes": "2.5",
    "steals": "1.5",
    "blocks": "1.5",
}
# By league: whole part of the main spread and total, and the distance between two lines.
_RUNGS = {
    "nfl": (3, 44, 2),
    "mlb": (1, 8, 1),
    "nhl": (1, 6, 1),
    "nba": (5, 218, 2),
    "wnba": (5, 164, 2),
    "atp": (3, 22, 1),
    "wta": (3, 20, 1),
}


class Slot(NamedTuple):
    """One market to make. `tail` follows league, teams and date in its symbol; `cents` limits it to
    cent ticks; `pick` is what exactly it asks for.
    """

    product: str
    tail: str
    market_type: str
    sports_type: str
    question: str
    long: Side
    short: Side
    line: str | None = None
    cents: bool = False
    subject: str = ""
    pick: str = ""


class Game(NamedTuple):
    """A game and what is to be listed on it. `first` and `second` are its teams in the order of the
    symbol, `stem` is league, teams and date as symbols spell them. `state` is the state its markets
    begin in, None for what dates ask for; `opens` is when they open, None for at once.
    """

    league: str
    home: Team
    away: Team
    first: Team
    second: Team
    stem: str
    start: Instant
    created: Instant
    sets: tuple[str, ...]
    fee_class: str = "standard"
    state: InstrumentState | None = None
    opens: Instant | None = None

    def side_of(self, team: Team) -> str:
        """home or away."""
        return "home" if team is self.home else "away"


T = TypeVar("T")


def ordered(league: str, home: T, away: T) -> tuple[T, T]:
    """Two teams in the order in which symbols of a league name them."""
    return (home, away) if league in _HOME_FIRST else (away, home)


def _sides(game: Game) -> tuple[Side, Side]:
    return Side(game.first.name, game.first), Side(game.second.name, game.second)


def _yes_no() -> tuple[Side, Side]:
    return Side("Yes"), Side("No")


def _spelled(line: str) -> str:
    return line.replace(".", "pt")


def _lines(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    spread, total = {"nfl": ("3.5", "44.5"), "mlb": ("1.5", "8.5"), "nhl": ("1.5", "6.5")}.get(
        game.league, ("5.5", "218.5")
    )
    basketball = game.league in ("nba", "wnba")
    kinds = (
        "basketball_team_full_game_winner",
        "basketball_team_full_game_spread",
        "basketball_team_full_game_total",
    )
    winner, spreads, totals = kinds if basketball else ("moneyline", "spreads", "totals")
    yield Slot("aec", "", "moneyline", winner, f"Will {long.name} beat {short.name}?", long, short)
    yield Slot(
        "asc",
        f"-pos-{_spelled(spread)}",
        "spreads",
        spreads,
        f"Will {long.name} lose by fewer than {spread} or win?",
        long,
        short,
        spread,
    )
    yield Slot(
        "tsc",
        f"-{_spelled(total)}",
        "totals",
        totals,
        f"Will the game total exceed {total}?",
        Side("Over"),
        Side("Under"),
        total,
    )


def _ladder(game: Game) -> Iterator[Slot]:
    """More lines around the main ones: who is ahead by how much, and how much is scored."""
    long, short = _sides(game)
    spreads, totals = "spreads", "totals"
    if game.league in ("atp", "wta"):
        spreads, totals = "tennis_match_games_spread", "tennis_match_total_games"
    spread, total, step = _RUNGS.get(game.league, (1, 2, 1))
    for rung in range(1, 5):
        line = f"{spread + rung * step}.5"
        yield Slot(
            "asc",
            f"-pos-{_spelled(line)}",
            "spreads",
            spreads,
            f"Will {long.name} lose by fewer than {line} or win?",
            long,
            short,
            line,
        )
        yield Slot(
            "asc",
            f"-neg-{_spelled(line)}",
            "spreads",
            spreads,
            f"Will {long.name} win by more than {line}?",
            long,
            short,
            f"-{line}",
        )
        for shown in (
            (f"{total + rung * step}.5", f"{total - rung * step}.5")
            if total > 4 * step
            else (f"{total + rung * step}.5",)
        ):
            yield Slot(
                "tsc",
                f"-{_spelled(shown)}",
                "totals",
                totals,
                f"Will the game total exceed {shown}?",
                Side("Over"),
                Side("Under"),
                shown,
            )


def _halves(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    for half, name in (("first_half", "first half"), ("second_half", "second half")):
        mark = "1h" if half == "first_half" else "2h"
        kind = f"basketball_team_{half}"
        yield Slot(
            "aec",
            f"-{mark}",
            "moneyline",
            f"{kind}_winner",
            f"Will {long.name} win the {name}?",
            long,
            short,
        )
        yield Slot(
            "asc",
            f"-{mark}-pos-2pt5",
            "spreads",
            f"{kind}_spread",
            f"Will {long.name} cover 2.5 in the {name}?",
            long,
            short,
            "2.5",
        )
        yield Slot(
            "tsc",
            f"-{mark}-108pt5",
            "totals",
            f"{kind}_total",
            f"Will the {name} total exceed 108.5?",
            Side("Over"),
            Side("Under"),
            "108.5",
        )


def _props(game: Game, subjects: Sequence[Subject]) -> Iterator[Slot]:
    teams = {f"{team.league}:{team.abbreviation}" for team in (game.first, game.second)}
    for subject in subjects:
        if subject.description not in teams:
            continue
        for prop in _PLAYER_PROPS:
            line = _PROP_LINES.get(prop)
            words = prop.replace("_", "-")
            question = (
                f"Will {subject.display_name} have"
                f" {'more than ' + line + ' ' + prop if line else 'a ' + words}?"
            )
            tail = f"-{subject.slug}-{words}" + (f"-{_spelled(line)}" if line else "")
            yield Slot(
                "astatc",
                tail,
                "props",
                f"basketball_player_{prop}",
                question,
                *_yes_no(),
                line,
                subject=subject.display_name,
            )


def _three_way(game: Game) -> Iterator[Slot]:
    for team in (game.first, game.second):
        name = team.abbreviation.lower()
        question, pick = f"Will {team.name} win in 90 minutes?", game.side_of(team)
        yield Slot(
            "atc",
            f"-{name}",
            "drawable_outcome",
            "drawable_outcome",
            question,
            Side(team.name, team),
            Side("No"),
            pick=pick,
        )
    question = "Will the match be drawn after 90 minutes?"
    yield Slot(
        "atc",
        "-draw",
        "drawable_outcome",
        "drawable_outcome",
        question,
        Side("Draw"),
        Side("No"),
        pick="draw",
    )


def _soccer_halves(game: Game) -> Iterator[Slot]:
    for half, name in (("first_half", "first half"), ("second_half", "second half")):
        mark = "1h" if half == "first_half" else "2h"
        yield Slot(
            "astatc",
            f"-{mark}-btts",
            "props",
            f"soccer_game_{half}_btts",
            f"Will both teams score in the {name}?",
            *_yes_no(),
            cents=True,
        )
        kind = f"soccer_game_{half}_first_team_to_score"
        for team in (game.first, game.second):
            question = f"Will {team.name} score first in the {name}?"
            tail, side = f"-{mark}-first-{team.abbreviation.lower()}", Side(team.name, team)
            yield Slot(
                "astatc",
                tail,
                "props",
                kind,
                question,
                side,
                Side("No"),
                cents=True,
                pick=game.side_of(team),
            )
        yield Slot(
            "astatc",
            f"-{mark}-first-none",
            "props",
            kind,
            f"Will the {name} be goalless?",
            Side("None"),
            Side("No"),
            cents=True,
            pick="none",
        )


def _two_sided(
    game: Game, product: str, tail: str, kind: str, asks: str, created: Instant, since: Instant
) -> Iterator[Slot]:
    """One instrument with a team on each side; those created before `since` are one per team
    (§2.10). `asks` has a place for the team's name.
    """
    long, short = _sides(game)
    if created >= since:
        yield Slot(product, tail, "moneyline", kind, asks.format(long.name), long, short)
        return
    for team, side in ((game.first, long), (game.second, short)):
        mark = f"{tail}-{team.abbreviation.lower()}"
        yield Slot(
            product,
            mark,
            "moneyline",
            kind,
            asks.format(side.name),
            side,
            Side("No"),
            pick=game.side_of(team),
        )


def _advance(game: Game, created: Instant) -> Iterator[Slot]:
    yield from _two_sided(
        game, "aadc", "", "soccer_game_to_advance", "Will {} advance?", created, TWO_SIDED_SOCCER
    )


def _tennis(game: Game, created: Instant) -> Iterator[Slot]:
    long, short = _sides(game)
    over, under = Side("Over"), Side("Under")
    yield Slot(
        "aec",
        "",
        "moneyline",
        "tennis_match_winner",
        f"Will {long.name} beat {short.name}?",
        long,
        short,
    )
    yield Slot(
        "asc",
        "-games-3pt5",
        "spreads",
        "tennis_match_games_spread",
        f"Will {long.name} cover 3.5 games?",
        long,
        short,
        "3.5",
    )
    yield Slot(
        "asc",
        "-sets-1pt5",
        "spreads",
        "tennis_match_sets_spread",
        f"Will {long.name} cover 1.5 sets?",
        long,
        short,
        "1.5",
    )
    yield Slot(
        "tsc",
        "-games-22pt5",
        "totals",
        "tennis_match_total_games",
        "Will there be more than 22.5 games?",
        over,
        under,
        "22.5",
    )
    yield Slot(
        "tsc",
        "-sets-2pt5",
        "totals",
        "tennis_match_total_sets",
        "Will there be a third set?",
        over,
        under,
        "2.5",
    )
    yield Slot(
        "astatc",
        "-2-0",
        "props",
        "tennis_match_exact_score",
        f"Will {long.name} win 2-0?",
        *_yes_no(),
        pick="2-0",
    )
    for number in (1, 2, 3):
        yield from _two_sided(
            game,
            "aec",
            f"-set-{number}",
            f"tennis_set_{number}_winner",
            f"Will {{}} win set {number}?",
            created,
            TWO_SIDED_SETS,
        )


def _esports(game: Game, unit: str, created: Instant) -> Iterator[Slot]:
    long, short = _sides(game)
    yield Slot(
        "aec",
        "",
        "moneyline",
        "esports_match_winner",
        f"Will {long.name} beat {short.name}?",
        long,
        short,
    )
    for number in (1, 2, 3):
        kind = f"esports_{unit}_winner_{number}"
        yield from _two_sided(
            game,
            "aec",
            f"-{unit}-{number}",
            kind,
            f"Will {{}} win {unit} {number}?",
            created,
            TWO_SIDED_SETS,
        )


def _winner(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    kind = "ufc_fight_winner" if game.league == "ufc" else "table_tennis_match_winner"
    yield Slot("aec", "", "moneyline", kind, f"Will {long.name} beat {short.name}?", long, short)


def slots_of(game: Game, subjects: Sequence[Subject]) -> Iterator[Slot]:
    """Every market of a game, in the shape of the day on which they are created; `subjects` are the
    players there may be markets on.
    """
    created = game.created
    sets = {
        "lines": lambda: _lines(game),
        "halves": lambda: _halves(game),
        "ladder": lambda: _ladder(game),
        "props": lambda: _props(game, subjects),
        "three_way": lambda: _three_way(game),
        "soccer_halves": lambda: _soccer_halves(game),
        "advance": lambda: _advance(game, created),
        "tennis": lambda: _tennis(game, created),
        "esports_games": lambda: _esports(game, "game", created),
        "esports_maps": lambda: _esports(game, "map", created),
        "winner": lambda: _winner(game),
    }
    for name in game.sets:
        yield from sets[name]()
