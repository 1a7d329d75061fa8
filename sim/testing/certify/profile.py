"""Profiles of certification: legs to run and items to judge. They are data in `fixtures/profiles`;
this module reads them.

A *leg* is a run of the client's own tests against one scenario. An *item* is one line of the
report: a conformance rule over all legs, the tests of one leg, or the witness. A profile that is
published does not change: another item, leg or fault is another version.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal

import yaml
from msgspec import Struct, convert, field, json, structs

from sim.kernel import resources
from sim.read.conformance import Rule, rulebook
from sim.read.errors import UsageError
from sim.run.loader.load import load_scenario
from sim.world.format.scenario import Scenario

DEFAULT = "partner"


class ProfileLeg(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of the client's tests. `scenario` is added to the quickstart.

    `shows` says when the leg counts as exercised: `calls` (a client made a call), `faults` (an
    injected fault affected the client), `pair` (two faults of one operation did), `steps` (a client
    made a call after a step of the script). `rests_on` are legs in which the tests must pass before
    this leg shows anything new.
    """

    id: str
    summary: str = field(name="says")
    shows: Literal["calls", "faults", "pair", "steps"] = "calls"
    rests_on: tuple[str, ...] = ()
    scenario: dict[str, Any] = {}

    @property
    def unmet(self) -> str:
        """Return what the client's calls lacked for the leg to count as exercised."""
        entries = self.scenario.get("faults") or self.scenario.get("steps") or ()
        enough = max if self.shows == "pair" else min
        awaited: dict[str, int] = {}
        for call, number in filter(None, map(_awaited, entries)):
            awaited[call] = enough(awaited.get(call, number), number)
        *others, last = [_so_many(*entry) for entry in awaited.items()] or ["a call"]
        either = f"{', '.join(others)} or {last}" if others else last
        later = " and a call after it" if self.shows == "steps" else ""
        return f"it needs {either}{later}, which the tests did not make"

    def load(self) -> Scenario:
        """The scenario that the leg serves."""
        document = {"name": f"certify-{self.id}", "extends": "quickstart", **self.scenario}
        return load_scenario(json.encode(document).decode() + "\n")


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the report. Exactly one of `rule`, `leg` and `witness` decides it.

    For a rule, `summary`, `section` and `unmet` (why the rule never applied) come from the
    rulebook. `instead_of` names items of wider rules: an input that breaks both counts only here.
    """

    id: str
    why: str
    summary: str = field(name="says", default="")
    section: str = ""
    unmet: str = ""
    rule: str = ""
    leg: str = ""
    witness: bool = False
    instead_of: tuple[str, ...] = ()


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile. The first leg has no faults; every other one rests on it."""

    id: str
    version: int
    summary: str = field(name="says")
    minutes: float
    legs: tuple[ProfileLeg, ...]
    items: tuple[Item, ...]
    digest: str = ""

    @property
    def name(self) -> str:
        """`partner-1`."""
        return f"{self.id}-{self.version}"

    def rests_on(self, leg: str) -> tuple[str, ...]:
        """The legs in which the tests have to pass before those of this leg count."""
        first, *others = self.legs
        named = [other.rests_on for other in others if other.id == leg]
        return (first.id, *named[0]) if named else ()


def _awaited(entry: dict[str, Any]) -> tuple[str, int] | None:
    """Return the operation or call that a scenario's entry waits for, and its number;
    None for nothing.
    """
    match = entry.get("match") or entry.get("when", {}).get("call")
    if match is None:
        return None
    plane = match.get("plane")
    of_plane = "frame of a stream" if plane == "stream" else f"call of {plane}"
    return match.get("operation") or of_plane, match.get("nth", 1)


def _so_many(awaited: str, number: int) -> str:
    """Return a phrase for a number of awaited calls, up to three."""
    noun, of, rest = awaited.partition(" of ")
    if not of:
        return awaited + ("", " twice", " three times")[number - 1]
    return f"{('a', 'two', 'three')[number - 1]} {noun}{'s' * (number > 1)}{of}{rest}"


def profiles() -> dict[str, bytes]:
    """The text of every profile, by name."""
    folder = resources.folder("fixtures") / "profiles"
    return {file.stem: file.read_bytes() for file in sorted(folder.glob("*.yaml"))}


def load_profile(name: str = DEFAULT) -> Profile:
    """Return a profile by name, `partner` or `partner-1`. UsageError if there is none."""
    available = profiles()
    if name not in available:
        versions = [version for version in available if version.rpartition("-")[0] == name]
        if not versions:
            raise UsageError(f"there is no profile {name!r}; known: {', '.join(available)}")
        name = max(versions, key=lambda version: int(version.rpartition("-")[2]))
    return read_profile(available[name])


def read_profile(text: bytes) -> Profile:
    """A profile from its text."""
    # Ten times as fast as the Python loader
    document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    document["digest"] = sha256(text).hexdigest()
    profile = convert(document, Profile)
    book = rulebook()
    items = tuple(_with_rule(item, book) if item.rule else item for item in profile.items)
    return convert({**document, "items": items}, Profile)


def _with_rule(item: Item, book: dict[str, Rule]) -> Item:
    rule = book[item.rule]
    section = f"§{rule.section}"
    return structs.replace(item, summary=rule.requirement, section=section, unmet=rule.unmet)
