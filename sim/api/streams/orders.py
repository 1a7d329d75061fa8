"""CreateOrderSubscription: open orders, then executions and refused cancels (§4.4, §6.2).

The stream cannot be resumed: a new one begins with a new snapshot. An execution is encoded once for
all streams; each stream adds its session id and the sending time.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rendering.exchange_orders import (
    cancel_reject_message,
    execution_message,
    order_message,
)
from sim.api.streams.feed import (
    SNAPSHOT_SENT,
    EventReaders,
    Feed,
    FilteredStream,
    Followers,
    KeyedFeed,
    following,
    pages,
)
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.events import CancelRejected, Executed
from sim.core.model.refusals import Code

_Response = wire.CreateOrderSubscriptionResponse
_in_update = nesting(_Response, "update")
_in_executions = nesting(wire.CreateOrderSubscriptionResponse_Update, "executions")
_in_cancel_reject = nesting(wire.CreateOrderSubscriptionResponse_Update, "cancel_reject")


class OrderStream(FilteredStream):
    """A subscription to the orders of accounts. `symbols` filters unless empty.

    `signature` is the encoded session id.
    """

    def __init__(self, feed: Feed[OrderStream], admitted: AdmittedSubscription) -> None:
        request: wire.CreateOrderSubscriptionRequest = admitted.request
        super().__init__(feed, admitted, visible_accounts(admitted.caller, request.accounts))
        self.symbols = frozenset(request.symbols)
        self.snapshot_only = request.snapshot_only
        self.session_id = ""
        self.signature = b""


class OrderFeed(KeyedFeed[OrderStream]):
    """Order streams by account."""

    scoped = True

    def reads(self) -> EventReaders:
        return {Executed: self._executed, CancelRejected: self._cancel_rejected}

    def accept(self, admitted: AdmittedSubscription) -> OrderStream:
        return OrderStream(self, admitted)

    def begin(self, stream: OrderStream) -> None:
        exchange = self.exchange
        stream.session_id = exchange.ctx.ids.uuid("session")
        stream.signature = part(_Response, session_id=stream.session_id)
        exchange.order_sessions.begin(stream.session_id, stream.keys)
        self.join(stream)
        for orders in pages(exchange.trading.orders.open_of(stream.keys, stream.symbols)):
            messages = [order_message(exchange, order) for order in orders]
            snapshot = wire.CreateOrderSubscriptionResponse_Snapshot(orders=messages)
            self._send(stream, part(_Response, snapshot=snapshot), self._stamp())
        if stream.snapshot_only:
            self.context.end(stream, Code.OK, "", SNAPSHOT_SENT)

    def forget(self, stream: OrderStream) -> None:
        super().forget(stream)
        self.exchange.order_sessions.end(stream.session_id)

    def heartbeat(self, stream: OrderStream) -> bytes:
        return part(_Response, heartbeat=wire.Heartbeat()) + stream.signature + self._stamp()

    def _executed(self, event: Executed) -> None:
        execution = event.execution
        followers = self._followers.get(execution.order.account)
        if followers is not None:
            update = _in_executions(encoded(execution_message(self.exchange, execution)))
            self._gather(followers, execution.order.symbol, update)

    def _cancel_rejected(self, event: CancelRejected) -> None:
        followers = self._followers.get(event.account)
        if followers is not None:
            self.flush()  # an update holds only one refused cancel: send earlier executions first
            update = _in_cancel_reject(encoded(cancel_reject_message(event)))
            self._gather(followers, event.symbol, update)
            self.flush()

    def _gather(self, followers: Followers[OrderStream], symbol: str, update: bytes) -> None:
        self.gather(following(followers.values(), symbol), update)

    def send_gathered(self, streams: Iterable[OrderStream]) -> None:
        stamp = self._stamp()
        for stream in streams:
            update = b"".join(stream.pending)
            stream.pending.clear()
            self._send(stream, _in_update(update), stamp)

    def _send(self, stream: OrderStream, event: bytes, stamp: bytes) -> None:
        self.outbox.send(stream, event + stream.signature + stamp)

    def _stamp(self) -> bytes:
        return part(_Response, processed_sent_time=self.context.now)
