"""The ten changes of CONTRIBUTING.md, made in a copy of the repository from the code on the page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".*", "__pycache__", "build", "dist", "site", "node_modules")

IMPORTS = """
import json

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as exchange_wire
from sim.run.client.client import Connection, connect
from tests.journeys import key, order, quiet, retail_order, rpc_trader, trader
"""
FEED_IMPORTS = """
from __future__ import annotations

from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams.feed import EventReaders, KeyedFeed, KeyedStream
from sim.api.streams.shared_frames import encoded
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.events import Settled


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
    house.insert("tests/spec/test_scopes.py", " OrderBookAPI.GetSpread", after=scopes)
    return test


def add_a_quirk(house: House) -> None:
    quirk, check, _ = snippets("A quirk")
    house.insert("sim/core/catalogue/quirks.py", f"{quirk}\n", before="\ndef catalogue() ->")
    module = "sim/api/exchange/market_data.py"
    name = "from sim.core.catalogue.quirks import SPREAD_READS_ZERO\n"
    house.insert(module, name, before="from sim.core.exchange import Exchange\n")
    answer = "    return wire.GetSpreadResponse("
    house.insert(module, indent(check, "    "), before=answer)


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
    body, function, described = snippets("A step")
    steps = "sim/world/format/steps.py"
    house.insert(steps, f"{body}\n\n", before="class When(Struct, frozen=True, kw_only=True):\n")
    key = "    clear: ClearStep | None = None\n"
    house.insert(steps, key, before="    settle: SettleStep | None = None\n")
    markets = "sim/run/actors/operator/markets.py"
    house.insert(markets, f"{function}\n\n", before='@operator_action("trade.bust"')
    house.insert(markets, "ClearStep, ", after="from sim.world.format.steps import CancelStep, ")
    house.insert("fixtures/control-reference.json", described, before='  "GET /clock": {\n')


def add_a_conformance_rule(house: House) -> None:
    (check,) = snippets("A conformance rule")
    house.insert("sim/read/conformance/usage.py", check)
    pair = '    "client-order-ids": (orders("a", "b"), orders("", "")),\n'
    house.insert("tests/read/test_judge.py", pair, before='    "fresh-jti": ')


def add_a_retail_endpoint(house: House) -> str:
    rpc, messages, handler, test = snippets("A retail endpoint")
    proto, module = "proto/retail/v1/account_api.proto", "sim/api/retail/balances.py"
    house.insert(proto, rpc, after="service RetailAccountAPI {\n")
    house.insert(proto, messages)
    house.insert(module, handler)
    return test


def remove_an_operation(house: House) -> str:
    date, announcement, test = snippets("The removal of an operation")
    options = '      statements: ["S2.5-2", "S2.5-3", "S4.3-2", "S5.1-7"]\n'
    house.insert("proto/exchange/v1/order_book.proto", f"      {date}", after=options)
    changelog = house.folder / "fixtures/changelog.json"
    entries = [*json.loads(changelog.read_text()), json.loads(announcement)]
    changelog.write_text(json.dumps(sorted(entries, key=lambda entry: entry["date"]), indent=2))
    return test


def add_a_stream(house: House) -> str:
    rpc, messages, feed, row, test, described, beginning = snippets("A stream")
    proto, hub = "proto/exchange/v1/drop_copy.proto", "sim/api/streams/hub.py"
    house.insert(proto, rpc, after="service DropCopyAPI {\n")
    house.insert(proto, messages)
    (house.folder / "sim/api/streams/settlements.py").write_text(FEED_IMPORTS + feed)
    house.insert(hub, f"    {row}", before='    "PositionAPI.CreatePositionSubscription"')
    name = "from sim.api.streams.settlements import SettlementFeed\n"
    house.insert(hub, name, before="from sim.api.streams.stream_faults import")
    scopes = "        DropCopyAPI.CreateInstrumentStateChangeSubscription"
    scope = " DropCopyAPI.CreateSettlementSubscription"
    house.insert("tests/spec/test_scopes.py", scope, after=scopes)
    house.insert("docs/reference/streams.md", described, before="| `StreamRFQEvents` |")
    beginnings = "tests/spec/test_stream_beginnings.py"
    house.insert(beginnings, indent(beginning, "    "), before='    "`StreamRFQEvents`": (')
    return test


def add_a_webhook_type(house: House) -> str:
    name, row, payload, sample, notify, consequence, test = snippets("A webhook type")
    payloads, webhooks = "sim/core/webhooks/payloads.py", "sim/core/webhooks/webhooks.py"
    house.insert(payloads, name, before="# Every type of event")
    house.insert(payloads, f"    {row}", before='    TEST: "A test delivery')
    house.insert(payloads, payload)
    house.insert(payloads, f"        {sample}", before="        TEST: test_payload(")
    house.insert(webhooks, f"{indent(notify, '    ')}\n", before="    def redeliver(")
    house.insert("sim/core/exchange.py", " MaintenanceChanged,", after="Executed, KycDecided,")
    for module in (payloads, webhooks):
        house.insert(module, ", MaintenanceChanged", after="events import KycDecided")
    house.insert(webhooks, "    MAINTENANCE,\n    maintenance_payload,\n", after="    is_secret,\n")
    house.insert(
        webhooks, "from functools import partial\n", before="\nfrom msgspec import convert"
    )
    exchange, settled = "sim/core/exchange.py", "            Settled: self._after_settlement,\n"
    house.insert(exchange, f"            {consequence}", before=settled)
    return test


def add_an_invariant(house: House) -> None:
    check, row, spoil = snippets("An invariant")
    invariants, breaks = "sim/core/invariants.py", "tests/search/test_broken_invariants.py"
    house.insert(invariants, f"{check}\n\n", before="class Invariant(NamedTuple):\n")
    house.insert(invariants, f"    {row}", before='    "books": Invariant(\n')
    house.insert(breaks, f"{spoil}\n\n", before="def begun() -> Simulation:\n")


@pytest.mark.long
def test_the_changes_of_the_page_work_as_described(tmp_path: Path) -> None:
    house = House(tmp_path)
    tests = [add_an_endpoint(house)]
    add_a_quirk(house)
    date_a_rule(house)
    add_a_step(house)
    tests += [change(house) for change in (add_a_retail_endpoint, remove_an_operation)]
    tests += [change(house) for change in (add_a_stream, add_a_webhook_type)]
    add_an_invariant(house)
    add_a_conformance_rule(house)
    text = "\n\n".join([IMPORTS, *tests, TESTS])
    (tmp_path / "tests/test_ten_changes.py").write_text(text)
    house.run("-m", "sim.contract.compile")
    house.run("docs/generate.py")
    house.run("docs/openapi_examples.py")
    judged = "tests/read/test_judge.py::test_a_rule_is_kept_by_a_good_client_and_broken_by_a_bad_one[client-order-ids]"
    files = (
        *("tests/test_ten_changes.py", "tests/search/test_broken_invariants.py", judged),
        *("tests/spec/test_scopes.py", "tests/spec/test_stream_beginnings.py"),
    )
    house.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not soak", *files)
