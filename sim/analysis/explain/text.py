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

# Keys that `lines` writes in a form of their own, or leaves out.
_SENTENCES = ("kind", "subject", "summary", "remedy", "retry", "retry_after_s", "chain")
_NO_FIELDS = {*_SENTENCES, "assumptions", "quirk", "fault", "request_id", "now"}


def lines(explanation: dict[str, Any]) -> Iterator[str]:
    """An explanation as text: the subject, its fields, the remedy, and the chain of causes."""
    yield f"{explanation['kind']} {explanation['subject']}: {explanation['summary']}"
    for key, value in explanation.items():
        if key not in _NO_FIELDS and value not in ("", None, False, []):
            yield f"  {key:<14} {_value(value)}"
    if explanation.get("remedy"):
        yield f"  {'remedy':<14} {explanation['remedy']}"
    if "retry" in explanation:
        seconds = explanation.get("retry_after_s")
        yes = f"yes after {seconds} s" if seconds else "yes"
        yield f"  {'retry':<14} {yes if explanation['retry'] else 'no'}"
    yield from _switches(explanation, "  ")
    for cause in explanation["chain"]:
        where = " ".join(cause[key] for key in ("rule", "section") if cause.get(key))
        basis = f"  [{where}]" if where else ""
        yield f"  #{cause['seq']} {cause['at']}  {cause['what']}{basis}"
        yield f"      because {cause['by']}"
        yield from _switches(cause, "      ")


def _switches(document: dict[str, Any], indent: str) -> Iterator[str]:
    """Assumptions, quirk and fault of an explanation or of a cause."""
    for one in document.get("assumptions", ()):
        yield f"{indent}assumption {one['name']} = {one['value']} ({one['source']})"
    if quirk := document.get("quirk"):
        yield f"{indent}quirk {quirk['name']}, odds {quirk['odds']} ({quirk['section']})"
    if fault := document.get("fault"):
        yield f"{indent}fault {fault['id']}: {_value(fault['spec'])}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def explain_journal(
    path: str, subject: str, until: Instant | None, out: TextIO, *, as_json: bool = False
) -> None:
    """Replay a run and print the explanation of a subject; without one, the refused calls.

    Raises UnreadableJournal and Divergence as a replay does, and UsageError for an unknown subject.
    """
    sim = simulation_at(path, until)
    if not subject:
        _print_refusals(sim, out)
        return
    explanation = explain(sim, subject)
    if explanation is None:
        raise UsageError(
            "no refused call, order, stream, account, instrument, verification or webhook is called"
            f" {subject!r} at the end of this run"
        )
    if as_json:
        print(json.format(json.encode(explanation), indent=2).decode(), file=out)
    else:
        print("\n".join(lines(explanation)), file=out)


def _print_refusals(sim: Simulation, out: TextIO) -> None:
    refused = [entry for entry in sim.log.entries(0, sim.seq) if entry.explanation is not None]
    for entry in refused:
        why, status = entry.explanation or {}, entry.status or entry.code
        print(f"{why['request_id']}  {status:<4} {entry.address}  {why['message']}", file=out)
    if not refused:
        print("nothing was refused", file=out)
