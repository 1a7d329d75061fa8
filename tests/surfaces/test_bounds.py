"""Every quantity, sum and instant has a limit: values up to it work, values beyond it are refused.

A value at the limit is read on every surface, saved, forked, rewound and replayed.
"""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.bounds import BOUNDS, CONTRACTS, MONEY, ORDER_QUANTITY
from sim.core.model.refusals import Refusal
from sim.core.service.rate_limits import LIMITS
from sim.kernel.journal_reader import read_journal
from sim.read.replay import simulation_of, verify
from sim.run.client.client import RpcError
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm, key
from tests.kit import Desk, begin, order, retail_order

INT64 = 2**63 - 1
SCENARIO = """
name: edges
preset: ideal
world:
  base: empty
  instruments: [{symbol: edge, state: OPEN}, {symbol: fine, state: OPEN, tick_size: "0.001", price_scale: 10000, fractional_qty_scale: 10000}]
  firms: [{name: firms/atlas, key: atlas, users: [{name: one, balance: "0"}, {name: two, balance: "0"}]}]
  api_keys: [{key_id: 11111111-1111-4111-8111-111111111111, account: firms/atlas-fcm/accounts/one}]
"""


@pytest.fixture
def edge() -> Desk:
    return edge_world()


def edge_world() -> Desk:
    """An empty exchange with two participants without money, and no rate limits."""
    unlimited = ", ".join(f"{name}: off" for name in LIMITS)
    return begin(f"{SCENARIO}limits: {{{unlimited}}}\n", journal=io.BytesIO())


def fund(world: Desk, user: int, amount: str) -> str:
    """Pay into an account, or out of it; "" or why that was refused."""
    account = world.account(user)
    try:
        world.operate("account.fund", account, amount=amount)
    except Refusal as refusal:
        return refusal.message
    return ""


def room(world: Desk) -> int:
    """Whole dollars that may still come in."""
    states = world.trading.ledger
    held = sum(account.balance for account in states if account.balance > 0)
    return MONEY.high - held // 10**8


def place(world: Desk, user: int, side: str, cents: int, contracts: int, **fields: object):
    instrument = world.instrument("edge")
    body = order(instrument, side, cents, contracts, **fields)
    return world.trader(user).post("/v1/trading/orders", json=body)


def check_everything_works(world: Desk) -> None:
    """Reads on all surfaces, housekeeping, time travel and a replay."""
    simulation = world.simulation
    for user in (0, 1):
        rpc, name = world.rpc_trader(user), firm(simulation).users[user].account
        rpc.call(
            "PositionAPI.GetAccountBalance",
            wire.GetAccountBalanceRequest(name=name, currency="USD"),
        )
        rpc.call("PositionAPI.ListAccountPositions", wire.ListAccountPositionsRequest(name=name))
        rpc.call("OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest())
        for report in ("SearchOrders", "SearchExecutions", "SearchTrades"):
            rpc.call(f"ReportAPI.{report}", getattr(wire, f"{report}Request")())
        http = world.trader(user)
        assert http.get("/v1/positions", params={"name": name}).status == 200
        assert http.get("/v1/orderbook/edge").status == 200
    for path in ("/v1/account/balances", "/v1/portfolio/positions", "/v1/portfolio/activities"):
        assert world.retail(key(simulation)).get(path).status == 200
    assert world.gateway.get("/v1/markets").status == 200
    digest, seq = simulation.digest, simulation.seq
    forked = simulation.fork()
    assert forked.digest == digest
    forked.rewind(seq=0)
    forked.rewind(seq=0)
    simulation.snapshot("edge")
    simulation.rewind(seq=seq // 2)
    simulation.restore("edge")
    assert simulation.digest == digest
    header, lines = read_journal(io.BytesIO(simulation.journal.file.getvalue()))
    replayed = simulation_of(header)
    verify(replayed, lines)
    assert replayed.digest == digest
    world.forget_tokens()


def test_all_money_together_has_an_edge(edge: Desk) -> None:
    most = room(edge)
    assert fund(edge, 0, str(most // 2)) == ""
    assert fund(edge, 1, str(most - most // 2)) == ""
    check_everything_works(edge)
    assert "money: from 0 to 40000000000 dollars" in fund(edge, 0, "0.01")
    assert fund(edge, 0, "-1") == ""
    assert fund(edge, 1, "1") == ""
    assert fund(edge, 1, "0.01") != ""
    check_everything_works(edge)


def test_money_on_its_way_counts(edge: Desk) -> None:
    account = edge.account()
    half = {"amount": str(room(edge) // 2 + 1), "source": "atlas-bank"}
    edge.simulation.control("account.fund", account, half)
    with pytest.raises(Refusal, match="money"):
        edge.simulation.control("account.fund", account, half)
    edge.advance("1h")
    with pytest.raises(Refusal, match="money"):
        edge.simulation.control("account.fund", account, half)
    # a withdrawal that may still come back makes no room
    edge.simulation.control(
        "account.fund", account, {**half, "amount": f"-{half['amount']}", "script": "hold"}
    )
    with pytest.raises(Refusal, match="money"):
        edge.simulation.control("account.fund", account, half)
    check_everything_works(edge)


def test_the_quantity_of_an_order_has_an_edge(edge: Desk) -> None:
    most = ORDER_QUANTITY.high
    assert fund(edge, 0, "30000000000") == ""
    assert place(edge, 0, "buy", 0, 0, symbol="fine", orderQty=str(most), price="10").status == 200
    check_everything_works(edge)
    for fields in (
        {"orderQty": str(most + 1)},
        {"orderQty": str(INT64)},
        {"minQty": str(most + 1)},
    ):
        refused = place(edge, 0, "buy", 1, 1, **fields)
        assert (refused.status, refused.json()["code"]) == (400, 3)
        assert "out of range" in refused.json()["message"]
    cash = {"orderQty": "0", "cashOrderQty": str(MONEY.high * 100 + 1)}
    assert place(edge, 0, "buy", 1, 1, **cash).status == 400
    with pytest.raises(RpcError) as refusal:
        edge.rpc_trader().call(
            "OrderEntryAPI.InsertOrder",
            wire.InsertOrderRequest(
                symbol="edge", side=1, type=2, order_qty=most + 1, price=1, time_in_force=2
            ),
        )
    assert refusal.value.code == 3
    body = {**retail_order(edge.instrument("edge"), "BUY_LONG", 1, most + 1)}
    assert edge.customer().post("/v1/orders", json=body).status == 400
    check_everything_works(edge)


def test_the_quantity_that_an_order_is_changed_to_has_the_same_edge(edge: Desk) -> None:
    most = ORDER_QUANTITY.high
    assert fund(edge, 0, "30000000000") == ""
    account, replace = edge.trader(0), "/v1/trading/orders/replace"
    placed = place(edge, 0, "buy", 0, 0, symbol="fine", orderQty="20000", price="10")
    changed = {"orderId": placed.json()["orderId"], "symbol": "fine"}
    for fields in (
        {"orderQty": str(most + 1)},
        {"orderQty": str(INT64)},
        {"minQty": str(most + 1)},
        {"orderQty": str(most), "minQty": str(most + 1)},
    ):
        refused = account.post(replace, json=changed | fields)
        assert (refused.status, refused.json()["code"]) == (400, 3)
        assert "out of range" in refused.json()["message"]
    assert account.post(replace, json=changed | {"orderQty": str(most)}).status == 200
    (order_,) = account.get("/v1/trading/orders/open").json()["orders"]
    assert order_["orderQty"] == str(most)
    check_everything_works(edge)


def test_what_trades_in_an_instrument_has_an_edge(edge: Desk) -> None:
    half = CONTRACTS.high // 2
    assert fund(edge, 0, str(half // 100 * 2)) == ""
    assert fund(edge, 1, str(half)) == ""
    for first, second in (("buy", "sell"), ("sell", "buy")):
        assert place(edge, 0, first, 1, half).status == 200
        assert place(edge, 1, second, 1, half).status == 200
    check_everything_works(edge)
    stats = edge.rpc_trader().call(
        "ReportAPI.GetTradeStats", wire.GetTradeStatsRequest(symbol="edge", bars=1)
    )
    assert stats is not None
    refused = place(edge, 0, "buy", 1, 1)
    assert refused.status == 422
    assert "High traded volume limit is 40000000000" in refused.json()["message"]
    check_everything_works(edge)


@pytest.mark.parametrize("good_till", ["9999-12-31T23:59:59.999999999Z", "2262-04-12T00:00:00Z"])
def test_an_order_may_last_to_the_end_of_the_calendar_of_the_contract(edge, good_till) -> None:
    assert fund(edge, 0, "100") == ""
    gtt = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": good_till}
    placed = place(edge, 0, "buy", 40, 1, **gtt)
    assert placed.status == 200
    check_everything_works(edge)
    (working,) = edge.trader().get("/v1/trading/orders/open").json()["orders"]
    assert working["goodTillTime"] == good_till
    # where it means nothing, any instant of the contract is taken
    assert place(edge, 0, "buy", 40, 1, goodTillTime="0001-01-01T00:00:00Z").status == 200
    check_everything_works(edge)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limits: {public: 0/s}", "calls of a limit: from 1 to 1000000 calls"),
        ("limits: {public: 1000001/s}", "calls of a limit"),
        ("limits: {public: 99999999999999999999/s}", "calls of a limit"),
        ("limits: {public: 1/0s}", "period of a limit"),
        ("limits: {public: 1/25h}", "period of a limit"),
        ("limits: {public: 5/99999999999999999999h}", "longer than the calendar"),
        ("world: {games: 20001}", "games: from 0 to 20000"),
        ("world: {games: 999999999999}", "games: from 0 to 20000"),
        (
            "world: {accounts: [{name: firms/a/accounts/b, balance: '40000000000.01'}]}",
            "money: from",
        ),
        ("world: {accounts: [{name: firms/a/accounts/b, balance: '-1'}]}", "money: from"),
        (
            "world: {accounts: [{name: firms/a/accounts/b, balance: '40000000000'}]}",
            "together; money: from",
        ),
        ("world: {firms: [{name: firms/a, limits: {order_insert: 0}}]}", "calls of a limit"),
        (
            "world: {firms: [{name: firms/a, limits: {order_inset: 5}}]}",
            "did you mean 'order_insert'",
        ),
        ("assumptions: {webhook.attempts: 1000000001}", "an integer from 0 to 1000000000"),
        ("world: {events: [{slug: e, home_score: 1000000001}]}", "count: from 0 to 1000000000"),
        ("faults: [{match: {nth: 1000000001}, act: {status: 503}}]", "count: from 0"),
        ('world: {firms: [{name: "firms/a\\0"}]}', "one line of printable characters"),
        ("world: {firms: [{name: " + "x" * 201 + "}]}", "name: from 1 to 200 characters"),
    ],
)
def test_a_scenario_beyond_an_edge_is_told_the_edge(text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_scenario(f"name: beyond\n{text}\n")
    assert words in str(refused.value)
    assert all(problem.line for problem in refused.value.problems)


@pytest.mark.parametrize(
    "text",
    [
        "limits: {public: 1000000/24h, retail: 1/1ms}",
        "world: {base: empty, accounts: [{name: firms/a/accounts/b, balance: '39900000000'}]}",
        "assumptions: {webhook.attempts: 1000000000}",
    ],
)
def test_a_scenario_at_an_edge_runs(text: str) -> None:
    simulation = Simulation(load_scenario(f"name: at the edge\n{text}\n"))
    assert simulation.fork().digest == simulation.digest


def test_every_edge_says_what_why_and_where() -> None:
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS)
    assert all(bound.low < bound.high and bound.where and bound.reason for bound in BOUNDS)


AMOUNTS = st.sampled_from(
    ["0.01", "1", "1000000", "9999999999.99", "20000000000", "40000000000", "-0.01", "-1000000000"]
)
QUANTITIES = st.sampled_from([1, 7, 10**6, 10**10, 2 * 10**10, 10**12, 10**12 + 1, INT64])
PRICES = st.sampled_from([1, 2, 50, 98, 99, 100, INT64])
DEEDS = st.one_of(
    st.tuples(st.just("fund"), st.integers(0, 1), AMOUNTS),
    st.tuples(
        st.just("order"),
        st.integers(0, 1),
        st.booleans(),
        PRICES,
        QUANTITIES,
        st.sampled_from(["edge", "fine"]),
    ),
    st.tuples(st.just("cash"), st.integers(0, 1), st.booleans(), PRICES, QUANTITIES),
    st.tuples(
        st.just("settle"), st.sampled_from(["0", "1", "0.5"]), st.sampled_from(["edge", "fine"])
    ),
    st.tuples(st.just("bust"), st.integers(0, 3)),
    st.tuples(st.just("advance"), st.sampled_from(["1s", "8h"])),
)


def perform(world: Desk, move: tuple) -> None:
    """Do something at an edge. What is refused is a client's error and never one of ours."""
    match move:
        case ("fund", user, amount):
            fund(world, user, amount)
        case ("order", user, buys, price, qty, symbol):
            fields = {"symbol": symbol, "price": str(price), "orderQty": str(qty)}
            answer = place(world, user, "buy" if buys else "sell", 1, 1, **fields)
            assert answer.status in (200, 400, 409, 422), answer.body
        case ("cash", user, buys, price, qty):
            fields = {"orderQty": "0", "cashOrderQty": str(qty), "price": str(price)}
            answer = place(world, user, "buy" if buys else "sell", 1, 1, **fields)
            assert answer.status in (200, 400, 409, 422), answer.body
        case ("settle", price, symbol):
            with suppress(Refusal):
                world.settle(symbol, price)
        case ("bust", number):
            trades = world.trading.execution_log.trades.rows
            if number < len(trades):
                with suppress(Refusal):
                    world.operate("trade.bust", trades[number].id)
        case ("advance", by):
            world.advance(by)


@settings(max_examples=25, deadline=None)
@given(st.lists(DEEDS, max_size=14))
def test_nothing_that_is_accepted_leaves_what_can_be_told(deeds: list[tuple]) -> None:
    world = edge_world()
    for stream in ("CreateDropCopySubscription", "CreatePositionChangeSubscription"):
        world.rpc_trader().stream(f"DropCopyAPI.{stream}", getattr(wire, f"{stream}Request")())
    for move in deeds:
        perform(world, move)
    check_everything_works(world)
