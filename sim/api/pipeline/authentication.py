"""Who is calling, and whether they may: authenticate, scope, participant, in this order (§5.1,
§5.2).

401 says who you are is not settled, 403 naming a scope says your firm was not granted it, 403
without one says you may not act for that participant.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.contract.contract import Operation, Plane
from sim.core.identity.credentials import Credentials
from sim.core.identity.firms import Firms
from sim.core.model.context import Context
from sim.core.model.refusals import (
    InvalidSignature,
    MissingScope,
    PermissionDenied,
    Unauthenticated,
)


class Parties(Protocol):
    """What authentication reads of the exchange."""

    @property
    def ctx(self) -> Context: ...
    @property
    def firms(self) -> Firms: ...
    @property
    def credentials(self) -> Credentials: ...


class Caller(Struct, frozen=True, kw_only=True):
    """An authenticated caller on a plane ("grpc" there).

    `account` is the account of the participant the call acts for, or of the API key; `accounts` are
    all that the caller may act for. `credential` is what the door found, which only the token
    issuer looks at. `bound`: the token itself speaks for the participant, and for nobody else of
    the firm.
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

    @property
    def name(self) -> str:
        """The most precise name of this caller; its address for the public."""
        return self.participant or self.firm or self.client_id or self.api_key or self.peer

    @property
    def names(self) -> tuple[str, ...]:
        """Every name this caller goes by, the most precise first: what faults match and logs show.
        Empty for the public.
        """
        return tuple(
            name for name in (self.participant, self.firm, self.client_id, self.api_key) if name
        )


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
    "stale": "X-PM-Timestamp is more than 30 s from the server's clock",
    "unknown_key": "no such API key in this environment",
    "encoding": "X-PM-Signature is padded standard base64 of the 64 byte Ed25519 signature",
    "signature": (
        "sign timestamp + METHOD + path (no separators, no query) with the key's Ed25519 secret"
    ),
}


def authenticate_caller(
    parties: Parties,
    operation: Operation,
    plane: Plane | None,
    credential: VerifiedCredential,
    participant: str | None,
    peer: str = "",
) -> Caller:
    """The caller of an operation on a plane (None: gRPC); `participant` is its x-participant-id.
    Unauthenticated, MissingScope, PermissionDenied otherwise.
    """
    policy = operation.credential_on(plane)
    if policy == "bearer":
        caller = _firm_caller(parties, plane or "grpc", credential, peer)
        if operation.scope and operation.scope not in caller.scopes:
            raise MissingScope(operation.scope)
        return _acting_for(
            parties,
            caller,
            operation.participant,
            participant,
            writes=operation.scope.startswith("write:"),
        )
    if policy == "api_key":
        return _key_caller(parties, plane or "grpc", credential, peer)
    return Caller(plane=plane or "grpc", peer=peer, credential=credential)


def names_of(
    parties: Parties, credential: VerifiedCredential, participant: str | None, peer: str
) -> tuple[str, ...]:
    """Names a call goes by before it is authenticated, the most precise first: what injected faults
    match. Claims nothing about its rights.
    """
    firm = key = None
    if credential.kind == "bearer":
        token = parties.credentials.token(credential.key)
        firm = parties.firms.require(token.firm) if token else None
        participant = participant or (token.participant if token else None)
    elif credential.kind == "api_key":
        key = parties.firms.api_key(credential.key)
    elif credential.kind == "assertion":
        firm = parties.firms.by_client(credential.key)
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


def _acting_for(
    parties: Parties, caller: Caller, policy: str, header: str | None, *, writes: bool
) -> Caller:
    """The caller with the participant its header names, where the operation wants one ("optional":
    checked when sent, "not_needed": ignored).

    A token that is bound to a participant needs no header and stands no other one; what its firm
    does as a whole is not its to change.
    """
    if caller.bound:
        if header and header != caller.participant:
            raise PermissionDenied(
                rule="participant-token", remedy=f"this token speaks for {caller.participant} alone"
            )
        if policy == "not_needed" and writes:
            raise PermissionDenied(
                rule="participant-token", remedy="call with the firm's own access token"
            )
        return caller
    if policy == "not_needed" or (policy == "optional" and not header) or caller.firm is None:
        return caller
    user = parties.firms.participant_of(parties.firms.require(caller.firm), header)
    return replace(caller, participant=user.name, account=user.account)


def _firm_caller(parties: Parties, plane: str, credential: VerifiedCredential, peer: str) -> Caller:
    if credential.kind == "script":
        firm = parties.firms.require(credential.key)
        return Caller(
            plane=plane,
            firm=firm.name,
            client_id=firm.client_id,
            accounts=parties.firms.accounts_of(firm),
            scopes=firm.scopes,
            peer=peer,
        )
    if credential.kind != "bearer" or credential.problem:
        problem = credential.problem if credential.kind == "bearer" else ""
        raise Unauthenticated(rule="S5.1-4", remedy=_BEARER_REMEDIES[problem])
    token = parties.credentials.authenticate(credential.key, parties.ctx.now)
    firm = parties.firms.require(token.firm)
    if token.participant:
        user = parties.firms.participant_of(firm, token.participant)
        return Caller(
            plane=plane,
            firm=firm.name,
            client_id=firm.client_id,
            participant=user.name,
            account=user.account,
            accounts=(user.account,),
            scopes=token.scopes,
            peer=peer,
            bound=True,
        )
    return Caller(
        plane=plane,
        firm=firm.name,
        client_id=firm.client_id,
        accounts=parties.firms.accounts_of(firm),
        scopes=token.scopes,
        peer=peer,
    )


def _key_caller(parties: Parties, plane: str, credential: VerifiedCredential, peer: str) -> Caller:
    if credential.kind not in ("api_key", "script") or credential.problem:
        problem = credential.problem if credential.kind == "api_key" else ""
        raise InvalidSignature(rule="S5.2-1", remedy=_SIGNATURE_REMEDIES[problem])
    key = parties.firms.api_key(credential.key)
    if key is None:
        raise InvalidSignature(rule="S5.2-1", remedy=_SIGNATURE_REMEDIES["unknown_key"])
    return Caller(
        plane=plane,
        participant=key.participant or None,
        account=key.account,
        accounts=(key.account,),
        api_key=key.key_id,
        peer=peer,
    )
