# generated from proto/, do not edit
from __future__ import annotations

from typing import Annotated

from sim.contract.messages import FieldRule, Int32, Message


class IssueTokenRequest(Message, kw_only=True):
    """Client credentials in the form of a signed assertion."""

    # client_credentials
    grant_type: Annotated[str, FieldRule(json_name="grant_type", required=True)] = ""
    client_id: Annotated[str, FieldRule(json_name="client_id", required=True)] = ""
    # urn:ietf:params:oauth:client-assertion-type:jwt-bearer
    client_assertion_type: Annotated[str, FieldRule(json_name="client_assertion_type", required=True)] = ""
    # JWT, RS256
    client_assertion: Annotated[str, FieldRule(json_name="client_assertion", secret=True, required=True)] = ""
    audience: Annotated[str, FieldRule(required=True)] = ""  # API address of the environment


class IssueTokenResponse(Message, kw_only=True):
    """An access token."""

    access_token: Annotated[str, FieldRule(json_name="access_token", secret=True)] = ""
    token_type: Annotated[str, FieldRule(json_name="token_type")] = ""  # Bearer
    expires_in: Annotated[Int32, FieldRule(json_name="expires_in")] = 0  # seconds


class GetSigningKeysRequest(Message, kw_only=True):
    pass


class GetSigningKeysResponse(Message, kw_only=True):
    """A JSON Web Key Set (RFC 7517)."""

    keys: list[SigningKey] = []


class SigningKey(Message, kw_only=True):
    """The public half of an RSA key (RFC 7517)."""

    kty: str = ""  # RSA
    use: str = ""  # sig
    alg: str = ""  # RS256
    kid: str = ""  # thumbprint (RFC 7638)
    n: str = ""  # modulus, base64url
    e: str = ""  # exponent, base64url


class GetIssuerMetadataRequest(Message, kw_only=True):
    pass


class GetIssuerMetadataResponse(Message, kw_only=True):
    """Metadata of an authorization server (RFC 8414)."""

    issuer: Annotated[str, FieldRule(address=True)] = ""  # iss of access tokens
    token_endpoint: Annotated[str, FieldRule(json_name="token_endpoint", address=True)] = ""
    jwks_uri: Annotated[str, FieldRule(json_name="jwks_uri", address=True)] = ""
    grant_types_supported: Annotated[list[str], FieldRule(json_name="grant_types_supported")] = []
    # none
    response_types_supported: Annotated[list[str], FieldRule(json_name="response_types_supported")] = []
    token_endpoint_auth_methods_supported: Annotated[list[str], FieldRule(json_name="token_endpoint_auth_methods_supported")] = []
    token_endpoint_auth_signing_alg_values_supported: Annotated[list[str], FieldRule(json_name="token_endpoint_auth_signing_alg_values_supported")] = []
