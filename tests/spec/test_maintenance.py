"""Maintenance windows as clients live through them (rules W2-W9; W1 is in
tests/surfaces/test_limits_and_calendar.py).
"""

from __future__ import annotations

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import parse_instant
from sim.run.client.client import Response, RpcError, Stream
from tests.kit import Desk, begin, streams

WINDOW = """
name: window
extends: quickstart
clock: {start: 2026-07-09T01:50:00-04:00}
world:
  events: [{slug: the-game, title: A against B}]
  instruments:
    - {symbol: always, tick_size: "0.01"}
    - {symbol: decided, tick_size: "0.01", event: the-game, sports_market_type: basketball_team_full_game_winner, long: home}
    - {symbol: held, tick_size: "0.01", state: HALTED}
    - {symbol: closes, tick_size: "0.01", schedule: [{start: "20:00", length: 7h}]}
    - {symbol: opens, tick_size: "0.01", schedule: [{start: "03:10", length: 7h}]}
    - {symbol: expires, tick_size: "0.01", expiration: 2026-07-09T03:30:00-04:00, termination: 2026-07-09T05:00:00-04:00}
    - {symbol: auctions, tick_size: "0.01", schedule: [{start: "00:00", length: 24h, state: PREOPEN}]}
"""
SYMBOLS = ["always", "held", "closes", "opens", "expires", "auctions"]


@pytest.fixture
def world() -> Desk:
    return begin(WINDOW)


def enter(
    world: Desk, symbol: str, side: str = "buy", cents: int = 40, user: int = 0, **fields: object
) -> Response:
    """The answer to an order for five contracts."""
    return world.enter(world.instrument(symbol), side, cents, 5, user=user, **fields)


def states(world: Desk, *symbols: str) -> Stream:
    """A stream of instrument states, its first message taken."""
    stream = streams.instruments(world, *symbols)
    stream.take()
    return stream


def following(world: Desk, since: str = "") -> Stream:
    """A drop copy, from now on or from an instant."""
    return streams.drop_copy(world, resume_time=parse_instant(since) if since else None)


def executions(stream: Stream) -> list[tuple[str, str, str]]:
    """(symbol, type, reason of a cancel that nobody asked for) of the executions on a drop copy."""
    return [
        (
            row.order.symbol,
            streams.kind_of(row),
            wire.UnsolicitedCxlReason(row.unsolicited_cancel_reason).name,
        )
        for row in streams.executions_on(stream)
    ]


@pytest.mark.spec("S8-8")
def test_w2_orders_of_every_time_in_force_go_first_then_the_open_are_suspended_and_open_again_with_empty_books(
    world: Desk,
) -> None:
    for tif in ("DAY", "GOOD_TILL_CANCEL"):
        assert enter(world, "always", timeInForce=f"TIME_IN_FORCE_{tif}").status == 200
    stream = states(world, "always", "held")
    world.advance_to("2026-07-09T01:58:59-04:00")
    assert len(world.trader().get("/v1/trading/orders/open").json()["orders"]) == 2
    world.advance_to("2026-07-09T01:59:00-04:00")
    assert world.trader().get("/v1/trading/orders/open").json()["orders"] == []
    assert streams.states_on(stream) == [("always", "SUSPENDED")]
    refused = enter(world, "always")
    assert (refused.status, refused.json()["message"]) == (422, "Book is SUSPENDED")

    world.advance_to("2026-07-09T02:00:00-04:00")
    world.advance_to("2026-07-09T06:00:00-04:00")
    result = world.book("always")
    assert (result["state"], result.get("bids", [])) == ("INSTRUMENT_STATE_OPEN", [])
    assert world.trading.state("held").name == "HALTED"


@pytest.mark.spec("S6.2-4", "S8-8")
def test_w2_streams_tell_the_suspension_of_markets_that_nobody_has_touched(world: Desk) -> None:
    exchange = world.simulation.exchange
    untouched = {
        symbol: exchange.trading.state(symbol).name
        for symbol in exchange.instruments.symbols()
        if not exchange.trading.lifecycle.is_materialised(symbol) and "updown" not in symbol
    }
    opened = [symbol for symbol, state in untouched.items() if state == "OPEN"]
    others = [symbol for symbol, state in untouched.items() if state != "OPEN"]
    assert len(opened) > 2 and others
    every, some = states(world), states(world, *opened[:2], others[0])
    world.advance_to("2026-07-09T01:59:00-04:00")
    assert streams.states_on(some) == [(symbol, "SUSPENDED") for symbol in opened[:2]]
    suspended = [(symbol, "SUSPENDED") for symbol in (*opened, "always", "decided")]
    heard = streams.states_on(every)
    assert len(heard) == len(set(heard)) and set(heard) >= set(suspended)
    assert not set(heard).intersection((symbol, "SUSPENDED") for symbol in others)


def test_w3_the_cancels_come_before_the_disconnect_and_again_in_the_replay_after(
    world: Desk,
) -> None:
    enter(world, "always")
    stream = following(world)
    world.advance_to("2026-07-09T02:00:00-04:00")
    canceled = ("always", "CANCELED", "UNSOLICITED_CXL_REASON_EXCHANGE_OPTION")
    assert canceled in executions(stream)
    assert stream.end is not None
    world.advance_to("2026-07-09T06:00:00-04:00")
    assert canceled in executions(following(world, "2026-07-09T01:59:00-04:00"))


def test_w4_every_retail_and_exchange_call_is_refused_in_its_planes_shape_without_retry_after(
    world: Desk,
) -> None:
    world.advance_to("2026-07-09T02:00:00-04:00")
    exchange, retail = (world.trader().get("/v1/whoami"), world.customer().get("/v1/orders/open"))
    assert (exchange.status, exchange.json()) == (
        503,
        {"code": 14, "message": "service unavailable", "details": []},
    )
    assert (retail.status, retail.json()) == (
        503,
        {"code": 14, "message": "service unavailable", "details": []},
    )
    assert "retry-after" not in exchange.headers and "retry-after" not in retail.headers


def test_w5_streams_end_with_14_at_the_beginning_and_new_ones_are_refused_with_14(
    world: Desk,
) -> None:
    stream = following(world)
    world.advance_to("2026-07-09T01:59:59-04:00")
    assert stream.end is None
    world.advance_to("2026-07-09T02:00:00-04:00")
    assert stream.end[0] == 14
    refused = world.rpc_trader().raw("/exchange.v1.AccountsAPI/GetWhoAmI", b"")
    assert refused.code == 14
    with pytest.raises(RpcError) as again:
        following(world)
    assert again.value.code == 14


def test_w6_reference_data_tokens_and_webhooks_go_on_and_kyc_is_refused(world: Desk) -> None:
    world.advance_to("2026-07-09T03:00:00-04:00")
    assert world.gateway.get("/v1/markets").status == 200
    assert world.token(world.firm).status == 200
    assert world.partner.post("/v1/kyc/start", json={}).status == 503


def test_w7_edges_that_fall_inside_happen_at_the_end_in_the_order_of_their_instants(
    world: Desk,
) -> None:
    world.advance_to("2026-07-09T01:59:30-04:00")
    began = {symbol: world.trading.state(symbol).name for symbol in SYMBOLS}
    assert began == dict.fromkeys(SYMBOLS, "SUSPENDED") | {
        "held": "HALTED",
        "opens": "PENDING",
        "auctions": "PREOPEN",
    }
    world.advance_to("2026-07-09T05:59:59-04:00")
    assert {symbol: world.trading.state(symbol).name for symbol in SYMBOLS} == began
    fired = world.simulation.advance_to(parse_instant("2026-07-09T06:00:00-04:00")).fired
    assert [row.subject for row in fired if row.subject in ("weekly", *SYMBOLS)] == [
        "weekly",
        "closes",
        "opens",
        "expires",
    ]
    assert {symbol: world.trading.state(symbol).name for symbol in SYMBOLS} == {
        "always": "OPEN",
        "held": "HALTED",
        "closes": "CLOSED",  # and has not been open in between
        "opens": "OPEN",
        "expires": "TERMINATED",
        "auctions": "PREOPEN",
    }


def test_w7_what_waits_survives_a_snapshot_and_waits_on_where_windows_touch(world: Desk) -> None:
    world.advance_to("2026-07-09T05:00:00-04:00")
    world.simulation.snapshot("inside")
    for _ in range(2):
        world.advance_to("2026-07-09T05:59:59-04:00")
        # windows that touch are one to those who wait
        pause = world.operate("maintenance.add", length="1h").value
        world.advance_to("2026-07-09T06:00:00-04:00")
        assert world.trading.state("closes").name == "SUSPENDED"
        world.operate("maintenance.cancel", pause["name"])
        world.advance("0s")
        assert [world.trading.state(symbol).name for symbol in ("closes", "always")] == [
            "CLOSED",
            "OPEN",
        ]
        world.simulation.restore("inside")


@pytest.mark.spec("S8-8")
@pytest.mark.parametrize("latency", ["0s", "3s"])
def test_w2_books_are_empty_afterwards_whatever_came_in_after_the_cancels(
    world: Desk, latency: str
) -> None:
    """W3: what would open in the lead is suspended at once. What an auction took, and what was
    opened by hand, goes as the window begins, told before streams end; what waits for the
    engine is refused.
    """
    world.operate(
        "instrument.create",
        symbol="opens-late",
        tick_size="0.01",
        schedule=[{"start": "01:59", "length": "9h"}],
    )
    world.assume("maintenance.cancel_lead", "2m")
    world.advance_to("2026-07-09T01:59:10-04:00")
    ids = [
        enter(
            world,
            "auctions",
            timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME",
            goodTillTime="2026-07-09T04:00:00-04:00",
        ).json()["orderId"]
    ]
    assert world.trading.state("opens-late").name == "SUSPENDED"
    assert enter(world, "opens-late").status == 422
    world.move("opens-late", "OPEN")
    ids.append(enter(world, "opens-late").json()["orderId"])
    world.advance_to("2026-07-09T01:59:59-04:00")
    world.assume("engine.latency", latency)
    ids.append(enter(world, "auctions").json()["orderId"])
    copy, changes = following(world), states(world)
    world.advance_to("2026-07-09T02:00:00-04:00")
    ended = [
        row.order.id for row in streams.executions_on(copy) if streams.kind_of(row) == "CANCELED"
    ]
    assert sorted(ended) == sorted(ids[: 2 + (latency == "0s")])
    assert copy.end == (14, "service unavailable")
    assert ("opens-late", "SUSPENDED") in streams.states_on(changes)
    world.advance_to("2026-07-09T06:00:00-04:00")
    last = "CANCELED" if latency == "0s" else "REJECTED"
    results = [world.reported(order_id)["state"] for order_id in ids]
    assert results == [f"ORDER_STATE_{state}" for state in ("CANCELED", "CANCELED", last)]
    assert [world.book(symbol)["bids"] for symbol in ("auctions", "opens-late")] == [[], []]
    assert world.book("opens-late")["state"] == "INSTRUMENT_STATE_OPEN"


@pytest.mark.parametrize("operator", [False, True], ids=["schedule", "operator"])
def test_w2_a_market_that_is_suspended_for_another_reason_by_then_stays_suspended(
    operator: bool,
) -> None:
    """W7, L5: by a segment that begins inside the window, or by an operator's word meanwhile."""
    later = "" if operator else ", {start: '02:01', length: 21h59m, state: SUSPENDED}"
    segments = f"[{{start: '00:00', length: {24 if operator else 2}h{later and '1m'}}}{later}]"
    listed = f"{{symbol: x, tick_size: '0.01', schedule: {segments}}}"
    start = "clock: {start: 2026-07-09T01:50:00-04:00}"
    world = begin(more=f"{start}\nworld: {{instruments: [{listed}]}}\n")
    world.advance_to("2026-07-09T01:59:30-04:00")
    assert world.trading.state("x").name == "SUSPENDED"
    world.advance_to("2026-07-09T04:00:00-04:00")
    if operator:
        world.move("x", "SUSPENDED")
    world.advance_to("2026-07-09T06:00:01-04:00")
    assert world.trading.state("x").name == "SUSPENDED"


def test_w7_a_settlement_due_inside_pays_at_the_end(world: Desk) -> None:
    enter(world, "decided")
    enter(world, "decided", "sell", user=1)
    world.assume("settlement.delay_after_close", "30m")
    world.operate(
        "event.update",
        "the-game",
        periods={"Q1": [1, 0], "Q2": [1, 0], "Q3": [1, 0], "Q4": [1, 0]},
        ended=True,
    )
    account = world.account()
    held = world.trading.ledger.balance(account)
    world.advance_to("2026-07-09T05:59:59-04:00")
    assert world.trading.ledger.balance(account) == held
    world.advance_to("2026-07-09T06:00:00-04:00")
    assert world.trading.ledger.balance(account) == held + 5 * DOLLAR


@pytest.mark.parametrize(
    ("at", "status"),
    [
        ("2026-07-09T01:59:59-04:00", 200),
        ("2026-07-09T02:00:00-04:00", 503),
        ("2026-07-09T06:00:00-04:00", 200),
    ],
)
def test_w8_the_exchanges_health_is_503_inside_the_window(
    world: Desk, at: str, status: int
) -> None:
    world.advance_to(at)
    assert world.partner.get("/v1/health").status == status


def test_w9_an_unannounced_pause_has_no_notice_and_no_lead(world: Desk) -> None:
    enter(world, "always")
    stream = following(world)
    world.operate("maintenance.add", length="5m")
    world.advance("0s")
    assert ("always", "CANCELED", "UNSOLICITED_CXL_REASON_EXCHANGE_OPTION") in executions(stream)
    assert stream.end[0] == 14
    assert world.trader().get("/v1/whoami").status == 503


@pytest.mark.spec("S8-8", "S1-3")
@pytest.mark.parametrize(
    ("start", "status", "state"),
    [
        ("2026-07-09T01:58:59.999999999-04:00", 200, "OPEN"),
        ("2026-07-09T01:59:00-04:00", 200, "SUSPENDED"),
        ("2026-07-09T02:00:00-04:00", 503, None),
        ("2026-07-09T05:59:59.999999999-04:00", 503, None),
        ("2026-07-09T06:00:00-04:00", 200, "OPEN"),
    ],
)
def test_w1_a_world_that_begins_inside_maintenance_is_under_maintenance_at_once(
    start: str, status: int, state: str | None
) -> None:
    """W2: without moving the clock; and open again, with empty books, when the window is over."""
    listed = "{symbol: always, tick_size: '0.01'}"
    books = "{symbol: always, mid: '0.50'}"
    more = f"clock: {{start: {start}}}\nworld: {{instruments: [{listed}], books: [{books}]}}\n"
    world = begin(more=more)
    answer = world.trader().get("/v1/orderbook/always")
    assert (answer.status, answer.json().get("state")) == (
        status,
        state and f"INSTRUMENT_STATE_{state}",
    )
    assert world.customer().get("/v1/orders/open").status == status
    if answer.status == 200:
        assert (answer.json()["bids"] == []) is (state == "SUSPENDED")
    world.advance_to("2026-07-09T06:00:00-04:00")
    after = world.book("always")
    assert (after["state"], after["bids"] == []) == (
        "INSTRUMENT_STATE_OPEN",
        "06:00:00" not in start,
    )


@pytest.mark.spec("S8-8")
def test_w2_a_window_announced_for_this_very_instant_has_begun(world: Desk) -> None:
    stream = following(world)
    world.operate("maintenance.add", begins="2026-07-09T01:50:00-04:00", length="2m", lead="0s")
    assert stream.end == (14, "service unavailable")
    assert world.trader().get("/v1/orderbook/always").status == 503
    world.advance("2m")
    assert world.book("always")["state"] == "INSTRUMENT_STATE_OPEN"
