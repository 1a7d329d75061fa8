"""Explanations as text, and the output of `sim explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from msgspec import json

from sim.analysis.errors import UsageError
from sim.analysis.explain import explain
from sim.analysis.replay import simulation_at
from sim.kernel.instants import Instant
from sim.simulation import Simulation

_HEAD = (
    "kind",
    "subject",
    "summary",
    "chain",
    "assumptions",
    "quirk",
    "fault",
    "remedy",
    "retry",
    "retry_after_s",
    "request_id",
    "now",
)


def lines(found: dict[str, Any]) -> Iterator[str]:
    """An explanation as text: the subject, its fields, the remedy, and the chain of causes."""
    yield f"{found['kind']} {found['subject']}: {found['summary']}"
    for key, value in found.items():
        if key not in _HEAD and value not in ("", None, False, []):
            yield f"  {key:<14} {_value(value)}"
    if found.get("remedy"):
        yield f"  {'remedy':<14} {found['remedy']}"
    if "retry" in found:
        after = f" after {found['retry_after_s']} s" if found.get("retry_after_s") else ""
        yield f"  {'retry':<14} {f'yes{after}' if found['retry'] else 'no'}"
    yield from _switches(found, "  ")
    for cause in found["chain"]:
        where = " ".join(cause[key] for key in ("rule", "section") if cause.get(key))
        yield f"  #{cause['seq']} {cause['at']}  {cause['what']}" + (
            f"  [{where}]" if where else ""
        )
        yield f"      because {cause['by']}"
        yield from _switches(cause, "      ")


def _switches(found: dict[str, Any], indent: str) -> Iterator[str]:
    for one in found.get("assumptions", ()):
        yield f"{indent}assumption {one['name']} = {one['value']} ({one['source']})"
    if "quirk" in found:
        yield (
            f"{indent}quirk {found['quirk']['name']}, odds {found['quirk']['odds']}"
            f" ({found['quirk']['section']})"
        )
    if "fault" in found:
        yield f"{indent}fault {found['fault']['id']}: {_value(found['fault']['spec'])}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def explain_journal(
    path: str, subject: str, until: Instant | None, out: TextIO, *, as_json: bool = False
) -> None:
    """Replay a run and print the explanation of a subject; without one, the refused calls.

    UnreadableJournal and Divergence as for a replay; UsageError for an unknown subject.
    """
    sim = simulation_at(path, until)
    if not subject:
        _print_refusals(sim, out)
        return
    found = explain(sim, subject)
    if found is None:
        raise UsageError(
            "no refused call, order, stream, account, instrument, verification or webhook is called"
            f" {subject!r} at the end of this run"
        )
    text = (
        json.format(json.encode(found), indent=2).decode() if as_json else "\n".join(lines(found))
    )
    print(text, file=out)


def _print_refusals(sim: Simulation, out: TextIO) -> None:
    refused = [entry for entry in sim.log.entries(0, sim.seq) if entry.explanation is not None]
    for entry in refused:
        why = entry.explanation or {}
        status = entry.status or entry.code
        print(f"{why['request_id']}  {status:<4} {entry.address}  {why['message']}", file=out)
    if not refused:
        print("nothing was refused", file=out)
