# generated from proto/, do not edit
from __future__ import annotations

from sim.contract.messages import Message


class IssueTokenRequest(Message, kw_only=True):
    """Client credentials in the form of a signed assertion."""

    grant_type: str = ""  # client_credentials
    client_id: str = ""
    client_assertion_type: str = ""  # urn:ietf:params:oauth:client-assertion-type:jwt-bearer
    client_assertion: str = ""  # JWT, RS256
    audience: str = ""  # API address of the environment

    __full_name__ = "issuer.v1.IssueTokenRequest"
    __wire__ = (
        (1, "grant_type", "grant_type", "string", "", "", (("required", True),)),
        (2, "client_id", "client_id", "string", "", "", (("required", True),)),
        (3, "client_assertion_type", "client_assertion_type", "string", "", "", (("required", True),)),
        (4, "client_assertion", "client_assertion", "string", "", "", (("secret", True), ("required", True),)),
        (5, "audience", "audience", "string", "", "", (("required", True),)),
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


class GetSigningKeysRequest(Message, kw_only=True):
    __full_name__ = "issuer.v1.GetSigningKeysRequest"


class GetSigningKeysResponse(Message, kw_only=True):
    """A JSON Web Key Set (RFC 7517)."""

    keys: list[SigningKey] = []

    __full_name__ = "issuer.v1.GetSigningKeysResponse"
    __wire__ = (
        (1, "keys", "keys", "message", "repeated", "issuer.v1.SigningKey", ()),
    )


class SigningKey(Message, kw_only=True):
    """The public half of an RSA key (RFC 7517)."""

    kty: str = ""  # RSA
    use: str = ""  # sig
    alg: str = ""  # RS256
    kid: str = ""  # thumbprint (RFC 7638)
    n: str = ""  # modulus, base64url
    e: str = ""  # exponent, base64url

    __full_name__ = "issuer.v1.SigningKey"
    __wire__ = (
        (1, "kty", "kty", "string", "", "", ()),
        (2, "use", "use", "string", "", "", ()),
        (3, "alg", "alg", "string", "", "", ()),
        (4, "kid", "kid", "string", "", "", ()),
        (5, "n", "n", "string", "", "", ()),
        (6, "e", "e", "string", "", "", ()),
    )


class GetIssuerMetadataRequest(Message, kw_only=True):
    __full_name__ = "issuer.v1.GetIssuerMetadataRequest"


class GetIssuerMetadataResponse(Message, kw_only=True):
    """Metadata of an authorization server (RFC 8414)."""

    issuer: str = ""  # iss of access tokens
    token_endpoint: str = ""
    jwks_uri: str = ""
    grant_types_supported: list[str] = []
    response_types_supported: list[str] = []  # none
    token_endpoint_auth_methods_supported: list[str] = []
    token_endpoint_auth_signing_alg_values_supported: list[str] = []

    __full_name__ = "issuer.v1.GetIssuerMetadataResponse"
    __wire__ = (
        (1, "issuer", "issuer", "string", "", "", (("address", True),)),
        (2, "token_endpoint", "token_endpoint", "string", "", "", (("address", True),)),
        (3, "jwks_uri", "jwks_uri", "string", "", "", (("address", True),)),
        (4, "grant_types_supported", "grant_types_supported", "string", "repeated", "", ()),
        (5, "response_types_supported", "response_types_supported", "string", "repeated", "", ()),
        (6, "token_endpoint_auth_methods_supported", "token_endpoint_auth_methods_supported", "string", "repeated", "", ()),
        (7, "token_endpoint_auth_signing_alg_values_supported", "token_endpoint_auth_signing_alg_values_supported", "string", "repeated", "", ()),
    )
