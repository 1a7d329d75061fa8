"""Limits, the maintenance calendar, retention, versions and the changelog, as clients of every
plane see them (§7.2, §8, §9).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from sim.contract import changelog
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import format_instant, minutes, parse_instant
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import Response
from tests.kit import Desk, begin

Call = Callable[[], Response]


def until_refused(call: Call, most: int) -> tuple[int, Response]:
    """How many calls succeed before one is refused with 429, and that one."""
    for count in range(most + 1):
        answer = call()
        if answer.status == 429:
            return count, answer
    raise AssertionError(f"{most + 1} calls were answered")


# ---- environments


@pytest.mark.spec("S0-2")
def test_each_environment_has_its_own_credentials_and_refuses_those_of_another() -> None:
    worlds = {
        name: begin(f"name: {name}\nextends: quickstart\nenvironment: {name}\n")
        for name in ("development", "pre-production", "production")
    }
    for name, world in worlds.items():
        mine = world.firm
        assert world.customer().get("/v1/orders/open").status == 200
        audience = world.partner.get("/v1/whoami").json()["audience"]
        assert audience == f"https://api.{name}.sandbox.test"
        for other_name, other in worlds.items():
            if other_name == name:
                continue
            assertion = world.assertion(mine)
            refused = other.token(other.firm, client_assertion=assertion, client_id=mine.client_id)
            assert (refused.status, refused.json()["error"]) == (401, "invalid_client")
            signed = world.retail_headers(world.keys[0], "GET", "/v1/orders/open")
            for plane, path, headers in (
                ("exchange", "/v1/whoami", world.bearer(mine)),
                ("retail", "/v1/orders/open", signed),
            ):
                assert other.raw(plane, "GET", path, headers).status == 401


@pytest.mark.spec("S0-2")
def test_a_scenario_can_hold_credentials_of_another_environment_to_see_them_refused() -> None:
    text = """
name: mixed-up
extends: quickstart
environment: production
world:
  firms: [{name: firms/stray, client_id: stray, key: spare-1, environment: pre-production, users: [{name: u}]}]
  api_keys: [{key_id: stray-key, account: firms/retail/accounts/5c1e90d2, environment: development}]
"""
    world = begin(text)
    stray = next(firm for firm in world.core.firms.all() if firm.client_id == "stray")
    refused = world.token(stray)
    assert (refused.status, refused.json()["error"]) == (401, "invalid_client")
    stray_key = next(
        api_key for api_key in world.core.firms.api_keys() if api_key.key_id == "stray-key"
    )
    assert world.retail(stray_key).get("/v1/orders/open").status == 401


# ---- rate limits


@pytest.mark.spec("S8-3")
def test_exchange_rest_is_a_hundred_a_second_averaged_over_a_minute_per_firm(world: Desk) -> None:
    client = world.partner
    symbol = world.quiet().symbol
    call: Call = lambda: client.get(f"/v1/orderbook/{symbol}/bbo")  # noqa: E731
    count, refused = until_refused(call, 6100)
    assert count == 6000  # a burst may use the whole minute at once
    assert refused.json() == {"code": 8, "message": "rate limit exceeded", "details": []}
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert world.exchange(world.other_firm).get("/v1/whoami").status == 200
    world.advance("61s")
    assert call().status == 200


@pytest.mark.spec("S8-9")
def test_limits_are_raised_for_everybody_for_a_firm_and_for_a_key_by_configuration() -> None:
    text = """
name: generous
extends: quickstart
limits: {trade_stats: "90/m", retail: "off"}
world:
  firms: [{name: firms/atlas, limits: {search_reports: 40}}]
  api_keys: [{key_id: generous-key, account: firms/retail/accounts/5c1e90d2, limits: {incentives: 8}}]
"""
    world = begin(text)
    symbol = world.quiet().symbol
    search: Call = lambda: world.trader().post("/v1/report/trades/search", json={"symbol": symbol})  # noqa: E731
    stats: Call = lambda: world.trader().post("/v1/report/trades/stats", json={"symbol": symbol})  # noqa: E731
    assert until_refused(search, 50)[0] == 40
    assert until_refused(stats, 100)[0] == 90
    client = world.retail(world.core.firms.api_keys()[0])
    assert {client.get("/v1/orders/open").status for _ in range(60)} == {200}
    keys = world.core.firms.api_keys()
    generous = next(result for result in keys if result.key_id == "generous-key")
    assert until_refused(lambda: world.retail(generous).get("/v1/incentives"), 12)[0] == 8
    assert until_refused(lambda: client.get("/v1/incentives"), 12)[0] == 5
    other = world.exchange(world.other_firm, world.other_firm.users[0].name)
    search = lambda: other.post("/v1/report/trades/search", json={"symbol": symbol})  # noqa: E731
    assert until_refused(search, 20)[0] == 12


# ---- maintenance

ERAS = [
    ("2026-04-06T12:00:00-04:00", "2026-04-07T04:00:00-04:00", "2026-04-07T06:00:00-04:00"),
    ("2026-04-14T12:00:00-04:00", "2026-04-16T06:00:00-04:00", "2026-04-16T08:00:00-04:00"),
    ("2026-07-01T12:00:00-04:00", "2026-07-02T06:00:00-04:00", "2026-07-02T08:00:00-04:00"),
    ("2026-07-08T12:00:00-04:00", "2026-07-09T02:00:00-04:00", "2026-07-09T06:00:00-04:00"),
    # after the end of daylight saving time
    ("2026-11-04T12:00:00-05:00", "2026-11-05T02:00:00-05:00", "2026-11-05T06:00:00-05:00"),
]


@pytest.mark.spec("S1-3", "S8-8")
@pytest.mark.parametrize(("start", "begins", "ends"), ERAS)
def test_the_weekly_window_of_each_era_stops_retail_and_exchange_and_nothing_else(
    start: str, begins: str, ends: str
) -> None:
    """W1."""
    world = begin(start=start)
    retail, exchange = world.customer(), world.partner

    def statuses() -> list[int]:
        rpc = world.rpc_partner.raw("/exchange.v1.AccountsAPI/GetWhoAmI", b"").code
        return [
            retail.get("/v1/orders/open").status,
            exchange.get("/v1/whoami").status,
            rpc,
            world.gateway.get("/v2/leagues").status,
        ]

    world.advance_to(parse_instant(begins) - 1)
    assert statuses() == [200, 200, 0, 200]
    world.advance_to(begins)
    assert statuses() == [503, 503, 14, 200]
    world.advance_to(parse_instant(ends) - 1)
    assert statuses() == [503, 503, 14, 200]
    world.advance_to(ends)
    assert statuses() == [200, 200, 0, 200]


@pytest.mark.spec("S8-8")
def test_one_off_windows_come_from_a_scenario_and_from_a_tester() -> None:
    text = """
name: announced
extends: quickstart
maintenance: [{begins: 2026-09-08T20:00:00-04:00, length: 30m}]
"""
    world = begin(text)
    exchange = world.partner
    world.advance_to("2026-09-08T20:00:00-04:00")
    assert exchange.get("/v1/whoami").status == 503
    world.advance("30m")
    assert exchange.get("/v1/whoami").status == 200
    instrument = world.quiet()
    world.enter(instrument, "buy", 30, 1)
    added = world.operate("maintenance.add", length="10m").value
    world.advance("0s")
    assert exchange.get("/v1/whoami").status == 503
    assert added == {
        "name": "window-2",
        "begins": "2026-09-09T00:30:00Z",
        "ends": "2026-09-09T00:40:00Z",
    }
    world.advance("10m")
    assert world.open_orders() == []
    later = world.operate("maintenance.add", begins="+1h", length="10m").value
    assert later["name"] in [
        row["name"] for row in read_view(world.simulation.engine, "maintenance")["maintenance"]
    ]  # type: ignore[index]
    world.operate("maintenance.cancel", later["name"])
    world.advance("65m")
    assert exchange.get("/v1/whoami").status == 200


# ---- retention


@pytest.mark.spec("S8-7")
def test_from_the_window_of_the_sixteenth_of_july_old_executions_are_empty_and_trades_stay() -> (
    None
):
    """R10."""
    world = begin(start="2026-07-08T14:00:00-04:00")
    instrument = world.quiet()
    placed = world.place(instrument, "buy", 40, 5)
    world.place(instrument, "sell", 40, 5, user=1)

    def hits() -> tuple[int, ...]:
        records = ("executions", "orders", "trades")
        rows = [world.search(record, symbol=instrument.symbol) for record in records]
        world.advance("1m")
        return tuple(map(len, rows))

    executions, orders, trades = hits()
    assert executions >= 2 and orders == 1 and trades == 1
    exec_id = world.search("executions", symbol=instrument.symbol)[0]["id"]
    world.advance_to("2026-07-16T01:00:00-04:00")
    assert hits() == (executions, 1, 1)
    world.advance_to("2026-07-16T06:00:01-04:00")
    assert hits() == (0, 1, 1)
    assert world.trader().get(f"/v1/report/executions/{exec_id}").status == 404
    assert world.trader().get(f"/v1/report/orders/{placed}").status == 200
    assert instrument.symbol in [row["symbol"] for row in world.positions()]
    world.advance_to("2026-10-15T06:00:01-04:00")
    assert hits() == (0, 0, 1)


# ---- versions and the changelog


@pytest.mark.spec("S9-1")
def test_paths_carry_v1_and_v2_for_leagues(world: Desk) -> None:
    for operation in world.simulation.contract.operations:
        issuer = operation.planes == ("auth",)
        begins = ("/oauth/", "/.well-known/") if issuer else ("/v1/", "/v1beta1/", "/v2/")
        for _, path, _ in operation.bindings:
            assert path.startswith(begins), path
    assert world.gateway.get("/v2/leagues").status == 200
    assert world.gateway.get("/v1/leagues").status == 404


@pytest.mark.spec("S9-2")
def test_the_feed_is_rss_with_numbered_tagged_releases_of_the_virtual_day() -> None:
    def feed(moment: str) -> Any:
        root = ElementTree.fromstring(changelog.rss(parse_instant(moment), "http://docs.test"))
        assert (root.tag, root.get("version")) == ("rss", "2.0")
        return root

    later, earlier = feed("2026-09-08T14:00:00-04:00"), feed("2026-07-01T00:00:00-04:00")
    titles = [item.findtext("title") or "" for item in later.iter("item")]
    assert titles[0].startswith("v0.0.71: ")
    assert len(titles) > len(list(earlier.iter("item"))) > 3
    tags = {category.text for category in later.iter("category")}
    assert tags >= {
        "Breaking Change",
        "New Feature",
        "Maintenance",
        "Institutional API",
        "Retail API",
        "Upcoming",
        "Bug Fix",
        "Documentation",
        "Incentives",
    }
    dates = [parsedate_to_datetime(item.findtext("pubDate") or "") for item in later.iter("item")]
    assert dates == sorted(dates, reverse=True)
    assert all(isinstance(moment, datetime) for moment in dates)
    assert len({item.findtext("guid") for item in later.iter("item")}) == len(titles)


def test_what_a_release_announces_is_what_the_interface_does() -> None:
    """The dates of the changelog are the dates on which the simulator changes."""
    effective = {
        release.number: release.effective or release.date for release in changelog.releases()
    }
    world = begin(start=f"{effective[60]}T00:00:00-04:00")
    assert world.gateway.get("/v1/subjects").status == 404
    assert (
        begin(start=format_instant(parse_instant(f"{effective[60]}T00:00:00-04:00") - minutes(1)))
        .gateway.get("/v1/subjects")
        .status
        == 200
    )
    windows = read_view(
        begin(start=f"{effective[67]}T00:00:00-04:00").simulation.engine, "maintenance"
    )
    assert windows["maintenance"][0]["begins"] == f"{effective[67]}T06:00:00Z"  # type: ignore[index]
    displayed = {80: "2026-09-17"}  # markets show a coefficient before it is charged
    for number, before, after in ((64, 0.05, 0.06), (80, 0.06, 0.0695)):
        start = parse_instant(f"{displayed.get(number, effective[number])}T00:00:00-04:00")
        for moment, coefficient in ((start - minutes(1), before), (start, after)):
            markets = (
                begin(start=format_instant(moment))
                .gateway.get("/v1/markets", params={"limit": 1})
                .json()["markets"]
            )
            assert [market["feeCoefficient"] for market in markets] == [coefficient]
    world = begin(start=f"{effective[32]}T12:00:00-04:00")
    assert world.rpc_partner.call("HealthAPI.HealthCheck", wire.HealthCheckRequest())
