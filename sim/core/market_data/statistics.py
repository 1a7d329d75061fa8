"""Statistics of instruments, and of the trades in a range of time (§2.4, §2.5).

Open, high, low and traded sums belong to the session. A session begins when an instrument enters
OPEN from PENDING, PREOPEN or CLOSED, so an instrument that is always open has one session for life.
The last trade remains after its session.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from sim.core.model.enums import TradeState
from sim.core.model.orders import Trade
from sim.core.model.quantities import Notional, Price, Qty
from sim.kernel.instants import Instant


class SymbolStats(Struct):
    """All InstrumentStats fields, scaled; None means no value (0 is a settlement price, rule L26).

    `..._at` is the instant of a price; `busts` is the number of busted trades; `traded_ever` is the
    quantity traded in all sessions, and `session_trades` the number of trades of this one, both
    including busted trades.
    """

    open_px: Price | None = None
    close_px: Price | None = None
    low_px: Price | None = None
    high_px: Price | None = None
    last_trade_px: Price | None = None
    last_trade_qty: Qty | None = None
    last_trade_at: Instant | None = None
    indicative_open_px: Price | None = None
    settlement_px: Price | None = None
    settlement_preliminary: bool | None = None
    settlement_method: str | None = None
    settlement_text: str | None = None
    settlement_set_time: Instant | None = None
    shares_traded: Qty = 0
    notional_traded: Notional = 0
    open_interest: Qty = 0
    open_at: Instant | None = None
    close_at: Instant | None = None
    low_at: Instant | None = None
    high_at: Instant | None = None
    busts: int = 0
    traded_ever: Qty = 0
    session_trades: int = 0


_NO_STATS = SymbolStats()


class TradeStats(Struct):
    """Statistics of the trades in a range of time (§2.4). All fields are zero without trades."""

    first: Price = 0
    last: Price = 0
    high: Price = 0
    low: Price = 0
    total_trade_count: int = 0
    cleared_trade_count: int = 0
    volume: Qty = 0
    cleared_volume: Qty = 0
    notional: Notional = 0
    cleared_notional: Notional = 0

    def add(self, trade: Trade, cleared: bool) -> None:
        """Count another trade, later than all before."""
        price = trade.price
        if not self.total_trade_count:
            self.first = self.high = self.low = price
        self.last = price
        self.high = max(self.high, price)
        self.low = min(self.low, price)
        self.total_trade_count += 1
        self.volume += trade.qty
        self.notional += price * trade.qty
        if cleared:
            self.cleared_trade_count += 1
            self.cleared_volume += trade.qty
            self.cleared_notional += price * trade.qty


class Statistics:
    """Statistics by symbol. A symbol that never opened or traded has none."""

    def __init__(self) -> None:
        self._by_symbol: dict[str, SymbolStats] = {}

    def view(self, symbol: str) -> SymbolStats:
        """Return a copy. The caller adds settlement, open interest and indicative price."""
        stats = self._by_symbol.get(symbol)
        return replace(stats) if stats is not None else SymbolStats()

    def last_price(self, symbol: str) -> Price | None:
        """Return the price of the latest trade."""
        return self._by_symbol.get(symbol, _NO_STATS).last_trade_px

    def traded_ever(self, symbol: str) -> Qty:
        """Return the quantity traded in all sessions."""
        return self._by_symbol.get(symbol, _NO_STATS).traded_ever

    def last_trade_at(self, symbol: str) -> Instant | None:
        """Return the instant of the latest trade."""
        return self._by_symbol.get(symbol, _NO_STATS).last_trade_at

    def symbols(self) -> Iterable[str]:
        """Return the symbols that have ever opened or traded."""
        return self._by_symbol

    def traded(self, symbol: str, price: Price, qty: Qty, at: Instant) -> None:
        """Count another trade."""
        stats = self._by_symbol.get(symbol)
        if stats is None:
            stats = self._by_symbol[symbol] = SymbolStats()
        if stats.open_px is None or stats.high_px is None or stats.low_px is None:
            stats.open_px = stats.high_px = stats.low_px = price
            stats.open_at = stats.high_at = stats.low_at = at
        elif price > stats.high_px:
            stats.high_px, stats.high_at = price, at
        elif price < stats.low_px:
            stats.low_px, stats.low_at = price, at
        stats.last_trade_px = price
        stats.last_trade_qty = qty
        stats.last_trade_at = at
        stats.session_trades += 1
        stats.shares_traded += qty
        stats.traded_ever += qty
        stats.notional_traded += price * qty

    def opened(self, symbol: str) -> None:
        """Begin a session."""
        stats = self._by_symbol.get(symbol)
        if stats is not None:
            stats.open_px = stats.high_px = stats.low_px = stats.close_px = None
            stats.open_at = stats.high_at = stats.low_at = stats.close_at = None
            stats.shares_traded = stats.notional_traded = stats.session_trades = 0

    def busted(self, symbol: str, trades: Iterable[Trade]) -> None:
        """Recompute the statistics after a bust (rule M42), from all trades, oldest first."""
        before, rows = self._by_symbol[symbol], list(trades)
        stats = self._by_symbol[symbol] = SymbolStats(busts=before.busts + 1)
        first = len(rows) - before.session_trades
        for part in (rows[:first], rows[first:]):
            self.opened(symbol)
            for trade in part:
                if trade.state is not TradeState.BUSTED:
                    self.traded(symbol, trade.price, trade.qty, trade.at)
        stats.traded_ever, stats.session_trades = before.traded_ever, before.session_trades
        if before.close_at is not None and stats.last_trade_px is not None:
            stats.close_px, stats.close_at = stats.last_trade_px, before.close_at

    def busts(self, symbol: str) -> int:
        """Return the number of busted trades."""
        return self._by_symbol.get(symbol, _NO_STATS).busts

    def closed(self, symbol: str, at: Instant) -> None:
        """End a session at the price of the last trade."""
        stats = self._by_symbol.get(symbol)
        if stats is not None and stats.last_trade_px is not None:
            stats.close_px, stats.close_at = stats.last_trade_px, at

    def save(self) -> dict[str, SymbolStats]:
        """Return the statistics by symbol."""
        return self._by_symbol

    def load(self, state: dict[str, SymbolStats]) -> None:
        """Restore saved statistics."""
        self._by_symbol = state


def slices(start: Instant, end: Instant, bars: int) -> list[Instant]:
    """Return the edges of `bars` equal slices of a range: bars + 1 instants from start to end."""
    return [start + (end - start) * index // bars for index in range(bars + 1)]


def trade_stats(
    trades: Iterable[Trade], start: Instant, end: Instant, bars: int, lag: bool
) -> tuple[TradeStats, list[TradeStats], list[Instant], list[Instant]]:
    """Return the statistics of ascending trades in [start, end), in total and by slice (rule R11).

    Also returns the starts and ends of the slices. A trade on an edge belongs to the later slice;
    busted trades do not count. With `lag`, the cleared sums count cleared trades only, else all.
    """
    total = TradeStats()
    edges = slices(start, end, bars) if bars > 0 else []
    parts = [TradeStats() for _ in range(bars)]
    index = 0
    for trade in trades:
        if trade.state is TradeState.BUSTED:
            continue
        cleared = trade.state is TradeState.CLEARED or not lag
        total.add(trade, cleared)
        if parts:
            while trade.at >= edges[index + 1]:
                index += 1
            parts[index].add(trade, cleared)
    return total, parts, edges[:-1], edges[1:]
