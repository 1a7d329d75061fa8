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
from sim.run.client.client import Connection, Http, Response, Rpc
from sim.run.simulation import Simulation
from tests.kit import APPLICATION, FEW_GAMES, PERSON, Desk, begin, order, retail_order

__all__ = [
    "APPLICATION",
    "FEW_GAMES",
    "PERSON",
    "account",
    "enter",
    "firm",
    "in_state",
    "journalled",
    "key",
    "open_ones",
    "operate",
    "order",
    "poor_firm",
    "quiet",
    "retail_order",
    "rpc_trader",
    "trader",
]


@contextmanager
def journalled(path: Path, scenario: str = "quickstart", **options: Any) -> Iterator[Desk]:
    """Begin a run whose journal is written to a file."""
    with path.open("w+b", buffering=0) as file:
        yield begin(scenario, journal=file, **options)


def firm(sim: Simulation, scopes: int = 14) -> Firm:
    """Return the first firm with a client id and at least a number of scopes."""
    return next(
        result
        for result in sim.exchange.firms.all()
        if result.client_id and len(result.scopes) >= scopes
    )


def poor_firm(sim: Simulation) -> Firm:
    """Return a firm that lacks scopes."""
    return next(
        firm for firm in sim.exchange.firms.all() if firm.client_id and len(firm.scopes) < 5
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
        instrument
        for instrument in sim.exchange.instruments
        if trading.state(instrument.symbol) is InstrumentState.OPEN
    )


def in_state(sim: Simulation, state: InstrumentState) -> Instrument:
    """Return an instrument in a lifecycle state."""
    return next(
        instrument
        for instrument in sim.exchange.instruments
        if sim.exchange.trading.state(instrument.symbol) is state
    )


def trader(world: Connection, user: int = 0) -> Http:
    """Exchange REST as a participant of the first partner."""
    result = firm(world.simulation)
    return world.exchange(result, result.users[user].name)


def rpc_trader(world: Connection, user: int = 0) -> Rpc:
    """Exchange gRPC as a participant of the first partner."""
    result = firm(world.simulation)
    return world.rpc(result, result.users[user].name)


def account(world: Connection, user: int = 0) -> str:
    """The account of a participant of the first partner."""
    return firm(world.simulation).users[user].account


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
