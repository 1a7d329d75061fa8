"""Templates of a game's markets: all properties of a market that do not depend on the teams.

`fixtures/world/market_sets.json` has the rows. A game lists some sets of them; a set depends on the
league (its usual lines, its names of market types) and on the day of listing (§2.10). So all games
of a league that were listed in the same era share a tuple of templates, and a game's symbols and
questions are these templates with two names filled in. Therefore tens of thousands of symbols can
be written, sorted and searched without creating a market.

Texts of a template contain placeholders: `{first}` and `{second}` are the names of the teams in the
order of the symbol, `{first_short}` and `{second_short}` their abbreviations in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

from msgspec import Struct, json
from msgspec.structs import replace

from sim.kernel import resources
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant

# From when one instrument has a team on each side (§2.10): the quarter-finals of 2026-07-05, and
# the night of 2026-07-03. Before, there was one instrument for each team.
TWO_SIDED: dict[str, Dated[bool]] = {
    "soccer": Dated(
        False,
        ("2026-07-05", True),
        name="markets.two_sided_soccer",
        section="§2.10",
        title="one instrument with a team on each side asks which team advances",
    ),
    "sets": Dated(
        False,
        ("2026-07-03T20:00:00-04:00", True),
        name="markets.two_sided_sets",
        section="§2.10",
        title="one instrument with a team on each side asks who wins a set or map",
    ),
}
INNINGS = Dated(
    False,
    ("2026-09-29", True),
    name="markets.innings",
    section="changelog v0.0.93",
    title="games of baseball in worlds that begin from then on have totals of each inning",
)
# Leagues whose symbols name the home team first (§2.6). The first team is the long side.
_HOME_FIRST = frozenset(
    ("epl", "efl-cup", "lal", "sea", "bun", "ucl", "mls", "lib", "fwc", "atp", "wta", "lol", "cs2")
)
_RUNGS = (1, 2, 3, 4)
T = TypeVar("T")


class MarketTemplate(Struct, frozen=True, kw_only=True):
    """One market of a game. `tail` follows league, teams and date in its symbol.

    A side is `first` or `second` for a team, otherwise its name. `cents` limits the market to ticks
    of a cent; `pick` is the outcome that it asks for, `first` or `second` for a team.
    """

    product: str
    type: str
    sports_type: str
    question: str
    tail: str = ""
    sides: tuple[str, str] = ("first", "second")
    line: str | None = None
    cents: bool = False
    player: str = ""
    pick: str = ""
    # Read from the fixture, where a row may describe several markets; unset in the result of
    # `templates`: `each_team` for one market a team, `two_sided` for one market after that date.
    each_team: bool = False
    two_sided: str = ""

    def symbol(self, stem: str, short: tuple[str, str]) -> str:
        """Return the symbol in a game; `short` are the teams' abbreviations in lower case."""
        return f"{self.product}-{stem}{self.ending(short)}"

    def ending(self, short: tuple[str, str]) -> str:
        """Return the end of the symbol in a game of these teams."""
        tail = self.tail
        if "{" not in tail:
            return tail
        return tail.replace("{first_short}", short[0]).replace("{second_short}", short[1])


class Player(NamedTuple):
    """A player with markets."""

    name: str
    slug: str


class _Group(Struct, frozen=True):
    """Rows that are repeated together: for each set of values, for each rung or for each player."""

    rows: tuple[MarketTemplate, ...]
    each: tuple[dict[str, str], ...] | str = ({},)


class _League(Struct, frozen=True):
    """Values of a league for placeholders, and the rungs of its ladder.

    `rungs` are the whole parts of the main spread and total, and the distance between two lines.
    """

    rungs: tuple[int, int, int]
    values: dict[str, str]


def ordered(league: str, home: T, away: T) -> tuple[T, T]:
    """Return two teams in the order of the symbols of a league."""
    return (home, away) if league in _HOME_FIRST else (away, home)


@lru_cache(maxsize=1024)
def era_of(created: Instant) -> frozenset[str]:
    """Return the kinds of markets that are two-sided if listed at an instant."""
    return frozenset(kind for kind, rule in TWO_SIDED.items() if rule.at(created))


def sets_at(sets: tuple[str, ...], begins: Instant) -> tuple[str, ...]:
    """Return the sets of markets that games have in a world that begins at an instant."""
    return sets if INNINGS.at(begins) else tuple(name for name in sets if name != "innings")


def symbols(those: Iterable[MarketTemplate], stem: str, short: tuple[str, str]) -> list[str]:
    """Return the symbols of templates in a game; most of them contain no team after the date."""
    return [
        template.symbol(stem, short)
        if "{" in template.tail
        else f"{template.product}-{stem}{template.tail}"
        for template in those
    ]


@lru_cache(maxsize=256)
def templates(
    league: str, sets: tuple[str, ...], era: frozenset[str], players: tuple[Player, ...] = ()
) -> tuple[MarketTemplate, ...]:
    """Return the templates of a league's games, in listing order."""
    groups, leagues = _fixture()
    league_templates = leagues.get(league, leagues["default"])
    return tuple(
        template
        for name in sets
        for group in groups[name]
        for values in _repeated(group, league_templates, players)
        for row in group.rows
        for template in _expanded(row, values, era)
    )


def filled(text: str, values: dict[str, str]) -> str:
    """Return a text with its placeholders replaced."""
    if "{" in text:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
    return text


@cache
def _fixture() -> tuple[dict[str, tuple[_Group, ...]], dict[str, _League]]:
    raw = json.decode(resources.path("fixtures", "world/market_sets.json").read_bytes())
    default = raw["leagues"]["default"]
    leagues = {}
    for league, own in raw["leagues"].items():
        values = default | own
        leagues[league] = _League(tuple(values.pop("rungs")), _with_lines(values))
    encoded = json.encode(raw["sets"])
    return json.decode(encoded, type=dict[str, tuple[_Group, ...]]), leagues


def _with_lines(values: dict[str, str]) -> dict[str, str]:
    """Add every value in the spelling of symbols: 2pt5 for 2.5."""
    return values | {f"{name}_pt": value.replace(".", "pt") for name, value in values.items()}


def _repeated(
    group: _Group, league: _League, players: tuple[Player, ...]
) -> Iterator[dict[str, str]]:
    """Yield the values of each repetition of a group."""
    if group.each == "players":
        yield from ({"player": player.name, "player_slug": player.slug} for player in players)
    elif group.each == "rungs":
        spread, total, step = league.rungs
        for rung in _RUNGS:
            lines = {"by": f"{spread + rung * step}.5", "above": f"{total + rung * step}.5"}
            if total > len(_RUNGS) * step:
                lines["below"] = f"{total - rung * step}.5"
            yield league.values | _with_lines(lines)
    else:
        yield from (league.values | values for values in group.each if isinstance(values, dict))


def _expanded(
    row: MarketTemplate, values: dict[str, str], era: frozenset[str]
) -> Iterator[MarketTemplate]:
    """Yield the markets of a row, without lines beyond the ladder."""
    template = replace(
        row,
        tail=filled(row.tail, values),
        sports_type=filled(row.sports_type, values),
        question=filled(row.question, values),
        line=None if row.line is None else filled(row.line, values),
        player=filled(row.player, values),
        each_team=False,
        two_sided="",
    )
    if template.line == "{below}":
        return
    if not row.each_team:
        yield template
    elif row.two_sided in era:
        yield replace(
            template,
            tail=template.tail.removesuffix("-{team_short}"),
            question=template.question.replace("{team}", "{first}"),
            sides=("first", "second"),
            pick="",
        )
    else:
        for team in ("first", "second"):
            yield replace(
                template,
                tail=template.tail.replace("{team_short}", f"{{{team}_short}}"),
                question=template.question.replace("{team}", f"{{{team}}}"),
                sides=(team, template.sides[1]),
                pick=team,
            )
