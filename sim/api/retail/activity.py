"""The activity feed of an account: trades, resolutions and balance changes in order of time (§4.2).

The feed is not stored. Each request merges three records: cash movements, trades and
the position ledger.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sim.api.gateway.live_views import market_view
from sim.api.rendering.retail_numbers import (
    book_price,
    cash_amount,
    fixed,
    nearest,
    notional_amount,
    unpadded,
)
from sim.api.retail.messages import retail_execution, retail_order
from sim.api.retail.metadata import leg_details
from sim.api.retail.positions import holdings_around, position_message
from sim.contract.messages import retail_v1 as wire
from sim.contract.messages.gateway_v1 import Market
from sim.core.catalogue.assumptions import REWARD_ACTIVITIES
from sim.core.catalogue.quirks import SHORT_CLOSE_PNL
from sim.core.exchange import Exchange
from sim.core.incentives.incentives import LIQUIDITY_REFERENCE, REBATE_REFERENCE, REFERRAL_REFERENCE
from sim.core.market_data.execution_log import SequencedLog
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Trade
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant, midnight_utc, trade_date

_Activity = wire.ActivityType
_WITHDRAWAL = _Activity.ACTIVITY_TYPE_ACCOUNT_WITHDRAWAL
_COMPLETED = wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED
_PENDING = wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_PENDING
_REJECTED = wire.AccountBalanceChangeStatus.ACCOUNT_BALANCE_CHANGE_STATUS_REJECTED
# Cash movements that are activities of their own. Movements caused by trades, commissions and
# resolutions are reported by the activities of the other two records.
_BALANCE_CHANGES = {
    LedgerEntryType.DEPOSIT: (_Activity.ACTIVITY_TYPE_ACCOUNT_DEPOSIT, _COMPLETED),
    LedgerEntryType.WITHDRAWAL: (_WITHDRAWAL, _COMPLETED),
    LedgerEntryType.PENDING_WITHDRAWAL_CREATION: (_WITHDRAWAL, _PENDING),
    LedgerEntryType.WITHDRAWAL_REJECTION: (_WITHDRAWAL, _REJECTED),
    LedgerEntryType.MANUAL_TRANSFER: (_Activity.ACTIVITY_TYPE_TRANSFER, _COMPLETED),
    LedgerEntryType.MANUAL_ADJUSTMENT: (_Activity.ACTIVITY_TYPE_TRANSFER, _COMPLETED),
}
_ADJUSTMENTS = {
    REBATE_REFERENCE: _Activity.ACTIVITY_TYPE_TAKER_FEE_REBATE,
    LIQUIDITY_REFERENCE: _Activity.ACTIVITY_TYPE_LIQUIDITY_PROGRAM,
    REFERRAL_REFERENCE: _Activity.ACTIVITY_TYPE_REFERRAL_BONUS,
}


RESOLUTION_FORM = Dated(
    False,
    ("2026-10-01", True),
    name="activities.resolution_form",
    section="recordings",
    title="positions of a resolution keep realized, and have no qtyAvailableDecimal",
)


class Place(NamedTuple):
    """The position of an activity in the feed: its instant, record number and row."""

    at: Instant
    record: int
    row: int


R = TypeVar("R")
Entry: TypeAlias = tuple[Place, wire.Activity]


class _Record(NamedTuple):
    """One of the three records that the feed merges.

    `rows` holds the numbers of the candidate rows, ascending. `at` returns the instant of a row.
    `activity` returns the activity of a row, or None if the row does not count as one.
    """

    rows: Sequence[int]
    at: Callable[[int], Instant]
    activity: Callable[[int], wire.Activity | None]


def activities(
    exchange: Exchange, account: str, request: wire.ListActivitiesRequest, after: Place | None
) -> Iterator[Entry]:
    """Yield the activities that match the request, in its sort order, starting after `after`."""
    newest_first = request.sort_order == wire.SortOrder.SORT_ORDER_DESCENDING
    types = frozenset(request.types) or frozenset(_Activity)
    records = (
        _cash_record(exchange, account),
        _trade_record(exchange, account, request.market_slug, types),
        _resolution_record(exchange, account, request.market_slug, types),
    )
    # At the same instant cash comes first: money has to arrive before it can be spent.
    walks = [_walk(number, record, request, after) for number, record in enumerate(records)]
    for position, activity in merge(*walks, key=itemgetter(0), reverse=newest_first):
        if activity.type in types:
            yield position, activity


def _walk(
    number: int, record: _Record, request: wire.ListActivitiesRequest, after: Place | None
) -> Iterator[Entry]:
    """Yield the matching activities of one record, starting after `after`."""
    rows, at, start, end = record.rows, record.at, request.start_time, request.end_time

    def place_of(row: int) -> Place:
        return Place(at(row), number, row)

    newest_first = request.sort_order == wire.SortOrder.SORT_ORDER_DESCENDING
    low = 0 if start is None else bisect_left(rows, start, key=at)
    high = len(rows) if end is None else bisect_left(rows, end, key=at)
    if after is not None and newest_first:
        high = min(high, bisect_left(rows, after, key=place_of))
    elif after is not None:
        low = max(low, bisect_right(rows, after, key=place_of))
    for index in range(high - 1, low - 1, -1) if newest_first else range(low, high):
        activity = record.activity(rows[index])
        if activity is not None:
            yield place_of(rows[index]), activity


def _cash_record(exchange: Exchange, account: str) -> _Record:
    """Return the record of balance changes.

    They belong to no market, so every filter lets them pass.
    """
    cash = exchange.trading.ledger.entries(account)
    rows = _matching_rows(exchange, account, "cash", cash, lambda row: row.type in _BALANCE_CHANGES)
    rewards = exchange.ctx.assumptions.text(REWARD_ACTIVITIES) == "own_types"
    return _Record(rows, lambda row: cash[row].at, lambda row: _balance_change(cash[row], rewards))


def _trade_record(exchange: Exchange, account: str, symbol: str, types: frozenset[int]) -> _Record:
    trades = exchange.trading.execution_log.trades
    seqs, positions = trades.of_account(account), exchange.trading.positions.rows(account)

    def activity(row: int) -> wire.Activity | None:
        trade = trades[seqs[row]]
        return _trade(exchange, account, trade, positions) if symbol in ("", trade.symbol) else None

    rows = _trade_rows(trades, seqs, symbol) if _Activity.ACTIVITY_TYPE_TRADE in types else ()
    return _Record(rows, lambda row: trades[seqs[row]].at, activity)


def _resolution_record(
    exchange: Exchange, account: str, symbol: str, types: frozenset[int]
) -> _Record:
    positions = exchange.trading.positions.rows(account)

    def activity(row: int) -> wire.Activity | None:
        changed = positions[row]
        return _resolution(exchange, changed) if symbol in ("", changed.symbol) else None

    def is_resolution(changed: PositionChanged) -> bool:
        return changed.settlement is not None and bool(
            changed.qty_change or changed.realized_change
        )

    rows: Sequence[int] = ()
    if _Activity.ACTIVITY_TYPE_POSITION_RESOLUTION in types:
        rows = _matching_rows(exchange, account, "positions", positions, is_resolution)
    return _Record(rows, lambda row: positions[row].at, activity)


def _trade_rows(trades: SequencedLog[Trade], seqs: Sequence[int], symbol: str) -> Sequence[int]:
    """Return the indices of an account's trades that may concern a symbol."""
    of_symbol = trades.of_symbol(symbol) if symbol else seqs
    if not symbol or len(of_symbol) >= len(seqs):
        return range(len(seqs))
    rows = ((bisect_left(seqs, seq), seq) for seq in of_symbol)
    return [row for row, seq in rows if row < len(seqs) and seqs[row] == seq]


class _MatchingRows(Struct):
    """The rows of a record that passed a test, among those before `until`."""

    loaded: int
    until: int = 0
    rows: list[int] = []


def _matching_rows(
    exchange: Exchange, account: str, name: str, record: Sequence[R], test: Callable[[R], bool]
) -> Sequence[int]:
    """Return the rows of an account's record that pass a test, ascending.

    A record only grows between two time travels, so each call continues where the last one stopped.
    """
    loaded = exchange.trading.books.loaded
    table = exchange.answer_caches.setdefault(_MatchingRows, {})
    read: _MatchingRows | None = table.get((name, account))
    if read is None or read.loaded != loaded:
        read = table[name, account] = _MatchingRows(loaded)
    read.rows += (row for row in range(read.until, len(record)) if test(record[row]))
    read.until = len(record)
    return read.rows


def _trade(
    exchange: Exchange, account: str, trade: Trade, rows: Sequence[PositionChanged]
) -> wire.Activity:
    """Return a trade with both of its orders. The account's own order determines `is_aggressor`.

    The cost basis is the amount by which the fill changed the cost of the position. The cost
    includes the account's commission.
    """
    aggressor = trade.aggressor.order.account == account
    order = trade.aggressor.order
    own = trade.aggressor if aggressor else trade.passive
    start = bisect_left(rows, trade.at, key=lambda row: row.at)
    later = map(rows.__getitem__, range(start, len(rows)))
    change = next(row for row in later if row.trade_id == trade.id)
    scales = order.price_scale, order.qty_scale
    realized = change.realized_change
    if change.qty_change > 0 and realized and exchange.ctx.quirks.applies(SHORT_CLOSE_PNL):
        realized = trade.qty * trade.price - own.commission - abs(change.cost_change)
    return wire.Activity(
        type=_Activity.ACTIVITY_TYPE_TRADE,
        trade=wire.TradeActivity(
            id=trade.id,
            market_slug=trade.symbol,
            state=trade.state,
            create_time=trade.at,
            update_time=trade.state_at,
            price=book_price(trade.price, order.price_scale),
            qty=str(nearest(trade.qty, order.qty_scale)),
            qty_decimal=fixed(trade.qty, order.qty_scale),
            is_aggressor=aggressor,
            cost_basis=notional_amount(abs(change.cost_change), *scales),
            realized_pnl=notional_amount(realized, *scales),
            aggressor_execution=retail_execution(exchange, trade.aggressor),
            passive_execution=retail_execution(exchange, trade.passive),
            aggressor=retail_order(exchange, trade.aggressor.order),
            passive=retail_order(exchange, trade.passive.order),
            cost=notional_amount(trade.price * trade.qty + own.commission, *scales, places=0),
            market=_market(exchange, trade.symbol),
            create_trade_date=midnight_utc(trade_date(trade.at)),
            update_trade_date=midnight_utc(trade_date(trade.state_at or trade.at)),
            trade_link_id=trade.id,
            combo_leg_details=leg_details(exchange, trade.symbol),
        ),
    )


def _market(exchange: Exchange, symbol: str) -> Market | None:
    market = exchange.reference.market(symbol)
    return None if market is None else market_view(exchange, market)


def _resolution(exchange: Exchange, row: PositionChanged) -> wire.Activity:
    """Return a resolution with the side that was paid; NEUTRAL when both sides were.

    A correction (rule L27) is a resolution of its own: with the corrected side, and with the
    position that the former result had already closed.
    """
    instrument = exchange.instruments.require(row.symbol)
    before, after = holdings_around(exchange, row)
    position = None
    if before is not None:
        closed = not row.qty_change
        position = position_message(exchange, before, row.at, available=before.net, expired=closed)
    resolved = position_message(exchange, after, row.at, expired=True)
    if RESOLUTION_FORM.at(row.at):
        for message in filter(None, (position, resolved)):
            _write_october_form(message)
        if position is not None:
            resolved.realized = position.realized
    sides = wire.PositionResolutionSide
    side = sides.POSITION_RESOLUTION_SIDE_NEUTRAL
    if row.settlement == instrument.price_scale:
        side = sides.POSITION_RESOLUTION_SIDE_LONG
    elif row.settlement == 0:
        side = sides.POSITION_RESOLUTION_SIDE_SHORT
    return wire.Activity(
        type=_Activity.ACTIVITY_TYPE_POSITION_RESOLUTION,
        position_resolution=wire.PositionResolution(
            market_slug=row.symbol,
            before_position=position,
            after_position=resolved,
            update_time=row.at,
            trade_id=row.trade_id,
            side=side,
            market=_market(exchange, row.symbol),
            combo_leg_details=leg_details(exchange, row.symbol),
        ),
    )


def _write_october_form(message: wire.UserPosition) -> None:
    """Write a position of a resolution as it is shown from 2026-10-01."""
    message.qty_available_decimal = None
    value, metadata = message.cash_value, message.market_metadata
    if value is not None:
        message.cash_value = replace(value, value=unpadded(value.value))
    if metadata is not None and metadata.subject is not None:
        metadata.subject = replace(metadata.subject, id=-1, image=metadata.icon)


def _balance_change(row: CashMoved, own_types: bool) -> wire.Activity | None:
    """Return a cash movement that is an activity; without `own_types` programs pay transfers."""
    if row.type not in _BALANCE_CHANGES:
        return None
    type, status = _BALANCE_CHANGES[row.type]
    reference = row.reference.partition(":")[0]
    if row.type is LedgerEntryType.MANUAL_ADJUSTMENT:
        if own_types or reference == REFERRAL_REFERENCE:
            type = _ADJUSTMENTS.get(reference, type)
    facts: dict[str, Any] = {
        "transaction_id": row.id,
        "status": status,
        "amount": cash_amount(row.after - row.before),
        "update_time": row.at,
        "create_time": row.at,
        "description": row.description,
        "metadata": {},
    }
    transactions = [wire.BalanceTransaction(**facts)]
    change = wire.AccountBalanceChange(transactions=transactions, **facts)
    return wire.Activity(type=type, account_balance_change=change)
