"""Whatever clients sent, a session is written as a scenario that loads and asks the same again."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import json as fast_json

from sim import Simulation, load_scenario
from sim.core.model.refusals import Refusal
from sim.kernel.journal import Header, encode_header
from sim.read.export.journal_to_scenario import scenario_of
from sim.read.export.yaml_writer import as_yaml
from sim.read.headless_run import run_scenario
from sim.run.actors.operator.views import view
from sim.run.client.client import Http
from sim.world.format.scenario import Scenario
from tests.kit.bodies import order
from tests.kit.desk import FEW_GAMES, begin


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


def written(sim: Simulation) -> tuple[Scenario, dict[str, int]]:
    """The session as a scenario that was loaded from its text, and what was left out."""
    header = fast_json.decode(encode_header(sim.journal.header), type=Header)
    document = scenario_of(header, list(sim.journal.lines()), sim.seed)
    return load_scenario(as_yaml(document.document)), document.left_out


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.dictionaries(TEXT, VALUES, min_size=1, max_size=4))
@example({"\x85\x7f\x9f": "\u2028\ufeff"})
@example({"k" * 1_500: 1, "": "", "<<": {"a: b": "#"}})
@example({"a\nb": "c\td", "- x": "yes"})
def test_the_body_of_a_call_is_the_same_after_it_was_written(body: dict[str, Any]) -> None:
    desk = begin(FEW_GAMES, journal=BytesIO())
    desk.customer().post("/v1/orders", json=body)
    scenario, left_out = written(desk.simulation)
    if left_out:
        assert "${" in json.dumps(body, ensure_ascii=False)
        return
    (step,) = scenario.steps
    assert step.call is not None and step.call.json == body


def test_what_no_scenario_can_hold_is_left_out_and_counted() -> None:
    desk = begin(FEW_GAMES, journal=BytesIO())
    for body in (nested(62), {"marketSlug": "${nobody}"}, {"marketSlug": "plain"}):
        desk.customer().post("/v1/orders", json=body)
    scenario, left_out = written(desk.simulation)
    assert len(scenario.steps) == 1
    assert left_out == {"RestCall": 2}


def test_a_session_with_whatever_callers_and_names_does_as_a_scenario_what_it_did() -> None:
    """Who called in vain calls in vain again; what was asked of things that there are not is left
    out.
    """
    world = begin(FEW_GAMES, journal=BytesIO())
    sim, mine, foreign = world.simulation, world.user().name, world.other_firm.users[0].name
    bid = order(world.quiet(), "BUY", 40, 1)
    token = world.bearer(world.firm)
    for status, headers in (
        (200, token | {"x-participant-id": mine}),
        (403, token | {"x-participant-id": foreign}),
        (403, token | {"x-participant-id": "firms/nobody/users/x"}),
        (403, token),
        (401, {"x-participant-id": mine}),
    ):
        client = Http(world, "exchange", lambda verb, path, sent=headers: sent)
        assert client.post("/v1/trading/orders", json=bid).status == status
    world.advance("181s")
    late = Http(world, "exchange", lambda verb, path: token | {"x-participant-id": mine})
    assert late.post("/v1/trading/orders", json=bid).status == 401
    legs = [{"symbol": item.symbol, "side": "SIDE_BUY"} for item in islice(world.in_state(), 2)]
    answer = world.customer().post("/v1/combos", json={"legs": legs}).json()
    world.settle(answer["combo"]["id"])
    for action, subject, body in (
        ("instrument.state", "no-such", {"state": "HALTED"}),
        ("quirk.set", "stream_duplicates", {"value": "often"}),
        ("fault.add", "", {"act": {"status": 503}, "ttl": "soon"}),
    ):
        with pytest.raises(Refusal):
            sim.control(action, subject, body)
    scenario, left_out = written(sim)
    assert left_out == {"token request": 1, "Controlled": 3}
    again = Simulation(scenario)
    assert run_scenario(scenario, simulation=again).ok
    for observed in ("orders", "accounts", "instruments"):
        rows, same = (
            [row | {"order_id": "", "id": ""} for row in view(item.engine, observed)[observed]]
            for item in (sim, again)
        )
        assert rows == same
