"""Renders the answers of actions and views: JSON values, with prices and sizes as decimal text."""

from __future__ import annotations

from typing import Any, TypeAlias

from sim.core.exchange import Exchange
from sim.core.identity.kyc import KycCase
from sim.core.model.enums import OrderState, OrderType, Side, TimeInForce
from sim.core.model.events import CashMoved
from sim.core.model.funding_records import FundingTransaction
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order, Trade
from sim.core.model.quantities import cash_text, decimal_text
from sim.core.service.maintenance_calendar import Window
from sim.kernel.instants import format_instant
from sim.world.start.populate import AddedWindow

Answer: TypeAlias = dict[str, Any]


def instrument_answer(exchange: Exchange, instrument: Instrument) -> Answer:
    """An instrument: its terms and state."""
    scale = instrument.price_scale
    return {
        "symbol": instrument.symbol,
        "state": exchange.trading.state(instrument.symbol).name,
        "tick_size": decimal_text(instrument.tick, scale),
        "price_scale": scale,
        "fractional_qty_scale": instrument.qty_scale,
        "minimum_trade_qty": instrument.min_qty,
        "price_limit": {
            "low": decimal_text(instrument.price_low, scale),
            "high": decimal_text(instrument.price_high, scale),
        },
        "start": format_instant(instrument.start),
        "expiration": format_instant(instrument.expiration),
        "termination": format_instant(instrument.termination),
    }


def order_answer(order: Order) -> Answer:
    """An order."""
    return {
        "id": order.id,
        "clord_id": order.clord_id,
        "account": order.account,
        "participant": order.participant,
        "symbol": order.symbol,
        "side": Side(order.side).name,
        "type": OrderType(order.type).name,
        "tif": TimeInForce(order.tif).name,
        "price": decimal_text(order.price, order.price_scale),
        "qty": decimal_text(order.qty, order.qty_scale),
        "filled": decimal_text(order.cum_qty, order.qty_scale),
        "leaves": decimal_text(order.leaves_qty, order.qty_scale),
        "state": OrderState(order.state).name,
        "created": format_instant(order.created),
    }


def trade_answer(trade: Trade) -> Answer:
    """A trade. `side` is the side of the taker."""
    taker, maker = trade.aggressor.order, trade.passive.order
    return {
        "id": trade.id,
        "at": format_instant(trade.at),
        "symbol": trade.symbol,
        "price": decimal_text(trade.price, taker.price_scale),
        "qty": decimal_text(trade.qty, taker.qty_scale),
        "side": Side(taker.side).name,
        "taker": taker.account,
        "maker": maker.account,
        "taker_order": taker.id,
        "maker_order": maker.id,
        "state": trade.state.name,
    }


def ledger_answer(row: CashMoved) -> Answer:
    """A row of the cash ledger."""
    return {
        "id": row.id,
        "at": format_instant(row.at),
        "account": row.account,
        "type": row.type.name,
        "amount": cash_text(row.after - row.before),
        "balance": cash_text(row.after),
        "symbol": row.symbol,
        "reference": row.reference,
        "description": row.description,
    }


def funding_answer(transaction: FundingTransaction) -> Answer:
    """A funding transaction. The amount of a withdrawal is negative."""
    amount = transaction.amount if transaction.credit else -transaction.amount
    return {
        "transaction": transaction.id,
        "account": transaction.account,
        "amount": cash_text(amount),
        "state": transaction.state.name,
        "review": transaction.review.name,
        "source": transaction.source,
    }


def window_answer(window: Window | AddedWindow) -> Answer:
    """A maintenance window."""
    begins, ends = format_instant(window.begins), format_instant(window.ends)
    return {"name": window.name, "begins": begins, "ends": ends}


def case_answer(case: KycCase) -> Answer:
    """A verification."""
    return {
        "external_id": case.external_id,
        "decision": case.decision,
        "status": case.status,
        "sub_status": case.sub_status,
        "participant_id": case.participant,
        "provisioned_account": case.provisioned_account,
    }
