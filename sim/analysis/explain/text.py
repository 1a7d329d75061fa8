"""Explanations as people read them, and `sim explain`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import json

from sim.analysis.explain import explain
from sim.analysis.replay import replayed
from sim.kernel.instants import Instant

if TYPE_CHECKING:
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
UNKNOWN = 2


def lines(found: dict[str, Any]) -> Iterator[str]:
    """An explanation as text: what it is, the sentence, what helps, the chain."""
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
    for link in found["chain"]:
        where = " ".join(link[key] for key in ("rule", "section") if link.get(key))
        yield f"  #{link['seq']} {link['at']}  {link['what']}" + (f"  [{where}]" if where else "")
        yield f"      because {link['by']}"
        yield from _switches(link, "      ")


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
    path: str,
    subject: str,
    until: Instant | None,
    out: TextIO,
    problems: TextIO,
    *,
    as_json: bool = False,
) -> int:
    """`sim explain JOURNAL SUBJECT`: replays the run and asks it. Without a subject, what was
    refused. The exit code.
    """
    said = io.StringIO()
    sim = replayed(path, until, said)
    if isinstance(sim, int):
        problems.write(said.getvalue())
        return sim
    if not subject:
        _refusals(sim, out)
        return 0
    found = explain(sim, subject)
    if found is None:
        print(
            "sim: no refused call, order, stream, account, instrument, verification or webhook is"
            f" called {subject!r} at the end of this run",
            file=problems,
        )
        return UNKNOWN
    print(
        json.format(json.encode(found), indent=2).decode() if as_json else "\n".join(lines(found)),
        file=out,
    )
    return 0


def _refusals(sim: Simulation, out: TextIO) -> None:
    refused = [entry for entry in sim.log.entries(0, sim.seq) if entry.explanation is not None]
    for entry in refused:
        why = entry.explanation or {}
        print(
            f"{why['request_id']}  {entry.status or entry.code:<4} {entry.address} "
            f" {why['message']}",
            file=out,
        )
    if not refused:
        print("nothing was refused", file=out)
