"""Whether orders, changes and cancels are accepted or refused, and the answers to them.

Realises rules M2-M7, M10-M39, M43, P3, P4.
"""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.oracle.state import Document, NaiveOrder
from sim.read.observed import ObservedInput


class OrderRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""

    def entered(self, order: NaiveOrder) -> None:
        """Judge an order that was accepted, before it trades."""

    def rejected(self, order: NaiveOrder, event: Document) -> None:
        """Judge an order that was rejected by a report."""

    def canceled(self, order: NaiveOrder, event: Document) -> None:
        """Judge a cancel that nothing else made necessary, before it happens."""

    def replaced(self, order: NaiveOrder, changed: NaiveOrder) -> None:
        """Judge a change, before it happens."""

    def change_refused(self, event: Document) -> None:
        """Judge a cancel or replace that was refused by an event."""
