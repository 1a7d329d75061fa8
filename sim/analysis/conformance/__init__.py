"""The judge: what a client did, held against the rules that the service documents for clients (§5
to §8).

It reads the journal of the present branch, so it judges a live exchange, a test's and a recorded
run alike. Each rule looks at the occasions on which it could have been broken; a rule without an
occasion says nothing about the client. Time is virtual: a client that sleeps in real time under a
clock that stands still looks hasty, so judge runs on a paced clock, or ones whose client follows
the virtual clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.analysis.conformance import onboarding, orders, retries, streams, tokens, usage
from sim.analysis.conformance.recorded_run import Run
from sim.analysis.conformance.rules import Finding, Report, Rule, Verdict
from sim.core.model.refusals import NotFound

if TYPE_CHECKING:
    from sim.simulation import Simulation


def rulebook() -> dict[str, Rule]:
    """Every rule by name, in the order in which they are reported."""
    return {
        rule.name: rule
        for module in (retries, tokens, orders, streams, onboarding, usage)
        for rule in vars(module).values()
        if isinstance(rule, Rule)
    }


def check(sim: Simulation, *, caller: str = "", rules: tuple[str, ...] = ()) -> Report:
    """Judge what clients did; only a caller's calls (firm, participant or key as the request log
    names it) or only some rules, when given.

    NotFound for a rule that there is none of.
    """
    book = rulebook()
    for name in rules:
        if name not in book:
            raise NotFound(
                f"there is no rule {name!r}", rule="judge", remedy="one of " + ", ".join(book)
            )
    run = Run(sim)
    verdicts = [
        Verdict(rule, list(_occasions(rule, run, caller)))
        for rule in book.values()
        if not rules or rule.name in rules
    ]
    return Report(
        scenario=sim.scenario.name,
        seed=sim.seed,
        digest=sim.digest,
        calls=len(run.calls),
        verdicts=verdicts,
    )


def _occasions(rule: Rule, run: Run, caller: str) -> Iterator[Finding]:
    for found in rule.look(run):
        if not caller or caller == found.caller or found.caller.startswith(f"{caller}/"):
            yield found


__all__ = ["Finding", "Report", "Rule", "Verdict", "check", "rulebook"]
