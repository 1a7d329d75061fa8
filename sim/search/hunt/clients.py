"""What clients do in an episode besides the moves of `moves/`: calls and streams drawn from the
contract, tokens, and what they do again. Callers usually have the right credentials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from msgspec import json
from msgspec.structs import replace

from sim.api.codecs.codecs import BadInput, json_decoder, protobuf_encoder
from sim.api.pipeline.inputs import (
    NOBODY,
    SCRIPT,
    Advanced,
    Input,
    RestCall,
    RpcCall,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
)
from sim.api.pipeline.redaction import redact_rest
from sim.contract.contract import Operation, Plane, load_contract
from sim.core.identity.assertion_problems import PROBLEMS
from sim.core.identity.credentials import ASSERTION_TYPE, GRANT_TYPE
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import NS_PER_S, days
from sim.run.simulation import Simulation
from sim.search.hunt.live_view import LiveView
from sim.search.hunt.requests import Requests
from sim.search.moves.streams import SOCKETS, socket_request

# The address of any caller without the credentials of a script.
PEER = "127.0.0.1"
_BAD_TOKEN = VerifiedCredential("bearer", "0" * 32)
_BAD_KEYS = tuple(
    VerifiedCredential("api_key", problem=problem)
    for problem in ("missing_key", "timestamp", "stale", "signature")
)
# Around the expiry of a token, and around the 30 seconds that clients leave before it.
_AROUND = (*(-1, 0, 1, 60 * NS_PER_S), *(-30 * NS_PER_S + each for each in (-1, 0, 1)))
_ACCOUNTS = ("account", "participantAccountId")
_SOCKET_FRAMES: tuple[Any, ...] = (
    {"ping": {}},
    {"keepalive": {}},
    {"unsubscribe": {"requestId": "r0"}},
    [],
    "x",
)


class CallIdentity(NamedTuple):
    """The credentials of a call, and the participant that it is made for."""

    credential: VerifiedCredential
    participant: str | None


def script_of(participant: str) -> VerifiedCredential:
    """Return the credentials of a participant's firm; none without a participant."""
    return (
        VerifiedCredential(SCRIPT, participant.partition("/users/")[0]) if participant else NOBODY
    )


class Callers:
    """Draws the callers of one episode. `tokens` are the fingerprints of tokens issued in it."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.tokens: list[VerifiedCredential] = []

    def on(self, choices: RandomStream, operation: Operation, plane: Plane | None) -> CallIdentity:
        """Return a caller of an operation on a plane; None is gRPC."""
        kind = operation.credential_on(plane)
        if kind == "api_key":
            return self.retail(choices)
        return self.firm(choices) if kind == "bearer" else CallIdentity(NOBODY, None)

    def retail(self, choices: RandomStream) -> CallIdentity:
        """Return a retail user, sometimes with a bad key."""
        keys = self._simulation.exchange.firms.api_keys()
        if not keys or choices.chance(1, 20):
            return CallIdentity(choices.choice((NOBODY, *_BAD_KEYS)), None)
        few = keys[: choices.choice((2, 2, len(keys)))]
        return CallIdentity(VerifiedCredential(SCRIPT, choices.choice(few).key_id), None)

    def firm(self, choices: RandomStream) -> CallIdentity:
        """Return a firm, usually for one of its participants."""
        firms = [firm for firm in self._simulation.exchange.firms.all() if firm.client_id]
        if not firms or choices.chance(1, 20):
            return CallIdentity(choices.choice((NOBODY, _BAD_TOKEN)), None)
        firm = choices.choice((*firms[:1] * 6, *firms[:2] * 2, *firms))
        credential = VerifiedCredential(SCRIPT, firm.name)
        if self.tokens and choices.chance(1, 6):
            credential = choices.choice(self.tokens)
        users = [user.name for user in firm.users]
        if not users or choices.chance(1, 8):
            return CallIdentity(credential, None)
        few = users[: choices.choice((2, 2, len(users)))]
        if choices.chance(1, 30):
            few = ["firms/nobody/users/x"]
        return CallIdentity(credential, choices.choice(few))


class Clients:
    """Draws inputs of clients."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._simulation = view.simulation
        self.requests = Requests(view)
        self.callers = Callers(view.simulation)
        self._last: RestCall | RpcCall | None = None

    @property
    def open(self) -> dict[int, Operation]:
        """The streams that clients hold, by id."""
        names = self._simulation.engine.hub.operations()
        return {number: load_contract().by_name(name) for number, name in names.items()}

    def inputs(self, kind: str, choices: RandomStream) -> Iterator[Input]:
        """Yield the inputs of a kind of move.

        An input may depend on the outcome of the previous one.
        """
        match kind.split(" "):
            case ["call", plane, name]:
                operation = load_contract().by_name(name)
                body = self.requests.document(choices, operation)
                caller = self.callers.on(choices, operation, _plane(plane))
                if plane in ("grpc", "exchange") and choices.chance(3, 4):
                    body = self._with_own_account(body, caller)
                yield self.call(choices, plane, operation, body, caller)
            case ["stream", name]:
                yield from self._stream(choices, load_contract().by_name(name))
            case ["frame"] if streams := self.open:
                number = choices.choice(list(streams))
                for _ in range(choices.choice((1, 1, 1, 5))):
                    yield StreamFrame(number, self._frame(choices, streams[number]), PEER)
            case ["hangup"] if streams := self.open:
                slow = choices.chance(1, 8)
                yield StreamHungUp(choices.choice(list(streams)), PEER, slow)
            case ["token"]:
                yield self._token(choices)
            case ["outlive"]:
                yield from self._outlive(choices)
            case ["removed"]:
                yield from self._removed(choices)
            case ["again"] if self._last is not None:
                yield self._last

    # ---- calls

    def call(
        self,
        choices: RandomStream,
        plane: str,
        operation: Operation,
        body: dict[str, Any],
        caller: CallIdentity,
    ) -> RestCall | RpcCall:
        """Return a call of an operation on a plane, which may be grpc."""
        if plane == "grpc":
            message = message_of(operation, body)
            method = choices.choice(operation.full_methods)
            self._last = RpcCall(method, message, caller.participant, caller.credential, PEER)
            return self._last
        verb, path, query, content = self.requests.address(choices, operation, body)
        bare = redact_rest(
            self._simulation.engine, cast(Plane, plane), verb, path, query, {}, content, PEER, None
        )
        self._last = replace(bare, participant=caller.participant, credential=caller.credential)
        return self._last

    def _with_own_account(self, value: Any, caller: CallIdentity) -> Any:
        """Return a request in which accounts are the caller's own."""
        firms = self._simulation.exchange.firms
        user = firms.user(caller.participant) if caller.participant else None
        if user is None:
            return value
        if isinstance(value, list):
            return [self._with_own_account(item, caller) for item in value]
        if isinstance(value, dict):
            return {
                name: user.account if name in _ACCOUNTS else self._with_own_account(inner, caller)
                for name, inner in value.items()
            }
        return value

    def _removed(self, choices: RandomStream) -> Iterator[Input]:
        """Call an operation before and after a nearby date on which it is added or removed."""
        now = self._simulation.now
        dates = [
            (at, operation)
            for operation in load_contract().operations
            if operation.kind == "unary" and operation.planes
            for at in (operation.since, operation.until)
            if at is not None and abs(at - now) < days(1)
        ]
        if dates:
            at, operation = choices.choice(dates)
            yield Advanced(max(now, at + NS_PER_S * choices.choice((-1, 0, 0, 60))))
            yield from self.inputs(f"call {operation.planes[0]} {operation.name}", choices)

    # ---- tokens

    def _token(self, choices: RandomStream) -> RestCall:
        """Return a token request. Its assertion is good, or has one of the possible problems."""
        firms = [firm for firm in self._simulation.exchange.firms.all() if firm.client_id]
        client = choices.choice(firms).client_id if firms else "nobody"
        good = choices.chance(2, 3)
        problem = "" if good else choices.choice(list(PROBLEMS))
        nonce = f"{choices.below(1 << 40) if choices.chance(7, 8) else 1:032x}"
        audience = "known" if choices.chance(9, 10) else "other"
        form = {
            "grant_type": GRANT_TYPE if choices.chance(9, 10) else "password",
            "client_id": client if choices.chance(9, 10) else "other",
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": "sealed",
            "audience": self._simulation.exchange.credentials.environment.audience,
        }
        text = "&".join(f"{name}={value}" for name, value in form.items())
        claims = {"audience": audience}
        credential = VerifiedCredential("assertion", client, problem, claims, nonce)
        return RestCall(
            "auth", "POST", "/oauth/token", body=text, credential=credential, peer=PEER, form=True
        )

    def _outlive(self, choices: RandomStream) -> Iterator[Input]:
        """Use an access token before and after its expiry (§5.1)."""
        yield self._token(choices)
        if not self.callers.tokens:
            return
        token = self.callers.tokens[-1]
        issued = self._simulation.exchange.credentials.token(token.key)
        if issued is not None:
            end = issued.expires + choices.choice(_AROUND)
            yield Advanced(max(end, self._simulation.now))
            operation = load_contract().by_name("AccountsAPI.GetWhoAmI")
            plane = choices.choice(("exchange", "grpc"))
            yield self.call(choices, plane, operation, {}, CallIdentity(token, None))

    # ---- streams

    def _stream(self, choices: RandomStream, operation: Operation) -> Iterator[Input]:
        if operation.content == "web_socket":
            caller = self.callers.on(choices, operation, "retail")
            path = operation.bindings[0][1]
            yield StreamOpened(path, b"", None, caller.credential, PEER, True)
            count = choices.choice((1, 1, 2))
        else:
            caller = self.callers.on(choices, operation, None)
            method, message = choices.choice(operation.full_methods), b""
            if operation.kind == "server":
                message = message_of(operation, self.requests.document(choices, operation))
            yield StreamOpened(method, message, caller.participant, caller.credential, PEER)
            count = int(operation.kind == "bidi")
        streams = self.open
        number = max(streams, default=0)
        if streams.get(number) is operation:
            for _ in range(count):
                yield StreamFrame(number, self._frame(choices, operation), PEER)

    def _frame(self, choices: RandomStream, operation: Operation) -> bytes:
        if operation.content != "web_socket":
            return message_of(operation, self.requests.document(choices, operation))
        if choices.chance(1, 5):
            return json.encode(choices.choice(_SOCKET_FRAMES))
        kinds = SOCKETS[operation.bindings[0][1]]
        return json.encode(socket_request(choices, self._view, kinds))


def _plane(name: str) -> Plane | None:
    return None if name == "grpc" else cast(Plane, name)


def encoded(operation: Operation, body: dict[str, Any]) -> bytes | None:
    """Return the protobuf bytes of a request; None if it is invalid."""
    try:
        request = json_decoder(operation.request)(json.encode(body))
        return protobuf_encoder(operation.request)(request)
    except (BadInput, ValueError, OverflowError):
        return None


def message_of(operation: Operation, body: dict[str, Any]) -> bytes:
    """Return the protobuf bytes of a request, or invalid bytes for an invalid request."""
    message = encoded(operation, body)
    return b"\x0a\x03abc" if message is None else message
