"""Incentive programs of markets and their rewards (§2.3, §3.2, §3.3, rule P16).

The status of a program follows from the clock and is not stored. A reward is pending until it is
paid into the account's cash: a reward from a scenario at the Eastern midnight after its date, a
scored one (`scoring.py`) some time later.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date as Date
from datetime import timedelta

from msgspec import Struct

from sim.core.model.context import Context
from sim.core.model.quantities import Cash
from sim.core.model.refusals import Conflict
from sim.kernel.instants import Instant, eastern
from sim.kernel.timers import Timer, TimerHandlers

LIQUIDITY = "liquidityProgram"
VOLUME = "volumeProgram"
REBATE = "takerFeeRebate"
PAID, PENDING, SKIPPED = "PAID", "PENDING", "SKIPPED"
PAYOUT_TIMER = "incentive.payout"

# Prefixes of `reference` in cash rows that pay a program or a rebate (rule P16).
LIQUIDITY_REFERENCE = "liquidity_program"
REBATE_REFERENCE = "taker_fee_rebate"
REFERRAL_REFERENCE = "referral_bonus"

Pay = Callable[[str, Cash, str, str, str], object]
"""(account, amount, description, symbol, reference): moves cash to an account."""


class Period(Struct, frozen=True, kw_only=True):
    """One period of a market's program.

    `discount_factor` and `max_spread` are decimal text, the latter in dollars. A period without
    `end` runs for ever.
    """

    program_id: str
    symbol: str
    start: Instant
    created: Instant
    reward_pool: Cash
    program_type: str = LIQUIDITY
    end: Instant | None = None
    period: str = "early"
    discount_factor: str | None = None
    target_size: int | None = None
    max_spread: str | None = None
    min_taker_notional: int | None = None

    def status(self, now: Instant) -> str:
        """Return the status: pending until the start, active until the end, then closed (U28)."""
        if now < self.start:
            return "pending"
        return "active" if self.end is None or now < self.end else "closed"


class Reward(Struct, kw_only=True):
    """What one program pays an account for one market on one Eastern date, YYYY-MM-DD.

    A rebate on taker fees is a reward without a market. `pay_at` is the instant of payment; 0 is
    the Eastern midnight that ends the date.
    """

    account: str
    symbol: str
    date: str
    amount: Cash
    program_type: str = LIQUIDITY
    status: str = PENDING
    pay_at: Instant = 0

    @property
    def due(self) -> Instant:
        """The instant of payment."""
        return self.pay_at or eastern(Date.fromisoformat(self.date) + timedelta(days=1))


class IncentivesState(Struct):
    """The saved state of incentives."""

    periods: list[Period]
    rewards: list[Reward]


class Incentives:
    """Periods by market and rewards by account. `periods` are in order of announcement."""

    def __init__(self, ctx: Context, pay: Pay) -> None:
        self._ctx = ctx
        self._pay = pay
        self.periods: list[Period] = []
        self._periods: dict[str, list[Period]] = {}
        self._rewards: list[Reward] = []
        self._of_account: dict[str, list[Reward]] = {}

    def add(self, period: Period) -> None:
        """Announce a period."""
        self.periods.append(period)
        self._periods.setdefault(period.symbol, []).append(period)

    def grant(self, reward: Reward) -> None:
        """Record a reward and schedule its payment if it is pending.

        A reward that is already PAID is part of the account's opening balance.
        """
        self._index(reward)
        if reward.status == PENDING:
            due, number = max(reward.due, self._ctx.now), len(self._rewards) - 1
            self._ctx.timers.schedule(due, PAYOUT_TIMER, str(number))

    def void(self, symbol: str) -> None:
        """Mark the unpaid rewards of a canceled market as skipped."""
        for reward in self._rewards:
            if reward.symbol == symbol and reward.status == PENDING:
                reward.status = SKIPPED

    def programs(self) -> dict[str, list[Period]]:
        """Return the periods by market, in order of announcement."""
        return self._periods

    def rewards(self, account: str) -> list[Reward]:
        """Return the rewards of an account, in order of recording."""
        rewards = self._of_account.get(account, ())
        return [reward for reward in rewards if reward.program_type != REBATE]

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {PAYOUT_TIMER: self._pay_out}

    def _pay_out(self, timer: Timer) -> None:
        reward = self._rewards[int(timer.subject)]
        if reward.status == SKIPPED:
            return
        kind = REBATE_REFERENCE if reward.program_type == REBATE else LIQUIDITY_REFERENCE
        text = f"{reward.program_type} {reward.date}"
        try:
            self._pay(reward.account, reward.amount, text, reward.symbol, f"{kind}:{reward.date}")
        except Conflict:  # the exchange cannot hold more money: the reward is not paid
            reward.status = SKIPPED
        else:
            reward.status = PAID

    def save(self) -> IncentivesState:
        """Return periods and rewards."""
        return IncentivesState(self.periods, self._rewards)

    def load(self, state: IncentivesState) -> None:
        """Restore saved periods and rewards; their timers are saved with all others."""
        self.periods = []
        self._periods.clear()
        self._of_account.clear()
        self._rewards = []
        for period in state.periods:
            self.add(period)
        for reward in state.rewards:
            self._index(reward)

    def _index(self, reward: Reward) -> None:
        self._rewards.append(reward)
        self._of_account.setdefault(reward.account, []).append(reward)
