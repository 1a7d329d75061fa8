"""Clients that read too slowly: their stream ends or, if they requested it, only their backlog is
dropped (rule S12).
"""

from __future__ import annotations

from typing import Any

from patience import until

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.api.pipeline.inputs import Close
from sim.api.pipeline.settings import Settings
from sim.contract.messages import exchange_v1 as wire
from sim.server.host import Host
from sim.server.stream_buffer import StreamBuffer
from sim.world.format.clock_mode import MANUAL
from tests.kit.desk import begin

BUFFER = 6_000
BOOKS = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"


class Lagging:
    """A served exchange with a client that opened a stream and does not read it."""

    def __init__(self, buffer: int = BUFFER) -> None:
        self.desk = begin(settings=Settings(stream_buffer=buffer))
        self.sim = self.desk.simulation
        self.host = Host(self.sim, MANUAL)
        self.instrument = self.desk.quiet()
        self.other = next(row for row in self.desk.in_state() if row is not self.instrument)

    def open(self, operation: str, request: Any) -> StreamBuffer:
        method = self.sim.contract.by_name(operation).full_methods[0]
        message = protobuf_encoder(type(request))(request) if request is not None else b""
        channel = self.host.open(method, self.desk.bearer(self.desk.firm), message, "127.0.0.1")
        assert isinstance(channel, StreamBuffer)
        return channel

    async def trade(self, count: int) -> None:
        """Change one book many times."""
        for number in range(count):
            order = {"as": "maker", "symbol": self.instrument.symbol, "side": "buy", "qty": "1"}
            order["price"] = f"0.{10 + number % 30}"
            await self.host.control("order.place", "", order)

    def book(self, symbol: str) -> list[tuple[int, int]]:
        answer = self.desk.partner.get(f"/v1/orderbook/{symbol}", params={"depth": 10})
        return [(int(row["px"]), int(row["qty"])) for row in answer.json()["bids"]]


async def drain(channel: StreamBuffer, response: type) -> tuple[list[Any], Close | None]:
    frames = []
    while channel.waiting:
        frames.append(protobuf_decoder(response)(await channel.take()))
    return frames, await channel.take() if channel.ended_by else None


def view(frames: list[Any]) -> dict[str, list[tuple[int, int]]]:
    return {
        frame.update.symbol: [(row.px, row.qty) for row in frame.update.bids]
        for frame in frames
        if frame.update
    }


async def test_a_reader_that_asked_to_skip_keeps_its_stream_and_knows_every_book_as_it_is():
    lagging = Lagging()
    symbols = [lagging.instrument.symbol, lagging.other.symbol]
    request = wire.CreateMarketDataSubscriptionRequest(
        symbols=symbols, slow_consumer_skip_to_head=True
    )
    channel = lagging.open(BOOKS, request)
    await lagging.trade(150)
    frames, end = await drain(channel, wire.CreateMarketDataSubscriptionResponse)
    assert end is None and len(frames) < 100
    assert view(frames) == {symbol: lagging.book(symbol) for symbol in symbols}
    await lagging.trade(1)
    frames, _ = await drain(channel, wire.CreateMarketDataSubscriptionResponse)
    assert view(frames) == {symbols[0]: lagging.book(symbols[0])}


async def test_a_book_that_did_not_change_is_shown_as_it_was_first_sent():
    """After skipped frames, a client gets the same frame of an unchanged book as all others,
    however long ago it was sent.
    """
    lagging = Lagging()
    quiet_one = lagging.other.symbol
    request = wire.CreateMarketDataSubscriptionRequest(
        symbols=[lagging.instrument.symbol, quiet_one], slow_consumer_skip_to_head=True
    )
    slow, prompt = lagging.open(BOOKS, request), lagging.open(BOOKS, request)
    response = wire.CreateMarketDataSubscriptionResponse
    first, _ = await drain(prompt, response)
    for _ in range(15):
        await lagging.host.advance(lagging.sim.now + 100_000_000)
        await lagging.trade(10)
        await drain(prompt, response)
    last, _ = await drain(slow, response)
    assert len(last) < 100
    (was,) = (frame for frame in first if frame.update and frame.update.symbol == quiet_one)
    assert [frame for frame in last if frame.update and frame.update.symbol == quiet_one] == [was]


async def test_answers_to_commands_are_never_skipped():
    lagging = Lagging()
    channel = lagging.open("MarketDataSubscriptionAPI.BiDirectionalStreamMarketData", None)
    encode = protobuf_encoder(wire.BiDirectionalStreamMarketDataRequest)
    first, second = lagging.instrument.symbol, lagging.other.symbol
    for symbols, skips in (
        ([first], True),
        ([second], False),
        (["nope"], False),
    ):  # the option is effective in the first frame only
        frame = wire.BiDirectionalStreamMarketDataRequest(
            subscribe=wire.SubscribeCommand(symbols=symbols), slow_consumer_skip_to_head=skips
        )
        lagging.host.frame(channel, encode(frame))
    await lagging.trade(150)
    frames, end = await drain(channel, wire.BiDirectionalStreamMarketDataResponse)
    assert end is None and len(frames) < 100
    added = [frame.subscription_ack.symbols_added for frame in frames if frame.subscription_ack]
    assert added == [[first], [second]]
    (error,) = (frame.subscription_error for frame in frames if frame.subscription_error)
    assert error.symbols == ["nope"] and view(frames)[first] == lagging.book(first)


async def test_a_reader_that_did_not_ask_is_disconnected_and_gives_its_place_back():
    lagging = Lagging()
    channel = lagging.open(BOOKS, wire.CreateMarketDataSubscriptionRequest())
    await lagging.trade(150)
    _, end = await drain(channel, wire.CreateMarketDataSubscriptionResponse)
    assert end is not None and (end.code, end.message) == (8, "slow consumer")
    await until(lambda: lagging.sim.streams() == [])


async def test_instrument_states_skip_to_what_they_are_now():
    lagging = Lagging(buffer=3_000)
    symbol = lagging.instrument.symbol
    request = wire.CreateInstrumentStateChangeSubscriptionRequest(
        symbols=[symbol], slow_consumer_skip_to_head=True
    )
    channel = lagging.open("DropCopyAPI.CreateInstrumentStateChangeSubscription", request)
    for state in ["SUSPENDED", "OPEN"] * 30 + ["SUSPENDED"]:
        await lagging.host.control("instrument.state", symbol, {"state": state})
    frames, end = await drain(channel, wire.CreateInstrumentStateChangeSubscriptionResponse)
    assert end is None and len(frames) < 30
    assert frames[-1].instruments[0].state == wire.InstrumentState.INSTRUMENT_STATE_SUSPENDED


async def test_skipping_leaves_no_trace_in_the_digest():
    digests = []
    for buffer in (BUFFER, 1 << 26):
        lagging = Lagging(buffer)
        request = wire.CreateMarketDataSubscriptionRequest(slow_consumer_skip_to_head=True)
        lagging.open(BOOKS, request)
        await lagging.trade(150)
        await lagging.host.advance(lagging.sim.now + 120_000_000_000)
        digests.append(lagging.sim.digest)
    assert digests[0] == digests[1]
