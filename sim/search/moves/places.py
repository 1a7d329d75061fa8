"""What becomes of something that was there before: the place of an order that is changed, the
session of an identity that subscribes again, the statistics of a session that begins anew, the
secret of a webhook that is registered again, rows that grow old.
"""

from __future__ import annotations

from sim.kernel.entropy import Choices
from sim.kernel.instants import NS_PER_S, format_instant
from sim.search.moves.service import verify
from sim.search.moves.streams import RESUMABLE, crowd
from sim.search.moves.view import Act, Document, Steps, View, call, insert, trade

# Around the days for which rows of some kind are kept, until the next maintenance (rule R10)
_OLD = ("7d", "8d", "45d", "47d", "90d", "92d")


def queue(choices: Choices, view: View) -> Steps:
    """Change one of several orders at a price, and fill them in parts, perhaps in an auction."""
    terms, user = view.market(choices), view.user(choices)
    other, order, auction = view.other(choices, user), view.label("order"), choices.chance(1, 3)
    for state in ("CLOSED", "PREOPEN") * auction:
        yield Act("instrument.state", terms.symbol, {"state": state})
    side, opposite = choices.choice((("BUY", "SELL"), ("SELL", "BUY")))
    qty = choices.between(4, 12) * terms.minimum
    ends = [format_instant(view.now + n * NS_PER_S) for n in (1, 30, 60)]
    first, second = choices.choice(ends), choices.choice(ends)
    good_till = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": second}
    own = {"orderQty": str(qty), "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL"}
    own |= {**good_till, "goodTillTime": first} if choices.chance(1, 2) else {}
    yield {**insert(choices, terms, user, side, 50, **own), "save": {order: "orderId"}}
    for party in (other, user):
        yield insert(choices, terms, party, side, 50, orderQty=str(qty))
    if auction:
        for cents in (50, 50 + choices.choice((0, 1, -1))):
            yield insert(choices, terms, other, opposite, cents, orderQty=str(qty))
    changes: tuple[Document, ...] = (
        good_till,
        {"orderQty": str(qty)},
        {"orderQty": str(qty - terms.minimum)},
        {"orderQty": str(qty + terms.minimum)},
        {"price": terms.cents(50)},
        {"price": terms.cents(50 + choices.choice((-1, 1)))},
        {"participateDontInitiate": True},
    )
    names = {"orderId": f"${{{order}}}", "symbol": terms.symbol}
    for _ in range(choices.between(1, 2)):
        change = names | choices.choice(changes)
        yield call(choices, "OrderEntryAPI.CancelReplaceOrder", change, user.name)
    if auction:
        yield Act("instrument.state", terms.symbol, {"state": "OPEN"})
    for _ in range(2):
        part = str(choices.between(1, 8) * terms.minimum)
        yield insert(choices, terms, other, opposite, 50, orderQty=part)
    yield {"advance": choices.choice(("1s", "31s", "61s"))}


def cash(choices: Choices, view: View) -> Steps:
    """Spend cash on more than the book has within the limit, and see what rests."""
    terms, user = view.market(choices), view.user(choices)
    other = view.other(choices, user)
    for cents in (48, 49):
        yield insert(choices, terms, other, "SELL", cents, orderQty=str(2 * terms.minimum))
    money = str(choices.between(3, 30) * terms.minimum * 50)
    limit = {"cashOrderQty": money, "orderQty": None}
    yield insert(choices, terms, user, "BUY", choices.choice((49, 51, 60)), **limit)


def session(choices: Choices, view: View) -> Steps:
    """Trade in two sessions of a market, and read what it says of trading."""
    terms, user = view.market(choices), view.user(choices)
    yield from trade(choices, view, terms)
    for state in ("CLOSED", choices.choice(("OPEN", "PREOPEN")), "OPEN"):
        yield Act("instrument.state", terms.symbol, {"state": state})
    if choices.chance(1, 2):
        yield from trade(choices, view, terms)
    yield call(choices, "OrderBookAPI.GetOrderBook", {"symbol": terms.symbol}, user.name)


def takeover(choices: Choices, view: View) -> Steps:
    """Subscribe with an identity that has a stream while its firm has all it may have."""
    user = view.user(choices)
    stream = {"rpc": choices.choice(RESUMABLE), "as": user.name}
    yield {"subscribe": {**stream, "name": view.label("first")}}
    yield from crowd(choices, view)
    yield {"subscribe": {**stream, "name": view.label("second")}}


def secret(choices: Choices, view: View) -> Steps:
    """Register a webhook with a secret and again without, and let an event be sent."""
    firm, url = choices.choice(view.firms).name, "https://127.0.0.1:9443/kyc"
    own = "whsec_" + "c2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVzIQ=="
    registrations: list[Document] = [{"signing_secret": own}, {}]
    for more in registrations[:: choices.choice((1, 1, -1))]:
        yield call(choices, "KYCAPI.SetWebhookURL", {"webhook_url": url, **more}, firm)
    yield from verify(choices, view)


def age(choices: Choices, view: View) -> Steps:
    """Let a trade grow older than some rows are kept."""
    yield from trade(choices, view, view.market(choices))
    yield {"advance": choices.choice(_OLD)}
