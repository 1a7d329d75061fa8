"""Why a webhook arrived, arrived twice, late or never: every attempt of an event with its cause and
answer, and what happens to the event next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.core.catalogue.assumptions import (
    WEBHOOK_ATTEMPTS,
    WEBHOOK_BREAKER_BUFFERS,
    WEBHOOK_BREAKER_COOLDOWN,
    WEBHOOK_BREAKER_THRESHOLD,
    WEBHOOK_RETRY_FIRST,
    WEBHOOK_RETRY_LONGEST,
    WEBHOOK_TIMEOUT,
)
from sim.core.catalogue.quirks import WEBHOOK_DUPLICATES
from sim.core.webhooks.payloads import TEST, shown_url
from sim.core.webhooks.records import DeliveryRecord
from sim.kernel.instants import format_instant
from sim.read.explain.causes import Basis, Cause, JournalStep, Verdict, due_of, steps
from sim.read.explain.faults import strikes_of

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_RAISED = Basis("K9", "6.1")
_FIRST = Basis("K10", "6.1")
_RETRY = Basis("K11", "6.1", WEBHOOK_ATTEMPTS, WEBHOOK_RETRY_FIRST, WEBHOOK_RETRY_LONGEST)
_DUPLICATE = Basis("K13", "6.1", quirk=WEBHOOK_DUPLICATES)
_ANSWER = Basis("K11", "6.1", WEBHOOK_TIMEOUT)
_BREAKER = Basis(
    "K12", "6.1", WEBHOOK_BREAKER_THRESHOLD, WEBHOOK_BREAKER_COOLDOWN, WEBHOOK_BREAKER_BUFFERS
)
_REDELIVER = "POST /_sim/v1/webhooks/{firm}/redeliver sends it again"
_ANSWER_SOON = "answer 2xx at once and work afterwards"


def explain_delivery(sim: Simulation, event_id: str) -> dict[str, Any] | None:
    """Explain a webhook event by its event id; None if there was no attempt to send one."""
    records = [one for one in sim.exchange.webhooks.deliveries() if one.event_id == event_id]
    if not records:
        return None
    first = records[0]
    state, verdict = _verdict(sim, event_id, records)
    return {
        "subject": f"webhook/{event_id}",
        "kind": "delivery",
        "state": state,
        "type": first.type,
        "firm": first.firm,
        "url": records[-1].url,
        "external_id": _external_id(sim, event_id),
        "attempts": sum(1 for record in records if record.attempt),
        "summary": verdict.summary,
        "remedy": verdict.remedy.replace("{firm}", first.firm.removeprefix("firms/")),
        "retry": verdict.retry,
        "chain": list(_chain(sim, event_id, records)),
    }


def deliveries_about(sim: Simulation, firm: str, external_id: str) -> list[dict[str, str]]:
    """Return the events about a firm's verification, oldest first: id, type and state."""
    events: dict[str, list[DeliveryRecord]] = {}
    for record in sim.exchange.webhooks.deliveries():
        if record.firm == firm and _external_id(sim, record.event_id) == external_id:
            events.setdefault(record.event_id, []).append(record)
    return [
        {"event_id": name, "type": records[0].type, "state": _verdict(sim, name, records)[0]}
        for name, records in events.items()
    ]


def _external_id(sim: Simulation, event_id: str) -> str:
    """Return the external id of the verification that an event is about."""
    body = json.decode(sim.exchange.webhooks.body_of(event_id) or b"{}")
    return str(body.get("external_id") or body.get("data", {}).get("external_id", ""))


def _verdict(sim: Simulation, event_id: str, records: list[DeliveryRecord]) -> tuple[str, Verdict]:
    """Return the state of an event with its verdict.

    `retry` says whether the exchange tries again.
    """
    last = records[-1]
    statuses = [record.status for record in records if record.outcome == "delivered"]
    webhooks = sim.exchange.webhooks.save()
    pending = [one.id for one in webhooks.deliveries.values() if one.event_id == event_id]
    if statuses:
        times = len(statuses)
        again = f", {times} times: deduplicate by event_id" if times > 1 else ""
        return "DELIVERED", Verdict(f"acknowledged with {statuses[0]}{again}", "nothing is wrong")
    if last.outcome == "in_flight":
        summary = "the receiver has not answered yet"
        return "IN_FLIGHT", Verdict(summary, _ANSWER_SOON, retry=bool(pending))
    breaker = webhooks.breakers.get(last.firm)
    if breaker is not None and not set(pending).isdisjoint(breaker.parked):
        summary = f"the firm's circuit breaker is open until {format_instant(breaker.until)}"
        return "PARKED", Verdict(summary, f"make the receiver answer 2xx; {_REDELIVER}", retry=True)
    if pending:
        dues = [due_of(sim, "webhook.due", name) for name in pending]
        due = min((one for one in dues if one is not None), default=None)
        when = "" if due is None else f" at {format_instant(due)}"
        summary = f"{_answer(last)}; the next attempt comes{when}"
        return "RETRYING", Verdict(summary, _ANSWER_SOON, retry=True)
    if all(record.outcome == "lost" for record in records):
        return "LOST", Verdict(f"it was never sent: {last.error}", _REDELIVER)
    if last.type == TEST:
        remedy = "register again with a receiver that answers 2xx"
        return "FAILED", Verdict(f"{_answer(last)}, so the URL was not saved", remedy)
    summary = f"{_answer(last)}, and that was the last of {last.attempt} attempts"
    return "GIVEN_UP", Verdict(summary, _REDELIVER)


def _answer(record: DeliveryRecord) -> str:
    if record.status and not record.error:
        return f"the receiver answered {record.status}"
    return record.error or "nobody answered"


def _chain(sim: Simulation, event_id: str, records: list[DeliveryRecord]) -> Iterator[Cause]:
    """Yield what raised the event, then each attempt and each answer, oldest first.

    A webhook in the journal names its attempt: "a7 <event id> <url> <checksum>".
    """
    firm, person = records[0].firm, _external_id(sim, event_id)
    log = sim.exchange.webhooks.save().log
    attempts = [name for name, one in log.items() if one.event_id == event_id and one.attempt]
    numbers = {name: number for number, name in enumerate(attempts, start=1)}
    needles = [event_id, '"type":"answer"', '"webhook.timeout"']
    if person:
        needles.append(json.encode(person).decode()[1:-1])
    for step in steps(sim, *needles):
        for event in step.events_of("KycDecided", firm=firm, external_id=person):
            decision = "approved" if event["approved"] else "rejected"
            what = f"{firm} is to be notified: {person} was {decision}"
            yield step.cause(what, _RAISED, event["at"])
            for one in records:
                if one.outcome == "lost" and not one.fault and one.at == event["at"]:
                    yield step.cause(f"it was not sent: {one.error}", _BREAKER, one.at)
        yield from strikes_of(step, subject=event_id)
        for post in step.out.get("posts", ()):
            name, subject, url, _ = post.split(" ")
            if subject == event_id and name in numbers:
                yield _attempt(step, numbers[name], url, log[name])
        yield from _answers(step, numbers)


def _answers(step: JournalStep, attempts: dict[str, int]) -> Iterator[Cause]:
    """Yield the results of attempts in a step: an answer, an error, or a timeout."""
    if step.input["type"] == "answer" and step.input["attempt"] in attempts:
        status = step.input.get("status")
        outcome = (
            f"answered {status}" if status else f"did not answer: {step.input.get('error', '')}"
        )
        number = attempts[step.input["attempt"]]
        yield step.cause(f"attempt {number}: the receiver {outcome}", _ANSWER)
    for timer in step.timers:
        if timer["timer"] == "webhook.timeout" and timer["subject"] in attempts:
            what = f"attempt {attempts[timer['subject']]}: the receiver did not answer in time"
            yield step.cause(what, _ANSWER, timer["at"])


def _attempt(step: JournalStep, number: int, url: str, record: DeliveryRecord) -> Cause:
    at = max((timer["at"] for timer in step.timers), default=step.at)
    what = f"attempt {number} was sent to {shown_url(url)}"
    if number == 1:
        return step.cause(what, _FIRST, at)
    if step.input.get("action") == "webhook.redeliver":
        return step.cause(f"{what}, on an operator's request", _DUPLICATE, at)
    if record.attempt == 1:
        what += ", though no attempt had failed: deliveries are at least once"
        return step.cause(what, _DUPLICATE, at)
    return step.cause(f"{what}, because the one before was not acknowledged", _RETRY, at)
