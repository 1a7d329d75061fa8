"""`sim bisect`: the input after which something stopped being true, and where two runs part."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.server.journal_file import open_journal
from tests.kit.desk import begin

WORLD = """
name: bisected
extends: quickstart
world: {instruments: [{symbol: b, tick_size: "0.01", state: OPEN}]}
"""


def order(caller: str, side: str, price: str, **rest: str) -> dict[str, object]:
    return {"as": caller, "symbol": "b", "side": side, "price": price, "qty": "10", **rest}


@pytest.fixture
def journal(tmp_path):
    """A client's session: six reads, a bid (input 7), a minute, its fill (input 9), six reads, a
    minute.
    """

    def write(name: str, price: str = "0.60", *, back: bool = False) -> Path:
        path = tmp_path / name
        with open_journal(path) as file:
            world = begin(WORLD, journal=file)
            sim = world.simulation
            for _ in range(6):
                world.gateway.get("/v2/leagues")
            world.operate("order.place", **order("maker", "buy", price, clord_id="bid"))
            sim.advance_to(sim.now + 60_000_000_000)
            world.operate("order.place", **order("taker", "sell", price))
            for _ in range(6):
                world.gateway.get("/v2/leagues")
            if back:
                sim.rewind(seq=7)
            sim.advance_to(sim.now + 60_000_000_000)
        return path

    return write


FILLED = "{order: {clord_id: bid, state: FILLED}}"
NEW = "{order: {clord_id: bid, state: NEW}}"


@pytest.mark.parametrize("every", [0, 2, 7])
def test_the_input_is_found_whatever_the_stride(sim, journal, every):
    code, out, _ = sim("bisect", journal("a.ndjson"), "--expect", NEW, "--every", every)
    assert code == 1
    assert "true up to line 9, false after line 10, input 9" in out
    assert "order.place" in out and "fill: buy 10 b @ 0.6" in out
    assert "now: order bid is FILLED, not NEW" in out
    assert "--until 2026-09-08T18:01:00Z --serve" in out


def test_it_finds_where_something_becomes_true(sim, journal):
    code, out, _ = sim("bisect --becomes true --every 3", journal("a.ndjson"), "--expect", FILLED)
    assert code == 0
    assert "false up to line 9, true after line 10, input 9" in out
    assert "before: order bid is NEW, not FILLED" in out


def test_a_rewind_may_be_what_turned_it(sim, journal):
    code, out, _ = sim("bisect", journal("back.ndjson", back=True), "--expect", FILLED)
    assert code == 1
    assert "true up to line 16, false after line 17, input 7" in out
    assert "rewind" in out


def test_what_never_turns_is_said_plainly(sim, journal):
    path = journal("a.ndjson")
    assert "true at every check" in sim("bisect", path)[1]
    code, out, _ = sim("bisect", path, "--expect", FILLED)
    assert code == 0 and "false at the start, true at the end" in out and "--becomes true" in out
    out = sim("bisect --every 100", path, "--expect", NEW)[1]
    assert "between two checks was not seen" in out
    code, out, _ = sim("bisect", path, "--expect", "{order: {clord_id: other, state: FILLED}}")
    assert code == 1 and "false at every check" in out
    assert "there is no order with the client order id 'other'" in out
    code, out, _ = sim("bisect", path, "--expect", "{instrument: {symbol: nothing, state: OPEN}}")
    assert code == 1 and "nothing" in out


@pytest.mark.usefixtures("leaking_money")
def test_the_input_that_breaks_an_invariant_is_found_without_a_question(sim, journal):
    code, out, _ = sim("bisect", journal("a.ndjson"))
    assert code == 1
    assert "the invariants: true up to line 9, false after line 10, input 9" in out
    assert "now: money: all balances sum to" in out


def test_two_runs_part_at_the_first_input_that_differs_and_their_states_are_compared(sim, journal):
    first, second = journal("a.ndjson"), journal("b.ndjson", "0.50")
    code, out, _ = sim("bisect", first, journal("again.ndjson"))
    assert (code, out) == (0, "the runs are the same, line by line\n")
    code, out, _ = sim("bisect", first, second)
    assert code == 1
    assert "the first 6 lines are the same; then the inputs differ" in out
    assert f"{second}, line 8:" in out
    assert ": price 0.6 → 0.5" in out
    code, out, _ = sim("bisect", first, journal("back.ndjson", back=True))
    assert code == 1
    assert "the first 15 lines are the same; then only one of them rewinds, resets or" in out


def test_the_same_questions_answered_differently_part_in_what_came_of_them(sim, tmp_path):
    paths = []
    for depth in ("clamp", "refuse"):
        paths.append(tmp_path / f"{depth}.ndjson")
        with open_journal(paths[-1]) as file:
            assumption = f"assumptions: {{book.depth_above_maximum: {depth}}}\n"
            world = begin(WORLD + assumption, journal=file)
            world.partner.get("/v1/orderbook/b", params={"depth": 50})
    code, out, _ = sim("bisect", *paths)
    assert code == 1
    assert "their headers differ in scenario_digest" in out
    assert "the input is the same, and the outcomes differ" in out
    assert "200" in out and "400" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["no-such-journal"], "no-such-journal: cannot read: No such file"),
        ([__file__], "line 1 is not a journal header"),
        (["a", "b", "c"], "give one journal, with or without --expect, or two"),
        (["a", "b", "--expect", "{}"], "give one journal, with or without --expect, or two"),
    ],
)
def test_what_cannot_be_searched_is_exit_2_and_says_why(sim, arguments, text):
    code, _, err = sim("bisect", *arguments)
    assert code == 2 and text in err


def test_a_question_with_a_slip_is_answered_with_what_was_meant_and_a_touched_journal_with_its_line(
    sim, journal
):
    path = journal("a.ndjson")
    code, _, err = sim("bisect", path, "--expect", "{order: {clord_i: bid}}")
    assert code == 2 and "did you mean 'clord_id'?" in err
    path.write_bytes(path.read_bytes().replace(b"/v2/leagues", b"/v2/league5", 1))
    code, _, err = sim("bisect", path)
    assert code == 3 and f"{path}:2: " in err
