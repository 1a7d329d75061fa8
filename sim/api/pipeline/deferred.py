"""Answers that depend on a later input, and the functions that build them.

A handler that cannot answer yet returns a `DeferredResponse`. The host keeps the caller waiting
until the engine emits the effect `Resolve` of the same name. Two calls do this: a webhook
registration waits for the answer to its test delivery, and a synchronous order waits for the
matching engine.

A `Finisher` tells the engine how to build such an answer. `api/registry.py` lists them by kind, so
the engine does not depend on handlers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sim.contract.contract import Plane
from sim.contract.messages import Message
from sim.core.exchange import Exchange
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant


class DeferredResponse(Struct, frozen=True):
    """A response that a handler cannot build yet.

    `pending_on` names the effect that brings the answer. `deadline` is the instant at which the
    clock brings it at the latest; 0 if it depends on somebody outside.
    """

    pending_on: str
    deadline: Instant = 0


class Finisher(Struct, frozen=True):
    """Builds one kind of deferred answer.

    `build(exchange, pending)` gets the core's record of the deferred call (a `PendingRegistration`,
    a `Wait`) and returns the response or the refusal, in the form of `plane`.
    """

    plane: Plane
    build: Callable[[Exchange, Any], Message | Refusal]
