"""Entries of a scenario's `world.windows`: recurring markets, of which the exchange lists a new
instrument for each interval. None means that the file does not have the key.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from sim.core.market_data.assets import Asset
from sim.kernel.instants import DAY, MINUTE, Span, format_span, parse_span
from sim.world.format.instrument_terms import scales_of
from sim.world.format.scalar_types import form, span_within
from sim.world.format.value_types import Text

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
_SPAN_SCHEMA = {"type": "string", "examples": ["5m", "15m", "1h"]}
_SCALES = ("1", "10", "100", "1000")


def _asset(text: str) -> str:
    if unsound := Asset(id=text).problems():
        raise ValueError("; ".join(unsound))
    return text


def _every(text: str) -> Span:
    span = parse_span(text)
    if span < MINUTE or span % MINUTE or DAY % span:
        usual = "the interval must be whole minutes that divide a day, such as 5m, 15m, 1h"
        raise ValueError(f"{usual}, not {text[:40]!r}")
    return span


def _tick(text: str) -> str:
    scales_of(text)
    return text


def _qty_scale(text: str) -> int:
    if text not in _SCALES:
        raise ValueError(f"write one of {', '.join(_SCALES)}, not {text[:40]!r}")
    return int(text)


NAME = form("a name", _NAME, "a name begins with a letter and has at most 40 of a-z, 0-9 and -")
ASSET = Text("crypto:<symbol>", _asset, schema={"type": "string", "examples": ["crypto:btc"]})
EVERY = Text("the length of an interval", _every, format_span, _SPAN_SCHEMA)
DAY_AT_MOST = span_within("a duration of at most a day", 0, DAY, "at most a day", "5m", "15m", "1h")
TICK = Text("a tick", _tick, schema={"type": ["string", "number"], "examples": ["0.01", "0.005"]})
# A YAML file may have the number quoted or not.
_QTY_SCALE_SCHEMA = {"type": ["integer", "string"], "enum": [*map(int, _SCALES), *_SCALES]}
QTY_SCALE = Text("a scale", _qty_scale, schema=_QTY_SCALE_SCHEMA)


class WindowsEntry(Struct, frozen=True, kw_only=True):
    """A recurring market, listed again for every interval. It pays Up if the index of an asset is
    no lower at the end of the interval than at its beginning. For a series of the default world the
    keys that are left out keep their values.
    """

    name: Annotated[str, NAME]
    """name of the series, with which the slugs of its events begin"""
    asset: Annotated[str | None, ASSET] = None
    """asset whose index decides the outcome, crypto:<symbol>"""
    title: str | None = None
    """name of the asset in titles, such as Bitcoin"""
    every: Annotated[Span | None, EVERY] = None
    """length of an interval: whole minutes that divide a day, counted from 00:00 UTC"""
    ahead: Annotated[Span | None, DAY_AT_MOST] = None
    """time between listing (as PENDING) and the interval; by default 48 intervals, at most a day"""
    lead: Annotated[Span | None, DAY_AT_MOST] = None
    """time between the opening of an instrument and its interval; 90s by default"""
    expires: Annotated[Span | None, DAY_AT_MOST] = None
    """time between the interval and expiration; 30m by default"""
    terminates: Annotated[Span | None, DAY_AT_MOST] = None
    """time between expiration and termination, when the instrument leaves the
    lists; 2h by default"""
    tick_size: Annotated[str | None, TICK] = None
    """tick in dollars; 0.01 by default"""
    fractional_qty_scale: Annotated[int | None, QTY_SCALE] = None
    """scaled integer quantities are divided by this number; 100 by default"""
