"""One operation of the contract, and its service: what a row of the table of operations says."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import msgspec

from sim.contract.messages import Message, find_message
from sim.kernel.instants import Instant

Plane: TypeAlias = Literal["gateway", "retail", "exchange", "auth"]
RpcKind: TypeAlias = Literal["unary", "server", "client", "bidi"]
Credential: TypeAlias = Literal["default", "none", "api_key", "bearer"]
# verb, path template, body ("*": it fills the request; "": there is none)
Binding: TypeAlias = tuple[str, str, str]

PLANES: tuple[Plane, ...] = get_args(Plane)
# of a path: "{symbol}", "{name=firms/*/users/*}"
VARIABLE = re.compile(r"\{([a-z0-9_.]+)[^}]*\}")

_PLANE_CREDENTIAL: dict[Plane, Credential] = {
    "gateway": "none",
    "auth": "none",
    "retail": "api_key",
    "exchange": "bearer",
}


def body_of(verb: str) -> str:
    """What the body of a request fills: "*", all of it; "", nothing."""
    return "" if verb in ("GET", "DELETE") else "*"


class RpcService(msgspec.Struct, frozen=True):
    """A group of rpcs. gRPC serves it under its own package and under the names in `aliases`."""

    package: str
    name: str
    comment: str = ""
    aliases: tuple[str, ...] = ()


class Operation(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One rpc. It is served from `since` until, but not including, `until`."""

    service: RpcService
    rpc: str
    rest: tuple[str, ...] = ()  # addresses, each "GET /v1/orderbook/{symbol}"
    planes: tuple[Plane, ...] = ()
    grpc: bool = False
    kind: RpcKind = "unary"
    request_type: str = ""  # full name of the message; "": <package>.<rpc>Request
    response_type: str = ""  # the same with Response
    scope: str = ""
    participant: Literal["not_needed", "optional", "required"] = "not_needed"
    credential: Credential = "default"
    limits: tuple[str, ...] = ()
    quirks: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    since: Instant | None = None
    until: Instant | None = None
    content: Literal["json", "csv", "json_stream", "web_socket", "form"] = "json"
    beyond: bool = False
    served_by: str = ""
    cache: str = ""
    summary: str = ""
    description: str = ""

    @cached_property
    def name(self) -> str:
        """ "RpcService.Rpc", the name for handlers and catalogues."""
        return f"{self.service.name}.{self.rpc}"

    @cached_property
    def bindings(self) -> tuple[Binding, ...]:
        """The REST addresses, in parts."""
        split = (address.partition(" ") for address in self.rest)
        return tuple((verb, template, body_of(verb)) for verb, _, template in split)

    @cached_property
    def full_methods(self) -> tuple[str, ...]:
        """The gRPC paths: that of its own package first, then the aliases. () without gRPC."""
        if not self.grpc:
            return ()
        packages = (self.service.package, *self.service.aliases)
        return tuple(f"/{package}.{self.service.name}/{self.rpc}" for package in packages)

    @cached_property
    def request_name(self) -> str:
        """Full name of the message of the request."""
        return self.request_type or f"{self.service.package}.{self.rpc}Request"

    @cached_property
    def response_name(self) -> str:
        """Full name of the message of the response; of one message of it for streams."""
        return self.response_type or f"{self.service.package}.{self.rpc}Response"

    @cached_property
    def request(self) -> type[Message]:
        """Struct of the request."""
        return find_message(self.request_name)

    @cached_property
    def response(self) -> type[Message]:
        """Struct of the response; of one message of it for streams."""
        return find_message(self.response_name)

    def credential_on(self, plane: Plane | None) -> Credential:
        """Return the credential that a plane requires, never "default"; None means gRPC."""
        if self.credential != "default":
            return self.credential
        return "bearer" if plane is None else _PLANE_CREDENTIAL[plane]

    @cached_property
    def always(self) -> bool:
        """Whether it is served on every date, whatever is assumed."""
        return self.since is None and self.until is None and not self.served_by

    def exists_at(self, now: Instant, switches: frozenset[str] = frozenset()) -> bool:
        """Whether it is served at this instant, with some switches on."""
        if self.served_by and self.served_by not in switches:
            return False
        begun = self.since is None or self.since <= now
        return begun and (self.until is None or now < self.until)
