"""The markets socket against a naive model: every frame of every subscription, with its prices, sums
and statistics worked out from the resting orders and the trades so far.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.enums import Side
from sim.kernel.instants import format_instant, parse_instant
from sim.run.client.client import Stream
from tests.kit import begin
from tests.kit.streams import MARKETS, socket
from tests.sessions import SESSIONS

SCENARIO = """
name: sockets
world:
  base: empty
  instruments:
    - {symbol: one, state: OPEN}
    - {symbol: two, state: OPEN, fractional_qty_scale: 100, tick_size: "0.005"}
    - {symbol: three, start: 2026-09-08T18:00:20Z, created: 2026-09-01}
  firms:
    - name: firms/atlas
      key: atlas
      users: [{name: ann, balance: "90000"}, {name: bob, balance: "90000"}]
  api_keys:
    - {key_id: 11111111-1111-4111-8111-111111111111, account: firms/atlas-fcm/accounts/ann}
limits: {exchange_rest: "off"}
quirks: {stream_duplicates: never}
maintenance: []
assumptions: {stream.heartbeat: 0s, edge.idle_timeout: 1d}
clock: {start: 2026-09-08T18:00:00Z}
"""
SYMBOLS = ("one", "two", "three")
OPENS = parse_instant("2026-09-08T18:00:20Z")
PERIOD = 250_000_000
KEYS = {"MARKET_DATA": "marketData", "MARKET_DATA_LITE": "marketDataLite", "TRADE": "trade"}
SCALES = {"one": (100, 1), "two": (1000, 100), "three": (100, 1)}


def usd(value: Fraction | None, places: int = 4) -> dict[str, str] | None:
    """An amount with some decimals; None for no value."""
    if value is None:
        return None
    return {"value": f"{float(value):.{places}f}", "currency": "USD"}


def two_figures(value: Fraction) -> str:
    """A sum cut to its first two figures."""
    if not value:
        return "0"
    unit = Fraction(1)
    while value / unit >= 100:
        unit *= 10
    while value / unit < 10:
        unit /= 10
    cut = Fraction(int(value / unit)) * unit
    return f"{float(cut):.8f}".rstrip("0").rstrip(".")


@dataclass
class Trade:
    symbol: str
    price: Fraction
    qty: Fraction
    at: int
    buyer: str
    seller: str
    taker_buys: bool


@dataclass
class Sub:
    """A subscription: its id, type, slugs (none: all markets), and whether it is debounced."""

    id: str
    type: str
    slugs: list[str]
    merged: bool

    def topics(self) -> list[tuple[str, str, bool]]:
        merged = self.merged and self.type != "TRADE"
        return [(self.type, slug, merged) for slug in self.slugs or [""]]


@dataclass
class Socket:
    stream: Stream
    subs: dict[str, Sub] = field(default_factory=dict)
    sent: list[Any] = field(default_factory=list)
    open: bool = True


class Model:
    """Sockets, who follows which topic in which order, and the frames that each was sent."""

    def __init__(self, *, samples: bool) -> None:
        self.samples = samples
        self.world = begin(SCENARIO)
        self.trading = self.world.trading
        self.sockets: list[Socket] = []
        self.trades: list[Trade] = []
        self.topics: dict[tuple[str, str, bool], dict[tuple[str, str], list[Socket]]] = {}
        self.encoded: dict[tuple[str, str], Any] = {}
        self.marked: dict[tuple[tuple[str, str, bool], str], None] = {}
        self.due = 0

    @property
    def now(self) -> int:
        return self.world.now

    def has_data(self, symbol: str) -> bool:
        return symbol != "three" or self.now >= OPENS

    # ---- payloads

    def payload(self, kind: str, symbol: str) -> Any:
        """The data of a market as it is, with the instant at which it was first sent so."""
        if (kind, symbol) not in self.encoded:
            created = self.book(symbol) if kind == "MARKET_DATA" else self.lite(symbol)
            if self.samples and kind == "MARKET_DATA":
                created["stats"]["lastPriceSample"] = self.sample(created["stats"])
            elif self.samples:
                created["lastPriceSample"] = self.sample(created)
            self.encoded[kind, symbol] = created
        return self.encoded[kind, symbol]

    def levels(self, symbol: str, side: Side) -> list[tuple[Fraction, Fraction]]:
        price_scale, qty_scale = SCALES[symbol]
        result: dict[Fraction, Fraction] = {}
        for order in self.trading.book(symbol).orders(side):
            price = Fraction(order.price, price_scale)
            result[price] = result.get(price, Fraction(0)) + Fraction(order.leaves_qty, qty_scale)
        return sorted(result.items(), reverse=side is Side.BUY)

    def figures(self, symbol: str) -> dict[str, Any]:
        mine = [trade for trade in self.trades if trade.symbol == symbol]
        bids, offers = self.levels(symbol, Side.BUY), self.levels(symbol, Side.SELL)
        nets: dict[str, Fraction] = {}
        for trade in mine:
            nets[trade.buyer] = nets.get(trade.buyer, Fraction(0)) + trade.qty
            nets[trade.seller] = nets.get(trade.seller, Fraction(0)) - trade.qty
        last = mine[-1].price if mine else None
        middle = (bids[0][0] + offers[0][0]) / 2 if bids and offers else last
        return {
            "mine": mine,
            "bids": bids,
            "offers": offers,
            "interest": sum((net for net in nets.values() if net > 0), Fraction(0)),
            "last": last,
            "current": middle,
        }

    def book(self, symbol: str) -> dict[str, Any]:
        f = self.figures(symbol)
        mine = f["mine"]
        stats: dict[str, Any] = {"currentPx": usd(f["current"])}
        if mine:
            low, high = min(item.price for item in mine), max(item.price for item in mine)
            stats |= {
                "openPx": usd(mine[0].price),
                "lowPx": usd(low),
                "highPx": usd(high),
                "lastTradePx": usd(f["last"]),
                "notionalTraded": money(sum((t.price * t.qty for t in mine), Fraction(0))),
                "sharesTraded": f"{float(sum(t.qty for t in mine)):.4f}",
                "lastTradeQty": f"{float(mine[-1].qty):.4f}",
                "openSetTime": format_instant(mine[0].at),
                "lowSetTime": format_instant(next(t.at for t in mine if t.price == low)),
                "highSetTime": format_instant(next(t.at for t in mine if t.price == high)),
                "lastTradeSetTime": format_instant(mine[-1].at),
                "notionalSetTime": format_instant(mine[-1].at),
            }
            if f["interest"]:
                stats["openInterest"] = f"{float(f['interest']):.4f}"
                stats["openInterestSetTime"] = format_instant(mine[-1].at)
        return {
            "marketSlug": symbol,
            "bids": [level(*bid) for bid in f["bids"]],
            "offers": [level(*offer) for offer in f["offers"]],
            "state": self.state(symbol),
            "stats": {name: value for name, value in stats.items() if value is not None},
            "transactTime": format_instant(self.now),
        }

    def lite(self, symbol: str) -> dict[str, Any]:
        f = self.figures(symbol)
        bids, offers, total = f["bids"], f["offers"], sum(t.qty for t in f["mine"])
        result = {
            "marketSlug": symbol,
            "currentPx": usd(f["current"]),
            "lastTradePx": usd(f["last"]),
            "settlementPx": None,
            "bestBid": usd(bids[0][0] if bids else None),
            "bestAsk": usd(offers[0][0] if offers else None),
            "sharesTraded": f"{float(total):.4f}" if total else "",
            "openInterest": f"{float(f['interest']):.4f}" if f["interest"] else "",
            "bidDepth": len(bids),
            "askDepth": len(offers),
            "bidShares": two_figures(sum((qty for _, qty in bids), Fraction(0))),
            "askShares": two_figures(sum((qty for _, qty in offers), Fraction(0))),
            "state": self.state(symbol),
        }
        if bids and offers:
            result["longQuote"] = usd(offers[0][0])
            short = f"{float(1 - bids[0][0]):.8f}".rstrip("0").rstrip(".")
            result["shortQuote"] = {"value": short, "currency": "USD"}
        return result

    def sample(self, displayed: dict[str, Any]) -> dict[str, Any] | None:
        """The current prices of both sides."""
        price = displayed.get("currentPx")
        if price is None:
            return None
        short = usd(1 - Fraction(price["value"]))
        return {"longPx": price, "shortPx": short, "ts": format_instant(self.now)}

    def state(self, symbol: str) -> str:
        return f"MARKET_STATE_{self.trading.state(symbol).name}"

    # ---- sending

    def publish(self, topic: tuple[str, str, bool], payload: Any) -> None:
        for (request_id, kind), sockets in self.topics.get(topic, {}).items():
            for subscriber in sockets:
                subscriber.sent.append(frame(request_id, kind, payload))

    def changed(self, symbol: str) -> None:
        for kind in ("MARKET_DATA", "MARKET_DATA_LITE"):
            self.encoded.pop((kind, symbol), None)
        if not self.has_data(symbol):
            return
        for kind in ("MARKET_DATA", "MARKET_DATA_LITE"):
            for slug in (symbol, ""):
                if self.topics.get((kind, slug, False)):
                    self.publish((kind, slug, False), self.payload(kind, symbol))
            for slug in (symbol, ""):
                if self.topics.get((kind, slug, True)):
                    if not self.due:
                        self.due = self.now + PERIOD
                    self.marked[(kind, slug, True), symbol] = None

    def traded(self, trade: Trade) -> None:
        self.trades.append(trade)
        sides = ["BUY", "SELL"] if trade.taker_buys else ["SELL", "BUY"]
        taker, maker = (
            {"side": f"ORDER_SIDE_{side}", "intent": f"ORDER_INTENT_{side}_LONG"} for side in sides
        )
        payload = {
            "marketSlug": trade.symbol,
            "price": money(trade.price),
            "quantity": {"value": f"{float(trade.qty):g}", "currency": "USD"},
            "tradeTime": format_instant(trade.at),
            "maker": maker,
            "taker": taker,
        }
        for slug in (trade.symbol, ""):
            self.publish(("TRADE", slug, False), payload)

    def wait(self, target: int) -> None:
        while True:
            dues = [at for at in (self.due, OPENS if self.now < OPENS else 0) if at]
            if not dues or min(dues) > target:
                break
            due = min(dues)
            self.world.advance_to(due)
            if due == OPENS:
                self.changed("three")
            if due == self.due:
                marked, self.marked, self.due = self.marked, {}, 0
                for topic, symbol in marked:
                    if self.topics.get(topic):
                        self.publish(topic, self.payload(topic[0], symbol))
        self.world.advance_to(target)

    # ---- requests

    def subscribe(self, socket: Socket, request: dict[str, Any]) -> None:
        request_id, kind = request.get("requestId", ""), request.get("subscriptionType", "")
        kind = str(kind).removeprefix("SUBSCRIPTION_TYPE_")
        slugs = list(dict.fromkeys(request.get("marketSlugs", [])))
        text = self.refusal(socket, request_id, kind, request.get("marketSlugs", []), slugs)
        if text:
            socket.sent.append({"requestId": request_id, "error": text})
            return
        sub = Sub(request_id, kind, slugs, bool(request.get("responsesDebounced")))
        socket.subs[request_id] = sub
        for topic in sub.topics():
            heads = self.topics.setdefault(topic, {})
            heads.setdefault((request_id, kind), []).append(socket)
        if kind != "TRADE":
            for slug in slugs or self.active():
                if self.has_data(slug):
                    socket.sent.append(frame(request_id, kind, self.payload(kind, slug)))

    def refusal(
        self, socket: Socket, request_id: str, kind: str, sent: list[str], slugs: list[str]
    ) -> str:
        if not request_id:
            return "requestId is required"
        if kind not in KEYS:
            return "invalid subscriptionType"
        if request_id in socket.subs:
            return "requestId is in use"
        if len(socket.subs) >= 10:
            return "max subscriptions per connection reached"
        if len(sent) > 100:
            return "at most 100 market slugs per subscription"
        if unknown := [slug for slug in slugs if slug not in SYMBOLS]:
            return f"unknown market: {unknown[0]}"
        taken = {(sub.type, slug) for sub in socket.subs.values() for slug in sub.slugs or [""]}
        for slug in slugs or [""]:
            if (kind, slug) in taken:
                return f"already subscribed: {slug}" if slug else "already subscribed"
        return ""

    def active(self) -> list[str]:
        """Markets with orders or trades."""
        rests = [s for s in SYMBOLS if self.levels(s, Side.BUY) or self.levels(s, Side.SELL)]
        return sorted({*rests, *(trade.symbol for trade in self.trades)})

    def leave(self, socket: Socket, sub: Sub) -> None:
        for topic in sub.topics():
            heads = self.topics[topic]
            heads[sub.id, sub.type].remove(socket)
            if not heads[sub.id, sub.type]:
                del heads[sub.id, sub.type]
            if not heads:
                del self.topics[topic]
        if not self.topics:
            self.encoded.clear()
            self.marked.clear()
            self.due = 0


def money(value: Fraction) -> dict[str, str]:
    """Dollars with at least two decimals."""
    text = f"{float(value):.8f}".rstrip("0")
    total, _, rest = text.partition(".")
    return {"value": f"{total}.{rest.ljust(2, '0')}", "currency": "USD"}


def level(price: Fraction, qty: Fraction) -> dict[str, Any]:
    return {"px": usd(price), "qty": f"{float(qty):.4f}"}


def frame(request_id: str, kind: str, payload: Any) -> dict[str, Any]:
    names = {"requestId": request_id, "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
    return {**names, KEYS[kind]: payload}


class Both:
    """The exchange and the model side by side."""

    def __init__(self, rng: Random, *, samples: bool) -> None:
        self.rng = rng
        self.model = Model(samples=samples)
        self.observed = 0

    def open(self) -> None:
        if sum(item.open for item in self.model.sockets) < 2:
            self.model.sockets.append(Socket(socket(self.model.world, MARKETS)))

    def single(self) -> Socket | None:
        live = [socket for socket in self.model.sockets if socket.open]
        return self.rng.choice(live) if live else None

    def subscribe(self) -> None:
        if (item := self.single()) is None:
            return
        rng = self.rng
        kind = rng.choice((*KEYS, "MARKET_DATA", "MARKET_DATA_LITE"))
        request: dict[str, Any] = {
            "requestId": f"r{rng.randrange(13)}",
            "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}",
        }
        if rng.random() < 0.8:
            request["marketSlugs"] = rng.choices(SYMBOLS, k=rng.choice((1, 1, 2)))
        if rng.random() < 0.05:
            request["marketSlugs"] = rng.choice((["one"] * 100, ["one"] * 101, ["two", "nope"]))
        if rng.random() < 0.3:
            request["responsesDebounced"] = True
        if rng.random() < 0.08:
            del request[rng.choice(("requestId", "subscriptionType"))]
        item.stream.send(json.dumps({"subscribe": request}).encode())
        self.model.subscribe(item, request)

    def unsubscribe(self) -> None:
        if (item := self.single()) is None:
            return
        request_id = self.rng.choice((*item.subs, "r99"))
        item.stream.send(json.dumps({"unsubscribe": {"requestId": request_id}}).encode())
        sub = item.subs.pop(request_id, None)
        if sub is None:
            item.sent.append({"requestId": request_id, "error": "unknown requestId"})
            return
        self.model.leave(item, sub)
        item.sent.append({"requestId": request_id, "unsubscribed": True})

    def mistake(self) -> None:
        if (item := self.single()) is None:
            return
        both = {"subscribe": {"requestId": "q"}, "unsubscribe": {"requestId": "q"}}
        request = self.rng.choice(({}, both))
        item.stream.send(json.dumps(request).encode())
        text = "a frame must hold subscribe or unsubscribe"
        item.sent.append({"requestId": "q" if request else "", "error": text})

    def order(self) -> None:
        model, rng = self.model, self.rng
        symbol = rng.choice(("one", "two"))
        instrument = model.trading.instruments.require(symbol)
        side, cents = rng.choice((("buy", 40), ("buy", 41), ("sell", 50), ("sell", 41)))
        qty = rng.choice((1, 2, 3, 40, 125))
        fields = {}
        if symbol == "two":
            fields["orderQty"] = str(rng.choice((137, 250, 6)))
        model.world.place(instrument, side, cents, qty, user=rng.randrange(2), **fields)
        for row in list(model.trading.trades)[self.observed :]:
            price_scale, qty_scale = SCALES[row.symbol]
            taker, maker = row.aggressor.order, row.passive.order
            buys = taker.side is Side.BUY
            names = (taker.account, maker.account) if buys else (maker.account, taker.account)
            price, qty_ = Fraction(row.price, price_scale), Fraction(row.qty, qty_scale)
            model.traded(Trade(row.symbol, price, qty_, model.now, *names, buys))
            self.observed += 1
        model.changed(symbol)

    def wait(self) -> None:
        span = self.rng.choice((1, PERIOD - 1, PERIOD, 2 * PERIOD, 9 * 10**9))
        self.model.wait(self.model.now + span)

    def close(self) -> None:
        if (item := self.single()) is None:
            return
        item.stream.close()
        item.open = False
        for sub in item.subs.values():
            self.model.leave(item, sub)
        item.subs.clear()

    def check(self) -> None:
        for subscriber in self.model.sockets:
            assert subscriber.stream.frames == subscriber.sent


READINGS = [
    pytest.param(samples, marks=pytest.mark.reading(name))
    for samples, name in ((False, "documented"), (True, "observed"))
]


@pytest.mark.parametrize("samples", READINGS)
@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_frames_of_the_markets_socket_are_those_of_the_model(samples: bool, seed: int) -> None:
    """The documentation drops the price sample, which recordings still show."""
    both = Both(Random(seed), samples=samples)
    both.open()
    for _ in range(60):
        kind = both.rng.choices(
            ("open", "subscribe", "unsubscribe", "mistake", "order", "wait", "close"),
            (2, 6, 1.5, 0.3, 6, 3, 0.3),
        )[0]
        getattr(both, kind)()
        both.check()
