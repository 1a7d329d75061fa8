"""The context shared by the components of the core: virtual now, timers, randomness, identifiers,
the assumptions and quirks in force, and the list of events.
"""

from __future__ import annotations

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.quirks import Quirk, Quirks
from sim.core.model.events import Event, RuleApplied
from sim.core.model.timer_priority import BY_SUBJECT, FIRST
from sim.core.model.why import Why, because
from sim.kernel.entropy import Entropy
from sim.kernel.identifiers import Identifiers
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import TimerQueue


class Context:
    """The context that each component receives at construction.

    `now` is always virtual now. `trace_id` names the input that is being handled. `service_time` is
    the virtual time until its answer; faults and quirks add to it.
    """

    def __init__(self, *, seed: int, now: Instant) -> None:
        self.now = now
        self.entropy = Entropy(seed)
        self.ids = Identifiers(self.entropy)
        self.timers = TimerQueue(FIRST, BY_SUBJECT)
        self.assumptions = Assumptions()
        self.quirks = Quirks(self.entropy, self._quirk_applied)
        self.events: list[Event] = []
        self.trace_id = ""
        self.service_time: Span = 0

    def apply(self, why: Why, subject: str) -> None:
        """Report a decision about a subject that no other event reports."""
        self.events.append(RuleApplied(subject, self.now, why.rule, why.facts))

    def _quirk_applied(self, quirk: Quirk) -> None:
        self.apply(because(quirk.rule, quirk=quirk.name), "")

    def emit(self, event: Event) -> None:
        """Add an event. Events are added in the order in which things happen."""
        self.events.append(event)
