"""What the law does not judge yet: answers to reads."""

from __future__ import annotations

from sim.oracle.hearing import Hearing
from sim.read.observed import ObservedInput

_READS = ("Get", "List", "Search", "Download", "Query")


class ReadRules:
    """The part of the law about it: it only counts."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def after_input(self, observed: ObservedInput) -> None:
        """Note an answer whose contents nobody has judged."""
        rpc = observed.operation.rpartition(".")[2]
        if rpc.startswith(_READS) and observed.status == 200 and not observed.code:
            self._hearing.undecided("contents of a read")
