"""Replies that must agree: over REST and gRPC, and a list in one page and in several."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import json

from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder
from sim.api.pipeline.inputs import Reply
from sim.contract.contract import Operation, load_contract
from sim.contract.wire_fields import fields_of
from sim.evidence.compare.error_forms import statuses_of
from sim.kernel.instants import Instant
from sim.search.hunt.oracles import Trouble

PAGING = frozenset(("page_size", "page_token"))
_READS = ("Get", "List", "Search", "Preview", "Health")
# Statuses that a busy or disturbed exchange may answer to one call and not to the next.
_PASSING = frozenset((429, 500, 503, 504))


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
    operation: Operation, whole: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> Iterator[Trouble]:
    """Yield a difference between two pages and the same rows in one page.

    Nothing happened in between.
    """
    name = operation.name
    rows = next(field.json_name for field in fields_of(operation.response) if field.repeated)
    together = [*first.get(rows, ()), *second.get(rows, ())]
    if together != whole.get(rows, []):
        says = (
            f"{name}: pages have {len(together)} {rows} and differ from one of twice their length"
        )
        yield Trouble("agreement", f"{name} pages", says)


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
            says = f"{name}: REST answers {over_rest.status}, gRPC code {over_grpc.code}"
            yield Trouble("agreement", name, says)
        return
    if over_rest.status != 200:
        yield Trouble("agreement", name, f"{name}: REST answers {over_rest.status}, gRPC OK")
        return
    encode = json_encoder(operation.response, dialect_at("exchange", now))
    over_rpc = json.decode(encode(protobuf_decoder(operation.response)(over_grpc.body)))
    rest = json.decode(over_rest.body) if over_rest.body else None
    for where in _differences(rest, over_rpc):
        yield Trouble("agreement", f"{name} {where}", f"{name}: REST and gRPC differ at {where}")
        return


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            inner = f"{path}.{key}" if path else key
            if key not in one or key not in other:
                present = one.get(key, other.get(key))
                if present not in (None, "", 0, "0", False, [], {}):
                    yield inner
            else:
                yield from _differences(one[key], other[key], inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for mine, theirs in zip(one, other, strict=True):
            yield from _differences(mine, theirs, f"{path}[]")
    elif one != other:
        yield path or "the whole answer"
