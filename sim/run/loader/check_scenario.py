"""Checks of a whole scenario: names that must exist and terms that must be valid.

Problems have positions in the file that contains them; files that it extends are checked
on their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Values

from sim.kernel.instants import format_instant, is_supported_instant
from sim.run.loader.check_participants import participant_problems
from sim.run.loader.check_settings import limit_problems, setting_problems
from sim.run.loader.check_steps import step_problems
from sim.run.loader.check_world import SECTIONS, opening_problems, term_problems, world_problems
from sim.run.loader.nodes import items_of, node_at
from sim.run.loader.order_flow_files import flow_problems
from sim.world.format.fees_entries import fee_problems
from sim.world.format.scenario import Scenario
from sim.world.format.yaml_tree import Node, Problem, Scalar, ScenarioError, SourcePosition, problem
from sim.world.start.world import build_world

# Lists of named things merge by name; other lists are appended to those of the extended files.
MERGE_KEYS = {
    "instruments": "symbol",
    "firms": "name",
    "accounts": "name",
    "api_keys": "key_id",
    "receivers": "name",
    "assets": "id",
    "events": "slug",
    "incentives": "symbol",
    "books": "symbol",
    "fair_prices": "symbol",
    "makers": "name",
    "takers": "name",
    "noise": "name",
    "flows": "name",
    "rebates": "volume",
}


def check_scenario(scenario: Scenario, node: Node, flow_files: Values[str, str]) -> None:
    """Check a scenario. ScenarioError lists the problems. `flow_files` are the files by name
    of the flow.
    """
    problems = [*setting_problems(node), *fee_problems(node)]
    # Without these no world can be built in which the other names could be looked up.
    terms = [
        *_start(scenario, node),
        *limit_problems(node),
        *term_problems(scenario, node),
        *_maintenance(scenario, node),
        *_twice(node),
    ]
    problems += terms
    if not terms and _names_something(scenario, node):
        world = build_world(scenario)
        problems += world_problems(node, world)
        problems += opening_problems(node, scenario, world)
        problems += participant_problems(scenario, node, world)
        problems += step_problems(scenario, node, world)
        problems += flow_problems(scenario, world, flow_files)
    if problems:
        raise ScenarioError(sorted(problems, key=lambda each: (each.file, each.line, each.column)))


def _names_something(scenario: Scenario, node: Node) -> bool:
    """Whether a scenario has anything that must be looked up in its world, perhaps inherited."""
    world = scenario.world
    return bool(
        scenario.steps
        or scenario.participants.anybody
        or world.books
        or world.orders
        or any(items_of(node, "world", section) for section in SECTIONS)
        or node_at(node, "faults") is not None
    )


def _start(scenario: Scenario, node: Node) -> Iterator[Problem]:
    start = node_at(node, "clock", "start")
    if start is not None and not is_supported_instant(scenario.clock.start):
        yield problem(start.at, "a scenario must begin in one of the years 1990 to 2199")


def _maintenance(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """Problems of windows without a length, or that end before the scenario begins."""
    start = scenario.clock.start
    for entry, item in zip(scenario.maintenance, items_of(node, "maintenance"), strict=True):
        if not entry.length:
            yield problem(
                item.at, "the length of a maintenance window must be above zero, such as 2h"
            )
        elif isinstance(entry.begins, int) and entry.begins + entry.length <= start:
            begin = format_instant(start)
            text = f"this window ends before the scenario begins at {begin}: let it begin later"
            yield problem(item.at, text)


def _twice(node: Node) -> Iterator[Problem]:
    """Problems of names that occur twice in a list: entries merge by name, so one would be lost."""
    for section in ("world", "participants"):
        for name, key in MERGE_KEYS.items():
            positions: dict[str, SourcePosition] = {}
            for item in items_of(node, section, name):
                entry = node_at(item, key)
                if not isinstance(entry, Scalar):
                    continue
                if first := positions.get(entry.text):
                    twice = f"{key} {entry.text!r} occurs twice in `{name}`"
                    yield problem(entry.at, f"{twice}; first in line {first.line}")
                positions.setdefault(entry.text, entry.at)
