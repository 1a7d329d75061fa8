"""ListInstruments finds an instrument by what its own row says (§2.6, §4.3)."""

from __future__ import annotations

import pytest

from tests.kit import Desk

SYMBOLS = [
    "aec-nfl-dal-phi-2026-09-10",
    "tsc-wnba-nyl-lva-2026-09-09-218pt5",
    "cpc-btc-above-on-september-12-btc-above-60000",
    "ecc-cpi-august-2026-above-2pt8",
    "paccc-us-senate-control-2026-rep",
    "tec-nba-champion-2027-okc",
]


def hits(world: Desk, **asked: object) -> list[str]:
    """Symbols of every page."""
    symbols, token = [], ""
    while True:
        answer = world.trader().post(
            "/v1/refdata/instruments", json={"pageSize": 1000, "pageToken": token, **asked}
        )
        assert answer.status == 200, answer
        symbols += [row["symbol"] for row in answer.json()["instruments"]]
        if answer.json()["eof"]:
            return symbols
        token = answer.json()["nextPageToken"]


@pytest.mark.spec("S4.3-13")
@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.long
def test_the_metadata_of_an_instrument_finds_it(world: Desk, symbol: str) -> None:
    row = (
        world.trader()
        .post("/v1/refdata/instruments", json={"symbols": [symbol]})
        .json()["instruments"][0]
    )
    everything = len(hits(world))
    for name, key in (
        ("eventSeries", "event_series"),
        ("eventCategory", "event_category"),
        ("clearingSym", "clearing_sym"),
        ("productId", "product_id"),
    ):
        by_filter = hits(world, **{name: row["metadata"][key]})
        assert symbol in by_filter and len(by_filter) < everything, (name, row["metadata"][key])
        if key != "product_id":
            assert (
                hits(world, filter={"whereClause": f"{key} = '{row['metadata'][key]}'"})
                == by_filter
            )
    assert hits(world, eventSeries="no-such-series") == []


@pytest.mark.spec("S4.3-13")
def test_the_game_of_an_event_finds_its_instruments(world: Desk) -> None:
    event = world.gateway.get("/v1/events/slug/nfl-dal-phi-2026-09-10").json()["event"]
    assert sorted(hits(world, gameId=event["gameId"])) == sorted(
        market["slug"] for market in event["markets"]
    )


@pytest.mark.spec("S4.3-13")
@pytest.mark.parametrize(
    "column", ["instrument_product", "outcome_type", "event_subcategory", "event_id"]
)
def test_some_columns_fail_as_documented_until_the_quirk_is_off(world: Desk, column: str) -> None:
    """Exchange facts §2.4."""
    symbol = SYMBOLS[0]
    row = (
        world.trader()
        .post("/v1/refdata/instruments", json={"symbols": [symbol]})
        .json()["instruments"][0]
    )
    clause = {
        "pageSize": 1000,
        "filter": {"whereClause": f"{column} = '{row['metadata'][column]}' AND state = 'OPEN'"},
    }
    answer = world.trader().post("/v1/refdata/instruments", json=clause)
    if column == "event_id":
        assert (answer.status, answer.json()["instruments"]) == (200, [])
    else:
        assert (answer.status, answer.json()) == (
            500,
            {"code": 13, "message": "internal error", "details": []},
        )
    world.quirk("instrument_columns_fail", "never")
    instruments = world.trader().post("/v1/refdata/instruments", json=clause).json()["instruments"]
    assert symbol in [item["symbol"] for item in instruments]
    assert {item["metadata"][column] for item in instruments} == {row["metadata"][column]}
