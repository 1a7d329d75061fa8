"""Open streams: what a subscription covers, and which rows an event makes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sim.kernel.instants import Instant
from sim.oracle import frames
from sim.oracle.exchange import NaiveExchange
from sim.oracle.frames import Row
from sim.oracle.state import EXPIRED, NEW, PENDING, TERMINATED, Document

SILENT = {PENDING, TERMINATED}  # such an instrument has no book (rules L6, L8)


@dataclass(eq=False)
class OpenStream:
    """A stream, what it covers, and what it had to send during the present input.

    `symbols` and `accounts` are what it follows, None is all; `firm` has the accounts of its firm.
    `sent` has the last book of each symbol. `position` is how much of the history it has sent.
    Its client has `spoken`, last when it was `heard`. Heartbeats are `period` apart; the last one was at `beat` and the next is `due`, 0 if never.
    """

    number: int
    operation: str
    caller: str
    opened: Instant
    request: Document
    session: tuple[str, ...] = ()
    firm: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    symbols: dict[str, None] | None = None
    spoken: bool = False
    heard: Instant = 0
    snapshot_only: bool = False
    depth: int = 10
    single: bool = False
    scales: bool = False
    period: int = 0
    due: Instant = 0
    last_sent: Instant = 0
    heartbeats: int = 0
    position: int = 0
    expected: list[Row] = field(default_factory=list)
    sent: dict[str, Row] = field(default_factory=dict)
    subscriptions: dict[str, Any] = field(default_factory=dict)
    end: tuple[int, int, str] | None = None
    doubt: str = ""

    def covers(self, symbol: str) -> bool:
        """Whether the subscription is about an instrument."""
        return self.symbols is None or symbol in self.symbols

    def send(self, rows: list[Row], at: Instant) -> None:
        """Expect rows at an instant. Of a position that changes twice at once the last is sent."""
        for row in rows:
            if row.tag == "update.positions":
                row = row._replace(position=at)
                subject = row.document["account"], row.document["symbol"], at
                self.expected = [each for each in self.expected if _subject(each) != subject]
            self.expected.append(row)
            self.last_sent = at


def _subject(row: Row) -> tuple[str | None, str | None, Instant]:
    return row.document.get("account"), row.document.get("symbol"), row.position


class Coverage:
    """Which rows an event makes for a stream. `orders` has every open order as it was reported
    last, `fills` the two executions of each trade.
    """

    def __init__(self, exchange: NaiveExchange) -> None:
        self._exchange = exchange
        self.orders = {row["id"]: row for row in exchange.beginning.orders}
        self.fills: dict[str, list[Document]] = {
            trade["id"]: [trade["aggressor"], trade["passive"]]
            for trade in exchange.beginning.trades
        }
        self._over: set[str] = set()
        self._rows: dict[str, Callable[[OpenStream, Document], Iterator[Row]]] = {
            frames.ORDERS: self._order_rows,
            frames.DROP_COPY: self._copies,
            frames.TRADES: self._trades,
            frames.CHANGES: self._changes,
            frames.POSITIONS: self._positions,
            frames.LEDGER: self._entries,
            frames.INSTRUMENTS: self._instruments,
            frames.QUOTES: self.quote_rows,
        }

    def note(self, event: Document) -> None:
        """Remember what an event says of an order."""
        if event["event"] != "Executed":
            return
        execution = event["execution"]
        row = execution["order"]
        self.orders[row["id"]] = row
        if not row.get("leaves_qty") and row.get("state", NEW) != 7:
            del self.orders[row["id"]]
        if trade := execution.get("trade_id"):
            self.fills.setdefault(trade, []).append(execution)

    def noted(self, event: Document) -> None:
        """Remember that an instrument is over, after the streams were told."""
        if self._is_over(event):
            self._over.add(event["symbol"])

    def rows(self, stream: OpenStream, event: Document) -> list[Row]:
        """Return what an event makes a stream send."""
        rows = self._rows.get(stream.operation)
        return list(rows(stream, event)) if rows else []

    def _order_rows(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Executions and refused changes of the participant's orders (§4.4)."""
        if event["event"] == "Executed":
            order = event["execution"]["order"]
            if order["account"] in stream.accounts and stream.covers(order["symbol"]):
                document = frames.execution_document(event["execution"])
                yield Row("", "update.executions", document, event["rule"])
        elif event["event"] == "CancelRejected" and event["account"] in stream.accounts:
            if not event["symbol"] or stream.covers(event["symbol"]):
                yield Row("", "update.cancelReject", frames.reject_document(event), "M34")

    def _copies(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Every execution of the firm (§6.2)."""
        if event["event"] == "Executed":
            order = event["execution"]["order"]
            if order["account"] in stream.firm and stream.covers(order["symbol"]):
                document = frames.execution_document(event["execution"])
                yield Row("", "executions", document, event["rule"])

    def _trades(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Each trade of the firm, once for each of its states (rule M42)."""
        if event["event"] == "Traded" and stream.covers(event["symbol"]):
            fills = self.fills.get(event["id"], [])
            if any(fill["order"]["account"] in stream.firm for fill in fills):
                document = frames.trade_document(fills, event["state"], stream.firm)
                yield Row("", "tradeCaptureReports", document, event["rule"])

    def _changes(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Each change of a position of the firm, settlements among them (rule L28)."""
        if event["event"] == "PositionChanged" and event["account"] in stream.firm:
            if stream.covers(event["symbol"]):
                document = frames.change_document(event)
                yield Row("", "positionChanges", document, event["rule"])

    def _positions(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Positions that changed, and those whose instrument expired (streams.md)."""
        if event["event"] == "PositionChanged" and event["account"] in stream.accounts:
            document = frames.change_document(event)["position"]
            yield Row("", "update.positions", document, event["rule"])
        elif self._is_over(event):
            for account in sorted(stream.accounts):
                held = self._exchange.account(account).positions.get(event["symbol"])
                if held is not None:
                    document = frames.position_document(account, event["symbol"], held)
                    yield Row("", "update.positions", document | {"expired": True}, "L8")

    def _is_over(self, event: Document) -> bool:
        """Whether an instrument expires or pays for the first time."""
        if event["event"] == "StateChanged":
            return event["state"] in (EXPIRED, TERMINATED) and event["symbol"] not in self._over
        final = event["event"] == "Settled" and not event["preliminary"]
        return final and event["symbol"] not in self._over

    def _entries(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Entries of the account's ledger, those of internal types never (rule P18)."""
        if event["event"] == "CashMoved" and event["account"] in stream.accounts:
            kind = frames.ENTRY_TYPES[event["type"]]
            kinds = {name.rpartition("_TYPE_")[2] for name in stream.request.get("entryTypes", ())}
            if not kinds or kind in {name.removeprefix("BALANCE_") for name in kinds}:
                yield Row("", "entries", frames.entry_document(event), event["rule"])

    def _instruments(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Instruments whose state changed, as they are then (§6.2)."""
        if event["event"] in ("StateChanged", "InstrumentListed") and stream.covers(
            event["symbol"]
        ):
            market = self._exchange.market(event["symbol"])
            document = frames.instrument_document(market)
            yield Row("", "instruments", document, event["rule"])

    def quote_rows(self, stream: OpenStream, event: Document) -> Iterator[Row]:
        """Requests and fills of quotes to everybody, quotes to their requester and maker (L13)."""
        if event["event"] == "RfqChanged":
            tag, document = frames.quote_document(event)
            own = {event["rfq"]["account"], (event["quote"] or event["rfq"])["account"]}
            if "rfq" in document or own & stream.accounts:
                yield Row("", tag, document, event["rule"] or "L13")
        elif event["event"] == "Traded" and event["state"] == 1:
            if any(fill["order"].get("quote_id") for fill in self.fills.get(event["id"], ())):
                yield Row("", "rfqTrade", {}, event["rule"])

    # ---- how a stream begins

    def snapshot(self, stream: OpenStream) -> list[Row]:
        """Return the state with which a stream of a state begins (§6.2)."""
        exchange = self._exchange
        if stream.operation == frames.ORDERS:
            orders = [
                Row("", "snapshot.orders", frames.order_document(row))
                for row in self.orders.values()
                if row["account"] in stream.accounts and stream.covers(row["symbol"])
            ]
            return [Row("", "snapshot", {}, "S1"), *orders]
        if stream.operation == frames.POSITIONS:
            held = [
                Row("", "snapshot.positions", frames.position_document(account, symbol, position))
                for account in sorted(stream.accounts)
                for symbol, position in exchange.account(account).positions.items()
            ]
            return [Row("", "snapshot", {}, "S1"), *held]
        if stream.operation == frames.INSTRUMENTS:
            symbols = dict.fromkeys(stream.request.get("symbols") or exchange.beginning.instruments)
            markets = map(exchange.market, symbols)
            return [Row("", "instruments", frames.instrument_document(each)) for each in markets]
        return []
