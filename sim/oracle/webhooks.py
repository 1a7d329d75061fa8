"""Webhooks: registrations, signed attempts, retries, the circuit breaker (rules K8-K13; §6.1)."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

from msgspec import json

from sim.kernel.instants import Instant
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.read.observed import ObservedInput

_RETRY_AFTER = (408, 429)


@dataclass
class FirmWebhook:
    """The webhook of a firm, and its circuit breaker. `until` is the end of the pause."""

    registration: tuple[int, str, str] | None = None  # order of request, URL, secret
    breaker: str = "closed"
    failures: int = 0
    openings: int = 0
    until: Instant = 0
    closed_at: Instant = -1
    probe: str = ""  # the attempt that decides what follows a pause
    notices: list[Document] = field(default_factory=list)  # decisions that nobody was sent yet


@dataclass
class OwedEvent:
    """An event on its way to a firm: the attempts so far, and when the next one may be made.

    `due` is None while an attempt is in flight and when it has ended. `decision` is empty if the
    law has not seen what it reports. `twice` is whether two deliveries of it go on side by side.
    """

    firm: str
    decision: Document
    attempts: int = 0
    due: tuple[Instant, Instant] | None = None
    body: str = ""
    twice: bool = False


class WebhookRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        state = hearing.exchange.beginning.webhooks
        self._firms = {
            name: FirmWebhook((row["order"], row["url"], row["secret"]))
            for name, row in state["registrations"].items()
        }
        for name, row in state["breakers"].items():
            firm = self._firm(name)
            firm.breaker, firm.failures = row["state"], row["failures"]
            firm.openings, firm.until, firm.probe = row["openings"], row["until"], row["probe"]
        self._notices: dict[str, OwedEvent] = {}
        self._tests: dict[str, tuple[str, int, str, str]] = {}  # by attempt
        self._delayed: list[tuple[str, int, str, str]] = []  # tests that a fault holds back
        self._attempts: dict[str, tuple[str, Instant]] = {}  # event and instant, by attempt
        self._orders = len(state["log"])
        self._doubtful = set(state["notices"])

    def _firm(self, name: str) -> FirmWebhook:
        return self._firms.setdefault(name, FirmWebhook())

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        self._registering(observed)
        for event in observed.events:
            subject, facts = event.get("subject", ""), event.get("facts", {})
            kind, _, name = subject.partition("/")
            match event["event"], kind:
                case "KycDecided", _ if self._firm(event["firm"]).registration:
                    self._firm(event["firm"]).notices.append(event)
                case "FaultStruck", _ if event["plane"] == "webhook":
                    self._struck(event)
                case "RuleApplied", "webhook":
                    self._attempted(observed, name, event)
                case "RuleApplied", "attempt":
                    self._answered(observed, name, event)
                case "RuleApplied", "firms" if event["rule"] == "K12":
                    self._broken(observed, self._firm(subject), event)
                case "RuleApplied", "firms" if event["rule"] == "K8":
                    self._saved(observed, subject, facts)
        for post in observed.posts:
            self._posted(observed, post)
        self._missing(observed)

    # ---- registrations

    def _registering(self, observed: ObservedInput) -> None:
        """A registration sends a test, and is saved once that was acknowledged (K8)."""
        if observed.operation != "KYCAPI.SetWebhookURL" or observed.code:
            return
        request, self._orders = observed.request, self._orders + 1
        url = request.get("webhook_url") or request.get("webhookUrl") or ""
        secret = request.get("signing_secret") or request.get("signingSecret") or ""
        attempts = [post["attempt"] for post in observed.posts]
        attempts += [
            event["subject"].partition("/")[2]
            for event in observed.events
            if event.get("subject", "").startswith("attempt/")
        ]
        test = observed.out["caller"], self._orders, url, secret
        self._tests |= dict.fromkeys(attempts, test)
        if not attempts:
            self._delayed.append(test)

    def _saved(self, observed: ObservedInput, name: str, facts: Document) -> None:
        """The last registration that was asked for and acknowledged counts (K8)."""
        tests = [
            self._tests.pop(event["subject"].partition("/")[2])
            for event in observed.events
            if event.get("subject", "").partition("/")[2] in self._tests
        ]
        if not tests and (delayed := [test for test in self._delayed if test[0] == name]):
            tests = delayed[:1]
            self._delayed.remove(delayed[0])
        saved = facts["webhook"] == "saved"
        for firm, order, url, secret in tests:
            registration = self._firm(firm).registration
            if saved and firm == name and (registration is None or registration[0] < order):
                self._firm(firm).registration = order, url, secret

    # ---- attempts

    def _attempted(self, observed: ObservedInput, event_id: str, event: Document) -> None:
        """Judge an attempt, or the loss of an event: due now, and allowed by the breaker."""
        at, facts = event["at"], event["facts"]
        notice = self._notices.get(event_id)
        if notice is None:
            notice = self._new_notice(observed, event_id)
            if notice is None:
                return
        firm = self._firm(notice.firm)
        if facts.get("outcome") == "lost":
            notice.due = None
            buffers = self._exchange.assumed("webhook.breaker_buffers") is True
            if firm.breaker == "closed" or buffers:
                sentence = f"an event of {notice.firm} is lost while its breaker is {firm.breaker}"
                self._hearing.disagree("K12", "an attempt", "lost", sentence)
            return
        again = event["rule"] == "K13"
        in_flight = event_id in (name for name, _ in self._attempts.values())
        notice.twice = notice.twice or (again and (in_flight or notice.due is not None))
        self._attempts[facts["attempt"]] = event_id, at
        if notice.twice:
            notice.due = None
            self._hearing.undecided("an event that is delivered twice")
            return
        if again:
            notice.attempts, notice.due = 0, (at, at)
        notice.attempts += 1
        released = at == firm.closed_at or firm.breaker == "half_open"
        first, last = notice.due or (at + 1, at)
        timely = first <= at and (released or at <= last)
        if not timely or firm.breaker == "open" or firm.probe:
            sentence = f"attempt {notice.attempts} of {event_id} at {at}, due {notice.due}"
            sentence += f", breaker {firm.breaker}"
            self._hearing.disagree("K11", str(notice.due), str(at), sentence)
        if facts["number"] != notice.attempts:
            sentence = f"attempt {notice.attempts} of {event_id} has number {facts['number']}"
            self._hearing.disagree("K11", str(notice.attempts), str(facts["number"]), sentence)
        notice.attempts, notice.due = facts["number"], None
        if firm.breaker == "half_open":
            firm.probe = facts["attempt"]

    def _new_notice(self, observed: ObservedInput, event_id: str) -> OwedEvent | None:
        """Return the notice of a decision of this input that had none yet (K9)."""
        firm = next((name for name, row in self._firms.items() if row.notices), None)
        if firm is None:
            if event_id in self._doubtful:
                self._hearing.undecided("an event from before the law began")
            else:
                sentence = f"the event {event_id} has no decision"
                self._hearing.disagree("K9", "no event", event_id, sentence)
            return None
        decision = self._firms[firm].notices.pop(0)
        notice = self._notices[event_id] = OwedEvent(firm, decision, due=(decision["at"],) * 2)
        return notice

    def _answered(self, observed: ObservedInput, attempt: str, event: Document) -> None:
        """Judge the end of an attempt: only 2xx acknowledges, silence fails in time (K11)."""
        acknowledged = event["facts"]["outcome"] == "acknowledged"
        answer, at = observed.input, event["at"]
        event_id, since = self._attempts.pop(attempt, ("", at))
        status = answer.get("status", 0) if answer.get("attempt") == attempt else None
        if acknowledged != (status is not None and 200 <= status < 300):
            sentence = f"attempt {attempt} was answered {status} and counts as {event['facts']}"
            self._hearing.disagree("K11", str(status), str(event["facts"]), sentence)
        struck = any(each["event"] == "FaultStruck" for each in observed.events)
        struck = struck or event_id in self._doubtful
        timeout = since + self._exchange.assumed("webhook.timeout")
        if event_id and status is None and not struck and at != timeout:
            sentence = f"attempt {attempt} of {since} fails unanswered at {at}"
            self._hearing.disagree("K11", str(timeout), str(at), sentence)
        notice = self._notices.get(event_id)
        if notice is None:
            return
        firm = self._firm(notice.firm)
        firm.failures = 0 if acknowledged else firm.failures + 1
        again = not acknowledged and not notice.twice
        if again and notice.attempts < self._exchange.assumed("webhook.attempts"):
            after = answer.get("retry_after") if status in _RETRY_AFTER else None
            notice.due = (at + after,) * 2 if after is not None else self._backoff(notice, at)

    def _backoff(self, notice: OwedEvent, at: Instant) -> tuple[Instant, Instant]:
        """Return when the next attempt is due: doubled waits, plus or minus a fifth (K11)."""
        first = self._exchange.assumed("webhook.retry_first")
        wait = min(first << (notice.attempts - 1), self._exchange.assumed("webhook.retry_longest"))
        return at + wait * 4 // 5, at + wait * 6 // 5

    def _struck(self, event: Document) -> None:
        """An injected fault may lose, repeat or delay a delivery (T2)."""
        if not event.get("attempt"):
            self._hearing.undecided("an injected fault")
            firm = self._firms.get(event.get("caller", ""))
            for notice in self._notices.values():
                notice.due = None
            self._doubtful.add(event["subject"])
            if firm is not None:
                firm.notices.clear()
        elif self._firm(event["caller"]).notices and event["subject"] not in self._notices:
            # the first attempt, before anything is sent
            first = self._new_notice(self._hearing.observed, event["subject"])
            if first is not None:
                first.due = event["at"], 1 << 62
                self._doubtful.add(event["subject"])

    # ---- the breaker

    def _broken(self, observed: ObservedInput, firm: FirmWebhook, event: Document) -> None:
        """Judge a change of the breaker: so many failures open it, the pause doubles, and one probe
        decides (K12). An operator who redelivers closes it, and so does a new registration.
        """
        state, at = event["facts"]["breaker"], event["at"]
        assumed = self._exchange.assumed
        saved = any(each.get("facts") == {"webhook": "saved"} for each in observed.events)
        if saved or observed.input.get("action") == "webhook.redeliver":
            firm.failures = 0
        many = firm.failures >= assumed("webhook.breaker_threshold")
        allowed = {
            "open": firm.breaker == "half_open" or (firm.breaker == "closed" and many),
            "half_open": firm.breaker == "open" and at == firm.until,
            "closed": firm.breaker != "closed" and not firm.failures,
        }
        if not allowed[state]:
            sentence = f"the breaker goes from {firm.breaker} to {state} after {firm.failures}"
            sentence += f" failures at {at}, pause until {firm.until}"
            self._hearing.disagree("K12", firm.breaker, state, sentence)
        firm.breaker, firm.probe = state, ""
        if state == "open":
            pause = assumed("webhook.breaker_cooldown") << firm.openings
            firm.openings += 1
            firm.until = at + min(pause, assumed("webhook.breaker_longest"))
        elif state == "closed":
            firm.openings, firm.closed_at = 0, at

    # ---- what is sent, and what is not

    def _posted(self, observed: ObservedInput, post: Document) -> None:
        """Judge the content of an attempt: address, secret, id and body stay (K8-K10)."""
        body: Document = json.decode(b64decode(post["body"]))
        test = self._tests.get(post["attempt"])
        notice = self._notices.get(post["event_id"])
        if test is not None:
            registration: tuple[Any, ...] | None = test[1:]
            key = "event_type" if self._exchange.assumed("webhook.shape") == "docs" else "type"
            expected: Document = {"event_id": post["event_id"], key: "webhook.test"}
        elif notice is not None and notice.decision:
            registration = self._firm(notice.firm).registration
            expected = self._payload(post["event_id"], notice.decision)
        else:
            return
        if registration is not None and post["url"] != registration[1]:
            sentence = f"attempt {post['attempt']} goes to {post['url']}"
            self._hearing.disagree("K8", registration[1], post["url"], sentence)
        reported = {name: body.get(name) for name in expected}
        if registration is not None and post.get("secret", "") != registration[2]:
            sentence = f"attempt {post['attempt']} is signed with another secret"
            self._hearing.disagree("K10", registration[2], post.get("secret", ""), sentence)
        if post["timeout"] != self._exchange.assumed("webhook.timeout"):
            sentence = f"attempt {post['attempt']} waits {post['timeout']} ns"
            self._hearing.disagree("K11", "webhook.timeout", str(post["timeout"]), sentence)
        if reported != expected:
            sentence = f"the event {post['event_id']} carries {body}"
            self._hearing.disagree("K9", str(expected), str(body), sentence)

    def _payload(self, event_id: str, decision: Document) -> Document:
        """Return what a body must carry of a decision, in the shape that is assumed (K9)."""
        kind = "kyc.approved" if decision["approved"] else "kyc.rejected"
        payload = {"event_id": event_id}
        if self._exchange.assumed("webhook.shape") == "docs":
            return payload | {"event_type": kind}
        payload |= {"type": kind, "external_id": decision["external_id"]}
        return payload | (
            {"participant_id": decision["participant"]} if decision["approved"] else {}
        )

    def _missing(self, observed: ObservedInput) -> None:
        """No decision without its event, and no attempt that is overdue (K9, K11)."""
        for name, firm in self._firms.items():
            for decision in firm.notices:
                sentence = f"{name} is sent nothing of the decision on {decision['external_id']}"
                self._hearing.disagree("K9", "an event", "nothing", sentence)
            firm.notices.clear()
        for event_id, notice in self._notices.items():
            overdue = notice.due is not None and notice.due[1] < observed.now
            if overdue and self._firm(notice.firm).breaker == "closed":
                sentence = f"attempt {notice.attempts + 1} of {event_id} is missing"
                self._hearing.disagree("K11", str(notice.due), "nothing", sentence)
                notice.due = None
