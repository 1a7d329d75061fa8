"""The service behind a listener, and the form of the requests to it."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

from aiohttp import ClientSession, DummyCookieJar, web
from multidict import CIMultiDict
from yarl import URL

from sim.evidence.recording.files import Plane
from sim.evidence.recording.writer import RecordingWriter
from sim.server.http.final_answers import FinalAnswers
from sim.server.http.server import origin_form
from sim.server.listeners import is_loopback

RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

# Headers of a single connection (RFC 9110, section 7.6.1).
HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade"),
    )
)


class Upstream:
    """The service behind one listener.

    A remote one is reached through the proxy that the environment names, loopback never.
    """

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
            connector=FinalAnswers(limit=0, ssl=context if context is not None else True),
            cookie_jar=DummyCookieJar(),
            trust_env=not is_loopback(urlsplit(self.address).hostname or ""),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        # aiohttp would repeat a GET whose connection breaks, but only the client may decide that.
        self.session._retry_connection = False

    def url(self, request: web.BaseRequest) -> URL:
        """Return the address of a request at the service; path and query keep
        the client's spelling.
        """
        return URL(self.address + origin_form(request.raw_path), encoded=True)


def decoded_headers(raw: RawHeaders) -> list[tuple[str, str]]:
    """Return headers as they were sent, with the case of their names."""
    return [(name.decode("latin-1"), _value(value)) for name, value in raw]


def _value(raw: bytes) -> str:
    """Return the value of a header. One that is not UTF-8 is Latin-1, as headers were once."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def end_to_end(raw: RawHeaders, *besides: str) -> CIMultiDict[str]:
    """Return the headers to pass on: all except those of the connection, and `besides`."""
    left_out = HOP.union(besides)
    return CIMultiDict(pair for pair in decoded_headers(raw) if pair[0].lower() not in left_out)


def outgoing(request: web.BaseRequest) -> CIMultiDict[str]:
    """Return the headers to relay to the service."""
    return end_to_end(request.raw_headers, "host", "expect")


def cut(request: web.BaseRequest) -> web.StreamResponse:
    """Close a connection without an answer, as the service did."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)
