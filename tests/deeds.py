"""Deeds of partners, other people and testers, by number: what property tests of journeys do to a
world before they compare.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sim import Simulation
from sim.api.pipeline.inputs import Input, recorded_input
from sim.core.model.refusals import Refusal
from sim.kernel.journal_reader import read_line
from sim.run.client.client import Connection, RpcError
from tests.journeys import enter, firm, key, operate, quiet, retail_order, rpc_trader


def _control(world: Connection, action: str, subject: str, body: dict[str, object]) -> None:
    with suppress(Refusal):  # journalled like any other input
        operate(world, action, subject, **body)


def _kyc(world: Connection, number: int) -> None:
    person = {
        "external_id": f"p{number}",
        "ssn": f"90011{number:04d}",
        "first_name": "A",
        "last_name": "B",
        "date_of_birth": "1990-01-01",
    }
    world.exchange(firm(world.simulation)).post("/v1/kyc/start", json=person)


def _listed(number: int) -> dict[str, object]:
    return {"symbol": f"by-hand-{number % 3}", "tick_size": "0.01", "state": "OPEN"}


# What partners, other people and testers do; each takes a connection and a number that varies it.
DEEDS: tuple[Callable[[Connection, int], object], ...] = (
    lambda w, n: enter(
        w, quiet(w.simulation), "buy" if n % 2 else "sell", 40 + n % 20, 1 + n % 5, user=n % 2
    ),
    lambda w, n: enter(
        w,
        quiet(w.simulation),
        "sell",
        30,
        2,
        user=n % 2,
        timeInForce="TIME_IN_FORCE_DAY",
        clordId=f"c{n}",
    ),
    lambda w, n: w.retail(key(w.simulation, n % 2)).post(
        "/v1/orders", json=retail_order(quiet(w.simulation), "BUY_LONG", 35 + n % 30, 1 + n % 4)
    ),
    lambda w, n: w.retail(key(w.simulation)).post("/v1/orders/open/cancel", json={}),
    lambda w, n: w.gateway.get(("/v2/leagues", "/v1/markets", "/v9/nothing")[n % 3]),
    lambda w, n: (
        rpc_trader(w).stream("DropCopyAPI.CreateDropCopySubscription").close()
        if n % 7 == 0
        else None
    ),
    lambda w, n: w.advance(("1s", "90s", "1h", "1d")[n % 4]),
    lambda w, n: _control(
        w,
        "instrument.state",
        quiet(w.simulation).symbol,
        {"state": ("HALTED", "SUSPENDED", "SCHEDULE")[n % 3]},
    ),
    lambda w, n: _control(w, "instrument.create", "", _listed(n)),
    lambda w, n: _control(w, "instrument.settle", f"by-hand-{n % 3}", {"price": "1"}),
    lambda w, n: _control(
        w,
        "fault.add",
        "",
        {"match": {"plane": "gateway", "probability": "1/3"}, "act": {"status": 503}, "times": 2},
    ),
    lambda w, n: _control(w, "quirk.set", "camel_case_query_ignored", {"value": "1/2"}),
    lambda w, n: _control(w, "price.tick", "crypto:btc", {"price": f"{60_000 + n}.5"}),
    lambda w, n: _control(w, "preset.set", "", {"name": ("hostile", "ideal")[n % 2]}),
    _kyc,
)


def do(world: Connection, number: int) -> None:
    """One deed."""
    try:
        DEEDS[number % len(DEEDS)](world, number // len(DEEDS))
    except (LookupError, RpcError):
        world.forget_tokens()  # nothing open is quiet any more, or a fault kept the token from us


def inputs_since(sim: Simulation, seq: int) -> list[Input]:
    """What came in after an input of the present branch."""
    return [recorded_input(read_line(line)) for line in sim.journal.lines(seq)]
