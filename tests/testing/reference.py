"""A partner's client that does as documented, with a switch for each of its bugs.

It knows the specification and nothing of the profile that it is certified against. Its `run` is
its own test-suite: whatever it cannot cope with is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.identity.firms import Firm
from sim.kernel.instants import parse_instant
from sim.run.client.client import Connection, Http, Response, Rpc, RpcError
from tests.journeys import quiet
from tests.read.test_judge import MINE, OTHERS, person

SYMBOL = "aec-nfl-chi-gb-2026-09-14"
DROP_COPY = "DropCopyAPI.CreateDropCopySubscription"
BIDIRECTIONAL = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
NS = 1_000_000_000

BUGS: dict[str, str] = {
    "gives up at the first 503": "survives-errors",
    "takes a 429 for the end": "survives-limits",
    "takes a lost answer for a refusal": "survives-lost-answers",
    "takes a 401 for the end": "survives-401",
    "cannot read an event twice": "survives-streams",
    "cannot lose a session": "survives-revocation",
    "trusts its own calendar": "works-after-announced-dates",
    "ignores Retry-After": "retry-after",
    "retries at once": "backoff",
    "never gives up": "at-most-five-attempts",
    "repeats what cannot succeed": "no-hopeless-retry",
    "retries orders under another key": "idempotent-retry",
    "uses tokens to their last second": "token-refreshed-in-time",
    "sends a refused token again": "no-dead-token",
    "uses an assertion twice": "fresh-jti",
    "goes on trading a halted market": "market-state",
    "trades after expiry": "not-after-expiry",
    "assumes a tick": "scales-are-read",
    "misses the gap of a stream": "streams-are-resumed",
    "takes its session back at once": "no-revocation-storm",
    "forgets keepalives": "keepalive",
    "reconnects at once": "reconnect-backoff",
    "repeats an SSN conflict": "ssn-conflict-is-a-stop",
    "starts a verification again": "poll-kyc-status",
    "does not acknowledge a duplicate": "duplicates-acknowledged",
    "spells queries in camel case": "snake-case-queries",
}


class GaveUp(Exception):
    """The client cannot go on."""


class ReferenceClient:
    """The client; `bug` is a key of `BUGS`, or "" for none."""

    def __init__(self, world: Connection, bug: str = "") -> None:
        self.world, self.bug = world, bug
        sim = world.simulation
        firms = [
            item for item in sim.exchange.firms.all() if len(item.scopes) >= 14 and item.client_id
        ]
        self.firm, self.other = firms[0], firms[1]
        self.user = self.firm.users[0].name
        self._tokens: dict[str, tuple[str, int]] = {}
        self._assertion = ""
        self._orders = 0
        self._seen: set[bytes] = set()
        self._resume = b""

    def has(self, bug: str) -> bool:
        assert bug in BUGS
        return self.bug == bug

    # ---- calls

    def http(self, firm: Firm | None = None, participant: str | None = None) -> Http:
        firm = firm or self.firm
        return Http(self.world, "exchange", lambda verb, path: self.headers(firm, participant))

    def headers(self, firm: Firm, participant: str | None) -> dict[str, str]:
        token, ends = self._tokens.get(firm.client_id, ("", 0))
        early = 0 if self.has("uses tokens to their last second") else 31
        if self.world.simulation.now + early * NS > ends:
            token = self.new_token(firm)
        headers = {"authorization": f"Bearer {token}"}
        return {**headers, "x-participant-id": participant} if participant else headers

    def new_token(self, firm: Firm) -> str:
        form = {}
        if self.has("uses an assertion twice") and firm is self.firm:
            self._assertion = self._assertion or self.world.assertion(firm)
            form = {"client_assertion": self._assertion}
        answer = self.world.token(firm, **form)
        if answer.status == 400 or answer.status == 401:
            answer = self.world.token(firm)
        issued = answer.json()
        ends = self.world.simulation.now + issued["expires_in"] * NS
        self._tokens[firm.client_id] = issued["access_token"], ends
        return str(issued["access_token"])

    def send(self, call: Callable[[int], Response], *, order: bool = False) -> Response:
        """Call until it succeeds or cannot: at most five attempts, as the specification waits."""
        attempts = 7 if self.has("never gives up") else 5
        for number in range(attempts):
            answer = call(number)
            if answer.status == 401:
                self.refused()
            elif answer.status == 429:
                if self.has("takes a 429 for the end"):
                    raise GaveUp("429")
                wait = int(answer.headers.get("retry-after", "1"))
                self.world.advance("100ms" if self.has("ignores Retry-After") else f"{wait}s")
            elif answer.status >= 500:
                self.failed(answer.status, number, order)
            else:
                return answer
        return answer

    def refused(self) -> None:
        if self.has("takes a 401 for the end"):
            raise GaveUp("401")
        if self.has("sends a refused token again"):
            self.bug = ""  # once; then it cannot help itself either
            return
        self._tokens.clear()

    def failed(self, status: int, number: int, order: bool) -> None:
        if self.has("gives up at the first 503") and status == 503 and not order:
            raise GaveUp("503")
        if self.has("takes a lost answer for a refusal") and status == 504 and order:
            raise GaveUp("504")
        wait = 1 if status == 500 else (1, 2, 4, 8, 8, 8, 8)[number]
        self.world.advance("200ms" if self.has("retries at once") and not order else f"{wait}s")

    # ---- the suite

    def run(self) -> None:
        """Everything that the client does."""
        self.send(lambda n: self.world.gateway.get("/v2/leagues"))
        if self.has("trusts its own calendar"):
            assert self.world.simulation.now < parse_instant("2026-10-01T00:00:00Z")
        self.read_terms()
        self.stream = self.open()
        self.world.advance("31s")  # the first heartbeat has a token to resume from
        self.check_stream()
        self.trade()
        self.retail()
        self.onboard()
        self.old_token()
        self.hopeless()
        self.limits()
        self.keep_alive()

    def read_terms(self) -> None:
        if not self.has("assumes a tick"):
            path = f"/v1/refdata/instruments/{SYMBOL}"
            self.send(lambda n: self.http(participant=self.user).get(path))
        self.send(lambda n: self.http(participant=self.user).get(f"/v1/orderbook/{SYMBOL}"))

    def insert(self, price: str = "44", symbol: str = SYMBOL) -> Response:
        self._orders += 1
        key = f"ref-{self._orders}"

        def call(number: int) -> Response:
            other = self.has("retries orders under another key") and number
            body = {
                "type": "ORDER_TYPE_LIMIT",
                "side": "SIDE_BUY",
                "symbol": symbol,
                "orderQty": "100",
                "price": price,
                "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
                "clordId": f"{key}-{number}" if other else key,
            }
            return self.http(participant=self.user).post("/v1/trading/orders", json=body)

        return self.send(call, order=True)

    def trade(self) -> None:
        if self.has("assumes a tick"):
            self.insert("41", quiet(self.world.simulation, tick=5).symbol)
        for _ in range(8):
            answer = self.insert()
            self.check_stream()
            if answer.status == 422:
                if self.stop_trading():
                    return
            elif answer.status == 200:
                self.cancel(answer.json()["orderId"])
            self.world.advance("3s")

    def stop_trading(self) -> bool:
        """After a market refused an order: whether to stop for good."""
        changes = self.world.simulation.exchange.trading.state(SYMBOL)
        if self.has("goes on trading a halted market"):
            self.insert()
        for _ in range(20):
            self.world.advance("1s")
            now = self.world.simulation.exchange.trading.state(SYMBOL)
            if now.name in ("EXPIRED", "TERMINATED"):
                if self.has("trades after expiry"):
                    self.world.advance("1s")
                    self.insert()
                return True
            if now is not changes and now.name == "OPEN":
                return False
        return True

    def cancel(self, order: str) -> None:
        body = {"orderId": order, "symbol": SYMBOL}
        http = self.http(participant=self.user)
        self.send(lambda n: http.post("/v1/trading/orders/cancel", json=body), order=True)

    # ---- streams

    def rpc(self) -> Rpc:
        return Rpc(self.world, lambda: self.headers(self.firm, self.user))

    def open(self, **resume: Any) -> Any:
        waits = iter(("1s", "2s", "4s", "8s", "8s"))
        while True:
            try:
                request = wire.CreateDropCopySubscriptionRequest(**resume)
                return self.rpc().stream(DROP_COPY, request)
            except RpcError as error:
                wait = next(waits, "")
                if error.code == 16:
                    self.refused()
                if not wait:
                    raise
                self.world.advance("100ms" if self.has("reconnects at once") else wait)

    def check_stream(self) -> None:
        """Read what came, and come back when the stream has ended."""
        for frame in self.stream.take():
            if not frame.resume_token:
                continue
            if frame.resume_token in self._seen and self.has("cannot read an event twice"):
                raise GaveUp("an event came twice")
            self._seen.add(frame.resume_token)
            self._resume = frame.resume_token
        if self.stream.end is None:
            return
        if "revoked" in self.stream.end[1]:
            self.revoked()
        elif self._resume and not self.has("misses the gap of a stream"):
            self.stream = self.open(resume_token=self._resume)
        else:
            self.stream = self.open()

    def revoked(self) -> None:
        if self.has("cannot lose a session"):
            raise GaveUp("revoked")
        if self.has("takes its session back at once"):
            for _ in range(4):
                self.open(resume_token=self._resume)
        self.world.advance("1m")
        self.stream = self.open(resume_token=self._resume)

    # ---- the rest

    def retail(self) -> None:
        key = self.world.simulation.exchange.firms.api_keys()[0]
        name = "pageSize" if self.has("spells queries in camel case") else "page_size"
        for _ in range(4):
            self.send(lambda n: self.world.retail(key).get("/v1/incentives", params={name: 1}))

    def onboard(self) -> None:
        answered: set[str] = set()

        def receive(post: Any) -> int:
            again = post.event_id in answered
            answered.add(post.event_id)
            return 500 if again and self.has("does not acknowledge a duplicate") else 200

        self.world.receive = receive
        partner, other = self.http(self.firm), self.http(self.other)
        hook = {"webhook_url": "http://127.0.0.1:1/"}
        self.send(lambda n: partner.post("/v1/kyc/webhook", json=hook))
        self.send(lambda n: partner.post("/v1/kyc/start", json=person(*MINE)))
        self.world.advance("30s")
        status = {"external_id": MINE[0]}
        self.send(lambda n: partner.get("/v1/kyc/status", params=status))
        if self.has("starts a verification again"):
            self.send(lambda n: partner.post("/v1/kyc/start", json=person(*MINE)))
        times = 2 if self.has("repeats an SSN conflict") else 1
        for _ in range(times):
            self.send(lambda n: other.post("/v1/kyc/start", json=person(*OTHERS)))
            self.world.advance("30s")

    def old_token(self) -> None:
        for _ in range(14):
            self.world.advance("14s")
            self.send(lambda n: self.http(participant=self.user).get("/v1/whoami"))

    def hopeless(self) -> None:
        for _ in range(2 if self.has("repeats what cannot succeed") else 1):
            self.http(participant=self.user).post("/v1/trading/orders", body=b"{no")

    def limits(self) -> None:
        body = {"symbol": SYMBOL}
        for _ in range(14):
            http = self.http(participant=self.user)
            if self.has("takes a 429 for the end"):
                self.world.advance("10s")
            self.send(lambda n, http=http: http.post("/v1/report/trades/search", json=body))

    def keep_alive(self) -> None:
        encode = protobuf_encoder(wire.BiDirectionalStreamMarketDataRequest)
        subscribe = wire.SubscribeCommand(symbols=[SYMBOL])
        try:
            stream = self.rpc().stream(BIDIRECTIONAL)
        except RpcError:
            return
        stream.send(encode(wire.BiDirectionalStreamMarketDataRequest(subscribe=subscribe)))
        for _ in range(3):
            self.world.advance("40m")
            if stream.end is None and not self.has("forgets keepalives"):
                alive = wire.BiDirectionalStreamMarketDataRequest(keepalive=wire.KeepAliveCommand())
                stream.send(encode(alive))
