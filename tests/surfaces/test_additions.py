"""What was added on a date is unknown before it, market data become too old, and reference data say
when a market opens: seen through the surfaces, on either side of each instant.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.kernel.instants import DAY, EASTERN, NS_PER_S, parse_instant, to_datetime
from sim.run.client.client import Response, RpcError
from tests.kit import Desk, begin, streams

TEXT = "name: dated\nextends: quickstart\nclock: {{start: {start}}}\nworld: {{games: 40}}\n"


def begun(start: str) -> Desk:
    return begin(TEXT.format(start=start))


def batch(world: Desk, path: str = "/v1/orders/batched") -> Response:
    return world.customer().post(path, json={"orders": []})


def ledger(world: Desk, path: str = "/v1/positions/ledger") -> Response:
    return world.trader().get(path)


def incentives(world: Desk, path: str = "/v1/incentives") -> Response:
    return world.customer().get(path)


@pytest.mark.spec("S9-3")
@pytest.mark.parametrize(
    ("call", "day"), [(batch, "2026-04-09"), (ledger, "2026-05-01"), (incentives, "2026-05-20")]
)
def test_an_operation_is_an_unknown_path_before_its_date(call: Any, day: str) -> None:
    world = begun(f"{day}T00:00:00-04:00")
    assert call(world).status != 404
    world = begun("2026-02-01T12:00:00-05:00")
    early, unknown = call(world), call(world, "/v1/nothing/like/this")
    assert early.status == unknown.status == 404
    assert early.json().keys() == unknown.json().keys()
    assert early.json().get("code") == unknown.json().get("code")


@pytest.mark.spec("S9-3")
@pytest.mark.parametrize(
    ("start", "partial"),
    [("2026-05-10T12:00:00-04:00", False), ("2026-05-11T12:00:00-04:00", True)],
)
def test_partial_contracts_and_finer_ticks_begin_on_their_date(start: str, partial: bool) -> None:
    world = begun(start)
    asked = {"pageSize": 500}
    rows = world.partner.post("/v1/refdata/instruments", json=asked).json()["instruments"]
    scales = {row["fractionalQtyScale"] for row in rows}
    ticks = {row["tickSize"] for row in rows}
    assert (scales == {"1"}) is (ticks == {0.01}) is not partial


@pytest.mark.spec("S9-3")
def test_fields_of_statistics_and_orders_begin_on_their_dates() -> None:
    for start, displayed in (
        ("2026-04-30T12:00:00-04:00", False),
        ("2026-05-12T12:00:00-04:00", True),
    ):
        world = begun(start)
        symbol = traded(world)
        stats = world.trader().get(f"/v1/orderbook/{symbol}/bbo").json()["stats"]
        assert ("lastTradeQty" in stats) is displayed
        orders = world.search("orders", symbol=symbol)
        assert all(("priceToQuantityFilled" in row) is displayed for row in orders)


@pytest.mark.spec("S9-3", "S2.7-4")
def test_fields_of_executions_begin_on_their_date() -> None:
    added = {"commissionNotionalCollected", "commissionSpreadPx", "transactTradeDate"}
    for start, displayed in (
        ("2026-04-12T12:00:00-04:00", set()),
        ("2026-04-13T00:00:00-04:00", added),
    ):
        world = begun(start)
        result = world.search("executions", symbol=traded(world))
        assert result
        assert {name for row in result for name in row if name in added} == displayed


@pytest.mark.spec("S9-3", "S2.8-2")
@pytest.mark.parametrize(
    ("start", "existing"),
    [("2026-04-08T23:59:59-04:00", False), ("2026-04-09T00:00:00-04:00", True)],
)
def test_outcome_side_and_action_begin_on_their_date(start: str, existing: bool) -> None:
    """Before that date a client that sends them sends unknown fields."""
    world = begun(start)
    client = world.customer()
    slug = traded(world)
    body = {
        "marketSlug": slug,
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.01", "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        "outcomeSide": "OUTCOME_SIDE_NO",
        "action": "ORDER_ACTION_BUY",
    }
    alone = client.post("/v1/orders", json=body)
    assert alone.status == (200 if existing else 400), alone.body
    if not existing:
        assert "intent is required" in alone.json()["message"]
    other = client.post("/v1/orders", json=body | {"intent": "ORDER_INTENT_BUY_LONG"})
    assert other.status == (400 if existing else 200)
    order = world.retail_read((alone if existing else other).json()["id"])
    assert order["intent"] == f"ORDER_INTENT_BUY_{'SHORT' if existing else 'LONG'}"
    assert ({"outcomeSide", "action"} <= set(order)) is existing
    assert existing or not {"outcomeSide", "action"} & set(order)


@pytest.mark.spec("S9-3", "S8-4")
@pytest.mark.parametrize(
    ("start", "capped"), [("2026-04-30T23:59:00-04:00", False), ("2026-05-01T00:00:00-04:00", True)]
)
def test_the_pool_of_twenty_streams_begins_on_its_date(start: str, capped: bool) -> None:
    world = begun(start)
    symbol = world.quiet().symbol
    opened = [streams.instruments(world, symbol) for _ in range(20)]
    if not capped:
        opened.append(streams.instruments(world, symbol))
        world.advance("1m")
    with pytest.raises(RpcError) as refused:
        streams.instruments(world, symbol)
    assert refused.value.code == 8
    assert not any(stream.end for stream in opened)


def traded(world: Desk) -> str:
    """The symbol of a market, open for months, on which two users have traded just now."""
    instrument = next(
        item
        for item in world.in_state()
        if item.expiration > world.now + 70 * DAY and not world.trading.book(item.symbol).bids.best
    )
    world.place(instrument, "buy", 50, 10)
    world.place(instrument, "sell", 50, 10, user=1)
    return instrument.symbol


@pytest.mark.spec("S8-7")
def test_books_statistics_and_price_history_of_a_market_are_kept_45_days() -> None:
    world = begun("2026-09-08T14:00:00-04:00")
    symbol = traded(world)

    def view() -> tuple[bool, int]:
        answer = world.trader().get(f"/v1/orderbook/{symbol}/bbo")
        assert answer.status == 200, answer.body
        stats = answer.json()["stats"]
        at = world.now // NS_PER_S
        query = {
            "symbol": symbol,
            "fidelity": 720,
            "timestamp.startTimestamp": parse_instant("2026-09-08T00:00:00Z") // NS_PER_S,
            "timestamp.endTimestamp": at,
        }
        history = world.gateway.get("/v1/price-history", params=query).json()["history"]
        first = min((point["timestamp"] for point in history), default=at)
        return stats.get("lastTradePx") is not None, first

    world.advance_to("2026-10-22T06:00:00-04:00")
    priced, first = view()
    assert priced and first < parse_instant("2026-09-10T00:00:00Z") // NS_PER_S
    world.advance_to("2026-10-29T06:00:00-04:00")  # 45 days before this window is September 14
    priced, first = view()
    assert not priced and first >= parse_instant("2026-09-14T06:00:00Z") // NS_PER_S


@pytest.mark.spec("S3.1-1")
def test_reference_data_say_when_a_pending_market_opens() -> None:
    world = begun("2026-09-08T14:00:00-04:00")
    query = {"limit": 5000, "startDateMin": "2026-09-08T18:00:01Z"}
    rows = world.gateway.get("/v1/markets", params=query).json()["markets"]
    waiting = [row for row in rows if row["exchangeStatus"] == "PENDING"]
    assert any("updown" in row["slug"] for row in waiting)
    assert any("updown" not in row["slug"] for row in waiting)
    for row in sorted(waiting, key=lambda row: row["startDate"])[:60:6]:
        result = world.reference(row["slug"])
        day, hour = result["startDate"], result["tradingSchedule"][0]["timeOfDay"]
        opens = to_datetime(parse_instant(row["startDate"]), EASTERN)
        assert (day["year"], day["month"], day["day"]) == (opens.year, opens.month, opens.day)
        assert (hour["hours"], hour["minutes"], hour["seconds"]) == (
            opens.hour,
            opens.minute,
            opens.second,
        )
    first = min(waiting, key=lambda row: row["startDate"])
    slug, opens_at = first["slug"], parse_instant(first["startDate"])
    world.advance_to(opens_at - 1_000_000)
    assert world.trading.state(slug).name == "PENDING"
    world.advance_to(opens_at)
    assert world.trading.state(slug).name == "OPEN"


@pytest.mark.spec("S2.11-1")
def test_a_game_that_is_reported_as_ended_is_over() -> None:
    world = begun("2026-09-08T14:00:00-04:00")
    events = world.gateway.get("/v1/events", params={"period": "NS", "limit": 2}).json()["events"]
    bare, scored = (event["slug"] for event in events)
    world.operate("event.update", bare, ended=True, live=False)
    periods = {"Q1": [3, 7], "Q2": [4, 0]}
    world.operate("event.update", scored, ended=True, live=False, periods=periods)

    def view(slug: str) -> dict[str, Any]:
        return dict(world.gateway.get(f"/v1/events/slug/{slug}").json()["event"])

    assert (view(bare)["period"], view(bare)["eventState"]["period"]) == ("FT", "FT")
    assert (view(scored)["period"], view(scored)["score"]) == ("FT", {"home": 7, "away": 7})
    over = world.gateway.get("/v1/events", params={"period": "FT", "limit": 500}).json()["events"]
    assert {bare, scored} <= {event["slug"] for event in over}
