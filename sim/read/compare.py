"""Compares two journals: the first line that differs, and how the states differ after it.

`compare` (`sim bisect` with two journals) ignores sequence numbers and digests, which depend on
earlier lines, and replays both journals to show how the states of the exchange differ at that
point. `run_diff.py` compares whole runs by the meaning of their lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sim.kernel.instants import format_instant
from sim.kernel.journal import Header
from sim.kernel.journal_reader import read_line
from sim.read.commands import sim_command
from sim.read.history.rows import rows
from sim.read.identifiers import without_identifiers
from sim.read.layout import first_lines, put
from sim.read.progress import QUIET_BELOW_LINES, Interrupted, Progress, reading
from sim.read.record import differing_part
from sim.read.replay import Divergence, NumberedLines, journal_lines, replaying, simulation_of
from sim.read.timeline import plain, write
from sim.run.actors.operator import views
from sim.run.simulation import Simulation

# Views whose rows are compared, with the key that identifies a row.
VIEWS = {
    "instruments": "symbol",
    "books": "symbol",
    "orders": "id",
    "accounts": "account",
    "verifications": "external_id",
    "faults": "id",
    "breakers": "firm",
}
OF_ONE_RUN = ("orders", "faults")  # views whose rows have no name other than an identifier
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
    """Where two journals first differ.

    `same` is the number of equal lines. The difference is in a part of the next line, whose texts
    are `texts`; both versions of the line are stored as written (b"" if a journal has ended).
    """

    same: int
    part: str
    first: bytes
    second: bytes
    texts: tuple[str, str] = ("", "")

    @property
    def number(self) -> int:
        """The number of the line that differs. Line 1 is the header."""
        return self.same + 2


def first_difference(
    first: NumberedLines, second: NumberedLines, parts: Sequence[str] = WHAT_HAPPENED
) -> Difference | None:
    """Return the first pair of lines that differ in one of the parts."""
    pairs = zip_longest(first, second, fillvalue=(0, b""))
    for same, ((_, left), (_, right)) in enumerate(pairs):
        if not left or not right:
            return Difference(same, "end", left, right)
        if left == right:
            continue
        differing = differing_part(read_line(left), read_line(right), parts)
        if differing is not None:
            return Difference(same, differing.part, left, right, differing[1:])
    return None


class Comparison:
    """Where two journals first differ, and how the states differ right after that."""

    def __init__(self, first: Path, second: Path) -> None:
        self.paths = (first, second)
        with journal_lines(first) as (header, lines), journal_lines(second) as (other, others):
            self.headers = header_differences(header, other)
            with reading(first) as progress:
                self.difference = first_difference(progress.each(lines), others)
        self.states: list[str] = []
        self.not_compared = ""
        if self.difference is not None and self.difference.first and self.difference.second:
            reach = partial(_state_after, lines=self.difference.same + 1)
            self.states, self.not_compared = compare_states(self.paths, reach)

    @property
    def same(self) -> bool:
        """Whether the same happened in both, line by line."""
        return self.difference is None

    def document(self) -> dict[str, Any]:
        """Return the comparison as a document for programs."""
        difference = self.difference
        sides = () if difference is None else (difference.first, difference.second)
        records = [plain(next(rows(iter([raw])))) if raw else None for raw in sides] or [None, None]
        return {
            "same": self.same,
            "begin": {name: list(pair) for name, pair in self.headers.items()},
            "line": None if difference is None else difference.number,
            "says": "" if difference is None else _MEANINGS[difference.part],
            "first": records[0],
            "second": records[1],
            "states": self.states,
            "not_compared": self.not_compared,
        }

    def write(self, out: TextIO) -> None:
        """Print the comparison, and what to do next."""
        for name, (left, right) in self.headers.items():
            put(f"their headers differ in {name}: {left} and {right}", file=out)
        if self.difference is None:
            put("the runs are the same, line by line", file=out)
            return
        difference = self.difference
        meaning = _MEANINGS[difference.part]
        put(f"the first {difference.same} lines are the same; then {meaning}:", file=out)
        for path, raw in zip(self.paths, (difference.first, difference.second), strict=True):
            put(f"{path}, line {difference.number}:" if raw else f"{path}: has ended", file=out)
            if raw:
                write(rows(iter([raw])), out)
        if difference.first and difference.second:
            self._write_states(out)
        at = format_instant(read_line(difference.first or difference.second).at)
        path = self.paths[not difference.first]
        put(f"next: {sim_command('replay', path, '--until', at, '--serve')}", file=out)

    def _write_states(self, out: TextIO) -> None:
        if self.not_compared:
            put(f"(their states cannot be compared: {self.not_compared})", file=out)
        elif not self.states:
            put("their states are the same after it", file=out)
        rest = "… and {} more differences of state; --json has all"
        for line in first_lines(self.states, DIFFERENCES_MAX, rest):
            put(f"  {line}", file=out)


def header_differences(first: Header, second: Header) -> dict[str, tuple[Any, Any]]:
    """Return the parts of the header in which two runs differ, with both values."""
    names = ("name", "seed", "start", "scenario_digest", "settings", "libraries")
    both = {name: (getattr(first, name), getattr(second, name)) for name in names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _state_after(path: Path, lines: int) -> Simulation:
    with journal_lines(path) as (header, numbered):
        simulation = simulation_of(header)
        with Progress(lines, f"lines of {path}", quiet_below=QUIET_BELOW_LINES) as progress:
            for _ in progress.each(islice(replaying(simulation, numbered), lines)):
                pass
    if progress.interrupted:
        raise Interrupted(f"interrupted after {progress.summary}")
    return simulation


def compare_states(
    paths: tuple[Path, Path], reach: Callable[[Path], Simulation], *, two_runs: bool = False
) -> tuple[list[str], str]:
    """Return how the states differ that `reach` gets two journals to, and why they cannot be
    compared, or "". `reach` may raise Divergence or Interrupted.
    """
    try:
        states = [reach(path) for path in paths]
    except Divergence as difference:
        return [], f"line {difference.number} of {difference.path} no longer replays"
    except Interrupted as stop:
        return [], str(stop)
    return list(_state_differences(*states, two_runs=two_runs)), ""


def _state_differences(first: Simulation, second: Simulation, *, two_runs: bool) -> Iterator[str]:
    """Yield the differences of two states, one line per value: `accounts maker: balance 10 → 12`.

    States of two different runs share no identifiers, so orders and faults are omitted, and
    identifiers are ignored in other names and values.
    """
    for view, key in VIEWS.items():
        if two_runs and view in OF_ONE_RUN:
            continue
        left, right = _rows(first, view, key), _rows(second, view, key)
        if two_runs:
            left, right = _without_identifiers(left), _without_identifiers(right)
        for name in {**left, **right}:
            if name not in left or name not in right:
                yield f"{view} {name}: only in the {'second' if name not in left else 'first'}"
                continue
            for field, value in left[name].items():
                if value != (changed := right[name].get(field)):
                    yield f"{view} {name}: {field} {_text(value)} → {_text(changed)}"


def _text(value: Any) -> str:
    """Return a value in readable form: levels as "0.45 x 10", positions as "symbol 10"."""
    if not isinstance(value, list):
        return str(value)
    rows = (f"{row['px']} x {row['qty']}" if "px" in row else list(row.values()) for row in value)
    return (
        ", ".join(row if isinstance(row, str) else " ".join(map(str, row)) for row in rows)
        or "none"
    )


def _without_identifiers(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows by name and number, because names that differ only in an identifier coincide."""
    counts: Counter[str] = Counter()
    plain: dict[str, dict[str, Any]] = {}
    for name, row in tables.items():
        bare = without_identifiers(name)
        counts[bare] += 1
        bare += f" ({counts[bare]})" if counts[bare] > 1 else ""
        plain[bare] = {
            field: without_identifiers(value) if isinstance(value, str) else value
            for field, value in row.items()
        }
    return plain


def _rows(simulation: Simulation, view: str, key: str) -> dict[str, dict[str, Any]]:
    state: Any = views.view(simulation.engine, view)
    return {str(row[key]): row for row in state[view]}
