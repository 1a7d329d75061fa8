"""Which identity of the scenario stands for which client of a recording.

A recording holds fingerprints of credentials, so credentials are matched by kind, in the order of
their first appearance: API keys with the scenario's keys (keys of different accounts first), tokens
with its firms. A client id or participant in clear text that the scenario knows is matched first. A
client that was only ever refused (wrong token, key or client id) matches no identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from sim.core.identity.firms import ApiKey, Firm
from sim.evidence.recording.files import RecordedMessage
from sim.evidence.replay.identifier_map import IdentifierMap
from sim.evidence.validation.difference import SECRET
from sim.read.errors import UsageError
from sim.run.client.client import Connection

_KEY, _BEARER, _PARTICIPANT = "x-pm-access-key", "authorization", "x-participant-id"
_SSN = 900_000_000
# Headers that a client chooses and that may matter. Signatures are made again.
_KEPT = ("content-type", "if-modified-since", "poly-correlation-id", "accept")


class Identities:
    """Signs the requests of a recording with identities of the scenario."""

    def __init__(self, world: Connection, names: IdentifierMap) -> None:
        self._world, self._names = world, names
        firms = world.simulation.exchange.firms
        self._keys: list[ApiKey] = list(firms.api_keys())
        self._firms: list[Firm] = [firm for firm in firms.all() if firm.client_id]
        self._key_of: dict[str, ApiKey] = {}
        self._firm_of: dict[str, Firm] = {}  # by token or client id
        self._participants: dict[tuple[str, str], str] = {}
        self._ssns: dict[str, str] = {}

    # ---- requests

    def headers(
        self, plane: str, method: str, path: str, recorded: Mapping[str, str], status: int
    ) -> dict[str, str]:
        """Return the headers of a request in the scenario. A client that was refused with `status`
        (HTTP or gRPC) is refused again.
        """
        refused, denied = (status == code for code in ((16, 7) if plane == "grpc" else (401, 403)))
        headers = {name: recorded[name] for name in _KEPT if name in recorded}
        key = _first(recorded.get(_KEY, ""))
        if key:
            unknown = refused and key not in self._key_of
            own = self._keys[0] if unknown and self._keys else self._key(key)
            headers |= self._world.retail_headers(own, method, path)
            if refused:
                headers["x-pm-signature"] = "A" * 86 + "=="
        bearer = _first(recorded.get(_BEARER, ""))
        if bearer.startswith("Bearer "):
            participant = recorded.get(_PARTICIPANT)
            named = None if participant is None else _first(participant)
            headers |= self._bearer(bearer[7:], named, refused=refused, denied=denied)
        return headers

    def _bearer(
        self, token: str, participant: str | None, *, refused: bool, denied: bool
    ) -> dict[str, str]:
        named = {} if participant is None else {_PARTICIPANT: participant}
        if refused and token not in self._firm_of:
            return {_BEARER: "Bearer none"} | named
        firm = self._firm(token, lambda firm: any(user.name == participant for user in firm.users))
        headers = {_BEARER: "Bearer none"} if refused else self._world.bearer(firm)
        if participant is None or (denied and (firm.name, participant) not in self._participants):
            return headers | named
        return headers | {_PARTICIPANT: self._participant(firm, participant)}

    def form(self, request: RecordedMessage, answer: RecordedMessage | None) -> dict[str, str]:
        """Return the form of a token request in the scenario; note whose token was issued."""
        body = request.body
        fields = dict(parse_qsl(body, keep_blank_values=True) if isinstance(body, str) else ())
        if isinstance(body, dict):
            fields = {name: str(value) for name, value in body.items()}
        issued = answer is not None and answer.status == 200
        client = fields.get("client_id", "")
        if not issued and not self._knows_client(client):
            return fields
        firm = self._firm(client, lambda firm: firm.client_id == client)
        if issued and answer is not None and isinstance(answer.body, dict):
            self._firm_of.setdefault(str(answer.body.get("access_token")), firm)
        own = {"client_id": firm.client_id, "audience": self._world.audience}
        for name, value in own.items():
            if issued and name in fields:
                self._names.pair(fields[name], value)  # answers show the value again
        if "client_id" in fields:
            fields["client_id"] = firm.client_id
        if issued:
            fields["client_assertion"] = self._world.assertion(firm)
            fields["audience"] = self._world.audience
        return fields

    def body(self, value: Any, name: str = "") -> Any:
        """Return a body with our identifiers, and with an SSN of the scenario for
        each recorded SSN.
        """
        if isinstance(value, dict):
            return {key: self.body(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.body(inner, name) for inner in value]
        if isinstance(value, str) and value.startswith(SECRET) and "ssn" in name.lower():
            return self._ssns.setdefault(value, str(_SSN + len(self._ssns)))
        return self._names.to_ours(value)

    # ---- who

    def _key(self, recorded: str) -> ApiKey:
        if recorded not in self._key_of:
            named = [key for key in self._keys if key.key_id == recorded]
            taken = {key.key_id for key in self._key_of.values()}
            having = {key.account for key in self._key_of.values()}
            free = named or [key for key in self._keys if key.key_id not in taken]
            # prefer keys of accounts that have none yet: another key is another person
            free.sort(key=lambda key: key.account in having)
            if not free:
                raise Unmatched("the scenario has too few API keys")
            self._key_of[recorded] = free[0]
        return self._key_of[recorded]

    def _firm(self, credential: str, fits: Callable[[Firm], bool]) -> Firm:
        """Return the firm of a token or client id: one that fits, or else the next one."""
        if credential not in self._firm_of:
            taken = {firm.name for firm in self._firm_of.values()}
            free = (firm for firm in self._firms if firm.name not in taken)
            firm = next(filter(fits, self._firms), None) or next(free, None)
            if firm is None:
                raise Unmatched("the scenario has too few firms")
            self._firm_of[credential] = firm
        return self._firm_of[credential]

    def _knows_client(self, client_id: str) -> bool:
        return client_id in self._firm_of or any(
            firm.client_id == client_id for firm in self._firms
        )

    def _participant(self, firm: Firm, recorded: str) -> str:
        if any(user.name == recorded for user in firm.users):
            return recorded
        matched = self._participants.get((firm.name, recorded))
        if matched is None:
            number = sum(1 for name, _ in self._participants if name == firm.name)
            matched = firm.users[number].name if number < len(firm.users) else recorded
            self._participants[firm.name, recorded] = matched
            self._names.pair_resource(recorded, matched)
        return matched


def _first(value: str) -> str:
    """Return the first value of a header that came several times. A recording joins
    them with commas.
    """
    return value.partition(", ")[0]


class Unmatched(UsageError):
    """The scenario has no identity for a client of the recording. The text says which
    kind it lacks.
    """
