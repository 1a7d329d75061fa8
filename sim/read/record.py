"""The record of a run: each line of its journal, decoded once, into types.

Everything that reads a run reads it here: rows of a timeline, the history, explanations, decisions,
features, conformance and comparisons are views of `JournalEntry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, cast

from msgspec import UNSET, Raw, json

from sim.api.pipeline.inputs import Input, RestCall, RpcCall, StreamOpened, recorded_input
from sim.api.pipeline.request_log import Verdict
from sim.core.model.why import Facts
from sim.core.webhooks.payloads import shown_url
from sim.kernel.instants import Instant
from sim.kernel.journal import Line
from sim.kernel.journal_reader import read_line
from sim.run.engine.journal_record import Record, RecordedEvent
from sim.run.engine.verdicts import verdict_of

# Inputs that are calls of a client or of a step, and have a request id.
CALLS = (RestCall, RpcCall, StreamOpened)
_read_outcome = json.Decoder(Record).decode


class JournalEntry:
    """One line of a journal: an input with its outcome, or the mark of a jump.

    Reading it raises DecodeError if it is no line. `input` and `out` are decoded at their first
    use, and raise DecodeError if the line has none, or one of another form.
    """

    def __init__(self, raw: bytes) -> None:
        self.line: Line = read_line(raw)

    @property
    def mark(self) -> str:
        """The kind of jump that the line marks; "" if it is an input."""
        return self.line.mark

    @property
    def seq(self) -> int:
        """The number of the input on its branch."""
        return self.line.seq

    @property
    def at(self) -> Instant:
        """The instant at which the input was handled."""
        return self.line.at

    @cached_property
    def input(self) -> Input:
        """The input, with its nonce."""
        return recorded_input(self.line)

    @cached_property
    def out(self) -> Record:
        """Everything that the input caused; nothing if the run failed at it."""
        if self.mark:
            return Record()
        return _read_outcome(self.line.out)

    @property
    def events(self) -> list[RecordedEvent]:
        """The events of the input, in order."""
        return self.out.events

    @property
    def verdict(self) -> Verdict | None:
        """What became of a call, as far as this input decided it; None for other inputs."""
        return verdict_of(self.out) if isinstance(self.input, CALLS) else None

    @property
    def body(self) -> Any:
        """The answer's body as JSON. A text is one that is not JSON; None if it was not kept."""
        return json.decode(self.out.body)

    @property
    def request_id(self) -> str:
        """The id of a call; "" of any other input."""
        return f"{self.seq:016x}" if isinstance(self.input, CALLS) else ""


def entries(lines: Iterable[bytes]) -> Iterator[JournalEntry]:
    """Yield the lines that are inputs, without the marks of jumps."""
    return (entry for entry in map(JournalEntry, lines) if not entry.mark)


def tag_of(event: RecordedEvent) -> str:
    """Return the name of an event in the journal."""
    return str(event.__struct_config__.tag)


def facts_of(decided: object) -> Facts:
    """Return the facts of an event, an outcome or the end of a stream. The journal leaves them out
    if there are none, and not everything has them.
    """
    facts = getattr(decided, "facts", UNSET)
    return {} if facts is UNSET else cast(Facts, facts)


class SentWebhook(NamedTuple):
    """A webhook attempt of an outcome. The URL is without its secrets."""

    attempt: str
    event_id: str
    url: str


def posts_of(out: Record) -> Iterator[SentWebhook]:
    """Yield the webhook attempts of an outcome."""
    for post in out.posts:
        attempt, event_id, rest = post.split(" ", 2)  # the URL, and the checksum of the body
        yield SentWebhook(attempt, event_id, shown_url(rest.rpartition(" ")[0]))


# ---- comparing lines


class DifferingPart(NamedTuple):
    """A part in which two lines differ, and the text of it in each."""

    part: str
    first: str
    second: str


def differing_part(first: Line, second: Line, parts: Iterable[str]) -> DifferingPart | None:
    """Return the first of some parts in which two lines differ; None if these are the same."""
    for part in parts:
        texts = line_text(getattr(first, part)), line_text(getattr(second, part))
        if texts[0] != texts[1]:
            return DifferingPart(part, *texts)
    return None


def line_text(value: object) -> str:
    """Return a part of a line as text, to compare or print."""
    return bytes(value).decode(errors="replace") if isinstance(value, Raw) else str(value)
