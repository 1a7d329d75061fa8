"""The gRPC listener: one generic handler for every method, bytes in and bytes out. The simulation
decides which methods exist and what they answer.

Within the server only this package imports grpc.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import grpc
import grpc.aio

from sim.api.pipeline.inputs import Close, Reply
from sim.core.model.refusals import Refusal
from sim.server.grpc.listening import LastingServer, add_ports, on_free_port
from sim.server.host import Host
from sim.server.listeners import caller_address, port_taken
from sim.server.logs import lacking, log_failure
from sim.server.stream_buffer import StreamBuffer

if TYPE_CHECKING:
    _GenericHandler: TypeAlias = grpc.GenericRpcHandler[bytes, bytes]
else:
    _GenericHandler = grpc.GenericRpcHandler  # only its stubs are generic

_OPTIONS = [
    # A port in use is an error; it is not shared.
    ("grpc.so_reuseport", 0),
    # Clients may ping an idle channel.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.http2.max_ping_strikes", 0),
]

_STATUS = {int(status.value[0]): status for status in grpc.StatusCode}

# Real time for calls in progress to end: streams that the exchange has ended say so first.
_AT_ONCE_S, _DRAIN_S = 0.1, 3_600.0

_HEALTH = "/grpc.health.v1.Health/"
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3

# Metadata that the exchange and telemetry read.
_READ = frozenset({"authorization", "x-participant-id", "traceparent"})

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]
Trailers: TypeAlias = tuple[tuple[str, str], ...]


class GrpcListener:
    """The gRPC listener of a host."""

    def __init__(
        self,
        host: Host,
        addresses: Sequence[str],
        port: int,
        tls: tuple[bytes, bytes] | None = None,
    ) -> None:
        """Bind a port of every address, a free one for 0. `tls` is a private key and a certificate
        chain, both PEM. Raises CouldNotListen.
        """
        handlers = _Handlers(host)

        def make(port: int) -> tuple[grpc.aio.Server, int]:
            server = grpc.aio.server(handlers=(handlers,), options=_OPTIONS)
            return server, add_ports(server, addresses, port, tls)

        try:
            self._server = on_free_port(lambda: LastingServer(make, port), port)
        except RuntimeError as problem:
            raise port_taken(addresses[0], port, "grpc") from problem
        self.port = self._server.port

    async def start(self) -> None:
        """Accept connections."""
        await self._server.start()

    async def go_away(self, *, accept: bool, at_once: bool = False) -> None:
        """Send GOAWAY on every connection. Calls in progress go on, or end `at_once`; new ones need
        a new connection, which is accepted or not.
        """
        await self._server.go_away(_AT_ONCE_S if at_once else _DRAIN_S, accept=accept)

    async def accept(self) -> None:
        """Accept connections again."""
        await self._server.listen()

    async def stop(self) -> None:
        """Stop accepting; calls in progress get 0.2 s to end."""
        await self._server.stop(0.2)


class _Handlers(_GenericHandler):
    """Selects the handler of a method by its kind in the contract."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._debug_headers = not host.settings.opaque
        self._health = _Health(host)
        self._known: dict[tuple[str, str], grpc.RpcMethodHandler[bytes, bytes]] = {}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """The handler of a call; never None, so that calls of unknown methods are inputs too."""
        method = handler_call_details.method
        if method.startswith(_HEALTH) and (health := self._health.handler(method)) is not None:
            return health
        kind = self._host.simulation.rpc_kind(method)
        if kind is None:
            return grpc.stream_stream_rpc_method_handler(self._unknown(method))
        handler = self._known.get((method, kind))
        if handler is None:
            handler = self._known[method, kind] = self._handler(method, kind)
        return handler

    def _handler(self, method: str, kind: str) -> grpc.RpcMethodHandler[bytes, bytes]:
        if kind == "unary":
            return grpc.unary_unary_rpc_method_handler(self._unary(method))
        if kind == "server":
            return grpc.unary_stream_rpc_method_handler(self._stream(method))
        return grpc.stream_stream_rpc_method_handler(self._stream(method))

    def _unary(self, method: str) -> Callable[[bytes, Context], Awaitable[bytes]]:
        host = self._host

        async def handler(message: bytes, context: Context) -> bytes:
            try:
                if host.turns.must_wait(method):
                    async with host.turns.turn():
                        reply = self._call(method, message, context)
                else:
                    reply = self._call(method, message, context)
                if (
                    reply.code
                    or reply.pending_on
                    or reply.connection_fault
                    or reply.headers
                    or reply.ready_at > host.now
                ):
                    return await self._finish(reply, context)
                context.set_trailing_metadata((("x-request-id", reply.request_id),))
                return reply.body
            except grpc.aio.AbortError:
                raise
            except Exception as error:
                await _failed(method, context, error)

        return handler

    def _call(self, method: str, message: bytes, context: Context) -> Reply:
        began = time.thread_time()
        reply = self._host.rpc(method, _metadata(context), message, _address(context.peer()))
        self._host.turns.note(method, began)
        return reply

    async def _finish(self, reply: Reply, context: Context) -> bytes:
        """Answer with a reply once it is complete and due; abort the call for a refusal."""
        reply, elided = await self._host.replies.complete(reply)
        trailers = self._trailers(reply, elided)
        if reply.connection_fault:
            await _apply_connection_fault(reply.connection_fault, context, trailers)
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
            if self._debug_headers or not name.lower().startswith("x-sim-")
        ]
        if reply.request_id:
            trailers.append(("x-request-id", reply.request_id))
        if self._debug_headers and (hint := self._host.clock_hint(reply)):
            trailers.append(("x-sim-clock", hint))
        if elided and self._debug_headers:
            trailers.append(("x-sim-elapsed", elided))
        return tuple(
            (name, value if value.isascii() and value.isprintable() else ascii(value)[1:-1])
            for name, value in trailers
        )

    def _stream(self, method: str) -> Callable[[Any, Context], AsyncIterator[bytes]]:
        """The handler of a subscription. The client sends one message, or any
        number of them.
        """

        async def handler(
            sent: bytes | AsyncIterator[bytes], context: Context
        ) -> AsyncIterator[bytes]:
            first = sent if isinstance(sent, bytes) else b""
            stream = await self._open(method, first, context)
            if isinstance(stream, Reply):
                async for part in self._download(stream, context):
                    yield part
                return
            # A client that half-closes keeps its subscriptions until it cancels.
            reader = None
            if not isinstance(sent, bytes):
                reader = self._host.tasks.spawn(self._read(sent, stream))
            try:
                # Sent as soon as the stream is open: it may be silent for long, and some clients
                # wait for its headers.
                admission, elided = await self._host.replies.complete(stream.admission)
                await context.send_initial_metadata(self._trailers(admission, elided))
                while not isinstance(frame := await stream.take(), Close):
                    yield frame
            finally:
                if reader is not None:
                    reader.cancel()
                self._host.hangup(stream)
            if frame.code:
                await context.abort(_STATUS[frame.code], frame.message)

        return handler

    async def _download(self, reply: Reply, context: Context) -> AsyncIterator[bytes]:
        """The messages of a download; other calls get a turn between two of them."""
        try:
            for message in reply.chunks or ():
                yield message
                await asyncio.sleep(0)
        except Refusal as refusal:
            await context.abort(_STATUS[refusal.code], refusal.message)

    async def _read(self, messages: AsyncIterator[bytes], stream: StreamBuffer) -> None:
        async for message in messages:
            self._host.frame(stream, message)

    async def _open(self, method: str, message: bytes, context: Context) -> StreamBuffer | Reply:
        """The buffer of an admitted subscription, or a download that is due; aborts
        a refused call.
        """
        try:
            opened = self._host.open(method, _metadata(context), message, _address(context.peer()))
            if isinstance(opened, Reply):
                await self._finish(opened, context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await _failed(method, context, error)
        return opened

    def _unknown(
        self, method: str
    ) -> Callable[[AsyncIterator[bytes], Context], AsyncIterator[bytes]]:
        async def handler(messages: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            yield await self._unary(method)(b"", context)

        return handler


async def _failed(method: str, context: Context, error: Exception) -> NoReturn:
    log_failure(error, "a call failed: %s", method)
    if lack := lacking(error):
        await context.abort(grpc.StatusCode.UNAVAILABLE, lack)
    await context.abort(grpc.StatusCode.INTERNAL, "internal error")


async def _apply_connection_fault(fault: str, context: Context, trailers: Trailers) -> None:
    """Apply a connection fault: the call fails with UNAVAILABLE, or never ends ("hang")."""
    if fault == "hang":
        await asyncio.get_running_loop().create_future()
    if fault != "slow_body":
        await context.abort(grpc.StatusCode.UNAVAILABLE, "connection reset by peer", trailers)


def _metadata(context: Context) -> dict[str, str]:
    """The metadata that is read, as text: no key of `_READ` ends in -bin. Of a repeated key the
    first value is used, as for a header over REST.
    """
    metadata: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if key in _READ:
            metadata.setdefault(key, value)  # type: ignore[arg-type]
    return metadata


@lru_cache(maxsize=1024)
def _address(peer: str) -> str:
    """A client's address: "ipv4:127.0.0.1:5000" or "ipv6:%5B::1%5D:5000" without kind and port."""
    _, _, rest = peer.partition(":")
    return caller_address(rest.rpartition(":")[0].replace("%5B", "").replace("%5D", ""))


class _Health:
    """grpc.health.v1.Health of a host, for standard tools. It needs no credentials, is not
    journalled, and follows the maintenance window (rule W8). The service "" is the whole server.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    def handler(self, method: str) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """The handler of a full method name; None for an unknown one."""
        if method == _HEALTH + "Check":
            return grpc.unary_unary_rpc_method_handler(self._check)
        if method == _HEALTH + "Watch":
            return grpc.unary_stream_rpc_method_handler(self._watch)
        return None

    async def _check(self, message: bytes, context: Context) -> bytes:
        status = self._status(await _service(message, context))
        if status == _SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return _health_response(status)

    async def _watch(self, message: bytes, context: Context) -> AsyncIterator[bytes]:
        """The status of a service, and again whenever it changes."""
        service, sent = await _service(message, context), 0
        with self._host.watchers.watch() as changed:
            while True:
                changed.clear()
                status = self._status(service)
                if status != sent:
                    sent = status
                    yield _health_response(status)
                else:
                    await changed.wait()

    def _status(self, service: str) -> int:
        serves = self._host.simulation.rpc_serves(service)
        return _SERVICE_UNKNOWN if serves is None else _SERVING if serves else _NOT_SERVING


async def _service(message: bytes, context: Context) -> str:
    # Imported late, because they load all of protobuf's Python code, which would delay the start.
    from google.protobuf.message import DecodeError
    from google.protobuf.wrappers_pb2 import StringValue

    try:
        # HealthCheckRequest{string service = 1} has the form of a StringValue.
        return StringValue.FromString(message).value
    except DecodeError:
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT, "not a grpc.health.v1.HealthCheckRequest"
        )


def _health_response(status: int) -> bytes:
    return bytes((8, status))  # HealthCheckResponse{status = 1}
