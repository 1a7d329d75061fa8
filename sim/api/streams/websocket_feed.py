"""Common parts of both retail WebSockets: client frames and subscriptions (§4.2, S16, S17).

A frame consists of a head, a payload and a closing brace. The head holds the requestId and type of
the subscription; all subscribers share the payload. Subscribers with equal heads share the whole
frame, so the subscribers of a topic are grouped by head.

A topic is anything that can be followed: a type of data together with a market or an account,
depending on the socket.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, ClassVar, Generic, TypeVar

from sim.api.codecs.codecs import BadInput, Dialect, dialect_at, json_decoder, parse_object
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.pipeline.replies import wire_switches
from sim.api.streams import limits
from sim.api.streams.feed import Feed, FeedContext, FeedStream, FollowersByKey
from sim.api.streams.shared_frames import (
    FRAME_TAIL,
    HEARTBEAT_FRAME,
    error_frame,
    frame_head,
    unsubscribed_frame,
)
from sim.contract.messages import Message
from sim.contract.messages.retail_v1 import MarketsSubscribe, PrivateSubscribe
from sim.core.model.refusals import cut
from sim.core.model.why import Why

T = TypeVar("T")


class RefusedRequest(Exception):
    """A request that is answered by an error frame. The socket stays open.

    `rule` is the one that refuses it; "" for a malformed request.
    """

    def __init__(self, text: str, rule: str = "") -> None:
        super().__init__(text)
        self.rule = rule


class Subscription:
    """One accepted request on a socket, and the topics that it follows.

    `claims` are pairs of type and slug, which no other subscription of the socket may have.
    """

    def __init__(self, request_id: str, head: bytes) -> None:
        self.request_id = request_id
        self.head = head
        self.topics: list[Any] = []
        self.claims: list[tuple[int, str]] = []


class Socket(FeedStream):
    """One WebSocket, with its subscriptions by request id and the claims of all of them."""

    def __init__(self, feed: Feed[Socket], admitted: AdmittedSubscription) -> None:
        super().__init__(feed, admitted)
        self.account = admitted.caller.account or ""
        self.subscriptions: dict[str, Subscription] = {}
        self.claims: set[tuple[int, str]] = set()


class SocketFeed(Feed[Socket], Generic[T]):
    """One of the two sockets. Subclasses turn requests into topics, and events into payloads.

    `payload_keys` names the member of a frame that holds the payload, by subscription type.
    """

    requests: type[Message]
    types: type[IntEnum]
    payload_keys: dict[int, str]
    state: ClassVar[tuple[str, ...]] = ("_followers", "_dialect")

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: dict[T, FollowersByKey[bytes, Socket]] = {}
        self._dialect: Dialect | None = None

    # ---- following

    @abstractmethod
    def subscribe(self, socket: Socket, subscription: Subscription, request: Any) -> None:
        """Claim and follow what a valid request asks for, and send the first frames.

        Raises RefusedRequest if that is impossible.
        """

    def follow(self, socket: Socket, subscription: Subscription, topics: Iterable[T]) -> None:
        """Make a subscription follow topics."""
        for topic in topics:
            self._followers.setdefault(topic, FollowersByKey()).join(subscription.head, socket)
            subscription.topics.append(topic)

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        """Remove a subscription that has ended from its topics."""
        for topic in subscription.topics:
            by_head = self._followers[topic]
            by_head.leave(subscription.head, socket)
            if not by_head:
                del self._followers[topic]

    # ---- opening and ending

    def accept(self, admitted: AdmittedSubscription) -> Socket:
        self._dialect = self._dialect or admitted.dialect
        return Socket(self, admitted)

    def begin(self, stream: Socket) -> None:
        """Send nothing: a socket receives no frame before its first subscription."""

    def forget(self, stream: Socket) -> None:
        for subscription in stream.subscriptions.values():
            self.unfollow(stream, subscription)
        stream.subscriptions.clear()

    def heartbeat(self, stream: Socket) -> bytes:
        return HEARTBEAT_FRAME

    @property
    def dialect(self) -> Dialect:
        """The JSON rules now in force: they may change while a socket is open."""
        opened = self._dialect
        if opened is None:
            raise LookupError("no socket was opened")
        return dialect_at(
            opened.name,
            self.context.now,
            vendor_prefix=opened.vendor_prefix,
            write_unset=opened.write_unset,
            switches=wire_switches(self.context.exchange.ctx.assumptions),
        )

    # ---- sending

    def publish(self, topic: T, payload: bytes) -> None:
        """Send a payload to all subscribers of a topic."""
        by_head = self._followers.get(topic)
        if by_head is not None:
            send_all, rest = self.outbox.send_all, payload + FRAME_TAIL
            for head, sockets in by_head.items():
                send_all(sockets.values(), head + rest)

    def send(self, socket: Socket, head: bytes, payload: bytes) -> None:
        """Send one frame on one socket."""
        self.outbox.send(socket, head + payload + FRAME_TAIL)

    def head(self, request_id: str, type: int, payload_key: str = "") -> bytes:
        """Return the bytes that precede the payloads of a subscription."""
        return frame_head(request_id, self.types(type).name, payload_key or self.payload_keys[type])

    # ---- frames of the client

    def frame(self, stream: Socket, message: bytes) -> None:
        request_id = ""
        try:
            tree = parse_object(message)
            request_id = _request_id(tree)
            request = json_decoder(self.requests)(tree)
            self._handle(stream, request)
        except (BadInput, RefusedRequest) as refused:
            if isinstance(refused, RefusedRequest) and refused.rule:
                self.exchange.ctx.apply(Why(refused.rule), f"stream/{stream.id}")
            self.outbox.send(stream, error_frame(request_id, str(refused)))

    def _handle(self, socket: Socket, frame: Any) -> None:
        if (frame.subscribe is None) == (frame.unsubscribe is None):
            raise RefusedRequest("a frame must hold subscribe or unsubscribe")
        if frame.unsubscribe is not None:
            subscription = socket.subscriptions.pop(frame.unsubscribe.request_id, None)
            if subscription is None:
                raise RefusedRequest("unknown requestId")
            socket.claims.difference_update(subscription.claims)
            self.unfollow(socket, subscription)
            self.outbox.send(socket, unsubscribed_frame(subscription.request_id))
            return
        request = frame.subscribe
        self._check(socket, request)
        head = self.head(request.request_id, request.subscription_type)
        self.subscribe(socket, Subscription(request.request_id, head), request)

    def claim(
        self, socket: Socket, subscription: Subscription, type: int, slugs: Iterable[str]
    ) -> None:
        """Register the slugs of a subscription on its socket; the slug "" stands for all markets.

        Raises RefusedRequest if another subscription of the socket has the same type and slug.
        """
        subscription.claims = [(type, slug) for slug in slugs]
        for claim in subscription.claims:
            if claim in socket.claims:
                slug = claim[1]
                raise RefusedRequest(
                    f"already subscribed: {slug}" if slug else "already subscribed"
                )
        socket.claims.update(subscription.claims)
        socket.subscriptions[subscription.request_id] = subscription

    def _check(self, socket: Socket, request: MarketsSubscribe | PrivateSubscribe) -> None:
        if not request.request_id:
            raise RefusedRequest("requestId is required")
        if request.subscription_type not in self.payload_keys:
            raise RefusedRequest("invalid subscriptionType")
        if request.request_id in socket.subscriptions:
            raise RefusedRequest("requestId is in use")
        if len(socket.subscriptions) >= limits.SUBSCRIPTIONS_MAX:
            raise RefusedRequest("max subscriptions per connection reached", rule="S16")
        if len(request.market_slugs) > limits.SLUGS_MAX:
            text = f"at most {limits.SLUGS_MAX} market slugs per subscription"
            raise RefusedRequest(text, rule="S16")

    def known_slugs(self, slugs: Iterable[str]) -> list[str]:
        """Return slugs without repeats. Raises RefusedRequest for an unknown market."""
        distinct = list(dict.fromkeys(slugs))
        for slug in distinct:
            if slug not in self.exchange.instruments:
                raise RefusedRequest(f"unknown market: {cut(slug)}")
        return distinct


def _request_id(tree: dict[str, Any]) -> str:
    """Return the request id of a frame, even of an invalid one; "" if there is none."""
    for name in ("subscribe", "unsubscribe"):
        command = tree.get(name)
        if isinstance(command, dict):
            request_id = command.get("requestId", command.get("request_id"))
            if isinstance(request_id, str):
                return request_id
    return ""
