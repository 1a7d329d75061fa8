"""Rules about verification and webhooks (§3.5, §6.1, §7.2)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.rules import rule

_START, _STATUS = "StartKYCVerification", "GetKYCStatus"


@rule("7.2", applies_to="the start of a verification whose SSN belongs to somebody else")
def ssn_conflict_is_a_stop(run: ClientActivity) -> Iterator[Finding]:
    """Treat 'already provisioned with a different SSN' as a stop, not a retry."""
    stopped: dict[tuple[str, str], Call] = {}
    again = "started again, although the SSN belongs to somebody else: that is a stop, not a retry"
    for call in run.calls:
        if call.rpc != _START or call.request is None:
            continue
        person = call.request.external_id
        before = stopped.get((call.caller, person))
        if before is not None:
            yield call.finding(f"start of {person}", again, before)
        elif call.rule == "K6":
            stopped[call.caller, person] = call
            yield call.finding(f"start of {person}")


@rule("3.5", applies_to="the start of a verification")
def poll_kyc_status(run: ClientActivity) -> Iterator[Finding]:
    """Poll the status of a verification that is in progress instead of starting it again."""
    begun: dict[tuple[str, str], Call] = {}
    again = "started again while it was in progress: poll GET /v1/kyc/status instead"
    for call in run.calls:
        if call.rpc not in (_START, _STATUS) or call.request is None:
            continue
        person = call.request.external_id
        before = begun.get((call.caller, person))
        if "RESUBMIT" in str(call.body.get("decision", "")):
            begun.pop((call.caller, person), None)  # the service asked to start again
        elif call.rpc == _START and before is not None:
            yield call.finding(f"start of {person}", again, before)
        elif call.rpc == _START and call.status == 200:
            begun[call.caller, person] = call
            yield call.finding(f"start of {person}")


@rule("6.1", applies_to="a webhook that is delivered to the client")
def webhooks_acknowledged(run: ClientActivity) -> Iterator[Finding]:
    """Acknowledge webhooks with 2xx at once and work afterwards."""
    for answer in run.answers:
        status, error = answer.answered.status, answer.answered.error
        broken = f"answered {status or error}, only 2xx acknowledges"
        if error == "timeout":
            broken = "answered too late: acknowledge first and work afterwards"
        yield answer.finding("" if answer.acknowledged else broken)


@rule("6.1", applies_to="a webhook that is delivered again after it was acknowledged")
def duplicates_acknowledged(run: ClientActivity) -> Iterator[Finding]:
    """Acknowledge duplicates of an event with 2xx too."""
    done: dict[tuple[str, str], int] = {}
    refused = "a duplicate of an acknowledged event was not acknowledged: the sender will repeat it"
    for answer in run.answers:
        key = answer.sent.url, answer.sent.event_id
        if key in done:
            yield answer.finding("" if answer.acknowledged else refused, done[key])
        elif answer.acknowledged:
            done[key] = answer.seq
