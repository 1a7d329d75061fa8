"""Several instances in one process, over sockets: forks of a running one, or started from a
scenario, each with its own clock, random numbers, ports and journal.
"""

from __future__ import annotations

import json
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from polymarket_us import PolymarketUS

from sim.read.replay import replay_file
from sim.testing.control import Control, ControlError
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.bodies import retail_order
from tests.kit.clients import Facts, sdk
from tests.kit.http import call
from tests.kit.processes import serve


def client_of(at: dict[str, Any] | ServedExchange) -> PolymarketUS:
    """The official client, at the addresses of a ready file or of the fixture."""
    return sdk(Facts(at) if isinstance(at, dict) else at)


def bid(symbol: str, cents: int = 40) -> dict[str, object]:
    return retail_order(symbol, "BUY_LONG", cents)


def digest(control: Control) -> tuple[str, int]:
    result = control("GET", "/digest")
    return result["digest"], result["seq"]


def test_a_fork_goes_its_own_way_with_the_same_credentials_and_orders(exchange):
    symbol = exchange.symbols["open"][0]
    first = client_of(exchange).orders.create(bid(symbol))["id"]
    fork = exchange.fork()
    assert fork.retail != exchange.retail
    assert digest(fork.control) == digest(exchange.control)
    reference = client_of(fork)
    assert reference.orders.retrieve(first)["order"]["id"] == first
    reference.orders.cancel(first, {"marketSlug": symbol})
    fork.clock.advance("2h")
    assert exchange.now != fork.now
    assert client_of(exchange).orders.retrieve(first)["order"]["state"] == "ORDER_STATE_NEW"
    assert reference.orders.retrieve(first)["order"]["state"] == "ORDER_STATE_CANCELED"
    assert fork.journal != exchange.journal
    fork.close()
    assert client_of(exchange).orders.retrieve(first)["order"]["id"] == first


def test_the_journal_of_a_fork_replays_alone(exchange):
    client_of(exchange).orders.create(bid(exchange.symbols["open"][0]))
    fork = exchange.fork()
    fork.clock.advance("1m")
    result, _ = digest(fork.control)
    fork.close()
    assert replay_file(fork.journal).simulation.digest == result


def test_the_same_calls_in_two_forks_give_the_same_answers_and_digests(exchange):
    forks = [exchange.fork() for _ in range(3)]

    def story(fork: ServedExchange) -> list[object]:
        client = client_of(fork)
        ids = [
            client.orders.create(bid(symbol, price))["id"]
            for symbol in fork.symbols["open"][:4]
            for price in (40, 41)
        ]
        fork.clock.advance("5m")
        return [ids, client.orders.list(), digest(fork.control)]

    with ThreadPoolExecutor(3) as pool:  # all at once, on one server
        stories = list(pool.map(story, forks))
    assert stories[0] == stories[1] == stories[2]
    assert digest(exchange.control) == (exchange.control("GET", "/digest")["digest"], 0)


def test_the_control_plane_forks_begins_lists_and_ends_worlds(exchange):
    control = exchange.control
    fork = control("POST", "/fork", {"name": "branch"})
    displayed = (fork["world"], fork["seed"], fork["scenario"])
    assert displayed == ("branch", exchange.seed, "quickstart")
    begun = {"scenario": "maintenance-window", "seed": 99, "clock": "paced:60"}
    other = control("POST", "/worlds", begun)
    assert (other["seed"], other["scenario"]) == (99, "maintenance-window")
    assert Control(other["control"])("GET", "/clock")["mode"] == "paced:60"
    names = [world["world"] for world in control("GET", "/worlds")["worlds"]]
    assert names == ["main", "branch", other["world"]]
    branch = Control(fork["control"])
    branch("POST", "/clock/advance", {"by": "1h"})
    grandchild = branch("POST", "/fork")
    assert grandchild["now"] != control("GET", "/clock")["now"]
    assert client_of(grandchild).orders.list() == {"orders": []}
    control("DELETE", "/worlds/branch")
    with pytest.raises(OSError):
        branch("GET", "/clock")
    # its history was in the journal of an instance that has ended
    assert Control(grandchild["control"])("POST", "/rewind", {"seq": 0})["seq"] == 0


OVER_HTTP = "a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`"
FLOW = {"flows": [{"name": "f", "file": "/etc/hosts"}]}
BLUE = [{"advance": "1s"}, {"advance": "blue"}]
# The body of POST /worlds, and what is said of it.
NO_WORLDS: list[tuple[dict[str, Any], str]] = [
    ({"scenario": "quikstart"}, "quickstart"),
    ({"scenario": "/etc/passwd"}, OVER_HTTP),
    ({"scenario": "../../etc/passwd.yaml"}, OVER_HTTP),
    ({"scenario": {"name": "x", "extends": "/etc/passwd"}}, f"scenario.extends: {OVER_HTTP}"),
    ({"scenario": "name: x\nextends: ./other.yaml\n"}, f"text:2:10: {OVER_HTTP}"),
    (
        {"scenario": {"name": "x", "participants": FLOW}},
        f"scenario.participants.flows[0].file: {OVER_HTTP}",
    ),
    (
        {"scenario": {"name": "x", "stepz": []}},
        "scenario.stepz: unknown key 'stepz'; did you mean 'steps'",
    ),
    ({"scenario": {"name": "x", "steps": BLUE}}, "steps[1].advance: expected a duration"),
    ({"scenario": "name: x\nsteps:\n  - {advance: blue}\n"}, "text:3:15: expected a duration"),
    ({"scenario": 7}, "scenario is the name"),
    ({"scenario": "quickstart", "params": {"a": "b"}}, "unknown parameter 'a'"),
    ({"scenario": "quickstart", "params": {"a": 1}}, "params must map names to texts"),
    ({"scenario": {"name": "x", "matrix": {"n": ["1", "2"]}}}, "several combinations (n: 1, 2)"),
    ({"params": {"a": "b"}}, "params belong to a scenario"),
    ({"clock": "faster"}, "manual"),
    ({"seed": "x"}, "seed"),
]


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "part"),
    [
        ("POST", "/fork", {"name": "Main!"}, 400, "up to 40"),
        ("POST", "/fork", {"name": "main"}, 409, "already"),
        ("POST", "/fork", {"nam": "x"}, 400, "name"),
        ("DELETE", "/worlds/nobody", None, 404, "nobody"),
        ("DELETE", "/worlds/main", None, 409, "itself"),
        *(("POST", "/worlds", body, 400, part) for body, part in NO_WORLDS),
    ],
)
def test_what_makes_no_sense_is_refused_and_makes_no_world(
    exchange, verb, path, body, status, part
):
    with pytest.raises(ControlError, match=re.escape(part)) as refused:
        exchange.control(verb, path, body)
    assert refused.value.status == status
    assert len(exchange.control("GET", "/worlds")["worlds"]) == 1


MINE = {
    "name": "mine",
    "extends": "quickstart",
    "params": {"tick": "0.01"},
    "world": {"instruments": [{"symbol": "mine", "tick_size": "${tick}", "state": "OPEN"}]},
    "steps": [
        {"order": {"as": "maker", "symbol": "mine", "side": "buy", "price": "0.40", "qty": "5"}}
    ],
}


def test_a_world_begins_from_a_scenario_that_is_sent(exchange):
    body = {"scenario": MINE, "params": {"tick": "0.005"}, "name": "first"}
    first = exchange.control("POST", "/worlds", body)
    text = (
        "name: mine\nextends: quickstart\nworld: {instruments: [{symbol: mine, tick_size: '0.01',"
        " state: OPEN}]}\n"
    )
    body = {"scenario": text, "name": "second", "clock": "manual"}
    second = exchange.control("POST", "/worlds", body)
    for world, price in ((first, 40.5), (second, 41)):
        assert world["scenario"] == "mine"
        assert client_of(world).orders.create(bid("mine", price))["id"]
    control = Control(first["control"])
    control("POST", "/clock/advance", {"by": "1s"})
    symbols = [order["symbol"] for order in control("GET", "/state/orders")["orders"]]
    assert symbols.count("mine") == 2
    assert control("GET", "/digest")["seq"] > 0
    journal = "\n".join(
        json.dumps(json.loads(line)) for line in control("GET", "/journal").splitlines()
    )
    assert '"symbol": "mine"' in journal


def test_files_are_read_below_the_folder_of_scenarios_only(tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text("name: outside\n")
    (folder / "mine.yaml").write_text(json.dumps(MINE))
    (folder / "child.yaml").write_text("name: child\nextends: mine\n")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    with serve(tmp_path, "--scenarios", str(folder)) as served:
        for scenario, name in (
            ("child", "child"),
            ("mine.yaml", "mine"),
            ({"name": "inline", "extends": "mine"}, "inline"),
            ("living-market", "living-market"),
        ):
            assert served.control("POST", "/worlds", {"scenario": scenario})["scenario"] == name
        outside = str(tmp_path / "outside.yaml")
        for out in ("../outside.yaml", outside, "link.yaml", "/etc/hosts"):
            with pytest.raises(ControlError, match=f"only files below {folder} can be read"):
                served.control("POST", "/worlds", {"scenario": out})


def test_two_worlds_cannot_take_one_name_however_quickly_they_are_asked_for(exchange):
    def ask(number: int) -> int:
        try:
            exchange.control("POST", "/fork", {"name": "wanted"})
        except ControlError as refused:
            return refused.status
        return 200

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(4))) == [200, 409, 409, 409]


def test_main_outlives_what_its_worlds_ask_for(exchange):
    fork = Control(exchange.control("POST", "/fork")["control"])
    with pytest.raises(ControlError, match="ends with the process"):
        fork("DELETE", "/worlds/main")
    assert exchange.control("GET", "/health")["status"] == "ok"


def test_the_fixture_travels_in_time(exchange):
    client, symbol = client_of(exchange), exchange.symbols["open"][0]
    exchange.snapshot("before/all")
    first = client.orders.create(bid(symbol))["id"]
    start = exchange.now
    exchange.clock.advance("10m")
    client.orders.create(bid(symbol))
    assert exchange.rewind(to=start) == "branch-1"
    assert exchange.now == start
    assert [order["id"] for order in client.orders.list()["orders"]] == [first]
    assert exchange.rewind(seq=0) == "branch-2"
    assert client.orders.list()["orders"] == []
    exchange.restore("before/all")
    assert digest(exchange.control)[1] == 0


def test_a_served_process_keeps_the_journals_of_its_worlds_and_ends_with_all_of_them(tmp_path):
    with serve(tmp_path, "--journal", str(tmp_path / "run.ndjson")) as served:
        fork = served.control("POST", "/fork", {"name": "other"})
        Control(fork["control"])("POST", "/clock/advance", {"by": "1m"})
        assert call(f"{fork['gateway']}/v9/nothing").status == 404
        result, _ = digest(Control(fork["control"]))
        assert served.end(signal.SIGTERM)[0] == 0
    assert fork["journal"] == str(tmp_path / "run.other.ndjson")
    assert replay_file(fork["journal"]).simulation.digest == result
