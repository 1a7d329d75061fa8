"""The retail API and the gateway as seen until October 2026. Each test names its row (O70 …)."""

from __future__ import annotations

import json

import pytest

from sim import Simulation, load_scenario
from sim.core.catalogue.observations import READINGS
from sim.core.model.commands import CancelOrder
from sim.core.model.enums import LedgerEntryType
from tests.kit import Desk, retail_order, streams, usd

NFL = "aec-nfl-dal-phi-2026-09-10"
DAY = "T12:00:00-04:00"


def begin(reading: str = "documented", day: str = "2026-09-08", more: str = "") -> Desk:
    """A run of the quickstart on a day, in a reading."""
    text = f"name: seen\nextends: quickstart\nreading: {reading}\nclock: {{start: {day}{DAY}}}\n"
    return Desk(Simulation(load_scenario(text + more)))


def number(amount: dict[str, str]) -> float:
    return float(amount["value"])


def quote(world: Desk, slug: str = NFL, bid: str = "0.60", ask: str = "0.64") -> None:
    """Replace everything that rests in a market by a bid and an offer of 50 contracts."""
    for order in world.trading.orders.open((slug,)):
        cancel = CancelOrder(accounts=(order.account,), order_id=order.id)
        world.trading.order_service.cancel(cancel)
    for side, price in (("buy", bid), ("sell", ask)):
        world.place_as("maker", slug, side, price, "50")


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("retail.error_body")
def test_o70_retail_errors_have_the_form_of_the_gateway_except_429(reading: str) -> None:
    world = begin(reading)
    customer = world.customer()
    wrong = retail_order("no-such-market", "BUY_LONG", 40)
    for answer, code in (
        (customer.post("/v1/orders", json=wrong), 5),
        (customer.post("/v1/orders", json={}), 3),
        (customer.get("/v1/order/ABCDEFGHIJKL"), 5),
        (customer.get("/v1/nothing"), 5),
        (world.raw("retail", "GET", "/v1/account/balances", {"x-pm-access-key": "x"}), 16),
    ):
        assert list(answer.json()) == ["code", "message", "details"]
        assert (answer.json()["code"], answer.json()["details"]) == (code, [])
    busy = [customer.get("/v1/orders/open") for _ in range(30)]
    assert busy[-1].json() == {"status": 429, "message": "Too Many Requests"}
    plain = world.raw("retail", "GET", "/v1/account/balances")
    assert plain.body == b"Missing required API key headers"


@pytest.mark.observed("gateway.order_direction")
def test_o71_directions_in_capitals_and_both_keys_sort_lists() -> None:
    world = begin()
    for path, name in (("/v1/events", "events"), ("/v1/markets", "markets")):
        for key in ("id", "volume24hr"):
            up, down = (
                world.read(path, name, orderBy=key, orderDirection=word, limit=100)
                for word in ("ASC", "DESC")
            )
            low = world.read(path, name, orderBy=key, orderDirection="asc", limit=100)
            assert up == low
            if key == "id":
                assert up != down
                assert [int(row["id"]) for row in up] == sorted(int(row["id"]) for row in up)
    incentives = world.customer().get("/v1/incentives", params={"order_direction": "ASC"})
    assert incentives.status == 200
    assert world.gateway.get("/v1/events", params={"orderDirection": "up"}).status == 400


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("positions.short_average")
def test_o72_the_average_of_a_short_is_what_a_no_contract_cost(reading: str) -> None:
    world = begin(reading)
    instrument = world.quiet()
    world.retail_place(instrument, "BUY_LONG", 58, 5, index=1)
    world.retail_place(instrument, "BUY_SHORT", 58, 5)
    for index, average in ((0, "0.4200"), (1, "0.5800")):
        held = world.customer(index).read("/v1/portfolio/positions", "positions", instrument.symbol)
        assert held["avgPx"]["value"] == average
        assert number(held["baseCost"]) == pytest.approx(float(average) * 5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("positions.cost")
def test_o5_fees_are_what_was_collected_so_cost_is_what_left_the_account(reading: str) -> None:
    world = begin(reading)
    instrument, before = world.quiet(), world.retail_balance()["currentBalance"]
    world.retail_place(instrument, "BUY_SHORT", 5, 19, index=1)
    world.retail_place(instrument, "BUY_LONG", 5, 19)
    held = world.customer().read("/v1/portfolio/positions", "positions", instrument.symbol)
    money = {key: held[key]["value"] for key in ("cost", "baseCost", "fees")}
    assert money == {"cost": "1.0000", "baseCost": "0.9500", "fees": "0.0500"}
    assert before - world.retail_balance()["currentBalance"] == pytest.approx(1)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("activities.trades")
def test_o7_the_cost_of_a_trade_includes_its_fee_unpadded(reading: str) -> None:
    world = begin(reading)
    instrument = world.quiet()
    world.retail_place(instrument, "BUY_SHORT", 5, 19, index=1)
    world.retail_place(instrument, "BUY_LONG", 5, 19)
    (activity,) = world.activities("TRADE")
    trade = activity["trade"]
    assert trade["cost"]["value"] == "1" and trade["price"]["value"] == "0.0500"
    assert trade["aggressorExecution"]["lastPx"]["value"] == "0.0500"


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("orders.trimmed")
def test_o73_an_order_beyond_the_money_is_trimmed_in_observed(reading: str) -> None:
    world = begin(reading)
    instrument = world.quiet()
    placed = world.retail_place(instrument, "BUY_LONG", 50, 2_000_000)
    order = world.retail_read(placed)
    if reading == "documented":
        assert order["state"] == "ORDER_STATE_REJECTED"
        return
    power = world.retail_balance()["currentBalance"]
    assert order["state"] == "ORDER_STATE_NEW" and 0 < order["quantity"] * 0.5 <= power
    step = max(instrument.min_qty, 1) / instrument.qty_scale
    assert (order["quantity"] + step) * 0.5 * 1.04 > power  # with the fee, no more would do
    other = world.keys[1].account
    cash = world.trading.ledger.balance(other)
    world.trading.ledger.move(other, -cash, LedgerEntryType.MANUAL_ADJUSTMENT, "gone")
    poor = world.retail_place(instrument, "BUY_LONG", 50, 5, index=1)
    assert world.retail_read(poor, 1)["state"] == "ORDER_STATE_REJECTED"


@pytest.mark.observed("orders.connection_refused")
def test_o74_a_quirk_refuses_new_orders_only() -> None:
    world = begin()
    instrument = world.quiet()
    placed = world.retail_place(instrument, "BUY_LONG", 40)
    world.quirk("connection_looks_like_vpn", "always")
    refused = world.retail_enter(instrument, "BUY_LONG", 40)
    assert refused.status == 403 and refused.json() == {
        "code": 7,
        "message": "Your connection looks like a VPN",
        "details": [],
    }
    customer = world.customer()
    assert customer.get("/v1/orders/open").status == 200
    cancel = {"marketSlug": instrument.symbol}
    assert customer.post(f"/v1/order/{placed}/cancel", json=cancel).status == 200


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("activities.rewards")
def test_o75_rewards_are_transfers_in_observed(reading: str) -> None:
    world = begin(reading)
    for reference in ("liquidity_program:1", "taker_fee_rebate:1"):
        world.trading.ledger.move(
            world.keys[0].account,
            100,
            LedgerEntryType.MANUAL_ADJUSTMENT,
            "reward",
            reference=reference,
        )
    types = {row["type"] for row in world.customer().read("/v1/portfolio/activities", "activities")}
    own = {"ACTIVITY_TYPE_LIQUIDITY_PROGRAM", "ACTIVITY_TYPE_TAKER_FEE_REBATE"}
    assert ("ACTIVITY_TYPE_TRANSFER" in types, own & types) == (
        (True, set()) if reading == "observed" else (False, own)
    )


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("markets.side_prices")
def test_o76_lists_show_bid_and_ask_and_a_single_market_what_each_side_costs(reading: str) -> None:
    world = begin(reading)
    quote(world)
    event = "nfl-dal-phi-2026-09-10"
    listed = [
        next(row for row in world.read("/v1/events", "events", slug=event)[0]["markets"]),
        next(row for row in world.read("/v1/search", "events", query="Cowboys")[0]["markets"]),
        world.read("/v1/markets", "markets", slug=NFL)[0],
    ]
    single = world.read(f"/v1/market/slug/{NFL}", "market")
    for market, prices in [*((row, (0.6, 0.64)) for row in listed), (single, (0.64, 0.4))]:
        sides = sorted(market["marketSides"], key=lambda side: not side["long"])
        assert tuple(float(side["price"]) for side in sides) == prices
        assert [float(side["quote"]["value"]) for side in sides] == [0.64, 0.4]
        outcomes = json.loads(market.get("outcomePrices", "null"))
        assert outcomes is None or [float(price) for price in outcomes] == list(prices)
        if reading == "observed":  # O77
            assert sides[0]["price"].endswith("00")
            assert [side["quote"]["value"] for side in sides] == ["0.6400", "0.4"]
            assert sides[1]["price"] in ("0.64", "0.4")
            assert market["bestBidQuote"]["value"] == "0.6000"


@pytest.mark.observed("market_data.last_price_sample")
def test_o78_the_price_sample_shows_the_current_price_also_without_a_trade() -> None:
    world = begin("observed")
    instrument = world.quiet()
    quote(world, instrument.symbol, "0.40", "0.43")
    customer = world.customer()
    for kind, key in (("bbo", ""), ("book", "stats")):
        data = customer.read(f"/v1/markets/{instrument.symbol}/{kind}", "marketData")
        sample = (data[key] if key else data)["lastPriceSample"]
        assert list(sample) == ["longPx", "shortPx", "ts"]
        assert number(sample["longPx"]) + number(sample["shortPx"]) == pytest.approx(1)
        assert sample["longPx"]["value"] == (data if not key else data[key])["currentPx"]["value"]
        assert sample["ts"] == data.get("transactTime", sample["ts"]) == "2026-09-08T16:00:00Z"
    world.move(instrument, "CLOSED", "EXPIRED")
    book = customer.read(f"/v1/markets/{instrument.symbol}/book", "marketData")
    assert book["stats"].get("lastPriceSample") is None


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("balances.relations")
def test_o79_balances_keep_their_relations_to_four_decimals(reading: str) -> None:
    world = begin(reading)
    instrument = world.quiet()
    world.retail_place(instrument, "BUY_LONG", 41, 7, index=1)
    world.retail_place(instrument, "BUY_SHORT", 41, 7)
    world.retail_place(instrument, "BUY_LONG", 20, 11)
    row = world.retail_balance()
    assert row["openOrders"] > 0 and row["marginRequirement"] > 0
    reservation = row["bonusReservation"] + row["depositReservation"]
    assert row["balanceReservation"] == pytest.approx(reservation, abs=1e-9)
    assert row["displayedCash"] == pytest.approx(row["buyingPower"] - reservation, abs=1e-9)
    free = row["currentBalance"] - row["marginRequirement"] - reservation
    assert row["availableToWithdraw"] == pytest.approx(free, abs=1e-9)


@pytest.mark.observed("price_history.sparse")
def test_o80_a_week_in_minutes_is_answered_with_sparse_points() -> None:
    world = begin()
    slug = world.quiet().symbol
    traded = []
    for price in ("0.40", "0.41"):
        for caller, side in (("maker", "sell"), ("taker", "buy")):
            world.place_as(caller, slug, side, price)
        traded.append(world.now // 10**9)
        world.advance("6h")
    asked = {"symbol": slug, "fixedInterval": "INTERVAL_1W", "fidelity": 1}
    points = world.read("/v1/price-history", "history", **asked)
    assert [(point["timestamp"], point["longPrice"]) for point in points] == [
        (traded[0], 0.4),
        (traded[1], 0.41),
    ]


@pytest.mark.observed("teams.ordering")
def test_o81_the_long_side_of_american_leagues_is_the_away_team() -> None:
    world = begin()
    for slug, orders in ((NFL, ["away", "home"]), ("atc-epl-", ["home", "home"])):
        markets = world.rows("/v1/markets", "markets", slug=slug) if slug == NFL else []
        for market in markets:
            sides = sorted(market["marketSides"], key=lambda side: not side["long"])
            assert [side["team"]["ordering"] for side in sides] == orders
            for team in (side["team"] for side in sides):
                assert team["abbreviation"] == team["abbreviation"].lower()
                assert team["displayAbbreviation"] == team["abbreviation"].upper()
    for team in world.read("/v1/sports/teams", "teams", limit=500):
        if team["league"] == "epl":
            assert team["ordering"] == "home"


@pytest.mark.observed("markets.whole_game_types")
@pytest.mark.parametrize("day", ["2026-09-28", "2026-09-29"])
def test_o82_types_of_whole_games_name_the_sport_from_29_september(day: str) -> None:
    world = begin("observed", day)
    renamed = day == "2026-09-29"
    for league, sport in (("nfl", "football"), ("nhl", "hockey"), ("epl", "soccer")):
        new = f"{sport}_team_full_{'time' if sport == 'soccer' else 'game'}_winner"
        old = "drawable_outcome" if sport == "soccer" else "moneyline"
        rows = world.read("/v1/markets", "markets", sportsMarketTypes=new if renamed else old)
        (market, *_) = [row for row in rows if row["slug"].split("-")[1] == league]
        assert market["sportsMarketType"] == (new if renamed else old)
        assert market["marketType"] == old
        metadata = world.reference(market["slug"])["metadata"]
        assert metadata["market_sport_type"] == market["sportsMarketType"]


@pytest.mark.observed("markets.fee_coefficient")
def test_o83_markets_show_the_new_fee_a_week_before_it_is_charged() -> None:
    for day, coefficient, fee in (
        ("2026-09-16", 0.06, "0.6000"),
        ("2026-09-17", 0.0695, "0.6000"),
        ("2026-09-25", 0.0695, "0.7000"),
    ):
        world = begin(day=day)
        rows = world.read("/v1/markets", "markets", limit=500)
        assert {row["feeCoefficient"] for row in rows} == {coefficient}
        instrument = world.quiet()
        world.retail_place(instrument, "BUY_SHORT", 50, 40, index=1)
        world.retail_place(instrument, "BUY_LONG", 50, 40)
        held = world.customer().read("/v1/portfolio/positions", "positions", instrument.symbol)
        assert held["fees"]["value"] == fee


@pytest.mark.observed("market_data.shares")
@pytest.mark.parametrize("day", ["2026-09-16", "2026-09-17"])
def test_o84_best_prices_have_shares_from_17_september(day: str) -> None:
    world = begin(day=day)
    slug = world.quiet().symbol
    world.place_as("maker", slug, "buy", "0.01", "4293")
    best = world.customer().read(f"/v1/markets/{slug}/bbo", "marketData")
    assert best.get("bidShares") == (None if day == "2026-09-16" else "4200")


OPTIONAL = {"spreadTotalSuffix", "volume", "volume24hr", "subtitle", "rulesDisclaimerPopup"}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("gateway.unset_fields", "markets.deprecated_fields")
def test_o85_keys_that_are_not_set_are_absent(reading: str) -> None:
    world = begin(reading)
    events = world.read("/v1/events", "events", limit=100)
    markets = [market for event in events for market in event["markets"]]
    for market in markets:
        assert market["assetPriceTerms"] is None or "asset" in market["assetPriceTerms"]
        if market["volume" if reading == "documented" else "slug"] and reading == "documented":
            continue
        assert OPTIONAL.isdisjoint(market) is (reading == "observed") or market.get("volume")
        for side in market["marketSides"]:
            has_team = side.get("team") is not None
            assert ("team" in side) is (has_team or reading == "documented")
            assert ("teamId" in side) is (has_team or reading == "documented")
        if reading == "observed":  # O92
            assert market["gameStartTime"] is not None
    assert all(tag["hub"] is None for event in events for tag in event["tags"])
    for event in events:
        game = bool(event.get("gameId"))
        assert [key in event for key in ("live", "ended")] == [game] * 2
        assert ("gameId" in event) is (game or reading == "documented")  # §2.10 lists it
        assert ("score" in event) is (bool(event.get("score")) or reading == "documented")
    for series in world.read("/v1/series", "series"):
        assert "subtitle" not in series and series.get("recurrence") != ""


@pytest.mark.observed("positions.filtered")
def test_o86_positions_of_one_market_have_no_cursor() -> None:
    customer = begin().customer()
    filtered = customer.get("/v1/portfolio/positions", params={"market": NFL}).json()
    assert filtered == {"positions": {}, "eof": True, "availablePositions": []}
    assert "nextCursor" in customer.get("/v1/portfolio/positions").json()


@pytest.mark.observed("orders.replaced")
def test_o87_a_replaced_order_can_leave_a_dead_one_behind() -> None:
    world = begin()
    world.assume("orders.replaced", "new_order")
    instrument, customer = world.quiet(), world.customer()
    former = world.retail_place(instrument, "BUY_LONG", 40, 5)
    change = {"marketSlug": instrument.symbol, "price": usd("0.39"), "quantity": 3}
    assert customer.post(f"/v1/order/{former}/modify", json=change).status == 200
    assert world.retail_read(former)["state"] == "ORDER_STATE_REPLACED"
    assert world.retail_read(former)["leavesQuantity"] == 0
    (order,) = customer.read("/v1/orders/open", "orders")
    assert order["id"] != former and order["price"]["value"] == "0.39"
    cancel = {"marketSlug": instrument.symbol}
    assert customer.post(f"/v1/order/{former}/cancel", json=cancel).status != 200
    assert customer.post(f"/v1/order/{order['id']}/cancel", json=cancel).status == 200
    assert world.retail_balance()["openOrders"] == 0


@pytest.mark.observed("markets.old_settlement")
def test_o88_a_market_without_a_settlement_has_none() -> None:
    world = begin()
    slug = world.quiet().symbol
    answer = world.gateway.get(f"/v1/markets/{slug}/settlement")
    text = f"Settlement not found for market {slug}"
    assert (answer.status, answer.json()["code"], answer.json()["message"]) == (404, 5, text)


@pytest.mark.observed("limits.no_retry_after")
def test_o89_a_quirk_leaves_out_retry_after() -> None:
    world = begin()
    for odds, present in (("never", True), ("always", False)):
        world.quirk("retry_after_missing", odds)
        answers = [world.gateway.get("/v2/leagues") for _ in range(30)]
        assert answers[-1].status == 429
        assert ("retry-after" in answers[-1].headers) is present


@pytest.mark.observed("activities.short_close_pnl")
def test_o90_a_quirk_shows_a_wrong_result_of_closing_a_short() -> None:
    world = begin()
    instrument = world.quiet()
    for intent, cents in (("BUY_SHORT", 60), ("SELL_SHORT", 50)):
        other = "BUY_LONG" if intent == "BUY_SHORT" else "SELL_LONG"
        world.retail_place(instrument, other, cents, 10, index=1)
        world.retail_place(instrument, intent, cents, 10)
    for odds in ("never", "always"):
        world.quirk("short_close_pnl", odds)
        closing = world.activities("TRADE")[0]["trade"]
        fee = number(closing["aggressorExecution"]["commissionNotionalCollected"])
        wrong = 10 * 0.5 - fee - number(closing["costBasis"])
        assert number(closing["realizedPnl"]) == pytest.approx(1 if odds == "never" else wrong)


@pytest.mark.observed("positions.resolution_form")
@pytest.mark.parametrize("day", ["2026-09-29", "2026-10-02"])
def test_o91_a_resolution_has_another_form_from_october(day: str) -> None:
    world = begin(day=day)
    instrument = world.quiet()
    world.retail_place(instrument, "BUY_LONG", 40, 10, index=1)
    world.retail_place(instrument, "BUY_SHORT", 40, 10)
    world.settle(instrument, "0")
    after = world.activities("POSITION_RESOLUTION")[0]["positionResolution"]["afterPosition"]
    subject = after["marketMetadata"]["subject"]
    if day < "2026-10":
        assert "qtyAvailableDecimal" in after and subject["id"] == 0
        assert number(after["realized"]) == 4
    else:
        assert "qtyAvailableDecimal" not in after and number(after["realized"]) == 0
        assert subject["id"] == -1 and "image" in subject
        assert (after["cashValue"]["value"], after["qtyBoughtDecimal"]) == ("0", "10.0000")


@pytest.mark.observed("sockets.every_market")
def test_o10_sockets_still_follow_every_market() -> None:
    world = begin("observed")
    socket = world.web_socket(world.keys[0], streams.MARKETS)
    socket.frames = streams.subscribe(socket, "1", "MARKET_DATA_LITE", [])
    assert len(socket.take()) > 10
