"""The report of a conformance check: as text, as JSON, as JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from msgspec import Struct

from sim.read.conformance.rules import Rule, RuleVerdict
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, put, wrapped

SHOWN_MAX = 5  # findings shown for one rule


class ConformanceReport(Struct, frozen=True, kw_only=True):
    """The verdicts on one run."""

    scenario: str
    seed: int
    digest: str
    calls: int
    verdicts: list[RuleVerdict]

    @property
    def ok(self) -> bool:
        """Whether no rule other than advice was broken."""
        return not any(verdict.word == "broken" for verdict in self.verdicts)

    def broken(self) -> list[str]:
        """The names of the rules that were broken, including advice."""
        return [verdict.rule.name for verdict in self.verdicts if verdict.broken]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "ok": self.ok,
            "scenario": self.scenario,
            "seed": self.seed,
            "digest": self.digest,
            "calls": self.calls,
            "rules": [_document(verdict) for verdict in self.verdicts],
        }

    def lines(self) -> Iterator[str]:
        """Yield the report as text: broken rules with details, then kept ones, then the others."""
        yield from wrapped(self._headline())
        for verdict in self.verdicts:
            if verdict.broken:
                yield from _broken_lines(verdict)
        kept = [
            f"{verdict.rule.name} ({len(verdict.applied)})"
            for verdict in self.verdicts
            if verdict.word == "kept"
        ]
        skipped = [verdict.rule.name for verdict in self.verdicts if verdict.word == "skipped"]
        if kept:
            yield from wrapped(
                f"kept, with the times each applied: {', '.join(kept)}", "  ", first=""
            )
        if skipped:
            yield from wrapped(f"never applied: {', '.join(skipped)}", "  ", first="")
            yield "`sim conformance --list` describes each rule"

    def _headline(self) -> str:
        count = Counter(verdict.word for verdict in self.verdicts)
        broken = counted(count["broken"], "rule") if count["broken"] else "no rule"
        text = f"{broken} broken, {count['kept']} kept, {count['skipped']} never applied"
        if count["advice"]:
            text += f", advice of {count['advice']} not followed"
        calls = counted(self.calls, "call") if self.calls else "no client called"
        return f"{self.scenario}, seed {self.seed}: {calls}; {text}"

    def junit(self) -> bytes:
        """Return JUnit XML, with one case per rule. A rule that never applied is skipped."""
        cases = [_case(verdict) for verdict in self.verdicts]
        return junit([Suite(f"client of {self.scenario} seed {self.seed}", cases)])

    def write(self, out: TextIO) -> None:
        """Print the report, with verdicts in colour on a terminal."""
        for line in self.lines():
            word = line.partition(" ")[0]
            colour = {"broken": "red", "advice": "yellow", "kept,": "green"}.get(word, "")
            put(line, file=out, painted=(word, colour))


def _document(verdict: RuleVerdict) -> dict[str, Any]:
    return {
        **verdict.rule.document(),
        "verdict": verdict.word,
        "applied": len(verdict.applied),
        "findings": [finding.document() for finding in verdict.broken],
    }


def _broken_lines(verdict: RuleVerdict) -> Iterator[str]:
    rule, breaches = verdict.rule, verdict.broken
    times = f"{len(breaches)} of the {counted(len(verdict.applied), 'time')} that it applied"
    head = f"{verdict.word} {rule.name}, §{rule.section}, {times}: {rule.requirement}"
    yield from wrapped(head, "  ", first="")
    for finding in breaches[:SHOWN_MAX]:
        after = f", after input {finding.because_of}" if finding.because_of else ""
        yield from wrapped(f"{finding.line()}{after}", "    ", first="  ")
    if len(breaches) > SHOWN_MAX:
        yield f"  … and {len(breaches) - SHOWN_MAX} more; --json has all"


def _case(verdict: RuleVerdict) -> Case:
    rule = verdict.rule
    return Case(
        f"§{rule.section}",
        rule.name,
        failure=rule.requirement if verdict.word == "broken" else "",
        skipped=rule.unmet if verdict.word == "skipped" else "",
        text="\n".join(finding.line() for finding in verdict.broken),
    )


def rules_document(rules: dict[str, Rule]) -> list[dict[str, Any]]:
    """Return the rulebook as JSON."""
    return [{**rule.document(), "advice": rule.advice} for rule in rules.values()]


def print_rules(rules: dict[str, Rule], out: TextIO) -> None:
    """Print the rulebook."""
    for rule in rules.values():
        advice = " (advice)" if rule.advice else ""
        text = f"{rule.name:<25} §{rule.section:<4} {rule.requirement}{advice}"
        put(*wrapped(text, " " * 32, first=""), file=out)
