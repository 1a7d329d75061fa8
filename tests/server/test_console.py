"""What `sim serve` writes while it runs: calls, steps and webhooks, as text and as JSON."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.core.test_webhook_addresses import SCENARIO as HOOKED
from tests.core.test_webhook_addresses import SECRET, SHOWN
from tests.kit.http import call
from tests.kit.processes import Process, serve
from tests.outputs.verbs import run

SCENARIO = """
name: told
extends: quickstart
world: {instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}]}
steps:
  - {at: +1m, name: quotes, order: {as: maker, symbol: mine, side: buy, price: "0.40", qty: "5"}}
  - {name: books, call: {plane: exchange, as: firms/atlas, get: /v1/orderbook/mine}, expect: {status: 503}}
"""


def _served(folder: Path, *options: str) -> tuple[Process, str, str]:
    """A server that was called twice and whose clock moved, with what it wrote."""
    scenario = folder / "told.yaml"
    scenario.write_text(SCENARIO)
    served = serve(folder, str(scenario), *options)
    call(f"{served.ready['gateway']}/v1/health")
    call(f"{served.ready['retail']}/v1/orders/open")
    served.control("POST", "/clock/advance", {"by": "5m"})
    script = served.control("GET", "/script")
    assert (script["failed"], script["steps"][1]["where"]) == (1, "told.yaml:7")
    code, out, errors = served.end(signal.SIGTERM)
    assert code == 0
    return served, out, errors


def test_each_call_and_each_step_is_one_line(tmp_path):
    _, out, errors = _served(tmp_path)
    assert "sandbox exchange: told, seed 7" in out
    health, refused, book, passed, failed = errors.splitlines()
    assert health == (
        "09-08 14:00:00.000 gateway   GET /v1/health  200  GatewayHealthAPI.GetGatewayHealth  127.0.0.1"
    )
    assert "GET /v1/orders/open  401  RetailOrdersAPI.ListOpenOrders" in refused
    assert refused.endswith("S5.2-1: Missing required API key headers")
    assert book.endswith("200  OrderBookAPI.GetOrderBook  firms/atlas")
    assert passed == "09-08 14:01:00.000 scenario  step 1 'quotes' passed"
    assert "told.yaml:7: step 2 'books' failed: status is 200, not 503" in failed


def test_as_json_every_line_of_both_streams_is_an_object_with_a_kind(tmp_path):
    served, out, errors = _served(tmp_path, "--log-format=json")
    ready, *rest = [json.loads(line) for line in out.splitlines()]
    lines = [json.loads(line) for line in errors.splitlines()]
    assert ready["kind"] == "ready" and ready["exchange"] == served.ready["exchange"]
    secrets = [key["secret_key"] for key in served.ready["api_keys"]]
    secrets += [firm["private_key_path"] for firm in served.ready["firms"]]
    assert not any(secret in out + errors for secret in secrets)
    assert {line["kind"] for line in rest} == {"log"}
    assert [line["kind"] for line in lines] == ["request"] * 3 + ["step"] * 2
    assert (lines[1]["status"], lines[1]["rule"]) == (401, "S5.2-1")
    assert (lines[4]["state"], lines[4]["where"]) == ("failed", "told.yaml:7")


@pytest.mark.parametrize("option", ["--quiet", "--quiet --log-format=json"])
def test_quiet_writes_none_of_them(tmp_path, option):
    assert _served(tmp_path, *option.split())[2] == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("nope.yaml",), "nope.yaml: cannot read: No such file or directory"),
        (("--seed", "x"), "sim serve: --seed: expected a number from 0, not 'x'"),
        (("--potr-base=0",), "sim serve: there is no option --potr-base"),
    ],
)
@pytest.mark.parametrize("by_environment", [False, True])
def test_what_is_said_before_it_serves_is_json_too(options, text, by_environment, monkeypatch):
    if by_environment:
        monkeypatch.setenv("SIM_LOG_FORMAT", "json")
    else:
        options = (*options, "--log-format", "json")
    output = run(" ".join(("serve", *options)))
    assert (output.code, output.out) == (2, "")
    entries = [json.loads(line) for line in output.err.splitlines()]
    assert {(entry["kind"], entry["level"]) for entry in entries} == {("log", "error")}
    assert entries[0]["message"].startswith(text)


def test_a_warning_before_it_serves_is_json_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SIM_PORTS", "1")
    served = Process(tmp_path, "serve", "--port-base=0", "--log-format=json")
    _, out, errors = served.end(signal.SIGTERM)
    entries = [json.loads(line) for line in (*out.splitlines(), *errors.splitlines())]
    warnings = [entry for entry in entries if entry.get("level") == "warning"]
    assert [entry["kind"] for entry in warnings] == ["log"]
    assert "the variable SIM_PORTS is unknown" in warnings[0]["message"]


@pytest.mark.parametrize("options", [(), ("--log-format=json",)])
def test_an_attempt_is_told_without_the_secret_in_the_address_of_its_receiver(tmp_path, options):
    scenario = tmp_path / "hooked.json"
    scenario.write_text(json.dumps(HOOKED, indent=1))
    served = serve(tmp_path, str(scenario), *options)
    served.control("POST", "/clock/advance", {"by": "20m"})
    code, out, errors = served.end(signal.SIGTERM)
    assert code == 0
    assert SHOWN in errors
    assert SECRET not in out + errors
