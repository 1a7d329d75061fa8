"""The exchange API and the token issuer as seen until October 2026, by row (O100 …)."""

from __future__ import annotations

from typing import Any

import pytest

from sim.core.catalogue.observations import READINGS
from sim.kernel.instants import NS_PER_S
from tests.kit import Desk, order, streams
from tests.surfaces.test_autumn_retail import NFL, begin


def combo(world: Desk) -> str:
    """The id of a combo of two open markets."""
    legs = [
        {"symbol": market["slug"], "side": "SIDE_BUY"}
        for market in world.read("/v1/markets", "markets", active="true", limit=500)
        if market["comboEnabled"] and market["exchangeStatus"] == "OPEN"
    ]
    return str(world.trader().send("/v1/combos", {"legs": legs[:2]}, "combo", "id"))


def quotes(world: Desk) -> tuple[list[str], list[str]]:
    """The ids of two quotes of one maker on one request, and the events that followed."""
    accounts = world.account(0), world.account(1)
    symbol = combo(world)
    asked = {"symbol": symbol, "qtyDecimal": "10", "restRemainder": False, "account": accounts[0]}
    rfq = world.trader(0).send("/v1/rfqs", asked, "rfqId")
    events = world.rpc_trader(0).stream(
        "RFQAPI.StreamRFQEvents", streams.wire.StreamRFQEventsRequest()
    )
    ids = []
    for price in ("0.30", "0.31"):
        body = {"rfqId": rfq, "buyPrice": price, "sellPrice": "0", "restRemainder": False}
        body["account"] = accounts[1]
        ids.append(world.trader(1).send("/v1/rfqs/quotes", body, "quoteId"))
    kinds = [
        name
        for frame in events.take()
        for name in ("quote_created", "quote_deleted")
        if getattr(frame.event if hasattr(frame, "event") else frame, name, None)
    ]
    return ids, kinds


@pytest.mark.observed("rfqs.new_quote_ids")
@pytest.mark.parametrize("day", ["2026-09-30", "2026-10-01"])
def test_o100_a_quote_that_replaces_another_has_a_new_id_from_october(day: str) -> None:
    (first, second), kinds = quotes(begin(day=day))
    assert (first == second) is (day < "2026-10")
    if day >= "2026-10":
        assert kinds == ["quote_created", "quote_deleted", "quote_created"]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("auth.token_life")
def test_o101_tokens_live_a_day_in_observed(reading: str) -> None:
    world = begin(reading)
    life = 180 if reading == "documented" else 86400
    assert world.token(world.firm).json()["expires_in"] == life
    trader = world.trader()
    trader.get("/v1/whoami")
    headers = world.bearer(world.firm, world.user().name)
    world.advance(f"{life - 1}s")
    assert world.raw("exchange", "GET", "/v1/whoami", headers).status == 200
    world.advance("1s")
    assert world.raw("exchange", "GET", "/v1/whoami", headers).status == 401


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("exchange.balance_request")
def test_o102_a_balance_is_asked_for_in_both_forms_and_unpadded(reading: str) -> None:
    world = begin(reading)
    answers = [
        world.trader().send("/v1/positions/balance", {name: world.account(), "currency": "USD"})
        for name in ("account", "name")
    ]
    assert answers[0] == answers[1] and answers[0]["unsettledFunds"] == "0"
    dollars = float(answers[0]["balance"])
    assert answers[0]["balance"] == f"{dollars:.6f}".rstrip("0").rstrip(".")
    assert world.trader().post("/v1/positions/balance", json={}).status == 400


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("report.page_size", "report.empty_page_token")
def test_o103_searches_need_a_page_size_and_write_an_empty_token_in_observed(reading: str) -> None:
    world = begin(reading)
    for rows in ("orders", "executions", "trades"):
        path, filters = f"/v1/report/{rows}/search", {"symbol": world.quiet().symbol}
        bare = world.trader().post(path, json=filters)
        sized = world.trader().send(path, filters | {"pageSize": 10})
        if reading == "documented":
            assert bare.status == 200 and "nextPageToken" not in sized
            continue
        assert bare.status == 400 and bare.json() == {
            "code": 11,
            "message": "Maximum requested records is 5000",
            "details": [],
        }
        assert sized["nextPageToken"] == ""


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("exchange.edge_errors")
def test_o104_the_edge_of_the_exchange_host_answers_itself_in_observed(reading: str) -> None:
    world = begin(reading)
    unknown = world.trader().get("/v1/nothing")
    bare = world.raw("exchange", "GET", "/v1/whoami")
    if reading == "observed":
        assert unknown.status == 403
        assert (bare.status, bare.json()) == (401, {"message": "Unauthorized"})
    else:
        assert unknown.status == 404 and list(bare.json()) == ["code", "message", "details"]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("exchange.answers")
def test_o105_whoami_unknown_symbols_and_previews(reading: str) -> None:
    world = begin(reading)
    trader, instrument = world.trader(), world.quiet()
    assert trader.read("/v1/whoami", "firm") == world.firm.name
    unknown = trader.get("/v1/refdata/instruments/no-such")
    for answer in (unknown, trader.get("/v1/orderbook/no-such")):
        if answer.status == 404 and "code" in answer.json():
            assert answer.json()["message"] == "instrument does not exist"
    assert trader.get("/v1/orderbook/no-such").json()["code"] == 5
    body = {"request": order(instrument, "BUY", 40)}
    preview = trader.send("/v1/trading/orders/preview", body, "previewOrder")
    assert preview["state"] == "ORDER_STATE_PENDING_NEW"


@pytest.mark.observed("auth.audiences")
def test_o106_every_published_name_is_an_audience() -> None:
    world = begin()
    now, issuer = world.now // NS_PER_S, world.core.credentials.environment.issuer
    published = (
        world.auth.get("/.well-known/oauth-authorization-server").json().get("issuer", f"{issuer}/")
    )
    api = world.core.credentials.environment.audience
    for audience in (f"{issuer}/oauth/token", f"{issuer}/", issuer, api, published):
        assertion = world.assertion(world.firm, iat=now, exp=now + 60, aud=audience)
        assert world.token(world.firm, client_assertion=assertion).status == 200, audience
    wrong = world.assertion(world.firm, iat=now, exp=now + 60, aud="https://elsewhere.example/")
    assert world.token(world.firm, client_assertion=wrong).status == 400


@pytest.mark.observed("auth.scopes")
def test_o107_a_firm_may_have_every_scope_that_was_seen() -> None:
    names = "marketdata instruments l2marketdata orders reports positions dropcopy accounts funding"
    scopes = [f"read:{name}" for name in names.split()] + ["write:orders", "write:accounts"]
    firm = f"{{name: firms/scoped, client_id: scoped, key: spare-1, scopes: [{', '.join(scopes)}]}}"
    world = begin(more=f"world: {{firms: [{firm}]}}\n")
    scoped = next(row for row in world.firms if row.name == "firms/scoped")
    assert sorted(scoped.scopes) == sorted(scopes)
    assert world.exchange(scoped).get("/v1/whoami").status == 200


@pytest.mark.observed("instruments.qty_scale")
def test_o108_sports_instruments_have_a_scale_of_100_but_for_one_product() -> None:
    world = begin()
    scales: dict[str, set[str]] = {}
    token: dict[str, Any] = {}
    while True:
        page = world.trader().send("/v1/refdata/instruments", {"pageSize": 1000, **token})
        for row in page["instruments"]:
            if row["metadata"].get("event_category") == "SPR":
                product = row["metadata"]["instrument_product"]
                scales.setdefault(product, set()).add(row["fractionalQtyScale"])
        if not page.get("nextPageToken"):
            break
        token = {"pageToken": page["nextPageToken"]}
    mixed = scales.pop("totals")
    assert len(mixed) > 1 and set().union(*scales.values()) == {"100"} and len(scales) > 3


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("incentives.rows")
def test_o109_a_market_in_two_programs_has_two_rows_in_observed(reading: str) -> None:
    fresh = begin()
    account, programs = fresh.keys[0].account, fresh.core.incentives.programs()
    slug = next(row.symbol for row in fresh.in_state() if row.symbol not in programs)
    terms = 'start: 2026-09-01, reward_pool: "100"'
    periods = f"[{{program_id: a, {terms}}}, {{program_id: b, {terms}}}]"
    paid = f'{{account: {account}, date: 2026-09-07, reward: "3", status: PAID}}'
    entry = f"{{symbol: {slug}, periods: {periods}, rewards: [{paid}, {paid}]}}"
    world = begin(reading, more=f"world: {{incentives: [{entry}]}}\n")
    asked, count = {"symbols": slug}, 2 if reading == "observed" else 1
    rows = world.customer().read("/v1/incentives", "programs", **asked)
    assert [row["marketSlug"] for row in rows] == [slug] * count
    earned = world.customer().read("/v1/incentives/earnings", "rewards", market_slug=slug)
    assert [row["reward"] for row in earned] == [6 / count] * count
    exchange = world.trader().read("/v1/incentives", "programs", **asked)
    assert len(exchange) == count


@pytest.mark.observed("markets.innings")
@pytest.mark.parametrize("day", ["2026-09-28", "2026-09-29"])
def test_o110_baseball_has_totals_of_each_inning_from_29_september(day: str) -> None:
    world = begin(day=day)
    kinds = [f"baseball_team_inning{number}_total" for number in range(1, 10)]
    for kind in kinds:
        rows = world.read("/v1/markets", "markets", sportsMarketTypes=kind, limit=500)
        assert {row["line"] for row in rows} == (set() if day == "2026-09-28" else {0.5, 1.5})
    if day != "2026-09-28":
        market = next(row for row in rows if row["exchangeStatus"] == "OPEN")
        slug = market["slug"]
        event = slug.removeprefix("tsc-").rpartition("-i")[0]
        assert world.reference(slug)["metadata"]["market_sport_type"] == kinds[-1]
        report = {"periods": {"I9": [1, 0]}, "ended": True, "live": False}
        world.operate("event.update", event, **report)
        world.advance("10m")
        paid = world.read(f"/v1/markets/{slug}/settlement", "settlement")
        assert paid == (1 if market["line"] == 0.5 else 0)


@pytest.mark.observed("limits.tiers", "limits.published")
def test_o111_limits_of_order_entry_depend_on_the_tier() -> None:
    more = "assumptions: {limits.extra: true}\n"
    for tier, allowed in ((1, 30), (2, 100)):
        world = begin(more=more)
        firm, instrument = world.firm, world.quiet()
        world.core.rate_limits.raise_limit(firm.name, "tier", tier)
        answers = [
            world.trader().post("/v1/trading/orders", json=order(instrument, "BUY", 1))
            for _ in range(allowed + 1)
        ]
        assert [answer.status for answer in answers].count(200) == allowed
        assert answers[-1].json() == {"code": 8, "message": "rate limit exceeded", "details": []}


@pytest.mark.observed("rfqs.general")
@pytest.mark.parametrize("day", ["2026-09-30", "2026-10-01"])
def test_o112_rfqs_need_beta_access_before_october(day: str) -> None:
    account, without = begin().keys[0].account, "00000000-0000-4000-8000-000000000112"
    key = f"{{key_id: {without}, account: {account}, beta: false}}"
    world = begin(day=day, more=f"world: {{api_keys: [{key}]}}\n")
    for key_id, allowed in (
        (world.core.firms.api_keys()[0].key_id, True),
        (without, day >= "2026-10"),
    ):
        client = world.retail(world.core.firms.api_key(key_id))
        for path in ("/v1/rfqs/trades", "/v1/rfqs", f"/v1/combos?symbol={NFL}"):
            path, _, symbol = path.partition("?symbol=")
            answer = client.get(path, params={"symbol": symbol} if symbol else {})
            assert answer.status == (200 if allowed else 403), answer
    before = {"startTime": "2026-01-01T00:00:00Z"}
    early = world.trader().get("/v1/rfqs/trades", params=before)
    assert (early.status, early.json()["code"]) == (400, 9)


@pytest.mark.observed("settlement.unsettled")
def test_o113_a_market_without_a_settlement_has_no_stats() -> None:
    world = begin()
    slug = world.quiet().symbol
    assert "stats" not in world.trader().read(f"/v1/instruments/{slug}/settlement")
    world.settle(slug)
    assert "stats" in world.trader().read(f"/v1/instruments/{slug}/settlement")
