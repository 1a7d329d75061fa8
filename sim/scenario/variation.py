"""Changes of a scenario for one run: a value of an assumption, odds of a quirk, a preset, a fault.

Searches (`sim sweep`, `sim explore`) consist of such changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct, json
from msgspec.structs import replace

from sim.core.catalogue import assumptions, quirks
from sim.core.service.fault_spec import fault_from
from sim.core.service.presets import PRESETS

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario

KINDS = ("assumptions", "quirks", "presets")


class Change(Struct, frozen=True):
    """One thing a run does differently. `kind` is one of KINDS, or "faults"; a preset has no value,
    the value of a fault is its document as JSON.
    """

    kind: str
    name: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value and self.kind != "faults" else self.name


def alternatives(kind: str, scenario: Scenario, only: str = "*") -> Iterator[Change]:
    """Every change of a kind that makes a difference, for names that match `only`."""
    if kind == "presets":
        yield from (
            Change(kind, name)
            for name in PRESETS
            if name != scenario.preset and fnmatchcase(name, only)
        )
    elif kind == "quirks":
        for quirk in quirks.catalogue().values():
            now = scenario.quirks.get(quirk.name, str(quirk.default))
            yield from (
                Change(kind, quirk.name, odds)
                for odds in ("always", "never")
                if odds != now and fnmatchcase(quirk.name, only)
            )
    else:
        for found in assumptions.catalogue().values():
            now = scenario.assumptions.get(found.name, _text(found.show(found.default)))
            values = dict.fromkeys((*found.alternatives(), _text(found.show(found.default))))
            yield from (
                Change(kind, found.name, value)
                for value in values
                if value != now and fnmatchcase(found.name, only)
            )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_changes(scenario: Scenario, changes: Sequence[Change]) -> Scenario:
    """A scenario with changes, in order."""
    for change in changes:
        if change.kind == "presets":
            scenario = replace(scenario, preset=change.name)
        elif change.kind == "faults":
            scenario = replace(
                scenario, faults=(*scenario.faults, fault_from(json.decode(change.value)))
            )
        elif change.kind == "quirks":
            scenario = replace(scenario, quirks={**scenario.quirks, change.name: change.value})
        else:
            scenario = replace(
                scenario, assumptions={**scenario.assumptions, change.name: change.value}
            )
    return scenario


def label(changes: Sequence[Change]) -> str:
    """Changes in words, such as `engine.latency=6s hostile`."""
    return " ".join(map(str, changes))
