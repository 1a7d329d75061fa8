"""`sim demo`: a whole partner journey over real sockets, told as a timeline.

It uses the service as a partner would: HTTP, gRPC and WebSocket clients against the addresses of a
served quickstart, credentials from its ready file, a webhook receiver of its own. The control plane
only plays the parts that are not the partner's: the clock, and the official who settles the market.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import aiohttp
import grpc
from aiohttp import web

from sim.analysis.timeline import Row, write
from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.contract import load_contract
from sim.kernel.instants import parse_instant
from sim.messages import Message
from sim.messages import exchange_cashmovement_v1 as cash
from sim.messages import exchange_v1 as wire

SECRET = "whsec_" + base64.b64encode(b"a demo secret of 24 bytes").decode()


class Broken(Exception):
    """The journey did not go as it must."""


def must(holds: object, what: str) -> None:
    """Refuse to go on when something does not hold."""
    if not holds:
        raise Broken(what)


class Teller:
    """Prints each step with the virtual time at which it happened."""

    def __init__(self, http: aiohttp.ClientSession, control: str, out: TextIO) -> None:
        self._http = http
        self._control = control
        self._out = out
        self._rows: list[Row] = []

    async def control(self, verb: str, path: str, body: object = None) -> Any:
        """A call of the control plane."""
        async with self._http.request(verb, f"{self._control}/_sim/v1{path}", json=body) as answer:
            found = await answer.json(content_type=None)
            must(answer.status < 400, f"{verb} {path}: {answer.status} {found}")
            return found

    async def say(
        self, who: str, what: str, result: str, *details: str, good: bool | None = True
    ) -> None:
        """One line."""
        now = parse_instant((await self.control("GET", "/clock"))["now"])
        self._rows.append(Row(now, who, what, result, good, details))

    def chapter(self, title: str) -> None:
        """Print what was said since the last chapter, and the next title."""
        if self._rows:
            write(iter(self._rows), self._out)
            self._rows = []
        if title:
            print(f"\n{title}", file=self._out)


class Partner:
    """A partner firm: its token, REST calls and gRPC calls, for one participant at a time."""

    def __init__(self, http: aiohttp.ClientSession, ready: dict[str, Any]) -> None:
        self._http = http
        self.ready = ready
        self.firm: dict[str, Any] = ready["firms"][0]
        self.token = ""
        self.participant = ""
        self._channel = grpc.aio.insecure_channel(ready["grpc"])

    async def authenticate(self) -> int:
        """Fetch a token by private_key_jwt; returns its life in seconds."""
        import jwt

        now = int(time.time())
        client = self.firm["client_id"]
        claims = {
            "iss": client,
            "sub": client,
            "aud": self.firm["audience"],
            "iat": now,
            "exp": now + 240,
            "jti": f"demo-{time.time_ns()}",
        }
        form = {
            "grant_type": "client_credentials",
            "client_id": self.firm["client_id"],
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode(
                claims, Path(self.firm["private_key_path"]).read_bytes(), algorithm="RS256"
            ),
            "audience": self.firm["audience"],
        }
        async with self._http.post(f"{self.ready['auth']}/oauth/token", data=form) as answer:
            found = await answer.json()
            must(answer.status == 200, f"token: {found}")
            self.token = found["access_token"]
            return int(found["expires_in"])

    def headers(self) -> dict[str, str]:
        """Credentials of a call."""
        sent = {"authorization": f"Bearer {self.token}"}
        return {**sent, "x-participant-id": self.participant} if self.participant else sent

    async def rest(self, verb: str, path: str, **options: Any) -> Any:
        """A REST call that must succeed."""
        async with self._http.request(
            verb, self.ready["exchange"] + path, headers=self.headers(), **options
        ) as answer:
            found = await answer.json()
            must(answer.status == 200, f"{verb} {path}: {answer.status} {found}")
            return found

    async def call(self, operation: str, request: Message) -> Any:
        """A unary gRPC call."""
        found = load_contract().by_name(operation)
        method = self._channel.unary_unary(
            found.full_methods[0],
            request_serializer=protobuf_encoder(found.request),
            response_deserializer=protobuf_decoder(found.response),
        )
        return await method(request, metadata=tuple(self.headers().items()), timeout=5)

    def stream(self, operation: str, request: Message) -> grpc.aio.UnaryStreamCall[Any, Any]:
        """A gRPC server stream."""
        found = load_contract().by_name(operation)
        method = self._channel.unary_stream(
            found.full_methods[0],
            request_serializer=protobuf_encoder(found.request),
            response_deserializer=protobuf_decoder(found.response),
        )
        return method(request, metadata=tuple(self.headers().items()))

    async def close(self) -> None:
        """Close the gRPC channel."""
        await self._channel.close(None)


class Trader:
    """A retail account with an API key."""

    def __init__(self, http: aiohttp.ClientSession, ready: dict[str, Any]) -> None:
        self._http = http
        self._base = ready["retail"]
        self.key: dict[str, str] = ready["api_keys"][0]

    def headers(self, verb: str, path: str) -> dict[str, str]:
        """The three signature headers."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        stamp = str(time.time_ns() // 1_000_000)
        signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(self.key["secret_key"])[:32])
        signature = base64.b64encode(signer.sign(f"{stamp}{verb}{path}".encode())).decode()
        return {
            "X-PM-Access-Key": self.key["key_id"],
            "X-PM-Timestamp": stamp,
            "X-PM-Signature": signature,
        }

    async def rest(self, verb: str, path: str, **options: Any) -> Any:
        """A REST call that must succeed."""
        async with self._http.request(
            verb, self._base + path, headers=self.headers(verb, path), **options
        ) as answer:
            found = await answer.json()
            must(answer.status == 200, f"{verb} {path}: {answer.status} {found}")
            return found

    async def socket(self, path: str) -> aiohttp.ClientWebSocketResponse:
        """An open WebSocket."""
        return await self._http.ws_connect(self._base + path, headers=self.headers("GET", path))


class Receiver:
    """A webhook receiver that checks every signature (Standard Webhooks)."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.url = ""

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        content = (
            f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode()
            + body
        )
        wanted = base64.b64encode(
            hmac.digest(base64.b64decode(SECRET.removeprefix("whsec_")), content, hashlib.sha256)
        ).decode()
        signatures = [
            part.partition(",")[2] for part in request.headers["webhook-signature"].split()
        ]
        if not any(hmac.compare_digest(wanted, given) for given in signatures):
            return web.Response(status=401)
        self.events.append(await request.json())
        return web.Response(status=204)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Receiver]:
        """Listens on a free port of loopback."""
        runner = web.ServerRunner(web.Server(self._take))  # type: ignore[arg-type]
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhooks"
        try:
            yield self
        finally:
            await runner.cleanup()


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


async def journey(ready: dict[str, Any], out: TextIO) -> None:
    """The whole journey against a served quickstart. Raises Broken where it does not go as it must."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        teller = Teller(http, ready["control"], out)
        partner = Partner(http, ready)
        stack.push_async_callback(partner.close)
        trader = Trader(http, ready)
        receiver = await stack.enter_async_context(Receiver().running())
        account = await _onboard(teller, partner, receiver)
        symbol = await _trade(teller, partner, trader, account)
        await _settle(teller, partner, trader, account, symbol)
        teller.chapter("")


async def _onboard(teller: Teller, partner: Partner, receiver: Receiver) -> str:
    teller.chapter("1  A partner onboards a customer")
    life = await partner.authenticate()
    await teller.say("partner", "token by private_key_jwt", f"200, lives {life} s")
    await partner.rest(
        "POST", "/v1/kyc/webhook", json={"webhook_url": receiver.url, "signing_secret": SECRET}
    )
    must(
        [event["type"] for event in receiver.events] == ["webhook.test"],
        "the test delivery did not arrive",
    )
    await teller.say("partner", "registers its webhook", "test delivery signed and verified")
    started = await partner.rest("POST", "/v1/kyc/start", json=PERSON)
    must(
        started["status"]["decision"] == "ACCEPT" and started["participantId"] == "",
        f"not the empty participantId window: {started}",
    )
    await teller.say(
        "partner", "starts verification of Ada Moreno", 'ACCEPT / CLOSED, participantId ""'
    )
    moved = await teller.control("POST", "/clock/advance", {"by": "30m"})
    await teller.say(
        "tester",
        "moves the clock 30 minutes",
        ", ".join(one["timer"] for one in moved["fired"]),
        good=None,
    )
    must(receiver.events[-1]["type"] == "kyc.approved", f"no approval: {receiver.events}")
    partner.participant = receiver.events[-1]["participant_id"]
    await teller.say("exchange", "posts kyc.approved", "signature verified", partner.participant)
    await partner.authenticate()
    status = await partner.rest("GET", f"/v1/kyc/status?external_id={PERSON['external_id']}")
    account: str = status["provisionedAccount"]
    moved_cash = await partner.call(
        "CashMovementService.CreateCashMovement",
        cash.CreateCashMovementRequest(
            idempotency_key="demo-deposit",
            transfer=cash.Transfer(
                reason=cash.TransferReason.TRANSFER_REASON_DEPOSIT,
                participant_account_id=account,
                amount="500.00",
                currency="USD",
                external_reference="demo",
            ),
        ),
    )
    await teller.say(
        "partner", "gRPC CreateCashMovement, deposit $500.00", moved_cash.cash_movement.workflow_id
    )
    balance = await partner.rest(
        "POST", "/v1/positions/balance", json={"name": account, "currency": "USD"}
    )
    must(Decimal(balance["balance"]) == 500, f"not funded: {balance}")
    await teller.say(
        "partner",
        "reads the balance",
        f"${balance['balance']}, buying power ${balance['buyingPower']}",
    )
    return account


async def _quiet_symbol(partner: Partner, ready_symbols: list[str]) -> str:
    for symbol in ready_symbols:
        book = await partner.rest("GET", f"/v1/orderbook/{symbol}")
        if not book["bids"] and not book["offers"]:
            return symbol
    raise Broken("no open instrument has an empty book")


async def _trade(teller: Teller, partner: Partner, trader: Trader, account: str) -> str:
    teller.chapter("2  They trade with a retail user")
    symbol = await _quiet_symbol(partner, partner.ready["symbols"]["open"])
    instrument = (await partner.rest("GET", f"/v1/refdata/instruments/{symbol}"))["instrument"]
    price_scale, qty_scale = (
        int(instrument["priceScale"]),
        max(1, int(instrument["fractionalQtyScale"])),
    )
    orders = partner.stream(
        "OrderEntryAPI.CreateOrderSubscription",
        wire.CreateOrderSubscriptionRequest(symbols=[symbol]),
    )
    must(
        getattr(await orders.read(), "snapshot", None) is not None,
        "the order stream does not begin with a snapshot",
    )
    market = partner.stream(
        "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
        wire.CreateMarketDataSubscriptionRequest(symbols=[symbol]),
    )
    must(
        getattr(await market.read(), "update", None) is not None,
        "the market data stream does not begin with a snapshot",
    )
    socket = await trader.socket("/v1/ws/markets")
    await socket.send_json(
        {
            "subscribe": {
                "requestId": "demo",
                "subscriptionType": "SUBSCRIPTION_TYPE_MARKET_DATA",
                "marketSlugs": [symbol],
            }
        }
    )
    must(
        "marketData" in await socket.receive_json(timeout=5),
        "the retail socket does not begin with a book",
    )
    await teller.say("both", "open gRPC and WebSocket streams", "each begins with a snapshot")
    qty = 40
    placed = await partner.rest(
        "POST",
        "/v1/trading/orders",
        json={
            "type": "ORDER_TYPE_LIMIT",
            "side": "SIDE_BUY",
            "symbol": symbol,
            "orderQty": str(qty * qty_scale),
            "price": str(price_scale * 60 // 100),
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            "clordId": "demo-1",
            "account": account,
        },
    )
    await teller.say(
        "partner",
        f"POST /v1/trading/orders: buy {qty} YES at $0.60",
        f"rests as {placed['orderId']}",
        symbol,
    )
    crossed = await trader.rest(
        "POST",
        "/v1/orders",
        json={
            "marketSlug": symbol,
            "intent": "ORDER_INTENT_BUY_SHORT",
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": "0.60", "currency": "USD"},
            "quantity": qty,
            "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
            "synchronousExecution": True,
        },
    )
    kinds = [
        execution["type"].removeprefix("EXECUTION_TYPE_") for execution in crossed["executions"]
    ]
    must(kinds == ["NEW", "FILL"], f"the retail order did not fill: {kinds}")
    await teller.say(
        "retail user", f"POST /v1/orders: buy {qty} NO (sells YES at $0.60)", ", ".join(kinds)
    )
    await _see_fills(teller, orders, market, socket)
    orders.cancel()
    market.cancel()
    await socket.close()
    return symbol


async def _see_fills(
    teller: Teller, orders: Any, market: Any, socket: aiohttp.ClientWebSocketResponse
) -> None:
    async def until(read: Any, seen: Any) -> Any:
        async with asyncio.timeout(5):
            while True:
                frame = await read()
                if seen(frame):
                    return frame

    filled = await until(
        orders.read,
        lambda frame: (
            frame.update is not None
            and any(
                e.type == wire.ExecutionType.EXECUTION_TYPE_FILL for e in frame.update.executions
            )
        ),
    )
    fill = filled.update.executions[-1]
    await teller.say(
        "gRPC order stream",
        "execution report",
        f"FILL, trade {fill.trade_id}, rebate {-fill.commission_notional_collected} notional units",
    )
    quoted = await until(
        market.read,
        lambda frame: (
            frame.update is not None
            and frame.update.stats is not None
            and frame.update.stats.last_trade_px
        ),
    )
    await teller.say(
        "gRPC market data",
        "book and statistics",
        f"last trade {quoted.update.stats.last_trade_px}, {len(quoted.update.bids)} bids left",
    )
    frame = await until(
        lambda: socket.receive_json(timeout=5),
        lambda frame: frame.get("marketData", {}).get("stats", {}).get("lastTradePx"),
    )
    await teller.say(
        "retail WebSocket",
        "marketData",
        f"last trade ${frame['marketData']['stats']['lastTradePx']['value']}",
    )


async def _settle(
    teller: Teller, partner: Partner, trader: Trader, account: str, symbol: str
) -> None:
    teller.chapter("3  The market closes, settles and pays")
    await teller.control("POST", f"/instruments/{symbol}/state", {"state": "CLOSED"})
    await teller.say("official", "closes the market", "CLOSED", symbol)
    settled = await teller.control("POST", f"/instruments/{symbol}/settle", {"price": "1"})
    await teller.say("official", "settles at $1: YES won", f"{settled['paid']} accounts paid")
    balance = await partner.rest(
        "POST", "/v1/positions/balance", json={"name": account, "currency": "USD"}
    )
    await teller.say("partner", "reads the balance", f"${balance['balance']}")
    ledger = (await partner.rest("GET", "/v1/funding/balance-ledger", params={"account": account}))[
        "entries"
    ]
    entries = sorted(ledger, key=lambda entry: entry["updateTime"])
    for before, after in pairwise(entries):
        must(
            before["afterBalance"] == after["beforeBalance"],
            f"the ledger does not chain: {before} {after}",
        )
    must(
        Decimal(entries[-1]["afterBalance"]) == Decimal(balance["balance"]),
        "ledger and balance differ",
    )
    lines = []
    for entry in entries:
        change = Decimal(entry["afterBalance"]) - Decimal(entry["beforeBalance"])
        lines.append(f"{entry['entryType']:<16} {change:+.2f} → ${entry['afterBalance']}")
    await teller.say(
        "partner", "reads its ledger", "every row begins where the last one ended", *lines
    )
    retail = (await trader.rest("GET", "/v1/account/balances"))["balances"][0]
    await teller.say("retail user", "reads the balance", f"${retail['currentBalance']}")
    accounts = (await teller.control("GET", "/state/accounts"))["accounts"]
    total = sum(Decimal(row["balance"]) for row in accounts)
    must(total == 0, f"the books do not balance: {total}")
    await teller.say(
        "auditor", f"adds up all {len(accounts)} accounts, the house's included", "$0.00"
    )


def demo(journal: Path, out: TextIO) -> int:
    """Serve the quickstart, walk the journey, print it. 0 when it went as it must, else 1."""
    from sim.loader.load import load_scenario
    from sim.server.background import serve_in_thread
    from sim.server.journal_file import open_journal
    from sim.server.ready_file import ready_facts

    with open_journal(journal) as file:
        running = serve_in_thread(load_scenario("quickstart"), journal=file)
        try:
            facts = running.call(
                lambda: ready_facts(running.simulation, running.addresses, str(journal))
            )
            asyncio.run(journey(facts, out))
        except Broken as broken:
            print(f"the journey broke off: {broken}", file=out)
            return 1
        finally:
            digest = running.call(lambda: running.simulation.digest)
            running.stop()
    print(f"\nseed {facts['seed']}, digest {digest}\nreplay it: sim replay {journal}", file=out)
    return 0
