"""CreateOrderSubscription: a snapshot of the open orders, then every execution and refused cancel
of the accounts (§4.4, §6.2).

There is no resume: a new stream begins with a new snapshot. An execution is encoded once; a stream
adds its session id and the time of sending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sim.api.pipeline.account_access import visible_accounts
from sim.api.rendering.exchange import cancel_reject_message, execution_message, order_message
from sim.api.streams.feed import Feed, FeedContext, Followers, FollowersByKey, Stream
from sim.api.streams.limits import BATCH
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.core.model.events import CancelRejected, Event, Executed
from sim.core.model.refusals import Code
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

_Response = wire.CreateOrderSubscriptionResponse
_in_update = nesting(_Response, "update")
_in_executions = nesting(wire.CreateOrderSubscriptionResponse_Update, "executions")
_in_cancel_reject = nesting(wire.CreateOrderSubscriptionResponse_Update, "cancel_reject")


class OrderStream(Stream):
    """A subscription to the orders of accounts. `symbols` filters unless empty; `signature` is the
    encoded session id.
    """

    __slots__ = ("accounts", "pending", "session_id", "signature", "snapshot_only", "symbols")

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        request: wire.CreateOrderSubscriptionRequest = admitted.request
        self.accounts = visible_accounts(admitted.caller, request.accounts)
        self.symbols = frozenset(request.symbols)
        self.snapshot_only = request.snapshot_only
        self.session_id = ""
        self.signature = b""
        self.pending: list[bytes] = []


class OrderFeed(Feed):
    """Order streams by account."""

    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: FollowersByKey[str, OrderStream] = FollowersByKey()
        self._waiting: dict[int, OrderStream] = {}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {Executed: self._executed, CancelRejected: self._cancel_rejected}

    def accept(self, admitted: Admitted) -> Stream:
        return OrderStream(self, admitted)

    def begin(self, stream: Stream) -> None:
        mine = cast(OrderStream, stream)
        exchange = self.context.exchange
        mine.session_id = exchange.ctx.ids.uuid("session")
        mine.signature = part(_Response, session_id=mine.session_id)
        exchange.order_sessions.begin(mine.session_id, mine.accounts)
        for account in mine.accounts:
            self._followers.join(account, mine)
        orders = exchange.trading.orders.open_of(mine.accounts, mine.symbols)
        for first in range(0, len(orders) or 1, BATCH):
            snapshot = wire.CreateOrderSubscriptionResponse_Snapshot(
                orders=[order_message(exchange, order) for order in orders[first : first + BATCH]]
            )
            self._send(mine, part(_Response, snapshot=snapshot), self._stamp())
        if mine.snapshot_only:
            self.context.end(mine, Code.OK, "")

    def forget(self, stream: Stream) -> None:
        mine = cast(OrderStream, stream)
        for account in mine.accounts:
            self._followers.leave(account, mine)
        self._waiting.pop(mine.id, None)
        self.context.exchange.order_sessions.end(mine.session_id)

    def heartbeat(self, stream: Stream) -> bytes:
        return (
            part(_Response, heartbeat=wire.Heartbeat())
            + cast(OrderStream, stream).signature
            + self._stamp()
        )

    def _executed(self, event: Executed) -> None:
        order = event.execution.order
        topic = self._followers.get(order.account)
        if topic is not None:
            self._tell(
                topic,
                order.symbol,
                _in_executions(encoded(execution_message(self.context.exchange, event.execution))),
            )

    def _cancel_rejected(self, event: CancelRejected) -> None:
        topic = self._followers.get(event.account)
        if topic is not None:
            self.flush()  # an update holds one refused cancel, after the executions before it
            self._tell(
                topic, event.symbol, _in_cancel_reject(encoded(cancel_reject_message(event)))
            )
            self.flush()

    def _tell(self, topic: Followers[OrderStream], symbol: str, update: bytes) -> None:
        for stream in topic.values():
            if not stream.symbols or symbol in stream.symbols:
                stream.pending.append(update)
                self._waiting[stream.id] = stream

    def flush(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        stamp = self._stamp()
        for stream in waiting.values():
            update = b"".join(stream.pending)
            stream.pending.clear()
            self._send(stream, _in_update(update), stamp)

    def _send(self, stream: OrderStream, event: bytes, stamp: bytes) -> None:
        self.context.outbox.send(stream, event + stream.signature + stamp)

    def _stamp(self) -> bytes:
        return part(_Response, processed_sent_time=self.context.now)
