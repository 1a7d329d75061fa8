"""Every open stream: who may have one, whose session is taken, what each event tells whom, signs of
life, and how streams end (§4.2, §4.4, §6.2, §8).

Nothing here knows a message: the kinds of streams are the `stream_*.py` files beside this one. No
stream is part of a saved state; whoever travels in time ends them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sim.api.pipeline.inputs import Effect, Outcome, OutcomeHandlers
from sim.api.streams.drop_copy import DropCopyFeed, TradeCaptureFeed
from sim.api.streams.feed import Feed, OrderService, Outbox, Stream
from sim.api.streams.funding import FundingFeed
from sim.api.streams.heartbeats import Heartbeats
from sim.api.streams.instruments import InstrumentFeed
from sim.api.streams.ledger import LedgerFeed
from sim.api.streams.limits import STREAMS_PER_FIRM_MAX
from sim.api.streams.market_data import MarketDataFeed
from sim.api.streams.orders import OrderFeed
from sim.api.streams.positions import PositionChangeFeed, PositionFeed
from sim.api.streams.retail_markets import MarketsSocketFeed
from sim.api.streams.retail_private import PrivateSocketFeed
from sim.api.streams.stream_faults import LATE_TIMER, REVOKED, Disturbance
from sim.contract.contract import Contract
from sim.core.catalogue.assumptions import (
    EXTRA_LIMITS,
    MAINTENANCE_STREAM_END,
    RETAIL_SOCKETS,
    REVOCATION_SCOPE,
    SYMBOLS_SPARE,
)
from sim.core.catalogue.quirks import SESSION_REVOCATION
from sim.core.exchange import Exchange
from sim.core.model.events import Event, MaintenanceChanged
from sim.core.model.refusals import Code, NotBuilt, NotFound, RateLimited, StreamLimit
from sim.kernel.instants import NS_PER_S, format_instant
from sim.kernel.timers import Timer, merge_owners

if TYPE_CHECKING:
    from sim.api.pipeline.authentication import Caller
    from sim.api.pipeline.pipeline import Admitted

_FRAMES = ("stream_frames",)

# What serves which operation. Operations of one kind of stream share one feed.
FEEDS: dict[str, type[Feed]] = {
    "OrderEntryAPI.CreateOrderSubscription": OrderFeed,
    "MarketDataSubscriptionAPI.CreateMarketDataSubscription": MarketDataFeed,
    "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData": MarketDataFeed,
    "DropCopyAPI.CreateDropCopySubscription": DropCopyFeed,
    "DropCopyAPI.CreateTradeCaptureReportSubscription": TradeCaptureFeed,
    "DropCopyAPI.CreatePositionChangeSubscription": PositionChangeFeed,
    "DropCopyAPI.CreateInstrumentStateChangeSubscription": InstrumentFeed,
    "PositionAPI.CreatePositionSubscription": PositionFeed,
    "FundingAPI.CreateBalanceLedgerSubscription": LedgerFeed,
    "FundingAPI.CreateFundingTransactionSubscription": FundingFeed,
    "RetailStreamsAPI.PrivateStream": PrivateSocketFeed,
    "RetailStreamsAPI.MarketsStream": MarketsSocketFeed,
}


class Hub:
    """All streams of an exchange. What they send comes back as effects, in order."""

    def __init__(self, exchange: Exchange, contract: Contract) -> None:
        self._exchange = exchange
        self._outbox = Outbox(exchange.ctx)
        self._streams: dict[int, Stream] = {}
        self._sessions: dict[tuple[str, str, str], Stream] = {}
        self._pools: dict[str, int] = {}
        order_service = OrderService(exchange, self._outbox, self._end)
        self._heartbeats = Heartbeats(order_service)
        self._disturbance = Disturbance(order_service, self._streams, self._end)
        feeds = {kind: kind(order_service) for kind in dict.fromkeys(FEEDS.values())}
        self._feeds = tuple(feeds.values())
        # The contract's own name: a misspelt one is found at start.
        self._by_operation = {
            contract.by_name(name).name: feeds[kind] for name, kind in FEEDS.items()
        }
        self._readers: dict[type[Event], list[Callable[[Any], None]]] = {}
        for feed in self._feeds:
            for event, read in feed.reads().items():
                self._readers.setdefault(event, []).append(read)

    # ---- streams

    def open(self, admitted: Admitted) -> tuple[int, list[Effect]]:
        """Begin a stream: its id and first frames, and the end of the stream whose session it
        takes. A refused request changes nothing.
        """
        feed = self._by_operation.get(admitted.operation.name)
        if feed is None:
            raise NotBuilt(admitted.operation.name)
        stream = feed.accept(admitted)
        stream.session = self._session_of(feed, admitted)
        former = self._sessions.get(stream.session) if stream.session is not None else None
        if former is not None and not self._exchange.ctx.quirks.strikes(SESSION_REVOCATION):
            former = None
        self._check_pool(admitted.caller, freed=former is not None)
        if former is not None:
            self._end(former, Code.INTERNAL, REVOKED)
        self._enter(stream)
        feed.begin(stream)
        return stream.id, self._take()

    def frame(self, stream: int, message: bytes) -> list[Effect]:
        """A frame of the client; one on a stream that has ended is ignored, and one too many of a
        firm ends the stream it came on (rule S15).
        """
        found = self._streams.get(stream)
        if found is None:
            return []
        try:
            if found.caller.firm is not None:
                self._exchange.rate_limits.check(_FRAMES, found.caller.firm)
        except RateLimited as refusal:
            self._end(found, Code.RESOURCE_EXHAUSTED, refusal.message)
        else:
            found.feed.frame(found, message)
        return self._take()

    def hangup(self, stream: int) -> None:
        """The client's side is gone."""
        found = self._streams.get(stream)
        if found is not None:
            self._disturbance.forget(stream)
            self._forget(found)

    def close(self, stream: int, code: int, message: str) -> list[Effect]:
        """End one stream. NotFound when there is none of this id."""
        found = self._streams.get(stream)
        if found is None:
            raise NotFound(
                f"no stream has the id {stream}",
                rule="control",
                remedy="GET /_sim/v1/streams lists them",
            )
        self._end(found, code, message)
        return self._take()

    def close_all(self, code: int, message: str) -> list[Effect]:
        """End every stream, oldest first."""
        self._end_all(code, message)
        return self._take()

    def silence(self) -> None:
        """Forget the timers of streams: after a journey there is nobody whom they could concern."""
        self._exchange.ctx.timers.cancel_kinds("stream.")

    def skip_to_head(self, stream: int, waiting: Sequence[bytes]) -> list[bytes] | None:
        """What a stream that skips sends in the place of the frames that wait; None for one that
        does not.
        """
        found = self._streams.get(stream)
        return found.feed.catch_up(found, waiting) if found is not None and found.skips else None

    def describe(self) -> list[dict[str, Any]]:
        """Open streams, oldest first. `firm` is the key's id and `participant` the account for
        callers of the retail API that have none.
        """
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

    # ---- events and time

    def publish(self, events: Sequence[Event]) -> list[Effect]:
        """Tell streams what has happened, in order. Virtual now is the instant of the events."""
        if not self._streams:
            return []
        readers = self._readers
        for event in events:
            found = readers.get(type(event))
            if found is not None:
                for read in found:
                    read(event)
            elif isinstance(event, MaintenanceChanged) and event.active:
                # What happened before arrives before the end (rules W3, W5).
                self._flush()
                gently = self._exchange.ctx.assumptions.text(MAINTENANCE_STREAM_END) == "ok"
                self._end_all(
                    *((Code.OK, "") if gently else (Code.UNAVAILABLE, "service unavailable"))
                )
        self._flush()
        return self._take()

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that streams own, with what each does. One set before a journey in
        time does nothing.
        """
        owned = merge_owners((self._heartbeats.timers, *(feed.timers for feed in self._feeds)))
        sending = {kind: self._sending(handler) for kind, handler in owned.items()}
        return merge_owners((sending, {LATE_TIMER: self._release_late}))

    def _sending(self, handler: Callable[[Timer], None]) -> Callable[[Timer, Outcome], None]:
        def fire(timer: Timer, outcome: Outcome) -> None:
            handler(timer)
            outcome.effects += self._take()

        return fire

    def _release_late(self, timer: Timer, outcome: Outcome) -> None:
        outcome.effects += self._disturbance.release_late(timer)

    def _flush(self) -> None:
        for feed in self._feeds:
            feed.flush()

    def _take(self) -> list[Effect]:
        return self._disturbance.apply(self._outbox.take())

    # ---- coming and going

    def _check_pool(self, caller: Caller, *, freed: bool) -> None:
        """Refuse a firm's 21st stream (rule S7), or one socket too many of a retail key; `freed`:
        one of the firm's streams ends first.
        """
        found = self._pools.get(_pool_of(caller), 0) - freed
        if caller.firm is not None:
            if found >= STREAMS_PER_FIRM_MAX:
                raise StreamLimit(
                    f"rate limit exceeded: at most {STREAMS_PER_FIRM_MAX} concurrent streams per"
                    " firm",
                    rule="S7",
                    remedy="end a stream first: the pool is shared by all subscription types",
                )
            return
        assumptions = self._exchange.ctx.assumptions
        if assumptions.flag(EXTRA_LIMITS) and found >= assumptions.number(RETAIL_SOCKETS):
            remedy = f"close a socket of this key first, or raise {RETAIL_SOCKETS.name}"
            raise StreamLimit("too many WebSockets", rule="R1", retry_after=NS_PER_S, remedy=remedy)

    def _enter(self, stream: Stream) -> None:
        ctx = self._exchange.ctx
        stream.id = ctx.ids.count("stream")
        stream.since = ctx.now
        self._streams[stream.id] = stream
        if stream.session is not None:
            self._sessions[stream.session] = stream
        pool = _pool_of(stream.caller)
        self._pools[pool] = self._pools.get(pool, 0) + 1
        self._heartbeats.join(stream)

    def _end(self, stream: Stream, code: int, message: str) -> None:
        self._outbox.close(stream, code, message)
        self._forget(stream)

    def _end_all(self, code: int, message: str) -> None:
        for stream in list(self._streams.values()):
            self._end(stream, code, message)

    def _forget(self, stream: Stream) -> None:
        del self._streams[stream.id]
        if stream.session is not None and self._sessions.get(stream.session) is stream:
            del self._sessions[stream.session]
        self._pools[_pool_of(stream.caller)] -= 1
        self._heartbeats.leave(stream)
        stream.feed.forget(stream)

    def _session_of(self, feed: Feed, admitted: Admitted) -> tuple[str, str, str] | None:
        """The identity a stream holds (rule S6): token subject, participant, rpc. None for streams
        that take no session and lose none.

        A balance ledger that is followed without naming a participant counts as its account's.
        """
        caller = admitted.caller
        rpc, assumptions = admitted.operation.rpc, self._exchange.ctx.assumptions
        spared = rpc == "CreateOrderSubscription" or assumptions.text(SYMBOLS_SPARE) == "all"
        if not feed.scoped or (spared and getattr(admitted.request, "symbols", None)):
            return None
        by_rpc = assumptions.text(REVOCATION_SCOPE) == "rpc"
        participant = caller.participant or str(getattr(admitted.request, "account", ""))
        return caller.client_id or "", participant, rpc if by_rpc else ""


def _pool_of(caller: Caller) -> str:
    """Whose streams are counted together: a firm's, else a retail key's."""
    return caller.firm or caller.api_key or ""
