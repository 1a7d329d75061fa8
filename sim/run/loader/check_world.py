"""Checks of a scenario's world: terms that nothing can be listed with, names that nothing has, and
orders that the exchange would refuse.

A world is built of the terms, so they are checked before it. Names are looked up in it. No step
places the orders and books of a world, so no run can say which entry was refused; their checks are
the exchange's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from sim.contract.contract import SCOPES
from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.bounds import MONEY
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.commands import PlaceOrder
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE, cash_text, decimal_text
from sim.core.model.refusals import Refusal
from sim.core.trading.order_checks import check_combination, check_lot, check_price, check_shape
from sim.core.webhooks.payloads import url_problem
from sim.kernel import resources
from sim.kernel.instants import Instant, format_instant
from sim.run.loader.nodes import items_of, mappings_of, node_at, text_at, unknown
from sim.world.format.instrument_terms import ListingError, list_instrument
from sim.world.format.scenario import Scenario
from sim.world.format.struct_types import record
from sim.world.format.world_entries import BookEntry, OrderEntry
from sim.world.format.yaml_tree import Node, Problem, Scalar, SourcePosition, problem
from sim.world.reference.leagues import fixture
from sim.world.reference.recurring_markets import incomplete
from sim.world.start.orders import book_commands, command_of, in_keys
from sim.world.start.world import World, asset_of, windows_of

_ANSWERS = ("status", "hang", "reset")
_OF_INSTRUMENTS = ("books", "orders", "incentives")
# The sections of a world whose names are looked up.
SECTIONS = (*_OF_INSTRUMENTS, "firms", "accounts", "api_keys", "receivers")


def term_problems(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """Problems of the terms of instruments, assets, recurring markets, events and firms."""
    yield from _terms(scenario, node)
    yield from _assets(scenario, node)
    yield from _windows(scenario, node)
    yield from _leagues(node)
    yield from _firms(node)


def world_problems(node: Node, world: World) -> Iterator[Problem]:
    """Problems of the entries that are written in this file, not in one that it extends."""
    symbols = [instrument.symbol for instrument in world.instruments]
    yield from _money(node, world)
    yield from _receivers(node, world)
    for fault in items_of(node, "faults"):
        symbol = text_at(fault, "match", "symbol")
        if symbol is not None and "*" not in symbol.text and not world.has(symbol.text):
            yield unknown("unknown symbol", symbol, symbols)
    for item in (each for section in _OF_INSTRUMENTS for each in items_of(node, "world", section)):
        symbol, user = (text_at(item, key, empty=True) for key in ("symbol", "as"))
        if symbol is not None and not world.has(symbol.text):
            yield unknown("unknown symbol", symbol, symbols)
        if user is not None and world.parties.user(user.text) is None:
            users = "maker, taker, noise, or firms/<firm>/users/<user>"
            yield problem(user.at, f"there is no firm or participant {user.text!r}: {users}")
        for reward in items_of(item, "rewards"):
            account = text_at(reward, "account", empty=True)
            if account is not None and world.parties.account(account.text) is None:
                text = f"no account is called {account.text!r}: add it under world.accounts"
                yield problem(account.at, text)


def _money(node: Node, world: World) -> Iterator[Problem]:
    """Problems of opening balances that exceed what the exchange can represent."""
    accounts = world.parties.accounts
    total = sum(account.opening_balance for account in accounts)
    if total > MONEY.high * CASH_SCALE:
        section = node_at(node, "world", "accounts") or node_at(node, "world") or node
        total_text = f"the {len(accounts)} opening balances are {cash_text(total)} dollars together"
        yield problem(section.at, f"{total_text}; {MONEY.text()}")


def _terms(scenario: Scenario, node: Node) -> Iterator[Problem]:
    by_symbol = {entry.symbol: entry for entry in scenario.world.instruments}
    for item in mappings_of(node_at(node, "world", "instruments")):
        symbol = item.items.get("symbol")
        entry = by_symbol.get(symbol.text) if isinstance(symbol, Scalar) else None
        if entry is None:
            continue
        try:
            list_instrument(entry, scenario.clock.start)
        except ListingError as error:
            for key, message in error.faults:
                yield problem(item.items[key].at if key in item.items else item.at, message)


def _assets(scenario: Scenario, node: Node) -> Iterator[Problem]:
    by_id = {entry.id: entry for entry in scenario.world.assets}
    for item in items_of(node, "world", "assets"):
        name = node_at(item, "id")
        entry = by_id.get(name.text) if isinstance(name, Scalar) else None
        if entry is not None:
            try:
                asset_of(entry)
            except ValueError as error:
                yield problem(item.at, str(error))


def _windows(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """Problems of new recurring markets without an asset or an interval."""
    lacking = {entry.name: incomplete(entry) for entry in windows_of(scenario.world)}
    for item in items_of(node, "world", "windows"):
        name = node_at(item, "name")
        if isinstance(name, Scalar) and (message := lacking.get(name.text)):
            yield problem(item.at, message)


def _leagues(node: Node) -> Iterator[Problem]:
    """Problems of events in an unknown league."""
    valid_names: list[str] = []
    for item in items_of(node, "world", "events"):
        league = node_at(item, "league")
        if isinstance(league, Scalar):
            valid_names = valid_names or [row["slug"] for row in fixture("leagues.json")["leagues"]]
            if league.text not in valid_names:
                yield unknown("there is no league", league, valid_names)


def _firms(node: Node) -> Iterator[Problem]:
    """Problems of firms with an unknown key pair or scope, or with two funding sources of
    the same id.
    """
    for firm in items_of(node, "world", "firms"):
        for scope in items_of(firm, "scopes"):
            if isinstance(scope, Scalar) and scope.text not in SCOPES:
                hint = f"; known: {', '.join(sorted(SCOPES))}"
                yield unknown("unknown scope", scope, SCOPES, hint)
        pair = node_at(firm, "key")
        if isinstance(pair, Scalar) and pair.text:
            files = resources.path("fixtures", "keys").glob("*.pub.pem")
            pairs = sorted(file.name.removesuffix(".pub.pem") for file in files)
            if pair.text not in pairs:
                valid_names = f"the sandbox has {', '.join(pairs)}"
                yield problem(pair.at, f"there is no key pair {pair.text!r}: {valid_names}")
        positions: set[str] = set()
        for source in items_of(firm, "funding_sources"):
            name = node_at(source, "id")
            if isinstance(name, Scalar):
                if name.text in positions:
                    text = f"two funding sources have the id {name.text!r}: give each its own id"
                    yield problem(name.at, text)
                positions.add(name.text)


def _receivers(node: Node, world: World) -> Iterator[Problem]:
    """Problems of receivers: unknown firms, invalid or duplicate URLs,
    and contradictory answers.
    """
    urls: dict[str, int] = {}
    for item in items_of(node, "world", "receivers"):
        firm, url = text_at(item, "firm"), text_at(item, "url")
        names = [each.name for each in world.parties.firms]
        if firm is not None and "firms/" + firm.text.removeprefix("firms/") not in names:
            yield unknown("there is no firm", firm, names)
        if url is not None:
            wrong = url_problem(url.text, allow_private=True, hosts=(_host_of(url.text),))
            if wrong:
                yield problem(url.at, f"url: {wrong.removeprefix('webhook_')}")
            elif url.text in urls:
                line = urls[url.text]
                yield problem(url.at, f"{url.text!r} belongs to another receiver, in line {line}")
            urls.setdefault(url.text, url.at.line)
        yield from answer_problems(item)


def answer_problems(receiver: Node | None) -> Iterator[Problem]:
    """Problems of a receiver's answers that have more than one outcome."""
    for answer in items_of(receiver, "answers"):
        stated = [key for key in _ANSWERS if text_at(answer, key) is not None]
        if len(stated) > 1:
            yield problem(
                answer.at, f"an answer has either {' or '.join(stated)}: remove one of them"
            )


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


# ---- orders and books of the world


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
