"""What all streams have in common: the stream itself, where its frames go, and the kind it is of.

A `Feed` is one kind of stream. It checks a request and makes a `Stream` of it (`accept`), sends
what comes first (`begin`), turns events into frames (`reads`, `flush`), and forgets the stream when
it ends (`forget`). It never decides who may have how many streams; `streams.py` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sim.api.pipeline.inputs import Close, Effect, Send
from sim.core.catalogue.assumptions import Assumption
from sim.core.exchange import Exchange
from sim.core.model.context import Context
from sim.core.model.events import Event
from sim.core.model.refusals import Code
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import TimerHandlers

if TYPE_CHECKING:
    from sim.api.pipeline.authentication import Caller
    from sim.api.pipeline.pipeline import Admitted

# A WebSocket has no gRPC status; these are the close codes that say the same. 1000 stands for every
# other.
_WEB_SOCKET_CODES = {
    Code.UNAVAILABLE: 1001,
    Code.INTERNAL: 1011,
    Code.RESOURCE_EXHAUSTED: 1008,
    Code.INVALID_ARGUMENT: 1008,
}


class Stream:
    """One open stream. Kinds of streams add what they need to remember. `session` is the identity
    that another stream can take (rule S6), if any.

    `moved` is when a frame was last sent, `beat` when the next heartbeat is due. `skips`: a reader
    that is too slow loses its backlog instead of the stream.
    """

    __slots__ = (
        "beat",
        "caller",
        "feed",
        "id",
        "moved",
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
        self.moved: Instant = 0
        self.beat: Instant = 0
        self.skips = False


S = TypeVar("S", bound=Stream)
K = TypeVar("K")


class Outbox:
    """Effects in the order in which they leave."""

    __slots__ = ("_ctx", "effects")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.effects: list[Effect] = []

    def send(self, stream: Stream, frame: bytes) -> None:
        """A frame for one stream."""
        stream.sent += 1
        stream.moved = self._ctx.now
        self.effects.append(Send(stream.id, frame))

    def send_all(self, streams: Iterable[Stream], frame: bytes) -> None:
        """One frame for many streams: the same bytes object goes to each."""
        effects = self.effects
        now = self._ctx.now
        for stream in streams:
            stream.sent += 1
            stream.moved = now
            effects.append(Send(stream.id, frame))

    def close(self, stream: Stream, code: int, message: str) -> None:
        """The end of a stream."""
        known = _WEB_SOCKET_CODES.get(Code(code), 1000)
        self.effects.append(Close(stream.id, int(code), message, known))

    def take(self) -> list[Effect]:
        """Effects since the last take."""
        taken, self.effects = self.effects, []
        return taken


class OrderService:
    """What feeds work with: the exchange, the outbox, and `end`, which closes a stream of theirs
    for good.
    """

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
        """A period in force."""
        return self.exchange.ctx.assumptions.number(assumption)

    def schedule(self, after: Span, kind: str) -> int:
        """Set a timer; its seq."""
        return self.exchange.ctx.timers.schedule(self.now + after, kind)

    def cancel(self, seq: int) -> int:
        """Forget a timer, if there is one (0 is none); always 0."""
        if seq:
            self.exchange.ctx.timers.cancel(seq)
        return 0


class Feed(ABC):
    """One kind of stream. `scoped` says that a second stream of one identity takes the first one's
    session (rule S6).
    """

    scoped: ClassVar[bool] = False

    def __init__(self, order_service: OrderService) -> None:
        self.order_service = order_service

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        """What to call for which event. Called in order of happening."""
        return {}

    @abstractmethod
    def accept(self, admitted: Admitted) -> Stream:
        """A stream for a request, or a Refusal. Changes nothing yet."""

    @abstractmethod
    def begin(self, stream: Stream) -> None:
        """Follow what the stream asked for and send its first frames."""

    def frame(self, stream: Stream, message: bytes) -> None:
        """A frame of the client; server streams get none."""

    def flush(self) -> None:
        """All events of an input were read: send what was gathered from them."""

    @abstractmethod
    def heartbeat(self, stream: Stream) -> bytes:
        """The sign of life of a stream."""

    def catch_up(self, stream: Stream, waiting: Sequence[bytes]) -> list[bytes]:
        """For a stream that skips: what to send in the place of the frames that wait, so that its
        client knows how things are now. Changes nothing.
        """
        return list(waiting)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns, all beginning with "stream."."""
        return {}

    @abstractmethod
    def forget(self, stream: Stream) -> None:
        """The stream has ended."""


class Topic(dict[int, S]):
    """Streams that want the same thing, by id, in order of subscribing."""

    __slots__ = ()


class Topics(Generic[K, S]):
    """Followers by what they follow. A key nobody follows costs nothing."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[K, Topic[S]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __contains__(self, key: K) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[K]:
        return iter(self._by_key)

    def get(self, key: K) -> Topic[S] | None:
        """Who follows a key; None when nobody does."""
        return self._by_key.get(key)

    def items(self) -> Iterable[tuple[K, Topic[S]]]:
        """Keys with their followers."""
        return self._by_key.items()

    def join(self, key: K, stream: S) -> None:
        """A stream follows a key from now on."""
        topic = self._by_key.get(key)
        if topic is None:
            topic = self._by_key[key] = Topic()
        topic[stream.id] = stream

    def leave(self, key: K, stream: S) -> None:
        """A stream follows a key no longer."""
        topic = self._by_key[key]
        del topic[stream.id]
        if not topic:
            del self._by_key[key]
