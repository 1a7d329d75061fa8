"""Snapshots: the state of a run right after an input, kept so that going back replays little.

Theory.

* A *moment* is the point right after an input. On one branch it is named by `seq`, the number of
  inputs so far. Between inputs nothing happens, so there are no other points to go to.
* The state at a moment is a function of scenario, seed and the inputs 1 … seq. Two ways lead to it:
  handle these inputs again, or load a snapshot of it. A rewind combines them: it loads the latest
  snapshot at or before the moment and handles the inputs in between, read from the journal.
* A *snapshot* is a pair of state and checkpoint. The state comes in three parts, by how it changes:
  what may still change is encoded to bytes, so nothing that happens later reaches it (as JSON,
  whose integers have any size: an instant of the year 9999 has more than 64 bits), except live
  orders, of which there may be many and which are copied; rows that
  never change again (executions, done orders, moved cash) are shared, in lists of the snapshot's
  own; reference data is replaced as a whole and never changed in place, so it is shared too.
  Streams are connections and no state to go back to; they are kept beside it, for the inputs that
  are handled again on the way. The request log is cut to length, or copied where another branch may
  come back to it.
* The *checkpoint* is a copy of the running SHA-256 of the journal with the places of its lines. The
  digest at a moment covers the scenario, the seed and the lines up to there, nothing else. After
  a rewind the chain goes on from the copy over lines that are equal byte for byte, because equal
  state and equal inputs give equal outcomes. Hence the digest after a rewind to a moment equals
  the digest that the moment had; if it did not, something that changes is missing from `save`.
* A *branch* is one sequence of inputs. A rewind cuts the present branch at a moment and begins
  another there; the lines that were cut off stay in the journal's file and are on no branch that
  can be gone to, except by a named snapshot.

Memory. The collection holds the start and at most `KEPT` snapshots, of at most `BYTES_MAX` encoded
bytes together, and as many of branches that were left. When it is full every second one is dropped
and the distance between new ones doubles, so any moment is at most one distance of replay away from
a snapshot before it. A large state is saved seldom, because saving it costs as much as handling
many inputs.
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
from sim.core.history import History, join_history, split_history
from sim.core.model.orders import Order
from sim.engine.extension import Extension
from sim.kernel.instants import Instant
from sim.kernel.journal import Checkpoint, Journal
from sim.reference.reference import Reference

KEPT = 32
BYTES_MAX = 64 << 20
FIRST_DISTANCE = 1_000
# Saving costs about 10 ns a byte, an input 50 µs and more: so far apart, snapshots take at most a
# tenth of the time.
_BYTES_PER_INPUT = 512


class Snapshot(NamedTuple):
    """State right after an input; the head of this file says what is shared and what is copied.

    `log` are the calls so far; None where those of the present branch serve, cut to length.
    """

    at: Instant
    checkpoint: Checkpoint
    state: bytes
    history: History
    reference: Reference
    log: RequestLog | None = None
    streams: Streams | None = None

    @property
    def size(self) -> int:
        """How many bytes the changing part of the state takes, about."""
        return len(self.state) + self.history.live_bytes


class Streams(NamedTuple):
    """The streams that were open, for a replay that begins here: those of clients, and what each
    extension remembers of its own, pickled.
    """

    hub: SavedStreams
    extensions: bytes


def save_streams(hub: Hub, extensions: Mapping[str, Extension]) -> Streams:
    """The streams that are open."""
    own = {name: extension.save_streams() for name, extension in extensions.items()}
    return Streams(hub.save(), pickle.dumps(own, protocol=5))


def encode_state(
    exchange: Exchange, extensions: Mapping[str, Extension], copies: Mapping[int, Order]
) -> tuple[bytes, History]:
    """The state of an exchange and of its extensions, by name; apart from it, what is shared, with
    `copies` of live orders where they are equal.
    """
    state = exchange.save()
    reported = exchange.trading.execution_log.last_reported
    state.trading, history = split_history(state.trading, reported, copies)
    states = {name: extension.save() for name, extension in extensions.items()}
    return json.encode((state, states)), history


def load_state(
    exchange: Exchange,
    extensions: Mapping[str, Extension],
    snapshot: Snapshot,
    hub: Hub | None = None,
) -> None:
    """Make an exchange and its extensions what they were; with a hub, its streams too.

    What goes on has the timers that it had: their numbers stand in reports of orders that expire.
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
    elif followers := exchange.recurring_feed.followers:  # a script, which is no stream
        exchange.recurring_feed.resume(replace(state.recurring_feed, followers=followers))
        exchange.ctx.timers.load(state.timers)


@cache
def _state_decoder() -> json.Decoder[tuple[State, dict[str, Raw]]]:
    # Made when it is first needed: it looks at every type of the state.
    return json.Decoder(tuple[State, dict[str, Raw]])


def unsavable(error: Exception) -> str:
    """Why a state could not be saved, in words."""
    return f"this state cannot be saved ({type(error).__name__}: {error})"


class Snapshots:
    """The automatic snapshots of a run, oldest first, and the named ones; apart from them those of
    branches that were left.
    """

    def __init__(self, start: Snapshot) -> None:
        self.start = start
        self._kept = [start]
        self.named: dict[str, Snapshot] = {}
        self._distance = FIRST_DISTANCE
        self._next = FIRST_DISTANCE
        self._left: list[Snapshot] = []

    @property
    def every(self) -> list[Snapshot]:
        """The automatic snapshots, also those of branches that were left."""
        return [*self._left, *self._kept]

    def fork(self) -> Snapshots:
        """The same snapshots, for a run that goes its own way from here."""
        forked = copy(self)
        forked._kept, forked._left = list(self._kept), list(self._left)
        forked.named = dict(self.named)
        return forked

    def due(self, seq: int) -> bool:
        """Whether a snapshot should be kept now."""
        return seq >= self._next

    def postpone(self, seq: int) -> None:
        """Keep none now: the next is due one distance later."""
        self._next = seq + self._distance

    def keep(self, snapshot: Snapshot) -> None:
        """Add a snapshot, and drop every second one when there is no room."""
        self._kept.append(snapshot)
        while len(self._kept) > KEPT or (
            len(self._kept) > 2 and sum(kept.size for kept in self._kept) > BYTES_MAX
        ):
            self._kept[1:] = self._kept[2::2]
            self._distance *= 2
        distance = max(self._distance, snapshot.size // _BYTES_PER_INPUT)
        self._next = snapshot.checkpoint.seq + distance

    def nearest(self, seq: int) -> Snapshot:
        """The latest snapshot at or before an input of the present branch."""
        self._next = seq + self._distance
        before = (kept for kept in self._kept if kept.checkpoint.seq <= seq)
        return max(before, key=lambda kept: kept.checkpoint.seq)

    def leave(self, journal: Journal, log: RequestLog | None) -> None:
        """Set the snapshots aside that are not on the journal's present branch, with the calls of
        the branch that was left: they serve who looks back at it. Of these there are at most `KEPT`
        too; when there are more, every second one goes.
        """
        gone = [kept for kept in self._kept if not journal.on_branch(kept.checkpoint)]
        if not gone:
            return
        self._kept = [kept for kept in self._kept if journal.on_branch(kept.checkpoint)]
        self._set_aside(kept if kept.log else kept._replace(log=log) for kept in gone)

    def adopt(self, others: Snapshots, log: RequestLog | None) -> None:
        """Have the snapshots of a run that was left for this one, to look back at it."""
        self._set_aside(kept if kept.log else kept._replace(log=log) for kept in others.every)

    def _set_aside(self, snapshots: Iterable[Snapshot]) -> None:
        self._left += snapshots
        while len(self._left) > KEPT or (
            len(self._left) > 1 and sum(kept.size for kept in self._left) > BYTES_MAX
        ):
            self._left = self._left[1::2]
