"""Settlement: from an outcome to pay-outs and corrections (rules P22, L25-L27)."""

from __future__ import annotations

from typing import Any

import pytest

from sim.core.model.enums import InstrumentState
from sim.core.model.events import PositionChanged, Settled
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import Conflict, IllegalTransition, InvalidRequest, OrderRefused
from sim.kernel.instants import DAY, HOUR, hours, seconds
from tests.trading_harness import START, Market

S = InstrumentState


def traded(**terms: Any) -> Market:
    """ "long" bought 100 at 0.60 from "short", free of fees."""
    market = Market(Instrument(symbol="X", **terms))
    for name in ("taker", "maker"):
        market.ctx.assumptions.change(f"fees.{name}_theta", 0)
    market.sell("short", 100, 60)
    market.buy("long", 100, 60)
    market.take()
    return market


def last_cash(market: Market, account: str) -> tuple[str, int]:
    row = market.trading.ledger.entries(account)[-1]
    return row.type.name, row.after - row.before


@pytest.mark.parametrize(
    ("price", "long_cash", "long_realized", "short_realized"),
    [(100, 100 * DOLLAR, 4000, -4000), (50, 50 * DOLLAR, -1000, 1000), (0, 0, -6000, 6000)],
)
def test_longs_are_paid_and_shorts_pay(
    price: int, long_cash: int, long_realized: int, short_realized: int
) -> None:
    """P1, P17, P22."""
    market = traded()
    before = {account: market.trading.ledger.balance(account) for account in ("long", "short")}
    rows = len(market.trading.ledger.entries("long"))
    assert market.trading.listings.settle("X", price) == 2
    assert market.trading.ledger.balance("long") - before["long"] == long_cash
    assert market.trading.ledger.balance("short") - before["short"] == -long_cash
    assert len(market.trading.ledger.entries("long")) - rows == (1 if long_cash else 0)
    if long_cash:
        assert last_cash(market, "long") == ("RESOLUTION", long_cash)
        assert market.trading.ledger.entries("long")[-1].symbol == "X"
    for account, realized in (("long", long_realized), ("short", short_realized)):
        position = market.trading.positions.get(account, "X")
        assert (position.net, position.cost, position.realized) == (0, 0, realized)
        row = market.trading.positions.rows(account)[-1]
        assert (row.net, row.settlement, row.description) == (0, price, "Expiry")
    assert market.trading.margin_requirement("short") == 0
    assert market.trading.ledger.balance("house/clearing") == 0
    assert market.trading.positions.open_interest["X"] == 0
    market.check()


def test_settling_closes_first_where_still_open_and_tells_it_in_order() -> None:
    """L25."""
    market = traded()
    market.buy("c", 1, 10)
    market.take()
    market.trading.listings.settle("X", 100, text="Yes")
    names = [type(event).__name__ for event in market.take()]
    assert names == [
        "StateChanged",
        "Settled",
        "PositionChanged",
        "CashMoved",
        "PositionChanged",
        "CashMoved",
        "BookChanged",
    ]
    assert market.trading.state("X") is S.CLOSED
    with pytest.raises(OrderRefused):
        market.buy("c", 1, 10)
    with pytest.raises(IllegalTransition):
        market.move(S.OPEN)


def test_a_settled_instrument_is_not_reopened_by_its_schedule() -> None:
    market = traded()
    market.trading.listings.settle("X", 100)
    market.move(None)
    assert market.trading.state("X") is S.CLOSED


def test_a_preliminary_price_shows_and_pays_nothing() -> None:
    """L25."""
    market = traded()
    assert market.trading.listings.settle("X", 100, preliminary=True) == 0
    stats = market.trading.stats("X")
    assert (stats.settlement_px, stats.settlement_preliminary, stats.settlement_set_time) == (
        100,
        True,
        START,
    )
    assert market.trading.positions.net("long", "X") == 100
    assert market.trading.listings.settle("X", 0) == 2
    assert market.trading.stats("X").settlement_preliminary is False
    with pytest.raises(Conflict):
        market.trading.listings.settle("X", 100, preliminary=True)


def test_an_outcome_settles_some_time_after_the_close() -> None:
    """L25: 60 s by default, at once final."""
    market = traded()
    market.trading.listings.record_outcome("X", 100, "Yes")
    market.advance(hours(1))
    assert market.trading.stats("X").settlement_px is None
    market.move(S.CLOSED)
    market.advance(seconds(59))
    assert market.trading.stats("X").settlement_px is None
    market.take()
    market.advance(seconds(1))
    settled = [event for event in market.take() if isinstance(event, Settled)]
    assert [(event.price, event.preliminary, event.text) for event in settled] == [
        (100, False, "Yes")
    ]
    stats = market.trading.stats("X")
    assert (stats.settlement_method, stats.settlement_text) == (
        "SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_1",
        "Yes",
    )
    assert market.trading.positions.net("long", "X") == 0
    with pytest.raises(Conflict):
        market.trading.listings.record_outcome("X", 0)


def test_an_outcome_may_stay_preliminary_for_a_while() -> None:
    """L25."""
    market = traded()
    market.ctx.assumptions.change("settlement.preliminary_for", "1h")
    market.move(S.CLOSED)
    market.trading.listings.record_outcome("X", 100)
    market.take()
    market.advance(hours(2))
    settled = [
        (event.preliminary, event.at - START)
        for event in market.take()
        if isinstance(event, Settled)
    ]
    assert settled == [(True, seconds(60)), (False, seconds(60) + HOUR)]


REOPENED = [
    # What happens around an outcome, and whether it pays at once or only after the next close.
    ((S.CLOSED, HOUR, "outcome", 0), True),
    ((S.CLOSED, "outcome", S.OPEN, HOUR), False),
    ((S.CLOSED, HOUR, S.OPEN, "outcome", HOUR), False),
    # L5: what counts is when trading ended, not when the terms had it end.
    ((2 * HOUR, S.OPEN, "outcome", HOUR), False),
]


@pytest.mark.parametrize(("happens", "at_once"), REOPENED)
def test_an_outcome_pays_once_its_market_has_closed_and_stays_closed(
    happens: tuple[Any, ...], at_once: bool
) -> None:
    """L25: a reopening calls the settlement off until a minute after the next close."""
    market = traded(**({} if S.CLOSED in happens else {"closes": START + HOUR}))
    for happen in happens:
        if happen == "outcome":
            market.trading.listings.record_outcome("X", 100)
        elif isinstance(happen, S):
            market.move(happen)
        else:
            market.advance(happen)
    assert market.trading.positions.net("long", "X") == (0 if at_once else 100)
    if not at_once:
        market.move(S.CLOSED)
        market.advance(seconds(60))
        assert market.trading.positions.net("long", "X") == 0


def test_a_correction_pays_the_difference_to_whoever_was_resolved() -> None:
    """L27."""
    market = traded()
    market.trading.listings.settle("X", 100)
    market.advance(hours(1))
    market.take()
    assert market.trading.listings.settle("X", 40, text="No result") == 2
    assert last_cash(market, "long") == ("CORRECTION", -60 * DOLLAR)
    assert last_cash(market, "short") == ("CORRECTION", 60 * DOLLAR)
    rows = [event for event in market.take() if isinstance(event, PositionChanged)]
    assert [(row.qty_change, row.realized_change, row.description) for row in rows] == [
        (0, -6000, "Correction"),
        (0, 6000, "Correction"),
    ]
    stats = market.trading.stats("X")
    assert (stats.settlement_px, stats.settlement_text, stats.settlement_set_time) == (
        40,
        "No result",
        START + HOUR,
    )
    market.check()


def test_a_price_outside_zero_and_one_changes_nothing() -> None:
    """L26."""
    market = traded()
    for price in (-1, 101):
        with pytest.raises(InvalidRequest):
            market.trading.listings.settle("X", price)
    assert market.take() == []
    assert market.trading.state("X") is S.OPEN


def test_final_settlement_may_expire_the_instrument_at_once() -> None:
    """L25."""
    market = traded()
    market.ctx.assumptions.change("settlement.auto_expire", True)
    market.trading.listings.settle("X", 100)
    assert market.trading.state("X") is S.EXPIRED


@pytest.mark.parametrize(("mode", "paid"), [("last_price", 60 * DOLLAR), ("zero", 0)])
def test_termination_closes_positions_without_an_outcome_at_the_last_price(
    mode: str, paid: int
) -> None:
    """§3.1, L26."""
    market = traded(start=START, expiration=START + DAY, termination=START + 2 * DAY)
    market.ctx.assumptions.change("settlement.unresolved_at_termination", mode)
    before = market.trading.ledger.balance("long")
    market.advance(DAY)
    assert market.trading.positions.net("long", "X") == 100
    market.advance(DAY)
    assert market.trading.state("X") is S.TERMINATED
    assert market.trading.positions.net("long", "X") == 0
    assert market.trading.ledger.balance("long") - before == paid


def test_termination_pays_a_known_outcome_no_later_than_then() -> None:
    """L25."""
    market = traded(start=START, expiration=START + DAY, termination=START + DAY)
    market.trading.listings.record_outcome("X", 100)
    market.advance(DAY)
    assert last_cash(market, "long") == ("RESOLUTION", 100 * DOLLAR)
    assert [timer.kind for timer in market.ctx.timers.pending()] == []


def test_settlement_never_touches_an_instrument_without_positions() -> None:
    market = Market(
        Instrument(symbol="X", start=START, expiration=START + DAY, termination=START + DAY)
    )
    market.advance(DAY)
    assert not [event for event in market.take() if isinstance(event, Settled)]
    assert market.trading.stats("X").settlement_px is None
