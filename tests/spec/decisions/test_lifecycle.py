"""Decisions of the lifecycle, of maintenance and of settlement: each rule that can be met, in one
situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from typing import Any

from sim.core.model.enums import InstrumentState, OrderState
from sim.core.model.instrument import Instrument
from tests.kit import Desk, begin
from tests.spec.decisions.decided import (
    Decided,
    decides,
    ending,
    event,
    few_games,
    refusal,
    refused_action,
    report,
    with_market,
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


def _state(desk: Desk, instrument: Instrument, state: str) -> Decided:
    """The last change of an instrument to a state."""
    number = InstrumentState[state].value
    symbol = instrument.symbol
    return event(desk, "StateChanged", ask=symbol, symbol=symbol, state=number)


def _ends_at(desk: Desk, **fields: Any) -> tuple[Instrument, str]:
    """An instrument that expires in ten minutes and terminates in an hour, and an order in it."""
    market = desk.listed(expiration=IN_TEN_MINUTES, termination=IN_AN_HOUR)
    return market, desk.place(market, "buy", 40, **fields)


# ---- schedule, dates, operators


@decides
def test_l3_a_segment_of_the_schedule_sets_the_state() -> Decided:
    desk = few_games()
    segments = [
        {"start": "09:00", "length": "6h"},
        {"start": "15:00", "length": "1h", "state": "HALTED"},
    ]
    market = desk.listed(schedule=segments)
    desk.advance_to("2026-09-08T15:00:00-04:00")
    return _state(desk, market, "HALTED")


@decides
def test_l3_a_segment_that_expires_all_orders_ends_them() -> Decided:
    desk = few_games()
    segments = [
        {"start": "09:00", "length": "6h"},
        {"start": "15:00", "length": "1h", "expire_all_orders": True},
    ]
    resting = desk.place(desk.listed(schedule=segments), "buy", 40)
    desk.advance_to("2026-09-08T15:00:00-04:00")
    return report(desk, resting)


@decides
def test_l4_outside_every_segment_an_instrument_is_closed() -> Decided:
    desk, market = with_market(schedule=[{"start": "09:00", "length": "6h"}])
    desk.advance_to("2026-09-08T15:00:00-04:00")
    return _state(desk, market, "CLOSED")


@decides
def test_l5_an_operator_sets_a_state() -> Decided:
    desk, market = with_market()
    desk.move(market, "HALTED")
    return _state(desk, market, "HALTED")


@decides
def test_l6_trading_starts_at_the_start_date() -> Decided:
    desk, market = with_market(start=IN_TEN_MINUTES)
    desk.advance("10m")
    return _state(desk, market, "OPEN")


@decides
def test_l7_trading_in_an_automated_window_ends_with_the_window() -> Decided:
    desk = few_games()
    symbol = "cpc-btc-updown-15m-2026-09-08-1815z"
    desk.advance_to("2026-09-08T18:14:00Z")
    market = desk.instrument(symbol)
    assert desk.enter(market, "buy", 40, price=str(market.tick)).status == 200
    desk.advance_to("2026-09-08T18:30:00Z")
    return _state(desk, market, "CLOSED")


@decides
def test_l8_an_instrument_expires_at_its_date() -> Decided:
    desk, market = with_market(expiration=IN_TEN_MINUTES)
    desk.move(market, "CLOSED")
    desk.advance("10m")
    return _state(desk, market, "EXPIRED")


@decides
def test_l8_an_order_ends_by_the_expiration_of_its_instrument() -> Decided:
    desk = few_games()
    _, resting = _ends_at(desk)
    desk.advance("10m")
    return report(desk, resting)


@decides
def test_l8_an_order_is_canceled_by_the_termination_of_its_instrument() -> Decided:
    """By an operator, out of an auction, because every other way leads through EXPIRED."""
    desk, market = with_market()
    desk.move(market, "MATCH_AND_CLOSE_AUCTION")
    resting = desk.place(market, "buy", 40)
    desk.move(market, "TERMINATED")
    assert desk.trading.orders.require(resting).state is OrderState.CANCELED
    return report(desk, resting)


@decides
def test_l9_an_instrument_that_is_open_at_its_expiration_is_closed_first() -> Decided:
    desk = few_games()
    market, _ = _ends_at(desk)
    desk.advance("10m")
    return _state(desk, market, "CLOSED")


@decides
def test_l10_a_transition_that_an_operator_may_not_ask_for_is_refused() -> Decided:
    desk, market = with_market()
    return refused_action(desk, "instrument.state", market.symbol, state="TERMINATED")


@decides
def test_l11_the_trade_date_changes_at_five() -> Decided:
    desk = few_games()
    desk.place(desk.listed(), "buy", 40, **DAY)
    desk.advance_to("2026-09-08T17:00:00-04:00")
    return event(desk, "RuleApplied", subject="")


@decides
def test_l12_a_day_order_expires_at_the_close() -> Decided:
    desk, market = with_market()
    resting = desk.place(market, "buy", 40, **DAY)
    desk.move(market, "CLOSED")
    return report(desk, resting)


@decides
def test_l12_until_september_a_day_order_expires_as_the_trade_date_changes() -> Decided:
    desk = few_games()
    resting = desk.place(desk.listed(), "buy", 40, **DAY)
    desk.advance_to("2026-09-08T17:00:00-04:00")
    return report(desk, resting)


@decides
def test_l12_from_september_a_day_order_expires_at_the_close_only() -> Decided:
    desk = few_games("clock: {start: 2026-09-15T14:00:00-04:00}\n")
    market = desk.listed(schedule=[{"start": "09:00", "length": "11h"}])
    resting = desk.place(market, "buy", 40, **DAY)
    desk.advance_to("2026-09-15T19:59:59-04:00")
    assert report(desk, resting).rule == "M9"
    desk.advance_to("2026-09-15T20:00:00-04:00")
    return report(desk, resting)


# ---- collecting states


def _collecting(desk: Desk, state: str = "PREOPEN") -> Instrument:
    """An instrument in a collecting state, with a bid of 60 and an offer of 50 that cross."""
    market = desk.listed(state=state)
    desk.place(market, "buy", 60, 10)
    desk.place(market, "sell", 50, 10, user=1)
    return market


@decides
def test_l16_an_auction_trades_what_crosses_at_one_price() -> Decided:
    desk = few_games()
    desk.move(_collecting(desk), "OPEN")
    return event(desk, "Traded", symbol="market")


@decides
def test_l17_the_price_of_an_auction_is_chosen() -> Decided:
    desk = few_games()
    desk.move(_collecting(desk), "OPEN")
    applied = event(desk, "RuleApplied", subject="market", rule="L17")
    assert applied.facts["volume"] == "10"
    return applied


@decides
def test_l18_a_collecting_state_refuses_an_order_that_must_trade_at_once() -> Decided:
    desk, market = with_market(state="PREOPEN")
    answer = desk.enter(market, "buy", 40, timeInForce="TIME_IN_FORCE_IMMEDIATE_OR_CANCEL")
    assert answer.status >= 400
    return refusal(desk)


@decides
def test_l19_self_match_prevention_acts_before_the_auction() -> Decided:
    desk, market = with_market(state="PREOPEN")
    desk.place(market, "buy", 60, 10, selfMatchPreventionId="x")
    later = desk.place(market, "sell", 50, 10, selfMatchPreventionId="x")
    desk.move(market, "OPEN")
    return report(desk, later)


@decides
def test_l20_leaving_preopen_for_suspended_matches_nothing() -> Decided:
    desk = few_games()
    desk.move(_collecting(desk), "SUSPENDED")
    return event(desk, "RuleApplied", subject="market")


@decides
def test_l21_the_auction_price_is_the_opening_price() -> Decided:
    desk = few_games()
    desk.move(_collecting(desk), "OPEN")
    return event(desk, "RuleApplied", subject="market")


@decides
def test_l22_leaving_match_and_close_runs_the_auction_first() -> Decided:
    desk, market = with_market()
    desk.move(market, "MATCH_AND_CLOSE_AUCTION")
    desk.place(market, "buy", 60, 10)
    desk.place(market, "sell", 50, 10, user=1)
    desk.move(market, "CLOSED")
    return event(desk, "RuleApplied", subject="market")


@decides
def test_l23_a_good_till_time_order_expires_on_time() -> Decided:
    desk = few_games()
    fields = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-09-08T18:10:00Z"}
    resting = desk.place(desk.listed(), "buy", 40, **fields)
    desk.advance("10m")
    return report(desk, resting)


# ---- settlement


def _held(desk: Desk) -> Instrument:
    """An instrument in which two participants have a position."""
    market = desk.listed()
    desk.place(market, "sell", 50, 10, user=1)
    desk.place(market, "buy", 50, 10)
    return market


@decides
def test_l25_a_settlement_price_is_set() -> Decided:
    desk = few_games()
    _held(desk)
    desk.settle("market", "1")
    return event(desk, "Settled", ask="market", symbol="market")


@decides
def test_l26_a_settlement_price_above_a_dollar_is_refused() -> Decided:
    desk = few_games()
    _held(desk)
    return refused_action(desk, "instrument.settle", "market", price="1.01")


@decides
def test_l27_a_corrected_settlement_moves_the_difference() -> Decided:
    desk = few_games()
    _held(desk)
    for price in ("1", "0"):
        desk.settle("market", price)
    account = desk.account()
    assert event(desk, "CashMoved", ask=account, account=account).rule == "L27"
    return event(desk, "Settled", ask="market", symbol="market")


@decides
def test_l29_the_facts_of_a_game_decide_what_its_market_pays() -> Decided:
    desk = begin("name: t\nextends: quickstart\nworld:" + GAME)
    market = desk.instrument("decided")
    for user, side in ((0, "buy"), (1, "sell")):
        desk.enter(market, side, 40, 5, user=user)
    periods = {name: [1, 0] for name in ("Q1", "Q2", "Q3", "Q4")}
    desk.operate("event.update", "the-game", periods=periods, ended=True)
    desk.advance("2m")
    assert event(desk, "Settled", symbol="decided").rule == "L25"
    return event(desk, "RuleApplied", subject="decided")


@decides
def test_p22_settlement_pays_longs_and_charges_shorts() -> Decided:
    desk = few_games()
    _held(desk)
    desk.settle("market", "1")
    account = desk.account()
    assert event(desk, "PositionChanged", symbol="market", account=account).rule == "P22"
    return event(desk, "CashMoved", ask=account, account=account)


# ---- maintenance


def _before_the_weekly_window() -> Desk:
    """Ten minutes before the weekly maintenance of July 9."""
    return begin(WINDOW)


@decides
def test_w1_the_weekly_window_begins() -> Decided:
    desk = _before_the_weekly_window()
    desk.advance_to("2026-07-09T02:00:00-04:00")
    return event(desk, "MaintenanceChanged", active=True)


@decides
def test_w2_orders_are_canceled_before_the_window() -> Decided:
    desk = _before_the_weekly_window()
    market = desk.instrument("always")
    resting = desk.place(market, "buy", 40)
    desk.advance_to("2026-07-09T01:59:00-04:00")
    assert _state(desk, market, "SUSPENDED").rule == "W2"
    return report(desk, resting)


@decides
def test_w4_a_call_during_the_window_is_refused() -> Decided:
    desk = _before_the_weekly_window()
    desk.bearer(desk.firm)
    desk.advance_to("2026-07-09T02:00:00-04:00")
    assert desk.trader().get("/v1/whoami").status == 503
    return refusal(desk)


@decides
def test_w8_a_health_check_during_the_window_is_refused() -> Decided:
    desk = _before_the_weekly_window()
    desk.advance_to("2026-07-09T02:00:00-04:00")
    assert desk.trader().get("/v1/health").status == 503
    return refusal(desk)


@decides
def test_w5_a_stream_ends_as_the_window_begins() -> Decided:
    desk = _before_the_weekly_window()
    stream = following(desk)
    desk.advance_to("2026-07-09T02:00:00-04:00")
    return ending(desk, stream)


@decides
def test_w9_a_pause_comes_unannounced() -> Decided:
    desk = few_games()
    desk.operate("maintenance.add", length="5m")
    desk.advance("1s")
    return event(desk, "MaintenanceChanged", active=True)
