"""Connections to other servers: a receiver of webhooks, a service that is recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import ServerDisconnectedError, TCPConnector
from aiohttp.client_proto import ResponseHandler

# Informational responses (1xx) before the final one. A server may send several, not without end.
INFORMATIONAL_MAX = 16

_NEXT = b"\r\n\r\nHTTP/1.1 1"


class FinalAnswers(TCPConnector):
    """Connects to servers, and gives up on one that sends only informational responses.

    aiohttp would read them for ever without yielding to anybody else, not even to its own time-out.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = partial(_Handler, loop=self._loop)  # type: ignore[assignment]


class _Handler(ResponseHandler):
    """A connection that counts the informational responses to each request."""

    _informational = 0

    def set_response_params(self, **params: Any) -> None:
        """A request was sent."""
        self._informational = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Read a response, unless it is one informational response too many."""
        self._informational += data.count(_NEXT)
        if self._informational > INFORMATIONAL_MAX:
            self.set_exception(ServerDisconnectedError("only informational responses"))
            self.abort()
            return
        super().data_received(data)
