"""The clock's modes. Real time appears only where a mode is about it."""

from __future__ import annotations

import asyncio
import time
from fractions import Fraction

import pytest
from fake_simulation import START
from hypothesis import given
from hypothesis import strategies as st
from patience import until

from sim.api.pipeline.inputs import Outcome, Reply
from sim.core.model.refusals import Conflict
from sim.kernel.instants import HOUR, seconds
from sim.world.format.clock_mode import AUTOJUMP, FAST, MANUAL, PACED, ClockMode, parse_clock_mode
from tests.kit.http import call as http_call


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("manual", MANUAL),
        ("autojump", AUTOJUMP),
        ("fast", FAST),
        ("paced", PACED),
        ("paced:1", PACED),
        ("paced:60", ClockMode("paced", Fraction(60))),
        ("paced:0.5", ClockMode("paced", Fraction(1, 2))),
    ],
)
def test_modes_are_read(text, mode):
    assert parse_clock_mode(text) == mode


@pytest.mark.parametrize(
    "text", ["", "Manual", "paced:", "paced:0", "paced:-1", "paced:1e3", "paced:x", "faster"]
)
def test_anything_else_is_no_mode(text):
    with pytest.raises(ValueError, match="one of manual, autojump, fast, paced"):
        parse_clock_mode(text)


@pytest.mark.long
@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=100_000, max_denominator=1000).filter(
        lambda rate: 1000 % rate.denominator == 0
    )
)
def test_a_mode_is_shown_as_it_is_read(rate):
    mode = ClockMode("paced", rate)
    assert parse_clock_mode(str(mode)) == mode


async def test_a_fast_clock_jumps_from_due_to_due_from_the_first_call_on(serve):
    served = await serve(clock=FAST)
    for number in range(3):
        served.sim.after(3600 * (number + 1), f"timer {number}")
    await asyncio.sleep(0)
    assert served.sim.now == START
    await served.ask("gateway")
    await until(lambda: not served.sim.timers)
    assert served.sim.now == START + 3 * HOUR


async def test_a_manual_clock_stands_still(served):
    served.sim.after(0, "due at once")
    await served.ask("gateway")
    assert served.sim.now == START
    assert len(served.sim.timers) == 1


async def test_an_advance_stops_at_every_due_instant_and_ends_where_it_was_told(served):
    for after in (5, 5, 9):
        served.sim.after(after, f"t{after}")
    fired = await served.host.advance(START + seconds(10))
    assert [item.timer for item in fired] == ["t5", "t5", "t9"]
    assert [value[1] for value in served.sim.inputs] == [seconds(5), seconds(9), seconds(10)]


async def test_what_a_timer_sets_off_within_the_advance_fires_in_it(served):
    served.sim.after(5, "first")
    ordinary = served.sim.advance_to

    def advance_to(to):
        outcome = ordinary(to)
        if any(item.timer == "first" for item in outcome.fired):
            served.sim.after(2, "second")
        return outcome

    served.sim.advance_to = advance_to
    fired = await served.host.advance(START + seconds(60))
    results = [(item.timer, item.at - START) for item in fired]
    assert results == [("first", seconds(5)), ("second", seconds(7))]


async def test_time_does_not_go_back(served):
    await served.host.advance(START + seconds(10))
    with pytest.raises(Conflict):
        await served.host.advance(START + seconds(9))
    assert await served.host.advance(START + seconds(10)) == []


async def test_a_paced_clock_moves_by_itself_and_fires_what_is_due(serve):
    served = await serve(clock=ClockMode("paced", Fraction(3600)))
    served.sim.after(60, "soon")
    served.sim.after(24 * 3600, "tomorrow")
    served.host.driver.rearm()
    await until(lambda: len(served.sim.timers) == 1)
    moved = served.sim.now - START
    assert seconds(60) <= moved < 24 * HOUR


async def test_a_paced_clock_knows_of_timers_that_a_tester_sets(serve):
    served = await serve(clock=ClockMode("paced", Fraction(3600)))

    def later(*value):
        served.sim.after(60, "soon")
        return Outcome(seq=1)

    served.sim.on_control = later
    await served.host.control("anything", "", {})
    await until(lambda: not served.sim.timers)


async def test_a_paced_clock_is_brought_up_to_date_by_a_call(serve):
    served = await serve(clock=ClockMode("paced", Fraction(3600)))
    began = time.monotonic()
    await until(lambda: time.monotonic() - began > 0.005)
    assert served.sim.inputs == []
    await served.ask("gateway")
    assert [value[0] for value in served.sim.inputs] == ["advance", "rest"]
    assert served.sim.now >= START + seconds(18)


async def test_a_paced_clock_holds_a_reply_for_its_time(serve):
    served = await serve(clock=ClockMode("paced", Fraction(3600)))
    served.sim.replies["/slow"] = lambda: Reply(ready_at=served.sim.now + seconds(60))
    answer = await served.ask("exchange", "/slow")
    assert "x-sim-elapsed" not in answer.headers
    assert served.sim.now >= START + seconds(60)


async def test_an_advance_on_a_paced_clock_jumps_ahead_and_goes_on_from_there(serve):
    served = await serve(clock=PACED)
    await served.host.advance(START + 24 * HOUR)
    await until(
        lambda: served.host.driver.catch_up() is None and served.sim.now > START + 24 * HOUR
    )
    assert served.sim.now < START + 25 * HOUR


async def test_changing_the_mode_stops_or_starts_the_clock_where_it_is(serve):
    served = await serve(clock=ClockMode("paced", Fraction(3600)))
    await until(lambda: served.host.driver.catch_up() is None and served.sim.now > START)
    served.host.driver.change(MANUAL)
    stopped = served.sim.now
    served.sim.after(1, "never by itself")
    await served.ask("gateway")
    assert served.sim.now == stopped


async def test_changing_to_autojump_frees_replies_that_are_held(serve):
    served = await serve(latency="hold")
    served.sim.replies["/slow"] = lambda: Reply(ready_at=served.sim.now + seconds(31))
    waiting = asyncio.ensure_future(served.ask("exchange", "/slow"))
    await until(lambda: bool(served.host.replies))
    served.host.driver.change(AUTOJUMP)
    assert (await waiting).status == 200
    assert served.sim.now == START + seconds(31)


def test_a_limit_on_a_manual_clock_says_that_it_stands_and_blames_nobody(exchange):
    answers = [http_call(f"{exchange.gateway}/v1/health") for _ in range(25)]
    refused = [answer for answer in answers if answer.status == 429]
    assert refused and {answer.headers["x-sim-clock"].split(";")[0] for answer in refused} == {
        "stands still"
    }
    exchange.clock.advance("2s")
    assert http_call(f"{exchange.gateway}/v1/health").status == 200
    report = exchange.conformance()
    assert report.ok, report.broken()
