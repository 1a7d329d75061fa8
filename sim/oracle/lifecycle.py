"""States of instruments, what ends orders by time, and maintenance.

Realises rules L1-L24, W1-W9.
"""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.oracle.state import Document, NaiveOrder
from sim.read.observed import ObservedInput


class LifecycleRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""

    def changed(self, event: Document) -> None:
        """Judge a change of state, before it happens."""

    def expired(self, order: NaiveOrder, event: Document) -> None:
        """Judge the expiry of an order that nothing else made necessary, before it happens."""
