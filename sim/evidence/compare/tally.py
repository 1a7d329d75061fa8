"""Counts the results of a comparison by operation: agreement, differences and lack of evidence.

There is no average over operations. An operation that was never seen is reported as such, not as
agreement.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Protocol

from msgspec import Struct

from sim.evidence.compare.answers import observation_of
from sim.evidence.compare.difference import CULPRITS, Difference, shown

KEPT = 100  # listed differences of one kind at one place of one operation
_INDEX = re.compile(r"\[\d+\]")


class Results(Protocol):
    """Receives the results of a comparison, line by line."""

    def agree(self, name: str) -> None:
        """Note an answer or frame of an operation that agrees."""

    def no_evidence(self, name: str, why: str) -> None:
        """Note an answer or frame without evidence."""

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """Note an answer or frame that differs. A frame that only we sent is not `seen`."""


class LineDifference(Struct, frozen=True):
    """A difference and the number of the line that shows it."""

    n: int
    difference: Difference


class PlaceTally(Struct):
    """Equal differences of an operation: same place without positions, kind and culprit."""

    where: str
    first: LineDifference
    count: int = 0


class OperationTally(Struct):
    """The counts of one operation or stream."""

    seen: int = 0
    agree: int = 0
    differ: int = 0
    no_evidence: int = 0
    listed: list[LineDifference] = []
    places: dict[tuple[str, str, str], PlaceTally] = {}
    unknown: Counter[str] = Counter()  # counts by reason why there is no evidence

    @property
    def left_out(self) -> int:
        """The number of counted differences that are not listed."""
        return sum(place.count for place in self.places.values()) - len(self.listed)

    def document(self) -> dict[str, Any]:
        """As `--json` shows it."""
        fields: dict[str, Any] = {
            "seen": self.seen,
            "agree": self.agree,
            "differ": self.differ,
            "no_evidence": self.no_evidence,
            "differences": [_row(one) for one in self.listed],
        }
        if self.left_out:
            fields["left_out"] = self.left_out
        if self.unknown:
            fields["unknown"] = dict(self.unknown)
        return fields


class Tally:
    """The counts of all operations of a recording."""

    def __init__(self) -> None:
        self.operations: dict[str, OperationTally] = {}

    def agree(self, name: str) -> None:
        """Count an answer or frame that agrees."""
        operation = self._operation(name)
        operation.seen += 1
        operation.agree += 1

    def no_evidence(self, name: str, why: str) -> None:
        """Count an answer or frame without evidence."""
        operation = self._operation(name)
        operation.seen += 1
        operation.no_evidence += 1
        operation.unknown[why] += 1

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """Count an answer or frame that differs. A frame that only we sent is not `seen`."""
        operation = self._operation(name)
        operation.seen += seen
        operation.differ += 1
        for one in differences:
            where = without_positions(one.where)
            key = (where, one.kind, one.culprit)
            place = operation.places.get(key)
            if place is None:
                place = operation.places[key] = PlaceTally(where, LineDifference(n, one))
            place.count += 1
            if place.count <= KEPT:
                operation.listed.append(LineDifference(n, one))

    def _operation(self, name: str) -> OperationTally:
        operation = self.operations.get(name)
        if operation is None:
            # own lists: a default of a Struct is copied, that of a Counter is not
            operation = self.operations[name] = OperationTally(unknown=Counter())
        return operation

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not any(one.differ for one in self.operations.values())

    def totals(self) -> dict[str, Any]:
        """Sums over operations."""
        operations = self.operations.values()
        culprits = Counter[str]()
        for one in operations:
            for place in one.places.values():
                culprits[place.first.difference.culprit] += place.count
        return {
            "operations": len(operations),
            **{
                name: sum(getattr(one, name) for one in operations)
                for name in ("seen", "agree", "differ", "no_evidence")
            },
            "differences": sum(culprits.values()),
            "culprits": {name: culprits[name] for name in CULPRITS},
        }


def without_positions(where: str) -> str:
    """Return a place without list positions: "markets[].slug"."""
    return _INDEX.sub("[]", where)


def _row(listed: LineDifference) -> dict[str, Any]:
    one = listed.difference
    row = {
        "n": listed.n,
        "where": one.where,
        "recorded": shown(one.recorded),
        "ours": shown(one.ours),
        "kind": one.kind,
        "culprit": one.culprit,
    }
    if one.switch:
        row |= {"switch": one.switch, "observation": observation_of(one.switch) or None}
    return row
