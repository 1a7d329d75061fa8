"""What the tests of decisions share: worlds, and the journal's record of a decision.

A test leads to one situation through the public surface and returns the decision that the journal
has of it. `decides` then asserts that the decision names the rule in the test's name, and that the
history and `explain` tell the same to whoever asks about its subject.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from sim.core.invariants import violations
from sim.core.model.instrument import Instrument
from sim.read.explain import explain
from sim.run.client.client import Connection, Http, Response, Stream
from tests.journeys import FEW_GAMES, firm, operate, order, trader
from tests.kit import begin

# Rules that a test of this folder led to, by the tests.
MET: dict[str, list[str]] = {}

_RULE_IN_NAME = re.compile(r"test_([a-z]\d{1,2})_")


class Decided(NamedTuple):
    """A decision in the journal: the number of its input, its rule and facts, and the subject that
    can be asked about it ("" for none).
    """

    world: Connection
    seq: int
    rule: str
    facts: dict[str, Any]
    subject: str = ""


def decides(situation: Callable[..., Decided]) -> Callable[..., None]:
    """Make a test of a situation: the rule in its name decided it, and whoever asks hears so."""
    name = re.match(_RULE_IN_NAME, situation.__name__)
    assert name is not None, f"{situation.__name__} names no rule"
    rule = name[1].upper()
    MET.setdefault(rule, []).append(situation.__name__)

    @functools.wraps(situation)
    def test(*fixtures: Any, **named: Any) -> None:
        decided = situation(*fixtures, **named)
        assert decided.rule == rule, decided[1:]
        assert violations(decided.world.simulation.exchange.trading) == []
        if decided.subject:
            explanation = explain(decided.world.simulation, decided.subject)
            assert explanation is not None
            reasons = [(link["seq"], link.get("rule")) for link in explanation["chain"]]
            assert (decided.seq, rule) in reasons, reasons

    test.__annotations__["return"] = None
    return test


# ---- worlds


def world_of(text: str = "", preset: str = "") -> Connection:
    """A world of the quickstart with few games, and more lines of a scenario."""
    world = begin(FEW_GAMES + text)
    if preset:
        world.simulation.control("preset.set", "", {"name": preset})
    return world


def assume(world: Connection, name: str, value: str) -> None:
    """Set an assumption."""
    operate(world, "assumption.set", name, value=value)


def listed(world: Connection, symbol: str = "market", **terms: Any) -> Instrument:
    """A new instrument with an empty book, open unless its terms say otherwise."""
    body = {"symbol": symbol, "tick_size": "0.01"} | (
        {} if "schedule" in terms or "start" in terms else {"state": "OPEN"}
    )
    operate(world, "instrument.create", **body | terms)
    return world.simulation.exchange.instruments.require(symbol)


def move(world: Connection, instrument: Instrument, *states: str) -> None:
    """Move an instrument through states, as an operator."""
    for state in states:
        operate(world, "instrument.state", instrument.symbol, state=state)


def enter(
    world: Connection,
    instrument: Instrument,
    side: str,
    cents: int,
    contracts: int = 1,
    user: int = 0,
    **fields: Any,
) -> Response:
    """Answer to a limit order of a participant of the first firm."""
    body = {
        name: value
        for name, value in (order(instrument, side, cents, contracts) | fields).items()
        if value is not None
    }
    return trader(world, user).post("/v1/trading/orders", json=body)


def entered(*args: Any, **fields: Any) -> str:
    """Id of an order that was accepted."""
    answer = enter(*args, **fields)
    assert answer.status == 200, answer
    return str(answer.json()["orderId"])


def account_of(world: Connection, user: int = 0) -> str:
    """The account of a participant of the first firm."""
    return firm(world.simulation).users[user].account


def firm_client(world: Connection) -> Http:
    """Exchange REST as the first firm itself."""
    return world.exchange(firm(world.simulation))


# ---- the journal


def records(world: Connection, since: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the inputs of a run and their outcomes: (number, outcome)."""
    for line in world.simulation.journal.lines(since):
        record = msgspec.json.decode(line)
        if "out" in record:
            yield record["seq"], record["out"]


def refusal(world: Connection) -> Decided:
    """The refusal of the last call."""
    seq, out = list(records(world, world.simulation.seq - 1))[-1]
    assert out.get("status", 0) >= 400 or out.get("code", 0), out
    return Decided(world, seq, out.get("rule", ""), out.get("facts", {}), f"request/{seq:016x}")


def refused_action(world: Connection) -> Decided:
    """The refusal of the last action of an operator."""
    seq, out = list(records(world, world.simulation.seq - 1))[-1]
    assert out["message"], out
    return Decided(world, seq, out.get("rule", ""), out.get("facts", {}))


def event(world: Connection, kind: str, *, ask: str = "", **fields: Any) -> Decided:
    """The last event of a kind that has these fields; `ask` is its subject for `explain`."""
    matching = [
        (seq, row)
        for seq, out in records(world)
        for row in out.get("events", ())
        if row["event"] == kind and fields.items() <= row.items()
    ]
    assert matching, f"the journal has no {kind} with {fields}"
    seq, row = matching[-1]
    return Decided(world, seq, row.get("rule", ""), row.get("facts", {}), ask)


def report(world: Connection, order_id: str, position: int = -1) -> Decided:
    """A report of an order: the last one, or that at a position."""
    reports = [
        (seq, row)
        for seq, out in records(world)
        for row in out.get("events", ())
        if row["event"] == "Executed" and row["execution"]["order"]["id"] == order_id
    ]
    seq, row = reports[position]
    return Decided(world, seq, row.get("rule", ""), row.get("facts", {}), f"order/{order_id}")


def ending(world: Connection, stream: Stream) -> Decided:
    """The end of a stream."""
    for seq, out in records(world):
        for row in out.get("closed", ()):
            if row["stream"] == stream.number:
                rule, facts = row.get("rule", ""), row.get("facts", {})
                return Decided(world, seq, rule, facts, f"stream/{stream.number}")
    raise AssertionError(f"stream {stream.number} has not ended")
