"""What a step sends is read before anything runs: names, words and types of bodies, queries and
frames, all problems of a file at once.
"""

from __future__ import annotations

import pytest

from sim import load_scenario
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
        load_scenario(HEAD + steps)
    except ScenarioError as error:
        first = HEAD.count("\n")
        return [f"{each.line - first}:{each.column}: {each.message}" for each in error.problems]
    return []


def test_every_slip_of_a_file_is_told_with_its_place_and_what_would_be_right() -> None:
    assert problems(f"""\
  - call:
      {ENTER.replace(", ", chr(10) + "      ")}
      json:
        type: LIMIT
        side: SIDE_BUYY
        symbol: rain
        orderQty: five
        qty: 5
  - call: {{plane: gateway, get: /v1/markets, query: {{limt: 5, order_direction: down}}}}
  - call: {{plane: gateway, get: "/v1/asset-prices/history?assets=crypto:btc&frm=0"}}
  - call: {{plane: grpc, rpc: OrderBookAPI.GetOrderBook, as: atlas, json: {{symbols: [rain]}}}}
""") == [
        "6:15: type: 'LIMIT' is not a member of OrderType; did you mean 'ORDER_TYPE_LIMIT'?",
        "7:15: side: 'SIDE_BUYY' is not a member of Side; did you mean 'SIDE_BUY'?",
        "9:19: orderQty: expected a whole number",
        "10:9: InsertOrderRequest has no 'qty'; did you mean 'orderQty'?",
        "11:54: GatewayMarketsAPI.ListMarkets has no parameter 'limt'; did you mean 'limit'?",
        "12:33: GatewayAssetPricesAPI.GetAssetPriceHistory has no parameter 'frm'; did you mean"
        " 'from'?",
        "12:33: the query needs from, bucket (to test a refusal, add `expect: {refused: true}`)",
        "13:74: GetOrderBookRequest needs symbol"
        " (to test a refusal, add `expect: {refused: true}`)",
        "13:75: GetOrderBookRequest has no 'symbols'; did you mean 'symbol'?",
    ]


def test_frames_of_streams_are_read_too() -> None:
    socket = "web_socket: /v1/ws/markets, as: firms/retail/accounts/5c1e90d2"
    frame = "{subscribe: {requestId: a, subscriptionType: SUBSCRIPTION_TYPE_TRADES}}"
    assert problems(f"""\
  - subscribe: {{name: s, {socket}, send: [{frame}]}}
  - send:
      stream: s
      frames:
        - unsubscribe: {{request: a}}
  - subscribe: {{name: books, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription, as: atlas,
      json: {{symbol: rain}}}}
""") == [
        "1:142: subscribe.subscriptionType: 'SUBSCRIPTION_TYPE_TRADES' is not a member of"
        " SubscriptionType; did you mean 'SUBSCRIPTION_TYPE_TRADE'?",
        "5:24: unsubscribe needs requestId (to test a refusal, add `expect: {refused: true}`)",
        "5:25: unsubscribe has no 'request'; did you mean 'requestId'?",
        "7:14: CreateMarketDataSubscriptionRequest has no 'symbol'; did you mean 'symbols'?",
    ]


@pytest.mark.parametrize("expect", ["status: 400", "code: 3", "refused: true", "refused: maybe"])
def test_a_step_that_may_be_refused_may_send_what_it_likes(expect: str) -> None:
    odd = f"  - {{call: {{{ENTER}, json: {{nonsense: 1}}}}, expect: {{{expect}}}}}\n"
    assert problems(odd) == []
    assert len(problems(odd.replace(expect, "status: 200"))) == 2


def test_what_only_the_run_knows_is_left_to_it() -> None:
    assert not problems(f"""\
  - call: {{plane: gateway, get: /v2/leagues, query: {{limit: "2"}}}}
    save: {{id: leagues.0.slug, body: leagues.0.slug}}
  - {{call: {{{ENTER}, json: {{{GOOD.replace("ORDER_TYPE_LIMIT", "'${id}'")}, order_qty: "${{id}}"}}}}}}
  - {{call: {{{ENTER}, json: "${{body}}"}}}}
  - {{call: {{{ENTER}, json: {{{GOOD}, clordId: null, cashOrderQty: 5}}}}}}
""")


def test_a_body_where_a_query_belongs_is_told() -> None:
    assert problems("  - call: {plane: gateway, get: /v1/markets, json: {limit: 5}}\n") == [
        "1:46: GatewayMarketsAPI.ListMarkets takes parameters instead of a body: use `query`"
    ]
