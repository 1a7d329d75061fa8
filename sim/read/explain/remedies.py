"""What helps after a refusal without a remedy of its own, by the class of the refusal.

A remedy from the refusing code takes precedence. Every text says what the caller can do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.core.model import refusals
from sim.world.format.suggestions import suggestion

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_REMEDIES = {
    "InvalidRequest": "correct the named field; the request is the same for REST and gRPC",
    "Unauthenticated": "fetch a token and send `authorization: Bearer …`",
    "InvalidSignature": "sign timestamp + verb + path with the API key's Ed25519 secret",
    "PermissionDenied": "call as a firm that may do this; `x-participant-id` names the user",
    "NotFound": "check the name; a list of the same service says what there is",
    "UnknownPath": "`sim catalogue operations` lists every path that is served",
    "UnknownMethod": "`sim catalogue operations` lists every gRPC method that is served",
    "DuplicateOrder": "use a new client order id for each order; look up the first order by its id",
    "AlreadyExists": "it already exists: read it instead of creating it again",
    "OrderDone": "nothing: the order is filled, canceled, expired or rejected",
    "UnknownOrder": "check the order id; only orders of your own participant are found",
    "OrderRefused": "change the order as the message says",
    "InsufficientFunds": "deposit, cancel open orders that reserve money, or send a smaller order",
    "IllegalTransition": "`GET /_sim/v1/state/instruments` shows its state",
    "Conflict": "read the current state, then decide again",
    "SsnTaken": "stop: the person already exists, under the id that was used first",
    "PayloadTooLarge": "send less in one request",
    "RateLimited": "wait Retry-After seconds, then call again",
    "StreamLimit": "close a stream that is no longer read, or share one",
    "InternalFailure": "call again after a second; if the fault was injected, `fault` names it",
    "EdgeTimeout": "ask for less: filter by symbol or account, or use smaller pages",
    "Unavailable": "wait 1, 2, 4, 8 seconds between attempts",
    "Injected": "an injected fault answered: `GET /_sim/v1/faults` lists them",
}


def remedy_of(sim: Simulation, refusal: dict[str, Any]) -> str:
    """Return what helps after a refusal, by its class or the nearest base class; "" if nothing."""
    if symbol := refusal["facts"].get("symbol", ""):
        symbols = [each.symbol for each in sim.exchange.instruments]
        near = suggestion(symbol, symbols)
        return near.removeprefix(", ") or "the refdata service lists every instrument"
    kind = getattr(refusals, refusal["refusal"], None)
    names = (each.__name__ for each in getattr(kind, "__mro__", ()))
    return next((_REMEDIES[name] for name in names if name in _REMEDIES), "")
