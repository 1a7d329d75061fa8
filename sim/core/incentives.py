"""Incentive programs of markets and what they paid (§2.3, §3.2, §3.3). Statuses follow the clock and are never stored."""

from __future__ import annotations

from datetime import date as Date
from datetime import timedelta

from msgspec import Struct

from sim.core.context import Context
from sim.core.quantities import Cash
from sim.kernel.instants import Instant, eastern, eastern_date

LIQUIDITY = "liquidityProgram"
VOLUME = "volumeProgram"
PAID, PENDING, SKIPPED = "PAID", "PENDING", "SKIPPED"

# What the `reference` of a cash row begins with when it pays a program or a rebate (rule P16).
LIQUIDITY_REFERENCE = "liquidity_program"
REBATE_REFERENCE = "taker_fee_rebate"


class Period(Struct, frozen=True, kw_only=True):
    """One period of a market's program. `discount_factor` and `max_spread` are decimal text, the latter in dollars; `end` of None goes on."""

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
        """pending until it starts, active until it ends, closed from then on (U28)."""
        if now < self.start:
            return "pending"
        return "active" if self.end is None or now < self.end else "closed"


class Reward(Struct, frozen=True, kw_only=True):
    """What one program paid an account for one market on one Eastern date, YYYY-MM-DD. A status of "" follows the clock: PENDING on the day, PAID after it."""

    account: str
    symbol: str
    date: str
    amount: Cash
    program_type: str = LIQUIDITY
    status: str = ""

    def shown_status(self, now: Instant) -> str:
        """Payout status at an instant."""
        if self.status:
            return self.status
        return PENDING if now < eastern(Date.fromisoformat(self.date) + timedelta(days=1)) else PAID


class IncentivesState(Struct):
    """What incentives save."""

    periods: list[Period]
    rewards: list[Reward]


class Incentives:
    """Periods by market, and rewards by account."""

    __slots__ = ("_ctx", "_periods", "_rewards")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._periods: dict[str, list[Period]] = {}
        self._rewards: dict[str, list[Reward]] = {}

    def add(self, period: Period) -> None:
        """Announce a period."""
        self._periods.setdefault(period.symbol, []).append(period)

    def grant(self, reward: Reward) -> None:
        """Note a reward."""
        self._rewards.setdefault(reward.account, []).append(reward)

    def programs(self) -> dict[str, list[Period]]:
        """Periods by market, in order of announcement."""
        return self._periods

    def rewards(self, account: str) -> list[Reward]:
        """Rewards of an account up to today's Eastern date, in order of noting."""
        today = eastern_date(self._ctx.now).isoformat()
        return [reward for reward in self._rewards.get(account, []) if reward.date <= today]

    def save(self) -> IncentivesState:
        """Periods and rewards."""
        return IncentivesState(
            [period for mine in self._periods.values() for period in mine], [reward for mine in self._rewards.values() for reward in mine]
        )

    def load(self, state: IncentivesState) -> None:
        """Take saved periods and rewards."""
        self._periods.clear()
        self._rewards.clear()
        for period in state.periods:
            self.add(period)
        for reward in state.rewards:
            self.grant(reward)
