"""What a rule is, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from sim.read.conformance.recorded_run import ClientActivity, Finding

Findings = Callable[[ClientActivity], Iterable[Finding]]


class Rule(Struct, frozen=True):
    """A documented rule for clients.

    `findings` yields each time it applied in a run; `applies_to` describes to what it applies.
    Breaking `advice` is reported, but does not count as a failure.
    """

    name: str
    section: str
    requirement: str
    applies_to: str
    findings: Findings
    advice: bool = False

    def document(self) -> dict[str, Any]:
        """Return the rule as JSON, without what depends on a run."""
        return {
            "rule": self.name,
            "section": f"§{self.section}",
            "says": self.requirement,
            "applies_to": self.applies_to,
        }

    @property
    def unmet(self) -> str:
        """Why the rule never applied."""
        return f"it applies to {self.applies_to}, and there was no such case"


def rule(section: str, *, applies_to: str, advice: bool = False) -> Callable[[Findings], Rule]:
    """Return a decorator that makes a rule of a generator of findings: its name is that of the
    generator with hyphens, its requirement the docstring.
    """

    def decorate(findings: Findings) -> Rule:
        name = findings.__name__.replace("_", "-")
        requirement = " ".join((findings.__doc__ or "").split())
        return Rule(name, section, requirement, applies_to, findings, advice)

    return decorate


class RuleVerdict(Struct, frozen=True):
    """A rule, and each time that it applied."""

    rule: Rule
    applied: list[Finding]

    @property
    def broken(self) -> list[Finding]:
        """Each time that a client broke the rule."""
        return [finding for finding in self.applied if finding.broken]

    @property
    def word(self) -> str:
        """kept, broken, advice (broken, but only advice), or skipped (never applied)."""
        if self.broken:
            return "advice" if self.rule.advice else "broken"
        return "kept" if self.applied else "skipped"
