"""Every find fails again by the command that is printed with it, in a new process, whatever found
it. The bugs are planted in the program that runs, by a `sitecustomize` of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sim.cli.main import main
from sim.oracle.law import Law
from sim.read.replay import replay_file
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.hunt.troubles import JUDGE_ERROR

ROOT = Path(__file__).parents[2]
# A change of each kind, and the kind of the find.
PLANTS = {
    "invariant": """
from sim.core.accounts.risk import Risk
right = Risk.release
def release(self, order, instrument, qty):
    right(self, order, instrument, qty - 1 if order.cum_qty and qty == order.leaves_qty else qty)
Risk.release = release
""",
    "internal error": """
from sim.core.accounts.ledger import Ledger
right = Ledger.fill
def fill(self, account, principal, *rest):
    if principal % 7 == 0: 1 // 0
    right(self, account, principal, *rest)
Ledger.fill = fill
""",
    "internal error of a timer": """
from sim.core.lifecycle.listings import Listings
def broken(self, timer):
    raise KeyError("step")
Listings._step_settlement = broken
""",
    "conformance": """
from sim.api.pipeline.pipeline import Pipeline
right = Pipeline.rest
def rest(self, call):
    reply = right(self, call)
    if call.path.startswith("/v1/orderbook") and reply.status == 200:
        reply.body = reply.body[:-1] + b',"extra":1}'
    return reply
Pipeline.rest = rest
""",
    "contradiction": """
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.rewriting import planted
bug = planted(*EXCHANGE_BUGS["report_with_other_content"])
bug.__enter__()
""",
    "law": """
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.rewriting import planted
bug = planted(*EXCHANGE_BUGS["fee_rounded_down"])
bug.__enter__()
""",
    "agreement": """
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.rewriting import planted
bug = planted(*EXCHANGE_BUGS["cursor_skips_a_row"])
bug.__enter__()
""",
    "replay": """
from sim.api.pipeline.pipeline import Pipeline
right, calls = Pipeline.rest, []
def rest(self, call):
    reply = right(self, call)
    calls.append(call.path)
    if len(calls) % 97 == 0:
        reply.message += " again"
    return reply
Pipeline.rest = rest
""",
    "judge error": """
from sim.oracle.law import Law
def broken(self, observed):
    raise KeyError("average")
Law.judge = broken
""",
}

# The law finds most of these too, and the first find of an episode ends it.
SILENT = """
from sim.oracle.law import Law
Law.judge = lambda self, observed: []
"""


def run(command: list[str], plant: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(plant), str(ROOT)))
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


@pytest.mark.long
@pytest.mark.reading("documented")  # other processes follow no patched simulation
@pytest.mark.parametrize(
    "plant",
    [pytest.param(plant, marks=() if plant == "law" else pytest.mark.soak) for plant in PLANTS],
)
def test_a_find_of_every_kind_fails_again_by_the_printed_commands(
    plant: str, tmp_path: Path
) -> None:
    kind = plant.partition(" of ")[0]
    silent = "" if kind in ("law", JUDGE_ERROR) else SILENT
    (tmp_path / "sitecustomize.py").write_text(silent + PLANTS[plant])
    saved = ("--save-failures", str(tmp_path / "found"), "--json", str(tmp_path / "hunt.json"))
    hunt = [sys.executable, "-m", "sim", "hunt", "--inputs", "12000", "--seed", "1", *saved]
    hunted = run(hunt, tmp_path)
    assert hunted.returncode == 1, hunted.stderr
    finding, *_ = json.loads((tmp_path / "hunt.json").read_text())["found"]
    assert (finding["kind"], finding["confirmed"]) == (kind, True)
    # what a process did before is in the recorded answers of a journal only
    assert bool(finding["scenario"]) is (kind != "replay")
    for command in finding["commands"]:
        assert command in hunted.stdout
        again = run(shlex.split(command), tmp_path)
        assert again.returncode == 1, again.stderr
        assert again.stdout.startswith(f"{kind}: ")
    clean = run(shlex.split(finding["commands"][0]), tmp_path / "nothing")
    assert "nothing is wrong" in clean.stdout or clean.stdout.startswith("replay: ")


@pytest.mark.unlawful("the law fails on purpose")
def test_a_judge_that_fails_is_a_find_and_the_hunt_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Law, *args: Any) -> None:
        raise KeyError("on purpose")

    monkeypatch.setattr(Law, "judge", broken)
    monkeypatch.setattr("sim.search.hunt.finds.check_in_new_process", lambda path: [])
    output = tmp_path / "hunt.json"
    saved = ("--save-failures", str(tmp_path / "found"), "--json", str(output))
    assert main(["hunt", "--inputs", "1500", *saved]) == 1
    document = json.loads(output.read_text())
    (finding,) = document["found"]
    assert (finding["kind"], document["inputs"] >= 1500) == ("judge error", True)
    assert "on purpose" in finding["says"]
    assert "not found again in a new process" in capsys.readouterr().out


def test_a_crash_leaves_its_input_as_the_last_line_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("wb+", buffering=0) as file:
        simulation = Simulation(load_scenario("quickstart"), journal=file)
        simulation.control("account.fund", "maker", {"amount": "1.00"})
        monkeypatch.setattr(simulation.engine, "_dispatch", None)
        with pytest.raises(TypeError):
            simulation.control("account.fund", "maker", {"amount": "2.00"})
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["mark"], last["input"]["action"]) == ("failure", "account.fund")
    assert last["argument"].startswith("TypeError: ")
    assert replay_file(path).inputs == 1
    assert main(["hunt", "--check", str(path)]) == 1
    assert "failure differs from the replay" in " ".join(capsys.readouterr().out.split())
    assert main(["timeline", str(path)]) == 0
    assert "failure" in capsys.readouterr().out


def test_nothing_is_wrong_in_a_run_of_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(ROOT / "scenarios" / "price-time-priority.yaml")
    assert main(["hunt", "--check", scenario]) == 0
    assert "nothing is wrong in " in capsys.readouterr().out
