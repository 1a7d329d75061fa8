"""Numbers as the retail API and the gateway write and read them: amounts, decimal text of fixed
width, JSON numbers.

JSON numbers never go through float arithmetic. On output, a number is the quotient of two integers,
which Python rounds correctly, so that it prints as the intended decimal. On input, a number is read
from its shortest text.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, isfinite

from sim.contract.messages.retail_v1 import Amount
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import (
    CASH_SCALE,
    CURRENCY,
    Cash,
    NotADecimal,
    Notional,
    Price,
    Qty,
    decimal_fixed,
    decimal_text,
    divide_half_even,
    scaled_down,
)
from sim.core.model.refusals import InvalidRequest

PLACES = 4  # decimals of prices and quantities in books and positions

# Bounds on numbers in orders. They keep every product within 64 bits.
_PLAIN = re.compile(r"[0-9]{0,8}\.?[0-9]{1,12}", re.ASCII)
_DOLLARS_MAX = 10**7
_UNITS_MAX = 10**12


# ---- writing


def price_amount(price: Price, price_scale: int) -> Amount:
    """Return a price per contract, with at least two decimals."""
    return Amount(value=_price_text(price, price_scale), currency=CURRENCY)


def price_or_none(price: Price | None, price_scale: int) -> Amount | None:
    """Return a price per contract; None for no price, while 0 is a price."""
    return None if price is None else price_amount(price, price_scale)


def book_price(price: Price | None, price_scale: int) -> Amount | None:
    """Return a price as books show it, with four decimals; None for no price."""
    return None if price is None else Amount(value=fixed(price, price_scale), currency=CURRENCY)


def cash_amount(cash: Cash) -> Amount:
    """Return dollars without padding."""
    return Amount(value=decimal_text(cash, CASH_SCALE), currency=CURRENCY)


def notional_amount(
    notional: Notional, price_scale: int, qty_scale: int, places: int = 2
) -> Amount:
    """Return notional units as dollars, with at least so many decimals."""
    return Amount(value=decimal_text(notional, price_scale * qty_scale, places), currency=CURRENCY)


def fixed_notional(notional: Notional, price_scale: int, qty_scale: int) -> Amount:
    """Return notional units as dollars, with four decimals."""
    return fixed_amount(notional, price_scale * qty_scale)


def fixed_amount(value: int, scale: int) -> Amount:
    """Return value/scale dollars, with four decimals."""
    return Amount(value=decimal_fixed(value, scale, PLACES), currency=CURRENCY)


@lru_cache(maxsize=16384)
def fixed(value: int, scale: int) -> str:
    """Return value/scale with four decimals: quantities in books, statistics and positions."""
    return decimal_fixed(value, scale, PLACES)


def unpadded(text: str) -> str:
    """Return decimal text without zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def number(value: int, scale: int) -> float:
    """Return value/scale as a JSON number."""
    return value / scale


def dollars(cash: Cash) -> float:
    """Return cash in dollars, as a JSON number."""
    return cash / CASH_SCALE


def nearest(value: int, scale: int) -> int:
    """Return value/scale as an integer, half to even, as in the deprecated quantity fields."""
    return divide_half_even(value, scale)


def two_figures(value: int, scale: int) -> str:
    """Return value/scale cut to two significant figures: 3625.5 is "3600", 0.987 is "0.98"."""
    value *= CASH_SCALE // scale
    unit = 10 ** max(len(str(value)) - 2, 0)
    return decimal_text(value // unit * unit, CASH_SCALE)


@lru_cache(maxsize=16384)
def _price_text(price: Price, price_scale: int) -> str:
    return decimal_text(price, price_scale, 2)


# ---- reading


def read_price(amount: Amount, instrument: Instrument, field: str) -> tuple[Price, bool]:
    """Return a YES price rounded down to the tick, and whether it had to be rounded.

    Refuses an invalid amount of dollars.
    """
    units, tick = read_amount(amount, instrument.price_scale, field), instrument.tick
    price = units // tick * tick
    return price, Fraction(amount.value) * instrument.price_scale != price


def sent_text(amount: Amount | None, price: Price, price_scale: int) -> str:
    """Return the text of a price as sent, if it is not the usual spelling of `price`."""
    text = "" if amount is None else amount.value
    if not _PLAIN.fullmatch(text) or text == _price_text(price, price_scale):
        return ""
    return text if Decimal(text) * price_scale == price else ""


def read_amount(amount: Amount, scale: int, field: str) -> int:
    """Return an amount of dollars at a scale, rounded down.

    Refuses other currencies, negative or excessive amounts and invalid decimals.
    """
    if amount.currency not in ("", CURRENCY):
        raise InvalidRequest(
            f"{field}.currency must be {CURRENCY}", remedy=f'send "currency": "{CURRENCY}"'
        )
    try:
        scaled = scaled_down(amount.value, scale)
    except NotADecimal as wrong:
        raise InvalidRequest(
            f"{field}.value: {wrong}", remedy='send decimal text such as "0.55"'
        ) from None
    if amount.value.startswith("-") or scaled > _DOLLARS_MAX * scale:
        raise InvalidRequest(
            f"{field}.value is out of range: {amount.value[:40]}",
            remedy="send dollars, zero or more",
        )
    return scaled


def read_quantity(quantity: float, instrument: Instrument, field: str = "quantity") -> Qty:
    """Return a number of contracts as a scaled quantity, rounded down to the step.

    The step is the greatest common divisor of the minimum quantity and one contract: hundredths at
    a minimum of 0.01, whole contracts at 1 or 5.
    """
    step = gcd(instrument.min_qty, instrument.qty_scale)
    if not isfinite(quantity) or quantity < 0:
        raise InvalidRequest(
            f"{field} must be a number of contracts above zero",
            remedy="send a JSON number such as 10 or 2.5",
        )
    contracts = int(quantity)
    units = (
        contracts * instrument.qty_scale
        if contracts == quantity
        else int(Fraction(repr(quantity)) * instrument.qty_scale)
    )
    if units > _UNITS_MAX:
        raise InvalidRequest(
            f"{field} is out of range: {quantity!r}", remedy="send fewer contracts"
        )
    # A quantity below one step stays as it is, to be refused as too small and not as missing.
    return units // step * step or units
