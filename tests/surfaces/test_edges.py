"""Edges that only several inputs reach, or that time reaches: rebates, corrections, rewards, seeds,
dates, the end of the calendar, pages, waits.

Beside `test_bounds.py`, and like it: at the edge everything works on every surface, is saved,
forked, rewound, restored and replayed; beyond it there is a refusal that names it.
"""

from __future__ import annotations

import io

import pytest

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.core.catalogue.bounds import CONTRACTS, MONEY, REBATES, SEED, OutOfBounds
from sim.core.model.refusals import Refusal
from sim.core.service.rate_limits import LIMITS
from sim.kernel.journal_reader import read_journal
from sim.read.headless_run import run_scenario
from sim.read.replay import NotAJournal, simulation_of
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm, trader
from tests.kit import PERSON, Desk, begin
from tests.spec.test_page_sizes import LISTS, List, _retail
from tests.surfaces.test_bounds import SCENARIO, check_everything_works, fund, place, room

UNLIMITED = ", ".join(f"{name}: off" for name in LIMITS)
FREE = 'fees: {schedule: [{taker: "0", maker: "0"}]}'


def edge_world(more: str = FREE, scenario: str = SCENARIO) -> Desk:
    """The exchange of `test_bounds.py` with some more YAML."""
    text = f"{scenario}limits: {{{UNLIMITED}}}\n{more}\n"
    return begin(text, journal=io.BytesIO())


# ---- sums that trading, corrections and rewards add to


def test_rebates_have_an_edge() -> None:
    """A quarter of a dollar for each contract at 0.50: ten billion after forty billion of them."""
    edge = edge_world('fees: {schedule: [{taker: "0", maker: "-1"}]}')
    half = CONTRACTS.high // 2
    assert REBATES.high == half // 2
    for user in (0, 1):
        assert fund(edge, user, "10000000000") == ""
    for maker, taker, contracts in ((0, 1, half), (1, 0, half - 4)):
        assert place(edge, maker, "buy", 50, contracts).status == 200
        assert place(edge, taker, "sell", 50, contracts).status == 200
    check_everything_works(edge)
    assert place(edge, 1, "buy", 50, 4).status == 200  # one dollar is left
    assert place(edge, 0, "sell", 50, 4).status == 200
    refused = place(edge, 0, "buy", 50, 1, symbol="fine", price="5000", orderQty="10000")
    assert refused.status == 422
    assert "rebates: from 0 to 10000000000 dollars" in refused.json()["message"]
    check_everything_works(edge)


def test_corrections_have_an_edge() -> None:
    """Who paid out what a market paid, and is then corrected, owes it: all money at most."""
    edge = edge_world()
    long, short = (user.account for user in edge.firm.users[:2])
    half = CONTRACTS.high // 2
    markets = ("edge", "second", "third")
    for symbol in markets[1:]:
        edge.operate("instrument.create", symbol=symbol, state="OPEN")
    for symbol, contracts in zip(markets, (half, half, 100), strict=True):
        for user, cents in ((0, 1), (1, 99)):
            assert fund(edge, user, str(contracts * cents // 100)) == ""
        assert place(edge, 0, "buy", 1, contracts, symbol=symbol).status == 200
        assert place(edge, 1, "sell", 1, contracts, symbol=symbol).status == 200
        edge.settle(symbol, "1")
        assert fund(edge, 0, f"-{contracts}") == ""

    def held(account: str) -> int:
        return edge.trading.ledger.balance(account) // 10**8

    assert (held(long), held(short)) == (0, 0)
    check_everything_works(edge)
    for symbol in markets[:2]:
        edge.settle(symbol, "0")
    assert (held(long), held(short)) == (-MONEY.high, MONEY.high)
    check_everything_works(edge)
    with pytest.raises(
        Refusal, match="too large a correction; money: from 0 to 40000000000 dollars"
    ):
        edge.settle("third", "0")
    assert (held(long), held(short)) == (-MONEY.high, MONEY.high)
    check_everything_works(edge)


@pytest.mark.parametrize("beyond", [False, True])
def test_rewards_that_the_exchange_cannot_hold_are_skipped(beyond: bool) -> None:
    """Two rewards of two days, which together are all the money there is room for, or a cent more."""
    account, most = "firms/atlas-fcm/accounts/one", room(edge_world())
    amounts = {"2026-09-08": f"{most // 2}", "2026-09-09": f"{most - most // 2}.0{int(beyond)}"}
    rewards = ", ".join(
        f"{{account: {account}, date: {date}, reward: '{amount}', status: PENDING}}"
        for date, amount in amounts.items()
    )
    incentives = f"  incentives: [{{symbol: edge, rewards: [{rewards}]}}]\n"
    edge = edge_world(scenario=SCENARIO + incentives)
    edge.advance("3d")
    client = edge.customer()
    result = client.get("/v1/incentives/earnings").json()["rewards"]
    assert [item["status"] for item in result] == ["SKIPPED" if beyond else "PAID", "PAID"]
    (balance,) = client.get("/v1/account/balances").json()["balances"]
    assert balance["currentBalance"] == (most // 2 if beyond else most)
    check_everything_works(edge)


# ---- seeds


@pytest.mark.parametrize("seed", [SEED.low, SEED.high])
def test_a_seed_at_an_edge_runs_and_replays(seed: int) -> None:
    for simulation in (
        Simulation(load_scenario(f"{SCENARIO}seed: {seed}\n"), journal=io.BytesIO()),
        Simulation(load_scenario(SCENARIO), seed=seed, journal=io.BytesIO()),
    ):
        assert simulation.seed == seed
        edge = Desk(simulation)
        fund(edge, 0, "100")
        assert place(edge, 0, "buy", 40, 1).status == 200
        check_everything_works(edge)
        simulation.reset(SEED.low + SEED.high - seed)
        assert simulation.seed == SEED.low + SEED.high - seed


@pytest.mark.parametrize("seed", [SEED.low - 1, SEED.high + 1, 10**30])
def test_a_seed_beyond_an_edge_is_refused_wherever_it_is_given(
    seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ScenarioError):
        load_scenario(f"{SCENARIO}seed: {seed}\n")
    with pytest.raises(OutOfBounds, match="seed: from 0 to 9223372036854775807"):
        Simulation(load_scenario(SCENARIO), seed=seed)
    edge = edge_world()
    with pytest.raises(OutOfBounds, match="seed"):
        edge.simulation.reset(seed)
    check_everything_works(edge)
    for command in ("run", "serve"):
        with pytest.raises(SystemExit) as ended:
            main([command, "quickstart", f"--seed={seed}"])
        assert ended.value.code == 2
        assert "--seed" in capsys.readouterr().err


# ---- dates and the end of the calendar


DATES = ["expiration", "start", "created", "termination"]


@pytest.mark.parametrize("name", DATES)
@pytest.mark.parametrize("date", ["9999-12-31", "9001-01-01T00:00:00Z", "0999-12-31"])
def test_an_instrument_has_no_date_from_which_none_can_follow(name: str, date: str) -> None:
    """In a scenario and in a control call, which once ended the run."""
    with pytest.raises(ScenarioError, match="year: from 1000 to 9000"):
        load_scenario(f"name: far\nworld: {{instruments: [{{symbol: far, {name}: '{date}'}}]}}\n")
    edge = edge_world()
    with pytest.raises(Refusal, match="year: from 1000 to 9000"):
        edge.simulation.control("instrument.create", "", {"symbol": "far", name: date})
    check_everything_works(edge)


def test_an_instrument_may_last_until_the_year_9000_and_be_told_everywhere() -> None:
    edge = edge_world()
    terms = {
        "symbol": "far",
        "state": "OPEN",
        "start": "1000-01-02",
        "expiration": "9000-12-31",
        "schedule": [{"start": "00:00", "length": "24h"}],
    }
    edge.operate("instrument.create", **terms)
    market = edge.gateway.get("/v1/market/slug/far").json()["market"]
    assert market["endDate"][:4] in ("9000", "9001")
    for path in ("/v1/refdata/instruments/far", "/v1/orderbook/far"):
        assert edge.trader().get(path).status == 200
    for path in ("/v1/markets?orderBy=endDate", "/v1/events?orderBy=startDate"):
        assert edge.gateway.get(path).status == 200
    check_everything_works(edge)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("world: {events: [{slug: e, start: 9999-12-31}]}", "year"),
        ("maintenance: [{begins: 9999-12-31T23:00:00Z, length: 2h}]", "year"),
        ("maintenance: [{begins: 2026-01-01, length: 30m}]", "ends before the scenario begins"),
        ("maintenance: [{length: 0s}]", "above zero"),
        ("maintenance: [{begins: 2026-10-01, length: 0s}]", "above zero"),
        ("world: {incentives: [{symbol: x, rewards: [{account: a, date: 9999-12-31}]}]}", "year"),
        ("world: {incentives: [{symbol: x, rewards: [{account: a, date: 2026-02-30}]}]}", "date"),
    ],
)
def test_a_date_that_no_run_can_use_is_found_before_the_run(text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        load_scenario(f"name: dated\n{text}\n")


def test_what_was_announced_is_over_where_a_run_begins_later() -> None:
    text = f"{SCENARIO}maintenance: [{{begins: 2026-09-09, length: 30m}}]\n"
    late = Desk(Simulation(load_scenario(text), start=2_000_000_000 * 10**9))
    assert trader(late).get("/v1/whoami").status == 200


def test_the_last_nanosecond_of_2199_is_an_instant_like_any_other() -> None:
    edge = edge_world("clock: {start: 2199-12-31T23:59:00Z}\n" + FREE)
    for user in (0, 1):
        assert fund(edge, user, "100") == ""
    check_everything_works(edge)
    edge.advance("59.999999999s")
    for wait in ("1ns", "1s", "76701d"):
        with pytest.raises(Refusal, match="ends with the year 2199"):
            edge.advance(wait)
    assert place(edge, 0, "buy", 40, 1).status == 200
    assert place(edge, 1, "sell", 40, 1).status == 200
    check_everything_works(edge)
    # what is due afterwards never is
    edge.operate("maintenance.add", begins="+1h", length="76701d")
    ending = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2200-06-01T00:00:00Z"}
    assert place(edge, 0, "buy", 40, 1, **ending).status == 200
    account = edge.account()
    edge.operate("account.fund", account, amount="5", source="atlas-bank")
    edge.assume("engine.latency", "76701d")
    assert place(edge, 0, "buy", 41, 1).status == 200
    check_everything_works(edge)


@pytest.mark.parametrize("start", ["1989-12-31T23:59:59Z", "2200-01-01T00:00:00Z"])
def test_no_scenario_begins_outside_of_the_calendar(start: str) -> None:
    with pytest.raises(ScenarioError, match="1990 to 2199"):
        load_scenario(f"name: early\nclock: {{start: {start}}}\n")


def test_orders_of_a_file_that_come_after_2199_are_a_mistake_of_the_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    last = "2199-12-31T23:59:59Z"
    assert main(["serve", "living-market", "--port-base", "0", "--start", last]) == 2
    assert "must be before the year 2200" in capsys.readouterr().err


# ---- pages and waits


@pytest.fixture(scope="module")
def plain() -> Desk:
    return begin(limits=False)


@pytest.mark.parametrize("listed", LISTS, ids=lambda listed: listed.path)
@pytest.mark.parametrize("size", ["2147483647", "2147483648", "9" * 30, "1.5", "-2147483649"])
def test_the_size_of_a_page_is_a_number_of_32_bits(plain: Desk, listed: List, size: str) -> None:
    client = listed.client(plain)
    value = {"account": firm(plain.simulation).users[0].account} if listed.ledger else {}
    if "/report/" in listed.path:
        value = {"symbol": "none"}
    pages = listed.client is not _retail and listed.size == "limit"
    for name in (listed.size, "offset") if pages else (listed.size,):
        asked = {**value, name: size}
        post = listed.verb == "POST"
        answer = (
            client.post(listed.path, json=asked) if post else client.get(listed.path, params=asked)
        )
        most = size == "2147483647" and not listed.refused
        assert answer.status == (200 if most else 400), (name, answer.body[:200])
        if not most:
            message = answer.json()["message"].replace("_", "").lower()
            assert name.lower() in message


@pytest.mark.parametrize(
    ("settings", "tries"),
    [
        ({"webhook.attempts": 1}, 1),
        ({"webhook.attempts": 1_000_000_000, "webhook.retry_longest": "12h"}, 40),
        ({"webhook.retry_first": "76701d", "webhook.retry_longest": "76701d"}, 1),
        ({"webhook.timeout": "76701d"}, 8),
    ],
)
def test_waits_between_attempts_may_be_as_long_as_time(
    settings: dict[str, object], tries: int
) -> None:
    edge = edge_world()
    for name, value in {"webhook.breaker_threshold": 1_000_000_000, **settings}.items():
        edge.assume(name, value)
    client = edge.partner
    client.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    edge.receive = lambda post: 500
    assert client.post("/v1/kyc/start", json=PERSON).status == 200
    edge.advance("30m")
    for _ in range(60):
        edge.advance("12h")
    sent = [post for post in edge.webhooks if b"kyc.approved" in post.body]
    assert len(sent) >= tries if tries > 8 else len(sent) == tries
    check_everything_works(edge)


def test_a_journal_with_a_seed_beyond_its_edge_is_no_journal() -> None:
    edge = edge_world()
    header, _ = read_journal(io.BytesIO(edge.simulation.journal.file.getvalue()))
    from zlib import crc32

    from msgspec import json, structs

    spoilt = structs.replace(header, seed=2**64, check="")
    spoilt = structs.replace(spoilt, check=f"{crc32(json.encode(spoilt)):08x}")
    with pytest.raises(NotAJournal, match="seed: from 0"):
        simulation_of(spoilt)


def test_a_step_that_may_wait_beyond_2199_fails_as_one_that_never_came() -> None:
    text = """
name: late
extends: quickstart
clock: {start: 2199-12-31T23:59:59Z}
world: {games: 0, instruments: [{symbol: mine, tick_size: "0.01", state: PENDING}]}
steps:
  - {at: +0.1s, call: {plane: gateway, get: /v1/health}}
  - {when: {instrument: {symbol: mine, state: OPEN}}, within: 1h, state: {symbol: mine, state: CLOSED}}
"""
    report = run_scenario(load_scenario(text))
    assert list(report.failures()) == [
        "broken: 1 step not reached: the calendar of this exchange ends with the year 2199"
    ]
    assert len(report.results) == 1


ORDERS = """
name: standing
extends: quickstart
world:
  games: 0
  instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}]
  orders: [{as: maker, symbol: mine, side: buy, %s}]
"""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            'price: "0.3", qty: "1", tif: gtt, good_till: 2026-07-20',
            "good_till must be in the future",
        ),
        ('price: "0.3", qty: "1", tif: gtt', "good_till must be in the future"),
        ('price: "0.3", qty: "1", type: stop_limit', "stop_price is required for a stop order"),
        ('price: "0.3", qty: "1", stop_price: "0.4"', "stop_price needs a stop order"),
        ('price: "0.3", qty: "1", cash: "5"', "qty and cash are mutually exclusive"),
        ('price: "0", qty: "1"', "price is required for a limit order"),
        ('price: "0.3"', "qty is required"),
    ],
)
def test_an_order_of_the_world_that_contradicts_itself_is_found_before_the_run(
    fields: str, words: str
) -> None:
    with pytest.raises(ScenarioError) as reported:
        load_scenario(ORDERS % fields)
    (problem,) = reported.value.problems
    assert (problem.line, problem.message) == (7, words)


@pytest.mark.parametrize(
    ("start", "bids"), [("2026-09-10T03:59:59Z", 1), ("2026-09-10T04:00:00Z", 0)]
)
def test_an_order_of_the_world_is_over_where_a_run_begins_after_its_end(
    start: str, bids: int
) -> None:
    text = ORDERS % 'price: "0.3", qty: "1", tif: gtt, good_till: 2026-09-10'
    world = begin(text, start=start)
    assert len(world.book("mine")["bids"]) == bids
