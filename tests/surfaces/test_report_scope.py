"""x-participant-id says whose reports are asked for (§5.1 item 7)."""

from __future__ import annotations

import pytest

from sim.run.client.client import Connection
from tests.journeys import firm, order, quiet, trader


@pytest.mark.spec("S5.1-6", "S4.3-9", "S4.3-11")
def test_single_records_are_as_private_as_the_lists_they_are_in(world: Connection) -> None:
    """R8: what a participant's search does not show, its single reads do not show either."""
    mine, theirs = trader(world), trader(world, 1)
    instrument = quiet(world.simulation)
    placed = mine.post(
        "/v1/trading/orders",
        json=order(instrument, "buy", 20, 1, account=firm(world.simulation).users[0].account),
    ).json()["orderId"]
    execution = mine.post("/v1/report/executions/search", json={"orderId": placed}).json()[
        "executions"
    ][0]["id"]
    for path, listed in (
        (f"/v1/report/orders/{placed}", "/v1/report/orders/search"),
        (f"/v1/report/executions/{execution}", "/v1/report/executions/search"),
    ):
        assert mine.get(path).status == 200
        answer = theirs.post(listed, json={"orderId": placed}).json()
        assert not (answer.get("order") or answer.get("executions"))
        assert (theirs.get(path).status, theirs.get(path).json()["code"]) == (404, 5)
