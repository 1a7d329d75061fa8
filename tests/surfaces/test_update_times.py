"""The update times of instruments, markets and events: they change with every visible change, and
are equal on every surface.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import MINUTE, NS_PER_S, parse_instant
from tests.kit import Desk, begin, streams

UNLIMITED = (
    'name: times\nextends: quickstart\nlimits: {public: "off", exchange_rest: "off",'
    ' list_instruments: "off"}\n'
)
GAME = "nba-min-nyk-2026-09-08"
SYMBOL = f"aec-{GAME}"


@pytest.fixture
def world() -> Desk:
    return begin(UNLIMITED)


def view(world: Desk, symbol: str) -> Any:
    return world.reference(symbol)


def updated(world: Desk, symbol: str) -> int:
    """The update time of an instrument, the same by symbol, in a list, in a search, in a new
    stream, and at the gateway in whole seconds.
    """
    result = view(world, symbol)
    rest = world.partner
    assert rest.post("/v1/refdata/instruments", json={"symbols": [symbol]}).json()[
        "instruments"
    ] == [result]
    assert rest.post("/v1/refdata/instruments/search", json={"symbols": [symbol]}).json()[
        "instruments"
    ] == [result]
    stream = streams.instruments(world, symbol)
    (first,) = stream.take()
    at = parse_instant(result["updateTime"])
    assert [instrument.update_time for instrument in first.instruments] == [at]
    stream.close()
    market = world.gateway.get(f"/v1/market/slug/{symbol}").json()["market"]
    assert parse_instant(market["updatedAt"]) >= at // NS_PER_S * NS_PER_S
    return at


@pytest.mark.spec("S3.1-13")
def test_it_moves_with_every_change_of_state(world: Desk) -> None:
    existing = [updated(world, SYMBOL)]
    assert existing[0] < world.now
    for state in ("HALTED", "SUSPENDED", "OPEN", "CLOSED", "OPEN"):
        world.advance("7m")
        world.move(SYMBOL, state)
        existing.append(updated(world, SYMBOL))
        assert existing[-1] == world.now
    world.advance("3m")
    assert updated(world, SYMBOL) == existing[-1]


@pytest.mark.long
@pytest.mark.spec("S3.1-1", "S3.1-2", "S3.1-3", "S3.1-4")
def test_what_nobody_touched_says_when_its_dates_moved_it(world: Desk) -> None:
    """The instants of opening, game end, expiration and termination, and of maintenance; whether
    somebody follows it or not.
    """
    exchange = world.simulation.exchange
    games = exchange.reference.generated
    slug, dates = next(
        (slug, dates)
        for slug, dates in zip(games.slugs, map(games.dates, games.slugs), strict=True)
        if dates.start > world.now + 3 * 24 * 60 * MINUTE
    )
    symbol = games.symbols_of(slug)[0]
    fork = Desk(world.simulation.fork())
    fork.simulation.exchange.trading.lifecycle.materialise(symbol)
    maintenance = parse_instant("2026-09-10T06:00:00-04:00")
    assert dates.start > maintenance
    before = dates.created
    over = exchange.games.plan.event_end(slug)
    for edge in (dates.start, over, dates.expiration, dates.termination):
        for item in (world, fork):
            item.advance_to(edge - MINUTE)
            assert parse_instant(view(item, symbol)["updateTime"]) >= before
            item.advance_to(edge + 5 * MINUTE)
            assert updated(item, symbol) == exchange.maintenance_calendar.free_from(edge)
        before = edge


def test_maintenance_moves_it_too(world: Desk) -> None:
    symbol = SYMBOL.replace("min-nyk-2026-09-08", "nyk-bos-2026-10-20")
    follower = streams.instruments(world, SYMBOL)
    follower.close()
    begins, ends = (
        parse_instant("2026-09-10T02:00:00-04:00"),
        parse_instant("2026-09-10T06:00:00-04:00"),
    )
    games = world.core.reference.generated
    quiet = next(
        symbol
        for slug in games.slugs
        if games.bare(slug).start_time > ends + 86_400 * NS_PER_S
        for symbol in games.symbols_of(slug)
    )
    world.advance_to(begins - 1)
    before = parse_instant(
        world.gateway.get(f"/v1/market/slug/{quiet}").json()["market"]["updatedAt"]
    )
    suspended = begins - 60 * NS_PER_S
    assert before == suspended
    world.advance_to(ends + MINUTE)
    assert updated(world, quiet) == ends
    assert world.core.instruments.get(symbol) is None or updated(world, symbol) == ends


def test_a_window_says_when_its_index_was_last_read(world: Desk) -> None:
    """Listed, begun (the price to beat is known), over, settled."""
    symbol = "cpc-btc-updown-15m-2026-09-08-1830z"
    begins = parse_instant("2026-09-08T18:30:00Z")
    observed = []
    for after in (-MINUTE, MINUTE, 15 * MINUTE, 17 * MINUTE, 50 * MINUTE):
        world.advance_to(begins + after)
        observed.append((parse_instant(view(world, symbol)["updateTime"]) - begins) // NS_PER_S)
    assert observed == [-90, 0, 900, 960, 2700]


def test_frames_of_a_stream_carry_the_instant_of_their_change(world: Desk) -> None:
    follower = streams.instruments(world, SYMBOL)
    follower.take()
    over = world.core.games.plan.event_end(SYMBOL[4:])
    world.advance_to(over + 10 * MINUTE)
    closed = [instrument for frame in follower.take() for instrument in frame.instruments]
    assert [(item.state, item.update_time) for item in closed] == [
        (wire.InstrumentState.INSTRUMENT_STATE_CLOSED, over)
    ]
    assert updated(world, SYMBOL) == over


def test_it_is_what_it_was_after_a_rewind(world: Desk) -> None:
    simulation = world.simulation
    simulation.control("instrument.state", SYMBOL, {"state": "HALTED"})
    early, halted = simulation.now, updated(world, SYMBOL)
    world.advance("1h")
    simulation.control("instrument.state", SYMBOL, {"state": "OPEN"})
    opened = updated(world, SYMBOL)
    simulation.rewind(to=early)
    world.forget_tokens()
    assert updated(world, SYMBOL) == halted < opened


@pytest.mark.spec("S4.1-10", "S4.1-11")
def test_lists_sort_by_what_they_show() -> None:
    """Quiet, live, settled and halted ones, before and after maintenance."""
    world = begin(UNLIMITED + "world: {games: 70}\n")
    world.move(SYMBOL, "HALTED")
    for moment in ("2026-09-09T01:00:00Z", "2026-09-10T11:00:00Z"):
        world.advance_to(moment)
        for path, name in (("/v1/events", "events"), ("/v1/markets", "markets")):
            result = world.rows(path, name, orderBy="updatedAt", orderDirection="desc")
            times = [item["updatedAt"] for item in result]
            assert times == sorted(times, reverse=True), (moment, path)
