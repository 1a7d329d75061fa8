"""The drift alarm: which differences of a comparison nobody has reviewed, and which are new.

People review differences and list the accepted ones in a file. That file alone decides whether the
alarm rings, so a difference rings every night until it is gone or accepted. The document of an
earlier comparison only marks what is new, so that a reader knows where to look first.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, TextIO

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from sim.evidence.compare.compare import RecordingComparison, agreement
from sim.evidence.compare.tally import PlaceTally, without_positions
from sim.evidence.validation.difference import KINDS
from sim.evidence.validation.readings import other_reading
from sim.read.errors import UsageError
from sim.read.junit import Case, Suite
from sim.read.layout import counted, put
from sim.world.format.struct_types import record
from sim.world.format.value_types import INVALID
from sim.world.format.yaml_tree import Problem, ScenarioError, problem, read_file

_KEY = ("operation", "where", "kind")


class ReviewedDifference(Struct, frozen=True, kw_only=True):
    """A reviewed difference. `operation` and `where` may contain wildcards (`*`); an empty `kind`
    means every kind.
    """

    operation: str
    where: str
    kind: str = ""
    reason: str

    def matches(self, difference: DifferenceGroup) -> bool:
        """Return whether this entry accepts a difference."""
        return (
            fnmatchcase(difference.operation, self.operation)
            and _matches(difference.where, self.where)
            and self.kind in ("", difference.kind)
        )


class _ReviewFile(Struct, frozen=True):
    """The file of reviewed differences."""

    accepted: tuple[ReviewedDifference, ...]


class DifferenceGroup(Struct, frozen=True):
    """Equal differences at one place of an operation, with the first of them."""

    operation: str
    tally: PlaceTally
    since: bool = False  # whether the earlier comparison lacks it
    entry: ReviewedDifference | None = None  # the entry that accepts it

    @property
    def where(self) -> str:
        """The place, without positions in lists."""
        return self.tally.where

    @property
    def kind(self) -> str:
        """The kind of difference."""
        return self.tally.first.difference.kind

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the group in every comparison: operation, place, kind."""
        return self.operation, self.where, self.kind

    def document(self) -> dict[str, Any]:
        """Return the row that `--json` prints."""
        row = {
            "operation": self.operation,
            **self.tally.first.difference.document(),
            "where": self.where,
            "count": self.tally.count,
            "n": self.tally.first.n,
            "new": self.since,
        }
        return row | ({"reason": self.entry.reason} if self.entry else {})

    def lines(self, width: int) -> Iterator[str]:
        """Yield the group as two or more lines."""
        return self.tally.lines(width, "  NEW" if self.since else "")


class EarlierComparison(Struct, frozen=True):
    """The differences of an earlier comparison, and the operations that it saw."""

    file: Path
    keys: frozenset[tuple[str, str, str]]
    operations: frozenset[str]


class NoComparison(UsageError):
    """The file was not written by `sim compare --json`. The text says which file."""


class Drift:
    """A comparison, split into accepted and open differences, and compared with an earlier one."""

    def __init__(
        self,
        comparison: RecordingComparison,
        accepted: tuple[ReviewedDifference, ...],
        earlier: EarlierComparison | None,
    ) -> None:
        self.comparison, self.entries, self.earlier = comparison, accepted, earlier
        drifts = list(_difference_groups(comparison, accepted, earlier))
        self.open = [difference for difference in drifts if difference.entry is None]
        self.accepted = [difference for difference in drifts if difference.entry is not None]
        used = {difference.entry for difference in self.accepted}
        self.stale = [entry for entry in accepted if entry not in used]
        keys, operations = (
            {difference.key for difference in drifts},
            set(comparison.tally.operations),
        )
        self.gone = sorted(earlier.keys - keys) if earlier else []
        self.unseen = sorted(earlier.operations - operations) if earlier else []

    @property
    def compared(self) -> int:
        """The number of answers and frames that could be compared."""
        totals = self.comparison.tally.totals()
        return int(totals["agree"] + totals["differ"])

    @property
    def rings(self) -> bool:
        """Whether the alarm rings: a difference is open, or nothing could be compared."""
        return bool(self.open) or not self.compared

    def document(self) -> dict[str, Any]:
        """Return what `--json` adds under "drift"."""
        return {
            "rings": self.rings,
            "open": [difference.document() for difference in self.open],
            "accepted": [difference.document() for difference in self.accepted],
            "not_needed": [
                {"operation": entry.operation, "where": entry.where, "reason": entry.reason}
                for entry in self.stale
            ],
            "gone": [dict(zip(_KEY, key, strict=True)) for key in self.gone],
            "not_seen_any_more": self.unseen,
        }


def read_accepted(path: Path) -> tuple[ReviewedDifference, ...]:
    """Read a file of reviewed differences. Raises ScenarioError with positions, and OSError."""
    node = read_file(path)
    problems: list[Problem] = []
    file = record(_ReviewFile).read(node, problems)
    if file is INVALID or problems:
        raise ScenarioError(problems)
    for entry in file.accepted:
        if not entry.reason.strip():
            text = f"say why {entry.operation} {entry.where} is accepted: its reason is empty"
            problems.append(problem(node.at, text))
        if entry.kind not in ("", *KINDS):
            text = f"there is no kind {entry.kind!r}: one of {', '.join(KINDS)}"
            problems.append(problem(node.at, text))
    if problems:
        raise ScenarioError(problems)
    return file.accepted  # type: ignore[no-any-return]


def read_earlier(path: Path) -> EarlierComparison:
    """Read the document of an earlier comparison. Raises NoComparison and OSError."""
    try:
        operations = json.decode(path.read_bytes(), type=dict[str, Any])["operations"]
        keys = {
            (name, without_positions(row["where"]), row["kind"])
            for name, operation in operations.items()
            for row in operation["differences"]
        }
    except (DecodeError, KeyError, TypeError, AttributeError):
        text = f"{path} is not a comparison; `sim compare FILE --json PATH` writes one"
        raise NoComparison(text) from None
    return EarlierComparison(path, frozenset(keys), frozenset(operations))


def proposed(drift: Drift) -> str:
    """Return entries for all open differences as a file to review; each still needs a reason."""
    lines = ["# Say of each difference why it is accepted, or take it out.", "accepted:"]
    for difference in drift.open:
        lines += [
            f"- operation: {difference.operation}",
            f"  where: {json.encode(difference.where).decode()}",
            f"  kind: {difference.kind}",
            '  reason: ""',
        ]
    return "\n".join(lines if drift.open else [lines[0], "accepted: []"]) + "\n"


def _difference_groups(
    comparison: RecordingComparison,
    accepted: tuple[ReviewedDifference, ...],
    earlier: EarlierComparison | None,
) -> Iterator[DifferenceGroup]:
    for name, operation in sorted(comparison.tally.operations.items()):
        for tally in operation.places.values():
            group = DifferenceGroup(name, tally)
            since = earlier is not None and group.key not in earlier.keys
            entry = next((entry for entry in accepted if entry.matches(group)), None)
            yield replace(group, since=since, entry=entry)


def _matches(where: str, pattern: str) -> bool:
    """Return whether a pattern matches a place: `[]` matches itself, `*` anything."""
    return fnmatchcase(where.replace("[]", "\0"), pattern.replace("[]", "\0"))


_WIDTH = 80
_PLACES_MAX = 6  # printed groups; JSON and JUnit list all


def write(drift: Drift, out: TextIO) -> None:
    """Print the open differences, then a short summary of everything else."""
    for line in _lines(drift):
        put(line, file=out)


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
