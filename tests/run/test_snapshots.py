"""Automatic snapshots: limited in number and bytes, evenly distributed over the inputs, and of the
requested branch only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sim import Simulation, load_scenario
from sim.api.pipeline.request_log import RequestLog
from sim.core.history import ExchangeHistory, FirstRows
from sim.kernel.instants import NS_PER_S
from sim.kernel.journal import Checkpoint, Header, Journal
from sim.run.engine import snapshots
from sim.run.engine.snapshots import FIRST_DISTANCE, KEPT, Snapshot, Snapshots
from sim.testing import connect
from tests.journeys import order, quiet, trader

NO_ROWS: FirstRows[Any] = FirstRows([], 0)
NO_HISTORY = ExchangeHistory(NO_ROWS, NO_ROWS, [], NO_ROWS, NO_ROWS, NO_ROWS, [])
HEADER = Header(name="t", seed=1, start=0, scenario=Raw(b"{}"), scenario_digest="", libraries={})


def moment(journal: Journal, size: int = 10) -> Snapshot:
    nothing: Any = None
    return Snapshot(journal.seq, journal.checkpoint(), bytes(size), NO_HISTORY, nothing)


def grow(journal: Journal, count: int, kind: bytes = b"{}") -> None:
    for _ in range(count):
        journal.append(journal.seq, kind, b"{}", b"", journal.seq + 1)


def kept(shelf: Snapshots) -> list[Snapshot]:
    return shelf._kept


def test_the_shelf_holds_few_moments_and_one_near_every_input() -> None:
    journal = Journal(HEADER)
    shelf = Snapshots(moment(journal))
    for _ in range(60):
        grow(journal, FIRST_DISTANCE)
        if shelf.due(journal.seq):
            shelf.keep(moment(journal))
    seqs = [answer.checkpoint.seq for answer in kept(shelf)]
    assert len(seqs) <= KEPT
    assert seqs[0] == 0
    assert max(
        b - a for a, b in zip(seqs, [*seqs[1:], journal.seq], strict=True)
    ) <= journal.seq // (KEPT // 2 - 1)
    for seq in (0, 1, 17_500, journal.seq):
        result = shelf.nearest(seq).checkpoint.seq
        assert result == max(candidate for candidate in seqs if candidate <= seq)


def seqs_of(snapshots: Iterable[Snapshot]) -> list[int]:
    return [snapshot.checkpoint.seq for snapshot in snapshots]


def shelf_of(monkeypatch: pytest.MonkeyPatch) -> tuple[Journal, Snapshots]:
    """Return a store of up to four snapshots and 100 bytes, two inputs apart at first."""
    monkeypatch.setattr(snapshots, "KEPT", 4)
    monkeypatch.setattr(snapshots, "BYTES_MAX", 100)
    monkeypatch.setattr(snapshots, "FIRST_DISTANCE", 2)
    monkeypatch.setattr(snapshots, "_BYTES_PER_INPUT", 10)
    journal = Journal(HEADER)
    return journal, Snapshots(moment(journal))


def test_a_full_shelf_drops_every_second_moment_and_doubles_its_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, shelf = shelf_of(monkeypatch)
    held = []
    for _ in range(15):
        grow(journal, 1)
        assert shelf.due(journal.seq) is (journal.seq >= shelf._next)
        if shelf.due(journal.seq):
            shelf.keep(moment(journal, 1))
            held.append(seqs_of(shelf.every))
    assert held == [[0, 2], [0, 2, 4], [0, 2, 4, 6], [0, 4, 8], [0, 4, 8, 12]]
    grow(journal, 1)
    shelf.keep(moment(journal, 1))
    assert seqs_of(shelf.every) == [0, 8, 16]
    assert (shelf.due(23), shelf.due(24)) == (False, True)


def test_large_moments_go_earlier_and_the_next_is_farther_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, shelf = shelf_of(monkeypatch)
    for size, left, following in (
        (45, [0, 1], 5),  # 45 bytes: four inputs at 10 bytes an input
        (45, [0, 1, 2], 6),  # with the 10 bytes of the start exactly 100 bytes
        (46, [0, 2], 7),  # 146 bytes: every second one is removed
        (200, [0, 4], 24),  # larger than the limit: only it and the start remain
        (19, [0, 5], 21),  # the distance was doubled for the third time
    ):
        grow(journal, 1)
        shelf.keep(moment(journal, size))
        assert (seqs_of(shelf.every), shelf.due(following - 1), shelf.due(following)) == (
            left,
            False,
            True,
        )


def test_a_moment_that_cannot_be_kept_is_postponed_by_one_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, shelf = shelf_of(monkeypatch)
    shelf.postpone(7)
    assert (shelf.due(8), shelf.due(9)) == (False, True)
    grow(journal, 9)
    shelf.keep(moment(journal))
    assert (shelf.due(10), shelf.due(11)) == (False, True)
    for seq, nearest in ((0, 0), (8, 0), (9, 9), (99, 9)):
        assert shelf.nearest(seq).checkpoint.seq == nearest
        assert (shelf.due(seq + 1), shelf.due(seq + 2)) == (False, True)


def test_moments_of_a_branch_that_was_left_are_set_aside_with_its_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, shelf = shelf_of(monkeypatch)
    for _ in range(3):
        grow(journal, 2)
        shelf.keep(moment(journal, 1))
    start, second, _, sixth = shelf.every
    own = RequestLog()
    log = RequestLog()
    shelf._kept[3] = sixth._replace(log=own)
    journal.resume(second.checkpoint)
    journal.branch_off("rewind")
    fork = shelf.fork()
    shelf.named["x"] = second
    shelf.leave(journal, log)
    assert shelf._kept == [start, second]
    assert [(result.checkpoint.seq, result.log) for result in shelf._left] == [(4, log), (6, own)]
    assert seqs_of(shelf.every) == [4, 6, 0, 2]
    assert (seqs_of(fork.every), fork.named) == ([0, 2, 4, 6], {})
    before = shelf.every
    shelf.leave(journal, log)
    assert shelf.every == before, "all of the others are on the branch"


def test_what_is_set_aside_is_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, shelf = shelf_of(monkeypatch)
    other = Snapshots(moment(journal, 1))
    for _ in range(2):
        grow(journal, 1)
        other.keep(moment(journal, 1))
    log = RequestLog()
    shelf.adopt(other, log)
    assert seqs_of(shelf._left) == [0, 1, 2]
    assert all(result.log is log for result in shelf._left)
    shelf.adopt(other, log)  # six, of which every second one remains
    assert seqs_of(shelf._left) == [1, 0, 2]
    assert shelf._kept == [shelf.start]
    large = Snapshots(moment(journal, 60))
    shelf.adopt(large, log)
    assert seqs_of(shelf._left) == [1, 0, 2, 2]
    shelf.adopt(large, log)  # five of 123 bytes
    assert seqs_of(shelf._left) == [0, 2]
    assert sum(result.size for result in shelf._left) == 61
    shelf.adopt(Snapshots(moment(journal, 500)), log)
    assert [result.size for result in shelf._left] == [60]
    pair = Snapshots(moment(journal))
    for _ in range(2):
        pair.adopt(Snapshots(moment(journal, 60)), log)
    assert [result.size for result in pair._left] == [60], "of two that are too large, one goes"
    empty = Snapshots(moment(journal))
    empty.adopt(Snapshots(moment(journal, 500)), log)
    assert [result.size for result in empty._left] == [500], "a large one is kept alone"


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), max_size=12))
def test_a_checkpoint_is_on_a_branch_exactly_when_its_lines_are(
    steps: list[tuple[int, int]],
) -> None:
    journal = Journal(HEADER)
    points: list[tuple[Checkpoint, list[bytes]]] = [(journal.checkpoint(), [])]
    for number, (count, back) in enumerate(steps):
        if back < len(points):
            journal.resume(points[back][0])
            journal.branch_off("rewind")
            assert list(journal.lines()) == points[back][1]
        grow(journal, count, b'{"step":%d}' % number)
        points.append((journal.checkpoint(), list(journal.lines())))
        now = list(journal.lines())
        for point, lines in points:
            assert journal.on_branch(point) is (now[: len(lines)] == lines)


def test_a_connection_goes_on_after_every_journey_in_time() -> None:
    simulation = Simulation(load_scenario("quickstart"))
    world = connect(simulation)
    partner = world.exchange(
        simulation.exchange.firms.require("firms/atlas"), "firms/atlas/users/mara-voss"
    )
    for journey in (
        lambda: simulation.reset(),
        lambda: simulation.reset(99),
        lambda: simulation.rewind(seq=1),
        lambda: simulation.restore("here"),
    ):
        simulation.snapshot("here")
        assert partner.get("/v1/trading/orders/open").status == 200
        world.advance("1m")
        journey()
        assert partner.get("/v1/trading/orders/open", params={"symbols": None}).status == 200


def test_a_book_that_was_read_empty_shows_what_rests_in_it_after_a_restore() -> None:
    """All inputs are at one instant, without a read between them."""
    world = connect(Simulation(load_scenario("quickstart")))
    instrument, client = quiet(world.simulation), trader(world)
    path = f"/v1/orderbook/{instrument.symbol}"

    def bids() -> list[object]:
        return client.get(path).json().get("bids", [])

    assert bids() == []
    assert client.post("/v1/trading/orders", json=order(instrument, "buy", 40, 5)).status == 200
    world.simulation.snapshot("resting")
    world.simulation.restore("resting")
    assert len(bids()) == 1


def test_a_read_that_restores_a_book_changes_no_version() -> None:
    """Otherwise whatever was computed before it in the same request is computed again."""
    world = connect(Simulation(load_scenario("quickstart")))
    instrument, client = quiet(world.simulation), trader(world)
    books, symbol = world.simulation.exchange.trading.books, instrument.symbol
    assert client.post("/v1/trading/orders", json=order(instrument, "buy", 40, 5)).status == 200
    world.simulation.snapshot("resting")
    world.simulation.restore("resting")
    loaded = books.version
    assert books.get(symbol).bids and books.get(symbol).version == loaded
    assert (books.version, books.version_of_symbol(symbol)) == (loaded, loaded)
    assert books.version_of(instrument.event) == loaded


def test_an_asset_that_ticked_first_after_a_snapshot_is_unknown_again_when_it_is_restored() -> None:
    world = connect(Simulation(load_scenario("quickstart")))
    second = world.simulation.now // NS_PER_S
    query = {"assets": "crypto:later", "from": second, "bucket": "ASSET_PRICE_BUCKET_1S"}

    def candles() -> list[object]:
        world.advance("20s")
        answer = world.gateway.get("/v1/asset-prices/history", params=query)
        (series,) = answer.json()["series"]
        return list(series["candles"])

    world.simulation.snapshot("before")
    world.simulation.control("price.tick", "crypto:later", {"price": "1"})
    assert candles()
    world.simulation.restore("before")
    assert candles() == []


def test_a_generated_event_shows_what_rests_in_its_markets_after_a_restore() -> None:
    """It has been read with a newer book, and its market is not new to the exchange."""
    world = connect(Simulation(load_scenario("quickstart")))
    reference = world.simulation.exchange.reference
    listed = world.gateway.get("/v1/events", params={"limit": 100, "closed": "false"})
    event = next(
        event for event in listed.json()["events"] if reference.generated_dates(event["slug"])
    )
    market = event["markets"][0]["slug"]
    instrument = world.simulation.exchange.instruments.require(market)
    client = trader(world)

    def price() -> object:
        world.advance("10s")
        displayed = world.gateway.get(f"/v1/events/slug/{event['slug']}").json()["event"]
        return displayed["markets"][0]["marketSides"][0]["price"]

    def bid(cents: int) -> None:
        sent = client.post("/v1/trading/orders", json=order(instrument, "buy", cents, 5))
        assert sent.status == 200, sent

    bid(30)
    world.simulation.snapshot("thirty")
    bid(40)
    assert price() == "0.4"
    world.simulation.restore("thirty")
    assert price() == "0.3"
