"""Retail order entry against a rulebook written a second time: what each request is refused for,
and otherwise the order that its preview shows, field by field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import ROUND_DOWN, Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retail_world import FINE, WHOLE, RetailWorld, usd

from sim.kernel.instants import format_instant
from sim.run.client.client import Response
from tests.sessions import SESSIONS

UNLIMITED = """
name: entry
extends: quickstart
world: {games: 0}
limits: {retail: "off", public: "off"}
assumptions: {retail.preview_market: any}
"""
NARROW = "aec-test-narrow"
# By market: tick, lowest and highest price, and the step of a quantity, all in dollars or contracts.
TERMS = {
    WHOLE: ("0.01", "0.01", "0.99", "1"),
    FINE: ("0.005", "0.005", "0.995", "0.01"),
    NARROW: ("0.02", "0.20", "0.80", "0.1"),
}
MIDDLE, QTY_MAX = Decimal("0.5"), Decimal(10**12)
PREFIX = "TIME_IN_FORCE_"
DAY, GTC, GTD, IOC, FOK = (
    PREFIX + name
    for name in (
        *("DAY", "GOOD_TILL_CANCEL", "GOOD_TILL_DATE"),
        *("IMMEDIATE_OR_CANCEL", "FILL_OR_KILL"),
    )
)
INTENTS = {
    "BUY_LONG": ("YES", "BUY", "BUY"),
    "SELL_LONG": ("YES", "SELL", "SELL"),
    "BUY_SHORT": ("NO", "BUY", "SELL"),
    "SELL_SHORT": ("NO", "SELL", "BUY"),
}


@pytest.fixture(scope="module")
def retail() -> RetailWorld:
    """Offers of one step at every tick from the middle up, and bids at every tick below."""
    retail_world = RetailWorld(UNLIMITED)
    retail_world.operate(
        "instrument.create",
        "",
        symbol=NARROW,
        state="OPEN",
        tick_size="0.02",
        fractional_qty_scale=100,
        minimum_trade_qty=10,
        price_limit={"low": "0.2", "high": "0.8"},
    )
    for symbol, (tick, low, high, step) in TERMS.items():
        for number in range(math.ceil(Decimal(low) / Decimal(tick)), 10**6):
            price = number * Decimal(tick)
            if price > Decimal(high):
                break
            intent = "ORDER_INTENT_BUY_LONG" if price < MIDDLE else "ORDER_INTENT_BUY_SHORT"
            quantity = float(step)
            answer = retail_world.order(retail_world.bob, symbol, intent, str(price), quantity)
            assert answer.json()["executions"][0]["type"] == "EXECUTION_TYPE_NEW"
    return retail_world


# ---- the rulebook


def refusal(body: dict[str, Any], now: int) -> tuple[int, str] | None:
    """Status and beginning of the message; None for an order that is looked at."""
    return next((row[1:] for row in rows(body, now) if row[0]), None)


def rows(b: dict[str, Any], now: int) -> Iterator[tuple[bool, int, str]]:
    def bad(applies: object, text: str) -> tuple[bool, int, str]:
        return bool(applies), 400, text

    yield bad(b.get("maxBlockTime", 0) < 0, "maxBlockTime must not be negative")
    slug = b.get("marketSlug", "")
    yield bad(not slug, "marketSlug is required")
    yield slug not in TERMS, 404, f"unknown market: {slug}"
    market = b.get("type") in ("ORDER_TYPE_MARKET", 1)
    limit = b.get("type") in (None, "ORDER_TYPE_LIMIT", 0)
    yield bad(not market and not limit, "type must be ORDER_TYPE_LIMIT or ORDER_TYPE_MARKET")
    cash, quantity = b.get("cashOrderQty"), b.get("quantity")
    yield bad(cash is None and quantity is None, "quantity is required")
    yield bad(cash is None and quantity == 0, "quantity must be a number of contracts above zero")
    yield bad(cash is not None and quantity, "quantity and cashOrderQty are mutually exclusive")
    yield bad(cash is not None and not market, "cashOrderQty is for market orders")
    half = ("outcomeSide" in b) != ("action" in b)
    named = b.get("intent") is not None
    row = INTENTS.get(str(b.get("intent", "")).removeprefix("ORDER_INTENT_"))
    halves = [str(b[name]).split("_")[-1] for name in ("outcomeSide", "action") if name in b]
    yield bad(row and not {*halves} <= {*row[:2]}, "intent contradicts outcomeSide and action")
    yield bad(half and not named, "outcomeSide and action belong together")
    paired = "outcomeSide" in b and "action" in b
    yield bad(not paired and not named, "intent is required")
    yield bad(not paired and b.get("intent") == 9, "unknown intent 9")
    indicator = b.get("manualOrderIndicator")
    yield bad(indicator not in (None, 0, 1), f"unknown manualOrderIndicator {indicator}")
    tif = b.get("tif")
    yield bad(tif == 9, "unknown tif 9")
    at_once = market or tif in (IOC, FOK)
    text = "participateDontInitiate does not combine with an order that never rests"
    yield bad(b.get("participateDontInitiate") and at_once, text)
    yield from _prices(b, market)
    yield from _sizes(b)
    until = b.get("goodTillTime")
    yield bad(until is not None and until <= now, "goodTillTime must be in the future")
    text = "goodTillTime is required with TIME_IN_FORCE_GOOD_TILL_DATE"
    yield bad(not market and tif == GTD and until is None, text)


def _prices(b: dict[str, Any], market: bool) -> Iterator[tuple[bool, int, str]]:
    if not market:
        yield "price" not in b, 400, "price is required for a limit order"
        yield from _amount(b["price"], "price")
    elif (tolerance := b.get("slippageTolerance")) is not None:
        missing = "currentPrice" not in tolerance
        yield missing, 400, "slippageTolerance.currentPrice is required"
        negative = min(tolerance.get("ticks", 0), tolerance.get("bips", 0)) < 0
        yield negative, 400, "slippageTolerance: ticks and bips must not be negative"
        yield from _amount(tolerance["currentPrice"], "slippageTolerance.currentPrice")


def _amount(amount: dict[str, str], field: str) -> Iterator[tuple[bool, int, str]]:
    foreign = amount.get("currency", "USD") not in ("USD", "")
    yield foreign, 400, f"{field}.currency must be USD"
    value = amount["value"]
    plain = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value)
    yield not plain, 400, f"{field}.value: "
    beyond = plain and (value.startswith("-") or Decimal(value) > 10**7)
    yield beyond, 400, f"{field}.value is out of range: {value}"


def _sizes(b: dict[str, Any]) -> Iterator[tuple[bool, int, str]]:
    quantity = b.get("quantity")
    if quantity is not None:
        text = "quantity must be a number of contracts above zero"
        yield quantity < 0, 400, text
        scale = 1 if b["marketSlug"] == WHOLE else 100
        beyond = Decimal(repr(quantity)) * scale > QTY_MAX
        yield beyond, 400, f"quantity is out of range: {quantity!r}"
    if "cashOrderQty" in b:
        yield from _amount(b["cashOrderQty"], "cashOrderQty")


def floor(value: Decimal, step: str) -> Decimal:
    """A number cut down to a multiple of a step."""
    return (value / Decimal(step)).to_integral_value(ROUND_DOWN) * Decimal(step)


def view(b: dict[str, Any], now: int) -> dict[str, Any]:
    """Fields of the order that a request asks for, as its preview shows them."""
    tick, _, _, step = TERMS[b["marketSlug"]]
    market = b.get("type") in ("ORDER_TYPE_MARKET", 1)
    tif = b.get("tif") or DAY
    if market:
        tif = FOK if tif == FOK else IOC
    intent = str(b.get("intent", "")).removeprefix("ORDER_INTENT_")
    if "outcomeSide" in b and "action" in b:
        pair = tuple(b[name].split("_")[-1] for name in ("outcomeSide", "action"))
        intent = next(name for name, row in INTENTS.items() if row[:2] == pair)
    outcome, action, side = INTENTS[intent]
    result: dict[str, Any] = {
        "side": f"ORDER_SIDE_{side}",
        "type": "ORDER_TYPE_MARKET" if market else "ORDER_TYPE_LIMIT",
        "tif": tif,
        "intent": f"ORDER_INTENT_{intent}",
        "outcomeSide": f"OUTCOME_SIDE_{outcome}",
        "action": f"ORDER_ACTION_{action}",
        "manualOrderIndicator": INDICATORS[b.get("manualOrderIndicator") or 0],
        "goodTillTime": format_instant(b["goodTillTime"]) if tif == GTD else None,
        "createTime": format_instant(now),
        "marketSlug": b["marketSlug"],
        "id": "",
    }
    if not market:
        quantity = Decimal(repr(b["quantity"]))
        smallest = "1" if b["marketSlug"] == WHOLE else "0.01"
        units = floor(quantity, step) or floor(quantity, smallest)
        result["quantity"] = units
        sent = b["price"]["value"]
        price = floor(Decimal(sent), tick)
        if side == "SELL" and price != Decimal(sent):
            price += Decimal(tick)
        result["price"] = sent if Decimal(sent) == price else two_places(price)
    return result


def two_places(price: Decimal) -> str:
    """Decimal text with at least two places."""
    text = f"{price.normalize():f}"
    total, _, rest = text.partition(".")
    return f"{total}.{rest.ljust(2, '0')}"


def bound(b: dict[str, Any]) -> Decimal | None:
    """The worst price at which a market order may trade."""
    tick, low, high, _ = (Decimal(text) for text in TERMS[b["marketSlug"]])
    tolerance = b.get("slippageTolerance")
    if tolerance is None:
        return None
    unit = Decimal("0.001") if b["marketSlug"] == FINE else Decimal("0.01")
    current = floor(Decimal(tolerance["currentPrice"]["value"]), str(unit))
    room = tolerance.get("ticks", 0) * tick
    if not room:
        room = floor(current * tolerance.get("bips", 0) / 10_000, str(unit))
    if view(b, 0)["side"] == "ORDER_SIDE_BUY":
        above: Decimal = (current + room) // tick * tick
        return min(max(above, low), high)
    below: Decimal = math.ceil((current - room) / tick) * tick
    return max(min(below, high), low)


# ---- requests

INDICATORS = ("MANUAL_ORDER_INDICATOR_MANUAL", "MANUAL_ORDER_INDICATOR_AUTOMATIC")
PRICES = ("0.5", "0.50", "0.505", "0.499", "0.009", "0", "0.0", "1", "00.52", "0.58000")
BAD_AMOUNTS = ("-0.5", "-0", ".56", "half", "", "10000000", "10000000.01", "1e3")
QUANTITIES = (-1, 0, 0.0, 0.5, 0.05, 0.004, 1, 2.5, 3.14, 10, 12.999, 10**10, 10**10 + 1, 10**12)
MORE_QUANTITIES = (10**12 + 1, 1e13)


def random_body(rng: Random, now: int) -> dict[str, Any]:
    """A request that is taken, but for up to four fields."""
    body: dict[str, Any] = {
        "marketSlug": rng.choice(tuple(TERMS)),
        "type": "ORDER_TYPE_LIMIT",
        "intent": f"ORDER_INTENT_{rng.choice(tuple(INTENTS))}",
        "price": usd(rng.choice(PRICES)),
        "quantity": rng.choice((1, 2.5, 3.14, 12.999)),
        "tif": rng.choice((DAY, GTC, GTC, IOC, FOK, GTD)),
    }
    if body["tif"] == GTD:
        body["goodTillTime"] = now + 10**9
    if rng.random() < 0.4:
        body["type"] = rng.choice(("ORDER_TYPE_MARKET", 1))
        if rng.random() < 0.8:
            body["slippageTolerance"] = _tolerance(rng)
    for _ in range(rng.randint(0, 3)):
        rng.choice(CHANGES)(rng, body, now)
    return body


def _tolerance(rng: Random) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if rng.random() < 0.95:
        result["currentPrice"] = _random_amount(
            rng, ("0.5", "0.517", "0.02", "0.97", "0.68", "0.333")
        )
    for name, values in (("ticks", (0, 1, 3, 60, -1)), ("bips", (0, 1, 150, 1999, -1))):
        if rng.random() < 0.6:
            result[name] = rng.choice(values)
    return result


def _random_amount(rng: Random, good: tuple[str, ...] = PRICES) -> dict[str, str]:
    value = rng.choice(good if rng.random() < 0.9 else BAD_AMOUNTS)
    if rng.random() < 0.8:
        return usd(value)
    return {"value": value, "currency": "EUR"} if rng.random() < 0.3 else {"value": value}


def _set(name: str, *values: Any) -> Any:
    def change(rng: Random, body: dict[str, Any], now: int) -> None:
        body[name] = rng.choice(values)

    return change


def _drop(*names: str) -> Any:
    def change(rng: Random, body: dict[str, Any], now: int) -> None:
        body.pop(rng.choice(names), None)

    return change


def _price(rng: Random, body: dict[str, Any], now: int) -> None:
    body["price"] = _random_amount(rng)


def _cash(rng: Random, body: dict[str, Any], now: int) -> None:
    body["cashOrderQty"] = _random_amount(rng, ("1", "0.75", "20"))
    if rng.random() < 0.8:
        body.pop("quantity", None)
    elif rng.random() < 0.5:
        body["quantity"] = 0


def _until(rng: Random, body: dict[str, Any], now: int) -> None:
    body["tif"] = rng.choice((GTD, GTD, GTC))
    body["goodTillTime"] = rng.choice((now - 1, now, now + 1))


def _pair(rng: Random, body: dict[str, Any], now: int) -> None:
    """One half of the pair, both or none, mostly without an intent."""
    if rng.random() < 0.7:
        body.pop("intent", None)
    if rng.random() < 0.7:
        body["outcomeSide"] = f"OUTCOME_SIDE_{rng.choice(('YES', 'NO'))}"
    if rng.random() < 0.7:
        body["action"] = f"ORDER_ACTION_{rng.choice(('BUY', 'SELL'))}"


CHANGES = (
    _set("marketSlug", "", "aec-nobody"),
    _set("type", "ORDER_TYPE_LIMIT", 0, 1, 7),
    _set("quantity", *QUANTITIES),
    _set("quantity", *QUANTITIES, *MORE_QUANTITIES),
    _set("tif", DAY, GTC, GTD, IOC, FOK, 9),
    _set("intent", 9),
    _set("outcomeSide", "OUTCOME_SIDE_YES", "OUTCOME_SIDE_NO"),
    _set("action", "ORDER_ACTION_BUY", "ORDER_ACTION_SELL"),
    _set("manualOrderIndicator", 0, 1, 2),
    _set("participateDontInitiate", True),
    _set("maxBlockTime", -1, 0, 5),
    _drop("intent", "quantity", "price", "type", "tif", "marketSlug", "goodTillTime"),
    _price,
    _cash,
    _until,
    _pair,
    _pair,
)


def preview(retail: RetailWorld, body: dict[str, Any]) -> Response:
    sent = dict(body)
    if "goodTillTime" in sent:
        sent["goodTillTime"] = format_instant(sent["goodTillTime"])
    return retail.ann.post("/v1/order/preview", json={"request": sent})


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_each_request_is_refused_for_its_first_mistake_or_shows_its_order(
    retail: RetailWorld, seed: int
) -> None:
    rng, now = Random(seed), retail.now
    for _ in range(40):
        body = random_body(rng, now)
        expected, answer = refusal(body, now), preview(retail, body)
        if expected is not None:
            assert answer.status == expected[0], (body, answer)
            assert answer.json()["message"].startswith(expected[1]), (body, answer)
            continue
        assert answer.status == 200, (body, answer)
        order, fields = answer.json()["order"], view(body, now)
        order["price"] = (order["price"] or {}).get("value")
        order["quantity"] = Decimal(repr(order["quantity"]))
        assert {name: order[name] for name in fields} == fields, body


@pytest.mark.parametrize("symbol", TERMS)
@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_a_market_order_reaches_exactly_its_bound(
    retail: RetailWorld, symbol: str, seed: int
) -> None:
    """A quantity that no book has trades until the bound, where a preview says it would end."""
    rng = Random(seed)
    tick, low, high, _ = TERMS[symbol]
    for _ in range(8):
        body = {
            "marketSlug": symbol,
            "type": "ORDER_TYPE_MARKET",
            "intent": f"ORDER_INTENT_{rng.choice(tuple(INTENTS))}",
            "quantity": 500,
            "tif": rng.choice((IOC, GTC)),
        }
        if tolerance := {} if rng.random() < 0.1 else _tolerance(rng):
            body["slippageTolerance"] = tolerance
        if refusal(body, retail.now) is not None:
            continue
        order = preview(retail, body).json()["order"]
        buys = order["side"] == "ORDER_SIDE_BUY"
        end = bound(body)
        if end is None:
            end = floor(Decimal(high), tick) if buys else Decimal(low)
        if end >= MIDDLE if buys else end < MIDDLE:
            assert order["state"] == "ORDER_STATE_PENDING_NEW", (body, order)
            assert Decimal(order["price"]["value"]) == end, (body, order)
        else:
            assert order["state"] == "ORDER_STATE_REJECTED", (body, order)
