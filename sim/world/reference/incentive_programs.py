"""Incentive programs of the default world, with the periods of public programs around
each game (§2.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.incentives.incentives import LIQUIDITY, VOLUME, Period, Reward
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE, scaled
from sim.kernel.instants import DAY, HOUR, Instant, eastern_date
from sim.world.reference.reference import Reference

_MARKETS = 9
_TYPES = ("moneyline", "futures", "event")
# Share of the pool in percent and discount factor of each period.
_SPLIT = (("early", 5, "0.40"), ("day_of", 15, "0.35"), ("live", 80, "0.30"))
_PAID = ((4, "PAID"), (3, "SKIPPED"), (2, "PAID"), (0, "PENDING"))
_EARNER = "firms/retail/accounts/e94a6d31"


def programs(
    instruments: tuple[Instrument, ...], reference: Reference, now: Instant
) -> tuple[tuple[Period, ...], tuple[Reward, ...]]:
    """Return programs of some markets of every kind, and the recent earnings of one account.

    No program is announced before its market is listed.
    """
    chosen = [
        terms
        for terms in instruments
        if terms.market_type in _TYPES and terms.opening_state is None and terms.created < now
    ][:_MARKETS]
    periods = [
        period
        for number, terms in enumerate(chosen)
        for period in _of_market(number, terms, _game_start(reference, terms))
    ]
    paying = [
        terms
        for terms in chosen
        if any(
            period.symbol == terms.symbol and period.program_type == LIQUIDITY for period in periods
        )
    ]
    rewards = [
        Reward(
            account=_EARNER,
            symbol=terms.symbol,
            date=eastern_date(now - ago * DAY).isoformat(),
            amount=scaled(f"{12 + number * 7}.50", CASH_SCALE),
            program_type=LIQUIDITY,
            status=status,
        )
        for number, (terms, (ago, status)) in enumerate(zip(paying, _PAID, strict=False))
    ]
    return tuple(periods), tuple(rewards)


def _of_market(number: int, terms: Instrument, game: Instant | None) -> Iterator[Period]:
    """Every third program pays takers and has no end. The others pay makers: until six hours before
    the game, until it starts, and while it lasts.
    """
    name = f"{terms.subcategory or terms.category}_{number}"
    pool = (number + 1) * 250 * CASH_SCALE
    if number % 3 == 1 or game is None:
        yield Period(
            program_id=f"{name}_volume",
            symbol=terms.symbol,
            start=terms.created,
            created=terms.created,
            reward_pool=pool,
            program_type=VOLUME,
            min_taker_notional=500,
        )
        return
    edges = (terms.created, game - 6 * HOUR, game, terms.expiration)
    for (period, percent, discount), start, end in zip(_SPLIT, edges, edges[1:], strict=False):
        if start < end:
            yield Period(
                program_id=f"{name}_{period}",
                symbol=terms.symbol,
                start=start,
                end=end,
                created=terms.created,
                reward_pool=pool * percent // 100,
                period=period,
                discount_factor=discount,
                target_size=10_000,
            )


def _game_start(reference: Reference, terms: Instrument) -> Instant | None:
    event = reference.event_of(terms.symbol)
    return None if event is None else event.start_time
