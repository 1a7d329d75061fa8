"""`sim bisect`: the first input of a journal after which the answer to a question changes.

The question is about the state of the exchange: do the invariants hold, or does an expectation? The
journal is replayed once while the question is asked after every n-th line. Then the stretch in
which the answer changed is replayed again, asking after each line. In a journal of up to `CHECKS`
lines, the question is asked after every line; in a longer one, a change that is undone between two
checks is missed.

A replay only goes forward, so repeated halving would replay the first half again at every step. Two
passes cost two replays, and they find the first change even if the answer changes often.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sim.core.invariants import violations
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant, format_instant
from sim.read.commands import sim_command
from sim.read.history.rows import rows
from sim.read.layout import put
from sim.read.progress import reading
from sim.read.replay import journal_lines, replaying, simulation_of
from sim.read.timeline import write
from sim.run.actors.script.expectations import failures
from sim.run.simulation import Simulation
from sim.world.format.expectations_format import Expect
from sim.world.format.struct_types import record
from sim.world.format.yaml_tree import ScenarioError, read_text

CHECKS = 5_000
LINES_BEFORE = 3  # shown before the line at which the answer changes


class Question(NamedTuple):
    """A question about a state. `ask` returns what does not hold; `text` names the question."""

    ask: Callable[[Simulation], list[str]]
    text: str


def question(expect: str) -> Question:
    """Return the question whether an expectation holds, written as a step's `expect`; "" means the
    invariants.

    Raises ScenarioError with the problems of the expectation.
    """
    if not expect:
        return Question(
            lambda sim: [str(broken) for broken in violations(sim.exchange.trading)],
            "the invariants",
        )
    problems: list[Any] = []
    parsed = record(Expect).read(read_text(expect, "--expect"), problems)
    if problems:
        raise ScenarioError(problems)

    def ask(sim: Simulation) -> list[str]:
        try:
            return failures(sim.engine, parsed, None, "")
        except Refusal as refusal:  # it names something that does not exist yet
            return [refusal.message]

    return Question(ask, expect)


class Check(NamedTuple):
    """One answer: the line of the journal after which it was given, and what does not hold."""

    number: int
    seq: int
    at: Instant
    wrong: list[str]

    @property
    def holds(self) -> bool:
        return not self.wrong


class Change(NamedTuple):
    """Two consecutive checks between which the answer changed."""

    before: Check
    after: Check


class Bisection(NamedTuple):
    """What was searched: a journal with so many `lines` after its header, a check after each
    `stride`. What was broad: the first change, if any, and the first and the last check.

    An `interrupted` search has gone as far as the last check.
    """

    path: Path
    expectation: Question
    becomes: bool
    lines: int
    stride: int
    first: Check
    last: Check
    change: Change | None = None
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        """Whether the answer ends as it should: it never became false, or it became true."""
        return self.becomes if self.change is not None else self.last.holds

    def document(self) -> dict[str, Any]:
        """Return the result as a document; `changed` is null if the answer never changed."""
        change = self.change
        return {
            "journal": str(self.path),
            "question": self.expectation.text,
            "becomes": self.becomes,
            "lines": self.lines,
            "every": self.stride,
            "interrupted": self.interrupted,
            "first": self.first.holds,
            "last": self.last.holds,
            "changed": None if change is None else _check_document(change.after),
            "says": (change.before if self.becomes else change.after).wrong
            if change is not None
            else self.last.wrong,
        }


def _check_document(check: Check) -> dict[str, Any]:
    return {"line": check.number, "seq": check.seq, "at": format_instant(check.at)}


def bisect(path: Path, expectation: Question, *, becomes: bool, every: int = 0) -> Bisection:
    """Find the first line after which the answer becomes `becomes`, having been the opposite.

    `every` is the number of lines between two checks, 0 for the default. Raises UnreadableJournal
    and Divergence as a replay does.
    """
    with journal_lines(path) as (header, lines):
        total = sum(1 for _ in lines)
        start = simulation_of(header)
    first = Check(1, start.seq, start.now, expectation.ask(start))
    stride = every or max(1, total // CHECKS)
    unsearched = Bisection(path, expectation, becomes, total, stride, first, first)
    broad = _walk(unsearched, 1, stride)
    if broad.change is None or stride == 1:
        return broad
    close = _walk(unsearched, broad.change.before.number, 1)
    return broad._replace(change=close.change or broad.change, interrupted=close.interrupted)


def _walk(search: Bisection, start: int, stride: int) -> Bisection:
    """Replay. From line `start` on, ask after every `stride`-th line until the answer changes."""
    becomes, ask, last = search.becomes, search.expectation.ask, search.first
    change: Change | None = None
    with journal_lines(search.path) as (header, lines):
        sim = simulation_of(header)
        number = 1

        def check() -> Change | None:
            nonlocal last
            before, last = last, Check(number, sim.seq, sim.now, ask(sim))
            return Change(before, last) if before.holds != becomes == last.holds else None

        with reading(search.path, keeps=True) as progress:
            for number, _ in progress.each(replaying(sim, lines)):
                if number >= start and (number - start) % stride == 0 and (change := check()):
                    break
        if not progress.interrupted and last.number != number:
            change = check()
    return search._replace(last=last, change=change, interrupted=progress.interrupted)


def print_bisection(result: Bisection, out: TextIO) -> None:
    """Print the result, and what to do next."""
    path, stride, change = result.path, result.stride, result.change
    steps = "line" if stride == 1 else f"{stride}. line, then line by line"
    put(f"{path}: {result.lines} lines, checked after every {steps}", file=out)
    if result.interrupted:
        put(f"interrupted after line {result.last.number} of {result.lines}", file=out)
    if change is None:
        _print_unchanged(result, out)
        return
    before, after = change
    was, now = ("false", "true") if result.becomes else ("true", "false")
    put(
        f"{result.expectation.text}: {was} up to line {before.number}, {now} after line"
        f" {after.number}, input {after.seq}",
        file=out,
    )
    with journal_lines(path) as (_, lines):
        end = after.number - 1
        lines_before = islice((raw for _, raw in lines), max(0, end - 1 - LINES_BEFORE), end)
        write(rows(lines_before), out)
    for line in before.wrong if result.becomes else after.wrong:
        put(f"  {'before' if result.becomes else 'now'}: {line}", file=out)
    at = format_instant(after.at)
    put(f"next: {sim_command('replay', path, '--until', at, '--serve')}", file=out)


def _print_unchanged(result: Bisection, out: TextIO) -> None:
    text = result.expectation.text
    first, last = (str(check.holds).lower() for check in (result.first, result.last))
    if first == last:
        put(f"{text}: {first} at every check", file=out)
    elif result.interrupted:
        put(f"{text}: {first} at the start, {last} at the last check", file=out)
    else:
        put(f"{text}: {first} at the start, {last} at the end", file=out)
        put(f"next: --becomes {last} finds where it changed", file=out)
    if result.stride > 1:
        put(
            "a change that was undone between two checks was not seen: --every 1 checks after each"
            " line",
            file=out,
        )
    for line in result.last.wrong:
        put(f"  {line}", file=out)
