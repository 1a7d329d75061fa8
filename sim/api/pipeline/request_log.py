"""What callers sent and what they were told, newest last, bounded: to verify a client, and to
explain a refusal afterwards.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sim.kernel.instants import Instant, format_instant

KEPT = 50_000


class LoggedCall(Struct, frozen=True, gc=False):
    """One call. `caller` is a firm, participant or API key id; `fault` the fault that struck, else
    "". A refusal has an explanation.
    """

    seq: int
    at: Instant
    plane: str
    operation: str
    caller: str
    status: int
    code: int
    address: str
    ignored: tuple[str, ...]
    explanation: dict[str, Any] | None
    fault: str = ""

    def shown(self) -> dict[str, Any]:
        """Row of GET /_sim/v1/requests."""
        return {
            "seq": self.seq,
            "at": format_instant(self.at),
            "plane": self.plane,
            "operation": self.operation,
            "caller": self.caller,
            "status": self.status,
            "code": self.code,
            "address": self.address,
            "ignored": list(self.ignored),
            "explain": self.explanation["request_id"] if self.explanation else "",
            "fault": self.fault,
        }


class RequestLog:
    """The last calls of a simulation."""

    __slots__ = ("_answered", "_entries")

    def __init__(self) -> None:
        self._entries: deque[LoggedCall] = deque(maxlen=KEPT)
        # entries as they were before an answer left later, at this input
        self._answered: list[tuple[int, LoggedCall]] = []

    def add(self, entry: LoggedCall) -> None:
        """Remember one more call."""
        self._entries.append(entry)

    def answered(
        self, asked: int, seq: int, status: int, code: int, explanation: dict[str, Any]
    ) -> None:
        """The held answer of the call `asked` left with the input `seq`, and was a refusal."""
        for place in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[place]
            if entry.seq == asked:
                self._answered.append((seq, entry))
                explanation["operation"] = entry.operation
                self._entries[place] = replace(
                    entry, status=status, code=code, explanation=explanation
                )
            if entry.seq <= asked:
                return

    def last(self, seq: int) -> LoggedCall | None:
        """The call of an input, if that input, the latest, was one."""
        return self._entries[-1] if self._entries and self._entries[-1].seq == seq else None

    def select(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> list[dict[str, Any]]:
        """Rows that match; `operation` may be "Service.Rpc" or the rpc's name alone, `since` is a
        seq.
        """
        return [
            entry.shown()
            for entry in self._entries
            if entry.seq > since
            and (
                not operation
                or entry.operation == operation
                or entry.operation.rpartition(".")[2] == operation
            )
            and (not status or entry.status == status)
            and (not caller or entry.caller == caller)
        ]

    def entries(self, first: int, last: int) -> list[LoggedCall]:
        """Calls among the inputs `first` … `last`, oldest first."""
        return [entry for entry in self._entries if first <= entry.seq <= last]

    def explain(self, request_id: str) -> dict[str, Any] | None:
        """Why the call with this request id was refused; None when it is unknown or was not
        refused.
        """
        for entry in reversed(self._entries):
            found: dict[str, Any] | None = entry.explanation
            if found is not None and found["request_id"] == request_id:
                return found
        return None

    def counts(self) -> dict[tuple[str, str, int], int]:
        """Calls by (plane, operation, status), for metrics."""
        found: dict[tuple[str, str, int], int] = {}
        for entry in self._entries:
            key = (entry.plane, entry.operation, entry.status)
            found[key] = found.get(key, 0) + 1
        return dict(sorted(found.items()))

    def fork(self) -> RequestLog:
        """A log of its own that begins with the same calls."""
        made = RequestLog()
        made.become(self)
        return made

    def become(self, other: RequestLog) -> None:
        """Have the calls of another log."""
        self._entries = other._entries.copy()
        self._answered = other._answered.copy()

    def truncate(self, seq: int) -> None:
        """Forget calls, and answers to earlier ones, after an input (a rewind)."""
        while self._entries and self._entries[-1].seq > seq:
            self._entries.pop()
        while self._answered and self._answered[-1][0] > seq:
            _, before = self._answered.pop()
            for place in range(len(self._entries) - 1, -1, -1):
                if self._entries[place].seq == before.seq:
                    self._entries[place] = before
