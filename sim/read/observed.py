"""What a run shows to a judge, as plain data: how it begins, and each input with its outcome.

The oracle may not import what it judges, so it gets dictionaries of the journal's own names, and
numbers where the exchange has enumerations. What a run begins with is input, not a decision:
terms, accounts, balances, standing orders, values of assumptions and quirks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, cast
from urllib.parse import parse_qsl

from msgspec import Struct, json, to_builtins

from sim.api.codecs.codecs import BadInput, dialect_at, json_decoder, json_encoder, protobuf_decoder
from sim.api.pipeline.inputs import Close, Input, Outcome, Post, Reply, RestCall, Send
from sim.contract.contract import Contract
from sim.contract.messages import Message
from sim.kernel.instants import Instant
from sim.kernel.journal_reader import UNREADABLE
from sim.read.relations import Applied, applied
from sim.run.engine.engine import Engine
from sim.run.simulation import Simulation

Document: TypeAlias = dict[str, Any]


class Beginning(Struct, frozen=True):
    """The state in which a run begins, or in which it goes on after a jump in time.

    | Field | Meaning |
    |---|---|
    | now | the first instant |
    | instruments | terms by symbol, with the `Standing` of each |
    | listed | every symbol in order of listing, as it is at the moment of the question |
    | accounts | name, kind, balance, collateral_return |
    | positions, orders, trades | rows as in the journal; open orders in order of priority |
    | firms, api_keys | who may call, with users, scopes and limits |
    | fees | rows that a scenario adds to the published schedule |
    | windows | announced maintenance, with its lead |
    | operations | the contract: addresses, gRPC methods, scope, participant, credential, limits |
    | access | tokens, used assertions and limits so far; whether maintenance refuses calls |
    | people | verifications and prefills, by firm and external id |
    | webhooks | registrations, events, deliveries, attempts and breakers |
    | assumed | the value of an assumption by its name, as it is at the moment of the question |
    | odds | how often a quirk acts, by its name, at the moment of the question: m of n times |
    """

    now: Instant
    instruments: Mapping[str, Document]
    listed: Callable[[], list[str]]
    accounts: list[Document]
    positions: list[Document]
    orders: list[Document]
    trades: list[Document]
    firms: list[Document]
    api_keys: list[Document]
    fees: list[Document]
    windows: list[Document]
    operations: tuple[Document, ...]
    access: Document
    people: tuple[Document, Document]
    webhooks: Document
    assumed: Callable[[str], Any]
    odds: Callable[[str], tuple[int, int]]


class ObservedInput:
    """One input and everything that it caused, read when asked for.

    | Attribute | Meaning |
    |---|---|
    | seq, at, now | its number; the instants before and after it |
    | input, out | its line in the journal: the input, and the outcome without long bodies |
    | operation | name of the operation that was called; "" if none was |
    | status, code | HTTP status; gRPC code |
    | pending_on | name of the late answer that brings the outcome; "" if this is the answer |
    | headers, request_id | of an answer over HTTP, and the trace id that it carries |
    """

    def __init__(
        self, engine: Engine, input_: Input, outcome: Outcome, at: Instant, out: bytes
    ) -> None:
        self._engine, self._input, self._outcome = engine, input_, outcome
        self.seq, self.at, self.now = outcome.seq, at, engine.now
        self.out: Document = json.decode(out)
        self.operation: str = self.out.get("operation", "")
        reply = outcome.reply
        self.status = 0 if reply is None else reply.status
        self.code = 0 if reply is None else reply.code
        self.pending_on = "" if reply is None else reply.pending_on
        self.headers = () if reply is None else reply.headers
        self.request_id = "" if reply is None else reply.request_id

    @cached_property
    def input(self) -> Document:
        """The input as the journal has it, with its `type`."""
        document: Document = to_builtins(self._input)
        return document

    @property
    def events(self) -> list[Document]:
        """The events of the input, in order."""
        events: list[Document] = self.out.get("events", [])
        return events

    @property
    def rule(self) -> str:
        """The rule by which the call was refused, as the run says it; "" if it was not."""
        rule: str = self.out.get("rule", "")
        return rule

    @cached_property
    def request(self) -> Document:
        """The request of a call: body, query and path, with JSON names; {} of one without any.

        Parameters of a query are texts, or lists of texts where they are repeated. A request over
        gRPC is as its JSON form.
        """
        input_ = self._input
        if isinstance(input_, RestCall):
            return self._rest_request(input_)
        message = getattr(input_, "message", b"")
        if not message or not self.operation:
            return {}
        operation = self._engine.contract.by_name(self.operation)
        return _document(self._engine, operation.request, operation.content, message)

    @cached_property
    def message(self) -> Document | None:
        """The request of a call as the contract's message: its names, with numbers for
        enumerations and instants. None of a call that asks for nothing, or cannot be read.
        """
        if not self.operation:
            return None
        kind = self._engine.contract.by_name(self.operation).request
        try:
            if isinstance(self._input, RestCall):
                message = json_decoder(kind)(self.request)
            else:
                message = protobuf_decoder(kind)(getattr(self._input, "message", b""))
        except (BadInput, ValueError, TypeError, LookupError):
            return None
        document: Document = to_builtins(message)
        return document

    def _rest_request(self, call: RestCall) -> Document:
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(call.query, keep_blank_values=True):
            query.setdefault(name, []).append(value)
        request: Document = {
            name: values[0] if len(values) == 1 else values for name, values in query.items()
        }
        match = self._engine.pipeline.routers[call.plane].match(call.verb, call.path)
        request |= getattr(match, "path_params", {})
        body = _json(call.body.encode()) if call.body and not call.form else None
        if call.form:
            request |= dict(parse_qsl(call.body))
        return request | body if isinstance(body, dict) else request

    @cached_property
    def answer(self) -> Any:
        """The body of the answer as JSON; None if there is none, or it is no JSON."""
        reply = self._outcome.reply
        if reply is None or reply.pending_on or reply.chunks is not None:
            return None
        return self._answer_of(reply)

    @property
    def broken_relations(self) -> Iterator[Applied]:
        """The relations between fields that the answer breaks."""
        rows = applied(self.operation, self.answer) if self.operation else ()
        return (row for row in rows if not row.holds)

    def _answer_of(self, reply: Reply) -> Any:
        if isinstance(self._input, RestCall) or getattr(self._input, "web_socket", False):
            return _json(reply.body)
        if reply.code or not self.operation:
            return None
        operation = self._engine.contract.by_name(self.operation)
        return _document(self._engine, operation.response, operation.content, reply.body)

    @cached_property
    def opened(self) -> int:
        """The number of the stream that the input opened; 0 if it opened none."""
        return self._outcome.stream

    def frames(self, operations: Mapping[int, str]) -> Iterator[tuple[int, Document]]:
        """Yield the frames that were sent, with the numbers of their streams.

        `operations` has the operation of each open stream.
        """
        for effect in self._outcome.effects:
            if isinstance(effect, Send) and effect.stream in operations:
                operation = self._engine.contract.by_name(operations[effect.stream])
                kind, content = operation.response, operation.content
                yield effect.stream, _document(self._engine, kind, content, effect.frame)

    def frame_in(self, operation: str) -> Document:
        """Return the frame that a client sent on a stream of an operation."""
        called = self._engine.contract.by_name(operation)
        message = getattr(self._input, "message", b"")
        return _document(self._engine, called.request, called.content, message)

    @property
    def posts(self) -> list[Document]:
        """Every attempt to deliver a webhook."""
        return [to_builtins(each) for each in self._outcome.effects if isinstance(each, Post)]

    @property
    def closed(self) -> list[Document]:
        """Every end of a stream that the exchange decided."""
        return [to_builtins(each) for each in self._outcome.effects if isinstance(each, Close)]


def _document(engine: Engine, kind: type[Message], content: str, message: bytes) -> Document:
    """Return a message as a JSON document; {} if it cannot be read."""
    if content == "web_socket":
        text = _json(message)
        return text if isinstance(text, dict) else {}
    encode = json_encoder(kind, dialect_at("exchange", engine.now))
    try:
        return cast(Document, json.decode(encode(protobuf_decoder(kind)(message))))
    except (ValueError, TypeError, LookupError):
        return {}


def _json(body: bytes) -> Any:
    try:
        return json.decode(body) if body else None
    except UNREADABLE:
        return None


class Standing(Struct, frozen=True):
    """How an instrument stands: state, whether an operator set it, its close and settlement."""

    state: int
    pinned: bool
    closed_at: Instant | None
    settlement: Document | None


class InstrumentDocuments(Mapping[str, Document]):
    """The instruments of an exchange, with their states as they were when this was made.

    An instrument that nobody has touched has the state of its dates, read when asked for.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._trading = simulation.exchange.trading
        lifecycle = self._trading.lifecycle
        self._standing = {
            symbol: self._standing_of(symbol)
            for symbol in self._trading.instruments.symbols()
            if lifecycle.is_materialised(symbol)
        }

    def _standing_of(self, symbol: str) -> Standing:
        lifecycle = self._trading.lifecycle
        return Standing(
            state=int(lifecycle.state(symbol)),
            pinned=lifecycle.is_pinned(symbol),
            closed_at=lifecycle.closed_at(symbol),
            settlement=to_builtins(self._trading.listings.settlements.newest_record(symbol)),
        )

    def __getitem__(self, symbol: str) -> Document:
        instrument = self._trading.instruments.get(symbol)
        if instrument is None:
            raise KeyError(symbol)
        standing = self._standing.get(symbol) or self._standing_of(symbol)
        terms: Document = to_builtins(instrument)
        changing: Document = to_builtins(standing)
        return terms | changing

    def __iter__(self) -> Iterator[str]:
        """Yield the symbols of those that somebody has touched."""
        return iter(self._standing)

    def __len__(self) -> int:
        return len(self._standing)


def beginning_of(simulation: Simulation) -> Beginning:
    """Return the state in which a simulation is, as plain data."""
    exchange = simulation.exchange
    trading, ctx = exchange.trading, exchange.ctx
    leads = {window.name: window.lead for window in exchange.maintenance.upcoming()}
    return Beginning(
        now=ctx.now,
        instruments=InstrumentDocuments(simulation),
        listed=lambda: list(trading.instruments.symbols()),
        accounts=[to_builtins(account) for account in trading.ledger],
        positions=[to_builtins(position) for position in trading.positions.all()],
        orders=[to_builtins(order) for order in trading.orders.open()],
        trades=[to_builtins(trade) for trade in trading.execution_log.trades.rows],
        firms=[to_builtins(firm) for firm in exchange.firms.all()],
        api_keys=[to_builtins(key) for key in exchange.firms.api_keys()],
        fees=[to_builtins(row) for row in trading.fees.save()],
        windows=[
            to_builtins(window) | {"lead": leads.get(window.name, 0)}
            for window in exchange.maintenance_calendar.save()
        ],
        operations=_operations(simulation.contract),
        access=_access_of(simulation),
        people=to_builtins((exchange.kyc.save(), exchange.prefills.save())),
        webhooks=to_builtins(exchange.webhooks.save()),
        assumed=ctx.assumptions.save().__getitem__,
        odds=lambda name: ctx.quirks.save().get(name, (0, 1)),
    )


@lru_cache(maxsize=1)
def _operations(contract: Contract) -> tuple[Document, ...]:
    """Return the rows of the contract, without dates: those are the law's own."""
    return tuple(
        {
            "name": each.name,
            "rest": [address.split(" ", 1) for address in each.rest],
            "planes": each.planes,
            "methods": each.full_methods,
            "scope": each.scope,
            "participant": each.participant,
            "credential": each.credential,
            "limits": each.limits,
            "content": each.content,
        }
        for each in contract.operations
    )


def _access_of(simulation: Simulation) -> Document:
    exchange = simulation.exchange
    counters = exchange.rate_limits.save()
    credentials: Document = to_builtins(exchange.credentials.save())
    return credentials | {
        "environment": exchange.credentials.environment.name,
        "paused": exchange.maintenance.active,
        "limits": to_builtins(counters.replaced),
        "full_at": to_builtins(counters.buckets),
        "windows": to_builtins(counters.windows),
    }
