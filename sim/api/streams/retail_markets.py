"""/v1/ws/markets: books, best prices and trades of markets (§4.2).

MARKET_DATA and MARKET_DATA_LITE send the whole object at once and again after each change; TRADE
sends one frame per trade. A subscription without slugs begins with the markets that have orders or
trades. A payload is encoded once per version of the book.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar, NamedTuple

from sim.api.codecs.codecs import Dialect, json_encoder
from sim.api.rendering.retail_books import book_message, lite_message
from sim.api.retail.market_data import version as data_version
from sim.api.retail.messages import trade_frame
from sim.api.streams.feed import EventReaders, FeedContext, SingleTimer
from sim.api.streams.websocket_feed import Socket, SocketFeed, Subscription
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import RETAIL_DEBOUNCE
from sim.core.lifecycle.states import DATA_STATES
from sim.core.model.enums import InstrumentState, TradeState
from sim.core.model.events import BookChanged, StateChanged, Traded
from sim.kernel.timers import Timer, TimerHandlers

DEBOUNCE_TIMER = "stream.debounce"

ALL_MARKETS = ""  # used instead of a slug

_Type = wire.MarketsSubscribe_SubscriptionType
_BOOK = int(_Type.SUBSCRIPTION_TYPE_MARKET_DATA)
_LITE = int(_Type.SUBSCRIPTION_TYPE_MARKET_DATA_LITE)
_TRADE = int(_Type.SUBSCRIPTION_TYPE_TRADE)


class MarketTopic(NamedTuple):
    """A type of data, of one market or all of them.

    `merged` means that changes are sent once per debounce period.
    """

    type: int
    slug: str
    merged: bool = False


class _Payload(NamedTuple):
    version: tuple[int, ...]
    dialect: Dialect
    encoded: bytes


class MarketsSocketFeed(SocketFeed[MarketTopic]):
    """The feed of the markets socket."""

    requests = wire.MarketsRequestFrame
    types = _Type
    state: ClassVar[tuple[str, ...]] = (*SocketFeed.state, "_payloads", "_debounced", "_timer")
    payload_keys = {_BOOK: "marketData", _LITE: "marketDataLite", _TRADE: "trade"}

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._payloads: dict[tuple[int, str], _Payload] = {}
        self._terminated: set[str] = set()  # in the current input; their books are sent once more
        self._debounced: dict[tuple[MarketTopic, str], None] = {}
        self._timer = SingleTimer(context, DEBOUNCE_TIMER)

    def save(self) -> list[Any]:
        exchange, kept = self.exchange, self._payloads.items()
        self._payloads = {
            key: payload
            for key, payload in kept
            if payload.version == data_version(exchange, key[1])
        }
        return super().save()

    def load(self, values: list[Any]) -> None:
        super().load(values)
        exchange, kept = self.exchange, self._payloads.items()
        # A payload keeps the instant of its encoding, but a loaded exchange counts versions from
        # scratch.
        self._payloads = {
            key: payload._replace(version=data_version(exchange, key[1])) for key, payload in kept
        }

    def reads(self) -> EventReaders:
        return {
            StateChanged: self._state_changed,
            BookChanged: self._book_changed,
            Traded: self._traded,
        }

    def subscribe(
        self, socket: Socket, subscription: Subscription, request: wire.MarketsSubscribe
    ) -> None:
        slugs = self.known_slugs(request.market_slugs) or [ALL_MARKETS]
        type = request.subscription_type
        self.claim(socket, subscription, type, slugs)
        # Every trade gets its own frame, so trades are never merged.
        merged = request.responses_debounced and type != _TRADE
        self.follow(socket, subscription, [MarketTopic(type, slug, merged) for slug in slugs])
        if type != _TRADE:
            named = slugs if slugs != [ALL_MARKETS] else self._active_symbols()
            for slug in named:
                if self.exchange.trading.state(slug) in DATA_STATES:
                    self.send(socket, subscription.head, self._payload(type, slug))

    def _active_symbols(self) -> list[str]:
        """Return the markets with orders or trades, with which a subscription to all markets
        begins.

        The list depends on saved state only: reading a market does not add it, and neither a reset
        nor a view of the past changes it.
        """
        trading = self.exchange.trading
        ordered = {order.symbol for order in chain.from_iterable(trading.orders.working().values())}
        return sorted(ordered.union(trading.statistics.symbols()))

    def unfollow(self, socket: Socket, subscription: Subscription) -> None:
        super().unfollow(socket, subscription)
        if not self._followers:
            self._payloads.clear()
            self._debounced.clear()
            self._timer.stop()

    def _state_changed(self, event: StateChanged) -> None:
        if event.state is InstrumentState.TERMINATED and self._followers:
            self._terminated.add(event.symbol)

    def _book_changed(self, event: BookChanged) -> None:
        if not self._followers:
            return
        slug = event.symbol
        if self.exchange.trading.state(slug) not in DATA_STATES and slug not in self._terminated:
            return
        for type in (_BOOK, _LITE):
            for topic in (MarketTopic(type, slug), MarketTopic(type, ALL_MARKETS)):
                if topic in self._followers:
                    self.publish(topic, self._payload(type, slug))
            for merged in (
                MarketTopic(type, slug, merged=True),
                MarketTopic(type, ALL_MARKETS, merged=True),
            ):
                if merged in self._followers:
                    self._debounced[merged, slug] = None
                    self._timer.start(self.context.period(RETAIL_DEBOUNCE))

    def _traded(self, event: Traded) -> None:
        if event.state is not TradeState.NEW:
            return
        topics = MarketTopic(_TRADE, event.trade.symbol), MarketTopic(_TRADE, ALL_MARKETS)
        if followed := [topic for topic in topics if topic in self._followers]:
            encoded = json_encoder(wire.TradeTick, self.dialect)(trade_frame(event.trade))
            for topic in followed:
                self.publish(topic, encoded)

    def flush(self) -> None:
        self._terminated.clear()

    @property
    def timers(self) -> TimerHandlers:
        return {DEBOUNCE_TIMER: self._publish_debounced}

    def _publish_debounced(self, timer: Timer) -> None:
        if self._timer.fired(timer):
            debounced, self._debounced = self._debounced, {}
            for topic, slug in debounced:
                if topic in self._followers:
                    self.publish(topic, self._payload(topic.type, slug))

    def _payload(self, type: int, slug: str) -> bytes:
        """Return the encoded data of a market as it is now.

        Encoded data is reused until the book or the JSON dialect changes.
        """
        exchange = self.exchange
        version = data_version(exchange, slug)
        dialect = self.dialect
        payload = self._payloads.get((type, slug))
        if payload is not None and payload.version == version and payload.dialect is dialect:
            return payload.encoded
        if type == _BOOK:
            encoded = json_encoder(wire.MarketBook, dialect)(
                book_message(exchange, slug, socket=True)
            )
        else:
            encoded = json_encoder(wire.MarketLite, dialect)(
                lite_message(exchange, slug, socket=True)
            )
        self._payloads[type, slug] = _Payload(version, dialect, encoded)
        return encoded
