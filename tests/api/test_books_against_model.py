"""The two market data streams against a naive model: every acknowledgement, error, book and end of
each stream, in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import Side
from sim.kernel.instants import format_span, parse_instant, parse_span
from sim.run.client.client import RpcError, Stream
from tests.journeys import firm
from tests.kit import Desk, begin
from tests.kit.streams import BIDIRECTIONAL
from tests.sessions import SESSIONS

SCENARIO = """
name: books
world:
  base: empty
  instruments:
    - {symbol: one, state: OPEN}
    - {symbol: two, state: OPEN, fractional_qty_scale: 100, tick_size: "0.005"}
    - {symbol: three, start: 2026-09-08T18:03:00Z, created: 2026-09-01}
    - {symbol: four, state: OPEN}
  firms:
    - {name: firms/atlas, key: atlas, users: [{name: ann, balance: "1000"}]}
limits: {exchange_rest: "off"}
quirks: {stream_duplicates: never}
maintenance: []
assumptions: {stream.heartbeat: 0s, edge.idle_timeout: 1d}
clock: {start: 2026-09-08T18:00:00Z}
"""
OPENS = parse_instant("2026-09-08T18:03:00Z")
SYMBOLS = ("one", "two", "three", "four")
SECOND = 10**9
Options = tuple[int, bool, bool]


@dataclass
class Followed:
    """A stream: the books that it follows, its options, and the frames expected so far."""

    stream: Stream
    talks: bool
    configured: bool = False
    depth: int = 10
    single: bool = False
    snapshot_only: bool = False
    skips: bool = False
    everything: bool = False
    symbols: dict[str, None] = field(default_factory=dict)
    heard: int = 0
    sent: list[tuple[Any, ...]] = field(default_factory=list)
    end: tuple[int, str] | None = None

    @property
    def active(self) -> list[str]:
        return list(SYMBOLS) if self.everything else list(self.symbols)

    @property
    def options(self) -> Options:
        return self.depth, self.single, self.everything


class Model:
    """All streams, and for each book and set of options the instant of its last change."""

    def __init__(self, world: Desk, idle: int, refresh: int, *, all_again: bool) -> None:
        self.world = world
        self.idle, self.refresh, self.all_again = idle, refresh, all_again
        self.streams: list[Followed] = []
        self.displayed: dict[tuple[str, Options], int] = {}
        self.next_refresh = 0
        self.named: list[str] = []  # in the order in which they were first followed

    @property
    def now(self) -> int:
        return self.world.now

    @property
    def live(self) -> list[Followed]:
        return [stream for stream in self.streams if stream.end is None]

    def has_data(self, symbol: str) -> bool:
        return symbol != "three" or self.now >= OPENS

    def book(self, symbol: str, options: Options) -> tuple[Any, ...]:
        """Return a frame with the present book; its instant is that of the first frame with this
        book.
        """
        depth, single, scales = options
        trading = self.world.trading
        book, instrument = trading.book(symbol), trading.instruments.require(symbol)
        sides = []
        for side in (Side.BUY, Side.SELL):
            orders = [(order.price, order.leaves_qty) for order in book.orders(side)]
            if not single:
                levels: dict[int, int] = {}
                for price, qty in orders:
                    levels[price] = levels.get(price, 0) + qty
                orders = list(levels.items())
            sides.append(orders[:depth])
        units = (instrument.price_scale, instrument.qty_scale) if scales else (None, None)
        at = self.displayed.setdefault((symbol, options), self.now)
        return "book", symbol, *sides, trading.state(symbol).name, at, *units

    def changed(self, symbol: str) -> None:
        """Send a book to every stream that follows it."""
        self.displayed = {key: at for key, at in self.displayed.items() if key[0] != symbol}
        for item in self.live:
            if symbol in item.active and self.has_data(symbol):
                item.sent.append(self.book(symbol, item.options))

    def opened(self, followed: Followed) -> None:
        if not self.live:
            self.next_refresh = self.now + self.refresh
        followed.heard = self.now
        self.streams.append(followed)
        self.track()

    def snapshot(self, followed: Followed, symbols: list[str]) -> None:
        followed.sent += [self.book(s, followed.options) for s in symbols if self.has_data(s)]
        if followed.snapshot_only:
            self.finish(followed, 0, "")

    def finish(self, followed: Followed, code: int, message: str) -> None:
        followed.end = (code, message)
        self.track()
        if not any(other.active for other in self.live if other.configured):
            self.displayed.clear()

    def wait(self, target: int) -> None:
        """Process what is due: openings, refreshes, and the end of streams of silent clients."""
        while True:
            idle = [entry.heard + self.idle for entry in self.live if entry.talks]
            dues = [*idle, *([self.next_refresh] if self.live else [])]
            if self.now < OPENS:
                dues.append(OPENS)
            if not dues or min(dues) > target:
                break
            due = min(dues)
            self.world.advance_to(due)
            if due == OPENS:
                self.changed("three")
            for item in self.live:
                if item.talks and item.heard + self.idle == due:
                    text = f"idle timeout: no client frame for {format_span(self.idle)}"
                    self.finish(item, 14, text)
            if due == self.next_refresh and self.live:
                self.again()
                self.next_refresh += self.refresh
        self.world.advance_to(target)

    def again(self) -> None:
        total = self.all_again and any(entry.everything for entry in self.live)
        for symbol in SYMBOLS if total else list(self.named):
            for item in self.live:
                follows = symbol in item.symbols or (self.all_again and item.everything)
                if follows and self.has_data(symbol):
                    item.sent.append(self.book(symbol, item.options))

    def track(self) -> None:
        """Record which streams follow which books by name."""
        followed = dict.fromkeys(symbol for item in self.live for symbol in item.symbols)
        self.named = [symbol for symbol in self.named if symbol in followed]
        self.named += [symbol for symbol in followed if symbol not in self.named]

    # ---- commands of a client

    def talk(self, followed: Followed, command: dict[str, Any]) -> None:
        followed.heard = self.now
        kind = next((name for name in ("subscribe", "unsubscribe") if name in command), "")
        if kind and not followed.configured:
            if command.get("depth", 0) < 0:
                self.finish(followed, 3, "depth must not be negative")
                return
            followed.depth = command.get("depth", 0) or 10
            followed.single, followed.snapshot_only = (
                command["unaggregated"],
                command["snapshot_only"],
            )
            followed.skips, followed.configured = command["slow_consumer_skip_to_head"], True
        if not kind:
            if "keepalive" not in command:
                text = "a frame must hold subscribe, unsubscribe or keepalive"
                self.finish(followed, 3, text)
            elif not followed.configured:
                self.finish(followed, 3, "keepalive before the first subscribe")
            return
        symbols = list(dict.fromkeys(command[kind].symbols))
        (self.subscribe if kind == "subscribe" else self.unsubscribe)(followed, symbols)

    def subscribe(self, followed: Followed, symbols: list[str]) -> None:
        unknown = [symbol for symbol in symbols if symbol not in SYMBOLS]
        again = [symbol for symbol in symbols if symbol in followed.active]
        if unknown:
            followed.sent.append(("error", "INVALID_SYMBOL", "unknown symbol", unknown))
        elif again or (not symbols and followed.everything):
            followed.sent.append(("error", "ALREADY_SUBSCRIBED", "already subscribed", again))
        else:
            added = symbols or [symbol for symbol in SYMBOLS if symbol not in followed.symbols]
            if symbols:
                followed.symbols |= dict.fromkeys(symbols)
            else:
                followed.everything, followed.symbols = True, {}
            self.track()
            self.acknowledge(followed, added, [])
            self.snapshot(followed, added)

    def unsubscribe(self, followed: Followed, symbols: list[str]) -> None:
        missing = [symbol for symbol in symbols if symbol not in followed.active]
        if missing:
            followed.sent.append(("error", "NOT_SUBSCRIBED", "not subscribed", missing))
            return
        if followed.everything and symbols:
            followed.everything, followed.symbols = False, dict.fromkeys(SYMBOLS)
            self.track()
        for symbol in symbols:
            del followed.symbols[symbol]
        self.track()
        self.acknowledge(followed, [], symbols)

    def acknowledge(self, followed: Followed, added: list[str], removed: list[str]) -> None:
        scales = [(s, 1000, 100) if s == "two" else (s, 100, 1) for s in added]
        followed.sent.append(("ack", added, removed, followed.active, scales))


def read(frame: Any) -> tuple[Any, ...]:
    """Return a frame in the form of the model."""
    if frame.update is not None:
        u = frame.update
        sides = [[(entry.px, entry.qty) for entry in side] for side in (u.bids, u.offers)]
        state = wire.InstrumentState(u.state).name.removeprefix("INSTRUMENT_STATE_")
        return "book", u.symbol, *sides, state, u.transact_time, u.price_scale, u.quantity_scale
    if frame.subscription_error is not None:
        error = frame.subscription_error
        return "error", error.error_code, error.message, error.symbols
    ack = frame.subscription_ack
    assert ack.active_symbol_count == len(ack.active_symbols)
    assert ack.symbols_added_count == len(ack.symbols_added)
    assert ack.symbols_removed_count == len(ack.symbols_removed)
    truncated = ack.active_symbols_truncated, ack.symbols_added_truncated
    assert not any((*truncated, ack.symbols_removed_truncated))
    scales = [
        (symbol_scale.symbol, symbol_scale.price_scale, symbol_scale.quantity_scale)
        for symbol_scale in ack.symbol_scales
    ]
    return "ack", ack.symbols_added, ack.symbols_removed, ack.active_symbols, scales


class Both:
    """The exchange and the model; every step is applied to both."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.world = begin(SCENARIO)
        self.client = self.world.rpc(firm(self.world.simulation, 1))
        idle, refresh = rng.choice(("70s", "200s")), rng.choice(("60s", "25s"))
        all_again = rng.random() < 0.5
        for name, value in (
            ("edge.bidi_idle_timeout", idle),
            ("md.refresh", refresh),
            ("md.refresh_everything", all_again),
        ):
            self.world.assume(name, value)
        spans = parse_span(idle), parse_span(refresh)
        self.model = Model(self.world, *spans, all_again=all_again)

    def open(self) -> None:
        if len(self.model.live) >= 4:
            return
        if self.rng.random() < 0.6:
            self.model.opened(Followed(self.client.stream(BIDIRECTIONAL), talks=True))
            return
        symbols = self.symbols()
        options = self.options()
        request = wire.CreateMarketDataSubscriptionRequest(symbols=symbols, **options)
        try:
            stream = self.client.stream(
                "MarketDataSubscriptionAPI.CreateMarketDataSubscription", request
            )
        except RpcError as error:
            unknown = "nope" in symbols
            text = "instrument does not exist" if unknown else "depth must not be negative"
            assert (error.code, error.message) == (5 if unknown else 3, text)
            return
        followed = Followed(stream, talks=False, configured=True, everything=not symbols)
        followed.depth = options["depth"] or 10
        followed.single, followed.snapshot_only = options["unaggregated"], options["snapshot_only"]
        followed.skips = options["slow_consumer_skip_to_head"]
        followed.symbols = dict.fromkeys(symbols)
        self.model.opened(followed)
        self.model.snapshot(followed, followed.active)

    def options(self) -> dict[str, Any]:
        return {
            "depth": self.rng.choice((0, 0, 0, 1, 2, -1) if self.rng.random() < 0.3 else (0, 1, 2)),
            "unaggregated": self.rng.random() < 0.3,
            "snapshot_only": self.rng.random() < 0.15,
            "slow_consumer_skip_to_head": self.rng.random() < 0.5,
        }

    def symbols(self) -> list[str]:
        existing = self.rng.choices(SYMBOLS, k=self.rng.choice((0, 1, 1, 2, 3)))
        return existing + (["nope"] if self.rng.random() < 0.05 else [])

    def talk(self) -> None:
        talkers = [entry for entry in self.model.live if entry.talks]
        if not talkers:
            return
        item = self.rng.choice(talkers)
        kind = self.rng.choices(("subscribe", "unsubscribe", "keepalive", ""), (9, 6, 3, 0.4))[0]
        command = self.options()
        if kind == "keepalive":
            command[kind] = wire.KeepAliveCommand()
        elif kind:
            symbols = self.symbols()
            if kind == "unsubscribe" and item.active and self.rng.random() < 0.7:
                symbols = self.rng.sample(item.active, self.rng.randint(1, len(item.active)))
            created = wire.SubscribeCommand if kind == "subscribe" else wire.UnsubscribeCommand
            command[kind] = created(symbols=symbols)
        message = wire.BiDirectionalStreamMarketDataRequest(**command)
        item.stream.send(protobuf_encoder(type(message))(message))
        self.model.talk(item, command)

    def order(self) -> None:
        symbol = self.rng.choice(("one", "two", "four"))
        instrument = self.world.instrument(symbol)
        side, cents = self.rng.choice((("buy", 40), ("buy", 41), ("sell", 50), ("sell", 41)))
        if self.world.trading.state(symbol).name == "OPEN":
            self.world.place(instrument, side, cents, self.rng.randint(1, 3))
            self.model.changed(symbol)

    def state(self) -> None:
        symbol = self.rng.choice(("one", "four"))
        trading = self.world.trading
        halted = trading.state(symbol).name == "HALTED"
        body = {"state": "OPEN" if halted else "HALTED"}
        self.world.operate("instrument.state", symbol, **body)
        self.model.changed(symbol)

    def wait(self) -> None:
        span = self.rng.choice((1, SECOND, 12 * SECOND, 40 * SECOND))
        self.model.wait(self.world.now + span)

    def close(self) -> None:
        if live := self.model.live:
            item = self.rng.choice(live)
            item.stream.close()
            self.model.finish(item, -1, "")

    def skip(self) -> None:
        """Skip the backlog of a slow reader: it gets its pending answers and the present books."""
        if not self.model.live:
            return
        item = self.rng.choice(self.model.live)
        kind: Any = wire.CreateMarketDataSubscriptionResponse
        if item.talks:
            kind = wire.BiDirectionalStreamMarketDataResponse
        waiting = [protobuf_encoder(kind)(frame) for frame in item.stream.frames]
        frames = self.world.simulation.skip_to_head(item.stream.number, waiting)
        if not item.skips:
            assert frames is None
            return
        assert frames is not None
        displayed = dict(self.model.displayed)
        books = [self.model.book(s, item.options) for s in item.active if self.model.has_data(s)]
        self.model.displayed = displayed
        replies = [row for row in item.sent if row[0] != "book"]
        assert [read(protobuf_decoder(kind)(frame)) for frame in frames] == replies + books

    def check(self) -> None:
        for item in self.model.streams:
            assert [read(frame) for frame in item.stream.frames] == item.sent
            assert item.stream.end == (item.end if item.end != (-1, "") else None)


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_books_are_sent_as_in_the_model(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(45):
        kind = both.rng.choices(
            ("open", "talk", "order", "state", "wait", "close", "skip"), (3, 6, 6, 1, 3, 0.7, 2)
        )[0]
        getattr(both, kind)()
        both.check()
