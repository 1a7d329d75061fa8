"""/v1/ws/private: the orders, positions, balances and requests for quotes of a key's account (§4.2,
§6.2, retail facts §4.2).

Requests, and trades that came of them, are told to everybody who follows quotes; a quote to the one
who asked and the one who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sim.api.codecs.codecs import json_encoder
from sim.api.retail.messages import (
    Standing,
    balance_change,
    balance_message,
    holdings_around,
    position_entry_type,
    position_message,
    retail_execution,
    retail_order,
    standing,
)
from sim.api.retail.rfq_messages import quote_message, rfq_message, rfq_trade_message
from sim.api.streams.feed import FeedContext
from sim.api.streams.limits import ORDERS_PER_FRAME
from sim.api.streams.websocket_feed import Socket, SocketFeed, Subscription
from sim.core.catalogue.assumptions import RETAIL_CHANGE_REJECTS
from sim.core.model.enums import CancelRejectReason, ExecutionType, RejectReason
from sim.core.model.events import (
    CancelRejected,
    CashMoved,
    Event,
    Executed,
    PositionChanged,
    RfqChanged,
)
from sim.core.model.orders import Execution
from sim.core.model.rfq_records import Quote
from sim.kernel.instants import eastern, trade_date
from sim.messages import Message
from sim.messages import retail_v1 as wire

_Type = wire.PrivateSubscribe_SubscriptionType
_ORDER = int(_Type.SUBSCRIPTION_TYPE_ORDER)
_SNAPSHOT = int(_Type.SUBSCRIPTION_TYPE_ORDER_SNAPSHOT)
_POSITION = int(_Type.SUBSCRIPTION_TYPE_POSITION)
_BALANCE = int(_Type.SUBSCRIPTION_TYPE_ACCOUNT_BALANCE)
_RFQ = int(_Type.SUBSCRIPTION_TYPE_RFQ)
_BALANCE_SNAPSHOT = "accountBalancesSnapshot"

# Why a change was refused, in the words for orders; a reason they do not have is EXCHANGE_OPTION.
_REASONS = {
    reason: RejectReason[reason.name]
    for reason in CancelRejectReason
    if reason.name in RejectReason.__members__
}

# Stands for a slug: all markets.
_EVERY = ""


class Key(NamedTuple):
    """What is followed: a type of data of an account, in one market or all."""

    type: int
    account: str
    slug: str = _EVERY


class PrivateSocketFeed(SocketFeed[Key]):
    """The private socket."""

    requests = wire.PrivateRequestFrame
    types = _Type
    payload_keys = {
        _ORDER: "orderSubscriptionUpdate",
        _SNAPSHOT: "orderSubscriptionSnapshot",
        _POSITION: "positionSubscription",
        _BALANCE: "accountBalancesUpdate",
        _RFQ: "rfqEvent",
    }

    def __init__(self, context: FeedContext) -> None:
        """`_stands`: how followed accounts stood when something last happened to them, which is
        what a change of their balance begins from.
        """
        super().__init__(context)
        self._stands: dict[str, Standing] = {}
        self._touched: dict[str, None] = {}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            Executed: self._executed,
            CancelRejected: self._change_rejected,
            PositionChanged: self._position_changed,
            CashMoved: self._cash_moved,
            RfqChanged: self._rfq_changed,
        }

    def subscribe(
        self, socket: Socket, subscription: Subscription, request: wire.PrivateSubscribe
    ) -> None:
        type = request.subscription_type
        slugs = self.known(request.market_slugs) if type in (_ORDER, _SNAPSHOT, _POSITION) else []
        if type == _SNAPSHOT:
            self._send_orders(socket, subscription, slugs)
            return
        self.keep(socket, subscription, type, slugs or [_EVERY])
        self.follow(
            socket, subscription, [Key(type, socket.account, slug) for slug in slugs or [_EVERY]]
        )
        if type == _BALANCE:
            self._stands[socket.account] = standing(self.context.exchange, socket.account)
            snapshot = wire.AccountBalancesSnapshot(
                balances=[balance_message(self.context.exchange, socket.account)]
            )
            self.send(
                socket,
                subscription,
                self._encoded(snapshot),
                head=self.head(request.request_id, type, _BALANCE_SNAPSHOT),
            )

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        super().unfollow(socket, subscription)
        if Key(_BALANCE, socket.account) not in self._followers:
            self._stands.pop(socket.account, None)

    def flush(self) -> None:
        """Orders and positions of an input have changed what a later move of cash begins from."""
        for account in self._touched:
            if account in self._stands:
                self._stands[account] = standing(self.context.exchange, account)
        self._touched.clear()

    def _send_orders(self, socket: Socket, subscription: Subscription, slugs: list[str]) -> None:
        """The open orders in frames that clients accept; the last one says so, also when there is
        no order at all.
        """
        exchange = self.context.exchange
        orders = exchange.trading.orders.open_of((socket.account,), slugs)
        for first in range(0, len(orders) or 1, ORDERS_PER_FRAME):
            page = [
                retail_order(exchange, order) for order in orders[first : first + ORDERS_PER_FRAME]
            ]
            last = first + ORDERS_PER_FRAME >= len(orders)
            self.send(
                socket, subscription, self._encoded(wire.OrderSnapshot(orders=page, eof=last))
            )

    def _executed(self, event: Executed) -> None:
        order = event.execution.order
        if order.account in self._stands:
            self._touched[order.account] = None
        keys = self._heard(_ORDER, order.account, order.symbol)
        if keys:
            self._tell(
                keys,
                wire.OrderUpdate(
                    execution=retail_execution(self.context.exchange, event.execution)
                ),
            )

    def _change_rejected(self, event: CancelRejected) -> None:
        """A failed change or cancel, as an execution that rejects it. Its order is shown as it is:
        working, if it works.
        """
        exchange = self.context.exchange
        keys = self._heard(_ORDER, event.account, event.symbol)
        if not keys or exchange.ctx.assumptions.text(RETAIL_CHANGE_REJECTS) == "silent":
            return
        execution = Execution(
            id=event.id,
            seq=0,
            type=ExecutionType.REJECTED,
            order=exchange.trading.orders.require(event.order_id),
            at=event.at,
            text=event.text,
            reject_reason=_REASONS.get(event.reason, RejectReason.EXCHANGE_OPTION),
            trace_id=event.trace_id,
        )
        self._tell(keys, wire.OrderUpdate(execution=retail_execution(exchange, execution)))

    def _position_changed(self, event: PositionChanged) -> None:
        if event.account in self._stands:
            self._touched[event.account] = None
        keys = self._heard(_POSITION, event.account, event.symbol)
        if not keys:
            return
        exchange = self.context.exchange
        before, after = holdings_around(event)
        update = wire.PositionUpdate(
            before_position=(
                None if before is None else position_message(exchange, before, event.at)
            ),
            after_position=position_message(exchange, after, event.at),
            update_time=event.at,
            entry_type=position_entry_type(event),
            trade_id=event.trade_id,
            reference_id=event.id,
            description=event.description,
            update_trade_date=eastern(trade_date(event.at)),
        )
        self._tell(keys, update)

    def _cash_moved(self, event: CashMoved) -> None:
        before = self._stands.get(event.account)
        if before is not None:
            after = self._stands[event.account] = standing(self.context.exchange, event.account)
            self._tell(
                [Key(_BALANCE, event.account)],
                wire.AccountBalancesUpdate(balance_change=balance_change(event, before, after)),
            )

    def _rfq_changed(self, event: RfqChanged) -> None:
        rfq, quote, exchange = event.rfq, event.quote, self.context.exchange
        keys = [key for key in self._followers if key.type == _RFQ]
        if quote is None:
            change = wire.RfqChange(rfq=rfq_message(exchange, rfq))
            self._tell(
                keys,
                (
                    wire.RfqEvent(rfq_created=change)
                    if event.kind == "rfq_created"
                    else wire.RfqEvent(rfq_closed=change)
                ),
            )
        elif event.kind == "rfq_trade":
            trade = exchange.trading.execution_log.require_trade(
                exchange.trading.orders.require(quote.quote_order_id).last_trade_id
            )
            self._tell(
                keys,
                wire.RfqEvent(rfq_trade=wire.RfqTraded(trade=rfq_trade_message(exchange, trade))),
            )
        else:
            for key in keys:
                if key.account in (rfq.account, quote.account):
                    self._tell(
                        [key],
                        self._quote_event(event.kind, quote, mine=key.account == quote.account),
                    )

    def _quote_event(self, kind: str, quote: Quote, *, mine: bool) -> wire.RfqEvent:
        message = quote_message(self.context.exchange, quote)
        match kind:
            case "quote_accepted":
                return wire.RfqEvent(
                    quote_accepted=wire.QuoteAccepted(
                        quote=message, confirmation_deadline=quote.confirm_by
                    )
                )
            case "quote_confirmed":
                return wire.RfqEvent(
                    quote_confirmed=wire.QuoteConfirmed(
                        quote=message, execution_deadline=quote.execute_by
                    )
                )
            case "quote_executed":
                order_id = quote.quote_order_id if mine else quote.rfq_order_id
                return wire.RfqEvent(
                    quote_executed=wire.QuoteExecuted(
                        quote=message, order_id=order_id, executed_time=quote.executed_at
                    )
                )
            case "quote_created":
                return wire.RfqEvent(quote_created=wire.QuoteChange(quote=message))
            case _:
                return wire.RfqEvent(quote_deleted=wire.QuoteChange(quote=message))

    def _heard(self, type: int, account: str, slug: str) -> list[Key]:
        """Keys under which somebody hears of a market of an account."""
        if not self._followers:
            return []
        return [
            key
            for key in dict.fromkeys((Key(type, account, slug), Key(type, account)))
            if key in self._followers
        ]

    def _tell(self, keys: list[Key], message: Message) -> None:
        if not keys:
            return
        payload = self._encoded(message)
        for key in keys:
            self.publish(key, payload)

    def _encoded(self, message: Message) -> bytes:
        return json_encoder(type(message), self.dialect)(message)
