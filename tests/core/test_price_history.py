"""Index ticks and the candles made of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.market_data.assets import PRICE_SCALE, Asset, Assets, Ticker
from sim.core.market_data.candles import CANDLES_MAX, Bucket, CandleRange, align_window, candles
from sim.core.model.context import Context
from sim.core.model.index_conditions import Family, IndexCondition
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import NS_PER_S
from tests.wide_numbers import wide

SINCE = 1_780_000_000
NOW = SINCE + 30 * 86_400 + 12_345
OUTAGE = (SINCE + 5 * 86_400 + 100, SINCE + 5 * 86_400 + 8_000)


def assets(seed: int = 7, **terms: object) -> Assets:
    result = Assets(Context(seed=seed, now=NOW * NS_PER_S))
    result.add(Asset(**{"id": "crypto:x", "price": 500 * PRICE_SCALE, "since": SINCE, **terms}))  # type: ignore[arg-type]
    return result


def ticker(**terms: object) -> Ticker:
    result = assets(**terms).get("crypto:x")  # type: ignore[arg-type]
    assert result is not None
    return result


HOUR_EDGES = (NOW // 3600 * 3600, NOW // 60 * 60, NOW - 3600, NOW - 3600 * 60, NOW - 3600 * 3600)


@given(
    wide(0, NOW - 1, *HOUR_EDGES), wide(-10, 2 * NOW, 0, NOW, *HOUR_EDGES), st.sampled_from(Bucket)
)
def test_a_window_is_aligned_and_never_too_long(start: int, end: int, bucket: Bucket) -> None:
    window = align_window(start, end, bucket, NOW)
    width = bucket.width
    assert window.start % width == window.last % width == 0
    assert window.start <= window.last
    assert (window.last - window.start) // width + 1 <= CANDLES_MAX
    assert window.end <= NOW
    assert window.last <= NOW
    if 0 < end < NOW:
        assert window.end >= end


def test_the_widest_windows_are_an_hour_of_seconds_and_sixty_hours_of_minutes() -> None:
    assert align_window(0, 0, Bucket.S1, NOW) == CandleRange(NOW - 3599, NOW, NOW)
    minute = NOW // 60 * 60
    assert align_window(0, 0, Bucket.M1, NOW) == CandleRange(minute - 3599 * 60, NOW, minute)


SMALL = ticker(outages=(OUTAGE,), every=3)


@given(
    st.sampled_from(
        [
            (Bucket.S15, Bucket.S5),
            (Bucket.M1, Bucket.S5),
            (Bucket.M5, Bucket.M1),
            (Bucket.H1, Bucket.M1),
            (Bucket.D1, Bucket.M15),
        ]
    ),
    wide(SINCE - 86_400, NOW, SINCE, *OUTAGE) | st.integers(*OUTAGE),
)
def test_a_wide_candle_is_made_of_the_narrow_ones_inside_it(
    buckets: tuple[Bucket, Bucket], at: int
) -> None:
    wide, narrow = buckets
    start = at // wide.width * wide.width
    total = SMALL.summary(start, wide.width, NOW)
    parts = [
        part
        for begin in range(start, start + wide.width, narrow.width)
        if (part := SMALL.summary(begin, narrow.width, NOW)) is not None
    ]
    if total is None:
        assert not parts
        return
    assert total.open == parts[0].open
    assert total.close == parts[-1].close
    assert total.high == max(part.high for part in parts)
    assert total.low == min(part.low for part in parts)
    assert total.ticks == sum(part.ticks for part in parts)


def test_the_first_tick_has_the_given_price_and_nothing_comes_before_it() -> None:
    item = ticker()
    assert item.last(SINCE) is None
    assert item.last(SINCE + 1) == 500 * PRICE_SCALE
    assert item.summary(SINCE - 60, 60, NOW) is None or SINCE % 60
    assert (
        candles(item, align_window(SINCE - 600, SINCE - 100, Bucket.M1, NOW), Bucket.M1, NOW) == []
    )


def test_an_outage_has_no_ticks_and_carries_the_last_close() -> None:
    item = ticker(outages=(OUTAGE,))
    window = align_window(OUTAGE[0] - 60, OUTAGE[0] + 300, Bucket.M1, NOW)
    result = candles(item, window, Bucket.M1, NOW)
    silent = [candle for candle in result if candle.start >= OUTAGE[0]]
    assert all(
        candle.ticks == 0 and candle.open == candle.high == candle.low == candle.close
        for candle in silent
    )
    assert silent[0].close == item.last(OUTAGE[0])
    assert item.last(OUTAGE[1]) == item.last(OUTAGE[0])


@pytest.mark.parametrize("seed", [7, 8])
def test_the_same_seed_gives_the_same_prices_whatever_was_asked_before(seed: int) -> None:
    asked, fresh = ticker(seed=seed), ticker(seed=seed)
    for bucket in Bucket:
        candles(asked, align_window(0, 0, bucket, NOW), bucket, NOW)
    at = NOW // 300 * 300 - 3000
    assert asked.summary(at, 300, NOW) == fresh.summary(at, 300, NOW)
    assert (ticker(seed=7).summary(at, 300, NOW) == ticker(seed=8).summary(at, 300, NOW)) is False


@pytest.mark.parametrize(
    ("volatility", "days"),
    [
        (
            4_000,
            {
                1: (50_169_966_906, 51_066_099_457, 50_161_759_474, 50_662_945_006),
                2: (50_662_945_006, 51_063_094_647, 49_918_548_208, 50_781_830_266),
            },
        ),
        (200_000, {6: (40_904_219_244, 67_810_177_805, 8_180_843_848, 10_226_054_811)}),
    ],
)
def test_the_prices_of_a_seed_are_those_of_every_release(
    volatility: int, days: dict[int, tuple[int, ...]]
) -> None:
    """A journal of an earlier release replays: no digit of an index changes. A day never closes
    below a quarter of its opening price nor falls below a fifth.
    """
    item = ticker(volatility=volatility, places=8)
    for day, prices in days.items():
        result = item.summary((SINCE // 86_400 + day) * 86_400, 86_400, NOW)
        assert tuple(result[:4]) == prices


def test_a_price_by_hand_is_the_price_from_then_on() -> None:
    book = assets()
    item = book.get("crypto:x")
    before = item.last(NOW - 9)
    book.tick("crypto:x", "77.5", (NOW - 10) * NS_PER_S + 5)
    assert book.price("crypto:x") == 77 * PRICE_SCALE + PRICE_SCALE // 2
    result = candles(item, align_window(NOW - 12, 0, Bucket.S1, NOW), Bucket.S1, NOW)
    # the seeded tick of that second, then the one by hand
    assert [candle.ticks for candle in result] == [1, 1, 2] + [0] * 10
    assert result[2].open == before
    assert result[-1].close == book.price("crypto:x")


def test_state_is_saved_and_loaded_with_prices_by_hand() -> None:
    book = assets()
    book.tick("crypto:new", "1.25")
    other = Assets(Context(seed=7, now=NOW * NS_PER_S))
    other.load(book.save())
    assert other.price("crypto:new") == book.price("crypto:new") == PRICE_SCALE * 5 // 4
    assert other.price("crypto:x") == book.price("crypto:x")


@pytest.mark.parametrize(
    "value",
    [
        ("crypto:X", "1"),
        ("stocks:x", "1"),
        *(("crypto:x", price) for price in ("0", "-1", "1e3", "0.000000001")),
        ("crypto:x", "1", NOW * NS_PER_S + 1),  # in the future
    ],
)
def test_impossible_ticks_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest):
        assets().tick(*value)


@pytest.mark.parametrize(
    "terms",
    [
        *({"every": seconds} for seconds in (7, 30, 0)),
        *({"places": 9}, {"volatility": -1}, {"id": "crypto:UP"}),
    ],
)
def test_unsound_terms_are_refused(terms: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must"):
        assets(**terms)  # type: ignore[arg-type]


def by_hand(*prices: tuple[int, int]) -> Ticker:
    """An asset whose prices in dollars were set by hand, with the instants from `WHOLE_HOUR` on."""
    rows = [(WHOLE_HOUR + at, dollars * PRICE_SCALE) for at, dollars in prices]
    return ticker(price=None, by_hand=rows)


WHOLE_HOUR = SINCE // 3600 * 3600 * NS_PER_S


def level(begins: int) -> IndexCondition:
    """A level of 200 dollars from so many seconds after `WHOLE_HOUR` on, for two hours."""
    return IndexCondition(
        asset="crypto:x",
        family=Family.HIT,
        begins=WHOLE_HOUR + begins * NS_PER_S,
        ends=WHOLE_HOUR + 7_200 * NS_PER_S,
        strike=200 * PRICE_SCALE,
    )


def test_a_price_applies_from_its_nanosecond_on() -> None:
    read = by_hand((0, 100), (7, 200))
    assert [read.at(WHOLE_HOUR + at) for at in (-1, 0, 6, 7)] == [
        None,
        *(dollars * PRICE_SCALE for dollars in (100, 100, 200)),
    ]


@pytest.mark.parametrize(("seconds", "hits"), [(1, False), (59, False), (60, True), (61, True)])
def test_a_level_is_hit_by_the_mean_of_a_whole_minute(seconds: int, hits: bool) -> None:
    """The price reaches it for some seconds; at the end of a minute all sixty have to count."""
    begun, over = 61 * NS_PER_S, (61 + seconds) * NS_PER_S
    read, above = by_hand((0, 100), (begun, 200), (over, 100)), level(0)
    assert read.hits(above, above.ends) is hits
    assert not read.hits(above, WHOLE_HOUR + begun)


@pytest.mark.parametrize(
    ("begins", "hits"),
    [(0, True), (420, True), (480, True), (481, False), (540, False), (1_800, False)],
)
def test_only_whole_minutes_after_the_beginning_of_a_level_count(begins: int, hits: bool) -> None:
    """The price is there from the sixth minute of an hour to the end of the ninth."""
    read = by_hand((0, 100), (360 * NS_PER_S, 200), (541 * NS_PER_S, 100))
    above = level(begins)
    assert read.hits(above, above.ends) is hits
