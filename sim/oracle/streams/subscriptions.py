"""Open streams: what a subscription covers, and which rows an event makes for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from sim.kernel.instants import Instant, seconds
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.answers.portfolios import ENTRY_TYPES, entry_types
from sim.oracle.answers.reading import listed
from sim.oracle.answers.reports import order_document
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import EXPIRED, PENDING, PENDING_NEW, TERMINATED, Document
from sim.oracle.streams import frames
from sim.oracle.streams.frames import FrameRow
from sim.read.observed import ObservedInput

SOCKETS = frames.MARKETS, frames.PRIVATE
BOOK_STREAMS = frames.BOOKS, frames.TALK
# These take no session (rule S6); with `stream.symbols_spare` a list spares those of LISTS.
FREE = (*BOOK_STREAMS, frames.INSTRUMENTS, frames.QUOTES, *SOCKETS)
LISTS = frames.ORDERS, frames.DROP_COPY, frames.TRADES, frames.CHANGES
SILENT = PENDING, TERMINATED  # such an instrument has no book (rules L6, L8)
HIDDEN = "the hidden book of a state that the schedule does not want"
End = tuple[int, int, str]  # gRPC code, code of a WebSocket, rule


@dataclass(eq=False)
class OpenStream:
    """A stream, what it covers, and what it had to send during the present input.

    `symbols` and `accounts` are what it follows, None is all.
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
    accounts: frozenset[str] = frozenset()
    symbols: dict[str, None] | None = None
    spoken: bool = False
    snapshot_only: bool = False
    depth: int = 10
    single: bool = False
    period: int = 0
    due: Instant = 0
    heartbeats: int = 0
    position: int = 0
    expected: list[FrameRow] = field(default_factory=list)
    sent: dict[str, FrameRow] = field(default_factory=dict)
    subscriptions: dict[str, Any] = field(default_factory=dict)
    end: End | None = None
    doubt: str = ""

    @property
    def firm(self) -> str:
        """The firm of its caller."""
        return self.caller.partition("/users/")[0]

    def covers(self, symbol: str) -> bool:
        """Whether the subscription is about an instrument."""
        return self.symbols is None or symbol in self.symbols

    def send(self, rows: list[FrameRow], at: Instant) -> None:
        """Expect rows at an instant. Of a position that changes twice at once the last is sent."""
        for row in rows:
            if row.tag == "update.positions":
                row = row._replace(position=at)
                subject = _subject(row)
                self.expected = [each for each in self.expected if _subject(each) != subject]
            self.expected.append(row)
            self.last_sent = at


def _subject(row: FrameRow) -> tuple[Any, ...]:
    return row.document.get("account"), row.document.get("symbol"), row.position


def subscription_of(
    exchange: NaiveExchange, history: NaiveHistory, observed: ObservedInput
) -> OpenStream:
    """Return the stream that an input asked for (§6.2)."""
    caller, now, request = observed.out.get("caller", ""), observed.now, observed.request
    stream = OpenStream(observed.opened, observed.operation, caller, request, now, now)
    named = request.get("accounts") or listed(request.get("account"))
    stream.accounts = frozenset(named or history.accounts_of(caller))
    if request.get("symbols") or stream.operation == frames.TALK:
        stream.symbols = dict.fromkeys(request.get("symbols", ()))
    stream.depth = request.get("depth") or 10
    stream.single = bool(request.get("unaggregated"))
    stream.session = _session(exchange, stream)
    stream.period = exchange.assumed("stream.heartbeat")
    if stream.period:
        stream.due = now + stream.period
        stream.due -= stream.due % seconds(1) if stream.period > seconds(1) else 0
    return stream


def _session(exchange: NaiveExchange, stream: OpenStream) -> tuple[str, ...]:
    """Return the session that a stream takes; () of one that takes none (rule S6).

    Without a participant it is one of the account that is asked for.
    """
    assumed = exchange.assumed
    spare = LISTS if assumed("stream.symbols_spare") == "all" else (frames.ORDERS,)
    if stream.operation in FREE or (stream.operation in spare and stream.symbols):
        return ()
    operation = stream.operation if assumed("stream.revocation_scope") == "rpc" else ""
    of_user = "/users/" in stream.caller
    return stream.caller, operation, "" if of_user else stream.request.get("account", "")


class EventRows:
    """Which rows an event makes for a stream. `orders` has every open order as reported last."""

    def __init__(self, exchange: NaiveExchange, history: NaiveHistory) -> None:
        self._exchange, self.history = exchange, history
        self.orders = {row["id"]: row for row in exchange.beginning.orders}
        self.silent: set[str] = set()  # terminated instruments whose last book was sent

    def note(self, event: Document) -> None:
        """Remember what an event says of an order, before streams are told."""
        if event["event"] == "Executed":
            row = event["execution"]["order"]
            self.orders[row["id"]] = row
            if not row.get("leaves_qty") and row.get("state") != PENDING_NEW:
                del self.orders[row["id"]]

    def noted(self, event: Document) -> None:
        """Remember that an instrument is over, after streams were told."""
        if event["event"] == "BookChanged":
            if self._exchange.market(event["symbol"]).state == TERMINATED:
                self.silent.add(event["symbol"])

    @staticmethod
    def _is_over(event: Document) -> bool:
        """Whether an instrument expires or pays."""
        if event["event"] == "Settled":
            return not event["preliminary"]
        return event["event"] == "StateChanged" and bool(event["state"] == EXPIRED)

    def rows(self, stream: OpenStream, event: Document) -> Iterator[FrameRow]:
        """Yield what an event makes a stream send (§6.2, streams.md)."""
        kind, rule = event["event"], event.get("rule", "")
        subject = event["execution"]["order"] if kind == "Executed" else event
        account, symbol = subject.get("account", ""), subject.get("symbol", "")
        filtered = bool(symbol) or kind == "CancelRejected"
        if filtered and stream.operation != frames.QUOTES and not stream.covers(symbol):
            return
        own = account in stream.accounts
        match stream.operation, kind:
            case frames.ORDERS, "Executed" if own:
                document = frames.execution_document(event["execution"])
                yield FrameRow("", "update.executions", document, rule)
            case frames.ORDERS, "CancelRejected" if own:
                fields = "orderId=order_id text ?isReplace=is_replace clordId=clord_id"
                document = frames.picture(event, f"{fields} @transactTime=at")
                yield FrameRow("", "update.cancelReject", document, rule)
            case frames.DROP_COPY, "Executed" if account in self._of_firm(stream):
                document = frames.execution_document(event["execution"])
                yield FrameRow("", "executions", document, rule)
            case frames.TRADES, "Traded":
                trade, of_firm = self.history.trades.get(event["id"]), self._of_firm(stream)
                if trade is not None and trade.accounts.intersection(of_firm):
                    document = frames.trade_document(trade.fills, event["state"], of_firm)
                    yield FrameRow("", "tradeCaptureReports", document, rule)
            case frames.CHANGES, "PositionChanged" if account in self._of_firm(stream):
                yield FrameRow("", "positionChanges", frames.change_document(event), rule)
            case frames.POSITIONS, "PositionChanged" if own:
                document = frames.change_document(event)["position"]
                yield FrameRow("", "update.positions", document, rule)
            case frames.POSITIONS, _ if self._is_over(event):
                for row in self._held(stream, "update.positions"):
                    if row.document["symbol"] == symbol:
                        yield row._replace(document=row.document | {"expired": True})
            case frames.LEDGER, "CashMoved" if own:
                types = entry_types(stream.request)
                usd = (stream.request.get("currency") or "USD").upper() == "USD"
                if usd and ENTRY_TYPES[event["type"]] in types:
                    yield FrameRow("", "entries", frames.entry_document(event), rule)
            case frames.INSTRUMENTS, "StateChanged" | "InstrumentListed":
                yield frames.instrument_row(self._exchange.market(symbol), rule)
            case frames.QUOTES, _:
                yield from self.quote_rows(stream, event)

    def _of_firm(self, stream: OpenStream) -> tuple[str, ...]:
        return self.history.accounts_of_firm(stream.caller)

    def quote_rows(self, stream: OpenStream, event: Document) -> Iterator[FrameRow]:
        """Yield requests and fills of quotes for all, quotes for requester and maker (L13)."""
        if event["event"] == "RfqChanged":
            tag, document = frames.quote_document(event)
            own = {event["rfq"]["account"], (event["quote"] or event["rfq"])["account"]}
            if "rfq" in document or own & stream.accounts:
                yield FrameRow("", tag, document, event["rule"] or "L13")
        elif event["event"] == "Traded" and event["state"] == 1:
            trade = self.history.trades.get(event["id"])
            if trade and any(fill["order"].get("quote_id") for fill in trade.fills):
                yield FrameRow("", "rfqTrade", {}, event["rule"])

    def _held(self, stream: OpenStream, tag: str) -> Iterator[FrameRow]:
        fields = frames.POSITION.removesuffix(" #bodPosition=bod @updateTime=at")
        for account in sorted(stream.accounts):
            for symbol, held in self._exchange.account(account).positions.items():
                row = asdict(held) | {"account": account, "symbol": symbol}
                yield FrameRow("", tag, frames.picture(row, fields), "L8")

    def snapshot(self, stream: OpenStream) -> list[FrameRow]:
        """Return the state with which a stream of a state begins (§6.2)."""
        if stream.operation == frames.ORDERS:
            rows = [
                FrameRow("", "snapshot.orders", order_document(row))
                for row in self.orders.values()
                if row["account"] in stream.accounts and stream.covers(row["symbol"])
            ]
            return [FrameRow("", "snapshot", {}), *rows]
        if stream.operation == frames.POSITIONS:
            return [FrameRow("", "snapshot", {}), *self._held(stream, "snapshot.positions")]
        if stream.operation == frames.INSTRUMENTS:
            every = self._exchange.beginning.listed() if stream.symbols is None else ()
            markets = map(self._exchange.market, stream.symbols or every)
            return [frames.instrument_row(each) for each in markets]
        return []
