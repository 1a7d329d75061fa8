"""The command line: exit codes, messages a person can act on, and no traceback for anything a
person may type.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.cli.main import COMMANDS, NAMES, command_of, main
from sim.read.tables import print_table
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.journal_file import open_journal

STEP = """
name: one-step
extends: quickstart
steps:
  - {at: +30s, expect: {status: 200}, call: {plane: gateway, get: /v2/leagues}}
"""


def sim(capsys, *arguments):
    """(exit code, output, errors) of a command."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as error:
        code = error.code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


@pytest.fixture
def scenario(tmp_path):
    def write(text: str = STEP) -> Path:
        path = tmp_path / "one.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def journal(tmp_path):
    """A small journal."""
    path = tmp_path / "run.ndjson"
    with open_journal(path) as file:
        simulation = Simulation(load_scenario("quickstart"), journal=file)
        simulation.rest("gateway", "GET", "/v2/leagues", "", {}, b"")
        simulation.advance_to(simulation.now + 3_600_000_000_000)
    return path


@pytest.mark.parametrize("command", NAMES)
def test_every_command_explains_itself(capsys, command):
    code, out, _ = sim(capsys, command, "--help")
    assert code == 0
    assert out.startswith(f"usage: sim {command}")


def test_help_lists_the_commands_by_group_on_lines_that_fit(capsys):
    out = sim(capsys, "--help")[1]
    for heading, group in COMMANDS.items():
        assert f"{heading}:\n" in out
        assert all(len((command_of(name).__doc__ or "").splitlines()[0]) <= 70 for name in group)
    for command in NAMES:
        assert f"\n  {command} " in out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("sevre",), "did you mean 'serve'"),
        (("run", "quickstart", "--sedes", "1"), "did you mean '--seeds'"),
        (("sweep", "quickstart", "--save-failure=x"), "did you mean '--save-failures'"),
    ],
)
def test_a_misspelt_command_or_option_names_the_one_that_was_meant(capsys, arguments, meant):
    code, _, err = sim(capsys, *arguments)
    assert code == 2 and meant in err


def test_the_installed_console_script_runs():
    command = [Path(sys.executable).with_name("sim"), "check", "quickstart"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("quickstart: valid")


class Terminal(io.StringIO):
    """A standard output that says it is a terminal."""

    def isatty(self):
        return True


def test_a_table_wraps_on_a_terminal_and_loses_nothing(monkeypatch):
    rows = [{"name": "a" * 30, "says": "one two three " * 20, "tests": ["x[1]", "y"]}]
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        out = Terminal()
        print_table(rows, out)
        lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
        assert len(lines) > 5 and max(map(len, lines)) <= int(columns)
        letters = "".join("".join(lines).split())
        assert letters.count("a") >= 30 and letters.count("w") == 20
        assert "…" not in letters and "x[1]" in letters


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("serve", "--seed", "x"),
        ("serve", "--clock", "faster"),
        ("serve", "--start", "yesterday"),
        ("serve", "--port-base", "99999"),
        ("serve", "no-such-scenario"),
        ("run", "quickstart", "--seeds", "a..b"),
        ("run", "no-such-scenario"),
        ("check", "/"),
        ("replay", "no-such-journal"),
        ("replay", "/"),
        ("replay", __file__),
        ("replay", "no-such-journal", "--serve", "--port-base", "0"),
        ("diff", "no-such-journal", "neither-this"),
        ("diff", "one"),
        ("timeline", "no-such-journal"),
        ("timeline", __file__),
        ("openapi", "moon"),
        ("openapi", "--at", "noon"),
        ("catalogue", "stars"),
    ],
)
def test_what_cannot_be_done_is_exit_2_and_says_why(capsys, arguments):
    code, out, err = sim(capsys, *arguments)
    assert code == 2
    assert out or err


def test_check_names_file_line_and_column_and_the_key_that_was_meant(capsys, scenario):
    assert sim(capsys, "check", "quickstart", scenario())[0] == 0
    path = scenario(STEP.replace("extends:", "extnds:"))
    code, _, err = sim(capsys, "check", path)
    assert code == 2
    assert err.startswith(f"{path}:3:1: ")
    assert "extends" in err


def test_an_unreadable_file_is_named_without_a_line_that_it_does_not_have(capsys, tmp_path):
    code, _, err = sim(capsys, "check", tmp_path)
    assert code == 2
    assert err == f"{tmp_path}: cannot read: Is a directory\n"


def test_run_writes_its_journal_to_a_named_file_or_into_a_folder(capsys, scenario, tmp_path):
    item, folder = tmp_path / "new" / "one.ndjson", tmp_path / "runs"
    assert sim(capsys, "run", scenario(), "--journal", item)[0] == 0
    assert sim(capsys, "run", scenario(), "--journal", folder)[0] == 0
    assert item.read_bytes() == (folder / "one-step-7.ndjson").read_bytes()
    assert sim(capsys, "replay", item)[0] == 0


def test_one_journal_file_for_several_runs_is_refused(capsys, scenario, tmp_path):
    item = tmp_path / "one.ndjson"
    code, _, err = sim(capsys, "run", scenario(), "--seeds", "1..2", "--journal", item)
    assert code == 2 and not item.exists()
    assert err == f"sim: --journal {item} is one file, for 2 runs: name a folder\n"


def test_a_folder_in_place_of_a_journal_is_refused(capsys, tmp_path):
    code, _, err = sim(capsys, "timeline", tmp_path)
    assert code == 2
    assert err == f"{tmp_path}: cannot read: this is a folder; name one of the journals in it\n"


def test_run_gives_one_line_per_scenario_and_exit_1_when_an_expectation_fails(capsys, scenario):
    code, out, _ = sim(capsys, "run", scenario())
    assert code == 0
    assert "passed  one-step  seed 7" in out and "digest " in out
    code, out, _ = sim(capsys, "run", scenario(STEP.replace("status: 200", "status: 418")))
    assert code == 1
    assert "FAILED  one-step" in out


def test_the_same_seed_gives_the_same_digest_and_another_another(capsys, scenario):
    path = scenario()
    first, second, other = (
        sim(capsys, "run", path, "--seeds", seed)[1].rpartition("digest ")[2]
        for seed in ("3", "3", "4")
    )
    assert first == second != other


def test_one_seed_may_be_asked_for_as_seed(capsys, scenario, tmp_path):
    failing = scenario(STEP.replace("status: 200", "status: 418"))
    shrink = ("shrink", failing, "--out", tmp_path / "s.yaml")
    passing = tmp_path / "passing.yaml"
    passing.write_text(STEP)
    for command in (("run", passing), ("sweep", passing, "--jobs", "1"), shrink):
        assert sim(capsys, *command, "--seed", "3")[0] == 0
        assert sim(capsys, *command, "--seeds", "3")[0] == 0


def test_options_are_not_abbreviated_so_that_a_new_one_changes_no_script(capsys, scenario):
    code, _, err = sim(capsys, "run", scenario(), "--res", "r.ndjson")
    assert code == 2
    assert "--res" in err


def test_the_version_is_told(capsys):
    code, out, _ = sim(capsys, "--version")
    assert code == 0 and out.startswith("sim ") and out.count(".") >= 1


def test_a_journal_replays_and_compares_equal_to_itself(capsys, journal):
    code, out, _ = sim(capsys, "replay", journal)
    assert code == 0
    assert "11 inputs replayed" in out
    assert sim(capsys, "replay", journal, "--until", "2026-09-08T17:00:00Z")[0] == 0
    assert sim(capsys, "diff", journal, journal)[0] == 0
    code, _, err = sim(capsys, "diff", journal, __file__)
    assert code == 2 and err.startswith(f"{__file__}:1:1: ")
    code, _, err = sim(capsys, "diff", "/no/such", journal)
    assert code == 2 and err.startswith("/no/such: cannot read: No such file or directory")
    code, out, _ = sim(capsys, "timeline", journal)
    assert code == 0
    assert "/v2/leagues" in out


def test_a_journal_that_was_touched_diverges_at_that_line(capsys, journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    touched = tmp_path / "touched.ndjson"
    touched.write_bytes(lines[0] + lines[1].replace(b"/v2/leagues", b"/v2/league5") + lines[2])
    code, out, _ = sim(capsys, "replay", touched)
    assert code == 3
    assert f"{touched}:2: " in out and "recorded:" in out and "replayed:" in out
    assert sim(capsys, "replay", touched, "--serve", "--port-base", "0")[0] == 3
    assert sim(capsys, "diff", journal, touched)[0] == 1


def test_a_journal_torn_in_its_last_line_replays_up_to_there(capsys, journal):
    journal.write_bytes(journal.read_bytes()[:-20])
    code, out, _ = sim(capsys, "replay", journal)
    assert code == 0
    assert "10 inputs replayed" in out


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    ["operations", "quirks", "faults", "presets", "assumptions", "observations", "dates", "ledger"],
)
def test_catalogues_come_as_text_json_and_markdown(capsys, kind):
    text, markdown = (sim(capsys, "catalogue", kind, *form)[1] for form in ((), ("--markdown",)))
    rows = json.loads(sim(capsys, "catalogue", kind, "--json")[1])
    assert rows
    words = set(text.split())
    assert all(str(next(iter(row.values()))) in words for row in rows)
    assert markdown.count("\n|") == len(rows) + 1


def test_schema_and_openapi_are_json(capsys):
    assert json.loads(sim(capsys, "schema")[1])["properties"]["clock"]
    for plane in ("gateway", "retail", "exchange", "auth"):
        assert json.loads(sim(capsys, "openapi", plane)[1])["openapi"].startswith("3.1")


def test_keys_are_new_each_time_and_usable(capsys, tmp_path):
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key,
        load_pem_public_key,
    )

    first, second = sim(capsys, "keys", "--out", tmp_path)[1], sim(capsys, "keys")[1]
    assert first.splitlines()[1] != second.splitlines()[1]
    private = load_pem_private_key((tmp_path / "partner.pem").read_bytes(), None)
    public = load_pem_public_key((tmp_path / "partner.pub.pem").read_bytes())
    assert private.public_key() == public


def test_serve_says_what_each_clock_mode_does_where_it_is_chosen(capsys):
    out = " ".join(sim(capsys, "serve", "--help")[1].split())
    for words in ("manual: only by command", "autojump: to the next event", "fast: from event"):
        assert words in out and "paced:60" in out


def test_help_and_usage_import_nothing_heavy():
    probe = (
        "import sys; from sim.cli.main import main\ntry: main(['serve', '--help'])\nexcept"
        " SystemExit: pass\n"
    )
    probe += (
        "print(sorted(set(sys.modules) & {'aiohttp', 'grpc', 'google.protobuf', 'cryptography',"
        " 'jwt', 'lark', 'rich', 'yaml', 'msgspec', 'asyncio'}))"
    )
    command = [sys.executable, "-c", probe]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_is_no_error(journal):
    command = f"{sys.executable} -m sim catalogue assumptions | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_printed_words_are_quoted_and_hints_fit_the_error(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = sim(capsys, "init", "my x")
    assert code == 0 and "next: cd 'my x' && " in out
    code, out, _ = sim(capsys, "collection", "bruno", "--out", "your x")
    assert code == 0 and "  cd 'your x' && " in out
    code, _, err = sim(capsys, "serve", "--host", "203.0.113.5", "--control-token", "t" * 32)
    assert code == 4 and "--host" in err and "another --port-base" not in err
