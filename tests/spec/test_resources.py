"""Statements about conventions and resources (§0 to §2), each whole and from another side than the
tests of its component.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from sim.api.codecs.codecs import json_decoder
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import format_instant
from tests.journeys import trader
from tests.kit import Desk, begin, order, retail_order, streams

LOWER_CAMEL = re.compile(r"[a-z][a-zA-Z0-9]*")
SNAKE = re.compile(r"[a-z][a-z0-9_]*")
# Maps whose keys are data: slugs, providers, languages of a name.
KEYED_BY_DATA = {"positions", "metadata", "teams", "score", "attributes"}


def names(value: object) -> Iterator[str]:
    """Every field name of a JSON document."""
    if isinstance(value, list):
        for each in value:
            yield from names(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            if name in KEYED_BY_DATA and isinstance(each, dict):
                each = list(each.values())
            yield from names(each)


# ---- conventions


@pytest.mark.spec("S0-3")
def test_every_body_of_gateway_and_retail_is_lower_camel_case(world: Desk) -> None:
    """Lists, single resources, orders, portfolio, incentives, refusals."""
    instrument, retail = world.quiet(), world.customer()
    placed = world.retail_enter(instrument, "BUY_LONG", 40, 1)
    world.enter(instrument, "sell", 40, 1)
    slug, event = instrument.symbol, world.gateway.get("/v1/events").json()["events"][0]
    history = "/v1/asset-prices/history?assets=crypto:btc&from=0&bucket=ASSET_PRICE_BUCKET_1D"
    answers = [
        placed,
        *(
            world.gateway.get(path)
            for path in (
                "/v1/markets",
                "/v1/events",
                f"/v1/events/{event['id']}",
                f"/v1/market/slug/{slug}",
                f"/v1/markets/{slug}/book",
                f"/v1/markets/{slug}/bbo",
                "/v2/leagues",
                "/v2/tags",
                "/v1/sports/teams",
                history,
                "/v1/nothing",
                "/v1/market/slug/nothing",
            )
        ),
        *(
            retail.get(path)
            for path in (
                "/v1/orders/open",
                "/v1/portfolio/positions",
                "/v1/portfolio/activities",
                "/v1/account/balances",
                "/v1/incentives",
                "/v1/incentives/earnings",
                f"/v1/order/{placed.json()['id']}",
                "/v1/order/nothing",
            )
        ),
    ]
    observed = set()
    for answer in answers:
        result = set(names(answer.json()))
        assert result, answer
        assert not {name for name in result if not LOWER_CAMEL.fullmatch(name)}, answer
        observed |= result
    assert observed >= {"marketSlug", "netPositionDecimal", "tickCount", "isOperational", "message"}


@pytest.mark.reading("documented")
@pytest.mark.spec("S0-4")
@pytest.mark.parametrize(
    ("path", "rows", "snake", "camel"),
    [
        ("/v1/incentives", "programs", {"page_size": 1}, {"pageSize": 1}),
        ("/v1/incentives", "programs", {"program_type": "none"}, {"programType": "none"}),
        (
            "/v1/incentives",
            "programs",
            {"instrument_states": "INSTRUMENT_STATE_TERMINATED"},
            {"instrumentStates": "INSTRUMENT_STATE_TERMINATED"},
        ),
    ],
)
def test_a_camel_case_parameter_of_the_retail_api_leaves_the_default(
    world: Desk, path: str, rows: str, snake: dict[str, Any], camel: dict[str, Any]
) -> None:
    retail = world.customer()
    plain = retail.get(path).json()[rows]
    assert len(plain) > len(retail.get(path, params=snake).json()[rows])
    ignored = retail.get(path, params=camel)
    assert (ignored.status, ignored.json()[rows]) == (200, plain)


@pytest.mark.spec("S0-6", "S3.5-3", "S6.1-1", "S6.1-3")
@pytest.mark.parametrize(
    ("person", "kind"), [({}, "kyc.approved"), ({"email": "reject@example.com"}, "kyc.rejected")]
)
def test_a_webhook_is_snake_case_and_has_an_id_and_a_type_and_no_reason(
    world: Desk, person: dict[str, str], kind: str
) -> None:
    world.register_webhook()
    world.start_kyc(**person)
    world.advance("30m")
    test, event = (json.loads(post.body) for post in world.webhooks)
    assert (test["type"], event["type"]) == ("webhook.test", kind)
    assert test["event_id"] != event["event_id"] != ""
    for payload in (test, event):
        assert all(SNAKE.fullmatch(name) for name in names(payload)), payload
    assert not [name for name in names(event) if "reason" in name or "decline" in name]
    assert bool(event.get("participant_id")) is (kind == "kyc.approved")


# ---- prices of assets


@pytest.mark.spec("S2.2-2", "S2.2-4", "S4.1-5", "S4.1-6")
def test_a_window_is_never_refused_and_says_what_it_became(world: Desk) -> None:
    now = world.now // 1_000_000_000

    def series(**params: object) -> dict[str, Any]:
        asked = {"assets": "crypto:btc", "bucket": "ASSET_PRICE_BUCKET_1M", **params}
        answer = world.gateway.get("/v1/asset-prices/history", params=asked)
        assert answer.status == 200, answer
        (outcome,) = answer.json()["series"]
        assert isinstance(outcome, dict)
        return outcome

    aligned = (now - 599) // 60 * 60  # down to the bucket
    for params, window in (
        ({"from": now - 599}, (aligned, now)),
        ({"from": now - 599, "to": now + 10**6}, (aligned, now)),
        ({"from": now - 599, "to": 0}, (aligned, now)),
        ({"from": aligned, "to": aligned + 61}, (aligned, aligned + 120)),  # up to the bucket
        ({"from": 0, "to": now - 60}, None),
        ({"from": now + 1000}, None),
    ):
        result = series(**params)
        start, end = int(result["from"]), int(result["to"])
        assert start <= end <= now
        assert len(result["candles"]) <= 3600
        assert window in (None, (start, end))
    total = series(**{"from": now - 600})
    assert total["asset"] == {"assetClass": "ASSET_CLASS_CRYPTO", "symbol": "btc"}
    assert (total["currency"], total["bucket"]) == ("USD", "ASSET_PRICE_BUCKET_1M")
    for candle in total["candles"]:
        assert set(candle) == {"timestamp", "open", "high", "low", "close", "tickCount"}
        low, high = float(candle["low"]), float(candle["high"])
        assert low <= float(candle["open"]) <= high
        assert low <= float(candle["close"]) <= high
    unknown = series(assets="crypto:nobody-knows", **{"from": now - 600})
    assert (unknown["candles"], unknown["asset"]["symbol"]) == ([], "nobody-knows")


# ---- incentives

PROGRAM = {
    "marketSlug": str,
    "timePeriods": list,
    "instrumentState": str,
    "category": str,
    "subcategory": str,
    "eventStartTime": str,
    "instrumentProduct": str,
}
PERIOD = {
    "programId": str,
    "programType": str,
    "start": str,
    "rewardPool": int | float,
    "status": str,
    "period": str,
    "createdAt": str,
}
OPTIONAL = {"end": str, "discountFactor": int | float, "targetSize": int, "minTakerNotional": int}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@pytest.mark.spec("S2.3-1", "S2.3-2", "S3.2-1", "S4.2-1")
def test_every_program_of_the_default_world_has_every_field_in_its_type(world: Desk) -> None:
    retail = world.customer()
    programs, token = [], ""
    while True:
        params = {"page_size": 7, **({"page_token": token} if token else {})}
        page = retail.get("/v1/incentives", params=params).json()
        assert len(page["programs"]) <= 7
        programs += page["programs"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    slugs = [program["marketSlug"] for program in programs]
    assert len(set(slugs)) == len(slugs) > 7  # one for each market, and no page repeats one
    observed: set[str] = set()
    for program in programs:
        for name, kind in PROGRAM.items():
            assert isinstance(program[name], kind), (name, program)
        state = program["instrumentState"]
        listed = world.trader().get(f"/v1/refdata/instruments/{program['marketSlug']}").json()
        assert state == listed["instrument"]["state"]
        assert state.startswith("INSTRUMENT_STATE_")
        for period in program["timePeriods"]:
            for name, kind in PERIOD.items():
                assert isinstance(period[name], kind), (name, period)
            for name, kind in OPTIONAL.items():
                assert name not in period or isinstance(period[name], kind), (name, period)
            assert all(MOMENT.fullmatch(period[name]) for name in ("start", "createdAt"))
            now = format_instant(world.now)
            expected = (
                "pending"
                if now < period["start"]
                else "closed"
                if period.get("end", "9") <= now
                else "active"
            )
            assert period["status"] == expected
            observed.add(expected)
    assert observed == {"active", "closed", "pending"}


@pytest.mark.spec("S4.2-2")
def test_programs_are_narrowed_by_each_filter_and_sorted_by_each_order() -> None:
    client = trader(begin(limits=False))
    elsewhere = next(
        row["symbol"]
        for row in client.post("/v1/refdata/instruments", json={"pageSize": 1000}).json()[
            "instruments"
        ]
        if row["metadata"]["event_category"] != "SPR" and row["state"] == "INSTRUMENT_STATE_OPEN"
    )
    period = "{program_id: p, program_type: volumeProgram, start: 2026-09-01T00:00:00Z,"
    period += " created: 2026-08-30T00:00:00Z, reward_pool: '5'}"
    world = begin(
        more=f"world: {{incentives: [{{symbol: {elsewhere}, periods: [{period}]}}]}}\n",
        limits=False,
    )
    retail = world.customer()

    def listed(**params: object) -> list[dict[str, Any]]:
        answer = retail.get("/v1/incentives", params={"page_size": 1000, **params})
        assert answer.status == 200, answer
        programs: list[dict[str, Any]] = answer.json()["programs"]
        return programs

    everything = listed()
    for parameter, field in (("category", "category"), ("subcategory", "subcategory")):
        values = {program[field] for program in everything}
        assert len(values) > 1
        for value in filter(None, values):  # an empty parameter filters nothing
            target = [program for program in everything if program[field] == value]
            assert listed(**{parameter: value}) == target
        assert listed(**{parameter: "nothing"}) == []
        part = max(values, key=len)[:-1]  # "exact event category"
        assert listed(**{parameter: part}) == [
            program for program in everything if program[field] == part
        ]
    slug = everything[-1]["marketSlug"]
    assert [item["marketSlug"] for item in listed(symbols=slug)] == [slug]
    some = everything[3]["marketSlug"][2:9].upper()
    assert [item["marketSlug"] for item in listed(query=some)] == [
        item["marketSlug"] for item in everything if some.lower() in item["marketSlug"]
    ]
    for state in {item["instrumentState"] for item in everything}:
        expected = [item for item in everything if item["instrumentState"] == state]
        assert listed(instrument_states=state) == expected
    for status in ("active", "closed", "pending"):
        for program in listed(statuses=status):
            assert {period["status"] for period in program["timePeriods"]} >= {status}
    kinds = {period["programType"] for item in everything for period in item["timePeriods"]}
    assert kinds >= {"liquidityProgram", "volumeProgram"}
    for kind in kinds:
        for program in listed(program_type=kind):
            assert kind in {period["programType"] for period in program["timePeriods"]}

    def created(program: dict[str, Any]) -> str:
        return min(str(period["createdAt"]) for period in program["timePeriods"])

    assert [created(item) for item in everything] == sorted(map(created, everything), reverse=True)
    upwards = listed(order_by="created_at", order_direction="asc")
    assert [created(upward) for upward in upwards] == sorted(map(created, everything))
    by_slug = [item["marketSlug"] for item in listed(order_by="market_slug", order_direction="asc")]
    assert by_slug == sorted(by_slug)
    for bad in ({"order_by": "luck"}, {"order_direction": "up"}, {"statuses": "open"}):
        assert retail.get("/v1/incentives", params=bad).status == 400


# ---- statistics


@pytest.mark.spec("S2.4-1", "S2.4-3", "S4.3-3")
def test_cleared_figures_are_zero_for_a_fresh_trade_and_its_own_afterwards_over_grpc_too(
    world: Desk,
) -> None:
    instrument, start = world.quiet(), world.now
    world.trade(instrument, 40, 3)
    world.trade(instrument, 45, 1)
    request = wire.GetTradeStatsRequest(
        symbol=instrument.symbol, start_time=start, end_time=start + 60_000_000_000, bars=2
    )

    def stats() -> Any:
        return world.rpc_trader().call("ReportAPI.GetTradeStats", request).stats

    fresh = stats()
    assert (fresh.cleared_trade_count, fresh.cleared_volume, fresh.cleared_notional) == (0, 0, 0)
    scale, qty = instrument.price_scale, instrument.qty_scale
    assert (fresh.total_trade_count, fresh.volume) == (2, 4 * qty)
    assert fresh.notional == (40 * 3 + 45) * scale // 100 * qty
    prices = (40 * scale // 100, 45 * scale // 100, 45 * scale // 100, 40 * scale // 100)
    assert (fresh.first, fresh.last, fresh.high, fresh.low) == prices
    world.advance("1h")
    later = stats()
    assert (later.cleared_trade_count, later.cleared_volume, later.cleared_notional) == (
        later.total_trade_count,
        later.volume,
        later.notional,
    )


# ---- scales, orders, executions


def scaled_pair(world: Desk) -> list[Any]:
    """Two open instruments of the default world with different price scales and empty books."""
    by_scale: dict[tuple[int, int], Any] = {}
    for instrument in world.in_state():
        book = world.trading.book(instrument.symbol)
        if not book.bids and not book.offers:
            by_scale.setdefault((instrument.price_scale, instrument.qty_scale), instrument)
    assert len(by_scale) > 1
    return list(by_scale.values())


@pytest.mark.spec("S1-2", "S2.6-1", "S2.6-2", "S2.6-3", "S2.7-1", "S2.7-2", "S2.7-4")
def test_scales_of_an_instrument_turn_integers_into_dollars_and_contracts_on_every_surface(
    world: Desk,
) -> None:
    """For each pair of scales: the order, its fill, its fee and what left the account agree."""
    for instrument in scaled_pair(world):
        displayed = world.reference(instrument)
        price_scale, qty_scale = int(displayed["priceScale"]), int(displayed["fractionalQtyScale"])
        assert int(displayed["minimumTradeQty"]) >= 1
        assert displayed["state"] == "INSTRUMENT_STATE_OPEN"
        tick = round(displayed["tickSize"] * price_scale)
        assert tick >= 1
        price, qty = 40 * price_scale // 100 // tick * tick, 3 * max(qty_scale, 1)
        capture = streams.drop_copy(world)
        world.place(instrument, "sell", 40, 5, user=1, price=str(price))
        before = float(world.balance()["balance"])
        bought = world.place(instrument, "buy", 40, 3, price=str(price))
        row = world.reported(bought)
        assert (row["orderQty"], row["cumQty"], row["leavesQty"]) == (str(qty), str(qty), "0")
        assert row["fractionalQuantityScale"] == str(qty_scale)
        assert row["priceToQuantityFilled"] == {str(price): str(qty)}
        entered, fill = world.search("executions", orderId=bought)
        fee = int(fill["commissionNotionalCollected"]) / (price_scale * qty_scale)
        paid = price / price_scale * qty / qty_scale
        assert fee > 0
        assert before - float(world.balance()["balance"]) == pytest.approx(paid + fee)
        day = date.fromisoformat(format_instant(world.now)[:10])
        trade_date = {"year": day.year, "month": day.month, "day": day.day}
        assert fill["transactTradeDate"] == trade_date
        assert (fill["commissionSpreadPx"], fill["lastPx"]) == (str(price), str(price))
        assert (entered["commissionSpreadPx"], entered["commissionNotionalCollected"]) == ("0", "0")
        (copy,) = [stream for stream in streams.executions_on(capture) if stream.id == fill["id"]]
        assert copy.commission_notional_collected == int(fill["commissionNotionalCollected"])
        assert copy.commission_spread_px == copy.last_px == price
        assert (copy.transact_trade_date.year, copy.transact_trade_date.day) == (day.year, day.day)
        assert copy.order.price_to_quantity_filled == {price: qty}
        capture.close()


@pytest.mark.spec("S2.7-1")
def test_quantities_by_price_grow_over_the_life_of_an_order(world: Desk) -> None:
    instrument = world.quiet()
    scale, qty = instrument.price_scale, instrument.qty_scale
    for cents, contracts in ((30, 2), (31, 1), (33, 4)):
        world.place(instrument, "sell", cents, contracts, user=1)
    bought = world.place(instrument, "buy", 31, 5)

    def filled() -> dict[str, str]:
        row = world.reported(bought)
        assert row["fractionalQuantityScale"] == str(qty)
        by_price: dict[str, str] = row["priceToQuantityFilled"]
        assert sum(map(int, by_price.values())) == int(row["cumQty"])
        return by_price

    at = {cents: str(cents * scale // 100) for cents in (30, 31)}
    assert filled() == {at[30]: str(2 * qty), at[31]: str(qty)}
    world.place(instrument, "sell", 31, 1, user=1)
    assert filled() == {at[30]: str(2 * qty), at[31]: str(2 * qty)}
    assert len(streams.orders(world, symbols=[instrument.symbol]).take()[0].snapshot.orders) == 1


@pytest.mark.spec("S2.7-3", "S7.1-5")
def test_a_client_order_id_is_honoured_on_both_doors_and_free_again_when_its_order_is_done(
    world: Desk,
) -> None:
    instrument, client = world.quiet(), world.trader()
    body = order(instrument, "buy", 30, 1, clordId="mine")
    assert client.post("/v1/trading/orders", json=body).status == 200
    assert client.post("/v1/trading/orders", json=body).status == 409
    assert world.trader(1).post("/v1/trading/orders", json=body).status == 200  # its own
    cancel = {"clordId": "mine", "symbol": instrument.symbol}
    assert client.post("/v1/trading/orders/cancel", json=cancel).status == 200
    assert client.post("/v1/trading/orders", json=body).status == 200
    result = world.search("orders", **cancel)
    assert sorted(row["state"] for row in result) == ["ORDER_STATE_CANCELED", "ORDER_STATE_NEW"]


@pytest.mark.spec("S2.7-3")
def test_one_idempotency_key_of_a_participant_places_one_order(world: Desk) -> None:
    """§2.7: repeated exactly it has the same order, even a finished one; with other terms 409."""
    instrument, client, rpc = world.quiet(), world.trader(), world.rpc_trader()
    body = order(instrument, "buy", 30, 1, clordId="mine", idempotencyKey="k1")
    (first,) = {client.send("/v1/trading/orders", body, "orderId") for _ in range(3)}
    world.cancel(first)
    world.advance("1m")
    assert client.send("/v1/trading/orders", body, "orderId") == first
    request = json_decoder(wire.InsertOrderRequest)(body)
    assert rpc.call("OrderEntryAPI.InsertOrder", request).order_id == first
    batch = {"requests": [order(instrument, "buy", 29, 1, idempotencyKey="k2"), body]}
    listed = client.send("/v1/trading/orders/list", batch, "responses")
    assert listed == client.send("/v1/trading/orders/list", batch, "responses")
    assert listed[1] == {"orderId": first}
    for other in (body | {"price": "1"}, order(instrument, "sell", 30, 1, idempotencyKey="k1")):
        assert client.post("/v1/trading/orders", json=other).status == 409
    assert world.trader(1).send("/v1/trading/orders", body, "orderId") != first  # its own key
    assert len(world.search("orders", symbol=instrument.symbol)) == 2


@pytest.mark.spec("S2.8-2")
@pytest.mark.parametrize(
    ("intent", "side", "action"),
    [
        ("BUY_LONG", "YES", "BUY"),
        ("SELL_LONG", "YES", "SELL"),
        ("BUY_SHORT", "NO", "BUY"),
        ("SELL_SHORT", "NO", "SELL"),
    ],
)
def test_an_intent_and_a_pair_of_side_and_action_make_the_same_order(
    world: Desk, intent: str, side: str, action: str
) -> None:
    instrument, retail = world.quiet(), world.customer()
    if action == "SELL":  # what is sold is held first
        own = "BUY_LONG" if side == "YES" else "BUY_SHORT"
        world.place(instrument, "sell" if side == "YES" else "buy", 50, 3)
        world.retail_enter(instrument, own, 50, 3)
    by_intent = retail_order(
        instrument, intent, 70 if intent in ("SELL_LONG", "BUY_SHORT") else 30, 1
    )
    by_pair = {name: value for name, value in by_intent.items() if name != "intent"} | {
        "outcomeSide": f"OUTCOME_SIDE_{side}",
        "action": f"ORDER_ACTION_{action}",
    }
    displayed = []
    for body in (by_intent, by_pair):
        answer = retail.post("/v1/orders", json=body)
        assert answer.status == 200, answer
        item = world.retail_read(answer.json()["id"])
        displayed.append(
            [item[name] for name in ("intent", "outcomeSide", "action", "side", "price")]
        )
    assert displayed[0] == displayed[1]
    assert displayed[0][:3] == [
        f"ORDER_INTENT_{intent}",
        f"OUTCOME_SIDE_{side}",
        f"ORDER_ACTION_{action}",
    ]
    neither = {name: value for name, value in by_pair.items() if name != "action"}
    for body in (neither, {**by_intent, "intent": ""}):
        assert retail.post("/v1/orders", json=body).status == 400


# ---- games


@pytest.mark.spec("S2.10-3", "S9-6")
def test_a_market_type_that_nobody_knows_comes_from_a_scenario_and_a_tester_to_every_surface() -> (
    None
):
    kind = "curling_end_winner"
    entry = f"{{symbol: novel, tick_size: '0.01', sports_market_type: {kind}}}"
    world = begin(more=f"world: {{instruments: [{entry}]}}\n", limits=False)
    world.listed("newer", sports_market_type=kind)
    for symbol in ("novel", "newer"):
        market = world.gateway.get(f"/v1/market/slug/{symbol}").json()["market"]
        assert market["sportsMarketType"] == kind
        assert world.reference(symbol)["metadata"]["market_sport_type"] == kind
    params = {"sportsMarketTypes": kind}
    markets = world.gateway.get("/v1/markets", params=params).json()["markets"]
    assert {market["slug"] for market in markets} == {"novel", "newer"}
