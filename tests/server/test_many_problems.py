"""The cost of a refusal: the work for bodies and files with many errors is limited by the number of
errors that are reported.
"""

from __future__ import annotations

import difflib
import json

import pytest

from sim.run.loader.load import load_submitted
from sim.server.control.routes import ROUTES
from sim.world.format.value_types import PROBLEMS_MAX
from sim.world.format.yaml_tree import ScenarioError
from tests.kit.http import call

KEYS = {f"unheard_of_{number}": number for number in range(4_000)}


@pytest.fixture
def searches(monkeypatch):
    """The names for which a nearest one was looked for."""
    names: list[str] = []
    real = difflib.get_close_matches

    def counting(word, *rest, **more):
        names.append(word)
        return real(word, *rest, **more)

    monkeypatch.setattr(difflib, "get_close_matches", counting)
    return names


def answered(address: str, body: object) -> tuple[int, dict]:
    answer = call(address, body, verb="POST")
    return answer.status, answer.json()


POSTS = [endpoint.route.path for endpoint in ROUTES if endpoint.route.verb == "POST"]
BODIES = {
    "many unknown keys": KEYS,
    "many below a key": {"match": KEYS, "act": KEYS, "scenario": KEYS, "params": KEYS},
    "a list of many": {
        "match": [KEYS] * 2,
        "act": [{"effct": 1}] * 4_000,
        "scenario": {"steps": [{"cal": 1}] * 4_000},
    },
    "a key of a megabyte": {"k" * 1_000_000: {"x": 1}},
    "a word of a megabyte": {"state": "w" * 1_000_000, "mode": "w" * 1_000_000},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_call_of_the_control_plane_searches_without_end(exchange, searches, body):
    for path in POSTS:
        del searches[:]
        parts = path.replace("{", "").replace("}", "").replace("*", "")
        status, answer = answered(f"{exchange.control}/_sim/v1{parts}", body)
        if "snapshots" not in path:
            assert 400 <= status < 500, (path, answer)
        assert len(searches) <= 50, path
        assert all(len(name) <= 100 for name in searches)
        assert len(json.dumps(answer)) < 20_000, path


def test_more_values_than_an_entry_takes_are_refused(exchange):
    for body in ({"act": {"x": [0] * 200_000}}, {"match": [[]] * 200_000, "act": {}}):
        status, answer = answered(f"{exchange.control}/_sim/v1/faults", body)
        assert status == 400, answer
    deep: dict = {}
    for _ in range(90):
        deep = {"x": deep}
    assert call(f"{exchange.control}/_sim/v1/faults", {"act": deep}).status == 400
    status, answer = answered(f"{exchange.control}/_sim/v1/faults", {"act": {"x": "y" * (1 << 20)}})
    assert (status, "bytes" in answer["message"]) == (413, True)


SCENARIOS = {
    "unknown keys": "name: x\n" + "".join(f"k{number}: 1\n" for number in range(30_000)),
    "steps": "name: x\nsteps:\n" + "- {cal: x}\n" * 10_000,
    "words": "name: x\nworld: {instruments: [" + "{symbol: x, state: opn}," * 10_000 + "]}\n",
    "references": "name: x\nsteps:\n" + "- {call: '${unheard}'}\n" * 10_000,
}


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_with_many_mistakes_names_the_first_ones(searches, text):
    with pytest.raises(ScenarioError) as refused:
        load_submitted(text, None, {})
    problems = refused.value.problems
    assert 100 <= len(problems) <= PROBLEMS_MAX + 2
    assert any("the rest is not listed" in problem.message for problem in problems)
    assert len(searches) <= 50


def test_a_large_scenario_is_read_beside_the_others(exchange):
    """While one client's scenario is read, others are answered."""
    from concurrent.futures import ThreadPoolExecutor

    text = "name: x\nsteps:\n" + "- {call: GetHealth, expect: {status: 418}}\n" * 20_001
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(call, f"{exchange.control}/_sim/v1/worlds", {"scenario": text})
        answers = 0
        while not reading.done():
            answers += call(f"{exchange.control}/_sim/v1/health").status == 200
        assert reading.result().status == 400
    assert answers > 3
