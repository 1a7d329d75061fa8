"""How a function says which operation it serves. The decorator returns a value and registers
nothing: `handlers.py` lists the modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from sim.api.pipeline.authentication import Caller
from sim.core.exchange import Exchange

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Handler(NamedTuple, Generic[Request, Answer]):
    """What serves one operation, once for REST and gRPC: (exchange, caller, request) -> response, a
    `PreencodedResponse` response, or an iterator of CSV chunks.
    """

    operation: str
    function: Callable[[Exchange, Caller, Request], Answer]

    def __call__(self, exchange: Exchange, caller: Caller, request: Request) -> Answer:
        return self.function(exchange, caller, request)


def handles(
    operation: str,
) -> Callable[[Callable[[Exchange, Caller, Request], Answer]], Handler[Request, Answer]]:
    """Declare that a function serves the operation "Service.Rpc"."""

    def declare(
        function: Callable[[Exchange, Caller, Request], Answer],
    ) -> Handler[Request, Answer]:
        return Handler(operation, function)

    return declare


AnyHandler = Handler[Any, Any]


def collect(modules: Iterable[ModuleType]) -> dict[str, AnyHandler]:
    """Handlers of modules by operation. Two for one operation are a mistake and refused."""
    found: dict[str, AnyHandler] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Handler):
                if value.operation in found:
                    raise ValueError(f"two handlers for {value.operation}")
                found[value.operation] = value
    return found
