"""Keeps web pages away from the listeners that are not part of the service: the control plane and
the docs listener. A page that a developer has open must not be able to drive the sandbox.

A browser gives a page away in three headers that the page cannot change.

| Header | What a foreign page sends | What is accepted |
|---|---|---|
| Host | the page's own name, after DNS rebinding | IP addresses, `localhost`, `*.localhost`, the |
| | | address listened on, and the name that `--public-host` declares |
| Origin | its origin, or `null` from a sandboxed frame or a file | the origin that Host names |
| Sec-Fetch-Site | `cross-site`, `same-site` | `same-origin`, and `none` for a person |

A browser that sends neither of the last two is known by Referer. A program sends none of the three,
or its Host alone. The planes of the service have no guard: they are public, and every call that
changes something carries credentials that no page can send unasked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from aiohttp import web

from sim.server.http.fast_path import Handler
from sim.server.http.response import HttpError

# Content types that a form, or a script without a preflight, can give to its body.
FORM_TYPES = frozenset(
    {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain", ""}
)
READING = frozenset({"GET", "HEAD"})

_LABEL = r"[a-z0-9_-]+"
_AUTHORITY = re.compile(
    rf"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>{_LABEL}(?:\.{_LABEL})*)\.?)(?::[0-9]*)?", re.ASCII
)
_FOREIGN = "a web page of another origin may not call this listener"


class PageGuard:
    """The rules for one listener. `names` are names and addresses of this machine besides loopback
    names and IP addresses.

    With `static`, whoever sends a reader here may: GET and HEAD are accepted from every
    Sec-Fetch-Site. With `json_only`, a browser must declare the type of a body that it sends.
    """

    def __init__(
        self, names: Iterable[str], *, static: bool = False, json_only: bool = False
    ) -> None:
        self._names = frozenset(name.lower().rstrip(".") for name in names if name)
        self._static = static
        self._json_only = json_only

    def refusal(self, verb: str, target: str, headers: Mapping[str, str]) -> str:
        """Why a request is refused, in a sentence; "" when nothing speaks against it."""
        host = headers.get("Host", "")
        authorities = [host]
        if not target.startswith("/"):  # absolute form: its authority counts instead of Host
            authorities.append(_authority_of(target))
        for authority in authorities:
            if not self._is_ours(authority):
                return (
                    f"this listener does not answer to the name {authority[:100]!r}: use an IP"
                    " address or localhost, or declare the name with --public-host"
                )
        site = headers.get("Sec-Fetch-Site", "")
        came_from = headers.get("Origin")
        if came_from is None and not site and not (self._static and verb in READING):
            came_from = headers.get("Referer")
        if came_from is not None and not _is_same_origin(came_from, host):
            return _FOREIGN
        if site not in ("", "none", "same-origin") and not (self._static and verb in READING):
            return _FOREIGN
        if self._json_only and verb not in READING and (site or came_from is not None):
            kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
            empty = headers.get("Content-Length", "0") == "0" and "Transfer-Encoding" not in headers
            if kind in FORM_TYPES and not empty:
                return "a web page must send its body as application/json"
        return ""

    def _is_ours(self, authority: str) -> bool:
        match = _AUTHORITY.fullmatch(authority.lower())
        if match is None:
            return False
        name = match["v6"] or match["name"]
        if name == "localhost" or name.endswith(".localhost") or name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def guarded(handler: Handler, guard: PageGuard) -> Handler:
    """A handler behind a guard, which answers 403 instead where it refuses."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        problem = guard.refusal(request.method, request.raw_path, request.headers)
        if problem:
            raise HttpError(403, 7, problem, close=True)
        return await handler(request)

    return handle


def _authority_of(target: str) -> str:
    """The authority of a target in absolute form; "" where it has none."""
    try:
        return urlsplit(target).netloc
    except ValueError:
        return ""


def _is_same_origin(origin: str, host: str) -> bool:
    """Whether an Origin or Referer is a page of the listener that Host names. The scheme says
    nothing more: a port serves one.
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() != ""
