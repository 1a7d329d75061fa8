"""Genes: what to do next, independent of the state in which it is done."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from sim.contract.contract import Operation, load_contract
from sim.kernel.entropy import Entropy, RandomStream
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Span, days, hours, minutes
from sim.run.actors.operator.actions import ACTIONS
from sim.search.hunt.courses import courses
from sim.search.hunt.lifecycle_genes import edge_kinds

# Gaps before an input. A negative one is not a span, but a number of due instants to pass first.
GAPS: tuple[Span, ...] = (
    *(0,) * 40,
    *(NS_PER_MS, NS_PER_MS, 200 * NS_PER_MS, NS_PER_S, NS_PER_S, 6 * NS_PER_S, 31 * NS_PER_S),
    *(minutes(2), minutes(11), hours(1), hours(7), days(1), days(8)),
    *(-1, -1, -1, -2, -5),
)
PART = "part"
_TWICE = ("again", "frame", "hangup", "agree", "pages")


class Gene(Struct, frozen=True, array_like=True):
    """One thing to do: its kind, the seed of its choices, and the gap before it.

    The gap is in nanoseconds, or a number of due instants if negative.

    | Kind | Does |
    |---|---|
    | call PLANE OPERATION | a call of an operation; the plane may be grpc |
    | stream OPERATION | opens a stream, or a WebSocket, and sends its first frames |
    | frame, hangup | a client's frame on an open stream; the client disconnects |
    | do ACTION | an operator's action |
    | edge WAS TO | moves a market to a state and along an edge of the lifecycle |
    | course NAME | a sequence of inputs that are only meaningful together |
    | order PLANE | an order like those of `sim sweep --fuzz`: valid, and likely to trade |
    | again | repeats the previous call |
    | agree | a read on REST and on gRPC, which must agree |
    | pages | a list in one page and in two, which must be the same |
    | token | a token request, with a good or a bad assertion |
    | wait | nothing but the gap |
    | part | clients disconnect and forget; stands where an episode continued from another |
    """

    kind: str
    seed: int
    gap: Span = 0

    def choices(self) -> RandomStream:
        """The choices of this gene, which are always the same."""
        return Entropy(self.seed).stream(self.kind)


@cache
def kinds() -> tuple[str, ...]:
    """Return every kind of gene, in the order of the contract."""
    offered: dict[str, None] = {}
    for operation in load_contract().operations:
        offered.update(dict.fromkeys(_of_operation(operation)))
    offered.update(dict.fromkeys(f"do {name}" for name in ACTIONS))
    offered.update(dict.fromkeys((*edge_kinds(), *courses())))
    offered.update(dict.fromkeys(("order exchange", "order retail", "order grpc", "order script")))
    offered.update(dict.fromkeys((*_TWICE, "token", "wait")))
    return tuple(offered)


def _of_operation(operation: Operation) -> Iterable[str]:
    if operation.content == "web_socket" or (operation.grpc and operation.kind != "unary"):
        yield f"stream {operation.name}"
    if operation.content != "web_socket":
        yield from (f"call {plane} {operation.name}" for plane in operation.planes)
    if operation.grpc and operation.kind == "unary":
        yield f"call grpc {operation.name}"


def group_of(kind: str) -> str:
    """Return the group of a kind in swarms: the service of an operation, or the kind."""
    words = kind.split(" ")
    if words[0] in ("call", "stream"):
        service = words[-1].partition(".")[0]
        return "gateway" if service.startswith("Gateway") else service
    return words[0] if words[0] == "edge" else kind
