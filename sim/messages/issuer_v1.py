# generated from proto/, do not edit
from __future__ import annotations

from sim.messages import Message


class IssueTokenRequest(Message, kw_only=True):
    """Client credentials in the form of a signed assertion."""

    grant_type: str = ""  # client_credentials
    client_id: str = ""
    client_assertion_type: str = ""  # urn:ietf:params:oauth:client-assertion-type:jwt-bearer
    client_assertion: str = ""  # JWT, RS256
    audience: str = ""  # API address of the environment

    __full_name__ = "issuer.v1.IssueTokenRequest"
    __wire__ = (
        (1, "grant_type", "grant_type", "string", "", "", ()),
        (2, "client_id", "client_id", "string", "", "", ()),
        (3, "client_assertion_type", "client_assertion_type", "string", "", "", ()),
        (4, "client_assertion", "client_assertion", "string", "", "", (("secret", True),)),
        (5, "audience", "audience", "string", "", "", ()),
    )


class IssueTokenResponse(Message, kw_only=True):
    """An access token."""

    access_token: str = ""
    token_type: str = ""  # Bearer
    expires_in: int = 0  # seconds

    __full_name__ = "issuer.v1.IssueTokenResponse"
    __wire__ = (
        (1, "access_token", "access_token", "string", "", "", (("secret", True),)),
        (2, "token_type", "token_type", "string", "", "", ()),
        (3, "expires_in", "expires_in", "int32", "", "", ()),
    )
