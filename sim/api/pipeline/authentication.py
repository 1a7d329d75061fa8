"""Authentication and authorization of a call: identity, scope, participant, in this order (§5.1,
§5.2).

| Answer | Meaning |
|---|---|
| 401 | the caller's identity is not established |
| 403 that names a scope | the firm was not granted that scope |
| 403 without a scope | the caller may not act for that participant |
"""

from __future__ import annotations

from msgspec import Struct

from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.contract.contract import Operation, Plane
from sim.core.exchange import Exchange
from sim.core.identity.firms import Firm
from sim.core.model import refusals


class Caller(Struct, frozen=True, kw_only=True):
    """An authenticated caller on a plane (or "grpc").

    `account` is the account of the participant for whom the call acts, or of the API key;
    `accounts` are all accounts for which the caller may act. Only the token issuer uses
    `credential`. `bound` means that the token belongs to a participant and cannot act for others of
    the firm; `audience` is the address for which it was requested, "" for the environment's name.
    """

    plane: str
    firm: str | None = None
    client_id: str | None = None
    participant: str | None = None
    account: str | None = None
    accounts: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    api_key: str | None = None
    peer: str = ""
    credential: VerifiedCredential = NOBODY
    bound: bool = False
    audience: str = ""

    @property
    def name(self) -> str:
        """The most precise name of this caller; its address for the public."""
        return self.participant or self.firm or self.client_id or self.api_key or self.peer

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of this caller, the most precise first, for faults and logs. Empty
        for the public.
        """
        names = (self.participant, self.firm, self.client_id, self.api_key)
        return tuple(name for name in names if name)


def account_of(caller: Caller) -> str:
    """Return the account that a retail key trades for."""
    if caller.account is None:
        raise refusals.PermissionDenied(
            rule="S5.2-1", remedy="use an API key that belongs to an account"
        )
    return caller.account


_BEARER_REMEDIES = {
    "": "send Authorization: Bearer <access token>",
    "scheme": "the exchange takes Authorization: Bearer <access token>, no other scheme",
    "malformed": "the bearer token is no JWT; send the access_token of the token endpoint as it is",
}
_SIGNATURE_REMEDIES = {
    "": "send X-PM-Access-Key, X-PM-Timestamp and X-PM-Signature",
    "missing_key": "send X-PM-Access-Key too",
    "missing_timestamp": "send X-PM-Timestamp too",
    "missing_signature": "send X-PM-Signature too",
    "timestamp": "X-PM-Timestamp is unix time in milliseconds, in digits",
    "stale": (
        "X-PM-Timestamp is too far from the server's clock: more than 30 s, unless the assumption"
        " auth.timestamp_tolerance says otherwise"
    ),
    "unknown_key": "no such API key in this environment",
    "encoding": "X-PM-Signature is padded standard base64 of the 64 byte Ed25519 signature",
    "signature": (
        "sign timestamp + METHOD + path (no separators, no query) with the key's Ed25519 secret"
    ),
}


def authenticate_caller(
    exchange: Exchange,
    operation: Operation,
    plane: Plane | None,
    credential: VerifiedCredential,
    participant: str | None,
    peer: str = "",
) -> Caller:
    """Return the caller of an operation on a plane; None is gRPC.

    `participant` is the call's x-participant-id. Unauthenticated, MissingScope or PermissionDenied
    for a caller who may not.
    """
    surface = plane or "grpc"
    policy = operation.credential_on(plane)
    if policy == "bearer":
        return _firm_caller(exchange, operation, surface, credential, participant, peer)
    if policy == "api_key":
        return key_caller(exchange, surface, credential, peer)
    return Caller(plane=surface, peer=peer, credential=credential)


def names_of(
    exchange: Exchange, credential: VerifiedCredential, participant: str | None, peer: str
) -> tuple[str, ...]:
    """Return the names of a caller before authentication, the most precise first.

    Injected faults match them. They say nothing about the rights of the caller.
    """
    firm = key = None
    if credential.kind == "bearer":
        token = exchange.credentials.token(credential.key)
        firm = exchange.firms.require(token.firm) if token else None
        participant = participant or (token.participant if token else None)
    elif credential.kind == "api_key":
        key = exchange.firms.api_key(credential.key)
    elif credential.kind == "assertion":
        firm = exchange.firms.by_client(credential.key)
    names = (
        participant,
        key and key.participant,
        key and key.account,
        key and key.key_id,
        firm and firm.name,
        firm and firm.client_id,
        peer,
    )
    return tuple(name for name in names if name)


def _firm_caller(
    exchange: Exchange,
    operation: Operation,
    surface: str,
    credential: VerifiedCredential,
    header: str | None,
    peer: str,
) -> Caller:
    """Return a firm's caller, acting for the participant of the header or of the token.

    The header is used if the operation requires a participant, or if it admits one and the
    header was sent.
    """
    firm, scopes, token_participant, audience = _firm_of(exchange, credential)
    user = exchange.firms.participant_of(firm, token_participant) if token_participant else None
    bound = user is not None
    if operation.scope and operation.scope not in scopes:
        raise refusals.MissingScope(operation.scope)
    if user is not None:
        _check_bound(user.name, operation, header)
    elif operation.participant == "required" or (operation.participant == "optional" and header):
        user = exchange.firms.participant_of(firm, header)
    return Caller(
        plane=surface,
        firm=firm.name,
        client_id=firm.client_id,
        participant=user.name if user is not None else None,
        account=user.account if user is not None else None,
        accounts=(user.account,)
        if user is not None and bound
        else exchange.firms.accounts_of(firm),
        scopes=scopes,
        peer=peer,
        bound=bound,
        audience=audience,
    )


def _firm_of(
    exchange: Exchange, credential: VerifiedCredential
) -> tuple[Firm, tuple[str, ...], str | None, str]:
    """Return the firm of a credential, its scopes, the participant of its token, and
    the requested audience.
    """
    if credential.kind == "script":
        firm = exchange.firms.require(credential.key)
        return firm, firm.scopes, None, ""
    if credential.kind != "bearer" or credential.problem:
        problem = credential.problem if credential.kind == "bearer" else ""
        raise refusals.Unauthenticated(rule="S5.1-4", remedy=_BEARER_REMEDIES[problem])
    token = exchange.credentials.authenticate(credential.key, exchange.ctx.now)
    return exchange.firms.require(token.firm), token.scopes, token.participant, token.audience


def _check_bound(participant: str, operation: Operation, header: str | None) -> None:
    """Refuse a participant's token for another participant, and for changes to the firm
    as a whole.
    """
    if header and header != participant:
        remedy = f"this token speaks for {participant} alone"
        raise refusals.PermissionDenied(rule="E5", remedy=remedy)
    if operation.participant == "not_needed" and operation.scope.startswith("write:"):
        remedy = "call with the firm's own access token"
        raise refusals.PermissionDenied(rule="E5", remedy=remedy)


def key_caller(exchange: Exchange, plane: str, credential: VerifiedCredential, peer: str) -> Caller:
    """Return the caller of a retail key. InvalidSignature if the call is not signed correctly."""
    if credential.kind == "none":
        raise refusals.MissingKeyHeaders(rule="S5.2-1", remedy=_SIGNATURE_REMEDIES[""])
    if credential.kind not in ("api_key", "script") or credential.problem:
        problem = credential.problem if credential.kind == "api_key" else ""
        raise refusals.InvalidSignature(rule="S5.2-1", remedy=_SIGNATURE_REMEDIES[problem])
    key = exchange.firms.api_key(credential.key)
    if key is None:
        remedy = _SIGNATURE_REMEDIES["unknown_key"]
        raise refusals.InvalidSignature(rule="S5.2-1", remedy=remedy)
    return Caller(
        plane=plane,
        participant=key.participant or None,
        account=key.account,
        accounts=(key.account,),
        api_key=key.key_id,
        peer=peer,
    )
