"""Volume of a market in dollars: in total, and in the last day, week, month and year."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sim.core.exchange import Exchange
from sim.core.model.enums import TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Trade
from sim.core.model.quantities import Notional
from sim.kernel.instants import DAY, HOUR, Instant


class Volumes(NamedTuple):
    """Dollars traded: in total, and in windows that end now and begin on a whole hour."""

    total: float
    day: float
    week: float
    month: float
    year: float


NO_VOLUME = Volumes(0.0, 0.0, 0.0, 0.0, 0.0)
_WINDOWS = (DAY, 7 * DAY, 30 * DAY, 365 * DAY)


class _Sums:
    """Running sums of a market's trades: `sums[i]` is the notional of the first i. Busted trades
    have no notional; `busts` counts them.
    """

    def __init__(self) -> None:
        self.busts = 0
        self.times: list[Instant] = []
        self.sums: list[Notional] = [0]
        self.last: Trade | None = None

    def read(self, exchange: Exchange, symbol: str) -> None:
        """Read the new trades, or all of them after a rewind or a bust."""
        trades = exchange.trading.trades
        seqs = trades.of_symbol(symbol)
        count, busts = len(self.times), exchange.trading.statistics.busts(symbol)
        rewound = count > len(seqs) or (count and trades[seqs[count - 1]] is not self.last)
        if rewound or busts != self.busts:
            self.times, self.sums, self.busts, count = [], [0], busts, 0
        for seq in seqs[count:]:
            trade = self.last = trades[seq]
            counted = 0 if trade.state is TradeState.BUSTED else trade.price * trade.qty
            self.times.append(trade.at)
            self.sums.append(self.sums[-1] + counted)

    def since(self, start: Instant) -> Notional:
        """Return the notional traded at an instant or later."""
        return self.sums[-1] - self.sums[bisect_left(self.times, start)]


_sums: WeakKeyDictionary[Exchange, dict[str, _Sums]] = WeakKeyDictionary()


def volumes(exchange: Exchange, instrument: Instrument) -> Volumes:
    """Return a market's volumes. Within one hour only trades change them."""
    if not exchange.trading.trades.of_symbol(instrument.symbol):
        return NO_VOLUME
    table = _sums.setdefault(exchange, {})
    sums = table.get(instrument.symbol)
    if sums is None:
        sums = table[instrument.symbol] = _Sums()
    sums.read(exchange, instrument.symbol)
    hour = exchange.now // HOUR * HOUR + HOUR
    scale = instrument.notional_scale
    day, week, month, year = (sums.since(hour - window) / scale for window in _WINDOWS)
    return Volumes(sums.sums[-1] / scale, day, week, month, year)
