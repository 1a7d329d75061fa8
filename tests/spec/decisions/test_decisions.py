"""Every decision names its rule: the page *Rules* against what situations, bundled scenarios and the
source name.

The situations are in the other files of this folder, whose tests register what they led to.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sim import Simulation, load_scenario
from sim.core.model import events
from sim.kernel.resources import bundled_scenarios
from sim.read import decisions
from sim.read.headless_run import run_scenario
from sim.read.record import JournalEntry
from tests.spec.decisions import (
    test_access,
    test_changes,
    test_lifecycle,
    test_money,
    test_orders,
    test_streams,
)
from tests.spec.decisions.decided import MET
from tests.spec.test_every_rule import LEDGER, RULES

SIM = Path(decisions.__file__).parents[1]
SITUATIONS = (test_access, test_changes, test_lifecycle, test_money, test_orders, test_streams)
# Events that report decisions. `BookChanged` reports that a book is to be sent again.
DECISIONS = {event.__struct_config__.tag for event in events.Event.__args__} - {"BookChanged"}
# Scenarios that take seconds.
SLOW = {"life-size", "living-market"}
# Rules by which something could be decided and that no situation leads to, with the reason.
NOT_MET = {
    "P3": "it says how much an order reserves; the refusal of an order names P4",
    "W7": "it says when something happens; the change of state names why it happens, such as L4",
}


def test_the_numbers_of_rules_are_those_of_the_page() -> None:
    assert Counter(rule[0] for rule in RULES) == decisions._COUNTS
    assert set(decisions.RULES) | decisions.NEVER_DECIDED == set(RULES)


def test_situations_lead_to_every_rule_that_decides() -> None:
    assert all(module.__name__ for module in SITUATIONS)
    assert set(MET) == set(decisions.RULES) - set(NOT_MET)


_NAMED = re.compile(r'(?:rule(?::\s*\w+)?\s*=|Why\(|because\()\s*"([A-Z]\d+(?:\.\d+)?(?:-\d+)?)"')


def test_the_source_decides_by_no_rule_that_only_shapes() -> None:
    named = {
        rule: str(file.relative_to(SIM))
        for file in sorted(SIM.rglob("*.py"))
        for rule in _NAMED.findall(file.read_text())
    }
    assert len(named) > 100
    assert {
        rule: file
        for rule, file in named.items()
        if rule not in decisions.RULES and rule not in LEDGER
    } == {}


@pytest.mark.parametrize("name", [name for name in bundled_scenarios() if name not in SLOW])
def test_every_decision_of_a_bundled_scenario_names_a_rule(name: str) -> None:
    scenario = load_scenario(name)
    simulation = Simulation(scenario)
    run_scenario(scenario, simulation=simulation, check_invariants=False)
    nameless: list[dict[str, Any]] = []
    unknown: set[str] = set()
    for line in simulation.journal.lines():
        record = msgspec.json.decode(line)
        out = record.get("out", {})
        for decided in (*out.get("events", ()), *out.get("closed", ())):
            if decided.get("event", "closed") in {*DECISIONS, "closed"} and not decided.get("rule"):
                nameless.append(decided)
        if out.get("status", 200) >= 400 and not out.get("rule"):
            nameless.append(record)
        unknown |= {decision.rule for decision in decisions.decisions_of(JournalEntry(line).out)}
    assert nameless == []
    assert {rule for rule in unknown if rule not in decisions.RULES and rule not in LEDGER} == set()
