"""A journal as `sim diff` compares it: events by their meaning, without identifiers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import json

from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import Header
from sim.read.errors import MALFORMED, UnreadableJournal
from sim.read.history.rows import Row, detailed_row, rows, steps_of
from sim.read.identifiers import without_identifiers
from sim.read.progress import reading
from sim.read.record import JournalEntry
from sim.read.replay import journal_lines

REQUEST_KEYS = ("query", "body", "arguments", "frame", "request")


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
