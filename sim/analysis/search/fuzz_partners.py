"""What partners and retail users do in a storm besides entering orders over REST: gRPC calls,
streams that come and go, verifications and their webhooks.

Each method draws one step as a document. Names of streams, people and client order ids are few, so
that sessions take each other over, verifications are begun twice and cancels find something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sim.kernel.entropy import Stream
from sim.world.accounts import Parties

Document: TypeAlias = dict[str, Any]

_BY_USER = (
    "OrderEntryAPI.CreateOrderSubscription",
    "DropCopyAPI.CreateDropCopySubscription",
    "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "DropCopyAPI.CreatePositionChangeSubscription",
    "PositionAPI.CreatePositionSubscription",
    "FundingAPI.CreateFundingTransactionSubscription",
)
LEDGER = "FundingAPI.CreateBalanceLedgerSubscription"
_BY_SYMBOL = (
    "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
    "DropCopyAPI.CreateInstrumentStateChangeSubscription",
)
BIDIRECTIONAL = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
_MARKET_TYPES = ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE")
_PRIVATE_TYPES = ("ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "RFQ")
_READS = (
    "OrderEntryAPI.GetOpenOrders",
    "AccountsAPI.GetWhoAmI",
    "ReportAPI.SearchOrders",
    "ReportAPI.SearchTrades",
)
_BIRTHS = (
    "1988-04-12",
    "1988-04-12",
    "1985-09-02",
    "1985-09-05",
    "1985-09-25",
    "1985-10-02",
    "1985-09-04",
)
_STREAMS, _PEOPLE, _CLIENT_IDS = 12, 6, 4
_RECEIVER = "http://127.0.0.1:9/kyc"


class Partners:
    """Draws steps of partners and retail users on the storm's markets, given as (symbol, price
    scale, units of a tick).
    """

    def __init__(
        self, luck: Stream, parties: Parties, markets: Sequence[tuple[str, int, int]]
    ) -> None:
        self._luck = luck
        self._markets = markets
        self._symbols = [symbol for symbol, _, _ in markets]
        self._accounts = {
            user.name: user.account
            for firm in parties.firms
            for user in firm.users
            if firm.client_id
        }
        self._users = list(self._accounts)
        self._firms = [firm.name for firm in parties.firms if firm.client_id]
        self._opened: dict[str, None] = {}
        self.keys = [key.key_id for key in parties.api_keys]

    @property
    def anybody(self) -> bool:
        """Whether there is a partner with participants."""
        return bool(self._users)

    # ---- gRPC

    def rpc(self) -> Document:
        """A unary call: an order, a change of one, a cancel, a read."""
        luck = self._luck
        draw = luck.choice(
            (self._insert, self._insert, self._replace, self._cancel, self._cancel, self._read)
        )
        rpc, body = draw()
        return {"call": {"plane": "grpc", "rpc": rpc, "as": luck.choice(self._users), "json": body}}

    def _insert(self) -> tuple[str, Document]:
        luck = self._luck
        symbol, scale, tick = luck.choice(self._markets)
        body = {
            "type": "ORDER_TYPE_LIMIT",
            "side": luck.choice(("SIDE_BUY", "SIDE_SELL")),
            "symbol": symbol,
            "orderQty": str(luck.log_between(1, 5_000)),
            "price": str(self._price(scale, tick)),
            "timeInForce": (
                "TIME_IN_FORCE_"
                + luck.choice(("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL"))
            ),
            "clordId": self._clord_id(),
        }
        return "OrderEntryAPI.InsertOrder", body

    def _replace(self) -> tuple[str, Document]:
        luck = self._luck
        symbol, scale, tick = luck.choice(self._markets)
        body = {
            "clordId": self._clord_id(),
            "symbol": symbol,
            "price": str(self._price(scale, tick)),
            "orderQty": str(luck.log_between(1, 5_000)),
        }
        return "OrderEntryAPI.CancelReplaceOrder", body

    def _cancel(self) -> tuple[str, Document]:
        return "OrderEntryAPI.CancelOrder", {
            "clordId": self._clord_id(),
            "symbol": self._luck.choice(self._symbols),
        }

    def _read(self) -> tuple[str, Document]:
        return self._luck.choice(_READS), {}

    def _price(self, scale: int, tick: int) -> int:
        return self._luck.between(scale * 47 // (100 * tick), scale * 53 // (100 * tick)) * tick

    def _clord_id(self) -> str:
        return f"storm-{self._luck.below(_CLIENT_IDS)}"

    # ---- streams

    def subscription(self) -> Document:
        """A stream opened, over gRPC or on a WebSocket."""
        luck = self._luck
        kinds = [self._by_user, self._by_symbol, self._conversation] if self._users else []
        if self.keys:
            kinds += [self._markets_socket, self._private_socket]
        name = f"storm-{luck.below(_STREAMS)}"
        self._opened[name] = None
        return {"subscribe": {"name": name, **luck.choice(kinds)()}}

    def _by_user(self) -> Document:
        user = self._luck.choice(self._users)
        if self._luck.chance(1, 6):
            return {"rpc": LEDGER, "as": user, "json": {"account": self._accounts[user]}}
        return {"rpc": self._luck.choice(_BY_USER), "as": user}

    def _by_symbol(self) -> Document:
        luck = self._luck
        return {
            "rpc": luck.choice(_BY_SYMBOL),
            "as": luck.choice(self._users),
            "json": {"symbols": self._some()},
        }

    def _conversation(self) -> Document:
        luck = self._luck
        return {
            "rpc": BIDIRECTIONAL,
            "as": luck.choice(self._users),
            "send": [{"subscribe": {"symbols": self._some()}}],
        }

    def _markets_socket(self) -> Document:
        return {
            "web_socket": "/v1/ws/markets",
            "as": self._luck.choice(self.keys),
            "send": [self._wish(_MARKET_TYPES)],
        }

    def _private_socket(self) -> Document:
        return {
            "web_socket": "/v1/ws/private",
            "as": self._luck.choice(self.keys),
            "send": [self._wish(_PRIVATE_TYPES)],
        }

    def _wish(self, types: Sequence[str]) -> Document:
        luck = self._luck
        wish = {
            "requestId": f"r{luck.below(4)}",
            "subscriptionType": f"SUBSCRIPTION_TYPE_{luck.choice(types)}",
        }
        return {"subscribe": {**wish, "marketSlugs": self._some()} if luck.chance(2, 3) else wish}

    def frame(self) -> Document:
        """Something said on a stream: it may be none that listens, or have ended. The first opens
        one.
        """
        luck = self._luck
        if not self._opened:
            return self.subscription()
        frames: tuple[Document, ...] = (
            {"keepalive": {}},
            {"subscribe": {"symbols": self._some()}},
            {"unsubscribe": {"symbols": self._some()}},
            self._wish(_MARKET_TYPES),
            {"unsubscribe": {"requestId": f"r{luck.below(4)}"}},
            {"ping": {}},
        )
        return {
            "send": {"stream": luck.choice(list(self._opened)), "frames": [luck.choice(frames)]}
        }

    def disconnect(self) -> Document:
        """A stream left by its client. The first opens one."""
        return (
            {"disconnect": self._luck.choice(list(self._opened))}
            if self._opened
            else self.subscription()
        )

    def _some(self) -> list[str]:
        return (
            list(self._symbols) if self._luck.chance(1, 2) else [self._luck.choice(self._symbols)]
        )

    # ---- verifications

    def verification(self) -> Document:
        """A person verified, looked up or decided about, or the webhook that tells of it."""
        luck = self._luck
        person = luck.below(_PEOPLE)
        kinds = (self._status, self._decision, self._document, self._prefill, self._code)
        draw = luck.choice(
            (self._start, self._start, self._start, self._register, self._register, *kinds)
        )
        return draw(person)

    def _exchange(self, **call: Any) -> Document:
        return {"call": {"plane": "exchange", "as": self._luck.choice(self._firms), **call}}

    def _start(self, person: int) -> Document:
        luck = self._luck
        # now and then somebody else's
        number = person if luck.chance(5, 6) else luck.below(_PEOPLE)
        body = {
            "external_id": f"storm-{person}",
            "ssn": f"9001122{number:02}",
            "first_name": "Ada",
            "last_name": "Moreno",
            "date_of_birth": luck.choice(_BIRTHS),
            "email": f"person{person}@example.com",
            "phone_number": f"+121255501{person:02}",
            "address": {
                "address_line_1": "1 Main Street",
                "city": "Albany",
                "state": "NY",
                "postal_code": "12207",
                "country": "US",
            },
            "agreement": {"version": "PMX.ISV.SANDBOX.v1.0", "signed_at": "2026-09-08T17:59:00Z"},
            "ip_address": "203.0.113.7",
        }
        return self._exchange(
            post="/v1/kyc/start",
            json={**body, "docv_eligible": True} if luck.chance(1, 3) else body,
        )

    def _status(self, person: int) -> Document:
        return self._exchange(get="/v1/kyc/status", query={"external_id": f"storm-{person}"})

    def _register(self, person: int) -> Document:
        return self._exchange(post="/v1/kyc/webhook", json={"webhook_url": _RECEIVER})

    def _decision(self, person: int) -> Document:
        return {
            "kyc": {
                "external_id": f"storm-{person}",
                "decision": self._luck.choice(("approve", "reject", "review", "resubmit")),
            }
        }

    def _document(self, person: int) -> Document:
        return {
            "kyc": {
                "external_id": f"storm-{person}",
                "document": self._luck.choice(("uploaded", "failed")),
            }
        }

    def _prefill(self, person: int) -> Document:
        body = {
            "date_of_birth": "1988-04-12",
            "phone_number": f"+121255501{person:02}",
            "user_id": f"storm-{person}",
            "ip_address": "203.0.113.7",
        }
        return self._exchange(post="/v1/kyc/prefill", json=body)

    def _code(self, person: int) -> Document:
        return self._exchange(
            post="/v1/kyc/prefill/otp", json={"external_id": f"storm-{person}", "otp": "1234"}
        )
