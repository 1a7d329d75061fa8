"""Order entry against a second implementation of the rules, as one list of rows: the first row that
applies determines the refusal of an order.

The market never changes: every order is previewed and, if accepted, placed in a copy of the market.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import (
    Channel,
    InstrumentState,
    OrderType,
    RejectReason,
    SelfMatchPrevention,
    Side,
    TimeInForce,
)
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import InsufficientFunds, Refusal
from tests.sessions import SESSIONS
from tests.trading_harness import Market

S = InstrumentState
ROUGH = Instrument(symbol="X", tick=2, min_qty=3, price_low=1, price_high=90)
FINE = Instrument(
    symbol="X",
    price_scale=1000,
    qty_scale=100,
    tick=5,
    min_qty=10,
    price_low=10,
    price_high=990,
    size_low=20,
    size_high=1_000,
    notional_low=9_000,
    notional_high=490_000,
)
INSTRUMENTS = {"rough": ROUGH, "fine": FINE}
STATES = (S.OPEN, S.OPEN, S.OPEN, S.PREOPEN, S.MATCH_AND_CLOSE_AUCTION, S.HALTED, S.SUSPENDED)
QTY_HIGH, DOLLARS_HIGH = 1_000_000_000_000, 40_000_000_000
NOW = Market().ctx.now

# Resting orders, best first: (price in cents, contracts, whether they belong to the participant who
# sends the orders).
BIDS = ((46, 5, False), (44, 6, True), (42, 9, False))
OFFERS = ((52, 5, False), (54, 6, True), (56, 9, False))
Level = tuple[int, int, bool]


def market(instrument: Instrument, state: InstrumentState) -> Market:
    """Return a market with four orders of a stranger and two of "a", with prevention id "same"."""
    created = Market(instrument, cash=100_000 * DOLLAR)
    created.trading.open_account("clearing", kind="clearing")
    created.fund("clearing", created.cash)
    for side, levels in ((Side.BUY, BIDS), (Side.SELL, OFFERS)):
        for hundredths, contracts, mine in levels:
            terms = {"smp_id": "same", "clord_id": f"taken-{side.name}"} if mine else {}
            price = hundredths * instrument.price_scale // 100
            enter = created.buy if side is Side.BUY else created.sell
            enter("a" if mine else "z", contracts * _lot(instrument), price, **terms)
    if state is not S.OPEN:
        created.move(S.HALTED)
        created.move(state)
    return created


def _lot(instrument: Instrument) -> int:
    return 30 if instrument.qty_scale == 100 else 3


# The statement of §3.1 that refuses orders and changes in a state.
BY_STATE = {S.SUSPENDED: "S3.1-9", S.HALTED: "S3.1-10"}

# ---- the rulebook

Row = tuple[bool, str, str, str, RejectReason]


def refusal(
    command: PlaceOrder, instrument: Instrument, state: InstrumentState, on: set[str]
) -> tuple[str, str, str, RejectReason] | None:
    """Return class, rule, message and reason of the refusal, or None for an accepted order."""
    every = rows(command, instrument, state, on)
    return next((row[1:] for row in every if row[0]), None)


def rows(c: PlaceOrder, i: Instrument, state: InstrumentState, on: set[str]) -> Iterator[Row]:
    yield from _shape(c, i)
    yield from _state(c, state)
    yield from _combination(c, on)
    yield from _auction(c, state)
    if c.channel is Channel.RETAIL:
        low = _decimal(i.price_low, i.price_scale)
        text = f"Low price limit is {low}, given less than a tick"
        unpriced = c.type is OrderType.LIMIT and not c.price
        yield _reject(unpriced, "M5", text, RejectReason.PRICE_OUT_OF_BOUNDS)
        yield _lot_refusal(not c.qty and not c.cash_qty, i, 0)
    price = _price(c, i)
    no_side = "No liquidity to derive limit price"
    derived = c.best_limit or c.immediately_executable_limit
    yield _reject(derived and not price, "M21", no_side, RejectReason.NO_LIQUIDITY)
    if not c.ignore_price_checks:
        for item in (0 if c.type is OrderType.STOP else price, c.stop_price):
            yield from _band(c, i, item, on) if item else ()
    if c.type is OrderType.STOP_LIMIT:
        wrong = c.stop_price < price if c.side is Side.BUY else c.stop_price > price
        text = "Stop price must be at or above the limit of a buy, at or below the limit of a sell"
        yield _reject(wrong, "M12", text)
    yield from _amounts(c, i, state, on)


def _invalid(applies: object, rule: str, text: str) -> Row:
    return bool(applies), "InvalidRequest", rule, text, RejectReason.EXCHANGE_OPTION


def _reject(
    applies: object, rule: str, text: str, reason: RejectReason = RejectReason.EXCHANGE_OPTION
) -> Row:
    return bool(applies), "OrderRefused", rule, text, reason


def _shape(c: PlaceOrder, i: Instrument) -> Iterator[Row]:
    for name in ("side", "type", "symbol", "account"):
        yield _invalid(not getattr(c, name), "M2", f"{name} is required")
    names = {"qty": "order_qty", "cash_qty": "cash_order_qty"}
    for name in ("qty", "price", "stop_price", "min_qty", "cash_qty"):
        text = f"{names.get(name, name)} must not be negative"
        yield _invalid(getattr(c, name) < 0, "M2", text)
    for name in ("qty", "min_qty"):
        text = f"{names.get(name, name)} is out of range"
        yield _invalid(getattr(c, name) > QTY_HIGH, "T3", text)
    nothing = c.channel is not Channel.RETAIL and c.qty == c.cash_qty == 0
    yield _invalid(nothing, "M2", "order_qty is required")
    too_much = c.cash_qty > DOLLARS_HIGH * i.price_scale
    yield _invalid(too_much, "T3", "cash_order_qty is out of range")


def _state(c: PlaceOrder, state: InstrumentState) -> Iterator[Row]:
    closed = state in (S.HALTED, S.SUSPENDED)
    reason = RejectReason.EXCHANGE_CLOSED
    yield closed, "InstrumentNotTradable", BY_STATE.get(state, ""), f"Book is {state.name}", reason
    other = RejectReason.EXCHANGE_OPTION
    clearing = c.account == "clearing"
    yield clearing, "PermissionDenied", "P26", "account does not trade", other
    text = "ClOrdID already in use by an open order"
    yield c.clord_id.startswith("taken"), "DuplicateOrder", "M6", text, other


def _combination(c: PlaceOrder, on: set[str]) -> Iterator[Row]:
    T = OrderType
    both = "best_limit and immediately_executable_limit"
    derived = c.best_limit or c.immediately_executable_limit
    limit, stop = c.type in (T.LIMIT, T.STOP_LIMIT), c.type in (T.STOP, T.STOP_LIMIT)
    market = c.type is T.MARKET_TO_LIMIT
    priced = c.price or derived or c.channel is Channel.RETAIL
    yield _invalid(limit and not priced, "M9", "price is required for a limit order")
    yield _invalid(stop and not c.stop_price, "M12", "stop_price is required for a stop order")
    yield _invalid(not stop and c.stop_price, "M12", "stop_price needs a stop order")
    ended = c.tif is TimeInForce.GOOD_TILL_TIME and (c.good_till or 0) <= NOW
    yield _invalid(ended, "M18", "good_till_time must be in the future")
    text = f"{both} are mutually exclusive"
    yield _invalid(c.best_limit and c.immediately_executable_limit, "M21", text)
    yield _invalid(derived and c.type is not T.LIMIT, "M21", f"{both} need a limit order")
    at_once = c.tif.name in ("IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
    text = (
        "participate_dont_initiate cannot be combined with"
        " IOC, FOK, all_or_none, min_qty and market orders"
    )
    must_trade = at_once or c.all_or_none or c.min_qty or market
    yield _invalid(c.post_only and must_trade, "M20", text)
    text = "ignore_price_validity_checks is for market-to-limit sells"
    unchecked = c.ignore_price_checks and not (market and c.side is Side.SELL)
    yield _invalid(unchecked, "M23", text)
    if c.cash_qty:
        text = "order_qty and cash_order_qty are mutually exclusive"
        yield _invalid(c.qty, "M24", text)
        text = "For cash_order_qty order_type must be MARKET_TO_LIMIT"
        fits = market or (c.type is T.LIMIT and "no cash limit" not in on)
        yield _invalid(not fits, "M24", text)


def _auction(c: PlaceOrder, state: InstrumentState) -> Iterator[Row]:
    names = {S.PREOPEN: "PRE_OPEN", S.MATCH_AND_CLOSE_AUCTION: "MATCH_AND_CLOSE_AUCTION"}
    at_once = (
        c.type is OrderType.MARKET_TO_LIMIT
        or c.tif.name in ("IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
        or any((c.all_or_none, c.min_qty, c.strict_limit, c.cash_qty))
        or any((c.best_limit, c.immediately_executable_limit))
    )
    text = f"Order has attributes that cannot be placed in {names.get(state)}"
    refused = state in names and at_once
    yield refused, "InstrumentNotTradable", "L18", text, RejectReason.EXCHANGE_CLOSED


def _price(c: PlaceOrder, i: Instrument) -> int:
    """Return the price of the order, which may derive from one side of the book."""
    best = _side(c) if c.best_limit else _other(c)
    if c.best_limit or c.immediately_executable_limit:
        return best[0][0] * i.price_scale // 100
    return c.price


def _side(c: PlaceOrder) -> tuple[Level, ...]:
    return BIDS if c.side is Side.BUY else OFFERS


def _other(c: PlaceOrder) -> tuple[Level, ...]:
    return OFFERS if c.side is Side.BUY else BIDS


def _band(c: PlaceOrder, i: Instrument, price: int, on: set[str]) -> Iterator[Row]:
    tick, value = _decimal(i.tick, i.price_scale), _decimal(price, i.price_scale)
    text = f"Price must be a multiple of {tick}, given {value}"
    yield _reject(price % i.tick, "M4", text, RejectReason.INVALID_PRICE_INCREMENT)
    retail = c.channel is Channel.RETAIL or "band" in on
    reason = RejectReason.PRICE_OUT_OF_BOUNDS if retail else RejectReason.EXCHANGE_OPTION
    for which, limit, beyond in (
        ("Low", i.price_low, price < i.price_low),
        ("High", i.price_high, price > i.price_high),
    ):
        text = f"{which} price limit is {_decimal(limit, i.price_scale)}, given {value}"
        yield _reject(beyond, "M5", text, reason)


def amounts(c: PlaceOrder, i: Instrument) -> tuple[int, int]:
    """Return the quantity and price of the order, which may depend on the book."""
    price = 0 if c.type is OrderType.STOP else _price(c, i)
    if c.type is OrderType.MARKET_TO_LIMIT:
        return bought(c, i, price) if c.cash_qty else (c.qty, last_price(c, i, price))
    return (bought(c, i, price)[0] if c.cash_qty else c.qty), price


def _amounts(c: PlaceOrder, i: Instrument, state: InstrumentState, on: set[str]) -> Iterator[Row]:
    market = c.type is OrderType.MARKET_TO_LIMIT
    if market and "reference" in on:
        yield _reject(True, "M11", "No reference price available for risk check")
    qty, price = amounts(c, i)
    text, reason = "CashOrderQty buys less than one unit", RejectReason.INCORRECT_QUANTITY
    yield _reject(c.cash_qty and price and not qty, "M24", text, reason)
    text, reason = "No liquidity for market order", RejectReason.NO_LIQUIDITY
    yield _reject(market and not price, "M10", text, reason)
    yield _lot_refusal(qty < i.min_qty or ("step" in on and qty % i.min_qty), i, qty)
    text = "Minimum quantity exceeds the order quantity"
    yield _reject(c.min_qty > qty, "M19", text, RejectReason.INCORRECT_QUANTITY)
    if not c.ignore_price_checks:
        yield from _sizes(i, qty, price or c.stop_price)
    too_much = qty >= QTY_HIGH
    yield too_much, "InsufficientFunds", "P4", "", RejectReason.EXCHANGE_OPTION
    if state is S.OPEN and c.type not in (OrderType.STOP, OrderType.STOP_LIMIT):
        yield from _resting(c, i, qty, price)


def _lot_refusal(applies: object, i: Instrument, qty: int) -> Row:
    low, value = _decimal(i.min_qty, i.qty_scale), _decimal(qty, i.qty_scale)
    text = f"Minimum trade quantity is {low}, given {value}"
    return _reject(applies, "M4", text, RejectReason.INCORRECT_QUANTITY)


def _sizes(i: Instrument, qty: int, price: int) -> Iterator[Row]:
    for name, value, scale, low, high in (
        ("order size", qty, i.qty_scale, i.size_low, i.size_high),
        (
            "total notional size",
            qty * price,
            i.qty_scale * i.price_scale,
            i.notional_low,
            i.notional_high,
        ),
    ):
        for which, limit, sign in (("Low", low, 1), ("High", high, -1)):
            if limit is not None:
                words = f"{_decimal(limit, scale)}, given {_decimal(value, scale)}"
                beyond = sign * value < sign * limit
                yield _reject(beyond, "M5", f"{which} {name} limit is {words}")


def _resting(c: PlaceOrder, i: Instrument, qty: int, price: int) -> Iterator[Row]:
    """Yield refusals because of resting orders: an own order, or any order if post-only."""
    chosen = c.smp or (SelfMatchPrevention.REJECT_AGGRESSOR if c.smp_id else c.smp)
    rejects = c.channel is Channel.RETAIL or chosen is SelfMatchPrevention.REJECT_AGGRESSOR
    before = 0
    for _, contracts, mine in _reached(c, i, price):
        if _may_meet(c, mine):
            before += contracts * _lot(i)
        else:
            rule = "M30" if c.channel is Channel.RETAIL else "M27"
            yield _reject(rejects and before < qty, rule, "Self Match Prevention")
    text = "Order may participate but not initiate in the market"
    yield _reject(c.post_only and list(_reached(c, i, price)), "M20", text)


def _reached(c: PlaceOrder, i: Instrument, price: int) -> Iterator[Level]:
    """Return the levels of the other side within a limit, best first; 0 means no limit."""
    for hundredths, contracts, mine in _other(c):
        at = hundredths * i.price_scale // 100
        if not price or (at <= price if c.side is Side.BUY else at >= price):
            yield at, contracts, mine


def _may_meet(c: PlaceOrder, mine: bool) -> bool:
    prevents = c.channel is Channel.RETAIL or c.smp_id == "same"
    return not (mine and prevents)


def last_price(c: PlaceOrder, i: Instrument, bound: int) -> int:
    """Return the price at which the last contract of a market order trades."""
    left, reached = c.qty, 0
    for at, contracts, mine in _reached(c, i, bound):
        if left > 0 and _may_meet(c, mine):
            reached, left = at, left - contracts * _lot(i)
    return reached


def bought(c: PlaceOrder, i: Instrument, limit: int) -> tuple[int, int]:
    """Return the units that an amount of cash trades level by level, and the last price."""
    money, units, reached = c.cash_qty * i.qty_scale, 0, 0
    for at, contracts, mine in _reached(c, i, limit):
        if not _may_meet(c, mine):
            continue
        each = at if c.side is Side.BUY else i.price_scale - at
        reached, fits = at, money // each
        units, money = (
            units + min(fits, contracts * _lot(i)),
            money - each * min(fits, contracts * _lot(i)),
        )
        if fits < contracts * _lot(i):
            break
    last = limit or reached
    if not last:
        return 0, 0
    return units + money // (last if c.side is Side.BUY else i.price_scale - last), reached


def _decimal(value: int, scale: int) -> str:
    return f"{value / scale:.9f}".rstrip("0").rstrip(".")


# ---- orders

DEVIATIONS: dict[str, tuple[Any, ...]] = {
    "side": (Side.SELL, Side.SELL, Side.UNDEFINED),
    "type": tuple(OrderType),
    "tif": tuple(TimeInForce),
    "qty": (-1, 0, 2, 3, 4, 9, 10, 14, 15, 19, 20, 35, 90, 91, 150, 1000, 1001),
    "huge": (QTY_HIGH, QTY_HIGH + 1),
    "price": (-1, 0, 1, 8, 9, 10, 44, 46, 51, 52, 54, 56, 90, 91, 92, 99, 100),
    "parts": (5, 450, 525, 990, 995, 997),
    "stop_price": (-1, 1, 9, 10, 46, 50, 51, 52, 90, 92, 990, 995),
    "min_qty": (-1, 1, 15, 16, 60, 61, QTY_HIGH, QTY_HIGH + 1),
    "cash_qty": (-1, 1, 44, 45, 46, 52, 54, 156, 157, 480, 1560, 9000),
    "all_or_none": (True,),
    "post_only": (True,),
    "strict_limit": (True,),
    "best_limit": (True,),
    "immediately_executable_limit": (True,),
    "ignore_price_checks": (True,),
    "smp_id": ("same", "other"),
    "smp": tuple(SelfMatchPrevention),
    "clord_id": ("taken-SELL", "free"),
    "good_till": (0, NOW, NOW + 1),
    "channel": (Channel.RETAIL, Channel.SCRIPT),
    "account": ("clearing", ""),
    "symbol": ("",),
}
SWITCHES = {
    "step": ("lot.step_is_min_qty", True),
    "no cash limit": ("cash_qty.allow_limit", False),
    "reference": ("risk.require_reference_price", True),
    "band": ("price_band.reject_reason", "PRICE_OUT_OF_BOUNDS"),
}


# Terms that interact: most rows test more than one of them.
THEMES: tuple[dict[str, tuple[Any, ...]], ...] = (
    {"channel": (Channel.RETAIL,), "price": (0, 9, 91, 92), "type": (OrderType.LIMIT,)},
    {"channel": (Channel.RETAIL,), "qty": (0,), "cash_qty": (0, 0, 156), "type": tuple(OrderType)},
    {
        "smp_id": ("same", "same", "other", ""),
        "smp": tuple(SelfMatchPrevention),
        "price": (44, 52, 54, 56),
        "qty": (15, 16, 60, 91, 150),
        "side": (Side.BUY, Side.SELL),
    },
    {
        "type": (OrderType.STOP, OrderType.STOP_LIMIT),
        "stop_price": (0, 9, 50, 52, 92),
        "price": (50, 52, 54),
        "side": (Side.BUY, Side.SELL),
        "smp_id": ("", "same"),
        "post_only": (False, True),
    },
    {
        "type": (OrderType.MARKET_TO_LIMIT,),
        "price": (0, 0, 44, 46, 52, 54),
        "side": (Side.BUY, Side.SELL),
        "smp_id": ("", "same"),
        "ignore_price_checks": (False, True),
        "qty": (3, 15, 60, 201, 1000),
    },
    {
        "cash_qty": (1, 44, 45, 46, 52, 54, 156, 157, 480, 1560, 9000),
        "type": (OrderType.MARKET_TO_LIMIT, OrderType.LIMIT),
        "side": (Side.BUY, Side.SELL),
        "qty": (0,),
        "smp_id": ("", "same"),
    },
    {"post_only": (True,), "price": (44, 51, 52, 54), "side": (Side.BUY, Side.SELL)},
    {"best_limit": (True, False), "immediately_executable_limit": (True, False), "price": (0,)},
    {"tif": (TimeInForce.GOOD_TILL_TIME,), "good_till": (None, NOW - 1, NOW, NOW + 1)},
    {"qty": (2, 3, 9, 10, 19, 20, 1000, 1001), "price": (10, 44, 90)},
)


def random_command(rng: Random, instrument: Instrument) -> PlaceOrder:
    """Return an acceptable order with the terms of a theme and up to three others changed."""
    terms: dict[str, Any] = {
        "symbol": "X",
        "account": "a",
        "participant": "a",
        "side": Side.BUY,
        "type": OrderType.LIMIT,
        "tif": TimeInForce.GOOD_TILL_CANCEL,
        "qty": 60,
        "price": 50,
    }
    parts = 0
    if rng.random() < 0.6:
        theme = rng.choice(THEMES)
        terms |= {name: rng.choice(values) for name, values in theme.items()}
    for name in rng.sample(sorted(DEVIATIONS), rng.choice((0, 0, 1, 2, 3))):
        value = rng.choice(DEVIATIONS[name])
        if name == "parts":
            parts = value
        else:
            terms["qty" if name == "huge" else name] = value
    if terms.get("cash_qty") and rng.randint(0, 4):
        terms["qty"] = 0
    if terms["type"] is OrderType.MARKET_TO_LIMIT and rng.randint(0, 1):
        terms["price"] = 0
    for name in ("price", "stop_price", "cash_qty"):
        if terms.get(name, 0) > 0:
            terms[name] *= instrument.price_scale // 100
    return PlaceOrder(**terms | ({"price": parts} if parts else {}))


def preview(market: Market, command: PlaceOrder) -> object:
    """Return the previewed order, or its refusal."""
    try:
        return market.trading.order_service.preview(command)
    except Refusal as error:
        text = "" if isinstance(error, InsufficientFunds) else error.message
        return type(error).__name__, error.rule, text, error.reason


@pytest.mark.parametrize("name", INSTRUMENTS)
@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_each_order_comes_back_with_the_first_row_that_applies(name: str, seed: int) -> None:
    rng, instrument = Random(seed), INSTRUMENTS[name]
    state = rng.choice(STATES)
    on = {rng.choice(sorted(SWITCHES))} if rng.randint(0, 1) else set()
    result = market(instrument, state)
    for switch in on:
        result.ctx.assumptions.change(*SWITCHES[switch])
    for _ in range(150):
        command = random_command(rng, instrument)
        expected = refusal(command, instrument, state, on)
        came = preview(result, command)
        if expected is None:
            assert isinstance(came, Order), (came, command)
            assert (came.qty, came.price) == amounts(command, instrument), command
            assert came.leaves_qty == came.qty
        else:
            assert came == expected, command
