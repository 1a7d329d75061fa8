"""What a scenario says about its scripted participants: one Struct per kind.

`actors/participants/` implements them: what they do stands in `strategies.py`, when they do it in
`participants.py`.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Annotated

from msgspec import Struct

from sim.core.model.quantities import CASH_SCALE, NotADecimal, scaled, scaled_down
from sim.kernel.instants import DAY, NS_PER_MS, NS_PER_S, Instant, Span, parse_span
from sim.scenario.scalar_types import (
    AMOUNT,
    CHANCE,
    POSITIVE,
    SINCE_START,
    STRING,
    form,
    span_within,
)
from sim.scenario.struct_types import OneOrMore
from sim.scenario.value_types import Schema, Text

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
    """The fair price at an instant."""

    at: Annotated[Instant | str, SINCE_START, "when the price stands there"]
    price: Annotated[str, SHARE, "dollars"]


class FairEntry(Struct, frozen=True, kw_only=True):
    """What scripted participants think an instrument is worth; without an entry by default."""

    symbol: Annotated[str, "symbol of the instrument"]
    start: Annotated[
        str | None,
        POSITIVE_SHARE,
        "dollars at the scenario's start; the last price or the middle of the book when left out,"
        " else 0.50",
    ] = None
    path: Annotated[
        tuple[PathPoint, ...],
        "prices at instants, in order of time, in a straight line between them",
    ] = ()
    asset: Annotated[
        str,
        "follow the index ticks of a priced asset, crypto:<symbol>: half a dollar at the strike",
    ] = ""
    strike: Annotated[str, AMOUNT, "dollars of the asset at which the contract is worth 0.50"] = "0"
    width: Annotated[
        str, POSITIVE, "dollars by which the asset moves for the contract to go from 0 to 1"
    ] = "1"
    volatility: Annotated[
        str | None,
        SHARE,
        "typical move in dollars in an hour, at 0.50, of a seeded walk on top; at most 0.05; 0.01"
        " when left out, 0 with a path or an asset",
    ] = None


class SizeRange(Struct, frozen=True, kw_only=True):
    """From how many to how many contracts; small sizes are more frequent than large ones."""

    low: Annotated[str, POSITIVE, "fewest contracts"] = "1"
    high: Annotated[str, POSITIVE, "most contracts"] = "50"


class Trader(Struct, frozen=True, kw_only=True):
    """What every kind of participant has."""

    name: Annotated[str, NAME, "by which scenarios and the control plane know it"]
    symbols: Annotated[
        tuple[str, ...],
        OneOrMore(STRING),
        "instruments of the scenario's start, by symbol or pattern such as aec-nba-*",
    ] = ()
    windows: Annotated[
        tuple[str, ...],
        OneOrMore(STRING),
        "products whose automated windows it trades as they come, by name or pattern: btc-updown-*",
    ] = ()
    as_: Annotated[
        str,
        "user it trades as; firms/sandbox/users/<name> when left out, who is made where there is"
        " none",
    ] = ""
    balance: Annotated[str, DOLLARS, "opening dollars of the account of a user that is made"] = (
        "100000"
    )
    inventory: Annotated[
        str, POSITIVE, "largest net position on one instrument, in contracts, long or short"
    ] = "1000"


class MakerEntry(Trader, frozen=True, kw_only=True):
    """A market maker: quotes both sides around the fair price, and quotes anew when it has moved or
    an order is half traded.
    """

    every: Annotated[Span, INTERVAL, "time between two actions on an instrument"] = 5 * NS_PER_S
    jitter: Annotated[Span, JITTER, "random delay of up to this much, drawn each time"] = 0
    spread: Annotated[str, SHARE, "dollars between its best bid and its best offer"] = "0.02"
    sizes: Annotated[tuple[Annotated[str, POSITIVE], ...], "contracts per level, best first"] = (
        LEVEL_SIZES
    )
    step: Annotated[
        str | None, POSITIVE_SHARE, "dollars between two levels; a tick when left out"
    ] = None
    skew: Annotated[
        str, SHARE, "dollars by which a full inventory moves its quotes, so that it sells off"
    ] = "0"


class TakerEntry(Trader, frozen=True, kw_only=True):
    """A taker: arrives at random and takes what is there, immediate or cancel."""

    rate: Annotated[
        str,
        RATE,
        "average number of arrivals on each instrument; arrivals are independent of each other",
    ] = "4/m"
    size: Annotated[SizeRange, "contracts of an order"] = SizeRange()
    buys: Annotated[str, CHANCE, "chance that it buys"] = "1/2"
    slippage: Annotated[str, SHARE, "dollars beyond the best price that it pays"] = "0"
    edge: Annotated[
        str | None, SHARE, "take only what is better than the fair price by so many dollars"
    ] = None


class NoiseEntry(Trader, frozen=True, kw_only=True):
    """A noise trader: leaves orders near the fair price and cancels some of them again."""

    rate: Annotated[str, RATE, "actions on each instrument, on average"] = "4/m"
    size: Annotated[SizeRange, "contracts of an order"] = SizeRange()
    width: Annotated[
        str,
        POSITIVE_SHARE,
        "dollars from the fair price to its farthest orders; a quarter of that is how far it goes"
        " through it",
    ] = "0.05"
    resting: Annotated[int, RESTING, "most orders of its own on an instrument"] = 8
    cancels: Annotated[str, CHANCE, "chance that it cancels an order instead of leaving one"] = (
        "1/3"
    )


class FlowEntry(Struct, frozen=True, kw_only=True):
    """Order flow recorded elsewhere, replayed from a CSV file."""

    name: Annotated[str, NAME, "its name on the control plane"]
    file: Annotated[str, "the file, beside the one that names it"]
    as_: Annotated[str, "who sends the rows that name nobody"] = "noise"
    sha256: Annotated[str, "SHA-256 of the file; where it is written, another file is refused"] = ""
    content: Annotated[
        tuple[bytes, ...],
        PARTS,
        "the file itself, as a journal carries it; left out, `file` is read",
    ] = ()


class ParticipantsSection(Struct, frozen=True, kw_only=True):
    """Scripted participants. At the start they act in the order of kind, entry and instrument."""

    fair_prices: Annotated[tuple[FairEntry, ...], "by symbol"] = ()
    makers: Annotated[tuple[MakerEntry, ...], "by name"] = ()
    takers: Annotated[tuple[TakerEntry, ...], "by name"] = ()
    noise: Annotated[tuple[NoiseEntry, ...], "by name"] = ()
    flows: Annotated[tuple[FlowEntry, ...], "by name"] = ()

    @property
    def anybody(self) -> bool:
        """Whether there is anything to run or to check."""
        return bool(self.traders or self.flows or self.fair_prices)

    @property
    def traders(self) -> tuple[Trader, ...]:
        """All traders, kind by kind."""
        return (*self.makers, *self.takers, *self.noise)
