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
from sim.oracle.answers import reports
from sim.oracle.answers.books import market_numbers
from sim.oracle.answers.portfolios import ENTRY_TYPES
from sim.oracle.answers.reading import words
from sim.oracle.hearing import Hearing
from sim.oracle.state import BUY, CASH, CLOSED, STATES, Document, Market
from sim.oracle.streams import frames
from sim.oracle.streams.frames import FrameRow, instant, picture
from sim.oracle.streams.subscriptions import HIDDEN, SILENT, EventRows, OpenStream

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
_LITE = "lastTradePx", "sharesTraded", "openInterest"
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

    def __init__(self, hearing: Hearing, coverage: EventRows) -> None:
        self._hearing, self._exchange, self._coverage = hearing, hearing.exchange, coverage
        self.due: Instant = 0  # when merged updates are sent

    # ---- what clients ask for

    def answer(self, stream: OpenStream, frame: Document) -> list[FrameRow]:
        """Return what a client's frame is answered with, in either style (rules S16, S17)."""
        asked = [name for name in ("subscribe", "unsubscribe") if name in frame]
        sent = frame[asked[0]] if asked else {}
        body: Document = _FIELDS.copy()
        if isinstance(sent, dict):
            body |= {_camel(name): value for name, value in sent.items()}
        readable = all(isinstance(body[name], kinds) for name, kinds in _KINDS.items())
        if not frame or not isinstance(sent, dict) or not readable:
            return [FrameRow("error", "error", {}, "S16")]
        request_id, types = body["requestId"], _TYPES[stream.operation]
        kind = body["subscriptionType"]
        kind = types[kind] if kind in range(1, len(types)) else kind
        kind = str(kind).removeprefix("SUBSCRIPTION_TYPE_")
        slugs = [] if kind in _WITHOUT_SLUGS else list(dict.fromkeys(body["marketSlugs"]))
        if asked == ["unsubscribe"] and stream.subscriptions.pop(request_id, None):
            document = {"requestId": request_id, "unsubscribed": True}
            return [FrameRow(f"{request_id} ", "frame", document, "S16")]
        subscription = SocketSubscription(request_id, kind, slugs, body["responsesDebounced"])
        too_many = len(body["marketSlugs"]) > _MOST_SLUGS and kind not in _WITHOUT_SLUGS
        if asked != ["subscribe"] or too_many or self._is_mistaken(stream, subscription):
            document = {"requestId": request_id} if kind in types else {}
            return [FrameRow("error", "error", document, "S16")]
        if kind != "ORDER_SNAPSHOT":
            stream.subscriptions[request_id] = subscription
        return list(self._first(stream, subscription))

    def _is_mistaken(self, stream: OpenStream, subscription: SocketSubscription) -> bool:
        """Whether a subscription is refused: ids and markets of a type occur once (rule S16)."""
        present, kind, slugs = stream.subscriptions, subscription.type, subscription.slugs
        taken = {(each.type, slug) for each in present.values() for slug in each.slugs or [""]}
        return (
            not subscription.request_id
            or kind not in _TYPES[stream.operation][1:]
            or subscription.request_id in present
            or len(present) >= _MOST
            or any(slug not in self._exchange.beginning.instruments for slug in slugs)
            or any((kind, slug) in taken for slug in slugs or [""])
        )

    def _first(self, stream: OpenStream, subscription: SocketSubscription) -> Iterator[FrameRow]:
        """Yield the frames with which a subscription begins; none where there are no orders."""
        kind, slugs = subscription.type, subscription.slugs
        if kind == "ORDER_SNAPSHOT":
            channel = f"{subscription.request_id} snapshot"
            for row in self._coverage.orders.values():
                if row["account"] in stream.accounts and row["symbol"] in (slugs or row["symbol"]):
                    yield FrameRow(
                        channel, "order", reports.retail_document(row) | {"id": row["id"]}, "S16"
                    )
            yield FrameRow(channel, "eof", {}, "S16")
        elif kind == "ACCOUNT_BALANCE":
            accounts = map(self._exchange.account, stream.accounts)
            cash = [Fraction(account.cash, CASH) for account in accounts]
            balances = [{"currentBalance": each, "currency": "USD"} for each in cash]
            yield subscription.frame("accountBalancesSnapshot", {"balances": balances})
        elif kind in _BOOKS:
            every = sorted({row["symbol"] for row in self._coverage.orders.values()})
            for market in map(self._exchange.market, slugs or every):
                if market.state not in SILENT:
                    first = subscription.frame(_BOOKS[kind], self._book(kind, market))
                    if slugs or not self.is_spare(stream, first):
                        yield first

    def is_spare(self, stream: OpenStream, row: FrameRow) -> bool:
        """Whether a subscription to every market need not begin with a book: one without orders."""
        subscription = stream.subscriptions.get(row.document.get("requestId", ""))
        book = row.document.get("marketData") or row.document.get("marketDataLite") or {"bids": 1}
        amounts = [book.get(name) for name in ("bids", "offers", "bidDepth", "askDepth")]
        return subscription is not None and not subscription.slugs and not any(amounts)

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
                    change["entryType"] = f"LEDGER_ENTRY_TYPE_{ENTRY_TYPES[event['type']]}"
                    for name in ("before", "after"):
                        cash = Fraction(event[name], CASH)
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
            numbers = self._numbers(market)
            if kind == "MARKET_DATA":
                document |= {"transactTime": instant(now), "stats": numbers}
            else:
                document |= {name: numbers[name] for name in _LITE if name in numbers}
            yield subscription.frame(_BOOKS[kind], document)

    def _numbers(self, market: Market) -> Document:
        """Return what is not nothing of the statistics, in dollars and contracts (S2.5-3)."""
        numbers = market_numbers(self._exchange, self._coverage.history, market)
        return {
            name: Fraction(each, market.price_scale if name.endswith("Px") else market.qty_scale)
            for name, each in numbers.items()
            if each and name not in ("notionalTraded", "settlementPx")
        }

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
        document: Document = {"marketSlug": event["symbol"], "price": price}
        for fill in self._coverage.history.trades[event["id"]].fills:
            side = "BUY" if fill["order"]["side"] == BUY else "SELL"
            party = "taker" if fill.get("aggressor") else "maker"
            document |= {party: {"side": f"ORDER_SIDE_{side}"}, "tradeTime": instant(fill["at"])}
        return document

    def _position(self, event: Document) -> Document:
        """Return a position before and after a change. What was paid counts as traded away."""
        scale = self._exchange.market(event["symbol"]).qty_scale
        paid = event["settlement"] is not None
        bought, sold, net = event["bought"], event["sold"], event["net"] - event["qty_change"]
        if paid:
            bought = sold = max(bought, sold)
        document = picture(event, "description tradeId=trade_id @updateTime=at")
        reason = "RESOLUTION" if paid and event["qty_change"] else "CORRECTION"
        reason = reason if paid or event["rule"] == "M42" else "ORDER_EXECUTION"
        document["entryType"] = f"LEDGER_ENTRY_TYPE_{reason}"
        document["afterPosition"] = {
            "netPositionDecimal": Fraction(event["net"], scale),
            "qtyBoughtDecimal": Fraction(bought, scale),
            "qtySoldDecimal": Fraction(sold, scale),
        } | ({"expired": True} if paid else {})
        if net:
            document["beforePosition"] = {"netPositionDecimal": Fraction(net, scale)}
        return document

    def _book(self, kind: str, market: Market) -> Document:
        """Return a book in full, or its best prices and sums (rule S18, §4.2)."""
        bids, offers = (
            [
                (Fraction(px, market.price_scale), Fraction(qty, market.qty_scale))
                for px, qty in side
            ]
            for side in frames.sides(market, self._exchange.now)
        )
        assumed = self._exchange.assumed
        name = f"MARKET_STATE_{STATES[market.state]}"
        name = assumed("retail.closed_state_name") if market.state == CLOSED else name
        document: Document = {"marketSlug": market.symbol, "state": name}
        if assumed("market_data.last_price_sample") == "removed":
            document |= {"lastPriceSample": None} if self._exchange.now >= _NO_SAMPLES else {}
        if frames.is_hidden(market, self._exchange.now) is None:
            self._hearing.undecided(HIDDEN)
            return document
        if kind == "MARKET_DATA":
            rows = [[{"px": px, "qty": qty} for px, qty in side] for side in (bids, offers)]
            return document | {"bids": rows[0], "offers": rows[1]}
        for name, side in (("bid", bids), ("ask", offers)):
            document[f"best{name.title()}"] = side[0][0] if side else None
            document[f"{name}Shares"] = _two_figures(sum((qty for _, qty in side), Fraction(0)))
            document[f"{name}Depth"] = len(side)
        if bids and offers:
            document |= {"longQuote": offers[0][0], "shortQuote": 1 - bids[0][0]}
        return document


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _two_figures(value: Fraction) -> Fraction:
    """Return a sum cut to its first two figures."""
    unit = Fraction(1)
    while value >= 100 * unit:
        unit *= 10
    while value and value < 10 * unit:
        unit /= 10
    return int(value / unit) * unit


def retail_execution(execution: Document) -> Document:
    """Return an execution as the retail API shows it (§2.8)."""
    row, qty = execution["order"], execution.get("last_qty", 0)
    document = reports.execution_document(execution)
    document = picture(execution, "id text") | {
        name: document[name] for name in words("type tradeId aggressor transactTime")
    }
    document["order"] = picture(row, "id @insertTime=inserted @goodTillTime=good_till")
    document["order"] |= reports.retail_document(row)
    document["lastShares"] = Fraction(qty, row["qty_scale"])
    document["transactTradeDate"] = instant(midnight_utc(trade_date(execution["at"])))
    if qty:
        paid = Fraction(execution.get("commission", 0), row["qty_scale"] * row["price_scale"])
        document["commissionNotionalCollected"] = paid
        document["lastPx"] = Fraction(execution["last_px"], row["price_scale"])
    return document
