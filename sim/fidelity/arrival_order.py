"""Inputs that were under way at the same time, and the order in which the service took them.

A recording says when a client sent a message on a stream, and not when the service took it: nobody
answers it. A call that was sent a moment later may have been taken before, and then a subscription
shows the order that the call placed in its first frame instead of its second. Where a stream
differs, its messages are replayed after such a call too, and the order that leaves the fewest
differences is taken. A single frame that is missing is not explained so, because it may have been
lost; of a book it is, because every subscription to a book is answered with it at once, and the
recording has only one frame where we send two. Calls, and messages that nothing overlapped, stay
where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec import Struct

from sim.fidelity.difference import Difference
from sim.fidelity.frames import is_heartbeat
from sim.fidelity.heartbeats import MISSING
from sim.fidelity.identities import Unmatched
from sim.fidelity.service_clock import HELD, ServiceClock, done_at, sent_at
from sim.fidelity.session_comparison import SessionComparison
from sim.fidelity.tally import Tally
from sim.kernel.instants import NS_PER_MS, Instant
from sim.recording.files import Entry
from sim.scenario.scenario import Scenario
from sim.testing.client import RpcError

Moves: TypeAlias = dict[int, int]  # from the index of a line to that of the call it follows

_UNDER_WAY = 20 * NS_PER_MS  # longer after it was sent, a message has certainly been taken
_CALLS = 3  # after which a message may have been taken, at most
_TRIALS = 32
_LINES_MAX = 100_000  # replayed, all together


class Overlap(NamedTuple):
    """A message of a client on a stream and the calls that were under way while the service had it,
    by the index of their lines.
    """

    stream: int
    message: int
    calls: list[int]
    of_book: bool


class _Differing(Struct):
    """How much differs, and how much of that are frames that the recording lacks."""

    count: int = 0
    missing: int = 0

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """One answer or frame differs."""
        self.count += len(differences)
        self.missing += sum(one.kind == MISSING.kind for one in differences)

    def agree(self, name: str) -> None:
        """Nothing to note."""

    def no_evidence(self, name: str, why: str) -> None:
        """Nothing to note."""


def likely_order(
    lines: Collection[int], scenario: Scenario, seed: int | None, entries: Collection[Entry]
) -> Moves:
    """Where messages of streams are replayed, so that the fewest differences are left; `lines` are
    the numbers of those that differ now.
    """
    if not lines:
        return Moves()
    differing = {entry.stream for entry in entries if entry.n in lines and entry.stream is not None}
    overlaps = [one for one in overlapping(entries) if one.stream in differing]
    moves = Moves()
    if not overlaps:
        return moves
    trials = min(_TRIALS, _LINES_MAX // len(entries))
    least = _differing(scenario, seed, entries, moves)
    for overlap in overlaps:
        for call in overlap.calls:
            if not least.count or not trials:
                return moves
            trials -= 1
            later = (one.message for one in overlaps if one.stream == overlap.stream)
            behind = {one: call for one in later if overlap.message <= one < call}
            other = moves | {one: max(call, moves.get(one, 0)) for one in behind}
            found = _differing(scenario, seed, entries, other)
            gain, frames = least.count - found.count, least.missing - found.missing
            if gain > 0 and (overlap.of_book or (gain, frames) != (1, 1)):
                moves, least = other, found
    return moves


def overlapping(entries: Collection[Entry]) -> Iterator[Overlap]:
    """Messages of clients in their order, and the calls that the service may have taken before."""
    found, waiting = list[Overlap](), list[_Waiting]()
    opened = dict[int, str]()  # gRPC methods of streams
    for index, entry in enumerate(entries):
        if entry.request is not None and entry.answer is not None:
            sent = sent_at(entry)
            waiting = [one for one in waiting if sent - one.since < _UNDER_WAY]
            if done_at(entry) - sent < HELD:
                for one in waiting:
                    if len(one.calls) < _CALLS:
                        one.calls.append(index)
        elif entry.stream is not None and entry.opened is not None:
            opened[entry.stream] = str(entry.opened.get("rpc", ""))
        elif entry.stream is not None and entry.frame is not None:
            stream, body = entry.stream, entry.frame.body
            if entry.frame.sender == "service":
                waiting = [one for one in waiting if not one.is_answered(stream, body)]
            else:
                overlap = Overlap(stream, index, [], _is_of_book(opened.get(stream, ""), body))
                found.append(overlap)
                waiting.append(_Waiting(stream, sent_at(entry), _request_id(body), overlap.calls))
    return (overlap for overlap in found if overlap.calls)


class _Waiting(NamedTuple):
    """A message to which the service has not said anything yet."""

    stream: int
    since: Instant
    request_id: str
    calls: list[int]

    def is_answered(self, stream: int, body: Any) -> bool:
        """Whether a frame of the service is, or may be, the answer."""
        if stream != self.stream or is_heartbeat(body):
            return False
        told = body.get("requestId") if isinstance(body, dict) else None
        return not self.request_id or not told or told == self.request_id


def _is_of_book(method: str, body: Any) -> bool:
    """Whether a message asks for books, which the service shows at once."""
    return "MarketData" in method or "_MARKET_DATA" in str(body)


def _request_id(body: Any) -> str:
    """What a message of a socket says the frames it asks for are to be marked with."""
    subscribe = body.get("subscribe") if isinstance(body, dict) else None
    told = subscribe.get("requestId") if isinstance(subscribe, dict) else None
    return told if isinstance(told, str) else ""


def _differing(
    scenario: Scenario, seed: int | None, entries: Collection[Entry], moves: Moves
) -> _Differing:
    """What a replay in this order leaves."""
    tally = _Differing()
    with suppress(RpcError, Unmatched):
        clock = ServiceClock(entries, moves)
        SessionComparison(scenario, seed, entries, cast(Tally, tally), clock).run()
    return tally
