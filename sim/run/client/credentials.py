"""Authentication of clients with the credentials of a ready file: the assertion for an access token
(private_key_jwt, §5.1) and the signature of a retail request (§5.2).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_ASSERTION_S = 240


def token_form(firm: Mapping[str, Any], now: int, jti: str) -> dict[str, str]:
    """The form of a token request. `firm` is a firm of the ready file, `now` is in unix seconds,
    `jti` must not be used twice. OSError if its key cannot be read.
    """
    import jwt

    client = firm["client_id"]
    claims = {"iss": client, "sub": client, "aud": firm["audience"], "iat": now}
    claims |= {"exp": now + _ASSERTION_S, "jti": jti}
    key = firm.get("private_key_pem") or Path(firm["private_key_path"]).read_text("ascii")
    return {
        "grant_type": "client_credentials",
        "client_id": client,
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(claims, private_key(key.encode()), algorithm="RS256"),
        "audience": firm["audience"],
    }


def retail_headers(key: Mapping[str, Any], verb: str, path: str, now_ms: int) -> dict[str, str]:
    """The headers of a retail request by an API key of the ready file. The path is signed
    without its query.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    signature = signer.sign(f"{now_ms}{verb}{path.partition('?')[0]}".encode())
    return {
        "X-PM-Access-Key": key["key_id"],
        "X-PM-Timestamp": str(now_ms),
        "X-PM-Signature": base64.b64encode(signature).decode(),
    }


@cache
def private_key(pem: bytes) -> RSAPrivateKey:
    """A private key, read once, because checking it takes longer than a thousand calls."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return cast("RSAPrivateKey", load_pem_private_key(pem, None))
