"""The modes of the clock of a served simulation, and their text form.

`server/clock_driver.py` implements them. This module is separate because the command line reads a
mode without importing the server.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

Mode: TypeAlias = Literal["manual", "autojump", "fast", "paced"]

_PACED = re.compile(r"paced(?::(\d{1,7}(?:\.\d{1,6})?))?", re.ASCII)


class ClockMode(NamedTuple):
    """A mode. `rate` is the number of virtual seconds in a real second of a paced clock."""

    mode: Mode
    rate: Fraction = Fraction(1)

    def __str__(self) -> str:
        if self.mode != "paced" or self.rate == 1:
            return self.mode
        is_whole = self.rate.denominator == 1
        return f"paced:{self.rate.numerator if is_whole else float(self.rate)}"


MANUAL = ClockMode("manual")
AUTOJUMP = ClockMode("autojump")
FAST = ClockMode("fast")
PACED = ClockMode("paced")


def parse_clock_mode(text: str) -> ClockMode:
    """The mode of a text such as "manual" or "paced:60". ValueError lists the modes."""
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
