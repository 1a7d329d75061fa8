"""/v1/ws/private: orders, positions, balances and RFQs of a key's account (§4.2, §6.2).

Every subscriber to RFQs receives all requests and the trades that resulted from them. A quote is
sent only to its requester and its maker.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from sim.api.codecs.codecs import json_encoder
from sim.api.retail.balances import FundsInUse, balance_change, balance_message, funds_in_use
from sim.api.retail.messages import retail_execution, retail_order
from sim.api.retail.positions import holdings_around, position_entry_type, position_message
from sim.api.streams.feed import EventReaders, FeedContext, pages
from sim.api.streams.limits import ORDERS_PER_FRAME
from sim.api.streams.rfq_events import change_frame, concerns, trade_frame
from sim.api.streams.websocket_feed import Socket, SocketFeed, Subscription
from sim.contract.messages import Message
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import RETAIL_CHANGE_REJECTS
from sim.core.model.enums import CancelRejectReason, ExecutionType, RejectReason
from sim.core.model.events import (
    CancelRejected,
    CashMoved,
    Executed,
    PositionChanged,
    RfqChanged,
    Traded,
)
from sim.core.model.orders import Execution
from sim.kernel.instants import midnight_utc, trade_date

_Type = wire.PrivateSubscribe_SubscriptionType
_ORDER = int(_Type.SUBSCRIPTION_TYPE_ORDER)
_SNAPSHOT = int(_Type.SUBSCRIPTION_TYPE_ORDER_SNAPSHOT)
_POSITION = int(_Type.SUBSCRIPTION_TYPE_POSITION)
_BALANCE = int(_Type.SUBSCRIPTION_TYPE_ACCOUNT_BALANCE)
_RFQ = int(_Type.SUBSCRIPTION_TYPE_RFQ)
_BALANCE_SNAPSHOT = "accountBalancesSnapshot"

# Reject reasons that correspond to reasons of refused cancels; any other is EXCHANGE_OPTION.
_REASONS = {
    reason: RejectReason[reason.name]
    for reason in CancelRejectReason
    if reason.name in RejectReason.__members__
}

_ALL_MARKETS = ""  # used instead of a slug


class AccountTopic(NamedTuple):
    """A type of data of an account, in one market or in all."""

    type: int
    account: str
    slug: str = _ALL_MARKETS


class PrivateSocketFeed(SocketFeed[AccountTopic]):
    """The feed of the private socket."""

    requests = wire.PrivateRequestFrame
    types = _Type
    state: ClassVar[tuple[str, ...]] = (*SocketFeed.state, "_funds_in_use")
    payload_keys = {
        _ORDER: "orderSubscriptionUpdate",
        _SNAPSHOT: "orderSubscriptionSnapshot",
        _POSITION: "positionSubscription",
        _BALANCE: "accountBalancesUpdate",
        _RFQ: "rfqEvent",
    }

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        # The funds in use of each account whose balance is followed, as of its last change. They
        # are the balance "before" in a frame about a movement of cash.
        self._funds_in_use: dict[str, FundsInUse] = {}
        self._touched: dict[str, None] = {}

    def reads(self) -> EventReaders:
        return {
            Executed: self._executed,
            CancelRejected: self._change_rejected,
            PositionChanged: self._position_changed,
            CashMoved: self._cash_moved,
            RfqChanged: self._rfq_changed,
            Traded: self._traded,
        }

    def subscribe(
        self, socket: Socket, subscription: Subscription, request: wire.PrivateSubscribe
    ) -> None:
        type, account = request.subscription_type, socket.account
        by_market = type in (_ORDER, _SNAPSHOT, _POSITION)
        slugs = self.known_slugs(request.market_slugs) if by_market else []
        if type == _SNAPSHOT:
            self._send_orders(socket, subscription, slugs)
            return
        slugs = slugs or [_ALL_MARKETS]
        self.claim(socket, subscription, type, slugs)
        self.follow(socket, subscription, [AccountTopic(type, account, slug) for slug in slugs])
        if type == _BALANCE:
            self._funds_in_use[account] = funds_in_use(self.exchange, account)
            balances = [balance_message(self.exchange, account)]
            snapshot = self._encoded(wire.AccountBalancesSnapshot(balances=balances))
            self.send(socket, self.head(request.request_id, type, _BALANCE_SNAPSHOT), snapshot)

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        super().unfollow(socket, subscription)
        if AccountTopic(_BALANCE, socket.account) not in self._followers:
            self._funds_in_use.pop(socket.account, None)

    def flush(self) -> None:
        """Update the funds in use of accounts whose orders or positions changed in this input."""
        for account in self._touched:
            if account in self._funds_in_use:
                self._funds_in_use[account] = funds_in_use(self.exchange, account)
        self._touched.clear()

    def _send_orders(self, socket: Socket, subscription: Subscription, slugs: list[str]) -> None:
        """Send the open orders.

        The last frame is marked as such; without orders it is the only one.
        """
        orders = self.exchange.trading.orders.open_of((socket.account,), slugs)
        frames = pages(orders, ORDERS_PER_FRAME)
        for number, page in enumerate(frames, 1):
            messages = [retail_order(self.exchange, order) for order in page]
            snapshot = wire.OrderSnapshot(orders=messages, eof=number == len(frames))
            self.send(socket, subscription.head, self._encoded(snapshot))

    def _executed(self, event: Executed) -> None:
        order = event.execution.order
        if order.account in self._funds_in_use:
            self._touched[order.account] = None
        topics = self._followed(_ORDER, order.account, order.symbol)
        if topics:
            execution = retail_execution(self.exchange, event.execution)
            self._publish_all(topics, wire.OrderUpdate(execution=execution))

    def _change_rejected(self, event: CancelRejected) -> None:
        """Report a refused change or cancel as an execution of type REJECTED.

        It shows the order in its current state. A finished order has reported its end already and
        is not shown as rejected unless the assumption says so.
        """
        exchange = self.exchange
        topics = self._followed(_ORDER, event.account, event.symbol)
        order = exchange.trading.orders.get(event.order_id)
        choice = exchange.ctx.assumptions.text(RETAIL_CHANGE_REJECTS)
        # The account has no order with that id, so there is none to show.
        if (
            order is None
            or not topics
            or choice == "silent"
            or (choice == "working" and not order.live)
        ):
            return
        execution = Execution(
            id=event.id,
            seq=0,
            type=ExecutionType.REJECTED,
            order=order,
            at=event.at,
            text=event.text,
            reject_reason=_REASONS.get(event.reason, RejectReason.EXCHANGE_OPTION),
            trace_id=event.trace_id,
        )
        update = wire.OrderUpdate(execution=retail_execution(exchange, execution))
        self._publish_all(topics, update)

    def _position_changed(self, event: PositionChanged) -> None:
        if event.account in self._funds_in_use:
            self._touched[event.account] = None
        topics = self._followed(_POSITION, event.account, event.symbol)
        if not topics:
            return
        exchange = self.exchange
        before, after = holdings_around(exchange, event)
        update = wire.PositionUpdate(
            after_position=position_message(exchange, after, event.at),
            update_time=event.at,
            entry_type=position_entry_type(event),
            trade_id=event.trade_id,
            reference_id=event.id,
            description=event.description,
            update_trade_date=midnight_utc(trade_date(event.at)),
        )
        if before is not None:
            paid = event.settlement is not None and event.qty_change != 0
            update.before_position = position_message(
                exchange, before, event.at, expired=False if paid else None
            )
        self._publish_all(topics, update)

    def _cash_moved(self, event: CashMoved) -> None:
        before = self._funds_in_use.get(event.account)
        if before is not None:
            after = self._funds_in_use[event.account] = funds_in_use(self.exchange, event.account)
            change = balance_change(event, before, after)
            update = wire.AccountBalancesUpdate(balance_change=change)
            self._publish_all([AccountTopic(_BALANCE, event.account)], update)

    def _rfq_changed(self, event: RfqChanged) -> None:
        for topic in self._rfq_topics():
            if concerns(event, topic.account):
                frame = change_frame(self.exchange, event, topic.account)
                self._publish_all([topic], frame)

    def _traded(self, event: Traded) -> None:
        topics = self._rfq_topics()
        frame = trade_frame(self.exchange, event) if topics else None
        if frame is not None:
            self._publish_all(topics, frame)

    def _rfq_topics(self) -> list[AccountTopic]:
        return [topic for topic in self._followers if topic.type == _RFQ]

    def _followed(self, type: int, account: str, slug: str) -> list[AccountTopic]:
        """Return the topics of an account and market that somebody follows."""
        if not self._followers:
            return []
        topics = dict.fromkeys((AccountTopic(type, account, slug), AccountTopic(type, account)))
        return [topic for topic in topics if topic in self._followers]

    def _publish_all(self, topics: list[AccountTopic], message: Message) -> None:
        if topics:
            payload = self._encoded(message)
            for topic in topics:
                self.publish(topic, payload)

    def _encoded(self, message: Message) -> bytes:
        return json_encoder(type(message), self.dialect)(message)
