"""The CSV of a ledger says what its JSON says (§4.3)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.kit import Desk, order


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


@pytest.mark.spec("S4.3-17", "S4.3-18")
@pytest.mark.parametrize("path", ["/v1/positions/ledger", "/v1/funding/balance-ledger"])
def test_a_ledger_file_holds_the_rows_of_its_pages_word_for_word(world: Desk, path: str) -> None:
    """Enumerations too: what JSON calls DEPOSIT is DEPOSIT in the file."""
    sim, instrument = world.simulation, world.quiet()
    client, other = world.trader(), world.trader(1)
    assert (
        other.post(
            "/v1/trading/orders", json=order(instrument, "sell", 40, 3, account=world.account(1))
        ).status
        == 200
    )
    assert (
        client.post(
            "/v1/trading/orders", json=order(instrument, "buy", 40, 2, account=world.account())
        ).status
        == 200
    )
    asked = {"account": world.account()}
    rows: list[dict[str, Any]] = client.get(path, params=asked).json()["entries"]
    answer = client.get(f"{path}/download", params=asked)
    told = [
        {camel(name): text for name, text in row.items()}
        for row in csv.DictReader(io.StringIO(answer.body.decode()))
    ]
    assert rows and told == rows
    assert sim.exchange.trading.positions.net(world.account(), instrument.symbol)


@pytest.mark.spec("S4.3-17", "S4.3-18")
@pytest.mark.parametrize("path", ["/v1/positions/ledger", "/v1/funding/balance-ledger"])
def test_a_ledger_file_without_rows_is_an_empty_body(world: Desk, path: str) -> None:
    """P24."""
    answer = world.trader().get(
        f"{path}/download", params={"account": world.account(), "endTime": "2026-05-02T00:00:00Z"}
    )
    assert (answer.status, answer.body) == (200, b"")
