"""Options from the environment: the same as on the command line, which wins; what nothing reads is
warned of.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
from pathlib import Path

import pytest

from sim.cli.main import NAMES, main, parse, parsers
from sim.cli.parsing.environment import NOT_READ, long_options, variable

ROOT = Path(__file__).parents[2]
SAMPLES = {  # a value for each argument that does not take any text or path
    "--seed": "12",
    "--start": "2026-09-08T14:00:00-04:00",
    "--since": "2026-09-08T14:00:00-04:00",
    "--until": "2026-09-08T14:00:00-04:00",
    "--at": "2026-09-08T14:00:00-04:00",
    "--param": "a=1,b=2",
    "--preset": "hostile",
    "--reading": "observed",
    "--environment": "production",
    "--clock": "paced:60",
    "--host": "0.0.0.0",
    "--port-base": "0",
    "--tls-name": "api.example,gateway.example",
    "--webhook-host": "partner,other",
    "--otlp": "http://127.0.0.1:4318",
    "--seeds": "1..3",
    "--jobs": "3",
    "--minutes": "7",
    "--seconds": "7",
    "--seq": "7",
    "--every": "7",
    "--trials": "7",
    "--pairs": "7",
    "--inputs": "700",
    "--max-occurrences": "7",
    "--lease": "7",
    "--fuzz": "7",
    "VERB": "GET",
    "PATH": "/v1/account/balances",
}


def sample(option: str, action: argparse.Action) -> str:
    """A value that is not the default one."""
    if action.choices:
        return next(
            str(choice) for choice in reversed(list(action.choices)) if choice != action.default
        )
    return SAMPLES.get(option, "some")


def needed(command: str, parser: argparse.ArgumentParser, option: str) -> list[str]:
    """A command with the arguments that it cannot do without, besides this option."""
    words = [command]
    for action in parser._actions:
        if action.option_strings:
            if action.required and option not in action.option_strings:
                words.append(f"{action.option_strings[0]}=quickstart")
        elif action.nargs not in ("?", "*"):
            count = action.nargs if isinstance(action.nargs, int) else 1
            usual = SAMPLES.get(str(action.metavar), "some.yaml")
            words += [str(next(iter(action.choices))) if action.choices else usual] * count
    return words


def every_option() -> list[tuple[str, str]]:
    """(command, option) of all of them."""
    commands = parsers()[1]
    return [(name, option) for name in NAMES for option, _ in long_options(commands[name])]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    import os

    for name in [name for name in os.environ if name.startswith("SIM_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(("command", "option"), every_option())
def test_every_option_of_every_command_comes_from_the_environment(command, option, monkeypatch):
    """Or there is a reason, and then its variable changes nothing."""
    parser = parsers((command,))[1][command]
    action = dict(long_options(parser))[option]
    words = needed(command, parser, option)
    if action.nargs == 0:
        named, value = [option], "Yes"
    else:
        value = sample(option, action)
        values = value.split(",") if isinstance(action, argparse._AppendAction) else [value]
        named = [f"{option}={item}" for item in values]
    expected = vars(parse([*words, *named]))
    assert expected[action.dest] != action.default
    monkeypatch.setenv(variable(option), value)
    if NOT_READ.get((command, option)) or NOT_READ.get(("", option)):
        assert vars(parse(words))[action.dest] == action.default
    else:
        assert vars(parse(words)) == expected


def test_reasons_are_about_options_that_there_are():
    every = every_option()
    assert {option for name, option in NOT_READ if not name} <= {option for _, option in every}
    assert {item for item in NOT_READ if item[0]} <= set(every)


def test_the_command_line_wins_and_an_empty_value_is_none(monkeypatch):
    monkeypatch.setenv("SIM_SCENARIO", "maintenance-window")
    monkeypatch.setenv("SIM_PORT_BASE", "100")
    monkeypatch.setenv("SIM_WEBHOOK_HOST", "a,b")
    monkeypatch.setenv("SIM_QUIET", "off")
    monkeypatch.setenv("SIM_CLOCK", "")
    args = parse(["serve"])
    assert (args.scenario, args.port_base, args.webhook_host, args.quiet, args.clock) == (
        *("maintenance-window", 100, ["a", "b"]),
        *(False, ""),
    )
    args = parse(["serve", "quickstart", "--port-base", "0", "--webhook-host", "c"])
    assert (args.scenario, args.port_base, args.webhook_host) == ("quickstart", 0, ["c"])


def test_a_value_of_the_command_line_is_its_own(monkeypatch, capsys):
    monkeypatch.setenv("SIM_PORT_BASE", "x")
    assert parse(["serve", "--port-base", "0"]).port_base == 0
    monkeypatch.setenv("SIM_READING", "observed")
    with pytest.raises(SystemExit):
        parse(["run", "quickstart", "--reading", "seen"])
    assert "not 'seen'\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "SIM_PORT_BASE",
            "x",
            "--port-base: expected 0 or a port up to 65529, not 'x' (from SIM_PORT_BASE)",
        ),
        ("SIM_LATENCY", "no", "(from SIM_LATENCY)"),
        ("SIM_QUIET", "perhaps", "SIM_QUIET must be 1, true, yes, on or 0, false, no, off"),
        ("SIM_SCENARIO", "nowhere.yaml", "nowhere.yaml"),
    ],
)
def test_a_value_that_cannot_be_meant_is_told_with_its_variable(
    name, value, text, monkeypatch, capsys
):
    monkeypatch.setenv(name, value)
    try:
        code = main(["serve"])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert text in capsys.readouterr().err


def test_a_variable_that_nothing_reads_is_warned_of(monkeypatch, capsys):
    monkeypatch.setenv("SIM_PORTBASE", "0")
    monkeypatch.setenv("SIM_GATEWAY", "http://127.0.0.1:1")
    monkeypatch.setenv("SIM_JOBS", "2")  # of other commands
    parse(["serve"])
    reported = capsys.readouterr().err
    assert (
        reported
        == "sim: warning: the variable SIM_PORTBASE is unknown and has no effect; did you mean SIM_PORT_BASE?\n"
    )


def test_a_ready_file_whose_server_still_answers_is_not_taken_over(tmp_path, capsys):
    ready = tmp_path / "ready.json"
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        ready.write_text(json.dumps({"control": address}))
        code = main(["serve", "--port-base", "0", "--ready-file", str(ready)])
    assert code == 2
    assert f"still answers at {address}: stop it, or name another file" in capsys.readouterr().err
    assert json.loads(ready.read_text()) == {"control": address}


def test_the_page_on_the_command_line_says_so():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert re.search(r"SIM_PORT_BASE\s+for\s+--port-base", page)
