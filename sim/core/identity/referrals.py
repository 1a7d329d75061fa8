"""Referral codes of partner firms. Uses are counted from the verifications, not stored."""

from __future__ import annotations

from msgspec import Struct, convert, field

from sim.core.model.refusals import AlreadyExists, InvalidRequest


class Referral(Struct, frozen=True, kw_only=True):
    """A code, its firm, and its owner by the firm's name for the person. `category` is None for
    none.
    """

    code: str
    user: str
    firm: str
    category: str | None = None


class ReferralsState(Struct):
    """Codes of each firm, oldest first."""

    codes: dict[str, dict[str, Referral]] = field(default_factory=dict)


class Referrals:
    """All referral codes. A code belongs to one firm; another firm may use the same text for its
    own.
    """

    def __init__(self) -> None:
        self._state = ReferralsState()

    def create(self, referral: Referral) -> None:
        """Make a code known. InvalidRequest without code or owner, AlreadyExists when the firm has
        the code.
        """
        missing = [
            name
            for name, value in (("user_id", referral.user), ("referral_code", referral.code))
            if not value.strip()
        ]
        if missing:
            raise InvalidRequest(
                f"{', '.join(missing)} must not be empty",
                remedy="send the owner and the text of the code",
            )
        mine = self._state.codes.setdefault(referral.firm, {})
        if referral.code in mine:
            raise AlreadyExists(
                f"referral code {referral.code} already exists", remedy="choose another text"
            )
        mine[referral.code] = referral

    def of(self, firm: str) -> dict[str, Referral]:
        """A firm's codes by their text, oldest first."""
        return self._state.codes.get(firm, {})

    def save(self) -> ReferralsState:
        """Every code."""
        return self._state

    def load(self, state: object) -> None:
        """Take saved codes."""
        self._state = convert(state, ReferralsState)
