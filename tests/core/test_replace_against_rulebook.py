"""Replaces against a second implementation of the rules: the refusal of a change, and every term of
the order after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sim.core.model.commands import ReplaceOrder
from sim.core.model.enums import (
    CancelRejectReason,
    InstrumentState,
    OrderType,
    SelfMatchPrevention,
    TimeInForce,
)
from sim.core.model.events import CancelRejected, Executed
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import InsufficientFunds, Refusal
from sim.kernel.instants import minutes
from tests.sessions import SESSIONS
from tests.trading_harness import Market

S, T, R = InstrumentState, OrderType, CancelRejectReason
TERMS = Instrument(
    symbol="X",
    tick=2,
    min_qty=3,
    price_low=10,
    price_high=90,
    size_low=6,
    size_high=200,
    notional_low=300,
    notional_high=9_000,
)
QTY_HIGH = 1_000_000_000_000
NOW = Market().ctx.now
END = NOW + minutes(5)
FILLED = 6
STATES = (S.OPEN, S.OPEN, S.OPEN, S.PREOPEN, S.MATCH_AND_CLOSE_AUCTION, S.HALTED, S.SUSPENDED)

# The order that is replaced: price, and terms besides its quantity of 60.
ORDERS: tuple[tuple[int, dict[str, Any]], ...] = (
    (50, {}),
    (50, {"tif": TimeInForce.GOOD_TILL_TIME, "good_till": END}),
    (50, {"post_only": True}),
    (50, {"smp_id": "same"}),
    (50, {"smp_id": "same", "smp": SelfMatchPrevention.CANCEL_RESTING}),
    (50, {"best_limit": True}),
    (0, {"type": T.STOP, "stop_price": 54}),
    (52, {"type": T.STOP_LIMIT, "stop_price": 54}),
)
CHANGES: dict[str, tuple[Any, ...]] = {
    "qty": (-1, 2, 3, 4, 5, 6, 7, 59, 60, 61, 180, 200, 201, QTY_HIGH, QTY_HIGH + 1),
    "price": (-1, 1, 8, 10, 40, 46, 50, 51, 52, 54, 56, 58, 60, 90, 92),
    "stop_price": (-1, 1, 8, 50, 52, 54, 56, 90, 92),
    "tif": tuple(TimeInForce),
    "good_till": (NOW - 1, NOW, NOW + 1, END, END + 1),
    "min_qty": (-1, 1, QTY_HIGH, QTY_HIGH + 1),
    "post_only": (True, False),
    "all_or_none": (True, False),
    "strict_limit": (True,),
    "best_limit": (True,),
    "immediately_executable_limit": (True,),
    "symbol": ("X",),
    "price_text": ("0.50",),
}


def market(state: InstrumentState, price: int, terms: dict[str, Any]) -> tuple[Market, Order]:
    """A market with offers of others at 56 and 60, an own one at 58, and the order at a bid of 50,
    6 of its 60 filled unless it is a stop.
    """
    created = Market(TERMS, cash=100_000 * DOLLAR)
    created.sell("z", 20, 56)
    created.sell("a", 20, 58, smp_id="same")
    created.sell("z", 20, 60)
    created.buy("z", 20, 44)
    if terms.get("best_limit"):
        created.buy("z", 20, 50)
    order = created.buy("a", 60, price, **terms)
    if "stop_price" not in terms:
        created.sell("y", FILLED + (20 if "best_limit" in terms else 0), 50)
        assert created.now(order).cum_qty == FILLED
    if state is not S.OPEN:
        created.move(S.HALTED)
        created.move(state)
    created.take()
    return created, created.now(order)


# The statement of §3.1 that refuses orders and changes in a state.
BY_STATE = {S.SUSPENDED: "S3.1-9", S.HALTED: "S3.1-10"}

# ---- the rulebook

Row = tuple[bool, str, str, str, CancelRejectReason]


def refusal(c: ReplaceOrder, order: Order, state: InstrumentState) -> tuple[Any, ...] | None:
    """Return class, rule, message and reason of the refusal; None if the change is accepted."""
    return next((tuple(rest) for applies, *rest in rows(c, order, state) if applies), None)


def _invalid(applies: object, rule: str, text: str) -> Row:
    return bool(applies), "InvalidRequest", rule, text, R.EXCHANGE_OPTION


def _reject(
    applies: object, rule: str, text: str, reason: CancelRejectReason = R.EXCHANGE_OPTION
) -> Row:
    return bool(applies), "OrderRefused", rule, text, reason


def rows(c: ReplaceOrder, order: Order, state: InstrumentState) -> Iterator[Row]:
    closed = state in (S.HALTED, S.SUSPENDED)
    text = f"Book is {state.name}"
    yield closed, "InstrumentNotTradable", BY_STATE.get(state, ""), text, R.EXCHANGE_CLOSED
    yield from _combination(c, order)
    names = {S.PREOPEN: "PRE_OPEN", S.MATCH_AND_CLOSE_AUCTION: "MATCH_AND_CLOSE_AUCTION"}
    derived = c.best_limit or c.immediately_executable_limit
    text = f"Order has attributes that cannot be placed in {names.get(state)}"
    refused = state in names and (c.strict_limit or derived)
    yield refused, "InstrumentNotTradable", "L18", text, R.EXCHANGE_CLOSED
    after = changed(c, order)
    if after["qty"] != order.qty:
        text, reason = "Quantity is not above the filled quantity", R.INCORRECT_QUANTITY
        yield _reject(after["qty"] <= order.cum_qty, "M31", text, reason)
        text = f"Minimum trade quantity is 3, given {after['qty']}"
        yield _reject(after["qty"] < 3, "M4", text, reason)
    for name in ("price", "stop_price"):
        if after[name] != getattr(order, name):
            yield from _band(after[name])
    if order.type is T.STOP_LIMIT:
        text = "Stop price must be at or above the limit of a buy, at or below the limit of a sell"
        yield _reject(after["stop_price"] < after["price"], "M12", text)
    yield from _sizes(after["qty"], after["price"] or after["stop_price"])
    yield from _resting(after, order, state)


def _combination(c: ReplaceOrder, order: Order) -> Iterator[Row]:
    both = "best_limit and immediately_executable_limit"
    at_once = c.tif.name in ("IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
    text = "a working order cannot become IOC, FOK or all_or_none"
    yield _invalid(at_once or c.all_or_none, "M31", text)
    after = changed(c, order)
    timed = after["tif"] is TimeInForce.GOOD_TILL_TIME
    ended = timed and (after["good_till"] or 0) <= NOW
    yield _invalid(ended, "M18", "good_till_time must be in the future")
    stop = order.type in (T.STOP, T.STOP_LIMIT)
    yield _invalid(c.stop_price and not stop, "M12", "stop_price needs a waiting stop order")
    derived = c.best_limit or c.immediately_executable_limit
    text = f"{both} are mutually exclusive"
    yield _invalid(c.best_limit and c.immediately_executable_limit, "M21", text)
    yield _invalid(derived and order.type is not T.LIMIT, "M21", f"{both} need a limit order")
    negative = any(number < 0 for number in (c.qty, c.price, c.stop_price, c.min_qty))
    yield _invalid(negative, "M31", "quantities and prices must not be negative")
    beyond = c.qty > QTY_HIGH or c.min_qty > QTY_HIGH
    yield _invalid(beyond, "T3", "order_qty is out of range")


def _band(price: int) -> Iterator[Row]:
    text = f"Price must be a multiple of 0.02, given {price / 100:g}"
    yield _reject(price % 2, "M4", text, R.INVALID_PRICE_INCREMENT)
    for which, limit, beyond in (("Low", "0.1", price < 10), ("High", "0.9", price > 90)):
        text = f"{which} price limit is {limit}, given {price / 100:g}"
        yield _reject(beyond, "M5", text)


def _sizes(qty: int, price: int) -> Iterator[Row]:
    for which, limit, beyond in (("Low", 6, qty < 6), ("High", 200, qty > 200)):
        text = f"{which} order size limit is {limit}, given {qty}"
        yield _reject(beyond, "M5", text)
    worth = qty * price
    for which, limit, beyond in (("Low", 3, worth < 300), ("High", 90, worth > 9_000)):
        text = f"{which} total notional size limit is {limit}, given {worth / 100:g}"
        yield _reject(beyond, "M5", text)


def _resting(after: dict[str, Any], order: Order, state: InstrumentState) -> Iterator[Row]:
    if state is not S.OPEN or order.type is not T.LIMIT:
        return
    repriced = after["price"] != order.price
    if repriced or after["post_only"] != order.post_only:
        rejects = order.smp_id and order.smp is SelfMatchPrevention.REJECT_AGGRESSOR
        meets = after["price"] >= 58 and after["qty"] - order.cum_qty > 20
        yield _reject(rejects and meets, "M27", "Self Match Prevention")
        text = "Order may participate but not initiate in the market"
        yield _reject(after["post_only"] and after["price"] >= 56, "M20", text)


def changed(c: ReplaceOrder, order: Order) -> dict[str, Any]:
    """Return the terms that a change may affect, after the change."""
    derived = c.best_limit or c.immediately_executable_limit
    tif = c.tif or order.tif
    timed = tif is TimeInForce.GOOD_TILL_TIME
    kept = order.good_till if timed else None
    best = best_bid(order) if c.best_limit else 56
    named = (c.best_limit, c.immediately_executable_limit) if derived else (False, False)
    was = (order.best_limit, order.immediately_executable_limit)
    flags = named if derived or c.price else was
    return {
        "qty": c.qty or order.qty,
        "price": best if derived else c.price or order.price,
        "price_text": c.price_text if c.price else order.price_text,
        "stop_price": c.stop_price or order.stop_price,
        "min_qty": c.min_qty or order.min_qty,
        "tif": tif,
        "good_till": c.good_till if c.good_till is not None else kept,
        "post_only": order.post_only if c.post_only is None else c.post_only,
        "strict_limit": c.strict_limit or order.strict_limit,
        "best_limit": flags[0],
        "immediately_executable_limit": flags[1],
    }


def best_bid(order: Order) -> int:
    """Return the best bid, which is that of the order itself if it rests in the book."""
    return max(order.price, 44) if order.type is T.LIMIT else 44


# ---- results of a change


def attempt(market: Market, command: ReplaceOrder) -> object:
    """Return the order after the change, or its refusal."""
    try:
        return market.trading.order_service.replace(command)
    except Refusal as error:
        text = "" if isinstance(error, InsufficientFunds) else error.message
        return type(error).__name__, error.rule, text


def random_change(rng: Random, order: Order) -> ReplaceOrder:
    terms: dict[str, Any] = {}
    for name in rng.sample(sorted(CHANGES), rng.randint(0, 3)):
        terms[name] = rng.choice(CHANGES[name])
    return ReplaceOrder(accounts=("a",), order_id=order.id, **terms)


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_a_change_is_made_or_comes_back_with_the_first_row_that_applies(seed: int) -> None:
    rng = Random(seed)
    state = rng.choice(STATES)
    for _ in range(25):
        result, order = market(state, *rng.choice(ORDERS))
        command = random_change(rng, order)
        before, expected = structs.asdict(order), refusal(command, order, state)
        came = attempt(result, command)
        if expected is None:
            assert isinstance(came, Order), (came, command, before)
            check_made(result, command, before, changed(command, Order(**before)))
        else:
            assert came == expected[:3], (command, before)
            assert structs.asdict(result.now(order)) == before
            check_told(result, order, expected)
        result.check()


def check_told(market: Market, order: Order, expected: tuple[Any, ...]) -> None:
    """Check that a refused change is reported once and changes no book."""
    (reported,) = [event for event in market.take() if isinstance(event, CancelRejected | Executed)]
    assert isinstance(reported, CancelRejected)
    assert (reported.order_id, reported.account, reported.is_replace) == (order.id, "a", True)
    assert (reported.text, reported.reason) == (expected[2], expected[3])


def check_made(
    market: Market, command: ReplaceOrder, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Check that the first report has all terms of the change, and that the order ends once."""
    first = market.reports()[0]
    assert first.type.name == "REPLACE"
    reported = structs.asdict(first.order)
    assert {name: reported[name] for name in after} == after, (command, before)
    assert reported["leaves_qty"] == after["qty"] - before["cum_qty"]
    assert (reported["state"].name, reported["changed"]) == ("REPLACED", NOW)
    touched = {*after, "leaves_qty", "state", "changed", "inserted", "priority", "expiry_timer"}
    assert {name for name in before if before[name] != reported[name]} <= touched
    keeps = after["price"] == before["price"] and after["qty"] <= before["qty"]
    assert (reported["priority"] == before["priority"]) == keeps
    ends = [timer.due for timer in market.ctx.timers.pending() if timer.kind == "order.expiry"]
    now = market.trading.orders.require(before["id"])
    timed = now.live and now.tif is TimeInForce.GOOD_TILL_TIME
    assert ends == ([after["good_till"]] if timed else [])
