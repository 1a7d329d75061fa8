"""The stages that a call passes, and the state that they share.

A stage is a function `stage(call, state)`. It reads the redacted call and writes its result into
the call's own `CallState`. It refuses by raising a `Refusal`; the first refusal is the answer, and
the stage's name is part of its explanation. A stage depends only on the call, the exchange and
virtual now; it keeps nothing between two calls. `pipeline.py` defines the stages of each kind of
call and their order.

The closing stages (`apply_fault`, `edge`, `log`) run for every answer, including refusals. They
change or record the reply and never raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sim.api.pipeline.altered import patch_json, patch_protobuf
from sim.api.pipeline.authentication import Caller, authenticate_caller, key_caller, names_of
from sim.api.pipeline.error_mapping import explanation
from sim.api.pipeline.handler import AnyHandler
from sim.api.pipeline.inputs import SCRIPT, Reply, RestCall, RpcCall, StreamOpened
from sim.api.pipeline.replies import Replies, wire_switches
from sim.api.pipeline.request_log import LoggedCall, RequestLog
from sim.api.pipeline.requests import RequestParser, symbols_of
from sim.api.pipeline.routing import Match, WrongVerb
from sim.contract.contract import Operation, Plane
from sim.core.exchange import Exchange
from sim.core.model import refusals
from sim.core.model.refusals import Refusal
from sim.core.service.fault_spec import FaultAction, can_answer, can_open
from sim.core.service.faults import FaultTarget, InjectedFault
from sim.core.trading.synchronous import EDGE_TIMEOUT

Call: TypeAlias = RestCall | RpcCall | StreamOpened

# Planes that stop during maintenance (§1 item 5, rule W6); the gateway and the token issuer do not.
_STOPS_FOR_MAINTENANCE = frozenset({"retail", "exchange", "grpc"})


class Services(Struct, frozen=True, kw_only=True):
    """The parts of the simulation that the stages use."""

    exchange: Exchange
    handlers: Mapping[str, AnyHandler]
    requests: RequestParser
    replies: Replies
    log: RequestLog
    max_body: int


class CallState(Struct):
    """The state of one call on its way through the stages.

    `plane` is None for gRPC; `surface` is the plane's name or "grpc". `match` is the router's
    result for the path. `fault` is the injected fault that affected the call. `ignored` are names
    of parameters and keys that the message does not have. `refused_in` names the stage that refused
    the call. `over` names the published limits that the call exceeds but that are not enforced.

    Fields whose type admits Any are None until their stage has run. Later stages rely on
    the order of the tuples instead of checking again.
    """

    services: Services
    plane: Plane | None
    surface: str
    operation: Operation | Any
    match: Match | Any = None
    caller: Caller | Any = None
    request: Any = None
    answer: Any = None
    reply: Reply | Any = None
    fault: FaultAction | None = None
    refusal: Refusal | None = None
    refused_in: str = ""
    ignored: list[str] = []
    over: tuple[str, ...] = ()

    def refuse(self, refusal: Refusal, stage: str) -> None:
        """Make a refusal of a stage the reply."""
        self.refusal, self.refused_in = refusal, stage
        self.reply = self.services.replies.refused(refusal, self.surface)


Stage: TypeAlias = Callable[[Any, CallState], None]

# ---- stages that may refuse


def fault(call: Call, state: CallState) -> None:
    """Inject a fault that does not match by instrument, before any other stage. A step of the
    scenario calls without a connection, so it is refused here where a plane accepts none.
    """
    if call.peer == SCRIPT and state.services.exchange.listeners.closed:
        state.services.exchange.listeners.connect(_target(call, state))
    if state.services.exchange.faults.armed:
        _strike(call, state, None)


def maintenance(call: Call, state: CallState) -> None:
    """Refuse while a maintenance window is open (rules W4, W8)."""
    if state.services.exchange.maintenance.active and state.surface in _STOPS_FOR_MAINTENANCE:
        operation = state.operation
        checks_health = operation is not None and operation.service.name.endswith("HealthAPI")
        rule, remedy = "W8" if checks_health else "W4", "wait for the end of the maintenance window"
        raise refusals.Unavailable(rule=rule, remedy=remedy)


def route(call: Call, state: CallState) -> None:
    """Refuse an address without an operation, or without one on this date.

    The retail API checks credentials first: without them every address but health is 401.
    """
    operation = state.operation
    if state.plane == "retail" and _needs_key(operation):
        _check_key(call, state)
    if operation is None or not (operation.always or _exists(operation, state)):
        raise _not_served(call, state)


def size(call: RestCall, state: CallState) -> None:
    """Refuse a body that is too large. The server does not read a body that is much too large."""
    body_max = state.services.max_body
    if (call.oversize or len(call.body)) > body_max:
        raise refusals.PayloadTooLarge(rule="S7.1-6", remedy=f"send at most {body_max} bytes")


def authenticate(call: Call, state: CallState) -> None:
    """Establish the caller; also check scope and participant, each with its own refusal."""
    state.caller = authenticate_caller(
        state.services.exchange,
        state.operation,
        state.plane,
        call.credential,
        call.participant,
        call.peer,
    )


def rate_limit(call: Call, state: CallState) -> None:
    """Count the call against the limits of its plane and operation."""
    limits = state.services.exchange.rate_limits
    state.over = limits.admit(state.plane, state.operation, state.caller)


def parse(call: Call, state: CallState) -> None:
    """Read the request message. Streams whose frames contain their requests have none yet."""
    requests, operation = state.services.requests, state.operation
    if isinstance(call, RestCall):
        state.request = requests.rest(call, state.match, state.ignored)
    elif isinstance(call, RpcCall) or operation.kind == "server":
        state.request = requests.rpc(operation, call.message)


def fault_on_symbol(call: Call, state: CallState) -> None:
    """Inject a fault that matches by instrument, once the instruments of the request are known."""
    if state.services.exchange.faults.by_symbol and state.request is not None:
        _strike(call, state, symbols_of(state.request))


def opening(call: StreamOpened, state: CallState) -> None:
    """Refuse a subscription that opens later than the timeout of the edge (§8)."""
    if state.services.exchange.ctx.service_time > EDGE_TIMEOUT:
        raise _too_late()


def handle(call: Call, state: CallState) -> None:
    """Call the handler of the operation."""
    services, operation = state.services, state.operation
    handler = services.handlers.get(operation.name)
    if handler is None:
        raise _no_handler(operation)
    state.answer = handler.function(services.exchange, state.caller, state.request)


def render(call: Call, state: CallState) -> None:
    """Encode the answer for the plane and protocol of the call."""
    replies, operation = state.services.replies, state.operation
    if isinstance(call, RestCall):
        state.reply = replies.rest(call.plane, operation, state.answer)
    elif isinstance(call, RpcCall):
        state.reply = replies.rpc(operation, state.answer)
    else:
        state.reply = replies.download(operation, state.answer)


# ---- closing stages


def apply_fault(call: Call, state: CallState) -> None:
    """Apply a fault that acts after the call was executed: another status, or
    a broken connection.
    """
    if state.fault is None:
        return
    if state.fault.status:
        state.refuse(InjectedFault(state.fault), fault.__name__)
    elif state.fault.patch:
        _patch(call, state, state.fault)
    elif state.fault.handled:
        state.reply.connection_fault = state.fault.effect


def edge(call: Call, state: CallState) -> None:
    """Refuse an answer that takes longer than the timeout of the edge (§8).

    The call has been executed nevertheless. A connection that a fault breaks stays broken, and the
    deadline of a deferred answer is handled elsewhere.
    """
    if state.services.exchange.ctx.service_time <= EDGE_TIMEOUT:
        return
    if not state.reply.connection_fault and not state.reply.pending_on:
        state.refuse(_too_late(), edge.__name__)


def log(call: Call, state: CallState) -> None:
    """Add the call and its answer to the request log, with an explanation of a refusal."""
    services, reply, refusal = state.services, state.reply, state.refusal
    ctx = services.exchange.ctx
    operation = state.operation.name if state.operation else ""
    fault_id = state.fault.fault if state.fault is not None else ""
    why = None
    if refusal is not None:
        fault_id = fault_id or refusal.fault
        why = explanation(
            refusal,
            reply.code,
            request_id=ctx.trace_id,
            operation=operation,
            now=ctx.now,
            stage=state.refused_in,
        )
    if fault_id:
        reply.headers = (*reply.headers, ("x-sim-fault", fault_id))
    if state.over:
        reply.headers = (*reply.headers, ("x-sim-over-limit", ", ".join(state.over)))
    services.log.add(
        LoggedCall(  # positional arguments: a Struct searches for each keyword
            int(ctx.trace_id, 16),
            ctx.now,
            state.surface,
            operation,
            state.caller.name if state.caller is not None else call.credential.key,
            reply.status,
            reply.code,
            f"{call.verb} {call.path}" if isinstance(call, RestCall) else call.method,
            tuple(state.ignored),
            why,
            fault_id,
            state.over,
        )
    )


# ---- helpers


def _too_late() -> Refusal:
    remedy = "try again: the reason for the slow answer may be over"
    return refusals.AnswerTooLate(EDGE_TIMEOUT, rule="S7.1-9", remedy=remedy)


class _Unrouted(NamedTuple):
    """A substitute for the operation of calls to unknown addresses, for counts."""

    rpc: str = ""
    limits: tuple[str, ...] = ()


def _needs_key(operation: Operation | None) -> bool:
    return operation is None or operation.credential_on("retail") == "api_key"


def _check_key(call: Call, state: CallState) -> None:
    """Refuse a retail call without a valid signature; calls without a signature are
    counted by address.
    """
    exchange = state.services.exchange
    if call.credential.kind == "none":
        anonymous = Caller(plane="retail", peer=call.peer)
        exchange.rate_limits.admit("retail", _Unrouted(), anonymous)
    key_caller(exchange, "retail", call.credential, call.peer)


def _strike(call: Call, state: CallState, symbols: tuple[str, ...] | None) -> None:
    """Inject a fault that matches this call; one that replaces the handler's answer raises."""
    exchange = state.services.exchange
    target = _target(call, state)
    is_subscription = (
        isinstance(call, StreamOpened) and target.operation not in state.services.handlers
    )
    can = can_open if is_subscription else can_answer
    action = exchange.faults.inject(*target[:3], symbols, can)
    state.fault = action or state.fault


def _exists(operation: Operation, state: CallState) -> bool:
    """Whether an operation is served now, by its dates and by what is assumed."""
    ctx = state.services.exchange.ctx
    return operation.exists_at(ctx.now, wire_switches(ctx.assumptions))


def _target(call: Call, state: CallState) -> FaultTarget:
    """The call as what a fault affects."""
    names = names_of(state.services.exchange, call.credential, call.participant, call.peer)
    return FaultTarget(state.surface, state.operation.name if state.operation else "", names)


def _patch(call: Call, state: CallState, action: FaultAction) -> None:
    """Alter the answer, or have it altered once it is complete."""
    faults, reply, target = state.services.exchange.faults, state.reply, _target(call, state)
    if reply.pending_on:
        faults.patch_later(reply.request_id, action, target)
        return
    request = state.request
    cursor = getattr(request, "cursor", "") or getattr(request, "page_token", "") or ""
    if state.plane is not None:
        possible = patch_json(reply, action.patch, cursor)
    else:
        possible = patch_protobuf(reply, action.patch, state.operation, cursor)
    faults.acted(action, target, possible)
    if not possible:
        state.fault = None


def _not_served(call: Call, state: CallState) -> Refusal:
    """The refusal of an address that has no operation now."""
    if state.plane is None:
        assert not isinstance(call, RestCall)
        if call.method.startswith("/grpc.reflection."):
            remedy = "build stubs from the published bundle: reflection needs an entitlement"
            return refusals.PermissionDenied(rule="S7.2-5", remedy=remedy)
        if state.operation is not None:
            rule = "S4.3-22" if state.operation.served_by else "S9-3"
            return refusals.UnknownMethod(rule=rule, remedy=_undated(state.operation))
        remedy = "`sim catalogue operations` lists the gRPC methods"
        return refusals.UnknownMethod(rule="S4.3-22", remedy=remedy)
    match = state.match
    declared = match.operations if isinstance(match, Match | WrongVerb) else {}
    verbs = tuple(verb for verb, operation in declared.items() if _exists(operation, state))
    if verbs:
        return refusals.MethodNotAllowed(verbs)
    if declared:
        rule = "S7.1-4" if any(gone.served_by for gone in declared.values()) else "S9-3"
        return refusals.UnknownPath(rule=rule, remedy=_undated(*declared.values()))
    return refusals.UnknownPath(rule="S7.1-4", remedy="`sim catalogue operations` lists every path")


def _undated(*operations: Operation) -> str:
    names = ", ".join(operation.name for operation in operations)
    switches = sorted({f"{gone.served_by}: served" for gone in operations if gone.served_by})
    reason = f"unless a scenario assumes {', '.join(switches)}" if switches else "on this date"
    return f"{names} is not served {reason}"


def _no_handler(operation: Operation) -> Refusal:
    """The refusal of an operation that is part of the contract and has no handler."""
    if operation.content == "web_socket":
        remedy = "connect with Upgrade: websocket"
        return refusals.InvalidRequest("this path is a WebSocket", rule="S16", remedy=remedy)
    return refusals.NotBuilt(operation.name)
