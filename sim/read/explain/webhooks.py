"""Why a webhook arrived, arrived twice, late or never: every attempt of an event with its cause and
answer, and what happens to the event next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.core.model.events import FaultInjected, KycDecided, RuleApplied
from sim.core.webhooks.payloads import TEST, shown_url
from sim.core.webhooks.records import DeliveryRecord
from sim.kernel.instants import format_instant
from sim.read.explain.causes import Cause, JournalStep, Status, due_of, steps
from sim.read.explain.faults import strikes_of
from sim.read.record import facts_of
from sim.run.simulation import Simulation

_REDELIVER = "POST /_sim/v1/webhooks/{firm}/redeliver sends it again"
_ANSWER_SOON = "answer 2xx at once and work afterwards"


def explain_delivery(sim: Simulation, event_id: str) -> dict[str, Any] | None:
    """Explain a webhook event by its event id; None if there was no attempt to send one."""
    deliveries = sim.exchange.webhooks.deliveries()
    records = [record for record in deliveries if record.event_id == event_id]
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


def _verdict(sim: Simulation, event_id: str, records: list[DeliveryRecord]) -> tuple[str, Status]:
    """Return the state of an event with its verdict.

    `retry` says whether the exchange tries again.
    """
    last = records[-1]
    statuses = [record.status for record in records if record.outcome == "delivered"]
    webhooks = sim.exchange.webhooks.save()
    pending = [
        delivery.id for delivery in webhooks.deliveries.values() if delivery.event_id == event_id
    ]
    if statuses:
        times = len(statuses)
        again = f", {times} times: deduplicate by event_id" if times > 1 else ""
        return "DELIVERED", Status(f"acknowledged with {statuses[0]}{again}", "nothing is wrong")
    if last.outcome == "in_flight":
        summary = "the receiver has not answered yet"
        return "IN_FLIGHT", Status(summary, _ANSWER_SOON, retry=bool(pending))
    breaker = webhooks.breakers.get(last.firm)
    if breaker is not None and not set(pending).isdisjoint(breaker.parked):
        summary = f"the firm's circuit breaker is open until {format_instant(breaker.until)}"
        return "PARKED", Status(summary, f"make the receiver answer 2xx; {_REDELIVER}", retry=True)
    if pending:
        dues = [due_of(sim, "webhook.due", name) for name in pending]
        due = min((due for due in dues if due is not None), default=None)
        when = "" if due is None else f" at {format_instant(due)}"
        summary = f"{_answer(last)}; the next attempt comes{when}"
        return "RETRYING", Status(summary, _ANSWER_SOON, retry=True)
    if all(record.outcome == "lost" for record in records):
        return "LOST", Status(f"it was never sent: {last.error}", _REDELIVER)
    if last.type == TEST:
        remedy = "register again with a receiver that answers 2xx"
        return "FAILED", Status(f"{_answer(last)}, so the URL was not saved", remedy)
    summary = f"{_answer(last)}, and that was the last of {last.attempt} attempts"
    return "GIVEN_UP", Status(summary, _REDELIVER)


def _answer(record: DeliveryRecord) -> str:
    if record.status and not record.error:
        return f"the receiver answered {record.status}"
    return record.error or "nobody answered"


def _chain(sim: Simulation, event_id: str, records: list[DeliveryRecord]) -> Iterator[Cause]:
    """Yield what raised the event, then each attempt and each answer, oldest first.

    The journal reports a decision about the event under `webhook/<event id>`, and one about an
    attempt under `attempt/<name>`.
    """
    firm, person = records[0].firm, _external_id(sim, event_id)
    log = sim.exchange.webhooks.save().log
    numbers: dict[str, int] = {}  # attempts in order, by name
    needles = [event_id, '"subject":"attempt/']
    if person:
        needles.append(json.encode(person).decode()[1:-1])
    for step in steps(sim, *needles):
        for event in step.events:
            if isinstance(event, KycDecided):
                if (event.firm, event.external_id) == (firm, person):
                    decision = "approved" if event.approved else "rejected"
                    sentence = f"{firm} is to be notified: {person} was {decision}"
                    yield step.cause(sentence, event.at)
            elif isinstance(event, FaultInjected):
                if event.subject == event_id:
                    yield from strikes_of(step, subject=event_id)
            elif not isinstance(event, RuleApplied):
                continue
            elif event.subject == f"webhook/{event_id}":
                yield _attempt(step, event, numbers, log, records)
            elif (name := event.subject.removeprefix("attempt/")) in numbers:
                number, answer = numbers[name], facts_of(event)["answer"]
                verb = "answered" if isinstance(answer, int) else "did not answer:"
                yield step.decision(f"attempt {number}: the receiver {verb} {answer}", event)


def _attempt(
    step: JournalStep,
    event: RuleApplied,
    numbers: dict[str, int],
    log: dict[str, DeliveryRecord],
    records: list[DeliveryRecord],
) -> Cause:
    """Return an attempt, or the loss of the event before any attempt."""
    facts = facts_of(event)
    if "attempt" not in facts:
        lost = next(record for record in records if record.outcome == "lost")
        return step.decision(f"it was not sent: {lost.error}", event)
    name = str(facts["attempt"])
    number = numbers[name] = len(numbers) + 1
    url = shown_url(log[name].url) if name in log else "its URL"
    sentence = f"attempt {number} was sent to {url}"
    if event.rule == "K11":
        sentence += ", because the one before was not acknowledged"
    elif step.action == "webhook.redeliver":
        sentence += ", on an operator's request"
    elif event.rule == "K13":
        sentence += ", though no attempt had failed: deliveries are at least once"
    return step.decision(sentence, event)
