"""x-participant-id says whose reports are asked for (§5.1 item 7)."""

from __future__ import annotations

import pytest

from tests.kit import Desk


@pytest.mark.spec("S5.1-6", "S4.3-9", "S4.3-11")
def test_single_records_are_as_private_as_the_lists_they_are_in(world: Desk) -> None:
    """R8: what a participant's search does not show, its single reads do not show either."""
    mine, theirs = world.trader(), world.trader(1)
    instrument = world.quiet()
    placed = world.place(instrument, "buy", 20, 1, account=world.account())
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
