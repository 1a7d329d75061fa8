"""What happens a second time on the same subject: fills of one order, corrections of one
settlement, trades of one day, and what follows from them; and rules that need a certain setting.
"""

from __future__ import annotations

from sim.contract.contract import load_contract
from sim.kernel.entropy import Choices
from sim.search.moves.service import verify
from sim.search.moves.view import (
    SIDES,
    Act,
    Document,
    Steps,
    View,
    call,
    insert,
    retail_limit_order,
    scripted,
    self_match_prevention,
    trade,
)

# Reads with a limit of their own, and how many are one more than a minute or a second allows.
_LIMITED = (
    *(("OrderBookAPI.GetBBO", 13), ("RefDataAPI.ListSymbols", 7), ("ReportAPI.SearchOrders", 20)),
    *(("ReportAPI.GetTradeStats", 61), ("FundingAPI.DownloadBalanceLedger", 12)),
    *(("IncentivesAPI.GetIncentives", 6), ("IncentivesAPI.GetIncentiveEarnings", 6)),
    *(("GatewayTagsAPI.ListTags", 21), ("RetailAccountAPI.GetBalances", 21)),
    *(("AccountsAPI.GetWhoAmI", 30), ("OrderEntryAPI.GetOpenOrders", 30)),
)


def parts(choices: Choices, view: View) -> Steps:
    """Fill one order in parts, change it in between, and cancel what is left."""
    user, terms, order = view.user(choices), view.market(choices), view.label("order")
    other, cents = view.other(choices, user), choices.between(44, 52)
    qty = choices.between(10, 30) * terms.minimum
    first = insert(choices, terms, user, "BUY", cents, orderQty=str(qty))
    yield {**first, "save": {order: "orderId"}}
    names = {"orderId": f"${{{order}}}", "symbol": terms.symbol}
    for _ in range(choices.between(2, 4)):
        part = str(choices.between(1, 6) * terms.minimum)
        yield insert(choices, terms, other, "SELL", cents, orderQty=part)
        if choices.chance(1, 2):
            change = choices.choice(
                (
                    {"orderQty": str(choices.between(1, 40) * terms.minimum)},
                    {"price": terms.cents(cents + choices.between(-1, 1))},
                )
            )
            yield call(choices, "OrderEntryAPI.CancelReplaceOrder", names | change, user.name)
    for _ in range(2):
        yield call(choices, "OrderEntryAPI.CancelOrder", names, user.name)


def flip(choices: Choices, view: View) -> Steps:
    """Take the position of an account through zero and back, at several prices, and read it."""
    user, terms = view.user(choices), view.market(choices)
    other, held = view.other(choices, user), choices.between(1, 9)
    side, opposite = choices.choice((("BUY", "SELL"), ("SELL", "BUY")))
    for sides, many in (((opposite, side), 1), ((side, opposite), 2), ((opposite, side), 2)):
        for party, each in zip((other, user), sides, strict=True):
            qty, cents = str(many * held * terms.minimum), choices.between(48, 52)
            yield insert(choices, terms, party, each, cents, orderQty=qty)
    body = {"name": user.account, "symbol": terms.symbol}
    yield call(choices, "PositionAPI.ListAccountPositions", body, user.name)


def chain(choices: Choices, view: View) -> Steps:
    """Place stops of which one triggers the next, and a trade that triggers the first."""
    user, terms = view.user(choices), view.market(choices)
    other = view.other(choices, user)
    for cents in (51, 52, 53):
        yield insert(choices, terms, other, "SELL", cents, orderQty=str(terms.minimum))
    for cents in (51, 52):
        limit = choices.chance(1, 3)
        stop = {
            "type": "ORDER_TYPE_STOP_LIMIT" if limit else "ORDER_TYPE_STOP",
            "stopPrice": terms.cents(cents),
            "price": terms.cents(cents + 1) if limit else None,
        }
        yield insert(choices, terms, user, "BUY", cents, orderQty=str(terms.minimum), **stop)
    yield insert(choices, terms, view.user(choices), "BUY", 51, orderQty=str(terms.minimum))


def own_orders(choices: Choices, view: View) -> Steps:
    """Let an order meet several of the same owner, with others in between, each with a mode."""
    user, terms = view.user(choices), view.market(choices)
    for cents in (52, 51, 50):
        yield insert(choices, terms, user, "BUY", cents, **self_match_prevention(choices))
        if choices.chance(1, 2):
            yield insert(choices, terms, view.other(choices, user), "BUY", cents)
    sale = {"orderQty": str(60 * terms.minimum), **self_match_prevention(choices)}
    yield insert(choices, terms, user, "SELL", 50, **sale)


def auction(choices: Choices, view: View) -> Steps:
    """Collect orders that cross at several prices with equal volumes, and leave the state."""
    terms, user = view.market(choices), view.user(choices)
    yield from trade(choices, view, terms)  # the reference price
    collecting = choices.choice(("PREOPEN", "MATCH_AND_CLOSE_AUCTION"))
    for state in ("CLOSED", collecting) if collecting == "PREOPEN" else (collecting,):
        yield Act("instrument.state", terms.symbol, {"state": state})
    high, qty = choices.between(50, 54), choices.between(2, 20) * terms.minimum
    for cents in (high, high - choices.between(0, 2)):
        yield insert(choices, terms, user, "BUY", cents, orderQty=str(qty))
    for cents in (high - choices.between(2, 5), high):
        more = str(qty + choices.choice((0, 0, 1, -1)) * terms.minimum)
        yield insert(choices, terms, view.user(choices), "SELL", cents, orderQty=more)
    after = choices.choice(("OPEN", "OPEN", "CLOSED", "SUSPENDED"))
    yield Act("instrument.state", terms.symbol, {"state": after})


def batch(choices: Choices, view: View) -> Steps:
    """Enter a list of orders of which one fails, change and cancel some in lists too."""
    user, terms = view.user(choices), view.market(choices)
    wrong = choices.choice(({"price": "0"}, {"orderQty": "0"}, {"symbol": "nope"}, {}))
    orders: list[Document] = [
        terms.limit_order(choices.choice(SIDES), str(terms.near_middle(choices)), terms.minimum)
        for _ in range(choices.between(2, 5))
    ]
    orders[choices.below(len(orders))] |= wrong
    name = view.label("order")
    entry = call(choices, "OrderEntryAPI.InsertOrderList", {"requests": orders}, user.name)
    yield {**entry, "save": {name: "responses.0.orderId"}}
    names = [{"orderId": f"${{{name}}}", "symbol": terms.symbol}, {"orderId": "NOPE"}]
    changes = [{**each, "orderQty": str(2 * terms.minimum)} for each in names]
    for rpc, body in (("CancelReplaceOrderList", changes), ("CancelOrderList", names)):
        yield call(choices, f"OrderEntryAPI.{rpc}", {"requests": body}, user.name)


def correction(choices: Choices, view: View) -> Steps:
    """Settle a market in which partners and a retail user hold positions, correct it twice, and
    read what was paid.
    """
    user, terms, key = view.user(choices), view.market(choices), choices.choice(view.keys)
    frame = {"requestId": "r0", "subscriptionType": "SUBSCRIPTION_TYPE_POSITION"}
    if choices.chance(1, 2):
        path, send = "/v1/ws/private", [{"subscribe": frame}]
        name = view.label("socket")
        yield {"subscribe": {"name": name, "web_socket": path, "as": key, "send": send}}
    for _ in range(choices.between(1, 2)):
        yield from trade(choices, view, terms)
    yield retail_limit_order(choices, terms, key, "0.50", choices.between(1, 9))
    yield insert(choices, terms, user, "SELL", 50)
    for price in ("1", choices.choice(("0", "0.25")), choices.choice(("1", "0.5", "1.01"))):
        yield Act("instrument.settle", terms.symbol, {"price": price})
        yield {"advance": choices.choice(("1s", "2m", "2h"))}
    yield call(choices, "RetailPortfolioAPI.ListActivities", {}, key)
    ledger = {"account": user.account, "symbol": terms.symbol}
    yield call(choices, "PositionAPI.GetPositionLedger", ledger, user.name)


def flood(choices: Choices, view: View) -> Steps:
    """Repeat a read once more than its own limit allows."""
    user = view.user(choices)
    if choices.chance(1, 3):
        yield Act("assumption.set", "limits.extra", {"value": "true"})
    name, count = choices.choice(_LIMITED)
    body: Document = {"symbol": view.market(choices).symbol, "account": user.account}
    request = load_contract().by_name(name).request
    own = {field: value for field, value in body.items() if field in request.__struct_fields__}
    for _ in range(count):
        caller = choices.choice(view.keys[:1]) if name.startswith("Retail") else user.name
        yield call(choices, name, own, "" if name.startswith("Gateway") else caller)


def setting(choices: Choices, view: View) -> Steps:
    """Do what a rule decides only while an assumption has another value."""
    terms, user = view.market(choices), view.user(choices)
    kind = choices.choice(("reference", "read lag", "cross", "half", "duplicate"))
    if kind == "reference":
        yield Act("assumption.set", "risk.require_reference_price", {"value": "true"})
        fields = {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "price": None}
        yield insert(choices, terms, user, choices.choice(("BUY", "SELL")), 50, **fields)
    elif kind == "read lag" and view.keys:
        yield Act("assumption.set", "retail.read_lag", {"value": "5s"})
        key, order = choices.choice(view.keys), view.label("order")
        yield {**retail_limit_order(choices, terms, key, "0.40", 1), "save": {order: "id"}}
        for pause in ("4999999999ns", "1ns"):
            yield call(choices, "RetailOrdersAPI.GetOrder", {"orderId": f"${{{order}}}"}, key)
            yield {"advance": pause}
    elif kind == "cross":
        yield Act("assumption.set", "orders.cross_accounts", {"value": "participant"})
        fields = self_match_prevention(choices)
        orders = [terms.limit_order(side, terms.cents(50), 10, **fields) for side in SIDES]
        body = {"requests": orders, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "own"}
        yield call(choices, "OrderEntryAPI.InsertOrderCross", body, user.name)
    elif kind == "half":
        yield scripted("maker", terms.symbol, "buy", "0.40", "0.5")
    elif kind == "duplicate":
        yield Act("quirk.set", "webhook_duplicates", {"value": "always"})
        yield from verify(choices, view)
