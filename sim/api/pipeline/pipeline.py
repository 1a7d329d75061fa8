"""The one path of every call, whatever the plane and protocol: fault, maintenance, route, size,
authenticate, scope, participant, rate limit, parse, handle, render, in this order. Each stage may
refuse; the first refusal is the answer.

A stage decides from the sealed input, the exchange and virtual now alone. Which stage refused is
kept with the explanation of the refusal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from sim.api.codecs.codecs import Dialect
from sim.api.pipeline.authentication import Caller, authenticate, names_of
from sim.api.pipeline.error_mapping import explanation
from sim.api.pipeline.handler import AnyHandler
from sim.api.pipeline.inputs import Reply, RestCall, RpcCall, StreamOpened
from sim.api.pipeline.named_symbols import symbols_of
from sim.api.pipeline.replies import Replies
from sim.api.pipeline.request_log import Entry, RequestLog
from sim.api.pipeline.requests import Requests
from sim.api.pipeline.routing import Match, MethodNotAllowed, NotFound, Router
from sim.api.pipeline.settings import Settings
from sim.contract.contract import Contract, Operation, Plane
from sim.core.exchange import Exchange
from sim.core.model import refusals
from sim.core.model.refusals import Refusal
from sim.core.service.fault_spec import FaultAction
from sim.core.service.faults import InjectedFault
from sim.core.trading.synchronous import EDGE_TIMEOUT

# Planes that stop during maintenance (§1 item 5, rule W6): reference data, tokens and webhooks go
# on.
_MAINTAINED = frozenset({"retail", "exchange"})


class Admitted(Struct, kw_only=True):
    """A stream that passed every stage up to its handler. `request` is None for WebSockets and
    bidirectional rpcs, whose frames bring it.
    """

    operation: Operation
    caller: Caller
    method: str
    request: Any = None
    web_socket: bool = False
    dialect: Dialect


class Pipeline:
    """Walks calls through the stages."""

    def __init__(
        self,
        exchange: Exchange,
        contract: Contract,
        handlers: dict[str, AnyHandler],
        log: RequestLog,
        settings: Settings,
    ) -> None:
        self._exchange = exchange
        self._contract = contract
        self._handlers = handlers
        self._log = log
        self._max_body = settings.max_body
        self._routers = _routers(contract)
        self._requests = Requests(exchange.ctx.quirks)
        self.replies = Replies(exchange.ctx, vendor_prefix=settings.vendor_prefix)
        self._stage = ""
        self._fault: FaultAction | None = None
        self._caller: Caller | None = None

    # ---- REST

    def rest(self, call: RestCall) -> Reply:
        """Answer one HTTP request."""
        found = self._routers[call.plane].match(call.verb, call.path)
        operation = found.operation if isinstance(found, Match) else None
        caller: Caller | None = None
        ignored: list[str] = []
        refusal: Refusal | None = None
        exchange = self._exchange
        self._fault = self._caller = None
        try:
            if exchange.faults.armed:
                self._inject(call.plane, operation, call)
            if exchange.maintenance.active:
                self._maintenance(call.plane)
            match = (
                found
                if isinstance(found, Match) and not found.operation.dated
                else self._route(found)
            )
            if call.oversize or len(call.body) > self._max_body:
                self._size(call)
            operation = match.operation
            caller = self._admit(call, operation, call.plane)
            self._stage = "parse"
            request = self._requests.rest(call, match, ignored)
            if exchange.faults.by_symbol:
                self._inject(call.plane, operation, call, symbols_of(request))
            self._stage = "handle"
            answer = self._handle(operation, caller, request)
            self._stage = "render"
            reply = self.replies.rest(call.plane, operation, answer)
        except Exception as problem:
            refusal = _refusal_of(problem)
            reply = self.replies.refused(refusal, call.plane)
        if self._fault is not None:
            reply, refusal = self._apply_fault(self._fault, call.plane, reply, refusal)
        if exchange.ctx.service_time > EDGE_TIMEOUT:
            reply, refusal = self._cut(call.plane, reply, refusal)
        self._log_call(call, operation, caller, reply, ignored, refusal)
        return reply

    # ---- gRPC

    def rpc(self, call: RpcCall) -> Reply:
        """Answer one unary gRPC request."""
        operation = self._contract.by_rpc(call.method)
        caller: Caller | None = None
        refusal: Refusal | None = None
        self._fault = self._caller = None
        try:
            operation = self._admit_rpc(call, operation)
            caller = self._admit(call, operation, None)
            self._stage = "parse"
            request = self._requests.rpc(operation, call.message)
            if self._exchange.faults.by_symbol:
                self._inject("grpc", operation, call, symbols_of(request))
            self._stage = "handle"
            answer = self._handle(operation, caller, request)
            self._stage = "render"
            reply = self.replies.rpc(operation, answer)
        except Exception as problem:
            refusal = _refusal_of(problem)
            reply = self.replies.refused(refusal, "grpc")
        if self._fault is not None:
            reply, refusal = self._apply_fault(self._fault, "grpc", reply, refusal)
        if self._exchange.ctx.service_time > EDGE_TIMEOUT:
            reply, refusal = self._cut("grpc", reply, refusal)
        self._log_call(call, operation, caller, reply, (), refusal)
        return reply

    def _admit_rpc(self, call: RpcCall | StreamOpened, operation: Operation | None) -> Operation:
        if self._exchange.faults.armed:
            self._inject("grpc", operation, call)
        if self._exchange.maintenance.active:
            self._maintenance("exchange")
        self._stage = "route"
        if operation is None or not operation.exists_at(self._exchange.ctx.now):
            if call.method.startswith("/grpc.reflection."):
                raise refusals.PermissionDenied(
                    rule="S7.2-5",
                    remedy="build stubs from the published bundle: reflection needs an entitlement",
                )
            raise refusals.UnknownMethod(
                rule="S4.3-22", remedy="`sim catalogue operations` lists what gRPC serves"
            )
        return operation

    # ---- streams

    def open(self, call: StreamOpened) -> Admitted | Reply:
        """Let a stream in as far as its handler, or refuse it."""
        caller: Caller | None = None
        operation: Operation | None = None
        plane: Plane = "retail" if call.web_socket else "exchange"
        self._fault = self._caller = None
        try:
            if call.web_socket:
                found = self._routers[plane].match("GET", call.method)
                operation = found.operation if isinstance(found, Match) else None
                if self._exchange.faults.armed:
                    self._inject(plane, operation, call)
                if self._exchange.maintenance.active:
                    self._maintenance(plane)
                operation = self._route(found).operation
            else:
                operation = self._admit_rpc(call, self._contract.by_rpc(call.method))
            caller = self._admit(call, operation, "retail" if call.web_socket else None)
            self._stage = "parse"
            request = (
                self._requests.rpc(operation, call.message) if operation.kind == "server" else None
            )
            if request is not None and self._exchange.faults.by_symbol:
                self._inject("grpc", operation, call, symbols_of(request))
        except Exception as problem:
            return self._refuse_open(call, operation, caller, _refusal_of(problem))
        self._stage = "handle"
        dialect = self.replies.dialect(plane)
        return Admitted(
            operation=operation,
            caller=caller,
            method=call.method,
            request=request,
            web_socket=call.web_socket,
            dialect=dialect,
        )

    def refuse_stream(self, call: StreamOpened, admitted: Admitted, refusal: Refusal) -> Reply:
        """The handler of a stream refused it."""
        return self._refuse_open(call, admitted.operation, admitted.caller, refusal)

    def begun(self, call: StreamOpened, admitted: Admitted) -> None:
        """Note in the log that a stream began."""
        self._log_call(
            call,
            admitted.operation,
            admitted.caller,
            Reply(status=101 if call.web_socket else 200),
            (),
            None,
        )

    def _refuse_open(
        self,
        call: StreamOpened,
        operation: Operation | None,
        caller: Caller | None,
        refusal: Refusal,
    ) -> Reply:
        reply = self.replies.refused(refusal, "retail" if call.web_socket else "grpc")
        self._log_call(call, operation, caller, reply, (), refusal)
        return reply

    def download(self, call: StreamOpened, admitted: Admitted) -> Reply | None:
        """A server stream that a handler answers and that ends by itself: its messages, each made
        when it is asked for. None for subscriptions.
        """
        operation = admitted.operation
        if operation.name not in self._handlers:
            return None
        refusal: Refusal | None = None
        try:
            answer = self._handle(operation, admitted.caller, admitted.request)
            reply = self.replies.download(operation, answer)
        except Exception as problem:
            refusal = _refusal_of(problem)
            reply = self.replies.refused(refusal, "grpc")
        if self._fault is not None:
            reply, refusal = self._apply_fault(self._fault, "grpc", reply, refusal)
        self._log_call(call, operation, admitted.caller, reply, (), refusal)
        return reply

    # ---- stages shared by all

    def _inject(
        self,
        plane: str,
        operation: Operation | None,
        call: RestCall | RpcCall | StreamOpened,
        symbols: tuple[str, ...] | None = None,
    ) -> None:
        """Let a fault strike: before anything else or, where it asks for an instrument, once the
        call is parsed and names some.
        """
        self._stage = "fault"
        names = names_of(self._exchange, call.credential, call.participant, call.peer)
        struck = self._exchange.faults.strike(
            plane, operation.name if operation else "", names, symbols
        )
        self._fault = struck or self._fault

    def _apply_fault(
        self, struck: FaultAction, plane: str, reply: Reply, refusal: Refusal | None
    ) -> tuple[Reply, Refusal | None]:
        """What a fault makes of an answer it did not keep from being given."""
        if struck.status:
            self._stage = "fault"
            refusal = InjectedFault(struck)
            reply = self.replies.refused(refusal, plane)
        elif struck.handled:
            reply.connection_fault = struck.effect
        return reply, refusal

    def _cut(
        self, plane: str, reply: Reply, refusal: Refusal | None
    ) -> tuple[Reply, Refusal | None]:
        """What the edge makes of an answer that takes longer than it waits (§8). What was asked for
        is done all the same; a lost connection stays lost.
        """
        if reply.connection_fault or reply.pending_on:
            return reply, refusal
        self._stage = "edge"
        late = refusals.AnswerTooLate(
            EDGE_TIMEOUT,
            rule="S7.1-9",
            remedy="ask again: whatever made the answer slow may be over",
        )
        return self.replies.refused(late, plane), late

    def _maintenance(self, plane: str) -> None:
        """Of a window that is open."""
        self._stage = "maintenance"
        if plane in _MAINTAINED:
            raise refusals.Unavailable(
                rule="W4", remedy="wait for the end of the maintenance window"
            )

    def _route(self, found: Match | NotFound | MethodNotAllowed) -> Match:
        self._stage = "route"
        if isinstance(found, Match):
            if found.operation.exists_at(self._exchange.ctx.now):
                return found
            raise refusals.UnknownPath(
                rule="S9-3", remedy=f"{found.operation.name} is not served on this date"
            )
        if isinstance(found, MethodNotAllowed):
            raise refusals.MethodNotAllowed(found.allowed)
        raise refusals.UnknownPath(
            rule="S7.1-4", remedy="`sim catalogue operations` lists every path"
        )

    def _size(self, call: RestCall) -> None:
        self._stage = "size"
        size = call.oversize or len(call.body)
        if size > self._max_body:
            raise refusals.PayloadTooLarge(
                rule="S7.1-6", remedy=f"send at most {self._max_body} bytes"
            )

    def _admit(
        self, call: RestCall | RpcCall | StreamOpened, operation: Operation, plane: Plane | None
    ) -> Caller:
        # then scope and participant: `authenticate` raises a refusal of its own for each
        self._stage = "authenticate"
        caller = self._caller = authenticate(
            self._exchange, operation, plane, call.credential, call.participant, call.peer
        )
        self._stage = "rate limit"
        self._exchange.rate_limits.admit(plane, operation, caller)
        return caller

    def _handle(self, operation: Operation, caller: Caller, request: Any) -> Any:
        handler = self._handlers.get(operation.name)
        if handler is None and operation.content == "web_socket":
            raise refusals.InvalidRequest(
                "this path is a WebSocket", rule="S16", remedy="connect with Upgrade: websocket"
            )
        if handler is None:
            raise refusals.NotBuilt(operation.name)
        return handler.function(self._exchange, caller, request)

    # ---- the log

    def answered_late(self, refusal: Refusal, reply: Reply, orders: list[str]) -> None:
        """A held answer for these orders leaves as a refusal: from now on the log tells that of the
        call that asked.
        """
        ctx, asked = self._exchange.ctx, reply.request_id
        why = explanation(refusal, request_id=asked, operation="", now=ctx.now)
        why |= {"stage": "answer", "answered_in": int(ctx.trace_id, 16), "orders": list(orders)}
        self._log.answered(int(asked, 16), int(ctx.trace_id, 16), reply.status, reply.code, why)

    def _log_call(
        self,
        call: RestCall | RpcCall | StreamOpened,
        operation: Operation | None,
        caller: Caller | None,
        reply: Reply,
        ignored: tuple[str, ...] | list[str],
        refusal: Refusal | None,
    ) -> None:
        ctx = self._exchange.ctx
        caller = caller or self._caller  # one who was refused after being recognised is known too
        name = operation.name if operation else ""
        fault = getattr(refusal, "fault", "") if self._fault is None else self._fault.fault
        if fault:
            reply.headers = (*reply.headers, ("x-sim-fault", fault))
        why = None
        if refusal is not None:
            why = explanation(refusal, request_id=ctx.trace_id, operation=name, now=ctx.now)
            why["stage"] = self._stage
        if isinstance(call, RestCall):
            shown, address = str(call.plane), f"{call.verb} {call.path}"
        else:
            shown, address = (
                ("retail" if isinstance(call, StreamOpened) and call.web_socket else "grpc"),
                call.method,
            )
        who = caller.name if caller is not None else call.credential.key
        self._log.add(
            Entry(
                int(ctx.trace_id, 16),
                ctx.now,
                shown,
                name,
                who,
                reply.status,
                reply.code,
                address,
                tuple(ignored),
                why,
                fault,
            )
        )


@cache
def _routers(contract: Contract) -> dict[str, Router]:
    """Routers by plane. They hold nothing of a simulation, so all share them."""
    planes: tuple[Plane, ...] = ("gateway", "retail", "exchange", "auth")
    return {plane: Router(contract.routes(plane)) for plane in planes}


def _refusal_of(problem: Exception) -> Refusal:
    """A refusal as it is; a mistake of ours as an internal error whose cause is kept, so that it is
    told to the client as 500 and to us in full.
    """
    if isinstance(problem, Refusal):
        return problem
    refusal = Refusal(
        rule="bug",
        remedy=(
            "this is a mistake of the sandbox, not of the client: please report it with the journal"
        ),
    )
    refusal.__cause__ = problem
    return refusal
