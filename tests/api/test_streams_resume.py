"""A stream that is interrupted after any message and resumed delivers exactly the messages of a
stream that was never interrupted.

One exchange processes random orders, cancels, trades, busts and clock steps, with one uninterrupted
stream of each kind from the beginning. Then each message of it is taken as the last one received
before an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.streams import ledger, resumable
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.run.client.client import Stream
from tests.journeys import quiet
from tests.kit import Desk
from tests.kit.streams import books, drop_copy, orders, position_changes, trades


class Kind(NamedTuple):
    """A kind of stream: how to open it, and how to read its messages."""

    name: str
    open: Callable[..., Stream]
    rows: Callable[[Any], Any]


KINDS = [
    Kind("drop copy", drop_copy, lambda frame: frame.executions),
    Kind("trade capture", trades, lambda frame: frame.trade_capture_reports),
    Kind("position change", position_changes, lambda frame: frame.position_changes),
]

ACTIONS = st.lists(
    st.one_of(
        st.tuples(
            st.just("place"),
            st.integers(0, 1),
            st.sampled_from(["buy", "sell"]),
            st.integers(48, 52),
            st.integers(1, 4),
            st.integers(0, 1),
        ),
        st.tuples(st.just("advance"), st.sampled_from(["1s", "15s", "30s", "1m"])),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.just("bust"), st.integers(0, 9)),
        st.tuples(st.just("settle"), st.integers(0, 1)),
    ),
    min_size=1,
    max_size=14,
)

_start: list[Simulation] = []
_pair: list[Instrument] = []


def beginning() -> Desk:
    """Return the same exchange each time, in its state before any input."""
    if not _start:
        _start.append(Simulation(load_scenario("quickstart")))
        _start[0].control("preset.set", "", {"name": "ideal"})
        _start[0].snapshot("beginning")
    _start[0].restore("beginning")
    return Desk(_start[0])


def two(world: Desk) -> list[Instrument]:
    """Return two open instruments of one kind, whose books are empty at first."""
    if not _pair:
        sim = world.simulation
        first = quiet(sim)
        others = (
            instrument
            for instrument in sim.exchange.instruments
            if sim.exchange.trading.state(instrument.symbol) is InstrumentState.OPEN
        )
        _pair.extend(
            [
                first,
                next(
                    other
                    for other in others
                    if other.symbol != first.symbol and other.tick == first.tick
                ),
            ]
        )
    return _pair


def act(world: Desk, action: tuple[Any, ...], placed: list[str]) -> None:
    """Perform one random action; a refused action has no effect."""
    kind, *rest = action
    trading = world.trading
    if kind == "place":
        which, side, cents, contracts, user = rest
        result = two(world)[which]
        if trading.state(result.symbol) is InstrumentState.OPEN:
            placed.append(world.place(result, side, cents, contracts, user=user))
    elif kind == "advance":
        world.advance(rest[0])
    elif kind == "cancel" and placed:
        for user in (0, 1):
            world.trader(user).post(
                "/v1/trading/orders/cancel", json={"orderId": placed[rest[0] % len(placed)]}
            )
    elif kind == "bust" and len(trading.trades):
        trade = trading.trades[-1 - rest[0] % len(trading.trades)]
        if trade.state.name != "BUSTED" and trading.state(trade.symbol) is InstrumentState.OPEN:
            trading.listings.bust(trade.id)
            world.advance("1ns")  # the input that sends it
    elif kind == "settle":
        result = two(world)[rest[0]]
        if trading.state(result.symbol) is InstrumentState.OPEN:
            world.settle(result, "1")


def tell(world: Desk, actions: Sequence[tuple[Any, ...]]) -> None:
    """Perform all actions."""
    placed: list[str] = []
    for action in actions:
        act(world, action, placed)


def rows(kind: Kind, frames: Sequence[Any]) -> list[Any]:
    return [row for frame in frames for row in kind.rows(frame)]


# A fixed example with every kind of action, so that every run covers all of them.
STORY = [
    ("place", 0, "sell", 50, 2, 1), ("place", 0, "sell", 51, 2, 1), ("place", 0, "buy", 52, 3, 0), ("place", 1, "buy", 49, 1, 0),
    ("place", 1, "sell", 49, 4, 1),
    ("bust", 0), ("advance", "15s"), ("place", 0, "buy", 51, 1, 0), ("advance", "30s"), ("bust", 0), ("cancel", 4), ("settle", 0), ("advance", "1m"),
    ("place", 1, "buy", 1, 1, 0),
]  # fmt: skip


@pytest.mark.spec("S6.2-1", "S6.2-2", "S6.2-6")
@settings(max_examples=15)
@example(actions=STORY, filtered=False, batch=1)
@given(actions=ACTIONS, filtered=st.booleans(), batch=st.sampled_from([1, 3, 500]))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_stream_can_be_resumed_after_every_message(
    kind: Kind, actions: list[tuple[Any, ...]], filtered: bool, batch: int
) -> None:
    """S2: strictly after the last message; first the replay up to now, then live messages."""
    world = beginning()
    filters = {"symbols": [two(world)[0].symbol]} if filtered else {}
    start = world.now
    total = kind.open(world, **filters)
    tell(world, actions)
    frames = total.take()
    total.close()
    expected = rows(kind, frames)
    assert len(expected) > 6 or actions is not STORY
    with mock.patch.object(resumable, "BATCH", batch):
        for number, frame in enumerate(frames):
            before = rows(kind, frames[: number + 1])
            replayed = kind.open(world, **filters, resume_token=frame.resume_token).take()
            assert before + rows(kind, replayed) == expected
            # A replay that is interrupted can be resumed in the same way.
            for position, part in enumerate(replayed):
                again = kind.open(world, **filters, resume_token=part.resume_token)
                assert (
                    before + rows(kind, replayed[: position + 1]) + rows(kind, again.take())
                    == expected
                )
                again.close()
        assert rows(kind, kind.open(world, **filters, resume_time=start).take()) == expected


@pytest.mark.spec("S4.4-3", "S6.2-3", "S6.2-6")
@settings(max_examples=15)
@example(actions=STORY, batch=1)
@given(actions=ACTIONS, batch=st.sampled_from([1, 3, 500]))
def test_a_balance_ledger_taken_up_at_its_last_entry_repeats_that_instant_and_loses_nothing(
    actions: list[tuple[Any, ...]], batch: int
) -> None:
    world = beginning()
    account = world.firm.users[0].account

    def entries(since: int) -> list[list[wire.BalanceLedgerEntry]]:
        request = wire.CreateBalanceLedgerSubscriptionRequest(account=account, resume_time=since)
        stream = world.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)
        following.append(stream)
        return [frame.entries for frame in stream.take() if frame.entries]

    following: list[Stream] = []
    old = entries(world.now)
    tell(world, actions)
    messages = [*old, *(frame.entries for frame in following[0].take() if frame.entries)]
    expected = [entry for message in messages for entry in message]
    assert len(expected) > 3 or actions is not STORY
    with mock.patch.object(ledger, "BATCH", batch):
        for number in range(len(messages)):
            observed = [entry for message in messages[: number + 1] for entry in message]
            last = observed[-1].update_time
            kept = [entry for entry in observed if entry.update_time < last]
            assert kept + [entry for message in entries(last) for entry in message] == expected


# ---- streams that start again with a snapshot


def open_orders(frames: Sequence[Any]) -> dict[str, Any]:
    """Return the working orders that a client knows from the stream."""
    existing: dict[str, Any] = {}
    for frame in frames:
        for order in frame.snapshot.orders if frame.snapshot else ():
            existing[order.id] = order
        for execution in frame.update.executions if frame.update else ():
            existing[execution.order.id] = execution.order
            if not execution.order.leaves_qty:
                del existing[execution.order.id]
    return existing


def positions(frames: Sequence[Any]) -> dict[tuple[str, str], Any]:
    result = (frame.snapshot or frame.update for frame in frames)
    return {
        (position.account, position.symbol): position
        for part in result
        if part is not None
        for position in part.positions
    }


def books_shown(frames: Sequence[Any]) -> dict[str, Any]:
    displayed = {frame.update.symbol: frame.update for frame in frames if frame.update}
    return {
        symbol: (book.bids, book.offers, book.state, book.stats)
        for symbol, book in displayed.items()
    }


def open_positions(world: Desk) -> Stream:
    return world.rpc_trader().stream(
        "PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()
    )


SNAPSHOTS = [
    Kind(
        "orders",
        lambda world: orders(world, symbols=[result.symbol for result in two(world)]),
        open_orders,
    ),
    Kind("positions", open_positions, positions),
    Kind(
        "market data",
        lambda world: books(world, *(result.symbol for result in two(world))),
        books_shown,
    ),
]


@pytest.mark.spec("S6.2-5", "S6.2-6")
@settings(max_examples=15)
@example(actions=STORY)
@given(actions=ACTIONS)
@pytest.mark.parametrize("kind", SNAPSHOTS, ids=lambda kind: kind.name)
def test_a_stream_that_begins_anew_at_any_moment_shows_the_same_in_the_end(
    kind: Kind, actions: list[tuple[Any, ...]]
) -> None:
    """A client that subscribes again at any moment gets a snapshot and then changes. In the end it
    knows the same orders as a client that was never disconnected.
    """
    world = beginning()
    streams = [kind.open(world)]
    placed: list[str] = []
    for action in actions:
        act(world, action, placed)
        streams.append(kind.open(world))
    existing = kind.rows(streams[0].take())
    assert existing or actions is not STORY
    for stream in streams[1:]:
        assert kind.rows(stream.take()) == existing
