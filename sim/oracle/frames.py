"""What frames of the exchange's streams show: rows of documents, each the picture of an event.

A row is compared field by field with what the law expects. A field that the law does not name may
have any value, and a field that exists only from a date on may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sim.kernel.instants import Instant, format_instant, trade_date
from sim.oracle.state import BUY, CASH, REPORTS, STATES, Document, Market, NaivePosition

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

# Where the rows of a frame are, and which key alone makes a frame a heartbeat (rule S5).
_ROWS = {
    ORDERS: ("snapshot.orders", "update.executions", "update.cancelReject"),
    DROP_COPY: ("executions",),
    TRADES: ("tradeCaptureReports",),
    CHANGES: ("positionChanges",),
    INSTRUMENTS: ("instruments",),
    POSITIONS: ("snapshot.positions", "update.positions"),
    LEDGER: ("entries",),
    BOOKS: ("update",),
    TALK: ("update", "subscriptionAck", "subscriptionError"),
}
_DATED = {
    *("priceToQuantityFilled", "fractionalQuantityScale", "commissionNotionalCollected"),
    *("transactTradeDate", "outcomeSide", "action"),
}
ORDER_STATES = (
    *("NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "REPLACED", "REJECTED", "EXPIRED"),
    *("PENDING_NEW", "PENDING_REPLACE", "PENDING_CANCEL", "PENDING_RISK"),
)
_SIDES = "UNDEFINED", "BUY", "SELL"
_TYPES = "UNDEFINED", "MARKET_TO_LIMIT", "LIMIT", "STOP", "STOP_LIMIT"
TIMES_IN_FORCE = (
    *("UNDEFINED", "DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "GOOD_TILL_TIME"),
    "FILL_OR_KILL",
)
RFQ_STATES = "UNSPECIFIED", "OPEN", "CLOSED"
QUOTE_STATES = "UNDEFINED", "ACTIVE", "CONFIRMED", "DELETED", "ACCEPTED", "EXECUTED"
_TRADE_STATES = "UNDEFINED", "NEW", "CLEARED", "BUSTED"
ENTRY_TYPES = (
    *("UNDEFINED", "DEPOSIT", "WITHDRAWAL", "ORDER_EXECUTION", "CORRECTION", "NETTING"),
    *("RESOLUTION", "MANUAL_ADJUSTMENT", "SECURITY_BALANCE_ADJUSTMENT"),
    *("SECURITY_MARK_TO_MARKET", "ACCOUNT_PROPERTY_ADJUSTMENT", "COMMISSION"),
    *("CONTRACT_EXPIRATION", "PENDING_CREDIT_ADJUSTMENT", "BEGINNING_OF_DAY"),
    *("SECURITY_WITHDRAWAL", "WITHDRAWAL_REJECTION", "MANUAL_TRANSFER"),
    *("AVERAGE_PRICE_TRANSFER", "GIVE_UP", "SYNCHRONIZATION", "INTEREST"),
    *("PENDING_WITHDRAWAL_CREATION", "SETTLEMENT_FEE"),
)


class Row(NamedTuple):
    """One row of a frame. Rows of one `channel` have an order; `tag` says where the row stands.

    `position` is how many events of the history there were when it was sent.
    """

    channel: str
    tag: str
    document: Document
    rule: str = "S1"
    position: int = 0


def rows_of(operation: str, frame: Document) -> list[Row] | None:
    """Return the rows of a frame; [] of a heartbeat, None of a frame that the law does not know."""
    if operation in (MARKETS, PRIVATE):
        return _socket_rows(frame)
    if operation == QUOTES:
        return [Row("", tag, document) for tag, document in frame.items()]
    if operation not in _ROWS:
        return None
    rows: list[Row] = []
    for path in _ROWS[operation]:
        value: Any = frame
        for key in path.split("."):
            value = (value or {}).get(key)
        documents = value if isinstance(value, list) else [value] if value else []
        channel = path == "update" and documents[0:1] and documents[0]["symbol"]
        rows += [Row(channel or "", path, document) for document in documents]
    if "snapshot" in frame:
        return [Row("", "snapshot", {}), *rows]
    token = {"resumeToken"} if operation in (DROP_COPY, TRADES, CHANGES, INSTRUMENTS) else set()
    keys = {"heartbeat"} if len(_ROWS[operation]) > 1 or operation == BOOKS else {*_ROWS[operation]}
    sent = {"sessionId", "processedSentTime"} if operation == ORDERS else set()
    return rows if rows or frame.keys() == keys | token | sent else None


def _socket_rows(frame: Document) -> list[Row] | None:
    if frame == {"heartbeat": {}}:
        return []
    if "requestId" not in frame:
        return None
    if "error" in frame:
        return [Row("error", "error", frame)]
    if snapshot := frame.get("orderSubscriptionSnapshot"):
        channel = f"{frame['requestId']} snapshot"
        rows = [Row(channel, "order", row) for row in snapshot["orders"]]
        return [*rows, Row(channel, "eof", {})] if snapshot["eof"] else rows
    payload = frame.get("marketData") or frame.get("marketDataLite") or {}
    channel = f"{frame['requestId']} {payload.get('marketSlug', '')}"
    return [Row(channel, "frame", frame)]


def difference(expected: Any, observed: Any, path: str = "") -> str:
    """Return the first difference between an expected document and an observed one; "" if none."""
    if isinstance(expected, dict) and isinstance(observed, dict):
        for name, value in expected.items():
            if name in _DATED and name not in observed:
                continue
            below = f"{path}.{name}" if path else name
            if text := difference(value, observed.get(name), below):
                return text
        return ""
    if isinstance(expected, list) and isinstance(observed, list) and len(expected) == len(observed):
        pairs = enumerate(zip(expected, observed, strict=True))
        return next((text for i, (a, b) in pairs if (text := difference(a, b, f"{path}.{i}"))), "")
    return "" if expected == observed else f"{path} is {observed}, not {expected}"


# ---- documents


def instant(at: Instant | None) -> str | None:
    """Return an instant as documents show it."""
    return format_instant(at) if at else None


def money(cash: int) -> str:
    """Return cash as a decimal text with at least two decimals."""
    whole, part = divmod(abs(cash), CASH)
    text = f"{part:08}".rstrip("0").ljust(2, "0")
    return f"{'-' if cash < 0 else ''}{whole}.{text}"


def order_document(row: Document) -> Document:
    """Return an order as the exchange shows it (rule M41, §2.7)."""
    numbers = {
        "orderQty": "qty",
        "cumQty": "cum_qty",
        "avgPx": "avg_px",
        "leavesQty": "leaves_qty",
        "price": "price",
        "stopPrice": "stop_price",
        "minQty": "min_qty",
        "cashOrderQty": "cash_qty",
        "commissionNotionalTotalCollected": "commission",
        "priceScale": "price_scale",
        "fractionalQuantityScale": "qty_scale",
    }
    return {
        "id": row["id"],
        "type": f"ORDER_TYPE_{_TYPES[row['type']]}",
        "side": f"SIDE_{_SIDES[row['side']]}",
        "symbol": row["symbol"],
        "clordId": row.get("clord_id", ""),
        "timeInForce": f"TIME_IN_FORCE_{TIMES_IN_FORCE[row['tif']]}",
        "account": row["account"],
        "state": f"ORDER_STATE_{ORDER_STATES[row.get('state', 0)]}",
        "participant": row["participant"],
        **{name: str(row.get(field, 0)) for name, field in numbers.items()},
        "createTime": instant(row["created"]),
        "insertTime": instant(row.get("inserted")),
        "goodTillTime": instant(row.get("good_till")),
        "lastTransactTime": instant(row.get("changed")),
        "participateDontInitiate": row.get("post_only", False),
        "lastTradeId": row.get("last_trade_id", ""),
        "priceToQuantityFilled": {
            price: str(qty) for price, qty in row.get("filled_at", {}).items()
        },
    }


def execution_document(execution: Document) -> Document:
    """Return an execution as the exchange shows it (§2.7)."""
    date = trade_date(execution["at"])
    return {
        "id": execution["id"],
        "order": order_document(execution["order"]),
        "lastShares": str(execution.get("last_qty", 0)),
        "lastPx": str(execution.get("last_px", 0)),
        "type": f"EXECUTION_TYPE_{REPORTS[execution['type']]}",
        "text": execution.get("text", ""),
        "transactTime": instant(execution["at"]),
        "tradeId": execution.get("trade_id", ""),
        "aggressor": execution.get("aggressor", False),
        "commissionNotionalCollected": str(execution.get("commission", 0)),
        "traceId": execution.get("trace_id", ""),
        "transactTradeDate": {"year": date.year, "month": date.month, "day": date.day},
    }


def trade_document(fills: list[Document], state: int, accounts: frozenset[str]) -> Document:
    """Return a trade as a firm sees it: the other side is anonymous (rule M42, §6.2)."""
    sides: Document = {}
    for fill in fills:
        document = execution_document(fill)
        if fill["order"]["account"] not in accounts:
            document = {name: document[name] for name in ("lastShares", "lastPx", "tradeId")}
            document["order"] = {"account": "", "participant": "", "symbol": fill["order"]["symbol"]}
        sides["aggressor" if fill.get("aggressor") else "passive"] = document
    trade = fills[0]["trade_id"]
    return {"id": trade, "state": f"TRADE_STATE_{_TRADE_STATES[state]}", **sides}


def reject_document(event: Document) -> Document:
    """Return a refused cancel or replace (rule M34)."""
    return {
        "orderId": event["order_id"],
        "text": event["text"],
        "isReplace": event["is_replace"],
        "clordId": event["clord_id"],
        "transactTime": instant(event["at"]),
    }


def change_document(event: Document) -> Document:
    """Return a change of a position, with the position after it (rules L28, P23)."""
    paid = event["settlement"] is not None
    position = {
        "account": event["account"],
        "symbol": event["symbol"],
        "netPosition": str(event["net"]),
        "qtyBought": str(event["bought"]),
        "qtySold": str(event["sold"]),
        "cost": str(event["cost"]),
        "realized": str(event["realized"]),
        "bodPosition": str(event["bod"]),
        "updateTime": instant(event["at"]),
    }
    if not paid:
        return {"position": position, "changeTime": instant(event["at"])}
    return {
        "position": position | {"expired": True},
        "changeTime": instant(event["at"]),
        "settlementPx": str(event["settlement"]),
        "settlementPreliminary": False,
        "resolved": True,
    }


def position_document(account: str, symbol: str, held: NaivePosition) -> Document:
    """Return a position as it is."""
    return {
        "account": account,
        "symbol": symbol,
        "netPosition": str(held.net),
        "qtyBought": str(held.bought),
        "qtySold": str(held.sold),
        "cost": str(held.cost),
        "realized": str(held.realized),
    }


def entry_document(event: Document) -> Document:
    """Return an entry of the balance ledger (rules P17-P21)."""
    return {
        "account": event["account"],
        "currency": "USD",
        "beforeBalance": money(event["before"]),
        "afterBalance": money(event["after"]),
        "description": event["description"],
        "updateTime": instant(event["at"]),
        "symbol": event["symbol"],
        "entryType": ENTRY_TYPES[event["type"]],
        "updateBusinessDate": trade_date(event["at"]).isoformat(),
    }


def quote_document(event: Document) -> tuple[str, Document]:
    """Return the name and the picture of what happened to a request for quotes (§4.4)."""
    first, _, last = event["kind"].partition("_")
    if event["quote"] is None or first == "rfq":
        rfq = event["rfq"]
        status = f"RFQ_STATUS_{RFQ_STATES[rfq.get('status', 1)]}"
        return first + last.title(), {"rfq": {name: rfq[name] for name in ("id", "symbol")} | {"status": status}}
    quote = event["quote"]
    status = f"QUOTE_STATUS_{QUOTE_STATES[quote.get('status', 1)]}"
    shown = {"id": quote["id"], "rfqId": quote["rfq_id"], "symbol": quote["symbol"]}
    return first + last.title(), {"quote": shown | {"status": status}}


def instrument_document(market: Market) -> Document:
    """Return an instrument as it is (rule L1, §2.5)."""
    return {
        "symbol": market.symbol,
        "state": f"INSTRUMENT_STATE_{STATES[market.state]}",
        "priceScale": str(market.price_scale),
        "fractionalQtyScale": str(market.qty_scale),
        "minimumTradeQty": str(market.terms["min_qty"]),
    }


def levels(market: Market, side: int, depth: int, *, single: bool) -> Iterator[tuple[int, int]]:
    """Yield prices and quantities of a side of the book, best first (rules M1, S9)."""
    totals: dict[Any, tuple[int, int]] = {}
    for order in market.side(side):
        key = order.id if single else order.price
        totals[key] = order.price, totals.get(key, (0, 0))[1] + order.leaves_qty
    yield from list(totals.values())[:depth]


def book_document(market: Market, depth: int, *, single: bool = False) -> Document:
    """Return a book as the exchange shows it: levels, or `single` orders (rules S8, S9)."""
    bids, offers = (
        [{"px": str(px), "qty": str(qty)} for px, qty in levels(market, side, depth, single=single)]
        for side in (BUY, 3 - BUY)
    )
    return {
        "symbol": market.symbol,
        "bids": bids,
        "offers": offers,
        "state": f"INSTRUMENT_STATE_{STATES[market.state]}",
    }
