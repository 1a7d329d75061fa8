"""The hub: every open stream, gRPC and WebSocket (§4.2, §4.4, §6.2, §8).

The hub decides who may open a stream, whose session a new one takes over, which feed reads which
event, when heartbeats are sent, and when a stream ends. It knows no messages: each kind of stream
is a `Feed` in a file beside this one, and `FEEDS` names the feed of each operation.

**From event to frame.** An input changes the exchange, and the exchange records events. `publish`
hands each event to the feeds that read it, in order. A feed does not send at once: it gathers what
changed, and `flush` sends it when all events of the input were read. A book that ten fills changed
is thus sent once, in its final state. Frames leave as effects of the input, in the order in which
they were made, and the server writes them to the connections.

**What a frame contains.** Order, book, position and instrument streams begin with a snapshot. A
book frame holds the whole book and replaces the one before it; all other frames are increments.
`shared_frames.py` encodes only once what several subscribers share.

**At least once.** Drop copy, trade capture and position changes can be resumed. Each of their
frames carries a resume token: the point in the firm's record up to which the stream has delivered.
A client that reconnects with its last token gets every later row, and then live ones; rows that
were in flight when the connection broke may arrive twice. Clients deduplicate by execution id.
Tokens are computed, not stored (`resume_tokens.py`), so the exchange keeps nothing for a client
that is gone. Other streams have no tokens: a client that reconnects begins with a new snapshot.

**Debounce.** A WebSocket subscription may ask for debounced responses. Its feed then sends a
changed book at the end of the debounce period instead of at every change; all such books share one
timer.

**Buffers.** The hub never waits for a reader. Frames that a connection cannot take yet wait in the
server, limited in number and bytes. A reader that falls behind loses its stream, unless the
subscription asked to skip to the head: `skip_to_head` then replaces the waiting frames by the
current state. The content of a buffer does not influence the exchange.

**Who ends a stream.**

| Who | When | How a client sees it |
|---|---|---|
| client | disconnects | |
| hub | a new stream takes its session (S6) | INTERNAL, "Subscription manager revoked session" |
| hub | nothing was sent for the edge's idle timeout (S13) | UNAVAILABLE |
| hub | the firm sends too many frames (S15) | RESOURCE_EXHAUSTED |
| hub | maintenance begins (W3, W5) | UNAVAILABLE, or OK: `MAINTENANCE_STREAM_END` |
| feed | it has sent the requested snapshot; a frame is refused | OK; the refusal's code |
| feed | the client of a bidirectional stream is silent for too long | see `market_data.py` |
| fault | an injected fault revokes or resets the stream (`stream_faults.py`) | as the fault says |
| server | the reader is too slow | RESOURCE_EXHAUSTED |
| operator | closes it | as requested |
| operator | resets, rewinds or restores the exchange | UNAVAILABLE |

No stream is part of a saved state: time travel ends all of them and cancels their timers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, structs

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.inputs import Close, Disconnect, Effect, Outcome, OutcomeHandlers
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams import saved_streams
from sim.api.streams.drop_copy import DropCopyFeed, TradeCaptureFeed
from sim.api.streams.feed import Feed, FeedContext, FeedStream, Outbox
from sim.api.streams.funding import FundingFeed
from sim.api.streams.heartbeats import Heartbeats
from sim.api.streams.instruments import InstrumentFeed
from sim.api.streams.ledger import LedgerFeed
from sim.api.streams.limits import STREAMS_PER_FIRM
from sim.api.streams.market_data import MarketDataFeed
from sim.api.streams.orders import OrderFeed
from sim.api.streams.positions import PositionChangeFeed, PositionFeed
from sim.api.streams.retail_markets import MarketsSocketFeed
from sim.api.streams.retail_private import PrivateSocketFeed
from sim.api.streams.rfq_events import RfqFeed
from sim.api.streams.saved_streams import SavedStreams
from sim.api.streams.stream_faults import (
    ABNORMAL_CLOSURE,
    CLOSED,
    LATE_TIMER,
    RESET,
    REVOKED,
    StreamFaults,
)
from sim.contract.contract import Contract
from sim.core.catalogue.assumptions import (
    MAINTENANCE_STREAM_END,
    RETAIL_SOCKETS,
    REVOCATION_SCOPE,
    SYMBOLS_SPARE,
)
from sim.core.catalogue.quirks import SESSION_REVOCATION
from sim.core.exchange import Exchange
from sim.core.model.events import Event, MaintenanceChanged
from sim.core.model.refusals import Code, NotBuilt, NotFound, RateLimited, StreamLimit
from sim.core.model.why import Why, because
from sim.kernel.instants import NS_PER_S, format_instant
from sim.kernel.timers import Timer, merge_owners

_FRAMES = ("stream_frames",)
_MAINTENANCE = Why("W5")
_BY_OPERATOR, _TIME_TRAVEL = Why("T1"), Why("T5")

# The feed of each operation. Operations with the same feed class share one instance of it.
FEEDS: dict[str, type[Feed[Any]]] = {
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
    "RFQAPI.StreamRFQEvents": RfqFeed,
    "RetailStreamsAPI.PrivateStream": PrivateSocketFeed,
    "RetailStreamsAPI.MarketsStream": MarketsSocketFeed,
}


class Hub:
    """All streams of an exchange. Its methods return effects on streams, in order."""

    def __init__(self, exchange: Exchange, contract: Contract) -> None:
        self._exchange = exchange
        self._outbox = Outbox(exchange.ctx)
        self._streams: dict[int, FeedStream] = {}
        self._sessions: dict[tuple[str, str, str], FeedStream] = {}
        self._pools: dict[str, int] = {}
        context = FeedContext(exchange, self._outbox, self._end)
        self._heartbeats = Heartbeats(context)
        self._stream_faults = StreamFaults(context, self._streams, self._end)
        feeds = {kind: kind(context) for kind in dict.fromkeys(FEEDS.values())}
        self._feeds = tuple(feeds.values())
        # Look the name up in the contract, so that a misspelt one is an error at start.
        self._by_operation = {
            contract.by_name(name).name: feeds[kind] for name, kind in FEEDS.items()
        }
        self._engine_objects = {
            "exchange": exchange,
            "context": context,
            "outbox": self._outbox,
            **{f"feed {number}": feed for number, feed in enumerate(self._feeds)},
        }
        self._readers: dict[type[Event], list[Callable[[Any], None]]] = {}
        for feed in self._feeds:
            for event, read in feed.reads().items():
                self._readers.setdefault(event, []).append(read)

    # ---- streams

    def open(self, admitted: AdmittedSubscription) -> tuple[int, list[Effect]]:
        """Open a stream. Return its id and its first frames, as effects.

        If it takes over the session of another stream, that one ends first. A
        refusal changes nothing.
        """
        feed = self._by_operation.get(admitted.operation.name)
        if feed is None:
            raise NotBuilt(admitted.operation.name)
        stream = feed.accept(admitted)
        stream.session = self._session_of(feed, admitted)
        revoked = self._sessions.get(stream.session) if stream.session is not None else None
        if revoked is not None and not self._exchange.ctx.quirks.applies(SESSION_REVOCATION):
            revoked = None
        self._check_pool(admitted.caller, freed=revoked is not None)
        if revoked is not None:
            why = because("S6", taken_by=stream.caller.participant or "")
            self._end(revoked, Code.INTERNAL, REVOKED, why)
        self._enter(stream)
        feed.begin(stream)
        return stream.id, self._take(stream.id)

    def frame(self, stream: int, message: bytes) -> list[Effect]:
        """Handle a frame of the client. A frame on a stream that has ended is ignored.

        A frame beyond the firm's limit ends the stream that it arrived on (rule S15).
        """
        receiver = self._streams.get(stream)
        if receiver is None:
            return []
        firm = receiver.caller.firm
        try:
            if firm is not None:
                self._exchange.rate_limits.check(_FRAMES, firm)
        except RateLimited as refusal:
            self._end(receiver, Code.RESOURCE_EXHAUSTED, refusal.message, refusal.why)
        else:
            receiver.feed.frame(receiver, message)
        return self._take(stream)

    def hangup(self, stream: int) -> None:
        """Forget a stream whose client has disconnected."""
        ended = self._streams.get(stream)
        if ended is not None:
            self._stream_faults.forget(stream)
            self._forget(ended)

    def opened_in(self, stream: int) -> int:
        """Return the input that opened a stream; 0 if no such stream is open."""
        opened = self._streams.get(stream)
        return 0 if opened is None else opened.opened_in

    def close(self, stream: int, code: int, message: str) -> list[Effect]:
        """End one stream for an operator. Refuses an unknown id as not found."""
        ended = self._streams.get(stream)
        if ended is None:
            text, remedy = f"no stream has the id {stream}", "GET /_sim/v1/streams lists them"
            raise NotFound(text, rule="T1", remedy=remedy)
        self._end(ended, code, message, _BY_OPERATOR)
        return self._take()

    def close_all(self, code: int, message: str) -> list[Effect]:
        """End every stream before time travel, oldest first."""
        self._end_all(code, message, _TIME_TRAVEL)
        return self._take()

    def disconnect(self, plane: str, how: str) -> list[Effect]:
        """End all connections of a plane at once, and the streams on them with it. GOAWAY lets
        streams go on.
        """
        resets = how == "reset" or UNSET
        broken = RESET if resets is True else CLOSED
        for stream in [*self._streams.values()] if how != "goaway" else ():
            if stream.web_socket is (plane == "retail") and plane in ("retail", "grpc"):
                self._end(stream, Code.UNAVAILABLE, broken, _BY_OPERATOR)
        effects = [
            structs.replace(effect, web_socket_code=ABNORMAL_CLOSURE, resets=resets)
            if isinstance(effect, Close) and plane == "retail"
            else effect
            for effect in self._take()
        ]
        return [*effects, Disconnect(plane, how)]

    def cancel_timers(self) -> None:
        """Cancel the timers of all streams before time travel, which ends every stream."""
        self._exchange.ctx.timers.cancel_kinds("stream.")

    def skip_to_head(self, stream: int, waiting: Sequence[bytes]) -> list[bytes] | None:
        """Return the frames that replace those waiting for a slow reader.

        None for a stream that did not ask to skip to the head.
        """
        slow = self._streams.get(stream)
        return slow.feed.catch_up(slow, waiting) if slow is not None and slow.skips else None

    def save(self) -> SavedStreams:
        """Save every open stream, for views of the past; see `saved_streams.py`."""
        return saved_streams.save(
            {
                "hub": (self._streams, self._sessions, self._pools),
                "heartbeats": self._heartbeats.save(),
                "faults": self._stream_faults.save(),
                "feeds": [feed.save() for feed in self._feeds],
            },
            self._engine_objects,
        )

    def load(self, saved: SavedStreams) -> None:
        """Replace the open streams by those of a saved moment."""
        state = saved_streams.load(saved, self._engine_objects)
        streams, self._sessions, self._pools = state["hub"]
        self._streams.clear()  # other objects share this mapping
        self._streams.update(streams)
        self._heartbeats.load(state["heartbeats"])
        self._stream_faults.load(state["faults"])
        for feed, values in zip(self._feeds, state["feeds"], strict=True):
            feed.load(values)

    def operations(self) -> dict[int, str]:
        """Return the names of the operations of the open streams, by stream id."""
        return {stream.id: stream.operation for stream in self._streams.values()}

    def describe(self) -> list[dict[str, Any]]:
        """Describe the open streams, oldest first.

        Callers of the retail API have no firm and no participant; the id of their key and their
        account take these places.
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
        """Send events to the streams that follow them. Virtual now is the instant of the events."""
        if not self._streams:
            return []
        readers = self._readers
        for event in events:
            interested = readers.get(type(event))
            if interested is not None:
                for read in interested:
                    read(event)
            elif isinstance(event, MaintenanceChanged) and event.active:
                # Everything that happened is sent before the streams end (rules W3, W5).
                self._flush()
                if self._exchange.ctx.assumptions.text(MAINTENANCE_STREAM_END) == "ok":
                    self._end_all(Code.OK, "", _MAINTENANCE)
                else:
                    self._end_all(Code.UNAVAILABLE, "service unavailable", _MAINTENANCE)
        self._flush()
        return self._take()

    @property
    def timers(self) -> OutcomeHandlers:
        """The timer kinds that streams own, each with its handler.

        A timer that was set before time travel does nothing.
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
        outcome.effects += self._stream_faults.release_late(timer)

    def _flush(self) -> None:
        for feed in self._feeds:
            feed.flush()

    def _take(self, answering: int = 0) -> list[Effect]:
        return self._stream_faults.apply(self._outbox.take(), answering)

    # ---- opening and ending

    def _check_pool(self, caller: Caller, *, freed: bool) -> None:
        """Refuse a firm's stream beyond its limit (rule S7), or a socket beyond the limit of a
        retail key.

        `freed` means that one stream of the caller is about to end.
        """
        open_streams = self._pools.get(_pool_of(caller), 0) - freed
        if caller.firm is not None:
            most = STREAMS_PER_FIRM.at(self._exchange.now)
            if 0 < most <= open_streams:
                limit = f"at most {most} concurrent streams per firm"
                remedy = "end a stream first: all subscription types share this limit"
                raise StreamLimit(f"rate limit exceeded: {limit}", rule="S7", remedy=remedy)
            return
        most = self._exchange.ctx.assumptions.number(RETAIL_SOCKETS)
        if 0 < most <= open_streams:
            remedy = f"close a socket of this key first, or raise {RETAIL_SOCKETS.name}"
            raise StreamLimit("too many WebSockets", rule="R1", retry_after=NS_PER_S, remedy=remedy)

    def _enter(self, stream: FeedStream) -> None:
        ctx = self._exchange.ctx
        stream.id = ctx.ids.count("stream")
        stream.opened_in = int(ctx.trace_id, 16)
        stream.since = ctx.now
        self._streams[stream.id] = stream
        if stream.session is not None:
            self._sessions[stream.session] = stream
        pool = _pool_of(stream.caller)
        self._pools[pool] = self._pools.get(pool, 0) + 1
        self._heartbeats.join(stream)

    def _end(self, stream: FeedStream, code: int, message: str, why: Why) -> None:
        self._outbox.close(stream, code, message, why)
        self._forget(stream)

    def _end_all(self, code: int, message: str, why: Why) -> None:
        for stream in list(self._streams.values()):
            self._end(stream, code, message, why)

    def _forget(self, stream: FeedStream) -> None:
        del self._streams[stream.id]
        if stream.session is not None and self._sessions.get(stream.session) is stream:
            del self._sessions[stream.session]
        self._pools[_pool_of(stream.caller)] -= 1
        self._heartbeats.leave(stream)
        stream.feed.forget(stream)

    def _session_of(
        self, feed: Feed[Any], admitted: AdmittedSubscription
    ) -> tuple[str, str, str] | None:
        """Return the session that a stream takes (rule S6): token subject, participant and
        operation.

        None for streams without sessions. A balance ledger followed without a participant uses
        its account instead.
        """
        caller = admitted.caller
        rpc, assumptions = admitted.operation.rpc, self._exchange.ctx.assumptions
        exempt = rpc == "CreateOrderSubscription" or assumptions.text(SYMBOLS_SPARE) == "all"
        if not feed.scoped or (exempt and getattr(admitted.request, "symbols", None)):
            return None
        by_rpc = assumptions.text(REVOCATION_SCOPE) == "rpc"
        participant = caller.participant or str(getattr(admitted.request, "account", ""))
        return caller.client_id or "", participant, rpc if by_rpc else ""


def _pool_of(caller: Caller) -> str:
    """Return the name under which a caller's streams are counted: firm or retail key."""
    return caller.firm or caller.api_key or ""
