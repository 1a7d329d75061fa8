"""The results of a hunt: findings with the fewest moves that still lead to them, as a journal and a
scenario; new features as they come; and the verdict at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct

from sim.contract.contract import load_contract
from sim.core.lifecycle.states import EDGES
from sim.read.commands import sim_command
from sim.read.decisions import RULES
from sim.read.errors import UnreadableJournal
from sim.read.export.journal_to_scenario import scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.read.features import GROUPS, describe, totals
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, listed, put, wrapped
from sim.read.replay import Divergence, replay_file
from sim.search.delta import minimal
from sim.search.hunt.campaign import CampaignState, EpisodeReport, HuntFinding
from sim.search.hunt.episode import Episode
from sim.search.hunt.oracles import KINDS, replays
from sim.search.hunt.roots import fresh, start_of
from sim.search.hunt.sequences import DrawnMove
from sim.search.hunt.watchdog import InputTimeout

_SHOWN_MAX = 4  # features of one kind that are printed one by one
_MISSING_MAX = 12
TRIALS_MAX = 120
_TRIALS_ENDLESS = 12  # each may take as long as the watchdog allows


class SavedFinding(Struct, frozen=True):
    """A finding on disk.

    `journal` and `scenario` are paths, empty if there is none. `inputs` is the length of
    the smallest run that has this finding.
    """

    kind: str
    text: str
    journal: str
    scenario: str
    inputs: int

    def commands(self) -> list[str]:
        """Return the commands that show it."""
        pairs = (("timeline", self.journal), ("run", self.scenario))
        return [sim_command(verb, Path(path)) for verb, path in pairs if path]


def write_finding(
    new: HuntFinding, number: int, folder: Path, on_trial: Callable[[], None] = lambda: None
) -> SavedFinding:
    """Minimise a finding and write it: its journal and, as far as possible, the same run as a
    scenario, both with its number in their names.
    """
    journal, trouble = BytesIO(), new.trouble
    simulation = fresh(new.task.scenario, new.task.seed, journal)
    troubles = Episode(simulation).run(_fewest_moves(new, on_trial)).troubles
    if trouble.kind == "replay":
        troubles += replays(simulation)
    text = next((each.text for each in troubles if each.is_like(trouble)), trouble.text)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"find-{number}.ndjson"
    path.write_bytes(journal.getvalue())
    scenario = _scenario(path, trouble.kind, text)
    return SavedFinding(trouble.kind, text, str(path), scenario, simulation.seq)


def _scenario(journal: Path, kind: str, text: str) -> str:
    """Write a journal as a scenario; return its path, or "" if it cannot be repeated."""
    try:
        replay_file(journal)
        scenario = scenario_document(journal)
    except (Divergence, UnreadableJournal):
        return ""
    path = journal.with_suffix(".yaml")
    comments = [
        f"Found by sim hunt: {kind}",
        *text.splitlines()[:1],
        *(f"left out: {count} {inputs}" for inputs, count in scenario.left_out.items()),
    ]
    path.write_text(as_yaml(scenario.document, comments))
    return str(path)


def _fewest_moves(new: HuntFinding, on_trial: Callable[[], None]) -> Sequence[DrawnMove]:
    """Return the fewest moves that lead to the same trouble; all if it does not recur."""
    left = _TRIALS_ENDLESS if new.trouble.subject == InputTimeout.__name__ else TRIALS_MAX

    def fails(moves: Sequence[DrawnMove]) -> bool:
        nonlocal left
        left -= 1
        on_trial()
        if left < 0:
            return False
        simulation = start_of(new.task.scenario, new.task.seed)
        troubles = Episode(simulation).run(moves).troubles
        return any(trouble.is_like(new.trouble) for trouble in troubles)

    moves = new.task.moves
    return moves if new.trouble.kind == "replay" or not fails(moves) else minimal(moves, fails)


# ---- output


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
        if report.finding is not None:
            trouble = report.finding.trouble
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
                "kind": finding.kind,
                "says": finding.text,
                "journal": finding.journal,
                "scenario": finding.scenario,
            }
            for finding in findings
        ],
    }


def junit_of(state: CampaignState, findings: Sequence[SavedFinding], seed: int) -> bytes:
    """Return JUnit XML: a case for each kind of trouble, and one for the canary."""
    cases = []
    for kind in KINDS:
        texts = [
            f"{finding.text} ({finding.journal})" for finding in findings if finding.kind == kind
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
        text = f"{finding.kind}: {finding.text} ({counted(finding.inputs, 'input')})"
        yield from wrapped(text, "  ", first="")
        yield from (f"  {command}" for command in finding.commands())
    if not findings:
        yield "nothing was found"
