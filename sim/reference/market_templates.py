"""The markets of a season's games as stencils: what is the same in every game of a league that was
listed in the same era, with places for the teams' names.

A symbol or a question is a stencil with two names filled in, so tens of thousands of them are
spelled in milliseconds and none has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim.kernel.instants import Instant
from sim.messages.gateway_v1 import Team
from sim.reference.default_games import game_event
from sim.reference.market_layout import Game, slots_of
from sim.reference.market_pair import combinable, sports_type_v2
from sim.reference.reference import Reference, texts_of

# Names of two teams that nobody has, short and long, and of their game.
SHORT = "\x01", "\x02"
LONG = "\x03", "\x04"
STEM = "\x05"


class Kind(NamedTuple):
    """What is the same about the n-th market of every game of a league that was listed in the same
    era.
    """

    product: str
    tail: str  # of the symbol, after the stem of the game
    question: str
    cents: bool
    market_type: str
    sports_market_type: str
    sports_market_type_v2: str
    combo_enabled: bool


def kinds_of(league: str, sets: tuple[str, ...], created: Instant) -> tuple[Kind, ...]:
    """The markets of a league's games that were listed when one was created at an instant."""
    return tuple(
        Kind(
            slot.product, slot.tail, slot.question, slot.cents,
            slot.market_type, slot.sports_type, sports_type_v2(slot.market_type), combinable(slot.market_type),
        )
        for slot in slots_of(_game(league, sets, created), ())
    )  # fmt: skip


def texts_of_kinds(
    league: str, sets: tuple[str, ...], created: Instant, reference: Reference
) -> Iterator[str]:
    """The texts of such a game's event and markets that a search looks at, with marks in place of
    names.
    """
    game = _game(league, sets, created)
    yield from texts_of(game_event(game, reference, 0))
    for kind in kinds_of(league, sets, created):
        yield f"{kind.product}-{STEM}{kind.tail}"
        yield kind.question


def _game(league: str, sets: tuple[str, ...], created: Instant) -> Game:
    first, second = (
        Team(abbreviation=short, name=long) for short, long in zip(SHORT, LONG, strict=True)
    )
    return Game(
        league=league,
        home=first,
        away=second,
        first=first,
        second=second,
        stem=STEM,
        start=created,
        created=created,
        sets=sets,
    )


class Spelling(NamedTuple):
    """How symbols of some kinds are put together around the stem of a game, and whether names of
    teams stand in any.
    """

    parts: tuple[tuple[str, str], ...]
    named: bool

    def symbols(self, stem: str, short: tuple[str, str]) -> list[str]:
        """The symbols of a game's markets, in order; the teams by their abbreviations in lower
        case.
        """
        if self.named:
            return [f"{before}{stem}{_filled(after, SHORT, short)}" for before, after in self.parts]
        return [f"{before}{stem}{after}" for before, after in self.parts]


def spelling_of(kinds: tuple[Kind, ...]) -> Spelling:
    """How the symbols of kinds of markets are put together."""
    return Spelling(
        tuple((f"{kind.product}-", kind.tail) for kind in kinds),
        any(kind.tail.endswith(SHORT) for kind in kinds),
    )


def tail_of(kind: Kind, short: tuple[str, str]) -> str:
    """How a symbol ends in a game of these teams."""
    return _filled(kind.tail, SHORT, short)


def questions(kinds: tuple[Kind, ...], long: tuple[str, str]) -> Iterator[str]:
    """The questions of a game's markets, in order; the teams by their names."""
    return (_filled(kind.question, LONG, long) for kind in kinds)


def filled(text: str, stem: str, short: tuple[str, ...], long: tuple[str, ...]) -> str:
    """A text with names in place of all marks."""
    return _filled(_filled(text.replace(STEM, stem), SHORT, short), LONG, long)


def _filled(text: str, places: tuple[str, str], names: tuple[str, ...]) -> str:
    return text.replace(places[0], names[0]).replace(places[1], names[1])
