"""Cryptographic checks of RS256 client assertions and Ed25519 request signatures (§5.1, §5.2).

The functions are pure: they take text, keys and instants, and return a problem or "". Each kind of
credential has one algorithm, which is fixed here and never taken from the client's header, so a
forged `alg` has no effect. The cryptography package is imported for the first signature, because
its import takes a third of a cold start.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Container
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sim.core.identity.firms import ApiKey, Firms
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, Span, seconds

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

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
