"""Verifies the credentials of a call.

These functions turn headers and bodies into a `VerifiedCredential`: the claimed identity, and the
first problem with that claim, or "". `authentication.py` decides later, from this result alone,
what the caller may do. A replay therefore verifies nothing.

| Plane | Credential | Verified against |
|---|---|---|
| exchange, gRPC | bearer token | its form; the exchange knows the fingerprints it issued |
| retail | Ed25519 signature of timestamp, verb and path | the key's public half, the clocks |
| auth | RS256 client assertion (JWT) | the firm's public key, the audiences, the clocks |

`signatures.py` does the cryptography.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from sim.api.pipeline.access_tokens import fingerprint_of
from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.api.pipeline.settings import Settings
from sim.api.pipeline.signatures import verify_assertion, verify_request
from sim.core.catalogue.assumptions import ASSERTION_LIFE_MAX, CLIENT_CLOCK, TIMESTAMP_TOLERANCE
from sim.core.exchange import Exchange
from sim.kernel.instants import Instant

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# A secret key in base64, of 32 or 64 bytes, which a client may send instead of the key's id.
_SECRET_KEY = re.compile(r"[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)


class VerificationContext(Protocol):
    """The data that verification reads: registered firms and keys, and the accepted clocks."""

    @property
    def exchange(self) -> Exchange: ...
    @property
    def settings(self) -> Settings: ...


class VerifiedTokenRequest(NamedTuple):
    """A verified token request: its credential, and whether its audience is an address
    of this environment.
    """

    credential: VerifiedCredential
    audience_known: bool


@lru_cache(maxsize=4096)
def bearer(header: str | None) -> VerifiedCredential:
    """Verify an Authorization header. Kind "none" if there is no header.

    The result contains the token's fingerprint, never the token.
    """
    if not header:
        return NOBODY
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return VerifiedCredential("bearer", problem="scheme")
    token = token.strip()
    if not _TOKEN.fullmatch(token):
        return VerifiedCredential("bearer", problem="malformed")
    return VerifiedCredential("bearer", fingerprint_of(token))


def api_key(
    context: VerificationContext, verb: str, path: str, headers: Headers, wall: Instant | None
) -> VerifiedCredential:
    """Verify the three retail headers. Kind "none" if none of them was sent.

    Only the path is signed: the service refuses a signature that covers the query too.
    """
    key_id = headers.get("x-pm-access-key")
    timestamp = headers.get("x-pm-timestamp")
    signature = headers.get("x-pm-signature")
    if not (key_id or timestamp or signature):
        return NOBODY
    key = context.exchange.firms.api_key(key_id)
    if key is not None and key.environment != context.exchange.credentials.environment.name:
        key = None
    problem = verify_request(
        key_id,
        timestamp,
        signature,
        verb.upper() + path,
        key,
        _accepted_clocks(context, wall),
        context.exchange.ctx.assumptions.number(TIMESTAMP_TOLERANCE),
    )
    subject = "sealed" if _SECRET_KEY.fullmatch(key_id) else key_id[:64]
    return VerifiedCredential("api_key", subject, problem)


def token_request(
    context: VerificationContext, fields: Mapping[str, Any], wall: Instant | None
) -> VerifiedTokenRequest:
    """Verify the client assertion in the fields of a token request. Its audience must be a name of
    this environment; the caller's Host header is not used.
    """
    credentials = context.exchange.credentials
    environment = credentials.environment
    audiences = {
        name.rstrip("/") for name in (environment.audience, *_spellings(credentials.addresses))
    }
    official = f"{environment.issuer}/oauth/token"
    served = (context.settings.token_url,) if context.settings.token_url else ()
    endpoints = {official, *(name.rstrip("/") for name in _spellings(served))}
    assertion = fields.get("client_assertion", "")
    verified = verify_assertion(
        assertion if isinstance(assertion, str) else "",
        context.exchange.firms,
        environment.name,
        audiences | endpoints,
        _accepted_clocks(context, wall),
        context.exchange.ctx.assumptions.number(ASSERTION_LIFE_MAX),
    )
    audience = fields.get("audience")
    is_known = isinstance(audience, str) and audience.rstrip("/") in audiences
    claims = {"audience": "known" if is_known else "other"}
    audience_address = str(audience) if is_known and audience != environment.audience else ""
    credential = VerifiedCredential(
        "assertion", verified.client_id, verified.problem, claims, verified.nonce, audience_address
    )
    return VerifiedTokenRequest(credential, is_known)


@lru_cache(maxsize=64)
def _spellings(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses in every spelling that a client may use: the configured name, the three names
    of the local machine, and https if something in between terminates TLS.
    """
    spellings = []
    for address in addresses:
        parts = urlsplit(address)
        own = parts.netloc.rpartition(":")[0]
        for name in dict.fromkeys((own, *_LOOPBACK)):
            rest = f"{name}:{parts.port}{parts.path}"
            spellings += [f"{parts.scheme}://{rest}", f"http://{rest}", f"https://{rest}"]
    return tuple(dict.fromkeys(spellings))


def _accepted_clocks(context: VerificationContext, wall: Instant | None) -> tuple[Instant, ...]:
    """The instants with which a client's clock may agree.

    Without a wall clock (in process, in scripts) virtual now is the only one.
    """
    ctx = context.exchange.ctx
    clock: str = context.settings.client_clock
    if clock == "either":
        clock = ctx.assumptions.text(CLIENT_CLOCK)
    if wall is None or clock == "virtual":
        return (ctx.now,)
    return (wall,) if clock == "wall" else (ctx.now, wall)


def valid_text(text: str) -> str:
    """The text of a header as valid Unicode. If the parser kept bytes as surrogates (PEP 383), the
    text is read as ISO 8859-1 instead of UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    return text


class Headers:
    """The headers or metadata of a call, with values that are valid text and lower-case names.

    Text that cannot be encoded as UTF-8 cannot be journalled, so it becomes valid Unicode before
    anything reads it:

    | Where | Bytes that are not UTF-8 |
    |---|---|
    | request target of HTTP | refused with 400 by the parser, like every byte above 0x7f |
    | header names, control characters in headers | refused with 400 by the parser (RFC 9110) |
    | header values, gRPC metadata | read as ISO 8859-1, in which every byte is valid |
    | percent-encoded text in paths, queries, forms | U+FFFD for each, as in browsers |
    | JSON | refused with 400; lone surrogates too |
    | strings of protobuf messages | INVALID_ARGUMENT |
    | text frames of WebSockets | the socket is closed with 1007 (RFC 6455, §8.1) |

    A credential or participant with such bytes does not exist, and is refused for that reason.
    """

    __slots__ = ("_found",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._found = headers

    def get(self, name: str, default: str = "") -> str:
        """The value of a header."""
        value = self._found.get(name)
        return default if value is None else valid_text(value)

    def optional(self, name: str) -> str | None:
        """The value of a header; None when it was not sent."""
        value = self._found.get(name)
        return value if value is None or value.isascii() else valid_text(value)
