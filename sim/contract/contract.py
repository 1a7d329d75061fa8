"""The table of operations: every rpc of the contract with its addresses, scope, dates and limits.

It is read from generated data (`messages/operations.py`), so that a start needs no protobuf.
Loading checks what the compiler cannot check in a single rpc: duplicate addresses and names,
unknown scopes, dates that end before they begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

import msgspec

from sim.contract.operation import PLANES, VARIABLE, Binding, Operation, Plane, RpcService

__all__ = [
    "PLANES",
    "SCOPES",
    "Binding",
    "Contract",
    "ContractError",
    "Operation",
    "Plane",
    "Route",
    "RpcService",
    "UnknownOperation",
    "load_contract",
]

# OAuth scopes of the exchange plane and gRPC (§5.1).
SCOPES = frozenset(
    (
        "read:accounts",
        "read:dropcopy",
        "read:funding",
        "read:instruments",
        "read:kyc",
        "read:l2marketdata",
        "read:marketdata",
        "read:orders",
        "read:positions",
        "read:reports",
        "write:accounts",
        "write:cash-movements",
        "write:funding",
        "write:kyc",
        "write:orders",
    )
)


class ContractError(ValueError):
    """The contract contradicts itself. The text lists every contradiction."""


class UnknownOperation(KeyError):
    """There is no operation of this name. The text has the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


class Route(msgspec.Struct, frozen=True, eq=False):
    """One address of one operation."""

    verb: str
    template: str
    body: str
    operation: Operation


class Contract:
    """All operations, in the order of the files, checked."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.operations = tuple(operations)
        self._by_name = {operation.name: operation for operation in self.operations}
        self._by_rpc = {
            method: operation for operation in self.operations for method in operation.full_methods
        }
        self._services = frozenset(method[1:].partition("/")[0] for method in self._by_rpc)
        self._routes = {plane: tuple(_routes(self.operations, plane)) for plane in PLANES}
        self.web_sockets = {
            path: operation
            for operation in self.operations
            if operation.content == "web_socket"
            for _, path, _ in operation.bindings
        }
        contradictions = list(self._contradictions())
        if contradictions:
            raise ContractError("\n".join(contradictions))

    def by_name(self, name: str) -> Operation:
        """Return the operation "RpcService.Rpc". UnknownOperation if there is none."""
        operation = self._by_name.get(name)
        if operation is None:
            near = get_close_matches(name, self._by_name, n=1)
            hint = f"did you mean {near[0]}?" if near else "`sim catalogue operations` lists them"
            raise UnknownOperation(f"no operation is called {name!r}: {hint}")
        return operation

    def by_rpc(self, full_method: str) -> Operation | None:
        """Return the operation at a gRPC path or an alias; None if there is none."""
        return self._by_rpc.get(full_method)

    def has_service(self, name: str) -> bool:
        """Whether a gRPC service has a method that is served. `name` is its full name."""
        return name in self._services

    def routes(self, plane: Plane) -> tuple[Route, ...]:
        """Return every address on a plane."""
        return self._routes[plane]

    def _contradictions(self) -> Iterable[str]:
        names: dict[str, str] = {}
        for operation in self.operations:
            service = f"{operation.service.package}.{operation.service.name}"
            for key in (operation.name, *operation.full_methods):
                if key in names:
                    yield f"{key}: declared by {names[key]} and by {service}"
                names[key] = service
            if operation.scope and operation.scope not in SCOPES:
                yield f"{operation.name}: unknown scope {operation.scope}"
            since, until = operation.since, operation.until
            if since is not None and until is not None and since >= until:
                yield f"{operation.name}: it ends before it begins"
        for plane, routes in self._routes.items():
            taken: dict[tuple[str, str], Route] = {}
            for route in routes:
                other = taken.setdefault((route.verb, VARIABLE.sub("{}", route.template)), route)
                if other is not route:
                    both = f"{other.operation.name} and {route.operation.name}"
                    yield f"{plane} {route.verb} {route.template}: both {both}"


def _routes(operations: tuple[Operation, ...], plane: Plane) -> Iterable[Route]:
    for operation in operations:
        if plane in operation.planes:
            for verb, template, body in operation.bindings:
                yield Route(verb, template, body, operation)


@lru_cache(maxsize=1)
def load_contract() -> Contract:
    """Return the contract from which this build was generated; always the same object."""
    from sim.contract.messages.operations import OPERATIONS

    return Contract(OPERATIONS)
