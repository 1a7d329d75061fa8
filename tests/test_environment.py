"""Options of `sim serve` from the environment: the same as on the command line, which wins; what
nothing reads is warned of.
"""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from sim.cli.main import main, parse, parsers
from sim.cli.parsing.environment import options_of, variable

ROOT = Path(__file__).parent.parent
SAMPLES = {  # a value for each option that takes one
    "--seed": "12",
    "--start": "2026-09-08T14:00:00-04:00",
    "--param": "a=1,b=2",
    "--preset": "hostile",
    "--reading": "observed",
    "--environment": "production",
    "--journal": "run.ndjson",
    "--clock": "paced:60",
    "--host": "0.0.0.0",
    "--public-host": "exchange",
    "--port-base": "0",
    "--tls": "tls",
    "--tls-name": "api.example,gateway.example",
    "--ready-file": "ready.json",
    "--latency": "hold",
    "--client-clock": "wall",
    "--webhook-clock": "virtual",
    "--webhook-host": "partner,other",
    "--scenarios": "folder",
    "--control-token-file": "token",
    "--log-format": "json",
    "--otlp": "http://127.0.0.1:4318",
}


def serve_options():
    return dict(options_of(parsers(("serve",))[1]["serve"]))


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    import os

    for name in [name for name in os.environ if name.startswith("SIM_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("option", sorted(serve_options()))
def test_every_option_of_serve_comes_from_the_environment(option, monkeypatch):
    action = serve_options()[option]
    if action.nargs == 0:
        wanted = parse(["serve", option])
        monkeypatch.setenv(variable(option), "Yes")
    else:
        values = (
            SAMPLES[option].split(",") if isinstance(action.default, list) else [SAMPLES[option]]
        )
        wanted = parse(["serve", *(f"{option}={value}" for value in values)])
        monkeypatch.setenv(variable(option), SAMPLES[option])
    assert vars(parse(["serve"])) == vars(wanted) != vars(parse_plainly(monkeypatch, option))


def parse_plainly(monkeypatch, option):
    monkeypatch.delenv(variable(option))
    return parse(["serve"])


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


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SIM_PORT_BASE", "x", "--port-base: 0 or up to 65529, not 'x' (from SIM_PORT_BASE)"),
        ("SIM_LATENCY", "no", "(from SIM_LATENCY)"),
        ("SIM_QUIET", "perhaps", "SIM_QUIET is 1, true, yes, on or 0, false, no, off"),
        ("SIM_SCENARIO", "nowhere.yaml", "nowhere.yaml"),
    ],
)
def test_a_value_that_cannot_be_meant_is_told_with_its_variable(
    name, value, says, monkeypatch, capsys
):
    monkeypatch.setenv(name, value)
    try:
        code = main(["serve"])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert says in capsys.readouterr().err


def test_a_variable_that_nothing_reads_is_warned_of(monkeypatch, capsys):
    monkeypatch.setenv("SIM_PORTBASE", "0")
    monkeypatch.setenv("SIM_GATEWAY", "http://127.0.0.1:1")
    parse(["serve"])
    told = capsys.readouterr().err
    assert told == "sim: warning: nothing reads SIM_PORTBASE, did you mean SIM_PORT_BASE?\n"


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
