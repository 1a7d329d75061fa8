"""The token issuer: which assertions get a token, and what a token permits (§4.5, §5.1, E3, E5).

Signatures and the client's clock are verified before a call becomes an input, so what the law sees
of them is the problem that was match, or none. It links a token to the call that issued it by the
fingerprint that takes the token's place in the journal.
"""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode
from dataclasses import dataclass

from msgspec import json

from sim.kernel.instants import NS_PER_S, Instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.read.observed import ObservedInput

_FINGERPRINT = re.compile(r"sha256:([0-9a-f]{32})")
_GRANT = "client_credentials"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# A participant's token may not do what concerns others than this participant (rule E5).
_PARTICIPANT_SCOPES = frozenset(
    (
        *("read:accounts", "read:funding", "read:instruments", "read:l2marketdata"),
        *("read:marketdata", "read:orders", "read:positions", "read:reports", "write:orders"),
    )
)


@dataclass
class Token:
    """What a token permits, and from when on it is refused."""

    firm: str
    scopes: tuple[str, ...]
    expires: Instant
    participant: str = ""


class Issuer:
    """Tokens by fingerprint, and the fingerprints of assertions that were used."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange: NaiveExchange = hearing.exchange
        access = self._exchange.beginning.access
        self.tokens = {
            name: Token(row["firm"], tuple(row["scopes"]), row["expires"], row["participant"])
            for name, row in access["tokens"].items()
        }
        self._used = set(access["nonces"])
        self._environment = access["environment"]

    def issued(self, observed: ObservedInput) -> None:
        """Judge an answer of the token endpoint (§5.1 items 2 to 5, rule E3)."""
        credential, request = observed.input.get("credential", {}), observed.request
        firm, refusal = self._firm(credential, request)
        if refusal is not None:
            error, statuses = refusal
            reported = (observed.answer or {}).get("error"), observed.status
            if reported[0] not in error or observed.status not in statuses:
                sentence = f"a token request that deserves {error[0]} is answered {reported}"
                self._hearing.disagree("E3", error[0], str(reported), sentence)
            return
        if observed.status != 200:
            sentence = f"a good assertion of {credential['key']} is refused: {observed.answer}"
            self._hearing.disagree("E3", "a token", str(observed.status), sentence)
            return
        life = self._exchange.assumed("token.life")
        self._grant(observed, firm["name"], tuple(firm["scopes"]), life, firm["client_id"])
        reported = observed.answer.get("expires_in")
        if (reported, observed.answer.get("token_type")) != (life // NS_PER_S, "Bearer"):
            sentence = f"a token answers expires_in {reported}"
            self._hearing.disagree("S5.1-3", str(life // NS_PER_S), str(reported), sentence)

    def _firm(
        self, credential: Document, request: Document
    ) -> tuple[Document, tuple[tuple[str, ...], tuple[int, ...]] | None]:
        """Return the firm that gets a token; or else the OAuth errors and statuses that answer.

        A good assertion is used up by the call, whatever else is wrong with it.
        """
        problem = credential.get("problem", "")
        client = credential.get("key", "")
        firms = {row["client_id"]: row for row in self._exchange.beginning.firms}
        firm = firms.get(client, {})
        refused = ("invalid_request", "unsupported_grant_type", "invalid_client_assertion")
        named = request.get("client_id")
        required = self._exchange.assumed("token.client_id_required") is True
        if request.get("grant_type") != _GRANT or problem == "missing":
            return firm, (refused, (400,))
        if request.get("client_assertion_type") != _ASSERTION:
            return firm, (refused, (400,))
        if (required and not named) or (named and named != client):
            return firm, ((*refused, "invalid_client"), (400, 401))
        if problem or not firm or firm.get("environment") != self._environment:
            return firm, (("invalid_client", "invalid_client_assertion"), (400, 401))
        if credential.get("nonce") in self._used:
            return firm, (("invalid_client_assertion",), (400,))
        self._used.add(credential["nonce"])  # by an assertion that is good, whatever follows
        if credential.get("claims", {}).get("audience") != "known":
            return firm, (("access_denied", "invalid_target"), (403,))
        return firm, None

    def participant_token(
        self, observed: ObservedInput, caller: Token, users: dict[str, str]
    ) -> None:
        """Judge whether a firm gets a token for one participant: for its own only, with scopes that
        it has itself, for a bounded life (rule E5).
        """
        request = observed.request
        participant = str(_value(request, "participantId", "participant_id") or "")
        asked = tuple(request.get("scopes") or ())
        allowed = tuple(each for each in caller.scopes if each in _PARTICIPANT_SCOPES)
        seconds = int(str(_value(request, "ttlSeconds", "ttl_seconds") or 0))
        life = seconds * NS_PER_S or self._exchange.assumed("participant_token.life")
        code = 0
        if users.get(participant) != caller.firm or not set(asked) <= set(allowed):
            code = 7
        elif not 0 < life <= self._exchange.assumed("participant_token.life_max"):
            code = 3
        if observed.code != code:
            sentence = f"a token for {participant}, {asked}, {life} ns: code {observed.code}"
            self._hearing.disagree("E5", str(code), str(observed.code), sentence)
        if code or observed.code:
            return
        if not _value(observed.answer, "fromCache", "from_cache"):
            self._grant(observed, caller.firm, asked or allowed, life, participant)

    def _grant(
        self, observed: ObservedInput, firm: str, scopes: tuple[str, ...], life: int, subject: str
    ) -> None:
        """Note a token. Its claims say for how long, and with which scopes (§5.1 item 4)."""
        body = observed.out.get("body", "")
        text = b64decode(body).decode(errors="replace") if isinstance(body, str) else str(body)
        match = _FINGERPRINT.search(text)
        if match is None:
            self._hearing.undecided("a token that the journal does not name")
            return
        participant = subject if subject.startswith("firms/") else ""
        self.tokens[match[1]] = Token(firm, scopes, observed.now + life, participant)
        token = str(next((value for value in _texts(observed.answer) if value.count(".") == 2), ""))
        claims: Document = json.decode(urlsafe_b64decode(token.split(".")[1] + "==="))
        expected = {"exp": (observed.now + life) // NS_PER_S, "scope": " ".join(scopes)}
        for name, value in expected.items():
            if claims.get(name) != value:
                sentence = f"a token of {subject} has {name} {claims.get(name)}"
                self._hearing.disagree("S5.1-3", str(value), str(claims.get(name)), sentence)


def _value(document: Document, *names: str) -> object:
    """Return a field under the name that the surface gives it."""
    return next((document[name] for name in names if name in document), None)


def _texts(answer: Document) -> list[str]:
    return [value for value in answer.values() if isinstance(value, str)]
