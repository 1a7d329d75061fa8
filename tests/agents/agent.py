"""An agent without a model: one way of working for every task, with nothing but the tools' answers.

It starts an exchange, runs the client, reads the history, asks why for every refused call, judges
the calls, and compares each order with what was meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from tests.agents.desk_client import DeskClient

Use = Callable[..., Awaitable[str]]
CENTS, CONTRACTS = 45, 10
SCENARIO = """name: desk
extends: quickstart
world:
  games: 0
  instruments: [{symbol: rain, tick_size: "0.005"}]
"""
MEANT = "buy 10 at 0.45,"


def rows_of(answer: str) -> list[Any]:
    """The rows of the fenced block of an answer."""
    inside = re.search(r"```json\n(.*?)\n```", answer, re.DOTALL)
    return [json.loads(line) for line in inside[1].splitlines()] if inside else []


async def begin(use: Use, bug: str) -> tuple[DeskClient, str]:
    """Start an exchange; a client of it with a bug, and a symbol to trade."""
    rows = rows_of(await use("start", scenario=SCENARIO))
    client = DeskClient(
        rows[0],
        next(row["api_key"] for row in rows if "api_key" in row),
        next(row["partner"] for row in rows if "partner" in row),
        bug,
    )
    return client, "rain"


async def clock(use: Use) -> float:
    """The exchange's time in seconds."""
    (facts,) = rows_of(await use("status"))
    return datetime.fromisoformat(facts["now"]).timestamp()


async def exercise(use: Use, client: DeskClient, symbol: str, *, fault: bool) -> list[str]:
    """Run the client as its author would; ids of the orders that it knows of."""
    (terms,) = rows_of(
        await use("call", plane="control", path=f"/_sim/v1/state/instruments?symbol={symbol}")
    )
    scale = terms["instruments"][0]["price_scale"]
    client.now = await clock(use)
    client.balance()
    if fault:
        act = {"status": 503, "handled": True}
        await use("fault", operation="InsertOrder", act=act, times=1)
    placed = []
    for pause in ("10m", "1m"):
        status, answer = client.buy(symbol, CENTS, CONTRACTS, scale)
        if status == 200:
            placed.append(answer["orderId"])
            client.cancel(answer["orderId"], symbol)
        await use("advance", by=pause)
        client.now = await clock(use)
    return placed


async def investigate(use: Use, orders: list[str]) -> str:
    """Everything that the tools say about what the client did."""
    notes = [listed := await use("history", kind="request")]
    calls = rows_of(listed)
    if not any("/trading/orders" in call["title"] for call in calls):
        notes.append("the order never left the client")
    for call in calls:
        if re.match(r"[45]\d\d", call["result"]):
            notes.append(await use("explain", subject=str(call["seq"])))
    for order in orders[:1]:
        story = await use("explain", subject=order)
        accepted = [line for line in map(str, rows_of(story)) if "accepted:" in line]
        notes += [f"is not what was meant: {line}" for line in accepted if MEANT not in line]
    notes.append(await use("judge"))
    return "\n".join(notes)
