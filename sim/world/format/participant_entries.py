"""Entries of a scenario's `participants`: one Struct for each kind of simulated trader.

`actors/participants/` implements them: `strategies.py` decides what a trader does
and `participants.py` when.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Annotated

from msgspec import Struct

from sim.core.model.quantities import CASH_SCALE, NotADecimal, scaled, scaled_down
from sim.kernel.instants import DAY, NS_PER_MS, NS_PER_S, Instant, Span, parse_span
from sim.world.format.scalar_types import (
    AMOUNT,
    CHANCE,
    POSITIVE,
    SINCE_START,
    STRING,
    form,
    span_within,
)
from sim.world.format.struct_types import OneOrMore
from sim.world.format.value_types import Schema, Text

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_RATE = re.compile(r"([1-9][0-9]{0,5})/([0-9]*(?:\.[0-9]+)?)(ms|s|m|h|d)", re.ASCII)
SHORTEST: Span = NS_PER_MS  # between two actions of one participant on one instrument, on average
LONGEST: Span = 366 * DAY
_UNIT = 10**12
_RICHEST = 10**10 * CASH_SCALE


def mean_wait(rate: str) -> Span:
    """Average time between two arrivals of a rate such as "12/m"."""
    match = _RATE.fullmatch(rate)
    if match is None:
        raise ValueError(f'write "12/m" or "1/30s", not {rate[:40]!r}')
    return parse_span(f"{match[2] or 1}{match[3]}") // int(match[1])


def _rate(text: str) -> str:
    if not SHORTEST <= mean_wait(text) <= LONGEST:
        raise ValueError("at most 1000 a second, at least one a year")
    return text


def _share(text: str) -> str:
    if not 0 <= scaled_down(text, _UNIT) <= _UNIT:
        raise NotADecimal(f"{text} is not from 0 to 1")
    return text


def _positive_share(text: str) -> str:
    if not scaled_down(_share(text), _UNIT):
        raise NotADecimal(f"{text} is not above zero")
    return text


def _resting(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text, re.ASCII) or not 1 <= int(text) <= 1000:
        raise ValueError(f"from 1 to 1000, not {text[:40]!r}")
    return int(text)


LEVEL_SIZES = ("100", "250", "500")  # contracts of the levels of a side, when left out
NAME = form("a name", _NAME, "at most 64 letters, digits, '-', '_' and '.'")
_RATES = ["12/m", "1/30s", "200/h"]
_RATE_SCHEMA: Schema = {"type": "string", "pattern": f"^{_RATE.pattern}$", "examples": _RATES}
RATE = Text("a rate", _rate, schema=_RATE_SCHEMA)
INTERVAL = span_within(
    "an interval", SHORTEST, LONGEST, "at least 1ms, at most 366 days", "5s", "250ms", "1m"
)
JITTER = span_within("a duration", 0, LONGEST, "at most 366 days", "1s", "250ms")
_SHARE_SCHEMA: Schema = {"type": ["string", "number"], "pattern": r"^\+?\d+(\.\d+)?$"}
SHARE = Text("dollars from 0 to 1", _share, schema=_SHARE_SCHEMA)
POSITIVE_SHARE = Text("dollars above 0 and up to 1", _positive_share, schema=_SHARE_SCHEMA)
RESTING = Text(
    "a number", _resting, schema={"type": ["integer", "string"], "minimum": 1, "maximum": 1000}
)


def _parts(text: str) -> tuple[bytes, ...]:
    return tuple(b64decode(part, validate=True) for part in text.split())


def _joined(parts: tuple[bytes, ...]) -> str:
    return " ".join(b64encode(part).decode() for part in parts)


def _dollars(text: str) -> str:
    if not 0 <= scaled(text, CASH_SCALE) <= _RICHEST:
        raise NotADecimal(f"{text} is not from 0 to ten billion")
    return text


DOLLARS = Text("dollars, zero or more", _dollars, schema={"type": ["string", "number"]})
PARTS = Text("parts of a compressed file, in base64", _parts, _joined)


class PathPoint(Struct, frozen=True, kw_only=True):
    """A point of the path of a fair price."""

    at: Annotated[Instant | str, SINCE_START]
    """instant, or time after the start such as +30s"""
    price: Annotated[str, SHARE]
    """fair price at that instant, dollars"""


class FairEntry(Struct, frozen=True, kw_only=True):
    """The fair price of an instrument: what simulated traders think that it is worth. An instrument
    without an entry gets the default values.
    """

    symbol: str
    """symbol of the instrument"""
    start: Annotated[str | None, POSITIVE_SHARE] = None
    """fair price at the start, dollars; by default the last price, or the middle of the
    book, or 0.50"""
    path: tuple[PathPoint, ...] = ()
    """fair prices at some instants, in order of time; between them the price moves linearly"""
    asset: str = ""
    """asset whose index the fair price follows, crypto:<symbol>; the price is 0.50 when the index
    is at `strike`"""
    strike: Annotated[str, AMOUNT] = "0"
    """price of the asset at which the fair price is 0.50, dollars"""
    width: Annotated[str, POSITIVE] = "1"
    """change of the asset's price that moves the fair price from 0 to 1, dollars; 1 by default"""
    volatility: Annotated[str | None, SHARE] = None
    """typical change in an hour, in dollars at a price of 0.50, of the random walk that is added to
    the fair price; at most 0.05; 0.01 by default, 0 with a path or an asset"""


class SizeRange(Struct, frozen=True, kw_only=True):
    """A range of order sizes in contracts. Small sizes are drawn more often than large ones."""

    low: Annotated[str, POSITIVE] = "1"
    """smallest size; 1 by default"""
    high: Annotated[str, POSITIVE] = "50"
    """largest size; 50 by default"""


class Trader(Struct, frozen=True, kw_only=True):
    """The keys that every kind of trader has."""

    name: Annotated[str, NAME]
    """name of the trader, for steps and for the control plane"""
    symbols: Annotated[tuple[str, ...], OneOrMore(STRING)] = ()
    """instruments that it trades: symbols, or patterns such as aec-nba-*, of instruments that exist
    at the start"""
    windows: Annotated[tuple[str, ...], OneOrMore(STRING)] = ()
    """recurring markets that it trades: names of series, or patterns such as btc-updown-*"""
    as_: str = ""
    """user that it trades as; by default firms/sandbox/users/<name>, which is created if it
    does not exist"""
    balance: Annotated[str, DOLLARS] = "100000"
    """opening balance in dollars of a created user; 100000 by default"""
    inventory: Annotated[str, POSITIVE] = "1000"
    """largest net position on one instrument, long or short, in contracts; 1000 by default"""


class MakerEntry(Trader, frozen=True, kw_only=True):
    """A market maker: quotes both sides around the fair price. It updates its quotes when the fair
    price has moved or half of an order is filled.
    """

    every: Annotated[Span, INTERVAL] = 5 * NS_PER_S
    """time between two updates of its quotes on an instrument; 5s by default"""
    jitter: Annotated[Span, JITTER] = 0
    """largest random delay that is added to `every`"""
    spread: Annotated[str, SHARE] = "0.02"
    """distance of its best bid and best offer in dollars; 0.02 by default"""
    sizes: tuple[Annotated[str, POSITIVE], ...] = LEVEL_SIZES
    """contracts at each price level, the best price first; 100, 250, 500 by default"""
    step: Annotated[str | None, POSITIVE_SHARE] = None
    """distance of two price levels in dollars; one tick by default"""
    skew: Annotated[str, SHARE] = "0"
    """dollars by which it moves its quotes against its position when `inventory` is used up, so
    that the position shrinks"""


class TakerEntry(Trader, frozen=True, kw_only=True):
    """A taker: arrives at random and trades with resting orders by immediate-or-cancel orders."""

    rate: Annotated[str, RATE] = "4/m"
    """average number of arrivals on each instrument, as a Poisson process; 4/m by default"""
    size: SizeRange = SizeRange()
    """size of an order in contracts"""
    buys: Annotated[str, CHANCE] = "1/2"
    """probability that it buys; 1/2 by default"""
    slippage: Annotated[str, SHARE] = "0"
    """dollars that it pays beyond the best price"""
    edge: Annotated[str | None, SHARE] = None
    """trade only at prices that are better than the fair price by at least so many dollars"""


class NoiseEntry(Trader, frozen=True, kw_only=True):
    """A noise trader: places orders near the fair price and cancels some of them."""

    rate: Annotated[str, RATE] = "4/m"
    """average number of actions on each instrument; 4/m by default"""
    size: SizeRange = SizeRange()
    """size of an order in contracts"""
    width: Annotated[str, POSITIVE_SHARE] = "0.05"
    """largest distance of its orders from the fair price, in dollars; 0.05 by default. A quarter of
    it is how far an order may lie on the other side of the fair price"""
    resting: Annotated[int, RESTING] = 8
    """largest number of its resting orders on an instrument; 8 by default"""
    cancels: Annotated[str, CHANCE] = "1/3"
    """probability that an action cancels an order; 1/3 by default"""


class FlowEntry(Struct, frozen=True, kw_only=True):
    """Recorded order flow that is replayed from a CSV file."""

    name: Annotated[str, NAME]
    """name of the flow, for steps and for the control plane"""
    file: str
    """path of the CSV file, relative to this scenario file"""
    as_: str = "noise"
    """participant who sends the rows without a participant; noise by default"""
    sha256: str = ""
    """SHA-256 of the file; a file with another SHA-256 is refused"""
    content: Annotated[tuple[bytes, ...], PARTS] = ()
    """the file itself, compressed, as a journal contains it; without it `file` is read"""


class ParticipantsSection(Struct, frozen=True, kw_only=True):
    """Simulated traders. At the start they act in the order of their kind, entry and instrument."""

    fair_prices: tuple[FairEntry, ...] = ()
    """fair prices of instruments, identified by symbol"""
    makers: tuple[MakerEntry, ...] = ()
    """market makers, identified by name"""
    takers: tuple[TakerEntry, ...] = ()
    """takers, identified by name"""
    noise: tuple[NoiseEntry, ...] = ()
    """noise traders, identified by name"""
    flows: tuple[FlowEntry, ...] = ()
    """recorded order flow, identified by name"""

    @property
    def anybody(self) -> bool:
        """Whether there is anything to run or to check."""
        return bool(self.traders or self.flows or self.fair_prices)

    @property
    def traders(self) -> tuple[Trader, ...]:
        """All traders, kind by kind."""
        return (*self.makers, *self.takers, *self.noise)
