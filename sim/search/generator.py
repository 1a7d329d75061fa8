"""Random orders, faults and steps: the rules that `--fuzz` and the hypothesis strategies share.

A rule says what may be drawn and how often, and takes its decisions from `Choices`. For `--fuzz`,
this is a named random stream of the run's seed (`kernel.entropy.RandomStream`), so a seed always
draws the same. For hypothesis, it is an adapter around `draw`, so that hypothesis can shrink
examples. Everything drawn is plain JSON, in the form that a scenario or a client writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from sim.core.model.quantities import decimal_text
from sim.core.service.fault_spec import CALLS, ENGINE, KINDS

T = TypeVar("T")
Document: TypeAlias = dict[str, Any]

SCRIPTED = ("maker", "taker", "noise")
CLOSED_STATES = ("SUSPENDED", "HALTED", "CLOSED", "PREOPEN", "MATCH_AND_CLOSE_AUCTION")
STATES = (*("OPEN",) * 12, *CLOSED_STATES, "SCHEDULE")
WAITS = ("1ms", "1s", "1s", "10s", "2m", "1h", "3h")
LIMIT, MARKET_TO_LIMIT = "ORDER_TYPE_LIMIT", "ORDER_TYPE_MARKET_TO_LIMIT"
SIDES = ("SIDE_BUY", "SIDE_SELL")
INTENTS = ("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT")
RETAIL_TIFS = ("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")
EXCHANGE_TIFS = (*RETAIL_TIFS, "FILL_OR_KILL")
FLAGS = ("allOrNone", "strictLimit", "bestLimit")
EXTRAS: tuple[Document, ...] = (
    *({}, {}, {}, {"participateDontInitiate": True}, {"minQty": "2"}),
    *({flag: True} for flag in FLAGS),
)
PROBABILITIES = tuple({"probability": odds} for odds in ("always", "1/3", "1/20"))


class Choices(Protocol):
    """A source of decisions."""

    def below(self, bound: int, /) -> int:
        """Return an integer in [0, bound)."""

    def between(self, low: int, high: int, /) -> int:
        """Return an integer in [low, high]."""

    def log_between(self, low: int, high: int, /) -> int:
        """Return an integer in [low, high], small ones more often."""

    def chance(self, numerator: int, denominator: int, /) -> bool:
        """Return True with that probability."""

    def choice(self, options: Sequence[T], /) -> T:
        """Return one of the options."""


class Terms(NamedTuple):
    """What a rule must know about an instrument.

    Tick and price band are in units of 1/`price_scale` dollar, the smallest order in units of
    1/`qty_scale` contract.
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

    def dollars(self, price: int) -> str:
        """Return a price in price units as dollars."""
        return decimal_text(price, self.price_scale)

    def contracts(self, qty: int) -> str:
        """Return a quantity in its units as contracts."""
        return decimal_text(qty, self.qty_scale)

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


def call(plane: str, caller: str, address: tuple[str, str], body: Document | None) -> Document:
    """Return a step that calls an address such as ("post", path) or ("rpc", method)."""
    key, value = address
    document = {"plane": plane, key: value, "as": caller}
    return {"call": document if body is None else {**document, "json": body}}


# ---- orders


PriceRule = Callable[[Terms, Choices], int]


def scripted_order(
    choices: Choices,
    terms: Terms,
    participants: Sequence[str] = SCRIPTED,
    most: int = 200,
    price: PriceRule = Terms.price,
) -> Document:
    """Return the `order` of a scenario's step, which is also a body of POST /_sim/v1/orders."""
    order: Document = {
        "as": choices.choice(participants),
        "symbol": terms.symbol,
        "side": choices.choice(("buy", "sell")),
        "price": terms.dollars(price(terms, choices)),
        "qty": terms.contracts(choices.log_between(terms.minimum, max(terms.minimum, most))),
        "tif": choices.choice(("gtc", "gtc", "day", "ioc", "fok")),
    }
    if choices.chance(1, 10):
        order["post_only"] = True
    return order


def exchange_order(
    choices: Choices,
    terms: Terms,
    *,
    types: Sequence[str] = (*(LIMIT,) * 5, MARKET_TO_LIMIT),
    extras: Sequence[Document] = EXTRAS,
    most: int = 5_000,
    price: PriceRule = Terms.price,
) -> Document:
    """Return a body of POST /v1/trading/orders."""
    body: Document = {
        "type": choices.choice(types),
        "side": choices.choice(SIDES),
        "symbol": terms.symbol,
        "orderQty": str(choices.log_between(terms.minimum, max(terms.minimum, most))),
        "timeInForce": f"TIME_IN_FORCE_{choices.choice(EXCHANGE_TIFS)}",
    }
    if body["type"] == LIMIT:
        body["price"] = str(price(terms, choices))
    return {**body, **choices.choice(extras)}


def retail_order(
    choices: Choices,
    terms: Terms,
    intents: Sequence[str] = INTENTS,
    most: int = 100,
    price: PriceRule = Terms.price,
) -> Document:
    """Return a body of POST /v1/orders on the retail API, with whole contracts."""
    least = -(-terms.minimum // terms.qty_scale)
    return {
        "marketSlug": terms.symbol,
        "intent": f"ORDER_INTENT_{choices.choice(intents)}",
        "type": LIMIT,
        "price": {"value": terms.dollars(price(terms, choices)), "currency": "USD"},
        "quantity": choices.log_between(least, max(least, most)),
        "tif": f"TIME_IN_FORCE_{choices.choice(RETAIL_TIFS)}",
    }


def limit_order(choices: Choices, terms: Terms, most: int) -> Document:
    """Return the common fields of a limit order over gRPC, priced near the middle."""
    return {
        "type": LIMIT,
        "side": choices.choice(SIDES),
        "symbol": terms.symbol,
        "orderQty": str(choices.log_between(1, most)),
        "price": str(terms.near_middle(choices)),
    }


# ---- faults


def fault(
    choices: Choices,
    planes: Sequence[str] = (),
    operations: Sequence[str] = (),
    matches: Sequence[Document] = PROBABILITIES,
) -> Document:
    """Return a fault of any kind, on one of these planes and operations: an entry of `faults`.

    `matches` are the conditions to choose from; no `planes` means all of them.
    """
    kinds = [kind for kind in KINDS if not planes or set(planes) & set(kind.planes)]
    kind = choices.choice([kind for kind in kinds if kind.name != "code"])
    plane = choices.choice([one for one in kind.planes if not planes or one in planes])
    value: Any = {
        "status": choices.choice((429, 500, 503, 504)),
        "delay": choices.choice(("1ms", "2s", "6s")),
    }.get(kind.name, True)
    match: Document = {"plane": plane, **choices.choice(matches)}
    if operations:
        match["operation"] = choices.choice(operations)
    elif plane == "engine":
        match["operation"] = choices.choice(ENGINE)
    act: Document = {kind.name: value}
    if kind.name == "status" and plane in CALLS and choices.chance(1, 2):
        act["handled"] = True
    return {"match": match, "act": act, "times": choices.between(1, 20), "ttl": "1h"}


# ---- steps


class MarketSteps:
    """Steps that need only markets and scripted participants, each drawn as a document."""

    def __init__(self, choices: Choices, markets: Sequence[Terms]) -> None:
        self._choices = choices
        self._markets = markets

    def market(self) -> Terms:
        return self._choices.choice(self._markets)

    def order(self) -> Document:
        return {"order": scripted_order(self._choices, self.market())}

    def state(self) -> Document:
        return {"state": {"symbol": self.market().symbol, "state": self._choices.choice(STATES)}}

    def settlement(self) -> Document:
        symbol = self.market().symbol
        return {"settle": {"symbol": symbol, "price": self._choices.choice(("0", "0.5", "1"))}}

    def cancel(self, participants: Sequence[str] = SCRIPTED) -> Document:
        return {"cancel": {"as": self._choices.choice(participants), "all": True}}

    def wait(self) -> Document:
        return {"advance": self._choices.choice(WAITS)}
