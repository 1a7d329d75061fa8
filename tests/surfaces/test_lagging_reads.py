"""Reads that trail show what reads without a lag showed that long ago (assumption
`retail.read_lag`): orders, open orders and positions after any trading of two accounts.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from sim.core.model.instrument import Instrument
from sim.kernel.instants import NS_PER_MS
from sim.run.client.client import Http
from tests.kit import Desk, begin, retail_order

STEPS, STEP_MS = 12, 100
MARKETS = (
    "world: {games: 0, instruments: [{symbol: a, tick_size: '0.01', state: OPEN},"
    " {symbol: b, tick_size: '0.01', state: OPEN}]}\n"
)
ORDER = ("id", "state", "cumQuantity", "leavesQuantity", "avgPx", "quantity")
POSITION = ("netPosition", "qtyBought", "qtySold", "cost", "realized", "fees", "updateTime")


def open_orders(client: Http, markets: list[str]) -> list[Any]:
    """What a list of open orders shows, oldest first."""
    rows = client.get("/v1/orders/open", params={"slugs": markets}).json()["orders"]
    return [tuple(str(row[key]) for key in ORDER) for row in rows]


def view(client: Http, slugs: list[str], placed: list[str]) -> dict[str, Any]:
    """What reads show of the moment."""
    result: dict[str, Any] = {}
    for of in ([], slugs[:1]):
        result[f"open {of}"] = open_orders(client, of)
    for order_id in placed:
        answer = client.get(f"/v1/order/{order_id}")
        if answer.status == 200:
            result[order_id] = [str(answer.json()["order"][key]) for key in ORDER]
    held = client.get("/v1/portfolio/positions").json()["positions"]
    for slug, row in held.items():
        result[slug] = [str(row[key]) for key in POSITION]
    return result


def act(rng: Random, client: Http, markets: list[Instrument]) -> str:
    """Place an order, or cancel an open one; the id of a new order."""
    working = open_orders(client, [])
    if working and rng.random() < 0.3:
        client.post(f"/v1/order/{rng.choice(working)[0]}/cancel", json={})
        return ""
    intent = rng.choice(("BUY_LONG", "BUY_SHORT", "SELL_LONG", "SELL_SHORT"))
    body = retail_order(rng.choice(markets), intent, rng.randint(48, 52), rng.randint(1, 3))
    answer = client.post("/v1/orders", json=body)
    return str(answer.json()["id"]) if answer.status == 200 else ""


@pytest.mark.parametrize("seed", range(2))
def test_a_read_that_trails_shows_what_was_shown_that_long_ago(seed: int) -> None:
    world, rng = begin(more=MARKETS, limits=False), Random(seed)
    sim = world.simulation
    sim.control("preset.set", "", {"name": "ideal"})
    slugs = ["a", "b"]
    markets = [sim.exchange.instruments.require(slug) for slug in slugs]
    clients = [world.retail(two_account) for two_account in two_accounts(world)]
    placed: list[list[str]] = [[], []]
    past = []
    for _ in range(STEPS):
        world.advance(f"{STEP_MS}ms")
        for _ in range(rng.randint(0, 3)):
            caller = rng.randrange(2)
            if created := act(rng, clients[caller], markets):
                placed[caller].append(created)
        past.append([view(clients[party], slugs, placed[party]) for party in (0, 1)])
    assert sum(len(of) for of in placed) > STEPS // 2
    now = sim.now
    world.advance("1ms")
    for ago, were in enumerate(reversed(past)):
        for more in (0, STEP_MS - 1):
            if ago == 0 and more:
                continue
            lag = (sim.now - now) // NS_PER_MS + ago * STEP_MS - more
            sim.control("assumption.set", "retail.read_lag", {"value": f"{lag}ms"})
            observed = [view(clients[party], slugs, placed[party]) for party in (0, 1)]
            assert observed == were, (seed, ago, more)


def two_accounts(world: Desk) -> list[Any]:
    """Keys of two accounts."""
    keys = {key.account: key for key in world.core.firms.api_keys()}
    return list(keys.values())[:2]
