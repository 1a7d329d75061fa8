"""Checks of a scenario's participants beyond their form, at the positions of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sim.actors.participants.fair_prices import HIGHEST_VOLATILITY, path_of
from sim.actors.participants.participants import matching
from sim.actors.participants.recurring_fair_price import UNIT
from sim.actors.participants.recurring_traders import named
from sim.core.model.quantities import scaled_down
from sim.kernel.instants import Instant
from sim.scenario.participant_entries import (
    FairEntry,
    NoiseEntry,
    ParticipantsSection,
    TakerEntry,
    Trader,
)
from sim.scenario.value_types import suggestion
from sim.scenario.yaml_tree import Mapping, Node, Position, Problem, Sequence, problem

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario
    from sim.world.world import World

T = TypeVar("T")
TRADERS_MAX = 10_000


def participant_problems(scenario: Scenario, node: Node, world: World) -> Iterator[Problem]:
    """Problems of the `participants` that this file itself states."""
    section = scenario.participants
    stated = node.items.get("participants") if isinstance(node, Mapping) else None
    if not isinstance(stated, Mapping):
        return
    symbols = [*(terms.symbol for terms in world.instruments), *world.shelf.symbols()]
    for entry, at in _stated(section.fair_prices, stated, "fair_prices", "symbol"):
        yield from _of_fair_price(entry, at, symbols, scenario.clock.start)
    kinds: tuple[tuple[str, Iterable[Trader]], ...] = (
        ("makers", section.makers),
        ("takers", section.takers),
        ("noise", section.noise),
    )
    for kind, entries in kinds:
        for trader, at in _stated(entries, stated, kind, "name"):
            yield from _of_trader(trader, at, section, symbols, world)
    for flow, at in _stated(section.flows, stated, "flows", "name"):
        yield from _of_name(flow.name, at, section)
        if world.parties.user(flow.as_) is None:
            yield problem(
                _place(at, "as"),
                f"nobody is called {flow.as_!r}: maker, taker, noise, a participant, or"
                " firms/<firm>/users/<user>",
            )
    traders = sum(len(list(matching(symbols, trader.symbols))) for trader in section.traders)
    if traders > TRADERS_MAX:
        yield problem(
            stated.at, f"participants on {traders} instruments in all, more than {TRADERS_MAX}"
        )


def _stated(
    entries: Iterable[T], section: Mapping, kind: str, key: str
) -> Iterator[tuple[T, Mapping]]:
    """The entries that this file states, with their nodes."""
    named = {getattr(entry, key): entry for entry in entries}
    found = section.items.get(kind)
    for item in found.items if isinstance(found, Sequence) else ():
        if isinstance(item, Mapping):
            name = item.items.get(key)
            entry = named.get(getattr(name, "text", ""))
            if entry is not None:
                yield entry, item


def _place(at: Mapping, key: str) -> Position:
    """The position of an entry's key, or of the entry if a file that is extended has the key."""
    return at.items[key].at if key in at.items else at.at


def _of_trader(
    entry: Trader, at: Mapping, section: ParticipantsSection, symbols: list[str], world: World
) -> Iterator[Problem]:
    yield from _of_name(entry.name, at, section)
    if not entry.symbols and not entry.windows:
        yield problem(at.at, f"{entry.name!r} trades nothing: give it symbols or windows")
    products = [series.name for series in world.reference.recurring.series]
    for pattern in entry.windows:
        if not any(named(product, (pattern,)) for product in products):
            yield problem(
                _place(at, "windows"), f"unknown product {pattern!r}{suggestion(pattern, products)}"
            )
    for pattern in entry.symbols:
        if not any(matching(symbols, (pattern,))):
            yield problem(
                _place(at, "symbols"), f"unknown symbol {pattern!r}{suggestion(pattern, symbols)}"
            )
    if entry.as_ and world.parties.user(entry.as_) is None:
        yield problem(
            _place(at, "as"),
            f"nobody is called {entry.as_!r}: maker, taker, noise, or firms/<firm>/users/<user>",
        )
    if isinstance(entry, TakerEntry | NoiseEntry) and scaled_down(
        entry.size.low, UNIT
    ) > scaled_down(entry.size.high, UNIT):
        yield problem(
            _place(at, "size"), f"from {entry.size.low} to {entry.size.high} contracts is no range"
        )


def _of_name(name: str, at: Mapping, section: ParticipantsSection) -> Iterator[Problem]:
    names = [*(trader.name for trader in section.traders), *(flow.name for flow in section.flows)]
    if names.count(name) > 1:
        yield problem(_place(at, "name"), f"two participants are called {name!r}")


def _of_fair_price(
    entry: FairEntry, at: Mapping, symbols: list[str], start: Instant
) -> Iterator[Problem]:
    if entry.symbol not in symbols:
        yield problem(
            _place(at, "symbol"),
            f"unknown symbol {entry.symbol!r}{suggestion(entry.symbol, symbols)}",
        )
    if entry.path and entry.asset:
        yield problem(_place(at, "asset"), "a fair price follows a path or an asset, not both")
    if entry.asset and not entry.asset.startswith("crypto:"):
        yield problem(_place(at, "asset"), f"an asset is crypto:<symbol>, not {entry.asset!r}")
    if entry.start is not None and scaled_down(entry.start, UNIT) >= UNIT:
        yield problem(
            _place(at, "start"), f"a price lies between 0 and 1 dollar, not {entry.start}"
        )
    instants = [moment for moment, _ in path_of(entry.path, start)]
    if instants != sorted(instants):
        yield problem(_place(at, "path"), "the points of a path stand in order of time")
    if entry.volatility is not None and scaled_down(entry.volatility, UNIT) > HIGHEST_VOLATILITY:
        yield problem(
            _place(at, "volatility"), f"at most 0.05 dollars in an hour, not {entry.volatility}"
        )
