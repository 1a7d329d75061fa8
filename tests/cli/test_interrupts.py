"""Ctrl-C in the middle of long commands: a real signal to a real process, which tells and keeps
what it has. Each test waits for a line that says the command is at work.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import NamedTuple

import pytest

from sim.evidence.recording.files import RecordedMessage, RecordingFile
from sim.kernel.instants import parse_instant
from sim.read.headless_run import run_scenario
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.journal_file import open_journal
from tests.kit.processes import sim

LINES = 20_000
ORDER = '{order: {as: maker, symbol: rain, side: buy, price: "0.20", qty: "1"}}'
FAILS = """\
name: many
extends: quickstart
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
steps:
%s  - {at: +1s, expect: {open_orders: {as: maker, count: 1000}}}
"""
# the first terminal that the leader of a session opens is the one whose Ctrl-C it hears
ON_TERMINAL = """\
import os, sys
os.open(os.ttyname(0), os.O_RDWR)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
CALLS = """\
name: calls
extends: quickstart
steps:
"""


class Ended(NamedTuple):
    """What a command that was interrupted printed, after the line that was waited for too."""

    out: str
    err: str


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """The journal of a long run."""
    path = tmp_path_factory.mktemp("long") / "long run.ndjson"
    with open_journal(path) as file:
        simulation = Simulation(load_scenario("quickstart"), journal=file)
        for _ in range(LINES):
            simulation.rest("gateway", "GET", "/v1/health", "", {}, b"")
    return path


def interrupted(folder, *command, when, on="err", **more):
    """A command that hears Ctrl-C once a line with `when` has come; it ends with 130."""
    running = subprocess.Popen(
        [sys.executable, "-m", "sim", *map(str, command)],
        stdin=more.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # lines that were not waited for stay in the pipe
        cwd=folder,
        **more,
    )
    output = {"out": "", "err": ""}
    for raw in running.stdout if on == "out" else running.stderr:
        output[on] += raw.decode()
        if when in raw.decode():
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    ended = Ended(output["out"] + out.decode(), output["err"] + err.decode())
    assert running.returncode == 130, ended
    assert "Traceback" not in ended.out + ended.err
    return ended


def test_runs_that_were_made_are_reported(tmp_path):
    options = ("--junit", "j.xml", "--json", "runs.json", "--coverage", "met.json")
    ended = interrupted(
        tmp_path, "run", "quickstart", "--seeds", "1..100000", *options, when="passed", on="out"
    )
    runs = json.loads((tmp_path / "runs.json").read_bytes())["runs"]
    assert 1 <= len(runs) < 100_000 and all(run["ok"] for run in runs)
    assert (tmp_path / "j.xml").read_text().count("<testsuite ") == len(runs)
    assert json.loads((tmp_path / "met.json").read_bytes())
    assert f"interrupted: {len(runs):,} of 100,000 runs were made" in ended.out
    assert re.search(r"sim: interrupted after \d+ of 100,000 runs", ended.err)


@pytest.mark.long
def test_a_sweep_gives_its_table_and_goes_on_later(tmp_path):
    command = ("sweep", "quickstart", "--seeds", "1..40", "--fuzz", "150", "--jobs", "2")
    command = (*command, "--results", "r.ndjson", "--json")
    ended = interrupted(tmp_path, *command, when=" of 40 runs")
    document = json.loads(ended.out)
    assert document["interrupted"] is True
    assert 4 <= document["runs"] < 40
    results = (tmp_path / "r.ndjson").read_bytes()
    assert results.count(b"\n") == document["runs"]


@pytest.mark.long
def test_trials_that_were_made_are_told(tmp_path):
    steps = "  - {at: +1s, call: {plane: gateway, get: /v1/health}}\n" * 40
    (tmp_path / "calls.yaml").write_text(CALLS + steps)
    ended = interrupted(
        tmp_path, "explore", "calls.yaml", "--jobs", "1", "--json", "t.json", when=" trials, "
    )
    trials = json.loads((tmp_path / "t.json").read_bytes())
    assert trials and {trial["scenario"] for trial in trials} == {"calls"}
    assert f"interrupted: {len(trials)} of" in ended.out


@pytest.mark.soak
def test_trials_of_tests_that_were_made_are_told(tmp_path):
    (tmp_path / "test_calls.py").write_text(
        "from urllib.request import urlopen\n\n\n"
        "def test_calls(exchange):\n"
        "    for _ in range(10):\n"
        "        urlopen(exchange.gateway + '/v1/health', timeout=1).read()\n"
    )
    command = ("explore", "test_calls.py", "--json", "t.json")
    ended = interrupted(tmp_path, *command, when=" trials of test_calls", on="out")
    trials = json.loads((tmp_path / "t.json").read_bytes())
    assert trials and all("test_calls" in trial["test"] for trial in trials)
    assert f"{len(trials)} trials: " in ended.out


@pytest.mark.long
def test_the_smallest_that_was_found_is_written(tmp_path):
    orders = "".join(f"  - {{at: +1s, {ORDER[1:]}\n" for _ in range(60))
    (tmp_path / "many.yaml").write_text(FAILS % orders)
    command = ("shrink", "many.yaml", "--out", "small.yaml")
    ended = interrupted(tmp_path, *command, when=" trials, ")
    assert "this is the smallest that was found so far" in ended.out
    total, small = (load_scenario(str(tmp_path / name)) for name in ("many.yaml", "small.yaml"))
    assert len(small.steps) == len(total.steps)  # each order counts
    assert len(json.dumps(small.plain())) < len(json.dumps(total.plain()))


def test_a_seed_that_fails_was_not_found_yet(tmp_path):
    (tmp_path / "calls.yaml").write_text(CALLS + "  - {at: +1s, advance: 1s}\n")
    command = ("shrink", "calls.yaml", "--seeds", "1..400")
    ended = interrupted(tmp_path, *command, when=" of 400 runs")
    assert "none of which failed" in ended.err
    assert not list(tmp_path.glob("*-small.yaml"))


@pytest.mark.long
def test_a_search_says_up_to_where_it_holds(tmp_path, journal):
    ended = interrupted(tmp_path, "bisect", journal, "--every", "1", "--json", when=" lines of ")
    result = json.loads(ended.out)
    assert result["interrupted"] is True
    assert result["changed"] is None and result["first"] is result["last"] is True


def test_a_replay_says_how_far_it_agrees(tmp_path, journal):
    with journal.open("rb") as total:
        begins = b"".join(total.readline() for _ in range(150))
    read, write = os.pipe()
    os.write(write, begins)  # the rest of the run never comes
    try:
        command = ("replay", "/dev/stdin", "--json")
        ended = interrupted(tmp_path, *command, when="100 lines of", stdin=read)
    finally:
        os.close(read)
        os.close(write)
    verdict = json.loads(ended.out)
    assert verdict["ok"] is None and verdict["interrupted"] is True
    assert 100 <= verdict["inputs"] < 150


@pytest.mark.parametrize("command", ["diff", "bisect"])
def test_two_runs_are_compared_as_far_as_they_were_read(tmp_path, journal, command):
    (tmp_path / "again.ndjson").write_bytes(journal.read_bytes())
    ended = interrupted(tmp_path, command, journal, "again.ndjson", when=" lines of ")
    assert "sim: interrupted after " in ended.err and f" of {LINES:,} lines of " in ended.err
    assert "the same" not in ended.out


@pytest.mark.parametrize("command", [("conformance",), ("explain",)], ids=" ".join)
def test_what_needs_the_whole_run_says_how_far_it_came(tmp_path, journal, command):
    ended = interrupted(tmp_path, *command, journal, "--json", when=" lines of ")
    assert ended.out == ""
    assert "sim: interrupted after " in ended.err and f" of {LINES:,} lines of " in ended.err


def test_a_recording_is_compared_as_far_as_it_was_read(tmp_path):
    file = RecordingFile(tmp_path / "session.ndjson", {"gateway": "https://gateway.example"})
    at = parse_instant("2026-09-08T18:00:00Z")
    request = RecordedMessage(method="GET", path="/v1/health")
    answer = RecordedMessage(status=200, headers={"content-type": "application/json"}, body={})
    for _ in range(LINES):
        file.append("gateway", at, request=request, answer=answer)
    file.close()
    command = ("compare", "session.ndjson", "--scenario", "quickstart", "--json")
    result = json.loads(interrupted(tmp_path, *command, when=" lines compared").out)
    assert "interrupted; this is of what was compared before, and some" in result["warnings"][0]
    assert 0 < result["totals"]["seen"] < LINES


@pytest.mark.long
def test_a_terminal_shows_a_bar_and_its_ctrl_c_is_heard_by_workers_too(tmp_path):
    terminal, side = pty.openpty()

    command = ("sweep", "quickstart", "--seeds", "1..100000", "--jobs", "2", "--json")
    running = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, "-m", "sim", *command],
        stdin=side,
        stdout=subprocess.PIPE,
        stderr=side,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
        cwd=tmp_path,
    )
    os.close(side)
    observed = b""
    while b"/100000" not in observed:
        observed += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    with suppress(OSError):  # the other side is closed
        while more := os.read(terminal, 4096):
            observed += more
    out, _ = running.communicate(timeout=300)
    os.close(terminal)
    assert running.returncode == 130
    assert b"sim: interrupted after" in observed and b"Traceback" not in observed
    assert json.loads(out)["interrupted"] is True


@pytest.mark.long
def test_short_work_shows_no_progress(tmp_path):
    (tmp_path / "calls.yaml").write_text(CALLS + "  - {at: +1s, advance: 1s}\n")
    ran = sim("sweep", "calls.yaml", "--seeds", "1..3", "--json", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["runs"] == 3


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        (["run", "wrong.yaml", "wrong.yaml", "--junit", "kept"], 1),
        (["sweep", "wrong.yaml", "--seeds", "1..2", "--jobs", "1", "--json", "kept"], 1),
        (["check", "spoilt.yaml", "--json", "kept"], 2),
        (["conformance", "careless.ndjson", "--junit", "kept"], 0),
        (["diff", "careless.ndjson", "other.ndjson", "--json", "kept"], 1),
        (["replay", "spoilt.ndjson"], 3),
        (["audit", "careless.ndjson", "--json", "kept"], 0),
        (["timeline", "careless.ndjson"], 0),
    ],
)
def test_a_verdict_stands_though_the_reader_stops(files, verb, code):
    reading, writing = os.pipe()
    os.close(reading)
    (files / "kept").unlink(missing_ok=True)
    command = [sys.executable, "-m", "sim", *verb]
    assert (
        subprocess.run(command, cwd=files, stdout=writing, stderr=writing, check=False).returncode
        == code
    )
    os.close(writing)
    assert "kept" not in verb or (files / "kept").read_bytes()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Scenarios and journals with something wrong."""
    folder = tmp_path_factory.mktemp("wrong")
    call = "call: {plane: exchange, get: /v1/orderbook/none, as: firms/atlas}"
    for name, expect in (("wrong", 200), ("careless", 404), ("other", 404)):
        text = f"name: {name}\nextends: quickstart\nsteps: [{{{call}, expect: {{status: {expect}}}}}]\n"
        (folder / f"{name}.yaml").write_text(text)
    (folder / "spoilt.yaml").write_text("name: spoilt\nstep: []\n")
    for name in ("careless", "other"):
        with open_journal(folder / f"{name}.ndjson") as file:
            simulation = Simulation(load_scenario(str(folder / f"{name}.yaml")), journal=file)
            run_scenario(simulation.scenario, simulation=simulation)
    journal = (folder / "careless.ndjson").read_bytes()
    (folder / "spoilt.ndjson").write_bytes(journal.replace(b'"status":404', b'"status":400'))
    return folder
