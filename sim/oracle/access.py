"""Who may call what and how often: tokens, scopes, participants, limits, removals.

Realises rules E1-E5, R1-R5, R16-R23; §5, §8, §9.
"""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.read.observed import ObservedInput


class AccessRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
