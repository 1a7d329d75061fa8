"""What a move draws from: decisions, the terms of markets, and the callers that exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from sim.contract.contract import Operation, load_contract
from sim.contract.operation import VARIABLE
from sim.contract.wire_fields import fields_of
from sim.core.identity.firms import ApiKey, Firm, User
from sim.core.model.quantities import decimal_text
from sim.kernel.entropy import Choices
from sim.kernel.instants import Instant
from sim.run.actors.operator.actions import ACTIONS

Document: TypeAlias = dict[str, Any]

SCRIPTED = ("maker", "taker", "noise")
CLOSED_STATES = ("SUSPENDED", "HALTED", "CLOSED", "PREOPEN", "MATCH_AND_CLOSE_AUCTION")
STATES = (*("OPEN",) * 12, *CLOSED_STATES, "SCHEDULE")
LIMIT = "ORDER_TYPE_LIMIT"
SIDES = ("SIDE_BUY", "SIDE_SELL")
PEOPLE = 6  # external ids of people, so few that a verification is started twice
_USERS_MAX = 3  # of a firm


class Act(NamedTuple):
    """An action of an operator: its name, its subject, and the body of its control call."""

    action: str
    subject: str
    body: Document

    def step(self) -> Document:
        """Return the action as a step of a scenario."""
        row = ACTIONS[self.action]
        return {row.step: row.step_value(row.read(self.subject, self.body))}


# What a move yields: steps as a scenario writes them, and actions, some of which no step has.
Steps: TypeAlias = Iterator[Document | Act]


class Terms(NamedTuple):
    """What a move must know about an instrument.

    Tick and price band are in units of 1/`price_scale` dollar, the smallest order is in units of
    1/`qty_scale` of a contract.
    """

    symbol: str
    tick: int = 1
    price_scale: int = 100
    qty_scale: int = 1
    minimum: int = 1
    low: int = 1
    high: int = 99

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Terms:
        """Return the terms in a row of GET /_sim/v1/state/instruments."""
        scale = int(row["price_scale"])
        low, high = (int(Decimal(row["price_limit"][side]) * scale) for side in ("low", "high"))
        tick = int(Decimal(row["tick_size"]) * scale)
        qty_scale, minimum = int(row["fractional_qty_scale"]), int(row["minimum_trade_qty"])
        return cls(row["symbol"], tick, scale, qty_scale, minimum, low, high)

    def entry(self) -> Document:
        """Return an open instrument of these terms: an entry of `world.instruments`."""
        return {
            "symbol": self.symbol,
            "tick_size": self.dollars(self.tick),
            "price_scale": self.price_scale,
            "fractional_qty_scale": self.qty_scale,
            "state": "OPEN",
        }

    def dollars(self, price: int) -> str:
        """Return a price in price units as dollars."""
        return decimal_text(price, self.price_scale)

    def contracts(self, qty: int) -> str:
        """Return a quantity in its units as contracts."""
        return decimal_text(qty, self.qty_scale)

    def cents(self, cents: int) -> str:
        """Return a price in cents in price units, as orders on the exchange write it."""
        return str(cents * self.price_scale // 100)

    def near_middle(self, choices: Choices) -> int:
        """Return a price from 47 to 53 cents, so that orders trade."""
        a_dollar = self.price_scale // self.tick
        return choices.between(47 * a_dollar // 100, 53 * a_dollar // 100) * self.tick

    def price(self, choices: Choices) -> int:
        """Return a price on the grid, usually near the middle."""
        near = self.near_middle(choices)
        if choices.chance(4, 5):
            return near
        return choices.between(-(-self.low // self.tick), self.high // self.tick) * self.tick

    def limit_order(self, side: str, price: str, qty: int, **fields: Any) -> Document:
        """Return a limit order on the exchange that rests until it is canceled."""
        return {
            "type": LIMIT,
            "side": side,
            "symbol": self.symbol,
            "orderQty": str(qty),
            "price": price,
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            **fields,
        }


class View:
    """The markets and callers of a world, as they are when it begins, at `now`."""

    def __init__(
        self, firms: Sequence[Firm], keys: Sequence[ApiKey], markets: Sequence[Terms], now: Instant
    ) -> None:
        self.firms = [firm for firm in firms if firm.client_id and firm.users]
        self.users: list[User] = [user for firm in self.firms for user in firm.users[:_USERS_MAX]]
        self.keys = list({key.account: key.key_id for key in keys}.values())  # one an account
        self.streams: dict[str, None] = {}  # names of the streams that were opened
        self._markets = markets
        self._start = now
        self._labels: Counter[str] = Counter()

    @property
    def pairs(self) -> list[Firm]:
        """The firms with at least two participants."""
        return [firm for firm in self.firms if len(firm.users) > 1]

    @property
    def now(self) -> Instant:
        """The virtual instant, or that of the beginning."""
        return self._start

    def markets(self) -> Sequence[Terms]:
        """Return the markets in which to act."""
        return self._markets

    def market(self, choices: Choices) -> Terms:
        """Return a market, in a `LiveView` usually one that takes orders."""
        return choices.choice(self.markets())

    def symbol(self, choices: Choices) -> str:
        """Return a symbol, in a `LiveView` rarely one that does not exist."""
        return self.market(choices).symbol

    def state(self, choices: Choices, symbol: str) -> str:
        """Return a state to ask for."""
        return choices.choice(STATES)

    def account(self, choices: Choices) -> str:
        """Return an account, or a scripted participant for its own."""
        return choices.choice((*SCRIPTED, *(user.account for user in self.users)))

    def user(self, choices: Choices) -> User:
        """Return a participant of a firm."""
        return choices.choice(self.users)

    def other(self, choices: Choices, user: User) -> User:
        """Return another participant, if there is one."""
        return choices.choice([each for each in self.users if each is not user] or [user])

    def related(self) -> Sequence[Terms]:
        """Return up to three markets, in a `LiveView` related ones (rule P8)."""
        return self.markets()[:3]

    def dollars(self, user: User) -> int:
        """Return the cash of a participant in whole dollars, in a `LiveView`; else 0."""
        return 0

    def resume_token(self, stream: str) -> str:
        """Return the last resume token of a stream, in a `LiveView`; else none."""
        return ""

    def label(self, kind: str) -> str:
        """Return a new name, for a value of an answer or a stream."""
        self._labels[kind] += 1
        return f"{kind}{self._labels[kind]}"


# ---- requests


def self_match_prevention(choices: Choices) -> Document:
    """Return the fields that ask for self-match prevention."""
    mode = choices.choice(("REJECT_AGGRESSOR", "CANCEL_RESTING", "REMOVE_BOTH"))
    return {
        "selfMatchPreventionInstruction": f"SELF_MATCH_PREVENTION_INSTRUCTION_{mode}",
        "selfMatchPreventionId": "s",
    }


def call(choices: Choices, name: str, body: Document, caller: str) -> Document:
    """Return a step that calls an operation, on any of its planes."""
    operation = load_contract().by_name(name)
    if operation.grpc and (not operation.planes or choices.chance(1, 3)):
        return {"call": {"plane": "grpc", "rpc": name, "as": caller, "json": body}}
    plane = operation.planes[0]
    verb, path, fields, takes_body = address(choices, operation, body, lambda name: "nope")
    content = {"json": fields} if takes_body else {"query": query_fields(fields)}
    return {"call": {"plane": plane, verb.lower(): path, "as": caller, **content}}


def address(
    choices: Choices, operation: Operation, body: Document, absent: Callable[[str], Any]
) -> tuple[str, str, Document, bool]:
    """Return verb and path of a request over HTTP, its other fields, and whether they are its body.

    `absent` returns the value of a variable of the path that the request does not have.
    """
    verb, template, takes_body = choices.choice(operation.bindings)
    fields = dict(body)
    keys = {field.name: field.json_name for field in fields_of(operation.request)}

    def filled(match: re.Match[str]) -> str:
        value = fields.pop(match[1], None) or fields.pop(keys.get(match[1], ""), None)
        if value is None or isinstance(value, dict | list):
            value = absent(match[1])
        return quote(str(value), safe="/${}" if "=" in match[0] else "${}")

    return verb, VARIABLE.sub(filled, template), fields, bool(takes_body)


def query_fields(fields: Document, under: str = "") -> dict[str, Any]:
    """Return fields as query parameters; those of messages by their dotted path."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat |= query_fields(value, f"{under}{name}.")
        elif isinstance(value, list):
            items = [item for item in value if not isinstance(item, dict | list)]
            flat[under + name] = items
        else:
            flat[under + name] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat


# ---- orders that several moves place


def scripted(name: str, symbol: str, side: str, price: str, qty: str, **fields: str) -> Act:
    """Return the action that places an order of a scripted participant (dollars, contracts)."""
    order = {"as": name, "symbol": symbol, "side": side, "price": price, "qty": qty, **fields}
    return Act("order.place", "", order)


def insert(
    choices: Choices, terms: Terms, user: User, side: str, cents: int, **fields: object
) -> Document:
    """Return a step that places a limit order of a participant."""
    qty = choices.between(1, 30) * terms.minimum
    body = terms.limit_order(f"SIDE_{side}", terms.cents(cents), qty) | fields
    body = {name: value for name, value in body.items() if value is not None}
    return call(choices, "OrderEntryAPI.InsertOrder", body, user.name)


def trade(choices: Choices, view: View, terms: Terms) -> Steps:
    """Place two orders of two participants that meet."""
    user = view.user(choices)
    first, second = choices.choice((("BUY", "SELL"), ("SELL", "BUY")))
    yield insert(choices, terms, user, first, choices.between(49, 51))
    yield insert(choices, terms, view.other(choices, user), second, choices.between(49, 51))


def retail_limit_order(
    choices: Choices, terms: Terms, key: str, price: str, qty: int, intent: str = "BUY_LONG"
) -> Document:
    """Return a step that places a limit order of a retail user."""
    body = {
        "marketSlug": terms.symbol,
        "intent": f"ORDER_INTENT_{intent}",
        "type": LIMIT,
        "price": {"value": price, "currency": "USD"},
        "quantity": qty,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
    return call(choices, "RetailOrdersAPI.CreateOrder", body, key)
