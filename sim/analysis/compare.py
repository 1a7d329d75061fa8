"""Two journals side by side: the first line that differs, and how the states differ after it.

`diff` compares what is written and stops there. `compare` (`sim bisect` with two journals) is for
runs of different seeds or scenarios too: it ignores sequence numbers and digests, which follow from
earlier lines, and replays both journals to show how the state of the exchange differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sim.actors.operator import views
from sim.analysis.errors import UnreadableJournal
from sim.analysis.history.rows import rows
from sim.analysis.replay import (
    UNREADABLE,
    Divergence,
    NumberedLines,
    excerpt,
    journal_lines,
    line_text,
    replaying,
    simulation_of,
)
from sim.analysis.timeline.printing import write
from sim.kernel.instants import format_instant
from sim.kernel.journal import Header, read_line
from sim.simulation import Simulation

# Views whose rows are compared, and the key that names a row.
VIEWS = {
    "instruments": "symbol",
    "books": "symbol",
    "orders": "id",
    "accounts": "account",
    "verifications": "external_id",
    "faults": "id",
    "breakers": "firm",
}
DIFFERENCES_MAX = 12
WRITTEN = ("mark", "argument", "seq", "at", "input", "out", "digest")
WHAT_HAPPENED = ("mark", "argument", "at", "input", "out")
_MEANINGS = {
    "mark": "only one of them rewinds, resets or restores",
    "argument": "they rewind, reset or restore to different places",
    "at": "the same input comes at different instants",
    "input": "the inputs differ",
    "out": "the input is the same, and the outcomes differ",
    "end": "one of them ends here",
}


class Difference(NamedTuple):
    """Where two journals first differ: the number of equal lines, the part of the next line that
    differs, and that line of each as it is written (b"" where a journal has ended).
    """

    same: int
    part: str
    first: bytes
    second: bytes

    @property
    def number(self) -> int:
        """The number of the line that differs; line 1 is the header."""
        return self.same + 2


def first_difference(
    first: NumberedLines, second: NumberedLines, parts: Sequence[str] = WHAT_HAPPENED
) -> Difference | None:
    """The first pair of lines that differ in one of the parts."""
    pairs = zip_longest(first, second, fillvalue=(0, b""))
    for same, ((_, left), (_, right)) in enumerate(pairs):
        if not left or not right:
            return Difference(same, "end", left, right)
        if left == right:
            continue
        one, other = read_line(left), read_line(right)
        for part in parts:
            if line_text(getattr(one, part)) != line_text(getattr(other, part)):
                return Difference(same, part, left, right)
    return None


def diff(first: str, second: str, out: TextIO) -> int:
    """Compare two journals and print the first difference; the exit code of `sim diff`."""
    try:
        with journal_lines(first) as (one, ours), journal_lines(second) as (other, theirs):
            for name in ("name", "seed", "start", "scenario_digest"):
                if getattr(one, name) != getattr(other, name):
                    both = f"{getattr(one, name)} and {getattr(other, name)}"
                    print(f"headers differ in {name}: {both}", file=out)
                    return 1
            difference = first_difference(ours, theirs, WRITTEN)
    except UnreadableJournal as error:
        print(error, file=out)
        return UNREADABLE
    if difference is None:
        print("the journals are the same", file=out)
        return 0
    if difference.part == "end":
        longer = first if difference.first else second
        print(f"the first {difference.same} lines are the same; {longer} goes on", file=out)
        return 1
    part = difference.part
    lines = (read_line(difference.first), read_line(difference.second))
    left, right = (line_text(getattr(line, part)) for line in lines)
    print(f"line {difference.number}, {part}:", file=out)
    print(f"  {first}: {excerpt(left, right)}\n  {second}: {excerpt(right, left)}", file=out)
    return 1


def compare(first: Path, second: Path, out: TextIO) -> bool:
    """Print where two runs first differ, and how their states do; whether they are the same."""
    with journal_lines(first) as (one, ours), journal_lines(second) as (other, theirs):
        _print_headers(one, other, out)
        found = first_difference(ours, theirs)
    if found is None:
        print("the runs are the same, line by line", file=out)
        return True
    print(f"the first {found.same} lines are the same; then {_MEANINGS[found.part]}:", file=out)
    for path, raw in ((first, found.first), (second, found.second)):
        print(f"{path}, line {found.number}:" if raw else f"{path}: has ended", file=out)
        if raw:
            write(rows(iter([raw])), out)
    if found.first and found.second:
        _print_states(first, second, found.same + 1, out)
    at = format_instant(read_line(found.first or found.second).at)
    print(f"next: sim replay {first if found.first else second} --until {at} --serve", file=out)
    return False


def _print_headers(one: Header, other: Header, out: TextIO) -> None:
    for name in ("name", "seed", "start", "scenario_digest", "settings", "libraries"):
        left, right = getattr(one, name), getattr(other, name)
        if left != right:
            print(f"they begin with different {name}: {left} and {right}", file=out)


def _print_states(first: Path, second: Path, lines: int, out: TextIO) -> None:
    try:
        states = (_state_after(first, lines), _state_after(second, lines))
        differences = list(state_differences(*states))
    except Divergence as difference:
        where = f"line {difference.number} of {difference.path}"
        print(f"(their states cannot be compared: {where} no longer replays)", file=out)
        return
    if not differences:
        print("their states are the same after it", file=out)
    for line in differences[:DIFFERENCES_MAX]:
        print(f"  {line}", file=out)
    if len(differences) > DIFFERENCES_MAX:
        rest = len(differences) - DIFFERENCES_MAX
        print(f"  … and {rest} more differences of state", file=out)


def _state_after(path: Path, lines: int) -> Simulation:
    with journal_lines(path) as (header, numbered):
        simulation = simulation_of(header)
        for _ in islice(replaying(simulation, numbered), lines):
            pass
        return simulation


def state_differences(one: Simulation, other: Simulation) -> Iterator[str]:
    """How two states differ, a line for each value: `accounts maker: balance 10 → 12`."""
    for view, key in VIEWS.items():
        left, right = _rows(one, view, key), _rows(other, view, key)
        for name in {**left, **right}:
            if name not in left or name not in right:
                yield f"{view} {name}: only in the {'second' if name not in left else 'first'}"
                continue
            for field, value in left[name].items():
                if value != right[name].get(field):
                    yield f"{view} {name}: {field} {value} → {right[name].get(field)}"


def _rows(simulation: Simulation, view: str, key: str) -> dict[str, dict[str, Any]]:
    found: Any = views.view(simulation.engine, view)
    return {str(row[key]): row for row in found[view]}
