"""The states of quotes under any sequence of calls, on the retail API and its socket."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api import test_retail_rfqs as rfqs
from tests.api.test_retail_rfqs import ASKS, QUOTES
from tests.kit import begin, unlimited

STEPS = ("quote", "accept", "confirm", "delete", "withdraw", "ask", "halt", "open", "wait")
# The permitted next states of each state; the first state reported is ACTIVE.
FOLLOWS = {
    "ACTIVE": {"ACCEPTED", "DELETED"},
    "ACCEPTED": {"CONFIRMED", "DELETED"},
    "CONFIRMED": {"EXECUTED", "DELETED"},
    "EXECUTED": set[str](),
    "DELETED": set[str](),
}


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(("BUY", "SELL"))), max_size=14))
@pytest.mark.long
def test_quotes_live_by_their_states_and_positions_by_their_trades(
    steps: list[tuple[str, str]],
) -> None:
    world = begin()
    world.preset("ideal")
    unlimited(world.simulation)
    symbol, rfq, created = rfqs.under_way(world)
    socket = rfqs.follow(world, QUOTES)
    observed = {created: "ACTIVE"}
    for step, side in steps:
        match step:
            case "quote":
                created = rfqs.quote(world, rfq).json().get("quoteId", created)
            case "accept":
                rfqs.accept(world, created, f"SIDE_{side}")
            case "confirm":
                rfqs.confirm(world, created)
            case "delete":
                world.customer(QUOTES).request("DELETE", rfqs.path_of(world, created))
            case "withdraw":
                world.customer().request("DELETE", f"/v1/rfqs/{rfq}")
            case "ask":
                rfq = rfqs.ask(world, symbol).json().get("rfqId", rfq)
            case "halt" | "open":
                state = "SUSPENDED" if step == "halt" else "OPEN"
                moved = world.simulation.control("instrument.state", symbol, {"state": state})
                world.absorb(moved)
            case _:
                world.advance("1s" if side == "BUY" else "3s")
        for frame in socket.take():
            for change in frame.get("rfqEvent", {}).values():
                if quote := change.get("quote"):
                    status = quote["status"].removeprefix("QUOTE_STATUS_")
                    before = observed.get(quote["id"])
                    assert status in (FOLLOWS[before] if before else {"ACTIVE"})
                    observed[quote["id"]] = status
    displayed = rfqs.quotes(world)
    assert {row["id"]: row["status"].removeprefix("QUOTE_STATUS_") for row in displayed} == observed
    executed = [row for row in displayed if row["status"] == "QUOTE_STATUS_EXECUTED"]
    bought = sum(10 if row["acceptedSide"] == "SIDE_BUY" else -10 for row in executed)
    assert rfqs.position(world, ASKS, symbol) == bought == -rfqs.position(world, QUOTES, symbol)
    trades = world.customer().read("/v1/rfqs/trades", "trades")
    assert sorted((trade["price"], trade["aggressorSide"]) for trade in trades) == sorted(
        (row["buyPrice" if row["acceptedSide"] == "SIDE_BUY" else "sellPrice"], row["acceptedSide"])
        for row in executed
    )


@pytest.mark.parametrize("passes", ["0s", "500ms"])
def test_a_quote_whose_trade_falls_into_maintenance_is_deleted(passes: str) -> None:
    """Between its confirmation and its trade maintenance suspends the market: no order is entered,
    then or later, and the record says so once the exchange answers again.
    """
    world = begin()
    world.preset("ideal")
    symbol, rfq, created = rfqs.under_way(world)
    rfqs.accept(world, created, "SIDE_BUY")
    assert rfqs.confirm(world, created).status == 200
    world.advance(passes)
    world.operate("maintenance.add", length="5m")
    assert world.customer(QUOTES).get("/v1/rfqs/trades").status == 503
    world.advance("5m")
    for index in (ASKS, QUOTES):
        assert rfqs.statuses(world, index) == ["DELETED"]
        maker = world.customer(index)
        assert maker.read("/v1/rfqs/trades", "trades") == []
        assert maker.read("/v1/orders/open", "orders") == []
        assert rfqs.net(world, index, symbol) == 0
    rfq = rfqs.ask(world, symbol).json()["rfqId"]
    assert rfqs.quote(world, rfq).status == 200
