"""Stages of a verification, how each is shown, and which person ends up where (rules K4, K5)."""

from __future__ import annotations

from enum import StrEnum

from sim.core.identity.kyc_application import KycApplication


class Stage(StrEnum):
    """Where a case stands. `STAGES` says how each is shown."""

    DOCUMENT = "document"
    UPLOADED = "uploaded"
    REVIEW = "review"
    RESUBMIT = "resubmit"
    PROVISIONING = "provisioning"
    TRADABLE = "tradable"
    REJECTED = "rejected"


# stage → (decision, status, sub-status) on the wire (§5 of the behaviour rules). Two texts are
# assumptions, see `kyc.py`.
STAGES: dict[Stage, tuple[str, str, str]] = {
    Stage.DOCUMENT: ("REVIEW", "ON_HOLD", "docv_required"),
    Stage.UPLOADED: ("REVIEW", "ON_HOLD", "pending"),
    Stage.REVIEW: ("REVIEW", "OPEN", "In Review"),
    Stage.RESUBMIT: ("RESUBMIT", "OPEN", "Resubmit"),
    Stage.PROVISIONING: ("ACCEPT", "CLOSED", "Accept"),
    Stage.TRADABLE: ("ACCEPT", "CLOSED", "Accept"),
    Stage.REJECTED: ("REJECT", "CLOSED", "Reject"),
}
NOT_STARTED = ("", "NOT_STARTED", "")
WAITING = (Stage.DOCUMENT, Stage.UPLOADED, Stage.REVIEW)

# What the control plane may decide about a waiting case.
DECISIONS: dict[str, Stage] = {
    "approve": Stage.PROVISIONING,
    "reject": Stage.REJECTED,
    "review": Stage.REVIEW,
    "resubmit": Stage.RESUBMIT,
}

# Public sandbox triggers by date of birth: (first stage, stage after a document).
_BY_BIRTH: dict[str, tuple[Stage, Stage]] = {
    "1985-09-02": (Stage.DOCUMENT, Stage.PROVISIONING),
    "1985-09-05": (Stage.DOCUMENT, Stage.REJECTED),
    "1985-09-25": (Stage.DOCUMENT, Stage.REVIEW),
}
_BY_BIRTH_WITH_DOCUMENTS: dict[str, tuple[Stage, Stage]] = {
    "1985-10-02": (Stage.PROVISIONING, Stage.PROVISIONING),
    "1985-09-04": (Stage.REJECTED, Stage.REJECTED),
}
_FORCED: dict[str, tuple[Stage, Stage]] = {
    "approve": (Stage.PROVISIONING, Stage.PROVISIONING),
    "document": (Stage.DOCUMENT, Stage.PROVISIONING),
    "review": (Stage.REVIEW, Stage.PROVISIONING),
    "reject": (Stage.REJECTED, Stage.REJECTED),
}


def outcome(application: KycApplication, rules: str) -> tuple[Stage, Stage]:
    """(first stage, stage after a document) by the assumption `kyc.outcome_rules`.

    A case that needs a document goes to manual review unless documents are welcome (rule K4).
    """
    first, after = _FORCED.get(rules) or _triggered(application)
    if first is Stage.DOCUMENT and not application.docv_eligible:
        return Stage.REVIEW, after
    return first, after


def _triggered(application: KycApplication) -> tuple[Stage, Stage]:
    by_birth = _BY_BIRTH.get(application.date_of_birth)
    if by_birth is None and application.docv_eligible:
        by_birth = _BY_BIRTH_WITH_DOCUMENTS.get(application.date_of_birth)
    if by_birth is not None:
        return by_birth
    if application.email.lower() == "reject@example.com":
        return Stage.REJECTED, Stage.REJECTED
    if (application.first_name.lower(), application.last_name.lower()) == ("paulina", "gizela"):
        return Stage.DOCUMENT, Stage.PROVISIONING
    return Stage.PROVISIONING, Stage.PROVISIONING
