"""Two names that explain the same lines: the one that explains more is named, whichever came first.

A game ends and its market settles: later, or first as preliminary. Both move the payment by as
much, and only one of them shows a preliminary price.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evidence.clients import SMALL, Clients
from tests.evidence.conftest import Infer
from tests.evidence.in_process import record
from tests.journeys import firm

GAME = "nfl-chi-gb-2026-09-14"
ENDS = {"at": "+40s", "event": {"slug": GAME, "home_score": 21, "away_score": 7, "ended": True}}


def world(folder: Path, name: str, assumptions: dict[str, str]) -> str:
    """A scenario in which a game ends."""
    file = folder / f"{name}.yaml"
    keys = {"steps": [ENDS], "assumptions": assumptions}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    file.write_text(f"extends: quickstart\nname: {name}\n{SMALL}{lines}")
    return str(file)


def settled(file: Path, scenario: str) -> Path:
    """What a holder polls while the market of a game settles."""
    clients = Clients(record(file, scenario, 7))
    symbol = clients.market.symbol
    assert symbol.endswith(GAME)
    account = firm(clients.world.simulation).users[0].account
    clients.order(clients.seller, "sell", 44, 5)
    clients.order(clients.buyer, "buy", 44, 3)
    for _ in range(13):
        clients.world.advance("10s")
        clients.buyer.get("/v1/funding/balance-ledger", params={"account": account})
        clients.partner.get(f"/v1/orderbook/{symbol}")
    return file


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        pytest.param(
            *("settlement.delay_after_close", "1m20s", "settlement.preliminary_for"),
            marks=pytest.mark.soak,
        ),
        ("settlement.preliminary_for", "20s", "settlement.delay_after_close"),
    ],
)
def test_the_name_that_explains_everything_is_named(
    name: str, value: str, other: str, tmp_path: Path, infer: Infer
) -> None:
    file = settled(tmp_path / "s.ndjson", world(tmp_path, "variant", {name: value}))
    _, result = infer(file, scenario=world(tmp_path, "ours", {}))
    assert result["assumptions"][name]["verdict"] == "refuted"
    assert value in result["assumptions"][name]["consistent"]
    assert result["assumptions"][other]["verdict"] != "refuted"
    assert result["lines"]["unexplained"] == 0
