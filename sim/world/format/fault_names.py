"""Names that a fault may have as its operation: operations of the contract, types of webhook
events, and commands to the engine.

A fault with a misspelt name would have no effect, so unknown names are refused.
"""

from __future__ import annotations

from functools import cache

from sim.contract.contract import load_contract
from sim.core.service.fault_spec import ENGINE, OF_DELIVERIES, FaultSpec, acts_on_answer, planes_of
from sim.core.webhooks.payloads import TEST, WEBHOOK_TYPES
from sim.world.format.suggestions import suggestion


@cache
def operation_names() -> frozenset[str]:
    """Every known name: operations with and without their service, webhook events, commands."""
    operations = load_contract().operations
    return frozenset(
        {name for operation in operations for name in (operation.name, operation.rpc)}
        | {*WEBHOOK_TYPES, *ENGINE}
    )


def has_no_effect(fault: FaultSpec) -> str:
    """Why a fault can have no effect: its plane does not serve its operation, or its operation does
    not support its act. Otherwise "".
    """
    plane, name = fault.match.plane, fault.match.operation
    if problem := _no_answer(fault, name) or _no_connection(fault, name):
        return problem
    if name == TEST and any(getattr(fault.act, effect) for effect in OF_DELIVERIES):
        return (
            f"drop and duplicate are not possible on {TEST}, which is a single attempt: use hang,"
            " status, reset or delay"
        )
    if not plane or not name or "*" in name:
        return ""
    places = _places(name)
    if not places or plane in places:
        return ""
    served = ", ".join(places)
    return f"{name} exists on {served}, not on {plane}, so this fault would have no effect"


def _no_answer(fault: FaultSpec, name: str) -> str:
    """Why a fault has no answer to act on: its operation opens streams."""
    act = fault.act
    if not acts_on_answer(act) or "stream" in planes_of(fault):
        return ""
    named = [each for each in load_contract().operations if name in (each.name, each.rpc)]
    if not named or any(each.kind == "unary" or each.rpc.startswith("Download") for each in named):
        return ""
    remedy = "; match `plane: stream` to alter its frames" if act.patch else ""
    return f"{name} opens a stream, which has no answer that could be lost or altered{remedy}"


def _no_connection(fault: FaultSpec, name: str) -> str:
    """Why a fault cannot close the connection of a stream: gRPC has the connection."""
    if not fault.act.close or fault.match.plane != "stream":
        return ""
    named = [each for each in load_contract().operations if name in (each.name, each.rpc)]
    if not named or any(each.content == "web_socket" for each in named):
        return ""
    return (
        f"{name} is a stream of gRPC, whose connections grpcio does not let us close one by one:"
        " use reset, which ends the stream, or drop_connections, which ends all of a plane"
    )


def _places(name: str) -> tuple[str, ...]:
    """Planes on which a fault may match a name."""
    places: dict[str, None] = {}
    for operation in load_contract().operations:
        if name in (operation.name, operation.rpc):
            places |= dict.fromkeys(operation.planes)
            places |= {"grpc": None} if operation.grpc else {}
            places |= {"stream": None} if operation.kind != "unary" else {}
    return (
        *places,
        *(("webhook",) if name in WEBHOOK_TYPES else ()),
        *(("engine",) if name in ENGINE else ()),
    )


def unknown_operation(name: str) -> str:
    """What is wrong with the name of an operation; "" if it exists or is a pattern."""
    if not name or "*" in name or name in operation_names():
        return ""
    listed = "; `sim catalogue operations` lists them"
    return f"unknown operation {name!r}{suggestion(name, operation_names()) or listed}"
