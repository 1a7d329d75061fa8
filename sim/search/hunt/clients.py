"""What clients do in an episode: a gene becomes inputs, in the state in which it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import json
from msgspec.structs import replace

from sim.api.codecs.codecs import BadInput, json_decoder, protobuf_encoder
from sim.api.pipeline.inputs import (
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
from sim.kernel.instants import NS_PER_S, days, format_instant, minutes
from sim.run.simulation import Simulation
from sim.search.generator import exchange_order, retail_order
from sim.search.hunt.callers import PEER, Callers, CallIdentity
from sim.search.hunt.operators import Operators
from sim.search.hunt.requests import Requests

_INSERT = {
    "exchange": "OrderEntryAPI.InsertOrder",
    "grpc": "OrderEntryAPI.InsertOrder",
    "retail": "RetailOrdersAPI.CreateOrder",
}
_SOCKETS = {
    "RetailStreamsAPI.MarketsStream": ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE"),
    "RetailStreamsAPI.PrivateStream": (
        *("ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "RFQ"),
    ),
}
_ACCOUNTS = ("account", "participantAccountId")
_SOCKET_FRAMES: tuple[Any, ...] = (
    {"ping": {}},
    {"keepalive": {}},
    {"unsubscribe": {"requestId": "r0"}},
    [],
    "x",
)


class Clients:
    """Turns genes into inputs of clients.

    `open` are the streams that clients hold, by id; `tokens_of_streams` is the last resume token of
    each.
    """

    def __init__(self, simulation: Simulation, requests: Requests, operators: Operators) -> None:
        self._simulation = simulation
        self._requests = requests
        self.operators = operators
        self.callers = Callers(simulation)
        self.open: dict[int, Operation] = {}
        self.tokens_of_streams: dict[int, str] = {}
        self._last: RestCall | RpcCall | None = None

    def forget(self) -> None:
        """Forget the last call."""
        self._last = None

    def inputs(self, kind: str, choices: RandomStream) -> Iterator[Input]:
        """Yield the inputs of a kind of gene.

        An input may depend on the outcome of the previous one.
        """
        self._requests.now = self._simulation.now
        words = kind.split(" ")
        match words:
            case ["call", plane, name]:
                operation = load_contract().by_name(name)
                body = self._requests.document(choices, operation)
                who = self.callers.on(choices, operation, _plane(plane))
                if plane in ("grpc", "exchange") and choices.chance(3, 4):
                    body = self._with_own_account(body, who)
                yield self.call(choices, plane, operation, body, who)
            case ["order", plane] if plane in _INSERT:
                yield self._order(choices, plane)
            case ["stream", name]:
                yield from self._stream(choices, load_contract().by_name(name))
            case ["frame"] if self.open:
                number = choices.choice(list(self.open))
                yield StreamFrame(number, self._frame(choices, self.open[number]), PEER)
            case ["hangup"] if self.open:
                yield StreamHungUp(choices.choice(list(self.open)), PEER)
            case ["token"]:
                yield self._token(choices)
            case ["again"] if self._last is not None:
                yield self._last

    # ---- calls

    def call(
        self,
        choices: RandomStream,
        plane: str,
        operation: Operation,
        body: dict[str, Any],
        who: CallIdentity | None = None,
    ) -> RestCall | RpcCall:
        """Return a call of an operation on a plane, by a drawn caller unless given.

        For a read on both protocols the caller is given, and the request is the same on both.
        """
        if plane == "grpc":
            who = who or self.callers.on(choices, operation, None)
            message = message_of(operation, body)
            method = choices.choice(operation.full_methods)
            self._last = RpcCall(method, message, who.participant, who.credential, PEER)
            return self._last
        over = cast(Plane, plane)
        who = who or self.callers.on(choices, operation, over)
        verb, path, query, content = self._requests.address(choices, operation, over, body)
        bare = redact_rest(
            self._simulation.engine, over, verb, path, query, {}, content, PEER, None
        )
        self._last = replace(bare, participant=who.participant, credential=who.credential)
        return self._last

    def _with_own_account(self, value: Any, who: CallIdentity) -> Any:
        """Return a request in which accounts are the caller's own."""
        user = self._simulation.exchange.firms.user(who.participant) if who.participant else None
        if user is None:
            return value
        if isinstance(value, list):
            return [self._with_own_account(item, who) for item in value]
        if isinstance(value, dict):
            return {
                name: user.account if name in _ACCOUNTS else self._with_own_account(inner, who)
                for name, inner in value.items()
            }
        return value

    def _order(self, choices: RandomStream, plane: str) -> Input:
        """Return a valid order, in one of few markets, that is likely to trade."""
        terms = self.operators.market(choices)
        operation = load_contract().by_name(_INSERT[plane])
        if plane == "retail":
            body = retail_order(choices, terms)
            if choices.chance(1, 4):
                body["synchronousExecution"] = True
        else:
            body = exchange_order(choices, terms)
            body["clordId"] = f"h-{choices.below(40)}"
            if choices.chance(1, 3):
                body |= self._condition(choices, body)
            if choices.chance(1, 4):
                body["selfMatchPreventionInstruction"] = choices.choice(
                    (
                        "SELF_MATCH_PREVENTION_INSTRUCTION_REJECT_AGGRESSOR",
                        "SELF_MATCH_PREVENTION_INSTRUCTION_CANCEL_RESTING",
                        "SELF_MATCH_PREVENTION_INSTRUCTION_REMOVE_BOTH",
                    )
                )
                body["selfMatchPreventionId"] = "s"
        return self.call(choices, plane, operation, body)

    def _condition(self, choices: RandomStream, body: dict[str, Any]) -> dict[str, Any]:
        """Return fields of rarely used kinds of orders."""
        ends = format_instant(
            self._simulation.now + choices.choice((NS_PER_S, minutes(2), days(1)))
        )
        stop = {"type": "ORDER_TYPE_STOP", "stopPrice": body.get("price", "50")}
        fields: dict[str, Any] = choices.choice(
            (
                {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": ends},
                {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"},
                stop,
                {**stop, "type": "ORDER_TYPE_STOP_LIMIT", "price": body.get("price", "50")},
                {"cashOrderQty": str(choices.between(1, 4_000)), "orderQty": "0"},
                {"immediatelyExecutableLimit": True, "price": "0"},
                {"bestLimit": True, "price": "0"},
                {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "ignorePriceValidityChecks": True},
            )
        )
        return fields

    def _token(self, choices: RandomStream) -> RestCall:
        """Return a token request. Its assertion is good, or has one of the possible problems."""
        firms = [firm for firm in self._simulation.exchange.firms.all() if firm.client_id]
        client = choices.choice(firms).client_id if firms else "nobody"
        good = choices.chance(2, 3)
        problem = "" if good else choices.choice(list(PROBLEMS))
        nonce = f"{choices.below(1 << 40) if choices.chance(7, 8) else 1:032x}"
        known = "known" if choices.chance(9, 10) else "other"
        form = {
            "grant_type": GRANT_TYPE if choices.chance(9, 10) else "password",
            "client_id": client if choices.chance(9, 10) else "other",
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": "sealed",
            "audience": self._simulation.exchange.credentials.environment.audience,
        }
        text = "&".join(f"{name}={value}" for name, value in form.items())
        credential = VerifiedCredential("assertion", client, problem, {"audience": known}, nonce)
        return RestCall(
            "auth", "POST", "/oauth/token", body=text, credential=credential, peer=PEER, form=True
        )

    # ---- streams

    def _stream(self, choices: RandomStream, operation: Operation) -> Iterator[Input]:
        if operation.content == "web_socket":
            who = self.callers.on(choices, operation, "retail")
            path = operation.bindings[0][1]
            yield StreamOpened(path, b"", None, who.credential, PEER, True)
            count = choices.choice((1, 1, 2))
        else:
            who = self.callers.on(choices, operation, None)
            method, message = choices.choice(operation.full_methods), b""
            if operation.kind == "server":
                message = message_of(operation, self._requests.document(choices, operation))
            yield StreamOpened(method, message, who.participant, who.credential, PEER)
            count = int(operation.kind == "bidi")
        number = max(self.open, default=0)
        if self.open.get(number) is operation:
            for _ in range(count):
                yield StreamFrame(number, self._frame(choices, operation), PEER)

    def _frame(self, choices: RandomStream, operation: Operation) -> bytes:
        if operation.content != "web_socket":
            return message_of(operation, self._requests.document(choices, operation))
        if choices.chance(1, 5):
            return json.encode(choices.choice(_SOCKET_FRAMES))
        kinds = _SOCKETS[operation.name]
        request: dict[str, Any] = {
            "requestId": f"r{choices.below(3)}",
            "subscriptionType": f"SUBSCRIPTION_TYPE_{choices.choice(kinds)}",
        }
        if choices.chance(2, 3):
            known = self._requests.vocabulary.known("symbol")
            request["marketSlugs"] = [choices.choice(known) for _ in range(choices.below(3))]
        if choices.chance(1, 4):
            request["responsesDebounced"] = choices.chance(1, 2)
        return json.encode({"subscribe": request})


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
