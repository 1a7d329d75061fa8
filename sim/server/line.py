"""The line between clients and one service: its listeners and open connections.

The exchange decides which planes accept connections (`core/service/listeners.py`); the server
follows it here. What aiohttp and grpcio do with connections that are open:

| | close | reset | goaway | accept none |
|---|---|---|---|---|
| HTTP, WebSockets | FIN | RST | not of HTTP/1.1 | the port is closed |
| gRPC | calls end, then FIN | impossible | GOAWAY | GOAWAY, and the port is closed |

After GOAWAY calls in progress go on; a closed port leaves connections over HTTP open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from ssl import SSLContext

from sim.api.pipeline.inputs import Disconnect
from sim.core.catalogue.assumptions import KEEP_ALIVE
from sim.core.exchange import Exchange
from sim.kernel.instants import Instant
from sim.server.grpc.server import GrpcListener
from sim.server.http.fast_path import HttpConnection
from sim.server.http.server import HttpServer, reset_transport
from sim.server.listeners import bind_one


class PlaneListener:
    """The HTTP listener of a plane on one address."""

    def __init__(
        self, plane: str, handler: HttpServer, address: str, server: asyncio.Server
    ) -> None:
        self.plane = plane
        self.handler = handler
        self.server = server
        self._address = address
        self._port = int(server.sockets[0].getsockname()[1])

    async def open(self, context: SSLContext | None) -> None:
        """Accept connections again. Raises CouldNotListen if the port was taken meanwhile."""
        listening = bind_one(self._address, self._port, self.plane)
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(self.handler, sock=listening, ssl=context)

    def end_connections(self, how: str) -> None:
        """Close or reset every connection."""
        for connection in self._connections():
            if connection.transport is not None:
                if how == "reset":
                    reset_transport(connection.transport)
                else:
                    connection.transport.close()

    def end_idle(self, since: Instant) -> None:
        """Close the connections on which nothing was asked since an instant."""
        for connection in self._connections():
            if connection.used <= since and connection.idle and connection.transport is not None:
                connection.transport.close()

    def _connections(self) -> Iterable[HttpConnection]:
        return (each for each in self.handler.connections if isinstance(each, HttpConnection))


class ServiceLine:
    """The listeners and connections of one service."""

    def __init__(
        self, http: list[PlaneListener], grpc: GrpcListener | None, context: SSLContext | None
    ) -> None:
        self.http = http
        self.grpc = grpc
        self._context = context
        self._closed: frozenset[str] = frozenset()
        self._changing: set[asyncio.Task[None]] = set()

    def follow(self, exchange: Exchange) -> None:
        """Accept and refuse connections as the exchange says now."""
        closed = exchange.listeners.closed
        if closed == self._closed:
            return
        for plane in sorted(closed - self._closed):
            for listener in self._of(plane):
                listener.server.close()
            if plane == "grpc" and self.grpc is not None:
                self._begin(self.grpc.go_away(accept=False))
        for plane in sorted(self._closed - closed):
            for listener in self._of(plane):
                self._begin(listener.open(self._context))
            if plane == "grpc" and self.grpc is not None:
                self._begin(self.grpc.accept())
        self._closed = closed

    def disconnect(self, effect: Disconnect) -> None:
        """End all connections of a plane."""
        for listener in self._of(effect.plane):
            listener.end_connections(effect.how)
        if effect.plane == "grpc" and self.grpc is not None:
            accept = "grpc" not in self._closed
            self._begin(self.grpc.go_away(accept=accept, at_once=effect.how == "close"))

    def end_idle(self, exchange: Exchange) -> None:
        """Close what the edge keeps no longer."""
        if kept := exchange.ctx.assumptions.number(KEEP_ALIVE):
            for listener in self.http:
                listener.end_idle(exchange.now - kept)

    async def settled(self) -> None:
        """Wait until the listeners are as the exchange says."""
        while self._changing:
            await asyncio.gather(*self._changing)

    def _of(self, plane: str) -> list[PlaneListener]:
        return [each for each in self.http if each.plane == plane]

    def _begin(self, work: asyncio._CoroutineLike[None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._changing.add(task)
        task.add_done_callback(self._changing.discard)
