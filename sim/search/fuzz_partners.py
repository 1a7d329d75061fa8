"""Random steps of partners and retail users: gRPC calls, streams, verifications and webhooks.

Each method draws one step as a document. There are few names of streams, people and client order
ids, so that sessions replace each other, verifications are started twice, and cancels find an
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.kernel.entropy import RandomStream
from sim.search.generator import EXCHANGE_TIFS, Document, Terms, call, limit_order
from sim.world.start.accounts import OpeningParties

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
    *("1988-04-12", "1988-04-12", "1985-09-02", "1985-09-05"),
    *("1985-09-25", "1985-10-02", "1985-09-04"),
)
_TOWN = {"city": "Albany", "state": "NY", "postal_code": "12207", "country": "US"}
_ADDRESS = {"address_line_1": "1 Main Street", **_TOWN}
_STREAMS, _PEOPLE, _CLIENT_IDS = 12, 6, 4
_RECEIVER = "http://127.0.0.1:9/kyc"


class Partners:
    """Draws steps of partners and retail users on the fuzzed markets."""

    def __init__(
        self, rng: RandomStream, parties: OpeningParties, markets: Sequence[Terms]
    ) -> None:
        self._rng = rng
        self._markets = markets
        self._symbols = [terms.symbol for terms in markets]
        partners = [firm for firm in parties.firms if firm.client_id]
        self._accounts = {user.name: user.account for firm in partners for user in firm.users}
        self._users = list(self._accounts)
        self._firms = [firm.name for firm in partners]
        self._opened: dict[str, None] = {}
        self.keys = [key.key_id for key in parties.api_keys]

    @property
    def has_participants(self) -> bool:
        """Whether there is a partner with participants."""
        return bool(self._users)

    # ---- gRPC

    def rpc(self) -> Document:
        """Return a unary call: an order, a change of one, a cancel, a read."""
        rng = self._rng
        kinds = (self._insert, self._replace, self._cancel)
        rpc, body = rng.choice((self._insert, *kinds, self._cancel, self._read))()
        return call("grpc", rng.choice(self._users), ("rpc", rpc), body)

    def _insert(self) -> tuple[str, Document]:
        rng = self._rng
        body = {
            **limit_order(rng, rng.choice(self._markets), 5_000),
            "timeInForce": f"TIME_IN_FORCE_{rng.choice(EXCHANGE_TIFS)}",
            "clordId": self._clord_id(),
        }
        return "OrderEntryAPI.InsertOrder", body

    def _replace(self) -> tuple[str, Document]:
        rng = self._rng
        terms = rng.choice(self._markets)
        body = {
            "clordId": self._clord_id(),
            "symbol": terms.symbol,
            "price": str(terms.near_middle(rng)),
            "orderQty": str(rng.log_between(1, 5_000)),
        }
        return "OrderEntryAPI.CancelReplaceOrder", body

    def _cancel(self) -> tuple[str, Document]:
        body = {"clordId": self._clord_id(), "symbol": self._rng.choice(self._symbols)}
        return "OrderEntryAPI.CancelOrder", body

    def _read(self) -> tuple[str, Document]:
        return self._rng.choice(_READS), {}

    def _clord_id(self) -> str:
        return f"fuzz-{self._rng.below(_CLIENT_IDS)}"

    # ---- streams

    def subscription(self) -> Document:
        """Return the opening of a stream, over gRPC or on a WebSocket."""
        rng = self._rng
        kinds = [self._by_user, self._by_symbol, self._conversation] if self._users else []
        if self.keys:
            kinds += [self._markets_socket, self._private_socket]
        name = f"fuzz-{rng.below(_STREAMS)}"
        self._opened[name] = None
        return {"subscribe": {"name": name, **rng.choice(kinds)()}}

    def _by_user(self) -> Document:
        user = self._rng.choice(self._users)
        if self._rng.chance(1, 6):
            return {"rpc": LEDGER, "as": user, "json": {"account": self._accounts[user]}}
        return {"rpc": self._rng.choice(_BY_USER), "as": user}

    def _by_symbol(self) -> Document:
        rpc, user = self._rng.choice(_BY_SYMBOL), self._rng.choice(self._users)
        return {"rpc": rpc, "as": user, "json": {"symbols": self._symbols_drawn()}}

    def _conversation(self) -> Document:
        user = self._rng.choice(self._users)
        subscribe = {"subscribe": {"symbols": self._symbols_drawn()}}
        return {"rpc": BIDIRECTIONAL, "as": user, "send": [subscribe]}

    def _markets_socket(self) -> Document:
        return self._socket("/v1/ws/markets", _MARKET_TYPES)

    def _private_socket(self) -> Document:
        return self._socket("/v1/ws/private", _PRIVATE_TYPES)

    def _socket(self, path: str, types: Sequence[str]) -> Document:
        key = self._rng.choice(self.keys)
        return {"web_socket": path, "as": key, "send": [self._subscribe(types)]}

    def _subscribe(self, types: Sequence[str]) -> Document:
        rng = self._rng
        request: Document = {"requestId": f"r{rng.below(4)}"}
        request["subscriptionType"] = f"SUBSCRIPTION_TYPE_{rng.choice(types)}"
        if rng.chance(2, 3):
            request["marketSlugs"] = self._symbols_drawn()
        return {"subscribe": request}

    def frame(self) -> Document:
        """Return a frame on a stream, which may not accept frames or may have ended.

        Opens a stream if there is none.
        """
        rng = self._rng
        if not self._opened:
            return self.subscription()
        frames: tuple[Document, ...] = (
            {"keepalive": {}},
            {"subscribe": {"symbols": self._symbols_drawn()}},
            {"unsubscribe": {"symbols": self._symbols_drawn()}},
            self._subscribe(_MARKET_TYPES),
            {"unsubscribe": {"requestId": f"r{rng.below(4)}"}},
            {"ping": {}},
        )
        return {"send": {"stream": rng.choice(list(self._opened)), "frames": [rng.choice(frames)]}}

    def disconnect(self) -> Document:
        """Return the disconnection of a stream. Opens a stream if there is none."""
        if not self._opened:
            return self.subscription()
        return {"disconnect": self._rng.choice(list(self._opened))}

    def _symbols_drawn(self) -> list[str]:
        return list(self._symbols) if self._rng.chance(1, 2) else [self._rng.choice(self._symbols)]

    # ---- verifications

    def verification(self) -> Document:
        """Return a verification's start, status or decision, or the webhook's registration."""
        rng = self._rng
        person = rng.below(_PEOPLE)
        kinds = (self._status, self._decision, self._document, self._prefill, self._code)
        often = (*(self._start,) * 3, *(self._register,) * 2)
        return rng.choice((*often, *kinds))(person)

    def _exchange(self, **call: Any) -> Document:
        return {"call": {"plane": "exchange", "as": self._rng.choice(self._firms), **call}}

    def _start(self, person: int) -> Document:
        rng = self._rng
        # Occasionally, the number of another person.
        number = person if rng.chance(5, 6) else rng.below(_PEOPLE)
        body: Document = {
            "external_id": f"fuzz-{person}",
            "ssn": f"9001122{number:02}",
            "first_name": "Ada",
            "last_name": "Moreno",
            "date_of_birth": rng.choice(_BIRTHS),
            "email": f"person{person}@example.com",
            "phone_number": f"+121255501{person:02}",
            "address": _ADDRESS,
            "agreement": {"version": "PMX.ISV.SANDBOX.v1.0", "signed_at": "2026-09-08T17:59:00Z"},
            "ip_address": "203.0.113.7",
        }
        if rng.chance(1, 3):
            body["docv_eligible"] = True
        return self._exchange(post="/v1/kyc/start", json=body)

    def _status(self, person: int) -> Document:
        return self._exchange(get="/v1/kyc/status", query={"external_id": f"fuzz-{person}"})

    def _register(self, person: int) -> Document:
        return self._exchange(post="/v1/kyc/webhook", json={"webhook_url": _RECEIVER})

    def _decision(self, person: int) -> Document:
        decision = self._rng.choice(("approve", "reject", "review", "resubmit"))
        return {"kyc": {"external_id": f"fuzz-{person}", "decision": decision}}

    def _document(self, person: int) -> Document:
        result = self._rng.choice(("uploaded", "failed"))
        return {"kyc": {"external_id": f"fuzz-{person}", "document": result}}

    def _prefill(self, person: int) -> Document:
        body = {
            "date_of_birth": "1988-04-12",
            "phone_number": f"+121255501{person:02}",
            "user_id": f"fuzz-{person}",
            "ip_address": "203.0.113.7",
        }
        return self._exchange(post="/v1/kyc/prefill", json=body)

    def _code(self, person: int) -> Document:
        body = {"external_id": f"fuzz-{person}", "otp": "1234"}
        return self._exchange(post="/v1/kyc/prefill/otp", json=body)
