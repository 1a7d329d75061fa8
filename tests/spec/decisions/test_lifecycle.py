"""Decisions of the lifecycle, of maintenance and of settlement: each rule that can be met, in one
situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sim import Simulation, load_scenario
from sim.core.model.enums import InstrumentState, OrderState
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import Refusal
from sim.run.client.client import Connection, connect
from tests.journeys import firm, order, trader
from tests.spec.decisions.decided import (
    Decided,
    account_of,
    decides,
    ending,
    enter,
    entered,
    event,
    listed,
    move,
    operate,
    refusal,
    refused_action,
    report,
    world_of,
)
from tests.spec.test_maintenance import WINDOW, following

DAY = {"timeInForce": "TIME_IN_FORCE_DAY"}
IN_TEN_MINUTES = "2026-09-08T14:10:00-04:00"
IN_AN_HOUR = "2026-09-08T15:00:00-04:00"
GAME = """
  events: [{slug: the-game, title: A against B}]
  instruments:
    - {symbol: decided, tick_size: "0.01", event: the-game, long: home, sports_market_type: basketball_team_full_game_winner}
"""


def _state(world: Connection, instrument: Instrument, state: str) -> Decided:
    """The last change of an instrument to a state."""
    number = InstrumentState[state].value
    symbol = instrument.symbol
    return event(world, "StateChanged", ask=symbol, symbol=symbol, state=number)


def _ends_at(world: Connection, **fields: Any) -> tuple[Instrument, str]:
    """An instrument that expires in ten minutes and terminates in an hour, and an order in it."""
    market = listed(world, expiration=IN_TEN_MINUTES, termination=IN_AN_HOUR)
    return market, entered(world, market, "buy", 40, **fields)


# ---- schedule, dates, operators


@decides
def test_l3_a_segment_of_the_schedule_sets_the_state() -> Decided:
    world = world_of()
    segments = [
        {"start": "09:00", "length": "6h"},
        {"start": "15:00", "length": "1h", "state": "HALTED"},
    ]
    market = listed(world, schedule=segments)
    world.advance_to("2026-09-08T15:00:00-04:00")
    return _state(world, market, "HALTED")


@decides
def test_l3_a_segment_that_expires_all_orders_ends_them() -> Decided:
    world = world_of()
    segments = [
        {"start": "09:00", "length": "6h"},
        {"start": "15:00", "length": "1h", "expire_all_orders": True},
    ]
    resting = entered(world, listed(world, schedule=segments), "buy", 40)
    world.advance_to("2026-09-08T15:00:00-04:00")
    return report(world, resting)


@decides
def test_l4_outside_every_segment_an_instrument_is_closed() -> Decided:
    world = world_of()
    market = listed(world, schedule=[{"start": "09:00", "length": "6h"}])
    world.advance_to("2026-09-08T15:00:00-04:00")
    return _state(world, market, "CLOSED")


@decides
def test_l5_an_operator_sets_a_state() -> Decided:
    world = world_of()
    market = listed(world)
    move(world, market, "HALTED")
    return _state(world, market, "HALTED")


@decides
def test_l6_trading_starts_at_the_start_date() -> Decided:
    world = world_of()
    market = listed(world, start=IN_TEN_MINUTES)
    world.advance("10m")
    return _state(world, market, "OPEN")


@decides
def test_l7_trading_in_an_automated_window_ends_with_the_window() -> Decided:
    world = world_of()
    symbol = "cpc-btc-updown-15m-2026-09-08-1815z"
    world.advance_to("2026-09-08T18:14:00Z")
    market = world.simulation.exchange.instruments.require(symbol)
    assert enter(world, market, "buy", 40, price=str(market.tick)).status == 200
    world.advance_to("2026-09-08T18:30:00Z")
    return _state(world, market, "CLOSED")


@decides
def test_l8_an_instrument_expires_at_its_date() -> Decided:
    world = world_of()
    market = listed(world, expiration=IN_TEN_MINUTES)
    move(world, market, "CLOSED")
    world.advance("10m")
    return _state(world, market, "EXPIRED")


@decides
def test_l8_an_order_ends_by_the_expiration_of_its_instrument() -> Decided:
    world = world_of()
    _, resting = _ends_at(world)
    world.advance("10m")
    return report(world, resting)


@decides
def test_l8_an_order_is_canceled_by_the_termination_of_its_instrument() -> Decided:
    """By an operator, out of an auction, because every other way leads through EXPIRED."""
    world = world_of()
    market = listed(world)
    move(world, market, "MATCH_AND_CLOSE_AUCTION")
    resting = entered(world, market, "buy", 40)
    move(world, market, "TERMINATED")
    assert world.simulation.exchange.trading.orders.require(resting).state is OrderState.CANCELED
    return report(world, resting)


@decides
def test_l9_an_instrument_that_is_open_at_its_expiration_is_closed_first() -> Decided:
    world = world_of()
    market, _ = _ends_at(world)
    world.advance("10m")
    return _state(world, market, "CLOSED")


@decides
def test_l10_a_transition_that_an_operator_may_not_ask_for_is_refused() -> Decided:
    world = world_of()
    market = listed(world)
    with suppress(Refusal):
        move(world, market, "TERMINATED")
    return refused_action(world)


@decides
def test_l11_the_trade_date_changes_at_five() -> Decided:
    world = world_of()
    entered(world, listed(world), "buy", 40, **DAY)
    world.advance_to("2026-09-08T17:00:00-04:00")
    return event(world, "RuleApplied", subject="")


@decides
def test_l12_a_day_order_expires_at_the_close() -> Decided:
    world = world_of()
    market = listed(world)
    resting = entered(world, market, "buy", 40, **DAY)
    move(world, market, "CLOSED")
    return report(world, resting)


@decides
def test_l12_until_september_a_day_order_expires_as_the_trade_date_changes() -> Decided:
    world = world_of()
    resting = entered(world, listed(world), "buy", 40, **DAY)
    world.advance_to("2026-09-08T17:00:00-04:00")
    return report(world, resting)


@decides
def test_l12_from_september_a_day_order_expires_at_the_close_only() -> Decided:
    world = world_of("clock: {start: 2026-09-15T14:00:00-04:00}\n")
    market = listed(world, schedule=[{"start": "09:00", "length": "11h"}])
    resting = entered(world, market, "buy", 40, **DAY)
    world.advance_to("2026-09-15T19:59:59-04:00")
    assert report(world, resting).rule == "M9"
    world.advance_to("2026-09-15T20:00:00-04:00")
    return report(world, resting)


# ---- collecting states


def _collecting(world: Connection, state: str = "PREOPEN") -> Instrument:
    """An instrument in a collecting state, with a bid of 60 and an offer of 50 that cross."""
    market = listed(world, state=state)
    entered(world, market, "buy", 60, 10)
    entered(world, market, "sell", 50, 10, user=1)
    return market


@decides
def test_l16_an_auction_trades_what_crosses_at_one_price() -> Decided:
    world = world_of()
    move(world, _collecting(world), "OPEN")
    return event(world, "Traded", symbol="market")


@decides
def test_l17_the_price_of_an_auction_is_chosen() -> Decided:
    world = world_of()
    move(world, _collecting(world), "OPEN")
    applied = event(world, "RuleApplied", subject="market", rule="L17")
    assert applied.facts["volume"] == "10"
    return applied


@decides
def test_l18_a_collecting_state_refuses_an_order_that_must_trade_at_once() -> Decided:
    world = world_of()
    market = listed(world, state="PREOPEN")
    answer = enter(world, market, "buy", 40, timeInForce="TIME_IN_FORCE_IMMEDIATE_OR_CANCEL")
    assert answer.status >= 400
    return refusal(world)


@decides
def test_l19_self_match_prevention_acts_before_the_auction() -> Decided:
    world = world_of()
    market = listed(world, state="PREOPEN")
    entered(world, market, "buy", 60, 10, selfMatchPreventionId="x")
    later = entered(world, market, "sell", 50, 10, selfMatchPreventionId="x")
    move(world, market, "OPEN")
    return report(world, later)


@decides
def test_l20_leaving_preopen_for_suspended_matches_nothing() -> Decided:
    world = world_of()
    move(world, _collecting(world), "SUSPENDED")
    return event(world, "RuleApplied", subject="market")


@decides
def test_l21_the_auction_price_is_the_opening_price() -> Decided:
    world = world_of()
    move(world, _collecting(world), "OPEN")
    return event(world, "RuleApplied", subject="market")


@decides
def test_l22_leaving_match_and_close_runs_the_auction_first() -> Decided:
    world = world_of()
    market = listed(world)
    move(world, market, "MATCH_AND_CLOSE_AUCTION")
    entered(world, market, "buy", 60, 10)
    entered(world, market, "sell", 50, 10, user=1)
    move(world, market, "CLOSED")
    return event(world, "RuleApplied", subject="market")


@decides
def test_l23_a_good_till_time_order_expires_on_time() -> Decided:
    world = world_of()
    fields = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-09-08T18:10:00Z"}
    resting = entered(world, listed(world), "buy", 40, **fields)
    world.advance("10m")
    return report(world, resting)


# ---- settlement


def _held(world: Connection) -> Instrument:
    """An instrument in which two participants have a position."""
    market = listed(world)
    entered(world, market, "sell", 50, 10, user=1)
    entered(world, market, "buy", 50, 10)
    return market


@decides
def test_l25_a_settlement_price_is_set() -> Decided:
    world = world_of()
    _held(world)
    operate(world, "instrument.settle", "market", price="1")
    return event(world, "Settled", ask="market", symbol="market")


@decides
def test_l26_a_settlement_price_above_a_dollar_is_refused() -> Decided:
    world = world_of()
    _held(world)
    with suppress(Refusal):
        operate(world, "instrument.settle", "market", price="1.01")
    return refused_action(world)


@decides
def test_l27_a_corrected_settlement_moves_the_difference() -> Decided:
    world = world_of()
    _held(world)
    for price in ("1", "0"):
        operate(world, "instrument.settle", "market", price=price)
    account = account_of(world)
    assert event(world, "CashMoved", ask=account, account=account).rule == "L27"
    return event(world, "Settled", ask="market", symbol="market")


@decides
def test_l29_the_facts_of_a_game_decide_what_its_market_pays() -> Decided:
    world = connect(Simulation(load_scenario("name: t\nextends: quickstart\nworld:" + GAME)))
    market = world.simulation.exchange.instruments.require("decided")
    for user, side in ((0, "buy"), (1, "sell")):
        trader(world, user).post("/v1/trading/orders", json=order(market, side, 40, 5))
    periods = {name: [1, 0] for name in ("Q1", "Q2", "Q3", "Q4")}
    operate(world, "event.update", "the-game", periods=periods, ended=True)
    world.advance("2m")
    assert event(world, "Settled", symbol="decided").rule == "L25"
    return event(world, "RuleApplied", subject="decided")


@decides
def test_p22_settlement_pays_longs_and_charges_shorts() -> Decided:
    world = world_of()
    _held(world)
    operate(world, "instrument.settle", "market", price="1")
    account = account_of(world)
    assert event(world, "PositionChanged", symbol="market", account=account).rule == "P22"
    return event(world, "CashMoved", ask=account, account=account)


# ---- maintenance


def _before_the_weekly_window() -> Connection:
    """Ten minutes before the weekly maintenance of July 9."""
    return connect(Simulation(load_scenario(WINDOW)))


@decides
def test_w1_the_weekly_window_begins() -> Decided:
    world = _before_the_weekly_window()
    world.advance_to("2026-07-09T02:00:00-04:00")
    return event(world, "MaintenanceChanged", active=True)


@decides
def test_w2_orders_are_canceled_before_the_window() -> Decided:
    world = _before_the_weekly_window()
    market = world.simulation.exchange.instruments.require("always")
    resting = entered(world, market, "buy", 40)
    world.advance_to("2026-07-09T01:59:00-04:00")
    assert _state(world, market, "SUSPENDED").rule == "W2"
    return report(world, resting)


@decides
def test_w4_a_call_during_the_window_is_refused() -> Decided:
    world = _before_the_weekly_window()
    world.bearer(firm(world.simulation))
    world.advance_to("2026-07-09T02:00:00-04:00")
    assert trader(world).get("/v1/whoami").status == 503
    return refusal(world)


@decides
def test_w8_a_health_check_during_the_window_is_refused() -> Decided:
    world = _before_the_weekly_window()
    world.advance_to("2026-07-09T02:00:00-04:00")
    assert trader(world).get("/v1/health").status == 503
    return refusal(world)


@decides
def test_w5_a_stream_ends_as_the_window_begins() -> Decided:
    world = _before_the_weekly_window()
    stream = following(world)
    world.advance_to("2026-07-09T02:00:00-04:00")
    return ending(world, stream)


@decides
def test_w9_a_pause_comes_unannounced() -> Decided:
    world = world_of()
    operate(world, "maintenance.add", length="5m")
    world.advance("1s")
    return event(world, "MaintenanceChanged", active=True)
