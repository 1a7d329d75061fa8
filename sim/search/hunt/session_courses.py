"""Courses of streams, limits, verifications and webhooks."""

from __future__ import annotations

from msgspec import json

from sim.api.pipeline.inputs import (
    SCRIPT,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
)
from sim.contract.contract import load_contract
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import NS_PER_S, days, format_instant, minutes
from sim.search.hunt.callers import PEER, CallIdentity
from sim.search.hunt.clients import message_of
from sim.search.hunt.course_parts import Body, Inputs
from sim.search.hunt.deal_courses import DealCourses

_RESUMABLE = (
    *("DropCopyAPI.CreateDropCopySubscription",) * 3,
    "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "DropCopyAPI.CreatePositionChangeSubscription",
    "DropCopyAPI.CreateInstrumentStateChangeSubscription",
)
_STREAMS_MAX = 21  # one more than the limit of a firm (rule S7)
_ADDRESS = {
    "address_line_1": "1 Main Street",
    "city": "Albany",
    "country": "US",
    "postal_code": "12207",
    "state": "NY",
}
# First names, e-mail addresses and birthdays that determine an outcome (rule K5).
_PEOPLE: tuple[Body, ...] = (
    {},
    {"email": "reject@example.com"},
    {"email": "review@example.com"},
    {"date_of_birth": "1985-09-02"},
    {"date_of_birth": "1985-09-05"},
    {"date_of_birth": "1985-09-25"},
    {"date_of_birth": "2015-01-01"},
)


class SessionCourses(DealCourses):
    """Sequences of inputs on streams and over days, with trades in between."""

    def resume(self, choices: RandomStream) -> Inputs:
        """Open a stream, let something happen on it, disconnect, and resume it after its last
        message.

        Then all of it again, resuming from the instant at which it began.
        """
        began = format_instant(self._simulation.now)
        operation = load_contract().by_name(choices.choice(_RESUMABLE))
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        method = operation.full_methods[0]
        opened = yield StreamOpened(method, b"", who.participant, who.credential, PEER)
        if opened is None or not opened.stream:
            return
        for _ in range(choices.between(1, 2)):
            yield from self._trade(choices, symbol)
        if choices.chance(1, 2):
            yield self._do("instrument.settle", symbol, {"price": choices.choice(("0", "1"))})
        token = self._clients.tokens_of_streams.get(opened.stream, "")
        yield StreamHungUp(opened.stream, PEER)
        for _ in range(choices.between(1, 2)):
            yield from self._wait(NS_PER_S)
            yield from self._trade(choices, self._symbol(choices))
        if choices.chance(1, 3):
            yield self._do("maintenance.add", "", {"begins": "+1s", "length": "30s", "lead": "1s"})
            yield from self._wait(minutes(2))
        request = message_of(operation, {"resumeToken": token})
        resumed = yield StreamOpened(method, request, who.participant, who.credential, PEER)
        if resumed is not None and resumed.stream and choices.chance(3, 4):
            yield StreamHungUp(resumed.stream, PEER)
            request = message_of(operation, {"resumeTime": began})
            yield StreamOpened(method, request, who.participant, who.credential, PEER)

    def crowd(self, choices: RandomStream) -> Inputs:
        """Open more streams than a firm may have."""
        operation = load_contract().by_name(
            "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
        )
        who = choices.choice(self._partners())
        body = {"symbols": [self._symbol(choices)], "snapshotOnly": choices.chance(1, 4)}
        request = message_of(operation, body)
        for _ in range(_STREAMS_MAX):
            method = operation.full_methods[0]
            yield StreamOpened(method, request, who.participant, who.credential, PEER)

    def follow(self, choices: RandomStream) -> Inputs:
        """Follow a traded market on a retail socket, and exceed the socket's limits."""
        keys = self._simulation.exchange.firms.api_keys()[:2]
        if not keys:
            return
        symbol = self._symbol(choices)
        credential = VerifiedCredential(SCRIPT, choices.choice(keys).key_id)
        name, kinds = choices.choice(
            (("markets", ("TRADE", "MARKET_DATA_LITE")), ("private", ("ORDER", "POSITION")))
        )
        opened = yield StreamOpened(f"/v1/ws/{name}", b"", None, credential, PEER, True)
        if opened is None or not opened.stream:
            return
        many = [f"none-{number}" for number in range(101)]
        for number, kind in enumerate((*kinds, kinds[0])):
            slugs = many if number == len(kinds) else [symbol]
            asked = {
                "requestId": f"r{number}",
                "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}",
                "marketSlugs": slugs,
            }
            yield StreamFrame(opened.stream, json.encode({"subscribe": asked}), PEER)
        yield from self.sweep(choices)
        yield from self._trade(choices, symbol)

    def flood(self, choices: RandomStream) -> Inputs:
        """Repeat a read more often than any limit allows in a second."""
        who = choices.choice(self._partners())
        name = choices.choice(
            ("AccountsAPI.GetWhoAmI", "OrderEntryAPI.GetOpenOrders", "RefDataAPI.ListSymbols")
        )
        for _ in range(choices.between(4, 30)):
            yield self._call(choices, name, {}, who)

    def outlive(self, choices: RandomStream) -> Inputs:
        """Use an access token before and after its expiry."""
        yield from self._clients.inputs("token", choices)
        if not self._clients.callers.tokens:
            return
        token = self._clients.callers.tokens[-1]
        known = self._simulation.exchange.credentials.token(token.key)
        if known is None:
            return
        ends = known.expires + NS_PER_S * choices.choice((-1, 0, 1, 60))
        yield from self._wait(max(0, ends - self._simulation.now))
        yield self._call(choices, "AccountsAPI.GetWhoAmI", {}, CallIdentity(token, None))

    def account(self, choices: RandomStream) -> Inputs:
        """Trade a retail order of one contract as maker, and read its owner's account."""
        keys, symbol = self._simulation.exchange.firms.api_keys()[:2], self._symbol(choices)
        if not keys:
            return
        who = CallIdentity(VerifiedCredential(SCRIPT, choices.choice(keys).key_id), None)
        price = choices.between(47, 50)
        body = {
            "marketSlug": symbol,
            "intent": "ORDER_INTENT_BUY_LONG",
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": f"0.{price}", "currency": "USD"},
            "quantity": 1,
            "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }
        yield self._call(choices, "RetailOrdersAPI.CreateOrder", body, who)
        sale = self._order(choices, symbol, "SELL", price)
        yield self._call(choices, "OrderEntryAPI.InsertOrder", sale, self._partners()[0])
        yield self._call(choices, "RetailAccountAPI.GetBalances", {}, who)

    def removed(self, choices: RandomStream) -> Inputs:
        """Call an operation before and after a nearby date on which it is added or removed."""
        now, near = self._simulation.now, days(1)
        dates = [
            (at, operation)
            for operation in load_contract().operations
            if operation.kind == "unary" and operation.planes
            for at in (operation.since, operation.until)
            if at is not None and abs(at - now) < near
        ]
        if not dates:
            return
        at, operation = choices.choice(dates)
        yield from self._wait(max(0, at + NS_PER_S * choices.choice((-1, 0, 0, 60)) - now))
        yield from self._clients.inputs(f"call {operation.planes[0]} {operation.name}", choices)

    # ---- people

    def verify(self, choices: RandomStream) -> Inputs:
        """Verify a person, decide by hand, and start again."""
        firm = choices.choice(self._partners()).credential
        who = CallIdentity(firm, None)
        name = f"person-{choices.below(6)}"
        person: Body = {
            "address": _ADDRESS,
            "agreement": {"signed_at": "2026-09-08T17:59:00Z", "version": "PMX.ISV.SANDBOX.v1.0"},
            "date_of_birth": "1988-04-12",
            "email": "ada.moreno@example.com",
            "external_id": name,
            "first_name": "Ada",
            "ip_address": "203.0.113.7",
            "last_name": "Moreno",
            "phone_number": "+12125550123",
            "ssn": f"9001122{choices.below(8):02}",
            **choices.choice(_PEOPLE),
        }
        if choices.chance(2, 3):
            url = {"webhook_url": "https://127.0.0.1:9443/kyc"}
            yield self._call(choices, "KYCAPI.SetWebhookURL", url, who)
        yield self._call(choices, "KYCAPI.StartKYCVerification", person, who)
        if choices.chance(1, 2):
            decision = choices.choice(("approve", "reject", "review", "resubmit"))
            yield self._do("kyc.decide", name, {"decision": decision})
        yield from self._wait(minutes(choices.choice((1, 30))))
        yield self._call(choices, "KYCAPI.StartKYCVerification", person, who)

    def deaf(self, choices: RandomStream) -> Inputs:
        """Let a receiver fail every delivery for a while, raise events, and redeliver one by
        hand.
        """
        status = {"match": {"plane": "webhook"}, "act": {"status": 500}, "times": 12}
        yield self._do("fault.add", "", status)
        for _ in range(3):
            yield from self.verify(choices)
        yield from self._wait(minutes(20))
        for firm in self._simulation.exchange.firms.all():
            if firm.client_id:
                yield self._do("webhook.redeliver", firm.name, {})

    def index(self, choices: RandomStream) -> Inputs:
        """Set prices of an asset over a stretch of time, and read candles."""
        now = self._simulation.now // NS_PER_S
        body = {
            "assets": ["crypto:btc"],
            "from": str(now - choices.choice((60, 3600, 86_400, 10_000_000))),
            "to": str(now + choices.choice((-60, 0, 3600))),
            "bucket": f"ASSET_PRICE_BUCKET_{choices.choice(('1M', '1H', '1D'))}",
        }
        name = load_contract().by_name("GatewayAssetPricesAPI.GetAssetPriceHistory")
        nobody = CallIdentity(VerifiedCredential("none"), None)
        yield self._clients.call(choices, "gateway", name, body, nobody)
