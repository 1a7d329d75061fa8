"""The token issuer: which assertions get a token, and which tokens are valid (§4.5, §5.1).

The API verifies signatures and the client's clock before a request becomes an input, and only the
result arrives here (`TokenRequest.problem`). So this component needs neither cryptography nor a
wall clock, and a replay makes the same decisions. The claims of an access token depend only on the
seed and on earlier inputs; `api/pipeline/access_tokens.py` signs them. The state holds fingerprints
of tokens, never a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, field, json

from sim.core.catalogue.assumptions import TOKEN_CLIENT_ID_REQUIRED, TOKEN_LIFE
from sim.core.identity.assertion_problems import OAuthRefusal, refusal_of
from sim.core.identity.firms import SANDBOX, Firm, Firms
from sim.core.model.context import Context
from sim.core.model.refusals import Unauthenticated
from sim.core.model.stateful import Stateful
from sim.kernel.instants import NS_PER_S, Instant, Span, hours

GRANT_TYPE = "client_credentials"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

# More assertions than could plausibly be valid at the same time. The limit is a count and not a
# time, because assertions are valid by a wall clock that is unknown here.
REMEMBERED_NONCES = 10_000
REMEMBERED_TOKENS = 10_000
_EXPIRED_FOR: Span = hours(1)  # used only to explain whether a token is expired or unknown


ENVIRONMENTS = (SANDBOX, "development", "pre-production", "production")


class Environment(Struct, frozen=True):
    """One deployment of the service, with its own onboarding and credentials.

    `issuer` and `audience` are the names that tokens carry if the caller used no address.
    """

    name: str = SANDBOX
    issuer: str = "https://auth.sandbox.test"
    audience: str = "https://api.sandbox.test"

    @classmethod
    def called(cls, name: str) -> Environment:
        """Return the environment with this name and the issuer and audience derived from it."""
        if name == SANDBOX:
            return cls()
        return cls(name, f"https://auth.{name}.sandbox.test", f"https://api.{name}.sandbox.test")


class TokenRequest(Struct, frozen=True, kw_only=True):
    """A verified call of the token endpoint.

    `subject` is the client id of the assertion. `problem` is a key of `PROBLEMS`, or empty. `nonce`
    is the fingerprint of its jti. `audience_known` says whether the `audience` field names this
    environment; `audience_asked` is its text if that is an address.
    """

    grant_type: str = ""
    client_id: str = ""
    assertion_type: str = ""
    audience: str = ""
    audience_known: bool = False
    audience_asked: str = ""
    subject: str = ""
    problem: str = ""
    nonce: str = ""


class Grant(Struct, frozen=True):
    """The claims of a new token. The token itself exists only in the reply."""

    claims: dict[str, object]
    expires_in: int


class IssuedToken(Struct, frozen=True):
    """The rights of an issued token, and its expiry.

    `participant` is the only one it may act for; empty for a firm's token. `audience` is the
    address that its client requested; empty for the environment's name.
    """

    firm: str
    scopes: tuple[str, ...]
    expires: Instant
    participant: str = ""
    audience: str = ""


class ParticipantGrant(Struct, frozen=True):
    """The claims of a token for one participant.

    `again` means that an unexpired token was reissued.
    """

    claims: dict[str, object]
    issued: Instant
    expires: Instant
    again: bool = False


# Scopes that a participant's token may have. None of them shows or moves what belongs to others.
PARTICIPANT_SCOPES = frozenset(
    [
        "read:accounts",
        "read:funding",
        "read:instruments",
        "read:l2marketdata",
        "read:marketdata",
        "read:orders",
        "read:positions",
        "read:reports",
        "write:orders",
    ]
)


class CredentialsState(Struct):
    """Tokens by fingerprint, in order of issue, and the fingerprints of used jtis, oldest first
    (the values are unused).

    `participants` holds what the last token of each participant, kind, scopes and lifetime was made
    from. This suffices to sign the same token again, but not to use it.
    """

    tokens: dict[str, IssuedToken] = field(default_factory=dict)
    nonces: dict[str, bool] = field(default_factory=dict)
    participants: dict[str, tuple[Instant, str]] = field(default_factory=dict)


def fingerprint(environment: str, claims: Mapping[str, object]) -> str:
    """Return the name of an environment's token, 32 hexadecimal digits that do not reveal it.

    The name depends on the claims, not on the addresses on which this run listens.
    """
    signed_claims = {name: claims[name] for name in sorted(claims) if name not in ("aud", "iss")}
    return sha256(json.encode((environment, signed_claims))).hexdigest()[:32]


class Credentials(Stateful[CredentialsState]):
    """Issues and checks tokens.

    `addresses` are those on which this environment's API listens; clients may name one as audience.
    `issuer_address` is the issuer's, "" while it does not listen.
    """

    def __init__(self, ctx: Context, firms: Firms, environment: Environment | None = None) -> None:
        self._ctx = ctx
        self._firms = firms
        self.environment = environment or Environment()
        self.addresses: tuple[str, ...] = ()
        self.issuer_address = ""
        self._state = CredentialsState()

    @property
    def issuer(self) -> str:
        """The issuer's address, or the environment's name for it while it does not listen."""
        return self.issuer_address or self.environment.issuer

    def issue(self, request: TokenRequest) -> Grant:
        """Issue an access token to a firm, or raise `OAuthRefusal`.

        A jti counts as used once its assertion is valid.
        """
        self._check_form(request)
        if request.problem:
            raise refusal_of(request.problem)
        firm = self._firms.by_client(request.subject)
        if firm is None:
            raise refusal_of("unknown_client")
        if request.client_id and request.client_id != request.subject:
            raise OAuthRefusal(
                "invalid_client_assertion",
                400,
                "client_id differs from the assertion's iss",
                remedy="send one client id in both places",
            )
        self._use_nonce(request.nonce)
        if not request.audience_known:
            raise OAuthRefusal(
                "access_denied",
                403,
                "audience is not this environment's API",
                remedy=f"send audience={self.environment.audience}",
            )
        return self._grant(firm, request.audience_asked)

    def authenticate(self, token: str, now: Instant) -> IssuedToken:
        """Return the token with this fingerprint. Refuses one that is unknown or expired."""
        issued = self._state.tokens.get(token)
        if issued is not None and now < issued.expires:
            return issued
        remedy = "the token has expired; get a new one before its expires_in has passed"
        if issued is None:
            origin = "it is of another environment, or from before a reset"
            remedy = f"this token was not issued here: {origin}; get a new one"
        raise Unauthenticated(rule="S5.1-4", remedy=remedy)

    def token(self, name: str) -> IssuedToken | None:
        """Return the token with this fingerprint, expired or not; None if it is unknown."""
        return self._state.tokens.get(name)

    def _check_form(self, request: TokenRequest) -> None:
        if request.grant_type != GRANT_TYPE:
            error = "unsupported_grant_type" if request.grant_type else "invalid_request"
            raise _bad_form(f"grant_type must be {GRANT_TYPE}", f"grant_type={GRANT_TYPE}", error)
        if request.assertion_type != ASSERTION_TYPE:
            name = "client_assertion_type"
            raise _bad_form(f"{name} must be {ASSERTION_TYPE}", f"{name}={ASSERTION_TYPE}")
        if not request.client_id and self._ctx.assumptions.flag(TOKEN_CLIENT_ID_REQUIRED):
            raise _bad_form("client_id is required", "client_id")
        if not request.audience:
            raise _bad_form("audience is required", "audience")

    def _use_nonce(self, nonce: str) -> None:
        nonces = self._state.nonces
        if nonce in nonces:
            raise refusal_of("reused")
        nonces[nonce] = True
        if len(nonces) > REMEMBERED_NONCES:
            del nonces[next(iter(nonces))]

    def _grant(self, firm: Firm, audience: str) -> Grant:
        now, life = self._ctx.now, self._ctx.assumptions.number(TOKEN_LIFE)
        issued = IssuedToken(firm.name, firm.scopes, now + life, audience=audience)
        claims = self._claims(firm, firm.client_id, issued, now)
        claims["jti"] = self._ctx.ids.uuid("token")
        self._forget(now)
        self._state.tokens[fingerprint(self.environment.name, claims)] = issued
        return Grant(claims, life // NS_PER_S)

    def grant_participant(
        self,
        firm: Firm,
        participant: str,
        scopes: tuple[str, ...],
        life: Span,
        *,
        admin: bool,
        audience: str = "",
    ) -> ParticipantGrant:
        """Issue a token for one participant of a firm.

        The same one as long as it has not expired.
        """
        now = self._ctx.now
        cache_key = f"{participant}|{admin}|{' '.join(scopes)}|{life}"
        issued, jti = self._state.participants.get(cache_key, (0, ""))
        again = bool(jti) and now < issued + life
        if not again:
            issued, jti = now, self._ctx.ids.uuid("participant.token")
            self._state.participants[cache_key] = (issued, jti)
        allowed = IssuedToken(firm.name, scopes, issued + life, participant, audience)
        claims = self._claims(firm, participant, allowed, issued)
        claims |= {"admin": admin, "jti": jti}
        if not again:
            self._forget(now)
        self._state.tokens[fingerprint(self.environment.name, claims)] = allowed
        return ParticipantGrant(claims, issued, issued + life, again)

    def _claims(
        self, firm: Firm, subject: str, token: IssuedToken, issued: Instant
    ) -> dict[str, object]:
        return {
            "iss": f"{self.issuer}/",
            "sub": subject,
            "aud": token.audience or self.environment.audience,
            "iat": issued // NS_PER_S,
            "exp": token.expires // NS_PER_S,
            "scope": " ".join(token.scopes),
            "firm_id": firm.id,
        }

    def _forget(self, now: Instant) -> None:
        """Drop tokens that expired long ago, and the oldest ones above the limit.

        Tokens of firms have equal lifetimes, so the first ones are the oldest.
        """
        tokens = self._state.tokens
        while tokens:
            oldest = next(iter(tokens))
            if len(tokens) < REMEMBERED_TOKENS and tokens[oldest].expires + _EXPIRED_FOR > now:
                return
            del tokens[oldest]


def _bad_form(description: str, send: str, error: str = "invalid_request") -> OAuthRefusal:
    return OAuthRefusal(error, 400, description, rule="S5.1-2", remedy=f"send {send}")
