"""The one-file report: it holds what history answers, at every moment, and nothing that is secret;
the same journal gives the same file. `server/test_report_page.py` opens it in a browser.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.kernel.journal_reader import read_journal
from sim.kernel.work import done
from sim.read.headless_run import run_scenario
from sim.read.history.history import History
from sim.read.history.recorded import RecordedRun
from sim.read.replay import replaying, simulation_of
from sim.read.report import packing, states
from sim.read.report.contents import FRAMES_MAX
from sim.read.report.report import write_report
from sim.run.actors.operator.views import view
from sim.search.fuzz import with_random_steps
from tests.journeys import FEW_GAMES, journalled
from tests.read.test_history_moments import Recorder
from tests.report_file import ReportFile, Rows

VIEWS = (
    *("accounts", "assumptions", "books", "breakers", "deliveries", "faults", "ledger", "limits"),
    *("maintenance", "orders", "quirks", "sessions", "timers", "trades", "verifications"),
)


def report_of(journal: bytes, folder: Path) -> ReportFile:
    (folder / "run.ndjson").write_bytes(journal)
    assert write_report(RecordedRun(folder / "run.ndjson"), folder / "run.html") == (None, [])
    return ReportFile(folder / "run.html")


def noticed(sim: Simulation, symbols: tuple[str, ...] = ()) -> dict[str, Rows]:
    """Views of the present, with the terms of some instruments."""
    result = {name: view(sim.engine, name)[name] for name in VIEWS}
    listed = sim.exchange.instruments
    rows = [states.instrument_answer(sim.exchange, listed.require(symbol)) for symbol in symbols]
    return result | {"instruments": rows}


class Watcher(Recorder):
    """Does things to a run and records what it was like after each."""

    def note(self) -> None:
        branch = self.sim.journal.branch
        if branch.seq > branch.from_seq or not branch.seq:
            self.states[branch.name, self.sim.seq] = noticed(self.sim)  # type: ignore[assignment]


@pytest.mark.long
@settings(max_examples=3)
@given(numbers=st.lists(st.integers(0, 400), min_size=6, max_size=20))
def test_every_moment_of_every_branch_is_what_it_was(
    numbers: list[int], tmp_path_factory: Any
) -> None:
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "PART_BYTES", 4_000)
        run = Watcher(Simulation(load_scenario("quickstart"), journal=file))
        for number in numbers:
            run.act(number)
        report = report_of(file.getvalue(), tmp_path_factory.mktemp("report"))
    history = History(run.sim)
    for (branch, seq), was in run.states.items():
        for name in VIEWS:
            assert report.state(name, branch, seq) == was[name], (branch, seq, name)
        if seq:
            record = done(history.record(seq, branch))
            first = record["frames"][:FRAMES_MAX]
            assert report.complete(branch, seq) == {**record, "frames": first, "causes": None}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_an_input_changes_is_known_from_its_events(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random steps of every kind, while whole views are never read again."""
    monkeypatch.setattr(states, "_WHOLE_EVERY", 10**9)
    scenario = with_random_steps(load_scenario("quickstart"), seed, 70)
    file = io.BytesIO()
    run_scenario(scenario, seed, Simulation(scenario, seed=seed, journal=file))
    report = report_of(file.getvalue(), tmp_path)
    file.seek(0)
    header, lines = read_journal(file)
    again = simulation_of(header)
    symbols = tuple(row["symbol"] for row in report.state("instruments", "main", 0))
    assert len(symbols) > 40
    for _ in replaying(again, lines):
        for name, rows in noticed(again, symbols).items():
            reported = report.state(name, "main", again.seq)
            if name == "instruments":
                reported = [row for row in reported if row["symbol"] in symbols]
            assert reported == rows, (again.seq, name)


def sim(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    with journalled(tmp_path / "run.ndjson", FEW_GAMES) as world:
        run = Recorder(world.simulation)
        for number in (2, 12, 7, 3, 8, 2):
            run.act(number)
    return tmp_path / "run.ndjson"


def test_the_same_journal_gives_the_same_file(capsys: Any, journal: Path) -> None:
    pages = [journal.with_name(name) for name in ("one.html", "two.html")]
    for page in pages:
        code, out, err = sim(capsys, "report", journal, "--out", page)
        assert (code, err) == (0, "")
        assert out.startswith(f"{page}: few-games, ") and out.count("\n") == 1
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert str(journal.parent) not in ReportFile(pages[0]).text
    names = {path.name for path in journal.parent.iterdir()}
    assert names == {"run.ndjson", "one.html", "two.html"}


def test_what_is_no_journal_and_what_would_be_overwritten_is_refused(
    capsys: Any, journal: Path
) -> None:
    page, lines = journal.with_name("page.html"), journal.read_bytes().splitlines(keepends=True)
    spoilt = journal.with_name("spoilt.ndjson")
    spoilt.write_bytes(b"".join([*lines[:3], b'{"nonsense": 1}\n', *lines[3:]]))
    reported = f"{spoilt}:4:1: not a journal record\n"
    assert sim(capsys, "report", spoilt, "--out", page) == (2, "", reported)
    missing = journal.with_name("missing.ndjson")
    code, _, err = sim(capsys, "report", missing, "--out", page)
    assert code == 2 and "missing.ndjson" in err and "No such file" in err
    assert not page.exists()
    code, _, err = sim(capsys, "report", journal, "--out", journal)
    assert code == 2 and "would be overwritten" in err
    assert journal.read_bytes() == b"".join(lines)
    code, _, err = sim(capsys, "report", journal)
    assert code == 2 and "--out FILE.html" in err


def test_a_run_that_is_not_repeated_is_shown_as_far_as_it_is(capsys: Any, journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    other = lines[4].replace(b'"digest":"', b'"digest":"0', 1)
    assert other != lines[4]
    journal.write_bytes(b"".join([*lines[:4], other, *lines[5:]]))
    page = journal.with_name("page.html")
    code, _, err = sim(capsys, "report", journal, "--out", page)
    assert code == 3 and f"{journal}:5: digest differs" in err
    reached = sum(line.startswith(b'{"seq":') for line in lines[1:4])
    assert f"records and states up to input {reached}" in err
    report = ReportFile(page)
    last = report.branches["main"]["last_seq"]
    assert report.row("main", last)["seq"] == last
    assert last == sum(line.startswith(b'{"seq":') for line in lines)
    assert report.record("main", reached)["digest"]
    assert "digest differs" in report.index["health"]["stopped"]


def test_failed_runs_leave_a_page(capsys: Any, tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.yaml"
    scenario.write_text(
        "name: wrong\nextends: quickstart\nsteps:\n"
        "  - {name: books, call: {plane: gateway, get: /v1/health}, expect: {status: 503}}\n"
    )
    code, out, _ = sim(capsys, "run", scenario, "quickstart", "--report", tmp_path / "pages")
    assert code == 1 and f"report {tmp_path}/pages/wrong-7.html" in out
    code, out, _ = sim(capsys, "sweep", scenario, "--seeds", "3..4", "--report", tmp_path / "pages")
    pages = {page.name: ReportFile(page) for page in (tmp_path / "pages").iterdir()}
    assert sorted(pages) == ["wrong-3.html", "wrong-4.html", "wrong-7.html"]
    for page in pages.values():
        (step,) = page.index["script"]["steps"]
        assert (step["state"], step["name"]) == ("failed", "books")


def test_a_long_run_has_every_row_and_says_of_how_many_it_has_more(
    capsys: Any, journal: Path
) -> None:
    total, short = journal.with_name("whole.html"), journal.with_name("short.html")
    sim(capsys, "report", journal, "--out", total)
    code, out, err = sim(capsys, "report", journal, "--out", short, "--inputs", "3")
    assert (code, err) == (0, "") and "records and states of the last 3 of " in out
    every, some = ReportFile(total), ReportFile(short)
    assert every.index["health"]["notices"] == [] and every.index["since"] == 0
    (notice,) = some.index["health"]["notices"]
    assert notice in out.replace("the page has ", "")
    observed = 0
    for name, branch in every.branches.items():
        for seq in range(branch["from_seq"] + 1, branch["last_seq"] + 1):
            assert some.row(name, seq) == every.row(name, seq)
            if every.position(name, seq) >= some.index["since"]:
                observed += 1
                assert some.record(name, seq) == every.record(name, seq)
                for view in VIEWS:
                    assert some.state(view, name, seq) == every.state(view, name, seq), view
    assert observed == 3
    assert len(short.read_bytes()) < len(total.read_bytes())


def test_how_much_a_page_has_is_said_with_the_page(capsys: Any, journal: Path) -> None:
    code, _, err = sim(capsys, "report", journal, "--account", "atlas", "--inputs", "3")
    assert code == 2 and "--inputs needs" in err


@pytest.fixture(scope="module")
def small() -> bytes:
    """The journal of a small run."""
    written = io.BytesIO()
    text = "name: small\nextends: quickstart\nsteps: [{call: {plane: gateway, get: /v1/health}}]\n"
    run_scenario(load_scenario(text), simulation=Simulation(load_scenario(text), journal=written))
    return written.getvalue()


@pytest.mark.parametrize(
    "noise", [b"\xff", b'"', b"{", b"\n", b'\n{"mark":"rewind","argument":"x"}\n']
)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_damaged_journal_is_told(
    small: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], noise: bytes, share: float
) -> None:
    header = small.index(b"\n") + 1
    at = header + int((len(small) - header) * share)
    journal = tmp_path / "run.ndjson"
    journal.write_bytes(small[:at] + noise + small[at:])
    assert main(["report", str(journal), "--out", str(tmp_path / "page.html")]) in (2, 3)
    assert f"{journal}:" in capsys.readouterr().err.replace("\n", "")
