"""The results of a hunt, printed: new features as they come, and the verdict at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from sim.contract.contract import load_contract
from sim.core.lifecycle.states import EDGES
from sim.read.decisions import RULES
from sim.read.features import GROUPS, describe, totals
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, listed, put, wrapped
from sim.search.hunt.campaign import CampaignState, EpisodeReport
from sim.search.hunt.finds import SavedFinding
from sim.search.hunt.troubles import KINDS

_SHOWN_MAX = 4  # features of one kind that are printed one by one
_MISSING_MAX = 12


class Printer:
    """Prints what is new: the first few features of a group one by one, later ones as counts."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed: Counter[str] = Counter()
        self._more: Counter[str] = Counter()

    def show(self, report: EpisodeReport, inputs: int) -> None:
        """Print what an episode brought after a number of inputs, or the counts of a round."""
        for feature in report.features:
            group = feature.partition(":")[0]
            if f"{group}s" not in GROUPS:
                continue
            self._printed[group] += 1
            if self._printed[group] <= _SHOWN_MAX:
                put(f"{inputs:>8}  {describe(feature)}", file=self._out)
            else:
                self._more[group] += 1
        for finding in report.findings:
            trouble = finding.trouble
            text = f"{inputs:>8}  FOUND {trouble.kind}: {trouble.text}"
            put(*wrapped(text, " " * 10, first=""), file=self._out, flush=True)
        if report.ends_round and self._more:
            counts = ", ".join(f"{n} {group}s" for group, n in sorted(self._more.items()))
            put(f"{inputs:>8}  and {counts}", file=self._out, flush=True)
            self._more.clear()


def document(state: CampaignState, findings: Sequence[SavedFinding], seed: int) -> dict[str, Any]:
    """Return a hunt as a document for programs."""
    return {
        "seed": seed,
        "inputs": state.inputs,
        "cpu_s": round(state.cpu_s, 3),
        "episodes": state.episodes,
        "moments": state.kept,
        "interrupted": state.interrupted,
        "features": totals(state.features),
        "rules": rules_met(state),
        "never": {name: list(rows) for name, rows in never(state).items()},
        "canary": {"found": state.canary is not None, "inputs": state.canary},
        "found": [
            {
                "kind": finding.trouble.kind,
                "says": finding.trouble.text,
                "oracle": "law" if finding.trouble.kind == "law" else None,
                "journal": finding.journal,
                "scenario": finding.scenario,
                "confirmed": finding.confirmed,
                "commands": finding.commands(),
            }
            for finding in findings
        ],
    }


def junit_of(state: CampaignState, findings: Sequence[SavedFinding], seed: int) -> bytes:
    """Return JUnit XML: a case for each kind of trouble, and one for the canary."""
    cases = []
    for kind in KINDS:
        texts = [
            f"{finding.trouble.text} ({finding.journal})"
            for finding in findings
            if finding.trouble.kind == kind
        ]
        failure = texts[0] if texts else ""
        cases.append(Case("hunt", kind, state.cpu_s, failure, text="\n".join(texts)))
    blind = "" if state.canary is not None else "blind: the canary was not found"
    cases.append(Case("hunt", "canary", state.canary_cpu_s, blind))
    counts = {name: str(number) for name, number in totals(state.features).items()}
    return junit([Suite(f"sim hunt seed {seed}", cases, {"inputs": str(state.inputs), **counts})])


def rules_met(state: CampaignState) -> dict[str, dict[str, Any]]:
    """Return each rule or statement that decided something, and after how many inputs first."""
    groups = (feature.partition(":") for feature in state.features)
    met = {rule for group, _, rule in groups if group == "rule"}
    in_order = [*filter(met.__contains__, RULES), *sorted(met.difference(RULES))]
    return {rule: {"inputs": state.features[f"rule:{rule}"]} for rule in in_order}


def never(state: CampaignState) -> dict[str, list[str]]:
    """Return what was never met, by kind."""
    met = {feature.split("|")[0].partition(":")[2] for feature in state.features}
    edges = (f"lifecycle|{was.name}|{to.name}" for was, to in EDGES)
    rules = rules_met(state)
    return {
        "rules": [rule for rule in RULES if rule not in rules],
        "operations": [each.name for each in load_contract().operations if each.name not in met],
        "edges": [edge.replace("|", " ") for edge in edges if f"edge:{edge}" not in state.features],
    }


def lines(state: CampaignState, findings: Sequence[SavedFinding]) -> Iterator[str]:
    """Yield the verdict for people."""
    counts = ", ".join(
        counted(number, name.removesuffix("s")) if name in GROUPS else f"{number} {name}"
        for name, number in totals(state.features).items()
    )
    yield ""
    budget = f"{state.inputs:,} inputs in {counted(state.episodes, 'episode')}"
    yield f"{budget}, {state.cpu_s:.1f} s of processor time"
    yield from wrapped(f"met {counts}", "  ", first="")
    for name, rows in never(state).items():
        if rows:
            text = f"{counted(len(rows), name.removesuffix('s'))} never met: "
            yield from wrapped(text + listed(rows, _MISSING_MAX), "  ", first="")
    if state.canary is not None:
        yield f"the canary was found after {state.canary:,} inputs"
    else:
        text = "blind: the canary, a bug made on purpose, was not found; hunt longer before you"
        yield from wrapped(f"{text} trust that nothing was", "  ", first="")
    for finding in findings:
        trouble, inputs = finding.trouble, counted(finding.inputs, "input")
        yield from wrapped(f"{trouble.kind}: {trouble.text} ({inputs})", "  ", first="")
        if not finding.confirmed:
            yield "  not found again in a new process"
        yield from (f"  {command}" for command in finding.commands())
    if not findings:
        yield "nothing was found"
