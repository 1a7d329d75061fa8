"""Rates, spelling and what is ignored (§0, §4.3, §8, §9)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl

from sim.analysis.conformance.recorded_run import Call, Run
from sim.analysis.conformance.retries import REPORTS, narrowed
from sim.analysis.conformance.rules import Finding, Rule
from sim.api.pipeline.inputs import RestCall
from sim.kernel.instants import minutes

_OFTEN, _WINDOW = 3, minutes(1)


def _rate(run: Run) -> Iterator[Finding]:
    refused: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        if call.status != 429:
            continue
        mine = refused.setdefault((call.caller, call.operation), [])
        mine.append(call)
        recent = [other for other in mine if call.at - other.at <= _WINDOW]
        yield call.found(
            broken=(
                f"over the limit for the {len(recent)}th time within a minute: slow down"
                if len(recent) >= _OFTEN
                else ""
            ),
            because_of=mine[0],
        )


def _casing(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if isinstance(call.given, RestCall) and call.given.plane == "retail" and call.given.query:
            wrong = [
                name
                for name, _ in parse_qsl(call.given.query, keep_blank_values=True)
                if name != name.lower()
            ]
            yield call.found(
                broken=(
                    f"{', '.join(wrong)}: camelCase parameters are ignored, write snake_case"
                    if wrong
                    else ""
                )
            )


def _known_fields(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if call.operation and call.status < 400 and isinstance(call.given, RestCall):
            yield call.found(broken=f"ignored: {', '.join(call.ignored)}" if call.ignored else "")


def _filtered(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if call.rpc in REPORTS and call.request is not None:
            yield call.found(
                broken=(
                    ""
                    if narrowed(call)
                    else "without a filter by symbol most such searches die at the 30 s edge"
                )
            )


RATE = Rule(
    "within-limits",
    "8",
    "Stay within the rate limits: three 429 of one operation in a minute are too many.",
    _rate,
)
CASING = Rule(
    "snake-case-queries", "0", "Write query parameters of the retail API in snake_case.", _casing
)
KNOWN_FIELDS = Rule(
    "known-fields",
    "9",
    "Send only fields that the contract has; others are ignored.",
    _known_fields,
    advice=True,
)
FILTERED = Rule(
    "filtered-reports", "4.3", "Filter report searches by symbol.", _filtered, advice=True
)
