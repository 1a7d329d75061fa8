"""Open streams: what a subscription covers, and which rows an event makes for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sim.kernel.instants import Instant
from sim.oracle import frames
from sim.oracle.exchange import NaiveExchange
from sim.oracle.frames import Row
from sim.oracle.state import EXPIRED, PENDING, PENDING_NEW, TERMINATED, Document

SILENT = PENDING, TERMINATED  # such an instrument has no book (rules L6, L8)
End = tuple[int, int, str]  # gRPC code, code of a WebSocket, rule


@dataclass(eq=False)
class OpenStream:
    """A stream, what it covers, and what it had to send during the present input.

    `symbols` and `accounts` are what it follows, None is all; `firm` has the accounts of its firm.
    `sent` has the last book of each symbol. `position` is how much of the history it has sent.
    Its client has `spoken`, last when it was `heard`. Heartbeats are `period` apart; the next is
    `due`, 0 if never.
    """

    number: int
    operation: str
    caller: str
    request: Document
    last_sent: Instant
    heard: Instant
    session: tuple[str, ...] = ()
    firm: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    symbols: dict[str, None] | None = None
    spoken: bool = False
    snapshot_only: bool = False
    depth: int = 10
    single: bool = False
    scales: bool = False
    period: int = 0
    due: Instant = 0
    heartbeats: int = 0
    position: int = 0
    expected: list[Row] = field(default_factory=list)
    sent: dict[str, Row] = field(default_factory=dict)
    subscriptions: dict[str, Any] = field(default_factory=dict)
    end: End | None = None
    doubt: str = ""

    def covers(self, symbol: str) -> bool:
        """Whether the subscription is about an instrument."""
        return self.symbols is None or symbol in self.symbols

    def send(self, rows: list[Row], at: Instant) -> None:
        """Expect rows at an instant. Of a position that changes twice at once the last is sent."""
        for row in rows:
            if row.tag == "update.positions":
                row = row._replace(position=at)
                subject = _subject(row)
                self.expected = [each for each in self.expected if _subject(each) != subject]
            self.expected.append(row)
            self.last_sent = at


def _subject(row: Row) -> tuple[Any, ...]:
    return row.document.get("account"), row.document.get("symbol"), row.position


class Coverage:
    """Which rows an event makes for a stream. `orders` has every open order as it was reported
    last, `fills` the two executions of each trade.
    """

    def __init__(self, exchange: NaiveExchange) -> None:
        self._exchange = exchange
        beginning = exchange.beginning
        self.orders = {row["id"]: row for row in beginning.orders}
        self.fills: dict[str, list[Document]] = {
            trade["id"]: [trade["aggressor"], trade["passive"]] for trade in beginning.trades
        }
        self.silent: set[str] = set()  # terminated instruments whose last book was sent
        self._over: set[str] = set()

    def note(self, event: Document) -> None:
        """Remember what an event says of an order, before streams are told."""
        if event["event"] == "Executed":
            execution = event["execution"]
            row = execution["order"]
            self.orders[row["id"]] = row
            if not row.get("leaves_qty") and row.get("state") != PENDING_NEW:
                del self.orders[row["id"]]
            if trade := execution.get("trade_id"):
                self.fills.setdefault(trade, []).append(execution)

    def noted(self, event: Document) -> None:
        """Remember that an instrument is over, after streams were told."""
        if self._is_over(event):
            self._over.add(event["symbol"])
        if event["event"] == "BookChanged":
            if self._exchange.market(event["symbol"]).state == TERMINATED:
                self.silent.add(event["symbol"])

    def _is_over(self, event: Document) -> bool:
        """Whether an instrument expires or pays for the first time."""
        over = event["event"] == "StateChanged" and event["state"] in (EXPIRED, TERMINATED)
        over = over or (event["event"] == "Settled" and not event["preliminary"])
        return over and event["symbol"] not in self._over

    def rows(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Yield what an event makes a stream send (§6.2, streams.md)."""
        kind, rule = event["event"], event.get("rule", "")
        subject = event["execution"]["order"] if kind == "Executed" else event
        account, symbol = subject.get("account", ""), subject.get("symbol", "")
        if symbol and stream.operation != frames.QUOTES and not stream.covers(symbol):
            return
        own, of_firm = account in stream.accounts, account in stream.firm
        match stream.operation, kind:
            case frames.ORDERS, "Executed" if own:
                yield Row("", "update.executions", frames.execution_document(event["execution"]), rule)
            case frames.ORDERS, "CancelRejected" if own:
                fields = "orderId=order_id text ?isReplace=is_replace clordId=clord_id"
                document = frames.picture(event, f"{fields} @transactTime=at")
                yield Row("", "update.cancelReject", document, rule)
            case frames.DROP_COPY, "Executed" if of_firm:
                yield Row("", "executions", frames.execution_document(event["execution"]), rule)
            case frames.TRADES, "Traded":
                fills = self.fills.get(event["id"], [])
                if stream.firm & {fill["order"]["account"] for fill in fills}:
                    document = frames.trade_document(fills, event["state"], stream.firm)
                    yield Row("", "tradeCaptureReports", document, rule)
            case frames.CHANGES, "PositionChanged" if of_firm:
                yield Row("", "positionChanges", frames.change_document(event), rule)
            case frames.POSITIONS, "PositionChanged" if own:
                yield Row("", "update.positions", frames.change_document(event)["position"], rule)
            case frames.POSITIONS, _ if self._is_over(event):
                for row in self._held(stream, "update.positions"):
                    if row.document["symbol"] == symbol:
                        yield row._replace(document=row.document | {"expired": True})
            case frames.LEDGER, "CashMoved" if own:
                asked = {each.rpartition("_TYPE_")[2] for each in stream.request.get("entryTypes", ())}
                asked = {each.removeprefix("BALANCE_") for each in asked}
                if not asked or frames.NAMES["entry"][event["type"]] in asked:
                    yield Row("", "entries", frames.entry_document(event), rule)
            case frames.INSTRUMENTS, "StateChanged" | "InstrumentListed":
                document = frames.instrument_document(self._exchange.market(symbol))
                yield Row("", "instruments", document, rule)
            case frames.QUOTES, _:
                yield from self.quote_rows(stream, event)

    def quote_rows(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Yield requests and fills of quotes for everybody, quotes for requester and maker (L13)."""
        if event["event"] == "RfqChanged":
            tag, document = frames.quote_document(event)
            own = {event["rfq"]["account"], (event["quote"] or event["rfq"])["account"]}
            if "rfq" in document or own & stream.accounts:
                yield Row("", tag, document, event["rule"] or "L13")
        elif event["event"] == "Traded" and event["state"] == 1:
            if any(fill["order"].get("quote_id") for fill in self.fills.get(event["id"], ())):
                yield Row("", "rfqTrade", {}, event["rule"])

    def _held(self, stream: OpenStream, tag: str) -> Iterator[Row]:
        fields = frames.POSITION.removesuffix(" #bodPosition=bod @updateTime=at")
        for account in sorted(stream.accounts):
            for symbol, held in self._exchange.account(account).positions.items():
                row = {name: getattr(held, name) for name in ("net", "bought", "sold", "cost", "realized")}
                row |= {"account": account, "symbol": symbol}
                yield Row("", tag, frames.picture(row, fields), "L8")

    def snapshot(self, stream: OpenStream) -> list[Row]:
        """Return the state with which a stream of a state begins (§6.2)."""
        if stream.operation == frames.ORDERS:
            rows = [
                Row("", "snapshot.orders", frames.order_document(row))
                for row in self.orders.values()
                if row["account"] in stream.accounts and stream.covers(row["symbol"])
            ]
            return [Row("", "snapshot", {}), *rows]
        if stream.operation == frames.POSITIONS:
            return [Row("", "snapshot", {}), *self._held(stream, "snapshot.positions")]
        if stream.operation == frames.INSTRUMENTS:
            every = self._exchange.beginning.listed() if stream.symbols is None else ()
            markets = map(self._exchange.market, stream.symbols or every)
            return [Row("", "instruments", frames.instrument_document(each)) for each in markets]
        return []
