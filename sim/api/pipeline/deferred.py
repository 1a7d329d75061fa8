"""Answers that depend on an input still to come, and the functions that build them then.

A handler that cannot answer yet returns a `DeferredResponse`. The host keeps the caller waiting
until the engine emits the effect `Resolve` of the same name. Two calls do this: a webhook
registration waits for the answer to its test delivery, and a synchronous order waits for the
matching engine.

`Finisher` says how the engine builds such an answer once its time has come; `api/registry.py` lists
them by kind, so the engine knows no handler by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sim.contract.contract import Plane
from sim.core.exchange import Exchange
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant
from sim.messages import Message


class DeferredResponse(Struct, frozen=True):
    """What a handler returns instead of a response it cannot build yet.

    `pending_on` names the effect that will bring the answer. `deadline` is the instant at which the
    clock brings it at the latest; 0 where somebody outside has to act.
    """

    pending_on: str
    deadline: Instant = 0


class Finisher(Struct, frozen=True):
    """How one kind of deferred answer is built.

    `build(exchange, pending)` gets the core's record of the deferred call (a `PendingRegistration`,
    a `Wait`) and returns the response or the refusal, which leaves on `plane`.
    """

    plane: Plane
    build: Callable[[Exchange, Any], Message | Refusal]
