"""Random sequences of moves: the kinds of moves, and how often each is drawn.

| Kind | Does |
|---|---|
| a name of `MOVES` or `LIVE_MOVES` | a move of `moves/`, or one that needs a live exchange |
| call PLANE OPERATION | a call that is drawn from the contract; the plane may be grpc |
| stream OPERATION | opens a stream, or a WebSocket, and sends its first frames |
| frame, hangup | a client's frame on an open stream; the client disconnects |
| again | repeats the previous call |
| a name of `QUESTIONS` | calls whose answers must agree |
| token, outlive | a token request, with a good or a bad assertion; a token at its expiry |
| removed | an operation at the date that adds or removes it |
| wait | nothing but the gap |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from sim.contract.contract import Operation, load_contract
from sim.kernel.entropy import Entropy, RandomStream
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Span, days, hours, minutes
from sim.search.hunt.agreement import QUESTIONS
from sim.search.hunt.live_moves import LIVE_MOVES
from sim.search.moves.table import MOVES

LENGTH = 16  # moves in a sequence, before the reads at its end
# Gaps before a move. A negative one is not a span, but a number of due instants to pass first.
GAPS: tuple[Span, ...] = (
    *(0,) * 40,
    *(NS_PER_MS, NS_PER_MS, 200 * NS_PER_MS, NS_PER_S, NS_PER_S, 6 * NS_PER_S, 31 * NS_PER_S),
    *(minutes(2), minutes(11), hours(1), hours(7), days(1), days(8)),
    *(-1, -1, -1, -2, -5),
)
CLIENTS = ("frame", "hangup", "again", "token", "outlive", "removed", "wait", *QUESTIONS)


class DrawnMove(Struct, frozen=True, array_like=True):
    """A move: its kind, the seed of its choices, and the gap before it.

    It becomes inputs only where it is used, so a sequence stays meaningful when moves are left out.
    The gap is in nanoseconds, or a number of due instants if negative.
    """

    kind: str
    seed: int
    gap: Span = 0

    def choices(self) -> RandomStream:
        """The choices of this move, which are always the same."""
        return Entropy(self.seed).stream(self.kind)


@cache
def groups() -> tuple[tuple[str, ...], ...]:
    """Return the kinds of moves in groups of which one is drawn as often as another."""
    calls: dict[str, None] = {}
    for operation in load_contract().operations:
        calls.update(dict.fromkeys(_kinds_of(operation)))
    clients = (*calls, *CLIENTS * 4)
    return tuple(MOVES), tuple(LIVE_MOVES), clients, clients


def random_sequence(choices: RandomStream) -> list[DrawnMove]:
    """Return a sequence of random moves. The last one reads what the others left behind."""
    moves = [
        DrawnMove(
            choices.choice(choices.choice(groups())), choices.bits() >> 1, choices.choice(GAPS)
        )
        for _ in range(LENGTH)
    ]
    return [*moves, DrawnMove("everything", choices.bits() >> 1)]


def _kinds_of(operation: Operation) -> Iterator[str]:
    if operation.content == "web_socket" or (operation.grpc and operation.kind != "unary"):
        yield f"stream {operation.name}"
    if operation.content != "web_socket":
        yield from (f"call {plane} {operation.name}" for plane in operation.planes)
    if operation.grpc and operation.kind == "unary":
        yield f"call grpc {operation.name}"
