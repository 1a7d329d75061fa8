"""Ports: which surface listens where. Binding comes before anything is built, so that a taken port
is reported at once.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Container
from typing import NamedTuple

from sim.server.platforms import claim_port

# Underscores are no part of DNS names, but of the names that container tools give to services.
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)

SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")


class CouldNotListen(OSError):
    """A port is taken, or the address is not one of this machine's. The message says what to do."""


class Bound(NamedTuple):
    """Bound sockets by surface. gRPC binds by itself: its port is the requested one, 0 for any."""

    host: str
    sockets: dict[str, socket.socket]
    grpc_port: int

    @property
    def whole(self) -> bool:
        """Whether the exchange is served, and not only what shows it."""
        return "exchange" in self.sockets

    def close(self) -> None:
        """Close the sockets."""
        for listening in self.sockets.values():
            listening.close()


def bind(host: str, base: int, surfaces: Container[str] = SURFACES) -> Bound:
    """Bind every HTTP surface to `base`, `base`+1, … in the order of `SURFACES`, or to free ports
    when `base` is 0; of these only `surfaces`, if given. Raises CouldNotListen.
    """
    sockets: dict[str, socket.socket] = {}
    try:
        for offset, surface in enumerate(SURFACES):
            if surface != "grpc" and surface in surfaces:
                sockets[surface] = bind_one(host, base + offset if base else 0, surface)
    except CouldNotListen:
        for listening in sockets.values():
            listening.close()
        raise
    return Bound(host, sockets, base + SURFACES.index("grpc") if base else 0)


def bind_one(host: str, port: int, surface: str) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises CouldNotListen."""
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
    why = getattr(error, "strerror", None) or "the port is taken"
    return CouldNotListen(
        f"cannot listen on {host}:{port} for the {surface} surface: {why}; try --port-base 0 for"
        " free ports, or another --port-base"
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_host_name(text: str) -> bool:
    """Whether text is a name or an IP address as it stands in a URL, IPv6 without its brackets."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _NAME.fullmatch(text) is not None and len(text) <= 253
    return "%" not in text


def reachable(host: str, port: int) -> str:
    """host:port by which this machine reaches a listener: loopback for a wildcard address, brackets
    around IPv6.
    """
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
