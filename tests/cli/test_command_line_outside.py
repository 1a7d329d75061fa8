"""The command line and the world around it: folders that are not there, full disks, pipes, spoilt
journals, signals. Nothing is lost, no traceback.
"""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from sim.kernel import journal_reader
from sim.read import spec_coverage
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.journal_file import open_journal
from tests.cli.test_cli import sim as separate

FAILING = (
    "name: ../up\nextends: quickstart\nsteps: [{at: +1s, expect: {open_orders: {as: maker, count:"
    " 99}}}]\n"
)


def sim(capsys, *arguments):
    """(exit code, output and errors) of a command."""
    code, out, err = separate(capsys, *arguments)
    return code, out + err


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Bytes of a small journal."""
    path = tmp_path_factory.mktemp("recorded") / "run.ndjson"
    with open_journal(path) as file:
        simulation = Simulation(load_scenario("quickstart"), journal=file)
        for _ in range(3):
            simulation.rest("gateway", "GET", "/v2/leagues", "", {}, b"")
            simulation.advance_to(simulation.now + 60_000_000_000)
    return path.read_bytes()


# ---- where results go


@pytest.mark.parametrize("option", ["--junit", "--results", "--save-failures"])
def test_what_cannot_be_written_is_told_before_anything_runs(capsys, tmp_path, option):
    (tmp_path / "file").touch()
    code, output = sim(capsys, "run", "quickstart", option, tmp_path / "file" / "below")
    assert code == 2
    assert "passed" not in output
    assert str(tmp_path / "file") in output


def test_a_folder_that_is_not_there_is_made_for_the_results(capsys, tmp_path):
    junit, results = tmp_path / "new" / "deep" / "junit.xml", tmp_path / "other" / "r.ndjson"
    assert sim(capsys, "run", "quickstart", "--junit", junit, "--results", results)[0] == 0
    assert junit.read_bytes().startswith(b"<?xml")


def test_a_run_that_never_came_to_its_report_leaves_no_empty_one(capsys, tmp_path):
    varied, table = ("--vary", "quirks", "--only", "no-such-quirk"), tmp_path / "table.json"
    assert sim(capsys, "sweep", "quickstart", *varied, "--json", table)[0] == 2
    assert not table.exists()


def test_results_of_something_else_are_not_resumed_and_stay_as_they_are(capsys, tmp_path):
    results = tmp_path / "r.ndjson"
    results.write_text('{"some": "other file"}\n')
    code, output = sim(capsys, "run", "quickstart", "--results", results, "--resume")
    assert code == 2
    assert f"{results}:1:1: not a line of a results file" in output
    assert results.read_text() == '{"some": "other file"}\n'


def test_a_name_with_slashes_keeps_its_journal_in_the_folder(capsys, tmp_path):
    (tmp_path / "up.yaml").write_text(FAILING)
    kept = tmp_path / "kept" / "here"
    assert sim(capsys, "run", tmp_path / "up.yaml", "--save-failures", kept)[0] == 1
    assert [file.parent for file in tmp_path.rglob("*.ndjson")] == [kept]


def test_keys_never_go_over_keys(capsys, tmp_path):
    assert sim(capsys, "keys", "--out", tmp_path)[0] == 0
    before = (tmp_path / "partner.pem").read_bytes()
    assert (tmp_path / "partner.pem").stat().st_mode & 0o077 == 0
    code, output = sim(capsys, "keys", "--out", tmp_path)
    assert code == 2
    assert "partner.pem" in output
    assert (tmp_path / "partner.pem").read_bytes() == before


@pytest.mark.parametrize("arguments", [("keys", "--out"), ("demo", "--journal")])
def test_a_place_where_nothing_can_be_is_an_error_of_usage(capsys, tmp_path, arguments):
    (tmp_path / "file").touch()
    code, output = sim(capsys, *arguments, tmp_path / "file" / "below")
    assert code == 2
    assert output.startswith("sim: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "quickstart", "--jobs", "0"),
        ("sweep", "quickstart", "--jobs", "-3"),
        ("shrink", "quickstart", "--trials", "0"),
        ("sweep", "quickstart", "--fuzz", "-1"),
        ("bisect", "x", "--every", "-1"),
        ("explore", "quickstart", "--max-occurrences", "x"),
    ],
)
def test_numbers_of_options_are_counted(capsys, arguments):
    code, output = sim(capsys, *arguments)
    assert code == 2
    assert f"{arguments[-2]}: expected a number from" in output


def test_a_name_that_is_nothing_lists_what_is_bundled(capsys):
    code, output = sim(capsys, "check", "/no/such/place")
    assert code == 2
    assert "quickstart" in output


# ---- journals as they come back from elsewhere


def test_a_packed_journal_is_read_as_it_is_and_up_to_where_it_is_cut(capsys, tmp_path, recorded):
    total, cut = tmp_path / "run.ndjson.gz", tmp_path / "cut.gz"
    total.write_bytes(gzip.compress(recorded))
    cut.write_bytes(gzip.compress(recorded)[:-60])
    for command in ("replay", "timeline", "explain", "conformance", "bisect"):
        assert sim(capsys, command, total)[0] == 0
    assert "6 inputs replayed" in sim(capsys, "replay", total)[1]
    code, output = sim(capsys, "replay", cut)
    assert code == 0
    assert "inputs replayed, every line as recorded" in output
    assert "6 inputs" not in output


def test_a_journal_may_come_through_a_pipe_where_it_is_read_once(recorded):
    for command, code, words in (
        ("replay", 0, b"every line as recorded"),
        ("bisect", 2, b"write it to a file first"),
    ):
        ran = process(command, "/dev/stdin", stdin=subprocess.PIPE)
        out, err = ran.communicate(recorded)
        assert ran.returncode == code
        assert words in out + err


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda raw: b"", "the file is empty"),
        (lambda raw: raw[:90], "ends within its first line"),
        (lambda raw: raw.replace(b"\n", b"\r\n"), "CR LF"),
        (lambda raw: raw.replace(b'{"journal":3', b'{"journal":9', 1), "format 9 is not the one"),
        (lambda raw: b'{"journal":9,"made":"later"}\n', "format 9 is not the one"),
        (lambda raw: b"\xef\xbb\xbf" + raw, "not a journal header"),
    ],
)
@pytest.mark.parametrize(
    "command", ["replay", "timeline", "explain", "conformance", "bisect", "diff"]
)
def test_a_spoilt_beginning_is_named(capsys, tmp_path, recorded, spoil, words, command):
    path = tmp_path / "spoilt"
    path.write_bytes(spoil(recorded))
    code, output = sim(capsys, command, path, *([path] if command == "diff" else []))
    assert code == 2
    assert words in output
    assert f"{path}:1:1: " in output


# An execution whose order has prices in units of nothing.
NO_SCALE = (
    b'{"event":"Executed","execution":{"type":1,"last_px":1,"last_qty":1,"order":'
    b'{"id":"O","side":1,"symbol":"x","price":1,"qty":1,"price_scale":0,"qty_scale":1}}}'
)


@pytest.mark.parametrize("command", ["timeline", "diff"])
def test_the_line_that_is_no_record_is_named(capsys, tmp_path, recorded, command):
    lines = recorded.splitlines(keepends=True)
    (tmp_path / "whole").write_bytes(recorded)
    total = [tmp_path / "whole"] if command == "diff" else []
    for spoilt in (
        b"garbage\n",
        b'{"seq":3,"at":1,"input":{"type":"rest"},"out":{}}\n',
        b'{"seq":3,"at":1,"input":[],"out":{}}\n',
        b'{"seq":3,"at":1,"input":{"type":"advance","to":1},"out":{"events":[{"event":7}]}}\n',
        b'{"seq":3,"at":1,"input":{"type":"advance","to":1},"out":{"events":['
        + NO_SCALE
        + b"]}}\n",
    ):
        (tmp_path / "spoilt").write_bytes(b"".join((*lines[:3], spoilt, *lines[4:])))
        code, output = sim(capsys, command, tmp_path / "spoilt", *total)
        assert code == 2
        assert f"{tmp_path / 'spoilt'}:4:1: not a journal record" in output


# What may have become of a line, by what it was.
DAMAGE = {
    "no UTF-8": lambda line: line.replace(b"leagues", b"league\xff"),
    "a NUL": lambda line: line.replace(b"leagues", b"league\0"),
    "cut": lambda line: line[:40] + b"\n",
    "gone": lambda line: b"\n",
    "zeros": lambda line: b"\0" * 4096 + b"\n",
    "another value": lambda line: b"[1]\n",
    "half a surrogate": lambda line: line.replace(b"leagues", b"league\\ud800"),
    "deep": lambda line: b'{"seq":3,"at":0,"input":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n",
    "huge": lambda line: b'{"seq":3,"at":"' + b"x" * (1 << 20) + b'"}\n',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_tool_names_the_line_of_a_journal_that_cannot_be_read(
    capsys, tmp_path, recorded, damage, monkeypatch
):
    monkeypatch.setattr(journal_reader, "LINE_MAX", 1 << 20)
    lines = recorded.splitlines(keepends=True)
    path, total = tmp_path / "spoilt", tmp_path / "whole"
    path.write_bytes(b"".join((*lines[:3], DAMAGE[damage](lines[3]), *lines[4:])))
    total.write_bytes(recorded)
    for command in (
        ("replay", path),
        ("timeline", path),
        ("explain", path),
        ("conformance", path),
        ("shrink", path),
        ("bisect", path, total),
        ("diff", path, total),
        ("diff", total, path),
    ):
        code, output = sim(capsys, *command)
        assert code == 2, (command, output)
        assert f"{path}:4:1: " in output


@pytest.mark.parametrize("command", ["replay", "timeline", "explain", "conformance", "diff"])
@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/urandom"])
def test_what_has_no_end_is_no_journal(capsys, endless, command):
    if not Path(endless).exists():
        pytest.skip("no such device")
    code, output = sim(capsys, command, endless, *([endless] if command == "diff" else []))
    refusal = (
        "is not a regular file" if command == "diff" else ":1:1: line 1 is not a journal header"
    )
    assert (code, f"{endless}{' ' * (command == 'diff')}{refusal}" in output) == (2, True)


def test_bytes_that_begin_like_a_comment_are_no_scenario(capsys, tmp_path):
    file = tmp_path / "run.ndjson"
    file.write_bytes(b"#\xff\xfe\n")
    code, output = sim(capsys, "timeline", file)
    assert code == 2 and ":1:1: line 1 is not a journal header" in output


def test_two_journals_of_which_one_is_garbage_further_down(capsys, tmp_path, recorded):
    lines = recorded.splitlines(keepends=True)
    (tmp_path / "a").write_bytes(recorded)
    (tmp_path / "b").write_bytes(b"".join((*lines[:3], b"garbage\n", *lines[4:])))
    for command in ("diff", "bisect"):
        assert sim(capsys, command, tmp_path / "a", tmp_path / "b")[0] == 2


def test_a_replay_that_differs_says_with_what_else_it_was_recorded(capsys, tmp_path, recorded):
    (tmp_path / "old").write_bytes(recorded.replace(b'"tzdata":"', b'"tzdata":"1', 1))
    code, output = sim(capsys, "replay", tmp_path / "old")
    assert code == 3
    assert "recorded with tzdata 1" in output


# ---- output and signals


def process(*arguments, **options):
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sim", *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to be had")
def test_output_that_nobody_can_take_is_told_once():
    with Path("/dev/full").open("wb") as full:
        ran = process("catalogue", stdout=full)
        _, err = ran.communicate()
    assert (ran.returncode, err) == (2, b"sim: No space left on device\n")


def test_a_terminal_without_those_letters_gets_others(tmp_path, recorded):
    (tmp_path / "run.ndjson").write_bytes(recorded)
    plain = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = process("timeline", tmp_path / "run.ndjson", env=plain)
    out, _ = ran.communicate()
    assert ran.returncode == 0
    assert b"/v2/leagues" in out


@pytest.mark.long
@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.soak)],
)
def test_a_campaign_that_is_stopped_ends_with_its_workers_and_in_silence(tmp_path, sent, code):
    results = tmp_path / "r.ndjson"
    words = ("run", "quickstart", "--seeds", "1..100000", "--jobs", "2", "--results", results)
    running = process(*words, start_new_session=True)
    while not written(results):
        assert running.poll() is None
        os.sched_yield()
    os.killpg(running.pid, sent)  # as a terminal does: workers hear it too
    _, err = running.communicate(timeout=120)
    assert running.returncode == code
    assert b"Traceback" not in err
    with pytest.raises(ProcessLookupError):
        _gone(running.pid)


def written(path):
    """What stands in a file that may not be there yet."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _gone(group):
    """ProcessLookupError once nobody of a process group is left."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        os.killpg(group, 0)
        os.sched_yield()


# ---- serving


def test_one_journal_has_one_writer_and_loses_nothing_to_a_second(tmp_path, recorded):
    path = tmp_path / "run.ndjson"
    with open_journal(path) as file:
        file.write(b"what the first has written\n")
        with pytest.raises(BlockingIOError, match="another process is writing this journal"):
            open_journal(path)
        assert path.read_bytes() == b"what the first has written\n"
    open_journal(path).close()
    assert path.read_bytes() == b""


def test_a_ready_file_of_yesterday_is_gone_before_anything_listens(capsys, tmp_path):
    ready = tmp_path / "ready.json"
    ready.write_text('{"gateway": "http://127.0.0.1:1"}')
    # a folder: it ends there
    files = ("--ready-file", ready, "--journal", tmp_path)
    code, output = sim(capsys, "serve", "--port-base", "0", *files)
    assert code == 2
    assert str(tmp_path) in output
    assert not ready.exists()


@pytest.mark.parametrize(
    ("option", "words"), [("--ready-file", "Is a directory"), ("--scenarios", "no such folder")]
)
def test_a_place_of_the_wrong_kind_is_told_before_serving(capsys, tmp_path, option, words):
    (tmp_path / "file").touch()
    path = tmp_path if option == "--ready-file" else tmp_path / "file"
    code, output = sim(capsys, "serve", "--port-base", "0", option, path)
    assert code == 2
    assert words in output
    assert str(tmp_path) in output


def test_an_installation_without_tests_shows_the_ledger_it_was_built_with(
    capsys, tmp_path, monkeypatch
):
    here = sim(capsys, "catalogue", "ledger", "--json")[1]
    (tmp_path / "ledger.json").write_text(spec_coverage.pack(spec_coverage.TESTS), encoding="utf-8")
    monkeypatch.setattr(spec_coverage, "PACKED", tmp_path / "ledger.json")
    monkeypatch.setattr(spec_coverage, "TESTS", tmp_path)
    assert sim(capsys, "catalogue", "ledger", "--json") == (0, here)
    (tmp_path / "ledger.json").unlink()
    code, output = sim(capsys, "catalogue", "ledger")
    assert code == 2
    assert "no ledger of statements" in output


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are for Linux")
def test_an_exchange_whose_journal_finds_no_room_stops_and_what_was_answered_replays(
    tmp_path, capsys
):
    journal = tmp_path / "run.ndjson"
    running = process("serve", "--port-base", "0", "--clock", "manual", "--journal", journal)
    gateway = next(
        line.split()[1].decode() for line in running.stdout if line.strip().startswith(b"gateway")
    )
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (6_000, 6_000))
    answered = 0
    try:
        for number in range(1_000):
            try:
                urllib.request.urlopen(f"{gateway}/v1/health?n={number}").close()
            except HTTPError as error:
                if error.code == 500:
                    break
            answered += 1
    except URLError:
        pass
    _, err = running.communicate(timeout=120)
    assert running.returncode == 2
    assert b"the journal cannot be written any further, so this exchange stops" in err
    assert b"Traceback" not in err
    code, output = sim(capsys, "replay", journal)
    assert code == 0
    assert f"{answered} inputs replayed, every line as recorded" in output
