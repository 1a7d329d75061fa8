"""The clients of a session on every surface, and what they record with other values of assumptions
and quirks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sim import Simulation
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, Http, Response, Stream
from tests.evidence.in_process import record
from tests.journeys import firm, key, order, quiet, rpc_trader, trader

# A small world, so that a replay is quick.
SMALL = "world: {games: 0, automated_windows: false}\n"
BOOKS = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
TALKS = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
POSITIONS = "DropCopyAPI.CreatePositionChangeSubscription"
Part: TypeAlias = Callable[["Clients"], None]
ADA = {"user_id": "ada", "email": "ada@example.com", "display_name": "Ada", "first_name": "Ada"}


class Clients:
    """The clients, and the resources that they use."""

    def __init__(self, world: Connection) -> None:
        self.world, sim = world, world.simulation
        self.buyer, self.seller = trader(world), trader(world, 1)
        self.partner = world.exchange(firm(sim))
        self.key = key(sim)
        self.retail = world.retail(self.key)
        self.rpc = rpc_trader(world)
        keys = {api_key.account: api_key for api_key in reversed(sim.exchange.firms.api_keys())}
        self.users = [world.retail(item) for item in reversed(keys.values())]  # one key each
        self.market: Instrument = quiet(sim)
        open_ones = (
            instrument
            for instrument in sim.exchange.instruments
            if _is_open(sim, instrument.symbol)
        )
        self.symbols = [open_one.symbol for open_one in open_ones]

    def order(self, client: Http, side: str, cents: int, contracts: int, **more: Any) -> str:
        """Enter an order as a partner's participant; return its id, "none" if it is refused."""
        body = order(self.market, side, cents, contracts, **more)
        return notices(client.post("/v1/trading/orders", json=body), "orderId")


def _is_open(sim: Simulation, symbol: str) -> bool:
    return sim.exchange.trading.state(symbol) is InstrumentState.OPEN


def notices(answer: Response, *path: str | int) -> str:
    """Return a value in an answer, or "none"."""
    try:
        value: Any = answer.json()
        for part in path:
            value = value[part]
    except (LookupError, TypeError, ValueError):
        return "none"
    return str(value)


def ask(socket: Stream, request_id: str, kind: str, **more: Any) -> None:
    asked = {"requestId": request_id, "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}", **more}
    socket.send(json.dumps({"subscribe": asked}).encode())


def base(folder: Path) -> Path:
    """Return the scenario with which recordings are compared."""
    file = folder / "small.yaml"
    file.write_text(f"extends: quickstart\nname: small\n{SMALL}")
    return file


def planted(
    folder: Path,
    name: str,
    settings: dict[str, dict[str, str]],
    seed: int = 7,
    parts: Sequence[Part] = (),
) -> Path:
    """Record the session with other values of `assumptions` and odds of `quirks`, by name."""
    file = folder / f"{name}.ndjson"
    clients = Clients(record(file, variant(folder, name, settings), seed))
    for part in parts:
        part(clients)
    return file


def variant(folder: Path, name: str, settings: dict[str, dict[str, str]]) -> str:
    """Return the scenario with other values of `assumptions` and odds of `quirks`, by name."""
    file = folder / f"{name}.yaml"
    lines = "".join(f"{key}: {json.dumps(values)}\n" for key, values in settings.items())
    file.write_text(f"extends: {base(folder)}\nname: {name}\n{lines}")
    return str(file)
