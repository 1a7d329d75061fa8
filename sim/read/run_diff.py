"""`sim diff`: compares two runs, whatever their scenarios and seeds.

Runs are aligned by meaning. Occurrences are named by who did what (`POST /v1/trading/orders` of
`atlas`), without identifiers, and the n-th one in one run is paired with the n-th one in the other.
So an additional input in one run shifts nothing after it, and the work is linear. Requests and
results of each pair are compared; identifiers and instants, which two runs never share, are not.
Moves of the clock without consequences are ignored.

Journals of one scenario, seed and start are also compared line by line, to the byte.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from msgspec import json

from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import Header
from sim.read.compare import (
    WRITTEN,
    Difference,
    compare_states,
    first_difference,
    header_differences,
)
from sim.read.errors import MALFORMED, UnreadableJournal
from sim.read.history.rows import Row, detailed_row, rows, steps_of
from sim.read.identifiers import without_identifiers
from sim.read.layout import counted, first_lines, put, width, wrapped
from sim.read.progress import Interrupted, reading
from sim.read.record import JournalEntry
from sim.read.replay import excerpt, journal_lines, replay_file
from sim.read.tables import print_table
from sim.read.timeline import grouped, plain, write
from sim.run.simulation import Simulation

SHOWN_MAX = 20
_ONE_RUN = ("name", "seed", "start", "scenario_digest")
REQUEST_KEYS = ("query", "body", "arguments", "frame", "request")
# The same value of many instruments or accounts.
_OF_MANY = re.compile(r"(\w+ \S+)(: .*)")


# ---- a journal, by what its lines mean


class Description(NamedTuple):
    """What happened, without anything that differs between any two runs."""

    kind: str
    actor: str
    title: str

    def __str__(self) -> str:
        return f"{self.title} of {self.actor}" if self.actor else self.title

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"kind": self.kind, "who": self.actor, "what": self.title}


class Occurrence(NamedTuple):
    """One line of a journal. `asked` and `answered` are hashes, so that long runs fit in memory."""

    line: int
    at: Instant
    request: int
    answered: int


class ComparedRun(NamedTuple):
    """A journal prepared for comparison."""

    path: Path
    header: Header
    inputs: int
    ended: Instant
    occurrences: dict[Description, list[Occurrence]]
    events: Counter[str]

    def document(self) -> dict[str, Any]:
        """Return the run as a document for programs."""
        return {
            "journal": str(self.path),
            "scenario": self.header.name,
            "seed": self.header.seed,
            "inputs": self.inputs,
            "until": format_instant(self.ended),
        }

    def raw(self, number: int) -> bytes:
        """Return a line of the journal. Line 1 is the header."""
        with journal_lines(self.path) as (_, lines):
            return next(islice(lines, number - 2, None))[1]

    def line(self, number: int) -> Row:
        """Return a line of the journal as a row of a timeline."""
        return next(rows(iter([self.raw(number)]), self.header))

    def request(self, number: int) -> str:
        """Return the request of a line, as JSON."""
        return _request_text(JournalEntry(self.raw(number)))


def read_run(path: Path) -> ComparedRun:
    """Read a run for a comparison. Raises UnreadableJournal with the line."""
    occurrences: defaultdict[Description, list[Occurrence]] = defaultdict(list)
    events: Counter[str] = Counter()
    inputs, now, number = 0, 0, 1
    with journal_lines(path) as (header, numbered):
        try:
            steps = steps_of(header)
            with reading(path) as progress:
                for number, raw in progress.each(numbered):
                    entry = JournalEntry(raw)
                    if entry.mark:
                        continue
                    inputs, now = inputs + 1, entry.at
                    row = detailed_row(entry, steps)
                    events.update(row.events)
                    if row.kind in ("clock", "timer") and not row.details:
                        continue
                    request, answered = hash(_request_text(entry)), hash(_outcome_text(row, entry))
                    occurrence = Occurrence(number, now - header.start, request, answered)
                    occurrences[_description(row, entry)].append(occurrence)
        except MALFORMED as error:
            # These lines have not been validated: anything that is not a record fails here.
            raise UnreadableJournal(path, f"not a journal record: {error!r}", number) from error
        return ComparedRun(path, header, inputs, now or header.start, dict(occurrences), events)


def _description(row: Row, entry: JournalEntry) -> Description:
    """Return what a row is about. A timer is identified by its kind and its owner."""
    title = row.title
    if row.kind == "timer":
        fired = entry.out.fired
        title = ", ".join(dict.fromkeys(timer.timer for timer in fired))
        title += f" {fired[0].subject}" if len(fired) == 1 else ""
    elif row.kind == "step":
        title = title.rpartition(" (")[0] or title
        title = re.sub(r"^step \d+ (?=.)", "step ", title)  # names are more stable than numbers
    elif row.kind == "control":
        action, _, rest = title.partition(" ")
        subject = "" if rest.startswith("{") else rest.partition(" ")[0]
        title = f"{action} {subject}".strip()
    return Description(row.kind, row.caller or row.actor, without_identifiers(title))


def _request_text(entry: JournalEntry) -> str:
    recorded = json.decode(entry.line.input)  # protobuf messages as the base64 that it has
    parts = [recorded[key] for key in REQUEST_KEYS if recorded.get(key)]
    texts = (part if isinstance(part, str) else json.encode(part).decode() for part in parts)
    return without_identifiers(" ".join(texts))


def _outcome_text(row: Row, entry: JournalEntry) -> str:
    body = without_identifiers(bytes(entry.out.body).decode())
    return "\n".join((row.result, *map(without_identifiers, row.details), body))


# ---- two of them


class Mismatch(NamedTuple):
    """The n-th time that something happened, where the runs differ: in the request, in the result,
    or because only one run has it.
    """

    meaning: Description
    nth: int
    first: Occurrence | None
    second: Occurrence | None

    @property
    def sentence(self) -> str:
        if self.first is None or self.second is None:
            return f"only the {'second' if self.first is None else 'first'} run has it"
        same_request = self.first.request == self.second.request
        return "outcomes differ" if same_request else "the requests differ"


class Tally(NamedTuple):
    """How often something happened in each run, and how many pairs differ."""

    meaning: Description
    first: int
    second: int
    differ: int

    @property
    def counts(self) -> dict[str, int]:
        return {"first": self.first, "second": self.second, "differ": self.differ}


class RunDiff:
    """The comparison of two journals. Raises UnreadableJournal for an invalid file."""

    def __init__(self, first: Path, second: Path) -> None:
        self.exact = _exact(first, second)
        self.first, self.second = read_run(first), read_run(second)
        self.mismatches = sorted(self._mismatches(), key=_position)

    @property
    def same(self) -> bool:
        """Whether the journals are the same, line by line."""
        return self.exact is None and not self.headers

    @cached_property
    def headers(self) -> dict[str, tuple[Any, Any]]:
        """The differences between the headers of the runs."""
        return header_differences(self.first.header, self.second.header)

    def _descriptions(self) -> Iterable[Description]:
        return dict.fromkeys([*self.first.occurrences, *self.second.occurrences])

    def _mismatches(self) -> Iterator[Mismatch]:
        for meaning in self._descriptions():
            runs = (run.occurrences.get(meaning, []) for run in (self.first, self.second))
            for nth, (first, second) in enumerate(zip_longest(*runs), start=1):
                if first is None or second is None or first[2:] != second[2:]:
                    yield Mismatch(meaning, nth, first, second)

    @cached_property
    def tallies(self) -> list[Tally]:
        """Return the counts of what happened in the runs; what differs most comes first."""
        differ = Counter(each.meaning for each in self.mismatches if each.first and each.second)
        counts = [
            Tally(
                each,
                len(self.first.occurrences.get(each, ())),
                len(self.second.occurrences.get(each, ())),
                differ[each],
            )
            for each in self._descriptions()
        ]
        return sorted(counts, key=lambda each: -abs(each.first - each.second) - each.differ)

    @cached_property
    def events(self) -> dict[str, tuple[int, int]]:
        """Return how many events of each name the runs have."""
        first, second = self.first.events, self.second.events
        return {name: (first[name], second[name]) for name in sorted({**first, **second})}

    @cached_property
    def states(self) -> tuple[list[str], str]:
        """Return how the final states differ, and why they cannot be compared, or ""."""
        return compare_states((self.first.path, self.second.path), _end_of, two_runs=True)

    def document(self) -> dict[str, Any]:
        """Return the comparison as a document for programs."""
        first = self.mismatches[0] if self.mismatches else None
        states, not_compared = ([], "") if self.same else self.states
        return {
            "same": self.same,
            "first": self.first.document(),
            "second": self.second.document(),
            "begin": {name: list(pair) for name, pair in self.headers.items()},
            "line": self.exact.number if self.exact is not None else None,
            "difference": None if first is None else self._document(first),
            "happened": [{**each.meaning.document(), **each.counts} for each in self.tallies],
            "events": {
                name: {"first": first, "second": second}
                for name, (first, second) in self.events.items()
            },
            "end": states,
            "not_compared": not_compared,
        }

    def _document(self, mismatch: Mismatch) -> dict[str, Any]:
        rows = {
            name: plain(run.line(occurrence.line)) if occurrence is not None else None
            for name, run, occurrence in self._sides(mismatch)
        }
        which = {"nth": mismatch.nth, "says": mismatch.sentence}
        return {**mismatch.meaning.document(), **which, **rows}

    def _sides(self, mismatch: Mismatch) -> tuple[tuple[str, ComparedRun, Occurrence | None], ...]:
        return ("first", self.first, mismatch.first), ("second", self.second, mismatch.second)

    def write(self, out: TextIO) -> None:
        """Print the comparison: the headers, the first difference, counts, and the final states."""
        if self.same:
            put("the journals are the same", file=out)
            return
        for name, run in (("first", self.first), ("second", self.second)):
            about = f"{run.header.name}, seed {run.header.seed}, {run.inputs} inputs"
            put(f"{name:<7} {run.path}", file=out)
            put(f"{'':7} {about}, until {format_instant(run.ended)}", file=out)
        for name, pair in self.headers.items():
            values = " and ".join(_begins_with(name, value) for value in pair)
            put(f"their headers differ in {name}: {values}", file=out)
        if self.exact is not None:
            self._write_line(self.exact, out)
        self._write_first(out)
        self._write_counts(out)
        self._write_states(out)

    def _write_line(self, exact: Difference, out: TextIO) -> None:
        if exact.part == "end":
            longer = "first" if exact.first else "second"
            put("", f"the first {exact.same} lines are the same; the {longer} continues", file=out)
            return
        left, right = exact.texts
        put("", f"the first line that differs is {exact.number}, in its {exact.part}", file=out)
        put(f"  first   {excerpt(left, right)}", f"  second  {excerpt(right, left)}", file=out)

    def _write_first(self, out: TextIO) -> None:
        if not self.mismatches:
            same = "both runs have the same inputs and events, apart from identifiers and instants"
            put("", f"{same}", file=out)
            return
        mismatch = self.mismatches[0]
        times = f" (number {mismatch.nth} of its kind)" if mismatch.nth > 1 else ""
        headline = f"first difference: {mismatch.meaning}{times}: {mismatch.sentence}"
        put("", *wrapped(headline, "  ", first=""), file=out)
        for name, run, occurrence in self._sides(mismatch):
            if occurrence is None:
                put(f"{name}: nothing", file=out)
                continue
            put(f"{name}, line {occurrence.line}:", file=out)
            write([run.line(occurrence.line)], out)
        if mismatch.first and mismatch.second and mismatch.first.request != mismatch.second.request:
            left = self.first.request(mismatch.first.line)
            right = self.second.request(mismatch.second.line)
            put("request:", f"  first   {excerpt(left, right, width() - 12)}", file=out)
            put(f"  second  {excerpt(right, left, width() - 12)}", file=out)

    def _write_counts(self, out: TextIO) -> None:
        if all(each.first == each.second and not each.differ for each in self.tallies):
            return
        rows: list[dict[str, Any]] = [
            {"what": each.meaning.title, "who": each.meaning.actor, **each.counts}
            for each in self.tallies
            if each.differ or each.first != each.second
        ]
        events = [
            {"what": name, "who": "(event)", "first": first, "second": second, "differ": ""}
            for name, (first, second) in self.events.items()
            if first != second
        ]
        alike = sum(each.first - each.differ for each in self.tallies if each.first == each.second)
        put("", f"counts that differ ({alike} other counts are equal)", file=out)
        print_table((rows + events)[:SHOWN_MAX], out)
        if len(rows + events) > SHOWN_MAX:
            put(f"… and {len(rows + events) - SHOWN_MAX} more kinds; --json has all", file=out)

    def _write_states(self, out: TextIO) -> None:
        states, not_compared = self.states
        if not_compared:
            put("", f"the ends cannot be compared: {not_compared}", file=out)
            return
        if not states:
            put("", "their states at the end are the same, apart from identifiers", file=out)
            return
        put("", f"at the end (first → second): {counted(len(states), 'value')} differ", file=out)
        rest = "… and {} more lines; --json has all"
        for line in first_lines(list(grouped(states, _OF_MANY)), SHOWN_MAX, rest):
            put(f"  {line}", file=out)


def _begins_with(name: str, value: Any) -> str:
    if name == "start":
        return format_instant(value)
    return f"{value[:12]}…" if name == "scenario_digest" else str(value)


def _end_of(path: Path) -> Simulation:
    """Return the state at the end of a journal. Raises Divergence or Interrupted."""
    done = replay_file(path, keeps=True)
    if done.interrupted:
        raise Interrupted(f"interrupted after input {done.inputs} of {path}")
    return done.simulation


def _position(mismatch: Mismatch) -> tuple[Instant, int]:
    occurrences = [each for each in (mismatch.first, mismatch.second) if each is not None]
    return min(each.at for each in occurrences), min(each.line for each in occurrences)


def _exact(first: Path, second: Path) -> Difference | None:
    """Return the first line that differs between two journals of one run."""
    difference = None
    with journal_lines(first) as (header, lines), journal_lines(second) as (other, others):
        if all(getattr(header, name) == getattr(other, name) for name in _ONE_RUN):
            with reading(first) as progress:
                difference = first_difference(progress.each(lines), others, WRITTEN)
    return difference
