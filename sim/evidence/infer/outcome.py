"""The setting of a trial, its outcome, and the change from one outcome to another."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from sim.evidence.replay.session_comparison import ComparisonResults
from sim.evidence.validation.difference import LineVerdict, Misfit, reported

# A difference of one of these kinds hides all others of its line.
HIDING = frozenset(("status", "missing frame", "extra frame", "no answer", "time"))
_DRAWN = re.compile(r"(?:id|Id|ids|Ids|token|Token|cursor|Cursor|uuid)(?:\[\d+\])?$")
CERTAIN = 3  # a trial ends once this many lines more got worse than can still get better
ALL = 1 << 60  # a trial does not end early
_FRAMES_MAX = 20  # frames sent by one side only that a line lists


class Decisions(Struct, frozen=True):
    """Whether a quirk strikes each time it is asked: `times` first, then `after`."""

    after: bool
    times: tuple[bool, ...] = ()

    def __str__(self) -> str:
        """Return the odds of decisions without single times."""
        return "always" if self.after else "never"

    @property
    def opposite(self) -> Decisions:
        """Always if these decisions end with never, and never otherwise."""
        return Decisions(not self.after)

    def at(self, time: int) -> bool:
        """Return whether it strikes at this time, counted from 0."""
        return self.times[time] if time < len(self.times) else self.after

    def flipped(self, time: int) -> Decisions:
        """Return the same decisions except for one time."""
        times = [self.at(number) for number in range(max(time + 1, len(self.times)))]
        times[time] = not times[time]
        return Decisions(self.after, tuple(times))


class Setting(Struct, frozen=True):
    """The setting of a trial: values that differ from the scenario's, as scenarios write them, and
    the decisions of quirks.
    """

    values: dict[str, str] = {}
    quirks: dict[str, Decisions] = {}

    def with_value(self, name: str, value: str) -> Setting:
        """Return the same setting with another value of an assumption."""
        return replace(self, values={**self.values, name: value})

    def with_quirk(self, name: str, decisions: Decisions) -> Setting:
        """Return the same setting with other decisions of a quirk."""
        return replace(self, quirks={**self.quirks, name: decisions})


class TrialOutcome(Struct, ComparisonResults):
    """The differences of a trial by line and place, and when the exchange read
    assumptions and quirks.
    """

    lines: dict[int, dict[str, Misfit]] = {}
    asked: set[str] = set()  # assumptions that were read
    asks: dict[str, list[int]] = {}  # by quirk: the line of each time it was asked
    names: dict[int, str] = {}  # the operations of differing lines
    until: int = 0  # the last line that was compared
    complete: bool = True
    failure: str = ""  # the reason why the recording could not be replayed

    @property
    def counts(self) -> bool:
        """Whether the recording was replayed to its end."""
        return self.complete and not self.failure

    def differ(self, line: LineVerdict) -> None:
        """Note the differing places of a line. A frame that only we sent counts at the
        next recorded line.
        """
        places = self.lines.setdefault(line.n, {})
        self.names.setdefault(line.n, line.name)
        for misfit in line.differences:
            where, count = misfit.where, 1
            if misfit.kind in HIDING:  # several frames that only we sent
                while where in places and count < _FRAMES_MAX:
                    count += 1
                    where = f"{misfit.where} {count}"
            places.setdefault(where, misfit)

    def signature(self, n: int) -> tuple[tuple[str, str, str], ...]:
        """Return how a line differs, without drawn values."""
        line = self.lines.get(n)
        if not line:
            return ()
        return tuple(
            (where, misfit.kind, "" if _DRAWN.search(where) else str(reported(misfit.own)))
            for where, misfit in sorted(line.items())
        )

    def is_lost(self, against: TrialOutcome, certain: int = CERTAIN) -> bool:
        """Return whether so many lines more are worse than can still become better."""
        worse = sum(_rated(against.lines.get(n), line) < 0 for n, line in self.lines.items())
        if worse < certain:
            return False
        return worse >= certain + sum(n not in self.lines for n in against.lines)

    def depends_on(self, now: Setting, other: Setting) -> bool:
        """Return whether a replay with `other` reads anything that is not as with `now`, which
        gave this outcome.
        """
        names = now.values.keys() | other.values.keys()
        if any(now.values.get(name) != other.values.get(name) for name in names & self.asked):
            return True
        for name in now.quirks.keys() | other.quirks.keys():
            before, after = now.quirks.get(name), other.quirks.get(name)
            for time in range(len(self.asks.get(name, ()))):
                if before is None or after is None or before.at(time) != after.at(time):
                    return before != after
        return False


class OutcomeChange(Struct, frozen=True):
    """Lines that differ between two outcomes: all, those that became better, and worse."""

    touched: tuple[int, ...] = ()
    better: tuple[int, ...] = ()
    worse: tuple[int, ...] = ()

    @property
    def gain(self) -> int:
        """The number of lines that became better, less those that became worse."""
        return len(self.better) - len(self.worse)


class ValueTrial(Struct, frozen=True):
    """A trial of one other value: its setting, its outcome, and the change against
    the present outcome.
    """

    name: str
    value: str
    setting: Setting
    outcome: TrialOutcome
    change: OutcomeChange


def change(before: TrialOutcome, after: TrialOutcome) -> OutcomeChange:
    """Return the change between two outcomes, as far as both were replayed."""
    until = min(before.until, after.until)
    lines = sorted(n for n in before.lines.keys() | after.lines.keys() if n <= until)
    touched = tuple(n for n in lines if before.signature(n) != after.signature(n))
    rated = [(n, _rated(before.lines.get(n), after.lines.get(n))) for n in touched]
    return OutcomeChange(
        touched,
        tuple(n for n, rate in rated if rate > 0),
        tuple(n for n, rate in rated if rate < 0),
    )


def _rated(before: Mapping[str, Misfit] | None, after: Mapping[str, Misfit] | None) -> int:
    """Return 1 if a line became better, -1 if worse, 0 if undecided."""
    if not before or not after:
        return bool(before) - bool(after)
    hidden, hides = _hides(before), _hides(after)
    if hidden != hides:
        return 1 if hidden else -1
    if hidden:
        return 0
    was, now = before.keys(), after.keys()
    return (now < was) - (was < now)


def _hides(line: Mapping[str, Misfit]) -> bool:
    return any(misfit.kind in HIDING for misfit in line.values())
