"""Checks of a scenario's world: books, orders and incentive programs of unknown instruments, and
unknown users and accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from sim.core.webhooks.payloads import url_problem
from sim.kernel.instants import Instant, format_instant
from sim.run.loader.check_prices import book_problems, inherited_problems, price_problems
from sim.run.loader.nodes import items_of, text_at, unknown
from sim.world.format.yaml_tree import Node, Problem, problem
from sim.world.start.world import World

_ANSWERS = ("status", "hang", "reset")
SECTIONS = ("books", "orders", "incentives")


def world_problems(node: Node, world: World, start: Instant) -> Iterator[Problem]:
    """Problems of the entries that are written in this file, not in one that it extends."""
    symbols = [instrument.symbol for instrument in world.instruments]
    for order in items_of(node, "world", "orders"):
        yield from price_problems(order, world)
        yield from _unlisted(order, world, start)
    for book in items_of(node, "world", "books"):
        yield from book_problems(book, world)
        yield from _unlisted(book, world, start)
    yield from _inherited(node, world)
    yield from _receivers(node, world)
    for item in (each for section in SECTIONS for each in items_of(node, "world", section)):
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


def _inherited(node: Node, world: World) -> Iterator[Problem]:
    """Problems of orders that this file inherits, in an instrument that it changes."""
    own = (*items_of(node, "world", "books"), *items_of(node, "world", "orders"))
    checked = {symbol.text for item in own if (symbol := text_at(item, "symbol")) is not None}
    for item in items_of(node, "world", "instruments"):
        symbol = text_at(item, "symbol")
        if symbol is not None and symbol.text not in checked:
            yield from inherited_problems(symbol, world)


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


def _receivers(node: Node, world: World) -> Iterator[Problem]:
    """Problems of receivers: unknown firms, invalid or duplicate URLs, and contradictory
    answers.
    """
    urls: dict[str, int] = {}
    for item in items_of(node, "world", "receivers"):
        firm, url = text_at(item, "firm"), text_at(item, "url")
        names = [one.name for one in world.parties.firms]
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
