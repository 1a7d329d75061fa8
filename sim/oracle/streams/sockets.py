"""What the retail WebSockets send: subscriptions by request id, answers to mistakes, data.

A frame is one row. Its channel is its subscription and market; errors are a channel of their own.
Realises rules S16-S18.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sim.kernel.instants import Instant, midnight_utc, parse_instant, trade_date
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import (
    BUY,
    CASH,
    CLOSED,
    MARKET_TO_LIMIT,
    REPORTS,
    SELL,
    STATES,
    Document,
    Market,
)
from sim.oracle.streams import frames
from sim.oracle.streams.frames import NAMES, FrameRow, instant, money, picture
from sim.oracle.streams.subscriptions import SILENT, EventRows, OpenStream

_TYPES = {
    frames.MARKETS: ["", "MARKET_DATA", "MARKET_DATA_LITE", "TRADE"],
    frames.PRIVATE: ["", "ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "RFQ"],
}
_BOOKS = {"MARKET_DATA": "marketData", "MARKET_DATA_LITE": "marketDataLite"}
_FIELDS = {"requestId": "", "subscriptionType": "", "marketSlugs": [], "responsesDebounced": False}
_KINDS: dict[str, Any] = {
    "requestId": str,
    "subscriptionType": (str, int),
    "marketSlugs": list,
    "responsesDebounced": bool,
}
_WITHOUT_SLUGS = "ACCOUNT_BALANCE", "RFQ"
_MOST, _MOST_SLUGS = 10, 100  # subscriptions of a socket, slugs of a subscription (rule S16)
_NO_SAMPLES = parse_instant("2026-07-03T04:00:00Z")  # rule S18


@dataclass
class SocketSubscription:
    """One subscription of a socket. `slugs` is empty if it is about every market; `merged` has the
    frames that wait because the client lets updates be merged.
    """

    request_id: str
    type: str
    slugs: list[str]
    debounced: bool = False
    merged: dict[str, FrameRow] = field(default_factory=dict)

    def frame(self, key: str, payload: Document) -> FrameRow:
        """Return a frame of the subscription."""
        slug = payload.get("marketSlug", "") if self.type in _BOOKS else ""
        kind = f"SUBSCRIPTION_TYPE_{self.type}"
        document = {"requestId": self.request_id, "subscriptionType": kind, key: payload}
        return FrameRow(f"{self.request_id} {slug}", "frame", document, "S16")


class Sockets:
    """The subscriptions of all sockets, and what they have to send."""

    def __init__(self, exchange: NaiveExchange, coverage: EventRows) -> None:
        self._exchange, self._coverage = exchange, coverage
        self.due: Instant = 0  # when merged updates are sent

    # ---- what clients ask for

    def answer(self, stream: OpenStream, frame: Document) -> list[FrameRow]:
        """Return what a client's frame is answered with, in either style (rules S16, S17)."""
        asked = [name for name in ("subscribe", "unsubscribe") if name in frame]
        body: Document = _FIELDS.copy()
        sent = frame[asked[0]] if asked else {}
        if isinstance(sent, dict):
            body |= {_camel(name): value for name, value in sent.items()}
        readable = isinstance(sent, dict) and all(
            isinstance(body[name], kinds) for name, kinds in _KINDS.items()
        )
        request_id, text = body["requestId"], ""
        if not frame or not readable:
            return [FrameRow("error", "error", {}, "S16")]
        if len(asked) != 1:
            text = "a frame must hold subscribe or unsubscribe"
        elif asked == ["subscribe"]:
            return self._subscribe(stream, body)
        elif stream.subscriptions.pop(request_id, None) is None:
            text = "unknown requestId"
        else:
            document = {"requestId": request_id, "unsubscribed": True}
            return [FrameRow(f"{request_id} ", "frame", document, "S16")]
        return [_error(request_id, text)]

    def _subscribe(self, stream: OpenStream, body: Document) -> list[FrameRow]:
        request_id, kind, slugs = body["requestId"], body["subscriptionType"], body["marketSlugs"]
        types = _TYPES[stream.operation]
        kind = types[kind] if kind in range(1, len(types)) else kind
        kind = str(kind).removeprefix("SUBSCRIPTION_TYPE_")
        slugs = [] if kind in _WITHOUT_SLUGS else slugs
        if kind and request_id and kind not in types:
            return [FrameRow("error", "error", {}, "S16")]
        if text := self._mistake(stream, request_id, kind, slugs):
            return [_error(request_id, text)]
        slugs = list(dict.fromkeys(slugs))
        subscription = SocketSubscription(request_id, kind, slugs, body["responsesDebounced"])
        if kind != "ORDER_SNAPSHOT":
            stream.subscriptions[request_id] = subscription
        return list(self._first(stream, subscription))

    def _mistake(self, stream: OpenStream, request_id: str, kind: str, slugs: list[str]) -> str:
        """Return what is wrong with a subscription; "" if nothing is."""
        present = stream.subscriptions
        unknown = [slug for slug in slugs if slug not in self._exchange.beginning.instruments]
        taken = {(each.type, slug) for each in present.values() for slug in each.slugs or [""]}
        again = [slug for slug in slugs or [""] if (kind, slug) in taken]
        mistakes = (
            (not request_id, "requestId is required"),
            (kind not in _TYPES[stream.operation][1:], "invalid subscriptionType"),
            (request_id in present, "requestId is in use"),
            (len(present) >= _MOST, "max subscriptions per connection reached"),
            (len(slugs) > _MOST_SLUGS, "at most 100 market slugs per subscription"),
            (bool(unknown), f"unknown market: {unknown[:1] and unknown[0]}"),
            (bool(again), f"already subscribed: {again[:1] and again[0]}".removesuffix(": ")),
        )
        return next((text for wrong, text in mistakes if wrong), "")

    def _first(self, stream: OpenStream, subscription: SocketSubscription) -> Iterator[FrameRow]:
        """Yield the frames with which a subscription begins; none where there are no orders."""
        kind, slugs = subscription.type, subscription.slugs
        if kind == "ORDER_SNAPSHOT":
            channel = f"{subscription.request_id} snapshot"
            for row in self._coverage.orders.values():
                if row["account"] in stream.accounts and row["symbol"] in (slugs or row["symbol"]):
                    yield FrameRow(channel, "order", retail_order(row), "S16")
            yield FrameRow(channel, "eof", {}, "S16")
        elif kind == "ACCOUNT_BALANCE":
            cash = [self._exchange.account(account).cash / CASH for account in stream.accounts]
            balances = [{"currentBalance": each, "currency": "USD"} for each in cash]
            yield subscription.frame("accountBalancesSnapshot", {"balances": balances})
        elif kind in _BOOKS:
            for market in map(self._exchange.market, slugs or self._active()):
                if market.state not in SILENT:
                    yield subscription.frame(_BOOKS[kind], self._book(kind, market))

    def _active(self) -> list[str]:
        """Return the markets that have orders or trades."""
        traded = {fills[0]["order"]["symbol"] for fills in self._coverage.fills.values()}
        return sorted(
            traded | {order.symbol for order in self._exchange.open_orders() if not order.waiting}
        )

    # ---- what happens

    def rows(self, stream: OpenStream, event: Document, now: Instant) -> Iterator[FrameRow]:
        """Yield the frames that an event makes a socket send."""
        kind = event["event"]
        row = event["execution"]["order"] if kind == "Executed" else event
        own, symbol = row.get("account") in stream.accounts, row.get("symbol", "")
        for subscription in stream.subscriptions.values():
            send = subscription.frame
            if subscription.slugs and symbol not in subscription.slugs:
                continue
            match subscription.type, kind:
                case "MARKET_DATA" | "MARKET_DATA_LITE", "BookChanged":
                    yield from self._changed(subscription, symbol, now)
                case "TRADE", "Traded" if event["state"] == 1:
                    yield send("trade", self._tick(event))
                case "ORDER", "Executed" if own:
                    update = {"execution": retail_execution(event["execution"])}
                    yield send("orderSubscriptionUpdate", update)
                case "ORDER", "CancelRejected" if own and self._is_told(event):
                    update = picture(event, "text") | {"type": "EXECUTION_TYPE_REJECTED"}
                    update["order"] = {"id": event["order_id"]}
                    yield send("orderSubscriptionUpdate", {"execution": update})
                case "POSITION", "PositionChanged" if own:
                    yield send("positionSubscription", self._position(event))
                case "ACCOUNT_BALANCE", "CashMoved" if own:
                    change = picture(event, "description @updateTime=at")
                    for name in ("before", "after"):
                        cash = event[name] / CASH
                        change[f"{name}Balance"] = {"currentBalance": cash, "currency": "USD"}
                    yield send("accountBalancesUpdate", {"balanceChange": change})
                case "RFQ", _:
                    for quote in self._coverage.quote_rows(stream, event):
                        yield send("rfqEvent", {quote.tag: quote.document})

    def _is_told(self, event: Document) -> bool:
        """Whether a refused change has a frame (rule M7)."""
        change = self._exchange.assumed("retail.change_rejects")
        works = event["order_id"] in self._coverage.orders
        return change == "told" or (change == "working" and works)

    def _changed(
        self, subscription: SocketSubscription, symbol: str, now: Instant
    ) -> Iterator[FrameRow]:
        """Yield a book that changed, or let it wait with others (rule S16)."""
        market, kind = self._exchange.market(symbol), subscription.type
        if symbol in self._coverage.silent or market.state == SILENT[0]:
            return
        document = self._book(kind, market)
        if subscription.debounced:
            subscription.merged[symbol] = subscription.frame(_BOOKS[kind], document)
            self.due = self.due or now + self._exchange.assumed("retail.debounce")
        else:
            document |= {"transactTime": instant(now)} if kind == "MARKET_DATA" else {}
            yield subscription.frame(_BOOKS[kind], document)

    def merged(self, stream: OpenStream) -> list[FrameRow]:
        """Return the updates that waited."""
        subscriptions = stream.subscriptions.values()
        rows = [row for each in subscriptions for row in each.merged.values()]
        for each in subscriptions:
            each.merged.clear()
        return rows

    def _tick(self, event: Document) -> Document:
        """Return a trade without names (rule S18)."""
        price = Fraction(event["price"], self._exchange.market(event["symbol"]).price_scale)
        document: Document = {"marketSlug": event["symbol"], "price": _dollars(price)}
        for fill in self._coverage.fills[event["id"]]:
            side = "BUY" if fill["order"]["side"] == BUY else "SELL"
            party = "taker" if fill.get("aggressor") else "maker"
            document |= {party: {"side": f"ORDER_SIDE_{side}"}, "tradeTime": instant(fill["at"])}
        return document

    def _position(self, event: Document) -> Document:
        """Return a position before and after a change. What was paid counts as traded away."""
        scale, paid = (
            self._exchange.market(event["symbol"]).qty_scale,
            event["settlement"] is not None,
        )
        bought, sold, net = event["bought"], event["sold"], event["net"] - event["qty_change"]
        if paid:
            bought = sold = max(bought, sold)
        document = picture(event, "description tradeId=trade_id @updateTime=at")
        document["afterPosition"] = {
            "netPositionDecimal": _four(Fraction(event["net"], scale)),
            "qtyBoughtDecimal": _four(Fraction(bought, scale)),
            "qtySoldDecimal": _four(Fraction(sold, scale)),
            "expired": paid,
        }
        if net:
            document["beforePosition"] = {"netPositionDecimal": _four(Fraction(net, scale))}
        return document

    def _book(self, kind: str, market: Market) -> Document:
        """Return a book in full, or its best prices and sums (rule S18, §4.2)."""
        bids, offers = (
            [
                (Fraction(px, market.price_scale), Fraction(qty, market.qty_scale))
                for px, qty in frames.levels(market, side, self._exchange.now)
            ]
            for side in (BUY, SELL)
        )
        assumed = self._exchange.assumed
        name = f"MARKET_STATE_{STATES[market.state]}"
        name = assumed("retail.closed_state_name") if market.state == CLOSED else name
        document: Document = {"marketSlug": market.symbol, "state": name}
        if assumed("market_data.last_price_sample") == "removed":
            document |= {"lastPriceSample": None} if self._exchange.now >= _NO_SAMPLES else {}
        if kind == "MARKET_DATA":
            rows = [
                [{"px": _amount(px), "qty": _four(qty)} for px, qty in each]
                for each in (bids, offers)
            ]
            return document | {"bids": rows[0], "offers": rows[1]}
        document |= {"bidDepth": len(bids), "askDepth": len(offers)}
        for name, some in (("bid", bids), ("ask", offers)):
            document[f"best{name.title()}"] = _amount(some[0][0]) if some else None
            document[f"{name}Shares"] = _two_figures(sum((qty for _, qty in some), Fraction(0)))
        if bids and offers:
            document["longQuote"] = _amount(offers[0][0])
            document["shortQuote"] = {"value": _plain(1 - bids[0][0]), "currency": "USD"}
        return document


def _error(request_id: str, text: str) -> FrameRow:
    return FrameRow("error", "error", {"requestId": request_id, "error": text}, "S16")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


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
    time = NAMES["tif"][row["tif"]].replace("GOOD_TILL_TIME", "GOOD_TILL_DATE")
    mean = Fraction(row.get("filled_notional", 0), price_scale * (row.get("cum_qty") or 1))
    commission = Fraction(row.get("commission", 0), scale * price_scale)
    fields = "id marketSlug=symbol @goodTillTime=good_till @createTime=created"
    return picture(row, f"{fields} @insertTime=inserted @lastTransactTime=changed") | {
        "side": f"ORDER_SIDE_{'BUY' if row['side'] == BUY else 'SELL'}",
        "type": f"ORDER_TYPE_{'MARKET' if row['type'] == MARKET_TO_LIMIT else 'LIMIT'}",
        "price": _dollars(Fraction(row["price"], price_scale)),
        "quantity": row.get("qty", 0) / scale,
        "cumQuantity": row.get("cum_qty", 0) / scale,
        "leavesQuantity": row.get("leaves_qty", 0) / scale,
        "tif": f"TIME_IN_FORCE_{time}",
        "state": f"ORDER_STATE_{NAMES['state'][row.get('state', 0)]}",
        "avgPx": _amount(mean),
        "commissionNotionalTotalCollected": _amount(commission),
    }


def retail_execution(execution: Document) -> Document:
    """Return an execution as the retail API shows it (§2.8)."""
    row, qty = execution["order"], execution.get("last_qty", 0)
    commission = Fraction(execution.get("commission", 0), row["qty_scale"] * row["price_scale"])
    price = Fraction(execution.get("last_px", 0), row["price_scale"])
    fields = "id text tradeId=trade_id @transactTime=at ?aggressor"
    return picture(execution, fields) | {
        "order": retail_order(row),
        "lastShares": _four(Fraction(qty, row["qty_scale"])) if qty else "0",
        "lastPx": _dollars(price) if qty else None,
        "type": f"EXECUTION_TYPE_{REPORTS[execution['type']]}",
        "transactTradeDate": instant(midnight_utc(trade_date(execution["at"]))),
        "commissionNotionalCollected": _amount(commission) if qty else None,
    }
