"""authlib's private_key_jwt as the service takes it: assertions that live five minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from authlib.integrations.requests_client import OAuth2Session
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


def session(
    at: Any, aud: str = "", audience: str = "", **more: Any
) -> tuple[OAuth2Session, Callable[[], str]]:
    """The stock client of the first firm, which is a requests session, and how it gets an access
    token, for another address of the issuer and another audience where they are given.
    """
    firm, endpoint = at.firms[0], f"{at.auth}/oauth/token"
    key = Path(firm["private_key_path"]).read_text()
    method = FiveMinutes(aud or endpoint, alg="RS256")
    client = OAuth2Session(firm["client_id"], key, token_endpoint_auth_method=method)
    client.trust_env = False
    form = {"grant_type": "client_credentials", "client_id": firm["client_id"], **more}

    def fetch() -> str:
        got = client.fetch_token(endpoint, audience=audience or firm["audience"], **form)
        return str(got["access_token"])

    return client, fetch


def token(at: Any, aud: str = "", audience: str = "") -> str:
    """An access token by the stock client."""
    return session(at, aud, audience)[1]()


def metadata(at: Any) -> tuple[tuple[str, str], ...]:
    """Metadata of the first firm's first participant, with a token by the stock client."""
    participant = at.firms[0]["users"][0]
    return (("authorization", f"Bearer {token(at)}"), ("x-participant-id", participant))
