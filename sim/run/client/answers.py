"""Answers to in-process clients: HTTP responses, and gRPC statuses as errors."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from sim.api.pipeline.inputs import Reply
from sim.api.rendering.document_links import with_links

__tracebackhide__ = True  # pytest shows the line of the caller


class Response:
    """An answer over HTTP: `status`, `headers` with lower-case names, `body`, `json()`.

    `reply` is the exchange's own reply. A download has its chunks in `reply.chunks`.
    """

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.status = reply.status
        self.headers = {name.lower(): value for name, value in reply.headers}
        if reply.request_id:
            self.headers["x-request-id"] = reply.request_id

    @cached_property
    def body(self) -> bytes:
        """The whole body. For a download this reads it to its end."""
        if self.reply.chunks is not None:
            return b"".join(self.reply.chunks)
        return with_links(self.reply.body)

    def json(self) -> Any:
        """The body decoded as JSON. Raises `msgspec.DecodeError` if it is not JSON."""
        return msgspec.json.decode(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:200]!r}>"


class RpcError(Exception):
    """A gRPC status other than OK."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def succeeded(reply: Reply) -> Reply:
    """Return a gRPC answer with status OK; raise `RpcError` for any other."""
    if reply.code:
        raise RpcError(reply.code, reply.message)
    return reply
