"""The scenario language: parameters, matrices, loops, steps that wait, saved values and streams,
and how `sim run` executes them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.read.headless_run import run_scenario
from sim.read.replay import replay_file
from sim.run.client.client import connect
from sim.run.loader.load import scenario_variants
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import order, trader

HEAD = """
name: lesson
extends: quickstart
world: {instruments: [{symbol: w, tick_size: "0.01", state: OPEN}]}
"""


def ran(steps: str, head: str = HEAD, **params: str):
    """Run a scenario and return its report."""
    return run_scenario(load_scenario(head + steps, params))


def failures(report) -> list[str]:
    return [line for result in report.results for line in result.failures]


def names(report) -> list[str]:
    return [result.name for result in report.results]


# ---- expansion of steps


def test_loops_are_written_out_with_their_variable_and_pauses() -> None:
    report = ran("""
steps:
  - repeat: 2
    pause: 10s
    steps:
      - each: ["0.41", "0.42"]
        var: px
        steps:
          - {at: +1s, name: "b-${n}-${px}", order: {as: maker, symbol: w, side: buy, price: "${px}", qty: "${n}"}}
  - {name: end, expect: {book: {symbol: w, bids: [0.42 x 3, 0.41 x 3]}}}
""")
    assert failures(report) == []
    assert names(report) == ["b-1-0.41", "b-1-0.42", "step 3", "b-2-0.41", "b-2-0.42", "end"]
    assert [(result.at - report.results[0].at) // 10**9 for result in report.results] == [
        0,
        1,
        1,
        12,
        13,
        13,
    ]


def test_a_matrix_runs_in_every_combination_and_parameters_choose(tmp_path: Path, capsys) -> None:
    file = tmp_path / "grid.yaml"
    file.write_text(
        HEAD
        + """
params: {qty: "5"}
matrix: {side: [buy, sell], price: ["0.41", "0.42"]}
steps:
  - {name: o, order: {as: maker, symbol: w, side: "${side}", price: "${price}", qty: "${qty}"}, expect: {order: {state: NEW, leaves: "${qty}"}}}
"""
    )
    assert scenario_variants(str(file)) == [
        {"side": side, "price": price} for side in ("buy", "sell") for price in ("0.41", "0.42")
    ]
    assert main(["run", str(file)]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[:4]] == [
        "lesson[side=buy,price=0.41]",
        "lesson[side=buy,price=0.42]",
        "lesson[side=sell,price=0.41]",
        "lesson[side=sell,price=0.42]",
    ]
    assert main(["run", str(file), "--param", "side=sell", "--param", "qty=7"]) == 0
    assert capsys.readouterr().out.count("lesson[side=sell") == 2
    assert main(["run", str(file), "--param", "size=7"]) == 2
    assert "unknown parameter 'size': it has qty, side, price" in capsys.readouterr().err
    assert main(["run", str(file), "--param", "price=0.99"]) == 2
    assert (
        "the matrix gives price the values 0.41, 0.42; 0.99 is not one of them"
        in capsys.readouterr().err
    )
    assert main(["check", str(file)]) == 0
    assert "4 combinations" in capsys.readouterr().out


def test_several_files_are_extended_in_order(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(
        "name: one\nworld: {instruments: [{symbol: one, state: OPEN, tick_size:"
        ' "0.01"}]}\nseed: 3\n'
    )
    (tmp_path / "two.yaml").write_text(
        'name: two\nparams: {s: two}\nworld: {instruments: [{symbol: "${s}", state: OPEN,'
        ' tick_size: "0.01"}]}\nseed: 4\n'
    )
    (tmp_path / "top.yaml").write_text(
        "name: top\nextends: [quickstart, one, two.yaml]\nparams: {s: three}\n"
    )
    scenario = load_scenario(str(tmp_path / "top.yaml"))
    assert {entry.symbol for entry in scenario.world.instruments} >= {"one", "three"}
    assert (scenario.name, scenario.seed) == ("top", 4)


WRONG = [
    ("steps:\n  - {name: a, price: {asset: '${asset}', price: '1'}}", "no value for ${asset}"),
    (
        "params: {asset: x}\nsteps:\n  - {name: a, price: {asset: '${aset}', price: '1'}}",
        "did you mean ${asset}?",
    ),
    (
        "steps:\n  - {order: {as: maker, symbol: w, side: buy, price: '0.4', qty: '1', clord: x}}",
        "did you mean 'clord_id'?",
    ),
    ("steps:\n  - {repeat: many, steps: []}", "`repeat` must be the number of rounds"),
    ("steps:\n  - {repeat: 2, stepz: []}", "did you mean 'steps'?"),
    ("steps:\n  - {repeat: 2, each: [a], steps: []}", "`repeat` or `each`"),
    ("steps:\n  - {each: {a: b}, steps: []}", "`each` must be a list of values"),
    ("matrix: {a: b}\nsteps: []", "`matrix` needs a list of values for a"),
    ("params: {'a b': c}\nsteps: []", "is not a valid name of a parameter"),
    ("steps:\n  - {repeat: 999999, steps: [{advance: 1s}]}", "more than 20000 steps"),
    ("steps:\n  - {when: {oder: {name: x, state: FILLED}}}", "did you mean 'order'?"),
    (
        "steps:\n  - {fault: {match: {operation: InsrtOrder}, act: {status: 503}}}",
        "did you mean 'InsertOrder'?",
    ),
    ("preset: hostil\nsteps: []", "did you mean 'hostile'?"),
    (
        "steps:\n  - {cancel: {all: true}, advance: 1s}",
        "a step has at most one action: this one has 'cancel'",
    ),
    (
        "steps:\n  - {call: {plane: grpc, rpc: InsertOrder}}",
        "did you mean 'OrderEntryAPI.InsertOrder'?",
    ),
    (
        "steps:\n  - {call: {plane: grpc, rpc: OrderEntryAPI.CreateOrderSubscription}}",
        "is a stream: use `subscribe`",
    ),
    (
        "steps:\n  - {call: {plane: retail, rpc: OrderEntryAPI.InsertOrder}}",
        "an rpc needs `plane: grpc`, not retail",
    ),
    (
        "steps:\n  - {call: {plane: retail, get: /v1/orders/open, post: /v1/orders}}",
        "a call needs exactly one of",
    ),
    ("steps:\n  - {call: {plane: retail}}", "a call needs exactly one of"),
    ("steps:\n  - {call: {plane: retail, get: v1/orders/open}}", "a path must begin with /"),
    (
        "steps:\n  - {subscribe: {name: a, rpc: OrderEntryAPI.InsertOrder}}",
        "is not a stream: use `call`",
    ),
    ("steps:\n  - {subscribe: {name: a}}", "`subscribe` needs either `rpc` or `web_socket`"),
    (
        "steps:\n  - {subscribe: {name: a, web_socket: /v1/ws/market}}",
        "did you mean '/v1/ws/markets'?",
    ),
    (
        "steps:\n  - {disconnect: b}\n  - {subscribe: {name: bids, web_socket: /v1/ws/markets}}",
        "no `subscribe` has the stream 'b'",
    ),
    (
        (
            "steps:\n  - {send: {stream: bid, frames: []}}\n  - {subscribe: {name: bids,"
            " web_socket: /v1/ws/markets}}"
        ),
        "did you mean 'bids'?",
    ),
    (
        "steps:\n  - {expect: {stream: {name: nobody, count: 0}}}",
        "no `subscribe` has the stream 'nobody'",
    ),
    ("steps:\n  - {fund: {account: makr, amount: '1'}}", "no account is called 'makr'"),
    ("steps:\n  - {expect: {balance: {account: makr, cash: '1'}}}", "no account is called 'makr'"),
    ("steps:\n  - {expect: {book: [{symbol: w}, {symbol: x}]}}", "unknown symbol 'x'"),
    ("steps:\n  - {when: {trade: {symbol: x}}}", "unknown symbol 'x'"),
    ("steps:\n  - {when: {trade: {symbol: w}, maintenance: true}}", "`when` needs exactly one of"),
    ("steps:\n  - {when: {}}", "`when` needs exactly one of"),
    ("steps:\n  - {when: {call: {operation: InsrtOrder}}}", "did you mean 'InsertOrder'?"),
    ("steps:\n  - {quirk: {session_revokation: never}}", "did you mean 'session_revocation'?"),
    ("steps:\n  - {assumption: {engine.latncy: 1s}}", "did you mean 'engine.latency'?"),
    ("steps:\n  - {assumption: {engine.latency: blue}}", "not a duration: 'blue'"),
    ("steps:\n  - {event: {slug: no-such-game, ended: true}}", "there is no event 'no-such-game'"),
    ("steps:\n  - {participant: {name: makr, active: false}}", "no participant is called 'makr'"),
    ("steps:\n  - {at: 2020-01-01T00:00:00Z, advance: 1s}", "the scenario begins later"),
    ("steps:\n  - {expect: {status: 200}}", "this step has no `call`"),
    ("steps:\n  - {advance: 1s, save: {a: b}}", "this step has no `call`"),
    ("steps:\n  - {at: 9999-12-31T23:59:59Z, advance: 1s}", "ends with the year 2199"),
    (
        "steps:\n  - {expect: {book: {symbol: w, bids: ['0.45']}}}",
        'write a level as "price x quantity"',
    ),
    (
        "faults:\n  - {match: {plane: grpc}, act: {slow_body: true}}",
        "slow_body is possible on gateway, retail, exchange, auth",
    ),
    ("faults:\n  - {match: {plane: retail}, act: {status: 200}}", "status must be an HTTP error"),
    ("faults:\n  - {match: {plane: retail}, act: {}}", "act needs one of"),
    (
        "faults:\n  - {match: {plane: retail, operation: InsertOrder}, act: {status: 503}}",
        "InsertOrder exists on exchange, grpc, not on retail",
    ),
    ("faults:\n  - {match: {probability: '2'}, act: {status: 503}}", "a probability is"),
    (
        "steps:\n  - {fault: {match: {plane: webhook, operation: InsertOrder}, act: {drop: true}}}",
        "this fault would have no effect",
    ),
]


def test_participants_that_a_scenario_makes_may_be_named() -> None:
    """The names of participants that a run verifies or creates are unknown before it."""
    act = (
        "call: {plane: exchange, get: /v1/whoami, as:"
        " firms/atlas/users/43f4a4a3-5d19-47e9-af52-e6c1ba3fb392}"
    )
    with pytest.raises(ScenarioError, match="there is no firm or participant"):
        load_scenario(f"{HEAD}steps:\n  - {{{act}}}\n")
    load_scenario(
        f"{HEAD}steps:\n  - {{call: {{plane: exchange, post: /v1/kyc/start, as: firms/atlas, json:"
        f" {{}}}}, expect: {{refused: maybe}}}}\n  - {{{act}}}\n"
    )


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_cannot_be_is_told_at_its_line(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(HEAD + text)
    assert message in str(wrong.value)
    line = wrong.value.problems[0].line
    assert 5 <= line <= 7


# ---- steps that wait

MAKER = 'order: {as: maker, symbol: w, side: buy, price: "0.45", qty: "5"}'
TAKER = 'order: {as: taker, symbol: w, side: sell, price: "0.45", qty: "5"}'

WAITS = [
    ("{order: {name: bid, state: FILLED}}", TAKER),
    ("{trade: {symbol: w}}", TAKER),
    ("{instrument: {symbol: w, state: HALTED}}", "state: {symbol: w, state: HALTED}"),
    ("{call: {operation: ListLeagues}}", ""),
    ("{maintenance: true}", "advance: 48h"),
]


@pytest.mark.parametrize(("when", "cause"), WAITS)
def test_a_step_waits_for_what_happens_and_runs_in_the_same_instant(when: str, cause: str) -> None:
    scenario = load_scenario(
        f"{HEAD}steps:\n  - {{name: bid, {MAKER}}}\n  - {{at: +1m, name: cause, {cause}}}\n  -"
        f" {{name: reaction, when: {when}, within: 72h, price: {{asset: 'crypto:new', price:"
        " '1'}}\n"
    )
    world = connect(Simulation(scenario))
    world.advance("5s")
    assert len(world.simulation.script.results) == 1
    world.advance("1m")
    if "call" in when:
        assert len(world.simulation.script.results) == 2
        world.gateway.get("/v2/leagues")
    elif "maintenance" in when:
        world.advance("40h")
    results = world.simulation.script.results
    assert [result.name for result in results] == ["bid", "cause", "reaction"]
    if "maintenance" not in when:
        assert results[2].at == results[1].at + ("call" in when) * 5 * 10**9
    assert world.simulation.script.done


def test_what_follows_a_step_that_waited_counts_from_when_it_happened() -> None:
    scenario = load_scenario(
        f"{HEAD}steps:\n  - {{name: bid, {MAKER}}}\n  - {{name: first, at: +3s, when: {{trade:"
        " {symbol: w}}, state: {symbol: w, state: HALTED}}\n  - {name: second, at: +4s,"
        " state: {symbol: w, state: OPEN}}\n"
    )
    world = connect(Simulation(scenario))
    world.advance("10m")
    happened = world.simulation.now
    world.simulation.control(
        "order.place",
        "",
        {"as": "taker", "symbol": "w", "side": "sell", "price": "0.45", "qty": "5"},
    )
    world.advance("10s")
    assert [
        (result.name, (result.at - happened) // 10**9)
        for result in world.simulation.script.results[1:]
    ] == [("first", 3), ("second", 7)]


def test_a_client_can_be_answered_by_the_script() -> None:
    """A fault at the worst moment: the market halts as soon as the client's order rests."""
    scenario = load_scenario(
        f"{HEAD}steps:\n  - {{when: {{call: {{operation: InsertOrder, status: 200}}}}, state:"
        " {symbol: w, state: HALTED}}\n  - {when: {call: {operation: CancelOrder}},"
        " within: 1h, state: {symbol: w, state: OPEN}}\n"
    )
    world = connect(Simulation(scenario))
    client = trader(world)
    instrument = world.simulation.exchange.instruments.require("w")
    placed = client.post("/v1/trading/orders", json=order(instrument, "BUY", 30, 1))
    assert placed.status == 200
    cancel = {"orderId": placed.json()["orderId"], "symbol": "w"}
    assert client.post("/v1/trading/orders/cancel", json=cancel).status != 200
    assert client.post("/v1/trading/orders/cancel", json=cancel).status == 200


def test_a_step_gives_up_when_nothing_happens_and_the_rest_goes_on() -> None:
    report = ran(
        "steps:\n  - {name: never, when: {trade: {symbol: w}}, within: 5m}\n  - {name: after, at:"
        " +1m, advance: 1s}\n"
    )
    assert failures(report) == ["waited 5m for a trade of w, which did not happen"]
    assert [
        (result.at - load_scenario("quickstart").clock.start) // 60 // 10**9
        for result in report.results
    ] == [5, 6]


def test_a_rewind_comes_back_to_the_waiting_step() -> None:
    text = (
        f"{HEAD}steps:\n  - {{name: bid, {MAKER}}}\n  - {{name: reaction, when: {{trade: {{symbol:"
        " w}}, state: {symbol: w, state: HALTED}}\n"
    )
    world = connect(Simulation(load_scenario(text)))
    sell = {"as": "taker", "symbol": "w", "side": "sell", "price": "0.45", "qty": "5"}
    world.advance("1m")
    before = world.simulation.seq
    world.simulation.control("order.place", "", sell)
    once = world.simulation.digest
    world.simulation.rewind(seq=before)
    assert [result.name for result in world.simulation.script.results] == ["bid"]
    world.simulation.control("order.place", "", sell)
    assert [result.name for result in world.simulation.script.results] == ["bid", "reaction"]
    assert world.simulation.digest == once


# ---- values and streams


def test_parts_of_an_answer_are_kept_for_later_calls() -> None:
    insert = (
        '{clordId: a, type: ORDER_TYPE_LIMIT, side: SIDE_BUY, symbol: w, orderQty: "1", price:'
        ' "30"}'
    )
    report = ran(f"""
steps:
  - call: {{plane: exchange, post: /v1/trading/orders, as: firms/atlas/users/mara-voss, json: {insert}}}
    save: {{order: orderId}}
  - call: {{plane: exchange, get: "/v1/report/orders/${{order}}", as: firms/atlas/users/mara-voss}}
    expect: {{status: 200, json: {{order: {{id: "${{order}}"}}}}}}
  - call: {{plane: gateway, get: /v2/leagues}}
    save: {{league: leagues.0.slug, missing: leagues.0.nonsense}}
  - {{call: {{plane: gateway, get: "/v2/leagues/${{league}}"}}, expect: {{status: 200}}}}
""")
    [missing] = failures(report)
    assert missing.startswith("the answer has no leagues.0.nonsense to save as missing: 200 {")


def test_a_step_without_the_value_that_another_should_have_saved_is_not_performed() -> None:
    report = ran("""
steps:
  - name: ask
    call: {plane: exchange, get: /v1/report/orders/NONE, as: firms/atlas/users/mara-voss}
    save: {order: orderId}
  - name: look
    call: {plane: exchange, get: "/v1/report/orders/${order}", as: firms/atlas}
    expect: {status: 200}
  - {name: maybe, cancel: {as: maker, order: "${order}"}, expect: {refused: maybe}}
  - {name: bid, order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "1"}}
""")
    asked, looked = failures(report)
    assert asked.startswith("refused: 404 {")
    assert asked.endswith("; if this is intended, add `expect: {status: 404}`")
    assert looked == "refused: ${order} has no value: ask saved none"
    displayed = " ".join(" ".join(report.lines()).split())
    assert f"text:10: look at 2026-09-08T18:00:00Z: {looked}" in displayed


@pytest.mark.parametrize(
    ("step", "output"),
    [
        ("call: {plane: grpc, rpc: '${league}', as: mara-voss}", "no operation is called 'nfl'"),
        ("call: {plane: grpc, rpc: '${league}${rest}', as: mara-voss}", "no operation is called"),
        ("subscribe: {name: s, rpc: '${league}', as: mara-voss}", "no operation is called 'nfl'"),
    ],
)
def test_a_saved_value_that_names_no_operation_fails_its_step(step: str, output: str) -> None:
    report = ran(f"""
steps:
  - call: {{plane: gateway, get: /v2/leagues}}
    save: {{league: leagues.0.slug, rest: leagues.1.slug}}
  - {{{step}}}
""")
    (failure,) = failures(report)
    assert failure.startswith(f"refused: {output}")
    assert not report.broken


@pytest.mark.parametrize(
    ("saved", "step", "output"),
    [
        (
            "OrderEntryAPI.CreateOrderSubscription",
            "call: {plane: grpc, rpc: RPC, as: maker}",
            "a call",
        ),
        ("OrderEntryAPI.InsertOrder", "subscribe: {name: s, rpc: RPC, as: maker}", "a stream"),
        ("GatewayHealthAPI.GetGatewayHealth", "call: {plane: grpc, rpc: RPC, as: maker}", "a call"),
    ],
)
def test_a_saved_name_of_another_kind_of_operation_fails_its_step(
    saved: str, step: str, output: str
) -> None:
    scenario = load_scenario(
        "name: saved\nextends: quickstart\nsteps:\n  - call: {plane: gateway, get: /v2/leagues}\n"
        f"    save: {{league: leagues.0.slug}}\n  - {step.replace('RPC', repr('${league}'))}\n"
    )
    first, second = scenario.steps
    part = second.call or second.subscribe
    assert part is not None
    named = {("call" if second.call else "subscribe"): replace(part, rpc=saved)}
    report = run_scenario(replace(scenario, steps=(first, replace(second, **named))))
    (failure,) = failures(report)
    assert failure == f"refused: {saved} is not {output} of gRPC"


def test_a_reference_that_does_not_end_is_no_reference() -> None:
    step = "steps: [{call: {plane: grpc, rpc: '${', as: mara-voss}}]"
    with pytest.raises(ScenarioError, match=r"gRPC has no method '\$\{'"):
        load_scenario(f"name: open\nextends: quickstart\n{step}\n")


def test_a_wrong_answer_is_shown_once_and_names_no_order_that_has_no_name() -> None:
    report = ran("""
steps:
  - call: {plane: exchange, get: /v1/report/orders/NONE, as: firms/atlas/users/mara-voss}
    save: {order: orderId}
    expect: {status: 200}
  - order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "1"}
    expect: {order: {state: FILLED, filled: 1}}
""")
    status, state, filled = failures(report)
    assert status.startswith("status is 404, not 200: {")
    assert [state, filled] == ["its order is NEW, not FILLED", "filled of its order is 0, not 1"]


def test_a_wrong_number_of_frames_says_which_came() -> None:
    report = ran("""
steps:
  - subscribe: {name: orders, rpc: OrderEntryAPI.CreateOrderSubscription, as: mara-voss}
  - order: {as: mara-voss, symbol: w, side: buy, price: "0.40", qty: "1"}
    expect: {stream: {name: orders, count: 5}}
""")
    [output] = failures(report)
    assert output.startswith("2 frames arrived on orders, not 5: snapshot, update; the last: {")


def test_a_level_that_a_kept_value_spoils_is_told_as_a_difference() -> None:
    report = ran("""
steps:
  - {call: {plane: gateway, get: /v2/leagues}, save: {league: leagues.0.slug}}
  - {order: {as: maker, symbol: w, side: buy, price: "0.45", qty: "3"}}
  - {advance: 1s, expect: {book: {symbol: w, bids: ["${league} x 3"]}}}
  - {advance: 1s, expect: {book: {symbol: w, bids: ["0.450 x 3.0"], offers: []}}}
""")
    assert not report.broken
    (reported,) = failures(report)
    assert reported.startswith("bids of w are ['0.45 x 3'], not ['") and reported.endswith(" x 3']")


def test_an_answer_that_is_no_json_is_compared_and_kept_from_as_text() -> None:
    """Authentication failures of the retail API are plain text."""
    call = "call: {plane: retail, get: /v1/account/balances}"
    report = ran(f"""
steps:
  - {{{call}, save: {{cash: balances.0}}, expect: {{status: 401}}}}
  - {{{call}, expect: {{json: {{code: 16}}}}}}
  - {{{call}, expect: {{json: Missing required API key headers}}}}
""")
    assert not report.broken
    assert failures(report) == [
        "the answer has no balances.0 to save as cash: 401 Missing required API key headers",
        'answer is "Missing required API key headers", not a mapping',
    ]


def test_a_script_follows_streams_of_both_protocols_and_sees_them_end() -> None:
    key = load_key()
    report = ran(f"""
steps:
  - subscribe: {{name: book, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription, as: firms/atlas/users/mara-voss, json: {{symbols: [w]}}}}
    expect: {{stream: {{name: book, count: 1, has: {{update: {{symbol: w}}}}}}}}
  - subscribe:
      name: trades
      web_socket: /v1/ws/markets
      as: {key}
      send: [{{subscribe: {{requestId: "1", subscriptionType: SUBSCRIPTION_TYPE_TRADE, marketSlugs: [w]}}}}]
  - {{at: +1s, name: bid, {MAKER}, expect: {{stream: {{name: book, count: 1, last: {{update: {{bids: [{{px: "45", qty: "5"}}]}}}}}}}}}}
  - {{at: +1s, name: sell, {TAKER}, expect: {{stream: [{{name: trades, has: {{trade: {{marketSlug: w}}}}}}, {{name: book, count: 1}}]}}}}
  - {{at: +45s, fault: {{match: {{plane: stream, operation: CreateMarketDataSubscription}}, act: {{status: 503}}}}}}
  - {{at: +61s, expect: {{stream: [{{name: book, code: 14}}, {{name: trades, code: 14}}]}}}}
""")
    assert failures(report) == ["trades is open, not ended with 14"]


def test_a_script_talks_on_its_streams_and_leaves_them() -> None:
    report = ran(f"""
steps:
  - subscribe: {{name: talk, rpc: MarketDataSubscriptionAPI.BiDirectionalStreamMarketData, as: firms/atlas/users/mara-voss}}
    expect: {{stream: {{name: talk, count: 0}}}}
  - at: +1s
    send: {{stream: talk, frames: [{{subscribe: {{symbols: [w]}}}}, {{keepalive: {{}}}}]}}
    expect: {{stream: {{name: talk, has: {{update: {{symbol: w}}}}}}}}
  - {{at: +1s, {MAKER}, expect: {{stream: {{name: talk, count: 1}}}}}}
  - {{disconnect: talk}}
  - {{at: +1s, {MAKER}, expect: {{stream: {{name: talk, count: 0}}}}}}
  - {{send: {{stream: talk, frames: [{{keepalive: {{}}}}]}}, expect: {{refused: true}}}}
  - {{disconnect: talk}}
""")
    assert failures(report) == ["refused: the stream 'talk' has ended"]


def load_key() -> str:
    world = Simulation(load_scenario("quickstart")).world
    return world.parties.api_keys[0].key_id


# ---- campaigns


def test_results_are_kept_taken_up_again_and_written_as_junit(tmp_path: Path, capsys) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(
        HEAD + f"matrix: {{leaves: ['5', '6']}}\nsteps:\n  - {{name: bid, {MAKER}, expect: {{order:"
        " {leaves: '${leaves}'}}}\n"
    )
    results, report = tmp_path / "results.ndjson", tmp_path / "junit.xml"
    command = [
        "run",
        str(file),
        "--seeds",
        "1..2",
        "--results",
        str(results),
        "--save-failures",
        str(tmp_path / "kept"),
    ]
    assert main([*command, "--junit", str(report)]) == 1
    first = capsys.readouterr().out
    assert "2 passed, 2 failed" in first
    lines = results.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    cases = ElementTree.parse(report).getroot().findall("testsuite/testcase")
    assert [case.find("failure") is not None for case in cases] == [False, False, True, True]
    kept = sorted((tmp_path / "kept").iterdir())
    assert len(kept) == 2
    replay_file(kept[0])
    # Killed after the first line and in the middle of the second.
    results.write_bytes(lines[0] + lines[1][:40])
    tampered = json.loads(lines[0])
    tampered["report"]["digest"] = "from the file"
    results.write_bytes(json.dumps(tampered).encode() + b"\n" + lines[1][:40])
    assert main([*command, "--resume"]) == 1
    again = capsys.readouterr().out
    assert again.count("from the file") == 1
    assert again.splitlines()[1:] == first.splitlines()[1:]
    assert results.read_bytes().splitlines()[1:] == [line[:-1] for line in lines[1:]]


def test_many_processes_tell_the_same_story(capsys) -> None:
    assert main(["run", "price-time-priority", "--seeds", "1..4"]) == 0
    item = capsys.readouterr().out
    assert main(["run", "price-time-priority", "--seeds", "1..4", "--jobs", "2"]) == 0
    assert capsys.readouterr().out == item


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(["--resume"], "--results"), (["--param", "x"], "NAME=VALUE"), (["--seeds", "a..b"], "1..20")],
)
def test_a_wrong_command_line_is_a_usage_error(capsys, arguments: list[str], text: str) -> None:
    try:
        code: object = main(["run", "quickstart", *arguments])
    except SystemExit as left:
        code = left.code
    assert code == 2
    assert text in capsys.readouterr().err


def test_runs_of_one_name_and_seed_keep_a_journal_each(tmp_path, capsys, monkeypatch) -> None:
    steps = 'steps: [{order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "%d"}}]'
    for qty in (1, 2):
        (tmp_path / f"{qty}.yaml").write_text(f"{HEAD}{steps % qty}")
    (tmp_path / "upper.yaml").write_text(f"{HEAD.replace('lesson', 'LESSON')}{steps % 3}")
    monkeypatch.chdir(tmp_path)
    files = "1.yaml", "2.yaml", "upper.yaml"
    assert main(["run", *files, "--seeds", "1..2", "--journal", "kept", "--jobs", "2"]) == 0
    kept = {path.name: path for path in (tmp_path / "kept").iterdir()}
    assert sorted(kept) == sorted(
        f"{name}.ndjson"
        for seed in (1, 2)
        for name in (f"lesson-{seed}", f"lesson-{seed}-copy-2", f"LESSON-{seed}-copy-3")
    )
    out = capsys.readouterr().out
    assert all(str(path) in out for path in kept.values())
    digests = re.findall(r"digest ([0-9a-f]{64})", out)
    assert len(set(digests)) == len(kept)
    for path in kept.values():
        assert main(["replay", str(path)]) == 0
    assert sorted(re.findall(r"[0-9a-f]{64}", capsys.readouterr().out)) == sorted(digests)


UNKNOWN_ORDER = "plane: exchange, get: /v1/report/orders/NONE, as: firms/atlas/users/mara-voss"
UNKNOWN_BOOK = "plane: grpc, rpc: OrderBookAPI.GetOrderBook, as: atlas, json: {symbol: nope}"
UNKNOWN_STREAM = (
    "name: s, rpc: OrderEntryAPI.CreateOrderSubscription, as: mara-voss, json: {accounts: [nope]}"
)


@pytest.mark.parametrize(
    ("step", "right"),
    [
        (f"call: {{{UNKNOWN_ORDER}}}", "status: 404"),
        (f"call: {{{UNKNOWN_BOOK}}}", "code: 5"),
        (f"subscribe: {{{UNKNOWN_STREAM}}}", "code: 7"),
    ],
)
def test_a_refused_call_fails_its_step_unless_its_answer_is_expected(step: str, right: str) -> None:
    [output] = failures(ran(f"steps:\n  - {{{step}}}\n  - {{{step}, expect: {{{right}}}}}\n"))
    assert output.startswith("refused: ") and output.endswith(
        f"; if this is intended, add `expect: {{{right}}}`"
    )
    # its other expectations are not about the answer
    [output] = failures(
        ran(f"steps:\n  - {{{step}, expect: {{trades: {{symbol: w, count: 0}}}}}}\n")
    )
    assert output.startswith("refused: ")
    for meant in ("true", "maybe"):
        assert not failures(ran(f"steps:\n  - {{{step}, expect: {{refused: {meant}}}}}\n"))


@pytest.mark.parametrize(
    ("call", "allowed", "refused"),
    [
        ("plane: exchange, get: /v1/trading/orders/open", "status: 200", "status: 403"),
        ("plane: grpc, rpc: OrderEntryAPI.GetOpenOrders", "code: 0", "code: 7"),
    ],
)
def test_a_call_may_be_made_for_another_than_the_firm_itself_names(
    call: str, allowed: str, refused: str
) -> None:
    """A header names the participant, for whom the firm must be allowed to act (§5.1, item 7)."""
    steps = "steps:\n"
    for headers, expected in (
        ("{X-Participant-Id: firms/atlas/users/mara-voss}", allowed),
        ("{x-participant-id: firms/borealis/users/ines-duarte}", refused),
        ("{x-participant-id: firms/atlas/users/nobody}", refused),
        ("{}", refused),
    ):
        steps += f"  - {{call: {{{call}, as: firms/atlas, headers: {headers}}}, "
        steps += f"expect: {{{expected}}}}}\n"
    assert not failures(ran(steps))


def test_a_call_that_must_be_refused_and_is_not_fails_its_step() -> None:
    call = "{call: {plane: gateway, get: /v2/leagues}, expect: {refused: true}}"
    assert failures(ran(f"steps:\n  - {call}\n")) == ["it was not refused"]


def test_a_call_that_is_cut_off_by_a_fault_fails_its_step() -> None:
    for act in ("{status: 503}", "{reset: true}", "{hang: true}"):
        report = ran(f"""
faults: [{{match: {{plane: gateway}}, act: {act}}}]
steps: [{{call: {{plane: gateway, get: /v2/leagues}}}}]
""")
        [output] = failures(report)
        assert output.startswith("refused: "), act


# ---- rejected and lost

MANY = "price: {value: '0.40', currency: USD}, quantity: 10000000"
RETAIL = "plane: retail, as: firms/retail/accounts/5c1e90d2, post: "
BODY = f"{{marketSlug: w, intent: ORDER_INTENT_BUY_LONG, type: ORDER_TYPE_LIMIT, {MANY}}}"
REJECTED_CALLS = {
    "an order": f"{RETAIL}/v1/orders, json: {BODY}",
    "a synchronous order": f"{RETAIL}/v1/orders, json: {BODY[:-1]}, synchronousExecution: true}}",
    "a batch": f"{RETAIL}/v1/orders/batched, json: {{orders: [{BODY}]}}",
}


@pytest.mark.parametrize("call", REJECTED_CALLS.values(), ids=REJECTED_CALLS)
def test_a_call_whose_order_is_rejected_by_a_report_fails_its_step(call: str) -> None:
    [output] = failures(ran(f"steps:\n  - {{call: {{{call}}}}}\n"))
    assert output.startswith("its order was rejected (10000.00 USD available, requested ")
    assert output.endswith("; if this is intended, add `expect: {refused: true}`")
    for expect in ("refused: true", "refused: maybe", "status: 200"):
        assert failures(ran(f"steps:\n  - {{call: {{{call}}}, expect: {{{expect}}}}}\n")) == []


def test_a_call_whose_change_is_rejected_by_a_report_fails_its_step() -> None:
    order_ = BODY.replace("10000000", "1")
    report = ran(f"""
steps:
  - {{name: bid, call: {{{RETAIL}/v1/orders, json: {order_}}}, save: {{bid: id}}}}
  - name: more
    call: {{{RETAIL}"/v1/order/${{bid}}/modify", json: {{marketSlug: w, quantity: 10000000}}}}
  - name: meant
    call: {{{RETAIL}"/v1/order/${{bid}}/modify", json: {{marketSlug: w, quantity: 10000000}}}}
    expect: {{refused: true}}
""")
    assert [result.name for result in report.results if result.failures] == ["more"]
    [output] = failures(report)
    assert output.startswith("its change was rejected (10000.00 USD available, requested ")


def test_what_is_advised_for_a_rejected_order_holds() -> None:
    steps = """
steps:
  - {state: {symbol: w, state: SUSPENDED}}
  - {order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "5"}EXPECT}
"""
    right = "`expect: {order: {state: REJECTED}}`"
    assert failures(ran(steps.replace("EXPECT", ""))) == [
        f"its order was rejected (Book is SUSPENDED); if this is intended, add {right}"
    ]
    for expect in ("order: {state: REJECTED}", "refused: true"):
        assert failures(ran(steps.replace("EXPECT", f", expect: {{{expect}}}"))) == []


def test_an_order_that_must_be_refused_and_is_not_fails_its_step() -> None:
    step = '{order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "5"}'
    assert failures(ran(f"steps:\n  - {step}, expect: {{refused: true}}}}\n")) == [
        "it was not refused"
    ]


BID = '{symbol: w, side: SIDE_BUY, type: ORDER_TYPE_LIMIT, price: "40", orderQty: "1"}'
ENTERING = {
    "REST": (
        f"plane: exchange, as: mara-voss, post: /v1/trading/orders, json: {BID}",
        "status: 503",
    ),
    "gRPC": (
        f"plane: grpc, as: mara-voss, rpc: OrderEntryAPI.InsertOrder, json: {BID}",
        "code: 14",
    ),
}


@pytest.mark.parametrize("act", ["half_close: true", "reset: true, handled: true"])
@pytest.mark.parametrize(("call", "right"), ENTERING.values(), ids=ENTERING)
def test_an_answer_that_is_lost_behind_a_handled_call_fails_its_step(
    act: str, call: str, right: str
) -> None:
    report = ran(f"""
steps:
  - {{fault: {{match: {{operation: InsertOrder}}, act: {{{act}}}}}}}
  - {{name: lost, call: {{{call}}}, save: {{bid: orderId}}}}
  - {{name: meant, call: {{{call}}}, expect: {{refused: true}}}}
  - {{name: told, call: {{{call}}}, expect: {{{right}}}}}
  - {{name: entered, expect: {{open_orders: {{as: mara-voss, symbol: w, count: 3}}}}}}
""")
    assert [result.name for result in report.results if result.failures] == ["lost"]
    [result] = [result for result in report.results if result.failures]
    assert result.failures[0].startswith("refused: ")
    assert "the connection broke before the answer arrived" in result.failures[0]
    assert result.failures[0].endswith(f"; if this is intended, add `expect: {{{right}}}`")


def test_an_answer_in_slow_pieces_is_an_answer() -> None:
    call = ENTERING["REST"][0]
    report = ran(f"""
steps:
  - {{fault: {{match: {{operation: InsertOrder}}, act: {{slow_body: true}}}}}}
  - {{call: {{{call}}}, save: {{bid: orderId}}}}
""")
    assert failures(report) == []


def test_failures_count_in_english() -> None:
    report = ran("""
steps:
  - {order: {as: maker, symbol: w, side: buy, price: "0.40", qty: "5"}}
  - {expect: {open_orders: {as: maker, symbol: w, count: 3}}}
  - {expect: {open_orders: {as: taker, symbol: w, count: 3}}}
  - {expect: {instrument: {symbol: w, settlement: "1"}}}
  - {order: {as: taker, symbol: w, side: sell, price: "0.40", qty: "1"}}
  - {expect: {trades: {symbol: w, count: 2}}}
""")
    assert failures(report) == [
        "1 order is open, not 3",
        "0 orders are open, not 3",
        "w is not settled, and should be at 1",
        "w traded once, not 2",
    ]
