"""`sim bisect`: the input after which something stopped being true, or the first at which two runs
part.

A journal is replayed once while the question is asked after every `every`-th input; then the
stretch in which the answer turned is replayed again, input by input. Journals of up to `LOOKS`
lines are looked at after each, so nothing is missed; in longer ones a turn that is undone between
two looks is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sim.actors.script.expectations import failures
from sim.analysis.replay import replaying, simulation_of
from sim.analysis.timeline import rows, write
from sim.core.invariants import broken
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import read_journal
from sim.scenario.expectations_format import Expect
from sim.scenario.struct_types import record
from sim.scenario.yaml_tree import ScenarioError, read_text
from sim.simulation import Simulation

LOOKS = 5_000
BEFORE = 3

Question = Callable[[Simulation], list[str]]


def sound(sim: Simulation) -> list[str]:
    """The question "do all invariants hold?": what does not."""
    return [str(one) for one in broken(sim.exchange.trading)]


def expecting(text: str) -> Question:
    """The question "does this hold?", written as a step's `expect`. ScenarioError says what is
    wrong with it.
    """
    problems: list[Any] = []
    expect = record(Expect).read(read_text(text, "--expect"), problems)
    if problems:
        raise ScenarioError(problems)

    def ask(sim: Simulation) -> list[str]:
        try:
            return failures(sim, expect, None, "")
        except Refusal as refusal:  # it names something that is not there yet
            return [refusal.message]

    return ask


class Look(NamedTuple):
    """One answer: after which line of the journal (1: at the start), at which input and instant,
    and what does not hold.
    """

    number: int
    seq: int
    at: Instant
    wrong: list[str]


class Turn(NamedTuple):
    """Two looks, one input apart, between which the answer turned."""

    before: Look
    after: Look


class Search(NamedTuple):
    """What came of a search: the turn or None, the first and the last look, how many lines there
    are, and how many lie between two looks.
    """

    turn: Turn | None
    first: Look
    last: Look
    lines: int
    stride: int


def search(path: Path, ask: Question, *, to: bool = False, every: int = 0) -> Search:
    """Look for the first input after which the question is answered `to` (True: it holds) where it
    was not before.

    Divergence, NotAJournal and OSError as for a replay.
    """
    with path.open("rb") as file:
        total = sum(1 for _ in read_journal(file)[1])
    stride = every or max(1, total // LOOKS)
    found = _walk(path, ask, to, 1, stride)
    if found.turn is not None and stride > 1:
        close = _walk(path, ask, to, found.turn.before.number, 1)
        found = found._replace(turn=close.turn or found.turn)
    return found._replace(lines=total)


def _walk(path: Path, ask: Question, to: bool, start: int, stride: int) -> Search:
    """Replay, and from line `start` on ask after every `stride`-th line and after the last, until
    the answer turns.
    """
    with path.open("rb") as file:
        header, lines = read_journal(file)
        sim = simulation_of(header)
        looks = [Look(1, 0, sim.now, ask(sim))] if start == 1 else []
        number = asked = 1
        for number, _ in replaying(sim, lines):
            if number >= start and (number - start) % stride == 0:
                asked = number
                looks = [*looks[:1], *looks[-1:], Look(number, sim.seq, sim.now, ask(sim))]
                if len(looks) > 1 and _turned(looks[-2], looks[-1], to):
                    return Search(Turn(*looks[-2:]), looks[0], looks[-1], 0, stride)
        if asked != number:
            looks.append(Look(number, sim.seq, sim.now, ask(sim)))
    turned = len(looks) > 1 and _turned(looks[-2], looks[-1], to)
    return Search(Turn(*looks[-2:]) if turned else None, looks[0], looks[-1], 0, stride)


def _turned(before: Look, after: Look, to: bool) -> bool:
    return bool(before.wrong) is to and bool(after.wrong) is not to


def bisect(
    path: Path, ask: Question, what: str, out: TextIO, *, to: bool = False, every: int = 0
) -> bool:
    """Search, and say what was found; whether the question is answered well: it never turned false,
    or with `to`, it turned true.
    """
    found = search(path, ask, to=to, every=every)
    print(f"{path}: {found.lines} lines, looked after every {_nth(found.stride)}", file=out)
    if found.turn is None:
        _say_steady(found, what, out)
        return not found.last.wrong
    before, after = found.turn
    print(
        f"{what}: {'false' if to else 'true'} up to line {before.number},"
        f" {'true' if to else 'false'} after line {after.number}, input {after.seq}",
        file=out,
    )
    with path.open("rb") as file:
        lines = islice(
            (raw for _, raw in read_journal(file)[1]),
            max(0, after.number - 2 - BEFORE),
            after.number - 1,
        )
        write(rows(lines), out)
    for line in before.wrong if to else after.wrong:
        print(f"  {'before' if to else 'now'}: {line}", file=out)
    print(f"next: sim replay {path} --until {format_instant(after.at)} --serve", file=out)
    return to


def _nth(stride: int) -> str:
    return "line" if stride == 1 else f"{stride}. line, then line by line"


def _say_steady(found: Search, what: str, out: TextIO) -> None:
    first, last = ("false" if look.wrong else "true" for look in (found.first, found.last))
    print(
        (
            f"{what}: {first} at the start, {last} at the end"
            if first != last
            else f"{what}: {first} wherever it was looked at"
        ),
        file=out,
    )
    if first != last:
        print(f"next: --becomes {last} finds where it turned", file=out)
    if found.stride > 1:
        print(
            "what turned and turned back between two looks was not seen: --every 1 looks after each"
            " line",
            file=out,
        )
    for line in found.last.wrong:
        print(f"  {line}", file=out)
