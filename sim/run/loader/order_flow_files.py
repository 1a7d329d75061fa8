"""Reads the files of order flow that a scenario names, packs them into the scenario, and checks
them against its world.

From then on the scenario contains the content, so a journal can be replayed without the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sim.world.format import yaml_tree
from sim.world.format.file_access import FileAccess
from sim.world.format.order_flow import FlowError, Reader, is_intact, pack_file, packed_of
from sim.world.format.participant_entries import PARTS
from sim.world.format.yaml_tree import Node, Problem, Scalar, ScenarioError, SequenceNode, error_at

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario
    from sim.world.start.world import World


def with_order_flow(node: Node, paths: dict[str, str], access: FileAccess) -> Node:
    """The document with the content of every file of order flow.

    `paths` gets the path of each file, by name of the flow.
    """
    if not isinstance(node, yaml_tree.Mapping):
        return node
    section = node.items.get("participants")
    flows = section.items.get("flows") if isinstance(section, yaml_tree.Mapping) else None
    if not isinstance(section, yaml_tree.Mapping) or not isinstance(flows, SequenceNode):
        return node
    read = SequenceNode(flows.at, [_with_content(item, paths, access) for item in flows.items])
    within = yaml_tree.Mapping(section.at, {**section.items, "flows": read}, section.keys)
    return yaml_tree.Mapping(node.at, {**node.items, "participants": within}, node.keys)


def _with_content(item: Node, paths: dict[str, str], access: FileAccess) -> Node:
    if not isinstance(item, yaml_tree.Mapping) or "content" in item.items:
        return item
    named = item.items.get("file")
    if not isinstance(named, Scalar):
        return item  # the problem is reported when the entry is read
    path = access.resolve_relative(named.at, named.text)
    try:
        packed = pack_file(path)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise error_at(named.at, message) from None
    except FlowError as error:
        raise ScenarioError([Problem(str(path), error.line, error.column, str(error))]) from None
    pinned = item.items.get("sha256")
    if isinstance(pinned, Scalar) and pinned.text != packed.sha256:
        message = f"{path} has changed: its SHA-256 is {packed.sha256}"
        raise error_at(pinned.at, message)
    name = item.items.get("name")
    if isinstance(name, Scalar):
        paths[name.text] = str(path)
    added = {"sha256": packed.sha256, "content": PARTS.write(packed.parts)}
    scalars = {key: Scalar(named.at, text, plain=False) for key, text in added.items()}
    positions = dict.fromkeys(added, named.at)
    return yaml_tree.Mapping(item.at, item.items | scalars, item.keys | positions)


def flow_problems(scenario: Scenario, world: World, paths: Mapping[str, str]) -> Iterator[Problem]:
    """Problems of the rows of every flow, up to a limit for each file."""
    scales = {terms.symbol: (terms.price_scale, terms.qty_scale) for terms in world.instruments}
    for entry in scenario.participants.flows:
        file, packed = paths.get(entry.name, entry.file), packed_of(entry)
        if not is_intact(packed):
            yield Problem(file, 1, 1, "the content does not match its SHA-256")
            continue
        try:
            reader = Reader(packed, scenario.clock.start, entry.as_)
            for error in reader.check(scales, lambda name: world.parties.user(name) is not None):
                yield Problem(file, error.line, error.column, str(error))
        except FlowError as error:
            yield Problem(file, error.line, error.column, str(error))
