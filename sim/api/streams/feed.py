"""What all streams have in common: the stream, its feed, and the outbox that takes its frames.

A `Feed` is one kind of stream. It checks a request and makes a `Stream` of it (`accept`), sends the
first frames (`begin`), turns events into frames (`reads`, `flush`), and forgets the stream when it
ends (`forget`). It never decides who may have how many streams; the hub does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sim.api.pipeline.inputs import Close, Effect, Send
from sim.core.catalogue.assumption import Assumption
from sim.core.exchange import Exchange
from sim.core.model.context import Context
from sim.core.model.events import Event
from sim.core.model.refusals import Code
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import TimerHandlers

if TYPE_CHECKING:
    from sim.api.pipeline.authentication import Caller
    from sim.api.pipeline.pipeline import Admitted

# Close codes of WebSockets for gRPC status codes; 1000 for every other one.
_WEB_SOCKET_CODES = {
    Code.UNAVAILABLE: 1001,
    Code.INTERNAL: 1011,
    Code.RESOURCE_EXHAUSTED: 1008,
    Code.INVALID_ARGUMENT: 1008,
}


class Stream:
    """One open stream. Kinds of streams add what they need to remember.

    | Field | Meaning |
    |---|---|
    | session | the identity that another stream can take (rule S6), or None |
    | last_sent | when the last frame was sent |
    | heartbeat_due | when the next heartbeat is due |
    | skips | a reader that is too slow loses its backlog instead of the stream |
    """

    __slots__ = (
        "caller",
        "feed",
        "heartbeat_due",
        "id",
        "last_sent",
        "operation",
        "rpc",
        "sent",
        "session",
        "since",
        "skips",
    )

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        self.feed = feed
        self.caller: Caller = admitted.caller
        self.rpc = admitted.operation.rpc
        self.operation = admitted.operation.name
        self.session: tuple[str, str, str] | None = None
        self.id = 0
        self.since: Instant = 0
        self.sent = 0
        self.last_sent: Instant = 0
        self.heartbeat_due: Instant = 0
        self.skips = False


S = TypeVar("S", bound=Stream)
K = TypeVar("K")


class Outbox:
    """Collects effects in the order in which they leave."""

    __slots__ = ("_ctx", "effects")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.effects: list[Effect] = []

    def send(self, stream: Stream, frame: bytes) -> None:
        """Send a frame on one stream."""
        stream.sent += 1
        stream.last_sent = self._ctx.now
        self.effects.append(Send(stream.id, frame))

    def send_all(self, streams: Iterable[Stream], frame: bytes) -> None:
        """Send one frame on many streams; all share the same bytes object."""
        effects = self.effects
        now = self._ctx.now
        for stream in streams:
            stream.sent += 1
            stream.last_sent = now
            effects.append(Send(stream.id, frame))

    def close(self, stream: Stream, code: int, message: str) -> None:
        """End a stream."""
        close_code = _WEB_SOCKET_CODES.get(Code(code), 1000)
        self.effects.append(Close(stream.id, int(code), message, close_code))

    def take(self) -> list[Effect]:
        """Return the effects since the last call."""
        effects, self.effects = self.effects, []
        return effects


class FeedContext:
    """What feeds work with: the exchange, the outbox, and `end`, which ends a stream of theirs."""

    __slots__ = ("end", "exchange", "outbox")

    def __init__(
        self, exchange: Exchange, outbox: Outbox, end: Callable[[Stream, int, str], None]
    ) -> None:
        self.exchange = exchange
        self.outbox = outbox
        self.end = end

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.exchange.ctx.now

    def period(self, assumption: Assumption) -> Span:
        """Return a period in force."""
        return self.exchange.ctx.assumptions.number(assumption)

    def schedule(self, after: Span, kind: str) -> int:
        """Set a timer; return its seq."""
        return self.exchange.ctx.timers.schedule(self.now + after, kind)

    def cancel(self, seq: int) -> int:
        """Cancel a timer (0 is none); return 0, the value for "no timer"."""
        if seq:
            self.exchange.ctx.timers.cancel(seq)
        return 0


class Feed(ABC):
    """One kind of stream. `scoped` says that a second stream of one identity takes the first one's
    session (rule S6).
    """

    scoped: ClassVar[bool] = False

    def __init__(self, context: FeedContext) -> None:
        self.context = context

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        """Return what to call for which event."""
        return {}

    @abstractmethod
    def accept(self, admitted: Admitted) -> Stream:
        """Return a stream for a request, or raise a Refusal. Changes nothing yet."""

    @abstractmethod
    def begin(self, stream: Stream) -> None:
        """Follow what the stream asked for and send its first frames."""

    def frame(self, stream: Stream, message: bytes) -> None:
        """Handle a frame of the client; server streams get none."""

    def flush(self) -> None:
        """Send what was gathered; called when all events of an input were read."""

    @abstractmethod
    def heartbeat(self, stream: Stream) -> bytes:
        """Return the heartbeat frame of a stream."""

    def catch_up(self, stream: Stream, waiting: Sequence[bytes]) -> list[bytes]:
        """Return what replaces the waiting frames of a stream that skips to the head.

        Changes nothing.
        """
        return list(waiting)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns, all beginning with "stream."."""
        return {}

    @abstractmethod
    def forget(self, stream: Stream) -> None:
        """Forget a stream that has ended."""


class Followers(dict[int, S]):
    """Streams that follow the same key, by id, in order of subscribing."""

    __slots__ = ()


class FollowersByKey(Generic[K, S]):
    """Followers by the key they follow; a key without followers takes no space."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[K, Followers[S]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __contains__(self, key: K) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[K]:
        return iter(self._by_key)

    def get(self, key: K) -> Followers[S] | None:
        """Return who follows a key; None when nobody does."""
        return self._by_key.get(key)

    def items(self) -> Iterable[tuple[K, Followers[S]]]:
        """Return keys with their followers."""
        return self._by_key.items()

    def join(self, key: K, stream: S) -> None:
        """Make a stream follow a key."""
        followers = self._by_key.get(key)
        if followers is None:
            followers = self._by_key[key] = Followers()
        followers[stream.id] = stream

    def leave(self, key: K, stream: S) -> None:
        """Make a stream follow a key no longer."""
        followers = self._by_key[key]
        del followers[stream.id]
        if not followers:
            del self._by_key[key]
