"""Markets as the gateway shows them when they are listed: futures and questions of a row, and the
message and the metadata that follow from an instrument and its facts.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from sim.contract.messages import gateway_v1 as wire
from sim.core.model.collateral import EventOutcome, Related
from sim.core.model.index_conditions import Family, IndexCondition
from sim.core.model.instrument import Instrument
from sim.kernel.instants import DAY, HOUR, Instant, parse_instant
from sim.world.reference.games import mid_of, terms_of
from sim.world.reference.market_pair import (
    Facts,
    PairSide,
    market_of,
    metadata_of,
    new_event,
    with_metadata,
)
from sim.world.reference.reference import Reference
from sim.world.reference.slate import add_future, add_topic

NOW = parse_instant("2026-09-08T14:00:00-04:00")
CREATED = parse_instant("2026-03-01T12:00:00-05:00")  # at noon in New York
FUTURE: dict[str, Any] = {
    "slug": "champion-{year}",
    "title": "Champion {year}",
    "league": "nba",
    "end": "2027-06-20",
    "product": "tec",
    "teams": ["BOS", "NYK", "OKC"],
    "created": "2026-03-01",
}
QUESTION: dict[str, Any] = {
    "slug": "rate-{month}-{year}",
    "title": "Rate in {Month} {year}",
    "category": "economics",
    "tags": ["economics", "fed"],
    "series": "rates-{year}",
    "end": "2026-09-16T14:00:00-04:00",
    "created": "2026-03-01",
    "product": "ecc",
    "market_type": "event",
    "outcomes": [["hold", "No change", "0.62"], ["cut", "Cut", ""]],
}
ON_INDEX = QUESTION | {
    "asset": "crypto:btc",
    "family": "strike",
    "horizon": "1w",
    "levels": ["60000", "65000.5"],
}


# ---- futures and questions


def test_a_future_has_a_market_for_each_contender() -> None:
    reference = Reference()
    instruments = add_future(FUTURE, reference, NOW, 0)
    (event,) = reference.events
    end = parse_instant("2027-06-20")
    tags = reference.tags_of("sports", "futures", "basketball", "nba")
    assert len(tags) == 4
    assert event == wire.Event(
        id=20_001,
        slug="champion-2027",
        title="Champion 2027",
        description="Champion 2027. Resolves from official sources.",
        category="sports",
        subcategory="nba",
        tags=tags,
        primary_tag=tags[0],
        active=True,
        start_date=CREATED,
        creation_date=CREATED,
        created_at=CREATED,
        updated_at=CREATED,
        start_time=end,
        end_date=end,
        event_date="2027-06-20",
        markets=reference.markets,
    )
    assert [instrument.symbol for instrument in instruments] == [
        f"tec-champion-2027-{name}" for name in ("bos", "nyk", "okc")
    ]
    for rank, (name, item, market) in enumerate(
        zip(FUTURE["teams"], instruments, reference.markets, strict=True)
    ):
        team = reference.team("nba", name)
        scale, tick, qty_scale, minimum = terms_of(item.symbol, NOW)
        assert structs.replace(item, metadata={}) == Instrument(
            symbol=item.symbol,
            description=f"Champion 2027: {team.name}?",
            product_id="tec",
            price_scale=scale,
            tick=tick,
            qty_scale=qty_scale,
            min_qty=minimum,
            price_low=tick,
            price_high=scale - tick,
            created=CREATED,
            start=CREATED,
            expiration=end,
            termination=end + 7 * DAY,
            event="champion-2027",
            market_type="futures",
            category="sports",
            subcategory="nba",
            related=Related("champion-2027/futures", EventOutcome.MUTUALLY_EXCLUSIVE, rank),
        )
        assert item.metadata["event_id"] == "20001"
        assert item.metadata["market_sport_type"] == "futures"
        assert (market.id, market.slug) == (str(500_001 + rank), item.symbol)
        league = reference.league_by_slug["nba"].name
        assert market.metadata == {"outcomeType": "futures", "tournament": league}
        assert [side.team for side in market.market_sides] == [team, None]
        assert [side.description for side in market.market_sides] == [team.name, "No"]
    # one of many contenders: 0.04, and more for longer names
    assert [market.market_sides[0].price for market in reference.markets] == [
        "0.18",
        "0.19",
        "0.16",
    ]


def test_a_question_has_a_market_for_each_answer() -> None:
    reference = Reference(empty=True)
    instruments = add_topic(QUESTION | {"quoted": True}, reference, NOW, 0)
    (event,) = reference.events
    end = parse_instant("2026-09-16T14:00:00-04:00")
    assert (event.slug, event.title) == ("rate-september-2026", "Rate in September 2026")
    assert (event.category, event.subcategory, event.series_slug) == ("economics", "", "rates-2026")
    assert [tag.slug for tag in event.tags] == ["economics", "fed"]
    assert event.primary_tag == event.tags[0] == reference.tag_by_slug["economics"]
    assert (event.featured, event.start_time, event.end_date) == (True, end, end)
    hold, cut = reference.markets
    assert [side.price for side in hold.market_sides] == ["0.62", "0.38"]
    assert cut.market_sides[0].price == f"{float(mid_of(cut.slug))}", "any price, without one"
    for rank, (item, market) in enumerate(zip(instruments, reference.markets, strict=True)):
        assert item.related == Related(
            "rate-september-2026/event", EventOutcome.MUTUALLY_EXCLUSIVE, rank
        )
        assert (item.market_type, item.category, item.series) == (
            "event",
            "economics",
            "rates-2026",
        )
        assert item.index_condition is None and market.asset_price_terms is None
        assert market.tags == event.tags
        assert market.question == item.description
        assert (market.sports_market_type, market.metadata) == ("", {"outcomeType": "event"})
        assert market.outcomes == f'["{("No change", "Cut")[rank]}","No"]'


def test_an_event_is_named_after_its_end_or_the_day_that_it_is_about() -> None:
    """A date without an hour is its noon, so it moves by whole days when clocks change."""
    for row, shift, slug in (
        (QUESTION, 0, "rate-september-2026"),
        (QUESTION, 14 * DAY, "rate-september-2026"),
        (QUESTION, 15 * DAY, "rate-october-2026"),
        (QUESTION | {"about": "2026-08-01"}, 0, "rate-august-2026"),
        (QUESTION | {"about": "2026-08-31"}, 0, "rate-august-2026"),
        (QUESTION | {"about": "2026-08-31"}, DAY, "rate-september-2026"),
        (QUESTION | {"about": "2026-09-01"}, 91 * DAY, "rate-december-2026"),
        (QUESTION | {"end": "2026-09-01T00:00:00-04:00"}, 0, "rate-september-2026"),
        (QUESTION | {"end": "2026-08-31T23:59:59-04:00"}, 0, "rate-august-2026"),
    ):
        reference = Reference(empty=True)
        instruments = add_topic(row, reference, NOW, shift)
        (event,) = reference.events
        assert event.slug == slug
        assert event.created_at == CREATED + shift
        assert (event.end_date or 0) - shift == parse_instant(row["end"])
        assert {instrument.expiration for instrument in instruments} == {event.end_date}
        assert {instrument.created for instrument in instruments} == {CREATED + shift}
    future = Reference()
    add_future(FUTURE, future, NOW, 365 * DAY)
    assert future.events[0].slug == "champion-2028"
    assert future.events[0].featured is False


def test_answers_of_a_ladder_follow_from_each_other() -> None:
    instruments = add_topic(QUESTION | {"ladder": True}, Reference(empty=True), NOW, 0)
    assert [instrument.related for instrument in instruments] == [
        Related("rate-september-2026/event", EventOutcome.DIRECTIONAL, rank) for rank in (0, 1)
    ]


@pytest.mark.parametrize(
    ("fields", "levels"),
    [
        ({}, [{"strike": 6_000_000_000_000}, {"strike": 6_500_050_000_000}]),
        (
            {"family": "range", "levels": [["", "62000"], ["62000", "66000"]]},
            [
                {"upper": 6_200_000_000_000},
                {"lower": 6_200_000_000_000, "upper": 6_600_000_000_000},
            ],
        ),
        (
            {"family": "range", "levels": [["1", ""], ["", "2"]]},
            [{"lower": 10**8}, {"upper": 2 * 10**8}],
        ),
        ({"family": "hit"}, [{"strike": 6_000_000_000_000}, {"strike": 6_500_050_000_000}]),
    ],
)
def test_a_market_on_an_index_pays_by_its_levels(
    fields: dict[str, Any], levels: list[dict[str, int]]
) -> None:
    reference = Reference(empty=True)
    row = ON_INDEX | fields
    instruments = add_topic(row, reference, NOW, 0)
    end, family = parse_instant(row["end"]), Family(row["family"])
    for item, market, level in zip(instruments, reference.markets, levels, strict=True):
        begins = CREATED if family is Family.HIT else 0
        bare = IndexCondition(asset="crypto:btc", family=family, begins=begins, ends=end)
        assert item.index_condition == structs.replace(bare, **level)
        assert item.metadata["crypto_horizon"] == "1w"
        assert item.metadata["instrument_product_series"] == "rates-2026"
        assert ("interval_start" in item.metadata) == bool(begins)
        assert ("crypto_range_lower" in item.metadata) == ("lower" in level)
        terms = market.asset_price_terms
        assert terms is not None
        assert (terms.horizon, terms.window_start, terms.window_end) == ("1w", begins or None, end)
        assert (bool(terms.strike), bool(terms.range_upper)) == (
            "strike" in level,
            "upper" in level,
        )


# ---- a market from its instrument and its facts

BOSTON = wire.Team(id=7, name="Boston", abbreviation="BOS", league="nba", logo="b.png", color_primary="#123456", image_display_type=wire.ImageDisplayType.IMAGE_DISPLAY_TYPE_LOGO)  # fmt: skip
DALLAS = wire.Team(id=9, name="Dallas", abbreviation="DAL", league="nba")
LISTED = parse_instant("2026-09-01T00:00:00-04:00")
ENDS = parse_instant("2026-09-09T00:00:00-04:00")
GAME = Instrument(
    symbol="aec-x",
    description="Does Boston win?",
    product_id="aec",
    price_scale=1000,
    tick=5,
    qty_scale=100,
    min_qty=10,
    created=LISTED,
    start=LISTED + HOUR,
    expiration=ENDS,
    event="x",
    market_type="moneyline",
    category="sports",
    subcategory="nba",
    series="nba-2026",
    metadata={"more": "yes"},
)
TAG = wire.Tag(id="3", slug="nba")
FACTS = Facts(
    question="Boston?",
    long=PairSide("Boston", BOSTON),
    short=PairSide("Dallas", DALLAS),
    sports_market_type="winner",
    line="-1.5",
    mid="0.62",
    home=DALLAS,
    away=BOSTON,
    tournament="NBA",
    game_start=ENDS - 6 * HOUR,
    tags=(TAG,),
)


def test_a_market_has_the_terms_of_its_instrument_and_its_facts() -> None:
    artwork = wire.ImageDisplayType.IMAGE_DISPLAY_TYPE_ARTWORK
    market = market_of(501_234, GAME, FACTS, NOW)
    kind = wire.MarketSideType.MARKET_SIDE_TYPE_INSTRUMENT
    sides = [
        wire.MarketSide(
            id=number,
            identifier="aec-x",
            created_at=LISTED,
            updated_at=LISTED,
            description=team.name,
            price=price,
            market_side_type=kind,
            market_id=501_234,
            team_id=team.id,
            long=long,
            tradable=True,
            team=team,
            participant_id=f"nba-{team.abbreviation.lower()}",
        )
        for number, team, price, long in (
            ("1002468", BOSTON, "0.62", True),
            ("1002469", DALLAS, "0.38", False),
        )
    ]
    assert market == wire.Market(
        id="501234",
        question="Boston?",
        slug="aec-x",
        start_date=LISTED + HOUR,
        end_date=ENDS,
        category="sports",
        description="Does Boston win?",
        market_type="moneyline",
        created_at=LISTED,
        updated_at=LISTED,
        game_start_time=ENDS - 6 * HOUR,
        sports_market_type="winner",
        sports_market_type_v2="SPORTS_MARKET_TYPE_MONEYLINE",
        outcomes='["Boston","Dallas"]',
        outcome_prices='["0.62","0.38"]',
        title="Boston?",
        title_short="Boston",
        rules_disclaimer="A sandbox market: it pays nothing outside this simulation.",
        combo_enabled=True,
        order_price_min_tick_size=0.005,
        minimum_trade_qty=0.1,
        line=-1.5,
        sort_order=234,
        market_sides=sides,
        tags=[TAG],
        metadata={"outcomeType": "moneyline", "tournament": "NBA"},
        active=True,
        closed=False,
        status=wire.MarketStatus.MARKET_STATUS_OPEN,
        image="b.png",
        image_display_type=wire.ImageDisplayType.IMAGE_DISPLAY_TYPE_LOGO,
        color="#123456",
        dark_color="#123456",
    )
    topic = structs.replace(GAME, category="culture", market_type="totals")
    plain = Facts(question="?", long=PairSide("Yes"), short=PairSide("No"))
    market = market_of(1, topic, plain, NOW)
    assert (market.sports_market_type_v2, market.combo_enabled) == ("", False)
    assert (market.line, market.subject_id, market.metadata) == (None, 0, {"outcomeType": "totals"})
    assert [(side.team_id, side.price) for side in market.market_sides] == [(0, "0.5"), (0, "0.5")]
    assert (market.color, market.dark_color) == ("#111827", "#F9FAFB")
    assert (market.image, market.image_display_type) == ("", artwork)


def test_a_market_of_a_player_shows_the_player_and_the_colours_of_the_team() -> None:
    player = wire.Subject(id=31, image="p.png")
    facts = structs.replace(FACTS, subject=player)
    market = market_of(1, GAME, facts, NOW)
    assert (market.subject_id, market.subject, market.image) == (31, player, "p.png")
    assert market.color == "#123456"


@pytest.mark.parametrize(
    ("kind", "v2", "combo"),
    [
        ("moneyline", "MONEYLINE", True),
        ("spreads", "SPREAD", True),
        ("totals", "TOTAL", True),
        ("props", "PROP", False),
        ("futures", "FUTURE", False),
        ("drawable_outcome", "DRAWABLE_OUTCOME", False),
    ],
)
def test_some_types_of_sports_markets_may_be_legs_of_combos(
    kind: str, v2: str, combo: bool
) -> None:
    market = market_of(1, structs.replace(GAME, market_type=kind), FACTS, NOW)
    assert market.sports_market_type_v2 == f"SPORTS_MARKET_TYPE_{v2}"
    assert market.combo_enabled is combo


@pytest.mark.parametrize(
    ("expiration", "now", "closed"), [(ENDS, ENDS - 1, False), (ENDS, ENDS, True), (0, ENDS, False)]
)
def test_a_market_that_is_listed_after_its_expiration_is_closed(
    expiration: Instant, now: Instant, closed: bool
) -> None:
    market = market_of(1, structs.replace(GAME, expiration=expiration), FACTS, now)
    resolved, is_open = (
        wire.MarketStatus.MARKET_STATUS_RESOLVED,
        wire.MarketStatus.MARKET_STATUS_OPEN,
    )
    assert (market.active, market.closed) == (not closed, closed)
    assert market.status is (resolved if closed else is_open)


# ---- metadata


def test_metadata_follow_from_instrument_and_facts() -> None:
    assert metadata_of(GAME, FACTS, 20_001) == {
        "clearing_sym": "AEC",
        "event_category": "SPR",
        "event_id": "20001",
        "event_product_id": "aec-nba-2026",
        "event_series": "nba",
        "event_start_time": "2026-09-08 22:00:00+00",
        "event_subcategory": "nba",
        "instrument_product": "moneyline",
        "instrument_rules": "Pays one dollar per contract if: Boston?",
        "long_participant_id": "nba-bos",
        "long_participant_name": "Boston",
        "short_participant_id": "nba-dal",
        "short_participant_name": "Dallas",
        "market_sport_type": "winner",
        "outcome_strike": "-1.5",
        "outcome_type": "moneyline",
        "participant_type": "team",
        "product_id": "aec",
        "tournament_name": "NBA",
        "home_team_name": "Dallas",
        "away_team_name": "Boston",
        "more": "yes",
    }
    named = with_metadata(GAME, FACTS, wire.Event(id=5))
    assert named.metadata == metadata_of(GAME, FACTS, 5)
    assert structs.replace(named, metadata=GAME.metadata) == GAME


@pytest.mark.parametrize(
    ("fields", "facts", "missing"),
    [
        ({}, {"home": None}, {"home_team_name", "away_team_name"}),
        ({}, {"away": None}, {"home_team_name", "away_team_name"}),
        ({"category": "politics"}, {}, {"home_team_name", "away_team_name", "tournament_name"}),
        ({}, {"line": None, "tournament": ""}, {"outcome_strike", "tournament_name"}),
        (
            {"created": parse_instant("2026-07-21T00:00:00-04:00") - 1},
            {},
            {"home_team_name", "away_team_name", "tournament_name"},
        ),
        ({"created": parse_instant("2026-07-21T00:00:00-04:00")}, {}, set()),
        ({"subcategory": ""}, {}, {"event_subcategory"}),
    ],
)
def test_metadata_without_a_value_are_left_out(
    fields: dict[str, Any], facts: dict[str, Any], missing: set[str]
) -> None:
    """S2.6-5: sides have names where the instrument was created from 2026-07-21 on."""
    instrument = structs.replace(GAME, **fields)
    result = metadata_of(instrument, structs.replace(FACTS, **facts), 1)
    assert set(metadata_of(GAME, FACTS, 1)) - set(result) == missing
    assert all(result.values())


@pytest.mark.parametrize(
    ("fields", "product", "series"),
    [
        ({"series": ""}, "aec-nba", "nba"),
        ({"subcategory": ""}, "aec-nba-2026", "nba-2026"),
        ({"series": "", "subcategory": ""}, "aec-sports", None),
    ],
)
def test_a_product_of_an_event_is_named_after_its_series_or_what_stands_for_it(
    fields: dict[str, str], product: str, series: str | None
) -> None:
    result = metadata_of(structs.replace(GAME, **fields), FACTS, 1)
    assert (result["event_product_id"], result.get("event_series")) == (product, series)


def test_outcomes_without_a_team_or_a_game_say_so() -> None:
    plain = Facts(question="?", long=PairSide("Very likely"), short=PairSide("No"))
    result = metadata_of(structs.replace(GAME, category="other"), plain, 1)
    assert (result["participant_type"], result["long_participant_id"]) == ("outcome", "very-likely")
    assert result["event_start_time"] == "2026-09-09 04:00:00+00", "the expiration"
    assert result["event_category"] == "OTH"


def test_a_new_event_refers_to_the_last_of_its_tags() -> None:
    event = new_event(LISTED, [TAG, TAG, wire.Tag(id="4")], slug="x")
    assert (event.active, event.slug, event.primary_tag) == (True, "x", wire.Tag(id="4"))
    dates = (event.start_date, event.creation_date, event.created_at, event.updated_at)
    assert dates == (LISTED,) * 4
    assert new_event(LISTED, []).primary_tag is None
