"""An order takes over every term of its command."""

from __future__ import annotations

import pytest
from msgspec import structs

from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Channel, OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.trading.admission import _order

SHARED = sorted(
    {field.name for field in structs.fields(PlaceOrder)}
    & {field.name for field in structs.fields(Order)}
)
OTHERS = {
    "side": Side.SELL,
    "type": OrderType.STOP_LIMIT,
    "tif": TimeInForce.GOOD_TILL_TIME,
    "channel": Channel.SCRIPT,
    "smp": SelfMatchPrevention.REMOVE_BOTH,
}


@pytest.mark.parametrize("name", SHARED)
def test_each_term_is_taken_over_by_itself(name: str) -> None:
    plain = PlaceOrder(
        symbol="X",
        account="a",
        participant="p",
        side=Side.BUY,
        qty=5,
        price=40,
        tif=TimeInForce.DAY,
    )
    was = getattr(plain, name)
    given = OTHERS.get(
        name,
        True if isinstance(was, bool) else 7 if isinstance(was, int) or was is None else "other",
    )
    order = _order(structs.replace(plain, **{name: given}), Instrument(symbol="X"), 1)
    assert getattr(order, name) == given
    untouched = _order(plain, Instrument(symbol="X"), 1)
    assert {
        other
        for other in order.__struct_fields__
        if getattr(order, other) != getattr(untouched, other)
    } <= {name, "leaves_qty", "smp"}
