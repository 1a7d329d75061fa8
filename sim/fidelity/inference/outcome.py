"""What a trial replays with, what came of it, and what changed from one to another."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from sim.fidelity.difference import Difference, shown

# Differences that hide all others of their line.
WHOLE = frozenset(("status", "missing frame", "extra frame", "no answer", "time"))
_DRAWN = re.compile(r"(?:id|Id|ids|Ids|token|Token|cursor|Cursor|uuid)(?:\[\d+\])?$")
CERTAIN = 3  # lines that got worse, more than can still get better: the trial is over
ALL = 1 << 60  # steps


class Decisions(Struct, frozen=True):
    """Whether a quirk strikes when it is asked: time by time, and `after` them."""

    after: bool
    times: tuple[bool, ...] = ()

    def at(self, time: int) -> bool:
        """Whether it strikes this time, counted from 0."""
        return self.times[time] if time < len(self.times) else self.after

    def flipped(self, time: int) -> Decisions:
        """The same but for one time."""
        known = [self.at(number) for number in range(max(time + 1, len(self.times)))]
        known[time] = not known[time]
        return Decisions(self.after, tuple(known))


class Setting(Struct, frozen=True):
    """What a trial replays with: values that differ from the scenario's, as scenarios write them,
    and what quirks do.
    """

    values: dict[str, str] = {}
    quirks: dict[str, Decisions] = {}

    def with_value(self, name: str, value: str) -> Setting:
        """The same with another value of an assumption."""
        return replace(self, values={**self.values, name: value})

    def with_quirk(self, name: str, decisions: Decisions) -> Setting:
        """The same with other decisions of a quirk."""
        return replace(self, quirks={**self.quirks, name: decisions})


class Outcome(Struct):
    """What differs, by line: the places with their kind, what was recorded and what we said; and
    when values were asked for.
    """

    lines: dict[int, dict[str, Difference]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # assumptions
    asks: dict[str, list[int]] = field(default_factory=dict)  # of quirks: the line of each time
    asked_after: dict[str, int] = field(default_factory=dict)  # how many steps; -1: to begin
    asks_after: dict[str, list[int]] = field(default_factory=dict)  # of each time of a quirk
    names: dict[int, str] = field(default_factory=dict)  # operations of the lines that differ
    until: int = 0  # the last line that was compared
    whole: bool = True
    failure: str = ""  # why it could not be replayed

    def signature(self, n: int) -> tuple[tuple[str, str, str], ...]:
        """How a line differs. Values that are drawn are left out."""
        line = self.lines.get(n)
        if not line:
            return ()
        return tuple(
            (where, one.kind, "" if _DRAWN.search(where) else str(shown(one.ours)))
            for where, one in sorted(line.items())
        )

    def is_lost(self, against: Outcome, certain: int = CERTAIN) -> bool:
        """Whether so many lines more are worse already than can become better still."""
        worse = sum(_rated(against.lines.get(n), line) < 0 for n, line in self.lines.items())
        if worse < certain:
            return False
        return worse >= certain + sum(n not in self.lines for n in against.lines)

    def same_steps(self, now: Setting, other: Setting) -> int:
        """How many steps of this outcome's replay, which had one setting, go alike with another:
        until something is asked for in which they differ. -1: none; `ALL`: all of them.
        """
        names = now.values.keys() | other.values.keys()
        asked = [
            self.asked_after.get(name, ALL)
            for name in names
            if now.values.get(name) != other.values.get(name)
        ]
        for name in now.quirks.keys() | other.quirks.keys():
            one, two = now.quirks.get(name), other.quirks.get(name)
            if one != two:
                asked += self._first_flip(name, one, two)
        return min(asked, default=ALL)

    def _first_flip(self, name: str, one: Decisions | None, two: Decisions | None) -> list[int]:
        """The first time at which a quirk is decided otherwise."""
        for time, steps in enumerate(self.asks_after.get(name, ())):
            if one is None or two is None or one.at(time) != two.at(time):
                return [steps]
        return []


class Change(Struct, frozen=True):
    """What one outcome does to lines as compared with another: all of them, those that became
    better, and worse.
    """

    touched: tuple[int, ...] = ()
    better: tuple[int, ...] = ()
    worse: tuple[int, ...] = ()

    @property
    def gain(self) -> int:
        """Lines that became better, less those that became worse."""
        return len(self.better) - len(self.worse)


def change(before: Outcome, after: Outcome) -> Change:
    """What changed from one outcome to another, as far as both were replayed."""
    until = min(before.until, after.until)
    lines = sorted(n for n in before.lines.keys() | after.lines.keys() if n <= until)
    touched = tuple(n for n in lines if before.signature(n) != after.signature(n))
    rated = [(n, _rated(before.lines.get(n), after.lines.get(n))) for n in touched]
    return Change(
        touched,
        tuple(n for n, rate in rated if rate > 0),
        tuple(n for n, rate in rated if rate < 0),
    )


def _rated(before: Mapping[str, Difference] | None, after: Mapping[str, Difference] | None) -> int:
    """1 where a line became better, -1 where worse, 0 where nobody can say."""
    if not before or not after:
        return bool(before) - bool(after)
    hidden, hides = _hides(before), _hides(after)
    if hidden != hides:
        return 1 if hidden else -1
    if hidden:
        return 0
    was, now = before.keys(), after.keys()
    return (now < was) - (was < now)


def _hides(line: Mapping[str, Difference]) -> bool:
    return any(one.kind in WHOLE for one in line.values())
