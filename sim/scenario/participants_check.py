"""What is wrong with a scenario's participants that their form alone does not show, at the positions of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sim.core.quantities import scaled
from sim.kernel.instants import Instant
from sim.scenario.document import Mapping, Node, Problem, Sequence, problem
from sim.scenario.fair_prices import HIGHEST_VOLATILITY, UNIT, path_of
from sim.scenario.participants import matching
from sim.scenario.participants_format import FairEntry, NoiseEntry, ParticipantsSection, TakerEntry, Trader
from sim.scenario.shapes import suggestion

if TYPE_CHECKING:
    from sim.scenario.model import Scenario
    from sim.scenario.world import World

T = TypeVar("T")
SEATS_MAX = 10_000


def participant_problems(scenario: Scenario, node: Node, world: World) -> Iterator[Problem]:
    """Problems of the `participants` that this file itself states."""
    section = scenario.participants
    stated = node.items.get("participants") if isinstance(node, Mapping) else None
    if not isinstance(stated, Mapping):
        return
    symbols = [terms.symbol for terms in world.instruments]
    for entry, at in _stated(section.fair_prices, stated, "fair_prices", "symbol"):
        yield from _of_fair_price(entry, at, symbols, scenario.clock.start)
    kinds: tuple[tuple[str, Iterable[Trader]], ...] = (("makers", section.makers), ("takers", section.takers), ("noise", section.noise))
    for kind, entries in kinds:
        for trader, at in _stated(entries, stated, kind, "name"):
            yield from _of_trader(trader, at, section, symbols, world)
    seats = sum(len(list(matching(symbols, trader.symbols))) for trader in section.traders)
    if seats > SEATS_MAX:
        yield problem(stated.at, f"participants on {seats} instruments in all, more than {SEATS_MAX}")


def _stated(entries: Iterable[T], section: Mapping, kind: str, key: str) -> Iterator[tuple[T, Mapping]]:
    """Entries with the places that state them."""
    named = {getattr(entry, key): entry for entry in entries}
    found = section.items.get(kind)
    for item in found.items if isinstance(found, Sequence) else ():
        if isinstance(item, Mapping):
            name = item.items.get(key)
            entry = named.get(getattr(name, "text", ""))
            if entry is not None:
                yield entry, item


def _of_trader(entry: Trader, at: Mapping, section: ParticipantsSection, symbols: list[str], world: World) -> Iterator[Problem]:
    if sum(1 for other in section.traders if other.name == entry.name) > 1:
        yield problem(at.items["name"].at, f"two participants are called {entry.name!r}")
    for pattern in entry.symbols:
        if not any(matching(symbols, (pattern,))):
            yield problem(at.items["symbols"].at, f"unknown symbol {pattern!r}{suggestion(pattern, symbols)}")
    if entry.as_ and world.parties.user(entry.as_) is None:
        yield problem(at.items["as"].at, f"nobody is called {entry.as_!r}: maker, taker, noise, or firms/<firm>/users/<user>")
    if isinstance(entry, TakerEntry | NoiseEntry) and scaled(entry.size.low, UNIT) > scaled(entry.size.high, UNIT):
        yield problem(at.items["size"].at, f"from {entry.size.low} to {entry.size.high} contracts is no range")


def _of_fair_price(entry: FairEntry, at: Mapping, symbols: list[str], start: Instant) -> Iterator[Problem]:
    if entry.symbol not in symbols:
        yield problem(at.items["symbol"].at, f"unknown symbol {entry.symbol!r}{suggestion(entry.symbol, symbols)}")
    if entry.path and entry.asset:
        yield problem(at.items["asset"].at, "a fair price follows a path or an asset, not both")
    if entry.asset and not entry.asset.startswith("crypto:"):
        yield problem(at.items["asset"].at, f"an asset is crypto:<symbol>, not {entry.asset!r}")
    if entry.start is not None and scaled(entry.start, UNIT) >= UNIT:
        yield problem(at.items["start"].at, f"a price lies between 0 and 1 dollar, not {entry.start}")
    if any(scaled(point.price, UNIT) > UNIT for point in entry.path):
        yield problem(at.items["path"].at, "a price lies between 0 and 1 dollar")
    instants = [moment for moment, _ in path_of(entry.path, start)]
    if instants != sorted(instants):
        yield problem(at.items["path"].at, "the points of a path stand in order of time")
    if entry.volatility is not None and scaled(entry.volatility, UNIT) > HIGHEST_VOLATILITY:
        yield problem(at.items["volatility"].at, f"at most 0.05 dollars in an hour, not {entry.volatility}")
