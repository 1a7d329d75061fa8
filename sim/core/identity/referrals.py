"""Referral codes of partner firms. Their uses are counted from verifications, not stored."""

from __future__ import annotations

from msgspec import Struct, field

from sim.core.model.refusals import AlreadyExists, InvalidRequest
from sim.core.model.stateful import Stateful


class Referral(Struct, frozen=True, kw_only=True):
    """A code, its firm, and its owner under the firm's id for the person.

    `category` may be None.
    """

    code: str
    user: str
    firm: str
    category: str | None = None


class ReferralsState(Struct):
    """The codes of each firm, oldest first."""

    codes: dict[str, dict[str, Referral]] = field(default_factory=dict)


class Referrals(Stateful[ReferralsState]):
    """All referral codes. A code belongs to one firm; another firm may use the same text."""

    def __init__(self) -> None:
        self._state = ReferralsState()

    def create(self, referral: Referral) -> None:
        """Register a code. Refuses one without text or owner, and one that the firm already has."""
        required = {"user_id": referral.user, "referral_code": referral.code}
        if missing := ", ".join(name for name, text in required.items() if not text.strip()):
            remedy = "send the owner and the text of the code"
            raise InvalidRequest(f"{missing} must not be empty", remedy=remedy)
        mine = self._state.codes.setdefault(referral.firm, {})
        if referral.code in mine:
            raise AlreadyExists(
                f"referral code {referral.code} already exists", remedy="choose another text"
            )
        mine[referral.code] = referral

    def of(self, firm: str) -> dict[str, Referral]:
        """Return a firm's codes by their text, oldest first."""
        return self._state.codes.get(firm, {})
