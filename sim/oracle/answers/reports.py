"""Orders, executions and trades in answers: single ones, open ones, and searches.

Realises rules R6-R10, M41, M42 and S2.7-*, S2.8-1, S4.2-4, S4.3-4 to S4.3-12.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sim.kernel.instants import Instant, format_instant, trade_date
from sim.oracle.answers import reading
from sim.oracle.answers.history import EXECUTIONS_KEPT, NaiveTrade
from sim.oracle.answers.reading import (
    Comparison,
    Reading,
    bare,
    comparisons,
    listed,
    pairs,
    snake,
    words,
)
from sim.oracle.state import REPORTS, Document

ENUMERATIONS = {
    "side": words("SIDE_UNDEFINED SIDE_BUY SIDE_SELL"),
    "type": [
        f"ORDER_TYPE_{name}" for name in words("UNDEFINED MARKET_TO_LIMIT LIMIT STOP STOP_LIMIT")
    ],
    "state": words(
        "ORDER_STATE_NEW ORDER_STATE_PARTIALLY_FILLED ORDER_STATE_FILLED ORDER_STATE_CANCELED"
        " ORDER_STATE_REPLACED ORDER_STATE_REJECTED ORDER_STATE_EXPIRED ORDER_STATE_PENDING_NEW"
        " ORDER_STATE_PENDING_REPLACE ORDER_STATE_PENDING_CANCEL ORDER_STATE_PENDING_RISK"
    ),
}
TRADE_STATES = words(
    "UNDEFINED NEW CLEARED BUSTED INFLIGHT PENDING_RISK PENDING_CLEARED REJECTED"
    " CLEARING_ACKNOWLEDGED RETRY_REQUEST"
)
DONE = words("FILLED CANCELED REJECTED EXPIRED")
_TEXTS = pairs(
    "id:id symbol:symbol account:account clordId:clord_id crossId:cross_id parentOrderId:parent_id"
    " hostCrossId:host_cross_id clientAccountId:client_account_id"
    " clientParticipantId:client_participant_id participant:participant lastTradeId:last_trade_id"
)
_NUMBERS = pairs(
    "orderQty:qty cumQty:cum_qty leavesQty:leaves_qty price:price avgPx:avg_px stopPrice:stop_price"
    " minQty:min_qty priceScale:price_scale fractionalQuantityScale:qty_scale"
    " commissionNotionalTotalCollected:commission cashOrderQty:cash_qty"
)
_TIMES_IN_FORCE = words(
    "UNDEFINED DAY GOOD_TILL_CANCEL IMMEDIATE_OR_CANCEL GOOD_TILL_TIME FILL_OR_KILL"
)
_COLUMNS = pairs(
    "order_id:id clord_id:clordId qty:orderQty symbol:symbol account:account side:side type:type"
    " state:state price:price cross_id:crossId host_cross_id:hostCrossId"
    " parent_order_id:parentOrderId client_account_id:clientAccountId"
    " client_participant_id:clientParticipantId"
)
_EQUAL = set(
    words(
        "symbol orderId clordId side type crossId hostCrossId parentOrderId clientAccountId"
        " clientParticipantId tradeId execIds types orderStateFilter"
    )
)
_OF_TRADES, _SINGULAR = {"symbol", "tradeId"}, {"execIds": "exec_id", "types": "type"}
_LIST = set(
    words("startTime endTime pageSize pageToken accounts newestFirst withLastExecution whereClause")
)
_NARROW = words("symbol orderId clordId tradeId execId execIds tradeLinkId")
_HIDDEN = words("account participant clordId clientAccountId clientParticipantId")


def order_document(row: Document) -> Document:
    """Return an order as the exchange API shows it (S2.7-1, S2.7-2)."""
    document: Document = {name: row.get(field, "") for name, field in _TEXTS.items()}
    document |= {name: str(row.get(field, 0)) for name, field in _NUMBERS.items()}
    document |= {name: names[row.get(name, 0)] for name, names in ENUMERATIONS.items()}
    filled = row.get("filled_at", {}).items()
    document["priceToQuantityFilled"] = {str(price): str(qty) for price, qty in filled}
    document["createTime"] = format_instant(row.get("created", 0))
    document["lastTransactTime"] = format_instant(row.get("changed", 0))
    for name, field in (("insertTime", "inserted"), ("goodTillTime", "good_till")):
        document[name] = format_instant(row[field]) if row.get(field) else None
    document["timeInForce"] = f"TIME_IN_FORCE_{_TIMES_IN_FORCE[row['tif']]}"
    return document | {"participateDontInitiate": row.get("post_only", False)}


def execution_document(row: Document) -> Document:
    """Return an execution as the exchange API shows it, without its order (S2.7-4, M41)."""
    day = trade_date(row["at"])
    return {
        "type": f"EXECUTION_TYPE_{REPORTS[row['type']]}",
        "lastShares": str(row.get("last_qty", 0)),
        "lastPx": str(row.get("last_px", 0)),
        "tradeId": row.get("trade_id", ""),
        "aggressor": row.get("aggressor", False),
        "commissionNotionalCollected": str(row.get("commission", 0)),
        "transactTime": format_instant(row["at"]),
        "transactTradeDate": {"year": day.year, "month": day.month, "day": day.day},
    }


def order_columns(row: Document, created: Instant, changed: Instant) -> Document:
    """Return the columns of an order by which a report can be filtered (rule R9)."""
    document = order_document(row)
    columns = {column: document[name] for column, name in _COLUMNS.items()}
    columns |= {"create_time": created, "trade_date": str(trade_date(changed))}
    return columns | dict.fromkeys(("update_time", "transact_time"), changed)


def execution_columns(row: Document) -> Document:
    """Return the columns of an execution by which a report can be filtered (rule R9)."""
    document = execution_document(row)
    columns = order_columns(row["order"], row["at"], row["at"])
    columns |= {"exec_id": row["id"], "trade_id": document["tradeId"], "type": document["type"]}
    return columns | {"price": document["lastPx"], "qty": document["lastShares"]}


def retail_document(row: Document) -> Document:
    """Return an order as the retail API shows it: decimals, in contracts (S2.8-1)."""
    answered, contracts, scale = order_document(row), row["qty_scale"], row["price_scale"]
    document = {name: answered[name] for name in ("state", "createTime", "lastTransactTime")}
    document |= {"marketSlug": row["symbol"], "side": f"ORDER_{answered['side']}"}
    for name, field in (("quantity", "qty"), ("cumQuantity", "cum_qty")):
        document[name] = Fraction(row.get(field, 0), contracts)
    document["leavesQuantity"] = Fraction(row["leaves_qty"], contracts)
    paid = Fraction(row.get("commission", 0), scale * contracts)
    document["commissionNotionalTotalCollected"] = paid
    if filled := {int(price): qty for price, qty in row.get("filled_at", {}).items()}:
        notional = sum(price * qty for price, qty in filled.items())
        document["avgPx"] = Fraction(notional, sum(filled.values()) * scale)
    return document


def is_narrow(request: Document) -> bool:
    """Return whether a search names an instrument, a trade, an order or an execution (R6)."""
    clauses = comparisons(request.get("whereClause")) or ()
    named = {column for column, operator, _ in clauses if operator in ("=", "IN")}
    return any(request.get(name) or snake(name) in named for name in _NARROW)


class ReportRules(Reading):
    """The part of the law about orders, executions and trades that are read."""

    answers = pairs(
        "OrderEntryAPI.GetOpenOrders:_open_orders RetailOrdersAPI.ListOpenOrders:_open_orders"
        " RetailOrdersAPI.GetOrder:_single_order ReportAPI.GetOrder:_single_order"
        " ReportAPI.GetExecution:_single_execution ReportAPI.SearchOrders:_search_orders"
        " ReportAPI.SearchExecutions:_search_executions ReportAPI.SearchTrades:_search_trades"
    )

    def _accounts(self) -> tuple[str, ...]:
        """Return the accounts of a read: those that it names, else the caller's (rule R8)."""
        named = tuple(listed(self._request.get("accounts")))
        return named or self._history.accounts_of(self._caller)

    # ---- single rows

    def _order(self, document: Document) -> None:
        """Judge an order that an answer shows: as it is now (R8, M41, M45)."""
        row, subject = self._history.orders.get(document["id"]), f"order {document['id']}"
        if row is not None and "marketSlug" in document:
            self._compare("S2.8-1", subject, retail_document(row), document)
        elif row is not None:
            self._compare("M41", subject, order_document(row), document)

    def _single_order(self, answer: Document) -> None:
        """Judge an order that was asked for: that one, of an own account (R8)."""
        document = answer["order"]
        self._agree("R8", "the order", self._request.get("orderId"), document["id"])
        row = self._history.orders.get(document["id"])
        if row is not None:
            self._agree("R8", "an own account", True, row["account"] in self._accounts())
        self._order(document)

    def _single_execution(self, answer: Document) -> None:
        """Judge an execution that was asked for: that one, of an own account (R8)."""
        document = answer["execution"]
        self._agree("R8", "the execution", self._request.get("execId"), document["id"])
        self._agree("R8", "an own account", True, document["order"]["account"] in self._accounts())
        self._execution(document)

    def _execution(self, document: Document) -> None:
        """Judge an execution: as it was reported, with the order right after it (M41).

        Of another firm's side of a trade names are hidden (R8).
        """
        row, subject = self._history.executions.get(document["id"]), f"execution {document['id']}"
        if row is not None and self._compare("M41", subject, execution_document(row), document):
            hidden = () if document["order"].get("account") else _HIDDEN
            order = order_document(row["order"]).items()
            due = {name: value for name, value in order if name not in hidden}
            self._compare("M41", f"order of {subject}", due, document["order"])

    def _open_orders(self, answer: Document) -> None:
        """Judge which orders are open: all own ones that can still trade (R8, S4.3-12)."""
        symbols = listed(self._request.get("symbols")) + listed(self._request.get("slugs"))
        expected = [
            order.id
            for account in self._accounts()
            for order in self._exchange.open_orders(account)
            if not symbols or order.symbol in symbols
        ]
        ids = sorted(row["id"] for row in answer["orders"])
        if self._agree("R8", "the open orders", sorted(expected), ids):
            for row in answer["orders"]:
                self._order(row)

    # ---- searches

    def _search_orders(self, answer: Document) -> None:
        orders = sorted(self._history.orders.values(), key=lambda row: -int(row.get("seq", 0)))
        rows = {
            row["id"]: order_columns(row, row.get("created", 0), row.get("changed", 0))
            for row in orders
            if row["id"] not in self._history.inherited and self._history.is_retained(row)
        }
        self._search(answer["order"], rows, "create_time", newest_first=True)
        for document in answer["order"]:
            self._order(document)

    def _search_executions(self, answer: Document) -> None:
        since = self._history.kept_since(EXECUTIONS_KEPT)
        executions: Iterable[Document] = self._history.executions.values()
        executions = reversed(list(executions)) if self._newest_first else executions
        rows = {row["id"]: execution_columns(row) for row in executions if row["at"] >= since}
        answered = answer["executions"]
        self._search(answered, rows, "transact_time", newest_first=self._newest_first)
        for document in answered:
            self._execution(document)

    def _search_trades(self, answer: Document) -> None:
        accounts = self._accounts()
        rows = {
            trade.id: self._trade_columns(trade, fill)
            for trade in reversed(self._history.trades.values())
            for fill in reversed(trade.fills)
            if fill["order"]["account"] in accounts
        }
        self._search(answer["trade"], rows, "transact_time", newest_first=True)
        for document in answer["trade"]:
            self._trade(document)

    def _trade_columns(self, trade: NaiveTrade, own: Document) -> Document:
        columns = execution_columns(own) | {"state": f"TRADE_STATE_{TRADE_STATES[trade.state]}"}
        return {name: columns[name] for name in columns if name not in ("type", "update_time")}

    def _trade(self, document: Document) -> None:
        """Judge a trade: both executions, its state, and no account of another firm (R8, M42)."""
        trade = self._history.trades.get(document["id"])
        if trade is None:
            return
        state = {"state": f"TRADE_STATE_{TRADE_STATES[trade.state]}"}
        self._compare("M42", f"trade {trade.id}", state, document)
        own = self._history.accounts_of_firm(self._caller)
        for side, fill in zip(("aggressor", "passive"), trade.fills, strict=True):
            account = fill["order"]["account"]
            due, answered = account if account in own else "", document[side]["order"]["account"]
            if self._agree("R8", f"the account of trade {trade.id}, {side}", due, answered):
                self._execution(document[side])

    def _search(
        self, answered: list[Document], rows: dict[str, Document], time: str, *, newest_first: bool
    ) -> None:
        """Judge which rows a search has: own ones that pass every filter, in order (R7-R9)."""
        request, accounts = self._request, self._accounts()
        clauses = comparisons(request.get("whereClause")) or []
        sample = next(iter(rows.values()), dict.fromkeys(each[0] for each in clauses))
        if not accounts or not self._is_understood(request, clauses, sample):
            self._unknown_filter()
            return
        expected = [
            id
            for id, columns in rows.items()
            if columns["account"] in accounts
            and self._in_window(columns[time])
            and _passes(request, columns)
            and all(reading.holds(columns, each) for each in clauses)
        ]
        ages = {each["id"]: _made(each) <= self._history.began for each in answered}
        self._page(ages, expected, newest_first=newest_first)

    def _is_understood(
        self, request: Document, clauses: list[Comparison], columns: Document
    ) -> bool:
        """Return whether the law evaluates every filter. Of trades either side may pass."""
        trades = self._hearing.observed.operation == "ReportAPI.SearchTrades"
        fields = _OF_TRADES if trades else _EQUAL
        texts = all(isinstance(request[name], str | list) for name in fields & request.keys())
        names = {each[0] for each in clauses}
        return texts and request.keys() <= _LIST | fields and names <= columns.keys()


def _passes(request: Document, columns: Document) -> bool:
    """Return whether a row passes the fields of a request that filter by equality (S4.3-8)."""
    for name in _EQUAL & request.keys():
        asked = {bare(each) for each in listed(request[name])}
        values = {bare(columns.get(_SINGULAR.get(name, snake(name))))}
        if name == "orderStateFilter":
            asked = {each.removeprefix("ORDER_STATE_FILTER_") for each in asked}
            state = bare(columns["state"])
            values = {state, "CLOSED" if state in DONE else "OPEN"}
        if not asked & values:
            return False
    return True


def _made(document: Document) -> Instant:
    """Return when a row of an answer was made."""
    side = document.get("aggressor")
    row = side if isinstance(side, dict) else document
    return reading.instant(row.get("transactTime") or row.get("createTime")) or 0
