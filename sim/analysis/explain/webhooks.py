"""Why a webhook arrived, arrived twice, late or never: every attempt of an event with its cause and
answer, and what becomes of it next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.analysis.explain.causes import (
    Basis,
    Cause,
    JournalStep,
    cause_of,
    due_of,
    fault_document,
    steps,
)
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
from sim.core.webhooks.payloads import TEST
from sim.core.webhooks.records import DeliveryRecord
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.simulation import Simulation

_RAISED = Basis("K9", "6.1")
_FIRST = Basis("K10", "6.1")
_RETRY = Basis(
    "K11", "6.1", (WEBHOOK_ATTEMPTS.name, WEBHOOK_RETRY_FIRST.name, WEBHOOK_RETRY_LONGEST.name)
)
_AGAIN = Basis("K13", "6.1", (), WEBHOOK_DUPLICATES.name)
_ANSWER = Basis("K11", "6.1", (WEBHOOK_TIMEOUT.name,))
_BREAKER = Basis(
    "K12",
    "6.1",
    (WEBHOOK_BREAKER_THRESHOLD.name, WEBHOOK_BREAKER_COOLDOWN.name, WEBHOOK_BREAKER_BUFFERS.name),
)
_AGAIN_BY_HAND = "POST /_sim/v1/webhooks/{firm}/redeliver sends it again"


def explain_delivery(sim: Simulation, event_id: str) -> dict[str, Any] | None:
    """The explanation of a webhook event by its event id; None when none was ever sent or lost
    under it.
    """
    records = [
        record for record in sim.exchange.webhooks.deliveries() if record.event_id == event_id
    ]
    if not records:
        return None
    first = records[0]
    state, summary, remedy, retry = _standing(sim, event_id, records)
    return {
        "subject": f"webhook/{event_id}",
        "kind": "delivery",
        "state": state,
        "type": first.type,
        "firm": first.firm,
        "url": records[-1].url,
        "external_id": _about(sim, event_id),
        "attempts": sum(1 for record in records if record.attempt),
        "summary": summary,
        "remedy": remedy.replace("{firm}", first.firm.removeprefix("firms/")),
        "retry": retry,
        "chain": list(_chain(sim, event_id, records)),
    }


def deliveries_about(sim: Simulation, firm: str, external_id: str) -> list[dict[str, str]]:
    """Events that told a firm of a verification, oldest first: id, type and how each stands."""
    events: dict[str, list[DeliveryRecord]] = {}
    for record in sim.exchange.webhooks.deliveries():
        if record.firm == firm and _about(sim, record.event_id) == external_id:
            events.setdefault(record.event_id, []).append(record)
    return [
        {"event_id": name, "type": records[0].type, "state": _standing(sim, name, records)[0]}
        for name, records in events.items()
    ]


def _about(sim: Simulation, event_id: str) -> str:
    body = json.decode(sim.exchange.webhooks.body_of(event_id) or b"{}")
    return str(body.get("external_id") or body.get("data", {}).get("external_id", ""))


def _standing(
    sim: Simulation, event_id: str, records: list[DeliveryRecord]
) -> tuple[str, str, str, bool]:
    """(state, sentence, what helps, whether the exchange tries again by itself)."""
    last = records[-1]
    delivered = [record for record in records if record.outcome == "delivered"]
    webhooks = sim.exchange.webhooks.save()
    under_way = [
        delivery for delivery in webhooks.deliveries.values() if delivery.event_id == event_id
    ]
    if delivered:
        again = f", {len(delivered)} times: deduplicate by event_id" if len(delivered) > 1 else ""
        return (
            "DELIVERED",
            f"acknowledged with {delivered[0].status}{again}",
            "nothing is wrong",
            False,
        )
    if last.outcome == "in_flight":
        return (
            "IN_FLIGHT",
            "the receiver has not answered yet",
            "answer 2xx at once and work afterwards",
            bool(under_way),
        )
    breaker = webhooks.breakers.get(last.firm)
    if breaker is not None and any(delivery.id in breaker.parked for delivery in under_way):
        until = format_instant(breaker.until)
        return (
            "PARKED",
            f"the firm's circuit breaker is open until {until}",
            f"make the receiver answer 2xx; {_AGAIN_BY_HAND}",
            True,
        )
    if under_way:
        due = [
            moment
            for delivery in under_way
            if (moment := due_of(sim, "webhook.due", delivery.id)) is not None
        ]
        when = f" at {format_instant(min(due))}" if due else ""
        return (
            "RETRYING",
            f"{_said(last)}; the next attempt comes{when}",
            "answer 2xx at once and work afterwards",
            True,
        )
    if all(record.outcome == "lost" for record in records):
        return "LOST", f"it was never sent: {last.error}", _AGAIN_BY_HAND, False
    if last.type == TEST:
        return (
            "FAILED",
            f"{_said(last)}, so the URL was not saved",
            "register again with a receiver that answers 2xx",
            False,
        )
    return (
        "GIVEN_UP",
        f"{_said(last)}, and that was the last of {last.attempt} attempts",
        _AGAIN_BY_HAND,
        False,
    )


def _said(record: DeliveryRecord) -> str:
    return (
        f"the receiver answered {record.status}"
        if record.status and not record.error
        else record.error or "nobody answered"
    )


def _chain(sim: Simulation, event_id: str, records: list[DeliveryRecord]) -> Iterator[Cause]:
    """What raised the event, each attempt, each answer. Attempts are named by the journal's posts:
    "a7 <event id> <url> <checksum>".
    """
    firm, person = records[0].firm, _about(sim, event_id)
    attempts: dict[str, int] = {}
    unsent = [
        record
        for record in records
        if record.outcome == "lost" or record.error.startswith("fault ")
    ]
    needles = [
        event_id,
        '"type":"answer"',
        '"webhook.timeout"',
        *([json.encode(person).decode()[1:-1]] if person else []),
    ]
    for step in steps(sim, *needles):
        at = step.at
        for event in step.events:
            if event["event"] == "KycDecided" and (event["firm"], event["external_id"]) == (
                firm,
                person,
            ):
                yield cause_of(
                    sim,
                    step,
                    f"{firm} is to be told: {person} was"
                    f" {'approved' if event['approved'] else 'rejected'}",
                    _RAISED,
                    event["at"],
                )
                yield from (
                    _unsent(sim, step, record) for record in unsent if record.at == event["at"]
                )
        for post in step.out.get("posts", ()):
            name, subject, url, _ = post.split(" ")
            if subject == event_id:
                record = records[min(len(attempts) + len(unsent), len(records) - 1)]
                attempts[name] = len(attempts) + 1
                at = max((one["at"] for one in step.out.get("fired", ())), default=step.at)
                yield _attempt(sim, step, attempts[name], url, record, at)
        if step.input["type"] == "answer" and step.input["attempt"] in attempts:
            given = step.input
            said = (
                f"answered {given['status']}"
                if given.get("status")
                else f"did not answer: {given.get('error', '')}"
            )
            yield cause_of(
                sim, step, f"attempt {attempts[given['attempt']]}: the receiver {said}", _ANSWER
            )
        for fired in step.out.get("fired", ()):
            if fired["timer"] == "webhook.timeout" and fired["subject"] in attempts:
                yield cause_of(
                    sim,
                    step,
                    f"attempt {attempts[fired['subject']]}: the receiver did not answer in time",
                    _ANSWER,
                    fired["at"],
                )


def _unsent(sim: Simulation, step: JournalStep, record: DeliveryRecord) -> Cause:
    basis = _BREAKER if "breaker" in record.error else Basis(section="6.1")
    cause = cause_of(sim, step, f"an attempt was not made: {record.error}", basis, record.at)
    return cause | fault_document(
        sim, record.error.removeprefix("fault ") if record.error.startswith("fault ") else ""
    )


def _attempt(
    sim: Simulation, step: JournalStep, number: int, url: str, record: DeliveryRecord, at: int
) -> Cause:
    what = f"attempt {number} was sent to {url}"
    if number == 1:
        return cause_of(sim, step, what, _FIRST, at)
    if step.input.get("action") == "webhook.redeliver":
        return cause_of(sim, step, f"{what}, by hand", _AGAIN, at)
    if record.attempt == 1:
        return cause_of(
            sim,
            step,
            f"{what}, though nothing had failed: deliveries are at least once",
            _AGAIN,
            at,
        )
    return cause_of(sim, step, f"{what}, because the one before was not acknowledged", _RETRY, at)
