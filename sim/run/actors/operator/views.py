"""Read-only views of a running exchange for testers: complete, sorted, in dollars and contracts.
Reading a view changes nothing.

Some views can be narrowed to a `symbol`, to an `account` or to the `last` rows, so that a reader
who watches one instrument or account does not pay for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import json, to_builtins
from msgspec.structs import asdict

from sim.core.accounts.ledger import Account
from sim.core.catalogue import assumptions, quirks
from sim.core.exchange import Exchange
from sim.core.matching.book import Book
from sim.core.model.enums import Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import cash_text, decimal_fixed, decimal_text
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.kernel.indexes.indexed_log import IndexedLog
from sim.kernel.instants import format_instant
from sim.kernel.work import Work, done
from sim.run.actors.operator.answers import (
    Answer,
    case_answer,
    funding_answer,
    instrument_answer,
    ledger_answer,
    order_answer,
    trade_answer,
    window_answer,
)
from sim.run.actors.operator.figures import fills, performance, quotes
from sim.run.actors.participants.fair_prices import UNIT
from sim.run.actors.participants.participants import participants_of
from sim.run.actors.receivers import receivers_of
from sim.run.engine.engine import Engine

Rows: TypeAlias = list[Answer]
R = TypeVar("R")
_ALL_LEVELS = 1_000


class ViewFilter(NamedTuple):
    """The filter of a view. "" and 0 mean no filter."""

    symbol: str = ""
    account: str = ""
    last: int = 0


_ALL = ViewFilter()


def _books(engine: Engine, only: ViewFilter) -> Rows:
    trading = engine.exchange.trading
    rows = []
    for symbol in (only.symbol,) if only.symbol else sorted(trading.lifecycle.symbols()):
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


def _instruments(engine: Engine, only: ViewFilter) -> Iterable[Answer]:
    listed = engine.exchange.instruments
    chosen = (listed.require(only.symbol),) if only.symbol else listed
    instruments = sorted(chosen, key=attrgetter("symbol"))
    return (instrument_answer(engine.exchange, terms) for terms in instruments)


def _orders(engine: Engine, only: ViewFilter) -> Iterable[Answer]:
    rows = list(_chosen(engine.exchange.trading.orders.rows, only))
    # Copies, because orders may change while the rows are written.
    return map(order_answer, list(map(copy, _last(rows, only))))


def _chosen(log: IndexedLog[R], only: ViewFilter) -> Iterable[R]:
    """The rows of a log that pass the filter, oldest first."""
    if not only.symbol and not only.account:
        return log
    of_account = log.of_account(only.account) if only.account else None
    if not only.symbol:
        return map(log.__getitem__, of_account or ())
    seqs = log.of_symbol(only.symbol)
    kept = seqs if of_account is None else sorted(frozenset(seqs).intersection(of_account))
    return map(log.__getitem__, kept)


def _trades(engine: Engine, only: ViewFilter) -> Iterable[Answer]:
    trades = list(_chosen(engine.exchange.trading.trades, only))
    return map(trade_answer, list(map(copy, _last(trades, only))))


def _ledger(engine: Engine, only: ViewFilter) -> Iterable[Answer]:
    ledger = engine.exchange.trading.ledger
    accounts = [only.account] if only.account else sorted(account.name for account in ledger)
    rows = [row for account in accounts for row in ledger.entries(account)]
    rows.sort(key=attrgetter("at"))
    return map(ledger_answer, _last(rows, only))


def _accounts(engine: Engine, only: ViewFilter) -> Rows:
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
        for account in sorted(_accounts_of(engine, only), key=attrgetter("name"))
    ]


def _accounts_of(engine: Engine, only: ViewFilter) -> Iterable[Account]:
    ledger = engine.exchange.trading.ledger
    return (ledger.require(only.account),) if only.account else ledger


def _positions(exchange: Exchange, account: str) -> Rows:
    rows = []
    for position in sorted(exchange.trading.positions.of(account), key=attrgetter("symbol")):
        if position.net:
            scale = exchange.instruments.require(position.symbol).qty_scale
            rows.append({"symbol": position.symbol, "net": decimal_text(position.net, scale)})
    return rows


def _funding(engine: Engine, only: ViewFilter) -> Rows:
    """Transactions through funding sources. Money that moved at once has no transaction."""
    exchange = engine.exchange
    accounts = [account.name for account in exchange.trading.ledger]
    return [funding_answer(row) for row in exchange.funding.of(accounts) if row.source]


def _limits(engine: Engine, only: ViewFilter) -> Rows:
    """Usage of each limit, including calls that a disabled limit would have refused."""
    limits = engine.exchange.rate_limits
    over = {row[:3]: row.used for row in limits.unenforced()}
    return [{**row._asdict(), "would_refuse": over.get(row[:3], 0)} for row in limits.usage()]


def _breakers(engine: Engine, only: ViewFilter) -> Rows:
    return [
        {"firm": firm, **to_builtins(breaker)}
        for firm, breaker in sorted(engine.exchange.webhooks.breakers().items())
    ]


def _timers(engine: Engine, only: ViewFilter) -> Rows:
    return [
        {"at": format_instant(timer.due), "timer": timer.kind, "subject": timer.subject}
        for timer in engine.exchange.ctx.timers.pending()
    ]


def _faults(engine: Engine, only: ViewFilter) -> Rows:
    faults = engine.exchange.faults
    return [
        {
            "id": fault.id,
            **to_builtins(fault.spec),
            "matched": fault.matched,
            "affected": fault.affected,
            "impossible": fault.impossible,
            "over": over,
        }
        for over, listed in ((False, faults.all()), (True, faults.over()))
        for fault in listed
    ]


def _quirks(engine: Engine, only: ViewFilter) -> Rows:
    value_of = engine.exchange.ctx.quirks.as_written
    return [
        {"name": quirk.name, "value": value_of(quirk.name), "default": str(quirk.default)}
        for quirk in quirks.catalogue().values()
    ]


def _assumptions(engine: Engine, only: ViewFilter) -> Rows:
    value_of = engine.exchange.ctx.assumptions.as_written
    return [
        {
            "name": assumption.name,
            "value": value_of(assumption.name),
            "default": assumption.show(assumption.default),
        }
        for assumption in assumptions.catalogue().values()
    ]


def _maintenance(engine: Engine, only: ViewFilter) -> Rows:
    return [
        {**window_answer(window), "open": window.begins <= engine.now}
        for window in engine.exchange.maintenance.upcoming()
    ]


def _participants(engine: Engine, only: ViewFilter) -> Rows:
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


def _users(engine: Engine, only: ViewFilter) -> Rows:
    firms = engine.exchange.firms.all()
    rows = [(user.name, firm.name, user.account) for firm in firms for user in firm.users]
    return [dict(zip(("user", "firm", "account"), row, strict=True)) for row in sorted(rows)]


def _figures(
    read: Callable[[Engine, str], Iterable[Answer]], engine: Engine, only: ViewFilter
) -> Iterable[Answer]:
    names = sorted(account.name for account in _accounts_of(engine, only))
    rows = ({"account": name, **row} for name in names for row in read(engine, name))
    return _last(list(rows), only) if only.last else rows


def _last(rows: list[R], only: ViewFilter) -> list[R]:
    return rows[-only.last :] if only.last else rows


class StateView(NamedTuple):
    """A view: its rows, which are made one after the other, and the filters that narrow it."""

    rows: Callable[[Engine, ViewFilter], Iterable[Answer]]
    filters: tuple[str, ...] = ()


_OF_ACCOUNTS = ("account", "last")
VIEWS: dict[str, StateView] = {
    "accounts": StateView(_accounts, ("account",)),
    "assumptions": StateView(_assumptions),
    "books": StateView(_books, ("symbol",)),
    "breakers": StateView(_breakers),
    "deliveries": StateView(lambda engine, only: deliveries(engine.exchange)),
    "faults": StateView(_faults),
    "fills": StateView(partial(_figures, fills), _OF_ACCOUNTS),
    "funding": StateView(_funding),
    "instruments": StateView(_instruments, ("symbol",)),
    "ledger": StateView(_ledger, _OF_ACCOUNTS),
    "limits": StateView(_limits),
    "maintenance": StateView(_maintenance),
    "orders": StateView(_orders, ("symbol", *_OF_ACCOUNTS)),
    "participants": StateView(_participants),
    "performance": StateView(partial(_figures, performance), _OF_ACCOUNTS),
    "quirks": StateView(_quirks),
    "quotes": StateView(partial(_figures, quotes), _OF_ACCOUNTS),
    "receivers": StateView(lambda engine, only: receivers_of(engine).rows()),
    "sessions": StateView(lambda engine, only: engine.hub.describe()),
    "timers": StateView(_timers),
    "trades": StateView(_trades, ("symbol", *_OF_ACCOUNTS)),
    "users": StateView(_users),
    "verifications": StateView(
        lambda engine, only: [case_answer(case) for case in engine.exchange.kyc.cases()]
    ),
}


def view(engine: Engine, name: str, only: ViewFilter = _ALL) -> dict[str, Rows]:
    """A view by name, all at once; see `view_in_steps`."""
    return done(view_in_steps(engine, name, only))


def view_in_steps(engine: Engine, name: str, only: ViewFilter = _ALL) -> Work[dict[str, Rows]]:
    """A view by name, as {name: rows}. NotFound for an unknown view, symbol or account;
    InvalidRequest for a filter that the view does not support.
    """
    if name not in VIEWS:
        raise unknown_view(name)
    taken = VIEWS[name].filters
    for by, value in only._asdict().items():
        if value and by not in taken:
            remedy = f"it supports {', '.join(taken)}" if taken else "it supports no filter"
            message = f"the view {name} cannot be narrowed by {by}"
            raise InvalidRequest(message, rule="T1", remedy=remedy)
    if only.symbol:
        engine.exchange.instruments.require(only.symbol)
    if only.account:
        only = only._replace(account=engine.account_named(only.account))
    rows = []
    for row in VIEWS[name].rows(engine, only):
        rows.append(row)
        yield
    return {name: rows}


def views(engine: Engine, names: Iterable[str], only: ViewFilter = _ALL) -> dict[str, Rows]:
    """Several views by name, all at once; see `views_in_steps`."""
    return done(views_in_steps(engine, names, only))


def views_in_steps(
    engine: Engine, names: Iterable[str], only: ViewFilter = _ALL
) -> Work[dict[str, Rows]]:
    """Several views by name. Each is narrowed by the filters that it supports; a filter that none
    of them supports is InvalidRequest.
    """
    chosen = {name: VIEWS[name].filters if name in VIEWS else () for name in names}
    for by, value in only._asdict().items():
        if value and not any(by in taken for taken in chosen.values()):
            narrowed = ", ".join(name for name in VIEWS if by in VIEWS[name].filters)
            message = f"none of these views can be narrowed by {by}"
            raise InvalidRequest(message, rule="T1", remedy=f"views with {by}: {narrowed}")
    rows: dict[str, Rows] = {}
    for name, taken in chosen.items():
        own = {by: value for by, value in only._asdict().items() if by in taken}
        rows |= yield from view_in_steps(engine, name, ViewFilter(**own))
    return rows


def find_instruments(engine: Engine, text: str, limit: int) -> dict[str, Any]:
    """At most `limit` instruments whose symbol contains every word of a text, those with orders
    first, and the number of all. Dormant instruments are created only if they are returned.
    """
    words, trading = text.lower().split(), engine.exchange.trading
    symbols = engine.exchange.instruments.symbols()
    matching = [symbol for symbol in symbols if all(word in symbol.lower() for word in words)]
    matching.sort(key=lambda symbol: (trading.books.touched(symbol) is None, symbol))
    rows = [{"symbol": symbol, "state": trading.state(symbol).name} for symbol in matching[:limit]]
    return {"instruments": rows, "found": len(matching)}


def unknown_view(name: str) -> NotFound:
    """The refusal of an unknown view."""
    remedy = "one of " + ", ".join(VIEWS)
    return NotFound(f"there is no view {name!r}", rule="T1", remedy=remedy)


def deliveries(exchange: Exchange) -> Rows:
    """The webhook delivery log, oldest first."""
    rows = []
    for delivery in exchange.webhooks.deliveries():
        body: dict[str, Any] = json.decode(exchange.webhooks.body_of(delivery.event_id) or b"{}")
        external_id = body.get("external_id") or body.get("data", {}).get("external_id", "")
        at = format_instant(delivery.at)
        rows.append({**asdict(delivery), "at": at, "external_id": external_id})
    return rows
