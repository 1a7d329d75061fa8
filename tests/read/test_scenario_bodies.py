"""What a step sends is held against its operation: names, words and types of bodies, queries and
frames. `sim check` tells every step that the exchange refuses, and every name that it ignores.
"""

from __future__ import annotations

import pytest

from sim import load_scenario
from sim.read.headless_run import run_scenario
from sim.read.scenario_check import check
from sim.world.format.yaml_tree import ScenarioError

HEAD = """\
name: bodies
extends: quickstart
params: {x: ORDER_TYPE_LIMIT}
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
steps:
"""
ENTER = "plane: exchange, post: /v1/trading/orders, as: mara-voss"
GOOD = 'type: ORDER_TYPE_LIMIT, side: SIDE_BUY, symbol: rain, price: "40"'


def problems(steps: str) -> list[str]:
    """What is wrong with steps, each with its place in them: line:column: message."""
    try:
        check(HEAD + steps)
    except ScenarioError as error:
        first = HEAD.count("\n")
        return [f"{each.line - first}:{each.column}: {each.message}" for each in error.problems]
    return []


REFUSED = 'refused: 400 {"code":3,"message":"%s","details":[]}; if this is intended, add'
MEANT = f"{REFUSED} `expect: {{status: 400}}`"


def test_every_slip_of_a_file_is_told_with_its_place_and_what_would_be_right() -> None:
    assert problems(f"""\
  - call: {{{ENTER}, json: {{{GOOD}, orderQty: five, qty: 5}}}}
  - call: {{{ENTER}, json: {{{GOOD}, qty: 5}}}}
  - call: {{{ENTER}, json: {{{GOOD.replace("SIDE_BUY", "SIDE_BUYY")}, orderQty: 5}}}}
  - call: {{plane: gateway, get: /v1/markets, query: {{limt: 5, order_direction: down}}}}
  - call: {{plane: gateway, get: "/v1/asset-prices/history?assets=crypto:btc&frm=0"}}
  - call: {{plane: grpc, rpc: OrderBookAPI.GetOrderBook, as: atlas, json: {{symbols: [rain]}}}}
  - call: {{plane: grpc, rpc: OrderBookAPI.GetOrderBook, as: atlas, json: {{symbol: rain, depth: x}}}}
""") == [
        f"1:5: {MEANT % 'orderQty: expected a whole number'}",
        f"2:5: {MEANT % 'order_qty is required'}",
        "2:5: InsertOrderRequest has no 'qty'; did you mean 'orderQty'?",
        "3:5: "
        + MEANT % "side: 'SIDE_BUYY' is not a member of Side"
        + "; did you mean 'SIDE_BUY'?",
        f"4:5: {MEANT % 'orderDirection must be asc or desc'}",
        "4:5: ListMarketsRequest has no 'limt'; did you mean 'limit'?",
        "5:5: "
        + MEANT.replace(";", " (ASSET_PRICE_BUCKET_1S to ASSET_PRICE_BUCKET_1D);")
        % "bucket is required",
        "5:5: GetAssetPriceHistoryRequest has no 'frm'; did you mean 'from'?",
        "6:5: refused: this is not a valid GetOrderBookRequest: GetOrderBookRequest has no"
        " 'symbols'; did you mean 'symbol'?",
        "7:5: refused: this is not a valid GetOrderBookRequest: depth: expected a whole number",
    ]


def test_a_name_that_the_exchange_would_ignore_fails_the_run_too() -> None:
    steps = "  - call: {plane: gateway, get: /v1/markets, query: {limt: 5}}\n"
    [result] = run_scenario(load_scenario(HEAD + steps)).results
    assert result.failures == ("ListMarketsRequest has no 'limt'; did you mean 'limit'?",)


def test_frames_of_streams_are_read_too() -> None:
    socket = "web_socket: /v1/ws/markets, as: firms/retail/accounts/5c1e90d2"
    frame = "{subscribe: {requestId: a, subscriptionType: SUBSCRIPTION_TYPE_TRADES}}"
    assert problems(f"""\
  - subscribe: {{name: s, {socket}}}
  - subscribe: {{name: t, {socket}, send: [{frame}]}}
  - send:
      stream: s
      frames:
        - unsubscribe: {{request: a}}
  - subscribe: {{name: books, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription, as: atlas,
      json: {{symbol: rain}}}}
""") == [
        "2:5: refused: this is not a valid MarketsRequestFrame: subscribe.subscriptionType:"
        " 'SUBSCRIPTION_TYPE_TRADES' is not a member of SubscriptionType; did you mean"
        " 'SUBSCRIPTION_TYPE_TRADE'?",
        "3:5: refused: this is not a valid MarketsRequestFrame: unsubscribe has no 'request'; did"
        " you mean 'requestId'?",
        "7:5: refused: this is not a valid CreateMarketDataSubscriptionRequest:"
        " CreateMarketDataSubscriptionRequest has no 'symbol'; did you mean 'symbols'?",
    ]


@pytest.mark.parametrize("expect", ["status: 400", "code: 3", "refused: true", "refused: maybe"])
def test_a_step_that_may_be_refused_may_send_what_it_likes(expect: str) -> None:
    odd = f"  - {{call: {{{ENTER}, json: {{nonsense: 1}}}}, expect: {{{expect}}}}}\n"
    assert problems(odd) == []
    assert len(problems(odd.replace(expect, "status: 200"))) == 2


def test_saved_values_and_nulls_are_values_like_others() -> None:
    order = GOOD.replace("ORDER_TYPE_LIMIT", "'${x}'")
    assert not problems(f"""\
  - call: {{{ENTER}, json: {{{GOOD}, orderQty: 5}}}}
    save: {{id: orderId}}
  - {{call: {{plane: exchange, as: mara-voss, get: "/v1/report/orders/${{id}}"}}}}
  - {{call: {{{ENTER}, json: {{{order}, clordId: null, order_qty: 5}}}}}}
""")


@pytest.mark.parametrize("name", ["7", "", "a.b", "a[", "zz.b", "x" * 300])
def test_any_text_may_be_a_wrong_name(name: str) -> None:
    order = f'{{{GOOD}, orderQty: 5, "{name}": 1}}'
    [line] = problems(f"  - call: {{{ENTER}, json: {order}}}\n")
    assert line.startswith(f"1:5: InsertOrderRequest has no '{name}'; known: type, side")


def test_a_body_where_a_query_belongs_is_told() -> None:
    assert problems("  - call: {plane: gateway, get: /v1/markets, json: {limit: 5}}\n") == [
        "1:46: GatewayMarketsAPI.ListMarkets takes parameters instead of a body: use `query`"
    ]
