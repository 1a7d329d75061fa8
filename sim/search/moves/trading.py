"""Orders that belong together: with one name, refused, late, of one owner."""

from __future__ import annotations

from sim.kernel.entropy import Choices
from sim.search.moves.repeats import parts
from sim.search.moves.view import (
    Act,
    Steps,
    Terms,
    View,
    call,
    insert,
    retail_limit_order,
    scripted,
)


def book(choices: Choices, terms: Terms) -> Steps:
    """Place two scripted orders on each side of a book."""
    for side, low in (("buy", 46), ("sell", 51)):
        for _ in range(2):
            price = f"0.{choices.between(low, low + 3)}"
            yield scripted("maker", terms.symbol, side, price, str(choices.between(5, 40)))


def same_name(choices: Choices, view: View) -> Steps:
    """Place two orders with the same client order id: while the first works, and afterwards."""
    user, terms = view.user(choices), view.market(choices)
    for _ in range(choices.between(1, 3)):
        order = view.label("order")
        first = insert(choices, terms, user, "BUY", choices.between(2, 4), clordId="same")
        yield {**first, "save": {order: "orderId"}}
        yield insert(choices, terms, user, "BUY", choices.between(2, 4), clordId="same")
        names = {"orderId": f"${{{order}}}", "symbol": terms.symbol}
        yield call(choices, "OrderEntryAPI.CancelOrder", names, user.name)


def out_of_bounds(choices: Choices, view: View) -> Steps:
    """Place orders outside the band, off the tick, with zero quantity, and without money."""
    user, terms = view.user(choices), view.market(choices)
    wrong = (
        {"price": terms.cents(100)},
        {"price": "0"},
        {"price": "-5"},
        {"price": f"{terms.cents(50)}1"},
        {"orderQty": "0"},
        {"orderQty": "99999999"},
        {"orderQty": str(2**40)},
    )
    for _ in range(2):
        side = choices.choice(("BUY", "SELL"))
        yield insert(choices, terms, user, side, 50, **choices.choice(wrong))


def slow_engine(choices: Choices, view: View) -> Steps:
    """Place, replace and cancel orders while the engine is slow."""
    latency = choices.choice(("500ms", "2s", "5s", "6s"))
    yield Act("assumption.set", "engine.latency", {"value": latency})
    yield from parts(choices, view)
    yield {"advance": choices.choice(("1s", "8s"))}
    yield from out_of_bounds(choices, view)
    yield {"advance": "40s"}


def sweep(choices: Choices, view: View) -> Steps:
    """Place retail market orders into a book, in both directions."""
    terms = view.market(choices)
    yield from book(choices, terms)
    price = {"value": "0.50", "currency": "USD"}
    for intent in ("BUY_LONG", "SELL_LONG", choices.choice(("BUY_SHORT", "SELL_SHORT"))):
        body = {
            "marketSlug": terms.symbol,
            "intent": f"ORDER_INTENT_{intent}",
            "type": "ORDER_TYPE_MARKET",
            "quantity": choices.between(1, 9),
            "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
            "slippageTolerance": {"currentPrice": price, "ticks": 9},
        }
        yield call(choices, "RetailOrdersAPI.CreateOrder", body, choices.choice(view.keys[:2]))


def account(choices: Choices, view: View) -> Steps:
    """Trade a retail order of one contract as maker, and read its owner's account."""
    key, terms = choices.choice(view.keys[:2]), view.market(choices)
    cents = choices.between(47, 50)
    yield retail_limit_order(choices, terms, key, f"0.{cents}", 1)
    yield insert(choices, terms, view.users[0], "SELL", cents)
    yield call(choices, "RetailAccountAPI.GetBalances", {}, key)


def related(choices: Choices, view: View) -> Steps:
    """Open, reduce and reverse positions of one account in several markets, also in related ones
    that share collateral (rule P8).
    """
    user = view.user(choices)
    for terms in view.related():
        for side, opposite in (("SELL", "BUY"), ("SELL", "BUY"), ("BUY", "SELL")):
            yield insert(choices, terms, view.other(choices, user), opposite, 50)
            yield insert(choices, terms, user, side, 50)


def poor(choices: Choices, view: View) -> Steps:
    """Place orders of an account in several markets, of which one fill uses up the money (P5)."""
    user = view.user(choices)
    if (left := view.dollars(user) - 3) > 0:
        yield Act("account.fund", user.account, {"amount": f"-{left}.00"})
    for _ in range(3):
        yield insert(choices, view.market(choices), user, "BUY", 50, orderQty="4")
    yield scripted("taker", view.market(choices).symbol, "sell", "0.40", "20")
    yield Act("account.fund", user.account, {"amount": "-999999.00"})


def wait(choices: Choices, view: View) -> Steps:
    """Let time pass."""
    yield {"advance": choices.choice(("1ms", "1s", "1s", "10s", "2m", "1h", "3h"))}
