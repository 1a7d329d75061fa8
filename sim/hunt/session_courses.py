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
from sim.hunt.callers import PEER, Who
from sim.hunt.clients import message_of
from sim.hunt.course_parts import Body, Inputs
from sim.hunt.order_courses import OrderCourses
from sim.kernel.entropy import Stream
from sim.kernel.instants import NS_PER_S, minutes

_RESUMABLE = (
    "DropCopyAPI.CreateDropCopySubscription",
    "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "DropCopyAPI.CreatePositionChangeSubscription",
    "DropCopyAPI.CreateInstrumentStateChangeSubscription",
)
_STREAMS_MAX = 21  # one more than a firm may have (rule S7)
_ADDRESS = {
    "address_line_1": "1 Main Street",
    "city": "Albany",
    "country": "US",
    "postal_code": "12207",
    "state": "NY",
}
# First names, addresses of mail and birthdays that choose an outcome (rule K5).
_PEOPLE: tuple[Body, ...] = (
    {},
    {"email": "reject@example.com"},
    {"email": "review@example.com"},
    {"date_of_birth": "1985-09-02"},
    {"date_of_birth": "1985-09-05"},
    {"date_of_birth": "1985-09-25"},
    {"date_of_birth": "2015-01-01"},
)


class SessionCourses(OrderCourses):
    """What happens on streams and over days, with trades in between."""

    def resume(self, choices: Stream) -> Inputs:
        """A stream with something on it, hung up, and taken up after its last message."""
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
        yield from self._trade(choices, self._symbol(choices))
        if choices.chance(1, 3):
            yield self._do("maintenance.add", "", {"begins": "+1s", "length": "30s", "lead": "1s"})
            yield from self._wait(minutes(2))
        request = message_of(operation, {"resumeToken": token})
        yield StreamOpened(method, request, who.participant, who.credential, PEER)

    def crowd(self, choices: Stream) -> Inputs:
        """More streams than a firm may have."""
        operation = load_contract().by_name(
            "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
        )
        who = choices.choice(self._partners())
        body = {"symbols": [self._symbol(choices)], "snapshotOnly": choices.chance(1, 4)}
        request = message_of(operation, body)
        for _ in range(_STREAMS_MAX):
            method = operation.full_methods[0]
            yield StreamOpened(method, request, who.participant, who.credential, PEER)

    def follow(self, choices: Stream) -> Inputs:
        """A retail socket that follows a market in which somebody trades, and asks for too much."""
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

    def flood(self, choices: Stream) -> Inputs:
        """The same read, more often than any limit allows in a second."""
        who = choices.choice(self._partners())
        name = choices.choice(("AccountsAPI.GetWhoAmI", "OrderEntryAPI.GetOpenOrders"))
        for _ in range(choices.between(4, 30)):
            yield self._call(choices, name, {}, who)

    # ---- people

    def verify(self, choices: Stream) -> Inputs:
        """A person who is verified, decided by hand, and starts again."""
        firm = choices.choice(self._partners()).credential
        who = Who(firm, None)
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

    def deaf(self, choices: Stream) -> Inputs:
        """A receiver that fails every delivery for a while, events meanwhile, and one by hand."""
        status = {"match": {"plane": "webhook"}, "act": {"status": 500}, "times": 12}
        yield self._do("fault.add", "", status)
        for _ in range(3):
            yield from self.verify(choices)
        yield from self._wait(minutes(20))
        for firm in self._simulation.exchange.firms.all():
            if firm.client_id:
                yield self._do("webhook.redeliver", firm.name, {})

    def index(self, choices: Stream) -> Inputs:
        """Prices of an asset over a stretch of time, in candles."""
        now = self._simulation.now // NS_PER_S
        body = {
            "assets": ["crypto:btc"],
            "from": str(now - choices.choice((60, 3600, 86_400, 10_000_000))),
            "to": str(now + choices.choice((-60, 0, 3600))),
            "bucket": f"ASSET_PRICE_BUCKET_{choices.choice(('1M', '1H', '1D'))}",
        }
        name = load_contract().by_name("GatewayAssetPricesAPI.GetAssetPriceHistory")
        nobody = Who(VerifiedCredential("none"), None)
        yield self._clients.call(choices, "gateway", name, body, nobody)
