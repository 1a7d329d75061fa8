"""Three moods of the whole catalogue of quirks and faults (design D6): everything kind, as it is,
everything against the client.

A preset sets every quirk and arms faults of its own, whose ids begin with its name. Each draws from
its own entropy stream, so what a scenario adds besides keeps its luck.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

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
    """Odds by quirk (others as documented, or `quirks_else`), and faults by id."""

    name: str
    summary: str
    quirks: dict[str, str] = field(default_factory=dict)
    quirks_else: str = ""
    faults: tuple[Named, ...] = ()


def _fault(name: str, plane: str, odds: str, **act: object) -> Named:
    given = FaultAct(**act)  # type: ignore[arg-type]
    return (
        (
            f"{name}.{plane}.{'.'.join(str(value) if key in ('status', 'code') else key for key, value in act.items())}"
        ),
        FaultSpec(match=FaultMatch(plane=plane, probability=odds), act=given),
    )


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
    for plane in HTTP:
        yield _fault(name, plane, "1/100", slow_body=True)
    for effect in ("drop", "duplicate", "reorder"):
        yield _fault(name, "stream", "1/20", **{effect: True})
    yield _fault(name, "stream", "1/20", delay="2s")
    for act in ({"revoke": True}, {"reset": True}, {"status": 503}):
        yield _fault(name, "stream", "1/200", **act)
    for act in ({"drop": True}, {"reset": True}, {"duplicate": True}, {"status": 500}):
        yield _fault(name, "webhook", "1/8", **act)
    yield _fault(name, "webhook", "1/5", delay="1m")


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            name="ideal",
            summary="no oddity, no fault: a client's own mistakes are all that is left",
            quirks_else="never",
        ),
        Preset(
            name="realistic",
            summary=(
                "documented oddities at their documented odds, rare errors, small delays, late and"
                " repeated webhooks"
            ),
            quirks={STREAM_DUPLICATES.name: "1/1000", WEBHOOK_DUPLICATES.name: "1/50"},
            faults=tuple(_realistic()),
        ),
        Preset(
            name="hostile",
            summary=(
                "every oddity, and every kind of fault on everything it can befall: about one call"
                " in four fails"
            ),
            quirks={
                UNFILTERED_SEARCH_TIMES_OUT.name: "always",
                SESSION_REVOCATION.name: "always",
                STREAM_DUPLICATES.name: "1/5",
                WEBHOOK_DUPLICATES.name: "1/2",
            },
            quirks_else="always",
            faults=tuple(_hostile()),
        ),
    )
}


def apply(preset: Preset, quirks: Quirks, faults: Faults) -> None:
    """Set every quirk, and put the preset's faults in the place of another preset's."""
    for quirk in catalogue().values():
        quirks.change(
            quirk.name, preset.quirks.get(quirk.name) or preset.quirks_else or str(quirk.default)
        )
    for fault in (*faults.all(), *faults.over()):
        if fault.id.partition(".")[0] in PRESETS:
            faults.remove(fault.id)
    for name, spec in preset.faults:
        faults.add(spec, name)
