"""Proving a run from its journal: re-run the inputs, compare every line, stop at the first that
differs. And comparing two journals.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO
from zlib import crc32

from msgspec import DecodeError, Raw, ValidationError, convert, json, structs, to_builtins

from sim.api.pipeline.inputs import Advanced, recorded_input
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Conflict
from sim.engine.journal_record import library_versions
from sim.engine.time_travel import close_streams
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import Header, Line, NotAJournal, read_journal, read_line, unreadable

if TYPE_CHECKING:
    from sim.simulation import Simulation

SAME, DIVERGED, UNREADABLE = 0, 3, 2


class Divergence(Exception):
    """The journal and its replay differ. `number` is the line; `part` what differs; the two sides
    as text.
    """

    def __init__(self, number: int, part: str, recorded: str, replayed: str) -> None:
        super().__init__(f"line {number}: {part} differs")
        self.number = number
        self.part = part
        self.recorded = recorded
        self.replayed = replayed


def simulation_of(
    header: Header, settings: Settings | None = None, journal: BinaryIO | None = None
) -> Simulation:
    """A fresh simulation at the start a header describes, with a journal of its own. NotAJournal
    when the scenario in it is not the one its digest names.
    """
    from sim.loader.load import scenario_from_source
    from sim.scenario.yaml_tree import ScenarioError
    from sim.simulation import Simulation

    check = f"{crc32(json.encode(structs.replace(header, check=''))):08x}"
    if header.check != check:
        raise Divergence(1, "header", header.check, check)
    try:
        scenario = scenario_from_source(bytes(header.scenario))
    except ScenarioError as error:
        raise NotAJournal(f"line 1 holds a scenario this version cannot read: {error}") from error
    if scenario.digest != header.scenario_digest:
        raise Divergence(1, "scenario", header.scenario_digest, scenario.digest)
    try:
        settings = convert({**to_builtins(settings or Settings()), **header.settings}, Settings)
    except ValidationError as error:
        raise NotAJournal(f"line 1 holds settings this version cannot read: {error}") from error
    return Simulation(
        scenario, seed=header.seed, start=header.start, settings=settings, journal=journal
    )


def at_the_start(header: Header, seed: int, journal: BinaryIO | None = None) -> Simulation:
    """`simulation_of`, reset to a seed where a tester did that since."""
    simulation = simulation_of(header, journal=journal)
    if simulation.seed != seed:
        simulation.reset(seed)
    return simulation


def run(
    simulation: Simulation, lines: Iterator[tuple[int, bytes]], until: Instant | None = None
) -> int:
    """Feed recorded lines to a simulation and compare; returns how many inputs agreed. Raises
    Divergence at the first that does not.
    """
    return sum(1 for _, line in replaying(simulation, lines, until) if not line.mark)


def replaying(
    simulation: Simulation, lines: Iterator[tuple[int, bytes]], until: Instant | None = None
) -> Iterator[tuple[int, Line]]:
    """`run` line by line: yields each (line number, line) once the simulation has done it.

    With `until` it stops at that instant: before the first input after it, and in the middle of a
    line that moves time beyond it.
    """
    for number, raw in lines:
        try:
            line = read_line(raw)
        except DecodeError as error:
            raise Divergence(
                number, "form", raw[:200].decode(errors="replace"), f"no journal record: {error}"
            ) from error
        if line.mark:
            _jump(simulation, line)
        elif until is not None and _beyond(simulation, line, until):
            return
        else:
            _repeat(simulation, number, raw, line)
        yield number, line


def _beyond(simulation: Simulation, line: Line, until: Instant) -> bool:
    """Whether a line leads beyond an instant; of one that begins before it and moves time, what
    happens up to there is done.
    """
    if line.at > until:
        return True
    if b'"advance"' not in bytes(line.input):
        return False
    given = recorded_input(line)
    if not isinstance(given, Advanced) or given.to <= until:
        return False
    if simulation.now < until:
        simulation.handle(Advanced(until))
    return True


def _repeat(simulation: Simulation, number: int, raw: bytes, line: Line) -> None:
    if line.seq != simulation.seq + 1:
        raise Divergence(number, "seq", str(line.seq), str(simulation.seq + 1))
    if line.aside and f"{crc32(bytes(line.aside)):08x}" != line.check:
        raise Divergence(
            number, "aside", bytes(line.aside).decode(errors="replace"), "its check does not match"
        )
    try:
        given = recorded_input(line)
    except DecodeError as error:
        raise Divergence(
            number, "input", bytes(line.input).decode(errors="replace"), f"no input: {error}"
        ) from error
    simulation.handle(given)
    made = next(simulation.journal.lines(simulation.seq - 1, simulation.seq))
    if made != raw:
        again = read_line(made)
        for part in ("at", "input", "out", "aside", "digest"):
            recorded, replayed = getattr(line, part), getattr(again, part)
            if plain(recorded) != plain(replayed):
                raise Divergence(number, part, plain(recorded), plain(replayed))
        raise Divergence(number, "form", raw.decode(errors="replace"), made.decode())


def plain(value: object) -> str:
    """A part of a line as text, to be compared or shown."""
    return bytes(value).decode(errors="replace") if isinstance(value, Raw) else str(value)


def _jump(simulation: Simulation, line: Line) -> None:
    if line.mark == "rewind":
        simulation.rewind(seq=int(line.argument))
    elif line.mark == "reset":
        simulation.reset(int(line.argument))
    elif line.mark == "snapshot":
        simulation.snapshot(line.argument)
    elif line.mark == "restore":
        simulation.restore(line.argument)
    elif line.mark == "fork":
        close_streams(simulation, "the fork begins without them")


def replayed(
    path: str,
    until: Instant | None,
    out: TextIO,
    settings: Settings | None = None,
    seq: int | None = None,
) -> Simulation | int:
    """The simulation that a journal leads to: at its end, at the instant `until`, or rewound to
    right after an input; or the exit code.

    Says what was found.
    """
    try:
        with Path(path).open("rb") as file:
            header, lines = read_journal(file)
            simulation = simulation_of(header, settings)
            count = run(simulation, lines, until)
    except (OSError, NotAJournal) as error:
        print(f"{path}:1:1: {unreadable(error)}", file=out)
        return UNREADABLE
    except Divergence as found:
        say_divergence(path, found, out)
        for line in _other_libraries(header):
            print(f"  {line}", file=out)
        return DIVERGED
    print(f"{path}: {count} inputs replayed, every line as recorded", file=out)
    if seq is not None:
        try:
            simulation.rewind(seq=seq)
        except Conflict as refusal:
            print(f"{path}: {refusal.message}", file=out)
            return UNREADABLE
        print(f"  back to right after input {seq}", file=out)
    print(
        f"  scenario {header.name}, seed {header.seed}, until {format_instant(simulation.now)}",
        file=out,
    )
    print(f"  digest {simulation.digest}", file=out)
    return simulation


def _other_libraries(header: Header) -> Iterator[str]:
    """What a journal was made with and is not replayed with: the first thing to look at when a
    replay differs.
    """
    here = library_versions()
    for name, version in header.libraries.items():
        if here.get(name) != version:
            yield f"recorded with {name} {version}, replayed with {here.get(name, 'none')}"


def say_divergence(path: str, found: Divergence, out: TextIO) -> None:
    """Where a replay differs, with both sides."""
    print(f"{path}:{found.number}: {found.part} differs from the replay", file=out)
    print(f"  recorded: {_around(found.recorded, found.replayed)}", file=out)
    print(f"  replayed: {_around(found.replayed, found.recorded)}", file=out)


def replay(path: str, until: Instant | None, out: TextIO, seq: int | None = None) -> int:
    """`sim replay`: exit code, after saying what was found."""
    found = replayed(path, until, out, seq=seq)
    return found if isinstance(found, int) else SAME


def _around(text: str, other: str, width: int = 160) -> str:
    """The part of a long text where it begins to differ from another."""
    same = next((index for index, (a, b) in enumerate(zip_longest(text, other)) if a != b), 0)
    start = max(0, same - width // 4)
    return (
        ("…" if start else "")
        + text[start : start + width]
        + ("…" if len(text) > start + width else "")
    )


def diff(first: str, second: str, out: TextIO) -> int:
    """`sim diff`: 0 when two journals tell the same story, 1 when not, 2 when one cannot be read.
    What clients drew at random does not count.
    """
    try:
        with Path(first).open("rb") as a, Path(second).open("rb") as b:
            reading = first
            header_a, lines_a = read_journal(a)
            reading = second
            header_b, lines_b = read_journal(b)
            reading = f"{first} or {second}"
            return _compare(first, second, header_a, header_b, lines_a, lines_b, out)
    except (NotAJournal, DecodeError) as error:
        print(f"{reading}:1:1: {error}", file=out)
        return UNREADABLE
    except OSError as error:
        print(f"{error.filename}:1:1: {unreadable(error)}", file=out)
        return UNREADABLE


def _compare(
    first: str,
    second: str,
    header_a: Header,
    header_b: Header,
    lines_a: Iterator[tuple[int, bytes]],
    lines_b: Iterator[tuple[int, bytes]],
    out: TextIO,
) -> int:
    for name in ("name", "seed", "start", "scenario_digest"):
        if getattr(header_a, name) != getattr(header_b, name):
            print(
                f"headers differ in {name}: {getattr(header_a, name)} and"
                f" {getattr(header_b, name)}",
                file=out,
            )
            return 1
    for a, b in zip_longest(lines_a, lines_b):
        if a is None or b is None:
            longer, (number, _) = (second, b) if a is None else (first, a)
            print(f"the first {number - 2} lines are the same; {longer} goes on", file=out)
            return 1
        line_a, line_b = read_line(a[1]), read_line(b[1])
        for part in ("mark", "argument", "seq", "at", "input", "out", "digest"):
            one, other = plain(getattr(line_a, part)), plain(getattr(line_b, part))
            if one != other:
                print(
                    f"line {a[0]}, {part}:\n  {first}: {_around(one, other)}\n  {second}:"
                    f" {_around(other, one)}",
                    file=out,
                )
                return 1
    print("the journals are the same", file=out)
    return 0


__all__ = ["Divergence", "diff", "replay", "replayed", "run", "simulation_of"]
