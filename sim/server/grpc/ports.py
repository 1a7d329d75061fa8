"""Ports of gRPC servers, which bind their own: one port on every address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import grpc
import grpc.aio

from sim.server.listeners import free_port

T = TypeVar("T")
_TRIES = 5


def add_ports(
    server: grpc.aio.Server,
    addresses: Sequence[str],
    port: int,
    tls: tuple[bytes, bytes] | None = None,
) -> int:
    """Let a server listen on one port of every address, a free one for 0; returns the port. `tls`
    is a private key and a certificate chain. Raises RuntimeError if the port is in use.
    """
    if not port and len(addresses) > 1:
        port = free_port(addresses, "grpc")
    for address in addresses:
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        if tls is None:
            port = server.add_insecure_port(target)
        else:
            port = server.add_secure_port(target, grpc.ssl_server_credentials([tls]))
    return port


def on_free_port(make: Callable[[], T], port: int) -> T:
    """The result of `make`. With port 0 it tries again, because another process may take the free
    port first. Raises RuntimeError.
    """
    for tries_left in reversed(range(1 if port else _TRIES)):
        try:
            return make()
        except RuntimeError:
            if not tries_left:
                raise
    raise AssertionError("the last try raises")
