"""The drift alarm as text that can be read in ten seconds, and as JUnit for CI."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import TextIO

from sim.evidence.compare.compare import agreement
from sim.evidence.compare.drift import Drift
from sim.evidence.compare.readings import other_reading
from sim.read.junit import Case, Suite
from sim.read.layout import counted

_WIDTH = 80
_PLACES_MAX = 6  # printed groups; JSON and JUnit list all


def write(drift: Drift, out: TextIO) -> None:
    """Print the open differences, then a short summary of everything else."""
    for line in _lines(drift):
        print(line, file=out)


def _lines(drift: Drift) -> Iterator[str]:
    comparison = drift.comparison
    yield from comparison.warnings
    yield _verdict(drift)
    ordered = sorted(drift.open, key=lambda difference: not difference.since)
    for name, group in groupby(ordered[:_PLACES_MAX], key=lambda difference: difference.operation):
        yield f"  {name}"
        for difference in group:
            yield from (f"    {line}" for line in difference.lines(_WIDTH - 4))
    if len(drift.open) > _PLACES_MAX:
        yield f"  … and {len(drift.open) - _PLACES_MAX} more: --json and --junit have all"
    yield from _as_the_other_reading(drift)
    yield from _since(drift)
    yield from _accepted(drift)
    yield from agreement(comparison)


def _verdict(drift: Drift) -> str:
    comparison = drift.comparison
    compared = f"{drift.compared:,} answers and frames compared, reading {comparison.reading}"
    if not drift.compared:
        return f"DRIFT: nothing could be compared: {comparison.path.name} shows nothing documented"
    if not drift.open:
        return f"no drift: {compared}"
    operations = len({difference.operation for difference in drift.open})
    new = sum(1 for difference in drift.open if difference.since)
    suffix = f", {new} of them new" if drift.earlier else ""
    return (
        f"DRIFT: {counted(len(drift.open), 'place')} in {counted(operations, 'operation')}{suffix}"
    )


def _as_the_other_reading(drift: Drift) -> Iterator[str]:
    count = sum(1 for difference in drift.open if difference.tally.first.difference.switch)
    if count:
        other = other_reading(drift.comparison.reading)
        yield f"no difference in the reading {other}: {counted(count, 'place')} (--reading {other})"


def _since(drift: Drift) -> Iterator[str]:
    if drift.earlier is None:
        return
    new = sum(1 for difference in (*drift.open, *drift.accepted) if difference.since)
    text = f"since {drift.earlier.file.name}: {new} new, {len(drift.gone)} gone"
    if drift.unseen:
        text += f"; not seen any more: {', '.join(drift.unseen)}"
    yield from wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False)


def _accepted(drift: Drift) -> Iterator[str]:
    if drift.accepted:
        operations = len({difference.operation for difference in drift.accepted})
        places = counted(len(drift.accepted), "place")
        yield f"accepted:    {places} in {counted(operations, 'operation')}"
    for entry in drift.stale:
        text = f"not needed:  {entry.operation} {entry.where} matches nothing any more"
        yield from wrap(text, _WIDTH, subsequent_indent=" " * 13, break_long_words=False)


def suite(drift: Drift) -> Suite:
    """Return a JUnit case for each operation that was seen: failed, passed, or skipped for
    lack of evidence.
    """
    comparison = drift.comparison
    cases = [_case(drift, name) for name in sorted(comparison.tally.operations)]
    if not drift.compared:
        text = "no answer or frame could be compared"
        cases.append(Case("drift", "something was compared", failure=text))
    properties = {
        "recording": comparison.path.name,
        "reading": comparison.reading,
        "operations_never_seen": str(len(comparison.not_seen())),
    }
    return Suite("sim compare", cases, properties)


def _case(drift: Drift, name: str) -> Case:
    mine = [difference for difference in drift.open if difference.operation == name]
    if mine:
        text = "\n".join(line for difference in mine for line in difference.lines(200))
        return Case("drift", name, failure=f"{counted(len(mine), 'place')} differ", text=text)
    operation = drift.comparison.tally.operations[name]
    if not operation.agree and not operation.differ:
        return Case("drift", name, skipped=f"no evidence: {'; '.join(operation.unknown)}")
    accepted = [difference for difference in drift.accepted if difference.operation == name]
    entries = [
        f"{difference.where}: {difference.entry.reason}"
        for difference in accepted
        if difference.entry
    ]
    return Case("drift", name, text="\n".join(["accepted:", *entries]) if entries else "")
