"""Strategies for users: what they call right is accepted, what they spoil is refused in the
documented way and changes nothing, whatever the grid.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import load_scenario
from sim.core.model.refusals import InvalidRequest
from sim.core.service.fault_spec import fault_from
from sim.read.headless_run import run_scenario
from sim.run.actors.operator.views import view as read_view
from sim.testing import as_yaml
from sim.testing.strategies import (
    Terms,
    clock_jumps,
    exchange_orders,
    fault_plans,
    faults,
    instruments,
    nearly_valid_exchange_orders,
    nearly_valid_instruments,
    nearly_valid_retail_orders,
    order_steps,
    prices,
    prices_off_the_grid,
    retail_orders,
    scenarios,
    terms_of,
)
from tests.kit.desk import FEW_GAMES, Desk, begin

FEW = settings(max_examples=25)
DESK = begin(FEW_GAMES)


def fresh(entry: dict[str, Any]) -> Desk:
    """The world at its start, with one more instrument."""
    DESK.simulation.reset()
    DESK.forget_tokens()
    DESK.simulation.control("instrument.create", "", entry)
    return DESK


def state(world: Desk) -> Any:
    views = ("orders", "accounts", "books", "instruments")
    return [read_view(world.simulation.engine, view) for view in views]


@FEW
@given(st.data())
@pytest.mark.long
def test_an_instrument_that_is_drawn_is_listed_with_the_terms_that_are_said(data):
    entry = data.draw(instruments())
    world = fresh(entry)
    terms, rows = terms_of(entry), read_view(world.simulation.engine, "instruments")["instruments"]
    (row,) = (row for row in rows if row["symbol"] == "drawn")
    assert Terms.of(row) == terms
    price, off = data.draw(prices(terms)), data.draw(prices_off_the_grid(terms))
    assert price % terms.tick == 0 and terms.low <= price <= terms.high
    assert off % terms.tick or off > terms.high


@FEW
@given(st.data())
def test_what_is_right_is_accepted_by_exchange_retail_and_script(data):
    entry = data.draw(instruments())
    terms, world = terms_of(entry), fresh(entry)
    answer = world.trader().post("/v1/trading/orders", json=data.draw(exchange_orders(terms)))
    assert answer.status == 200, answer
    world = fresh(entry)
    body = {**data.draw(retail_orders(terms)), "synchronousExecution": True}
    answer = world.customer().post("/v1/orders", json=body)
    assert answer.status == 200 and "REJECTED" not in answer.body.decode(), answer
    world = fresh(entry)
    placed = world.simulation.control("order.place", "", data.draw(order_steps(terms))).value
    accepted = {f"ORDER_STATE_{state}" for state in ("NEW", "EXPIRED", "CANCELED")}
    assert placed["state"] in accepted, placed


@pytest.mark.long
@FEW
@given(st.data())
def test_what_has_one_thing_wrong_is_refused_as_documented_and_changes_nothing(data):
    entry = data.draw(instruments())
    terms, world = terms_of(entry), fresh(entry)
    before = state(world)
    spoilt = data.draw(nearly_valid_exchange_orders(terms))
    answer = world.trader().post("/v1/trading/orders", json=spoilt.body)
    assert answer.status in spoilt.statuses, (spoilt, answer)
    spoilt = data.draw(nearly_valid_retail_orders(terms))
    answer = world.customer().post("/v1/orders", json=spoilt.body)
    assert answer.status in spoilt.statuses, (spoilt, answer)
    assert state(world) == before


@FEW
@given(nearly_valid_instruments("other"))
def test_an_instrument_with_one_thing_wrong_is_refused_and_the_key_is_named(spoilt):
    DESK.simulation.reset()
    with pytest.raises(InvalidRequest, match=spoilt.wrong):
        DESK.simulation.control("instrument.create", "", spoilt.body)


@FEW
@given(fault_plans(), faults(("stream",), ("CreateOrderSubscription",)), clock_jumps())
def test_faults_and_jumps_that_are_drawn_are_sound(plan, fault, jump):
    for item in (*plan, fault):
        fault_from(item)
    match = fault["match"]
    assert (match["plane"], match["operation"]) == ("stream", "CreateOrderSubscription")
    DESK.simulation.reset()
    for item in plan:
        DESK.simulation.control("fault.add", "", item)
    DESK.advance(jump)


@settings(max_examples=8)
@given(document=scenarios())
def test_a_drawn_scenario_runs_breaks_nothing_and_says_the_same_as_a_file(
    document, tmp_path_factory
):
    path = tmp_path_factory.mktemp("drawn") / "drawn.yaml"
    path.write_text(as_yaml(document))
    scenario = load_scenario(str(path))
    report = run_scenario(scenario)
    assert report.broken == ()
    assert run_scenario(load_scenario(str(path))).digest == report.digest
    refused = [line for result in report.results for line in result.failures]
    # an illegal transition, a second settlement: said, not a mistake
    assert all(line.startswith("refused: ") for line in refused)
