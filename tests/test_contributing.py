"""The five changes of CONTRIBUTING.md, made in a copy of the repository from the code on the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parent.parent
LEFT_OUT = (".*", "__pycache__", "build", "dist", "site", "node_modules")

IMPORTS = """
import pytest

from sim import Simulation, load_scenario
from sim.run.client.client import Connection, connect
from tests.journeys import order, quiet, trader
"""
TESTS = """
@pytest.mark.parametrize(("odds", "spread"), [("always", "0"), ("never", "50")])
def test_the_quirk(world: Connection, odds: str, spread: str) -> None:
    instrument, partner = quiet(world.simulation), trader(world)
    for side, cents in (("BUY", 40), ("SELL", 45)):
        partner.post("/v1/trading/orders", json=order(instrument, side, cents, 1))
    world.simulation.control("quirk.set", "spread_reads_zero", {"value": odds})
    answer = partner.get(f"/v1/orderbook/{instrument.symbol}/spread").json()
    assert (int(answer["spread"]) == 0) is (odds == "always")


@pytest.mark.parametrize(("day", "levels"), [("2026-09-30", 3), ("2026-10-01", 5)])
def test_the_rule_of_a_date(day: str, levels: int) -> None:
    text = f"name: dated\\nextends: quickstart\\nclock: {{start: {day}T12:00:00-04:00}}\\n"
    world = connect(Simulation(load_scenario(text)))
    instrument, partner = quiet(world.simulation), trader(world)
    for cents in range(10, 20):
        partner.post("/v1/trading/orders", json=order(instrument, "BUY", cents, 1))
    assert len(partner.get(f"/v1/orderbook/{instrument.symbol}").json()["bids"]) == levels


def test_the_step(world: Connection) -> None:
    instrument, partner = quiet(world.simulation), trader(world)
    partner.post("/v1/trading/orders", json=order(instrument, "BUY", 40, 1))
    assert partner.get("/v1/trading/orders/open").json()["orders"]
    world.simulation.control("instrument.clear", instrument.symbol, {})
    assert not partner.get("/v1/trading/orders/open").json()["orders"]
"""


def snippets(title: str) -> list[str]:
    """The code of a section, block by block."""
    _, _, section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {title}\n")
    section = section.partition("\n## ")[0]
    return [dedent(code) for code in re.findall(r"^ +```\w+\n(.*?)^ +```$", section, re.M | re.S)]


class House:
    """A copy of the repository that can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)

    def insert(self, path: str, code: str, after: str = "", before: str = "") -> None:
        """Put code into a file beside the only place with a text, or at its end."""
        file = self.folder / path
        text, at = file.read_text(), after or before
        assert not at or text.count(at) == 1, f"{path} has {text.count(at)} times {at!r}"
        new = code + at if before else at + code
        file.write_text(text.replace(at, new) if at else f"{text}\n\n{code}")

    def run(self, *command: str) -> None:
        """Run Python in the copy; the test fails with what it printed if it fails."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def add_an_endpoint(house: House) -> str:
    """Declare and implement it; return its test."""
    rpc, messages, handler, test = snippets("An endpoint")
    proto = "proto/exchange/v1/order_book.proto"
    house.insert(proto, rpc, after="service OrderBookAPI {\n")
    house.insert(proto, messages)
    house.insert("sim/api/exchange/market_data.py", handler)
    scopes = "        OrderBookAPI.GetOrderBook OrderBookAPI.GetBBO"
    house.insert("tests/oracles/test_scopes.py", " OrderBookAPI.GetSpread", after=scopes)
    return test


def add_a_quirk(house: House) -> None:
    quirk, check, _ = snippets("A quirk")
    house.insert("sim/core/catalogue/quirks.py", f"{quirk}\n", before="\ndef catalogue() ->")
    module = "sim/api/exchange/market_data.py"
    name = "from sim.core.catalogue.quirks import SPREAD_READS_ZERO\n"
    house.insert(module, name, before="from sim.core.exchange import Exchange\n")
    answer = "    return wire.GetSpreadResponse("
    house.insert(module, "".join(f"    {line}\n" for line in check.splitlines()), before=answer)


def date_a_rule(house: House) -> None:
    (rule,) = snippets("A rule that changes on a date")
    module = house.folder / "sim/api/exchange/market_data.py"
    text = module.read_text().replace(
        "DEPTH_DEFAULT, DEPTH_MAX = 3, 10\n", f"{rule}DEPTH_MAX = 10\n"
    )
    text = text.replace("depth or DEPTH_DEFAULT", "depth or DEPTH_DEFAULT.at(exchange.now)")
    text = text.replace("{DEPTH_DEFAULT} levels", "{DEPTH_DEFAULT.at(exchange.now)} levels")
    module.write_text(
        text.replace(
            "from sim.contract.messages",
            "from sim.kernel.dated import Dated\nfrom sim.contract.messages",
        )
    )
    dates = "sim/read/dates.py"
    name = "from sim.api.exchange.market_data import DEPTH_DEFAULT\n"
    house.insert(dates, name, before="from sim.api.rendering.retention import")
    house.insert(dates, "    DEPTH_DEFAULT,\n", before="    STREAMS_PER_FIRM,\n")


def add_a_step(house: House) -> None:
    body, function, row, described = snippets("A step")
    steps = "sim/world/format/steps.py"
    house.insert(steps, f"{body}\n\n", before="class When(Struct, frozen=True, kw_only=True):\n")
    key = "    clear: ClearStep | None = None\n"
    house.insert(steps, key, before="    settle: SettleStep | None = None\n")
    markets, actions = "sim/run/actors/operator/markets.py", "sim/run/actors/operator/actions.py"
    house.insert(markets, function)
    house.insert(markets, "ClearStep, ", after="from sim.world.format.steps import CancelStep, ")
    indented = "".join(f"    {line}\n" for line in row.strip().splitlines())
    house.insert(actions, f"{indented.rstrip()},\n", before='    Action("trade.bust"')
    house.insert(actions, "    ClearStep,\n", before="    SettleStep,\n    StateStep,\n")
    house.insert("fixtures/control-reference.json", described, before='  "GET /clock": {\n')


def add_a_conformance_rule(house: House) -> None:
    (check,) = snippets("A conformance rule")
    house.insert("sim/read/conformance/usage.py", check)
    pair = '    "client-order-ids": (orders("a", "b"), orders("", "")),\n'
    house.insert("tests/test_judge.py", pair, before='    "fresh-jti": ')


@pytest.mark.long
def test_the_five_changes_of_the_page_work_as_described(tmp_path: Path) -> None:
    house = House(tmp_path)
    test = add_an_endpoint(house)
    add_a_quirk(house)
    date_a_rule(house)
    add_a_step(house)
    add_a_conformance_rule(house)
    (tmp_path / "tests/test_five_changes.py").write_text(f"{IMPORTS}\n\n{test}\n{TESTS}")
    house.run("-m", "sim.contract.compile")
    house.run("docs/generate.py")
    house.run("docs/openapi_examples.py")
    judged = "tests/test_judge.py::test_a_rule_is_kept_by_a_good_client_and_broken_by_a_bad_one[client-order-ids]"
    files = ("tests/test_five_changes.py", "tests/oracles/test_scopes.py", judged)
    house.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not soak", *files)
