"""Price history of assets, through the gateway (§4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.core.market_data.assets import PRICE_SCALE, Asset
from sim.kernel.instants import NS_PER_S
from sim.run.client.client import Response
from tests.kit import Desk, begin

SEEDED = "crypto:test-seeded"
DAY = 86_400


@pytest.fixture
def prices() -> Desk:
    """A world that knows one more asset, which has ticked each second for two hundred days."""
    sim = Simulation(load_scenario("quickstart"))
    sim.exchange.assets.add(
        Asset(id=SEEDED, price=60_000 * PRICE_SCALE, since=sim.now // NS_PER_S - 200 * DAY)
    )
    return Desk(sim)


def ask(
    world: Desk,
    assets: object = SEEDED,
    bucket: str = "1M",
    start: int | None = 0,
    end: int | None = 0,
) -> Response:
    argument = {
        "assets": assets,
        "bucket": f"ASSET_PRICE_BUCKET_{bucket}",
        "from": start,
        "to": end,
    }
    return world.gateway.get(
        "/v1/asset-prices/history",
        params={key: value for key, value in argument.items() if value is not None},
    )


def series(world: Desk, **value: Any) -> dict[str, Any]:
    answer = ask(world, **value)
    assert answer.status == 200, answer
    (result,) = answer.json()["series"]
    return dict(result)


def now(world: Desk) -> int:
    return world.now // NS_PER_S


@pytest.mark.spec("S2.2-2", "S2.2-4", "S4.1-5")
def test_a_series_says_what_it_covers_in_json_numbers(prices: Desk) -> None:
    result = series(prices, start=now(prices) - 125)
    assert result["asset"] == {"assetClass": "ASSET_CLASS_CRYPTO", "symbol": "test-seeded"}
    assert (result["currency"], result["bucket"]) == ("USD", "ASSET_PRICE_BUCKET_1M")
    assert (result["from"], result["to"]) == ((now(prices) - 125) // 60 * 60, now(prices))
    for candle in result["candles"]:
        assert isinstance(candle["timestamp"], int)
        assert float(candle["low"]) <= min(float(candle["open"]), float(candle["close"]))
        assert float(candle["high"]) >= max(float(candle["open"]), float(candle["close"]))
    assert [candle["tickCount"] for candle in result["candles"]] == [60, 60, 60, 1]


@pytest.mark.spec("S4.1-2", "S2.2-1", "S2.2-3")
@pytest.mark.parametrize(
    ("bucket", "width"),
    [
        ("1S", 1),
        ("5S", 5),
        ("15S", 15),
        ("1M", 60),
        ("5M", 300),
        ("15M", 900),
        ("1H", 3600),
        ("1D", DAY),
    ],
)
def test_every_bucket_is_dense_ascending_and_at_most_3600_long(
    prices: Desk, bucket: str, width: int
) -> None:
    prices.advance("7s")
    result = series(prices, bucket=bucket, start=0)
    times = [candle["timestamp"] for candle in result["candles"]]
    last = now(prices) // width * width
    assert times == list(range(times[0], last + width, width))
    assert len(times) == (3600 if bucket != "1D" else 201)
    assert result["from"] == last - 3599 * width
    assert result["from"] % width == 0


@pytest.mark.spec("S4.1-3")
@pytest.mark.parametrize(
    ("bucket", "ago", "effective"),
    [
        ("1S", 7, 0),
        ("5S", 17, 10),
        ("15S", 10, 10),
        ("1M", 61, 60),
        ("1M", 75, 60),
        ("5M", 299, 0),
        ("1M", 60, 60),
        ("1H", 1, 0),
        ("1H", 3600, 3600),
    ],
)
def test_a_past_end_is_aligned_up(prices: Desk, bucket: str, ago: int, effective: int) -> None:
    """R13."""
    at = now(prices)  # a whole hour
    assert series(prices, bucket=bucket, start=at - 7200, end=at - ago)["to"] == at - effective


@pytest.mark.spec("S4.1-3", "S4.1-5")
@pytest.mark.parametrize(("bucket", "end"), [("1S", 10), ("1M", 60), ("1D", DAY)])
def test_the_first_second_of_1970_is_a_past_end_and_no_unset_one(
    prices: Desk, bucket: str, end: int
) -> None:
    result = series(prices, bucket=bucket, start=0, end=1)
    assert (result["from"], result["to"], result["candles"]) == (0, end, [])


@pytest.mark.spec("S4.1-3")
@pytest.mark.parametrize("later", [None, 0, 1, 10**9])
def test_no_end_or_a_future_one_means_now_with_the_running_bucket(
    prices: Desk, later: int | None
) -> None:
    """R13."""
    prices.advance("90s")
    end = later if not later else now(prices) + later
    result = series(prices, start=now(prices) - 300, end=end)
    assert result["to"] == now(prices)
    assert result["candles"][-1]["timestamp"] == now(prices) // 60 * 60
    assert result["candles"][-1]["tickCount"] == now(prices) % 60 + 1


def test_a_past_end_leaves_out_the_bucket_that_begins_there(prices: Desk) -> None:
    at = now(prices)
    result = series(prices, start=at - 300, end=at - 60)
    assert [candle["timestamp"] for candle in result["candles"]] == [
        at - 300,
        at - 240,
        at - 180,
        at - 120,
    ]


@pytest.mark.spec("S4.1-1", "S4.1-4", "S4.1-6")
def test_distinct_assets_get_one_series_each_by_symbol_and_unknown_ones_no_candles(
    prices: Desk,
) -> None:
    answer = ask(
        prices, assets=["crypto:zz-unknown", SEEDED, SEEDED], start=now(prices) - 60
    ).json()["series"]
    assert [item["asset"]["symbol"] for item in answer] == ["test-seeded", "zz-unknown"]
    assert answer[0]["candles"]
    assert (answer[1]["candles"], answer[1]["from"]) == ([], answer[0]["from"])
    ten = [f"crypto:a{number}" for number in range(10)]
    assert len(ask(prices, assets=ten).json()["series"]) == 10


@pytest.mark.spec("S4.1-2", "S4.1-7", "S2.1-1", "S2.1-2", "S2.2-1")
@pytest.mark.parametrize(
    "value",
    [
        {"assets": []},
        {"assets": [f"crypto:a{number}" for number in range(11)]},
        {"assets": "btc"},
        {"assets": "crypto:"},
        {"assets": "crypto:BTC"},
        {"assets": "crypto:btc_usd"},
        {"assets": "crypto:" + "a" * 65},
        {"assets": "stocks:acme"},
        {"assets": [SEEDED, "stocks:acme"]},
        {"bucket": "UNSPECIFIED"},
        {"bucket": "2H"},
        {"start": None},
    ],
)
def test_what_is_no_request_is_refused(prices: Desk, value: dict[str, Any]) -> None:
    answer = ask(prices, **value)
    assert (answer.status, answer.json()["code"]) == (400, 3)


@pytest.mark.spec("S2.2-4")
def test_seconds_without_a_tick_carry_the_close_forward(prices: Desk) -> None:
    start = now(prices)
    for wait, price in (("0s", "100.5"), ("3s", "102"), ("0s", "101"), ("2s", "99.25")):
        prices.advance(wait)
        prices.operate("price.tick", "crypto:by-hand", price=price)
    candles = series(prices, assets="crypto:by-hand", bucket="1S", start=start - 10)["candles"]
    assert [
        (
            candle["timestamp"] - start,
            candle["open"],
            candle["high"],
            candle["low"],
            candle["close"],
            candle["tickCount"],
        )
        for candle in candles
    ] == [
        (0, "100.50", "100.50", "100.50", "100.50", 1),
        (1, "100.50", "100.50", "100.50", "100.50", 0),
        (2, "100.50", "100.50", "100.50", "100.50", 0),
        (3, "102.00", "102.00", "101.00", "101.00", 2),
        (4, "101.00", "101.00", "101.00", "101.00", 0),
        (5, "99.25", "99.25", "99.25", "99.25", 1),
    ]
    later = series(prices, assets="crypto:by-hand", bucket="1S", start=start + 4)["candles"]
    assert (later[0]["close"], later[0]["tickCount"]) == ("101.00", 0)


def test_prices_move_alike_before_and_after_the_start() -> None:
    """A client that reads history cannot tell from the candles when the run began."""
    ratios = []
    for seed in range(1, 7):
        world = begin(seed=seed)
        start = now(world)
        world.advance("2h")
        for asset in ("crypto:btc", "crypto:eth", "crypto:sol"):
            before, after = (
                series(world, assets=asset, start=begin, end=begin + 7_200)["candles"]
                for begin in (start - 7_200, start)
            )
            ratios.append(typical_range(after) / typical_range(before))
    assert 0.75 < sorted(ratios)[len(ratios) // 2] < 1.33  # hours differ, the median does not


def typical_range(candles: list[dict[str, Any]]) -> float:
    """The mean of high less low in a minute, as a part of the price."""
    spans = [
        (float(candle["high"]) - float(candle["low"])) / float(candle["open"]) for candle in candles
    ]
    return sum(spans) / len(spans)
