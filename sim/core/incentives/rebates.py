"""Weekly rebates on taker fees, by an account's volume of the previous calendar month (rule P16).

They are computed from the trades when a week ends, so that fills cost nothing extra. A timer runs
only while there are trades without a computed rebate.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date as Date
from datetime import timedelta
from itertools import islice
from operator import attrgetter

from msgspec import Struct, field

from sim.core.catalogue.assumptions import TAKER_REBATES
from sim.core.incentives.incentives import REBATE, Reward
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.model.context import Context
from sim.core.model.enums import TradeState
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Trade
from sim.core.model.quantities import CENT, DOLLAR, Cash, divide_half_even
from sim.kernel.instants import Instant, eastern, eastern_date, next_weekly
from sim.kernel.timers import Timer, TimerHandlers

REBATE_TIMER = "rebate.payout"
# Minimum volume in dollars, in the calendar month before the week, and the percentage of the week's
# taker fees that is rebated.
TIERS: tuple[tuple[Cash, int], ...] = (
    (10_000_000 * DOLLAR, 50),
    (1_000_000 * DOLLAR, 25),
    (250_000 * DOLLAR, 10),
)
_MONDAY = 0


class RebatesState(Struct):
    """The saved state of rebates.

    `before` holds each account's volume in dollars in the month before the world started, which
    `month` names. `steps` are tiers in the form of `TIERS`.
    """

    timer: int = 0
    paid_until: Instant = 0
    month: str = ""
    before: dict[str, Cash] = field(default_factory=dict)
    steps: tuple[tuple[Cash, int], ...] = TIERS


class Rebates:
    """Pays rebates at the Eastern midnight that ends a Sunday."""

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        execution_log: ExecutionLog,
        grant: Callable[[Reward], None],
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._execution_log = execution_log
        self._grant = grant
        self._state = RebatesState()

    def note(self, account: str, traded: Cash) -> None:
        """Set an account's volume in the calendar month before the world started."""
        self._state.month = _month(eastern_date(self._ctx.now))
        self._state.before[account] = traded

    def change_steps(self, steps: tuple[tuple[Cash, int], ...] | None) -> None:
        """Replace the published tiers, highest first; None restores them."""
        self._state.steps = TIERS if steps is None else steps

    def wait(self) -> None:
        """Schedule the payout for the current week, unless it is already scheduled."""
        ctx, trades = self._ctx, self._execution_log.trades.rows
        if self._state.timer or not trades or trades[-1].at < self._state.paid_until:
            return
        if ctx.assumptions.flag(TAKER_REBATES):
            due = next_weekly(ctx.now, _MONDAY, 0)
            self._state.timer = ctx.timers.schedule(due, REBATE_TIMER)

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {REBATE_TIMER: self._pay_week}

    def _pay_week(self, timer: Timer) -> None:
        """Pay the rebates of the week that ends now."""
        state = self._state
        state.timer, next_monday = 0, eastern_date(timer.due)
        monday, sunday = next_monday - timedelta(days=7), next_monday - timedelta(days=1)
        fees = self._taker_fees(max(eastern(monday), state.paid_until), timer.due)
        state.paid_until = timer.due
        traded = self._traded_in_the_month_before(monday, fees) if fees else {}
        for account, fee in sorted(fees.items()):
            tiers = (percent for least, percent in state.steps if traded.get(account, 0) >= least)
            amount = divide_half_even(fee * next(tiers, 0), 100 * CENT) * CENT
            if amount > 0:
                date = sunday.isoformat()
                reward = Reward(
                    account=account, symbol="", date=date, amount=amount, program_type=REBATE
                )
                self._grant(reward)

    def save(self) -> RebatesState:
        """Return the state itself."""
        return self._state

    def load(self, state: RebatesState) -> None:
        """Restore a saved state; its timer is saved with all others."""
        self._state = state

    def _taker_fees(self, start: Instant, end: Instant) -> dict[str, Cash]:
        fees: defaultdict[str, Cash] = defaultdict(int)
        for trade in self._between(start, end):
            execution = trade.aggressor
            fee = execution.commission * self._instruments.require(trade.symbol).cash_per_notional
            if fee > 0:
                fees[execution.order.account] += fee
        return fees

    def _traded_in_the_month_before(self, day: Date, accounts: dict[str, Cash]) -> dict[str, Cash]:
        """Return the accounts' volumes in dollars in the calendar month before that of `day`."""
        month = day.replace(day=1)
        month_before = (month - timedelta(days=1)).replace(day=1)
        start_known = self._state.month == _month(month)
        traded = defaultdict(int, self._state.before if start_known else {})
        for trade in self._between(eastern(month_before), eastern(month)):
            unit = self._instruments.require(trade.symbol).cash_per_notional
            for execution in (trade.aggressor, trade.passive):
                if execution.order.account in accounts:
                    traded[execution.order.account] += trade.price * trade.qty * unit
        return traded

    def _between(self, start: Instant, end: Instant) -> Iterator[Trade]:
        rows = self._execution_log.trades.rows
        first = bisect_left(rows, start, key=attrgetter("at"))
        last = bisect_left(rows, end, first, key=attrgetter("at"))
        return (row for row in islice(rows, first, last) if row.state is not TradeState.BUSTED)


def _month(day: Date) -> str:
    return f"{day.year}-{day.month:02}"
