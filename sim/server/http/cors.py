"""CORS for browser front ends: the pages that may read the answers of gateway and retail (Fetch
standard).

The service varies these answers by Origin and documents nothing else; the rest is the
assumption `surfaces.browser_origins`. A preflight is answered here: it is not a call of the
service, so neither limits nor faults apply and it is not journalled. Cookies are never
accepted, so none are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from sim.contract.contract import Plane
from sim.core.catalogue.assumptions import BROWSER_ORIGINS
from sim.server.host import Host
from sim.server.http.response import Headers, HttpResponse
from sim.server.listeners import is_loopback

PLANES: frozenset[Plane] = frozenset({"gateway", "retail"})

_VARY: Headers = (("vary", "Origin"),)
_VARY_PREFLIGHT: Headers = (
    ("vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
)
# The headers that a page may read.
_EXPOSED = (
    "x-request-id, retry-after, poly-correlation-id, x-sim-elapsed, x-sim-fault, x-sim-over-limit,"
    " x-trace-id, x-server-latency, x-pm-trace-id, x-pm-server-latency"
)
_PREFLIGHT_AGE_S = 600


class CrossOrigin:
    """The rules of one plane."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def headers(self, request: Mapping[str, str]) -> Headers:
        """The CORS headers of an answer."""
        accepted = self._accepted()
        if accepted == "none":
            return ()
        origin = request.get("Origin")
        if origin is None or not _is_accepted(origin, accepted):
            return _VARY
        return (
            *_VARY,
            ("access-control-allow-origin", origin),
            ("access-control-expose-headers", _EXPOSED),
        )

    def preflight(self, verb: str, request: Mapping[str, str]) -> HttpResponse | None:
        """The answer to a preflight; None for any other request, and if pages are not allowed."""
        if verb != "OPTIONS":
            return None
        method, origin = request.get("Access-Control-Request-Method"), request.get("Origin")
        accepted = self._accepted()
        if method is None or origin is None or accepted == "none":
            return None
        headers = _VARY_PREFLIGHT
        if _is_accepted(origin, accepted):
            names = request.get("Access-Control-Request-Headers")
            headers += (
                ("access-control-allow-origin", origin),
                ("access-control-allow-methods", method),
                *((("access-control-allow-headers", names),) if names else ()),
                ("access-control-max-age", str(_PREFLIGHT_AGE_S)),
            )
        now = self._host.now
        return HttpResponse(204, b"", content_type="text/plain", now=now, headers=headers)

    def _accepted(self) -> str:
        return self._host.simulation.exchange.ctx.assumptions.text(BROWSER_ORIGINS)


def _is_accepted(origin: str, accepted: str) -> bool:
    if accepted == "any":
        return True
    try:
        name = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    return is_loopback(name) or name.endswith(".localhost")
