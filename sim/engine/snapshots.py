"""Saved moments of one run, so that a rewind replays little: one at the start, then at growing
distances, at most `KEPT` of them and `BYTES_MAX` together.

When the shelf is full every second snapshot is dropped and the distance doubles, so memory stays
bounded and any input is at most one distance of replay away from a snapshot before it. A large
state is saved seldom: taking it costs as much as handling many inputs.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from sim.kernel.instants import Instant
from sim.kernel.journal import Checkpoint, Journal

if TYPE_CHECKING:
    from sim.api.pipeline.request_log import RequestLog
    from sim.core.history import History
    from sim.reference.reference import Reference

KEPT = 32
BYTES_MAX = 64 << 20
FIRST_DISTANCE = 1_000
# Saving costs about 10 ns a byte, an input 50 µs and more: so far apart, snapshots take at most a
# tenth of the time.
_BYTES_AN_INPUT = 512


class Snapshot(NamedTuple):
    """State right after an input. `checkpoint` lets the journal continue from here.

    `state` is what may still change, encoded; `history` what never does, shared; `reference` what
    the gateway shows, which is never changed in place. `log` are the calls so far, None where those
    of whoever goes there from the same branch will do.
    """

    at: Instant
    checkpoint: Checkpoint
    state: bytes
    history: History
    reference: Reference
    log: RequestLog | None = None


class Snapshots:
    """The shelf of automatic moments, oldest first, and the named ones."""

    def __init__(self, start: Snapshot) -> None:
        self.start = start
        self._shelf = [start]
        self.named: dict[str, Snapshot] = {}
        self._distance = FIRST_DISTANCE
        self._next = FIRST_DISTANCE

    def fork(self) -> Snapshots:
        """The same moments, for somebody who goes another way from here."""
        made = copy(self)
        made._shelf, made.named = list(self._shelf), dict(self.named)
        return made

    def due(self, seq: int) -> bool:
        """Whether a moment should be kept now."""
        return seq >= self._next

    def keep(self, moment: Snapshot) -> None:
        """Put a moment on the shelf."""
        self._shelf.append(moment)
        while len(self._shelf) > KEPT or (
            len(self._shelf) > 2 and sum(len(kept.state) for kept in self._shelf) > BYTES_MAX
        ):
            self._shelf[1:] = self._shelf[2::2]
            self._distance *= 2
        self._next = moment.checkpoint.seq + max(
            self._distance, len(moment.state) // _BYTES_AN_INPUT
        )

    def nearest(self, seq: int, journal: Journal) -> Snapshot:
        """The latest moment at or before an input of the journal's present branch; later ones of
        other branches are dropped.
        """
        self._shelf = [moment for moment in self._shelf if journal.on_branch(moment.checkpoint)]
        found = self._shelf[0]
        for moment in self._shelf:
            if found.checkpoint.seq < moment.checkpoint.seq <= seq:
                found = moment
        self._next = seq + self._distance
        return found
