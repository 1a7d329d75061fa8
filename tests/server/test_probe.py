"""A probe makes the calls of its plan through a recorder and changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from sim.cli.main import main
from sim.evidence.shapes import read_shapes
from sim.server.recorder.probe import read_plan

VIEWS = ("orders", "accounts", "books", "instruments")


def keys_of(exchange: Any) -> dict[str, str]:
    key, firm = exchange.ready["api_keys"][0], exchange.ready["firms"][0]
    return {
        "RETAIL_KEY_ID": key["key_id"],
        "RETAIL_SECRET": key["secret_key"],
        "EXCHANGE_CLIENT_ID": firm["client_id"],
        "EXCHANGE_PRIVATE_KEY": firm["private_key_pem"],
        "EXCHANGE_PARTICIPANT": firm["users"][0],
    }


@pytest.mark.scenario("quickstart", reading="observed")
@pytest.mark.long
def test_a_probe_of_ourselves_changes_nothing(exchange: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    bundled = Path(__file__).parents[2] / "fixtures" / "probe.yaml"
    plan.write_text(bundled.read_text().replace("pause: 1", "pause: 0"))
    before = [exchange.control("GET", f"/state/{view}") for view in VIEWS]
    shapes = tmp_path / "service.json"
    planes = [
        f"--{plane}={getattr(exchange, plane)}" for plane in ("gateway", "retail", "exchange")
    ]
    command = [sys.executable, "-m", "sim", "record", "--shapes", str(shapes), "--probe", str(plan)]
    command += [*planes, f"--auth={exchange.auth}", "--port-base", "0"]
    done = subprocess.run(
        command, env=os.environ | keys_of(exchange), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stdout and "no answer" not in done.stdout, done.stdout
    # The journal shows reads, previews and refusals only, and nothing that anybody owns changed.
    assert [exchange.control("GET", f"/state/{view}") for view in VIEWS] == before
    reads = ("Get", "List", "Search", "Preview", "IssueToken", "unknown")
    rows = exchange.requests()
    assert len(rows) > 60
    for row in rows:
        assert (row["operation"] or "unknown").rpartition(".")[2].startswith(reads), row
    statuses = {row["status"] for row in rows}
    assert {200, 400, 401, 404, 429} <= statuses
    known = {form.operation for form in read_shapes(shapes).forms}
    assert "RetailOrdersAPI.PreviewOrder" in known and "AccountsAPI.GetWhoAmI" in known
    assert exchange.ready["api_keys"][0]["key_id"] not in shapes.read_text()


def test_a_dry_run_prints_every_call_and_makes_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--probe", "safe", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= len(read_plan("safe").calls)
    assert any("POST /v1/order/preview" in line for line in lines)


@pytest.mark.parametrize(
    "call",
    [
        "{plane: retail, call: POST /v1/orders, as: key, body: {}}",
        "{plane: retail, call: POST /v1/order/X/cancel, as: key}",
        "{plane: exchange, call: POST /v1/trading/orders, as: token}",
        "{plane: exchange, call: DELETE /v1/unknown}",
        "{plane: gateway, call: GET /v1/health, times: 1000}",
        "{plane: grpc, call: GET /v1/health}",
    ],
)
def test_a_plan_that_could_change_something_is_refused_as_a_whole(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"calls:\n- {{plane: gateway, call: GET /v1/health}}\n- {call}\n")
    assert main(["record", "--probe", str(plan), "--dry-run"]) == 2
    assert str(plan) in capsys.readouterr().err


def test_a_plan_is_json_too(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(json.encode({"calls": [{"plane": "gateway", "call": "GET /v1/health"}]}))
    assert main(["record", "--probe", str(plan), "--dry-run"]) == 0
