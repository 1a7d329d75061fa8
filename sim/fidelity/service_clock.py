"""What the service's clock said at each line of a recording, and in which order a replay goes.

A `Date` header tells whole seconds, and most lines tell nothing. The recorder's clock tells each
line to the microsecond, and it runs like the service's as long as that is not moved by hand. So a
recording is divided into *stretches* in which one distance between both clocks explains all that
the service told: within each, the recorder's clock says when a line was. A stretch ends where the
service's clock went on by more than the recorder's: a sandbox whose time somebody moved.

A call whose answer the service held is two turns: it is sent when it was sent, and answered when it
was answered. Quicker calls stay where they were completed, for nobody knows in which order a
service took calls that it had at the same time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from sim.kernel.instants import NS_PER_S, Instant, Span, parse_instant
from sim.recording.files import Entry, UnreadableRecording
from sim.recording.seen import told_instant

HELD = NS_PER_S  # an answer that took so long was held
_ANY = 1 << 100


class Turn(NamedTuple):
    """A line, or half of a call that was held; `now` is what the service's clock said."""

    entry: Entry
    now: Instant
    half: Literal["", "sent", "answered"] = ""


class ServiceClock:
    """The service's clock over a recording. It reads the lines once, and keeps the stretches and
    the calls that were held.
    """

    def __init__(self, entries: Collection[Entry]) -> None:
        """UnreadableRecording for a line whose instant cannot be read."""
        self._entries = entries
        self._begins: list[Instant] = []  # of stretches, by the recorder's clock
        self._distances: list[Span] = []  # from the recorder's clock to the service's
        self._held: list[Entry] = []
        low, high = -_ANY, _ANY  # what the distance may be, by what was told in this stretch
        for entry in entries:
            sent, done = _sent_at(entry), _done_at(entry)
            if _is_held(entry, sent, done):
                self._held.append(entry)
            told = told_instant(entry)
            if told is None:
                continue
            # A Date header tells the second that it is; messages of gRPC tell what has been.
            past = entry.plane == "grpc"
            least, most = told - done, _ANY if past else told + NS_PER_S - sent
            moved = least >= high or most <= low or (past and high == _ANY and least > low + HELD)
            if moved or not self._begins:
                self._begin(done if _is_held(entry, sent, done) else sent)
                low, high = least, most
            low, high = max(low, least), min(high, most)
            self._distances[-1] = low
        self._held.sort(key=_sent_at)

    def _begin(self, at: Instant) -> None:
        """Begin a stretch; the first one began before everything."""
        self._begins.append(max(at, self._begins[-1]) if self._begins else -_ANY)
        self._distances.append(0)

    @property
    def moved(self) -> bool:
        """Whether the service's clock was moved, or told us nothing."""
        return len(self._begins) != 1

    def _stretch(self, at: Instant) -> int:
        return bisect_right(self._begins, at) - 1

    def _now(self, at: Instant) -> Instant:
        return at + (self._distances[self._stretch(at)] if self._begins else 0)

    def took(self, entry: Entry) -> Span | None:
        """How long the service took for a call; None where its clock was moved meanwhile."""
        sent, done = _sent_at(entry), _done_at(entry)
        if self._begins and (self._stretch(sent - 1) != self._stretch(done)):
            return None
        return done - sent

    def turns(self) -> Iterator[Turn]:
        """Every line in the order of a replay."""
        held = iter(self._held)
        following = next(held, None)
        for entry in self._entries:
            sent, done = _sent_at(entry), _done_at(entry)
            whole = not _is_held(entry, sent, done)
            at = sent if whole else done
            while following is not None and _sent_at(following) <= at:
                yield Turn(following, self._now(_sent_at(following)), "sent")
                following = next(held, None)
            yield Turn(entry, self._now(at), "" if whole else "answered")


def _is_held(entry: Entry, sent: Instant, done: Instant) -> bool:
    return done - sent >= HELD and entry.answer is not None and entry.request is not None


def _sent_at(entry: Entry) -> Instant:
    return _read(entry, entry.at)


def _done_at(entry: Entry) -> Instant:
    at = entry.answer.at if entry.answer is not None else ""
    return max(_read(entry, at), _sent_at(entry)) if at else _sent_at(entry)


def _read(entry: Entry, text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        raise UnreadableRecording(f"line {entry.n + 1}: at is not an instant") from None
