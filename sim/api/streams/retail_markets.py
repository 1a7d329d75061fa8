"""/v1/ws/markets: books, best prices and trades of markets (§4.2, retail facts §4.1).

MARKET_DATA and MARKET_DATA_LITE send the whole object at once and again on each change, TRADE one
frame per trade. A payload is encoded once per version of the book.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sim.api.codecs.codecs import Dialect, json_encoder
from sim.api.retail.messages import book_message, lite_message, trade_frame
from sim.api.streams.feed import FeedContext
from sim.api.streams.websocket_feed import Refused, Socket, SocketFeed, Subscription
from sim.core.catalogue.assumptions import RETAIL_DEBOUNCE
from sim.core.lifecycle.states import DATA_STATES
from sim.core.model.enums import InstrumentState, TradeState
from sim.core.model.events import BookChanged, Event, StateChanged, Traded
from sim.kernel.timers import Timer, TimerHandlers
from sim.messages import retail_v1 as wire

DEBOUNCE_TIMER = "stream.debounce"

_Type = wire.MarketsSubscribe_SubscriptionType
_BOOK = int(_Type.SUBSCRIPTION_TYPE_MARKET_DATA)
_LITE = int(_Type.SUBSCRIPTION_TYPE_MARKET_DATA_LITE)
_TRADE = int(_Type.SUBSCRIPTION_TYPE_TRADE)


class Key(NamedTuple):
    """What is followed: a type of data of a market, at once or merged."""

    type: int
    slug: str
    merged: bool = False


class _Payload(NamedTuple):
    version: int
    dialect: Dialect
    encoded: bytes


class MarketsSocketFeed(SocketFeed[Key]):
    """The markets socket."""

    requests = wire.MarketsRequestFrame
    types = _Type
    payload_keys = {_BOOK: "marketData", _LITE: "marketDataLite", _TRADE: "trade"}

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._payloads: dict[tuple[int, str], _Payload] = {}
        self._last_words: dict[str, None] = {}
        self._late: dict[Key, None] = {}
        self._timer = 0

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            StateChanged: self._state_changed,
            BookChanged: self._book_changed,
            Traded: self._traded,
        }

    def subscribe(
        self, socket: Socket, subscription: Subscription, request: wire.MarketsSubscribe
    ) -> None:
        if not request.market_slugs:
            raise Refused("marketSlugs is required")
        slugs = self.known(request.market_slugs)
        type = request.subscription_type
        self.keep(socket, subscription, type, slugs)
        # Trades are told one by one: they cannot be merged.
        merged = request.responses_debounced and type != _TRADE
        self.follow(socket, subscription, [Key(type, slug, merged) for slug in slugs])
        if type != _TRADE:
            for slug in slugs:
                if self.context.exchange.trading.state(slug) in DATA_STATES:
                    self.send(socket, subscription, self._payload(type, slug))

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        super().unfollow(socket, subscription)
        if not self._followers:
            self._payloads.clear()
            self._late.clear()
            self._timer = self.context.cancel(self._timer)

    def _state_changed(self, event: StateChanged) -> None:
        if event.state is InstrumentState.TERMINATED and self._followers:
            self._last_words[event.symbol] = None

    def _book_changed(self, event: BookChanged) -> None:
        if not self._followers:
            return
        slug = event.symbol
        if (
            self.context.exchange.trading.state(slug) not in DATA_STATES
            and slug not in self._last_words
        ):
            return
        for type in (_BOOK, _LITE):
            key = Key(type, slug)
            if key in self._followers:
                self.publish(key, self._payload(type, slug))
            late = Key(type, slug, merged=True)
            if late in self._followers:
                self._late[late] = None
                self._timer = self._timer or self.context.schedule(
                    self.context.period(RETAIL_DEBOUNCE), DEBOUNCE_TIMER
                )

    def _traded(self, event: Traded) -> None:
        key = Key(_TRADE, event.trade.symbol)
        if event.state is TradeState.NEW and key in self._followers:
            self.publish(key, json_encoder(wire.TradeTick, self.dialect)(trade_frame(event.trade)))

    def flush(self) -> None:
        if self._last_words:
            self._last_words.clear()

    @property
    def timers(self) -> TimerHandlers:
        return {DEBOUNCE_TIMER: self._publish_late}

    def _publish_late(self, timer: Timer) -> None:
        if timer.seq == self._timer:
            self._timer = 0
            late, self._late = self._late, {}
            for key in late:
                if key in self._followers:
                    self.publish(key, self._payload(key.type, key.slug))

    def _payload(self, type: int, slug: str) -> bytes:
        """The encoded data of a market as it is now; made again when the book or the dialect is
        another.
        """
        exchange = self.context.exchange
        version = exchange.trading.book(slug).version
        dialect = self.dialect
        known = self._payloads.get((type, slug))
        if known is not None and known.version == version and known.dialect is dialect:
            return known.encoded
        if type == _BOOK:
            encoded = json_encoder(wire.MarketBook, dialect)(book_message(exchange, slug))
        else:
            encoded = json_encoder(wire.MarketLite, dialect)(lite_message(exchange, slug))
        self._payloads[type, slug] = _Payload(version, dialect, encoded)
        return encoded
