"""`sim explore`: every fault at every point a scenario or a test-suite passes, and which of them it
survives.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import product

import pytest

from sim.cli.main import main
from sim.core.service.fault_spec import KINDS, fault_from
from sim.core.service.json_patch import READY
from sim.search.fault_points import FAULT_KINDS, points

pytest_plugins = ["pytester"]

# One order by a client that looks before it tries again, and a check of it; then a fill that its
# stream must tell.
STORY = """
name: story
extends: quickstart
world: {instruments: [{symbol: x, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: follow, subscribe: {name: fills, rpc: OrderEntryAPI.CreateOrderSubscription, as: firms/atlas/users/mara-voss, json: {symbols: [x]}}}
  - name: buy
    at: +1s
    call:
      plane: exchange
      post: /v1/trading/orders
      as: firms/atlas/users/mara-voss
      json: {type: ORDER_TYPE_LIMIT, side: SIDE_BUY, symbol: x, orderQty: "5", price: "44"}
    expect: {status: 200}
  - {name: fill, at: +1m, order: {as: taker, symbol: x, side: sell, price: "0.44", qty: "5"}, expect: {stream: {name: fills, has: {update: {}}}}}
  - {name: public, at: +1s, call: {plane: gateway, get: /v2/leagues}, expect: {status: 200}}
"""

CAREFUL = """
import json, urllib.request
from http.client import HTTPException

def fetch(url, timeout=None):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return json.load(answer)

def patient(url):
    for _ in range(3):
        try:
            return fetch(url, timeout=0.5)
        except (OSError, HTTPException):
            pass
    raise AssertionError("no answer in three attempts")

def test_careful(exchange):
    assert "leagues" in patient(f"{exchange.gateway}/v2/leagues")

def test_careless(exchange):
    assert "leagues" in fetch(f"{exchange.gateway}/v2/leagues")

def test_of_something_else():
    pass

def test_broken(exchange):
    assert fetch(f"{exchange.gateway}/v2/leagues") is None
"""


def explore_tests(pytester, options=""):
    """The result of `sim explore` with the tests of a file."""
    options, _, rest = options.partition(" -k ")
    rest = f"-k {rest}" if rest else ""
    command = (
        f"-m sim explore test_client.py {options} --json found.json -- -p no:cacheprovider {rest}"
    )
    return pytester.run(sys.executable, *command.split())


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """The story explored once, as JSON by (point, attack), with what was printed."""
    folder = tmp_path_factory.mktemp("explored")
    (folder / "story.yaml").write_text(STORY)
    out = StringIO()
    with redirect_stdout(out):
        command = f"explore {folder}/story.yaml --jobs 1 --json {folder}/found.json"
        code = main(command.split())
    rows = json.loads((folder / "found.json").read_text())
    return code, out.getvalue(), {(row["point"], row["kind"]): row for row in rows}


def test_every_call_frame_and_order_is_a_point_and_every_fault_is_tried_there_once(explored):
    code, out, result = explored
    assert code == 1
    places = {point for point, _ in result}
    assert places >= {
        "grpc CreateOrderSubscription #1",
        "exchange InsertOrder #1",
        "engine place #1",
        "gateway ListLeagues #1",
    }
    frames = sorted(position for position in places if position.startswith("stream"))
    count = len(frames)
    assert frames == [f"stream CreateOrderSubscription #{n}" for n in range(1, count + 1)]
    assert count >= 3
    tried = {attack for point, attack in result if point == "exchange InsertOrder #1"}
    ready = {name.replace("-", " ") for name in READY}
    assert tried == {"error", "limited", "lost", "odd wait", "late", *ready}
    assert all(fault_from(row["fault"]).times == 1 for row in result.values())
    assert "trials at" in out and "next: add the fault to the scenario" in out


def test_an_answer_that_fails_is_noticed_and_what_it_breaks_later_is_told(explored):
    _, _, result = explored
    verdict = {key: row["verdict"] for key, row in result.items()}
    assert verdict["gateway ListLeagues #1", "error"] == "noticed"
    assert verdict["gateway ListLeagues #1", "late"] == "held"
    # the order is there, only its answer is not: the stream tells the fill
    assert verdict["exchange InsertOrder #1", "lost"] == "noticed"
    assert verdict["exchange InsertOrder #1", "error"] == "broke"
    assert verdict["engine place #1", "late engine"] == "held"
    assert verdict["stream CreateOrderSubscription #1", "duplicate"] == "held"
    assert verdict["stream CreateOrderSubscription #1", "revoke"] == "broke"
    assert result["exchange InsertOrder #1", "error"]["failures"][-1].startswith("fill at")


@pytest.mark.long
def test_points_and_attacks_can_be_chosen_and_the_order_is_the_same_whatever_the_processes(
    sim, file, tmp_path
):
    path, texts = file("story.yaml", STORY), []
    for jobs in (1, 2):
        result = tmp_path / f"{jobs}.json"
        options = f"--operations InsertOrder --faults l* --jobs {jobs} --json {result}"
        assert sim(f"explore {path} {options}")[0] == 1
        texts.append(result.read_text())
    assert texts[0] == texts[1]
    assert [row["kind"] for row in json.loads(texts[0])] == ["limited", "lost", "late"]


def test_what_fails_without_any_fault_is_not_explored(sim, file):
    code, _, err = sim("explore", file("story.yaml", STORY.replace("status: 200", "status: 418")))
    assert code == 2 and "fails without any fault: buy at" in err
    assert sim("explore", "no-such-scenario")[0] == 2


def test_every_kind_of_fault_is_tried_on_every_plane_where_it_can_happen():
    tried = {pair for attack in FAULT_KINDS for pair in product(attack.act, attack.planes)}
    for kind in KINDS:
        name = "status" if kind.name == "code" else kind.name  # an error has both
        assert {*product((name,), kind.planes)} <= tried
    survey = {(plane, "X.Y"): 1 for _, plane in tried}
    for point in points(survey, wire=True):
        assert fault_from(point.document()).match.nth == 1


@pytest.mark.soak
def test_a_suite_is_explored_test_by_test(pytester):
    pytester.makepyfile(test_client=CAREFUL)
    result = explore_tests(pytester)
    result.assert_outcomes(passed=3, failed=2)
    assert result.ret == 1
    answer = {
        (row["test"].partition("::")[2], row["kind"]): row
        for row in json.loads((pytester.path / "found.json").read_text())
    }
    attacks = {attack.name for attack in FAULT_KINDS if "gateway" in attack.planes}
    assert set(answer) == {*product(("test_careful", "test_careless"), attacks)}
    survived = {key for key, row in answer.items() if row["verdict"] == "survived"}
    assert {attack for test, attack in survived if test == "test_careful"} == attacks
    assert {attack for test, attack in survived if test != "test_careful"} == {
        *("late", "slow answer")
    }
    assert answer["test_careless", "hang"]["verdict"] == "hung"
    row = "test_careless *gateway ListLeagues #1 *2 of 10*"
    broken = "*fail without any fault: *test_broken"
    result.stdout.fnmatch_lines(["*explored faults*", row, broken])
    command = "next: *-m pytest *test_client.py::test_careless --exchange-fault '{*"
    result.stdout.fnmatch_lines([command])


WAITS = """
import asyncio, urllib.request

def test_idle(exchange):
    pass

def fetch(url):
    return urllib.request.urlopen(url).read()

def test_blocked(exchange):
    assert fetch(f"{exchange.gateway}/v2/leagues")

async def fetched(url):
    return await asyncio.to_thread(fetch, url)

def test_awaits(exchange):
    assert asyncio.run(fetched(f"{exchange.gateway}/v2/leagues"))
"""


@pytest.mark.long
def test_exit_code_last_line_and_junit_say_what_was_not_survived_and_where_it_waits(pytester):
    pytester.makepyfile(test_client=WAITS)
    idle = explore_tests(pytester, "--faults hang -k idle")
    idle.stdout.fnmatch_lines(["FAILED --explore - nothing was explored*", "*1 passed, * 1 error*"])
    assert idle.ret == 2
    hung = explore_tests(pytester, "--faults hang -k ed --junitxml=x.xml")
    hung.stdout.fnmatch_lines(
        ["*stopped after * s in fetch, test_client.py:7", "*1 failed, 1 passed*"]
    )
    assert hung.ret == 1 and 'failures="1"' in (pytester.path / "x.xml").read_text()
    awaits = explore_tests(pytester, "--faults hang -k awaits")
    awaits.stdout.fnmatch_lines(["*stopped after * s in fetched, test_client.py:13"])


@pytest.mark.long
def test_the_fault_that_was_not_survived_can_be_armed_by_hand(pytester):
    pytester.makepyfile(test_client=CAREFUL)
    fault = '{"match":{"plane":"gateway"},"act":{"status":503},"times":1}'
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-k", "care", "--exchange-fault", fault
    )
    result.assert_outcomes(passed=1, failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*HTTPError*503*"])


@pytest.mark.long
def test_exploring_several_processes_at_once_is_refused(pytester):
    pytester.makepyfile(test_client=CAREFUL)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--explore", "-n", "2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--explore runs in one process*"])


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--operations", "InsertOrdr", "did you mean 'InsertOrder'"),
        ("--faults", "lose*", "known: error, limited, lost"),
    ],
)
@pytest.mark.parametrize("kind", ["quickstart", "test_of_nothing.py"])
@pytest.mark.long
def test_a_pattern_that_matches_nothing_there_is_is_no_praise(
    capfd, tmp_path, option, value, words, kind
):
    path = tmp_path / kind
    path.write_text("")
    assert main(["explore", str(path) if kind.endswith(".py") else kind, option, value]) == 2
    assert words in "".join(capfd.readouterr())


def test_a_scenario_in_which_no_client_does_anything_says_so(capfd):
    assert main(["explore", "quickstart"]) == 0
    assert "nothing was tried" in capfd.readouterr().out


# ---- pairs and timings

RETRIES_ONCE = """
import json, urllib.request
from http.client import HTTPException

def fetch(url):
    with urllib.request.urlopen(url, timeout=0.5) as answer:
        return json.load(answer)

def test_retries_once(exchange):
    url = f"{exchange.gateway}/v2/leagues"
    try:
        found = fetch(url)
    except (OSError, HTTPException):
        found = fetch(url)
    assert "leagues" in found
"""
# A client that looks ten seconds after its fill: a frame may be late by less, not by more.
PATIENT = """
name: patient
extends: quickstart
world: {instruments: [{symbol: x, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: follow, subscribe: {name: fills, rpc: OrderEntryAPI.CreateOrderSubscription, as: firms/atlas/users/mara-voss, json: {symbols: [x]}}}
  - {name: rest, at: +1s, order: {as: firms/atlas/users/mara-voss, symbol: x, side: buy, price: "0.44", qty: "5"}}
  - {name: fill, at: +1s, order: {as: taker, symbol: x, side: sell, price: "0.44", qty: "5"}}
  - {name: look, at: +10s, expect: {stream: {name: fills, has: {update: {executions: [{type: EXECUTION_TYPE_FILL}]}}}}}
"""


@pytest.mark.soak
def test_a_client_that_only_a_pair_breaks_is_caught_by_the_fault_of_its_retry(pytester):
    pytester.makepyfile(test_client=RETRIES_ONCE)
    assert explore_tests(pytester, "--faults error").ret == 0
    result = explore_tests(pytester, "--faults error --pairs 3")
    assert result.ret == 1
    rows = json.loads((pytester.path / "found.json").read_text())
    assert [row["verdict"] for row in rows] == ["survived", "failed"]
    assert rows[1]["point"] == "gateway ListLeagues #1 + gateway ListLeagues #2"
    assert [fault["match"]["nth"] for fault in rows[1]["faults"]] == [1, 2]
    result.stdout.fnmatch_lines(["1 trial of pairs and timings: 0 survived, 1 did not"])
    result.stdout.fnmatch_lines(["next: *--exchange-fault '{*' --exchange-fault '{*"])


@pytest.mark.long
def test_a_client_that_only_a_timing_breaks_is_caught_by_the_shortest_that_does(
    sim, file, tmp_path
):
    path, result = file("patient.yaml", PATIENT), tmp_path / "found.json"
    command = f"explore {path} --faults late --jobs 1 --json {result}"
    assert sim(command)[0] == 0
    code, out, _ = sim(f"{command} --pairs 40")
    assert code == 1
    rows = json.loads(result.read_text())
    lost = [row for row in rows if row["verdict"] == "broke"]
    # The edge refuses a stream that opens later than after 30 s.
    assert {(row["kind"], row["faults"][0]["match"]["plane"]) for row in lost} == {
        ("late 12s", "stream"),
        ("late 31s", "grpc"),
    }
    assert all(len(row["faults"]) == 1 for row in lost)
    assert "pairs and timings: " in out


@pytest.mark.long
def test_pairs_are_the_same_whatever_the_processes(sim, file, tmp_path):
    path, texts = file("story.yaml", STORY), []
    for jobs in (1, 2):
        result = tmp_path / f"{jobs}.json"
        options = f"--operations InsertOrder --faults l* --pairs 6 --jobs {jobs} --json {result}"
        sim(f"explore {path} {options}")
        texts.append(result.read_text())
    assert texts[0] == texts[1]
    assert any(" + " in row["point"] or row["kind"][-1] == "s" for row in json.loads(texts[0]))


READS_WITHOUT_LIMIT = """
import requests

def read(url):
    return requests.get(url)

def test_waits(exchange):
    assert read(f"{exchange.gateway}/v2/leagues").status_code == 200
"""


@pytest.mark.long
def test_several_processes_find_the_same_and_a_hang_shows_where_it_waits(pytester):
    pytester.makepyfile(test_client=READS_WITHOUT_LIMIT)
    verdicts = []
    for jobs in (1, 2):
        result = explore_tests(pytester, f"--seconds 2 --jobs {jobs} --faults [heu]*")
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*stopped after 2 s in read, test_client.py:4*"])
        result.stdout.fnmatch_lines(["*2 could not act*"])
        rows = json.loads((pytester.path / "found.json").read_text())
        verdicts.append([(row["kind"], row["verdict"]) for row in rows])
    assert verdicts[0] == verdicts[1]
    of = dict(verdicts[0])
    assert (of["hang"], of["error"], of["unknown enum"]) == (*("hung", "failed", "survived"),)
    assert of["empty page"] == of["unknown error code"] == "not affected"
