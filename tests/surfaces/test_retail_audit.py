"""Findings of a line-by-line review of the retail API, the gateway and both sockets, each tested
from a client's side.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim import load_scenario
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest
from sim.run.client.client import Http, Stream
from sim.world.format.yaml_tree import ScenarioError
from tests.kit import Desk, begin, retail_order, streams


@pytest.fixture
def client(world: Desk) -> Http:
    return world.customer()


def subscribed(world: Desk, path: str, kind: str, *slugs: str) -> Stream:
    """A socket with one subscription."""
    socket = streams.socket(world, path)
    socket.frames = streams.subscribe(socket, "1", kind, slugs)
    return socket


@pytest.mark.spec("S4.2-14")
def test_a_balance_change_begins_from_what_a_lost_market_left(
    world: Desk, client: Http, instrument: Instrument
) -> None:
    """A position that settles at zero changes the balance without a movement of cash."""
    world.place_as("maker", instrument, "sell", "0.40", "5")
    client.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 40, 5))
    socket = subscribed(world, "/v1/ws/private", "ACCOUNT_BALANCE")
    socket.take()
    world.settle(instrument, "0")
    assert socket.take() == []
    lost = world.retail_balance()
    assert lost["assetNotional"] == 0
    world.operate("account.fund", world.keys[0].account, amount="5")
    (frame,) = socket.take()
    change = frame["accountBalancesUpdate"]["balanceChange"]
    assert (change["beforeBalance"], change["afterBalance"]) == (lost, world.retail_balance())


@pytest.mark.spec("S4.2-8", "S4.2-9", "S4.2-15")
def test_the_current_price_of_a_market_is_one_wherever_it_stands(
    world: Desk, client: Http, instrument: Instrument
) -> None:
    lite = subscribed(world, "/v1/ws/markets", "MARKET_DATA_LITE", instrument.symbol)
    full = subscribed(world, "/v1/ws/markets", "MARKET_DATA", instrument.symbol)
    rest: list[str] = []
    sockets: list[str] = []

    def look() -> None:
        best = client.get(f"/v1/markets/{instrument.symbol}/bbo").json()["marketData"]
        book = client.get(f"/v1/markets/{instrument.symbol}/book").json()["marketData"]["stats"]
        full_frame, lite_frame = full.take()[-1]["marketData"]["stats"], lite.take()[-1]
        rest.append(price_of(best))
        sockets.append(price_of(full_frame))
        assert price_of(book) == rest[-1]
        assert price_of(lite_frame["marketDataLite"]) == sockets[-1]

    def price_of(displayed: dict[str, Any]) -> str:
        amount = displayed.get("currentPx")
        return amount["value"] if amount else ""

    look()
    for side, price, caller in (
        ("buy", "0.30", "maker"),
        ("sell", "0.40", "maker"),
        ("buy", "0.40", "noise"),
        ("sell", "0.37", "maker"),
    ):
        world.place_as(caller, instrument, side, price)
        look()
    world.settle(instrument, "1")
    look()
    # one side has no midpoint; REST rounds the midpoint down to the price unit
    assert rest == ["", "", "0.3500", "0.4000", "0.3300", "0.3300"]
    assert sockets == ["", "", "0.3500", "0.4000", "0.3350", "0.3350"]


@pytest.mark.spec("S7.1-8")
def test_an_injected_429_says_when_to_come_back(world: Desk, client: Http) -> None:
    world.operate("fault.add", match={"plane": "retail"}, act={"status": 429})
    refused = client.get("/v1/orders/open")
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.json() == {"status": 429, "message": "Too Many Requests"}


@pytest.mark.spec("S7.1-9")
@pytest.mark.parametrize(("delay", "status"), [("30s", 200), ("30.001s", 504), ("10m", 504)])
def test_the_edge_waits_thirty_seconds_for_an_answer(
    world: Desk, client: Http, instrument: Instrument, delay: str, status: int
) -> None:
    """The request is executed all the same, as after any answer that was lost."""
    world.operate("fault.add", match={"operation": "CreateOrder"}, act={"delay": delay})
    start = world.now
    answer = client.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 20, 1))
    assert (answer.status, answer.reply.ready_at - start) == (status, 30 * 10**9)
    assert status == 200 or answer.json() == {
        "code": 4,
        "message": "upstream timeout",
        "details": [],
    }
    assert len(client.get("/v1/orders/open").json()["orders"]) == 1


@pytest.mark.spec("S4.2-10", "S4.2-11")
def test_a_limit_order_shows_the_price_it_was_cut_down_to_even_if_that_is_nothing(
    client: Http, instrument: Instrument
) -> None:
    price = {"value": "0.0001", "currency": "USD"}
    body = retail_order(instrument, "BUY_LONG", 20, 1, synchronousExecution=True, price=price)
    (execution,) = client.post("/v1/orders", json=body).json()["executions"]
    preview = client.post("/v1/order/preview", json={"request": body}).json()["order"]
    assert execution["order"]["price"] == preview["price"] == {"value": "0.00", "currency": "USD"}
    del body["price"]
    market = client.post("/v1/orders", json=body | {"type": "ORDER_TYPE_MARKET"})
    (execution,) = market.json()["executions"]
    assert execution["order"]["price"] is None  # no resting orders, so no price was determined


@pytest.mark.spec("S4.1-10", "S4.1-11", "S9-3")
@pytest.mark.parametrize("listed", ["markets", "events"])
def test_markets_are_found_by_the_type_they_show_and_by_its_former_name(
    world: Desk, listed: str
) -> None:
    def hits(*types: str) -> list[Any]:
        asked = {"limit": 1000, "sportsMarketTypes": list(types)}
        return [
            row["id"] for row in world.gateway.get(f"/v1/{listed}", params=asked).json()[listed]
        ]

    points = hits("basketball_player_points")
    props = hits("SPORTS_MARKET_TYPE_PROP")
    assert points and set(points) <= set(props)
    assert hits("basketball_player_points", "SPORTS_MARKET_TYPE_PROP") == props
    assert hits("no_such_type") == []


@pytest.mark.spec("S2.8-5", "S4.2-6")
@pytest.mark.parametrize(
    "purpose", ["TAKER_FEE_REBATE", "LIQUIDITY_PROGRAM", "REFERRAL_BONUS", "TRANSFER"]
)
def test_money_of_every_kind_is_an_activity_of_its_own(
    world: Desk, client: Http, purpose: str
) -> None:
    account = world.keys[0].account
    world.operate("account.fund", account, amount="12.34", purpose=purpose)
    (activity,) = world.activities(purpose)
    assert activity.keys() == {"type", "accountBalanceChange"}
    change = activity["accountBalanceChange"]
    assert change["amount"] == {"value": "12.34", "currency": "USD"}
    assert change["status"] == "ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED"
    source = {"amount": "1", "source": "retail-bank", "purpose": purpose}
    with pytest.raises(InvalidRequest, match="purpose"):
        world.simulation.control("account.fund", account, source)


PAYOUTS = """
name: payouts
extends: quickstart
world:
  instruments: [{symbol: paying, tick_size: "0.01", state: OPEN}]
  incentives:
    - symbol: paying
      periods: []
      rewards:
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-05, reward: "10.25", status: PAID}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-05, reward: "1.10", status: PAID}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-05, reward: "0.40", status: SKIPPED}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-08, reward: "2", status: PENDING}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-08, reward: "3", status: PAID}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-03, reward: "0.5", status: SKIPPED}
        - {account: firms/retail/accounts/5c1e90d2, date: 2026-09-03, reward: "0.25", status: SKIPPED}
"""


@pytest.mark.spec("S2.3-3", "S3.3-1", "S4.2-3")
def test_all_payouts_of_a_market_on_a_date_are_one_entry() -> None:
    """The entry is PAID once all payouts are; a skipped one is no payout."""
    world = begin(PAYOUTS)

    def entries() -> list[tuple[str, float, str]]:
        asked = {"market_slug": "paying"}
        rewards = world.customer().get("/v1/incentives/earnings", params=asked).json()["rewards"]
        return [(entry["date"], entry["reward"], entry["status"]) for entry in rewards]

    assert entries() == [
        ("2026-09-08", 5, "PENDING"),
        ("2026-09-05", 11.35, "PAID"),
        ("2026-09-03", 0.75, "SKIPPED"),
    ]
    world.advance("1d")
    assert entries()[0] == ("2026-09-08", 5, "PAID")


@pytest.mark.spec("S8-1", "S8-9")
@pytest.mark.parametrize("count", [3, 7, 11, 20, 30, 70])
def test_a_limit_that_was_used_up_is_whole_again_after_its_period(count: int) -> None:
    world = begin(f"name: limited\nextends: quickstart\nlimits: {{public: '{count}/s'}}\n")

    def burst() -> list[int]:
        return [world.gateway.get("/v1/health").status for _ in range(count + 1)]

    for _ in range(3):
        assert burst() == [200] * count + [429]
        world.advance("1s")


@pytest.mark.spec("S4.2-10")
def test_a_client_that_writes_every_field_may_send_no_quantity_beside_its_cash(
    world: Desk, client: Http, instrument: Instrument
) -> None:
    world.place_as("maker", instrument, "sell", "0.50", "10")
    body = {
        "marketSlug": instrument.symbol,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_MARKET",
        "price": None,
        "synchronousExecution": True,
        "cashOrderQty": {"value": "2.00", "currency": "USD"},
    }
    spent = client.post("/v1/orders", json=body | {"quantity": 0})
    assert spent.json()["executions"][-1]["order"]["cumQuantity"] == 4
    assert client.post("/v1/orders", json=body | {"quantity": 1}).status == 400


@pytest.mark.spec("S4.2-4", "S4.2-2", "S4.1-7", "S4.1-10")
def test_an_empty_parameter_filters_nothing(
    world: Desk, client: Http, instrument: Instrument
) -> None:
    client.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 20, 1))
    for slugs, count in (("", 1), (["", instrument.symbol], 1), (["", "another"], 0)):
        answer = client.get("/v1/orders/open", params={"slugs": slugs})
        assert len(answer.json()["orders"]) == count
    for path, params in (
        ("/v1/incentives", {"symbols": "", "statuses": "", "category": ""}),
        ("/v1/portfolio/positions", {"market": ""}),
    ):
        assert client.get(path, params=params).json() == client.get(path).json()
    for path in ("/v1/markets", "/v1/events"):
        empty, none = ({"slug": "", "categories": "", "limit": 3}, {"limit": 3})
        answers = [world.gateway.get(path, params=asked).json() for asked in (empty, none)]
        assert answers[0] == answers[1]
    window = {"assets": "", "from": "1788890000", "to": "0", "bucket": "ASSET_PRICE_BUCKET_1S"}
    refused = world.gateway.get("/v1/asset-prices/history", params=window)
    assert (refused.status, refused.json()["message"]) == (400, "assets is required")


EVENTS = """
name: told-events
extends: quickstart
world:
  events:
    - slug: derby
      title: The derby
      description: Of the year
      league: nba
      start: 2026-09-10T20:00:00Z
      end: 2026-09-10T23:00:00Z
      live: true
      period: Q2
      home_score: 41
      away_score: 38
    - {slug: return-leg, league: epl, start: 2026-09-09T20:00:00Z}
    - {slug: budget, title: "Will it pass?", category: politics}
    - {slug: nfl-dal-phi-2026-09-10, title: "Renamed"}
  instruments: [{symbol: derby-win, tick_size: "0.01", state: OPEN, event: derby, sports_market_type: moneyline}]
"""


@pytest.mark.spec("S4.1-10", "S2.11-1")
def test_an_event_of_a_scenario_is_shown_as_the_scenario_tells_it() -> None:
    world = begin(EVENTS)

    def event(slug: str) -> dict[str, Any]:
        return dict(world.gateway.get(f"/v1/events/slug/{slug}").json()["event"])

    def listed(**filters: Any) -> list[str]:
        answer = world.gateway.get("/v1/events", params={"limit": 1000, **filters})
        return [row["slug"] for row in answer.json()["events"]]

    derby = event("derby")
    reported = {
        "title": "The derby",
        "description": "Of the year",
        "category": "sports",
        "subcategory": "nba",
        "startTime": "2026-09-10T20:00:00Z",
        "endDate": "2026-09-10T23:00:00Z",
        "eventDate": "2026-09-10",
        "live": True,
        "ended": False,
        "period": "Q2",
        "score": {"home": 41, "away": 38},
    }
    assert derby | reported == derby
    slugs = [tag["slug"] for tag in derby["tags"]]
    assert derby["gameId"] and slugs == ["sports", "basketball", "nba"]
    (market,) = derby["markets"]
    assert (market["slug"], market["category"]) == ("derby-win", "sports")
    assert "derby" in listed(live="true") and "derby" in listed(categories="sports", tagSlug="nba")
    assert listed(gameId=derby["gameId"]) == ["derby"]
    in_league = world.gateway.get("/v2/leagues/nba/events", params={"limit": 1000}).json()
    assert "derby" in [row["slug"] for row in in_league["events"]]
    budget = event("budget")
    bare = {"title": "Will it pass?", "category": "politics", "markets": [], "gameId": ""}
    assert budget | bare == budget and "live" not in budget
    assert "budget" in listed(categories="politics") and "budget" not in listed(live="true")
    world.advance_to("2026-09-11T12:00:00Z")
    later = event("derby")
    assert [later[name] == derby[name] for name in ("live", "period", "score")] == [True] * 3
    unsaid = event("return-leg")
    assert unsaid["gameId"] != ""
    assert unsaid | {"live": False, "ended": False, "period": "NS", "score": None} == unsaid
    renamed = event("nfl-dal-phi-2026-09-10")
    assert (renamed["title"], renamed["startTime"]) == ("Renamed", "2026-09-11T00:20:00Z")
    assert len(renamed["markets"]) == 3
    untouched = begin().gateway.get("/v1/events/slug/nfl-dal-phi-2026-09-10").json()["event"]
    assert untouched["title"] == "Dallas Cowboys vs. Philadelphia Eagles"


@pytest.mark.spec("S4.1-10")
def test_an_event_of_no_league_is_found_before_anything_runs() -> None:
    text = EVENTS.replace("league: nba", "league: nbaa")
    with pytest.raises(ScenarioError, match="there is no league 'nbaa'"):
        load_scenario(text)


GAME = "aec-nfl-dal-phi-2026-09-10"
PERIOD = "{program_id: a, start: 2026-09-08T22:00:00-04:00, reward_pool: '1'}"
REWARD = "{account: nope, date: 2026-09-05, reward: '1', status: PAID}"
ORDER = "side: buy, price: '0.5', qty: '1'"


@pytest.mark.spec("S4.2-1")
@pytest.mark.parametrize(
    ("section", "entry", "problem"),
    [
        ("books", f"symbol: {GAME[:-1]}, mid: '0.5'", f"symbol '{GAME[:-1]}'; did you mean"),
        ("books", f"symbol: {GAME}, as: makr, mid: '0.5'", "no firm or participant 'makr'"),
        ("orders", f"as: maker, symbol: nope, {ORDER}", "unknown symbol 'nope'"),
        ("orders", f"as: nobody, symbol: {GAME}, {ORDER}", "no firm or participant 'nobody'"),
        ("incentives", f"symbol: nope, periods: [{PERIOD}]", "unknown symbol 'nope'"),
        ("incentives", f"symbol: {GAME}, periods: [], rewards: [{REWARD}]", "is called 'nope'"),
    ],
)
def test_what_a_world_names_must_be_there(section: str, entry: str, problem: str) -> None:
    """An unknown name is an error with its line, instead of a program without effect or a traceback
    at the start.
    """
    with pytest.raises(ScenarioError) as result:
        load_scenario(
            f"name: named\nextends: quickstart\nworld:\n  {section}:\n    - {{{entry}}}\n"
        )
    assert ":5:" in str(result.value) and problem in str(result.value)
