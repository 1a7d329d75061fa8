"""Instrument statistics, trade statistics and clearing (§2.4, §2.5, rules L21, M42, R11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.core.catalogue.quirks import CLEARED_FIELDS_LAG
from sim.core.market_data.statistics import TradeStats, trade_stats
from sim.core.model.enums import InstrumentState, TradeState
from sim.core.model.events import Traded
from sim.core.model.quantities import CENT
from sim.core.model.refusals import Conflict, NotFound
from sim.kernel.instants import Instant, minutes, seconds
from tests.trading_harness import START, Market

S = InstrumentState


def trade(market: Market, price: int, qty: int) -> str:
    market.sell("s", qty, price)
    market.buy("b", qty, price)
    return market.trading.trades[-1].id


def window(
    market: Market, start: Instant, end: Instant, bars: int
) -> tuple[TradeStats, list[TradeStats], list[Instant], list[Instant]]:
    """Trade statistics of a window, with the quirk that cleared sums lag as it is set."""
    return trade_stats(
        market.trading.execution_log.between("X", start, end),
        start,
        end,
        bars,
        market.ctx.quirks.applies(CLEARED_FIELDS_LAG),
    )


def read(stats: object, names: str) -> tuple[object, ...]:
    """The fields of statistics with these names."""
    return tuple(getattr(stats, name) for name in names.split())


def test_statistics_follow_every_trade() -> None:
    """§2.5."""
    market = Market()
    assert market.trading.stats("X").open_px is None
    for price, qty in ((50, 2), (60, 3), (40, 1), (45, 4)):
        trade(market, price, qty)
    stats = market.trading.stats("X")
    assert read(stats, "open_px high_px low_px last_trade_px last_trade_qty") == (50, 60, 40, 45, 4)
    assert (stats.shares_traded, stats.notional_traded, stats.open_interest) == (10, 500, 10)
    assert stats.last_trade_at == START


def test_a_session_ends_with_a_close_price_and_the_next_begins_afresh() -> None:
    """L21."""
    market = Market()
    trade(market, 50, 2)
    market.move(S.CLOSED)
    assert market.trading.stats("X").close_px == 50
    market.move(S.OPEN)
    stats = market.trading.stats("X")
    displayed = read(stats, "open_px close_px shares_traded last_trade_px open_interest")
    assert displayed == (None, None, 0, 50, 2)
    trade(market, 30, 1)
    assert market.trading.stats("X").open_px == 30


def test_trade_statistics_slice_a_window_evenly_with_edges_to_the_later_bar() -> None:
    """§2.4, R11."""
    market = Market()
    start = market.ctx.now
    trade(market, 50, 1)
    market.advance(minutes(10))
    trade(market, 60, 2)
    market.advance(minutes(5))
    trade(market, 40, 3)
    total, bars, starts, ends = window(market, start, start + minutes(30), 3)
    displayed = read(total, "first last high low total_trade_count volume notional")
    assert displayed == (50, 40, 60, 40, 3, 6, 290)
    assert [bar.total_trade_count for bar in bars] == [1, 2, 0]
    assert bars[2] == TradeStats()
    edges = [start + minutes(passed) for passed in (0, 10, 20, 30)]
    assert (starts, ends) == (edges[:-1], edges[1:])


def test_a_window_holds_its_start_and_not_its_end() -> None:
    """R11."""
    market = Market()
    start = market.ctx.now
    trade(market, 50, 1)
    market.advance(minutes(1))
    trade(market, 60, 1)
    total, bars, starts, ends = window(market, start, start + minutes(1), 0)
    assert (total.total_trade_count, bars, starts, ends) == (1, [], [], [])


def test_cleared_sums_are_zero_until_the_trade_is_cleared() -> None:
    """§2.4, M42."""
    market = Market()
    start = market.ctx.now
    trade(market, 50, 2)
    fresh = window(market, start, start + minutes(1), 1)[0]
    cleared = "cleared_trade_count cleared_volume cleared_notional"
    assert (fresh.total_trade_count, read(fresh, cleared)) == (1, (0, 0, 0))
    market.advance(seconds(30))
    later = window(market, start, start + minutes(1), 1)[0]
    assert read(later, cleared) == (1, 2, 100)


def test_the_lag_of_cleared_sums_can_be_switched_off() -> None:
    """§2.4."""
    market = Market()
    market.ctx.quirks.change("cleared_fields_lag", "never")
    start = market.ctx.now
    trade(market, 50, 2)
    assert window(market, start, start + minutes(1), 0)[0].cleared_volume == 2


def test_trades_clear_one_after_the_other_with_one_timer() -> None:
    """M42."""
    market = Market()
    first = trade(market, 50, 1)
    market.advance(seconds(10))
    second = trade(market, 50, 1)
    assert len(market.ctx.timers.pending()) == 1
    market.take()
    market.advance(seconds(20))
    (event,) = (event for event in market.take() if isinstance(event, Traded))
    assert (event.trade.id, event.state) == (first, TradeState.CLEARED)
    market.advance(seconds(10))
    (event,) = (event for event in market.take() if isinstance(event, Traded))
    assert (event.trade.id, event.trade.state_at) == (second, START + seconds(40))
    assert market.ctx.timers.pending() == []


def test_a_bust_gives_back_contracts_and_cash_with_fees_and_tells_the_same_trade() -> None:
    """M42."""
    market = Market()
    trade_id = trade(market, 50, 100)
    market.take()
    market.trading.listings.bust(trade_id)
    events = market.take()
    assert [event.state for event in events if isinstance(event, Traded)] == [TradeState.BUSTED]
    for account in ("b", "s"):
        assert market.trading.ledger.balance(account) == market.cash
        assert market.trading.positions.net(account, "X") == 0
        assert market.trading.ledger.entries(account)[-1].type.name == "CORRECTION"
    assert market.trading.ledger.balance("house/fees") == 0
    assert market.trading.stats("X").open_interest == 0
    market.check()
    market.advance(minutes(1))
    assert market.trading.trades[0].state is TradeState.BUSTED
    total = window(market, START, START + minutes(1), 0)[0]
    assert total.total_trade_count == 0


Sessions = list[list[tuple[int, int]]]  # trades of each, as (price, quantity)


def after(sessions: Sessions, *, without: int = -1, bust: int = -1, close: bool) -> Market:
    """A market after some sessions, of which one trade was never made, or was undone at the end."""
    market, ids = Market(), []
    for session in sessions:
        market.move(S.CLOSED)
        market.move(S.OPEN)
        for price, qty in session:
            market.advance(seconds(len(ids) % 2))  # sessions may meet at an instant
            ids.append("" if len(ids) == without else trade(market, price, qty))
    if close:
        market.move(S.CLOSED)
    if bust >= 0:
        market.trading.listings.bust(ids[bust])
    return market


SESSION = st.lists(st.tuples(st.integers(1, 99), st.integers(1, 5)), max_size=3)


@given(st.lists(SESSION, min_size=1, max_size=3).filter(any), st.integers(0, 8), st.booleans())
def test_statistics_after_a_bust_are_those_of_a_market_without_the_trade(
    sessions: Sessions, which: int, close: bool
) -> None:
    """M42, L21."""
    which %= sum(map(len, sessions))
    busted = after(sessions, bust=which, close=close)
    spared = after(sessions, without=which, close=close)
    stats = busted.trading.stats("X")
    assert (stats.busts, stats.traded_ever) == (1, sum(qty for day in sessions for _, qty in day))
    counts = {"traded_ever": stats.traded_ever, "session_trades": stats.session_trades}
    rest = replace(spared.trading.stats("X"), busts=1, **counts)
    assert stats == rest
    until = busted.ctx.now + 1
    assert window(busted, START, until, 4) == window(spared, START, until, 4)


def test_a_trade_is_busted_once_exists_and_is_not_settled() -> None:
    """M42."""
    market = Market()
    trade_id = trade(market, 50, 100)
    other = trade(market, 50, 1)
    market.trading.listings.bust(trade_id)
    with pytest.raises(Conflict):
        market.trading.listings.bust(trade_id)
    with pytest.raises(NotFound):
        market.trading.listings.bust("AAAAAAAAAAAA")
    market.trading.listings.settle("X", 100)
    with pytest.raises(Conflict):
        market.trading.listings.bust(other)


def test_a_bust_reverses_what_was_charged_in_the_rows() -> None:
    """M42."""
    market = Market()
    market.sell("s", 100, 50)
    market.buy("b", 100, 50)
    market.trading.listings.bust(market.trading.trades[0].id)
    moves = [row.after - row.before for row in market.trading.ledger.entries("b")][1:]
    assert moves == [-5174 * CENT, 5174 * CENT]
