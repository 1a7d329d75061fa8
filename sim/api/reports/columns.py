"""Columns of orders, executions and trades that filters can use (rule R9)."""

from __future__ import annotations

from collections.abc import Sequence

from sim.api.reports.where_clause import ReportColumn, member, moment, number, text
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.orders import Execution, Order, Trade
from sim.kernel.instants import trade_date

# §4.3: structured filters support fewer columns than clauses, and no times.
FIELD_FILTERS = (
    "symbol",
    "account",
    "state",
    "trade_date",
    "order_id",
    "clord_id",
    "trade_id",
    "exec_id",
    "side",
    "type",
    "price",
    "qty",
)

ORDER_COLUMNS: dict[str, ReportColumn[Order]] = {
    "symbol": text(lambda order: order.symbol),
    "account": text(lambda order: order.account),
    "state": member(wire.OrderState, "ORDER_STATE_", lambda order: order.state),
    "side": member(wire.Side, "SIDE_", lambda order: order.side),
    "type": member(wire.OrderType, "ORDER_TYPE_", lambda order: order.type),
    "order_id": text(lambda order: order.id),
    "clord_id": text(lambda order: order.clord_id),
    "price": number(lambda order: order.price),
    "qty": number(lambda order: order.qty),
    "trade_date": text(lambda order: trade_date(order.changed).isoformat()),
    "create_time": moment(lambda order: order.created),
    "update_time": moment(lambda order: order.changed),
    "transact_time": moment(lambda order: order.changed),
}
EXECUTION_COLUMNS: dict[str, ReportColumn[Execution]] = {
    "symbol": text(lambda execution: execution.order.symbol),
    "account": text(lambda execution: execution.order.account),
    "state": member(wire.OrderState, "ORDER_STATE_", lambda execution: execution.order.state),
    "side": member(wire.Side, "SIDE_", lambda execution: execution.order.side),
    "type": member(wire.ExecutionType, "EXECUTION_TYPE_", lambda execution: execution.type),
    "exec_id": text(lambda execution: execution.id),
    "order_id": text(lambda execution: execution.order.id),
    "clord_id": text(lambda execution: execution.order.clord_id),
    "trade_id": text(lambda execution: execution.trade_id),
    "price": number(lambda execution: execution.last_px),
    "qty": number(lambda execution: execution.last_qty),
    "trade_date": text(lambda execution: trade_date(execution.at).isoformat()),
    "create_time": moment(lambda execution: execution.at),
    "update_time": moment(lambda execution: execution.at),
    "transact_time": moment(lambda execution: execution.at),
}
# The columns of a trade for everybody, without those that identify its participants.
TRADE_COLUMNS: dict[str, ReportColumn[Trade]] = {
    "symbol": text(lambda trade: trade.symbol),
    "state": member(wire.TradeState, "TRADE_STATE_", lambda trade: trade.state),
    "trade_id": text(lambda trade: trade.id),
    "price": number(lambda trade: trade.price),
    "qty": number(lambda trade: trade.qty),
    "trade_date": text(lambda trade: trade_date(trade.at).isoformat()),
    "create_time": moment(lambda trade: trade.at),
    "update_time": moment(lambda trade: trade.state_at),
    "transact_time": moment(lambda trade: trade.at),
}


def trade_columns(accounts: Sequence[str]) -> dict[str, ReportColumn[Trade]]:
    """Return the trade columns including those of the caller's side; of the aggressor if the caller
    has both sides.
    """
    own = frozenset(accounts)

    def side(trade: Trade) -> Execution:
        return trade.aggressor if trade.aggressor.order.account in own else trade.passive

    return {
        **TRADE_COLUMNS,
        "account": text(lambda trade: side(trade).order.account),
        "side": member(wire.Side, "SIDE_", lambda trade: side(trade).order.side),
        "order_id": text(lambda trade: side(trade).order.id),
        "clord_id": text(lambda trade: side(trade).order.clord_id),
        "exec_id": text(lambda trade: side(trade).id),
    }
