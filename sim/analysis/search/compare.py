"""Two runs side by side: the first input at which they part, and how their states differ right
after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sim.analysis.replay import Divergence, plain, replaying, simulation_of
from sim.analysis.timeline import rows, write
from sim.kernel.instants import format_instant
from sim.kernel.journal import read_journal, read_line
from sim.simulation import Simulation

# Views whose rows are compared, and what names a row.
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


class Parting(NamedTuple):
    """Where two journals part: how many lines are the same, in what the next differs, and that line
    of each (b"" where one has ended).
    """

    same: int
    part: str
    first: bytes
    second: bytes


def parting(first: Path, second: Path) -> Parting | None:
    """The first line that differs in what was asked, when, or what came of it; None when there is
    none. Seeds and scenarios may differ.
    """
    with first.open("rb") as a, second.open("rb") as b:
        lines = zip_longest(read_journal(a)[1], read_journal(b)[1], fillvalue=(0, b""))
        for same, ((_, one), (_, other)) in enumerate(lines):
            if not one or not other:
                return Parting(same, "end", one, other)
            left, right = read_line(one), read_line(other)
            for part in ("mark", "argument", "at", "input", "out"):
                if plain(getattr(left, part)) != plain(getattr(right, part)):
                    return Parting(same, part, one, other)
    return None


_WORDS = {
    "mark": "one of them jumps in time",
    "argument": "they jump to different places",
    "at": "the same happens at different instants",
    "input": "different things were asked of them",
    "out": "the same was asked, and different things came of it",
    "end": "one of them ends here",
}


def compare(first: Path, second: Path, out: TextIO) -> bool:
    """Say where two runs part; whether they do not."""
    _headers(first, second, out)
    found = parting(first, second)
    if found is None:
        print("the runs are the same, line by line", file=out)
        return True
    print(f"the first {found.same} lines are the same; then {_WORDS[found.part]}:", file=out)
    for path, line in ((first, found.first), (second, found.second)):
        print(f"{path}, line {found.same + 2}:" if line else f"{path}: has ended", file=out)
        if line:
            write(rows(iter([line])), out)
    if found.first and found.second:
        _say_states(first, second, found.same + 1, out)
    at = format_instant(read_line(found.first or found.second).at)
    print(f"next: sim replay {first if found.first else second} --until {at} --serve", file=out)
    return False


def _headers(first: Path, second: Path, out: TextIO) -> None:
    with first.open("rb") as a, second.open("rb") as b:
        one, other = read_journal(a)[0], read_journal(b)[0]
    for name in ("name", "seed", "start", "scenario_digest", "settings", "libraries"):
        left, right = getattr(one, name), getattr(other, name)
        if left != right:
            print(f"they begin with different {name}: {_short(left)} and {_short(right)}", file=out)


def _say_states(first: Path, second: Path, lines: int, out: TextIO) -> None:
    try:
        states = [_state_after(path, lines) for path in (first, second)]
    except Divergence as found:
        print(
            f"(their states cannot be compared: line {found.number} of one is no longer what it was"
            " recorded as)",
            file=out,
        )
        return
    found_differences = list(state_differences(*states))
    if not found_differences:
        print("their states are the same after it", file=out)
    for line in found_differences[:DIFFERENCES_MAX]:
        print(f"  {line}", file=out)
    if len(found_differences) > DIFFERENCES_MAX:
        print(
            f"  … and {len(found_differences) - DIFFERENCES_MAX} more differences of state",
            file=out,
        )


def _state_after(path: Path, lines: int) -> Simulation:
    with path.open("rb") as file:
        header, found = read_journal(file)
        sim = simulation_of(header)
        for count, _ in enumerate(replaying(sim, found), start=1):
            if count == lines:
                break
        return sim


def state_differences(one: Simulation, other: Simulation) -> Iterator[str]:
    """How two states differ, a line for each value: `accounts maker: balance 10 → 12`."""
    for view, key in VIEWS.items():
        left, right = (_rows(sim, view, key) for sim in (one, other))
        for name in {**left, **right}:
            if name not in left or name not in right:
                yield f"{view} {name}: only in the {'second' if name not in left else 'first'}"
                continue
            for field, value in left[name].items():
                if value != right[name].get(field):
                    yield (
                        f"{view} {name}: {field} {_short(value)} → {_short(right[name].get(field))}"
                    )


def _rows(sim: Simulation, view: str, key: str) -> dict[str, dict[str, Any]]:
    found: Any = sim.state(view)
    return {str(row[key]): row for row in found[view]}


def _short(value: object, width: int = 100) -> str:
    text = str(value)
    return text if len(text) <= width else text[:width] + "…"
