"""What frames of the exchange's streams show: rows of documents, each the picture of an event.

A row is compared field by field with what the law expects. A field that the law does not name may
have any value, and a field that exists only from a date on may be absent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from sim.kernel.instants import Instant, format_instant, trade_date
from sim.oracle.answers import reports
from sim.oracle.answers.books import Levels, levels, may_be_hidden
from sim.oracle.answers.portfolios import ENTRY_TYPES
from sim.oracle.answers.reading import is_amount, words
from sim.oracle.schedules import in_force
from sim.oracle.state import BUY, CASH, CLOSED, SELL, STATES, Document, Market

ORDERS = "OrderEntryAPI.CreateOrderSubscription"
DROP_COPY = "DropCopyAPI.CreateDropCopySubscription"
TRADES = "DropCopyAPI.CreateTradeCaptureReportSubscription"
CHANGES = "DropCopyAPI.CreatePositionChangeSubscription"
INSTRUMENTS = "DropCopyAPI.CreateInstrumentStateChangeSubscription"
POSITIONS = "PositionAPI.CreatePositionSubscription"
LEDGER = "FundingAPI.CreateBalanceLedgerSubscription"
BOOKS = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
TALK = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
QUOTES = "RFQAPI.StreamRFQEvents"
MARKETS, PRIVATE = "RetailStreamsAPI.MarketsStream", "RetailStreamsAPI.PrivateStream"

# Where the rows of a frame are, and the keys that a heartbeat has (rule S5).
_ROWS = {
    ORDERS: (
        "snapshot.orders update.executions update.cancelReject",
        "heartbeat sessionId processedSentTime",
    ),
    DROP_COPY: ("executions", "executions resumeToken"),
    TRADES: ("tradeCaptureReports", "tradeCaptureReports resumeToken"),
    CHANGES: ("positionChanges", "positionChanges resumeToken"),
    INSTRUMENTS: ("instruments", "instruments resumeToken"),
    POSITIONS: ("snapshot.positions update.positions", "heartbeat"),
    LEDGER: ("entries", "entries"),
    BOOKS: ("update", "heartbeat"),
    TALK: ("update subscriptionAck subscriptionError", "heartbeat"),
}
# Fields that exist from a date on only.
_DATED = words(
    "priceToQuantityFilled fractionalQuantityScale commissionNotionalCollected transactTradeDate"
    " outcomeSide action lastTradeQty"
)
_STATUSES = {
    "rfq": words("UNSPECIFIED OPEN CLOSED"),
    "quote": words("UNDEFINED ACTIVE CONFIRMED DELETED ACCEPTED EXECUTED"),
}
_ANONYMOUS = "account participant symbol"
POSITION = (
    "account symbol #netPosition=net #qtyBought=bought #qtySold=sold #cost #realized"
    " #bodPosition=bod @updateTime=at"
)


class FrameRow(NamedTuple):
    """One row of a frame. Rows of one `channel` have an order; `tag` says where the row stands.

    `position` is how many events of the history there were when it was sent.
    """

    channel: str
    tag: str
    document: Document
    rule: str = "S1"
    position: int = 0


def rows_of(operation: str, frame: Document) -> list[FrameRow] | None:
    """Return the rows of a frame; [] of a heartbeat, None of a frame that the law does not know."""
    if operation in (MARKETS, PRIVATE):
        return _socket_rows(frame)
    if operation == QUOTES:
        return [FrameRow("", tag, document) for tag, document in frame.items()]
    if operation not in _ROWS:
        return None
    paths, heartbeat = _ROWS[operation]
    rows = [FrameRow("", "snapshot", {})] if "snapshot" in frame else []
    for path in paths.split():
        value: Any = frame
        for key in path.split("."):
            value = (value or {}).get(key)
        documents = value if isinstance(value, list) else [value] if value else []
        by_symbol = path in ("instruments", "update")
        rows += [FrameRow(each["symbol"] if by_symbol else "", path, each) for each in documents]
    return rows if rows or frame.keys() == set(heartbeat.split()) else None


def _socket_rows(frame: Document) -> list[FrameRow] | None:
    """Return the rows of a frame of a WebSocket: itself, or the orders of a snapshot (S16)."""
    if "requestId" not in frame:
        return [] if frame == {"heartbeat": {}} else None
    request_id = frame["requestId"]
    if "error" in frame:
        return [FrameRow("error", "error", frame)]
    if snapshot := frame.get("orderSubscriptionSnapshot"):
        rows = [FrameRow(f"{request_id} snapshot", "order", row) for row in snapshot["orders"]]
        return rows + [FrameRow(f"{request_id} snapshot", "eof", {})] * snapshot["eof"]
    payload = frame.get("marketData") or frame.get("marketDataLite") or {}
    return [FrameRow(f"{request_id} {payload.get('marketSlug', '')}", "frame", frame)]


def difference(expected: Any, observed: Any, path: str = "") -> str:
    """Return the first difference between an expected document and an observed one; "" if none."""
    pairs: list[tuple[Any, Any, Any]] = []
    if isinstance(expected, dict) and isinstance(observed, dict):
        names = [name for name in expected if name in observed or name not in _DATED]
        pairs = [(name, expected[name], observed.get(name)) for name in names]
    elif (
        isinstance(expected, list) and isinstance(observed, list) and len(expected) == len(observed)
    ):
        pairs = [(i, *pair) for i, pair in enumerate(zip(expected, observed, strict=True))]
    elif isinstance(expected, Fraction):
        return "" if is_amount(observed, expected) else f"{path} is {observed}, not {expected}"
    elif expected != observed:
        return f"{path} is {observed}, not {expected}"
    differences = (difference(due, value, f"{path}.{name}") for name, due, value in pairs)
    return next(filter(None, differences), "")


# ---- documents


def instant(at: Instant | None) -> str | None:
    """Return an instant as documents show it."""
    return format_instant(at) if at else None


_FORMS: dict[str, Callable[[Any], Any]] = {
    "#": lambda value: str(value or 0),
    "@": instant,
    "?": bool,
}


@lru_cache
def _parts(fields: str) -> list[tuple[str, str, Callable[[Any], Any]]]:
    parts = [(field[0], *field.lstrip("#@?").partition("=")) for field in fields.split()]
    text = lambda value: value or ""  # noqa: E731
    return [(name, key or name, _FORMS.get(form, text)) for form, name, _, key in parts]


def picture(row: Document, fields: str) -> Document:
    """Return fields of a row of the journal, written `name=key`; # is a number, @ an instant, and
    ? is a flag of true or false.
    """
    return {name: form(row.get(key)) for name, key, form in _parts(fields)}


def execution_document(execution: Document) -> Document:
    """Return an execution as the exchange shows it, with its order (§2.7)."""
    document = reports.execution_document(execution) | picture(
        execution, "id text traceId=trace_id"
    )
    return document | {"order": reports.order_document(execution["order"])}


def trade_document(fills: list[Document], state: int, accounts: Collection[str]) -> Document:
    """Return a trade as a firm sees it: the other side is anonymous (rule M42, §6.2)."""
    trade: Document = {"id": fills[0]["trade_id"]}
    trade["state"] = f"TRADE_STATE_{reports.TRADE_STATES[state]}"
    for side, fill in zip(("aggressor", "passive"), fills, strict=True):
        if fill["order"]["account"] in accounts:
            trade[side] = execution_document(fill)
        else:
            trade[side] = picture(fill, "tradeId=trade_id #lastShares=last_qty #lastPx=last_px")
            trade[side]["order"] = picture({"symbol": fill["order"]["symbol"]}, _ANONYMOUS)
    return trade


def change_document(event: Document) -> Document:
    """Return a change of a position, with the position after it (rules L28, P23)."""
    document: Document = {"position": picture(event, POSITION)}
    document["changeTime"] = instant(event["at"])
    if event["settlement"] is not None:
        document["position"]["expired"] = True
        document |= {"settlementPx": str(event["settlement"]), "settlementPreliminary": False}
        document["resolved"] = True
    return document


def entry_document(event: Document) -> Document:
    """Return an entry of the balance ledger (rules P17-P21)."""
    return picture(event, "account description symbol @updateTime=at") | {
        "currency": "USD",
        "beforeBalance": Fraction(event["before"], CASH),
        "afterBalance": Fraction(event["after"], CASH),
        "entryType": ENTRY_TYPES[event["type"]],
        "updateBusinessDate": trade_date(event["at"]).isoformat(),
    }


def quote_document(event: Document) -> tuple[str, Document]:
    """Return the name and the picture of what happened to a request for quotes (rule L13)."""
    subject, _, verb = event["kind"].partition("_")
    row, fields = event[subject], "id symbol" if subject == "rfq" else "id symbol rfqId=rfq_id"
    status = f"{subject.upper()}_STATUS_{_STATUSES[subject][row.get('status', 1)]}"
    return subject + verb.title(), {subject: picture(row, fields) | {"status": status}}


def instrument_row(market: Market, rule: str = "S1") -> FrameRow:
    """Return the row of an instrument as it is (rule L1, §2.5)."""
    fields = "symbol #priceScale=price_scale #fractionalQtyScale=qty_scale #minimumTradeQty=min_qty"
    state = f"INSTRUMENT_STATE_{STATES[market.state]}"
    document = picture(market.terms, fields) | {"state": state}
    return FrameRow(market.symbol, "instruments", document, rule)


def is_hidden(market: Market, now: Instant) -> bool | None:
    """Whether the schedule hides the book now (rules L3, L4). None if the instrument has another
    state than its schedule wants: which segment its book follows then, no rule says.
    """
    if not may_be_hidden(market):
        return False
    segment = in_force(market.terms["schedule"], now)
    if market.pinned is not None or market.state != (segment["state"] if segment else CLOSED):
        return None
    return bool(segment and segment["hide_market_data"])


def sides(market: Market, now: Instant) -> list[Levels]:
    """Return bids and offers as prices and quantities, best first (rules M1, S9)."""
    return [[], []] if is_hidden(market, now) else [levels(market, BUY), levels(market, SELL)]


def book_document(market: Market, depth: int, now: Instant, *, single: bool = False) -> Document:
    """Return a book as the exchange shows it: levels, or `single` orders (rules S8, S9)."""
    hidden, both = is_hidden(market, now), sides(market, now)
    state = f"INSTRUMENT_STATE_{STATES[market.state]}"
    document: Document = {"symbol": market.symbol, "state": state}
    if hidden is None:
        return document
    if single and not hidden:
        orders = market.side(BUY), market.side(SELL)
        both = [[(order.price, order.leaves_qty) for order in side] for side in orders]
    for name, side in zip(("bids", "offers"), both, strict=True):
        document[name] = [{"px": str(px), "qty": str(qty)} for px, qty in side[:depth]]
    return document | {"bookHidden": hidden}
