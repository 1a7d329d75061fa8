"""Weekly rebates on taker fees, by what an account traded in the calendar month before (rule P16).

They are computed from the trades when a week ends, so a fill costs nothing more. The timer exists
only while there are trades for which no rebate was computed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import date as Date
from datetime import timedelta

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
# Percent of the week's taker fees, by dollars traded in the calendar month before the week.
TIERS: tuple[tuple[Cash, int], ...] = (
    (10_000_000 * DOLLAR, 50),
    (1_000_000 * DOLLAR, 25),
    (250_000 * DOLLAR, 10),
)
_MONDAY = 0


class RebatesState(Struct):
    """What rebates save.

    `before` has the dollars that each account traded in the month before the world started, and
    `month` is the month of that start. `steps` are tiers such as `TIERS`.
    """

    timer: int = 0
    paid_until: Instant = 0
    month: str = ""
    before: dict[str, Cash] = field(default_factory=dict)
    steps: tuple[tuple[Cash, int], ...] = TIERS


class Rebates:
    """Pays at the Eastern midnight that ends a Sunday."""

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
        self._now = RebatesState()

    def note(self, account: str, traded: Cash) -> None:
        """Set what an account traded in the calendar month before the world started."""
        self._now.month = _month(eastern_date(self._ctx.now))
        self._now.before[account] = traded

    def change_steps(self, steps: tuple[tuple[Cash, int], ...] | None) -> None:
        """Replace the published tiers, the highest first; None restores them."""
        self._now.steps = TIERS if steps is None else steps

    def wait(self) -> None:
        """Schedule the payout of a week that has trades, unless it is scheduled."""
        trades = self._execution_log.trades.rows
        if (
            not self._now.timer
            and trades
            and trades[-1].at >= self._now.paid_until
            and self._ctx.assumptions.flag(TAKER_REBATES)
        ):
            self._now.timer = self._ctx.timers.schedule(
                next_weekly(self._ctx.now, _MONDAY, 0), REBATE_TIMER
            )

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {REBATE_TIMER: self._pay_week}

    def _pay_week(self, timer: Timer) -> None:
        """Pay for the week that ends now."""
        state = self._now
        state.timer, monday = 0, eastern_date(timer.due)
        first = eastern(monday - timedelta(days=7))
        fees = self._taker_fees(max(first, state.paid_until), timer.due)
        state.paid_until = timer.due
        traded = self._traded_in_the_month_before(monday - timedelta(days=7), fees) if fees else {}
        for account, fee in sorted(fees.items()):
            percent = next(
                (percent for least, percent in state.steps if traded.get(account, 0) >= least), 0
            )
            amount = divide_half_even(fee * percent, 100 * CENT) * CENT
            if amount > 0:
                self._grant(
                    Reward(
                        account=account,
                        symbol="",
                        date=(monday - timedelta(days=1)).isoformat(),
                        amount=amount,
                        program_type=REBATE,
                    )
                )

    def save(self) -> RebatesState:
        """The state itself."""
        return self._now

    def load(self, state: RebatesState) -> None:
        """Take over a saved state; its timer is saved with all others."""
        self._now = state

    def _taker_fees(self, start: Instant, end: Instant) -> dict[str, Cash]:
        fees: dict[str, Cash] = {}
        for trade in self._between(start, end):
            execution = trade.aggressor
            fee = execution.commission * self._instruments.require(trade.symbol).cash_per_notional
            if fee > 0:
                fees[execution.order.account] = fees.get(execution.order.account, 0) + fee
        return fees

    def _traded_in_the_month_before(self, day: Date, accounts: dict[str, Cash]) -> dict[str, Cash]:
        this = day.replace(day=1)
        month = (this - timedelta(days=1)).replace(day=1)
        found = dict(self._now.before) if self._now.month == _month(this) else {}
        for trade in self._between(eastern(month), eastern(this)):
            value = (
                trade.price * trade.qty * self._instruments.require(trade.symbol).cash_per_notional
            )
            for execution in (trade.aggressor, trade.passive):
                account = execution.order.account
                if account in accounts:
                    found[account] = found.get(account, 0) + value
        return found

    def _between(self, start: Instant, end: Instant) -> Iterator[Trade]:
        rows = self._execution_log.trades.rows
        for index in range(bisect_left(rows, start, key=lambda trade: trade.at), len(rows)):
            if rows[index].at >= end:
                return
            if rows[index].state is not TradeState.BUSTED:
                yield rows[index]


def _month(day: Date) -> str:
    return f"{day.year}-{day.month:02}"
