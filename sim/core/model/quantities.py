"""Scaled integers and their only conversions to and from decimal text.

Prices, quantities and cash are integers with a scale that is a divisor (rule M3): text = integer /
scale. Nothing here rounds silently: `scaled` refuses what does not fit, `scaled_down` cuts and is
used only where the specification says that extra precision is normalised.
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

_DECIMAL = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d{0,18}))?", re.ASCII)


class NotADecimal(ValueError):
    """Text that is no plain decimal number, or one that does not fit the scale."""


def _fraction(text: str) -> tuple[int, int]:
    found = _DECIMAL.fullmatch(text)
    if not found:
        raise NotADecimal(f"not a decimal number of at most 18 digits: {text[:40]!r}")
    digits = found[3] or ""
    value = int(found[2] + digits)
    return (-value if found[1] == "-" else value), 10 ** len(digits)


def scaled(text: str, scale: int) -> int:
    """Integer of decimal text at a scale, exact. Refuses (NotADecimal) text that needs a finer
    scale, exponents, NaN and over 18 digits.
    """
    numerator, denominator = _fraction(text)
    value, rest = divmod(numerator * scale, denominator)
    if rest:
        raise NotADecimal(f"{text} is finer than 1/{scale}")
    return value


def scaled_down(text: str, scale: int) -> int:
    """Integer of decimal text at a scale, cut towards zero."""
    numerator, denominator = _fraction(text)
    value = abs(numerator) * scale // denominator
    return -value if numerator < 0 else value


def decimal_text(value: int, scale: int, places: int = 0) -> str:
    """Shortest exact decimal text of value/scale, with at least `places` decimals. `scale` may be
    any divisor of a power of ten.
    """
    digits, factor = _decimal_form(scale)
    value *= factor
    if not digits:
        return f"{value}.{'0' * places}" if places else str(value)
    sign = "-" if value < 0 else ""
    whole, fraction = divmod(abs(value), 10**digits)
    text = f"{fraction:0{digits}d}".rstrip("0")
    if len(text) < places:
        text = text.ljust(places, "0")
    return f"{sign}{whole}.{text}" if text else f"{sign}{whole}"


def decimal_fixed(value: int, scale: int, places: int) -> str:
    """Decimal text of value/scale with exactly `places` decimals, half to even where digits are
    lost.
    """
    units = divide_half_even(value * 10**places, scale)
    sign = "-" if units < 0 else ""
    whole, fraction = divmod(abs(units), 10**places)
    return f"{sign}{whole}.{fraction:0{places}d}" if places else f"{sign}{whole}"


@lru_cache(maxsize=256)
def _decimal_form(scale: int) -> tuple[int, int]:
    """(digits, factor) with scale * factor == 10**digits."""
    for digits in range(19):
        if 10**digits % scale == 0:
            return digits, 10**digits // scale
    raise ValueError(f"a scale must divide a power of ten, {scale} does not")


def is_decimal_scale(scale: int) -> bool:
    """Whether 1/scale has a finite decimal expansion of at most eight digits, as cash needs."""
    return scale > 0 and CASH_SCALE % scale == 0


def divide_half_even(numerator: int, denominator: int) -> int:
    """numerator/denominator rounded to the nearest integer, halves to even. `denominator` > 0."""
    double = 2 * numerator + denominator
    quotient = double // (2 * denominator)
    return quotient - 1 if quotient & 1 and quotient * 2 * denominator == double else quotient


def cash_text(value: Cash, places: int = 2) -> str:
    """Dollars as decimal text with at least two places; balances may carry more (§8)."""
    return decimal_text(value, CASH_SCALE, places)
