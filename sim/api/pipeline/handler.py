"""Connects a function to the operation that it serves.

A handler that cannot answer yet returns a `DeferredResponse`. The host keeps the caller waiting
until the engine emits the effect `Resolve` of the same name. Two calls do this: a webhook
registration waits for the answer to its test delivery, and a synchronous order waits for the
matching engine. A `Finisher` tells the engine how to build such an answer.

`@handles("Service.Rpc")` wraps a function in a `Handler`; it registers nothing. `api/registry.py`
collects the handlers of the packages. An unknown operation, and a second handler for one operation,
are errors when the modules are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from msgspec import Struct

from sim.api.pipeline.authentication import Caller
from sim.contract.contract import Plane, load_contract
from sim.contract.messages import Message
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest, Refusal
from sim.kernel.instants import Instant

Request = TypeVar("Request")
Answer = TypeVar("Answer")
F = TypeVar("F")


class Handler(NamedTuple, Generic[Request, Answer]):
    """Serves operations, for REST and gRPC alike.

    `function(exchange, caller, request)` returns a response message, a `PreencodedResponse`, a
    `DeferredResponse`, or an iterator of the messages of a download.
    """

    operations: tuple[str, ...]
    function: Callable[[Exchange, Caller, Request], Answer]

    def __call__(self, exchange: Exchange, caller: Caller, request: Request) -> Answer:
        return self.function(exchange, caller, request)


AnyHandler = Handler[Any, Any]


class _Declaration:
    """Makes a handler of a function, with or without a parameter for the caller."""

    def __init__(self, operations: tuple[str, ...]) -> None:
        self._operations = operations

    @overload
    def __call__(
        self, function: Callable[[Exchange, Caller, Request], Answer]
    ) -> Handler[Request, Answer]: ...
    @overload
    def __call__(
        self, function: Callable[[Exchange, Request], Answer]
    ) -> Handler[Request, Answer]: ...
    def __call__(self, function: Callable[..., Any]) -> AnyHandler:
        if len(signature(function).parameters) != 2:
            return Handler(self._operations, function)
        served = wraps(function)(lambda exchange, caller, request: function(exchange, request))
        return Handler(self._operations, served)


def handles(*operations: str) -> _Declaration:
    """Declare that a function serves operations "Service.Rpc".

    It takes the exchange, the caller and the request; one that answers everybody alike takes no
    caller. UnknownOperation, with the nearest name, if the contract has no operation of a name.
    """
    return _Declaration(tuple(load_contract().by_name(name).name for name in operations))


def require(value: F | None, name: str, *, rule: str = "", remedy: str = "") -> F:
    """Return a field of a request. InvalidRequest if it is empty, or was not sent."""
    if not value:
        raise InvalidRequest(f"{name} is required", rule=rule, remedy=remedy)
    return value


def collect(modules: Iterable[ModuleType]) -> dict[str, AnyHandler]:
    """Return the handlers of modules by operation. ValueError when two serve one operation."""
    handlers: dict[str, AnyHandler] = {}
    for module in modules:
        for value in vars(module).values():
            for operation in value.operations if isinstance(value, Handler) else ():
                other = handlers.setdefault(operation, value)
                if other is not value:
                    raise ValueError(
                        f"two handlers for {operation}: {_place(other)} and {_place(value)}"
                    )
    return handlers


def _place(handler: AnyHandler) -> str:
    return f"{handler.function.__module__}.{handler.function.__name__}"


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
