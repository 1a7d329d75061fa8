"""Checks of a scenario's simulated traders beyond the types of their keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sim.core.model.quantities import scaled_down
from sim.run.actors.participants.fair_prices import HIGHEST_VOLATILITY, UNIT, path_of
from sim.run.actors.participants.participants import matching, named
from sim.run.loader.nodes import mappings_of, node_at
from sim.world.format.participant_entries import FairEntry, NoiseEntry, TakerEntry, Trader
from sim.world.format.suggestions import suggestion
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, SourcePosition, problem

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario
    from sim.world.start.world import World

T = TypeVar("T")
TRADERS_MAX = 10_000


def participant_problems(scenario: Scenario, node: Node, world: World) -> Iterator[Problem]:
    """Problems of the `participants` that are written in this file, not in one that it extends."""
    stated = node.items.get("participants") if isinstance(node, Mapping) else None
    if isinstance(stated, Mapping):
        yield from _Checker(scenario, world, stated).problems()


class _Checker:
    """Checks one `participants` section. `stated` is the part of it that is written
    in this file.
    """

    def __init__(self, scenario: Scenario, world: World, stated: Mapping) -> None:
        self._section = scenario.participants
        self._start = scenario.clock.start
        self._world = world
        self._stated = stated
        self._symbols = [*(terms.symbol for terms in world.instruments), *world.dormant.symbols()]
        self._names = Counter(trader.name for trader in self._section.traders)
        self._names.update(flow.name for flow in self._section.flows)

    def problems(self) -> Iterator[Problem]:
        section = self._section
        for entry, at in self._entries(section.fair_prices, "fair_prices", "symbol"):
            yield from self._fair_price(entry, at)
        for kind in ("makers", "takers", "noise"):
            for trader, at in self._entries(getattr(section, kind), kind, "name"):
                yield from self._trader(trader, at)
        for flow, at in self._entries(section.flows, "flows", "name"):
            yield from self._name(flow.name, at)
            if self._world.parties.user(flow.as_) is None:
                users = "maker, taker, noise, a participant, or firms/<firm>/users/<user>"
                yield problem(
                    _position(at, "as"), f"there is no firm or participant {flow.as_!r}: {users}"
                )
        traders = sum(len(list(matching(self._symbols, each.symbols))) for each in section.traders)
        if traders > TRADERS_MAX:
            message = f"the traders have {traders} instruments together, more than {TRADERS_MAX}"
            yield problem(self._stated.at, message)

    def _entries(self, entries: Iterable[T], kind: str, key: str) -> Iterator[tuple[T, Mapping]]:
        """The entries that are written in this file, with their nodes."""
        by_name = {getattr(entry, key): entry for entry in entries}
        for item in mappings_of(self._stated.items.get(kind)):
            name = node_at(item, key)
            if isinstance(name, Scalar) and name.text in by_name:
                yield by_name[name.text], item

    def _trader(self, entry: Trader, at: Mapping) -> Iterator[Problem]:
        yield from self._name(entry.name, at)
        if not entry.symbols and not entry.windows:
            yield problem(at.at, f"{entry.name!r} has nothing to trade: add `symbols` or `windows`")
        products = [series.name for series in self._world.reference.recurring.series]
        for pattern in entry.windows:
            if not any(named(product, (pattern,)) for product in products):
                near = suggestion(pattern, products)
                yield problem(_position(at, "windows"), f"unknown product {pattern!r}{near}")
        for pattern in entry.symbols:
            if not any(matching(self._symbols, (pattern,))):
                near = suggestion(pattern, self._symbols)
                yield problem(_position(at, "symbols"), f"unknown symbol {pattern!r}{near}")
        if entry.as_ and self._world.parties.user(entry.as_) is None:
            users = "maker, taker, noise, or firms/<firm>/users/<user>"
            yield problem(
                _position(at, "as"), f"there is no firm or participant {entry.as_!r}: {users}"
            )
        if isinstance(entry, TakerEntry | NoiseEntry):
            low, high = entry.size.low, entry.size.high
            if scaled_down(low, UNIT) > scaled_down(high, UNIT):
                yield problem(_position(at, "size"), f"low {low} is above high {high}")

    def _name(self, name: str, at: Mapping) -> Iterator[Problem]:
        if self._names[name] > 1:
            yield problem(_position(at, "name"), f"two participants are called {name!r}")

    def _fair_price(self, entry: FairEntry, at: Mapping) -> Iterator[Problem]:
        symbol, asset, start = entry.symbol, entry.asset, entry.start
        if symbol not in self._symbols:
            near = suggestion(symbol, self._symbols)
            yield problem(_position(at, "symbol"), f"unknown symbol {symbol!r}{near}")
        if entry.path and asset:
            yield problem(
                _position(at, "asset"),
                "a fair price follows a path or an asset, not both: remove one of them",
            )
        if asset and not asset.startswith("crypto:"):
            yield problem(
                _position(at, "asset"), f"write an asset as crypto:<symbol>, not {asset!r}"
            )
        if start is not None and scaled_down(start, UNIT) >= UNIT:
            message = f"a price must be between 0 and 1 dollar, not {start}"
            yield problem(_position(at, "start"), message)
        instants = [moment for moment, _ in path_of(entry.path, self._start)]
        if instants != sorted(instants):
            yield problem(_position(at, "path"), "the points of a path must be in order of time")
        volatility = scaled_down(entry.volatility or "0", UNIT)
        if volatility > HIGHEST_VOLATILITY:
            message = f"volatility must be at most 0.05 dollars in an hour, not {entry.volatility}"
            yield problem(_position(at, "volatility"), message)


def _position(at: Mapping, key: str) -> SourcePosition:
    """Return where a key of an entry stands; the entry's position if its key is in another file."""
    return at.items[key].at if key in at.items else at.at
