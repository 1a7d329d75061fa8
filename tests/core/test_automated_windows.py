"""Automated crypto windows as a partner sees them: on the gateway, in order entry, on streams, in
settlement, around maintenance, and after a rewind or a fork.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.gateway.live_views import market_view
from sim.contract.messages import exchange_settlement_v1 as settlement_wire
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.core.recurring.markets import Slot
from sim.kernel.instants import MINUTE, format_instant, parse_instant
from sim.world.format.yaml_tree import ScenarioError
from tests.kit import Desk, begin, streams

WINDOW = "cpc-btc-updown-15m-2026-09-08-1815z"  # 14:15 to 14:30 Eastern
EVENT = WINDOW.removeprefix("cpc-")
CLOCKS = ("18:13:30", "18:15:00", "18:30:00", "18:31:00", "19:00:00", "21:00:00")
OPENS, BEGINS, ENDS, SETTLED, EXPIRED, TERMINATED = (f"2026-09-08T{clock}Z" for clock in CLOCKS)
LISTED = "2026-09-08T06:15:00Z"  # twelve hours before it begins


def world_of(text: str) -> Desk:
    return begin(more=text)


def to(world: Desk, instant: str) -> Desk:
    world.advance_to(instant)
    return world


def market(world: Desk, slug: str = WINDOW) -> Any:
    world.advance("100ms")
    return world.gateway.get(f"/v1/market/slug/{slug}").json()["market"]


def state(world: Desk, symbol: str = WINDOW) -> str:
    """The state that reference data show, or their status where they show nothing."""
    answer = world.partner.get(f"/v1/refdata/instruments/{symbol}")
    if answer.status != 200:
        return str(answer.status)
    return str(answer.json()["instrument"]["state"]).removeprefix("INSTRUMENT_STATE_")


def payout(world: Desk, slug: str = WINDOW) -> object:
    """What a market paid, or the status where it has not paid."""
    answer = world.gateway.get(f"/v1/markets/{slug}/settlement")
    return answer.json()["settlement"] if answer.status == 200 else answer.status


def tick(world: Desk, price: str) -> None:
    """Set the price of the index."""
    world.operate("price.tick", "crypto:btc", price=price)


def timers(world: Desk) -> list[object]:
    """The timers that wait for a window."""
    pending = world.core.ctx.timers.pending()
    return [timer for timer in pending if timer.kind.startswith("windows")]


def mean(world: Desk, instant: str) -> Decimal:
    """Return the mean of the index over the sixty seconds before an instant, in cents."""
    at = parse_instant(instant) // 10**9
    query = {"assets": "crypto:btc", "from": at - 59, "to": at + 1}
    query["bucket"] = "ASSET_PRICE_BUCKET_1S"
    (series,) = world.gateway.get("/v1/asset-prices/history", params=query).json()["series"]
    rows = series["candles"]
    closes = [Decimal(row["close"]) for row in rows if at - 59 <= row["timestamp"] <= at]
    assert len(closes) == 60
    return (sum(closes) / 60).quantize(Decimal("0.01"), ROUND_HALF_UP)


def trade(world: Desk, symbol: str = WINDOW, contracts: int = 10) -> None:
    """Let the first user buy Up from the second at 55 cents."""
    world.trade(world.instrument(symbol), 55, contracts)


def notices(stream: Any) -> list[tuple[str, str, str]]:
    """Return (instant, symbol, state) of each window on an instrument stream."""
    return [
        (
            format_instant(instrument.update_time or 0),
            instrument.symbol,
            wire.InstrumentState(instrument.state).name.removeprefix("INSTRUMENT_STATE_"),
        )
        for message in stream.take()
        for instrument in message.instruments
        if "updown" in instrument.symbol
    ]


# ---- listing and lifecycle


@pytest.mark.spec("S3.1-1")
@pytest.mark.observed("crypto.listing")
def test_l6_a_window_is_listed_ahead_and_opens_ninety_seconds_before_it_begins() -> None:
    world = world_of("clock: {start: 2026-09-08T02:14:00-04:00}")
    before = to(world, "2026-09-08T06:14:59.999Z")
    assert before.gateway.get(f"/v1/market/slug/{WINDOW}").status == 404
    assert before.gateway.get(f"/v1/events/slug/{EVENT}").status == 404
    assert state(before) == "404"
    assert entered(before) in (404, 422)
    to(world, LISTED)
    assert (state(world), market(world)["active"]) == ("PENDING", False)
    hour = "cpc-btc-updown-1h-2026-09-09-0600z"
    assert market(world, hour)["exchangeStatus"] == "PENDING"  # a day ahead
    to(world, "2026-09-08T18:13:29.999Z")
    assert state(world) == "PENDING"
    assert entered(world) in (404, 422)
    to(world, OPENS)
    assert state(world) == "OPEN"
    assert market(world)["active"] is True
    assert entered(world) == 200


def entered(world: Desk, symbol: str = WINDOW) -> int:
    """The status of a bid."""
    terms = Instrument(symbol=symbol, qty_scale=100)
    return world.enter(terms, "buy", 10, timeInForce="TIME_IN_FORCE_DAY").status


@pytest.mark.parametrize("touched", [False, True])
def test_l7_l8_a_window_closes_where_it_ends_expires_half_an_hour_later_and_terminates(
    world: Desk, touched: bool
) -> None:
    to(world, OPENS)
    if touched:
        trade(world)
    for instant, expected in (
        ("2026-09-08T18:29:59.999Z", "OPEN"),
        (ENDS, "CLOSED"),
        ("2026-09-08T18:59:59.999Z", "CLOSED"),
        (EXPIRED, "EXPIRED"),
        ("2026-09-08T20:59:59.999Z", "EXPIRED"),
        (TERMINATED, "TERMINATED"),
    ):
        assert state(to(world, instant)) == expected, instant


def test_metadata_have_the_price_at_the_end_from_the_preliminary_settlement_on() -> None:
    world = world_of(
        "assumptions: {settlement.delay_after_close: 1m, settlement.preliminary_for: 10m}"
    )

    def at(instant: str) -> bool:
        return "crypto_settlement_price" in to(world, instant).reference(WINDOW)["metadata"]

    seconds = ("2026-09-08T18:30:59Z", "2026-09-08T18:31:00Z", "2026-09-08T18:41:00Z")
    assert [at(second) for second in seconds] == [False, True, True]


@pytest.mark.spec("S2.10-1")
@pytest.mark.observed("crypto.metadata", "crypto.terms")
def test_what_the_gateway_and_the_exchange_say_of_a_window(world: Desk) -> None:
    to(world, "2026-09-08T18:20:00Z")
    event = world.gateway.get(f"/v1/events/slug/{EVENT}").json()["event"]
    assert (event["startTime"], event["endDate"]) == (BEGINS, ENDS)
    assert event["seriesSlug"] == "btc-updown-15m"
    assert {tag["slug"] for tag in event["tags"]} == {"crypto", "bitcoin"}
    result = market(world)
    assert [side["description"] for side in result["marketSides"]] == ["Up", "Down"]
    assert (result["startDate"], result["endDate"], result["category"]) == (OPENS, ENDS, "crypto")
    assert result["assetPriceTerms"]["marketType"] == "ASSET_PRICE_MARKET_TYPE_UP_DOWN"
    assert world.gateway.get(f"/v1/market/id/{result['id']}").json()["market"]["slug"] == WINDOW
    assert world.gateway.get(f"/v1/events/{event['id']}").json()["event"]["slug"] == EVENT
    metadata = world.reference(WINDOW)["metadata"]
    published = {
        "clearing_sym": "CPC-BTC",
        "crypto_asset_slug": "btc",
        "crypto_horizon": "15m",
        "crypto_index_symbol": "BTCUSD",
        "crypto_market_type": "updown",
        "event_id": EVENT,
        "event_subcategory": "BTC",
        "instrument_product": "cpc",
        "instrument_product_series": "btc-updown-15m",
        "interval_end": "1788892200",
        "interval_start": "1788891300",
        "outcome_strike": "0.0",
        "product_id": f"cpc-{EVENT}",
    }
    assert {name: metadata.get(name) for name in published} == published
    assert result["assetPriceTerms"] == {
        "marketType": "ASSET_PRICE_MARKET_TYPE_UP_DOWN",
        "asset": {"assetClass": "ASSET_CLASS_CRYPTO", "symbol": "btc"},
        "indexSymbol": "BTCUSD",
        "horizon": "15m",
        "windowStart": BEGINS,
        "windowEnd": ENDS,
        "priceToBeat": metadata["price_to_beat"],
        "strike": "",
        "rangeLower": "",
        "rangeUpper": "",
        "rangeKind": "ASSET_PRICE_RANGE_KIND_UNSPECIFIED",
        "direction": "ASSET_PRICE_DIRECTION_UNSPECIFIED",
        "settlementPrice": "",
    }
    asked = {"clearingSym": "CPC-BTC", "pageSize": 500}
    listed = world.partner.post("/v1/refdata/instruments", json=asked)
    symbols = [row["symbol"] for row in listed.json()["instruments"]]
    assert WINDOW in symbols and all("btc" in symbol for symbol in symbols)
    rows = world.gateway.get("/v1/series", params={"limit": 100}).json()["series"]
    (series,) = (row for row in rows if row["slug"] == "btc-updown-15m")
    assert series["recurrence"] == "15m"


@pytest.mark.long
def test_lists_and_searches_show_the_windows_of_the_moment(world: Desk) -> None:
    def view_of(**query: Any) -> list[str]:
        world.advance("100ms")
        rows = world.rows("/v1/events", "events", **query)
        return [row["slug"] for row in rows if row["slug"].startswith("btc-updown-1h")]

    to(world, "2026-09-08T18:58:29Z")
    # the window of 15:00 ended at 16:00 and terminated at 18:30; the others are listed a day ahead
    today = [f"btc-updown-1h-2026-09-08-{hour}00z" for hour in range(16, 24)]
    tomorrow = [f"btc-updown-1h-2026-09-09-{hour:02}00z" for hour in range(19)]
    assert view_of() == [*today, *tomorrow]
    assert view_of(closed="true") == today[:2]
    assert view_of(active="true") == [today[2]]
    to(world, "2026-09-08T18:58:30Z")
    assert view_of(active="true") == today[2:4]
    opened = today[3]
    query = {"query": "bitcoin 3:00PM-4:00PM", "limit": 50}
    events = world.gateway.get("/v1/search", params=query).json()["events"]
    assert [event["slug"] for event in events] == [opened]
    query = {"categories": "crypto", "active": "true", "limit": 500}
    markets = world.gateway.get("/v1/markets", params=query).json()["markets"]
    assert f"cpc-{opened}" in {row["slug"] for row in markets}
    symbols = world.partner.post("/v1/refdata/symbols", json={}).json()["symbols"]
    assert symbols.count(f"cpc-{opened}") == 1
    assert view_of(slug=opened) == [opened]


@pytest.mark.parametrize(
    "date",
    [
        "2026-09-08-1816z",
        "2026-09-08-1815",
        "2026-02-30-1815z",
        "9999-12-31-2345z",
        "1970-01-01-0000z",
        "2025-12-31-2345z",
    ],
)
def test_a_slug_that_spells_no_window_is_unknown(world: Desk, date: str) -> None:
    symbol = f"cpc-btc-updown-15m-{date}"
    to(world, "2026-09-08T18:20:00Z")
    assert world.gateway.get(f"/v1/market/slug/{symbol}").status == 404
    assert world.gateway.get(f"/v1/events/slug/{symbol[4:]}").status == 404
    assert state(world, symbol) == "404"


@pytest.mark.parametrize("number", [100_000_000, 139_999_999, 260_000_000, 2_000_000_000, 2**62])
def test_a_number_that_is_no_window_by_now_is_unknown(world: Desk, number: int) -> None:
    """The first number is from before its asset had an index; the others are not listed yet or
    invalid.
    """
    assert world.gateway.get(f"/v1/market/id/{number}").status == 404
    assert world.gateway.get(f"/v1/events/{number}").status == 404


# ---- settlement


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.spec("S2.2-1")
def test_l7_l25_a_window_settles_by_the_candles_of_its_asset(world: Desk, touched: bool) -> None:
    to(world, OPENS)
    if touched:
        trade(world)
    assert "priceToBeat" not in market(world)["metadata"]
    to(world, "2026-09-08T18:30:59Z")
    first, last = mean(world, BEGINS), mean(world, ENDS)
    assert market(world)["metadata"]["priceToBeat"] == f"{first:.2f}"
    assert payout(world) == 404
    to(world, SETTLED)
    paid = 1 if last >= first else 0
    assert payout(world) == paid
    asked = world.partner.get(f"/v1/instruments/{WINDOW}/settlement").json()
    assert asked["stats"]["settlementPx"] == str(100 * paid)
    assert asked["stats"]["settlementSetTime"] == SETTLED
    request = settlement_wire.GetInstrumentSettlementRequest(symbol=WINDOW)
    answer = world.rpc_partner.call("SettlementService.GetInstrumentSettlement", request)
    assert answer.stats.settlement_px == 100 * paid
    displayed = market(world)
    assert (displayed["closed"], displayed["status"]) == (True, "MARKET_STATUS_RESOLVED")
    assert displayed["metadata"]["cryptoSettlementPrice"] == f"{last:.2f}"


def test_trading_in_a_window_pays_out_to_the_cent(world: Desk) -> None:
    to(world, OPENS)
    trade(world)
    tick(world, "60000")
    to(world, BEGINS)
    tick(world, "60000.01")
    to(world, ENDS)
    window = world.instrument(WINDOW)
    assert world.net(window) == 1000
    before = world.cash()
    to(world, "2026-09-08T18:31:01Z")
    assert world.net(window) == 0
    assert world.cash() - before == 10  # ten contracts at a dollar
    assert entered(world) == 422


@pytest.mark.parametrize(("tie", "paid"), [("up", 1), ("down", 0), ("half", 0.5)])
def test_a_tie_pays_as_the_assumption_says(tie: str, paid: float) -> None:
    world = world_of(f"assumptions: {{windows.tie: {tie}}}")
    tick(world, "60000")
    to(world, SETTLED)
    assert payout(world) == paid


def test_no_single_tick_decides_a_window(world: Desk) -> None:
    """Prices set a minute before by an operator count; a spike in the last second hardly does."""
    for instant, price in (
        ("2026-09-08T18:14:00Z", "60000"),
        ("2026-09-08T18:29:00Z", "60010"),
        ("2026-09-08T18:30:00Z", "59500"),
    ):
        to(world, instant)
        tick(world, price)
    to(world, SETTLED)
    metadata = market(world)["metadata"]
    assert (metadata["priceToBeat"], metadata["cryptoSettlementPrice"]) == ("60000.00", "60001.50")
    assert payout(world) == 1


@pytest.mark.parametrize(
    ("level", "at", "worth"),
    [
        ("73000", "2026-09-11T15:59:00Z", {"from-66000": 1, "72000": 1, "76000": 0}),
        ("61999", "2026-09-11T15:00:00Z", {"below-62000": 1, "62000-66000": 0, "72000": 0}),
        ("80001", "2026-09-10T15:00:00Z", {"from-66000": 1, "72000": 1, "80000": 1}),
    ],
)
@pytest.mark.observed("crypto.mean")
def test_ranges_and_levels_pay_by_means_of_a_minute(
    level: str, at: str, worth: dict[str, int]
) -> None:
    """A level stays hit once the mean of a whole minute has reached it."""
    world = world_of('limits: {public: "off"}')
    tick(world, "61000")
    to(world, at)
    tick(world, level)
    to(world, "2026-09-11T16:02:00Z")
    tick(world, "61000")
    to(world, "2026-10-08T16:00:00Z")
    for tail, paid in worth.items():
        day = "hit-by-september-30" if tail.isdecimal() else "range-on-september-11"
        assert payout(world, f"cpc-btc-{day}-{tail}") == paid, tail


def test_what_is_said_of_strikes_ranges_and_levels(world: Desk) -> None:
    def terms(slug: str) -> dict[str, Any]:
        asset_price_terms = market(world, slug)["assetPriceTerms"]
        return {
            name: value for name, value in asset_price_terms.items() if value and name != "asset"
        }

    for slug, parts in (
        (
            "above-on-september-12-btc-above-65000",
            {"marketType": "ABOVE_BELOW", "strike": "65000.00", "horizon": "1w"},
        ),
        (
            "range-on-september-11-62000-66000",
            {"rangeKind": "INTERIOR", "rangeLower": "62000.00", "rangeUpper": "66000.00"},
        ),
        (
            "hit-by-september-30-72000",
            {"marketType": "ONE_TOUCH", "direction": "UP", "strike": "72000.00"},
        ),
    ):
        result = terms(f"cpc-btc-{slug}")
        for name, value in parts.items():
            assert re.sub("^ASSET_PRICE_[A-Z]+_(TYPE_|KIND_)?", "", result[name]) == value
    metadata = world.reference("cpc-btc-hit-by-september-30-72000")["metadata"]
    assert (metadata["crypto_market_type"], metadata["crypto_hit_direction"]) == ("hit", "up")
    assert (metadata["clearing_sym"], metadata["outcome_strike"]) == ("CPC-BTC", "72000.00")


def test_an_index_that_never_ticked_gives_no_result() -> None:
    world = world_of("world: {windows: [{name: moon-updown-5m, asset: 'crypto:moon', every: 5m}]}")
    to(world, "2026-09-08T18:11:00Z")
    slug = "cpc-moon-updown-5m-2026-09-08-1805z"
    assert payout(world, slug) == 0.5
    assert "price_to_beat" not in world.instrument(slug).metadata


def test_an_operator_who_closes_a_window_early_does_not_settle_it(world: Desk) -> None:
    to(world, OPENS)
    trade(world)
    world.move(WINDOW, "CLOSED")
    to(world, "2026-09-08T18:29:00Z")
    assert payout(world) == 404
    to(world, SETTLED)
    assert payout(world) in (0, 1)


def test_a_retail_user_trades_a_window_and_sees_it_settle(world: Desk) -> None:
    to(world, OPENS)
    retail = world.customer()
    world.place_as("maker", WINDOW, "sell", "0.40", "5")
    world.retail_place(world.instrument(WINDOW), "BUY_LONG", 40, 5)
    position = retail.get("/v1/portfolio/positions").json()["positions"][WINDOW]
    metadata = position["marketMetadata"]
    assert (position["netPosition"], metadata["eventSlug"]) == ("5", EVENT)
    assert metadata["outcome"] == "Yes"
    to(world, "2026-09-08T18:32:00Z")
    activities = retail.get("/v1/portfolio/activities").json()["activities"]
    assert any(WINDOW in str(activity) and "RESOLUTION" in str(activity) for activity in activities)


# ---- streams


def follow(world: Desk, *symbols: str) -> Any:
    stream = streams.instruments(world, *symbols)
    stream.take()
    return stream


@pytest.mark.spec("S3.1-1")
def test_whoever_follows_every_instrument_hears_of_every_edge_of_a_window(world: Desk) -> None:
    stream = follow(world)
    to(world, "2026-09-08T21:00:01Z")
    heard = [(symbol, result) for _, symbol, result in notices(stream)]
    mine = [result for symbol, result in heard if symbol == WINDOW]
    assert mine == ["OPEN", "CLOSED", "EXPIRED", "TERMINATED"]
    hour = [symbol for symbol, result in heard if result == "OPEN" and "btc-updown-5m" in symbol]
    assert hour[0] == "cpc-btc-updown-5m-2026-09-08-1805z"
    assert hour == sorted(set(hour))
    assert len(hour) == 36  # those that began from 18:05 to 21:00


def test_whoever_names_a_window_hears_of_it(world: Desk) -> None:
    to(world, OPENS)
    stream = follow(world, WINDOW)
    to(world, TERMINATED)
    assert [result for _, _, result in notices(stream)] == ["CLOSED", "EXPIRED", "TERMINATED"]


def test_market_data_of_everything_shows_a_window_from_its_listing_with_its_settlement(
    world: Desk,
) -> None:
    stream = streams.books(world)
    stream.take()
    to(world, "2026-09-08T18:31:01Z")
    updates = (message.update for message in stream.take() if message.update is not None)
    books = [update for update in updates if update.symbol == WINDOW]
    states = [wire.InstrumentState(book.state).name for book in (books[0], books[-1])]
    assert states == ["INSTRUMENT_STATE_OPEN", "INSTRUMENT_STATE_CLOSED"]
    assert books[-2].stats.settlement_set_time is None
    assert books[-1].stats.settlement_set_time == parse_instant(SETTLED)


# ---- maintenance


def windows_of(world: Desk, name: str) -> list[str]:
    return sorted(
        symbol[-16:]
        for symbol in world.core.instruments.symbols()
        if symbol.startswith(f"cpc-{name}-")
    )


@pytest.mark.spec("S8-1")
def test_w7_windows_that_overlap_the_weekly_maintenance_are_not_listed() -> None:
    """Maintenance on Thursday, 02:00 to 06:00 Eastern, is 06:00Z to 10:00Z. The window that begins
    at its end is listed as soon as listing is possible.
    """
    world = world_of("clock: {start: 2026-09-10T01:40:00-04:00}")
    to(world, "2026-09-10T05:59:00Z")
    displayed = windows_of(world, "btc-updown-15m")
    assert displayed[displayed.index("2026-09-10-0545z") + 1] == "2026-09-10-1000z"
    path = "/v1/market/slug/cpc-btc-updown"
    assert world.gateway.get(f"{path}-15m-2026-09-10-0600z").status == 404
    to(world, "2026-09-10T09:59:58Z")
    assert market(world, "cpc-btc-updown-15m-2026-09-10-1000z")["exchangeStatus"] == "PENDING"
    to(world, "2026-09-10T10:00:00Z")
    assert state(world, "cpc-btc-updown-15m-2026-09-10-1000z") == "OPEN"
    to(world, "2026-09-10T10:20:00Z")
    assert state(world, "cpc-btc-updown-15m-2026-09-10-1015z") == "OPEN"
    for hour in ("06", "09"):
        assert world.gateway.get(f"{path}-1h-2026-09-10-{hour}00z").status == 404


@pytest.mark.parametrize("touched", [False, True])
def test_w7_a_window_that_ends_as_maintenance_begins_settles_once_back(touched: bool) -> None:
    world = world_of("clock: {start: 2026-09-10T01:44:00-04:00}")
    last = "cpc-btc-updown-15m-2026-09-10-0545z"
    if touched:
        trade(world, last)
    to(world, "2026-09-10T06:30:00Z")  # the gateway answers during maintenance too
    assert market(world, last)["exchangeStatus"] == "SUSPENDED"
    to(world, "2026-09-10T10:01:01Z")
    assert state(world, last) == "TERMINATED"  # it was due at 08:15Z
    assert payout(world, last) in (0, 1)


ANNOUNCED = [
    (
        "18:14",
        {"begins": "2026-09-09T06:45:00Z", "length": "20m"},
        {
            "2026-09-08T19:16:00Z": {
                "15m-2026-09-09-0630z": "PENDING",
                "15m-2026-09-09-0645z": "404",
                "15m-2026-09-09-0700z": "404",
                "15m-2026-09-09-0715z": "PENDING",
            }
        },
    ),
    (
        "18:14",  # what is listed stays
        {"begins": "2026-09-08T18:20:00Z", "length": "20m"},
        {
            "2026-09-08T18:41:00Z": {
                "15m-2026-09-08-1815z": "CLOSED",
                "15m-2026-09-08-1830z": "OPEN",
            },
            "2026-09-08T18:44:00Z": {"15m-2026-09-08-1845z": "OPEN"},
        },
    ),
    (
        "18:03",  # a pause until 18:13: 18:05 cannot be traded, 18:10 opens late
        {"length": "10m"},
        {
            "2026-09-08T18:12:59Z": {"5m-2026-09-08-2205z": "503"},
            "2026-09-08T18:13:00Z": {
                "5m-2026-09-08-1805z": "CLOSED",
                "5m-2026-09-08-1810z": "OPEN",
                "5m-2026-09-08-2205z": "PENDING",
                "5m-2026-09-08-2210z": "PENDING",
            },
        },
    ),
]


@pytest.mark.parametrize(("clock", "pause", "observed"), ANNOUNCED)
def test_w7_w9_maintenance_keeps_off_what_is_not_listed_yet_and_suspends_what_is(
    world: Desk, clock: str, pause: dict[str, str], observed: dict[str, dict[str, str]]
) -> None:
    to(world, f"2026-09-08T{clock}:00Z")
    world.operate("maintenance.add", **pause)
    for instant, states in observed.items():
        to(world, instant)
        assert {tail: state(world, f"cpc-btc-updown-{tail}") for tail in states} == states
        for tail in (tail for tail, result in states.items() if result in ("404", "503")):
            assert world.gateway.get(f"/v1/market/slug/cpc-btc-updown-{tail}").status == 404


def test_w7_what_was_asked_between_two_announcements_heeds_the_second(world: Desk) -> None:
    """A subscription to all instruments requests a listing before maintenance prevents it."""
    to(world, "2026-09-08T18:14:00Z")
    stream = follow(world)
    for begins in ("2026-09-12T06:45:00Z", "2026-09-09T06:30:00Z"):
        world.operate("maintenance.add", begins=begins, length="20m")
        to(world, "2026-09-08T18:16:00Z")
    to(world, "2026-09-08T19:16:00Z")
    begun = {f"cpc-btc-updown-15m-2026-09-09-{start}z" for start in ("0630", "0645", "0700")}
    assert sorted(begun & {symbol for _, symbol, _ in notices(stream)}) == [
        "cpc-btc-updown-15m-2026-09-09-0700z"
    ]


def test_w7_a_one_off_window_of_the_time_that_was_left_keeps_off_nothing(world: Desk) -> None:
    to(world, "2026-09-08T18:14:00Z")
    world.simulation.snapshot("before")
    slug = "cpc-btc-updown-15m-2026-09-09-0645z"
    pause = {"begins": "2026-09-09T06:45:00Z", "length": "20m"}
    world.simulation.control("maintenance.add", "", pause)
    to(world, "2026-09-08T19:16:00Z")
    assert state(world, slug) == "404"
    world.simulation.restore("before")
    world.forget_tokens()
    to(world, "2026-09-08T19:16:00Z")
    assert state(world, slug) == "PENDING"


# ---- time


@pytest.mark.long
def test_looking_changes_nothing_and_an_idle_month_makes_no_window(world: Desk) -> None:
    to(world, "2026-10-08T18:20:00Z")
    simulation = world.simulation
    assert not timers(world)
    assert not [
        symbol for symbol in simulation.exchange.trading.lifecycle.symbols() if "updown" in symbol
    ]
    other = begin()
    for day in range(9, 30):
        to(other, f"2026-09-{day:02d}T18:20:00Z")
    to(other, "2026-10-08T18:20:00Z")
    slug = "cpc-eth-updown-15m-2026-10-08-1815z"
    assert market(world, slug) == market(other, slug)
    assert list(simulation.exchange.instruments.symbols()) == list(other.core.instruments.symbols())
    assert payout(world) == payout(other)


def test_a_window_is_the_same_after_a_rewind_a_restore_and_in_a_fork(world: Desk) -> None:
    to(world, OPENS)
    trade(world)
    simulation = world.simulation
    seq = simulation.seq
    to(world, "2026-09-08T18:31:01Z")
    after, digest = market(world), simulation.digest
    simulation.snapshot("settled")
    fork = Desk(simulation.fork())
    assert market(fork) == market(world)
    effects = simulation.restore("settled")
    world.deliver(effects)
    assert simulation.digest == digest
    simulation.rewind(seq=seq)
    to(world, "2026-09-08T18:31:01Z")
    assert market(world) == after
    assert simulation.digest == digest


def test_followers_leave_nothing_behind(world: Desk) -> None:
    stream = follow(world)
    to(world, OPENS)
    stream.close()
    assert not timers(world)
    follow(world)
    world.simulation.snapshot("followed")
    world.deliver(world.simulation.restore("followed"))
    assert not timers(world)


# ---- scenarios


def test_a_scenario_declares_windows_changes_those_of_the_world_or_has_none() -> None:
    own = world_of(
        "world: {automated_windows: false, windows: [{name: sol-updown-10m, asset: 'crypto:sol',"
        " every: 10m, lead: 2m, tick_size: '0.005'}]}"
    )
    symbols = {
        re.sub(r"-2026.*", "", symbol)
        for symbol in own.simulation.exchange.instruments.symbols()
        if "updown" in symbol
    }
    assert symbols == {"cpc-sol-updown-10m"}
    to(own, "2026-09-08T18:08:00Z")
    assert market(own, "cpc-sol-updown-10m-2026-09-08-1810z")["orderPriceMinTickSize"] == 0.005
    changed = world_of("world: {windows: [{name: btc-updown-5m, expires: 1m}]}")
    terms = changed.simulation.exchange.instruments.require("cpc-btc-updown-5m-2026-09-08-1800z")
    assert terms.expiration - terms.closes == MINUTE
    none = world_of("world: {automated_windows: false}")
    assert not [
        symbol for symbol in none.simulation.exchange.instruments.symbols() if "updown" in symbol
    ]
    assert none.gateway.get(f"/v1/market/slug/{WINDOW}").status == 404


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: w, asset: 'crypto:btc', every: 7m}", "whole minutes that divide a day"),
        ("{name: w, asset: btc, every: 5m}", "id must be crypto:<symbol>"),
        ("{name: W!, asset: 'crypto:btc', every: 5m}", "a name begins with a letter"),
        ("{name: w, asset: 'crypto:btc', every: 5m, lead: 2d}", "at most a day"),
        ("{name: w, asset: 'crypto:btc', every: 5m, tick_size: '0.03'}", "not a multiple"),
        ("{name: w, every: 5m}", "a new recurring market needs"),
        ("{name: w, asset: 'crypto:btc', evry: 5m}", "did you mean"),
    ],
)
def test_windows_that_cannot_be_are_refused_where_they_stand(
    entry: str, message: str, tmp_path: Any
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(f"name: wrong\nextends: quickstart\nworld:\n  windows:\n    - {entry}\n")
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(str(file))
    assert message in str(wrong.value)
    assert f"{file}:" in str(wrong.value)


# ---- reading a window does not change it

ONE = """
name: one
extends: quickstart
clock: {{start: {start}}}
world: {{automated_windows: false, games: 0, windows: [{{name: w, asset: 'crypto:btc', every: 10m, expires: 12m, terminates: 9m}}]}}
assumptions: {{settlement.delay_after_close: {delay}, settlement.preliminary_for: {preliminary}, settlement.auto_expire: {auto}}}
"""
STARTS = ("2026-09-08T14:00:00-04:00", "2026-09-10T01:20:00-04:00", "2026-09-10T05:40:00-04:00")
LENGTH_MIN = 75


def _maintenance() -> st.SearchStrategy[tuple[int, str, dict[str, str]]]:
    """At a minute, announce a one-off maintenance window or pause the exchange."""
    minute = st.integers(0, LENGTH_MIN)
    announced = st.builds(
        lambda begins, length: {"begins": f"+{begins}m", "length": f"{length}m"},
        st.integers(1, 40),
        st.integers(1, 25),
    )
    pause = st.builds(lambda length: {"length": f"{length}m"}, st.integers(1, 25))
    return st.tuples(minute, st.just("maintenance.add"), announced | pause)


def _look(world: Desk, places: list[Slot]) -> list[object]:
    """Return everything visible about each window, from the core that all surfaces read."""
    exchange = world.simulation.exchange
    results: list[object] = []
    for position in places:
        symbol = exchange.recurring.symbol(position)
        instrument = exchange.instruments.get(symbol)
        if instrument is None:
            results.append((symbol, None))
            continue
        settled = exchange.trading.settlements.get(symbol)
        displayed = exchange.reference.market(symbol)
        assert displayed is not None
        view = market_view(exchange, displayed)
        state, stats = exchange.trading.state(symbol), exchange.trading.stats(symbol)
        results.append((symbol, state, settled, stats, instrument.metadata, view))
    return results


@pytest.mark.long
@settings(max_examples=8)
@example(  # it would open during the lead of maintenance, so it is suspended at once
    start=STARTS[0],
    delay="60s",
    preliminary="2m",
    auto="true",
    doings=[(27, "maintenance.add", {"begins": "+2m", "length": "5m"})],
)
@given(
    start=st.sampled_from(STARTS),
    delay=st.sampled_from(["0s", "60s", "5m", "14m"]),
    preliminary=st.sampled_from(["0s", "2m", "10m"]),
    auto=st.sampled_from(["true", "false"]),
    doings=st.lists(_maintenance(), max_size=3),
)
def test_a_window_that_somebody_follows_from_its_listing_on_is_like_one_that_nobody_touches(
    start: str,
    delay: str,
    preliminary: str,
    auto: str,
    doings: list[tuple[int, str, dict[str, str]]],
) -> None:
    """L6-L9, L25, W2, W7: states, settlements, statistics and what the gateway shows, minute by
    minute.
    """
    text = ONE.format(start=start, delay=delay, preliminary=preliminary, auto=auto)
    worlds = untouched, followed = (begin(text), begin(text))
    begins = untouched.simulation.now
    places = [
        Slot(0, begins // (10 * MINUTE) * 10 * MINUTE + number * 10 * MINUTE)
        for number in range(-4, 10)
    ]
    windows = followed.simulation.exchange.recurring
    for number in range(LENGTH_MIN):
        for minute, action, body in doings:
            if minute == number:
                for world in worlds:
                    world.operate(action, **body)
        for position in places:
            if windows.listed(position):
                windows.materialise(windows.symbol(position))
        assert _look(untouched, places) == _look(followed, places), format_instant(
            untouched.simulation.now
        )
        for world in worlds:
            world.advance_to(begins + (number + 1) * MINUTE)


def _stages(world: Desk, touch: bool) -> dict[str, list[tuple[object, ...]]]:
    """Return the states of each window on a stream of all books: each change, with its minute.
    `touch` reads every window as soon as it is listed.
    """
    begins, windows = world.now, world.core.recurring
    stream = streams.books(world)
    stages: dict[str, list[tuple[object, ...]]] = {}
    for number in range(61):
        world.advance_to(begins + number * MINUTE)
        for slot in list(windows.listed_slots()) if touch else ():
            windows.materialise(windows.symbol(slot))
        for update in (frame.update for frame in stream.take() if frame.update):
            if update.symbol.startswith("cpc-w-") and update.stats is not None:
                stats = update.stats
                stage = update.state, stats.settlement_px, stats.settlement_preliminary
                reported = stages.setdefault(update.symbol, [])
                if reported and reported[-1][0] == number:  # the last state of an instant counts
                    reported.pop()
                if not reported or reported[-1][1:] != stage:
                    reported.append((number, *stage))
    opened = format_instant(begins)[11:16].replace(":", "")
    return {symbol: message for symbol, message in stages.items() if symbol[-5:-1] > opened}


@pytest.mark.parametrize("auto", ["true", "false"])
@pytest.mark.parametrize(
    ("delay", "preliminary"),
    [("0s", "0s"), ("60s", "0s"), ("60s", "2m"), ("5m", "2m"), ("3m", "4m")],
)
def test_who_follows_every_book_is_told_the_same_of_windows_that_nobody_touches(
    delay: str, preliminary: str, auto: str
) -> None:
    """L25-L27: the instants at which windows close, settle, become final, expire and terminate."""
    text = ONE.format(start=STARTS[0], delay=delay, preliminary=preliminary, auto=auto)
    untouched, touched = (_stages(begin(text), touch) for touch in (False, True))
    assert len(untouched) > 3
    assert untouched == touched


def test_the_list_of_windows_is_what_the_clock_says_however_it_came_there() -> None:
    """Lists are cached until a window of any series is listed or terminates."""
    text = (
        "name: series\nextends: quickstart\npreset: ideal\nworld: {games: 0, windows:"
        " [{name: w, asset: 'crypto:btc', every: 4m, expires: 7m, terminates: 6m},"
        " {name: v, asset: 'crypto:eth', every: 10m, expires: 12m, terminates: 9m}]}\n"
    )

    def listed(world: Desk) -> list[str]:
        answer = world.trader().post("/v1/refdata/symbols", json={})
        return [str(symbol) for symbol in answer.json()["symbols"]]

    scenario = load_scenario(text)
    world = Desk(Simulation(scenario))
    begins, lists = world.now, set()
    for number in range(45):
        at = begins + number * MINUTE
        world.advance_to(at)
        fresh = Desk(Simulation(scenario))
        fresh.advance_to(at)
        displayed = listed(world)
        assert displayed == listed(fresh), number
        lists.add(tuple(displayed))
    assert len(lists) > 10
