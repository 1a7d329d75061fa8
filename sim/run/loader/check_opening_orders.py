"""Checks of the orders and books of a world, which rest when a run begins.

No step places them, so no run can say which entry was refused. The checks are the exchange's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.commands import PlaceOrder
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text
from sim.core.model.refusals import Refusal
from sim.core.trading.order_checks import check_combination, check_lot, check_price, check_shape
from sim.kernel.instants import Instant, format_instant
from sim.run.loader.nodes import items_of, text_at
from sim.world.format.scenario import Scenario
from sim.world.format.struct_types import record
from sim.world.format.world_entries import BookEntry, OrderEntry
from sim.world.format.yaml_tree import Node, Problem, SourcePosition, problem
from sim.world.start.orders import book_commands, command_of, in_keys
from sim.world.start.world import World


class _Opening(NamedTuple):
    """An entry of `world.orders` or `world.books`, where to report its problems, and what to
    say before them.
    """

    entry: OrderEntry | BookEntry
    at: SourcePosition
    subject: str = ""


def opening_problems(node: Node, scenario: Scenario, world: World) -> Iterator[Problem]:
    """Problems of the entries that are written in this file, and of inherited ones in instruments
    that this file changes.
    """
    assumptions = Assumptions()
    for name, value in scenario.assumptions.items():
        with suppress(KeyError, ValueError):  # reported as a problem of the assumption
            assumptions.change(name, value)
    own = [*_own(node, "orders", OrderEntry), *_own(node, "books", BookEntry)]
    for opening in (*own, *_inherited(node, world, {each.entry.symbol for each in own})):
        entry = opening.entry
        instrument, user = world.terms(entry.symbol), world.parties.user(entry.as_)
        if instrument is None or user is None:
            continue  # reported as an unknown name
        try:
            if isinstance(entry, OrderEntry):
                commands = [command_of(instrument, user, entry)]
            else:
                commands = list(book_commands(instrument, user, entry))
                _require_prices(entry, commands, instrument)
            _require_entry(instrument)
            for command in commands:
                _require_valid(command, instrument, scenario.clock.start, assumptions)
        except ValueError as error:
            yield problem(opening.at, f"{opening.subject}{error}")
        except Refusal as refused:
            advice = f"; {refused.remedy}" if refused.remedy else ""
            text = in_keys(f"{refused.message}{advice}")
            yield problem(opening.at, f"{opening.subject}{text}")
    for item in (*items_of(node, "world", "orders"), *items_of(node, "world", "books")):
        yield from _unlisted(item, world, scenario.clock.start)


def _own(node: Node, section: str, kind: type[OrderEntry | BookEntry]) -> Iterator[_Opening]:
    for item in items_of(node, "world", section):
        entry = record(kind).read(item, [])
        if isinstance(entry, kind):
            yield _Opening(entry, item.at)


def _inherited(node: Node, world: World, own: set[str]) -> Iterator[_Opening]:
    """Inherited entries of the instruments that a file changes, unless it has its own for them."""
    entries: Iterable[OrderEntry | BookEntry] = (*world.books, *world.orders)
    for item in items_of(node, "world", "instruments"):
        symbol = text_at(item, "symbol")
        if symbol is not None and symbol.text not in own:
            subject = f"{symbol.text} inherits an order: "
            for entry in entries:
                if entry.symbol == symbol.text:
                    yield _Opening(entry, symbol.at, subject)


def _require_prices(book: BookEntry, commands: list[PlaceOrder], instrument: Instrument) -> None:
    if book.sizes and not commands:
        scale, low, high = instrument.price_scale, instrument.price_low, instrument.price_high
        band = f"{decimal_text(low, scale)} to {decimal_text(high, scale)}"
        prices = f"mid {book.mid} with spread {book.spread}"
        raise ValueError(f"{prices} makes no price in the band of {book.symbol}, {band}")


def _require_entry(instrument: Instrument) -> None:
    state = instrument.opening_state
    if state is not None and state not in ENTRY_STATES:
        name = f"{instrument.symbol} is {state.name}"
        raise ValueError(f"{name} at the start and accepts no orders")


def _require_valid(
    command: PlaceOrder, instrument: Instrument, now: Instant, assumptions: Assumptions
) -> None:
    check_shape(command)
    check_combination(command, now, assumptions)
    for price in filter(None, (command.price, command.stop_price)):
        check_price(instrument, price, command.channel, assumptions)
    if command.qty:
        check_lot(instrument, command.qty, assumptions)


def _unlisted(entry: Node, world: World, start: Instant) -> Iterator[Problem]:
    """The problem of orders in a recurring market that is not listed yet, or is closed already."""
    symbol = text_at(entry, "symbol")
    slot = None if symbol is None else world.reference.recurring.slot_of_symbol(symbol.text)
    if symbol is None or slot is None:
        return
    terms = world.reference.recurring.instrument(slot)
    if terms.created > start:
        listed = format_instant(terms.created)
        text = f"{symbol.text} is not listed before {listed}: place its orders in a step"
        yield problem(symbol.at, text)
    elif terms.closes <= start:
        closed = format_instant(terms.closes)
        yield problem(symbol.at, f"{symbol.text} closed at {closed} and accepts no orders")
