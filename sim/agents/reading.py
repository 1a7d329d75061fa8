"""Tools that only read: history, explain, judge, catalogue, docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from sim.agents.answers import ToolError, answer, block, line, quoted
from sim.agents.session import Session
from sim.kernel import resources
from sim.testing.control import ControlError

_ROWS_MAX = 30
_SECTION_MAX, _SECTIONS = 1_800, 3
_REQUEST_ID = 16  # digits of a request id; shorter numbers are input numbers
_SHORT = ("seq", "at", "kind", "title", "caller", "subject", "result")


def history(
    session: Session,
    after: int = 0,
    seq: int | None = None,
    kind: str = "",
    subject: str = "",
    caller: str = "",
    exchange: str = "",
) -> str:
    """List what happened, one row per input, or show everything about one input."""
    served = session.find(exchange).served
    try:
        if seq is not None:
            record = served.control("GET", f"/history/{seq}")
            then = "`branch` with this seq begins a copy right after it."
            return answer(f"Everything about input {seq}:", record, then=then)
        query: dict[str, Any] = {"after": after, "limit": _ROWS_MAX, "kind": kind}
        query |= {"subject": subject, "caller": caller}
        chosen = {name: value for name, value in query.items() if value}
        page = served.control("GET", f"/history?{urlencode(chosen)}")
    except ControlError as error:
        raise ToolError(f"{quoted(error)}.") from None
    rows = [{key: row[key] for key in _SHORT if row.get(key)} for row in page["rows"]]
    if not rows:
        then = "a call that you expected but that is missing never left the client."
        return answer("Nothing of that kind happened.", then=then)
    then = "`history` with seq shows all of one input; `explain` says why a call was refused."
    if page["next"] is not None:
        then = f"`history` with after={page['next']} continues. " + then
    return answer(f"{len(rows)} of {page['last']} inputs, oldest first:", rows, then=then)


def explain(session: Session, subject: str, exchange: str = "") -> str:
    """Explain why a call was refused, or why something is in its state."""
    from sim.read.explain.text import lines

    served = session.find(exchange).served
    if subject.isdecimal() and len(subject) < _REQUEST_ID:  # an input number
        calls = served.requests(since=int(subject) - 1)
        subject = next((one["explain"] for one in calls if one["seq"] == int(subject)), subject)
    explanation = served.explain(subject or "-")
    if explanation is None:
        raise ToolError(
            f"Nothing is called {quoted(subject)}. A subject is the x-request-id or number of a"
            " refused call, an order id, stream/7, an account, a symbol, kyc/EXTERNAL_ID,"
            " webhook/EVENT_ID or fault/f1. `history` lists what happened."
        )
    remedy = explanation.get("remedy") or ""
    then = line(remedy) if remedy else "`docs` with the section or rule says more."
    return answer(f"Why {quoted(subject)} is as it is:", list(lines(explanation)), then=then)


def judge(session: Session, caller: str = "", exchange: str = "") -> str:
    """Check what clients did against the documented rules for clients."""
    report = session.find(exchange).served.conformance(caller=caller)
    applied = [verdict for verdict in report.verdicts if verdict.applied]
    summary = f"{report.calls} calls, {len(applied)} rules applied, {len(report.broken())} broken."
    if not report.calls:
        return answer("No client has called yet.", then="run the client, then judge again.")
    rows = [
        {
            "rule": verdict.rule.name,
            "section": verdict.rule.section,
            "advice": verdict.rule.advice,
            "do": verdict.rule.says,
            "broken": [f"input {one.seq}: {one.broken}" for one in verdict.broken[:3]],
        }
        for verdict in report.verdicts
        if verdict.broken
    ]
    then = "`history` with seq shows a broken call in full."
    if not rows:
        then = "no rule is broken: look at `history`, and at an account or order with `explain`."
    return answer(summary, rows or None, then=then)


def catalogue(
    session: Session, kind: str = "operations", pattern: str = "*", exchange: str = ""
) -> str:
    """List the rows of a catalogue whose names match, with the current values of an exchange."""
    from sim.read.catalogues import rows

    if kind == "scenarios":
        return answer(
            "Bundled scenarios:",
            [name for name in resources.bundled_scenarios() if pattern.strip("*") in name],
            then="`start` with one of them, or with YAML text that extends one.",
        )
    served = session.find(exchange).served if exchange or session.names else None
    if served is None:
        entries = rows(kind, pattern=pattern)
    else:
        entries = served.running.call(lambda: rows(kind, served.running.simulation, pattern))
    if not entries:
        raise ToolError(
            f"No entry of {kind} matches {quoted(pattern)}. Try a part of a name, or *."
        )
    if len(entries) > 8:
        names = [next(iter(row.values())) for row in entries]
        then = "`catalogue` with a narrower pattern shows whole rows."
        return f"{len(entries)} {kind}:\n\n{block([', '.join(map(str, names))[:4_000]])}\n\n{then}"
    return answer(f"{len(entries)} {kind}:", entries, then="`docs` searches the guides.")


# ---- the guides


class _Section(NamedTuple):
    page: str
    title: str
    text: str


def docs(session: Session, query: str) -> str:
    """Return the sections of the guides that are most relevant to some words."""
    words = [one for one in re.findall(r"[a-z0-9_.]+", query.lower()) if len(one) > 1]
    if not words:
        raise ToolError("Give some words to search for, such as 'sign retail requests'.")
    scored = sorted(
        ((_score(section, words), -number, section) for number, section in enumerate(_sections())),
        reverse=True,
        key=lambda each: each[:2],
    )
    best = [section for score, _, section in scored[:_SECTIONS] if score > 0]
    if not best:
        raise ToolError(f"No guide says anything about {quoted(query)}. Try other words.")
    sections = [f"### {one.title} ({one.page})\n\n{_shortened(one.text)}" for one in best]
    return "\n\n".join([*sections, "Next: `catalogue` lists operations, faults and rules by name."])


def _score(section: _Section, words: list[str]) -> float:
    title, text = section.title.lower(), section.text.lower()
    hits = sum(4 * (one in title) + min(text.count(one), 5) for one in words)
    every = all(one in title or one in text for one in words)
    return hits * (3 if every else 1) / (1 + len(text) / 8_000)


def _shortened(text: str) -> str:
    return text if len(text) <= _SECTION_MAX else text[:_SECTION_MAX] + " …"


@cache
def _sections() -> tuple[_Section, ...]:
    return tuple(_read_sections())


def _read_sections() -> Iterator[_Section]:
    """Yield every section of the guides, and those of the skill."""
    folder = resources.folder("docs")
    pages = [*sorted(folder.rglob("*.md")), resources.path("fixtures", "skill.md")]
    for page in pages:
        name = str(page.relative_to(folder)) if page.is_relative_to(folder) else "skill.md"
        parts = re.split(r"^(#{1,3} .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True):
            if text.strip():
                yield _Section(name, heading.lstrip("# "), text.strip())
