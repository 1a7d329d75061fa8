"""Clients of every surface without a socket or an event loop: calls go straight into a
`Simulation`, signed and encoded as over the wire.

```python
sim = Simulation(load_scenario("quickstart"))
world = connect(sim)
world.gateway.get("/v2/leagues").json()["leagues"]
world.exchange(firm, participant).post("/v1/trading/orders", json={...})
world.retail(key).get("/v1/account/balances")
world.rpc(firm, participant).call("OrderBookAPI.GetOrderBook", GetOrderBookRequest(symbol=...))
world.advance("5m")
```
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from sim.api.pipeline.inputs import Close, Effect, Outcome, Post, Reply, Resolve, Send
from sim.contract.contract import Plane
from sim.kernel.instants import NS_PER_MS, NS_PER_S, parse_instant, parse_span

if TYPE_CHECKING:
    from sim.core.identity.firms import ApiKey, Firm
    from sim.messages import Message
    from sim.simulation import Simulation


class Response:
    """What came back over HTTP. A download's chunks are `reply.chunks`; whoever reads `body`
    instead gets them whole.
    """

    def __init__(self, reply: Reply) -> None:
        self.status = reply.status
        self.headers = {name.lower(): value for name, value in reply.headers} | (
            {"x-request-id": reply.request_id} if reply.request_id else {}
        )
        self.reply = reply

    @cached_property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.reply.chunks) if self.reply.chunks is not None else self.reply.body

    def json(self) -> Any:
        """The body as JSON. Raises `msgspec.DecodeError` where it is none."""
        return msgspec.json.decode(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:200]!r}>"


class RpcError(Exception):
    """A gRPC status other than OK."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Stream:
    """One open stream: `frames` as they came, `end` once closed as (code, message)."""

    def __init__(self, connection: Connection, number: int, decode: Callable[[bytes], Any]) -> None:
        self._connection = connection
        self._decode = decode
        self.number = number
        self.frames: list[Any] = []
        self.end: tuple[int, str] | None = None

    def receive(self, frame: bytes) -> None:
        """A frame arrived."""
        self.frames.append(self._decode(frame))

    def take(self) -> list[Any]:
        """Frames since the last take."""
        taken, self.frames = self.frames, []
        return taken

    def send(self, frame: bytes) -> None:
        """Send a frame: protobuf bytes, or text bytes on a WebSocket."""
        self._connection.absorb(self._connection.simulation.frame(self.number, frame))

    def close(self) -> None:
        """Hang up."""
        self._connection.streams.pop(self.number, None)
        self._connection.absorb(self._connection.simulation.hangup(self.number))


class Connection:
    """All clients of one simulation. `webhooks` are the attempts so far; `receive` answers them
    (default: 200).
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.streams: dict[int, Stream] = {}
        self.webhooks: list[Post] = []
        self.resolved: dict[str, Reply] = {}
        self.receive: Callable[[Post], int] = lambda post: 200
        self._tokens: dict[str, tuple[str, int]] = {}
        self._epoch = simulation.epoch
        self._assertions = 0

    # ---- surfaces

    @property
    def gateway(self) -> Http:
        """The public gateway."""
        return Http(self, "gateway", lambda verb, path: {})

    @property
    def auth(self) -> Http:
        """The token issuer."""
        return Http(self, "auth", lambda verb, path: {})

    def retail(self, key: ApiKey) -> Http:
        """The retail API, signing with a key of the scenario."""
        return Http(self, "retail", lambda verb, path: self.retail_headers(key, verb, path))

    def exchange(self, firm: Firm, participant: str | None = None) -> Http:
        """The exchange REST API as a firm, optionally for a participant."""
        return Http(self, "exchange", lambda verb, path: self.bearer(firm, participant))

    def rpc(self, firm: Firm | None, participant: str | None = None) -> Rpc:
        """Exchange gRPC as a firm; None sends no credentials."""
        return Rpc(self, lambda: self.bearer(firm, participant) if firm else {})

    def web_socket(self, key: ApiKey, path: str) -> Stream:
        """A retail WebSocket."""
        outcome = self.simulation.open(
            path, self.retail_headers(key, "GET", path), b"", web_socket=True
        )
        if outcome.reply is not None:
            self.absorb(outcome)
            raise RpcError(outcome.reply.status, outcome.reply.message)
        return self._begin(outcome, msgspec.json.decode)

    # ---- time

    def advance(self, by: str) -> Outcome:
        """Move the clock by a duration such as "5m"."""
        return self.advance_to(self.simulation.now + parse_span(by))

    def advance_to(self, to: int | str) -> Outcome:
        """Move the clock to an instant; on the way, webhooks are answered."""
        target = parse_instant(to) if isinstance(to, str) else to
        while (due := self.simulation.next_due()) is not None and due <= target:
            self.absorb(self.simulation.advance_to(due))
        return self.absorb(self.simulation.advance_to(target))

    # ---- plumbing

    def answer(self, reply: Reply) -> Reply:
        """The answer that a reply waits for; moves the clock from due instant to due instant until
        it is there.
        """
        while (
            reply.pending_on not in self.resolved
            and reply.deadline
            and (due := self.simulation.next_due()) is not None
        ):
            self.absorb(self.simulation.advance_to(due))
        answer = self.resolved.pop(reply.pending_on)
        answer.connection_fault = reply.connection_fault or answer.connection_fault
        return answer

    def absorb(self, outcome: Outcome) -> Outcome:
        """Deliver the effects of an outcome: frames to streams, webhooks to the receiver, whose
        answers go back in. A mistake of ours is raised.
        """
        if outcome.reply is not None and outcome.reply.failure is not None:
            raise outcome.reply.failure
        self.deliver(outcome.effects)
        return outcome

    def deliver(self, effects: list[Effect]) -> None:
        """Deliver effects in order."""
        for effect in effects:
            if isinstance(effect, Send):
                if effect.stream in self.streams:
                    self.streams[effect.stream].receive(effect.frame)
            elif isinstance(effect, Close):
                stream = self.streams.pop(effect.stream, None)
                if stream is not None:
                    stream.end = (effect.code, effect.message)
            elif isinstance(effect, Resolve):
                self.resolved[effect.pending_on] = effect.reply
            else:
                self.webhooks.append(effect)
                self.absorb(self.simulation.answer(effect.attempt, self.receive(effect)))

    def begin(self, outcome: Outcome, decode: Callable[[bytes], Any]) -> Stream:
        """The stream an outcome opened, with its first frames."""
        return self._begin(outcome, decode)

    def _begin(self, outcome: Outcome, decode: Callable[[bytes], Any]) -> Stream:
        stream = self.streams[outcome.stream] = Stream(self, outcome.stream, decode)
        self.absorb(outcome)
        return stream

    def retail_headers(self, key: ApiKey, verb: str, path: str) -> dict[str, str]:
        """The three signature headers of the retail API."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        stamp = str(self.simulation.now // NS_PER_MS)
        signer = Ed25519PrivateKey.from_private_bytes(
            base64.b64decode(self.simulation.world.parties.secrets[key.key_id])[:32]
        )
        signature = base64.b64encode(signer.sign(f"{stamp}{verb}{path}".encode())).decode()
        return {"x-pm-access-key": key.key_id, "x-pm-timestamp": stamp, "x-pm-signature": signature}

    def bearer(self, firm: Firm, participant: str | None = None) -> dict[str, str]:
        """Headers of an exchange call; a token is fetched when there is none that lives another 30
        seconds, and after every journey in time.
        """
        if self._epoch != self.simulation.epoch:
            self._epoch = self.simulation.epoch
            self.forget_tokens()
        token, expires = self._tokens.get(firm.client_id, ("", 0))
        if expires - 30 * NS_PER_S <= self.simulation.now:
            answer = self.token(firm)
            if answer.status != 200:
                raise RpcError(answer.status, answer.body.decode())
            token = answer.json()["access_token"]
            self._tokens[firm.client_id] = (
                token,
                self.simulation.now + answer.json()["expires_in"] * NS_PER_S,
            )
        headers = {"authorization": f"Bearer {token}"}
        if participant is not None:
            headers["x-participant-id"] = participant
        return headers

    @property
    def audience(self) -> str:
        """What a client names as audience."""
        return self.simulation.exchange.credentials.environment.audience

    def forget_tokens(self) -> None:
        """Fetch new tokens from now on."""
        self._tokens.clear()

    def assertion(self, firm: Firm, **claims: object) -> str:
        """A client assertion signed with the firm's key (§5.1); `claims` override the reference
        client's.
        """
        import jwt

        self._assertions += 1
        now = self.simulation.now // NS_PER_S
        body = {
            "iss": firm.client_id,
            "sub": firm.client_id,
            "aud": self.audience,
            "iat": now,
            "exp": now + 240,
            "jti": f"{firm.client_id}-{self._assertions}",
            **claims,
        }
        return jwt.encode(
            body,
            self.simulation.world.parties.key_files[firm.client_id].read_bytes(),
            algorithm="RS256",
        )

    def token(self, firm: Firm, **fields: str) -> Response:
        """POST /oauth/token; `fields` override the form's."""
        form = {
            "grant_type": "client_credentials",
            "client_id": firm.client_id,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "audience": self.audience,
        }
        form["client_assertion"] = fields.pop("client_assertion", "") or self.assertion(firm)
        return self.auth.post("/oauth/token", form={**form, **fields})


class Http:
    """HTTP on one plane with one identity."""

    def __init__(
        self, connection: Connection, plane: Plane, sign: Callable[[str, str], Mapping[str, str]]
    ) -> None:
        self._connection = connection
        self._plane = plane
        self._sign = sign

    def request(
        self,
        verb: str,
        path: str,
        *,
        params: Mapping[str, object] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> Response:
        """Any request. `params` go behind those that `path` has; their values may be lists
        (repeated parameters), true, false, or None for none.

        A call that is held for the clock moves it to its answer, as nobody else could. With
        `wait=False` it comes back unanswered (`reply.pending_on` names the answer), and
        `Connection.answer` has it once the clock has been moved.
        """
        path, _, query = path.partition("?")
        query = "&".join(part for part in (query, _query(params or {})) if part)
        sent = {
            "content-type": "application/json",
            **self._sign(verb, path),
            **{name.lower(): value for name, value in (headers or {}).items()},
        }
        content = body if body is not None else b""
        if form is not None:
            sent["content-type"] = "application/x-www-form-urlencoded"
            content = urlencode(form).encode()
        elif json is not None:
            content = msgspec.json.encode(json)
        outcome = self._connection.simulation.rest(self._plane, verb, path, query, sent, content)
        self._connection.absorb(outcome)
        reply = outcome.reply
        assert reply is not None
        return Response(self._connection.answer(reply) if wait and reply.pending_on else reply)

    def get(self, path: str, **options: Any) -> Response:
        """GET."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Response:
        """POST."""
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> Response:
        """PUT."""
        return self.request("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Response:
        """PATCH."""
        return self.request("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Response:
        """DELETE."""
        return self.request("DELETE", path, **options)


def _query(params: Mapping[str, object]) -> str:
    """A query string as clients spell it."""
    spelt = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in params.items()
        if value is not None
    }
    return urlencode(spelt, doseq=True)


class Rpc:
    """gRPC with one identity. Requests and answers are the contract's Structs, travelling as
    protobuf bytes.
    """

    def __init__(self, connection: Connection, metadata: Callable[[], Mapping[str, str]]) -> None:
        self._connection = connection
        self._metadata = metadata

    def metadata(self) -> Mapping[str, str]:
        """What every call carries."""
        return self._metadata()

    def call(self, operation: str, request: Message) -> Any:
        """A unary call; RpcError carries any other status than OK."""
        from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder

        found = self._connection.simulation.contract.by_name(operation)
        reply = self.raw(found.full_methods[0], protobuf_encoder(type(request))(request))
        if reply.code:
            raise RpcError(reply.code, reply.message)
        return protobuf_decoder(found.response)(reply.body)

    def raw(self, method: str, message: bytes) -> Reply:
        """A unary call by full method name and bytes."""
        outcome = self._connection.absorb(
            self._connection.simulation.rpc(method, self._metadata(), message)
        )
        assert outcome.reply is not None
        return outcome.reply

    def download(self, operation: str, request: Message) -> Iterator[Any]:
        """Messages of a download, each made when it is asked for; RpcError carries any other status
        than OK.
        """
        from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder

        found = self._connection.simulation.contract.by_name(operation)
        outcome = self._connection.absorb(
            self._connection.simulation.open(
                found.full_methods[0], self._metadata(), protobuf_encoder(type(request))(request)
            )
        )
        reply = outcome.reply
        assert reply is not None
        if reply.code:
            raise RpcError(reply.code, reply.message)
        return map(protobuf_decoder(found.response), reply.chunks or ())

    def stream(self, operation: str, request: Message | None = None) -> Stream:
        """Open a server stream (with its request) or a bidirectional one (without)."""
        from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder

        found = self._connection.simulation.contract.by_name(operation)
        message = protobuf_encoder(type(request))(request) if request is not None else b""
        outcome = self._connection.simulation.open(found.full_methods[0], self._metadata(), message)
        if outcome.reply is not None:
            self._connection.absorb(outcome)
            raise RpcError(outcome.reply.code, outcome.reply.message)
        return self._connection.begin(outcome, protobuf_decoder(found.response))


def connect(simulation: Simulation) -> Connection:
    """In-process clients for every surface of a simulation."""
    return Connection(simulation)
