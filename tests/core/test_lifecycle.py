"""Lifecycle of instruments: transitions by date, by schedule and by an operator, the operations
that each state permits, and the order of the events of a transition (§3.1, rules L1-L24).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sim.core.lifecycle import states
from sim.core.lifecycle.states import EDGES, LEGAL_EDGES, Effect
from sim.core.model.enums import (
    ExecutionType,
    InstrumentState,
    OrderState,
    OrderType,
    RejectReason,
    Side,
    TimeInForce,
    UnsolicitedReason,
)
from sim.core.model.events import BookChanged, Executed, StateChanged
from sim.core.model.instrument import Instrument, Segment
from sim.core.model.refusals import (
    AlreadyExists,
    IllegalTransition,
    InvalidRequest,
    NotFound,
    OrderRefused,
)
from sim.kernel.instants import DAY, HOUR, hours, minutes, parse_instant, seconds
from tests.trading_harness import FOK, GTT, IOC, START, Market

S = InstrumentState
DAY_ORDER = TimeInForce.DAY


def dated(**terms: Any) -> Instrument:
    """An instrument that starts in one hour, expires in three and is terminated in five."""
    value: dict[str, Any] = {
        "symbol": "X",
        "start": START + hours(1),
        "expiration": START + hours(3),
        "termination": START + hours(5),
        **terms,
    }
    return Instrument(**value)


def path(market: Market) -> list[tuple[str, str]]:
    return [
        (event.was.name, event.state.name)
        for event in market.take()
        if isinstance(event, StateChanged)
    ]


def in_state(state: InstrumentState) -> Market:
    """Return a market whose instrument reached a state by permitted transitions."""
    market = Market(dated() if state in (S.PENDING, S.PREOPEN) else dated(start=START))
    for step in {S.EXPIRED: (S.CLOSED,), S.TERMINATED: (S.CLOSED, S.EXPIRED)}.get(state, ()):
        market.move(step)
    if state is not S.PENDING:
        market.move(state)
    market.take()
    return market


# ---- by date


def test_an_instrument_lives_from_pending_to_terminated_by_its_dates() -> None:
    """L2, L6, L8, L9."""
    market = Market(dated())
    assert market.trading.state("X") is S.PENDING
    assert len(market.ctx.timers.pending()) == 1
    market.advance(hours(6))
    assert path(market) == [
        ("PENDING", "OPEN"),
        ("OPEN", "CLOSED"),
        ("CLOSED", "EXPIRED"),
        ("EXPIRED", "TERMINATED"),
    ]
    assert market.ctx.timers.pending() == []


def test_an_expiration_that_finds_the_instrument_halted_passes_through_closed_unless_told_not_to() -> (
    None
):
    """L9."""
    for collapse, expected in (
        (True, [("HALTED", "CLOSED"), ("CLOSED", "EXPIRED")]),
        (False, [("HALTED", "EXPIRED")]),
    ):
        market = Market(dated(start=START))
        market.ctx.assumptions.change("lifecycle.collapse_to_expired", collapse)
        market.move(S.HALTED)
        market.take()
        market.advance(hours(3))
        assert path(market) == expected


def test_an_instrument_begins_in_the_state_its_dates_ask_for() -> None:
    past = {"start": START - hours(3)}
    for terms, state in (
        ({}, S.PENDING),
        (past, S.OPEN),
        ({**past, "expiration": START - hours(1)}, S.EXPIRED),
        ({**past, "expiration": START - hours(2), "termination": START - hours(1)}, S.TERMINATED),
    ):
        assert Market(dated(**terms)).trading.state("X") is state


def test_an_instrument_without_further_edges_has_no_timer() -> None:
    assert Market().ctx.timers.pending() == []


def test_a_given_opening_state_holds_until_dates_move_it() -> None:
    """L5."""
    market = Market(dated(start=START, opening_state=S.SUSPENDED))
    assert market.trading.state("X") is S.SUSPENDED
    market.advance(hours(2))
    assert path(market) == []
    market.advance(hours(1))
    assert path(market) == [("SUSPENDED", "CLOSED"), ("CLOSED", "EXPIRED")]


def test_unsound_terms_and_a_known_symbol_are_not_listed() -> None:
    market = Market()
    with pytest.raises(InvalidRequest, match="tick_size"):
        market.trading.listings.list_instrument(Instrument(symbol="bad", tick=0))
    with pytest.raises(AlreadyExists):
        market.trading.listings.list_instrument(Instrument(symbol="X"))
    with pytest.raises(NotFound):
        market.trading.state("bad")


# ---- by schedule

DAYTIME = (
    Segment(days=(0, 1, 2, 3, 4), start=8 * HOUR, length=HOUR, state=S.PREOPEN),
    Segment(days=(0, 1, 2, 3, 4), start=9 * HOUR, length=8 * HOUR),
)


def test_a_schedule_moves_the_instrument_through_its_segments_and_closes_it_outside() -> None:
    """L3, L4."""
    market = Market(Instrument(symbol="X", schedule=DAYTIME))
    assert market.trading.state("X") is S.OPEN
    market.advance(DAY)
    assert path(market) == [("OPEN", "CLOSED"), ("CLOSED", "PREOPEN"), ("PREOPEN", "OPEN")]


def test_pending_lasts_until_the_first_segment_on_or_after_the_start() -> None:
    """L6."""
    market = Market(
        Instrument(symbol="X", schedule=DAYTIME, start=parse_instant("2026-10-08T20:00:00-04:00"))
    )
    market.until(parse_instant("2026-10-09T07:59:59-04:00"))
    assert market.trading.state("X") is S.PENDING
    market.until(parse_instant("2026-10-09T08:00:00-04:00"))
    assert path(market) == [("PENDING", "PREOPEN")]


def test_an_operators_state_holds_against_the_schedule_until_released() -> None:
    """L5."""
    market = Market(Instrument(symbol="X", schedule=DAYTIME))
    assert market.move(S.SUSPENDED) is S.OPEN
    market.advance(5 * DAY)
    assert path(market) == [("OPEN", "SUSPENDED")]
    market.until(parse_instant("2026-10-14T08:30:00-04:00"))
    assert market.move(None) is S.SUSPENDED
    assert path(market) == [("SUSPENDED", "PREOPEN")]
    market.advance(hours(1))
    assert path(market) == [("PREOPEN", "OPEN")]


def test_a_state_set_without_hold_leaves_the_schedule_its_say() -> None:
    """W2."""
    market = Market(Instrument(symbol="X", schedule=DAYTIME))
    market.trading.listings.change_state("X", S.SUSPENDED, pin=False)
    market.until(parse_instant("2026-10-08T17:00:00-04:00"))
    assert path(market) == [("OPEN", "SUSPENDED"), ("SUSPENDED", "CLOSED")]


def test_released_before_its_start_an_opened_instrument_closes_for_pending_never_comes_back() -> (
    None
):
    """L10."""
    market = Market(dated())
    market.move(S.OPEN)
    market.move(None)
    assert market.trading.state("X") is S.CLOSED
    market.advance(hours(1))
    assert market.trading.state("X") is S.OPEN


def test_an_operator_cannot_revive_what_a_schedule_would_open() -> None:
    """L10."""
    market = Market()
    market.move(S.CLOSED)
    market.move(S.EXPIRED)
    market.move(None)
    assert market.trading.state("X") is S.EXPIRED


def test_a_segment_can_expire_every_order_and_hide_the_book() -> None:
    """L3."""
    night = Segment(
        days=(3,), start=17 * HOUR, length=HOUR, hide_market_data=True, expire_all_orders=True
    )
    market = Market(Instrument(symbol="X", schedule=(*DAYTIME, night)))
    order = market.buy("a", 1, 50)
    assert not market.trading.book("X").hidden
    market.take()
    market.advance(hours(3))
    events = market.take()
    assert [event.execution.type.name for event in events if isinstance(event, Executed)] == [
        "EXPIRED"
    ]
    assert any(isinstance(event, BookChanged) for event in events)
    assert market.trading.book("X").hidden
    assert market.now(order).state is OrderState.EXPIRED
    market.advance(hours(1))
    assert not market.trading.book("X").hidden


# ---- by hand


@pytest.mark.parametrize(
    ("was", "target"), [pair for pair in product(S, S) if pair[0] is not pair[1]]
)
def test_an_operator_moves_along_legal_edges_only(
    was: InstrumentState, target: InstrumentState
) -> None:
    """L10."""
    market = in_state(was)
    if target in LEGAL_EDGES[was]:
        assert market.move(target) is was
        assert path(market) == [(was.name, target.name)]
    else:
        with pytest.raises(IllegalTransition):
            market.move(target)
        assert market.take() == []
        assert market.trading.state("X") is was


# The specification's own words about the lifecycle (§3.1): from, to, what also happens.
SPECIFIED_EDGES = [
    (S.PENDING, S.OPEN, "state-change notification", {Effect.BEGIN_SESSION}),
    (S.OPEN, S.CLOSED, "existing Day orders are expired", {Effect.EXPIRE_DAY_ORDERS}),
    (S.CLOSED, S.EXPIRED, "resting orders are expired", {Effect.EXPIRE_ORDERS}),
    (
        S.EXPIRED,
        S.TERMINATED,
        "order book removed from matching, orders canceled, positions closed",
        {Effect.CANCEL_ORDERS, Effect.RESOLVE_POSITIONS},
    ),
    (S.PREOPEN, S.OPEN, "orders entered match at a single opening price", {Effect.UNCROSS}),
    *(
        (S.MATCH_AND_CLOSE_AUCTION, to, "matching occurs at the transition", {Effect.UNCROSS})
        for to in S
        if to not in (S.PENDING, S.MATCH_AND_CLOSE_AUCTION)
    ),
]


@pytest.mark.parametrize(("was", "to", "words", "effects"), SPECIFIED_EDGES)
def test_an_edge_has_the_effects_that_the_specification_names(
    was: InstrumentState, to: InstrumentState, words: str, effects: set[Effect]
) -> None:
    """§3.1, transitions."""
    assert effects <= EDGES[was, to].effects, words


def test_effects_of_an_edge_depend_on_where_it_leads_and_what_it_leaves() -> None:
    """The table of transitions agrees with the rules that it implements."""
    for (was, to), edge in EDGES.items():
        expected = set()
        if to is S.OPEN:
            expected |= {Effect.UNCROSS, Effect.RELEASE_STOPS}
            if was in (S.PENDING, S.PREOPEN, S.CLOSED):
                expected.add(Effect.BEGIN_SESSION)
        if was is S.MATCH_AND_CLOSE_AUCTION:
            expected.add(Effect.UNCROSS)
        if to is S.CLOSED:
            expected |= {Effect.EXPIRE_DAY_ORDERS, Effect.AWAIT_SETTLEMENT}
        if to is S.EXPIRED:
            expected.add(Effect.EXPIRE_ORDERS)
        if to is S.TERMINATED:
            expected |= {Effect.CANCEL_ORDERS, Effect.RESOLVE_POSITIONS}
        if was is S.CLOSED and to is not S.EXPIRED:
            expected.add(Effect.POSTPONE_SETTLEMENT)
        assert edge.effects == expected, (was, to)
    assert not any(to is S.PENDING or was is S.TERMINATED for was, to in EDGES)


def test_states_of_one_column_are_told_apart_from_those_of_every_other() -> None:
    """No set of states has two names."""
    columns = [
        states.ENTRY_STATES,
        states.CANCEL_STATES,
        states.AUCTION_STATES,
        states.SESSION_STATES,
        states.OVER_STATES,
        states.EXPIRED_STATES,
        states.DATA_STATES,
    ]
    assert len(set(columns)) == len(columns)
    assert not states.OVER_STATES & states.CANCEL_STATES


# ---- operations that each state permits (table 1.2)

PERMITS = [
    # state, insert, replace, cancel, text
    (S.PENDING, False, None, None, "Instrument is not tradable"),
    (S.PREOPEN, True, True, True, ""),
    (S.OPEN, True, True, True, ""),
    (S.SUSPENDED, False, False, True, "Book is SUSPENDED"),
    (S.HALTED, False, False, False, "Book is HALTED"),
    (S.MATCH_AND_CLOSE_AUCTION, True, True, True, ""),
    (S.CLOSED, False, False, False, "Book is CLOSED"),
    (S.EXPIRED, False, None, None, "Book is EXPIRED"),
    (S.TERMINATED, False, None, None, "Instrument Unavailable: X"),
]


@pytest.mark.parametrize(("state", "insert", "replace", "cancel", "text"), PERMITS)
def test_a_state_permits_what_its_row_says(
    state: InstrumentState, insert: bool, replace: bool | None, cancel: bool | None, text: str
) -> None:
    """Table 1.2; None means that no order can exist in that state."""
    market = Market() if replace is not None else in_state(state)
    if replace is not None:
        order = market.buy("a", 5, 40)
        other = market.buy("a", 5, 41)
        if state is S.PREOPEN:
            market.move(S.SUSPENDED)
        if state is not S.OPEN:
            market.move(state)
        for allowed, attempt in (
            (replace, lambda: market.replace(order, qty=3)),
            (cancel, lambda: market.cancel(other)),
        ):
            if allowed:
                attempt()
            else:
                with pytest.raises(OrderRefused):
                    attempt()
    if insert:
        assert market.buy("c", 1, 30).live
    else:
        with pytest.raises(OrderRefused) as raised:
            market.buy("c", 1, 30)
        assert raised.value.message == text
        assert raised.value.reason is (
            RejectReason.UNKNOWN_SYMBOL if state is S.TERMINATED else RejectReason.EXCHANGE_CLOSED
        )


BARRED: list[dict[str, Any]] = [
    {"tif": IOC},
    {"tif": FOK},
    {"all_or_none": True},
    {"min_qty": 1},
    {"price": 0},
    {"price": 0, "best_limit": True},
    {"price": 0, "immediately_executable_limit": True},
    {"strict_limit": True},
    {"price": 0, "qty": 0, "cash_qty": 100},
]


@pytest.mark.parametrize("fields", BARRED)
@pytest.mark.parametrize(
    ("state", "name"),
    [(S.PREOPEN, "PRE_OPEN"), (S.MATCH_AND_CLOSE_AUCTION, "MATCH_AND_CLOSE_AUCTION")],
)
def test_an_auction_bars_attributes_that_need_continuous_trading(
    state: InstrumentState, name: str, fields: dict[str, Any]
) -> None:
    """L18."""
    market = Market(Instrument(symbol="X", opening_state=state))
    with pytest.raises(
        OrderRefused, match=f"^Order has attributes that cannot be placed in {name}$"
    ):
        market.buy("a", **{"qty": 5, "price": 50, **fields})


# ---- effects of a transition


def test_closing_expires_day_orders_and_only_those_before_it_tells_the_state() -> None:
    """§3.1, §1.4, L23."""
    market = Market()
    day = market.buy("a", 1, 50, tif=DAY_ORDER)
    keeps = market.buy("a", 1, 51)
    timed = market.buy("a", 1, 52, tif=GTT, good_till=START + hours(1))
    stop = market.sell("b", 1, type=OrderType.STOP, stop_price=10, tif=DAY_ORDER)
    market.take()
    market.move(S.CLOSED)
    events = market.take()
    assert [type(event).__name__ for event in events] == [
        "Executed",
        "Executed",
        "StateChanged",
        "BookChanged",
    ]
    assert [market.now(order).state.name for order in (day, keeps, timed, stop)] == [
        "EXPIRED",
        "NEW",
        "NEW",
        "EXPIRED",
    ]
    market.advance(hours(1))
    assert market.now(timed).state is OrderState.EXPIRED
    market.move(S.OPEN)
    assert market.sell("b", 1, 51).state is OrderState.FILLED


def test_expiry_expires_everything_and_termination_cancels_what_is_left() -> None:
    """§3.1."""
    market = Market(dated(start=START))
    order = market.buy("a", 1, 50)
    market.take()
    market.advance(hours(3))
    reports = market.reports()
    assert [(report.type, report.order.id, report.unsolicited) for report in reports] == [
        (ExecutionType.EXPIRED, order.id, UnsolicitedReason.UNDEFINED)
    ]
    assert market.depth() == ([], [])
    assert market.trading.open_orders_reserve("a") == 0


def test_day_orders_expire_at_the_roll_before_2026_09_13_and_not_from_then_on() -> None:
    """L12."""
    for start, expires in (
        ("2026-09-12T16:00:00-04:00", True),
        ("2026-09-13T16:00:00-04:00", False),
    ):
        market = Market(now=parse_instant(start))
        order = market.buy("a", 1, 50, tif=DAY_ORDER)
        market.advance(hours(1) - 1)
        assert market.now(order).live
        market.advance(1)
        assert market.now(order).live is not expires
        assert len(market.ctx.timers.pending()) == (0 if expires else 1)
    market.ctx.assumptions.change("day_roll.expire_day_orders", "always")
    market.advance(DAY)
    assert market.now(order).state is OrderState.EXPIRED


def test_a_halted_book_is_frozen_and_goes_on_where_it_stopped() -> None:
    """§3.1."""
    market = Market()
    market.buy("a", 2, 50)
    market.move(S.HALTED)
    market.move(S.OPEN)
    market.take()
    assert market.sell("b", 2, 50).state is OrderState.FILLED


def test_an_idle_instrument_changes_state_without_a_book() -> None:
    market = Market(
        *(Instrument(symbol=f"I{index}", start=START + seconds(1)) for index in range(5))
    )
    market.advance(minutes(1))
    assert [market.trading.books.touched(f"I{index}") for index in range(5)] == [None] * 5
    assert len([event for event in market.take() if isinstance(event, BookChanged)]) == 5


def test_good_till_time_fires_in_a_halted_instrument() -> None:
    """L23, L24."""
    market = Market()
    order = market.buy("a", 1, 50, tif=GTT, good_till=START + minutes(1))
    market.move(S.HALTED)
    market.take()
    cash = market.trading.ledger.entries("a")
    market.advance(minutes(1))
    assert market.now(order).state is OrderState.EXPIRED
    assert market.trading.ledger.entries("a") == cash
    assert market.trading.positions.of("a") == []
    assert market.trading.book("X").levels(Side.BUY) == []
