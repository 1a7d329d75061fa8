"""The CSV of a ledger says what its JSON says (§4.3)."""

from __future__ import annotations

import csv
import io
import re

import pytest

from sim.core.model.instrument import Instrument
from sim.kernel.instants import format_instant, parse_instant
from tests.kit import Desk

LEDGERS = ("/v1/positions/ledger", "/v1/funding/balance-ledger")


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


@pytest.mark.spec("S4.3-17", "S4.3-18")
@pytest.mark.parametrize("path", LEDGERS)
def test_a_ledger_file_holds_the_rows_of_its_pages_word_for_word(
    world: Desk, instrument: Instrument, path: str
) -> None:
    """Enumerations too: what JSON calls DEPOSIT is DEPOSIT in the file. Times have nine digits."""
    world.trade(instrument, 40, 2)
    client, asked = world.trader(), {"account": world.account()}
    rows = client.get(path, params=asked).json()["entries"]
    answer = client.get(f"{path}/download", params=asked)
    assert answer.reply.content_type.startswith("text/csv")
    written = [
        {camel(name): text for name, text in row.items()}
        for row in csv.DictReader(io.StringIO(answer.body.decode()))
    ]
    for row in written:
        assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{9}Z", row["updateTime"])
        row["updateTime"] = format_instant(parse_instant(row["updateTime"]))
    assert rows == written
    assert rows and world.net(instrument)
    assert client.get(path).status == 400  # of no account


@pytest.mark.spec("S4.3-17", "S4.3-18")
@pytest.mark.parametrize("path", LEDGERS)
def test_a_ledger_file_without_rows_is_an_empty_body(world: Desk, path: str) -> None:
    """P24."""
    asked = {"account": world.account(), "endTime": "2026-05-02T00:00:00Z"}
    answer = world.trader().get(f"{path}/download", params=asked)
    assert (answer.status, answer.body) == (200, b"")
