"""The table of operator actions: what does not fit is an error when the module is imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import defstruct

from sim import Simulation, load_scenario
from sim.core.model.refusals import InvalidRequest, Refusal
from sim.kernel import resources
from sim.run.actors.operator.action import (
    Action,
    ActionTableError,
    check_actions,
    check_steps,
    read_entry,
)
from sim.run.actors.operator.actions import ACTIONS
from sim.run.actors.script.runner import CLIENT_KEYS, TIMING_KEYS
from sim.run.client.client import Connection
from sim.server.control.routes import ROUTES
from sim.world.format.steps import KycStep, SettleStep, StateStep, Step
from sim.world.format.struct_types import record
from tests.journeys import firm, quiet

OTHERS = (*TIMING_KEYS, *CLIENT_KEYS)


def do_nothing(instance: object, entry: object) -> dict[str, Any]:
    return {}


def action(name: str = "thing.do", **changes: Any) -> Action:
    return Action(name, StateStep, do_nothing)._replace(**changes)


def test_two_actions_of_one_name_are_an_error() -> None:
    with pytest.raises(ActionTableError, match=r"two actions are called 'thing\.do'"):
        check_actions([action(), action()])


def test_an_action_without_a_function_is_an_error() -> None:
    with pytest.raises(ActionTableError, match="has no function"):
        check_actions([action(perform=None)])


def test_a_route_with_two_variables_is_an_error() -> None:
    with pytest.raises(ActionTableError, match="more than one variable"):
        check_actions([action(call="POST /things/{symbol}/{state}")])


@pytest.mark.parametrize("path", ["/things/{id}", "/things/{id*}/do", "/things/{id}/{symbol}"])
def test_a_route_whose_variable_is_no_key_of_the_entry_is_an_error(path: str) -> None:
    with pytest.raises(ActionTableError, match="no key 'id'"):
        check_actions([action(call=f"POST {path}")])


def test_two_different_actions_for_one_step_key_are_an_error() -> None:
    rows = [action(step="state"), action("other.do", step="state", entry=SettleStep)]
    with pytest.raises(ActionTableError, match="different things for the step key 'state'"):
        check_actions(rows)


def test_a_step_key_without_an_action_is_an_error() -> None:
    grown = defstruct("Grown", [("vanish", str, "")], bases=(Step,), frozen=True, kw_only=True)
    with pytest.raises(ActionTableError, match="step key 'vanish'"):
        check_steps(grown, ACTIONS.values(), OTHERS)


def test_an_action_for_a_step_key_that_is_not_declared_is_an_error() -> None:
    rows = [*ACTIONS.values(), action(step="vanish")]
    with pytest.raises(ActionTableError, match="a step has no key 'vanish'"):
        check_steps(Step, rows, OTHERS)


def test_an_action_for_a_key_that_means_something_else_is_an_error() -> None:
    with pytest.raises(ActionTableError, match="step key 'call'"):
        check_steps(Step, [*ACTIONS.values(), action(step="call")], OTHERS)


def test_a_step_value_that_is_not_the_entry_of_its_action_is_an_error() -> None:
    rows = [row for row in ACTIONS.values() if row.step != "bust"]
    with pytest.raises(ActionTableError, match="a step's 'bust' is no StateStep"):
        check_steps(Step, [*rows, action(step="bust")], OTHERS)


REFERENCE = json.loads(resources.path("fixtures", "control-reference.json").read_bytes())


def _example_body(call: str) -> dict[str, Any]:
    return REFERENCE.get(call, {}).get("body", {})


def test_the_reference_describes_every_call_and_no_other() -> None:
    assert list(REFERENCE) == [endpoint.call for endpoint in ROUTES]
    assert all(row["does"] for row in REFERENCE.values())
    keys = {"does", "parameters", "body", "answer"}
    assert {key for row in REFERENCE.values() for key in row} == keys


def test_the_reference_describes_parameters_that_the_calls_have() -> None:
    for endpoint in ROUTES:
        names = {*endpoint.route.variables, *endpoint.query, *endpoint.many}
        assert REFERENCE[endpoint.call].get("parameters", {}).keys() <= names


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name) for name, row in ACTIONS.items() if _example_body(row.call)]
)
def test_the_example_of_every_body_is_sound(row: Action) -> None:
    body = _example_body(row.call)
    assert body.keys() <= set(row.body_keys)
    assert isinstance(row.read("1", body), row.entry)


@pytest.mark.parametrize("endpoint", ROUTES, ids=lambda endpoint: endpoint.call)
def test_the_examples_of_the_reference_are_json(endpoint: Any) -> None:
    for key in ("body", "answer"):
        assert isinstance(REFERENCE[endpoint.call].get(key, {}), dict)
    if isinstance(endpoint.body, type) and _example_body(endpoint.call):
        read_entry(endpoint.body, _example_body(endpoint.call))


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name) for name, row in ACTIONS.items() if row.step]
)
def test_what_a_control_call_means_can_be_written_as_a_step(row: Action) -> None:
    entry = row.read("subject", _example_body(row.call))
    value = record(Step).keys[row.step].read(_tree(row.step_value(entry)), problems := [])
    assert problems == []
    assert list(row.entries(value)) == [entry]


def _tree(value: object) -> Any:
    from sim.world.format.yaml_tree import tree_of

    return tree_of(value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"stat": "OPEN"}, "unknown key 'stat'; did you mean 'state'?"),
        ({"state": "HALTD"}, "state: expected one of"),
        ({}, "the key 'state' is missing"),
    ],
)
def test_a_body_is_refused_by_the_key_that_is_wrong(
    body: Mapping[str, object], message: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        ACTIONS["instrument.state"].read("abc", body)
    assert message in refusal.value.message


def test_values_deep_inside_a_body_are_named_by_their_path() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        ACTIONS["event.update"].read("abc", {"goals": [{"team": "home", "minute": 0}]})
    assert refusal.value.message.startswith("goals[0].minute: ")


def test_a_key_with_two_names_is_written_once() -> None:
    entry = KycStep(external_id="u", document="uploaded")
    read = ACTIONS["kyc.document"].read
    assert read("u", {"result": "uploaded"}) == read("u", {"document": "uploaded"}) == entry
    with pytest.raises(InvalidRequest, match="'result' and 'document' mean the same"):
        read("u", {"result": "uploaded", "document": "uploaded"})


def test_a_tick_at_another_instant_than_now_is_refused() -> None:
    simulation = Simulation(load_scenario("quickstart"))
    for at in ("2026-09-08T17:59:59Z", "2026-09-08T18:00:01Z"):
        with pytest.raises(Refusal, match=r"(not|cannot be) in the"):
            simulation.control("price.tick", "crypto:btc", {"price": "1", "at": at})
    now = {"price": "63000.5", "at": "2026-09-08T18:00:00Z"}
    assert simulation.control("price.tick", "crypto:btc", now).value == {}


# ---- what an order's answer says


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"tif": "ioc"}, "EXPIRED"),
        ({"tif": "fok"}, "EXPIRED"),
        ({"tif": "ioc", "min_qty": "2"}, "EXPIRED"),
        ({"tif": "ioc", "type": "market", "price": None}, "EXPIRED"),
        ({"post_only": True}, "REJECTED"),
        ({"price": "0.90", "qty": "100000000"}, "REJECTED"),
        ({}, "PARTIALLY_FILLED"),
        ({"price": "0.30"}, "NEW"),
    ],
)
def test_the_answer_to_an_order_says_what_every_list_of_orders_says(
    world: Connection, changes: dict[str, Any], state: str
) -> None:
    """Matching, expiry and rejection come before the answer: nothing is NEW that does not rest."""
    symbol = quiet(world.simulation).symbol
    maker, taker = firm(world.simulation).users[:2]
    offer = {"as": maker.account, "symbol": symbol, "side": "sell", "price": "0.40", "qty": "1"}
    world.simulation.control("order.place", "", offer)
    bid = {"as": taker.account, "symbol": symbol, "side": "buy", "price": "0.40", "qty": "3"}
    asked = {name: value for name, value in (bid | changes).items() if value is not None}
    answer = world.simulation.control("order.place", "", asked).value
    client = world.exchange(firm(world.simulation), taker.name)
    listed = client.post("/v1/report/orders/search", json={"symbol": symbol}).json()["order"]
    (displayed,) = [order for order in listed if order["id"] == answer["order_id"]]
    assert answer["state"] == displayed["state"] == f"ORDER_STATE_{state}"
    assert ("reason" in answer) is (state == "REJECTED")
    assert answer.get("reason", "said") != ""


@pytest.mark.parametrize(
    ("asset", "fields", "words"),
    [
        ("crypto:BTC", {"price": "1"}, "id must be crypto:<symbol>"),
        ("btc", {"price": "1"}, "id must be crypto:<symbol>"),
        ("crypto:" + "x" * 65, {"price": "1"}, "id must be crypto:<symbol>"),
        ("crypto:btc", {"price": "0"}, "a price above zero"),
        ("crypto:btc", {"price": "-1"}, "price"),
        ("crypto:btc", {"price": "sixty"}, "price: "),
        ("crypto:btc", {"price": "1000000000.01"}, "index price: from 0"),
        ("crypto:btc", {"price": "1", "at": "2026-09-08T17:59:59Z"}, "cannot be in the past"),
        ("crypto:btc", {"price": "1", "at": "2026-09-08T18:00:01Z"}, "not in the future"),
    ],
)
def test_a_tick_that_no_index_has_is_refused_and_changes_nothing(
    world: Connection, asset: str, fields: dict[str, str], words: str
) -> None:
    assets = world.simulation.exchange.assets
    before = [(item.id, list(item.by_hand)) for item in assets.all()]
    with pytest.raises(InvalidRequest, match=words) as refused:
        world.simulation.control("price.tick", asset, fields)
    assert refused.value.remedy or "from 0" in refused.value.message
    assert [(item.id, item.by_hand) for item in assets.all()] == before
    world.simulation.control("price.tick", "crypto:new-1", {"price": "1000000000"})
