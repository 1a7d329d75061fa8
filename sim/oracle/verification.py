"""Verification of people and webhooks.

Realises rules K1-K14.
"""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.read.observed import ObservedInput


class VerificationRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
