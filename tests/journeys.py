"""Helpers that many tests share: a participant who may trade, an instrument that no other
participant trades, and an order in its units.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sim.api.pipeline.inputs import Outcome
from sim.core.identity.firms import ApiKey, Firm
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, Http, Response, Rpc, connect
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation

# The quickstart with few of its generated games: a clock that goes over weeks takes the edges of
# hundreds of them otherwise, and a view of every instrument shows thousands.
FEW_GAMES = "name: few-games\nextends: quickstart\nworld: {games: 4}\n"

# Body of POST /v1/kyc/start for an applicant who is approved at once.
PERSON = {
    "external_id": "surface-1",
    "ssn": "555443333",
    "first_name": "Ada",
    "last_name": "Ray",
    "date_of_birth": "1990-01-02",
    "email": "ada@example.com",
    "phone_number": "+14155551212",
    "address": {
        "address_line_1": "1 Main St",
        "city": "Springfield",
        "state": "IL",
        "postal_code": "62701",
    },
    "agreement": {"version": "PMX.ISV.SANDBOX.v1.0", "signed_at": "2026-09-08T17:00:00Z"},
    "ip_address": "203.0.113.7",
}


# Another application, in the form that a firm sends.
APPLICATION: dict[str, Any] = {
    "external_id": "c-1",
    "ssn": "123456789",
    "first_name": "Ada",
    "last_name": "Moreno",
    "date_of_birth": "1990-04-12",
    "email": "ada@example.com",
    "phone_number": "+14155550101",
    "address": {
        "address_line_1": "1 Main St",
        "city": "Austin",
        "state": "TX",
        "postal_code": "78701",
    },
    "agreement": {"version": "1", "signed_at": "2026-09-01T00:00:00Z"},
    "ip_address": "203.0.113.9",
}


@contextmanager
def journalled(path: Path, scenario: str = "quickstart", **options: Any) -> Iterator[Connection]:
    """A connection to a run whose journal is written to a file."""
    with path.open("w+b", buffering=0) as file:
        yield connect(Simulation(load_scenario(scenario), journal=file, **options))


def firm(sim: Simulation, scopes: int = 14) -> Firm:
    """Return the first firm with a client id and at least a number of scopes."""
    return next(
        found
        for found in sim.exchange.firms.all()
        if found.client_id and len(found.scopes) >= scopes
    )


def poor_firm(sim: Simulation) -> Firm:
    """Return a firm that lacks scopes."""
    return next(
        found for found in sim.exchange.firms.all() if found.client_id and len(found.scopes) < 5
    )


def key(sim: Simulation, index: int = 0) -> ApiKey:
    """Return a retail key."""
    return sim.exchange.firms.api_keys()[index]


def quiet(sim: Simulation, tick: int | None = None) -> Instrument:
    """Return an open instrument whose book is empty."""
    trading = sim.exchange.trading
    for instrument in sim.exchange.instruments:
        if trading.state(instrument.symbol) is InstrumentState.OPEN and (
            tick is None or instrument.tick == tick
        ):
            book = trading.book(instrument.symbol)
            if not book.levels(Side.BUY, 1) and not book.levels(Side.SELL, 1):
                return instrument
    raise LookupError("no open instrument has an empty book")


def open_ones(sim: Simulation) -> Iterator[Instrument]:
    """Yield the open instruments, in order of listing. Take the first few: iterating all is slow."""
    trading = sim.exchange.trading
    return (
        found
        for found in sim.exchange.instruments
        if trading.state(found.symbol) is InstrumentState.OPEN
    )


def in_state(sim: Simulation, state: InstrumentState) -> Instrument:
    """Return an instrument in a lifecycle state."""
    return next(
        found
        for found in sim.exchange.instruments
        if sim.exchange.trading.state(found.symbol) is state
    )


def trader(world: Connection, user: int = 0) -> Http:
    """Exchange REST as a participant of the first partner."""
    found = firm(world.simulation)
    return world.exchange(found, found.users[user].name)


def rpc_trader(world: Connection, user: int = 0) -> Rpc:
    """Exchange gRPC as a participant of the first partner."""
    found = firm(world.simulation)
    return world.rpc(found, found.users[user].name)


def account(world: Connection, user: int = 0) -> str:
    """The account of a participant of the first partner."""
    return firm(world.simulation).users[user].account


def order(
    instrument: Instrument, side: str, cents: int, contracts: int, **fields: object
) -> dict[str, object]:
    """Body of POST /v1/trading/orders: a limit order at a price in cents, good till canceled."""
    return {
        "type": "ORDER_TYPE_LIMIT",
        "side": f"SIDE_{side.upper()}",
        "symbol": instrument.symbol,
        "orderQty": str(contracts * instrument.qty_scale),
        "price": str(cents * instrument.price_scale // 100),
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        **fields,
    }


def retail_order(
    instrument: Instrument, intent: str, cents: int, contracts: float, **fields: object
) -> dict[str, object]:
    """Body of POST /v1/orders."""
    return {
        "marketSlug": instrument.symbol,
        "intent": f"ORDER_INTENT_{intent}",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": f"{cents / 100:.2f}", "currency": "USD"},
        "quantity": contracts,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        **fields,
    }


def enter(
    world: Connection,
    instrument: Instrument,
    side: str,
    cents: int,
    contracts: int,
    *,
    user: int = 0,
    **fields: object,
) -> Response:
    """Answer to an `order` of a participant of the first partner."""
    body = order(instrument, side, cents, contracts, **fields)
    return trader(world, user).post("/v1/trading/orders", json=body)


def operate(world: Connection, action: str, subject: str = "", /, **body: Any) -> Outcome:
    """Outcome of an operator's action; its effects are delivered."""
    return world.absorb(world.simulation.control(action, subject, body))
