"""Books and best prices, on the retail API and on the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retail_world import BUY_YES, FINE, SELL_YES, WHOLE, RetailWorld, usd

from sim import Simulation, load_scenario
from sim.kernel.instants import parse_instant
from tests.kit import Desk


@pytest.mark.spec("S4.2-9")
def test_a_book_has_four_decimals_and_both_sides_from_the_best(retail: RetailWorld) -> None:
    for price, quantity in (("0.45", 10), ("0.455", 2.5), ("0.45", 0.25)):
        retail.order(retail.ann, FINE, BUY_YES, price=price, quantity=quantity)
    for price in ("0.56", "0.555"):
        retail.order(retail.bob, FINE, SELL_YES, price=price, quantity=3)
    for client in (retail.ann, retail.gateway):
        book = client.read(f"/v1/markets/{FINE}/book", "marketData")
        assert [(level["px"]["value"], level["qty"]) for level in book["bids"]] == [
            ("0.4550", "2.5000"),
            ("0.4500", "10.2500"),
        ]
        assert [(level["px"]["value"], level["qty"]) for level in book["offers"]] == [
            ("0.5550", "3.0000"),
            ("0.5600", "3.0000"),
        ]
        assert (book["marketSlug"], book["state"], book["transactTime"]) == (
            FINE,
            "MARKET_STATE_OPEN",
            "2026-09-08T18:00:00Z",
        )


@pytest.mark.spec("S4.2-8", "S5.3-1")
def test_best_prices_say_what_buying_either_side_costs(retail: RetailWorld) -> None:
    retail.order(retail.ann, FINE, BUY_YES, price="0.45", quantity=3625.5)
    retail.order(retail.bob, FINE, SELL_YES, price="0.555", quantity=0.57)
    retail.order(retail.bob, FINE, SELL_YES, price="0.56", quantity=0.42)
    best = retail.gateway.read(f"/v1/markets/{FINE}/bbo", "marketData")
    assert (best["bestBid"], best["bestAsk"]) == (usd("0.4500"), usd("0.5550"))
    assert (best["longQuote"], best["shortQuote"]) == (usd("0.5550"), usd("0.55"))
    assert (best["bidDepth"], best["askDepth"]) == (1, 2)
    assert not {"bidShares", "askShares"} & set(best)
    assert (best["lastTradePx"], best["sharesTraded"], best["openInterest"]) == (None, "", "")
    stats = retail.gateway.read(f"/v1/markets/{FINE}/book", "marketData", "stats")
    assert not {"lastTradeQty", "lastTradePx"} & set(stats)


def test_an_empty_side_is_null_and_an_answer_follows_every_change(retail: RetailWorld) -> None:
    path = f"/v1/markets/{WHOLE}/bbo"
    empty = retail.gateway.read(path, "marketData")
    assert (empty["bestBid"], empty["bestAsk"], empty["currentPx"]) == (None, None, None)
    retail.order(retail.ann, price="0.40")
    one_sided = retail.gateway.read(path, "marketData")
    assert one_sided["bestBid"] == usd("0.4000")
    assert not {"longQuote", "shortQuote"} & (set(empty) | set(one_sided))
    retail.order(retail.bob, intent=SELL_YES, price="0.40", quantity=4)
    traded = retail.gateway.read(path, "marketData")
    assert (traded["lastTradePx"], traded["sharesTraded"], traded["openInterest"]) == (
        usd("0.4000"),
        "4.0000",
        "4.0000",
    )
    retail.operate("instrument.state", WHOLE, state="HALTED")
    assert retail.gateway.read(path, "marketData", "state") == "MARKET_STATE_HALTED"


def test_a_settled_market_shows_its_price_even_when_it_is_zero(retail: RetailWorld) -> None:
    retail.operate("instrument.settle", WHOLE, price="0")
    best = retail.gateway.read(f"/v1/markets/{WHOLE}/bbo", "marketData")
    book = retail.gateway.read(f"/v1/markets/{WHOLE}/book", "marketData")
    assert (best["settlementPx"], best["currentPx"], best["state"]) == (
        usd("0.0000"),
        usd("0.0000"),
        "MARKET_STATE_CLOSED",
    )
    assert (
        book["stats"]["settlementPriceCalculationMethod"]
        == "SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_1"
    )
    assert book["stats"]["settlementSetTime"] == "2026-09-08T18:00:00Z"


@pytest.mark.spec("S4.2-9")
def test_every_statistic_says_since_when_it_holds(retail: RetailWorld) -> None:
    def stats() -> dict[str, Any]:
        return dict(retail.ann.read(f"/v1/markets/{WHOLE}/book", "marketData", "stats"))

    moments = ["open", "high", "low", "lastTrade", "notional", "openInterest", "close"]
    assert stats() == {}
    for price in ("0.50", "0.60", "0.40", "0.50"):
        retail.order(retail.bob, WHOLE, SELL_YES, price=price)
        retail.order(retail.ann, WHOLE, BUY_YES, price=price)
        retail.advance("1m")
    retail.operate("instrument.state", WHOLE, state="CLOSED")
    minutes = [0, 1, 2, 3, 3, 3, 4]
    assert [stats()[f"{name}SetTime"] for name in moments] == [
        f"2026-09-08T18:0{minute}:00Z" for minute in minutes
    ]
    assert [stats()[f"{name}Px"] for name in ("open", "high", "low", "close")] == [
        usd("0.5000"),
        usd("0.6000"),
        usd("0.4000"),
        usd("0.5000"),
    ]


def test_unknown_and_pending_markets_have_no_book(retail: RetailWorld) -> None:
    retail.operate(
        "instrument.create",
        "",
        symbol="aec-test-later",
        state="PENDING",
        start="2026-09-20",
        expiration="2026-10-01",
    )
    for slug in ("aec-nobody", "aec-test-later"):
        assert retail.gateway.get(f"/v1/markets/{slug}/book").status == 404
        assert retail.ann.get(f"/v1/markets/{slug}/bbo").status == 404


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.2-18")
@pytest.mark.parametrize(
    ("start", "served"), [("2026-07-02T23:59:59-04:00", True), ("2026-07-03T00:00:00-04:00", False)]
)
def test_the_last_price_sample_is_served_until_its_date(
    tmp_path: Path, start: str, served: bool
) -> None:
    scenario = tmp_path / "summer.yaml"
    scenario.write_text("name: summer\nworld: {base: empty}\n")
    sim = Simulation(load_scenario(str(scenario)), start=parse_instant(start))
    world = Desk(sim)
    sim.control(
        "instrument.create",
        "",
        {"symbol": WHOLE, "state": "OPEN", "start": "2026-06-01", "expiration": "2026-10-01"},
    )
    for caller, side in (("maker", "buy"), ("taker", "sell")):
        sim.control(
            "order.place",
            "",
            {"as": caller, "symbol": WHOLE, "side": side, "price": "0.40", "qty": "1"},
        )
    for path in ("book", "bbo"):
        displayed = world.gateway.read(f"/v1/markets/{WHOLE}/{path}", "marketData")
        assert ("lastPriceSample" in displayed) is served
        if served:
            assert (
                displayed["lastPriceSample"]["longPx"],
                displayed["lastPriceSample"]["shortPx"],
            ) == (usd("0.4000"), usd("0.6000"))
