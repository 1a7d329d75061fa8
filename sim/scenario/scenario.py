"""The scenario format. Every key of a file is a field of a Struct: here, in `world_entries.py`, in
`participant_entries.py` and in `steps.py`.

The Structs hold typed values; prices and sizes stay decimal text, because their scale is the
instrument's. A field of None was not written.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from sim.core.catalogue.bounds import GAMES, SEED
from sim.core.identity.firms import SANDBOX
from sim.core.service.rate_limits import parse_limit
from sim.kernel.instants import Instant, parse_instant
from sim.scenario.fees_entries import FeesSection
from sim.scenario.participant_entries import ParticipantsSection
from sim.scenario.party_entries import ENVIRONMENT, AccountEntry, ApiKeyEntry, FirmEntry
from sim.scenario.receiver_entries import ReceiverEntry
from sim.scenario.recurring_entries import WindowsEntry
from sim.scenario.scalar_types import BOOLEAN, CHANCE, INSTANT, NAME, STRING, bounded_count, form
from sim.scenario.steps import PRESET, READING, FaultEntry, Step
from sim.scenario.struct_types import ListOf, MappingOf, OneOrMore, record
from sim.scenario.value_types import Choice, Text
from sim.scenario.world_entries import (
    AssetEntry,
    BookEntry,
    EventEntry,
    IncentiveEntry,
    InstrumentEntry,
    MaintenanceEntry,
    OrderEntry,
)

DEFAULT_START: Instant = parse_instant("2026-09-08T14:00:00-04:00")  # the bundled quickstart's
DEFAULT_SEED = 7

RELEASE_FORM = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", re.ASCII)
_MODE = re.compile(r"manual|autojump|fast|paced(:[0-9]+(\.[0-9]+)?)?", re.ASCII)


def _limit(text: str) -> str:
    parse_limit(text)
    return text


_MODES = ("manual", "autojump", "fast", "paced", "paced:60")
MODE = form("a clock mode", _MODE, "write manual, autojump, fast, paced or paced:60", *_MODES)
RELEASE_NAME = form("a release", RELEASE_FORM, "write a release such as 0.1.0", "0.1.0")
LIMIT = Text(
    "a rate limit",
    _limit,
    schema={
        "type": "string",
        "pattern": r"^(off|[0-9]+/[0-9]*(ms|s|m|h))$",
        "examples": ["20/s", "12/m", "off"],
    },
)
SEED_NUMBER = bounded_count("a seed", SEED)
GAME_COUNT = bounded_count("a number of games", GAMES)
SETTING = Text("a value", schema={"type": ["string", "boolean", "integer"]})


class Clock(Struct, frozen=True, kw_only=True):
    """Where virtual time begins and what moves it."""

    start: Annotated[Instant, INSTANT, "virtual instant at which the scenario begins"] = (
        DEFAULT_START
    )
    mode: Annotated[
        str | None,
        MODE,
        "manual: moves by command; autojump: jumps while a reply is held; fast: jumps while"
        " anything is due; paced:N virtual seconds per second; `sim serve` paces a scenario"
        " without a mode",
    ] = None


class WorldSection(Struct, frozen=True, kw_only=True):
    """What exists when the scenario begins: the default world, with these additions and changes."""

    base: Annotated[
        str,
        Choice(("default", "empty")),
        "empty: only the scripted participants and what is listed here",
    ] = "default"
    games: Annotated[
        int,
        GAME_COUNT,
        "number of generated games besides the hand-picked ones of the default world; they are"
        " created lazily, and 2410 make the world as large as the real one",
    ] = 240
    standing_orders: Annotated[bool, BOOLEAN, "false: the default world's books begin empty"] = True
    instruments: Annotated[tuple[InstrumentEntry, ...], "by symbol"] = ()
    firms: Annotated[tuple[FirmEntry, ...], "by name"] = ()
    accounts: Annotated[tuple[AccountEntry, ...], "by name"] = ()
    api_keys: Annotated[tuple[ApiKeyEntry, ...], "by key_id"] = ()
    receivers: Annotated[tuple[ReceiverEntry, ...], "scripted receivers of webhooks, by name"] = ()
    assets: Annotated[tuple[AssetEntry, ...], "by id"] = ()
    automated_windows: Annotated[
        bool,
        BOOLEAN,
        "false: the default world has no recurring crypto markets; those in `windows` stay",
    ] = True
    windows: Annotated[tuple[WindowsEntry, ...], "recurring markets, by name"] = ()
    events: Annotated[tuple[EventEntry, ...], "by slug"] = ()
    incentives: Annotated[tuple[IncentiveEntry, ...], "by symbol"] = ()
    books: Annotated[tuple[BookEntry, ...], "standing orders, by symbol"] = ()
    orders: Annotated[
        tuple[OrderEntry, ...], "orders that are placed before anything else happens"
    ] = ()


class Scenario(Struct, frozen=True, kw_only=True):
    """A whole scenario, with what it extends already in it."""

    name: Annotated[str, NAME, "name in reports"]
    description: Annotated[str, "what it demonstrates"] = ""
    release: Annotated[
        str, RELEASE_NAME, "release of the sandbox that this was written for, such as 0.1.0"
    ] = ""
    seed: Annotated[int, SEED_NUMBER, "seed of all randomness"] = DEFAULT_SEED
    extends: Annotated[
        tuple[str, ...],
        OneOrMore(STRING),
        "bundled scenarios or files beside this one; each is merged over the ones before",
    ] = ()
    params: Annotated[
        dict[str, str], "values for ${name}; `sim run --param name=value` overrides them"
    ] = {}
    matrix: Annotated[
        dict[str, tuple[str, ...]],
        MappingOf(ListOf(STRING), as_written=True),
        "values by name; `sim run` runs every combination",
    ] = {}
    clock: Annotated[Clock, "virtual time"] = Clock()
    world: Annotated[WorldSection, "what exists at the start"] = WorldSection()
    participants: Annotated[
        ParticipantsSection, "scripted participants: market makers, takers, noise, order flow"
    ] = ParticipantsSection()
    environment: Annotated[
        str, ENVIRONMENT, "which environment this is; each has its own credentials"
    ] = SANDBOX
    preset: Annotated[
        str, PRESET, "a preset of all quirks and faults; `quirks` and `faults` are applied over it"
    ] = ""
    reading: Annotated[
        str,
        READING,
        "observed: what recordings of the service show holds, also against the specification;"
        " `assumptions` and `quirks` are applied over it",
    ] = "documented"
    quirks: Annotated[
        dict[str, Annotated[str, CHANCE]], "odds by quirk: always, never or a fraction"
    ] = {}
    assumptions: Annotated[dict[str, Annotated[str, SETTING]], "value by assumption"] = {}
    faults: Annotated[tuple[FaultEntry, ...], "faults in force from the start"] = ()
    maintenance: Annotated[
        tuple[MaintenanceEntry, ...], "one-off windows besides the weekly one"
    ] = ()
    limits: Annotated[dict[str, Annotated[str, LIMIT]], "rate limits by name"] = {}
    fees: Annotated[FeesSection, "fees that differ from the published schedule"] = FeesSection()
    steps: Annotated[tuple[Step, ...], "what happens, in order"] = ()

    def plain(self) -> dict[str, Any]:
        """The resolved scenario in its own format, as JSON values, without defaults and without
        private keys.
        """
        written: dict[str, Any] = record(Scenario).write(self)
        for key in written.get("world", {}).get("api_keys", ()):
            key.pop("secret_key", None)
        return written

    def source(self) -> str:
        """`plain` as canonical JSON, which is itself a scenario file: the journal's header.

        Every digest follows from it, so keys that were renamed keep their former names here.
        """
        plain = self.plain()
        for step in plain.get("steps", ()):
            if "disconnect" in step:
                step["hang_up"] = step.pop("disconnect")
            if "script" in step.get("fund", ()):
                step["fund"]["course"] = step["fund"].pop("script")
        return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the source, in hex. A file of order flow counts by its own SHA-256, so that
        it does not matter how it is packed.
        """
        section = self.participants
        flows = tuple(replace(flow, content=()) for flow in section.flows)
        bare = replace(self, participants=replace(section, flows=flows))
        return hashlib.sha256(bare.source().encode()).hexdigest()
