"""What the retail WebSockets send: subscriptions by request id, answers to mistakes, data (S16-S18).

A frame is one row. Its channel is its subscription and market; errors are a channel of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sim.kernel.instants import Instant, format_instant, midnight_utc, parse_instant, trade_date
from sim.oracle import frames
from sim.oracle.exchange import NaiveExchange
from sim.oracle.frames import Row, instant, money
from sim.oracle.state import BUY, CASH, CLOSED, MARKET_TO_LIMIT, REPORTS, SELL, STATES, Document, Market
from sim.oracle.subscriptions import SILENT, Coverage, OpenStream

_TYPES = {
    frames.MARKETS: ("", "MARKET_DATA", "MARKET_DATA_LITE", "TRADE"),
    frames.PRIVATE: ("", "ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "RFQ"),
}
_BOOKS = {"MARKET_DATA": "marketData", "MARKET_DATA_LITE": "marketDataLite"}
_UNLISTED = "ACCOUNT_BALANCE", "RFQ"  # these take no slugs
_NO_SAMPLES = parse_instant("2026-07-03T04:00:00Z")  # rule S18
_PER_SOCKET, _PER_SUBSCRIPTION = 10, 100  # rule S16
_ALL_LEVELS = 10_000
_FORMS = "a frame must hold subscribe or unsubscribe"
_TIMES = {"GOOD_TILL_TIME": "GOOD_TILL_DATE"}
_NAMES = ("request_id", "requestId"), ("subscription_type", "subscriptionType")


@dataclass
class SocketSubscription:
    """One subscription of a socket. `slugs` is empty if it is about every market; `merged` has the
    frames that wait because the client lets updates be merged.
    """

    request_id: str
    type: str
    slugs: list[str]
    debounced: bool = False
    merged: dict[str, Row] = field(default_factory=dict)

    def frame(self, key: str, payload: Any) -> Row:
        """Return a frame of the subscription."""
        slug = payload.get("marketSlug", "") if key in _BOOKS.values() else ""
        document = {"requestId": self.request_id, key: payload}
        document["subscriptionType"] = f"SUBSCRIPTION_TYPE_{self.type}"
        return Row(f"{self.request_id} {slug}", "frame", document, "S16")


class Sockets:
    """The subscriptions of all sockets, and what they have to send."""

    def __init__(self, exchange: NaiveExchange, coverage: Coverage) -> None:
        self._exchange = exchange
        self._coverage = coverage
        self.due: Instant = 0  # when merged updates are sent

    # ---- what clients ask for

    def answer(self, stream: OpenStream, frame: Document) -> list[Row]:
        """Return what a client's frame is answered with (rules S16, S17)."""
        asked = [name for name in ("subscribe", "unsubscribe") if name in frame]
        body = frame[asked[0]] if asked else {}
        if not frame or not isinstance(body, dict):
            return [_error("", None)]
        request_id = body.get("requestId", body.get("request_id", ""))
        if len(asked) != 1:
            return [_error(request_id, _FORMS)]
        if asked == ["unsubscribe"]:
            if stream.subscriptions.pop(request_id, None) is None:
                return [_error(request_id, "unknown requestId")]
            done = {"requestId": request_id, "unsubscribed": True}
            return [Row(f"{request_id} ", "frame", done, "S16")]
        return self._subscribe(stream, body, request_id)

    def _subscribe(self, stream: OpenStream, body: Document, request_id: str) -> list[Row]:
        sent = body.get("marketSlugs", body.get("market_slugs", []))
        kind = body.get("subscriptionType", body.get("subscription_type", ""))
        types = _TYPES[stream.operation]
        if isinstance(kind, int) and 0 < kind < len(types):
            kind = types[kind]
        kind = str(kind).removeprefix("SUBSCRIPTION_TYPE_")
        if text := self._refusal(stream, request_id, kind, sent):
            return [_error(request_id, text)]
        slugs = [] if kind in _UNLISTED else list(dict.fromkeys(sent))
        debounced = body.get("responsesDebounced", body.get("responses_debounced", False))
        subscription = SocketSubscription(request_id, kind, slugs, debounced)
        if kind != "ORDER_SNAPSHOT":
            stream.subscriptions[request_id] = subscription
        return list(self._first(stream, subscription))

    def _refusal(self, stream: OpenStream, request_id: str, kind: str, sent: list[str]) -> str:
        """Return what is wrong with a subscription; "" if nothing is."""
        present = stream.subscriptions
        if not request_id:
            return "requestId is required"
        if kind not in _TYPES[stream.operation][1:]:
            return "invalid subscriptionType"
        if request_id in present:
            return "requestId is in use"
        if len(present) >= _PER_SOCKET:
            return "max subscriptions per connection reached"
        if len(sent) > _PER_SUBSCRIPTION:
            return "at most 100 market slugs per subscription"
        every = sent if kind in _UNLISTED else self._exchange.beginning.instruments
        if unknown := [slug for slug in sent if slug not in every]:
            return f"unknown market: {unknown[0]}"
        slugs = [""] if kind in _UNLISTED else sent or [""]
        taken = {(sub.type, slug) for sub in present.values() for slug in sub.slugs or [""]}
        again = [slug for slug in slugs if (kind, slug) in taken]
        return f"already subscribed: {again[0]}".removesuffix(": ") if again else ""

    def _first(self, stream: OpenStream, subscription: SocketSubscription) -> Iterator[Row]:
        """Yield the frames with which a subscription begins; none where there are no orders."""
        kind, slugs = subscription.type, subscription.slugs
        if kind == "ORDER_SNAPSHOT":
            for row in self._coverage.orders.values():
                if row["account"] in stream.accounts and (not slugs or row["symbol"] in slugs):
                    channel = f"{subscription.request_id} snapshot"
                    yield Row(channel, "order", retail_order(row), "S16")
            yield Row(f"{subscription.request_id} snapshot", "eof", {}, "S16")
        elif kind == "ACCOUNT_BALANCE":
            (account,) = stream.accounts
            cash = self._exchange.account(account).cash / CASH
            balances = {"balances": [{"currentBalance": cash, "currency": "USD"}]}
            yield subscription.frame("accountBalancesSnapshot", balances)
        elif kind in _BOOKS:
            for slug in slugs or self._active():
                market = self._exchange.market(slug)
                if market.state not in SILENT:
                    yield subscription.frame(_BOOKS[kind], self._book(kind, market))

    def _active(self) -> list[str]:
        """Return the markets that have orders or trades."""
        traded = {fills[0]["order"]["symbol"] for fills in self._coverage.fills.values() if fills}
        resting = {row["symbol"] for row in self._coverage.orders.values() if row["type"] < 3}
        return sorted(traded | resting)

    # ---- what happens

    def rows(self, stream: OpenStream, event: Document, now: Instant) -> Iterator[Row]:
        """Yield the frames that an event makes a socket send."""
        kind = event["event"]
        for subscription in stream.subscriptions.values():
            if kind == "BookChanged" and subscription.type in _BOOKS:
                yield from self._changed(subscription, event["symbol"], now)
            elif kind == "Traded" and event["state"] == 1 and subscription.type == "TRADE":
                if event["symbol"] in (subscription.slugs or [event["symbol"]]):
                    yield subscription.frame("trade", self._tick(event))
            elif subscription.type == "RFQ":
                for row in self._coverage.quote_rows(stream, event):
                    yield subscription.frame("rfqEvent", {row.tag: row.document})
            elif stream.operation == frames.PRIVATE:
                yield from self._private(stream, subscription, event)

    def _changed(
        self, subscription: SocketSubscription, symbol: str, now: Instant
    ) -> Iterator[Row]:
        """Yield a book that changed, or let it wait with others (rule S16)."""
        market = self._exchange.market(symbol)
        if subscription.slugs and symbol not in subscription.slugs or market.state in SILENT:
            return
        document = self._book(subscription.type, market)
        if subscription.debounced:
            subscription.merged[symbol] = subscription.frame(_BOOKS[subscription.type], document)
            self.due = self.due or now + self._exchange.assumed("retail.debounce")
            return
        if subscription.type == "MARKET_DATA":
            document["transactTime"] = instant(now)
        yield subscription.frame(_BOOKS[subscription.type], document)

    def merged(self, stream: OpenStream) -> list[Row]:
        """Return the updates that waited."""
        subscriptions = stream.subscriptions.values()
        rows = [row for each in subscriptions for row in each.merged.values()]
        for each in subscriptions:
            each.merged.clear()
        return rows

    def _tick(self, event: Document) -> Document:
        """Return a trade without names (rule S18)."""
        market = self._exchange.market(event["symbol"])
        fills = self._coverage.fills[event["id"]]
        document: Document = {
            "marketSlug": event["symbol"],
            "price": _dollars(Fraction(event["price"], market.price_scale)),
            "tradeTime": format_instant(fills[0]["at"]),
        }
        for fill in fills:
            side = "BUY" if fill["order"]["side"] == BUY else "SELL"
            party = "taker" if fill.get("aggressor") else "maker"
            document[party] = {"side": f"ORDER_SIDE_{side}"}
        return document

    def _private(
        self, stream: OpenStream, subscription: SocketSubscription, event: Document
    ) -> Iterator[Row]:
        """Yield what concerns the account of the key (rules S16, M7)."""
        kind, slugs = event["event"], subscription.slugs
        execution = event.get("execution", {})
        row = execution.get("order") or event
        symbol = row.get("symbol", "")
        if row.get("account") not in stream.accounts or (slugs and symbol not in slugs):
            return
        match subscription.type, kind:
            case "ORDER", "Executed":
                update = {"execution": retail_execution(execution)}
                yield subscription.frame("orderSubscriptionUpdate", update)
            case "ORDER", "CancelRejected":
                order = self._coverage.orders.get(event["order_id"])
                change = self._exchange.assumed("retail.change_rejects")
                if change == "told" or (change == "working" and order is not None):
                    document = {"text": event["text"], "type": "EXECUTION_TYPE_REJECTED"}
                    document["order"] = {"id": event["order_id"]}
                    yield subscription.frame("orderSubscriptionUpdate", {"execution": document})
            case "POSITION", "PositionChanged":
                yield subscription.frame("positionSubscription", self._position(event))
            case "ACCOUNT_BALANCE", "CashMoved":
                before, after = event["before"] / CASH, event["after"] / CASH
                change = {
                    "beforeBalance": {"currentBalance": before, "currency": "USD"},
                    "afterBalance": {"currentBalance": after, "currency": "USD"},
                    "description": event["description"],
                    "updateTime": instant(event["at"]),
                }
                update = {"balanceChange": change}
                yield subscription.frame("accountBalancesUpdate", update)

    def _position(self, event: Document) -> Document:
        """Return a position before and after a change. What was paid counts as traded away."""
        scale = self._exchange.market(event["symbol"]).qty_scale
        bought, sold = event["bought"], event["sold"]
        if event["settlement"] is not None:
            bought = sold = max(bought, sold)
        after = {
            "netPositionDecimal": _four(Fraction(event["net"], scale)),
            "qtyBoughtDecimal": _four(Fraction(bought, scale)),
            "qtySoldDecimal": _four(Fraction(sold, scale)),
            "expired": event["settlement"] is not None,
        }
        document: Document = {"afterPosition": after, "updateTime": instant(event["at"])}
        document["tradeId"] = event["trade_id"]
        net = event["net"] - event["qty_change"]
        if net:
            document["beforePosition"] = {"netPositionDecimal": _four(Fraction(net, scale))}
        return document

    # ---- documents of markets

    def _book(self, kind: str, market: Market) -> Document:
        """Return a book in full, or its best prices and sums (rule S18, §4.2)."""
        sides = [
            [
                (Fraction(px, market.price_scale), Fraction(qty, market.qty_scale))
                for px, qty in frames.levels(market, side, _ALL_LEVELS, single=False)
            ]
            for side in (BUY, SELL)
        ]
        name = f"MARKET_STATE_{STATES[market.state]}"
        if market.state == CLOSED:
            name = self._exchange.assumed("retail.closed_state_name")
        document: Document = {"marketSlug": market.symbol, "state": name}
        removed = self._exchange.assumed("market_data.last_price_sample") == "removed"
        if removed and self._exchange.now >= _NO_SAMPLES:
            document["lastPriceSample"] = None
        if kind == "MARKET_DATA":
            for key, some in zip(("bids", "offers"), sides, strict=True):
                document[key] = [{"px": _amount(px), "qty": _four(qty)} for px, qty in some]
            return document
        bids, offers = sides
        document |= {
            "bestBid": _amount(bids[0][0]) if bids else None,
            "bestAsk": _amount(offers[0][0]) if offers else None,
            "bidDepth": len(bids),
            "askDepth": len(offers),
            "bidShares": _two_figures(sum((qty for _, qty in bids), Fraction(0))),
            "askShares": _two_figures(sum((qty for _, qty in offers), Fraction(0))),
        }
        if bids and offers:
            short = {"value": _plain(1 - bids[0][0]), "currency": "USD"}
            document |= {"longQuote": _amount(offers[0][0]), "shortQuote": short}
        return document


def _error(request_id: str, text: str | None) -> Row:
    document = {"requestId": request_id, "error": text} if text else {}
    return Row("error", "error", document, "S16")


# ---- numbers and orders of the retail API


def _four(value: Fraction) -> str:
    return f"{float(round(value, 4)):.4f}"


def _plain(value: Fraction) -> str:
    return f"{float(value):.8f}".rstrip("0").rstrip(".")


def _amount(value: Fraction) -> Document:
    return {"value": _four(value), "currency": "USD"}


def _dollars(value: Fraction) -> Document:
    return {"value": money(int(value * CASH)), "currency": "USD"}


def _two_figures(value: Fraction) -> str:
    """Return a sum cut to its first two figures."""
    unit = Fraction(1)
    while value >= 100 * unit:
        unit *= 10
    while value and value < 10 * unit:
        unit /= 10
    return _plain(int(value / unit) * unit)


def retail_order(row: Document) -> Document:
    """Return an order as the retail API shows it (§2.8)."""
    scale, price_scale = row["qty_scale"], row["price_scale"]
    quantities = {"quantity": "qty", "cumQuantity": "cum_qty", "leavesQuantity": "leaves_qty"}
    time, notional = frames.TIMES_IN_FORCE[row["tif"]], row.get("filled_notional", 0)
    return {
        "id": row["id"],
        "marketSlug": row["symbol"],
        "side": f"ORDER_SIDE_{'BUY' if row['side'] == BUY else 'SELL'}",
        "type": f"ORDER_TYPE_{'MARKET' if row['type'] == MARKET_TO_LIMIT else 'LIMIT'}",
        "price": _dollars(Fraction(row["price"], price_scale)),
        **{name: row.get(key, 0) / scale for name, key in quantities.items()},
        "tif": f"TIME_IN_FORCE_{_TIMES.get(time, time)}",
        "state": f"ORDER_STATE_{frames.ORDER_STATES[row.get('state', 0)]}",
        "avgPx": _amount(Fraction(notional, price_scale * (row.get("cum_qty") or 1))),
        "goodTillTime": instant(row.get("good_till")),
        "createTime": instant(row["created"]),
        "insertTime": instant(row.get("inserted")),
        "commissionNotionalTotalCollected": _amount(
            Fraction(row.get("commission", 0), scale * price_scale)
        ),
        "lastTransactTime": instant(row.get("changed")),
    }


def retail_execution(execution: Document) -> Document:
    """Return an execution as the retail API shows it (§2.8)."""
    row, qty = execution["order"], execution.get("last_qty", 0)
    scale = row["qty_scale"] * row["price_scale"]
    commission = _amount(Fraction(execution.get("commission", 0), scale))
    return {
        "id": execution["id"],
        "order": retail_order(row),
        "lastShares": _four(Fraction(qty, row["qty_scale"])) if qty else "0",
        "lastPx": _dollars(Fraction(execution["last_px"], row["price_scale"])) if qty else None,
        "type": f"EXECUTION_TYPE_{REPORTS[execution['type']]}",
        "text": execution.get("text", ""),
        "transactTime": instant(execution["at"]),
        "transactTradeDate": instant(midnight_utc(trade_date(execution["at"]))),
        "tradeId": execution.get("trade_id", ""),
        "aggressor": execution.get("aggressor", False),
        "commissionNotionalCollected": commission if qty else None,
    }
