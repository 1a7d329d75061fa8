"""The service behind a listener, and what goes on to it."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import TypeAlias

from aiohttp import ClientSession, DummyCookieJar, TCPConnector, web
from multidict import CIMultiDict
from yarl import URL

from sim.recording.files import Plane
from sim.recording.writer import RecordingWriter
from sim.server.http.server import origin_form

RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

# What one connection says of itself (RFC 9110, section 7.6.1).
HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


class Upstream:
    """The service behind one listener."""

    def __init__(
        self,
        plane: Plane,
        address: str,
        writer: RecordingWriter,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.plane = plane
        self.address = address.rstrip("/")
        self.writer = writer
        self.session = ClientSession(
            auto_decompress=False,
            connector=TCPConnector(limit=0, ssl=context if context is not None else True),
            cookie_jar=DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        # aiohttp sends a GET twice whose connection breaks; whether to is the client's decision.
        self.session._retry_connection = False

    def url(self, request: web.BaseRequest) -> URL:
        """Where a request goes, its path and query as the client spelt them."""
        return URL(self.address + origin_form(request.raw_path), encoded=True)

    async def close(self) -> None:
        """Close its connections."""
        await self.session.close()


def decoded_headers(raw: RawHeaders) -> list[tuple[str, str]]:
    """Headers as they were sent, with the case of their names."""
    return [
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in raw
    ]


def outgoing(request: web.BaseRequest) -> CIMultiDict[str]:
    """The headers that go on: all but those of the connection."""
    return CIMultiDict(
        (name, value)
        for name, value in decoded_headers(request.raw_headers)
        if name.lower() not in HOP and name.lower() not in ("host", "expect")
    )
