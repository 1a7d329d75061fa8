"""hypothesis strategies for users: valid requests, requests with exactly one thing wrong, markets,
faults, jumps of the clock, whole scenarios.

`sim.search.moves` has the rules of what may be drawn, which `sim sweep --fuzz` and `sim hunt` use
too; `HypothesisChoices` lets hypothesis take their decisions.

```python
terms = Terms("my-symbol")  # or Terms.of(a row of GET /_sim/v1/state/instruments)

@given(order=exchange_orders(terms))
def test_my_client_places_valid_orders(order): ...

@given(malformed=nearly_valid_exchange_orders(terms))
def test_my_client_reports_what_is_wrong(malformed): ...  # malformed.body, .wrong, .statuses
```

Valid means: accepted on an open instrument, for an account with ten thousand dollars that
has no order on the other side of that book. Everything drawn is plain JSON. Prices and sizes
of the exchange are scaled integers as text; those of the retail API and of scenarios are
dollars and contracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sim.core.model.quantities import decimal_text
from sim.search.moves import orders
from sim.search.moves.table import MOVES
from sim.search.moves.view import LIMIT, SCRIPTED, Act, Document, Terms, View

Documents = SearchStrategy[Document]
T = TypeVar("T")

MOST_CONTRACTS = 50


class HypothesisChoices:
    """`sim.kernel.entropy.Choices` by hypothesis, which tries small values first."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def below(self, bound: int) -> int:
        return self._draw(st.integers(0, bound - 1))

    def between(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    log_between = between

    def chance(self, numerator: int, denominator: int) -> bool:
        return self._draw(st.integers(1, denominator)) <= numerator

    def choice(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))


class MalformedRequest(NamedTuple):
    """A request with one thing wrong: its body, what is wrong, and the HTTP statuses to expect."""

    body: Document
    wrong: str
    statuses: tuple[int, ...]


# ---- prices and sizes


def prices(terms: Terms) -> SearchStrategy[int]:
    """Prices on the grid and inside the band, in price units; the ends of the band come often."""
    first, last = -(-terms.low // terms.tick), terms.high // terms.tick
    ticks = st.one_of(st.sampled_from((first, last)), st.integers(first, last))
    return ticks.map(lambda count: count * terms.tick)


def prices_off_the_grid(terms: Terms) -> SearchStrategy[int]:
    """Prices between two ticks, or above the band and below 1.50 dollars, in price units."""
    first, last = terms.high // terms.tick + 1, 3 * terms.price_scale // (2 * terms.tick)
    above = st.integers(first, last).map(lambda count: count * terms.tick)
    if terms.tick == 1:
        return above
    between = st.integers(terms.low, terms.high).filter(lambda price: price % terms.tick)
    return st.one_of(between, above)


def sizes(terms: Terms, most: int = MOST_CONTRACTS) -> SearchStrategy[int]:
    """Quantities up to `most` contracts, in quantity units; the smallest order comes often."""
    largest = max(terms.minimum, most * terms.qty_scale)
    return st.one_of(st.just(terms.minimum), st.integers(terms.minimum, largest))


# ---- orders


@st.composite
def exchange_orders(draw: st.DrawFn, terms: Terms) -> Document:
    """Bodies of POST /v1/trading/orders that are accepted: limit orders that need no book."""
    body = orders.exchange_order(
        HypothesisChoices(draw),
        terms,
        types=(LIMIT,),
        extras=({},),
        most=MOST_CONTRACTS * terms.qty_scale,
        price=lambda terms, _: draw(prices(terms)),
    )
    if draw(st.booleans()):
        del body["timeInForce"]
    if draw(st.booleans()):
        body["clordId"] = draw(st.uuids(version=4).map(str))
    return body


@st.composite
def nearly_valid_exchange_orders(draw: st.DrawFn, terms: Terms) -> MalformedRequest:
    """Bodies of POST /v1/trading/orders with one thing wrong."""
    body = draw(exchange_orders(terms))
    off = str(draw(prices_off_the_grid(terms)))
    ioc = {"timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
    return _malformed(
        draw,
        body,
        ("no side", {"side": None}),
        ("no type", {"type": None}),
        ("no symbol", {"symbol": None}),
        ("no quantity", {"orderQty": None}),
        ("no price", {"price": None}),
        ("an unknown symbol", {"symbol": f"{terms.symbol}-no"}, 404),
        ("a quantity below zero", {"orderQty": f"-{body['orderQty']}"}),
        ("a quantity that is no number", {"orderQty": "many"}),
        ("a price off the grid or outside the band", {"price": off}, 409, 422),
        ("an unknown side", {"side": "SIDE_UP"}),
        ("good till time without a time", {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"}),
        ("post-only that must trade at once", {"participateDontInitiate": True, **ioc}),
        ("a stop price without a stop", {"stopPrice": body["price"]}),
    )


@st.composite
def retail_orders(draw: st.DrawFn, terms: Terms) -> Document:
    """Bodies of POST /v1/orders on the retail API that are accepted."""
    choices, intents = HypothesisChoices(draw), ("BUY_LONG", "BUY_SHORT")
    body = orders.retail_order(choices, terms, intents, price=lambda terms, _: draw(prices(terms)))
    return {**body, "quantity": float(terms.contracts(draw(sizes(terms))))}


@st.composite
def nearly_valid_retail_orders(draw: st.DrawFn, terms: Terms) -> MalformedRequest:
    """Bodies of POST /v1/orders with one thing wrong that the API refuses at once.

    What the engine rejects comes later, as an execution.
    """
    body = draw(retail_orders(terms))
    ioc = {"tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
    return _malformed(
        draw,
        body,
        ("no market", {"marketSlug": None}),
        ("an unknown market", {"marketSlug": f"{terms.symbol}-no"}, 404),
        ("no intent", {"intent": None}),
        ("an unknown intent", {"intent": "ORDER_INTENT_HOLD"}),
        ("no price", {"price": None}),
        ("a price that is no number", {"price": {"value": "half", "currency": "USD"}}),
        ("another currency", {"price": {**body["price"], "currency": "EUR"}}),
        ("no quantity", {"quantity": None}),
        ("a quantity below zero", {"quantity": -body["quantity"]}),
        ("post-only that must trade at once", {"participateDontInitiate": True, **ioc}),
        ("good till date without a date", {"tif": "TIME_IN_FORCE_GOOD_TILL_DATE"}),
    )


@st.composite
def order_steps(
    draw: st.DrawFn, terms: Terms, participants: tuple[str, ...] = SCRIPTED
) -> Document:
    """Orders of scripted participants: `order` of a step, body of POST /_sim/v1/orders."""
    most = MOST_CONTRACTS * terms.qty_scale
    order = orders.scripted_order(
        HypothesisChoices(draw), terms, participants, most, lambda terms, _: draw(prices(terms))
    )
    if order["tif"] in ("ioc", "fok"):
        order.pop("post_only", None)  # refused: such an order never rests
    return order


def _malformed(draw: st.DrawFn, body: Document, *mistakes: tuple[Any, ...]) -> MalformedRequest:
    """A body with one of the mistakes: (what is wrong, changed keys, statuses unless 400).

    A key that changes to None is left out.
    """
    wrong, changes, *statuses = draw(st.sampled_from(mistakes))
    changed = {key: value for key, value in {**body, **changes}.items() if value is not None}
    return MalformedRequest(changed, wrong, tuple(statuses) or (400,))


# ---- markets

_TICKS = {100: (1, 5), 1_000: (1, 5, 10), 10_000: (25, 50, 100)}  # by price scale
_GRIDS = [(scale, tick) for scale, ticks in _TICKS.items() for tick in ticks]


@st.composite
def price_grids(draw: st.DrawFn) -> Document:
    """Ticks and scales of instruments.

    Keys `tick_size`, `price_scale`, `fractional_qty_scale` and `minimum_trade_qty` of an entry.
    """
    scale, tick = draw(st.sampled_from(_GRIDS))
    qty_scale = draw(st.sampled_from((1, 10, 100, 1_000)))
    return {
        "tick_size": decimal_text(tick, scale),
        "price_scale": scale,
        "fractional_qty_scale": qty_scale,
        "minimum_trade_qty": draw(st.sampled_from((1, qty_scale))),
    }


@st.composite
def instruments(draw: st.DrawFn, symbol: str = "drawn") -> Document:
    """Open instruments: an entry of `world.instruments`, or the body of POST /_sim/v1/instruments.

    `terms_of` returns the terms of one.
    """
    return {"symbol": symbol, "state": "OPEN", **draw(price_grids())}


def terms_of(entry: Document) -> Terms:
    """Terms of an instrument that `instruments` drew."""
    scale = int(entry["price_scale"])
    tick = int(Decimal(entry["tick_size"]) * scale)
    qty_scale, minimum = int(entry["fractional_qty_scale"]), int(entry["minimum_trade_qty"])
    return Terms(entry["symbol"], tick, scale, qty_scale, minimum, tick, scale - tick)


@st.composite
def nearly_valid_instruments(draw: st.DrawFn, symbol: str = "drawn") -> MalformedRequest:
    """Entries with one thing wrong; `wrong` is the key.

    The control plane answers 400 and names the key; a scenario is refused at the line of the key.
    """
    return _malformed(
        draw,
        draw(instruments(symbol)),
        ("symbol", {"symbol": None}),
        ("tick_size", {"tick_size": "0"}),
        ("tick_size", {"tick_size": "0.0000001"}),
        ("price_scale", {"price_scale": 0}),
        ("state", {"state": "AJAR"}),
        ("expiration", {"expiration": "tomorrow"}),
        ("ticksize", {"ticksize": "0.01"}),
    )


# ---- time and faults


def clock_jumps() -> SearchStrategy[str]:
    """Spans to move the clock by: usual waits of a client, past a day roll, past a maintenance."""
    short = st.integers(1, 120_000).map(lambda milliseconds: f"{milliseconds}ms")
    return st.one_of(short, st.sampled_from(_USUAL_SPANS))


_USUAL_SPANS = ("0s", "1s", "5s", "30s", "3m", "10m", "26m", "1h", "6h", "1d", "7d")
# Conditions under which a fault is injected, besides its plane and operation.
_MATCHES: tuple[Document, ...] = (
    {},
    *({"nth": n} for n in (1, 2, 5)),
    *({"every": n} for n in (1, 3)),
    *orders.PROBABILITIES,
)


@st.composite
def faults(
    draw: st.DrawFn, planes: tuple[str, ...] = (), operations: tuple[str, ...] = ()
) -> Document:
    """Faults of every kind: an entry of a scenario's `faults`, or the body of POST /_sim/v1/faults.

    They affect only these planes and operations; none means all.
    """
    return orders.fault(HypothesisChoices(draw), planes, operations, _MATCHES)


def fault_plans(
    planes: tuple[str, ...] = (), operations: tuple[str, ...] = (), most: int = 4
) -> SearchStrategy[list[Document]]:
    """Several faults at once: a scenario's `faults`."""
    return st.lists(faults(planes, operations), max_size=most)


_CALLED = ("gateway", "retail", "exchange")


_MARKET_MOVES = (
    *("order by script", "order by script", "instrument.state", "instrument.settle"),
    *("cancel", "wait"),
)


@st.composite
def _market_steps(draw: st.DrawFn, terms: list[Terms]) -> Document:
    """A step of scripted participants, of markets or of time, which may be refused.

    Orders come twice as often.
    """
    move = MOVES[draw(st.sampled_from(_MARKET_MOVES))]
    step = next(move.draw(HypothesisChoices(draw), View((), (), terms, now=0)))
    document = step.step() if isinstance(step, Act) else step
    return {**document, "expect": {"refused": "maybe"}}


@st.composite
def scenarios(draw: st.DrawFn, most_steps: int = 12) -> Document:
    """Whole scenarios: one or two instruments, scripted orders, states, settlements, time, faults.

    `sim.testing.as_yaml` writes one as a file.
    """
    symbols = ("drawn-a", "drawn-b")[: draw(st.integers(1, 2))]
    entries = [draw(instruments(symbol)) for symbol in symbols]
    step = st.one_of(
        _market_steps([terms_of(entry) for entry in entries]),
        faults(_CALLED).map(lambda fault: {"fault": fault}),
        st.just({"call": {"plane": "gateway", "get": "/v1/markets"}}),
    )
    return {
        "name": "drawn",
        "extends": "quickstart",
        "seed": draw(st.integers(0, 1_000)),
        "world": {"instruments": entries},
        "faults": draw(fault_plans((*_CALLED, "webhook"))),
        "steps": draw(st.lists(step, min_size=1, max_size=most_steps)),
    }
