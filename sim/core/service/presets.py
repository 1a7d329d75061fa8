"""Presets: named sets of quirk probabilities and faults.

The ids of a preset's faults begin with its name. Each fault draws from its own random stream, so a
preset does not affect the other faults of a scenario.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.assumptions import EXTRA_LIMITS
from sim.core.catalogue.quirks import (
    SESSION_REVOCATION,
    STREAM_DUPLICATES,
    UNFILTERED_SEARCH_TIMES_OUT,
    WEBHOOK_DUPLICATES,
    Quirks,
    catalogue,
)
from sim.core.service.fault_spec import CALLS, HTTP, FaultAct, FaultMatch, FaultSpec
from sim.core.service.faults import Faults

Named = tuple[str, FaultSpec]


class Preset(Struct, frozen=True, kw_only=True):
    """Probabilities by quirk (`quirks_else` for all others; "" is the documented one), faults by
    id, and whether to enforce published limits that the specification does not list.
    """

    name: str
    summary: str
    quirks: dict[str, str] = field(default_factory=dict)
    quirks_else: str = ""
    faults: tuple[Named, ...] = ()
    extra_limits: bool = False


def _fault(name: str, plane: str, odds: str, **act: object) -> Named:
    words = [str(value) if key in ("status", "code") else key for key, value in act.items()]
    match = FaultMatch(plane=plane, probability=odds)
    spec = FaultSpec(match=match, act=FaultAct(**act))  # type: ignore[arg-type]
    return ".".join((name, plane, *words)), spec


def _realistic() -> Iterator[Named]:
    name = "realistic"
    for plane in CALLS:
        yield _fault(name, plane, "1/1000", status=503)
        yield _fault(name, plane, "1/2000", reset=True)
        yield _fault(name, plane, "1/50", delay="250ms")
    for plane in ("retail", "exchange", "grpc"):
        yield _fault(name, plane, "1/2000", status=504, handled=True)
    yield _fault(name, "stream", "1/5000", status=503)
    yield _fault(name, "webhook", "1/20", status=500)
    yield _fault(name, "webhook", "1/20", delay="30s")


def _hostile() -> Iterator[Named]:
    name = "hostile"
    for plane in CALLS:
        for status in (500, 502, 503, 504):
            yield _fault(name, plane, "1/40", status=status)
        yield _fault(name, plane, "1/40", status=429, retry_after="2s")
        yield _fault(name, plane, "1/40", status=504, handled=True)
        yield _fault(name, plane, "1/40", refuse=True)
        yield _fault(name, plane, "1/40", reset=True)
        yield _fault(name, plane, "1/40", reset=True, handled=True)
        yield _fault(name, plane, "1/40", half_close=True)
        yield _fault(name, plane, "1/20", delay="4s")
        yield _fault(name, plane, "1/500", hang=True)
        yield _fault(name, plane, "1/100", patch="unknown-enum")
    for plane in HTTP:
        yield _fault(name, plane, "1/100", slow_body=True)
        yield _fault(name, plane, "1/40", close=True)
    for effect in ("drop", "duplicate", "reorder"):
        yield _fault(name, "stream", "1/20", **{effect: True})
    yield _fault(name, "stream", "1/20", delay="2s")
    for plane in ("stream", "webhook"):
        yield _fault(name, plane, "1/50", patch="extra-field")
    for act in ({"revoke": True}, {"reset": True}, {"close": True}, {"status": 503}):
        yield _fault(name, "stream", "1/200", **act)
    yield _fault(name, "webhook", "1/50", timestamp="-10m")
    for act in ({"drop": True}, {"reset": True}, {"duplicate": True}, {"status": 500}):
        yield _fault(name, "webhook", "1/8", **act)
    yield _fault(name, "webhook", "1/5", delay="1m")


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            name="ideal",
            summary="no quirks and no faults: only the client's own mistakes remain",
            quirks_else="never",
        ),
        Preset(
            name="realistic",
            summary=(
                "documented quirks at their documented odds, rare errors, small delays, late and"
                " duplicate webhooks"
            ),
            quirks={STREAM_DUPLICATES.name: "1/1000", WEBHOOK_DUPLICATES.name: "1/50"},
            faults=tuple(_realistic()),
            extra_limits=True,
        ),
        Preset(
            name="hostile",
            summary=(
                "every quirk, and every kind of fault wherever it can happen: about one call in"
                " four fails"
            ),
            quirks={
                UNFILTERED_SEARCH_TIMES_OUT.name: "always",
                SESSION_REVOCATION.name: "always",
                STREAM_DUPLICATES.name: "1/5",
                WEBHOOK_DUPLICATES.name: "1/2",
            },
            quirks_else="always",
            faults=tuple(_hostile()),
            extra_limits=True,
        ),
    )
}


def apply(preset: Preset, assumptions: Assumptions, quirks: Quirks, faults: Faults) -> None:
    """Set every quirk and whether published limits are enforced, and replace the faults of any
    other preset by those of this one.
    """
    assumptions.change(EXTRA_LIMITS.name, preset.extra_limits)
    for quirk in catalogue().values():
        odds = preset.quirks.get(quirk.name) or preset.quirks_else or str(quirk.default)
        quirks.change(quirk.name, odds)
    for fault in (*faults.all(), *faults.over()):
        if fault.id.partition(".")[0] in PRESETS:
            faults.remove(fault.id)
    for name, spec in preset.faults:
        faults.add(spec, name)
