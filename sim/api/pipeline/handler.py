"""Connects a function to the operation that it serves.

`@handles("Service.Rpc")` wraps a function in a `Handler`; it registers nothing. `api/registry.py`
collects the handlers of the packages. An unknown operation, and a second handler for one operation,
are errors when the modules are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from sim.api.pipeline.authentication import Caller
from sim.contract.contract import load_contract
from sim.core.exchange import Exchange

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Handler(NamedTuple, Generic[Request, Answer]):
    """Serves one operation, for REST and gRPC alike.

    `function(exchange, caller, request)` returns a response message, a `PreencodedResponse`, a
    `DeferredResponse`, or an iterator of the messages of a download.
    """

    operation: str
    function: Callable[[Exchange, Caller, Request], Answer]

    def __call__(self, exchange: Exchange, caller: Caller, request: Request) -> Answer:
        return self.function(exchange, caller, request)


AnyHandler = Handler[Any, Any]


def handles(
    operation: str,
) -> Callable[[Callable[[Exchange, Caller, Request], Answer]], Handler[Request, Answer]]:
    """Declare that a function serves the operation "Service.Rpc".

    UnknownOperation, with the nearest name, if the contract has no operation of this name.
    """
    name = load_contract().by_name(operation).name

    def declare(
        function: Callable[[Exchange, Caller, Request], Answer],
    ) -> Handler[Request, Answer]:
        return Handler(name, function)

    return declare


def collect(modules: Iterable[ModuleType]) -> dict[str, AnyHandler]:
    """Return the handlers of modules by operation. ValueError when two serve one operation."""
    handlers: dict[str, AnyHandler] = {}
    for module in modules:
        for value in vars(module).values():
            if not isinstance(value, Handler):
                continue
            other = handlers.setdefault(value.operation, value)
            if other is not value:
                raise ValueError(
                    f"two handlers for {value.operation}: {_place(other)} and {_place(value)}"
                )
    return handlers


def _place(handler: AnyHandler) -> str:
    return f"{handler.function.__module__}.{handler.function.__name__}"
