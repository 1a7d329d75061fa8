"""Collects what recordings show for a scorecard: each is compared in both readings, and its
fields are counted.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import DecodeError, json
from msgspec.structs import replace

from sim.core.catalogue.observations import READINGS
from sim.evidence.compare.compare import compare, compare_with
from sim.evidence.compare.fields_seen import note_fields
from sim.evidence.compare.scorecard import Evidence, RecordingSource
from sim.evidence.recording.files import Recording
from sim.evidence.recording.reading import read_recording
from sim.evidence.recording.recorded_events import RecordedEvent, RecordingReader
from sim.read.errors import UsageError
from sim.world.format.scenario import Scenario


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
        recording = read_recording(file)
        for reading in READINGS:
            if scenario is None:
                comparison = compare(file, recording, reading)
            else:
                comparison = compare_with(file, recording, replace(scenario, reading=reading), seed)
            tallies = evidence.tallies.setdefault(reading, {})
            for name, tally in comparison.tally.operations.items():
                if (before := tallies.setdefault(name, tally)) is not tally:
                    before.add(tally)
        answers = _note(evidence, recording)
        header = recording.header
        evidence.sources.append(
            RecordingSource(file.name, header.started, header.upstream, header.note, answers)
        )
    return evidence


def _note(evidence: Evidence, recording: Recording) -> int:
    """Add the fields and statuses of a recording; return the number of answers and frames."""
    answers = 0
    for event in RecordingReader(recording.entries).events():
        answers += 1
        operation = event.operation
        if operation is None:
            continue
        name, status = operation.name, _status(event)
        if status is not None:
            evidence.statuses.setdefault(name, Counter())[status] += 1
        if operation.content != "csv" and (status is None or status in (0, 200)):
            body = event.frame.body if event.frame else event.answer.body if event.answer else None
            note_fields(operation.response, body, evidence.fields.setdefault(name, set()))
    return answers


def _status(event: RecordedEvent) -> int | None:
    return None if event.answer is None else event.answer.status


def _inferred(file: Path) -> dict[str, dict[str, Any]]:
    """Read verdicts by assumption and quirk. Raises NotInferred."""
    remedy = "`sim infer FILE --scenario NAME --json PATH` writes one"
    try:
        document = json.decode(file.read_bytes(), type=dict[str, Any])
        verdicts = {**document["assumptions"], **document["quirks"]}
    except (DecodeError, KeyError, TypeError):
        raise NotInferred(f"{file} holds no verdicts on assumptions; {remedy}") from None
    if not all(
        isinstance(verdict, dict) and isinstance(verdict.get("verdict"), str)
        for verdict in verdicts.values()
    ):
        raise NotInferred(f"{file} holds no verdicts on assumptions; {remedy}")
    return verdicts
