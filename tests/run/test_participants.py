"""Scripted participants: books change on every surface, each participant has its own random
numbers, money is conserved, and runs replay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import Outcome
from sim.contract.messages import exchange_v1 as wire
from sim.core.invariants import violations
from sim.core.model.enums import ExecutionType, Side
from sim.core.model.refusals import Refusal
from sim.kernel.instants import HOUR, MINUTE, NS_PER_S, parse_instant
from sim.read.replay import replay_file
from sim.run.actors.operator.views import view as read_view
from sim.run.actors.participants.participants import participants_of
from sim.run.client.client import Connection, connect
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm, key

WORLD = """
name: living
extends: quickstart
world:
  instruments:
    - {symbol: cents, tick_size: "0.01", state: OPEN}
    - {symbol: fine, tick_size: "0.0025", fractional_qty_scale: 100, state: OPEN}
"""
CROWD = """
participants:
  makers: [{name: mm, symbols: [cents, fine], balance: "5000", inventory: "400", jitter: 1s, skew: "0.02"}]
  takers: [{name: crowd, symbols: [cents, fine], rate: 20/m}, {name: sharp, symbols: cents, rate: 6/m, edge: "0", slippage: "0.02"}]
  noise: [{name: fog, symbols: [cents, fine], rate: 20/m, balance: "40"}]
"""


def sim_of(
    participants: str = CROWD, *, world: str = WORLD, seed: int | None = None, **rest: object
) -> Simulation:
    return Simulation(load_scenario(world + participants), seed=seed, **rest)  # type: ignore[arg-type]


def moved(sim: Simulation, span: int) -> Outcome:
    return sim.advance_to(sim.now + span)


def acts(outcome: Outcome, subject: str = "") -> list[int]:
    """When participants acted."""
    return [
        fired.at
        for fired in outcome.fired
        if fired.timer == "participant.act" and fired.subject.startswith(subject)
    ]


def depth(sim: Simulation, symbol: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    book = sim.exchange.trading.book(symbol)
    return [level[:2] for level in book.levels(Side.BUY)], [
        level[:2] for level in book.levels(Side.SELL)
    ]


# ---- on the surfaces


@pytest.fixture
def living() -> Connection:
    return connect(sim_of())


@pytest.mark.spec("S4.3-1")
def test_a_quoted_book_is_there_from_the_first_instant_and_changes_by_itself(
    living: Connection,
) -> None:
    partner = living.exchange(firm(living.simulation))
    first = partner.get("/v1/orderbook/cents", params={"depth": "3"}).json()
    assert [level["px"] for level in first["bids"]] == ["49", "48", "47"]
    assert [level["px"] for level in first["offers"]] == ["51", "52", "53"]
    assert [level["qty"] for level in first["bids"]] == ["100", "250", "50"], (
        "the inventory limit of 400 bounds what it quotes"
    )
    observed = set()
    for _ in range(20):
        living.advance("1m")
        answer = partner.get("/v1/orderbook/cents").json()
        assert answer["bids"] or answer["offers"]
        observed.add(json.dumps(answer, sort_keys=True))
    assert len(observed) > 10


@pytest.mark.spec("S4.4-5")
def test_streams_of_both_worlds_see_participants_quote_and_trade(living: Connection) -> None:
    sim = living.simulation
    request = wire.CreateMarketDataSubscriptionRequest(symbols=["cents"])
    market_data = living.rpc(firm(sim)).stream(
        "MarketDataSubscriptionAPI.CreateMarketDataSubscription", request
    )
    socket = living.web_socket(key(sim), "/v1/ws/markets")
    for number, kind in enumerate(("MARKET_DATA", "TRADE")):
        frame = {
            "subscribe": {
                "requestId": f"r{number}",
                "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}",
                "marketSlugs": ["cents"],
            }
        }
        socket.send(json.dumps(frame).encode())
    market_data.take(), socket.take()
    living.advance("10m")
    updates = [frame.update for frame in market_data.take() if frame.update is not None]
    assert len(updates) > 20
    assert any(update.stats is not None and update.stats.last_trade_px for update in updates)
    frames = socket.take()
    assert sum("marketData" in frame for frame in frames) > 20
    traded = [frame["trade"] for frame in frames if "trade" in frame]
    assert (
        len(traded)
        == len([trade for trade in sim.exchange.trading.trades if trade.symbol == "cents"])
        > 5
    )


def test_a_client_trades_with_a_maker_who_quotes_anew(living: Connection) -> None:
    sim = living.simulation
    body = {
        "marketSlug": "cents",
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.51", "currency": "USD"},
        "quantity": 80,
        "tif": "TIME_IN_FORCE_DAY",
    }
    answer = living.retail(key(sim)).post("/v1/orders", json=body)
    assert answer.status == 200
    assert sim.exchange.trading.trades[-1].qty == 80
    assert depth(sim, "cents")[1][0] == (51, 20)
    living.advance("6s")
    mine = sim.exchange.trading.orders.open_of((sim.account_named("mm"),), ("cents",))
    assert (
        sum(order.leaves_qty for order in mine if order.side is Side.SELL and order.price <= 52)
        > 20
    )


# ---- what they do


def test_quotes_follow_the_fair_price_along_its_path_at_their_interval() -> None:
    sim = sim_of("""
participants:
  fair_prices: [{symbol: cents, path: [{at: +0s, price: "0.30"}, {at: +40s, price: "0.70"}, {at: 2026-09-08T14:02:00-04:00, price: "0.70"}]}]
  makers: [{name: mm, symbols: cents, every: 10s, spread: "0.04", sizes: ["5", "7"], step: "0.05"}]
""")
    assert depth(sim, "cents") == ([(28, 5), (23, 7)], [(32, 5), (37, 7)])
    moved(sim, 9 * NS_PER_S)
    assert depth(sim, "cents")[0] == [(28, 5), (23, 7)], "it looks every ten seconds"
    moved(sim, 11 * NS_PER_S)
    assert depth(sim, "cents") == ([(48, 5), (43, 7)], [(52, 5), (57, 7)])
    moved(sim, HOUR)
    assert depth(sim, "cents") == ([(68, 5), (63, 7)], [(72, 5), (77, 7)])
    sent = len(sim.exchange.trading.orders)
    moved(sim, HOUR)
    assert len(sim.exchange.trading.orders) == sent, "a quote that is still right keeps its place"


def test_a_fair_price_may_follow_an_index_that_is_ticked_by_hand() -> None:
    sim = sim_of("""
participants:
  fair_prices: [{symbol: cents, asset: "crypto:btc", strike: "60000", width: "10000"}]
  makers: [{name: mm, symbols: cents}]
""")
    for price, bid in (("60000", 49), ("62000", 69), ("55500", 4), ("90000", 98)):
        sim.control("price.tick", "crypto:btc", {"price": price})
        moved(sim, 5 * NS_PER_S)
        assert depth(sim, "cents")[0][0][0] == bid


def test_the_walk_of_a_fair_price_is_the_same_however_often_it_is_looked_at() -> None:
    often, seldom = (
        sim_of(f"participants: {{makers: [{{name: mm, symbols: cents, every: {every}}}]}}")
        for every in ("1s", "1h")
    )
    moved(often, 3 * HOUR), moved(seldom, 3 * HOUR)
    at = [
        participants_of(sim.engine).fair_prices.of("cents").at(sim.now) for sim in (often, seldom)
    ]
    assert at[0] == at[1] != 10**12 // 2
    other = sim_of("participants: {makers: [{name: mm, symbols: cents}]}", seed=8)
    assert participants_of(other.engine).fair_prices.of("cents").at(often.now) != at[0]


def test_nobody_holds_more_than_his_inventory_and_nobody_trades_with_himself() -> None:
    sim = sim_of(
        CROWD.replace("skew:", 'spread: "0", skew:').replace('balance: "40"', 'inventory: "30"')
    )
    trading = sim.exchange.trading
    for _ in range(6):
        moved(sim, 10 * MINUTE)
        for symbol, scale in (("cents", 1), ("fine", 100)):
            assert abs(trading.positions.net(sim.account_named("fog"), symbol)) <= 30 * scale
            assert abs(trading.positions.net(sim.account_named("mm"), symbol)) <= 400 * scale
            assert abs(trading.positions.net(sim.account_named("crowd"), symbol)) <= 1000 * scale
    assert len(trading.trades) > 500
    assert all(
        trade.aggressor.order.account != trade.passive.order.account for trade in trading.trades
    )
    taken = [
        order
        for order in trading.orders.all()
        if order.account == sim.account_named("crowd")
        and order.symbol == "cents"
        and order.cum_qty >= 10
    ]
    assert taken
    assert all(order.commission > 0 for order in taken), "takers pay fees like everybody"


def test_arrivals_come_at_their_rate_and_are_memoryless() -> None:
    times = acts(
        moved(
            sim_of("participants: {takers: [{name: crowd, symbols: cents, rate: 60/m}]}"), 2 * HOUR
        )
    )
    waits = [after - before for before, after in pairwise(times)]
    assert 0.95 < sum(waits) / len(waits) / NS_PER_S < 1.05
    assert 0.34 < sum(wait > NS_PER_S for wait in waits) / len(waits) < 0.40, "exp(-1)"


def test_a_participant_more_changes_nobody_elses_draws() -> None:
    more = CROWD.replace("makers: [", 'makers: [{name: other, symbols: ["c?nts"], jitter: 2s}, ')
    more = more.replace("takers: [", "takers: [{name: late, symbols: cents}, ")
    few, many = (moved(sim_of(crowd), 10 * MINUTE) for crowd in (CROWD, more))
    for name in ("mm cents", "mm fine", "crowd cents", "crowd fine", "sharp cents"):
        assert acts(few, name) == acts(many, name) != []


def test_news_moves_quotes_and_a_participant_that_is_stopped_takes_its_orders_out() -> None:
    sim = sim_of(
        "participants: {makers: [{name: mm, symbols: [cents, fine], sizes: ['5']}], takers: [{name:"
        " crowd, symbols: fine, rate: 60/m}]}"
    )
    before = sim.digest
    sim.control("fair_price.set", "cents", {"price": "0.805"})
    moved(sim, 5 * NS_PER_S)
    assert depth(sim, "cents") == ([(79, 5)], [(82, 5)]), (
        "fair is 0.805 give or take a walk of seconds"
    )
    sim.control("participant.switch", "mm", {"active": False})
    assert depth(sim, "cents") == depth(sim, "fine") == ([], [])
    stopped = moved(sim, MINUTE)
    assert (len(acts(stopped, "mm cents")), len(acts(stopped, "crowd")) > 30) == (1, True)
    rows = {
        (row["name"], row["symbol"]): row
        for row in read_view(sim.engine, "participants")["participants"]
    }
    assert (
        rows["mm", "cents"]["active"],
        rows["mm", "cents"]["orders"],
        rows["crowd", "fine"]["acts"],
    ) == (False, 0, True)
    assert rows["mm", "cents"]["fair_price"].startswith("0.8")
    sim.control("participant.switch", "mm", {"active": True})
    moved(sim, 0)
    assert all(depth(sim, "cents")) and all(depth(sim, "fine"))
    sim.rewind(seq=0)
    assert sim.digest == before
    moved(sim, 5 * NS_PER_S)
    assert depth(sim, "cents")[0][0][0] in (48, 49), "a rewind takes the news back"


@pytest.mark.parametrize(
    ("action", "subject", "body", "text"),
    [
        ("fair_price.set", "cents", {"price": "1"}, "between 0 and 1 dollar"),
        ("fair_price.set", "nowhere", {"price": "0.5"}, "unknown symbol"),
        ("fair_price.set", "fine", {"price": "0.5"}, "no participant trades fine"),
        ("fair_price.set", "cents", {"prize": "0.5"}, "did you mean 'price'?"),
        ("participant.switch", "nn", {"active": True}, "no participant is called 'nn'"),
        ("participant.switch", "mm", {"active": "perhaps"}, "true or false"),
    ],
)
def test_what_cannot_be_done_to_participants_is_refused(
    action: str, subject: str, body: dict[str, object], text: str
) -> None:
    sim = sim_of("participants: {makers: [{name: mm, symbols: cents}]}")
    with pytest.raises(Refusal) as refused:
        sim.control(action, subject, body)
    assert text in refused.value.message


# ---- when they do it


def test_they_stop_where_a_market_does_not_trade_and_go_on_when_it_opens_again() -> None:
    sim = sim_of()
    sim.control("instrument.state", "cents", {"state": "HALTED"})
    orders = sim.exchange.trading.orders
    asleep = moved(sim, HOUR)
    assert len(acts(asleep, "mm cents")) == len(acts(asleep, "crowd cents")) == 1, (
        "the last timer finds it closed"
    )
    assert len(acts(asleep, "crowd fine")) > 800
    count = sum(1 for order in orders.all() if order.symbol == "cents")
    sim.control("instrument.state", "cents", {"state": "OPEN"})
    moved(sim, 10 * MINUTE)
    assert sum(1 for order in orders.all() if order.symbol == "cents") > count + 30
    again = moved(sim, 10 * MINUTE)
    assert abs(len(acts(again, "mm cents")) - 109) < 10, "one timer each, not two"


def test_a_year_of_closed_markets_costs_nothing_and_so_does_one_without_participants() -> None:
    world = (
        WORLD.replace("state: OPEN", "state: CLOSED")
        .replace("extends: quickstart\n", "")
        .replace("world:", "world:\n  base: empty")
    )
    closed, stranger = sim_of(world=world), sim_of("", world=world)
    assert moved(closed, 365 * 24 * HOUR).fired == moved(stranger, 365 * 24 * HOUR).fired
    assert len(closed.exchange.ctx.timers) == len(stranger.exchange.ctx.timers)


def test_maintenance_takes_their_orders_out_and_they_quote_again_after_it() -> None:
    sim = sim_of(
        "participants: {makers: [{name: mm, symbols: cents, every: 1m}], noise: [{name: fog,"
        " symbols: cents, rate: 1/m}]}"
    )
    to = parse_instant("2026-09-10T02:30:00-04:00")
    sim.advance_to(to)
    assert depth(sim, "cents") == ([], [])
    sim.advance_to(to + 6 * HOUR)
    assert all(depth(sim, "cents"))


# ---- determinism


@pytest.mark.long
def test_a_run_with_participants_tells_the_same_story_in_other_processes_and_replays(
    tmp_path: Path,
) -> None:
    script = (
        "import sys; from tests.run.test_participants import journal_of;"
        " print(journal_of(sys.argv[1]).digest)"
    )
    digests = []
    for number in range(2):
        environment = {**os.environ, "PYTHONHASHSEED": str(number * 77 + 1)}
        command = [sys.executable, "-c", script, str(tmp_path / f"{number}.ndjson")]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
            check=True,
        )
        digests.append(done.stdout.strip())
    assert digests[0] == digests[1] != ""
    replay_file(tmp_path / "0.ndjson")


def journal_of(path: str) -> Simulation:
    """A run with trades, a halt, a rewind and a reset."""
    with Path(path).open("w+b", buffering=0) as file:
        sim = sim_of(journal=file)
        moved(sim, 10 * MINUTE)
        sim.control("instrument.state", "fine", {"state": "HALTED"})
        moved(sim, 10 * MINUTE)
        sim.rewind(seq=1)
        moved(sim, 5 * MINUTE)
        sim.reset()
        moved(sim, 20 * MINUTE)
    return sim


def test_a_rewind_takes_participants_back_with_everything_else() -> None:
    sim = sim_of(CROWD.replace("[cents, fine], rate", "['c?nts', fine], rate"))
    moved(sim, 10 * MINUTE)
    there, seq = sim.digest, sim.seq
    moved(sim, 10 * MINUTE)
    ahead = sim.digest
    sim.rewind(seq=seq)
    assert sim.digest == there
    moved(sim, 10 * MINUTE)
    assert sim.digest == ahead
    sim.control("instrument.create", "", {"symbol": "cants", "state": "OPEN"})
    other = sim.fork()
    moved(sim, MINUTE), moved(other, MINUTE)
    assert sim.digest == other.digest
    sim.snapshot("here")
    moved(sim, MINUTE)
    later = sim.digest
    sim.restore("here")
    moved(sim, MINUTE)
    assert sim.digest == later


# ---- invariants


@settings(max_examples=25)
@given(data=st.data())
def test_money_and_contracts_add_up_under_participants_whatever_happens(
    data: st.DataObject,
) -> None:
    balances = data.draw(
        st.lists(st.sampled_from(("3", "25", "400", "100000")), min_size=3, max_size=3)
    )
    crowd = CROWD.replace('"5000"', f'"{balances[0]}"').replace('"40"', f'"{balances[1]}"')
    crowd = crowd.replace("{name: crowd,", f'{{name: crowd, balance: "{balances[2]}",')
    sim = sim_of(crowd, seed=data.draw(st.integers(0, 10**6)))
    trading = sim.exchange.trading
    assert violations(trading) == []
    for _ in range(data.draw(st.integers(1, 6))):
        kind = data.draw(
            st.sampled_from(
                (
                    "time",
                    "time",
                    "HALTED",
                    "SUSPENDED",
                    "OPEN",
                    "CLOSED",
                    "PREOPEN",
                    "settle",
                    "cancel",
                    "bust",
                )
            )
        )
        symbol = data.draw(st.sampled_from(("cents", "fine")))
        try:
            if kind == "settle":
                sim.control(
                    "instrument.settle",
                    symbol,
                    {"price": data.draw(st.sampled_from(("0", "0.5", "1")))},
                )
            elif kind == "cancel":
                trading.listings.cancel_all((symbol,))
            elif kind == "bust" and trading.trades:
                trading.listings.bust(
                    trading.trades[data.draw(st.integers(0, len(trading.trades) - 1))].id
                )
            elif kind.isupper():
                sim.control("instrument.state", symbol, {"state": kind})
        except Refusal:
            pass
        moved(sim, data.draw(st.integers(1, 10 * MINUTE)))
        assert violations(trading) == []
    assert not any(execution.type is ExecutionType.REJECTED for execution in trading.executions), (
        "what they may not do leaves no trace"
    )


# ---- mistakes

WRONG = [
    ("makers: [{name: mm, symbols: cent}]", "unknown symbol 'cent'; did you mean 'cents'?"),
    ("makers: [{name: mm, symbols: [cents, 'zz*']}]", "unknown symbol 'zz*'"),
    ("makers: [{name: mm, symbols: cents, every: 0s}]", "expected an interval: at least 1ms"),
    (
        "makers: [{name: mm, symbols: cents, sprad: '0.02'}]",
        "unknown key 'sprad'; did you mean 'spread'?",
    ),
    ("makers: [{name: mm, symbols: cents, spread: '-0.02'}]", "from 0 to 1, not '-0.02'"),
    ("makers: [{name: 'm m', symbols: cents}]", "expected a name: at most 64 letters"),
    (
        "makers: [{name: mm, symbols: cents, as: firms/no/users/body}]",
        "there is no firm or participant 'firms/no/users/body'",
    ),
    ("takers: [{name: t, symbols: cents, rate: often}]", 'write "12/m" or "1/30s"'),
    ("takers: [{name: t, symbols: cents, rate: 9999/s}]", "at most 1000 a second"),
    ("takers: [{name: t, symbols: cents, size: {low: '9', high: '3'}}]", "low 9 is above high 3"),
    (
        "{makers: [{name: t, symbols: cents}], noise: [{name: t, symbols: cents}]}",
        "two participants are called 't'",
    ),
    ("makers: [{name: mm, symbols: cents, every: 99999h}]", "at most 366 days"),
    ("makers: [{name: mm, symbols: cents, jitter: 8800h}]", "at most 366 days"),
    ("makers: [{name: mm, symbols: cents, step: '0.0000000000001'}]", "is not above zero"),
    (
        "makers: [{name: mm, symbols: cents, balance: '10000000001'}]",
        "is not from 0 to ten billion",
    ),
    ("noise: [{name: mm, symbols: cents, resting: 1001}]", "from 1 to 1000"),
    ("noise: [{name: mm, symbols: cents, width: '1.5'}]", "1.5 is not from 0 to 1"),
    ("takers: [{name: mm, symbols: cents, rate: 1/400d}]", "at least one a year"),
    ("fair_prices: [{symbol: cents, start: '1.5'}]", "1.5 is not from 0 to 1"),
    ("fair_prices: [{symbol: cents, start: '1'}]", "a price must be between 0 and 1 dollar, not 1"),
    (
        "makers: [{name: mm, symbols: cents, balance: '0.000000001'}]",
        "expected dollars, zero or more",
    ),
    ("fair_prices: [{symbol: nowhere}]", "unknown symbol 'nowhere'"),
    ("fair_prices: [{symbol: cents, volatility: '0.2'}]", "at most 0.05 dollars in an hour"),
    ("fair_prices: [{symbol: cents, asset: btc}]", "write an asset as crypto:<symbol>"),
    (
        "fair_prices: [{symbol: cents, path: [{at: +2m, price: '0.1'}, {at: +1m, price: '0.2'}]}]",
        "in order of time",
    ),
    (
        "fair_prices: [{symbol: cents, path: [{at: +2m, price: '0.1'}], asset: 'crypto:btc'}]",
        "a path or an asset, not both",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_participants_that_cannot_be_are_told_at_their_line(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(f"{WORLD}participants:\n  {text}\n")
    assert message in str(wrong.value)
    assert wrong.value.problems[0].line == 9


def test_what_a_file_changes_of_what_it_extends_is_told_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        WORLD + "participants: {takers: [{name: t, symbols: cents, size: {low: '5', high: '9'}}]}\n"
    )
    (tmp_path / "top.yaml").write_text(
        "name: top\nextends: base\nparticipants: {takers: [{name: t, symbols: cents, size: {low:"
        " '7'}}]}\n"
    )
    assert load_scenario(str(tmp_path / "top.yaml")).participants.takers[0].size.high == "9"
    (tmp_path / "top.yaml").write_text(
        "name: top\nextends: base\nparticipants: {noise: [{name: t, symbols: cents}]}\n"
    )
    with pytest.raises(ScenarioError, match=r"top.yaml:3:31: two participants are called 't'"):
        load_scenario(str(tmp_path / "top.yaml"))


HUGE = "999999999999999999"
AMOUNTS = st.sampled_from(("0.000000000000000001", "0.005", "1", "33", "1000", HUGE))
SHARES = st.sampled_from(("0.0000001", "0.003", "0.01", "0.33", "0.99", "1"))
COMMON = {
    "as": st.sampled_from(("maker", "firms/atlas/users/mara-voss")),
    "balance": st.sampled_from(("0", "0.01", "70", "10000000000")),
    "inventory": AMOUNTS,
}
SIZE = st.one_of(
    st.fixed_dictionaries({}, optional={"low": AMOUNTS, "high": AMOUNTS}),
    st.just({"low": HUGE, "high": HUGE}),
)
KINDS = {
    "makers": {
        "spread": SHARES,
        "skew": SHARES,
        "step": SHARES,
        "sizes": st.lists(AMOUNTS, max_size=3),
        "every": st.sampled_from(("1ms", "1s", "1h", "366d")),
        "jitter": st.sampled_from(("0s", "1s", "366d")),
    },
    "takers": {
        "rate": st.sampled_from(("1000/s", "1/1s", "1/366d")),
        "size": SIZE,
        "slippage": SHARES,
        "edge": SHARES,
        "buys": st.just("always"),
    },
    "noise": {
        "rate": st.sampled_from(("200/s", "1/s")),
        "size": SIZE,
        "width": SHARES,
        "resting": st.sampled_from((1, 1000)),
        "cancels": st.just("never"),
    },
}
FAIR = {
    "volatility": st.sampled_from(("0", "0.05", "0.06")),
    "start": SHARES,
    "asset": st.just("crypto:btc"),
    "strike": st.sampled_from(("0", "60000", HUGE)),
    "width": AMOUNTS,
}


@settings(max_examples=15)
@given(st.data())
def test_whatever_a_scenario_says_of_participants_runs_or_is_told_where_it_is_wrong(
    data: st.DataObject,
) -> None:
    section: dict[str, object] = {
        "fair_prices": [{"symbol": "fine", **data.draw(st.fixed_dictionaries({}, optional=FAIR))}]
    }
    for kind, fields in KINDS.items():
        section[kind] = [
            {
                "name": kind,
                "symbols": ["cents", "fine"],
                **data.draw(st.fixed_dictionaries({}, optional={**COMMON, **fields})),
            }
        ]
    text = WORLD + f"participants: {json.dumps(section)}\n"
    try:
        sim = Simulation(load_scenario(text))
    except ScenarioError as wrong:
        assert all(problem.line == 8 and problem.column > 1 for problem in wrong.problems)
        return
    moved(sim, NS_PER_S // 10)
    seq = sim.seq
    moved(sim, 2 * NS_PER_S // 10)
    assert violations(sim.exchange.trading) == []
    digest = sim.digest
    sim.rewind(seq=seq), sim.advance_to(sim.now + 2 * NS_PER_S // 10)
    assert sim.digest == digest
