"""Each parameter of the list of instruments, alone, with values that instruments have themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from evening import EVENING, Evening, Row, some

from sim.kernel.instants import eastern_date, format_instant


def instruments(evening: Evening, **body: Any) -> list[Row]:
    rows: list[Row] = []
    token = ""
    client = evening.trader()
    while True:
        answer = client.post(
            "/v1/refdata/instruments", json={"pageSize": 1000, "pageToken": token, **body}
        )
        assert answer.status == 200, answer.body
        page = answer.json()
        rows += page["instruments"]
        token = page.get("nextPageToken", "")
        assert page["eof"] is (not token)
        if not token:
            return rows


@pytest.fixture(scope="module")
def listed(evening: Evening) -> list[Row]:
    return instruments(evening)


def symbols(rows: Iterable[Row], passes: Callable[[Row], bool] = lambda row: True) -> list[str]:
    return [row["symbol"] for row in rows if passes(row)]


def day(date: Row) -> str:
    return f"{date['year']:04d}-{date['month']:02d}-{date['day']:02d}"


INSTRUMENTS: dict[str, Callable[[Row], Any]] = {
    "productId": lambda row: row["productId"],
    "eventSeries": lambda row: row["metadata"].get("event_series"),
    "eventCategory": lambda row: row["metadata"].get("event_category"),
    "clearingSym": lambda row: row["metadata"].get("clearing_sym"),
}


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_a_filter_of_instruments(evening: Evening, listed: list[Row], name: str) -> None:
    of = INSTRUMENTS[name]
    for value in some(listed, of, 6):
        result = symbols(instruments(evening, **{name: value}))
        if name == "clearingSym":
            expected = symbols(
                listed, lambda row, v=value: (of(row) or row["symbol"]).startswith(v)
            )
        elif name == "productId":
            expected = symbols(
                listed,
                lambda row, v=value: v in (row["productId"], row["metadata"].get("product_id")),
            )
        else:
            expected = symbols(listed, lambda row, v=value: of(row) == v)
        assert [symbol for symbol in result if symbol in expected] == expected
        bare = [row for row in listed if row["symbol"] in result and row["symbol"] not in expected]
        assert all(of(row) is None for row in bare), "those whose metadata say nothing"


@pytest.mark.long
def test_instruments_by_state_symbol_game_type_and_date(
    evening: Evening, listed: list[Row]
) -> None:
    states = {row["state"] for row in listed}
    assert {"INSTRUMENT_STATE_SUSPENDED", "INSTRUMENT_STATE_HALTED"} <= states
    for state in states:
        result = symbols(instruments(evening, states=[state]))
        assert result == symbols(listed, lambda row, s=state: row["state"] == s)
        bare = state.removeprefix("INSTRUMENT_STATE_")
        clause = {"filter": {"whereClause": f"state = '{bare}'"}}
        assert symbols(instruments(evening, **clause)) == result
        clause = {"filter": {"whereClause": f"state != '{bare}'"}}
        assert symbols(instruments(evening, **clause)) == symbols(
            listed, lambda row, s=state: row["state"] != s
        )
    two = sorted(states)[:2]
    assert symbols(instruments(evening, states=two)) == symbols(
        listed, lambda row: row["state"] in two
    )
    asked = [listed[-1]["symbol"], listed[0]["symbol"], "none", listed[9]["symbol"]]
    existing = [asked[0], asked[1], asked[3]]
    assert symbols(instruments(evening, symbols=[*asked, asked[0]])) == existing
    assert symbols(instruments(evening, symbols=asked, states=["INSTRUMENT_STATE_OPEN"])) == [
        symbol
        for symbol in existing
        if next(row for row in listed if row["symbol"] == symbol)["state"].endswith("_OPEN")
    ]
    event = next(row for row in evening.events if row["slug"] == evening.far[1])
    mine = {market["slug"] for market in event["markets"]}
    assert symbols(instruments(evening, gameId=event["gameId"])) == symbols(
        listed, lambda row: row["symbol"] in mine
    )
    assert instruments(evening, gameId="none") == []
    for name, of in (("startTime", "startDate"), ("endTime", "expirationDate")):
        days = eastern_days(evening, of)
        for value in some(listed, lambda row, of=of: day(row[of]), 4):
            for bound, passes in (("Gte", lambda a, b: a >= b), ("Lte", lambda a, b: a <= b)):
                result = symbols(instruments(evening, **{f"{name}{bound}": value}))
                assert result == symbols(
                    listed, lambda row, v=value, p=passes, days=days: p(days[row["symbol"]], v)
                )
    clause = {"filter": {"whereClause": "symbol LIKE 'aec-mlb%'"}}
    assert symbols(instruments(evening, **clause)) == symbols(
        listed, lambda row: row["symbol"].startswith("aec-mlb")
    )
    exact = [listed[5]["symbol"], listed[-2]["symbol"]]
    clause = {"filter": {"whereClause": f"symbol IN ('{exact[0]}', '{exact[1]}', 'none')"}}
    assert symbols(instruments(evening, **clause)) == exact
    for name in ("tradableFilter", "type"):
        value = {"tradableFilter": "TRADABLE_FILTER_NON_TRADABLE", "type": "INSTRUMENT_TYPE_FUTURE"}
        if name == "tradableFilter":
            assert instruments(evening, **{name: value[name]}) == []
    assert symbols(instruments(evening, type="INSTRUMENT_TYPE_EVENT")) == symbols(listed)
    for category in {market["category"] for market in evening.markets}:
        slugs = {market["slug"] for market in evening.markets if market["category"] == category}
        result = set(symbols(instruments(evening, marketCategory=category)))
        assert {symbol for symbol in slugs if symbol in symbols(listed)} <= result


def eastern_days(evening: Evening, field: str) -> dict[str, str]:
    """The Eastern date of each instrument's start or expiration."""
    exchange = evening.core
    result = {}
    for symbol in exchange.instruments.symbols():
        instrument = exchange.instruments.require(symbol)
        at = instrument.start if field == "startDate" else instrument.expiration
        result[symbol] = eastern_date(at).isoformat()
    return result


def test_instruments_come_in_pages_of_fifty(evening: Evening, listed: list[Row]) -> None:
    client = evening.trader()
    answer = client.send("/v1/refdata/instruments", {})
    assert symbols(answer["instruments"]) == symbols(listed[:50])
    assert answer["eof"] is False
    for path in ("/v1/refdata/instruments/search", "/v1beta1/list_instruments"):
        again = client.send(path, {"pageSize": 7})
        assert symbols(again["instruments"]) == symbols(listed[:7])
    every = client.send("/v1/refdata/symbols", {}, "symbols")
    assert every == symbols(listed)
    metadata = client.send("/v1/refdata/metadata", {}, "metadata")
    assert metadata["timezone"] == "America/New_York" and metadata["server_version"] == "sandbox"
    bad = client.post("/v1/refdata/instruments", json={"startTimeGte": "soon"})
    assert bad.json()["message"].startswith("start_time_gte: not a date: 'soon'")
    assert format_instant(evening.now) == EVENING
