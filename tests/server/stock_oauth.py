"""authlib's private_key_jwt as the service takes it: assertions that live five minutes."""

from __future__ import annotations

from typing import Any

from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oauth2.rfc7523.assertion import private_key_jwt_sign
from joserfc.jwk import RSAKey


class FiveMinutes(PrivateKeyJWT):  # type: ignore[misc]
    """The stock method, which signs for an hour, with the published lifetime."""

    def sign(self, auth: Any, token_endpoint: str) -> str:
        """Sign an assertion for the token endpoint."""
        text: str = private_key_jwt_sign(
            RSAKey.import_key(auth.client_secret),
            client_id=auth.client_id,
            token_endpoint=token_endpoint,
            claims=self.claims,
            header=self.headers,
            alg=self.alg,
            expires_in=300,
        )
        return text
