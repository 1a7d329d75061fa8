"""`sim shrink`: the smallest scenario that still fails in the same way, and for the same reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.read.export.journal_to_scenario import scenario_document
from sim.read.headless_run import run_scenario
from sim.read.progress import Progress
from sim.run.client.client import RpcError
from sim.search.delta import minimal, pruned
from sim.server.journal_file import open_journal
from tests.kit import streams
from tests.kit.desk import Desk, begin

# A DAY bid expires at a close among forty things that have nothing to do with it.
BUSY = """
name: busy
extends: quickstart
seed: 11
matrix: {tif: [gtc, day]}
world:
  instruments:
    - {symbol: x, tick_size: "0.01", state: OPEN}
    - {symbol: y, tick_size: "0.01", state: OPEN}
quirks: {stream_duplicates: always, webhook_duplicates: "1/3"}
assumptions: {clearing.delay: 10s}
faults:
  - {match: {operation: InsertOrder, nth: 7}, act: {status: 503}}
steps:
  - repeat: 3
    pause: 3s
    steps:
      - {name: "y-${n}", order: {as: maker, symbol: y, side: buy, price: "0.${n}", qty: "5"}}
      - {call: {plane: gateway, get: /v2/leagues}, expect: {status: 200}}
  - {name: bid, order: {as: maker, symbol: x, side: buy, price: "0.41", qty: "30", tif: "${tif}"}, expect: {order: {state: NEW}}}
  - {at: +10m, name: close, state: {symbol: x, state: CLOSED}}
  - {at: +1m, state: {symbol: x, state: OPEN}}
  - at: +1m
    name: sale
    order: {as: taker, symbol: x, side: sell, price: "0.40", qty: "20", tif: ioc}
    expect: {order: {state: FILLED}, open_orders: {as: maker, symbol: y, count: 3}}
  - {call: {plane: gateway, get: /v2/leagues}}
"""
STRUCK = """
name: struck
extends: quickstart
world: {instruments: [{symbol: x, tick_size: "0.01", state: OPEN}]}
faults:
  - {match: {plane: gateway}, act: {delay: 2s}}
  - {match: {operation: InsertOrder, nth: 2}, act: {status: 503, retry_after: 3s}}
steps:
  - call: &order
      plane: exchange
      post: /v1/trading/orders
      as: firms/atlas/users/mara-voss
      json: {type: ORDER_TYPE_LIMIT, side: SIDE_BUY, symbol: x, orderQty: "5", price: "44"}
  - {at: +5s, call: {plane: gateway, get: /v2/leagues}}
  - {name: second, call: *order, expect: {status: 200}}
"""
SESSION = """
name: session
extends: quickstart
world: {instruments: [{symbol: s, tick_size: "0.01", state: OPEN}]}
"""


@contextmanager
def session(journal: Path, scenario: str = SESSION) -> Iterator[Desk]:
    """The clients of a run that is recorded in a journal."""
    with open_journal(journal) as file:
        yield begin(scenario, journal=file)


def steps_that_pass(journal: Path) -> list[dict[str, Any]]:
    """The steps of a journal's run as a scenario, which passes."""
    document = scenario_document(journal).document
    report = run_scenario(load_scenario(json.dumps(document, indent=1)))
    assert report.ok, list(report.failures())
    return document["steps"]


def steps_of(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().partition("steps:\n")[2].splitlines()]


def test_what_matters_is_left_and_why_it_fails_is_kept(sim, file, tmp_path):
    out = tmp_path / "small.yaml"
    code, output, _ = sim("shrink", file("busy.yaml", BUSY), "--out", out)
    assert code == 0
    assert steps_of(out) == [
        '- {order: {symbol: x, side: buy, price: "0.41", qty: "1", tif: day}}',
        "- {state: {symbol: x, state: CLOSED}}",
        "- {state: {symbol: x, state: OPEN}}",
        (
            '- {name: sale, order: {as: taker, symbol: x, side: sell, price: "0.40", qty: "1", tif:'
            " ioc}, expect: {order: [{state: FILLED}]}}"
        ),
    ]
    for gone in ("faults", "quirks", "assumptions", "symbol: y", "seed:"):
        assert gone not in out.read_text().partition("name:")[2]
    assert "step 10 is kept: without it this step does not fail" in output
    assert "it still fails because of step 10" in out.read_text()
    code, output, _ = sim("run", out)
    assert code == 1 and "order sale is EXPIRED, not FILLED" in output


def test_asked_for_the_failure_alone_it_may_fail_for_another_reason(sim, file, tmp_path):
    out = tmp_path / "small.yaml"
    assert sim("shrink", file("busy.yaml", BUSY), "--out", out, "--because", "nothing")[0] == 0
    assert len(steps_of(out)) == 1


@pytest.mark.long
def test_a_fault_that_is_to_blame_is_found_and_kept(sim, file, tmp_path):
    out = tmp_path / "small.yaml"
    code, output, _ = sim("shrink", file("struck.yaml", STRUCK), "--out", out)
    assert code == 0 and "faults is kept" in output
    scenario = load_scenario(str(out))
    (fault,) = scenario.faults
    assert (fault.act.status, fault.act.retry_after, fault.match.operation) == (503, "", "")
    assert len(scenario.steps) == 1  # the first call that a fault without conditions strikes
    assert run_scenario(scenario).first_failure.startswith(
        "step 1 at 2026-09-08T18:00:00Z: status is 503, not 200"
    )
    # The journal of the same run is shrunk to the same scenario.
    sim("run", file("struck.yaml", STRUCK), "--save-failures", tmp_path / "kept")
    (journal,) = (tmp_path / "kept").glob("*.ndjson")
    again = tmp_path / "again.yaml"
    assert sim("shrink", journal, "--out", again)[0] == 0
    assert load_scenario(str(again)).plain() == scenario.plain()


def test_the_first_seed_that_fails_is_taken(sim, file, tmp_path):
    text = STRUCK.replace("nth: 2}", 'probability: "1/3"}')
    path, out = file("luck.yaml", text), tmp_path / "small.yaml"
    failing = [seed for seed in range(1, 20) if not run_scenario(load_scenario(str(path)), seed).ok]
    assert 0 < len(failing) < 19
    assert sim("shrink", path, "--seeds", "1..19", "--out", out, "--because", "nothing")[0] == 0
    assert f"seed {failing[0]}:" in out.read_text()


@pytest.mark.usefixtures("leaking_money")
def test_a_broken_invariant_is_shrunk_to_the_trade_that_breaks_it(sim, file, tmp_path):
    out = tmp_path / "small.yaml"
    text = BUSY.replace('price: "0.41", qty: "30"', 'price: "0.60", qty: "30"').replace(
        'price: "0.40", qty: "20"', 'price: "0.60", qty: "10"'
    )
    assert sim("shrink", file("leak.yaml", text), "--param", "tif=gtc", "--out", out)[0] == 0
    assert [step.partition(":")[0].strip("- {") for step in steps_of(out)] in (
        ["order", "order"],
        ["name", "order"],
        ["order", "name"],
    )
    code, output, _ = sim("run", out)
    assert code == 1 and "broken: money" in output


def test_a_clients_session_becomes_a_scenario_whose_calls_keep_the_ids_they_need(sim, tmp_path):
    journal, out = tmp_path / "session.ndjson", tmp_path / "small.yaml"
    with session(journal) as world:
        world.simulation.reset(99)
        partner, placed = world.trader(), []
        for price in ("41", "42", "43"):
            bid = {"symbol": "s", "side": "SIDE_BUY", "orderQty": "5", "price": price}
            answer = partner.post("/v1/trading/orders", json={"type": "ORDER_TYPE_LIMIT", **bid})
            placed.append(answer.json()["orderId"])
            world.advance("10s")
            world.gateway.get("/v2/leagues")
        heard = streams.books(world, "s")
        request = wire.BiDirectionalStreamMarketDataRequest()
        talk = world.rpc_trader().stream(streams.BIDIRECTIONAL, request)
        streams.talk(talk, subscribe=wire.SubscribeCommand(symbols=["s"]))
        world.advance("1s")
        streams.talk(talk, keepalive=wire.KeepAliveCommand())
        heard.close()
        world.operate("fault.add", match={"plane": "gateway"}, act={"delay": "1s"})
        second = {"orderId": placed[1], "symbol": "s"}
        assert partner.post("/v1/trading/orders/cancel", json=second).status == 200
    three = "{open_orders: {as: firms/atlas/users/mara-voss, symbol: s, count: 3}}"
    code, output, _ = sim("shrink", journal, "--expect", three, "--out", out)
    assert code == 0
    assert "left out: 1 token request" in output
    steps = scenario_document(journal).document["steps"]
    kinds = [next(iter(step.keys() - {"at", "save"})) for step in steps]
    assert kinds.count("subscribe") == 2 and kinds[-4:] == ["send", "disconnect", "fault", "call"]
    text = out.read_text()
    assert "2 orders are open, not 3" in text and "seed 99:" in text
    assert "save: {id1: orderId}" in text and 'orderId: "${id1}"' in text
    assert len(steps_of(out)) == 5  # three orders, the cancel, what was expected
    assert placed[1] not in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["price-time-priority"], "1 run and none failed"),
        (["no-such"], "there is no bundled scenario and no file of this name"),
        (
            ["busy.yaml", "--because", "close of business"],
            "fails without close of business too, or there is no such cause",
        ),
        (["busy.yaml", "--seeds", "x"], "--seeds/--seed: expected a number"),
    ],
)
def test_what_cannot_be_shrunk_is_exit_2_and_says_why(
    sim, file, monkeypatch, tmp_path, arguments, text
):
    file("busy.yaml", BUSY)
    monkeypatch.chdir(tmp_path)
    code, _, err = sim("shrink", *arguments)
    assert code == 2 and text in err
    assert list(tmp_path.glob("*-small.yaml")) == []


def test_the_trials_can_be_bounded(sim, file, tmp_path):
    path, out = file("busy.yaml", BUSY), tmp_path / "small.yaml"
    code, output, _ = sim(f"shrink {path} --out {out} --trials 10")
    assert code == 0 and "stopped after 10 trials" in output
    assert sim("run", tmp_path / "small.yaml")[0] == 1


@given(st.lists(st.integers(0, 99), unique=True, max_size=40), st.data())
def test_a_minimal_list_holds_and_none_of_it_can_go(items, data):
    needed = data.draw(st.lists(st.sampled_from(items), unique=True, max_size=6)) if items else []
    result = minimal(items, lambda kept: set(needed) <= set(kept))
    assert result == [item for item in items if item in needed]


def test_a_pruned_document_keeps_only_what_is_asked_for():
    value = {"a": [1, {"b": "x", "c": 2}, 3], "qty": "40", "d": {"e": []}}

    def holds(other):
        return any(isinstance(item, dict) and item.get("c") == 2 for item in other.get("a", ()))

    kept = pruned(value, holds, lambda path, value: ())
    assert kept == {"a": [{"c": 2}]}


def test_a_session_that_no_scenario_can_tell_is_shrunk_to_the_fewest_inputs(sim, tmp_path):
    journal, out = tmp_path / "session.ndjson", tmp_path / "small.yaml"
    # the registration's test delivery is taken, the first kyc.approved is not
    answers = iter((200, 500))
    with session(journal, "quickstart") as world:
        world.simulation.reset(3)
        world.receive = lambda post: next(answers, 200)
        firm = world.partner
        steps = load_scenario("kyc-approval-window").steps
        receiver = {"webhook_url": "http://127.0.0.1:9/hook"}
        assert firm.post("/v1/kyc/webhook", json=receiver).status == 200
        for _ in range(5):
            world.gateway.get("/v2/leagues")
        assert firm.post("/v1/kyc/start", json=steps[0].call.json).status == 200
        world.advance("1h")
        world.gateway.get("/v2/leagues")
    item = "{webhook: {type: kyc.approved, count: 1}}"
    code, output, _ = sim("shrink", journal, "--expect", item, "--out", out)
    assert code == 0
    assert "as a scenario it does not fail, so the journal's inputs are shrunk" in output
    small = tmp_path / "small.ndjson"
    assert "2 deliveries of kyc.approved, not 1" in output
    assert sim("replay", small)[0] == 0
    displayed = sim("timeline", small)[1]
    assert (
        "/v2/leagues" not in displayed and "POST /v1/kyc/start" in displayed and "500" in displayed
    )
    assert not out.exists()


@pytest.mark.parametrize("after", [6, 40])
def test_what_was_found_before_an_interrupt_is_written(sim, file, tmp_path, monkeypatch, after):
    path, out = file("struck.yaml", STRUCK), tmp_path / "small.yaml"
    total = load_scenario(str(path))
    step = Progress.step

    def counted(self, note=""):
        step(self, note)
        if self.done == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "step", counted)
    code, output, _ = sim("shrink", path, "--out", out)
    assert code == 130 and "interrupted: this is the smallest that was found so far" in output
    scenario = load_scenario(str(out))
    assert run_scenario(scenario).first_failure
    assert len(json.dumps(scenario.plain())) < len(json.dumps(total.plain()))

    sim("run", path, "--save-failures", tmp_path / "kept")
    (journal,) = (tmp_path / "kept").glob("*.ndjson")
    assert sim("shrink", journal, "--out", tmp_path / "again.yaml")[0] == 130


def test_a_session_in_which_calls_were_refused_is_a_scenario_that_passes(tmp_path):
    journal = tmp_path / "session.ndjson"
    with session(journal) as world:
        assert world.partner.get("/v1/report/orders/NONE").status == 403
        with pytest.raises(RpcError):
            request = wire.GetOrderBookRequest(symbol="nope")
            world.rpc_partner.call("OrderBookAPI.GetOrderBook", request)
        world.move("s", "SUSPENDED")
        with pytest.raises(Refusal):
            world.move("s", "EXPIRED")
        odd = "/v2/leagues?a_name_that_nobody_knows=1"
        assert world.gateway.get(odd).status == 200
    maybe = {"refused": "maybe"}
    expected = [step.get("expect") for step in steps_that_pass(journal)]
    assert expected == [maybe, maybe, None, {"refused": True}, maybe]


@pytest.mark.parametrize("latency", ["0s", "6s"])
def test_a_session_in_which_orders_were_rejected_is_a_scenario_that_passes(tmp_path, latency):
    journal = tmp_path / "session.ndjson"
    with session(journal, "quickstart") as world:
        instrument = world.quiet()
        world.assume("engine.latency", latency)
        world.move(instrument, "SUSPENDED")
        placed = world.retail_enter(instrument, "BUY_LONG", 20)
        assert placed.status == 200
        world.advance("10s")
        answer = world.customer().get(f"/v1/order/{placed.json()['id']}").json()["order"]
        assert answer["state"] == "ORDER_STATE_REJECTED"
    steps = steps_that_pass(journal)
    assert [step.get("expect") for step in steps if "call" in step] == [{"refused": "maybe"}, None]
