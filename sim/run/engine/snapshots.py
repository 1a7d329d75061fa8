"""Snapshots: the state of a run right after an input, kept so that time travel replays little.

Theory.

* A *moment* is the point right after an input. On one branch it is identified by `seq`, the number
of inputs so far. Between inputs nothing happens, so there are no other points to travel to. * The
state at a moment is a function of scenario, seed and the inputs 1 … seq. There are two ways to
reach it: repeat these inputs, or load a snapshot of it. A rewind combines them: it loads the latest
snapshot at or before the moment and repeats the inputs in between, read from the journal. * A
*snapshot* is a pair of state and checkpoint. Parts of the state are stored in different ways.
Whatever may still change is encoded to bytes, so that later events cannot change it (as JSON, whose
integers are unlimited: an instant in the year 9999 needs more than 64 bits). The exception is live
orders, of which there may be many and which are copied. Rows that never change again (executions,
finished orders, cash movements) are shared, in lists that belong to the snapshot. Reference data is
replaced as a whole and never changed in place, so it is shared, too. Streams are connections and
not part of the state; they are saved beside it, for the inputs that are repeated on the way. The
request log is cut to length, or copied if another branch may return to it. * The *checkpoint* is a
copy of the running SHA-256 of the journal with the places of its lines. The digest at a moment
covers the scenario, the seed and the lines up to there, nothing else. After a rewind, the chain
continues from the copy over lines that are equal byte for byte, because equal state and equal
inputs give equal outcomes. Hence the digest after a rewind to a moment equals the digest at that
moment. If it did not, `save` would be missing something that changes. * A *branch* is one sequence
of inputs. A rewind ends the current branch at a moment and begins another one there. The lines
after that moment stay in the journal's file, but no branch that can be travelled to has them,
except by a named snapshot.

Memory. The collection holds the start and at most `KEPT` snapshots, of at most `BYTES_MAX` encoded
bytes together, and as many of abandoned branches. When it is full, every second one is dropped and
the distance between new ones doubles, so any moment is at most one distance of replay after a
snapshot. A large state is saved rarely, because saving it costs as much as handling many inputs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from typing import NamedTuple

from msgspec import Raw, json
from msgspec.structs import replace

from sim.api.pipeline.request_log import RequestLog
from sim.api.streams.hub import Hub
from sim.api.streams.saved_streams import SavedStreams
from sim.core.exchange import Exchange, State
from sim.core.history import ExchangeHistory, join_history, split_history
from sim.core.model.orders import Order
from sim.kernel.instants import Instant
from sim.kernel.journal import Checkpoint, Journal
from sim.run.engine.extension import Extension
from sim.world.reference.reference import Reference

KEPT = 32
BYTES_MAX = 64 << 20
FIRST_DISTANCE = 1_000
# Saving costs about 10 ns per byte, an input 50 µs or more. At this distance, snapshots take at
# most a tenth of the time.
_BYTES_PER_INPUT = 512


class Snapshot(NamedTuple):
    """The state right after an input. The module's docstring says what is shared and what is
    copied.

    `log` holds the calls so far; None if those of the current branch, cut to length, are the same.
    """

    at: Instant
    checkpoint: Checkpoint
    state: bytes
    history: ExchangeHistory
    reference: Reference
    log: RequestLog | None = None
    streams: Streams | None = None

    @property
    def size(self) -> int:
        """The approximate size in bytes of the changing part of the state."""
        return len(self.state) + self.history.live_bytes


class Streams(NamedTuple):
    """The streams that were open, for a replay that begins here: those of clients, and the pickled
    data of each extension about its own.
    """

    hub: SavedStreams
    extensions: bytes


def save_streams(hub: Hub, extensions: Mapping[str, Extension]) -> Streams:
    """Return the open streams."""
    own = {name: extension.save_streams() for name, extension in extensions.items()}
    return Streams(hub.save(), pickle.dumps(own, protocol=5))


def encode_state(
    exchange: Exchange, extensions: Mapping[str, Extension], copies: Mapping[int, Order]
) -> tuple[bytes, ExchangeHistory]:
    """Encode the state of an exchange and of its extensions, by name.

    The shared part is returned separately. Equal `copies` of live orders are shared.
    """
    state = exchange.save()
    live, reported = exchange.trading.orders.live(), exchange.trading.execution_log.last_reported
    state.trading, history = split_history(state.trading, live, reported, copies)
    states = {name: extension.save() for name, extension in extensions.items()}
    return json.encode((state, states)), history


def load_state(
    exchange: Exchange,
    extensions: Mapping[str, Extension],
    snapshot: Snapshot,
    hub: Hub | None = None,
) -> None:
    """Restore the state of an exchange and its extensions; with a hub, also its streams.

    Recurring activities keep the timers that they had, because the numbers of timers occur in
    reports of orders that expire.
    """
    state, states = _state_decoder().decode(snapshot.state)
    state.trading = join_history(state.trading, snapshot.history, exchange.trading.orders.rows.rows)
    exchange.reference = snapshot.reference
    exchange.load(state)
    for name, extension in extensions.items():
        extension.load(json.decode(states[name], type=extension.state_type))
    for extension in extensions.values():
        extension.follow()
    if hub is not None and snapshot.streams is not None:
        hub.load(snapshot.streams.hub)
        own = pickle.loads(snapshot.streams.extensions)
        for name, extension in extensions.items():
            extension.load_streams(own[name])
        exchange.recurring_feed.resume(state.recurring_feed)
        exchange.ctx.timers.load(state.timers)
    # These belong to a script and not to a stream
    elif followers := exchange.recurring_feed.followers:
        exchange.recurring_feed.resume(replace(state.recurring_feed, followers=followers))
        exchange.ctx.timers.load(state.timers)


@cache
def _state_decoder() -> json.Decoder[tuple[State, dict[str, Raw]]]:
    # Created on first use, because it visits every type of the state.
    return json.Decoder(tuple[State, dict[str, Raw]])


def unsavable(error: Exception) -> str:
    """Describe why a state could not be saved."""
    return f"this state cannot be saved ({type(error).__name__}: {error})"


class Snapshots:
    """The automatic and the named snapshots of a run, and those of abandoned branches."""

    def __init__(self, start: Snapshot) -> None:
        self.start = start
        self._kept = [start]
        self.named: dict[str, Snapshot] = {}
        self._distance = FIRST_DISTANCE
        self._next = FIRST_DISTANCE
        self._left: list[Snapshot] = []

    @property
    def every(self) -> list[Snapshot]:
        """Return the automatic snapshots, including those of abandoned branches."""
        return [*self._left, *self._kept]

    def fork(self) -> Snapshots:
        """Return the same snapshots, for a run that continues independently from here."""
        forked = copy(self)
        forked._kept, forked._left = list(self._kept), list(self._left)
        forked.named = dict(self.named)
        return forked

    def due(self, seq: int) -> bool:
        """Return whether a snapshot should be kept now."""
        return seq >= self._next

    def postpone(self, seq: int) -> None:
        """Skip a snapshot: the next one is due one distance later."""
        self._next = seq + self._distance

    def keep(self, snapshot: Snapshot) -> None:
        """Add a snapshot, and drop every second one if there is no room."""
        self._kept.append(snapshot)
        while len(self._kept) > KEPT or (
            len(self._kept) > 2 and sum(kept.size for kept in self._kept) > BYTES_MAX
        ):
            self._kept[1:] = self._kept[2::2]
            self._distance *= 2
        distance = max(self._distance, snapshot.size // _BYTES_PER_INPUT)
        self._next = snapshot.checkpoint.seq + distance

    def nearest(self, seq: int) -> Snapshot:
        """Return the latest snapshot at or before an input of the current branch."""
        self._next = seq + self._distance
        before = (kept for kept in self._kept if kept.checkpoint.seq <= seq)
        return max(before, key=lambda kept: kept.checkpoint.seq)

    def leave(self, journal: Journal, log: RequestLog | None) -> None:
        """Set aside the snapshots that are not on the journal's current branch, with that branch's
        calls.

        They serve views of the abandoned branch. There are at most `KEPT` of them; beyond that,
        every second one is dropped.
        """
        gone = [kept for kept in self._kept if not journal.on_branch(kept.checkpoint)]
        if not gone:
            return
        self._kept = [kept for kept in self._kept if journal.on_branch(kept.checkpoint)]
        self._set_aside(kept if kept.log else kept._replace(log=log) for kept in gone)

    def adopt(self, others: Snapshots, log: RequestLog | None) -> None:
        """Take over the snapshots of another run for views of its past."""
        self._set_aside(kept if kept.log else kept._replace(log=log) for kept in others.every)

    def _set_aside(self, snapshots: Iterable[Snapshot]) -> None:
        self._left += snapshots
        while len(self._left) > KEPT or (
            len(self._left) > 1 and sum(kept.size for kept in self._left) > BYTES_MAX
        ):
            self._left = self._left[1::2]
