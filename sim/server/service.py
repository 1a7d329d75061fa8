"""All listeners of one host, started and stopped together."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from sim.server.control.listener import control_server
from sim.server.http.docs_site import docs_server
from sim.server.http.rest import rest_server
from sim.server.http.server import HttpServer
from sim.server.listeners import SURFACES, Bound, reachable

if TYPE_CHECKING:
    from sim.server.grpc.server import RpcListener
    from sim.server.host import Host
    from sim.server.tls import Identity

# How long connections get to finish what they are doing when the service stops, real time.
_GRACE_S = 0.5


class Addresses(Struct, frozen=True, kw_only=True):
    """Where each surface listens: URLs, and host:port for gRPC. `tls_ca` is the certificate to
    trust.
    """

    gateway: str
    retail: str
    exchange: str
    auth: str
    grpc: str
    control: str
    docs: str
    tls_ca: Path | None = None

    def surfaces(self) -> list[tuple[str, str]]:
        """(surface, address) in the order of the ports."""
        return [(surface, getattr(self, surface)) for surface in SURFACES]


def addresses_of(bound: Bound, *, tls_ca: Path | None = None) -> Addresses:
    """Addresses of what is bound. gRPC's port is the wanted one; 0 until its listener took one."""
    scheme = "http" if tls_ca is None else "https"
    found = {
        name: f"{scheme}://{reachable(bound.host, plug.getsockname()[1])}"
        for name, plug in bound.sockets.items()
    }
    return Addresses(**found, grpc=reachable(bound.host, bound.grpc_port), tls_ca=tls_ca)


class Service:
    """A host with its listeners. Start, use `addresses`, stop."""

    def __init__(
        self,
        host: Host,
        rpc: RpcListener,
        servers: list[tuple[asyncio.Server, HttpServer]],
        addresses: Addresses,
    ) -> None:
        self.host = host
        self.addresses = addresses
        self._rpc = rpc
        self._servers = servers

    @classmethod
    async def start(
        cls,
        host: Host,
        bound: Bound,
        *,
        identity: Identity | None = None,
        control_token: str = "",
        first: bool = True,
    ) -> Service:
        """Accept connections on every surface. Raises CouldNotListen when gRPC's port is taken.
        `first`: the process has no other world yet.
        """
        from sim.server.grpc.server import RpcListener

        rpc = RpcListener(
            host,
            bound.host,
            bound.grpc_port,
            (identity.private_key, identity.certificate_chain) if identity else None,
        )
        addresses = addresses_of(
            bound._replace(grpc_port=rpc.port), tls_ca=identity.ca_file if identity else None
        )
        handlers = {
            plane: rest_server(host, plane) for plane in ("gateway", "retail", "exchange", "auth")
        }
        handlers["control"] = control_server(host, control_token)
        handlers["docs"] = docs_server(host, addresses)
        loop = asyncio.get_running_loop()
        context = identity.context if identity else None
        servers = [
            (await loop.create_server(handler, sock=bound.sockets[name], ssl=context), handler)
            for name, handler in handlers.items()
        ]
        await rpc.start()
        if first:
            # The world is built and stays: the collector need not look at it again, and cycles are
            # rare enough to look for them seldom.
            if gc.isenabled():
                gc.collect()
            gc.freeze()
            gc.set_threshold(20_000, 20, 50)
            gc.enable()
        return cls(host, rpc, servers, addresses)

    async def stop(self) -> None:
        """End streams and held replies, then stop listening."""
        await self.host.stop()
        for server, _ in self._servers:
            server.close()
        await asyncio.gather(
            self._rpc.stop(), *(handler.shutdown(_GRACE_S) for _, handler in self._servers)
        )
