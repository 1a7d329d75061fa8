"""The files of the control room (`sim/server/room`), a page of static files on the control
listener. They are read when a browser requests them, so a server without a browser pays nothing.

The page contains nothing about a run: it calls the control plane like any other program, and needs
its token too. Its content security policy allows scripts and styles from this listener only.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from hashlib import sha256

from aiohttp import web

from sim.kernel.instants import Instant
from sim.read.report.files import FOLDER
from sim.server.console import Console
from sim.server.http.response import HttpError, HttpResponse

_NAME = re.compile(r"(?:[a-z0-9][a-z0-9_-]*/)?[a-z0-9][a-z0-9_-]*\.(?P<kind>[a-z]+)", re.ASCII)
_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-cache"),
)


class Room:
    """Answers with the files of the page."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer with a file, 304 to a browser that has it, or 404."""
        path = request.raw_path.partition("?")[0]
        file = room_file(path)
        if file is None:
            text = "the control room is at /, the control plane below /_sim/v1"
            raise HttpError(404, 5, text)
        if request.method not in ("GET", "HEAD"):
            allow = (("Allow", "GET, HEAD"),)
            message = "the files of the control room accept only GET"
            raise HttpError(405, 12, message, headers=allow)
        content, kind = file
        tag = f'"{sha256(content).hexdigest()[:32]}"'
        unchanged = tag in request.headers.get("If-None-Match", "")
        return HttpResponse(
            304 if unchanged else 200,
            b"" if unchanged else content,
            content_type=_TYPES[kind],
            now=self._now(),
            headers=(*_HEADERS, ("ETag", tag)),
        )


def room_file(path: str) -> tuple[bytes, str] | None:
    """Content and media type of a file of the page by its path in a URL; None if there is none."""
    name = _NAME.fullmatch("index.html" if path == "/" else path.removeprefix("/"))
    if name is None or name["kind"] not in _TYPES:
        return None
    try:
        return (FOLDER / name[0]).read_bytes(), name["kind"]
    except (FileNotFoundError, NotADirectoryError):
        return None


def room_url(control: str, token: str = "") -> str:
    """The URL of the control room. A token is in the fragment, which browsers do not
    send to servers.
    """
    return f"{control}/#token={token}" if token else f"{control}/"


def open_in_browser(url: str, console: Console) -> None:
    """Open the page in the user's browser, in another thread, because a browser
    may start slowly.
    """

    def run() -> None:
        import webbrowser

        if not webbrowser.open(url):
            text = f"no browser could be opened; the control room is at {url}"
            console.say(text, error=True, level="warning")

    threading.Thread(target=run, name="browser", daemon=True).start()
