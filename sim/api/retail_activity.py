"""The activity feed of an account: its trades, resolutions and balance changes as one list in time, read from the three records they are kept in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, TypeAlias

from sim.api.retail_messages import holdings_around, position_message
from sim.api.retail_numbers import cash_amount, fixed, nearest, notional_amount, price_amount
from sim.core.events import CashMoved, PositionChanged
from sim.core.exchange import Exchange
from sim.core.incentives import LIQUIDITY_REFERENCE, REBATE_REFERENCE, REFERRAL_REFERENCE
from sim.core.orders import Trade
from sim.core.vocabulary import LedgerEntryType
from sim.kernel.instants import Instant
from sim.messages import retail_v1 as wire

_COMPLETED = wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED
# Cash rows that are activities of their own; trades, commissions and resolutions are told by theirs.
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
    """Where an activity stands in the feed: its instant, which record it is from, and its number there."""

    at: Instant
    record: int
    row: int


Entry: TypeAlias = tuple[Place, wire.Activity]


class _Record(NamedTuple):
    """One of the three records: how many rows it has, when each was, and the activity of each, or None for a row that is none."""

    size: int
    at: Callable[[int], Instant]
    activity: Callable[[int], wire.Activity | None]


def activities(exchange: Exchange, account: str, request: wire.ListActivitiesRequest, after: Place | None) -> Iterator[Entry]:
    """Activities of an account that the request's filters let through, from `after` on, in the order asked for."""
    newest_first = request.sort_order == wire.SortOrder.SORT_ORDER_DESCENDING
    wanted = frozenset(request.types)
    found = [
        _walk(number, record, request, after, newest_first)
        for number, record in enumerate(_records(exchange, account, request.market_slug))
    ]
    for place, activity in merge(*found, key=lambda entry: entry[0], reverse=newest_first):
        if not wanted or activity.type in wanted:
            yield place, activity


def _walk(number: int, record: _Record, request: wire.ListActivitiesRequest, after: Place | None, newest_first: bool) -> Iterator[Entry]:
    rows = range(record.size)
    low = bisect_left(rows, request.start_time, key=record.at) if request.start_time is not None else 0
    high = bisect_left(rows, request.end_time, key=record.at) if request.end_time is not None else record.size
    if after is not None:
        if newest_first:
            high = min(high, bisect_left(rows, after, key=lambda index: Place(record.at(index), number, index)))
        else:
            low = max(low, bisect_right(rows, after, key=lambda index: Place(record.at(index), number, index)))
    for index in range(high - 1, low - 1, -1) if newest_first else range(low, high):
        activity = record.activity(index)
        if activity is not None:
            yield Place(record.at(index), number, index), activity


def _records(exchange: Exchange, account: str, symbol: str) -> tuple[_Record, _Record, _Record]:
    trading = exchange.trading
    trades = trading.tape.trades
    seqs = trades.of_account(account)
    positions = trading.positions.rows(account)
    cash = trading.ledger.entries(account)

    def trade(index: int) -> wire.Activity | None:
        found = trades[seqs[index]]
        return _trade(exchange, account, found, positions) if symbol in ("", found.symbol) else None

    def resolution(index: int) -> wire.Activity | None:
        row = positions[index]
        if row.settlement is None or not row.qty_change or symbol not in ("", row.symbol):
            return None
        return _resolution(exchange, row)

    def balance_change(index: int) -> wire.Activity | None:
        return None if symbol else _balance_change(cash[index])

    return (  # at one instant money comes before what is bought with it
        _Record(len(cash), lambda index: cash[index].at, balance_change),
        _Record(len(seqs), lambda index: trades[seqs[index]].at, trade),
        _Record(len(positions), lambda index: positions[index].at, resolution),
    )


def _trade(exchange: Exchange, account: str, trade: Trade, rows: Sequence[PositionChanged]) -> wire.Activity:
    """The account's side of a trade. Cost basis is what the fill added to the position's cost, or took from it."""
    aggressor = trade.aggressor.order.account == account
    order = (trade.aggressor if aggressor else trade.passive).order
    start = bisect_left(rows, trade.at, key=lambda row: row.at)
    moved = next((row for row in rows[start:] if row.trade_id == trade.id), None)
    cost, realized = (abs(moved.cost_change), moved.realized_change) if moved is not None else (0, 0)
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
            before_position=None if before is None else position_message(exchange, before, row.at, available=before.net),
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
