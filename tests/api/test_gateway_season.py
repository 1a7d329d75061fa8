"""Lists, filters, order, pages and search over the season, whose markets are not made for them: the
same answers as from looking at everything.
"""

from __future__ import annotations

from typing import Any

import pytest
from evening import some
from gateway_filters import LISTS, check_list, slugs, sorted_by, text
from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.gateway.event_views import dormant_state
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import MINUTE, NS_PER_S, Instant, format_instant, parse_instant
from tests.kit import Desk, begin

GAMES = 90


class Whole(Desk):
    """A world with a small season, something of everything having happened in it, and all its
    events as the gateway shows them one by one.
    """

    def __init__(self, *, games: int = GAMES, later: str = "0s") -> None:
        text = (
            'name: season\nextends: quickstart\nlimits: {public: "off"}\nworld: {games:'
            f" {games}, automated_windows: false}}\n"
        )
        super().__init__(Simulation(load_scenario(text)))
        games = self.games = self.core.reference.generated
        self.touched = [games.symbols_of(games.slugs[number])[0] for number in (50, 60, 75)]
        for by, side in (("maker", "buy"), ("taker", "sell")):
            self.place_as(by, self.touched[0], side, "0.40", 10)
        self.move(self.touched[1], "HALTED")
        score = {"home_score": 1, "away_score": 0, "period": "T3", "live": True}
        self.operate("event.update", games.slugs[75], **score)
        self.listed("by-hand", event=games.slugs[70], question="Will it rain?")
        self.advance(later)
        slugs = [event.slug for event in self.core.reference.events]
        slugs[self.core.reference.base :] = []
        self.events = [
            self.read(f"/v1/events/slug/{slug}")["event"] for slug in [*slugs, *games.slugs]
        ]
        self.markets = [
            market
            for event in self.events
            for market in event["markets"]
            if market["slug"] != "by-hand"
        ]
        self.markets.append(self.read("/v1/market/slug/by-hand")["market"])


@pytest.fixture(scope="module", params=["0s", "12d"])
def entire(request: pytest.FixtureRequest) -> Whole:
    """The world at its start, and when a third of it has been played."""
    return Whole(later=request.param)


pages = st.tuples(st.integers(1, 200), st.integers(0, 300))
directions = st.sampled_from(["asc", "desc"])


@pytest.mark.spec("S4.1-10", "S4.1-11")
@pytest.mark.parametrize("kind", LISTS)
@given(data=st.data(), page=pages)
def test_a_list_is_what_looking_at_all_rows_finds(
    entire: Whole, kind: str, data: st.DataObject, page: tuple[int, int]
) -> None:
    rows, tables, query = getattr(entire, kind), LISTS[kind], dict[str, Any]()
    # tagIds adds to tagId, everything else narrows.
    fields = st.lists(
        st.sampled_from(sorted({*tables.filters} - {"tagIds"})), max_size=3, unique=True
    )
    for name in data.draw(fields):
        of, passes = tables.filters[name]
        if values := some(getattr(entire, kind), of):
            query[name] = data.draw(st.sampled_from(values))
            rows = [row for row in rows if passes(row, query[name])]
            query[name] = text(query[name])
    names = st.lists(st.sampled_from(sorted(tables.keys)), max_size=2, unique=True)
    if by := data.draw(names):
        query |= {"orderBy": by, "orderDirection": data.draw(directions)}
        rows = sorted_by(
            rows, [tables.keys[name] for name in by], query["orderDirection"] == "desc"
        )
    query |= {"limit": page[0], "offset": page[1]}
    displayed = entire.read(f"/v1/{kind}", kind, **query)
    size = min(page[0], 100 if kind == "events" else 500)
    assert slugs(displayed) == slugs(rows[page[1] : page[1] + size])


WORDS = [
    "celtics",
    "NYK",
    "spread",
    "will",
    "exceed",
    "218.5",
    "2026-09-08",
    "aec-mlb",
    "-1h",
    "first half",
    "tie-break",
    "st.",
    "rain",
    "?",
    "cowb",
    "9pt5",
]


@pytest.mark.long
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2))
def test_a_search_finds_what_reading_every_text_finds(entire: Whole, words: list[str]) -> None:
    def texts(event: dict[str, Any]) -> str:
        parts = [
            event[name]
            for name in ("title", "slug", "subtitle", "description", "category", "subcategory")
        ]
        parts += [team[name] for team in event["teams"] for name in ("name", "abbreviation")]
        parts += [market[name] for market in event["markets"] for name in ("question", "slug")]
        return "\n".join(parts).lower()

    asked = " ".join(words).lower().split()
    holding = [event for event in entire.events if all(word in texts(event) for word in asked)]
    first = [event for event in holding if all(word in event["title"].lower() for word in asked)]
    order = [*first, *(event for event in holding if event not in first)]
    result = entire.rows("/v1/search", "events", query=" ".join(words))
    assert [event["slug"] for event in result] == [event["slug"] for event in order]


def test_one_by_one_and_in_lists_they_are_the_same(entire: Whole) -> None:
    listed = {event["slug"]: event for event in entire.rows("/v1/events", "events")}
    assert listed == {event["slug"]: event for event in entire.events}
    for event in entire.events[-3:]:
        assert entire.read(f"/v1/events/{event['id']}")["event"] == event
        for market in event["markets"]:
            assert entire.read(f"/v1/market/id/{market['id']}")["market"] == market
            assert entire.read("/v1/markets", slug=market["slug"])["markets"] == [market]
            assert entire.read("/v1/markets", id=market["id"])["markets"] == [market]


def test_states_by_date_are_those_of_the_instruments(entire: Whole) -> None:
    exchange = entire.core
    for slug in entire.games.slugs:
        state = dormant_state(exchange, slug)
        for symbol in entire.games.symbols_of(slug):
            if not exchange.trading.lifecycle.is_materialised(symbol):
                assert state is exchange.trading.state(symbol)


@pytest.mark.spec("S8-8", "S2.10-1")
@pytest.mark.parametrize("played", [True, False])
def test_dates_that_fall_into_maintenance_wait_for_its_end_in_lists_too(played: bool) -> None:
    """W7: what expires at 04:10 has not expired before 06:00 Eastern; where games are not played,
    it trades until then.
    """
    text = (
        'name: season\nextends: quickstart\nlimits: {public: "off"}\nassumptions:'
        f" {{games.played: {str(played).lower()}}}\n"
    )
    simulation = Simulation(load_scenario(text))
    connection = Desk(simulation)
    games, results = simulation.exchange.reference.generated, simulation.exchange.games.plan
    begins, ends = (
        parse_instant("2026-09-10T02:00:00-04:00"),
        parse_instant("2026-09-10T06:00:00-04:00"),
    )
    expiring = [
        slug
        for slug in games.slugs
        if begins < games.dates(slug).expiration < ends
        and results.event_end(slug) < begins - 2 * MINUTE
    ]
    assert expiring
    before, meanwhile = ("CLOSED", "CLOSED") if played else ("OPEN", "SUSPENDED")
    for moment, status, closed in (
        (begins - 2 * MINUTE, before, played),
        (ends - 1, meanwhile, played),
        (ends, "EXPIRED", True),
    ):
        connection.advance_to(moment)
        for slug in expiring:
            listed = connection.gateway.read(
                "/v1/events", "events", slug=slug, closed=str(closed).lower()
            )
            assert [
                market["exchangeStatus"] for event in listed for market in event["markets"]
            ] == [status] * len(games.symbols_of(slug))
            symbol = games.symbols_of(slug)[0]
            markets = connection.gateway.read(
                "/v1/markets", "markets", slug=symbol, closed=str(closed).lower()
            )
            assert (
                [market["exchangeStatus"] for market in markets]
                == [status]
                == [simulation.exchange.trading.state(symbol).name]
            )


def test_numbers_and_symbols_that_are_not_there_are_not_found(entire: Whole) -> None:
    stem = entire.games.slugs[0]
    for path in (
        f"/v1/market/slug/aec-{stem}-nonsense",
        "/v1/market/id/1000099",
        "/v1/market/id/99999999",
        "/v1/events/39999",
        f"/v1/events/slug/{stem}x",
    ):
        assert entire.gateway.get(path).status == 404


@pytest.fixture(scope="module")
def large() -> Desk:
    """A world as large as life, of which hardly anything is made at its start."""
    world = begin("life-size")
    assert len(world.core.instruments) >= 43_000
    assert world.core.reference.generated._made.cache_info().misses < 60
    return world


def test_a_world_as_large_as_life_makes_only_what_it_shows(large: Desk) -> None:
    games = large.core.reference.generated
    created = games._made.cache_info()
    kinds = len(games.examples)  # filters on markets read one event of each kind
    assert kinds < 60
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/v1/events", {"active": "true", "limit": 10, "offset": 1500}),
        ("/v1/events", {"orderBy": "startTime", "orderDirection": "desc", "limit": 10}),
        ("/v1/markets", {"closed": "false", "limit": 50, "offset": 40_000}),
        ("/v1/markets", {"marketTypes": "totals", "tagIds": "105", "limit": 50}),
        ("/v1/search", {"query": "lakers celtics", "limit": 5}),
        ("/v2/leagues/mlb/events", {"limit": 10, "section": "trending"}),
    ]
    for path, params in asked:
        answer = large.gateway.read(path, **params)
        assert answer["markets" if path == "/v1/markets" else "events"]
    client = large.rpc(
        next(firm for firm in large.core.firms.all() if "read:marketdata" in firm.scopes)
    )
    request = wire.CreateMarketDataSubscriptionRequest(snapshot_only=True)
    assert (
        len(client.stream("MarketDataSubscriptionAPI.CreateMarketDataSubscription", request).frames)
        > 30_000
    )
    assert (
        len(client.call("RefDataAPI.ListInstruments", wire.ListInstrumentsRequest()).instruments)
        == 50
    )
    assert games._made.cache_info().misses - created.misses - kinds < 60
    assert not [symbol for symbol in large.trading.lifecycle.symbols() if games.find(symbol)]


def test_what_was_made_is_forgotten_again(large: Desk) -> None:
    games = large.core.reference.generated
    for slug in games.slugs[:500]:
        games.event(slug)
    assert games._made.cache_info().currsize == games.event.cache_info().currsize == 384


# ---- step by step

# What lists are looked at by after each step: sort keys, and parameters with a value.
LOOKS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]] = {
    "events": (
        ("volume", "volume24hr", "liquidity", "openInterest", "updatedAt"),
        (
            *((name, True) for name in ("active", "closed", "live", "ended")),
            *(("period", "FT"), ("period", "T3"), ("volumeMin", 0.01)),
            ("finishedTimestampMin", "2026-09-08T02:20:00Z"),
        ),
    ),
    "markets": (
        ("volume1wk", "updatedAt"),
        (("active", True), ("closed", True), ("volumeMin", 0.01)),
    ),
}


DUSK = parse_instant("2026-09-07T19:00:00-04:00")


class Steps(Desk):
    """A small world whose lists and events are looked at after each step."""

    def __init__(self, more: str = "", *, recurring: str = "false", start: Instant = DUSK) -> None:
        text = (
            f"name: steps\nextends: quickstart\nclock: {{start: {format_instant(start)}}}\n"
            f'limits: {{public: "off"}}\nworld: {{games: 14, automated_windows: {recurring}}}\n{more}'
        )
        super().__init__(Simulation(load_scenario(text)))
        self.games = self.core.reference.generated

    def event(self, slug: str) -> dict[str, Any]:
        return self.read(f"/v1/events/slug/{slug}")["event"]

    def statuses(self, slug: str) -> set[str]:
        return {market["exchangeStatus"] for market in self.event(slug)["markets"]}

    def trade(self, symbol: str, contracts: int) -> None:
        for by, side in (("maker", "buy"), ("taker", "sell")):
            self.place_as(by, symbol, side, "0.50", contracts)

    def look(self) -> None:
        """Lists are those of their rows, and rows are what somebody sees who never looked."""
        fresh = Desk(self.simulation.fork())
        for kind, (keys, filters) in LOOKS.items():
            rows = self.rows(f"/v1/{kind}", kind, orderDirection="asc")
            assert rows == fresh.rows(f"/v1/{kind}", kind, orderDirection="asc")
            check_list(self, kind, rows, keys, filters)


@pytest.mark.long
def test_lists_and_events_follow_each_moment_of_a_game() -> None:
    """Just before each moment and at it: nothing is shown that was kept of before."""
    steps = Steps()
    slug = steps.games.slugs[12]
    dates = steps.games.dates(slug)
    assert dates is not None
    ends = steps.core.games.plan.event_end(slug)
    for at, before, after in (
        (dates.game, ("OPEN", False, False), ("OPEN", True, False)),
        (ends, ("OPEN", True, False), ("CLOSED", False, True)),
        (ends + MINUTE, ("CLOSED", False, True), ("CLOSED", False, True)),
        (dates.expiration, ("CLOSED", False, True), ("EXPIRED", False, True)),
        (dates.termination, ("EXPIRED", False, True), ("TERMINATED", False, True)),
    ):
        for late, displayed in ((-1, before), (0, after)):
            steps.advance_to(at + late)
            event = steps.event(slug)
            assert steps.statuses(slug) == {displayed[0]}, (at, late)
            assert (event["live"], event["ended"]) == displayed[1:]
            assert (event["active"], event["closed"]) == (
                (displayed[0] == "OPEN"),
                displayed[0] != "OPEN",
            )
            paid = {market["status"] for market in event["markets"]} == {"MARKET_STATUS_RESOLVED"}
            assert paid == (at + late >= ends + MINUTE)
            steps.look()


@pytest.mark.long
def test_lists_and_events_follow_what_happens_to_a_game() -> None:
    steps = Steps()
    slug, other, third = steps.games.slugs[7:10]
    first, second, *_ = steps.games.symbols_of(slug)
    champion = steps.event("nba-champion-2027")
    steps.simulation.snapshot("untouched")
    steps.look()
    steps.trade(first, 2)
    steps.trade(champion["markets"][0]["slug"], 10)
    steps.look()
    assert (steps.event(slug)["volume"], steps.event(slug)["openInterest"]) == (1, 2)
    steps.operate("instrument.state", second, state="HALTED")
    steps.look()
    assert steps.statuses(slug) == {"OPEN", "HALTED"}
    steps.operate("event.update", other, home_score=3, away_score=1, period="T3", live=True)
    steps.look()
    assert steps.event(other)["score"] == {"home": 3, "away": 1}
    steps.operate("instrument.create", "", symbol="by-hand", event=third, state="OPEN")
    steps.look()
    listed = steps.event(third)
    assert [market["slug"] for market in listed["markets"]][-1] == "by-hand"
    steps.simulation.snapshot("listed")
    steps.operate("instrument.settle", second, price="1")
    steps.look()
    event = steps.event(slug)
    assert (event["active"], event["closed"]) == (True, False), "one of its markets has paid"
    steps.advance("25h")
    steps.look()
    event = steps.event(slug)
    assert (event["volume"], event.get("volume24hr", 0), event["closed"]) == (1, 0, True)
    event = steps.event(champion["slug"])
    assert (event["volume"], event.get("volume24hr", 0), event["active"]) == (5, 0, True)
    steps.simulation.restore("listed")
    steps.look()
    assert steps.event(third) == listed
    steps.simulation.restore("untouched")
    steps.look()
    assert steps.event(champion["slug"]) == champion


def test_a_game_that_was_over_when_the_world_began_is_paid_a_minute_after_its_end() -> None:
    slug = Steps().games.slugs[12]
    ends = Steps().core.games.plan.event_end(slug)
    steps = Steps(start=ends + MINUTE // 2)
    for at, status in ((ends + MINUTE - 1, "CLOSED"), (ends + MINUTE, "RESOLVED")):
        steps.advance_to(at)
        event = steps.event(slug)
        assert parse_instant(event["updatedAt"]) == (ends if status == "CLOSED" else at)
        assert {market["status"] for market in event["markets"]} == {f"MARKET_STATUS_{status}"}
        assert steps.statuses(slug) == {"CLOSED"}
        steps.look()


@pytest.mark.long
def test_lists_follow_recurring_markets_as_they_come_open_and_go() -> None:
    """Every five minutes one is listed and another one ends; a market opens 90 seconds before it
    begins.
    """
    steps = Steps(recurring="true")
    start = steps.now
    names = [f"btc-updown-5m-2026-09-07-{at}z" for at in ("2300", "2305")]
    for since, statuses in (
        (0, ["OPEN", "PENDING"]),
        (210 * NS_PER_S - 1, ["OPEN", "PENDING"]),
        (210 * NS_PER_S, ["OPEN", "OPEN"]),
        (300 * NS_PER_S, ["CLOSED", "OPEN"]),
    ):
        steps.advance_to(start + since)
        markets = steps.read("/v1/markets", "markets", eventSlug=names, orderDirection="asc")
        assert [market["exchangeStatus"] for market in markets] == statuses
        steps.look()


def test_while_games_are_not_played_a_result_is_known_at_the_expiration() -> None:
    steps = Steps("assumptions: {games.played: false}\n")
    slug = steps.games.slugs[12]
    dates = steps.games.dates(slug)
    result = steps.core.games.plan.final_game(slug)
    assert dates is not None and result is not None
    steps.advance_to(dates.expiration - 1)
    event = steps.event(slug)
    assert (event["ended"], event.get("score"), event["period"]) == (False, None, "NS")
    assert steps.statuses(slug) == {"OPEN"}
    steps.advance_to(dates.expiration)
    event = steps.event(slug)
    assert (event["ended"], event["period"]) == (True, "FT")
    assert event["score"] == {"home": result.home_score, "away": result.away_score}
    assert event["finishedTimestamp"] == event["endDate"] == event["updatedAt"]


@pytest.mark.parametrize(
    ("report", "score", "period"),
    [
        ({"periods": {"Q1": [7, 3], "Q2": [0, 10]}}, {"home": 7, "away": 13}, "FT"),
        ({"periods": {"S1": [6, 4], "S2": [3, 6], "S3": [5, 5]}}, {"home": 1, "away": 1}, "FT"),
        ({"periods": {"M1": [0, 1], "M2": [0, 1]}}, {"home": 0, "away": 2}, "FT"),
        ({"periods": {"Q1": [7, 3]}, "home_score": 1}, {"home": 7, "away": 3}, "FT"),
        ({"goals": [{"team": "home", "minute": 3}]}, {"home": 1, "away": 0}, "FT"),
        ({"goals": []}, {"home": 0, "away": 0}, "FT"),
        ({"periods": {"Q1": [7, 3]}, "period": "OT"}, {"home": 7, "away": 3}, "OT"),
        ({"period": "NS"}, None, "FT"),
    ],
)
def test_a_game_that_was_only_reported_as_ended_has_the_score_of_its_parts(
    report: dict[str, Any], score: dict[str, int] | None, period: str
) -> None:
    steps = Steps()
    slug = steps.games.slugs[12]
    steps.operate("event.update", slug, **report, ended=True)
    event = steps.event(slug)
    assert (event.get("score"), event["period"], event["ended"]) == (score, period, True)


def test_the_score_of_an_event_is_the_one_that_its_markets_are_paid_by() -> None:
    """§2.11, rule L29: whichever report came last, live and at the end."""
    steps = Steps()
    slug = steps.games.slugs[12]
    for report, score in (
        ({"goals": [{"team": "away", "minute": 9}], "live": True}, {"home": 0, "away": 1}),
        ({"home_score": 3, "away_score": 1}, {"home": 3, "away": 1}),
        ({"goals": [{"team": "away", "minute": 9}] * 2, "ended": True}, {"home": 0, "away": 2}),
    ):
        steps.operate("event.update", slug, **report)
        event = steps.event(slug)
        text = f"{score['home']}-{score['away']}"
        assert (event["score"], event["eventState"]["score"]) == (score, text)
