"""Prefill of a verification: a one-time code is sent to a phone, and whoever submits it receives
the personal data of the phone's owner.

The sandbox sends no message. It knows one person, one valid code and two failing codes, those of
the public documentation.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from sim.core.catalogue.assumptions import (
    KYC_PREFILL_ATTEMPTS,
    KYC_PREFILL_CODE_LIFE,
    KYC_PREFILL_MATCH,
)
from sim.core.identity.kyc_application import KycAddress
from sim.core.model.context import Context
from sim.core.model.refusals import Conflict, NotFound, cut
from sim.core.model.stateful import Stateful
from sim.kernel.instants import Instant


class CodeEffect(StrEnum):
    """Effect of a submitted code."""

    GOOD = "good"
    UNDECIDED = "undecided"
    BAD = "bad"


# Any other code is bad as well.
CODES = {"123456": CodeEffect.GOOD, "000000": CodeEffect.UNDECIDED, "00000": CodeEffect.BAD}
MATCHING = ("14155551212", "1985-03-30")


class PrefillStage(StrEnum):
    """State of a prefill."""

    SENT = "otp_sent"
    PENDING = "otp_pending"
    REJECTED = "otp_rejected"
    NO_MATCH = "no_match"
    COMPLETE = "prefill_complete"


DECISIONS = {
    PrefillStage.SENT: "pending",
    PrefillStage.PENDING: "pending",
    PrefillStage.REJECTED: "reject",
    PrefillStage.NO_MATCH: "reject",
    PrefillStage.COMPLETE: "accept",
}


class SandboxPerson(Struct, frozen=True, kw_only=True):
    """The fictitious person of the sandbox, with the phone number and birthday of the request."""

    first_name: str = "Robin"
    middle_name: str = "Q"
    last_name: str = "Sandbox"
    email: str = "robin.sandbox@example.com"
    ssn_last_four: str = "6789"
    address: KycAddress = KycAddress(
        address_line_1="1 Test Street",
        city="San Francisco",
        state="CA",
        postal_code="94105",
        country="US",
    )


class Prefill(Struct):
    """One prefill. `failed` counts wrong codes since the last code was sent, at `sent`."""

    firm: str
    external_id: str
    phone: str
    date_of_birth: str
    sent: Instant
    stage: PrefillStage = PrefillStage.SENT
    failed: int = 0


class PrefillState(Struct):
    """Prefills by "firm|external id"."""

    prefills: dict[str, Prefill] = field(default_factory=dict)


class Prefills(Stateful[PrefillState]):
    """All prefills. Starting one again sends a new code, which replaces the old one."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = PrefillState()

    def start(self, firm: str, external_id: str, phone: str, date_of_birth: str) -> Prefill:
        """Send a code."""
        prefill = Prefill(firm, external_id, phone, date_of_birth, self._ctx.now)
        self._state.prefills[f"{firm}|{external_id}"] = prefill
        return prefill

    def submit(self, firm: str, external_id: str, code: CodeEffect) -> Prefill:
        """Check a code.

        Refused as not found if no prefill was started, and as Conflict if the code was used, has
        expired or failed too often.
        """
        prefill = self._state.prefills.get(f"{firm}|{external_id}")
        if prefill is None:
            raise NotFound(
                f"no prefill started for {cut(external_id)}", remedy="POST /v1/kyc/prefill first"
            )
        assumptions = self._ctx.assumptions
        again = "POST /v1/kyc/prefill sends a new code"
        if prefill.stage in (PrefillStage.COMPLETE, PrefillStage.NO_MATCH):
            raise Conflict("the code has been used", rule="K14", remedy=again)
        if prefill.failed >= assumptions.number(KYC_PREFILL_ATTEMPTS):
            raise Conflict("too many wrong codes", rule="K14", remedy=again)
        if self._ctx.now >= prefill.sent + assumptions.number(KYC_PREFILL_CODE_LIFE):
            raise Conflict("the code has expired", rule="K14", remedy=again)
        if code is CodeEffect.BAD:
            prefill.failed += 1
            prefill.stage = PrefillStage.REJECTED
        elif code is CodeEffect.UNDECIDED:
            prefill.stage = PrefillStage.PENDING
        else:
            prefill.stage = (
                PrefillStage.COMPLETE if self._matches(prefill) else PrefillStage.NO_MATCH
            )
        return prefill

    def _matches(self, prefill: Prefill) -> bool:
        rule = self._ctx.assumptions.text(KYC_PREFILL_MATCH)
        matches = (prefill.phone.removeprefix("+"), prefill.date_of_birth) == MATCHING
        return rule == "always" or (rule == "sandbox" and matches)
