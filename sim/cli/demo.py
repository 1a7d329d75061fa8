"""Walk through a partner's whole journey over real sockets.

The demo serves the quickstart, uses it as a partner would, and prints a timeline. It has HTTP,
gRPC and WebSocket clients, the credentials of the ready file, and a webhook receiver. The control
plane does what other parties would do: it moves the clock and settles the market. Exit
code 1 if a step fails.
"""

from __future__ import annotations

import argparse
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sim.cli.arguments import Options
from sim.read.layout import put

if TYPE_CHECKING:
    import aiohttp
    import grpc

    from sim.testing.exchange_fixture import ServedExchange

_WIDTH = 80  # of a line of the timeline

SECRET = "whsec_YSBkZW1vIHNlY3JldCBvZiAyNCBieXRlcw=="
QTY, PRICE = 40, "0.60"
# The same person is in the tutorial of this journey, which must be complete on its own.
PERSON = {
    "external_id": "customer-0001",
    "ssn": "900112233",
    "first_name": "Ada",
    "last_name": "Moreno",
    "date_of_birth": "1988-04-12",
    "email": "ada.moreno@example.com",
    "phone_number": "+12125550123",
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


class JourneyError(Exception):
    """A step of the journey failed."""


def expect(holds: object, otherwise: object) -> None:
    """End the journey if a condition does not hold."""
    if not holds:
        raise JourneyError(str(otherwise))


def add_arguments(parser: Options) -> None:
    parser.add_argument(
        "--journal",
        type=Path,
        default=Path("runs/demo.ndjson"),
        help="where to write the run's journal (default runs/demo.ndjson)",
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from sim.read.commands import sim_command
    from sim.run.loader.load import load_scenario
    from sim.testing.exchange_fixture import ServedExchange

    exchange = ServedExchange(load_scenario("quickstart"), journal=args.journal)
    try:
        asyncio.run(walk(exchange, sys.stdout))
    except JourneyError as error:
        put(f"the journey ended early: {error}")
        return 1
    except KeyboardInterrupt as stop:
        stop.add_note(f"in the middle of the journey; {args.journal} contains what happened before")
        raise
    finally:
        seed, digest = exchange.seed, exchange.digest
        exchange.close()
    # Two demos differ in the port of the webhook receiver, which its registration names.
    put("", f"seed {seed}, digest {digest} (with the receiver's port)")
    put(f"replay it: {sim_command('replay', args.journal)}")
    return 0


async def walk(exchange: ServedExchange, out: TextIO) -> None:
    """The journey, in three chapters. JourneyError if a step fails."""
    import aiohttp
    import grpc

    direct = [("grpc.enable_http_proxy", 0)]
    async with (
        aiohttp.ClientSession() as http,
        grpc.aio.insecure_channel(exchange.grpc, direct) as channel,
    ):
        journey = Journey(exchange, http, channel, out)
        await journey.onboard_a_customer()
        await journey.trade_with_a_retail_user()
        await journey.settle_and_get_paid()


class Journey:
    """What the partner and a retail user know during the journey."""

    def __init__(
        self,
        exchange: ServedExchange,
        http: aiohttp.ClientSession,
        channel: grpc.aio.Channel,
        out: TextIO,
    ) -> None:
        self.exchange, self.http, self.channel, self.out = exchange, http, channel, out
        self.firm = exchange.firms[0]
        self.headers: dict[str, str] = {}  # Authorization, and x-participant-id once there is one
        self.account = ""
        self.symbol = ""

    # ---- the client's side of each protocol

    async def authenticate(self) -> int:
        """Get a token with an assertion signed by the firm's RSA key. Returns its
        lifetime in seconds.
        """
        import time

        from sim.run.client.credentials import token_form

        form = token_form(self.firm, int(time.time()), f"demo-{time.time_ns()}")
        token = await self.json("POST", f"{self.exchange.auth}/oauth/token", data=form)
        self.headers["authorization"] = f"Bearer {token['access_token']}"
        return int(token["expires_in"])

    def retail_headers(self, verb: str, path: str) -> dict[str, str]:
        """Sign a retail request with the API key's Ed25519 secret."""
        import time

        from sim.run.client.credentials import retail_headers

        return retail_headers(self.exchange.api_keys[0], verb, path, time.time_ns() // 1_000_000)

    async def json(self, verb: str, url: str, **options: Any) -> Any:
        """Make an HTTP request that must succeed; returns the decoded answer."""
        async with self.http.request(verb, url, **options) as answer:
            body = await answer.json()
            expect(answer.status == 200, f"{verb} {url}: {answer.status} {body}")
            return body

    async def partner(self, verb: str, path: str, **options: Any) -> Any:
        """A partner's REST request."""
        return await self.json(verb, self.exchange.exchange + path, headers=self.headers, **options)

    async def retail(self, verb: str, path: str, **options: Any) -> Any:
        """A retail user's REST request."""
        headers = self.retail_headers(verb, path)
        return await self.json(verb, self.exchange.retail + path, headers=headers, **options)

    def rpc(self, name: str, request: Any, *, stream: bool = False) -> Any:
        """A partner's gRPC call."""
        from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
        from sim.contract.contract import load_contract

        operation = load_contract().by_name(name)
        make = self.channel.unary_stream if stream else self.channel.unary_unary
        call = make(
            operation.full_methods[0],
            request_serializer=protobuf_encoder(operation.request),
            response_deserializer=protobuf_decoder(operation.response),
        )
        return call(request, metadata=tuple(self.headers.items()), timeout=10)

    def say(self, party: str, action: str, result: object = "", *details: str) -> None:
        """Print a line of the timeline; a long result is on the next line."""
        line = f"{self.exchange.now:%H:%M:%SZ}  {party:<12}  {action:<33} {result}".rstrip()
        if len(line) > _WIDTH and result:
            self.say(party, action, "", str(result), *details)
            return
        put(line, file=self.out)
        for detail in details:
            put(f"{'':11}└ {detail}", file=self.out)

    # ---- the journey

    async def onboard_a_customer(self) -> None:
        from sim.contract.messages import exchange_cashmovement_v1 as cash

        put("", "1  A partner onboards a customer", file=self.out)
        receiver = self.exchange.webhooks.receiver
        lifetime = await self.authenticate()
        self.say("partner", "token by private_key_jwt", f"200, lives {lifetime} s")
        webhook = {"webhook_url": receiver.url, "signing_secret": SECRET}
        await self.partner("POST", "/v1/kyc/webhook", json=webhook)
        self.say("partner", "registers its webhook", receiver.wait(1)[0].payload["type"])
        started = await self.partner("POST", "/v1/kyc/start", json=PERSON)
        decision = started["status"]["decision"]
        # The verification is accepted, but the participant comes with the webhook.
        expect((decision, started["participantId"]) == ("ACCEPT", ""), started)
        self.say("partner", "starts verification of Ada Moreno", f'{decision}, participantId ""')
        fired = self.exchange.clock.advance("30m")
        self.say("tester", "moves the clock 30 minutes", f"{len(fired)} timers fired")
        approved = receiver.wait(2)[1]
        expect(approved.verify(SECRET) and approved.payload["type"] == "kyc.approved", approved)
        self.headers["x-participant-id"] = approved.payload["participant_id"]
        self.say("exchange", "posts kyc.approved", "signature verified")
        await self.authenticate()
        customer = PERSON["external_id"]
        status = await self.partner("GET", f"/v1/kyc/status?external_id={customer}")
        self.account = status["provisionedAccount"]
        transfer = cash.Transfer(
            reason=cash.TransferReason.TRANSFER_REASON_DEPOSIT,
            participant_account_id=self.account,
            amount="500.00",
            currency="USD",
            external_reference="demo",
        )
        request = cash.CreateCashMovementRequest(idempotency_key="demo-1", transfer=transfer)
        moved = await self.rpc("CashMovementService.CreateCashMovement", request)
        self.say("partner", "gRPC CreateCashMovement: $500.00", moved.cash_movement.workflow_id)
        self.say("partner", "reads the balance", f"${Decimal(await self.balance()):.2f}")

    async def balance(self) -> str:
        query = {"name": self.account, "currency": "USD"}
        answer = await self.partner("POST", "/v1/positions/balance", json=query)
        return str(answer["balance"])

    async def trade_with_a_retail_user(self) -> None:
        from sim.contract.messages import exchange_v1 as wire

        put("", "2  The customer trades with a retail user", file=self.out)
        self.symbol, instrument = await self.find_empty_book()
        orders, socket = await self.follow()
        await self.cross(instrument)
        fill = None
        while fill is None or fill.type != wire.ExecutionType.EXECUTION_TYPE_FILL:
            frame = await orders.read()
            fill = frame.update.executions[-1] if frame.update is not None else None
        self.say("order stream", "execution report", f"FILL, trade {fill.trade_id}")
        stats: dict[str, Any] = {}
        while not stats.get("lastTradePx"):
            frame = await socket.receive_json(timeout=5)
            stats = frame.get("marketData", {}).get("stats") or {}
        self.say("WebSocket", "marketData", f"last trade ${stats['lastTradePx']['value']}")
        orders.cancel()
        await socket.close()

    async def follow(self) -> tuple[Any, aiohttp.ClientWebSocketResponse]:
        """Open the partner's stream of orders and the user's socket, and read the first
        frame of each.
        """
        from sim.contract.messages import exchange_v1 as wire

        subscription = wire.CreateOrderSubscriptionRequest(symbols=[self.symbol])
        orders = self.rpc("OrderEntryAPI.CreateOrderSubscription", subscription, stream=True)
        expect((await orders.read()).snapshot, "the order stream does not begin with a snapshot")
        socket = await self.http.ws_connect(
            f"{self.exchange.retail}/v1/ws/markets",
            headers=self.retail_headers("GET", "/v1/ws/markets"),
        )
        kind = "SUBSCRIPTION_TYPE_MARKET_DATA"
        subscribe = {"requestId": "1", "subscriptionType": kind, "marketSlugs": [self.symbol]}
        await socket.send_json({"subscribe": subscribe})
        first = await socket.receive_json(timeout=5)
        expect("marketData" in first, "the WebSocket does not begin with a book")
        self.say("both", "open a gRPC stream and a WebSocket", "each begins with a snapshot")
        return orders, socket

    async def cross(self, instrument: dict[str, Any]) -> None:
        """The partner's order rests, and the retail user's order trades with it."""
        price = int(instrument["priceScale"]) * 60 // 100
        qty = QTY * max(1, int(instrument["fractionalQtyScale"]))
        order: dict[str, Any] = {
            "type": "ORDER_TYPE_LIMIT",
            "side": "SIDE_BUY",
            "symbol": self.symbol,
            "orderQty": str(qty),
            "price": str(price),
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            "clordId": "demo-1",
        }
        placed = await self.partner("POST", "/v1/trading/orders", json=order)
        self.say("partner", f"buys {QTY} YES at ${PRICE}", f"rests as {placed['orderId']}")
        order = {
            "marketSlug": self.symbol,
            "intent": "ORDER_INTENT_BUY_SHORT",
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": PRICE, "currency": "USD"},
            "quantity": QTY,
            "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
            "synchronousExecution": True,
        }
        crossed = await self.retail("POST", "/v1/orders", json=order)
        kinds = [row["type"].removeprefix("EXECUTION_TYPE_") for row in crossed["executions"]]
        expect(kinds == ["NEW", "FILL"], kinds)
        self.say("retail user", f"buys {QTY} NO (sells YES at ${PRICE})", ", ".join(kinds))

    async def find_empty_book(self) -> tuple[str, dict[str, Any]]:
        for symbol in self.exchange.symbols["open"]:
            book = await self.partner("GET", f"/v1/orderbook/{symbol}")
            if not book["bids"] and not book["offers"]:
                instrument = await self.partner("GET", f"/v1/refdata/instruments/{symbol}")
                return symbol, instrument["instrument"]
        raise JourneyError("no open instrument has an empty book")

    async def settle_and_get_paid(self) -> None:
        from decimal import Decimal
        from itertools import pairwise

        put("", "3  The market closes, settles and pays", file=self.out)
        control = self.exchange.control
        control("POST", f"/instruments/{self.symbol}/state", {"state": "CLOSED"})
        self.say("official", "closes the market", "CLOSED", self.symbol)
        settled = control("POST", f"/instruments/{self.symbol}/settle", {"price": "1"})
        self.say("official", "settles at $1: YES won", f"{settled['paid']} accounts paid")
        path = "/v1/funding/balance-ledger"
        ledger = await self.partner("GET", path, params={"account": self.account})
        entries = sorted(ledger["entries"], key=lambda entry: str(entry["updateTime"]))
        for before, after in pairwise(entries):
            expect(before["afterBalance"] == after["beforeBalance"], (before, after))
        balance = await self.balance()
        expect(Decimal(entries[-1]["afterBalance"]) == Decimal(balance), (entries, balance))
        self.say(
            "partner",
            "reads its ledger",
            f"balance ${balance}",
            *(f"{entry['entryType']:<16} → ${entry['afterBalance']}" for entry in entries),
        )
        retail = await self.retail("GET", "/v1/account/balances")
        self.say("retail user", "reads the balance", f"${retail['balances'][0]['currentBalance']}")
        accounts = control("GET", "/state/accounts")["accounts"]
        total = sum(Decimal(account["balance"]) for account in accounts)
        expect(total == 0, f"the books do not balance: {total}")
        self.say("auditor", f"adds up all {len(accounts)} accounts", "$0.00")
