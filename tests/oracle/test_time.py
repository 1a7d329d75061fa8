"""The law on time and money without fills: vectors by hand, and runs that show something else.

Each run is judged twice: as it is, which the law must accept, and with a change to what it shows,
which the law must tell, by the rule that the change breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sim.api.pipeline.inputs import Input, Outcome
from sim.kernel.instants import Instant, eastern_date, format_instant, parse_instant
from sim.oracle.law import Law
from sim.oracle.schedules import by_wall_clock, in_force, next_edge, weekly
from sim.oracle.verdict import Disagreement
from sim.read.observed import ObservedInput, beginning_of
from sim.run.engine.engine import Engine
from tests.kit import FEW_GAMES, Desk, begin

Events = list[dict[str, Any]]
Change = Callable[[Events], object]
SYMBOL = "judged"
NOON = "2026-09-08T12:00:00-04:00"


class Altered:
    """The law, listening to a run whose events are changed on the way."""

    def __init__(self, desk: Desk, change: Change) -> None:
        self._change = change
        self._law = Law(beginning_of(desk.simulation))
        self.disagreements: list[Disagreement] = []
        desk.simulation.engine.observers.append(self)

    def after_input(
        self, engine: Engine, input_: Input, outcome: Outcome, at: Instant, out: bytes
    ) -> None:
        """Judge an input after the change."""
        observed = ObservedInput(engine, input_, outcome, at, out)
        self._change(observed.events)
        self.disagreements += self._law.judge(observed)

    def after_jump(self) -> None:
        """Nothing here goes back in time."""


# ---- sessions


def day(desk: Desk) -> None:
    """A market that opens with an auction, closes at one and expires at two; its trades clear."""
    segments = [{"start": "12:10", "length": "10m", "state": "PREOPEN"}]
    segments += [{"start": "12:20", "length": "40m"}]
    desk.listed(
        SYMBOL, schedule=segments, expiration="2026-09-08T14:00:00-04:00",
        termination="2026-09-08T15:00:00-04:00",
    )  # fmt: skip
    instrument = desk.instrument(SYMBOL)
    desk.advance_to("2026-09-08T12:10:00-04:00")
    desk.place(instrument, "buy", 50, 5, timeInForce="TIME_IN_FORCE_DAY")
    desk.place(instrument, "sell", 50, 3, user=1)
    desk.place(instrument, "buy", 40, 1)
    for at in ("12:21", "12:59", "13:30", "14:30", "15:30"):
        desk.advance_to(f"2026-09-08T{at}:00-04:00")


def window(desk: Desk) -> None:
    """An order, and a maintenance window that is announced."""
    instrument = desk.listed(SYMBOL)
    desk.place(instrument, "buy", 40, 1)
    desk.operate("maintenance.add", begins="+5m", length="10m", lead="1m")
    for span in ("4m30s", "1m", "10m"):
        desk.advance(span)


def settled(desk: Desk) -> None:
    """A trade, its settlement and two corrections."""
    instrument = desk.listed(SYMBOL)
    desk.trade(instrument, 40, 5)
    for price in ("1", "0.3", "0"):
        desk.settle(instrument, price)
    desk.advance("1m")


def busted(desk: Desk) -> None:
    """Two trades, the first of which is busted after it cleared."""
    instrument = desk.listed(SYMBOL)
    desk.trade(instrument, 40, 5)
    desk.trade(instrument, 50, 2)
    first = desk.search("trades", symbol=SYMBOL)[-1]["id"]
    desk.advance("1m")
    desk.operate("trade.bust", first)


def good_till(desk: Desk) -> None:
    """An order that is good till a time."""
    ending: dict[str, Any] = {
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME",
        "goodTillTime": "2026-09-08T16:05:00Z",
    }
    desk.place(desk.listed(SYMBOL), "buy", 40, 1, **ending)
    desk.advance("10m")


def operator(desk: Desk) -> None:
    """An operator halts a market and lets it go."""
    desk.listed(SYMBOL)
    desk.move(SYMBOL, "HALTED", "SCHEDULE")
    desk.advance("1m")


def money(desk: Desk) -> None:
    """Money comes by hand, from a bank and by transfer."""
    desk.fund(0, "10.00")
    desk.fund(0, "-20.00", source="atlas-bank", script="cancel")
    desk.fund(0, "30.00", source="atlas-bank")
    desk.transfer("1.00")
    desk.transfer("1.00")
    desk.advance("5m")


SESSIONS = (day, window, settled, busted, good_till, operator, money)


def judged(session: Callable[[Desk], None], change: Change) -> list[Disagreement]:
    """What the law says of a session whose events are changed."""
    desk = begin(FEW_GAMES, start=NOON, limits=False)
    altered = Altered(desk, change)
    session(desk)
    return altered.disagreements


@pytest.mark.parametrize("session", SESSIONS)
def test_the_law_accepts_what_happens(session: Callable[[Desk], None]) -> None:
    assert judged(session, lambda events: None) == []


# ---- changes


def dropped(kind: str, **fields: Any) -> Change:
    """Leave out the events of a kind with these fields."""

    def change(events: Events) -> None:
        events[:] = [event for event in events if not is_like(event, kind, fields)]

    return change


def changed(kind: str, name: str, by: Any, **fields: Any) -> Change:
    """Add to a field of the events of a kind, or set it if it is no number."""

    def change(events: Events) -> None:
        for event in events:
            if is_like(event, kind, fields):
                row = event if name in event else event["execution"]
                row[name] = row[name] + by if isinstance(by, int) else by

    return change


def is_like(event: dict[str, Any], kind: str, fields: dict[str, Any]) -> bool:
    """Whether an event, or its execution, has these fields."""
    row = event | event.get("execution", {})
    return event["event"] == kind and all(row.get(name) == fields[name] for name in fields)


MINUTE = 60_000_000_000
CASES = [
    (day, dropped("StateChanged", symbol=SYMBOL, was=8), "L2"),
    (day, dropped("StateChanged", symbol=SYMBOL, was=1), "L4"),
    (day, dropped("StateChanged", symbol=SYMBOL, state=5), "L8"),
    (day, changed("StateChanged", "state", 3, symbol=SYMBOL, was=8), "L6"),
    (day, changed("StateChanged", "was", 1, symbol=SYMBOL, state=4), "L2"),
    (day, changed("StateChanged", "at", 1, symbol=SYMBOL, state=4), "L8"),
    (day, dropped("Executed", rule="L16"), "L16"),
    (day, dropped("Executed", rule="L12"), "L12"),
    (day, dropped("Executed", rule="L8"), "L8"),
    (day, changed("Executed", "rule", "L23", rule="L12"), "L23"),
    (day, dropped("Traded", symbol=SYMBOL, state=2), "M42"),
    (day, dropped("Settled", symbol=SYMBOL), "P23"),
    (day, changed("Settled", "price", 1, symbol=SYMBOL), "L26"),
    (window, dropped("MaintenanceChanged", active=True), "W1"),
    (window, changed("MaintenanceChanged", "at", MINUTE, active=True), "W1"),
    (window, dropped("StateChanged", symbol=SYMBOL, state=3), "W2"),
    (window, dropped("StateChanged", symbol=SYMBOL, was=3), "L3"),
    (window, dropped("Executed", rule="W2"), "W2"),
    (settled, dropped("CashMoved", rule="P22"), "P22"),
    (settled, changed("CashMoved", "after", 1, rule="P22"), "P22"),
    (settled, changed("PositionChanged", "realized", 1, rule="P22"), "P22"),
    (settled, dropped("PositionChanged", rule="L27"), "L27"),
    (settled, changed("CashMoved", "type", 2, rule="L27"), "L27"),
    (settled, changed("Settled", "price", 1, rule="L27"), "T1"),
    (settled, dropped("Settled", rule="L25"), "P23"),
    (settled, changed("Settled", "price", 200, rule="L25"), "L26"),
    (busted, dropped("Traded", state=3), "M42"),
    (busted, dropped("CashMoved", rule="M42"), "M42"),
    (busted, changed("PositionChanged", "cost", 1, rule="M42"), "M42"),
    (busted, changed("Traded", "state", 1, state=2), "M42"),
    (good_till, dropped("Executed", rule="L23"), "L23"),
    (good_till, changed("Executed", "at", 1, rule="L23"), "L23"),
    (operator, changed("StateChanged", "state", -5, state=6), "T1"),
    (operator, dropped("StateChanged", state=6), "T1"),
    (operator, dropped("StateChanged", was=6), "L3"),
    (money, changed("CashMoved", "after", 100, rule="T1"), "P20"),
    (money, changed("CashMoved", "before", 1, description="Deposit"), "P20"),
    (money, dropped("CashMoved", rule="T1"), "P25"),
    (money, dropped("CashMoved", description="Deposit"), "P25"),
    (money, dropped("CashMoved", description="Withdrawal rejected"), "P25"),
    (money, dropped("CashMoved", type=1, description="Transfer DEPOSIT"), "P25"),
]


@pytest.mark.parametrize(("session", "change", "rule"), CASES)
def test_the_law_tells_what_did_not_happen_like_this(
    session: Callable[[Desk], None], change: Change, rule: str
) -> None:
    rules = [disagreement.rule for disagreement in judged(session, change)]
    assert rule in rules


# ---- calendars, by hand

NINE_TO_FIVE = {"days": (5, 6, 0), "start": 9 * 60 * MINUTE, "length": 8 * 60 * MINUTE, "state": 1}


@pytest.mark.parametrize(
    ("at", "opens", "edge"),
    [
        ("2026-03-07T13:59:59.999999999Z", False, "2026-03-07T14:00:00Z"),
        ("2026-03-08T13:00:00Z", True, "2026-03-08T21:00:00Z"),  # clocks went forward in the night
        ("2026-11-01T13:59:59Z", False, "2026-11-01T14:00:00Z"),  # and back
        ("2026-11-03T12:00:00Z", False, "2026-11-07T14:00:00Z"),
    ],
)
def test_l3_segments_follow_eastern_wall_clocks(at: str, opens: bool, edge: str) -> None:
    schedule, instant = (NINE_TO_FIVE,), parse_instant(at)
    assert (in_force(schedule, instant) is not None) is opens
    following = next_edge(schedule, instant)
    assert following is not None and format_instant(following) == edge


@pytest.mark.parametrize(
    ("date", "minutes", "instant"),
    [
        ("2026-03-08", 135, "2026-03-08T07:00:00Z"),  # 02:15 does not exist
        ("2026-11-01", 90, "2026-11-01T05:30:00Z"),  # 01:30 comes twice
        ("2026-10-31", 1530, "2026-11-01T05:30:00Z"),
    ],
)
def test_l3_hours_that_clocks_leave_out_or_repeat(date: str, minutes: int, instant: str) -> None:
    at = by_wall_clock(eastern_date(parse_instant(f"{date}T12:00:00Z")), minutes * MINUTE)
    assert format_instant(at) == instant


@pytest.mark.parametrize(
    ("at", "hours", "begins", "length"),
    [
        ("2026-04-12T12:00:00Z", "spec", "2026-04-14T08:00:00Z", 2),
        ("2026-04-15T12:00:00Z", "spec", "2026-04-16T10:00:00Z", 2),
        ("2026-07-08T12:00:00Z", "spec", "2026-07-09T06:00:00Z", 4),
        ("2026-09-23T12:00:00Z", "docs", "2026-09-24T10:00:00Z", 2),
        ("2026-11-04T12:00:00Z", "spec", "2026-11-05T07:00:00Z", 4),
    ],
)
def test_w1_weekly_hours_by_era(at: str, hours: str, begins: str, length: int) -> None:
    now = parse_instant(at)
    hit = min(each for each in weekly(now, hours, 0) if each.begins > now)
    assert format_instant(hit.begins) == begins
    assert hit.ends - hit.begins == length * 60 * MINUTE
