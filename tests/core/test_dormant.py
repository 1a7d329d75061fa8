"""Dormant instruments, which cost nothing until something happens to them, and are then like any
other.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.core.exchange import Exchange
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Channel, InstrumentState, LedgerEntryType, Side
from sim.core.model.events import DormantInstrumentsMoved, Event, StateChanged
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.core.model.refusals import AlreadyExists, NotFound
from sim.kernel.instants import HOUR, parse_instant

S = InstrumentState
NOW = parse_instant("2026-09-08T14:00:00-04:00")
LISTED, DORMANT, LATER = "listed", "sleeping", "later"


def terms(symbol: str, opens: int, lasts: int, event: str = "game") -> Instrument:
    return Instrument(
        symbol=symbol,
        created=NOW - HOUR,
        start=opens,
        expiration=opens + lasts,
        termination=opens + 2 * lasts,
        event=event,
    )


class DormantInstruments:
    """Two instruments: one open until six hours from now, one that opens in an hour."""

    def __init__(self) -> None:
        self.all = {
            item.symbol: item
            for item in (
                terms(DORMANT, NOW - HOUR, 7 * HOUR),
                terms(LATER, NOW + HOUR, 2 * HOUR, "later game"),
            )
        }

    def __len__(self) -> int:
        return len(self.all)

    def find(self, symbol: str) -> Instrument | None:
        return self.all.get(symbol)

    def symbols(self) -> Iterator[str]:
        return iter(self.all)

    def of_event(self, event: str) -> list[Instrument]:
        return [item for item in self.all.values() if item.event == event]

    def _dates(self) -> list[tuple[int, str]]:
        return sorted(
            (at, item.symbol)
            for item in self.all.values()
            for at in (item.start, item.expiration, item.termination)
        )

    def next_edge(self, after: int) -> int | None:
        return min((at for at, _ in self._dates() if at > after), default=None)

    def moving(self, after: int, until: int) -> Iterator[Instrument]:
        return (self.all[symbol] for at, symbol in self._dates() if after < at <= until)


@pytest.fixture
def exchange() -> Exchange:
    result = Exchange(seed=1, now=NOW)
    result.trading.listings.list_instrument(terms(LISTED, NOW - HOUR, 7 * HOUR))
    result.trading.listings.set_world_start(DormantInstruments())
    for name in ("ann", "bob"):
        result.trading.open_account(name)
        result.trading.move_cash(name, 1_000 * CASH_SCALE, LedgerEntryType.DEPOSIT, "opening")
    result.take_events()
    return result


def run(exchange: Exchange, to: int) -> list[Event]:
    """Let time pass; what happened."""
    while (timer := exchange.ctx.timers.pop_due(to)) is not None:
        exchange.ctx.now = max(exchange.now, timer.due)
        exchange.timers[timer.kind](timer)
        exchange.flush()
    exchange.ctx.now = to
    return exchange.take_events()


def moves(events: list[Event]) -> list[tuple[str, InstrumentState, InstrumentState]]:
    return [
        (event.symbol, event.was, event.state)
        for event in events
        if isinstance(event, StateChanged)
    ]


def states(exchange: Exchange) -> list[InstrumentState]:
    return [exchange.trading.state(symbol) for symbol in (LISTED, DORMANT, LATER)]


def expiry(symbol: str) -> list[tuple[str, InstrumentState, InstrumentState]]:
    """What an open instrument passes through on its expiration date (rule L9)."""
    return [(symbol, S.OPEN, S.CLOSED), (symbol, S.CLOSED, S.EXPIRED)]


def buy(exchange: Exchange, symbol: str, account: str = "ann", side: Side = Side.BUY) -> None:
    exchange.trading.order_service.enter(
        PlaceOrder(
            symbol=symbol,
            account=account,
            participant=account,
            side=side,
            qty=1,
            price=50,
            channel=Channel.EXCHANGE,
        )
    )


def test_what_is_on_the_shelf_is_listed_and_stands_as_its_dates_say(exchange: Exchange) -> None:
    assert [instrument.symbol for instrument in exchange.instruments] == [LISTED, DORMANT, LATER]
    assert len(exchange.instruments) == 3
    assert DORMANT in exchange.instruments and "nothing" not in exchange.instruments
    assert states(exchange) == [S.OPEN, S.OPEN, S.PENDING]
    assert not exchange.trading.lifecycle.is_materialised(DORMANT)
    with pytest.raises(NotFound):
        exchange.trading.state("nothing")
    with pytest.raises(AlreadyExists):
        exchange.trading.listings.list_instrument(terms(DORMANT, NOW, HOUR))


def test_its_dates_come_like_those_of_any_other(exchange: Exchange) -> None:
    assert moves(run(exchange, NOW + HOUR)) == [(LATER, S.PENDING, S.OPEN)]
    assert moves(run(exchange, NOW + 4 * HOUR)) == expiry(LATER)
    assert moves(run(exchange, NOW + 6 * HOUR)) == [
        (LATER, S.EXPIRED, S.TERMINATED),
        *expiry(LISTED),
        *expiry(DORMANT),
    ]
    last = moves(run(exchange, NOW + 100 * HOUR))
    assert last == [(LISTED, S.EXPIRED, S.TERMINATED), (DORMANT, S.EXPIRED, S.TERMINATED)]


def test_an_order_takes_it_off_the_shelf_and_its_expiry_ends_the_order(exchange: Exchange) -> None:
    buy(exchange, DORMANT)
    assert exchange.trading.lifecycle.is_materialised(DORMANT)
    assert exchange.trading.book(DORMANT).bids.best == 50
    assert not exchange.trading.lifecycle.is_materialised(LATER)
    run(exchange, NOW + 6 * HOUR)
    (order,) = exchange.trading.orders.all()
    assert order.state.name == "EXPIRED"


def test_maintenance_suspends_the_shelf_as_a_whole_and_opens_it_again(exchange: Exchange) -> None:
    exchange.pause.on_lead()
    events = exchange.take_events()
    assert moves(events) == [(LISTED, S.OPEN, S.SUSPENDED)]
    (moved,) = (event for event in events if isinstance(event, DormantInstrumentsMoved))
    assert (moved.was, moved.state) == (S.OPEN, S.SUSPENDED)
    assert states(exchange) == [S.SUSPENDED, S.SUSPENDED, S.PENDING]
    exchange.trading.book(DORMANT)  # materialises it
    assert exchange.trading.state(DORMANT) is S.SUSPENDED
    exchange.pause.on_reopen()
    events = exchange.take_events()
    assert moves(events) == [(LISTED, S.SUSPENDED, S.OPEN), (DORMANT, S.SUSPENDED, S.OPEN)]
    assert states(exchange) == [S.OPEN, S.OPEN, S.PENDING]


def test_an_operator_may_take_it_off_the_shelf(exchange: Exchange) -> None:
    assert exchange.trading.listings.change_state(DORMANT, S.HALTED) is S.OPEN
    assert exchange.trading.state(DORMANT) is S.HALTED
    exchange.take_events()
    assert exchange.trading.listings.settle(DORMANT, 100) == 0
    assert moves(exchange.take_events())[0] == (DORMANT, S.HALTED, S.CLOSED)


def test_a_saved_state_brings_back_what_was_on_the_shelf_and_what_was_not(
    exchange: Exchange,
) -> None:
    buy(exchange, DORMANT)
    state = exchange.save()
    other = Exchange(seed=1, now=NOW)
    other.trading.listings.list_instrument(terms(LISTED, NOW - HOUR, 7 * HOUR))
    other.trading.listings.set_world_start(DormantInstruments())
    other.load(state)
    materialised = map(other.trading.lifecycle.is_materialised, (DORMANT, LATER))
    assert list(materialised) == [True, False]
    assert moves(run(other, NOW + 6 * HOUR))[0] == (LATER, S.PENDING, S.OPEN)
