"""What became of a call is said the same wherever the call is: in the request log, in its row of the
history and of the timeline, on the console, and by an explanation of the call and of the run.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sim.api.pipeline.inputs import Outcome
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.read.explain import explain
from sim.read.explain.text import text_of
from sim.read.history.rows import rows
from sim.run.client.client import RpcError
from sim.server.console import Console
from tests.journeys import retail_order
from tests.kit import Desk

LOST = "executed, the answer was lost (order "
Situation = Callable[[Desk, Instrument], None]


def _suspended(desk: Desk, market: Instrument) -> None:
    desk.move(market, "SUSPENDED")
    desk.retail_enter(market, "BUY_LONG", 40)


def _batch(desk: Desk, market: Instrument) -> None:
    other = desk.listed("other")
    desk.move(other, "SUSPENDED")
    orders = [retail_order(each, "BUY_LONG", 40, 1) for each in (market, other)]
    assert desk.customer().post("/v1/orders/batched", json={"orders": orders}).status == 200


def _lost(**act: object) -> Situation:
    def enter(desk: Desk, market: Instrument) -> None:
        desk.place(market, "sell", 40, user=1)  # the maker's order is not the caller's
        match = {"operation": "InsertOrder"}
        desk.operate("fault.add", match=match, act={"handled": True, **act})
        desk.enter(market, "buy", 40)

    return enter


def _lost_rpc(desk: Desk, market: Instrument) -> None:
    act = {"status": 503, "handled": True}
    desk.operate("fault.add", match={"operation": "InsertOrder"}, act=act)
    message = wire.InsertOrderRequest(
        type=2, side=1, symbol=market.symbol, order_qty=1, price=40, time_in_force=1
    )
    with pytest.raises(RpcError):
        desk.rpc_trader().call("OrderEntryAPI.InsertOrder", message)


def _too_late(desk: Desk, market: Instrument) -> None:
    desk.assume("engine.latency", "40s")
    body = retail_order(market, "BUY_LONG", 40, 1, synchronousExecution=True, maxBlockTime="60")
    assert desk.customer().post("/v1/orders", json=body).status == 504


def _rejected_later(desk: Desk, market: Instrument) -> None:
    desk.assume("engine.latency", "2s")
    desk.retail_enter(market, "BUY_LONG", 40)
    desk.move(market, "SUSPENDED")
    desk.advance("3s")


@pytest.mark.parametrize(
    ("situation", "verdict", "sentence", "orders"),
    [
        (_suspended, "rejected", "rejected (order ", 1),
        (_batch, "rejected", "rejected (order ", 2),
        (_lost(status=504), "answer lost", LOST, 1),
        (_lost(reset=True), "answer lost", LOST, 1),
        (_lost(half_close=True), "answer lost", LOST, 1),
        (_lost_rpc, "answer lost", LOST, 1),
        (_too_late, "answer lost", LOST, 1),
        (_rejected_later, "rejected", "rejected (order ", 1),
    ],
)
def test_a_call_has_one_verdict_wherever_it_is_shown(
    world: Desk,
    capsys: pytest.CaptureFixture[str],
    situation: Situation,
    verdict: str,
    sentence: str,
    orders: int,
) -> None:
    situation(world, world.quiet())
    sim = world.simulation
    (logged,) = (call for call in sim.requests() if call["verdict"] != "done")
    assert logged["verdict"] == verdict

    every = rows(sim.journal.lines(), sim.journal.header)
    (row,) = (row for row in every if sentence.removesuffix(" (order ") in row.result)
    assert row.good is False

    why = explain(sim, f"{logged['seq']:016x}")
    assert why is not None and sentence in why["summary"]
    assert (why["verdict"], why["retry"], len(why["orders"])) == (verdict, False, orders)
    trading = world.trading
    assert {trading.orders.require(name).participant for name in why["orders"]} == {why["caller"]}
    if verdict == "answer lost":
        assert why["remedy"].startswith(f"look up order {why['orders'][0]}")
        assert why["remedy"].endswith("; do not send the call again")
    assert sentence in " ".join(text_of(why)).replace("   ", " ")

    Console().after_input(sim, Outcome(seq=row.seq), 0)
    assert sentence in capsys.readouterr().err
