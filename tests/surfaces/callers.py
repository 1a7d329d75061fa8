"""Who calls, on which surface, and what of the exchange must not change: shared by the tests of
this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from sim.api.registry import served
from sim.contract.contract import Binding, Operation, Plane, load_contract
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Side, TimeInForce
from sim.core.model.orders import Order
from sim.run.client.client import Http
from sim.world.format.scenario import DEFAULT_START
from tests.kit import FEW_GAMES, Desk, begin, unlimited

CONTRACT = load_contract()
SERVED = [
    operation
    for operation in CONTRACT.operations
    if operation.name in served()
    and operation.exists_at(DEFAULT_START, frozenset({"reports.bulk_export"}))
]
# What calls leave behind whether they succeed or not.
_TRACES = frozenset({"timers", "entropy", "ids", "credentials", "rate_limits", "faults", "now"})


def unlimited_world() -> Desk:
    """Return the quickstart with few games, without rate limits and random quirks."""
    world = begin(FEW_GAMES)
    unlimited(world.simulation)
    world.preset("ideal")
    world.assume("reports.bulk_export", "served")
    return world


def caller(world: Desk, plane: Plane) -> Http:
    """Return a caller who may do everything on a plane."""
    clients = {"retail": world.customer, "exchange": world.trader}
    return clients[plane]() if plane in clients else getattr(world, plane)


def kept(world: Desk) -> bytes:
    """Return all state of the exchange that a refused call must not change."""
    state = world.core.save()
    return msgspec.msgpack.encode(
        {name: getattr(state, name) for name in state.__struct_fields__ if name not in _TRACES}
    )


def path_of(world: Desk, binding: Binding) -> str:
    """The path of a binding with something that exists, as far as that matters for being parsed."""
    symbol = world.quiet().symbol
    values = {"symbol": symbol, "slug": symbol, "asset": "crypto:btc"}
    path = binding[1]
    while "{" in path:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        path = before + values.get(name, "1") + after
    return path


def routes() -> list[tuple[Plane, Operation, Binding]]:
    """Every REST route of every served operation that is a call (no WebSocket), on every plane."""
    return [
        (plane, operation, binding)
        for operation in SERVED
        for plane in operation.planes
        for binding in operation.bindings
        if operation.content != "web_socket"
    ]


def check_refusal(plane: Plane, answer: Any, *statuses: int) -> None:
    """The documented status, in the shape of the plane, without a word of ours."""
    assert answer.status in statuses, (answer.status, answer.body[:300])
    body = answer.json()
    if plane == "auth":
        assert set(body) == {"error", "error_description"}
    elif answer.status == 429 and plane in ("gateway", "retail"):
        assert body == {"status": 429, "message": "Too Many Requests"}
    else:
        assert set(body) == {"code", "message", "details"} and isinstance(body["code"], int)
    for word in (b"Traceback", b"sim/", b"msgspec", b"sim.core", b"object at 0x"):
        assert word not in answer.body


def place(
    world: Desk, user: int, symbol: str, side: Side, price: int, qty: int = 1, **terms: Any
) -> Order:
    """An order of a participant that no surface counts, good till canceled."""
    person = world.user(user)
    command = PlaceOrder(
        account=person.account,
        participant=person.name,
        symbol=symbol,
        side=side,
        price=price,
        qty=qty,
        **{"tif": TimeInForce.GOOD_TILL_CANCEL, **terms},
    )
    return world.trading.order_service.enter(command)


class Counted(list[Any]):
    """Rows that count how often one is read."""

    read = 0

    def __getitem__(self, position: Any) -> Any:
        self.read += 1
        return super().__getitem__(position)


@contextmanager
def counted(holder: Any, name: str) -> Iterator[Counted]:
    """The rows that are an attribute, or an entry of a dictionary, count for a while."""
    rows = holder[name] if isinstance(holder, dict) else getattr(holder, name)
    put = holder.__setitem__ if isinstance(holder, dict) else partial(setattr, holder)
    result = Counted(rows)
    put(name, result)
    try:
        yield result
    finally:
        put(name, rows)
