"""Axes of evidence: what is known of an operation, each kind of knowledge by itself.

That a call was driven, that an answer was published, that a *refusal* was published, that a
relation was checked: these are different things, and are never added up. For each axis an
operation has its sources; beside them stands whether the sandbox agrees, which `material.py`
measures in both readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from sim.contract.contract import Operation, load_contract
from sim.core.catalogue.observations import OBSERVED, READINGS, catalogue
from sim.core.catalogue.observations.observation import DOCS, DOUBLE, LIVE, SDK, Observation
from sim.evidence.material import AXES, Item, measured, published
from sim.evidence.validation.error_forms import refusal_kinds
from sim.read.relations import RELATIONS

AGREES = ("answer", "refusal", "relation")
OUTSIDE = ("answer", "refusal", "stream", "lifecycle", "relation", "timing")
_KINDS = {LIVE: "live", DOCS: "docs", SDK: "sdk", DOUBLE: "test"}
_STREAMS = ("web_socket", "stream")
Source = dict[str, str]
Axis = dict[str, Any]


def axes_of(
    operation: Operation, tests: Mapping[str, Iterable[str]], recorded: Iterable[Source] = ()
) -> dict[str, Axis | None]:
    """Return the sources of each axis of an operation; None where there are none.

    `tests` are by statement or observation; `recorded` are one's own recordings that show it.
    """
    sources: dict[str, list[Source]] = {axis: [] for axis in AXES}
    for name in operation.statements:
        sources["stated"].append(_source("docs", name))
        sources["driven"] += (_source("test", test) for test in tests.get(name, ()))
    sources["driven"] += (_source("test", item) for item in _driven(operation.name))
    for observation in _observations(operation.name):
        for axis in observation.axes:
            axis = "stream" if axis == "answer" and operation.content in _STREAMS else axis
            sources[axis] += _of_observation(observation)
    for name, shapes in published().items():
        forms = [form for form in shapes.forms if form.operation == operation.name]
        for axis in ("answer", "refusal"):
            if any((form.status >= 400) is (axis == "refusal") for form in forms):
                kind, file = shapes.evidence, f"fixtures/observed/{name}.json"
                sources[axis].append(_source(kind, file, shapes.at[:10]))
    for source in recorded:
        sources["answer"].append(source)
    return {
        axis: {"n": len(rows), "sources": rows} if rows else None for axis, rows in sources.items()
    }


def agreement(operation: str) -> dict[str, dict[str, Any]]:
    """Return how many published items the sandbox shows as published, by reading and axis."""
    return {reading: _agreement(operation, reading) for reading in READINGS}


def _agreement(operation: str, reading: str) -> dict[str, Any]:
    items = [item for item in measured(reading) if item.operation == operation]
    return {axis: _counted(item for item in items if item.axis == axis) for axis in AGREES}


def _counted(items: Iterable[Item]) -> dict[str, int] | None:
    rows = list(items)
    return {"agree": sum(item.agrees for item in rows), "of": len(rows)} if rows else None


def totals(axes: Iterable[Mapping[str, Axis | None]]) -> dict[str, Any]:
    """Return counts for each axis by itself: operations with evidence, items, and agreement."""
    rows = list(axes)
    return {
        axis: {
            "operations": sum(1 for row in rows if row[axis]),
            "n": sum(entry["n"] for row in rows if (entry := row[axis])),
            "agrees": {
                reading: _counted(item for item in measured(reading) if item.axis == axis)
                for reading in READINGS
            },
        }
        for axis in AXES
    }


def refusals() -> dict[str, list[str]]:
    """Return each kind of refusal that the sandbox gives, `status code`, with those who saw it."""
    seen: dict[str, list[str]] = {kind: [] for kind in refusal_kinds()}
    for name, shapes in published().items():
        for form in shapes.forms:
            for kind, sources in seen.items():
                status, _, code = kind.partition(" ")
                if str(form.status) == status and str(form.code or code) == code:
                    sources.append(f"{name}: {form.plane} {form.ask}")
    return {kind: seen[kind] for kind in sorted(seen)}


def summary(axes: Mapping[str, Mapping[str, Axis | None]]) -> dict[str, list[str]]:
    """Return what is proven, not proven and unknown: operations with their axes.

    An axis is proven if answers of the real service show it and the sandbox agrees with all of them
    in the reading `observed`; other evidence is not proof. Without any it is unknown.
    """
    wrong = {(item.operation, item.axis) for item in measured(OBSERVED) if not item.agrees}
    lists: dict[str, list[str]] = {"proven": [], "not proven": [], "unknown": []}
    for name, row in axes.items():
        by_kind: dict[str, list[str]] = {"proven": [], "not proven": []}
        for axis in OUTSIDE:
            if entry := row[axis]:
                live = any(source["kind"] == "live" for source in entry["sources"])
                proven = live and (name, axis) not in wrong
                by_kind["proven" if proven else "not proven"].append(axis)
        for kind, found_axes in by_kind.items():
            if found_axes:
                lists[kind].append(f"{name}: {', '.join(found_axes)}")
        if not any(by_kind.values()):
            lists["unknown"].append(name)
    return lists


def _source(kind: str, name: str, date: str = "") -> Source:
    return {"kind": kind, "name": name, "date": date}


def _of_observation(observation: Observation) -> Iterator[Source]:
    for kind in observation.evidence:
        yield _source(_KINDS[kind], observation.name, observation.date)


@cache
def _observations(operation: str) -> tuple[Observation, ...]:
    rows = tuple(row for row in catalogue().values() if operation in row.operations)
    names = {row.source for row in RELATIONS.values() if operation in row.operations}
    related = (row for row in catalogue().values() if row.name in names and row not in rows)
    return (*rows, *(row.about("relation") for row in related))


@cache
def _driven(operation: str) -> tuple[str, ...]:
    items = (item for item in measured(OBSERVED) if item.operation == operation)
    return tuple(item.name for item in items if item.axis == "driven" and item.agrees)


def all_axes(tests: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Axis | None]]:
    """Return the axes of every operation, without one's own recordings."""
    return {row.name: axes_of(row, tests) for row in load_contract().operations}
