"""The request log: the last calls and their answers, for tests of clients and for explanations."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sim.api.pipeline.error_mapping import Explanation
from sim.core.model.refusals import AnswerTooLate
from sim.kernel.instants import Instant, format_instant
from sim.kernel.work import Work, done

CAPACITY = 50_000


def is_called(caller: str, name: str) -> bool:
    """Whether a name is that of the caller: its whole name, or the last part of it."""
    return name in (caller, caller.rpartition("/")[2])


class Verdict(NamedTuple):
    """What became of a call: `done`, `refused`, `rejected` or `answer lost`.

    `rule` and `facts` are those of the decision behind it, and `text` its words; all are empty for
    `done`. `orders` are the ids of the caller's orders that it entered, changed or ended.
    """

    name: str
    rule: str = ""
    facts: dict[str, Any] = {}
    text: str = ""
    orders: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What its status does not say, with the orders; "" if that says it all."""
        if self.name not in ("rejected", "answer lost"):
            return ""
        about = f" ({' '.join(('order', *self.orders))})" if self.orders else ""
        lost = self.name == "answer lost"
        return f"{'executed, the answer was lost' if lost else self.name}{about}"

    @property
    def sentence(self) -> str:
        """The verdict in words, with its rule; "" for `done`."""
        return ": ".join(filter(None, (self.summary, self.rule, self.text)))


DONE = Verdict("done")


class LoggedCall(Struct, frozen=True, gc=False):
    """One call and its answer.

    `caller` is a firm, participant or API key id. `fault` is the id of the injected fault that
    affected the call, or "". `over` names limits that would have refused the call if they were on.
    `why` explains a refused call. `waiting` are its commands in the queue of a slow engine: an
    order, and the instant at which the engine was to take it.
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
    why: Explanation | None
    fault: str = ""
    over: tuple[str, ...] = ()
    verdict: Verdict = DONE
    waiting: tuple[tuple[str, Instant], ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the row of GET /_sim/v1/requests."""
        names = ("plane", "operation", "caller", "status", "code", "address")
        return {
            "seq": self.seq,
            "at": format_instant(self.at),
            **{name: getattr(self, name) for name in names},
            "ignored": list(self.ignored),
            "explain": self.why.request_id if self.why is not None else "",
            "fault": self.fault,
            "over_limit": list(self.over),
            "verdict": self.verdict.name,
        }


class RequestLog:
    """The last calls of a simulation."""

    def __init__(self) -> None:
        self._entries: deque[LoggedCall] = deque(maxlen=CAPACITY)
        # Entries before a deferred refusal changed them, with the input of that
        # refusal.
        self._changed: list[tuple[int, LoggedCall]] = []

    def add(self, entry: LoggedCall) -> None:
        """Add a call."""
        self._entries.append(entry)

    def judge(self, verdict: Verdict, waiting: tuple[tuple[str, Instant], ...]) -> None:
        """Add to the latest call what became of it."""
        self._entries[-1] = replace(self._entries[-1], verdict=verdict, waiting=waiting)

    def answered(self, request_seq: int, status: int, code: int, why: Explanation) -> None:
        """Change the entry of a call that a later input answered with a refusal.

        If the time for the answer was over, its orders are in force all the same.
        """
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            if entry.seq == request_seq:
                why = replace(why, operation=entry.operation)
                name = "answer lost" if why.refusal == AnswerTooLate.__name__ else "refused"
                verdict = Verdict(name, why.rule, why.facts or {}, why.message, why.orders)
                changed = replace(entry, status=status, code=code, why=why, verdict=verdict)
                self._change(why.answered_in, index, changed)
            if entry.seq <= request_seq:
                return

    def rejected(self, seq: int, now: Instant, order: str, verdict: Verdict) -> None:
        """Change the entry of a call whose command about an order the engine now rejects."""
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            if any(waits == order and due <= now for waits, due in entry.waiting):
                self._change(seq, index, replace(entry, verdict=verdict))
                return

    def _change(self, seq: int, index: int, entry: LoggedCall) -> None:
        self._changed.append((seq, self._entries[index]))
        self._entries[index] = entry

    def last(self, seq: int) -> LoggedCall | None:
        """Return the call of the latest input, if that input was a call."""
        return self._entries[-1] if self._entries and self._entries[-1].seq == seq else None

    def select(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> list[dict[str, Any]]:
        """Return matching rows; see `matching`."""
        return done(self.matching(operation=operation, status=status, caller=caller, since=since))

    def matching(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> Work[list[dict[str, Any]]]:
        """Find matching rows; `operation` may be "Service.Rpc" or only the rpc, `caller` a whole
        name or its last part, `since` is a sequence number.
        """
        rows = []
        for entry in list(self._entries):
            if (
                entry.seq > since
                and (
                    not operation
                    or entry.operation == operation
                    or entry.operation.rpartition(".")[2] == operation
                )
                and (not status or entry.status == status)
                and (not caller or is_called(entry.caller, caller))
            ):
                rows.append(entry.row())
            yield
        return rows

    def since(self, seq: int) -> list[LoggedCall]:
        """Return the calls after an input, oldest first; costs as much as there are such calls."""
        entries = []
        for entry in reversed(self._entries):
            if entry.seq <= seq:
                break
            entries.append(entry)
        return entries[::-1]

    def corrected(self, seq: int) -> list[tuple[LoggedCall, LoggedCall]]:
        """Return the calls whose answer or verdict an input changed: before and after."""
        changed = [before for by, before in self._changed if by == seq]
        return [
            (before, entry) for before in changed for entry in self.entries(before.seq, before.seq)
        ]

    def entries(self, first: int, last: int) -> list[LoggedCall]:
        """Return the calls among the inputs `first` to `last`, oldest first."""
        return [entry for entry in self._entries if first <= entry.seq <= last]

    def counts(self) -> dict[tuple[str, str, int], int]:
        """Count calls by (plane, operation, status), for metrics."""
        counts = Counter((entry.plane, entry.operation, entry.status) for entry in self._entries)
        return dict(sorted(counts.items()))

    def fork(self) -> RequestLog:
        """Return an independent log with the same calls."""
        log = RequestLog()
        log.become(self)
        return log

    def become(self, other: RequestLog) -> None:
        """Replace the calls by those of another log."""
        self._entries = other._entries.copy()
        self._changed = other._changed.copy()

    def truncate(self, seq: int) -> None:
        """Remove the calls, and the changes to earlier ones, after an input (for a rewind)."""
        while self._entries and self._entries[-1].seq > seq:
            self._entries.pop()
        while self._changed and self._changed[-1][0] > seq:
            _, before = self._changed.pop()
            for index in range(len(self._entries) - 1, -1, -1):
                if self._entries[index].seq == before.seq:
                    self._entries[index] = before
