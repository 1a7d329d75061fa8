"""Fault points: every call, frame, delivery and order at which a fault could strike, and what is
tried there, once each (design D6).

A run is watched once to learn which points it passes; then it is run again for every attack on
every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from msgspec import json

from sim.core.service.fault_spec import CALLS, HTTP
from sim.scenario.fault_names import operation_names, unknown_operation


class FaultKind(NamedTuple):
    """A fault to try: its name, the planes on which it is tried, its act, and whether it takes a
    connection to tell it from an error.
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
    FaultKind("drop", MESSAGES, {"drop": True}),
    FaultKind("duplicate", MESSAGES, {"duplicate": True}),
    FaultKind("reorder", ("stream",), {"reorder": True}),
    FaultKind("revoke", ("stream",), {"revoke": True}),
)


class Point(NamedTuple):
    """One attack on the n-th passing of a point."""

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
        """The fault, as a scenario or the control plane takes it."""
        match = {"plane": self.plane, "nth": self.nth} | (
            {"operation": self.operation} if self.operation else {}
        )
        return {"match": match, "act": self.act, "times": 1}

    def as_json(self) -> str:
        """`document` as JSON."""
        return json.encode(self.document()).decode()


def refuse_unknown(operations: str, faults: str) -> None:
    """Refuse (ValueError) patterns that match nothing there is: exploring nothing is no praise."""
    names = [kind.name for kind in FAULT_KINDS]
    if not any(fnmatchcase(name, faults) for name in names):
        raise ValueError(f"no attack is called {faults!r}: there are {', '.join(names)}")
    if not any(fnmatchcase(name, operations) for name in operation_names()):
        raise ValueError(
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
    """What to try on the points of a survey, point by point. `operations` and `attacks` are
    patterns, `each` bounds n; `wire`: there is a connection.
    """
    for (plane, operation), count in survey.items():
        if not operation or not (
            fnmatchcase(operation, operations)
            or fnmatchcase(operation.rpartition(".")[2], operations)
        ):
            continue
        for nth in range(1, (min(count, max_occurrences) if max_occurrences else count) + 1):
            for kind in FAULT_KINDS:
                if (
                    plane in kind.planes
                    and fnmatchcase(kind.name, faults)
                    and (wire or not kind.wire)
                ):
                    yield Point(plane, operation, nth, kind.name, kind.act)
