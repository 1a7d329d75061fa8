"""Stages of a verification, their status for the firm, and the triggers that decide its outcome:
approved, rejected or reviewed (rules K4, K5).

| Stage | What ends it |
|---|---|
| document | an upload, a failed upload, or a decision of the control plane |
| uploaded | `kyc.document_delay`, or a decision |
| review | one or two business days (`kyc.review_outcome`), or a decision |
| resubmit | a new start by the firm |
| provisioning | a delay of 500 ms to 26 minutes (`kyc.provision_delay`) |
| tradable, rejected | nothing; the firm receives a webhook |
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from sim.core.identity.kyc_application import KycApplication


class Stage(StrEnum):
    """The stage of a case."""

    DOCUMENT = "document"
    UPLOADED = "uploaded"
    REVIEW = "review"
    RESUBMIT = "resubmit"
    PROVISIONING = "provisioning"
    TRADABLE = "tradable"
    REJECTED = "rejected"


# Stage → (decision, status, sub-status) as the firm sees them. Assumptions may replace the status
# of PROVISIONING and the sub-status of DOCUMENT (`kyc.py`).
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

# Decisions of the control plane about a waiting case, with the stage that follows.
DECISIONS: dict[str, Stage] = {
    "approve": Stage.PROVISIONING,
    "reject": Stage.REJECTED,
    "review": Stage.REVIEW,
    "resubmit": Stage.RESUBMIT,
}


class Trigger(NamedTuple):
    """A person whose verification has a fixed outcome.

    `field` is date_of_birth, email or name (first and last, in lower case). `documents` restricts
    the trigger to applications with docv_eligible.
    """

    field: str
    value: str
    documents: bool
    first: Stage
    after_document: Stage


# The triggers of the public sandbox. The first match decides; anybody else is approved at once.
# Without docv_eligible, a case that needs a document goes to manual review instead (rule K4).
TRIGGERS: tuple[Trigger, ...] = (
    Trigger("date_of_birth", "1985-09-02", False, Stage.DOCUMENT, Stage.PROVISIONING),
    Trigger("date_of_birth", "1985-09-05", False, Stage.DOCUMENT, Stage.REJECTED),
    Trigger("date_of_birth", "1985-09-25", False, Stage.DOCUMENT, Stage.REVIEW),
    Trigger("date_of_birth", "1985-10-02", True, Stage.PROVISIONING, Stage.PROVISIONING),
    Trigger("date_of_birth", "1985-09-04", True, Stage.REJECTED, Stage.REJECTED),
    Trigger("email", "reject@example.com", False, Stage.REJECTED, Stage.REJECTED),
    Trigger("name", "paulina gizela", False, Stage.DOCUMENT, Stage.PROVISIONING),
)
# The other values of `kyc.outcome_rules` apply to everybody: first stage, stage after a document.
_FORCED: dict[str, tuple[Stage, Stage]] = {
    "approve": (Stage.PROVISIONING, Stage.PROVISIONING),
    "document": (Stage.DOCUMENT, Stage.PROVISIONING),
    "review": (Stage.REVIEW, Stage.PROVISIONING),
    "reject": (Stage.REJECTED, Stage.REJECTED),
}


def outcome(application: KycApplication, rules: str) -> tuple[Stage, Stage]:
    """Return (first stage, stage after a document) according to
    the assumption `kyc.outcome_rules`.
    """
    first, after = _FORCED.get(rules) or _by_trigger(application)
    if first is Stage.DOCUMENT and not application.docv_eligible:
        return Stage.REVIEW, after
    return first, after


def _by_trigger(application: KycApplication) -> tuple[Stage, Stage]:
    person = {
        "date_of_birth": application.date_of_birth,
        "email": application.email.lower(),
        "name": f"{application.first_name} {application.last_name}".lower(),
    }
    for trigger in TRIGGERS:
        if person[trigger.field] == trigger.value:
            if application.docv_eligible or not trigger.documents:
                return trigger.first, trigger.after_document
    return Stage.PROVISIONING, Stage.PROVISIONING
