"""Order flow replayed from a CSV file: the effect of its rows, its content as part of the scenario,
the messages for wrong rows, and files of a million rows.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.core.model.enums import OrderState
from sim.kernel.instants import NS_PER_S
from sim.read.replay import Divergence, replay_file
from sim.run.actors.participants.participants import participants_of
from sim.run.client.client import connect
from sim.world.format.order_flow import (
    PART_LINES,
    FlowError,
    PackedFile,
    Reader,
    is_intact,
    pack_file,
    packed_of,
)
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm

SCENARIO = """
name: recorded
extends: quickstart
world: {instruments: [{symbol: w, tick_size: "0.01", state: OPEN}]}
participants:
  flows: [{name: tape, file: flow.csv}]
"""
HEADING = "at,as,action,id,symbol,side,price,qty,type,tif\n"
ROWS = """0,maker,,m1,w,sell,0.60,100,,
1.5,taker,new,t1,w,buy,0.60,30,limit,ioc
# what stands here is passed over

+2s,maker,replace,m1,w,,0.58,,,
2.25,"maker",cancel,m1,w,,,,,
2.25,maker,cancel,m1,w,,,,,
2.5,, new ,n1,w,buy,0.41,7,,day
2026-09-08T14:00:09-04:00,taker,new,,w,sell,,5,market,
"""


def folder(path: Path, rows: str = ROWS, heading: str = HEADING, scenario: str = SCENARIO) -> str:
    """A scenario beside its CSV file; the scenario's path."""
    (path / "flow.csv").write_text(heading + rows)
    (path / "scenario.yaml").write_text(scenario)
    return str(path / "scenario.yaml")


def pack(content: bytes) -> PackedFile:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return pack_file(Path(file.name))


def orders(sim: Simulation) -> list[tuple[str, int, int, str]]:
    results = [order for order in sim.exchange.trading.orders.all() if order.symbol == "w"]
    return [(order.clord_id, order.price, order.cum_qty, order.state.name) for order in results]


def test_rows_enter_when_they_are_due_and_show_on_every_surface(tmp_path: Path) -> None:
    world = connect(Simulation(load_scenario(folder(tmp_path))))
    sim = world.simulation
    partner = world.exchange(firm(sim))
    assert partner.get("/v1/orderbook/w").json()["offers"][0]["qty"] == "100"
    world.advance("2s")
    assert orders(sim) == [("m1", 58, 30, "REPLACED"), ("t1", 60, 30, "FILLED")]
    assert partner.get("/v1/orderbook/w").json()["offers"][0] == {"px": "58", "qty": "70"}
    world.advance("10s")
    assert orders(sim)[2:] == [("n1", 41, 5, "PARTIALLY_FILLED"), ("", 41, 5, "FILLED")]
    assert orders(sim)[0][3] == "CANCELED"
    assert sim.exchange.trading.orders.by_clord_id("firms/sandbox/users/noise", "n1") is not None, (
        "who is not named is noise"
    )
    (flow,) = participants_of(sim.engine).save().flows.values()
    assert (flow.sent, flow.refused) == (7, 1), "the second cancel came too late"
    assert not [timer for timer in sim.exchange.ctx.timers.pending() if timer.kind == "flow.row"]


def test_what_a_market_does_not_take_is_rejected_as_anybodys(tmp_path: Path) -> None:
    sim = Simulation(
        load_scenario(
            folder(
                tmp_path,
                "1,maker,,a,w,buy,0.50,5,,\n2,maker,,b,w,sell,0.50,5,,\n4,taker,,c,w,sell,0.50,5,,\n",
            )
        )
    )
    sim.advance_to(sim.now + 3 * NS_PER_S)
    sim.control("instrument.state", "w", {"state": "HALTED"})
    sim.advance_to(sim.now + 3 * NS_PER_S)
    assert [state for *_, state in orders(sim)] == ["NEW", "REJECTED", "REJECTED"]
    texts = [
        execution.text
        for execution in sim.exchange.trading.executions
        if execution.order.state is OrderState.REJECTED
    ]
    assert texts == ["Self Match Prevention", "Book is HALTED"], (
        "nobody scripted trades with himself"
    )


def test_the_content_of_the_file_is_part_of_the_scenario_and_of_its_journal(tmp_path: Path) -> None:
    path = folder(tmp_path)
    scenario = load_scenario(path)
    with (tmp_path / "run.ndjson").open("w+b", buffering=0) as journal:
        sim = Simulation(scenario, journal=journal)
        stop, end = sim.now + 2 * NS_PER_S, sim.now + 22 * NS_PER_S
        sim.advance_to(stop)
        sim.advance_to(end)
        there = sim.digest
        sim.rewind(seq=1)
        sim.advance_to(stop)
        sim.advance_to(end)
        assert sim.digest == there
    (tmp_path / "flow.csv").write_text(HEADING + ROWS.replace("0.41", "0.42"))
    other = load_scenario(path)
    assert other.digest != scenario.digest
    assert load_scenario(folder(tmp_path)).digest == scenario.digest
    (tmp_path / "flow.csv").unlink()
    replay_file(tmp_path / "run.ndjson")
    torn = (tmp_path / "run.ndjson").read_bytes()
    part = torn.split(b'"content":"')[1][:40]
    (tmp_path / "torn.ndjson").write_bytes(torn.replace(part, part[::-1], 1))
    with pytest.raises(Divergence):
        replay_file(tmp_path / "torn.ndjson")


def test_a_pinned_file_must_be_the_one_that_was_meant(tmp_path: Path) -> None:
    path = folder(tmp_path)
    digest = pack_file(tmp_path / "flow.csv").sha256
    folder(
        tmp_path, scenario=SCENARIO.replace("file: flow.csv", f"file: flow.csv, sha256: {digest}")
    )
    assert load_scenario(path).participants.flows[0].sha256 == digest
    (tmp_path / "flow.csv").write_text(HEADING)
    with pytest.raises(ScenarioError, match="has changed"):
        load_scenario(path)


def test_a_flow_is_found_beside_the_file_that_names_it_and_may_be_given_another(
    tmp_path: Path,
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    folder(base)
    (tmp_path / "top.yaml").write_text("name: top\nextends: base/scenario.yaml\n")
    assert load_scenario(str(tmp_path / "top.yaml")).participants.flows[0].content
    (tmp_path / "mine.csv").write_text(HEADING + "1,maker,,a,w,buy,0.50,5,,\n")
    (tmp_path / "top.yaml").write_text(
        "name: top\nextends: base/scenario.yaml\nparticipants: {flows: [{name: tape, file:"
        " mine.csv}]}\n"
    )
    flow = load_scenario(str(tmp_path / "top.yaml")).participants.flows[0]
    assert len(list(Reader(packed_of(flow), 0, "noise").rows())) == 1


WRONG = [
    ("x,maker,,m1,w,sell,0.60,1,,", 1, "at: "),
    ("1,nobody,,m1,w,sell,0.60,1,,", 3, "there is no firm or participant 'nobody'"),
    ("1,maker,amend,m1,w,sell,0.60,1,,", 9, "action must be new or cancel or replace, not 'amend'"),
    ("1,maker,cancel,,w,,,,,", 16, "a cancel needs the id of an order"),
    ("1,maker,,m1,ww,sell,0.60,1,,", 13, "unknown symbol 'ww'"),
    ("1,maker,,m1,w,sold,0.60,1,,", 15, "side must be buy or sell, not 'sold'"),
    ("1,maker,,m1,w,sell,0.605,1,,", 20, "price: 0.605 is finer than 1/100"),
    ("1,maker,,m1,w,sell,,1,,", 20, "a limit order needs a price"),
    ("1,maker,,m1,w,sell,0.5,1,market,", 20, "a market order must not have one"),
    ("1,maker,,m1,w,sell,1e1,1,,", 20, "price: not a decimal"),
    ("1,maker,,m1,w,sell,0.60,0,,", 25, "qty: 0 is not above zero"),
    ("1,maker,,m1,w,sell,0.60,,,", 25, "a new order needs a quantity"),
    ("1,maker,,m1,w,sell,0.60,1.5,,", 25, "qty: 1.5 is finer than 1/1"),
    ("1,maker,,m1,w,sell,0.60,1,peg,", 27, "type must be limit or market"),
    ("1,maker,,m1,w,sell,0.60,1,,gtd", 28, "tif must be gtc or day or ioc or fok, not 'gtd'"),
    ("1,maker,,m1,w,sell,0.60", 1, "this row has 7 cells, but the first line names 10 columns"),
    ("-1,maker,,m1,w,sell,0.60,1,,", 1, "at: "),
    ("999999999999,maker,,m1,w,sell,0.60,1,,", 1, "at: must be before the year 2200"),
    (
        "+999999999999h,maker,,m1,w,sell,0.60,1,,",
        1,
        "the calendar of this exchange ends with the year 2199",
    ),
]


@pytest.mark.parametrize(("row", "column", "text"), WRONG)
def test_a_wrong_row_is_told_at_its_line_and_column(
    row: str, column: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(tmp_path, f"0,maker,,m0,w,sell,0.60,1,,\n\n{row}\n")
    assert main(["check", path]) == 2
    line, *displayed = capsys.readouterr().err.splitlines()
    assert not displayed or displayed[1].index("^") == 4 + column - 1
    assert line.startswith(f"{tmp_path / 'flow.csv'}:4:{column}: ")
    assert text in line


HEADINGS = [
    ("", "1:1: the file is empty"),
    ("at,symbl\n", "1:4: unknown column 'symbl'; did you mean 'symbol'?"),
    ("at,symbol,at\n", "1:11: the column 'at' occurs twice"),
    ("at,side\n", "1:1: the column 'symbol' is missing"),
    (
        HEADING + "2,maker,,a,w,buy,0.5,1,,\n1,maker,,b,w,buy,0.5,1,,\n",
        "3:1: rows must be in order of time",
    ),
    (HEADING + "2,maker,,\udc80,w,buy,0.5,1,,\n", "2:10: this is not UTF-8 text"),
    (HEADING + "2" + "0" * 1000 + "\n", "2:1001: this line has more than 1000 bytes"),
]


@pytest.mark.parametrize(("text", "message"), HEADINGS)
def test_a_file_that_is_no_order_flow_is_told_where(
    text: str, message: str, tmp_path: Path
) -> None:
    path = folder(tmp_path)
    (tmp_path / "flow.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(path)
    assert str(wrong.value).startswith(f"{tmp_path / 'flow.csv'}:{message}")


@given(
    st.lists(
        st.one_of(
            st.sampled_from(ROWS.splitlines()),
            st.text(alphabet=st.characters(codec="utf-8"), max_size=60),
        ),
        max_size=6,
    ),
    st.data(),
)
def test_whatever_stands_in_a_file_it_is_read_or_told_where_it_is_wrong(
    lines: list[str], data: st.DataObject
) -> None:
    text = HEADING + "".join(
        f"{data.draw(st.sampled_from((line, line.replace('0', '9' * 18), line.upper())))}\n"
        for line in lines
    )
    packed = pack(text.encode())
    scales = {"w": (100, 1)}
    try:
        wrong = list(Reader(packed, 0, "noise").check(scales, lambda name: True))
        rows = [] if wrong else list(Reader(packed, 0, "noise").rows())
    except FlowError as error:
        wrong, rows = [error], []
    assert all(
        1 <= error.line <= text.count("\n") + 1 and error.column >= 1 and str(error)
        for error in wrong
    )
    assert [row.due for _, row in rows] == sorted(row.due for _, row in rows)
    assert is_intact(packed)


def test_a_missing_file_is_told_where_it_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "flow.csv").unlink()
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(path)
    assert str(wrong.value).startswith(f"{path}:6:30: cannot read {tmp_path / 'flow.csv'}")


@pytest.mark.long
def test_rows_are_unpacked_a_part_at_a_time_and_found_from_any_line_on(tmp_path: Path) -> None:
    count = 20 * PART_LINES
    with (tmp_path / "flow.csv").open("w") as file:
        file.write("at,symbol,side,price,qty\n")
        file.writelines(
            f"{number}.5,w,buy,0.{number % 90 + 10},{number % 50 + 1}\n" for number in range(count)
        )
    tracemalloc.start()
    packed = pack_file(tmp_path / "flow.csv")
    reader = Reader(packed, 0, "noise")
    assert sum(1 for _ in reader.rows()) == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(map(len, packed.parts)) < (tmp_path / "flow.csv").stat().st_size / 3
    assert peak < sum(map(len, packed.parts)) + 2_500 * PART_LINES / 4, (
        "what is packed, and about one part unpacked"
    )
    for line in (1, PART_LINES - 1, PART_LINES, PART_LINES + 1, count):
        assert next(reader.rows(line))[0] == line
        assert next(reader.rows(line))[1].due == (line - 1) * NS_PER_S + NS_PER_S // 2
