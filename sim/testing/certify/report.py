"""The forms of a report: text, JUnit XML, a page, a badge; and what its profile asks for."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Any, TextIO

from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, put, wrapped
from sim.testing.certify.judge import (
    FAILED,
    NOTE,
    PASSED,
    UNEXERCISED,
    CertificationReport,
    ItemVerdict,
    failing,
)
from sim.testing.certify.profile import Profile

_UNMET = (
    "No call reached the exchange that judges the tests. They find it by SIM_READY_FILE; tests"
    " that use the pytest fixture `exchange` start exchanges of their own."
)
_PAGE = Path(__file__).with_name("page.html")
_COLOURS = {PASSED: "#2e7d32", FAILED: "#b71c1c", UNEXERCISED: "#616161"}


def summary(report: CertificationReport) -> str:
    """`partner-1: 20 passed, 1 failed, 12 not exercised`."""
    count = report.count
    parts = ", ".join(f"{count[word]} {word}" for word in (PASSED, FAILED, UNEXERCISED))
    return f"{report.profile.name}: {parts}"


def lines(report: CertificationReport) -> Iterator[str]:
    """Return the report as text: failed items with places, then passed, then not exercised ones."""
    yield summary(report)
    for verdict in report.verdicts:
        if verdict.verdict == FAILED:
            head = f"failed {verdict.item.id}, {verdict.item.section}: {verdict.item.summary}"
            yield from wrapped(head, "  ", first="")
            detail = _failure_messages(report, verdict)
            for text in verdict.evidence:
                yield from wrapped(text, "    ", first="  ")
                if text in detail:
                    yield from wrapped(detail[text], "      ", first="      ")
            yield from wrapped(f"why: {verdict.item.why}", "    ", first="  ")
    if not any(leg.calls for leg in report.legs):
        yield from wrapped(_UNMET, "  ", first="")
    names = [verdict.item.id for verdict in report.verdicts if verdict.verdict == PASSED]
    if names:
        yield from wrapped(f"{PASSED}: {', '.join(names)}", "  ", first="")
    for verdict in report.verdicts:
        if verdict.verdict == UNEXERCISED:
            why = "; ".join(verdict.evidence)
            yield from wrapped(f"{UNEXERCISED}: {verdict.item.id}: {why}", "  ", first="")
    if report.left_out:
        yield from wrapped(f"legs that were not run: {', '.join(report.left_out)}", "  ", first="")
    yield from wrapped(NOTE, "", first="")


def _failure_messages(report: CertificationReport, verdict: ItemVerdict) -> dict[str, str]:
    """Return the messages of the failed tests that an item's evidence names."""
    leg = verdict.item.leg
    return {
        failing(leg, name): message
        for name, message in report.messages.get(leg, {}).items()
        if message
    }


def write(report: CertificationReport, out: TextIO) -> None:
    """Print the report, with verdicts in colour on a terminal."""
    for line in lines(report):
        word = line.partition(" ")[0]
        colour = {"failed": "red", "passed:": "green"}.get(word, "")
        put(line, file=out, painted=(word, colour))


def junit_of(report: CertificationReport) -> bytes:
    """Return JUnit XML: one case per item; items that were not exercised are skipped."""
    cases = [_case(report, verdict) for verdict in report.verdicts]
    properties = {"profile": report.profile.name, "profile.sha256": report.profile.digest}
    suite = Suite(f"client against {report.profile.name}", cases, {**properties, "note": NOTE})
    return junit([suite])


def _case(report: CertificationReport, verdict: ItemVerdict) -> Case:
    item = verdict.item
    return Case(
        report.profile.name,
        item.id,
        failure=item.summary if verdict.verdict == FAILED else "",
        skipped="; ".join(verdict.evidence) if verdict.verdict == UNEXERCISED else "",
        text="\n".join(verdict.evidence),
    )


def badge(report: CertificationReport) -> str:
    """An SVG picture of two fields: the profile, and the outcome."""
    count = report.count
    left = f"sandbox {report.profile.name}"
    right = f"{count[FAILED]} failed" if count[FAILED] else f"{count[PASSED]} passed"
    if count[UNEXERCISED]:
        right += f", {count[UNEXERCISED]} not exercised"
    if report.left_out:
        right += ", incomplete"
    word = PASSED if report.ok else (FAILED if count[FAILED] else UNEXERCISED)
    colour, left_width, right_width = _COLOURS[word], 7 * len(left) + 12, 7 * len(right) + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left_width + right_width}"'
        ' height="20" role="img"'
        f' aria-label="{left}: {right}"><title>{left}: {right}</title>'
        f'<rect width="{left_width}" height="20" fill="#424242"/>'
        f'<rect x="{left_width}" width="{right_width}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="6" y="14" textLength="{left_width - 12}">{left}</text>'
        f'<text x="{left_width + 6}" y="14" textLength="{right_width - 12}">{right}</text>'
        "</g></svg>\n"
    )


def page(report: CertificationReport) -> str:
    """Return a page that opens from disk, with failed items first."""
    rows = "\n".join(
        map(_row, sorted(report.verdicts, key=lambda verdict: verdict.verdict != FAILED))
    )
    legs = "\n".join(
        f"<tr><td>{leg.leg}</td><td>{'-' if leg.code is None else leg.code}</td>"
        f"<td>{leg.calls}</td><td>{'yes' if leg.exercised else 'no'}</td>"
        f"<td><code>{leg.digest}</code></td></tr>"
        for leg in report.legs
    )
    left = ", ".join(report.left_out)
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        summary=escape(summary(report)),
        asked=escape(report.profile.summary),
        note=escape(NOTE),
        left_out=f"<p>Not run: {escape(left)}</p>" if left else "",
        rows=rows,
        legs=legs,
        count=counted(len(report.legs), "leg"),
        profile=escape(report.profile.name),
        digest=report.profile.digest,
    )


def _row(verdict: ItemVerdict) -> str:
    item = verdict.item
    evidence = "<br>".join(map(escape, verdict.evidence))
    return (
        f'<tr><td id="{item.id}">{item.id}<br>{escape(item.section)}</td>'
        f'<td class="{verdict.verdict.partition(" ")[0]}">{verdict.verdict}</td>'
        f"<td>{escape(item.summary)}<br><small>{escape(item.why)}</small></td>"
        f"<td><code>{evidence}</code></td></tr>"
    )


# ---- what a profile asks for


def listing(profile: Profile) -> dict[str, Any]:
    """The legs and items of a profile as JSON."""
    return {
        "profile": profile.id,
        "version": profile.version,
        "sha256": profile.digest,
        "says": profile.summary,
        "legs": [{"id": leg.id, "says": leg.summary} for leg in profile.legs],
        "items": [
            {"id": item.id, "section": item.section, "says": item.summary, "why": item.why}
            for item in profile.items
        ],
    }


def print_listing(profile: Profile, out: TextIO) -> None:
    """Print the legs and items of a profile."""
    put(*wrapped(f"{profile.name}: {profile.summary}", "  ", first=""), file=out)
    put("", "legs:", file=out)
    for leg in profile.legs:
        put(*wrapped(f"{leg.id:<20}{leg.summary}", " " * 22, first="  "), file=out)
    put("", "items:", file=out)
    for item in profile.items:
        line = f"{item.id:<28}{item.section:<6}{item.summary} {item.why}"
        put(*wrapped(line, " " * 36, first="  "), file=out)
