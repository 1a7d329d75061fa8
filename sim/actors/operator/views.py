"""Read-only views of a running simulation for testers: complete, sorted, stable, in dollars and
contracts. Looking changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import json, to_builtins

from sim.core.exchange import Exchange
from sim.core.model.enums import OrderState, OrderType, Side, TimeInForce
from sim.core.model.orders import Order
from sim.core.model.quantities import CASH_SCALE, cash_text, decimal_fixed, decimal_text
from sim.core.model.refusals import NotFound
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.simulation import Simulation

Rows = list[dict[str, Any]]


def _books(sim: Simulation) -> Rows:
    trading = sim.exchange.trading
    found = []
    for symbol in sorted(sim.exchange.trading.lifecycle.symbols()):
        instrument = sim.exchange.instruments.require(symbol)
        book = trading.books.touched(instrument.symbol)
        if book is None:
            continue
        sides = {}
        for name, side in (("bids", Side.BUY), ("offers", Side.SELL)):
            sides[name] = [
                {
                    "px": decimal_text(price, instrument.price_scale),
                    "qty": decimal_text(qty, instrument.qty_scale),
                    "orders": count,
                }
                for price, qty, count in book.levels(side, 1_000)
            ]
        if sides["bids"] or sides["offers"]:
            found.append(
                {
                    "symbol": instrument.symbol,
                    "state": trading.state(instrument.symbol).name,
                    **sides,
                }
            )
    return found


def _instruments(sim: Simulation) -> Rows:
    from sim.actors.operator.markets import shown_instrument

    return [
        shown_instrument(sim.exchange, terms)
        for terms in sorted(sim.exchange.instruments, key=lambda terms: terms.symbol)
    ]


def shown_order(order: Order) -> dict[str, Any]:
    """An order for a tester."""
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


def _orders(sim: Simulation) -> Rows:
    return [
        shown_order(order)
        for order in sorted(
            sim.exchange.trading.orders.all(), key=lambda order: (order.created, order.id)
        )
    ]


def _accounts(sim: Simulation) -> Rows:
    trading = sim.exchange.trading
    found = []
    for account in sorted(trading.ledger, key=lambda account: account.name):
        positions: Rows = [
            {
                "symbol": position.symbol,
                "net": decimal_text(
                    position.net, sim.exchange.instruments.require(position.symbol).qty_scale
                ),
            }
            for position in sorted(
                trading.positions.of(account.name), key=lambda position: position.symbol
            )
            if position.net
        ]
        found.append(
            {
                "account": account.name,
                "kind": account.kind,
                "balance": cash_text(trading.ledger.balance(account.name)),
                "buying_power": cash_text(trading.buying_power(account.name)),
                "open_orders": cash_text(trading.open_orders_reserve(account.name)),
                "positions": positions,
            }
        )
    return found


def _funding(sim: Simulation) -> Rows:
    """Transactions through funding sources; what moved at once is in nobody's way."""
    from sim.actors.operator.people import shown_funding

    exchange = sim.exchange
    return [
        shown_funding(found)
        for found in exchange.funding.of([account.name for account in exchange.trading.ledger])
        if found.source
    ]


def _sessions(sim: Simulation) -> Rows:
    return sim.streams()


def _limits(sim: Simulation) -> Rows:
    return [usage._asdict() for usage in sim.exchange.rate_limits.usage()]


def _breakers(sim: Simulation) -> Rows:
    return [
        {"firm": firm, **to_builtins(breaker)}
        for firm, breaker in sorted(sim.exchange.webhooks.breakers().items())
    ]


def _verifications(sim: Simulation) -> Rows:
    from sim.actors.operator.people import shown_case

    return [shown_case(case) for case in sim.exchange.kyc.cases()]


def _timers(sim: Simulation) -> Rows:
    return [
        {"at": format_instant(timer.due), "timer": timer.kind, "subject": timer.subject}
        for timer in sim.exchange.ctx.timers.pending()
    ]


def _faults(sim: Simulation) -> Rows:
    faults = sim.exchange.faults
    return [
        {
            "id": fault.id,
            **to_builtins(fault.spec),
            "seen": fault.seen,
            "struck": fault.struck,
            "over": over,
        }
        for over, found in ((False, faults.all()), (True, faults.over()))
        for fault in found
    ]


def _maintenance(sim: Simulation) -> Rows:
    return [
        {
            "name": window.name,
            "begins": format_instant(window.begins),
            "ends": format_instant(window.ends),
            "open": window.begins <= sim.now,
        }
        for window in sim.exchange.maintenance.upcoming()
    ]


def _participants(sim: Simulation) -> Rows:
    from sim.actors.participants.recurring_fair_price import UNIT

    found: Rows = []
    trading = sim.exchange.trading
    for seat, fair in sim.participants.rows():
        scale = seat.instrument.qty_scale
        found.append(
            {
                "name": seat.entry.name,
                "kind": type(seat.entry).__name__.removesuffix("Entry").lower(),
                "symbol": seat.symbol,
                "participant": seat.user.name,
                "account": seat.user.account,
                "active": seat.state.active,
                "acts": seat.open and seat.state.active,
                "fair_price": decimal_fixed(fair, UNIT, 6),
                "position": decimal_text(
                    trading.positions.net(seat.user.account, seat.symbol), scale
                ),
                "orders": len(seat.state.orders),
                "refused": seat.state.refused,
            }
        )
    for flow in sim.participants.flows:
        due = flow.due
        next_row = format_instant(due) if due is not None else None
        found.append(
            {
                "name": flow.entry.name,
                "kind": "flow",
                "sent": flow.state.sent,
                "refused": flow.state.refused,
                "next": next_row,
            }
        )
    return sorted(found, key=lambda row: (row["name"], row.get("symbol", "")))


VIEWS: dict[str, Callable[[Simulation], Rows]] = {
    "accounts": _accounts,
    "books": _books,
    "breakers": _breakers,
    "faults": _faults,
    "funding": _funding,
    "instruments": _instruments,
    "limits": _limits,
    "maintenance": _maintenance,
    "orders": _orders,
    "participants": _participants,
    "sessions": _sessions,
    "timers": _timers,
    "verifications": _verifications,
}


def view(sim: Simulation, what: str) -> dict[str, Rows]:
    """A view by name, as {name: rows}. NotFound lists the names."""
    found = VIEWS.get(what)
    if found is None:
        raise NotFound(
            f"there is no view {what!r}", rule="control", remedy="one of " + ", ".join(VIEWS)
        )
    return {what: found(sim)}


def deliveries(exchange: Exchange) -> Rows:
    """The webhook delivery log, oldest first."""
    found = []
    for record in exchange.webhooks.deliveries():
        body = json.decode(exchange.webhooks.body_of(record.event_id) or b"{}")
        data = body.get("data", {})
        found.append(
            {
                "event_id": record.event_id,
                "type": record.type,
                "firm": record.firm,
                "url": record.url,
                "attempt": record.attempt,
                "at": format_instant(record.at),
                "status": record.status,
                "outcome": record.outcome,
                "error": record.error,
                "external_id": body.get("external_id") or data.get("external_id", ""),
            }
        )
    return found


def metrics(sim: Simulation) -> dict[str, float]:
    """Counters and gauges by Prometheus name."""
    trading = sim.exchange.trading
    found: dict[str, float] = {
        "sim_inputs_total": sim.seq,
        "sim_now_seconds": sim.now // 1_000_000_000,
        "sim_instruments": len(sim.exchange.instruments),
        "sim_open_orders": len(trading.orders.open()),
        "sim_trades_total": len(trading.trades),
        "sim_streams": len(sim.streams()),
        "sim_timers": len(sim.exchange.ctx.timers),
        "sim_cash_total": trading.ledger.total() / CASH_SCALE,
    }
    for fault in (*sim.exchange.faults.over(), *sim.exchange.faults.all()):
        found[f'sim_fault_struck_total{{fault="{fault.id}"}}'] = fault.struck
    for (plane, operation, status), count in sim.log.counts().items():
        found[
            f'sim_requests_total{{plane="{plane}",operation="{operation}",status="{status}"}}'
        ] = count
    return found
