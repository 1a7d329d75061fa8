"""Orders, executions and trades as messages of the exchange contract, for handlers and streams.

There is one function per record. Numbers are copied unchanged, because the core uses the contract's
scaled integers and enumeration numbers. These messages are never modified, so they may share parts.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import convert
from msgspec.structs import replace

from sim.api.rendering.exchange_instruments import trade_date_message
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import TradeStats
from sim.core.model import orders as core
from sim.core.model.enums import ExecutionType, TradeState
from sim.core.model.events import CancelRejected

# Fields that identify the owner of an order. They are cleared on the other side of a trade.
_ANONYMOUS = {
    "account": "",
    "participant": "",
    "clord_id": "",
    "submitting_participant": "",
    "client_account_id": "",
    "client_participant_id": "",
    "cross_id": "",
}


def order_message(exchange: Exchange, order: core.Order) -> wire.Order:
    """Return an order in its current state (§2.7).

    The fee coefficients are those in force when the order was created, as on the retail API.
    """
    taker, maker = exchange.trading.fees.basis_points(
        exchange.instruments.require(order.symbol), order.created
    )
    return wire.Order(
        id=order.id,
        type=order.type,
        side=order.side,
        order_qty=order.qty,
        symbol=order.symbol,
        clord_id=order.clord_id,
        time_in_force=order.tif,
        account=order.account,
        cum_qty=order.cum_qty,
        avg_px=order.avg_px,
        leaves_qty=order.leaves_qty,
        state=order.state,
        participant=order.participant,
        price=order.price,
        insert_time=order.inserted,
        stop_price=order.stop_price,
        min_qty=order.min_qty,
        create_time=order.created,
        all_or_none=order.all_or_none,
        cross_id=order.cross_id,
        host_cross_id=order.host_cross_id,
        submitting_participant=order.submitter,
        client_account_id=order.client_account_id,
        client_participant_id=order.client_participant_id,
        parent_order_id=order.parent_id,
        participate_dont_initiate=order.post_only,
        cash_order_qty=order.cash_qty,
        strict_limit=order.strict_limit,
        good_till_time=order.good_till,
        best_limit=order.best_limit,
        immediately_executable_limit=order.immediately_executable_limit,
        last_trade_id=order.last_trade_id,
        price_to_quantity_filled=order.filled_at,
        commission_notional_total_collected=order.commission,
        commissions_basis_points=taker,
        maker_commissions_basis_points=maker,
        self_match_prevention_instruction=order.smp,
        order_capacity=order.order_capacity,
        ignore_price_validity_checks=order.ignore_price_checks,
        last_transact_time=order.changed or order.created,
        price_scale=order.price_scale,
        fractional_quantity_scale=order.qty_scale,
        manual_order_indicator=order.manual_indicator,
    )


def execution_message(exchange: Exchange, execution: core.Execution) -> wire.Execution:
    """Return an execution with its order as it was right after the execution (rule M41).

    Commissions are charged on the notional and never as a spread, so the price of a fill including
    its spread commission (§2.7) equals its price.
    """
    filled = execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL)
    return wire.Execution(
        id=execution.id,
        order=order_message(exchange, execution.order),
        last_shares=execution.last_qty,
        last_px=execution.last_px,
        type=execution.type,
        text=execution.text,
        order_reject_reason=execution.reject_reason,
        transact_time=execution.at,
        trade_id=execution.trade_id,
        aggressor=execution.aggressor,
        commission_notional_collected=execution.commission,
        unsolicited_cancel_reason=execution.unsolicited,
        trace_id=execution.trace_id,
        commission_spread_px=execution.last_px if filled else 0,
        transact_trade_date=trade_date_message(execution.at),
    )


def cancel_reject_message(rejected: CancelRejected) -> wire.CancelReject:
    """Return a refused cancel or replace."""
    return wire.CancelReject(
        order_id=rejected.order_id,
        reject_reason=rejected.reason,
        text=rejected.text,
        is_replace=rejected.is_replace,
        clord_id=rejected.clord_id,
        transact_time=rejected.at,
    )


def trade_message(
    exchange: Exchange,
    trade: core.Trade,
    accounts: Container[str] | None = None,
    state: TradeState | None = None,
) -> wire.Trade:
    """Return a trade in a clearing state, by default the current one.

    With `accounts`, the side of any other account keeps its numbers but loses
    its identifying fields.
    """
    return wire.Trade(
        id=trade.id,
        aggressor=_side_message(exchange, trade.aggressor, accounts),
        passive=_side_message(exchange, trade.passive, accounts),
        trade_type=trade.type,
        state=trade.state if state is None else state,
        trade_link_id=trade.id,
    )


def _side_message(
    exchange: Exchange, execution: core.Execution, accounts: Container[str] | None
) -> wire.Execution:
    message = execution_message(exchange, execution)
    other = accounts is not None and execution.order.account not in accounts
    if other and message.order is not None:
        message.order = replace(message.order, **_ANONYMOUS)
    return message


def trade_stats_message(stats: TradeStats) -> wire.TradeStats:
    """Return the trade statistics of one time span (§2.4)."""
    return convert(stats, wire.TradeStats, from_attributes=True)
