"""A gRPC call with any number of messages each way, made by its own thread.

grpc's asyncio client loses the status of a call that the service ends before it has read all
messages of the client: it reports INTERNAL. The threaded client keeps the status.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import grpc

_WAITING_MAX = 64  # answers that may wait for the client to read


class CallAccepted(NamedTuple):
    """The service has accepted the call."""

    metadata: Any


class CallEnded(NamedTuple):
    """The service has ended the call, or it was cancelled."""

    code: int
    details: str
    metadata: Any


class ThreadedCall:
    """One call. `events` yields what the service sends, in order; the last is `CallEnded`."""

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
