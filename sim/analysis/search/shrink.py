"""`sim shrink`: the smallest scenario that still fails in the same way.

A candidate counts only when the same step fails with the same words (ids apart), or the same
invariant breaks: leaving something out that merely makes the expectation fail for another reason is
no reduction. The result follows from the scenario alone, so two people get the same file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from msgspec import json

from sim.analysis.headless_run import Report, run_scenario
from sim.analysis.search.delta import minimal, pruned
from sim.analysis.search.fast_rerun import Bench
from sim.kernel.instants import format_span, parse_span
from sim.loader.load import scenario_from_document
from sim.scenario.expansion import REFERENCE
from sim.scenario.scenario import Scenario

TRIALS = 3_000
# What `unless` can name besides a seed and a step: keys of the scenario and of its steps.
WITHOUT = {
    "faults": ("faults", "fault"),
    "quirks": ("quirks", "quirk"),
    "assumptions": ("assumptions", "assumption"),
    "preset": ("preset",),
}
Document: TypeAlias = dict[str, Any]
Steps: TypeAlias = list[tuple[int, Document]]  # each with its place in the whole scenario

# An order or execution id, a UUID, a token's fingerprint: never the same in two runs.
_IDS = re.compile(
    r"\b(?:[0-9A-Z]{12,13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64})\b"
)
# The body that stands behind a status in a failure.
_BODY = re.compile(r"^(status is \d+, not \d+): .*", re.DOTALL)


class Failure(NamedTuple):
    """What a reduced run must still show: an invariant's name (`step` -1), or a step, by its place
    in the whole scenario, and its words.
    """

    step: int
    words: str

    def among(self, report: Report, steps: list[int], *, any_failure: bool) -> bool:
        """Whether a run whose steps were those of `steps` shows it. `loose`: any failure of the
        step will do.
        """
        if self.step < 0:
            return any(_name(found) == self.words for found in report.broken)
        return any(
            steps[result.index] == self.step
            and any(any_failure or words(line) == self.words for line in result.failures)
            for result in report.results
        )


def failure_of(report: Report) -> Failure | None:
    """The failure to keep: the first broken invariant, else the first failing step's first line."""
    if report.broken:
        return Failure(-1, _name(report.broken[0]))
    return next(
        (
            Failure(result.index, words(line))
            for result in report.results
            for line in result.failures
        ),
        None,
    )


def words(line: str) -> str:
    """A failure without what differs between any two runs."""
    return _IDS.sub("…", _BODY.sub(r"\1", line))


def _name(found: str) -> str:
    """`money`, or `mistake: ZeroDivisionError`."""
    parts = found.split(": ")
    return ": ".join(parts[:2]) if parts[0] == "mistake" else parts[0]


class Shrunk(NamedTuple):
    """The smallest document found, the report of its run, and how many runs it took; `done`:
    nothing more can go.
    """

    document: Document
    report: Report
    trials: int
    done: bool


class Shrinker:
    """Reduces one scenario. `told` hears of every trial: how many there were, and how many steps
    are left.

    `unless` names what the failure depends on: "faults", "quirks", "assumptions", "preset",
    "seed=1", or a step. A candidate counts only when it does not fail without that (with that other
    seed). Left empty, it is found: settings first, then the latest step without which the run does
    not fail so. "nothing" asks for the failure alone. ValueError when the scenario does not fail,
    or fails all the same.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        any_failure: bool = False,
        because: str = "",
        trials: int = TRIALS,
        told: Callable[[int, int], None] = lambda trials, steps: None,
    ) -> None:
        report = run_scenario(scenario)
        failure = failure_of(report)
        if failure is None:
            raise ValueError(
                f"{report.title} with seed {report.seed} does not fail: there is nothing to shrink"
            )
        self.failure = failure
        self._bench = Bench(watch=failure.step < 0)
        self._loose = any_failure
        self._most = trials
        self._told = told
        self._known: dict[bytes, bool] = {}
        self.trials = 0
        whole = scenario.plain()
        self._rest: Document = {
            key: value
            for key, value in whole.items()
            if key not in ("extends", "params", "matrix", "description", "steps")
        }
        self._steps: Steps = list(enumerate(whole.get("steps", ())))
        self.because = "" if because == "nothing" else because or self._found_out()
        if self.because and not self._depends(
            self.because, _document(self._rest, self._steps), self._steps
        ):
            raise ValueError(
                f"{report.title} with seed {report.seed} fails without {because} too, or there is no"
                " such thing"
            )

    def _found_out(self) -> str:
        """What the failure depends on, as far as one thing alone can tell."""
        document = _document(self._rest, self._steps)
        settings = [
            kind
            for kind, keys in WITHOUT.items()
            if any(key in document or any(key in step for _, step in self._steps) for key in keys)
        ]
        steps = [
            f"step {number + 1}"
            for number, _ in reversed(self._steps)
            if self.failure.step < 0 or number < self.failure.step
        ]
        return next(
            (what for what in (*settings, *steps) if self._depends(what, document, self._steps)), ""
        )

    def shrink(self) -> Shrunk:
        """Reduce until nothing more can go, or the trials are used up."""
        self._empty_the_world()
        while True:
            before = _encoded(self._rest, self._steps)
            self._drop_what_comes_after()
            self._drop_other_expectations()
            kept = minimal(
                self._steps,
                lambda steps: self._fails(self._rest, _without_gaps(self._steps, steps)),
            )
            self._steps = _without_gaps(self._steps, kept)
            self._prune_rest()
            for index in range(len(self._steps)):
                self._prune_step(index)
            if self.trials >= self._most or _encoded(self._rest, self._steps) == before:
                break
        document = _document(self._rest, self._steps)
        return Shrunk(
            document,
            run_scenario(scenario_from_document(document)),
            self.trials,
            self.trials < self._most,
        )

    def _empty_the_world(self) -> None:
        """Where the failure does not need the default world, go on without it: that is less to look
        at, and every further trial is quick.
        """
        rest = {**self._rest, "world": {**self._rest.get("world", {}), "base": "empty"}}
        if self._fails(rest, self._steps):
            self._rest = rest

    def _drop_what_comes_after(self) -> None:
        if self.failure.step < 0:
            return
        until = [(number, step) for number, step in self._steps if number <= self.failure.step]
        if self._fails(self._rest, until):
            self._steps = until

    def _drop_other_expectations(self) -> None:
        bare: Steps = [
            (
                number,
                (
                    step
                    if number == self.failure.step
                    else {key: value for key, value in step.items() if key != "expect"}
                ),
            )
            for number, step in self._steps
        ]
        if self._fails(self._rest, bare):
            self._steps = bare

    def _prune_rest(self) -> None:
        named = {"name": self._rest.pop("name")}
        base = self._rest.get("world", {}).get("base")

        def holds(rest: Document) -> bool:
            return rest.get("world", {}).get("base") == base and self._fails(
                {**named, **rest}, self._steps
            )

        self._rest = {**named, **pruned(self._rest, holds, _simpler)}

    def _prune_step(self, index: int) -> None:
        steps = self._steps
        number, step = steps[index]

        def others(step: Document) -> Steps:
            return [*steps[:index], (number, step), *steps[index + 1 :]]

        self._steps = others(
            pruned(step, lambda other: self._fails(self._rest, others(other)), _simpler, ("steps",))
        )

    def _fails(self, rest: Document, steps: Steps) -> bool:
        """Whether a candidate fails as the whole does. One that cannot begin does not."""
        document = _document(rest, steps)
        key = json.encode(document)
        if key not in self._known:
            if self.trials >= self._most:
                return False
            self.trials += 1
            self._told(self.trials, len(self._steps))
            self._known[key] = self._shows(document, steps) and (
                not self.because or self._depends(self.because, document, steps)
            )
        return self._known[key]

    def _shows(self, document: Document, steps: Steps) -> bool:
        if _dangles(document):
            return False
        try:
            report = self._bench.run(document)
        # not a scenario, or of a world that cannot be: no smaller form of this one
        except Exception:
            return False
        return self.failure.among(report, [number for number, _ in steps], any_failure=self._loose)

    def _depends(self, what: str, document: Document, steps: Steps) -> bool:
        """Whether the failure is gone without something, and the run otherwise possible."""
        kind, _, value = what.partition("=")
        if kind == "seed":
            return value.isdecimal() and self._passes({**document, "seed": int(value)}, steps)
        rest = {key: part for key, part in document.items() if key != "steps"}
        if kind in WITHOUT:
            bare = [
                (number, {key: part for key, part in step.items() if key not in WITHOUT[kind]})
                for number, step in steps
            ]
            return self._passes(
                _document(
                    {key: part for key, part in rest.items() if key not in WITHOUT[kind]}, bare
                ),
                bare,
            )
        others = [
            (number, step)
            for number, step in steps
            if what not in (step.get("name"), f"step {number + 1}")
        ]
        return len(others) < len(steps) and self._passes(_document(rest, others), others)

    def _passes(self, document: Document, steps: Steps) -> bool:
        """Whether the step that fails is there and does not fail, or with a broken invariant,
        nothing is broken.
        """
        try:
            report = self._bench.run(document)
        except Exception:
            return False
        return not self.failure.among(report, [number for number, _ in steps], any_failure=True)


def _dangles(document: Document) -> bool:
    """Whether a step uses a value that no step keeps any more: a file that says so is refused."""
    kept = {name for step in document.get("steps", ()) for name in step.get("save", ())}
    return not kept.issuperset(REFERENCE.findall(json.encode(document).decode()))


def _document(rest: Document, steps: Steps) -> Document:
    return {**rest, "steps": [step for _, step in steps]} if steps else rest


def _encoded(rest: Document, steps: Steps) -> bytes:
    return json.encode((rest, steps))


def _without_gaps(whole: Steps, kept: Steps) -> Steps:
    """The kept steps, each at the instant it had: the time that steps left out took goes to the
    next one.
    """
    numbers = {number for number, _ in kept}
    found: Steps = []
    gap = 0
    for number, step in whole:
        at = step.get("at", "+0s")
        gap = gap + parse_span(at[1:]) if at.startswith("+") else 0
        if number in numbers:
            found.append(
                (
                    number,
                    (
                        {**step, "at": f"+{format_span(gap)}"}
                        if gap and at.startswith("+") and "when" not in step
                        else step
                    ),
                )
            )
            gap = 0
        gap += parse_span(step["advance"]) if "advance" in step and number not in numbers else 0
    return found


def _simpler(path: tuple[str, ...], value: Any) -> Iterable[Any]:
    """One contract instead of many, one second instead of a long wait."""
    if path and path[-1] in ("qty", "orderQty", "quantity"):
        return ("1",) if isinstance(value, str) else (1,)
    if path == ("steps", "at") and str(value).startswith("+"):
        return ("+1s",)
    return ()
