"""Commissions and rebates: theta x contracts x p x (1 - p), exact until it is rounded to the cent,
half to even (rules P11-P15).

Theta is counted in ten-thousandths, so a fee is an exact integer of 1/(10^4 x qty_scale x
price_scale^2) dollars whatever the date, and sums over the fills of an order stay exact.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from sim.core.accounts.fee_schedule import THETA_SCALE, FeeSchedule, Theta
from sim.core.catalogue.assumptions import FEES_MAKER, FEES_TAKER
from sim.core.model.context import Context
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import CENT, DOLLAR, Cash, Price, Qty, divide_half_even
from sim.kernel.instants import Instant


class Fees:
    """What a fill costs or earns, at the instant it happens, by the published schedule or,
    `schedule`, one with rows of a scenario's own.
    """

    __slots__ = ("_ctx", "schedule")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.schedule = FeeSchedule()

    def theta(self, instrument: Instrument, at: Instant) -> Theta:
        """Coefficients in force for an instrument (rule P13), those of the assumptions at most one."""
        theta = self.schedule.of(instrument).at(at)
        assumptions = self._ctx.assumptions
        taker, maker = assumptions.number(FEES_TAKER), assumptions.number(FEES_MAKER)
        if taker < 0 and maker < 0:
            return theta
        taker = min(taker, THETA_SCALE) if taker >= 0 else theta.taker
        return replace(
            theta, taker=taker, maker=min(maker, THETA_SCALE) if maker >= 0 else theta.maker
        )

    def basis_points(self, instrument: Instrument, at: Instant) -> tuple[str, str]:
        """Coefficients of taker and maker as orders show them: ten-thousandths as text, a rebate
        below zero.
        """
        theta = self.theta(instrument, at)
        return str(theta.taker), str(-theta.maker)

    def era(self) -> tuple[int, int, int]:
        """What anything that shows coefficients now depends on."""
        number = self._ctx.assumptions.number
        return self.schedule.era(self._ctx.now), number(FEES_TAKER), number(FEES_MAKER)

    def quote(self, instrument: Instrument, qty: Qty, price: Price) -> Cash:
        """Taker fee of one fill, as a pre-trade check needs it (rule P4)."""
        theta = self.theta(instrument, self._ctx.now)
        fee = rounded(instrument, taken(instrument, theta, qty, price))
        return fee if theta.cap is None else min(fee, theta.cap)

    def quote_maker(self, instrument: Instrument, qty: Qty, price: Price) -> Cash:
        """Maker fee of one fill, for the same check; a rebate to come counts as nothing."""
        return max(
            0, -self.rebate_maker(instrument, self.theta(instrument, self._ctx.now), qty, price)
        )

    def charge_taker(
        self, order: Order, instrument: Instrument, theta: Theta, qty: Qty, price: Price
    ) -> Cash:
        """Fee of the next fill of an aggressive order, remembered on it (rule P12).

        Never above the fill's own rounding, and never so much that the order's total passes the
        rounding of its exact sum, or the schedule's cap.
        """
        fee = taken(instrument, theta, qty, price)
        charge = rounded(instrument, fee)
        if order.taker_fee_exact and theta.cumulative:
            charge = min(
                charge, rounded(instrument, order.taker_fee_exact + fee) - order.taker_fee_charged
            )
        if theta.cap is not None:
            charge = min(charge, max(0, theta.cap - order.taker_fee_charged))
        order.taker_fee_exact += fee
        order.taker_fee_charged += charge
        return charge

    def rebate_maker(self, instrument: Instrument, theta: Theta, qty: Qty, price: Price) -> Cash:
        """What the resting side of a fill is paid back (rule P12); below zero, what it pays."""
        return rounded(instrument, exact(instrument, theta.maker, qty, price))


def exact(instrument: Instrument, theta: int, qty: Qty, price: Price) -> int:
    """Unrounded fee in units of 1/(10^4 x qty_scale x price_scale^2) dollars."""
    return theta * qty * price * (instrument.price_scale - price)


def taken(instrument: Instrument, theta: Theta, qty: Qty, price: Price) -> int:
    """Unrounded taker fee in the same units; a combo's tail is finer than those and is rounded to
    them, a long way below the cent.
    """
    fee = exact(instrument, theta.taker, qty, price)
    if theta.tail:
        scale = instrument.price_scale
        fee += divide_half_even(theta.tail * qty * price * (scale - price) ** 4, scale**3)
    return fee


def rounded(instrument: Instrument, fee: int) -> Cash:
    """An exact fee rounded to the cent, half to even; to the notional unit where a cent is no whole
    number of those, so that it can be reported.
    """
    if not fee:
        return 0
    factor, scale, step = _rounding(instrument.price_scale, instrument.qty_scale)
    return divide_half_even(fee * factor, scale) * step


@lru_cache(maxsize=256)
def _rounding(price_scale: int, qty_scale: int) -> tuple[int, int, Cash]:
    """(factor, scale, step): fee x factor / scale is the number of steps of cash."""
    unit = DOLLAR // (price_scale * qty_scale)
    step = CENT if CENT % unit == 0 else unit
    return DOLLAR // step, THETA_SCALE * qty_scale * price_scale * price_scale, step
