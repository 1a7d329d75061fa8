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
from sim.world.format.fees_entries import FeesSection
from sim.world.format.participant_entries import ParticipantsSection
from sim.world.format.party_entries import (
    ENVIRONMENT,
    AccountEntry,
    ApiKeyEntry,
    FirmEntry,
    ReceiverEntry,
)
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.format.scalar_types import CHANCE, INSTANT, NAME, STRING, bounded_count, form
from sim.world.format.steps import PRESET, READING, FaultEntry, Step
from sim.world.format.struct_types import ListOf, MappingOf, OneOrMore, record
from sim.world.format.value_types import Choice, Text
from sim.world.format.world_entries import (
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


class ClockEntry(Struct, frozen=True, kw_only=True):
    """Where virtual time begins and what moves it."""

    start: Annotated[Instant, INSTANT] = DEFAULT_START
    """virtual time at which the scenario begins"""
    mode: Annotated[str | None, MODE] = None
    """manual: the clock moves only by command; autojump: it jumps to the next due instant while a
    client waits for an answer; fast: it jumps from one due instant to the next; paced:N: N virtual
    seconds pass in a real second. Without a mode `sim serve` uses paced"""


class WorldSection(Struct, frozen=True, kw_only=True):
    """What exists when the scenario begins: the default world with these additions and changes.
    An entry whose name exists in the default world changes the keys that it gives; any other
    entry is added.
    """

    base: Annotated[str, Choice(("default", "empty"))] = "default"
    """default: begin with the default world; empty: begin with the scripted participants only"""
    games: Annotated[int, GAME_COUNT] = 240
    """number of generated games, in addition to the fixed ones of the default world. They are
    created on first access; 2410 make the world as large as the real one"""
    standing_orders: bool = True
    """false: the order books of the default world begin empty"""
    instruments: tuple[InstrumentEntry, ...] = ()
    """instruments, identified by symbol"""
    firms: tuple[FirmEntry, ...] = ()
    """partner firms, identified by name"""
    accounts: tuple[AccountEntry, ...] = ()
    """accounts, identified by name"""
    api_keys: tuple[ApiKeyEntry, ...] = ()
    """retail API keys, identified by key_id"""
    receivers: tuple[ReceiverEntry, ...] = ()
    """scripted receivers of webhooks, identified by name"""
    assets: tuple[AssetEntry, ...] = ()
    """priced assets, identified by id"""
    automated_windows: bool = True
    """false: the default world has no recurring crypto markets; those in `windows` remain"""
    windows: tuple[WindowsEntry, ...] = ()
    """recurring markets, identified by name"""
    events: tuple[EventEntry, ...] = ()
    """events of the gateway, identified by slug"""
    incentives: tuple[IncentiveEntry, ...] = ()
    """incentive programs, one per symbol"""
    books: tuple[BookEntry, ...] = ()
    """resting orders on both sides, one entry a symbol"""
    orders: tuple[OrderEntry, ...] = ()
    """orders placed at the start, before any step or client call"""


class Scenario(Struct, frozen=True, kw_only=True):
    """A scenario, merged with the scenarios that it extends."""

    name: Annotated[str, NAME]
    """name in reports"""
    description: str = ""
    """what the scenario demonstrates"""
    release: Annotated[str, RELEASE_NAME] = ""
    """release of the sandbox that the scenario was written for; an older sandbox refuses it"""
    seed: Annotated[int, SEED_NUMBER] = DEFAULT_SEED
    """seed of all random draws"""
    extends: Annotated[tuple[str, ...], OneOrMore(STRING)] = ()
    """names of bundled scenarios, or files beside this one, to start from. They are merged in
    order, and this file over them"""
    params: dict[str, str] = {}
    """values for ${name}; `sim run --param name=value` overrides them"""
    matrix: Annotated[dict[str, tuple[str, ...]], MappingOf(ListOf(STRING), as_written=True)] = {}
    """several values for ${name}; `sim run` runs every combination"""
    clock: ClockEntry = ClockEntry()
    """start and mode of virtual time"""
    world: WorldSection = WorldSection()
    """what exists at the start"""
    participants: ParticipantsSection = ParticipantsSection()
    """simulated traders: market makers, takers, noise traders and recorded order flow"""
    environment: Annotated[str, ENVIRONMENT] = SANDBOX
    """environment of the service that the exchange stands for; each has its own credentials"""
    preset: Annotated[str, PRESET] = ""
    """a preset of quirks and faults; `quirks` and `faults` apply on top of it"""
    reading: Annotated[str, READING] = "documented"
    """documented: behave as the specification says; observed: where recordings of the
    service contradict the specification, behave as they show. `assumptions` and `quirks`
    apply on top of it"""
    quirks: dict[str, Annotated[str, CHANCE]] = {}
    """odds of each quirk: always, never or a fraction"""
    assumptions: dict[str, Annotated[str, SETTING]] = {}
    """value of each assumption"""
    faults: tuple[FaultEntry, ...] = ()
    """faults in force from the start"""
    maintenance: tuple[MaintenanceEntry, ...] = ()
    """one-off maintenance windows in addition to the weekly one"""
    limits: dict[str, Annotated[str, LIMIT]] = {}
    """rate limits by name, such as 20/s, or off"""
    fees: FeesSection = FeesSection()
    """fees that differ from the published schedule"""
    steps: tuple[Step, ...] = ()
    """the steps of the scenario, in order"""

    def plain(self) -> dict[str, Any]:
        """The resolved scenario as JSON values in the format of scenario files, without keys that
        have their default value and without secret keys.
        """
        written: dict[str, Any] = record(Scenario).write(self)
        for key in written.get("world", {}).get("api_keys", ()):
            key.pop("secret_key", None)
        return written

    def source(self) -> str:
        """`plain` as canonical JSON, which is a valid scenario file. It is the header
        of a journal.
        """
        return json.dumps(self.plain(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the source, in hex. A file of order flow contributes its own SHA-256, so that
        its compression has no influence.
        """
        section = self.participants
        flows = tuple(replace(flow, content=()) for flow in section.flows)
        bare = replace(self, participants=replace(section, flows=flows))
        return hashlib.sha256(bare.source().encode()).hexdigest()
