"""hypothesis strategies for users: valid requests, requests with exactly one thing wrong, markets,
faults, jumps of the clock, whole scenarios.

What may be drawn is said by the rules of `sim.analysis.search.generator`, which `sim sweep --fuzz`
uses too; `HypothesisChoices` lets hypothesis take their decisions.

```python
terms = Terms("my-symbol")  # or Terms.of(a row of GET /_sim/v1/state/instruments)

@given(order=exchange_orders(terms))
def test_my_client_places_valid_orders(order): ...

@given(spoilt=nearly_valid_exchange_orders(terms))
def test_my_client_reports_what_is_wrong(spoilt): ...  # spoilt.body, .wrong, .statuses
```

Valid means: accepted on an open instrument, by an account with ten thousand dollars that has nothing
on the other side of that book. Everything drawn is plain JSON. Prices and sizes of the
exchange are scaled integers as text, those of the retail API and of scenarios are dollars and
contracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sim.analysis.search import generator
from sim.analysis.search.generator import Document, MarketSteps, Terms
from sim.core.model.quantities import decimal_text

Documents = SearchStrategy[Document]
T = TypeVar("T")

MOST_CONTRACTS = 50


class HypothesisChoices:
    """`generator.Choices` made by hypothesis, which tries small values first and shrinks to them."""

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


class Spoilt(NamedTuple):
    """A request with one thing wrong: the body, what is wrong in words, and the HTTP statuses that
    may say so.
    """

    body: Document
    wrong: str
    statuses: tuple[int, ...]


# ---- prices and sizes


def prices(terms: Terms) -> SearchStrategy[int]:
    """Prices on the grid and inside the band, in price units; the ends of the band come often."""
    first, last = -(-terms.low // terms.tick), terms.high // terms.tick
    return st.one_of(st.sampled_from((first, last)), st.integers(first, last)).map(
        lambda ticks: ticks * terms.tick
    )


def prices_off_the_grid(terms: Terms) -> SearchStrategy[int]:
    """Prices between two ticks or outside the band, in price units, above zero and below a dollar
    and a half.
    """
    between = (
        st.integers(terms.low, terms.high).filter(lambda price: price % terms.tick)
        if terms.tick > 1
        else st.nothing()
    )
    above = st.integers(
        terms.high // terms.tick + 1, 3 * terms.price_scale // (2 * terms.tick)
    ).map(lambda ticks: ticks * terms.tick)
    return st.one_of(between, above)


def sizes(terms: Terms, most: int = MOST_CONTRACTS) -> SearchStrategy[int]:
    """Quantities from the smallest order to `most` contracts, in quantity units; the smallest comes
    often.
    """
    return st.one_of(
        st.just(terms.minimum),
        st.integers(terms.minimum, max(terms.minimum, most * terms.qty_scale)),
    )


# ---- orders


@st.composite
def exchange_orders(draw: st.DrawFn, terms: Terms) -> Document:
    """Bodies of POST /v1/trading/orders that are accepted: limit orders that need no book."""
    most = MOST_CONTRACTS * terms.qty_scale
    body = generator.exchange_order(
        HypothesisChoices(draw),
        terms,
        types=(generator.LIMIT,),
        extras=({},),
        most=most,
        price=lambda terms, _: draw(prices(terms)),
    )
    if draw(st.booleans()):
        del body["timeInForce"]
    if draw(st.booleans()):
        body["clordId"] = draw(st.uuids(version=4).map(str))
    return body


@st.composite
def nearly_valid_exchange_orders(draw: st.DrawFn, terms: Terms) -> Spoilt:
    """Accepted orders with one thing spoilt."""
    body = draw(exchange_orders(terms))
    off = str(draw(prices_off_the_grid(terms)))
    spoils: list[tuple[str, Document, tuple[int, ...]]] = [
        ("no side", {"side": None}, (400,)),
        ("no type", {"type": None}, (400,)),
        ("no symbol", {"symbol": None}, (400,)),
        ("no quantity", {"orderQty": None}, (400,)),
        ("no price", {"price": None}, (400,)),
        ("an unknown symbol", {"symbol": f"{terms.symbol}-no"}, (404,)),
        ("a quantity below zero", {"orderQty": f"-{body['orderQty']}"}, (400,)),
        ("a quantity that is no number", {"orderQty": "many"}, (400,)),
        ("a price off the grid or outside the band", {"price": off}, (409, 422)),
        ("an unknown side", {"side": "SIDE_UP"}, (400,)),
        (
            "good till a time that is not said",
            {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME"},
            (400,),
        ),
        (
            "post-only that must trade at once",
            {"participateDontInitiate": True, "timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"},
            (400,),
        ),
        ("a stop price without a stop", {"stopPrice": body["price"]}, (400,)),
    ]
    return _spoilt(draw, body, spoils)


@st.composite
def retail_orders(draw: st.DrawFn, terms: Terms) -> Document:
    """Bodies of POST /v1/orders on the retail API that are accepted."""
    body = generator.retail_order(
        HypothesisChoices(draw),
        terms,
        ("BUY_LONG", "BUY_SHORT"),
        price=lambda terms, _: draw(prices(terms)),
    )
    return {**body, "quantity": float(terms.contracts(draw(sizes(terms))))}


@st.composite
def nearly_valid_retail_orders(draw: st.DrawFn, terms: Terms) -> Spoilt:
    """Accepted retail orders with one thing spoilt that is refused at once; what the engine rejects
    comes later, as an execution.
    """
    body = draw(retail_orders(terms))
    spoils: list[tuple[str, Document, tuple[int, ...]]] = [
        ("no market", {"marketSlug": None}, (400,)),
        ("an unknown market", {"marketSlug": f"{terms.symbol}-no"}, (404,)),
        ("no intent", {"intent": None}, (400,)),
        ("an unknown intent", {"intent": "ORDER_INTENT_HOLD"}, (400,)),
        ("no price", {"price": None}, (400,)),
        ("a price that is no number", {"price": {"value": "half", "currency": "USD"}}, (400,)),
        ("another currency", {"price": {**body["price"], "currency": "EUR"}}, (400,)),
        ("no quantity", {"quantity": None}, (400,)),
        ("a quantity below zero", {"quantity": -body["quantity"]}, (400,)),
        (
            "post-only that must trade at once",
            {"participateDontInitiate": True, "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"},
            (400,),
        ),
        ("good till a date that is not said", {"tif": "TIME_IN_FORCE_GOOD_TILL_DATE"}, (400,)),
    ]
    return _spoilt(draw, body, spoils)


@st.composite
def order_steps(
    draw: st.DrawFn, terms: Terms, who: tuple[str, ...] = generator.SCRIPTED
) -> Document:
    """Orders of scripted participants: `order` of a step, body of POST /_sim/v1/orders."""
    most = MOST_CONTRACTS * terms.qty_scale
    order = generator.scripted_order(
        HypothesisChoices(draw), terms, who, most, lambda terms, _: draw(prices(terms))
    )
    if order["tif"] in ("ioc", "fok"):
        order.pop("post_only", None)  # refused: such an order never rests
    return order


def _spoilt(
    draw: st.DrawFn, body: Document, spoils: list[tuple[str, Document, tuple[int, ...]]]
) -> Spoilt:
    wrong, changes, statuses = draw(st.sampled_from(spoils))
    spoilt = {**body, **changes}
    return Spoilt(
        {key: value for key, value in spoilt.items() if value is not None}, wrong, statuses
    )


# ---- markets


@st.composite
def price_grids(draw: st.DrawFn) -> Document:
    """Ticks and scales of instruments: `tick_size`, `price_scale`, `fractional_qty_scale`,
    `minimum_trade_qty` of an entry.
    """
    scale, tick = draw(
        st.sampled_from(
            (
                (100, 1),
                (100, 5),
                (1_000, 1),
                (1_000, 5),
                (1_000, 10),
                (10_000, 25),
                (10_000, 50),
                (10_000, 100),
            )
        )
    )
    qty_scale = draw(st.sampled_from((1, 10, 100, 1_000)))
    return {
        "tick_size": decimal_text(tick, scale),
        "price_scale": scale,
        "fractional_qty_scale": qty_scale,
        "minimum_trade_qty": draw(st.sampled_from((1, qty_scale))),
    }


@st.composite
def instruments(draw: st.DrawFn, symbol: str = "drawn") -> Document:
    """Open instruments: an entry of a scenario's `world.instruments`, body of POST
    /_sim/v1/instruments. `terms_of` knows its terms.
    """
    return {"symbol": symbol, "state": "OPEN", **draw(price_grids())}


def terms_of(entry: Document) -> Terms:
    """Terms of what `instruments` drew."""
    scale = int(entry["price_scale"])
    tick = int(Decimal(entry["tick_size"]) * scale)
    return Terms(
        entry["symbol"],
        tick,
        scale,
        int(entry["fractional_qty_scale"]),
        int(entry["minimum_trade_qty"]),
        tick,
        scale - tick,
    )


@st.composite
def nearly_valid_instruments(draw: st.DrawFn, symbol: str = "drawn") -> Spoilt:
    """Entries with one thing wrong; the control plane answers 400 and names the key, a scenario is
    refused where it stands.
    """
    entry = draw(instruments(symbol))
    spoils: list[tuple[str, Document, tuple[int, ...]]] = [
        ("symbol", {"symbol": None}, (400,)),
        ("tick_size", {"tick_size": "0"}, (400,)),
        ("tick_size", {"tick_size": "0.0000001"}, (400,)),
        ("price_scale", {"price_scale": 0}, (400,)),
        ("state", {"state": "AJAR"}, (400,)),
        ("expiration", {"expiration": "tomorrow"}, (400,)),
        ("ticksize", {"ticksize": "0.01"}, (400,)),
    ]
    return _spoilt(draw, entry, spoils)


# ---- time and trouble


def clock_jumps() -> SearchStrategy[str]:
    """Spans to move the clock by: an instant, the usual waits of a client, past a day roll, past a
    weekly maintenance window.
    """
    short = st.integers(1, 120_000).map(lambda milliseconds: f"{milliseconds}ms")
    return st.one_of(
        short,
        st.sampled_from(("0s", "1s", "5s", "30s", "3m", "10m", "26m", "1h", "6h", "1d", "7d")),
    )


# Conditions under which a fault strikes, besides its plane and operation.
_MATCHES: tuple[Document, ...] = (
    {},
    *({"nth": n} for n in (1, 2, 5)),
    *({"every": n} for n in (1, 3)),
    *generator.PROBABILITIES,
)


@st.composite
def faults(
    draw: st.DrawFn, planes: tuple[str, ...] = (), operations: tuple[str, ...] = ()
) -> Document:
    """Faults of every kind: an entry of a scenario's `faults`, body of POST /_sim/v1/faults.

    Only on these planes (none: all) and operations.
    """
    return generator.fault(HypothesisChoices(draw), planes, operations, _MATCHES)


def fault_plans(
    planes: tuple[str, ...] = (), operations: tuple[str, ...] = (), most: int = 4
) -> SearchStrategy[list[Document]]:
    """Several faults at once: a scenario's `faults`."""
    return st.lists(faults(planes, operations), max_size=most)


_CALLED = ("gateway", "retail", "exchange")


@st.composite
def _market_steps(draw: st.DrawFn, terms: list[Terms]) -> Document:
    """A step of scripted participants, markets, time or faults."""
    steps = MarketSteps(HypothesisChoices(draw), terms)
    drawing = draw(
        st.sampled_from(
            (steps.order, steps.order, steps.state, steps.settlement, steps.cancel, steps.wait)
        )
    )
    return drawing()


@st.composite
def scenarios(draw: st.DrawFn, most_steps: int = 12) -> Document:
    """Whole scenarios: one or two instruments, scripted orders, states, settlements, time, faults.

    `sim.testing.as_yaml` writes one as a file.
    """
    entries = [
        draw(instruments(symbol)) for symbol in ("drawn-a", "drawn-b")[: draw(st.integers(1, 2))]
    ]
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
