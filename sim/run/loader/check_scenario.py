"""Checks of a whole scenario: names that must exist and terms that must be valid.

Problems have positions in the file that contains them; files that it extends are checked on their
own.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Values

from sim.contract.contract import SCOPES
from sim.core.catalogue.assumption_values import unknown_name
from sim.core.catalogue.bounds import LIMIT_CALLS, MONEY
from sim.core.model.quantities import CASH_SCALE, cash_text
from sim.core.service.rate_limits import LIMITS
from sim.kernel import resources
from sim.kernel.instants import format_instant, is_supported_instant
from sim.run.loader.check_faults import fault_problems
from sim.run.loader.check_opening_orders import opening_problems
from sim.run.loader.check_participants import participant_problems
from sim.run.loader.check_steps import step_problems, unknown_setting
from sim.run.loader.check_world import SECTIONS, world_problems
from sim.run.loader.nodes import items_of, mappings_of, node_at, unknown
from sim.run.loader.order_flow_files import flow_problems
from sim.world.format.fees_entries import fee_problems
from sim.world.format.instrument_terms import ListingError, list_instrument
from sim.world.format.scenario import Scenario
from sim.world.format.suggestions import suggestion
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Position,
    Problem,
    Scalar,
    ScenarioError,
    problem,
)
from sim.world.reference.leagues import fixture
from sim.world.reference.recurring_markets import incomplete
from sim.world.start.world import World, asset_of, build_world, windows_of

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


_WHO = ("firms", "accounts", "api_keys", "receivers")


def check_scenario(scenario: Scenario, node: Node, flow_files: Values[str, str]) -> None:
    """Check a scenario. ScenarioError lists the problems. `flow_files` are the files by name of the
    flow.
    """
    names = [*_names(scenario, node), *_raised_limits(node), *fee_problems(node)]
    problems = [
        *_terms(scenario, node),
        *_assets(scenario, node),
        *_windows(scenario, node),
        *_maintenance(scenario, node),
        *_leagues(node),
        *_firms(node),
        *_twice(node),
    ]
    named = any(items_of(node, "world", section) for section in (*SECTIONS, *_WHO))
    named = named or bool(scenario.world.books or scenario.world.orders)  # perhaps inherited
    if (
        not problems
        and not _unbuildable(names)
        and (scenario.steps or scenario.participants.anybody or named)
    ):
        world = build_world(scenario)
        problems = [
            *world_problems(node, world),
            *opening_problems(node, scenario, world),
            *_money(node, world),
            *participant_problems(scenario, node, world),
            *step_problems(scenario, node, world),
            *flow_problems(scenario, world, flow_files),
        ]
    problems = [*names, *problems]
    if problems:
        raise ScenarioError(sorted(problems, key=lambda each: (each.file, each.line, each.column)))


def _unbuildable(names: list[Problem]) -> bool:
    """Whether a wrong name or instant makes it impossible to build the world."""
    return any("years 1990" in each.message or "limit" in each.message for each in names)


def _names(scenario: Scenario, node: Node) -> Iterator[Problem]:
    start = node_at(node, "clock", "start")
    if start is not None and not is_supported_instant(scenario.clock.start):
        yield problem(start.at, "a scenario must begin in one of the years 1990 to 2199")
    yield from unknown_setting("quirk", node_at(node, "quirks"))
    yield from unknown_setting("assumption", node_at(node, "assumptions"))
    limits = node_at(node, "limits")
    for name, at in limits.keys.items() if isinstance(limits, Mapping) else ():
        if name not in LIMITS:
            hint = suggestion(name, LIMITS) or f"; known: {', '.join(LIMITS)}"
            yield problem(at, f"unknown limit {name!r}{hint}")
    for fault in mappings_of(node_at(node, "faults")):
        yield from fault_problems(fault)
    for step in items_of(node, "steps"):
        for fault in mappings_of(node_at(step, "fault")):
            yield from fault_problems(fault)


def _raised_limits(node: Node) -> Iterator[Problem]:
    """Problems of the limits that are raised for a firm or a key: unknown names and wrong
    values.
    """
    for item in (*items_of(node, "world", "firms"), *items_of(node, "world", "api_keys")):
        limits = node_at(item, "limits")
        if not isinstance(limits, Mapping):
            continue
        for name, count in limits.items.items():
            if name not in LIMITS:
                yield problem(limits.keys[name], unknown_name("limit", name, LIMITS))
            elif isinstance(count, Scalar):
                try:
                    LIMIT_CALLS.check(int(count.text))
                except ValueError as error:
                    yield problem(count.at, str(error))


def _money(node: Node, world: World) -> Iterator[Problem]:
    """Problems of opening balances that exceed what the exchange can represent."""
    accounts = world.parties.accounts
    total = sum(account.opening_balance for account in accounts)
    if total > MONEY.high * CASH_SCALE:
        place = node_at(node, "world", "accounts") or node_at(node, "world") or node
        total_text = f"the {len(accounts)} opening balances are {cash_text(total)} dollars together"
        yield problem(place.at, f"{total_text}; {MONEY.text()}")


def _terms(scenario: Scenario, node: Node) -> Iterator[Problem]:
    by_symbol = {entry.symbol: entry for entry in scenario.world.instruments}
    for item in mappings_of(node_at(node, "world", "instruments")):
        symbol = item.items.get("symbol")
        entry = by_symbol.get(symbol.text) if isinstance(symbol, Scalar) else None
        if entry is None:
            continue
        try:
            list_instrument(entry, scenario.clock.start)
        except ListingError as error:
            for key, message in error.faults:
                yield problem(item.items[key].at if key in item.items else item.at, message)


def _assets(scenario: Scenario, node: Node) -> Iterator[Problem]:
    by_id = {entry.id: entry for entry in scenario.world.assets}
    for item in items_of(node, "world", "assets"):
        name = node_at(item, "id")
        entry = by_id.get(name.text) if isinstance(name, Scalar) else None
        if entry is not None:
            try:
                asset_of(entry)
            except ValueError as error:
                yield problem(item.at, str(error))


def _windows(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """Problems of new recurring markets without an asset or an interval."""
    lacking = {entry.name: incomplete(entry) for entry in windows_of(scenario.world)}
    for item in items_of(node, "world", "windows"):
        name = node_at(item, "name")
        if isinstance(name, Scalar) and (message := lacking.get(name.text)):
            yield problem(item.at, message)


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


def _leagues(node: Node) -> Iterator[Problem]:
    """Problems of events in an unknown league."""
    valid_names: list[str] = []
    for item in items_of(node, "world", "events"):
        league = node_at(item, "league")
        if isinstance(league, Scalar):
            valid_names = valid_names or [row["slug"] for row in fixture("leagues.json")["leagues"]]
            if league.text not in valid_names:
                yield unknown("there is no league", league, valid_names)


def _twice(node: Node) -> Iterator[Problem]:
    """Problems of names that occur twice in a list: entries merge by name, so one would be lost."""
    for section in ("world", "participants"):
        for name, key in MERGE_KEYS.items():
            positions: dict[str, Position] = {}
            for item in items_of(node, section, name):
                entry = node_at(item, key)
                if not isinstance(entry, Scalar):
                    continue
                if first := positions.get(entry.text):
                    twice = f"{key} {entry.text!r} occurs twice in `{name}`"
                    yield problem(entry.at, f"{twice}; first in line {first.line}")
                positions.setdefault(entry.text, entry.at)


def _firms(node: Node) -> Iterator[Problem]:
    """Problems of firms with an unknown key pair or scope, or with two funding sources of the same
    id.
    """
    for firm in items_of(node, "world", "firms"):
        for scope in items_of(firm, "scopes"):
            if isinstance(scope, Scalar) and scope.text not in SCOPES:
                hint = f"; known: {', '.join(sorted(SCOPES))}"
                yield unknown("unknown scope", scope, SCOPES, hint)
        pair = node_at(firm, "key")
        if isinstance(pair, Scalar) and pair.text:
            files = resources.path("fixtures", "keys").glob("*.pub.pem")
            pairs = sorted(file.name.removesuffix(".pub.pem") for file in files)
            if pair.text not in pairs:
                valid_names = f"the sandbox has {', '.join(pairs)}"
                yield problem(pair.at, f"there is no key pair {pair.text!r}: {valid_names}")
        positions: set[str] = set()
        for source in items_of(firm, "funding_sources"):
            name = node_at(source, "id")
            if isinstance(name, Scalar):
                if name.text in positions:
                    text = f"two funding sources have the id {name.text!r}: give each its own id"
                    yield problem(name.at, text)
                positions.add(name.text)
