"""The activity feed of an account: its trades, resolutions and balance changes as one list in time,
read from the three records they are kept in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, TypeAlias, TypeVar

from sim.api.rendering.amounts import cash_amount, fixed, nearest, notional_amount, price_amount
from sim.api.retail.messages import holdings_around, position_message
from sim.core.exchange import Exchange
from sim.core.incentives.incentives import LIQUIDITY_REFERENCE, REBATE_REFERENCE, REFERRAL_REFERENCE
from sim.core.market_data.execution_log import Record
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Trade
from sim.kernel.instants import Instant
from sim.messages import retail_v1 as wire

_COMPLETED = wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED
# Cash rows that are activities of their own; trades, commissions and resolutions are told by
# theirs.
_BALANCE_CHANGES = {
    LedgerEntryType.DEPOSIT: (wire.ActivityType.ACTIVITY_TYPE_ACCOUNT_DEPOSIT, _COMPLETED),
    LedgerEntryType.WITHDRAWAL: (wire.ActivityType.ACTIVITY_TYPE_ACCOUNT_WITHDRAWAL, _COMPLETED),
    LedgerEntryType.PENDING_WITHDRAWAL_CREATION: (
        wire.ActivityType.ACTIVITY_TYPE_ACCOUNT_WITHDRAWAL,
        wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_PENDING,
    ),
    LedgerEntryType.WITHDRAWAL_REJECTION: (
        wire.ActivityType.ACTIVITY_TYPE_ACCOUNT_WITHDRAWAL,
        wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_REJECTED,
    ),
    LedgerEntryType.MANUAL_TRANSFER: (wire.ActivityType.ACTIVITY_TYPE_TRANSFER, _COMPLETED),
    LedgerEntryType.MANUAL_ADJUSTMENT: (wire.ActivityType.ACTIVITY_TYPE_TRANSFER, _COMPLETED),
}
_ADJUSTMENTS = {
    REBATE_REFERENCE: wire.ActivityType.ACTIVITY_TYPE_TAKER_FEE_REBATE,
    LIQUIDITY_REFERENCE: wire.ActivityType.ACTIVITY_TYPE_LIQUIDITY_PROGRAM,
    REFERRAL_REFERENCE: wire.ActivityType.ACTIVITY_TYPE_REFERRAL_BONUS,
}


class Place(NamedTuple):
    """Where an activity stands in the feed: its instant, which record it is from, and its number
    there.
    """

    at: Instant
    record: int
    row: int


R = TypeVar("R")
Entry: TypeAlias = tuple[Place, wire.Activity]


class _Record(NamedTuple):
    """One of the three records: the rows of it that may be activities, ascending, when each was,
    and the activity of each, or None for a row that is none.
    """

    rows: Sequence[int]
    at: Callable[[int], Instant]
    activity: Callable[[int], wire.Activity | None]


def activities(
    exchange: Exchange, account: str, request: wire.ListActivitiesRequest, after: Place | None
) -> Iterator[Entry]:
    """Activities of an account that the request's filters let through, from `after` on, in the
    order asked for.
    """
    newest_first = request.sort_order == wire.SortOrder.SORT_ORDER_DESCENDING
    wanted = frozenset(request.types)
    found = [
        _walk(number, record, request, after, newest_first)
        for number, record in enumerate(_records(exchange, account, request.market_slug, wanted))
    ]
    for place, activity in merge(*found, key=lambda entry: entry[0], reverse=newest_first):
        if not wanted or activity.type in wanted:
            yield place, activity


def _walk(
    number: int,
    record: _Record,
    request: wire.ListActivitiesRequest,
    after: Place | None,
    newest_first: bool,
) -> Iterator[Entry]:
    rows = record.rows
    low = (
        bisect_left(rows, request.start_time, key=record.at)
        if request.start_time is not None
        else 0
    )
    high = (
        bisect_left(rows, request.end_time, key=record.at)
        if request.end_time is not None
        else len(rows)
    )
    if after is not None:
        if newest_first:
            high = min(
                high,
                bisect_left(rows, after, key=lambda index: Place(record.at(index), number, index)),
            )
        else:
            low = max(
                low,
                bisect_right(rows, after, key=lambda index: Place(record.at(index), number, index)),
            )
    for at in range(high - 1, low - 1, -1) if newest_first else range(low, high):
        index = rows[at]
        activity = record.activity(index)
        if activity is not None:
            yield Place(record.at(index), number, index), activity


def _records(
    exchange: Exchange, account: str, symbol: str, wanted: frozenset[int]
) -> tuple[_Record, _Record, _Record]:
    trading = exchange.trading
    trades = trading.execution_log.trades
    seqs = trades.of_account(account)
    positions = trading.positions.rows(account)
    cash = trading.ledger.entries(account)
    asked = {
        kind: not wanted or kind in wanted
        for kind in (
            wire.ActivityType.ACTIVITY_TYPE_TRADE,
            wire.ActivityType.ACTIVITY_TYPE_POSITION_RESOLUTION,
        )
    }

    def trade(index: int) -> wire.Activity | None:
        found = trades[seqs[index]]
        return _trade(exchange, account, found, positions) if symbol in ("", found.symbol) else None

    def resolution(index: int) -> wire.Activity | None:
        row = positions[index]
        return _resolution(exchange, row) if symbol in ("", row.symbol) else None

    changes = (
        []
        if symbol
        else _rows(exchange, account, "cash", cash, lambda row: row.type in _BALANCE_CHANGES)
    )
    traded = _traded(trades, seqs, symbol) if asked[wire.ActivityType.ACTIVITY_TYPE_TRADE] else ()
    resolved: Sequence[int] = ()
    if asked[wire.ActivityType.ACTIVITY_TYPE_POSITION_RESOLUTION]:
        resolved = _rows(
            exchange,
            account,
            "positions",
            positions,
            lambda row: row.settlement is not None and row.qty_change != 0,
        )
    return (  # at one instant money comes before what is bought with it
        _Record(changes, lambda index: cash[index].at, lambda index: _balance_change(cash[index])),
        _Record(traded, lambda index: trades[seqs[index]].at, trade),
        _Record(resolved, lambda index: positions[index].at, resolution),
    )


def _traded(trades: Record[Trade], seqs: Sequence[int], symbol: str) -> Sequence[int]:
    """Which of an account's trades may be of a symbol: by whichever index is shorter."""
    of_symbol = trades.of_symbol(symbol) if symbol else seqs
    if not symbol or len(of_symbol) >= len(seqs):
        return range(len(seqs))
    places = ((bisect_left(seqs, seq), seq) for seq in of_symbol)
    return [place for place, seq in places if place < len(seqs) and seqs[place] == seq]


class _Read:
    """Which rows of a record are of a sort, as far as it was read."""

    __slots__ = ("found", "loaded", "until")

    def __init__(self, loaded: int) -> None:
        self.loaded = loaded
        self.until = 0
        self.found: list[int] = []


def _rows(
    exchange: Exchange, account: str, name: str, record: Sequence[R], test: Callable[[R], bool]
) -> Sequence[int]:
    """Rows of an account's record that pass a test, ascending. Records only grow between two
    journeys in time, so they are read on where reading stopped.
    """
    loaded, table = exchange.trading.books.loaded, exchange.answer_caches.setdefault(_Read, {})
    read: _Read | None = table.get((name, account))
    if read is None or read.loaded != loaded:
        read = table[name, account] = _Read(loaded)
    read.found += (index for index in range(read.until, len(record)) if test(record[index]))
    read.until = len(record)
    return read.found


def _trade(
    exchange: Exchange, account: str, trade: Trade, rows: Sequence[PositionChanged]
) -> wire.Activity:
    """The account's side of a trade. Cost basis is what the fill added to the position's cost, or
    took from it.
    """
    aggressor = trade.aggressor.order.account == account
    order = (trade.aggressor if aggressor else trade.passive).order
    start = bisect_left(rows, trade.at, key=lambda row: row.at)
    moved = next(
        (row for row in map(rows.__getitem__, range(start, len(rows))) if row.trade_id == trade.id),
        None,
    )
    cost, realized = (
        (abs(moved.cost_change), moved.realized_change) if moved is not None else (0, 0)
    )
    return wire.Activity(
        type=wire.ActivityType.ACTIVITY_TYPE_TRADE,
        trade=wire.TradeActivity(
            id=trade.id,
            market_slug=trade.symbol,
            state=trade.state,
            create_time=trade.at,
            update_time=trade.state_at,
            price=price_amount(trade.price, order.price_scale),
            qty=str(nearest(trade.qty, order.qty_scale)),
            qty_decimal=fixed(trade.qty, order.qty_scale),
            is_aggressor=aggressor,
            cost_basis=notional_amount(cost, order.price_scale, order.qty_scale),
            realized_pnl=notional_amount(realized, order.price_scale, order.qty_scale),
        ),
    )


def _resolution(exchange: Exchange, row: PositionChanged) -> wire.Activity:
    """A settled position. The side is the one that was paid: NEUTRAL where both got something."""
    instrument = exchange.instruments.require(row.symbol)
    before, after = holdings_around(row)
    sides = wire.PositionResolutionSide
    side = sides.POSITION_RESOLUTION_SIDE_NEUTRAL
    if row.settlement == instrument.price_scale:
        side = sides.POSITION_RESOLUTION_SIDE_LONG
    elif row.settlement == 0:
        side = sides.POSITION_RESOLUTION_SIDE_SHORT
    return wire.Activity(
        type=wire.ActivityType.ACTIVITY_TYPE_POSITION_RESOLUTION,
        position_resolution=wire.PositionResolution(
            market_slug=row.symbol,
            before_position=(
                None
                if before is None
                else position_message(exchange, before, row.at, available=before.net)
            ),
            after_position=position_message(exchange, after, row.at),
            update_time=row.at,
            trade_id=row.trade_id,
            side=side,
        ),
    )


def _balance_change(row: CashMoved) -> wire.Activity | None:
    kind = _BALANCE_CHANGES.get(row.type)
    if kind is None:
        return None
    type, status = kind
    if row.type is LedgerEntryType.MANUAL_ADJUSTMENT:
        type = _ADJUSTMENTS.get(row.reference.partition(":")[0], type)
    return wire.Activity(
        type=type,
        account_balance_change=wire.AccountBalanceChange(
            transaction_id=row.id,
            status=status,
            amount=cash_amount(row.after - row.before),
            update_time=row.at,
            create_time=row.at,
            description=row.description,
        ),
    )
