"""Clients of every plane without a socket or an event loop: calls go straight into a
`Simulation`, signed and encoded as over the wire.

```python sim = Simulation(load_scenario("quickstart")) world = connect(sim)
world.gateway.get("/v2/leagues").json()["leagues"] world.exchange(firm,
participant).post("/v1/trading/orders", json={...})
world.retail(key).get("/v1/account/balances") world.rpc(firm,
participant).call("OrderBookAPI.GetOrderBook",
GetOrderBookRequest(symbol=...)) world.advance("5m") ```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from errno import ECONNREFUSED
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from sim.api.pipeline.inputs import Close, Effect, Outcome, Post, Reply, Resolve, Send
from sim.contract.contract import Plane
from sim.kernel.instants import NS_PER_MS, NS_PER_S, parse_instant, parse_span
from sim.run.client.answers import Response, RpcError, succeeded
from sim.run.client.credentials import private_key, retail_headers

__all__ = ["Connection", "Http", "Response", "Rpc", "RpcError", "Stream", "connect"]
__tracebackhide__ = True  # pytest shows the line of the caller

if TYPE_CHECKING:
    from sim.contract.messages import Message
    from sim.core.identity.firms import ApiKey, Firm
    from sim.run.simulation import Simulation


class Stream:
    """A stream: `frames` received so far, and `end` as (code, message) once it is closed. For a
    WebSocket, `close_code` is the code of the close frame.
    """

    def __init__(self, connection: Connection, number: int, decode: Callable[[bytes], Any]) -> None:
        self._connection = connection
        self._decode = decode
        self.number = number
        self.frames: list[Any] = []
        self.end: tuple[int, str] | None = None
        self.close_code: int | None = None

    def receive(self, frame: bytes) -> None:
        """Decode a frame and add it to `frames`."""
        self.frames.append(self._decode(frame))

    def take(self) -> list[Any]:
        """Return the frames since the last call, and remove them."""
        frames, self.frames = self.frames, []
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame: protobuf bytes, or the bytes of a text on a WebSocket."""
        self._connection.absorb(self._connection.simulation.frame(self.number, frame))

    def close(self) -> None:
        """Disconnect, as a client does."""
        self._connection.streams.pop(self.number, None)
        self._connection.absorb(self._connection.simulation.hangup(self.number))


class Connection:
    """Clients of every plane of one simulation.

    `webhooks` lists the delivery attempts so far. `receive` takes an attempt and returns the status
    that the receiver answers; assign another function to change it (default: 200).
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
        """The public gateway, which needs no credentials."""
        return Http(self, "gateway", lambda verb, path: {})

    @property
    def auth(self) -> Http:
        """The token issuer."""
        return Http(self, "auth", lambda verb, path: {})

    def retail(self, key: ApiKey) -> Http:
        """The retail API, with requests signed by an API key of the scenario."""
        return Http(self, "retail", lambda verb, path: self.retail_headers(key, verb, path))

    def exchange(self, firm: Firm, participant: str | None = None) -> Http:
        """The exchange REST API with a token of a firm, optionally for a participant."""
        return Http(self, "exchange", lambda verb, path: self.bearer(firm, participant))

    def rpc(self, firm: Firm | None, participant: str | None = None) -> Rpc:
        """Exchange gRPC with a token of a firm; None sends no credentials."""
        return Rpc(self, lambda: self.bearer(firm, participant) if firm else {})

    def web_socket(self, key: ApiKey, path: str) -> Stream:
        """Open a retail WebSocket. Raises RpcError with the HTTP status if it is refused."""
        self.reach("retail")
        headers = self.retail_headers(key, "GET", path)
        outcome = self.simulation.open(path, headers, b"", web_socket=True)
        if outcome.reply is not None:
            self.absorb(outcome)
            raise RpcError(outcome.reply.status, outcome.reply.message)
        return self.begin(outcome, msgspec.json.decode)

    # ---- time

    def advance(self, by: str) -> Outcome:
        """Move the clock by a duration such as "5m" or "90s"."""
        return self.advance_to(self.simulation.now + parse_span(by))

    def advance_to(self, to: int | str) -> Outcome:
        """Move the clock to an instant: RFC 3339 text, or nanoseconds since 1970. Webhooks that are
        sent meanwhile are answered at once.
        """
        target = parse_instant(to) if isinstance(to, str) else to
        outcome = None
        while (due := self.simulation.next_due()) is not None and due <= target:
            outcome = self.absorb(self.simulation.advance_to(due))
        if outcome is None or self.simulation.now < target:
            outcome = self.absorb(self.simulation.advance_to(target))
        return outcome

    # ---- plumbing

    def answer(self, reply: Reply) -> Reply:
        """Move the clock from timer to timer until the pending reply is complete."""
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
        """Deliver the effects of an outcome and return it.

        Frames go to their streams, and webhooks to the receiver, whose answers become inputs.
        """
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
                    stream.close_code = effect.web_socket_code
            elif isinstance(effect, Resolve):
                self.resolved[effect.pending_on] = effect.reply
            elif isinstance(effect, Post):
                self.webhooks.append(effect)
                if not effect.receiver:
                    self.absorb(self.simulation.answer(effect.attempt, self.receive(effect)))

    def reach(self, plane: str) -> None:
        """Raise ConnectionRefusedError while a plane accepts no connections."""
        if plane in self.simulation.exchange.listeners.closed:
            raise ConnectionRefusedError(ECONNREFUSED, f"{plane} accepts no connections")

    def begin(self, outcome: Outcome, decode: Callable[[bytes], Any]) -> Stream:
        """The stream of an outcome, with its first frames."""
        stream = self.streams[outcome.stream] = Stream(self, outcome.stream, decode)
        self.absorb(outcome)
        return stream

    def retail_headers(self, key: ApiKey, verb: str, path: str) -> dict[str, str]:
        """The three signature headers of the retail API."""
        secret = self.simulation.world.parties.secrets[key.key_id]
        facts = {"key_id": key.key_id, "secret_key": secret}
        headers = retail_headers(facts, verb, path, self.simulation.now // NS_PER_MS)
        return {name.lower(): value for name, value in headers.items()}

    def bearer(self, firm: Firm, participant: str | None = None) -> dict[str, str]:
        """Headers of an exchange call: the token of a firm, and the participant.

        A new token is fetched if the last one expires within 30 seconds, and after time travel.
        Raises RpcError if the exchange refuses a token.
        """
        if self._epoch != self.simulation.epoch:
            self._epoch = self.simulation.epoch
            self.forget_tokens()
        token, expires = self._tokens.get(firm.client_id, ("", 0))
        if expires - 30 * NS_PER_S <= self.simulation.now:
            answer = self.token(firm)
            if answer.status != 200:
                raise RpcError(answer.status, answer.body.decode())
            issued = answer.json()
            token = issued["access_token"]
            expires = self.simulation.now + issued["expires_in"] * NS_PER_S
            self._tokens[firm.client_id] = token, expires
        headers = {"authorization": f"Bearer {token}"}
        if participant is not None:
            headers["x-participant-id"] = participant
        return headers

    @property
    def audience(self) -> str:
        """The audience of a client's assertions and token requests."""
        return self.simulation.exchange.credentials.environment.audience

    def forget_tokens(self) -> None:
        """Forget the tokens, so that the next calls fetch new ones."""
        self._tokens.clear()

    def assertion(self, firm: Firm, **claims: object) -> str:
        """A client assertion signed with the firm's key (§5.1); `claims` replace
        the default ones.
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
        key = private_key(self.simulation.world.parties.key_files[firm.client_id].read_bytes())
        return jwt.encode(body, key, algorithm="RS256")

    def token(self, firm: Firm, **fields: str) -> Response:
        """POST /oauth/token with a new assertion; `fields` replace those of the form."""
        form = {
            "grant_type": "client_credentials",
            "client_id": firm.client_id,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": fields.pop("client_assertion", "") or self.assertion(firm),
            "audience": self.audience,
        }
        return self.auth.post("/oauth/token", form=form | fields)


class Http:
    """An HTTP client of one plane with one identity."""

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
        """Send a request and return the answer, whatever its status.

        `params` are added to the query of `path`; a list repeats its parameter, booleans become
        `true` and `false`, and None leaves the parameter out. The body is `json`, `form` or `body`.

        If the answer takes time (a delay, a synchronous order), the call moves the clock until it
        is complete. With `wait=False` the call returns at once: `reply.pending_on` names the
        answer, which `Connection.answer` gets later.
        """
        path, _, query = path.partition("?")
        query = "&".join(part for part in (query, _query(params or {})) if part)
        all_headers = {"content-type": "application/json", **self._sign(verb, path)}
        all_headers |= {name.lower(): value for name, value in (headers or {}).items()}
        content = body or b""
        if form is not None:
            all_headers["content-type"] = "application/x-www-form-urlencoded"
            content = urlencode(form).encode()
        elif json is not None:
            content = msgspec.json.encode(json)
        simulation = self._connection.simulation
        self._connection.reach(self._plane)
        outcome = simulation.rest(self._plane, verb, path, query, all_headers, content)
        self._connection.absorb(outcome)
        reply = outcome.reply
        assert reply is not None
        return Response(self._connection.answer(reply) if wait and reply.pending_on else reply)

    def get(self, path: str, **options: Any) -> Response:
        """Send a GET request; the options are those of `request`."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Response:
        """Send a POST request; the options are those of `request`."""
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> Response:
        """Send a PUT request; the options are those of `request`."""
        return self.request("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Response:
        """Send a PATCH request; the options are those of `request`."""
        return self.request("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Response:
        """Send a DELETE request; the options are those of `request`."""
        return self.request("DELETE", path, **options)


def _query(params: Mapping[str, object]) -> str:
    values = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in params.items()
        if value is not None
    }
    return urlencode(values, doseq=True)


class Rpc:
    """A gRPC client with one identity. Requests and answers are the contract's Structs, and are
    sent as protobuf bytes.
    """

    def __init__(self, connection: Connection, metadata: Callable[[], Mapping[str, str]]) -> None:
        self._connection = connection
        self._metadata = metadata

    def metadata(self) -> Mapping[str, str]:
        """Metadata of every call."""
        return self._metadata()

    def call(self, operation: str, request: Message) -> Any:
        """A unary call, such as "OrderBookAPI.GetOrderBook". Raises RpcError unless the
        status is OK.
        """
        method, decode = self._method(operation)
        reply = succeeded(self.raw(method, _encode(request)))
        return decode(reply.body)

    def raw(self, method: str, message: bytes) -> Reply:
        """A unary call by its full method name and bytes. The reply may have any status."""
        simulation = self._connection.simulation
        self._connection.reach("grpc")
        outcome = self._connection.absorb(simulation.rpc(method, self._metadata(), message))
        assert outcome.reply is not None
        return outcome.reply

    def download(self, operation: str, request: Message) -> Iterator[Any]:
        """The messages of a download, each decoded when it is read. Raises RpcError unless the
        status is OK.
        """
        method, decode = self._method(operation)
        outcome = self._connection.absorb(self._open(method, request))
        assert outcome.reply is not None
        return map(decode, succeeded(outcome.reply).chunks or ())

    def stream(self, operation: str, request: Message | None = None) -> Stream:
        """Open a server stream (with its request) or a bidirectional one (without).

        Raises RpcError if it is refused.
        """
        method, decode = self._method(operation)
        outcome = self._open(method, request)
        if outcome.reply is not None:
            self._connection.absorb(outcome)
            raise RpcError(outcome.reply.code, outcome.reply.message)
        return self._connection.begin(outcome, decode)

    def _method(self, operation: str) -> tuple[str, Callable[[bytes], Any]]:
        from sim.api.codecs.codecs import protobuf_decoder

        contract = self._connection.simulation.contract.by_name(operation)
        return contract.full_methods[0], protobuf_decoder(contract.response)

    def _open(self, method: str, request: Message | None) -> Outcome:
        self._connection.reach("grpc")
        message = _encode(request) if request is not None else b""
        return self._connection.simulation.open(method, self._metadata(), message)


def _encode(request: Message) -> bytes:
    from sim.api.codecs.codecs import protobuf_encoder

    return protobuf_encoder(type(request))(request)


def connect(simulation: Simulation) -> Connection:
    """In-process clients for every surface of a simulation."""
    return Connection(simulation)
