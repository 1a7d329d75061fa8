"""A scenario with something wrong in it is told so, or runs: it never ends in a mistake of ours."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.analysis.headless_run import run_scenario
from sim.loader.load import load_submitted
from sim.scenario.yaml_tree import ScenarioError, read_file, read_text, value_of

SCENARIOS = Path(__file__).parent.parent / "scenarios"
QUICK = (
    "combo-by-quote",
    "halt-and-suspension",
    "injected-faults",
    "kyc-approval-window",
    "money-through-a-bank",
    "price-time-priority",
    "reacting-to-events",
)
# A word for nearly every key of the format.
WHOLE = """
name: whole
extends: quickstart
environment: sandbox
preset: realistic
clock: {start: 2026-07-09T01:58:00-04:00, mode: manual}
world:
  games: 0
  instruments:
    - {symbol: a, tick_size: "0.005", price_scale: 1000, fractional_qty_scale: 100, state: OPEN, event: my, line: "1", event_outcome: directional, minimum_trade_qty: 1}
  accounts: [{name: firms/atlas-fcm/accounts/8f3a61c4, collateral_return: true}]
  assets: [{id: "crypto:zzz", price: "5"}]
  orders: [{as: maker, symbol: a, side: buy, price: "0.3", qty: "1"}]
faults: [{match: {operation: SearchTrades, nth: 3}, act: {status: 503}, ttl: 1h, times: 2}]
maintenance: [{begins: +5m, length: 10m, lead: 1m}]
limits: {retail: 20/s}
quirks: {session_revocation: 1/3}
assumptions: {engine.latency: 1s}
participants:
  makers: [{name: m, symbols: a, spread: "0.04", every: 5s, sizes: ["10"]}]
  takers: [{name: t, symbols: a, rate: 20/m, size: {low: "1", high: "8"}}]
  noise: [{name: n, symbols: a, rate: 10/m}]
  fair_prices: [{symbol: a, path: [{at: +0s, price: "0.4"}, {at: +1m, price: "0.5"}]}]
steps:
  - {at: +1s, price: {asset: "crypto:zzz", price: "6"}}
  - {at: +30s, fund: {account: maker, amount: "5"}}
  - {subscribe: {name: s, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription, as: firms/atlas/users/mara-voss, json: {symbols: [a]}}}
  - {call: {plane: grpc, rpc: OrderEntryAPI.GetOpenOrders, as: firms/atlas/users/mara-voss, json: {symbols: [a]}}, expect: {code: 0}}
  - {event: {slug: my, home_score: 1, away_score: 0, live: true, periods: {Q1: [1, 2]}, goals: [{team: home, minute: 4}]}}
  - {settle: {symbol: a, price: "1"}}
  - {at: +30s, expect: {book: {symbol: a, bids: ["0.4 x 5"]}, trades: {symbol: a, count: 0}, order: {clord_id: x, state: NEW}, position: {account: maker, symbol: a, net: "1"}}}
"""
DOCUMENTS: list[dict[str, Any]] = [
    *(value_of(read_file(SCENARIOS / f"{name}.yaml")) for name in QUICK),
    value_of(read_text(WHOLE, "whole")),
]
VALUES = (
    *(
        "",
        "0",
        "-1",
        "1",
        "5",
        "999999999999999999999",
        "0.5",
        "1e9",
        "nan",
        "abc",
        "true",
        "null",
        "2026-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ),
    *(
        "0001-01-01T00:00:00Z",
        "+1s",
        "-1s",
        "1/0",
        "2/3",
        "x" * 300,
        "é",
        "firms/x",
        "${a}",
        "*",
        "OPEN",
        "buy",
        "1ns",
        "100000h",
        "crypto:btc",
        ".",
    ),
    *([], {}, ["a"], {"a": "b"}, None, 7, True),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document but what it extends."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        if key != "extends":
            yield (*at, key)
            yield from places(item, (*at, key))


def test_the_whole_document_is_sound() -> None:
    assert not run_scenario(load_scenario(WHOLE)).broken


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_wrong_in_a_scenario_is_told_and_everything_else_runs(
    data: st.DataObject,
) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(list(places(document))))
        holder = document
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()) or isinstance(holder, list):
            holder[last] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
        else:
            del holder[last]
    try:
        scenario = load_submitted(document, SCENARIOS)
    except ScenarioError as error:
        assert all(problem.message for problem in error.problems)
        return
    report = run_scenario(scenario, simulation=Simulation(scenario), check_invariants=False)
    assert not report.broken, report.broken
    assert not [
        failure for result in report.results for failure in result.failures if "mistake" in failure
    ]
