"""Transitions that an operator may request (rule L10) and permitted durations (§3.5, §4.3, §6.1),
compared with tables that are independent of the exchange.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.api.pipeline.inputs import Post
from sim.core.model.refusals import IllegalTransition
from sim.kernel.instants import NS_PER_S
from tests.kit import PERSON, Desk, begin

# From where to where, in the words of rule L10: open, suspended and halted change with each other;
# what has not begun or was halted may open or pre-open; anything tradable closes; what closed may
# open again; the auction may follow anything and be followed by anything but PENDING; EXPIRED ends
# in TERMINATED, and that ends everything. PENDING is never entered again (§3.1).
MOVES = {
    "PENDING": "OPEN PREOPEN MATCH_AND_CLOSE_AUCTION",
    "PREOPEN": "OPEN SUSPENDED HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "OPEN": "SUSPENDED HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "SUSPENDED": "OPEN PREOPEN HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "HALTED": "OPEN PREOPEN SUSPENDED CLOSED MATCH_AND_CLOSE_AUCTION",
    "MATCH_AND_CLOSE_AUCTION": "OPEN PREOPEN SUSPENDED HALTED CLOSED EXPIRED TERMINATED",
    "CLOSED": "OPEN PREOPEN MATCH_AND_CLOSE_AUCTION EXPIRED",
    "EXPIRED": "TERMINATED",
    "TERMINATED": "",
}
# How a test gets there from OPEN.
ROUTES = {
    "OPEN": [],
    "PREOPEN": ["CLOSED", "PREOPEN"],
    "EXPIRED": ["CLOSED", "EXPIRED"],
    "TERMINATED": ["CLOSED", "EXPIRED", "TERMINATED"],
}


def move(world: Desk, state: str) -> None:
    world.move("moved", state)


def shown(world: Desk) -> str:
    """The state that reference data show."""
    row = world.partner.get("/v1/refdata/instruments/moved").json()
    return str(row["instrument"]["state"]).removeprefix("INSTRUMENT_STATE_")


def instrument_in(state: str) -> Desk:
    world = begin(limits=False)
    made: dict[str, Any] = {"symbol": "moved", "tick_size": "0.01", "state": "OPEN"}
    if state == "PENDING":
        made = {"symbol": "moved", "tick_size": "0.01", "start": "2026-12-01T12:00:00Z"}
    world.simulation.control("instrument.create", "", made)
    for step in ROUTES.get(state, [state]) if state != "PENDING" else []:
        move(world, step)
    assert shown(world) == state
    return world


@pytest.mark.spec("S3.1-13")
@pytest.mark.parametrize("state", MOVES)
def test_an_operator_takes_the_moves_of_the_rule_and_no_other(state: str) -> None:
    allowed = MOVES[state].split()
    for target in MOVES:
        if target == state:
            continue
        world = instrument_in(state)
        if target in allowed:
            move(world, target)
            assert shown(world) == target
        else:
            with pytest.raises(IllegalTransition, match="cannot become") as refused:
                move(world, target)
            assert refused.value.code == 9
            assert shown(world) == state


# ---- odds that the documents state


@pytest.mark.spec("S4.3-6")
def test_an_unfiltered_trade_search_fails_about_two_times_in_three_and_a_filtered_one_never() -> (
    None
):
    """§4.3: 504 after 30 s "about two thirds of the time"; filtered by symbol, about 130 ms."""
    world = begin(limits=False)
    client = world.trader()
    symbol = world.quiet().symbol
    failed = 0
    for _ in range(150):
        begun = world.now
        answer = client.post("/v1/report/trades/search", json={})
        assert answer.status in (200, 504)
        if answer.status == 504:
            failed += 1
            assert answer.reply.ready_at - begun == 30 * NS_PER_S
        narrow = client.post("/v1/report/trades/search", json={"symbol": symbol})
        assert (narrow.status, narrow.reply.ready_at - world.now) == (200, 130_000_000)
    assert 85 <= failed <= 115  # two thirds of 150 is 100; four deviations are 23


# ---- the time between an approval and the webhook


@pytest.mark.spec("S3.5-1")
def test_the_window_without_a_participant_is_from_half_a_second_to_26_minutes_long() -> None:
    """§3.5. Of 120 windows some are near each bound."""
    world = begin(limits=False)
    client = world.partner
    client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    begun, windows = world.now, []
    for number in range(120):
        person = PERSON | {"external_id": f"w-{number}", "ssn": f"4{number:08d}"}
        assert client.post("/v1/kyc/start", json=person).json()["participantId"] == ""

    def receive(post: Post) -> int:
        windows.append(world.now - begun)
        return 200

    world.receive = receive
    world.advance("499ms")
    assert windows == []
    world.advance_to(begun + 26 * 60 * NS_PER_S)
    assert len(windows) == 120
    assert min(windows) < 60 * NS_PER_S
    assert max(windows) > 20 * 60 * NS_PER_S
