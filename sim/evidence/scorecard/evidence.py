"""What recordings show for a scorecard: each is compared in both readings, and its fields are
counted.

A field belongs to a message, wherever that message occurs: `Order.avgPx` counts once for all
operations that return orders. Each operation counts what its own answers showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import DecodeError, Struct, convert, json
from msgspec.structs import replace

from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field
from sim.core.catalogue.observations import READINGS
from sim.evidence.compare.compare import compare, compare_with
from sim.evidence.compare.tally import OperationTally
from sim.evidence.recording.files import Recording
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.replay.identifier_map import fields_by_name
from sim.evidence.shapes import read_session
from sim.read.errors import UsageError
from sim.world.format.scenario import Scenario

Place: TypeAlias = tuple[str, str]  # (message, JSON name of the field)

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RecordingSource(Struct, frozen=True):
    """A recording that was read."""

    file: str
    started: str
    upstream: Mapping[str, str]
    note: str
    answers: int

    @property
    def local(self) -> bool:
        """Whether everything was recorded from servers on this machine."""
        hosts = [_host(address) for address in self.upstream.values()]
        return bool(hosts) and all(host in _LOOPBACK for host in hosts)


def _host(address: str) -> str:
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""


class Evidence(Struct):
    """What recordings show: tallies by reading and operation, fields, statuses, and sources."""

    sources: list[RecordingSource] = []
    scenario: str = ""
    tallies: dict[str, dict[str, OperationTally]] = {}
    fields: dict[str, set[Place]] = {}
    statuses: dict[str, Counter[int]] = {}
    inferred: dict[str, dict[str, Any]] = {}  # by assumption or quirk

    @property
    def of_this_machine(self) -> list[str]:
        """Recordings of a server on this machine, which may be a sandbox and not the service."""
        return [source.file for source in self.sources if source.local]


class NotInferred(UsageError):
    """The file was not written by `sim infer --json`. The text says which file."""


def read_evidence(
    files: list[Path], scenario: Scenario | None, seed: int | None, inferred: Path | None = None
) -> Evidence:
    """Read and compare recordings in both readings. With a scenario, each recording is replayed
    into it.

    Raises UnreadableRecording, Unmatched, NotInferred, OSError.
    """
    evidence = Evidence(scenario=scenario.name if scenario else "")
    if inferred is not None:
        evidence.inferred = _inferred(inferred)
    for file in files:
        recording = read_session(file)
        for reading in READINGS:
            if scenario is None:
                comparison = compare(file, recording, reading)
            else:
                comparison = compare_with(file, recording, replace(scenario, reading=reading), seed)
            tallies = evidence.tallies.setdefault(reading, {})
            for name, tally in comparison.tally.operations.items():
                if (before := tallies.setdefault(name, tally)) is not tally:
                    before.add(tally)
        answers, header = _note(evidence, recording), recording.header
        evidence.sources.append(
            RecordingSource(file.name, header.started, header.upstream, header.note, answers)
        )
    return evidence


class _Verdict(Struct):
    """What every verdict of `sim infer` has."""

    verdict: str


def _inferred(file: Path) -> dict[str, dict[str, Any]]:
    """Read verdicts by assumption and quirk. Raises NotInferred."""
    try:
        document = json.decode(file.read_bytes(), type=dict[str, Any])
        verdicts = {**document["assumptions"], **document["quirks"]}
        convert(verdicts, dict[str, _Verdict])
    except (DecodeError, KeyError, TypeError):
        remedy = "`sim infer FILE --scenario NAME --json PATH` writes one"
        raise NotInferred(f"{file} holds no verdicts on assumptions; {remedy}") from None
    return verdicts


# ---- fields


def _note(evidence: Evidence, recording: Recording) -> int:
    """Add the fields and statuses of a recording; return the number of answers and frames."""
    answers = 0
    for event in RecordingReader(recording.entries).events():
        answers += 1
        operation, sent = event.operation, event.answer or event.frame
        if operation is None:
            continue
        status = None if event.answer is None else event.answer.status
        if status is not None:
            evidence.statuses.setdefault(operation.name, Counter())[status] += 1
        if sent is not None and operation.content != "csv" and status in (None, 0, 200):
            noted = evidence.fields.setdefault(operation.name, set())
            _note_fields(operation.response, sent.body, noted)
    return answers


def _note_fields(cls: type[Message], value: Any, noted: set[Place]) -> None:
    """Add the fields that an answer shows to `noted`: not null, and with a known name."""
    if not isinstance(value, dict):
        return
    fields = fields_by_name(cls)
    for name, inner in value.items():
        field = fields.get(name)
        if field is None or inner is None:
            continue
        noted.add((cls.__name__, field.json_name))
        if (below := _message_of(field)) is None:
            continue
        if field.key_kind and isinstance(inner, dict):
            inner = list(inner.values())
        for element in inner if isinstance(inner, list) else (inner,):
            _note_fields(below, element, noted)


@cache
def fields_below(cls: type[Message]) -> frozenset[Place]:
    """Return every field that an answer of this type can show, nested messages included."""
    places: set[Place] = set()
    left, visited = [cls], {cls}
    while left:
        message = left.pop()
        for field in fields_by_name(message).values():
            places.add((message.__name__, field.json_name))
            inner = _message_of(field)
            if inner is not None and inner not in visited:
                visited.add(inner)
                left.append(inner)
    return frozenset(places)


def _message_of(field: Field) -> type[Message] | None:
    return find_message(field.type_name) if field.kind == "message" else None
