"""Explanations as text, and the output of `sim explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.analysis.errors import UsageError
from sim.analysis.explain import explain
from sim.analysis.replay import simulation_at
from sim.api.pipeline.request_log import LoggedCall
from sim.kernel.instants import Instant, format_instant

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


def explain_journal(path: str, subject: str, until: Instant | None) -> dict[str, Any]:
    """Replay a run and explain a subject; without one, list the refused calls, as `refused`.

    Raises UnreadableJournal and Divergence as a replay does, and UsageError for an unknown subject.
    """
    sim = simulation_at(path, until)
    if not subject:
        entries = sim.log.entries(0, sim.seq)
        return {"refused": [_refused(entry) for entry in entries if entry.explanation is not None]}
    explanation = explain(sim, subject)
    if explanation is None:
        raise UsageError(
            "no refused call, order, stream, account, instrument, verification, webhook or fault"
            f" is called {subject!r} at the end of this run"
        )
    return explanation


def text_of(found: dict[str, Any]) -> Iterator[str]:
    """What `explain_journal` found, as lines."""
    if "refused" not in found:
        yield from lines(found)
        return
    for row in found["refused"]:
        yield f"{row['request_id']}  {row['status']:<4} {row['address']}  {row['message']}"
    if not found["refused"]:
        yield "nothing was refused"


def _refused(entry: LoggedCall) -> dict[str, Any]:
    why = entry.explanation or {}
    return {
        "request_id": why["request_id"],
        "at": format_instant(entry.at),
        "caller": entry.caller,
        "status": entry.status or entry.code,
        "address": entry.address,
        "rule": why["rule"],
        "message": why["message"],
    }
