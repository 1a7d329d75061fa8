"""One replay of a recording under chosen values: which lines differ, where, and what was asked for.

A trial is `sim compare --scenario` without the contract: what the recording does against the
contract and we do as well is no difference here, for the aim is to answer like it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sim.fidelity.answers import NoEvidence
from sim.fidelity.difference import Difference, shown
from sim.fidelity.identities import Unmatched
from sim.fidelity.replayed import Replayed
from sim.fidelity.service_clock import ServiceClock
from sim.recording.files import Entry, Message
from sim.recording.seen import Seen
from sim.scenario.scenario import Scenario
from sim.testing.client import RpcError

# Differences that hide all others of their line.
_WHOLE = frozenset(("status", "missing frame", "extra frame", "no answer", "time"))
_DRAWN = re.compile(r"(?:id|Id|ids|Ids|token|Token|cursor|Cursor|uuid)(?:\[\d+\])?$")
_CERTAIN = 3  # lines that got worse, more than can still get better: the trial is over


class Decisions(Struct, frozen=True):
    """Whether a quirk strikes when it is asked: time by time, and `after` them."""

    after: bool
    times: tuple[bool, ...] = ()

    def at(self, time: int) -> bool:
        """Whether it strikes this time, counted from 0."""
        return self.times[time] if time < len(self.times) else self.after

    def turned(self, time: int) -> Decisions:
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
    """What differs, by line: the places with their kind, what was recorded and what we said."""

    lines: dict[int, dict[str, Difference]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # assumptions
    asks: dict[str, list[int]] = field(default_factory=dict)  # of quirks: the line of each time
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
    return any(one.kind in _WHOLE for one in line.values())


class Session(Struct):
    """A recording, the scenario, and what is the same in every trial."""

    scenario: Scenario
    seed: int | None
    entries: list[Entry]
    silent: dict[int, bool] = {}  # lines of which no document says anything
    trials: int = 0
    clock: ServiceClock | None = None  # read once

    def __post_init__(self) -> None:
        self.clock = self.clock or ServiceClock(self.entries)

    def scenario_with(self, setting: Setting) -> Scenario:
        """The scenario with the values of a setting."""
        values = {**self.scenario.assumptions, **setting.values}
        return replace(self.scenario, assumptions=values)

    def tried(
        self, setting: Setting, against: Outcome | None = None, seed: int | None = None
    ) -> Outcome:
        """The outcome of a replay. Against another it ends once it cannot become better than that.
        Unmatched: the scenario has nobody for somebody of the recording.
        """
        self.trials += 1
        outcome = Outcome()
        try:
            trial = _Trial(self, setting, outcome, self.seed if seed is None else seed)
            for n in trial.steps():
                outcome.until = max(outcome.until, n)
                if against is not None and _is_lost(outcome, against):
                    outcome.whole = False
                    return outcome
        except (RpcError, Unmatched) as error:
            if against is None:
                raise Unmatched(str(error)) from None
            outcome.failure = str(error)
        outcome.until = max(outcome.until, self.entries[-1].n if self.entries else 0)
        return outcome


def _is_lost(outcome: Outcome, against: Outcome) -> bool:
    """Whether more lines are worse already than can become better still."""
    worse = sum(_rated(against.lines.get(n), line) < 0 for n, line in outcome.lines.items())
    if worse < _CERTAIN:
        return False
    return worse >= _CERTAIN + sum(n not in outcome.lines for n in against.lines)


class _Trial(Replayed):
    """A replay that notes what differs, and decides when quirks strike."""

    def __init__(
        self, session: Session, setting: Setting, outcome: Outcome, seed: int | None
    ) -> None:
        notes = _Notes(outcome)
        super().__init__(
            session.scenario_with(setting),
            seed,
            session.entries,
            notes,  # type: ignore[arg-type]
            session.clock,
        )
        self._silent, self._line, self._outcome = session.silent, 0, outcome
        self._setting, self._times = setting, Counter[str]()
        ctx = self._player.world.simulation.exchange.ctx
        self._odds = {name: ctx.quirks.as_written(name) for name in ctx.quirks.save()}
        ctx.quirks.decided_by(self._decide)
        outcome.asked = ctx.assumptions.watch()

    def steps(self, on_line: Callable[[], None] = lambda: None) -> Iterator[int]:
        for n in super().steps(on_line):
            self._line = n
            yield n

    def _decide(self, name: str) -> bool:
        time, self._times[name] = self._times[name], self._times[name] + 1
        self._outcome.asks.setdefault(name, []).append(self._line + 1)
        decisions = self._setting.quirks.get(name) or Decisions(self._odds[name] != "never")
        return decisions.at(time)

    def _known(self, seen: Seen) -> list[Difference] | None:
        silent = self._silent.get(seen.entry.n)
        if silent is None:
            try:
                self._checker.check(seen)
                silent = False
            except NoEvidence:
                silent = True
            self._silent[seen.entry.n] = silent
        return None if silent else []

    def _blamed(self, seen: Seen, ours: Message, differences: list[Difference]) -> list[Difference]:
        return differences

    def _spoilt(self, seen: Seen, ours: Message) -> bool:
        return False


class _Notes:
    """Takes what a comparison tells its tally."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def agree(self, name: str) -> None:
        """Nothing to note."""

    def no_evidence(self, name: str, why: str) -> None:
        """Nothing to note."""

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """Note the places of a line. A frame that only we sent stands at the next recorded one."""
        line = self._outcome.lines.setdefault(n, {})
        self._outcome.names.setdefault(n, name)
        for one in differences:
            where = one.where
            while where in line and one.kind in _WHOLE:
                where += "+"  # several frames that only we sent
            line.setdefault(where, one)


def recorded_value(outcome: Outcome, n: int, where: str) -> Any:
    """What was recorded at a place that differs."""
    return outcome.lines[n][where].recorded
