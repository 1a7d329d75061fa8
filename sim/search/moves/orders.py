"""Orders of scripted participants, partners and retail users, and faults: one by one.

Everything drawn is plain JSON, in the form that a scenario or a client writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sim.core.service.fault_spec import CALLS, ENGINE, KINDS
from sim.core.service.json_patch import READY
from sim.kernel.entropy import Choices
from sim.kernel.instants import NS_PER_S, days, format_instant, minutes
from sim.search.moves.view import (
    LIMIT,
    SCRIPTED,
    SIDES,
    Act,
    Document,
    Steps,
    Terms,
    View,
    call,
    self_match_prevention,
)

MARKET_TO_LIMIT = "ORDER_TYPE_MARKET_TO_LIMIT"
INTENTS = ("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT")
RETAIL_TIFS = ("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")
EXCHANGE_TIFS = (*RETAIL_TIFS, "FILL_OR_KILL")
EXTRAS: tuple[Document, ...] = (
    *({}, {}, {}, {"participateDontInitiate": True}, {"minQty": "2"}),
    *({flag: True} for flag in ("allOrNone", "strictLimit", "bestLimit")),
)
PROBABILITIES = tuple({"probability": odds} for odds in ("always", "1/3", "1/20"))
_CLIENT_IDS = 4  # so few that a cancel or a replace finds an order

PriceRule: TypeAlias = Callable[[Terms, Choices], int]


# ---- documents


def scripted_order(
    choices: Choices,
    terms: Terms,
    participants: Sequence[str] = SCRIPTED,
    most: int = 200,
    price: PriceRule = Terms.price,
) -> Document:
    """Return the `order` of a scenario's step, which is also a body of POST /_sim/v1/orders."""
    order: Document = {
        "as": choices.choice(participants),
        "symbol": terms.symbol,
        "side": choices.choice(("buy", "sell")),
        "price": terms.dollars(price(terms, choices)),
        "qty": terms.contracts(choices.log_between(terms.minimum, max(terms.minimum, most))),
        "tif": choices.choice(("gtc", "gtc", "day", "ioc", "fok")),
    }
    if choices.chance(1, 10):
        order["post_only"] = True
    return order


def exchange_order(
    choices: Choices,
    terms: Terms,
    *,
    types: Sequence[str] = (*(LIMIT,) * 5, MARKET_TO_LIMIT),
    extras: Sequence[Document] = EXTRAS,
    most: int = 5_000,
    price: PriceRule = Terms.price,
) -> Document:
    """Return a body of POST /v1/trading/orders."""
    body: Document = {
        "type": choices.choice(types),
        "side": choices.choice(SIDES),
        "symbol": terms.symbol,
        "orderQty": str(choices.log_between(terms.minimum, max(terms.minimum, most))),
        "timeInForce": f"TIME_IN_FORCE_{choices.choice(EXCHANGE_TIFS)}",
    }
    if body["type"] == LIMIT:
        body["price"] = str(price(terms, choices))
    return {**body, **choices.choice(extras)}


def retail_order(
    choices: Choices,
    terms: Terms,
    intents: Sequence[str] = INTENTS,
    most: int = 100,
    price: PriceRule = Terms.price,
) -> Document:
    """Return a body of POST /v1/orders on the retail API, with whole contracts."""
    least = -(-terms.minimum // terms.qty_scale)
    return {
        "marketSlug": terms.symbol,
        "intent": f"ORDER_INTENT_{choices.choice(intents)}",
        "type": LIMIT,
        "price": {"value": terms.dollars(price(terms, choices)), "currency": "USD"},
        "quantity": choices.log_between(least, max(least, most)),
        "tif": f"TIME_IN_FORCE_{choices.choice(RETAIL_TIFS)}",
    }


def fault(
    choices: Choices,
    planes: Sequence[str] = (),
    operations: Sequence[str] = (),
    matches: Sequence[Document] = PROBABILITIES,
) -> Document:
    """Return a fault of any kind, on one of these planes and operations: an entry of `faults`.

    `matches` are the conditions to choose from; no `planes` means all of them.
    """
    kinds = [kind for kind in KINDS if not planes or set(planes) & set(kind.planes)]
    kind = choices.choice([kind for kind in kinds if kind.name != "code"])
    plane = choices.choice([plane for plane in kind.planes if not planes or plane in planes])
    value: Any = {
        "status": choices.choice((429, 500, 503, 504)),
        "delay": choices.choice(("1ms", "2s", "6s")),
        "timestamp": choices.choice(("-10m", "-6m", "1h")),
        "patch": choices.choice(tuple(READY)),
    }.get(kind.name, True)
    match: Document = {"plane": plane, **choices.choice(matches)}
    if operations:
        match["operation"] = choices.choice(operations)
    elif plane == "engine":
        match["operation"] = choices.choice(ENGINE)
    act: Document = {kind.name: value}
    if kind.name == "status" and plane in CALLS and choices.chance(1, 2):
        act["handled"] = True
    return {"match": match, "act": act, "times": choices.between(1, 20), "ttl": "1h"}


# ---- moves of one step


def by_script(choices: Choices, view: View) -> Steps:
    """Place an order of a scripted participant, sometimes as a stop."""
    order = scripted_order(choices, view.market(choices))
    if choices.chance(1, 12):
        order |= {"type": "stop", "stop_price": order["price"]}
    yield Act("order.place", "", order)


def by_partner(choices: Choices, view: View) -> Steps:
    """Place a partner's order that is likely to trade, sometimes of a rarely used kind."""
    body = exchange_order(choices, view.market(choices))
    body["clordId"] = f"order-{choices.below(40)}"
    if choices.chance(1, 4):
        body |= _rare(choices, view, body.get("price", "50"))
    if choices.chance(1, 5):
        body |= self_match_prevention(choices)
    yield call(choices, "OrderEntryAPI.InsertOrder", body, view.user(choices).name)


def by_retail(choices: Choices, view: View) -> Steps:
    """Place a retail order that is likely to trade."""
    body = retail_order(choices, view.market(choices))
    if choices.chance(1, 4):
        body["synchronousExecution"] = True
    yield call(choices, "RetailOrdersAPI.CreateOrder", body, choices.choice(view.keys))


def change(choices: Choices, view: View) -> Steps:
    """Place, replace or cancel an order by one of few client order ids."""
    terms, name = view.market(choices), f"order-{choices.below(_CLIENT_IDS)}"
    qty = choices.log_between(1, 5_000)
    price = str(terms.near_middle(choices))
    tif = f"TIME_IN_FORCE_{choices.choice(EXCHANGE_TIFS)}"
    operation = choices.choice(("InsertOrder", "CancelReplaceOrder", "CancelOrder"))
    body: Document = {"symbol": terms.symbol, "clordId": name}
    if operation == "CancelReplaceOrder":
        body |= {"price": price, "orderQty": str(qty)}
    elif operation == "InsertOrder":
        side = choices.choice(SIDES)
        body = terms.limit_order(side, price, qty, timeInForce=tif, clordId=name)
    yield call(choices, f"OrderEntryAPI.{operation}", body, view.user(choices).name)


def cancel(choices: Choices, view: View) -> Steps:
    """Cancel all orders of a participant."""
    names = (*SCRIPTED, *(user.name for user in view.users))
    yield Act("order.cancel", "", {"as": choices.choice(names), "all": True})


def cancel_retail(choices: Choices, view: View) -> Steps:
    """Cancel all orders of a retail user."""
    yield call(choices, "RetailOrdersAPI.CancelOpenOrders", {}, choices.choice(view.keys))


def add_fault(choices: Choices, view: View) -> Steps:
    """Inject a fault."""
    yield Act("fault.add", "", fault(choices))


def _rare(choices: Choices, view: View, price: str) -> Document:
    """Return the fields of a rarely used kind of order."""
    stop = {"type": "ORDER_TYPE_STOP", "stopPrice": price}
    end = format_instant(view.now + choices.choice((NS_PER_S, minutes(2), days(1))))
    kinds: tuple[Document, ...] = (
        {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": end},
        {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"},
        stop,
        {**stop, "type": "ORDER_TYPE_STOP_LIMIT", "price": price},
        {"cashOrderQty": str(choices.between(1, 4_000)), "orderQty": "0"},
        {"immediatelyExecutableLimit": True, "price": "0"},
        {"bestLimit": True, "price": "0"},
        {"type": MARKET_TO_LIMIT, "ignorePriceValidityChecks": True},
    )
    return choices.choice(kinds)
