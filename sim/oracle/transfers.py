"""Cash that moves without a fill (rules P6, P16, P20, P25)."""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.read.observed import ObservedInput

DEPOSIT, WITHDRAWAL, ADJUSTMENT, REJECTION, REQUESTED = 1, 2, 7, 16, 22
STATES_BEFORE_COMPLETED = 3  # PENDING, PROCESSING, ACKNOWLEDGED


class TransferRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def moved(self, event: Document) -> None:
        """Judge an entry that nothing made necessary, before it happens."""

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
