"""Shrinking: the smallest scenario that still fails in the same way.

The result is useful only if it is really the same failure. A candidate counts only if

1. the same step fails with the same message, identifiers apart, or the same invariant breaks.
   Removing the order that an expectation is about makes it fail, too, but for an irrelevant reason;
   and
2. it does not fail without its cause. A scenario may fail because of a fault; shrunk without this
   rule, it would end as an expectation that nothing could fulfil. The cause is named by `because`
   or found: settings first, then the latest step without which the run does not fail.

Candidates come from delta debugging (`delta.py`), coarse to fine: an empty world, the steps after
the failing one, other expectations, subsets of the steps, then each key and value of the document.
A round repeats until nothing changes. When steps are removed, the time that they took is added to
the next step, so that the rest happens at the same instants. Results are cached by document, and
their runs share a world (`rerun`). The result depends on the scenario alone, so two
people get the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from msgspec import json

from sim.kernel.instants import format_span, parse_span
from sim.read.errors import UsageError
from sim.read.headless_run import Report, run_scenario
from sim.read.identifiers import without_identifiers
from sim.run.loader.check_steps import step_problems
from sim.run.loader.load import scenario_from_document
from sim.run.simulation import Simulation
from sim.search.delta import minimal, pruned
from sim.world.format.expansion import REFERENCE
from sim.world.format.scenario import Scenario
from sim.world.format.yaml_tree import ScenarioError, tree_of

TRIALS = 3_000
# Causes other than a seed and a step: keys of the scenario and of its steps.
CAUSES = {
    "faults": ("faults", "fault"),
    "quirks": ("quirks", "quirk"),
    "assumptions": ("assumptions", "assumption"),
    "preset": ("preset",),
    "reading": ("reading",),
}
NOT_IN_RESULT = ("extends", "params", "matrix", "description", "steps")
Document: TypeAlias = dict[str, Any]
Steps: TypeAlias = list[tuple[int, Document]]  # each with its position in the whole scenario

_INTERNAL = "internal error"


class Failure(NamedTuple):
    """What a reduced run must still show.

    Either a broken invariant's name (`step` -1), or the message of a step, identified by its
    position in the whole scenario.
    """

    step: int
    message: str

    def is_in(self, report: Report, steps: Steps, *, any_failure: bool) -> bool:
        """Return whether a run of `steps` shows it.

        With `any_failure`, any failure of the step counts.
        """
        if self.step < 0:
            return any(_invariant(line) == self.message for line in report.broken)
        return any(
            steps[result.step - 1][0] == self.step
            and any(
                any_failure or without_identifiers(line) == self.message for line in result.failures
            )
            for result in report.results
        )


def failure_of(report: Report) -> Failure | None:
    """Return the failure to keep: the first broken invariant, or the first failing step's line."""
    if report.broken:
        return Failure(-1, _invariant(report.broken[0]))
    for result in report.results:
        if result.failures:
            return Failure(result.step - 1, without_identifiers(result.failures[0]))
    return None


def _invariant(line: str) -> str:
    """Return the name of a broken invariant: `money`, or `internal error: ZeroDivisionError`."""
    parts = line.split(": ")
    return ": ".join(parts[:2]) if parts[0] == _INTERNAL else parts[0]


class ShrunkScenario(NamedTuple):
    """The smallest document found, the report of its run, and the number of runs.

    `done` means that nothing more can be removed.
    """

    document: Document
    report: Report
    trials: int
    done: bool


class Shrinker:
    """Reduces one scenario.

    `because` names the cause: "faults", "quirks", "assumptions", "preset", "reading", "seed=1" or a
    step; "nothing" drops rule 2 above, "" finds the cause. `on_trial` is called with the number of
    steps that are left. Raises UsageError if the scenario does not fail, or fails without that
    cause as well.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        any_failure: bool = False,
        because: str = "",
        trials: int = TRIALS,
        on_trial: Callable[[int], None] = lambda steps: None,
    ) -> None:
        report = run_scenario(scenario)
        failure = failure_of(report)
        run = f"{report.title} with seed {report.seed}"
        if failure is None:
            raise UsageError(f"{run} does not fail: there is nothing to shrink")
        self.failure = failure
        self._any_failure = any_failure
        self._trials_max = trials
        self._on_trial = on_trial
        self._results: dict[bytes, bool] = {}
        self.trials = 0
        document = scenario.plain()
        self._rest = {key: value for key, value in document.items() if key not in NOT_IN_RESULT}
        self._steps: Steps = list(enumerate(document.get("steps", ())))
        self._smallest = self._rest, self._steps
        self._smallest_size = len(json.encode(_document(self._rest, self._steps)))
        self.interrupted = False
        causes = (it for it in self._causes() if self._depends_on(it, self._rest, self._steps))
        self.because = "" if because == "nothing" else because or next(causes, "")
        if self.because and not self._depends_on(self.because, self._rest, self._steps):
            raise UsageError(f"{run} fails without {because} too, or there is no such cause")

    def _causes(self) -> Iterator[str]:
        """Yield the settings and steps that may be the cause, the likeliest first."""
        for cause, keys in CAUSES.items():
            if any(key in part for part in (self._rest, *_bodies(self._steps)) for key in keys):
                yield cause
        for number, _ in reversed(self._steps):
            if self.failure.step < 0 or number < self.failure.step:
                yield f"step {number + 1}"

    def shrink(self) -> ShrunkScenario:
        """Reduce until nothing more can be removed, the trials are used up, or the user interrupts.

        In any case, the smallest scenario found so far is the result.
        """
        try:
            self._reduce()
        except KeyboardInterrupt:
            self.interrupted = True
            self._rest, self._steps = self._smallest
        document = _document(self._rest, self._steps)
        report = run_scenario(scenario_from_document(document))
        done = self.trials < self._trials_max and not self.interrupted
        return ShrunkScenario(document, report, self.trials, done)

    def _reduce(self) -> None:
        world = {**self._rest.get("world", {}), "base": "empty"}
        self._accept({**self._rest, "world": world}, self._steps)
        while True:
            before = json.encode((self._rest, self._steps))
            if self.failure.step >= 0:
                until = [step for step in self._steps if step[0] <= self.failure.step]
                self._accept(self._rest, until)
            self._accept(self._rest, self._without_other_expectations())
            self._steps = _close_gaps(self._steps, self._needed_steps())
            self._prune_rest()
            for index in range(len(self._steps)):
                self._prune_step(index)
            if self.trials >= self._trials_max or json.encode((self._rest, self._steps)) == before:
                break

    def _accept(self, rest: Document, steps: Steps) -> None:
        """Continue with a candidate if it fails like the whole."""
        if self._fails(rest, steps):
            self._rest, self._steps = rest, steps

    def _without_other_expectations(self) -> Steps:
        return [
            (number, step if number == self.failure.step else _without(step, ("expect",)))
            for number, step in self._steps
        ]

    def _needed_steps(self) -> Steps:
        return minimal(
            self._steps, lambda steps: self._fails(self._rest, _close_gaps(self._steps, steps))
        )

    def _prune_rest(self) -> None:
        name = {"name": self._rest.pop("name")}
        base = self._rest.get("world", {}).get("base")

        def holds(rest: Document) -> bool:
            same_base = rest.get("world", {}).get("base") == base
            return same_base and self._fails({**name, **rest}, self._steps)

        self._rest = {**name, **pruned(self._rest, holds, _simpler)}

    def _prune_step(self, index: int) -> None:
        steps = self._steps
        number, step = steps[index]

        def with_step(step: Document) -> Steps:
            return [*steps[:index], (number, step), *steps[index + 1 :]]

        self._steps = with_step(
            pruned(step, lambda it: self._fails(self._rest, with_step(it)), _simpler, ("steps",))
        )

    # ---- trials

    def _fails(self, rest: Document, steps: Steps) -> bool:
        """Return whether a candidate fails like the whole. One that cannot run does not."""
        document = _document(rest, steps)
        key = json.encode(document)
        if key not in self._results:
            if self.trials >= self._trials_max:
                return False
            self.trials += 1
            self._on_trial(len(self._steps))
            self._results[key] = (
                not _has_dangling_reference(document)
                and self._shows_failure(document, steps, any_failure=self._any_failure) is True
                and (not self.because or self._depends_on(self.because, rest, steps))
            )
            if self._results[key] and len(key) < self._smallest_size:
                self._smallest, self._smallest_size = (rest, steps), len(key)
        return self._results[key]

    def _depends_on(self, cause: str, rest: Document, steps: Steps) -> bool:
        """Return whether the run works without a cause and then does not show the failure."""
        kind, _, value = cause.partition("=")
        if kind == "seed":
            if not value.isdecimal():
                return False
            rest = {**rest, "seed": int(value)}
        elif kind in CAUSES:
            rest = _without(rest, CAUSES[kind])
            steps = [(number, _without(step, CAUSES[kind])) for number, step in steps]
        else:
            others = [
                (number, step)
                for number, step in steps
                if cause not in (step.get("name"), f"step {number + 1}")
            ]
            if len(others) == len(steps):
                return False
            steps = others
        return self._shows_failure(_document(rest, steps), steps, any_failure=True) is False

    def _shows_failure(self, document: Document, steps: Steps, *, any_failure: bool) -> bool | None:
        """Return whether a document's run shows the failure; None if it cannot run."""
        try:
            report = rerun(document, check_invariants=self.failure.step < 0)
        except Exception:  # an invalid scenario, or one whose world cannot be built
            return None
        return self.failure.is_in(report, steps, any_failure=any_failure)


# ---- runs


@lru_cache(maxsize=4)
def _world(rest: bytes) -> Simulation:
    """Return a run of a document without steps. Whoever takes it resets it."""
    return Simulation(scenario_from_document(json.decode(rest)))


def rerun(document: Document, *, check_invariants: bool) -> Report:
    """Run a scenario document.

    Building the default world takes most of a short run, so documents that differ in their steps
    alone run in one world, which is reset for each. Raises ScenarioError if the document is
    invalid, or whatever building its world raises.
    """
    tree = tree_of(document, "document")
    scenario = scenario_from_document(document)
    sim = _world(json.encode(_without(document, ("steps",))))
    sim.reset()
    if problems := list(step_problems(scenario, tree, sim.world)):
        raise ScenarioError(problems)
    sim.script.restart(scenario.steps)
    return run_scenario(scenario, simulation=sim, check_invariants=check_invariants)


# ---- documents


def _without(document: Document, keys: Collection[str]) -> Document:
    return {key: value for key, value in document.items() if key not in keys}


def _bodies(steps: Steps) -> Iterator[Document]:
    return (step for _, step in steps)


def _document(rest: Document, steps: Steps) -> Document:
    return {**rest, "steps": list(_bodies(steps))} if steps else rest


def _has_dangling_reference(document: Document) -> bool:
    """Return whether a step uses a value that no step saves any more.

    Such a file would be refused.
    """
    saved = {name for step in document.get("steps", ()) for name in step.get("save", ())}
    return not saved.issuperset(REFERENCE.findall(json.encode(document).decode()))


def _close_gaps(steps: Steps, kept: Steps) -> Steps:
    """Return the kept steps at their instants, adding the time of removed ones to the next."""
    numbers = {number for number, _ in kept}
    result: Steps = []
    gap = 0
    for number, step in steps:
        at = step.get("at", "+0s")
        relative = at.startswith("+")
        gap = gap + parse_span(at[1:]) if relative else 0
        if number in numbers:
            if gap and relative and "when" not in step:
                step = {**step, "at": f"+{format_span(gap)}"}
            result.append((number, step))
            gap = 0
        elif "advance" in step:
            gap += parse_span(step["advance"])
    return result


def _simpler(path: tuple[str, ...], value: Any) -> Iterable[Any]:
    """Yield simpler values: one contract instead of many, one second instead of a long wait."""
    if path and path[-1] in ("qty", "orderQty", "quantity"):
        return ("1",) if isinstance(value, str) else (1,)
    if path == ("steps", "at") and str(value).startswith("+"):
        return ("+1s",)
    return ()
