"""Scores participants of incentive programs by their resting quotes and trades (rule P16).

**Liquidity programs** sample the book once per second while the market is open. On each side, an
order scores `discount^(ticks from the best price) x size`, on the levels from the best one down
until they hold the target size. The scores of a side are normalised to shares of one. Nobody scores
while the spread is too wide.

**Volume programs** count the volume of takers.

At the Eastern midnight, or when a period ends, the day's part of the pool is divided by points.

No timer runs every second. Shares stay the same between two changes of a book, so a book is sampled
only after a change, when time is about to pass a full second (`time_moves`). These shares count for
all seconds until the next change. The timer of a period exists only while there is something to
divide.

Points are integers: a whole side over one second is `ONE`. Weights and shares are rounded down to
that grid, which is far below a cent of any pool.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from functools import lru_cache

from msgspec import Struct, field

from sim.core.catalogue.assumptions import (
    INCENTIVES_MINIMUM,
    INCENTIVES_PAY_AFTER,
    INCENTIVES_SCORED,
    INCENTIVES_SPLIT,
    INCENTIVES_TARGET,
)
from sim.core.incentives.incentives import LIQUIDITY, PENDING, SKIPPED, Incentives, Period, Reward
from sim.core.matching.book import Book, Ladder
from sim.core.model.context import Context
from sim.core.model.enums import OPEN, TradeState
from sim.core.model.events import BookChanged
from sim.core.model.quantities import CENT, DOLLAR, Cash, scaled_down
from sim.core.trading.trading import Trading
from sim.kernel.instants import NS_PER_S, Instant, eastern, eastern_date, next_midnight
from sim.kernel.timers import Timer, TimerHandlers

SCORE_TIMER = "incentive.score"
ONE = 10**18
TAKER_MINIMUM = 500  # dollars; the default minimum of volume programs
_VOLUME_CENTS = (3, 97)  # range of prices in cents at which trades count as volume


class PeriodScore(Struct, kw_only=True):
    """The running score of a period.

    `points` are those of the current Eastern date, by account. `shares` are added to them for each
    second from `since` on. A `stale` score has no shares, because its book changed and has not been
    sampled yet. A `void` one never scores again.
    """

    since: Instant = 0
    shares: dict[str, int] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)
    timer: int = 0
    stale: bool = False
    void: bool = False


class Scoring:
    """Scores every period of `incentives`: the nth score belongs to the nth period.

    `stale` holds the numbers of the stale scores.
    """

    def __init__(self, ctx: Context, trading: Trading, incentives: Incentives) -> None:
        self._ctx = ctx
        self._trading = trading
        self._incentives = incentives
        self._scores: list[PeriodScore] = []
        self._of_symbol: dict[str, list[int]] = {}
        self.stale: dict[int, None] = {}

    # ---- events

    def book_changed(self, event: BookChanged) -> None:
        """Note that a book or the state of its market changed."""
        if len(self._scores) < len(self._incentives.periods):
            self._add_scores()
        numbers = self._of_symbol.get(event.symbol)
        if numbers and self._ctx.assumptions.flag(INCENTIVES_SCORED):
            for number in numbers:
                self._changed(number)

    def time_moves(self, to: Instant) -> None:
        """Sample the changed books if time is about to pass a full second."""
        if _seconds(self._ctx.now, to) > 0:
            for number in self.stale:
                self._sample(number)
            self.stale.clear()

    def void(self, symbol: str) -> None:
        """End the programs of a canceled market. Unpaid amounts are forfeited."""
        for number in self._of_symbol.get(symbol, ()):
            score = self._scores[number]
            self._ctx.timers.cancel(score.timer)
            self._scores[number] = PeriodScore(void=True)
            self.stale.pop(number, None)
        self._incentives.void(symbol)

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {SCORE_TIMER: self._divide_points}

    def _divide_points(self, timer: Timer) -> None:
        """Divide the points of a day or period that has ended."""
        number = int(timer.subject)
        score, period = self._scores[number], self._incentives.periods[number]
        score.timer = 0
        self._add_up(score, period)
        self._divide(score, period)
        self._schedule_division(number)

    def _add_scores(self) -> None:
        """Create scores for the periods announced since the last call."""
        for number in range(len(self._scores), len(self._incentives.periods)):
            self._scores.append(PeriodScore())
            self._of_symbol.setdefault(self._incentives.periods[number].symbol, []).append(number)

    def _changed(self, number: int) -> None:
        score, period, now = self._scores[number], self._incentives.periods[number], self._ctx.now
        if score.stale or score.void or (period.end is not None and period.end <= now):
            return
        if period.program_type == LIQUIDITY:
            self._add_up(score, period)
            score.shares, score.stale = {}, True
            self.stale[number] = None
        else:
            seqs = self._trading.trades.of_symbol(period.symbol)
            if seqs and self._trading.trades[seqs[-1]].at == now:
                self._schedule_division(number, always=True)

    def _sample(self, number: int) -> None:
        score, period = self._scores[number], self._incentives.periods[number]
        book = self._trading.books.touched(period.symbol)
        if book is not None and self._trading.state(period.symbol) is OPEN:
            needs_target = self._ctx.assumptions.flag(INCENTIVES_TARGET)
            score.shares = shares(book, period, needs_target=needs_target)
        score.stale, score.since = False, self._ctx.now
        self._schedule_division(number)

    # ---- points

    def _add_up(self, score: PeriodScore, period: Period) -> None:
        """Add the points for the seconds since the last sample."""
        now = self._ctx.now
        end = now if period.end is None else min(now, period.end)
        seconds = _seconds(max(score.since, period.start), end)
        if seconds > 0:
            for account, share in score.shares.items():
                score.points[account] = score.points.get(account, 0) + share * seconds
        score.since = now

    def _schedule_division(self, number: int, *, always: bool = False) -> None:
        """Schedule the division at the end of the Eastern date, or of the period if earlier."""
        score, period = self._scores[number], self._incentives.periods[number]
        if score.timer or not (always or score.shares or score.points):
            return
        due = next_midnight(max(self._ctx.now, period.start))
        if period.end is not None:
            due = min(due, period.end)
        if due > self._ctx.now:
            score.timer = self._ctx.timers.schedule(due, SCORE_TIMER, str(number))

    # ---- money

    def _divide(self, score: PeriodScore, period: Period) -> None:
        """Reward every account for the date, or the part of it, that ends now."""
        now = self._ctx.now
        date = eastern_date(now - 1)
        midnight, after = eastern(date), eastern(date + timedelta(days=1))
        start = max(midnight, period.start)
        part = _part(period, start, now, after - midnight)
        liquidity = period.program_type == LIQUIDITY
        points = score.points if liquidity else self._takers_volume(period, start, now)
        if liquidity and self._ctx.assumptions.text(INCENTIVES_SPLIT) != "by_score":
            total = 2 * ONE * _seconds(start, now)
        else:
            total = sum(points.values())
        for account in sorted(points):
            amount = part * points[account] // total // CENT * CENT
            if amount:
                self._grant(account, period, date.isoformat(), amount, after)
        score.points = {}

    def _grant(self, account: str, period: Period, date: str, amount: Cash, after: Instant) -> None:
        assumptions = self._ctx.assumptions
        status = PENDING if amount >= assumptions.number(INCENTIVES_MINIMUM) * CENT else SKIPPED
        self._incentives.grant(
            Reward(
                account=account,
                symbol=period.symbol,
                date=date,
                amount=amount,
                program_type=period.program_type,
                status=status,
                pay_at=after + assumptions.number(INCENTIVES_PAY_AFTER),
            )
        )

    def _takers_volume(self, period: Period, start: Instant, end: Instant) -> dict[str, Cash]:
        """Return the dollars traded as a taker, by account, of accounts that reach the minimum."""
        instrument = self._trading.instruments.require(period.symbol)
        low, high = (cents * instrument.price_scale for cents in _VOLUME_CENTS)
        volume: defaultdict[str, Cash] = defaultdict(int)
        for trade in self._trading.execution_log.between(period.symbol, start, end):
            if low <= trade.price * 100 <= high and trade.state is not TradeState.BUSTED:
                notional = trade.price * trade.qty
                volume[trade.aggressor.order.account] += notional * instrument.cash_per_notional
        minimum = period.min_taker_notional
        least = (TAKER_MINIMUM if minimum is None else minimum) * DOLLAR
        return {account: dollars for account, dollars in volume.items() if dollars >= least}

    # ---- state

    def save(self) -> list[PeriodScore]:
        """Return every score."""
        return self._scores

    def load(self, state: list[PeriodScore]) -> None:
        """Restore saved scores. Their periods must have been restored before."""
        self._scores, self._of_symbol = [], {}
        self._add_scores()
        self._scores[: len(state)] = state
        self.stale = {number: None for number, score in enumerate(state) if score.stale}


def shares(book: Book, period: Period, *, needs_target: bool) -> dict[str, int]:
    """Return each account's points for one second, up to `ONE` for each side.

    With `needs_target`, a side below the target size earns nothing.
    """
    if period.max_spread is not None:
        bid, offer = book.bids.best, book.offers.best
        widest = 2 * scaled_down(period.max_spread, ONE) * book.instrument.price_scale
        if not bid or not offer or (offer - bid) * ONE > widest:
            return {}
    earned: defaultdict[str, int] = defaultdict(int)
    for ladder in (book.bids, book.offers):
        scores = _side(ladder, book, period, needs_target=needs_target)
        total = sum(scores.values())
        for account, score in scores.items():
            earned[account] += score * ONE // total
    return dict(earned)


def _side(ladder: Ladder, book: Book, period: Period, *, needs_target: bool) -> dict[str, int]:
    """Return the scores of the levels from the best price down until they hold the target size."""
    target = None if period.target_size is None else period.target_size * book.instrument.qty_scale
    tick, best, quantity = book.instrument.tick, ladder.best, 0
    scores: defaultdict[str, int] = defaultdict(int)
    for level in ladder.walk():
        weight = _weight(period.discount_factor or "1", abs(level.price - best) // tick)
        for order in level.orders():
            scores[order.account] += weight * order.leaves_qty
        quantity += level.qty
        if target is not None and quantity >= target:
            break
    else:
        if needs_target and target is not None:
            return {}
    return {account: score for account, score in scores.items() if score}


@lru_cache(maxsize=4096)
def _weight(factor: str, ticks: int) -> int:
    """Return a decimal factor to the power of `ticks`, rounded down to the grid."""
    weight = ONE
    for _ in range(ticks):
        weight = weight * scaled_down(factor, ONE) // ONE
    return weight


def _seconds(start: Instant, end: Instant) -> int:
    """Return the number of full seconds of the clock in [start, end)."""
    return -(-end // NS_PER_S) - -(-start // NS_PER_S)


def _part(period: Period, start: Instant, end: Instant, day: int) -> Cash:
    """Return the part of the pool for a part of a date, in proportion to time.

    The pool is for the whole period, or for each day if the period has no end.
    """
    length = day if period.end is None else period.end - period.start
    return period.reward_pool * (end - start) // length
