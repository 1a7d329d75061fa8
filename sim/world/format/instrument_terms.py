"""Converts an entry of a scenario to the terms of an instrument: decimal text becomes scaled
integers, and missing keys get their defaults.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from msgspec.structs import asdict, replace

from sim.core.lifecycle.states import EXPIRED_STATES
from sim.core.model.collateral import EventOutcome, Related
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import GameCondition, Instrument, Segment
from sim.core.model.quantities import NotADecimal, decimal_text, scaled
from sim.kernel.instants import DAY, Instant
from sim.world.format.world_entries import InstrumentEntry, SegmentEntry

TRADED_FOR = 30 * DAY
KEPT_FOR = 7 * DAY
RANK_SCALE = 1_000_000
_PRICE_SCALES = (100, 1_000, 10_000, 100_000)

# Keys that have the same name in an entry and in an instrument's terms.
_NAMES = ("event", "fee_class", "market_type", "category", "subcategory", "series")

_SYMBOL = re.compile(r"[A-Za-z0-9._~:@+=-]{1,128}", re.ASCII)

Faults = list[tuple[str, str]]  # key of the entry, problem


class ListingError(ValueError):
    """Invalid terms, as pairs of the entry's key and its problem."""

    def __init__(self, faults: Faults) -> None:
        super().__init__("; ".join(message for _, message in faults))
        self.faults = faults


def list_instrument(
    entry: InstrumentEntry, now: Instant, former: Instrument | None = None
) -> Instrument:
    """The terms of an entry at an instant. With `former` the entry changes those terms.

    ListingError if they are invalid.
    """
    faults: Faults = []
    if former is None and not _SYMBOL.fullmatch(entry.symbol):
        rule = "a symbol is 1 to 128 letters, digits and . _ ~ : @ + = -, not"
        faults.append(("symbol", f"{rule} {entry.symbol[:40]!r}, because paths contain it"))
    terms: dict[str, Any] = {"symbol": entry.symbol} if former is None else {}
    terms |= _scales(entry, former, faults)
    if not faults:
        terms |= _bounds(entry, former, terms, faults)
    terms |= _dates(entry, former, now)
    terms |= _texts(entry, former)
    if entry.schedule is not None:
        terms["schedule"] = tuple(_segment(part) for part in entry.schedule)
    if entry.state is not None:
        terms["opening_state"] = entry.state
    if faults:
        raise ListingError(faults)
    listed = Instrument(**terms) if former is None else replace(former, **terms)
    if unsound := listed.problems():
        raise ListingError([("symbol", message) for message in unsound])
    return listed


def _segment(entry: SegmentEntry) -> Segment:
    return Segment(**asdict(entry) | {"days": tuple(sorted(set(entry.days)))})


def _scales(entry: InstrumentEntry, former: Instrument | None, faults: Faults) -> dict[str, Any]:
    tick = entry.tick_size
    stated = (tick, entry.price_scale, entry.fractional_qty_scale)
    if former is not None and stated == (None, None, None):
        return {
            "price_scale": former.price_scale,
            "tick": former.tick,
            "qty_scale": former.qty_scale,
        }
    tick = tick or ("0.01" if former is None else decimal_text(former.tick, former.price_scale))
    scale = entry.price_scale or _price_scale(tick)
    qty_scale = entry.fractional_qty_scale or (former.qty_scale if former else 1)
    try:
        return {"price_scale": scale, "tick": scaled(tick, scale), "qty_scale": qty_scale}
    except NotADecimal as refused:
        faults.append(("tick_size", f"tick_size: {refused}"))
        return {}


def scales_of(tick: str) -> tuple[int, int]:
    """Price scale and tick of decimal text. ValueError if one dollar is not a multiple
    of the tick.
    """
    scale = _price_scale(tick)
    units = scaled(tick, scale)
    if not 0 < units < scale or scale % units:
        raise ValueError(f"tick_size: one dollar is not a multiple of {tick}")
    return scale, units


def _price_scale(tick: str) -> int:
    """The smallest usual price scale at which the tick is an integer."""
    for scale in _PRICE_SCALES:
        try:
            scaled(tick, scale)
        except NotADecimal:
            continue
        return scale
    return _PRICE_SCALES[-1]


def _bounds(
    entry: InstrumentEntry, former: Instrument | None, scales: dict[str, Any], faults: Faults
) -> dict[str, Any]:
    """Price band, order sizes and minimum. By default the band ends one tick from 0 and from 1."""
    scale, tick, qty_scale = scales["price_scale"], scales["tick"], scales["qty_scale"]
    terms: dict[str, Any] = {}
    rescaled = former is None or (former.price_scale, former.tick) != (scale, tick)
    if rescaled:
        terms["price_low"], terms["price_high"] = tick, scale - tick
    if former is None or former.qty_scale != qty_scale:
        terms["min_qty"] = 1
    if entry.minimum_trade_qty is not None:
        terms["min_qty"] = entry.minimum_trade_qty
    for key, limits, unit, names in (
        ("price_limit", entry.price_limit, scale, ("price_low", "price_high")),
        ("order_size_limit", entry.order_size_limit, qty_scale, ("size_low", "size_high")),
    ):
        for name, text in zip(names, (limits.low, limits.high) if limits else (), strict=False):
            if text is not None:
                try:
                    terms[name] = scaled(text, unit)
                except NotADecimal as refused:
                    faults.append((key, f"{key}: {refused}"))
    return terms


def _dates(entry: InstrumentEntry, former: Instrument | None, now: Instant) -> dict[str, Any]:
    """Dates, completed so that they permit the state: a pending instrument starts tomorrow, and an
    expired one has already expired.
    """
    if former is not None:
        return _stated(entry, "created", "start", "expiration", "termination")
    done = entry.state in EXPIRED_STATES
    start = entry.start
    if start is None and entry.state is InstrumentState.PENDING:
        start = now + DAY
    elif start is None:
        start = now - DAY if done else now
    expiration = entry.expiration
    if expiration is None:
        expiration = max(start, now) if done else start + TRADED_FOR
    termination = entry.termination
    if termination is None:
        terminated = entry.state is InstrumentState.TERMINATED
        termination = expiration if terminated else expiration + KEPT_FOR
    return {
        "created": entry.created if entry.created is not None else min(start, now),
        "start": start,
        "expiration": expiration,
        "termination": termination,
    }


def _stated(entry: InstrumentEntry, *names: str) -> dict[str, Any]:
    """Those of some fields that the entry has."""
    values = {name: getattr(entry, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def related_to(
    event: str, kind: str, outcome: EventOutcome, line: str | None = None
) -> Related | None:
    """The relation of an instrument to the others of its event and market type. A line
    becomes a rank.
    """
    if outcome is EventOutcome.INDEPENDENT:
        return None
    return Related(f"{event}/{kind}", outcome, int(Fraction(line) * RANK_SCALE) if line else 0)


def _texts(entry: InstrumentEntry, former: Instrument | None) -> dict[str, Any]:
    terms = _stated(entry, "description", "product_id", *_NAMES)
    if entry.metadata:
        terms["metadata"] = (former.metadata if former else {}) | entry.metadata
    condition = _stated(entry, "long", "line", "player", "pick")
    if entry.sports_market_type is not None:
        condition["kind"] = entry.sports_market_type
    settles = former.game_condition if former else None
    if settles is not None and condition:
        terms["game_condition"] = replace(settles, **condition)
    elif entry.sports_market_type is not None:
        terms["game_condition"] = GameCondition(**condition)
    if entry.event_outcome is not None:
        event = terms.get("event", former.event if former else entry.symbol)
        market_type = terms.get("market_type", former.market_type if former else "")
        kind = entry.sports_market_type or market_type
        terms["related"] = related_to(event, kind, entry.event_outcome, entry.line)
    if former is None:
        terms.setdefault("product_id", entry.symbol.split("-")[0])
        terms.setdefault("description", entry.question or entry.symbol)
    if entry.question:
        terms["question"] = entry.question
    return terms
