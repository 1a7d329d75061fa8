"""Blocks of the control plane: its calls with bodies and answers, and its views."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from generator.scenario_keys import link
from sim.kernel import resources
from sim.read.tables import as_markdown
from sim.run.actors.operator.action import Action
from sim.run.actors.operator.views import VIEWS, view
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.control.call import Endpoint
from sim.server.control.routes import ROUTES


def calls() -> str:
    """Every call of the control plane, with an example of its body and of its answer."""
    reference = json.loads(resources.path("fixtures", "control-reference.json").read_bytes())
    return "\n\n".join(_call(endpoint, reference[endpoint.call]) for endpoint in ROUTES)


def _call(endpoint: Endpoint, described: dict[str, Any]) -> str:
    parts = [f"### `{endpoint.call}`", _sentence(described["does"])]
    if endpoint.query:
        parts.append("Query: " + ", ".join(f"`{name}`" for name in endpoint.query))
    if endpoint.keys:
        names = ", ".join(f"`{key}`" for key in endpoint.keys)
        parts.append(f"Keys of the body: {names}{_described_in(endpoint)}")
    for part in ("body", "answer"):
        if example := described.get(part):
            parts.append(f'```json title="{part}"\n{_pretty(example)}\n```')
    return "\n\n".join(parts)


def _described_in(endpoint: Endpoint) -> str:
    """A link to the table that describes the keys of a body, where there is one."""
    entry = endpoint.body.entry if isinstance(endpoint.body, Action) else endpoint.body
    name = getattr(entry, "__name__", "")
    position = link(name)
    return f" ([their meaning]({position}))" if position else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _pretty(value: object) -> str:
    """JSON on one line where it fits, else indented."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 90 else json.dumps(value, ensure_ascii=False, indent=1)


def views() -> str:
    """Every view of `GET /state`, and a row of each in a world that has some."""
    table = [
        {
            "view": f"`{name}`",
            "one row for each": _ROW_OF[name],
            "narrowed by": ", ".join(f"`{by}`" for by in VIEWS[name].filters),
        }
        for name in VIEWS
    ]
    rows = (f'```json title="{name}"\n{_pretty(row)}\n```' for name, row in _rows())
    return "\n\n".join([as_markdown(table), "A row of each:", *rows])


def _rows() -> Iterator[tuple[str, object]]:
    """A row of each view: one of the scenario's own things where there is one."""
    simulation = Simulation(load_scenario(_BUSY_WORLD))
    while not simulation.script.done and (due := simulation.next_due()) is not None:
        simulation.advance_to(due)
    failed = [result for result in simulation.script.results if result.failures]
    assert not failed, failed
    for name in VIEWS:
        displayed = view(simulation.engine, name)[name]
        own = [row for row in displayed if any(word in json.dumps(row) for word in _OWN)]
        yield name, own[-1] if own else displayed[0]


# What only the scenario below names.
_OWN = ("rain", "accounts/8f3a61c4", "users/mara-voss", "person-1")
# A world in which every view has a row.
_BUSY_WORLD = """
name: busy
extends: [quickstart, kyc-approval-window]
world:
  instruments:
    - {symbol: alive, tick_size: "0.01", state: OPEN}
    - {symbol: rain, tick_size: "0.01", state: OPEN}
  receivers: [{name: hooks, firm: firms/atlas, answers: [{status: 500}, {status: 200}]}]
participants: {makers: [{name: deep, symbols: alive, spread: "0.04"}]}
faults: [{match: {operation: CreateOrder, nth: 99}, act: {status: 503}}]
maintenance: [{begins: 2027-01-01T00:00:00Z, length: 1h}]
steps:
  - fund: {account: firms/atlas-fcm/accounts/8f3a61c4, amount: "10", source: atlas-bank}
  - subscribe: {name: orders, rpc: OrderEntryAPI.CreateOrderSubscription, as: mara-voss}
  - order: {as: mara-voss, symbol: rain, side: buy, price: "0.40", qty: "10"}
  - order: {as: taker, symbol: rain, side: sell, price: "0.40", qty: "4"}
  - call: {plane: exchange, post: /v1/report/trades/search, as: mara-voss, json: {}}
    expect: {refused: maybe}
"""
_ROW_OF = {
    "accounts": "account, with its positions",
    "books": "book that is not empty",
    "assumptions": "assumption, with its value",
    "breakers": "firm's webhook circuit breaker",
    "deliveries": "attempt to deliver a webhook",
    "receivers": "scripted receiver of webhooks",
    "fills": "execution of an account that traded, with its fee",
    "faults": "fault, also after it has ended",
    "funding": "transaction through a funding source",
    "instruments": "instrument that exists",
    "ledger": "movement of cash of an account",
    "limits": "rate limit and caller that has used it",
    "maintenance": "maintenance window, present or announced",
    "orders": "order",
    "participants": "simulated trader on an instrument",
    "performance": "change of an account's position or its mark: profit and loss, fees",
    "quotes": "change of an account's own best bid or offer",
    "quirks": "quirk, with its odds",
    "sessions": "open stream",
    "timers": "timer that waits",
    "trades": "trade",
    "users": "participant of a firm",
    "verifications": "verification",
}
