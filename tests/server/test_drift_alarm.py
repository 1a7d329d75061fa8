"""The drift alarm that the documentation ships, run as a nightly job would run it: against a sandbox
that agrees and against one that does not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.testing.exchange_fixture import ServedExchange

SHIPPED = Path(__file__).parents[2] / "docs" / "examples" / "drift"
pytestmark = pytest.mark.skipif(not shutil.which("sh"), reason="no shell on this machine")

Night = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path):
    """A partner's repository with the files of the example."""
    shutil.copytree(SHIPPED, tmp_path / "tests" / "drift")
    return tmp_path


@pytest.fixture
def divergent(exchange):
    """A second sandbox, which writes the ids of events in another way."""
    other = exchange.fork()
    other.control("PUT", "/assumptions/events.id", {"value": "number"})
    yield other
    other.close()


@pytest.fixture
def night(folder):
    """The job of one night: its exit code and what it prints."""

    def run(service: ServedExchange, *arguments: str, **changes: str) -> tuple[int, str, str]:
        firm, key = service.firms[0], service.api_keys[0]
        environment = {
            **{plane.upper(): getattr(service, plane) for plane in ("gateway", "retail")},
            **{plane.upper(): getattr(service, plane) for plane in ("exchange", "auth")},
            "RETAIL_KEY_ID": key["key_id"],
            "RETAIL_SECRET": key["secret_key"],
            "EXCHANGE_CLIENT_ID": firm["client_id"],
            "EXCHANGE_PRIVATE_KEY": Path(firm["private_key_path"]).read_text(),
            "EXCHANGE_PARTICIPANT": firm["users"][0],
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            **changes,
        }
        ran = subprocess.run(
            ["sh", "tests/drift/drift.sh", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ran.returncode, ran.stdout, ran.stderr

    return run


def orders(service: ServedExchange) -> list[str]:
    return [row["state"] for row in service.control("GET", "/state/orders")["orders"]]


@pytest.mark.scenario("quickstart", reading="observed")
@pytest.mark.long
def test_it_is_silent_where_nothing_differs_and_rings_where_something_does(
    exchange, divergent, night, folder
):
    before = orders(exchange)
    code, out, err = night(exchange, "--trade")
    assert (code, err) == (0, "")
    assert out.startswith("no drift: ")
    assert sorted(orders(exchange)) == sorted([*before, "CANCELED"])

    code, out, _ = night(divergent)
    assert code == 1
    assert out.startswith("DRIFT: 1 place in 1 operation, 1 of them new")
    assert "answer.body.events[].id" in out
    proposed = yaml.safe_load((folder / "drift" / "proposed.yaml").read_text())["accepted"]
    assert [item["operation"] for item in proposed] == ["GatewayEventsAPI.ListEvents"]

    reviewed = [item | {"reason": "the service changes back in May"} for item in proposed]
    (folder / "tests/drift/accepted.yaml").write_text(json.dumps({"accepted": reviewed}))
    code, out, _ = night(divergent)
    assert (code, out.splitlines()[0][:10]) == (0, "no drift: ")
    assert "since last.json: 0 new, 0 gone" in out
    assert_no_secret(folder / "drift", exchange)


def assert_no_secret(files: Path, service: ServedExchange) -> None:
    """No file of a night holds a key, and none of a recording its id."""
    firm, key = service.firms[0], service.api_keys[0]
    private = Path(firm["private_key_path"]).read_text().splitlines()[1]
    for file in files.iterdir():
        text = file.read_text()
        assert key["secret_key"] not in text and private not in text, file
        if file.suffix == ".ndjson":
            assert key["key_id"] not in text


@pytest.mark.long
@pytest.mark.scenario("quickstart", reading="observed")
def test_a_service_that_does_not_answer_rings_too(exchange, night, folder):
    with exchange.fault("GetBalances", act={"status": 503}):
        code, _, err = night(exchange, EXCHANGE="", AUTH="")
    assert code == 1
    assert "/v1/account/balances  503  !" in err and "the probe failed" in err
    log = (folder / "drift" / "probe.log").read_text()
    assert "/v1/orders/open  200" in log  # the other reads were made


def test_without_addresses_it_says_what_it_needs(exchange, night):
    none = dict.fromkeys(("GATEWAY", "RETAIL", "EXCHANGE", "AUTH"), "")
    assert night(exchange, **none)[0::2] == (2, "drift.sh: set GATEWAY, RETAIL, EXCHANGE or AUTH\n")


def test_trading_needs_keys(exchange, night):
    before = orders(exchange)
    code, _, err = night(exchange, "--trade", RETAIL_SECRET="", EXCHANGE="", AUTH="")
    assert code == 2 and "--trade needs RETAIL_KEY_ID" in err
    assert orders(exchange) == before


@pytest.mark.long
@pytest.mark.scenario("quickstart", reading="observed")
def test_a_night_without_answers_rings_and_the_next_is_compared_with_the_one_before(
    exchange, night, folder
):
    assert night(exchange)[0] == 0
    existing = (folder / "drift" / "last.json").read_text()
    stranger = dict.fromkeys(("GATEWAY", "RETAIL", "EXCHANGE", "AUTH"), "http://127.0.0.1:9")
    code, out, _ = night(exchange, EXCHANGE_CLIENT_ID="", **stranger)
    assert code == 1 and out.startswith("DRIFT: nothing could be compared")
    assert (folder / "drift" / "last.json").read_text() == existing


def test_the_workflow_runs_what_is_shipped_and_keeps_what_it_writes():
    workflow: dict[Any, Any] = yaml.safe_load((SHIPPED / "drift.yml").read_text())
    steps = workflow["jobs"]["drift"]["steps"]
    (run,) = [step for step in steps if "drift.sh" in step.get("run", "")]
    script = (SHIPPED / "drift.sh").read_text()
    assert {"GATEWAY", "RETAIL", "RETAIL_KEY_ID", "RETAIL_SECRET"} <= set(run["env"])
    kept = steps[-1]["with"]["path"].split()
    for name in kept:
        file = Path(name).name
        assert f"$dir/{file}" in script, name
