"""Read-only views of a running exchange for testers: complete, sorted, stable, in dollars and
contracts. Reading a view changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

from msgspec import json, to_builtins
from msgspec.structs import asdict

from sim.actors.operator.answers import (
    Answer,
    case_answer,
    funding_answer,
    instrument_answer,
    order_answer,
    window_answer,
)
from sim.actors.participants.participants import participants_of
from sim.actors.participants.recurring_fair_price import UNIT
from sim.core.exchange import Exchange
from sim.core.matching.book import Book
from sim.core.model.enums import Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE, cash_text, decimal_fixed, decimal_text
from sim.core.model.refusals import NotFound
from sim.engine.engine import Engine
from sim.kernel.instants import format_instant

Rows: TypeAlias = list[Answer]
_ALL_LEVELS = 1_000


def _books(engine: Engine) -> Rows:
    trading = engine.exchange.trading
    rows = []
    for symbol in sorted(trading.lifecycle.symbols()):
        instrument = engine.exchange.instruments.require(symbol)
        book = trading.books.touched(symbol)
        if book is None:
            continue
        bids, offers = (_levels(book, side, instrument) for side in (Side.BUY, Side.SELL))
        if bids or offers:
            state = trading.state(symbol).name
            rows.append({"symbol": symbol, "state": state, "bids": bids, "offers": offers})
    return rows


def _levels(book: Book, side: Side, instrument: Instrument) -> Rows:
    return [
        {
            "px": decimal_text(price, instrument.price_scale),
            "qty": decimal_text(qty, instrument.qty_scale),
            "orders": count,
        }
        for price, qty, count in book.levels(side, _ALL_LEVELS)
    ]


def _instruments(engine: Engine) -> Rows:
    instruments = sorted(engine.exchange.instruments, key=attrgetter("symbol"))
    return [instrument_answer(engine.exchange, terms) for terms in instruments]


def _orders(engine: Engine) -> Rows:
    orders = engine.exchange.trading.orders.all()
    return [order_answer(order) for order in sorted(orders, key=attrgetter("created", "id"))]


def _accounts(engine: Engine) -> Rows:
    trading = engine.exchange.trading
    return [
        {
            "account": account.name,
            "kind": account.kind,
            "balance": cash_text(trading.ledger.balance(account.name)),
            "buying_power": cash_text(trading.buying_power(account.name)),
            "open_orders": cash_text(trading.open_orders_reserve(account.name)),
            "positions": _positions(engine.exchange, account.name),
        }
        for account in sorted(trading.ledger, key=attrgetter("name"))
    ]


def _positions(exchange: Exchange, account: str) -> Rows:
    rows = []
    for position in sorted(exchange.trading.positions.of(account), key=attrgetter("symbol")):
        if position.net:
            scale = exchange.instruments.require(position.symbol).qty_scale
            rows.append({"symbol": position.symbol, "net": decimal_text(position.net, scale)})
    return rows


def _funding(engine: Engine) -> Rows:
    """Transactions through funding sources; money that moved at once is in no state to show."""
    exchange = engine.exchange
    accounts = [account.name for account in exchange.trading.ledger]
    return [funding_answer(row) for row in exchange.funding.of(accounts) if row.source]


def _sessions(engine: Engine) -> Rows:
    return engine.hub.describe()


def _limits(engine: Engine) -> Rows:
    """Usage of each limit, with the calls that a limit that is off would have refused."""
    limits = engine.exchange.rate_limits
    over = {row[:3]: row.used for row in limits.unenforced()}
    return [{**row._asdict(), "would_refuse": over.get(row[:3], 0)} for row in limits.usage()]


def _breakers(engine: Engine) -> Rows:
    return [
        {"firm": firm, **to_builtins(breaker)}
        for firm, breaker in sorted(engine.exchange.webhooks.breakers().items())
    ]


def _verifications(engine: Engine) -> Rows:
    return [case_answer(case) for case in engine.exchange.kyc.cases()]


def _timers(engine: Engine) -> Rows:
    return [
        {"at": format_instant(timer.due), "timer": timer.kind, "subject": timer.subject}
        for timer in engine.exchange.ctx.timers.pending()
    ]


def _faults(engine: Engine) -> Rows:
    faults = engine.exchange.faults
    return [
        {
            "id": fault.id,
            **to_builtins(fault.spec),
            "seen": fault.seen,
            "struck": fault.struck,
            "over": over,
        }
        for over, listed in ((False, faults.all()), (True, faults.over()))
        for fault in listed
    ]


def _maintenance(engine: Engine) -> Rows:
    return [
        {**window_answer(window), "open": window.begins <= engine.now}
        for window in engine.exchange.maintenance.upcoming()
    ]


def _participants(engine: Engine) -> Rows:
    rows: Rows = [
        {
            "name": trader.entry.name,
            "kind": type(trader.entry).__name__.removesuffix("Entry").lower(),
            "symbol": trader.symbol,
            "participant": trader.user.name,
            "account": trader.user.account,
            "active": trader.state.active,
            "acts": trader.open and trader.state.active,
            "fair_price": decimal_fixed(fair, UNIT, 6),
            "position": decimal_text(trader.net, trader.instrument.qty_scale),
            "orders": len(trader.state.orders),
            "refused": trader.state.refused,
        }
        for trader, fair in participants_of(engine).rows()
    ]
    rows += [
        {
            "name": flow.entry.name,
            "kind": "flow",
            "sent": flow.state.sent,
            "refused": flow.state.refused,
            "next": None if flow.due is None else format_instant(flow.due),
        }
        for flow in participants_of(engine).flows
    ]
    return sorted(rows, key=lambda row: (row["name"], row.get("symbol", "")))


VIEWS: dict[str, Callable[[Engine], Rows]] = {
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


def view(engine: Engine, name: str) -> dict[str, Rows]:
    """A view by name, as {name: rows}. NotFound lists the names."""
    if name not in VIEWS:
        remedy = "one of " + ", ".join(VIEWS)
        raise NotFound(f"there is no view {name!r}", rule="control", remedy=remedy)
    return {name: VIEWS[name](engine)}


def deliveries(exchange: Exchange) -> Rows:
    """The webhook delivery log, oldest first."""
    rows = []
    for record in exchange.webhooks.deliveries():
        body: dict[str, Any] = json.decode(exchange.webhooks.body_of(record.event_id) or b"{}")
        external_id = body.get("external_id") or body.get("data", {}).get("external_id", "")
        at = format_instant(record.at)
        rows.append({**asdict(record), "at": at, "external_id": external_id})
    return rows


def metrics(engine: Engine) -> dict[str, float]:
    """Counters and gauges by Prometheus name."""
    exchange = engine.exchange
    trading, faults = exchange.trading, exchange.faults
    numbers: dict[str, float] = {
        "sim_inputs_total": engine.journal.seq,
        "sim_now_seconds": engine.now // 1_000_000_000,
        "sim_instruments": len(exchange.instruments),
        "sim_open_orders": len(trading.orders.open()),
        "sim_trades_total": len(trading.trades),
        "sim_streams": len(engine.hub.describe()),
        "sim_timers": len(exchange.ctx.timers),
        "sim_cash_total": trading.ledger.total() / CASH_SCALE,
    }
    for fault in (*faults.over(), *faults.all()):
        numbers[f'sim_fault_struck_total{{fault="{fault.id}"}}'] = fault.struck
    for (plane, operation, status), count in engine.log.counts().items():
        labels = f'plane="{plane}",operation="{operation}",status="{status}"'
        numbers[f"sim_requests_total{{{labels}}}"] = count
    return numbers
