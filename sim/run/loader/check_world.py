"""Checks of a scenario's world: books, orders and incentive programs of unknown instruments, and
unknown users and accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from sim.core.webhooks.payloads import url_problem
from sim.run.loader.nodes import items_of, text_at, unknown
from sim.world.format.yaml_tree import Node, Problem, problem
from sim.world.start.world import World

_ANSWERS = ("status", "hang", "reset")
SECTIONS = ("books", "orders", "incentives")


def world_problems(node: Node, world: World) -> Iterator[Problem]:
    """Problems of the entries that are written in this file, not in one that it extends."""
    symbols = [instrument.symbol for instrument in world.instruments]
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
