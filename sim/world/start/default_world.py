"""The default world of `fixtures/world` at a starting instant.

It is built once for each starting instant and then shared, because instruments, teams and texts
never change. A scenario that begins in another week has the same games and markets, moved by
whole weeks, so there is always something to trade. The dates in slugs, symbols, titles and series
move with them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import json, structs

from sim.core.model.instrument import Instrument
from sim.kernel import resources
from sim.kernel.instants import DAY, Instant
from sim.world.format.party_entries import AccountEntry, ApiKeyEntry, FirmEntry
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.format.struct_types import record
from sim.world.format.world_entries import AssetEntry, BookEntry
from sim.world.format.yaml_tree import tree_of
from sim.world.reference.dated_names import WRITTEN_FOR
from sim.world.reference.games import mid_of
from sim.world.reference.generated_games import GeneratedGames
from sim.world.reference.incentive_programs import programs
from sim.world.reference.leagues import fixture
from sim.world.reference.recurring_markets import RecurringEvents
from sim.world.reference.reference import Reference
from sim.world.reference.slate import add_future, add_game, add_topic

DEFAULT_START: Instant = WRITTEN_FOR
_WEEK = 7 * DAY


class DefaultWorld:
    """Reference data, instruments, standing orders, recurring markets, assets and programs of
    the default world.
    """

    def __init__(self, now: Instant) -> None:
        rows = fixture("slate.json")
        distance = now - DEFAULT_START
        whole_weeks = abs(distance) // _WEEK * _WEEK
        self.shift = shift = whole_weeks if distance >= 0 else -whole_weeks
        self.reference = Reference(shift=shift)
        self.books: list[BookEntry] = []
        instruments: list[Instrument] = []
        for kind, add in (("games", add_game), ("futures", add_future), ("topics", add_topic)):
            for row in rows[kind]:
                listed = add(row, self.reference, now, shift)
                instruments += listed
                if row.get("quoted"):
                    self.books += map(_book, listed[:3])
        self.reference.begin()
        self.recurring = RecurringEvents(default_windows(), self.reference)
        self.instruments = tuple(instruments)
        self.assets = [
            structs.replace(
                asset,
                since=asset.since + min(0, shift),
                price_at=None if asset.price_at is None else asset.price_at + shift,
            )
            for asset in _read(AssetEntry, rows["assets"])
        ]
        self.periods, self.rewards = programs(self.instruments, self.reference, now)


@lru_cache(maxsize=8)
def default_world(now: Instant) -> DefaultWorld:
    """Return the default world at a starting instant."""
    return DefaultWorld(now)


@lru_cache(maxsize=8)
def generated_games(games: int, now: Instant) -> GeneratedGames:
    """Return this number of generated games in addition to the default world's own."""
    default = default_world(now)
    taken = default.reference.event_by_slug
    return GeneratedGames(default.reference, games, now, default.shift, taken)


@lru_cache(maxsize=1)
def default_parties() -> tuple[list[FirmEntry], list[AccountEntry], list[ApiKeyEntry]]:
    """Return the firms, accounts and retail keys of the default world."""
    rows = fixture("parties.json")
    keys = json.decode(resources.path("fixtures", "keys/retail.json").read_bytes())
    return (
        _read(FirmEntry, rows["firms"]),
        _read(AccountEntry, rows["accounts"]),
        _read(ApiKeyEntry, keys),
    )


@lru_cache(maxsize=1)
def default_windows() -> list[WindowsEntry]:
    """Return the recurring markets of the default world."""
    return _read(WindowsEntry, fixture("slate.json")["windows"])


def _read(kind: Any, rows: list[dict[str, Any]]) -> list[Any]:
    """Read fixture rows as entries; ValueError for an invalid row."""
    problems: list[Any] = []
    entries = [record(kind).read(tree_of(row, "fixtures"), problems) for row in rows]
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    return entries


def _book(terms: Instrument) -> BookEntry:
    sizes = ("100", "250", "500", "1000")
    return BookEntry(symbol=terms.symbol, mid=mid_of(terms.symbol), spread="0.02", sizes=sizes)
