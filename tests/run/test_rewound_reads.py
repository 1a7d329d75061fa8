"""About every read of every plane, before and after a rewind to an earlier moment and forward
again, and in a replay of the journal: the bytes are the same. Each time they are read in a fork.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.contract.contract import Plane, load_contract
from sim.core.identity.firms import Firm
from sim.kernel.journal_reader import read_journal
from sim.read.replay import simulation_of, verify
from sim.run.client.client import Connection, Http, connect
from sim.run.engine import snapshots
from tests.deeds import inputs_since
from tests.journeys import enter, firm, key, order, quiet, retail_order, rpc_trader, trader

# Reads among the operations that are sent with POST, and bodies that they need.
POSTED = re.compile(r"(List|Search|Get|Download|Preview)\w*$")
UNLIMITED = (
    "name: rewound\nextends: quickstart\nworld: {games: 4}\nquirks: {unfiltered_search_times_out: never}\n"
    'limits: {retail: "off", public: "off", exchange_rest: "off"}\n'
)
SKIPPED = {"GetSigningKeys", "GetIssuerMetadata"}  # they do not depend on the run
QUERIES = {
    "GetPriceHistory": "?symbol={symbol}&fixedInterval=INTERVAL_1D&fidelity=60",
    "GetAssetPriceHistory": "?assets=crypto:btc&from=1788800000&bucket=ASSET_PRICE_BUCKET_1M",
    "SearchEvents": "?query=lakers",
    "ListEvents": "?limit=40&closed=false",
    "ListMarkets": "?limit=40",
    "ListProviderTeams": "?provider=PROVIDER_SPORTRADAR",
    "GetSportsTeamsForProvider": "?provider=SPORTS_DATA_PROVIDER_SPORTRADAR",
    "ListAccountPositions": "?name={account}",
    "GetPositionLedger": "?account={account}",
    "DownloadPositionLedger": "?account={account}",
    "GetAccountBalanceLedger": "?account={account}",
    "DownloadBalanceLedger": "?account={account}",
    "ListCombos": "?symbol={symbol}",
    "GetCombos": "?symbol={symbol}",
    "GetQuotes": "?userFilter=USER_FILTER_SELF",
    "ListQuotes": "?userFilter=USER_FILTER_SELF",
}
BODIES: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "GetAccountBalance": lambda names: {"name": names["account"], "currency": "USD"},
    "ListAccountPositions": lambda names: {"name": names["account"]},
    "ListAccountBalances": lambda names: {"name": names["account"]},
    "GetInstrumentMetadata": lambda names: {"symbols": [names["symbol"]]},
    "GetTradeStats": lambda names: {"symbol": names["symbol"]},
    "ListInstruments": lambda names: {"pageSize": 30},
}


def names_of(world: Connection) -> dict[str, str]:
    """What the reads are about: things that the deeds below have made."""
    sim = world.simulation
    trades, orders = sim.exchange.trading.trades, sim.exchange.trading.orders.rows
    user = firm(sim).users[0]
    mine = next(result for result in orders if result.account == user.account)
    retail = next(result for result in orders if result.account == key(sim).account)
    symbol = next(iter(trades)).symbol
    executions = sim.exchange.trading.executions
    event = sim.exchange.reference.event_of(symbol)
    assert event is not None
    return {
        "symbol": symbol,
        "account": user.account,
        "order": mine.id,
        "retail order": retail.id,
        "execution": next(row.id for row in executions if row.order.id == mine.id),
        "event": str(event.id),
        "event slug": event.slug,
        "market": next(str(market.id) for market in event.markets if market.slug == symbol),
        "game": event.game_id,
        "transaction": "",
    }


def filled(path: str, names: dict[str, str], plane: Plane) -> str:
    """A path of the contract with its parts."""
    parts = {
        "symbol": names["symbol"],
        "order_id": names["retail order" if plane == "retail" else "order"],
        "exec_id": names["execution"],
        "partner_key": "sportradar",
        "external_id": names["game"],
        "referral_code": "ABC",
        "transaction_id": "t",
        "series_id": "1",
    }
    if "{slug}" in path:
        parts["slug"] = {
            "/v1/events": names["event slug"],
            "/v1/market/": names["symbol"],
            "/v1/markets": names["symbol"],
            "/v2/leagues": "nba",
            "/v2/sports": "basketball",
            "/v2/tags": "nba",
        }.get(path[:10], names["symbol"])
        if path.startswith(("/v2/leagues", "/v2/sports", "/v2/tags")):
            parts["slug"] = "nba" if "sports" not in path else "basketball"
    if "{id}" in path:
        parts["id"] = names["market"] if "/market/" in path else names["event"]
        if "tags" in path or "series" in path or "subjects" in path:
            parts["id"] = "1"
    return re.sub(r"\{([^}]*)\}", lambda result: parts[result[1]], path)


def reads() -> Iterator[tuple[str, Plane, str, str]]:
    """Every binding of the contract that reads: name, plane, verb and path."""
    for operation in load_contract().operations:
        _, _, name = operation.name.partition(".")
        if name in SKIPPED or name.endswith("Stream"):
            continue
        for verb, path, *_ in operation.bindings:
            if verb == "GET" or (verb == "POST" and POSTED.match(name)):
                for plane in operation.planes:
                    yield name, plane, verb, path


READS = list(reads())


def client(world: Connection, plane: Plane) -> Http:
    match plane:
        case "gateway":
            return world.gateway
        case "retail":
            return world.retail(key(world.simulation))
    return trader(world)


class Reader(Connection):
    """Clients of a fork. Their assertions are none that clients of the run have sent."""

    def assertion(self, firm: Firm, **claims: object) -> str:
        return super().assertion(firm, **{"jti": f"reader-{self.simulation.seq}"} | claims)


def noticed(world: Connection, names: dict[str, str]) -> dict[str, bytes]:
    """What each read answers, read in a fork, so that reading leaves no trace in the run."""
    fork = Reader(world.simulation.fork())
    result = {}
    for name, plane, verb, path in READS:
        address = filled(path, names, plane)
        http = client(fork, plane)
        if verb == "GET":
            answer = http.get(address + QUERIES.get(name, "").format(**names))
        else:
            body = BODIES.get(name, lambda names: {})(names)
            if name == "PreviewOrder":
                created = retail_order if plane == "retail" else order
                instrument = fork.simulation.exchange.instruments.require(names["symbol"])
                body = created(instrument, "BUY_LONG" if plane == "retail" else "buy", 40, 1)
                body = {"request": body}
            answer = http.post(address, json=body)
        result[f"{plane} {verb} {path}"] = b"%d %b" % (answer.status, answer.body)
    return result


def live(world: Connection) -> None:
    """Trade on two planes, hold streams open, let time pass and an operator act."""
    sim = world.simulation
    instrument = quiet(sim)
    rpc_trader(world).stream("DropCopyAPI.CreateDropCopySubscription")
    rpc_trader(world).stream("OrderEntryAPI.CreateOrderSubscription")
    enter(world, instrument, "buy", 60, 3)
    world.retail(key(sim)).post("/v1/orders", json=retail_order(instrument, "BUY_SHORT", 60, 2))
    world.advance("40s")
    enter(world, instrument, "sell", 70, 5)
    world.retail(key(sim)).post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 20, 1))


def live_on(world: Connection) -> None:
    sim = world.simulation
    instrument = quiet(sim)
    enter(world, instrument, "buy", 55, 4, user=1)
    world.retail(key(sim)).post("/v1/orders/open/cancel", json={})
    world.absorb(sim.control("price.tick", "crypto:btc", {"price": "61000.5"}))
    world.absorb(sim.control("instrument.state", instrument.symbol, {"state": "SUSPENDED"}))
    world.advance("2h")


@pytest.fixture
def travelled() -> tuple[Connection, io.BytesIO]:
    file = io.BytesIO()
    world = connect(Simulation(load_scenario(UNLIMITED), journal=file))
    live(world)
    return world, file


def test_reads_are_the_same_after_a_rewind_and_forward_again(
    travelled: tuple[Connection, io.BytesIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FIRST_DISTANCE", 3)
    world, file = travelled
    sim = world.simulation
    names = names_of(world)
    there, early = (sim.seq, sim.now, sim.digest), noticed(world, names)
    answered = [name for name, answer in early.items() if answer.startswith(b"200 ")]
    assert len(early) > 100
    assert len(answered) > 80, sorted(set(early) - set(answered))
    live_on(world)
    end, late = (sim.seq, sim.now), noticed(world, names)
    assert sum(early[name] != late[name] for name in early) > 20
    inputs = inputs_since(sim, there[0])

    sim.rewind(seq=there[0])
    assert (sim.seq, sim.now, sim.digest) == there
    assert noticed(world, names) == early
    for input_ in inputs:
        sim.handle(input_)
    assert (sim.seq, sim.now) == end  # but for the frames of streams, which the rewind has ended
    assert noticed(world, names) == late

    header, lines = read_journal(io.BytesIO(file.getvalue()))
    again = simulation_of(header)
    verify(again, lines)
    assert again.digest == sim.digest
    assert noticed(connect(again), names) == late
