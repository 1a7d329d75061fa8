"""The modes of the clock of a served simulation, and how they are written.

What the modes do stands in `server/clock_driver.py`. The command line reads a mode before it knows
whether anything will be served, so it stands apart from what serves.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

Mode: TypeAlias = Literal["manual", "autojump", "fast", "paced"]

_PACED = re.compile(r"paced(?::(\d{1,7}(?:\.\d{1,6})?))?", re.ASCII)


class ClockMode(NamedTuple):
    """A mode; `rate` is the number of virtual seconds per real second of a paced clock."""

    mode: Mode
    rate: Fraction = Fraction(1)

    def __str__(self) -> str:
        if self.mode != "paced" or self.rate == 1:
            return self.mode
        whole = self.rate.denominator == 1
        return f"paced:{self.rate.numerator if whole else float(self.rate)}"


MANUAL = ClockMode("manual")
AUTOJUMP = ClockMode("autojump")
FAST = ClockMode("fast")
PACED = ClockMode("paced")


def parse_clock_mode(text: str) -> ClockMode:
    """Mode from its text, such as "manual" or "paced:60"; ValueError says what is accepted."""
    for mode in (MANUAL, AUTOJUMP, FAST):
        if text == mode.mode:
            return mode
    match = _PACED.fullmatch(text)
    if match and (rate := Fraction(match[1] or 1)):
        return ClockMode("paced", rate)
    raise ValueError(
        "expected one of manual, autojump, fast, paced, and paced:N with N virtual seconds per real"
        f" second, not {text!r}"
    )
