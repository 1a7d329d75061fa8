"""Counts the results of a comparison by operation: agreement, differences and lack of evidence.

There is no average over operations. An operation that was never seen is reported as such,
not as agreement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from msgspec import Struct

from sim.evidence.replay.session_comparison import ComparisonResults
from sim.evidence.validation.difference import CULPRITS, LineVerdict, Misfit
from sim.evidence.validation.readings import observation_of

KEPT = 100  # listed differences of one kind at one place of one operation
# by key in JSON
COUNTS = {"seen": "total", **{name: name for name in ("agree", "differ", "no_evidence")}}
_INDEX = re.compile(r"\[\d+\]")


class LineDifference(Struct, frozen=True):
    """A difference and the number of the line that shows it."""

    n: int
    difference: Misfit


class PlaceTally(Struct):
    """Equal differences of an operation: same place without positions, kind and culprit."""

    where: str
    first: LineDifference
    count: int = 0

    def lines(self, width: int, mark: str = "") -> Iterator[str]:
        """Yield the place with its count and a mark, and below it the first difference."""
        yield f"{self.where}{f' ×{self.count:,}' if self.count > 1 else ''}{mark}"
        text = f"{self.first.difference}, line {self.first.n + 1}"
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ")


class OperationTally(Struct):
    """The counts of one operation or stream."""

    total: int = 0
    agree: int = 0
    differ: int = 0
    no_evidence: int = 0
    listed: list[LineDifference] = []
    places: dict[tuple[str, str, str], PlaceTally] = {}
    unknown: Counter[str] = Counter()  # counts by reason why there is no evidence

    @property
    def left_out(self) -> int:
        """The number of counted differences that are not listed."""
        return sum(group.count for group in self.places.values()) - len(self.listed)

    def counts(self) -> dict[str, Any]:
        """Return the four counts by name."""
        return {key: getattr(self, name) for key, name in COUNTS.items()}

    def add(self, other: OperationTally) -> None:
        """Add the counts of another recording. Its listed differences are left out."""
        for name in COUNTS.values():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.places = {**other.places, **self.places}
        self.unknown = self.unknown + other.unknown

    def document(self) -> dict[str, Any]:
        """As `--json` shows it."""
        fields = self.counts() | {"differences": [_row(row) for row in self.listed]}
        if self.left_out:
            fields["left_out"] = self.left_out
        if self.unknown:
            fields["unknown"] = dict(self.unknown)
        return fields


class ComparisonTally(ComparisonResults):
    """The counts of all operations of a recording."""

    def __init__(self) -> None:
        self.operations: dict[str, OperationTally] = {}

    def agree(self, name: str) -> None:
        operation = self._operation(name)
        operation.total += 1
        operation.agree += 1

    def no_evidence(self, name: str, why: str) -> None:
        operation = self._operation(name)
        operation.total += 1
        operation.no_evidence += 1
        operation.unknown[why] += 1

    def differ(self, line: LineVerdict) -> None:
        operation = self._operation(line.name)
        operation.total += line.is_recorded
        operation.differ += 1
        for difference in line.differences:
            where, row = without_positions(difference.where), LineDifference(line.n, difference)
            key = (where, difference.kind, difference.culprit)
            tally = operation.places.setdefault(key, PlaceTally(where, row))
            tally.count += 1
            if tally.count <= KEPT:
                operation.listed.append(row)

    def _operation(self, name: str) -> OperationTally:
        operation = self.operations.get(name)
        if operation is None:
            # own lists: a default of a Struct is copied, that of a Counter is not
            operation = self.operations[name] = OperationTally(unknown=Counter())
        return operation

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not any(operation.differ for operation in self.operations.values())

    def totals(self) -> dict[str, Any]:
        """Sums over operations."""
        operations = self.operations.values()
        culprits = Counter[str]()
        for operation in operations:
            for (_, _, culprit), tally in operation.places.items():
                culprits[culprit] += tally.count
        counts = [operation.counts() for operation in operations]
        return {
            "operations": len(operations),
            **{name: sum(count[name] for count in counts) for name in COUNTS},
            "differences": sum(culprits.values()),
            "culprits": {name: culprits[name] for name in CULPRITS},
        }


def without_positions(where: str) -> str:
    """Return a place without list positions: "markets[].slug"."""
    return _INDEX.sub("[]", where)


def _row(listed: LineDifference) -> dict[str, Any]:
    row, switch = {"n": listed.n, **listed.difference.document()}, listed.difference.switch
    if switch:
        row |= {"switch": switch, "observation": observation_of(switch) or None}
    return row
