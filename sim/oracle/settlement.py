"""Settlement, clearing, busts, and cash that moves without a fill.

Realises rules L25-L29, M42, P16-P26.
"""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.read.observed import ObservedInput


class SettlementRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""

    def settled(self, event: Document) -> None:
        """Judge a settlement price."""

    def trade_changed(self, event: Document) -> None:
        """Judge a trade that no match made necessary: it cleared, or was busted."""

    def position_changed(self, event: Document) -> None:
        """Judge a row of the position ledger that no fill made necessary."""

    def cash_moved(self, event: Document) -> None:
        """Judge an entry of the cash ledger that no fill made necessary."""
