"""Reading scenarios: by bundled name, path or text; with what they extend merged in; every problem
with its position, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Values
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import replace

from sim.core.service.fault_spec import FaultSpec
from sim.core.service.fault_spec import check as check_fault
from sim.core.service.rate_limits import LIMITS
from sim.kernel import resources
from sim.kernel.instants import is_supported_instant
from sim.loader.check_participants import participant_problems
from sim.loader.check_steps import step_problems, unknown_setting
from sim.loader.check_world import SECTIONS, world_problems
from sim.loader.nodes import items_of, node_at
from sim.loader.order_flow_files import flow_problems, with_order_flow
from sim.reference.leagues import fixture
from sim.reference.recurring_markets import incomplete
from sim.scenario.expansion import expanded, parameters, variants
from sim.scenario.fault_names import never_strikes, unknown_operation
from sim.scenario.fees_entries import fee_problems
from sim.scenario.file_access import INLINE, FileAccess
from sim.scenario.instrument_terms import ListingError, list_instrument
from sim.scenario.scenario import Scenario
from sim.scenario.struct_types import record
from sim.scenario.value_types import INVALID, nearest, suggestion
from sim.scenario.yaml_tree import (
    Mapping,
    Node,
    Position,
    Problem,
    Scalar,
    ScenarioError,
    Sequence,
    error_at,
    problem,
    read_file,
    read_text,
    tree_of,
    value_of,
)
from sim.world.world import build_world, windows_of

EXTENDS_MAX = 8

# Lists of named things merge by name; other lists of a scenario are appended to what is extended.
_KEYS = {
    "instruments": "symbol",
    "firms": "name",
    "accounts": "name",
    "api_keys": "key_id",
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


def load_scenario(what: str, params: Values[str, str] | None = None) -> Scenario:
    """A scenario by bundled name, file path, or as YAML text. `params` gives values to its
    parameters; of a matrix the first values count unless given.

    ScenarioError lists everything that is wrong, with line and column.
    """
    if not params and "\n" not in what:
        bundled = resources.path("scenarios", f"{what}.yaml")
        if not Path(what).suffix and not Path(what).exists() and bundled.is_file():
            return _bundled(str(bundled))
    node, access = _opened(what)
    return _resolved(_chain(node, access, 0), params or {}, access)


def load_given(
    given: str | dict[str, Any], folder: Path | None, params: Values[str, str] | None = None
) -> Scenario:
    """A scenario that somebody sends: a bundled name, YAML text, a document as JSON, or the path of
    a file below `folder`.

    Nothing outside the folder is read, and without one nothing but what is bundled. ScenarioError
    as of `load_scenario`; a document has no lines, so its problems name the place instead, such as
    `scenario.steps[2].call.plane`.
    """
    access = FileAccess(folder, confined=True)
    if isinstance(given, dict):
        node = tree_of(given, "scenario", places=True)
    elif "\n" in given:
        node = read_text(given, INLINE)
    else:
        node = read_file(access.scenario(Position("scenario", 0, 0), given))
    return _resolved(_chain(node, access, 0), params or {}, access)


def scenario_variants(what: str) -> list[dict[str, str]]:
    """Every combination of a scenario's matrix, as parameters for `load_scenario`."""
    return variants(_opened(what)[0])


def _opened(what: str) -> tuple[Node, FileAccess]:
    """Tree of a scenario, and what it may name."""
    access = FileAccess()
    if "\n" in what:
        return read_text(what, INLINE), access
    path = Path(what)
    bundled = resources.path("scenarios", f"{what}.yaml")
    if not path.suffix and not path.exists():
        if not bundled.is_file():
            names = resources.bundled_scenarios()
            near = nearest(what, names)
            perhaps = f"; did you mean {near}?" if near else ""
            raise error_at(
                Position(what, 1, 1),
                f"no scenario or file is called that: bundled are {', '.join(names)}{perhaps}",
            )
        path = bundled
    return read_file(path), access


@lru_cache(maxsize=64)
def _bundled(path: str) -> Scenario:
    access = FileAccess()
    return _resolved(_chain(read_file(Path(path)), access, 0), {}, access)


def scenario_from_source(source: bytes) -> Scenario:
    """A scenario from its canonical JSON, as it stands in a journal. The order flow in it is
    checked again.
    """
    scenario = _read(tree_of(json.decode(source), "journal"))
    if scenario.participants.flows and (
        problems := list(flow_problems(scenario, build_world(scenario), {}))
    ):
        raise ScenarioError(problems)
    return scenario


def scenario_from_document(document: dict[str, Any]) -> Scenario:
    """A scenario from its resolved form as JSON values, what `Scenario.plain` gives."""
    return _read(tree_of(document, "document"))


def _resolved(chain: list[Node], given: Values[str, str], access: FileAccess) -> Scenario:
    """The scenario at the end of a chain of files, each on top of the ones before it."""
    known: dict[str, str] = {}
    for node in chain:
        known |= parameters(node)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise error_at(
            chain[-1].at,
            f"there is no parameter {unknown[0]!r}"
            + (f": it has {', '.join(known)}" if known else ""),
        )
    files: dict[str, str] = {}
    filled = [with_order_flow(expanded(node, {**known, **given}), files, access) for node in chain]
    own = filled[-1]
    for node in filled:  # each for itself, so that a problem is told where it stands
        scenario = _read(node)
    if len(chain) > 1:
        merged: dict[str, Any] = {}
        for node in filled:
            merged = _merge(merged, value_of(node))
        merged.pop("extends", None)
        scenario = _read(tree_of(merged, _file_of(own)))
    if given:
        scenario = replace(scenario, params={**scenario.params, **given})
    _check(scenario, own, files)
    return scenario


def _chain(node: Node, access: FileAccess, depth: int) -> list[Node]:
    """Everything a scenario extends, in order, and itself."""
    at = node.items.get("extends") if isinstance(node, Mapping) else None
    if at is None:
        return [node]
    if depth >= EXTENDS_MAX:
        raise error_at(
            at.at, f"extends more than {EXTENDS_MAX} files deep: do they extend each other?"
        )
    found: list[Node] = []
    for one in at.items if isinstance(at, Sequence) else [at]:
        if not isinstance(one, Scalar):
            raise error_at(one.at, "extends names a bundled scenario or a file, or a list of them")
        found += _chain(read_file(access.scenario(one.at, one.text)), access, depth + 1)
    return [*found, node]


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merge(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = _merge_lists(known, value, _KEYS.get(key))
        else:
            merged[key] = value
    return merged


def _merge_lists(base: list[Any], changes: list[Any], key: str | None) -> list[Any]:
    if key is None:
        return [*base, *changes]
    found = {str(entry.get(key)): entry for entry in base}
    for entry in changes:
        name = str(entry.get(key))
        found[name] = _merge(found[name], entry) if name in found else entry
    return list(found.values())


def _read(node: Node) -> Scenario:
    problems: list[Problem] = []
    scenario = record(Scenario).read(node, problems)
    if problems:
        raise ScenarioError(problems)
    found: Scenario = scenario
    return found


def _file_of(node: Node) -> str:
    return node.at.file


# ---- what only the world can tell


def _check(scenario: Scenario, node: Node, files: Values[str, str]) -> None:
    """Names that must exist and terms that must be sound, at the positions of the file itself;
    `files` are those of order flow, by name of the flow.
    """
    problems = [
        *_names(scenario, node),
        *_terms(scenario, node),
        *_windows(scenario, node),
        *_leagues(node),
        *_firms(node),
        *_twice(node),
        *fee_problems(node),
    ]
    named = any(items_of(node, "world", section) for section in SECTIONS)
    if not problems and (scenario.steps or scenario.participants.anybody or named):
        world = build_world(scenario)
        problems = [
            *world_problems(node, world),
            *participant_problems(scenario, node, world),
            *step_problems(scenario, node, world),
            *flow_problems(scenario, world, files),
        ]
    if problems:
        raise ScenarioError(problems)


def _names(scenario: Scenario, node: Node) -> Iterator[Problem]:
    start = node_at(node, "clock", "start")
    if start is not None and not is_supported_instant(scenario.clock.start):
        yield problem(start.at, "a scenario begins in one of the years 1990 to 2199")
    yield from unknown_setting("quirk", node_at(node, "quirks"))
    yield from unknown_setting("assumption", node_at(node, "assumptions"))
    limits = node_at(node, "limits")
    for name, at in limits.keys.items() if isinstance(limits, Mapping) else ():
        if name not in LIMITS:
            yield problem(at, f"unknown limit {name!r}{suggestion(name, LIMITS)}")
    for fault in (
        *items_of(node, "faults"),
        *(node_at(step, "fault") for step in items_of(node, "steps")),
    ):
        if isinstance(fault, Mapping):
            yield from _fault(fault)


def _fault(node: Mapping) -> Iterator[Problem]:
    """What is wrong with a fault; one with a `${name}` of a kept value in it is left to the run."""
    operation = node_at(node, "match", "operation")
    spec = record(FaultSpec).read(node, [])
    if spec is INVALID or "${" in json.encode(spec).decode():
        return
    try:
        check_fault(spec)
    except ValueError as error:
        yield problem(node.at, str(error))
        return
    if wrong := unknown_operation(spec.match.operation) or never_strikes(spec.match):
        yield problem(operation.at if operation is not None else node.at, wrong)


def _terms(scenario: Scenario, node: Node) -> Iterator[Problem]:
    by_symbol = {entry.symbol: entry for entry in scenario.world.instruments}
    for item in items_of(node, "world", "instruments"):
        symbol = item.items.get("symbol") if isinstance(item, Mapping) else None
        entry = by_symbol.get(symbol.text) if isinstance(symbol, Scalar) else None
        if entry is None or not isinstance(item, Mapping):
            continue
        try:
            list_instrument(entry, scenario.clock.start)
        except ListingError as error:
            for key, message in error.faults:
                yield problem(item.items[key].at if key in item.items else item.at, message)


def _windows(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """Windows that are new and do not say what they measure, or how long they last."""
    lacking = {
        entry.name: unsaid for entry in windows_of(scenario.world) if (unsaid := incomplete(entry))
    }
    for item in items_of(node, "world", "windows"):
        name = node_at(item, "name")
        if isinstance(name, Scalar) and name.text in lacking:
            yield problem(item.at, lacking[name.text])


def _leagues(node: Node) -> Iterator[Problem]:
    """Events of a league that does not exist."""
    known: list[str] = []
    for item in items_of(node, "world", "events"):
        league = node_at(item, "league")
        if isinstance(league, Scalar):
            known = known or [row["slug"] for row in fixture("leagues.json")["leagues"]]
            if league.text not in known:
                yield problem(
                    league.at,
                    f"no league is called {league.text!r}{suggestion(league.text, known)}",
                )


def _twice(node: Node) -> Iterator[Problem]:
    """Named things that one file lists under one name twice: they merge by name, so one of them
    would be lost.
    """
    for section in ("world", "participants"):
        for name in _KEYS:
            seen: dict[str, Position] = {}
            for item in items_of(node, section, name):
                named = node_at(item, _KEYS[name])
                if not isinstance(named, Scalar):
                    continue
                if named.text in seen:
                    yield problem(
                        named.at,
                        f"{_KEYS[name]} {named.text!r} stands in `{name}` twice, first in line"
                        f" {seen[named.text].line}",
                    )
                seen.setdefault(named.text, named.at)


def _firms(node: Node) -> Iterator[Problem]:
    """Firms with a key pair that is not there, and funding sources of one firm under one id."""
    for firm in items_of(node, "world", "firms"):
        pair = node_at(firm, "key")
        if isinstance(pair, Scalar) and pair.text:
            pairs = sorted(
                file.name.removesuffix(".pub.pem")
                for file in resources.path("fixtures", "keys").glob("*.pub.pem")
            )
            if pair.text not in pairs:
                yield problem(
                    pair.at,
                    f"there is no key pair {pair.text!r}: fixtures/keys has {', '.join(pairs)}",
                )
        seen: set[str] = set()
        for source in items_of(firm, "funding_sources"):
            name = node_at(source, "id")
            if isinstance(name, Scalar):
                if name.text in seen:
                    yield problem(name.at, f"two funding sources are called {name.text!r}")
                seen.add(name.text)


__all__ = ["ScenarioError", "load_scenario", "scenario_from_source"]
