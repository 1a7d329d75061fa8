"""The state at any moment of any branch, without moving the run.

A second simulation of the same run, the replica, is brought to the requested moment: it loads the
nearest earlier snapshot and repeats the inputs in between, read from the journal. It shares
immutable rows with the run and writes nothing. Snapshots are kept near requested moments, so that
neighbouring moments are cheap. They take at most `BYTES_MAX` together; the least recently used one
is dropped first. In idle time, missing snapshots nearby can be made (`around`).

An answer is exact or an error: after the last input, the digest of the replica must be the digest
that the journal has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from operator import is_not
from typing import Any

from sim.api.pipeline.inputs import Outcome
from sim.core.history import ORDER_BYTES, FirstRows
from sim.core.model.orders import Order
from sim.kernel.branches import Branch
from sim.kernel.work import Work
from sim.read.record import JournalEntry
from sim.run.engine.snapshots import Snapshot
from sim.run.engine.time_travel import close_streams, load
from sim.run.simulation import Simulation

BYTES_MAX = 128 << 20
# A snapshot is made every so many inputs over the last stretch before the requested moment, and
# more often right before it, because the next request is often for one step earlier.
_GRAIN, _STRETCH = 240, 1_000
_FINE_GRAIN, _FINE_STRETCH = 20, 40
_AROUND = 350  # inputs before and after a requested moment
# Loading a snapshot takes as long as handling about this many inputs.
_LOAD_INPUTS = 40
_REFERENCE_BYTES = 8


class MomentMismatch(RuntimeError):
    """A past moment differs from what the journal recorded."""


class Moments:
    """Brings a simulation to moments of a run."""

    def __init__(self, simulation: Simulation) -> None:
        self._run = simulation
        self._replica: Simulation | None = None
        self._on: Branch  # branch of the replica's last input
        self._kept: OrderedDict[tuple[str, int], _StoredSnapshot] = OrderedDict()
        self._live: Mapping[int, Order] = {}  # copies of the live orders in the last snapshot

    def at(self, branch: Branch, seq: int) -> Work[Simulation]:
        """Return the run right after an input of a branch; 0 is the start.

        The result is valid until the next call and must not be changed.
        """
        return self.walk(branch, seq, seq, lambda *_: None)

    def walk(
        self, branch: Branch, first: int, last: int, on_input: Callable[[Simulation, Outcome], None]
    ) -> Work[Simulation]:
        """Return the run after the input `last`; call `on_input` after each input after `first`."""
        # The branch on which the input was written; `branch` may be from another source.
        branch = self._run.journal.branches[branch.holder(last).name]
        replica = self._replica_before(branch, first)
        yield from self._advance_to(replica, branch, first)
        while replica.seq < last:
            outcome = self._handle(replica, branch, replica.seq + 1)
            on_input(replica, outcome)
            yield
        self._check(replica, branch, last)
        return replica

    def around(self, branch: Branch, seq: int) -> Work[None]:
        """Make the missing snapshots around a moment, so that later requests nearby handle few
        inputs. The work may be abandoned between two steps.
        """
        branch = self._run.journal.branches[branch.name]
        first, last = max(0, seq - _AROUND), min(branch.seq, seq + _AROUND)
        while (missing := self._missing(branch, first, last)) is not None:
            replica = self._replica_before(branch, missing)
            yield from self._advance_to(replica, branch, missing)
            if (self._on.name, missing) not in self._kept:
                return  # the state cannot be saved, or there is no room
            first = missing

    def _missing(self, branch: Branch, first: int, last: int) -> int | None:
        """Return the first moment of a stretch at which a snapshot is due and missing."""
        due = range(first // _FINE_GRAIN * _FINE_GRAIN + _FINE_GRAIN, last + 1, _FINE_GRAIN)
        return next((at for at in due if (branch.holder(at).name, at) not in self._kept), None)

    def through(self, branch: Branch, seq: int) -> Work[tuple[Simulation, Outcome]]:
        """Return the run right after an input, with the outcome of that input."""
        outcomes: list[Outcome] = []
        replica = yield from self.walk(
            branch, seq - 1, seq, lambda _, outcome: outcomes.append(outcome)
        )
        return replica, outcomes[0]

    def _replica_before(self, branch: Branch, seq: int) -> Simulation:
        """Return the replica at a moment shortly before the requested one."""
        root = branch.holder(0)
        # Unset while it moves, so that an interrupted move leaves no replica.
        replica, self._replica = self._replica, None
        if replica is None or replica.seed != root.seed:
            replica = self._run.replica(root)
            here = -1
        else:
            on_the_way = replica.seq <= seq and branch.holder(replica.seq) is self._on
            here = replica.seq if on_the_way else -1
        nearest = self._nearest(branch, seq)
        if here < 0 or (nearest is not None and nearest.checkpoint.seq > here + _LOAD_INPUTS):
            self._begin(replica, root, nearest)
        self._replica = replica
        return replica

    def _nearest(self, branch: Branch, seq: int) -> Snapshot | None:
        """Return the latest snapshot on the way to a moment; None if even the start has none."""
        journal, snapshots = self._run.journal, self._run.engine.snapshots
        before = [
            snapshot
            for snapshot in (*snapshots.every, *(kept.snapshot for kept in self._kept.values()))
            if snapshot.checkpoint.seq <= seq and journal.on_branch(snapshot.checkpoint, branch)
        ]
        return max(before, key=lambda snapshot: snapshot.checkpoint.seq, default=None)

    def _begin(self, replica: Simulation, root: Branch, snapshot: Snapshot | None) -> None:
        engine, journal = replica.engine, replica.engine.journal
        snapshot = snapshot or engine.snapshots.start
        point = snapshot.checkpoint
        if snapshot.log is None:
            engine.log.become(self._run.log)
        load(engine, snapshot, streams=True)
        journal.resume(point)
        self._on = journal.branches[point.branch].holder(point.seq) if point.seq else root
        journal.branch = self._on
        self._used(self._on, snapshot)
        self._live = snapshot.history.live

    def _advance_to(self, replica: Simulation, branch: Branch, seq: int) -> Work[None]:
        while replica.seq < seq:
            self._handle(replica, branch, replica.seq + 1)
            at, left = replica.seq, seq - replica.seq
            due = (at % _GRAIN == 0 and left < _STRETCH) or (
                at % _FINE_GRAIN == 0 and left < _FINE_STRETCH
            )
            if due and (self._on.name, at) not in self._kept:
                if not replica.exchange.order_sessions.blocks_snapshots:
                    self._keep(replica)
            yield

    def _handle(self, replica: Simulation, branch: Branch, seq: int) -> Outcome:
        """Handle the next input on the branch on which it was written."""
        on = branch.holder(seq)
        if on is not self._on:
            # Here the run travelled in time, which ended every stream.
            close_streams(replica.engine, "the simulation was moved to another moment")
            self._on = replica.journal.branch = on
        line = self._run.journal.line_at(branch.position(seq))
        try:
            return replica.handle(JournalEntry(line).input)
        except BaseException:
            self._replica = None
            raise

    def _check(self, replica: Simulation, branch: Branch, seq: int) -> None:
        if not seq:
            return
        line = JournalEntry(self._run.journal.line_at(branch.position(seq))).line
        if replica.digest[: len(line.digest)] != line.digest:
            self._replica = None
            self._kept.clear()
            raise MomentMismatch(
                f"input {seq} of {branch.name} had a different outcome when it was repeated"
            )

    # ---- stored snapshots

    def _keep(self, replica: Simulation) -> None:
        """Keep a snapshot of the replica's moment."""
        snapshot = replica.engine.snapshot(log=True, copies=self._live)
        self._kept[self._on.name, snapshot.checkpoint.seq] = _StoredSnapshot(snapshot, self._live)
        self._live = snapshot.history.live
        while len(self._kept) > 1 and self.kept_bytes > BYTES_MAX:
            self._kept.popitem(last=False)

    def _used(self, on: Branch, snapshot: Snapshot) -> None:
        key = on.name, snapshot.checkpoint.seq
        if key in self._kept:
            self._kept.move_to_end(key)

    @property
    def kept_bytes(self) -> int:
        """Return the size of the stored snapshots: encoded state, and references to rows shared
        with the run.
        """
        lists = (table.rows for kept in self._kept.values() for table in kept.shared)
        lengths = {id(rows): len(rows) for rows in lists}
        return _REFERENCE_BYTES * sum(lengths.values()) + sum(
            kept.own_bytes for kept in self._kept.values()
        )


class _StoredSnapshot:
    """A snapshot, and its size without the lists of rows that it shares with others."""

    def __init__(self, snapshot: Snapshot, copies: Mapping[int, Order]) -> None:
        """`copies` are the copies of live orders in the previous snapshot."""
        self.snapshot = snapshot
        history = snapshot.history
        self.shared: tuple[FirstRows[Any], ...] = tuple(
            column for column in history if isinstance(column, FirstRows)
        )
        copied = sum(map(is_not, history.live.values(), map(copies.get, history.live)))
        stream_bytes = len(snapshot.streams.hub.state) if snapshot.streams is not None else 0
        self.own_bytes = (
            len(snapshot.state)
            + stream_bytes
            + ORDER_BYTES * copied
            + _REFERENCE_BYTES * (len(history.trades) + len(history.live))
        )
