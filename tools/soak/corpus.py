"""The inputs of the searches: bundled scenarios, one that uses nearly every key, and values outside
the range of dates, accounts and encodings.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.world.format.yaml_tree import read_file, read_text, value_of

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"
# Scenarios that run in less than a second; mutants of the others find the same defects in minutes.
QUICK = (
    "combo-by-quote",
    "day-orders-at-the-close",
    "halt-and-suspension",
    "injected-faults",
    "kyc-approval-window",
    "maintenance-window",
    "money-through-a-bank",
    "price-time-priority",
    "quickstart",
    "reacting-to-events",
    "settlement-and-payout",
)
WHOLE = """
name: whole
description: a word for nearly every key of the format
seed: 11
extends: quickstart
environment: sandbox
preset: realistic
clock: {start: 2026-07-09T01:58:00-04:00, mode: manual}
params: {px: "0.3"}
matrix: {side: [buy, sell]}
world:
  games: 0
  standing_orders: false
  automated_windows: false
  instruments:
    - {symbol: a, tick_size: "0.005", price_scale: 1000, fractional_qty_scale: 100, state: OPEN, event: my, line: "1", event_outcome: directional, minimum_trade_qty: 1, price_limit: {low: "0.01", high: "0.99"}, order_size_limit: {low: "0.01", high: "100000"}, created: 2026-07-01, start: 2026-07-02, expiration: 2026-08-01, termination: 2026-08-09, schedule: [{days: [monday], start: "01:00", length: 2h, state: OPEN}], metadata: {k: v}}
    - {symbol: b, description: d, question: q, product_id: p, fee_class: standard, market_type: moneyline, sports_market_type: moneyline, category: sports, subcategory: nfl, series: s, long: away, player: x, pick: home}
  firms: [{name: firms/new, display_name: New, client_id: c1, key: spare-1, clearing_firm: firms/new-fcm, scopes: ["read:orders"], users: [{name: u1, balance: "5"}], limits: {order_insert: 5}, funding_sources: [{id: bank1, type: bank, disabled: false, max_deposit: "100"}]}]
  accounts: [{name: firms/atlas-fcm/accounts/8f3a61c4, collateral_return: true, balance: "25", prior_volume: "7"}]
  assets: [{id: "crypto:zzz", price: "5", price_at: 2026-07-09, since: 2026-07-01, every: 10s, volatility: "0.01", places: 2, outages: [{from: 2026-07-09T02:00:00-04:00, to: 2026-07-09T02:01:00-04:00}]}]
  windows: [{name: zzz-up, asset: "crypto:zzz", title: Zzz, every: 5m, lead: 90s, expires: 30m, terminates: 2h, tick_size: "0.01", fractional_qty_scale: 100}]
  events: [{slug: my, title: t, league: nfl, start: 2026-07-09, live: true, home_score: 1, away_score: 2, partners: {x: y}}]
  incentives: [{symbol: a, periods: [{program_id: p1, start: 2026-07-09, end: 2026-07-10, reward_pool: "5", discount_factor: "0.5", target_size: 5, max_spread: "0.03", min_taker_notional: 500}], rewards: [{account: maker, date: 2026-07-08, reward: "1.5", status: PAID}]}]
  books: [{symbol: a, mid: "0.5", spread: "0.02", sizes: ["10", "20"]}]
  orders: [{as: maker, symbol: a, side: buy, price: "0.3", qty: "1", tif: gtt, good_till: 2026-07-20, min_qty: "1"}]
faults: [{match: {operation: SearchTrades, nth: 3, every: 2, from: +1s, until: +1h}, act: {status: 503, delay: 5ms, retry_after: 2s, message: m}, ttl: 1h, times: 2}]
maintenance: [{begins: +5m, length: 10m, lead: 1m}]
limits: {retail: 20/s, order_insert: 5/10s}
fees: {schedule: [{from: 2026-07-01, product: p, market_type: moneyline, fee_class: standard, taker: "0.05", maker: "-0.0125", tail: "0.1", cap: "5", cumulative: true}], rebates: [{volume: "100", percent: 5}]}
quirks: {session_revocation: 1/3}
assumptions: {engine.latency: 1s}
participants:
  makers: [{name: m, symbols: a, spread: "0.04", every: 5s, sizes: ["10"]}]
  takers: [{name: t, symbols: a, rate: 20/m, size: {low: "1", high: "8"}}]
  noise: [{name: n, symbols: a, rate: 10/m}]
  fair_prices: [{symbol: a, path: [{at: +0s, price: "0.4"}, {at: +1m, price: "0.5"}]}]
steps:
  - {at: +1s, price: {asset: "crypto:zzz", price: "6"}}
  - {at: +30s, fund: {account: maker, amount: "5"}}
  - {fund: {account: firms/atlas/users/mara-voss, amount: "-5", purpose: transfer}}
  - {subscribe: {name: s, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription, as: firms/atlas/users/mara-voss, json: {symbols: [a]}}}
  - {call: {plane: grpc, rpc: OrderEntryAPI.GetOpenOrders, as: firms/atlas/users/mara-voss, json: {symbols: [a]}}, expect: {code: 0}}
  - {call: {plane: exchange, post: /v1/trading/orders, as: firms/atlas/users/mara-voss, json: {symbol: a, type: ORDER_TYPE_LIMIT, side: SIDE_BUY, orderQty: "100", price: "300", timeInForce: TIME_IN_FORCE_GOOD_TILL_TIME, goodTillTime: "2026-07-20T00:00:00Z"}}, save: {o: orderId}}
  - {order: {as: taker, symbol: a, side: sell, cash: "5", type: market, tif: ioc, post_only: false}, expect: {refused: maybe}}
  - {order: {as: taker, symbol: a, side: sell, qty: "2", type: stop_limit, price: "0.2", stop_price: "0.25"}, expect: {refused: maybe}}
  - {cancel: {as: maker, all: true, symbol: a}}
  - {state: {symbol: b, state: HALTED}}
  - {event: {slug: my, home_score: 1, away_score: 0, live: true, periods: {Q1: [1, 2]}, goals: [{team: home, minute: 4, stoppage: 1}], players: {p: {points: 3}}}}
  - {fair_price: {symbol: a, price: "0.4"}}
  - {participant: {name: m, active: false}}
  - {quirk: {session_revocation: 1/2}, at: +5s}
  - {assumption: {engine.latency: 2s}}
  - {maintenance: {begins: +30m, length: 5m}}
  - {fault: {match: {plane: webhook, probability: 1/2}, act: {status: 500}, times: 1, ttl: 5m}}
  - {clear_fault: f2}
  - {preset: ideal}
  - {advance: 1m}
  - {at: +5s, order: {as: maker, symbol: a, side: sell, price: "0.6", qty: "1"}, name: waits}
  - {when: {order: {name: waits, state: CANCELED}}, within: 2m, kyc: {external_id: nobody, decision: approve}}
  - {settle: {symbol: a, price: "1", text: done}}
  - {at: +30s, expect: {book: {symbol: a, bids: ["0.4 x 5"]}, trades: {symbol: a, count: 0}, order: {clord_id: x, state: NEW}, position: {account: maker, symbol: a, net: "1"}}}
"""
# Valid values of every type, to be put in the place of other types, and values out of range.
TEXTS = (
    *("", "0", "-1", "1", "5", "2", "100", "0.5", "0.01", "0.001", "0.00000001", "-0.5", "1e9"),
    *("nan", "inf", "-0", "+5", "1_000", "0x10", "007", "٣", "9" * 12, "9" * 18, "9" * 19),
    *("9" * 400, "92233720368547758", "9223372036854775807", "9223372036854775808", "1" + "0" * 18),
    *("0." + "0" * 17 + "1", "999999999999999999.999999999999999999", "true", "null", "~", "abc"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-07-09"),
    *("1990-01-01T00:00:00Z", "2199-12-31T23:59:59Z", "0001-01-01", "9999-12-31", "2026-02-30"),
    *("1969-12-31T23:59:59Z", "2262-04-12T00:00:00Z", "2026-11-01T01:30:00-04:00"),
    *("0s", "1ns", "1s", "-1s", "+1s", "+0s", "+1ns", "PT0S", "P1D", "100000h", "70000d", "1y"),
    *("0.000000001s", "1.5d", "+60000d", "1/0", "0/1", "2/3", "1/99999999999999999999", "always"),
    *("never", "0/s", "1/0s", "5/s", "99999999999999999999/s", "5/99999999999999999999h", "1/1ns"),
    *("1000000000/ns", "off", "paced:0", "paced:99999999999", "00:00", "24:00", "x" * 300),
    *("é", "日本", "\u202e", "\ud7ff", "\u2028", "\u0085", "😀", "a\nb", "a\x00b", "\x00", "\x7f"),
    *("\ufeff", " ", "a b", "firms/x", "firms/", "firms//users/", "${a}", "${", "$", "{", "*"),
    *("OPEN", "buy", "maker", "a", "my", ".", "..", "/", "../../etc/passwd", "crypto:btc"),
    *("crypto:", "a-b", "%", "?", "#", "'", '"', "\\", "SIDE_BUY", "ideal", "hostile", "-", "--"),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *([], {}, ["a"], {"a": "b"}, [[]], [{}], {"": ""}, None, 7, 0, -1, True, False, 0.5, 1e18),
    *(2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 1e-9),
)


_NUMBER = re.compile(r"[+-]?[0-9.]+")
_SPAN = re.compile(r"\+?([0-9.]+(ns|us|ms|s|m|h|d|w))+|P.*")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_RATE = re.compile(r"[0-9]+/.*")
KINDS = (_NUMBER, _SPAN, _INSTANT, _RATE)


def of_one_kind(value: Any, rng: random.Random) -> Any:
    """Return a value of the type of another: a number for a number, an instant for an instant."""
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return copy.deepcopy(rng.choice(VALUES))
    text = str(value)
    for kind in KINDS:
        if kind.fullmatch(text):
            return rng.choice([other for other in TEXTS if kind.fullmatch(other)])
    return rng.choice(TEXTS)


def documents() -> list[dict[str, Any]]:
    """Return the scenarios to mutate, as JSON values."""
    bundled = [value_of(read_file(SCENARIOS / f"{name}.yaml")) for name in QUICK]
    return [*bundled, value_of(read_text(WHOLE, "whole"))]


def texts() -> list[str]:
    """Return the scenarios to mutate, as text."""
    return [*((SCENARIOS / f"{name}.yaml").read_text("utf-8") for name in QUICK), WHOLE]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return every path in a document."""
    if isinstance(value, dict):
        inner: Any = value.items()
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*at, key)
        yield from places(item, (*at, key))


def at(document: Any, way: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for key in way:
        document = document[key]
    return document


def mutate(document: dict[str, Any], rng: random.Random) -> None:
    """Change one value: delete, replace, duplicate, move, rename or wrap it."""
    found = list(places(document))
    if not found:
        return
    *way, last = rng.choice(found)
    holder = at(document, tuple(way))
    kind = rng.choice(
        ("kin", "kin", "kin", "kin", "value", "value", "delete", "double", "move", "rename")
    )
    if kind == "kin":
        holder[last] = of_one_kind(holder[last], rng)
    elif kind == "value":
        holder[last] = copy.deepcopy(rng.choice(VALUES))
    elif kind == "delete":
        del holder[last]
    elif kind == "double" and isinstance(holder, list):
        holder[last:last] = [copy.deepcopy(holder[last])] * rng.choice((1, 1, 3))
    elif kind == "rename" and isinstance(holder, dict):
        names = sorted({str(place[-1]) for place in found if isinstance(place[-1], str)})
        holder[rng.choice((*names, *TEXTS))] = holder.pop(last)
    else:  # a value from elsewhere
        holder[last] = copy.deepcopy(at(document, rng.choice(found)))


def mutate_text(text: str, rng: random.Random) -> str:
    """Change a few characters of a file, as a typing error or a bad merge does."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = text.split("\n")
        row = rng.randrange(len(lines))
        line = lines[row]
        column = rng.randrange(len(line) + 1)
        kind = rng.randrange(9)
        if kind == 0:
            del lines[row]
        elif kind == 1:
            lines.insert(row, line)
        elif kind == 2:
            lines[row] = rng.choice(("\t", " ", "  ", "- ")) + line
        elif kind == 3:
            lines[row] = line[1:]
        elif kind == 4:
            lines[row] = line[:column] + line[column + 1 :]
        elif kind == 5:
            lines[row] = line[:column] + rng.choice("{}[]:,-#&*!|>'\"%@`\t\x00é~?") + line[column:]
        elif kind == 6:
            lines[row] = line[:column] + rng.choice(TEXTS) + line[column:]
        elif kind == 7:
            lines[row], lines[row - 1] = lines[row - 1], line
        else:
            lines[row:] = [line[:column]]
        text = "\n".join(lines)
    return text
