"""Draws callers, usually with the right credentials, sometimes without them."""

from __future__ import annotations

from typing import NamedTuple

from sim.api.pipeline.inputs import NOBODY, SCRIPT, VerifiedCredential
from sim.contract.contract import Operation, Plane
from sim.kernel.entropy import RandomStream
from sim.run.simulation import Simulation

# The address of any caller without the credentials of a script.
PEER = "127.0.0.1"
_BAD_TOKEN = VerifiedCredential("bearer", "0" * 32)
_BAD_KEYS = tuple(
    VerifiedCredential("api_key", problem=problem)
    for problem in ("missing_key", "timestamp", "stale", "signature")
)


class CallIdentity(NamedTuple):
    """The credentials of a call, and the participant that it is made for."""

    credential: VerifiedCredential
    participant: str | None


class Callers:
    """Draws the callers of one episode. `tokens` are the fingerprints of tokens issued in it."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.tokens: list[VerifiedCredential] = []

    def on(self, choices: RandomStream, operation: Operation, plane: Plane | None) -> CallIdentity:
        """Return a caller of an operation on a plane; None is gRPC."""
        kind = operation.credential_on(plane)
        if kind == "api_key":
            return self.retail(choices)
        return self.firm(choices) if kind == "bearer" else CallIdentity(NOBODY, None)

    def retail(self, choices: RandomStream) -> CallIdentity:
        """Return a retail user, sometimes with a bad key."""
        keys = self._simulation.exchange.firms.api_keys()
        if not keys or choices.chance(1, 20):
            return CallIdentity(choices.choice((NOBODY, *_BAD_KEYS)), None)
        few = keys[: choices.choice((2, 2, len(keys)))]
        return CallIdentity(VerifiedCredential(SCRIPT, choices.choice(few).key_id), None)

    def firm(self, choices: RandomStream) -> CallIdentity:
        """Return a firm, usually for one of its participants."""
        firms = [firm for firm in self._simulation.exchange.firms.all() if firm.client_id]
        if not firms or choices.chance(1, 20):
            return CallIdentity(choices.choice((NOBODY, _BAD_TOKEN)), None)
        firm = choices.choice((*firms[:1] * 6, *firms[:2] * 2, *firms))
        credential = VerifiedCredential(SCRIPT, firm.name)
        if self.tokens and choices.chance(1, 6):
            credential = choices.choice(self.tokens)
        users = [user.name for user in firm.users]
        if not users or choices.chance(1, 8):
            return CallIdentity(credential, None)
        few = users[: choices.choice((2, 2, len(users)))]
        if choices.chance(1, 30):
            few = ["firms/nobody/users/x"]
        return CallIdentity(credential, choices.choice(few))
