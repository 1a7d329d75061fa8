"""Ports: which surface listens where. Binding comes first of all, so that a port that is taken
costs nobody a start.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")


class CouldNotListen(OSError):
    """A port is taken, or the address is none of this machine's. The text says which and what to
    do.
    """


class Bound(NamedTuple):
    """Listening places by surface. gRPC binds by itself: its port is the wanted one, 0 for any."""

    host: str
    sockets: dict[str, socket.socket]
    grpc_port: int

    def close(self) -> None:
        """Let go of the sockets."""
        for plug in self.sockets.values():
            plug.close()


def bind(host: str, base: int) -> Bound:
    """Bind every HTTP surface: `base`, `base`+1, … in the order of `SURFACES`, or free ports when
    it is 0. Raises CouldNotListen.
    """
    sockets: dict[str, socket.socket] = {}
    try:
        for offset, surface in enumerate(SURFACES):
            if surface != "grpc":
                sockets[surface] = _bind_one(host, base + offset if base else 0, surface)
    except CouldNotListen:
        for plug in sockets.values():
            plug.close()
        raise
    return Bound(host, sockets, base + SURFACES.index("grpc") if base else 0)


def _bind_one(host: str, port: int, surface: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        plug = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise CouldNotListen(f"cannot listen on {host}: {problem.strerror or problem}") from problem
    try:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        plug.bind(address)
        plug.listen(256)
    except (OSError, OverflowError) as problem:
        plug.close()
        raise taken(host, port, surface, problem) from problem
    plug.setblocking(False)
    return plug


def taken(host: str, port: int, surface: str, problem: Exception | None = None) -> CouldNotListen:
    """The error of a port that could not be bound."""
    why = getattr(problem, "strerror", None) or "the port is taken"
    return CouldNotListen(
        f"cannot listen on {host}:{port} for the {surface} surface: {why}; try --port-base 0 for"
        " free ports, or another --port-base"
    )


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reachable(host: str, port: int) -> str:
    """host:port by which this machine reaches a listener: loopback for a wildcard, brackets around
    IPv6.
    """
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
