"""Fees of takers and rebates of makers (rules P11-P15).

    fee = theta x contracts x p x (1 - p), rounded to the cent, half to even

It is largest at a price of one half and vanishes at 0 and 1, where a contract is almost decided.
`theta` is a coefficient in ten-thousandths; `fee_schedule.py` says which is in force.

## Exactness

All factors are scaled integers, so an unrounded fee is an exact integer in units of
1/(10^4 x qty_scale x price_scale^2) dollars (`exact`). Sums over the fills of an order stay exact,
whatever the date, and rounding happens once, at the end (`rounded`).

## One order, many fills

Rounding each fill by itself would let an order of a hundred fills pay up to fifty cents more than
one of a single fill. Therefore a taker pays, for each fill, the smaller of the fill's own rounding
and the difference between the rounded sum so far and what was charged so far (P12). The order
carries both sums. Makers are paid fill by fill.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from msgspec.structs import replace

from sim.core.accounts.fee_schedule import THETA_SCALE, FeeRow, FeeSchedule, Theta
from sim.core.catalogue.assumptions import FEES_MAKER, FEES_TAKER
from sim.core.model.context import Context
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import CENT, DOLLAR, Cash, Price, Qty, divide_half_even
from sim.kernel.instants import Instant

# The fee of a fill in cash (a rebate is negative), and the same before rounding.
Fee: TypeAlias = tuple[Cash, int]
NO_FEE: Fee = 0, 0


class Fees:
    """Computes the fees of fills at the current instant.

    `schedule` holds the published coefficients and any rows that a scenario adds.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.schedule = FeeSchedule()

    def save(self) -> list[FeeRow]:
        """Return the rows that the scenario added."""
        return self.schedule.rows

    def load(self, state: list[FeeRow]) -> None:
        """Restore saved rows."""
        self.schedule = FeeSchedule(state)

    def theta(self, instrument: Instrument, at: Instant) -> Theta:
        """Return the coefficients for an instrument (rule P13).

        Assumptions replace them, capped at 1.
        """
        theta, number = self.schedule.of(instrument).at(at), self._ctx.assumptions.number
        taker, maker = number(FEES_TAKER), number(FEES_MAKER)
        if taker < 0 and maker < 0:
            return theta
        return replace(
            theta,
            taker=min(taker, THETA_SCALE) if taker >= 0 else theta.taker,
            maker=min(maker, THETA_SCALE) if maker >= 0 else theta.maker,
        )

    def basis_points(self, instrument: Instrument, at: Instant) -> tuple[str, str]:
        """Return the coefficients of taker and maker as orders show them; a rebate is negative."""
        theta = self.theta(instrument, at)
        return str(theta.taker), str(-theta.maker)

    def era(self) -> tuple[int, int, int]:
        """A value that changes whenever the coefficients of any instrument may have changed."""
        number = self._ctx.assumptions.number
        return self.schedule.era(self._ctx.now), number(FEES_TAKER), number(FEES_MAKER)

    def quote(self, instrument: Instrument, qty: Qty, price: Price) -> Cash:
        """Return the taker fee of a single fill, for the check before a trade (rule P4)."""
        theta = self.theta(instrument, self._ctx.now)
        fee = rounded(instrument, exact_taker_fee(instrument, theta, qty, price))
        return fee if theta.cap is None else min(fee, _most(instrument, theta.cap))

    def quote_maker(self, instrument: Instrument, qty: Qty, price: Price) -> Cash:
        """Return the maker fee of a single fill, for the same check; a rebate counts as 0."""
        theta = self.theta(instrument, self._ctx.now)
        return max(0, maker_fee(instrument, theta, qty, price)[0])


def _most(instrument: Instrument, cap: Cash) -> Cash:
    """Return the most that a cap allows: whole notional units, in which commissions are told."""
    return cap - cap % instrument.cash_per_notional


def charge_taker(order: Order, instrument: Instrument, theta: Theta, qty: Qty, price: Price) -> Fee:
    """Charge the fee of the next fill of an aggressive order, and add it to the order's totals
    (P12).

    The total never exceeds the rounding of its exact sum, nor the cap of the schedule. Amounts
    above the cap are not charged at all.
    """
    fee = exact_taker_fee(instrument, theta, qty, price)
    charge = rounded(instrument, fee)
    before, charged = order.taker_fee_exact, order.taker_fee_charged
    if before and theta.cumulative:
        charge = min(charge, rounded(instrument, before + fee) - charged)
    if theta.cap is not None:
        charge = min(charge, max(0, _most(instrument, theta.cap) - charged))
    order.taker_fee_exact = before + fee
    order.taker_fee_charged = charged + charge
    return charge, fee if theta.cap is None else in_exact_units(instrument, charge)


def maker_fee(instrument: Instrument, theta: Theta, qty: Qty, price: Price) -> Fee:
    """Return the fee of the resting side of a fill (rule P12), which is usually a rebate."""
    fee = exact(instrument, -theta.maker, qty, price)
    return rounded(instrument, fee), fee


def exact(instrument: Instrument, theta: int, qty: Qty, price: Price) -> int:
    """Return the unrounded fee in units of 1/(10^4 x qty_scale x price_scale^2) dollars."""
    return theta * qty * price * (instrument.price_scale - price)


def exact_units(price_scale: int, qty_scale: int) -> int:
    """Return how many units of an exact fee make one dollar."""
    return THETA_SCALE * qty_scale * price_scale * price_scale


def in_exact_units(instrument: Instrument, fee: Cash) -> int:
    """Convert a fee in cash to the units of exact fees."""
    return fee * exact_units(instrument.price_scale, instrument.qty_scale) // DOLLAR


def exact_taker_fee(instrument: Instrument, theta: Theta, qty: Qty, price: Price) -> int:
    """Return the unrounded taker fee in the units of `exact`.

    The surcharge of a combo is finer than these units; it is rounded to them, far below a cent.
    """
    fee = exact(instrument, theta.taker, qty, price)
    if theta.tail:
        scale = instrument.price_scale
        fee += divide_half_even(theta.tail * qty * price * (scale - price) ** 4, scale**3)
    return fee


def rounded(instrument: Instrument, fee: int) -> Cash:
    """Round an exact fee, half to even, to the cent or to the notional unit.

    The notional unit is used where a cent is not a whole number of them, so that it
    can be reported.
    """
    if not fee:
        return 0
    factor, scale, step = _rounding(instrument.price_scale, instrument.qty_scale)
    return divide_half_even(fee * factor, scale) * step


@lru_cache(maxsize=256)
def _rounding(price_scale: int, qty_scale: int) -> tuple[int, int, Cash]:
    """Return (factor, scale, step): fee x factor / scale is the number of steps of cash."""
    unit = DOLLAR // (price_scale * qty_scale)
    step = CENT if CENT % unit == 0 else unit
    return DOLLAR // step, THETA_SCALE * qty_scale * price_scale * price_scale, step
