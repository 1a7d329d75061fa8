"""The exchange plane through its two doors, REST and gRPC, on the bundled world."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.incentives.incentives import Reward
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import DOLLAR
from sim.evidence.audit import Audit
from sim.kernel.instants import format_instant, minutes
from sim.run.client.client import Http, RpcError
from tests.kit import Desk, partner_order, rpc_order


def trade(world: Desk, instrument: Instrument, cents: int = 50, contracts: int = 10) -> str:
    """The first participant buys from the second; id of the buying order."""
    world.place(instrument, "sell", cents, contracts, user=1)
    return world.place(instrument, "buy", cents, contracts)


# ---- orders


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_new_order_and_its_report_say_that_nothing_has_happened_yet(
    world: Desk, side: str
) -> None:
    instrument = world.quiet()
    world.place(instrument, side, 40, 2)
    (report,) = world.search("executions", symbol=instrument.symbol)
    zero = ("cumQty", "avgPx", "stopPrice", "minQty", "cashOrderQty")
    assert {report["order"][name] for name in zero} == {"0"}
    assert report["order"]["commissionNotionalTotalCollected"] == "0"
    undefined = {report["order"][name] for name in ("orderCapacity", "manualOrderIndicator")}
    assert undefined == {"ORDER_CAPACITY_UNDEFINED", "MANUAL_ORDER_INDICATOR_UNDEFINED"}
    assert report["order"]["priceToQuantityFilled"] == {}
    zero = ("lastShares", "lastPx", "commissionNotionalCollected", "commissionSpreadPx")
    assert {report[name] for name in zero} == {"0"}
    assert (report["aggressor"], report["tradeId"], report["text"]) == (False, "", "")


# ---- identity


@pytest.mark.spec("S4.3-16", "S5.1-6")
def test_a_firm_learns_who_it_is_and_for_whom_it_may_act(world: Desk) -> None:
    client = world.partner
    users = client.get("/v1/users").json()["users"]
    assert users == [user.name for user in world.firm.users if user.tradable]
    assert client.get("/v1/whoami").json()["firm"] == world.firm.name
    assert world.exchange(world.firm, users[0]).get("/v1/whoami").json()["user"] == users[0]
    assert world.rpc_trader().call("UsersAPI.ListUsers", wire.ListUsersRequest()).users == users


# ---- market data


@pytest.mark.spec("S2.5-1", "S2.5-2", "S4.3-1", "S4.3-2", "S5.1-7")
def test_book_and_bbo_need_no_participant_and_agree_with_each_other(
    world: Desk, instrument: Instrument
) -> None:
    for step in range(4):
        world.place(instrument, "buy", 20 + step, 1)
        world.place(instrument, "sell", 60 + step, 2, user=1)
    book = world.book(instrument)
    bids, offers = ([int(level["px"]) for level in book[side]] for side in ("bids", "offers"))
    assert (bids, offers) == (sorted(bids, reverse=True), sorted(offers))
    assert isinstance(book["bids"][0]["qty"], str) and book["state"] == "INSTRUMENT_STATE_OPEN"
    bbo = world.partner.get(f"/v1/orderbook/{instrument.symbol}/bbo").json()
    assert (int(bbo["bestBid"]["px"]), int(bbo["bestOffer"]["px"])) == (bids[0], offers[0])
    assert (int(bbo["spread"]), float(bbo["midPrice"])) == (
        offers[0] - bids[0],
        (offers[0] + bids[0]) / 2,
    )
    request = wire.GetBBORequest(symbol=instrument.symbol)
    result = world.rpc_partner.call("OrderBookAPI.GetBBO", request)
    assert (result.spread, result.mid_price) == (int(bbo["spread"]), int(float(bbo["midPrice"])))


@pytest.mark.spec("S2.5-2")
def test_a_mid_price_between_two_units_is_exact_or_rounded_in_the_same_instant_too(
    world: Desk,
) -> None:
    """§2.5: the average, as text; a whole number of gRPC is rounded down."""
    instrument, displayed = world.listed("between"), []
    law, request = Audit(world.simulation), wire.GetBBORequest(symbol="between")
    world.place(instrument, "sell", 56, user=1)
    for bid in (40, 41, 43, 45, 47):
        world.place(instrument, "buy", bid)
        for rounding in ("exact", "down", "up", "even"):
            world.assume("book.mid_price_rounding", rounding)
            bbo = world.partner.get("/v1/orderbook/between/bbo").json()
            answer = world.rpc_partner.call("OrderBookAPI.GetBBO", request)
            assert answer.mid_price == int(bbo["midPrice"].removesuffix(".5"))
            displayed.append((bbo["spread"], bbo["midPrice"]))
    assert displayed == [
        *[("16", "48")] * 4,
        *(("15", "48.5"), ("15", "48"), ("15", "49"), ("15", "48")),
        *(("13", "49.5"), ("13", "49"), ("13", "50"), ("13", "50")),
        *(("11", "50.5"), ("11", "50"), ("11", "51"), ("11", "50")),
        *(("9", "51.5"), ("9", "51"), ("9", "52"), ("9", "52")),
    ]
    assert law.verdict.disagreements == []


@pytest.mark.spec("S2.4-1", "S2.4-2", "S2.4-3", "S4.3-3", "S5.1-7")
def test_trade_statistics_split_the_window_into_equal_bars_of_text_numbers(world: Desk) -> None:
    instrument = world.quiet()
    start = world.now
    trade(world, instrument, 50, 10)
    client = world.partner
    asked = {
        "symbol": instrument.symbol,
        "startTime": format_instant(start),
        "endTime": format_instant(start + minutes(6)),
        "bars": 6,
    }
    result = client.post("/v1/report/trades/stats", json=asked).json()
    assert len(result["bars"]) == len(result["barStartTime"]) == len(result["barEndTime"]) == 6
    assert set(result["bars"][3].values()) == {"0"} and len(result["bars"][3]) == 10
    assert (result["stats"]["totalTradeCount"], result["stats"]["clearedTradeCount"]) == ("1", "0")
    notional = 50 * instrument.price_scale // 100 * 10 * instrument.qty_scale
    assert result["bars"][0]["notional"] == str(notional)
    world.advance("2m")
    later = client.post("/v1/report/trades/stats", json=asked).json()
    assert later["stats"]["clearedTradeCount"] == "1"
    mixed = {**asked, "startTradeDate": {"year": 2026, "month": 9, "day": 8}}
    assert client.post("/v1/report/trades/stats", json=mixed).status == 400


# ---- reference data


@pytest.mark.spec("S4.3-13", "S2.6-1", "S2.6-3")
def test_instruments_are_listed_with_scales_that_differ_inside_one_product(world: Desk) -> None:
    """M3."""
    client = world.partner
    symbols = client.post("/v1/refdata/symbols", json={}).json()["symbols"]
    assert symbols == [instrument.symbol for instrument in world.core.instruments]
    listed: list[dict[str, Any]] = []
    token = ""
    while True:
        asked = {"pageSize": 1000, "pageToken": token}
        page = client.post("/v1/refdata/instruments", json=asked).json()
        listed += page["instruments"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert [outcome["symbol"] for outcome in listed] == symbols and page["eof"] is True
    assert {0.01, 0.005, 0.0025} <= {outcome["tickSize"] for outcome in listed}
    by_product: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for result in listed:
        product = result["productId"], result["metadata"].get("market_type", "")
        scales = result["priceScale"], result["fractionalQtyScale"]
        by_product.setdefault(product, set()).add(scales)
    assert any(len(scales) > 1 for scales in by_product.values())
    assert world.reference(symbols[0]) == listed[0]
    chosen = {"filter": {"whereClause": f"symbol = '{symbols[1]}'"}}
    answer = client.post("/v1/refdata/instruments/search", json=chosen).json()
    assert [outcome["symbol"] for outcome in answer["instruments"]] == [symbols[1]]
    assert client.get("/v1/refdata/instruments/no-such").status == 404


# ---- orders


@pytest.mark.spec("S4.3-12", "S2.7-1", "S2.7-2", "S2.7-3", "S4.3-15")
def test_an_order_entered_over_either_door_is_seen_through_both(world: Desk) -> None:
    instrument = world.quiet()
    by_rest = world.place(instrument, "buy", 40, 3, clordId="by-rest")
    request = rpc_order(instrument, 41, 2, clord_id="by-rpc")
    by_rpc = world.rpc_trader().call("OrderEntryAPI.InsertOrder", request).order_id
    result = world.open_orders()
    assert [(row["id"], row["clordId"], row["orderQty"]) for row in result] == [
        (by_rest, "by-rest", str(3 * instrument.qty_scale)),
        (by_rpc, "by-rpc", str(2 * instrument.qty_scale)),
    ]
    assert result[0]["fractionalQuantityScale"] == str(instrument.qty_scale)
    asked = wire.GetOpenOrdersRequest(symbols=[instrument.symbol])
    orders = world.rpc_trader().call("OrderEntryAPI.GetOpenOrders", asked).orders
    assert [order.id for order in orders] == [by_rest, by_rpc]


@pytest.mark.spec("S7.1-3", "S7.1-4")
def test_an_order_for_somebody_else_or_in_nothing_and_a_cancel_of_nothing_are_refused(
    world: Desk, instrument: Instrument
) -> None:
    assert world.enter(instrument, "buy", 40, symbol="no-such").status == 404
    assert world.enter(instrument, "buy", 40, account=world.account(1)).status == 403
    assert world.cancel("NOSUCHORDER1").status == 404


# ---- reports


@pytest.mark.spec("S4.3-4")
def test_a_search_that_cannot_be_read_is_refused_at_once(world: Desk) -> None:
    world.quirk("unfiltered_search_times_out", "always")
    for wrong in ({"where_clause": "luck = 1"}, {"pageToken": "!"}, {"pageSize": -1}):
        refused = world.trader().post("/v1/report/trades/search", json=wrong)
        assert (refused.status, refused.reply.ready_at) == (400, world.now), wrong


@pytest.mark.spec("S4.3-8", "S4.3-9", "S4.3-10", "S4.3-11", "S2.6-2", "S2.7-4", "S7.2-9")
def test_orders_and_executions_are_found_by_search_and_by_id(world: Desk) -> None:
    instrument = world.quiet()
    order_id = trade(world, instrument)
    mine = world.trader()
    result = mine.post("/v1/report/orders/search", json={"symbol": instrument.symbol}).json()
    assert [item["id"] for item in result["order"]] == [order_id] and "nextPageToken" not in result
    assert world.reported(order_id) == result["order"][0]
    executions = mine.post("/v1/report/executions/search", json={"orderId": order_id}).json()
    new, fill = executions["executions"]
    assert (new["type"], fill["type"]) == ("EXECUTION_TYPE_NEW", "EXECUTION_TYPE_FILL")
    assert executions["eof"] is True
    assert fill["tradeId"] and fill["traceId"]
    assert fill["transactTradeDate"] == {"year": 2026, "month": 9, "day": 8}
    row = world.ledger("cash", symbol=instrument.symbol)[0]
    scale = instrument.price_scale * instrument.qty_scale
    dollars = int(fill["commissionNotionalCollected"]) / scale
    paid = float(row["beforeBalance"]) - float(row["afterBalance"])
    assert paid == pytest.approx(5 + dollars)
    assert mine.get(f"/v1/report/executions/{fill['id']}").json()["execution"] == fill
    assert mine.get("/v1/report/executions/NOSUCHEXEC12").status == 404


# ---- money


@pytest.mark.spec("S4.3-15", "S8-6", "S7.2-3")
def test_a_transfer_has_two_decimals_one_effect_a_key_and_a_known_account(world: Desk) -> None:
    """P25."""
    first = world.transfer("1.25")
    assert world.transfer("1.25").workflow_id == first.workflow_id
    for amount, key, to, code in (
        ("1.26", "k", "", 6),
        ("1.255", "k2", "", 3),
        ("1.25", "k3", "firms/nobody/accounts/x", 5),
    ):
        with pytest.raises(RpcError) as refused:
            world.transfer(amount, key, to)
        assert refused.value.code == code


@pytest.mark.spec("S4.3-15", "S2.7-3")
def test_a_partner_order_honours_its_idempotency_key(world: Desk, instrument: Instrument) -> None:
    """M25."""
    world.place(instrument, "sell", 50, user=1)
    request = partner_order(instrument, world.account())
    first, again = (
        world.rpc_partner.call("OrderFundingService.CreateVendorOrder", request) for _ in range(2)
    )
    assert (first.funding_request_id, first.id) == (again.funding_request_id, again.id)
    row = world.reported(first.id)
    assert (row["state"], row["clordId"]) == ("ORDER_STATE_FILLED", "partner")


# ---- incentives and sports on this host


def test_incentives_are_the_retail_apis_seen_from_this_host(world: Desk) -> None:
    path = "/v1/incentives"
    assert world.raw("exchange", "GET", path, query="page_size=5").status == 200
    retail = world.customer().get(path, params={"page_size": 5}).json()
    mine = world.trader().get(path, params={"pageSize": 5}).json()
    assert mine["programs"] == retail["programs"]
    assert mine["programs"][0]["timePeriods"][0]["programId"]
    request = wire.GetIncentivesRequest(page_size=5)
    result = world.rpc_trader().call("IncentivesAPI.GetIncentives", request)
    slugs = [program.market_slug for program in result.programs]
    assert slugs == [program["marketSlug"] for program in mine["programs"]]
    assert world.trader().get(f"{path}/earnings").json() == {"rewards": []}
    assert world.exchange(world.poor_firm).get(f"{path}/earnings").status == 403


@pytest.mark.spec("S2.3-3", "S5.1-6")
def test_earnings_are_the_participants_where_one_is_named_and_the_firms_where_none_is(
    world: Desk, instrument: Instrument
) -> None:
    for user in (0, 1):
        amount = {"amount": (user + 1) * DOLLAR, "status": "PAID", "date": "2026-09-07"}
        reward = Reward(account=world.account(user), symbol=instrument.symbol, **amount)
        world.core.incentives.grant(reward)

    def earned(client: Http) -> list[float]:
        rewards = client.get("/v1/incentives/earnings").json()["rewards"]
        return [reward["reward"] for reward in rewards]

    assert [earned(world.trader(0)), earned(world.trader(1))] == [[1], [2]]
    assert earned(world.partner) == [3]


def test_sports_and_teams_agree_with_the_gateway(world: Desk) -> None:
    client = world.partner
    sports = client.get("/v1/refdata/sports").json()["sports"]
    leagues = world.gateway.get("/v2/leagues").json()["leagues"]
    assert [sport["sport"] for sport in sports][: len(leagues)] == [
        league["slug"] for league in leagues
    ]
    teams = client.get(
        "/v1/refdata/sports/teams", params={"filters.league": "nfl", "limit": 3, "orderBy": "name"}
    ).json()["teams"]
    assert len(teams) == 3 and teams == sorted(teams, key=lambda team: team["name"])
    ref = teams[0]["providerRefs"][0]
    result = client.get(
        "/v1/refdata/sports/teams/provider", params={"teamIds": ref["providerTeamId"]}
    ).json()["teams"]
    assert result[ref["providerTeamId"]]["name"] == teams[0]["name"]
    assert client.get("/v1/refdata/sports/teams", params={"orderBy": "nonsense"}).status == 400


def test_referral_codes_are_made_listed_counted_checked_and_survive_a_rewind(world: Desk) -> None:
    client = world.partner
    path = "/v1/kyc/referral-codes"
    for code, category in (("ADA-1", "friends"), ("ADA-2", None), ("BOB-1", "friends")):
        body = {"user_id": code[:3], "referral_code": code}
        created = client.post(path, json=body | ({"category": category} if category else {}))
        assert (created.status, created.json()) == (200, {})
    assert client.post(path, json={"user_id": "x", "referral_code": "ADA-1"}).status == 409
    blank = client.post(path, json={"user_id": " ", "referral_code": "NEW"})
    assert "user_id" in blank.json()["message"]
    assert world.start_kyc(referral_code="ADA-2").status == 200

    first = client.get(path, params={"limit": "2"}).json()
    rest = client.get(path, params={"limit": "2", "cursor": first["nextCursor"]}).json()
    assert (first["eof"], rest["eof"], "nextCursor" in rest) == (False, True, False)
    rows = first["referralCodes"] + rest["referralCodes"]
    assert [(row["referralCode"], row["usedCount"]) for row in rows] == [
        ("ADA-1", "0"),
        ("ADA-2", "1"),
        ("BOB-1", "0"),
    ]
    chosen = client.get(path, params={"user_id": "ADA", "category": "friends"}).json()
    assert [row["referralCode"] for row in chosen["referralCodes"]] == ["ADA-1"]
    assert client.get(path, params={"limit": "-1"}).status == 400
    assert client.get(path, params={"cursor": "nonsense"}).status == 400

    checked = client.get(f"{path}/BOB-1").json()
    assert (checked["isValid"], checked["userId"]) == (True, "BOB")
    assert client.get(f"{path}/NEW").json()["isValid"] is False
    world.simulation.snapshot("before")
    client.post(path, json={"user_id": "EVE", "referral_code": "EVE-1"})
    world.simulation.restore("before")
    assert client.get(f"{path}/EVE-1").json()["isValid"] is False
    assert client.get(f"{path}/ADA-1").json()["isValid"] is True
    assert world.exchange(world.poor_firm).get(f"{path}/ADA-1").status == 403
