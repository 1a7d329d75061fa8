"""Verifies the credentials of a call.

These functions turn headers and bodies into a `VerifiedCredential`: the claimed identity, and the
first problem with that claim, or "". `authentication.py` decides later, from this result alone,
what the caller may do. A replay therefore verifies nothing.

| Plane | Credential | Verified against |
|---|---|---|
| exchange, gRPC | bearer token | its form; the exchange knows the fingerprints it issued |
| retail | Ed25519 signature of timestamp, verb and path | the key's public half, the clocks |
| auth | RS256 client assertion (JWT) | the firm's public key, the audiences, the clocks |

Each kind of credential has one algorithm, which is fixed here and never taken from the client's
header, so a forged `alg` has no effect. The cryptography package is imported for the first
signature, because its import takes a third of a cold start.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from sim.api.pipeline.access_tokens import fingerprint_of
from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.api.pipeline.settings import Settings
from sim.core.catalogue.assumptions import ASSERTION_LIFE_MAX, CLIENT_CLOCK, TIMESTAMP_TOLERANCE
from sim.core.exchange import Exchange
from sim.core.identity.firms import ApiKey, Firms
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, Span, seconds

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

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
    this environment: the API's, the token endpoint's, or the issuer's as its metadata publish it.
    The caller's Host header is not used.
    """
    credentials = context.exchange.credentials
    environment = credentials.environment
    audiences = {
        name.rstrip("/") for name in (environment.audience, *_spellings(credentials.addresses))
    }
    official = f"{environment.issuer}/oauth/token"
    served = (context.settings.token_url,) if context.settings.token_url else ()
    endpoints = {official, *(name.rstrip("/") for name in _spellings(served))}
    issuers = {name.removesuffix("/oauth/token") for name in endpoints}
    assertion = fields.get("client_assertion", "")
    verified = verify_assertion(
        assertion if isinstance(assertion, str) else "",
        context.exchange.firms,
        environment.name,
        audiences | endpoints | issuers,
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


# ---- cryptography

ASSERTION_SKEW: Span = seconds(60)  # how far the client's clock may be ahead of the server's

_NUMBER_MAX = 1 << 40  # seconds; a larger claim is not a date


class VerifiedAssertion(NamedTuple):
    """A verified assertion: client, a key of `PROBLEMS` or "", and the fingerprint of its jti."""

    client_id: str
    problem: str
    nonce: str = ""


def verify_assertion(
    token: str,
    firms: Firms,
    environment: str,
    audiences: Container[str],
    clocks: tuple[Instant, ...],
    life_max: Span,
) -> VerifiedAssertion:
    """Verify a client assertion (JWT).

    It must be valid by one of `clocks`, and may live `life_max` at most. `audiences` have
    no trailing slashes.
    """
    if not token:
        return VerifiedAssertion("", "missing")
    parts = token.split(".")
    header = _object(parts[0])
    claims = _object(parts[1]) if len(parts) == 3 else None
    signature = _decoded(parts[2], urlsafe=True) if len(parts) == 3 else None
    if header is None or claims is None or signature is None:
        return VerifiedAssertion("", "malformed")
    issuer = claims.get("iss")
    client_id = issuer if isinstance(issuer, str) and len(issuer) <= 128 else ""
    if header.get("alg") != "RS256" or "crit" in header:
        return VerifiedAssertion(client_id, "algorithm")
    firm = firms.by_client(client_id)
    if firm is None:
        return VerifiedAssertion(client_id, "unknown_client")
    if firm.environment != environment:
        return VerifiedAssertion(client_id, "environment")
    if not _rsa_holds(firm.public_key_pem, signature, f"{parts[0]}.{parts[1]}".encode()):
        return VerifiedAssertion(client_id, "signature")
    problem = _claims_problem(claims, audiences, clocks, life_max)
    nonce = "" if problem else sha256(f"{client_id}\x00{claims['jti']}".encode()).hexdigest()[:32]
    return VerifiedAssertion(client_id, problem, nonce)


def _claims_problem(
    claims: dict[str, Any], audiences: Container[str], clocks: tuple[Instant, ...], life_max: Span
) -> str:
    if claims.get("sub") != claims.get("iss"):
        return "subject"
    aud = claims.get("aud")
    if not any(
        isinstance(name, str) and name.rstrip("/") in audiences
        for name in (aud if isinstance(aud, list) else [aud])
    ):
        return "audience"
    jti = claims.get("jti")
    issued, expires = _instant(claims.get("iat")), _instant(claims.get("exp"))
    not_before = _instant(claims.get("nbf", claims.get("iat")))
    if (
        issued is None
        or expires is None
        or not_before is None
        or not isinstance(jti, str)
        or not jti
    ):
        return "claims"
    if not 0 < expires - issued <= life_max:
        return "lifetime"
    begins = max(issued, not_before) - ASSERTION_SKEW
    if any(begins <= now < expires for now in clocks):
        return ""
    return "early" if all(now < begins for now in clocks) else "expired"


def verify_request(
    key_id: str,
    timestamp: str,
    signature: str,
    text: str,
    key: ApiKey | None,
    clocks: tuple[Instant, ...],
    tolerance: Span,
) -> str:
    """Verify a retail signature of timestamp + `text` (METHOD + path).

    Return "" or the first problem: missing header, timestamp, stale, key, encoding, signature.
    """
    for name, value in (("key", key_id), ("timestamp", timestamp), ("signature", signature)):
        if not value:
            return f"missing_{name}"
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 16):
        return "timestamp"
    signed_at = int(timestamp) * NS_PER_MS
    if not any(abs(now - signed_at) <= tolerance for now in clocks):
        return "stale"
    if key is None:
        return "unknown_key"
    raw = _decoded(signature, urlsafe=False)
    if raw is None or len(raw) != 64:
        return "encoding"
    verify = _ed25519_key(key.public_key).verify
    holds = _holds(verify, raw, f"{timestamp}{text}".encode())
    return "" if holds else "signature"


def _object(part: str) -> dict[str, Any] | None:
    raw = _decoded(part, urlsafe=True)
    if raw is None:
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _decoded(text: str, *, urlsafe: bool) -> bytes | None:
    """Decode base64 strictly: the URL alphabet without padding, or the standard one with it."""
    try:
        if urlsafe:
            return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _instant(claim: object) -> Instant | None:
    """Return the instant of a numeric date (RFC 7519 §2: seconds, with a fraction)."""
    if (
        isinstance(claim, bool)
        or not isinstance(claim, int | float)
        or not 0 <= claim <= _NUMBER_MAX
    ):
        return None
    return claim * NS_PER_S if isinstance(claim, int) else int(claim * NS_PER_S)


def _rsa_holds(pem: str, signature: bytes, text: bytes) -> bool:
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    key = _rsa_key(pem)
    return key is not None and _holds(key.verify, signature, text, PKCS1v15(), SHA256())


def _holds(verify: Callable[..., None], *arguments: object) -> bool:
    """Return whether a key's verification of a signature passes."""
    from cryptography.exceptions import InvalidSignature

    try:
        verify(*arguments)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=256)
def _rsa_key(pem: str) -> RSAPublicKey | None:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem.encode())
    except ValueError:
        return None
    return key if isinstance(key, RSAPublicKey) else None


@lru_cache(maxsize=1024)
def _ed25519_key(public_key: bytes) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(public_key)
