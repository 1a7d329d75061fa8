"""The figures of an account over virtual time: its fills, its profit and loss, its own quotes.

They are computed on request from the records of the exchange, so they are available for any moment
and a running exchange does no extra work. Amounts are decimal text, in dollars and contracts.

* `fills`: each execution that traded, with the fee that it paid; a rebate is a negative fee.
* `performance`: a row whenever the position in an instrument or its mark changes. The mark is the
  price of the last trade in the instrument, and after a settlement the settlement price.
  `realised` comes from closing at average cost, `unrealised` is the value of the net position at
  the mark less its cost, `total` is the sum of both less the fees.
* `quotes`: the best price and its size of the account's own working orders on each side, a row
  whenever one of them changes.

`seq` is the input after which a row holds. Several changes within one input are one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from sim.core.accounts.positions import FILL
from sim.core.model.enums import OrderState, Side
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Execution, Order
from sim.core.model.quantities import Price, Qty, decimal_text, divide_half_even
from sim.kernel.instants import Instant, format_instant
from sim.run.actors.operator.answers import Answer
from sim.run.engine.engine import Engine

_WORKING = (OrderState.NEW, OrderState.PARTIALLY_FILLED, OrderState.REPLACED)


def fills(engine: Engine, account: str) -> Iterable[Answer]:
    """Every execution of an account that traded, oldest first."""
    return (
        {
            "seq": _seq(execution),
            "at": format_instant(execution.at),
            "id": execution.id,
            "trade": execution.trade_id,
            "order": order.id,
            "clord_id": order.clord_id,
            "symbol": order.symbol,
            "side": Side(order.side).name,
            "price": decimal_text(execution.last_px, order.price_scale),
            "qty": decimal_text(execution.last_qty, order.qty_scale),
            "liquidity": "taker" if execution.aggressor else "maker",
            "fee": decimal_text(execution.commission, order.price_scale * order.qty_scale, 2),
        }
        for execution in _executions(engine, account)
        if execution.last_qty and (order := execution.order)
    )


def _executions(engine: Engine, account: str) -> Iterator[Execution]:
    executions = engine.exchange.trading.executions
    return (executions[seq] for seq in executions.of_account(account))


def _seq(execution: Execution) -> int:
    """The input in which an execution happened. The trace id is its number in hexadecimal."""
    return int(execution.trace_id or "0", 16)


# ---- profit and loss


class _Change(NamedTuple):
    """A change of a position, or of its mark (`position` is None)."""

    at: Instant
    order: int  # a mark comes before the position that the same trade changed
    seq: int
    symbol: str
    mark: Price | None
    position: tuple[Qty, int, int, int] | None = None  # net, cost, realised, fees


def performance(engine: Engine, account: str) -> Iterator[Answer]:
    """Profit and loss of an account in each instrument, oldest first."""
    rows: dict[str, Answer] = {}  # of the present input, by instrument
    seq = 0
    marks: dict[str, Price] = {}
    positions: dict[str, tuple[Qty, int, int, int]] = {}
    for change in sorted(_changes(engine, account), key=attrgetter("at", "order")):
        symbol = change.symbol
        if change.mark is not None:
            marks[symbol] = change.mark
        if change.position is not None:
            positions[symbol] = change.position
        elif symbol not in positions or not positions[symbol][0]:
            continue  # the mark of an instrument without a position
        instrument = engine.exchange.instruments.require(symbol)
        if change.seq != seq:
            yield from rows.values()
            rows.clear()
            seq = change.seq
        rows.pop(symbol, None)  # a second change within one input replaces the first
        rows[symbol] = _row(change, instrument, positions[symbol], marks.get(symbol))
    yield from rows.values()


def _changes(engine: Engine, account: str) -> Iterator[_Change]:
    trading = engine.exchange.trading
    symbols = dict[str, None]()
    seqs = {
        execution.trade_id: _seq(execution)
        for execution in _executions(engine, account)
        if execution.trade_id
    }
    for row in trading.positions.rows(account):
        symbols[row.symbol] = None
        seq = seqs.get(row.trade_id) if row.description == FILL else None
        # A settlement or correction has no execution: use the last input of its instant
        if seq is None:
            seq = engine.journal.seq_at(row.at)
        after = (row.net, row.cost, row.realized, row.fees)
        yield _Change(row.at, 1, seq, row.symbol, row.settlement, after)
    for symbol in symbols:
        for number in trading.trades.of_symbol(symbol):
            trade = trading.trades[number]
            yield _Change(trade.at, 0, _seq(trade.aggressor), symbol, trade.price)


def _row(
    change: _Change, instrument: Instrument, position: tuple[Qty, int, int, int], mark: Price | None
) -> Answer:
    net, cost, realized, fees = position
    price, notional = instrument.price_scale, instrument.price_scale * instrument.qty_scale
    unrealized = net * mark - cost if mark is not None else 0
    average = divide_half_even(abs(cost) * 100, abs(net)) if net else 0  # in hundredths of a price
    return {
        "seq": change.seq,
        "at": format_instant(change.at),
        "symbol": change.symbol,
        "net": decimal_text(net, instrument.qty_scale),
        "average": decimal_text(average, price * 100),
        "cost": decimal_text(cost, notional, 2),
        "mark": decimal_text(mark, price) if mark is not None else "",
        "realised": decimal_text(realized, notional, 2),
        "unrealised": decimal_text(unrealized, notional, 2),
        "fees": decimal_text(fees, notional, 2),
        "total": decimal_text(realized + unrealized - fees, notional, 2),
    }


# ---- own quotes


def quotes(engine: Engine, account: str) -> Iterator[Answer]:
    """The best prices of an account's own working orders on each side, oldest first."""
    working: dict[str, _OwnLevels] = {}
    last: dict[str, Answer] = {}
    for execution, ends in _with_ends(_executions(engine, account)):
        working.setdefault(execution.order.symbol, _OwnLevels(execution.order)).put(execution.order)
        for symbol in ends:
            best = working[symbol].best()
            if best != last.get(symbol, _NOTHING):
                last[symbol] = best
                at = {"seq": _seq(execution), "at": format_instant(execution.at)}
                yield {**at, "symbol": symbol, **best}


def _with_ends(executions: Iterable[Execution]) -> Iterator[tuple[Execution, list[str]]]:
    """Each execution, with the instruments that have no further execution in its input."""
    before: Execution | None = None
    touched = dict[str, None]()
    for execution in executions:
        if before is not None:
            yield before, list(touched) if _seq(before) != _seq(execution) else []
            if _seq(before) != _seq(execution):
                touched.clear()
        touched[execution.order.symbol] = None
        before = execution
    if before is not None:
        yield before, list(touched)


class _OwnLevels:
    """An account's working orders in the book of an instrument: the quantity at each price."""

    def __init__(self, order: Order) -> None:
        self._scales = order.price_scale, order.qty_scale
        self._orders: dict[str, tuple[Side, Price, Qty]] = {}
        self._levels: dict[Side, dict[Price, Qty]] = {Side.BUY: {}, Side.SELL: {}}

    def put(self, order: Order) -> None:
        """Update an order."""
        before = self._orders.pop(order.id, None)
        if before is not None:
            side, price, qty = before
            self._count(side, price, -qty)
        if (
            order.leaves_qty > 0
            and order.state in _WORKING
            and order.price
            and not order.stop_price
        ):
            now = self._orders[order.id] = Side(order.side), order.price, order.leaves_qty
            self._count(*now)

    def _count(self, side: Side, price: Price, qty: Qty) -> None:
        level = self._levels[side]
        level[price] = level.get(price, 0) + qty
        if not level[price]:
            del level[price]

    def best(self) -> Answer:
        """The best bid and offer, with their quantities and the spread between them."""
        bids, offers = self._levels[Side.BUY], self._levels[Side.SELL]
        bid, offer = max(bids, default=None), min(offers, default=None)
        price, qty = self._scales
        return {
            "bid": _text(bid, price),
            "bid_qty": decimal_text(bids[bid], qty) if bid is not None else "",
            "offer": _text(offer, price),
            "offer_qty": decimal_text(offers[offer], qty) if offer is not None else "",
            "spread": _text(offer - bid if bid is not None and offer is not None else None, price),
        }


_NOTHING = {"bid": "", "bid_qty": "", "offer": "", "offer_qty": "", "spread": ""}


def _text(price: Price | None, scale: int) -> str:
    return "" if price is None else decimal_text(price, scale)
