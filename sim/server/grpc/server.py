"""gRPC: one generic handler for every method, bytes in and bytes out; what exists and what it
answers belongs to the simulation.

Only this module and rpc_health.py import grpc.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import grpc
import grpc.aio

from sim.api.pipeline.inputs import Close, Reply
from sim.core.model.refusals import Refusal
from sim.server.grpc.health import HEALTH, Health
from sim.server.listeners import taken
from sim.server.stream_buffer import Channel

if TYPE_CHECKING:
    from sim.server.host import Host

    _GenericHandler: TypeAlias = grpc.GenericRpcHandler[bytes, bytes]
else:
    _GenericHandler = grpc.GenericRpcHandler  # generic in its stubs only

log = logging.getLogger("sim.server")

_OPTIONS = [
    # A port that is taken is an error, not a share.
    ("grpc.so_reuseport", 0),
    # Clients that ping an idle channel are welcome.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.http2.max_ping_strikes", 0),
]

_STATUS = {int(status.value[0]): status for status in grpc.StatusCode}

_READ = frozenset({"authorization", "x-participant-id"})

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]
Trailers: TypeAlias = tuple[tuple[str, str], ...]

# A stream may be silent for long, and some clients do not go on before they have its headers: they
# are sent as soon as it is open.
_OPEN: Trailers = ()


class RpcListener:
    """The gRPC listener of a host."""

    def __init__(
        self, host: Host, address: str, port: int, tls: tuple[bytes, bytes] | None = None
    ) -> None:
        """Bind a port of an address, a free one for 0; `tls` is a private key and a certificate
        chain, PEM. Raises CouldNotListen.
        """
        self._server = grpc.aio.server(handlers=(_Handlers(host),), options=_OPTIONS)
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        try:
            if tls is None:
                self.port = self._server.add_insecure_port(target)
            else:
                self.port = self._server.add_secure_port(target, grpc.ssl_server_credentials([tls]))
        except RuntimeError as problem:
            raise taken(address, port, "grpc") from problem

    async def start(self) -> None:
        """Accept connections."""
        await self._server.start()

    async def stop(self) -> None:
        """Stop accepting; calls in progress get a moment to end."""
        await self._server.stop(0.2)


class _Handlers(_GenericHandler):
    """Finds the handler of a method by asking the simulation what kind it is."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._opaque = host.settings.opaque
        self._health = Health(host)
        self._known: dict[tuple[str, str], grpc.RpcMethodHandler[bytes, bytes]] = {}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Handler of a call; never None, so that unknown methods are inputs like any other."""
        method = handler_call_details.method
        if method.startswith(HEALTH) and (health := self._health.handler(method)) is not None:
            return health
        kind = self._host.simulation.rpc_kind(method)
        if kind is None:
            return grpc.stream_stream_rpc_method_handler(self._unknown(method))
        found = self._known.get((method, kind))
        if found is None:
            found = self._known[method, kind] = self._handler(method, kind)
        return found

    def _handler(self, method: str, kind: str) -> grpc.RpcMethodHandler[bytes, bytes]:
        if kind == "unary":
            return grpc.unary_unary_rpc_method_handler(self._unary(method))
        if kind == "server":
            return grpc.unary_stream_rpc_method_handler(self._server_stream(method))
        return grpc.stream_stream_rpc_method_handler(self._bidi(method))

    def _unary(self, method: str) -> Callable[[bytes, Context], Awaitable[bytes]]:
        host = self._host

        async def handler(message: bytes, context: Context) -> bytes:
            try:
                reply = host.rpc(method, _metadata(context), message, _address(context.peer()))
                if (
                    reply.code
                    or reply.pending_on
                    or reply.connection_fault
                    or reply.headers
                    or reply.ready_at > host.simulation.now
                ):
                    return await self._finish(reply, context)
                context.set_trailing_metadata((("x-request-id", reply.request_id),))
                return reply.body
            except grpc.aio.AbortError:
                raise
            except Exception:
                await _failed(method, context)

        return handler

    async def _finish(self, reply: Reply, context: Context) -> bytes:
        """Answer with a reply once it is complete and may leave; aborts the call when it is no
        success.
        """
        host = self._host
        if reply.pending_on:
            reply = await host.replies.answer(reply)
        elided = host.replies.elides(reply)
        if host.replies.holds(reply):
            await host.replies.ready(reply)
        trailers = self._trailers(reply, elided)
        if reply.connection_fault:
            await _disturbed(reply.connection_fault, context, trailers)
        if reply.code:
            await context.abort(_STATUS[reply.code], reply.message, trailers)
        context.set_trailing_metadata(trailers)
        return reply.body

    def _trailers(self, reply: Reply, elided: str) -> Trailers:
        if not reply.headers and not elided:
            return (("x-request-id", reply.request_id),) if reply.request_id else ()
        trailers = [
            (name.lower(), value)
            for name, value in reply.headers
            if not (self._opaque and name.lower().startswith("x-sim-"))
        ]
        if reply.request_id:
            trailers.append(("x-request-id", reply.request_id))
        if elided and not self._opaque:
            trailers.append(("x-sim-elapsed", elided))
        return tuple(
            (name, value if value.isascii() and value.isprintable() else ascii(value)[1:-1])
            for name, value in trailers
        )

    def _server_stream(self, method: str) -> Callable[[bytes, Context], AsyncIterator[bytes]]:
        async def handler(message: bytes, context: Context) -> AsyncIterator[bytes]:
            channel = await self._opened(method, message, context)
            if isinstance(channel, Reply):
                async for part in self._download(channel, context):
                    yield part
                return
            try:
                await context.send_initial_metadata(_OPEN)
                while not isinstance(frame := await channel.take(), Close):
                    yield frame
            finally:
                self._host.hangup(channel)
            await _ended(frame, context)

        return handler

    async def _download(self, reply: Reply, context: Context) -> AsyncIterator[bytes]:
        """Messages of a download, one at a time; other calls have their turn in between."""
        try:
            for message in reply.chunks or ():
                yield message
                await asyncio.sleep(0)
        except Refusal as refusal:
            await context.abort(_STATUS[refusal.code], refusal.message)

    def _bidi(self, method: str) -> Callable[[AsyncIterator[bytes], Context], AsyncIterator[bytes]]:
        async def handler(messages: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            channel = await self._opened(method, b"", context)
            if isinstance(channel, Reply):
                raise AssertionError(f"{method} is no download")
            # A client that half-closes keeps what it subscribed to until it cancels.
            listener = self._host.spawn(self._listen(messages, channel))
            try:
                await context.send_initial_metadata(_OPEN)
                while not isinstance(frame := await channel.take(), Close):
                    yield frame
            finally:
                listener.cancel()
                self._host.hangup(channel)
            await _ended(frame, context)

        return handler

    async def _listen(self, messages: AsyncIterator[bytes], channel: Channel) -> None:
        async for message in messages:
            self._host.frame(channel, message)

    async def _opened(self, method: str, message: bytes, context: Context) -> Channel | Reply:
        """Channel of a stream that was admitted, or the download that is ready to leave; aborts the
        call otherwise.
        """
        try:
            opened = self._host.open(method, _metadata(context), message, _address(context.peer()))
            if isinstance(opened, Reply):
                await self._finish(opened, context)
        except grpc.aio.AbortError:
            raise
        except Exception:
            await _failed(method, context)
        return opened

    def _unknown(
        self, method: str
    ) -> Callable[[AsyncIterator[bytes], Context], AsyncIterator[bytes]]:
        async def handler(messages: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            yield await self._unary(method)(b"", context)

        return handler


async def _failed(method: str, context: Context) -> NoReturn:
    log.exception("a call failed: %s", method)
    await context.abort(grpc.StatusCode.INTERNAL, "internal error")


async def _ended(close: Close, context: Context) -> None:
    if close.code:
        await context.abort(_STATUS[close.code], close.message)


async def _disturbed(disturbance: str, context: Context, trailers: Trailers) -> None:
    """What a connection-level fault looks like to a gRPC client: the call dies with UNAVAILABLE, or
    never ends.
    """
    if disturbance == "hang":
        await asyncio.get_running_loop().create_future()
    if disturbance != "slow_body":
        await context.abort(grpc.StatusCode.UNAVAILABLE, "connection reset by peer", trailers)


def _metadata(context: Context) -> dict[str, str]:
    """What the exchange looks at."""
    return {key: value for key, value in context.invocation_metadata() or () if key in _READ}  # type: ignore[misc]  # text, as its key does not end in -bin


@lru_cache(maxsize=1024)
def _address(peer: str) -> str:
    """Address of a client: "ipv4:127.0.0.1:5000" and "ipv6:%5B::1%5D:5000" without kind and port."""
    _, _, rest = peer.partition(":")
    return rest.rpartition(":")[0].replace("%5B", "").replace("%5D", "")
