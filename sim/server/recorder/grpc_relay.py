"""Relays gRPC between a client and a service. Messages pass as bytes, with metadata, deadline,
status and trailers; the recording gets their JSON form.

Unknown methods are relayed too. Each client connection gets its own channels to the service, as it
would have without the recorder: one for unary calls, which the event loop makes at a third of the
cost of a thread, and one for streams (`ThreadedCall`).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import grpc
from msgspec.structs import replace

from sim.contract.contract import Operation, load_contract
from sim.evidence.recording.files import Frame, wall_clock
from sim.evidence.recording.grpc_bodies import message_to_json
from sim.evidence.recording.service_times import service_time
from sim.evidence.recording.writer import RecordingWriter
from sim.kernel.instants import Instant
from sim.server.grpc.listening import add_ports
from sim.server.listeners import is_loopback

if TYPE_CHECKING:
    _GenericHandler = grpc.GenericRpcHandler[bytes, bytes]
else:
    _GenericHandler = grpc.GenericRpcHandler

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Metadata: TypeAlias = tuple[tuple[str, str | bytes], ...]
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
)
# Without its own pool a channel shares its connection with others to the same target.
_UPSTREAM = (*_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
_CHANNELS_MAX = 256
_WAITING_MAX = 64  # answers that may wait for the client to read
# Metadata that the transport adds.
_OWN = ("user-agent", "grpc-", ":", "content-type", "te")


class _Channels:
    """The channels of one client connection, each opened on first use."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        self._target, self._credentials = target, credentials
        host = urlsplit(f"//{target}").hostname or ""
        # gRPC takes the proxy of the environment for every host, loopback too.
        self._options = (*_UPSTREAM, ("grpc.enable_http_proxy", int(not is_loopback(host))))

    @cached_property
    def calls(self) -> grpc.aio.Channel:
        """The channel for calls with one message each way."""
        if self._credentials is None:
            return grpc.aio.insecure_channel(self._target, self._options)
        return grpc.aio.secure_channel(self._target, self._credentials, self._options)

    @cached_property
    def streams(self) -> grpc.Channel:
        """The channel for streams."""
        if self._credentials is None:
            return grpc.insecure_channel(self._target, self._options)
        return grpc.secure_channel(self._target, self._credentials, self._options)

    async def close(self) -> None:
        """Close the opened channels."""
        if "calls" in self.__dict__:
            await self.calls.close(None)
        if "streams" in self.__dict__:
            self.streams.close()


class GrpcRelay:
    """A gRPC server that passes every call on to a service."""

    def __init__(
        self,
        target: str,
        listen_on: tuple[Sequence[str], int],
        writer: RecordingWriter,
        credentials: grpc.ChannelCredentials | None,
    ) -> None:
        """Bind addresses and a port (0: a free one). RuntimeError if the port cannot be used."""
        self._target, self._writer = target, writer
        self._credentials = credentials
        self._channels: OrderedDict[str, _Channels] = OrderedDict()
        self._busy: Counter[str] = Counter()  # calls under way, by client connection
        self._server = grpc.aio.server(options=_OPTIONS)
        self._server.add_generic_rpc_handlers((_Every(self),))
        self.port = add_ports(self._server, *listen_on)

    async def start(self) -> None:
        """Start accepting calls."""
        await self._server.start()

    async def stop(self) -> None:
        """End calls under way and close the channels."""
        await self._server.stop(0.2)
        for channels in self._channels.values():
            await channels.close()

    @asynccontextmanager
    async def _open(self, peer: str) -> AsyncIterator[_Channels]:
        """Return the channels of a client connection for one call. Idle ones are closed if
        there are many.
        """
        channels = self._channels.get(peer)
        if channels is None:
            channels = self._channels[peer] = _Channels(self._target, self._credentials)
        self._channels.move_to_end(peer)
        self._busy[peer] += 1
        try:
            yield channels
        finally:
            self._busy[peer] -= 1
            idle = (name for name in self._channels if not self._busy[name])
            if len(self._channels) > _CHANNELS_MAX and (oldest := next(idle, None)) is not None:
                del self._busy[oldest]
                await self._channels.pop(oldest).close()

    # ---- calls

    async def unary(self, method: str, message: bytes, context: Context) -> bytes:
        """Relay a call with one message, and its answer."""
        began = wall_clock()
        async with self._open(context.peer()) as channels:
            call = channels.calls.unary_unary(method, None, None)(
                message,
                metadata=_end_to_end(context.invocation_metadata()),
                timeout=context.time_remaining(),
            )
            code = await call.code()
            status, text = code.value[0], await call.details() or ""
            answer: bytes = b"" if status else await call
            initial = _end_to_end(await call.initial_metadata())
            trailers = _end_to_end(await call.trailing_metadata())
        self._record(method, began, context, message, (status, text, answer), (initial, trailers))
        if initial:
            await context.send_initial_metadata(initial)
        if status:
            await context.abort(_STATUS[status], text, trailers)
        context.set_trailing_metadata(trailers)
        return answer

    def _record(
        self,
        method: str,
        began: Instant,
        context: Context,
        message: bytes,
        outcome: tuple[int, str, bytes],
        metadata: tuple[Metadata, Metadata],
    ) -> None:
        operation, writer = load_contract().by_rpc(method), self._writer
        status, text, answer = outcome
        body = message_to_json(operation, answer, request=False) if not status else text
        sent = message_to_json(operation, message, request=True)
        pairs = _pairs(context.invocation_metadata())
        answered = _pairs((*metadata[0], *metadata[1]))
        asked, got = writer.settled(
            lambda: (
                replace(writer.request("gRPC", method, "", pairs, b""), body=writer.value(sent)),
                replace(
                    writer.answer(0, answered, b""),
                    status=status,
                    body=writer.value(body),
                    now=service_time(body),
                ),
            )
        )
        writer.call("grpc", began, self._client(context), asked, got)

    async def stream(
        self, method: str, messages: AsyncIterator[bytes], context: Context
    ) -> AsyncIterator[bytes]:
        """Relay a call with any number of messages in both directions."""
        client, writer = self._client(context), self._writer
        number = writer.request("gRPC", method, "", _pairs(context.invocation_metadata()), b"")
        opened = {"rpc": number.path, "request": {"headers": number.headers}}
        stream = writer.open("grpc", client, opened)
        keep = partial(self._keep, load_contract().by_rpc(method), client, stream)

        ended: CallEnded | None = None
        async with self._open(context.peer()) as channels:
            metadata = _end_to_end(context.invocation_metadata())
            call = ThreadedCall(channels.streams, method, metadata, context.time_remaining())

            async def send() -> None:
                async for message in messages:
                    keep("client", message)
                    call.send(message)
                call.send(None)

            sending = asyncio.ensure_future(send())
            try:
                async for event in call.events():
                    if isinstance(event, CallAccepted):
                        await context.send_initial_metadata(_end_to_end(event.metadata))
                    elif isinstance(event, CallEnded):
                        ended = event
                    else:
                        keep("service", event)
                        yield event
            finally:
                sending.cancel()
                call.cancel()
                writer.close("grpc", client, stream, _closed(ended))
        if ended is None:
            return
        if ended.code:
            await context.abort(_STATUS[ended.code], ended.details, _end_to_end(ended.metadata))
        context.set_trailing_metadata(_end_to_end(ended.metadata))

    def _keep(
        self,
        operation: Operation | None,
        client: str,
        stream: int,
        sender: Literal["client", "service"],
        message: bytes,
    ) -> None:
        body = message_to_json(operation, message, request=sender == "client")
        self._writer.frame("grpc", client, stream, Frame(sender, self._writer.value(body)))

    def _client(self, context: Context) -> str:
        headers = {key: value for key, value in _pairs(context.invocation_metadata()) if value}
        return self._writer.client(headers, f"grpc {context.peer()}")


class _Every(_GenericHandler):
    """A handler for every method: unary where the contract says so, else a stream."""

    def __init__(self, relay: GrpcRelay) -> None:
        self._relay = relay

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """The handler of a call."""
        relay, method = self._relay, handler_call_details.method
        operation = load_contract().by_rpc(method)

        if operation is not None and operation.kind == "unary":
            return grpc.unary_unary_rpc_method_handler(partial(relay.unary, method))
        return grpc.stream_stream_rpc_method_handler(partial(relay.stream, method))


_STATUS = {code.value[0]: code for code in grpc.StatusCode}


def _pairs(metadata: Any) -> list[tuple[str, str]]:
    """Metadata as text; for binary values their length."""
    return [
        (key, value if isinstance(value, str) else f"{len(value)} bytes")
        for key, value in metadata or ()
    ]


def _end_to_end(metadata: Any) -> Metadata:
    """Return metadata without the entries of one connection."""
    pairs: Iterable[tuple[str, str | bytes]] = metadata or ()
    return tuple((key, value) for key, value in pairs if not key.startswith(_OWN))


def _closed(ended: CallEnded | None) -> dict[str, Any]:
    """Return how a stream ended; None if the client cancelled it."""
    if ended is None:
        return {"from": "client", "code": None, "reason": "cancelled"}
    return {"from": "service", "code": ended.code, "reason": ended.details}


class CallAccepted(NamedTuple):
    """The service has accepted the call."""

    metadata: Any


class CallEnded(NamedTuple):
    """The service has ended the call, or it was cancelled."""

    code: int
    details: str
    metadata: Any


class ThreadedCall:
    """A call with any number of messages each way, made by its own thread: grpc's asyncio client
    loses the status of a call that the service ends before it has read all messages of the client,
    and reports INTERNAL. `events` yields what the service sends, in order; the last is `CallEnded`.
    """

    def __init__(
        self, channel: grpc.Channel, method: str, metadata: Any, timeout: float | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._events: asyncio.Queue[CallAccepted | bytes | CallEnded] = asyncio.Queue(_WAITING_MAX)
        self._call = channel.stream_stream(method, None, None)(
            self._messages(), timeout=timeout, metadata=metadata
        )
        threading.Thread(target=self._listen, name="recorded stream", daemon=True).start()

    def send(self, message: bytes | None) -> None:
        """Send a message; None ends the client's side."""
        self._sent.put(message)

    def cancel(self) -> None:
        """Cancel the call."""
        self._sent.put(None)
        self._call.cancel()  # type: ignore[no-untyped-call]

    async def events(self) -> AsyncIterator[CallAccepted | bytes | CallEnded]:
        """Yield what the service sends."""
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, CallEnded):
                return

    def _messages(self) -> Iterator[bytes]:
        while (message := self._sent.get()) is not None:
            yield message

    def _listen(self) -> None:
        call = self._call
        try:
            self._emit(CallAccepted(call.initial_metadata()))
            for message in call:
                self._emit(message)
        except grpc.RpcError:
            pass  # its code and details follow
        except RuntimeError:
            return  # the loop has closed, so there is no reader
        try:
            code = call.code()
            self._emit(CallEnded(code.value[0], call.details() or "", call.trailing_metadata()))
        except RuntimeError:
            return
        finally:
            self._sent.put(None)

    def _emit(self, event: CallAccepted | bytes | CallEnded) -> None:
        asyncio.run_coroutine_threadsafe(self._events.put(event), self._loop).result()
