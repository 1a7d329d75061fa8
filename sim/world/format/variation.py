"""Changes of a scenario for one run: the value of an assumption, the odds of a quirk, a preset, a
reading, a fault. Searches such as `sim sweep` and `sim explore` apply them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, json
from msgspec.structs import replace

from sim.core.catalogue import assumptions, observations, quirks
from sim.core.service.fault_spec import fault_from
from sim.core.service.presets import PRESETS

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario

KINDS = ("assumptions", "quirks", "presets", "readings")


class SettingChange(Struct, frozen=True):
    """One change. `kind` is one of KINDS, or "faults". A preset and a reading have no value; the
    value of a fault is its JSON document.
    """

    kind: str
    name: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value and self.kind != "faults" else self.name


def alternatives(kind: str, scenario: Scenario, only: str = "*") -> Iterator[SettingChange]:
    """Every change of a kind that makes a difference, for names that match `only`."""
    if kind == "readings":
        names = (name for name in observations.READINGS if fnmatchcase(name, only))
        yield from (SettingChange(kind, name) for name in names if name != scenario.reading)
        return
    if kind == "presets":
        names = (name for name in PRESETS if fnmatchcase(name, only))
        yield from (SettingChange(kind, name) for name in names if name != scenario.preset)
        return
    for name, now, values in _odds(scenario) if kind == "quirks" else _settings(scenario):
        if fnmatchcase(name, only):
            yield from (SettingChange(kind, name, value) for value in values if value != now)


_Alternatives: TypeAlias = Iterator[tuple[str, str, Iterable[str]]]  # name, present value, values


def _odds(scenario: Scenario) -> _Alternatives:
    read = observations.settings(scenario.reading)
    for quirk in quirks.catalogue().values():
        now = scenario.quirks.get(quirk.name, read.get(quirk.name, str(quirk.default)))
        yield quirk.name, now, ("always", "never")


def _settings(scenario: Scenario) -> _Alternatives:
    read = observations.settings(scenario.reading)
    for assumption in assumptions.catalogue().values():
        default = _text(assumption.show(assumption.default))
        now = scenario.assumptions.get(assumption.name, read.get(assumption.name, default))
        yield assumption.name, now, dict.fromkeys((*assumption.alternatives(), default))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_choices(scenario: Scenario, preset: str = "", reading: str = "") -> Scenario:
    """The scenario with another preset and another reading, if they are not empty."""
    if preset:
        scenario = replace(scenario, preset=preset)
    return replace(scenario, reading=reading) if reading else scenario


def with_changes(scenario: Scenario, changes: Sequence[SettingChange]) -> Scenario:
    """The scenario with changes, applied in order."""
    for change in changes:
        if change.kind == "presets":
            scenario = replace(scenario, preset=change.name)
        elif change.kind == "readings":
            scenario = replace(scenario, reading=change.name)
        elif change.kind == "faults":
            fault = fault_from(json.decode(change.value))
            scenario = replace(scenario, faults=(*scenario.faults, fault))
        elif change.kind == "quirks":
            scenario = replace(scenario, quirks={**scenario.quirks, change.name: change.value})
        else:
            values = {**scenario.assumptions, change.name: change.value}
            scenario = replace(scenario, assumptions=values)
    return scenario


def label(changes: Sequence[SettingChange]) -> str:
    """Text for a list of changes, such as `engine.latency=6s hostile`."""
    return " ".join(map(str, changes))
