"""gRPC servers and their ports. They bind their own: one port on every address.

`LastingServer` survives a call which grpcio cannot read. grpcio decodes the path of a call in the
task that accepts calls (seen in 1.85). A path that is not UTF-8, which any client can send, ends
that task, and with it the listener. This server opens the listener again on the same port; calls
and streams in progress continue.

It depends on `AioServer._serving_task_crash_handler` of grpcio. On a release without it, such a
call ends the listener.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import grpc
import grpc.aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from sim.server.listeners import free_port

T = TypeVar("T")
log = logging.getLogger("sim.server")

_FREE_PORT_TRIES = 5
# Until the port of the closing listener is free: often at first, then as long as another program
# has taken it.
_TRIES, _PAUSE_S, _LONG_PAUSE_S = 500, 0.005, 0.5


class LastingServer:
    """A server that `make` creates for a port, and creates again when it crashes."""

    def __init__(self, make: Callable[[int], tuple[grpc.aio.Server, int]], port: int) -> None:
        """Bind a port, a free one for 0. Raises RuntimeError if it is in use."""
        self._make = make
        self._former: dict[grpc.aio.Server, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server, self.port = self._make_watched(port)

    async def start(self) -> None:
        """Accept calls."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Stop accepting calls; calls in progress get some time to end."""
        for task in self._tasks:
            task.cancel()
        servers = (self._server, *self._former)
        await asyncio.gather(*(each.stop(grace_s) for each in servers))

    def _make_watched(self, port: int) -> tuple[grpc.aio.Server, int]:
        plain = cygrpc.AioServer
        cygrpc.AioServer = _Watched
        try:
            server, bound = self._make(port)
        finally:
            cygrpc.AioServer = plain
        server._server.crashed = self._crashed  # type: ignore[attr-defined]
        return server, bound

    def _crashed(self, cause: BaseException) -> None:
        log.warning("gRPC listens again, after a call that it could not read: %s", cause)
        former, self._former[self._server] = self._server, None
        self._spawn(self._listen_again(former))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen_again(self, former: grpc.aio.Server) -> None:
        try:
            await former.stop(None)
        except UnicodeDecodeError:  # the cause is raised once its port is closed
            self._spawn(self._let_end(former))
        await self.listen()

    async def go_away(self, grace_s: float, *, accept: bool) -> None:
        """Send GOAWAY on every connection, and accept no more; with `accept`, accept new ones."""
        former, self._former[self._server] = self._server, None
        self._spawn(self._let_go(former, grace_s))
        if accept:
            await asyncio.sleep(_PAUSE_S)  # the port is not free at once
            await self.listen()

    async def _let_go(self, former: grpc.aio.Server, grace_s: float) -> None:
        await former.stop(grace_s)
        self._former.pop(former, None)

    async def listen(self) -> None:
        """Listen again, on the port of before, as soon as it is free."""
        for tries in itertools.count():
            try:
                self._server, _ = self._make_watched(self.port)
            except RuntimeError:  # the port is not free yet
                if tries == _TRIES:
                    text = "another program has taken port %d: gRPC listens again when it is free"
                    log.error(text, self.port)
                await asyncio.sleep(_PAUSE_S if tries < _TRIES else _LONG_PAUSE_S)
            else:
                await self._server.start()
                if tries > _TRIES:
                    log.warning("gRPC listens on port %d again", self.port)
                return

    async def _let_end(self, former: grpc.aio.Server) -> None:
        """Close a server once the last of its calls has ended."""
        try:
            await former.wait_for_termination()
        except UnicodeDecodeError:  # the same again
            await former.stop(None)
        del self._former[former]


class _Watched(cygrpc.AioServer):  # type: ignore[misc]
    """Notifies its owner of a crash instead of closing everything."""

    crashed: Callable[[BaseException], None] | None = None

    def _serving_task_crash_handler(self, task: asyncio.Task[None]) -> None:
        if self.crashed is None:
            super()._serving_task_crash_handler(task)
        elif not task.cancelled() and (cause := task.exception()) is not None and self.is_running():
            self.crashed(cause)


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
    for tries_left in reversed(range(1 if port else _FREE_PORT_TRIES)):
        try:
            return make()
        except RuntimeError:
            if not tries_left:
                raise
    raise AssertionError("the last try raises")
