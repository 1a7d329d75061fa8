"""The forms of a report: text, JUnit XML, a page, a badge."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TextIO

from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, paint, wrapped
from sim.testing.certify.judge import (
    FAILED,
    NOTE,
    PASSED,
    UNEXERCISED,
    CertificationReport,
    ItemVerdict,
    failing,
)

_UNMET = (
    "No call reached the exchange that judges the tests. They find it by SIM_READY_FILE; tests"
    " that use the pytest fixture `exchange` start exchanges of their own."
)
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
        colour = {"failed": "red", "passed:": "green"}.get(word)
        print(line.replace(word, paint(word, colour, out), 1) if colour else line, file=out)


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


_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem;
border-bottom:1px solid #ccc}.failed{color:#b71c1c}.passed{color:#2e7d32}.not{color:#616161}
.note{border-left:4px solid #616161;padding-left:1rem}code{overflow-wrap:anywhere}
:root{color-scheme:light dark}
@media(prefers-color-scheme:dark){body{background:#121212;color:#e0e0e0}td,th{border-color:#444}
.failed{color:#ef9a9a}.passed{color:#a5d6a7}.not{color:#bdbdbd}}
@media(max-width:40rem){thead{display:none}tr,td{display:block;border:0;padding:.1rem 0}
tr{border-bottom:1px solid #888;padding:.6rem 0}}
"""


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
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(summary(report))}</title><style>{_STYLE}</style></head><body>
<h1>Conformance report of a client</h1>
<p>{escape(summary(report))}. {escape(report.profile.summary)}</p>
<p class="note">{escape(NOTE)}</p>
{f"<p>Not run: {escape(left)}</p>" if left else ""}
<table><thead><tr><th>Item</th><th>Verdict</th><th>What is asked, and why</th><th>Evidence</th></tr>
</thead><tbody>
{rows}
</tbody></table>
<h2>Legs</h2>
<table><thead><tr><th>Leg</th><th>Exit code</th><th>Calls</th><th>Exercised</th><th>Digest</th></tr>
</thead><tbody>
{legs}
</tbody></table>
<p>{counted(len(report.legs), "leg")}; profile {escape(report.profile.name)}, SHA-256
<code>{report.profile.digest}</code>. <code>sim certify --check bundle.zip</code> replays them.</p>
</body></html>
"""


def _row(verdict: ItemVerdict) -> str:
    item = verdict.item
    evidence = "<br>".join(map(escape, verdict.evidence))
    return (
        f'<tr><td id="{item.id}">{item.id}<br>{escape(item.section)}</td>'
        f'<td class="{verdict.verdict.partition(" ")[0]}">{verdict.verdict}</td>'
        f"<td>{escape(item.summary)}<br><small>{escape(item.why)}</small></td>"
        f"<td><code>{evidence}</code></td></tr>"
    )
