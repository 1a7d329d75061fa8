"""The output of a hunt: news as it comes, finds, and the verdict at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from sim.contract.contract import load_contract
from sim.core.lifecycle.states import EDGES
from sim.read.decisions import RULES
from sim.read.features.features import GROUPS, describe, totals
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, wrapped
from sim.search.hunt.campaign import CampaignState, HuntFinding
from sim.search.hunt.finds import Find
from sim.search.hunt.oracles import KINDS

_SHOWN_MAX = 4  # news of one kind that are printed one by one
_MISSING_MAX = 12


class Printer:
    """Prints news: the first few of each group one by one, later ones as counts per round."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed: Counter[str] = Counter()
        self._more: Counter[str] = Counter()

    def news(self, features: Sequence[str], so_far: CampaignState) -> None:
        """Print news, or count it."""
        for feature in features:
            group = feature.partition(":")[0]
            if f"{group}s" not in GROUPS:
                continue
            self._printed[group] += 1
            if self._printed[group] <= _SHOWN_MAX:
                print(f"{so_far.inputs:>8}  {describe(feature)}", file=self._out)
            else:
                self._more[group] += 1

    def trouble(self, new: HuntFinding, so_far: CampaignState) -> None:
        """Print that something is wrong."""
        said = f"{so_far.inputs:>8}  FOUND {new.trouble.kind}: {new.trouble.says}"
        print(*wrapped(said, " " * 10, first=""), sep="\n", file=self._out, flush=True)

    def round(self, so_far: CampaignState) -> None:
        """Print the counts."""
        if self._more:
            counts = ", ".join(f"{n} {group}s" for group, n in sorted(self._more.items()))
            print(f"{so_far.inputs:>8}  and {counts}", file=self._out, flush=True)
            self._more.clear()


def document(state: CampaignState, finds: Sequence[Find], seed: int) -> dict[str, Any]:
    """Return a hunt as a document for programs."""
    return {
        "seed": seed,
        "inputs": state.inputs,
        "cpu_s": round(state.cpu_s, 3),
        "episodes": state.episodes,
        "moments": state.moments,
        "interrupted": state.interrupted,
        "features": totals(state.news),
        "rules": rules_met(state),
        "never": {name: list(rows) for name, rows in never(state).items()},
        "canary": {"found": state.canary is not None, "inputs": state.canary},
        "found": [
            {"kind": one.kind, "says": one.says, "journal": one.journal, "scenario": one.scenario}
            for one in finds
        ],
    }


def junit_of(state: CampaignState, finds: Sequence[Find], seed: int) -> bytes:
    """Return JUnit XML: a case for each kind of trouble, and one for the canary."""
    cases = []
    for kind in KINDS:
        said = [f"{one.says} ({one.journal})" for one in finds if one.kind == kind]
        failure = said[0] if said else ""
        cases.append(Case("hunt", kind, state.cpu_s, failure, text="\n".join(said)))
    blind = "" if state.canary is not None else "blind: the canary was not found"
    cases.append(Case("hunt", "canary", state.canary_cpu_s, blind))
    counts = {name: str(number) for name, number in totals(state.news).items()}
    return junit([Suite(f"sim hunt seed {seed}", cases, {"inputs": str(state.inputs), **counts})])


def rules_met(state: CampaignState) -> dict[str, dict[str, Any]]:
    """Return each numbered rule that was met: after how many inputs first, and by which feature."""
    first: dict[str, dict[str, Any]] = {}
    for feature, inputs in state.news.items():
        group, _, rule = feature.partition(":")
        if group == "rule":
            first.setdefault(rule, {"inputs": inputs, "feature": feature})
    return {rule: first[rule] for rule in RULES if rule in first}


def never(state: CampaignState) -> dict[str, list[str]]:
    """Return what was never met, by kind."""
    met = {feature.split("|")[0].partition(":")[2] for feature in state.news}
    edges = (f"lifecycle|{was.name}|{to.name}" for was, to in EDGES)
    rules = rules_met(state)
    return {
        "rules": [rule for rule in RULES if rule not in rules],
        "operations": [one.name for one in load_contract().operations if one.name not in met],
        "edges": [edge.replace("|", " ") for edge in edges if f"edge:{edge}" not in state.news],
    }


def lines(state: CampaignState, finds: Sequence[Find], *, canary: bool = True) -> Iterator[str]:
    """Yield the verdict for people."""
    counts = ", ".join(
        counted(number, name.removesuffix("s")) if name in GROUPS else f"{number} {name}"
        for name, number in totals(state.news).items()
    )
    yield ""
    where = f"{state.inputs:,} inputs in {counted(state.episodes, 'episode')}"
    yield f"{where}, {state.cpu_s:.1f} s of processor time"
    yield from wrapped(f"met {counts}", "  ", first="")
    yield counted(state.moments, "moment") + " in the corpus"
    for name, rows in never(state).items():
        if rows:
            more = f" and {len(rows) - _MISSING_MAX} more" if len(rows) > _MISSING_MAX else ""
            said = f"{counted(len(rows), name.removesuffix('s'))} never met: "
            yield from wrapped(said + ", ".join(rows[:_MISSING_MAX]) + more, "  ", first="")
    if canary and state.canary is not None:
        yield f"the canary was found after {state.canary:,} inputs"
    elif canary:
        said = "blind: the canary, a bug made on purpose, was not found; hunt longer before you"
        yield from wrapped(f"{said} trust that nothing was", "  ", first="")
    for find in finds:
        said = f"{find.kind}: {find.says} ({counted(find.inputs, 'input')})"
        yield from wrapped(said, "  ", first="")
        yield from (f"  {line}" for line in find.lines())
    if not finds:
        yield "nothing was found"
