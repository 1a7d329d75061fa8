"""hypothesis strategies for users: requests that are right, requests with exactly one thing wrong,
markets, faults, jumps of the clock, whole scenarios.

```python
terms = Terms.of(exchange.control("GET", "/state/instruments")["instruments"][0])     # or
Terms("my-symbol")

@given(order=exchange_orders(terms)) def test_my_client_places_what_is_right(order): ...

@given(spoilt=nearly_valid_exchange_orders(terms)) def test_my_client_says_what_is_wrong(spoilt):
...      # spoilt.body, spoilt.wrong, spoilt.statuses
```

Right means: accepted on an open instrument, by an account with ten thousand dollars that has
nothing on the other side of that book. Everything drawn is plain JSON. Prices and sizes of the
exchange are scaled integers as text, those of the retail API and of scenarios are dollars and
contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sim.analysis.search.fault_points import FAULT_KINDS

Document = dict[str, Any]
Documents = SearchStrategy[Document]

MOST_CONTRACTS = 50


class Terms(NamedTuple):
    """What a strategy must know of an instrument: tick and band in price units of 1/`price_scale`
    dollar, smallest order in units of 1/`qty_scale` contract.
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
        """Terms of a row of GET /_sim/v1/state/instruments."""
        scale = int(row["price_scale"])
        low, high = (int(Decimal(row["price_limit"][side]) * scale) for side in ("low", "high"))
        return cls(
            row["symbol"],
            int(Decimal(row["tick_size"]) * scale),
            scale,
            int(row["fractional_qty_scale"]),
            int(row["minimum_trade_qty"]),
            low,
            high,
        )

    def dollars(self, price: int) -> str:
        """A price in price units as dollars."""
        return _text(price, self.price_scale)

    def contracts(self, qty: int) -> str:
        """A quantity in its units as contracts."""
        return _text(qty, self.qty_scale)


class Spoilt(NamedTuple):
    """A request with one thing wrong: the body, what is wrong in words, and the HTTP statuses that
    may say so.
    """

    body: Document
    wrong: str
    statuses: tuple[int, ...]


def _text(units: int, scale: int) -> str:
    return f"{Decimal(units) / Decimal(scale):f}"


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
    """Bodies of POST /v1/trading/orders that are accepted: limit orders of every time in force that
    needs no book.
    """
    body = {
        "type": "ORDER_TYPE_LIMIT",
        "side": draw(st.sampled_from(("SIDE_BUY", "SIDE_SELL"))),
        "symbol": terms.symbol,
        "orderQty": str(draw(sizes(terms))),
        "price": str(draw(prices(terms))),
    }
    tif = draw(st.sampled_from(("", "DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")))
    if tif:
        body["timeInForce"] = f"TIME_IN_FORCE_{tif}"
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
    return {
        "marketSlug": terms.symbol,
        "intent": draw(st.sampled_from(("ORDER_INTENT_BUY_LONG", "ORDER_INTENT_BUY_SHORT"))),
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": terms.dollars(draw(prices(terms))), "currency": "USD"},
        "quantity": float(terms.contracts(draw(sizes(terms)))),
        "tif": (
            "TIME_IN_FORCE_"
            + draw(st.sampled_from(("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")))
        ),
    }


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
    draw: st.DrawFn, terms: Terms, who: tuple[str, ...] = ("maker", "taker", "noise")
) -> Document:
    """Orders of scripted participants: `order` of a scenario's step, body of POST /_sim/v1/orders."""
    return {
        "as": draw(st.sampled_from(who)),
        "symbol": terms.symbol,
        "side": draw(st.sampled_from(("buy", "sell"))),
        "price": terms.dollars(draw(prices(terms))),
        "qty": terms.contracts(draw(sizes(terms))),
        "tif": draw(st.sampled_from(("gtc", "day", "ioc"))),
    }


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
        "tick_size": _text(tick, scale),
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


@st.composite
def faults(
    draw: st.DrawFn, planes: tuple[str, ...] = (), operations: tuple[str, ...] = ()
) -> Document:
    """Faults of every kind, on these planes (default: all) and operations: an entry of a scenario's
    `faults`, body of POST /_sim/v1/faults.
    """
    attack = draw(
        st.sampled_from([one for one in FAULT_KINDS if not planes or set(planes) & set(one.planes)])
    )
    match: Document = {
        "plane": draw(
            st.sampled_from([plane for plane in attack.planes if not planes or plane in planes])
        )
    }
    if operations:
        match["operation"] = draw(st.sampled_from(operations))
    when = draw(st.sampled_from(("nth", "every", "probability", "")))
    if when == "probability":
        match["probability"] = draw(st.sampled_from(("1/2", "1/10")))
    elif when:
        match[when] = draw(st.integers(1, 5))
    found: Document = {"match": match, "act": dict(attack.act)}
    if draw(st.booleans()):
        found["times"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        found["ttl"] = draw(st.sampled_from(("1s", "1m", "1h")))
    return found


def fault_plans(
    planes: tuple[str, ...] = (), operations: tuple[str, ...] = (), most: int = 4
) -> SearchStrategy[list[Document]]:
    """Several faults at once: a scenario's `faults`."""
    return st.lists(faults(planes, operations), max_size=most)


@st.composite
def scenarios(draw: st.DrawFn, most_steps: int = 12) -> Document:
    """Whole scenarios: one or two drawn instruments, scripted orders, states, settlements, time,
    faults. `sim.testing.as_yaml` writes one as a file.
    """
    entries = [
        draw(instruments(symbol)) for symbol in ("drawn-a", "drawn-b")[: draw(st.integers(1, 2))]
    ]
    terms = [terms_of(entry) for entry in entries]
    one = st.sampled_from(terms)
    step = st.one_of(
        one.flatmap(order_steps).map(lambda order: {"order": order}),
        one.flatmap(order_steps).map(lambda order: {"order": order}),
        st.builds(
            lambda where, state: {"state": {"symbol": where.symbol, "state": state}},
            one,
            st.sampled_from(("OPEN", "SUSPENDED", "HALTED", "CLOSED")),
        ),
        st.builds(
            lambda where, price: {"settle": {"symbol": where.symbol, "price": price}},
            one,
            st.sampled_from(("0", "0.5", "1")),
        ),
        st.builds(
            lambda who: {"cancel": {"as": who, "all": True}},
            st.sampled_from(("maker", "taker", "noise")),
        ),
        clock_jumps().map(lambda span: {"advance": span}),
        faults(("gateway", "retail", "exchange")).map(lambda fault: {"fault": fault}),
        st.just({"call": {"plane": "gateway", "get": "/v1/markets"}}),
    )
    return {
        "name": "drawn",
        "extends": "quickstart",
        "seed": draw(st.integers(0, 1_000)),
        "world": {"instruments": entries},
        "faults": draw(fault_plans(("gateway", "retail", "exchange", "webhook"))),
        "steps": draw(st.lists(step, min_size=1, max_size=most_steps)),
    }
