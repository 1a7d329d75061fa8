"""The scorecard as a page in Markdown, as a part of the documentation or on its own.

Cells are short, so that the long table of operations can be shown as lines of text on a narrow
screen. Links lead to statements, observations and assumptions: on pages of the
documentation, or at the end of a page on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from markdown_it import MarkdownIt

from sim.core.catalogue.observations import READINGS, catalogue
from sim.core.catalogue.observations.observation import Observation
from sim.evidence.axes import refusals
from sim.evidence.material import AXES
from sim.evidence.scorecard.scorecard import OperationScore, Scorecard, SwitchScore, does
from sim.read.layout import counted
from sim.read.tables import as_markdown

Rows: TypeAlias = list[dict[str, Any]]
Link: TypeAlias = Callable[[str, str], str]  # kind and name to an address

NOTHING = "no evidence"


def anchor(name: str) -> str:
    """Return the anchor of a statement, an observation or an assumption."""
    return name.lower().replace(".", "-").replace("_", "-")


def here(kind: str, name: str) -> str:
    """Return an address on the page itself."""
    return f"#{anchor(name)}"


def in_documentation(kind: str, name: str) -> str:
    """Return an address on the pages of the documentation."""
    page = {"statement": "tests.md", "observation": "observations.md"}
    return f"{page.get(kind, f'{kind}s.md')}#{anchor(name)}"


# ---- parts


def summary(card: Scorecard) -> Rows:
    """Return what is known, counted kind by kind, in both readings."""
    totals = card.totals()
    operations, switches = totals["operations"], totals["assumptions"]
    tested = f"{totals['statements_with_tests']} of {totals['statements']}"
    done = {
        reading: f"{count} of {totals['observations']}"
        for reading, count in totals["observations_done"].items()
    }
    return [
        _row("statements of the specification with tests", tested),
        {"what": "public observations that the sandbox follows", **done},
        *(_row(f"operations and streams: {text}", operations[kind]) for kind, text in _KINDS),
        *(_row(f"assumptions and quirks: {text}", switches[kind]) for kind, text in _KINDS),
    ]


_KINDS = (
    ("recorded", "in the recordings read"),
    ("live", "in answers that others published"),
    ("documents", "in documents only"),
    ("none", NOTHING),
)


def axes(card: Scorecard) -> Rows:
    """Return a row for each axis of evidence. Nothing is added up over axes."""
    totals = card.totals()["axes"]
    rows = []
    for axis, counts in totals.items():
        agrees = {reading: _ratio(counts["agrees"][reading]) for reading in READINGS}
        items = f"{counts['operations']} of {len(card.operations)}"
        rows.append({"axis": axis, "means": AXES[axis], "operations with it": items, **agrees})
    return rows


def _ratio(counts: dict[str, int] | None) -> str:
    return f"{counts['agree']} of {counts['of']}" if counts else "not measured"


def proofs(card: Scorecard) -> Rows:
    """Return how many operations are proven, not proven and unknown, and what that means."""
    return [
        {"operations": kind, "count": len(rows), "means": _PROOFS[kind]}
        for kind, rows in card.summary().items()
    ]


_PROOFS = {
    "proven": "answers of the real service were published, and the sandbox shows the same",
    "not proven": "only documents, types or imitations show it, or the sandbox differs",
    "unknown": "nobody published anything that the service answered",
}


def seen_refusals() -> Rows:
    """Return each kind of refusal, and whether anybody ever saw it."""
    rows = refusals().items()
    return [{"refusal": kind, "seen in": "; ".join(by) or "nowhere"} for kind, by in rows]


def _row(subject: str, value: object) -> dict[str, Any]:
    return {"what": subject, **dict.fromkeys(READINGS, str(value))}


def sources(card: Scorecard) -> Rows:
    """Return the recordings that were read."""
    return [
        {
            "recording": f"`{source.file}`",
            "service": ", ".join(" ".join(group) for group in source.upstream.items()) or "unknown",
            "began": source.started,
            "answers and frames": f"{source.answers:,}",
        }
        for source in card.evidence.sources
    ]


def _linked(kind: str, name: str, link: Link) -> str:
    return f"[{name}]({link(kind, name)})"


def services(card: Scorecard) -> Iterator[tuple[str, list[OperationScore]]]:
    """Yield the operations by service, in the order of the contract."""
    for service, group in groupby(card.operations, key=lambda score: score.operation.service.name):
        yield service, list(group)


def operations(scores: Iterable[OperationScore], link: Link) -> Rows:
    """Return a row per operation: what is specified, what was observed, and whether we agree."""
    return [
        {
            "operation": f"`{score.operation.rpc}`",
            "specification": _statements(score.statements, link),
            "evidence": _evidence(score, link),
            **{reading: _agreement(score, reading) for reading in READINGS},
        }
        for score in scores
    ]


def _statements(statements: dict[str, int], link: Link) -> str:
    if not statements:
        return "no statement"
    text = ", ".join(_linked("statement", name, link) for name in statements)
    bare = sum(1 for tests in statements.values() if not tests)
    return f"{text}; {bare} without a test" if bare else text


def _evidence(score: OperationScore, link: Link) -> str:
    parts = [_observed(observed, link) for observed in score.observed]
    tally = next(iter(score.recorded.values()), None)
    if tally is not None and tally.total:
        statuses = ", ".join(map(str, score.statuses))
        answers = f"{tally.total:,} recorded" + (f" ({statuses})" if statuses else "")
        fields = f"{len(score.seen_fields)} of {counted(len(score.fields), 'field')}"
        parts.append(f"{answers}, {fields}" if score.fields else answers)
    elif parts and score.fields:
        parts.append(f"no recording of its {counted(len(score.fields), 'field')}")
    return "<br>".join(parts) or NOTHING


def _observed(observation: Observation, link: Link) -> str:
    name = _linked("observation", observation.name, link)
    return f"{name}, {', '.join(observation.evidence)} {observation.date}"


def _agreement(score: OperationScore, reading: str) -> str:
    parts = []
    if score.observed:
        done = score.does(reading)
        parts.append(f"follows {done} of {len(score.observed)}")
    tally = score.recorded.get(reading)
    if tally is not None and tally.agree + tally.differ:
        parts.append(f"agrees in {tally.agree:,} of {tally.agree + tally.differ:,}")
        if tally.no_evidence:
            parts.append(f"{tally.no_evidence:,} unknown")
    return "<br>".join(parts) or "unknown"


def differences(card: Scorecard) -> Rows:
    """Return where answers and frames differ, with counts for each reading."""
    rows: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for reading, tallies in card.evidence.tallies.items():
        for name, tally in tallies.items():
            for (where, kind, culprit), group in tally.places.items():
                row = rows.setdefault(
                    (name, where, kind, culprit),
                    {
                        "operation": f"`{name}`",
                        "where": f"`{where}`",
                        "what": f"{kind}, {culprit}",
                        **dict.fromkeys(READINGS, "0"),
                    },
                )
                row[reading] = f"{group.count:,}"
    return [rows[key] for key in sorted(rows)]


def unknown(card: Scorecard) -> Rows:
    """Return what recordings show and no document describes."""
    counts: dict[tuple[str, str], int] = {}
    for tallies in card.evidence.tallies.values():
        for name, tally in tallies.items():
            for why, count in tally.unknown.items():
                counts[name, why] = max(count, counts.get((name, why), 0))
    return [
        {"operation": f"`{name}`", "reason": why, "times": f"{count:,}"}
        for (name, why), count in sorted(counts.items())
    ]


def loose_statements(card: Scorecard, link: Link) -> Rows:
    """Return the statements that concern no single operation."""
    named = {name for score in card.operations for name in score.statements}
    return [
        _statement(card, name, _linked("statement", name, link))
        for name in card.statements
        if name not in named
    ]


def _statement(card: Scorecard, name: str, cell: str) -> dict[str, Any]:
    tests = str(len(card.tests.get(name, ())))
    return {"statement": cell, "says": _safe(card.statements[name]), "tests": tests}


def loose_observations(card: Scorecard, link: Link) -> Rows:
    """Return the observations of the service as a whole."""
    return [
        _observation(card, observation, _linked("observation", observation.name, link))
        for observation in catalogue().values()
        if not observation.operations
    ]


def _observation(card: Scorecard, observation: Observation, name: str) -> dict[str, Any]:
    return {
        "observation": name,
        "evidence": f"{', '.join(observation.evidence)} {observation.date}: {observation.source}",
        "tests": str(len(card.observation_tests.get(observation.name, ()))),
        **{kind: "followed" if does(observation, kind) else "not followed" for kind in READINGS},
    }


def switches(card: Scorecard, link: Link) -> Rows:
    """Return the assumptions and quirks: those with evidence first, then all others by name."""
    ordered = sorted(card.switches, key=lambda switch: not switch.evidence)
    return [
        {
            "assumption or quirk": _linked(switch.kind, switch.name, link),
            **{reading: f"`{value}`" for reading, value in switch.values.items()},
            "source": switch.source,
            "evidence": _switch_evidence(switch, link),
        }
        for switch in ordered
    ]


def _switch_evidence(switch: SwitchScore, link: Link) -> str:
    parts = [
        f"`{observed.value}`{_against(switch, observed)}: {_observed(observed, link)}"
        for observed in switch.observed
    ]
    if switch.verdict:
        fits = ", ".join(f"`{value}`" for value in switch.inferred.get("consistent", ()))
        lines = len(switch.inferred.get("evidence", ()))
        text = f"{switch.verdict} by the recording"
        if switch.verdict != "not observed":
            text += f" ({lines} calls" + (f"; fits {fits})" if fits else ")")
        parts.append(text)
    return "<br>".join(parts) or NOTHING


def _against(switch: SwitchScore, observed: Observation) -> str:
    """Return a note on an observed value that neither reading uses."""
    return "" if str(observed.value) in switch.values.values() else ", differs from our values"


# ---- the page on its own


def page(card: Scorecard) -> str:
    """Return the page in Markdown, including the targets of its links."""
    blocks = [*_head(card), *_operations(card), *_rest(card), *_appendix(card)]
    return "\n\n".join(blocks) + "\n"


def _head(card: Scorecard) -> Iterator[str]:
    yield "# How close the sandbox is to the recorded service"
    yield INTRODUCTION
    if card.evidence.sources:
        yield as_markdown(sources(card))
        if card.evidence.of_this_machine:
            yield (
                f"{', '.join(card.evidence.of_this_machine)}: recorded from a server on this"
                " machine. If that was a sandbox, nothing here is evidence of the service."
            )
    scenario = card.evidence.scenario
    if scenario:
        yield f"Values, order and causality are compared too, by a replay into `{scenario}`."
    elif card.evidence.sources:
        yield (
            "Answers and frames are compared with the contract only. To compare values too, name a"
            " scenario with --scenario."
        )
    else:
        yield "No recording was read, so the page shows public evidence only."
    yield as_markdown(summary(card))


INTRODUCTION = (
    "Use this page to judge how far the sandbox behaves like the service. Each column counts one"
    " kind of evidence, and the counts are not combined. An operation without a published or"
    f" recorded answer of the service is *{NOTHING}*, however well it is specified and tested. The"
    " reading *documented* follows the specification where it contradicts an observation; the"
    " reading *observed* follows the observation."
)


def _operations(card: Scorecard) -> Iterator[str]:
    yield "## Operations and streams"
    for service, scores in services(card):
        yield f"### {service}"
        yield as_markdown(operations(scores, here))


def _rest(card: Scorecard) -> Iterator[str]:
    if card.evidence.sources:
        yield from _with_rows("Differences", differences(card), "Nothing differs in any reading.")
        nothing = "Every answer and frame belongs to a documented address or method."
        yield from _with_rows("What no document describes", unknown(card), nothing)
    yield "## Statements that concern no single operation"
    yield as_markdown(loose_statements(card, here))
    yield "## Observations of the service as a whole"
    yield as_markdown(loose_observations(card, here))
    yield "## Assumptions and quirks"
    yield as_markdown([_anchored(row) for row in switches(card, here)])


def _with_rows(title: str, rows: Rows, nothing: str) -> Iterator[str]:
    yield f"## {title}"
    yield as_markdown(rows) if rows else nothing


def _anchored(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an assumption on the page itself: it is a target of links and has none."""
    name = row["assumption or quirk"].partition("]")[0][1:]
    return row | {"assumption or quirk": _target(name)}


def _target(name: str) -> str:
    return f'<a id="{anchor(name)}"></a>`{name}`'


def _appendix(card: Scorecard) -> Iterator[str]:
    yield "## Statements of the specification"
    yield as_markdown(
        [_statement(card, name, f'<a id="{anchor(name)}"></a>{name}') for name in card.statements]
    )
    yield "## Observations"
    yield as_markdown(
        [
            _observation(card, observation, _target(observation.name))
            | {"what was seen": _safe(observation.summary)}
            for observation in catalogue().values()
        ]
    )


def _safe(text: str) -> str:
    """Return text that neither Markdown nor HTML reads as markup."""
    return escape(text, quote=False).replace("*", "\\*")


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .4rem .6rem; text-align: left;
  vertical-align: top; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
td:first-child { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { border-bottom: 1px solid #8886; display: block; padding: .5rem 0; }
  td { border: 0; display: block; padding: .1rem 0; }
  td:first-child { font-weight: bold; }
  td:not(:first-child)::before { content: attr(data-label) ": "; opacity: .7; }
}
"""


def html(markdown: str) -> str:
    """Return the page as HTML. Each cell of a table has its column's name, which narrow screens
    show instead of the row of names.
    """
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(markdown)
    title, names, column = "", list[str](), 0
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            title = title or content.content
        elif token.type == "table_open":
            names = []
        elif token.type == "th_open":
            names.append(content.content)
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            token.attrSet("data-label", names[column])
            column += 1
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"{parser.renderer.render(tokens, parser.options, {})}</body></html>\n"
    )
