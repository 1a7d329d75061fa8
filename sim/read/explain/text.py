"""Explanations as text, and the output of `sim explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.api.pipeline.request_log import DONE, LoggedCall
from sim.kernel.instants import Instant, format_instant
from sim.read.errors import UsageError
from sim.read.explain import explain
from sim.read.layout import wrapped
from sim.read.replay import simulation_at
from sim.read.tables import cell
from sim.run.simulation import Simulation

# Keys that `lines` writes in a special form, or omits.
_SENTENCES = ("kind", "subject", "summary", "remedy", "retry", "retry_after_s", "chain")
_NO_FIELDS = {*_SENTENCES, "assumptions", "quirk", "fault", "request_id", "now"}
# Keys that the first lines of a refused call have already shown.
_OF_A_REFUSAL = {"facts", "status", "code", "message", "rule", "section", "stage", "seq"}
_OF_A_REFUSAL |= {"caller", "verdict", "refusal"}


def lines(explanation: dict[str, Any]) -> Iterator[str]:
    """Yield an explanation as text: a sentence, what to do, the fields, and the chain of causes."""
    field_names = _NO_FIELDS
    if explanation["kind"] == "request":
        field_names = _NO_FIELDS | _OF_A_REFUSAL
        yield from _refusal(explanation)
    else:
        line = f"{explanation['kind']} {explanation['subject']}: {explanation['summary']}"
        yield from wrapped(line, "  ", first="")
        yield from _what_helps(explanation)
    for key, value in explanation.items():
        if key not in field_names and value not in ("", None, False, []):
            yield from _field(key, _value(value))
    yield from _switches(explanation, "  ")
    if explanation["chain"]:
        yield "what led to it:"
    for cause in explanation["chain"]:
        where = ", ".join(map(_named, _where(cause)))
        basis = f" ({where})" if where else ""
        line = f"#{cause['seq']} {cause['at']}  {cause['what']}{basis}"
        yield from wrapped(line, " " * 6, first="  ")
        yield from wrapped(f"because {cause['by']}", " " * 8, first=" " * 6)
        yield from _switches(cause, "      ")


def _refusal(explanation: dict[str, Any]) -> Iterator[str]:
    """Yield what became of a call, the rule, what would have worked, and whether to retry."""
    status = explanation["status"] or explanation["code"]
    caller = explanation["caller"] or "a caller without credentials"
    line = f"request {explanation['subject']}: {caller} was refused: {status}"
    line += f" {explanation['message']}"
    if explanation["verdict"] != "refused":
        line = f"request {explanation['subject']} of {caller}: {explanation['summary']}"
    yield from wrapped(line, "  ", first="")
    decided = ", ".join(map(_named, _where(explanation)))
    decided += " of the specification" if explanation.get("section") else ""
    stage = f" in stage {explanation['stage']}" if "stage" in explanation else ""
    yield from _field("decided by", f"{decided}{stage}")
    if explanation["facts"]:
        facts = (f"{name} {value}" for name, value in explanation["facts"].items())
        yield from _field("facts", ", ".join(facts))
    yield from _what_helps(explanation)


def _what_helps(explanation: dict[str, Any]) -> Iterator[str]:
    if explanation.get("remedy"):
        yield from _field("remedy", explanation["remedy"])
    if "retry" in explanation:
        seconds = explanation.get("retry_after_s")
        again = f"yes after {seconds} s" if seconds else "yes"
        yield from _field("retry", again if explanation["retry"] else "no")


def _field(name: str, text: str) -> Iterator[str]:
    yield from wrapped(text, " " * 17, first=f"  {name:<14} ")


def _where(basis: dict[str, Any]) -> Iterator[str]:
    """Yield rule and section of a cause, each once."""
    rule, section = str(basis.get("rule") or ""), str(basis.get("section") or "")
    section = f"§{section.removeprefix('§')}" if section else ""
    yield from dict.fromkeys(each for each in (rule, section) if each)


def _named(reference: str) -> str:
    """Return a reference in words: "rule M34", "statement S3.1-8", or "section 7.1" for §7.1."""
    if reference.startswith("§"):
        return f"section {reference[1:]}"
    return f"statement {reference}" if "-" in reference else f"rule {reference}"


def _switches(document: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield the assumptions, quirk and fault of an explanation or of a cause."""
    for row in document.get("assumptions", ()):
        line = f"assumption {row['name']} = {cell(row['value'])} ({row['source']})"
        yield from wrapped(line, f"{indent}  ", first=indent)
    if quirk := document.get("quirk"):
        yield f"{indent}quirk {quirk['name']}, odds {quirk['odds']} ({quirk['section']})"
    if fault := document.get("fault"):
        line = f"fault {fault['id']}: {_value(fault['spec'])}"
        yield from wrapped(line, f"{indent}  ", first=indent)


def _value(value: object) -> str:
    """Return a field in readable form.

    Rows of a list become "instant what", one after the other.
    """
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "; ".join(" ".join(cell(part) for part in row.values()) for row in value)
    return json.encode(value).decode() if isinstance(value, dict) else cell(value)


def explain_journal(path: str, subject: str, until: Instant | None) -> dict[str, Any]:
    """Replay a run and explain a subject; without one, list the calls that were not simply done, as
    `refused`: refused and rejected ones, and those whose answer was lost.

    Raises UnreadableJournal and Divergence as a replay does, and UsageError for an unknown subject.
    """
    sim = simulation_at(path, until)
    if not subject:
        return {"refused": list(_not_done(sim))}
    explanation = explain(sim, subject)
    if explanation is None:
        raise UsageError(
            f"nothing is called {subject!r} at the end of this run: name a refused call (`sim"
            f" explain {path}` lists them), an order, stream/ID, an account, a symbol,"
            " kyc/EXTERNAL_ID, webhook/EVENT_ID or fault/f1"
        )
    return explanation


def text_of(explanation: dict[str, Any]) -> Iterator[str]:
    """Yield the result of `explain_journal` as lines."""
    if "refused" not in explanation:
        yield from lines(explanation)
        return
    for row in explanation["refused"]:
        rule = f"{row['rule']}: " if row["rule"] else ""
        line = f"{row['id']}  {row['status']:<4} {row['verdict']}  {row['address']}  "
        yield from wrapped(f"{line}{rule}{row['says']}", " " * 23, first="")
    counts = Counter(row["verdict"] for row in explanation["refused"])
    if not counts:
        yield "nothing was refused or rejected, and no answer was lost"
        return
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    yield f"{total}; `sim explain JOURNAL ID` says why"


def _not_done(sim: Simulation) -> Iterator[dict[str, Any]]:
    """Yield the calls of a run that were refused or rejected, or whose answer was lost."""
    for entry in sim.log.entries(0, sim.seq):
        if entry.verdict.name != DONE.name:
            yield _row(entry)


def _row(entry: LoggedCall) -> dict[str, Any]:
    verdict = entry.verdict
    return {
        "id": f"{entry.seq:016x}",
        "seq": entry.seq,
        "at": format_instant(entry.at),
        "operation": entry.operation,
        "caller": entry.caller,
        "verdict": verdict.name,
        "status": entry.status or entry.code,
        "address": entry.address,
        "rule": verdict.rule,
        "facts": verdict.facts,
        "says": verdict.text,
        "orders": list(verdict.orders),
    }
