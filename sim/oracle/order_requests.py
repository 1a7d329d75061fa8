"""What a request asks for, as an order without the price and quantity that the book decides.

Realises rules M3, M13, M14, M24, M30, §2.8; the tables of requests in the contract. What cannot be
read, or asks for nothing that can be an order, is the first check of rule M2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from re import fullmatch
from typing import NamedTuple

from sim.kernel.instants import parse_instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import (
    BUY,
    DAY,
    EXCHANGE,
    FOK,
    GTC,
    GTT,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    RETAIL,
    SELL,
    STOP_LIMIT,
    Document,
    Market,
    NaiveOrder,
)

QTY_MAX = 10**12  # the most units of a quantity that the exchange counts (rule T3)
DOLLARS_MAX = 10**7  # the most of a price or an amount in a retail request
_PAIRS = parse_instant("2026-04-09T04:00:00Z")  # when outcomes with actions began (§9)
_DECIMAL = r"[0-9]+(\.[0-9]+)?"
RETAIL_TIFS = (DAY, GTC, GTT, IOC, FOK)
# Side of the YES instrument by intent, and intent by outcome and action.
INTENT_SIDES = (BUY, SELL, SELL, BUY)
INTENT_OF_PAIR = {(1, 1): 0, (1, 2): 1, (2, 1): 2, (2, 2): 3}


class OrderCaller(NamedTuple):
    """For whom a call asks: a participant and its account; both "" if the law cannot tell."""

    participant: str = ""
    account: str = ""


class OrderRefusal(NamedTuple):
    """Why an order is refused. `rule` may also be one of `others`, which state the same thing.

    | kind | HTTP status, gRPC code (§7.1) |
    |---|---|
    | invalid | 400, 3 |
    | forbidden | 403, 7 |
    | unknown | 404, 5 |
    | duplicate | 409, 6 |
    | done | 409, 9 |
    | refused | 422, 9 |
    """

    rule: str
    kind: str = "refused"
    reason: int = 0
    others: tuple[str, ...] = ()
    text: str = ""

    @property
    def answer(self) -> tuple[int, int]:
        """HTTP status and gRPC code."""
        return ANSWERS[self.kind]


ANSWERS = {
    "invalid": (400, 3),
    "forbidden": (403, 7),
    "unknown": (404, 5),
    "duplicate": (409, 6),
    "done": (409, 9),
    "refused": (422, 9),
}


def invalid(rule: str) -> OrderRefusal:
    """Return the refusal of a request that is malformed, or contradicts itself (§7.1)."""
    return OrderRefusal(rule, "invalid", others=("M2", "S7.1-1", "S2.8-2"))


@dataclass(slots=True)
class OrderRequest:
    """An order that somebody asked for, and what is wrong with the request itself, if anything.

    `cut` is that a retail price or quantity is nothing after it was cut to the market's steps.
    """

    order: NaiveOrder
    problem: OrderRefusal | None = None
    cut: bool = False
    synchronous: bool = False
    extra: Document = field(default_factory=dict)  # other fields that its reports have


# ---- the exchange API

_NAMES = {
    "order_qty": "qty",
    "time_in_force": "tif",
    "cash_order_qty": "cash_qty",
    "participate_dont_initiate": "post_only",
    "good_till_time": "good_till",
    "self_match_prevention_id": "smp_id",
    "self_match_prevention_instruction": "smp",
    "ignore_price_validity_checks": "ignore_price_checks",
}
_SAME = (
    *("type", "side", "symbol", "price", "clord_id", "account", "stop_price", "min_qty"),
    *("all_or_none", "strict_limit", "best_limit", "immediately_executable_limit", "session_id"),
)
_EXTRA = ("client_account_id", "client_participant_id", "order_capacity", "manual_indicator")


def exchange_request(message: Document, participant: str, account: str) -> OrderRequest:
    """Return what a message InsertOrderRequest asks for. Without a time in force it is
    DAY (rule M14); an own order is reason to reject it if it names a prevention id (rule M27)."""
    terms = {name: message[name] for name in _SAME if name in message}
    terms |= {name: message[key] for key, name in _NAMES.items() if key in message}
    order = NaiveOrder(id="", participant=participant, channel=EXCHANGE, **terms)
    order.account = order.account or account
    order.tif = order.tif or DAY
    order.smp = order.smp or int(bool(order.smp_id))
    order.leaves_qty = order.qty
    message = {**message, "manual_indicator": message.get("manual_order_indicator", 0)}
    return OrderRequest(order, extra={name: message.get(name) or 0 for name in _EXTRA})


_VENDOR_NEEDS = (
    *("type", "time_in_force", "side", "symbol", "price", "clord_id", "account"),
    "manual_order_indicator",
)


def vendor_problem(message: Document) -> OrderRefusal | None:
    """Return what is wrong with a partner's order, if anything (rule M25)."""
    order, fee = message["order"] or {}, message["vendor_fee"]
    populated = {name for name, value in order.items() if value}
    quantities = populated & {"order_qty", "cash_order_qty"}
    terms = order.get("type") == LIMIT and order.get("time_in_force") == FOK
    identifier = fullmatch(r"[!-~]{1,64}", order.get("clord_id", ""))
    if populated - quantities != set(_VENDOR_NEEDS) or len(quantities) != 1 or not terms:
        return OrderRefusal("M25", "invalid", others=("M2", "P25"))
    key = 1 <= len(message["idempotency_key"]) <= 128
    if not identifier or not key or not fee or order["price"] < 0:
        return OrderRefusal("M25", "invalid", others=("M2", "P25"))
    return None


def shape(order: NaiveOrder, price_scale: int) -> Iterator[OrderRefusal]:
    """Yield what is missing or out of range, whatever the market is (rules M2, T3)."""
    for name in ("side", "type", "symbol", "account"):
        if not getattr(order, name):
            yield invalid("M2")
    if not (order.side in (BUY, SELL) and order.type <= STOP_LIMIT and 0 <= order.tif <= FOK):
        yield invalid("M2")
    if min(order.qty, order.price, order.stop_price, order.min_qty, order.cash_qty) < 0:
        yield invalid("M2")
    if max(order.qty, order.min_qty) > QTY_MAX:
        yield invalid("T3")
    if order.channel != RETAIL and not order.qty and not order.cash_qty:
        yield invalid("M2")
    if order.cash_qty > 40_000_000_000 * price_scale:
        yield invalid("T3")


# ---- the retail API


def retail_request(
    exchange: NaiveExchange, message: Document, market: Market | None, caller: OrderCaller
) -> OrderRequest:
    """Return what a message CreateOrderRequest asks for (§2.8, rules M13, M24, M30)."""
    market_type = message.get("type") == 1
    order = _retail_order(message, caller)
    order.type = MARKET_TO_LIMIT if market_type else LIMIT
    request = OrderRequest(order, synchronous=message.get("synchronous_execution", False))
    if exchange.now < _PAIRS:
        message = {**message, "outcome_side": 0, "action": 0}
    request.problem = next(_retail_problems(exchange, message, market), None)
    if market is None or request.problem:
        return request
    pair = message["outcome_side"], message["action"]
    intent = INTENT_OF_PAIR.get(pair, message.get("intent"))
    request.extra = {"intent": (intent or 0) + 1, "manual_indicator": _indicator(message)}
    order.side = INTENT_SIDES[intent or 0]
    order.tif = RETAIL_TIFS[message.get("tif") or 0]
    order.post_only = message["participate_dont_initiate"]
    if market_type:
        order.tif = FOK if order.tif == FOK else IOC
        order.price = slippage_limit(message.get("slippage_tolerance"), market, order)
    else:
        order.price = limit_price(exchange, message, market, order.side)
        request.cut = not order.price
    if message.get("cash_order_qty") is not None:
        order.cash_qty = floor(_dollars(message["cash_order_qty"]) * market.price_scale)
        request.cut = request.cut or not order.cash_qty
    else:
        units = _decimal(message["quantity"]) * market.qty_scale
        order.qty = cut(units, market.terms["min_qty"]) or floor(units)
    if order.tif == GTT:
        order.good_till = message["good_till_time"]
    order.leaves_qty = order.qty
    return request


def closing_request(
    exchange: NaiveExchange, message: Document, market: Market | None, caller: OrderCaller
) -> OrderRequest:
    """Return the market order that closes a position: the other side, its quantity."""
    order = _retail_order(message, caller)
    order.type, order.tif = MARKET_TO_LIMIT, IOC
    request = OrderRequest(order, synchronous=message["synchronous_execution"])
    if market is None:
        request.problem = OrderRefusal("M2", "unknown") if order.symbol else invalid("M2")
        return request
    if _is_bad_tolerance(message):
        request.problem = invalid("M13")
        return request
    net = exchange.position(order.account, order.symbol).net
    order.side, order.qty, order.leaves_qty = SELL if net > 0 else BUY, abs(net), abs(net)
    order.price = slippage_limit(message.get("slippage_tolerance"), market, order)
    if not net:
        request.problem = OrderRefusal("S7.1-4", "unknown")
    request.extra = {"intent": 2 if net > 0 else 4, "manual_indicator": _indicator(message)}
    return request


def _indicator(message: Document) -> int:
    """Return the manual order indicator in numbers of the exchange, 0 without any."""
    indicator = message.get("manual_order_indicator")
    return 0 if indicator is None else int(indicator) + 1


def _retail_order(message: Document, caller: OrderCaller) -> NaiveOrder:
    """Return the order of a retail key, which never trades with its own account (rule M30)."""
    order = NaiveOrder("", message["market_slug"], caller.account, caller.participant)
    order.channel, order.smp_id, order.smp = RETAIL, order.account, 1
    return order


def _retail_problems(
    exchange: NaiveExchange, message: Document, market: Market | None
) -> Iterator[OrderRefusal]:
    """Yield what is wrong with a retail request, in the order of the checks (rule M2)."""
    market_type, limit = message.get("type") == 1, not message.get("type")
    cash, quantity = message.get("cash_order_qty"), message.get("quantity")
    if message["max_block_time"] < 0 or not message["market_slug"]:
        yield invalid("M2")
    if market is None:
        yield OrderRefusal("M2", "unknown")
        return
    if not market_type and not limit:
        yield invalid("M2")
    if (cash is None and not quantity) or (cash is not None and (quantity or not market_type)):
        yield invalid("M24")
    paired = message["outcome_side"] and message["action"]
    if not paired and message.get("intent") not in (0, 1, 2, 3):
        yield invalid("S2.8-2")
    if _contradicts(message):
        yield invalid("S2.8-2")
    if message.get("manual_order_indicator") not in (None, 0, 1):
        yield invalid("M2")
    if message.get("tif") not in (None, 0, 1, 2, 3, 4):
        yield invalid("M2")
    at_once = market_type or message.get("tif") in (3, 4)
    if message["participate_dont_initiate"] and at_once:
        yield invalid("M20")
    if market_type and _is_bad_tolerance(message):
        yield invalid("M13")
    if limit and (message.get("price") is None or _amount_problem(message["price"])):
        yield invalid("M9")
    elif limit and _is_refused(exchange, message["price"], market):
        yield invalid("M4")
    if quantity is not None and (quantity < 0 or _decimal(quantity) * market.qty_scale > QTY_MAX):
        yield invalid("T3")
    if cash is not None and _amount_problem(cash):
        yield invalid("M24")
    until = message.get("good_till_time")
    if (limit and message.get("tif") == 2) if until is None else until <= exchange.now:
        yield invalid("M18")


def _is_bad_tolerance(message: Document) -> bool:
    """Return whether a market order cannot be held to the tolerance that it names (rule M13)."""
    tolerance = message.get("slippage_tolerance")
    if tolerance is None:
        return False
    reference = tolerance["current_price"]
    negative = min(tolerance["ticks"], tolerance["bips"]) < 0
    return reference is None or negative or _amount_problem(reference)


def _contradicts(message: Document) -> bool:
    """Return whether an intent and a half of a pair that is sent with it mean different things."""
    halves = message["outcome_side"], message["action"]
    meant = [pair for pair, intent in INTENT_OF_PAIR.items() if intent == message.get("intent")]
    if not meant or any(half not in (0, 1, 2) for half in halves):
        return False
    return any(half not in (0, part) for half, part in zip(halves, meant[0], strict=True))


def change_problem(
    exchange: NaiveExchange, message: Document, market: Market | None
) -> OrderRefusal | None:
    """Return what is wrong with a retail request to cancel or change an order, if anything."""
    if not message["order_id"] or not message["market_slug"]:
        return invalid("M34")
    if market is None:
        return OrderRefusal("M2", "unknown")
    price, quantity = message.get("price"), message.get("quantity")
    if (price and _amount_problem(price)) or (quantity or 0) < 0:
        return invalid("M31")
    if _decimal(quantity or 0) * market.qty_scale > QTY_MAX:
        return invalid("T3")
    if message.get("tif") not in (None, 0, 1, 2, 3, 4):
        return invalid("M2")
    until = message.get("good_till_time")
    if until is not None and until <= exchange.now:
        return invalid("M18")
    if price and _is_refused(exchange, price, market):
        return invalid("M4")
    if "quantity" in message and 0 in _steps(change_terms(exchange, message, market)):
        return invalid("M31")
    return None


def _steps(terms: Document) -> list[int]:
    return [terms[name] for name in ("price", "qty") if name in terms]


def change_terms(exchange: NaiveExchange, message: Document, market: Market) -> Document:
    """Return what a retail request changes, with the names of an order (rule M33)."""
    named: Document = {"good_till": message["good_till_time"]}
    named["post_only"] = message["participate_dont_initiate"]
    if message["price"]:
        order = exchange.orders.get(message["order_id"])
        side = BUY if order is None else order.side
        named["price"] = limit_price(exchange, message, market, side)
    if message["quantity"] is not None:
        units = _decimal(message["quantity"]) * market.qty_scale
        named["qty"] = cut(units, market.terms["min_qty"]) or floor(units)
    if message["tif"] is not None:
        named["tif"] = RETAIL_TIFS[message["tif"]]
    return named


def _amount_problem(amount: Document) -> bool:
    value, currency = amount["value"], amount.get("currency", "")
    return (
        currency not in ("", "USD")
        or not fullmatch(_DECIMAL, value)
        or Fraction(value) > DOLLARS_MAX
    )


def slippage_limit(tolerance: Document | None, market: Market, order: NaiveOrder) -> int:
    """Return the worst price of a market order, 0 without any (rule M13: ticks beat bips).

    It is a whole tick in the band, the nearest that is no worse than the tolerance.
    """
    if tolerance is None:
        return 0
    tick = market.terms["tick"]
    current = floor(_dollars(tolerance["current_price"]) * market.price_scale)
    room = tolerance["ticks"] * tick or current * tolerance["bips"] // 10_000
    price = Fraction(current + order.sign * room, tick)
    limit: int = (floor(price) if order.side == BUY else ceil(price)) * tick
    low, high = int(market.terms["price_low"]), int(market.terms["price_high"])
    return min(max(limit, low), high)


def limit_price(exchange: NaiveExchange, message: Document, market: Market, side: int) -> int:
    """Return a limit at the tick, which is never worse for the client than what it sent (§4.2)."""
    price, tick = _dollars(message["price"]) * market.price_scale, int(market.terms["tick"])
    up = side == SELL and exchange.assumed("retail.off_tick") == "in_favour"
    return ceil(price / tick) * tick if up else cut(price, tick)


def _is_refused(exchange: NaiveExchange, amount: Document, market: Market) -> bool:
    """Return whether a price is off the tick where that is refused (rule M4)."""
    steps = _dollars(amount) * market.price_scale / market.terms["tick"]
    return steps.denominator != 1 and bool(exchange.assumed("retail.off_tick") == "refuse")


def cut(units: Fraction, step: int) -> int:
    """Cut a price or quantity down to whole steps: extra precision is normalised (§4.2)."""
    return floor(units / step) * step


def _dollars(amount: Document | None) -> Fraction:
    """Return an amount; 0 for none, and for one that is refused (`_amount_problem`)."""
    value = amount["value"] if amount else ""
    return Fraction(value) if fullmatch(_DECIMAL, value) else Fraction(0)


def _decimal(number: float) -> Fraction:
    """Return a JSON number as the decimal that it was written as."""
    return Fraction(repr(number))
