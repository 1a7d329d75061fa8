"""Replies that must agree: over REST and gRPC, and a list in one page and in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from msgspec import json

from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder
from sim.api.pipeline.inputs import Input, Reply, RestCall
from sim.contract.contract import Operation, load_contract
from sim.contract.wire_fields import fields_of
from sim.evidence.validation.error_forms import statuses_of
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import Instant
from sim.run.simulation import Simulation
from sim.search.hunt.clients import CallIdentity, Clients, encoded
from sim.search.hunt.live_view import snake
from sim.search.hunt.oracles import Trouble

PAGING = frozenset(("page_size", "page_token"))
_READS = ("Get", "List", "Search", "Preview", "Health")
# Statuses that a busy or disturbed exchange may answer to one call and not to the next.
_PASSING = frozenset((429, 500, 503, 504))


class Agreement:
    """Asks the same question twice. `enter` returns a reply that nothing disturbed, or None."""

    def __init__(
        self, clients: Clients, simulation: Simulation, enter: Callable[[Input], Reply | None]
    ) -> None:
        self._clients = clients
        self._simulation = simulation
        self._enter = enter

    def of_protocols(self, choices: RandomStream) -> Iterator[Trouble]:
        """Read the same over REST and gRPC, and yield how the replies differ."""
        operation = choices.choice(readable())
        body = self._clients.requests.complete(choices, operation)
        if encoded(operation, body) is None:
            return
        caller = self._clients.callers.on(choices, operation, None)
        replies: list[Reply] = []
        for plane in ("exchange", "grpc"):
            input_ = self._clients.call(choices, plane, operation, body, caller)
            if isinstance(input_, RestCall) and not input_.path.rpartition("/")[2]:
                return  # an empty name leads to another address
            reply = self._enter(input_)
            entry = self._simulation.log.last(self._simulation.seq)
            if reply is None or entry is None or not entry.operation:
                return  # a name with a slash leads to another address
            replies.append(reply)
        yield from disagreement(operation, self._simulation.now, *replies)

    def of_pages(self, choices: RandomStream) -> Iterator[Trouble]:
        """Read the first rows of a list in one page and again in two, and yield a difference."""
        operation = choices.choice(pageable())
        filters = self._clients.requests.complete(choices, operation)
        filters = {name: value for name, value in filters.items() if snake(name) not in PAGING}
        if choices.chance(3, 4):
            filters = {}
        caller = self._clients.callers.on(choices, operation, "exchange")
        length = choices.between(1, 3)

        def page(**paging: Any) -> dict[str, Any]:
            return self._page(choices, operation, filters | paging, caller)

        rows, first = page(pageSize=2 * length), page(pageSize=length)
        if rows and first.get("nextPageToken"):
            second = page(pageSize=length, pageToken=first["nextPageToken"])
            if second:
                yield from page_differences(operation, rows, first, second)

    def _page(
        self,
        choices: RandomStream,
        operation: Operation,
        body: dict[str, Any],
        caller: CallIdentity,
    ) -> dict[str, Any]:
        """Return a page; an empty one if it was refused, or if something disturbed it."""
        reply = self._enter(self._clients.call(choices, "exchange", operation, body, caller))
        if reply is None or reply.pending_on or reply.status != 200 or reply.chunks is not None:
            return {}
        page = json.decode(reply.body)
        return page if isinstance(page, dict) else {}


@cache
def readable() -> tuple[Operation, ...]:
    """Return the reads that both protocols serve."""
    return tuple(
        operation
        for operation in load_contract().operations
        if operation.grpc
        and operation.kind == "unary"
        and "exchange" in operation.planes
        and operation.rpc.startswith(_READS)
    )


@cache
def pageable() -> tuple[Operation, ...]:
    """Return the lists over REST that are read in pages whose length the caller chooses."""
    return tuple(
        operation
        for operation in load_contract().operations
        if operation.kind == "unary"
        and "exchange" in operation.planes
        and {field.name for field in fields_of(operation.request)} >= PAGING
    )


def page_differences(
    operation: Operation, expected: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> Iterator[Trouble]:
    """Yield a difference between two pages and the same rows in one page.

    Nothing happened in between.
    """
    name = operation.name
    rows = next(field.json_name for field in fields_of(operation.response) if field.repeated)
    together = [*first.get(rows, ()), *second.get(rows, ())]
    if together != expected.get(rows, []):
        text = (
            f"{name}: pages have {len(together)} {rows} and differ from one of twice their length"
        )
        yield Trouble("agreement", f"{name} pages", text)


def disagreement(
    operation: Operation, now: Instant, over_rest: Reply, over_grpc: Reply
) -> Iterator[Trouble]:
    """Yield how two replies to the same read differ."""
    name = operation.name
    if over_rest.status in _PASSING or over_grpc.code in (4, 8, 13, 14):
        return
    if over_rest.pending_on or over_grpc.pending_on:
        return
    if over_grpc.code:
        # The operation is not served on this date
        absent = over_grpc.code == 12 and over_rest.status == 404
        if not absent and over_rest.status not in statuses_of(over_grpc.code):
            text = f"{name}: REST answers {over_rest.status}, gRPC code {over_grpc.code}"
            yield Trouble("agreement", name, text)
        return
    if over_rest.status != 200:
        yield Trouble("agreement", name, f"{name}: REST answers {over_rest.status}, gRPC OK")
        return
    encode = json_encoder(operation.response, dialect_at("exchange", now))
    over_rpc = json.decode(encode(protobuf_decoder(operation.response)(over_grpc.body)))
    rest = json.decode(over_rest.body) if over_rest.body else None
    for path in _differences(rest, over_rpc):
        yield Trouble("agreement", f"{name} {path}", f"{name}: REST and gRPC differ at {path}")
        return


def _differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            inner = f"{path}.{key}" if path else key
            if key not in left or key not in right:
                present = left.get(key, right.get(key))
                if present not in (None, "", 0, "0", False, [], {}):
                    yield inner
            else:
                yield from _differences(left[key], right[key], inner)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for pair in zip(left, right, strict=True):
            yield from _differences(*pair, f"{path}[]")
    elif left != right:
        yield path or "the whole answer"
