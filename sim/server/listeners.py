"""The ports and addresses of the surfaces. Ports are bound before anything is built, so that a
port in use is reported at once.

Loopback is 127.0.0.1 and, if the machine has it, ::1 on the same port: some clients, such as Node,
resolve localhost to ::1 first. Any other address is bound alone.
"""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from sim.server.platforms import claim_port, has_ipv6_loopback
from sim.server.tls import Identity

# Container tools use underscores in names of services, although DNS names have none.
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)

SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")

LOOPBACK, LOOPBACK_6 = "127.0.0.1", "::1"
_TRIES = 50  # until a port that is free on 127.0.0.1 is free on ::1 too


class CouldNotListen(OSError):
    """A port is in use, or the address does not belong to this machine. The message says
    what to do.
    """


class BoundSockets(NamedTuple):
    """Bound sockets by surface, one for each of `addresses`. gRPC binds its own: its port is the
    requested one, 0 for any.
    """

    host: str
    addresses: tuple[str, ...]
    sockets: dict[str, tuple[socket.socket, ...]]
    grpc_port: int

    @property
    def serves_exchange(self) -> bool:
        """Whether the exchange is served, and not only the control plane of a finished run."""
        return "exchange" in self.sockets

    def port(self, surface: str) -> int:
        """The port of a surface."""
        return int(self.sockets[surface][0].getsockname()[1])

    def has_port(self, port: int | None) -> bool:
        """Whether one of the sockets has a port."""
        return any(self.port(surface) == port for surface in self.sockets)

    def close(self) -> None:
        """Close the sockets."""
        for listening in self.sockets.values():
            _close(listening)


def addresses_to_bind(host: str) -> tuple[str, ...]:
    """The addresses to bind for a host: the host alone, or both loopback addresses."""
    if host not in (LOOPBACK, "localhost"):
        return (host,)
    return (LOOPBACK, LOOPBACK_6) if has_ipv6_loopback() else (LOOPBACK,)


def bind(host: str, base: int, surfaces: Container[str] = SURFACES) -> BoundSockets:
    """Bind every HTTP surface to `base`, `base`+1, … in the order of `SURFACES`, or to free ports
    if `base` is 0; only `surfaces` if given. Raises CouldNotListen.
    """
    addresses = addresses_to_bind(host)
    bound = BoundSockets(host, addresses, {}, base + SURFACES.index("grpc") if base else 0)
    try:
        for offset, surface in enumerate(SURFACES):
            if surface != "grpc" and surface in surfaces:
                port = base + offset if base else 0
                bound.sockets[surface] = on_one_port(addresses, port, surface)
    except CouldNotListen:
        bound.close()
        raise
    return bound


def on_one_port(addresses: Sequence[str], port: int, surface: str) -> tuple[socket.socket, ...]:
    """A socket for each address, all on one port; 0 uses one that is free on all of
    them. Raises CouldNotListen.
    """
    for tries_left in reversed(range(_TRIES)):
        listening = [bind_one(addresses[0], port, surface)]
        try:
            same = listening[0].getsockname()[1]
            listening += [bind_one(address, same, surface) for address in addresses[1:]]
        except CouldNotListen:
            _close(listening)
            if port or not tries_left:
                raise
        else:
            return tuple(listening)
    raise AssertionError("the last try raises")


def free_port(addresses: Sequence[str], surface: str) -> int:
    """A port that is free on all addresses at this moment. Raises CouldNotListen."""
    sockets = on_one_port(addresses, 0, surface)
    try:
        return int(sockets[0].getsockname()[1])
    finally:
        _close(sockets)


def _close(sockets: Iterable[socket.socket]) -> None:
    for listening in sockets:
        listening.close()


def bind_one(host: str, port: int, surface: str) -> socket.socket:
    """A listening socket; port 0 uses a free one. Raises CouldNotListen."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CouldNotListen(f"cannot listen on {host}: {error.strerror or error}") from error
    try:
        claim_port(listening)
        listening.bind(address)
        listening.listen(256)
    except (OSError, OverflowError) as error:
        listening.close()
        raise port_taken(host, port, surface, error) from error
    listening.setblocking(False)
    return listening


def port_taken(
    host: str, port: int, surface: str, error: Exception | None = None
) -> CouldNotListen:
    """The error for a port that could not be bound."""
    why = getattr(error, "strerror", None) or "the port is in use"
    where = f"[{host}]" if ":" in host else host
    hint = "try --port-base 0 for free ports, or another --port-base"
    if getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
        hint = "choose an address of this machine with --host"
    return CouldNotListen(f"cannot listen on {where}:{port} ({surface}): {why}; {hint}")


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_host_name(text: str) -> bool:
    """Whether text is a host name or an IP address as in a URL, IPv6 without its brackets."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _NAME.fullmatch(text) is not None and len(text) <= 253
    return "%" not in text


def caller_address(peer: str) -> str:
    """A client's address for limits and the journal. A client of this machine is the same one over
    127.0.0.1 and ::1, because the resolution of localhost may change between calls.
    """
    return LOOPBACK if peer == LOOPBACK_6 else peer


def reachable(host: str, port: int) -> str:
    """host:port by which this machine reaches a listener: loopback for a wildcard address,
    brackets around IPv6.
    """
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Addresses(Struct, frozen=True, kw_only=True):
    """URLs by surface, "" for one that is not served; host:port for gRPC. `tls_ca` is
    the certificate that clients must trust, `listens_on` are the IP addresses or the
    host of the listeners.
    """

    gateway: str = ""
    retail: str = ""
    exchange: str = ""
    auth: str = ""
    grpc: str = ""
    control: str = ""
    docs: str = ""
    tls_ca: Path | None = None
    listens_on: tuple[str, ...] = ()

    @property
    def token_url(self) -> str:
        """The token endpoint."""
        return f"{self.auth}/oauth/token"

    def surfaces(self) -> list[tuple[str, str | None]]:
        """(surface, address) in the order of the ports; None for one that is not served."""
        return [(surface, getattr(self, surface) or None) for surface in SURFACES]


def addresses_of(
    bound: BoundSockets, identity: Identity | None = None, public_host: str = ""
) -> Addresses:
    """Addresses of bound sockets, with the public host name if one is set. The port of gRPC is the
    requested one: 0 until it is bound.
    """
    name = public_host or bound.host
    scheme, tls_ca = ("https", identity.ca_file) if identity else ("http", None)
    urls = {
        surface: f"{scheme}://{reachable(name, bound.port(surface))}" for surface in bound.sockets
    }
    grpc = reachable(name, bound.grpc_port) if bound.serves_exchange else ""
    return Addresses(**urls, grpc=grpc, tls_ca=tls_ca, listens_on=bound.addresses)
