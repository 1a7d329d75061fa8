"""Trades outside the book: crosses, orders and money of partners, combos, and quotes on these.

Two parties agree on a deal step by step. Sometimes a step is left out, late, or made by another
caller. Idempotency keys are few, so that some are used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim.contract.contract import load_contract
from sim.contract.wire_fields import fields_of
from sim.core.model.enums import Side
from sim.core.model.quantities import decimal_text
from sim.core.rfq.combos import Leg, symbol_of
from sim.kernel.entropy import Choices
from sim.search.moves.view import SIDES, Act, Document, Steps, Terms, View, call, retail_limit_order

_SIDES = dict(zip((Side.BUY, Side.SELL), SIDES, strict=True))
_KEYS = 5  # idempotency keys and cross ids
# What passes between two steps of a deal: usually nothing, else enough time for things to expire.
_PAUSES = ("", "", "", "1s", "2s", "5s", "6m")


class _Party(NamedTuple):
    """A party to a deal: its name as a caller, and its account, which partners name in requests."""

    name: str
    account: str = ""


def cross(choices: Choices, view: View) -> Steps:
    """Enter both sides of a cross, on two accounts of a firm or, rarely, on one; perhaps twice."""
    users, terms = choices.choice(view.pairs).users, view.market(choices)
    first = choices.below(len(users))
    pair = users[first], users[first if choices.chance(1, 8) else first - 1]
    price, qty = terms.near_middle(choices), choices.log_between(1, 2_000)
    prices = price, price if choices.chance(5, 6) else terms.near_middle(choices)
    orders = [
        terms.limit_order(side, str(at), qty, account=user.account)
        for side, at, user in zip(SIDES, prices, pair, strict=True)
    ]
    body: Document = {"requests": orders, "crossType": "CROSS_TYPE_ALL_OR_NONE"}
    body["crossId"] = f"cross-{choices.below(_KEYS)}"
    if choices.chance(1, 3):
        body["crossPrioritizedSide"] = choices.choice(SIDES)
    for _ in range(choices.between(1, 2)):
        yield call(choices, "OrderEntryAPI.InsertOrderCross", body, pair[0].name)


def vendor(choices: Choices, view: View) -> Steps:
    """Place a partner's order and transfer money, usually again with the same key (rule M25)."""
    firm, terms = choices.choice(view.pairs), view.market(choices)
    account, key = choices.choice(firm.users).account, f"key-{choices.below(_KEYS)}"
    price = str(terms.near_middle(choices))
    order = {
        **terms.limit_order(choices.choice(SIDES), price, choices.log_between(1, 500)),
        "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
        "clordId": f"vendor-{key}",
        "account": account,
        "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
    }
    fee = {"value": choices.choice(("0", "0.05")), "currency": "USD"}
    amounts = (decimal_text(choices.between(1, 20_000), 100), "99999999.00")
    transfer = {
        "reason": "TRANSFER_REASON_" + choices.choice(("DEPOSIT", "WITHDRAWAL", "VENDOR_FEES")),
        "participantAccountId": account,
        "amount": choices.choice((*amounts[:1] * 3, *amounts)),
        "currency": "USD",
        "externalReference": key,
    }
    requests: tuple[tuple[str, Document], ...] = (
        ("OrderFundingService.CreateVendorOrder", {"order": order, "vendorFee": fee}),
        ("OrderFundingService.CreateFundedOrder", {"order": order}),
        ("CashMovementService.CreateCashMovement", {"transfer": transfer}),
    )
    for _ in range(choices.between(2, 4)):
        name, body = choices.choice(requests)
        yield call(choices, name, {**body, "idempotencyKey": key}, firm.name)


def combo(choices: Choices, view: View) -> Steps:
    """Create a combo, place orders of both sides in it, and perhaps settle one of its legs."""
    service, parties = _dealers(choices, view)
    legs = _legs(choices, view)
    yield _creation(choices, service, legs, parties[0])
    terms = Terms(symbol_of(legs), price_scale=1_000)
    for side in SIDES:
        price = choices.between(240, 270)
        order = terms.limit_order(side, str(price), choices.between(1, 30))
        if view.users:
            yield call(choices, "OrderEntryAPI.InsertOrder", order, view.user(choices).name)
        else:
            intent = "BUY_LONG" if side == SIDES[0] else "BUY_SHORT"
            key, qty = choices.choice(view.keys), choices.log_between(1, 50)
            yield retail_limit_order(choices, terms, key, terms.dollars(price), qty, intent)
    if choices.chance(1, 4):
        yield Act("instrument.settle", legs[0].symbol, {"price": choices.choice(("0", "1"))})
        yield {"advance": "2m"}


def quotes(choices: Choices, view: View) -> Steps:
    """Create a combo, request a quote, quote, accept and confirm."""
    service, parties = _dealers(choices, view)
    asker, maker = parties[:2] if choices.chance(1, 2) else parties[1::-1]
    legs = _legs(choices, view)
    yield _creation(choices, service, legs, asker)
    rfq, quote = view.label("rfq"), view.label("quote")
    size = choices.choice(({"qtyDecimal": "10"}, {"qtyDecimal": "3"}, {"cashOrderQty": "5"}))
    request = {"symbol": symbol_of(legs), "restRemainder": choices.chance(1, 2), **size}
    yield {**_deal(choices, service, "CreateRFQ", request, asker), "save": {rfq: "rfqId"}}
    rfq_id = {"rfqId": f"${{{rfq}}}"}
    both = {**rfq_id, "quoteId": f"${{{quote}}}"}
    sell = choices.between(200, 300)
    prices: Document = {
        **rfq_id,
        "buyPrice": f"0.{sell + choices.between(-5, 60)}",
        "sellPrice": f"0.{sell}",
        "restRemainder": choices.chance(1, 2),
        "postOnly": choices.chance(1, 4),
    }
    yield {**_deal(choices, service, "CreateQuote", prices, maker), "save": {quote: "quoteId"}}
    accepted = {**both, "acceptedSide": choices.choice(SIDES)}
    steps = [
        ("AcceptQuote", accepted, asker),
        ("ConfirmQuote", both, maker),
        ("GetRFQTrades", {}, asker),
    ]
    if choices.chance(1, 2):
        others = (
            ("DeleteQuote", both, maker),
            ("DeleteRFQ", rfq_id, asker),
            ("CreateQuote", prices, maker),
            ("ConfirmQuote", both, asker),
            ("AcceptQuote", {**both, "acceptedSide": "SIDE_BUY"}, maker),
        )
        steps.insert(choices.below(len(steps)), choices.choice(others))
    for name, body, party in steps:
        if not choices.chance(1, 10):
            yield from _pause(choices)
            yield _deal(choices, service, name, body, party)
    yield from _pause(choices)


def _dealers(choices: Choices, view: View) -> tuple[str, list[_Party]]:
    """Return "Retail" or "", and the parties that deal through the operations of that name."""
    if not view.pairs or (len(view.keys) > 1 and choices.chance(1, 2)):
        return "Retail", [_Party(key) for key in view.keys]
    users = [user for firm in view.pairs for user in firm.users[:2]]
    return "", [_Party(user.name, user.account) for user in users]


def _legs(choices: Choices, view: View) -> list[Leg]:
    """Return the legs of a combo. The same legs are the same combo."""
    symbols = list(dict.fromkeys(terms.symbol for terms in view.markets()))
    first, count = choices.below(len(symbols)), choices.between(2, 3)
    drawn = (symbols + symbols)[first : first + min(count, len(symbols))]
    return [Leg(symbol, choices.choice(list(_SIDES))) for symbol in drawn]


def _creation(choices: Choices, service: str, legs: list[Leg], party: _Party) -> Document:
    body = {"legs": [{"symbol": leg.symbol, "side": _SIDES[leg.side]} for leg in legs]}
    operation = f"{service}CombosAPI.CreateCombo" if service else "ComboAPI.CreateCombo"
    return call(choices, operation, body, party.name)


def _deal(choices: Choices, service: str, name: str, body: Document, party: _Party) -> Document:
    """Return a step of a deal as partners or retail users call it."""
    if service:
        retail = name.replace("RFQ", "Rfq").replace("GetRfqTrades", "ListRfqTrades")
        return call(choices, f"RetailRfqsAPI.{retail}", body, party.name)
    request = load_contract().by_name(f"RFQAPI.{name}").request
    if any(field.name == "account" for field in fields_of(request)):
        body = {**body, "account": party.account}
    return call(choices, f"RFQAPI.{name}", body, party.name)


def _pause(choices: Choices) -> Iterator[Document]:
    if span := choices.choice(_PAUSES):
        yield {"advance": span}
