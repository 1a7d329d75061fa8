"""Common parts of all streams: the stream, its feed, and the outbox for its frames.

A `Feed` implements one kind of stream. It turns a request into a `FeedStream` (`accept`), sends the
first frames (`begin`), turns events into frames (`reads`, `flush`), and cleans up when the stream
ends (`forget`). A `KeyedFeed` is a feed whose streams follow accounts, firms or symbols. The hub,
not the feed, limits how many streams a client may have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.inputs import Close, Effect, Send
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams.limits import BATCH
from sim.core.catalogue.assumption import Assumption
from sim.core.exchange import Exchange
from sim.core.model.context import Context
from sim.core.model.events import Event
from sim.core.model.refusals import Code
from sim.core.model.why import Why
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import Timer, TimerHandlers

# Close codes of WebSockets for gRPC status codes; 1000 for any other status.
_WEB_SOCKET_CODES = {
    Code.UNAVAILABLE: 1001,
    Code.INTERNAL: 1011,
    Code.RESOURCE_EXHAUSTED: 1008,
    Code.INVALID_ARGUMENT: 1008,
}


class FeedStream:
    """One open stream. Kinds of streams add fields of their own.

    | Field | Meaning |
    |---|---|
    | session | the session that a newer stream can take over (rule S6), or None |
    | opened_in | the input that opened it |
    | last_sent | when the last frame was sent |
    | heartbeat_due | when the next heartbeat is due |
    | skips | whether a slow reader loses its backlog instead of the stream |
    """

    def __init__(self, feed: Feed[Any], admitted: AdmittedSubscription) -> None:
        self.feed = feed
        self.caller: Caller = admitted.caller
        self.rpc = admitted.operation.rpc
        self.operation = admitted.operation.name
        self.web_socket = admitted.web_socket
        self.session: tuple[str, str, str] | None = None
        self.id = 0
        self.opened_in = 0
        self.since: Instant = 0
        self.sent = 0
        self.last_sent: Instant = 0
        self.heartbeat_due: Instant = 0
        self.skips = False


class KeyedStream(FeedStream):
    """A stream that follows keys. `pending` holds its encoded rows of the current input."""

    def __init__(
        self, feed: Feed[Any], admitted: AdmittedSubscription, keys: Iterable[str]
    ) -> None:
        super().__init__(feed, admitted)
        self.keys = tuple(keys)
        self.pending: list[bytes] = []


class FilteredStream(KeyedStream):
    """A stream whose `symbols` filter unless empty."""

    symbols: frozenset[str]


S = TypeVar("S", bound=FeedStream)
KS = TypeVar("KS", bound=KeyedStream)
FS = TypeVar("FS", bound=FilteredStream)
K = TypeVar("K")
R = TypeVar("R")
SNAPSHOT_SENT = Why("S11")  # the end of a stream that asked for a snapshot only
EventReaders: TypeAlias = Mapping[type[Event], Callable[[Any], None]]


class Outbox:
    """Collects the effects of streams in the order in which they leave."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.effects: list[Effect] = []

    def send(self, stream: FeedStream, frame: bytes) -> None:
        """Send a frame on one stream."""
        stream.sent += 1
        stream.last_sent = self._ctx.now
        self.effects.append(Send(stream.id, frame))

    def send_all(self, streams: Iterable[FeedStream], frame: bytes) -> None:
        """Send one frame on many streams, which all share the same bytes object."""
        effects = self.effects
        now = self._ctx.now
        for stream in streams:
            stream.sent += 1
            stream.last_sent = now
            effects.append(Send(stream.id, frame))

    def close(self, stream: FeedStream, code: int, message: str, why: Why) -> None:
        """End a stream."""
        close_code = _WEB_SOCKET_CODES.get(Code(code), 1000)
        self.effects.append(Close(stream.id, int(code), message, close_code, why.rule, why.facts))

    def take(self) -> list[Effect]:
        """Return the effects since the last call, and forget them."""
        effects, self.effects = self.effects, []
        return effects


class FeedContext:
    """What feeds have access to: the exchange, the outbox, and `end`, which ends a stream."""

    def __init__(
        self, exchange: Exchange, outbox: Outbox, end: Callable[[FeedStream, int, str, Why], None]
    ) -> None:
        self.exchange = exchange
        self.outbox = outbox
        self.end = end

    @property
    def now(self) -> Instant:
        """Return virtual now."""
        return self.exchange.ctx.now

    def period(self, assumption: Assumption) -> Span:
        """Return the current value of an assumption that is a period."""
        return self.exchange.ctx.assumptions.number(assumption)


class SingleTimer:
    """A timer of one kind that is pending at most once."""

    def __init__(self, context: FeedContext, kind: str) -> None:
        self._context = context
        self._kind = kind
        self._seq = 0
        self._due: Instant = 0

    def start(self, after: Span) -> None:
        """Set the timer, unless it is pending."""
        if not self._seq:
            self._due = self._context.now + after
            self._seq = self._context.exchange.ctx.timers.schedule(self._due, self._kind)

    def start_by(self, due: Instant) -> None:
        """Set the timer to an instant, unless it is pending until then."""
        if due < self._due:
            self.stop()
        self.start(due - self._context.now)

    def stop(self) -> None:
        """Cancel the timer, if it is pending."""
        if self._seq:
            self._context.exchange.ctx.timers.cancel(self._seq)
            self._seq = 0

    def fired(self, timer: Timer) -> bool:
        """Return whether `timer` is the pending one, and make it available again.

        A timer that was set before time travel is ignored.
        """
        if timer.seq != self._seq:
            return False
        self._seq = 0
        return True


class Feed(ABC, Generic[S]):
    """One kind of stream.

    `scoped` means that a new stream takes over the session of an older stream with the same
    identity (rule S6). `state` names the attributes that change between inputs while
    streams are open.
    """

    scoped: ClassVar[bool] = False
    state: ClassVar[tuple[str, ...]] = ()

    def __init__(self, context: FeedContext) -> None:
        self.context = context
        self.exchange = context.exchange
        self.outbox = context.outbox

    def reads(self) -> EventReaders:
        """Return the function to call for each type of event."""
        return {}

    @abstractmethod
    def accept(self, admitted: AdmittedSubscription) -> S:
        """Return the stream for a request, or raise a Refusal. Changes nothing yet."""

    @abstractmethod
    def begin(self, stream: S) -> None:
        """Subscribe to what the stream asked for and send its first frames."""

    def frame(self, stream: S, message: bytes) -> None:
        """Handle a frame of the client. Server streams receive none."""

    def flush(self) -> None:
        """Send the gathered rows. Called after all events of an input have been read."""

    def save(self) -> list[Any]:
        """Return the state of open streams, for views of the past."""
        return [getattr(self, name) for name in self.state]

    def load(self, values: list[Any]) -> None:
        """Restore a saved state. The exchange has already been restored to the same moment."""
        for name, value in zip(self.state, values, strict=True):
            setattr(self, name, value)

    @abstractmethod
    def heartbeat(self, stream: S) -> bytes:
        """Return the heartbeat frame of a stream."""

    def catch_up(self, stream: S, waiting: Sequence[bytes]) -> list[bytes]:
        """Return the frames that replace the `waiting` ones of a stream that skips to the head.

        Changes nothing.
        """
        return list(waiting)

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that the feed owns; their names begin with "stream."."""
        return {}

    @abstractmethod
    def forget(self, stream: S) -> None:
        """Forget a stream that has ended."""


Followers: TypeAlias = dict[int, S]
"""Streams that follow the same key, by id, in order of subscribing."""


class FollowersByKey(dict[K, Followers[S]]):
    """Subscribers by the key they follow. A key without subscribers uses no memory."""

    def join(self, key: K, stream: S) -> None:
        """Make a stream follow a key."""
        self.setdefault(key, {})[stream.id] = stream

    def leave(self, key: K, stream: S) -> None:
        """Make a stream stop following a key."""
        del self[key][stream.id]
        if not self[key]:
            del self[key]


class KeyedFeed(Feed[KS]):
    """A feed whose streams follow accounts, firms or symbols.

    It can gather the rows of one input for its streams and send them once all events were read.
    """

    state: ClassVar[tuple[str, ...]] = ("_followers",)

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: FollowersByKey[str, KS] = FollowersByKey()
        self._waiting: dict[int, KS] = {}

    def join(self, stream: KS) -> None:
        """Make a stream follow its keys."""
        for key in stream.keys:
            self._followers.join(key, stream)

    def forget(self, stream: KS) -> None:
        for key in stream.keys:
            self._followers.leave(key, stream)
        self._waiting.pop(stream.id, None)

    def gather(self, streams: Iterable[KS], row: bytes) -> None:
        """Add an encoded row to what the streams are sent after this input."""
        for stream in streams:
            stream.pending.append(row)
            self._waiting[stream.id] = stream

    def flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            self.send_gathered(waiting.values())

    def send_gathered(self, streams: Iterable[KS]) -> None:
        """Send the pending rows of streams. Feeds that gather rows implement it."""


def following(streams: Iterable[FS], symbol: str) -> list[FS]:
    """Return the streams that follow a symbol: their `symbols` name it, or are empty."""
    return [stream for stream in streams if not stream.symbols or symbol in stream.symbols]


def pages(rows: Sequence[R], size: int = BATCH) -> list[Sequence[R]]:
    """Split rows into messages of at most `size`. An empty list is one empty message."""
    return [rows[first : first + size] for first in range(0, len(rows) or 1, size)]
