"""The text of access tokens: JSON Web Tokens that the issuer signs with RS256.

The exchange decides about the content and validity of a token (`core/identity/credentials.py`).
This module turns claims into text, and text into the fingerprint by which the exchange knows a
token. Each environment has one key, bundled in `fixtures/keys`, so a client can keep its public
half over many runs. Such a signature proves nothing, because everybody has the key: a token is
valid because it was issued, not because of its signature.

A token contains the address of this machine as its client wrote it (`aud`, `iss`). Ports differ
between runs and fingerprints must not, so these two claims are not part of the fingerprint; the
signature covers them. The cryptography package is imported for the first token, because its import
takes a third of a cold start.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

import msgspec

from sim.core.identity.credentials import ENVIRONMENTS, fingerprint
from sim.kernel import resources

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ALGORITHM = "RS256"


def signed(environment: str, claims: Mapping[str, object]) -> str:
    """Return the access token of an environment with these claims."""
    header = {"alg": ALGORITHM, "typ": "JWT", "kid": key_id(environment)}
    return _signed(environment, f"{_part(header)}.{_part(claims)}")


def fingerprint_of(token: str) -> str:
    """Return the fingerprint of a token: 32 hexadecimal digits that do not reveal it.

    A text that no environment signed gets a fingerprint that no issued token has.
    """
    text, _, _ = token.rpartition(".")
    header, claims = (_object(part) for part in text.partition(".")[::2])
    kid = header.get("kid")
    environment = _environments().get(kid) if isinstance(kid, str) else None
    if environment and compare_digest(_signed(environment, text).encode(), token.encode()):
        return fingerprint(environment, claims)
    return sha256(token.encode()).hexdigest()[:32]


@cache
def key_id(environment: str) -> str:
    """Return the `kid` of an environment's key: its thumbprint (RFC 7638)."""
    exponent, modulus = public_numbers(environment)
    members = f'{{"e":"{exponent}","kty":"RSA","n":"{modulus}"}}'
    return _unpadded(sha256(members.encode()).digest())


@cache
def public_numbers(environment: str) -> tuple[str, str]:
    """Return exponent and modulus of an environment's key in the form of a JSON Web Key."""
    numbers = _key(environment).public_key().public_numbers()
    return _integer(numbers.e), _integer(numbers.n)


@lru_cache(maxsize=4096)
def _signed(environment: str, text: str) -> str:
    """Return header and claims with their signature. PKCS #1 v1.5 draws no random numbers."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    signature = _key(environment).sign(text.encode(), PKCS1v15(), SHA256())
    return f"{text}.{_unpadded(signature)}"


@cache
def _key(environment: str) -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    pem = resources.path("fixtures", f"keys/issuer-{environment}.pem").read_bytes()
    # The key is ours: checking its primes would take 100 ms.
    key = load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, RSAPrivateKey)
    return key


@cache
def _environments() -> dict[str, str]:
    """Environments by the id of their key."""
    return {key_id(name): name for name in ENVIRONMENTS}


def _object(part: str) -> dict[str, Any]:
    """Return the JSON object in a part of a token; an empty one for anything else."""
    try:
        value = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _integer(number: int) -> str:
    return _unpadded(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _part(content: Mapping[str, object]) -> str:
    return _unpadded(msgspec.json.encode(content))


def _unpadded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
