"""Several instances in one process, over sockets: forks of a running one, or started from a
scenario, each with its own clock, random numbers, ports and journal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError

import pytest
from polymarket_us import PolymarketUS

from sim.read.replay import replay_file
from sim.testing.control import Control, ControlError
from sim.testing.exchange_fixture import ServedExchange


def client_of(at: dict[str, object] | ServedExchange) -> PolymarketUS:
    """The official client, at the addresses of a ready file or of the fixture."""
    facts = at if isinstance(at, dict) else at.ready
    key = facts["api_keys"][0]
    return PolymarketUS(
        key_id=key["key_id"],
        secret_key=key["secret_key"],
        api_base_url=facts["retail"],
        gateway_base_url=facts["gateway"],
    )


def bid(symbol: str, price: str = "0.40") -> dict[str, object]:
    return {
        "marketSlug": symbol,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": price, "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }


def digest(control: Control) -> tuple[str, int]:
    found = control("GET", "/digest")
    return found["digest"], found["seq"]


def test_a_fork_goes_its_own_way_with_the_same_credentials_and_orders(exchange):
    symbol = exchange.symbols["open"][0]
    first = client_of(exchange).orders.create(bid(symbol))["id"]
    fork = exchange.fork()
    assert fork.retail != exchange.retail
    assert digest(fork.control) == digest(exchange.control)
    theirs = client_of(fork)
    assert theirs.orders.retrieve(first)["order"]["id"] == first
    theirs.orders.cancel(first, {"marketSlug": symbol})
    fork.clock.advance("2h")
    assert exchange.now != fork.now
    assert client_of(exchange).orders.retrieve(first)["order"]["state"] == "ORDER_STATE_NEW"
    assert theirs.orders.retrieve(first)["order"]["state"] == "ORDER_STATE_CANCELED"
    assert fork.journal != exchange.journal
    fork.close()
    assert client_of(exchange).orders.retrieve(first)["order"]["id"] == first


def test_the_journal_of_a_fork_replays_alone(exchange):
    client_of(exchange).orders.create(bid(exchange.symbols["open"][0]))
    fork = exchange.fork()
    fork.clock.advance("1m")
    found, _ = digest(fork.control)
    fork.close()
    assert replay_file(fork.journal).simulation.digest == found


def test_the_same_calls_in_two_forks_give_the_same_answers_and_digests(exchange):
    forks = [exchange.fork() for _ in range(3)]

    def story(fork: ServedExchange) -> list[object]:
        client = client_of(fork)
        ids = [
            client.orders.create(bid(symbol, price))["id"]
            for symbol in fork.symbols["open"][:4]
            for price in ("0.40", "0.41")
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
    assert (fork["world"], fork["seed"], fork["scenario"]) == (
        "branch",
        exchange.seed,
        "quickstart",
    )
    other = control(
        "POST", "/worlds", {"scenario": "maintenance-window", "seed": 99, "clock": "paced:60"}
    )
    assert (other["seed"], other["scenario"]) == (99, "maintenance-window")
    assert Control(other["control"])("GET", "/clock")["mode"] == "paced:60"
    assert [world["world"] for world in control("GET", "/worlds")["worlds"]] == [
        "main",
        "branch",
        other["world"],
    ]
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


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "part"),
    [
        ("POST", "/fork", {"name": "Main!"}, 400, "up to 40"),
        ("POST", "/fork", {"name": "main"}, 409, "already"),
        ("POST", "/fork", {"nam": "x"}, 400, "name"),
        ("POST", "/worlds", {"scenario": "quikstart"}, 400, "quickstart"),
        (
            "POST",
            "/worlds",
            {"scenario": "/etc/passwd"},
            400,
            "a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": "../../etc/passwd.yaml"},
            400,
            "a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": {"name": "x", "extends": "/etc/passwd"}},
            400,
            "scenario.extends: a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": "name: x\nextends: ./other.yaml\n"},
            400,
            "text:2:10: a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`",
        ),
        (
            *(
                "POST",
                "/worlds",
                {
                    "scenario": {
                        "name": "x",
                        "participants": {"flows": [{"name": "f", "file": "/etc/hosts"}]},
                    }
                },
                400,
            ),
            r"scenario.participants.flows\[0\].file: a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": {"name": "x", "stepz": []}},
            400,
            "scenario.stepz: unknown key 'stepz'; did you mean 'steps'",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": {"name": "x", "steps": [{"advance": "1s"}, {"advance": "blue"}]}},
            400,
            r"steps\[1\].advance: expected a duration",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": "name: x\nsteps:\n  - {advance: blue}\n"},
            400,
            "text:3:15: expected a duration",
        ),
        ("POST", "/worlds", {"scenario": 7}, 400, "scenario is the name"),
        (
            "POST",
            "/worlds",
            {"scenario": "quickstart", "params": {"a": "b"}},
            400,
            "unknown parameter 'a'",
        ),
        (
            "POST",
            "/worlds",
            {"scenario": "quickstart", "params": {"a": 1}},
            400,
            "params must map names to texts",
        ),
        ("POST", "/worlds", {"params": {"a": "b"}}, 400, "params belong to a scenario"),
        ("POST", "/worlds", {"clock": "faster"}, 400, "manual"),
        ("POST", "/worlds", {"seed": "x"}, 400, "seed"),
        ("DELETE", "/worlds/nobody", None, 404, "nobody"),
        ("DELETE", "/worlds/main", None, 409, "itself"),
    ],
)
def test_what_makes_no_sense_is_refused_and_makes_no_world(
    exchange, verb, path, body, status, part
):
    with pytest.raises(ControlError, match=part) as refused:
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
    first = exchange.control(
        "POST", "/worlds", {"scenario": MINE, "params": {"tick": "0.005"}, "name": "first"}
    )
    text = (
        "name: mine\nextends: quickstart\nworld: {instruments: [{symbol: mine, tick_size: '0.01',"
        " state: OPEN}]}\n"
    )
    second = exchange.control(
        "POST", "/worlds", {"scenario": text, "name": "second", "clock": "manual"}
    )
    for world, price in ((first, "0.405"), (second, "0.41")):
        assert world["scenario"] == "mine"
        assert client_of(world).orders.create(bid("mine", price))["id"]
    control = Control(first["control"])
    control("POST", "/clock/advance", {"by": "1s"})
    assert [
        order["symbol"]
        for order in control("GET", "/state/orders")["orders"]
        if order["symbol"] == "mine"
    ] == ["mine", "mine"]
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
    ready = tmp_path / "ready.json"
    command = [
        sys.executable,
        "-m",
        "sim",
        "serve",
        "--port-base",
        "0",
        "--ready-file",
        str(ready),
        "--scenarios",
        str(folder),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()  # the greeting, printed once the ready file stands
            control = Control(json.loads(ready.read_text())["control"])
            assert control("POST", "/worlds", {"scenario": "child"})["scenario"] == "child"
            assert control("POST", "/worlds", {"scenario": "mine.yaml"})["scenario"] == "mine"
            assert (
                control("POST", "/worlds", {"scenario": {"name": "inline", "extends": "mine"}})[
                    "scenario"
                ]
                == "inline"
            )
            assert (
                control("POST", "/worlds", {"scenario": "living-market"})["scenario"]
                == "living-market"
            )
            for out in (
                "../outside.yaml",
                str(tmp_path / "outside.yaml"),
                "link.yaml",
                "/etc/hosts",
            ):
                with pytest.raises(ControlError, match=f"only files below {folder} can be read"):
                    control("POST", "/worlds", {"scenario": out})
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()


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


def test_a_served_process_keeps_the_journals_of_its_worlds_and_ends_with_all_of_them(
    tmp_path: Path,
):
    ready = tmp_path / "ready.json"
    options = [
        "--port-base",
        "0",
        "--clock",
        "manual",
        "--ready-file",
        str(ready),
        "--journal",
        str(tmp_path / "run.ndjson"),
    ]
    command = [sys.executable, "-m", "sim", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # the greeting, printed once the ready file stands
            fork = Control(json.loads(ready.read_text())["control"])(
                "POST", "/fork", {"name": "other"}
            )
            Control(fork["control"])("POST", "/clock/advance", {"by": "1m"})
            with pytest.raises(HTTPError):
                urllib.request.urlopen(f"{fork['gateway']}/v9/nothing")
            found, _ = digest(Control(fork["control"]))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
    assert process.returncode == 0
    assert fork["journal"] == str(tmp_path / "run.other.ndjson")
    assert replay_file(fork["journal"]).simulation.digest == found
