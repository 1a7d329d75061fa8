"""Money and quantities as scaled integers, and their only conversions to and from decimal text.

There is no floating point in the core: 0.1 + 0.2 must be 0.3, and two runs must agree to the last
digit. Every amount is an integer whose scale is a divisor (rule M3): text = integer / scale.

| Type | Scale | Example |
|---|---|---|
| `Price` | the instrument's `price_scale` | 45 / 100 is 0.45 dollars per contract |
| `Qty` | the instrument's `qty_scale` | 250 / 100 is 2.5 contracts |
| `Notional` | `price_scale` x `qty_scale` | 45 x 250 / 10,000 is 1.125 dollars |
| `Cash` | `CASH_SCALE` | 112,500,000 / 100,000,000 is the same |

A price times a quantity is a notional, without any rounding. An instrument's notional scale must
divide `CASH_SCALE` (`is_decimal_scale`), so a notional becomes cash by an exact multiplication.
Only fees and averages are rounded, half to even (`divide_half_even`).

`scaled` refuses text that does not fit its scale. `scaled_down` cuts, and is used only where the
specification says that extra precision is normalised. Decimal text exists in `api/` alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Price: TypeAlias = int
Qty: TypeAlias = int
Notional: TypeAlias = int
Cash: TypeAlias = int

CASH_SCALE = 100_000_000
CENT: Cash = CASH_SCALE // 100
DOLLAR: Cash = CASH_SCALE
CURRENCY = "USD"  # the currency of all cash

_DECIMAL = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d{0,18}))?", re.ASCII)


class NotADecimal(ValueError):
    """Text that is not a plain decimal number, or one that does not fit the scale."""


def _fraction(text: str) -> tuple[int, int]:
    match = _DECIMAL.fullmatch(text)
    if not match:
        raise NotADecimal(f"not a decimal number of at most 18 digits: {text[:40]!r}")
    digits = match[3] or ""
    value = int(match[2] + digits)
    return (-value if match[1] == "-" else value), 10 ** len(digits)


def scaled(text: str, scale: int) -> int:
    """Return the exact integer for decimal text at a scale.

    Raises NotADecimal for text that needs a finer scale, exponents, NaN and more than 18 digits.
    """
    numerator, denominator = _fraction(text)
    value, rest = divmod(numerator * scale, denominator)
    if rest:
        raise NotADecimal(f"{text} is finer than 1/{scale}")
    return value


def scaled_down(text: str, scale: int) -> int:
    """Return the integer for decimal text at a scale, cut towards zero."""
    numerator, denominator = _fraction(text)
    value = abs(numerator) * scale // denominator
    return -value if numerator < 0 else value


def decimal_text(value: int, scale: int, places: int = 0) -> str:
    """Return the shortest exact decimal text of value/scale, with at least `places` decimals.

    `scale` may be any divisor of a power of ten.
    """
    digits, factor = _decimal_form(scale)
    value *= factor
    if not digits:
        return f"{value}.{'0' * places}" if places else str(value)
    sign = "-" if value < 0 else ""
    integer, fraction = divmod(abs(value), 10**digits)
    text = f"{fraction:0{digits}d}".rstrip("0")
    if len(text) < places:
        text = text.ljust(places, "0")
    return f"{sign}{integer}.{text}" if text else f"{sign}{integer}"


@lru_cache(maxsize=4096)
def decimal_fixed(value: int, scale: int, places: int) -> str:
    """Return decimal text of value/scale with exactly `places` decimals, rounded half to even."""
    units = divide_half_even(value * 10**places, scale)
    sign = "-" if units < 0 else ""
    integer, fraction = divmod(abs(units), 10**places)
    return f"{sign}{integer}.{fraction:0{places}d}" if places else f"{sign}{integer}"


@lru_cache(maxsize=256)
def _decimal_form(scale: int) -> tuple[int, int]:
    """Return (digits, factor) with scale * factor == 10**digits."""
    for digits in range(19):
        if 10**digits % scale == 0:
            return digits, 10**digits // scale
    raise ValueError(f"a scale must divide a power of ten, {scale} does not")


def is_decimal_scale(scale: int) -> bool:
    """Return whether 1/scale has at most eight decimals, as cash needs."""
    return scale > 0 and CASH_SCALE % scale == 0


def divide_half_even(numerator: int, denominator: int) -> int:
    """Return numerator/denominator rounded to the nearest integer, halves to even.

    `denominator` > 0.
    """
    double = 2 * numerator + denominator
    quotient = double // (2 * denominator)
    return quotient - 1 if quotient & 1 and quotient * 2 * denominator == double else quotient


def cash_text(value: Cash, places: int = 2) -> str:
    """Return dollars as decimal text with at least two places. Balances may carry more (§8)."""
    return decimal_text(value, CASH_SCALE, places)
