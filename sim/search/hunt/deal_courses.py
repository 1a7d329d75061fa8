"""Courses of trades outside the book: crosses, orders of partners, combos, and quotes on these."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

from sim.api.pipeline.inputs import SCRIPT, Input, Outcome, VerifiedCredential
from sim.contract.contract import load_contract
from sim.contract.wire_fields import fields_of
from sim.core.identity.firms import Firm
from sim.core.model.enums import Side
from sim.core.rfq.combos import Leg, symbol_of
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import NS_PER_S, minutes
from sim.search.hunt.callers import CallIdentity
from sim.search.hunt.course_parts import Body, Inputs
from sim.search.hunt.order_courses import OrderCourses

_SIDES = {Side.BUY: "SIDE_BUY", Side.SELL: "SIDE_SELL"}
_COMBOS = {"": "ComboAPI", "Retail": "RetailCombosAPI"}
_KEYS = 4  # number of idempotency keys
# What passes between two steps of a deal: usually nothing, else enough time for things to expire.
_PAUSES = (0, 0, 0, NS_PER_S, 2 * NS_PER_S, 5 * NS_PER_S, minutes(6))


class _Party(NamedTuple):
    """A party to a deal, and its account."""

    who: CallIdentity
    account: str


class DealCourses(OrderCourses):
    """Trades that two parties agree on, step by step."""

    def quotes(self, choices: RandomStream) -> Inputs:
        """Create a combo, request a quote, quote, accept and confirm.

        Sometimes a step is omitted, done by another party, or late.
        """
        service, parties = self._dealers(choices)
        if len(parties) < 2:
            return
        asker, maker = parties[:2] if choices.chance(1, 2) else parties[1::-1]
        combo = yield from self._combo(choices, service, asker)
        size = choices.choice(({"qtyDecimal": "10"}, {"qtyDecimal": "3"}, {"cashOrderQty": "5"}))
        asked: Body = {"symbol": combo, "restRemainder": choices.chance(1, 2), **size}
        yield self._deal(choices, service, "CreateRFQ", asked, asker)
        rfqs = self._simulation.exchange.rfqs
        rfq = {"rfqId": _last(one.id for _, one in rfqs.rfqs(asker.account))}
        sell = choices.between(200, 300)
        quoted: Body = {
            **rfq,
            "buyPrice": f"0.{sell + choices.between(1, 60)}",
            "sellPrice": f"0.{sell}",
            "restRemainder": choices.chance(1, 2),
            "postOnly": choices.chance(1, 4),
        }
        yield self._deal(choices, service, "CreateQuote", quoted, maker)
        quote = {**rfq, "quoteId": _last(one.id for _, one in rfqs.quotes(maker.account))}
        steps: list[tuple[str, Body, _Party]] = [
            (
                "AcceptQuote",
                {**quote, "acceptedSide": choices.choice(list(_SIDES.values()))},
                asker,
            ),
            ("ConfirmQuote", quote, maker),
            ("GetRFQTrades", {}, asker),
        ]
        if choices.chance(1, 2):
            other = choices.choice(
                (
                    ("DeleteQuote", quote, maker),
                    ("DeleteRFQ", rfq, asker),
                    ("CreateQuote", quoted, maker),
                    ("ConfirmQuote", quote, asker),
                    ("AcceptQuote", {**quote, "acceptedSide": "SIDE_BUY"}, maker),
                )
            )
            steps.insert(choices.below(len(steps)), other)
        for name, body, party in steps:
            if choices.chance(1, 10):
                continue
            yield from self._pause(choices)
            yield self._deal(choices, service, name, body, party)
        yield from self._pause(choices)

    def combo(self, choices: RandomStream) -> Inputs:
        """Create a combo, place orders of both sides in it, and settle one of its legs."""
        service, parties = self._dealers(choices)
        if not parties:
            return
        combo = yield from self._combo(choices, service, parties[0])
        if combo not in self._simulation.exchange.instruments:
            return
        partners = self._partners()
        for side in ("BUY", "SELL"):
            body = self._order(choices, combo, side, choices.between(24, 26))
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, choices.choice(partners))
        if choices.chance(1, 2):
            leg = self._symbol(choices)
            yield self._do("instrument.settle", leg, {"price": choices.choice(("0", "1"))})
            yield from self._wait(minutes(2))

    def cross(self, choices: RandomStream) -> Inputs:
        """Enter both sides of a cross, on two accounts of a firm or on one; perhaps twice."""
        firm = self._firm(choices)
        if firm is None:
            return
        users = firm.users
        first = choices.below(len(users))
        one, other = users[first], users[first if choices.chance(1, 6) else first - 1]
        symbol, price = self._symbol(choices), choices.between(45, 55)
        orders = [
            self._order(choices, symbol, side, at, orderQty="5", account=user.account)
            for side, at, user in (("BUY", price, one), ("SELL", price, other))
        ]
        if choices.chance(1, 4):
            orders[1]["price"] = orders[0]["price"] + "0"
        body: Body = {
            "requests": orders,
            "crossType": "CROSS_TYPE_ALL_OR_NONE",
            "crossId": f"x-{choices.below(_KEYS)}",
        }
        if choices.chance(1, 3):
            body["crossPrioritizedSide"] = choices.choice(list(_SIDES.values()))
        who = CallIdentity(VerifiedCredential(SCRIPT, firm.name), one.name)
        for _ in range(choices.between(1, 2)):
            yield self._call(choices, "OrderEntryAPI.InsertOrderCross", body, who)

    def vendor(self, choices: RandomStream) -> Inputs:
        """Place a partner's order and transfer money, both again with the same key."""
        firm = self._firm(choices)
        if firm is None:
            return
        user, symbol = choices.choice(firm.users), self._symbol(choices)
        key = f"k-{choices.below(_KEYS)}"
        yield from self._book(choices, symbol)
        side, price = choices.choice((("BUY", 56), ("SELL", 44), ("BUY", 50)))
        order = {
            **self._order(choices, symbol, side, price),
            "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
            "clordId": f"vendor-{key}",
            "account": user.account,
            "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
        }
        fee = {"value": choices.choice(("0", "0.05")), "currency": "USD"}
        transfer = {
            "reason": "TRANSFER_REASON_" + choices.choice(("DEPOSIT", "WITHDRAWAL", "VENDOR_FEES")),
            "participantAccountId": user.account,
            "amount": choices.choice(("1.00", "10.00", "99999999.00")),
            "currency": "USD",
            "externalReference": key,
        }
        calls: tuple[tuple[str, Body], ...] = (
            ("OrderFundingService.CreateVendorOrder", {"order": order, "vendorFee": fee}),
            ("CashMovementService.CreateCashMovement", {"transfer": transfer}),
        )
        who = CallIdentity(VerifiedCredential(SCRIPT, firm.name), None)
        for _ in range(choices.between(2, 4)):
            name, body = choices.choice(calls)
            yield self._call(choices, name, {**body, "idempotencyKey": key}, who)

    # ---- parts

    def _firm(self, choices: RandomStream) -> Firm | None:
        """Return a firm with credentials and participants, usually with at least two of these."""
        firms = [
            firm for firm in self._simulation.exchange.firms.all() if firm.client_id and firm.users
        ]
        pairs = [firm for firm in firms if len(firm.users) > 1]
        firms = pairs if pairs and choices.chance(5, 6) else firms
        return choices.choice(firms) if firms else None

    def _dealers(self, choices: RandomStream) -> tuple[str, list[_Party]]:
        """Return the service through which deals go, and the possible parties."""
        firms = self._simulation.exchange.firms
        if choices.chance(1, 2):
            keys = firms.api_keys()
            who = [CallIdentity(VerifiedCredential(SCRIPT, key.key_id), None) for key in keys]
            return "Retail", [_Party(one, key.account) for one, key in zip(who, keys, strict=True)]
        users = ((who, firms.user(who.participant or "")) for who in self._partners())
        return "", [_Party(who, user.account) for who, user in users if user is not None]

    def _combo(
        self, choices: RandomStream, service: str, party: _Party
    ) -> Generator[Input, Outcome | None, str]:
        """Create a combo of some markets and return its symbol."""
        markets = self._clients.operators.markets()
        drawn = (choices.choice(markets).symbol for _ in range(choices.between(2, 3)))
        legs = [Leg(symbol, choices.choice(list(_SIDES))) for symbol in dict.fromkeys(drawn)]
        body = {"legs": [{"symbol": leg.symbol, "side": _SIDES[leg.side]} for leg in legs]}
        yield self._call(choices, f"{_COMBOS[service]}.CreateCombo", body, party.who)
        return symbol_of(legs)

    def _deal(
        self, choices: RandomStream, service: str, name: str, body: Body, party: _Party
    ) -> Input:
        """Return a step of a deal as partners or retail users call it."""
        if service:
            retail = name.replace("RFQ", "Rfq").replace("GetRfqTrades", "ListRfqTrades")
            return self._call(choices, f"RetailRfqsAPI.{retail}", body, party.who)
        request = load_contract().by_name(f"RFQAPI.{name}").request
        own = any(field.name == "account" for field in fields_of(request))
        body = {**body, "account": party.account} if own else body
        return self._call(choices, f"RFQAPI.{name}", body, party.who)

    def _pause(self, choices: RandomStream) -> Inputs:
        span = choices.choice(_PAUSES)
        if span:
            yield from self._wait(span)


def _last(ids: Iterable[str]) -> str:
    """Return the newest of some identifiers, or an unknown one if there are none."""
    return next(iter(reversed(list(ids))), "none")
