"""Each parameter of each list of the gateway, alone, with values
that rows have themselves: the answer is what filtering and sorting all rows gives.

The world is one evening in which something of everything has happened; nothing changes it here.
"""

from __future__ import annotations

from typing import Any

import pytest
from evening import Evening, Row, some
from gateway_filters import (
    EVENT_KEYS,
    LISTS,
    ordered,
    parents,
    slugs,
    slugs_of_tags,
    tags,
    text,
    value_of,
)

from sim.core.model.enums import Side
from sim.kernel.instants import NS_PER_S, parse_instant


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in LISTS for name in LISTS[kind].filters]
)
def test_a_filter(evening: Evening, kind: str, name: str) -> None:
    rows, (of, passes) = getattr(evening, kind), LISTS[kind].filters[name]
    values = some(rows, of)
    assert values, "no row has a value to ask for"
    for value in values:
        asked = {name: text(value), "orderDirection": "asc"}
        assert evening.ids(f"/v1/{kind}", kind, **asked) == slugs(
            rows, lambda row, value=value: passes(row, value)
        )


def test_filters_of_events_that_take_several_values_or_each_other(evening: Evening) -> None:
    events = evening.events

    def hits(**query: Any) -> list[str]:
        return evening.ids("/v1/events", "events", orderDirection="asc", **query)

    numbers = [row["id"] for row in events[::40]]
    assert hits(id=numbers) == slugs(events, lambda row: row["id"] in numbers)
    assert hits(id=[*numbers, 1, 10**12]) == hits(id=numbers)
    assert hits(slug=[events[3]["slug"], "no-such"]) == [events[3]["slug"]]
    assert hits(excludeEventId=numbers) == slugs(events, lambda row: row["id"] not in numbers)
    for sport in ("basketball", "baseball"):
        (tag,) = {tag["id"] for row in events for tag in row["tags"] if tag["slug"] == sport}
        alone = slugs(events, lambda row, tag=tag: int(tag) in tags(row))
        related = slugs(events, lambda row, tag=tag: int(tag) in parents(row))
        assert hits(tagId=tag) == alone
        assert hits(tagIds=tag, relatedTags="true") == related
        assert hits(excludeTagId=tag, relatedTags="true") == [
            slug for slug in slugs(events) if slug not in related
        ]
    assert hits(tagSlugsAll=["sports", "nba"], tagSlug="basketball") == slugs(
        events, lambda row: {"sports", "nba", "basketball"} <= slugs_of_tags(row)
    )
    assert hits(tagIds=[101, 102], tagId=103) == slugs(
        events, lambda row: bool({101, 102, 103} & tags(row))
    )
    for nothing in (
        {"eventWeek": 1},
        {"userId": "u"},
        {"sportradarGameId": "x"},
        {"rescheduledFromGameId": "x"},
        {"archived": "true"},
        {"seriesId": 999},
        {"recurrence": "never"},
        {"gameId": "none"},
        {"eventDate": "2020-01-01"},
        {"period": "XX"},
        {"startTimeMin": "2100-01-01T00:00:00Z"},
    ):
        assert hits(**nothing) == [], nothing
    for everything in ({"archived": "false"}, {"includeHidden": "true"}, {"excludeSeriesId": 999}):
        assert hits(**everything) == slugs(events), everything
    between = {"startTimeMin": "2026-09-09T00:00:00Z", "startTimeMax": "2026-09-10T00:00:00Z"}
    assert hits(**between) == slugs(
        events,
        lambda row: between["startTimeMin"] <= (row["startTime"] or "") <= between["startTimeMax"],
    )
    volumes = sorted({value_of(row, "volume") for row in events})
    assert len(volumes) > 3
    assert hits(volumeMin=volumes[1], volumeMax=volumes[2]) == slugs(
        events, lambda row: volumes[1] <= value_of(row, "volume") <= volumes[2]
    )


def test_filters_of_events_by_series(evening: Evening) -> None:
    series = evening.rows("/v1/series", "series")
    by_number = {int(entry["id"]): entry for entry in series}
    names = {row["seriesSlug"] for row in evening.events}

    def hits(**query: Any) -> list[str]:
        return evening.ids("/v1/events", "events", orderDirection="asc", **query)

    for number, item in by_number.items():
        if item["slug"] in names and number % 4 == 0:
            mine = slugs(evening.events, lambda row, entry=item: row["seriesSlug"] == entry["slug"])
            assert hits(seriesId=number) == mine != []
            assert evening.ids(f"/v1/sports/{number}/events", "events") == mine
            others = [slug for slug in slugs(evening.events) if slug not in mine]
            assert hits(excludeSeriesId=number) == others
    for recurrence in {entry["recurrence"] for entry in series if "recurrence" in entry}:
        expected = {entry["slug"] for entry in series if entry.get("recurrence") == recurrence}
        assert hits(recurrence=recurrence) == slugs(
            evening.events, lambda row, target=expected: row["seriesSlug"] in target
        )
    assert evening.ids("/v1/sports/999/events", "events") == []


def test_filters_of_markets_that_take_several_values_or_are_about_their_event(
    evening: Evening,
) -> None:
    markets = evening.markets

    def hits(**query: Any) -> list[str]:
        return evening.ids("/v1/markets", "markets", orderDirection="asc", **query)

    event = next(row for row in evening.events if row["slug"] == evening.far[1])
    mine = [market["slug"] for market in event["markets"]]
    assert "by-hand" in mine
    assert sorted(hits(eventSlug=event["slug"])) == sorted(mine)
    assert sorted(hits(gameId=event["gameId"])) == sorted(mine)
    assert hits(eventSlug="no-such") == hits(gameId="none") == []
    numbers = [row["id"] for row in markets[::90]]
    assert hits(id=[*numbers, 1]) == slugs(markets, lambda row: row["id"] in numbers)
    assert hits(slug=["alone", "by-hand", "no-such"]) == slugs(
        markets, lambda row: row["slug"] in ("alone", "by-hand")
    )
    for kind in ("spreads", "moneyline", "totals"):
        assert hits(marketTypes=kind) == slugs(
            markets, lambda row, kind=kind: row["metadata"].get("outcomeType") == kind
        )
    for nothing in ({"questionIds": "q"}, {"cyom": "true"}, {"archived": "true"}):
        assert hits(**nothing) == [], nothing
    for everything in ({"archived": "false"}, {"includeHidden": "true"}):
        assert hits(**everything) == slugs(markets), everything
    resting = {row["slug"]: liquidity(evening, row["slug"]) for row in markets}
    amounts = sorted(set(resting.values()))
    for least, most in ((amounts[1], amounts[-1]), (amounts[1], amounts[1]), (0, 0)):
        for name in ("liquidity", "liquidityNum"):
            assert hits(**{f"{name}Min": least, f"{name}Max": most}) == slugs(
                markets, lambda row, least=least, most=most: least <= resting[row["slug"]] <= most
            )
    bare = evening.read("/v1/markets", slug="alone", includeTag="false")["markets"]
    full = evening.read("/v1/markets", slug="alone", includeTag="true")["markets"]
    assert [row | {"tags": full[0]["tags"]} for row in bare] == full
    item = evening.read("/v1/markets", slug=mine[0])["markets"][0]
    assert item["tags"]
    assert evening.read("/v1/markets", slug=mine[0], includeTag="false")["markets"][0]["tags"] == []


def liquidity(evening: Evening, slug: str) -> float:
    """What resting orders of a market cost: bids their price, offers one dollar less it."""
    exchange = evening.core
    book = exchange.trading.book(slug)
    if book.hidden:
        return 0.0
    item, count = book.instrument.price_scale, book.instrument.qty_scale
    bids = sum(price * qty for price, qty, *_ in book.levels(Side.BUY, 1000))
    offers = sum((item - price) * qty for price, qty, *_ in book.levels(Side.SELL, 1000))
    return (bids + offers) / (item * count)


def test_programs_on_markets(evening: Evening) -> None:
    exchange = evening.core
    sizes: dict[str, int] = {}
    for symbol, periods in exchange.incentives.programs().items():
        for period in periods:
            active = period.start <= exchange.now and (
                period.end is None or exchange.now < period.end
            )
            if active and period.program_type == "liquidityProgram":
                sizes[symbol] = max(sizes.get(symbol, 0), period.target_size or 0)
    assert sizes
    for least in (0, 9_999, 10_000, 10_001):
        result = evening.ids("/v1/markets", "markets", orderDirection="asc", rewardsMinSize=least)
        assert result == slugs(
            evening.markets, lambda row, least=least: sizes.get(row["slug"], -1) >= least
        )


# ---- order and pages


@pytest.mark.parametrize("direction", ["asc", "desc", ""])
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in LISTS for name in LISTS[kind].keys]
)
def test_an_order(evening: Evening, kind: str, name: str, direction: str) -> None:
    result = evening.ids(f"/v1/{kind}", kind, orderBy=name, orderDirection=direction)
    key = LISTS[kind].keys[name]
    assert result == ordered(getattr(evening, kind), [key], direction != "asc")


def test_orders_by_several_names_and_by_what_is_featured(evening: Evening) -> None:
    for names in (["volume", "slug"], ["featuredOrder", "start_date"], ["liquidity", "VOLUME"]):
        keys = [
            EVENT_KEYS[{"start_date": "startDate", "VOLUME": "volume"}.get(name, name)]
            for name in names
        ]
        result = evening.ids("/v1/events", "events", orderBy=names, orderDirection="desc")
        assert result == ordered(evening.events, keys, True)
    by_feature = [EVENT_KEYS["featuredOrder"]]
    assert evening.ids("/v1/events", "events", featuredOrder="true") == ordered(
        evening.events, by_feature, False
    )
    assert evening.ids("/v1/events", "events", featuredOrder="true", orderDirection="desc") == (
        ordered(evening.events, by_feature, True)
    )
    both = [EVENT_KEYS["volume"], *by_feature]
    assert evening.ids("/v1/events", "events", featuredOrder="true", orderBy="volume") == ordered(
        evening.events, both, True
    )
    assert evening.ids("/v1/events", "events") == slugs(evening.events)


def test_pages_have_a_hundred_rows_unless_asked_otherwise(evening: Evening) -> None:
    for path, name, rows in (
        ("/v1/events", "events", evening.events),
        ("/v1/markets", "markets", evening.markets),
    ):
        assert slugs(evening.read(path)[name]) == slugs(rows[:100])
        assert slugs(evening.read(path, limit=0, offset=7)[name]) == slugs(rows[7:107])
        assert slugs(evening.read(path, limit=1, offset=len(rows) - 1)[name]) == slugs(rows[-1:])
        assert evening.read(path, offset=len(rows))[name] == []
        for page in ({"limit": -1}, {"offset": -1}):
            answer = evening.gateway.get(path, params=page)
            assert (answer.status, answer.json()["message"]) == (
                400,
                "limit and offset must not be negative",
            )
        answer = evening.gateway.get(path, params={"orderDirection": "up"})
        assert answer.json()["message"] == "orderDirection must be asc or desc"
        for unsorted in ("question", "teams", "image"):
            assert evening.gateway.get(path, params={"orderBy": unsorted}).status in (200, 400)


# ---- search, leagues, sports, tags


@pytest.mark.long
def test_a_search_has_pages_and_filters(evening: Evening) -> None:
    def hits(**query: Any) -> list[str]:
        return [row["slug"] for row in evening.read("/v1/search", **query)["events"]]

    def every(**query: Any) -> list[str]:
        return [row["slug"] for row in evening.rows("/v1/search", "events", **query)]

    everything = every()
    assert everything == slugs(evening.events)
    assert hits() == hits(page=0) == hits(page=1) == everything[:20]
    assert hits(page=2) == everything[20:40]
    assert hits(page=3, limit=7) == everything[14:21]
    by_slug = {row["slug"]: row for row in evening.events}
    for query in ("celtics", "bos", "new york", "will"):
        rows = every(query=query)
        titled = [
            all(word in by_slug[slug]["title"].lower() for word in query.split()) for slug in rows
        ]
        assert titled == sorted(titled, reverse=True), "matches in the title come first"
        for size in (1, 3, 5):
            pages = [
                hits(query=query, limit=size, page=page) for page in range(1, len(rows) // size + 2)
            ]
            assert [slug for page in pages for slug in page] == rows
    now = evening.now
    for status, passes in (
        ("active", lambda row: row["active"]),
        ("closed", lambda row: row["closed"]),
        (
            "upcoming",
            lambda row: (
                not row["closed"]
                and parse_instant(row["startTime"] or "1990-01-01T00:00:00Z") > now
            ),
        ),
    ):
        assert every(status=status) == slugs(evening.events, passes), status
    assert every(comboEnabledOnly="true") == slugs(
        evening.events, lambda row: any(market["comboEnabled"] for market in row["markets"])
    )
    for kind in ("spreads", "futures"):
        assert every(marketType=kind) == slugs(
            evening.events,
            lambda row, kind=kind: any(
                market["metadata"].get("outcomeType") == kind for market in row["markets"]
            ),
        )
    start = some(evening.events, lambda row: row["startTime"])[2]
    assert every(startTimeMin=start) == slugs(
        evening.events, lambda row: (row["startTime"] or "") >= start
    )
    assert every(startTimeMax=start) == slugs(
        evening.events, lambda row: row["startTime"] is not None and row["startTime"] <= start
    )
    assert hits(closedTimeMin=start) == hits(closedTimeMax=start) == []
    series = {item["slug"]: int(item["id"]) for item in evening.rows("/v1/series", "series")}
    for slug in some(evening.events, lambda row: row["seriesSlug"]):
        assert every(seriesIds=series[slug]) == slugs(
            evening.events, lambda row, slug=slug: row["seriesSlug"] == slug
        )
    for query, message in (
        ({"status": "open"}, "status is active, closed or upcoming"),
        ({"page": -1}, "page must not be negative"),
        ({"limit": -1}, "limit and offset must not be negative"),
    ):
        answer = evening.gateway.get("/v1/search", params=query)
        assert (answer.status, answer.json()["message"]) == (400, message)


def test_events_of_leagues_and_sports(evening: Evening) -> None:
    leagues = evening.rows("/v2/leagues", "leagues")
    sports = evening.read("/v2/sports")["sports"]
    open_events = [row for row in evening.events if not row["closed"]]
    paths = [(f"/v2/leagues/{item['slug']}", {item["slug"]}) for item in leagues]
    paths += [
        (f"/v2/sports/{sport['slug']}", {league["slug"] for league in sport["leagues"]})
        for sport in sports
    ]
    observed = 0
    for path, names in paths:
        mine = [row for row in open_events if row["subcategory"] in names]
        for kind, games in (("", True), ("sport", True), ("futures", False)):
            rows = [row for row in mine if bool(row.get("gameId")) == games]
            observed += len(rows)
            query = {"type": kind} if kind else {}
            answer = evening.read(f"{path}/events", **query)
            listed = evening.rows(f"{path}/events", "events", **query)
            assert slugs(listed) == slugs(rows), (path, kind)
            assert (answer["type"], answer["typeTitle"]) == (
                kind or "sport",
                "Games" if games else "Futures",
            )
            assert (answer["section"], answer["sectionTitle"]) == ("general", "All")
        trending = evening.read(f"{path}/events", section="trending")
        games = [row for row in mine if row.get("gameId")]
        assert (trending["section"], trending["sectionTitle"]) == ("trending", "Trending")
        assert slugs(trending["events"]) == ordered(games, [EVENT_KEYS["volume"]], True)
        if games:
            excluded = evening.read(f"{path}/events", excludeEventId=games[0]["id"], limit=3)
            assert slugs(excluded["events"]) == slugs(games[1:4])
        assert (answer.get("league") or answer.get("sport"))["slug"] == path.rpartition("/")[2]
    assert observed > 60
    text = "type is sport or futures, section is general or trending"
    for query in ({"type": "x"}, {"section": "x"}):
        answer = evening.gateway.get("/v2/leagues/nba/events", params=query)
        assert (answer.status, answer.json()["message"]) == (400, text)


def test_events_of_tags(evening: Evening) -> None:
    names = sorted({name for row in evening.events for name in slugs_of_tags(row)})
    for name in names[::4]:
        tagged = [row for row in evening.events if name in slugs_of_tags(row)]
        for query in (
            {},
            {"active": "true"},
            {"closed": "true"},
            {"active": "false", "closed": "true"},
        ):
            active = query.get("active", "true") == "true"
            closed = query.get("closed", "false") == "true"
            rows = [row for row in tagged if row["active"] == active and row["closed"] == closed]
            result = evening.ids(f"/v2/tags/{name}/events", "events", **query)
            assert result == ordered(rows, [EVENT_KEYS["volume"]], True), (name, query)


def test_series_teams_and_players(evening: Evening) -> None:
    series = evening.rows("/v1/series", "series")

    def hits(**query: Any) -> list[str]:
        return evening.ids("/v1/series", "series", **query)

    assert hits(slug=series[2]["slug"]) == [series[2]["slug"]]
    for name in ("active", "closed", "archived"):
        for value in (True, False):
            assert hits(**{name: text(value)}) == slugs(
                series, lambda row, n=name, v=value: row.get(n, False) is v
            )
    for recurrence in {value_of(item, "recurrence") for item in series}:
        expected = slugs(series, lambda row, r=recurrence: r in ("", value_of(row, "recurrence")))
        assert hits(recurrence=recurrence) == expected
    for name, key in (
        ("id", lambda row: int(row["id"])),
        ("slug", lambda row: row["slug"]),
        ("title", lambda row: row["title"]),
        ("createdAt", lambda row: row["createdAt"]),
    ):
        for direction in ("asc", "desc"):
            assert hits(orderBy=name, orderDirection=direction) == ordered(
                series, [key], direction == "desc"
            )
    teams = evening.rows("/v1/sports/teams", "teams")
    for name in ("league", "name", "abbreviation", "id"):
        for value in some(teams, lambda row, name=name: row[name], 3):
            rows = evening.read("/v1/sports/teams", limit=2000, **{f"filters.{name}": value})[
                "teams"
            ]
            assert rows == [row for row in teams if row[name] == value]
        for direction in ("asc", "desc"):
            rows = evening.read(
                "/v1/sports/teams", limit=2000, orderBy=name, orderDirection=direction
            )
            assert rows["teams"] == sorted(
                teams, key=lambda row, name=name: row[name], reverse=direction == "desc"
            )
    check_teams_of_vendors(evening, teams)
    players = evening.rows("/v1/sports/players", "players")
    assert players
    for name, field in (("league", "league"), ("name", "name"), ("id", "id"), ("teamId", "teamId")):
        for value in some(players, lambda row, field=field: row[field], 3):
            rows = evening.read("/v1/sports/players", **{f"filters.{name}": value})["players"]
            assert rows == [row for row in players if row[field] == value][:100]


def check_teams_of_vendors(evening: Evening, teams: list[Row]) -> None:
    ids = [
        (provider_id["provider"], provider_id["providerId"], team)
        for team in teams
        for provider_id in team["providerIds"]
    ]
    path = "/v1/sports/teams/provider"
    every = evening.read(path)["teams"]
    assert {name: team["id"] for name, team in every.items()} == {
        name: team["id"] for _, name, team in ids
    }
    for vendor, name, team in ids[::31]:
        assert set(evening.read(path, teamIds=name)["teams"]) == {name}
        assert set(evening.read(path, teamIds=name, provider=vendor)["teams"]) == {name}
        mine = evening.read(path, provider=vendor, league=team["league"])["teams"]
        assert set(mine) == {
            other for by, other, item in ids if by == vendor and item["league"] == team["league"]
        }
        assert mine[name]["name"] == team["name"]
    assert evening.read(path, league="none")["teams"] == {}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/v2/leagues/none", "league not found: none"),
        ("/v2/leagues/none/events", "league not found: none"),
        ("/v2/sports/none", "sport not found: none"),
        ("/v2/sports/none/events", "sport not found: none"),
        ("/v2/tags/none/events", "tag not found: none"),
        ("/v2/tags/slug/none", "tag not found: none"),
        ("/v2/tags/999999", "tag not found: 999999"),
        ("/v1/series/id/999999", "series not found: 999999"),
        ("/v1/events/999999", "event not found: 999999"),
        ("/v1/events/slug/none", "event not found: none"),
        ("/v1/market/id/999999", "market not found: 999999"),
        ("/v1/market/slug/none", "market not found: none"),
        ("/v1/markets/none/settlement", "Settlement not found for market none"),
        ("/v1/partners/acme/events/none", "event not found: acme/none"),
    ],
)
def test_what_is_not_there_is_named(evening: Evening, path: str, text: str) -> None:
    answer = evening.gateway.get(path)
    assert (answer.status, answer.json()["message"]) == (404, text)


# ---- one by one


def test_events_and_markets_are_the_same_one_by_one(evening: Evening) -> None:
    for row in evening.events[::9]:
        assert evening.read(f"/v1/events/{row['id']}")["event"] == row
        assert evening.read(f"/v1/events/slug/{row['slug']}")["event"] == row
    for market in evening.markets[::37]:
        single = evening.read(f"/v1/market/id/{market['id']}", "market")
        assert evening.read(f"/v1/market/slug/{market['slug']}", "market") == single
        quotes, listed = ([row.pop("marketSides")] for row in (single, dict(market)))
        assert [side["quote"] for side in quotes[0]] == [side["quote"] for side in listed[0]]
        assert single == {key: value for key, value in market.items() if key != "marketSides"}
    for tag in evening.rows("/v2/tags", "tags")[::7]:
        assert evening.read(f"/v2/tags/{tag['id']}")["tag"] == tag
        assert evening.read(f"/v2/tags/slug/{tag['slug']}")["tag"] == tag
    for league in evening.rows("/v2/leagues", "leagues")[::5]:
        assert evening.read(f"/v2/leagues/{league['slug']}")["league"] == league
    for item in evening.rows("/v1/series", "series")[::4]:
        assert evening.read(f"/v1/series/id/{item['id']}")["series"] == item
    for sport in evening.read("/v2/sports")["sports"]:
        assert evening.read(f"/v2/sports/{sport['slug']}")["sport"]["id"] == sport["id"]
    tags_listed = evening.read("/v2/tags")["tags"]
    assert evening.read("/v2/tags", limit=3, offset=2)["tags"] == tags_listed[2:5]
    leagues = evening.rows("/v2/leagues", "leagues")
    assert evening.read("/v2/leagues", limit=500)["leagues"] == leagues[:50]
    assert evening.read("/v2/leagues", limit=2, offset=1)["leagues"] == leagues[1:3]
    assert evening.read("/v2/leagues")["leagues"] == leagues[:50]


def test_an_event_sums_up_its_markets(evening: Evening) -> None:
    for row in evening.events:
        markets = row["markets"]
        assert row["active"] == any(market["active"] for market in markets) or not markets
        assert row["closed"] == all(market["closed"] for market in markets) or not markets
        for name in ("volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr"):
            assert value_of(row, name) == pytest.approx(sum(market[name] for market in markets))
        combinable = [market for market in markets if market["comboEnabled"]]
        lines = [
            item
            for item in combinable
            if item["metadata"].get("outcomeType") in ("spreads", "totals")
        ]
        assert row["combos"] == {
            "enabled": bool(combinable),
            "numMarkets": len(combinable),
            "numSpreadsAndTotalsMarkets": len(lines),
        }
        changes = [market["updatedAt"] for market in markets]
        assert not changes or row["updatedAt"] >= max(changes)
        for market in markets:
            assert market["exchangeSyncedAt"] == market["updatedAt"]


def test_an_event_is_shaped_as_asked(evening: Evening) -> None:
    row = next(
        row for row in evening.events if len({m["comboEnabled"] for m in row["markets"]}) == 2
    )
    for path in (f"/v1/events/{row['id']}", f"/v1/events/slug/{row['slug']}"):
        only = evening.read(path, comboEnabledOnly="true")["event"]
        combinable = [market for market in row["markets"] if market["comboEnabled"]]
        assert only["markets"] == combinable
        grouped = evening.read(path, groups="true")["event"]
        slugs_by_type: dict[str, list[str]] = {}
        for market in row["markets"]:
            kind = market["metadata"].get("outcomeType")
            slugs_by_type.setdefault(kind, []).append(market["slug"])
        assert [group["marketSlugs"] for group in grouped["marketGroups"]] == [
            *slugs_by_type.values()
        ]
        assert [group["type"] for group in grouped["marketGroups"]] == [*slugs_by_type]
    counted = evening.read("/v1/events", id=row["id"], includeComboMarketCounts="true")["events"][0]
    assert counted["marketCounts"] == {kind: len(names) for kind, names in slugs_by_type.items()}


def test_a_trade_counts_for_its_day_week_month_and_year(evening: Evening) -> None:
    by_slug = {market["slug"]: market for market in evening.markets}
    games = evening.core.reference.generated
    old, new, *_ = games.symbols_of(evening.far[0])
    names = ("volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr")
    assert [by_slug[old][name] for name in names] == pytest.approx([2.8, 0, 2.8, 2.8, 2.8])
    assert [by_slug[new][name] for name in names] == pytest.approx([1.8] * 5)
    event = next(row for row in evening.events if row["slug"] == evening.far[0])
    assert event["openInterest"] == 10


def test_the_state_of_a_market_is_told_in_three_ways(evening: Evening) -> None:
    statuses = {
        "OPEN": ("MARKET_STATUS_OPEN", True, False),
        "PREOPEN": ("MARKET_STATUS_OPEN", True, False),
        "MATCH_AND_CLOSE_AUCTION": ("MARKET_STATUS_OPEN", True, False),
        "SUSPENDED": ("MARKET_STATUS_HALTED", True, False),
        "HALTED": ("MARKET_STATUS_HALTED", True, False),
        "CLOSED": ("MARKET_STATUS_CLOSED", False, True),
        "EXPIRED": ("MARKET_STATUS_RESOLVING", False, True),
        "TERMINATED": ("MARKET_STATUS_RESOLVED", False, True),
        "PENDING": ("MARKET_STATUS_UNSPECIFIED", False, False),
    }
    observed = set()
    for market in evening.markets:
        status, active, closed = statuses[market["exchangeStatus"]]
        paid = evening.gateway.get(f"/v1/markets/{market['slug']}/settlement")
        final = paid.status == 200
        observed.add((market["exchangeStatus"], final))
        if final:
            assert (market["status"], market["active"], market["closed"]) == (
                "MARKET_STATUS_RESOLVED",
                False,
                True,
            )
            price = float(paid.json()["settlement"])
            sides = {side["long"]: side for side in market["marketSides"]}
            assert float(sides[True]["price"]) == price
            assert float(sides[False]["price"]) == 1 - price
        else:
            assert market.get("status", "MARKET_STATUS_UNSPECIFIED") == status
            assert (market["active"], market["closed"]) == (active, closed)
        assert all(
            side["tradable"] == (market["exchangeStatus"] == "OPEN")
            for side in market["marketSides"]
        )
    assert len(observed) >= 5


def test_quotes_and_prices_of_sides_are_those_of_the_book(evening: Evening) -> None:
    symbol = evening.core.reference.generated.symbols_of(evening.far[8])[0]
    market = evening.read(f"/v1/market/slug/{symbol}")["market"]
    assert (market["bestBidQuote"]["value"], market["bestAskQuote"]["value"]) == (0.2, 0.7)
    sides = {side["long"]: side["quote"]["value"] for side in market["marketSides"]}
    assert sides == {True: pytest.approx(0.7), False: pytest.approx(0.8)}
    assert market["orderPriceMinTickSize"] > 0 and market["minimumTradeQty"] > 0
    assert market["feeCoefficient"] == 0.06


# ---- price history


def test_points_of_a_price_history(evening: Evening) -> None:
    games = evening.core.reference.generated
    symbol = games.symbols_of(evening.far[0])[1]
    sim = evening.simulation
    (trade,) = [result for result in sim.exchange.trading.trades if result.symbol == symbol]
    path, now = "/v1/price-history", sim.now // NS_PER_S
    for interval, reach in (
        ("INTERVAL_1H", 3600),
        ("INTERVAL_6H", 6 * 3600),
        ("INTERVAL_1D", 86400),
        ("INTERVAL_1W", 7 * 86400),
        ("INTERVAL_1M", 30 * 86400),
    ):
        points = evening.read(path, symbol=symbol, fixedInterval=interval, fidelity=10)["history"]
        at = -(-trade.at // NS_PER_S // 600) * 600
        assert [point["timestamp"] for point in points] == [at] * (now - reach <= at <= now)
        assert {(point["longPrice"], point["shortPrice"]) for point in points} <= {(0.6, 0.4)}
    at = trade.at // NS_PER_S
    window = {"timestamp.startTimestamp": at - 120, "timestamp.endTimestamp": at + 600}
    points = evening.read(path, symbol=symbol, fidelity=1, **window)["history"]
    assert [point["timestamp"] for point in points] == [-(-at // 60) * 60]
    assert evening.read(path, symbol="none", fixedInterval="INTERVAL_1H", fidelity=1) in (
        {},
        {"history": []},
    )
    listed = evening.read(path, symbol=symbol, fixedInterval="INTERVAL_ALL", fidelity=600)[
        "history"
    ]
    assert len(listed) == len([s for s in range(at, now + 1) if s % 36000 == 0])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "symbol is required"),
        ({"symbol": "x"}, "fidelity is required"),
        ({"symbol": "x", "fidelity": 0}, "fidelity is required"),
        (
            {"symbol": "x", "fidelity": 1},
            "give either fixedInterval or timestamp.startTimestamp and timestamp.endTimestamp",
        ),
        (
            {
                "symbol": "alone",
                "fidelity": 1,
                "timestamp.startTimestamp": 9,
                "timestamp.endTimestamp": 8,
            },
            "timestamp.startTimestamp must lie before timestamp.endTimestamp and before now",
        ),
        (
            {
                "symbol": "alone",
                "fidelity": 1,
                "timestamp.startTimestamp": -1,
                "timestamp.endTimestamp": 8,
            },
            "timestamp.startTimestamp must lie before timestamp.endTimestamp and before now",
        ),
    ],
)
def test_a_history_that_cannot_be_is_refused(
    evening: Evening, query: dict[str, Any], text: str
) -> None:
    answer = evening.gateway.get("/v1/price-history", params=query)
    assert (answer.status, answer.json()["message"]) == (400, text)
