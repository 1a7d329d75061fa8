"""Admission: an order takes over every term of its command, and the table of checks is what its
page says.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
from msgspec import structs

from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Channel, OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.refusals import Refusal, cut
from sim.core.trading import admission
from sim.core.trading.admission import CHECKS
from sim.core.trading.order_draft import draft_order
from tests.trading_harness import Market

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
    others = OTHERS.get(
        name,
        True if isinstance(was, bool) else 7 if isinstance(was, int) or was is None else "other",
    )
    command = structs.replace(plain, **{name: others})
    order = draft_order(command, Instrument(symbol=command.symbol), 1)
    assert getattr(order, name) == others
    untouched = draft_order(plain, Instrument(symbol="X"), 1)
    assert {
        other
        for other in order.__struct_fields__
        if getattr(order, other) != getattr(untouched, other)
    } <= {name, "leaves_qty", "smp"}


# ---- the table


def documented() -> list[tuple[str, str, str]]:
    """Rows of the table at the head of the module: name, rules, refusal."""
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", admission.__doc__ or "", re.M
    )
    return [row for row in rows if row[0] != "Row"]


def test_the_documented_precedence_is_the_order_of_the_rows() -> None:
    assert documented() == [(row.name, row.rules, row.refusal.__name__) for row in CHECKS]


# For rows of the table, what makes a plain order fail there: it buys 5 at 60, where an offer of its
# own participant rests. A price of 0.5 stands for one that is off the tick.
MISTAKES: dict[str, dict[str, Any]] = {
    "client order id": {"clord_id": "taken"},
    "combination": {"good_till": 1, "tif": TimeInForce.GOOD_TILL_TIME},
    "price": {"price": 0.5},
    "minimum quantity": {"min_qty": 10_000_000},
    "size": {"qty": 2_000_000},
    "funds": {"qty": 1_000_000},
    "self-match": {"smp_id": "same", "smp": SelfMatchPrevention.REJECT_AGGRESSOR},
    "post-only": {"post_only": True},
}


def market() -> Market:
    result = Market(
        Instrument(symbol="X", price_scale=100, tick=2, size_high=1_500_000, price_high=98)
    )
    result.sell("t", 5, 60, smp_id="same", clord_id="taken")
    return result


def refused(name: str, *others: str) -> Refusal:
    terms: dict[str, Any] = {"qty": 5, "price": 60}
    for mistake in (name, *others):
        terms |= MISTAKES[mistake]
    qty, price = terms.pop("qty"), terms.pop("price")
    with pytest.raises(Refusal) as refusal:
        market().buy("t", qty, 61 if price == 0.5 else price, **terms)
    return refusal.value


@pytest.mark.parametrize("name", MISTAKES)
def test_each_row_refuses_with_its_class_and_rule(name: str) -> None:
    row = next(row for row in CHECKS if row.name == name)
    refusal = refused(name)
    assert type(refusal) is row.refusal
    low, _, high = row.rules.partition("-")
    if high:
        assert int(low[1:]) <= int(refusal.rule[1:]) <= int(high[1:])
    else:
        assert refusal.rule in row.rules.split(", ")


CONTRADICTING = {frozenset(("post-only", "minimum quantity"))}  # the combination itself is refused


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pair
        for pair in combinations([row.name for row in CHECKS if row.name in MISTAKES], 2)
        if frozenset(pair) not in CONTRADICTING
    ],
)
def test_of_two_mistakes_the_one_that_stands_first_is_reported(first: str, second: str) -> None:
    expected, refusal = refused(first), refused(second, first)
    assert (type(refusal), refusal.rule) == (type(expected), expected.rule)


@pytest.mark.parametrize("length", [0, 1, 79, 80, 81, 5000])
def test_a_name_that_a_client_sent_is_repeated_up_to_eighty_characters(length: int) -> None:
    name = "".join(chr(97 + at % 26) for at in range(length))
    assert cut(name) == name[: min(length, 80)]
