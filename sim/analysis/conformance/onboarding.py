"""Verification and webhooks (§3.5, §6.1, §7.2)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.analysis.conformance.recorded_run import Call, Run
from sim.analysis.conformance.rules import Finding, Rule

_START, _STATUS = "StartKYCVerification", "GetKYCStatus"


def _starts(run: Run) -> Iterator[tuple[Call, str]]:
    for call in run.calls:
        if call.rpc == _START and call.request is not None:
            yield call, call.request.external_id


def _stop_at_ssn(run: Run) -> Iterator[Finding]:
    stopped: dict[tuple[str, str], Call] = {}
    for call, person in _starts(run):
        before = stopped.get((call.caller, person))
        if before is not None:
            yield call.found(
                f"start of {person}",
                "started again, although the SSN belongs to somebody else: that is a stop, not a"
                " retry",
                before,
            )
        elif call.status in (400, 409) and "different SSN" in call.message:
            stopped[call.caller, person] = call
            yield call.found(f"start of {person}")


def _poll(run: Run) -> Iterator[Finding]:
    begun: dict[tuple[str, str], Call] = {}
    for call in run.calls:
        if call.rpc not in (_START, _STATUS) or call.request is None:
            continue
        person = call.request.external_id
        before = begun.get((call.caller, person))
        if "RESUBMIT" in str(call.body.get("decision", "")):
            begun.pop((call.caller, person), None)  # asked to start again
        elif call.rpc == _START and before is not None:
            yield call.found(
                f"start of {person}",
                "started again while it was under way: poll GET /v1/kyc/status instead",
                before,
            )
        elif call.rpc == _START and call.status == 200:
            begun[call.caller, person] = call
            yield call.found(f"start of {person}")


def _acknowledge(run: Run) -> Iterator[Finding]:
    for answer in run.answers:
        said = str(answer.status) if answer.status else answer.error
        late = (
            "answered too late: acknowledge first and work afterwards"
            if answer.error == "timeout"
            else f"answered {said}, only 2xx acknowledges"
        )
        yield Finding(
            seq=answer.seq,
            at=answer.at,
            caller=answer.url,
            what=f"delivery of {answer.event_id}",
            broken="" if 200 <= answer.status < 300 else late,
        )


def _duplicates(run: Run) -> Iterator[Finding]:
    done: dict[tuple[str, str], int] = {}
    for answer in run.answers:
        key, good = (answer.url, answer.event_id), 200 <= answer.status < 300
        if key in done:
            broken = (
                ""
                if good
                else (
                    "a duplicate of an acknowledged event was not acknowledged: the sender will"
                    " go on"
                )
            )
            yield Finding(
                seq=answer.seq,
                at=answer.at,
                caller=answer.url,
                what=f"delivery of {answer.event_id}",
                broken=broken,
                because_of=done[key],
            )
        elif good:
            done[key] = answer.seq


SSN_STOP = Rule(
    "ssn-conflict-is-a-stop",
    "7.2",
    "Treat 'already provisioned with a different SSN' as a stop, not a retry.",
    _stop_at_ssn,
)
POLL = Rule(
    "poll-kyc-status",
    "3.5",
    "Poll the status of a verification that is under way instead of starting it again.",
    _poll,
)
ACKNOWLEDGE = Rule(
    "webhooks-acknowledged",
    "6.1",
    "Acknowledge webhooks with 2xx at once and work afterwards.",
    _acknowledge,
)
DUPLICATES = Rule(
    "duplicates-acknowledged",
    "6.1",
    "Acknowledge duplicates of an event with 2xx too.",
    _duplicates,
)
