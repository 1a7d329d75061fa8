"""All listeners of one host, started and stopped together."""

from __future__ import annotations

import asyncio
from ssl import SSLContext

from sim.server.control.call import InstanceControl
from sim.server.control.listener import control_server
from sim.server.grpc.server import GrpcListener
from sim.server.host import Host
from sim.server.http.docs_site import docs_server
from sim.server.http.rest import rest_server
from sim.server.line import PlaneListener, ServiceLine
from sim.server.listeners import Addresses, BoundSockets, addresses_of
from sim.server.tls import Identity

# Real time in which connections may finish their requests when the service stops.
_GRACE_S = 0.5


class Service:
    """A host with its listeners. Start it, use `addresses`, stop it."""

    def __init__(
        self,
        host: Host,
        grpc: GrpcListener | None,
        http: list[PlaneListener],
        addresses: Addresses,
        context: SSLContext | None,
    ) -> None:
        self.host = host
        self.addresses = addresses
        self._grpc = grpc
        self._http = http
        host.line = ServiceLine(http, grpc, context)

    @classmethod
    async def start(
        cls,
        host: Host,
        bound: BoundSockets,
        *,
        identity: Identity | None = None,
        control_token: str = "",
        instances: InstanceControl | None = None,
    ) -> Service:
        """Accept connections on every bound surface, and on gRPC if it is served.

        Raises CouldNotListen if gRPC's port is in use.
        """
        tls = (identity.private_key, identity.certificate_chain) if identity else None
        grpc = None
        if bound.serves_exchange:
            grpc = GrpcListener(host, bound.addresses, bound.grpc_port, tls)
        public, grpc_port = host.settings.public_host, grpc.port if grpc else 0
        addresses = addresses_of(bound._replace(grpc_port=grpc_port), identity, public)
        names = (bound.host, public)
        handlers = {
            plane: rest_server(host, plane) for plane in ("gateway", "retail", "exchange", "auth")
        }
        handlers["control"] = control_server(host, control_token, instances, names)
        handlers["docs"] = docs_server(host, addresses, names)
        loop = asyncio.get_running_loop()
        context = identity.context if identity else None
        http = [
            PlaneListener(
                surface,
                handler,
                listening.getsockname()[0],
                await loop.create_server(handler, sock=listening, ssl=context),
            )
            for surface, handler in handlers.items()
            for listening in bound.sockets.get(surface, ())
        ]
        if grpc is not None:
            await grpc.start()
        return cls(host, grpc, http, addresses, context)

    async def stop(self) -> None:
        """End streams and held replies, then stop listening."""
        await self.host.stop()
        for listener in self._http:
            listener.server.close()
            listener.handler.pre_shutdown()  # kept-alive connections would use up the grace period
        stopping = [listener.handler.shutdown(_GRACE_S) for listener in self._http]
        if self._grpc is not None:
            stopping.append(self._grpc.stop())
        await asyncio.gather(*stopping)
