"""Reads scenarios by bundled name, path or text, merged with everything that they extend.

A scenario passes five stages. Each stage reports all its problems at once, with their positions.

  1. The text becomes a tree (`yaml_tree.py`).
  2. Parameters and loops are expanded (`expansion.py`).
  3. Files of order flow are packed into the scenario (`order_flow_files.py`).
  4. Each file of the chain of `extends` is read into Structs, and these are merged.
  5. Names and terms are checked against the world (`check_scenario.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Mapping as Values
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import replace

from sim.kernel import resources
from sim.kernel.release import RELEASE
from sim.run.loader.check_scenario import MERGE_KEYS, check_scenario
from sim.run.loader.nodes import items_of, node_at
from sim.run.loader.order_flow_files import flow_problems, with_order_flow
from sim.world.format.expansion import expanded, parameters, variants
from sim.world.format.file_access import INLINE, FileAccess
from sim.world.format.scenario import RELEASE_FORM, Scenario
from sim.world.format.struct_types import record
from sim.world.format.suggestions import nearest
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Problem,
    Scalar,
    ScenarioError,
    SequenceNode,
    SourcePosition,
    error_at,
    problem,
    read_file,
    read_text,
    tree_of,
)
from sim.world.start.world import build_world

EXTENDS_MAX = 8


def reload_scenario(source: str, params: Values[str, str]) -> Scenario:
    """Load a scenario like `load_scenario`, from the present content of the files."""
    node, access = _open(source)
    return _resolve(node, params, access)


def load_scenario(source: str, params: Values[str, str] | None = None) -> Scenario:
    """A scenario by bundled name, file path, or as YAML text.

    `params` sets its parameters; a name of a matrix has its first value unless `params` sets it.
    ScenarioError lists all problems with line and column.
    """
    if not params and "\n" not in source:
        path = FileAccess().named(source)
        if not path.suffix and not path.exists() and source in resources.bundled_scenarios():
            return _bundled(str(resources.path("scenarios", f"{source}.yaml")))
    node, access = _open(source)
    return _resolve(node, params or {}, access)


def load_single(source: str, params: Values[str, str] | None = None, how: str = "") -> Scenario:
    """Load a scenario where one run is made of it: `check_chosen`."""
    scenario = load_scenario(source, params)
    check_chosen(scenario, how or "`params` of a file that `extends` it")
    return scenario


def check_chosen(scenario: Scenario, how: str) -> None:
    """Refuse a scenario of which several combinations of its matrix are left, where only one can
    be taken. `how` says how to choose. ScenarioError lists the values.
    """
    open_names = {
        name: values
        for name, values in scenario.matrix.items()
        if name not in scenario.params and len(values) > 1
    }
    if open_names:
        values = "; ".join(f"{name}: {', '.join(texts)}" for name, texts in open_names.items())
        message = f"the matrix has several combinations ({values}): choose one with {how}"
        raise error_at(SourcePosition(scenario.name, 0, 0), message)


def load_submitted(
    content: str | dict[str, Any], folder: Path | None, params: Values[str, str] | None = None
) -> Scenario:
    """A scenario submitted over HTTP: a bundled name, YAML text, a document as JSON, or the path of
    a file below `folder`.

    No file outside the folder is read, and without a folder only bundled scenarios.
    ScenarioError as for `load_scenario`; the problems of a JSON document have a path instead of
    a line, such as `scenario.steps[2].call.plane`.
    """
    access = FileAccess(folder, confined=True)
    if isinstance(content, dict):
        node = tree_of(content, "scenario", places=True)
    elif "\n" in content:
        node = read_text(content, INLINE)
    else:
        node = read_file(access.scenario(SourcePosition("scenario", 0, 0), content))
    return _resolve(node, params or {}, access)


def scenario_files(source: str, params: Values[str, str] | None = None) -> list[Path]:
    """The files from which a scenario is read: its own, those that it extends, and
    its order flow.
    """
    node, access = _open(source)
    flow_files: dict[str, str] = {}
    chain = _filled(_chain(node, access, 0), params or {}, flow_files, access)
    return list(dict.fromkeys(map(Path, (*(each.at.file for each in chain), *flow_files.values()))))


def scenario_positions(
    source: str, params: Values[str, str] | None = None
) -> tuple[SourcePosition, list[SourcePosition]]:
    """The position of a scenario, and those of its steps."""
    node, access = _open(source)
    chain = _filled(_chain(node, access, 0), params or {}, {}, access)
    return node.at, [step.at for each in chain for step in items_of(each, "steps")]


def scenario_variants(source: str) -> list[dict[str, str]]:
    """Every combination of a scenario's matrix, as parameters for `load_scenario`."""
    return variants(_open(source)[0])


def scenario_from_source(source: bytes, positions: Collection[str] = ()) -> Scenario:
    """A scenario from its canonical JSON, as journals contain it, and the positions of its steps,
    such as "file.yaml:12", if they are known. Order flow is checked again.
    """
    scenario = _read(tree_of(json.decode(source), "journal"))
    if len(positions) == len(scenario.steps):
        scenario = _with_positions(scenario, positions)
    if scenario.participants.flows:
        problems = list(flow_problems(scenario, build_world(scenario), {}))
        if problems:
            raise ScenarioError(problems)
    return scenario


def scenario_from_document(document: dict[str, Any]) -> Scenario:
    """A scenario from its resolved form as JSON values, as `Scenario.plain` writes it."""
    return _read(tree_of(document, "document"))


def _open(source: str) -> tuple[Node, FileAccess]:
    """The tree of a scenario, and the files that it may read."""
    access = FileAccess()
    if "\n" in source:
        return read_text(source, INLINE), access
    path = access.named(source)
    if not path.suffix and not path.exists():
        names = resources.bundled_scenarios()
        if source not in names:
            near = nearest(source, names)
            hint = f"; did you mean {near!r}?" if near else "."
            bundled = f"Bundled scenarios: {', '.join(names)}"
            at = SourcePosition(source, 0, 0)
            raise error_at(
                at, f"there is no bundled scenario and no file of this name{hint} {bundled}"
            )
        path = resources.path("scenarios", f"{source}.yaml")
    return read_file(path), access


@lru_cache(maxsize=64)
def _bundled(path: str) -> Scenario:
    return _resolve(read_file(Path(path)), {}, FileAccess())


def _resolve(node: Node, params: Values[str, str], access: FileAccess) -> Scenario:
    """The scenario of a tree, merged with everything that it extends.
    ScenarioError lists problems.
    """
    _refuse_newer(node)
    try:
        return _resolved(node, params, access)
    except ScenarioError as error:
        if older := [*_about_older(node)]:
            raise ScenarioError([*error.problems, *older]) from None
        raise


def _refuse_newer(node: Node) -> None:
    """Refuse a scenario that was written for a later release. It may have keys that this release
    does not know, and each would be reported as a mistake.
    """
    release = _release(node)
    if release is not None and _number(release.text) > _number(RELEASE):
        message = (
            f"written for release {release.text} of the sandbox, and this is {RELEASE}: upgrade it"
        )
        raise error_at(release.at, message)


def _about_older(node: Node) -> Iterator[Problem]:
    """A hint for a scenario with problems that was written for an earlier release."""
    release = _release(node)
    if release is not None and _number(release.text) < _number(RELEASE):
        message = f"written for release {release.text}, and this is {RELEASE}"
        yield problem(release.at, f"{message}: the changelog says what has changed")


def _release(node: Node) -> Scalar | None:
    release = node_at(node, "release")
    if isinstance(release, Scalar) and RELEASE_FORM.fullmatch(release.text):
        return release
    return None  # reported when the scenario is read


def _number(release: str) -> tuple[int, ...]:
    numbers = tuple(map(int, release.split(".")))
    return (*numbers, 0)[:3]


def _resolved(node: Node, params: Values[str, str], access: FileAccess) -> Scenario:
    chain = _chain(node, access, 0)
    flow_files: dict[str, str] = {}
    filled = _filled(chain, params, flow_files, access)
    # Each file on its own, so that a problem has its position in the file that contains it.
    parts = [_read(each) for each in filled]
    scenario, own = parts[-1], filled[-1]
    if len(chain) > 1:
        scenario = replace(_read(reduce(_merged, filled)), extends=())
    if params:
        scenario = replace(scenario, params={**scenario.params, **params})
    check_scenario(scenario, own, flow_files)
    return scenario


def _filled(
    chain: list[Node], params: Values[str, str], flow_files: dict[str, str], access: FileAccess
) -> list[Node]:
    """The documents of a chain with parameters, loops and order flow filled in. `flow_files` gets
    the path of each file of order flow, by name of the flow.
    """
    values: dict[str, str] = {}
    for each in chain:
        values |= parameters(each)
    if unknown := [name for name in params if name not in values]:
        listed = f": it has {', '.join(values)}" if values else ": this scenario has none"
        raise error_at(chain[-1].at, f"unknown parameter {unknown[0]!r}{listed}")
    return [
        with_order_flow(expanded(each, {**values, **params}), flow_files, access) for each in chain
    ]


def _with_positions(scenario: Scenario, positions: Collection[str]) -> Scenario:
    """The scenario with the positions of its steps."""
    steps = zip(scenario.steps, positions, strict=True)
    return replace(scenario, steps=tuple(replace(step, where=where) for step, where in steps))


def _chain(node: Node, access: FileAccess, depth: int) -> list[Node]:
    """Everything that a scenario extends, in order, and the scenario itself."""
    extends = node.items.get("extends") if isinstance(node, Mapping) else None
    if extends is None:
        return [node]
    if depth >= EXTENDS_MAX:
        message = f"extends more than {EXTENDS_MAX} files deep: do they extend each other?"
        raise error_at(extends.at, message)
    chain: list[Node] = []
    for name in extends.items if isinstance(extends, SequenceNode) else [extends]:
        if not isinstance(name, Scalar):
            raise error_at(
                name.at,
                "`extends` must be the name of a bundled scenario, a file, or a list of these",
            )
        chain += _chain(read_file(access.scenario(name.at, name.text)), access, depth + 1)
    return [*chain, node]


def _merged(base: Node, changes: Node, key: str = "") -> Node:
    """The value of a key in a scenario that changes another one. Every node keeps its text and its
    position in its own file.
    """
    if isinstance(base, Mapping) and isinstance(changes, Mapping):
        items = {**base.items}
        for name, node in changes.items.items():
            items[name] = _merged(items[name], node, name) if name in items else node
        return Mapping(changes.at, items, {**base.keys, **changes.keys})
    if isinstance(base, SequenceNode) and isinstance(changes, SequenceNode):
        if key not in MERGE_KEYS:
            return SequenceNode(changes.at, [*base.items, *changes.items])
        entries = {_name_of(entry, MERGE_KEYS[key]): entry for entry in base.items}
        for entry in changes.items:
            name = _name_of(entry, MERGE_KEYS[key])
            entries[name] = _merged(entries[name], entry) if name in entries else entry
        return SequenceNode(changes.at, list(entries.values()))
    return changes


def _name_of(entry: Node, key: str) -> str:
    name = node_at(entry, key)
    return name.text if isinstance(name, Scalar) else ""


def _read(node: Node) -> Scenario:
    problems: list[Problem] = []
    scenario: Scenario = record(Scenario).read(node, problems)
    if problems:
        raise ScenarioError(sorted(problems, key=lambda each: (each.line, each.column)))
    return scenario


__all__ = ["ScenarioError", "load_scenario", "scenario_from_source"]
