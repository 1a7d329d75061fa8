"""What both retail WebSockets have in common: reading frames, subscriptions and their limits, error
frames, frames put together (§4.2, rules S16, S17).

A frame is a head of the subscription's own (its requestId and type), a payload that everybody
shares, and a closing brace. Subscribers with equal heads share the whole frame.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from sim.api.codecs.codecs import BadInput, Dialect, dialect_at, json_decoder, parse_object
from sim.api.streams import limits as rules
from sim.api.streams.feed import Feed, FeedContext, FollowersByKey, Stream
from sim.api.streams.shared_frames import FRAME_TAIL, HEARTBEAT_FRAME, error_frame, frame_head
from sim.messages import Message

if TYPE_CHECKING:
    from enum import IntEnum

    from sim.api.pipeline.pipeline import Admitted
    from sim.messages.retail_v1 import MarketsSubscribe, PrivateSubscribe

K = TypeVar("K")


class Refused(Exception):
    """A request on a socket that gets an error frame; the socket stays open."""


class Subscription:
    """One accepted request of a socket. `keys` are what it follows, `taken` what no other
    subscription of the socket may ask for.
    """

    __slots__ = ("debounced", "head", "keys", "request_id", "taken")

    def __init__(self, request_id: str, head: bytes, *, debounced: bool) -> None:
        self.request_id = request_id
        self.head = head
        self.debounced = debounced
        self.keys: list[Any] = []
        self.taken: list[tuple[int, str]] = []


class Socket(Stream):
    """One WebSocket and its subscriptions by request id."""

    __slots__ = ("account", "subscriptions", "taken")

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        self.account = admitted.caller.account or ""
        self.subscriptions: dict[str, Subscription] = {}
        self.taken: dict[tuple[int, str], None] = {}


class Heads(FollowersByKey[bytes, Socket]):
    """Followers of one thing, grouped by the head of their frames."""

    __slots__ = ()


class SocketFeed(Feed, Generic[K]):
    """One of the two sockets. Subclasses say what a request follows; keys of type K say what is
    followed.
    """

    requests: type[Message]
    types: type[IntEnum]
    payload_keys: dict[int, str]

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: dict[K, Heads] = {}
        self._dialect: Dialect | None = None

    # ---- what a socket knows

    @abstractmethod
    def subscribe(self, socket: Socket, subscription: Subscription, request: Any) -> None:
        """Fill in what a checked request follows, send what comes first, and `follow`. Refused when
        it cannot be had.
        """

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        """A subscription ended."""
        for key in subscription.keys:
            heads = self._followers[key]
            heads.leave(subscription.head, socket)
            if not heads:
                del self._followers[key]

    def follow(self, socket: Socket, subscription: Subscription, keys: Iterable[K]) -> None:
        """The subscription follows these from now on."""
        for key in keys:
            heads = self._followers.get(key)
            if heads is None:
                heads = self._followers[key] = Heads()
            heads.join(subscription.head, socket)
            subscription.keys.append(key)

    # ---- opening and ending

    def accept(self, admitted: Admitted) -> Stream:
        if self._dialect is None:
            self._dialect = admitted.dialect
        return Socket(self, admitted)

    def begin(self, stream: Stream) -> None:
        """Nothing comes before the first subscription."""

    def forget(self, stream: Stream) -> None:
        socket = cast(Socket, stream)
        for subscription in socket.subscriptions.values():
            self.unfollow(socket, subscription)
        socket.subscriptions.clear()

    def heartbeat(self, stream: Stream) -> bytes:
        return HEARTBEAT_FRAME

    @property
    def dialect(self) -> Dialect:
        """The JSON rules in force now: fields come and go while a socket is open."""
        opened = self._dialect
        if opened is None:
            raise LookupError("no socket was opened")
        return dialect_at(
            opened.name,
            self.context.now,
            vendor_prefix=opened.vendor_prefix,
            write_unset=opened.write_unset,
        )

    # ---- sending

    def publish(self, key: K, payload: bytes) -> None:
        """Send a payload to all who follow a key."""
        heads = self._followers.get(key)
        if heads is not None:
            send_all, rest = self.context.outbox.send_all, payload + FRAME_TAIL
            for head, sockets in heads.items():
                send_all(sockets.values(), head + rest)

    def send(
        self, socket: Socket, subscription: Subscription, payload: bytes, *, head: bytes = b""
    ) -> None:
        """Send a payload under one subscription."""
        self.context.outbox.send(socket, (head or subscription.head) + payload + FRAME_TAIL)

    def head(self, request_id: str, type: int, key: str = "") -> bytes:
        """What comes before payloads of a subscription type."""
        return frame_head(request_id, self.types(type).name, key or self.payload_keys[type])

    # ---- frames of the client

    def frame(self, stream: Stream, message: bytes) -> None:
        socket = cast(Socket, stream)
        request_id = ""
        try:
            given = parse_object(message)
            request_id = _request_id(given)
            self._obey(socket, json_decoder(self.requests)(given))
        except (BadInput, Refused) as refused:
            self.context.outbox.send(socket, error_frame(request_id, str(refused)))

    def _obey(self, socket: Socket, frame: Any) -> None:
        if (frame.subscribe is None) == (frame.unsubscribe is None):
            raise Refused("a frame holds subscribe or unsubscribe")
        if frame.unsubscribe is not None:
            subscription = socket.subscriptions.pop(frame.unsubscribe.request_id, None)
            if subscription is None:
                raise Refused("no subscription has this requestId")
            for taken in subscription.taken:
                del socket.taken[taken]
            self.unfollow(socket, subscription)
            return
        self._check(socket, frame.subscribe)
        request = frame.subscribe
        subscription = Subscription(
            request.request_id,
            self.head(request.request_id, request.subscription_type),
            debounced=request.responses_debounced,
        )
        self.subscribe(socket, subscription, request)

    def keep(
        self, socket: Socket, subscription: Subscription, type: int, slugs: Iterable[str]
    ) -> None:
        """Count a subscription among the socket's. Refused when one of the slugs is subscribed
        already under this type; "" stands for all.
        """
        subscription.taken = [(type, slug) for slug in slugs]
        again = [slug for taken, slug in subscription.taken if (taken, slug) in socket.taken]
        if again:
            raise Refused(f"already subscribed: {again[0]}" if again[0] else "already subscribed")
        socket.taken.update(dict.fromkeys(subscription.taken))
        socket.subscriptions[subscription.request_id] = subscription

    def _check(self, socket: Socket, request: MarketsSubscribe | PrivateSubscribe) -> None:
        if not request.request_id:
            raise Refused("requestId is required")
        if request.subscription_type not in self.payload_keys:
            raise Refused("invalid subscriptionType")
        if request.request_id in socket.subscriptions:
            raise Refused("requestId is in use")
        if len(socket.subscriptions) >= rules.SUBSCRIPTIONS_MAX:
            raise Refused("max subscriptions per connection reached")
        if len(request.market_slugs) > rules.SLUGS_MAX:
            raise Refused(f"at most {rules.SLUGS_MAX} market slugs per subscription")

    def known(self, slugs: Iterable[str]) -> list[str]:
        """Slugs without repeats; Refused when one is no market."""
        found = list(dict.fromkeys(slugs))
        for slug in found:
            if slug not in self.context.exchange.instruments:
                raise Refused(f"unknown market: {slug[:80]}")
        return found


def _request_id(given: dict[str, Any]) -> str:
    """The request id of a frame that may be wrong in other ways; "" when there is none."""
    for command in ("subscribe", "unsubscribe"):
        inner = given.get(command)
        if isinstance(inner, dict):
            found = inner.get("requestId", inner.get("request_id"))
            if isinstance(found, str):
                return found
    return ""
