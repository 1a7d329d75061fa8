"""Genes that move a market along one edge of the lifecycle.

A market is created and brought to a state, with orders in its book. Then an operator, its schedule
or its dates move it along the edge. Each edge is a kind of gene, so that every edge is tried for
certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sim.core.lifecycle.states import EDGES, LEGAL_EDGES
from sim.core.model.enums import InstrumentState
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import (
    EASTERN,
    NS_PER_S,
    Instant,
    Span,
    days,
    format_instant,
    minutes,
    to_datetime,
)

Body = dict[str, Any]
_S = InstrumentState
_SOON = 90 * NS_PER_S
_ENDED = (_S.EXPIRED, _S.TERMINATED)
_ORDERS_MAX = 4
# The steps that lead to a state in which no market can be created.
_BEFORE: dict[InstrumentState, tuple[str, ...]] = {
    _S.EXPIRED: ("CLOSED", "EXPIRED"),
    _S.TERMINATED: ("CLOSED", "EXPIRED", "TERMINATED"),
}


class OperatorStep(NamedTuple):
    """An operator's action, or, without a name, a wait."""

    action: str = ""
    subject: str = ""
    body: Body = {}
    wait: Span = 0


def edge_kinds() -> tuple[str, ...]:
    """Return the kinds of genes, one for each edge."""
    return tuple(" ".join(("edge", was.name, to.name)) for was, to in EDGES)


def lifecycle_steps(
    choices: RandomStream, was: str, to: str, now: Instant
) -> Iterator[OperatorStep]:
    """Yield the steps that create a market and move it along an edge."""
    start, end = InstrumentState[was], InstrumentState[to]
    ways = [*_ways(start, end)]
    symbol = f"hunt-{choices.below(24)}-{choices.below(1 << 16):04x}"
    yield from choices.choice(ways)(choices, symbol, start, end, now)


def _ways(start: InstrumentState, end: InstrumentState) -> Iterator[Any]:
    """Yield who can take an edge. Rule L10 lists the edges that an operator can take."""
    if end in LEGAL_EDGES[start]:
        yield _by_operator
    if end in _ENDED:
        yield _by_date
    elif start not in _ENDED:
        yield _by_schedule


def _by_operator(
    choices: RandomStream, symbol: str, start: InstrumentState, end: InstrumentState, now: Instant
) -> Iterator[OperatorStep]:
    yield from _created_market(choices, symbol, start, now, {})
    yield OperatorStep("instrument.state", symbol, {"state": end.name})


def _by_date(
    choices: RandomStream, symbol: str, start: InstrumentState, end: InstrumentState, now: Instant
) -> Iterator[OperatorStep]:
    """Let the expiration or termination date pass, sometimes without the states in between."""
    at = now + _SOON
    dates = {"expiration": format_instant(at), "termination": format_instant(at + days(1))}
    if end is _S.TERMINATED:
        dates = {"expiration": format_instant(at - NS_PER_S), "termination": format_instant(at)}
    if start is not _S.CLOSED and end is _S.EXPIRED:
        whole = {"value": choices.choice(("false", "false", "true"))}
        yield OperatorStep("assumption.set", "lifecycle.collapse_to_expired", whole)
    yield from _created_market(choices, symbol, start, now, dates)
    yield OperatorStep(wait=_SOON)


def _by_schedule(
    choices: RandomStream, symbol: str, start: InstrumentState, end: InstrumentState, now: Instant
) -> Iterator[OperatorStep]:
    """Let one segment of the schedule end and another begin. CLOSED is outside every segment."""
    clock = to_datetime(now, EASTERN)
    cut = min(clock.hour * 60 + clock.minute + 2, 24 * 60 - 1)
    at = f"{cut // 60:02}:{cut % 60:02}"
    first: Body = {"start": "00:00", "length": f"{cut}m", "state": start.name}
    second: Body = {"start": at, "length": f"{24 * 60 - cut}m", "state": end.name}
    if choices.chance(1, 3):
        second |= {"expire_all_orders": True, "hide_market_data": choices.chance(1, 2)}
    terms: Body = {"start": format_instant(now - days(2))}
    if start is _S.PENDING:
        second = {"start": "00:00", "length": "24h", "state": end.name}
        terms = {"start": format_instant(now + minutes(1))}
    segments: list[Body] = [
        one for one in (first, second) if one["state"] not in ("CLOSED", "PENDING")
    ]
    if not segments:  # CLOSED all day
        segments = [{"start": "00:00", "length": "1m", "days": [(clock.weekday() + 3) % 7]}]
    yield OperatorStep("instrument.create", "", {"symbol": symbol, **terms, "schedule": segments})
    yield from _orders(choices, symbol)
    yield OperatorStep(wait=minutes(3))


def _created_market(
    choices: RandomStream, symbol: str, state: InstrumentState, now: Instant, dates: Body
) -> Iterator[OperatorStep]:
    """Create a market in a state, with orders if that state accepts them."""
    body: Body = {"symbol": symbol, "tick_size": "0.01", **dates}
    if state is _S.PENDING:
        yield OperatorStep("instrument.create", "", body | {"start": format_instant(now + days(3))})
        return
    steps = _BEFORE.get(state, (state.name,))
    first = steps[0]
    if state not in _ENDED and choices.chance(1, 2):
        first = "OPEN"
    yield OperatorStep("instrument.create", "", body | {"state": first})
    yield from _orders(choices, symbol)
    if first != state.name:
        way = steps if first == "OPEN" else steps[1:]
        if state is _S.PREOPEN and first == "OPEN":
            way = ("CLOSED", "PREOPEN")
        for step in way:
            yield OperatorStep("instrument.state", symbol, {"state": step})
        yield from _orders(choices, symbol)


def _orders(choices: RandomStream, symbol: str) -> Iterator[OperatorStep]:
    for _ in range(choices.below(_ORDERS_MAX + 1)):
        yield OperatorStep(
            "order.place",
            "",
            {
                "as": choices.choice(("maker", "taker", "noise")),
                "symbol": symbol,
                "side": choices.choice(("buy", "sell")),
                "price": f"0.{choices.between(45, 55)}",
                "qty": str(choices.between(1, 20)),
                "tif": choices.choice(("day", "gtc", "gtc", "ioc")),
            },
        )
