"""Finds the order in which a service took inputs that overlapped.

A recording shows when a client sent a message on a stream, but not when the service took it,
because a message has no answer of its own. If a call was sent a moment later, the service may have
taken the call first. The first frame of a subscription then already shows the order that the call
placed. So if a stream differs, the session is replayed with its messages after such calls, and the
order with the fewest differences is taken.

A single missing frame is not explained in this way, because it may have been lost. The exception
are books: every subscription to a book is answered at once, so that one frame instead of two shows
the other order. Calls, and messages that overlap no call, keep their place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from sim.evidence.recording.files import RecordedLine
from sim.evidence.replay.frames import MISSING, is_heartbeat
from sim.evidence.replay.identities import Unmatched
from sim.evidence.replay.player import RecordedSession
from sim.evidence.replay.service_clock import HELD, done_at, sent_at
from sim.evidence.validation.difference import Misfit
from sim.kernel.instants import NS_PER_MS, Instant
from sim.run.client.client import RpcError

_OVERLAP_MAX = 20 * NS_PER_MS  # a message is taken within this span after it was sent
_CALLS_MAX = 3  # calls after which a message is tried
_TRIALS_MAX = 32
_LINES_MAX = 100_000  # limit on replayed lines, in total


class Overlap(NamedTuple):
    """A message of a client on a stream, and the calls that the service may have taken before it,
    all by the index of their lines. `of_book` is whether it asks for books.
    """

    stream: int
    message: int
    calls: list[int]
    of_book: bool


class Remaining(NamedTuple):
    """What still differs in a replay: the number of places, and how many of them are frames that
    the recording lacks.
    """

    places: int
    missing: int

    @staticmethod
    def of(differences: Iterable[Misfit]) -> Remaining:
        """Count differences."""
        kinds = [misfit.kind for misfit in differences]
        return Remaining(len(kinds), kinds.count(MISSING.kind))


def likely_order(
    session: RecordedSession,
    lines: Collection[int],
    replay: Callable[[RecordedSession], Iterable[Misfit]],
) -> RecordedSession | None:
    """Return the session with the moves of messages that leave the fewest differences, beside those
    that its clock has; None if none leaves fewer. `lines` are the numbers of the lines that differ
    now; `replay` returns what differs in another order.
    """
    clock, entries = session.clock, session.entries
    if not lines:
        return None
    differing = {entry.stream for entry in entries if entry.n in lines and entry.stream is not None}
    overlaps = [overlap for overlap in overlapping(entries) if overlap.stream in differing]
    if not overlaps:
        return None
    best, moves = None, dict(clock.moves)
    trials = min(_TRIALS_MAX, _LINES_MAX // len(entries))
    least = Remaining.of(replay(session))
    for overlap in overlaps:
        for call in overlap.calls:
            if not least.places or not trials:
                return best
            trials -= 1
            later = (further.message for further in overlaps if further.stream == overlap.stream)
            behind = {index: call for index in later if overlap.message <= index < call}
            other = moves | {index: max(call, moves.get(index, 0)) for index in behind}
            moved = replace(session, clock=clock.with_moves(other))
            try:
                remaining = Remaining.of(replay(moved))
            except (RpcError, Unmatched):
                continue  # in this order the scenario has no identity for some client
            gain, frames = least.places - remaining.places, least.missing - remaining.missing
            if gain > 0 and (overlap.of_book or (gain, frames) != (1, 1)):
                best, moves, least = moved, other, remaining
    return best


def overlapping(entries: Collection[RecordedLine]) -> Iterator[Overlap]:
    """Return the messages of clients that overlap calls, in their order."""
    overlaps, waiting = list[Overlap](), list[_Waiting]()
    opened = dict[int, str]()  # gRPC methods of streams
    for index, entry in enumerate(entries):
        if entry.request is not None and entry.answer is not None:
            sent = sent_at(entry)
            waiting = [message for message in waiting if sent - message.since < _OVERLAP_MAX]
            if done_at(entry) - sent < HELD:
                for message in waiting:
                    if len(message.calls) < _CALLS_MAX:
                        message.calls.append(index)
        elif entry.stream is not None and entry.opened is not None:
            opened[entry.stream] = str(entry.opened.get("rpc", ""))
        elif entry.stream is not None and entry.frame is not None:
            stream, body = entry.stream, entry.frame.body
            if entry.frame.sender == "service":
                waiting = [message for message in waiting if not message.is_answered(stream, body)]
            else:
                overlap = Overlap(stream, index, [], _is_of_book(opened.get(stream, ""), body))
                overlaps.append(overlap)
                waiting.append(_Waiting(stream, sent_at(entry), _request_id(body), overlap.calls))
    return (overlap for overlap in overlaps if overlap.calls)


class _Waiting(NamedTuple):
    """A message to which the service has not reacted yet."""

    stream: int
    since: Instant
    request_id: str
    calls: list[int]

    def is_answered(self, stream: int, body: Any) -> bool:
        """Return whether a frame of the service may be a reaction to the message."""
        if stream != self.stream or is_heartbeat(body):
            return False
        marked = body.get("requestId") if isinstance(body, dict) else None
        return not self.request_id or not marked or marked == self.request_id


def _is_of_book(method: str, body: Any) -> bool:
    """Return whether a message asks for books."""
    return "MarketData" in method or "_MARKET_DATA" in str(body)


def _request_id(body: Any) -> str:
    """Return the request id of a subscription on a socket, which marks its frames; else ""."""
    subscribe = body.get("subscribe") if isinstance(body, dict) else None
    request_id = subscribe.get("requestId") if isinstance(subscribe, dict) else None
    return request_id if isinstance(request_id, str) else ""
