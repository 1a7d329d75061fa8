"""Conformance: checks what clients did in a run against the documented rules for clients (§5-§8).

A check reads the journal of the current branch, so it works the same for a live exchange, for that
of a test and for a recorded run. It journals and changes nothing.

How a rule is written: a generator with the decorator `@rule(section, applies_to=…)`, named like the
rule, with its sentence as docstring. It takes the `ClientActivity` and yields a `Finding` each time
the rule *applied*, that is, each time the client could have broken it. A finding with a text in
`broken` says how it did; one without says that it did not. So "kept" is always based on evidence,
and a rule that never applied is reported as skipped: a client that was never answered 429 has not
shown that it respects Retry-After. `because_of` names the input that made the rule apply. Modules
with rules are listed in `MODULES`, in the order of the report.

| Verdict | Meaning |
|---|---|
| kept | the rule applied and no client broke it |
| broken | a client broke it |
| advice | a client broke it, and the rule is only advice |
| skipped | the rule never applied |

Time is virtual. A client that sleeps in real time while the clock stands still seems to hurry, so
check runs with a paced clock, or clients that follow the virtual clock.
"""

from __future__ import annotations

from sim.core.model.refusals import NotFound
from sim.kernel.work import Work, done
from sim.read.conformance import onboarding, orders, resends, retries, streams, tokens, usage
from sim.read.conformance.recorded_run import ClientActivity, Finding
from sim.read.conformance.report import ConformanceReport
from sim.read.conformance.rules import Rule, RuleVerdict
from sim.run.simulation import Simulation

MODULES = (retries, resends, tokens, orders, streams, onboarding, usage)


def rulebook() -> dict[str, Rule]:
    """Return every rule by name, in the order of the report."""
    return {
        rule.name: rule
        for module in MODULES
        for rule in vars(module).values()
        if isinstance(rule, Rule)
    }


def check(
    sim: Simulation, *, caller: str = "", rules: tuple[str, ...] = (), clock_moves: bool = False
) -> ConformanceReport:
    """Check what clients did, all at once; see `check_in_steps`."""
    return done(check_in_steps(sim, caller=caller, rules=rules, clock_moves=clock_moves))


def check_in_steps(
    sim: Simulation, *, caller: str = "", rules: tuple[str, ...] = (), clock_moves: bool = False
) -> Work[ConformanceReport]:
    """Check what clients did, optionally only one caller's calls or only some rules.

    A caller is a participant, firm or address, as in the request log; a firm includes its
    participants. `clock_moves` is whether the clock moved while clients waited: where it may have
    stood still, who called again at the same instant may have waited in real time. Refuses an
    unknown rule as not found.
    """
    book = rulebook()
    for name in rules:
        if name not in book:
            raise NotFound(f"unknown rule {name!r}", rule="T1", remedy="one of " + ", ".join(book))
    run = ClientActivity(sim, in_steps=True, clock_moves=clock_moves)
    digest = sim.digest
    yield from run.read()
    verdicts = []
    for rule in book.values():
        if not rules or rule.name in rules:
            findings = []
            for finding in rule.findings(run):
                if finding.is_about(caller):
                    findings.append(finding)
                yield
            verdicts.append(RuleVerdict(rule, findings))
    return ConformanceReport(
        scenario=sim.scenario.name,
        seed=sim.seed,
        digest=digest,
        calls=len(run.calls),
        verdicts=verdicts,
    )


__all__ = [
    "ConformanceReport",
    "Finding",
    "Rule",
    "RuleVerdict",
    "check",
    "check_in_steps",
    "rulebook",
]
