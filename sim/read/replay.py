"""Replay: verify a run from its journal, line by line.

A journal records each input of a run with its outcome. The exchange is a deterministic calculation,
so a new simulation that handles the same inputs must produce the same lines, byte for byte. Each
line also carries a digest over all lines before it. `replaying` handles one recorded input after
the other and stops at the first line that differs.

Only the first difference is meaningful: after it, the two runs are in different states.
`Divergence.part` names what differs, and with it the likely cause:

| Part | Likely cause |
|---|---|
| header, scenario | the file was edited |
| form, input, aside, seq | the line was damaged or edited; a line is missing |
| at | an earlier move of the clock was edited |
| mark | a rewind, reset or restore was edited, or its target |
| out | the code or a library has changed; or code read a clock or drew outside the named streams |
| digest | an earlier line was replaced by an equivalent one |

Values that clients drew at random, such as nonces, are `aside`: they have a checksum of their own
and are not part of the digest. A last line without its newline is ignored, because a killed process
may leave one. Marks (rewind, reset, snapshot, restore, fork) are repeated, too; they are not
inputs. The input at which a run failed is not repeated, so that its last state can be looked at;
`sim hunt --check` repeats it. `compare.py` compares two journals without a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from msgspec import DecodeError, ValidationError, convert, json, structs, to_builtins

from sim.api.pipeline.inputs import Advanced, Outcome
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Conflict, Refusal
from sim.kernel.instants import OUT_OF_RANGE, Instant, format_instant, is_supported_instant
from sim.kernel.journal import Header, Line
from sim.kernel.journal_reader import NotAJournal, read_journal, unreadable
from sim.read.errors import UnreadableJournal, UsageError
from sim.read.progress import reading
from sim.read.record import JournalEntry, differing_part, line_text
from sim.run.engine.journal_record import library_versions
from sim.run.loader.load import scenario_from_source
from sim.run.simulation import Simulation
from sim.world.format.yaml_tree import ScenarioError

EXCERPT = 160

NumberedLines = Iterator[tuple[int, bytes]]


class Divergence(Exception):
    """A journal and its replay differ.

    `number` is the line, `part` what differs in it; `recorded` and `replayed` are both sides as
    text. `path` and `libraries` are known if a file was replayed: `libraries` has a line for each
    library whose version has changed since the recording.
    """

    path = "journal"
    libraries: tuple[str, ...] = ()

    def __init__(self, number: int, part: str, recorded: str, replayed: str) -> None:
        super().__init__(f"line {number}: {part} differs")
        self.number = number
        self.part = part
        self.recorded = recorded
        self.replayed = replayed

    def lines(self) -> Iterator[str]:
        """Yield the difference as text, with both sides."""
        yield f"{self.path}:{self.number}: {self.part} differs from the replay"
        yield f"  recorded: {excerpt(self.recorded, self.replayed)}"
        yield f"  replayed: {excerpt(self.replayed, self.recorded)}"
        yield from (f"  {line}" for line in self.libraries)

    def document(self) -> dict[str, Any]:
        """Return the difference as a document for programs."""
        return {
            "journal": self.path,
            "ok": False,
            "line": self.number,
            "part": self.part,
            "recorded": self.recorded,
            "replayed": self.replayed,
            "libraries": list(self.libraries),
        }


class Replay(NamedTuple):
    """A journal that was replayed, and the simulation in its final state.

    The simulation of an `interrupted` replay may be in the middle of an input.
    """

    path: str
    header: Header
    inputs: int
    simulation: Simulation
    interrupted: bool = False

    def lines(self) -> Iterator[str]:
        """Yield the replay as text."""
        if self.interrupted:
            yield f"{self.path}: interrupted; the first {self.inputs} inputs are as recorded"
            return
        yield f"{self.path}: {self.inputs} inputs replayed, every line as recorded"
        if self.simulation.seq < self.inputs:
            yield f"  back to right after input {self.simulation.seq}"
        until = format_instant(self.simulation.now)
        yield f"  scenario {self.header.name}, seed {self.header.seed}, until {until}"
        yield f"  digest {self.simulation.digest}"

    def document(self) -> dict[str, Any]:
        """Return the replay as a document for programs.

        `seq` is the input to which the state belongs. `ok` of an interrupted replay is null, as the
        result is not known.
        """
        if self.interrupted:
            return {"journal": self.path, "ok": None, "inputs": self.inputs, "interrupted": True}
        return {
            "journal": self.path,
            "ok": True,
            "inputs": self.inputs,
            "seq": self.simulation.seq,
            "scenario": self.header.name,
            "seed": self.header.seed,
            "now": format_instant(self.simulation.now),
            "digest": self.simulation.digest,
        }


# ---- files


@contextmanager
def journal_lines(path: Path | str) -> Iterator[tuple[Header, NumberedLines]]:
    """Return the header of a journal file, and (line number, line) of the rest.

    Raises UnreadableJournal.
    """
    try:
        file = Path(path).open("rb")  # noqa: SIM115  (an error while reading is another thing)
    except OSError as error:
        raise UnreadableJournal(path, f"cannot read: {unreadable(error)}", 0) from error
    with file:
        try:
            with naming(path):
                header, lines = read_journal(file)
            yield header, _named(path, lines)
        except (NotAJournal, DecodeError) as error:
            raise UnreadableJournal(path, unreadable(error)) from error
        except Divergence as difference:
            difference.path = str(path)
            raise


def _named(path: Path | str, lines: NumberedLines) -> NumberedLines:
    with naming(path):
        yield from lines


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Name the file in errors about a line that cannot be read."""
    try:
        yield
    except NotAJournal as error:
        raise UnreadableJournal(path, str(error), error.line) from error
    except OSError as error:
        raise UnreadableJournal(path, unreadable(error)) from error


def replay_file(
    path: Path | str,
    until: Instant | None = None,
    *,
    settings: Settings | None = None,
    seq: int | None = None,
    keeps: bool = False,
) -> Replay:
    """Replay a journal file to its end, or to the instant `until`, then rewind to input `seq`.

    With `keeps`, a replay that is interrupted says how far it came. Raises UnreadableJournal,
    Divergence, or UsageError if there is no input `seq` to rewind to.
    """
    inputs = 0
    with journal_lines(path) as (header, lines):
        try:
            simulation = simulation_of(header, settings)
            with reading(path, keeps=keeps) as progress:
                for _, entry in progress.each(replaying(simulation, lines, until)):
                    inputs += not entry.mark
        except Divergence as difference:
            difference.libraries = tuple(_other_libraries(header))
            raise
    if progress.interrupted:
        return Replay(str(path), header, inputs, simulation, interrupted=True)
    if seq is not None:
        try:
            simulation.rewind(seq=seq)
        except Conflict as refusal:
            raise UsageError(f"{path}: {refusal.message}") from None
    return Replay(str(path), header, inputs, simulation)


def simulation_at(path: Path | str, until: Instant | None = None) -> Simulation:
    """Return the simulation at the end of a journal file.

    Raises UnreadableJournal or Divergence.
    """
    return replay_file(path, until).simulation


def _other_libraries(header: Header) -> Iterator[str]:
    here = library_versions()
    for name, version in header.libraries.items():
        if here.get(name) != version:
            yield f"recorded with {name} {version}, replayed with {here.get(name, 'none')}"


# ---- simulations


def simulation_of(
    header: Header, settings: Settings | None = None, journal: BinaryIO | None = None
) -> Simulation:
    """Return a new simulation at the start that a header describes.

    Raises NotAJournal or Divergence.
    """
    check = f"{crc32(json.encode(structs.replace(header, check=''))):08x}"
    if header.check != check:
        raise Divergence(1, "header", header.check, check)
    try:
        scenario = scenario_from_source(bytes(header.scenario), header.places)
    except ScenarioError as error:
        raise NotAJournal(f"line 1 holds a scenario this version cannot read: {error}") from error
    if scenario.digest != header.scenario_digest:
        raise Divergence(1, "scenario", header.scenario_digest, scenario.digest)
    try:
        settings = convert({**to_builtins(settings or Settings()), **header.settings}, Settings)
    except ValidationError as error:
        raise NotAJournal(f"line 1 holds settings this version cannot read: {error}") from error
    if not is_supported_instant(header.start):
        raise NotAJournal(f"line 1 has a start outside the calendar: {OUT_OF_RANGE}")
    try:
        return Simulation(
            scenario, seed=header.seed, start=header.start, settings=settings, journal=journal
        )
    except (ValueError, LookupError, Refusal) as error:
        text = f"line 1 holds a scenario this version cannot run: {type(error).__name__}: {error}"
        raise NotAJournal(text) from error


def at_the_start(header: Header, seed: int, journal: BinaryIO | None = None) -> Simulation:
    """Return `simulation_of`, with the seed that a tester's reset may have changed since."""
    simulation = simulation_of(header, journal=journal)
    if simulation.seed != seed:
        simulation.reset(seed)
    return simulation


def lines_leading_to(simulation: Simulation) -> tuple[Header, NumberedLines]:
    """Return the header and lines that led to the current state of a simulation.

    They are as in a separate journal: each time travel on the way is the mark of a fork, which ends
    streams in the same way.
    """
    file = BytesIO()
    simulation.journal.along(simulation.journal.branch, file)
    return read_journal(BytesIO(file.getvalue()))


def verify(simulation: Simulation, lines: NumberedLines, until: Instant | None = None) -> int:
    """Replay lines and return the number of inputs.

    Raises Divergence at the first different outcome.
    """
    return sum(1 for _, entry in replaying(simulation, lines, until) if not entry.mark)


def replaying(
    simulation: Simulation,
    lines: NumberedLines,
    until: Instant | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> Iterator[tuple[int, JournalEntry]]:
    """Replay line by line: yield each (line number, entry) once the simulation has handled it.

    `on_outcome` is called with the outcome of each input that was as recorded. With `until` the
    replay ends at that instant: before the first later input, and in the middle of a line that
    moves time beyond it.
    """
    for number, raw in lines:
        entry = JournalEntry(raw)
        if entry.mark:
            _repeat_mark(simulation, number, entry.line)
        elif until is not None and _stop_at(simulation, entry, until):
            return
        else:
            outcome = _repeat_input(simulation, number, raw, entry)
            if on_outcome is not None:
                on_outcome(outcome)
        yield number, entry


def _stop_at(simulation: Simulation, entry: JournalEntry, until: Instant) -> bool:
    """Return whether a line leads beyond `until`. If it moves time, time first moves to `until`."""
    if entry.at > until:
        return True
    if b'"advance"' not in bytes(entry.line.input):
        return False
    if not isinstance(entry.input, Advanced) or entry.input.to <= until:
        return False
    if simulation.now < until:
        simulation.handle(Advanced(until))
    return True


def _repeat_input(simulation: Simulation, number: int, raw: bytes, entry: JournalEntry) -> Outcome:
    line = entry.line
    if line.seq != simulation.seq + 1:
        raise Divergence(number, "seq", str(line.seq), str(simulation.seq + 1))
    if line.aside and f"{crc32(bytes(line.aside)):08x}" != line.check:
        raise Divergence(number, "aside", line_text(line.aside), "its checksum does not match")
    try:
        recorded = entry.input
    except DecodeError as error:
        text = f"not an input: {error}"
        raise Divergence(number, "input", line_text(line.input), text) from error
    if isinstance(recorded, Advanced) and not is_supported_instant(recorded.to):
        raise Divergence(number, "input", line_text(line.input), OUT_OF_RANGE)
    try:
        outcome = simulation.handle(recorded)
    except Exception as error:
        failed = f"this version fails at it: {type(error).__name__}: {error}"
        raise Divergence(number, "out", line_text(line.out), failed) from error
    replayed = simulation.journal.last_line[:-1]
    if replayed == raw:
        return outcome
    again = JournalEntry(replayed).line
    if differing := differing_part(line, again, ("at", "input", "out", "aside", "digest")):
        raise Divergence(number, *differing)
    raise Divergence(number, "form", raw.decode(errors="replace"), replayed.decode())


def _repeat_mark(simulation: Simulation, number: int, line: Line) -> None:
    try:
        match line.mark:
            case "rewind":
                simulation.rewind(seq=int(line.argument))
            case "reset":
                simulation.reset(int(line.argument))
            case "snapshot":
                simulation.snapshot(line.argument)
            case "restore":
                simulation.restore(line.argument)
            case "fork":
                simulation.continue_as_fork(line.argument)
            case "failure":
                pass
            case _:
                raise ValueError("unknown mark")
    except (ValueError, Refusal) as error:
        recorded = f"{line.mark} {line.argument}"
        raise Divergence(number, "mark", recorded, f"cannot be repeated: {error}") from error


# ---- text


def excerpt(text: str, other: str, most: int = EXCERPT) -> str:
    """Return the part of a long text around the first character that differs from another text."""
    same = next((index for index, (a, b) in enumerate(zip_longest(text, other)) if a != b), 0)
    start = max(0, same - most // 4)
    end = start + most
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")
