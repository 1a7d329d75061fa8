"""The report of a conformance check: as text, as JSON, as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from msgspec import Struct

from sim.analysis.conformance.rules import Rule, Verdict
from sim.analysis.junit import Case, Suite, junit
from sim.analysis.tables import print_table


class Report(Struct, frozen=True, kw_only=True):
    """The verdicts on one run."""

    scenario: str
    seed: int
    digest: str
    calls: int
    verdicts: list[Verdict]

    @property
    def ok(self) -> bool:
        """Whether no rule but advice was broken."""
        return not any(verdict.word == "broken" for verdict in self.verdicts)

    def broken(self) -> list[str]:
        """Names of the rules that were broken, advice included."""
        return [verdict.rule.name for verdict in self.verdicts if verdict.broken]

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "ok": self.ok,
            "scenario": self.scenario,
            "seed": self.seed,
            "digest": self.digest,
            "calls": self.calls,
            "rules": [_document(verdict) for verdict in self.verdicts],
        }

    def lines(self) -> Iterator[str]:
        """The report as text: a line for each rule, and below it what broke it."""
        yield self._headline()
        for verdict in self.verdicts:
            rule, times = verdict.rule, len(verdict.applied)
            head = f"  {verdict.word:<11} {rule.name:<28} §{rule.section:<5}"
            yield f"{head} {times:>4}  {rule.says}"
            yield from (f"      {line}" for line in _broken_lines(verdict))

    def _headline(self) -> str:
        broken = sum(1 for verdict in self.verdicts if verdict.word == "broken")
        result = f"{broken} rules broken" if broken else "no rule broken"
        return f"{self.scenario}, seed {self.seed}: {self.calls} calls; {result}"

    def junit(self) -> bytes:
        """JUnit XML: a case for each rule; one that never applied is skipped."""
        cases = [_case(verdict) for verdict in self.verdicts]
        return junit([Suite(f"client of {self.scenario} seed {self.seed}", cases)])

    def write(self, out: TextIO) -> None:
        """Print the report; on a terminal the rules are a table."""
        if not out.isatty():
            print(*self.lines(), sep="\n", file=out)
            return
        print(self._headline(), file=out)
        columns = ("verdict", "rule", "section", "applied", "says")
        documents = [_document(verdict) for verdict in self.verdicts]
        print_table([{name: row[name] for name in columns} for row in documents], out)
        for verdict in self.verdicts:
            if verdict.broken:
                print(f"{verdict.word} {verdict.rule.name}", file=out)
                print(*(f"  {line}" for line in _broken_lines(verdict)), sep="\n", file=out)


def _document(verdict: Verdict) -> dict[str, Any]:
    rule, applied = verdict.rule, len(verdict.applied)
    return {
        "rule": rule.name,
        "section": f"§{rule.section}",
        "says": rule.says,
        "verdict": verdict.word,
        "applied": applied,
        "occasions": applied,  # the former name
        "findings": [finding.document() for finding in verdict.broken],
    }


def _broken_lines(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.broken:
        after = f", after input {finding.because_of}" if finding.because_of else ""
        yield f"{finding.line()}{after}"


def _case(verdict: Verdict) -> Case:
    rule = verdict.rule
    return Case(
        f"§{rule.section}",
        rule.name,
        failure=rule.says if verdict.word == "broken" else "",
        skipped="the rule never applied" if verdict.word == "skipped" else "",
        text="\n".join(finding.line() for finding in verdict.broken),
    )


def rules_document(rules: dict[str, Rule]) -> list[dict[str, Any]]:
    """The rulebook as JSON."""
    return [
        {"rule": rule.name, "section": f"§{rule.section}", "says": rule.says, "advice": rule.advice}
        for rule in rules.values()
    ]


def print_rules(rules: dict[str, Rule], out: TextIO) -> None:
    """Print the rulebook."""
    for rule in rules.values():
        advice = " (advice)" if rule.advice else ""
        print(f"{rule.name:<28} §{rule.section:<5} {rule.says}{advice}", file=out)
