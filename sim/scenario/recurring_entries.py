"""What a scenario says about recurring markets (`world.windows`): series of instruments that the
clock lists. A field of None was not written.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from sim.core.market_data.assets import Asset
from sim.kernel.instants import DAY, MINUTE, Span, format_span, parse_span
from sim.scenario.instrument_terms import scales_of
from sim.scenario.scalar_types import form, span_within
from sim.scenario.value_types import Text

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
        usual = "windows last whole minutes that divide a day, such as 5m, 15m, 1h"
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
EVERY = Text("the length of a window", _every, format_span, _SPAN_SCHEMA)
DAY_AT_MOST = span_within("a duration of at most a day", 0, DAY, "at most a day", "5m", "15m", "1h")
TICK = Text("a tick", _tick, schema={"type": ["string", "number"], "examples": ["0.01", "0.005"]})
_QTY_SCALE_SCHEMA = {"type": ["integer", "string"], "enum": [*map(int, _SCALES), *_SCALES]}
QTY_SCALE = Text("a scale", _qty_scale, schema=_QTY_SCALE_SCHEMA)


class WindowsEntry(Struct, frozen=True, kw_only=True):
    """A recurring market: does an asset's index end each interval no lower than it began?

    What is left out is as in the default world's series of this name.
    """

    name: Annotated[str, NAME, "the slugs of its events begin with it"]
    asset: Annotated[str | None, ASSET, "crypto:<symbol>, whose index decides"] = None
    title: Annotated[str | None, "what people call the asset"] = None
    every: Annotated[
        Span | None,
        EVERY,
        "length of an interval: whole minutes that divide a day, counted from 00:00 UTC",
    ] = None
    ahead: Annotated[
        Span | None,
        DAY_AT_MOST,
        "how long before its interval an instrument is listed as PENDING; 48 intervals, at most a"
        " day, when left out",
    ] = None
    lead: Annotated[
        Span | None,
        DAY_AT_MOST,
        "how long before its interval an instrument opens; 90s when left out",
    ] = None
    expires: Annotated[
        Span | None, DAY_AT_MOST, "how long after the interval it expires; 30m when left out"
    ] = None
    terminates: Annotated[
        Span | None,
        DAY_AT_MOST,
        "how long after expiration it terminates and leaves the lists; 2h when left out",
    ] = None
    tick_size: Annotated[str | None, TICK, "dollars; 0.01 when left out"] = None
    fractional_qty_scale: Annotated[
        int | None, QTY_SCALE, "quantities are divided by it; 100 when left out"
    ] = None
