"""The markets socket: whole books, best prices, trades (§4.2, retail facts §4.1). Every change sends the whole object again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sim.api.retail_books import book_message, lite_message
from sim.api.retail_messages import trade_frame
from sim.api.stream_sockets import Refused, Socket, SocketFeed, Subscription
from sim.api.transcode import json_encoder
from sim.core.events import BookChanged, Event, Traded
from sim.core.vocabulary import InstrumentState, TradeState
from sim.messages import Message
from sim.messages import retail_v1 as wire

_Type = wire.MarketsSubscribe_SubscriptionType
_BOOK, _LITE, _TRADE = _Type.SUBSCRIPTION_TYPE_MARKET_DATA, _Type.SUBSCRIPTION_TYPE_MARKET_DATA_LITE, _Type.SUBSCRIPTION_TYPE_TRADE
Key: TypeAlias = tuple[int, str]


class MarketsSocketFeed(SocketFeed[Key]):
    """Followers by subscription type and market."""

    requests = wire.MarketsRequestFrame
    types = _Type
    payload_keys = {int(_BOOK): "marketData", int(_LITE): "marketDataLite", int(_TRADE): "trade"}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {BookChanged: self._book_changed, Traded: self._traded}

    def subscribe(self, socket: Socket, subscription: Subscription, request: Any) -> None:
        slugs = self.known(request.market_slugs)
        if not slugs:
            raise Refused("marketSlugs is required")
        kind = int(request.subscription_type)
        self.keep(socket, subscription, kind, slugs)
        self.follow(socket, subscription, [(kind, slug) for slug in slugs])
        for slug in slugs:
            payload = self._payload(kind, slug)
            if payload is not None:
                self.send(socket, subscription, payload)

    def _payload(self, kind: int, symbol: str) -> bytes | None:
        """A market as a subscription of a kind first sees it. PENDING never appears in a book (§3.1); trades begin with nothing."""
        exchange = self.desk.exchange
        if kind == _TRADE or exchange.trading.state(symbol) is InstrumentState.PENDING:
            return None
        return self._encoded(book_message(exchange, symbol) if kind == _BOOK else lite_message(exchange, symbol))

    def _encoded(self, message: Message) -> bytes:
        return json_encoder(type(message), self.dialect)(message)

    def _book_changed(self, event: BookChanged) -> None:
        for kind in (int(_BOOK), int(_LITE)):
            if (kind, event.symbol) in self._followers:
                payload = self._payload(kind, event.symbol)
                if payload is not None:
                    self.publish((kind, event.symbol), payload)

    def _traded(self, event: Traded) -> None:
        key = (int(_TRADE), event.trade.symbol)
        if key in self._followers and event.state is TradeState.NEW:
            self.publish(key, self._encoded(trade_frame(event.trade)))
