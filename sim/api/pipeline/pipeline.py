"""The path of every call: its stages and their order.

There are four kinds of calls, and one tuple of stages for each: requests over REST, unary calls
over gRPC, subscriptions (streams that a feed serves until they are ended) and downloads (gRPC
streams that a handler answers and that end by themselves). `stages.py` has the stages. A call that
would fail in two stages is refused by the earlier one.

If a stage refuses the call, the name of the stage becomes part of the explanation. Any other
exception is a bug of the sandbox that may have left the state half changed; it leaves the pipeline,
and the engine ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sim.api.codecs.codecs import Dialect, json_encoder
from sim.api.codecs.large_messages import large_parts
from sim.api.pipeline import stages
from sim.api.pipeline.altered import patch_json
from sim.api.pipeline.answer_cache import prepared
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.error_mapping import explanation
from sim.api.pipeline.handler import AnyHandler
from sim.api.pipeline.inputs import Reply, RestCall, RpcCall, StreamOpened
from sim.api.pipeline.replies import Replies
from sim.api.pipeline.request_log import RequestLog
from sim.api.pipeline.requests import RequestParser
from sim.api.pipeline.routing import Match, Router
from sim.api.pipeline.settings import Settings
from sim.api.pipeline.stages import Call, CallState, Services, Stage
from sim.contract.contract import Contract, Operation, Plane
from sim.core.exchange import Exchange
from sim.core.model.refusals import Refusal
from sim.kernel.work import Work

Stages: TypeAlias = tuple[Stage, ...]

REST: Stages = (
    stages.fault,
    stages.maintenance,
    stages.route,
    stages.size,
    stages.authenticate,
    stages.rate_limit,
    stages.parse,
    stages.fault_on_symbol,
    stages.handle,
    stages.render,
)
RPC: Stages = tuple(stage for stage in REST if stage is not stages.size)
# From there on a feed answers.
SUBSCRIPTION: Stages = (*RPC[: RPC.index(stages.handle)], stages.opening)
DOWNLOAD: Stages = RPC

# Stages that process every answer, including refusals.
ANSWERED: Stages = (stages.apply_fault, stages.edge, stages.log)
DOWNLOADED: Stages = (stages.apply_fault, stages.log)


class Path(NamedTuple):
    """The stages of one kind of call, and its closing stages."""

    stages: Stages
    closing: Stages


_REST, _RPC = Path(REST, ANSWERED), Path(RPC, ANSWERED)
_SUBSCRIPTION, _DOWNLOAD = Path(SUBSCRIPTION, ()), Path(DOWNLOAD, DOWNLOADED)


class AdmittedSubscription(Struct, kw_only=True):
    """A subscription that passed every stage and is given to its feed.

    `request` is None for WebSockets and bidirectional rpcs, whose frames contain the requests.
    """

    operation: Operation
    caller: Caller
    method: str
    request: Any = None
    web_socket: bool = False
    dialect: Dialect
    state: CallState


class Pipeline:
    """Passes calls through their stages."""

    def __init__(
        self,
        exchange: Exchange,
        contract: Contract,
        handlers: Mapping[str, AnyHandler],
        log: RequestLog,
        settings: Settings,
    ) -> None:
        self._contract = contract
        self.routers = _routers(contract)
        self.replies = Replies(exchange.ctx, vendor_prefix=settings.vendor_prefix)
        self._services = Services(
            exchange=exchange,
            handlers=handlers,
            requests=RequestParser(exchange.ctx.quirks),
            replies=self.replies,
            log=log,
            max_body=settings.max_body,
        )

    def rest(self, call: RestCall) -> Reply:
        """Answer one HTTP request."""
        match = self.routers[call.plane].match(call.verb, call.path)
        operation = match.operation if isinstance(match, Match) else None
        state = CallState(self._services, call.plane, call.plane, operation, match)
        _walk(call, state, _REST)
        return state.reply

    def prepare(self, plane: Plane, verb: str, path: str, query: str) -> Work[int]:
        """Fill the caches that a read of the gateway uses, in small steps. Returns the number of
        bytes of the events and markets in its answer.
        """
        size = 0
        match = self.routers[plane].match(verb, path)
        if plane != "gateway" or verb != "GET" or not isinstance(match, Match):
            return size
        exchange, name = self._services.exchange, match.operation.name
        handler = self._services.handlers.get(name)
        call = RestCall(plane=plane, verb=verb, path=path, query=query)
        if handler is not None:
            with suppress(Exception):  # whatever it is, the call itself will show it
                request = self._services.requests.rest(call, match, [])
                caller = Caller(plane=plane)
                answer = yield from prepared(exchange, lambda: handler(exchange, caller, request))
                for part in large_parts(answer):
                    size += len(json_encoder(type(part), self.replies.dialect(plane))(part))
                    yield
        return size

    def rpc(self, call: RpcCall) -> Reply:
        """Answer one unary gRPC request."""
        state = CallState(self._services, None, "grpc", self._contract.by_rpc(call.method))
        _walk(call, state, _RPC)
        return state.reply

    def open(self, call: StreamOpened) -> AdmittedSubscription | Reply:
        """Admit a subscription, answer a download, or refuse either."""
        state = self._stream_state(call)
        operation = state.operation
        download = operation is not None and operation.name in self._services.handlers
        _walk(call, state, _DOWNLOAD if download else _SUBSCRIPTION)
        if state.reply is not None:
            if not download:
                stages.log(call, state)
            return state.reply
        return AdmittedSubscription(
            operation=operation,
            caller=state.caller,
            method=call.method,
            request=state.request,
            web_socket=call.web_socket,
            dialect=self.replies.dialect(state.plane or "exchange"),
            state=state,
        )

    def _stream_state(self, call: StreamOpened) -> CallState:
        if not call.web_socket:
            return CallState(self._services, None, "grpc", self._contract.by_rpc(call.method))
        match = self.routers["retail"].match("GET", call.method)
        operation = match.operation if isinstance(match, Match) else None
        return CallState(self._services, "retail", "retail", operation, match)

    def log_subscription(self, call: StreamOpened, admitted: AdmittedSubscription) -> Reply:
        """Log that a feed took a subscription, and return how the client hears of it."""
        ctx = self._services.exchange.ctx
        status = 101 if call.web_socket else 200
        admitted.state.reply = Reply(status=status, ready_at=ctx.now + ctx.service_time)
        stages.log(call, admitted.state)
        return admitted.state.reply

    def refuse_subscription(
        self, call: StreamOpened, admitted: AdmittedSubscription, refusal: Refusal
    ) -> Reply:
        """Log that a feed refused a subscription, and return the reply."""
        state = admitted.state
        state.refuse(refusal, stages.handle.__name__)
        stages.log(call, state)
        return state.reply

    def complete(self, plane: Plane, answer: Any, request_id: str) -> Reply:
        """Build the deferred answer to the call with this request id."""
        reply = self.replies.complete(plane, answer, request_id)
        if late := self._services.exchange.faults.take_late(request_id):
            action, target = late
            possible = patch_json(reply, action.patch)
            self._services.exchange.faults.acted(action, target, possible)
        return reply

    def log_late_refusal(self, refusal: Refusal, reply: Reply, orders: list[str]) -> None:
        """Log that the deferred answer to a call about these orders became a refusal."""
        ctx, request_id = self._services.exchange.ctx, reply.request_id
        asked, answered = int(request_id, 16), int(ctx.trace_id, 16)
        why = explanation(
            refusal, reply.code, request_id=request_id, operation="", now=ctx.now, stage="answer"
        )
        why = replace(why, answered_in=answered, orders=tuple(orders))
        self._services.log.answered(asked, reply.status, reply.code, why)


def _walk(call: Call, state: CallState, path: Path) -> None:
    """Pass a call through stages until one refuses it, then through the closing stages."""
    stage = path.stages[0]
    try:
        for stage in path.stages:
            stage(call, state)
    except Refusal as refusal:
        # The traceback refers to this frame and the state, which refers to the refusal: a reference
        # cycle that only the garbage collector would free.
        refusal.__traceback__ = None
        state.refuse(refusal, stage.__name__)
    for stage in path.closing:
        stage(call, state)


@cache
def _routers(contract: Contract) -> dict[str, Router]:
    """The routers by plane. They have no state of a simulation, so all simulations share them."""
    planes: tuple[Plane, ...] = ("gateway", "retail", "exchange", "auth")
    return {plane: Router(contract.routes(plane)) for plane in planes}
