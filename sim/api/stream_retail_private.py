"""The private socket: a key's own orders, positions and balances (§4.2, retail facts §4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sim.api.retail_messages import balance_change, balance_message, holdings_around, position_entry_type, position_message, retail_execution, retail_order
from sim.api.stream_rules import ORDERS_PER_FRAME
from sim.api.stream_sockets import Socket, SocketFeed, Subscription
from sim.api.transcode import json_encoder
from sim.core.events import CashMoved, Event, Executed, PositionChanged
from sim.messages import Message
from sim.messages import retail_v1 as wire

_Type = wire.PrivateSubscribe_SubscriptionType
_ORDER = int(_Type.SUBSCRIPTION_TYPE_ORDER)
_SNAPSHOT = int(_Type.SUBSCRIPTION_TYPE_ORDER_SNAPSHOT)
_POSITION = int(_Type.SUBSCRIPTION_TYPE_POSITION)
_BALANCE = int(_Type.SUBSCRIPTION_TYPE_ACCOUNT_BALANCE)
_ALL = ""  # stands for every market
Key: TypeAlias = tuple[int, str, str]  # type, account, market


class PrivateSocketFeed(SocketFeed[Key]):
    """Followers by subscription type, account and market."""

    requests = wire.PrivateRequestFrame
    types = _Type
    payload_keys = {
        _ORDER: "orderSubscriptionUpdate",
        _SNAPSHOT: "orderSubscriptionSnapshot",
        _POSITION: "positionSubscription",
        _BALANCE: "accountBalancesUpdate",
    }

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {Executed: self._executed, PositionChanged: self._position_changed, CashMoved: self._cash_moved}

    def subscribe(self, socket: Socket, subscription: Subscription, request: Any) -> None:
        kind = int(request.subscription_type)
        slugs = [] if kind == _BALANCE else self.known(request.market_slugs)
        if kind == _SNAPSHOT:
            self._snapshot(socket, subscription, tuple(slugs))
            return
        self.keep(socket, subscription, kind, slugs or [_ALL])
        self.follow(socket, subscription, [(kind, socket.account, slug) for slug in slugs or [_ALL]])
        if kind == _BALANCE:
            balances = wire.AccountBalancesSnapshot(balances=[balance_message(self.desk.exchange, socket.account)])
            self.send(socket, subscription, self._encoded(balances), head=self.head(subscription.request_id, kind, "accountBalancesSnapshot"))

    def _snapshot(self, socket: Socket, subscription: Subscription, slugs: tuple[str, ...]) -> None:
        """The open orders, said once: nothing follows."""
        exchange = self.desk.exchange
        orders = [retail_order(exchange, order) for order in exchange.trading.orders.open_of((socket.account,), slugs)]
        for first in range(0, len(orders) or 1, ORDERS_PER_FRAME):
            page = wire.OrderSnapshot(orders=orders[first : first + ORDERS_PER_FRAME], eof=first + ORDERS_PER_FRAME >= len(orders))
            self.send(socket, subscription, self._encoded(page))

    def _encoded(self, message: Message) -> bytes:
        return json_encoder(type(message), self.dialect)(message)

    def _tell(self, kind: int, account: str, symbol: str, make: Callable[[], Message]) -> None:
        """Send a message to who follows the market and to who follows all; it is made and encoded once, and only when somebody does."""
        keys = [key for key in ((kind, account, symbol), (kind, account, _ALL)) if key in self._followers]
        if keys:
            payload = self._encoded(make())
            for key in keys:
                self.publish(key, payload)

    def _executed(self, event: Executed) -> None:
        order = event.execution.order
        self._tell(_ORDER, order.account, order.symbol, lambda: wire.OrderUpdate(execution=retail_execution(self.desk.exchange, event.execution)))

    def _position_changed(self, event: PositionChanged) -> None:
        self._tell(_POSITION, event.account, event.symbol, lambda: self._position_update(event))

    def _position_update(self, event: PositionChanged) -> Message:
        exchange = self.desk.exchange
        before, after = holdings_around(event)
        return wire.PositionUpdate(
            before_position=position_message(exchange, before) if before is not None else None,
            after_position=position_message(exchange, after),
            update_time=event.at,
            entry_type=position_entry_type(event),
            trade_id=event.trade_id,
            reference_id=event.id,
            description=event.description,
            update_trade_date=event.at,
        )

    def _cash_moved(self, event: CashMoved) -> None:
        self._tell(_BALANCE, event.account, _ALL, lambda: wire.AccountBalancesUpdate(balance_change=balance_change(self.desk.exchange, event)))
