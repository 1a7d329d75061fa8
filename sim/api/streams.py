"""Every open stream, gRPC and WebSocket: who may have one, which takes the session of which, and what each is told of what happens (§4.2, §4.4, §6.2).

Kinds of streams are feeds (`stream_*.py`). The hub gives them streams, events in order, heartbeats and their timers, and carries what they send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sim.api.contract import Contract
from sim.api.stream_drop_copy import DropCopyFeed, TradeCaptureFeed
from sim.api.stream_feed import Desk, Feed, Outbox, Stream
from sim.api.stream_heartbeats import HEARTBEAT_TIMER, Heartbeats
from sim.api.stream_instruments import InstrumentFeed
from sim.api.stream_ledger import LedgerFeed
from sim.api.stream_market_data import MarketDataFeed
from sim.api.stream_orders import OrderFeed
from sim.api.stream_positions import PositionChangeFeed, PositionFeed
from sim.api.stream_retail_markets import MarketsSocketFeed
from sim.api.stream_retail_private import PrivateSocketFeed
from sim.api.stream_rules import STREAMS_PER_FIRM_MAX
from sim.api.traffic import Effect
from sim.core.events import Event, MaintenanceChanged
from sim.core.exchange import Exchange
from sim.core.quirks import SESSION_REVOCATION
from sim.core.refusals import Code, NotBuilt, NotFound, StreamLimit
from sim.kernel.instants import format_instant
from sim.kernel.timers import Timer

if TYPE_CHECKING:
    from sim.api.pipeline import Admitted

_OWNED = "stream."

FEEDS: dict[str, type[Feed]] = {
    "OrderEntryAPI.CreateOrderSubscription": OrderFeed,
    "DropCopyAPI.CreateDropCopySubscription": DropCopyFeed,
    "DropCopyAPI.CreateTradeCaptureReportSubscription": TradeCaptureFeed,
    "DropCopyAPI.CreatePositionChangeSubscription": PositionChangeFeed,
    "DropCopyAPI.CreateInstrumentStateChangeSubscription": InstrumentFeed,
    "PositionAPI.CreatePositionSubscription": PositionFeed,
    "FundingAPI.CreateBalanceLedgerSubscription": LedgerFeed,
    "MarketDataSubscriptionAPI.CreateMarketDataSubscription": MarketDataFeed,
    "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData": MarketDataFeed,
    "RetailStreamsAPI.PrivateStream": PrivateSocketFeed,
    "RetailStreamsAPI.MarketsStream": MarketsSocketFeed,
}


class Hub:
    """Streams by id."""

    def __init__(self, exchange: Exchange, contract: Contract) -> None:
        self._exchange = exchange
        self._outbox = Outbox()
        desk = Desk(exchange, self._outbox, self._end)
        made = {kind: kind(desk) for kind in dict.fromkeys(FEEDS.values())}
        self._feeds = {contract.by_name(name).name: made[kind] for name, kind in FEEDS.items()}
        kinds = list(made.values())
        self._flushes = [feed.flush for feed in kinds]
        self._owners = {kind: feed for feed in kinds for kind in feed.timers}
        self._readers: dict[type[Event], list[Callable[[Any], None]]] = {}
        for feed in kinds:
            for event, reader in feed.reads().items():
                self._readers.setdefault(event, []).append(reader)
        self._streams: dict[int, Stream] = {}
        self._by_firm: dict[str, int] = {}
        self._sessions: dict[tuple[str, str, str], Stream] = {}
        self._heartbeats = Heartbeats(desk)

    # ---- streams come and go

    def open(self, admitted: Admitted) -> tuple[int, list[Effect]]:
        """Begin a stream: its id and first frames. Refuses the 21st of a firm (rule S7) and whatever its feed refuses."""
        feed = self._feeds.get(admitted.operation.name)
        if feed is None:
            raise NotBuilt(admitted.operation.name)
        firm = admitted.caller.firm
        if firm is not None and self._by_firm.get(firm, 0) >= STREAMS_PER_FIRM_MAX:
            message = f"concurrent stream limit reached: {STREAMS_PER_FIRM_MAX} streams per firm"
            raise StreamLimit(message, rule="S7", remedy="end a stream first: the pool is shared by all kinds")
        stream = feed.accept(admitted)
        ctx = self._exchange.ctx
        stream.id = ctx.ids.count("stream")
        stream.since = ctx.now
        self._take_session(stream, admitted)
        self._streams[stream.id] = stream
        if firm is not None:
            self._by_firm[firm] = self._by_firm.get(firm, 0) + 1
        self._heartbeats.join(stream)
        feed.begin(stream)
        return stream.id, self._outbox.take()

    def _take_session(self, stream: Stream, admitted: Admitted) -> None:
        if not stream.feed.scoped or getattr(admitted.request, "symbols", None):
            return
        caller = admitted.caller
        key = stream.session = (stream.rpc, caller.client_id or "", caller.participant or "")
        held = self._sessions.get(key)
        if held is not None and self._exchange.ctx.quirks.strikes(SESSION_REVOCATION):
            self._end(held, Code.INTERNAL, "Subscription manager revoked session")
        self._sessions[key] = stream

    def frame(self, stream: int, message: bytes) -> list[Effect]:
        """A client's frame; nothing for a stream that has ended."""
        found = self._streams.get(stream)
        if found is not None:
            found.feed.frame(found, message)
        return self._outbox.take()

    def hangup(self, stream: int) -> None:
        """The client is gone."""
        found = self._streams.get(stream)
        if found is not None:
            self._forget(found)

    def close(self, stream: int, code: int, message: str) -> list[Effect]:
        """End a stream from our side. NotFound when there is none of this id."""
        found = self._streams.get(stream)
        if found is None:
            raise NotFound(f"no stream has the id {stream}", rule="control", remedy="GET /_sim/v1/streams lists them")
        self._end(found, code, message)
        return self._outbox.take()

    def close_all(self, code: int, message: str) -> list[Effect]:
        """End every stream."""
        for stream in list(self._streams.values()):
            self._end(stream, code, message)
        return self._outbox.take()

    def _end(self, stream: Stream, code: int, message: str) -> None:
        if stream.id in self._streams:
            self._outbox.close(stream, code, message)
            self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        del self._streams[stream.id]
        self._heartbeats.leave(stream)
        stream.feed.forget(stream)
        firm = stream.caller.firm
        if firm is not None:
            self._by_firm[firm] -= 1
        if stream.session is not None and self._sessions.get(stream.session) is stream:
            del self._sessions[stream.session]

    # ---- what happens

    def publish(self, events: Sequence[Event]) -> list[Effect]:
        """Tell streams what has happened, in order; frames gathered from one input leave together."""
        if not self._streams:
            return []
        readers = self._readers
        for event in events:
            for reader in readers.get(type(event), ()):
                reader(event)
        for flush in self._flushes:
            flush()
        if any(isinstance(event, MaintenanceChanged) and event.active for event in events):
            for stream in list(self._streams.values()):
                self._end(stream, Code.UNAVAILABLE, "maintenance")
        return self._outbox.take()

    def fire(self, timer: Timer, effects: list[Effect]) -> bool:
        """A timer of the streams is due: heartbeats, refreshes, idle limits. One that outlived its streams does nothing."""
        if not timer.kind.startswith(_OWNED):
            return False
        if timer.kind == HEARTBEAT_TIMER:
            self._heartbeats.fire(timer)
        else:
            owner = self._owners.get(timer.kind)
            if owner is not None:
                owner.fire(timer)
        effects += self._outbox.take()
        return True

    def describe(self) -> list[dict[str, Any]]:
        """Open streams, oldest first."""
        return [
            {
                "id": stream.id,
                "rpc": stream.rpc,
                "firm": stream.caller.firm or stream.caller.api_key or "",
                "participant": stream.caller.participant or stream.caller.account or "",
                "since": format_instant(stream.since),
                "sent": stream.sent,
            }
            for stream in self._streams.values()
        ]
