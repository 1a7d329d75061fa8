"""Synchronous retail orders on a slow engine: the answer waits in virtual time for what becomes of
the order, at most `maxBlockTime`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sim import Simulation, load_scenario
from sim.core.model.instrument import Instrument
from sim.kernel.instants import NS_PER_S
from sim.kernel.journal_reader import read_journal
from sim.read.conformance.recorded_run import ClientActivity
from sim.read.explain import explain
from sim.read.history.rows import rows
from sim.read.replay import replay_file
from sim.run.client.client import Http, Response
from tests.api.retail_world import types
from tests.journeys import key, quiet, retail_order
from tests.kit import Desk

STOPGAP = "Global Rate Limit Exceeded"


def slow(world: Desk, span: str) -> None:
    assume(world, "engine.latency", span)


def assume(world: Desk, name: str, value: object) -> None:
    world.assume(name, value)


def synchronous(
    instrument: Instrument,
    seconds: str | None = "5",
    intent: str = "BUY_LONG",
    cents: int = 20,
    contracts: float = 1,
) -> dict[str, Any]:
    block = {} if seconds is None else {"maxBlockTime": seconds}
    return retail_order(instrument, intent, cents, contracts, synchronousExecution=True, **block)


def timed(
    world: Desk, client: Http, body: object, path: str = "/v1/orders"
) -> tuple[Response, float]:
    """The answer, and the virtual seconds it took."""
    began = world.now
    answer = client.post(path, json=body)
    return answer, (world.now - began) / NS_PER_S


def test_an_answer_waits_for_the_engine_and_no_longer(world: Desk, instrument: Instrument) -> None:
    slow(world, "400ms")
    answer, took = timed(world, world.customer(), synchronous(instrument))
    assert (answer.status, types(answer), took) == (200, ["NEW"], 0.4)


@pytest.mark.parametrize(("until", "rests"), [("first", 0.0), ("done", 5.0)])
def test_a_prompt_engine_is_waited_for_only_while_an_order_has_to_be_done(
    world: Desk, instrument: Instrument, until: str, rests: float
) -> None:
    ann, bob = (world.retail(result) for result in two(world))
    assume(world, "retail.synchronous_until", until)
    answer, took = timed(world, ann, synchronous(instrument))
    assert (types(answer), took) == (["NEW"], rests)
    answer, took = timed(world, bob, synchronous(instrument, intent="SELL_LONG"))
    assert (types(answer), took) == (["NEW", "FILL"], 0)


def test_an_answer_has_every_execution_of_its_instant(world: Desk, instrument: Instrument) -> None:
    maker, taker = (world.retail(result) for result in two(world))
    maker.post("/v1/orders", json=synchronous(instrument, cents=20, contracts=2))
    maker.post("/v1/orders", json=synchronous(instrument, cents=19, contracts=2))
    slow(world, "2s")
    answer, took = timed(
        world, taker, synchronous(instrument, intent="SELL_LONG", cents=19, contracts=4)
    )
    assert (types(answer), took) == (["NEW", "PARTIAL_FILL", "FILL"], 2)
    assert [execution["order"]["leavesQuantity"] for execution in answer.json()["executions"]] == [
        4,
        2,
        0,
    ]


def test_an_answer_leaves_empty_when_its_block_time_is_over_and_the_order_goes_on(
    world: Desk, instrument: Instrument
) -> None:
    client = world.customer()
    slow(world, "3s")
    answer, took = timed(world, client, synchronous(instrument, "1"))
    assert (answer.status, answer.json()["executions"], took) == (200, [], 1)
    assert (
        client.read(f"/v1/order/{answer.json()['id']}", "order", "state")
        == "ORDER_STATE_PENDING_NEW"
    )
    world.advance("2s")
    assert client.read(f"/v1/order/{answer.json()['id']}", "order", "state") == "ORDER_STATE_NEW"


def test_an_outcome_at_the_last_moment_is_in_the_answer(
    world: Desk, instrument: Instrument
) -> None:
    slow(world, "3s")
    answer, took = timed(world, world.customer(), synchronous(instrument, "3"))
    assert (types(answer), took) == (["NEW"], 3)


@pytest.mark.spec("S7.2-7")
def test_the_latency_stopgap_is_in_the_answer(world: Desk, instrument: Instrument) -> None:
    """M37."""
    slow(world, "6s")
    answer, took = timed(world, world.customer(), synchronous(instrument, "10"))
    (execution,) = answer.json()["executions"]
    assert (answer.status, took, execution["type"], execution["text"]) == (
        200,
        6,
        "EXECUTION_TYPE_REJECTED",
        STOPGAP,
    )
    assert execution["orderRejectReason"] == "ORD_REJECT_REASON_EXCHANGE_OPTION"
    assert execution["order"]["state"] == "ORDER_STATE_REJECTED"


@pytest.mark.parametrize("value", [None, "0"])
def test_without_a_block_time_ten_seconds_are_waited(
    world: Desk, instrument: Instrument, value: str | None
) -> None:
    slow(world, "1m")
    answer, took = timed(world, world.customer(), synchronous(instrument, value))
    assert (answer.json()["executions"], took) == ([], 10)
    assume(world, "retail.block_time", "2s")
    assert timed(world, world.customer(), synchronous(instrument, value))[1] == 2
    assume(world, "retail.block_time", "0s")
    assert timed(world, world.customer(), synchronous(instrument, value))[1] == 0


@pytest.mark.spec("S7.1-9")
@pytest.mark.parametrize("value", ["31", "9223372036854775807"])
def test_the_edge_gives_up_on_an_answer_after_thirty_seconds(
    world: Desk, instrument: Instrument, value: str
) -> None:
    client = world.customer()
    slow(world, "40s")
    answer, took = timed(world, client, synchronous(instrument, value))
    assert (answer.status, took) == (504, 30)
    (row,) = client.read("/v1/orders/open", "orders")
    assert row["state"] == "ORDER_STATE_PENDING_NEW"  # the order does not know


@pytest.mark.parametrize(
    ("latency", "seconds", "outcome"),
    [("29s", "31", ["REJECTED"]), ("30s", "31", ["REJECTED"]), ("40s", "30", [])],
)
def test_the_edge_passes_on_what_is_answered_within_thirty_seconds(
    world: Desk, instrument: Instrument, latency: str, seconds: str, outcome: list[str]
) -> None:
    slow(world, latency)
    client = world.customer()
    answer, took = timed(world, client, synchronous(instrument, seconds))
    assert (answer.status, types(answer)) == (200, outcome)
    assert took == (29 if latency == "29s" else 30)


@pytest.mark.parametrize("value", ["-1", "5s", "1.5", "9223372036854775808", True, {}])
def test_a_block_time_that_is_no_number_of_seconds_is_refused(
    world: Desk, instrument: Instrument, value: object
) -> None:
    client = world.customer()
    body = retail_order(
        instrument, "BUY_LONG", 20, 1, synchronousExecution=True, maxBlockTime=value
    )
    for path, sent in (
        ("/v1/orders", body),
        ("/v1/orders/batched", {"orders": [body]}),
        ("/v1/order/preview", {"request": body}),
    ):
        assert client.post(path, json=sent).status == 400, path
    closing = {"marketSlug": instrument.symbol, "maxBlockTime": value}
    assert client.post("/v1/order/close-position", json=closing).status == 400
    assert client.read("/v1/orders/open") == {"orders": []}


@pytest.mark.observed("orders.answer")
def test_without_synchronous_execution_nothing_waits(world: Desk, instrument: Instrument) -> None:
    slow(world, "3s")
    answer, took = timed(
        world, world.customer(), retail_order(instrument, "BUY_LONG", 20, 1, maxBlockTime="5")
    )
    assert (answer.json()["executions"], took) == ([], 0)


def test_closing_a_position_waits_too(world: Desk, instrument: Instrument) -> None:
    ann, bob = (world.retail(result) for result in two(world))
    ann.post("/v1/orders", json=synchronous(instrument, cents=20, contracts=3))
    bob.post("/v1/orders", json=synchronous(instrument, intent="SELL_LONG", cents=20, contracts=3))
    bob.post("/v1/orders", json=synchronous(instrument, cents=15, contracts=5))
    slow(world, "250ms")
    closing = {"marketSlug": instrument.symbol, "synchronousExecution": True, "maxBlockTime": "5"}
    answer, took = timed(world, ann, closing, "/v1/order/close-position")
    assert (types(answer), took) == (["NEW", "FILL"], 0.25)


def test_a_batch_waits_for_its_synchronous_entries(world: Desk, instrument: Instrument) -> None:
    client = world.customer()
    slow(world, "2s")
    plain, quick, patient = (
        retail_order(instrument, "BUY_LONG", 20, 1),
        synchronous(instrument, "1"),
        synchronous(instrument, "4"),
    )
    assert timed(world, client, {"orders": [plain, plain]}, "/v1/orders/batched")[1] == 0
    world.advance("2s")
    assert timed(world, client, {"orders": [plain, quick]}, "/v1/orders/batched")[1] == 1
    world.advance("2s")
    answer, took = timed(world, client, {"orders": [quick, plain, patient]}, "/v1/orders/batched")
    assert (len(answer.json()["createdOrderIds"]), took) == (3, 2)
    assume(world, "retail.batch_synchronous", False)
    assert timed(world, client, {"orders": [patient]}, "/v1/orders/batched")[1] == 0


@pytest.mark.observed("orders.synchronous")
def test_an_answer_may_wait_until_the_order_is_done(world: Desk, instrument: Instrument) -> None:
    ann, bob = (world.retail(result) for result in two(world))
    assume(world, "retail.synchronous_until", "done")
    parked = ann.post("/v1/orders", json=synchronous(instrument, "20"), wait=False)
    world.advance("3s")
    assert parked.reply.pending_on not in world.resolved
    began = world.now
    bob.post("/v1/orders", json=retail_order(instrument, "SELL_LONG", 20, 1))
    answer = Response(world.answer(parked.reply))
    assert (types(answer), world.now - began) == (["NEW", "FILL"], 0)
    rested, took = timed(world, ann, synchronous(instrument, "2"))
    assert (types(rested), took) == (["NEW"], 2)


def test_others_trade_while_an_answer_waits(world: Desk, instrument: Instrument) -> None:
    """What another account does in the meantime is seen by the engine first where it came first."""
    ann, bob = (world.retail(result) for result in two(world))
    slow(world, "1s")
    parked = ann.post(
        "/v1/orders", json=synchronous(instrument, "5", cents=20, contracts=1), wait=False
    )
    world.advance("500ms")
    later = bob.post(
        "/v1/orders", json=synchronous(instrument, "5", "SELL_LONG", 20, 1), wait=False
    )
    assert types(Response(world.answer(later.reply))) == ["NEW", "FILL"]
    assert types(Response(world.answer(parked.reply))) == ["NEW"]


def test_a_waiting_answer_survives_a_snapshot_and_replays(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(load_scenario("quickstart"), journal=file)
        world = Desk(sim)
        instrument, client = quiet(sim), world.retail(key(sim))
        slow(world, "2s")
        parked = client.post("/v1/orders", json=synchronous(instrument), wait=False)
        sim.snapshot("parked")
        first = world.answer(parked.reply)
        body = msgspec.json.decode(first.body)
        sim.restore("parked")
        again = world.answer(parked.reply)
        assert (
            [row["type"] for row in msgspec.json.decode(again.body)["executions"]]
            == [row["type"] for row in body["executions"]]
            == ["EXECUTION_TYPE_NEW"]
        )
        assert again.request_id == first.request_id == parked.reply.request_id
        sim.restore("parked")
        world.absorb(sim.answer_due(parked.reply.pending_on))
        assert msgspec.json.decode(world.resolved[parked.reply.pending_on].body)["executions"] == []
        world.absorb(sim.answer_due(parked.reply.pending_on))  # once is enough
        world.advance("1h")
        digest = sim.digest
    assert replay_file(path).simulation.digest == digest
    with path.open("rb") as file:
        displayed = list(rows(line for _, line in read_journal(file)[1]))
    assert [row.actor for row in displayed if "answer-1 is answered: 200" in row.details] == [
        "clock",
        "clock",
        "server",
    ]


def test_a_restored_answer_leaves_empty_when_its_block_time_is_over(
    world: Desk, instrument: Instrument
) -> None:
    sim, client = world.simulation, world.customer()
    slow(world, "40s")
    parked = client.post("/v1/orders", json=synchronous(instrument), wait=False)
    sim.snapshot("parked")
    for stalled in (False, True, False):
        if stalled:  # nobody moves the clock: the server gives the answer up
            world.absorb(sim.answer_due(parked.reply.pending_on))
        reply = world.answer(parked.reply)
        assert (reply.status, types(Response(reply))) == (200, [])
        assert (("x-sim-clock", "stood still") in reply.headers) is stalled
        sim.restore("parked")


def test_a_step_of_a_scenario_ends_with_its_answer() -> None:
    sim = Simulation(load_scenario(SCRIPT))
    world = Desk(sim)
    world.advance("10s")
    assert [(result.name, result.failures) for result in sim.script.results] == [
        ("quick", ()),
        ("patient", ()),
        ("seen", ()),
    ]


SCRIPT = """
name: patient
extends: quickstart
clock: {start: 2026-09-08T14:00:00-04:00}
world:
  instruments: [{symbol: aec-test-quiet, tick_size: "0.01", state: OPEN, start: 2026-09-01, expiration: 2026-10-01}]
assumptions: {engine.latency: 2s}
steps:
  - name: patient
    at: +1s
    call:
      {as: firms/retail/accounts/e94a6d31, plane: retail, post: /v1/orders, json: {marketSlug: aec-test-quiet, intent: ORDER_INTENT_BUY_LONG, quantity: 1,
       type: ORDER_TYPE_LIMIT, price: {value: "0.20", currency: USD}, tif: TIME_IN_FORCE_GOOD_TILL_CANCEL, synchronousExecution: true, maxBlockTime: "5"}}
    save: {order: executions.0.order.id}
    expect: {status: 200, json: {executions: [{type: EXECUTION_TYPE_NEW}]}}
  - {name: quick, at: +1s, call: {plane: gateway, get: /v1/health}, expect: {status: 200}}
  - {name: seen, at: +5s, call: {as: firms/retail/accounts/e94a6d31, plane: retail, get: "/v1/order/${order}"}, expect: {status: 200}}
"""


# ---- reads that trail


def test_reads_trail_an_asynchronous_order_and_its_fill(
    world: Desk, instrument: Instrument
) -> None:
    """Retail facts: not there for a moment, then new, then filled; its position comes as late."""
    ann, bob = (world.retail(result) for result in two(world))
    assume(world, "retail.read_lag", "500ms")
    placed = ann.send("/v1/orders", retail_order(instrument, "BUY_LONG", 20, 2), "id")

    def noticed() -> tuple[str, list[str], str]:
        answer = ann.get(f"/v1/order/{placed}")
        state = (
            answer.json()["order"]["state"].removeprefix("ORDER_STATE_")
            if answer.status == 200
            else str(answer.status)
        )
        held = ann.read("/v1/portfolio/positions", "positions").get(instrument.symbol)
        return (
            state,
            [row["id"] for row in ann.read("/v1/orders/open", "orders")],
            held["netPositionDecimal"] if held else "",
        )

    assert noticed() == ("404", [], "")
    world.advance("499ms")
    assert noticed() == ("404", [], "")
    world.advance("1ms")
    assert noticed() == ("NEW", [placed], "")
    bob.post("/v1/orders", json=retail_order(instrument, "SELL_LONG", 20, 1))
    world.advance("200ms")
    bob.post("/v1/orders", json=retail_order(instrument, "SELL_LONG", 20, 1))
    assert noticed() == ("NEW", [placed], "")
    world.advance("300ms")
    assert noticed() == ("PARTIALLY_FILLED", [placed], "1.0000")
    world.advance("200ms")
    assert noticed() == ("FILLED", [], "2.0000")
    assume(world, "retail.read_lag", "0s")
    assert noticed() == ("FILLED", [], "2.0000")


def test_an_order_that_waits_for_the_engine_is_read_as_pending_until_the_lag_has_passed(
    world: Desk, instrument: Instrument
) -> None:
    client = world.customer()
    assume(world, "retail.read_lag", "1s")
    slow(world, "2s")
    placed = client.send("/v1/orders", retail_order(instrument, "BUY_LONG", 20, 2), "id")
    states = []
    for _ in range(4):
        answer = client.get(f"/v1/order/{placed}")
        if answer.status == 200:
            order = answer.json()["order"]
            states.append(order["state"].removeprefix("ORDER_STATE_"))
            assert (order["leavesQuantity"], order["cumQuantity"]) == (2, 0)
        else:
            states.append(str(answer.status))
        world.advance("1s")
    assert states == ["404", "PENDING_NEW", "PENDING_NEW", "NEW"]


def test_what_a_synchronous_answer_told_can_be_read(world: Desk, instrument: Instrument) -> None:
    client = world.customer()
    assume(world, "retail.read_lag", "5s")
    for latency in ("0s", "1s"):
        slow(world, latency)
        placed = client.send("/v1/orders", synchronous(instrument), "id")
        assert client.read(f"/v1/order/{placed}", "order", "state") == "ORDER_STATE_NEW"


def test_a_read_is_never_older_than_the_last_synchronous_answer_about_the_order(
    world: Desk, instrument: Instrument
) -> None:
    """Whatever others ask and are told meanwhile."""
    ann, bob = (world.retail(result) for result in two(world))
    assume(world, "retail.read_lag", "1s")
    first = ann.send("/v1/orders", synchronous(instrument, contracts=3), "id")

    def noticed() -> tuple[str, list[str]]:
        state = ann.read(f"/v1/order/{first}", "order", "state")
        working = [row["id"] for row in ann.read("/v1/orders/open", "orders")]
        return state.removeprefix("ORDER_STATE_"), working

    world.advance("600ms")
    second = ann.send("/v1/orders", synchronous(instrument, cents=19), "id")
    assert noticed() == ("NEW", [first, second])
    bob.post("/v1/orders", json=retail_order(instrument, "SELL_LONG", 20, 1))
    for wait in ("399ms", "1ms", "599ms"):
        world.advance(wait)
        assert noticed() == ("NEW", [first, second])
    world.advance("1ms")
    assert noticed() == ("PARTIALLY_FILLED", [first, second])
    bob.post("/v1/orders", json=synchronous(instrument, intent="SELL_LONG", contracts=2))
    assert noticed() == ("PARTIALLY_FILLED", [first, second])
    world.advance("1s")
    assert noticed() == ("FILLED", [second])


def two(world: Desk) -> list[Any]:
    """Keys of two retail accounts."""
    return list({api_key.account: api_key for api_key in world.core.firms.api_keys()}.values())[:2]


def test_what_the_edge_cut_is_told_by_log_explanation_and_judge(
    world: Desk, instrument: Instrument
) -> None:
    slow(world, "40s")
    sim, client = world.simulation, world.customer()
    assert (
        client.post("/v1/orders", json=synchronous(instrument, seconds=None, cents=20)).status
        == 200
    )
    sim.snapshot("before")
    asked = sim.seq + 1
    answer = client.post("/v1/orders", json=synchronous(instrument, seconds="60"))
    request_id = answer.headers["x-request-id"]
    assert (answer.status, request_id) == (504, f"{asked:016x}")
    (logged,) = sim.log.select(operation="CreateOrder", status=504)
    assert (logged["seq"], logged["code"], logged["explain"]) == (asked, 4, request_id)

    result = explain(sim, request_id)
    assert result is not None
    assert (result["status"], result["stage"], result["retry"]) == (504, "answer", False)
    assert [assumption["name"] for assumption in result["assumptions"]] == [
        "engine.latency",
        "retail.block_time",
    ]
    (order,) = result["orders"]
    assert sim.exchange.trading.orders.get(order) is not None
    assert [link["seq"] for link in result["chain"]] == sorted(
        link["seq"] for link in result["chain"]
    )
    assert (result["chain"][0]["seq"], result["chain"][-1]["what"]) == (
        asked,
        "refused: upstream timeout",
    )
    assert "answer.due" in result["chain"][-1]["by"]
    assert [call.status for call in ClientActivity(sim).calls if call.seq == asked] == [504]

    # Going back to where nobody had answered yet takes the answer back too; going on gives it
    # again.
    digest, seq = sim.digest, sim.seq
    sim.rewind(seq=asked)
    assert not sim.log.select(status=504)
    world.advance("30s")
    assert sim.log.select(status=504)
    sim.restore("before")
    assert not sim.log.select(status=504)
    assert (digest, seq) != (sim.digest, sim.seq)


def test_a_fork_knows_which_answers_came_after_a_snapshot_that_it_shares(
    world: Desk, instrument: Instrument
) -> None:
    """An automatic snapshot, every 1,000 inputs, falls between a call and its answer."""
    slow(world, "40s")
    sim, client = world.simulation, world.customer()
    while sim.seq < 990:
        sim.advance_to(sim.now)
    client.post("/v1/orders", json=synchronous(instrument, seconds="60"), wait=False)
    (before,) = sim.log.select(operation="CreateOrder")
    while sim.seq < 1_010:
        sim.advance_to(sim.now)
    world.advance("30s")
    (after,) = sim.log.select(operation="CreateOrder")
    assert after["status"] == 504 != before["status"]
    fork = sim.fork()
    fork.rewind(seq=1_005)
    assert fork.log.select(operation="CreateOrder") == [before]
    assert sim.log.select(operation="CreateOrder") == [after]


def test_the_answer_to_a_registration_bears_the_id_it_was_asked_with(world: Desk) -> None:
    firm = world.core.firms.require("firms/atlas")
    asked = world.simulation.seq + 1
    assert (
        world.exchange(firm)
        .post("/v1/kyc/webhook", json={"webhook_url": "http://127.0.0.1:9/hook"})
        .headers["x-request-id"]
        >= f"{asked:016x}"
    )
    (row,) = world.simulation.log.select(operation="SetWebhookURL")
    again = world.exchange(firm).post(
        "/v1/kyc/webhook", json={"webhook_url": "http://127.0.0.1:9/hook"}
    )
    assert (
        again.headers["x-request-id"]
        == f"{world.simulation.log.select(operation='SetWebhookURL')[-1]['seq']:016x}"
        > f"{row['seq']:016x}"
    )
