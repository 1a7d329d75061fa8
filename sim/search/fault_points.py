"""Fault points: each call, frame, delivery and order into which a fault can be injected, and the
faults.

A run is observed once to learn which points it passes; then it is repeated for each fault at each
point. A point is identified by plane, operation and occurrence: the second CreateOrder of a run is
a separate point, because a client may survive a fault at the first call and not at the second.
Trying pairs of faults would square the number of runs; single faults already find a client that
does not retry, retries too early, or places an order twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from msgspec import json

from sim.core.service.fault_spec import CALLS, HTTP
from sim.read.errors import UsageError
from sim.world.format.fault_names import operation_names, unknown_operation


class FaultKind(NamedTuple):
    """A fault to try: its name, the planes on which it is tried, and its act.

    `wire` means that without a connection it looks like an error, so it is tried over sockets only.
    """

    name: str
    planes: tuple[str, ...]
    act: dict[str, Any]
    wire: bool = False


MESSAGES = ("stream", "webhook")
FAULT_KINDS = (
    FaultKind("error", (*CALLS, *MESSAGES), {"status": 503}),
    FaultKind("limited", CALLS, {"status": 429, "retry_after": "2s"}),
    FaultKind("lost", CALLS, {"status": 504, "handled": True}),
    FaultKind("late", (*CALLS, *MESSAGES), {"delay": "4s"}),
    FaultKind("late engine", ("engine",), {"delay": "6s"}),
    FaultKind("refuse", CALLS, {"refuse": True}, wire=True),
    FaultKind("reset", CALLS, {"reset": True}, wire=True),
    FaultKind("reset stream", ("stream",), {"reset": True}),
    FaultKind("lost by reset", CALLS, {"reset": True, "handled": True}, wire=True),
    FaultKind("half answer", CALLS, {"half_close": True}, wire=True),
    FaultKind("slow answer", HTTP, {"slow_body": True}, wire=True),
    FaultKind("hang", CALLS, {"hang": True}, wire=True),
    FaultKind("reset delivery", ("webhook",), {"reset": True}),
    FaultKind("hang delivery", ("webhook",), {"hang": True}),
    FaultKind("drop", MESSAGES, {"drop": True}),
    FaultKind("duplicate", MESSAGES, {"duplicate": True}),
    FaultKind("reorder", ("stream",), {"reorder": True}),
    FaultKind("revoke", ("stream",), {"revoke": True}),
)


class Point(NamedTuple):
    """One fault at the n-th occurrence of an operation."""

    plane: str
    operation: str
    nth: int
    kind: str
    act: dict[str, Any]

    @property
    def where(self) -> str:
        """The point in words: `retail CreateOrder #2`."""
        return f"{self.plane} {self.operation.rpartition('.')[2] or 'unknown path'} #{self.nth}"

    def document(self) -> dict[str, Any]:
        """Return the fault in the form that a scenario or the control plane takes."""
        match = {"plane": self.plane, "nth": self.nth}
        if self.operation:
            match["operation"] = self.operation
        return {"match": match, "act": self.act, "times": 1}

    def as_json(self) -> str:
        """Return `document` as JSON."""
        return json.encode(self.document()).decode()


def refuse_unknown(operations: str, faults: str) -> None:
    """Refuse patterns that match nothing, because exploring nothing must not look like success."""
    names = [kind.name for kind in FAULT_KINDS]
    if not any(fnmatchcase(name, faults) for name in names):
        raise UsageError(f"no fault matches {faults!r}; known: {', '.join(names)}")
    if not any(fnmatchcase(name, operations) for name in operation_names()):
        raise UsageError(
            unknown_operation(operations)
            or f"no operation is called {operations!r}; `sim catalogue operations` lists them"
        )


def points(
    survey: Mapping[tuple[str, str], int],
    *,
    wire: bool,
    operations: str = "*",
    faults: str = "*",
    max_occurrences: int = 0,
) -> Iterator[Point]:
    """Yield what to try at the points of a survey, which counts passes by (plane, operation).

    `operations` and `faults` are patterns; `max_occurrences` of 0 means all of them.
    """
    for (plane, operation), count in survey.items():
        names = (operation, operation.rpartition(".")[2])
        if not operation or not any(fnmatchcase(name, operations) for name in names):
            continue
        kinds = [
            kind
            for kind in FAULT_KINDS
            if plane in kind.planes and fnmatchcase(kind.name, faults) and (wire or not kind.wire)
        ]
        for nth in range(1, (min(count, max_occurrences) if max_occurrences else count) + 1):
            for kind in kinds:
                yield Point(plane, operation, nth, kind.name, kind.act)
